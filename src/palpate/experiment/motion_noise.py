"""Noise of the motion that was measured elsewhere, held against what the balance leaves unexplained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import numpy as np

from palpate.findings import Finding
from palpate.identify import Balance, MotionNoise, compress
from palpate.identify.balance import Segment
from palpate.physics.arrays import FloatArray

_MUCH_LESS = 0.7
"""Share of a measured noise power; what differs more is not a matter of chance."""


def limit_noise(
    noise: MotionNoise, balance: Balance, segments: Sequence[Segment], wrench_noise: Sequence[float]
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
    if share > _MUCH_LESS:
        return replace(noise, scale=noise.scale * sqrt(share)), ()
    message = (
        f"the residuals leave room for {100 * share:.0f} % of the IMU's noise power that was measured, and no more was "
        "taken out: was the IMU shaken or touched where it seemed still?"
    )
    return replace(noise, scale=noise.scale * sqrt(share)), (Finding("imu-noise", message),)


def _misfit(gram: FloatArray) -> float:
    """Sum of squares that no parameters explain, of [Y | y]'[Y | y]; minus one where that is no sum of squares."""
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    try:
        return float((np.linalg.cholesky(gram / scale[:, None] / scale)[-1, -1] * scale[-1]) ** 2)
    except np.linalg.LinAlgError:
        return -1.0
