"""Extrinsics: how an IMU sits on a marker body or on a load cell, from the motion itself or against the drawing.

Every estimate comes with a sandwich covariance over pieces of time (White 1980) and with words for what the motion
does not tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.findings import Finding, Severity
from palpate.motion.clock import ClockMap, interpolated, resample
from palpate.motion.derivatives import Lowpass, design_lowpass
from palpate.motion.frames import BIAS_STD, Tilt, up_vector
from palpate.motion.offset import angular_velocity, bridge_short, window_mean
from palpate.physics.arrays import FloatArray, least_squares, rate_hz, symmetric_inverse, symmetric_solve
from palpate.physics.inertia import body_columns, body_features
from palpate.physics.motion import Kinematics, Motion, Poses, exp_rotation, log_rotation, skew

BANDWIDTH_HZ = 5.0
"""A hand's motion; above it the second derivative of marker positions is mostly noise."""
_MOST_STEPS = 20
_OUTLYING = 6.0
_MIRRORED = 0.05
_SENSE = "check the sense of the wrench (person on object) and the handedness of both frames"
_NEAR_M = 1.0
"""An instrument sits within about this of the frame that it is on."""
PIECE_S = 2.0
FEWEST_PIECES = 8
UNKNOWN_TURN, UNKNOWN_LEVER = float(np.radians(2.0)), 0.02
"""Standard deviations (rad, m) from which a component is called unknown."""
FREE = 1e6
"""Variance (rad2, m2) of what nothing determines."""
_OPEN = 1e-9
"""Share of the largest information below which a direction is open."""
SMALL_TURN, SMALL_MOVE = float(np.radians(1.0)), 0.005
"""rad, m: what a drawing and a screwdriver may differ by without a word."""
FATAL_TURN = float(np.radians(10.0))
_RELABELLED = float(np.radians(8.0))
"""rad: a turn this close to exchanged axes is exchanged axes."""
_LEAST = 1e-6
"""rad, m: nothing is known better."""
_DIFFERENT_STDS = 3.0
"""Standard deviations from which a difference is one."""


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Frame b in frame a: p_a = R_ab p_b + r_ab."""

    R_ab: FloatArray
    r_ab: FloatArray
    """m, in a."""
    covariance: FloatArray
    """(6, 6): rotation vector in a (rad), then r_ab (m)."""
    weak: tuple[str, ...]
    """What the motion does not tell, in words."""
    explained: float
    """Share of the signals' variance that is explained, 0 to 1; of an IMU on poses, of what it feels as it moves."""
    tilt: Tilt | None = None
    """Of the capture frame, where it was estimated along."""

    @property
    def turn_std_rad(self) -> FloatArray:
        """Standard deviations of the rotation about x, y, z of a."""
        return np.sqrt(np.diag(self.covariance)[:3])

    @property
    def lever_std(self) -> FloatArray:
        """Standard deviations of r_ab, m."""
        return np.sqrt(np.diag(self.covariance)[3:])


def fit_rotation(times_s: FloatArray, a: FloatArray, b: FloatArray) -> Placement:
    """R_ab with a_i = R_ab b_i + constant, for the same vectors seen from two frames (Wahba 1965, by Kabsch).

    a, b: (n, 3) on the same times; b is the quieter one. Rows with NaN are left out. The lever arm stays unknown.
    """
    use = np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1)
    if use.sum() < 10:
        raise DataProblem("rotation", f"only {use.sum()} samples are seen by both")
    t, a, b = times_s[use], a[use], b[use]
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    R = _kabsch(a, b, "rotation", "check the signs and the order of the axes of both instruments")
    z = b @ R.T
    covariance = sandwich(t, -skew(z), a - z)
    full = np.diag([0.0] * 3 + [FREE] * 3)
    full[:3, :3] = covariance
    explained = 1 - float(((a - z) ** 2).sum() / max((a**2).sum(), 1e-300))
    return Placement(R, np.zeros(3), full, weak_turn(covariance), explained)


