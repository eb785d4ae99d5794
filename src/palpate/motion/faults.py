"""Faults of markers (exchanged labels, ghosts, moves on the body): how they are noticed, named and repaired."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Literal

import numpy as np

from palpate.errors import DataProblem
from palpate.findings import Finding, Severity
from palpate.motion import cloud as clouds
from palpate.motion import robust
from palpate.physics.arrays import BoolArray, FloatArray, runs

Kind = Literal["swapped", "ghost", "moved", "unsteady", "confused", "static", "weak"]

_LEAST_M = 3e-3
_BRIEF_S = 1.0
"""A marker that is elsewhere for less than this has not moved: it is a ghost."""
_COURSE_S = 0.1
"""Frames around, before and after, over which a marker's noise averages out and its wandering does not."""
_NOISIEST_M, _NOISIEST = 5e-3, 0.03
"""Markers typically farther off than this, in m and relative to the body's size, belong to another cloud."""
_FRAMES_FOR_JUMPS = 5000
"""From frame to frame: enough to know their median to a hundredth."""
_BIN_S = 0.5
_SHARE_OF_STEP = 0.7
"""Of a step, by which means over several levels differ."""
_ON_BODY_M = 0.1
"""What is farther off its place has not moved on the body."""
_STEADY_LEVEL = 0.3
"""Scatter of a level, relative to the step beside it, up to which it is a level."""
_SUDDEN_S = 0.15
_MERGE_S = 0.5
"""Two ghosts of one label closer than this are one."""
_BLINK_S = 0.1
_MOST_SINGLE_GHOSTS = 3
"""Ghosts of one marker that last less than a blink are reported together where there are more than this."""
_SELDOM_AT_PLACE = 0.1
"""Part of the time that a marker must have been at its place in a static cloud for that place to be right."""
_WEAK_DEG = 0.5
_CHI = 1.538
"""Median of chi with three degrees of freedom."""


@dataclass(frozen=True, slots=True, eq=False)
class Fault:
    """One fault: what, which markers, when, by how much, and the finding that says so."""

    kind: Kind
    names: tuple[str, ...]
    interval_s: tuple[float, float]
    """First and last frame of it, s."""
    frames: int
    """Frames in which it shows."""
    size_m: float
    """How far the points are from where they should be: the median, and the shift of a marker that moved."""
    finding: Finding
    before_m: FloatArray | None = None
    """Where a moved marker sat before the move, from its place in the cloud, in the cloud's axes."""


@dataclass(frozen=True, slots=True, eq=False)
class Faults:
    """What is wrong with the markers of a body."""

    faults: tuple[Fault, ...]
    scale: robust.Scale
    """Noise, bending and what counts as elsewhere."""
    confused_share: float
    """Part (0 to 1) of the frames with three markers or more in which no majority of them fits the cloud."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of the faults; what befalls the same markers often is said once."""
        alike: dict[tuple[str, ...], list[Fault]] = {}
        for fault in self.faults:
            alike.setdefault((fault.kind, *fault.names), []).append(fault)
        said: list[Finding] = []
        for first, *more in alike.values():
            if len(more) < _MOST_SINGLE_GHOSTS or first.kind == "moved":
                said += [fault.finding for fault in (first, *more)]
                continue
            last, frames = max(f.interval_s[1] for f in more), first.frames + sum(f.frames for f in more)
            again = f"; {len(more)} more times until {last:.2f} s, {frames} frames in all"
            said.append(replace(first.finding, evidence=first.finding.evidence + again))
        return tuple(said)


