"""Drawers behind something soft: of two bodies only the one on the hand's side is measured.

Simulated without palpate (`tests/series_files.py`, SciPy's ODE): 2 to 40 N/mm between 0.3 to 1.5 kg and 3 to 12 kg, dry
friction of 2 to 8 N on the inner one, 250 Hz, noise of 0.05 mm and 0.03 N.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

from palpate.experiment import read_experiment, run_experiment
from studies.running import map_seeds
from tests import series_files as files

TITLE = "Two bodies in series"
FIRST = 100
"""Seeds below were looked at while the search was written."""


@dataclass(frozen=True)
class Run:
    """What was said of one recording."""

    seed: int
    k: float
    passed: bool
    named: tuple[str, ...]
    cpu_s: float
    away: dict[str, float]
    """Distance from the truth in half widths of the interval, of numbers that have one, and ..."""
    width: dict[str, float]
    """... half the width over the truth."""


def run_one(seed: int) -> Run:
    """The recording of a seed."""
    pair = files.random_pair(FIRST + seed)
    with TemporaryDirectory() as folder:
        path = files.write(Path(folder), pair, FIRST + seed)
        begin = process_time()
        result = run_experiment(read_experiment(path))
        cpu_s = process_time() - begin
    away, width = dict[str, float](), dict[str, float]()
    for name, true in pair.truth.items():
        e = result.data["parameters"][name]
        if e["ci95"] is not None:
            low, high = e["ci95"]
            away[name] = (e["value"] - true) / ((high - low) / 2)
            width[name] = (high - low) / 2 / true
    return Run(FIRST + seed, pair.k, result.passed, tuple(f.cause for f in result.findings), cpu_s, away, width)


def run(seeds: Iterable[int], workers: int = 1) -> list[Run]:
    """One run a seed."""
    return map_seeds(run_one, seeds, workers)


def table(runs: Sequence[Run]) -> str:
    """Each number of those that passed; then each pair."""
    passed = [r for r in runs if r.passed]
    lines = [
        f"{len(passed)} of {len(runs)} pairs passed. Of those, share of 95 % intervals that hold the truth; the "
        "farthest, in half widths; median and largest half width over the truth.",
        "",
        "| number | inside | farthest | half width, median | largest |",
        "|---|---|---|---|---|",
    ]
    for name in passed[0].away if passed else ():
        away = [abs(r.away[name]) for r in passed if name in r.away]
        width = [r.width[name] for r in passed if name in r.width]
        inside, farthest = 100 * np.mean([x <= 1 for x in away]), max(away)
        lines.append(
            f"| {name} | {inside:.0f} % | {farthest:.2f} | {100 * np.median(width):.2g} % | {100 * max(width):.2g} % |"
        )
    lines += ["", "| seed | k, N/mm | verdict | findings | farthest | CPU, s |", "|---|---|---|---|---|---|"]
    for r in runs:
        farthest = max(map(abs, r.away.values()), default=float("nan"))
        verdict, named = "passed" if r.passed else "failed", ", ".join(r.named) or "none"
        lines.append(f"| {r.seed} | {r.k / 1e3:.1f} | {verdict} | {named} | {farthest:.2f} | {r.cpu_s:.0f} |")
    return "\n".join(lines)
