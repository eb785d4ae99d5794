"""Forces that follow the position of a coordinate: springs, free tables, and friction whose level changes with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar, Literal, get_args

import numpy as np

from palpate.elements.element import Element, Parameter
from palpate.errors import PalpateError, UnknownName
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS, Functions, Scalar
from palpate.physics.maps import MapKind
from palpate.physics.motion import Kinematics
from palpate.physics.spline import Spline
from palpate.physics.units import shown

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
    def words(self) -> tuple[str, ...]:
        """In words."""
        more = (f"spring, part with the power {i} of position" for i in range(4, self.order + 1))
        parts = ("preload", "linear part", "quadratic part", "cubic part")
        return (*(f"spring, {part}" for part in parts[: self.order + 1]), *more)

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
class Stiffness(Element):
    """tau = k q: something soft that is not stretched where its coordinate is zero, as between two bodies in series."""

    name: str = "k"
    acts_on: str = "coupling"
    type: ClassVar[str] = "stiffness"
    coefficient: ClassVar[str] = "N m/rad"
    stores: ClassVar[bool] = True
    needs: ClassVar[str] = "start, stop and turn it round faster"

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """How far it is stretched."""
        return (k.coordinates[self.acts_on].position,)


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
    def words(self) -> tuple[str, ...]:
        """With the position of its knot."""
        places = dict(zip((f"{self.letter}_{i}" for i in range(len(self.knots))), self.knots, strict=True))
        return tuple(f"{self.effect} {shown(places[p.name], self.unit('rad'))}" for p in self.parameters)

    @property
    def breaks(self) -> tuple[float, ...]:
        """The knots."""
        return self.knots

    def _bent(self, k: Kinematics, p: Sequence[float]) -> FloatArray:
        """(samples,): a natural spline through values at the knots, less the straight lines between them."""
        q = np.clip(np.asarray(k.coordinates[self.acts_on].position, dtype=float), self.knots[0], self.knots[-1])
        curves = zip(cardinal_splines(q, self.knots, False, ARRAYS), hats(q, self.knots, ARRAYS), p, strict=True)
        return np.asarray(sum((spline - hat) * value for spline, hat, value in curves), dtype=float)


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
    effect: ClassVar[str] = "to hold it at"
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

    def between(self, k: Kinematics, p: Sequence[float]) -> FloatArray:
        """A spline is off a curve by h^4 where straight lines are by h^2 (de Boor, A Practical Guide to Splines, V)."""
        return self._bent(k, p)


@dataclass(frozen=True, slots=True)
class SmoothTable(_OverKnots):
    """tau(q) as `Table`, but with a cubic spline through the values at the knots: no corners, so fewer knots do.

    `periodic`: the last knot is the first one again, a turn later, and has no parameter of its own; nor has the first,
    whose value is what makes the work of a turn zero (else a knob would turn by itself). Otherwise the spline is
    natural and goes on straight beyond its ends (de Boor, A Practical Guide to Splines, IV).
    """

    name: str = "smooth"
    periodic: bool = False
    type: ClassVar[str] = "smooth-table"
    effect: ClassVar[str] = "to hold it at"
    letter: ClassVar[str] = "tau"
    map: ClassVar[MapKind] = "free"
    stores: ClassVar[bool] = True
    needs: ClassVar[str] = "hold it still at more positions over the whole travel"

    def __post_init__(self) -> None:
        """Refuse knots out of order, or too few to close a circle."""
        _OverKnots.__post_init__(self)
        if self.periodic and len(self.knots) < 4:
            raise PalpateError(f"element {self.name!r}: a periodic table needs four knots or more")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """One per knot, but for the first and the last of a period."""
        numbers = range(1, len(self.knots) - 1) if self.periodic else range(len(self.knots))
        return tuple(Parameter(f"{self.letter}_{i}", self.unit("N m"), self.map) for i in numbers)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The cardinal splines at this position: one at its own knot and zero at all others."""
        q, first, last = k.coordinates[self.acts_on].position, self.knots[0], self.knots[-1]
        if self.periodic:  # the turn that q is in: atan2 unwinds it without a remainder
            turn = (last - first) / (2 * math.pi)
            angle = (q - first) / turn - math.pi
            q = first + turn * (fn.atan2(fn.sin(angle), fn.cos(angle)) + math.pi)
            first_spline, *splines = cardinal_splines(q, self.knots, True, fn)
            first_mean, *means = _spline_means(self.knots)
            return [s - mean / first_mean * first_spline for s, mean in zip(splines, means, strict=True)]
        return cardinal_splines(q, self.knots, False, fn)

    def between(self, k: Kinematics, p: Sequence[float]) -> FloatArray | None:
        """The spline that does not take its ends for straight (no knot next to them), less this one: h^2 there."""
        if self.periodic or len(self.knots) < _ENDS_APART:
            return None
        q = np.clip(np.asarray(k.coordinates[self.acts_on].position, dtype=float), self.knots[0], self.knots[-1])
        natural = sum(s * x for s, x in zip(cardinal_splines(q, self.knots, False, ARRAYS), p, strict=True))
        return _no_knot_at_ends(q, self.knots, p) - np.asarray(natural, dtype=float)


