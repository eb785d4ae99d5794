"""A motion that an IMU tells by itself: a free body with one sensor, such as a handle.

The load cell's clock is the reference; the IMU's is found by what the wrench of any rigid body consists of.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from palpate.errors import DataProblem, PalpateError
from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import SavitzkyGolayPart
from palpate.experiment.stage.belief import belief_of
from palpate.experiment.stage.capture import Tell, wrench_features
from palpate.experiment.stage.inputs import Filtering, ImuMotion, Inputs, Sensor, fit_balance, imu_noise, move
from palpate.experiment.stage.prepared import Prepared, segments_of
from palpate.experiment.stage.recordings import pose_of, read_imu, read_wrench, sensor_of
from palpate.findings import Finding
from palpate.identify import Balance, MotionNoise, compress
from palpate.identify.balance import Segment
from palpate.model import Model
from palpate.motion.clock import ClockMap, Even, noise_floor
from palpate.motion.derivatives import Lowpass, design_lowpass
from palpate.motion.imu import PARALLEL, Smoothing, imu_motion, judge_imu_noise
from palpate.motion.offset import Offset, estimate_offset
from palpate.motion.plausibility import check_imu
from palpate.physics.arrays import BoolArray, FloatArray, rate_hz, runs

BANDWIDTH_HZ = 20.0
"""Of the low-pass where none is stated: hands move below 10 Hz."""
TRAIN_SHARE = 0.6
SHORTEST_RUN_S = 1.0
"""Shorter stretches between gaps are not worth a segment."""
FASTEST_DRIFT_PPM, SHARP_DRIFT_PPM = 3.0, 1.5
SAME_CLOCK_S = 5e-4
FEWEST_IN_WINDOW = 5
MUCH_LESS = 0.7
"""Share of a measured noise power; what differs more is not a matter of chance."""


def prepare_by_imu(experiment: Experiment[Any], model: Model, tell: Tell) -> Prepared:
    """A free body with one sensor: a handle."""
    config = experiment.config
    tell("reading the load cell")
    wrench = read_wrench(experiment, config.recordings.wrench)
    tell("reading the IMU")
    imu = read_imu(experiment, config.recordings.imu)
    sensor = sensor_of(config.sensor)
    mounted = ImuMotion(imu.even, pose_of(experiment, "imu_pose", config.imu_pose, "the IMU"), _smoothing(config))
    lowpass = _imu_lowpass(experiment, wrench.even)
    inputs = Inputs(
        model=model,
        times_s=wrench.even.times_s,
        sensors=(Sensor(wrench.even, np.eye(4)),),
        filtering=Filtering(mounted.smoothing.slope_window_s, mounted.smoothing.slope_order, lowpass, _band(config)),
        imu=mounted,
        zero="estimated",
        sigma=np.array([*sensor.sigma_force, *sensor.sigma_moment]),
        belief=belief_of(experiment, model),
    )
    tell("aligning the clocks")
    offset, clock = None, ClockMap(0.0, 0.0, 0.0, 0.0, 0.0, False)
    if config.clocks == "auto":
        offset = _offset_by_features(imu.even, mounted, wrench.even)
        drift = offset.drift_ppm if _drifts(offset) else 0.0
        clock = ClockMap(offset.value_s, offset.std_s, drift, 0.0, offset.at_s, False)
    else:
        clock = replace(clock, offset_s=_stated_offset(experiment, wrench.even, imu.even))
    inputs = inputs.on_clock(clock)
    tell("deriving the motion")
    moved = move(inputs)
    balance = fit_balance(inputs, moved)
    segments = _imu_segments(experiment, balance, wrench.even)
    noise, noise_findings = _noise_of(experiment, inputs, balance, segments["train"])
    tell("checking the recordings")
    used = [*segments["train"], *segments["test"]]
    shift = float(clock.offset_s)  # to a few samples, whatever the drift
    findings = (
        *wrench.faults(used),
        *imu.faults([(a - shift, b - shift) for a, b in used]),
        *check_imu(imu.even.times_s, imu.even.x[:, :3], imu.even.x[:, 3:]),
        *noise_findings,
        *_gaps("load cell", wrench.even),
        *_gaps("IMU", imu.even),
        *_drift_findings(offset),
    )
    instruments = {"wrench": wrench, "imu": imu}
    return Prepared(inputs, segments, instruments, findings, offset, noise=noise)


def _offset_by_features(imu: Even, mounted: ImuMotion, wrench: Even) -> Offset:
    """Load-cell minus IMU time, refused where the motion is so slow that a lag looks like a turning: d a / dt = a x
    omega.
    """
    what = "clock offset between load cell and IMU"
    motion = imu_motion(imu.times_s, imu.x[:, :3], imu.x[:, 3:], mounted.T_body_imu, mounted.smoothing)
    features = wrench_features(motion)
    offset, plain = (
        estimate_offset(motion.times_s, columns, wrench.times_s, wrench.x, what=what)
        for columns in (features, features[:, :-3])
    )
    apart = abs(offset.value_s - plain.value_s)
    if apart > max(SAME_CLOCK_S, 5 * float(np.hypot(offset.std_s, plain.std_s))):
        raise DataProblem(
            what,
            f"it cannot be known: two ways to compare the signals differ by {1e3 * apart:.1f} ms; the motion is slow",
            remedy="shake the object, or state the samples that coincide (clocks:)",
        )
    unsure = max(FASTEST_DRIFT_PPM, 4 * float(np.hypot(offset.drift_std_ppm, plain.drift_std_ppm)))
    if not abs(offset.drift_ppm - plain.drift_ppm) <= unsure:
        return replace(offset, drift_ppm=float("nan"), drift_std_ppm=float("nan"))
    return offset


def _drifts(offset: Offset) -> bool:
    """Whether the clocks drift apart, beyond what the comparison of two even clocks could mistake for it.

    Where the motion tells a drift badly, noise of the IMU feigns one.
    """
    sharp = offset.drift_std_ppm < SHARP_DRIFT_PPM
    return bool(sharp and abs(offset.drift_ppm) > max(FASTEST_DRIFT_PPM, 4 * offset.drift_std_ppm))


def _drift_findings(offset: Offset | None) -> list[Finding]:
    if offset is None or not _drifts(offset):
        return []
    evidence = (
        f"the clocks of load cell and IMU drift by {offset.drift_ppm:.1f} +- {offset.drift_std_ppm:.1f} ppm; "
        "that is taken into account"
    )
    return [Finding("drift", evidence)]


def _stated_offset(experiment: Experiment[Any], wrench: Even, imu: Even) -> float:
    """From the rows of both files that the experiment says were taken at the same instant."""
    clocks, times = experiment.config.clocks, list[float]()
    for name, even in (("wrench", wrench), ("imu", imu)):
        sample = getattr(clocks, name)
        if sample > len(even.rows):
            raise experiment.problem(f"clocks.{name}", f"there is no sample {sample}, the file has {len(even.rows)}")
        times.append(float(even.times_s[even.rows[sample - 1]]))
    return times[0] - times[1]


def _imu_segments(experiment: Experiment[Any], balance: Balance, wrench: Even) -> dict[str, list[Segment]]:
    """As stated, else the first part of what both instruments saw trains and the rest tests."""
    if experiment.config.segments is None:
        seen = np.isfinite(balance.kinematics.omega[0]) & np.isfinite(balance.wrench).all(axis=1)
        train, test = _default_segments(balance.times_s, seen)
        return {"static": [], "quasi_static": [], "train": train, "test": test}
    segments = segments_of(experiment, balance.times_s, wrench.rows)
    for name in ("train", "test"):
        for segment in segments[name]:
            try:
                balance.check_seen(segment)
            except PalpateError as error:
                raise experiment.problem(f"segments.{name}", str(error)) from error
    return segments


def _default_segments(times_s: FloatArray, seen: BoolArray) -> tuple[list[Segment], list[Segment]]:
    long = [(a, b) for a, b in runs(seen) if times_s[b - 1] - times_s[a] > SHORTEST_RUN_S]
    if not long:
        raise DataProblem("recordings", "there is no time that both instruments saw")
    limit, done = TRAIN_SHARE * sum(b - a for a, b in long), 0
    train: list[Segment] = []
    test: list[Segment] = []
    for a, b in long:
        cut = min(max(a + int(limit) - done, a), b)
        done += b - a
        for chosen, (i, j) in ((train, (a, cut)), (test, (cut, b))):
            if j - i > 1:
                chosen.append((float(times_s[i]), float(times_s[min(j, len(times_s) - 1)])))
    return train, test


def _noise_of(
    experiment: Experiment[Any], inputs: Inputs, balance: Balance, train: list[Segment]
) -> tuple[MotionNoise | None, tuple[Finding, ...]]:
    """The IMU's noise as far as it is in the columns, at most what the residuals leave room for."""
    mounted = inputs.imu
    assert mounted is not None
    measured = judge_imu_noise(mounted.even, mounted.smoothing, inputs.filtering.lowpass, inputs.times_s)
    level = measured.instead_of_halves
    # every second sample must still be filtered over the same time as all of them
    halves_suffice = rate_hz(mounted.even.times_s) / 2 * mounted.smoothing.slope_window_s >= FEWEST_IN_WINDOW
    if level is None and not halves_suffice:
        level = noise_floor(mounted.even.x) if measured.level is None else measured.level
    noise = imu_noise(inputs, experiment.config.noise_in_motion, balance, level)
    if noise is None:
        return None, ()
    if level is None:
        return noise, measured.findings
    noise, limits = _limited(noise, balance, train, expected_noise(inputs))
    return noise, (*measured.findings, *limits)


