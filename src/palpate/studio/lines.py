"""Channels as a page draws them: smallest and largest sample of each pixel, however long the recording is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palpate.physics.arrays import FloatArray

TOGETHER = 64
"""Samples whose extremes are kept beside the samples."""
MOST_PIXELS = 4000


@dataclass(frozen=True, eq=False)
class Line:
    """One quantity over time, in the unit in which it is shown."""

    name: str
    unit: str
    times_s: FloatArray
    """(n,), increasing, on the reference clock."""
    values: FloatArray
    """(n,); NaN where nothing was seen."""

    @cached_property
    def _extremes(self) -> tuple[FloatArray, FloatArray]:
        """(n / TOGETHER,) each: smallest and largest of so many samples."""
        whole = len(self.values) // TOGETHER * TOGETHER
        return _least_and_most(self.values[:whole].reshape(-1, TOGETHER))

    def drawn(self, begin_s: float, end_s: float, pixels: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Times, smallest and largest of each pixel that has samples; the samples themselves where they are fewer."""
        first, last = (int(i) for i in np.searchsorted(self.times_s, (begin_s, end_s)))
        first, last = max(0, first - 1), min(len(self.times_s), last + 1)
        pixels, count = min(max(pixels, 16), MOST_PIXELS), last - first
        if count <= 2 * pixels:
            x = self.values[first:last]
            return self.times_s[first:last], x, x
        each = count // pixels
        if each < 2 * TOGETHER:
            n = count // each
            low, high = _least_and_most(self.values[first : first + n * each].reshape(n, each))
            return self.times_s[first : first + n * each : each], low, high
        a, b, each = first // TOGETHER, last // TOGETHER, each // TOGETHER
        n = (b - a) // each
        low, high = (x[a : a + n * each].reshape(n, each) for x in self._extremes)
        low, high = _least_and_most(low)[0], _least_and_most(high)[1]
        return self.times_s[a * TOGETHER :: each * TOGETHER][:n], low, high


def _least_and_most(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of each row (n, m), NaN left out; NaN where there is nothing else."""
    return np.fmin.reduce(x, axis=1), np.fmax.reduce(x, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """Lines in one unit that share a chart."""

    key: str
    title: str
    unit: str
    lines: tuple[Line, ...]
    about: str = ""
    """Where they come from, and how their clock runs."""
    shown: bool = True
    """Whether it is open at first."""

    def as_json(self, begin_s: float, end_s: float, pixels: int) -> dict[str, Any]:
        """What a chart needs: one list of times, and smallest and largest of each line at them."""
        each = [line.drawn(begin_s, end_s, pixels) for line in self.lines]
        if not each:
            return {"key": self.key, "t": [], "lines": []}
        t = each[0][0]
        if any(len(x[0]) != len(t) or not np.array_equal(x[0], t) for x in each[1:]):
            t = np.unique(np.concatenate([x[0] for x in each]))
        rows = [{"name": line.name, **_at(t, *drawn)} for line, drawn in zip(self.lines, each, strict=True)]
        return {"key": self.key, "t": numbers(t, 9), "lines": rows}


def _at(t: FloatArray, own: FloatArray, low: FloatArray, high: FloatArray) -> dict[str, Any]:
    """Smallest and largest on the chart's times; only once where they are the same."""
    if len(own) != len(t) or not np.array_equal(own, t):
        at: NDArray[np.int64] = np.searchsorted(t, own).astype(np.int64)
        wide = np.full((2, len(t)), np.nan)
        wide[:, at] = low, high
        low, high = wide
    return {"low": numbers(low)} if low is high else {"low": numbers(low), "high": numbers(high)}


def numbers(x: FloatArray, digits: int = 6) -> list[float | None]:
    """For JSON: with so many digits behind the point of the largest one; None where there is none."""
    known = np.isfinite(x)
    if not known.any():
        return [None] * len(x)
    largest = float(np.max(np.abs(x[known])))
    places = digits - (int(np.ceil(np.log10(largest))) if largest > 0 else 0)
    rounded = np.round(x, min(max(places, 0), 12))
    return [float(v) if ok else None for v, ok in zip(rounded.tolist(), known.tolist(), strict=True)]
