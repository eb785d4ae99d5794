"""Frames: where sensors, hinge, axle and line sit in the body and in the world, and whether the body moves as they say.

A role is a declaration and names markers. Its frame is computed once, in the reference cloud; poses of the cloud then
carry it along (`Poses.attached`), so that a sensor has a pose although its markers are hidden.

A hinge is one frame that the body and the world share: T_world_body = T_world_hinge Rz(angle) T_hinge_body. It comes
from markers, from the body's motion, or from the path of one point. How well it is known shows in the scatter of what
it leaves over. Frames at the same angle are no independent witnesses: markers seen from the same side are wrong in the
same way, and a body at rest repeats one error a thousand times. So a group of frames of about one angle counts as one
witness, and the estimate is repeated without each of them (delete-a-group jackknife; Efron & Tibshirani, An
Introduction to the Bootstrap, ch. 11).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palpate.errors import DataProblem
from palpate.findings import Finding, Severity
from palpate.motion.cloud import Cloud, marker_index
from palpate.physics.arrays import BoolArray, FloatArray, least_squares
from palpate.physics.motion import Poses, exp_rotation, nearest_rotation, skew, transform

_FLATTEST = 0.1
"""Smallest sine between two directions that may span a plane: below it, noise is turned ten times as far."""
_THICKEST = 0.2
"""Largest ratio of the width to the length of a group of markers that passes as a line."""
UP = (0.0, 0.0, 1.0)


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


@dataclass(frozen=True, slots=True)
class BaseRoles:
    """What stands on a floor: two markers along one of its axes; z is up."""

    pair: tuple[str, str]
    """From, to; the origin is their midpoint."""
    along: Literal["x", "y"]


Roles = SensorRoles | HingeRoles | AxleRoles | BaseRoles


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
        case HingeRoles():
            ups = {"up": np.asarray(up, dtype=float), "down": -np.asarray(up, dtype=float)}
            along = ups[role.points] if isinstance(role.points, str) else np.diff(at(role.points), axis=0)[0]
            return hinge_frame(at(role.axis), at([role.towards])[0], along, what=what)
        case AxleRoles():
            across = at([b for _, b in role.across]) - at([a for a, _ in role.across])
            first, second = at(role.axle)
            return axle_frame(first, second, across.sum(axis=0), what=what)
        case BaseRoles():
            first, second = at(role.pair)
            return base_frame(first, second, role.along, up, what=what)


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
            f"its markers are not on a line: their group is {spread[1] / max(spread[0], 1e-300):.2f} times as wide as "
            f"it is long, at most {_THICKEST:g} is accepted",
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


def base_frame(
    first: FloatArray, second: FloatArray, along: Literal["x", "y"], up: ArrayLike, *, what: str = "base"
) -> FloatArray:
    """T_cloud_base (4, 4): z up, x or y from the first to the second point but level, origin their midpoint, m."""
    z = np.asarray(up, dtype=float)
    z = z / np.linalg.norm(z)
    level = np.asarray(second - first, dtype=float)
    _refuse_parallel(level, z, f"{what}: {along}")
    return transform(axes_of(level if along == "x" else np.cross(level, z), z), (first + second) / 2)


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


_SMALLEST_RAD = np.radians(5.0)
"""Rotation below which no axis is looked for."""
_FEWEST_ANGLES = 3
"""Two positions of a body always have an axis in common; only a third can disagree."""
_TILT_RAD, _SLIDE_M = np.radians(0.5), 0.005
"""Tilting and sliding (rms) from which the hinge is called into question."""
_FEWEST_OF_PATH = 8
_SHORTEST_RAD = np.radians(20.0)
"""A shorter arc is a line as far as motion capture can tell."""
_FEWEST_ANGLES_OF_ARC = 4
_LARGEST_STD = 0.1
"""Of the radius as a fraction of it, and of the axis in rad."""
_ROUND = 0.05
"""Largest rms deviation from the circle, as a fraction of its radius."""
_FURTHER = "move the point further round its axis"
_ANGLE_GROUPS = 8


@dataclass(frozen=True, slots=True, eq=False)
class HingeAxis:
    """A frame on the axis, fixed to the body and, at angle zero, the same in the world; z along the axis."""

    T_body_hinge: FloatArray
    """(4, 4), m."""
    T_world_hinge: FloatArray
    """(4, 4), m; its x is that of the body at angle zero."""
    direction_std_rad: float
    """Root mean square angle between this axis and the true one in the world; NaN where it was not estimated."""
    point_std_m: float
    """Root mean square distance of the origin from the true axis; NaN where it was not estimated."""
    tilt_rms_rad: float
    """RMS angle between the body's axis and the world's over all frames: near zero for a real hinge."""
    slide_rms_m: float
    """RMS distance of the body's hinge origin from the world's over all frames: near zero for a real hinge."""
    range_rad: float
    """From the smallest to the largest angle."""


@dataclass(frozen=True, slots=True, eq=False)
class HingeMotion:
    """How a body moved at its hinge; NaN where it was not seen."""

    times_s: FloatArray
    angle_rad: FloatArray
    """(samples,) about z of the hinge, unwrapped."""
    tilt_rad: FloatArray
    """(samples, 2) rotation off the axis, about x and y of T_world_hinge."""
    slide_m: FloatArray
    """(samples, 3) where the body's hinge origin is in T_world_hinge."""


