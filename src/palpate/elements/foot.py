"""A foot on the ground, for the forward model: it pushes up once it is below the ground, and rubs along it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from palpate.elements.element import Element, Parameter, Shape
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics


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

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """How far it is pressed, and that times the speed of pressing; negative, since the ground pushes up."""
        del z
        q = k.coordinates[self.acts_on]
        pressed = fn.maximum(-q.position, 0.0)
        return (-pressed, pressed * fn.minimum(q.speed, 0.0))


@dataclass(frozen=True, slots=True)
class FootFriction(Element):
    """Coulomb friction mu k d of a pressed foot along one direction of the ground, `foot_1_ahead` or `foot_1_aside`.

    `stiffness`: k of the foot, N/m. Two directions make a box of the cone: at 45 deg to them it holds sqrt 2 more.
    """

    name: str = "mu"
    acts_on: str = "foot_1_ahead"
    stiffness: float = 1e5
    type: ClassVar[str] = "foot-friction"
    options: ClassVar[Mapping[str, str]] = {"stiffness": "N/m"}
    natural_unit: ClassVar[str] = "m"
    ground: ClassVar[bool] = True
    dry: ClassVar[bool] = True
    dissipates: ClassVar[bool] = True

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The coefficient of friction bears the element's name."""
        return (Parameter(self.name, "1", "positive"),)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The stiffness of the foot."""
        return (Shape("stiffness", "N/m", self.stiffness, bounds=(0.0, 1e12)),)

    def level(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The spring's part of the normal force; the position of a slip is the foot's height."""
        return (z["stiffness"] * fn.maximum(-k.coordinates[self.acts_on].position, 0.0),)
