"""A body whose poses a robot, a tracker or another program recorded: the same values as from markers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from palpate.errors import DataProblem, UnknownName
from palpate.experiment.file.poses import PosesPart, Stored
from palpate.experiment.file.reading import Experiment, object_model
from palpate.experiment.file.sensors import listed, numbered
from palpate.experiment.stage import recordings
from palpate.experiment.stage.body import Body
from palpate.findings import Finding, Severity
from palpate.motion.arm import Arm
from palpate.motion.clock import evenly_sampled
from palpate.motion.frames import hinge_from_motion
from palpate.motion.integration import angle_of_rate, main_direction, travel_of_acceleration
from palpate.motion.plausibility import judge_accelerometer
from palpate.motion.tracked import Jump, pose_noise, rotations_of, without_jumps
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.motion import Poses, exp_rotation
from palpate.recording import Recording

KEY = "recordings.poses"
LARGEST_M = 20.0
"""Nobody carries, pulls or turns an object farther in one recording."""
TURNS = {"z": [0, 1, 2], "y": [2, 0, 1], "x": [1, 2, 0]}
"""Which axes of a world are x, y, z of one whose z points up."""
ALIKE: dict[Stored, Stored] = {
    "wxyz": "xyzw",
    "xyzw": "wxyz",
    "rotation-vector": "euler-zyx",
    "euler-zyx": "rotation-vector",
}
"""Readings that take the same numbers."""
RESTS = "state all times in which it rests: static: [[0.5, 4.5], [25, 26], [58, 59]]"
HELD_SHARE = 0.5
"""Share of the rows that may repeat the one before while the body moves."""
OFF_HINGE_M, FAR_BETTER = 0.005, 0.2
"""How far off its hinge a body may move; share of that at which another reading of its orientation is the right one."""


def read_posed(experiment: Experiment[Any]) -> Body:
    """Poses as the experiment file's `recordings.poses` and `poses:` say."""
    part: PosesPart = experiment.config.recordings.poses
    recording = recordings.load_part(experiment, KEY, part)
    if part.along is not None:
        return _along(experiment, recording, *part.along)
    poses = _by_joints(experiment, part, recording) if part.joints is not None else _stated(experiment, part, recording)
    with experiment.at(KEY):
        poses, rows = _on_even_clock(poses)
    findings = [*_held(poses), *_span(poses)]
    poses, jumps = without_jumps(poses)
    findings += _jump_findings(jumps)
    return Body(
        key="poses",
        recording=recording,
        poses=poses,
        rows=rows,
        pose_std=pose_noise(poses),
        frames=_frames(experiment),
        points=experiment.config.poses.points,
        findings=tuple(findings),
    )


def _stated(experiment: Experiment[Any], part: PosesPart, recording: Recording) -> Poses:
    """Position and orientation as stored."""
    stored = part.reading
    assert stored is not None  # refused by the schema
    position, numbers, times = _numbers(experiment, part, recording)
    with experiment.at(f"{KEY}.orientation", kind=DataProblem):
        return _poses(times, position, rotations_of(numbers, stored), experiment.config.poses.up)


def _by_joints(experiment: Experiment[Any], part: PosesPart, recording: Recording) -> Poses:
    """Poses of a frame of a robot by its joints."""
    assert part.joints is not None
    assert part.urdf is not None
    assert part.frame is not None
    with experiment.at(f"{KEY}.{'frame' if experiment.path(part.urdf).is_file() else 'urdf'}"):
        arm = Arm(experiment.path(part.urdf), part.frame)
    units = arm.joints
    for name in part.joints:
        if name not in units:
            raise experiment.problem(f"{KEY}.joints.{name}", str(UnknownName("joint of this chain", name, units)))
    missing = [name for name in units if name not in part.joints]
    if missing:
        wrong = f"{', '.join(missing)} move the frame {part.frame!r} too"
        raise experiment.problem(f"{KEY}.joints", wrong, "name the channels of all joints from the base to the frame")
    channels = [part.joints[name] for name in units]
    # a bag's message says neither rad nor m, which its standard does (sensor_msgs/JointState)
    bare = recording.format == "rosbag"
    expected = ["1" if bare else unit for unit in units.values()]
    x = recordings.stacked(experiment, f"{KEY}.joints", recording, channels, expected)
    positions = dict(zip(units, x.T, strict=True))
    return _turned_up(arm.poses(recording[channels[0]].clock.times_s, positions), experiment.config.poses.up)


def _frames(experiment: Experiment[Any]) -> dict[str, FloatArray]:
    """T_body_sensor of each sensor."""
    frames: dict[str, FloatArray] = {}
    for i, (key, sensor) in enumerate(listed(experiment.config.poses, "sensor", "poses.")):
        frames[numbered("sensor", i + 1)] = recordings.pose_of(experiment, key, sensor, "the sensor")
    return frames