def hinge_from_motion(
    poses: Poses,
    *,
    near: ArrayLike = (0.0, 0.0, 0.0),
    towards: ArrayLike | None = None,
    points: ArrayLike | None = None,
    slow: tuple[float, float] = (0.0, 0.0),
) -> HingeAxis:
    """Find the fixed axis of a moving body, with no marker on it.

    Direction: u_world, u_body that minimise the sum of |R u_body - u_world|^2, the first singular vectors of the mean
    R. Point: c_world, c_body across them that minimise |R c_body + r - c_world|^2.

    near: a point of the body (m, its frame) beside which the origin is placed on the axis; give the middle of the
    markers, where the pose is known best. towards: a point of the body to which x points; without one, `near`. points:
    the side of the world to which z points; without it, the body turns positively on the whole, seen from the first
    frame, as a door that opens. The angle is zero at the first sample.

    The standard deviations come from the scatter over the angle (`jackknife`). An error of the poses that varies
    slowly with the angle (markers that look displaced from another side) leaves no scatter but shifts the axis: state
    it as `slow` (rad, and m at the hinge), say from `pose_std`, and it is added. Raises `DataProblem` where no axis
    can be known.
    """
    seen = poses.seen
    R = poses.rotation[seen]
    if len(R) < _FEWEST_ANGLES:
        raise DataProblem("hinge", f"the body was seen in {len(R)} frames, no axis can be known from them")
    U, _, Vt = np.linalg.svd(R.mean(axis=0))
    z_world, z_body = U[:, 0], Vt[0]
    # products of all rows, not of each frame: those of so small ones take far longer
    turned = (R.reshape(-1, 3) @ across(z_body)[:, 0]).reshape(-1, 3)
    side = turned @ (R[0] @ across(z_body))  # where x of the body has turned since the first frame
    opens = float(np.unwrap(np.arctan2(side[:, 1], side[:, 0])).sum())
    flip = opens < 0 if points is None else is_reversed(z_world, points, "hinge")
    z_world, z_body = (-z_world, -z_body) if flip else (z_world, z_body)

    anchor = np.asarray(near, dtype=float)
    path = poses.position[seen] + (R.reshape(-1, 3) @ anchor).reshape(-1, 3)
    across_body, across_world = across(z_body), across(z_world)
    # R c_body + r - c_world across the axis, linear in two components of c_body - near and two of c_world
    J = np.empty((len(R), 2, 4))
    for i, column in enumerate(across_body.T):
        J[:, :, i] = (R.reshape(-1, 3) @ column).reshape(-1, 3) @ across_world
    J[:, :, 2:] = -np.eye(2)
    rows = J.reshape(-1, 4)
    centres = least_squares(rows.T @ rows, -rows.T @ (path @ across_world).ravel())
    c_body = anchor + across_body @ centres[:2]
    c_world = across_world @ centres[2:] + z_world * float((path @ z_world).mean())

    side = (anchor if towards is None else np.asarray(towards, dtype=float)) - c_body
    # m: so near to the axis there is no direction, any x is as good
    if float(np.linalg.norm(side @ across_body)) < 1e-6:
        side = across_body[:, 0]
    hinge, angle = _hinge(poses, transform(axes_of(side, z_body), c_body), z_world, c_world)
    groups = angle_groups(angle)
    axis, arm = ((R.reshape(-1, 3) @ x).reshape(-1, 3) for x in (z_body, c_body - anchor))
    tilt, at_hinge = axis @ across_world, (path + arm - c_world) @ across_world
    # an error of its own at each end of the range moves the axis by this multiple of itself
    lever = 1 / max(np.sin(min(hinge.range_rad, np.pi) / 2), 1e-12)
    std = [
        float(np.hypot(np.sqrt(np.trace(jackknife(J, e, groups)[2:, 2:])), lever * error))
        for e, error in zip((tilt, at_hinge), slow, strict=True)
    ]
    _refuse_vague(hinge, float(angle.std()), int(groups.max()) + 1, std[0])
    return replace(hinge, direction_std_rad=std[0], point_std_m=std[1])


