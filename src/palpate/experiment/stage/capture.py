"""The capture: markers, IMU and load cell on one clock -> a body's poses and frames, the vertical, and its motion.

`capture` is what identification needs; `build_motion` is the motion stage, which also differentiates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.experiment.file.reading import Experiment, experiment_of
from palpate.experiment.file.schema import MotionPart
from palpate.experiment.file.sensors import SensorKeys, listed, numbered
from palpate.experiment.stage import recordings
from palpate.experiment.stage.body import Body, MarkedBody
from palpate.experiment.stage.posed import read_posed
from palpate.experiment.stage.recordings import Instrument
from palpate.findings import Finding, Severity
from palpate.identify.balance import Segment
from palpate.motion import cloud as clouds
from palpate.motion import derivatives as slopes
from palpate.motion import frames, wheels
from palpate.motion.clock import ClockMap, Even, clock_map, evenly_sampled, without_lost
from palpate.motion.cloud import Cloud, Markers, fill_gaps, marker_index, mean_cloud
from palpate.motion.extrinsics import (
    Placement,
    check_placement,
    hardly_turns,
    hinge_inclination,
    imu_on_poses,
    imu_on_sliding_poses,
)
from palpate.motion.faults import Faults, check_markers, cloud_before, weak_orientation
from palpate.motion.imu import PARALLEL, imu_motion
from palpate.motion.misread import misread_gyroscope
from palpate.motion.offset import Offset, estimate_offset, marker_clock
from palpate.motion.plausibility import check_imu
from palpate.motion.smoothing import fuse
from palpate.physics.arrays import BoolArray, FloatArray, runs, segment_mask
from palpate.physics.inertia import body_features
from palpate.physics.motion import Kinematics, Motion, Poses, log_rotation
from palpate.physics.units import STANDARD_GRAVITY
from palpate.progress import Tell, portion, silent
from palpate.recording import Recording

T = TypeVar("T")
LARGEST_M = 20.0
CLOUD_SHARE = 0.3
"""Error of a marker's place in a cloud beside its noise in a frame: faults and bending do not average out."""
NOT_RIGID_M = 0.01
"""Bodies bend by millimetres."""
ASKEW_DEG = 10.0
OUTAGE_S = 0.2
"""Shorter losses of all markers are bridged or hardly cost anything."""
LARGE_ZERO = 5.0
"""Times what is declared of an accelerometer's zero: more comes from an IMU that is read wrongly."""
TOGETHER = 0.98
"""Share of an IMU's signals that the motion of its body explains, at least."""
HAND_HZ = 5.0
"""Below which accelerations of markers are more than noise."""
UP = np.array([0.0, 0.0, 1.0])


def read_marked(experiment: Experiment[MotionPart]) -> MarkedBody:
    """Markers to poses, as the experiment file's `markers:` says."""
    config, part = experiment.config, experiment.config.markers
    recording = recordings.load_part(experiment, "recordings.mocap", config.recordings.mocap)
    with experiment.at("markers.body"):
        markers, rows = on_even_frames(upright(clouds.markers_of(recording, part.body or None), part.up))
    whole, reference, averaged = _cloud(experiment, markers)
    cloud = whole.select([name for name in markers.names if name in whole.names])
    if len(cloud.names) < 3:
        raise experiment.problem("markers.body", f"the reference cloud has only {', '.join(cloud.names)} of them")
    with experiment.at("markers.body", "name the markers of one rigid body", DataProblem):
        body = align_body(recording, markers, cloud, reference, longest_gap_s=part.longest_gap)
    # a marker that moved on the body shows a frame where it sat when the frame was measured
    placed = cloud_before(whole, body.checked.faults)
    # on the average of the recording: a hinge that points up does so throughout
    up = body.poses.rotation[body.poses.seen].mean(axis=0).T @ UP
    up, placed_frames = up / max(float(np.linalg.norm(up)), 1e-300), dict[str, FloatArray]()
    for name, role in roles_of(experiment).items():
        with experiment.at(f"markers.{'frame' if name == 'body' else name}"):
            placed_frames |= frames.frames_of({name: role}, placed, up=up)
    for i, name in enumerate(part.feet):
        with experiment.at(f"markers.feet.{i}"):
            placed.select([name])
    feet, weak = placed.select(part.feet).points, weak_orientation(body.fit)
    findings = (*body.checked.findings, *not_rigid(body), *([] if weak is None else [weak.finding]))
    hinge = part.hinge
    return replace(
        body,
        placed=placed,
        averaged=averaged,
        rows=rows,
        pose_std=frames.pose_std(cloud.points, body.fit.mean_error_m),
        frames=placed_frames,
        feet=feet,
        towards=None if hinge is None or hinge.towards is None else placed.places([hinge.towards])[0],
        points=None if hinge is None else hinge.points,
        findings=findings,
    )


