"""Tilt of the capture frame: where up really is, from what an accelerometer or a load cell carries at rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from palpate.errors import DataProblem
from palpate.motion.clock_map import ClockMap
from palpate.physics.arrays import FloatArray, symmetric_inverse
from palpate.physics.motion import Motion
from palpate.physics.poses import Poses
from palpate.physics.so3 import exp_rotation
from palpate.physics.spatial import skew
from palpate.physics.units import STANDARD_GRAVITY

BIAS_STD = 0.05
"""m/s2: what an accelerometer's zero may be off, where nobody says better."""
NOISE_STD = 0.02
"""m/s2: noise of a mean at rest, mostly 1 to 2 mrad of the pose times gravity."""
TURN_STD = float(np.radians(0.2))
"""rad: how well the rotation of an instrument on its marker body is known, where nobody says better."""
_REST_S = 0.5
_TURNING, _SHAKING = 0.03, 0.15
"""rad/s and m/s2: standard deviations up to which a window counts as rest."""
_SAME_RAD = 0.02
_UNSURE_RAD = np.radians(0.1)


@dataclass(frozen=True, slots=True, eq=False)
class Tilt:
    """The rotation vector (x_rad, y_rad, 0) turns the capture frame's z axis to true up."""

    x_rad: float
    y_rad: float
    covariance: FloatArray
    """(2, 2), rad2."""
    bias: FloatArray
    """(3,): zero error that was fitted along, in the instrument's axes and unit, and ..."""
    bias_std: FloatArray
    """... its standard deviation: as declared where the recording does not tell it from the tilt."""
    weak: str
    """What the recording does not tell, in words; empty where all is well."""
    freedom: int = 1000

    @property
    def up(self) -> FloatArray:
        """Unit vector of true up in the capture frame."""
        return exp_rotation(np.array([self.x_rad, self.y_rad, 0.0]))[:, 2]

    @property
    def R_world_capture(self) -> FloatArray:
        """Turns vectors of the capture frame into a world whose z axis is true up."""
        return exp_rotation(-np.array([self.x_rad, self.y_rad, 0.0]))

    @property
    def std_rad(self) -> FloatArray:
        """Standard deviations of x_rad and y_rad."""
        return np.sqrt(np.diag(self.covariance))

    def interval_rad(self) -> FloatArray:
        """95 % intervals (Student's t): rows x and y, columns low and high."""
        from scipy.special import stdtrit

        half = float(stdtrit(max(self.freedom, 1), 0.975)) * self.std_rad
        middle = np.array([self.x_rad, self.y_rad])
        return np.column_stack([middle - half, middle + half])

    def __str__(self) -> str:
        """One line for a person."""
        low, high = np.degrees(self.interval_rad()).T
        text = f"tilt about x {np.degrees(self.x_rad):+.2f} deg ({low[0]:+.2f} to {high[0]:+.2f}), about y "
        text += f"{np.degrees(self.y_rad):+.2f} deg ({low[1]:+.2f} to {high[1]:+.2f})"
        return f"{text}; {self.weak}" if self.weak else text


@dataclass(frozen=True, slots=True, eq=False)
class Rests:
    """Orientations in which nothing moved, one row each."""

    start_s: FloatArray
    """(rests,), s on the reference clock, and ..."""
    end_s: FloatArray
    rotation: FloatArray
    """R_capture_frame, (rests, 3, 3)."""
    specific_force: FloatArray
    """Mean of the accelerometer, (rests, 3), m/s2."""


