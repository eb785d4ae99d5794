"""The motion stage: recordings of markers, IMU and load cell -> one clock, poses, frames and motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.capture import Body, read_body
from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import MotionPart
from palpate.experiment.handle import wrench_features
from palpate.experiment.handle_inputs import pose_of, read_imu, read_wrench
from palpate.experiment.telling import Tell
from palpate.findings import Finding, Severity
from palpate.motion import PARALLEL, estimate_offset, imu_motion
from palpate.motion.clocks.clock import Even, without_lost
from palpate.motion.clocks.offset import ClockMap, Offset, clock_map, marker_clock
from palpate.motion.derivatives.differentiate import (
    CoordinateMotion,
    PoseMotion,
    coordinate_motion,
    pose_motion,
    published_pose_motion,
)
from palpate.motion.frames.hinge import (
    Hinge,
    HingeMotion,
    check_hinge,
    hinge_from_frame,
    hinge_from_motion,
    hinge_motion,
    inclination,
    pose_std,
)
from palpate.motion.frames.roles import Rolling, check_wheel, hinge_inclination, rolling
from palpate.motion.imu.extrinsics import Placement, check_placement, imu_on_poses
from palpate.motion.imu.motion import fuse
from palpate.motion.imu.plausibility import check_imu
from palpate.motion.markers.faults import weak_orientation
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Motion
from palpate.physics.poses import Poses
from palpate.recording import Recording
from palpate.recording.gates import check_channels

T = TypeVar("T")
LARGEST_M = 20.0
CLOUD_SHARE = 0.3
"""Error of a marker's place in a cloud beside its noise in a frame: faults and bending do not average out."""
NOT_RIGID_M = 0.01
"""Bodies bend by millimetres."""
ASKEW_DEG = 10.0
TOGETHER = 0.98
"""Share of an IMU's signals that the motion of its body explains, at least."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceOnClock:
    """An instrument beside the cameras, and how its clock runs against theirs."""

    recording: Recording
    names: list[str]
    even: Even
    clock: ClockMap | None
    """None where it cannot be known."""
    offset: Offset | None
    """The evidence, where the clock was found from the signals."""


@dataclass(frozen=True, slots=True, eq=False)
class CapturedMotion:
    """All that the instruments say about how the body moved."""

    body: Body
    frame: str
    """Whose motion it is: sensor, axle or body."""
    poses: Poses
    """T_capture_frame."""
    devices: dict[str, DeviceOnClock]
    placement: Placement | None
    """The IMU in that frame, and the tilt of the capture frame, as the motion tells."""
    up: FloatArray
    """(3,) in the capture frame."""
    motion: Motion | None
    derivatives: PoseMotion | None
    """None where markers and IMU were fused, or nothing could be differentiated."""
    hinge: Hinge | None
    hinge_motion: HingeMotion | None
    angle: CoordinateMotion | None
    """The hinge's angle with speed and acceleration."""
    inclination_rad: tuple[float, float] | None
    """Angle between hinge and vertical, and its standard deviation: infinite where the vertical was not measured."""
    rolling: Rolling | None
    findings: tuple[Finding, ...]


@dataclass(slots=True)
class _Told:
    """Findings as they come; what cannot be known is one of them, and the rest goes on."""

    findings: list[Finding] = field(default_factory=list[Finding])

    def attempt(self, kind: str, what: Callable[[], T]) -> T | None:
        """The result, or None and a finding that says why not."""
        try:
            return what()
        except DataProblem as error:
            self.findings.append(Finding(kind, str(error)))
            return None


