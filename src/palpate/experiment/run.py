"""The one stage: from an experiment file to a judged result, for any mechanism and any instruments.

record, mount: `prepare`; move, balance, fit: `fit_prepared`; doubt: `variations`; judge: `gates`; tell: `result`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from palpate.elements import SensorBias
from palpate.errors import DataProblem, PalpateError
from palpate.experiment.file import reading
from palpate.experiment.file.reading import Experiment, object_model
from palpate.experiment.file.schema import HandleWeightPart, sensor_label
from palpate.experiment.file.sensors import sensors_of
from palpate.experiment.gates import judge
from palpate.experiment.gates.numbers import refuse
from palpate.experiment.stage.belief import Handles
from palpate.experiment.stage.compensation import Compensation, compensation
from palpate.experiment.stage.contact import Contact
from palpate.experiment.stage.fit import Fit, Plan, ProcedureProblem, fit_inputs
from palpate.experiment.stage.inner import with_inner_states
from palpate.experiment.stage.inputs import Inputs
from palpate.experiment.stage.joint import joint
from palpate.experiment.stage.lack import LackOfFit, lack_of_fit, with_model_part
from palpate.experiment.stage.links import Refit, found_along, with_links, with_tape_measured_links
from palpate.experiment.stage.prepare import Prepared, prepare
from palpate.experiment.stage.result import Case, Result, build_result, read_references, rms_of_kinds
from palpate.experiment.stage.slope import with_slope
from palpate.experiment.stage.variations import (
    Variation,
    contradicted,
    imu_place,
    rolled,
    with_estimated,
    with_systematic,
)
from palpate.findings import Finding
from palpate.identify.balance import Segment
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import PHI_NAMES, phi_from_mass_properties
from palpate.progress import Tell, onward, portion, silent
from palpate.runtime.replay import Replay, replay, with_stops

COMPENSATED = 3
"""How often lag and compliance are estimated: each time from a fit with less of them."""
HANDLES_FIRST = 0.7
"""Share of the time before the fit that goes into the handles, where they are identified first."""
REPLAYED_S, REPLAY_STEP_S = 100.0, 1e-3
"""Of an object with stops: windows spread over a longer recording say as much as all of them; in steps of 2 ms those
that bounce on a stop erred twice as much."""


def run_experiment(experiment: Experiment[Any] | str | Path, tell: Tell = silent) -> Result:
    """Identify what an experiment, or the file at this path, asks for; `tell` is called as each step begins."""
    experiment = reading.experiment_of(experiment)
    config = experiment.config
    if config.stage == "motion":
        remedy = "`palpate inspect` shows the motion; stages that identify are `handle` and `body`"
        raise experiment.problem("stage", "nothing is identified in the motion stage", remedy)
    model = object_model(experiment)
    names = reading.names_in_results(model)
    names += [p.name for p in SensorBias().parameters] if len(model.mechanism.rows) > 1 else []
    reading.check_reference_names(experiment, names, model.mechanism.rows)  # before anything is computed
    read_references(experiment)
    begins = 0.3 if config.method == "joint" else 0.6
    prepared = prepare_experiment(experiment, portion(tell, 0.0, begins))
    doubted = doubted_fit(experiment, prepared, portion(tell, begins, 0.85))
    fit, refused, lack = doubted.fit, doubted.refused, doubted.lack
    tell("replaying", 0.85)
    played = None if refused else replay_fit(fit, prepared.segments["test"])
    tell("judging", 0.9)
    case = Case(experiment, prepared, fit, rms_of_kinds(prepared, fit), refused, played, lack, doubted.taken_out)
    return build_result(case, judge(case))


@dataclass(frozen=True, slots=True, eq=False)
class Doubted:
    """A fit with all that its intervals allow for."""

    fit: Fit
    refused: dict[str, Finding]
    """Number -> why it is not known."""
    lack: LackOfFit | None
    taken_out: Compensation | None = None


def doubted_fit(experiment: Experiment[Any], prepared: Prepared, tell: Tell = silent) -> Doubted:
    """The fit that the experiment file asks for, with all that its intervals allow for."""
    tell = onward(tell)
    fit, compensate = fit_prepared(experiment, prepared, portion(tell, 0.0, 0.3)), experiment.config.compensate
    out = Compensation()
    if compensate:
        tell("taking lag and compliance out of the measurements", 0.3)
        for _ in range(COMPENSATED):
            out = compensation(fit, out)
            fit = fit_prepared(experiment, replace(prepared, inputs=out.of(prepared.inputs), begun=None))
    others = [other.of(prepared.inputs) for other in out.off()]
    doubted = _doubted(experiment, prepared, fit, others, portion(tell, 0.3, 0.9))
    lack, alone = doubted.lack, doubted.fit.joint is None  # a joint estimate has found its links along
    relinked = with_tape_measured_links(fit, lack, _refit(prepared, tell)) if lack is not None and alone else None
    if relinked is not None:
        again = _doubted(experiment, prepared, relinked, others, portion(tell, 0.9, 1.0))
        doubted = doubted if again.lack is None or again.lack.has("linkage") else again
    return replace(doubted, taken_out=out if compensate else None)


def _doubted(
    experiment: Experiment[Any], prepared: Prepared, fit: Fit, others: Sequence[Inputs], tell: Tell
) -> Doubted:
    """A fit with what its intervals must allow for: what was estimated beside it, is not known, or the model lacks.

    others: measurements compensated otherwise, each by a standard deviation.
    """
    config = experiment.config
    unsure = [replace(fit.inputs, sensors=x.sensors, measured=x.measured, q=x.q, smoothed=x.smoothed) for x in others]
    besides = [Variation("compensation", inputs) for inputs in unsure]
    if config.method == "joint":
        with experiment.at("method", "method: balance needs less", DataProblem):
            fit = joint(fit, besides, portion(tell, 0.0, 0.7))
    else:
        fit = with_estimated(fit, besides)
    signals = config.recordings.signals
    solution, refused = refuse(fit, rate_known=signals is None or signals.rate_known)
    fit = replace(fit, solution=solution)
    scaled = any(f.cause == "gravity" or (f.cause == "gyro-scale" and f.fatal) for f in prepared.findings)
    if not scaled:  # a wrong scale looks like a wrong place
        fit = replace(fit, imu_place=imu_place(fit))
    fit = replace(fit, rolled=rolled(fit))
    uncertain = {} if config.uncertain is None else dict(config.uncertain.stated())
    for name, by in (*prepared.contradicted.items(), *contradicted(fit, config.known).items()):
        uncertain[name] = max(uncertain.get(name, 0.0), by)
    if uncertain:
        tell("propagating systematic errors", 0.7)
        fit = with_systematic(fit, uncertain)
    tell("looking for what the model lacks", 0.8)
    lack = None if fit.inputs.filtering.published else lack_of_fit(fit)
    fit = fit if lack is None else with_model_part(fit, lack)
    return Doubted(found_along(fit, prepared.inputs.mechanism, lack), refused, lack)


def prepare_experiment(experiment: Experiment[Any], tell: Tell = silent) -> Prepared:
    """An experiment up to its balance: its handles first, then recordings on one clock."""
    handles = handles_of(experiment, portion(tell, 0.0, HANDLES_FIRST))
    prepared = prepare(experiment, portion(tell, HANDLES_FIRST if handles.results else 0.0, 1.0), handles=handles)
    if not experiment.parts.source:
        return prepared
    ran = Finding("parts", f"{experiment.config.parts} is Python code, which ran with your rights", "parts")
    return replace(prepared, findings=(*prepared.findings, ran))


def fit_prepared(experiment: Experiment[Any], prepared: Prepared, tell: Tell = silent, plan: Plan | None = None) -> Fit:
    """Fit as the experiment file says, or by another plan."""
    config, segments, inputs = experiment.config, prepared.segments, prepared.inputs
    if plan is None:
        train, slow = tuple(segments["train"]), tuple(segments["quasi_static"])
        two_step = config.procedure == "two-step"
        plan = Plan(train if two_step else (*slow, *train), slow if two_step else None, config.robust)
    contact: Contact | None = "any" if config.stops is None else "pushing back"
    if inputs.main is None or inputs.filtering.published or inputs.drift > 0:
        contact = None  # of what drifts, what a stop does is not seen at one place
    doubts = "; ".join(f.sentence for f in prepared.findings if f.fatal)
    before, tell = f"before that: {doubts}" if doubts else "", onward(tell)  # between other stops it begins anew
    with experiment.at("segments", before, DataProblem), experiment.at("procedure", before, ProcedureProblem):
        noise, begun = prepared.noise, prepared.begun
        fit = fit_inputs(inputs, segments, plan, noise=noise, begun=begun, find_contact=contact, tell=tell)
        sloping = None if config.method == "joint" else with_slope(fit)
        fit = fit if sloping is None else fit_inputs(sloping, segments, plan, noise=noise, near=fit, tell=tell)
        stated = None if config.uncertain is None else config.uncertain.links
        return with_links(fit, stated, _refit(prepared, tell))


def _refit(prepared: Prepared, tell: Tell) -> Refit:
    segments, noise = prepared.segments, prepared.noise
    return lambda near, inputs: fit_inputs(inputs, segments, near.plan, noise=noise, near=near, tell=tell)


def replay_fit(fit: Fit, test: Sequence[Segment], p: FloatArray | None = None) -> Replay | None:
    """Measured force in, motion out, window by window from the measured state; None where the model cannot be stepped.

    p: other parameters than the fit's. What has stops is replayed all over the recording between them; what nobody
    holds, over the test segments in windows so short that errors do not grow tenfold.
    """
    inputs = fit.inputs
    if inputs.imu is not None:
        return None
    model = fit.solution.model if p is None else inputs.model.with_values(p)
    mechanism, used = inputs.mechanism, fit.balance.used
    assert used is not None
    wrench = fit.wrench_of(model)
    try:
        states = with_inner_states(fit.balance.kinematics, mechanism, mechanism.states(fit.moved.motion))
        if mechanism.main is not None:
            if inputs.stops is not None:
                model = with_stops(model, *inputs.stops)
            elif inputs.static is not None:  # shut, it leans on a frame of which the model knows nothing
                states = np.where(inputs.inside([inputs.static])[:, None], np.nan, states)
            if inputs.stops is None:  # nor does it know what holds the object outside the segments
                inside = inputs.inside([*fit.plan.segments, *(fit.plan.quasi_static or ()), *test])
                states = np.where(inside[:, None], states, np.nan)
            return replay(model.of_object(), inputs.times_s, wrench, states, dt=REPLAY_STEP_S, most_s=REPLAYED_S)
        inside = inputs.inside(test)
        states = np.where(used[:, None], states, np.nan)
        return replay(model.of_object(), inputs.times_s[inside], wrench[inside], states[inside])
    except PalpateError:
        return None


# --- handles ----------------------------------------------------------------------------------------------------------


def handles_of(experiment: Experiment[Any], tell: Tell) -> Handles:
    """The handle behind each sensor: identified first, loaded, or stated; refused where it is of another sensor."""
    config = experiment.config
    if not config.captured:
        return Handles()
    keys = sensors_of(config)
    labels = [sensor_label(config.sensor, key.wrench.device) for key in keys]
    if len({key.handle_key for key in keys}) == 1:  # it stands for all, and may have been measured on any sensor
        one = _handle(experiment, keys[0].handle_key, keys[0].handle, labels, tell)
        return replace(one, phis=one.phis * len(keys))
    each: list[Handles] = []
    for i, (key, label) in enumerate(zip(keys, labels, strict=True)):
        part = portion(tell, i / len(keys), (i + 1) / len(keys))
        each.append(_handle(experiment, key.handle_key, key.handle, [label], part))
    joined = ([x for h in each for x in getattr(h, name)] for name in ("phis", "results", "findings"))
    phis, results, findings = (tuple(x) for x in joined)
    return Handles(phis, results, findings)


def _handle(experiment: Experiment[Any], key: str, part: Any, sensors: list[str], tell: Tell) -> Handles:
    if part is None:
        return Handles()
    if isinstance(part, HandleWeightPart):
        # only its weight counts: a point would do, and a small ball is a body
        return Handles((phi_from_mass_properties(part.mass, part.com, 1e-6 * part.mass * np.eye(3)),))
    results, path = tuple[Result, ...](), experiment.source.parent / part
    shipped = part in reading.shipped_experiments() and not path.is_file()
    if path.suffix in (".yaml", ".yml") or shipped:
        tell("identifying the handle", 0.0)
        with experiment.at(key):
            of_handle = reading.read_experiment(part if shipped else path, data=experiment.data if shipped else None)
        if of_handle.config.stage != "handle":
            wrong = f"{part} is an experiment of the stage {of_handle.config.stage!r}"
            raise experiment.problem(key, wrong, "give one of stage: handle")
        results = (run_experiment(of_handle, portion(tell, 0.0, 1.0, "handle: ")),)
        model = results[0].model
        assert model is not None  # of a free body no number is refused
    else:
        with experiment.at(key):
            model = Model.load(path)
    joints = model.mechanism.joints
    if [joint.kind for joint in joints] != ["free"] or not set(PHI_NAMES) <= set(model.values):
        wrong = f"{part} is a model of {model.name!r}, not of a handle"
        raise experiment.problem(key, wrong, "give the model.json of a handle stage")
    theirs, verdict = model.about.get("sensor"), model.about.get("verdict", "passed")
    if theirs is not None and theirs not in sensors:
        wrong = f"this handle was measured with the sensor {theirs!r}, the body with {' and '.join(map(repr, sensors))}"
        raise experiment.problem(key, wrong, "give the handle of the same sensor: its frame and zero are that sensor's")
    doubts = () if verdict == "passed" else (Finding("handle", f"its own identification {verdict}", key),)
    return Handles((np.array([model.values[name] for name in PHI_NAMES]),), results, doubts)
