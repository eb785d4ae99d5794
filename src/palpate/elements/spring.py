"""A spring whose force is a polynomial of the coordinate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from palpate.elements.element import Element, Parameter
from palpate.errors import PalpateError
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics

_HIGHEST = 9


@dataclass(frozen=True, slots=True)
class PolynomialSpring(Element):
    """The spring drives the coordinate with tau_s = c_0 + c_1 x + c_2 x^2 + ..., x = q - reference (paper, eq.
    tau_spring).

    It helps the person where tau_s is positive, so its columns are negative. `reference` in rad or m: another one
    describes the same springs with other coefficients.
    """

    name: str = "spring"
    acts_on: str = "hinge"
    order: int = 3
    reference: float = 0.0
    type: ClassVar[str] = "spring"
    options: ClassVar[Mapping[str, str]] = {"reference": "rad"}
    choices: ClassVar[Mapping[str, tuple[int, ...]]] = {"order": (2, 3, 4, 5)}
    stores: ClassVar[bool] = True
    needs: ClassVar[str] = "hold it still at more positions over the whole travel"

    def __post_init__(self) -> None:
        """Refuse what is no order."""
        if type(self.order) is not int or not 0 <= self.order <= _HIGHEST:
            raise PalpateError(
                f"element {self.name!r}: order must be a whole number from 0 to {_HIGHEST}, not {self.order!r}"
            )

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """c_0 (preload), c_1 (minus the stiffness), ..."""
        units = ["N m", "N m/rad", *(f"N m/rad{i}" for i in range(2, self.order + 1))]
        return tuple(Parameter(f"c_{i}", self.unit(units[i]), "free") for i in range(self.order + 1))

    @property
    def polynomial(self) -> tuple[float, int]:
        """Its reference and order."""
        return self.reference, self.order

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """Powers of the coordinate."""
        del z, fn
        x = k.coordinates[self.acts_on].position - self.reference
        powers: list[Scalar] = [1.0]
        for _ in range(self.order):
            powers.append(powers[-1] * x)
        return powers

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """What the person does not have to do."""
        return [[-power for power in f]]
