"""A rigid body: ten inertial parameters, weight included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from palpate.elements.element import WRENCH, Parameter, Shape
from palpate.physics.functions import Functions, Scalar
from palpate.physics.inertia import PHI_NAMES, PHI_UNITS
from palpate.physics.kinematics import Kinematics
from palpate.physics.regressor import body_columns, body_features


@dataclass(frozen=True, slots=True)
class RigidBody:
    """w = A phi (paper, eq. wrench): N and N m in the body frame, about its origin."""

    name: str = "body"
    type: ClassVar[str] = "rigid-body"
    acts_on: ClassVar[str] = WRENCH
    dry: ClassVar[bool] = False
    dissipates: ClassVar[bool] = False
    shapes: ClassVar[tuple[Shape, ...]] = ()
    parameters: ClassVar[tuple[Parameter, ...]] = tuple(
        Parameter(name, unit, "inertia") for name, unit in zip(PHI_NAMES, PHI_UNITS, strict=True)
    )

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """a - g, omega_dot, products of omega."""
        del z, fn
        return body_features(k)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """The body regressor."""
        return body_columns(f)
