"""Right-handed axes around one direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from palpate.errors import DataProblem
from palpate.physics.arrays import FloatArray

_FLATTEST = 0.1
"""Smallest sine (or cosine) of an angle from which a direction or a sign is taken."""


def across(z: FloatArray) -> FloatArray:
    """Two unit vectors x, y with x, y, z right-handed: (3, 2)."""
    x = np.eye(3)[int(np.abs(z).argmin())]
    return axes_of(x, z)[:, :2]


def axes_of(v: ArrayLike, z: FloatArray) -> FloatArray:
    """Axes (3, 3) with the unit vector z last and x in the direction of v, made orthogonal."""
    x = np.asarray(v, dtype=float)
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    return np.asarray(np.column_stack([x, np.cross(z, x), z]), dtype=float)


def is_reversed(z: FloatArray, side: ArrayLike, what: str) -> bool:
    """Whether z points away from the stated side; refused where that side is nearly across z."""
    v = np.asarray(side, dtype=float)
    cosine = float(z @ v) / max(float(np.linalg.norm(v)), 1e-300)
    if not abs(cosine) >= _FLATTEST:
        raise DataProblem(
            what,
            f"the direction in which z should point is {np.degrees(np.arccos(abs(cosine))):.0f} deg off the axis and "
            "does not tell its sign",
            remedy="state one along the axis",
        )
    return cosine < 0


def sine(v: FloatArray, z: FloatArray) -> float:
    """Sine of the angle between v and the unit vector z; 0 where v is zero."""
    return float(np.linalg.norm(v - (v @ z) * z)) / max(float(np.linalg.norm(v)), 1e-300)
