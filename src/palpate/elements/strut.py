"""Gas struts: what holds a tailgate, a bed or an oven door open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from palpate.elements.element import Element, Parameter
from palpate.physics.functions import Functions, Scalar
from palpate.physics.motion import Kinematics


@dataclass(frozen=True, slots=True)
class GasStrut(Element):
    """It pushes its ends apart with F = force + rate (extended - l), l its length (the coordinate of `two-points`, m).

    `force` is that of the strut at the length `extended`, `rate` what it gains when it is pushed together: a gas spring
    over its stroke (ISO 11901: two forces at two lengths). Its friction is a `coulomb` and its end damping a
    `zone-damper` on the same coordinate. On an angle: a torque that grows towards smaller angles.
    """

    name: str = "strut"
    acts_on: str = "strut"
    extended: float = 0.5
    type: ClassVar[str] = "gas-strut"
    options: ClassVar[Mapping[str, str]] = {"extended": "rad"}
    natural_unit: ClassVar[str] = "m"
    stores: ClassVar[bool] = True
    needs: ClassVar[str] = "hold it still at more positions over the whole travel"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Force at full length, and rate."""
        return (
            Parameter(f"{self.name}_force", self.unit("N m"), "positive"),
            Parameter(f"{self.name}_rate", self.unit("N m/rad"), "positive"),
        )

    @property
    def words(self) -> tuple[str, ...]:
        """In words."""
        return ("push of the strut at full length", "rate of the strut")

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """One, and how far it is pushed together."""
        return 1.0, self.extended - k.coordinates[self.acts_on].position

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """What the person does not have to do."""
        return [[-f[0], -f[1]]]
