"""Where keys of the experiment file act: what the schema names in `only`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from palpate.experiment.file import schema
from palpate.experiment.file.schema import ExperimentPart, SamplesPart
from palpate.experiment.file.sensors import wrenches_of
from palpate.model import Model
from palpate.physics.inertia import PHI_NAMES


@dataclass(frozen=True, slots=True)
class Condition:
    """Where a key acts."""

    where: str
    """In words, after "only for"."""
    holds: Callable[[ExperimentPart], bool] | None = None
    """By what the file alone says; None: it takes the model."""
    holds_for: Callable[[Model], bool] = lambda _: True
    remedy: str = "leave it out"


CONDITIONS: Mapping[str, Condition] = {
    "body": Condition("stage: body", lambda c: c.stage == "body"),
    "motion": Condition(
        "stage: motion; a body's positions are differentiated by polynomials whose window follows from the bandwidth",
        lambda _: False,
        remedy="leave it out, or set that window: filtering: {window: 0.2 s}",
    ),
    "stage: motion": Condition("stage: motion", lambda _: False),
    "method: balance": Condition(
        "method: balance; a joint estimate takes the signals as they are",
        lambda c: c.method == "balance",
        remedy="leave it out, or write method: balance",
    ),
    "parallel": Condition(
        "filtering: {type: parallel}; what is published has its own window and order",
        lambda c: not isinstance(c.filtering, schema.PublishedPart),
        remedy="leave it out, or set them there",
    ),
    "polynomials": Condition(
        "positions that polynomials differentiate; markers and IMU are smoothed together",
        lambda c: not c.captured or c.recordings.imu is None or c.derivatives.method == "local",
        remedy="leave it out, or write derivatives: {method: local}",
    ),
    "reference: static": Condition(
        "markers.reference: static",
        lambda c: c.markers.reference in (None, "static"),
        remedy="leave it out, or leave out markers.reference",
    ),
    "reference: still": Condition(
        "markers.reference: still",
        lambda c: (c.markers.reference or ("mean" if c.recordings.static else "still")) == "still",
        remedy="leave it out, or write reference: still",
    ),
    "samples": Condition(
        "segments in samples",
        lambda c: c.segments is not None and any(isinstance(x, SamplesPart) for _, x in c.segments),
        remedy="leave it out, or count the segments: {samples: [first, last]}",
    ),
    "prior on theta": Condition(
        "a prior that pulls theta",
        lambda c: (
            c.prior is not None
            and (c.prior.form or ("divergence" if c.prior.damping == "auto" else "theta")) == "theta"
        ),
        remedy="leave it out: no number follows from it; or write prior: {form: theta, ...}",
    ),
    "imu": Condition("stage: handle, with motion measured by an IMU", lambda c: c.motion_from == "imu"),
    "markers": Condition("motion measured by markers or poses", lambda c: c.captured),
    "mocap": Condition("motion measured by markers", lambda c: c.motion_from == "markers"),
    "poses": Condition("files with recordings.poses", lambda c: c.motion_from == "poses"),
    "load cell": Condition("files with recordings.wrench, not recordings.signals", lambda c: c.motion_from != "table"),
    "an IMU": Condition("files with recordings.imu", lambda c: c.recordings.imu is not None),
    "two load cells": Condition("files with recordings.wrench_2", lambda c: len(wrenches_of(c)) > 1),
    "gyro": Condition("motion measured by an IMU or a gyroscope", lambda c: c.gyroscope),
    "accelerometer": Condition("motion measured by an IMU or an accelerometer", lambda c: c.accelerometer),
    "fixed values": Condition("files with fixed", lambda c: bool(c.fixed)),
    "known mass": Condition("files with known_mass", lambda c: c.known_mass is not None),
    "a table": Condition(
        "objects whose coordinates a table may hold: on a hinge, a slide, a screw or a universal joint, or on a "
        "mechanism of your own with as many positions as rows",
        None,
        lambda m: m.mechanism.main is not None or m.mechanism.tabled,
    ),
    "several axes": Condition(
        "objects that move in several ways, as on a universal joint",
        None,
        lambda m: m.mechanism.tabled and len(m.mechanism.rows) > 1,
    ),
    "one-freedom": Condition("objects on a hinge or a slide", None, lambda m: m.mechanism.main is not None),
    "hinge": Condition("objects on a hinge", None, lambda m: [j.kind for j in m.mechanism.joints] == ["turn"]),
    "free": Condition(
        "objects that move freely, or on a mechanism of your own without joints",
        None,
        lambda m: m.mechanism.placed or [j.kind for j in m.mechanism.joints] == ["free"],
    ),
    "wheel": Condition("objects that roll", None, lambda m: m.mechanism.wheel is not None),
    "floor": Condition("objects on a floor", None, lambda m: bool(m.mechanism.floor)),
    "base": Condition("objects of mechanism: planar", None, lambda m: m.mechanism.floor == "base"),
    "linkage": Condition("objects with a linkage of measured lengths", None, lambda m: bool(m.mechanism.sizes)),
    "mass": Condition(
        "models with a mass among their parameters", None, lambda m: "kg" in [p.unit for p in m.parameters.values()]
    ),
    "rigid body": Condition(
        "models with the ten parameters of a rigid body", None, lambda m: m.parameters.keys() >= set(PHI_NAMES)
    ),
}
"""What the keys of the schema name in `only`."""
