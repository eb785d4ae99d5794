"""Faults: what is wrong with the markers of a body, in values and as findings."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal

import numpy as np

from palpate.findings import Finding, Severity
from palpate.motion.cloud import BodyFit, Cloud, Markers, body_points, nan_mean, nan_median, select_markers
from palpate.motion.rigid import align
from palpate.motion.robust import (
    Exchange,
    Scale,
    consistent,
    own_places,
    repeatable_m,
    robust_align,
    some_frames,
    typical_misfit,
)
from palpate.physics.arrays import BoolArray, FloatArray, runs

Kind = Literal["swapped", "ghost", "moved", "unsteady", "confused", "static", "weak"]
Vector = tuple[float, float, float]

_MERGE_S = 0.5
"""Two ghosts of one label closer than this are one."""
_BLINK_S = 0.1
_MANY = 3
"""Ghosts of one marker that last less than a blink are reported together where there are more than this."""
_BARELY = 2.0
"""A single frame closer than this many tolerances is hidden without a report, unless there are many."""
_SPREADS = 2.0
_LEAST_M = 3e-3
_ROUNDS = 10
_SELDOM = 0.1
"""Part of the time that a marker must have been at its place in a static cloud for that place to be right."""
_WEAK_DEG = 0.5


@dataclass(frozen=True, slots=True)
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
    shift_m: Vector | None = None
    """How far a marker moved on the body, in the cloud's axes; at the start of the interval."""
    before_m: Vector | None = None
    """Where a moved marker sat before the move, from its place in the cloud, in the cloud's axes."""


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One lasting value."""

    first: int
    """Its first sample."""
    last: int
    """Its last sample."""
    value: FloatArray
    """(3,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What every judgement needs."""

    markers: Markers
    cloud: Cloud
    scale: Scale

    def short(self, i: int) -> str:
        """A marker's name without the subject."""
        return self.cloud.names[i].rsplit(":", 1)[-1]

    @property
    def step_s(self) -> float:
        """Usual time between frames."""
        times = self.markers.times_s
        return float(np.median(np.diff(times))) if len(times) > 1 else 1.0

    def tolerance(self, r: FloatArray, t: FloatArray) -> float:
        """The body's tolerance, or more for a marker that is noisier than the others, m."""
        return max(self.scale.tolerance_m, 8 * _fast_noise(r, t))


def _fast_noise(r: FloatArray, t: FloatArray) -> float:
    """Noise of a coordinate from frame to frame, m, which neither bending nor a shift touches."""
    steps = np.diff(t)
    near = steps < 1.5 * np.median(steps) if len(steps) else np.zeros(0, dtype=bool)
    jumps = np.linalg.norm(np.diff(r, axis=0)[near], axis=1)
    return float(np.median(jumps)) / (1.538 * np.sqrt(2)) if len(jumps) else 0.0  # 1.538: median of chi, 3 degrees


def report_moves(levels: list[Level], i: int, case: Case) -> list[Fault]:
    """A fault for each change of level."""
    times, faults = case.markers.times_s, list[Fault]()
    if not levels:
        return faults
    seen = case.markers.seen[:, i]
    pairs = pairwise(levels) if len(levels) > 1 else [(None, level) for level in levels]
    for before, after in pairs:
        was = before.value if before else np.zeros(3)
        by = after.value - was
        size = float(np.linalg.norm(by))
        start = float(times[after.first])
        if before is None:
            when = "before the recording"
        else:
            earlier = np.flatnonzero(seen[: after.first])
            last_seen = float(times[earlier[-1]]) if len(earlier) else float(times[0])
            seen_to = start - last_seen < 3 * case.step_s
            when = f"at {start:.2f} s" if seen_to else f"between {last_seen:.2f} and {start:.2f} s"
        direction = ", ".join(f"{1e3 * v:+.1f}" for v in by)
        text = (
            f"moved on the body by {1e3 * size:.1f} mm ({direction} mm in the cloud's axes) {when} and was carried "
            "back to its place"
        )
        finding = Finding("marker-moved", text, case.short(i))
        count = int(seen[after.first : after.last + 1].sum())
        interval = (start, float(times[after.last]))
        faults.append(Fault("moved", (case.cloud.names[i],), interval, count, size, finding, _vector(by), _vector(was)))
    return faults


def _vector(x: FloatArray) -> Vector:
    return float(x[0]), float(x[1]), float(x[2])


def cloud_before(cloud: Cloud, faults: Collection[Fault]) -> Cloud:
    """The cloud with each marker that moved where it sat before its first move: roles were declared there."""
    points, done = cloud.points.copy(), set[str]()
    for fault in sorted(faults, key=lambda f: f.interval_s[0]):
        (name, *_) = fault.names
        if fault.before_m is not None and name in cloud.names and name not in done:
            points[cloud.names.index(name)] += fault.before_m
            done.add(name)
    return Cloud(cloud.names, points)


def report_ghosts(r: FloatArray, t: FloatArray, ghost: BoolArray, limit: FloatArray, i: int, case: Case) -> list[Fault]:
    """One fault per stretch; stretches with short breaks count as one, few single frames barely away for none."""
    faults: list[Fault] = []
    stretches = _merged(runs(ghost), t)
    barely = [(a, b) for a, b in stretches if a + 1 == b and np.linalg.norm(r[a]) < _BARELY * limit[a]]
    if len(barely) <= _MANY:
        stretches = [stretch for stretch in stretches if stretch not in barely]
    blinks = [(a, b) for a, b in stretches if t[b - 1] - t[a] < _BLINK_S]
    if len(blinks) > _MANY:
        stretches = [stretch for stretch in stretches if stretch not in blinks]
        faults.append(_blinks(r, t, ghost, blinks, i, case))
    for first, stop in stretches:
        part, interval = slice(first, stop), (float(t[first]), float(t[stop - 1]))
        size, count = float(np.median(np.linalg.norm(r[part][ghost[part]], axis=1))), int(ghost[part].sum())
        text = (
            f"{1e3 * size:.0f} mm off its place from {interval[0]:.2f} to {interval[1]:.2f} s ({count} frames), a "
            "ghost that was hidden"
        )
        finding = Finding("marker-ghost", text, case.short(i))
        faults.append(Fault("ghost", (case.cloud.names[i],), interval, count, size, finding))
    return faults


def _blinks(
    r: FloatArray, t: FloatArray, ghost: BoolArray, stretches: list[tuple[int, int]], i: int, case: Case
) -> Fault:
    """One fault for many moments."""
    at = np.concatenate([a + np.flatnonzero(ghost[a:b]) for a, b in stretches])
    start, end, size = float(t[at[0]]), float(t[at[-1]]), float(np.median(np.linalg.norm(r[at], axis=1)))
    text = (
        f"flickers, {1e3 * size:.0f} mm off its place for a moment, {len(stretches)} times between {start:.2f} and "
        f"{end:.2f} s ({len(at)} frames, hidden)"
    )
    finding = Finding("marker-ghost", text, case.short(i))
    return Fault("ghost", (case.cloud.names[i],), (start, end), len(at), size, finding)


def report_unsteady(r: FloatArray, t: FloatArray, away: BoolArray, i: int, case: Case) -> Fault:
    """A marker that wanders off without a jump."""
    at = np.flatnonzero(away)
    start, end, size = float(t[at[0]]), float(t[at[-1]]), float(np.median(np.linalg.norm(r[away], axis=1)))
    text = (
        f"wanders off its place without a jump, by {1e3 * size:.1f} mm in {len(at)} frames between {start:.2f} and "
        f"{end:.2f} s, and was left as it is: the body bends there or the marker is loose"
    )
    finding = Finding("marker-unsteady", text, case.short(i))
    return Fault("unsteady", (case.cloud.names[i],), (start, end), len(at), size, finding)


def report_swaps(exchanges: list[Exchange], case: Case) -> list[Fault]:
    """A fault per exchange; what follows shortly and is the same, or the part of it that can be seen, is one."""
    left, t = list(exchanges), case.markers.times_s
    merging = True
    while merging:
        merging = False
        for a, b in combinations(range(len(left)), 2):
            if _one_exchange(left[a], left[b], t):
                wider = max(left[a], left[b], key=lambda e: len(e.pairs))
                left[a] = Exchange(wider.markers, np.union1d(left[a].frames, left[b].frames), wider.pairs)
                del left[b]
                merging = True
                break
    return [_report_swap(exchange, case) for exchange in left]


def _one_exchange(a: Exchange, b: Exchange, t: FloatArray) -> bool:
    """Whether one is the other or a part of it, at the same time or shortly before or after."""
    if not (a.pairs <= b.pairs or b.pairs <= a.pairs):
        return False
    after = np.searchsorted(b.frames, a.frames)
    near = np.stack([(after - 1).clip(min=0), after.clip(max=len(b.frames) - 1)])
    return bool(np.abs(t[a.frames] - t[b.frames[near]]).min() < _MERGE_S)


def _report_swap(exchange: Exchange, case: Case) -> Fault:
    """Markers that bear each other's labels."""
    at, group = exchange.frames, exchange.markers
    start, end = float(case.markers.times_s[at[0]]), float(case.markers.times_s[at[-1]])
    names = [case.short(i) for i in group]
    apart = max(float(np.linalg.norm(case.cloud.points[i] - case.cloud.points[j])) for i in group for j in group)
    text = f"they bear each other's labels from {start:.2f} to {end:.2f} s ({len(at)} frames), which was put right"
    finding = Finding("marker-swapped", text, f"{', '.join(names[:-1])} and {names[-1]}")
    return Fault("swapped", tuple(case.cloud.names[i] for i in group), (start, end), len(at), apart, finding)


def report_confused(confused: BoolArray, case: Case) -> list[Fault]:
    """Stretches in which the markers make no body."""
    faults: list[Fault] = []
    t = case.markers.times_s
    for first, stop in _merged(runs(confused), t):
        start, end, count = float(t[first]), float(t[stop - 1]), int(confused[first:stop].sum())
        text = (
            f"no majority of the markers fits the cloud from {start:.2f} to {end:.2f} s ({count} frames); all were "
            "hidden there"
        )
        finding = Finding("marker-confused", text)
        faults.append(Fault("confused", case.cloud.names, (start, end), count, float("nan"), finding))
    return faults


def compare_clouds(static: Cloud, markers: Markers, *, but: Collection[str] = ()) -> tuple[Fault, ...]:
    """Name the markers whose place in a static cloud is not where the recording itself has them.

    The recording's own robust mean gives the poses; the static cloud is laid on it by the markers that agree. A marker
    is named if it is elsewhere nine tenths of the time, by more than two recordings of one body differ (1 mm and
    0.1 % of its size) and twice the marker's own spread: one that moved, or bends to and fro, was at its place for a
    while. The markers in `but` take part and are not reported.
    """
    chosen = select_markers(markers, static.names)
    if len(static.names) < 3 or not (chosen.seen.sum(axis=1) >= 3).any():
        return ()
    p = some_frames(chosen.points)
    mean_places = own_places(p, static.points)
    scale = Scale(typical_misfit(p, mean_places, _LEAST_M), _LEAST_M)
    body = body_points(p, robust_align(p, mean_places, scale, 1).alignment)
    spread = nan_median(np.linalg.norm(body - nan_median(body, axis=0), axis=2), axis=0) / 1.538
    limit = repeatable_m(mean_places) + _SPREADS * np.nan_to_num(spread)
    away = np.linalg.norm(body - _laid_on(mean_places, static.points, limit), axis=2)
    off, near = nan_median(away, axis=0), nan_mean(np.where(np.isnan(away), np.nan, away < limit), axis=0)
    wrong = [int(i) for i in np.argsort(-off) if near[i] < _SELDOM and static.names[i] not in but]
    if not wrong:
        return ()
    t = chosen.times_s
    listed = ", ".join(f"{static.names[i].rsplit(':', 1)[-1]} {1e3 * off[i]:.1f} mm" for i in wrong)
    text = f"it does not fit this recording: {listed} off, throughout"
    remedy = "take a static recording of the body as it is here, or the mean of this recording"
    finding = Finding("marker-static", text, "static cloud", remedy, Severity.FATAL)
    names, interval = tuple(static.names[i] for i in wrong), (float(t[0]), float(t[-1]))
    return (Fault("static", names, interval, len(t), float(off[wrong[0]]), finding),)


def _laid_on(mean_places: FloatArray, static: FloatArray, limit: FloatArray) -> FloatArray:
    """The static places (k, 3) in the frame of the recording's own, by the majority that agrees, else by all."""
    agree = consistent(static[None], mean_places, float(np.sqrt(2.0) * limit.min()))
    fit = align(static[None], mean_places, agree.astype(float), noise_m=0.0)
    if agree.sum() <= len(mean_places) / 2 or not fit.usable[0]:  # a few may agree by chance, or lie on a line
        fit = align(static[None], mean_places, noise_m=0.0)
    for _ in range(_ROUNDS):
        width = np.maximum(limit, float(np.median(fit.error)))
        fit = align(static[None], mean_places, 1 / (1 + (fit.error / width) ** 2) ** 2, noise_m=0.0)  # Geman-McClure
    return body_points(static[None], fit)[0]


def weak_orientation(fit: BodyFit, limit_deg: float = _WEAK_DEG) -> Fault | None:
    """The frames whose orientation the markers' noise leaves uncertain by more than limit_deg (standard deviation)."""
    t, turn = fit.poses.times_s, np.degrees(np.nan_to_num(fit.turn_std_rad))
    at = np.flatnonzero(turn > limit_deg)
    if len(at) == 0:
        return None
    seconds = len(at) * (float(np.median(np.diff(t))) if len(t) > 1 else 0.0)
    start, end = float(t[at[0]]), float(t[at[-1]])
    text = (
        f"the orientation is uncertain by more than {limit_deg:g} deg (standard deviation, {turn[at].max():.1f} deg at "
        f"worst) for {seconds:.2f} s between {start:.2f} and {end:.2f} s: the markers seen there are few or lie "
        "close to a line"
    )
    return Fault("weak", fit.names, (start, end), len(at), float("nan"), Finding("marker-weak", text))


def _merged(stretches: list[tuple[int, int]], t: FloatArray) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, stop in stretches:
        if merged and t[first] - t[merged[-1][1] - 1] < _MERGE_S:
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((first, stop))
    return merged
