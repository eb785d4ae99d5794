"""Derivatives without a low-pass behind them: with the window whose error is least, stretch by stretch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palpate.motion.derivatives import angle_motion
from palpate.motion.resting import filter_weights
from palpate.physics.arrays import BoolArray, FloatArray

SHORTER = 0.6
"""A window is judged against one shorter by this factor."""
ORDER_OF_BIAS = 4
"""The bias of a second derivative of polynomials of order 4 (and 5) grows with this power of the window."""
SURE, FEWEST = 4.0, 4
"""Standard deviations by which a bias stands out, and how many windows must show it to draw a line."""


@dataclass(frozen=True, slots=True, eq=False)
class WindowedMotion:
    """An angle (rad) with its derivatives, each sample with the window of its stretch; (samples,), NaN: unknown."""

    angle: FloatArray
    speed: FloatArray
    acceleration: FloatArray
    window_s: FloatArray


def windowed_angle_motion(
    times_s: FloatArray, angle: FloatArray, noise: float, stretches: Sequence[BoolArray], *, order: int = 4
) -> WindowedMotion:
    """Local polynomials, each stretch (samples,) with its own window; what is in no stretch with the first one's.

    noise: standard deviation of the angle's white noise, rad.
    """
    rate = float((len(times_s) - 1) / (times_s[-1] - times_s[0]))
    windows = [best_window(times_s, angle, noise, where, order=order) for where in stretches]
    chosen = np.full(len(times_s), windows[0])
    for where, window in zip(stretches, windows, strict=True):
        chosen[where] = window
    found = np.full((3, len(times_s)), np.nan)
    for window in set(windows):
        one, at = angle_motion(times_s, angle, window_s=window / rate, order=order), chosen == window
        found[:, at] = np.array([one.angle, one.speed, one.acceleration])[:, at]
    return WindowedMotion(found[0], found[1], found[2], chosen / rate)


def best_window(
    times_s: FloatArray,
    angle: FloatArray,
    noise: float,
    where: BoolArray,
    *,
    order: int = 4,
    longest_s: float = 0.7,
) -> int:
    """The window (odd number of samples) with the least mean square error of the second derivative there.

    Its noise is known from the white noise of the angle (rad). Its bias shows in what sets it apart from a shorter
    window, less what noise alone sets them apart (an unbiased estimate of risk: Stein 1981; of a local polynomial's:
    Fan & Gijbels 1995), made good for the bias that the shorter one has itself.
    """
    rate = float((len(times_s) - 1) / (times_s[-1] - times_s[0]))
    first, scale = order + 5 - order % 2, (noise * rate**2) ** 2
    acceleration: dict[int, FloatArray] = {}

    def second(n: int) -> FloatArray:
        if n not in acceleration:
            acceleration[n] = angle_motion(times_s, angle, window_s=n / rate, order=order).acceleration
        return acceleration[n]

    windows = np.arange(first, max(int(longest_s * rate), first) + 1, 2)
    noises, biases, sure = (list[float]() for _ in range(3))
    for window in (int(n) for n in windows):
        shorter = max(2 * round((SHORTER * window - 1) / 2) + 1, order + 3 - order % 2)
        difference = (second(window) - second(shorter))[where]
        difference = difference[np.isfinite(difference)]
        if len(difference) == 0:
            break
        own, apart = filter_weights(window, order, 2), filter_weights(window, order, 2).copy()
        outer = (window - shorter) // 2
        apart[outer : outer + shorter] -= filter_weights(shorter, order, 2)
        expected = scale * float(apart @ apart)
        excess = float(np.mean(difference**2)) - expected
        # neighbours within the shorter window say the same
        scatter = expected * float(np.sqrt(2 * shorter / len(difference)))
        noises.append(scale * float(own @ own))
        biases.append(excess / (1 - (shorter / window) ** ORDER_OF_BIAS) ** 2)
        sure.append(excess / scatter if scatter > 0 else np.inf)
    if not noises:
        return first
    risk = np.array(noises) + _smooth_bias(windows[: len(noises)], np.array(biases), np.array(sure) > SURE)
    return int(windows[int(np.argmin(risk))])


def _smooth_bias(windows: NDArray[np.int64], bias: FloatArray, sure: BoolArray) -> FloatArray:
    """The squared bias as a power of the window, through the windows at which it stands out of the noise.

    Where it does, a power fits well over the few octaves that matter; where it does not, an estimate is mostly noise.
    """
    if sure.sum() < FEWEST:
        return np.maximum(bias, 0.0)
    slope, level = np.polyfit(np.log(windows[sure]), np.log(bias[sure]), 1)
    return np.exp(level + max(float(slope), 0.0) * np.log(windows))
