"""The normal equations of fusion: what markers and IMU say about small changes of a motion given by splines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from palpate.motion.splines import LOCAL, At, Grid, add_second_differences, solve_banded
from palpate.physics.arrays import FloatArray, symmetric_inverse
from palpate.physics.so3 import log_quaternion, quaternion_product, rotation_from_quaternion
from palpate.physics.spatial import skew, transport_acceleration

_CHUNK = 256
"""Intervals whose equations are built at a time."""


@dataclass(frozen=True, slots=True)
class FusionNoise:
    """Standard deviation of one axis and sample of each instrument: m, rad, m/s2, rad/s."""

    position: float
    rotation: float
    acceleration: float
    rate: float


@dataclass(frozen=True, slots=True, eq=False)
class FusionData:
    """What was measured, in the body's axes, ready for the normal equations."""

    grid: Grid
    rate: FloatArray
    """(intervals, samples, 3), NaN where not seen."""
    acceleration: FloatArray
    at: At
    """Of the poses."""
    position: FloatArray
    quaternion: FloatArray
    arm: FloatArray
    gravity: FloatArray
    noise: FusionNoise


@dataclass(frozen=True, slots=True, eq=False)
class SplineMotion:
    """A motion as splines, and the IMU's constant errors."""

    quaternion: FloatArray
    """Coefficients (intervals + degree, 4), and of the ..."""
    position: FloatArray
    """... position (intervals + degree, 3), m."""
    bias: FloatArray
    """(6,) of rate and acceleration, in the body's axes."""


