"""Faults of markers (exchanged labels, ghosts, moves on the body): how they are found, named and repaired."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.motion.cloud import Cloud, Markers, body_points, nan_median, select_markers
from palpate.motion.faults import (
    Case,
    Fault,
    Level,
    compare_clouds,
    report_confused,
    report_ghosts,
    report_moves,
    report_swaps,
    report_unsteady,
)
from palpate.motion.rigid import Alignment, deletion, known_points
from palpate.motion.robust import (
    Exchange,
    IntArray,
    RobustFit,
    Scale,
    believed_exchanges,
    explain,
    find_scale,
    flipped_places,
    other_places,
    relabelled,
    robust_align,
    whole_exchanges,
)
from palpate.physics.arrays import BoolArray, FloatArray, least_squares, runs

_LEAST_M = 3e-3
_BENDING_M_PER_S = 0.05
"""A part of a body does not leave its place faster than this by bending."""
_BRIEF_S = 1.0
"""A marker that is elsewhere for less than this has not moved: it is a ghost."""
_FARTHEST_M = 0.1
"""Nor has one that is farther away than this."""
_COURSE_S = 0.1
"""Frames around, before and after, over which a marker's noise averages out and its wandering does not."""
_AT_EDGE = 5
"""Frames on either side of a jump that must show it."""
_FEW = 3
"""Frames that a marker must be away before it is called unsteady."""
_ROUNDS = 3
_NOISIEST_M, _NOISIEST = 5e-3, 0.03
"""Markers typically farther off than this, in m and relative to the body's size, belong to another cloud."""
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
class Checked:
    """Markers of a body without the faults that were found."""

    markers: Markers
    """The cloud's markers: labels put right, ghosts hidden, moved markers carried back to their places."""
    faults: tuple[Fault, ...]
    noise_m: float
    """Standard deviation of a coordinate from frame to frame."""
    tolerance_m: float
    """Distance from its place beyond which a marker counts as elsewhere."""
    bending_m: float = 0.0
    """Standard deviation of a coordinate, in the body, that changes slowly."""
    confused_share: float = 0.0
    """Part (0 to 1) of the frames with three markers or more in which no majority of them fits the cloud."""

    @property
    def spread_m(self) -> float:
        """Standard deviation of a coordinate about its mean place, noise and bending: what poses are judged by."""
        return float(np.hypot(self.noise_m, self.bending_m))


def check_markers(markers: Markers, cloud: Cloud, *, least_m: float = _LEAST_M) -> Checked:
    """Find and repair the faults of a body's markers.

    Poses come from the markers that agree with each other (`robust_align`). A point at another marker's place has the
    wrong label, and so have points whose labels make the body turn over in a moment; one that jumps away and back is a
    ghost; one that stays elsewhere, steadily, has moved on the body.
    A point that wanders off without a jump is reported as unsteady, for bodies bend, and left as it is. Where no
    majority of the markers fits the cloud, all are hidden. What is less than least_m or seven times the markers' own
    spread from its place (the larger) is no fault; of a cloud's constant misfit not more than 1 mm and 0.1 % of the
    body's size add to the spread. Markers that are elsewhere throughout, without another fault, are reported as a cloud
    that does not fit (`compare_clouds`).
    """
    chosen = select_markers(markers, cloud.names)
    if len(cloud.names) < 3:
        raise DataProblem("marker faults", f"the cloud has {len(cloud.names)} markers", remedy="it takes three")
    if len(chosen.times_s) == 0:
        return Checked(chosen, (), float("nan"), least_m)
    case = Case(chosen, cloud, _fitting_scale(chosen, cloud, least_m))
    levels: list[list[Level]] = [[] for _ in cloud.names]
    state = _aligned(case, levels)
    places = flipped_places(state.points, chosen.times_s, cloud.points, state.alignment)
    places, flips = believed_exchanges(places, known_points(state.points))
    if flips:
        flips += state.exchanges
        case = Case(Markers(chosen.names, chosen.times_s, relabelled(state.points, places)), cloud, case.scale)
        state = _aligned(case, levels)
    for _ in range(_ROUNDS):
        before, levels = levels, _believable([_levels(state, levels, i, case) for i in range(len(levels))], state, case)
        if not any(before) and not any(levels):
            break
        # Once it is known where a marker went, it helps to find the pose.
        state = _aligned(case, levels)
        if [len(mine) for mine in levels] == [len(mine) for mine in before]:
            break
    faults = report_swaps(flips + state.exchanges, case) + report_confused(state.confused, case)
    points, turned = state.points.copy(), np.nan_to_num(state.alignment.rotation)
    for i in range(len(cloud.names)):
        faults += report_moves(levels[i], i, case)
        shift = _shift(levels[i], len(points))
        hide, others = _judge(state, shift, i, case)
        faults += others
        points[:, i] -= np.einsum("nij,nj->ni", turned, shift)
        stray = ~state.alignment.usable & shift.any(axis=1)  # moved, and no pose that could carry it back
        points[hide | stray | state.confused, i] = np.nan
    named = {name for f in faults if f.kind == "moved" for name in f.names}
    faults += compare_clouds(cloud, Markers(chosen.names, chosen.times_s, state.points), but=named)
    ordered = tuple(sorted(faults, key=lambda f: (f.interval_s[0], f.names)))
    scale, enough = case.scale, chosen.seen.sum(axis=1) >= 3
    return Checked(
        Markers(chosen.names, chosen.times_s, points),
        ordered,
        scale.noise_m,
        scale.tolerance_m,
        scale.bending_m,
        float((state.confused & enough).sum() / max(int(enough.sum()), 1)),
    )


