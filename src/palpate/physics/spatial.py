"""Spatial algebra: moving vectors, wrenches and accelerations between frames.

`R_ab`, `r_ab`: frame b seen from a, so that p_a = R_ab p_b + r_ab. Wrenches are [force; moment].
All functions broadcast over leading axes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from palpate.errors import PalpateError
from palpate.physics.arrays import FloatArray


def skew(u: ArrayLike) -> FloatArray:
    """S(u) with S(u) v = u x v (paper, below eq. A). (..., 3) -> (..., 3, 3)."""
    u = np.asarray(u, dtype=float)
    S = np.zeros((*u.shape[:-1], 3, 3))
    S[..., 0, 1], S[..., 0, 2], S[..., 1, 2] = -u[..., 2], u[..., 1], -u[..., 0]
    S[..., 1, 0], S[..., 2, 0], S[..., 2, 1] = u[..., 2], -u[..., 1], u[..., 0]
    return S


def wrench_transmission(R_ab: ArrayLike, r_ab: ArrayLike) -> FloatArray:
    """W_ab with w_a = W_ab w_b (paper, eq. wrench_transmission). r_ab in m, expressed in a. -> (..., 6, 6)."""
    R = np.asarray(R_ab, dtype=float)
    W = np.zeros((*np.broadcast_shapes(R.shape[:-2], np.shape(r_ab)[:-1]), 6, 6))
    W[..., :3, :3] = R
    W[..., 3:, 3:] = R
    W[..., 3:, :3] = skew(r_ab) @ R
    return W


def transport_acceleration(a: FloatArray, omega: FloatArray, omega_dot: FloatArray, r: ArrayLike) -> FloatArray:
    """Acceleration of the point at r (m, from where `a` holds) of the same rigid body, m/s2. All in one frame.

    a + omega_dot x r + omega x (omega x r), e.g. Siciliano & Khatib, Handbook of Robotics, 2.2. It holds for
    specific force (acceleration minus gravity) as well, because gravity is the same at both points.
    """
    r = np.asarray(r, dtype=float)
    return a + np.cross(omega_dot, r) + np.cross(omega, np.cross(omega, r))


def transform(R_ab: ArrayLike, r_ab: ArrayLike) -> FloatArray:
    """T_ab (4 x 4) of a rotation and a translation in m."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R_ab, r_ab
    return T


def nearest_rotation(R: ArrayLike, *, what: str = "rotation", tolerance: float = 1e-2) -> FloatArray:
    """The rotation nearest to a rounded matrix (3 x 3), refusing what is none.

    A drawing's four digits leave R'R off unity by 1e-4, which would scale every force; a matrix further than
    `tolerance` from any rotation, or a left-handed one, is a mistake and not a rounding.
    """
    given = np.asarray(R, dtype=float)
    U, _, Vt = np.linalg.svd(given)
    if np.linalg.det(given) < 0:
        raise PalpateError(f"{what}: the matrix is left-handed (determinant {np.linalg.det(given):+.3f}, must be +1)")
    nearest = U @ Vt
    off = float(np.abs(nearest - given).max())
    if off > tolerance:
        raise PalpateError(
            f"{what}: the matrix is not a rotation; the nearest one differs by {off:.3g} "
            f"in an entry (at most {tolerance:g} passes as rounding)"
        )
    return nearest
