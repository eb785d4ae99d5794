"""A model on data it has not seen: how well it explains them, beside the best that a model of its kind could do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import PalpateError
from palpate.experiment.file.reading import Experiment, experiment_of, object_model
from palpate.experiment.gates.explaining import MISFIT_PERCENT
from palpate.experiment.gates.numbers import timed
from palpate.experiment.run import fit_prepared, prepare_experiment, replay_fit
from palpate.experiment.stage.fit import Fit, Plan
from palpate.experiment.stage.inputs import TAPE_MEASURE_M, Belief
from palpate.experiment.stage.links import FAR, PRIOR
from palpate.experiment.stage.placing import shown_as
from palpate.experiment.stage.prepare import Prepared
from palpate.experiment.stage.result import provenance, read_result, rms_entry
from palpate.files import finite, sha256
from palpate.findings import Finding, Severity, sentences
from palpate.identify.balance import Segment
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.physics.arrays import FloatArray, least_squares, rms
from palpate.progress import Tell, portion, silent

VALIDATION_FORMAT = 1
WORSE_THAN_REFIT = 2.0
"""Times the error of a model fitted to these very data: the object is another, or has changed."""
APART, FAR_APART, MATTERS = 3.0, 5.0, 0.1
"""Standard deviations by which two identifications of one number rarely differ; and beyond which, with a difference of
this share of it, the model is refuted.
"""
GOOD_REPLAY = {"rad": float(np.radians(0.3)), "m": 1.5e-3}
"""A replay within this is good, however good that of the refit may be."""


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """How a model stands up to data it has not seen, as plain data (the content of validation.json)."""

    data: Mapping[str, Any]
    findings: tuple[Finding, ...] = ()
    """What was noticed, as data; those that are fatal fail the verdict."""

    @property
    def passed(self) -> bool:
        """Whether the model explains them."""
        return bool(self.data["verdict"]["passed"])


def validate(
    model: Model, experiment: Experiment[Any] | str | Path, tell: Tell = silent, *, path: Path | None = None
) -> Validation:
    """Judge a model by the recordings of an experiment: all its segments count, they need not be divided.

    `path`: where the model was read; a result.json beside it gives the intervals of its numbers and the data it saw.
    """
    if not isinstance(model, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PalpateError(f"a model is wanted, not {type(model).__name__!r}: palpate.Model.load(...) reads one")
    experiment, model = experiment_of(experiment), model.of_object()
    prepared, fit = _refit(model, experiment, tell)
    tell("replaying", 0.7)
    signals = experiment.config.recordings.signals
    rate_known = signals is None or signals.rate_known
    replayed = _replayed(model, fit) if rate_known else None
    tell("judging", 0.95)
    beside = None if path is None else path.parent / "result.json"
    known = read_result(beside) if beside is not None and beside.is_file() else None
    spans = [s for kind, segments in prepared.segments.items() if kind != "static" for s in segments]
    samples = fit.rows(spans)
    refit = dict(zip(fit.inputs.model.parameters, fit.p.tolist(), strict=True))
    errors = (_residuals(fit.inputs.model, samples, v, model.name) for v in (model.values, refit))
    rms_: dict[str, dict[str, Any]] = {}
    for row, *columns in zip(fit.inputs.mechanism.rows, *(e.T for e in errors), samples[:, :, -1].T, strict=True):
        value, least, span = rms(columns[0]), rms(columns[1]), float(np.ptp(columns[2]))
        rms_[row.name] = rms_entry(row, value, span, refit=least, times_refit=value / least if least > 0 else None)
    parameters = _parameters(fit, model, {} if known is None else known["parameters"], rate_known=rate_known)
    findings = (
        *([] if known is None else _already_seen(known, experiment, spans)),
        *prepared.findings,
        *_unexplained(rms_),
        *_contradicted(parameters),
        *_astray(replayed),
    )
    reasons = sentences(findings, fatal=True)
    data = {
        "palpate_validation": VALIDATION_FORMAT,
        "title": experiment.config.title or experiment.source.stem,
        "model": {"name": model.name, "file": None if path is None else path.name, "about": dict(model.about)},
        "rms": rms_,
        "samples": len(samples),
        "parameters": parameters,
        "replay": replayed,
        "findings": [f.as_json() for f in findings],
        "verdict": {"passed": not reasons, "reasons": reasons},
        "warnings": sentences(findings, fatal=False),
        "provenance": provenance(experiment, prepared.segments) | {"model": None if path is None else sha256(path)},
    }
    return Validation(data, findings)


def _refit(model: Model, experiment: Experiment[Any], tell: Tell) -> tuple[Prepared, Fit]:
    """The experiment's balance in the columns of this model, with its effects and zones, fitted to all recordings."""
    config = experiment.config
    if config.stage not in ("handle", "body"):
        raise experiment.problem("stage", f"a model is not validated by the {config.stage} stage", "handle or body")
    _check_kind(model, experiment)
    prepared = prepare_experiment(experiment, portion(tell, 0.0, 0.6))
    inputs, segments = prepared.inputs, prepared.segments
    elements = tuple(e.estimating(False) for e in model.elements)
    instruments = tuple(e for e in inputs.model.elements if e.instrument)
    ours = replace(
        model,
        mechanism=_with_found_sizes(inputs.mechanism, model.mechanism),
        elements=(*elements, *instruments),
        values={},
    )
    belief = Belief(mass=inputs.belief.mass, factor=inputs.belief.factor)
    moved = sorted([*segments["train"], *segments["test"]])
    tell("solving", 0.6)
    inputs, all_train = replace(inputs.with_model(ours), belief=belief), {**segments, "train": moved, "test": []}
    plan = Plan((*segments["quasi_static"], *moved))
    return prepared, fit_prepared(experiment, replace(prepared, inputs=inputs, segments=all_train), plan=plan)


