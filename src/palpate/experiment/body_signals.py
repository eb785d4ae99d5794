"""A plain table of an object on a hinge: angle and torque, or the path of a point and the force on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from palpate.elements import PolynomialSpring, Table
from palpate.errors import PalpateError
from palpate.experiment.body_inputs import MOVES_RAD, BodyMeasured, filtering_of, segments_of, stops_of
from palpate.experiment.file.object_model import object_model
from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import SignalsPart
from palpate.experiment.handle_inputs import load_part
from palpate.experiment.hinge_inputs import HingeInputs
from palpate.experiment.telling import Tell
from palpate.findings import Finding, Severity
from palpate.mechanisms import Hinge
from palpate.model import Model
from palpate.motion.clocks.clock import Even, evenly_sampled
from palpate.motion.frames.hinge import hinge_from_path
from palpate.physics.arrays import FloatArray
from palpate.physics.units import parse_unit
from palpate.recording import Recording
from palpate.recording.gates import check_channels

RATE_HZ = 100.0
"""Faster tables gain nothing: hands, doors and pendulums are slow."""
ONE_WAY = 0.02
"""Share of the range by which an object that moves one way only may seem to go back."""
MOST_RAD, LEAST_RAD = 40.0, np.radians(3.0)
"""Travels beyond these are of another unit: wheels turn often, hinges do not."""
JITTER = 0.2
KEYS = {"angle": "rad", "torque": "N m", "point": "m", "force": "N"}


def read_signals(experiment: Experiment[Any], tell: Tell) -> BodyMeasured:
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
        x = np.column_stack([_unwrapped(_channel(experiment, recording, part.angle, "angle")), torque])
    else:
        x, found = _from_path(experiment, recording, part, sign)
        names = [] if part.path is None else [*part.path[0], *part.path[1]]
        findings += found
    findings += check_channels(recording, names)
    even = _even(experiment, recording, names[0], x)
    findings += _jitter(even)
    even = slower(_in_time(even, part.delay))
    segments = segments_of(experiment, even.times_s, even.rows)
    angle = even.seen_x[:, 0]
    findings += _travel(experiment, angle)
    if segments["static"]:
        a, b = segments["static"][0]
        inside = angle[(even.times_s >= a) & (even.times_s < b)]
        angle = angle - float(np.nanmedian(inside))
        moves = float(np.ptp(np.nanpercentile(inside, [2, 98])))
        if moves > MOVES_RAD:
            told = f"in segments.static the object moves by {np.degrees(moves):.1f} deg: it must be shut and untouched"
            findings.append(Finding("static", told, severity=Severity.FATAL))
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
        findings.append(Finding("rate", told))
    findings += _one_way(model, angle, config.fixed)
    return BodyMeasured(inputs, segments, None, None, tuple(findings))


def _travel(experiment: Experiment[Any], angle: FloatArray) -> list[Finding]:
    """Travels that no hinge has, or that tell nothing: a wrong unit."""
    travel = float(np.nanmax(angle) - np.nanmin(angle))
    if travel == 0:
        raise experiment.problem("recordings.signals.angle", "it is the same throughout: nothing moves")
    if travel > MOST_RAD:
        told = f"the angle spans {travel:.0f} rad, {travel / (2 * np.pi):.0f} turns: is its unit deg?"
        return [Finding("travel", told, severity=Severity.FATAL)]
    if travel < LEAST_RAD:
        told = f"the angle spans only {np.degrees(travel):.2g} deg: is its unit rad?"
        return [Finding("travel", told, severity=Severity.FATAL)]
    return []


def _jitter(even: Even) -> list[Finding]:
    """Time stamps that are not even: taken as those of an even clock, which not every table has."""
    period = float(even.times_s[1] - even.times_s[0])
    if even.jitter_s < JITTER * period:
        return []
    told = (
        f"the times deviate from an even clock by up to {1e3 * even.jitter_s:.2g} ms, "
        f"{100 * even.jitter_s / period:.0f} % of a step: they are taken as jitter of the stamps; if the samples were "
        "really taken then, resample them first"
    )
    return [Finding("times", told)]


def _in_time(even: Even, delay_s: float) -> Even:
    """The torque as it was when the angle was taken: stored late by this time."""
    if delay_s == 0:
        return even
    x = even.x.copy()
    x[:, 1] = np.interp(even.times_s + delay_s, even.times_s, even.x[:, 1])
    return replace(even, x=x)


def slower(even: Even, rate_hz: float = RATE_HZ) -> Even:
    """Means of as many samples as bring a fast table down to about this rate.

    They leave white noise white, and take the same from angle and torque, so that it cancels out of the balance.
    """
    n = len(even.times_s)
    each = max(1, int((n - 1) / (even.times_s[-1] - even.times_s[0]) / rate_hz + 1e-6))
    if each == 1:
        return even
    kept = n // each
    times, x = (a[: kept * each].reshape(kept, each, -1).mean(axis=1) for a in (even.times_s[:, None], even.x))
    # a mean with a bridged sample is no measurement either
    beside = (each - 2) / 2 * float(even.times_s[1] - even.times_s[0])
    lost = tuple((a - beside, b + beside) for a, b in even.lost)
    return replace(even, times_s=times[:, 0], x=x, lost=lost, rows=np.minimum(even.rows // each, kept - 1))


def _one_way(model: Model, angle: FloatArray, fixed: Mapping[str, float]) -> list[Finding]:
    """Moved one way only, friction has one sign: the same as a moment that holds the object everywhere."""
    dry = [e.name for e in model.elements if e.dry]
    static = [e for e in model.elements if isinstance(e, Table | PolynomialSpring)]
    seen = angle[np.isfinite(angle)]
    least = ONE_WAY * float(np.ptp(seen))
    back, forth = (float((np.maximum.accumulate(x) - x).max()) for x in (seen, -seen))
    if not dry or not static or min(back, forth) > least:
        return []
    way, names = "opened" if back <= least else "closed", [p.name for e in static for p in e.parameters]
    held = [f"{name} = {fixed[name]:g} N m" for name in names if name in fixed]
    told = f"the object is only ever {way}: friction ({', '.join(dry)}) and a moment that is the same at all angles"
    if held:
        return [Finding("one way", f"{told} are told apart by what is fixed alone ({', '.join(held)})")]
    remedy = f"move it both ways, or fix one of {names[0]} to {names[-1]}, or leave {', '.join(dry)} out"
    return [Finding("one way", f"{told} cannot be told apart: {remedy}")]


def _unwrapped(angle: FloatArray) -> FloatArray:
    """Without jumps by whole turns; NaN where it was not seen."""
    found, seen = angle.copy(), np.isfinite(angle)
    found[seen] = np.unwrap(angle[seen])
    return found


def _channel(experiment: Experiment[Any], recording: Recording, name: str, key: str) -> FloatArray:
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
    experiment: Experiment[Any], recording: Recording, part: SignalsPart, sign: float
) -> tuple[FloatArray, list[Finding]]:
    """(samples, 2): angle about the circle that the point describes, and the force's moment about its axis."""
    assert part.path is not None
    path = np.column_stack([_channel(experiment, recording, n, "point") for n in part.path[0]])
    force = sign * np.column_stack([_channel(experiment, recording, n, "force") for n in part.path[1]])
    try:
        circle = hinge_from_path(path)
    except PalpateError as error:
        raise experiment.problem("recordings.signals.point", str(error)) from error
    origin, z = circle.T_world_hinge[:3, 3], circle.T_world_hinge[:3, 2]
    told = (
        f"the hinge is found from the path of the point: radius {circle.radius_m:.4f} m "
        f"(+- {1.96 * circle.radius_std_m:.4f}), {1e3 * circle.rms_m:.1f} mm off the circle on average"
    )
    return np.column_stack([circle.angle_rad, np.cross(path - origin, force) @ z]), [Finding("hinge", told)]


def _even(experiment: Experiment[Any], recording: Recording, name: str, x: FloatArray) -> Even:
    """On an even clock; times that jitter are put right by interpolation."""
    try:
        return evenly_sampled(recording[name].clock.times_s, x, what="signals")
    except PalpateError as error:
        raise experiment.problem("recordings.signals.time", str(error)) from error
