"""How near to what the instruments allow: standard deviations by markers alone, with the IMU, and jointly, beside the
Cramér-Rao bound.

The bound is the inverse of what is left of the information about the parameters once motion, clocks, zeros, geometry
and zones of the same recording are estimated too, with the noise that the instruments show.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from palpate.errors import PalpateError
from palpate.experiment.file.reading import read_experiment
from palpate.experiment.run import doubted_fit, prepare_experiment
from palpate.experiment.stage.inputs import TAPE_MEASURE_M
from palpate.identify import Solution
from palpate.identify.solution import drawn_values
from palpate.twin.door import door_twin, write_door_twin
from palpate.twin.person import Session
from studies.running import map_seeds
from tests.oracles import doors_of_other_make as doors
from tests.oracles import wheelbarrows_of_other_make as barrows

TITLE = "Information: how near to the Cramér-Rao bound"
STEP = 1e-6
Written = tuple[Path, dict[str, float]]


def twin(folder: Path, seed: int) -> Written:
    """A door with an IMU, a minute of motion."""
    session = Session(still_s=3.5, sweep_s=25.0, blocks=(("train", 30.0), ("test", 15.0)), tail_s=1.0)
    path = write_door_twin(folder, door_twin(seed, session=session))
    truth = json.loads((folder / "truth.json").read_text())["parameters"]
    return path, {name: x["value"] for name, x in truth.items()}


OBJECTS: dict[str, Callable[[Path, int], Written]] = {
    "door with IMU": twin,
    "door of other make, no IMU": doors.write,
    "wheelbarrow of other make with IMU": partial(barrows.write, imu=True),
    "wheelbarrow of other make, no IMU": barrows.write,
}
METHODS = {
    "markers alone": "method: balance\nderivatives: {method: local}\n",
    "balance": "method: balance\n",
    "joint": "method: joint\n",
}
"""In the words of the table -> keys of the experiment file."""


@dataclass(frozen=True)
class Number:
    """One number of one object, by each of `METHODS`."""

    name: str
    std: tuple[float, ...]
    """Over the bound."""
    inside: tuple[bool, ...]


@dataclass(frozen=True)
class Run:
    """All objects with one seed; None where one was refused."""

    seed: int
    objects: dict[str, list[Number] | None]


def bounds(solution: Solution) -> np.ndarray:
    """Standard deviations (estimates,) that no unbiased estimate undercuts, of what is not known already."""
    map_, p, R = solution.problem.map_, solution.p, solution.problem.R[:, :-1]
    free = map_.jacobian(solution.theta)
    steps = STEP * np.maximum(np.abs(p), 1e-3)
    moved = [
        (drawn_values(map_, p + s * e) - drawn_values(map_, p - s * e)) / (2 * s)
        for s, e in zip(steps, np.eye(len(p)), strict=True)
    ]
    by_theta = np.array(moved).T @ free
    return np.asarray(np.sqrt(np.diag(by_theta @ np.linalg.inv(free.T @ R.T @ R @ free) @ by_theta.T)))


def _solution(path: Path, method: str) -> Solution:
    """As `identify` has it, with what the model may lack, which holds what is not known of links."""
    other = path.with_name("method.yaml")
    other.write_text(f"{path.read_text()}\n{METHODS[method]}")
    experiment = read_experiment(other)
    return doubted_fit(experiment, prepare_experiment(experiment)).fit.solution


def _measured(path: Path, seed: int) -> None:
    """State the links as a tape measure has them, off by as much as they count as known to: with the true ones more
    intervals than should would hold the truth.
    """
    draw = np.random.default_rng((seed, 1)).normal

    def stated(lengths: re.Match[str]) -> str:
        off = draw(0.0, TAPE_MEASURE_M, lengths[2].count(",") + 1)
        each = (f"{float(x) + by:.5f}" for x, by in zip(lengths[2].split(","), off, strict=True))
        return f"{lengths[1]}{', '.join(each)}]"

    path.write_text(re.sub(r"(linkage: \{lengths: \[)([^]]*)\]", stated, path.read_text()))


def _numbers(path: Path, truth: dict[str, float]) -> list[Number] | None:
    try:
        balance, together = _solution(path, "balance"), _solution(path, "joint")
        alone = _solution(path, "markers alone") if "  imu:" in path.read_text() else balance
    except PalpateError:
        return None
    solutions, numbers = (alone, balance, together), list[Number]()
    for name, bound in zip((e.name for e in solutions[-1].estimates), bounds(solutions[-1]).tolist(), strict=True):
        intervals = [ci95 for solution in solutions if (ci95 := solution[name].ci95) is not None]
        if name in truth and bound > 0 and len(intervals) == len(solutions):
            stds = tuple((high - low) / 2 / 1.96 / bound for low, high in intervals)
            numbers.append(Number(name, stds, tuple(low <= truth[name] <= high for low, high in intervals)))
    return numbers


def run_one(seed: int) -> Run:
    objects: dict[str, list[Number] | None] = {}
    for name, write in OBJECTS.items():
        with TemporaryDirectory() as folder:
            path, truth = write(Path(folder), seed)
            _measured(path, seed)
            objects[name] = _numbers(path, truth)
    return Run(seed, objects)


def run(seeds: Iterable[int], workers: int = 1) -> list[Run]:
    return map_seeds(run_one, seeds, workers)


def table(runs: Sequence[Run]) -> str:
    methods = [*METHODS]
    lines = [
        "Standard deviations of a total interval over the bound, median (largest); and how often it holds the truth.",
        f"Links are stated as a tape measure has them, off by {1e3 * TAPE_MEASURE_M:.0f} mm RMS.",
        "Without an IMU markers alone and the balance are one.",
        "",
        f"| object | number | {' | '.join(methods)} | {' | '.join(f'inside, {m}' for m in methods)} |",
        "|" + "---|" * (2 + 2 * len(methods)),
    ]
    for name in OBJECTS:
        known = [o for r in runs if (o := r.objects[name]) is not None]
        for number in dict.fromkeys(x.name for o in known for x in o):
            xs = [x for o in known for x in o if x.name == number]
            each = range(len(methods))
            ratios = [f"{np.median([x.std[i] for x in xs]):.1f} ({max(x.std[i] for x in xs):.1f})" for i in each]
            inside = [f"{sum(x.inside[i] for x in xs)} of {len(xs)}" for i in each]
            lines.append(f"| {name} | {number} | {' | '.join([*ratios, *inside])} |")
        every = [x.inside for o in known for x in o]
        shares = [f"{100 * np.mean([x[i] for x in every]):.1f} %" for i in range(len(methods))] if every else []
        lines.append(f"| {name} | all |{' |' * len(methods)} {' | '.join(shares)} |")
    lost = sum(o is None for r in runs for o in r.objects.values())
    return "\n".join([*lines, "", f"{len(runs)} seeds, {lost} recordings refused."])
