"""Robust alignment: poses that markers at wrong places do not spoil, and which markers those are.

Points may be away from their places, or at those of other markers because labels were exchanged; where the set of
markers is symmetric, exchanged labels fit and only the body seems to turn over.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from palpate.motion import cloud as clouds
from palpate.physics.arrays import BoolArray, FloatArray, runs

IntArray = NDArray[np.int64]

_FRAMES_FOR_NOISE = 500
_FRAMES_AT_ONCE, _AT_ONCE = 1024, 4096
"""Doubtful frames, and frames of which all that is needed on the way is held at once."""
_SEEN_OTHERWISE_M, _CALIBRATION = 1e-3, 1e-3
"""Two recordings of one body agree to this: a marker's centre seen by other cameras, m, and part of the body's size."""
_SIGMAS = 7.0
"""An hour of 20 markers holds ten million errors; Gaussian noise exceeds this many of its sigmas in none of them."""
_MOST_FOR_PERMUTATIONS = 4
_MOST_FOR_PAIRS = 9
"""Markers up to which exchanged labels are tried out where too few markers agree with each other."""
_COS_TURN = np.cos(np.radians(45.0))
"""No object in a hand turns by more than this within a moment."""
_NEAR_SHARE = 0.35
"""Part of the smallest distance between markers within which a point is at a place one frame later."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What counts as noise of a body's markers."""

    noise_m: float
    """Standard deviation of a marker's coordinate from frame to frame."""
    least_m: float
    """Distances below this are no fault, however small the noise."""
    bending_m: float = 0.0
    """Standard deviation of a coordinate, in the body, that changes slowly. A constant misfit is neither of them."""
    misfit_m: float = 0.0
    """Constant misfit of the cloud, as a standard deviation: two recordings of one body differ a little."""
    allowed_m: float = 0.0
    """The largest constant misfit that is forgiven."""

    @property
    def spread_m(self) -> float:
        """Standard deviation of a coordinate about the marker's own mean place: noise and bending."""
        return float(np.hypot(self.noise_m, self.bending_m))

    @property
    def pose_noise_m(self) -> float:
        """What a pose is judged by: the spread, or the usual noise where filtered markers hide theirs."""
        return max(clouds.NOISE_M, self.spread_m)

    @property
    def noise_limit_m(self) -> float:
        """What noise, bending and the misfit that is forgiven do not exceed."""
        return _SIGMAS * float(np.hypot(self.spread_m, min(self.misfit_m, self.allowed_m)))

    @property
    def tolerance_m(self) -> float:
        """A marker farther than this from its place is not there."""
        return max(self.least_m, self.noise_limit_m)


@dataclass(frozen=True, slots=True, eq=False)
class RobustFit:
    """Poses from the markers that are at their places."""

    alignment: clouds.Alignment
    sound: BoolArray
    """(frames, markers) seen, and at its place."""
    confused: BoolArray
    """(frames,) no majority of the markers agrees on a pose; there is none."""
    places: IntArray
    """(frames, markers): whose place each label's point has where exchanged labels alone explain it, else its own."""

    def put(self, frames: IntArray, other: RobustFit) -> None:
        """Overwrite these frames by another fit."""
        self.alignment.put(frames, other.alignment)
        for name in ("sound", "confused", "places"):
            getattr(self, name)[frames] = getattr(other, name)


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """Where a recording itself has its markers."""

    places: FloatArray
    """(k, 3): the robust mean, m."""
    spread_m: float
    """Standard deviation of a coordinate about it."""

    @classmethod
    def of(cls, points: FloatArray, start: FloatArray, least_m: float) -> Recorded:
        """By some hundred frames, from a cloud that may be off."""
        p = some_frames(points)
        places = clouds.mean_places(p, start, robust=True, settled_m=2e-5)  # enough for spreads
        return cls(places, typical_misfit(p, places, least_m))


