"""Random twin handles: is the truth inside the intervals, are the clocks found, does the fit carry over?"""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from palpate.experiment.handle import prepare_handle, run_handle
from palpate.experiment.reading import read_experiment
from palpate.identify import compress
from palpate.physics.inertia import is_consistent
from palpate.twin import TWINS

TITLE = "Handles: random twins"


@dataclass(frozen=True)
class Run:
    """One twin: for each parameter whether its interval holds the truth, its error and its status."""

    seed: int
    inside: dict[str, bool]
    z: dict[str, float]
    status: dict[str, str]
    clock_error_s: float
    clock_std_s: float
    rms_ratio: float
    """Test RMS over the oracle's (the same pipeline with the true parameters), mean over the six channels."""
    consistent: bool


def run_one(seed: int) -> Run:
    with TemporaryDirectory() as folder:
        experiment = read_experiment(TWINS["handle"](Path(folder), seed=seed))
        truth: dict[str, Any] = json.loads((Path(folder) / "truth.json").read_text())
        result = run_handle(experiment)
        prepared = prepare_handle(experiment)
        test = compress(prepared.balance, prepared.test)
    bias = [v["value"] for n, v in truth["parameters"].items() if n.startswith("bias")]
    oracle = test.rms(np.array([*truth["phi"].values(), *bias]))
    ours = np.array([row["value"] for row in result.data["rms"]["test"].values()])
    inside, z = {}, {}
    for name, entry in result.data["parameters"].items():
        true, (low, high) = truth["parameters"][name]["value"], entry["ci95"]
        inside[name] = bool(low <= true <= high)
        z[name] = (entry["value"] - true) / ((high - low) / 2)
    return Run(
        seed=seed,
        inside=inside,
        z=z,
        status={n: e["status"] for n, e in result.data["parameters"].items()},
        clock_error_s=result.data["clocks"]["load_cell_minus_imu_s"] - truth["load_cell_minus_imu_s"],
        clock_std_s=result.data["clocks"]["std_s"],
        rms_ratio=float((ours / oracle).mean()),
        consistent=is_consistent(result.solution.p[:10]),
    )


def run(seeds: Iterable[int], workers: int = 1) -> list[Run]:
    if workers == 1:
        return [run_one(seed) for seed in seeds]
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(run_one, seeds))


def table(runs: list[Run]) -> str:
    n = len(runs)
    groups = {
        "mass": ["m"],
        "centre of mass": ["c_x", "c_y", "c_z"],
        "moments of inertia": ["Ixx", "Iyy", "Izz"],
        "products of inertia": ["Ixy", "Ixz", "Iyz"],
        "sensor bias": [name for name in runs[0].inside if name.startswith("bias")],
    }
    lines = [f"{n} random handles, 38 s of train and 18 s of test data each, prior off by its declared 20 %.", ""]
    lines += ["| parameters | truth inside the 95 % interval | called identified |", "|---|---|---|"]
    for group, names in groups.items():
        inside = np.mean([r.inside[name] for r in runs for name in names])
        called = np.mean([r.status[name] == "identified" for r in runs for name in names])
        lines.append(f"| {group} | {100 * inside:.1f} % | {100 * called:.0f} % |")
    clock = np.array([r.clock_error_s for r in runs])
    hits = np.mean([abs(r.clock_error_s) < 1.96 * r.clock_std_s for r in runs])
    ratio = np.array([r.rms_ratio for r in runs])
    lines += [
        "",
        f"- Clock offset: largest error {1e6 * np.abs(clock).max():.0f} µs, "
        f"RMS {1e6 * np.sqrt((clock**2).mean()):.0f} µs; inside its 95 % interval in {100 * hits:.0f} %.",
        f"- Test RMS over the oracle's: {ratio.min():.4f} to {ratio.max():.4f}.",
        f"- Physically consistent: {sum(r.consistent for r in runs)} of {n}.",
    ]
    return "\n".join(lines)
