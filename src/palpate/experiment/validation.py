"""A model on data it has not seen: how well it explains them, beside the best that a model of its kind could do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from palpate.elements import SENSOR
from palpate.errors import PalpateError
from palpate.experiment.body import PreparedBody, fit_body, prepare_body, replayed
from palpate.experiment.body_judge import WORST_PERCENT
from palpate.experiment.file.object_model import object_model
from palpate.experiment.file.reading import Experiment
from palpate.experiment.handle import prepare_handle
from palpate.experiment.result import provenance
from palpate.experiment.result_file import read_result
from palpate.experiment.rolling_body import believed_of, prepare_rolling
from palpate.experiment.rolling_fit import fit_rolling
from palpate.experiment.rolling_replay import CONTACT, replay_errors, replay_rolling
from palpate.experiment.telling import Tell
from palpate.files import finite, sha256
from palpate.findings import Finding
from palpate.identify import Solution, compress, solve
from palpate.identify.balance import Segment
from palpate.mechanisms import Free, Mechanism, Rolling
from palpate.mechanisms.mechanism import Row
from palpate.model import Model
from palpate.physics.arrays import FloatArray, least_squares
from palpate.runtime.replay import Replay

VALIDATION_FORMAT = 1
WORSE = 2.0
"""Times the error of a model fitted to these very data: the object is another, or has changed."""
APART, FAR_APART, MATTERS = 3.0, 5.0, 0.1
"""Standard deviations by which two identifications of one number rarely differ; and beyond which, with a difference of
this share of it, the model is refuted.
"""
ASTRAY_RAD = np.radians(0.3)
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
    """rad: measured force in, angles out, with the model and with the fit."""


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
    rms = {
        row.name: _entry(row, *columns)
        for row, *columns in zip(_rows(unseen), error.T, best.T, measured.T, strict=True)
    }
    parameters = {e["name"]: e for e in _parameters(unseen, model, known)}
    seen = _already_seen(known, experiment, unseen.segments)
    why = [f.sentence for f in unseen.findings if f.fatal] + _reasons(rms) + _refuted(parameters, unseen.replay)
    warnings = [*seen, *(f.sentence for f in unseen.findings if not f.fatal), *_moved(parameters)]
    return Validation(
        {
            "palpate_validation": VALIDATION_FORMAT,
            "title": experiment.config.title or experiment.source.stem,
            "model": {"name": model.name, "file": None if path is None else path.name, "about": dict(model.about)},
            "rms": rms,
            "samples": len(error),
            "parameters": parameters,
            "replay": unseen.replay,
            "verdict": {"passed": not why, "reasons": why},
            "warnings": list(dict.fromkeys(w for w in warnings if w not in why)),
            "provenance": provenance(experiment, unseen.segments)
            | {"palpate": version("palpate"), "model": None if path is None else sha256(path)},
        }
    )


def _unseen(model: Model, experiment: Experiment[Any], tell: Tell) -> Unseen:
    """The experiment's balance in the columns of this model."""
    config = experiment.config
    if config.stage not in ("handle", "body"):
        raise experiment.problem("stage", f"a model is not validated by the {config.stage} stage", "handle or body")
    _check_kind(model, experiment)
    if config.stage == "handle":
        return _of_handle(experiment, tell)
    return (_of_rolling if isinstance(model.mechanism, Rolling) else _of_hinge)(model, experiment, tell)


def _check_kind(model: Model, experiment: Experiment[Any]) -> None:
    """Refuse a model of something else."""
    config = experiment.config
    about = str(model.about.get("model_of", "")).split(" ", 1)[0]
    wanted = "handle" if config.stage == "handle" else str(config.model_of)
    if about and about not in (wanted, "body" if wanted == "weight-only" else wanted):
        told = f"the experiment is about the {wanted}, the model is one of the {about}"
        raise experiment.problem(
            "stage" if config.stage == "handle" else "model_of", told, "give the model of the same part"
        )
    kind = Free if config.stage == "handle" else type(object_model(experiment).mechanism)
    if type(model.mechanism) is not kind:
        told = f"the model {model.name!r} moves otherwise ({_kind(model.mechanism)}) than the experiment's object"
        raise experiment.problem("object", told, "give the model of the same object")


def _kind(mechanism: Mechanism) -> str:
    return str(getattr(mechanism, "type", type(mechanism).__name__))


def _of_handle(experiment: Experiment[Any], tell: Tell) -> Unseen:
    prepared = prepare_handle(experiment, tell)
    tell("solving")
    spans = sorted([*prepared.train, *prepared.test])
    refit = solve(compress(prepared.balance, spans, noise=prepared.noise))
    rows = np.concatenate([prepared.balance.rows(s) for s in spans])
    segments = {"train": prepared.train, "test": prepared.test}
    return Unseen(prepared.balance.model, rows, refit, segments, prepared.findings)