def align_body(
    recording: Recording, markers: Markers, cloud: Cloud, reference: str = "mean", *, longest_gap_s: float = 0.1
) -> MarkedBody:
    """Find the markers' faults, fill their gaps, and align them with the cloud."""
    raw = clouds.fit_body(markers, cloud)
    checked = check_markers(markers, cloud, raw.alignment)
    noise, recorded = checked.scale.spread_m, clouds.select_markers(markers, cloud.names).points
    repaired = clouds.differing(recorded, checked.markers.points)
    points = checked.markers.points
    fit = clouds.realigned(raw.alignment, points, cloud.points, repaired, noise_m=noise, before_m=None)
    filled = fill_gaps(checked.markers, cloud, longest_spline_s=longest_gap_s, noise_m=noise, fit=fit)
    more = (filled.source != clouds.Source.SEEN).any(axis=1)
    last = clouds.realigned(fit, filled.markers.points, cloud.points, more, noise_m=noise, before_m=noise)
    good = clouds.body_fit(checked.markers, fit)
    return MarkedBody(
        key="mocap",
        recording=recording,
        poses=clouds.body_fit(filled.markers, last).poses,
        rows=np.arange(len(markers.times_s)),
        middle=cloud.points.mean(axis=0),
        reference=reference,
        markers=markers,
        cloud=cloud,
        placed=cloud,
        averaged=len(markers.times_s),
        raw=raw,
        # the points themselves have done their work
        checked=Faults(checked.faults, checked.scale, checked.confused_share),
        filled=clouds.Gaps(filled.source, filled.usable, filled.report),
        fit=good,
    )


def upright(markers: Markers, up: str) -> Markers:
    """The same points in a capture frame whose z axis points up: its axes in turn, which keeps it right-handed."""
    turn = {"z": [0, 1, 2], "y": [2, 0, 1], "x": [1, 2, 0]}[up]
    return markers if up == "z" else replace(markers, points=markers.points[:, :, turn])


def on_even_frames(markers: Markers) -> tuple[Markers, NDArray[np.intp]]:
    """Every frame that the cameras took, those without a row in the file as hidden, without jitter; and where each row
    went.

    An excerpt with long pauses stays as it is.
    """
    times, n = markers.times_s, len(markers.times_s)
    plain = np.arange(n)
    try:
        even = evenly_sampled(times, plain[:, None].astype(float), what="markers")
    except DataProblem:
        return markers, plain
    period = float(even.times_s[1] - even.times_s[0])
    if len(even.times_s) > 3 * n + 100 or even.jitter_s > 2 * period:
        return markers, plain
    if len(even.times_s) == n:
        return replace(markers, times_s=even.times_s), plain
    points = np.full((len(even.times_s), len(markers.names), 3), np.nan)
    rows = np.asarray(even.rows)
    points[rows] = markers.points
    return Markers(markers.names, even.times_s, points), rows


def _cloud(experiment: Experiment[MotionPart], markers: Markers) -> tuple[Cloud, str, int]:
    """The reference cloud with all that it can place, also markers that are not on the body; its kind and frames."""
    part, static = experiment.config.markers, experiment.config.recordings.static
    kind = part.reference or ("static" if static is not None else "still" if part.still is not None else "mean")
    with experiment.at("markers.reference", kind=DataProblem):
        if kind == "static":
            if static is None:
                raise experiment.problem("recordings.static", "this key is missing: markers.reference asks for it")
            at_rest = upright(clouds.markers_of(recordings.load_part(experiment, "recordings.static", static)), part.up)
            return clouds.completed(clouds.static_cloud(at_rest), markers), kind, len(at_rest.times_s)
        if kind == "still":
            start, end = clouds.stillest(markers) if part.still is None else (part.still[0], part.still[1])
            between = (markers.times_s >= start) & (markers.times_s < end)
            return clouds.still_cloud(markers, (start, end)), kind, max(1, int(between.sum()))
        return mean_cloud(markers), kind, len(markers.times_s)


