"""Forces that follow the position of a coordinate: springs, free tables, and friction whose level changes with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal, get_args

from palpate.elements.element import Element, Parameter
from palpate.errors import PalpateError, UnknownName
from palpate.physics.functions import Functions, Scalar
from palpate.physics.maps import MapKind
from palpate.physics.motion import Kinematics

DEFAULT_KNOTS = tuple(math.radians(15.0 * i) for i in range(7))
"""Every 15 deg from 0 to 90 deg."""


def hats(x: Scalar, knots: Sequence[float], fn: Functions) -> list[Scalar]:
    """Piecewise linear: function i is one at knot i and zero at all others; constant beyond the ends."""
    ramps = [_ramp(x, a, b, fn) for a, b in pairwise(knots)]
    inner = [one - other for one, other in pairwise(ramps)]
    return [1.0 - ramps[0], *inner, ramps[-1]]


def bernstein(x: Scalar, knots: Sequence[float], fn: Functions) -> list[Scalar]:
    """Polynomials of order len(knots) - 1 from the first to the last knot: C(n, i) s^i (1 - s)^(n - i).

    Positive coefficients make a polynomial that is positive all along; constant beyond the ends.
    """
    n = len(knots) - 1
    s = _ramp(x, knots[0], knots[-1], fn)
    up: list[Scalar] = [1.0]
    down: list[Scalar] = [1.0]
    for _ in range(n):
        up.append(up[-1] * s)
        down.append(down[-1] * (1.0 - s))
    return [math.comb(n, i) * up[i] * down[n - i] for i in range(n + 1)]


def _ramp(x: Scalar, a: float, b: float, fn: Functions) -> Scalar:
    """0 up to a, 1 from b on."""
    return fn.minimum(fn.maximum((x - a) / (b - a), 0.0), 1.0)


_HIGHEST = 9


@dataclass(frozen=True, slots=True)
class PolynomialSpring(Element):
    """It drives its coordinate by tau_s = c_0 + c_1 x + c_2 x^2 + ..., x = q - reference (paper, eq. tau_spring).

    It helps the person where tau_s is positive, so its columns are negative. `reference` in rad or m: another one
    describes the same springs with other coefficients.
    """

    name: str = "spring"
    acts_on: str = "hinge"
    order: int = 3
    reference: float = 0.0
    type: ClassVar[str] = "spring"
    options: ClassVar[Mapping[str, str]] = {"reference": "rad"}
    choices: ClassVar[Mapping[str, tuple[int, ...]]] = {"order": (2, 3, 4, 5)}
    stores: ClassVar[bool] = True
    needs: ClassVar[str] = "hold it still at more positions over the whole travel"

    def __post_init__(self) -> None:
        """Refuse what is no order."""
        if type(self.order) is not int or not 0 <= self.order <= _HIGHEST:
            raise PalpateError(
                f"element {self.name!r}: order must be a whole number from 0 to {_HIGHEST}, not {self.order!r}"
            )

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """c_0 (preload), c_1 (minus the stiffness), ..."""
        units = ["N m", "N m/rad", *(f"N m/rad{i}" for i in range(2, self.order + 1))]
        return tuple(Parameter(f"c_{i}", self.unit(units[i]), "free") for i in range(self.order + 1))

    @property
    def polynomial(self) -> tuple[float, int]:
        """Its reference and order."""
        return self.reference, self.order

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """Powers of the coordinate."""
        x = k.coordinates[self.acts_on].position - self.reference
        powers: list[Scalar] = [1.0]
        for _ in range(self.order):
            powers.append(powers[-1] * x)
        return powers

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """What the person does not have to do."""
        return [[-power for power in f]]


@dataclass(frozen=True, slots=True)
class _OverKnots(Element):
    """A force that changes its law at knots (rad or m), with one parameter per knot."""

    acts_on: str = "hinge"
    knots: tuple[float, ...] = DEFAULT_KNOTS
    options: ClassVar[Mapping[str, str]] = {"knots": "rad"}
    letter: ClassVar[str]
    map: ClassVar[MapKind]

    def __post_init__(self) -> None:
        """Refuse knots out of order."""
        try:
            numbers = tuple(float(k) for k in self.knots)
        except (TypeError, ValueError):
            numbers = ()
        if len(numbers) < 2 or not all(a < b < math.inf for a, b in pairwise(numbers)):
            wanted = "at least two increasing numbers in rad or m"
            raise PalpateError(f"element {self.name!r}: knots must be {wanted}, not {self.knots!r}")
        object.__setattr__(self, "knots", numbers)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """One per knot."""
        return tuple(Parameter(f"{self.letter}_{i}", self.unit("N m"), self.map) for i in range(len(self.knots)))

    @property
    def breaks(self) -> tuple[float, ...]:
        """The knots."""
        return self.knots


@dataclass(frozen=True, slots=True)
class Table(_OverKnots):
    """tau(q), piecewise linear, tau_i at knot i: what it takes to hold the object there; constant beyond the ends.

    Positive where the object pushes back, such as a spring that closes a door: minus the force of `PolynomialSpring`.
    Knots in rad or m. `smooth` (N m or N): a prior by which a knot lies on the straight line between its neighbours,
    give or take this standard deviation; 0 is none.
    """

    name: str = "table"
    smooth: float = 0.0
    type: ClassVar[str] = "table"
    letter: ClassVar[str] = "tau"
    map: ClassVar[MapKind] = "free"
    options: ClassVar[Mapping[str, str]] = {"knots": "rad", "smooth": "N m"}
    stores: ClassVar[bool] = True
    needs: ClassVar[str] = "hold it still at more positions over the whole travel"

    def __post_init__(self) -> None:
        """Refuse knots out of order."""
        _OverKnots.__post_init__(self)
        if not self.smooth >= 0:
            raise PalpateError(f"element {self.name!r}: smooth must be a torque of at least 0 N m, not {self.smooth!r}")

    @property
    def roughness(self) -> list[list[float]]:
        """How far each inner knot is off that line, in standard deviations: rows over the parameters."""
        rows: list[list[float]] = []
        for i in range(1, len(self.knots) - 1) if self.smooth > 0 else ():
            before, at, after = self.knots[i - 1 : i + 2]
            share = (after - at) / (after - before)
            row = [0.0] * len(self.knots)
            row[i - 1], row[i], row[i + 1] = -share / self.smooth, 1 / self.smooth, (share - 1) / self.smooth
            rows.append(row)
        return rows

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The shape functions at this angle."""
        return hats(k.coordinates[self.acts_on].position, self.knots, fn)


