"""From an experiment file to what its balance is made of: recordings on one clock, frames, sensors, segments.

Three ways in, by what tells the motion: an IMU, markers, or a table of one coordinate. They end in the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palpate.elements import WRENCH
from palpate.errors import DataProblem, PalpateError
from palpate.experiment.file.reading import Experiment, check_keys, object_model
from palpate.experiment.file.schema import HANDLE_HZ, FixedBiasPart, PublishedPart, SavitzkyGolayPart, SensorPart
from palpate.experiment.file.sensors import sensors_of
from palpate.experiment.stage import inputs as stage_inputs
from palpate.experiment.stage import recordings
from palpate.experiment.stage.belief import Handles, belief_of
from palpate.experiment.stage.capture import (
    CapturedMotion,
    capture,
    check_towards,
    outages,
    sensor_turns,
    stated_clock,
    wrench_features,
)
from palpate.experiment.stage.clock import clock_by_balance
from palpate.experiment.stage.ground import Ground
from palpate.experiment.stage.imu_noise import noise_of_motion
from palpate.experiment.stage.inputs import (
    TAPE_MEASURE_M,
    Belief,
    Filtering,
    ImuMotion,
    Inputs,
    Moved,
    Sensor,
)
from palpate.experiment.stage.mistakes import mistakes
from palpate.experiment.stage.placing import check_reach, place, shut_position, stops_of, with_wheel
from palpate.experiment.stage.recordings import Instrument
from palpate.experiment.stage.together import smoothed_motion
from palpate.findings import Finding, Severity
from palpate.identify import Balance, MotionNoise
from palpate.identify.balance import Segment
from palpate.model import Model
from palpate.motion.clock import ClockMap, Even
from palpate.motion.derivatives import design_lowpass
from palpate.motion.imu import PARALLEL, Smoothing, imu_motion
from palpate.motion.integration import Integrated
from palpate.motion.offset import Limited, Offset, band_limited, likely_lags, offset_between
from palpate.motion.plausibility import judge_imu
from palpate.motion.smoothing import Smoothed
from palpate.physics.arrays import BoolArray, FloatArray, rate_hz, runs, segment_mask, spread
from palpate.progress import Tell, portion, silent

TRAIN_SHARE = 0.6
SHORTEST_RUN_S = 1.0
"""Shorter stretches between gaps are not worth a segment."""
FASTEST_DRIFT_PPM, SHARP_DRIFT_PPM = 3.0, 1.5
SAME_CLOCK_S = 5e-4
FEATURES_HZ, CLOCK_SAMPLES, CLOCK_STRETCH = 20.0, 1 << 18, 1 << 14
"""Below this frequency load cell and IMU are compared; of a long recording so many samples of the IMU, in stretches."""
SETTLED = ("clock", "moves-along", "placement-unknown", "derivatives", "fusion")
"""Findings of a capture that the balance settles by itself."""
ADDED: Mapping[str, stage_inputs.Added] = {"body": "nothing", "whole": "all", "weight-only": "weight"}


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """An experiment up to its balance, on one clock."""

    inputs: Inputs
    segments: dict[str, list[Segment]]
    """static, quasi_static, train, test; seconds on the reference clock."""
    instruments: Mapping[str, Instrument]
    """By their key under `recordings`; those that were brought onto the reference clock with theirs."""
    findings: tuple[Finding, ...]
    capture: CapturedMotion | None = None
    ground: Ground | None = None
    handles: tuple[Any, ...] = ()
    """Results of the handles, where those were identified first."""
    noise: MotionNoise | None = None
    """Of a motion by an IMU."""
    contradicted: Mapping[str, float] = field(default_factory=dict[str, float])
    """Key of `uncertain` -> by how much gravity surely contradicts the instrument."""
    begun: tuple[Moved, Balance] | None = None
    """Motion and whole balance of the inputs, where they were needed before the fit."""


def prepare(experiment: Experiment[Any], tell: Tell = silent, *, handles: Handles | None = None) -> Prepared:
    """Read everything and bring it onto one clock; handles: those behind the sensors of a body."""
    model = object_model(experiment)
    check_keys(experiment, model)
    _check_pitch(experiment, model)
    if experiment.config.motion_from == "imu":
        return _by_imu(experiment, model, tell)
    if experiment.config.motion_from == "table":
        several = experiment.config.recordings.signals.coordinates is not None
        return (_by_axes if several else _by_table)(experiment, model, tell)
    return _by_markers(experiment, model, tell, handles or Handles())


def _check_pitch(experiment: Experiment[Any], model: Model) -> None:
    """Refuse a screw whose pitch nobody knows: an angle alone does not show it, and what travels depends on it."""
    part, mechanism = experiment.config.recordings.poses, model.mechanism
    angle_alone = experiment.config.motion_from == "table" or (part is not None and part.along is not None)
    if not angle_alone or all(joint.pitch is not None for joint in mechanism.joints):
        return
    travels = (WRENCH, *mechanism.directions)
    element = next((e for e in model.elements if not {e.acts_on, *e.looks_at}.isdisjoint(travels)), None)
    if element is not None:
        wrong = f"this key is missing: an angle alone does not show the pitch, which {element.name!r} depends on"
        raise experiment.problem("mechanism.pitch", wrong, "state it, such as mechanism: {pitch: 4 mm/turn}")


# --- a table of one coordinate --------------------------------------------------------------------------------------


def _by_table(experiment: Experiment[Any], model: Model, tell: Tell) -> Prepared:
    config, mechanism, unit = experiment.config, model.mechanism, model.mechanism.position_units[0]
    tell("reading the table", 0.0)
    belief, free = belief_of(experiment, model), config.recordings.signals.free
    if free and not any(belief.fixed.values()):
        scales = ", ".join(model.parameters)
        wrong = (
            "this key is missing: no force is recorded (free: true), so that only ratios of the numbers can be known"
        )
        raise experiment.problem("fixed", wrong, f"state one that you know, of {scales}, in SI units")
    table = recordings.read_table(experiment, config.recordings.signals, model)
    even, findings = table.even, list(table.findings)
    if free:
        given = ", ".join(f"{name} = {value:g}" for name, value in belief.fixed.items() if value)
        evidence = f"no force is recorded: the data tell ratios only, and every number follows from {given}"
        findings.append(Finding("ratios", evidence, "fixed"))
    position, segments = even.seen_x[:, 0], recordings.segments_of(experiment, even.times_s, even.rows)
    static = next(iter(segments["static"]), None)
    if static is not None:
        shut = shut_position(position[segment_mask(even.times_s, [static])], unit, findings)
        # the vertical is known from where the angle is zero, and friction holds what hangs elsewhere
        hangs = mechanism.leaning > 0 and any(e.weighs for e in model.elements)
        counted = config.recordings.signals.zero or ("recorded" if hangs or mechanism.placed else "static")
        position = position - shut if counted == "static" else position
    q = position[:, None]
    wrench = stage_inputs.driving(mechanism, q) * even.x[:, 1:]
    inputs = Inputs(
        model=model,
        times_s=even.times_s,
        sensors=(Sensor(replace(even, x=wrench), np.eye(4)),),
        filtering=filtering_of(
            experiment, model, even.times_s, q, static, doubts=findings, integrated=table.integrated
        ),
        q=q,
        measured=np.where(np.isfinite(even.seen_x[:, 1:2]), wrench, np.nan)[None],
        zero="none" if static is None or free else "still",
        static=static,
        stops=None if config.stops is None else stops_of(experiment, position, unit),
        belief=belief,
        links_std_m=_links_std(experiment, model),
        unloaded=free,
        integrated=table.integrated,
    )
    check_reach(experiment, model, position, findings)
    check_seen_segments(experiment, inputs, segments)
    return Prepared(inputs, segments, {}, tuple(findings))


def _by_axes(experiment: Experiment[Any], model: Model, tell: Tell) -> Prepared:
    """A table of several coordinates and of what is done along each; it may stand anywhere at rest."""
    part, n = experiment.config.recordings.signals, len(model.mechanism.rows)
    tell("reading the table", 0.0)
    table = recordings.read_axes(experiment, part, model)
    even, findings = table.even, list(table.findings)
    segments = recordings.segments_of(experiment, even.times_s, even.rows)
    static, q, efforts = next(iter(segments["static"]), None), even.seen_x[:, :n], even.x[:, n:]
    if static is not None:  # untouched, nobody does anything along any of them
        at = segment_mask(even.times_s, [static])
        efforts = efforts - np.nanmean(efforts[at], axis=0)
        weighs = any(e.weighs for e in model.elements)  # then the vertical is known from where the angles are zero
        rested = part.zero == "static" or (part.zero is None and not weighs)
        q = q - np.nanmedian(q[at], axis=0) if rested else q
    wrench = stage_inputs.wrench_along(model.mechanism, q, efforts)
    inputs = Inputs(
        model=model,
        times_s=even.times_s,
        sensors=(Sensor(replace(even, x=wrench), np.eye(4)),),
        filtering=filtering_of(experiment, model, even.times_s, q, static, doubts=findings),
        q=q,
        measured=np.where(np.isfinite(even.seen_x.sum(axis=1, keepdims=True)), wrench, np.nan)[None],
        zero="none" if static is None else "still",
        static=static,
        belief=belief_of(experiment, model),
    )
    check_seen_segments(experiment, inputs, segments)
    return Prepared(inputs, segments, {}, tuple(findings))


def _links_std(experiment: Experiment[Any], model: Model) -> float:
    """How well the links are known, m; 0 where that is stated, or nothing but noise is thought of."""
    uncertain = experiment.config.uncertain
    stated = uncertain is not None and uncertain.links is not None
    published = isinstance(experiment.config.filtering, PublishedPart)
    return 0.0 if not model.mechanism.sizes or stated or published else TAPE_MEASURE_M


# --- markers and load cells -----------------------------------------------------------------------------------------


def _by_markers(experiment: Experiment[Any], model: Model, tell: Tell, handles: Handles) -> Prepared:
    config = experiment.config
    check_towards(experiment)
    model = model if model.mechanism.wheel is None else with_wheel(experiment, model)
    tell("reading the load cells", 0.0)
    cells = recordings.read_wrenches(experiment)
    captured = capture(experiment, portion(tell, 0.05, 0.4))
    body, times = captured.body, captured.body.poses.times_s
    findings = [_beside_drawing(f) for f in captured.findings if f.fatal or f.cause not in SETTLED]
    findings += handles.findings
    segments = recordings.segments_of(experiment, times, body.rows)
    static = next(iter(segments["static"]), None)
    placing = place(experiment, model, captured, segments, handles, findings)
    model, q, poses, ground = placing.model, placing.q, placing.poses, placing.ground
    findings += placing.findings
    zero, at_contact = _zero(experiment, model, handles)
    keys, T_body_cloud = sensors_of(config), np.linalg.inv(placing.T_cloud_body)
    sensors = tuple(
        Sensor(cell.even, T_body_cloud @ body.frames[key.role], phi, sensor_turns(experiment, body, key))
        for key, cell, phi in zip(keys, cells, handles.each(len(cells)), strict=True)
    )
    tell("smoothing the motion", 0.4)
    smoothed, travel_std, hinge_std_m, closed_std = None, 0.0, placing.hinge_std_m, placing.closed_std
    up = np.zeros(2) if ground is None else ground.up
    if config.derivatives.method != "local" and not isinstance(config.filtering, PublishedPart):
        smoothed, more = smoothed_motion(captured, model.mechanism, q, poses, up, placing.T_cloud_body, segments)
        findings += more
    # so sharp a motion shows that errors of single markers do not average out
    if model.mechanism.main is not None and (smoothed is not None or config.method == "joint"):
        turn, shift = body.pose_std
        turns = model.mechanism.position_units[0] == "rad"
        travel_std = turn if turns else shift
        hinge_std_m = hinge_std_m or (shift / 3**0.5 if turns else 0.0)
        # two records of where it is shut that happen to agree do not make that known
        closed_std = float(np.hypot(closed_std, travel_std)) if config.method == "joint" else closed_std
    inputs = Inputs(
        model=model,
        times_s=times,
        sensors=sensors,
        filtering=filtering_of(experiment, model, times, q, static, smoothed, findings, integrated=body.integrated),
        q=q,
        smoothed=smoothed,
        poses=poses,
        add=ADDED[config.model_of],
        static=static,
        stops=placing.stops,
        blocked=None if ground is None else ground.blocked,
        belief=belief_of(experiment, model, handles, [s.T_body_sensor for s in sensors]),
        unwanted=tuple(r.name for r in model.mechanism.rows if config.rows == "moments" and r.unit == "N"),
        travel_std=travel_std,
        up=up,
        ground_root=placing.ground_root,
        frame_root=np.zeros((6, 0)) if ground is None else ground.frame_root,
        hinge_std_m=hinge_std_m,
        axis_std_rad=placing.axis_std_rad,
        pitch_std=placing.pitch_std,
        closed_std=closed_std,
        links_std_m=_links_std(experiment, model),
        at_contact=at_contact,
        integrated=body.integrated,
    ).with_zero(zero)
    check_seen_segments(experiment, inputs, segments)
    offset, clock = None, stated_clock(experiment, "wrench", cells[0].even, body)
    if clock is None:
        tell("comparing the clocks by the balance", 0.6)
        offset = _clock(
            experiment, captured, inputs, segments, lambda: [*findings, *(f for cell in cells for f in cell.faults())]
        )
        clock = offset.clock
    used = [s for spans in segments.values() for s in spans]
    findings += outages(body, used)
    there = [(float(a), float(b)) for a, b in clock.from_reference(np.array(used).reshape(-1, 2))]
    findings += [f for cell in cells for f in cell.faults(there)]
    cells[0] = replace(cells[0], clock=clock, offset=offset)
    instruments = {key.device: cell for key, cell in zip(keys, cells, strict=True)} | captured.devices
    inputs = inputs.on_clock(clock)
    told, off = tuple(findings), body.contradicted
    return Prepared(inputs, segments, instruments, told, captured, ground, handles.results, contradicted=off)


def _beside_drawing(finding: Finding) -> Finding:
    """Of an IMU that is not where the drawing has it: what that means for an object that markers show."""
    if finding.cause != "placement":
        return finding
    evidence = f"the IMU: {finding.evidence}; where its motion shows it was taken, no number follows imu_pose"
    return replace(finding, evidence=evidence, place="imu_pose", severity=Severity.WARNING)


def check_seen_segments(experiment: Experiment[Any], inputs: Inputs, segments: Mapping[str, list[Segment]]) -> None:
    """Refuse segments in which nothing was seen, or all of which something beside the hands carries the object."""
    seen = np.asarray(np.isfinite(inputs.q).all(axis=1))
    free = seen if inputs.blocked is None else seen & ~inputs.blocked
    for kind, spans in segments.items():
        for a, b in spans:
            inside = segment_mask(inputs.times_s, [(a, b)])
            wrong = "" if seen[inside].any() else "the object's position is never seen in it"
            if not wrong and kind != "static" and not free[inside].any():
                wrong = "a foot is on the ground throughout and carries an unknown share"
            if wrong:
                raise experiment.problem(f"segments.{kind}", f"{a:.2f} to {b:.2f} s: {wrong}")


def _zero(experiment: Experiment[Any], model: Model, handles: Handles) -> tuple[stage_inputs.Zero, FloatArray | None]:
    """Where the load cells' zero comes from, and a wrench that is stated."""
    bias, static = experiment.config.bias, experiment.config.segments.static
    if len(model.mechanism.rows) == 1 and bias is None:
        # of one row, a constant is the same as a preloaded spring: it is not estimated
        return ("none" if static is None else "still"), None
    if bias is None or isinstance(bias, FixedBiasPart):
        fixed = None if bias is None else np.array(bias.at_contact, dtype=float)
        # a stated wrench corrects what is left after the zero, as the authors have it
        return ("still" if static is not None and handles.known else "none" if bias is not None else "estimated"), fixed
    if bias == "still" and static is None:
        wrong = "this key is missing: the zero is to be taken while nobody touches the handles"
        raise experiment.problem("segments.static", wrong, "or write bias: estimated")
    if bias == "still" and not handles.known:
        wrong = "this key is missing: the handle's weight is part of what its sensor reads when untouched"
        raise experiment.problem("handle", wrong, "or write bias: estimated")
    return bias, None


