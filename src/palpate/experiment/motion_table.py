"""The motion as a table: one row a frame, for whoever goes on in another program."""

from __future__ import annotations

import numpy as np

from palpate.experiment.motion import CapturedMotion
from palpate.motion.clocks.clock import resample
from palpate.physics.arrays import FloatArray
from palpate.physics.so3 import continuous_quaternions, quaternion_from_rotation
from palpate.recording import Channel, Clock, Recording


def motion_recording(motion: CapturedMotion) -> Recording:
    """Pose, velocities and accelerations of the frame, hinge angle and wrench, on the clock of motion capture.

    Position (m) and quaternion w x y z of the frame in the capture frame; specific acceleration a - g (m/s2), omega and
    omega_dot in the frame itself; the wrench in the load cell's axes, low-passed for the frame rate; empty where
    something was not seen.
    """
    poses = motion.poses
    columns: dict[str, tuple[FloatArray, str]] = {}
    for i, axis in enumerate("xyz"):
        columns[f"position.{axis}"] = (poses.position[:, i], "m")
    quaternion, seen = np.full((len(poses), 4), np.nan), poses.seen
    quaternion[seen] = continuous_quaternions(quaternion_from_rotation(poses.rotation[seen]))
    for i, part in enumerate("wxyz"):
        columns[f"quaternion.{part}"] = (quaternion[:, i], "1")
    if motion.motion is not None:
        signals = {"specific_acceleration": "m/s2", "omega": "rad/s", "omega_dot": "rad/s2"}
        for name, unit in signals.items():
            for i, axis in enumerate("xyz"):
                columns[f"{name}.{axis}"] = (getattr(motion.motion, name)[:, i], unit)
    if motion.hinge_motion is not None:
        columns["hinge.angle"] = (motion.hinge_motion.angle_rad, "rad")
    if motion.angle is not None:
        columns["hinge.speed"] = (motion.angle.speed, "rad/s")
        columns["hinge.acceleration"] = (motion.angle.acceleration, "rad/s2")
    wrench = motion.devices.get("wrench")
    if wrench is not None and wrench.clock is not None:
        there = resample(wrench.even.times_s, wrench.even.seen_x, poses.times_s, clock=wrench.clock)
        for i, (name, unit) in enumerate((f"{k}_{a}", u) for k, u in (("f", "N"), ("n", "N m")) for a in "xyz"):
            columns[name] = (there[:, i], unit)
    clock = Clock("time", poses.times_s)
    return Recording({n: Channel(n, x, clock, unit) for n, (x, unit) in columns.items()}, None, "csv")
