"""Leverage: how far a marker is from the place that the other markers give it, whatever it does to the pose."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from palpate.motion.rigid import Alignment, BoolArray, align
from palpate.physics.arrays import FloatArray

_LEAST = 4
"""Markers of which one may be taken away."""
_SINGULAR = 1e-3
"""1 - leverage below which the others do not give the marker a place."""


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
    cross = _cross(d)
    shown = np.eye(3) * (1 - 1 / n[:, :, None, None]) - cross @ np.linalg.inv(moment)[:, None] @ cross.swapaxes(2, 3)
    solved, det = _solved(shown, e)
    known = used & (det > _SINGULAR)
    away = np.where(known[:, :, None], solved, e)
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
        part = frames_of(now, left)
        off, gain = deletion(points[left], cloud, part)
        wrong = (
            (np.linalg.norm(off, axis=2) > away_m) & (gain > noise_m**2) & (part.used.sum(axis=1) >= _LEAST)[:, None]
        )
        wrong &= True if suspect is None else suspect[left]
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
        copy_frames(frames_of(fit, np.flatnonzero(kept)), now, left)
    return now


def copy_frames(source: Alignment, target: Alignment, at: NDArray[np.int64]) -> None:
    """Write the frames of one alignment to these frames of another."""
    for field in fields(Alignment):
        getattr(target, field.name)[at] = getattr(source, field.name)


def frames_of(fit: Alignment, at: NDArray[np.int64]) -> Alignment:
    """The same alignment, of these frames only."""
    return Alignment(*(getattr(fit, field.name)[at] for field in fields(Alignment)))


def _solved(M: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """M^-1 b of symmetric matrices (..., 3, 3) by cofactors, and det M: ten times faster than LAPACK one by one."""
    a, d, f = M[..., 0, 0], M[..., 1, 1], M[..., 2, 2]
    p, q, r = M[..., 0, 1], M[..., 0, 2], M[..., 1, 2]
    A, D, F = d * f - r * r, a * f - q * q, a * d - p * p
    P, Q, R = q * r - p * f, p * r - q * d, p * q - a * r
    det = a * A + p * P + q * Q
    x, y, z = b[..., 0], b[..., 1], b[..., 2]
    solved = np.stack([A * x + P * y + Q * z, P * x + D * y + R * z, Q * x + R * y + F * z], axis=-1)
    return solved / np.where(det != 0, det, 1.0)[..., None], det


def _cross(d: FloatArray) -> FloatArray:
    """(..., 3) -> (..., 3, 3), [d] v = d x v."""
    x, y, z = np.moveaxis(d, -1, 0)
    o = np.zeros_like(x)
    return np.stack([np.stack([o, -z, y], -1), np.stack([z, o, -x], -1), np.stack([-y, x, o], -1)], -2)