def pose_std(points: FloatArray, marker_std_m: float, at: ArrayLike | None = None) -> tuple[float, float]:
    """What errors of the single markers (m, per axis) leave of the pose of a cloud (k, 3) aligned by them.

    -> (rad, m): tilt of any axis of the body, and place of its point `at`, without one its middle (root mean squares).
    Covariance of the rotation: marker_std^2 (sum of |q|^2 I - q q')^-1 with q from the middle.
    """
    middle = points.mean(axis=0)
    q = points - middle
    C = np.asarray(marker_std_m**2 * np.linalg.inv(np.eye(3) * (q**2).sum() - q.T @ q), dtype=float)
    lever = skew(np.zeros(3) if at is None else np.asarray(at, dtype=float) - middle)
    place = 3 * marker_std_m**2 / len(points) + float(np.trace(lever @ C @ lever.T))
    return float(np.sqrt(np.linalg.eigvalsh(C)[1:].sum())), float(np.sqrt(place))


def hinge_from_frame(poses: Poses, T_body_hinge: FloatArray) -> HingeAxis:
    """The hinge of a body whose hinge frame is known, say from markers on it: in the world, its mean over all frames.

    The angle is zero at the first sample.
    """
    there = poses.attached(T_body_hinge)
    seen = there.seen
    if not seen.any():
        raise DataProblem("hinge", "the body was never seen")
    z = there.rotation[seen, :, 2].mean(axis=0)
    return _hinge(poses, T_body_hinge, z / np.linalg.norm(z), there.position[seen].mean(axis=0))[0]


def hinge_motion(poses: Poses, hinge: HingeAxis) -> HingeMotion:
    """Angle about the hinge, and what of the motion is off it.

    The rotation is split into a turn about z, then a tilt (swing and twist). Whole turns are counted from the first
    frame, which is taken to be within half a turn of zero; frames between which the body turns by more than half a turn
    unseen look like a turn the other way.
    """
    R_hinge, r_hinge = hinge.T_world_hinge[:3, :3], hinge.T_world_hinge[:3, 3]
    there = poses.attached(hinge.T_body_hinge)
    R = (there.rotation.transpose(2, 0, 1) @ R_hinge).transpose(2, 0, 1)
    angle = np.arctan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1])
    seen = there.seen
    angle[seen] = np.unwrap(angle[seen])
    sine = np.hypot(R[0, 2], R[1, 2])
    tilt = np.arctan2(sine, R[2, 2]) / np.maximum(sine, 1e-300)  # times z x z_body: about x and y
    off = tilt[:, None] * np.stack([-R[1, 2], R[0, 2]], axis=1)
    return HingeMotion(poses.times_s, np.where(seen, angle, np.nan), off, (there.position - r_hinge) @ R_hinge)