def build_motion(experiment: Experiment[MotionPart], tell: Tell = lambda _: None) -> CapturedMotion:
    """Run the motion stage. What cannot be known is a finding; what is wrong in the file is an error."""
    config, told = experiment.config, _Told()
    tell("aligning the markers")
    body = read_body(experiment)
    told.findings += [f.finding for f in body.checked.faults]
    told.findings += [*not_rigid(body), *_weak(body)]
    frame = next((name for name in ("sensor", "axle") if name in body.frames), "body")
    poses = body.poses_of(frame)

    tell("comparing the clocks")
    devices = _devices(experiment, body, told)
    tell("looking for the vertical")
    placement = _placement(experiment, body, poses, devices.get("imu"), told)
    up = np.array([0.0, 0.0, 1.0]) if placement is None or placement.tilt is None else placement.tilt.up
    told.findings += _askew(up)

    tell("differentiating")
    derivatives = told.attempt("derivatives", lambda: _derivatives(config, poses, up))
    motion = None if derivatives is None else derivatives.motion
    if config.derivatives.method == "fusion":
        motion, derivatives = told.attempt("fusion", lambda: _fused(experiment, poses, up, devices.get("imu"))), None
    hinge = None if config.markers.hinge is None else told.attempt("hinge", lambda: _hinge(config, body))
    turned = None if hinge is None else hinge_motion(body.poses, hinge)
    told.findings += [] if turned is None else check_hinge(turned)
    angle = None if turned is None else told.attempt("hinge angle", lambda: _angle(config, turned))
    inclined = None if hinge is None else _inclination(hinge, placement, up, body)
    rolls = None
    if config.markers.axle is not None:
        rolls = rolling(body.poses_of("axle"), floor_m=config.markers.axle.floor, up=up)
        told.findings += [] if config.markers.axle.radius is None else check_wheel(rolls, config.markers.axle.radius)
    return CapturedMotion(
        body=body,
        frame=frame,
        poses=poses,
        devices=devices,
        placement=placement,
        up=up,
        motion=motion,
        derivatives=derivatives,
        hinge=hinge,
        hinge_motion=turned,
        angle=angle,
        inclination_rad=inclined,
        rolling=rolls,
        findings=tuple(told.findings),
    )


def _devices(experiment: Experiment[MotionPart], body: Body, told: _Told) -> dict[str, DeviceOnClock]:
    recordings = experiment.config.recordings
    found: dict[str, DeviceOnClock] = {}
    if recordings.imu is not None:
        recording, names, even = read_imu(experiment, recordings.imu)
        told.findings += [*check_channels(recording, names), *check_imu(even.times_s, even.x[:, :3], even.x[:, 3:])]
        stated = _stated(experiment, "imu", even, body)
        offset = None if stated else told.attempt("clock", lambda: imu_clock(body.poses, even))
        found["imu"] = DeviceOnClock(recording, names, even, stated or (offset and offset.clock), offset)
    if recordings.wrench is not None:
        recording, names, even = read_wrench(experiment, recordings.wrench)
        told.findings += check_channels(recording, names)
        stated = _stated(experiment, "wrench", even, body)
        offset = None if stated else told.attempt("clock", lambda: wrench_clock(body.poses, even, found.get("imu")))
        found["wrench"] = DeviceOnClock(recording, names, even, stated or (offset and offset.clock), offset)
    return found


def _stated(experiment: Experiment[MotionPart], name: str, even: Even, body: Body) -> ClockMap | None:
    """The clock as the experiment file states it: a frame and a sample of the same instant."""
    clocks = experiment.config.clocks
    if clocks == "auto":
        return None
    sample: int | None = getattr(clocks, name)
    if sample is None:
        raise experiment.problem(f"clocks.{name}", "this key is missing: the file has such a recording")
    assert clocks.mocap is not None
    for key, number, most in (("mocap", clocks.mocap, len(body.rows)), (name, sample, len(even.rows))):
        if number > most:
            raise experiment.problem(f"clocks.{key}", f"there is no sample {number}, the file has {most}")
    at = float(body.poses.times_s[body.rows[clocks.mocap - 1]])
    period = float(np.median(np.diff(body.poses.times_s)))
    # a typed sample is right to half a period, and says nothing about drift
    return clock_map(at - float(even.times_s[even.rows[sample - 1]]), period / 12**0.5, at)


def imu_clock(poses: Poses, imu: Even) -> Offset:
    """The IMU against motion capture, by the angular velocity that both saw."""
    what = "clock of the IMU against motion capture"
    return marker_clock(poses, imu.times_s, imu.seen_x[:, 3:], what=what)