@dataclass(frozen=True, slots=True, eq=False)
class Normal:
    """Banded equations of the coefficients (six unknowns each, turn and shift), bordered by those of the biases."""

    band: FloatArray
    right: FloatArray
    border: FloatArray
    """(unknowns, 6)."""
    corner: FloatArray
    bias_right: FloatArray

    def solve(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Steps (coefficients, 6) and (6,), and the covariance of the biases, by the Schur complement."""
        x = solve_banded(self.band, np.column_stack([self.right, self.border]))
        covariance = symmetric_inverse(self.corner - self.border.T @ x[:, 1:])
        bias = covariance @ (self.bias_right - self.border.T @ x[:, 0])
        return (x[:, 0] - x[:, 1:] @ bias).reshape(-1, 6), bias, covariance


def normal_equations(data: FusionData, state: SplineMotion) -> Normal:
    """Least squares of all residuals, linearised at the state; weights are one over the noise."""
    grid, size = data.grid, 6 * LOCAL
    unknowns = 6 * grid.size
    band, right, border = np.zeros((size, unknowns)), np.zeros(unknowns), np.zeros((unknowns, 6))
    corner, bias_right = np.zeros((6, 6)), np.zeros(6)
    for imu in _imu(data, state):
        J = _jacobian(data, imu)
        count = imu.last - imu.first
        r, E = imu.residual.reshape(count, -1, 1), (imu.scale[..., None] * np.eye(6)).reshape(count, -1, 6)
        transposed = J.swapaxes(1, 2)
        product, gradient, coupled = transposed @ J, (transposed @ r)[..., 0], transposed @ E
        for i in range(size):
            rows = slice(6 * imu.first + i, 6 * (imu.last - 1) + i + 1, 6)
            right[rows] += gradient[:, i]
            border[rows] += coupled[:, i]
            for j in range(i + 1):
                band[i - j, 6 * imu.first + j : 6 * (imu.last - 1) + j + 1 : 6] += product[:, i, j]
        corner += np.diag((imu.scale**2).sum(axis=(0, 1)))
        bias_right += (imu.scale * imu.residual).sum(axis=(0, 1))
    _add_poses(data, state, band, right)
    # where nothing was seen at all, straight on: weak beside any measurement
    add_second_differences(band, 1e-9 * float(np.median(band[0])), stride=6)
    return Normal(band, right, border, corner, bias_right)


def _add_poses(data: FusionData, state: SplineMotion, band: FloatArray, right: FloatArray) -> None:
    """A pose sees turn and shift themselves: log(R' R_measured) and the difference of positions."""
    b = data.at.basis[0]
    turn, shift = _pose_residuals(data, state)
    weight = np.repeat([data.noise.rotation**-2, data.noise.position**-2], 3)
    residual = np.hstack([turn, shift]) * weight
    for i in range(LOCAL):
        for c in range(6):
            np.add.at(right, 6 * (data.at.interval + i) + c, b[:, i] * residual[:, c])
        for j in range(i + 1):
            both = b[:, i] * b[:, j]
            for c in range(6):
                np.add.at(band[6 * (i - j)], 6 * (data.at.interval + j) + c, weight[c] * both)


def _pose_residuals(data: FusionData, state: SplineMotion) -> tuple[FloatArray, FloatArray]:
    q = data.at.values(state.quaternion)[0]
    inverse = q * [1, -1, -1, -1] / np.linalg.norm(q, axis=1, keepdims=True)
    turn = log_quaternion(quaternion_product(inverse, data.quaternion))
    return turn, data.position - data.at.values(state.position)[0]


def body_rates_of(q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """R, omega and omega_dot of quaternions with derivatives (3, ..., 4), of any length: 2 Im(q^-1 dq/dt)."""
    inverse = q[0] * [1, -1, -1, -1] / (q[0] ** 2).sum(axis=-1, keepdims=True)
    u = quaternion_product(inverse, q[1])
    u_dot = quaternion_product(inverse, q[2]) - quaternion_product(u, u)
    return rotation_from_quaternion(q[0]), 2 * u[..., 1:], 2 * u_dot[..., 1:]


@dataclass(frozen=True, slots=True, eq=False)
class _Imu:
    """The IMU in some intervals; arrays are (intervals, samples, ...)."""

    first: int
    last: int
    R: FloatArray
    omega: FloatArray
    omega_dot: FloatArray
    force: FloatArray
    """Specific force of the body's origin."""
    scale: FloatArray
    """One over the noise, or 0 where nothing was seen; (..., 6), rate and acceleration."""
    residual: FloatArray
    """Measured minus expected, in units of the noise, (..., 6)."""


def _imu(data: FusionData, state: SplineMotion) -> Iterator[_Imu]:
    """What the IMU says against the state: omega, and R' (a - g) + omega_dot x r + omega x (omega x r) at its arm r."""
    grid, r = data.grid, data.arm
    weights = np.array([1 / data.noise.rate] * 3 + [1 / data.noise.acceleration] * 3)
    for first in range(0, grid.intervals, _CHUNK):
        last = min(first + _CHUNK, grid.intervals)
        R, w, w_dot = body_rates_of(grid.values(state.quaternion, first, last))
        a = grid.values(state.position, first, last)[2] - data.gravity
        force = (R.swapaxes(-1, -2) @ a[..., None])[..., 0]
        expected = np.concatenate([w, transport_acceleration(force, w, w_dot, r)], axis=-1)
        measured = np.concatenate([data.rate[first:last], data.acceleration[first:last]], axis=-1)
        seen = np.isfinite(measured).all(axis=-1, keepdims=True)
        scale = np.where(seen, weights, 0.0)
        residual = np.where(seen, measured - expected - state.bias, 0.0) * scale
        yield _Imu(first, last, R, w, w_dot, force, scale, residual)


def _jacobian(data: FusionData, imu: _Imu) -> FloatArray:
    """How the weighted rows answer to the coefficients of turn and shift: (intervals, 6 samples, 6 coefficients).

    With R -> R exp(turn): d omega = turn_dot + omega x turn, and d omega_dot is its derivative.
    """
    B0, B1, B2 = (b[:, None, :, None] for b in data.grid.basis())
    W, arm = skew(imu.omega), skew(data.arm)
    lever = -skew(np.cross(imu.omega, data.arm)) - W @ arm
    by_turn = skew(imu.force) - arm @ skew(imu.omega_dot) + lever @ W
    by_turn_dot = lever - arm @ W
    J = np.zeros((*imu.omega.shape[:2], 6, LOCAL, 6))
    J[..., :3, :, :3] = W[..., :, None, :] * B0 + np.eye(3)[:, None, :] * B1
    J[..., 3:, :, :3] = by_turn[..., :, None, :] * B0 + by_turn_dot[..., :, None, :] * B1 - arm[:, None, :] * B2
    J[..., 3:, :, 3:] = imu.R.swapaxes(-1, -2)[..., :, None, :] * B2
    return (J * imu.scale[..., None, None]).reshape(len(J), -1, 6 * LOCAL)


def misfit_of(data: FusionData, state: SplineMotion) -> dict[str, float]:
    """RMS of each instrument's residuals over its noise."""
    squares, count = np.zeros(6), 0
    for imu in _imu(data, state):
        squares += (imu.residual**2).sum(axis=(0, 1))
        count += int((imu.scale[..., 0] > 0).sum())
    turn, shift = _pose_residuals(data, state)
    return {
        "position": float(np.sqrt((shift**2).mean())) / data.noise.position,
        "rotation": float(np.sqrt((turn**2).mean())) / data.noise.rotation,
        "acceleration": float(np.sqrt(squares[3:].mean() / max(count, 1))),
        "rate": float(np.sqrt(squares[:3].mean() / max(count, 1))),
    }
