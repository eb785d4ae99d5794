"""The experiment file's keys: types, units, defaults. The documentation of the file is made from this."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from palpate.experiment.file import quantities as q
from palpate.experiment.file.instruments import SENSORS as SENSORS
from palpate.experiment.file.instruments import ClocksPart as ClocksPart
from palpate.experiment.file.instruments import ColumnPart as ColumnPart
from palpate.experiment.file.instruments import ImuPart as ImuPart
from palpate.experiment.file.instruments import Part as Part
from palpate.experiment.file.instruments import PosePart as PosePart
from palpate.experiment.file.instruments import RecordingsPart as RecordingsPart
from palpate.experiment.file.instruments import SensorPart as SensorPart
from palpate.experiment.file.instruments import TimePart as TimePart
from palpate.experiment.file.instruments import WrenchPart as WrenchPart
from palpate.experiment.file.instruments import sensor_label as sensor_label
from palpate.physics.units import STANDARD_GRAVITY


def listed(value: Any) -> Any:
    """One entry may stand without the list's brackets."""
    return [value] if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType]


def segment_pairs(value: Any) -> Any:
    """Pairs of seconds, or samples as they are."""
    if isinstance(value, dict | SamplesPart):
        return cast("Any", value)
    return q.pairs(value, q.quantity("s"))


def _filtering(value: Any) -> Any:
    """Without a type: parallel, unless a key of the published windows is there."""
    if not isinstance(value, dict) or "type" in value:
        return cast("Any", value)
    published = set(SavitzkyGolayPart.model_fields).intersection(cast("dict[str, Any]", value))
    return {"type": "savitzky-golay" if published else "parallel", **cast("dict[str, Any]", value)}


class SamplesPart(Part):
    """Segments counted in samples of the reference device, as the paper's authors do."""

    samples: Annotated[list[tuple[int, int]], BeforeValidator(lambda value: q.pairs(value, q.whole))] = Field(
        description="first and last sample, from 1, both included; or a list of such pairs", examples=["[2736, 47446]"]
    )


SegmentList = Annotated[SamplesPart | list[tuple[float, float]], BeforeValidator(segment_pairs)]


class SegmentsPart(Part):
    """Which times are used for what; seconds on the load cell's clock, from (included) - to (excluded)."""

    train: SegmentList = Field(
        description="[from, to] or a list of such pairs, in s; or {samples: [first, last]}",
        examples=["[[6, 20], [25, 44]]"],
    )
    test: SegmentList = Field(description="likewise; must not overlap train", examples=["[45, 63]"])
    first_sample: q.Whole = Field(
        default=1, description="which sample of the load cell's file is sample 1 of the counting"
    )


class CylinderPart(Part):
    """A solid cylinder about its centre."""

    type: Literal["cylinder"]
    length: q.Length = Field(gt=0, description="length, m", examples=["15 cm"])
    radius: q.Length = Field(gt=0, description="radius, m", examples=["2 cm"])
    axis: q.Direction = Field(description="direction in the frame of the prior", examples=["[0, 0, 1]"])


class BoxPart(Part):
    """A solid box about its centre, along the axes of the prior's frame."""

    type: Literal["box"]
    sides: q.Sides = Field(description="lengths along x, y, z, m", examples=["[0.1, 0.05, 0.2]"])


