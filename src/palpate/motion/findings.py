"""Findings: what is wrong with the markers of a body, in values and in sentences."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from palpate.motion.cloud import Cloud
from palpate.motion.exchanged import Exchange, runs
from palpate.motion.markers import Markers
from palpate.motion.rigid import BoolArray
from palpate.motion.robust import Scale
from palpate.motion.steps import Level
from palpate.physics.arrays import FloatArray

Kind = Literal["swapped", "ghost", "moved", "unsteady", "confused"]

_MERGE_S = 0.5
"""Two ghosts of one label closer than this are one."""
_BLINK_S = 0.1
_MANY = 3
"""More than so many ghosts of a marker that last less than a blink are reported together."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: what, which markers, when, by how much, and a sentence that says so."""

    kind: Kind
    names: tuple[str, ...]
    interval_s: tuple[float, float]
    """First and last frame of it, s."""
    frames: int
    """Frames in which it shows."""
    size_m: float
    """How far the points are from where they should be: the median, and the shift of a marker that moved."""
    sentence: str


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


def report_moves(levels: list[Level], i: int, case: Case) -> list[Finding]:
    """A finding for each change of level."""
    times, found = case.markers.times_s, list[Finding]()
    if not levels:
        return found
    seen = case.markers.seen[:, i]
    pairs = pairwise(levels) if len(levels) > 1 else [(None, level) for level in levels]
    for before, after in pairs:
        by = after.value - (before.value if before else 0.0)
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
            f"{case.short(i)} moved on the body by {1e3 * size:.1f} mm ({direction} mm in the cloud's axes) {when}; "
            "carried back to its place"
        )
        count = int(seen[after.first : after.last + 1].sum())
        found.append(Finding("moved", (case.cloud.names[i],), (start, float(times[after.last])), count, size, text))
    return found


def report_ghosts(r: FloatArray, t: FloatArray, ghost: BoolArray, i: int, case: Case) -> list[Finding]:
    """One finding per stretch; stretches with short breaks count as one."""
    found: list[Finding] = []
    stretches = _merged(runs(ghost), t)
    blinks = [(a, b) for a, b in stretches if t[b] - t[a] < _BLINK_S]
    if len(blinks) > _MANY:
        stretches = [stretch for stretch in stretches if stretch not in blinks]
        found.append(_blinks(r, t, ghost, blinks, i, case))
    for first, last in stretches:
        part = slice(first, last + 1)
        size, count = float(np.median(np.linalg.norm(r[part][ghost[part]], axis=1))), int(ghost[part].sum())
        text = (
            f"{case.short(i)} is {1e3 * size:.0f} mm off its place from {t[first]:.2f} to {t[last]:.2f} s "
            f"({count} frames), a ghost; hidden there"
        )
        found.append(Finding("ghost", (case.cloud.names[i],), (float(t[first]), float(t[last])), count, size, text))
    return found


def _blinks(
    r: FloatArray, t: FloatArray, ghost: BoolArray, stretches: list[tuple[int, int]], i: int, case: Case
) -> Finding:
    """One finding for many moments."""
    at = np.concatenate([a + np.flatnonzero(ghost[a : b + 1]) for a, b in stretches])
    start, end, size = float(t[at[0]]), float(t[at[-1]]), float(np.median(np.linalg.norm(r[at], axis=1)))
    text = (
        f"{case.short(i)} flickers: {1e3 * size:.0f} mm off its place for a moment, {len(stretches)} times between "
        f"{start:.2f} and {end:.2f} s ({len(at)} frames); hidden there"
    )
    return Finding("ghost", (case.cloud.names[i],), (start, end), len(at), size, text)


def report_unsteady(r: FloatArray, t: FloatArray, away: BoolArray, i: int, case: Case) -> Finding:
    """A marker that wanders off without a jump."""
    at = np.flatnonzero(away)
    start, end, size = float(t[at[0]]), float(t[at[-1]]), float(np.median(np.linalg.norm(r[away], axis=1)))
    text = (
        f"{case.short(i)} wanders off its place without a jump, by {1e3 * size:.1f} mm in {len(at)} frames between "
        f"{start:.2f} and {end:.2f} s: the body bends there or the marker is loose; left as it is"
    )
    return Finding("unsteady", (case.cloud.names[i],), (start, end), len(at), size, text)


def report_swap(exchange: Exchange, case: Case) -> Finding:
    """Markers that bear each other's labels."""
    at, group = exchange.frames, exchange.markers
    start, end = float(case.markers.times_s[at[0]]), float(case.markers.times_s[at[-1]])
    names = [case.short(i) for i in group]
    apart = max(float(np.linalg.norm(case.cloud.points[i] - case.cloud.points[j])) for i in group for j in group)
    text = (
        f"{', '.join(names[:-1])} and {names[-1]} bear each other's labels from {start:.2f} to {end:.2f} s "
        f"({len(at)} frames); put right"
    )
    return Finding("swapped", tuple(case.cloud.names[i] for i in group), (start, end), len(at), apart, text)


def report_confused(confused: BoolArray, case: Case) -> list[Finding]:
    """Stretches in which the markers make no body."""
    found: list[Finding] = []
    t = case.markers.times_s
    for first, last in _merged(runs(confused), t):
        start, end, count = float(t[first]), float(t[last]), int(confused[first : last + 1].sum())
        text = (
            f"no majority of the markers fits the cloud from {start:.2f} to {end:.2f} s ({count} frames); "
            "all hidden there"
        )
        found.append(Finding("confused", case.cloud.names, (start, end), count, float("nan"), text))
    return found


def _merged(stretches: list[tuple[int, int]], t: FloatArray) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in stretches:
        if merged and t[first] - t[merged[-1][1]] < _MERGE_S:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged
