"""Rows without a low-pass behind them: each with the window whose error is least, stretch by stretch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from palpate.motion.derivatives.filters import filter_weights
from palpate.physics.arrays import BoolArray, FloatArray

WINDOWS = (7, 9, 11, 13, 15, 17, 19, 23, 27, 31, 37, 43, 51, 61)
"""Samples; a tenth to a fifth apart."""
SHORTER = 0.6
"""A window is judged against one shorter by this factor."""
ORDER_OF_BIAS = 4
"""The bias of a second derivative of polynomials of order 4 (and 5) grows with this power of the window."""
SURE, FEWEST = 4.0, 4
"""Standard deviations by which a bias stands out, and how many windows must show it to draw a line."""


@dataclass(frozen=True, slots=True, eq=False)
class WindowedRows:
    """Rows [Y | y], each sample and row with the window of its stretch."""

    rows: FloatArray
    """(samples, rows, parameters + 1); NaN: not known."""
    windows: dict[int, list[int]]
    """Stretch -> the window (samples) of each row."""


def windowed_rows(
    rows_of: Callable[[int], FloatArray], p: FloatArray, stretches: Sequence[BoolArray], *, order: int = 4
) -> WindowedRows:
    """Choose windows so that what the parameters p predict of each row has the least mean square error.

    rows_of: window (samples) -> rows (samples, rows, parameters + 1), NaN where unknown. A row is in the main a
    combination of second derivatives, so that white noise of the poses reaches it as it does a second derivative; how
    strongly is seen in the shortest windows, where there is little else. The measured wrench is not looked at.
    """
    found = {n: rows_of(n) for n in WINDOWS}
    predicted = {n: rows[:, :, :-1] @ p for n, rows in found.items()}
    count = found[WINDOWS[0]].shape[1]
    chosen: dict[int, list[int]] = {}
    result = np.array(found[WINDOWS[len(WINDOWS) // 2]])
    for i, where in enumerate(stretches):
        chosen[i] = [_best({n: x[where, j] for n, x in predicted.items()}, order) for j in range(count)]
        for j, n in enumerate(chosen[i]):
            result[where, j] = found[n][where, j]
    return WindowedRows(result, chosen)


def _best(predicted: dict[int, FloatArray], order: int) -> int:
    """The window with the least mean square error of (samples,) as predicted with each: noise, known from the shortest
    windows, and bias, which sets a window apart from a shorter one (motion/adaptive.py; Stein 1981).
    """
    windows = np.array(sorted(predicted))
    weights = {int(n): filter_weights(int(n), order, 2) for n in windows}
    first, second = int(windows[0]), int(windows[1])
    apart = _finite(predicted[second] - predicted[first])
    if len(apart) < 2 * second:
        return int(windows[len(windows) // 2])
    between = _difference(weights, second, first)
    # markers that come and go are no noise: the median passes them over
    scale = (float(np.median(np.abs(apart))) / 0.6745) ** 2 / between
    noise, bias, sure = (list[float]() for _ in range(3))
    for n in (int(n) for n in windows[2:]):
        shorter = int(windows[np.argmin(np.abs(windows - SHORTER * n))])
        difference = _finite(predicted[n] - predicted[shorter])
        if len(difference) < n:
            break
        expected = scale * _difference(weights, n, shorter)
        excess = float(np.mean(difference**2)) - expected
        scatter = expected * float(np.sqrt(2 * shorter / len(difference)))
        noise.append(scale * float(weights[n] @ weights[n]))
        bias.append(excess / (1 - (shorter / n) ** ORDER_OF_BIAS) ** 2)
        sure.append(excess / max(scatter, 1e-300))
    if not noise:
        return int(windows[len(windows) // 2])
    tried, is_sure = windows[2 : 2 + len(noise)], np.array(sure) > SURE
    risk = np.array(noise) + np.maximum(bias, 0.0)
    if is_sure.sum() >= FEWEST:
        slope, level = np.polyfit(np.log(tried[is_sure]), np.log(np.array(bias)[is_sure]), 1)
        risk = np.array(noise) + np.exp(level + max(float(slope), 0.0) * np.log(tried))
    return int(tried[int(np.argmin(risk))])


def _difference(weights: dict[int, FloatArray], n: int, shorter: int) -> float:
    """Variance of the difference of two windows' second derivatives of white noise, per its variance."""
    apart, outer = weights[n].copy(), (n - shorter) // 2
    apart[outer : outer + shorter] -= weights[shorter]
    return float(apart @ apart)


def _finite(x: FloatArray) -> FloatArray:
    return x[np.isfinite(x)]
