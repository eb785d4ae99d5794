"""The handle stage: instrument files -> balance -> solution (paper, Handles)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.errors import DataProblem, PalpateError
from palpate.experiment.file.reading import Experiment, check_reference_names
from palpate.experiment.file.schema import PriorPart
from palpate.experiment.gates import expected_noise
from palpate.experiment.handle_inputs import HandleInputs, build_inputs, read_imu, read_wrench, sensor_of
from palpate.experiment.handle_result import build_result
from palpate.experiment.motion_noise import limit_noise
from palpate.experiment.result import Result
from palpate.experiment.segments import check_overlap, default_segments, segments_in_seconds
from palpate.experiment.systematic import systematic
from palpate.experiment.telling import Tell
from palpate.findings import Finding, Severity
from palpate.identify import Balance, Compressed, MotionNoise, Prior, Solution, compress, robust, solve
from palpate.identify.balance import Segment
from palpate.motion import Offset, estimate_offset, imu_motion, noise_floor, resample_motion
from palpate.motion.clocks.clock import Even
from palpate.motion.imu.extrinsics import check_placement, imu_on_load_cell
from palpate.motion.imu.noise import judge_imu_noise
from palpate.motion.imu.plausibility import check_imu
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import PHI_NAMES, check_consistent, phi_from_mass_properties, solid_box, solid_cylinder
from palpate.physics.kinematics import Kinematics
from palpate.physics.motion import Motion
from palpate.physics.regressor import body_features
from palpate.recording.gates import check_channels

FASTEST_DRIFT_PPM = 3.0
SHARP_DRIFT_PPM = 1.5
SAME_CLOCK_S = 5e-4
FEWEST_IN_WINDOW = 5


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A handle experiment up to its balance: what one looks at before solving."""

    inputs: HandleInputs
    balance: Balance
    noise: MotionNoise | None
    train: list[Segment]
    test: list[Segment]
    offset: Offset | None
    """None where the experiment file states the clocks."""
    findings: tuple[Finding, ...]

    @property
    def offset_s(self) -> float:
        """Load-cell time minus IMU time of the same instant."""
        return self.inputs.offset_s


def run_handle(experiment: Experiment[Any], tell: Tell = lambda _: None) -> Result:
    """Identify a handle: the whole stage."""
    config = experiment.config
    prior = prior_of(experiment)
    mass = None if config.known_mass is None else config.known_mass.value
    prepared = prepare_handle(experiment, tell)
    tell("looking for the IMU")
    prepared = replace(prepared, findings=(*prepared.findings, *_imu_findings(prepared)))
    tell("compressing")
    train = compress(prepared.balance, prepared.train, noise=prepared.noise)
    test = compress(prepared.balance, prepared.test)
    weighed = robust(train)
    tell("solving")

    def fit(compressed: Compressed, known_mass: float | None, damping: float | None) -> Solution:
        chosen = None if prior is None else replace(prior, damping=prior.damping if damping is None else damping)
        return solve(compressed, prior=chosen, factor=config.factor, known_mass=known_mass)

    solution = fit(weighed.compressed if config.robust else train, mass, None)
    outlying = _outlying(prepared, train, weighed.weights, robust=config.robust)
    solution = replace(solution, warnings=(*solution.warnings, *outlying))
    check_reference_names(experiment, [e.name for e in solution.estimates], train.model.mechanism.rows)
    if config.uncertain is not None:
        tell("propagating systematic errors")
        errors = systematic(
            prepared.inputs,
            config.uncertain,
            mass,
            lambda inputs, m: fit(compress(inputs.balance(), prepared.train), m, solution.damping),
        )
        solution = replace(solution, estimates=tuple(replace(e, systematic=errors[e.name]) for e in solution.estimates))
    tell("judging")
    return build_result(experiment, prepared, solution, train, test)


