"""From an experiment file of a rolling object to what its balance is made of: markers, vertical, feet, sensors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.elements import WheelSpin
from palpate.errors import DataProblem, PalpateError
from palpate.experiment.body_capture import added, as_motion
from palpate.experiment.body_inputs import FASTEST_HZ, segments_of
from palpate.experiment.file.object_model import object_model
from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import BodyPart, FixedBiasPart, PublishedPart
from palpate.experiment.handle_inputs import pose_of, read_wrench
from palpate.experiment.handle_of_body import handle_of
from palpate.experiment.hinge_inputs import Filtering
from palpate.experiment.motion import CapturedMotion, build_motion
from palpate.experiment.result import Result
from palpate.experiment.rolling_ground import Vertical, feet_down, level_poses, vertical_of
from palpate.experiment.rolling_held import held_findings
from palpate.experiment.rolling_inputs import RollingInputs, Sensor, Zero, with_radius
from palpate.experiment.telling import Tell
from palpate.findings import Finding
from palpate.identify.balance import Segment
from palpate.mechanisms import Rolling
from palpate.model import Model
from palpate.motion.clocks.clock import Even
from palpate.motion.derivatives.bandwidth import light_window_s, pose_bandwidth
from palpate.motion.derivatives.filters import design_lowpass
from palpate.motion.frames.roles import sensor_frame
from palpate.physics.arrays import FloatArray
from palpate.physics.poses import Poses
from palpate.physics.so3 import log_rotation

IDLE = 1e-6
"""N, N m: a load cell whose numbers change by less does not measure."""
SMALLEST_WHEEL_M, LARGEST_WHEEL_M = 0.025, 1.5
SLOPE = 1.5
"""Up to this multiple of the bandwidth the low-pass lets something through that counts."""
UNSEEN_WEIGHT = 1e6
"""A row with so large a standard deviation beside the others is not looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class RollingMeasured:
    """An experiment with a rolling object up to its balance."""

    inputs: RollingInputs
    segments: dict[str, list[Segment]]
    """static, quasi_static (none), train, test; seconds on the reference clock."""
    captured: CapturedMotion
    vertical: Vertical
    feet: tuple[tuple[float, float, float], ...]
    """Points of the object (m, left first) that touch the ground while it stands; none where that is not known."""
    handles: tuple[Result | None, ...]
    """Of the handles' own stages, where they were run."""
    handle_mass: float | None
    """Of all handles together, kg; None: not known."""
    findings: tuple[Finding, ...]


def read_rolling(experiment: Experiment[Any], tell: Tell) -> RollingMeasured:
    """Markers, load cells and handles of a rolling object."""
    config = experiment.config
    _check_keys(experiment)
    model = _model(experiment)
    phis, handles, doubts = _handles(experiment, tell)
    zero, at_contact = _zero(experiment, phis)
    wrenches = _wrenches(experiment)
    captured = build_motion(as_motion(experiment, with_wrench=config.clocks != "auto"), tell)
    findings = [*captured.findings, *(Finding("handle", text) for text in doubts)]
    times = captured.poses.times_s
    segments = segments_of(experiment, times, captured.body.rows)
    static = segments["static"][0] if segments["static"] else None
    axle = captured.body.poses_of("axle")
    vertical = vertical_of(axle, None if captured.placement is None else captured.placement.tilt)
    findings += vertical.findings
    poses = level_poses(axle, vertical)
    T_axle_cloud = np.linalg.inv(captured.body.frames["axle"])
    places = captured.body.feet @ T_axle_cloud[:3, :3].T + T_axle_cloud[:3, 3]
    radius = model.mechanism.radius if isinstance(model.mechanism, Rolling) else 0.0
    down = feet_down(poses, places, static, radius)
    findings += [*down.findings, *held_findings(poses, segments, model)]
    if not len(places):
        told = "markers.feet names none: that the feet are in the air in the segments is taken for granted"
        findings.append(Finding("feet", told))
    inputs = RollingInputs(
        model=model,
        poses=poses,
        sensors=tuple(
            Sensor(even, T_axle_cloud @ captured.body.frames[name], phi, _turn_root(experiment, captured, name))
            for name, even, phi in zip(("sensor", "sensor_2"), wrenches, phis, strict=False)
        ),
        add=added(config),
        clock=None,
        measured=np.empty((0, 0, 6)),
        zero="none",
        static=static,
        grounded=down.grounded,
        filtering=_filtering(experiment, poses, static),
        sigma=_sigma(config, model),
        tilt_std_rad=vertical.std_rad,
        conversion="plain" if isinstance(config.filtering, PublishedPart) else "anti-aliased",
        at_contact=at_contact,
    ).with_zero(zero)
    device = captured.devices.get("wrench")
    inputs = inputs.on_clock(None if device is None else device.clock)
    mass = None if any(phi is None for phi in phis) else float(sum(phi[0] for phi in phis if phi is not None))
    return RollingMeasured(inputs, segments, captured, vertical, down.points, handles, mass, tuple(findings))


