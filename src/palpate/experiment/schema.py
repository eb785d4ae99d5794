"""The experiment file's keys: types, units, defaults. The documentation of the file is made from this."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field, model_validator

from palpate.experiment import quantities as q
from palpate.experiment.instruments import SENSORS as SENSORS
from palpate.experiment.instruments import ClocksPart as ClocksPart
from palpate.experiment.instruments import ImuPart as ImuPart
from palpate.experiment.instruments import Part, PosePart, RecordingsPart
from palpate.experiment.instruments import SensorPart as SensorPart
from palpate.experiment.instruments import WrenchPart as WrenchPart
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
