"""The handle stage: instrument files -> balance -> solution (paper, Handles)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.errors import DataProblem, PalpateError
from palpate.experiment.reading import Experiment
from palpate.experiment.result import Result, build_result
from palpate.experiment.schema import (
    SENSORS,
    ImuPart,
    ParallelPart,
    PriorPart,
    SavitzkyGolayPart,
    SensorPart,
    WrenchPart,
)
from palpate.experiment.segments import default_segments, segments_in_seconds
from palpate.identify import Balance, MotionNoise, Prior, build_balance, compress, solve
from palpate.identify.balance import Segment
from palpate.model import load_object
from palpate.motion import (
    PARALLEL,
    Offset,
    Smoothing,
    design_lowpass,
    estimate_offset,
    evenly_sampled,
    every_second,
    imu_motion,
    noise_floor,
    resample_motion,
    without_lost,
)
from palpate.motion.evenly import Even
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import PHI_NAMES, check_consistent, phi_from_mass_properties, solid_box, solid_cylinder
from palpate.physics.kinematics import Kinematics
from palpate.physics.motion import Motion
from palpate.physics.regressor import body_features
from palpate.physics.spatial import nearest_rotation, transform
from palpate.recording import Recording, load

Tell = Callable[[str], None]
"""Called with the name of each step as it begins."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A handle experiment up to its balance: what one looks at before solving."""

    balance: Balance
    noise: MotionNoise | None
    train: list[Segment]
    test: list[Segment]
    offset: Offset | None
    """None where the experiment file states the clocks."""
    offset_s: float
    """Load-cell time minus IMU time of the same instant."""
    warnings: tuple[str, ...]


def run_handle(experiment: Experiment, tell: Tell = lambda _: None) -> Result:
    """Identify a handle: the whole stage."""
    prior = prior_of(experiment)
    prepared = prepare_handle(experiment, tell)
    tell("compressing")
    train = compress(prepared.balance, prepared.train, noise=prepared.noise)
    test = compress(prepared.balance, prepared.test)
    tell("solving")
    config = experiment.config
    solution = solve(
        train,
        prior=prior,
        factor=config.factor,
        known_mass=None if config.known_mass is None else config.known_mass.value,
    )
    return build_result(experiment, prepared, solution, train, test)


def prepare_handle(experiment: Experiment, tell: Tell = lambda _: None) -> Prepared:
    """Read the recordings, align their clocks, move the IMU's signals to the sensor and set up the balance."""
    config = experiment.config
    pose = _pose(experiment)
    tell("reading the load cell")
    wrench = _wrench(experiment, config.recordings.wrench)
    tell("reading the IMU")
    imu = _imu(experiment, config.recordings.imu)

    tell("deriving the motion")
    smoothing = _smoothing(config.filtering)
    motion = imu_motion(imu.times_s, imu.x[:, :3], imu.x[:, 3:], pose, smoothing)

    tell("aligning the clocks")
    offset = None
    if config.clocks == "auto":
        offset = estimate_offset(
            motion.times_s, _features(motion), wrench.times_s, wrench.x, what="clock offset between load cell and IMU"
        )
        offset_s = offset.value_s
    else:
        offset_s = _stated_offset(experiment, wrench, imu)
    lost = tuple((a + offset_s, b + offset_s) for a, b in imu.lost)

    def on_clock(even: Even) -> Motion:
        """The sensor's motion from these samples, on the load cell's clock."""
        m = imu_motion(even.times_s, even.x[:, :3], even.x[:, 3:], pose, smoothing)
        shifted = Motion(m.times_s + offset_s, m.specific_acceleration, m.omega, m.omega_dot)
        return resample_motion(shifted, wrench.times_s, lost=lost, reach_s=smoothing.reach_s)

    sensor = SENSORS[config.sensor] if isinstance(config.sensor, str) else config.sensor
    rate_hz = (len(wrench.times_s) - 1) / (wrench.times_s[-1] - wrench.times_s[0])
    try:
        lowpass = (
            design_lowpass(rate_hz, config.filtering.bandwidth) if isinstance(config.filtering, ParallelPart) else None
        )
    except PalpateError as error:
        raise experiment.problem("filtering.bandwidth", str(error)) from error
    model = load_object(config.object)
    w = without_lost(wrench.times_s, wrench.x, wrench.lost)

    def balance_of(even: Even) -> Balance:
        return build_balance(model, on_clock(even), w, sigma=_sigma(sensor), lowpass=lowpass)

    balance = balance_of(imu)
    noise = _noise(config.noise_in_motion, imu, balance, balance_of)
    train, test = _segments(experiment, balance)
    return Prepared(balance, noise, train, test, offset, offset_s, _remarks(wrench, imu))


def _noise(method: str, imu: Even, balance: Balance, balance_of: Callable[[Even], Balance]) -> MotionNoise | None:
    """The noise of the motion as two balances that differ by it."""
    if method == "instrumental":
        return MotionNoise(balance_of(every_second(imu, 0)), balance_of(every_second(imu, 1)), 0.5)
    if method == "simulated":
        added = np.random.default_rng(0).normal(size=imu.x.shape) * noise_floor(imu.x)
        return MotionNoise(balance_of(replace(imu, x=imu.x + added)), balance, 1.0)
    return None


