"""A cubic spline through samples, quick where it is wanted at evenly spaced times again and again.

A search over clocks evaluates it hundreds of times; all that then changes is where a slice begins. Nor does a short
recording wait for `scipy.interpolate`, which takes longer to import than such a recording to fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from palpate.physics.arrays import FloatArray
from palpate.physics.lapack import lapack

_SAME = 1e-9
"""Of an interval: lengths and places that differ by less are one."""


@dataclass(frozen=True, slots=True, eq=False)
class Spline:
    """Piecewise cubic with two continuous derivatives; beyond the ends it goes on as in the outermost interval."""

    times: FloatArray
    """(n,), increasing."""
    values: FloatArray
    """(channels, n)."""
    curvature: FloatArray
    """(channels, n): the second derivative at each time."""
    even: bool
    """Whether all intervals are of one length."""

    def __call__(self, at: FloatArray, derivative: int = 0) -> FloatArray:
        """(len(at), channels): the value at increasing times, or the first derivative.

        From t_i to t_i + h, with b = (t - t_i) / h and a = 1 - b: a x_i + b x_i+1 + h^2 / 6 ((a^3 - a) c_i
        + (b^3 - b) c_i+1), c the second derivatives (Press et al., Numerical Recipes, 3.3).
        """
        if not len(at):
            return np.empty((0, len(self.values)))
        t, last = self.times, len(self.times) - 2
        if self.even:  # rounding may choose the next interval, where at its end the cubic is the same
            h = np.array([(t[-1] - t[0]) / (last + 1)])
            place = (at - t[0]) / h
            left = np.clip(place.astype(np.int64), 0, last)
            b = place - left
        else:
            left = np.clip(np.searchsorted(t, at, side="right") - 1, 0, last)
            h = t[left + 1] - t[left]
            b = (at - t[left]) / h
        stride = int(left[1] - left[0]) if len(left) > 1 else 1
        if stride > 0 and (np.diff(left) == stride).all():  # as many intervals on each time: no copies
            first, last = int(left[0]), int(left[-1])
            at_left, at_right = slice(first, last + 1, stride), slice(first + 1, last + 2, stride)
            if self.even and np.ptp(b) < _SAME + _rounding(t) / h[0]:
                b = b.mean(keepdims=True)
        else:
            at_left, at_right = left, left + 1
        a = 1.0 - b
        if derivative:
            weights = (-1 / h, 1 / h, h / 6 * (1 - 3 * a * a), h / 6 * (3 * b * b - 1))
        else:
            weights = (a, b, h * h / 6 * (a * a - 1) * a, h * h / 6 * (b * b - 1) * b)
        result = np.empty((len(self.values), len(at)))
        part = np.empty_like(result)  # for all, as fresh memory is slow
        for i, weight in enumerate(weights):
            x, where = (self.values, self.curvature)[i // 2], (at_left, at_right)[i % 2]
            into = part if i else result
            if isinstance(where, slice):
                np.multiply(x[:, where], weight, out=into)
            else:
                np.take(x, where, axis=1, out=into, mode="clip")
                into *= weight
            if i:
                result += part
        return result.T


def spline(times: FloatArray, values: FloatArray) -> Spline:
    """Through (n, channels) at increasing times, at least four; the outermost two intervals are one cubic.

    ("Not a knot": de Boor, A Practical Guide to Splines, chapter IV.)
    """
    h, x = np.diff(times), np.ascontiguousarray(values.T)
    even = bool(np.ptp(h) < _SAME * h[0] + _rounding(times))
    curvature = _even_curvature(x, float(times[-1] - times[0]) / len(h)) if even and len(h) > 5 else _curvature(x, h)
    return Spline(times, x, curvature, even)


def _rounding(times: FloatArray) -> float:
    """By how much intervals between times may differ because the times are rounded."""
    return 4 * float(np.spacing(max(abs(times[0]), abs(times[-1]))))


def _curvature(x: FloatArray, h: FloatArray) -> FloatArray:
    """(channels, n) of x (channels, n), h apart (n - 1,).

    h_i-1 c_i-1 + 2 (h_i-1 + h_i) c_i + h_i c_i+1 = 6 (slope_i - slope_i-1), with c_0 and c_n-1 on lines through their
    neighbours.
    """
    from scipy.linalg import solve_banded

    band = np.array([np.roll(h[1:], 1), 2 * (h[:-1] + h[1:]), np.roll(h[:-1], -1)])
    first, last = h[0] / h[1], h[-1] / h[-2]
    band[1, 0] += h[0] * (1 + first)
    band[0, 1] -= h[0] * first
    band[1, -1] += h[-1] * (1 + last)
    band[2, -2] -= h[-1] * last
    inner = solve_banded((1, 1), band, 6 * np.diff(np.diff(x) / h).T, check_finite=False)
    start = inner[0] + first * (inner[0] - inner[1])
    end = inner[-1] + last * (inner[-1] - inner[-2])
    return np.vstack([start, inner, end]).T.copy()


def _even_curvature(x: FloatArray, h: float) -> FloatArray:
    """The same at one distance: c_i-1 + 4 c_i + c_i+1 = 6 (x_i-1 - 2 x_i + x_i+1) / h^2, and c_1 and c_n-2 alone."""
    ends = np.diff(x[:, [[0, 1, 2], [-3, -2, -1]]], n=2)[..., 0] / h**2
    inner = np.diff(x[:, 1:-1], n=2)
    inner *= 6 / h**2
    inner[:, [0, -1]] -= ends
    c = np.empty(x.shape)
    c[:, 2:-2] = lapack().dpttrs(*_even_factor(inner.shape[1]), inner.T, overwrite_b=True)[0].T
    c[:, [1, -2]] = ends
    c[:, [0, -1]] = 2 * c[:, [1, -2]] - c[:, [2, -3]]
    return c


@lru_cache(maxsize=4)
def _even_factor(count: int) -> tuple[FloatArray, FloatArray]:
    """Of the matrix with 4 on its diagonal and 1 beside it; a long recording comes in blocks of one length."""
    return lapack().dpttrf(np.full(count, 4.0), np.ones(count - 1))[:2]