def expected_noise(inputs: Inputs) -> list[float]:
    """RMS that the load cell's white noise leaves in each row of the balance, N and N m; of one sensor."""
    lowpass = inputs.filtering.lowpass
    gain = 1.0 if lowpass is None else float(np.linalg.norm(lowpass.taps))
    return [float(v) for v in noise_floor(inputs.sensors[0].wrench.x) * gain]


def _limited(
    noise: MotionNoise, balance: Balance, segments: list[Segment], wrench_noise: list[float]
) -> tuple[MotionNoise, tuple[Finding, ...]]:
    """At most so much noise of the motion that the residuals still hold the load cell's own.

    The residuals of a fit hold both noises. A level measured in a few seconds of rest is uncertain by some percent,
    which may be more than all of the load cell's noise. wrench_noise: its RMS in each row, N and N m.
    """
    train = compress(balance, segments, noise=noise)
    whole, clean = replace(train, noise=None).gram(), train.gram()
    least = float(train.samples.sum() * ((train.weights * np.asarray(wrench_noise)) ** 2).sum())
    least = min(least, 0.5 * _misfit(whole))
    shares = np.linspace(1.0, 0.0, 201)
    share = next(float(s) for s in shares if s == 0.0 or _misfit(whole + s * (clean - whole)) >= least)
    limited = replace(noise, scale=noise.scale * sqrt(share))
    if share > MUCH_LESS:
        return limited, ()
    evidence = (
        f"the residuals leave room for {100 * share:.0f} % of the IMU's noise power that was measured, and no more was "
        "taken out"
    )
    return limited, (Finding("imu-noise", evidence, "", "was the IMU shaken or touched where it seemed still?"),)


