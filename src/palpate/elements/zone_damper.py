"""A damper that acts in one direction and in one zone of a coordinate: backcheck, sweep and latch of a door closer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, pi, radians
from typing import ClassVar, Literal, Self, get_args

from palpate.elements.element import Element, Parameter, Shape
from palpate.errors import PalpateError, UnknownName
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics

When = Literal["both", "opening", "closing"]
Flow = Literal["laminar", "turbulent", "mixed"]

_NARROWEST, _WIDEST = 1e-4, pi


@dataclass(frozen=True, slots=True)
class ZoneDamper(Element):
    """tau = w b speed (laminar) or w b speed |speed| (turbulent), while the coordinate moves as `when` says.

    w = (1 + tanh((q - above) / width)) / 2 (paper, eq. w_bc), or (1 + tanh((below - q) / width)) / 2 (eq. w_l), or
    their product, or 1 if neither is given; q is the coordinate `over` (an angle of the door, whatever the damper acts
    on). `otherwise` names a second coefficient with the weight 1 - w (eq. w_s): two zones that share one border.
    `mixed` flow has laminar and turbulent coefficients. Zones in rad or m.
    """

    name: str = "b_zone"
    acts_on: str = "hinge"
    over: str = "hinge"
    when: When = "both"
    above: float | None = None
    below: float | None = None
    width: float = radians(2.0)
    otherwise: str = ""
    flow: Flow = "laminar"
    estimate: bool = False
    type: ClassVar[str] = "zone-damper"
    options: ClassVar[Mapping[str, str]] = {"above": "rad", "below": "rad", "width": "rad"}
    needs: ClassVar[str] = "move it faster through its zone, in its direction"
    dissipates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse zones that are none."""
        where = f"element {self.name!r}"
        for kind, value, known in (("when", self.when, get_args(When)), ("flow", self.flow, get_args(Flow))):
            if value not in known:
                raise UnknownName(kind, str(value), known, where=where)
        for border in ("above", "below"):
            angle: object = getattr(self, border)
            if angle is not None and not (isinstance(angle, int | float) and isfinite(angle)):
                raise PalpateError(f"{where}: {border} must be a number in rad or m, not {angle!r}")
        if self.above is not None and self.below is not None and not self.above < self.below:
            raise PalpateError(f"{where}: nothing is above {self.above:g} and below {self.below:g}")
        if not _NARROWEST <= self.width <= _WIDEST:
            raise PalpateError(
                f"{where}: width must be from {_NARROWEST:g} to {_WIDEST:.3g} rad or m, not {self.width:g}"
            )
        if self.otherwise and self.above is None and self.below is None:
            raise PalpateError(f"{where}: without above or below, nothing is left for {self.otherwise!r}")

    @property
    def looks_at(self) -> tuple[str, ...]:
        """The coordinate of the zone."""
        return (self.over,)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The laminar coefficient bears the element's name; in the zone first, then otherwise."""
        found: list[Parameter] = []
        for name in (self.name, self.otherwise) if self.otherwise else (self.name,):
            if self.flow != "turbulent":
                found.append(Parameter(name, self.unit("N m s/rad"), "positive"))
            if self.flow != "laminar":
                found.append(Parameter(f"{name}_turbulent", self.unit("N m s2/rad2"), "positive"))
        return tuple(found)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The borders that exist, and their width."""
        unit = self.unit("rad", self.over)
        borders = [("above", self.above), ("below", self.below)]
        found = [Shape(name, unit, angle, free=self.estimate) for name, angle in borders if angle is not None]
        width = Shape("width", unit, self.width, bounds=(_NARROWEST, _WIDEST), free=self.estimate)
        return (*found, width) if found else ()

    @property
    def borders(self) -> tuple[str, ...]:
        """Those that exist."""
        return tuple(s.name for s in self.shapes if s.name != "width")

    def estimating(self, free: bool) -> Self:
        """With its borders and their width free or fixed."""
        return replace(self, estimate=free)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """For each zone its weight times speed, speed |speed|, or both."""
        speed = k.coordinates[self.acts_on].speed
        if self.when != "both":
            speed = fn.maximum(speed, 0.0) if self.when == "opening" else fn.minimum(speed, 0.0)
        weight = self._weight(k.coordinates[self.over].position, z, fn)
        flows = [speed] if self.flow != "turbulent" else []
        flows += [speed * fn.abs(speed)] if self.flow != "laminar" else []
        weights = [weight, 1.0 - weight] if self.otherwise else [weight]
        return [w * flow for w in weights for flow in flows]

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """As they are."""
        return [list(f)]

    def _weight(self, q: Scalar, z: Mapping[str, Scalar], fn: Functions) -> Scalar:
        weight: Scalar = 1.0
        if self.above is not None:
            weight = 0.5 * (1.0 + fn.tanh((q - z["above"]) / z["width"]))
        if self.below is not None:
            weight = weight * (0.5 * (1.0 + fn.tanh((z["below"] - q) / z["width"])))
        return weight