def roles_of(experiment: Experiment[MotionPart]) -> dict[str, frames.Roles]:
    """The frames that the markers show: sensor, sensor_2, ..., hinge, axle, base."""
    part = experiment.config.markers
    roles: dict[str, frames.Roles] = {}
    for i, (key, sensor) in enumerate(listed(part, "sensor", "markers.")):
        a, b, c = sensor.markers
        offset = recordings.pose_of(experiment, f"{key}.offset", sensor.offset, "the markers' frame")
        roles[numbered("sensor", i + 1)] = frames.SensorRoles((a, b, c), offset)
    if part.frame is not None:
        a, b, c = part.frame.markers
        offset = recordings.pose_of(experiment, "markers.frame.offset", part.frame.offset, "the markers' frame")
        roles["body"] = frames.SensorRoles((a, b, c), offset)
    hinge = part.hinge
    if hinge is not None and hinge.axis and hinge.towards is not None and hinge.points is not None:
        roles["hinge"] = frames.HingeRoles(tuple(hinge.axis), hinge.towards, hinge.points)
    if part.axle is not None:
        first, second = part.axle.axle
        roles["axle"] = frames.AxleRoles((first, second), tuple((a, b) for a, b in part.axle.across))
    if part.base is not None:
        first, second = part.base.axle or part.base.ahead or ("", "")  # one of them is given
        roles["base"] = frames.BaseRoles((first, second), "x" if part.base.axle is None else "y")
    return roles


@dataclass(frozen=True, slots=True, eq=False)
class CapturedMotion:
    """All that the instruments say about how the body moved; what is not asked for, or cannot be known, is None."""

    body: Body
    frame: str
    """Whose motion it is: sensor, axle or body."""
    poses: Poses
    """T_capture_frame."""
    devices: dict[str, Instrument]
    """Those beside the cameras, with their clocks against theirs: imu, wrench."""
    placement: Placement | None
    """The IMU in that frame, and the tilt of the capture frame, as the motion tells."""
    up: FloatArray
    """(3,) in the capture frame."""
    findings: tuple[Finding, ...]
    motion: Motion | None = None
    derivatives: slopes.PoseMotion | None = None
    """None also where markers and IMU were fused."""
    hinge: frames.HingeAxis | None = None
    hinge_motion: frames.HingeMotion | None = None
    angle: slopes.CoordinateMotion | None = None
    """The hinge's angle with speed and acceleration."""
    inclination_rad: tuple[float, float] | None = None
    """Angle between hinge and vertical, and its standard deviation: infinite where the vertical was not measured."""
    rolling: wheels.RollingMotion | None = None


def attempt(findings: list[Finding], cause: str, what: Callable[[], T]) -> T | None:
    """The result; where it cannot be known, None and a finding that says why: the rest goes on."""
    try:
        return what()
    except DataProblem as error:
        findings.append(Finding(cause, str(error)))
        return None


def capture(experiment: Experiment[Any], tell: Tell = silent, *, wrench: bool = False) -> CapturedMotion:
    """Poses and frames of the body, clocks of the instruments beside the cameras, and the vertical.

    wrench: whether the load cell's clock is wanted too, by the motion of the body alone.
    """
    tell("aligning the poses", 0.0)
    body = read_marked(experiment) if experiment.config.recordings.mocap is not None else read_posed(experiment)
    findings = list(body.findings)
    frame = next((name for name in ("sensor", "axle") if name in body.frames), "body")
    poses = body.poses_of(frame)
    tell("comparing the clocks", 0.6)
    devices = _devices(experiment, body, findings, wrench=wrench)
    tell("looking for the vertical", 0.8)
    placement = _placement(experiment, body, poses, devices.get("imu"), findings)
    moves_along = placement is not None and placement.explained >= TOGETHER
    up = placement.tilt.up if placement is not None and moves_along and placement.tilt is not None else UP
    angle = float(np.degrees(np.arctan2(np.hypot(up[0], up[1]), up[2])))
    if angle >= ASKEW_DEG:
        evidence = f"the vertical is {angle:.0f} deg off the capture frame's z axis"
        remedy = "write markers: {up: y}, or level the capture system"
        findings.append(Finding("vertical", evidence, "", remedy, Severity.FATAL))
    return CapturedMotion(body, frame, poses, devices, placement, up, tuple(findings))


