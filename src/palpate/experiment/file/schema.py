"""The keys of an experiment file: types, units, defaults, and what each is for. Its documentation is made from this.

A key that acts only for some objects or instruments says so once, in `only`; `reading.check_keys` refuses it elsewhere.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

import pydantic
from pydantic import AliasChoices, BeforeValidator, Field

from palpate.experiment.file import quantities as q
from palpate.experiment.file.keys import (
    FORMAT,
    ColumnPart,
    Columns,
    FilePart,
    Flag,
    Names,
    Options,
    Part,
    Three,
    key,
    optional,
)
from palpate.experiment.file.markers import (
    MarkersPart,
    PosePart,
)
from palpate.experiment.file.poses import PoseFramesPart, PosesPart
from palpate.experiment.file.signals import SignalsPart
from palpate.physics.units import STANDARD_GRAVITY


def _listed(value: Any) -> Any:
    """One entry may stand without the list's brackets."""
    return [value] if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType]


# --- recordings and instruments ---------------------------------------------------------------------------------------


class WrenchPart(FilePart):
    """The load cell's recording."""

    format: Literal["dspace-mat", "csv", "parquet", "c3d", "hdf5", "mat", "rosbag", "smartwheel"] | None = FORMAT
    name: str = key("what this sensor is called, where there are several", "right", default="")
    device: str | None = optional("which device of a dSPACE file", "Platform")
    channels: Annotated[Names, Field(min_length=6, max_length=6)] | None = optional(
        "names of f_x, f_y, f_z, n_x, n_y, n_z in the file; if absent: Fx1_RawZero to Tz1_RawZero (device Platform_2: "
        "Fx2_RawZero ...), a bag's force.x to torque.z, or the six of columns in their order",
        "[fx, fy, fz, tx, ty, tz]",
    )
    columns: Columns = optional("tables: channel -> column and unit", '{fx: {column: "Fx (lbf)", unit: lbf}}')
    sign: Literal["on-other-side", "on-handle"] = key(
        "what the numbers mean: the wrench that the handle passes on through the sensor (as the paper's dSPACE files "
        "store it), or the one that moves the handle",
        default="on-other-side",
    )


class ImuPart(FilePart):
    """The IMU's recording."""

    format: Literal["microstrain-csv", "csv", "parquet", "hdf5", "mat", "rosbag"] | None = FORMAT
    g: q.Acceleration = key(
        "the unit g of a microstrain-csv (the paper's authors: 9.81)", default=STANDARD_GRAVITY, gt=0
    )
    acceleration: Three = key(
        "channels of specific force along the IMU's x, y, z",
        "[ax, ay, az]",
        default=[f"acceleration.{a}" for a in "xyz"],
    )
    angular_rate: Three = key(
        "channels of angular rate about the IMU's x, y, z", "[gx, gy, gz]", default=[f"angular_rate.{a}" for a in "xyz"]
    )
    columns: Columns = optional(
        "tables: channel -> column and unit; the unit g of a channel listed under acceleration "
        "is standard gravity (gn), elsewhere gram",
        "{ax: {column: AccX, unit: g}}",
    )
    noise_acceleration: q.Accelerations | None = optional(
        "data-sheet noise of the accelerometer (standard deviation of a sample), m/s2; one number or three", "0.02 m/s2"
    )
    noise_rate: q.Rates | None = optional(
        "data-sheet noise of the gyroscope (standard deviation of a sample), rad/s; one number or three", "0.1 deg/s"
    )

    @pydantic.field_validator("columns")
    @classmethod
    def _g_is_gravity(
        cls, columns: dict[str, ColumnPart] | None, info: pydantic.ValidationInfo
    ) -> dict[str, ColumnPart] | None:
        if columns is None:
            return None
        gravity = [n for n, c in columns.items() if c.unit == "g" and n in info.data.get("acceleration", ())]
        return columns | {name: ColumnPart(column=columns[name].column, unit="gn") for name in gravity}


class MarkerColumnsPart(Part):
    """A marker in a plain table."""

    column: Three = key("headers of its x, y, z", "[hook_x, hook_y, hook_z]")
    unit: q.ChannelUnit = key("unit of the numbers in the file; if absent, the one in the headers", "mm", default="")