def gyroscope_rotation(poses: Poses, times_s: FloatArray, angular_rate: FloatArray, clock: ClockMap) -> Placement:
    """R_frame_imu from the angular velocity of poses and a gyroscope (n, 3), rad/s, on its own clock; no lever arm."""
    at, omega, half_s = angular_velocity(poses)
    there = window_mean(times_s, angular_rate, half_s)
    seen = np.flatnonzero(np.isfinite(there).all(axis=1))
    if len(seen) < 10:
        raise DataProblem("rotation of the IMU", "the gyroscope saw too little")
    inner = slice(int(seen[0]), int(seen[-1]) + 1)
    gyroscope = resample(times_s[inner], there[inner], at, clock=clock)
    speed = np.linalg.norm(omega, axis=1) - np.linalg.norm(gyroscope, axis=1)  # the same in every frame
    omega = _without(omega, speed[:, None])
    placement = _turn_between(at, omega, gyroscope)
    placement = _turn_between(at, _without(omega, omega - gyroscope @ placement.R_ab.T), gyroscope)
    if placement.explained < 0.5:
        raise DataProblem(
            "rotation of the IMU",
            f"the gyroscope explains only {100 * placement.explained:.0f} % of the markers' angular velocity",
            remedy="check that both sit on one body, the clock offset, and that the object was turned",
        )
    return placement


def _turn_between(at: FloatArray, omega: FloatArray, gyroscope: FloatArray) -> Placement:
    grid, bridged = bridge_short(at, omega)
    t, (a, b) = one_lowpass(grid, bridged, interpolated(grid, at, gyroscope))
    return fit_rotation(t, a, b)


def _without(x: FloatArray, off: FloatArray) -> FloatArray:
    """x with NaN in rows that are off by far more than is usual: poses of swapped markers, knocks."""
    middle = np.nanmedian(off, axis=0)
    far = np.abs(off - middle) > _OUTLYING * 1.4826 * np.nanmedian(np.abs(off - middle), axis=0)
    return np.where(far.any(axis=1, keepdims=True), np.nan, x)


def imu_on_poses(
    poses: Poses,
    times_s: FloatArray,
    acceleration: FloatArray,
    angular_rate: FloatArray,
    clock: ClockMap,
    *,
    drawing: FloatArray | None = None,
    drawing_std_rad: float = UNKNOWN_TURN,
    bias_std: float = BIAS_STD,
    bandwidth_hz: float = BANDWIDTH_HZ,
) -> Placement:
    """Rotation and lever arm of an IMU on a marker body, with the tilt of the capture frame, from any motion.

    The gyroscope gives the rotation Q; then, in the capture frame and through one low-pass on every term,

        R Q f = p'' + R (omega_dot x r + omega x (omega x r)) + g up + R bias + R (Q f x turn)

    with omega from the gyroscope is linear in lever arm r, up, the accelerometer's zero error and a small turn of Q.
    acceleration: specific force (n, 3), m/s2; angular_rate (n, 3), rad/s, both on the IMU's clock. bias_std (m/s2) as
    declared: what the motion cannot tell from a tilt stays in the tilt's interval. About a hinge, the turn of Q about
    its axis and the direction of r are one unknown: a drawing's R_frame_imu, good to `drawing_std_rad`, parts them.
    """
    turned = gyroscope_rotation(poses, times_s, angular_rate, clock)
    f, omega = (resample(times_s, x, poses.times_s, clock=clock) for x in (acceleration, angular_rate))
    seen = turned.R_ab if drawing is None else _twisted(turned, drawing)
    known = [(seen, np.asarray(np.linalg.pinv(turned.covariance[:3, :3], hermitian=True), dtype=float))]
    if drawing is not None:
        known.append((drawing, np.eye(3) / drawing_std_rad**2))
    rotation, change, keep = known[-1][0], np.ones(3), np.empty(0)
    others = np.repeat([0.0, _NEAR_M**-2.0, 1e-4, bias_std**-2.0], 3)
    for _ in range(_MOST_STEPS):
        if np.abs(change).max() < 1e-6:
            break
        grid, columns, y, _ = _imu_columns(poses, f @ rotation.T, omega @ rotation.T, bandwidth_hz, keep)
        x = solve_pieces(grid, columns, y, *_turn_prior(known, rotation, others))[0]
        keep = _ordinary(grid, y - columns @ x, keep)
        change, rotation = x[:3], exp_rotation(x[:3]) @ rotation
    grid, columns, y, felt = _imu_columns(poses, f @ rotation.T, omega @ rotation.T, bandwidth_hz, keep)
    x, covariance, residual = solve_pieces(grid, columns, y, *_turn_prior(known, rotation, others))
    tilt_x, tilt_y, tilt_cov = up_vector(x[6:9], covariance[6:9, 6:9])
    bias_imu, to_imu = rotation.T @ x[9:], rotation.T @ covariance[9:, 9:] @ rotation
    unsure = float(np.sqrt(np.diag(tilt_cov).max())) > np.radians(0.1)
    text = "the motion hardly tells a tilt from the accelerometer's zero: turn it about the vertical" if unsure else ""
    freedom = max(1, pieces_of(grid)[1] - 4)
    tilt = Tilt(tilt_x, tilt_y, tilt_cov, bias_imu, np.sqrt(np.diag(to_imu)), text, freedom)
    return _placement(
        rotation, x[3:6], covariance[:6, :6], _share_of_motion(grid, felt, columns[:, :, 3:6], residual), tilt
    )


