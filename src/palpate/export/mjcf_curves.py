"""What elements do along one coordinate, as curves over angle and speed, and the nearest that a format can say."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from palpate.elements import PolynomialSpring
from palpate.elements.traits import Level
from palpate.export.mjcf_text import Part
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS
from palpate.physics.kinematics import Kinematics

FASTEST = 1.0
"""rad/s (m/s): up to this speed the nearest damping is sought and its error told."""
_SAME = 1e-9
"""Curves that differ by less than this part of their size are the same."""
_CLOSE = 1e-3
"""Part of the largest torque by which a broken line may miss a spring."""
_MOST_KNOTS = 60
_POINTS, _SPEEDS = 801, 20

See = Callable[[FloatArray, FloatArray, FloatArray], Kinematics]
"""Position, speed and acceleration along the coordinate, each (samples,) -> kinematics with the elements' own."""


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Forces of some elements along one coordinate, by virtual work: `see` tells the kinematics, from `low` to `high`.

    A force is positive where it resists an increase of the coordinate.
    """

    parts: tuple[Part, ...]
    see: See
    low: float
    high: float

    @property
    def grid(self) -> FloatArray:
        """Positions at which curves are compared."""
        return np.linspace(self.low, self.high, _POINTS)

    def inertia(self) -> FloatArray:
        """kg m2 (kg) at each position of the grid."""
        q, zero = self.grid, np.zeros(_POINTS)
        return self._force(self.parts, q, zero, np.ones(_POINTS)) - self._force(self.parts, q, zero, zero)

    def at_rest(self, q: FloatArray, parts: Sequence[Part] | None = None) -> FloatArray:
        """What it takes to hold the object at each position, without dry friction."""
        zero = np.zeros_like(q)
        return self._force(self.parts if parts is None else parts, q, zero, zero)

    def moving(self, parts: Sequence[Part] | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Positions, speeds and what moving adds to the force at rest (samples,), over the grid and both directions."""
        parts = self.parts if parts is None else parts
        q, v = self._moving_grid()
        zero = np.zeros_like(q)
        return q, v, self._force(parts, q, v, zero) - self._force(parts, q, zero, zero)

    def level(self, parts: Sequence[Part] | None = None) -> FloatArray:
        """Dry friction over the grid, at rest and moving."""
        parts = self.parts if parts is None else parts
        q, v = self._moving_grid()
        q, v = np.concatenate([q, self.grid]), np.concatenate([v, np.zeros(_POINTS)])
        k, total = self.see(q, v, np.zeros_like(q)), np.zeros_like(q)
        for part in parts:
            e = part.element
            if e.dry and isinstance(e, Level):
                own = sum(x * p for x, p in zip(e.level(k, _shapes(part), ARRAYS), part.p, strict=True))
                total = total + np.abs(k.coordinates[e.acts_on].ratio[0]) * own
        return total

    def _moving_grid(self) -> tuple[FloatArray, FloatArray]:
        speeds = FASTEST * np.arange(1, _SPEEDS + 1) / _SPEEDS
        q, v = np.meshgrid(self.grid[::8], np.concatenate([-speeds[::-1], speeds]))
        return q.ravel(), v.ravel()

    def _force(self, parts: Sequence[Part], q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        k, total = self.see(q, v, a), np.zeros_like(q)
        for part in parts:
            e = part.element
            if not e.dry:
                (row,) = e.columns(e.features(k, _shapes(part), ARRAYS))
                total = total + k.coordinates[e.acts_on].ratio[0] * sum(x * p for x, p in zip(row, part.p, strict=True))
        return total


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """Numbers that a format can say in the place of a curve; the error is in the curve's unit."""

    values: FloatArray
    rms: float
    worst: float
    exact: bool


def nearest_damping(curves: Curves, parts: Sequence[Part] | None = None, *, quadratic: bool = True) -> Said:
    """a v + b v |v| with a, b >= 0 (so that it takes energy out), by least squares over the grid; b = 0 if not
    `quadratic`.
    """
    from scipy.optimize import nnls

    _, v, force = curves.moving(parts)
    columns = np.stack([v, v * np.abs(v)], axis=1)[:, : 2 if quadratic else 1]
    found = np.zeros(2)
    found[: columns.shape[1]] = nnls(columns, force)[0]
    found[found * [FASTEST, FASTEST**2] <= _SAME * np.abs(force).max(initial=0.0)] = 0.0
    return _said(found, columns @ found[: columns.shape[1]] - force, force)


def nearest_friction(curves: Curves, parts: Sequence[Part] | None = None) -> Said:
    """One level of dry friction, the mean over the grid."""
    level = curves.level(parts)
    mean = float(level.mean())
    return _said(np.array([mean]), level - mean, level)


def nearest_inertia(curves: Curves) -> Said:
    """One inertia, the mean over the grid."""
    inertia = curves.inertia()
    mean = float(inertia.mean())
    return _said(np.array([mean]), inertia - mean, inertia)


def joint_polynomial(parts: Sequence[Part], coordinate: str) -> tuple[float, FloatArray, float] | None:
    """All springs of at most third order on a coordinate as one: held = constant + a x + b x^2 + c x^3, x = q - ref.

    -> ref, (a, b, c), constant; None if there is no such spring. The constant is zero where the polynomial has a root.
    """
    from numpy.polynomial import Polynomial

    springs = [part for part in parts if is_cubic(part, coordinate)]
    if not springs:
        return None
    total = Polynomial([0.0])
    for part in springs:
        assert isinstance(part.element, PolynomialSpring)
        total = total - Polynomial(part.p)(Polynomial([-part.element.reference, 1.0]))
    total = total.trim()
    roots = total.roots() if total.degree() > 0 else np.empty(0)
    real = roots[np.abs(roots.imag) < 1e-9 * (1 + np.abs(roots))].real
    ref, constant = (float(real[np.abs(real).argmin()]), 0.0) if len(real) else (0.0, float(total(0.0)))
    moved = np.zeros(4)
    coefficients = np.asarray(total(Polynomial([ref, 1.0])).coef)
    moved[: len(coefficients)] = coefficients
    return ref, moved[1:], constant


def is_cubic(part: Part, coordinate: str) -> bool:
    """Whether a joint can say this spring: a polynomial of at most third order."""
    e = part.element
    return isinstance(e, PolynomialSpring) and e.acts_on == coordinate and e.order <= 3


@dataclass(frozen=True, slots=True, eq=False)
class BrokenLine:
    """Piecewise linear through (knots, values), constant beyond the ends; `worst`: its largest error."""

    knots: FloatArray
    values: FloatArray
    worst: float
    largest: float


def broken_line(
    force: Callable[[FloatArray], FloatArray], low: float, high: float, knots: Sequence[float]
) -> BrokenLine:
    """A line through the given knots and as many more as bring it within a thousandth of the largest force."""
    inside = [x for x in knots if low < x < high]
    fine = np.unique(np.concatenate([np.linspace(low, high, 4001), inside]))
    truth = force(fine)
    largest = float(np.abs(truth).max())
    at = np.unique([low, high, *inside])
    while True:
        error = np.abs(np.interp(fine, at, force(at)) - truth)
        worst = int(error.argmax())
        if error[worst] <= _CLOSE * largest or len(at) >= _MOST_KNOTS + len(inside):
            return BrokenLine(at, force(at), float(error[worst]), largest)
        at = np.unique([*at, fine[worst]])


def _said(values: FloatArray, error: FloatArray, curve: FloatArray) -> Said:
    size, worst = float(np.abs(curve).max(initial=0.0)), float(np.abs(error).max(initial=0.0))
    values = np.array([float(f"{x:.13g}") for x in values])  # the last digits are those of the sums above
    return Said(values, math.sqrt(float(np.mean(error**2))) if len(error) else 0.0, worst, worst <= _SAME * size)


def _shapes(part: Part) -> dict[str, float]:
    return {s.name: s.value for s in part.element.shapes}
