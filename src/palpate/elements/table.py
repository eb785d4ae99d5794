"""A free table over the angle, for objects that nobody has modelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from palpate.elements.bases import DEFAULT_KNOTS, checked_knots, hats
from palpate.elements.element import Element, Parameter
from palpate.errors import PalpateError
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics


@dataclass(frozen=True, slots=True)
class Table(Element):
    """tau(q), piecewise linear, tau_i at knot i: what it takes to hold the object there; constant beyond the ends.

    Positive where the object pushes back, such as a spring that closes a door: minus the force of `PolynomialSpring`.
    Knots in rad or m. `smooth` (N m or N): a prior by which a knot lies on the straight line between its neighbours,
    give or take this standard deviation; 0 is none.
    """

    name: str = "table"
    acts_on: str = "hinge"
    knots: tuple[float, ...] = DEFAULT_KNOTS
    smooth: float = 0.0
    type: ClassVar[str] = "table"
    options: ClassVar[Mapping[str, str]] = {"knots": "rad", "smooth": "N m"}
    stores: ClassVar[bool] = True
    needs: ClassVar[str] = "hold it still at more positions over the whole travel"

    def __post_init__(self) -> None:
        """Refuse knots out of order."""
        object.__setattr__(self, "knots", checked_knots(self.knots, self.name))
        if not self.smooth >= 0:
            raise PalpateError(f"element {self.name!r}: smooth must be a torque of at least 0 N m, not {self.smooth!r}")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """One moment per knot."""
        return tuple(Parameter(f"tau_{i}", self.unit("N m"), "free") for i in range(len(self.knots)))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The knots."""
        return self.knots

    @property
    def roughness(self) -> list[list[float]]:
        """How far each inner knot is off that line, in standard deviations: rows over the parameters."""
        rows: list[list[float]] = []
        for i in range(1, len(self.knots) - 1) if self.smooth > 0 else ():
            before, at, after = self.knots[i - 1 : i + 2]
            share = (after - at) / (after - before)
            row = [0.0] * len(self.knots)
            row[i - 1], row[i], row[i + 1] = -share / self.smooth, 1 / self.smooth, (share - 1) / self.smooth
            rows.append(row)
        return rows

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The shape functions at this angle."""
        del z
        return hats(k.coordinates[self.acts_on].position, self.knots, fn)
