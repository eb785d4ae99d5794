"""The keys of an experiment file of the motion stage: what motion capture, IMU and load cell saw of one body."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from palpate.experiment import quantities as q
from palpate.experiment.instruments import ImuPart, Part, PosePart, TimePart, WrenchPart
from palpate.physics.units import STANDARD_GRAVITY

Names = Annotated[list[str], AfterValidator(q.distinct)]
Pair = Annotated[list[str], AfterValidator(q.distinct), Field(min_length=2, max_length=2)]


class MarkerColumnsPart(Part):
    """A marker in a plain table."""

    column: Annotated[list[str], AfterValidator(q.distinct), Field(min_length=3, max_length=3)] = Field(
        description="headers of its x, y, z", examples=["[hook_x, hook_y, hook_z]"]
    )
    unit: q.ChannelUnit = Field(
        default="", description="unit of the numbers in the file; if absent, the one in the headers", examples=["mm"]
    )


class MocapPart(Part):
    """A recording of markers."""

    file: str = Field(description="path, relative to the experiment file or to --data", examples=["Trajectories.csv"])
    format: Literal["vicon-csv", "c3d", "trc", "rosbag", "hdf5", "csv", "parquet", "mat"] | None = Field(
        default=None, description="the file's format; found out by itself if absent"
    )
    columns: dict[str, MarkerColumnsPart] | None = Field(
        default=None,
        description="for csv, parquet, hdf5 and mat: marker -> its three columns and their unit",
        examples=["{hook: {column: [hook_x, hook_y, hook_z], unit: m}}"],
    )
    time: TimePart | None = Field(
        default=None, description="for plain tables: the column of times", examples=["{column: t, unit: ms}"]
    )
    rate: q.Frequency | None = Field(
        default=None, gt=0, description="for plain tables without times: frames per second", examples=["100 Hz"]
    )


class CapturePart(Part):
    """Which file holds what; only markers are needed."""

    mocap: MocapPart = Field(
        description="the markers' recording; its clock is the reference", examples=["{file: a.csv}"]
    )
    static: MocapPart | None = Field(
        default=None,
        description="a recording of the same markers at rest: the reference cloud",
        examples=["{file: s.csv}"],
    )
    imu: ImuPart | None = Field(default=None, description="the IMU's recording", examples=["{file: imu.csv}"])
    wrench: WrenchPart | None = Field(
        default=None, description="the load cell's recording", examples=["{file: wrench.mat}"]
    )


class SensorMarkersPart(Part):
    """Three markers on the sensor module: the second is the corner, x runs to the third, the first is towards -y."""

    markers: Annotated[list[str], AfterValidator(q.distinct), Field(min_length=3, max_length=3)] = Field(
        description="p1, p2, p3", examples=["[Door1, Door2, Door3]"]
    )
    offset: PosePart = Field(
        description="pose of the markers' frame in the sensor frame, as machined",
        examples=["{rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0, 0, 0]}"],
    )


class HingeMarkersPart(Part):
    """Markers on a hinge's line, or none: then the axis is found from the motion."""

    axis: Names = Field(
        default=[], description="markers on the line; none: from the motion itself", examples=["[F3, F4]"]
    )
    towards: str | None = Field(default=None, description="marker to which the hinge's x axis points", examples=["F1"])
    points: Literal["up", "down"] | None = Field(
        default=None,
        description="which way z points; the angle is right-handed about it. If absent: so that the angle is positive "
        "on the whole, as of a door that starts shut",
    )

    @model_validator(mode="after")
    def _whole(self) -> HingeMarkersPart:
        if self.axis and len(self.axis) < 2:
            raise ValueError("a line needs at least two markers under axis")
        if self.axis and (self.towards is None or self.points is None):
            raise ValueError("with markers under axis, towards and points must be given")
        return self


class AxleMarkersPart(Part):
    """The axle of a rolling object: z along it, to the left; y across."""

    axle: Pair = Field(description="from, to: markers at the ends of the axle", examples=["[ID8, ID11]"])
    across: list[Pair] = Field(
        min_length=1, description="pairs from, to whose sum points along y", examples=["[[ID9, ID6], [ID10, ID13]]"]
    )
    radius: q.Length | None = Field(default=None, gt=0, description="radius of the wheel, m", examples=["0.197 m"])
    floor: q.Length = Field(
        default=0.0, description="height of the floor in the capture frame, m", examples=["-9.5 mm"]
    )


