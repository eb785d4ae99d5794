"""Drawers and hinges in tables of an encoder: what friction that changes sides does to the numbers.

Simulated without palpate (`tests/oracles/stick_slip.py`): dry friction of 5 to 60 % of what inertia takes, 0.5 to 3 Hz,
recorded at 100 to 1000 Hz with a rounded position and a noisy force.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from palpate.experiment import read_experiment, run_experiment
from studies.running import map_seeds
from tests.oracles import stick_slip

TITLE = "Turns: friction that changes sides in tables"
KINDS = ("inertia", "b_v", "b_c")


@dataclass(frozen=True)
class Run:
    """What was said of one recording."""

    seed: int
    rate_hz: float
    passed: bool
    named: tuple[str, ...]
    away: dict[str, float]
    """Distance from the truth in half widths of the interval, and ..."""
    width: dict[str, float]
    """... half the width over the truth."""


def run_one(seed: int) -> Run:
    """The recording of a seed."""
    with TemporaryDirectory() as folder:
        path, truth = stick_slip.write(Path(folder), seed)
        result = run_experiment(read_experiment(path))
    away, width = dict[str, float](), dict[str, float]()
    for name, true in truth.items():
        low, high = result.data["parameters"][name]["ci95"]
        kind = name if name in KINDS else "inertia"
        away[kind] = (result.data["parameters"][name]["value"] - true) / ((high - low) / 2)
        width[kind] = (high - low) / 2 / true
    return Run(seed, stick_slip.draw(seed).rate_hz, result.passed, tuple(f.cause for f in result.findings), away, width)


def run(seeds: Iterable[int], workers: int = 1) -> list[Run]:
    """One run a seed."""
    return map_seeds(run_one, seeds, workers)


def table(runs: Sequence[Run]) -> str:
    """By rate: verdicts, coverage, the worst and the usual width."""
    lines = [
        "Share of 95 % intervals that hold the truth; the farthest, in half widths; median half width.",
        "",
        "| recorded at | passed | " + " | ".join(f"{kind}: inside, farthest, half width" for kind in KINDS) + " |",
        "|---|---|" + "---|" * len(KINDS),
    ]
    rates = sorted({r.rate_hz for r in runs})
    for rate in (*rates, None):
        some = [r for r in runs if rate in (r.rate_hz, None)]
        cells = [
            f"{100 * np.mean([abs(r.away[k]) <= 1 for r in some]):.0f} %, {max(abs(r.away[k]) for r in some):.2f}, "
            f"{100 * np.median([r.width[k] for r in some]):.3f} %"
            for k in KINDS
        ]
        name = "all" if rate is None else f"{rate:.0f} Hz"
        lines.append(f"| {name} | {sum(r.passed for r in some)} of {len(some)} | {' | '.join(cells)} |")
    return "\n".join(lines)