class MocapPart(FilePart):
    """A recording of markers."""

    format: Literal["vicon-csv", "c3d", "trc", "rosbag", "hdf5", "csv", "parquet", "mat"] | None = FORMAT
    columns: dict[str, MarkerColumnsPart] | None = optional(
        "tables: marker -> its three columns and their unit", "{hook: {column: [hook_x, hook_y, hook_z], unit: m}}"
    )


RecordingPart = WrenchPart | ImuPart | MocapPart | PosesPart | SignalsPart
WRENCH: Any = optional(
    "the load cell's recording; of several load cells on one body, which share a clock, a list",
    "{file: wrench.mat}",
    "[{file: right.csv, name: right}, {file: left.csv, name: left}]",
)
IMU: Any = optional("the IMU's recording", "{file: imu.csv}")
STATIC: Any = optional(
    "the same markers at rest: the reference cloud", "{file: s.csv}", only=("mocap", "reference: static")
)


class RecordingsPart(Part):
    """Which file holds what: a load cell with an IMU, markers or poses, or one table of signals."""

    wrench: WrenchPart | Annotated[list[WrenchPart], Field(min_length=1)] | None = WRENCH
    imu: ImuPart | None = IMU
    mocap: MocapPart | None = optional("the markers' recording: the reference clock", "{file: a.csv}", only="body")
    static: MocapPart | None = STATIC
    poses: PosesPart | None = optional(
        "instead of markers, poses by a robot or a tracker: the reference clock",
        "{file: robot.csv, position: [x, y, z], orientation: [qx, qy, qz, qw]}",
        only="body",
    )
    wrench_2: WrenchPart | None = optional(
        "the second load cell's recording, as a list under wrench has it",
        "{file: wrench.mat, device: Platform_2}",
        only="markers",
    )
    signals: SignalsPart | None = optional(
        "instead of all others: a table of signals",
        "{file: log.csv, columns: {q: {column: angle}, tau: {column: torque}}, angle: q, torque: tau}",
        only=("body", "a table"),
    )

    @pydantic.model_validator(mode="after")
    def _table_alone(self) -> RecordingsPart:
        others = (self.mocap, self.static, self.poses, self.wrench, self.wrench_2, self.imu)
        if self.signals is not None and any(part is not None for part in others):
            raise ValueError("signals stands alone: leave the other recordings out")
        if self.poses is not None and (self.mocap is not None or self.static is not None):
            raise ValueError("mocap and poses both tell the motion: leave one of them out")
        return self


class SensorPart(Part):
    """A force/torque sensor: its accuracy, for the weights, and its noise."""

    sigma_force: q.Forces = key("accuracy of the forces, N; one number, or three for x, y, z", "0.06 N")
    sigma_moment: q.Torques = key("accuracy of the moments, N m; one number, or three for x, y, z", "0.002 N m")
    noise_force: q.Forces | None = optional(
        "data-sheet noise of the forces (standard deviation of a sample), N; one number or three", "0.3 N"
    )
    noise_moment: q.Torques | None = optional(
        "data-sheet noise of the moments (standard deviation of a sample), N m; one number or three", "0.01 N m"
    )


SENSORS: dict[str, SensorPart] = {
    # calibration accuracy, full scale times percent (FORMATS, load cell)
    "ati-omega85": SensorPart(sigma_force=[950 * 0.015, 950 * 0.015, 1900 * 0.010], sigma_moment=[40 * 0.0125] * 3)
}


def sensor_label(sensor: object, device: str | None) -> str:
    """Which sensor this is, in a word or two, to tell it from others."""
    kind = sensor if isinstance(sensor, str) else "own sensor"
    return f"{kind} ({device})" if device else kind


class ClocksPart(Part):
    """Samples that were taken at the same instant, counted from 1 in each file."""

    wrench: q.Whole | None = optional("sample of the load cell's file, from 1", "17757")
    imu: q.Whole | None = optional("sample of the IMU's file, from 1", "9463", only="an IMU")
    mocap: q.Whole | None = optional("row of the markers' file, from 1; not its Frame column", "1058", only="mocap")
    poses: q.Whole | None = optional("row of the poses' file, from 1", "1058", only="poses")


