"""The keys of an experiment file of the body stage: an object that is moved by its handle."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from palpate.experiment import quantities as q
from palpate.experiment.instruments import ColumnPart, ImuPart, Part, PosePart, SensorPart, TimePart, WrenchPart
from palpate.experiment.motion_schema import DerivativesPart, MarkersPart, MocapPart, MotionClocksPart
from palpate.experiment.schema import PriorPart, ReferencePart, SamplesPart, listed, segment_pairs
from palpate.physics.units import STANDARD_GRAVITY

Three = Annotated[list[str], AfterValidator(q.distinct), Field(min_length=3, max_length=3)]
SegmentList = Annotated[SamplesPart | list[tuple[float, float]], BeforeValidator(segment_pairs)]
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


def _filtering(value: Any) -> Any:
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
        Annotated[BodyParallelPart | PublishedPart, Field(discriminator="type")], BeforeValidator(_filtering)
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
