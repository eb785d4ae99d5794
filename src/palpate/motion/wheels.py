"""How a body on a wheel stood on the floor, from the poses of its axle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.errors import DataProblem
from palpate.findings import Finding, Severity
from palpate.motion.frames import UP
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Poses


@dataclass(frozen=True, slots=True, eq=False)
class RollingMotion:
    """How a body on a wheel stood on the floor; NaN where it was not seen."""

    times_s: FloatArray
    pitch_rad: FloatArray
    """(samples,) how far y of the axle's frame rises."""
    camber_rad: FloatArray
    """(samples,) how far z of the axle's frame, its left end, rises."""
    yaw_rad: FloatArray
    """(samples,) heading from the world's x, about up, unwrapped."""
    height_m: FloatArray
    """(samples,) of the axle's middle above the floor."""


def rolling(axle: Poses, *, floor_m: float = 0.0, up: ArrayLike = UP) -> RollingMotion:
    """Height and angles of a body from the poses of its axle frame (`axle_frame`), eq. zC to pC of the paper.

    The wheel is a sphere about the middle of the axle. floor_m: how high the floor is in the world, along up. Where the
    capture's zero is the centre of a marker that lay on the floor, it is minus the marker's radius (-0.0095 m for 19 mm
    markers). pitch = asin(y . up), camber = asin(z . up).
    """
    z = np.asarray(up, dtype=float)
    z = z / np.linalg.norm(z)
    pitch, camber = (np.arcsin(np.clip(axle.rotation[:, :, i] @ z, -1.0, 1.0)) for i in (1, 2))
    if np.any(np.abs(camber) > np.radians(80.0)):
        k = int(np.nanargmax(np.abs(camber)))
        raise DataProblem(
            "axle",
            f"the axle is tilted by {np.degrees(camber[k]):.0f} deg at {axle.times_s[k]:.2f} s and has no heading",
            remedy="check its two markers and which way is up",
        )
    ahead, x = np.cross(axle.rotation[:, :, 2], z), np.array([1.0, 0.0, 0.0]) - z[0] * z
    yaw = np.arctan2(ahead @ np.cross(z, x), ahead @ x)
    seen = np.isfinite(yaw)
    yaw[seen] = np.unwrap(yaw[seen])
    return RollingMotion(axle.times_s, pitch, camber, yaw, axle.position @ z - floor_m)


def check_wheel(motion: RollingMotion, radius_m: float) -> tuple[Finding, ...]:
    """Whether a wheel of this radius (m) can have been under the axle all the time."""
    seen = np.isfinite(motion.height_m)
    if not seen.any():
        return (Finding("wheel-radius", "the axle was never seen", severity=Severity.FATAL),)
    height = motion.height_m[seen]
    low, middle, high = (float(q) for q in np.quantile(height, (0.025, 0.5, 0.975)))
    findings: list[Finding] = []
    if abs(middle - radius_m) > 0.05 * radius_m:  # less: a soft tyre, markers beside the axle
        evidence = (
            f"the axle is {1e3 * middle:.1f} mm above the floor (median) but the wheel's radius is stated as "
            f"{1e3 * radius_m:.1f} mm, {1e3 * (middle - radius_m):+.1f} mm apart"
        )
        remedy = (
            "check the radius, the axle's markers, and whether the world's zero is the floor or the centre of a marker "
            "on it"
        )
        findings.append(Finding("wheel-radius", evidence, remedy=remedy))
    if high - low > 0.1 * radius_m:  # more: it does not roll on one floor
        evidence = (
            f"the axle's height above the floor varies from {1e3 * low:.1f} to {1e3 * high:.1f} mm (95 % of the time): "
            "the wheel was lifted, the floor is not level, or the capture frame is tilted"
        )
        findings.append(Finding("wheel-height", evidence))
    return tuple(findings)


def from_contact(poses: Poses, height_m: float | FloatArray, w: FloatArray) -> FloatArray:
    """(samples, 6): a wrench (6,) at the contact, below the axle by its height, as one in the body's frame and axes."""
    R = poses.rotation
    axes = level_axes(R)
    force, moment = axes @ w[:3], axes @ w[3:]
    moment = moment - height_m * np.cross(UP, force)
    return np.hstack([np.einsum("nij,ni->nj", R, v) for v in (force, moment)])


def level_axes(R: FloatArray) -> FloatArray:
    """(samples, 3, 3): ahead, along the axle and up under a wheel whose axle is z of R, in the world."""
    y = R[:, :, 2] * [1.0, 1.0, 0.0]
    y = y / np.linalg.norm(y, axis=1, keepdims=True)
    return np.stack([np.cross(y, UP), y, np.broadcast_to(UP, y.shape)], axis=2)
