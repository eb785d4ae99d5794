"""A model on data it has not seen: how well it explains them, beside the best that a model of its kind could do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import DataProblem, PalpateError
from palpate.experiment.file.reading import Experiment, object_model
from palpate.experiment.gates.explaining import MISFIT_PERCENT
from palpate.experiment.run import prepare_experiment, replay_fit
from palpate.experiment.stage.capture import Tell
from palpate.experiment.stage.fit import Plan, fit_inputs
from palpate.experiment.stage.inputs import Belief
from palpate.experiment.stage.prepare import shown_as
from palpate.experiment.stage.result import provenance, read_result
from palpate.files import finite, sha256
from palpate.findings import Finding, sentences
from palpate.identify import Solution
from palpate.identify.balance import Segment
from palpate.mechanisms import Row
from palpate.model import Model
from palpate.physics.arrays import FloatArray, least_squares, rms

VALIDATION_FORMAT = 1
WORSE = 2.0
"""Times the error of a model fitted to these very data: the object is another, or has changed."""
APART, FAR_APART, MATTERS = 3.0, 5.0, 0.1
"""Standard deviations by which two identifications of one number rarely differ; and beyond which, with a difference of
this share of it, the model is refuted.
"""
ASTRAY = {"rad": float(np.radians(0.3)), "m": 1.5e-3}
"""A replay within this is good, however good that of the refit may be."""


@dataclass(frozen=True, slots=True, eq=False)
class Unseen:
    """Data that a model shall explain, and the best fit to them."""

    model: Model
    """Of the fit; its parameters are the columns."""
    samples: FloatArray
    """(samples, rows, parameters + 1): the weight of each parameter, then what was measured, N and N m."""
    refit: Solution
    segments: Mapping[str, Sequence[Segment]]
    findings: tuple[Finding, ...]
    replay: Mapping[str, float | None] | None = None
    """Measured force in, motion out, with the model and with the fit: RMS in `replay_unit`."""
    replay_unit: str = "rad"


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """How a model stands up to data it has not seen, as plain data (the content of validation.json)."""

    data: Mapping[str, Any]

    @property
    def passed(self) -> bool:
        """Whether the model explains them."""
        return bool(self.data["verdict"]["passed"])


def validate(
    model: Model, experiment: Experiment[Any], tell: Tell = lambda _: None, *, path: Path | None = None
) -> Validation:
    """Judge a model by the recordings of an experiment: all its segments count, they need not be divided.

    `path`: where the model was read; a result.json beside it tells the intervals of its numbers and what it has seen.
    """
    model = model.of_object()
    unseen = _unseen(model, experiment, tell)
    tell("judging")
    known = _result_beside(path)
    measured = unseen.samples[:, :, -1]
    error = _residuals(unseen, model)
    best = _residuals(unseen, unseen.refit.model.with_values(unseen.refit.p))
    rms_ = {
        row.name: _entry(row, *columns)
        for row, *columns in zip(_rows(unseen), error.T, best.T, measured.T, strict=True)
    }
    parameters = {e["name"]: e for e in _parameters(unseen, model, known)}
    seen = _already_seen(known, experiment, unseen.segments)
    reasons = [*sentences(unseen.findings, fatal=True), *_reasons(rms_), *_refuted(parameters, unseen)]
    warnings = [*seen, *sentences(unseen.findings, fatal=False), *_moved(parameters)]
    return Validation(
        {
            "palpate_validation": VALIDATION_FORMAT,
            "title": experiment.config.title or experiment.source.stem,
            "model": {"name": model.name, "file": None if path is None else path.name, "about": dict(model.about)},
            "rms": rms_,
            "samples": len(error),
            "parameters": parameters,
            "replay": unseen.replay,
            "verdict": {"passed": not reasons, "reasons": reasons},
            "warnings": list(dict.fromkeys(w for w in warnings if w not in reasons)),
            "provenance": provenance(experiment, unseen.segments)
            | {"palpate": version("palpate"), "model": None if path is None else sha256(path)},
        }
    )


def _unseen(model: Model, experiment: Experiment[Any], tell: Tell) -> Unseen:
    """The experiment's balance in the columns of this model: its own effects and zones, on these recordings."""
    config = experiment.config
    if config.stage not in ("handle", "body"):
        raise experiment.problem("stage", f"a model is not validated by the {config.stage} stage", "handle or body")
    _check_kind(model, experiment)
    prepared = prepare_experiment(experiment, tell)
    inputs, segments = prepared.inputs, prepared.segments
    elements = tuple(e.estimating(False) for e in model.elements)
    instruments = tuple(e for e in inputs.model.elements if e.instrument)
    ours = replace(model, mechanism=inputs.mechanism, elements=(*elements, *instruments), values={})
    belief = Belief(mass=inputs.belief.mass, factor=inputs.belief.factor)
    moved = sorted([*segments["train"], *segments["test"]])  # a refit is one to all of these data
    tell("solving")
    try:
        fit = fit_inputs(
            replace(inputs.with_model(ours), belief=belief),
            {**segments, "train": moved, "test": []},
            Plan((*segments["quasi_static"], *moved)),
            noise=lambda _: prepared.noise,
            find_contact=inputs.main is not None and config.stops is None and not inputs.filtering.published,
        )
    except DataProblem as error:
        raise experiment.problem("segments", str(error)) from error
    spans = sorted(s for kind, own in segments.items() if kind != "static" for s in own)
    tell("replaying")
    values = {**dict(zip(ours.parameters, fit.p.tolist(), strict=True)), **model.values}
    p = np.array([values[n] for n in ours.parameters])
    everything = replace(prepared, segments={**segments, "test": moved})
    played = {"model": replay_fit(fit, everything, p), "refit": replay_fit(fit, everything)}
    scores = {name: None if p is None else finite(p.rms) for name, p in played.items()}
    unit = next((p.unit for p in played.values() if p is not None), "rad")
    rows = fit.prediction.rows[fit.prediction.inside(spans)]
    replay = None if inputs.imu is not None else scores
    return Unseen(ours, rows, fit.solution, segments, prepared.findings, replay, unit)