class PriorPart(Part):
    """What is believed before, from a drawing or CAD file: in the sensor frame; of what rolls, in that on its axle."""

    of: Literal["body", "whole"] | None = Field(
        default=None,
        description="what rolls: whether these numbers are of the body or of the whole with its handles, which are "
        "then added or taken off; if absent: of what the model is of (model_of)",
        examples=["whole"],
    )
    mass: q.Mass = Field(gt=0, description="mass, kg", examples=["0.9 kg"])
    com: q.Vector = Field(description="centre of mass in that frame, m", examples=["[0, 0, 0.075]"])
    inertia_com: q.Inertia | None = Field(
        default=None,
        description="inertia about the centre of mass, along the axes of that frame, kg m2",
        examples=["[[0.012, 0, 0], [0, 0.012, 0], [0, 0, 0.001]]"],
    )
    shape: Annotated[CylinderPart | BoxPart, Field(discriminator="type")] | None = Field(
        default=None,
        description="cylinder or box, instead of inertia_com",
        examples=["{type: cylinder, length: 15 cm, radius: 2 cm, axis: [0, 0, 1]}"],
    )
    damping: Annotated[float | Literal["auto"], BeforeValidator(q.damping)] = Field(
        default="auto",
        description="lambda of the paper; auto: as strong as spread says beside the noise of the data",
        examples=["10"],
    )
    form: Literal["theta", "divergence"] | None = Field(
        default=None,
        description="how it pulls: theta, as the paper; divergence, the same in every frame and factor convention; "
        "default: divergence with automatic damping, theta with a number",
    )
    spread: q.Fraction = Field(
        default=0.3, gt=0, le=2, description="by which fraction the prior may be off", examples=["30 %"]
    )

    @model_validator(mode="after")
    def _one_inertia(self) -> PriorPart:
        if (self.inertia_com is None) == (self.shape is None):
            raise ValueError("give exactly one of inertia_com and shape")
        return self


class KnownMassPart(Part):
    """A mass from a scale."""

    value: q.Mass = Field(gt=0, description="mass, kg", examples=["1.3 kg"])
    of: Literal["handle"] = Field(description="what was on the scale; it must be said", examples=["handle"])


class UncertainPart(Part):
    """How far off the things may be that are taken as given: one standard deviation each."""

    imu_rotation: q.Angle | None = Field(
        default=None, ge=0, description="the IMU's rotation, about each axis; with its unit", examples=["0.5 deg"]
    )
    imu_position: q.Length | None = Field(
        default=None, ge=0, description="the IMU's position, along each axis, m", examples=["1 mm"]
    )
    load_cell_scale: q.Fraction | None = Field(
        default=None, ge=0, lt=1, description="the load cell's scale, as a fraction", examples=["1 %"]
    )
    accelerometer_scale: q.Fraction | None = Field(
        default=None, ge=0, lt=1, description="the accelerometer's scale, as a fraction", examples=["0.2 %"]
    )
    gyroscope_scale: q.Fraction | None = Field(
        default=None, ge=0, lt=1, description="the gyroscope's scale, as a fraction", examples=["0.2 %"]
    )
    clock: q.Seconds | None = Field(
        default=None, ge=0, description="the load cell's clock beside the IMU's, s", examples=["0.1 ms"]
    )
    known_mass: q.Mass | None = Field(default=None, ge=0, description="the mass under known_mass, kg", examples=["1 g"])


class ParallelPart(Part):
    """Light differentiation, then one low-pass over every column and the wrench."""

    type: Literal["parallel"] = "parallel"
    bandwidth: q.Frequency = Field(
        default=20.0, gt=0, description="what passes; hands move below 10 Hz", examples=["20 Hz"]
    )


class SavitzkyGolayPart(Part):
    """The published windows, on the motion only."""

    type: Literal["savitzky-golay"]
    slope_window: q.Seconds = Field(default=0.051, gt=0, description="for the derivative of the angular rate, s")
    slope_order: q.Whole = Field(default=3, le=8, description="its polynomial order")
    window: q.Seconds = Field(default=0.101, gt=0, description="for the smoothing of all signals afterwards, s")
    order: q.Whole = Field(default=4, le=8, description="its polynomial order (the paper's door handle: 3)")


class ReferencePart(Part):
    """Values to print beside the result."""

    label: str = Field(description="heading of the column: truth, paper, last year", examples=["paper"])
    file: str | None = Field(default=None, description="a truth.json or result.json")
    values: dict[str, q.Number] | None = Field(
        default=None, description="by parameter name, SI", examples=["{m: 0.856, c_z: 0.077}"]
    )

    @model_validator(mode="after")
    def _one_source(self) -> ReferencePart:
        if (self.file is None) == (self.values is None):
            raise ValueError("give exactly one of file and values")
        return self


