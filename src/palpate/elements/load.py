"""Friction that grows with what presses on a guide: bearings under a pull, rails under a hand, a wheel on its floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from palpate.elements.element import Element, Parameter
from palpate.errors import PalpateError
from palpate.physics.functions import Functions, Scalar
from palpate.physics.motion import Kinematics


@dataclass(frozen=True, slots=True)
class LoadedFriction(Element):
    """tau = mu N sign(speed), N = |F - mass (a - g)|: F is the hand's force across the free direction (Amontons' law).

    F is measured, so tau is linear in mu: a plain number along a length, about an axis the radius of the bearing times
    it (m). `mass` (kg) is what the guide carries of the object, so that a hand that lifts a drawer takes load off its
    rails; 0: F alone, beside a `coulomb` for the rest. `lever` (m, about an axis): where the hand is, if only its
    torque was measured; that then counts as F = torque / lever.
    """

    name: str = "mu"
    acts_on: str = "hinge"
    mass: float = 0.0
    lever: float = 0.0
    type: ClassVar[str] = "load-friction"
    options: ClassVar[Mapping[str, str]] = {"mass": "kg", "lever": "m"}
    needs: ClassVar[str] = "press more and less across the motion while it moves both ways"
    uses_load: ClassVar[bool] = True
    dry: ClassVar[bool] = True
    dissipates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse what is no mass and no lever."""
        for option in ("mass", "lever"):
            value = getattr(self, option)
            if not 0 <= value < float("inf"):
                raise PalpateError(f"element {self.name!r}: {option} must not be negative, it is {value:g}")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The coefficient of friction, about an axis times a radius."""
        return (Parameter(self.name, "m" if self.unit("rad") == "rad" else "1", "positive"),)

    def level(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """What presses on the guide, N."""
        load = k.loads[self.acts_on]
        if self.lever > 0:
            return (fn.abs(load.along) / self.lever,)
        pressed = [f - self.mass * a for f, a in zip(load.across, load.felt, strict=True)]
        if len(pressed) == 1:
            return (fn.abs(pressed[0]),)
        return (fn.sqrt(sum(x * x for x in pressed)),)