def _clock(
    experiment: Experiment[Any],
    captured: CapturedMotion,
    inputs: Inputs,
    segments: Mapping[str, list[Segment]],
    findings: Callable[[], list[Finding]],
) -> Offset:
    """By all segments in which the object is moved: a clock is the instruments', not the object's, and its drift shows
    over the whole recording. The parameters that are fitted along are not kept. findings: what is doubted besides.
    """
    spans = sorted(s for kind in recordings.MOVING_KINDS for s in segments[kind])
    blind = replace(inputs, clock=None)
    try:
        return clock_by_balance(blind, spans)
    except DataProblem as error:  # no clock helps where something else is wrong: which mistake would explain it?
        best = (EXPLAINED, "", "")
        turned = tuple(replace(s, wrench=replace(s.wrench, x=-s.wrench.x)) for s in blind.sensors)
        keys = sensors_of(experiment.config)
        right = " and ".join(f"{k.wrench_key}.sign: {OTHER_SIDE[k.wrench.sign]}" for k in keys)
        words = f"the wrench has the wrong sign (it is explained {{}}): write {right}"
        sign = ("sign", "recordings.wrench", words, replace(blind, sensors=turned))
        for _, key, words, other in (sign, *_usual_filter(experiment, blind), *mistakes(experiment, captured, blind)):
            try:
                best = max(best, (clock_by_balance(other, spans).explained, key, words))
            except DataProblem:
                continue
        if best[1]:
            raise experiment.problem(best[1], best[2].format("only so")) from error
        doubts = "; ".join(f.sentence for f in findings() if f.fatal or f.cause == "feet")
        remedy = "check signs and frames of the load cells, and that nothing but the hands holds the object in the "
        remedy += f"segments{f' ({doubts})' if doubts else ''}; else state the samples that coincide"
        raise experiment.problem("clocks", f"no clock of the load cell fits: {error}", remedy) from error


