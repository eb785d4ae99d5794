"""Random twin handles: is the truth inside the intervals, are the clocks found, does the fit carry over?"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from palpate.experiment.file.reading import read_experiment
from palpate.experiment.run import prepare_experiment
from palpate.experiment.stage.belief import prior_of
from palpate.experiment.stage.inputs import fit_balance, move
from palpate.identify import Solution, compress, solve
from palpate.physics.inertia import is_consistent
from palpate.twin.handle import write_handle_twin
from studies.running import map_seeds

TITLE = "Handles: random twins"
CLASSES = {
    "mass": ["m"],
    "centre of mass": ["c_x", "c_y", "c_z"],
    "moments of inertia": ["Ixx", "Iyy", "Izz"],
    "products of inertia": ["Ixy", "Ixz", "Iyz"],
    "sensor bias": ["bias_f_x", "bias_f_y", "bias_f_z", "bias_n_x", "bias_n_y", "bias_n_z"],
}
PHYSICAL = [name for names in list(CLASSES.values())[:4] for name in names]


@dataclass(frozen=True)
class Fit:
    """One fit: for each parameter whether its interval holds the truth, its status, and its error in natural units."""

    inside: dict[str, bool | None]
    """None where no interval is given."""
    status: dict[str, str]
    error: dict[str, float]
    """Relative to mass, radius of gyration and half the trace of the inertia."""
    rms_ratio: float
    """Test RMS over the oracle's (the same pipeline with the true parameters), mean over the six channels."""
    consistent: bool


@dataclass(frozen=True)
class Run:
    """One twin, fitted with automatic damping and without a prior."""

    seed: int
    poor: bool
    automatic: Fit
    undamped: Fit
    clock_error_s: float
    clock_std_s: float


def run_one(seed: int) -> Run:
    """Every second motion is poor; the prior is off by its declared 10 to 50 %."""
    poor = seed % 2 == 1
    spread = 0.1 + 0.4 * ((seed // 2) % 5) / 4
    with TemporaryDirectory() as folder:
        experiment = read_experiment(write_handle_twin(Path(folder), seed=seed, spread=spread, poor=poor))
        truth = json.loads((Path(folder) / "truth.json").read_text())
        prepared = prepare_experiment(experiment)
    balance = fit_balance(prepared.inputs, move(prepared.inputs))
    train = compress(balance, prepared.segments["train"], noise=prepared.noise)
    test = compress(balance, prepared.segments["test"])
    true = {name: v["value"] for name, v in truth["parameters"].items()}
    bias = [v for n, v in true.items() if n.startswith("bias")]
    oracle = test.rms(np.array([*truth["phi"].values(), *bias]))
    automatic, undamped = solve(train, prior=prior_of(experiment)), solve(train)
    clock = prepared.inputs.clock
    assert clock is not None
    return Run(
        seed,
        poor,
        *(_judge(s, true, float((test.rms(s.p) / oracle).mean())) for s in (automatic, undamped)),
        clock_error_s=clock.offset_s - truth["load_cell_minus_imu_s"],
        clock_std_s=clock.offset_std_s,
    )


def _judge(solution: Solution, true: dict[str, float], rms_ratio: float) -> Fit:
    half_trace = (true["Ixx"] + true["Iyy"] + true["Izz"]) / 2
    radius = np.sqrt(half_trace / true["m"])
    scale = {"kg": true["m"], "m": radius, "kg m2": half_trace, "N": 1.0, "N m": 0.1}
    inside: dict[str, bool | None] = {}
    for e in solution.estimates:
        inside[e.name] = None if e.ci95 is None else bool(e.ci95[0] <= true[e.name] <= e.ci95[1])
    return Fit(
        inside=inside,
        status={e.name: e.status.value for e in solution.estimates},
        error={e.name: abs(e.value - true[e.name]) / scale[e.unit] for e in solution.estimates},
        rms_ratio=rms_ratio,
        consistent=is_consistent(solution.p[:10]),
    )


def run(seeds: Iterable[int], workers: int = 1) -> list[Run]:
    return map_seeds(run_one, seeds, workers)


def coverage(fits: list[Fit], names: list[str]) -> tuple[float, float, float]:
    """Share of intervals that hold the truth, and its 95 % binomial bounds (Wilson) over twins."""
    hits = [f.inside[name] for f in fits for name in names if f.inside[name] is not None]
    n, p = max(len(hits) / len(names), 1.0), float(np.mean(hits)) if hits else float("nan")
    middle, half = p + 1.92 / n, 1.96 * np.sqrt(p * (1 - p) / n + 0.96 / n**2)
    return p, (middle - half) / (1 + 3.84 / n), (middle + half) / (1 + 3.84 / n)


def table(runs: list[Run]) -> str:
    good, poor = [r for r in runs if not r.poor], [r for r in runs if r.poor]
    lines = [
        f"{len(runs)} random handles, every second one moved about one axis only; 38 s of train and 18 s of test data",
        "each, noise and zero errors on every sensor, priors off by their declared 10 to 50 %.",
        "",
        "Share of 95 % intervals that hold the truth (binomial 95 % bounds):",
        "",
        "| parameters | well excited, automatic | well excited, no prior | poorly, automatic | poorly, no prior |",
        "|---|---|---|---|---|",
    ]
    columns = [[getattr(r, fit) for r in group] for group in (good, poor) for fit in ("automatic", "undamped")]
    for name, members in CLASSES.items():
        cells = [coverage(fits, members) for fits in columns if fits]
        texts = [f"{100 * p:.1f} % ({100 * low:.0f}-{100 * high:.0f})" for p, low, high in cells]
        lines.append(f"| {name} | {' | '.join(texts)} |")
    lines += ["", *_called("Well excited", columns[0]), *_called("Poorly excited", columns[2])]
    clock = 1e6 * np.array([r.clock_error_s for r in runs])
    hits = np.mean([abs(r.clock_error_s) < 1.96 * r.clock_std_s for r in runs])
    lines.append(f"- Clock offset: largest error {np.abs(clock).max():.0f} µs; in its interval in {100 * hits:.0f} %.")
    for fit in ("automatic", "undamped"):
        ratio = np.array([getattr(r, fit).rms_ratio for r in runs])
        lines.append(f"- Test RMS over the oracle's, {fit}: {ratio.min():.4f} to {ratio.max():.4f}.")
    consistent = sum(r.automatic.consistent and r.undamped.consistent for r in runs)
    lines.append(f"- Physically consistent: {consistent} of {len(runs)}.")
    return "\n".join(lines)


def _called(name: str, fits: list[Fit]) -> list[str]:
    """How many of the ten physical parameters are called identified, and how wrong those and the others are."""
    if not fits:
        return []
    called = [sum(f.status[n] == "identified" for n in PHYSICAL) for f in fits]
    errors = [f.error[n] for f in fits for n in PHYSICAL if f.status[n] == "identified"]
    others = [f.error[n] for f in fits for n in PHYSICAL if f.status[n] != "identified"]
    return [
        f"- {name}, automatic lambda: of 10 physical parameters {min(called)} to {max(called)} are called identified "
        f"(median {np.median(called):.0f});",
        f"  largest error of those {100 * max(errors, default=0.0):.2f} % of the natural scale, "
        f"of the others {100 * max(others, default=0.0):.1f} %.",
    ]
