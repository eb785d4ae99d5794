"""Frames: which markers say where the sensor, the hinge and the axle are in the body, how a wheel stands, where up is.

A role is a declaration and names markers. Its frame is computed once, in the reference cloud; poses of the cloud then
carry it along (`Poses.attached`), so that a sensor has a pose although its own markers are hidden. A wheel is a sphere
about the middle of the axle (paper, Wheelbarrow): it touches the floor straight below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from palpate.errors import DataProblem, UnknownName
from palpate.findings import Finding, Severity
from palpate.motion.clocks.clock import ClockMap
from palpate.physics.arrays import FloatArray, symmetric_inverse
from palpate.physics.motion import Motion
from palpate.physics.poses import Poses
from palpate.physics.so3 import exp_rotation
from palpate.physics.spatial import nearest_rotation, skew, transform
from palpate.physics.units import STANDARD_GRAVITY

_FLATTEST = 0.1
"""Smallest sine between two directions that may span a plane: below it, noise is turned ten times as far."""
_THICKEST = 0.2
"""Largest ratio of the width to the length of a group of markers that passes as a line."""
UP = (0.0, 0.0, 1.0)
_RADIUS_OFF = 0.05
"""Difference between axle height and wheel radius that passes for a soft tyre and markers beside the axle's line."""
_HOPPING = 0.1
"""Variation (2.5 to 97.5 %) of the axle's height over the radius from which the wheel does not roll on one floor."""
_STEEPEST = np.cos(np.radians(80.0))
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


