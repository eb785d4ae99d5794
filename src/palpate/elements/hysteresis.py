"""Hysteresis: dry friction whose level depends on the angle, the same forth and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from palpate.elements.bases import DEFAULT_KNOTS, bernstein, checked_knots, hats
from palpate.elements.element import Element, Parameter
from palpate.errors import UnknownName
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics

Basis = Literal["hats", "polynomial"]


@dataclass(frozen=True, slots=True)
class Hysteresis(Element):
    """tau = h(q) sign(speed), h >= 0: opening needs h more than the mean spring, closing gives h less.

    h is piecewise linear with the value h_i at knot i ("hats"), or a polynomial of order len(knots) - 1 between the
    first and the last knot, in Bernstein's form, so that positive h_i make it positive. Constant beyond the ends.
    Whatever the h_i, no energy comes out of it, as it would of two free springs for opening and closing. Knots in
    rad or m.
    """

    name: str = "hysteresis"
    acts_on: str = "hinge"
    knots: tuple[float, ...] = DEFAULT_KNOTS
    basis: Basis = "hats"
    type: ClassVar[str] = "hysteresis"
    options: ClassVar[Mapping[str, str]] = {"knots": "rad"}
    optional: ClassVar[str] = "hysteresis"
    needs: ClassVar[str] = "move it slowly both ways"
    dry: ClassVar[bool] = True
    dissipates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse knots out of order."""
        object.__setattr__(self, "knots", checked_knots(self.knots, self.name))
        if self.basis not in get_args(Basis):
            raise UnknownName("basis", str(self.basis), get_args(Basis), where=f"element {self.name!r}")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """One level per knot."""
        return tuple(Parameter(f"h_{i}", self.unit("N m"), "positive") for i in range(len(self.knots)))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The knots."""
        return self.knots

    def level(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The shape functions at this angle."""
        del z
        basis = hats if self.basis == "hats" else bernstein
        return basis(k.coordinates[self.acts_on].position, self.knots, fn)
