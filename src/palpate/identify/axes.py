"""Axes first: whether the load cell and the motion agree on which way x, y and z point.

Whatever the body, its force follows the acceleration with the mass and its moment with the first moments of mass:
f = m a + ..., n = h x a + ... A free regression shows these two 3 x 3 matrices as the data have them. Anything but
m 1 and a skew matrix is a turned, swapped or mirrored axis.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from palpate.identify.compression import Compressed
from palpate.physics.arrays import FloatArray, symmetric_inverse
from palpate.physics.functions import FLOATS
from palpate.physics.kinematics import Kinematics
from palpate.physics.spatial import nearest_rotation

TURNED_DEG = 3.0
"""A load cell's cross-talk of a few percent looks like a degree or two."""
MISMATCH = 3.0
"""A lever arm that is off by the way to the centre of mass looks like a factor of two."""
_CLEAR = 0.5
"""A signed permutation is believed when it leaves less than this share of what the stated axes leave."""
_STILL = Kinematics((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), {})


def axis_problems(compressed: Compressed) -> tuple[str, ...]:
    """What the load cell's axes are against the IMU's, in words; empty where they agree or the data do not tell."""
    answer = _followed(compressed)
    if answer is None:
        return ()
    M, N, std_M, std_N = answer
    return _force_problem(M, std_M) or _moment_problem(N, std_N)


def _followed(compressed: Compressed) -> tuple[FloatArray, FloatArray, float, float] | None:
    """d force / d acceleration, d moment / d acceleration, and the standard deviation of their entries."""
    regression = _regression(compressed)
    if regression is None:
        return None
    B, inverse, left, at = regression
    spread = float(np.sqrt(max(np.diag(inverse)[at : at + 3].max(), 0.0)))
    force, moment = (spread * float(np.sqrt(max(left[rows].max(), 0.0))) for rows in (slice(0, 3), slice(3, 6)))
    return B[at : at + 3, :3].T, B[at : at + 3, 3:].T, force, moment


def _regression(compressed: Compressed) -> tuple[FloatArray, FloatArray, FloatArray, int] | None:
    """Free coefficients (features, 6) of the wrench on all features, their covariance for noise of size one, the mean
    square that is left of each row, and where the body's features begin. Nothing is assumed about the body.
    """
    model = compressed.model
    if compressed.roots.shape[1] != 1 or len(compressed.weights) != 6:
        return None
    at = 0
    for element in model.elements:
        if any(p.map == "inertia" for p in element.parameters):
            break
        at += len(element.features(_STILL, {}, FLOATS))
    else:
        return None
    stacked = compressed.roots[:, 0].reshape(-1, compressed.roots.shape[3])
    gram, k = stacked.T @ stacked, compressed.roots.shape[3] - 6
    inverse = symmetric_inverse(gram[:k, :k])
    B = inverse @ gram[:k, k:]
    left = np.diag(gram[k:, k:] - B.T @ gram[:k, k:]) / max(float(compressed.samples.sum()), 1.0)
    return B, inverse, np.asarray(left, dtype=float), at


def _force_problem(M: FloatArray, std: float) -> tuple[str, ...]:
    """M = m 1 where the axes agree; m P with a signed permutation where they are swapped; m R where they are turned."""
    size = float(np.linalg.norm(M) / np.sqrt(3))
    if size < 20 * std:
        return ()
    P = min(_PERMUTATIONS, key=lambda Q: float(np.linalg.norm(M / size - Q)))
    if np.array_equal(P, -np.eye(3)):
        return ()  # minus one: the wrench's sign, which the mass tells
    off = float(np.linalg.norm(M / size - np.eye(3)))
    if not np.array_equal(P, np.eye(3)) and float(np.linalg.norm(M / size - P)) < _CLEAR * off:
        kind = "turned" if np.linalg.det(P) > 0 else "mirrored (left-handed)"
        return (
            f"the load cell's forces follow other axes of the IMU: {_told(P, 'f', 'a')}; the axes are {kind} against "
            "each other: check the order and signs of the channels, and imu_pose.rotation",
        )
    if np.linalg.det(M) <= 0:
        return ()
    R = nearest_rotation(M / size, tolerance=np.inf)
    angle = float(np.degrees(np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1))))
    if angle > max(TURNED_DEG, np.degrees(10 * std / size)) and float(np.linalg.norm(M / size - R)) < _CLEAR * off:
        axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        axis = np.round(axis / max(float(np.linalg.norm(axis)), 1e-300), 1) + 0.0  # no minus zero
        return (
            f"the load cell's forces follow the IMU's accelerations turned by {angle:.0f} deg about "
            f"({axis[0]:g}, {axis[1]:g}, {axis[2]:g}): check imu_pose.rotation",
        )
    return ()


