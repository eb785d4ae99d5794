"""A body as a cloud of point masses: mechanics from Newton's law for each point and nothing else."""

from __future__ import annotations

import numpy as np


def random_cloud(rng: np.random.Generator, points: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Masses (points,) in kg and positions (points, 3) in m, off the origin and longer than wide."""
    masses = rng.uniform(0.05, 0.5, points)
    return masses, rng.normal(size=(points, 3)) * [0.1, 0.2, 0.4] + rng.uniform(-0.3, 0.3, 3)


def cloud_phi(masses: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Definition of phi: sums of m, m r and m (r'r - r r') over the points, entry by entry."""
    x, y, z = r.T
    return np.array(
        [
            masses.sum(),
            *(masses @ r),
            masses @ (y * y + z * z),
            -masses @ (x * y),
            -masses @ (x * z),
            masses @ (x * x + z * z),
            -masses @ (y * z),
            masses @ (x * x + y * y),
        ]
    )


def cloud_wrench(
    masses: np.ndarray,
    r: np.ndarray,
    specific_acceleration: np.ndarray,
    omega: np.ndarray,
    omega_dot: np.ndarray,
) -> np.ndarray:
    """Sum over the points of m (a - g) and r x m (a - g): what moves the cloud as a rigid body. (3,) each -> (6,)."""
    a = specific_acceleration + np.cross(omega_dot, r) + np.cross(omega, np.cross(omega, r))
    forces = masses[:, None] * a
    return np.concatenate([forces.sum(axis=0), np.cross(r, forces).sum(axis=0)])