# --- segments, smoothing ----------------------------------------------------------------------------------------------


class SamplesPart(Part):
    """Segments counted in samples of the reference device, as the paper's authors do."""

    samples: Annotated[list[tuple[int, int]], BeforeValidator(lambda value: q.pairs(value, q.whole))] = key(
        "first and last sample, from 1, both included; or a list of such pairs", "[2736, 47446]"
    )


def _segment_pairs(value: Any) -> Any:
    """Pairs of seconds, or samples as they are."""
    return cast("Any", value) if isinstance(value, dict | SamplesPart) else q.pairs(value, q.quantity("s"))


SegmentList = Annotated[SamplesPart | list[tuple[float, float]], BeforeValidator(_segment_pairs)]


class SegmentsPart(Part):
    """Which times are used for what: seconds on the markers' or the table's clock, else on the load cell's; from
    (included) to (excluded).
    """

    static: SegmentList | None = optional(
        "the object shut or standing, untouched: the preload, and the position's zero", "[0.5, 4.5]", only="body"
    )
    quasi_static: SegmentList | None = optional("moved slowly, all the way: the spring", "[6, 60]", only="one-freedom")
    train: SegmentList = key(
        "the object moved as people do: [from, to] or a list of such pairs, in s; or {samples: [first, last]}",
        "[[61, 110], [135, 150]]",
    )
    test: SegmentList = key("likewise; must not overlap the others", "[111, 134]")
    first_sample: q.Whole = key("row of the reference device's file that counts as sample 1", default=1, only="samples")


class ParallelPart(Part):
    """Light differentiation, then one low-pass over every column and the wrench."""

    type: Literal["parallel"] = "parallel"
    bandwidth: q.Frequency | None = optional(
        "cut-off; if absent, 20 Hz with an IMU, else chosen", "20 Hz", only="method: balance", gt=0
    )
    window: q.Seconds | None = optional(
        "for the derivatives, s; if absent, from the bandwidth",
        "0.2 s",
        only=("body", "method: balance", "polynomials"),
        gt=0,
    )


class PublishedPart(Part):
    """As the paper's authors: windows on the position only, plain decimation of the wrench, no sample left out."""

    type: Literal["published"] = key("published", only="body")
    window: q.Seconds = key("Savitzky-Golay window, s", default=0.31, gt=0)
    order: q.Whole = key("its polynomial order", default=4, le=8)


class SavitzkyGolayPart(Part):
    """The published windows of a handle, on the motion only."""

    type: Literal["savitzky-golay"] = key("savitzky-golay", only="imu")
    slope_window: q.Seconds = key("for the derivative of the angular rate, s", default=0.051, gt=0)
    slope_order: q.Whole = key("its polynomial order", default=3, le=8)
    window: q.Seconds = key("for the smoothing of all signals afterwards, s", default=0.101, gt=0)
    order: q.Whole = key("its polynomial order (the paper's door handle: 3)", default=4, le=8)


HANDLE_HZ = 20.0
"""Bandwidth with an IMU, which measures fast and without gaps."""
Filtering = Annotated[ParallelPart | PublishedPart | SavitzkyGolayPart, Field(discriminator="type")]


class DerivativesPart(Part):
    """How poses become velocities and accelerations."""

    method: Literal["local", "published", "fusion"] | None = optional(
        "local: polynomials on what markers saw, with a window from the recording; fusion: markers and IMU together, "
        "with its zeros, gains, place and clock; published: Savitzky-Golay windows as the paper's, only for stage: "
        "motion; if absent, fusion with recordings.imu, else local",
        "fusion",
        only=("markers", "an IMU", "parallel"),
    )
    window: q.Seconds | None = optional("length, s; if absent, chosen from the data", "0.11 s", only="motion", gt=0)
    order: q.Whole = key(
        "order of the polynomials", default=4, only=("method: balance", "parallel", "polynomials"), le=8
    )


