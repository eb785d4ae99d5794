"""Even sampling: undo the jitter of time stamps and account for the samples that are missing."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from palpate.errors import DataProblem
from palpate.physics.arrays import FloatArray

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Even:
    """Signals on an even clock. `lost` are the intervals (s) in which nothing was seen; they are bridged by straight
    lines.
    """

    times_s: FloatArray
    x: FloatArray
    """(samples, channels)."""
    lost: tuple[Interval, ...]
    jitter_s: float
    """Largest deviation of a time stamp from the even clock."""


def evenly_sampled(times_s: FloatArray, x: FloatArray, *, what: str, longest_gap_s: float = 0.02) -> Even:
    """Put (samples, channels) with rows that may be NaN onto the even clock behind its time stamps.

    Instruments sample evenly; their time stamps jitter with the computer that wrote them. A step of more than one and
    a half periods is a gap: missing samples are counted, not guessed. Gaps up to `longest_gap_s` are bridged
    silently, longer ones also reported.
    """
    seen = np.isfinite(x).all(axis=1)
    t, values = times_s[seen], x[seen]
    if len(t) < 10:
        raise DataProblem(what, f"only {len(t)} of {len(times_s)} samples are numbers", remedy="export it again")
    steps = np.diff(t)
    period = float(np.median(steps))
    index = np.concatenate([[0], np.cumsum(np.where(steps > 1.5 * period, np.round(steps / period), 1.0))])
    middle = index - index.mean()
    slope = float(middle @ t / (middle @ middle))
    start = float(t.mean() - slope * index.mean())
    even = start + slope * np.arange(int(index[-1]) + 1, dtype=float)
    filled = values if len(even) == len(values) else _bridge(index, values, len(even))
    gaps = np.flatnonzero(np.diff(index) * slope > longest_gap_s)
    lost = tuple((float(even[int(index[i])]), float(even[int(index[i + 1])])) for i in gaps)
    return Even(even, filled, lost, float(np.abs(t - even[index.astype(int)]).max()))


def every_second(even: Even, first: int) -> Even:
    """Every second sample from `first` (0 or 1) on: two halves whose noise has nothing in common."""
    return replace(even, times_s=even.times_s[first::2], x=even.x[first::2])


def noise_floor(x: FloatArray) -> FloatArray:
    """Standard deviation of the white noise of each channel of (samples, channels), in its unit.

    Second differences of white noise have the variance 6 sigma^2; motion hardly has any. By the median, so that
    knocks do not count.
    """
    return np.median(np.abs(np.diff(x, n=2, axis=0)), axis=0) / (0.6745 * np.sqrt(6.0))


def without_lost(times_s: FloatArray, x: FloatArray, lost: tuple[Interval, ...], margin_s: float = 0.0) -> FloatArray:
    """A copy of x with NaN strictly inside the lost intervals, widened by a filter's reach."""
    y = x.copy(order="K")
    for a, b in lost:
        y[(times_s > a - margin_s) & (times_s < b + margin_s)] = np.nan
    return y


def _bridge(index: FloatArray, values: FloatArray, n: int) -> FloatArray:
    grid = np.arange(n, dtype=float)
    return np.array([np.interp(grid, index, values[:, j]) for j in range(values.shape[1])], dtype=float).T
