"""How well an axis is known from the scatter of what it leaves over.

Frames at the same angle are no independent witnesses: markers seen from the same side are wrong in the same way, and
a body at rest repeats one error a thousand times. So a group of frames of about one angle counts as one witness, and
the estimate is repeated without each of them (delete-a-group jackknife; Efron & Tibshirani, An Introduction to the
Bootstrap, ch. 11).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from palpate.physics.arrays import FloatArray

_GROUPS = 8


def angle_groups(angle_rad: FloatArray) -> NDArray[np.intp]:
    """(samples,) -> number of the group of each, from 0 on: even steps of the angle over its range, at most a turn."""
    start, end = float(angle_rad.min()), float(angle_rad.max())
    turn = np.mod(angle_rad - start, 2 * np.pi) if end - start > 2 * np.pi else angle_rad - start
    width = max(min(end - start, 2 * np.pi), 1e-12) / _GROUPS
    steps = np.minimum((turn / width).astype(np.intp), _GROUPS - 1)
    return np.unique(steps, return_inverse=True)[1]


def jackknife(J: FloatArray, residual: FloatArray, groups: NDArray[np.intp]) -> FloatArray:
    """Covariance (p, p) of the x that minimises |J x + residual|, taken at its minimum x = 0.

    J (samples, rows, p), residual (samples, rows). Infinite where the estimate hangs on one group.
    """
    p, count = J.shape[2], int(groups.max()) + 1
    H, s = np.empty((count, p, p)), np.empty((count, p))
    for g in range(count):
        rows = groups == g
        stacked = J[rows].reshape(-1, p)
        H[g], s[g] = stacked.T @ stacked, stacked.T @ residual[rows].ravel()
    scale = np.sqrt(np.maximum(np.diag(H.sum(axis=0)), 1e-300))
    without = (H.sum(axis=0) - H) / np.outer(scale, scale)
    if count < 2 or not float(np.linalg.cond(without).max()) < 1e12:
        return np.full((p, p), np.inf)
    change = np.asarray(np.linalg.solve(without, (s / scale)[:, :, None])[:, :, 0] / scale, dtype=float)
    return (count - 1) / count * change.T @ change
