"""The keys of an experiment file that describe the instruments: recordings, poses, sensors, clocks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from palpate.experiment.file import quantities as q
from palpate.physics.units import STANDARD_GRAVITY


class Part(BaseModel):
    """A group of keys; others are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ColumnPart(Part):
    """One column of a plain table."""

    column: str = Field(description="header of the column, with or without the unit behind it", examples=['"Fx (lbf)"'])
    unit: q.ChannelUnit = Field(
        default="",
        description="unit of the numbers in the file; if absent, the one in the header, such as Fx [N]",
        examples=["lbf"],
    )


class TimePart(Part):
    """The column of times of a plain table."""

    column: str = Field(description="header of the column", examples=["t"])
    unit: q.TimeUnit = Field(
        default="",
        description="unit of the times in the file; if absent, the one in the header, else s",
        examples=["ms"],
    )


class WrenchPart(Part):
    """The load cell's recording."""

    file: str = Field(description="path, relative to the experiment file or to --data", examples=["wrench.mat"])
    format: Literal["dspace-mat", "csv", "parquet", "c3d", "hdf5", "mat", "rosbag"] | None = Field(
        default=None, description="the file's format; found out by itself if absent"
    )
    device: str | None = Field(default=None, description="which device of a dSPACE file", examples=["Platform"])
    channels: Annotated[list[str], AfterValidator(q.distinct), Field(min_length=6, max_length=6)] | None = Field(
        default=None,
        description="names of f_x, f_y, f_z, n_x, n_y, n_z in the file; if absent: Fx1_RawZero to Tz1_RawZero "
        "(device Platform_2: Fx2_RawZero ...), a bag's force.x to torque.z, or the six of columns in their order",
        examples=["[fx, fy, fz, tx, ty, tz]"],
    )
    columns: dict[str, ColumnPart] | None = Field(
        default=None,
        description="for csv, parquet, hdf5 and mat: channel -> column and unit",
        examples=['{fx: {column: "Fx (lbf)", unit: lbf}}'],
    )
    time: TimePart | None = Field(
        default=None,
        description="for csv, parquet, hdf5 and mat: the column of times",
        examples=["{column: t, unit: ms}"],
    )
    rate: q.Frequency | None = Field(
        default=None,
        gt=0,
        description="for csv, parquet, hdf5 and mat without times: samples per second",
        examples=["500 Hz"],
    )
    sign: Literal["on-other-side", "on-handle"] = Field(
        default="on-other-side",
        description="what the numbers mean: the wrench that the handle passes on through the sensor "
        "(as the paper's dSPACE files store it), or the one that moves the handle",
    )


class ImuPart(Part):
    """The IMU's recording."""

    file: str = Field(description="path, relative to the experiment file or to --data", examples=["imu.csv"])
    format: Literal["microstrain-csv", "csv", "parquet", "hdf5", "mat", "rosbag"] | None = Field(
        default=None, description="the file's format; found out by itself if absent"
    )
    g: q.Acceleration = Field(
        default=STANDARD_GRAVITY,
        gt=0,
        description="what the unit g of a microstrain-csv is worth (the paper's authors take 9.81)",
    )
    acceleration: Annotated[list[str], AfterValidator(q.distinct)] = Field(
        default=["acceleration.x", "acceleration.y", "acceleration.z"],
        min_length=3,
        max_length=3,
        description="channels of specific force along the IMU's x, y, z",
        examples=["[ax, ay, az]"],
    )
    angular_rate: Annotated[list[str], AfterValidator(q.distinct)] = Field(
        default=["angular_rate.x", "angular_rate.y", "angular_rate.z"],
        min_length=3,
        max_length=3,
        description="channels of angular rate about the IMU's x, y, z",
        examples=["[gx, gy, gz]"],
    )
    columns: dict[str, ColumnPart] | None = Field(
        default=None,
        description="for csv, parquet, hdf5 and mat: channel -> column and unit; the unit g of a channel listed under "
        "acceleration is standard gravity (gn), elsewhere gram",
        examples=["{ax: {column: AccX, unit: g}}"],
    )
    time: TimePart | None = Field(
        default=None,
        description="for csv, parquet, hdf5 and mat: the column of times",
        examples=["{column: t, unit: ms}"],
    )
    rate: q.Frequency | None = Field(
        default=None,
        gt=0,
        description="for csv, parquet, hdf5 and mat without times: samples per second",
        examples=["500 Hz"],
    )
    noise_acceleration: q.Accelerations | None = Field(
        default=None,
        description="data-sheet noise of the accelerometer (standard deviation of a sample), m/s2; one number or three",
        examples=["0.02 m/s2"],
    )
    noise_rate: q.Rates | None = Field(
        default=None,
        description="data-sheet noise of the gyroscope (standard deviation of a sample), rad/s; one number or three",
        examples=["0.1 deg/s"],
    )

    @field_validator("columns")
    @classmethod
    def _g_is_gravity(cls, columns: dict[str, ColumnPart] | None, info: ValidationInfo) -> dict[str, ColumnPart] | None:
        if columns is None:
            return None
        gravity = [n for n, c in columns.items() if c.unit == "g" and n in info.data.get("acceleration", ())]
        return columns | {name: ColumnPart(column=columns[name].column, unit="gn") for name in gravity}


class RecordingsPart(Part):
    """Which file holds what."""

    wrench: WrenchPart = Field(description="the load cell's recording", examples=["{file: wrench.mat}"])
    imu: ImuPart = Field(description="the IMU's recording", examples=["{file: imu.csv}"])


class PosePart(Part):
    """A frame (the IMU's, or that of three markers) seen from the sensor frame."""

    rotation: q.Rotation = Field(
        description="the rotation matrix, three rows of three numbers; its columns are the frame's axes seen in the "
        "sensor frame",
        examples=["[[1, 0, 0], [0, 1, 0], [0, 0, 1]]"],
    )
    translation: q.Vector = Field(
        description="origin of the frame, seen in the sensor frame, m", examples=["[-0.0861, 0.0125, -0.0290]"]
    )


class SensorPart(Part):
    """A force/torque sensor: its accuracy, for the weights, and its noise."""

    sigma_force: q.Forces = Field(
        description="accuracy of the forces, N; one number, or three for x, y, z", examples=["0.06 N"]
    )
    sigma_moment: q.Torques = Field(
        description="accuracy of the moments, N m; one number, or three for x, y, z", examples=["0.002 N m"]
    )
    noise_force: q.Forces | None = Field(
        default=None,
        description="data-sheet noise of the forces (standard deviation of a sample), N; one number or three",
        examples=["0.3 N"],
    )
    noise_moment: q.Torques | None = Field(
        default=None,
        description="data-sheet noise of the moments (standard deviation of a sample), N m; one number or three",
        examples=["0.01 N m"],
    )


class ClocksPart(Part):
    """Samples that were taken at the same instant, counted from 1 in each file."""

    wrench: q.Whole = Field(description="sample of the load cell's file, from 1", examples=["17757"])
    imu: q.Whole = Field(description="sample of the IMU's file, from 1", examples=["9463"])


SENSORS: dict[str, SensorPart] = {
    # calibration accuracy, full scale times percent (FORMATS, load cell)
    "ati-omega85": SensorPart(sigma_force=[950 * 0.015, 950 * 0.015, 1900 * 0.010], sigma_moment=[40 * 0.0125] * 3)
}


def sensor_label(sensor: object, device: str | None) -> str:
    """Which sensor this is, in a word or two, to tell it from others."""
    kind = sensor if isinstance(sensor, str) else "own sensor"
    return f"{kind} ({device})" if device else kind
