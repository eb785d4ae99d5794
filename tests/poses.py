"""Poses for tests: a body that turns about a hinge, a sensor's own three markers, and how far two frames are apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from palpate.errors import DataProblem
from palpate.motion.frames import sensor_frame
from palpate.motion.wheels import RollingMotion
from palpate.physics.motion import Poses

Array = NDArray[np.float64]


def hinge_poses(T_world_hinge: Array, times_s: Array, angle_rad: Array) -> Poses:
    """The hinge's frame as it turns with the body: T_world_hinge Rz(angle)."""
    cos, sin = np.cos(angle_rad), np.sin(angle_rad)
    zero, one = np.zeros_like(cos), np.ones_like(cos)
    turn = np.stack([cos, -sin, zero, sin, cos, zero, zero, zero, one], axis=1).reshape(-1, 3, 3)
    position = np.where(np.isfinite(angle_rad)[:, None], T_world_hinge[:3, 3], np.nan)
    return Poses(times_s, T_world_hinge[:3, :3] @ turn, position)


def measured_sensor_poses(times_s: Array, points: Array, T_marker: ArrayLike) -> Poses:
    """The sensor straight from its own three markers, points (frames, 3, 3); NaN where they do not tell it."""
    T = np.full((len(points), 4, 4), np.nan)
    for k, corners in enumerate(points):
        try:
            T[k] = sensor_frame(*corners, T_marker)
        except DataProblem:
            continue
    return Poses(times_s, T[:, :3, :3].copy(), T[:, :3, 3].copy())


def pose_difference(a: Poses, b: Poses) -> tuple[Array, Array]:
    """Angle (rad) and distance (m) between two frames; NaN where one of them was not seen."""
    angle = np.full(len(a), np.nan)
    both = a.seen & b.seen
    R = a.rotation[both].transpose(0, 2, 1) @ b.rotation[both]
    angle[both] = Rotation.from_matrix(R).magnitude()
    return angle, np.linalg.norm(a.position - b.position, axis=1)


def heading(motion: RollingMotion) -> Array:
    """(samples, 3, 3): axes of the contact of a wheel on a level floor, x ahead, z up."""
    return Rotation.from_rotvec(motion.yaw_rad[:, None] * [0, 0, 1]).as_matrix()
