"""Joints that turn and travel, or turn about a point: what the motion of a body says about them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from palpate.errors import DataProblem
from palpate.findings import Finding
from palpate.motion.frames import JointFrame, across, angle_groups, axes_of, hinge_motion, jackknife
from palpate.physics.arrays import BoolArray, FloatArray, least_squares
from palpate.physics.motion import Poses, nearest_rotation, transform


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
_PIECES = 12
"""Pieces of a recording that count as one witness each."""
_LOOSEST_M = 0.02
"""Standard deviation of a centre that is none."""
_LEAST_TURN = 0.02
"""Rad, RMS: so far the body must turn about any two axes; less is noise of the poses."""
_WANDERS_M = 0.005
"""RMS by which a centre may move in the world before that is said."""
_OFF_RAD = np.radians(2.0)
"""RMS by which two axes may be off a right angle, and ..."""
_VAGUE_RAD = np.radians(15.0)
"""... standard deviation of their direction that is none."""
_THIRD = "what turns in a third way too is on a ball joint (type: ball)"
_ROUNDS, _STARTS, _SOME, _SETTLED = 50, 6, 500, 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Pivot:
    """A point about which a body turns; of two axes that cross there also how they stand."""

    frame: JointFrame
    std_m: float
    """How well the point is known, in each direction."""
    off_m: float
    """RMS distance of the body's point from the world's."""
    axes_std_rad: float = 0.0
    """How well the direction of both axes is known, about what is across them."""
    off_rad: float = 0.0
    """RMS angle by which they are off a right angle."""

    def findings(self) -> tuple[Finding, ...]:
        """Whether the body really turns about it."""
        found: list[Finding] = []
        if self.off_m > _WANDERS_M:
            evidence = f"the point about which the body turns moves by {1e3 * self.off_m:.1f} mm (rms)"
            remedy = "check the markers, and that what it hangs on stands still"
            found.append(Finding("centre", evidence, remedy=remedy))
        if self.off_rad > _OFF_RAD:
            evidence = f"the two axes of the joint are off a right angle by {np.degrees(self.off_rad):.1f} deg (rms)"
            found.append(Finding("crossing", evidence, remedy=_THIRD))
        return tuple(found)


def centre_of_rotation(poses: Poses, *, slow_m: float = 0.0) -> tuple[FloatArray, FloatArray, float, float]:
    """The point that moves least: (in the body, in the world), its standard deviation in each direction, and the RMS of
    what it moves, m.

    c_body and c_world minimise the sum of |R c_body + r - c_world|^2 (Ehrig et al. 2006, J. Biomechanics 39:2798, with
    the one segment at rest). slow_m: an error of the poses, in all directions, that leaves no scatter. Raises
    `DataProblem` where the body turns too little, or about one axis only, which it shares with a hinge.
    """
    seen = poses.seen
    R, r = poses.rotation[seen], poses.position[seen]
    if len(R) < 2 * _PIECES:
        raise DataProblem("centre", f"the body was seen in {len(R)} frames, no centre can be known from them")
    J = np.empty((len(R), 3, 6))
    J[:, :, :3], J[:, :, 3:] = R, -np.eye(3)
    both = least_squares(J.reshape(-1, 6), -r.ravel())
    off = np.einsum("nij,j->ni", J, both) + r
    pieces = (np.arange(len(R)) * _PIECES // len(R)).astype(np.intp)
    cov = jackknife(J, off, pieces)
    size = np.linalg.svd(J.reshape(-1, 6) / np.sqrt(len(R)), compute_uv=False)[-1]  # how far it turns about any axis
    std = float(np.sqrt((np.trace(cov[:3, :3]) + (slow_m / max(float(size), 1e-12)) ** 2) / 3))
    if not (std < _LOOSEST_M and size > _LEAST_TURN):
        known = f"to {1e3 * std:.0f} mm only" if np.isfinite(std) and size > _LEAST_TURN else "not at all"
        wrong = f"the point about which the body turns is known {known}"
        raise DataProblem("centre", wrong, remedy="turn it further, and about more than one axis")
    return both[:3], both[3:], std, float(np.sqrt((off**2).sum(axis=1).mean()))


def crossing_axes(poses: Poses) -> tuple[FloatArray, FloatArray, float, float]:
    """Of a universal joint: its first axis in the world and its second in the body, how well both are known, and by how
    much they are off a right angle, rad.

    They minimise the sum of (w . R b)^2 (Laidig, Mueller & Seel 2017, ICORR), which is zero for two axes at right
    angles, by Gauss-Newton from starts in the plane of both, which small turns tell; larger ones tell the rest.
    """
    R = poses.rotation[poses.seen]
    turned = np.einsum("ij,nkj->nik", R[0], R)  # from each frame to the first
    vectors = np.stack([turned[:, j, i] - turned[:, i, j] for i, j in ((1, 2), (2, 0), (0, 1))], axis=1)
    plane = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)[2]
    some = R[:: max(1, len(R) // _SOME)]
    starts = [np.cos(x) * plane[0] + np.sin(x) * plane[1] for x in np.pi * np.arange(_STARTS) / _STARTS]
    found = [_crossed(some, w, R[0].T @ np.cross(plane[2], w)) for w in starts]
    w, b = _crossed(R, *min(found, key=lambda axes: float(np.square(_crossing(some, *axes)[0]).sum())))
    off, J, _ = _crossing(R, w, b)
    cov = jackknife(J[:, None, :], off[:, None], (np.arange(len(R)) * _PIECES // len(R)).astype(np.intp))
    std = float(np.sqrt(np.trace(cov) / 4))
    if not std < _VAGUE_RAD:
        known = f"to {np.degrees(std):.0f} deg only" if np.isfinite(std) else "not at all"
        raise DataProblem(
            "axes", f"the two axes are known {known}", remedy=f"tilt it further, about both at once; {_THIRD}"
        )
    return w, b, std, float(np.sqrt(np.mean(off**2)))


def _crossing(
    R: FloatArray, w: FloatArray, b: FloatArray
) -> tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
    """w . R b (samples,), its slopes (samples, 4) as w and b go across themselves, and those directions."""
    sides = across(w), across(b)
    there, back = (R.reshape(-1, 3) @ b).reshape(-1, 3), np.einsum("nij,i->nj", R, w)
    return there @ w, np.hstack([there @ sides[0], back @ sides[1]]), sides


def _crossed(R: FloatArray, w: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Axes that cross at right angles as well as they can, from others."""
    for _ in range(_ROUNDS):
        off, J, (side_w, side_b) = _crossing(R, w, b)
        step = least_squares(J, -off)
        w, b = w + side_w @ step[:2], b + side_b @ step[2:]
        w, b = w / np.linalg.norm(w), b / np.linalg.norm(b)
        if float(np.abs(step).max()) < _SETTLED:
            break
    return w, b