def _with_found_sizes(stated: Mechanism, found: Mechanism) -> Mechanism:
    """The file's mechanism with the lengths that belong to the model's numbers, found along with them; where they are
    farther off than a tape measure is, it is another object, and the file's own stay.
    """
    near = {**stated.off_by(FAR * TAPE_MEASURE_M), **{n: FAR * PRIOR[stated.sizes[n][1]] for n in stated.estimated}}
    known = {n: x for n, (x, _) in found.sizes.items() if n in stated.sizes}
    same = known and all(abs(x - stated.sizes[n][0]) <= near[n] for n, x in known.items())
    return stated.with_sizes(known) if same else stated


def _replayed(model: Model, fit: Fit) -> dict[str, Any] | None:
    """Measured force in, motion out, with the model and with the refit: RMS, and its unit."""
    if fit.inputs.imu is not None:
        return None
    p = np.array([model.values.get(n, v) for n, v in zip(fit.inputs.model.parameters, fit.p.tolist(), strict=True)])
    played = {"model": replay_fit(fit, fit.plan.segments, p), "refit": replay_fit(fit, fit.plan.segments)}
    unit = next((p.unit for p in played.values() if p is not None), "rad")
    return {name: None if p is None else finite(p.rms) for name, p in played.items()} | {"unit": unit}


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
        wrong = f"the model {model.name!r} moves differently ({model.mechanism.type}) from the experiment's object"
        raise experiment.problem("object", wrong, "give the model of the same object")


def _zeros(model: Model) -> list[str]:
    """Parameters that belong to the instruments."""
    return [n for e in model.elements if e.instrument for n in model.names_of(e)]


def _residuals(model: Model, samples: FloatArray, values: Mapping[str, float], name: str) -> FloatArray:
    """(samples, rows): measured minus predicted; the load cell's zeros, which no model carries, are fitted anew.

    samples (samples, rows, parameters + 1): the weight of each parameter, then what was measured, N and N m.
    """
    names, zeros = list(model.parameters), _zeros(model)
    missing = next((n for n in names if n not in values and n not in zeros), None)
    if missing is not None:
        raise PalpateError(f"the model {name!r} has no value for {missing}")
    p = np.array([0.0 if n in zeros else values[n] for n in names])
    error = np.asarray(samples @ np.append(-p, 1.0), dtype=float)
    if not zeros:
        return error
    flat = samples[:, :, [names.index(n) for n in zeros]].reshape(-1, len(zeros))
    return error - (flat @ least_squares(flat, error.reshape(-1))).reshape(error.shape)