def _check_keys(experiment: Experiment[Any]) -> None:
    """Refuse what is missing, and what is not for objects that roll."""
    config, recordings = experiment.config, experiment.config.recordings
    for key in ("stops", "procedure"):
        if key in config.model_fields_set:
            raise experiment.problem(key, "this key is for objects on a hinge", "leave it out")
    if config.segments.quasi_static is not None:
        raise experiment.problem("segments.quasi_static", "what rolls has none", "let segments.train hold all of it")
    if recordings.signals is not None:
        raise experiment.problem("recordings.signals", "what rolls is seen by markers", "give mocap and wrench")
    for key in ("axle", "sensor"):
        if getattr(config.markers, key) is None:
            raise experiment.problem(f"markers.{key}", "this key is missing: the body stage needs to know where it is")
    if (recordings.wrench_2 is None) != (config.markers.sensor_2 is None):
        missing, there = "recordings.wrench_2", "markers.sensor_2"
        if recordings.wrench_2 is not None:
            missing, there = there, missing
        told = f"this key is missing, but {there} is there: what one of two hands does cannot be guessed"
        raise experiment.problem(missing, told, "give both, or none where the object has one handle")
    if config.handle is None and config.model_of != "body":
        raise experiment.problem("handle", f"this key is missing: model_of: {config.model_of} needs it")
    if config.handle_2 is not None and config.handle is None:
        raise experiment.problem("handle", "this key is missing, but handle_2 is there")
    if config.known_mass is None and config.rows == "moments":
        told = "this key is missing: the moments alone hardly tell the mass"
        raise experiment.problem("known_mass", told, "weigh the object, for example {value: 45 kg, of: whole}")


def _model(experiment: Experiment[Any]) -> Model:
    """The object; its wheel as markers.axle or the mechanism's options say, and nowhere else otherwise."""
    model, axle = object_model(experiment), experiment.config.markers.axle
    assert axle is not None
    if not isinstance(model.mechanism, Rolling):
        raise experiment.problem("object", f"the object {model.name!r} does not roll")
    radius = model.mechanism.radius if axle.radius is None else axle.radius
    if not SMALLEST_WHEEL_M <= radius <= LARGEST_WHEEL_M:
        told = f"a wheel of {radius:g} m is none that people push: {SMALLEST_WHEEL_M:g} to {LARGEST_WHEEL_M:g} m"
        raise experiment.problem("markers.axle.radius", told, "write the unit with it: 197 mm")
    stated = {options.get("name") for options in experiment.config.elements if "radius" in options}
    for element in model.elements:
        if isinstance(element, WheelSpin) and element.name in stated:
            try:
                element.check_wheel(radius)
            except PalpateError as error:
                raise experiment.problem("elements", str(error), "leave radius out there") from error
    given = experiment.config.mechanism.get("radius")
    if given is not None and abs(model.mechanism.radius - radius) > 1e-6:
        told = f"{model.mechanism.radius:g} m differs from {radius:g} m under markers.axle.radius"
        raise experiment.problem("mechanism.radius", told, "state it once")
    return with_radius(model, radius)


def _handles(
    experiment: Experiment[Any], tell: Tell
) -> tuple[list[FloatArray | None], tuple[Result | None, ...], list[str]]:
    """phi of each sensor's handle in its frame, results of their stages, doubts."""
    config = experiment.config
    if config.recordings.wrench_2 is None:
        phi, result, doubts = handle_of(experiment, tell)
        return [phi], (result,), doubts
    recordings = config.recordings.model_copy(update={"wrench": config.recordings.wrench_2})
    other = config.model_copy(update={"handle": config.handle_2 or config.handle, "recordings": recordings})
    if config.handle_2 is None:
        try:
            phi, result, doubts = handle_of(experiment, tell)
        except PalpateError:  # one handle stands for both: it may have been measured on the other sensor
            phi, result, doubts = handle_of(replace(experiment, config=other), tell)
        return [phi, phi], (result,), doubts
    phi, result, doubts = handle_of(experiment, tell)
    phi_2, result_2, doubts_2 = handle_of(replace(experiment, config=other), tell)
    return [phi, phi_2], (result, result_2), [*doubts, *(f"second: {text}" for text in doubts_2)]