def pivot_from_motion(poses: Poses, up: FloatArray, still: BoolArray, kind: str, *, slow_m: float = 0.0) -> Pivot:
    """Where a body turns about a point (kind "point"), or about two axes ("axes"); up: of the world.

    The frame is that of the body where it rests (still, frames), else where it is first seen: of a point with z up and
    x along the world's, of two axes with x along the first and y along the second.
    """
    c_body, c_world, std, off = centre_of_rotation(poses, slow_m=slow_m)
    at = poses.seen & still
    first = int(np.flatnonzero(at if at.any() else poses.seen)[0])
    R = nearest_rotation(poses.rotation[at].mean(axis=0), what="rest") if at.any() else poses.rotation[first]
    if kind == "point":
        R_world, known = axes_of(np.array([1.0, 0.0, 0.0]), up), (0.0, 0.0)
        frame = transform(R.T @ R_world, c_body)
    else:
        w, b, *known = crossing_axes(poses)
        w = w * np.sign(w[np.abs(w).argmax()])
        y = R @ b if float(np.cross(w, R @ b) @ up) > 0 else -R @ b  # z points up, as far as it can
        R_world = axes_of(w - (w @ y) * y, np.cross(w, y) / np.linalg.norm(np.cross(w, y)))
        frame = transform(R.T @ R_world, c_body)
    joint = JointFrame("pivot", frame, transform(R_world, c_world))
    return Pivot(joint, std, off, *known)
