"""The frame of a joint in the capture: of a hinge about which the body turns, or of a line along which it slides.

The frame is fixed to the body and, at position zero, the same in the world.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.errors import DataProblem
from palpate.findings import Finding
from palpate.motion.frames.hinge import HingeAxis, check_hinge, hinge_from_path, hinge_motion
from palpate.motion.frames.roles import across, is_reversed
from palpate.physics.arrays import FloatArray
from palpate.physics.poses import Poses
from palpate.physics.spatial import nearest_rotation, transform

_SHORTEST_M = 0.02
"""Of a travel that tells a direction."""
_STRAIGHT = 5.0
"""A travel must be so many times as long as what is off the line (rms)."""
_TURN_RAD = np.radians(2.0)
"""What slides may turn by that much (rms): more is no slide."""
_FEWEST = 10


@dataclass(frozen=True, slots=True, eq=False)
class JointFrame:
    """Where a joint of one freedom sits."""

    kind: Literal["turn", "slide"]
    T_body_frame: FloatArray
    """(4, 4), m: the joint's frame on the body."""
    T_world_frame: FloatArray
    """(4, 4), m: the same in the world at position zero."""
    hinge: HingeAxis | None = None
    """How a hinge was found."""

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
    return () if joint.hinge is None else check_hinge(hinge_motion(body, joint.hinge))


def slide_from_motion(
    poses: Poses,
    *,
    near: ArrayLike = (0.0, 0.0, 0.0),
    axis: Sequence[float] = (1.0, 0.0, 0.0),
    points: ArrayLike | None = None,
    what: str = "slide",
) -> JointFrame:
    """The line along which a body slides, from its motion: the first principal axis of the path of one of its points.

    near: that point (m, in the body's frame), which becomes the origin. axis: which axis of the joint's frame is along
    the line. points: the side of the world to which the position counts positive; without it, the body moves
    positively on the whole, seen from the first frame, as a drawer that opens.
    """
    seen = poses.seen
    if seen.sum() < _FEWEST:
        raise DataProblem(what, f"the body was seen in {seen.sum()} frames, no line can be known from them")
    R, anchor = poses.rotation[seen], np.asarray(near, dtype=float)
    path = poses.position[seen] + R @ anchor
    away = path - path[0]
    _, _, Vt = np.linalg.svd(away - away.mean(axis=0), full_matrices=False)
    u = Vt[0]
    if float((away @ u).sum()) < 0 if points is None else is_reversed(u, points, what):
        u = -u
    along = away @ u
    off = float(np.sqrt(((away - away.mean(axis=0)) @ Vt[1:].T).var(axis=0).sum()))
    mean = nearest_rotation(R.mean(axis=0), what="mean rotation")
    cosine = np.clip((np.einsum("nij,ij->n", R, mean) - 1) / 2, -1.0, 1.0)
    turn = float(np.sqrt(np.mean(np.arccos(np.asarray(cosine, dtype=float)) ** 2)))
    if np.ptp(along) < max(_SHORTEST_M, _STRAIGHT * off) or turn > _TURN_RAD:
        raise DataProblem(
            what,
            f"the body travels {1e3 * np.ptp(along):.0f} mm along its line, {1e3 * off:.1f} mm off it (rms), and turns "
            f"by {np.degrees(turn):.1f} deg (rms): it does not slide along one line",
            remedy="choose frames in which it slides through its travel, and check the markers",
        )
    # the frame's own axis along the line; the other two anyhow
    local = np.asarray(axis, dtype=float)
    R_frame = np.column_stack([u, across(u)]) @ np.column_stack([local, across(local)]).T
    if np.linalg.det(R_frame) < 0:
        side = across(u)[:, ::-1]
        R_frame = np.column_stack([u, side]) @ np.column_stack([local, across(local)]).T
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


def coordinate_of_path(path_m: FloatArray, force: FloatArray, unit: str) -> PathOfPoint:
    """Along the circle (unit "rad") or the line ("m") that a point describes; path and force (samples, 3), m and N."""
    if unit == "rad":
        circle = hinge_from_path(path_m)
        origin, z = circle.T_world_hinge[:3, 3], circle.T_world_hinge[:3, 2]
        words = (
            f"the hinge is found from the path of the point: radius {circle.radius_m:.4f} m "
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
        f"the line is found from the path of the point: {1e3 * np.ptp(along[seen]):.0f} mm of travel, "
        f"{1e3 * float(np.sqrt(off.var(axis=0).sum())):.1f} mm off it on average"
    )
    return PathOfPoint(along, force @ u, words)
