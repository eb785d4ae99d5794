"""Markers of a body: its poses by rigid alignment (Kabsch 1976, Acta Cryst. A32:922), its cloud, and gaps filled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem, UnknownName
from palpate.motion.clock import interpolated
from palpate.physics.arrays import BoolArray, FloatArray, runs
from palpate.physics.motion import Poses
from palpate.physics.spline import spline
from palpate.recording import Recording

NOISE_M = 3e-4
"""Usual noise of a marker's coordinate, where none was measured."""
_FRAMES_AT_ONCE = 4096
"""Frames at a time, so that their temporaries stay in the cache."""
_LARGEST_TURN_RAD = 0.05
"""Markers whose noise alone turns the body by more than this (standard deviation) lie on a line."""
_THINNEST = 0.01
"""Width of a cloud over its length below which it is a line, whatever the noise."""
_DOUBLE = 1e-9
"""(s1 + s2) (s2 + s3) (s3 + s1), for a norm of one, below which the largest root counts as double: the SVD decides."""
_STILL_M = 2e-3
"""A body whose markers stay within this is still."""
_STILL_S = 1.0
"""Length of the stillest stretch, where none is stated."""
_ROBUST_M = 1e-3
"""Errors well above this and above the recording's own count for little in a robust mean."""
_BESIDE_S = 0.05
"""Seconds beside a gap over which a marker's distance from its place is averaged."""
_KNOTS = 8
"""Samples on each side that a spline needs at most: farther ones do not bend it."""


class Reason(IntEnum):
    """Why a frame has a pose or none."""

    OK = 0
    TOO_FEW = 1
    COLLINEAR = 2


REASONS = {
    Reason.TOO_FEW: "fewer than three markers seen",
    Reason.COLLINEAR: "the markers seen lie on a line, or nearly",
}


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """Pose of a cloud in each frame, and how well it fits. Poses are NaN where they are not known."""

    rotation: FloatArray
    """R_world_cloud, (frames, 3, 3), proper rotations."""
    position: FloatArray
    """Origin of the cloud's frame in the world, (frames, 3), m."""
    error: FloatArray
    """Distance of each marker from its place, (frames, markers), m; NaN where hidden or without a pose."""
    used: BoolArray
    """(frames, markers) whether a marker took part: seen, in the cloud, of positive weight."""
    turn_std: FloatArray
    """(frames,) rad, standard deviation of the orientation: noise of sigma per marker turns the body by sigma / (lever
    sqrt(markers)) about the line along which they lie, lever being their RMS distance from it; NaN without a pose.
    """
    reason: NDArray[np.int8]
    """(frames,) a `Reason`."""

    @property
    def usable(self) -> BoolArray:
        """(frames,) whether the pose is known."""
        return np.asarray(self.reason == Reason.OK)

    def at(self, frames: NDArray[np.int64]) -> Alignment:
        """The same, of these frames only."""
        return Alignment(*(getattr(self, field.name)[frames] for field in fields(Alignment)))

    def copied(self) -> Alignment:
        """The same, to be overwritten."""
        return Alignment(*(getattr(self, field.name).copy() for field in fields(Alignment)))

    def put(self, frames: NDArray[np.int64], other: Alignment) -> None:
        """Overwrite these frames by another alignment."""
        for field in fields(Alignment):
            getattr(self, field.name)[frames] = getattr(other, field.name)

    @staticmethod
    def joined(parts: Sequence[Alignment]) -> Alignment:
        """One after the other."""
        if len(parts) == 1:
            return parts[0]
        return Alignment(*(np.concatenate([getattr(x, field.name) for x in parts]) for field in fields(Alignment)))


def align(
    points: FloatArray, cloud: FloatArray, weights: FloatArray | None = None, *, noise_m: float | None = None
) -> Alignment:
    """Find R, r of each frame that minimise sum_k w_k |p_k - R c_k - r|^2 over the markers that were seen.

    points (frames, k, 3), NaN where hidden; cloud (k, 3), NaN where a marker has no place; weights (k,) or
    (frames, k), not negative. noise_m is the noise of one marker's coordinate, 0.3 mm where it is not known (None or
    NaN): a frame whose markers lie so close to a line that this noise turns the body by more than 0.05 rad has no pose,
    nor has one with fewer than three markers; `reason` says which. Reflections do not occur, flat clouds are as good as
    others.
    """
    noise_m, blocks = _known_noise(noise_m), list[Alignment]()
    for start in range(0, max(len(points), 1), _FRAMES_AT_ONCE):
        part = slice(start, start + _FRAMES_AT_ONCE)
        w = weights if weights is None or weights.ndim == 1 else weights[part]
        blocks.append(_align_block(points[part], cloud, w, noise_m))
    return Alignment.joined(blocks)


