"""Even B-splines on an instrument's clock: values, derivatives and least squares, all banded.

De Boor, A Practical Guide to Splines. Each sample touches five neighbouring coefficients only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.physics.arrays import FloatArray

DEGREE = 4
"""Of the splines: second derivatives are smooth."""
LOCAL = DEGREE + 1
"""Coefficients that a sample touches."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Even knots: interval i begins at start_s + i step_s, holds `samples` of the IMU, and sees coefficients i to i +
    degree.
    """

    start_s: float
    step_s: float
    intervals: int
    samples: int

    def at(self, times_s: FloatArray) -> At:
        """Where times fall."""
        u = (
            times_s - self.start_s
        ) / self.step_s  # a knot's own time, whatever its rounding, is in the interval after it
        interval = np.clip(np.floor(u + 1e-6), 0, self.intervals - 1).astype(np.int64)
        return At(interval, _basis(u - interval, self.step_s))

    def basis(self) -> FloatArray:
        """Of the IMU's samples in any interval: (derivative, samples, coefficients)."""
        return _basis(np.arange(self.samples) / self.samples, self.step_s)

    @property
    def size(self) -> int:
        """How many coefficients there are."""
        return self.intervals + DEGREE

    def values(self, coefficients: FloatArray, first: int, last: int) -> FloatArray:
        """Value, first and second derivative at the IMU's samples of the intervals first to last: (3, intervals,
        samples, channels).
        """
        windows = sliding_window_view(coefficients[first : last + DEGREE], LOCAL, axis=0)
        return np.einsum("dsk,ick->disc", self.basis(), windows, optimize=True)

    def fit(self, x: FloatArray) -> FloatArray:
        """Coefficients (size, channels) of the spline nearest to x at the samples (intervals * samples, channels)."""
        b = self.basis()[0]
        band, right = np.zeros((LOCAL, self.size)), np.zeros((self.size, x.shape[1]))
        shaped = x.reshape(self.intervals, self.samples, -1)
        projected = np.einsum("sk,isc->kic", b, shaped, optimize=True)
        products = b.T @ b
        for i in range(LOCAL):
            right[i : i + self.intervals] += projected[i]
            for j in range(i + 1):
                band[i - j, j : j + self.intervals] += products[i, j]
        return solve_banded(band, right)

    def smooth(self, at: At, x: FloatArray, bandwidth_hz: float) -> FloatArray:
        """Coefficients of a spline near x (times, channels) that follows it up to the bandwidth and bridges gaps.

        Second differences of the coefficients are penalised (Eilers & Marx 1996, Statistical Science 11:89).
        """
        b = at.basis[0]
        band, right = np.zeros((LOCAL, self.size)), np.zeros((self.size, x.shape[1]))
        for i in range(LOCAL):
            np.add.at(right, at.interval + i, b[:, i, None] * x)
            for j in range(i + 1):
                np.add.at(band[i - j], at.interval + j, b[:, i] * b[:, j])
        per_knot = len(x) / self.intervals
        add_second_differences(band, per_knot / (2 * np.pi * bandwidth_hz * self.step_s) ** 4)
        return solve_banded(band, right)


@dataclass(frozen=True, slots=True, eq=False)
class At:
    """Any times: the interval of each, and its basis (derivative, times, coefficients)."""

    interval: NDArray[np.int64]
    basis: FloatArray

    def values(self, coefficients: FloatArray) -> FloatArray:
        """(derivative, times, channels)."""
        return np.einsum("dnk,nck->dnc", self.basis, sliding_window_view(coefficients, LOCAL, axis=0)[self.interval])


def _basis(u: FloatArray, step_s: float) -> FloatArray:
    """B-splines at fractions u of an interval, and their derivatives: (derivative, fractions, coefficients)."""
    from scipy.interpolate import BSpline

    spline = BSpline(np.arange(-DEGREE, LOCAL + 1, dtype=float), np.eye(LOCAL), DEGREE)
    return np.array([np.asarray(spline(u, nu=d)) / step_s**d for d in range(3)], dtype=float)


def add_second_differences(band: FloatArray, weight: float, stride: int = 1) -> None:
    """Add weight (c[i] - 2 c[i + stride] + c[i + 2 stride])^2 to banded normal equations, in lower form."""
    n = band.shape[1] - 2 * stride
    for i, a in enumerate((1.0, -2.0, 1.0)):
        for j, c in enumerate((1.0, -2.0, 1.0)[: i + 1]):
            band[(i - j) * stride, j * stride : j * stride + n] += weight * a * c


def solve_banded(band: FloatArray, right: FloatArray) -> FloatArray:
    """x with A x = right, for a positive definite A in lower banded form."""
    from scipy.linalg import solveh_banded

    try:
        return np.asarray(solveh_banded(band, right, lower=True, check_finite=False), dtype=float)
    except np.linalg.LinAlgError:
        raise DataProblem("fusion", "some stretch of the motion was seen by no instrument") from None
