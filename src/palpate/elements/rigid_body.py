"""A rigid body: ten inertial parameters, weight included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from palpate.elements.element import WRENCH, Element, Parameter
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar
from palpate.physics.inertia import PHI_NAMES, PHI_UNITS
from palpate.physics.kinematics import Kinematics
from palpate.physics.regressor import body_columns, body_features

_TEN = tuple(Parameter(name, unit, "inertia") for name, unit in zip(PHI_NAMES, PHI_UNITS, strict=True))


@dataclass(frozen=True, slots=True)
class RigidBody(Element):
    """w = A phi (paper, eq. wrench): N and N m in the body frame, about its origin."""

    name: str = "body"
    acts_on: str = field(default=WRENCH, init=False)
    type: ClassVar[str] = "rigid-body"
    stores: ClassVar[bool] = True
    inertial: ClassVar[bool] = True

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """phi."""
        return _TEN

    def phi(self, p: FloatArray) -> FloatArray:
        """Its own parameters."""
        return p

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """a - g, omega_dot, products of omega."""
        del z, fn
        return body_features(k)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """The body regressor."""
        return body_columns(f)
