"""Rows to predict with: each row with the window whose error is least, kind of segment by kind.

The fit itself uses a light window and a low-pass; errors are told against the wrench as it is at the motion's rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palpate.experiment.stage.inputs import Inputs, Moved, fit_balance, move, whole_balance
from palpate.identify import Balance
from palpate.identify.balance import Segment
from palpate.motion.derivatives import filter_weights
from palpate.physics.arrays import BoolArray, FloatArray, segment_mask

LONGEST_S = 0.7
"""Of the windows that are compared."""
COUNT = 16
"""Of windows; each is about a sixth longer than the one before."""
SHORTER = 0.6
"""A window is judged against one shorter by this factor."""
ORDER_OF_BIAS = 4
"""The bias of a second derivative of polynomials of order 4 (and 5) grows with this power of the window."""
OUTSTANDING, FEWEST = 4.0, 4
"""Standard deviations by which a bias stands out, and how many windows must show it to draw a line."""
PIECE_S = 10.0
"""Rows of an IMU's motion are made in pieces of this length: a long segment at a load cell's rate fills the memory."""
MOST = 60_000
"""Samples of an IMU's motion that are predicted."""


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Rows [Y | y] at some samples of the reference clock."""

    at: NDArray[np.int64]
    """(n,): indices of the samples."""
    times_s: FloatArray
    """(n,)."""
    rows: FloatArray
    """(n, rows, parameters + 1); NaN where not known."""
    used: BoolArray
    """(n,): known, and the model speaks about it: it moves freely."""
    windows_s: Mapping[str, tuple[float, ...]]
    """Kind of segment -> the window of each row, where they were chosen."""

    def inside(self, segments: Sequence[Segment]) -> BoolArray:
        """(n,): used, and in one of these segments."""
        return self.used & segment_mask(self.times_s, segments)

    def residuals(self, segments: Sequence[Segment], p: FloatArray) -> FloatArray:
        """(used samples, rows): measured minus predicted in these segments, N and N m."""
        return np.asarray(self.rows[self.inside(segments)] @ np.append(-p, 1.0), dtype=float)

    def reference(self, segments: Sequence[Segment]) -> FloatArray:
        """(used samples, rows): measured in these segments, N and N m."""
        return self.rows[self.inside(segments)][:, :, -1]


def predict(
    inputs: Inputs, moved: Moved, balance: Balance, p: FloatArray, segments: Mapping[str, Sequence[Segment]]
) -> Prediction:
    """The rows of all samples that were seen, windows chosen for the parameters p; balance: the whole one."""
    if inputs.imu is not None:
        return _in_band(inputs, moved, balance, segments)
    at, times = np.arange(len(inputs.times_s)), inputs.times_s
    assert balance.used is not None
    if inputs.filtering.published:
        return _prediction(at, times, balance.rows(_everything(times)), balance.used, {})
    used = balance.used & ~moved.resting
    kinds = {kind: segment_mask(times, spans) & used for kind, spans in segments.items() if kind != "static" and spans}
    windows = _window_sizes(inputs.rate_hz, inputs.filtering.order)
    predicted = {n: _rows(inputs, moved, n) @ np.append(p, 0.0) for n in windows}
    count = len(inputs.mechanism.rows)
    chosen = {
        kind: [_best({n: x[where, j] for n, x in predicted.items()}, inputs.filtering.order) for j in range(count)]
        for kind, where in kinds.items()
    }
    rows = _rows(inputs, moved, windows[len(windows) // 2])
    for n in {n for row in chosen.values() for n in row}:
        with_window = _rows(inputs, moved, n)
        for kind, where in kinds.items():
            for j in range(count):
                if chosen[kind][j] == n:
                    rows[where, j] = with_window[where, j]
    windows_s = {kind: tuple(n / inputs.rate_hz for n in row) for kind, row in chosen.items()}
    return _prediction(at, times, rows, used, windows_s)


def _prediction(
    at: NDArray[np.int64],
    times_s: FloatArray,
    rows: FloatArray,
    used: BoolArray,
    windows: Mapping[str, tuple[float, ...]],
) -> Prediction:
    return Prediction(at, times_s, rows, used & np.isfinite(rows).all(axis=(1, 2)), windows)


def _everything(times_s: FloatArray) -> Segment:
    return float(times_s[0]), float(times_s[-1]) + 1e-9


def _rows(inputs: Inputs, moved: Moved, window: int) -> FloatArray:
    """(samples, rows, parameters + 1) with a window of so many samples; NaN where not known."""
    balance = whole_balance(inputs, move(inputs, window / inputs.rate_hz, moved.resting))
    rows = balance.rows(_everything(balance.times_s))
    assert balance.used is not None
    rows[~balance.used] = np.nan
    return rows


def _window_sizes(rate_hz: float, order: int) -> list[int]:
    """Odd numbers of samples."""
    first = order + 3 - order % 2
    longest = max(LONGEST_S * rate_hz, first + 2 * COUNT)
    return sorted({int(n) // 2 * 2 + 1 for n in np.round(np.geomspace(first, longest, COUNT))})


def _best(predicted: Mapping[int, FloatArray], order: int) -> int:
    """The window with the least mean square error of a row (samples,) as predicted with each.

    Its noise is known from the shortest windows, where there is little else: white noise of positions reaches a row as
    it does a second derivative. Its bias shows in what sets it apart from a shorter window, less what noise alone sets
    them apart (an unbiased estimate of risk: Stein 1981; of a local polynomial's: Fan & Gijbels 1995), made good for
    the bias that the shorter one has itself. The measured wrench is not looked at.
    """
    windows = np.array(sorted(predicted))
    weights = {int(n): filter_weights(int(n), order, 2) for n in windows}
    first, second = int(windows[0]), int(windows[1])
    apart = _finite(predicted[second] - predicted[first])
    middle = int(windows[len(windows) // 2])
    if len(apart) < 2 * second:
        return middle
    # markers that come and go are no noise: the median passes them over
    scale = (float(np.median(np.abs(apart))) / 0.6745) ** 2 / _variance_apart(weights, second, first)
    noise, bias, clear = (list[float]() for _ in range(3))
    for n in (int(n) for n in windows[2:]):
        shorter = int(windows[np.argmin(np.abs(windows - SHORTER * n))])
        difference = _finite(predicted[n] - predicted[shorter])
        if len(difference) < n:
            break
        expected = scale * _variance_apart(weights, n, shorter)
        excess = float(np.mean(difference**2)) - expected
        # neighbours within the shorter window say the same
        scatter = expected * float(np.sqrt(2 * shorter / len(difference)))
        noise.append(scale * float(weights[n] @ weights[n]))
        bias.append(excess / (1 - (shorter / n) ** ORDER_OF_BIAS) ** 2)
        clear.append(excess / max(scatter, 1e-300))
    if not noise:
        return middle
    tried, outstanding = windows[2 : 2 + len(noise)], np.array(clear) > OUTSTANDING
    risk = np.array(noise) + np.maximum(bias, 0.0)
    if outstanding.sum() >= FEWEST:  # a power of the window fits well over the few octaves that matter
        slope, level = np.polyfit(np.log(tried[outstanding]), np.log(np.array(bias)[outstanding]), 1)
        risk = np.array(noise) + np.exp(level + max(float(slope), 0.0) * np.log(tried))
    return int(tried[int(np.argmin(risk))])


def _variance_apart(weights: Mapping[int, FloatArray], n: int, shorter: int) -> float:
    """Variance of the difference of two windows' second derivatives of white noise, per its variance."""
    apart, outer = weights[n].copy(), (n - shorter) // 2
    apart[outer : outer + shorter] -= weights[shorter]
    return float(apart @ apart)


def _finite(x: FloatArray) -> FloatArray:
    return x[np.isfinite(x)]


def _in_band(inputs: Inputs, moved: Moved, balance: Balance, segments: Mapping[str, Sequence[Segment]]) -> Prediction:
    """Rows through the low-pass of the fit, at most `MOST` samples."""
    low = fit_balance(inputs, moved, balance)
    spans = sorted(span for kind, pairs in segments.items() if kind != "static" for span in pairs)
    half, step = (0, 1) if low.lowpass is None else (len(low.lowpass.taps) // 2, low.lowpass.step)
    samples = sum(b - a for a, b in (low.indices(s) for s in spans)) / step
    stride = max(1, int(np.ceil(samples / MOST)))
    indices: list[NDArray[np.int64]] = []
    rows: list[FloatArray] = []
    for span in spans:
        edges = np.linspace(span[0], span[1], max(1, round((span[1] - span[0]) / PIECE_S)) + 1)
        for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            start, stop = low.indices((a, b))
            # a low-pass loses half its length at each end of a piece: take that from the neighbours
            wide = (max(start - half, 0), min(stop + half, len(low.times_s)))
            if wide[1] - wide[0] <= 2 * half:
                continue
            block = np.asarray(np.einsum("iN,rip->Nrp", low.block(*wide)[0], low.lift), dtype=float)[::stride]
            at = wide[0] + half + step * stride * np.arange(len(block))
            kept = (at >= start) & (at < stop)
            indices.append(at[kept])
            rows.append(block[kept])
    found, used = np.concatenate(indices), np.ones(sum(len(i) for i in indices), dtype=bool)
    return _prediction(found, inputs.times_s[found], np.concatenate(rows), used, {})