def find_scale(points: FloatArray, cloud: FloatArray, least_m: float, recorded: Recorded) -> Scale:
    """Noise and bending of a body's markers about their own mean places, whatever a minority of markers does.

    The cloud starts the search for those places: a cloud that does not fit makes nothing noisier. How far it is off is
    the misfit.
    """
    p, spread = some_frames(points), recorded.spread_m
    # Neither the body's motion nor bending nor a wrong cloud touches the change of the distances between markers over
    # one frame: of Gaussian noise it is below 0.6745 * 2 sigma in half of the cases.
    first = evenly(len(points) - 1, _FRAMES_FOR_NOISE)
    change = np.abs(_distances(points[first + 1]) - _distances(points[first]))
    change = change[np.isfinite(change)]
    fast = float(np.median(change)) / (0.6745 * 2) if len(change) else spread
    bending, off = np.sqrt(max(spread**2 - fast**2, 0.0)), typical_misfit(p, cloud, least_m)
    misfit = np.sqrt(max(off**2 - spread**2, 0.0))
    return Scale(fast, least_m, float(bending), float(misfit), repeatable_m(cloud) / 1.538)


def repeatable_m(cloud: FloatArray) -> float:
    """Distance by which a marker's places in two recordings of one rigid body differ, m."""
    return _SEEN_OTHERWISE_M + _CALIBRATION * float(np.linalg.norm(cloud - cloud.mean(axis=0), axis=1).max())


def _distances(points: FloatArray) -> FloatArray:
    """(..., k, 3) -> (..., pairs): distances between the points."""
    i, j = np.triu_indices(int(points.shape[-2]), 1)
    return np.linalg.norm(points[..., i, :] - points[..., j, :], axis=-1)


def typical_misfit(points: FloatArray, cloud: FloatArray, least_m: float) -> float:
    """How far the markers typically are from their places in a cloud, as the standard deviation of a coordinate, m.

    First from the distances between markers, which no pose changes, by their lower quartile: |D - d| of Gaussian noise
    is below 0.3186 sqrt(2) sigma in a quarter of the cases. Then from the errors of the robust alignment, which
    know of bending, by their median: 1.538 sigma.
    """
    p = some_frames(points)
    off = np.abs(_distances(p) - _distances(cloud))
    off = off[np.isfinite(off)]
    first = float(np.quantile(off, 0.25)) / (0.3186 * np.sqrt(2.0)) if len(off) else 0.0
    error = robust_align(p, cloud, Scale(first, least_m)).alignment.error
    # Of 3 k coordinates the pose takes six.
    share = np.sqrt(max(1 - 2 / len(cloud), 1 / 3))
    second = float(np.nan_to_num(clouds.nan_median(error.ravel(), axis=0))) / (1.538 * share) if error.size else 0.0
    return max(first, second)


def some_frames(points: FloatArray) -> FloatArray:
    """Some hundred frames, evenly chosen."""
    return points[evenly(len(points), _FRAMES_FOR_NOISE)]


def evenly(n: int, most: int) -> IntArray:
    """Numbers of at most so many of n frames, evenly chosen."""
    return np.unique(np.linspace(0, n - 1, most).astype(np.int64)) if n > 0 else np.zeros(0, dtype=np.int64)


