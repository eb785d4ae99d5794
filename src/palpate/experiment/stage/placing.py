"""Where the object is: from the poses that were captured to the coordinates of its mechanism.

Five ways, by what the mechanism says of itself: it rolls on a floor, turns about a point, is free, says itself where
its body is, or moves along one joint that the poses show. They end in the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.file.reading import Experiment
from palpate.experiment.stage.belief import Handles
from palpate.experiment.stage.capture import CapturedMotion, axis_std, joint_of
from palpate.experiment.stage.ground import Ground, ground_of, levelled
from palpate.experiment.stage.inputs import STEP
from palpate.experiment.stage.posed import OFF_HINGE_M, check_turning
from palpate.findings import Finding, Severity
from palpate.identify.balance import Segment
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.motion.frames import JointFrame, check_joint
from palpate.motion.joints import Pivot, pivot_from_motion, screw_of_hinge
from palpate.physics.arrays import FloatArray, segment_mask
from palpate.physics.motion import Poses

UPRIGHT_RAD, OFF_WAY_RAD = np.radians(1.0), np.radians(3.0)
RECORDS_APART = 1.5
"""Standard deviations by which two records of where an object is shut are taken to differ."""
MOVES_STEPS, SHUT_STEPS, GIVES_STEPS = 0.5, 1.0, 3.0
"""Steps (`STEP`): what rests may seem to move by that much, two shut positions may differ, a stop gives way."""
PARTS_AT_REST = 20
"""Medians of so many parts of a static segment are compared: noise is no motion."""
WHEELS_M = (0.025, 1.5)
"""Radii of wheels that people push."""

Segments = Mapping[str, list[Segment]]


@dataclass(frozen=True, slots=True, eq=False)
class Placing:
    """An object in the frame of its mechanism, and how well that is known (standard deviations)."""

    model: Model
    """With gravity as it is in that frame."""
    poses: Poses
    T_cloud_body: FloatArray
    """(4, 4): the body frame in that of the markers."""
    q: FloatArray
    """(samples, coordinates)."""
    findings: list[Finding]
    stops: tuple[float, float] | None = None
    ground: Ground | None = None
    ground_root: FloatArray = field(default_factory=lambda: np.zeros((4, 0)))
    """As `Ground.root`."""
    hinge_std_m: float = 0.0
    axis_std_rad: float = 0.0
    pitch_std: float = 0.0
    closed_std: float = 0.0
    """Of where it is shut, in the unit of its coordinate."""


def place(
    experiment: Experiment[Any],
    model: Model,
    captured: CapturedMotion,
    segments: Segments,
    handles: Handles,
    doubts: Sequence[Finding],
) -> Placing:
    """Where the captured object is; doubts: findings that may be why it cannot be there."""
    mechanism = model.mechanism
    if mechanism.floor:
        return _on_floor(experiment, model, captured, segments)
    if mechanism.pivot:
        return _on_pivot(experiment, model, captured, segments)
    if [joint.kind for joint in mechanism.joints] == ["free"]:
        poses, T_cloud_body, root = _level(captured)
        return Placing(model, poses, T_cloud_body, mechanism.coordinates_of(poses), [], ground_root=root)
    if mechanism.placed:
        return _in_its_place(experiment, model, captured, handles, doubts)
    return _on_joint(experiment, model, captured, segments, handles, doubts)


# --- a floor, a point, anywhere -------------------------------------------------------------------------------------


def _on_floor(experiment: Experiment[Any], model: Model, captured: CapturedMotion, segments: Segments) -> Placing:
    base, static = experiment.config.markers.base, next(iter(segments["static"]), None)
    marked = base is None or base.axle is not None
    ground = ground_of(captured, model.mechanism, segments, static, marked=marked)
    q, findings = model.mechanism.coordinates_of(ground.poses), list(ground.findings)
    return Placing(model, ground.poses, ground.T_cloud_body, q, findings, ground=ground, ground_root=ground.root)


def _on_pivot(experiment: Experiment[Any], model: Model, captured: CapturedMotion, segments: Segments) -> Placing:
    model, pivot = _pivot(experiment, model, captured, segments["static"][:1])
    poses, findings = pivot.frame.poses(captured.body.poses), list(pivot.findings())
    q, T = model.mechanism.coordinates_of(poses), pivot.frame.T_body_frame
    return Placing(model, poses, T, q, findings, hinge_std_m=pivot.std_m, axis_std_rad=pivot.axes_std_rad)


def _level(captured: CapturedMotion) -> tuple[Poses, FloatArray, FloatArray]:
    """Poses in a world whose z points up, the body frame in that of the markers, and how well up is known."""
    body, tilt = captured.body, None if captured.placement is None else captured.placement.tilt
    T_cloud_body = body.frames.get("body", body.frames["sensor"] if body.key == "mocap" else np.eye(4))
    poses, root = levelled(body.poses.attached(T_cloud_body), tilt)
    return poses, T_cloud_body, root


def _pivot(
    experiment: Experiment[Any], model: Model, captured: CapturedMotion, static: Sequence[Segment]
) -> tuple[Model, Pivot]:
    """The point about which the object turns, with the axes of its joint, and the model with gravity as it is there."""
    body = captured.body
    with experiment.at("recordings.poses" if body.key == "poses" else "markers", kind=DataProblem):
        still, slow = segment_mask(body.poses.times_s, static), float(np.nan_to_num(body.pose_std[1]))
        pivot = pivot_from_motion(body.poses, captured.up, still, model.mechanism.pivot, slow_m=slow)
    gravity = -experiment.config.gravity * captured.up @ pivot.frame.T_world_frame[:3, :3]
    return replace(model, mechanism=model.mechanism.with_gravity(gravity)), pivot


# --- a mechanism that declares no joints: the world of the poses is its frame, if they are where it has the body -----


def _in_its_place(
    experiment: Experiment[Any], model: Model, captured: CapturedMotion, handles: Handles, doubts: Sequence[Finding]
) -> Placing:
    poses, T_cloud_body, root = _level(captured)
    mechanism = model.mechanism.with_gravity([0.0, 0.0, -experiment.config.gravity])
    model = replace(model, mechanism=mechanism)
    with experiment.at("mechanism", kind=DataProblem):
        q = mechanism.coordinates_of(poses)
    findings, stops = _off_its_way(mechanism, poses, q), None
    if mechanism.main is not None:
        stops = stops_of(experiment, q[:, 0], mechanism.position_units[0])
        check_reach(experiment, model, q[:, 0], [*doubts, *findings])
    findings += _check_untilted(experiment, handles, poses)
    return Placing(model, poses, T_cloud_body, q, findings, stops, ground_root=root)


def _off_its_way(mechanism: Mechanism, poses: Poses, q: FloatArray) -> list[Finding]:
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


def _check_untilted(experiment: Experiment[Any], handles: Handles, poses: Poses) -> list[Finding]:
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


# --- one joint: a hinge, a line, a screw ----------------------------------------------------------------------------


def _on_joint(
    experiment: Experiment[Any],
    model: Model,
    captured: CapturedMotion,
    segments: Segments,
    handles: Handles,
    doubts: Sequence[Finding],
) -> Placing:
    body = captured.body
    model, joint = _joint(experiment, model, captured, segments["static"][:1])
    poses, findings = joint.poses(body.poses), list(check_joint(joint, body.poses))
    position = model.mechanism.coordinates_of(poses)[:, 0]
    hinge_std_m = axis_std_rad = 0.0
    if joint.hinge is not None:
        hinge_std_m = float(np.nan_to_num(joint.hinge.point_std_m)) / 2**0.5
        axis_std_rad = axis_std(joint.hinge, body) / 2**0.5
    shut, closed_std = _zero_position(experiment, captured, joint, model, position, segments, findings)
    position = position - shut
    model = replace(model, mechanism=model.mechanism.with_zero_at(-shut))
    stops = stops_of(experiment, position, model.mechanism.position_units[0])
    check_reach(experiment, model, position, [*doubts, *findings])
    leaning = model.mechanism.leaning
    if not handles.known and leaning > UPRIGHT_RAD:
        why = f"the axis leans by {np.degrees(leaning):.1f} deg, so the handle's weight matters"
        raise experiment.problem("handle", f"this key is missing: {why}")
    why = "its weight is taken as part of the preload, which is right only where weight does not move the object"
    findings += [] if handles.known else [Finding("handle", why, "no handle is given")]
    return Placing(
        model,
        poses,
        joint.T_body_frame,
        position[:, None],
        findings,
        stops,
        hinge_std_m=hinge_std_m,
        axis_std_rad=axis_std_rad,
        pitch_std=joint.pitch_std if joint.stated_pitch is None else 0.0,
        closed_std=closed_std,
    )


def _joint(
    experiment: Experiment[Any], model: Model, captured: CapturedMotion, static: Sequence[Segment]
) -> tuple[Model, JointFrame]:
    """Where the hinge or line is, and the model with gravity as it is in that frame at the first sample."""
    if len(model.mechanism.joints) != 1 or model.mechanism.main is None:
        wrong = f"the object {model.name!r} is free: its motion must come from an IMU"
        raise experiment.problem("object", wrong, "stage: handle identifies it")
    (axis,) = model.mechanism.joints
    key = "recordings.poses" if captured.body.key == "poses" else "markers"
    with experiment.at("markers.hinge" if key == "markers" and axis.kind == "turn" else key, kind=DataProblem):
        shut = segment_mask(captured.body.poses.times_s, static)
        try:
            joint = joint_of(captured.body, axis.kind, axis.axis, shut)
        except DataProblem:
            check_turning(experiment, captured.body, float("inf") if axis.kind == "turn" else 0.0)
            raise
        if axis.pitch != 0.0:
            joint = screw_of_hinge(joint, captured.body.poses, axis.pitch)
        elif joint.hinge is not None:
            check_turning(experiment, captured.body, joint.hinge.slide_rms_m)
    gravity = -experiment.config.gravity * captured.up @ joint.T_world_frame[:3, :3]
    pitch = joint.pitch if axis.pitch is None else axis.pitch
    return replace(model, mechanism=model.mechanism.with_gravity(gravity).with_options(pitch=pitch)), joint


def _zero_position(
    experiment: Experiment[Any],
    captured: CapturedMotion,
    joint: JointFrame,
    model: Model,
    position: FloatArray,
    segments: Mapping[str, list[Segment]],
    findings: list[Finding],
) -> tuple[float, float]:
    """Where the object is shut, and how sure that is: in the static segment, else in the static recording, else at
    first. Where segment and recording differ, either may have it ajar, or its markers touched since.
    """
    unit, recorded, std = model.mechanism.position_units[0], None, 0.0
    limit, show = SHUT_STEPS * STEP[unit], shown_as(unit)
    if captured.body.reference == "static":
        here = Poses(np.zeros(1), np.eye(3)[None], np.zeros((1, 3)))
        recorded = float(model.mechanism.coordinates_of(joint.poses(here))[0, 0])
    if segments["static"]:
        inside = position[segment_mask(captured.body.poses.times_s, segments["static"][:1])]
        if not np.isfinite(inside).any():
            raise experiment.problem("segments.static", "the markers do not show where the object is then")
        zero = shut_position(inside, unit, findings)
        if recorded is not None and abs(zero - recorded) > limit:
            evidence = (
                f"the object stands {show(zero - recorded, '+.1f')} from where it is in recordings.static: it must be "
                "shut in both, because its position is measured from there"
            )
            least = float(np.nanmin(position)) - recorded
            if least > limit:
                evidence += f"; it is never seen shut, the nearest it comes is {show(least, '.1f')}"
            findings.append(Finding("closed", evidence, "segments.static", "", Severity.FATAL))
            zero = recorded
        elif recorded is not None:
            std = abs(zero - recorded) / RECORDS_APART
    else:
        zero = recorded if recorded is not None else float(position[np.isfinite(position)][0])
        evidence = "the sensor's preload is taken as zero, and what it shows untouched goes into the spring"
        remedy = "give a segment in which nobody touches the handle"
        findings.append(Finding("preload", evidence, "segments.static is missing", remedy))
        if recorded is None:
            severity = Severity.FATAL if model.mechanism.linkages else Severity.WARNING
            evidence = (
                "neither segments.static nor recordings.static says where the object is shut: its position is "
                "measured from the first sample"
            )
            findings.append(Finding("closed", evidence, severity=severity))
    low, high = float(np.nanmin(position)) - zero, float(np.nanmax(position)) - zero
    integrated, seen = captured.body.integrated, captured.body.poses.times_s
    drift = 0.0 if integrated is None else 3 * integrated.zero_std * float(np.ptp(seen))  # and then it only seems so
    if low < -2 * limit - drift and not model.mechanism.endless:
        evidence, remedy = f"the position reaches {show(low, '.1f')}: the object was not shut at its zero", ""
        if -low > high:
            evidence = f"opening counts as negative (the position runs from {show(low, '.1f')} to {show(high, '.1f')})"
            remedy = "reverse markers.hinge.points" if unit == "rad" else "check segments.static"
        findings.append(Finding("closed", evidence, remedy=remedy, severity=Severity.FATAL))
    return zero, std


def shut_position(position: FloatArray, unit: str, findings: list[Finding]) -> float:
    """Where an object that rests is; it must not move."""
    moves = float(np.ptp([np.nanmedian(part) for part in np.array_split(position, PARTS_AT_REST)]))
    if moves > MOVES_STEPS * STEP[unit]:
        evidence = (
            f"the object moves by {shown_as(unit)(moves, '.1f')}: it must be shut and untouched then, because its "
            "position and the sensor's preload are measured from it"
        )
        findings.append(Finding("static", evidence, "segments.static", "", Severity.FATAL))
    return float(np.nanmedian(position))


def shown_as(unit: str) -> Callable[[float, str], str]:
    """A position for people: degrees or millimetres, with a number format."""
    factor, word = (180 / np.pi, "deg") if unit == "rad" else (1e3, "mm")
    return lambda value, spec: f"{format(factor * value, spec)} {word}"


def stops_of(experiment: Experiment[Any], position: FloatArray, unit: str) -> tuple[float, float]:
    """Where the object meets its stops: as stated, or the ends of what was visited."""
    stops, show = experiment.config.stops, shown_as(unit)
    least, most = float(np.nanmin(position)), float(np.nanmax(position))
    if stops is None:
        return least, most
    low, high = stops
    if low >= high:
        wrong = f"{show(low, 'g')} is not below {show(high, 'g')}"
        raise experiment.problem("stops", wrong, "the smaller one comes first")
    if least < low - GIVES_STEPS * STEP[unit] or most > high + GIVES_STEPS * STEP[unit]:
        there = f"beyond its stops at {show(low, 'g')} and {show(high, 'g')}"
        wrong = f"the object is seen from {show(least, '.1f')} to {show(most, '.1f')}, {there}"
        ends = f"[{show(min(low, least), '.4g')}, {show(max(high, most), '.4g')}]"
        table = experiment.config.motion_from == "table"
        otherwise = "what pushes back near the ends is then found" if table else "the ends of the travel are then taken"
        raise experiment.problem("stops", wrong, f"write stops: {ends}, or leave the key out: {otherwise}")
    return low, high


def check_reach(experiment: Experiment[Any], model: Model, position: FloatArray, doubts: Sequence[Finding]) -> None:
    """Refuse positions that the linkage cannot reach."""
    try:
        model.mechanism.check_reach(position)
    except DataProblem as error:
        known = next((f.sentence for f in doubts if f.fatal), "")
        raise experiment.problem("mechanism", f"{error}; {known}" if known else str(error)) from error


def with_wheel(experiment: Experiment[Any], model: Model) -> Model:
    """The object on the wheel that markers.axle or the mechanism's options state, and nowhere else otherwise."""
    axle = experiment.config.markers.axle
    assert model.mechanism.wheel is not None
    ours = model.mechanism.wheel.radius
    radius = ours if axle is None or axle.radius is None else axle.radius
    if not WHEELS_M[0] <= radius <= WHEELS_M[1]:
        wrong = f"nobody pushes something on a wheel of {radius:g} m: expected {WHEELS_M[0]:g} to {WHEELS_M[1]:g} m"
        raise experiment.problem("markers.axle.radius", wrong, "write the unit with it: 197 mm")
    if experiment.config.mechanism.get("radius") is not None and abs(ours - radius) > 1e-6:
        wrong = f"{ours:g} m differs from {radius:g} m under markers.axle.radius"
        raise experiment.problem("mechanism.radius", wrong, "state it once")
    stated = {options.get("name") for options in experiment.config.elements if "radius" in options}
    for element in model.elements:
        if element.name not in stated:
            continue
        with experiment.at("elements", "leave radius out there"):
            element.check_wheel(radius)
    return model.with_wheel(radius)
