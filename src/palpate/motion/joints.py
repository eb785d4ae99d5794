"""Joints that turn and travel, or turn about a point: what the motion of a body says about them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from palpate.errors import DataProblem
from palpate.motion.frames import JointFrame, angle_groups, hinge_motion, jackknife
from palpate.physics.arrays import least_squares
from palpate.physics.motion import Poses, transform


def screw_of_hinge(joint: JointFrame, body: Poses, stated: float | None) -> JointFrame:
    """A hinge along which the body travels as it turns, with its pitch, m/rad: the slope of the way over the angle.

    stated: the pitch as it is known otherwise, which counts then. Raises `DataProblem` where no motion tells it.
    """
    assert joint.hinge is not None
    moved = hinge_motion(body, joint.hinge)
    seen = np.isfinite(moved.angle_rad)
    angle, way = moved.angle_rad[seen], moved.slide_m[seen, 2]
    J = np.stack([np.ones_like(angle), angle], axis=1)
    start, pitch = (float(x) for x in least_squares(J, way))
    std = float(np.sqrt(jackknife(-J[:, None, :], (way - J @ [start, pitch])[:, None], angle_groups(angle))[1, 1]))
    if stated is None and not std < max(_VAGUE * abs(pitch), _FINEST):
        wrong = f"the markers show the pitch as {1e3 * pitch:.3g} +- {1e3 * std:.2g} mm/rad only"
        raise DataProblem("screw", wrong, remedy="turn it further, or state mechanism: {pitch: 2 mm/turn}")
    R, r = joint.T_world_frame[:3, :3], joint.T_world_frame[:3, 3]
    there = transform(R, r + start * R[:, 2])
    return replace(joint, T_world_frame=there, pitch=pitch, pitch_std=std, stated_pitch=stated)


_VAGUE, _FINEST = 0.05, 2e-5
"""Standard deviation of a pitch over itself, and in m/rad, from which it must be stated."""