class MarkerCloud(Protocol):
    """The reference cloud of a rigid body: named points in its own frame."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the markers."""
        ...

    @property
    def points(self) -> FloatArray:
        """(markers, 3), m."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class SensorRoles:
    """A sensor module with three markers on it."""

    markers: tuple[str, str, str]
    """p1, p2, p3: the corner is p2, x runs from p2 to p3, p1 is on the side of -y."""
    offset: FloatArray
    """T_sensor_markers as machined, (4, 4) or (3, 4), m."""


@dataclass(frozen=True, slots=True)
class HingeRoles:
    """A hinge with markers along its line."""

    axis: tuple[str, ...]
    """Markers on the line; z is their principal direction, the origin their mean."""
    towards: str
    """Marker to which x points, made orthogonal to z."""
    points: Literal["up", "down"] | tuple[str, str]
    """Which way z points: up, down, or from one marker to another. The angle is right-handed about z."""


@dataclass(frozen=True, slots=True)
class AxleRoles:
    """An axle with a marker at each end."""

    axle: tuple[str, str]
    """z runs from the first to the second (for a cart: to the left); the origin is their midpoint."""
    across: tuple[tuple[str, str], ...]
    """Pairs (from, to): y is the sum of their differences, made orthogonal to z; x = y x z."""


Roles = SensorRoles | HingeRoles | AxleRoles


def frames_of(roles: Mapping[str, Roles], cloud: MarkerCloud, *, up: ArrayLike = UP) -> dict[str, FloatArray]:
    """T_cloud_frame (4, 4) of each role. up: in the cloud's frame, for hinges that point up or down.

    The cloud of a static file has the world's axes, so that its up is the world's. Raises `UnknownName` for a marker
    that is not in the cloud, `DataProblem` for markers from which the frame cannot be known.
    """
    return {name: frame_of(role, cloud, up=up, what=name) for name, role in roles.items()}


def frame_of(role: Roles, cloud: MarkerCloud, *, up: ArrayLike = UP, what: str = "frame") -> FloatArray:
    """T_cloud_frame (4, 4) of one role; see `frames_of`."""

    def at(names: Sequence[str]) -> FloatArray:
        return _find(cloud, names, what)

    match role:
        case SensorRoles():
            p1, p2, p3 = at(role.markers)
            return sensor_frame(p1, p2, p3, role.offset, what=what)
        case HingeRoles(points="up" | "down"):
            along = np.asarray(up, dtype=float) * (1.0 if role.points == "up" else -1.0)
            return hinge_frame(at(role.axis), at([role.towards])[0], along, what=what)
        case HingeRoles():
            first, last = at(role.points)
            return hinge_frame(at(role.axis), at([role.towards])[0], last - first, what=what)
        case AxleRoles():
            across = at([b for _, b in role.across]) - at([a for a, _ in role.across])
            first, second = at(role.axle)
            return axle_frame(first, second, across.sum(axis=0), what=what)


def sensor_frame(
    p1: ArrayLike, p2: ArrayLike, p3: ArrayLike, T_marker: ArrayLike, *, what: str = "sensor"
) -> FloatArray:
    """T_cloud_sensor (4, 4) of a module whose markers are at p1, p2, p3 (m).

    x from p2 to p3, z along (p1 - p2) x x, origin p2 is the markers' frame; T_marker = T_sensor_markers is the machined
    offset. Raises `DataProblem` where the three are nearly on one line.
    """
    corners = np.array([p1, p2, p3], dtype=float)
    T = _sensor_frames(corners[None], T_marker, what)[0]
    if np.isnan(T).any():
        raise DataProblem(
            what,
            f"its three markers are nearly on one line: the triangle's height is {_flatness(corners):.3f} of its "
            f"longest side, at least {_FLATTEST:g} is needed",
            remedy="check that the three names are those of the module",
        )
    return T


def measured_sensor_poses(
    times_s: FloatArray, points: FloatArray, T_marker: ArrayLike, *, what: str = "sensor"
) -> Poses:
    """Poses of the sensor straight from its own three markers, points (frames, 3, 3) in m, to check the cloud's.

    NaN where one of the three is hidden or where they are nearly on one line. Three markers a few centimetres apart
    turn 0.3 mm of noise into half a degree: the whole cloud knows better.
    """
    T = _sensor_frames(points, T_marker, what)
    return Poses(times_s, T[:, :3, :3].copy(), T[:, :3, 3].copy())


def pose_difference(a: Poses, b: Poses) -> tuple[FloatArray, FloatArray]:
    """Angle (rad) and distance (m) between two frames, sample by sample; NaN where one of them was not seen."""
    R = a.rotation.transpose(0, 2, 1) @ b.rotation
    twice_sine = np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
    angle = np.arctan2(np.linalg.norm(twice_sine, axis=1), np.trace(R, axis1=1, axis2=2) - 1)
    return np.asarray(angle, dtype=float), np.linalg.norm(a.position - b.position, axis=1)


def hinge_frame(axis: ArrayLike, towards: ArrayLike, along: ArrayLike, *, what: str = "hinge") -> FloatArray:
    """T_cloud_hinge (4, 4) from markers (k, 3) on the hinge's line, m.

    z: their principal direction, on the side of the direction `along`; origin: their mean; x: towards a point, made
    orthogonal. Raises `DataProblem` where the markers are no line or the sign cannot be told.
    """
    points = np.asarray(axis, dtype=float)
    if len(points) < 2:
        raise DataProblem(what, f"a line needs at least 2 markers, {len(points)} named")
    origin = points.mean(axis=0)
    _, spread, directions = np.linalg.svd(points - origin)
    if not 0 < spread[0] >= spread[1] / _THICKEST:
        raise DataProblem(
            what,
            f"its markers are on no line: their group is {spread[1] / max(spread[0], 1e-300):.2f} times as wide as it "
            f"is long, at most {_THICKEST:g} passes",
            remedy="name markers along the hinge, or find the axis from the motion",
        )
    z = -directions[0] if is_reversed(directions[0], along, what) else directions[0]
    side = np.asarray(towards, dtype=float) - origin
    _refuse_parallel(side, z, f"{what}: x")
    return transform(axes_of(side, z), origin)


def axle_frame(first: ArrayLike, second: ArrayLike, across: ArrayLike, *, what: str = "axle") -> FloatArray:
    """T_cloud_axle (4, 4): z from the first to the second end, origin their midpoint, m.

    y is the direction `across`, made orthogonal; x = y x z (paper, eq. zB to pB).
    """
    ends = np.array([first, second], dtype=float)
    length = float(np.linalg.norm(ends[1] - ends[0]))
    if not length > 0:
        raise DataProblem(what, "its two markers are at the same place")
    z = (ends[1] - ends[0]) / length
    y = np.asarray(across, dtype=float)
    _refuse_parallel(y, z, f"{what}: y")
    return transform(axes_of(np.cross(y, z), z), ends.mean(axis=0))


def _sensor_frames(corners: FloatArray, T_marker: ArrayLike, what: str) -> FloatArray:
    """T_cloud_sensor of (frames, 3, 3) corners; NaN where they are hidden or nearly on one line."""
    offset = np.asarray(T_marker, dtype=float)
    R = nearest_rotation(offset[:3, :3], what=f"{what}: machined offset")
    p1, p2, p3 = np.where((_flatness(corners) >= _FLATTEST)[:, None, None], corners, np.nan).transpose(1, 0, 2)
    x = _unit(p3 - p2)
    z = _unit(np.asarray(np.cross(p1 - p2, x), dtype=float))
    T = np.full((len(corners), 4, 4), np.nan)
    T[:, :3, :3] = np.stack([x, np.cross(z, x), z], axis=2) @ R.T
    T[:, :3, 3] = p2 - T[:, :3, :3] @ offset[:3, 3]
    T[np.isfinite(T[:, 0, 0]), 3] = (0.0, 0.0, 0.0, 1.0)
    return T


def _flatness(corners: FloatArray) -> FloatArray:
    """Height over the longest side of triangles (..., 3, 3); NaN where a corner is hidden, 0 where two coincide."""
    sides = corners - np.roll(corners, 1, axis=-2)
    doubled = np.linalg.norm(np.cross(sides[..., 0, :], sides[..., 1, :]), axis=-1)
    return doubled / np.maximum(np.linalg.norm(sides, axis=-1).max(axis=-1) ** 2, 1e-300)


def _unit(v: FloatArray) -> FloatArray:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def _refuse_parallel(v: FloatArray, z: FloatArray, what: str) -> None:
    if not sine(v, z) >= _FLATTEST:
        raise DataProblem(
            what,
            f"the markers that give its direction are {np.degrees(np.arcsin(sine(v, z))):.1f} deg off z, at least "
            f"{np.degrees(np.arcsin(_FLATTEST)):.1f} deg are needed",
            remedy="choose markers to the side of the axis",
        )


def _find(cloud: MarkerCloud, names: Sequence[str], what: str) -> FloatArray:
    """Points (k, 3) of the named markers; "Door1" also finds "Subject:Door1" when it is unique."""
    rows: list[int] = []
    for name in names:
        found = [i for i, full in enumerate(cloud.names) if full == name]
        found = found or [i for i, full in enumerate(cloud.names) if full.endswith((f":{name}", f"/{name}"))]
        if not found:
            raise UnknownName("marker", name, cloud.names, where=what)
        if len(found) > 1:
            several = " or ".join(repr(cloud.names[i]) for i in found)
            raise DataProblem(what, f"marker {name!r} could be {several}", remedy="write the whole name")
        if not np.isfinite(cloud.points[found[0]]).all():
            raise DataProblem(what, f"marker {cloud.names[found[0]]!r} has no place in the reference cloud")
        rows += found
    return cloud.points[rows]


def across(z: FloatArray) -> FloatArray:
    """Two unit vectors x, y with x, y, z right-handed: (3, 2)."""
    x = np.eye(3)[int(np.abs(z).argmin())]
    return axes_of(x, z)[:, :2]


def axes_of(v: ArrayLike, z: FloatArray) -> FloatArray:
    """Axes (3, 3) with the unit vector z last and x in the direction of v, made orthogonal."""
    x = np.asarray(v, dtype=float)
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    return np.asarray(np.column_stack([x, np.cross(z, x), z]), dtype=float)


def is_reversed(z: FloatArray, side: ArrayLike, what: str) -> bool:
    """Whether z points away from the stated side; refused where that side is nearly across z."""
    v = np.asarray(side, dtype=float)
    cosine = float(z @ v) / max(float(np.linalg.norm(v)), 1e-300)
    if not abs(cosine) >= _FLATTEST:
        raise DataProblem(
            what,
            f"the direction in which z should point is {np.degrees(np.arccos(abs(cosine))):.0f} deg off the axis and "
            "does not tell its sign",
            remedy="state one along the axis",
        )
    return cosine < 0


def sine(v: FloatArray, z: FloatArray) -> float:
    """Sine of the angle between v and the unit vector z; 0 where v is zero."""
    return float(np.linalg.norm(v - (v @ z) * z)) / max(float(np.linalg.norm(v)), 1e-300)


@dataclass(frozen=True, slots=True, eq=False)
class Rolling:
    """How a body on a wheel stood on the floor; NaN where it was not seen."""

    contact: Poses
    """T_world_contact: on the floor below the axle's middle; z up, y along the axle's z (left) but level, x ahead."""
    pitch_rad: FloatArray
    """(samples,) how far y of the axle's frame rises."""
    camber_rad: FloatArray
    """(samples,) how far z of the axle's frame, its left end, rises."""
    yaw_rad: FloatArray
    """(samples,) heading of the contact's x from the world's x, about up, unwrapped."""
    height_m: FloatArray
    """(samples,) of the axle's middle above the floor."""


