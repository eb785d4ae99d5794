"""Rigid alignment: the pose of a cloud of markers in every frame at once (Kabsch 1976, Acta Cryst. A32:922)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.motion import skew

NOISE_M = 3e-4
"""Usual noise of a marker's coordinate, where none was measured."""
_BLOCK = 1024
"""Frames at a time: their temporaries, 12 numbers a frame, stay in the cache and below the 128 KiB from which on malloc
asks the system for fresh pages each time (three times slower).
"""
_LARGEST_TURN_RAD = 0.05
"""Markers whose noise alone turns the body by more than this (standard deviation) lie on a line."""
_THIN = 0.01
"""Width of a cloud over its length below which it is a line, whatever the noise."""
_NEWTON_STEPS = 30
_DOUBLE = 1e-9
"""(s1 + s2) (s2 + s3) (s3 + s1), for a norm of one, below which the largest root counts as double: the SVD decides."""
_LAST_STEP = 1e-8
"""Newton's method squares the error: after a step of this size nothing is left of it."""
_EXACT = 1e-12
"""Departure from a rotation matrix, of which errors of I only stretch R, beyond which the SVD decides."""
_LEAST = 4
"""Markers of which one may be taken away."""
_SINGULAR = 1e-3
"""1 - leverage below which the others do not give the marker a place."""


class Reason(IntEnum):
    """Why a frame has a pose or none."""

    OK = 0
    TOO_FEW = 1
    """Fewer than three markers were seen."""
    COLLINEAR = 2
    """The markers lie on a line, or nearly: the turn about it is not known."""


