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
    pairs: frozenset[tuple[int, int]] = frozenset()
    """Which label was seen at which marker's place."""


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
    # Points in each other's places prove each other, also if one of the markers has moved a little.
    apart = np.linalg.norm(cloud[:, None] - cloud[None], axis=2)[column, to]
    near = claims & (gap < np.maximum(scale.tolerance_m, np.minimum(_LOOSE * apart, _LOOSEST_M)))
    sure = (claims & (gap < scale.tolerance_m)) | _circles(to, near)
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


def _circles(to: IntArray, near: BoolArray) -> BoolArray:
    """(n, k) whether the way from a point to where it lies, on to where that label lies, and so on, returns."""
    k = int(to.shape[1])
    row, column = np.arange(len(to))[:, None], np.arange(k)[None]
    closed, whole, here = np.zeros_like(near), near.copy(), to
    for _ in range(k - 1):
        whole &= near[row, here]
        here = to[row, here]
        closed |= whole & (here == column)
    return closed


def believed_exchanges(
    places: IntArray, seen: BoolArray, home: BoolArray | None = None, longest: int = 0
) -> tuple[IntArray, list[Exchange]]:
    """The places without those that may be chance, and the exchanges, one per set of markers and stretch of time.

    home (frames, k): markers known to be at their own places; where none is given, all that were seen. Up to so many
    frames (`longest`) that tell neither belong to the exchange before and after them.
    """
    places = places.copy()
    home = seen if home is None else home
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
    certain: list[Exchange] = []
    doubtful: list[Exchange] = []
    for group, lists in sorted(frames_of.items()):
        active = np.zeros(len(places), dtype=bool)
        active[np.concatenate(lists)] = True
        shown = np.flatnonzero(active | seen[:, group].any(axis=1))
        silent = _silent(active[shown], np.asarray(home[shown][:, group].any(axis=1)), longest)
        for first, last in runs(active[shown] | silent):
            at = shown[first : last + 1]
            sure = at[active[at]]
            proven = ((places[sure][:, group] >= 0) & seen[sure][:, group]).sum(axis=1).max() > 1
            found = Exchange(group, at, _pairs(places[sure], seen[sure], group))
            (certain if proven or len(sure) >= _FEW else doubtful).append(found)
    for one in doubtful:
        if any(one.pairs <= other.pairs and _gap(one, other) <= longest for other in certain):
            exchanges.append(one)
        else:
            places[one.frames[:, None], one.markers] = one.markers
    for one in certain:
        _fill(places, one)
    return places, certain + exchanges


def _gap(a: Exchange, b: Exchange) -> int:
    """Frames between two exchanges; not more than zero where they overlap."""
    return int(max(a.frames[0] - b.frames[-1], b.frames[0] - a.frames[-1]))


def _silent(active: BoolArray, home: BoolArray, longest: int) -> BoolArray:
    """Frames between two of an exchange, few, none of which shows one of its markers at home."""
    silent = np.zeros(len(active), dtype=bool)
    for first, last in runs(~active):
        inner = first > 0 and last < len(active) - 1
        if inner and last - first < longest and not home[first : last + 1].any():
            silent[first : last + 1] = True
    return silent


def _pairs(places: IntArray, seen: BoolArray, group: tuple[int, ...]) -> frozenset[tuple[int, int]]:
    """Which labels of a group were seen at which other places."""
    return frozenset((i, int(to)) for i in group for to in np.unique(places[seen[:, i], i]) if to not in (i, -1))


def _fill(places: IntArray, exchange: Exchange) -> None:
    """Exchange the labels also in those frames of an exchange that do not tell, if its pairs are one permutation."""
    group, to = exchange.markers, dict(exchange.pairs)
    if len(to) == len(exchange.pairs) == len(group) and sorted(to.values()) == list(group):
        own = exchange.frames[(places[exchange.frames][:, group] == group).all(axis=1)]
        places[own[:, None], group] = [to[i] for i in group]


def whole_exchanges(places: IntArray) -> list[IntArray]:
    """The permutations (k,) of which rows of places (frames, k) show a part: chains of labels, closed to circles."""
    k = int(places.shape[1])
    found: set[tuple[int, ...]] = set()
    patterns, counts = np.unique(places, axis=0, return_counts=True)
    for pattern in patterns[counts >= _FEW].tolist():
        to = {i: place for i, place in enumerate(pattern) if place not in (i, -1)}
        for first in set(to) - set(to.values()):
            last = to[first]
            while last in to:
                last = to[last]
            to[last] = first
        whole = tuple(to.get(i, i) for i in range(k))
        if to and len(set(whole)) == k:
            found.add(whole)
    return [np.array(whole) for whole in sorted(found)]


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
