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


def solve_stacked(
    A: Array, w: Array, G: Array, theta_prior: Array, damping: float, *, tolerance: float = 1e-15, jac: str = "3-point"
) -> OptimizeResult:
    """Paper, eq. optimization, on all 6 N + 10 residuals. A (N, 6, 10), w (N, 6), G (6,); x = [theta, bias]."""

    def residuals(x: Array) -> Array:
        data = G * (w - A @ phi_of_theta(x[:10]) - x[10:])
        return np.concatenate([data.ravel(), damping * (x[:10] - theta_prior)])

    start = np.concatenate([theta_prior, np.zeros(6)])
    return least_squares(
        residuals,
        start,
        jac=jac,
        method="trf",
        x_scale="jac",
        xtol=tolerance,
        ftol=tolerance,
        gtol=tolerance,
        max_nfev=500,
    )
