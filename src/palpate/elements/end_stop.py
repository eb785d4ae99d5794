"""An end stop: it pushes back once the coordinate has passed it, and never pulls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import radians
from typing import ClassVar, get_args

from palpate.elements.element import Element, Parameter, Shape, Side, Stop
from palpate.errors import UnknownName
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics


@dataclass(frozen=True, slots=True)
class EndStop(Element):
    """tau = k d + c d max(d', 0) against the motion, d = how far the stop is pressed (Hunt and Crossley 1975, without
    the pull of their damper on the way back).

    `at` rad or m; `side`: whether it ends the range at its highest or lowest value. The force does not jump at the
    first touch.
    """

    name: str = "stop"
    acts_on: str = "hinge"
    at: float = radians(95.0)
    side: Side = "highest"
    estimate: bool = False
    type: ClassVar[str] = "end-stop"
    options: ClassVar[Mapping[str, str]] = {"at": "rad"}
    contact: ClassVar[bool] = True
    needs: ClassVar[str] = "press it against the stop"

    def __post_init__(self) -> None:
        """Refuse a side that is none."""
        if self.side not in get_args(Side):
            raise UnknownName("side", str(self.side), get_args(Side), where=f"element {self.name!r}")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Stiffness and damping."""
        return (
            Parameter(f"{self.name}_k", self.unit("N m/rad"), "positive"),
            Parameter(f"{self.name}_c", self.unit("N m s/rad2"), "positive"),
        )

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Where it begins."""
        return (Shape("at", self.unit("rad"), self.at, free=self.estimate),)

    @property
    def stops(self) -> Stop:
        """Itself."""
        return Stop(self.at, self.side)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """How far it is pressed, and that times the speed of pressing; negative at the lowest end."""
        q = k.coordinates[self.acts_on]
        if self.side == "highest":
            pressed = fn.maximum(q.position - z["at"], 0.0)
            return (pressed, pressed * fn.maximum(q.speed, 0.0))
        pressed = fn.maximum(z["at"] - q.position, 0.0)
        return (-pressed, pressed * fn.minimum(q.speed, 0.0))