REASONS = {
    Reason.OK: "aligned",
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
    rms: FloatArray
    """Weighted root mean square of the used markers' errors, (frames,), m."""
    used: BoolArray
    """(frames, markers) whether a marker took part: seen, in the cloud, of positive weight."""
    lever: FloatArray
    """(frames,) m, root mean square distance of the used markers from the line along which they lie: noise of
    sigma per marker turns the body about that line by sigma / (lever sqrt(markers)) rad.
    """
    turn_std: FloatArray
    """(frames,) rad, that standard deviation of the orientation; NaN without a pose."""
    reason: NDArray[np.int8]
    """(frames,) a `Reason`."""

    @property
    def usable(self) -> BoolArray:
        """(frames,) whether the pose is known."""
        return np.asarray(self.reason == Reason.OK)

    def at(self, frames: NDArray[np.int64]) -> Alignment:
        """The same, of these frames only."""
        return Alignment(*(getattr(self, field.name)[frames] for field in fields(Alignment)))

    def put(self, frames: NDArray[np.int64], other: Alignment) -> None:
        """Overwrite these frames by another alignment."""
        for field in fields(Alignment):
            getattr(self, field.name)[frames] = getattr(other, field.name)

    @staticmethod
    def joined(parts: Sequence[Alignment]) -> Alignment:
        """One after the other."""
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
    noise_m = NOISE_M if noise_m is None or np.isnan(noise_m) else noise_m
    if not 0 <= noise_m < np.inf:
        raise ValueError(f"noise_m is {noise_m}, not a length")
    frames, k = int(points.shape[0]), int(points.shape[1])
    if points.shape != (frames, k, 3) or cloud.shape != (k, 3):
        raise ValueError(f"points {points.shape} and cloud {cloud.shape} must be (frames, k, 3) and (k, 3)")
    if weights is not None and weights.shape not in ((k,), (frames, k)):
        raise ValueError(f"weights have the shape {weights.shape}, not ({k},) or ({frames}, {k})")
    if weights is not None and not (np.isfinite(weights) & (weights >= 0)).all():
        raise DataProblem("marker weights", "a weight is negative or not a number", remedy="weights are 0 or more")
    placed = known_points(cloud)
    # About its centre the cloud is small: products with far coordinates lose no digits.
    centre = cloud[placed].mean(axis=0) if placed.any() else np.zeros(3)
    c = np.where(placed[:, None], cloud - centre, 0.0)
    work = np.empty(8 * min(_BLOCK, frames) * k)  # once: fresh memory for each block costs more than its arithmetic
    blocks: list[Alignment] = []
    for start in range(0, max(frames, 1), _BLOCK):
        part = slice(start, min(start + _BLOCK, frames))
        w = weights if weights is None or weights.ndim == 1 else weights[part]
        blocks.append(_align_block(points[part], c, centre, placed, w, noise_m, work))
    return Alignment.joined(blocks)


def known_points(points: FloatArray) -> BoolArray:
    """(..., 3) -> (...): whether all coordinates of a point are numbers."""
    # the sum is a number only if all three are; faster than all() over so short an axis
    return np.asarray(np.isfinite(points[..., 0] + points[..., 1] + points[..., 2]))


def _align_block(
    p: FloatArray,
    c: FloatArray,
    centre: FloatArray,
    placed: BoolArray,
    weights: FloatArray | None,
    noise_m: float,
    work: FloatArray,
) -> Alignment:
    """Align one block of frames to the cloud c about its centre."""
    n, k = p.shape[:2]
    flat = np.ascontiguousarray(p).reshape(n, 3 * k)
    q, places = work[: 6 * n * k].reshape(2, n, 3 * k)
    w, squares = work[6 * n * k : 8 * n * k].reshape(2, n, k)
    np.add(flat[:, 0::3], flat[:, 1::3], out=squares)
    squares += flat[:, 2::3]
    used = np.isfinite(squares)
    used &= placed if weights is None else placed & (weights > 0)
    np.multiply(used, 1.0 if weights is None else weights, out=w)
    np.copyto(q, flat)
    q.reshape(n, k, 3)[~used] = 0.0
    if weights is not None:
        q *= np.repeat(np.broadcast_to(weights, (n, k)), 3, axis=1)
    # All sums over markers are two matrix products: sum w p c', sum w p; sum w, sum w c.
    columns = _moment_columns(c)
    moments = np.ascontiguousarray((q @ columns).T)
    sums = np.ascontiguousarray((w @ np.column_stack([np.ones(k), c])).T)
    total = np.where(sums[0] > 0, sums[0], 1.0)
    mean_p, mean_c = moments[9:] / total, sums[1:] / total
    H = moments[:9].reshape(3, 3, n) / total - mean_p[:, None, :] * mean_c[None, :, :]

    R, smallest, largest = nearest_rotations(H)
    lever = np.sqrt(np.maximum(smallest, 0.0))
    count = used @ np.ones(k)
    effective = count if weights is None else total**2 / np.maximum((w * w).sum(axis=1), 1e-300)
    turn_std = noise_m / np.maximum(lever * np.sqrt(effective), 1e-300)
    unsure = (turn_std > _LARGEST_TURN_RAD) | ~(lever > _THIN * np.sqrt(largest))
    reason = np.where(count < 3, Reason.TOO_FEW, np.where(unsure, Reason.COLLINEAR, Reason.OK))
    if reason.any():
        R[:, :, reason != Reason.OK] = np.nan
    r = mean_p - (R * mean_c[None, :, :]).sum(axis=1)

    # R c + r of all markers is one more product, [R r] with the coordinates of the cloud.
    np.matmul(np.concatenate([R.reshape(9, n), r]).T, columns.T, out=places)
    np.subtract(flat, places, out=places)
    np.square(places, out=places)
    np.add(places[:, 0::3], places[:, 1::3], out=squares)
    squares += places[:, 2::3]
    error = np.where(placed, np.sqrt(squares), np.nan)
    squares[~used] = 0.0
    squares *= w
    known = reason == Reason.OK
    return Alignment(
        np.ascontiguousarray(R.transpose(2, 0, 1)),
        (r - (R * centre[None, :, None]).sum(axis=1)).T,
        error,
        np.where(known, np.sqrt((squares @ np.ones(k)) / total), np.nan),
        used,
        np.where(count > 0, lever, np.nan),
        np.where(known, turn_std, np.nan),
        reason.astype(np.int8),
    )


def _moment_columns(c: FloatArray) -> FloatArray:
    """(3k, 12): [p_1 ... p_k] times this is [sum p c', sum p]; [R r] times its transpose is all R c_k + r."""
    k = len(c)
    columns = np.zeros((k, 3, 12))
    for i in range(3):
        columns[:, i, 3 * i : 3 * i + 3] = c
        columns[:, i, 9 + i] = 1.0
    return columns.reshape(3 * k, 12)


def nearest_rotations(moments: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rotations R (3, 3, n) that maximise tr(R' H) for moments H (3, 3, n), with s2 + s3 and s1 of H, both (n,).

    s are the singular values, the last with the sign of det H; s2 + s3 = 0 where R is not unique. With I = s1 + s2 +
    s3, the largest root of (x^2 - |H|^2)^2 - 8 x det H - 4 |cof H|^2 (Horn 1987, J. Opt. Soc. Am. A 4:629, there as
    an eigenvalue), II = s1 s2 + s2 s3 + s3 s1 and III = det H, the theorem of Cayley and Hamilton gives
    R (I II - III) = I cof H + (I^2 - II) H - H H'H. Where the cloud is so thin that rounding errors show, the SVD
    decides.
    """
    scale = np.sqrt((moments * moments).sum(axis=(0, 1)))
    size = np.where(scale > 0, scale, 1.0)
    H = moments / size
    cof = _cofactors(H)
    det = (H[0] * cof[0]).sum(axis=0)
    minors = (cof * cof).sum(axis=(0, 1))
    I = _largest_root(det, minors)
    II = (I * I - 1.0) / 2
    below = I * II - det
    R = I * cof + (I * I - II) * H - _product(H, _product(H.swapaxes(0, 1), H))
    R /= np.where(below > _DOUBLE, below, 1.0)
    departure = np.abs(_product(R.swapaxes(0, 1), R) - np.eye(3)[:, :, None]).max(axis=(0, 1))
    s1 = _largest_singular(det, minors)
    smallest = I - s1
    weak = ~((departure < _EXACT) & (below > _DOUBLE))
    if weak.any():
        R[:, :, weak], smallest[weak] = _by_svd(H[:, :, weak])
    return R, np.where(scale > 0, smallest * size, 0.0), s1 * size


def _product(A: FloatArray, B: FloatArray) -> FloatArray:
    """A B for stacks (3, 3, n): component arrays are contiguous, which small matrix products are not."""
    total = A[:, 0, None] * B[None, 0]
    total += A[:, 1, None] * B[None, 1]
    total += A[:, 2, None] * B[None, 2]
    return total


def _cofactors(H: FloatArray) -> FloatArray:
    """cof H: rows are cross products of the rows of H."""
    a, b = H[[1, 2, 0]], H[[2, 0, 1]]
    return a[:, [1, 2, 0]] * b[:, [2, 0, 1]] - a[:, [2, 0, 1]] * b[:, [1, 2, 0]]


def _largest_root(det: FloatArray, minors: FloatArray) -> FloatArray:
    """Largest root of (x^2 - 1)^2 - 8 x det - 4 minors, by Newton's method from above: it descends and cannot miss."""
    # from II^2 = minors + 2 x det and x <= sqrt(3); exact where det = 0
    x = np.sqrt(1.0 + 2 * np.sqrt(minors + (2 * np.sqrt(3.0)) * np.maximum(det, 0.0)))
    for _ in range(_NEWTON_STEPS):
        y = x * x - 1.0
        slope = 4 * x * y - 8 * det
        step = (y * y - 8 * x * det - 4 * minors) / np.where(slope > 8 * _DOUBLE, slope, 1.0)
        x -= step
        if np.abs(step).max(initial=0.0) < _LAST_STEP:
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


def deletion(points: FloatArray, cloud: FloatArray, fit: Alignment) -> tuple[FloatArray, FloatArray]:
    """How far each used marker is from where the others have its place, (frames, k, 3) in the cloud's axes, m, and by
    how much the sum of squares falls without it, (frames, k), m^2.

    Where it was not used both are zero; where the others give it no place, it is seen from where all have it.
    A fit of n markers shows e of a marker's displacement (I - H)^-1 e, and the sum falls by e' (I - H)^-1 e (Cook and
    Weisberg 1982, ch. 2), with H = I / n + [d] J^-1 [d]', d the place from the markers' centre, J = sum [d]'[d].
    """
    used = fit.used & fit.usable[:, None]
    n = np.maximum(used.sum(axis=1), 1)[:, None]
    e = np.where(used[:, :, None], (points - fit.position[:, None]) @ fit.rotation - cloud, 0.0)
    cloud = np.nan_to_num(cloud)
    d = np.where(used[:, :, None], cloud[None] - ((used @ cloud) / n)[:, None], 0.0)
    squares = (d * d).sum(axis=(1, 2))[:, None, None] * np.eye(3)
    moment = np.where(fit.usable[:, None, None], squares - d.swapaxes(1, 2) @ d, np.eye(3))
    cross = skew(d)
    shown = np.eye(3) * (1 - 1 / n[:, :, None, None]) - cross @ np.linalg.inv(moment)[:, None] @ cross.swapaxes(2, 3)
    known = used & (np.linalg.det(shown) > _SINGULAR)
    away = np.linalg.solve(np.where(known[:, :, None, None], shown, np.eye(3)), e[..., None])[..., 0]
    return away, (e * away).sum(axis=2) * known


def without_outliers(
    points: FloatArray,
    cloud: FloatArray,
    use: BoolArray,
    suspect: BoolArray | None = None,
    *,
    away_m: float,
    noise_m: float,
    pose_noise_m: float,
) -> Alignment:
    """Align to the markers in `use`, taking away one after the other those that the rest does not agree with.

    Such a marker is farther than away_m from the place that the rest gives it, and the fit is worse with it than noise
    explains; the one without which it becomes best goes first. With `suspect`, (frames, k) too, no others go.
    """
    now = align(points, cloud, use.astype(float), noise_m=pose_noise_m)
    left = np.arange(len(points))
    use = use.copy()
    for _ in range(len(cloud) // 2):  # the rest is a majority
        part = now.at(left)
        off, gain = deletion(points[left], cloud, part)
        wrong = (np.linalg.norm(off, axis=2) > away_m) & (gain > noise_m**2)
        wrong &= (part.used.sum(axis=1) >= _LEAST)[:, None] & (True if suspect is None else suspect[left])
        some = wrong.any(axis=1)
        left, worst = left[some], np.where(wrong, gain, 0.0)[some].argmax(axis=1)
        if len(left) == 0:
            break
        trial = use[left]
        trial[np.arange(len(left)), worst] = False
        fit = align(points[left], cloud, trial.astype(float), noise_m=pose_noise_m)
        kept = fit.usable
        left = left[kept]
        use[left] = trial[kept]
        now.put(left, fit.at(np.flatnonzero(kept)))
    return now