def robust_align(
    points: FloatArray, cloud: FloatArray, scale: Scale, plain: clouds.Alignment | None = None
) -> RobustFit:
    """Align each frame to the markers that agree with each other.

    Frames that a plain alignment (`align`, as noise of `pose_noise_m` judges it) explains are left at that. In the
    others the markers that the rest does not agree with are taken away, the worst first; where too few are left,
    exchanged labels are tried. A plain alignment that is given is overwritten.
    """
    k = len(cloud)
    fit = clouds.align(points, cloud, noise_m=scale.pose_noise_m) if plain is None else plain
    seen = clouds.known_points(points) & clouds.known_points(cloud)
    count = seen.sum(axis=1)
    worst = np.where(np.isnan(fit.error), 0.0, fit.error).max(axis=1, initial=0.0)
    # The fit takes up part of a marker's displacement, the more the fewer markers there are.
    doubtful = fit.usable & (worst > 0.5 * scale.tolerance_m * np.maximum(1 - 2 / np.maximum(count, 1), 0.2))
    # No pose, though the places of the markers seen have a width: the points do not match them.
    poseless = np.flatnonzero(~fit.usable & (count >= 3))
    doubtful[poseless] = clouds.align(np.where(seen[poseless][:, :, None], cloud, np.nan), cloud).usable
    confused, places = np.zeros(len(points), dtype=bool), np.tile(np.arange(k), (len(points), 1))
    robust = RobustFit(fit, seen & fit.usable[:, None], confused, places)
    sound = robust.sound
    for at in np.array_split(np.flatnonzero(doubtful), 1 + int(doubtful.sum()) // _FRAMES_AT_ONCE):
        now = _agreeing(points[at], cloud, scale, start=fit.at(at))
        fit.put(at, now)
        sound[at] = _inside(now, scale)
        missing = count[at] - sound[at].sum(axis=1)
        # of so few, two exchanged ones may agree with a third by chance
        few = (missing >= np.where(count[at] <= 5, 1, 2)) | ~now.usable
        _try_exchanges(points, cloud, scale, at[few], robust)
    exchanged = (places != np.arange(k)).any(axis=1)
    confused |= doubtful & ~exchanged & ((sound.sum(axis=1) <= count / 2) | ~fit.usable)
    for array in (fit.rotation, fit.position, fit.error):
        array[confused] = np.nan
    fit.reason[confused] = clouds.Reason.TOO_FEW
    fit.used[confused] = sound[confused] = False
    return robust


def _agreeing(
    p: FloatArray, cloud: FloatArray, scale: Scale, most: int = 100, start: clouds.Alignment | None = None
) -> clouds.Alignment:
    """Align to the markers that agree on each other's places, all but at most so many."""
    limits = {"away_m": scale.tolerance_m, "noise_m": scale.noise_limit_m}
    return without_outliers(p, cloud, **limits, pose_noise_m=scale.pose_noise_m, most=most, start=start)


def without_outliers(
    points: FloatArray,
    cloud: FloatArray,
    *,
    away_m: float,
    noise_m: float,
    pose_noise_m: float,
    most: int = 100,
    start: clouds.Alignment | None = None,
) -> clouds.Alignment:
    """Align, taking away one after the other at most so many markers that the rest, a majority, does not agree with.

    Such a marker is farther than away_m from the place that the rest gives it, and the fit is worse with it than noise
    explains; the one without which it becomes best goes first. start: the alignment of all, where it is known, which is
    overwritten.
    """
    now = clouds.align(points, cloud, noise_m=pose_noise_m) if start is None else start
    use = now.used.copy()
    left = np.arange(len(points))
    for _ in range(min(most, len(cloud) // 2)):
        part = now.at(left)
        off, gain = deletion(clouds.body_points(points[left], part) - cloud, cloud, part)
        wrong = (np.linalg.norm(off, axis=2) > away_m) & (gain > noise_m**2)
        wrong &= (part.used.sum(axis=1) >= 4)[:, None]
        some = wrong.any(axis=1)
        left, worst = left[some], np.where(wrong, gain, 0.0)[some].argmax(axis=1)
        if len(left) == 0:
            break
        trial = use[left]
        trial[np.arange(len(left)), worst] = False
        fit = clouds.align(points[left], cloud, trial.astype(float), noise_m=pose_noise_m)
        kept = fit.usable
        left = left[kept]
        use[left] = trial[kept]
        now.put(left, fit.at(np.flatnonzero(kept)))
    return now


def deletion(
    residual: FloatArray, cloud: FloatArray, fit: clouds.Alignment, out: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """How far each marker is from where the others have its place, (frames, k, 3) in the cloud's axes, m, and by how
    much the sum of squares falls without it, (frames, k), m^2.

    residual (frames, k, 3): how far it is from where all have its place, in the cloud's axes, m. That it stays where
    the marker was not used, or the others give it no place, and nothing falls. out: where the first is written.
    A fit of n markers shows e of a marker's displacement (I - H)^-1 e, and the sum falls by e' (I - H)^-1 e (Cook and
    Weisberg 1982, ch. 2), with H = I / n + [d] J^-1 [d]', d the place from the markers' centre, J = sum [d]'[d].
    """
    away = np.empty(residual.shape) if out is None else out
    falls, used = np.empty(residual.shape[:2]), fit.used & fit.usable[:, None]
    first, which = _choices(used)
    entries, known = _deleted(cloud, used[first])
    for start in range(0, len(residual), _AT_ONCE):
        at = slice(start, start + _AT_ONCE)
        e_x, e_y, e_z = np.ascontiguousarray(residual[at].transpose(2, 0, 1))
        p, q, r, s, t, u = (x[which[at]] for x in entries)
        there = (p * e_x + q * e_y + r * e_z, q * e_x + s * e_y + t * e_z, r * e_x + t * e_y + u * e_z)
        np.stack(there, axis=2, out=away[at])
        falls[at] = (e_x * there[0] + e_y * there[1] + e_z * there[2]) * known[which[at]]
    return away, falls


def _choices(used: BoolArray) -> tuple[IntArray, IntArray]:
    """Of used markers (frames, k): a frame of each choice that occurs, and the number of the choice of each frame.

    Of many frames the same markers were used.
    """
    bits = np.packbits(used, axis=1)
    words = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : bits.shape[1]] = bits
    numbers = words.view(np.uint64)  # one in general, which is sorted as a number
    if numbers.shape[1] == 1:
        _, first, which = np.unique(numbers[:, 0], return_index=True, return_inverse=True)
    else:
        _, first, which = np.unique(numbers, axis=0, return_index=True, return_inverse=True)
    return first, which.ravel()


def _deleted(cloud: FloatArray, used: BoolArray) -> tuple[list[FloatArray], BoolArray]:
    """(I - H)^-1 of each marker for each choice of used ones (choices, k): its six entries (choices, k) each.

    And whether the others give it a place; where they do not, it is I.
    """
    n = np.maximum(used.sum(axis=1), 1)[:, None]
    cloud = np.nan_to_num(cloud)
    d = np.where(used[:, :, None], cloud[None] - ((used @ cloud) / n)[:, None], 0.0)
    squares = (d * d).sum(axis=(1, 2))[:, None, None] * np.eye(3)
    moment = np.where((used.sum(axis=1) > 0)[:, None, None], squares - d.swapaxes(1, 2) @ d, np.eye(3))
    # written out for component arrays (frames, k): as many small matrices take ten times as long
    M = np.linalg.inv(moment).transpose(1, 2, 0)[..., None]
    x, y, z = np.ascontiguousarray(d.transpose(2, 0, 1))
    A_x, A_y, A_z = (
        [u * M[i, m] - v * M[j, m] for m in range(3)] for u, i, v, j in ((y, 2, z, 1), (z, 0, x, 2), (x, 1, y, 0))
    )
    own = 1 - 1 / n
    # I - H, symmetric: A = [d] J^-1, rows of [d] are (0, -z, y), (z, 0, -x) and (-y, x, 0)
    a, b, c = own + z * A_x[1] - y * A_x[2], x * A_x[2] - z * A_x[0], y * A_x[0] - x * A_x[1]
    f, g, h = own + x * A_y[2] - z * A_y[0], y * A_y[0] - x * A_y[1], own + y * A_z[0] - x * A_z[1]
    p, q, r = f * h - g * g, c * g - b * h, b * g - c * f  # its adjugate
    s, t, u = a * h - c * c, b * c - a * g, a * f - b * b
    det = a * p + b * q + c * r
    known = np.asarray(used & (det > 1e-3))  # below, the others do not give it a place
    over = 1 / np.where(known, det, 1.0)
    entries = ((p, 1.0), (q, 0.0), (r, 0.0), (s, 1.0), (t, 0.0), (u, 1.0))
    return [np.where(known, x * over, otherwise) for x, otherwise in entries], known


def _inside(fit: clouds.Alignment, scale: Scale) -> BoolArray:
    """(frames, markers) seen, and within the tolerance of its place."""
    return np.asarray(np.nan_to_num(fit.error, nan=np.inf) < scale.tolerance_m)


def _try_exchanges(points: FloatArray, cloud: FloatArray, scale: Scale, at: IntArray, fit: RobustFit) -> None:
    """Give labels to each other where that brings more markers of a frame to their places, into `fit`."""
    if not len(at):
        return
    p, identity = points[at], np.arange(len(cloud))
    seen = clouds.known_points(p)
    count = seen.sum(axis=1)
    # Two more than now, or all; of three markers all, of more at least four.
    better = np.minimum(fit.sound[at].sum(axis=1) + 2, count)
    best = np.maximum(np.maximum(better, count - 1), np.minimum(count, 4)).astype(float)
    chosen = np.tile(identity, (len(at), 1))
    k = len(cloud)  # all permutations of few markers, exchanges of two among some, none among many
    pairs = combinations(range(k), 2) if k <= _MOST_FOR_PAIRS else ()
    trials = [np.array([{i: j, j: i}.get(n, n) for n in range(k)]) for i, j in pairs]
    if trials and k <= _MOST_FOR_PERMUTATIONS:
        trials = [np.array(to) for to in list(permutations(range(k)))[1:]]
    for to in trials:
        shown = np.flatnonzero(seen[:, to != identity].any(axis=1))
        moved = np.empty_like(p[shown])
        moved[:, to] = p[shown]
        now = _agreeing(moved, cloud, scale, 1)
        inside = _inside(now, scale)
        # how many markers are at their places, and a part of one more the closer they are
        spread = np.where(inside, now.error, 0.0).sum(axis=1) / (inside.shape[1] * scale.tolerance_m)
        score = np.where(now.usable, inside.sum(axis=1) + 1 - spread, 0.0)
        better = score > best[shown]
        best[shown[better]], chosen[shown[better]] = score[better], to
    exchanged = (chosen != identity).any(axis=1)
    at, chosen, p = at[exchanged], chosen[exchanged], p[exchanged]
    moved = np.empty_like(p)
    np.put_along_axis(moved, chosen[:, :, None], p, axis=1)
    now = _agreeing(moved, cloud, scale)
    fit.alignment.put(at, now)
    fit.sound[at] = _inside(now, scale) & (chosen == identity)
    fit.places[at] = chosen


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """Markers whose labels are exchanged during a stretch."""

    markers: tuple[int, ...]
    frames: IntArray
    """Those in which any of the markers was seen."""
    pairs: frozenset[tuple[int, int]] = frozenset()
    """Which label was seen at which marker's place."""


def relabelled(points: FloatArray, places: IntArray) -> FloatArray:
    """Points (frames, k, 3) under the labels `places` (frames, k); -1 hides a point, labels left over are NaN."""
    changed = np.flatnonzero((places != np.arange(int(places.shape[1]))).any(axis=1))
    if not len(changed):
        return points
    moved = points.copy()
    moved[changed] = np.nan
    row, marker = np.nonzero((places[changed] >= 0) & clouds.known_points(points[changed]))
    frame = changed[row]
    moved[frame, places[frame, marker]] = points[frame, marker]
    return moved


def other_places(points: FloatArray, cloud: FloatArray, scale: Scale, fit: RobustFit) -> IntArray:
    """(frames, k) to whose place each label's point belongs; -1 for a point whose place another one took.

    A point that is away from its own place belongs to another's if it lies there and that marker is hidden or away.
    """
    places = fit.places.copy()
    seen = clouds.known_points(points)
    unchanged = (places == np.arange(len(cloud))).all(axis=1)  # frames that exchanges explained already are done
    away = seen & fit.alignment.usable[:, None] & ~fit.sound & unchanged[:, None]
    frames = np.flatnonzero(away.any(axis=1))
    for at in np.array_split(frames, 1 + len(frames) * len(cloud) // 65536):
        body = clouds.body_points(points[at], fit.alignment.at(at))
        places[at] = _claimed(body, cloud, scale.tolerance_m, seen[at], away[at])
    return places


def _claimed(body: FloatArray, cloud: FloatArray, near_m: float, seen: BoolArray, away: BoolArray) -> IntArray:
    """Places of the points (frames, k, 3), in the cloud's frame, that are away from their own and near another."""
    n, k = int(seen.shape[0]), int(seen.shape[1])
    row, column = np.arange(n)[:, None], np.arange(k)[None]
    distance = np.linalg.norm(body[:, :, None] - cloud[None, None], axis=3)
    from_home = distance[:, np.arange(k), np.arange(k)]
    distance[np.isnan(distance)] = np.inf
    distance = np.where((away | ~seen)[:, None, :], distance, np.inf)  # only places that are free
    distance[:, np.arange(k), np.arange(k)] = np.inf
    to = distance.argmin(axis=2)
    gap = distance[row, column, to]
    sure = away & (gap < 0.5 * from_home) & (gap < near_m)
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
    for group, lists in sorted(frames_of.items()):
        active = np.zeros(len(places), dtype=bool)
        active[np.concatenate(lists)] = True
        shown = np.flatnonzero(active | seen[:, group].any(axis=1))
        mine, at_home = active[shown].copy(), np.asarray(home[shown][:, group].any(axis=1))
        for a, b in runs(~active[shown]):  # few frames between two of the exchange, none with a marker at home
            mine[a:b] = a > 0 and b < len(shown) and b - a <= longest and not at_home[a:b].any()
        for first, stop in runs(mine):
            at = shown[first:stop]
            sure = at[active[at]]
            there = seen[sure][:, group]
            proven = ((places[sure][:, group] >= 0) & there).sum(axis=1).max() > 1
            if not proven and len(sure) < 3:  # it may be chance
                places[at[:, None], group] = group
                continue
            labels = [(i, int(to)) for i in group for to in np.unique(places[sure[seen[sure, i]], i])]
            exchanges.append(Exchange(group, at, frozenset((i, to) for i, to in labels if to not in (i, -1))))
    for one in exchanges:
        # also in those frames that do not tell, if its pairs are one permutation
        group, to = one.markers, dict(one.pairs)
        if len(to) == len(one.pairs) == len(group) and sorted(to.values()) == list(group):
            unchanged = one.frames[(places[one.frames][:, group] == group).all(axis=1)]
            places[unchanged[:, None], group] = [to[i] for i in group]
    return places, exchanges


def _groups(pattern: IntArray) -> list[tuple[int, ...]]:
    """Sets of markers among which a pattern exchanges labels."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    k, there = len(pattern), np.flatnonzero(pattern >= 0)
    edges = coo_array((np.ones(len(there)), (there, pattern[there])), shape=(k, k))
    count, which = connected_components(edges, directed=False)
    sets = [tuple(np.flatnonzero(which == n).tolist()) for n in range(count)]
    return [members for members in sets if len(members) > 1]


def flipped_places(points: FloatArray, times_s: FloatArray, cloud: FloatArray, alignment: clouds.Alignment) -> IntArray:
    """(frames, k) to whose place each label's point belongs, where the pose jumps over and labels explain it.

    The labels of the first frame are taken as right: a symmetric set of markers cannot tell.
    """
    k = len(cloud)
    places = np.tile(np.arange(k), (len(points), 1))
    usable = np.flatnonzero(alignment.usable)
    R, t = alignment.rotation[usable], times_s[usable]
    cosine = (np.einsum("nij,nij->n", R[:-1], R[1:]) - 1) / 2
    jumps = np.flatnonzero((cosine < _COS_TURN) & (np.diff(t) < 0.05))
    if not 0 < len(jumps) <= 200:
        return places
    near_m, current = _NEAR_SHARE * float(_distances(cloud).min()), np.arange(k)
    ends = [*(int(usable[j + 1]) for j in jumps[1:]), len(points)]
    for j, end in zip(jumps, ends, strict=True):
        before, after = int(usable[j]), int(usable[j + 1])
        pose = clouds.align(relabelled(points[before : before + 1], current[None]), cloud)
        if pose.usable[0]:
            body = clouds.body_points(points[after : after + 1], pose)
            now = _claimed(body, cloud, near_m, clouds.known_points(body), clouds.known_points(body))[0]
            current = current if (now < 0).any() else now
        places[after:end] = current
    return places