def _known_noise(noise_m: float | None) -> float:
    return NOISE_M if noise_m is None or np.isnan(noise_m) else noise_m


def realigned(
    fit: Alignment,
    points: FloatArray,
    cloud: FloatArray,
    changed: BoolArray,
    *,
    noise_m: float | None,
    before_m: float | None,
) -> Alignment:
    """`align` of points that differ from those of a fit, which noise of before_m judged, in some frames (frames,) only.

    The others keep their poses, unless this noise judges them otherwise.
    """
    turn_std = fit.turn_std * (_known_noise(noise_m) / _known_noise(before_m))
    new = replace(fit.copied(), turn_std=turn_std)
    again = np.flatnonzero(changed | (fit.reason == Reason.COLLINEAR) | (turn_std > _LARGEST_TURN_RAD))
    if len(again):
        new.put(again, align(points[again], cloud, noise_m=noise_m))
    return new


def differing(a: FloatArray, b: FloatArray) -> BoolArray:
    """(frames,): whether any of two recordings' points (frames, k, 3) differ, or only one shows it."""
    # by their bits first: where these are the same, nothing differs, and that is quickly seen
    bits = (np.ascontiguousarray(x).reshape(len(x), -1).view(np.int64) for x in (a, b))
    differ: BoolArray = np.asarray(np.not_equal(*bits).any(axis=1), dtype=bool)
    x, y = a[differ], b[differ]
    differ[differ] = ((x != y) & ~(np.isnan(x) & np.isnan(y))).any(axis=(1, 2))
    return differ


def known_points(points: FloatArray) -> BoolArray:
    """(..., 3) -> (...): whether all coordinates of a point are numbers."""
    # the sum is a number only if all three are; faster than all() over so short an axis
    return np.asarray(np.isfinite(points[..., 0] + points[..., 1] + points[..., 2]))


def _align_block(p: FloatArray, cloud: FloatArray, weights: FloatArray | None, noise_m: float) -> Alignment:
    """Align one block of frames; its arrays are by component, (3, frames, markers): short rows would take longer."""
    placed, x = known_points(cloud), np.array(p.transpose(2, 0, 1), order="C")
    used = np.isfinite(x[0] + x[1] + x[2]) & (placed if weights is None else placed & (weights > 0))
    w, ones = used * (1.0 if weights is None else weights), np.ones(len(cloud))
    total = w @ ones
    total = np.where(total > 0, total, 1.0)
    centre = cloud[placed].mean(axis=0) if placed.any() else np.zeros(3)
    c = np.where(placed[:, None], cloud - centre, 0.0)  # small: products with far coordinates lose digits
    q, mean_c = np.where(used, x, 0.0), (w @ c).T / total
    mean_p = (q @ ones if weights is None else np.einsum("ink,nk->in", q, w)) / total
    q -= mean_p[:, :, None]
    q *= w
    moments = np.ascontiguousarray((q.reshape(-1, len(c)) @ c).reshape(3, -1, 3).swapaxes(1, 2))
    R, smallest, largest = nearest_rotations(moments / total)
    lever, count = np.sqrt(np.maximum(smallest, 0.0)), used.sum(axis=1)
    effective = count if weights is None else total**2 / np.maximum((w * w) @ ones, 1e-300)
    turn_std = noise_m / np.maximum(lever * np.sqrt(effective), 1e-300)
    unsure = (turn_std > _LARGEST_TURN_RAD) | ~(lever > _THINNEST * np.sqrt(largest))
    reason = np.where(count < 3, Reason.TOO_FEW, np.where(unsure, Reason.COLLINEAR, Reason.OK)).astype(np.int8)
    known = reason == Reason.OK
    R[:, :, ~known] = np.nan
    r = mean_p - (R * mean_c).sum(axis=1)
    # one product: R c + r of all frames
    fitted = np.concatenate([R, r[:, None]], axis=1).swapaxes(1, 2).reshape(-1, 4) @ np.vstack([c.T, ones])
    x -= fitted.reshape(x.shape)
    x *= x
    error = np.sqrt(x[0] + x[1] + x[2])
    error[:, ~placed] = np.nan
    rotation = np.ascontiguousarray(R.transpose(2, 0, 1))
    return Alignment(rotation, r.T - rotation @ centre, error, used, np.where(known, turn_std, np.nan), reason)