_ENDS_APART = 4
"""Knots of a spline that is one cubic if none counts next to its ends."""


def _no_knot_at_ends(x: FloatArray, knots: tuple[float, ...], values: Sequence[float]) -> FloatArray:
    """(samples,): the cubic spline whose third derivative is the same on both sides of the knots next to the ends."""
    h, n = np.diff(knots), len(knots) - 1
    A, b = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
    slope = np.diff(values) / h
    for i in range(1, n):
        A[i, i - 1 : i + 2] = h[i - 1], 2 * (h[i - 1] + h[i]), h[i]
        b[i] = 6 * (slope[i] - slope[i - 1])
    A[0, :3] = h[1], -(h[0] + h[1]), h[0]
    A[n, -3:] = h[-1], -(h[-2] + h[-1]), h[-2]
    curvature = np.asarray(np.linalg.solve(A, b), dtype=float)
    return Spline(np.array(knots), np.array([values]), curvature[None], even=False)(x)[:, 0]


@lru_cache(maxsize=64)
def _spline_pieces(
    knots: tuple[float, ...], periodic: bool
) -> tuple[tuple[tuple[float, float, float, float], ...], ...]:
    """For each parameter and each piece between knots: value, slope, half the curvature, a sixth of its slope."""
    n, h = len(knots) - 1, np.diff(knots)
    values = np.eye(n + 1)
    if periodic:
        values = np.vstack([np.eye(n), np.eye(n)[0]])  # (knots, parameters)
    slope = np.diff(values, axis=0) / h[:, None]
    A, b = np.zeros((n + 1, n + 1)), np.zeros((n + 1, values.shape[1]))
    for i in range(1, n):  # the curvature is continuous
        A[i, i - 1 : i + 2] = h[i - 1], 2 * (h[i - 1] + h[i]), h[i]
        b[i] = 6 * (slope[i] - slope[i - 1])
    if periodic:
        A[0, [0, n]] = 1.0, -1.0
        A[n, [0, 1, n - 1, n]] = 2 * h[0], h[0], h[-1], 2 * h[-1]
        b[n] = 6 * (slope[0] - slope[-1])
    else:
        A[0, 0] = A[n, n] = 1.0
    M = np.linalg.solve(A, b)
    pieces = np.stack(
        [values[:-1], slope - h[:, None] * (2 * M[:-1] + M[1:]) / 6, M[:-1] / 2, np.diff(M, axis=0) / (6 * h[:, None])]
    )
    return tuple(tuple(map(tuple, pieces[:, :, j].T.tolist())) for j in range(values.shape[1]))


def _spline_means(knots: tuple[float, ...]) -> list[float]:
    """Of each periodic cardinal spline over a turn, times its length."""
    widths = [b - a for a, b in pairwise(knots)]
    return [
        sum(h * (a + h * (b / 2 + h * (c / 3 + h * d / 4))) for h, (a, b, c, d) in zip(widths, pieces, strict=True))
        for pieces in _spline_pieces(knots, True)
    ]


def cardinal_splines(x: Scalar, knots: tuple[float, ...], periodic: bool, fn: Functions) -> list[Scalar]:
    """Cubic splines, natural or periodic, that are one at one knot and zero at all others; straight beyond the ends."""
    inside = [fn.minimum(fn.maximum(x - a, 0.0), b - a) for a, b in pairwise(knots)]
    before, after = fn.minimum(x - knots[0], 0.0), fn.maximum(x - knots[-1], 0.0)
    splines: list[Scalar] = []
    for pieces in _spline_pieces(knots, periodic):
        (value, slope, _, _), (_, s_1, s_2, s_3) = pieces[0], pieces[-1]
        width = knots[-1] - knots[-2]
        total: Scalar = value + slope * before + (s_1 + width * (2 * s_2 + 3 * s_3 * width)) * after
        for (_, b, c, d), s in zip(pieces, inside, strict=True):
            total = total + s * (b + s * (c + s * d))
        splines.append(total)
    return splines


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
    effect: ClassVar[str] = "more opening than closing, half of it, at"
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

    def between(self, k: Kinematics, p: Sequence[float]) -> FloatArray | None:
        """As of `Table`, against the motion."""
        return self._bent(k, p) * np.sign(k.coordinates[self.acts_on].speed) if self.basis == "hats" else None
