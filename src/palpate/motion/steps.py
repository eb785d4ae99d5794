"""Steps: where a noisy series of vectors goes from one lasting level to another."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from palpate.motion.cloud import nan_median
from palpate.physics.arrays import FloatArray, least_squares

_BIN_S = 0.5
_STEADY = 0.3
"""Scatter of a level, relative to the step beside it, up to which it is a level."""
_ABRUPT = 0.6
"""Part of a step that must remain beside a slope; bending is slower."""
_BINS_BESIDE = 6
_UNSEEN_S = 1.5
"""A change during a longer gap than this may have been abrupt."""
_MOMENT_S = 0.15
_LASTING = 10
"""Bins."""
_COARSE = 0.7
"""Means over several levels differ by less than the levels do."""
_MANY = 40
"""A series with more cuts than this has no levels."""


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One lasting value."""

    first: int
    """First ..."""
    last: int
    """... and last sample of it."""
    value: FloatArray
    """(3,)."""


@dataclass(frozen=True, slots=True, eq=False)
class _Bins:
    """Medians over half a second; a gap in time begins a new bin."""

    times_s: FloatArray
    values: FloatArray
    starts: NDArray[np.int64]
    """First sample of each bin."""
    t: FloatArray
    """Times of all samples, ..."""
    x: FloatArray
    """... and the samples, NaN where they tell nothing, ..."""
    raw: FloatArray
    """... and all samples as they are."""


def levels_of(
    times_s: FloatArray, x: FloatArray, good: NDArray[np.bool_], away_m: float, least_m: float
) -> list[Level]:
    """Lasting levels of x (samples, 3) that differ by steps of at least least_m; none where x stays at its one level.

    A single level counts where it is steady and farther than away_m from zero. Samples that are not good tell nothing.
    """
    bins = _binned(times_s, np.where(good[:, None], x, np.nan), x)
    there = np.flatnonzero(np.isfinite(bins.values[:, 0]))
    if len(there) == 0:
        return []
    bins = _Bins(bins.times_s[there], bins.values[there], bins.starts[there], bins.t, bins.x, bins.raw)
    cuts = _cuts(bins, least_m, away_m)
    edges = [0, *cuts, len(there)]
    values = [np.median(bins.values[a:b], axis=0) for a, b in pairwise(edges)]
    if not cuts:
        scatter = np.median(np.linalg.norm(bins.values - values[0], axis=1))
        size = np.linalg.norm(values[0])
        few = len(there) < 2
        return [] if few or size < away_m or scatter > _STEADY * size else [Level(0, len(x) - 1, values[0])]
    firsts = [0]
    for cut, before, after in zip(cuts, values[:-1], values[1:], strict=True):
        firsts.append(_exact(bins, cut, before, after))
    lasts = [first - 1 for first in firsts[1:]] + [len(x) - 1]
    return [Level(a, b, v) for a, b, v in zip(firsts, lasts, values, strict=True)]


def _binned(times_s: FloatArray, x: FloatArray, raw: FloatArray) -> _Bins:
    number = np.floor((times_s - times_s[0]) / _BIN_S).astype(np.int64)
    broken = np.concatenate([[False], np.diff(times_s) > _BIN_S])
    new = np.concatenate([[True], np.diff(number) > 0]) | broken
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], len(x))
    # one row per bin, filled up with NaN: all medians at once
    which = np.cumsum(new) - 1
    rows = np.full((len(starts), int((ends - starts).max()), 3), np.nan)
    rows[which, np.arange(len(x)) - starts[which]] = x
    # What few samples say, most being in doubt, may be an error of the pose.
    told = np.isfinite(rows[:, :, 0]).sum(axis=1)
    values = np.where((2 * told >= ends - starts)[:, None], nan_median(rows, axis=1), np.nan)
    return _Bins((times_s[starts] + times_s[ends - 1]) / 2, values, starts, times_s, x, raw)


def _cuts(bins: _Bins, least_m: float, away_m: float) -> list[int]:
    """Bins at which a new level begins: cut wherever the means differ, then take back the cuts that are no steps."""
    cuts = _candidates(bins.values, 0, len(bins.values), least_m)
    if len(cuts) > _MANY:
        return []
    while cuts:
        edges = [0, *cuts, len(bins.values)]
        sizes = [_step(bins, a, cut, b, least_m, away_m) for a, cut, b in zip(edges, cuts, edges[2:], strict=False)]
        wrong = [k for k, (_, fine) in enumerate(sizes) if not fine]
        if not wrong:
            break
        cuts.pop(min(wrong, key=lambda k: sizes[k][0]))
    return cuts