def _fitting_scale(markers: Markers, cloud: Cloud, least_m: float) -> Scale:
    """The markers' noise; refused where they are not those of the cloud."""
    scale = find_scale(markers.points, cloud.points, least_m)
    size = float(np.linalg.norm(cloud.points - cloud.points.mean(axis=0), axis=1).max())
    misfit = float(np.hypot(scale.spread_m, scale.misfit_m))
    if misfit > max(_NOISIEST_M, _NOISIEST * size):
        raise DataProblem(
            "marker faults",
            f"the markers do not fit the cloud: they are typically {1e3 * misfit:.0f} mm off their places, "
            f"on a body of {1e3 * size:.0f} mm",
            remedy="they are not one rigid body, or the cloud is another's: name the markers of one (markers.body)",
        )
    return scale


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """Labels put right, and poses from the sound markers."""

    points: FloatArray
    exchanges: list[Exchange]
    alignment: Alignment
    residual: FloatArray
    """(frames, k, 3) points in the cloud's frame, minus their places in the cloud, m."""
    free: FloatArray
    """The same in the frame that the other markers give: a marker that moved pulls the pose after it."""
    confused: BoolArray


def _aligned(case: Case, levels: list[list[Level]]) -> _State:
    """Put labels right and find the poses, with the places that moved markers have at the time."""
    original, cloud, scale = case.markers.points, case.cloud.points, case.scale
    window = max(1, round(_BRIEF_S / case.step_s))
    epochs = _epochs(levels, len(original), cloud)
    fits = [robust_align(original[at], now, scale, window) for at, now in epochs]
    places, home = _placed(original, epochs, scale, fits)
    whole = whole_exchanges(places)
    # Labels exchanged in the frames around may be what is wrong in these.
    for (at, now), fit in zip(epochs, fits, strict=True) if whole else ():
        away = ~fit.sound & known_points(original[at])
        left = away & ((places[at] == np.arange(len(cloud))) | (places[at] < 0))
        unclear = fit.confused | (left.any(axis=1) & (away.sum(axis=1) > 1))
        explain(fit, np.flatnonzero(unclear), original[at], now, scale, whole)
    if whole:
        places, home = _placed(original, epochs, scale, fits)
    places, exchanges = believed_exchanges(places, known_points(original), home, window)
    points = relabelled(original, places)
    fits = [robust_align(points[at], now, scale, window) for at, now in epochs]
    alignment = Alignment(
        *(
            np.concatenate([getattr(fit.alignment, name) for fit in fits])
            for name in (field.name for field in fields(Alignment))
        )
    )
    residual = body_points(points, alignment) - cloud
    pairs = zip(epochs, fits, strict=True)
    free = np.concatenate([deletion(points[at], now, fit.alignment)[0] + (now - cloud) for (at, now), fit in pairs])
    free = np.where(alignment.used[:, :, None], free, residual)
    return _State(points, exchanges, alignment, residual, free, np.concatenate([fit.confused for fit in fits]))


def _placed(
    points: FloatArray, epochs: list[tuple[slice, FloatArray]], scale: Scale, fits: list[RobustFit]
) -> tuple[IntArray, BoolArray]:
    """(frames, k) to whose place each label's point belongs, and which markers are at their own."""
    pairs = zip(epochs, fits, strict=True)
    places = np.concatenate([other_places(points[at], now, scale, fit) for (at, now), fit in pairs])
    return places, np.concatenate([fit.sound for fit in fits])


def _epochs(levels: list[list[Level]], frames: int, cloud: FloatArray) -> list[tuple[slice, FloatArray]]:
    """Stretches without a move, and the cloud as it is there."""
    cuts = sorted({0, frames} | {level.first for mine in levels for level in mine[1:]})
    epochs: list[tuple[slice, FloatArray]] = []
    for start, end in pairwise(cuts):
        now = cloud.copy()
        for i, mine in enumerate(levels):
            for level in mine:
                if level.first <= start <= level.last:
                    now[i] += level.value
        epochs.append((slice(start, end), now))
    return epochs


