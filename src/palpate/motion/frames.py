"""Frames from marker roles: which markers say where the sensor, the hinge and the axle are in the body.

A role is a declaration and names markers. Its frame is computed once, in the reference cloud; poses of the cloud then
carry it along (`Poses.attached`), so that a sensor has a pose although its own markers are hidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from palpate.errors import DataProblem, UnknownName
from palpate.motion.axes import axes_of, is_reversed, sine
from palpate.physics.arrays import FloatArray
from palpate.physics.poses import Poses
from palpate.physics.spatial import nearest_rotation, transform

_FLATTEST = 0.1
"""Smallest sine between two directions that may span a plane: below it, noise is turned ten times as far."""
_THICKEST = 0.2
"""Largest ratio of the width to the length of a group of markers that passes as a line."""
UP = (0.0, 0.0, 1.0)


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