@dataclass(frozen=True, slots=True, eq=False)
class Checked(Faults):
    """Markers of a body, their faults repaired or hidden."""

    markers: clouds.Markers
    """The cloud's markers: labels put right, ghosts hidden, moved markers carried back to their places."""


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """One lasting value (3,), from its first to its last sample."""

    first: int
    last: int
    value: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """What every judgement needs."""

    markers: clouds.Markers
    cloud: clouds.Cloud
    scale: robust.Scale

    @property
    def step_s(self) -> float:
        """Usual time between frames."""
        times = self.markers.times_s
        return float(np.median(np.diff(times))) if len(times) > 1 else 1.0

    def tolerances(self, residual: FloatArray) -> FloatArray:
        """(k,) m: the body's tolerance, or more for markers that are noisier than others from frame to frame.

        residual: (frames, k, 3), m.
        """
        times, first = self.markers.times_s, robust.evenly(len(residual) - 1, _FRAMES_FOR_JUMPS)
        first = first[times[first + 1] - times[first] < 1.5 * self.step_s]
        jumps = _sizes(residual[first + 1] - residual[first]).T
        known = [row[np.isfinite(row)] for row in jumps]
        noise = np.array([np.median(row) if len(row) else 0.0 for row in known]) / (_CHI * np.sqrt(2))
        return np.maximum(self.scale.tolerance_m, 8 * noise)

    def fault(
        self, kind: Kind, members: Sequence[int], interval: tuple[float, float], frames: int, size_m: float, text: str
    ) -> Fault:
        """A fault of these markers; the text may name {start}, {end}, {frames} and {mm}."""
        names = [_short(self.cloud.names[i]) for i in members]
        place = "" if kind == "confused" else " and ".join([", ".join(names[:-1]), names[-1]][len(names) == 1 :])
        words = text.format(start=interval[0], end=interval[1], frames=frames, mm=1e3 * size_m)
        finding = Finding(f"marker-{kind}", words, place)
        return Fault(kind, tuple(self.cloud.names[i] for i in members), interval, frames, size_m, finding)

    def away(self, kind: Kind, i: int, r: FloatArray, t: FloatArray, at: robust.IntArray, text: str) -> Fault:
        """A fault of one marker that is off its place by r (samples, 3) at some of the times t."""
        size = float(np.median(np.linalg.norm(r[at], axis=1)))
        return self.fault(kind, [i], (float(t[at[0]]), float(t[at[-1]])), len(at), size, text)


def _short(name: str) -> str:
    """A marker's name without the subject."""
    return name.rsplit(":", 1)[-1]


def check_markers(markers: clouds.Markers, cloud: clouds.Cloud, fit: clouds.Alignment | None = None) -> Checked:
    """Find and repair the faults of a body's markers; fit: their alignment as they are (`fit_body`), where it is known.

    Poses come from the markers that agree with each other (`robust_align`). A point at another marker's place has the
    wrong label, and so have points whose labels make the body turn over in a moment; one that jumps away and back is a
    ghost; one that stays elsewhere, steadily, has moved on the body.
    A point that wanders off without a jump is reported as unsteady, for bodies bend, and left as it is. Where no
    majority of the markers fits the cloud, all are hidden. What is less than 3 mm or seven times the markers' own
    spread from its place (the larger) is no fault; of a cloud's constant misfit not more than 1 mm and 0.1 % of the
    body's size add to the spread. Markers that are elsewhere throughout, without another fault, are reported as a cloud
    that does not fit (`compare_clouds`).
    """
    chosen = clouds.select_markers(markers, cloud.names)
    if len(cloud.names) < 3:
        raise DataProblem("marker faults", f"the cloud has {len(cloud.names)} markers", remedy="it takes three")
    times = chosen.times_s
    if len(times) == 0:
        return Checked((), robust.Scale(float("nan"), _LEAST_M), 0.0, chosen)
    recorded = robust.Recorded.of(chosen.points, cloud.points, _LEAST_M)
    scale = _fitting_scale(chosen, cloud, recorded)
    case = _Case(chosen, cloud, scale)
    levels: list[list[_Level]] = [[] for _ in cloud.names]
    plain = None
    if fit is not None:
        same, judged = np.zeros(len(times), dtype=bool), {"noise_m": scale.pose_noise_m, "before_m": None}
        plain = clouds.realigned(fit, chosen.points, cloud.points, same, **judged)
    state = _aligned(case, levels, plain)
    places = robust.flipped_places(state.points, times, cloud.points, state.alignment)
    places, flips = robust.believed_exchanges(places, clouds.known_points(state.points))
    if flips:
        flips += state.exchanges
        case = _Case(clouds.Markers(chosen.names, times, robust.relabelled(state.points, places)), cloud, scale)
        state = _aligned(case, levels)
    for _ in range(3):
        before, stays = levels, _stays(state, case)
        levels = [[] if stays[i] and not mine else _levels(state, before, i, case) for i, mine in enumerate(before)]
        if not any(before) and not any(levels):
            break
        # Once it is known where a marker went, it helps to find the pose.
        state = _aligned(case, levels)
        if [len(mine) for mine in levels] == [len(mine) for mine in before]:
            break
    text = (
        "no majority of the markers fits the cloud from {start:.2f} to {end:.2f} s ({frames} frames); all hidden there"
    )
    faults = _report_swaps(flips + state.exchanges, case) + [
        case.fault("confused", range(len(levels)), (float(times[at[0]]), float(times[at[-1]])), len(at), np.nan, text)
        for at in _merged(state.confused, times)
    ]
    points = state.points.copy()
    for i in range(len(cloud.names)):
        faults += _report_moves(levels[i], i, case)
        shift = _shift(levels[i], len(points))
        hide, others = _judge(state, shift, i, case)
        faults += others
        if levels[i]:
            points[:, i] -= np.einsum("nij,nj->ni", np.nan_to_num(state.alignment.rotation), shift)
            hide |= ~state.alignment.usable & shift.any(axis=1)  # moved, and no pose that could carry it back
        points[hide | state.confused, i] = np.nan
    named = {name for f in faults if f.kind == "moved" for name in f.names}
    relabelled = clouds.differing(robust.some_frames(chosen.points), robust.some_frames(state.points)).any()
    markers = clouds.Markers(chosen.names, times, state.points)
    faults += compare_clouds(cloud, markers, but=named, recorded=None if relabelled else recorded)
    ordered = tuple(sorted(faults, key=lambda f: (f.interval_s[0], f.names)))
    enough = chosen.seen.sum(axis=1) >= 3
    confused = float((state.confused & enough).sum() / max(int(enough.sum()), 1))
    return Checked(ordered, scale, confused, clouds.Markers(chosen.names, times, points))


