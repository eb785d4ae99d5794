"""Fusion of markers and IMU: the smooth motion that explains both, with the IMU's constant errors.

Position and quaternion are B-splines of time; the unknowns are found by Gauss-Newton on SO(3) x R3 over the whole
recording at once (Furgale, Rehder & Siegwart 2013, IROS: continuous-time batch estimation). Each sample touches five
neighbouring coefficients only, so that the normal equations are banded and cost is linear in the length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.errors import DataProblem
from palpate.motion.bandwidth import pose_bandwidth
from palpate.motion.fusion_equations import (
    FusionData,
    FusionNoise,
    SplineMotion,
    body_rates_of,
    misfit_of,
    normal_equations,
)
from palpate.motion.splines import Grid
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Motion
from palpate.physics.poses import Poses
from palpate.physics.so3 import (
    continuous_quaternions,
    quaternion_from_rotation,
    quaternion_product,
)

_KNOTS_PER_CYCLE = 2.5
"""Knots in one period of the highest frequency to follow."""
_START_HZ = 4.0
"""Up to which the first guess follows the markers."""
_ROUNDS = 12
_LARGEST_STEP = 0.5
"""rad; a longer step is shortened."""


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
    g = np.asarray(gravity, dtype=float)
    if g.shape != (3,):
        raise ValueError(f"gravity must be a vector (3,) in the capture frame, not of shape {g.shape}")
    rate = _even(times_s)
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
    data = FusionData(
        grid,
        _padded(angular_rate @ R_imu.T, grid),
        _padded(acceleration @ R_imu.T, grid),
        grid.at(poses.times_s[seen]),
        poses.position[seen],
        continuous_quaternions(quaternion_from_rotation(poses.rotation[seen])),
        arm,
        g,
        sigma,
    )
    state, covariance, rounds = _solve(data)
    misfit = misfit_of(data, state)
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


def _even(times_s: FloatArray) -> float:
    """Samples per second of a clock from which none is missing."""
    rate = (len(times_s) - 1) / float(times_s[-1] - times_s[0])
    off = np.abs(times_s - times_s[0] - np.arange(len(times_s)) / rate)
    if not off.max() * rate < 0.5:
        raise DataProblem(
            "fusion",
            f"the IMU's clock is not even: off by {1e3 * off.max():.3g} ms at {times_s[off.argmax()]:.3f} s",
            remedy="put it onto an even clock first (evenly_sampled)",
        )
    return rate


def _padded(x: FloatArray, grid: Grid) -> FloatArray:
    """(samples, 3) -> (intervals, samples, 3) with NaN at the end."""
    full = np.full((grid.intervals * grid.samples, 3), np.nan)
    full[: len(x)] = x
    return full.reshape(grid.intervals, grid.samples, 3)


def _measured_noise(poses: Poses, acceleration: FloatArray, angular_rate: FloatArray) -> FusionNoise:
    spectra = pose_bandwidth(poses).spectra
    imu = [_white_noise(x) for x in (acceleration, angular_rate)]
    if not min(imu) > 0:
        raise DataProblem("fusion", "the IMU shows no noise at all", remedy="state the noise of all instruments")
    return FusionNoise(spectra["position"].noise_std, spectra["rotation"].noise_std, imu[0], imu[1])


def _white_noise(x: FloatArray) -> float:
    """Standard deviation of one axis: fourth differences of white noise have the variance 70, of motion hardly any.

    By the median, so that knocks and the seams of lost samples do not count.
    """
    fourth = np.diff(x[np.isfinite(x).all(axis=1)], n=4, axis=0)
    std = np.median(np.abs(fourth), axis=0) / (0.6745 * np.sqrt(70.0))
    return float(np.sqrt((std**2).mean()))


def _solve(data: FusionData) -> tuple[SplineMotion, FloatArray, int]:
    """State, covariance of the biases (6, 6), and how many rounds it took."""
    h, change = data.grid.step_s, np.inf
    state = _first_guess(data)
    for rounds in range(1, _ROUNDS + 1):
        normal = normal_equations(data, state)
        step, bias, covariance = normal.solve()
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


def _first_guess(data: FusionData) -> SplineMotion:
    """Smooth splines through the markers alone; second differences are penalised, which bridges gaps."""
    found = data.grid.smooth(data.at, np.hstack([data.quaternion, data.position]), _START_HZ)
    return SplineMotion(found[:, :4], found[:, 4:], np.zeros(6))


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
    R, omega, omega_dot = body_rates_of(at.values(state.quaternion))
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