def _wrenches(experiment: Experiment[Any]) -> list[Even]:
    """What each sensor passes on to the object, on its own clock."""
    recordings = experiment.config.recordings
    found: list[Even] = []
    for key, part in (("wrench", recordings.wrench), ("wrench_2", recordings.wrench_2)):
        if part is None:
            continue
        try:
            even = read_wrench(experiment, part)[2]
        except PalpateError as error:
            if key == "wrench":
                raise
            raise experiment.problem("recordings.wrench_2", f"as a second load cell: {error}") from error
        if float(np.nanmax(np.nanstd(even.x, axis=0))) < IDLE:
            raise experiment.problem(f"recordings.{key}", "its numbers never change: this load cell did not measure")
        found.append(replace(even, x=-even.x))  # the handle stage's sense is the opposite one
    if len(found) == 2 and found[0].x.shape == found[1].x.shape and np.array_equal(found[0].x, found[1].x):
        told = "it holds the same numbers as recordings.wrench: name the other device or other channels"
        raise experiment.problem("recordings.wrench_2", told)
    return found


def _turn_root(experiment: Experiment[Any], captured: CapturedMotion, name: str) -> FloatArray:
    """(3, 3), see `Sensor.turn_root`: what errors of its three markers' places in the cloud do to a sensor's frame."""
    body, markers = captured.body, experiment.config.markers
    part = markers.sensor if name == "sensor" else markers.sensor_2
    assert part is not None
    std = body.checked.noise_m / np.sqrt(len(body.markers.times_s))
    full: dict[str, str] = {n.rpartition(":")[2]: n for n in body.cloud.names} | {n: n for n in body.cloud.names}
    names: list[str] = part.markers
    corners = body.cloud.places([full.get(n, n) for n in names])
    offset = pose_of(experiment, f"markers.{name}.offset", part.offset, "the markers' frame")
    R = sensor_frame(corners[0], corners[1], corners[2], offset)[:3, :3]
    turns: list[FloatArray] = []
    for i, j in np.ndindex(3, 3):
        moved = corners.copy()
        moved[i, j] += std
        turns.append(log_rotation((R.T @ sensor_frame(moved[0], moved[1], moved[2], offset)[:3, :3])[None])[0])
    values, vectors = np.linalg.eigh(np.array(turns).T @ np.array(turns))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)), dtype=float)


def _zero(experiment: Experiment[Any], phis: list[FloatArray | None]) -> tuple[Zero, FloatArray | None]:
    """Where the load cells' zero comes from, and a wrench that is stated."""
    bias, static = experiment.config.bias, experiment.config.segments.static
    fixed = np.array(bias.at_contact, dtype=float) if isinstance(bias, FixedBiasPart) else None
    known = not any(phi is None for phi in phis)
    if bias is None or fixed is not None:
        # a stated wrench corrects what is left after the zero, as the authors have it
        return ("still" if static is not None and known else "none" if fixed is not None else "estimated"), fixed
    assert not isinstance(bias, FixedBiasPart)
    if bias == "still" and static is None:
        told = "the zero is to be taken while nobody touches the handles"
        raise experiment.problem("segments.static", f"this key is missing: {told}", "or write bias: estimated")
    if bias == "still" and not known:
        told = "this key is missing: what a handle weighs is a part of what its sensor shows untouched"
        raise experiment.problem("handle", told, "or write bias: estimated")
    return bias, None


def _filtering(experiment: Experiment[Any], poses: Poses, static: Segment | None) -> Filtering:
    """As the file says; what it leaves open is chosen from the noise and spectrum of the poses."""
    part = experiment.config.filtering
    if isinstance(part, PublishedPart):
        return Filtering(part.window, part.order, None, None, ends=True)
    order = experiment.config.derivatives.order
    rate = float((len(poses) - 1) / (poses.times_s[-1] - poses.times_s[0]))
    try:
        chosen = pose_bandwidth(poses, still=static, order=order).bandwidth_hz
    except DataProblem as error:
        if part.bandwidth is None:
            told = "state it, for example bandwidth: 6 Hz"
            raise experiment.problem("filtering.bandwidth", str(error), told) from error
        chosen = FASTEST_HZ
    band = part.bandwidth or min(chosen, FASTEST_HZ, 0.2 * rate)
    try:
        lowpass = design_lowpass(rate, band)
    except PalpateError as error:
        raise experiment.problem("filtering.bandwidth", str(error)) from error
    # what the low-pass lets through on its slope must not be lost either: accelerations of hands go on there
    return Filtering(part.window or light_window_s(rate, SLOPE * band, order), order, lowpass, band)


def _sigma(config: BodyPart, model: Model) -> FloatArray:
    """Before anything is known of the rows' errors: alike; a row that is not wanted hardly counts."""
    unseen = ("f_x",) if config.rows == "moments" else ()
    return np.array([UNSEEN_WEIGHT if row.name in unseen else 1.0 for row in model.mechanism.rows])
