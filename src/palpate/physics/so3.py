"""Rotations as vectors: exponential, logarithm and the right Jacobian, for stacks of any shape.

A rotation vector is axis times angle, rad. With R = R_0 exp(phi), the angular velocity in the turned frame is
J_r(phi) dphi/dt (Chirikjian 2012, Stochastic Models 2, 10.86; Sola et al. 2018, arXiv 1812.01537, eq. 143).
"""

from __future__ import annotations

from math import factorial

import numpy as np
from numpy.typing import ArrayLike

from palpate.physics.arrays import FloatArray
from palpate.physics.spatial import skew

_TERMS = 10
"""Of the power series, which serve where the square of the angle is below one: the next is below 1e-20."""


def exp_rotation(phi: ArrayLike) -> FloatArray:
    """R of a rotation vector: I + a S + b S S (Rodrigues). (..., 3) -> (..., 3, 3)."""
    phi = np.asarray(phi, dtype=float)
    a, b, _ = _coefficients((phi**2).sum(axis=-1))
    S = skew(phi)
    return np.eye(3) + a[..., None, None] * S + b[..., None, None] * (S @ S)


def log_rotation(R: ArrayLike) -> FloatArray:
    """The shortest rotation vector of R, at most pi long. (..., 3, 3) -> (..., 3).

    Through the quaternion, so that neither a small angle nor one near pi loses digits. NaN stays NaN.
    """
    return log_quaternion(quaternion_from_rotation(R))


def body_rates(phi: FloatArray, phi_dot: FloatArray, phi_ddot: FloatArray) -> tuple[FloatArray, FloatArray]:
    """omega (rad/s) and omega_dot (rad/s2) in the frame R_0 exp(phi(t)), from the vector and its derivatives (..., 3).

    omega = J_r phi_dot and omega_dot = J_r phi_ddot + (d J_r / dt) phi_dot, exact at any angle.
    """
    square = (phi**2).sum(axis=-1)
    _, b, c = _coefficients(square)
    b_slope, c_slope = _slopes(square)
    along = (phi * phi_dot).sum(axis=-1)
    u, u_dot = np.cross(phi, phi_dot), np.cross(phi, phi_ddot)
    twice = np.cross(phi, u)
    omega = phi_dot - b[..., None] * u + c[..., None] * twice
    omega_dot = phi_ddot - b[..., None] * u_dot + c[..., None] * (np.cross(phi, u_dot) + np.cross(phi_dot, u))
    return omega, omega_dot - (b_slope * along)[..., None] * u + (c_slope * along)[..., None] * twice


def quaternion_from_rotation(R: ArrayLike) -> FloatArray:
    """Unit quaternions w x y z with w >= 0. (..., 3, 3) -> (..., 4).

    Divides by the largest of the four components (Shepperd 1978, J. Guidance and Control 1:223).
    """
    m = np.asarray(R, dtype=float)
    x, y, z = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    # four times q q', whose largest diagonal entry picks the column that is q up to its length
    outer = np.empty((*m.shape[:-2], 4, 4))
    outer[..., 0, 0], outer[..., 1, 1] = 1 + x + y + z, 1 + x - y - z
    outer[..., 2, 2], outer[..., 3, 3] = 1 - x + y - z, 1 - x - y + z
    for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1)), start=1):
        outer[..., 0, i] = outer[..., i, 0] = m[..., k, j] - m[..., j, k]
        outer[..., j + 1, k + 1] = outer[..., k + 1, j + 1] = m[..., k, j] + m[..., j, k]
    largest = np.einsum("...ii->...i", outer).argmax(axis=-1)
    q = np.take_along_axis(outer, largest[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return q * np.where(q[..., :1] < 0, -1.0, 1.0)


def rotation_from_quaternion(q: ArrayLike) -> FloatArray:
    """R of quaternions w x y z of any length but zero. (..., 4) -> (..., 3, 3)."""
    given = np.asarray(q, dtype=float)
    unit = given / np.linalg.norm(given, axis=-1, keepdims=True)
    S = skew(unit[..., 1:])
    return np.eye(3) + 2 * unit[..., :1, None] * S + 2 * (S @ S)


def log_quaternion(q: FloatArray) -> FloatArray:
    """Rotation vectors of unit quaternions w x y z. (..., 4) -> (..., 3)."""
    q = q * np.where(q[..., :1] < 0, -1.0, 1.0)
    sine = np.linalg.norm(q[..., 1:], axis=-1)
    small = sine < 1e-8
    factor = np.where(small, 2.0, 2 * np.arctan2(sine, q[..., 0]) / np.where(small, 1.0, sine))
    return factor[..., None] * q[..., 1:]


def quaternion_product(p: FloatArray, q: FloatArray) -> FloatArray:
    """p q, w x y z: of unit quaternions, the rotation p after the rotation q. (..., 4)."""
    scalar = p[..., :1] * q[..., :1] - (p[..., 1:] * q[..., 1:]).sum(axis=-1, keepdims=True)
    vector = p[..., :1] * q[..., 1:] + q[..., :1] * p[..., 1:] + np.cross(p[..., 1:], q[..., 1:])
    return np.concatenate([scalar, vector], axis=-1)


def continuous_quaternions(q: FloatArray) -> FloatArray:
    """The same rotations (samples, 4) with signs chosen so that neighbours are near each other."""
    flips = np.where((q[1:] * q[:-1]).sum(axis=1) < 0, -1.0, 1.0)
    return q * np.concatenate([[1.0], np.cumprod(flips)])[:, None]


def _coefficients(square: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """sin x / x, (1 - cos x) / x^2, (x - sin x) / x^3 of x^2."""
    x = np.sqrt(square)
    a = np.sinc(x / np.pi)
    b = 0.5 * np.sinc(x / (2 * np.pi)) ** 2
    c = np.where(square < 1, _series(square, 3, 0), (1 - a) / np.where(square < 1, 1.0, square))
    return a, b, c


def _slopes(square: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(db/dx) / x and (dc/dx) / x of the coefficients b and c."""
    a, b, c = _coefficients(square)
    near, safe = square < 1, np.where(square < 1, 1.0, square)
    b_slope = np.where(near, 2 * _series(square, 2, 1), (a - 2 * b) / safe)
    c_slope = np.where(near, 2 * _series(square, 3, 1), (b - 3 * c) / safe)
    return b_slope, c_slope


def _series(square: FloatArray, first: int, derivative: int) -> FloatArray:
    """Sum of (-s)^n / (2 n + first)!, or its derivative with respect to s."""
    terms = [(-1.0) ** n / factorial(2 * n + first) for n in range(_TERMS)]
    if derivative:
        terms = [n * term for n, term in enumerate(terms)][1:]
    total = np.zeros_like(square)
    for term in reversed(terms):
        total = total * square + term
    return total
