"""Fusion of markers and an IMU: the smooth motion that explains both, with the IMU's constant errors.

Position and quaternion are B-splines of time; the unknowns are found by Gauss-Newton on SO(3) x R3 over the whole
recording at once (Furgale, Rehder & Siegwart 2013, IROS: continuous-time batch estimation). Each sample touches five
neighbouring coefficients only, so that the normal equations are banded and cost is linear in the length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palpate.errors import DataProblem
from palpate.motion.clock import even_rate
from palpate.motion.derivatives import gravity_vector, pose_bandwidth
from palpate.physics import motion as rigid
from palpate.physics.arrays import FloatArray, rms, symmetric_inverse

_MOST_ROUNDS = 12
_ROWS_AT_ONCE = 4096
"""Samples whose equations are built at a time."""
DEGREE = 4
"""Of the splines: second derivatives are smooth."""
LOCAL = DEGREE + 1
"""Coefficients that a sample touches."""
_PLACES = 8
"""In each interval, through which a turned spline is laid."""


@dataclass(frozen=True, slots=True, eq=False)
class Fusion:
    """The motion of the body frame, the IMU's constant errors, and how well everything fits."""

    motion: rigid.Motion
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


def fuse(
    poses: rigid.Poses,
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
    per_knot = round(rate / (2.5 * bandwidth_hz))  # knots in one period of the highest
    if per_knot < 2:
        raise DataProblem(
            "fusion", f"an IMU at {rate:.6g} Hz cannot follow {bandwidth_hz:g} Hz", remedy="lower the bandwidth"
        )
    grid = Grid(float(times_s[0]), per_knot / rate, -(-len(times_s) // per_knot))
    seen = poses.seen & (poses.times_s >= grid.start_s) & (poses.times_s <= float(times_s[-1]))
    if seen.sum() < 10:
        raise DataProblem("fusion", f"{seen.sum()} poses lie within the IMU's time", remedy="align the clocks first")
    R_imu, arm = T_body_imu[:3, :3], T_body_imu[:3, 3]
    sigma = _measured_noise(poses, acceleration, angular_rate) if noise is None else noise
    imu = np.hstack([angular_rate @ R_imu.T, acceleration @ R_imu.T])
    quaternion = rigid.continuous_quaternions(rigid.quaternion_from_rotation(poses.rotation[seen]))
    data = _Data(grid, times_s, imu, poses.times_s[seen], poses.position[seen], quaternion, arm, g, sigma)
    c, bias, covariance = _solve(data)
    misfit = _misfit(data, c, bias)
    # the residuals know better than the data sheet, if they are larger
    variance = (np.diag(covariance) * max(1.0, *misfit.values()) ** 2).reshape(2, 3)
    rate_std, acceleration_std = np.sqrt(variance @ R_imu**2)
    rate_bias, acceleration_bias = bias.reshape(2, 3) @ R_imu
    motion = _motion(data, c, times_s if at_s is None else at_s)
    return Fusion(motion, acceleration_bias, acceleration_std, rate_bias, rate_std, sigma, misfit)


def _measured_noise(poses: rigid.Poses, acceleration: FloatArray, angular_rate: FloatArray) -> FusionNoise:
    spectra = pose_bandwidth(poses).spectra
    # fourth differences of white noise have the variance 70, of motion hardly any; by the median, so that knocks and
    # the seams of lost samples do not count
    fourth = (np.diff(x[np.isfinite(x).all(axis=1)], n=4, axis=0) for x in (acceleration, angular_rate))
    imu = [rms(np.median(np.abs(x), axis=0) / (0.6745 * np.sqrt(70.0))) for x in fourth]
    if not min(imu) > 0:
        raise DataProblem("fusion", "the IMU shows no noise at all", remedy="state the noise of all instruments")
    return FusionNoise(spectra["position"].noise_std, spectra["rotation"].noise_std, imu[0], imu[1])


@dataclass(frozen=True, slots=True)
class FusionNoise:
    """Standard deviation of one axis and sample of each instrument: m, rad, m/s2, rad/s."""

    position: float
    rotation: float
    acceleration: float
    rate: float


@dataclass(frozen=True, slots=True, eq=False)
class _Data:
    """What was measured, in the body's axes."""

    grid: Grid
    imu_s: FloatArray
    imu: FloatArray
    """(samples, 6): rate and acceleration, NaN where not seen."""
    poses_s: FloatArray
    position: FloatArray
    quaternion: FloatArray
    arm: FloatArray
    gravity: FloatArray
    noise: FusionNoise


def _solve(data: _Data) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Coefficients (size, 7) of quaternion and position; biases (6,) of rate and acceleration, their covariance."""
    h, change = data.grid.step_s, np.inf
    # smooth splines through the markers alone; second differences are penalised, which bridges gaps
    c, bias = data.grid.smooth(data.poses_s, np.hstack([data.quaternion, data.position]), 4.0), np.zeros(6)
    for _ in range(_MOST_ROUNDS):
        step, more, covariance = _step(data, c, bias)
        turn, shift = step[:, :3], step[:, 3:]
        share = min(1.0, 0.5 / max(float(np.abs(turn).max()), 1e-300))  # rad
        quaternion = _turned(data.grid, c[:, :4], share * turn)
        # not the step itself: where it leaves the space of the splines, it comes to nothing again and again
        change = 2 * float(np.abs(quaternion - c[:, :4]).max())
        c, bias = np.hstack([quaternion, c[:, 4:] + share * shift]), bias + share * more
        # a hundredth of what the IMU's noise amounts to from knot to knot, or the derivatives are not there yet
        if change < 0.01 * data.noise.rate * h and np.abs(shift).max() < 0.01 * data.noise.acceleration * h**2:
            return c, bias, covariance
    raise DataProblem(
        "fusion",
        f"no motion explains markers and IMU: after {_MOST_ROUNDS} rounds the rotation changes by {change:.2g} rad",
        remedy="check that the clocks are aligned, the pose of the IMU in the body, and its units",
    )


def _turned(grid: Grid, quaternion: FloatArray, turn: FloatArray) -> FloatArray:
    """Coefficients of the spline nearest to q exp(turn), with q and turn given by theirs."""
    from scipy.interpolate import make_lsq_spline

    places = grid.start_s + grid.step_s / _PLACES * np.arange(grid.intervals * _PLACES, dtype=float)
    q, half = grid.values(quaternion, places, 0), 0.5 * grid.values(turn, places, 0)
    angle = np.linalg.norm(half, axis=1, keepdims=True)
    small = np.hstack([np.cos(angle), np.sinc(angle / np.pi) * half])
    turned = rigid.quaternion_product(q / np.linalg.norm(q, axis=1, keepdims=True), small)
    return np.asarray(make_lsq_spline(places, turned, grid.knots, DEGREE).c, dtype=float)


def _motion(data: _Data, c: FloatArray, at_s: FloatArray) -> rigid.Motion:
    """The splines' motion at any times; NaN outside the IMU's, and in intervals that it did not see."""
    grid, imu_s = data.grid, data.imu_s
    (R, omega, omega_dot), (position, velocity, acceleration) = _derived(grid, c, at_s)
    seen = np.isfinite(data.imu).all(axis=1)
    blind = np.bincount(grid.interval(imu_s[seen]), minlength=grid.intervals) == 0
    half_sample = 0.5 * float(imu_s[-1] - imu_s[0]) / (len(imu_s) - 1)
    unknown = blind[grid.interval(at_s)] | (at_s < imu_s[0] - half_sample) | (at_s > imu_s[-1] + half_sample)
    specific, v = (np.einsum("nji,nj->ni", R, x) for x in (acceleration - data.gravity, velocity))
    for x in (R, position, specific, omega, omega_dot, v):
        x[unknown] = np.nan
    return rigid.Motion(at_s, specific, omega, omega_dot, rigid.Poses(at_s, R, position), v)


def _step(data: _Data, c: FloatArray, bias: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Steps (coefficients, 6: turn and shift) and of the biases (6,), and the biases' covariance.

    Least squares of all residuals, linearised at the state; weights are one over the noise. The equations of the
    coefficients are banded, bordered by those of the biases: solved by the Schur complement.
    """
    # right sides: the residuals, and what the six biases do to the rows
    normal, corner = _Normal(data.grid.size, 6, 7), np.zeros((6, 7))
    for interval, J, scale, residual in _imu_rows(data, c, bias):
        biases = scale[..., None] * np.eye(6)
        right = np.concatenate([residual[..., None], biases], axis=2)
        normal.add(interval, J, right)
        corner += np.einsum("nij,nik->jk", biases, right)
    # a pose sees turn and shift themselves
    interval, basis = data.grid.basis(data.poses_s)
    weight = 1 / np.repeat([data.noise.rotation, data.noise.position], 3)
    right = np.zeros((len(interval), 6, 7))
    right[:, :, 0] = weight * _pose_residuals(data, c)
    normal.add(interval, (basis[0, :, None, :, None] * np.diag(weight)[:, None]).reshape(-1, 6, 6 * LOCAL), right)
    # where nothing was seen at all, straight on: weak beside any measurement
    normal.add_second_differences(1e-9 * float(np.median(normal.band[0])))
    x, border = normal.solve(), normal.right[:, 1:]
    covariance = symmetric_inverse(corner[:, 1:] - border.T @ x[:, 1:])
    more = covariance @ (corner[:, 0] - border.T @ x[:, 0])
    return (x[:, 0] - x[:, 1:] @ more).reshape(-1, 6), more, covariance


def _pose_residuals(data: _Data, c: FloatArray) -> FloatArray:
    """(poses, 6): log(R' R_measured) and the difference of positions."""
    now = data.grid.values(c, data.poses_s, 0)
    inverse = now[:, :4] * [1, -1, -1, -1] / np.linalg.norm(now[:, :4], axis=1, keepdims=True)
    turn = rigid.log_quaternion(rigid.quaternion_product(inverse, data.quaternion))
    return np.hstack([turn, data.position - now[:, 4:]])


def _derived(grid: Grid, c: FloatArray, at_s: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
    """R, omega and omega_dot in the body, from 2 Im(q^-1 dq/dt); position, velocity and acceleration in the world."""
    at = [grid.values(c, at_s, d) for d in range(3)]
    q = at[0][:, :4]
    inverse = q * [1, -1, -1, -1] / (q**2).sum(axis=1, keepdims=True)
    u, bend = (rigid.quaternion_product(inverse, x[:, :4]) for x in at[1:])
    u_dot = bend - rigid.quaternion_product(u, u)
    return [rigid.rotation_from_quaternion(q), 2 * u[:, 1:], 2 * u_dot[:, 1:]], [x[:, 4:] for x in at]


def _imu_rows(
    data: _Data, c: FloatArray, bias: FloatArray
) -> Iterator[tuple[NDArray[np.int64], FloatArray, FloatArray, FloatArray]]:
    """What the IMU says against the state, some samples at a time.

    It feels omega, and R' (a - g) + omega_dot x r + omega x (omega x r) at its arm r. -> interval of each sample; how
    its rows answer to the coefficients of turn and shift (samples, 6, 6 coefficients); one over the noise (samples, 6),
    0 where nothing was seen; measured minus expected, in units of the noise. With R -> R exp(turn): d omega = turn_dot
    + omega x turn, and d omega_dot is its derivative.
    """
    weights, arm = 1 / np.repeat([data.noise.rate, data.noise.acceleration], 3), rigid.skew(data.arm)
    for first in range(0, len(data.imu), _ROWS_AT_ONCE):
        t, measured = data.imu_s[first : first + _ROWS_AT_ONCE], data.imu[first : first + _ROWS_AT_ONCE]
        (R, omega, omega_dot), (_, _, acceleration) = _derived(data.grid, c, t)
        force = np.einsum("nji,nj->ni", R, acceleration - data.gravity)
        expected = np.hstack([omega, rigid.transport_acceleration(force, omega, omega_dot, data.arm)])
        seen = np.isfinite(measured).all(axis=1, keepdims=True)
        scale = np.where(seen, weights, 0.0)
        residual = np.where(seen, measured - expected - bias, 0.0) * scale
        interval, basis = data.grid.basis(t)
        B0, B1, B2 = basis[:, :, None, :, None]
        W = rigid.skew(omega)
        lever = -rigid.skew(np.cross(omega, data.arm)) - W @ arm
        by_turn = rigid.skew(force) - arm @ rigid.skew(omega_dot) + lever @ W
        J = np.zeros((len(t), 6, LOCAL, 6))
        J[:, :3, :, :3] = W[:, :, None, :] * B0 + np.eye(3)[:, None, :] * B1
        J[:, 3:, :, :3] = by_turn[:, :, None, :] * B0 + (lever - arm @ W)[:, :, None, :] * B1 - arm[:, None, :] * B2
        J[:, 3:, :, 3:] = R.swapaxes(1, 2)[:, :, None, :] * B2
        yield interval, (J * scale[..., None, None]).reshape(len(J), 6, 6 * LOCAL), scale, residual


def _misfit(data: _Data, c: FloatArray, bias: FloatArray) -> dict[str, float]:
    """RMS of each instrument's residuals over its noise."""
    imu = np.concatenate([residual[scale[:, 0] > 0] for _, _, scale, residual in _imu_rows(data, c, bias)])
    poses = _pose_residuals(data, c)
    return {
        "position": rms(poses[:, 3:]) / data.noise.position,
        "rotation": rms(poses[:, :3]) / data.noise.rotation,
        "acceleration": rms(imu[:, 3:]),
        "rate": rms(imu[:, :3]),
    }


@dataclass(frozen=True, slots=True)
class Grid:
    """Even knots: interval i begins at start_s + i step_s and sees coefficients i to i + degree."""

    start_s: float
    step_s: float
    intervals: int

    @property
    def size(self) -> int:
        """How many coefficients there are."""
        return self.intervals + DEGREE

    @property
    def knots(self) -> FloatArray:
        """Times (s) of all knots, those beyond both ends included."""
        return self.start_s + self.step_s * np.arange(-DEGREE, self.intervals + LOCAL, dtype=float)

    def values(self, coefficients: FloatArray, times_s: FloatArray, derivative: int) -> FloatArray:
        """(times, channels)."""
        from scipy.interpolate import BSpline

        return np.asarray(BSpline(self.knots, coefficients, DEGREE)(times_s, nu=derivative), dtype=float)

    def interval(self, times_s: FloatArray) -> NDArray[np.int64]:
        """Of each time; a knot's time, whatever its rounding, is in the interval after it."""
        place = np.floor((times_s - self.start_s) / self.step_s + 1e-6)
        return np.clip(place, 0, self.intervals - 1).astype(np.int64)

    def basis(self, times_s: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        """The interval of each time, and its splines with derivatives: (derivative, times, coefficients)."""
        from scipy.interpolate import BSpline

        interval = self.interval(times_s)
        u = (times_s - self.start_s) / self.step_s - interval
        spline = BSpline(np.arange(-DEGREE, LOCAL + 1, dtype=float), np.eye(LOCAL), DEGREE)
        return interval, np.array([np.asarray(spline(u, nu=d)) / self.step_s**d for d in range(3)], dtype=float)

    def smooth(self, times_s: FloatArray, x: FloatArray, bandwidth_hz: float) -> FloatArray:
        """Coefficients of a spline near x (times, channels) that follows it up to the bandwidth and bridges gaps.

        Second differences of the coefficients are penalised (Eilers & Marx 1996, Statistical Science 11:89).
        """
        normal, (interval, basis) = _Normal(self.size, 1, x.shape[1]), self.basis(times_s)
        normal.add(interval, basis[0, :, None], x[:, None])
        per_knot = len(x) / self.intervals
        normal.add_second_differences(per_knot / (2 * np.pi * bandwidth_hz * self.step_s) ** 4)
        return normal.solve()


class _Normal:
    """Normal equations of splines' coefficients with some channels: positive definite, in lower banded form."""

    def __init__(self, size: int, channels: int, columns: int) -> None:
        """Without any rows, for so many right sides."""
        self.channels = channels
        self.band = np.zeros((channels * LOCAL, channels * size))
        self.right = np.zeros((channels * size, columns))

    def add(self, interval: NDArray[np.int64], J: FloatArray, y: FloatArray) -> None:
        """Add rows J (times, rows, unknowns of an interval) = y (times, rows, columns); intervals in order."""
        first, size, transposed = np.flatnonzero(np.diff(interval, prepend=-1)), int(J.shape[2]), J.swapaxes(1, 2)
        product, gradient = (np.add.reduceat(transposed @ x, first, axis=0) for x in (J, y))
        start, (i, j) = self.channels * interval[first][:, None], np.tril_indices(size)
        np.add.at(self.band, (i - j, start + j), product[:, i, j])
        np.add.at(self.right, start + np.arange(size), gradient)

    def add_second_differences(self, weight: float) -> None:
        """Add weight (c[i] - 2 c[i + 1] + c[i + 2])^2 of each channel."""
        stride, n = self.channels, self.band.shape[1] - 2 * self.channels
        for i, a in enumerate((1.0, -2.0, 1.0)):
            for j, c in enumerate((1.0, -2.0, 1.0)[: i + 1]):
                self.band[(i - j) * stride, j * stride : j * stride + n] += weight * a * c

    def solve(self) -> FloatArray:
        """The unknowns, (coefficients x channels, columns)."""
        from scipy.linalg import solveh_banded

        try:
            return np.asarray(solveh_banded(self.band, self.right, lower=True, check_finite=False), dtype=float)
        except np.linalg.LinAlgError:
            raise DataProblem("fusion", "some stretch of the motion was seen by no instrument") from None
