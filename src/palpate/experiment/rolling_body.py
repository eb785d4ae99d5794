"""The body stage of rolling objects: recordings of an object wheeled about by its handles -> its model (paper,
Wheelbarrow).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.elements import SensorBias
from palpate.errors import DataProblem, PalpateError
from palpate.experiment.file.object_model import object_model
from palpate.experiment.file.reading import Experiment, check_reference_names
from palpate.experiment.file.schema import HandleWeightPart
from palpate.experiment.handle import prior_of
from palpate.experiment.result import Result
from palpate.experiment.rolling_capture import RollingMeasured, read_rolling
from palpate.experiment.rolling_clock import rolling_clock
from palpate.experiment.rolling_fit import Believed, RollingFit, fit_rolling, rolling_systematic
from palpate.experiment.rolling_ground import SLOW_S, lean_noise, wheel_findings
from palpate.experiment.rolling_judge import (
    feet_findings,
    judged,
    mass_findings,
    swap_findings,
    swapped_text,
    touched_findings,
    weighed_findings,
)
from palpate.experiment.rolling_replay import replay_rolling
from palpate.experiment.rolling_result import build_rolling_result
from palpate.experiment.telling import Tell
from palpate.findings import Finding
from palpate.identify import Prior
from palpate.identify.balance import Segment
from palpate.model import Model
from palpate.motion.clocks.offset import Offset
from palpate.physics.inertia import DRAWING_NAMES, PHI_NAMES, check_consistent, move_phi
from palpate.runtime.replay import Replay

HUSH = ("clock", "placement", "derivatives", "hinge angle", "fusion")
"""Findings of the motion stage that this stage settles in its own way."""
LIGHTEST_KG = 1.0
"""Of what is left of a whole without its handles."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedRolling:
    """An experiment with a rolling object up to its balance, on one clock."""

    measured: RollingMeasured
    offset: Offset | None
    """How the load cells' clock was found; None where it is stated."""


def run_rolling(experiment: Experiment[Any], tell: Tell = lambda _: None) -> Result:
    """Identify a rolling object: the whole stage."""
    model = object_model(experiment)
    check_reference_names(experiment, _told_of(model), model.mechanism.rows)
    prepared = prepare_rolling(experiment, tell)
    measured = prepared.measured
    tell("solving")
    fit = fit_prepared(experiment, prepared)
    solution, refused = judged(fit)
    fit = replace(fit, solution=solution)
    if experiment.config.uncertain is not None:
        tell("propagating systematic errors")
        fit = rolling_systematic(fit, experiment.config.uncertain)
    tell("replaying")
    played = None if refused else _replayed(fit, measured)
    tell("judging")
    findings = (*measured.findings, *fit_findings(experiment, fit, measured))
    return build_rolling_result(experiment, measured, prepared.offset, fit, refused, findings, played)


def _told_of(model: Model) -> list[str]:
    """Names of all that a result tells a number of and a reference may, too."""
    names = [n for n, p in model.parameters.items() if p.map != "inertia"]
    inertias = [n.removesuffix("m") for n, p in model.parameters.items() if p.map == "inertia" and p.name == "m"]
    names += [f"{prefix}{n}" for prefix in inertias for n in DRAWING_NAMES]
    return [*names, *(p.name for p in SensorBias().parameters)]


def _replayed(fit: RollingFit, measured: RollingMeasured) -> Replay | None:
    """Measured force in, motion out, on the test segments; None where the model cannot be stepped."""
    try:
        return replay_rolling(fit, measured.segments["test"])
    except PalpateError:
        return None


def prepare_rolling(experiment: Experiment[Any], tell: Tell = lambda _: None) -> PreparedRolling:
    """Read everything, and find the load cells' clock by the balance where it is not stated."""
    measured = read_rolling(experiment, tell)
    quiet = tuple(f for f in measured.findings if f.fatal or f.cause not in HUSH)
    measured = replace(measured, findings=quiet)
    _check_segments(experiment, measured)
    if experiment.config.clocks != "auto":
        return PreparedRolling(measured, None)
    tell("comparing the clocks by the balance")
    inputs = measured.inputs
    try:
        offset = rolling_clock(inputs, _moved(measured))
    except DataProblem as error:
        _refuse_swapped(experiment, measured)
        raise experiment.problem("clocks", str(error)) from error
    return PreparedRolling(replace(measured, inputs=inputs.on_clock(offset.clock)), offset)


def _moved(measured: RollingMeasured) -> list[Segment]:
    """All segments in which the object is moved, in time: a clock is the instruments', not the object's, and its drift
    shows over the whole recording. The parameters that are fitted along are not kept.
    """
    return sorted([*measured.segments["train"], *measured.segments["test"]])


def fit_prepared(experiment: Experiment[Any], prepared: PreparedRolling) -> RollingFit:
    """Fit as the experiment file says."""
    measured = prepared.measured
    try:
        return fit_rolling(measured.inputs, measured.segments, believed_of(experiment, measured))
    except DataProblem as error:
        raise experiment.problem("segments", str(error)) from error