def _fitting_scale(markers: clouds.Markers, cloud: clouds.Cloud, recorded: robust.Recorded) -> robust.Scale:
    """The markers' noise; refused where they are not those of the cloud."""
    scale = robust.find_scale(markers.points, cloud.points, _LEAST_M, recorded)
    size = float(np.linalg.norm(cloud.points - cloud.points.mean(axis=0), axis=1).max())
    misfit = float(np.hypot(scale.spread_m, scale.misfit_m))
    if misfit > max(_NOISIEST_M, _NOISIEST * size):
        raise DataProblem(
            "marker faults",
            f"the markers do not fit the cloud: they are typically {1e3 * misfit:.0f} mm off their places, "
            f"on a body of {1e3 * size:.0f} mm",
            remedy="they are not one rigid body, or the cloud is another body's: name those of one (markers.body)",
        )
    return scale


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """Labels put right, and poses from the sound markers."""

    points: FloatArray
    exchanges: list[robust.Exchange]
    alignment: clouds.Alignment
    residual: FloatArray
    """(frames, k, 3) points in the cloud's frame, minus their places in the cloud, m."""
    free: FloatArray
    """The same in the frame that the other markers give: a marker that moved pulls the pose after it."""
    confused: BoolArray
    tolerance: FloatArray
    """(k,) m: farther than this from its place, a marker is not there."""
    size: FloatArray
    """(frames, k) m, of the residual."""


def _aligned(case: _Case, levels: list[list[_Level]], plain: clouds.Alignment | None = None) -> _State:
    """Put labels right and find the poses, with the places that moved markers have at the time.

    plain: the alignment of all markers, where none has moved, as it is overwritten by `robust_align`.
    """
    original, cloud, scale = case.markers.points, case.cloud.points, case.scale
    window = max(1, round(_BRIEF_S / case.step_s))
    # stretches without a move, and the cloud as it is there
    cuts = sorted({0, len(original)} | {level.first for mine in levels for level in mine[1:]})
    shifts = [_shift(mine, len(original)) for mine in levels]
    epochs = [(slice(a, b), cloud + np.array([shift[a] for shift in shifts])) for a, b in pairwise(cuts)]
    fits = [robust.robust_align(original[at], now, scale, plain) for at, now in epochs]
    pairs = list(zip(epochs, fits, strict=True))
    places = np.concatenate([robust.other_places(original[at], now, scale, fit) for (at, now), fit in pairs])
    home = np.concatenate([fit.sound for fit in fits])
    places, exchanges = robust.believed_exchanges(places, clouds.known_points(original), home, window)
    points, other = robust.relabelled(original, places), (places != np.arange(len(cloud))).any(axis=1)
    for (at, now), fit in pairs:
        again = np.flatnonzero(other[at])
        if len(again):
            fit.put(again, robust.robust_align(points[at][again], now, scale))
    alignment = clouds.Alignment.joined([fit.alignment for fit in fits])
    residual, free = np.empty(points.shape), np.empty(points.shape)
    for (at, now), fit in pairs:
        e = np.subtract(clouds.body_points(points[at], fit.alignment), now, out=residual[at])
        robust.deletion(e, now, fit.alignment, out=free[at])
        for x in (e, free[at]) if (now != cloud).any() else ():
            x += now - cloud
    confused, tolerance = np.concatenate([fit.confused for fit in fits]), case.tolerances(residual)
    return _State(points, exchanges, alignment, residual, free, confused, tolerance, _sizes(residual))


