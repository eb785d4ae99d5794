"""Signs first: what the data say before anything constrains them.

A log-Cholesky map turns a wrong sign into a consistent, wrong answer; an unconstrained fit shows it as a negative mass.
"""

from __future__ import annotations

import numpy as np

from palpate.model import Model
from palpate.physics.arrays import FloatArray, least_squares
from palpate.physics.inertia import mass_properties


def unconstrained(R: FloatArray) -> FloatArray:
    """Plain least squares on the weighted factor of [Y | y]; zero where the motion never touches a column."""
    X, y = R[:, :-1], R[:, -1]
    scale = np.linalg.norm(X, axis=0)
    scale[scale == 0] = 1.0
    return least_squares(X / scale, y, rcond=1e-10) / scale


def sign_problems(model: Model, p: FloatArray) -> tuple[str, ...]:
    """What the unconstrained fit p has that no object can have, with the likely cause."""
    told: list[str] = []
    for i, (name, parameter) in enumerate(model.parameters.items()):
        if parameter.map == "inertia" and parameter.name == "m":
            told += _inertia_problems(p[i : i + 10])
        elif parameter.map == "positive" and p[i] < 0:
            told.append(f"without constraints {name} = {p[i]:.3g} {parameter.unit} is negative: look for a wrong sign")
    return tuple(told)


def _inertia_problems(phi: FloatArray) -> list[str]:
    if phi[0] <= 0:
        return [
            f"without constraints the mass is {phi[0]:.3g} kg: the wrench has the wrong sign (recordings.wrench.sign), "
            "or the rotation of the IMU is wrong"
        ]
    moments = np.linalg.eigvalsh(mass_properties(phi).inertia_com)
    if moments[0] < -0.2 * moments[-1]:
        return [
            f"without constraints a principal moment of inertia is {moments[0]:.3g} kg m2 beside {moments[-1]:.3g}: "
            "look for a wrong sign, a swapped axis, a left-handed frame or a wrong lever arm of the IMU"
        ]
    return []