def inclination(T_world_hinge: FloatArray, gravity: ArrayLike) -> float:
    """Angle between the hinge and the vertical, 0 to pi/2 rad; gravity: a vector of any length in the world."""
    z, g = T_world_hinge[:3, 2], np.asarray(gravity, dtype=float)
    return float(np.arctan2(np.linalg.norm(np.cross(z, g)), abs(float(z @ g))))


def check_hinge(motion: HingeMotion) -> tuple[Finding, ...]:
    """Whether the body really turns about its hinge."""
    seen = np.isfinite(motion.angle_rad)
    if not seen.any():
        return (Finding("hinge", "the body at the hinge was never seen", severity=Severity.FATAL),)
    times, angle = motion.times_s[seen], motion.angle_rad[seen]
    findings: list[Finding] = []
    for cause, verb, off, limit, unit, scale in (
        ("hinge-tilt", "tilts off", motion.tilt_rad[seen], _TILT_RAD, "deg", 180 / np.pi),
        ("hinge-slide", "slides off", motion.slide_m[seen], _SLIDE_M, "mm", 1e3),
    ):
        size = np.linalg.norm(off, axis=1)
        rms, worst = float(np.sqrt((size**2).mean())), int(size.argmax())
        if rms > limit:
            evidence = (
                f"the body {verb} its hinge by {scale * rms:.2f} {unit} (rms; most at {times[worst]:.2f} s, "
                f"{scale * size[worst]:.2f} {unit}), more than {scale * limit:g} {unit}"
            )
            remedy = "check the frames there and the hinge's markers, or find the axis from the motion"
            findings.append(Finding(cause, evidence, remedy=remedy))
    steps = np.abs(np.diff(angle))
    if len(steps) and steps.max() > np.radians(120.0):
        k = int(steps.argmax())
        evidence = (
            f"the hinge turns by {np.degrees(steps[k]):.0f} deg between two frames that were seen, {times[k]:.2f} and "
            f"{times[k + 1]:.2f} s: the direction of rotation is not known"
        )
        findings.append(Finding("hinge-jump", evidence))
    return tuple(findings)


def _hinge(poses: Poses, T_body_hinge: FloatArray, z: FloatArray, origin: FloatArray) -> tuple[HingeAxis, FloatArray]:
    """Fix x in the world by the body's at the first frame that was seen, and measure how the motion fits.

    And the angles where it was seen.
    """
    seen = poses.seen
    x = poses.rotation[seen][0] @ T_body_hinge[:3, 0]
    T_world_hinge = transform(axes_of(x, z), origin)
    nan = float("nan")
    raw = hinge_motion(poses, HingeAxis(T_body_hinge, T_world_hinge, nan, nan, nan, nan, nan))
    tilt, slide, angle = raw.tilt_rad[seen], raw.slide_m[seen], raw.angle_rad[seen]
    tilt_rms, slide_rms = (float(np.sqrt((off**2).sum(axis=1).mean())) for off in (tilt, slide))
    return HingeAxis(T_body_hinge, T_world_hinge, nan, nan, tilt_rms, slide_rms, float(np.ptp(angle))), angle


def _refuse_vague(hinge: HingeAxis, turning_rad: float, angles: int, std_rad: float) -> None:
    """Raise where the motion does not tell an axis."""
    turned, tilt = np.degrees(hinge.range_rad), np.degrees(hinge.tilt_rms_rad)
    remedy = "move the body further about its hinge, or put markers on the hinge"
    if hinge.range_rad < _SMALLEST_RAD:
        reason = f"the body turned by {turned:.2f} deg only, at least {np.degrees(_SMALLEST_RAD):g} deg are needed"
    elif angles < _FEWEST_ANGLES:
        reason = f"the body was seen at {angles} distinct angles only, at least {_FEWEST_ANGLES} are needed"
    elif turning_rad < 4.0 * hinge.tilt_rms_rad:
        reason = f"the body turned by {turned:.1f} deg and tilted by {tilt:.1f} deg (rms): it has no single axis"
        remedy = "choose frames in which it turns about its hinge only, and check their alignment"
    elif not std_rad < 0.05:
        reason = f"the direction of the axis is known only to {np.degrees(std_rad):.1f} deg (standard deviation)"
    else:
        return
    raise DataProblem("hinge", reason, remedy=remedy)


