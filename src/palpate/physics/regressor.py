"""The body regressor: the wrench of a moving rigid body, linear in its inertial parameters (Atkeson et al. 1986).

w = A phi (paper, eq. wrench and A). Every entry of A is linear, with constant coefficients, in twelve features of a
sample: a - g (3), omega_dot (3) and the products of omega (6). Compression rests on that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Scalar
from palpate.physics.kinematics import Kinematics


def body_features(k: Kinematics) -> tuple[Scalar, ...]:
    """The twelve features: a - g, omega_dot, omega_i omega_j (xx, xy, xz, yy, yz, zz)."""
    x, y, z = k.omega
    return (*k.specific_acceleration, *k.omega_dot, x * x, x * y, x * z, y * y, y * z, z * z)


def body_columns(f: Sequence[Scalar]) -> list[list[Scalar]]:
    """A (6 x 10) from the features: force rows, then moment rows about the origin (paper, eq. A and L)."""
    ax, ay, az, bx, by, bz, xx, xy, xz, yy, yz, zz = f
    return [
        [ax, -yy - zz, xy - bz, xz + by, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [ay, xy + bz, -xx - zz, yz - bx, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [az, xz - by, yz + bx, -xx - yy, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, az, -ay, bx, by - xz, bz + xy, -yz, yy - zz, yz],
        [0.0, -az, 0.0, ax, xz, bx + yz, zz - xx, by, bz - xy, -xz],
        [0.0, ay, -ax, 0.0, -xy, xx - yy, bx - yz, xy, by + xz, bz],
    ]


def body_regressor(specific_acceleration: FloatArray, omega: FloatArray, omega_dot: FloatArray) -> FloatArray:
    """A for arrays (samples, 3) in m/s2, rad/s, rad/s2. -> (samples, 6, 10)."""
    k = Kinematics.from_arrays(specific_acceleration, omega, omega_dot)
    A = np.empty((*omega.shape[:-1], 6, 10))
    for i, row in enumerate(body_columns(body_features(k))):
        for j, entry in enumerate(row):
            A[..., i, j] = entry
    return A