def _smoothing(part: ParallelPart | SavitzkyGolayPart) -> Smoothing:
    if isinstance(part, ParallelPart):
        return PARALLEL
    return Smoothing(part.slope_window, part.slope_order, part.window, part.order)


def _wrench(experiment: Experiment, part: WrenchPart) -> Even:
    """The wrench that moves the handle, N and N m (FORMATS, load cell: minus what dSPACE stores)."""
    recording = _load(experiment, "recordings.wrench", part, {"device": part.device} if part.device else {})
    x = _stack(experiment, "recordings.wrench.channels", recording, part.channels)
    sign = -1.0 if part.sign == "on-other-side" else 1.0
    return evenly_sampled(recording[part.channels[0]].clock.times_s, sign * x, what=f"{part.file}, load cell")


def _imu(experiment: Experiment, part: ImuPart) -> Even:
    recording = _load(experiment, "recordings.imu", part, {"g": part.g} if "g" in part.model_fields_set else {})
    x = np.hstack(
        [
            _stack(experiment, f"recordings.imu.{key}", recording, names)
            for key, names in (("acceleration", part.acceleration), ("angular_rate", part.angular_rate))
        ]
    )
    return evenly_sampled(recording[part.acceleration[0]].clock.times_s, x, what=f"{part.file}, IMU")


def _load(experiment: Experiment, key: str, part: WrenchPart | ImuPart, options: dict[str, Any]) -> Recording:
    if part.columns is not None:
        options["columns"] = {name: column.model_dump() for name, column in part.columns.items()}
    if part.time is not None:
        options["time"] = part.time.model_dump()
    if part.rate is not None:
        options["rate"] = part.rate
    try:
        return load(experiment.path(part.file), format=part.format, **options)
    except PalpateError as error:
        raise experiment.problem(key, str(error)) from error


def _stack(experiment: Experiment, key: str, recording: Recording, names: list[str]) -> FloatArray:
    try:
        return recording.stack(names)
    except PalpateError as error:
        raise experiment.problem(key, str(error)) from error


def _pose(experiment: Experiment) -> FloatArray:
    part = experiment.config.imu_pose
    try:
        return transform(nearest_rotation(part.rotation, what="rotation of the IMU"), part.translation)
    except PalpateError as error:
        raise experiment.problem("imu_pose.rotation", str(error)) from error


def _features(motion: Motion) -> FloatArray:
    """What the wrench of any rigid body is a linear combination of, (samples, 12)."""
    a, w, b = motion.specific_acceleration, motion.omega, motion.omega_dot
    k = Kinematics((a[:, 0], a[:, 1], a[:, 2]), (w[:, 0], w[:, 1], w[:, 2]), (b[:, 0], b[:, 1], b[:, 2]))
    return np.array(body_features(k), dtype=float).T


def _stated_offset(experiment: Experiment, wrench: Even, imu: Even) -> float:
    clocks = experiment.config.clocks
    assert clocks != "auto"
    for name, sample, even in (("wrench", clocks.wrench, wrench), ("imu", clocks.imu, imu)):
        if sample > len(even.times_s):
            raise experiment.problem(f"clocks.{name}", f"there is no sample {sample}, the file has {len(even.times_s)}")
    return float(wrench.times_s[clocks.wrench - 1] - imu.times_s[clocks.imu - 1])


def _sigma(sensor: SensorPart) -> list[float]:
    return [*sensor.sigma_force, *sensor.sigma_moment]


def _segments(experiment: Experiment, balance: Balance) -> tuple[list[Segment], list[Segment]]:
    part = experiment.config.segments
    if part is None:
        seen = balance.times_s[np.isfinite(balance.kinematics.omega[0])]
        return default_segments(float(seen[0]), float(seen[-1]))
    found: list[list[Segment]] = []
    for name in ("train", "test"):
        segments = segments_in_seconds(part, name, balance.times_s)
        for segment in segments:
            try:
                balance.check_seen(segment)
            except DataProblem as error:
                raise experiment.problem(f"segments.{name}", str(error)) from error
        found.append(segments)
    return found[0], found[1]


def prior_of(experiment: Experiment) -> Prior | None:
    """The experiment file's prior in the identification's terms."""
    part = experiment.config.prior
    if part is None:
        return None
    phi = phi_from_mass_properties(part.mass, part.com, _inertia_com(part))
    try:
        check_consistent(phi, "the prior is not a possible body")
    except PalpateError as error:
        raise experiment.problem("prior", str(error)) from error
    values: dict[str, float] = {name: float(v) for name, v in zip(PHI_NAMES, phi, strict=True)}
    damping = None if part.damping == "auto" else float(part.damping)
    form = part.form or ("divergence" if damping is None else "theta")
    return Prior(values, part.spread, damping, form)


def _inertia_com(part: PriorPart) -> FloatArray:
    if part.shape is None:
        return np.array(part.inertia_com, dtype=float)
    if part.shape.type == "cylinder":
        return solid_cylinder(part.mass, part.shape.length, part.shape.radius, part.shape.axis)
    return solid_box(part.mass, part.shape.sides)


def _remarks(wrench: Even, imu: Even) -> tuple[str, ...]:
    told: list[str] = []
    for name, even in (("load cell", wrench), ("IMU", imu)):
        if even.lost:
            longest = max(b - a for a, b in even.lost)
            told.append(f"{name}: {len(even.lost)} gaps, the longest {longest:.3f} s; segments must not contain them")
    return tuple(told)