def _check_kind(model: Model, experiment: Experiment[Any]) -> None:
    """Refuse a model of something else."""
    config = experiment.config
    about = str(model.about.get("model_of", "")).split(" ", 1)[0]
    wanted = "handle" if config.stage == "handle" else str(config.model_of)
    if about and about not in (wanted, "body" if wanted == "weight-only" else wanted):
        wrong = f"the experiment is about the {wanted}, the model is one of the {about}"
        place = "stage" if config.stage == "handle" else "model_of"
        raise experiment.problem(place, wrong, "give the model of the same part")
    theirs = object_model(experiment)
    if model.mechanism.type != theirs.mechanism.type:
        wrong = f"the model {model.name!r} moves otherwise ({model.mechanism.type}) than the experiment's object"
        raise experiment.problem("object", wrong, "give the model of the same object")


def _rows(unseen: Unseen) -> Sequence[Row]:
    return unseen.model.mechanism.rows


def _residuals(unseen: Unseen, model: Model) -> FloatArray:
    """(samples, rows): measured minus predicted; the load cell's zeros, which no model carries, are fitted anew."""
    names = list(unseen.model.parameters)
    zeros = _zeros(unseen.model)
    p = np.array([0.0 if n in zeros else _value(model, n) for n in names])
    error = np.asarray(unseen.samples @ np.append(-p, 1.0), dtype=float)
    if not zeros:
        return error
    columns = unseen.samples[:, :, [names.index(n) for n in zeros]]
    n, rows, count = columns.shape
    flat = columns.reshape(n * rows, count)
    return error - (flat @ least_squares(flat, error.reshape(-1))).reshape(n, rows)


def _zeros(model: Model) -> list[str]:
    """Parameters that belong to the instruments."""
    names = iter(model.parameters)
    return [n for e in model.elements for n in [next(names) for _ in e.parameters] if e.instrument]


def _value(model: Model, name: str) -> float:
    try:
        return float(model.values[name])
    except KeyError:
        raise PalpateError(f"the model {model.name!r} has no value for {name}") from None


def _entry(row: Row, error: FloatArray, best: FloatArray, measured: FloatArray) -> dict[str, Any]:
    value, least, span = rms(error), rms(best), float(np.ptp(measured))
    return {
        "value": value,
        "unit": row.unit,
        "percent_of_range": 100 * value / span if span > 0 else None,
        "refit": least,
        "times_refit": value / least if least > 0 else None,
    }