def imu_on_load_cell(motion: Motion, wrench: FloatArray, *, bandwidth_hz: float = 10.0) -> Placement:
    """Rotation and lever arm of an IMU in the frame of a load cell that carries a rigid body, a handle for instance.

    motion: of the IMU in its own axes; wrench (n, 6) on the same times, N and N m, in the sense "person on object".
    w = W(R, r) A(motion) phi + bias by Gauss-Newton; the inertia phi of the body is fitted along. Forces give the
    rotation; gravity's moment, with the centre of mass known from the forces under turning, gives the lever arm.
    """
    k = Kinematics.from_arrays(motion.specific_acceleration, motion.omega, motion.omega_dot)
    features = np.array(body_features(k), dtype=float).T
    grid, (z, w) = one_lowpass(motion.times_s, features, wrench, bandwidth_hz=bandwidth_hz)
    use = np.isfinite(z).all(axis=1) & np.isfinite(w).all(axis=1)
    if use.sum() < 50:
        raise DataProblem("IMU on load cell", "too little is seen by both between the gaps")
    grid, w = grid[use], w[use]
    A = _regressor(z[use])
    f = A[:, :3, 0]
    pose = (_kabsch(w[:, :3] - w[:, :3].mean(axis=0), f - f.mean(axis=0), "IMU on load cell", _SENSE), np.zeros(3))
    weight = 1 / np.repeat([float(w[:, :3].std()), float(w[:, 3:].std())], 3)
    for step in range(_MOST_STEPS):
        _, residual, change = _load_cell_step(A, w, *pose, weight)
        pose = (exp_rotation(change[:3]) @ pose[0], pose[1] + change[3:6])
        if np.abs(change[:6]).max() < 1e-7 and step > 3:
            break
        if step < 3:  # rows count by their own noise, which the first steps tell
            weight = 1 / np.maximum(residual.std(axis=0), 1e-9)
    jacobian, residual, change = _load_cell_step(A, w, *pose, weight)
    if np.abs(change[:6]).max() > 1e-3 or np.linalg.norm(pose[1]) > 5 * _NEAR_M:
        raise DataProblem("IMU on load cell", "it cannot be known from this motion", remedy="turn it about all axes")
    covariance = sandwich(grid, jacobian * weight[:, None], residual * weight)[:6, :6]
    rest, total = (residual * weight) ** 2, ((w - w.mean(axis=0)) * weight) ** 2
    return _placement(*pose, covariance, 1 - float(rest.sum() / total.sum()))


def _ordinary(times_s: FloatArray, residual: FloatArray, before: FloatArray) -> FloatArray:
    """Times whose residuals are not far larger than usual; decided once, so that the iteration settles."""
    return before if len(before) else times_s[np.isfinite(_without(residual, residual)).all(axis=1)]