def _along(experiment: Experiment[Any], recording: Recording, kind: str, names: list[str]) -> Body:
    """The poses of what turns about z, or slides along x, by one coordinate."""
    key, slides = f"{KEY}.{kind}", kind in ("travel", "acceleration")
    model = object_model(experiment)
    if [joint.kind for joint in model.mechanism.joints] != ["slide" if slides else "turn"]:
        others = "angle or angular_rate" if slides else "travel"
        wrong = f"the object {model.name!r} {'does not slide' if slides else 'does not turn about a hinge'}"
        raise experiment.problem(key, wrong, f"write {others}, or position and orientation")
    units = {"angle": "rad", "travel": "m", "angular_rate": "rad/s", "acceleration": "m/s2"}
    x = recordings.stacked(experiment, key, recording, names, [units[kind]] * len(names))
    with experiment.at(key):
        even = evenly_sampled(recording[names[0]].clock.times_s, x, what=kind)
        q, integrated, findings, off = even.seen_x[:, 0], None, list[Finding](), dict[str, float]()
        if kind == "angle":
            seen = np.isfinite(q)
            q = q.copy()
            q[seen] = np.unwrap(q[seen])
        elif kind == "angular_rate":
            about = main_direction(even.x)
            angle, integrated, words = angle_of_rate(even.times_s, even.x @ about, swings=False)
            if len(names) == 3 and float(np.max(angle)) < -float(np.min(angle)):
                angle = -angle
            q = np.where(np.isfinite(even.seen_x).all(axis=1), angle, np.nan)
            findings.append(Finding("gyroscope", f"the angle is the integral of the rate: {words}", key))
        elif kind == "acceleration":
            rests = recordings.segments_of(experiment, even.times_s, even.rows)["static"]
            if not rests:
                wrong = "an accelerometer does not tell rest from an even motion"
                raise experiment.problem("segments.static", f"this key is missing: {wrong}", RESTS)
            if len(rests) == 1:
                wrong = "after a single rest nothing tells how far an acceleration that is integrated twice has drifted"
                raise experiment.problem("segments.static", wrong, RESTS)
            travel, integrated = travel_of_acceleration(even.times_s, even.x, rests)
            q = np.where(np.isfinite(even.seen_x).all(axis=1), travel, np.nan)
            evidence = f"the travel is the acceleration integrated twice, with {len(rests)} rests"
            vague = f"it drifts by some {1e3 * integrated.zero_std:.2g} mm/s, and what follows the position is vague"
            doubts, off = judge_accelerometer(even.times_s, even.x)
            findings += [Finding("accelerometer", f"{evidence}: {vague}", key), *doubts]
    n, line = len(q), np.eye(3)[0 if slides else 2]
    seen = np.isfinite(q)
    rotation = np.broadcast_to(np.eye(3), (n, 3, 3)) if slides else exp_rotation(np.outer(np.nan_to_num(q), line))
    position = (q if slides else 0.0 * q)[:, None] * line
    poses = Poses(even.times_s, np.where(seen[:, None, None], rotation, np.nan), position)
    return Body(
        key="poses",
        recording=recording,
        poses=_turned_up(poses, experiment.config.poses.up),
        rows=np.asarray(even.rows),
        pose_std=(0.0, 0.0),
        frames=_frames(experiment),
        points=experiment.config.poses.points,
        findings=tuple(findings),
        integrated=integrated,
        contradicted=off,
    )


