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
_BLOCK = 1 << 14
"""Frames at a time, so that an hour does not fill the memory."""
_LARGEST_TURN_RAD = 0.05
"""Markers whose noise alone turns the body by more than this (standard deviation) lie on a line."""
_THIN = 0.01
"""Width of a cloud over its length below which it is a line, whatever the noise."""
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
    blocks: list[Alignment] = []
    for start in range(0, max(frames, 1), _BLOCK):
        part = slice(start, start + _BLOCK)
        w = weights if weights is None or weights.ndim == 1 else weights[part]
        blocks.append(_align_block(points[part], cloud, w, noise_m))
    return Alignment.joined(blocks)


def known_points(points: FloatArray) -> BoolArray:
    """(..., 3) -> (...): whether all coordinates of a point are numbers."""
    # the sum is a number only if all three are; faster than all() over so short an axis
    return np.asarray(np.isfinite(points[..., 0] + points[..., 1] + points[..., 2]))


def _align_block(p: FloatArray, cloud: FloatArray, weights: FloatArray | None, noise_m: float) -> Alignment:
    """Align one block of frames."""
    placed = known_points(cloud)
    used = known_points(p) & (placed if weights is None else placed & (weights > 0))
    w = used * (1.0 if weights is None else weights)
    total = w.sum(axis=1)
    total = np.where(total > 0, total, 1.0)[:, None]
    centre = cloud[placed].mean(axis=0) if placed.any() else np.zeros(3)
    c = np.where(placed[:, None], cloud - centre, 0.0)  # small: products with far coordinates lose digits
    q, mean_c = np.where(used[:, :, None], p, 0.0), w @ c / total
    mean_p = (w[:, None] @ q)[:, 0] / total
    moments = (w[:, :, None] * (q - mean_p[:, None])).swapaxes(1, 2) @ (c - mean_c[:, None]) / total[:, :, None]
    R, smallest, largest = nearest_rotations(moments)
    lever, count = np.sqrt(np.maximum(smallest, 0.0)), used.sum(axis=1)
    effective = count if weights is None else total[:, 0] ** 2 / np.maximum((w * w).sum(axis=1), 1e-300)
    turn_std = noise_m / np.maximum(lever * np.sqrt(effective), 1e-300)
    unsure = (turn_std > _LARGEST_TURN_RAD) | ~(lever > _THIN * np.sqrt(largest))
    reason = np.where(count < 3, Reason.TOO_FEW, np.where(unsure, Reason.COLLINEAR, Reason.OK)).astype(np.int8)
    known = reason == Reason.OK
    R[~known] = np.nan
    r = mean_p - (R @ mean_c[:, :, None])[..., 0]
    error = np.where(placed, np.linalg.norm(p - c @ R.swapaxes(1, 2) - r[:, None], axis=2), np.nan)
    rms = np.sqrt((w * np.where(used, error, 0.0) ** 2).sum(axis=1) / total[:, 0])
    rms, turn_std, lever = (np.where(a, x, np.nan) for a, x in ((known, rms), (known, turn_std), (count > 0, lever)))
    return Alignment(R, r - R @ centre, error, rms, used, lever, turn_std, reason)


def nearest_rotations(moments: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rotations R (n, 3, 3) that maximise tr(R' H) for moments H (n, 3, 3), with s2 + s3 and s1 of H, both (n,).

    s are the singular values, the last with the sign of det H; s2 + s3 = 0 where R is not unique.
    """
    U, s, Vt = np.linalg.svd(moments)
    sign = np.sign(np.linalg.det(U @ Vt))
    U[:, :, 2] *= sign[:, None]
    return U @ Vt, s[:, 1] + sign * s[:, 2], s[:, 0]


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