def find_rests(
    poses: Poses, times_s: FloatArray, acceleration: FloatArray, angular_rate: FloatArray, clock: ClockMap
) -> Rests:
    """Half seconds in which gyroscope and accelerometer are quiet, joined while the orientation stays the same.

    times_s (n,), acceleration and angular_rate (n, 3): the IMU on its own clock; `clock` leads to that of the poses.
    """
    t = clock.to_reference(times_s)
    size = max(2, round(_REST_S * (len(t) - 1) / (t[-1] - t[0])))
    count = len(t) // size
    cut = slice(0, count * size)
    a, w = (x[cut].reshape(count, size, 3) for x in (acceleration, angular_rate))
    starts, ends = t[cut].reshape(count, size)[:, 0], t[cut].reshape(count, size)[:, -1]
    quiet = (w.std(axis=1) < _TURNING).all(axis=1) & (a.std(axis=1) < _SHAKING).all(axis=1)
    if quiet.any():  # most of what is quiet shows the gyroscope's zero
        rate = w.mean(axis=1)
        quiet &= (np.abs(rate - np.median(rate[quiet], axis=0)) < _TURNING).all(axis=1)
    seen = poses.seen
    rows: list[tuple[float, float, FloatArray, FloatArray]] = []
    weights: list[int] = []
    for i in np.flatnonzero(quiet):
        inside = seen & (poses.times_s >= starts[i]) & (poses.times_s <= ends[i])
        if inside.sum() < 3:
            continue
        R, f = _mean_rotation(poses.rotation[inside]), np.asarray(a[i].mean(axis=0), dtype=float)
        if rows and _angle(rows[-1][2].T @ R) < _SAME_RAD and starts[i] - rows[-1][1] < _REST_S:
            n, (start, _, R0, f0) = weights[-1], rows[-1]
            rows[-1] = (start, float(ends[i]), _mean_rotation(np.array([*[R0] * n, R])), (n * f0 + f) / (n + 1))
            weights[-1] += 1
        else:
            rows.append((float(starts[i]), float(ends[i]), R, f))
            weights.append(1)
    if not rows:
        raise DataProblem("rest", "the object is never at rest while motion capture sees it", remedy="put it down once")
    return Rests(*(np.array(column, dtype=float) for column in zip(*rows, strict=True)))


def tilt_at_rest(
    rotation: FloatArray,
    specific_force: FloatArray,
    *,
    bias_std: float = BIAS_STD,
    noise_std: float = NOISE_STD,
    turn_std: float = TURN_STD,
) -> Tilt:
    """Tilt from an accelerometer at rest in one or more orientations: f_i = R_i' g up + bias + noise.

    rotation: R_capture_imu (rests, 3, 3); specific_force (rests, 3), m/s2. In one orientation a zero error of the
    accelerometer and a tilt look the same, and the interval holds the declared `bias_std` (m/s2); in several they
    differ, and the recording decides. `turn_std` (rad): how well the IMU's rotation on its marker body is known; an
    error of it, too, turns with the body. noise_std (m/s2): of one mean; raised where the residuals scatter more.
    """
    return _tilt(rotation, specific_force, bias_std, noise_std, turn_std, "accelerometer")


def tilt_from_forces(
    rotation: FloatArray,
    force: FloatArray,
    *,
    bias_std: float = float("inf"),
    noise_std: float = 0.1,
    turn_std: float = TURN_STD,
) -> Tilt:
    """Tilt from a load cell that carries a body of unknown mass at rest: F_i = R_i' m g up + bias + noise.

    rotation: R_capture_sensor (rests, 3, 3); force (rests, 3), N, in either sense; several orientations are needed
    unless the bias is declared (N). `turn_std` as for the accelerometer; noise_std in N.
    """
    return _tilt(rotation, force, bias_std, noise_std, turn_std, "load cell")


def up_vector(vector: FloatArray, covariance: FloatArray) -> tuple[float, float, FloatArray]:
    """Tilt about x and y (rad) of a vector along up in the capture frame, and their covariance."""
    size = float(np.linalg.norm(vector))
    up = vector / size
    level = float(np.hypot(up[0], up[1]))
    turn = np.arctan2(level, up[2]) / level if level > 1e-12 else 1.0
    # to first order in the tilt, which is what an error of a small tilt needs
    J = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]]) @ (np.eye(3) - np.outer(up, up)) / size
    return float(-turn * up[1]), float(turn * up[0]), J @ covariance @ J.T


def level(poses: Poses, tilt: Tilt) -> Poses:
    """The same poses in a world whose z axis is true up."""
    R = tilt.R_world_capture
    return Poses(poses.times_s, R @ poses.rotation, poses.position @ R.T)


def level_motion(motion: Motion, rotation: FloatArray, tilt: Tilt, gravity: float = STANDARD_GRAVITY) -> Motion:
    """Motion derived from poses with gravity along the capture's z, corrected for the tilt.

    rotation: R_capture_body (samples, 3, 3) at the motion's times.
    """
    change = gravity * (tilt.up - np.array([0.0, 0.0, 1.0]))
    a = motion.specific_acceleration + np.einsum("nij,i->nj", rotation, change)
    return Motion(motion.times_s, a, motion.omega, motion.omega_dot)


