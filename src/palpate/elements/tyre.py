"""Tyres that creep sideways while they roll."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from palpate.elements.element import Element, Parameter
from palpate.errors import PalpateError
from palpate.physics.functions import Functions, Scalar
from palpate.physics.motion import Kinematics


@dataclass(frozen=True, slots=True)
class TyreSlip(Element):
    """F = C alpha, alpha the slip angle: what the tyre goes sideways over what it rolls ahead, in the linear range and
    without relaxation (Pacejka, Tire and Vehicle Dynamics, 1.2).

    `acts_on` is the coordinate along the axle and `over` the one that rolls: those of `planar` with axle: false, whose
    origin is then the middle of an axle that may slip. alpha = atan(aside / (|ahead| + crawl)); `crawl` (m/s): slower
    than that the angle says nothing, and the tyre is a damper of C / crawl. Slip along the heading is not seen: nothing
    counts the wheel's turns.
    """

    name: str = "C_alpha"
    acts_on: str = "sideways"
    over: str = "forward"
    crawl: float = 0.02
    type: ClassVar[str] = "tyre-slip"
    effect: ClassVar[str] = "cornering stiffness of the tyre"
    options: ClassVar[Mapping[str, str]] = {"crawl": "rad/s"}
    natural_unit: ClassVar[str] = "m"
    needs: ClassVar[str] = "steer it to and fro while it rolls"
    dissipates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse a speed that divides by nothing."""
        if not 0 < self.crawl < 1e3:
            raise PalpateError(f"element {self.name!r}: crawl must be a positive speed in m/s, not {self.crawl!r}")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The cornering stiffness."""
        return (Parameter(self.name, "N/rad", "positive"),)

    @property
    def looks_at(self) -> tuple[str, ...]:
        """What rolls."""
        return (self.over,)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The slip angle."""
        ahead = fn.abs(k.coordinates[self.over].speed) + self.crawl
        return (fn.atan2(k.coordinates[self.acts_on].speed, ahead),)
