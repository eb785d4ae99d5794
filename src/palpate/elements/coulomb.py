"""Coulomb friction: a force that depends on the direction of motion only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from palpate.elements.element import Constant, Element, Parameter
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics


@dataclass(frozen=True, slots=True)
class Coulomb(Element):
    """tau = b sign(speed) (paper, eq. wrench_hinge); at rest anything from -b to b."""

    name: str = "b_c"
    acts_on: str = "hinge"
    type: ClassVar[str] = "coulomb"
    constant: ClassVar[Constant] = "friction"
    needs: ClassVar[str] = "move it slowly both ways"
    dry: ClassVar[bool] = True
    dissipates: ClassVar[bool] = True

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The coefficient bears the element's name."""
        return (Parameter(self.name, self.unit("N m"), "positive"),)

    def level(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The same at every speed."""
        del k, z, fn
        return (1.0,)