def _shift(levels: list[Level], frames: int) -> FloatArray:
    """(frames, 3) how far a marker is from its place in the cloud, m."""
    shift = np.zeros((frames, 3))
    for level in levels:
        shift[level.first : level.last + 1] = level.value
    return shift


# --- markers that moved -----------------------------------------------------------------------------------------------


def _levels(state: _State, known: list[list[Level]], i: int, case: Case) -> list[Level]:
    """The lasting levels of a marker's residual, by frames, relative to its place; none where it has not moved."""
    shown = np.flatnonzero(np.isfinite(state.residual[:, i, 0]))
    if len(shown) == 0:
        return []
    frames = len(state.residual)
    r, free, t = state.residual[shown, i], state.free[shown, i], case.markers.times_s[shown]
    tolerance = case.tolerance(r, t)
    rest = r - _shift(known[i], frames)[shown]
    good = np.linalg.norm(r, axis=1) < _FARTHEST_M
    brief, all_ghosts = good.copy(), good.copy()
    for first, stop, jump in _away(rest, t, np.full(len(r), tolerance)):
        if jump and t[stop - 1] - t[first] < _BRIEF_S:
            brief[first:stop] = False
        if jump and first > 0 and stop < len(r):
            all_ghosts[first:stop] = False
    # A long stretch away may be a ghost or, with few markers, a move that some frames fail to see.
    levels: list[Level] = []
    for known_good in (brief, brief & all_ghosts):
        levels = levels or _without_returns(
            levels_of(t, free, known_good, tolerance, case.scale.tolerance_m), tolerance
        )
    sizes = [float(np.linalg.norm(level.value)) for level in levels]
    if not levels or (len(levels) == 1 and sizes[0] < tolerance):
        return []
    # The level nearest to the cloud's place is that place, unless none is near.
    base = levels[int(np.argmin(sizes))].value if min(sizes) < 0.5 * tolerance else np.zeros(3)
    firsts = [0, *(int(shown[level.first]) for level in levels[1:]), frames]
    return [Level(firsts[k], firsts[k + 1] - 1, level.value - base) for k, level in enumerate(levels)]


def _without_returns(levels: list[Level], tolerance: float) -> list[Level]:
    """Join levels between which a marker was away and came back: it did not move, it was a ghost or bent."""
    levels = list(levels)
    k = 0
    while k + 2 < len(levels):
        a, b = levels[k], levels[k + 2]
        if np.linalg.norm(a.value - b.value) < 0.5 * tolerance:
            longer = a if a.last - a.first > b.last - b.first else b
            levels[k : k + 3] = [Level(a.first, b.last, longer.value)]
            k = 0
        else:
            k += 1
    return levels


def _believable(levels: list[list[Level]], state: _State, case: Case) -> list[list[Level]]:
    """On a body that bends at several markers, a step that nobody saw happen is bending too."""
    away = np.nan_to_num(np.linalg.norm(state.residual, axis=2)) > case.scale.tolerance_m
    wander = [not mine and away[:, i].mean() > 0.1 for i, mine in enumerate(levels)]
    if sum(wander) < 2:
        return levels
    kept: list[list[Level]] = []
    for i, mine in enumerate(levels):
        shown = np.flatnonzero(np.isfinite(state.residual[:, i, 0]))
        t = case.markers.times_s[shown]
        at = np.searchsorted(shown, [level.first for level in mine[1:]])
        kept.append([] if (t[at] - t[np.maximum(at - 1, 0)] > _BRIEF_S).any() else mine)
    return kept


# --- ghosts and unsteady markers --------------------------------------------------------------------------------------


def _judge(state: _State, shift: FloatArray, i: int, case: Case) -> tuple[BoolArray, list[Fault]]:
    """Where to hide a marker, and what is wrong with it beyond its moves."""
    residual = state.residual[:, i] - shift
    shown = np.flatnonzero(np.isfinite(residual[:, 0]))
    hide = np.zeros(len(residual), dtype=bool)
    if len(shown) == 0:
        return hide, []
    r, t = residual[shown], case.markers.times_s[shown]
    limit = np.maximum(case.tolerance(r, t), 7 * case.scale.spread_m * _pose_noise(state, i, case)[shown])
    ghost = np.zeros(len(r), dtype=bool)
    for first, stop, jump in _away(r, t, limit):
        ghost[first:stop] = jump
    size = np.linalg.norm(r, axis=1)
    # noise on top of a smaller deviation exceeds the limit here and there: a wandering marker does so on the average
    away = (size > limit) & (_course(r, t, ~ghost) > limit) & ~ghost
    between = (ghost | away) & _on_the_way(t, size, shift[shown])
    hide[shown[ghost | between]] = True
    ghost, away = ghost & ~between, away & ~between
    faults = report_ghosts(r, t, ghost, limit, i, case)
    if away.sum() >= _FEW:
        faults.append(report_unsteady(r, t, away, i, case))
    return hide, faults