# --- what is known before, and how well -------------------------------------------------------------------------------


class HandleWeightPart(Part):
    """A handle known only by its weight."""

    mass: q.Mass = key("mass, kg", "1.531 kg", gt=0)
    com: q.Vector = key("centre of mass in the sensor frame, m", "[-0.0007, -0.0015, 0.026]")


class CylinderPart(Part):
    """A solid cylinder about its centre."""

    type: Literal["cylinder"]
    length: q.Length = key("length, m", "15 cm", gt=0)
    radius: q.Length = key("radius, m", "2 cm", gt=0)
    axis: q.Direction = key("direction in the frame of the prior", "[0, 0, 1]")


class BoxPart(Part):
    """A solid box about its centre, along the axes of the prior's frame."""

    type: Literal["box"]
    sides: q.Sides = key("lengths along x, y, z, m", "[0.1, 0.05, 0.2]")


class PriorPart(Part):
    """What is believed before, from a drawing or CAD file: of a handle in the sensor frame, of an object that rolls in
    the frame on its axle.
    """

    one_of = ("inertia_com", "shape")
    of: Literal["handle", "body", "whole"] | None = optional(
        "what these numbers and their spread describe: the handle (stage: handle), the body, or the whole with its "
        "handles. If absent: what the model describes",
        "whole",
    )
    mass: q.Mass = key("mass, kg", "0.9 kg", gt=0)
    com: q.Vector = key("centre of mass in that frame, m", "[0, 0, 0.075]")
    inertia_com: q.Inertia | None = optional(
        "inertia about the centre of mass, along the axes of that frame, kg m2",
        "[[0.012, 0, 0], [0, 0.012, 0], [0, 0, 0.001]]",
    )
    shape: Annotated[CylinderPart | BoxPart, Field(discriminator="type")] | None = optional(
        "cylinder or box, instead of inertia_com", "{type: cylinder, length: 15 cm, radius: 2 cm, axis: [0, 0, 1]}"
    )
    damping: Annotated[float | Literal["auto"], BeforeValidator(q.damping)] = key(
        "the paper's lambda; auto: from the spread and the noise of the data", "10", default="auto"
    )
    form: Literal["theta", "divergence"] | None = optional(
        "how it pulls: theta, as the paper; divergence, the same in every frame and factor convention; default: "
        "divergence with automatic damping, theta with a number",
    )
    spread: q.Fraction = key("fraction by which the prior may be off", "30 %", default=0.3, gt=0, le=2)


class KnownMassPart(Part):
    """A mass from a scale."""

    value: q.Mass = key("mass, kg", "1.3 kg", gt=0)
    of: Literal["handle", "body", "whole"] = key(
        "what was weighed: the handle, the part on the object side of the sensors, or the whole", "handle"
    )


def deviation(description: str, example: str, *only: str, **limits: float) -> Any:
    """A standard deviation that may be declared."""
    return optional(description, example, only=only, ge=0, **limits)


class UncertainPart(Part):
    """How far off the things may be that are taken as given: one standard deviation each."""

    load_cell_scale: q.Fraction | None = deviation("the load cell's scale, as a fraction", "1 %", lt=1)
    clock: q.Seconds | None = deviation("the load cell's clock against that of the motion, s", "0.2 ms")
    fixed: q.Fraction | None = deviation("the values under fixed, each, as a fraction", "1 %", "fixed values", lt=1)
    mass: q.Mass | None = optional(
        "the mass under known_mass, kg; the old name known_mass is read too",
        "1 g",
        only="known mass",
        ge=0,
        validation_alias=AliasChoices("mass", "known_mass"),
    )
    imu_rotation: q.Angle | None = deviation("the IMU's rotation, about each axis; with its unit", "0.5 deg", "imu")
    imu_position: q.Length | None = deviation("the IMU's position, along each axis, m", "1 mm", "imu")
    accelerometer_scale: q.Fraction | None = deviation(
        "the accelerometer's scale, as a fraction", "0.2 %", "accelerometer", lt=1
    )
    gyroscope_scale: q.Fraction | None = deviation("the gyroscope's scale, as a fraction", "0.2 %", "gyro", lt=1)
    sensor_position: q.Length | None = deviation("the sensor's place on the object, each axis, m", "2 mm", "markers")
    sensor_rotation: q.Angle | None = deviation("its rotation, about each axis; with its unit", "0.3 deg", "markers")
    sensor_yaw: q.Angle | None = deviation("each sensor's turn about its own z; with its unit", "0.3 deg", "floor")
    closed: q.Travel | None = deviation("the position's zero; an angle or a length with unit", "0.2 deg", "one-freedom")
    links: q.Length | None = deviation(
        "the length of each link that is not estimated, m; if absent 2 mm, or as much less as the data tell",
        "1 mm",
        "linkage",
    )
    tilt: q.Angle | None = deviation("the vertical, about each level axis; with its unit", "0.1 deg", "markers")
    wheel_radius: q.Length | None = deviation("the wheel's radius, m", "2 mm", "wheel")

    def stated(self) -> dict[str, float]:
        """The standard deviations that were given and are not zero, by key."""
        return {name: float(value) for name, value in self if value}


