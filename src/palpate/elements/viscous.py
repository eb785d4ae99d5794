"""Viscous friction: a force in proportion to the speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from palpate.elements.element import Constant, Element, Parameter
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics


@dataclass(frozen=True, slots=True)
class Viscous(Element):
    """tau = b speed (paper, eq. wrench_hinge)."""

    name: str = "b_v"
    acts_on: str = "hinge"
    type: ClassVar[str] = "viscous"
    constant: ClassVar[Constant] = "damping"
    needs: ClassVar[str] = "move it at several speeds"
    dissipates: ClassVar[bool] = True

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The coefficient bears the element's name."""
        return (Parameter(self.name, self.unit("N m s/rad"), "positive"),)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The speed."""
        del z, fn
        return (k.coordinates[self.acts_on].speed,)