class ExperimentPart(Part):
    """An experiment: which recordings, how the instruments sit, which times are used, what is believed before."""

    palpate: Literal[1] = Field(default=1, description="version of this format")
    title: str = Field(default="", description="a heading, for people", examples=['"Handle 7"'])
    object: str = Field(default="handle", description="an object file that ships with palpate, or a path")
    stage: Literal["handle"] = Field(
        default="handle", description="what is identified; the motion stage has keys of its own"
    )
    recordings: RecordingsPart = Field(
        description="which file holds what", examples=["{wrench: {file: wrench.mat}, imu: {file: imu.csv}}"]
    )
    imu_pose: PosePart = Field(
        description="pose of the IMU in the sensor frame, from the drawing",
        examples=["{rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0, 0, 0.05]}"],
    )
    gravity: q.Acceleration = Field(
        default=STANDARD_GRAVITY,
        gt=9.6,
        lt=10.0,
        description="local gravity, m/s2 (the paper's authors: 9.81); stored in the model",
    )
    sensor: Literal["ati-omega85"] | SensorPart = Field(
        default="ati-omega85",
        description="a known force/torque sensor, or its accuracy: it weights the rows",
        examples=["{sigma_force: 0.06 N, sigma_moment: 0.002 N m}"],
    )
    clocks: Literal["auto"] | ClocksPart = Field(
        default="auto",
        description="found from the signals, or samples of both files taken at the same instant",
        examples=["{wrench: 17757, imu: 9463}"],
    )
    filtering: Annotated[
        Annotated[ParallelPart | SavitzkyGolayPart, Field(discriminator="type")], BeforeValidator(_filtering)
    ] = Field(
        default=ParallelPart(),
        description="how signals are smoothed and differentiated; without a type: parallel",
        examples=["{type: parallel, bandwidth: 20 Hz}"],
    )
    noise_in_motion: Literal["instrumental", "simulated", "ignored"] = Field(
        default="instrumental",
        description="noise of the IMU makes parameters look too small: taken out by the two halves of its samples as "
        "instruments for each other, by simulating its measured noise, or left in",
    )
    segments: SegmentsPart | None = Field(
        default=None,
        description="which times are used for what; if absent: the first 60 % train, the rest tests",
        examples=["{train: [[6, 44]], test: [45, 63]}"],
    )
    prior: PriorPart | None = Field(
        default=None, description="a drawing's or CAD file's numbers; without it, data alone"
    )
    factor: Literal["UtU", "UUt"] = Field(
        default="UtU", description="log-Cholesky convention of theta, damping and prior"
    )
    known_mass: KnownMassPart | None = Field(
        default=None,
        description="a mass from a scale, kept exactly, and of what it is",
        examples=["{value: 1.3 kg, of: handle}"],
    )
    uncertain: UncertainPart | None = Field(
        default=None,
        description="how far off the things may be that are taken as given",
        examples=["{imu_rotation: 0.5 deg, load_cell_scale: 1 %}"],
    )
    robust: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="give less weight to pieces of the recording that do not fit"
    )
    reference: Annotated[list[ReferencePart], BeforeValidator(listed)] = Field(
        default=[], description="values to print beside ours", examples=["{label: truth, file: truth.json}"]
    )

    @model_validator(mode="after")
    def _prior_of_handle(self) -> ExperimentPart:
        if self.prior is not None and self.prior.of is not None:
            raise ValueError("prior.of is for what rolls: this prior is of the handle; leave it out")
        return self


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


Three = Annotated[list[str], AfterValidator(q.distinct), Field(min_length=3, max_length=3)]
Options = dict[str, Any]