def _numbers(
    experiment: Experiment[Any], part: PosesPart, recording: Recording
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Position (samples, 3), m; orientation (samples, 3, 4 or 9) as stored; times, s."""
    angles = part.reading in ("rotation-vector", "euler-zyx")
    units = ["rad" if angles else "1"] * len(part.orientation)
    numbers = recordings.stacked(experiment, f"{KEY}.orientation", recording, part.orientation, units)
    with experiment.at(f"{KEY}.position"):
        if isinstance(part.position, str):
            channel = recording[part.position]
            if channel.samples.ndim != 2 or channel.unit != "m":
                wrong = f"{part.position!r} does not hold three lengths"
                raise DataProblem(str(part.file), wrong, remedy="name the three channels of x, y, z")
            position = channel.samples
        else:
            position = recordings.stacked(experiment, f"{KEY}.position", recording, part.position, ["m"] * 3)
            channel = recording[part.position[0]]
        clock = recording[part.orientation[0]].clock
        if clock is not channel.clock and not np.array_equal(clock.times_s, channel.clock.times_s):
            raise DataProblem(str(part.file), "position and orientation have different times")
    return position, numbers, clock.times_s


def _poses(times_s: FloatArray, position: FloatArray, R: FloatArray, up: str) -> Poses:
    """Turned so that z of their world points up."""
    seen: BoolArray = np.asarray(np.isfinite(position).all(axis=1) & np.isfinite(R).all(axis=(1, 2)))
    there = seen[:, None]
    return _turned_up(Poses(times_s, np.where(there[:, None], R, np.nan), np.where(there, position, np.nan)), up)


def _turned_up(poses: Poses, up: str) -> Poses:
    """Seen from a world whose z points up."""
    turn = TURNS[up]
    return Poses(poses.times_s, poses.rotation[:, turn], poses.position[:, turn])


def _on_even_clock(poses: Poses) -> tuple[Poses, Any]:
    """Every sample that the device took, those without a row as not seen; and where each row went."""
    count = np.arange(len(poses), dtype=float)[:, None]
    even = evenly_sampled(poses.times_s, count, what="poses")
    n, rows = len(even.times_s), np.asarray(even.rows)
    R, r = np.full((n, 3, 3), np.nan), np.full((n, 3), np.nan)
    R[rows], r[rows] = poses.rotation, poses.position
    return Poses(even.times_s, R, r), rows


def _held(poses: Poses) -> list[Finding]:
    """Rows that repeat the one before: a slow device in a fast table has steps in place of a motion."""
    seen = poses.seen
    both = seen[1:] & seen[:-1]
    same = (
        both & (np.diff(poses.position, axis=0) == 0).all(axis=1) & (np.diff(poses.rotation, axis=0) == 0).all((1, 2))
    )
    starts = np.flatnonzero(~same & both)
    if len(starts) < 20:
        return []
    every = float(np.median(np.diff(starts)))
    if every < 2 or same.mean() < HELD_SHARE:
        return []
    evidence = f"only every {every:.0f}th row is new, the others repeat it: their device is slower than the table"
    remedy = "keep the rows that are new, at the times at which they became so"
    return [Finding("poses", evidence, KEY, remedy, Severity.FATAL)]


def _span(poses: Poses) -> list[Finding]:
    """Places that no body reaches, which are in another unit."""
    size = float(np.linalg.norm(np.nanmax(poses.position, axis=0) - np.nanmin(poses.position, axis=0)))
    if size <= LARGEST_M:
        return []
    evidence, remedy = f"the positions span {size:.0f} m", "is their unit mm? State it under columns:"
    return [Finding("travel", evidence, f"{KEY}.position", remedy, Severity.FATAL)]


def _jump_findings(jumps: list[Jump]) -> list[Finding]:
    findings: list[Finding] = []
    away, steps = [j for j in jumps if j.back], [j for j in jumps if not j.back]
    if away:
        most = max(away, key=lambda j: j.move_m + j.turn_rad)
        times = f"{len(away)} times, " if len(away) > 1 else ""
        evidence = f"the pose jumps away and comes back ({times}most by {most.size} at {most.begin_s:.2f} s)"
        remedy = "check what the tracker saw there, or the robot's connection"
        findings.append(Finding("poses", f"{evidence}; these samples are left out", KEY, remedy))
    if steps:
        most = max(steps, key=lambda j: j.move_m + j.turn_rad)
        more = f", and {len(steps) - 1} more" if len(steps) > 1 else ""
        evidence = f"the pose jumps by {most.size} at {most.begin_s:.2f} s and stays there{more}, as no body moves"
        remedy = "the tracker took another origin, or the tool slipped: record again, or cut the file there"
        findings.append(Finding("poses", evidence, KEY, remedy, Severity.FATAL))
    return findings


def other_readings(experiment: Experiment[Any], body: Body) -> Iterator[tuple[str, Poses]]:
    """What people confuse: (words on what would be right, the poses so), at the times of the body's own."""
    part: PosesPart | None = experiment.config.recordings.poses
    if part is None or part.along is not None or part.joints is not None:
        return
    up = experiment.config.poses.up
    position, numbers, times = _numbers(experiment, part, body.recording)
    stored = part.reading
    assert stored is not None

    def placed(position: FloatArray, R: FloatArray) -> Poses:
        poses, seen = _poses(times, position, R, up), body.poses.seen
        turned, moved = np.full((len(seen), 3, 3), np.nan), np.full((len(seen), 3), np.nan)
        turned[body.rows], moved[body.rows] = poses.rotation, poses.position
        there = seen[:, None]
        return Poses(body.poses.times_s, np.where(there[:, None], turned, np.nan), np.where(there, moved, np.nan))

    if stored in ALIKE:
        yield f"write stored: {ALIKE[stored]}", placed(position, rotations_of(numbers, ALIKE[stored]))
    inverse = rotations_of(numbers, stored).transpose(0, 2, 1)
    words = "these are poses of the world seen from the body: invert them"
    yield words, placed(-np.einsum("nij,nj->ni", inverse, position), inverse)
    yield "the orientation is that of the world seen from the body: transpose it", placed(position, inverse)


def check_turning(experiment: Experiment[Any], body: Body, off_m: float) -> None:
    """Refuse poses that leave their hinge by so much (m, RMS), where another reading of their orientation does not."""
    if body.key != "poses" or off_m <= OFF_HINGE_M:
        return
    best = (FAR_BETTER * off_m, "")
    for words, poses in other_readings(experiment, body):
        try:
            best = min(best, (hinge_from_motion(poses).slide_rms_m, words))
        except DataProblem:
            continue
    if best[1]:
        by = "" if not np.isfinite(off_m) else f"by {1e3 * off_m:.3g} mm (rms), but so by {1e3 * best[0]:.2g} mm only"
        wrong = f"as stated, the body {f'leaves its hinge {by}' if by else 'turns about no hinge'}"
        raise experiment.problem(f"{KEY}.orientation", wrong, best[1])