def _on_the_way(t: FloatArray, size: FloatArray, shift: FloatArray) -> BoolArray:
    """Frames around a move in which the marker is between its two places: part of the move, and no use."""
    between = np.zeros(len(t), dtype=bool)
    for k in np.flatnonzero((np.diff(shift, axis=0) != 0).any(axis=1)):
        step = float(np.linalg.norm(shift[k + 1] - shift[k]))
        between |= (np.abs(t - t[k]) < _BRIEF_S) & (size < step)
    return between


def _pose_noise(state: _State, i: int, case: Case) -> FloatArray:
    """(frames,) noise of a marker relative to a pose from the others, in units of the markers' own.

    sqrt(1 + 1/n + (d / lever)^2 / n) for n markers and a place at d from their centre: few markers close together
    tell little about a distant one.
    """
    count = np.maximum(state.alignment.used.sum(axis=1), 1)
    lever = np.where(np.isnan(state.alignment.lever), 1.0, np.maximum(state.alignment.lever, 1e-6))
    d = float(np.linalg.norm(case.cloud.points[i] - case.cloud.points.mean(axis=0)))
    return np.sqrt(1 + 1 / count + (d / lever) ** 2 / count)


def _away(r: FloatArray, t: FloatArray, limit: FloatArray) -> list[tuple[int, int, bool]]:
    """Stretches [first, stop) away from the place, and whether each began or ended faster than a body bends."""
    stretches: list[tuple[int, int, bool]] = []
    away = np.linalg.norm(r, axis=1) > limit
    for first, stop in runs(away):
        jump = False
        for a, b in ((first - 1, first), (stop - 1, stop)):
            if a >= 0 and b < len(r):
                allowed = 0.5 * min(limit[a], limit[b]) + _BENDING_M_PER_S * (t[b] - t[a])
                jump |= bool(np.linalg.norm(r[b] - r[a]) > allowed) and _lasting_jump(r, t, limit, (a, b), away)
        stretches.append((first, stop, jump))
    return stretches


def _lasting_jump(r: FloatArray, t: FloatArray, limit: FloatArray, at: tuple[int, int], away: BoolArray) -> bool:
    """Whether the frames on either side of an edge of a stretch show the jump, too, and not noise alone."""
    before, after = (_beside(t, away, k, step) for k, step in zip(at, (-1, 1), strict=True))
    passed = float(t[after].mean() - t[before].mean())
    allowed = 0.5 * float(min(limit[at[0]], limit[at[1]])) + _BENDING_M_PER_S * passed
    return bool(np.linalg.norm(np.median(r[after], axis=0) - np.median(r[before], axis=0)) > allowed)


def _beside(t: FloatArray, away: BoolArray, k: int, step: int) -> IntArray:
    """Frame k and the next ones in a direction that are on the same side of the limit, shortly before or after."""
    near = k + step * np.arange(_AT_EDGE)
    near = near[(near >= 0) & (near < len(t))]
    same = (away[near] == away[k]) & (np.abs(t[near] - t[k]) < _COURSE_S)
    return near[np.logical_and.accumulate(same)]


def _course(r: FloatArray, t: FloatArray, good: BoolArray) -> FloatArray:
    """(frames,) m: how far the mean of the good frames around each one is from the place; 0 where there is none."""
    total = np.concatenate([np.zeros((1, 3)), np.cumsum(np.where(good[:, None], r, 0.0), axis=0)])
    count = np.concatenate([[0], np.cumsum(good)])
    first, end = np.searchsorted(t, t - _COURSE_S), np.searchsorted(t, t + _COURSE_S, side="right")
    mean = (total[end] - total[first]) / np.maximum(count[end] - count[first], 1)[:, None]
    return np.linalg.norm(mean, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Bins:
    """Medians over half a second; a gap in time begins a new bin."""

    times_s: FloatArray
    values: FloatArray
    starts: NDArray[np.int64]
    """First sample of each bin."""
    t: FloatArray
    """Times of all samples."""
    x: FloatArray
    """The samples, NaN where they are of no use."""
    raw: FloatArray
    """All samples as they were measured."""


def levels_of(
    times_s: FloatArray, x: FloatArray, good: NDArray[np.bool_], away_m: float, least_m: float
) -> list[Level]:
    """Lasting levels of x (samples, 3) that differ by steps of at least least_m; none where x stays at its one level.

    A single level counts where it is steady and farther than away_m from zero. Samples that are not good do not count.
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
    known = np.isfinite(rows[:, :, 0]).sum(axis=1)
    values = np.where((2 * known >= ends - starts)[:, None], nan_median(rows, axis=1), np.nan)
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