def rolling(axle: Poses, *, floor_m: float = 0.0, up: ArrayLike = UP, what: str = "axle") -> Rolling:
    """Contact frame and angles of a body from the poses of its axle frame (`axle_frame`), eq. zC to pC of the paper.

    floor_m: how high the floor is in the world, along up. Where the capture's zero is the centre of a marker that lay
    on the floor, it is minus the marker's radius (-0.0095 m for 19 mm markers). pitch = asin(y . up), camber =
    asin(z . up).
    """
    z = np.asarray(up, dtype=float)
    z = z / np.linalg.norm(z)
    left = axle.rotation[:, :, 2]
    camber, pitch = _rise(left, z), _rise(axle.rotation[:, :, 1], z)
    if np.any(np.cos(camber) < _STEEPEST):
        k = int(np.nanargmin(np.cos(camber)))
        raise DataProblem(
            what,
            f"the axle stands {np.degrees(camber[k]):.0f} deg steep at {axle.times_s[k]:.2f} s and has no heading",
            remedy="check its two markers and which way is up",
        )
    y = left - (left @ z)[:, None] * z
    y = y / np.linalg.norm(y, axis=1, keepdims=True)
    x = np.asarray(np.cross(y, z), dtype=float)
    height = axle.position @ z - floor_m
    rotation = np.stack([x, y, np.where(np.isfinite(x), z, np.nan)], axis=2)
    contact = Poses(axle.times_s, rotation, axle.position - height[:, None] * z)
    return Rolling(contact, pitch, camber, _heading(x, z), height)


