"""Frames: which markers say where the sensor, the hinge and the axle are in the body, how a wheel stands, where up is.

A role is a declaration and names markers. Its frame is computed once, in the reference cloud; poses of the cloud then
carry it along (`Poses.attached`), so that a sensor has a pose although its own markers are hidden. A wheel is a sphere
about the middle of the axle (paper, Wheelbarrow): it touches the floor straight below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.errors import DataProblem
from palpate.findings import Finding, Severity
from palpate.motion.cloud import Cloud, marker_index
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Poses, exp_rotation, nearest_rotation, transform

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


def frames_of(roles: Mapping[str, Roles], cloud: Cloud, *, up: ArrayLike = UP) -> dict[str, FloatArray]:
    """T_cloud_frame (4, 4) of each role. up: in the cloud's frame, for hinges that point up or down.

    The cloud of a static file has the world's axes, so that its up is the world's. Raises `UnknownName` for a marker
    that is not in the cloud, `DataProblem` for markers from which the frame cannot be known.
    """
    return {name: frame_of(role, cloud, up=up, what=name) for name, role in roles.items()}


def frame_of(role: Roles, cloud: Cloud, *, up: ArrayLike = UP, what: str = "frame") -> FloatArray:
    """T_cloud_frame (4, 4) of one role; see `frames_of`."""

    def at(names: Sequence[str]) -> FloatArray:
        return cloud.points[[marker_index(cloud.names, name, what) for name in names]]

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
    offset = np.asarray(T_marker, dtype=float)
    R_sensor_markers = nearest_rotation(offset[:3, :3], what=f"{what}: machined offset")
    corners = np.array([p1, p2, p3], dtype=float)
    sides = corners - np.roll(corners, 1, axis=0)
    height = float(np.linalg.norm(np.cross(sides[0], sides[1])) / max((sides**2).sum(axis=1).max(), 1e-300))
    if not height >= _FLATTEST:
        raise DataProblem(
            what,
            f"its three markers are nearly on one line: the triangle's height is {height:.3f} of its longest side, at "
            f"least {_FLATTEST:g} is needed",
            remedy="check that the three names are those of the module",
        )
    x = corners[2] - corners[1]
    z = np.cross(corners[0] - corners[1], x)
    R = axes_of(x, z / np.linalg.norm(z)) @ R_sensor_markers.T
    return transform(R, corners[1] - R @ offset[:3, 3])


def hinge_frame(axis: ArrayLike, towards: ArrayLike, along: ArrayLike, *, what: str = "hinge") -> FloatArray:
    """T_cloud_hinge (4, 4) from markers (k, 3) on the hinge's line, m.

    z: their principal direction, on the side of the direction `along`; origin: their mean; x: towards a point, made
    orthogonal. Raises `DataProblem` where the markers do not lie on a line or the sign stays open.
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


def _refuse_parallel(v: FloatArray, z: FloatArray, what: str) -> None:
    if not sine(v, z) >= _FLATTEST:
        raise DataProblem(
            what,
            f"the markers that give its direction are {np.degrees(np.arcsin(sine(v, z))):.1f} deg off z, at least "
            f"{np.degrees(np.arcsin(_FLATTEST)):.1f} deg are needed",
            remedy="choose markers to the side of the axis",
        )


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
class RollingMotion:
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


def rolling(axle: Poses, *, floor_m: float = 0.0, up: ArrayLike = UP, what: str = "axle") -> RollingMotion:
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
    return RollingMotion(contact, pitch, camber, _heading(x, z), height)


def check_wheel(motion: RollingMotion, radius_m: float) -> tuple[Finding, ...]:
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