def scale_problems(compressed: Compressed) -> tuple[str, ...]:
    """Forces and moments whose units do not fit together.

    The first moments of mass stand in the forces, f = ... - h x omega_dot, and in the moments, n = h x a + ...: with
    right units they are the same.
    """
    regression = _regression(compressed)
    if regression is None:
        return ()
    B, inverse, left, at = regression
    in_force, in_moment = -_axial(B[at + 3 : at + 6, :3].T), _axial(B[at : at + 3, 3:].T)
    std = np.sqrt(np.maximum(np.diag(inverse)[at + 3 : at + 6].max() * left[:3].max(), 0.0))
    size_f, size_m = float(np.linalg.norm(in_force)), float(np.linalg.norm(in_moment))
    if size_f < 20 * std or size_m == 0.0 or float(in_force @ in_moment) < 0.9 * size_f * size_m:
        return ()
    ratio = size_m / size_f
    if 1 / MISMATCH < ratio < MISMATCH:
        return ()
    return (
        f"the load cell's moments are {ratio:.3g} times what its forces and the motion ask for: check the units of "
        "forces and moments (N mm for N m? lbf for N?)",
    )


def _axial(S: FloatArray) -> FloatArray:
    """The vector of the skew part of a matrix: S x = v x x."""
    return np.array([S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]]) / 2


def _moment_problem(N: FloatArray, std: float) -> tuple[str, ...]:
    """N is skew where the moments' axes are those of the forces; P N where they are swapped."""
    if float(np.linalg.norm(N)) < 20 * std:
        return ()
    scores = [float(np.linalg.norm(P.T @ N + N.T @ P)) for P in _PERMUTATIONS]
    here = float(np.linalg.norm(N + N.T))
    best = int(np.argmin(scores))
    P = _PERMUTATIONS[best]
    # a skew matrix of one entry is skew in several orders of its axes: only a clear case is told
    if here < 0.3 * float(np.linalg.norm(N)) or scores[best] > 0.1 * here:
        return ()
    also = [Q for Q, score in zip(_PERMUTATIONS, scores, strict=True) if score <= 2 * scores[best] + 5 * std]
    certain = f": {_told(P, 'n', 'n')}" if len(also) == 2 else ""  # P and -P look alike
    return (
        "the load cell's moments do not belong to its forces and the IMU's axes"
        f"{certain}: check the order and signs of the moment channels",
    )


def _told(P: FloatArray, left: str, right: str) -> str:
    """'f_x follows -a_y' for each axis that is not its own."""
    parts: list[str] = []
    for i, name in enumerate("xyz"):
        j = int(np.abs(P[i]).argmax())
        if i != j or P[i, j] < 0:
            parts.append(f"{left}_{name} follows {'-' if P[i, j] < 0 else ''}{right}_{'xyz'[j]}")
    return ", ".join(parts)


def _permutations() -> list[FloatArray]:
    matrices: list[FloatArray] = []
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            P = np.zeros((3, 3))
            P[range(3), order] = signs
            matrices.append(P)
    return matrices


_PERMUTATIONS = _permutations()
"""All 48 signed permutations of three axes."""