def _sizes(x: FloatArray) -> FloatArray:
    """(frames, k): lengths of vectors (frames, k, 3); by component, which is faster than a norm over a short axis."""
    return np.sqrt(x[..., 0] ** 2 + x[..., 1] ** 2 + x[..., 2] ** 2)


def _shift(levels: list[_Level], frames: int) -> FloatArray:
    """(frames, 3) how far a marker is from its place in the cloud, m."""
    shift = np.zeros((frames, 3))
    for level in levels:
        shift[level.first : level.last + 1] = level.value
    return shift


# --- markers that moved -----------------------------------------------------------------------------------------------


def _stays(state: _State, case: _Case) -> BoolArray:
    """(k,): markers of which `_levels` finds no level, as is quickly seen of all of them at once.

    They are always at their places, and their medians over bins are within a standard deviation of their means
    (Hotelling and Solomons 1932): before and after no bin do these differ as levels do, and none is so far off.
    """
    at_place = ~(state.size >= np.minimum(state.tolerance, _ON_BODY_M)).any(axis=0)
    starts, x = np.flatnonzero(_begins(case.markers.times_s)), state.free.reshape(len(state.free), -1)
    known = np.isfinite(x)
    x = np.where(known, x, 0.0)
    count = np.add.reduceat(known, starts, axis=0, dtype=float)
    mean, square = (np.add.reduceat(y, starts, axis=0) / np.maximum(count, 1.0) for y in (x, x * x))
    std = np.sqrt(np.maximum(square - mean * mean, 0.0))
    bins, middle, width = (np.cumsum(y, axis=0) for y in (count > 0, mean, std))
    before, after = (np.where(n > 0, n, np.nan) for n in (bins, bins[-1] - bins))
    apart = np.abs(middle / before - (middle[-1] - middle) / after) + width / before + (width[-1] - width) / after
    apart, off = (np.nan_to_num(_sizes(y.reshape(len(y), -1, 3))).max(axis=0) for y in (apart, np.abs(mean) + std))
    return at_place & (apart < _SHARE_OF_STEP * case.scale.tolerance_m) & (off < state.tolerance)


def _levels(state: _State, known: list[list[_Level]], i: int, case: _Case) -> list[_Level]:
    """The lasting levels of a marker's residual, by frames, relative to its place; none where it has not moved."""
    shown = np.flatnonzero(np.isfinite(state.residual[:, i, 0]))
    if len(shown) == 0:
        return []
    frames, tolerance = len(state.residual), float(state.tolerance[i])
    r, t = state.residual[shown, i], case.markers.times_s[shown]
    good = state.size[shown, i] < _ON_BODY_M
    off = r - _shift(known[i], frames)[shown] if known[i] else r
    for first, stop, jump in _away(off, t, tolerance):
        if jump and t[stop - 1] - t[first] < _BRIEF_S:
            good[first:stop] = False
    free = np.where(good[:, None], state.free[shown, i], np.nan)
    bins = _binned(t, free, float(case.markers.times_s[0]))
    levels = _without_returns(_lasting(bins, tolerance, case.scale.tolerance_m), tolerance)
    sizes = [float(np.linalg.norm(level.value)) for level in levels]
    if max(sizes, default=0.0) < tolerance and len(levels) < 2:
        return []
    # The level nearest to the cloud's place is that place, unless none is near.
    base = levels[int(np.argmin(sizes))].value if min(sizes) < 0.5 * tolerance else np.zeros(3)
    firsts = [0, *(int(shown[level.first]) for level in levels[1:]), frames]
    return [_Level(a, b - 1, level.value - base) for (a, b), level in zip(pairwise(firsts), levels, strict=True)]


