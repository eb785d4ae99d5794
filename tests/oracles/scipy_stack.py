"""The fit as most people write it: SciPy's least_squares on the full stack of residuals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, least_squares

Array = NDArray[np.float64]


def phi_of_theta(theta: Array) -> Array:
    """Paper, eq. phi_theta, typed from the paper entry by entry."""
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta
    e1, e2, e3 = np.exp(d1), np.exp(d2), np.exp(d3)
    return np.exp(2 * alpha) * np.array(
        [
            t1**2 + t2**2 + t3**2 + 1,
            t1 * e1,
            t1 * s12 + t2 * e2,
            t1 * s13 + t2 * s23 + t3 * e3,
            s12**2 + s13**2 + s23**2 + e2**2 + e3**2,
            -s12 * e1,
            -s13 * e1,
            s13**2 + s23**2 + e1**2 + e3**2,
            -s12 * s13 - s23 * e2,
            s12**2 + e1**2 + e2**2,
        ]
    )


def phi_jacobian(theta: Array) -> Array:
    """d phi / d theta by complex steps: exact to rounding, and nobody's analytic formula."""
    h = 1e-30
    return np.array([phi_of_theta(theta + 1j * h * e).imag / h for e in np.eye(10)]).T


def solve_stacked(
    A: Array, w: Array, G: Array, theta_prior: Array, damping: float, *, tolerance: float = 1e-15, analytic: bool = True
) -> OptimizeResult:
    """Paper, eq. optimization, on all 6 N + 10 residuals. A (N, 6, 10), w (N, 6), G (6,); x = [theta, bias]."""

    def residuals(x: Array) -> Array:
        data = G * (w - A @ phi_of_theta(x[:10]) - x[10:])
        return np.concatenate([data.ravel(), damping * (x[:10] - theta_prior)])

    def jacobian(x: Array) -> Array:
        J = np.zeros((6 * len(A) + 10, 16))
        J[:-10, :10] = (-G[:, None] * (A @ phi_jacobian(x[:10]))).reshape(-1, 10)
        J[:-10, 10:] = np.tile(-np.diag(G), (len(A), 1))
        J[-10:, :10] = damping * np.eye(10)
        return J

    start = np.concatenate([theta_prior, np.zeros(6)])
    options = {"xtol": tolerance, "ftol": tolerance, "gtol": tolerance}
    return least_squares(
        residuals, start, jac=jacobian if analytic else "2-point", x_scale="jac", max_nfev=500, **options
    )