@dataclass(frozen=True, slots=True, eq=False)
class CirclePath:
    """A point going round a fixed axis. The hinge's frame: origin in the centre, z along the axis, x to angle zero."""

    T_world_hinge: FloatArray
    """(4, 4), m, at angle zero."""
    radius_m: float
    angle_rad: FloatArray
    """(samples,) about z, unwrapped; NaN where the point was not seen."""
    rms_m: float
    """Root mean square distance from the circle."""
    radius_std_m: float
    direction_std_rad: float
    """Root mean square angle between this axis and the true one."""


def hinge_from_path(points_m: ArrayLike, *, points: ArrayLike | None = None) -> CirclePath:
    """Fit a circle in space to positions (samples, 3) of one point of the body, NaN where it was hidden.

    The sum of squared distances from the circle is minimised (geometric fit; Gander, Golub & Strebel 1994), with its
    plane free; it starts from the plane of the points and a linear fit in it. points: the side of the world to
    which z points; without it, the point goes round positively on the whole, seen from the first sample, at which the
    angle is zero. Raises `DataProblem` where the arc is too short to tell its centre.
    """
    path = np.asarray(points_m, dtype=float)
    seen = np.asarray(np.isfinite(path).all(axis=1))
    if seen.sum() < _FEWEST_OF_PATH:
        raise DataProblem("hinge", f"the point was seen in {seen.sum()} samples, at least {_FEWEST_OF_PATH} are needed")
    P = path[seen]
    axes, centre, radius = _refined(P, *_start(P))
    q = (P - centre) @ axes
    turned = np.unwrap(np.arctan2(q[:, 1], q[:, 0]))
    turned -= turned[0]
    groups, (J, off) = angle_groups(turned), _linearised(q, radius)
    cov = jackknife(J, off, groups)
    # x towards the point at angle zero, z to the stated side, or so that the point goes round positively
    z = axes[:, 2]
    flip = float(turned.sum()) < 0 if points is None else is_reversed(z, points, "hinge")
    angle = np.full(len(path), np.nan)
    angle[seen] = -turned if flip else turned
    result = CirclePath(
        T_world_hinge=transform(axes_of(P[0] - centre, -z if flip else z), centre),
        radius_m=radius,
        angle_rad=angle,
        rms_m=float(np.sqrt((off**2).sum(axis=1).mean())),
        radius_std_m=float(np.sqrt(cov[5, 5])),
        direction_std_rad=float(np.sqrt(cov[0, 0] + cov[1, 1])),
    )
    _refuse_vague_path(result, float(np.ptp(turned)), int(groups.max()) + 1)
    return result