def _parameters(fit: Fit, model: Model, known: Mapping[str, Any], *, rate_known: bool) -> dict[str, dict[str, Any]]:
    """Each number of the model beside that which these data ask for; known: its intervals.

    Without a scale of time, numbers that follow it cannot be compared.
    """
    drawn, zeros, words = _drawn(model), _zeros(fit.inputs.model), model.words
    entries = dict[str, dict[str, Any]]()
    owners = [element for element in fit.inputs.model.elements for _ in element.parameters]
    for e, element in zip(fit.solution.estimates, owners, strict=True):
        if e.name in zeros:
            continue
        value, before = drawn.get(e.name), known.get(e.name, {})
        theirs = (before.get(key) or 0.0 for key in ("noise", "pull", "systematic", "model"))
        std = float(np.linalg.norm([e.noise, *theirs]))
        comparable = value is not None and std > 0 and e.ci95 is not None and (rate_known or not timed(element, e))
        apart = abs(value - e.value) / std if value is not None and comparable else None
        entry = {"name": e.name, "words": words.get(e.name, ""), "unit": e.unit, "value": value, "refit": e.value}
        entries[e.name] = entry | {"refit_ci95": e.ci95, "apart": apart}
    return entries


def _drawn(model: Model) -> dict[str, float]:
    """The model's numbers as tables show them: a centre of mass (c_x) instead of its moment (mc_x)."""
    drawn = dict(model.values)
    for name, value in model.values.items():
        before, _, last = name.rpartition("mc_")
        if last in ("x", "y", "z") and f"{before}m" in model.values:
            drawn[f"{before}c_{last}"] = value / model.values[f"{before}m"]
    return drawn


def _unexplained(entries: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """Rows whose error is far above that of a refit, or a large part of their range."""
    for name, e in entries.items():
        if e["times_refit"] is not None and e["times_refit"] > WORSE_THAN_REFIT:
            evidence = (
                f"the error {e['value']:.3g} {e['unit']} is {e['times_refit']:.1f} times what a model fitted "
                "to these data leaves: the object has changed, or is a different one"
            )
            yield Finding("changed", evidence, name, severity=Severity.FATAL)
        elif e["percent_of_range"] is not None and e["percent_of_range"] > MISFIT_PERCENT:
            evidence = f"the error is {e['percent_of_range']:.1f} % of the range: not explained"
            yield Finding("misfit", evidence, name, severity=Severity.FATAL)


def _contradicted(parameters: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """Numbers that these data exclude, or ask to be others."""
    known = {n: e for n, e in parameters.items() if e["apart"] is not None}
    far = [
        f"{n} = {e['value']:.3g} {e['unit']} instead of {e['refit']:.3g}"
        for n, e in known.items()
        if e["apart"] > FAR_APART and abs(e["value"] - e["refit"]) > MATTERS * abs(e["refit"])
    ]
    if far:
        evidence = f"these data exclude numbers of the model: {', '.join(far)}"
        yield Finding("excluded", evidence, severity=Severity.FATAL)
    moved = [f"{n} by {e['apart']:.1f}" for n, e in known.items() if e["apart"] > APART]
    if moved:
        yield Finding("moved", f"these data call for other numbers (standard deviations apart): {', '.join(moved)}")


def _astray(replayed: Mapping[str, Any] | None) -> Iterator[Finding]:
    """A replay that goes elsewhere, though that of a refit does not."""
    here, best, unit = ((replayed or {}).get(key) for key in ("model", "refit", "unit"))
    if here is not None and best is not None and here > max(WORSE_THAN_REFIT * best, GOOD_REPLAY[str(unit)]):
        show = shown_as(str(unit))
        refit = f"that of a model fitted to these data by {show(best, '.2f')}"
        yield Finding("replay", f"its replay is off by {show(here, '.2f')} RMS, {refit}", severity=Severity.FATAL)


def _already_seen(known: Mapping[str, Any], experiment: Experiment[Any], spans: Sequence[Segment]) -> list[Finding]:
    """Whether the model was identified from these very samples."""
    old, here = known["provenance"], provenance(experiment, {})
    before = {e["sha256"] for e in old["recordings"]}
    fitted = [s for name in ("train", "quasi_static") for s in old["segments"].get(name, ())]
    common = [(max(a, c), min(b, d)) for a, b in spans for c, d in fitted if min(b, d) > max(a, c)]
    if not common or all(e["sha256"] not in before for e in here["recordings"]):
        return []
    times = ", ".join(f"{a:.1f} to {b:.1f} s" for a, b in common[:4])
    return [Finding("seen", f"these are not unseen data: the model was fitted to {times} of the same recordings")]
