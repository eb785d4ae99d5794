"""Shipped objects, simulated and identified: is the truth inside, does the verdict pass, and does
the model move as the truth does?
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from palpate.elements import Element
from palpate.errors import PalpateError
from palpate.experiment.file.reading import Experiment, read_experiment
from palpate.experiment.run import fit_prepared, prepare_experiment, replay_fit, run_experiment
from palpate.model import load_object
from palpate.physics.inertia import DRAWING_NAMES
from palpate.twin.carried import bodies, random_model
from palpate.twin.guided import SESSION, guided_twin, makes
from palpate.twin.person import Session
from studies.doubts import write_doubted_twin
from studies.running import map_seeds

TITLE = "Objects: what ships, simulated and identified"
KINDS = ("inertia", "damping", "dry", "stored")
OUTSIDE = 2.0
"""Half widths from which a number of a few recordings is wrong."""


@dataclass(frozen=True)
class Run:
    """One recording of each object."""

    seed: int
    outcomes: dict[str, Outcome]


@dataclass(frozen=True)
class Outcome:
    """What came of one recording."""

    passed: bool
    causes: tuple[str, ...]
    outside: dict[str, float]
    """Number -> distance of the truth from the middle of its interval, in half widths; without those refused."""
    replay: float
    """Error of the replay over that of the true parameters; of errors below a hundredth of the travel, 1."""


def outcome(name: str, seed: int, session: Session = SESSION, *, replayed: bool = True) -> Outcome:
    """Simulate and identify one; replayed: and compare its replay with that of the truth."""
    with TemporaryDirectory() as folder:
        path = write_doubted_twin(Path(folder), name, seed, session)
        truth = json.loads((Path(folder) / "truth.json").read_text())["parameters"]
        experiment = read_experiment(path)
        try:
            result = run_experiment(experiment)
        except PalpateError as error:
            return Outcome(False, (f"refused: {error}",), {}, np.nan)
        outside = {
            n: _away(truth[n]["value"], *p["ci95"])
            for n, p in result.data["parameters"].items()
            if p["ci95"] is not None and n in truth
        }
        ratio = _replays(name, seed, experiment) if replayed else np.nan
    return Outcome(result.passed, tuple(f.cause for f in result.findings), outside, ratio)


def _away(value: float, low: float, high: float) -> float:
    return abs(value - (low + high) / 2) / max((high - low) / 2, 1e-300)


def _replays(name: str, seed: int, experiment: Experiment[Any]) -> float:
    prepared = prepare_experiment(experiment)
    fit = fit_prepared(experiment, prepared)
    values = (guided_twin(name, seed).model if name in makes() else random_model(name, seed)).values
    true = np.array([values.get(n, fit.solution.model.values[n]) for n in fit.inputs.model.parameters])
    played = [replay_fit(fit, prepared.segments["test"], p) for p in (None, true)]
    mine, theirs = (np.nan if x is None else x.rms for x in played)
    small = 0.01 * float(np.ptp(makes()[name].travel)) if name in makes() else 0.01
    return 1.0 if mine < small else float(mine / max(theirs, 1e-300))


def run_one(seed: int, names: Sequence[str] | None = None) -> Run:
    """Every object, or these."""
    return Run(seed, {name: outcome(name, seed) for name in names or [*makes(), *bodies()]})


def run(seeds: Iterable[int], workers: int = 1) -> list[Run]:
    """One run a seed."""
    return map_seeds(run_one, seeds, workers)


def kind_of(element: Element) -> str:
    """The class of a parameter, in a word."""
    if element.inertial:
        return "inertia"
    return "dry" if element.dry else "damping" if element.dissipates else "stored"


def table(runs: Sequence[Run]) -> str:
    """Per object: verdicts, coverage by class of parameter, replay."""
    lines = [
        f"{len(runs)} seeds of each. Everything is off that the intervals allow for, by as much as they say "
        "(`studies/doubts.py`): the load cell's scale and place, links, fixed values, a known mass, the capture "
        "frame's vertical, curves between the knots of tables. Share of total intervals that hold the truth, by what a "
        "parameter does; replay: error over that of the true parameters, median (largest).",
        "",
        "| object | passed | inertia | damping | dry friction | stored (weight, springs, catches) | replay |",
        "|---|---|---|---|---|---|---|",
    ]
    totals: dict[str, list[bool]] = {}
    for name in (*makes(), *bodies()):
        model = load_object(name)
        kinds = {n: kind_of(e) for e in model.elements for n in model.names_of(e)}
        kinds |= dict.fromkeys(DRAWING_NAMES, "inertia")
        mine: dict[str, list[bool]] = {}
        outcomes = [r.outcomes[name] for r in runs]
        for o in outcomes:
            for n, by in o.outside.items():
                for held in (mine, totals):
                    held.setdefault(kinds[n], []).append(by <= 1)
        cells = [_share(mine.get(kind, [])) for kind in KINDS]
        replays = [o.replay for o in outcomes if np.isfinite(o.replay)]
        played = f"{np.median(replays):.2f} ({max(replays):.2f})" if replays else "none"
        lines.append(f"| {name} | {sum(o.passed for o in outcomes)} of {len(runs)} | {' | '.join(cells)} | {played} |")
    every = [x for held in totals.values() for x in held]
    lines.append(
        f"| all | | {' | '.join(_share(totals.get(k, [])) for k in ('inertia', 'damping', 'dry', 'stored'))} | |"
    )
    lines += ["", f"{sum(every)} of {len(every)} intervals hold the truth ({_share(every)})."]
    return "\n".join(lines)


def _share(held: Sequence[bool]) -> str:
    return f"{100 * np.mean(held):.0f} %" if held else "-"
