"""Contacts push and never pull: end stops, and feet on the ground with their friction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import radians
from typing import ClassVar, get_args

from palpate.elements.element import Element, Parameter, Shape, Side, Stop
from palpate.errors import UnknownName
from palpate.physics.functions import Functions, Scalar
from palpate.physics.motion import Kinematics


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
    def words(self) -> tuple[str, ...]:
        """In words."""
        return ("stiffness of the stop", "damping of the stop")

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