def check_wheel(motion: Rolling, radius_m: float) -> tuple[Finding, ...]:
    """Whether a wheel of this radius (m) can have been under the axle all the time."""
    seen = np.isfinite(motion.height_m)
    if not seen.any():
        return (Finding("wheel-radius", "the axle was never seen", severity=Severity.FATAL),)
    height = motion.height_m[seen]
    low, middle, high = (float(q) for q in np.quantile(height, (0.025, 0.5, 0.975)))
    findings: list[Finding] = []
    if abs(middle - radius_m) > _RADIUS_OFF * radius_m:
        evidence = (
            f"the axle is {1e3 * middle:.1f} mm above the floor (median) but the wheel's radius is stated as "
            f"{1e3 * radius_m:.1f} mm, {1e3 * (middle - radius_m):+.1f} mm apart"
        )
        remedy = (
            "check the radius, the axle's markers, and whether the world's zero is the floor or the centre of a marker "
            "on it"
        )
        findings.append(Finding("wheel-radius", evidence, remedy=remedy))
    if high - low > _HOPPING * radius_m:
        evidence = (
            f"the axle's height above the floor varies from {1e3 * low:.1f} to {1e3 * high:.1f} mm (95 % of the time): "
            "the wheel was lifted, the floor is not level, or the capture frame is tilted"
        )
        findings.append(Finding("wheel-height", evidence))
    return tuple(findings)


def _rise(v: FloatArray, up: FloatArray) -> FloatArray:
    """asin(v . up) of unit vectors (n, 3), rad."""
    return np.arcsin(np.clip(v @ up, -1.0, 1.0))


def _heading(x: FloatArray, up: FloatArray) -> FloatArray:
    """Angle of horizontal vectors x (n, 3) from the world's x, made horizontal, about up; unwrapped."""
    ahead = np.array([1.0, 0.0, 0.0]) - up[0] * up
    side = np.cross(up, ahead)
    yaw = np.arctan2(x @ side, x @ ahead)
    seen = np.isfinite(yaw)
    yaw[seen] = np.unwrap(yaw[seen])
    return yaw


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
