"""Forces that follow the speed of a coordinate: viscous, Coulomb and Stribeck friction, and dampers of zones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, pi, radians
from typing import ClassVar, Literal, get_args

import numpy as np

from palpate.elements.element import Constant, Element, Parameter, Scope, Shape
from palpate.errors import PalpateError, UnknownName
from palpate.physics.arrays import FloatArray, rms
from palpate.physics.functions import ARRAYS, Functions, Scalar
from palpate.physics.motion import Kinematics
from palpate.physics.units import shown


@dataclass(frozen=True, slots=True)
class Viscous(Element):
    """tau = b speed (paper, eq. wrench_hinge)."""

    name: str = "b_v"
    acts_on: str = "hinge"
    type: ClassVar[str] = "viscous"
    effect: ClassVar[str] = "viscous friction"
    coefficient: ClassVar[str] = "N m s/rad"
    constant: ClassVar[Constant] = "damping"
    needs: ClassVar[str] = "move it at several speeds"
    dissipates: ClassVar[bool] = True

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The speed."""
        return (k.coordinates[self.acts_on].speed,)


@dataclass(frozen=True, slots=True)
class Coulomb(Element):
    """tau = b sign(speed) (paper, eq. wrench_hinge); at rest anything from -b to b."""

    name: str = "b_c"
    acts_on: str = "hinge"
    type: ClassVar[str] = "coulomb"
    effect: ClassVar[str] = "dry friction"
    coefficient: ClassVar[str] = "N m"
    constant: ClassVar[Constant] = "friction"
    needs: ClassVar[str] = "move it slowly both ways"
    dry: ClassVar[bool] = True
    dissipates: ClassVar[bool] = True

    def level(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The same at every speed."""
        return (1.0,)


@dataclass(frozen=True, slots=True)
class Drag(Element):
    """tau = b speed |speed|: air on a wide leaf, oil through an orifice."""

    name: str = "b_d"
    acts_on: str = "hinge"
    type: ClassVar[str] = "drag"
    effect: ClassVar[str] = "drag, with the square of speed"
    coefficient: ClassVar[str] = "N m s2/rad2"
    needs: ClassVar[str] = "move it faster, and slowly too"
    dissipates: ClassVar[bool] = True

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """Against the motion."""
        speed = k.coordinates[self.acts_on].speed
        return (speed * fn.abs(speed),)


_LOW_V_S, _HIGH_V_S = 1e-4, 100.0


@dataclass(frozen=True, slots=True)
class Stribeck(Element):
    """tau = b exp(-(speed / v_s)^2) sign(speed), beside Coulomb friction (Armstrong-Helouvry et al. 1994, eq. 6).

    `v_s` rad/s or m/s: the speed at which 1/e of it is left.
    """

    name: str = "b_st"
    acts_on: str = "hinge"
    v_s: float = 0.05
    estimate: bool = False
    type: ClassVar[str] = "stribeck"
    effect: ClassVar[str] = "more dry friction at low speed"
    coefficient: ClassVar[str] = "N m"
    options: ClassVar[Mapping[str, str]] = {"v_s": "rad/s"}
    optional: ClassVar[str] = "Stribeck"
    needs: ClassVar[str] = "move it slowly both ways"
    dry: ClassVar[bool] = True
    dissipates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse a speed that divides by nothing."""
        if not _LOW_V_S <= self.v_s <= _HIGH_V_S:
            raise PalpateError(
                f"element {self.name!r}: v_s must be from {_LOW_V_S:g} to {_HIGH_V_S:g} rad/s or m/s, not {self.v_s:g}"
            )

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The Stribeck speed."""
        return (Shape("v_s", self.unit("rad/s"), self.v_s, bounds=(_LOW_V_S, _HIGH_V_S), free=self.estimate),)

    @property
    def sees(self) -> tuple[str, ...]:
        """The speed of its coordinate."""
        return (self.acts_on,)

    def visited(self, k: Kinematics) -> tuple[FloatArray, tuple[float, float]]:
        """The speeds at which it may change: neither the slowest nor the fastest."""
        speed = np.asarray(k.coordinates[self.acts_on].speed, dtype=float)
        return np.abs(speed[speed != 0]), (0.02, 0.7)

    def limits(self, shape: Shape, visited: tuple[float, float]) -> tuple[float, float]:
        """The speeds that occurred."""
        return max(shape.bounds[0], visited[0]), min(shape.bounds[1], visited[1])

    def level(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """One at rest, gone at speeds far above v_s."""
        ratio = k.coordinates[self.acts_on].speed / z["v_s"]
        return (fn.exp(-(ratio * ratio)),)


When = Literal["both", "opening", "closing"]
Flow = Literal["laminar", "turbulent", "mixed"]

_NARROWEST_ZONE, _WIDEST_ZONE = 1e-4, pi
_SEARCHED_WIDTHS = {"rad": (radians(0.3), radians(10.0)), "m": (5e-4, 0.05)}
"""Between which a width is looked for."""
_TAIL = 0.002
"""Share of the samples at either end of what was visited that is not enough to see a border."""


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
    effect: ClassVar[str] = "damping"
    options: ClassVar[Mapping[str, str]] = {"above": "rad", "below": "rad", "width": "rad"}
    choices: ClassVar[Mapping[str, tuple[Flow, ...]]] = {"flow": get_args(Flow)}
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
        if not _NARROWEST_ZONE <= self.width <= _WIDEST_ZONE:
            raise PalpateError(
                f"{where}: width must be from {_NARROWEST_ZONE:g} to {_WIDEST_ZONE:.3g} rad or m, not {self.width:g}"
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
        parameters: list[Parameter] = []
        for name in (self.name, self.otherwise) if self.otherwise else (self.name,):
            if self.flow != "turbulent":
                parameters.append(Parameter(name, self.unit("N m s/rad"), "positive"))
            if self.flow != "laminar":
                parameters.append(Parameter(f"{name}_turbulent", self.unit("N m s2/rad2"), "positive"))
        return tuple(parameters)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The borders that exist, and their width."""
        unit = self.unit("rad", self.over)
        borders = [("above", self.above), ("below", self.below)]
        shapes = [Shape(name, unit, angle, free=self.estimate) for name, angle in borders if angle is not None]
        width = Shape("width", unit, self.width, bounds=(_NARROWEST_ZONE, _WIDEST_ZONE), free=self.estimate)
        return (*shapes, width) if shapes else ()

    @property
    def borders(self) -> tuple[str, ...]:
        """Those that exist."""
        return tuple(s.name for s in self.shapes if s.name != "width")

    @property
    def sees(self) -> tuple[str, ...]:
        """The coordinate of the zone, while it moves as the damper wants."""
        return (self.acts_on, self.over, self.when)

    def visited(self, k: Kinematics) -> tuple[FloatArray, tuple[float, float]]:
        """Where the zone's coordinate was while it moved so; the outermost samples are not enough to see a border."""
        speed = np.asarray(k.coordinates[self.acts_on].speed, dtype=float)
        along = np.abs(speed) if self.when == "both" else speed if self.when == "opening" else -speed
        moving = along > 0.05 * rms(speed)  # slower motion shows no damper
        return np.asarray(k.coordinates[self.over].position, dtype=float)[moving], (_TAIL, 1 - _TAIL)

    def limits(self, shape: Shape, visited: tuple[float, float]) -> tuple[float, float]:
        """What was visited for a border, each of two on its side of the middle; usual widths for the width."""
        if shape.name == "width":
            narrow, wide = _SEARCHED_WIDTHS[shape.unit]
            return min(narrow, shape.value), max(wide, shape.value)
        if self.above is None or self.below is None:
            return visited
        middle = (self.above + self.below) / 2
        return (visited[0], middle) if shape.name == "above" else (middle, visited[1])

    def unseen(self, visited: tuple[float, float]) -> str:
        """Where the zone was not visited or its border not crossed."""
        low, high = visited
        doing = "motion" if self.when == "both" else self.when
        if np.isnan(low):
            return f"the zone was never visited: there is no {doing} in the segments"
        unit = self.unit("rad", self.over)
        for border in (self.above, self.below):
            if border is not None and not low < border < high:
                return (
                    f"the zone's border at {shown(border, unit)} was never crossed: {doing} was seen from "
                    f"{shown(low, unit, named=False)} to {shown(high, unit)} only"
                )
        return ""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The zone and, for the coefficient of `otherwise`, what is outside it."""
        z = {s.name: s.value for s in self.shapes}

        def inside(q: FloatArray) -> FloatArray:
            return np.broadcast_to(np.asarray(self._weight(q, z, ARRAYS), dtype=float), q.shape)

        zone = Scope(self.acts_on, self.over, self.when, self._where(outside=False), inside)
        outside = Scope(self.acts_on, self.over, self.when, self._where(outside=True), lambda q: 1.0 - inside(q))
        count = 2 if self.flow == "mixed" else 1
        return (zone,) * count + ((outside,) * count if self.otherwise else ())

    def _where(self, *, outside: bool) -> str:
        """The zone in words."""
        unit = self.unit("rad", self.over)
        above, below = (None if x is None else shown(x, unit) for x in (self.above, self.below))
        if above is not None and below is not None:
            return f"{'outside' if outside else 'within'} {above} to {below}"
        border = above or below
        return "" if border is None else f"{'above' if (above is not None) != outside else 'below'} {border}"

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

    def _weight(self, q: Scalar, z: Mapping[str, Scalar], fn: Functions) -> Scalar:
        weight: Scalar = 1.0
        if self.above is not None:
            weight = 0.5 * (1.0 + fn.tanh((q - z["above"]) / z["width"]))
        if self.below is not None:
            weight = weight * (0.5 * (1.0 + fn.tanh((z["below"] - q) / z["width"])))
        return weight