class MarkersPart(Part):
    """Which markers sit on the body, and what some of them stand for."""

    up: Literal["x", "y", "z"] = Field(
        default="z",
        description="which axis of the capture frame points up (OptiTrack, OpenSim: y); the points are turned so that "
        "z does",
    )
    body: Names = Field(
        default=[], description="markers on the rigid body; none named: all", examples=["[Door1, Door2]"]
    )
    reference: Literal["static", "still", "mean"] | None = Field(
        default=None,
        description="the reference cloud: the static recording, a still stretch, or the Procrustes mean of the "
        "recording; if absent: static where there is such a recording, else the mean",
    )
    still: Annotated[list[q.Seconds], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="from, to: a stretch in which the body rests, s", examples=["[0, 2]"]
    )
    longest_gap: q.Seconds = Field(
        default=0.1, ge=0, description="gaps up to this are bridged by a spline where the body's pose is not known, s"
    )
    sensor: SensorMarkersPart | None = Field(default=None, description="markers on the sensor module")
    sensor_2: SensorMarkersPart | None = Field(default=None, description="markers on the second sensor module")
    hinge: HingeMarkersPart | None = Field(default=None, description="a hinge about which the body turns")
    axle: AxleMarkersPart | None = Field(default=None, description="an axle on which the body rolls")
    feet: Names = Field(
        default=[],
        description="markers near the feet on which a rolling body stands: when they are down is left out",
        examples=["[ID7, ID12]"],
    )


class MotionClocksPart(Part):
    """Samples that were taken at the same instant, counted from 1 in each file."""

    mocap: q.Whole = Field(description="row of the markers' file, from 1; not its Frame column", examples=["1058"])
    imu: q.Whole | None = Field(default=None, description="sample of the IMU's file, from 1", examples=["787"])
    wrench: q.Whole | None = Field(
        default=None, description="sample of the load cell's file, from 1", examples=["2082"]
    )


class DerivativesPart(Part):
    """How poses become velocities and accelerations."""

    method: Literal["local", "published", "fusion"] = Field(
        default="local",
        description="local: polynomials on the rotations, with a window from the recording; published: "
        "Savitzky-Golay windows as the paper's; fusion: markers and IMU together",
    )
    window: q.Seconds | None = Field(
        default=None,
        gt=0,
        description="length of the window, s; if absent, chosen from the recording",
        examples=["0.11 s"],
    )
    order: q.Whole = Field(default=4, le=8, description="order of the polynomials")


class MotionPart(Part):
    """A capture: which recordings, which markers, how the instruments sit."""

    palpate: Literal[1] = Field(default=1, description="version of this format")
    title: str = Field(default="", description="a heading, for people", examples=['"Door, Monday"'])
    stage: Literal["motion"] = Field(description="the motion alone: nothing is identified")
    recordings: CapturePart = Field(description="which file holds what", examples=["{mocap: {file: Trajectories.csv}}"])
    markers: MarkersPart = Field(default=MarkersPart(), description="what the markers stand for")
    imu_pose: PosePart | None = Field(
        default=None,
        description="pose of the IMU in the sensor frame, from the drawing; needs markers.sensor",
        examples=["{rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0, 0, 0.05]}"],
    )
    gravity: q.Acceleration = Field(default=STANDARD_GRAVITY, gt=9.6, lt=10.0, description="local gravity, m/s2")
    accelerometer_zero: q.Acceleration = Field(
        default=0.05,
        ge=0,
        description="how far off the accelerometer's zero may be (one standard deviation, each axis), m/s2: it limits "
        "how well the vertical can be known",
        examples=["5 mm/s2"],
    )
    clocks: Literal["auto"] | MotionClocksPart = Field(
        default="auto",
        description="found from the signals, or samples of all files taken at the same instant",
        examples=["{mocap: 1058, imu: 787, wrench: 2082}"],
    )
    derivatives: DerivativesPart = Field(
        default=DerivativesPart(), description="how poses become velocities and accelerations"
    )

    @model_validator(mode="after")
    def _imu_needs_sensor(self) -> MotionPart:
        if self.imu_pose is not None and self.markers.sensor is None:
            raise ValueError("imu_pose is seen from the sensor frame: say with markers.sensor where that is")
        return self