def _of_hinge(model: Model, experiment: Experiment[Any], tell: Tell) -> Unseen:
    prepared = prepare_body(experiment, tell)
    measured = prepared.measured
    # the model's own effects and zones, on these recordings
    mechanism = measured.inputs.model.mechanism
    inputs = measured.inputs.with_model(replace(_settled(model), mechanism=mechanism, values={}))
    plain = replace(experiment, config=experiment.config.model_copy(update={"procedure": "joint", "fixed": {}}))
    moved = sorted([*measured.segments["train"], *measured.segments["test"]])  # a refit is one to all of these data
    everything = replace(measured, inputs=inputs, segments={**measured.segments, "train": moved, "test": []})
    fit = fit_body(plain, PreparedBody(everything, prepared.offset), tell)
    spans = sorted(s for name, own in measured.segments.items() if name != "static" for s in own)
    rows = np.concatenate([fit.prediction.rows(s)[fit.used(s)] for s in spans])
    tell("replaying")
    there = {"model": fit.solution.model.with_values(model.p), "refit": fit.solution.model}
    played = {name: replayed(replace(fit, solution=replace(fit.solution, model=m))) for name, m in there.items()}
    scores = {name: None if found is None else finite(found.rms) for name, found in played.items()}
    return Unseen(inputs.model, rows, fit.solution, measured.segments, measured.findings, scores)


def _settled(model: Model) -> Model:
    """Zones as they are, not to be looked for again."""
    parts: list[Any] = list(model.elements)
    return replace(model, elements=tuple(replace(e, estimate=False) if hasattr(e, "estimate") else e for e in parts))


def _of_rolling(model: Model, experiment: Experiment[Any], tell: Tell) -> Unseen:
    prepared = prepare_rolling(experiment, tell)
    tell("solving")
    measured = prepared.measured
    spans = sorted([*measured.segments["train"], *measured.segments["test"]])
    believed = replace(believed_of(experiment, measured), prior=None)
    fit = fit_rolling(measured.inputs, {**measured.segments, "train": spans, "test": []}, believed)
    missing = [n for n in fit.inputs.model.of_object().parameters if n not in model.values]
    if missing:
        told = f"the experiment's object has {', '.join(missing)}, the model {model.name!r} has not"
        raise experiment.problem("object", told, "give the model of the same object")
    tell("replaying")
    zeros = _zeros(fit.inputs.model)
    names = list(fit.inputs.model.parameters)
    own = np.array([v if n in zeros else model.values[n] for n, v in zip(names, fit.solution.p, strict=True)])
    scores = {name: _turned(replay_rolling(fit, spans, p)) for name, p in (("model", own), ("refit", fit.solution.p))}
    rows = fit.seen.rows[fit.inside(spans)]
    return Unseen(fit.inputs.model, rows, fit.solution, measured.segments, measured.findings, scores)


def _turned(played: Replay) -> float | None:
    """rad: errors of all angles of a rolling object together."""
    errors = [v for name, v in replay_errors(played).items() if name != CONTACT]
    return float(np.linalg.norm(errors)) if errors else None


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
    return [n for e in model.elements for n in [next(names) for _ in e.parameters] if e.acts_on == SENSOR]


def _value(model: Model, name: str) -> float:
    try:
        return float(model.values[name])
    except KeyError:
        raise PalpateError(f"the model {model.name!r} has no value for {name}") from None


def _entry(row: Row, error: FloatArray, best: FloatArray, measured: FloatArray) -> dict[str, Any]:
    value, least, span = float(np.sqrt(np.mean(error**2))), float(np.sqrt(np.mean(best**2))), float(np.ptp(measured))
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


def _reasons(rms: Mapping[str, Mapping[str, Any]]) -> list[str]:
    told: list[str] = []
    for name, e in rms.items():
        if e["times_refit"] is not None and e["times_refit"] > WORSE:
            told.append(
                f"{name}: the error {e['value']:.3g} {e['unit']} is {e['times_refit']:.1f} times what a model fitted "
                "to these data leaves: the object has changed, or it is another"
            )
        elif e["percent_of_range"] is not None and e["percent_of_range"] > WORST_PERCENT:
            told.append(f"{name}: the error is {e['percent_of_range']:.1f} % of the range: not explained")
    return told


def _refuted(parameters: Mapping[str, Mapping[str, Any]], replay: Mapping[str, float | None] | None) -> list[str]:
    """Numbers that these data exclude, and a replay that goes elsewhere."""
    told: list[str] = []
    far = [
        f"{n} = {e['value']:.3g} {e['unit']} instead of {e['refit']:.3g}"
        for n, e in parameters.items()
        if e["apart"] is not None
        and e["apart"] > FAR_APART
        and abs(e["value"] - e["refit"]) > MATTERS * abs(e["refit"])
    ]
    if far:
        told.append(f"these data exclude numbers of the model: {', '.join(far)}")
    if replay is not None and replay["model"] is not None and replay["refit"] is not None:
        here, best = replay["model"], replay["refit"]
        if here > max(WORSE * best, ASTRAY_RAD):
            told.append(
                f"its replay goes astray by {np.degrees(here):.2f} deg RMS, that of a model fitted to these data by "
                f"{np.degrees(best):.2f}"
            )
    return told


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