Basis = Literal["hats", "polynomial"]


@dataclass(frozen=True, slots=True)
class Hysteresis(_OverKnots):
    """tau = h(q) sign(speed), h >= 0: opening needs h more than the mean spring, closing gives h less.

    h is piecewise linear with the value h_i at knot i ("hats"), or a polynomial of order len(knots) - 1 between the
    first and the last knot, in Bernstein's form, so that positive h_i make it positive. Constant beyond the ends.
    Whatever the h_i, it creates no energy, as two free springs for opening and closing could. Knots in
    rad or m.
    """

    name: str = "hysteresis"
    basis: Basis = "hats"
    type: ClassVar[str] = "hysteresis"
    letter: ClassVar[str] = "h"
    map: ClassVar[MapKind] = "positive"
    optional: ClassVar[str] = "hysteresis"
    needs: ClassVar[str] = "move it slowly both ways"
    dry: ClassVar[bool] = True
    dissipates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse knots out of order."""
        _OverKnots.__post_init__(self)
        if self.basis not in get_args(Basis):
            raise UnknownName("basis", str(self.basis), get_args(Basis), where=f"element {self.name!r}")

    def level(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The shape functions at this angle."""
        basis = hats if self.basis == "hats" else bernstein
        return basis(k.coordinates[self.acts_on].position, self.knots, fn)