def _misfit(gram: FloatArray) -> float:
    """Sum of squares that no parameters explain, of [Y | y]'[Y | y]; minus one where that is no sum of squares."""
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    try:
        return float((np.linalg.cholesky(gram / scale[:, None] / scale)[-1, -1] * scale[-1]) ** 2)
    except np.linalg.LinAlgError:
        return -1.0


def _smoothing(config: Any) -> Smoothing:
    part = config.filtering
    if isinstance(part, SavitzkyGolayPart):
        return Smoothing(part.slope_window, part.slope_order, part.window, part.order)
    return PARALLEL


def _band(config: Any) -> float | None:
    """Of the low-pass, Hz; None: the published windows have none."""
    return None if isinstance(config.filtering, SavitzkyGolayPart) else config.filtering.bandwidth or BANDWIDTH_HZ


def _imu_lowpass(experiment: Experiment[Any], wrench: Even) -> Lowpass | None:
    band = _band(experiment.config)
    if band is None:
        return None
    try:
        return design_lowpass(rate_hz(wrench.times_s), band)
    except PalpateError as error:
        raise experiment.problem("filtering.bandwidth", str(error)) from error


def _gaps(what: str, even: Even) -> list[Finding]:
    """Gaps anywhere in the recording; inside a segment they were refused."""
    if not even.lost:
        return []
    longest = max(b - a for a, b in even.lost)
    return [Finding("gaps", f"{len(even.lost)} gaps, the longest {longest:.3f} s; segments avoid them", what)]