def _without_returns(levels: list[_Level], tolerance: float) -> list[_Level]:
    """Join levels between which a marker was away and came back: it did not move, it was a ghost or bent."""
    for k, (a, b) in enumerate(zip(levels, levels[2:], strict=False)):
        if np.linalg.norm(a.value - b.value) < 0.5 * tolerance:
            longer = a if a.last - a.first > b.last - b.first else b
            joined = [*levels[:k], _Level(a.first, b.last, longer.value), *levels[k + 3 :]]
            return _without_returns(joined, tolerance)
    return levels


def _report_moves(levels: list[_Level], i: int, case: _Case) -> list[Fault]:
    """A fault for each change of level."""
    times, faults = case.markers.times_s, list[Fault]()
    seen = clouds.known_points(case.markers.points[:, i]) if levels else np.zeros(0, dtype=bool)
    for before, after in list(zip([None, *levels], levels, strict=False))[len(levels) > 1 :]:
        was, start = before.value if before else np.zeros(3), float(times[after.first])
        by, when = after.value - was, "before the recording"
        if before is not None:
            earlier = np.flatnonzero(seen[: after.first])
            last_seen = float(times[earlier[-1]]) if len(earlier) else float(times[0])
            close = start - last_seen < 3 * case.step_s
            when = f"at {start:.2f} s" if close else f"between {last_seen:.2f} and {start:.2f} s"
        direction = ", ".join(f"{1e3 * v:+.1f}" for v in by)
        text = f"moved on the body by {{mm:.1f}} mm ({direction} mm in the cloud's axes) {when} and was carried back "
        count, interval = int(seen[after.first : after.last + 1].sum()), (start, float(times[after.last]))
        fault = case.fault("moved", [i], interval, count, float(np.linalg.norm(by)), f"{text}to its place")
        faults.append(replace(fault, before_m=was))
    return faults


def cloud_before(cloud: clouds.Cloud, faults: Collection[Fault]) -> clouds.Cloud:
    """The cloud with each marker that moved where it sat before its first move: roles were declared there."""
    points, done = cloud.points.copy(), set[str]()
    for fault in sorted(faults, key=lambda f: f.interval_s[0]):
        (name, *_) = fault.names
        if fault.before_m is not None and name in cloud.names and name not in done:
            points[cloud.names.index(name)] += fault.before_m
            done.add(name)
    return clouds.Cloud(cloud.names, points)


# --- ghosts and unsteady markers --------------------------------------------------------------------------------------


def _judge(state: _State, shift: FloatArray, i: int, case: _Case) -> tuple[BoolArray, list[Fault]]:
    """Where to hide a marker, and what is wrong with it beyond its moves."""
    hide, limit = np.zeros(len(shift), dtype=bool), float(state.tolerance[i])
    if not (state.size[:, i] > limit).any() and not shift.any():  # it is at its place throughout
        return hide, []
    residual = state.residual[:, i] - shift
    shown = np.flatnonzero(np.isfinite(residual[:, 0]))
    if len(shown) == 0:
        return hide, []
    r, t = residual[shown], case.markers.times_s[shown]
    ghost = np.zeros(len(r), dtype=bool)
    for first, stop, jump in _away(r, t, limit):
        ghost[first:stop] = jump
    size = np.linalg.norm(r, axis=1)
    # noise on top of a smaller deviation exceeds the limit here and there: a wandering marker does so on the average
    away = (size > limit) & (_course(r, t, ~ghost) > limit) & ~ghost
    between = np.zeros(len(t), dtype=bool)  # around a move, on the way from one place to the other: part of the move
    for k in np.flatnonzero((np.diff(shift[shown], axis=0) != 0).any(axis=1)):
        step = float(np.linalg.norm(shift[shown[k + 1]] - shift[shown[k]]))
        between |= (np.abs(t - t[k]) < _BRIEF_S) & (size < step)
    hide[shown[ghost | (away & between)]] = True
    faults = _report_ghosts(r, t, ghost & ~between, limit, i, case)
    wandering = np.flatnonzero(away & ~between)
    if len(wandering) >= 3:
        text = (
            "wanders off its place without a jump, by {mm:.1f} mm in {frames} frames between {start:.2f} and "
            "{end:.2f} s, and was left as it is: the body bends there or the marker is loose"
        )
        faults.append(case.away("unsteady", i, r, t, wandering, text))
    return hide, faults