def _usual_filter(experiment: Experiment[Any], inputs: Inputs) -> Iterator[tuple[str, str, str, Inputs]]:
    """A filter that the file states and that no clock can be found with: the one that would be chosen."""
    part = experiment.config.filtering
    if isinstance(part, PublishedPart) or (part.bandwidth is None and part.window is None):
        return
    with suppress(PalpateError):
        usual = stage_inputs.choose_filtering(
            inputs.model,
            inputs.times_s,
            inputs.q,
            still=inputs.static,
            order=inputs.filtering.order,
            smoothed=inputs.smoothed,
        )
        chosen = f"{usual.bandwidth_hz:.1f} Hz and {usual.window_s:.2f} s would be chosen"
        words = f"it does not suit this motion: leave it out ({chosen}, and the wrench is explained {{}})"
        key = "filtering" if part.window is not None else "filtering.bandwidth"
        yield "filter", key, words, replace(inputs, filtering=usual)


EXPLAINED = 0.9
"""Share of the wrench that a balance explains where a mistake in the file is the reason."""
OTHER_SIDE = {"on-handle": "on-other-side", "on-other-side": "on-handle"}


# --- what every way shares ------------------------------------------------------------------------------------------


def filtering_of(
    experiment: Experiment[Any],
    model: Model,
    times_s: FloatArray,
    q: FloatArray,
    static: Segment | None,
    smoothed: Smoothed | None = None,
    doubts: Sequence[Finding] = (),
    *,
    integrated: Integrated | None = None,
) -> Filtering:
    """As the file says; what it leaves open is chosen from the noise and spectrum of the coordinates.

    doubts: findings that may be why it cannot be chosen.
    """
    part = experiment.config.filtering
    if isinstance(part, PublishedPart):
        return Filtering(part.window, part.order, None, None, published=True)
    order = experiment.config.derivatives.order
    wrong = next((f"before that: {f.sentence}" for f in doubts if f.fatal), "state it, such as bandwidth: 6 Hz")
    remedy = wrong if part.bandwidth is None else ""
    with experiment.at("filtering.bandwidth", remedy):
        return stage_inputs.choose_filtering(
            model,
            times_s,
            q,
            still=static,
            order=order,
            bandwidth_hz=part.bandwidth,
            window_s=part.window,
            smoothed=smoothed,
            integrated=integrated,
        )


