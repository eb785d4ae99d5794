"""From an experiment file of the body stage to what its balance is made of: markers, clocks, sensor and handle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem, PalpateError
from palpate.experiment.body_capture import added, as_motion
from palpate.experiment.body_doubts import check_reach, check_stops, check_towards, touched, units_doubt
from palpate.experiment.file.object_model import object_model
from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import BodyPart, PublishedPart, SamplesPart
from palpate.experiment.handle_of_body import handle_of
from palpate.experiment.hinge_inputs import ATTENUATION_DB, Filtering, Handle, HingeInputs
from palpate.experiment.motion import CapturedMotion, build_motion
from palpate.experiment.result import Result
from palpate.experiment.segments import samples_in_seconds
from palpate.experiment.telling import Tell
from palpate.findings import Finding, Severity
from palpate.identify.balance import Segment
from palpate.mechanisms import Hinge
from palpate.motion.derivatives.bandwidth import light_window_s, signal_bandwidth
from palpate.motion.derivatives.filters import design_lowpass
from palpate.motion.frames.hinge import hinge_motion
from palpate.physics.arrays import FloatArray
from palpate.physics.poses import Poses

UPRIGHT_RAD = np.radians(1.0)
SHUT_RAD = np.radians(1.0)
MOVES_RAD = np.radians(0.5)
"""What rests may seem to move by that much, as markers come and go."""
FASTEST_HZ = 15.0
"""Hands and doors are slower; a low-pass needs room up to half the rate."""


@dataclass(frozen=True, slots=True, eq=False)
class BodyMeasured:
    """A body experiment up to its balance."""

    inputs: HingeInputs
    segments: dict[str, list[Segment]]
    """static, quasi_static, train, test; seconds on the reference clock."""
    captured: CapturedMotion | None
    handle: Result | None
    """Of the handle's own stage, where it was run."""
    findings: tuple[Finding, ...]


def read_capture(experiment: Experiment[Any], tell: Tell) -> BodyMeasured:
    """Markers, load cell and handle of an object on a hinge."""
    config = experiment.config
    model = object_model(experiment)
    if not isinstance(model.mechanism, Hinge):
        raise experiment.problem("object", f"the object {model.name!r} does not turn about a hinge")
    for key in ("hinge", "sensor"):
        if getattr(config.markers, key) is None:
            raise experiment.problem(f"markers.{key}", "this key is missing: the body stage needs to know where it is")
    if config.handle is None and config.model_of != "body":
        raise experiment.problem("handle", f"this key is missing: model_of: {config.model_of} needs it")
    check_towards(experiment)
    phi, handle_result, doubts = handle_of(experiment, tell)
    captured = build_motion(as_motion(experiment, with_wrench=True), tell)
    findings = [*captured.findings, *(Finding("handle", text) for text in doubts)]
    if captured.hinge is None or captured.hinge_motion is None:
        told = next((f.sentence for f in findings if f.cause == "hinge"), "the hinge was not found")
        raise experiment.problem("markers.hinge", told)
    device = captured.devices["wrench"]
    times = captured.poses.times_s
    segments = segments_of(experiment, times, captured.body.rows)
    angle, closing = _angle_from_shut(experiment, captured, segments, linked=model.mechanism.linkage is not None)
    findings += closing
    check_stops(experiment, angle)
    check_reach(experiment, model.mechanism, angle, closing)
    T_hinge_body = np.linalg.inv(captured.hinge.T_body_hinge)
    mechanism = model.mechanism.with_gravity(-config.gravity * captured.up @ captured.hinge.T_world_hinge[:3, :3])
    findings += _without_handle(experiment, phi, mechanism)
    static = segments["static"][0] if segments["static"] else None
    inputs = HingeInputs(
        model=replace(model, mechanism=mechanism),
        times_s=times,
        angle=angle,
        wrench=replace(device.even, x=-device.even.x),  # the handle stage's sense is the opposite one
        clock=device.clock,
        measured=np.empty((0, 6)),
        T_hinge_sensor=T_hinge_body @ captured.body.frames["sensor"],
        handle=None if phi is None else Handle(phi, added(config)),
        static=static,
        stops=stops_of(config, angle),
        filtering=filtering_of(experiment, times, angle, static),
        conversion="plain" if isinstance(config.filtering, PublishedPart) else "anti-aliased",
    )
    inputs = inputs.on_clock(device.clock)
    if device.clock is not None:  # else it is found later, by the balance
        findings += touched(inputs)
    findings += units_doubt(inputs)
    return BodyMeasured(inputs, segments, captured, handle_result, tuple(findings))


def segments_of(experiment: Experiment[Any], times: FloatArray, rows: NDArray[np.int64]) -> dict[str, list[Segment]]:
    """The file's segments in seconds; `rows`: the place of each of its reference's rows on the even clock."""
    part, found = experiment.config.segments, dict[str, list[Segment]]()
    for name in ("static", "quasi_static", "train", "test"):
        chosen = getattr(part, name)
        if chosen is None:
            found[name] = []
        elif isinstance(chosen, SamplesPart):
            try:
                found[name] = samples_in_seconds(chosen, part.first_sample, times, rows)
            except PalpateError as error:
                raise experiment.problem(f"segments.{name}", str(error)) from error
        else:
            found[name] = [(float(a), float(b)) for a, b in chosen]
        for a, b in found[name]:
            if a < times[0] - 0.02 or b > times[-1] + 0.02:
                told = f"{a:.2f} to {b:.2f} s is not inside the recording, {times[0]:.2f} to {times[-1]:.2f} s"
                raise experiment.problem(f"segments.{name}", told)
    return found


