"""Rolling: how a body on a wheel stands on the floor. The wheel is a sphere about the middle of the axle (paper,
Wheelbarrow): it touches the floor straight below it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.errors import DataProblem
from palpate.findings import Finding, Severity
from palpate.motion.frames import UP
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Poses

_RADIUS_OFF = 0.05
"""Difference between axle height and wheel radius that passes for a soft tyre and markers beside the axle's line."""
_HOPPING = 0.1
"""Variation (2.5 to 97.5 %) of the axle's height over the radius from which the wheel does not roll on one floor."""
_STEEPEST = np.cos(np.radians(80.0))


@dataclass(frozen=True, slots=True, eq=False)
class RollingMotion:
    """How a body on a wheel stood on the floor; NaN where it was not seen."""

    contact: Poses
    """T_world_contact: on the floor below the axle's middle; z up, y along the axle's z (left) but level, x ahead."""
    pitch_rad: FloatArray
    """(samples,) how far y of the axle's frame rises."""
    camber_rad: FloatArray
    """(samples,) how far z of the axle's frame, its left end, rises."""
    yaw_rad: FloatArray
    """(samples,) heading of the contact's x from the world's x, about up, unwrapped."""
    height_m: FloatArray
    """(samples,) of the axle's middle above the floor."""


def rolling(axle: Poses, *, floor_m: float = 0.0, up: ArrayLike = UP, what: str = "axle") -> RollingMotion:
    """Contact frame and angles of a body from the poses of its axle frame (`axle_frame`), eq. zC to pC of the paper.

    floor_m: how high the floor is in the world, along up. Where the capture's zero is the centre of a marker that lay
    on the floor, it is minus the marker's radius (-0.0095 m for 19 mm markers). pitch = asin(y . up), camber =
    asin(z . up).
    """
    z = np.asarray(up, dtype=float)
    z = z / np.linalg.norm(z)
    left = axle.rotation[:, :, 2]
    camber, pitch = (np.arcsin(np.clip(axle.rotation[:, :, i] @ z, -1.0, 1.0)) for i in (2, 1))
    if np.any(np.cos(camber) < _STEEPEST):
        k = int(np.nanargmin(np.cos(camber)))
        raise DataProblem(
            what,
            f"the axle stands {np.degrees(camber[k]):.0f} deg steep at {axle.times_s[k]:.2f} s and has no heading",
            remedy="check its two markers and which way is up",
        )
    y = left - (left @ z)[:, None] * z
    y = y / np.linalg.norm(y, axis=1, keepdims=True)
    x = np.asarray(np.cross(y, z), dtype=float)
    height = axle.position @ z - floor_m
    rotation = np.stack([x, y, np.where(np.isfinite(x), z, np.nan)], axis=2)
    contact = Poses(axle.times_s, rotation, axle.position - height[:, None] * z)
    ahead = np.array([1.0, 0.0, 0.0]) - z[0] * z
    yaw = np.arctan2(x @ np.cross(z, ahead), x @ ahead)
    seen = np.isfinite(yaw)
    yaw[seen] = np.unwrap(yaw[seen])
    return RollingMotion(contact, pitch, camber, yaw, height)


def check_wheel(motion: RollingMotion, radius_m: float) -> tuple[Finding, ...]:
    """Whether a wheel of this radius (m) can have been under the axle all the time."""
    seen = np.isfinite(motion.height_m)
    if not seen.any():
        return (Finding("wheel-radius", "the axle was never seen", severity=Severity.FATAL),)
    height = motion.height_m[seen]
    low, middle, high = (float(q) for q in np.quantile(height, (0.025, 0.5, 0.975)))
    findings: list[Finding] = []
    if abs(middle - radius_m) > _RADIUS_OFF * radius_m:
        evidence = (
            f"the axle is {1e3 * middle:.1f} mm above the floor (median) but the wheel's radius is stated as "
            f"{1e3 * radius_m:.1f} mm, {1e3 * (middle - radius_m):+.1f} mm apart"
        )
        remedy = (
            "check the radius, the axle's markers, and whether the world's zero is the floor or the centre of a marker "
            "on it"
        )
        findings.append(Finding("wheel-radius", evidence, remedy=remedy))
    if high - low > _HOPPING * radius_m:
        evidence = (
            f"the axle's height above the floor varies from {1e3 * low:.1f} to {1e3 * high:.1f} mm (95 % of the time): "
            "the wheel was lifted, the floor is not level, or the capture frame is tilted"
        )
        findings.append(Finding("wheel-height", evidence))
    return tuple(findings)