def _parameters(unseen: Unseen, model: Model, known: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Each number of the model beside that which these data ask for."""
    zeros, found = _zeros(unseen.model), list[dict[str, Any]]()
    own: Mapping[str, Any] = {} if known is None else known["parameters"]
    drawn = _drawn(model)
    for e in unseen.refit.estimates:
        if e.name in zeros:
            continue
        value = drawn.get(e.name)
        before = own.get(e.name, {})
        parts = [e.noise, *(before.get(key) or 0.0 for key in ("noise", "pull", "systematic"))]
        std = float(np.linalg.norm(parts))
        apart = None if value is None or std <= 0 or e.ci95 is None else abs(value - e.value) / std
        found.append(
            {"name": e.name, "unit": e.unit, "value": value, "refit": e.value, "refit_ci95": e.ci95, "apart": apart}
        )
    return found


def _drawn(model: Model) -> dict[str, float]:
    """The model's numbers as tables show them: a centre of mass (c_x) instead of its moment (mc_x)."""
    found = dict(model.values)
    for name, value in model.values.items():
        before, _, last = name.rpartition("mc_")
        if last in ("x", "y", "z") and f"{before}m" in model.values:
            found[f"{before}c_{last}"] = value / model.values[f"{before}m"]
    return found


def _reasons(entries: Mapping[str, Mapping[str, Any]]) -> list[str]:
    reasons: list[str] = []
    for name, e in entries.items():
        if e["times_refit"] is not None and e["times_refit"] > WORSE:
            reasons.append(
                f"{name}: the error {e['value']:.3g} {e['unit']} is {e['times_refit']:.1f} times what a model fitted "
                "to these data leaves: the object has changed, or it is another"
            )
        elif e["percent_of_range"] is not None and e["percent_of_range"] > MISFIT_PERCENT:
            reasons.append(f"{name}: the error is {e['percent_of_range']:.1f} % of the range: not explained")
    return reasons


def _refuted(parameters: Mapping[str, Mapping[str, Any]], unseen: Unseen) -> list[str]:
    """Numbers that these data exclude, and a replay that goes elsewhere."""
    reasons, replay = list[str](), unseen.replay
    far = [
        f"{n} = {e['value']:.3g} {e['unit']} instead of {e['refit']:.3g}"
        for n, e in parameters.items()
        if e["apart"] is not None
        and e["apart"] > FAR_APART
        and abs(e["value"] - e["refit"]) > MATTERS * abs(e["refit"])
    ]
    if far:
        reasons.append(f"these data exclude numbers of the model: {', '.join(far)}")
    if replay is not None and replay["model"] is not None and replay["refit"] is not None:
        here, best = replay["model"], replay["refit"]
        if here > max(WORSE * best, ASTRAY[unseen.replay_unit]):
            show = shown_as(unseen.replay_unit)
            reasons.append(
                f"its replay goes astray by {show(here, '.2f')} RMS, that of a model fitted to these data by "
                f"{show(best, '.2f')}"
            )
    return reasons


def _moved(parameters: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Numbers that these data contradict."""
    far = [f"{n} by {e['apart']:.1f}" for n, e in parameters.items() if e["apart"] is not None and e["apart"] > APART]
    if not far:
        return []
    return [f"these data ask for other numbers (standard deviations apart): {', '.join(far)}"]


def _result_beside(path: Path | None) -> Mapping[str, Any] | None:
    """The result.json that was written with the model."""
    beside = None if path is None else path.parent / "result.json"
    return read_result(beside) if beside is not None and beside.is_file() else None


def _already_seen(
    known: Mapping[str, Any] | None, experiment: Experiment[Any], segments: Mapping[str, Sequence[Segment]]
) -> list[str]:
    """Whether the model was identified from these very samples."""
    if known is None:
        return []
    old, here = known["provenance"], provenance(experiment, {})
    before = {e["sha256"] for e in old["recordings"]}
    same = [e["file"] for e in here["recordings"] if e["sha256"] in before]
    fitted = [s for name in ("train", "quasi_static") for s in old["segments"].get(name, ())]
    mine = [s for name, own in segments.items() if name != "static" for s in own]
    common = [(max(a, c), min(b, d)) for a, b in mine for c, d in fitted if min(b, d) > max(a, c)]
    if not same or not common:
        return []
    times = ", ".join(f"{a:.1f} to {b:.1f} s" for a, b in common[:4])
    return [f"these are not unseen data: the model was fitted to {times} of the same recordings"]
