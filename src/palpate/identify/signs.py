"""Signs first: what the data say before anything constrains them.

A log-Cholesky map turns a wrong sign into a consistent, wrong answer; an unconstrained fit shows it as a negative mass.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from palpate.model import Model
from palpate.physics.arrays import FloatArray, least_squares
from palpate.physics.inertia import PSEUDO_OF_PHI, mass_properties, principal_moments

SURE = 4.0
"""Standard deviations by which a number must be impossible before anything is accused."""
BEYOND = 0.1
"""A body may come out flatter than nothing by this share of its length, from small errors of geometry alone."""


def unconstrained(R: FloatArray) -> FloatArray:
    """Plain least squares on the weighted factor of [Y | y]; zero where the motion never touches a column."""
    X, y = R[:, :-1], R[:, -1]
    scale = np.linalg.norm(X, axis=0)
    scale[scale == 0] = 1.0
    return least_squares(X / scale, y, rcond=1e-10) / scale


def sign_problems(model: Model, p: FloatArray, covariance: Callable[[], FloatArray]) -> tuple[str, ...]:
    """What the unconstrained fit p has that no object can have, with the likely cause.

    covariance: of p, asked for only where something is negative; what noise alone can do is not accused.
    """
    told: list[str] = []
    for i, (name, parameter) in enumerate(model.parameters.items()):
        if parameter.map == "inertia" and parameter.name == "m":
            part = slice(i, i + 10)
            told += _inertia_problems(p[part], lambda part=part: covariance()[part, part])
        elif parameter.map == "positive" and p[i] < 0 and p[i] < -SURE * np.sqrt(covariance()[i, i]):
            told.append(f"without constraints {name} = {p[i]:.3g} {parameter.unit} is negative: look for a wrong sign")
    return tuple(told)


def _inertia_problems(phi: FloatArray, covariance: Callable[[], FloatArray]) -> list[str]:
    if phi[0] <= 0:
        if phi[0] > -SURE * np.sqrt(covariance()[0, 0]):
            return []
        return [
            f"without constraints the mass is {phi[0]:.3g} kg: the wrench has the wrong sign (recordings.wrench.sign), "
            "or the rotation of the IMU is wrong"
        ]
    _, com, I = mass_properties(phi)
    values, axes = np.linalg.eigh(0.5 * np.trace(I) * np.eye(3) - I)  # how far the mass spreads along each axis
    if values[0] > -BEYOND * values[-1]:
        return []
    # of a spread along v about the centre of mass: w' dJ w with w = [v; -v'c]
    w = np.append(axes[:, 0], -axes[:, 0] @ com)
    slope = np.einsum("i,kij,j->k", w, PSEUDO_OF_PHI, w)
    if values[0] > -SURE * np.sqrt(slope @ covariance() @ slope):
        return []
    a, b, c = principal_moments(phi)[0]
    what = (
        f"a principal moment of inertia is {a:.3g} kg m2 beside {c:.3g}"
        if a < 0
        else f"the principal moments of inertia are {a:.3g}, {b:.3g} and {c:.3g} kg m2, one larger than the others' sum"
    )
    return [
        f"without constraints {what}: look for a wrong sign, a swapped axis, a left-handed frame or a wrong lever arm "
        "of the IMU"
    ]
