"""Extrinsics: how an IMU sits on a marker body or on a load cell, from the motion itself or against the drawing.

Every estimate comes with a sandwich covariance over pieces of time (White 1980) and with words for what the motion
does not tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.findings import Finding, Severity
from palpate.motion import offset
from palpate.motion.clock import ClockMap, interpolated, resample
from palpate.motion.derivatives import Lowpass, design_lowpass
from palpate.motion.plausibility import signed_permutations
from palpate.physics.arrays import FloatArray, least_squares, rate_hz, solve_columns, symmetric_inverse
from palpate.physics.inertia import body_columns, body_features
from palpate.physics.motion import Kinematics, Motion, Poses, exp_rotation, log_rotation, skew
from palpate.physics.student import t_quantile
from palpate.physics.units import STANDARD_GRAVITY

_HAND_HZ = 5.0
"""A hand's motion; above it the second derivative of marker positions is mostly noise."""
_SMALLEST_TURN = 1e-4
"""rad: of a smaller one only its square is left out where it is taken as small."""
_MOST_STEPS = 20
_SENSE = "check the sense of the wrench (person on object) and the handedness of both frames"
_NEAR_M = 1.0
"""An instrument sits within about this of the frame that it is on."""
OTHER_AXES = "turn the object about other axes, too"
"""What shows a turn or lever arm that is not known."""
UNKNOWN_TURN, UNKNOWN_LEVER = float(np.radians(2.0)), 0.02
"""Standard deviations (rad, m) from which a component is called unknown."""
_FREE_VARIANCE = 1e6
"""Variance (rad2, m2) of what nothing determines."""
_SMALL_TURN, _SMALL_MOVE = float(np.radians(1.0)), 0.005
"""rad, m: what a drawing and a screwdriver may differ by without a word."""
_KNOWN_BEST = 1e-6
"""rad, m: nothing is known better."""
_MOUNTED, _SURELY = (5e-4, 1e-4), 4.0
"""rad, m: no drawing says better how something is mounted; and standard deviations from which it is not as drawn."""
_DIFFERENT_STDS = 3.0
"""Standard deviations from which a difference is one."""
_HARDLY_TURNS = 0.03
"""rad: an object that turns by less slides."""
_PIECE_S, _NEARLY_ALL = 0.5, 0.999
"""Pieces of time in which turns are seen, and the share of them that counts for the largest."""
_ONE_AXIS, _UPRIGHT = 1e-3, float(np.radians(10.0))
"""Share of the turning that is about other axes than a hinge's, at most; how far off the vertical it may be."""
BIAS_STD = 0.05
"""m/s2: what an accelerometer's zero may be off, where nobody says better."""


@dataclass(frozen=True, slots=True, eq=False)
class Tilt:
    """The rotation vector (x_rad, y_rad, 0) turns the capture frame's z axis to true up."""

    x_rad: float
    y_rad: float
    covariance: FloatArray
    """(2, 2), rad2."""
    bias: FloatArray
    """(3,): the instrument's zero error, fitted together with the tilt, in its axes and unit."""
    bias_std: FloatArray
    """(3,): standard deviation of `bias`; the declared one where the recording cannot separate it from the tilt."""
    weak: str
    """What the recording leaves open, in words; empty where all is well."""
    freedom: int = 1000

    @property
    def up(self) -> FloatArray:
        """Unit vector of true up in the capture frame."""
        return exp_rotation(np.array([self.x_rad, self.y_rad, 0.0]))[:, 2]

    @property
    def std_rad(self) -> FloatArray:
        """Standard deviations of x_rad and y_rad."""
        return np.sqrt(np.diag(self.covariance))

    def interval_rad(self) -> FloatArray:
        """95 % intervals (Student's t): rows x and y, columns low and high."""
        half = t_quantile(max(self.freedom, 1)) * self.std_rad
        middle = np.array([self.x_rad, self.y_rad])
        return np.column_stack([middle - half, middle + half])


def up_vector(vector: FloatArray, covariance: FloatArray) -> tuple[float, float, FloatArray]:
    """Tilt about x and y (rad) of a vector along up in the capture frame, and their covariance."""
    size = float(np.linalg.norm(vector))
    up = vector / size
    level = float(np.hypot(up[0], up[1]))
    turn = np.arctan2(level, up[2]) / level if level > 1e-12 else 1.0
    # to first order in the tilt, which is what an error of a small tilt needs
    J = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]]) @ (np.eye(3) - np.outer(up, up)) / size
    return float(-turn * up[1]), float(turn * up[0]), J @ covariance @ J.T


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