# --- an IMU beside one load cell ------------------------------------------------------------------------------------


def _by_imu(experiment: Experiment[Any], model: Model, tell: Tell) -> Prepared:
    """A free body with one sensor, such as a handle. The load cell's clock is the reference."""
    config = experiment.config
    tell("reading the load cell", 0.0)
    wrench = recordings.read_wrench(experiment, sensors_of(config)[0].wrench)
    tell("reading the IMU", 0.1)
    imu = recordings.read_imu(experiment, config.recordings.imu)
    part = config.filtering
    smoothing, lowpass, band = PARALLEL, None, None
    if isinstance(part, SavitzkyGolayPart):  # the published windows have no low-pass
        smoothing = Smoothing(part.slope_window, part.slope_order, part.window, part.order)
    else:
        band = part.bandwidth or HANDLE_HZ
        with experiment.at("filtering.bandwidth"):
            lowpass = design_lowpass(rate_hz(wrench.even.times_s), band)
    T_body_imu = recordings.pose_of(experiment, "imu_pose", config.imu_pose, "the IMU")
    mounted = ImuMotion(imu.even, T_body_imu, smoothing, config.accelerometer_zero)
    filtering = Filtering(smoothing.slope_window_s, smoothing.slope_order, lowpass, band)
    inputs = imu_inputs(model, config.sensor, wrench.even, mounted, filtering, belief_of(experiment, model))
    if not config.without and not any(element.instrument for element in model.elements):  # as of a box
        inputs = inputs.with_zero("estimated")
    tell("aligning the clocks", 0.2)
    offset, drifts = None, list[Finding]()
    if config.clocks == "auto":
        offset = _offset_by_features(mounted, wrench.even)
        drift, std = offset.drift_ppm, offset.drift_std_ppm
        # more than two even clocks may seem to drift; where the motion tells it badly, noise of the IMU feigns one
        if std < SHARP_DRIFT_PPM and abs(drift) > max(FASTEST_DRIFT_PPM, 4 * std):
            by = f"{drift:.1f} +- {std:.1f} ppm"
            drifts = [Finding("drift", f"the clocks of load cell and IMU drift by {by}; that is taken into account")]
        drift = drift if drifts else 0.0
        clock = ClockMap(offset.value_s, offset.std_s, drift, 0.0, offset.at_s, False, offset.freedom)
    else:
        pairs = (("wrench", wrench), ("imu", imu))
        at, there = (recordings.time_of_sample(experiment, key, i.even) for key, i in pairs)
        clock = ClockMap(at - there, 0.0, 0.0, 0.0, 0.0, False)
    inputs = inputs.on_clock(clock)
    tell("deriving the motion", 0.7)
    moved = stage_inputs.move(inputs)
    whole = stage_inputs.whole_balance(inputs, moved)
    balance = stage_inputs.fit_balance(inputs, moved, whole)
    segments = _imu_segments(experiment, balance, wrench.even)
    noise, noise_findings = noise_of_motion(config.noise_in_motion, inputs, mounted, balance, segments["train"])
    tell("checking the recordings", 0.8)
    doubts, contradicted = judge_imu(imu.even.times_s, imu.even.x[:, :3], imu.even.x[:, 3:])
    used = [*segments["train"], *segments["test"]]
    shift = float(clock.offset_s)  # to a few samples, whatever the drift
    findings = [*wrench.faults(used), *imu.faults([(a - shift, b - shift) for a, b in used]), *doubts, *noise_findings]
    for device, lost in (("load cell", wrench.even.lost), ("IMU", imu.even.lost)):
        if lost:  # inside a segment they were refused
            longest = max(b - a for a, b in lost)
            evidence = f"{len(lost)} gaps, the longest {longest:.3f} s; segments avoid them"
            findings.append(Finding("gaps", evidence, device))
    instruments = {"wrench": wrench, "imu": replace(imu, clock=clock, offset=offset)}
    told = (*findings, *drifts)
    return Prepared(inputs, segments, instruments, told, noise=noise, contradicted=contradicted, begun=(moved, whole))


