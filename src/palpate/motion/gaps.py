"""Gaps: hidden markers from the rest of their body, short losses of all by spline, longer ones left and reported."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from palpate.motion.cloud import Cloud, body_points
from palpate.motion.exchanged import runs
from palpate.motion.markers import Markers
from palpate.motion.rigid import BoolArray, align, known_points
from palpate.physics.arrays import FloatArray

LONGEST_SPLINE_S = 0.1
_BESIDE_S = 0.05
"""Seconds beside a gap over which a marker's distance from its place is averaged."""
_KNOTS = 8
"""Samples on each side that a spline needs at most: farther ones do not bend it."""


class Source(IntEnum):
    """Where a point comes from."""

    SEEN = 0
    BODY = 1
    """The pose of the body, from its other markers."""
    SPLINE = 2
    """A cubic spline through the samples before and after."""
    HIDDEN = 3
    """Nowhere: it stays NaN."""


@dataclass(frozen=True, slots=True)
class MarkerGaps:
    """The gaps of one marker and what became of them."""

    name: str
    gaps: int
    longest_s: float
    """From the last frame before to the first after the longest gap."""
    from_body: int
    """Frames filled from the body's other markers, ..."""
    by_spline: int
    """... by a spline, ..."""
    left: int
    """... and not at all."""


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """Markers without the gaps that could be filled."""

    markers: Markers
    source: NDArray[np.int8]
    """(frames, markers) a `Source`."""
    usable: tuple[tuple[float, float], ...]
    """Half-open intervals (s) without a break, in which the pose of the body is known; with no cloud, all markers."""
    report: tuple[MarkerGaps, ...]
    step_s: float

    def seconds(self, source: Source) -> float:
        """Time that all markers together took from this source, s."""
        return float((self.source == source).sum() * self.step_s)

    def sentence(self) -> str:
        """What was filled, in words."""
        body, spline, left = (int((self.source == s).sum()) for s in (Source.BODY, Source.SPLINE, Source.HIDDEN))
        if body + spline + left == 0:
            return "no marker was hidden"
        longest = max(self.report, key=lambda r: r.longest_s)
        return (
            f"{body + spline + left} points of {self.source.size} were hidden: {body} filled from the body's other "
            f"markers, {spline} by spline, {left} left; longest gap {longest.longest_s:.2f} s ({longest.name}); "
            f"{len(self.usable)} usable stretch{'es' if len(self.usable) != 1 else ''}"
        )


def fill_gaps(
    markers: Markers,
    cloud: Cloud | None = None,
    *,
    longest_spline_s: float = LONGEST_SPLINE_S,
    noise_m: float | None = None,
) -> Filled:
    """Fill what was hidden, first from the body, then by splines over gaps of at most longest_spline_s.

    Where the pose is known, a hidden marker of the cloud is at R c + r plus its own distance from its place, which goes
    in a straight line (in the body) from before the gap to after it: nothing jumps. Where it is not, and for markers
    that the cloud does not have, a cubic spline bridges the gap if it is short. What is left splits the recording:
    `usable` says into which intervals. noise_m, of a marker's coordinate, says which poses are known (`align`).
    """
    times, points, seen = markers.times_s, markers.points.copy(), markers.seen
    known = seen.all(axis=1)
    points[~seen] = np.nan
    source = np.where(seen, Source.SEEN, Source.HIDDEN).astype(np.int8)
    step = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    places = cloud.places(markers.names) if cloud is not None else np.full((len(markers.names), 3), np.nan)
    _from_body(times, points, places, source, noise_m)
    # A marker whose own gap is short may restore the pose, and that gives the others; then what is short by now.
    for from_seen in (True, False):
        for i in range(len(markers.names)):
            _by_spline(times, points[:, i], source[:, i], longest_spline_s, from_seen=from_seen)
        known = _from_body(times, points, places, source, noise_m)
    if cloud is None:
        known = np.asarray(known_points(points).all(axis=1))
    report = tuple(_report(name, times, seen[:, i], source[:, i]) for i, name in enumerate(markers.names))
    usable = _intervals(times, known, max(longest_spline_s, 1.5 * step), step)
    return Filled(Markers(markers.names, times, points), source, usable, report, step)