def build_motion(experiment: Experiment[MotionPart] | str | Path, tell: Tell = silent) -> CapturedMotion:
    """Run the motion stage of an experiment, or of the file at this path.

    What cannot be known is a finding; what is wrong in the file is an error.
    """
    experiment = experiment_of(experiment)
    config, captured = experiment.config, capture(experiment, portion(tell, 0.0, 0.7), wrench=True)
    markers, body, poses, up = config.markers, captured.body, captured.poses, captured.up
    part, findings = config.derivatives, list(captured.findings)
    more: dict[str, Any] = {}
    tell("differentiating", 0.7)
    if part.method == "fusion":
        imu = captured.devices.get("imu")
        more["motion"] = attempt(findings, "fusion", lambda: _fused(experiment, poses, up, imu))
    else:
        derivatives = attempt(findings, "derivatives", lambda: _derivatives(config, poses, up))
        more |= {"derivatives": derivatives, "motion": None if derivatives is None else derivatives.motion}
    hinge = None if markers.hinge is None else attempt(findings, "hinge", lambda: hinge_of(body))
    if hinge is not None:
        x = frames.hinge_motion(body.poses, hinge)
        findings += frames.check_hinge(x)
        window = 0.31 if part.method == "published" and part.window is None else part.window
        angle = attempt(
            findings,
            "hinge angle",
            lambda: slopes.coordinate_motion(x.times_s, x.angle_rad, window_s=window, order=part.order),
        )
        more |= {"hinge": hinge, "hinge_motion": x, "angle": angle}
        more["inclination_rad"] = frames.inclination(hinge.T_world_hinge, up), float("inf")
        if captured.placement is not None and captured.placement.tilt is not None:
            # a hinge of markers is as uncertain as the body's pose
            std = hinge.direction_std_rad
            std = std if np.isfinite(std) else body.pose_std[0]
            more["inclination_rad"] = hinge_inclination(hinge.T_world_hinge[:3, 2], std, captured.placement.tilt)
    if markers.axle is not None:
        more["rolling"] = rolls = wheels.rolling(body.poses_of("axle"), floor_m=markers.axle.floor, up=up)
        findings += [] if markers.axle.radius is None else wheels.check_wheel(rolls, markers.axle.radius)
    return replace(captured, findings=tuple(findings), **more)


def joint_of(body: Body, kind: str, axis: tuple[float, float, float], shut: BoolArray) -> frames.JointFrame:
    """The frame of a joint of one freedom: by the markers on a hinge, or from the motion itself; shut (frames,)."""
    if kind == "turn":
        return frames.joint_of_hinge(hinge_of(body))
    return frames.slide_from_motion(body.poses, near=body.middle, axis=axis, shut=shut)


def _devices(
    experiment: Experiment[Any], body: Body, findings: list[Finding], *, wrench: bool
) -> dict[str, Instrument]:
    parts, devices = experiment.config.recordings, dict[str, Instrument]()

    def on_clock(name: str, instrument: Instrument, estimate: Callable[[], Offset]) -> None:
        stated = stated_clock(experiment, name, instrument.even, body)
        offset = None if stated else attempt(findings, "clock", estimate)
        devices[name] = replace(instrument, clock=stated) if stated else instrument.timed_by(offset)

    if parts.imu is not None:
        imu, faults = recordings.read_imu(experiment, parts.imu).without_faults()
        x = imu.even.seen_x
        findings += [*faults, *check_imu(imu.even.times_s, x[:, :3], x[:, 3:])]
        on_clock("imu", imu, lambda: imu_clock(body.poses, imu.even))
    if wrench and parts.wrench is not None:
        cell = recordings.read_wrench(experiment, parts.wrench)
        findings += cell.faults()
        on_clock("wrench", cell, lambda: wrench_clock(body.poses, cell.even, devices.get("imu")))
    return devices