def _away(r: FloatArray, t: FloatArray, limit: float) -> list[tuple[int, int, bool]]:
    """Stretches [first, stop) away from the place, and whether each began or ended faster than a body bends."""
    away = np.asarray(_sizes(r) > limit)

    def jumps(a: int, b: int) -> bool:
        """Whether the edge between a and b is a jump, and the frames on either side show it too, not noise alone."""
        if a < 0 or b == len(r):
            return False
        before, after = _beside(t, away, a, -1), _beside(t, away, b, 1)
        return all(
            bool(np.linalg.norm(step) > 0.5 * limit + 0.05 * passed)  # m/s: no part bends faster
            for step, passed in (
                (r[b] - r[a], t[b] - t[a]),
                (np.median(r[after], axis=0) - np.median(r[before], axis=0), t[after].mean() - t[before].mean()),
            )
        )

    return [(a, b, jumps(a - 1, a) or jumps(b - 1, b)) for a, b in runs(away)]


def _beside(t: FloatArray, away: BoolArray, k: int, step: int) -> robust.IntArray:
    """Frame k and the next ones in a direction that are on the same side of the limit, shortly before or after."""
    near = k + step * np.arange(5)
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


def _report_ghosts(r: FloatArray, t: FloatArray, ghost: BoolArray, limit: float, i: int, case: _Case) -> list[Fault]:
    """One fault per stretch; stretches with short breaks count as one, few single frames barely away for none."""
    stretches = _merged(ghost, t)
    barely = [len(at) == 1 and np.linalg.norm(r[at[0]]) < 2.0 * limit for at in stretches]
    left = [at for at, close in zip(stretches, barely, strict=True) if not close or sum(barely) > _MOST_SINGLE_GHOSTS]
    blinks = [at for at in left if t[at[-1]] - t[at[0]] < _BLINK_S]
    faults: list[Fault] = []
    if len(blinks) > _MOST_SINGLE_GHOSTS:
        left = [at for at in left if t[at[-1]] - t[at[0]] >= _BLINK_S]
        text = "flickers, {mm:.0f} mm off its place for a moment, " + f"{len(blinks)} times between "
        text += "{start:.2f} and {end:.2f} s ({frames} frames, hidden)"
        faults.append(case.away("ghost", i, r, t, np.concatenate(blinks), text))
    text = "{mm:.0f} mm off its place from {start:.2f} to {end:.2f} s ({frames} frames), a ghost that was hidden"
    return faults + [case.away("ghost", i, r, t, at, text) for at in left]


def _merged(mask: BoolArray, t: FloatArray) -> list[robust.IntArray]:
    """The samples of a mask, in groups that are apart in time and not merely interrupted."""
    at = np.flatnonzero(mask)
    breaks = 1 + np.flatnonzero((np.diff(at) > 1) & (np.diff(t[at]) >= _MERGE_S))
    return np.split(at, breaks) if len(at) else []


# --- exchanged labels -------------------------------------------------------------------------------------------------


def _report_swaps(exchanges: list[robust.Exchange], case: _Case) -> list[Fault]:
    """A fault per exchange; what follows shortly and is the same, or the part of it that can be seen, is one."""
    left, t, faults = list(exchanges), case.markers.times_s, list[Fault]()
    while same := [p for p in combinations(range(len(left)), 2) if _one_exchange(left[p[0]], left[p[1]], t)]:
        first, second = same[0]
        b, a = left.pop(second), left[first]
        wider = max(a, b, key=lambda e: len(e.pairs))
        left[first] = robust.Exchange(wider.markers, np.union1d(a.frames, b.frames), wider.pairs)
    text = "their labels are exchanged from {start:.2f} to {end:.2f} s ({frames} frames), which was corrected"
    for one in left:
        at, places = one.frames, case.cloud.points[list(one.markers)]
        apart = float(np.linalg.norm(places[:, None] - places[None], axis=2).max())
        interval = float(t[at[0]]), float(t[at[-1]])
        faults.append(case.fault("swapped", one.markers, interval, len(at), apart, text))
    return faults


def _one_exchange(a: robust.Exchange, b: robust.Exchange, t: FloatArray) -> bool:
    """Whether one is the other or a part of it, at the same time or shortly before or after."""
    if not (a.pairs <= b.pairs or b.pairs <= a.pairs):
        return False
    after = np.searchsorted(b.frames, a.frames)
    near = np.stack([(after - 1).clip(min=0), after.clip(max=len(b.frames) - 1)])
    return bool(np.abs(t[a.frames] - t[b.frames[near]]).min() < _MERGE_S)


