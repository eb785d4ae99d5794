"""What a spinning wheel adds to a body that it is lumped with: the inertia of its spin and its gyroscopic moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from palpate.elements.element import WRENCH, Element, Parameter, Shape
from palpate.errors import PalpateError
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics

_SMALLEST, _LARGEST = 1e-3, 10.0
_SAME = 1e-6


@dataclass(frozen=True, slots=True)
class WheelSpin(Element):
    """I_w d/dt (Omega z_B) = I_w (Omega' z_B + omega x Omega z_B), Omega the wheel's speed about its axle z_B.

    Omega counts from the world, not from the body: the ten parameters of the body hold the wheel with its mass and its
    inertia across the axle, but Izz without I_w. Rolling wheels need the ground's force F = -I_w Omega' / (R cos
    camber) ahead to spin up; the hands must bring as much, so that the column is the moment together with -F at the
    contact. `radius`: that of the mechanism, m.
    """

    name: str = "I_w"
    radius: float = 0.197
    acts_on: str = field(default=WRENCH, init=False)
    type: ClassVar[str] = "wheel-spin"
    options: ClassVar[Mapping[str, str]] = {"radius": "m"}
    inertial: ClassVar[bool] = True
    spin: ClassVar[bool] = True
    needs: ClassVar[str] = "push and pull it with faster starts and stops"

    def __post_init__(self) -> None:
        """Refuse a radius that is none."""
        if not _SMALLEST <= self.radius <= _LARGEST:
            raise PalpateError(
                f"element {self.name!r}: the radius must be from {_SMALLEST:g} to {_LARGEST:g} m, not {self.radius!r}"
            )

    def check_wheel(self, radius: float) -> None:
        """Refuse a mechanism whose wheel has another radius: the force ahead would belong to neither."""
        if abs(radius - self.radius) > _SAME * radius:
            raise PalpateError(
                f"element {self.name!r}: its radius {self.radius:g} m is not the mechanism's, {radius:g} m: it is one "
                "wheel, state the same for both"
            )

    def on_wheel(self, radius: float) -> Self:
        """The same inertia of a wheel with another radius."""
        return replace(self, radius=radius)

    @property
    def looks_at(self) -> tuple[str, ...]:
        """How the wheel turns, and how it stands."""
        return ("wheel", "camber", "pitch")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The moment of inertia about the axle bears the element's name."""
        return (Parameter(self.name, "kg m2", "positive"),)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The wheel's radius."""
        return (Shape("radius", "m", self.radius, bounds=(_SMALLEST, _LARGEST)),)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """Force ahead in B, and the moment about the axle's middle: none about the axle, which passes no moment."""
        wheel = k.coordinates["wheel"]
        camber, pitch = k.coordinates["camber"].position, k.coordinates["pitch"].position
        sp, cp = fn.sin(pitch), fn.cos(pitch)
        turned = wheel.acceleration / fn.cos(camber)
        ahead = turned / z["radius"]
        lean = turned * fn.sin(camber)
        x = wheel.speed * k.omega[1] - lean * cp
        y = lean * sp - wheel.speed * k.omega[0]
        return (-ahead * sp, -ahead * cp, x, y)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """Forces, then moments."""
        return [[f[0]], [f[1]], [0.0], [f[2]], [f[3]], [0.0]]