def _angle_from_shut(
    experiment: Experiment[Any], captured: CapturedMotion, segments: dict[str, list[Segment]], *, linked: bool
) -> tuple[FloatArray, list[Finding]]:
    """The angle, zero where the object is shut: in the static segment, else in the static recording, else at first.

    `linked`: a linkage hangs on the hinge, whose ratio depends on where zero is.
    """
    assert captured.hinge is not None
    assert captured.hinge_motion is not None
    angle, times = captured.hinge_motion.angle_rad, captured.hinge_motion.times_s
    found, recorded = list[Finding](), None
    if captured.body.reference == "static":
        shut = Poses(np.zeros(1), np.eye(3)[None], np.zeros((1, 3)))
        recorded = float(hinge_motion(shut, captured.hinge).angle_rad[0])
    if segments["static"]:
        a, b = segments["static"][0]
        inside = angle[(times >= a) & (times < b)]
        if not np.isfinite(inside).any():
            raise experiment.problem("segments.static", "the markers do not tell the angle there")
        zero = float(np.nanmedian(inside))
        moves = float(np.ptp(np.nanpercentile(inside, [2, 98])))
        if moves > MOVES_RAD:
            told = (
                f"in segments.static the object moves by {np.degrees(moves):.1f} deg: it must be shut and untouched "
                "there, as the angle and the sensor's preload count from it"
            )
            found.append(Finding("static", told, severity=Severity.FATAL))
        if recorded is not None and abs(zero - recorded) > SHUT_RAD:
            told = (
                f"in segments.static the object stands {np.degrees(zero - recorded):+.1f} deg from where it is in "
                "recordings.static: it must be shut in both, as the angle counts from there"
            )
            least = float(np.nanmin(angle)) - recorded
            if least > SHUT_RAD:
                told += (
                    f"; the closed position is never visited, the smallest angle seen is {np.degrees(least):.1f} deg"
                )
            found.append(Finding("closed", told, severity=Severity.FATAL))
            zero = recorded
    else:
        zero = recorded if recorded is not None else float(angle[np.isfinite(angle)][0])
        what = "the sensor's preload is taken as zero, and what it shows untouched goes into the spring"
        found.append(Finding("preload", f"without segments.static {what}: give one in which nobody touches the handle"))
        if recorded is None:
            told = "neither segments.static nor recordings.static says where the object is shut: the angle counts from "
            found.append(
                Finding("closed", told + "the first sample", severity=Severity.FATAL if linked else Severity.WARNING)
            )
    shifted = angle - zero
    if np.nanmin(shifted) < -2 * SHUT_RAD:
        told = (
            f"the angle reaches {np.degrees(np.nanmin(shifted)):.1f} deg: the object was not shut where it counts from"
        )
        if -np.nanmin(shifted) > np.nanmax(shifted):
            told = (
                f"opening counts negative (the angle runs from {np.degrees(np.nanmin(shifted)):.1f} to "
                f"{np.degrees(np.nanmax(shifted)):.1f} deg): let markers.hinge.points name the other way"
            )
        found.append(Finding("closed", told, severity=Severity.FATAL))
    return shifted, found


def _without_handle(experiment: Experiment[Any], phi: FloatArray | None, hinge: Hinge) -> list[Finding]:
    """Without the handle's weight the preload is right only where weight does not turn the object."""
    if phi is not None:
        return []
    leaning = min(hinge.inclination, np.pi - hinge.inclination)
    if leaning > UPRIGHT_RAD:
        told = f"this key is missing: the hinge leans by {np.degrees(leaning):.1f} deg, so the handle's weight matters"
        raise experiment.problem("handle", told)
    told = "no handle is given: its weight is taken as a part of the preload, which is right for an upright hinge only"
    return [Finding("handle", told)]


def stops_of(config: BodyPart, angle: FloatArray) -> tuple[float, float]:
    """Where the object meets its stops, rad: as stated, or the ends of what was visited."""
    if config.stops is not None:
        return config.stops[0], config.stops[1]
    return float(np.nanmin(angle)), float(np.nanmax(angle))


def filtering_of(
    experiment: Experiment[Any], times: FloatArray, angle: FloatArray, static: Segment | None
) -> Filtering:
    """As the file says; what it leaves open is chosen from the noise and spectrum of the angle (rad)."""
    part = experiment.config.filtering
    if isinstance(part, PublishedPart):
        return Filtering(part.window, part.order, None, None, ends=True)
    order, rate = experiment.config.derivatives.order, float((len(times) - 1) / (times[-1] - times[0]))
    try:
        chosen = signal_bandwidth(times, angle, still=static, order=order)
    except DataProblem as error:
        if part.bandwidth is None:
            raise experiment.problem(
                "filtering.bandwidth", str(error), "state it, for example bandwidth: 6 Hz"
            ) from error
        chosen = None
    limit = min(FASTEST_HZ, 0.2 * rate)
    band = part.bandwidth or min(chosen.bandwidth_hz if chosen else limit, limit)
    try:
        lowpass = design_lowpass(rate, band, attenuation_db=ATTENUATION_DB)
    except PalpateError as error:
        raise experiment.problem("filtering.bandwidth", str(error)) from error
    window = part.window or light_window_s(rate, band, order)
    return Filtering(window, order, lowpass, band)
