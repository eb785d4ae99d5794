"""A mechanism that declares no joints: the world of the poses is its frame, if they are where it has the body."""

from __future__ import annotations

from typing import Any

import numpy as np

from palpate.experiment.file.reading import Experiment
from palpate.experiment.stage.belief import Handles
from palpate.experiment.stage.posed import OFF_HINGE_M
from palpate.findings import Finding, Severity
from palpate.mechanisms import Mechanism
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Poses

UPRIGHT_RAD = np.radians(1.0)
OFF_WAY_RAD = np.radians(3.0)


def off_its_way(mechanism: Mechanism, poses: Poses, q: FloatArray) -> list[Finding]:
    """Poses that are not where the mechanism says that the body is: its frame, or a size of it, is another."""
    still = [np.zeros(len(q))] * len(mechanism.accelerations)
    there = mechanism.motion(poses.times_s, np.hstack([q, np.stack(still, axis=1)]), np.stack(still, axis=1)).poses
    assert there is not None  # motion() has them
    off_m = float(np.sqrt(3 * np.nanmean((poses.position - there.position) ** 2)))
    # ||A - B|| of two rotations is sqrt(8) sin(angle / 2)
    turned = float(np.sqrt(9 * np.nanmean((poses.rotation - there.rotation) ** 2) / 8))
    off_rad = 2 * float(np.arcsin(min(turned, 1.0)))
    if off_m <= OFF_HINGE_M and off_rad <= OFF_WAY_RAD:
        return []
    evidence = (
        f"the poses are {1e3 * off_m:.3g} mm and {np.degrees(off_rad):.2g} deg (rms) off where the mechanism "
        f"{mechanism.type!r} has the body at the same coordinates"
    )
    remedy = (
        "its place() tells the frame of the poses (or of markers.frame) in their world, z up: check its sizes, or give "
        "it an option for where it stands"
    )
    return [Finding("frame", evidence, "mechanism", remedy, Severity.FATAL)]


def check_untilted(experiment: Experiment[Any], handles: Handles, poses: Poses) -> list[Finding]:
    """Without a handle, its weight must stay as it is in the sensor's axes: then it is part of the sensor's zero."""
    if handles.known:
        return []
    up = poses.rotation[poses.seen, 2]
    tilts = float(np.arccos(np.clip(up @ up[0], -1.0, 1.0)).max())
    if tilts > UPRIGHT_RAD:
        why = f"the object tilts by {np.degrees(tilts):.0f} deg, so the handle's weight matters"
        raise experiment.problem("handle", f"this key is missing: {why}")
    why = "its weight is taken as part of the sensor's zero, its mass as part of the object's"
    return [Finding("handle", why, "no handle is given")]