# --- the cloud and the poses ------------------------------------------------------------------------------------------


def compare_clouds(
    static: clouds.Cloud,
    markers: clouds.Markers,
    *,
    but: Collection[str] = (),
    recorded: robust.Recorded | None = None,
) -> tuple[Fault, ...]:
    """Name the markers whose place in a static cloud is not where the recording itself has them.

    The recording's own robust mean gives the poses; the static cloud is laid on it by the markers that agree. A marker
    is named if it is elsewhere nine tenths of the time, by more than two recordings of one body differ (1 mm and
    0.1 % of its size) and twice the marker's own spread: one that moved, or bends to and fro, was at its place for a
    while. The markers in `but` take part and are not reported. recorded: the mean, where it is known.
    """
    chosen = clouds.select_markers(markers, static.names)
    if len(static.names) < 3 or not (chosen.seen.sum(axis=1) >= 3).any():
        return ()
    p = robust.some_frames(chosen.points)
    recorded = robust.Recorded.of(p, static.points, _LEAST_M) if recorded is None else recorded
    mean, scale = recorded.places, robust.Scale(recorded.spread_m, _LEAST_M)
    body = clouds.body_points(p, robust.robust_align(p, mean, scale).alignment)
    spread = clouds.nan_median(np.linalg.norm(body - clouds.nan_median(body, axis=0), axis=2), axis=0) / _CHI
    limit = robust.repeatable_m(mean) + 2.0 * np.nan_to_num(spread)
    away = np.linalg.norm(body - _laid_on(mean, static.points, limit), axis=2)
    off, near = clouds.nan_median(away, axis=0), clouds.nan_mean(np.where(np.isnan(away), np.nan, away < limit), axis=0)
    wrong = [int(i) for i in np.argsort(-off) if near[i] < _SELDOM_AT_PLACE and static.names[i] not in but]
    if not wrong:
        return ()
    t = chosen.times_s
    listed = ", ".join(f"{_short(static.names[i])} {1e3 * off[i]:.1f} mm" for i in wrong)
    text = f"it does not fit this recording: {listed} off, throughout"
    remedy = "take a static recording of the body as it is here, or the mean of this recording"
    finding = Finding("marker-static", text, "static cloud", remedy, Severity.FATAL)
    names, interval = tuple(static.names[i] for i in wrong), (float(t[0]), float(t[-1]))
    return (Fault("static", names, interval, len(t), float(off[wrong[0]]), finding),)


def _laid_on(mean: FloatArray, static: FloatArray, limit: FloatArray) -> FloatArray:
    """The static places (k, 3) in the frame of the recording's mean, by the majority that agrees, else by all."""
    fit = robust.without_outliers(static[None], mean, away_m=float(limit.min()), noise_m=0.0, pose_noise_m=0.0)
    if fit.used.sum() <= len(mean) / 2 or not fit.usable[0]:  # a few may agree by chance, or lie on a line
        fit = clouds.align(static[None], mean, noise_m=0.0)
    for _ in range(10):
        width = np.maximum(limit, float(np.median(fit.error)))
        fit = clouds.align(static[None], mean, 1 / (1 + (fit.error / width) ** 2) ** 2, noise_m=0.0)  # Geman-McClure
    return clouds.body_points(static[None], fit)[0]


def weak_orientation(fit: clouds.BodyFit) -> Fault | None:
    """The frames whose orientation the markers' noise leaves uncertain by more than half a degree."""
    t, turn = fit.poses.times_s, np.degrees(np.nan_to_num(fit.alignment.turn_std))
    at = np.flatnonzero(turn > _WEAK_DEG)
    if len(at) == 0:
        return None
    seconds = len(at) * (float(np.median(np.diff(t))) if len(t) > 1 else 0.0)
    start, end = float(t[at[0]]), float(t[at[-1]])
    text = (
        f"the orientation is uncertain by more than {_WEAK_DEG:g} deg (standard deviation, {turn[at].max():.1f} deg at "
        f"worst) for {seconds:.2f} s between {start:.2f} and {end:.2f} s: the markers seen there are few or lie "
        "close to a line"
    )
    return Fault("weak", fit.names, (start, end), len(at), float("nan"), Finding("marker-weak", text))


# --- levels of a series -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Bins:
    """Medians over half a second; one without enough good samples is left out."""

    times_s: FloatArray
    values: FloatArray
    starts: robust.IntArray
    """First sample of each bin."""
    t: FloatArray
    """Times of all samples."""
    x: FloatArray
    """The samples, NaN where they are of no use."""


