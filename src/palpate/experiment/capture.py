"""The body in the capture: markers -> reference cloud -> faults -> gaps -> poses and frames."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem, PalpateError, UnknownName
from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import MarkersPart, MotionPart
from palpate.experiment.handle_inputs import load_part, pose_of
from palpate.motion.clocks.clock import evenly_sampled
from palpate.motion.frames.roles import AxleRoles, HingeRoles, Roles, SensorRoles, frames_of
from palpate.motion.markers.cloud import (
    BodyFit,
    Cloud,
    Filled,
    Markers,
    completed,
    fill_gaps,
    fit_body,
    markers_of,
    mean_cloud,
    static_cloud,
    still_cloud,
)
from palpate.motion.markers.faults import cloud_before
from palpate.motion.markers.labels import Checked, check_markers
from palpate.physics.arrays import FloatArray
from palpate.physics.poses import Poses
from palpate.recording import Recording

UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A body as motion capture saw it."""

    recording: Recording
    markers: Markers
    """Those on the body, as they were stored."""
    cloud: Cloud
    reference: str
    """Where the cloud comes from: static, still or mean."""
    raw: BodyFit
    """The alignment of the markers as stored, faults included: what the paper calls the marker error."""
    checked: Checked
    filled: Filled
    fit: BodyFit
    """The alignment without the faults."""
    poses: Poses
    """T_capture_cloud, gaps filled."""
    rows: NDArray[np.intp]
    """For each row of the file the index of its frame."""
    frames: dict[str, FloatArray]
    """T_cloud_frame of each declared role: sensor, sensor_2, hinge, axle."""
    feet: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))
    """(feet, 3): places of the feet's markers in the cloud, m."""

    def poses_of(self, frame: str) -> Poses:
        """T_capture_frame of a role; of the cloud itself where it has none."""
        return self.poses.attached(self.frames[frame]) if frame in self.frames else self.poses


def read_body(experiment: Experiment[MotionPart]) -> Body:
    """Markers to poses, as the experiment file's `markers:` says."""
    config, part = experiment.config, experiment.config.markers
    recording = load_part(experiment, "recordings.mocap", config.recordings.mocap)
    markers, rows = on_even_frames(upright(_markers(experiment, "markers.body", recording, part.body), part.up))
    whole, reference = _cloud(experiment, markers)
    cloud = whole.select([name for name in markers.names if name in whole.names])
    if len(cloud.names) < 3:
        raise experiment.problem("markers.body", f"the reference cloud has only {', '.join(cloud.names)} of them")
    try:
        body = align_body(recording, markers, cloud, reference, longest_gap_s=part.longest_gap)
    except DataProblem as error:
        raise experiment.problem("markers.body", str(error), "name the markers of one rigid body") from error
    # a marker that moved on the body shows a frame where it sat when the frame was measured
    placed = cloud_before(whole, body.checked.faults)
    frames = _frames(experiment, placed, body.poses)
    return replace(body, rows=rows, frames=frames, feet=_feet(experiment, placed))


def align_body(
    recording: Recording, markers: Markers, cloud: Cloud, reference: str = "mean", *, longest_gap_s: float = 0.1
) -> Body:
    """Find the markers' faults, fill their gaps, and align them with the cloud."""
    checked = check_markers(markers, cloud)
    noise = checked.spread_m
    filled = fill_gaps(checked.markers, cloud, longest_spline_s=longest_gap_s, noise_m=noise)
    return Body(
        recording=recording,
        markers=markers,
        cloud=cloud,
        reference=reference,
        raw=fit_body(markers, cloud),
        checked=checked,
        filled=filled,
        fit=fit_body(checked.markers, cloud, noise_m=noise),
        poses=fit_body(filled.markers, cloud, noise_m=noise).poses,
        rows=np.arange(len(markers.times_s)),
        frames={},
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
    points = np.full((len(even.times_s), len(markers.names), 3), np.nan)
    points[even.rows] = markers.points
    return Markers(markers.names, even.times_s, points), even.rows


def _markers(experiment: Experiment[MotionPart], key: str, recording: Recording, names: list[str]) -> Markers:
    try:
        return markers_of(recording, names or None)
    except PalpateError as error:
        raise experiment.problem(key, str(error)) from error


def _cloud(experiment: Experiment[MotionPart], markers: Markers) -> tuple[Cloud, str]:
    """The reference cloud with all that it can place, also markers that are not on the body."""
    part, static = experiment.config.markers, experiment.config.recordings.static
    kind = part.reference or ("static" if static is not None else "still" if part.still is not None else "mean")
    try:
        if kind == "static":
            if static is None:
                raise experiment.problem("recordings.static", "this key is missing: markers.reference asks for it")
            at_rest = upright(markers_of(load_part(experiment, "recordings.static", static)), part.up)
            return completed(static_cloud(at_rest), markers), kind
        if kind == "still":
            return still_cloud(markers, None if part.still is None else (part.still[0], part.still[1])), kind
        return mean_cloud(markers), kind
    except DataProblem as error:
        raise experiment.problem("markers.reference", str(error)) from error


def _frames(experiment: Experiment[MotionPart], cloud: Cloud, poses: Poses) -> dict[str, FloatArray]:
    """The declared frames in the cloud; a hinge without markers is not among them."""
    roles = _roles(experiment, experiment.config.markers)
    found: dict[str, FloatArray] = {}
    for name, role in roles.items():
        try:
            found |= frames_of({name: role}, cloud, up=_up(poses))
        except PalpateError as error:
            raise experiment.problem(f"markers.{name}", str(error)) from error
    return found


def _feet(experiment: Experiment[MotionPart], cloud: Cloud) -> FloatArray:
    known = {name.rpartition(":")[2]: name for name in cloud.names} | {name: name for name in cloud.names}
    for i, name in enumerate(experiment.config.markers.feet):
        if name not in known:
            raise experiment.problem(f"markers.feet.{i}", str(UnknownName("marker", name, known)))
    return cloud.places([known[name] for name in experiment.config.markers.feet])


def _roles(experiment: Experiment[MotionPart], part: MarkersPart) -> dict[str, Roles]:
    roles: dict[str, Roles] = {}
    for name, sensor in (("sensor", part.sensor), ("sensor_2", part.sensor_2)):
        if sensor is not None:
            a, b, c = sensor.markers
            offset = pose_of(experiment, f"markers.{name}.offset", sensor.offset, "the markers' frame")
            roles[name] = SensorRoles((a, b, c), offset)
    if part.hinge is not None and part.hinge.axis:
        assert part.hinge.towards is not None
        assert part.hinge.points is not None
        roles["hinge"] = HingeRoles(tuple(part.hinge.axis), part.hinge.towards, part.hinge.points)
    if part.axle is not None:
        first, second = part.axle.axle
        roles["axle"] = AxleRoles((first, second), tuple((a, b) for a, b in part.axle.across))
    return roles


def _up(poses: Poses) -> FloatArray:
    """Up in the cloud's frame, on the average of the recording: a hinge that points up does so throughout."""
    mean = poses.rotation[poses.seen].mean(axis=0).T @ UP
    return mean / max(float(np.linalg.norm(mean)), 1e-300)
