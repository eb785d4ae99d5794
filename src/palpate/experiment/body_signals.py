"""A plain table of an object on a hinge: angle and torque, or the path of a point and the force on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from palpate.errors import PalpateError
from palpate.experiment.body_inputs import BodyMeasured, filtering_of, segments_of, stops_of
from palpate.experiment.body_schema import BodyPart, SignalsPart
from palpate.experiment.handle_inputs import load_part
from palpate.experiment.hinge_inputs import HingeInputs
from palpate.experiment.object_model import object_model
from palpate.experiment.reading import Experiment
from palpate.experiment.telling import Tell
from palpate.mechanisms import Hinge
from palpate.motion.circle import hinge_from_path
from palpate.motion.evenly import Even, evenly_sampled
from palpate.physics.arrays import FloatArray
from palpate.physics.units import parse_unit
from palpate.recording import Recording
from palpate.recording.gates import Finding, check_channels

KEYS = {"angle": "rad", "torque": "N m", "point": "m", "force": "N"}


def read_signals(experiment: Experiment[BodyPart], tell: Tell) -> BodyMeasured:
    """Angle and torque from the table, on an even clock."""
    config = experiment.config
    part = config.recordings.signals
    assert part is not None
    model = object_model(experiment)
    if not isinstance(model.mechanism, Hinge):
        raise experiment.problem("object", f"the object {model.name!r} does not turn about a hinge")
    for key in ("handle", "imu_pose"):
        if getattr(config, key) is not None:
            raise experiment.problem(key, "a table of signals has no such instrument: leave this key out")
    tell("reading the table")
    recording = load_part(experiment, "recordings.signals", part)
    sign = -1.0 if part.sign == "on-hand" else 1.0
    findings: list[Finding] = []
    if part.angle is not None and part.torque is not None:
        names = [part.angle, part.torque]
        torque = sign * _channel(experiment, recording, part.torque, "torque")
        x = np.column_stack([np.unwrap(_channel(experiment, recording, part.angle, "angle")), torque])
        findings += check_channels(recording, names)
    else:
        x, found = _from_path(experiment, recording, part, sign)
        names = [*(part.point or []), *(part.force or [])]
        findings += found
    even = _even(experiment, recording, names[0], x)
    segments = segments_of(experiment, even.times_s, even.rows)
    angle = even.seen_x[:, 0]
    if segments["static"]:
        a, b = segments["static"][0]
        angle = angle - float(np.nanmedian(angle[(even.times_s >= a) & (even.times_s < b)]))
    wrench = np.zeros((len(even.times_s), 6))
    wrench[:, 5] = even.x[:, 1]
    static = segments["static"][0] if segments["static"] else None
    stops = stops_of(config, angle) if config.stops is not None else None
    inputs = HingeInputs(
        model=model,
        times_s=even.times_s,
        angle=angle,
        wrench=replace(even, x=wrench),
        clock=None,
        measured=np.where(np.isfinite(even.seen_x[:, 1:2]), wrench, np.nan),
        T_hinge_sensor=np.eye(4),
        handle=None,
        static=static,
        stops=stops,
        filtering=filtering_of(experiment, even.times_s, angle, static),
    )
    if not part.rate_known:
        told = "the table has no times and its rate is a guess: what depends on speed and acceleration is not told"
        findings.append(Finding("rate", False, told))
    return BodyMeasured(inputs, segments, None, None, tuple(findings))


def _channel(experiment: Experiment[BodyPart], recording: Recording, name: str, key: str) -> FloatArray:
    place = f"recordings.signals.{key}"
    try:
        channel = recording[name]
    except PalpateError as error:
        raise experiment.problem(place, str(error)) from error
    wanted = KEYS[key]
    if parse_unit(channel.unit).dimension != parse_unit(wanted).dimension:
        wrong = f"the channel {name!r} has the unit {channel.unit!r}, wanted is {wanted}"
        raise experiment.problem(place, wrong, "state its unit under columns:")
    return np.asarray(channel.samples, dtype=float).reshape(-1)


def _from_path(
    experiment: Experiment[BodyPart], recording: Recording, part: SignalsPart, sign: float
) -> tuple[FloatArray, list[Finding]]:
    """(samples, 2): angle about the circle that the point describes, and the force's moment about its axis."""
    assert part.point is not None
    assert part.force is not None
    path = np.column_stack([_channel(experiment, recording, n, "point") for n in part.point])
    force = sign * np.column_stack([_channel(experiment, recording, n, "force") for n in part.force])
    try:
        circle = hinge_from_path(path)
    except PalpateError as error:
        raise experiment.problem("recordings.signals.point", str(error)) from error
    origin, z = circle.T_world_hinge[:3, 3], circle.T_world_hinge[:3, 2]
    told = (
        f"the hinge is found from the path of the point: radius {circle.radius_m:.4f} m "
        f"(+- {1.96 * circle.radius_std_m:.4f}), {1e3 * circle.rms_m:.1f} mm off the circle on average"
    )
    return np.column_stack([circle.angle_rad, np.cross(path - origin, force) @ z]), [Finding("hinge", False, told)]


def _even(experiment: Experiment[BodyPart], recording: Recording, name: str, x: FloatArray) -> Even:
    """On an even clock; times that jitter are put right by interpolation."""
    try:
        return evenly_sampled(recording[name].clock.times_s, x, what="signals")
    except PalpateError as error:
        raise experiment.problem("recordings.signals.time", str(error)) from error