def believed_of(experiment: Experiment[Any], measured: RollingMeasured) -> Believed:
    """The experiment file's prior and mass in the identification's terms."""
    config = experiment.config
    return Believed(_prior(experiment, measured), config.factor, _mass(experiment, measured), config.fixed)


def _prior(experiment: Experiment[Any], measured: RollingMeasured) -> Prior | None:
    """What the drawing shows -> what the model is of, with the handles behind the sensors."""
    # a prior has the same keys in every stage
    prior, part = prior_of(experiment), experiment.config.prior
    model_of = experiment.config.model_of
    if prior is None or part is None or part.of in (None, model_of):
        return prior
    if model_of == "weight-only":
        told = f"model_of: weight-only is neither the body nor the whole, a prior of the {part.of} does not fit it"
        raise experiment.problem("prior.of", told, "leave it out, or choose another model_of")
    handles = [(s.handle, s.T_body_sensor) for s in measured.inputs.sensors]
    weights = (experiment.config.handle, experiment.config.handle_2)
    if any(phi is None for phi, _ in handles) or any(isinstance(h, HandleWeightPart) for h in weights):
        told = f"a prior of the {part.of} cannot be turned into one of the {model_of} without the handles' inertia"
        raise experiment.problem("prior.of", told, "give handle as a file, or the other numbers")
    sign = 1.0 if model_of == "whole" else -1.0
    phi = np.array([prior.values[name] for name in PHI_NAMES])
    phi = phi + sign * sum(move_phi(h, T[:3, :3], T[:3, 3]) for h, T in handles if h is not None)
    try:
        check_consistent(phi, f"the prior of the {part.of}, turned into one of the {model_of}, is not a possible body")
    except PalpateError as error:
        raise experiment.problem("prior", str(error)) from error
    return replace(prior, values=dict(zip(PHI_NAMES, phi.tolist(), strict=True)))


def _mass(experiment: Experiment[Any], measured: RollingMeasured) -> float | None:
    """What was on the scale -> what the model is of, with the handles' masses."""
    part, model_of = experiment.config.known_mass, experiment.config.model_of
    if part is None:
        return None
    ours = "body" if model_of == "body" else "whole"
    if part.of == ours:
        return part.value
    if measured.handle_mass is None:
        told = f"{part.value:g} kg of the {part.of} cannot be turned into that of the {ours} without the handles"
        raise experiment.problem("known_mass", told, "give handle, or weigh the other")
    mass = part.value + (measured.handle_mass if ours == "whole" else -measured.handle_mass)
    if mass < LIGHTEST_KG:
        told = f"{part.value:g} kg of the whole less {measured.handle_mass:.3g} kg of handles leave {mass:.3g} kg"
        raise experiment.problem("known_mass", told)
    return mass


def _check_segments(experiment: Experiment[Any], measured: RollingMeasured) -> None:
    """Refuse segments in which nothing was seen, or all of which a foot is on the ground."""
    inputs = measured.inputs
    for name in ("train", "test"):
        for a, b in measured.segments[name]:
            inside = (inputs.times_s >= a) & (inputs.times_s < b)
            if not inputs.poses.seen[inside].any():
                told = f"{a:.2f} to {b:.2f} s: the object's pose is not known anywhere in it"
                raise experiment.problem(f"segments.{name}", told)
            if not (inputs.poses.seen & ~inputs.grounded)[inside].any():
                told = f"{a:.2f} to {b:.2f} s: a foot is on the ground all the time, which carries an unknown part"
                raise experiment.problem(f"segments.{name}", told)


def _refuse_swapped(experiment: Experiment[Any], measured: RollingMeasured) -> None:
    """Where no clock fits, right and left may be exchanged."""
    if len(measured.inputs.sensors) != 2:
        return
    try:
        rolling_clock(measured.inputs.swapped(), _moved(measured))
    except DataProblem:
        return
    raise experiment.problem("recordings.wrench_2", swapped_text())


def fit_findings(experiment: Experiment[Any], fit: RollingFit, measured: RollingMeasured) -> list[Finding]:
    """What the motion and the fitted balance say against what was taken as given."""
    used = fit.balance.used
    assert used is not None
    slow, rolling = fit.inputs.motion(SLOW_S), fit.inputs.rolling
    at, noise = used & np.isfinite(slow.omega).all(axis=1), lean_noise(fit.inputs.poses, fit.inputs.filtering.order)
    return [
        *touched_findings(fit.inputs),
        *feet_findings(fit.inputs, measured.segments),
        *(wheel_findings(slow, at, rolling.radius, noise) if rolling.moves == "full" else []),
        *swap_findings(fit),
        *mass_findings(experiment.config.known_mass is not None),
        *weighed_findings(fit),
    ]