def hinge_inclination(axis: Sequence[float] | FloatArray, axis_std_rad: float, tilt: Tilt) -> tuple[float, float]:
    """Angle (rad) between a hinge axis, given in the capture frame, and the vertical, and its standard deviation.

    axis_std_rad: of the axis' direction, per component.
    """
    a = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    a = a * np.sign(a @ tilt.up or 1.0)
    across = np.cross(tilt.up, a)
    angle = float(np.arctan2(np.linalg.norm(across), a @ tilt.up))
    n = across / np.linalg.norm(across) if np.linalg.norm(across) > 1e-9 else np.array([1.0, 0.0, 0.0])
    variance = float(n[:2] @ tilt.covariance @ n[:2]) + axis_std_rad**2
    return angle, float(np.sqrt(variance))


def _tilt(
    rotation: FloatArray, vectors: FloatArray, bias_std: float, noise_std: float, turn_std: float, what: str
) -> Tilt:
    n = len(rotation)
    if n == 0 or rotation.shape != (n, 3, 3) or vectors.shape != (n, 3):
        raise DataProblem("tilt", f"shapes {rotation.shape} and {vectors.shape} do not make orientations at rest")
    if not (np.isfinite(rotation).all() and np.isfinite(vectors).all()):
        raise DataProblem("tilt", "an orientation at rest is not a number")
    if n == 1 and not np.isfinite(bias_std):
        raise DataProblem("tilt", "one orientation cannot tell a tilt from a zero error", remedy="declare bias_std")
    inverse = rotation.swapaxes(1, 2)
    one, none = np.broadcast_to(np.eye(3), (n, 3, 3)), np.zeros((n, 3, 3))
    # f = R' v + b + (R' v) x turn: the last linear once f stands for R' v
    A = np.concatenate([inverse, one, skew(vectors) if turn_std > 0 else none], axis=2).reshape(3 * n, 9)
    prior = np.concatenate([np.zeros(3), np.full(3, bias_std**-2.0), np.full(3, turn_std**-2.0 if turn_std else 1.0)])
    x, information = _weighted(A, vectors.ravel(), prior, noise_std)
    freedom = 3 * n - 6
    if freedom >= 3:  # the scatter tells more than a data sheet
        # a noise below the declared one is luck
        noise = float(np.sqrt(np.sum((vectors.ravel() - A @ x) ** 2) / freedom))
        x, information = _weighted(A, vectors.ravel(), prior, max(noise, noise_std))
    covariance = symmetric_inverse(information)
    v = x[:3]
    if v[2] < 0 and what == "load cell":
        v = -v
    if v[2] < 0.5 * np.linalg.norm(v):
        raise DataProblem(
            "tilt",
            f"up, as the {what} sees it, is {np.round(v / np.linalg.norm(v), 2).tolist()} in the capture frame, not z",
            remedy="check the axes of the capture frame and the rotation of the instrument",
        )
    tilt_x, tilt_y, cov = up_vector(v, covariance[:3, :3])
    std = np.sqrt(np.diag(covariance))[3:6]
    return Tilt(tilt_x, tilt_y, cov, x[3:6], std, _weak(cov, n, what), freedom if freedom >= 3 else 1000)


def _weighted(A: FloatArray, y: FloatArray, prior: FloatArray, noise: float) -> tuple[FloatArray, FloatArray]:
    """Least squares with independent priors of mean zero (precisions); the solution and its information."""
    information = A.T @ A / noise**2 + np.diag(prior)
    values, vectors = np.linalg.eigh(information)
    if values[0] < 1e-9 * values[-1]:
        raise DataProblem(
            "tilt",
            "these orientations cannot tell a tilt from a zero error",
            remedy="turn the object about two axes between the rests, or declare bias_std",
        )
    x = (vectors / values) @ vectors.T @ (A.T @ y) / noise**2
    return np.asarray(x, dtype=float), np.asarray(information, dtype=float)


def _weak(covariance: FloatArray, orientations: int, what: str) -> str:
    if np.sqrt(np.diag(covariance).max()) < _UNSURE_RAD:
        return ""
    seen = "one orientation" if orientations == 1 else f"{orientations} orientations"
    return f"{seen} at rest hardly tell a tilt from a zero error of the {what}: let it rest turned about the vertical"


def _mean_rotation(R: FloatArray) -> FloatArray:
    """The rotation nearest to the mean of nearly equal ones (Moakher 2002)."""
    U, _, Vt = np.linalg.svd(R.mean(axis=0))
    return np.asarray(U @ Vt, dtype=float)


def _angle(R: FloatArray) -> float:
    return float(np.arctan2(np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]), np.trace(R) - 1))