class SignalsPart(Part):
    """A plain table of an object on a hinge: its angle and torque, or the path of a point and the force on it."""

    file: str = Field(description="path, relative to the experiment file or to --data", examples=["log.csv"])
    format: Literal["csv", "parquet", "hdf5", "mat"] | None = Field(
        default=None, description="the file's format; found out by itself if absent"
    )
    columns: dict[str, ColumnPart] = Field(
        description="name -> its column and unit", examples=["{angle: {column: position, unit: rad}}"]
    )
    time: TimePart | None = Field(default=None, description="the column of times", examples=["{column: time, unit: s}"])
    rate: q.Frequency | None = Field(
        default=None,
        gt=0,
        description="for tables without times: samples per second. What depends on speed and acceleration is as right "
        "as this number",
        examples=["70 Hz"],
    )
    rate_known: Annotated[bool, Field(strict=True)] = Field(
        default=True,
        description="false: the rate is a guess, so inertia and damping are told as not identifiable",
    )
    angle: str | None = Field(default=None, description="name of the hinge's angle", examples=["angle"])
    torque: str | None = Field(
        default=None, description="name of the torque on the object about the hinge", examples=["torque"]
    )
    point: Three | None = Field(
        default=None, description="names of x, y, z of the point at which the object is pulled", examples=["[x, y, z]"]
    )
    force: Three | None = Field(
        default=None, description="names of the force there, along the same fixed axes", examples=["[fx, fy, fz]"]
    )
    sign: Literal["on-object", "on-hand"] = Field(
        default="on-object", description="on whom the stored force or torque acts"
    )
    delay: q.Seconds = Field(
        default=0.0,
        description="by how much the stored force or torque is late against the angle (a filter, an amplifier), s",
        examples=["5 ms"],
    )

    @model_validator(mode="after")
    def _one_way(self) -> SignalsPart:
        if (self.angle is None) != (self.torque is None) or (self.point is None) != (self.force is None):
            raise ValueError("give angle and torque, or point and force")
        if (self.angle is None) == (self.point is None):
            raise ValueError("give exactly one of the pairs angle, torque and point, force")
        return self


class BodyRecordingsPart(Part):
    """Which file holds what: markers and a load cell, or one table of signals."""

    mocap: MocapPart | None = Field(
        default=None, description="the markers' recording; its clock is the reference", examples=["{file: a.csv}"]
    )
    static: MocapPart | None = Field(
        default=None, description="the same markers at rest, the object shut: the reference cloud"
    )
    wrench: WrenchPart | None = Field(
        default=None, description="the load cell's recording", examples=["{file: wrench.mat}"]
    )
    wrench_2: WrenchPart | None = Field(
        default=None,
        description="the second load cell's, for objects with two handles; it shares the clock of the first",
        examples=["{file: wrench.mat, device: Platform_2}"],
    )
    imu: ImuPart | None = Field(default=None, description="the IMU's recording", examples=["{file: imu.csv}"])
    signals: SignalsPart | None = Field(default=None, description="instead of all others: a table of signals")

    @model_validator(mode="after")
    def _one_way(self) -> BodyRecordingsPart:
        if self.signals is not None and any(
            p is not None for p in (self.mocap, self.static, self.wrench, self.wrench_2, self.imu)
        ):
            raise ValueError("signals stands alone: leave the other recordings out")
        if self.signals is None and (self.mocap is None or self.wrench is None):
            raise ValueError("give mocap and wrench, or signals")
        return self


class BodySegmentsPart(Part):
    """Which times are used for what; seconds on the markers' clock, from (included) - to (excluded)."""

    static: SegmentList | None = Field(
        default=None,
        description="the object shut (what rolls: standing) and untouched: the sensor's preload and the angle zero",
        examples=["[0.5, 4.5]"],
    )
    quasi_static: SegmentList | None = Field(
        default=None, description="the object moved slowly through its range: the spring", examples=["[6, 60]"]
    )
    train: SegmentList = Field(description="the object moved as people do", examples=["[[61, 110], [135, 150]]"])
    test: SegmentList = Field(description="likewise; must not overlap the others", examples=["[111, 134]"])
    first_sample: q.Whole = Field(default=1, description="which row of the markers' file is sample 1 of the counting")


class PublishedPart(Part):
    """As the paper's authors: windows on the angle only, plain decimation of the wrench, no sample left out."""

    type: Literal["published"]
    window: q.Seconds = Field(default=0.31, gt=0, description="Savitzky-Golay window, s")
    order: q.Whole = Field(default=4, le=8, description="its polynomial order")


class BodyParallelPart(Part):
    """Light differentiation, then one low-pass over every column and the wrench."""

    type: Literal["parallel"] = "parallel"
    bandwidth: q.Frequency | None = Field(
        default=None, gt=0, description="what passes; if absent, chosen from the recording", examples=["6 Hz"]
    )
    window: q.Seconds | None = Field(
        default=None,
        gt=0,
        description="window of the derivatives, s; if absent, as long as it takes nothing from the bandwidth",
    )