@dataclass(frozen=True, slots=True, eq=False)
class Circle:
    """Places about an upright hinge: with an IMU turned along, the same motion is felt at all of them."""

    axis: FloatArray
    """(3,) of the hinge, and ..."""
    point: FloatArray
    """... (3,) a point on it, m, in a."""
    covariance: FloatArray
    """(3, 3) of r_ab, m2, where the turn about the axis is known."""

    def move(self, placement: Placement, R_ab: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where on the circle what sits so would be if it were turned like R_ab, m, and its covariance."""
        turn = exp_rotation(self.axis * float(self.axis @ log_rotation(R_ab @ placement.R_ab.T)))
        return self.point + turn @ (placement.r_ab - self.point), turn @ self.covariance @ turn.T


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
    signals: FloatArray | None = None
    """(poses, 6): what an IMU on poses showed at their times, m/s2 and rad/s."""
    circle: Circle | None = None
    """About an upright hinge, where the motion tells no more."""

    @property
    def turn_std_rad(self) -> FloatArray:
        """Standard deviations of the rotation about x, y, z of a."""
        return np.sqrt(np.diag(self.covariance)[:3])

    def frame_known_to(self, turn_rad: float, move_m: float) -> Placement:
        """The same where frame a itself is known so well, in each direction."""
        circle = self.circle
        if circle is not None:
            far = float(np.linalg.norm(self.r_ab - circle.point))
            circle = replace(circle, covariance=circle.covariance + np.eye(3) * (move_m**2 + (turn_rad * far) ** 2))
        covariance = self.covariance + np.diag(np.repeat([turn_rad**2, move_m**2], 3))
        return replace(self, covariance=covariance, circle=circle)

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
        raise DataProblem("rotation", f"only {use.sum()} samples were recorded by both")
    t, a, b = times_s[use], a[use], b[use]
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    R = _kabsch(a, b, "rotation", "check the signs and the order of the axes of both instruments")
    z = b @ R.T
    covariance = _sandwich(t, -skew(z), a - z)
    full = np.diag([0.0] * 3 + [_FREE_VARIANCE] * 3)
    full[:3, :3] = covariance
    explained = 1 - float(((a - z) ** 2).sum() / max((a**2).sum(), 1e-300))
    return Placement(R, np.zeros(3), full, _weak("turn about", covariance, UNKNOWN_TURN), explained)


def _turn_of(at: FloatArray, omega: FloatArray, gyroscope: FloatArray) -> Placement:
    """R_frame_imu by mean angular velocities (n, 3), rad/s, of poses and gyroscope at the same times; no lever arm."""
    if np.isfinite(gyroscope).all(axis=1).sum() < 10:
        raise DataProblem("rotation of the IMU", "the gyroscope recorded too little")
    speed = np.linalg.norm(omega, axis=1) - np.linalg.norm(gyroscope, axis=1)  # the same in every frame
    omega = offset.without_outlying(omega, speed[:, None])

    def turn(omega: FloatArray) -> Placement:
        grid, bridged = offset.bridge_short(at, omega)
        t, (a, b) = _one_lowpass(grid, bridged, interpolated(grid, at, gyroscope))
        return fit_rotation(t, a, b)

    placement = turn(offset.without_outlying(omega, omega - gyroscope @ turn(omega).R_ab.T))
    if placement.explained < 0.5:
        raise DataProblem(
            "rotation of the IMU",
            f"the gyroscope explains only {100 * placement.explained:.0f} % of the markers' angular velocity",
            remedy="check that both sit on one body, the clock offset, and that the object was turned",
        )
    return placement


def imu_on_poses(
    poses: Poses,
    times_s: FloatArray,
    acceleration: FloatArray,
    angular_rate: FloatArray,
    clock: ClockMap,
    *,
    bias_std: float = BIAS_STD,
) -> Placement:
    """Rotation and lever arm of an IMU on a marker body, with the tilt of the capture frame, from any motion.

    The gyroscope gives the rotation Q; then, in the capture frame and through one low-pass on every term,

        R Q f = p'' + R (omega_dot x r + omega x (omega x r)) + g up + R bias + R (Q f x turn)

    with omega from the gyroscope is linear in lever arm r, up, the accelerometer's zero error and a small turn of Q.
    acceleration: specific force (n, 3), m/s2; angular_rate (n, 3), rad/s, both on the IMU's clock. bias_std (m/s2) as
    declared: what the motion cannot tell from a tilt stays in the tilt's interval. About a hinge, the turn of Q about
    its axis and the direction of r are one unknown.
    """
    at, turning, half_s = offset.angular_velocity(poses)
    signals = np.hstack([acceleration, angular_rate, offset.window_mean(times_s, angular_rate, half_s)])
    signals = resample(times_s, signals, at, clock=clock)
    turned = _turn_of(at, turning, signals[:, 6:])
    columns_of = _Columns.of(poses, signals[:, :3], signals[:, 3:6], turning)
    prior = np.diag(np.repeat([0.0, _NEAR_M**-2.0, 1e-4, bias_std**-2.0], 3))
    prior[:3, :3] = np.linalg.pinv(turned.covariance[:3, :3], hermitian=True)
    rotation, held = turned.R_ab, False
    grid, columns, y, felt = columns_of(rotation)
    x, covariance, residual = _solve_pieces(grid, columns, y, prior, np.zeros(12))
    hinge = _upright_hinge(poses, turning, x[6:9] / np.linalg.norm(x[6:9]))
    if hinge is not None and hinge[0] @ covariance[:3, :3] @ hinge[0] > UNKNOWN_TURN**2:
        # one turn about its axis serves as well as another, and need not be looked for
        prior[:3, :3], held = prior[:3, :3] + _KNOWN_BEST**-2 * np.outer(hinge[0], hinge[0]), True
        x, covariance, residual = _solve_pieces(grid, columns, y, prior, np.zeros(12))
    keep = np.isfinite(offset.without_outlying(residual, residual)).all(axis=1)  # once, to settle
    grid, columns, y, felt = (rows[keep] for rows in (grid, columns, y, felt))
    for _ in range(_MOST_STEPS):
        mean = np.zeros(12)  # the turn that the gyroscope still asks for
        mean[:3] = least_squares(prior[:3, :3], prior[:3, :3] @ log_rotation(turned.R_ab @ rotation.T))
        x, covariance, residual = _solve_pieces(grid, columns, y, prior, mean)
        rotation = exp_rotation(x[:3]) @ rotation
        if np.abs(x[:3]).max() < _SMALLEST_TURN:
            break
        grid, columns, y, felt = columns_of(rotation, grid)
    tilt_x, tilt_y, tilt_cov = up_vector(x[6:9], covariance[6:9, 6:9])
    bias_imu, to_imu = rotation.T @ x[9:], rotation.T @ covariance[9:, 9:] @ rotation
    unsure = float(np.sqrt(np.diag(tilt_cov).max())) > np.radians(0.1)
    text = "the motion hardly separates tilt and accelerometer zero: turn it about the vertical" if unsure else ""
    freedom = max(1, offset.pieces_of(grid)[1] - 4)
    tilt = Tilt(tilt_x, tilt_y, tilt_cov, bias_imu, np.sqrt(np.diag(to_imu)), text, freedom)
    explained = _share_of_motion(grid, felt, columns[:, :, 3:6], residual)
    if hinge is None:
        return replace(_placement(rotation, x[3:6], covariance[:6, :6], explained, tilt), signals=signals[:, :6])
    axis, point = hinge
    if not held:  # the lever arm that goes with this turn, of the many that noise alone tells apart
        prior[:3, :3] += _KNOWN_BEST**-2 * np.outer(axis, axis)
        x, covariance, _ = _solve_pieces(grid, columns, y, prior, np.append(x[:3], np.zeros(9)))
    along = _FREE_VARIANCE * np.outer(axis, axis)  # nothing is felt of where it is along the hinge
    circle = Circle(axis, point, covariance[3:6, 3:6] + along)
    covariance[:3, :3] += along
    covariance[3:6, 3:6] += _FREE_VARIANCE * np.eye(3)
    placement = _placement(rotation, x[3:6], covariance[:6, :6], explained, tilt)
    return replace(placement, signals=signals[:, :6], circle=circle)


def hardly_turns(poses: Poses) -> bool:
    """Whether an object that poses show only slides, so that a gyroscope on it tells nothing.

    A door may rest shut for nearly all of a recording, so the share of time in which it turns says nothing; medians of
    short pieces keep noise and frames of swapped markers out of the largest turn.
    """
    R = poses.rotation[poses.seen].reshape(-1, 9)
    if len(R) == 0:
        return False
    frames = min(len(R), max(1, round(_PIECE_S / float(np.median(np.diff(poses.times_s))))))
    pieces = np.median(R[: len(R) // frames * frames].reshape(-1, frames, 9), axis=1)
    turn = np.linalg.norm(pieces - np.median(pieces, axis=0), axis=1) / np.sqrt(2)  # of a small angle
    return float(np.quantile(turn, _NEARLY_ALL)) < _HARDLY_TURNS


def imu_on_sliding_poses(
    poses: Poses, times_s: FloatArray, acceleration: FloatArray, angular_rate: FloatArray, clock: ClockMap
) -> Placement:
    """Rotation of an IMU on a body that slides and does not turn, by the direction of its motion and the vertical.

    With f = Q' R' (p'' + g up) + bias, through one low-pass on every term, Q is a matter of two vectors (Wahba 1965, by
    Kabsch); the capture frame's z is taken as up, and its zero as none. Where it sits is not felt and stays unknown.
    """
    if not hardly_turns(poses):
        raise DataProblem("rotation of the IMU", "the object turns, and its gyroscope does not show it")
    at = poses.times_s
    signals = resample(times_s, np.hstack([acceleration, angular_rate]), at, clock=clock)
    grid, (f,) = _one_lowpass(at, signals[:, :3], bandwidth_hz=_HAND_HZ)
    _, (R,) = _one_lowpass(at, poses.rotation.reshape(-1, 9), bandwidth_hz=_HAND_HZ)
    _, (p2,) = _one_lowpass(at, poses.position, bandwidth_hz=_HAND_HZ, second=True)
    use = np.isfinite(np.hstack([f, R, p2])).all(axis=1)
    if use.sum() < 50:
        raise DataProblem("rotation of the IMU", "both recorded too little between the gaps")
    grid, f, turned = grid[use], f[use], R[use].reshape(-1, 3, 3)
    a = np.einsum("nji,nj->ni", turned, p2[use] + [0.0, 0.0, STANDARD_GRAVITY])  # 0.03 rad turn g by 0.3 m/s2
    away, heavy = np.sqrt(len(f)) * f.mean(axis=0), np.sqrt(len(f)) * a.mean(axis=0)
    pairs = (np.vstack([a - a.mean(axis=0), heavy]), np.vstack([f - f.mean(axis=0), away]))
    Q = _kabsch(*pairs, "rotation of the IMU", "check the signs and the order of the axes of both instruments")
    felt = f @ Q.T
    residual = a - felt
    residual = residual - residual.mean(axis=0)
    full = np.diag([0.0] * 3 + [_FREE_VARIANCE] * 3)
    full[:3, :3] = _sandwich(grid, -skew(felt), residual)
    explained = _share_of_motion(grid, felt, np.zeros((len(grid), 3, 3)), residual)
    return replace(_placement(Q, np.zeros(3), full, explained), signals=signals)


def _upright_hinge(poses: Poses, turning: FloatArray, up: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Axis and a point of it in the poses' frame, where an upright hinge is all the motion; None elsewhere.

    What a fit then seems to know of turn and lever arm on a circle it takes from noise, slow noise most of all.
    turning: the poses' angular velocity (n, 3).
    """
    _, (omega,) = _one_lowpass(poses.times_s, turning, bandwidth_hz=_HAND_HZ)
    omega = omega[np.isfinite(omega).all(axis=1)]
    values, vectors = np.linalg.eigh(omega.T @ omega)
    axis = vectors[:, 2]
    leans = 1 - abs(float(up @ np.nanmean(poses.rotation, axis=0) @ axis))
    if values[1] >= _ONE_AXIS * values[2] or leans >= 1 - np.cos(_UPRIGHT):
        return None
    R, p = poses.rotation[poses.seen], poses.position[poses.seen]
    # a point on the hinge stays where it is: R c + p is constant; along the axis any does
    A, b = (R - R.mean(axis=0)).reshape(-1, 3), (p.mean(axis=0) - p).ravel()
    point = least_squares(A.T @ A + float(np.trace(A.T @ A)) * np.outer(axis, axis), A.T @ b)
    return axis, point


def imu_on_load_cell(motion: Motion, wrench: FloatArray) -> Placement:
    """Rotation and lever arm of an IMU in the frame of a load cell that carries a rigid body, a handle for instance.

    motion: of the IMU in its own axes; wrench (n, 6) on the same times, N and N m, in the sense "person on object".
    w = W(R, r) A(motion) phi + bias by Gauss-Newton; the inertia phi of the body is fitted along. Forces give the
    rotation; gravity's moment, with the centre of mass known from the forces under turning, gives the lever arm.
    """
    k = Kinematics.from_arrays(motion.specific_acceleration, motion.omega, motion.omega_dot)
    features = np.array(body_features(k), dtype=float).T
    grid, (z, w) = _one_lowpass(motion.times_s, features, wrench)
    use = np.isfinite(z).all(axis=1) & np.isfinite(w).all(axis=1)
    if use.sum() < 50:
        raise DataProblem("IMU on load cell", "both recorded too little between the gaps")
    grid, w = grid[use], w[use]
    A = np.array([[np.broadcast_to(x, len(grid)) for x in row] for row in body_columns(list(z[use].T))]).transpose(
        2, 0, 1
    )
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
    covariance = _sandwich(grid, jacobian * weight[:, None], residual * weight)[:6, :6]
    rest, total = (residual * weight) ** 2, ((w - w.mean(axis=0)) * weight) ** 2
    return _placement(*pose, covariance, 1 - float(rest.sum() / total.sum()))


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """What an IMU feels on poses, through one low-pass, for any turn of the IMU; arrays are by component, (3, n)."""

    times_s: FloatArray
    rotation: FloatArray
    """(3, 3, n) of the poses."""
    f: FloatArray
    """Specific force, angular rate and its slope, in the IMU's axes."""
    omega: FloatArray
    slope: FloatArray
    turning: FloatArray
    """Angular velocity of the poses."""
    zero: FloatArray
    """(samples, 3, 3): the rotation, and ..."""
    p2: FloatArray
    """... the second derivative of the position (samples, 3), through the low-pass."""

    @classmethod
    def of(cls, poses: Poses, f: FloatArray, omega: FloatArray, turning: FloatArray) -> _Columns:
        """f, omega: (n, 3) in the IMU's axes; turning: (n, 3) of the poses.

        The second derivative of R itself would share the noise of p'' and bias the lever arm; the gyroscope's does not.
        """
        at, slope = poses.times_s, np.full(omega.shape, np.nan)
        step = float(at[-1] - at[0]) / (len(at) - 1)
        slope[2:-2] = (omega[:-4] - 8 * omega[1:-3] + 8 * omega[3:-1] - omega[4:]) / (12 * step)
        _, (zero,) = _one_lowpass(at, poses.rotation.reshape(-1, 9), bandwidth_hz=_HAND_HZ)
        _, (p2,) = _one_lowpass(at, poses.position, bandwidth_hz=_HAND_HZ, second=True)
        R = np.ascontiguousarray(poses.rotation.transpose(1, 2, 0))
        f, omega, slope, turning = (np.ascontiguousarray(x.T) for x in (f, omega, slope, turning))
        return cls(at, R, f, omega, slope, turning, zero.reshape(-1, 3, 3), p2)

    def __call__(
        self, turn: FloatArray, keep: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Times, columns (n, 3, 12) for turn, lever arm, g up and bias, the left side minus p'', and the left side.

        turn: R_frame_imu; keep: the times that count, all where none are given. Of a row r of the rotation,
        r S(f) = r x f and r S(w) S(w) = (r x w) x w.
        """
        f, omega, slope = (turn @ x for x in (self.f, self.omega, self.slope))
        omega -= np.nanmedian(omega - self.turning, axis=1, keepdims=True)
        terms = np.empty((21, len(self.times_s)))
        for i, r in enumerate(self.rotation):
            terms[i] = r[0] * f[0] + r[1] * f[1] + r[2] * f[2]
            terms[3 + 3 * i : 6 + 3 * i] = _cross(r, f)
            terms[12 + 3 * i : 15 + 3 * i] = _cross(r, slope) + _cross(_cross(r, omega), omega)
        grid, (smooth,) = _one_lowpass(self.times_s, terms.T, bandwidth_hz=_HAND_HZ)
        force, turned, lever = smooth[:, :3], smooth[:, 3:12].reshape(-1, 3, 3), smooth[:, 12:].reshape(-1, 3, 3)
        columns, y = np.concatenate([turned, lever, _identities(len(grid)), self.zero], axis=2), force - self.p2
        use = np.isfinite(columns).all(axis=(1, 2)) & np.isfinite(y).all(axis=1)
        use &= True if keep is None else np.isin(grid, keep)
        if use.sum() < 50:
            raise DataProblem("IMU on markers", "both recorded too little between the gaps", remedy="fill short gaps")
        return grid[use], columns[use], y[use], force[use]


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """a x b of vectors (3, n)."""
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _share_of_motion(times_s: FloatArray, felt: FloatArray, turning: FloatArray, residual: FloatArray) -> float:
    """Share of the specific force `felt` in the capture frame, without its mean, that is not left over, 0 to 1.

    The markers' noise in p'' is there in quiet pieces of time, too, and can exceed the force itself where a door is
    moved gently; what parts ways grows with the motion. So what the quietest quarter leaves over is no evidence;
    quiet is what neither accelerates nor turns (`turning`: the columns of the lever arm).
    """
    index = offset.pieces_of(times_s)[0]
    squares = (((x - x.mean(axis=0)) ** 2).reshape(len(x), -1).sum(axis=1) for x in (felt, residual, turning))
    samples = np.bincount(index)
    there = samples > 0
    force, left, turned = (np.bincount(index, x)[there] / samples[there] for x in squares)
    activity = force / max(force.mean(), 1e-300) + turned / max(turned.mean(), 1e-300)
    quiet = np.argsort(activity)[: max(2, len(force) // 4)]
    more, rest = force.mean() - force[quiet].mean(), left.mean() - left[quiet].mean()
    most = float(left.mean() / max(force.mean(), 1e-300))
    return 1 - float(np.clip(rest / max(more, 1e-300), 0.0, min(most, 1.0)))


def _placement(
    R: FloatArray, r: FloatArray, covariance: FloatArray, explained: float, tilt: Tilt | None = None
) -> Placement:
    """With words; a turn that is not known makes the lever arm's direction unknown, too, beyond what is linear."""
    turn = float(np.sqrt(np.linalg.eigvalsh(covariance[:3, :3])[-1]))
    if turn > UNKNOWN_TURN:
        covariance = covariance + np.diag([0.0] * 3 + [float(r @ r) * min(turn, 2.0) ** 2] * 3)
    turns = _weak("turn about", covariance[:3, :3], UNKNOWN_TURN)
    levers = _weak("lever arm along", covariance[3:, 3:], UNKNOWN_LEVER)
    return Placement(R, r, covariance, turns + levers, explained, tilt)


def _load_cell_step(
    A: FloatArray, w: FloatArray, R: FloatArray, r: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Jacobian (n, 6, 22) for turn, lever, phi and bias; residual of the best phi and bias; and the step."""
    force, moment = R @ A[:, :3], R @ A[:, 3:] + skew(r) @ R @ A[:, :3]
    linear = np.concatenate([np.concatenate([force, moment], axis=1), _identities(len(A), 6)], axis=2)
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
    if handed < 0 and s[2] > 0.05 * s[0]:
        raise DataProblem(
            what, "the two are mirror images: an axis has the wrong sign or two are swapped", remedy=remedy
        )
    return np.asarray(U @ np.diag([1.0, 1.0, handed]) @ Vt, dtype=float)


def _one_lowpass(
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


def _solve_pieces(
    t: FloatArray, A: FloatArray, y: FloatArray, prior: FloatArray, mean: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least squares of y (n, rows) on A (n, rows, k) with a prior (information and mean): x, covariance, residual.

    The covariance holds the data's scatter between pieces of time and the prior's share.
    """
    rows = A.reshape(-1, A.shape[2])
    inner, outer = rows.T @ rows, rows.T @ y.ravel()
    x = solve_columns(inner + 1e-12 * np.diag(np.diag(inner)), outer)
    index, count = offset.pieces_of(t)
    scores = _scores(A, y - A @ x, index, count)
    # neighbouring residuals say the same: the data weigh what their scatter between pieces allows
    noise = float(np.trace(symmetric_inverse(inner) @ (scores.T @ scores))) / A.shape[2]
    noise = max(noise, float(((y - A @ x) ** 2).mean()), 1e-300)
    information = inner / noise + prior
    x = solve_columns(information, outer / noise + prior @ mean)
    scores = _scores(A, y - A @ x, index, count) / noise
    scores = scores - scores.mean(axis=0)
    inverse = symmetric_inverse(information)
    meat = scores.T @ scores * (count / max(1, count - 4)) + prior
    return x, inverse @ meat @ inverse, y - A @ x


def _sandwich(t: FloatArray, A: FloatArray, residual: FloatArray) -> FloatArray:
    """H^-1 (sum s s') H^-1 over pieces of time; directions without information get a huge variance."""
    k = A.shape[2]
    rows = A.reshape(-1, k)
    H = rows.T @ rows
    index, count = offset.pieces_of(t)
    s = _scores(A, residual, index, count)
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    values, vectors = np.linalg.eigh(H / scale[:, None] / scale)
    known = values > 1e-9 * values[-1]  # the others are open
    inverse = (vectors[:, known] / values[known]) @ vectors[:, known].T / scale[:, None] / scale
    open_ = vectors[:, ~known] / scale[:, None]
    open_ = open_ / np.maximum(np.linalg.norm(open_, axis=0), 1e-300)
    freedom = max(1, count - min(k, count // 2))
    return np.asarray(inverse @ (s.T @ s) @ inverse * (count / freedom) + _FREE_VARIANCE * open_ @ open_.T, dtype=float)


def _scores(A: FloatArray, residual: FloatArray, index: NDArray[np.int64], count: int) -> FloatArray:
    """A' residual of each piece, (pieces, k)."""
    return offset.sums_of_pieces(np.einsum("nij,ni->nj", A, residual), index, count)


def _identities(n: int, size: int = 3) -> FloatArray:
    """(n, size, size), a view."""
    return np.broadcast_to(np.eye(size), (n, size, size))


def _weak(what: str, covariance: FloatArray, limit: float) -> tuple[str, ...]:
    """Directions in which a turn (3, 3), rad2, or a lever arm, m2, is not known, in words."""
    values, vectors = np.linalg.eigh(covariance)
    stds = np.sqrt(np.maximum(values, 0.0)).tolist()
    turn = what == "turn about"
    sizes = [f"{np.degrees(s):.1f} deg" if turn else f"{1e3 * s:.0f} mm" for s in stds]
    sizes = [size if s < (1.5 if turn else 1.0) else "anything" for s, size in zip(stds, sizes, strict=True)]
    return tuple(
        f"the {what} {_axis(v)} is not known (+- {size})"
        for std, size, v in zip(stds, sizes, vectors.T, strict=True)
        if std > limit
    )


def _axis(v: FloatArray) -> str:
    """x, y or z where a direction is nearly one of them, else its components."""
    i = int(np.abs(v).argmax())
    return "xyz"[i] if abs(v[i]) > 0.98 else "(" + ", ".join(f"{c:.2f}" for c in v * np.sign(v[i])) + ")"


def check_placement(
    placement: Placement, R_ab: FloatArray | None = None, r_ab: FloatArray | None = None
) -> tuple[Finding, ...]:
    """Compare an estimated placement with a drawing's rotation and lever arm (m), as far as the motion tells them."""
    turn = [] if R_ab is None else _turn(placement, R_ab)
    place, covariance = placement.r_ab, placement.covariance[3:, 3:]
    if placement.circle is not None and R_ab is not None:
        place, covariance = placement.circle.move(placement, R_ab)
    return (*turn, *([] if r_ab is None else _move(placement, place, covariance, r_ab)))


def misplaced(placement: Placement, T_drawing: FloatArray) -> tuple[float, float]:
    """By how much (rad, m) an estimated placement surely differs from a drawing's; 0 where it may be as drawn."""
    turn = log_rotation(placement.R_ab @ T_drawing[:3, :3].T)
    parts = zip((turn, placement.r_ab - T_drawing[:3, 3]), _MOUNTED, (0, 3), strict=True)
    off: list[float] = []
    for apart, best, at in parts:
        covariance = placement.covariance[at : at + 3, at : at + 3] + best**2 * np.eye(3)
        sure = float(apart @ np.linalg.solve(covariance, apart)) > _SURELY**2
        off.append(float(np.linalg.norm(apart)) if sure else 0.0)
    return off[0], off[1]


def _known_part(covariance: FloatArray, limit: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The covariance (3, 3), never better than `_KNOWN_BEST`; its eigenvectors; and those known to the limit."""
    covariance = covariance + _KNOWN_BEST**2 * np.eye(3)
    values, vectors = np.linalg.eigh(covariance)
    return covariance, vectors, vectors[:, np.sqrt(np.maximum(values, 0.0)) < limit]


def _turn(placement: Placement, drawing: FloatArray) -> list[Finding]:
    covariance, vectors, known = _known_part(placement.covariance[:3, :3], UNKNOWN_TURN)
    if known.shape[1] < 2:
        return [_unchecked("rotation", placement)]
    if known.shape[1] == 2:  # only where the axis of the motion points is known
        axis = vectors[:, 2]
        seen, drawn = placement.R_ab.T @ axis, drawing.T @ axis
        v = drawing @ np.cross(seen, drawn)
        v = v / max(float(np.linalg.norm(v)), 1e-300) * float(np.arctan2(np.linalg.norm(v), seen @ drawn))
    else:
        v = log_rotation(placement.R_ab @ drawing.T)
    angle = float(np.linalg.norm(v))
    along = known.T @ v
    std = float(np.sqrt(np.linalg.eigvalsh(covariance)[1]))
    if known.shape[1] == 3:
        std = float(np.sqrt(max(v @ covariance @ v, 0.0)) / max(angle, 1e-300))
    sure = float(along @ np.linalg.solve(known.T @ covariance @ known, along)) > _DIFFERENT_STDS**2
    if angle < _SMALL_TURN or not sure:
        return []
    words = _relabelled(placement.R_ab, drawing) if known.shape[1] == 3 else ""
    if words:
        evidence = f"its axes are not as in the drawing: {words}"
    else:
        size = f"{np.degrees(angle):.1f} +- {max(2 * np.degrees(std), 0.05):.1f} deg"
        evidence = f"turned by {size} about {_axis(v / angle)} against the drawing"
    severity = Severity.FATAL if angle > np.radians(10.0) else Severity.WARNING
    return [Finding("placement", evidence, "IMU", "check how it is mounted, or correct the drawing", severity)]


def _move(placement: Placement, place: FloatArray, covariance: FloatArray, drawing: FloatArray) -> list[Finding]:
    covariance, _, known = _known_part(covariance, UNKNOWN_LEVER)
    if known.shape[1] == 0:
        return [_unchecked("place", placement)]
    along = known.T @ (place - drawing)
    inner = known.T @ covariance @ known
    size = float(np.linalg.norm(along))
    if size < _SMALL_MOVE or float(along @ np.linalg.solve(inner, along)) < _DIFFERENT_STDS**2:
        return []
    std = float(np.sqrt(along @ inner @ along)) / size
    moved = ", ".join(f"{1e3 * c:+.0f}" for c in known @ along)
    distance = f"{1e3 * size:.0f} +- {max(2e3 * std, 1):.0f} mm"
    evidence = f"{distance} from its place in the drawing ({moved} mm along x, y, z)"
    return [Finding("placement", evidence, "IMU", "measure it again")]


def _relabelled(estimate: FloatArray, drawing: FloatArray) -> str:
    """Which axes are exchanged or flipped, where that explains a large turn; else nothing."""
    S = drawing.T @ estimate  # b's axes as estimated, seen from b's axes as drawn
    turned = [P for P in signed_permutations() if np.linalg.det(P) > 0 and np.trace(P) < 3]
    off = [float(np.linalg.norm(log_rotation(S @ P.T))) for P in turned]
    if min(off) >= np.radians(8.0):  # closer, a turn is exchanged axes
        return ""
    best = turned[int(np.argmin(off))]
    order = np.abs(best).argmax(axis=0)
    signs = ["+" if best[i, j] > 0 else "-" for j, i in enumerate(order)]
    words = [f"{a} is {s}{'xyz'[i]}" for a, s, i in zip("xyz", signs, order, strict=True)]
    return f"its {', '.join(words)} of the drawing"


def _unchecked(quantity: str, placement: Placement) -> Finding:
    reason = placement.weak[0] if placement.weak else "the motion does not tell it"
    return Finding("placement-unknown", f"its {quantity} cannot be checked: {reason}", "IMU", OTHER_AXES)
