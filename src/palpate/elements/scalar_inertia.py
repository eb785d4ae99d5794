"""The inertia of what moves along one coordinate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from palpate.elements.element import Constant, Element, Parameter
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics


@dataclass(frozen=True, slots=True)
class ScalarInertia(Element):
    """tau = I acceleration (paper, eq. f_door_scalar): all that an upright hinge shows of a body.

    Along a length it is a mass. Use it or a rigid body for the same mass, not both.
    """

    name: str = "I"
    acts_on: str = "hinge"
    type: ClassVar[str] = "inertia"
    inertial: ClassVar[bool] = True
    constant: ClassVar[Constant] = "inertia"
    needs: ClassVar[str] = "shake it faster"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The moment of inertia about the axis, or the mass along a length."""
        return (Parameter(self.name, self.unit("kg m2"), "positive"),)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The acceleration."""
        del z, fn
        return (k.coordinates[self.acts_on].acceleration,)
