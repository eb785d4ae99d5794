"""Exchanged labels: points that sit at the places of other markers, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.motion.rigid import BoolArray, known_points
from palpate.motion.robust import IntArray, RobustFit, Scale
from palpate.physics.arrays import FloatArray

_FEW = 3
"""Frames below which one label at another marker's place, alone, may be chance."""
_BLOCK = 65536
_LOOSE, _LOOSEST_M = 0.35, 15e-3
"""How far from each other's places two exchanged points may be: part of the places' distance, and at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """Markers that bear each other's labels during a stretch."""

    markers: tuple[int, ...]
    frames: IntArray
    """Those in which any of the markers was seen."""


def relabelled(points: FloatArray, places: IntArray) -> FloatArray:
    """Points (frames, k, 3) under the labels `places` (frames, k); -1 hides a point, labels left over are NaN."""
    moved = points.copy()
    changed = np.flatnonzero((places != np.arange(int(places.shape[1]))).any(axis=1))
    moved[changed] = np.nan
    row, marker = np.nonzero((places[changed] >= 0) & known_points(points[changed]))
    frame = changed[row]
    moved[frame, places[frame, marker]] = points[frame, marker]
    return moved


def other_places(points: FloatArray, cloud: FloatArray, scale: Scale, fit: RobustFit) -> IntArray:
    """(frames, k) to whose place each label's point belongs; -1 for a point whose place another one took.

    A point that is away from its own place belongs to another's if it lies there and that marker is hidden or away.
    """
    places = fit.places.copy()
    seen = known_points(points)
    own = (places == np.arange(len(cloud))).all(axis=1)  # frames that exchanges explained already are done
    away = seen & fit.alignment.usable[:, None] & ~fit.sound & own[:, None]
    frames = np.flatnonzero(away.any(axis=1))
    for at in np.array_split(frames, 1 + len(frames) * len(cloud) // _BLOCK):
        rotation, position = fit.alignment.rotation[at], fit.alignment.position[at]
        body = (points[at] - position[:, None]) @ rotation
        places[at] = _claimed(body, cloud, scale, seen[at], away[at])
    return places


def _claimed(body: FloatArray, cloud: FloatArray, scale: Scale, seen: BoolArray, away: BoolArray) -> IntArray:
    """Places of the points (frames, k, 3), in the cloud's frame, that are away from their own."""
    n, k = int(seen.shape[0]), int(seen.shape[1])
    row, column = np.arange(n)[:, None], np.arange(k)[None]
    distance = np.linalg.norm(body[:, :, None] - cloud[None, None], axis=3)
    own = distance[:, np.arange(k), np.arange(k)]
    distance[np.isnan(distance)] = np.inf
    distance = np.where((away | ~seen)[:, None, :], distance, np.inf)  # only places that are free
    distance[:, np.arange(k), np.arange(k)] = np.inf
    to = distance.argmin(axis=2)
    gap = distance[row, column, to]
    claims = away & (gap < 0.5 * own)
    # Two points in each other's places prove each other, also if one of the markers has moved a little.
    apart = np.linalg.norm(cloud[:, None] - cloud[None], axis=2)[column, to]
    near = gap < np.maximum(scale.tolerance_m, np.minimum(_LOOSE * apart, _LOOSEST_M))
    mutual = claims[row, to] & (to[row, to] == column) & near & near[row, to]
    sure = claims & ((gap < scale.tolerance_m) | mutual)
    # Of two that claim one place the nearer gets it.
    bids = np.where(sure[:, :, None] & (to[:, :, None] == column[None]), gap[:, :, None], np.inf)
    sure &= bids.argmin(axis=1)[row, to] == column
    places = np.where(sure, to, column)
    # A point whose place was taken, and that has no other, is nowhere.
    frame, marker = np.nonzero(sure)
    taken = np.zeros((n, k), dtype=bool)
    taken[frame, to[frame, marker]] = True
    places[taken & ~sure] = -1
    return places


def believed_exchanges(places: IntArray, seen: BoolArray) -> tuple[IntArray, list[Exchange]]:
    """The places without those that may be chance, and the exchanges, one per set of markers and stretch of time."""
    places = places.copy()
    identity = np.arange(int(places.shape[1]))
    changed = np.flatnonzero(((places != identity) & (places >= 0)).any(axis=1))
    exchanges: list[Exchange] = []
    if len(changed) == 0:
        return places, exchanges
    patterns, which = np.unique(places[changed], axis=0, return_inverse=True)
    frames_of: dict[tuple[int, ...], list[IntArray]] = {}
    for number, pattern in enumerate(patterns):
        for group in _groups(pattern):
            frames_of.setdefault(group, []).append(changed[which.ravel() == number])
    for group, lists in sorted(frames_of.items()):
        active = np.zeros(len(places), dtype=bool)
        active[np.concatenate(lists)] = True
        shown = np.flatnonzero(active | seen[:, group].any(axis=1))
        for first, last in runs(active[shown]):
            at = shown[first : last + 1]
            proven = ((places[at][:, group] >= 0) & seen[at][:, group]).sum(axis=1).max() > 1
            if len(at) < _FEW and not proven:
                places[at[:, None], group] = group
            else:
                exchanges.append(Exchange(group, at))
    return places, exchanges


def _groups(pattern: IntArray) -> list[tuple[int, ...]]:
    """Sets of markers among which a pattern exchanges labels."""
    parent = list(range(len(pattern)))

    def root(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    for i, to in enumerate(pattern.tolist()):
        if to >= 0:
            parent[root(i)] = root(to)
    sets: dict[int, list[int]] = {}
    for i in range(len(pattern)):
        sets.setdefault(root(i), []).append(i)
    return [tuple(members) for members in sets.values() if len(members) > 1]


def runs(active: BoolArray) -> list[tuple[int, int]]:
    """First and last index of each stretch of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], active, [False]]).astype(np.int8)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
