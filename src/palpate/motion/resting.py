"""When a coordinate rests: friction can then be anything up to its limit, and the balance says nothing."""

from __future__ import annotations

import numpy as np

from palpate.motion.filters import savitzky_golay
from palpate.physics.arrays import BoolArray, FloatArray

AT_REST = 5.0
"""Standard deviations of the speed's noise below which nobody can say that something moves."""


def signal_noise(x: FloatArray, window: int, order: int) -> float:
    """Standard deviation of white noise in a smooth signal (samples,), in its own unit; NaN is left out.

    The residual of a local polynomial has the variance 1 - h of the noise, h the filter's weight on its own middle
    (Cleveland 1979); its median says the same of motion that the polynomial cannot follow here and there.
    """
    seen = np.isfinite(x)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], seen, [False]]).astype(int))).reshape(-1, 2)
    parts = [
        (x[a:b] - savitzky_golay(x[a:b], window, order))[window // 2 : -(window // 2)]
        for a, b in edges
        if b - a >= 2 * window
    ]
    if not parts:
        return float("nan")
    own = float(filter_weights(window, order, 0)[window // 2])
    return float(np.median(np.abs(np.concatenate(parts))) / 0.6745 / np.sqrt(1 - own))


def derivative_noise(noise: float, window: int, order: int, derivative: int, rate_hz: float) -> float:
    """Standard deviation of a local polynomial's derivative of white noise, in its unit per s^derivative."""
    return noise * rate_hz**derivative * float(np.linalg.norm(filter_weights(window, order, derivative)))


def at_rest(speed: FloatArray, noise: float) -> BoolArray:
    """(samples,): where the speed cannot be told from zero; what is not known counts as moving."""
    return np.asarray(np.abs(speed) < AT_REST * noise)


def filter_weights(window: int, order: int, derivative: int) -> FloatArray:
    """(window,): what a local polynomial weighs the samples of its window with, for a derivative in its middle."""
    return savitzky_golay(np.eye(window), window, order, derivative=derivative)[window // 2]
