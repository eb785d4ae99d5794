"""The inertia of what moves along one coordinate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from palpate.elements.element import Parameter, Shape
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics


@dataclass(frozen=True, slots=True)
class ScalarInertia:
    """tau = I acceleration (paper, eq. f_door_scalar): all that an upright hinge shows of a body.

    Use it or a rigid body for the same mass, not both.
    """

    name: str = "I"
    acts_on: str = "hinge"
    type: ClassVar[str] = "inertia"
    dry: ClassVar[bool] = False
    dissipates: ClassVar[bool] = False
    shapes: ClassVar[tuple[Shape, ...]] = ()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The moment of inertia about the axis."""
        return (Parameter(self.name, "kg m2", "positive"),)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The acceleration."""
        del z, fn
        return (k.coordinates[self.acts_on].acceleration,)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """As it is."""
        return [[f[0]]]
