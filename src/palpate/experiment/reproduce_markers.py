"""Markers as the paper's authors use them: every visible one, plain Kabsch against a mean cloud, nothing repaired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import MocapPart, SensorMarkersPart
from palpate.experiment.handle_inputs import load_part
from palpate.experiment.reproduce_choices import BodyChoices
from palpate.experiment.reproduce_published import span
from palpate.motion.frames.roles import axle_frame, hinge_frame
from palpate.motion.markers.cloud import Markers, markers_of
from palpate.motion.markers.rigid import Alignment, align
from palpate.physics.arrays import FloatArray
from palpate.physics.spatial import transform

UP = (0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """A body in the authors' window: the reference cloud, its pose in every sample, and frames in the cloud."""

    names: tuple[str, ...]
    """Of the cloud, in the file's order, without the subject."""
    cloud: FloatArray
    """(markers, 3) m; NaN: never seen."""
    alignment: Alignment

    def place(self, name: str) -> FloatArray:
        """(3,) m: a marker in the cloud."""
        return self.cloud[self.names.index(name)]

    def rotation(self, R_cloud_frame: FloatArray) -> FloatArray:
        """(samples, 3, 3): a frame of the cloud in the world."""
        return self.alignment.rotation @ R_cloud_frame

    def position(self, r_cloud: FloatArray) -> FloatArray:
        """(samples, 3) m: a point of the cloud in the world."""
        return self.alignment.rotation @ r_cloud + self.alignment.position

    @property
    def error_m(self) -> float:
        """The paper's marker error, m."""
        return mean_error_m(self.alignment)


def mean_error_m(alignment: Alignment) -> float:
    """Mean distance of the visible markers from their places, averaged over the frames with a pose, m."""
    error = alignment.error[alignment.usable]
    each = np.asarray(np.nanmean(error, axis=1), dtype=float)
    return float(each.mean()) if len(each) else float("nan")


def read_markers(experiment: Experiment[Any], key: str, part: MocapPart) -> Markers:
    """All markers of a file, names without the subject, in its order."""
    found = markers_of(load_part(experiment, f"recordings.{key}", part))
    return Markers(tuple(n.rpartition(":")[2] for n in found.names), found.times_s, found.points)


def aligned_door(experiment: Experiment[Any], choices: BodyChoices, *, whole: bool = False) -> Aligned:
    """The door against the mean of its static file; `whole`: all rows of the file instead of the authors' window."""
    recordings = experiment.config.recordings
    assert recordings.mocap is not None
    assert recordings.static is not None
    markers, static = (
        read_markers(experiment, "mocap", recordings.mocap),
        read_markers(experiment, "static", recordings.static),
    )
    if markers.names != static.names:
        raise DataProblem(recordings.static.file, f"its markers are not those of {recordings.mocap.file}")
    points = markers.points if whole else _cut(markers, choices, recordings.mocap.file)
    cloud = _mean(static.points)
    body = [markers.names.index(n) for n in experiment.config.markers.body]
    return Aligned(markers.names, cloud, align(points[:, body], cloud[body]))


def aligned_barrow(experiment: Experiment[Any], choices: BodyChoices) -> Aligned:
    """The wheelbarrow against the mean of some samples of its own window, heights from the floor."""
    recordings = experiment.config.recordings
    assert recordings.mocap is not None
    assert choices.reference is not None
    markers = read_markers(experiment, "mocap", recordings.mocap)
    points = _cut(markers, choices, recordings.mocap.file) + np.array([0.0, 0.0, choices.raised_m])
    cloud = _mean(points[span(choices.reference)])
    return Aligned(markers.names, cloud, align(points, cloud))


def sensor_in_cloud(body: Aligned, part: SensorMarkersPart) -> FloatArray:
    """T_cloud_sensor (4, 4): x from p2 to p3, z along (p1 - p2) x x, y = -x x z, times the inverse of the machined
    offset as printed (FORMATS, Sensor frame).
    """
    p1, p2, p3 = (body.place(n) for n in part.markers)
    x = _unit(p3 - p2)
    z = _unit(np.cross(p1 - p2, x))
    machined = transform(np.array(part.offset.rotation), np.array(part.offset.translation))
    return transform(np.stack([x, -np.cross(x, z), z], axis=1), p2) @ np.linalg.inv(machined)


def hinge_in_cloud(body: Aligned, axis: Sequence[str], towards: str) -> FloatArray:
    """T_cloud_hinge (4, 4), z down."""
    points = np.array([body.place(n) for n in axis])
    return hinge_frame(points, body.place(towards), -np.array(UP))


def axle_in_cloud(body: Aligned, axle: Sequence[str], across: Sequence[Sequence[str]]) -> FloatArray:
    """T_cloud_axle (4, 4)."""
    along = np.sum([body.place(b) - body.place(a) for a, b in across], axis=0)
    return axle_frame(body.place(axle[0]), body.place(axle[1]), along)


def _cut(markers: Markers, choices: BodyChoices, file: str) -> FloatArray:
    needed = choices.window.needed("mocap")
    if len(markers.points) < needed:
        raise DataProblem(file, f"it has {len(markers.points)} rows, the authors' window ends with row {needed}")
    return markers.points[choices.window.rows("mocap")]


def _mean(points: FloatArray) -> FloatArray:
    """(markers, 3): mean over the samples in which each was seen, NaN where it never was."""
    seen = np.asarray(np.isfinite(points).all(axis=2))
    count = seen.sum(axis=0)
    total = np.where(seen[:, :, None], points, 0.0).sum(axis=0)
    return np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], np.nan)


def _unit(v: FloatArray) -> FloatArray:
    return np.asarray(v / np.linalg.norm(v), dtype=float)