class HandleWeightPart(Part):
    """A handle of which only the weight is known."""

    mass: q.Mass = Field(gt=0, description="mass, kg", examples=["1.531 kg"])
    com: q.Vector = Field(description="centre of mass in the sensor frame, m", examples=["[-0.0007, -0.0015, 0.026]"])


def _body_filtering(value: Any) -> Any:
    """Without a type: parallel."""
    if not isinstance(value, dict) or "type" in value:
        return cast("Any", value)
    return {"type": "parallel", **cast("Options", value)}


class BodyUncertainPart(Part):
    """How far off the things may be that are taken as given: one standard deviation each."""

    load_cell_scale: q.Fraction | None = Field(
        default=None, ge=0, lt=1, description="the load cell's scale, as a fraction", examples=["1 %"]
    )
    sensor_position: q.Length | None = Field(
        default=None, ge=0, description="the sensor's place on the object, along each axis, m", examples=["2 mm"]
    )
    sensor_rotation: q.Angle | None = Field(
        default=None, ge=0, description="its rotation, about each axis; with its unit", examples=["0.3 deg"]
    )
    links: q.Length | None = Field(default=None, ge=0, description="each link's length, m", examples=["1 mm"])
    closed: q.Angle | None = Field(
        default=None, ge=0, description="the angle zero; with its unit", examples=["0.2 deg"]
    )
    clock: q.Seconds | None = Field(
        default=None, ge=0, description="the load cell's clock beside the markers', s", examples=["0.2 ms"]
    )
    tilt: q.Angle | None = Field(
        default=None, ge=0, description="what rolls: the vertical, about each level axis", examples=["0.1 deg"]
    )
    sensor_yaw: q.Angle | None = Field(
        default=None, ge=0, description="what rolls: each sensor's turn about its own z", examples=["0.3 deg"]
    )
    wheel_radius: q.Length | None = Field(default=None, ge=0, description="the wheel's radius, m", examples=["2 mm"])
    mass: q.Mass | None = Field(default=None, ge=0, description="the mass under known_mass, kg", examples=["0.1 kg"])


class BodyMassPart(Part):
    """A mass from a scale."""

    value: q.Mass = Field(gt=0, description="mass, kg", examples=["45 kg"])
    of: Literal["body", "whole"] = Field(
        description="what was on the scale: the part before the sensors, or all with the handles; it must be said",
        examples=["whole"],
    )


class FixedBiasPart(Part):
    """A constant wrench that is added to the model, as the paper's authors do."""

    at_contact: Annotated[list[q.Number], Field(min_length=6, max_length=6)] = Field(
        description="f_x, f_y, f_z (N), n_x, n_y, n_z (N m) in the frame under the wheel",
        examples=["[-13.7, 0, 0, 0, 0, 9.5]"],
    )


