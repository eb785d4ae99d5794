"""Poses as robots and trackers write them: orientations in their usual forms, jumps that no body makes, and noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from palpate.errors import DataProblem
from palpate.motion.derivatives import signal_noise, window_samples
from palpate.physics.arrays import BoolArray, FloatArray, rate_hz, runs
from palpate.physics.motion import (
    Poses,
    continuous_quaternions,
    exp_rotation,
    log_rotation,
    quaternion_from_rotation,
    rotation_from_quaternion,
)

UNIT_OFF, UNUSABLE_SHARE = 0.05, 0.02
"""By how much a quaternion's length or a matrix may be off unity as by rounding; share of rows that may be worse."""
STEP_M, STEP_RAD = 1e-3, float(np.radians(0.2))
JERK_M, JERK_RAD = 500.0, 5000.0
"""m/s3, rad/s3: what hands, stops and knocks do between two samples is no jump."""
LOUD = 10.0
"""A jump beside the median of what second differences do."""
AWAY_S = 0.5
"""A pose that is back by then was only away."""
NOISE_WINDOW_S, ORDER = 0.11, 4


def rotations_of(x: FloatArray, stored: str) -> FloatArray:
    """R_world_frame (samples, 3, 3) of numbers (samples, 3, 4 or 9) as stored; rad; NaN where they are no rotation.

    wxyz, xyzw: a quaternion of any sign; rotation-vector: axis times angle; euler-zyx: R = Rz(a) Ry(b) Rx(c); matrix:
    row by row (forms and formulas: Diebel 2006). Raises `DataProblem` where many rows are none: other numbers.
    """
    seen: BoolArray = np.asarray(np.isfinite(x).all(axis=1))
    R = np.full((len(x), 3, 3), np.nan)
    if stored in ("wxyz", "xyzw"):
        length = np.linalg.norm(x, axis=1)
        good = seen & (np.abs(length - 1) < UNIT_OFF)
        zero = seen & (length < 1e-9)  # how programs write that they know no orientation
        _refuse_others(seen & ~zero, good, "quaternions of length one", length)
        R[good] = rotation_from_quaternion(x[good] if stored == "wxyz" else x[good][:, [3, 0, 1, 2]])
    elif stored == "matrix":
        m = x.reshape(-1, 3, 3)
        off = np.abs(m @ m.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
        good = seen & (off < UNIT_OFF) & (np.linalg.det(np.where(seen[:, None, None], m, np.eye(3))) > 0)
        _refuse_others(seen, good, "rotation matrices, whose R R' is unity", off)
        U, _, Vt = np.linalg.svd(m[good])
        R[good] = U @ Vt
    elif stored == "rotation-vector":
        R[seen] = exp_rotation(x[seen])
    else:
        turns = (exp_rotation(np.outer(x[seen, i], np.eye(3)[axis])) for i, axis in enumerate((2, 1, 0)))
        a, b, c = turns
        R[seen] = a @ b @ c
    return R


def _refuse_others(seen: BoolArray, good: BoolArray, what: str, size: FloatArray) -> None:
    wrong = int((seen & ~good).sum())
    if wrong > UNUSABLE_SHARE * max(int(seen.sum()), 1):
        raise DataProblem(
            "orientation",
            f"{wrong} of {int(seen.sum())} rows are no {what} (a usual one: {float(np.median(size[seen])):.3g})",
            remedy="check which channels they are, and their unit",
        )


@dataclass(frozen=True, slots=True)
class Jump:
    """A step of the poses that no body makes."""

    begin_s: float
    end_s: float
    move_m: float
    turn_rad: float
    back: bool
    """Whether the poses were only away, and came back."""

    @property
    def size(self) -> str:
        """In words."""
        return f"{1e3 * self.move_m:.3g} mm and {np.degrees(self.turn_rad):.2g} deg"


def without_jumps(poses: Poses) -> tuple[Poses, list[Jump]]:
    """The poses without those that were away for a moment, and all jumps, in the order of time.

    A body's steps change little from one to the next: a step beside the mean of its neighbours is a third difference,
    at most the jerk over three samples. Steps that are no longer than their neighbours are a knock at a stop.
    """
    found: list[tuple[int, int, FloatArray, FloatArray]] = []
    dt = 1 / rate_hz(poses.times_s)
    limits = (STEP_M + 0.5 * JERK_M * dt**3, STEP_RAD + 0.5 * JERK_RAD * dt**3)
    for a, b in runs(poses.seen):
        if b - a < 6:
            continue
        R = poses.rotation[a:b]
        steps = np.diff(poses.position[a:b], axis=0), log_rotation(R[:-1].transpose(0, 2, 1) @ R[1:])
        loud = np.zeros(len(steps[0]), dtype=bool)
        for step, limit in zip(steps, limits, strict=True):
            beside = np.linalg.norm(step[1:-1] - (step[:-2] + step[2:]) / 2, axis=1)
            loud[1:-1] |= beside > max(limit, LOUD * float(np.median(beside)))
        for first, stop in runs(_joined(loud)):
            outside = [np.stack([s[max(first - 1, 0)], s[min(stop, len(s) - 1)]]) for s in steps]
            own = [s[first:stop] for s in steps]
            sizes = [(np.linalg.norm(x, axis=1).max() for x in pair) for pair in zip(own, outside, strict=True)]
            if any(one > 2 * other + limit for (one, other), limit in zip(sizes, limits, strict=True)):
                net = [x.sum(axis=0) - len(x) * o.mean(axis=0) for x, o in zip(own, outside, strict=True)]
                found.append((a + first, a + stop, net[0], net[1]))
    jumps, away = list[Jump](), np.zeros(len(poses), dtype=bool)
    k = 0
    while k < len(found):
        first, last, move, turn = found[k]
        while not _small(move, turn, limits) and k + 1 < len(found):  # away for longer: there and back are two
            if poses.times_s[found[k + 1][0]] - poses.times_s[first] > AWAY_S:
                break
            k += 1
            last, move, turn = found[k][1], move + found[k][2], turn + found[k][3]
        back = _small(move, turn, limits)
        if back:
            away[first + 1 : last] = True
        part = slice(first, last + 1)
        far = poses.position[part] - poses.position[first]
        turned = log_rotation(poses.rotation[first].T @ poses.rotation[part])
        sizes = (
            (np.nanmax(np.linalg.norm(x, axis=1)) for x in (far, turned)) if back else map(np.linalg.norm, (move, turn))
        )
        size, angle = (float(x) for x in sizes)
        jumps.append(Jump(float(poses.times_s[first]), float(poses.times_s[last]), size, angle, back))
        k += 1
    if not away.any():
        return poses, jumps
    rotation = np.where(away[:, None, None], np.nan, poses.rotation)
    return replace(poses, rotation=rotation, position=np.where(away[:, None], np.nan, poses.position)), jumps


def _joined(mask: BoolArray) -> BoolArray:
    """With what lies between two samples that are two apart."""
    joined = mask.copy()
    joined[1:-1] |= mask[:-2] & mask[2:]
    return joined


def _small(move: FloatArray, turn: FloatArray, limits: tuple[float, float]) -> bool:
    return float(np.linalg.norm(move)) < 2 * limits[0] and float(np.linalg.norm(turn)) < 2 * limits[1]


def pose_noise(poses: Poses) -> tuple[float, float]:
    """White noise of poses as `frames.pose_std` has it: tilt of an axis (rad), place of the origin (m), both RMS.

    A quaternion has half the rotation's noise.
    """
    rate, seen = rate_hz(poses.times_s), poses.seen
    window = window_samples(max(NOISE_WINDOW_S, (ORDER + 3) / rate), rate, ORDER)
    q = np.full((len(poses), 4), np.nan)
    q[seen] = continuous_quaternions(quaternion_from_rotation(poses.rotation[seen]))
    turn, place = (
        [signal_noise(x, window, ORDER) for x in np.where(seen[:, None], y, np.nan).T] for y in (q, poses.position)
    )
    # four components share the noise of three directions; a tilt is two of them
    return float(2 * np.linalg.norm(turn) * np.sqrt(2 / 3)), float(np.linalg.norm(place))