def stated_clock(experiment: Experiment[Any], name: str, even: Even, body: Body) -> ClockMap | None:
    """The clock as the experiment file states it: a frame and a sample of the same instant; None: auto."""
    if experiment.config.clocks == "auto":
        return None
    at = recordings.time_of_sample(experiment, body.key, replace(even, times_s=body.poses.times_s, rows=body.rows))
    period = float(np.median(np.diff(body.poses.times_s)))
    # a typed sample is right to half a period, and says nothing about drift
    return clock_map(at - recordings.time_of_sample(experiment, name, even), period / 12**0.5, at)


def wrench_features(motion: Motion) -> FloatArray:
    """What the wrench of any rigid body is a linear combination of, (samples, 15).

    omega itself belongs to them, because a zero error b of the gyroscope turns products of omega into b omega, which
    would else pass for a lag of some 20 us.
    """
    k = Kinematics.from_arrays(motion.specific_acceleration, motion.omega, motion.omega_dot)
    return np.vstack([np.array(body_features(k), dtype=float), motion.omega.T]).T


def imu_clock(poses: Poses, imu: Even) -> Offset:
    """The IMU against motion capture, by the angular velocity that both saw; of what only slides, by acceleration."""
    what = "clock of the IMU against motion capture"
    if not hardly_turns(poses):
        return marker_clock(poses, imu.times_s, imu.seen_x[:, 3:], what=what)
    motion = slopes.pose_motion(poses, gravity=(0.0, 0.0, -STANDARD_GRAVITY)).motion
    both = (imu.times_s, imu.seen_x[:, :3], motion.times_s, motion.specific_acceleration)
    return estimate_offset(*both, what=what, bandwidth_hz=HAND_HZ, alike=True)


def wrench_clock(poses: Poses | None, wrench: Even, imu: Instrument | None) -> Offset:
    """Reference minus load-cell time, by the motion of the IMU where its clock is known, else of the markers."""
    what = "clock of the load cell"
    if imu is not None and imu.clock is not None:
        x = imu.even.x
        motion = imu_motion(imu.even.times_s, x[:, :3], x[:, 3:], np.eye(4), PARALLEL)
        times = imu.clock.to_reference(motion.times_s)
        features = without_lost(motion.times_s, wrench_features(motion), imu.even.lost, PARALLEL.reach_s)
        offset = estimate_offset(times, features, wrench.times_s, wrench.seen_x, what=what)
        offset = replace(  # it is known no better than the IMU's
            offset,
            std_s=float(np.hypot(offset.std_s, imu.clock.offset_std_s)),
            drift_std_ppm=float(np.hypot(offset.drift_std_ppm, imu.clock.drift_std_ppm)),
            freedom=min(offset.freedom, imu.clock.freedom),
        )
    elif poses is None:
        raise DataProblem(what, "there is no motion to compare it with", remedy="record an IMU or markers with it")
    else:
        motion = slopes.pose_motion(poses, gravity=(0.0, 0.0, -STANDARD_GRAVITY)).motion
        if not np.isfinite(motion.omega_dot).all(axis=1).any():
            raise DataProblem(what, "the markers give no motion to compare it with")
        signals = (motion.times_s, wrench_features(motion), wrench.times_s, wrench.seen_x)
        offset = estimate_offset(*signals, what=what, bandwidth_hz=8.0)
    # the same relation, counted from the response (the load cell) to the predictors (the reference)
    return replace(
        offset,
        value_s=-offset.value_s,
        at_s=offset.at_s - offset.value_s,
        drift_ppm=-offset.drift_ppm,
        lags_s=-offset.lags_s[::-1],
        misfit=offset.misfit[::-1],
    )


def not_rigid(body: MarkedBody) -> list[Finding]:
    """Markers that form no rigid body, or hardly ever."""
    size = float(np.linalg.norm(np.ptp(body.cloud.points, axis=0)))
    if size > LARGEST_M:
        evidence = f"the markers span {size:.0f} m: their unit is mm, not m, or they belong to several bodies"
        return [Finding("markers", evidence, severity=Severity.FATAL)]
    error, known = body.fit.mean_error_m, float(body.fit.alignment.usable.mean())
    shown = float((body.markers.seen.sum(axis=1) >= 3).mean())
    if error <= NOT_RIGID_M and known >= 0.8 * shown and body.checked.confused_share <= 0.2:
        return []
    loose = error > NOT_RIGID_M
    off = f"{1e3 * error:.0f} mm off on average" if loose else f"they agree in {100 * known:.0f} % of the frames"
    evidence = f"these {len(body.markers.names)} markers are not one rigid body: {off}"
    remedy = "name those of one body (stage: motion, markers: {body: [...]})"
    return [Finding("markers", evidence, "", remedy, Severity.FATAL)]