def prepare_handle(experiment: Experiment[Any], tell: Tell = lambda _: None) -> Prepared:
    """Read the recordings, align their clocks, move the IMU's signals to the sensor and set up the balance."""
    config = experiment.config
    tell("reading the load cell")
    wrench_file, wrench_names, wrench = read_wrench(experiment, config.recordings.wrench)
    tell("reading the IMU")
    imu_file, imu_names, imu = read_imu(experiment, config.recordings.imu)
    inputs = build_inputs(experiment, wrench, imu)

    tell("aligning the clocks")
    offset = None
    if config.clocks == "auto":
        motion = inputs.motion()
        what = "clock offset between load cell and IMU"
        offset = _offset(motion, wrench, what)
        drifts = _drifts(offset)
        drift, since = (1e-6 * offset.drift_ppm, offset.at_s) if drifts else (0.0, 0.0)
        inputs = replace(inputs, offset_s=offset.value_s, drift=drift, drift_from_s=since)
    else:
        inputs = replace(inputs, offset_s=_stated_offset(experiment, wrench, imu))

    tell("deriving the motion")
    balance = inputs.balance()
    measured = judge_imu_noise(imu, inputs.smoothing, inputs.lowpass, wrench.times_s)
    instead = measured.instead_of_halves
    if instead is None and not _halves_suffice(inputs):
        instead = noise_floor(imu.x) if measured.level is None else measured.level
    noise = inputs.noise(config.noise_in_motion, balance, instead)
    train, test = _segments(experiment, balance, wrench)
    limits: tuple[Finding, ...] = ()
    if noise is not None and instead is not None:
        noise, limits = limit_noise(noise, balance, train, expected_noise(inputs))

    tell("checking the recordings")
    sensor, imu_part = sensor_of(config.sensor), config.recordings.imu
    wrench_noise = _data_sheet(wrench_names, sensor.noise_force, sensor.noise_moment)
    imu_noise = _data_sheet(imu_names, imu_part.noise_acceleration, imu_part.noise_rate)
    used = [*train, *test]
    on_imu = [(a - inputs.offset_s, b - inputs.offset_s) for a, b in used]  # to a few samples, whatever the drift
    findings = (
        *check_channels(wrench_file, wrench_names, noise=wrench_noise, segments=used),
        *check_channels(imu_file, imu_names, noise=imu_noise, segments=on_imu),
        *check_imu(imu.times_s, imu.x[:, :3], imu.x[:, 3:]),
        *(() if noise is None else measured.findings),
        *limits,
        *_gaps("load cell", wrench),
        *_gaps("IMU", imu),
        *_drift(offset),
    )
    return Prepared(inputs, balance, noise, train, test, offset, findings)


def _imu_findings(prepared: Prepared) -> tuple[Finding, ...]:
    """Whether the IMU sits as the drawing says, seen by the load cell: a handle is rigid (motion/extrinsics.py)."""
    inputs, found = prepared.inputs, list[Finding]()
    if any(f.cause == "gyro-scale" and f.fatal for f in prepared.findings):
        return ()  # a wrong scale looks like a wrong place
    still = imu_motion(inputs.imu.times_s, inputs.imu.x[:, :3], inputs.imu.x[:, 3:], np.eye(4), inputs.smoothing)
    moved = replace(still, times_s=inputs.on_load_cell(still.times_s))
    longest = max(prepared.train, key=lambda s: s[1] - s[0])
    start, stop = prepared.balance.indices(longest)
    on_clock = resample_motion(moved, inputs.wrench.times_s[start:stop])
    try:
        seen = imu_on_load_cell(on_clock, inputs.wrench.x[start:stop])
        found += check_placement(seen, inputs.T_sensor_imu[:3, :3], inputs.T_sensor_imu[:3, 3])
    except DataProblem:
        return ()  # too little motion to tell, which the gates say in their own words
    # a millimetre is a percent of a small handle's inertia: what is told here is no small matter
    return tuple(replace(f, severity=Severity.FATAL) for f in found if f.cause == "placement")


def _outlying(prepared: Prepared, train: Compressed, weights: FloatArray, *, robust: bool) -> tuple[str, ...]:
    """When the pieces were that a robust fit takes less seriously."""
    period = float(np.median(np.diff(prepared.balance.times_s[:1000])))
    ends = np.cumsum(train.samples) * period
    starts, told = ends - train.samples * period, list[str]()
    for i in np.flatnonzero(weights < 0.5):
        before = 0.0
        for a, b in prepared.train:  # the time of a piece inside its segment
            if starts[i] < before + (b - a):
                told.append(f"{a + starts[i] - before:.1f} s")
                break
            before += b - a
    if not told:
        return ()
    when = f"{len(told)} pieces of {len(weights)} do not fit, at about {', '.join(told[:12])}"
    return (f"{when}; they count less" if robust else f"{when}: did somebody touch the handle? `robust: true` helps",)


def _offset(motion: Motion, wrench: Even, what: str) -> Offset:
    """Load-cell minus IMU time, refused where the motion is so slow that a lag looks like a turning: d a / dt = a x
    omega.
    """
    features = wrench_features(motion)
    found = estimate_offset(motion.times_s, features, wrench.times_s, wrench.x, what=what)
    plain = estimate_offset(motion.times_s, features[:, :-3], wrench.times_s, wrench.x, what=what)
    apart = abs(found.value_s - plain.value_s)
    if apart > max(SAME_CLOCK_S, 5 * float(np.hypot(found.std_s, plain.std_s))):
        raise DataProblem(
            what,
            f"it cannot be known: two ways to compare the signals differ by {1e3 * apart:.1f} ms; the motion is slow",
            remedy="shake the object, or state the samples that coincide (clocks:)",
        )
    unsure = max(FASTEST_DRIFT_PPM, 4 * float(np.hypot(found.drift_std_ppm, plain.drift_std_ppm)))
    if not abs(found.drift_ppm - plain.drift_ppm) <= unsure:
        return replace(found, drift_ppm=float("nan"), drift_std_ppm=float("nan"))
    return found


