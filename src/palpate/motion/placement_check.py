"""A placement against the drawing: what differs, in words that say what to look for."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from palpate.motion.extrinsics import Placement
from palpate.motion.extrinsics_fit import UNKNOWN_LEVER, UNKNOWN_TURN, name_axis
from palpate.physics.arrays import FloatArray
from palpate.physics.so3 import log_rotation
from palpate.recording.gates import Finding

SMALL_TURN, SMALL_MOVE = float(np.radians(1.0)), 0.005
"""rad, m: what a drawing and a screwdriver may differ by without a word."""
FATAL_TURN = float(np.radians(10.0))
_RELABELLED = float(np.radians(8.0))
"""rad: a turn this close to exchanged axes is exchanged axes."""
_LEAST = 1e-6
"""rad, m: nothing is known better."""
_SURE = 3.0
"""Standard deviations from which a difference is one."""


def check_placement(
    found: Placement, R_ab: FloatArray | None = None, r_ab: FloatArray | None = None, *, what: str = "IMU"
) -> tuple[Finding, ...]:
    """Compare an estimated placement with a drawing's rotation and lever arm (m), as far as the motion tells them."""
    findings: list[Finding] = []
    if R_ab is not None:
        findings += _turn(found, np.asarray(R_ab, dtype=float), what)
    if r_ab is not None:
        findings += _move(found, np.asarray(r_ab, dtype=float), what)
    return tuple(findings)


def _turn(found: Placement, drawing: FloatArray, what: str) -> list[Finding]:
    covariance = found.covariance[:3, :3] + _LEAST**2 * np.eye(3)
    values, vectors = np.linalg.eigh(covariance)
    known = vectors[:, np.sqrt(np.maximum(values, 0.0)) < UNKNOWN_TURN]
    if known.shape[1] < 2:
        return [Finding("placement", False, f"the rotation of the {what} cannot be checked: {_first(found.weak)}")]
    if known.shape[1] == 2:  # only where the axis of the motion points is known
        axis = vectors[:, 2]
        seen, drawn = found.R_ab.T @ axis, drawing.T @ axis
        v = drawing @ np.cross(seen, drawn)
        v = v / max(float(np.linalg.norm(v)), 1e-300) * float(np.arctan2(np.linalg.norm(v), seen @ drawn))
    else:
        v = log_rotation(found.R_ab @ drawing.T)
    angle = float(np.linalg.norm(v))
    along = known.T @ v
    std = (
        float(np.sqrt(max(v @ covariance @ v, 0.0)) / max(angle, 1e-300)) if known.shape[1] == 3 else _worst(covariance)
    )
    sure = float(along @ np.linalg.solve(known.T @ covariance @ known, along)) > _SURE**2
    if angle < SMALL_TURN or not sure:
        return []
    words = _relabelled(found.R_ab, drawing) if known.shape[1] == 3 else ""
    if words:
        message = f"the axes of the {what} are not as in the drawing: {words}"
    else:
        size = f"{np.degrees(angle):.1f} +- {max(2 * np.degrees(std), 0.05):.1f} deg"
        message = f"the {what} is turned by {size} about {name_axis(v / angle)} against the drawing"
    return [Finding("placement", angle > FATAL_TURN, f"{message}; check how it is mounted, or correct the drawing")]


def _move(found: Placement, drawing: FloatArray, what: str) -> list[Finding]:
    covariance = found.covariance[3:, 3:] + _LEAST**2 * np.eye(3)
    values, vectors = np.linalg.eigh(covariance)
    known = vectors[:, np.sqrt(np.maximum(values, 0.0)) < UNKNOWN_LEVER]
    if known.shape[1] == 0:
        return [Finding("placement", False, f"the place of the {what} cannot be checked: {_first(found.weak)}")]
    along = known.T @ (found.r_ab - drawing)
    inner = known.T @ covariance @ known
    size = float(np.linalg.norm(along))
    if size < SMALL_MOVE or float(along @ np.linalg.solve(inner, along)) < _SURE**2:
        return []
    std = float(np.sqrt(along @ inner @ along)) / size
    moved = ", ".join(f"{1e3 * c:+.0f}" for c in known @ along)
    message = f"the {what} sits {1e3 * size:.0f} +- {max(2e3 * std, 1):.0f} mm from its place in the drawing"
    return [Finding("placement", False, f"{message} ({moved} mm along x, y, z); measure it again")]


def _relabelled(found: FloatArray, drawing: FloatArray) -> str:
    """Which axes are exchanged or flipped, where that explains a large turn; else nothing."""
    S = drawing.T @ found  # b's axes as found, seen from b's axes as drawn
    best, words = _RELABELLED, ""
    for order, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
        P = np.zeros((3, 3))
        P[list(order), range(3)] = signs
        if np.linalg.det(P) < 0 or np.trace(P) == 3:
            continue
        off = float(np.linalg.norm(log_rotation(S @ P.T)))
        if off < best:
            pairs = zip("xyz", order, signs, strict=True)
            best, words = off, ", ".join(f"{axis} is {'+' if s > 0 else '-'}{'xyz'[i]}" for axis, i, s in pairs)
    return words and f"its {words} of the drawing"


def _worst(covariance: FloatArray) -> float:
    return float(np.sqrt(np.linalg.eigvalsh(covariance)[1]))


def _first(weak: tuple[str, ...]) -> str:
    return weak[0] if weak else "the motion does not tell it"
