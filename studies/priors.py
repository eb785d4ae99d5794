"""What data alone do not tell: rods too thin to be told from lines, and drawings of a whole used for its body.

Simulated without palpate (`tests/oracles`): a rod of 3 mm a seed, and every tenth seed a wheelbarrow with handles of
2 to 3 kg and a drawing of both together that is off by its declared 30 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from palpate.errors import PalpateError
from palpate.experiment import read_experiment, run_experiment
from studies.running import map_seeds
from tests.oracles import handles_of_other_make as handles
from tests.oracles import wheelbarrows_of_other_make as barrows

TITLE = "Thin rods, and drawings of the whole"
ROD, DRAWN, PLAIN = "3 mm rod, no prior", "wheelbarrow, drawing of the whole", "the same, no prior"
SPREAD, EVERY = 0.3, 10
BARROWS = (DRAWN, PLAIN)
"""What is tried on a wheelbarrow."""


@dataclass(frozen=True)
class Run:
    """What was said of one seed: object -> number -> its status, and the distance from the truth in half widths."""

    seed: int
    outcomes: dict[str, dict[str, tuple[str, float | None]] | None]
    """None: refused."""


def run_one(seed: int) -> Run:
    with TemporaryDirectory() as folder:
        place = Path(folder)
        outcomes = {ROD: _outcome(*handles.write(place, seed, handle=handles.thin_rod))}
        if seed % EVERY == 0:
            keys = barrows.drawing_of_whole(seed // EVERY, SPREAD, heavy=True)
            for name in BARROWS:
                prior = keys if name == DRAWN else ""
                outcomes[name] = _outcome(*barrows.write(place, seed // EVERY, barrows.heavy_handles, keys=prior))
    return Run(seed, outcomes)


def _outcome(path: Path, truth: dict[str, float]) -> dict[str, tuple[str, float | None]] | None:
    try:
        parameters = run_experiment(read_experiment(path)).data["parameters"]
    except PalpateError:
        return None
    told: dict[str, tuple[str, float | None]] = {}
    for name, entry in parameters.items():
        if name in truth and entry["status"] != "fixed":
            half = None if entry["ci95"] is None else max(entry["ci95"][1] - entry["value"], 1e-300)
            told[name] = entry["status"], None if half is None else (entry["value"] - truth[name]) / half
    return told


def run(seeds: Iterable[int], workers: int = 1) -> list[Run]:
    return map_seeds(run_one, seeds, workers)


def table(runs: Sequence[Run]) -> str:
    lines = [
        "| object | recordings | answered | numbers | identified | uncertain | leaning on the prior | not known "
        "| inside 95 % | worst, half widths |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in (ROD, DRAWN, PLAIN):
        outcomes = [r.outcomes[name] for r in runs if name in r.outcomes]
        told = [x for o in outcomes if o is not None for x in o.values()]
        if not told:
            continue
        answered = sum(o is not None and any(z is not None for _, z in o.values()) for o in outcomes)
        count = Counter(status for status, _ in told)
        apart = [abs(z) for _, z in told if z is not None]
        statuses = (count[s] for s in ("identified", "uncertain", "prior-dominated", "not-identifiable"))
        lines.append(
            f"| {name} | {len(outcomes)} | {answered} | {len(told)} | {' | '.join(map(str, statuses))} | "
            f"{sum(z <= 1 for z in apart)} of {len(apart)} | {max(apart, default=0.0):.1f} |"
        )
    return "\n".join(lines)
