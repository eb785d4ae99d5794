"""The noise of an IMU in the columns of a balance, at most what its residuals leave room for."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np

from palpate.experiment.stage import inputs as stage_inputs
from palpate.experiment.stage.inputs import ImuMotion, Inputs
from palpate.findings import Finding
from palpate.identify import Balance, MotionNoise, compress
from palpate.identify.balance import Segment
from palpate.motion.clock import noise_floor
from palpate.motion.imu import judge_imu_noise
from palpate.physics.arrays import FloatArray, rate_hz

FEWEST_IN_WINDOW = 5
MUCH_LESS = 0.7
"""Share of a measured noise power; what differs more is not a matter of chance."""


def noise_of_motion(
    method: str, inputs: Inputs, mounted: ImuMotion, balance: Balance, train: list[Segment]
) -> tuple[MotionNoise | None, tuple[Finding, ...]]:
    """The IMU's noise as far as it is in the columns, at most what the residuals leave room for."""
    measured = judge_imu_noise(mounted.even, mounted.smoothing, inputs.filtering.lowpass, inputs.times_s)
    level = measured.instead_of_halves
    # every second sample must still be filtered over the same time as all of them
    halves_suffice = rate_hz(mounted.even.times_s) / 2 * mounted.smoothing.slope_window_s >= FEWEST_IN_WINDOW
    if level is None and not halves_suffice:
        level = noise_floor(mounted.even.x) if measured.level is None else measured.level
    noise = stage_inputs.imu_noise(inputs, method, balance, level)
    if noise is None or level is None:
        return noise, () if noise is None else measured.findings
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
    """At most so much noise of the motion that the residuals still hold that of the load cell.

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
    room = f"the residuals leave room for only {100 * share:.0f} % of the measured IMU noise power"
    remedy = "check whether the IMU was shaken or touched where it seemed still"
    return limited, (Finding("imu-noise", f"{room}, and no more was removed", "", remedy),)


def _misfit(gram: FloatArray) -> float:
    """Sum of squares that no parameters explain, of [Y | y]'[Y | y]; minus one where that is no sum of squares."""
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    try:
        return float((np.linalg.cholesky(gram / scale[:, None] / scale)[-1, -1] * scale[-1]) ** 2)
    except np.linalg.LinAlgError:
        return -1.0