def _halves_suffice(inputs: HandleInputs) -> bool:
    """Whether every second sample is still filtered over the same time as all of them."""
    times = inputs.imu.times_s
    rate_hz = (len(times) - 1) / (times[-1] - times[0])
    return bool(rate_hz / 2 * inputs.smoothing.slope_window_s >= FEWEST_IN_WINDOW)


def prior_of(experiment: Experiment[Any]) -> Prior | None:
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


def wrench_features(motion: Motion) -> FloatArray:
    """What the wrench of any rigid body is a linear combination of, (samples, 15).

    omega itself belongs to them, because a zero error b of the gyroscope turns products of omega into b omega, which
    would else pass for a lag of some 20 us.
    """
    k = Kinematics.from_arrays(motion.specific_acceleration, motion.omega, motion.omega_dot)
    return np.vstack([np.array(body_features(k), dtype=float), motion.omega.T]).T


def _stated_offset(experiment: Experiment[Any], wrench: Even, imu: Even) -> float:
    """From the rows of both files that the experiment says were taken at the same instant."""
    clocks = experiment.config.clocks
    assert clocks != "auto"
    times: list[float] = []
    for name, sample, even in (("wrench", clocks.wrench, wrench), ("imu", clocks.imu, imu)):
        if sample > len(even.rows):
            raise experiment.problem(f"clocks.{name}", f"there is no sample {sample}, the file has {len(even.rows)}")
        times.append(float(even.times_s[even.rows[sample - 1]]))
    return times[0] - times[1]


def _segments(experiment: Experiment[Any], balance: Balance, wrench: Even) -> tuple[list[Segment], list[Segment]]:
    part = experiment.config.segments
    if part is None:
        seen = np.isfinite(balance.kinematics.omega[0]) & np.isfinite(balance.wrench).all(axis=1)
        return default_segments(balance.times_s, seen)
    found: dict[str, list[Segment]] = {}
    for name in ("train", "test"):
        try:
            found[name] = segments_in_seconds(part, name, balance.times_s, wrench.rows)
            for segment in found[name]:
                balance.check_seen(segment)
        except PalpateError as error:
            raise experiment.problem(f"segments.{name}", str(error)) from error
    spans = {name: [balance.indices(s) for s in segments] for name, segments in found.items()}
    clash = check_overlap(spans["train"], spans["test"])
    if clash is not None:
        times = [f"{balance.times_s[i]:.3f} to {balance.times_s[j - 1]:.3f} s" for i, j in clash]
        overlap = f"{times[1]} overlaps {times[0]} of segments.train"
        raise experiment.problem("segments.test", overlap, "a test on data of the fit proves nothing")
    return found["train"], found["test"]


def _data_sheet(names: list[str], *groups: list[float] | None) -> dict[str, float] | None:
    """The noise that a data sheet promises, by channel, where the experiment file states it: three channels a group."""
    found: dict[str, float] = {}
    for k, group in enumerate(groups):
        found |= dict(zip(names[3 * k : 3 * k + 3], group or [], strict=False))
    return found or None


def _gaps(what: str, even: Even) -> tuple[Finding, ...]:
    """Gaps anywhere in the recording; inside a segment they were refused."""
    if not even.lost:
        return ()
    longest = max(b - a for a, b in even.lost)
    return (Finding("gaps", f"{what}: {len(even.lost)} gaps, the longest {longest:.3f} s; segments avoid them"),)


def _drifts(offset: Offset) -> bool:
    """Whether the clocks drift apart, beyond what the comparison of two even clocks could mistake for it.

    Where the motion tells a drift badly, noise of the IMU feigns one.
    """
    sharp = offset.drift_std_ppm < SHARP_DRIFT_PPM
    return bool(sharp and abs(offset.drift_ppm) > max(FASTEST_DRIFT_PPM, 4 * offset.drift_std_ppm))


def _drift(offset: Offset | None) -> tuple[Finding, ...]:
    if offset is None or not _drifts(offset):
        return ()
    message = (
        f"the clocks of load cell and IMU drift by {offset.drift_ppm:.1f} +- {offset.drift_std_ppm:.1f} ppm; "
        "that is taken into account"
    )
    return (Finding("drift", message),)