def _lasting(bins: _Bins, away_m: float, least_m: float) -> list[_Level]:
    """Lasting levels, by samples, at least least_m apart; a single one counts if steady and beyond away_m from zero."""
    if len(bins.values) == 0:
        return []
    cuts = _cuts(bins, least_m, away_m)
    values = [np.median(bins.values[a:b], axis=0) for a, b in pairwise([0, *cuts, len(bins.values)])]
    if not cuts:
        scatter = np.median(np.linalg.norm(bins.values - values[0], axis=1))
        size = np.linalg.norm(values[0])
        if len(bins.values) < 2 or size < away_m or scatter > _STEADY_LEVEL * size:
            return []
    firsts = [0, *(_exact(bins, cut, *pair) for cut, pair in zip(cuts, pairwise(values), strict=True)), len(bins.x)]
    return [_Level(a, b - 1, v) for (a, b), v in zip(pairwise(firsts), values, strict=True)]


def _begins(t: FloatArray, start_s: float | None = None) -> BoolArray:
    """(samples,): whether a bin begins there; all markers have the same, from the first frame of the recording on."""
    number = np.floor((t - (t[0] if start_s is None else start_s)) / _BIN_S)
    return np.diff(number, prepend=-1.0) > 0


def _binned(t: FloatArray, x: FloatArray, start_s: float) -> _Bins:
    new = _begins(t, start_s)
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], len(x))
    # one row per bin, filled up with NaN: all medians at once
    which = np.cumsum(new) - 1
    rows = np.full((len(starts), int((ends - starts).max()), 3), np.nan)
    rows[which, np.arange(len(x)) - starts[which]] = x
    # What few samples say, most being in doubt, may be an error of the pose.
    known = np.isfinite(rows[:, :, 0]).sum(axis=1)
    use = np.flatnonzero(2 * known >= ends - starts)
    return _Bins(((t[starts] + t[ends - 1]) / 2)[use], clouds.nan_median(rows[use], axis=1), starts[use], t, x)


def _cuts(bins: _Bins, least_m: float, away_m: float) -> list[int]:
    """Bins at which a new level begins: cut wherever the means differ, then take back the cuts that are no steps."""
    cuts = _candidates(bins.values, 0, len(bins.values), least_m)
    if len(cuts) > 40:  # such a series has no levels
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
    if squares[best] < (_SHARE_OF_STEP * least_m) ** 2:
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
        fine &= bool(np.median(np.linalg.norm(side - level, axis=1)) <= _STEADY_LEVEL * size)
        # One bin alone proves a level only where the cloud says the same.
        fine &= len(side) > 1 or bool(np.linalg.norm(level) <= 0.5 * away_m)
    # A marker may creep to its new place; then both levels must last.
    return size, fine and (min(len(left), len(right)) >= 10 or _sudden(bins, cut, low, high))


def _exact(bins: _Bins, cut: int, before: FloatArray, after: FloatArray) -> int:
    """The sample at which the new level begins: the split of the two bins around the cut that leaves least over."""
    start = int(bins.starts[cut - 1])
    end = int(bins.starts[cut + 1]) if cut + 1 < len(bins.starts) else len(bins.x)
    part = bins.x[start:end]
    gain: FloatArray = np.nan_to_num(((part - before) ** 2).sum(axis=1) - ((part - after) ** 2).sum(axis=1))
    # The sum of what the old level explains better up to each split is smallest where the new one begins.
    return start + int(np.concatenate([[0.0], np.cumsum(gain)]).argmin())


def _sudden(bins: _Bins, cut: int, low: FloatArray, high: FloatArray) -> bool:
    """Whether the step happens within moments, or unseen."""
    known = np.flatnonzero(np.isfinite(bins.x[:, 0]))
    t, split = bins.t[known], int(np.searchsorted(known, _exact(bins, cut, low, high)))
    if split == 0 or split == len(known) or t[split] - t[split - 1] > 2 * _SUDDEN_S:
        return True
    a, b = np.searchsorted(t, [t[split - 1] - _SUDDEN_S, t[split] + _SUDDEN_S])
    step = np.median(bins.x[known[split:b]], axis=0) - np.median(bins.x[known[a:split]], axis=0)
    return bool(step @ (high - low) >= 0.6 * ((high - low) @ (high - low)))  # bending is slower
