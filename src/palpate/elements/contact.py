"""Contacts push and never pull: end stops, and feet on the ground with their friction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import radians
from typing import ClassVar, Self, cast, get_args

import numpy as np

from palpate.elements.element import Element, Parameter, Shape, Side, Stop
from palpate.errors import PalpateError, UnknownName
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar
from palpate.physics.motion import Kinematics, Triple

_USUAL = radians(95.0)
"""Of a door; along a length nothing is usual."""
_TAIL = 0.002
"""Share of the samples at the end of the range that is not enough to see where a stop begins."""


@dataclass(frozen=True, slots=True)
class EndStop(Element):
    """tau = k d + c d max(d', 0) against the motion, d = how far the stop is pressed (Hunt and Crossley 1975, without
    the pull of their damper on the way back).

    `at` rad or m, along a length to be stated; `side`: whether it ends the range at its highest or lowest value. The
    force does not jump at the first touch. `estimate`: where it begins is looked for in that half of the range.
    """

    name: str = "stop"
    acts_on: str = "hinge"
    at: float = _USUAL
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
    def words(self) -> tuple[str, ...]:
        """In words."""
        return ("stiffness of the stop", "damping of the stop")

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Where it begins."""
        return (Shape("at", self.unit("rad"), self.at, free=self.estimate),)

    def on(self, coordinates: Mapping[str, str], directions: Mapping[str, Triple] | None = None) -> Self:
        """Refuse along a length what nobody stated: where it is."""
        along = coordinates.get(self.acts_on, "rad")
        if directions is not None and along != "rad" and self.at == _USUAL:  # else it is asked for its units only
            raise PalpateError(f"element {self.name!r}: at is missing: say where the stop is, such as at: 400 mm")
        return cast("Self", Element.on(self, coordinates, directions))

    @property
    def borders(self) -> tuple[str, ...]:
        """Where it begins."""
        return ("at",)

    @property
    def sees(self) -> tuple[str, ...]:
        """Its end of the range."""
        return (self.acts_on, self.side)

    def visited(self, k: Kinematics) -> tuple[FloatArray, tuple[float, float]]:
        """Positions, on its side of the middle; the outermost samples are not enough to see where it begins."""
        tails = (0.5, 1 - _TAIL) if self.side == "highest" else (_TAIL, 0.5)
        return np.asarray(k.coordinates[self.acts_on].position, dtype=float), tails

    def limits(self, shape: Shape, visited: tuple[float, float]) -> tuple[float, float]:
        """That half of the range."""
        return visited

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


@dataclass(frozen=True, slots=True)
class Foot(Element):
    """N = k d + c d max(d', 0), d = max(0, -height) (Hunt and Crossley 1975, without the pull of their damper on the
    way back); the paper's delta_LF is the height.
    """

    name: str = "foot"
    acts_on: str = "foot_1"
    type: ClassVar[str] = "foot"
    natural_unit: ClassVar[str] = "m"
    ground: ClassVar[bool] = True
    contact: ClassVar[bool] = True

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Stiffness and damping."""
        return (Parameter(f"{self.name}_k", "N/m", "positive"), Parameter(f"{self.name}_c", "N s/m2", "positive"))

    @property
    def words(self) -> tuple[str, ...]:
        """In words."""
        return ("stiffness of a foot", "damping of a foot")

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """How far it is pressed, and that times the speed of pressing; negative, since the ground pushes up."""
        q = k.coordinates[self.acts_on]
        pressed = fn.maximum(-q.position, 0.0)
        return (-pressed, pressed * fn.minimum(q.speed, 0.0))


@dataclass(frozen=True, slots=True)
class FootFriction(Element):
    """Coulomb friction mu k d of a pressed foot along one direction of the ground, `foot_1_ahead` or `foot_1_aside`.

    `stiffness`: k of the foot, N/m. Two directions turn the cone into a box: at 45 deg it holds sqrt 2 times as much.
    """

    name: str = "mu"
    acts_on: str = "foot_1_ahead"
    stiffness: float = 1e5
    type: ClassVar[str] = "foot-friction"
    effect: ClassVar[str] = "friction coefficient of a foot"
    coefficient: ClassVar[str] = "1"
    options: ClassVar[Mapping[str, str]] = {"stiffness": "N/m"}
    natural_unit: ClassVar[str] = "m"
    ground: ClassVar[bool] = True
    dry: ClassVar[bool] = True
    dissipates: ClassVar[bool] = True

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The stiffness of the foot."""
        return (Shape("stiffness", "N/m", self.stiffness, bounds=(0.0, 1e12)),)

    def level(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The spring's part of the normal force; the position of a slip is the foot's height."""
        return (z["stiffness"] * fn.maximum(-k.coordinates[self.acts_on].position, 0.0),)