def wrench_clock(poses: Poses | None, wrench: Even, imu: DeviceOnClock | None) -> Offset:
    """Reference minus load-cell time, from the motion of the body: by the IMU where its clock is known, else by the
    markers.
    """
    what = "clock of the load cell"
    if imu is not None and imu.clock is not None:
        x = imu.even.x
        motion = imu_motion(imu.even.times_s, x[:, :3], x[:, 3:], np.eye(4), PARALLEL)
        times = imu.clock.to_reference(motion.times_s)
        features = without_lost(motion.times_s, wrench_features(motion), imu.even.lost, PARALLEL.reach_s)
        found = estimate_offset(times, features, wrench.times_s, wrench.seen_x, what=what)
        # the IMU's own clock is not known better than that
        return replace(
            _turned_round(found),
            std_s=float(np.hypot(found.std_s, imu.clock.offset_std_s)),
            drift_std_ppm=float(np.hypot(found.drift_std_ppm, imu.clock.drift_std_ppm)),
            freedom=min(found.freedom, imu.clock.freedom),
        )
    if poses is None:
        raise DataProblem(what, "there is no motion to compare it with", remedy="record an IMU or markers with it")
    motion = pose_motion(poses, gravity=(0.0, 0.0, -9.80665)).motion
    seen = np.isfinite(motion.omega_dot).all(axis=1)
    if not seen.any():
        raise DataProblem(what, "the markers give no motion to compare it with")
    features = wrench_features(motion)
    return _turned_round(
        estimate_offset(motion.times_s, features, wrench.times_s, wrench.seen_x, what=what, bandwidth_hz=8.0)
    )


def _turned_round(offset: Offset) -> Offset:
    """The same relation, counted from the response (the load cell) to the predictors (the reference)."""
    return replace(
        offset,
        value_s=-offset.value_s,
        at_s=offset.at_s - offset.value_s,
        drift_ppm=-offset.drift_ppm,
        lags_s=-offset.lags_s[::-1],
        misfit=offset.misfit[::-1],
    )


def not_rigid(body: Body) -> list[Finding]:
    """Markers that form no rigid body, or hardly ever."""
    size = float(np.linalg.norm(np.ptp(body.cloud.points, axis=0)))
    if size > LARGEST_M:
        what = f"the markers span {size:.0f} m: their unit is mm, not m, or they belong to several bodies"
        return [Finding("markers", what, severity=Severity.FATAL)]
    error, known = body.fit.mean_error_m, float(body.fit.alignment.usable.mean())
    shown = float((body.markers.seen.sum(axis=1) >= 3).mean())
    if error <= NOT_RIGID_M and known >= 0.8 * shown and body.checked.confused_share <= 0.2:
        return []
    off = (
        f"{1e3 * error:.0f} mm off on average"
        if error > NOT_RIGID_M
        else f"they agree in {100 * known:.0f} % of the frames"
    )
    remedy = "name those of one body (stage: motion, markers: {body: [...]})"
    return [
        Finding(
            "markers",
            f"these {len(body.markers.names)} markers are not one rigid body: {off}; {remedy}",
            severity=Severity.FATAL,
        )
    ]


def _weak(body: Body) -> list[Finding]:
    found = weak_orientation(body.fit)
    return [] if found is None else [found.finding]


def _askew(up: FloatArray) -> list[Finding]:
    angle = float(np.degrees(np.arctan2(np.hypot(up[0], up[1]), up[2])))
    if angle < ASKEW_DEG:
        return []
    return [
        Finding(
            "vertical",
            f"the vertical is {angle:.0f} deg off the capture frame's z axis: say markers: {{up: y}}, "
            "or level the capture system",
            severity=Severity.FATAL,
        )
    ]


def _frame_covariance(body: Body) -> FloatArray:
    """(6, 6): how well a frame of three markers is known in the cloud, whose places are good to a part of the noise."""
    if "sensor" not in body.frames:
        return np.zeros((6, 6))
    turn, move = pose_std(body.cloud.points[:3], CLOUD_SHARE * body.checked.noise_m)
    return np.diag(np.repeat([turn**2, move**2], 3))


