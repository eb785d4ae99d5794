"""Viscous friction: a force in proportion to the speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from palpate.elements.element import Parameter, Shape
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics


@dataclass(frozen=True, slots=True)
class Viscous:
    """tau = b speed (paper, eq. wrench_hinge)."""

    name: str = "b_v"
    acts_on: str = "hinge"
    type: ClassVar[str] = "viscous"
    dry: ClassVar[bool] = False
    dissipates: ClassVar[bool] = True
    shapes: ClassVar[tuple[Shape, ...]] = ()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The coefficient bears the element's name."""
        return (Parameter(self.name, "N m s/rad", "positive"),)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The speed."""
        del z, fn
        return (k.coordinates[self.acts_on].speed,)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """As it is."""
        return [[f[0]]]