def outages(body: Body, segments: Sequence[Segment]) -> list[Finding]:
    """Where the cameras lost the body for so long that nothing is known of its motion in the segments."""
    poses, inside = body.poses, segment_mask(body.poses.times_s, segments)
    period = float(np.median(np.diff(poses.times_s)))
    gaps = [(a, b) for a, b in runs(inside & ~poses.seen) if (b - a) * period >= OUTAGE_S]
    if not gaps:
        return []
    total, longest = (f"{period * x:.2g} s" for x in (sum(b - a for a, b in gaps), max(b - a for a, b in gaps)))
    at = poses.times_s[max(gaps, key=lambda gap: gap[1] - gap[0])[0]]
    places = f"in {len(gaps)} place{'s' if len(gaps) > 1 else ''}"
    where = f"for {total} of the segments {places}, the longest {longest} at {at:.1f} s"
    remedy = "keep it in view of the cameras, or choose segments without these times"
    return [Finding("outage", f"the object was not seen {where}: these samples do not count", "mocap", remedy)]


def _placement(
    experiment: Experiment[MotionPart], body: Body, poses: Poses, imu: Instrument | None, findings: list[Finding]
) -> Placement | None:
    """Where the IMU sits and how the capture frame stands, beside the drawing where there is one."""
    if imu is None or imu.clock is None:
        return None
    signals = (imu.even.times_s, imu.even.seen_x[:, :3], imu.even.seen_x[:, 3:], imu.clock)
    bias, drawing = experiment.config.accelerometer_zero, experiment.config.imu_pose
    if hardly_turns(poses):
        placement = attempt(findings, "moves-along", lambda: imu_on_sliding_poses(poses, *signals))
    else:
        times_s, force, rate, clock = signals
        why: list[Finding] = []

        def place(rate: FloatArray) -> Placement:
            return imu_on_poses(poses, times_s, force, rate, clock, bias_std=bias)

        placement = attempt(why, "moves-along", lambda: place(rate))
        if _doubtful(placement, bias) and not any(f.place == "gyroscope" and f.fatal for f in findings):
            misread = attempt(
                why, "moves-along", lambda: misread_gyroscope(poses, times_s, rate, clock, place, placement)
            )
            if misread is not None:
                findings.append(misread)
                return None
        findings += why
    if placement is None:
        return None
    sensor = next((part for _, part in listed(experiment.config.markers, "sensor")), None)
    if sensor is not None and isinstance(body, MarkedBody):
        # a frame of three markers is known in the cloud to a part of their noise
        corners = body.placed.select(sensor.markers).points
        turn, move = frames.pose_std(corners, CLOUD_SHARE * body.checked.scale.noise_m)
        placement = placement.frame_known_to(turn, move)
    if placement.explained < TOGETHER:
        share = f"{100 * placement.explained:.1f} % of what the IMU measures is explained"
        remedy = "check that it is fixed to the same body and that no rows are missing"
        findings.append(Finding("moves-along", f"markers and IMU do not move together: {share}", "", remedy))
    if drawing is not None:
        T_sensor_imu = recordings.pose_of(experiment, "imu_pose", drawing, "the IMU")
        findings += check_placement(placement, T_sensor_imu[:3, :3], T_sensor_imu[:3, 3])
    return placement


def _doubtful(placement: Placement | None, zero: float) -> bool:
    """Whether an IMU feels something else than where it seems to sit: too little, upside down, or with a large zero."""
    if placement is None or placement.tilt is None or placement.explained < TOGETHER:
        return True
    tilt = placement.tilt
    return tilt.up[2] < 0 or float(np.abs(tilt.bias).max()) > LARGE_ZERO * zero