def nearest_rotations(moments: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rotations R (3, 3, n) that maximise tr(R' H) for moments H (3, 3, n), with s2 + s3 and s1 of H, both (n,).

    s are the singular values, the last with the sign of det H; s2 + s3 = 0 where R is not unique. With I = s1 + s2 +
    s3, the largest root of (x^2 - |H|^2)^2 - 8 x det H - 4 |cof H|^2 (Horn 1987, J. Opt. Soc. Am. A 4:629, there as
    an eigenvalue), II = s1 s2 + s2 s3 + s3 s1 and III = det H, the theorem of Cayley and Hamilton gives
    R (I II - III) = I cof H + (I^2 - II) H - H H'H. Where the cloud is so thin that rounding errors show, the SVD
    decides.
    """
    scale = np.sqrt(np.einsum("ijn,ijn->n", moments, moments))
    size = np.where(scale > 0, scale, 1.0)
    H = moments / size
    cof = np.empty_like(H)
    for i, j in np.ndindex(3, 3):  # rows of cof H are cross products of the rows of H
        a, b = H[i - 2], H[i - 1]
        cof[i, j] = a[j - 2] * b[j - 1] - a[j - 1] * b[j - 2]
    det = (H[0] * cof[0]).sum(axis=0)
    minors = np.einsum("ijn,ijn->n", cof, cof)
    I = _largest_root(det, minors)
    II = (I * I - 1.0) / 2
    below = I * II - det
    stretched = I * cof + (I * I - II) * H - _product(H, _product(H.swapaxes(0, 1), H))
    R = stretched / np.where(below > _DOUBLE, below, 1.0)
    departure = np.abs(_product(R.swapaxes(0, 1), R) - np.eye(3)[:, :, None]).max(axis=(0, 1))
    s1 = _largest_singular(det, minors)
    smallest = I - s1
    weak = ~((departure < 1e-12) & (below > _DOUBLE))  # errors of I only stretch R
    if weak.any():
        R[:, :, weak], smallest[weak] = _by_svd(H[:, :, weak])
    return R, np.where(scale > 0, smallest * size, 0.0), s1 * size


def _product(A: FloatArray, B: FloatArray) -> FloatArray:
    """A B for stacks (3, 3, n): component arrays are contiguous, which small matrix products are not."""
    total = A[:, 0, None] * B[None, 0]
    total += A[:, 1, None] * B[None, 1]
    total += A[:, 2, None] * B[None, 2]
    return total


def _largest_root(det: FloatArray, minors: FloatArray) -> FloatArray:
    """Largest root of (x^2 - 1)^2 - 8 x det - 4 minors, by Newton's method from above: it descends and cannot miss."""
    # from II^2 = minors + 2 x det and x <= sqrt(3); exact where det = 0
    x = np.sqrt(1.0 + 2 * np.sqrt(minors + (2 * np.sqrt(3.0)) * np.maximum(det, 0.0)))
    for _ in range(30):
        y = x * x - 1.0
        slope = 4 * x * y - 8 * det
        step = (y * y - 8 * x * det - 4 * minors) / np.where(slope > 8 * _DOUBLE, slope, 1.0)
        x -= step
        if np.abs(step).max(initial=0.0) < 1e-8:  # the error is squared: nothing is left of it
            break
    return x


def _largest_singular(det: FloatArray, minors: FloatArray) -> FloatArray:
    """s1 of matrices of norm one: the root of x^3 - x^2 + minors x - det^2, x = s1^2, by its cosine."""
    p = np.maximum(1.0 - 3 * minors, 0.0)
    q = 1.0 - 4.5 * minors + 13.5 * det * det
    cosine = np.clip(q / np.maximum(p * np.sqrt(p), 1e-300), -1.0, 1.0)
    return np.sqrt((1.0 + 2 * np.sqrt(p) * np.cos(np.arccos(cosine) / 3)) / 3)


def _by_svd(H: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same by SVD, one frame after the other."""
    finite = np.isfinite(H).all(axis=(0, 1))
    U, s, V = np.linalg.svd(np.where(finite, H, 0.0).transpose(2, 0, 1))
    sign = np.sign(np.linalg.det(U @ V))
    U[:, :, 2] *= sign[:, None]
    return (U @ V).transpose(1, 2, 0), s[:, 1] + sign * s[:, 2]


@dataclass(frozen=True, slots=True, eq=False)
class Markers:
    """Points in the world; NaN where a marker was hidden."""

    names: tuple[str, ...]
    times_s: FloatArray
    """(frames,) s, increasing."""
    points: FloatArray
    """(frames, markers, 3), m."""

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together."""
        shape = (len(self.times_s), len(self.names), 3)
        if self.points.shape != shape:
            raise ValueError(f"points have shape {self.points.shape}, not {shape} (frames, markers, 3)")

    @property
    def seen(self) -> NDArray[np.bool_]:
        """(frames, markers) whether the marker was seen."""
        return known_points(self.points)

    def at(self, frames: slice | NDArray[np.int64]) -> Markers:
        """The same markers in these frames only."""
        return Markers(self.names, self.times_s[frames], self.points[frames])


def markers_of(recording: Recording, names: Iterable[str] | None = None) -> Markers:
    """The named markers of a recording, or every channel with three components in metres, on their common clock."""
    if names is None:
        names = [name for name, c in recording.channels.items() if c.samples.ndim == 2 and c.unit == "m"]
    chosen = recording.select(names)
    for channel in chosen.channels.values():
        if channel.samples.ndim != 2 or channel.unit != "m":
            raise DataProblem(f"channel {channel.name!r}", "it is not a marker", remedy="a marker has x, y, z in m")
    clock = chosen.one_clock()
    points = np.stack([c.samples for c in chosen.channels.values()], axis=1)
    return Markers(tuple(chosen), clock.times_s, points)


@dataclass(frozen=True, slots=True, eq=False)
class Cloud:
    """Places of the markers on the body, in the cloud's own frame."""

    names: tuple[str, ...]
    points: FloatArray
    """(markers, 3), m."""

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together."""
        if self.points.shape != (len(self.names), 3):
            raise ValueError(f"points have shape {self.points.shape}, not ({len(self.names)}, 3)")
        if not np.isfinite(self.points).all():
            raise ValueError("a place of the cloud is not a number")

    def select(self, names: Iterable[str]) -> Cloud:
        """The same cloud with these markers only; a name may leave out the subject ("Subject:name")."""
        places = [marker_index(self.names, name) for name in names]
        return Cloud(tuple(self.names[i] for i in places), self.points[places])

    def places(self, names: Iterable[str]) -> FloatArray:
        """(names, 3) places of these markers; NaN for those that the cloud does not have."""
        there, lost = dict(zip(self.names, self.points, strict=True)), np.full(3, np.nan)
        return np.array([there.get(name, lost) for name in names], dtype=float).reshape(-1, 3)


@dataclass(frozen=True, slots=True, eq=False)
class BodyFit:
    """Poses of a body and how well its markers fit the cloud."""

    names: tuple[str, ...]
    poses: Poses
    """T_world_cloud; NaN where it is not known."""
    alignment: Alignment

    @property
    def mean_error_m(self) -> float:
        """Mean over the frames of the mean distance of the used markers from their places, m."""
        error = np.where(self.alignment.used, self.alignment.error, np.nan)[self.alignment.usable]
        return float(np.mean(nan_mean(error, axis=1))) if len(error) else float("nan")

    def largest(self) -> tuple[str, float, float]:
        """The largest error of a used marker: its name, the error (m) and when (s)."""
        error = np.where(self.alignment.used, self.alignment.error, np.nan)
        if np.isnan(error).all():
            return "", float("nan"), float("nan")
        frame, marker = np.unravel_index(int(np.nanargmax(error)), error.shape)
        return self.names[marker], float(error[frame, marker]), float(self.poses.times_s[frame])

    def rows(self) -> list[tuple[str, float, float, float, float]]:
        """Per marker: name, mean error (m), largest error (m), when that was (s), share of frames hidden (0 to 1)."""
        error, times = self.alignment.error, self.poses.times_s
        mean = nan_mean(error, axis=0)
        worst = np.where(np.isnan(error), -1.0, error).argmax(axis=0)
        hidden = np.isnan(error)[self.alignment.usable].mean(axis=0) if self.alignment.usable.any() else mean * 0
        return [
            (name, float(mean[i]), float(error[worst[i], i]), float(times[worst[i]]), float(hidden[i]))
            for i, name in enumerate(self.names)
        ]

    def unknown(self) -> dict[str, int]:
        """Number of frames without a pose, by reason."""
        reason = self.alignment.reason
        return {words: int((reason == r).sum()) for r, words in REASONS.items() if (reason == r).any()}


def fit_body(markers: Markers, cloud: Cloud, *, noise_m: float | None = None) -> BodyFit:
    """Poses of the cloud's frame from the markers that it names; noise as in `align`."""
    chosen = select_markers(markers, cloud.names)
    return body_fit(chosen, align(chosen.points, cloud.points, noise_m=noise_m))


def body_fit(markers: Markers, alignment: Alignment) -> BodyFit:
    """An alignment of these markers with the cloud of the same names."""
    return BodyFit(markers.names, Poses(markers.times_s, alignment.rotation, alignment.position), alignment)


def static_cloud(markers: Markers) -> Cloud:
    """The mean of a recording of the body at rest, in the capture frame; markers never seen are left out.

    Refused where the body moves.
    """
    seen = np.asarray(markers.seen.any(axis=0))
    if seen.sum() < 3:
        raise DataProblem("reference cloud", f"only {int(seen.sum())} markers were seen", remedy="it takes three")
    moved = _movement(markers)
    # One restless marker is a fault of that marker, several are a body that moves.
    several = np.sort(moved[seen])[-min(3, int(seen.sum()))]
    if several > _STILL_M:
        worst = int(np.where(seen, moved, -1.0).argmax())
        raise DataProblem(
            "reference cloud",
            f"the body moves between {markers.times_s[0]:.2f} and {markers.times_s[-1]:.2f} s: "
            f"{markers.names[worst]!r} by {1e3 * moved[worst]:.1f} mm, with {1e3 * _STILL_M:.1f} mm allowed",
            remedy="take a recording or seconds in which it is still",
        )
    middle = nan_median(markers.points, axis=0)
    near = np.linalg.norm(markers.points - middle, axis=2) <= 3 * _STILL_M
    mean = nan_mean(np.where(near[:, :, None], markers.points, np.nan), axis=0)
    mean = np.where(np.isnan(mean), middle, mean)
    return Cloud(_chosen(markers.names, seen), mean[seen])


def still_cloud(markers: Markers, seconds: tuple[float, float] | None = None) -> Cloud:
    """The mean over a stretch in which the body is still, in the capture frame: the seconds given, or the stillest one.

    Markers that were hidden then get their place from the rest of the recording.
    """
    start, end = seconds if seconds is not None else stillest(markers)
    part = markers.at(slice(*np.searchsorted(markers.times_s, [start, end])))
    if len(part.times_s) == 0:
        raise DataProblem("reference cloud", f"there is no frame between {start:g} and {end:g} s")
    return completed(static_cloud(part), markers)


def mean_cloud(markers: Markers, *, robust: bool = True) -> Cloud:
    """The Procrustes mean of a recording (Gower 1975, Psychometrika 40:33), with hidden markers, about its centroid.

    Frames are aligned to the mean and averaged, in turn, until nothing changes. The robust mean gives a point little
    weight where it is far from its place, so that a swapped or displaced marker does not bend the others. The axes
    are those of the capture frame in the frame where most markers are seen.
    """
    frames = np.unique(np.linspace(0, len(markers.times_s) - 1, 3000).astype(int))  # enough
    points, seen = markers.points[frames], markers.seen[frames]
    ever = np.asarray(seen.any(axis=0))
    best = int(seen.sum(axis=1).argmax()) if len(frames) else 0
    if len(frames) == 0 or seen[best].sum() < 3:
        raise DataProblem("reference cloud", "no frame shows three markers")
    start = np.where(seen[best, :, None], points[best], np.nan)
    size = float(np.ptp(start[seen[best]], axis=0).max())
    cloud = mean_places(points, start, robust=robust, settled_m=1e-6 * size)  # all have the last word
    if not np.isfinite(cloud[ever]).all():
        lost = _chosen(markers.names, ever & ~known_points(cloud))
        raise DataProblem("reference cloud", f"{', '.join(lost)}: never seen together with three others")
    weights = None
    for _ in range(2):  # the mean of all that is near its place in any frame scatters less than a median of some
        body, weights = _aligned(markers.points, cloud, robust=robust, weights=weights)
        off = body - cloud
        away = np.sqrt(np.einsum("nki,nki->nk", off, off))
        near = away <= 4.0 * nan_median(away, axis=0)  # farther away it is not itself
        off[~near] = 0.0
        cloud = cloud + off.sum(axis=0) / np.maximum(near.sum(axis=0), 1)[:, None]
    cloud = _turned_back(cloud, start)  # the axes of the capture frame, as they were in the first frame
    return Cloud(_chosen(markers.names, ever), cloud[ever] - cloud[ever].mean(axis=0))


def _turned_back(cloud: FloatArray, start: FloatArray) -> FloatArray:
    """(k, 3): as near to other places of the same markers as a rigid motion can bring it."""
    back = align(cloud[None], start)
    return (cloud - back.position[0]) @ back.rotation[0] if back.usable[0] else cloud


def completed(cloud: Cloud, markers: Markers) -> Cloud:
    """The cloud with places for those markers of a recording that it lacks, where they were seen with the others."""
    places = cloud.places(markers.names)
    lacking = ~known_points(places)
    if not lacking.any():
        return cloud
    body = body_points(markers.points, align(markers.points, places))
    added = nan_median(body[:, lacking], axis=0)
    placed = known_points(added)
    names = _chosen(_chosen(markers.names, lacking), placed)
    return Cloud(cloud.names + names, np.concatenate([cloud.points, added[placed]]))


def body_points(points: FloatArray, alignment: Alignment) -> FloatArray:
    """Points (frames, k, 3) in the frame of the cloud: R' (p - r)."""
    return np.asarray((points - alignment.position[:, None, :]) @ alignment.rotation)


def select_markers(markers: Markers, names: Iterable[str]) -> Markers:
    """The named markers, in that order; a name may leave out the subject ("Subject:name")."""
    places = [marker_index(markers.names, name) for name in names]
    if places == list(range(len(markers.names))):
        return markers
    return Markers(tuple(markers.names[i] for i in places), markers.times_s, markers.points[:, places])


def _movement(markers: Markers) -> FloatArray:
    """(markers,) how far each one goes from its mean place, m, noise averaged over pieces of 0.1 s; NaN if unseen."""
    times = markers.times_s
    pieces = max(2, int((times[-1] - times[0]) / 0.1)) if len(times) > 1 else 1
    cuts = np.asarray(times[0] + float(times[-1] - times[0]) * np.arange(1, pieces) / pieces, dtype=float)
    parts = np.split(markers.points, np.asarray(np.searchsorted(times, cuts), dtype=np.int64))
    means = np.array([nan_mean(part, axis=0) for part in parts if len(part)], dtype=float)
    away = np.linalg.norm(means - nan_mean(means, axis=0), axis=2)
    return np.where(np.isnan(away).all(axis=0), np.nan, np.where(np.isnan(away), -1.0, away).max(axis=0))


def nan_mean(x: FloatArray, axis: int) -> FloatArray:
    """Mean of the numbers along an axis; NaN, without a warning, where there is none."""
    there = np.isfinite(x)
    count = there.sum(axis=axis)
    return np.where(count > 0, np.where(there, x, 0.0).sum(axis=axis) / np.maximum(count, 1), np.nan)


def nan_median(x: FloatArray, axis: int) -> FloatArray:
    """Median of the numbers along an axis; NaN, without a warning, where there is none."""
    if x.shape[axis] == 0:
        return np.full(np.delete(x.shape, axis), np.nan)
    columns = np.moveaxis(x, axis, -1)
    columns, shape = columns.reshape(-1, columns.shape[-1]), columns.shape[:-1]
    counts, medians = np.isfinite(columns).sum(axis=1), np.full(len(columns), np.nan)
    for count in np.unique(counts[counts > 0]).tolist():
        alike = counts == count
        middle = [(count - 1) // 2, count // 2]
        part = np.partition(columns[alike], middle, axis=1)  # NaN last
        medians[alike] = part[:, middle].sum(axis=1) / 2
    return medians.reshape(shape)


def mean_places(points: FloatArray, start: FloatArray, *, robust: bool, settled_m: float) -> FloatArray:
    """(k, 3): frames (n, k, 3) aligned to the mean and averaged, in turn, until no place changes by settled_m.

    Robust is the median of frames aligned with little weight for what is far from its place: frames that are aligned
    wrongly, with exchanged labels say, would pull a weighted mean away step by step. A marker without a place gets one.
    The axes stay those of the start: nothing else holds them, and medians would turn by a little each time for ever.
    """
    for turn in range(50):
        robust_now = robust and turn > 0
        body, _ = _aligned(points, start, robust=robust_now)
        middle = nan_median(body, axis=0) if robust_now else nan_mean(body, axis=0)
        before, start = start, _turned_back(np.where(np.isfinite(middle), middle, start), start)
        change = np.where(np.isfinite(start), np.abs(start - before), 0.0)
        if np.nan_to_num(change, nan=np.inf).max(initial=0.0) < settled_m:
            break
    return start


def _aligned(
    points: FloatArray, cloud: FloatArray, *, robust: bool, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray | None]:
    """(frames, markers, 3): each frame as the body's own frame sees it; and with what weights.

    weights: those of nearly the same cloud; then they need not be found.
    """
    fit = align(points, cloud, weights)
    for _ in range(3 if robust and weights is None else 0):
        scale = 3 * max(_ROBUST_M, float(np.nan_to_num(nan_median(fit.error.ravel(), axis=0))))
        weights = 1 / (1 + (np.nan_to_num(fit.error) / scale) ** 2) ** 2  # Geman-McClure
        fit = align(points, cloud, weights)
    return body_points(points, fit), weights


def stillest(markers: Markers) -> tuple[float, float]:
    """The stretch, among those that start a quarter of its length apart, in which the markers move least."""
    times, what, remedy = markers.times_s, "reference cloud", "give the seconds"
    if len(times) < 2 or times[-1] - times[0] < _STILL_S:
        raise DataProblem(what, f"the recording is shorter than the {_STILL_S:g} s of rest it needs", remedy=remedy)
    usual, most = float(np.median(np.diff(times))), int(markers.seen.sum(axis=1).max())
    scores: list[tuple[float, float]] = []
    for start in np.arange(times[0], times[-1] - _STILL_S, _STILL_S / 4).tolist():
        piece = markers.at(slice(*np.searchsorted(times, [start, start + _STILL_S])))
        if len(piece.times_s) < 0.8 * _STILL_S / usual:  # frames are missing
            continue
        moved = _movement(piece)
        moved = moved[np.isfinite(moved)]
        if len(moved) >= 3:  # where equally still, the stretch that shows more markers
            scores.append((float(np.median(moved)) * (1 + most - len(moved)), start))
    if not scores:
        raise DataProblem(what, f"three markers are never seen for {_STILL_S:g} s", remedy=remedy)
    start = min(scores)[1]
    return start, start + _STILL_S


def _chosen(names: tuple[str, ...], these: BoolArray) -> tuple[str, ...]:
    return tuple(names[i] for i in np.flatnonzero(these))


def marker_index(names: tuple[str, ...], name: str, where: str = "") -> int:
    """Index of a name, or of the only one that ends in ":name" or "/name"."""
    if name in names:
        return names.index(name)
    matches = [i for i, full in enumerate(names) if full.endswith((f":{name}", f"/{name}"))]
    if len(matches) > 1:
        several = " or ".join(repr(names[i]) for i in matches)
        raise DataProblem(where or "markers", f"marker {name!r} could be {several}", remedy="write the whole name")
    if not matches:
        raise UnknownName("marker", name, names, where=where)
    return matches[0]


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
    """Frames filled from the body's other markers."""
    by_spline: int
    """Frames filled by a spline."""
    left: int
    """Frames that stay hidden."""


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """What was hidden, and what became of it."""

    source: NDArray[np.int8]
    """(frames, markers) a `Source`."""
    usable: tuple[tuple[float, float], ...]
    """Half-open intervals (s) without a break, in which the pose of the body is known; with no cloud, all markers."""
    report: tuple[MarkerGaps, ...]

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


@dataclass(frozen=True, slots=True, eq=False)
class Filled(Gaps):
    """Markers without the gaps that could be filled."""

    markers: Markers


def fill_gaps(
    markers: Markers,
    cloud: Cloud | None = None,
    *,
    longest_spline_s: float = 0.1,
    noise_m: float | None = None,
    fit: Alignment | None = None,
) -> Filled:
    """Fill what was hidden, first from the body, then by splines over gaps of at most longest_spline_s.

    Where the pose is known, a hidden marker of the cloud is at R c + r plus its own distance from its place, which goes
    in a straight line (in the body) from before the gap to after it: nothing jumps. Where it is not, and for markers
    that the cloud does not have, a cubic spline bridges the gap if it is short. What is left splits the recording:
    `usable` says into which intervals. noise_m, of a marker's coordinate, says which poses are known (`align`); fit:
    the alignment of these markers with all of the cloud by this noise, where it is known.
    """
    times, points, seen = markers.times_s, markers.points.copy(), markers.seen
    known = seen.all(axis=1)
    points[~seen] = np.nan
    source = np.where(seen, Source.SEEN, Source.HIDDEN).astype(np.int8)
    step = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    places = cloud.places(markers.names) if cloud is not None else np.full((len(markers.names), 3), np.nan)
    fit = align(points, places, noise_m=noise_m) if fit is None else fit
    _from_body(times, points, places, source, fit)
    # A marker whose own gap is short may restore the pose, and that gives the others; then what is short by now.
    for from_seen in (True, False):
        bridged = [
            _by_spline(times, points[:, i], source[:, i], longest_spline_s, from_seen=from_seen)
            for i in range(len(markers.names))
        ]
        if any(bridged):
            fit = align(points, places, noise_m=noise_m)
            _from_body(times, points, places, source, fit)
    known = fit.usable if cloud is not None else np.asarray(known_points(points).all(axis=1))
    report: list[MarkerGaps] = []
    for i, name in enumerate(markers.names):
        gaps = runs(~seen[:, i])
        lengths = [float(times[min(b, len(times) - 1)] - times[max(a - 1, 0)]) for a, b in gaps]
        counts = [int((source[:, i] == s).sum()) for s in (Source.BODY, Source.SPLINE, Source.HIDDEN)]
        report.append(MarkerGaps(name, len(gaps), max(lengths, default=0.0), *counts))
    usable: list[tuple[float, float]] = []
    for first, stop in runs(known):
        breaks = first + 1 + np.flatnonzero(np.diff(times[first:stop]) > max(longest_spline_s, 1.5 * step))
        usable += [(float(times[a]), float(times[b - 1] + step)) for a, b in pairwise([first, *breaks.tolist(), stop])]
    return Filled(source, tuple(usable), tuple(report), Markers(markers.names, times, points))


def _from_body(
    times: FloatArray, points: FloatArray, places: FloatArray, source: NDArray[np.int8], fit: Alignment
) -> None:
    """Fill the cloud's markers where the pose is known, in place."""
    for i in np.flatnonzero(np.isfinite(places[:, 0])):
        at = np.flatnonzero(fit.usable & (source[:, i] == Source.HIDDEN))
        if len(at):
            there = np.flatnonzero(fit.usable & (source[:, i] != Source.HIDDEN))
            body = places[i] + _blended(times, points[:, i], places[i], fit, there, at)
            points[at, i] = np.einsum("nij,nj->ni", fit.rotation[at], body) + fit.position[at]
            source[at, i] = Source.BODY


def _blended(
    times: FloatArray,
    points: FloatArray,
    home: FloatArray,
    fit: Alignment,
    there: NDArray[np.int64],
    at: NDArray[np.int64],
) -> FloatArray:
    """(at, 3) a marker's offset from its place in the body over its gaps: means beside them, straight between.

    points (frames, 3) of it, known `there`.
    """
    if len(there) == 0:
        return np.zeros((len(at), 3))
    t, after = times[there], np.searchsorted(there, at)
    gaps = after[np.diff(after, prepend=-1) > 0]
    ends = np.unique(np.clip([gaps - 1, gaps], 0, len(there) - 1))
    low, high = np.searchsorted(t, t[ends] - _BESIDE_S), np.searchsorted(t, t[ends] + _BESIDE_S, side="right")
    count = np.bincount(low, minlength=len(t) + 1) - np.bincount(high, minlength=len(t) + 1)
    beside = np.cumsum(count)[:-1] > 0  # the others are in no mean
    near, index = there[beside], np.concatenate([[0], np.cumsum(beside)])
    offset = np.einsum("nji,nj->ni", fit.rotation[near], points[near] - fit.position[near]) - home
    total = np.concatenate([np.zeros((1, 3)), np.cumsum(offset, axis=0)])
    means = (total[index[high]] - total[index[low]]) / (high - low)[:, None]
    return interpolated(times[at], t[ends], means)


def _by_spline(
    times: FloatArray, x: FloatArray, source: NDArray[np.int8], longest_s: float, *, from_seen: bool
) -> bool:
    """Bridge the short gaps of one marker (frames, 3), in place; with from_seen, only those between seen samples.

    Returns whether there were any.
    """
    there = source != Source.HIDDEN
    known, bridged = np.flatnonzero(there), False
    for first, stop in runs(~there):
        if first == 0 or stop == len(x) or times[stop] - times[first - 1] > longest_s + 1e-9:
            continue
        if from_seen and (source[first - 1] != Source.SEEN or source[stop] != Source.SEEN):
            continue
        place = int(np.searchsorted(known, first))
        beside = known[max(place - _KNOTS, 0) : place + _KNOTS]
        # samples from beyond another gap that is too long say nothing here
        beside = beside[np.abs(times[beside] - times[first]) < 2 * longest_s + times[stop - 1] - times[first]]
        if len(beside) >= 4:
            x[first:stop] = spline(times[beside], x[beside])(times[first:stop])
            source[first:stop], bridged = Source.SPLINE, True
    return bridged