def _candidates(x: FloatArray, first: int, end: int, least_m: float) -> list[int]:
    """Binary segmentation by least squares, down to steps of least_m."""
    if end - first < 2:
        return []
    part = x[first:end]
    n = np.arange(1, len(part))
    total = np.cumsum(part, axis=0)
    before, after = total[:-1] / n[:, None], (total[-1] - total[:-1]) / (len(part) - n)[:, None]
    squares = ((after - before) ** 2).sum(axis=1)
    best = int((n * (len(part) - n) * squares).argmax())
    if squares[best] < (_COARSE * least_m) ** 2:
        return []
    cut = first + 1 + best
    return [*_candidates(x, first, cut, least_m), cut, *_candidates(x, cut, end, least_m)]


def _step(bins: _Bins, first: int, cut: int, end: int, least_m: float, away_m: float) -> tuple[float, bool]:
    """Size of the step between two levels, m, and whether it is one: large, between steady levels, abrupt."""
    left, right = bins.values[first:cut], bins.values[cut:end]
    low, high = np.median(left, axis=0), np.median(right, axis=0)
    size = float(np.linalg.norm(high - low))
    fine = size >= least_m
    for side, level in ((left, low), (right, high)):
        fine &= bool(np.median(np.linalg.norm(side - level, axis=1)) <= _STEADY * size)
        # One bin alone proves a level only where the cloud says the same.
        fine &= len(side) > 1 or bool(np.linalg.norm(level) <= 0.5 * away_m)
    fine = fine and _abrupt(bins, first, cut, end, high - low)
    # A marker may creep to its new place; then both levels must last.
    return size, fine and (min(len(left), len(right)) >= _LASTING or _sudden(bins, cut, low, high))


def _abrupt(bins: _Bins, first: int, cut: int, end: int, by: FloatArray) -> bool:
    """Whether a step remains beside a straight line through the bins around it: what bends has a slope instead."""
    if bins.times_s[cut] - bins.times_s[cut - 1] > _UNSEEN_S:
        return True
    near = np.arange(max(first, cut - _BINS_BESIDE), min(end, cut + _BINS_BESIDE))
    after = (near >= cut).astype(float)
    columns = [np.ones(len(near)), after]
    if min(cut - near[0], near[-1] + 1 - cut) >= 3:
        columns.append(bins.times_s[near] - bins.times_s[cut])
    step = least_squares(np.stack(columns, axis=1), bins.values[near])[1]
    return bool(step @ by >= _ABRUPT * (by @ by))


def _exact(bins: _Bins, cut: int, before: FloatArray, after: FloatArray) -> int:
    """The sample at which the new level begins: the split of the two bins around the cut that leaves least over."""
    start = int(bins.starts[cut - 1])
    end = int(bins.starts[cut + 1]) if cut + 1 < len(bins.starts) else len(bins.x)
    part = bins.raw[start:end]
    gain: FloatArray = np.nan_to_num(((part - before) ** 2).sum(axis=1) - ((part - after) ** 2).sum(axis=1))
    # What is doubtful, the frames just before or after a move among it, decides where nothing else does.
    most = float(((after - before) ** 2).sum())
    gain = np.where(np.isfinite(bins.x[start:end, 0]), gain, gain.clip(-0.1 * most, 0.1 * most))
    # The sum of what the old level explains better up to each split is smallest where the new one begins.
    return start + int(np.concatenate([[0.0], np.cumsum(gain)]).argmin())


def _sudden(bins: _Bins, cut: int, low: FloatArray, high: FloatArray) -> bool:
    """Whether the step happens within moments, or unseen."""
    first = _exact(bins, cut, low, high)
    seen = np.flatnonzero(np.isfinite(bins.x[:, 0]))
    split = int(np.searchsorted(seen, first))
    if split == 0 or split == len(seen) or bins.t[seen[split]] - bins.t[seen[split - 1]] > 2 * _MOMENT_S:
        return True
    t = bins.t[seen]
    a, b = np.searchsorted(t, [t[split - 1] - _MOMENT_S, t[split] + _MOMENT_S])
    by = high - low
    step = np.median(bins.x[seen[split:b]], axis=0) - np.median(bins.x[seen[a:split]], axis=0)
    return bool(step @ by >= _ABRUPT * (by @ by))