def _derivatives(config: MotionPart, poses: Poses, up: FloatArray) -> slopes.PoseMotion:
    part, gravity = config.derivatives, -config.gravity * up
    if part.method == "published":
        rate = 1 / float(np.median(np.diff(poses.times_s)))
        window = 11 if part.window is None else max(5, 2 * round((part.window * rate - 1) / 2) + 1)
        return slopes.published_pose_motion(poses, gravity=gravity, window=window, order=part.order)
    still = None if config.markers.still is None else (config.markers.still[0], config.markers.still[1])
    return slopes.pose_motion(poses, gravity=gravity, window_s=part.window, order=part.order, still=still)


def _fused(experiment: Experiment[MotionPart], poses: Poses, up: FloatArray, imu: Instrument | None) -> Motion:
    config = experiment.config
    if imu is None or config.imu_pose is None:
        wrong = "fusion needs recordings.imu and imu_pose"
        raise experiment.problem("derivatives.method", wrong, "or write method: local")
    if imu.clock is None:
        raise DataProblem("fusion", "the IMU's clock is not known")
    T = recordings.pose_of(experiment, "imu_pose", config.imu_pose, "the IMU")
    times, x = imu.clock.to_reference(imu.even.times_s), imu.even.seen_x
    gravity = -config.gravity * up
    return fuse(poses, times, x[:, :3], x[:, 3:], T, gravity=gravity)


def hinge_of(body: Body) -> frames.HingeAxis:
    """The hinge by its markers, or from the motion where none are named."""
    if "hinge" in body.frames:
        return frames.hinge_from_frame(body.poses, body.frames["hinge"])
    points = None if body.points is None else np.array([0.0, 0.0, 1.0 if body.points == "up" else -1.0])
    near, slow = body.middle, body.pose_std
    return frames.hinge_from_motion(body.poses, near=near, towards=body.towards, points=points, slow=slow)


def axis_std(hinge: frames.HingeAxis, body: Body) -> float:
    """How well the direction of a hinge is known, rad: markers along it are glued by eye, and its motion shows that."""
    if np.isfinite(hinge.direction_std_rad):
        return hinge.direction_std_rad
    try:
        moved = frames.hinge_from_motion(body.poses, near=body.middle)
    except DataProblem:  # it hardly turns: nothing shows it
        return 0.0
    apart = float(np.linalg.norm(np.cross(hinge.T_body_hinge[:3, 2], moved.T_body_hinge[:3, 2])))
    return float(np.hypot(apart, np.nan_to_num(moved.direction_std_rad)))


def sensor_turns(experiment: Experiment[Any], body: Body, key: SensorKeys) -> FloatArray:
    """(3, 3), see `Sensor.turn_root`: what errors of its three markers' places in the cloud do to a sensor's frame."""
    if not isinstance(body, MarkedBody):  # it is mounted on what the poses show, and known as well as that is stated
        return np.zeros((3, 0))
    part: Any = key.mount
    # noise alone; what does not average out is declared as sensor_rotation
    std = body.checked.scale.noise_m / np.sqrt(body.averaged)
    corners = body.placed.points[[marker_index(body.placed.names, marker) for marker in part.markers]]
    offset = recordings.pose_of(experiment, f"{key.mount_key}.offset", part.offset, "the markers' frame")

    def rotation(points: FloatArray) -> FloatArray:
        return frames.sensor_frame(points[0], points[1], points[2], offset)[:3, :3]

    moved = [rotation(corners + std * e.reshape(3, 3)) for e in np.eye(9)]
    turns = log_rotation(rotation(corners).T @ np.array(moved))
    values, vectors = np.linalg.eigh(turns.T @ turns)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)), dtype=float)


def check_towards(experiment: Experiment[Any]) -> None:
    """The place of a marker that stays behind is known in a static recording only."""
    config, markers = experiment.config, experiment.config.markers
    towards = None if markers.hinge is None else markers.hinge.towards
    if config.recordings.static is not None or towards is None or not markers.body:
        return
    if towards.rpartition(":")[2] not in [name.rpartition(":")[2] for name in markers.body]:
        wrong = f"{towards} is not under markers.body: only recordings.static shows where it is beside the object"
        remedy = "give recordings.static, or a marker that moves with the object"
        raise experiment.problem("markers.hinge.towards", wrong, remedy)
