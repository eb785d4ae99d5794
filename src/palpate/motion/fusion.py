"""Motion from an IMU: alone, of a sensor in whose module it sits, or fused with markers.

Fusion finds the smooth motion that explains both, with the IMU's constant errors. Position and quaternion are B-splines
of time; the unknowns are found by Gauss-Newton on SO(3) x R3 over the whole recording at once (Furgale, Rehder &
Siegwart 2013, IROS: continuous-time batch estimation). Each sample touches five neighbouring coefficients only, so that
the normal equations are banded and cost is linear in the length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from palpate.errors import DataProblem
from palpate.motion.clock import even_rate
from palpate.motion.derivatives import gravity_vector, pose_bandwidth
from palpate.physics.arrays import FloatArray, rms, symmetric_inverse
from palpate.physics.motion import (
    Motion,
    Poses,
    continuous_quaternions,
    log_quaternion,
    quaternion_from_rotation,
    quaternion_product,
    rotation_from_quaternion,
    skew,
    transport_acceleration,
)

_KNOTS_PER_CYCLE = 2.5
"""Knots in one period of the highest frequency to follow."""
_START_HZ = 4.0
"""Up to which the first guess follows the markers."""
_ROUNDS = 12
_LARGEST_STEP = 0.5
"""rad; a longer step is shortened."""
_CHUNK = 256
"""Intervals whose equations are built at a time."""
DEGREE = 4
"""Of the splines: second derivatives are smooth."""
LOCAL = DEGREE + 1
"""Coefficients that a sample touches."""


@dataclass(frozen=True, slots=True, eq=False)
class Fusion:
    """The motion of the body frame, the IMU's constant errors, and how well everything fits."""

    motion: Motion
    """With poses and velocity; NaN where the IMU did not see it."""
    acceleration_bias: FloatArray
    """(3,) m/s2 in the IMU's axes: measured minus true."""
    acceleration_bias_std: FloatArray
    rate_bias: FloatArray
    """(3,) rad/s in the IMU's axes."""
    rate_bias_std: FloatArray
    noise: FusionNoise
    misfit: dict[str, float]
    """RMS of each instrument's residuals over its noise: about 1, or the instruments contradict each other (a clock
    offset, a wrong pose of the IMU, a tilted capture frame) or are noisier than stated.
    """
    rounds: int