def _placement(
    experiment: Experiment[MotionPart], body: Body, poses: Poses, imu: DeviceOnClock | None, told: _Told
) -> Placement | None:
    """Where the IMU sits and how the capture frame stands, beside the drawing where there is one."""
    if imu is None or imu.clock is None:
        return None
    clock, even, drawing = imu.clock, imu.even, experiment.config.imu_pose
    bias = experiment.config.accelerometer_zero
    found = told.attempt(
        "placement",
        lambda: imu_on_poses(poses, even.times_s, even.seen_x[:, :3], even.seen_x[:, 3:], clock, bias_std=bias),
    )
    if found is not None:
        found = replace(found, covariance=found.covariance + _frame_covariance(body))
    if found is not None and found.explained < TOGETHER:
        message = (
            f"markers and IMU do not move together: {100 * found.explained:.1f} % of what the IMU feels is explained; "
            "is it fixed to the same body, and are rows missing?"
        )
        told.findings.append(Finding("placement", message))
    if found is not None and drawing is not None:
        T_sensor_imu = pose_of(experiment, "imu_pose", drawing, "the IMU")
        told.findings += check_placement(found, T_sensor_imu[:3, :3], T_sensor_imu[:3, 3])
    return found


def _derivatives(config: MotionPart, poses: Poses, up: FloatArray) -> PoseMotion:
    part, gravity = config.derivatives, -config.gravity * up
    if part.method == "published":
        rate = 1 / float(np.median(np.diff(poses.times_s)))
        window = 11 if part.window is None else max(5, 2 * round((part.window * rate - 1) / 2) + 1)
        return published_pose_motion(poses, gravity=gravity, window=window, order=part.order)
    still = None if config.markers.still is None else (config.markers.still[0], config.markers.still[1])
    return pose_motion(poses, gravity=gravity, window_s=part.window, order=part.order, still=still)


def _fused(experiment: Experiment[MotionPart], poses: Poses, up: FloatArray, imu: DeviceOnClock | None) -> Motion:
    config = experiment.config
    if imu is None or config.imu_pose is None:
        raise experiment.problem(
            "derivatives.method", "fusion needs recordings.imu and imu_pose", "or write method: local"
        )
    if imu.clock is None:
        raise DataProblem("fusion", "the IMU's clock is not known")
    T = pose_of(experiment, "imu_pose", config.imu_pose, "the IMU")
    times, x = imu.clock.to_reference(imu.even.times_s), imu.even.seen_x
    gravity = -config.gravity * up
    return fuse(poses, times, x[:, :3], x[:, 3:], T, gravity=gravity, at_s=poses.times_s).motion


def _angle(config: MotionPart, turned: HingeMotion) -> CoordinateMotion:
    part = config.derivatives
    window = 0.31 if part.method == "published" and part.window is None else part.window
    return coordinate_motion(turned.times_s, turned.angle_rad, window_s=window, order=part.order)


def _inclination(hinge: Hinge, placement: Placement | None, up: FloatArray, body: Body) -> tuple[float, float]:
    if placement is None or placement.tilt is None:
        return inclination(hinge.T_world_hinge, up), float("inf")
    # a hinge of markers is as uncertain as the body's pose
    std = hinge.direction_std_rad
    std = std if np.isfinite(std) else pose_std(body.cloud.points, body.fit.mean_error_m)[0]
    return hinge_inclination(hinge.T_world_hinge[:3, 2], std, placement.tilt)


def _hinge(config: MotionPart, body: Body) -> Hinge:
    part = config.markers.hinge
    assert part is not None
    if "hinge" in body.frames:
        return hinge_from_frame(body.poses, body.frames["hinge"])
    points = None if part.points is None else np.array([0.0, 0.0, 1.0 if part.points == "up" else -1.0])
    towards = None if part.towards is None else body.cloud.places([part.towards])[0]
    middle = body.cloud.points.mean(axis=0)
    slow = pose_std(body.cloud.points, body.fit.mean_error_m, at=middle)
    return hinge_from_motion(body.poses, near=middle, towards=towards, points=points, slow=slow)