def imu_inputs(
    model: Model, sensor: str | SensorPart, wrench: Even, mounted: ImuMotion, filtering: Filtering, belief: Belief
) -> Inputs:
    """A free body behind one sensor, in the sensor's frame, on its clock; the zero is estimated."""
    part = recordings.sensor_of(sensor)
    return Inputs(
        model=model,
        times_s=wrench.times_s,
        sensors=(Sensor(wrench, np.eye(4)),),
        filtering=filtering,
        imu=mounted,
        zero="estimated",
        sigma=np.array([*part.sigma_force, *part.sigma_moment]),
        belief=belief,
    )


def _offset_by_features(mounted: ImuMotion, wrench: Even) -> Offset:
    """Load-cell minus IMU time; refused where the motion is so slow that a lag looks like a turn: da/dt = a x omega."""
    what = "clock offset between load cell and IMU"
    (times, features), responses = _features(mounted), band_limited(wrench.times_s, wrench.x, FEATURES_HZ)
    lags = likely_lags((times, features), responses)
    offset, plain = (
        offset_between((times, columns), responses, what=what, lags=lags) for columns in (features, features[:, :-3])
    )
    apart = abs(offset.value_s - plain.value_s)
    if apart > max(SAME_CLOCK_S, 5 * float(np.hypot(offset.std_s, plain.std_s))):
        why = f"it cannot be known: two ways to compare signals differ by {1e3 * apart:.1f} ms; the motion is too slow"
        raise DataProblem(what, why, remedy="shake the object, or state the samples that coincide (clocks:)")
    unsure = max(FASTEST_DRIFT_PPM, 4 * float(np.hypot(offset.drift_std_ppm, plain.drift_std_ppm)))
    if not abs(offset.drift_ppm - plain.drift_ppm) <= unsure:
        return replace(offset, drift_ppm=float("nan"), drift_std_ppm=float("nan"))
    return offset