def fuse(
    poses: Poses,
    times_s: FloatArray,
    acceleration: FloatArray,
    angular_rate: FloatArray,
    T_body_imu: FloatArray,
    *,
    gravity: ArrayLike,
    bandwidth_hz: float = 20.0,
    noise: FusionNoise | None = None,
    at_s: FloatArray | None = None,
) -> Fusion:
    """Fuse poses of a body with the IMU on it; all times on one clock, s.

    acceleration (specific force, m/s2) and angular_rate (rad/s): (samples, 3) in the IMU's axes on its even clock
    `times_s`, NaN where not seen; T_body_imu: its pose in the body (4 x 4, m); gravity (3,) m/s2 in the capture
    frame; bandwidth_hz: up to which the motion is followed. `noise` is measured if not given. The motion comes at the
    times `at_s`, or at the IMU's.
    """
    g = gravity_vector(gravity)
    rate = even_rate(times_s, "fusion", 0.5)
    per_knot = round(rate / (_KNOTS_PER_CYCLE * bandwidth_hz))
    if per_knot < 2:
        raise DataProblem(
            "fusion", f"an IMU at {rate:.6g} Hz cannot follow {bandwidth_hz:g} Hz", remedy="lower the bandwidth"
        )
    grid = Grid(float(times_s[0]), per_knot / rate, -(-len(times_s) // per_knot), per_knot)
    seen = poses.seen & (poses.times_s >= grid.start_s) & (poses.times_s <= float(times_s[-1]))
    if seen.sum() < 10:
        raise DataProblem("fusion", f"{seen.sum()} poses lie within the IMU's time", remedy="align the clocks first")
    R_imu, arm = T_body_imu[:3, :3], T_body_imu[:3, 3]
    sigma = _measured_noise(poses, acceleration, angular_rate) if noise is None else noise
    measured = np.full((2, grid.intervals * grid.samples, 3), np.nan)
    measured[:, : len(times_s)] = angular_rate @ R_imu.T, acceleration @ R_imu.T
    rate_imu, acceleration_imu = measured.reshape(2, grid.intervals, grid.samples, 3)
    data = FusionData(
        grid,
        rate_imu,
        acceleration_imu,
        grid.at(poses.times_s[seen]),
        poses.position[seen],
        continuous_quaternions(quaternion_from_rotation(poses.rotation[seen])),
        arm,
        g,
        sigma,
    )
    state, covariance, rounds = _solve(data)
    misfit = _misfit(data, state)
    # the residuals know better than the data sheet, if they are larger
    std = np.sqrt(np.diag(covariance)) * max(1.0, *misfit.values())
    motion = _motion(data, state, times_s, times_s if at_s is None else at_s)
    turn = R_imu.T
    return Fusion(
        motion,
        turn @ state.bias[3:],
        np.sqrt(turn**2 @ std[3:] ** 2),
        turn @ state.bias[:3],
        np.sqrt(turn**2 @ std[:3] ** 2),
        sigma,
        misfit,
        rounds,
    )


def _measured_noise(poses: Poses, acceleration: FloatArray, angular_rate: FloatArray) -> FusionNoise:
    spectra = pose_bandwidth(poses).spectra
    imu: list[float] = []
    for x in (acceleration, angular_rate):
        # fourth differences of white noise have the variance 70, of motion hardly any; by the median, so that knocks
        # and the seams of lost samples do not count
        fourth = np.diff(x[np.isfinite(x).all(axis=1)], n=4, axis=0)
        imu.append(rms(np.median(np.abs(fourth), axis=0) / (0.6745 * np.sqrt(70.0))))
    if not min(imu) > 0:
        raise DataProblem("fusion", "the IMU shows no noise at all", remedy="state the noise of all instruments")
    return FusionNoise(spectra["position"].noise_std, spectra["rotation"].noise_std, imu[0], imu[1])


def _solve(data: FusionData) -> tuple[SplineMotion, FloatArray, int]:
    """State, covariance of the biases (6, 6), and how many rounds it took."""
    h, change = data.grid.step_s, np.inf
    # smooth splines through the markers alone; second differences are penalised, which bridges gaps
    start = data.grid.smooth(data.at, np.hstack([data.quaternion, data.position]), _START_HZ)
    state = SplineMotion(start[:, :4], start[:, 4:], np.zeros(6))
    for rounds in range(1, _ROUNDS + 1):
        step, bias, covariance = _step(data, state)
        turn, shift = step[:, :3], step[:, 3:]
        share = min(1.0, _LARGEST_STEP / max(float(np.abs(turn).max()), 1e-300))
        quaternion = _turned(data.grid, state.quaternion, share * turn)
        # not the step itself: where it leaves the space of the splines, it comes to nothing again and again
        change = 2 * float(np.abs(quaternion - state.quaternion).max())
        state = SplineMotion(quaternion, state.position + share * shift, state.bias + share * bias)
        # a hundredth of what the IMU's noise amounts to from knot to knot, or the derivatives are not there yet
        if change < 0.01 * data.noise.rate * h and np.abs(shift).max() < 0.01 * data.noise.acceleration * h**2:
            return state, covariance, rounds
    raise DataProblem(
        "fusion",
        f"no motion explains markers and IMU: after {_ROUNDS} rounds the rotation still changes by {change:.2g} rad",
        remedy="check that the clocks are aligned, the pose of the IMU in the body, and its units",
    )


def _turned(grid: Grid, quaternion: FloatArray, turn: FloatArray) -> FloatArray:
    """Coefficients of the spline through q exp(turn), with q and turn given by theirs."""
    q = grid.values(quaternion, 0, grid.intervals)[0].reshape(-1, 4)
    half = 0.5 * grid.values(turn, 0, grid.intervals)[0].reshape(-1, 3)
    angle = np.linalg.norm(half, axis=1, keepdims=True)
    small = np.hstack([np.cos(angle), np.sinc(angle / np.pi) * half])
    samples = quaternion_product(q / np.linalg.norm(q, axis=1, keepdims=True), small)
    return grid.fit(samples)


def _motion(data: FusionData, state: SplineMotion, imu_s: FloatArray, at_s: FloatArray) -> Motion:
    """The splines' motion at any times; NaN outside the IMU's, and in intervals that it did not see."""
    at = data.grid.at(at_s)
    R, omega, omega_dot = _body_rates_of(at.values(state.quaternion))
    position, velocity, acceleration = at.values(state.position)
    blind = np.asarray(np.isnan(data.rate + data.acceleration).any(axis=2).all(axis=-1), dtype=bool)
    half_sample = 0.5 * data.grid.step_s / data.grid.samples
    unknown = blind[at.interval] | (at_s < imu_s[0] - half_sample) | (at_s > imu_s[-1] + half_sample)
    to_body = R.swapaxes(1, 2)
    specific = (to_body @ (acceleration - data.gravity)[..., None])[..., 0]
    v = (to_body @ velocity[..., None])[..., 0]
    for x in (R, position, specific, omega, omega_dot, v):
        x[unknown] = np.nan
    return Motion(at_s, specific, omega, omega_dot, Poses(at_s, R, position), v)


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
    """Coefficients of the quaternion (intervals + degree, 4)."""
    position: FloatArray
    """Coefficients of the position (intervals + degree, 3), m."""
    bias: FloatArray
    """(6,) of rate and acceleration, in the body's axes."""


def _step(data: FusionData, state: SplineMotion) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Steps (coefficients, 6: turn and shift) and of the biases (6,), and the biases' covariance.

    Least squares of all residuals, linearised at the state; weights are one over the noise. The equations of the
    coefficients are banded, bordered by those of the biases: solved by the Schur complement.
    """
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
    _add_second_differences(band, 1e-9 * float(np.median(band[0])), stride=6)
    x = _solve_banded(band, np.column_stack([right, border]))
    covariance = symmetric_inverse(corner - border.T @ x[:, 1:])
    bias = covariance @ (bias_right - border.T @ x[:, 0])
    return (x[:, 0] - x[:, 1:] @ bias).reshape(-1, 6), bias, covariance


def _add_poses(data: FusionData, state: SplineMotion, band: FloatArray, right: FloatArray) -> None:
    """A pose sees turn and shift themselves: log(R' R_measured) and the difference of positions."""
    b = data.at.basis[0]
    turn, shift = _pose_residuals(data, state)
    weight = np.repeat([data.noise.rotation**-2, data.noise.position**-2], 3)
    residual = np.hstack([turn, shift]) * weight
    for i in range(LOCAL):
        np.add.at(right.reshape(-1, 6), data.at.interval + i, b[:, i, None] * residual)
        for j in range(i + 1):
            np.add.at(band[6 * (i - j)].reshape(-1, 6), data.at.interval + j, (b[:, i] * b[:, j])[:, None] * weight)


def _pose_residuals(data: FusionData, state: SplineMotion) -> tuple[FloatArray, FloatArray]:
    q = data.at.values(state.quaternion)[0]
    inverse = q * [1, -1, -1, -1] / np.linalg.norm(q, axis=1, keepdims=True)
    turn = log_quaternion(quaternion_product(inverse, data.quaternion))
    return turn, data.position - data.at.values(state.position)[0]


def _body_rates_of(q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
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
        R, w, w_dot = _body_rates_of(grid.values(state.quaternion, first, last))
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


def _misfit(data: FusionData, state: SplineMotion) -> dict[str, float]:
    """RMS of each instrument's residuals over its noise."""
    squares, count = np.zeros(6), 0
    for imu in _imu(data, state):
        squares += (imu.residual**2).sum(axis=(0, 1))
        count += int((imu.scale[..., 0] > 0).sum())
    turn, shift = _pose_residuals(data, state)
    poses = {"position": rms(shift) / data.noise.position, "rotation": rms(turn) / data.noise.rotation}
    imu = {"acceleration": squares[3:], "rate": squares[:3]}
    return poses | {name: float(np.sqrt(x.mean() / max(count, 1))) for name, x in imu.items()}


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
        u = (times_s - self.start_s) / self.step_s
        # a knot's time, whatever its rounding, is in the interval after it
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
        from scipy.interpolate import make_lsq_spline

        knots = np.arange(-DEGREE, self.intervals + LOCAL, dtype=float)
        return np.asarray(make_lsq_spline(np.arange(len(x)) / self.samples, x, knots, DEGREE).c, dtype=float)

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
        _add_second_differences(band, per_knot / (2 * np.pi * bandwidth_hz * self.step_s) ** 4)
        return _solve_banded(band, right)


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


def _add_second_differences(band: FloatArray, weight: float, stride: int = 1) -> None:
    """Add weight (c[i] - 2 c[i + stride] + c[i + 2 stride])^2 to banded normal equations, in lower form."""
    n = band.shape[1] - 2 * stride
    for i, a in enumerate((1.0, -2.0, 1.0)):
        for j, c in enumerate((1.0, -2.0, 1.0)[: i + 1]):
            band[(i - j) * stride, j * stride : j * stride + n] += weight * a * c


def _solve_banded(band: FloatArray, right: FloatArray) -> FloatArray:
    """x with A x = right, for a positive definite A in lower banded form."""
    from scipy.linalg import solveh_banded

    try:
        return np.asarray(solveh_banded(band, right, lower=True, check_finite=False), dtype=float)
    except np.linalg.LinAlgError:
        raise DataProblem("fusion", "some stretch of the motion was seen by no instrument") from None
