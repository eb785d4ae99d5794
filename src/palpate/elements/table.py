"""A free table over the angle, for objects that nobody has modelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from palpate.elements.bases import DEFAULT_KNOTS, checked_knots, hats
from palpate.elements.element import Parameter, Shape
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics


@dataclass(frozen=True, slots=True)
class Table:
    """tau(q), piecewise linear, tau_i at knot i: what it takes to hold the object there; constant beyond the ends.

    Positive where the object pushes back, such as a spring that closes a door: minus the force of `PolynomialSpring`.
    Knots in rad; they and the tau_i in their order are what a prior of smoothness needs.
    """

    name: str = "table"
    acts_on: str = "hinge"
    knots: tuple[float, ...] = DEFAULT_KNOTS
    type: ClassVar[str] = "table"
    dry: ClassVar[bool] = False
    dissipates: ClassVar[bool] = False
    shapes: ClassVar[tuple[Shape, ...]] = ()

    def __post_init__(self) -> None:
        """Refuse knots out of order."""
        object.__setattr__(self, "knots", checked_knots(self.knots, self.name))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """One moment per knot."""
        return tuple(Parameter(f"tau_{i}", "N m", "free") for i in range(len(self.knots)))

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The shape functions at this angle."""
        del z
        return hats(k.coordinates[self.acts_on].position, self.knots, fn)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """As they are."""
        return [list(f)]
