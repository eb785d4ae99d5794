"""The motion of an object by cameras and an IMU on it together, or why the IMU is left out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.stage.capture import TOGETHER, CapturedMotion
from palpate.experiment.stage.recordings import MOVING_KINDS
from palpate.findings import Finding
from palpate.identify.balance import Segment
from palpate.mechanisms import Mechanism
from palpate.motion.smoothing import Felt, Smoothed, smooth
from palpate.physics.arrays import BoolArray, FloatArray, segment_mask
from palpate.physics.functions import ARRAYS, remembering
from palpate.physics.motion import Poses, transform

COVERED, DISAGREE, GYRO_SCALE = 0.8, 2.0, 0.02
"""Share of the segments that an IMU must have seen to tell their motion, whose rest is then left out; what it may leave
of the markers over their noise; by how much a gyroscope may be off without a word."""


def smoothed_motion(
    captured: CapturedMotion,
    mechanism: Mechanism,
    q: FloatArray,
    poses: Poses,
    up: FloatArray,
    T_cloud_body: FloatArray,
    segments: Mapping[str, list[Segment]],
) -> tuple[Smoothed | None, list[Finding]]:
    """Coordinates by both; None where no IMU is on the object, or none to be trusted.

    q: (samples, positions) by markers; poses: of the body in the mechanism's frame; up: (2,) in it, along a floor.
    """
    if "imu" not in captured.devices:
        return None, []
    times = captured.body.poses.times_s
    inside = segment_mask(times, [s for kind in MOVING_KINDS for s in segments[kind]]) & np.isfinite(q).all(axis=1)
    try:
        smoothed = _smoothed(captured, mechanism, q, poses, up, T_cloud_body)
        _check(smoothed, inside)
    except DataProblem as error:
        evidence = f"the IMU is left out, markers alone tell the motion: {error}"
        remedy = "check that it is fixed to the object, its file and its clock"
        return None, [Finding("imu", evidence, "recordings.imu", remedy)]
    if abs(smoothed.gyro_scale - 1) <= GYRO_SCALE:
        return smoothed, []
    shows = f"it shows {smoothed.gyro_scale:.3f} times the angular rate that markers show"
    evidence = f"{shows}; its gain was fitted, and no number follows from it"
    return smoothed, [Finding("gyro-scale", evidence, "gyroscope", "check its unit and range")]


def _smoothed(
    captured: CapturedMotion,
    mechanism: Mechanism,
    q: FloatArray,
    poses: Poses,
    up: FloatArray,
    T_cloud_body: FloatArray,
) -> Smoothed:
    """Refuses an IMU whose clock or place is not known, or that does not move with the markers."""
    imu, placement = captured.devices["imu"], captured.placement
    if placement is None or imu.clock is None:
        known = "; ".join(f.evidence for f in captured.findings if f.cause in ("clock", "moves-along"))
        raise DataProblem("markers and IMU", known or "the IMU's clock or its place is not known")
    if placement.explained < TOGETHER:
        share = f"{100 * placement.explained:.1f} %"
        raise DataProblem("markers and IMU", f"{share} of what the IMU feels is explained by the motion of the markers")
    T_cloud_frame = captured.body.frames.get(captured.frame, np.eye(4))
    T_body_imu = np.linalg.inv(T_cloud_body) @ T_cloud_frame @ transform(placement.R_ab, placement.r_ab)
    free = mechanism.unguided()
    q = q if free is mechanism else free.coordinates_of(poses)
    signals, felt = (imu.even.times_s, imu.even.seen_x), felt_by(free, up)
    smoothed = smooth(poses.times_s, q, *signals, T_body_imu, felt, imu.clock, shown=placement.signals)
    names = mechanism.state[: len(mechanism.position_units)]
    return smoothed if free is mechanism else smoothed.of([free.state.index(name) for name in names])


def _check(smoothed: Smoothed, inside: BoolArray) -> None:
    """Refuse an IMU that missed a part of the samples that count, or contradicts the markers."""
    share, unexplained = smoothed.known[inside].mean(), float(smoothed.unexplained.max())
    if share < COVERED:
        raise DataProblem("markers and IMU", f"the IMU saw {100 * share:.0f} % of the segments only")
    if unexplained > 1 - TOGETHER or smoothed.disagree > DISAGREE:
        left = f"the motion of the object leaves {100 * unexplained:.1f} % of what the IMU shows"
        raise DataProblem("markers and IMU", f"{left}, and where markers are {smoothed.disagree:.1f} times their noise")


def felt_by(mechanism: Mechanism, up: FloatArray | None = None) -> Felt:
    """What the body feels whose positions and their derivatives these are; up: (2,) along a floor that slopes."""

    def felt(q: FloatArray, q_dot: FloatArray, q_ddot: FloatArray) -> FloatArray:
        speeds, accelerations = mechanism.speeds_of(q, q_dot), mechanism.accelerations_of(q, q_dot, q_ddot)
        state = [x[..., i] for x in (q, speeds) for i in range(x.shape[-1])]
        fn = remembering(ARRAYS)
        k = mechanism.body_motion(state, [accelerations[..., i] for i in range(accelerations.shape[-1])], fn)
        force = k.specific_acceleration
        if up is not None and up.any():
            (x, y, _), _ = mechanism.place(state, fn)
            gx, gy = mechanism.gravity * up
            force = tuple(a + gx * b + gy * c for a, b, c in zip(force, x, y, strict=True))
        parts = np.empty((9, *np.broadcast_shapes(q.shape, q_dot.shape, q_ddot.shape)[:-1]))
        for i, x in enumerate((*force, *k.omega, *k.omega_dot)):
            parts[i] = x
        return np.moveaxis(parts, 0, -1)

    return felt