def _from_body(
    times: FloatArray, points: FloatArray, places: FloatArray, source: NDArray[np.int8], noise_m: float | None
) -> BoolArray:
    """Fill the cloud's markers where the pose is known, in place; returns where it is."""
    fit = align(points, places, noise_m=noise_m)
    offset = body_points(points, fit) - places
    for i in np.flatnonzero(np.isfinite(places[:, 0])):
        at = np.flatnonzero(fit.usable & (source[:, i] == Source.HIDDEN))
        if len(at):
            body = places[i] + _blended(times, offset[:, i], at)
            points[at, i] = np.einsum("nij,nj->ni", fit.rotation[at], body) + fit.position[at]
            source[at, i] = Source.BODY
    return fit.usable


def _blended(times: FloatArray, offset: FloatArray, at: NDArray[np.int64]) -> FloatArray:
    """(at, 3) a marker's offset from its place (frames, 3) over its gaps: means beside them, straight between."""
    there = np.flatnonzero(np.isfinite(offset[:, 0]))
    if len(there) == 0:
        return np.zeros((len(at), 3))
    t, x = times[there], offset[there]
    total = np.concatenate([np.zeros((1, 3)), np.cumsum(x, axis=0)])
    after = np.searchsorted(there, at)
    last, first = np.maximum(after - 1, 0), np.minimum(after, len(there) - 1)
    # the mean over a moment before the gap, and over one after it
    low = np.searchsorted(t, t[last] - _BESIDE_S)
    high = np.searchsorted(t, t[first] + _BESIDE_S, side="right")
    before = (total[last + 1] - total[low]) / (last + 1 - low)[:, None]
    behind = (total[high] - total[first]) / (high - first)[:, None]
    span = t[first] - t[last]
    part = np.clip((times[at] - t[last]) / np.where(span > 0, span, 1.0), 0.0, 1.0)
    part = np.where(after == 0, 1.0, np.where(after == len(there), 0.0, part))
    return before + part[:, None] * (behind - before)


def _by_spline(
    times: FloatArray, x: FloatArray, source: NDArray[np.int8], longest_s: float, *, from_seen: bool
) -> None:
    """Bridge the short gaps of one marker (frames, 3), in place; with from_seen, only those between seen samples."""
    from scipy.interpolate import CubicSpline

    there = np.isfinite(x[:, 0])
    known = np.flatnonzero(there)
    for first, last in runs(~there):
        if first == 0 or last == len(x) - 1 or times[last + 1] - times[first - 1] > longest_s + 1e-9:
            continue
        if from_seen and (source[first - 1] != Source.SEEN or source[last + 1] != Source.SEEN):
            continue
        place = int(np.searchsorted(known, first))
        beside = known[max(place - _KNOTS, 0) : place + _KNOTS]
        # samples from beyond another gap that is too long say nothing here
        beside = beside[np.abs(times[beside] - times[first]) < 2 * longest_s + times[last] - times[first]]
        if len(beside) >= 4:
            x[first : last + 1] = CubicSpline(times[beside], x[beside])(times[first : last + 1])
            source[first : last + 1] = Source.SPLINE


def _report(name: str, times: FloatArray, seen: BoolArray, source: NDArray[np.int8]) -> MarkerGaps:
    stretches = runs(~seen)
    lengths = [float(times[min(b + 1, len(times) - 1)] - times[max(a - 1, 0)]) for a, b in stretches]
    counts = [int((source == s).sum()) for s in (Source.BODY, Source.SPLINE, Source.HIDDEN)]
    return MarkerGaps(name, len(stretches), max(lengths, default=0.0), *counts)


def _intervals(times: FloatArray, known: BoolArray, longest_s: float, step_s: float) -> tuple[tuple[float, float], ...]:
    """Half-open intervals (s) of frames that are known and follow each other without a longer break."""
    found: list[tuple[float, float]] = []
    for first, last in runs(known):
        breaks = first + 1 + np.flatnonzero(np.diff(times[first : last + 1]) > longest_s)
        for a, b in zip([first, *breaks.tolist()], [*breaks.tolist(), last + 1], strict=True):
            found.append((float(times[a]), float(times[b - 1] + step_s)))
    return tuple(found)