class BodyPart(Part):
    """An object moved by its handle: recordings, markers, mechanism, elements, segments."""

    palpate: Literal[1] = Field(default=1, description="version of this format")
    title: str = Field(default="", description="a heading, for people", examples=['"Door 7"'])
    object: str = Field(description="an object file that ships with palpate, or a path", examples=["door"])
    stage: Literal["body"] = Field(description="what is identified: the part before the sensor")
    model_of: Literal["body", "whole", "weight-only"] = Field(
        default="body",
        description="body: the part before the sensor, which a robot renders; whole: with the handle; weight-only: as "
        "the paper's authors, for reproduction",
    )
    recordings: BodyRecordingsPart = Field(
        description="which file holds what", examples=["{mocap: {file: a.csv}, wrench: {file: b.mat}}"]
    )
    markers: MarkersPart = Field(default=MarkersPart(), description="what the markers stand for")
    imu_pose: PosePart | None = Field(default=None, description="pose of the IMU in the sensor frame, from the drawing")
    handle: str | HandleWeightPart | None = Field(
        default=None,
        description="the handle's experiment file, which is identified first, or its model.json; or mass and centre of "
        "mass, where only its weight counts",
        examples=["handle/handle.yaml"],
    )
    handle_2: str | HandleWeightPart | None = Field(
        default=None, description="the handle on the second sensor; if absent, as the first", examples=["left.yaml"]
    )
    gravity: q.Acceleration = Field(default=STANDARD_GRAVITY, gt=9.6, lt=10.0, description="local gravity, m/s2")
    accelerometer_zero: q.Acceleration = Field(
        default=0.05, ge=0, description="how far off the accelerometer's zero may be, m/s2"
    )
    sensor: Literal["ati-omega85"] | SensorPart = Field(
        default="ati-omega85", description="the force/torque sensor, as in the handle's file"
    )
    clocks: Literal["auto"] | MotionClocksPart = Field(
        default="auto",
        description="found from the signals, or samples of all files taken at the same instant",
        examples=["{mocap: 1058, imu: 7861, wrench: 20811}"],
    )
    mechanism: Options = Field(
        default={},
        description="options of the object's mechanism that differ",
        examples=["{linkage: {lengths: [0.286, 0.273, 0.26, 0.349]}}"],
    )
    elements: list[Options] = Field(
        default=[],
        description="elements to add, or to put in the place of the object's element of that name; angles with units",
        examples=["[{type: coulomb, name: b_c}]"],
    )
    without: list[str] = Field(
        default=[], description="names of the object's elements to leave out", examples=["[b_bc]"]
    )
    stops: Annotated[list[q.Angle], Field(min_length=2, max_length=2)] | None = Field(
        default=None,
        description="angles at which the object meets its stops: what is pressed against them is left out; if absent, "
        "the smallest and the largest angle",
        examples=["[0 deg, 92 deg]"],
    )
    segments: BodySegmentsPart = Field(
        description="which times are used for what", examples=["{static: [0, 4], train: [5, 60], test: [61, 90]}"]
    )
    procedure: Literal["joint", "two-step"] = Field(
        default="joint",
        description="joint: all parameters from all segments; two-step: the spring from the quasi-static segment, then "
        "the rest, as in the paper",
    )
    derivatives: DerivativesPart = Field(
        default=DerivativesPart(), description="how poses become velocities and accelerations"
    )
    filtering: Annotated[
        Annotated[BodyParallelPart | PublishedPart, Field(discriminator="type")], BeforeValidator(_body_filtering)
    ] = Field(default=BodyParallelPart(), description="how signals are smoothed; without a type: parallel")
    fixed: dict[str, q.Number] = Field(
        default={}, description="parameters that keep a value, SI", examples=["{b_bc: 7.5}"]
    )
    known: dict[str, q.Number] = Field(
        default={},
        description="parameters known from a scale and a ruler, SI: not imposed but compared, so that a wrong scale of "
        "the force or torque shows",
        examples=["{mc_x: 0.304}"],
    )
    known_mass: BodyMassPart | None = Field(
        default=None,
        description="what rolls: a mass from a scale, kept exactly, and of what it is; handles are added or taken off",
        examples=["{value: 45 kg, of: whole}"],
    )
    prior: PriorPart | None = Field(
        default=None, description="what rolls: a drawing's or CAD file's numbers, in the frame on the axle"
    )
    factor: Literal["UtU", "UUt"] = Field(
        default="UtU", description="what rolls: log-Cholesky convention of theta, damping and prior"
    )
    bias: Literal["still", "estimated", "none"] | FixedBiasPart | None = Field(
        default=None,
        description="what rolls, zero of the load cells: still: from segments.static, handles untouched; estimated: "
        "with the other parameters; none: as recorded; or a fixed wrench. If absent: still where there is such a "
        "segment, else estimated",
        examples=["estimated"],
    )
    rows: Literal["all", "moments"] = Field(
        default="all",
        description="what rolls, rows of the balance: the moments about the contact and the force ahead, or the "
        "moments only, as the paper's authors",
    )
    uncertain: BodyUncertainPart | None = Field(
        default=None, description="how far off the things may be that are taken as given"
    )
    reference: Annotated[list[ReferencePart], BeforeValidator(listed)] = Field(
        default=[], description="values to print beside ours", examples=["{label: truth, file: truth.json}"]
    )