class FixedBiasPart(Part):
    """A constant wrench that is added to the model, as the paper's authors do."""

    at_contact: Annotated[list[q.Number], Field(min_length=6, max_length=6)] = key(
        "f_x, f_y, f_z (N), n_x, n_y, n_z (N m) in the frame under the wheel", "[-13.7, 0, 0, 0, 0, 9.5]", only="wheel"
    )


class ReferencePart(Part):
    """Values to print beside the result."""

    one_of = ("file", "values")
    label: str = key("heading of the column: truth, paper, last year", "paper")
    file: str | None = optional(
        'a truth.json or result.json, or your own {"parameters": {"m": {"value": 6.4, "unit": "kg"}}}', "truth.json"
    )
    values: dict[str, q.Number] | None = optional("by parameter name, SI", "{m: 0.856, c_z: 0.077}")


# --- whole files ------------------------------------------------------------------------------------------------------


class CommonPart(Part):
    """What every experiment file may say."""

    palpate: Literal[1] = key("version of this format", default=1)
    title: str = key("a heading, for people", '"Door 7"', default="")
    markers: MarkersPart = key("what the markers stand for", default=MarkersPart(), only="mocap")
    imu_pose: PosePart | None = optional(
        "pose of the IMU in the sensor frame, from the drawing",
        "{rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0, 0, 0.05]}",
        only=("load cell", "an IMU"),
    )
    gravity: q.Acceleration = key(
        "local gravity, m/s2 (the paper's authors: 9.81); stored in the model",
        default=STANDARD_GRAVITY,
        gt=9.6,
        lt=10.0,
    )
    accelerometer_zero: q.Acceleration = key(
        "how far off the accelerometer's zero may be (one standard deviation, each axis), m/s2: it limits how well the "
        "vertical can be known, and a handle's bias",
        "5 mm/s2",
        default=0.05,
        only="an IMU",
        ge=0,
    )
    clocks: Literal["auto"] | ClocksPart = key(
        "found from the signals, or samples of all files taken at the same instant",
        "{wrench: 17757, imu: 9463}",
        "{mocap: 1058, imu: 7861, wrench: 20811}",
        default="auto",
        only="load cell",
    )
    derivatives: DerivativesPart = key(
        "how positions become velocities and accelerations", "{order: 4}", default=DerivativesPart(), only="body"
    )