def _start(P: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Axes (3, 3), the plane's normal last, centre, radius: Kasa's fit (Chernov, Circular and Linear Regression, 5)."""
    mean = P.mean(axis=0)
    _, spread, directions = np.linalg.svd(P - mean, full_matrices=False)
    if not spread[1] > 1e-9 * max(spread[0], 1e-300):
        raise DataProblem("hinge", "the path is a straight line", remedy=_FURTHER)
    axes = directions.T * np.linalg.det(directions)
    xy = (P - mean) @ axes[:, :2]
    square = (xy**2).sum(axis=1)
    x, y, rest = least_squares(np.column_stack([2 * xy, np.ones(len(xy))]), square)
    return axes, mean + axes[:, :2] @ [x, y], float(np.sqrt(x * x + y * y + rest))


def _refined(
    P: FloatArray, axes: FloatArray, centre: FloatArray, radius: float
) -> tuple[FloatArray, FloatArray, float]:
    """Gauss-Newton on the distances, from a start that is close."""
    for _ in range(100):
        slopes, off = _linearised((P - centre) @ axes, radius)
        step = least_squares(slopes.reshape(-1, 6), -off.ravel())
        normal = axes @ [step[1], -step[0], 1.0]
        centre, radius = centre + axes @ step[2:5], radius + float(step[5])
        axes = axes_of(axes[:, 0], normal / np.linalg.norm(normal))
        if np.abs(step / [1, 1, radius, radius, radius, radius]).max() < 1e-10:
            return axes, centre, radius
    raise DataProblem("hinge", "no circle fits the path, which is too short or nearly straight", remedy=_FURTHER)


def _linearised(q: FloatArray, radius: float) -> tuple[FloatArray, FloatArray]:
    """Distances (samples, 2) outside the circle and above its plane, and their derivatives (samples, 2, 6).

    q (samples, 3): points in the circle's frame. Unknowns: rotation of the frame about its x and y (rad), shift of the
    centre along x, y, z (m), growth of the radius (m). The derivatives are those at the nearest points of the circle:
    they give the same gradient, and noise does not pass for knowledge of the plane.
    """
    rho = np.hypot(q[:, 0], q[:, 1])
    x, y = (q[:, :2] / np.maximum(rho, 1e-300)[:, None]).T
    J = np.zeros((len(q), 2, 6))
    J[:, 0, 2], J[:, 0, 3], J[:, 0, 5] = -x, -y, -1.0
    J[:, 1, 0], J[:, 1, 1], J[:, 1, 4] = -radius * y, radius * x, -1.0
    return J, np.stack([rho - radius, q[:, 2]], axis=1)


def _refuse_vague_path(path: CirclePath, range_rad: float, angles: int) -> None:
    """Raise where the path does not tell a circle."""
    share = path.radius_std_m / path.radius_m
    if not path.rms_m < _ROUND * path.radius_m:
        reason = (
            f"the path is not a circle: the best fit has a radius of {path.radius_m:.3f} m and is off by "
            f"{1e3 * path.rms_m:.1f} mm (rms)"
        )
    elif range_rad < _SHORTEST_RAD:
        reason = (
            f"the arc of {np.degrees(range_rad):.1f} deg (radius {path.radius_m:.3f} m) is too short to tell its "
            f"centre, at least {np.degrees(_SHORTEST_RAD):g} deg are needed"
        )
    elif angles < _FEWEST_ANGLES_OF_ARC:
        reason = f"the point was seen at {angles} distinct angles only, at least {_FEWEST_ANGLES_OF_ARC} are needed"
    elif not (share < _LARGEST_STD and path.direction_std_rad < _LARGEST_STD):
        reason = (
            f"the arc of {np.degrees(range_rad):.0f} deg gives its radius to {100 * share:.0f} % and its axis to "
            f"{np.degrees(path.direction_std_rad):.1f} deg only (standard deviations)"
        )
    else:
        return
    raise DataProblem("hinge", reason, remedy=_FURTHER)


def angle_groups(angle_rad: FloatArray) -> NDArray[np.intp]:
    """(samples,) -> number of the group of each, from 0 on: even steps of the angle over its range, at most a turn."""
    start, end = float(angle_rad.min()), float(angle_rad.max())
    turn = np.mod(angle_rad - start, 2 * np.pi) if end - start > 2 * np.pi else angle_rad - start
    width = max(min(end - start, 2 * np.pi), 1e-12) / _ANGLE_GROUPS
    steps = np.minimum((turn / width).astype(np.intp), _ANGLE_GROUPS - 1)
    return np.unique(steps, return_inverse=True)[1]


def jackknife(J: FloatArray, residual: FloatArray, groups: NDArray[np.intp]) -> FloatArray:
    """Covariance (p, p) of the x that minimises |J x + residual|, taken at its minimum x = 0.

    J (samples, rows, p), residual (samples, rows). Infinite where the estimate hangs on one group.
    """
    p, count = J.shape[2], int(groups.max()) + 1
    H, s = np.empty((count, p, p)), np.empty((count, p))
    for g in range(count):
        rows = groups == g
        stacked = J[rows].reshape(-1, p)
        H[g], s[g] = stacked.T @ stacked, stacked.T @ residual[rows].ravel()
    scale = np.sqrt(np.maximum(np.diag(H.sum(axis=0)), 1e-300))
    without = (H.sum(axis=0) - H) / np.outer(scale, scale)
    if count < 2 or not float(np.linalg.cond(without).max()) < 1e12:
        return np.full((p, p), np.inf)
    change = np.asarray(np.linalg.solve(without, (s / scale)[:, :, None])[:, :, 0] / scale, dtype=float)
    return (count - 1) / count * change.T @ change


_SHORTEST_M = 0.02
"""Of a travel that tells a direction."""
_STRAIGHTEST = 5.0
"""A travel must be so many times as long as what is off the line (rms)."""
_PITCH_OFF = 0.05
"""Share of a pitch by which a stated one may differ from what the motion shows."""
_TURN_RAD = np.radians(2.0)
"""What slides may turn by that much (rms): more is no slide."""


@dataclass(frozen=True, slots=True, eq=False)
class JointFrame:
    """Where a joint sits."""

    kind: Literal["turn", "slide", "pivot"]
    T_body_frame: FloatArray
    """(4, 4), m: the joint's frame on the body."""
    T_world_frame: FloatArray
    """(4, 4), m: the same in the world at position zero."""
    hinge: HingeAxis | None = None
    """Where it is a hinge: how well it is known."""
    pitch: float = 0.0
    """Where it is a screw: its way along z per angle as the motion shows it, m/rad, ..."""
    pitch_std: float = 0.0
    stated_pitch: float | None = None
    """... and as the experiment file has it."""

    def poses(self, body: Poses) -> Poses:
        """Of the frame on the body, seen from the frame in the world; body: poses of the body in the world."""
        there = body.attached(self.T_body_frame)
        R, r = self.T_world_frame[:3, :3], self.T_world_frame[:3, 3]
        return Poses(there.times_s, R.T @ there.rotation, (there.position - r) @ R)


def joint_of_hinge(hinge: HingeAxis) -> JointFrame:
    """The frame of a hinge."""
    return JointFrame("turn", hinge.T_body_hinge, hinge.T_world_hinge, hinge)


def check_joint(joint: JointFrame, body: Poses) -> tuple[Finding, ...]:
    """Whether the body really moves as the joint says."""
    if joint.hinge is None:
        return ()
    moved = hinge_motion(body, joint.hinge)
    if not joint.pitch:
        return check_hinge(moved)
    z = joint.T_world_frame[:3, 2]
    start = float((joint.T_world_frame[:3, 3] - joint.hinge.T_world_hinge[:3, 3]) @ z)
    travel = start + joint.pitch * moved.angle_rad
    findings = check_hinge(replace(moved, slide_m=moved.slide_m - travel[:, None] * [0.0, 0.0, 1.0]))
    stated = joint.stated_pitch
    if stated is None or abs(stated - joint.pitch) < max(4 * joint.pitch_std, _PITCH_OFF * abs(joint.pitch)):
        return findings
    turn = 2e3 * np.pi
    evidence = f"the markers travel {turn * joint.pitch:.3g} mm in a turn, the file states {turn * stated:.3g} mm"
    remedy = "leave the pitch out: the motion shows it"
    return (*findings, Finding("pitch", evidence, "mechanism.pitch", remedy, Severity.FATAL))


def slide_from_motion(
    poses: Poses,
    *,
    near: ArrayLike = (0.0, 0.0, 0.0),
    axis: Sequence[float] = (1.0, 0.0, 0.0),
    shut: BoolArray | None = None,
    what: str = "slide",
) -> JointFrame:
    """The line along which a body slides, from its motion: the first principal axis of the path of one of its points.

    near: that point (m, in the body's frame), which becomes the origin. axis: which axis of the joint's frame is along
    the line. shut (frames,): where the body is shut; from there, or else from the first frame, it moves positively on
    the whole, as a drawer that opens.
    """
    seen = poses.seen
    if seen.sum() < 10:
        raise DataProblem(what, f"the body was seen in {seen.sum()} frames, no line can be known from them")
    R, anchor = poses.rotation[seen], np.asarray(near, dtype=float)
    path = poses.position[seen] + R @ anchor
    away = path - path[0]
    _, _, Vt = np.linalg.svd(away - away.mean(axis=0), full_matrices=False)
    closed = away[:1] if shut is None or not shut[seen].any() else away[shut[seen]]
    u = -Vt[0] if float((away.mean(axis=0) - closed.mean(axis=0)) @ Vt[0]) < 0 else Vt[0]
    along = away @ u
    off = float(np.sqrt(((away - away.mean(axis=0)) @ Vt[1:].T).var(axis=0).sum()))
    mean = nearest_rotation(R.mean(axis=0), what="mean rotation")
    cosine = np.clip((np.einsum("nij,ij->n", R, mean) - 1) / 2, -1.0, 1.0)
    turn = float(np.sqrt(np.mean(np.arccos(np.asarray(cosine, dtype=float)) ** 2)))
    if np.ptp(along) < max(_SHORTEST_M, _STRAIGHTEST * off) or turn > _TURN_RAD:
        raise DataProblem(
            what,
            f"the body travels {1e3 * np.ptp(along):.0f} mm along its line, {1e3 * off:.1f} mm off it (rms), and turns "
            f"by {np.degrees(turn):.1f} deg (rms): it does not slide along one line",
            remedy="choose frames in which it slides through its travel, and check the markers",
        )
    # the frame's axis along the line; the other two anyhow
    local = np.asarray(axis, dtype=float)
    R_frame = np.column_stack([u, across(u)]) @ np.column_stack([local, across(local)]).T
    return JointFrame("slide", transform(mean.T @ R_frame, anchor), transform(R_frame, path[0]))


@dataclass(frozen=True, slots=True, eq=False)
class PathOfPoint:
    """The coordinate of a body with one freedom, from the path of one of its points."""

    coordinate: FloatArray
    """(samples,): angle about the circle's axis (rad), or way along the line (m); NaN where the point was hidden."""
    effort: FloatArray
    """(samples,): what the force at the point does along it, N m or N."""
    words: str
    """How well the path fits."""


def coordinate_of_path(path_m: FloatArray, force: FloatArray, unit: str, *, turning: bool = False) -> PathOfPoint:
    """Along the circle (unit "rad") or the line ("m") that a point describes; path and force (samples, 3), m and N.

    turning: the force's axes turn with the object, from those of the path where that is first seen.
    """
    if unit == "rad":
        circle = hinge_from_path(path_m)
        origin, z = circle.T_world_hinge[:3, 3], circle.T_world_hinge[:3, 2]
        if turning:
            angle = circle.angle_rad - circle.angle_rad[np.isfinite(circle.angle_rad)][0]
            force = np.einsum("nij,nj->ni", exp_rotation(angle[:, None] * z), force)
        words = (
            f"the hinge comes from the path of the point: radius {circle.radius_m:.4f} m "
            f"(+- {1.96 * circle.radius_std_m:.4f}), {1e3 * circle.rms_m:.1f} mm off the circle on average"
        )
        return PathOfPoint(circle.angle_rad, np.cross(path_m - origin, force) @ z, words)
    seen = np.asarray(np.isfinite(path_m).all(axis=1))
    upright = np.broadcast_to(np.eye(3), (len(path_m), 3, 3))
    rotation = np.where(seen[:, None, None], upright, np.nan)
    joint = slide_from_motion(Poses(np.arange(len(path_m), dtype=float), rotation, path_m), what="path")
    u = joint.T_world_frame[:3, 0]
    along = (path_m - joint.T_world_frame[:3, 3]) @ u
    off = path_m[seen] - joint.T_world_frame[:3, 3] - np.outer(along[seen], u)
    words = (
        f"the line comes from the path of the point: {1e3 * np.ptp(along[seen]):.0f} mm of travel, "
        f"{1e3 * float(np.sqrt(off.var(axis=0).sum())):.1f} mm off it on average"
    )
    return PathOfPoint(along, force @ u, words)
