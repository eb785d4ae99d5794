"""Simulated doors, identified from their recordings: is the truth inside, and does the model move as the truth does?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from palpate.experiment.file.reading import read_experiment
from palpate.experiment.gates.numbers import refuse
from palpate.experiment.run import fit_prepared, prepare_experiment, replay_fit
from palpate.experiment.stage.fit import Fit, Plan, Prediction, fit_inputs
from palpate.experiment.stage.inputs import Filtering, Inputs, move, whole_balance
from palpate.experiment.stage.variations import with_estimated
from palpate.identify.balance import Segment
from palpate.identify.shapes import with_shapes
from palpate.physics.arrays import FloatArray
from palpate.twin.door import door_twin, write_door_twin
from studies.running import map_seeds

TITLE = "Doors: simulated experiments"
WINDOWS_S = (0.11, 0.13, 0.15, 0.17, 0.19, 0.21, 0.23, 0.25, 0.27, 0.29, 0.31, 0.35, 0.39, 0.45, 0.51, 0.59)
Segments = Mapping[str, Sequence[Segment]]
POSITIVE = ("I", "b_v", "b_c", "b_bc", "b_s", "b_l")


@dataclass(frozen=True)
class Estimate:
    """One parameter or shape of one door."""

    name: str
    relative: float
    """Error over truth; of a shape, deg."""
    inside: bool | None
    """In its 95 % interval; None where it has none."""


@dataclass(frozen=True)
class Run:
    """One door."""

    seed: int
    parameters: list[Estimate]
    shapes: list[Estimate]
    published: dict[str, float]
    """Relative errors of the paper's two steps with its filters, zones known."""
    ratio: float
    """Test RMS over the oracle's: the same pipeline with the true parameters."""
    smoothing: float
    """The oracle's RMS over the smallest with any window of the same filter."""
    replay_deg: float
    replay_truth_deg: float
    clock_error_s: float
    refused: int


def run_one(seed: int) -> Run:
    with TemporaryDirectory() as folder:
        path = write_door_twin(Path(folder), door_twin(seed))
        truth: dict[str, Any] = json.loads((Path(folder) / "truth.json").read_text())
        experiment = read_experiment(path)
        prepared = prepare_experiment(experiment)
        fit = with_estimated(fit_prepared(experiment, prepared))
    solution, refused = refuse(fit, rate_known=True)
    fit = replace(fit, solution=solution)
    test = prepared.segments["test"]
    oracle = _oracle(fit, truth, prepared.segments)
    rms_oracle = _rms(oracle.residuals(test))
    played, played_truth = (replay_fit(f, prepared.segments["test"]) for f in (fit, oracle))
    assert played is not None
    assert played_truth is not None
    true_clock = truth["clocks"]["wrench"]
    clock = fit.inputs.clock
    assert clock is not None
    at = np.array(clock.at_s)
    return Run(
        seed=seed,
        parameters=[
            Estimate(e.name, e.value / _true(truth, e.name) - 1, _inside(e.ci95, _true(truth, e.name)))
            for e in solution.estimates
        ],
        shapes=_shapes(fit, truth),
        published=_published(fit, prepared.segments, truth),
        ratio=_rms(fit.residuals(test)) / rms_oracle,
        smoothing=rms_oracle / min(_rms(_with_window(oracle, w).residuals(test)) for w in WINDOWS_S),
        replay_deg=float(np.degrees(played.rms)),
        replay_truth_deg=float(np.degrees(played_truth.rms)),
        clock_error_s=float(clock.offset_at(at) + true_clock["offset_s"] + 1e-6 * true_clock["drift_ppm"] * at),
        refused=len(refused),
    )


def _true(truth: dict[str, Any], name: str) -> float:
    return float(truth["parameters"][name]["value"])


def _inside(ci: tuple[float, float] | None, value: float) -> bool | None:
    return None if ci is None else bool(ci[0] <= value <= ci[1])


def _rms(x: FloatArray) -> float:
    return float(np.sqrt(np.mean(x**2)))


def _oracle(fit: Fit, truth: dict[str, Any], segments: Segments) -> Fit:
    """The same pipeline with the true parameters and shapes, on the same samples."""
    model = with_shapes(fit.inputs.model, {name: s["value"] for name, s in truth["shapes"].items()})
    p = np.array([_true(truth, name) for name in model.parameters])
    inputs = fit.inputs.with_model(model)
    rows = fit.prediction.rows.copy()
    for kind, windows in fit.prediction.windows_s.items():
        inside = inputs.inside(segments[kind])
        rows[inside] = _rows(inputs, windows[0])[inside]
    solution = replace(fit.solution, model=model.with_values(p))
    return replace(fit, inputs=inputs, prediction=_with_rows(fit, rows), solution=solution)


def _rows(inputs: Inputs, window_s: float) -> FloatArray:
    """(samples, 1, parameters + 1), differentiated with this window; NaN where not known."""
    balance = whole_balance(inputs, move(inputs, window_s))
    rows = balance.rows((float(balance.times_s[0]), float(balance.times_s[-1]) + 5e-3))
    assert balance.used is not None
    rows[~balance.used] = np.nan
    return rows


