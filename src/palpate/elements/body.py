"""Bodies: what needs a force to accelerate or to be held up; and the zero of the sensor that weighs them."""

# pyright: reportIncompatibleMethodOverride=false
# what the interface asks as a property may be a constant
from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, cast

import numpy as np

from palpate.elements.element import SENSOR, WRENCH, Constant, Element, Parameter, Shape
from palpate.errors import PalpateError
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar, dot
from palpate.physics.inertia import PHI_NAMES, PHI_UNITS, body_columns, body_features
from palpate.physics.motion import Kinematics, Triple

_TEN_WORDS = (
    "mass",
    *(f"centre of mass, {axis}" for axis in "xyz"),
    *(f"{'moment' if a == b else 'product'} of inertia, {a}{b}" for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")),
)
_TEN = tuple(Parameter(name, unit, "inertia") for name, unit in zip(PHI_NAMES, PHI_UNITS, strict=True))


@dataclass(frozen=True, slots=True)
class RigidBody(Element):
    """w = A phi (paper, eq. wrench): N and N m in the body frame, about its origin."""

    name: str = "body"
    acts_on: str = field(default=WRENCH, init=False)
    type: ClassVar[str] = "rigid-body"
    stores: ClassVar[bool] = True
    weighs: ClassVar[bool] = True
    inertial: ClassVar[bool] = True
    parameters: ClassVar[tuple[Parameter, ...]] = _TEN

    @property
    def words(self) -> tuple[str, ...]:
        """As on a drawing: mass, centre and matrix of inertia."""
        return _TEN_WORDS

    def phi(self, p: FloatArray) -> FloatArray:
        """Its own parameters."""
        return p

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """a - g, omega_dot, products of omega."""
        return body_features(k)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """The body regressor."""
        return body_columns(f)


@dataclass(frozen=True, slots=True)
class ScalarInertia(Element):
    """tau = I acceleration (paper, eq. f_door_scalar): all that an upright hinge shows of a body.

    Along a length it is a mass. Use it or a rigid body for the same mass, not both.
    """

    name: str = "I"
    acts_on: str = "hinge"
    type: ClassVar[str] = "inertia"
    coefficient: ClassVar[str] = "kg m2"
    inertial: ClassVar[bool] = True
    constant: ClassVar[Constant] = "inertia"
    needs: ClassVar[str] = "shake it faster"

    @property
    def words(self) -> tuple[str, ...]:
        """Along a length a mass."""
        return ("moment of inertia" if self.unit("rad") == "rad" else "mass",)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The acceleration."""
        return (k.coordinates[self.acts_on].acceleration,)


@dataclass(frozen=True, slots=True)
class Gravity(Element):
    """tau = mc_x s_y - mc_y s_x with s = -g in the body frame, whose origin is on the axis z: row n_z of a rigid body.

    mc_x, mc_y: mass times position of the centre of mass across the axis. An upright hinge does not show them, a rigid
    body contains them. Along a length (a slide, the travel of a screw): f = m_g s along it, where m_g is the mass
    that no counterweight balances.
    """

    name: str = "gravity"
    acts_on: str = "hinge"
    direction: Triple = field(default=(1.0, 0.0, 0.0), init=False, repr=False, compare=False)
    """Of a length, in the body frame; set by `on`."""
    type: ClassVar[str] = "gravity"
    stores: ClassVar[bool] = True
    weighs: ClassVar[bool] = True
    needs: ClassVar[str] = "move it slowly through more of its travel"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Mass times place across the axis, or the mass."""
        if self._along_a_length:
            return (Parameter("m_g", "kg", "free"),)
        return (Parameter("mc_x", "kg m", "free"), Parameter("mc_y", "kg m", "free"))

    @property
    def words(self) -> tuple[str, ...]:
        """In words."""
        if self._along_a_length:
            return ("mass that weight drives",)
        return ("mass times x of its centre", "mass times y of its centre")

    @property
    def _along_a_length(self) -> bool:
        return self.unit("rad") != "rad"

    def phi(self, p: FloatArray) -> FloatArray | None:
        """The first moments across the axis."""
        return None if self._along_a_length else np.concatenate([[0.0], p, np.zeros(7)])

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """a - g across the axis, or what gravity has of it along a length."""
        if self._along_a_length:
            return (dot(self.direction, k.specific_acceleration) - k.coordinates[self.acts_on].acceleration,)
        return k.specific_acceleration[:2]

    def on(self, coordinates: Mapping[str, str], directions: Mapping[str, Triple] | None = None) -> Self:
        """Along a length in the direction that the mechanism says; refused where it says none."""
        other = copy(self)
        if directions is not None and coordinates.get(self.acts_on) == "m":
            if self.acts_on not in directions:
                wrong = f"the mechanism does not say in which direction {self.acts_on!r} goes"
                known = ", ".join(directions) or "none"
                raise PalpateError(f"element {self.name!r}: {wrong}; it says so of {known}")
            object.__setattr__(other, "direction", directions[self.acts_on])
        return cast("Self", Element.on(other, coordinates))

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """The moment of unit mass at unit distance, or the force on unit mass."""
        return [[f[0]]] if self._along_a_length else [[f[1], -f[0]]]


_LEAST_M, _LARGEST_M = 1e-3, 10.0


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
    effect: ClassVar[str] = "inertia of a wheel about its axle"
    coefficient: ClassVar[str] = "kg m2"
    options: ClassVar[Mapping[str, str]] = {"radius": "m"}
    inertial: ClassVar[bool] = True
    spin: ClassVar[bool] = True
    looks_at: ClassVar[tuple[str, ...]] = ("wheel", "camber", "pitch")
    needs: ClassVar[str] = "push and pull it with faster starts and stops"

    def __post_init__(self) -> None:
        """Refuse a radius that is none."""
        if not _LEAST_M <= self.radius <= _LARGEST_M:
            raise PalpateError(
                f"element {self.name!r}: the radius must be from {_LEAST_M:g} to {_LARGEST_M:g} m, not {self.radius!r}"
            )

    def check_wheel(self, radius: float) -> None:
        """Refuse a mechanism whose wheel has another radius: the force ahead would belong to neither."""
        if abs(radius - self.radius) > 1e-6 * radius:
            raise PalpateError(
                f"element {self.name!r}: its radius {self.radius:g} m is not the mechanism's, {radius:g} m: it is the "
                "same wheel, so both must agree"
            )

    def on_wheel(self, radius: float) -> Self:
        """The same inertia of a wheel with another radius."""
        return replace(self, radius=radius)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The wheel's radius."""
        return (Shape("radius", "m", self.radius, bounds=(_LEAST_M, _LARGEST_M)),)

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


_SIX = tuple(
    Parameter(f"bias_{axis}", unit, "free")
    for axis, unit in zip(("f_x", "f_y", "f_z", "n_x", "n_y", "n_z"), ["N"] * 3 + ["N m"] * 3, strict=True)
)


@dataclass(frozen=True, slots=True)
class SensorBias(Element):
    """w = ... + b (paper, eq. optimization): N and N m in the sensor frame."""

    name: str = "bias"
    acts_on: str = field(default=SENSOR, init=False)
    type: ClassVar[str] = "sensor-bias"
    instrument: ClassVar[bool] = True
    parameters: ClassVar[tuple[Parameter, ...]] = _SIX

    @property
    def words(self) -> tuple[str, ...]:
        """Axis by axis."""
        return tuple(f"zero of the sensor, {p.name.removeprefix('bias_')}" for p in self.parameters)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """One, whatever the motion."""
        return (1.0,)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """The unit matrix times the feature."""
        return [[f[0] if i == j else 0.0 for j in range(6)] for i in range(6)]
