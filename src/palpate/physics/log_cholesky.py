"""The log-Cholesky map: ten free numbers theta onto exactly the physically consistent phi (Rucker & Wensing 2022).

theta = [alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3] (paper, eq. theta) fills one upper triangular factor

    U = e^alpha [e^d1 s12 s13 t1; 0 e^d2 s23 t2; 0 0 e^d3 t3; 0 0 0 1],

and the pseudo-inertia is J = U'U in the paper (`UtU`; e^d and s are lengths, t dimensionless), J = UU' in Pinocchio and
MuJoCo (`UUt`; all lengths, e^2alpha = m, t = centre of mass). Both reach the same phi with different theta, so
theta, damping and conditioning compare only within one convention.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import PHI_OF_PSEUDO, check_consistent, phi_from_pseudo_inertia, pseudo_inertia

Factor = Literal["UtU", "UUt"]

THETA_NAMES = ("alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3")
_DIAGONAL, _NUMBER = np.arange(3), np.arange(1, 10)
_ROW, _COLUMN = np.array([0, 1, 2, 0, 1, 0, 0, 1, 2]), np.array([0, 1, 2, 1, 2, 2, 3, 3, 3])


def phi_from_theta(theta: ArrayLike, factor: Factor = "UtU") -> FloatArray:
    """Paper, eq. phi_theta, in the chosen factor convention. (10,) -> (10,)."""
    U = _factor(np.asarray(theta, dtype=float))
    return phi_from_pseudo_inertia(U.T @ U if factor == "UtU" else U @ U.T)


def phi_jacobian(theta: ArrayLike, factor: Factor = "UtU") -> FloatArray:
    """d phi / d theta, analytic: dJ = dU'U + U'dU, or dU U' + U dU'. (10,) -> (10, 10)."""
    theta = np.asarray(theta, dtype=float)
    U = _factor(theta)
    dU = _factor_slopes(theta, U)
    half = np.swapaxes(dU, 1, 2) @ U if factor == "UtU" else dU @ U.T
    return 2 * phi_from_pseudo_inertia(half).T  # phi sees the symmetric part alone


def phi_curvature(theta: ArrayLike, slope: FloatArray, factor: Factor = "UtU") -> FloatArray:
    """sum_k slope_k d2 phi_k / d theta2, analytic. (10,), (10,) -> (10, 10).

    slope' phi = <W, J> with a symmetric W, J is quadratic in U, and U is exponential in alpha and d.
    """
    theta = np.asarray(theta, dtype=float)
    U = _factor(theta)
    dU = _factor_slopes(theta, U)
    W = (PHI_OF_PSEUDO @ slope).reshape(4, 4)
    turned = dU @ W if factor == "UtU" else W @ dU
    H = 2 * turned.reshape(10, 16) @ dU.reshape(10, 16).T
    slopes = 2 * dU.reshape(10, 16) @ (U @ W if factor == "UtU" else W @ U).ravel()
    H[0, :] += slopes
    H[1:, 0] += slopes[1:]
    H[_NUMBER[:3], _NUMBER[:3]] += slopes[1:4]
    return H


def theta_from_phi(phi: ArrayLike, factor: Factor = "UtU") -> FloatArray:
    """The inverse map, by Cholesky; refuses parameters that are not physically consistent. (10,) -> (10,)."""
    check_consistent(phi, "inertial parameters")
    J = pseudo_inertia(phi)
    # UU' is the Cholesky factorisation of J with rows and columns in reverse order
    U = np.linalg.cholesky(J).T if factor == "UtU" else np.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1]
    entries = U[_ROW, _COLUMN] / U[3, 3]
    return np.concatenate([[np.log(U[3, 3])], np.log(entries[:3]), entries[3:]])


def alpha_of_mass(theta_m: ArrayLike, mass: float, factor: Factor = "UtU") -> float:
    """The alpha that gives the known mass (kg): paper, eq. alpha, for `UtU`; log(m)/2 for `UUt`. theta_m is (9,)."""
    t = np.asarray(theta_m, dtype=float)[6:9]
    return float(0.5 * np.log(mass / (1 + t @ t if factor == "UtU" else 1.0)))


def phi_from_theta_m(theta_m: ArrayLike, mass: float, factor: Factor = "UtU") -> FloatArray:
    """phi of the nine remaining parameters when the mass (kg) is known (paper, eq. theta_m). (9,) -> (10,)."""
    return phi_from_theta(np.concatenate([[alpha_of_mass(theta_m, mass, factor)], theta_m]), factor)


def phi_jacobian_m(theta_m: ArrayLike, mass: float, factor: Factor = "UtU") -> FloatArray:
    """d phi / d theta_m with the mass (kg) known, analytic. (9,) -> (10, 9)."""
    theta_m = np.asarray(theta_m, dtype=float)
    full = phi_jacobian(np.concatenate([[alpha_of_mass(theta_m, mass, factor)], theta_m]), factor)
    jacobian = full[:, 1:].copy()
    if factor == "UtU":  # alpha moves with t: d alpha / dt = -t / (1 + t't)
        t = theta_m[6:9]
        jacobian[:, 6:9] -= np.outer(full[:, 0], t / (1 + t @ t))
    return jacobian


def _factor_slopes(theta: FloatArray, U: FloatArray) -> FloatArray:
    """d U / d theta, (10, 4, 4): d/dd_i e^d_i = e^d_i; the others enter U as they are."""
    dU = np.zeros((10, 4, 4))
    dU[0] = U
    scale = np.full(9, np.exp(theta[0]))
    scale[:3] = U[_DIAGONAL, _DIAGONAL]
    dU[_NUMBER, _ROW, _COLUMN] = scale
    return dU


def _factor(theta: FloatArray) -> FloatArray:
    """U entry by entry: a search calls it thousands of times, and one array of floats is the fastest way."""
    e, e1, e2, e3 = np.exp(theta[:4]).tolist()
    s12, s23, s13, t1, t2, t3 = theta[4:].tolist()
    return e * np.array([[e1, s12, s13, t1], [0.0, e2, s23, t2], [0.0, 0.0, e3, t3], [0.0, 0.0, 0.0, 1.0]])
