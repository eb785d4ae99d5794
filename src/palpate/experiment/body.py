"""The body stage: recordings of an object moved by its handle -> its model (paper, Door)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.errors import DataProblem, PalpateError
from palpate.experiment.body_checks import fit_findings
from palpate.experiment.body_clock import clock_by_balance
from palpate.experiment.body_contact import MOST_TIMES, better, farther_in, inner_stops, suspicious
from palpate.experiment.body_doubts import touched
from palpate.experiment.body_fit import BodyFit, fit_joint, fit_two_steps
from palpate.experiment.body_inputs import BodyMeasured, read_capture
from palpate.experiment.body_judge import judged
from palpate.experiment.body_result import build_body_result
from palpate.experiment.body_signals import read_signals
from palpate.experiment.body_systematic import body_systematic
from palpate.experiment.file.object_model import object_model
from palpate.experiment.file.reading import Experiment, check_reference_names
from palpate.experiment.hinge_inputs import AT_STOP_RAD, HingeInputs
from palpate.experiment.result import Result
from palpate.experiment.rolling_body import run_rolling
from palpate.experiment.segments import check_overlap
from palpate.experiment.telling import Tell
from palpate.findings import Finding
from palpate.identify.shapes import fit_shapes
from palpate.mechanisms import Rolling
from palpate.motion.clocks.offset import Offset
from palpate.runtime.replay import Replay, replay, with_stops

FOR_ROLLING = {
    "": ("handle_2", "known_mass", "prior", "factor", "bias", "rows"),
    "recordings.": ("wrench_2",),
    "markers.": ("sensor_2", "feet"),
    "uncertain.": ("tilt", "sensor_yaw", "wheel_radius", "mass"),
}
HUSH = ("clock", "placement", "derivatives", "hinge angle", "fusion")
"""Findings of the motion stage that the body stage settles in its own way."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedBody:
    """A body experiment up to its balance, on one clock."""

    measured: BodyMeasured
    offset: Offset | None
    """How the load cell's clock was found; None where it is stated, or there is none."""


def run_body(experiment: Experiment[Any], tell: Tell = lambda _: None) -> Result:
    """Identify a body: the whole stage."""
    if isinstance(object_model(experiment).mechanism, Rolling):
        return run_rolling(experiment, tell)
    prepared = prepare_body(experiment, tell)
    fit = fit_body(experiment, prepared, tell)
    signals = experiment.config.recordings.signals
    solution, refused = judged(fit, rate_known=signals is None or signals.rate_known)
    fit = replace(fit, solution=solution)
    told = (*fit_findings(fit), *_contact(prepared.measured.inputs, fit.inputs))
    measured = replace(prepared.measured, findings=(*prepared.measured.findings, *told))
    check_reference_names(experiment, [e.name for e in solution.estimates], fit.inputs.model.mechanism.rows)
    if experiment.config.uncertain is not None:
        tell("propagating systematic errors")
        fit = body_systematic(fit, experiment.config.uncertain)
    tell("replaying")
    played = None if refused else replayed(fit)
    tell("judging")
    return build_body_result(experiment, measured, prepared.offset, fit, refused, played)


def prepare_body(experiment: Experiment[Any], tell: Tell = lambda _: None) -> PreparedBody:
    """Read everything, and find the load cell's clock by the balance where it is not stated."""
    config = experiment.config
    _refuse_rolling(experiment)
    if config.recordings.signals is not None:
        measured = read_signals(experiment, tell)
        check_body_segments(experiment, measured)
        return PreparedBody(measured, None)
    measured = read_capture(experiment, tell)
    check_body_segments(experiment, measured)
    quiet = tuple(f for f in measured.findings if f.fatal or f.cause not in HUSH)
    measured = replace(measured, findings=quiet)
    if config.clocks != "auto":
        return PreparedBody(measured, None)
    tell("comparing the clocks by the balance")
    offset = _clock(experiment, measured)
    blind = measured.inputs.clock is None  # nobody could look at the untouched object before
    inputs = measured.inputs.on_clock(offset.clock)
    told = touched(inputs) if blind else []
    return PreparedBody(replace(measured, inputs=inputs, findings=(*measured.findings, *told)), offset)


def _refuse_rolling(experiment: Experiment[Any]) -> None:
    """Refuse objects that roll, and keys that only they have: nothing would read them."""
    config = experiment.config
    if isinstance(object_model(experiment).mechanism, Rolling):
        raise experiment.problem("object", f"{config.object} rolls: this is for objects on a hinge")
    parts = {"": config, "recordings.": config.recordings, "markers.": config.markers, "uncertain.": config.uncertain}
    for prefix, names in FOR_ROLLING.items():
        part = parts[prefix]
        given = set[str]() if part is None else part.model_fields_set
        for name in names:
            if name in given:
                raise experiment.problem(f"{prefix}{name}", "this key is for objects that roll", "leave it out")


