"""The experiment file's keys: types, units, defaults. The documentation of the file is made from this."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from palpate.errors import PalpateError
from palpate.physics.units import STANDARD_GRAVITY, parse_quantity


def _quantity(unit: str) -> BeforeValidator:
    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError(f"must be a number or a text such as '1.5 {unit}'")
        try:
            return parse_quantity(value, unit)
        except PalpateError as error:
            raise ValueError(str(error)) from None

    return BeforeValidator(read)


def _pairs(value: Any) -> Any:
    """One segment [a, b] means [[a, b]]."""
    return [value] if isinstance(value, list) and len(value) == 2 and not isinstance(value[0], list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _listed(value: Any) -> Any:
    """One entry may stand without the list's brackets."""
    return [value] if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType]


Mass = Annotated[float, _quantity("kg")]
Length = Annotated[float, _quantity("m")]
Force = Annotated[float, _quantity("N")]
Torque = Annotated[float, _quantity("N m")]
Frequency = Annotated[float, _quantity("Hz")]
Seconds = Annotated[float, _quantity("s")]
Fraction = Annotated[float, _quantity("1")]
Acceleration = Annotated[float, _quantity("m/s2")]
Vector = Annotated[list[Length], Field(min_length=3, max_length=3)]
Matrix = Annotated[list[Annotated[list[float], Field(min_length=3, max_length=3)]], Field(min_length=3, max_length=3)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ColumnPart(_Part):
    """One column of a plain table."""

    column: str = Field(description="header of the column")
    unit: str = Field(default="1", description="unit of the numbers in the file")


class TimePart(_Part):
    """The column of times of a plain table."""

    column: str = Field(description="header of the column")
    unit: str = Field(default="s", description="unit of the times in the file")


class WrenchPart(_Part):
    """The load cell's recording."""

    file: str = Field(description="path, relative to the experiment file or to --data")
    format: Literal["dspace-mat", "csv", "parquet"] | None = Field(
        default=None, description="found out by itself if absent"
    )
    device: str | None = Field(default=None, description="which device of a dSPACE file, such as Platform")
    channels: list[str] = Field(
        default=["Fx1_RawZero", "Fy1_RawZero", "Fz1_RawZero", "Tx1_RawZero", "Ty1_RawZero", "Tz1_RawZero"],
        min_length=6,
        max_length=6,
        description="names of f_x, f_y, f_z, n_x, n_y, n_z in the file",
    )
    columns: dict[str, ColumnPart] | None = Field(
        default=None, description="for csv and parquet: channel -> column and unit"
    )
    time: TimePart | None = Field(default=None, description="for csv and parquet: the column of times")
    rate: Frequency | None = Field(default=None, description="for csv and parquet without times: samples per second")
    sign: Literal["on-other-side", "on-handle"] = Field(
        default="on-other-side",
        description="what the numbers mean: the wrench that the handle passes on through the sensor "
        "(as the paper's dSPACE files store it), or the one that moves the handle",
    )


class ImuPart(_Part):
    """The IMU's recording."""

    file: str = Field(description="path, relative to the experiment file or to --data")
    format: Literal["microstrain-csv", "csv", "parquet"] | None = Field(
        default=None, description="found out by itself if absent"
    )
    g: Acceleration = Field(
        default=STANDARD_GRAVITY, description="what the file's unit g is worth (the paper's authors take 9.81)"
    )
    acceleration: list[str] = Field(
        default=["acceleration.x", "acceleration.y", "acceleration.z"],
        min_length=3,
        max_length=3,
        description="channels of specific force along the IMU's x, y, z",
    )
    angular_rate: list[str] = Field(
        default=["angular_rate.x", "angular_rate.y", "angular_rate.z"],
        min_length=3,
        max_length=3,
        description="channels of angular rate about the IMU's x, y, z",
    )
    columns: dict[str, ColumnPart] | None = Field(
        default=None, description="for csv and parquet: channel -> column and unit"
    )
    time: TimePart | None = Field(default=None, description="for csv and parquet: the column of times")
    rate: Frequency | None = Field(default=None, description="for csv and parquet without times: samples per second")


class RecordingsPart(_Part):
    """Which file holds what."""

    wrench: WrenchPart
    imu: ImuPart


class PosePart(_Part):
    """A frame seen from another."""

    rotation: Matrix = Field(description="rows of the rotation matrix R_sensor_imu")
    translation: Vector = Field(description="origin of the IMU in the sensor frame, m")


class SensorPart(_Part):
    """Accuracy of a force/torque sensor, for the weights."""

    sigma_force: list[Force] = Field(min_length=3, max_length=3, description="N, per axis")
    sigma_moment: list[Torque] = Field(min_length=3, max_length=3, description="N m, per axis")


class ClocksPart(_Part):
    """Samples that were taken at the same instant, counted from 1 in each file."""

    wrench: int = Field(ge=1, description="sample of the load cell's file")
    imu: int = Field(ge=1, description="sample of the IMU's file")


class SamplesPart(_Part):
    """Segments counted in samples of the reference device, as the paper's authors do."""

    samples: Annotated[list[tuple[int, int]], BeforeValidator(_pairs)] = Field(
        description="first and last sample, from 1, both included"
    )


SegmentList = SamplesPart | Annotated[list[tuple[Seconds, Seconds]], BeforeValidator(_pairs)]


class SegmentsPart(_Part):
    """Which times are used for what; seconds on the load cell's clock, from (included) - to (excluded)."""

    train: SegmentList = Field(description="[from, to] or a list of such pairs, in s; or {samples: [first, last]}")
    test: SegmentList = Field(description="likewise; must not overlap train")
    first_sample: int = Field(
        default=1, ge=1, description="which sample of the load cell's file is sample 1 of the counting"
    )


class CylinderPart(_Part):
    """A solid cylinder about its centre."""

    type: Literal["cylinder"]
    length: Length = Field(gt=0, description="m")
    radius: Length = Field(gt=0, description="m")
    axis: Annotated[list[float], Field(min_length=3, max_length=3)] = Field(description="direction in the sensor frame")


class BoxPart(_Part):
    """A solid box about its centre, along the sensor's axes."""

    type: Literal["box"]
    sides: Vector = Field(description="along x, y, z, m")


class PriorPart(_Part):
    """What is believed before: a drawing, a scale, a CAD file's numbers, in the sensor frame."""

    mass: Mass = Field(description="kg")
    com: Vector = Field(description="centre of mass in the sensor frame, m")
    inertia_com: Matrix | None = Field(
        default=None, description="inertia about the centre of mass, along the sensor's axes, kg m2"
    )
    shape: Annotated[CylinderPart | BoxPart, Field(discriminator="type")] | None = Field(
        default=None, description="instead of inertia_com"
    )
    damping: float | Literal["auto"] = Field(
        default="auto", description="lambda of the paper; auto: as strong as spread says beside the noise of the data"
    )
    form: Literal["theta", "divergence"] | None = Field(
        default=None,
        description="how it pulls: theta, as the paper; divergence, the same in every frame and factor convention; "
        "default: divergence with automatic damping, theta with a number",
    )
    spread: Fraction = Field(default=0.3, gt=0, le=2, description="by which fraction the prior may be off")

    @model_validator(mode="after")
    def _one_inertia(self) -> PriorPart:
        if (self.inertia_com is None) == (self.shape is None):
            raise ValueError("give exactly one of inertia_com and shape")
        if isinstance(self.damping, float) and self.damping < 0:
            raise ValueError("damping must not be negative")
        return self


class KnownMassPart(_Part):
    """A mass from a scale."""

    value: Mass = Field(gt=0, description="kg")
    of: Literal["handle"] = Field(description="what was on the scale; it must be said")


class ParallelPart(_Part):
    """Light differentiation, then one low-pass over every column and the wrench."""

    type: Literal["parallel"] = "parallel"
    bandwidth: Frequency = Field(default=20.0, gt=0, description="what passes; hands move below 10 Hz")


class SavitzkyGolayPart(_Part):
    """The published windows, on the motion only."""

    type: Literal["savitzky-golay"]
    slope_window: Seconds = Field(default=0.051, gt=0, description="for the derivative of the angular rate, s")
    slope_order: int = Field(default=3, ge=1, le=8, description="its polynomial order")
    window: Seconds = Field(default=0.101, gt=0, description="for the smoothing of all signals afterwards, s")
    order: int = Field(default=4, ge=1, le=8, description="its polynomial order (the paper's door handle: 3)")


class ReferencePart(_Part):
    """Values to print beside the result."""

    label: str = Field(description="heading of the column: truth, paper, last year")
    file: str | None = Field(default=None, description="a truth.json or result.json")
    values: dict[str, float] | None = Field(default=None, description="by parameter name, SI")

    @model_validator(mode="after")
    def _one_source(self) -> ReferencePart:
        if (self.file is None) == (self.values is None):
            raise ValueError("give exactly one of file and values")
        return self


class ExperimentPart(_Part):
    """An experiment: which recordings, how the instruments sit, which times are used, what is believed before."""

    palpate: Literal[1] = Field(default=1, description="version of this format")
    title: str = Field(default="", description="for people")
    object: str = Field(default="handle", description="an object file that ships with palpate, or a path")
    stage: Literal["handle"] = Field(default="handle", description="what is identified; more stages follow")
    recordings: RecordingsPart
    imu_pose: PosePart = Field(description="pose of the IMU in the sensor frame, from the drawing")
    sensor: Literal["ati-omega85"] | SensorPart = Field(
        default="ati-omega85", description="a known force/torque sensor, or its accuracy: it weights the rows"
    )
    clocks: Literal["auto"] | ClocksPart = Field(
        default="auto", description="found from the signals, or samples of both files taken at the same instant"
    )
    filtering: Annotated[ParallelPart | SavitzkyGolayPart, Field(discriminator="type")] = Field(
        default=ParallelPart(), description="how signals are smoothed and differentiated"
    )
    noise_in_motion: Literal["instrumental", "simulated", "ignored"] = Field(
        default="instrumental",
        description="noise of the IMU makes parameters look too small: taken out by the two halves of its samples as "
        "instruments for each other, by simulating its measured noise, or left in",
    )
    segments: SegmentsPart | None = Field(default=None, description="if absent: the first 60 % train, the rest tests")
    prior: PriorPart | None = Field(
        default=None, description="a drawing's or CAD file's numbers; without it, data alone"
    )
    factor: Literal["UtU", "UUt"] = Field(
        default="UtU", description="log-Cholesky convention of theta, damping and prior"
    )
    known_mass: KnownMassPart | None = Field(default=None, description="a mass from a scale, kept exactly")
    reference: Annotated[list[ReferencePart], BeforeValidator(_listed)] = Field(
        default=[], description="values to print beside ours"
    )


SENSORS: dict[str, SensorPart] = {
    # calibration accuracy, full scale times percent (FORMATS, load cell)
    "ati-omega85": SensorPart(sigma_force=[950 * 0.015, 950 * 0.015, 1900 * 0.010], sigma_moment=[40 * 0.0125] * 3)
}
