"""Two bodies in series, of which only the one on the hand's side is measured: drawers behind something soft, and levers
before what they turn.

Simulated without palpate (`tests/series_files.py`, SciPy's ODE). Drawers: 2 to 40 N/mm between 0.3 to 1.5 kg and 3 to
12 kg, dry friction of 2 to 8 N on the inner one, noise of 0.05 mm and 0.03 N. Levers: 0.004 to 0.03 kg m2 before 0.1 to
0.6 kg m2 that would swing at 2 to 12 Hz, dry friction of 0.2 to 1 N m, noise of 0.009 deg and 0.005 N m. 250 Hz.
Some are not what they are described as: friction that falls by 0.4 of its level beyond 0.03 m/s; a third body, three
tenths of the inner one, on three times the stiffness; play of 1 mm at the hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

from palpate.experiment import read_experiment, run_experiment
from studies.running import map_seeds
from tests import series_files as files

TITLE = "Two bodies in series"
FIRST = 400
"""Seeds below were looked at while this was written."""
MISFITS: dict[str, Callable[[files.Pair], files.Pair]] = {
    "falling friction": lambda p: replace(p, stribeck=0.4 * p.b_c),
    "a third body": lambda p: replace(p, third=(0.3 * p.m_2, 3 * p.k)),
    "play": lambda p: replace(p, play=1e-3 / p.reach),
}


@dataclass(frozen=True)
class Run:
    """What was said of one recording."""

    seed: int
    kind: str
    misfit: str
    """What it has that nobody said."""
    k: float
    passed: bool
    named: tuple[str, ...]
    louder: float
    """What is left over the instruments' noise."""
    cpu_s: float
    away: dict[str, float]
    """Distance from the truth in half widths of the interval, of numbers that have one, and ..."""
    width: dict[str, float]
    """... half the width over the truth."""

    @property
    def farthest(self) -> float:
        """In half widths."""
        return max(map(abs, self.away.values()), default=float("nan"))


def identified(pair: files.Pair, seed: int, misfit: str = "") -> Run:
    """The recording of a pair."""
    with TemporaryDirectory() as folder:
        path = files.write(Path(folder), pair, seed)
        begin = process_time()
        result = run_experiment(read_experiment(path))
        cpu_s = process_time() - begin
    away, width = dict[str, float](), dict[str, float]()
    for name, true in pair.truth.items():
        e = result.data["parameters"][name]
        if e["ci95"] is not None:
            half = (e["ci95"][1] - e["ci95"][0]) / 2
            away[name], width[name] = (e["value"] - true) / half, half / true
    (row,) = result.data["lack_of_fit"]["rows"].values()
    kind, named = "lever" if pair.turns else "drawer", tuple(f.cause for f in result.findings)
    return Run(seed, kind, misfit, pair.k, result.passed, named, row["left"] / row["noise"], cpu_s, away, width)


def run_one(seed: int) -> list[Run]:
    """A drawer and a lever as they are described, and one of the two as it is not."""
    pairs = files.random_pair(FIRST + seed), files.random_lever(FIRST + seed)
    misfit, other = list(MISFITS.items())[seed // 2 % len(MISFITS)]
    runs = [identified(pair, FIRST + seed) for pair in pairs]
    return [*runs, identified(other(pairs[seed % 2]), FIRST + seed, misfit)]


def run(seeds: Iterable[int], workers: int = 1) -> list[Run]:
    """Three runs a seed."""
    return [run for runs in map_seeds(run_one, seeds, workers) for run in runs]


def table(runs: Sequence[Run]) -> str:
    """Each number of those that passed; then each pair."""
    lines: list[str] = []
    for kind in ("drawer", "lever"):
        right = [r for r in runs if r.kind == kind and not r.misfit]
        passed = [r for r in right if r.passed]
        lines += [
            f"{len(passed)} of {len(right)} {kind}s passed. Of those, share of 95 % intervals that hold the truth; the "
            "farthest, in half widths; median and largest half width over the truth.",
            "",
            "| number | inside | farthest | half width, median | largest |",
            "|---|---|---|---|---|",
        ]
        for name in passed[0].away if passed else ():
            away = [abs(r.away[name]) for r in passed if name in r.away]
            width = [100 * r.width[name] for r in passed if name in r.width]
            inside = 100 * np.mean([x <= 1 for x in away])
            lines.append(
                f"| {name} | {inside:.0f} % | {max(away):.2f} | {np.median(width):.2g} % | {max(width):.2g} % |"
            )
        lines.append("")
    lines += [
        "Left is what the fit leaves over the instruments' noise. Of a third body the truth of the inner one is both.",
        "",
        "| seed | object | has too | k, N/mm or N m/rad | verdict | findings | left | farthest | CPU, s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in sorted(runs, key=lambda r: (r.misfit, r.kind, r.seed)):
        k, verdict, named = r.k if r.kind == "lever" else r.k / 1e3, "passed" if r.passed else "failed", r.named
        lines.append(
            f"| {r.seed} | {r.kind} | {r.misfit or '-'} | {k:.3g} | {verdict} | {', '.join(named) or 'none'} | "
            f"{r.louder:.2f} | {r.farthest:.2f} | {r.cpu_s:.0f} |"
        )
    return "\n".join(lines)
