"""Friction that grows with what presses on a guide: bearings under a pull, rails under a hand, a wheel on its floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from palpate.elements.element import Element, Parameter
from palpate.errors import PalpateError
from palpate.physics.functions import Functions, Scalar, dot
from palpate.physics.motion import Kinematics, Triple


@dataclass(frozen=True, slots=True)
class LoadedFriction(Element):
    """tau = mu N sign(speed), N = |F - mass (a - g)|: F is the hand's force across the free direction (Amontons' law),
    of a screw along its axis, which the thread bears.

    F is measured, so tau is linear in mu: a plain number along a length; about an axis the radius of the bearing times
    it, of a wheel the lever arm of its rolling resistance (m). `mass` (kg) is what the guide carries of the object, so
    that a hand that lifts a drawer takes load off its rails and one that lifts a barrow off its wheel; 0: F alone,
    beside a `coulomb` for the rest. They are not estimated: mu mass would be a product of two unknowns. `com` (m, in
    the body's frame): where that mass is, whose acceleration a counts. `lever` (m, about an axis): where the hand is,
    if only its torque was measured; that then counts as F = torque / lever. A step takes accelerations for zero here.
    """

    name: str = "mu"
    acts_on: str = "hinge"
    mass: float = 0.0
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    lever: float = 0.0
    type: ClassVar[str] = "load-friction"
    effect: ClassVar[str] = "friction that follows the load"
    options: ClassVar[Mapping[str, str]] = {"mass": "kg", "com": "m", "lever": "m"}
    needs: ClassVar[str] = "press more and less across the motion while it moves both ways"
    uses_load: ClassVar[bool] = True
    dry: ClassVar[bool] = True
    dissipates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse what is no mass, no place and no lever."""
        for option in ("mass", "lever"):
            value = getattr(self, option)
            if not 0 <= value < float("inf"):
                raise PalpateError(f"element {self.name!r}: {option} must not be negative, it is {value:g}")

        try:
            x, y, z = (float(part) for part in self.com)
        except (TypeError, ValueError):
            raise PalpateError(f"element {self.name!r}: com must be a place [x, y, z] in m, not {self.com!r}") from None
        object.__setattr__(self, "com", (x, y, z))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The coefficient of friction, about an axis times a radius."""
        return (Parameter(self.name, "m" if self.unit("rad") == "rad" else "1", "positive"),)

    @property
    def uses_effort(self) -> bool:
        """With a lever."""
        return self.lever > 0

    def on(self, coordinates: Mapping[str, str], directions: Mapping[str, Triple] | None = None) -> Self:
        """Refuse a lever where nothing turns."""
        if self.lever > 0 and coordinates.get(self.acts_on, "rad") != "rad":
            wrong = f"lever is for an axis, and {self.acts_on!r} is a length"
            raise PalpateError(f"element {self.name!r}: {wrong}; leave it out and record the force across")
        return super(LoadedFriction, self).on(coordinates, directions)

    def level(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """What presses on the guide, N."""
        load = k.loads[self.acts_on]
        if self.lever > 0:
            return ((fn.abs(load.along) if load.side is None else load.along * load.side) / self.lever,)
        felt = self._felt(k)
        pressed = [f - self.mass * dot(axis, felt) for f, axis in zip(load.across, load.axes, strict=True)]
        if len(pressed) == 1:
            return (fn.abs(pressed[0]),)
        return (fn.sqrt(sum(x * x for x in pressed)),)

    def _felt(self, k: Kinematics) -> Triple:
        """a - g where the mass is: a + omega' x c + omega x (omega x c)."""
        a, w = k.specific_acceleration, k.omega
        moved = (_cross(k.omega_dot, self.com), _cross(w, _cross(w, self.com))) if any(self.com) else ()
        x, y, z = (sum((part[i] for part in moved), start=a[i]) for i in range(3))
        return (x, y, z)


def _cross(a: Triple, b: Triple) -> Triple:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