class ExperimentPart(CommonPart):
    """An experiment: which recordings, how the instruments sit, which times are used, what is believed before."""

    object: str = key("an object file that ships, or a path; a body's must be given", "door", default="handle")
    stage: Literal["handle", "body"] = key(
        "what is identified: the handle, which hangs on its sensor while an IMU measures the motion; or the body "
        "on the other side of the sensor, which is moved by its handle",
        default="handle",
    )
    model_of: Literal["body", "whole", "weight-only"] = key(
        "body: the part on the object side of the sensor, which a robot renders; whole: with the handle; weight-only: "
        "as the paper's authors did, for reproduction",
        default="body",
        only=("body", "load cell"),
    )
    recordings: RecordingsPart = key("which file holds what", "{wrench: {file: wrench.mat}, imu: {file: imu.csv}}")
    poses: PoseFramesPart = key(
        "what sits where in the frame of recordings.poses",
        "{sensor: {translation: [0, 0, 0.04]}}",
        default=PoseFramesPart(),
        only="poses",
    )
    handle: str | HandleWeightPart | Annotated[list[str | HandleWeightPart], Field(min_length=1)] | None = optional(
        "the handle's experiment file, which is identified first, or its model.json; or mass and centre of mass, where "
        "only its weight counts. On several sensors one may stand for all, or each has its own, in a list",
        "handle/handle.yaml",
        only=("body", "load cell"),
    )
    handle_2: str | HandleWeightPart | None = optional(
        "the handle on the second sensor; if absent, the same as the first", "left.yaml", only="two load cells"
    )
    sensor: Literal["ati-omega85"] | SensorPart = key(
        "a known force/torque sensor, or its accuracy: it weights the rows of a handle, those of a body weigh by what "
        "is left of each; and a handle belongs to its sensor",
        "{sigma_force: 0.06 N, sigma_moment: 0.002 N m}",
        default="ati-omega85",
        only="load cell",
    )
    parts: str | None = optional(
        "a Python file beside this one with mechanisms, linkages or elements of your own, or the name of an installed "
        "package's entry point: it is code, and is run",
        "mine.py",
    )
    mechanism: Options = key(
        "options of the object's mechanism that differ", "{linkage: {lengths: [0.286, 0.273, 0.26, 0.349]}}", default={}
    )
    elements: list[Options] = key(
        "elements to add, or to replace the object's element of the same name; angles with units",
        "[{type: coulomb, name: b_c}]",
        default=[],
    )
    without: list[str] = key("names of the object's elements to leave out", "[b_bc]", default=[])
    stops: Annotated[list[q.Travel], Field(min_length=2, max_length=2)] | None = optional(
        "positions at which the object meets its stops, angles or lengths with their unit: samples pressed against "
        "them are left out, and those farther in where something not in the model pushes back; if absent: with markers "
        "the ends of the travel seen, with a table none",
        "[0 deg, 92 deg]",
        only="one-freedom",
    )
    segments: SegmentsPart | None = optional(
        "which times are used for what; if absent, for a handle: the first 60 % train, the rest tests; a body's must "
        "be given",
        "{train: [[6, 44]], test: [45, 63]}",
    )
    procedure: Literal["joint", "two-step"] = key(
        "joint: all parameters from all segments; two-step: the spring from the quasi-static segment, then the rest, "
        "as in the paper",
        default="joint",
        only="one-freedom",
    )
    method: Literal["balance", "joint"] = key(
        "balance: the motion first, then the parameters from the balance of forces; joint: motion, parameters, clock "
        "and geometry together, each held by how well it is known: sharper, above all without an IMU, and it takes "
        "what is stated beyond that at its word",
        default="balance",
        only="body",
    )
    filtering: Filtering = key(
        "how signals are smoothed and differentiated; without a type: parallel",
        "{type: parallel, bandwidth: 20 Hz}",
        default=ParallelPart(),
    )
    noise_in_motion: Literal["instrumental", "simulated", "ignored"] = key(
        "IMU noise makes parameters look too small: removed by using the two halves of its samples as instruments "
        "for each other, removed by simulating its measured noise, or left in",
        default="instrumental",
        only="imu",
    )
    bias: Literal["still", "estimated", "none"] | FixedBiasPart | None = optional(
        "zero of the load cells. still: from segments.static, handles untouched; estimated: with the other parameters; "
        "none: as recorded; or a fixed wrench. If absent: still where there is such a segment, else estimated; for an "
        "object with one freedom none, as it would look the same as a spring's preload",
        "estimated",
        only="markers",
    )
    rows: Literal["all", "moments"] = key(
        "rows of the balance: moments about the contact and the forward force, or the moments only, as in the paper",
        default="all",
        only="wheel",
    )
    fixed: dict[str, q.Number] = key("parameters held at a value, SI", "{b_bc: 7.5}", default={})
    known: dict[str, q.Number] = key(
        "parameters known from a scale and a ruler, SI: not imposed but compared, so that a wrong force scale shows",
        "{mc_x: 0.304}",
        default={},
    )
    known_mass: KnownMassPart | None = optional(
        "a mass from a scale, kept exactly, and what was weighed; handles are added or subtracted",
        "{value: 1.3 kg, of: handle}",
        "{value: 45 kg, of: whole}",
        only="mass",
    )
    prior: PriorPart | None = optional(
        "a drawing's or CAD file's numbers; without it, data alone",
        "{mass: 0.9 kg, com: [0, 0, 0.1], shape: {type: box, sides: [0.1, 0.1, 0.1]}}",
        only="rigid body",
    )
    factor: Literal["UtU", "UUt"] = key(
        "log-Cholesky convention of theta and prior", default="UtU", only=("rigid body", "prior on theta")
    )
    uncertain: UncertainPart | None = optional(
        "how far off what is taken as given may be", "{imu_rotation: 0.5 deg, load_cell_scale: 1 %}"
    )
    robust: Flag = key("give less weight to pieces of the recording that do not fit", default=False)
    compensate: Flag = key(
        "remove lag and adapter compliance from the wrench, and what gives way between the object and where its "
        "position is measured, where the data show them",
        default=False,
    )
    reference: Annotated[list[ReferencePart], BeforeValidator(_listed)] = key(
        "values to print beside ours", "{label: truth, file: truth.json}", default=[]
    )

    @pydantic.model_validator(mode="before")
    @classmethod
    def _usual_filtering(cls, data: Any) -> Any:
        """Without a type: parallel, unless a handle's file has a key of the published windows; and its bandwidth."""
        tree = cast("Options", data) if isinstance(data, dict) else {}
        given, handle = tree.get("filtering", {}), tree.get("stage", "handle") == "handle"
        if not isinstance(given, dict):
            return cast("Any", data)
        part = cast("Options", given)
        published = handle and set(SavitzkyGolayPart.model_fields).intersection(part)
        part = {"type": "savitzky-golay" if published else "parallel", **part}
        if handle and part["type"] == "parallel":
            part = {"bandwidth": HANDLE_HZ, **part}
        return {**tree, "filtering": part}

    @property
    def motion_from(self) -> Literal["imu", "markers", "poses", "table"]:
        """What measures the motion."""
        if self.stage == "handle":
            return "imu"
        if self.recordings.poses is not None:
            return "poses"
        return "table" if self.recordings.signals is not None else "markers"

    @property
    def gyroscope(self) -> bool:
        """Whether a gyroscope alone tells how it turns."""
        part = self.recordings.signals or self.recordings.poses
        return self.motion_from == "imu" or (part is not None and part.angular_rate is not None)

    @property
    def accelerometer(self) -> bool:
        """Whether an accelerometer alone tells how it slides."""
        poses = self.recordings.poses
        return self.motion_from == "imu" or (poses is not None and poses.acceleration is not None)

    @property
    def captured(self) -> bool:
        """Whether something shows the pose of the body at each time: cameras, a robot, a tracker."""
        return self.motion_from in ("markers", "poses")


class CapturePart(Part):
    """Which file holds what; only markers are needed."""

    mocap: MocapPart = key("the markers' recording; its clock is the reference", "{file: a.csv}")
    static: MocapPart | None = STATIC
    imu: ImuPart | None = IMU
    wrench: WrenchPart | None = optional("the load cell's recording", "{file: wrench.mat}")


class MotionPart(CommonPart):
    """A capture: which recordings, which markers, how the instruments sit."""

    stage: Literal["motion"] = key("the motion alone: nothing is identified")
    recordings: CapturePart = key("which file holds what", "{mocap: {file: Trajectories.csv}}")

    @pydantic.model_validator(mode="after")
    def _imu_needs_sensor(self) -> MotionPart:
        if self.imu_pose is not None and self.markers.sensor is None:
            raise ValueError("imu_pose is given in the sensor frame: state where that is under markers.sensor")
        return self