def _features(mounted: ImuMotion) -> Limited:
    """What the load cell should show of the IMU's motion; of a long recording stretches, between rows of NaN."""
    imu, spans = mounted.even, spread(len(mounted.even.times_s), CLOCK_SAMPLES, CLOCK_STRETCH)
    times, rows = list[FloatArray](), list[FloatArray]()
    for a, b in spans:
        part = slice(a, b)
        m = imu_motion(imu.times_s[part], imu.x[part, :3], imu.x[part, 3:], mounted.T_body_imu, mounted.smoothing)
        t, x = band_limited(m.times_s, wrench_features(m), FEATURES_HZ)
        if len(spans) > 1:
            x[[0, -1]] = np.nan
        times.append(t)
        rows.append(x)
    return np.concatenate(times), np.concatenate(rows)


def _imu_segments(experiment: Experiment[Any], balance: Balance, wrench: Even) -> dict[str, list[Segment]]:
    """As stated, else the first part of what both instruments saw trains and the rest tests."""
    if experiment.config.segments is None:
        seen = np.isfinite(balance.kinematics.omega[0]) & np.isfinite(balance.wrench).all(axis=1)
        train, test = _default_segments(balance.times_s, seen)
        return {"static": [], "quasi_static": [], "train": train, "test": test}
    segments = recordings.segments_of(experiment, balance.times_s, wrench.rows)
    for name in ("train", "test"):
        for segment in segments[name]:
            with experiment.at(f"segments.{name}"):
                balance.check_seen(segment)
    return segments


def _default_segments(times_s: FloatArray, seen: BoolArray) -> tuple[list[Segment], list[Segment]]:
    long = [(a, b) for a, b in runs(seen) if times_s[b - 1] - times_s[a] > SHORTEST_RUN_S]
    if not long:
        raise DataProblem("recordings", "the two instruments never recorded at the same time")
    limit, done = TRAIN_SHARE * sum(b - a for a, b in long), 0
    both: tuple[list[Segment], list[Segment]] = [], []
    for a, b in long:
        cut = min(max(a + int(limit) - done, a), b)
        done += b - a
        for chosen, (i, j) in zip(both, ((a, cut), (cut, b)), strict=True):
            if j - i > 1:
                chosen.append((float(times_s[i]), float(times_s[min(j, len(times_s) - 1)])))
    return both
