"""Shape functions over a coordinate: each is never negative, and together they are one everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from palpate.errors import PalpateError
from palpate.physics.functions import Functions, Scalar

DEFAULT_KNOTS = tuple(math.radians(15.0 * i) for i in range(7))
"""Every 15 deg from 0 to 90 deg."""


def checked_knots(knots: Sequence[float], element: str) -> tuple[float, ...]:
    """The knots as floats; refuse what is not at least two increasing numbers."""
    try:
        numbers = tuple(float(k) for k in knots)
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) < 2 or not all(a < b < math.inf for a, b in pairwise(numbers)):
        raise PalpateError(
            f"element {element!r}: knots must be at least two increasing numbers in rad or m, not {knots!r}"
        )
    return numbers


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