def fit_body(experiment: Experiment[Any], prepared: PreparedBody, tell: Tell = lambda _: None) -> BodyFit:
    """Fit as the experiment file says."""
    config, measured = experiment.config, prepared.measured
    published = measured.inputs.filtering.lowpass is None

    def fitted(inputs: HingeInputs) -> BodyFit:
        if config.procedure == "two-step":
            return fit_two_steps(inputs, measured.segments, fixed=config.fixed)
        return fit_joint(inputs, measured.segments, fixed=config.fixed, tell=tell)

    try:
        tell("solving")
        fit = fitted(measured.inputs)
        if published or config.stops is not None:
            return fit
        if suspicious(fit):  # contact may spoil the fit so much that it cannot be seen in it
            fit = better(fit, fitted(replace(measured.inputs, stops=farther_in(fit))))
        for _ in range(MOST_TIMES):
            stops = inner_stops(fit)
            if stops is None:
                break
            fit = fitted(replace(measured.inputs, stops=stops))
        return fit
    except DataProblem as error:
        raise experiment.problem("segments", str(error)) from error


def _contact(before: HingeInputs, after: HingeInputs) -> list[Finding]:
    """What to say where stops were found farther in than the ends of the travel."""
    if after.stops is None or after.stops == before.stops:
        return []
    angle = after.angle[np.isfinite(after.angle)]
    low, high = after.stops[0] + AT_STOP_RAD, after.stops[1] - AT_STOP_RAD
    ends = [f"below {np.degrees(low):.1f} deg"] if low > angle.min() + 1.01 * AT_STOP_RAD else []
    ends += [f"above {np.degrees(high):.1f} deg"] if high < angle.max() - 1.01 * AT_STOP_RAD else []
    told = (
        f"{' and '.join(ends) or 'near its ends'} something pushes back that the model lacks (a stop, a seal, a "
        "catch): what is there was left out; state stops:, or add an element"
    )
    return [Finding("contact", told)]


def _clock(experiment: Experiment[Any], measured: BodyMeasured) -> Offset:
    """Twice: once with the shapes as given, then with those that the first clock shows."""
    inputs, segments = measured.inputs, [*measured.segments["quasi_static"], *measured.segments["train"]]
    try:
        first = clock_by_balance(inputs, inputs.balance(), segments)
        inputs = inputs.on_clock(first.clock)
        if any(s.free for e in inputs.model.elements for s in e.shapes):
            inputs = inputs.with_model(fit_shapes(inputs.balance(), segments, profiles=False).model)
        return clock_by_balance(inputs, inputs.balance(), segments)
    except DataProblem as error:
        raise experiment.problem("clocks", str(error), "state the samples that coincide") from error


def check_body_segments(experiment: Experiment[Any], measured: BodyMeasured) -> None:
    """Refuse segments in which nothing was seen, and a test that is not one."""
    times = measured.inputs.times_s
    spans: dict[str, list[tuple[int, int]]] = {}
    for name, segments in measured.segments.items():
        spans[name] = [(int(a), int(b)) for a, b in (np.searchsorted(times, s) for s in segments)]
        for (a, b), segment in zip(spans[name], segments, strict=True):
            if b <= a or not np.isfinite(measured.inputs.angle[a:b]).any():
                told = f"{segment[0]:.2f} to {segment[1]:.2f} s: the object's angle is not known anywhere in it"
                raise experiment.problem(f"segments.{name}", told)
    clash = check_overlap([*spans["train"], *spans["quasi_static"]], spans["test"])
    if clash is not None:
        told = f"{times[clash[1][0]]:.2f} to {times[clash[1][1] - 1]:.2f} s overlaps a segment of the fit"
        raise experiment.problem("segments.test", told, "a test on data of the fit proves nothing")


def replayed(fit: BodyFit) -> Replay | None:
    """Measured force in, angle out: the model between its stops, in windows of ten seconds."""
    inputs = fit.inputs
    found = fit.motion
    wrench = fit.prediction.wrench
    model = fit.solution.model
    if inputs.stops is not None:
        model = with_stops(model, *inputs.stops)
    state = np.column_stack([found.position, found.speed])
    try:
        return replay(model, inputs.times_s, wrench, state)
    except PalpateError:
        return None