def _with_rows(fit: Fit, rows: FloatArray) -> Prediction:
    """Other rows at the same samples."""
    used = fit.prediction.used & np.isfinite(rows).all(axis=(1, 2))
    return replace(fit.prediction, rows=rows, used=used)


def _with_window(fit: Fit, window_s: float) -> Fit:
    """The same samples, differentiated with another window."""
    return replace(fit, prediction=_with_rows(fit, _rows(fit.inputs, window_s)))


def _shapes(fit: Fit, truth: dict[str, Any]) -> list[Estimate]:
    assert fit.shaped is not None
    found: list[Estimate] = []
    for p in fit.shaped.profiles:
        value = float(truth["shapes"][p.name]["value"])
        found.append(Estimate(p.name, float(np.degrees(p.value - value)), _inside(p.interval, value)))
    return found


def _published(fit: Fit, segments: Segments, truth: dict[str, Any]) -> dict[str, float]:
    """The paper's way: heavy windows on the angle, plain decimation, the spring first; zones as they truly are."""
    model = with_shapes(fit.inputs.model, {name: s["value"] for name, s in truth["shapes"].items()})
    inputs = replace(fit.inputs.with_model(model), filtering=Filtering(0.31, 4, None, None, published=True))
    plan = Plan(tuple(segments["train"]), tuple(segments["quasi_static"]))
    found = fit_inputs(inputs.on_clock(inputs.clock), segments, plan)
    return {e.name: e.value / _true(truth, e.name) - 1 for e in found.solution.estimates}


def run(seeds: Iterable[int], workers: int = 1) -> list[Run]:
    return map_seeds(run_one, seeds, workers)


def table(runs: list[Run]) -> str:
    lines = [
        f"{len(runs)} random doors (links, springs, zones, friction), each moved for 150 s by a simulated hand and",
        "recorded by simulated instruments with noise, clocks that drift, hidden markers. The zones start at 25, 69",
        "and 2 deg and are estimated. Errors are relative to the truth.",
        "",
        "| parameter | mean error | largest error | in its 95 % interval | published filters: mean error | largest |",
        "|---|---|---|---|---|---|",
    ]
    for name in (e.name for e in runs[0].parameters):
        own = [e for r in runs for e in r.parameters if e.name == name]
        told = [e.inside for e in own if e.inside is not None]
        errors = np.array([e.relative for e in own if e.inside is not None])
        there = np.array([r.published[name] for r in runs])
        lines.append(
            f"| {name} | {100 * errors.mean():+.2f} % | {100 * np.abs(errors).max():.2f} % | "
            f"{100 * np.mean(told):.0f} % of {len(told)} | {100 * there.mean():+.1f} % | "
            f"{100 * np.abs(there).max():.0f} % |"
        )
    lines += ["", "| shape | mean error | largest error | told | in its 95 % interval |", "|---|---|---|---|---|"]
    for name in (e.name for e in runs[0].shapes):
        own = [e for r in runs for e in r.shapes if e.name == name]
        known = [e for e in own if e.inside is not None]
        if not known:
            continue
        errors = np.array([e.relative for e in known])
        lines.append(
            f"| {name} | {errors.mean():+.2f} deg | {np.abs(errors).max():.2f} deg | {len(known)} of {len(own)} | "
            f"{100 * np.mean([bool(e.inside) for e in known]):.0f} % |"
        )
    everything = [e.inside for r in runs for e in r.parameters if e.inside is not None]
    friction = [e for r in runs for e in r.parameters if e.name in POSITIVE[1:]]
    wrong = sum(abs(e.relative) > 0.1 and e.inside is not True for e in friction if e.inside is not None)
    ratio, smoothing = np.array([r.ratio for r in runs]), np.array([r.smoothing for r in runs])
    good = sum(r.replay_deg <= max(2.0, 1.5 * r.replay_truth_deg) for r in runs)
    return "\n".join(
        [
            *lines,
            "",
            f"- Intervals that hold the truth: {100 * np.mean(everything):.1f} % of {len(everything)}; "
            f"numbers refused: {sum(r.refused for r in runs)}.",
            f"- Friction and damping neither within 10 % nor in their interval: {wrong} of {len(friction)}.",
            f"- Test RMS over the oracle's: {ratio.min():.3f} to {ratio.max():.3f}; the oracle's over the smallest "
            f"with any window: {smoothing.min():.3f} to {smoothing.max():.3f}.",
            f"- Replay (10 s windows, at least 40 deg): {good} of {len(runs)} at most max(2 deg, 1.5 times the "
            f"truth's); median {np.median([r.replay_deg for r in runs]):.2f} deg, the truth's "
            f"{np.median([r.replay_truth_deg for r in runs]):.2f} deg.",
            f"- Load cell's clock: largest error {1e3 * max(abs(r.clock_error_s) for r in runs):.2f} ms.",
        ]
    )