def _imu_columns(
    poses: Poses, f: FloatArray, omega: FloatArray, bandwidth_hz: float, keep: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Times, columns (n, 3, 12) for turn, lever arm, g up and bias, the left side minus p'', and the left side; f and
    omega in the marker frame.

    The second derivative of R itself would share the noise of p'' and bias the lever arm; the gyroscope's does not.
    """
    R, at = poses.rotation, poses.times_s
    omega = omega - np.nanmedian(omega - angular_velocity(poses)[1], axis=0)
    slope = np.full(omega.shape, np.nan)
    slope[2:-2] = (omega[:-4] - 8 * omega[1:-3] + 8 * omega[3:-1] - omega[4:]) / (12 * (at[-1] - at[0]) / (len(at) - 1))
    terms = [(R @ x).reshape(-1, 9) for x in (skew(f), lever_matrix(omega, slope), identities(len(R)))]
    grid, (force, *smooth) = one_lowpass(at, np.einsum("nij,nj->ni", R, f), *terms, bandwidth_hz=bandwidth_hz)
    _, (p2,) = one_lowpass(at, poses.position, bandwidth_hz=bandwidth_hz, second=True)
    turn, lever, zero = (x.reshape(-1, 3, 3) for x in smooth)
    columns, y = np.concatenate([turn, lever, identities(len(grid)), zero], axis=2), force - p2
    use = np.isfinite(columns).all(axis=(1, 2)) & np.isfinite(y).all(axis=1)
    use &= np.isin(grid, keep) if len(keep) else True
    if use.sum() < 50:
        raise DataProblem("IMU on markers", "too little is seen by both between the gaps", remedy="fill short gaps")
    return grid[use], columns[use], y[use], force[use]


def _share_of_motion(times_s: FloatArray, felt: FloatArray, turning: FloatArray, residual: FloatArray) -> float:
    """Share of the specific force `felt` in the capture frame, without its mean, that is not left over, 0 to 1.

    The markers' noise in p'' is there in quiet pieces of time, too, and can exceed the force itself where a door is
    moved gently; what parts ways grows with the motion. So what the quietest quarter leaves over is no evidence;
    quiet is what neither accelerates nor turns (`turning`: the columns of the lever arm).
    """
    index = pieces_of(times_s)[0]
    squares = (((x - x.mean(axis=0)) ** 2).reshape(len(x), -1).sum(axis=1) for x in (felt, residual, turning))
    samples = np.bincount(index)
    there = samples > 0
    force, left, turned = (np.bincount(index, x)[there] / samples[there] for x in squares)
    activity = force / max(force.mean(), 1e-300) + turned / max(turned.mean(), 1e-300)
    quiet = np.argsort(activity)[: max(2, len(force) // 4)]
    more, rest = force.mean() - force[quiet].mean(), left.mean() - left[quiet].mean()
    most = float(left.mean() / max(force.mean(), 1e-300))
    return 1 - float(np.clip(rest / max(more, 1e-300), 0.0, min(most, 1.0)))


def _turn_prior(
    known: list[tuple[FloatArray, FloatArray]], rotation: FloatArray, others: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Information and mean of the unknowns, the turn being told by each (rotation, information) that is known."""
    prior, mean = np.diag(others), np.zeros(len(others))
    prior[:3, :3] = np.sum([sure for _, sure in known], axis=0)
    pull = np.sum([sure @ log_rotation(R @ rotation.T) for R, sure in known], axis=0)
    mean[:3] = least_squares(prior[:3, :3], pull)
    return prior, mean


def _twisted(turned: Placement, drawing: FloatArray) -> FloatArray:
    """The rotation, turned about the axis about which it is not known to be as near to the drawing as it can be."""
    from scipy.spatial.transform import Rotation

    values, vectors = np.linalg.eigh(turned.covariance[:3, :3])
    if not values[1] < UNKNOWN_TURN**2 < values[2]:
        return turned.R_ab
    q = np.asarray(Rotation.from_matrix(drawing @ turned.R_ab.T).as_quat(), dtype=float)
    axis = vectors[:, 2]
    return exp_rotation(2 * float(np.arctan2(q[:3] @ axis, q[3])) * axis) @ turned.R_ab


def _placement(
    R: FloatArray, r: FloatArray, covariance: FloatArray, explained: float, tilt: Tilt | None = None
) -> Placement:
    """With words; a turn that is not known makes the lever arm's direction unknown, too, beyond what is linear."""
    turn = float(np.sqrt(np.linalg.eigvalsh(covariance[:3, :3])[-1]))
    if turn > UNKNOWN_TURN:
        covariance = covariance + np.diag([0.0] * 3 + [float(r @ r) * min(turn, 2.0) ** 2] * 3)
    weak = (*weak_turn(covariance[:3, :3]), *weak_lever(covariance[3:, 3:]))
    return Placement(R, r, covariance, weak, explained, tilt)


def _load_cell_step(
    A: FloatArray, w: FloatArray, R: FloatArray, r: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Jacobian (n, 6, 22) for turn, lever, phi and bias; residual of the best phi and bias; and the step."""
    force, moment = R @ A[:, :3], R @ A[:, 3:] + skew(r) @ R @ A[:, :3]
    linear = np.concatenate([np.concatenate([force, moment], axis=1), identities(len(A), 6)], axis=2)
    p = _scaled_normal((linear * weight[:, None]).reshape(-1, 16), (w * weight).ravel())
    F, M = force @ p[:10], R @ (A[:, 3:] @ p[:10]).T
    turn = np.concatenate([-skew(F), -skew(M.T) - skew(r) @ skew(F)], axis=1)
    lever = np.concatenate([np.zeros((len(A), 3, 3)), -skew(F)], axis=1)
    residual = w - linear @ p
    J = np.concatenate([turn, lever, linear], axis=2)
    rows, y = (J * weight[:, None]).reshape(-1, 22), (residual * weight).ravel()
    near = np.eye(3, 22, 3) / _NEAR_M  # holds a lever arm that the motion does not
    return J, residual, _scaled_normal(np.concatenate([rows, near]), np.concatenate([y, -r / _NEAR_M]))


def _scaled_normal(A: FloatArray, y: FloatArray) -> FloatArray:
    """Least squares by normal equations of columns of length one: fast, and eight digits are enough to iterate."""
    scale = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    scaled = A / scale
    return least_squares(scaled.T @ scaled, scaled.T @ y, rcond=1e-13) / scale


def _kabsch(a: FloatArray, b: FloatArray, what: str, remedy: str) -> FloatArray:
    """R with a = R b in least squares, for vectors (n, 3) without mean; refuses mirror images."""
    U, s, Vt = np.linalg.svd(a.T @ b)
    handed = float(np.linalg.det(U @ Vt))
    if handed < 0 and s[2] > _MIRRORED * s[0]:
        raise DataProblem(
            what, "the two are mirror images: an axis has the wrong sign or two are swapped", remedy=remedy
        )
    return np.asarray(U @ np.diag([1.0, 1.0, handed]) @ Vt, dtype=float)


def _regressor(features: FloatArray) -> FloatArray:
    """A (n, 6, 10) of low-passed features (n, 12)."""
    A = np.zeros((len(features), 6, 10))
    for i, row in enumerate(body_columns([features[:, j] for j in range(12)])):
        for j, entry in enumerate(row):
            A[:, i, j] = entry
    return A


def one_lowpass(
    times_s: FloatArray, *signals: FloatArray, bandwidth_hz: float = 10.0, second: bool = False
) -> tuple[FloatArray, list[FloatArray]]:
    """Signals (n, channels) through one low-pass, or their second derivatives through the same, decimated.

    (x_-1 - 2 x_0 + x_1) / dt2 is the second derivative of (x_-1 + 10 x_0 + x_1) / 12 to fourth order in omega dt
    (Numerov), 4e-5 at 5 of 100 Hz: so the two outputs of one signal belong together.
    """
    rate = rate_hz(times_s)
    lowpass = design_lowpass(rate, min(bandwidth_hz, 0.3 * rate))
    three = np.array([1.0, -2.0, 1.0]) * rate**2 if second else np.array([1.0, 10.0, 1.0]) / 12
    lowpass = Lowpass(np.convolve(lowpass.taps, three), lowpass.step)
    half = len(lowpass.taps) // 2
    grid = times_s[half : len(times_s) - half : lowpass.step]
    return grid, [lowpass.apply(np.ascontiguousarray(x.T)).T for x in signals]


def solve_pieces(
    t: FloatArray, A: FloatArray, y: FloatArray, prior: FloatArray, mean: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least squares of y (n, rows) on A (n, rows, k) with a prior (information and mean): x, covariance, residual.

    The covariance holds the data's scatter between pieces of time and the prior's share.
    """
    inner, outer = np.einsum("nij,nik->jk", A, A), np.einsum("nij,ni->j", A, y)
    x = symmetric_solve(inner + 1e-12 * np.diag(np.diag(inner)), outer)
    index, count = pieces_of(t)
    scores = _scores(A, y - A @ x, index, count)
    # neighbouring residuals say the same: the data weigh what their scatter between pieces allows
    noise = float(np.trace(symmetric_inverse(inner) @ (scores.T @ scores))) / A.shape[2]
    noise = max(noise, float(((y - A @ x) ** 2).mean()), 1e-300)
    information = inner / noise + prior
    x = symmetric_solve(information, outer / noise + prior @ mean)
    scores = _scores(A, y - A @ x, index, count) / noise
    scores = scores - scores.mean(axis=0)
    inverse = symmetric_inverse(information)
    meat = scores.T @ scores * (count / max(1, count - 4)) + prior
    return x, inverse @ meat @ inverse, y - A @ x


def sandwich(t: FloatArray, A: FloatArray, residual: FloatArray) -> FloatArray:
    """H^-1 (sum s s') H^-1 over pieces of time; directions without information get a huge variance."""
    k = A.shape[2]
    H = np.einsum("nij,nik->jk", A, A)
    index, count = pieces_of(t)
    s = _scores(A, residual, index, count)
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    values, vectors = np.linalg.eigh(H / scale[:, None] / scale)
    known = values > _OPEN * values[-1]
    inverse = (vectors[:, known] / values[known]) @ vectors[:, known].T / scale[:, None] / scale
    open_ = vectors[:, ~known] / scale[:, None]
    open_ = open_ / np.maximum(np.linalg.norm(open_, axis=0), 1e-300)
    freedom = max(1, count - min(k, count // 2))
    return np.asarray(inverse @ (s.T @ s) @ inverse * (count / freedom) + FREE * open_ @ open_.T, dtype=float)


def pieces_of(t: FloatArray) -> tuple[NDArray[np.int64], int]:
    """Which piece of about 2 s each sample belongs to, and how many there are."""
    count = max(FEWEST_PIECES, int((t[-1] - t[0]) / PIECE_S))
    return np.minimum((t - t[0]) * (count / (t[-1] - t[0])), count - 1).astype(np.int64), count


def _scores(A: FloatArray, residual: FloatArray, index: NDArray[np.int64], count: int) -> FloatArray:
    """A' residual of each piece, (pieces, k)."""
    x = np.einsum("nij,ni->nj", A, residual)
    return np.array([np.bincount(index, x[:, j], count) for j in range(x.shape[1])], dtype=float).T


def lever_matrix(omega: FloatArray, omega_dot: FloatArray) -> FloatArray:
    """(n, 3, 3): omega_dot x r + omega x (omega x r) as a matrix on r."""
    S = skew(omega)
    return skew(omega_dot) + S @ S


def identities(n: int, size: int = 3) -> FloatArray:
    """(n, size, size), a view."""
    return np.broadcast_to(np.eye(size), (n, size, size))


def weak_turn(covariance: FloatArray) -> tuple[str, ...]:
    """Axes about which a rotation with this covariance (3, 3), rad2, is not known, in words."""
    return tuple(
        f"the turn about {axis} is not known (+- {_degrees(std)}): turn the object about other axes, too"
        for std, axis in _weak_directions(covariance, UNKNOWN_TURN)
    )


def weak_lever(covariance: FloatArray) -> tuple[str, ...]:
    """Axes along which a lever arm with this covariance (3, 3), m2, is not known, in words."""
    return tuple(
        f"the lever arm along {axis} is not known (+- {_millimetres(std)}): turn the object about other axes, too"
        for std, axis in _weak_directions(covariance, UNKNOWN_LEVER)
    )


def _weak_directions(covariance: FloatArray, limit: float) -> list[tuple[float, str]]:
    values, vectors = np.linalg.eigh(covariance)
    stds = np.sqrt(np.maximum(values, 0.0))
    return [(float(stds[i]), name_axis(vectors[:, i])) for i in range(len(stds)) if stds[i] > limit]


def name_axis(v: FloatArray) -> str:
    """x, y or z where a direction is nearly one of them, else its components."""
    i = int(np.abs(v).argmax())
    return "xyz"[i] if abs(v[i]) > 0.98 else "(" + ", ".join(f"{c:.2f}" for c in v * np.sign(v[i])) + ")"


def _degrees(std: float) -> str:
    return f"{np.degrees(std):.1f} deg" if std < 1.5 else "anything"


def _millimetres(std: float) -> str:
    return f"{1e3 * std:.0f} mm" if std < 1.0 else "anything"


def check_placement(
    placement: Placement, R_ab: FloatArray | None = None, r_ab: FloatArray | None = None, *, what: str = "IMU"
) -> tuple[Finding, ...]:
    """Compare an estimated placement with a drawing's rotation and lever arm (m), as far as the motion tells them."""
    findings: list[Finding] = []
    if R_ab is not None:
        findings += _turn(placement, np.asarray(R_ab, dtype=float), what)
    if r_ab is not None:
        findings += _move(placement, np.asarray(r_ab, dtype=float), what)
    return tuple(findings)


def _turn(placement: Placement, drawing: FloatArray, what: str) -> list[Finding]:
    covariance = placement.covariance[:3, :3] + _LEAST**2 * np.eye(3)
    values, vectors = np.linalg.eigh(covariance)
    known = vectors[:, np.sqrt(np.maximum(values, 0.0)) < UNKNOWN_TURN]
    if known.shape[1] < 2:
        return [_unchecked("rotation", placement, what)]
    if known.shape[1] == 2:  # only where the axis of the motion points is known
        axis = vectors[:, 2]
        seen, drawn = placement.R_ab.T @ axis, drawing.T @ axis
        v = drawing @ np.cross(seen, drawn)
        v = v / max(float(np.linalg.norm(v)), 1e-300) * float(np.arctan2(np.linalg.norm(v), seen @ drawn))
    else:
        v = log_rotation(placement.R_ab @ drawing.T)
    angle = float(np.linalg.norm(v))
    along = known.T @ v
    std = (
        float(np.sqrt(max(v @ covariance @ v, 0.0)) / max(angle, 1e-300)) if known.shape[1] == 3 else _worst(covariance)
    )
    sure = float(along @ np.linalg.solve(known.T @ covariance @ known, along)) > _DIFFERENT_STDS**2
    if angle < SMALL_TURN or not sure:
        return []
    words = _relabelled(placement.R_ab, drawing) if known.shape[1] == 3 else ""
    if words:
        evidence = f"its axes are not as in the drawing: {words}"
    else:
        size = f"{np.degrees(angle):.1f} +- {max(2 * np.degrees(std), 0.05):.1f} deg"
        evidence = f"turned by {size} about {name_axis(v / angle)} against the drawing"
    severity = Severity.FATAL if angle > FATAL_TURN else Severity.WARNING
    return [Finding("placement", evidence, what, "check how it is mounted, or correct the drawing", severity)]


def _move(placement: Placement, drawing: FloatArray, what: str) -> list[Finding]:
    covariance = placement.covariance[3:, 3:] + _LEAST**2 * np.eye(3)
    values, vectors = np.linalg.eigh(covariance)
    known = vectors[:, np.sqrt(np.maximum(values, 0.0)) < UNKNOWN_LEVER]
    if known.shape[1] == 0:
        return [_unchecked("place", placement, what)]
    along = known.T @ (placement.r_ab - drawing)
    inner = known.T @ covariance @ known
    size = float(np.linalg.norm(along))
    if size < SMALL_MOVE or float(along @ np.linalg.solve(inner, along)) < _DIFFERENT_STDS**2:
        return []
    std = float(np.sqrt(along @ inner @ along)) / size
    moved = ", ".join(f"{1e3 * c:+.0f}" for c in known @ along)
    distance = f"{1e3 * size:.0f} +- {max(2e3 * std, 1):.0f} mm"
    evidence = f"{distance} from its place in the drawing ({moved} mm along x, y, z)"
    return [Finding("placement", evidence, what, "measure it again")]


def _relabelled(estimate: FloatArray, drawing: FloatArray) -> str:
    """Which axes are exchanged or flipped, where that explains a large turn; else nothing."""
    S = drawing.T @ estimate  # b's axes as found, seen from b's axes as drawn
    best, words = _RELABELLED, ""
    for order, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
        P = np.zeros((3, 3))
        P[list(order), range(3)] = signs
        if np.linalg.det(P) < 0 or np.trace(P) == 3:
            continue
        off = float(np.linalg.norm(log_rotation(S @ P.T)))
        if off < best:
            pairs = zip("xyz", order, signs, strict=True)
            best, words = off, ", ".join(f"{axis} is {'+' if s > 0 else '-'}{'xyz'[i]}" for axis, i, s in pairs)
    return words and f"its {words} of the drawing"


def _worst(covariance: FloatArray) -> float:
    return float(np.sqrt(np.linalg.eigvalsh(covariance)[1]))


def _unchecked(quantity: str, placement: Placement, what: str) -> Finding:
    reason = placement.weak[0] if placement.weak else "the motion does not tell it"
    return Finding("placement-unknown", f"its {quantity} cannot be checked: {reason}", what)
