"""Steps of the wheelbarrow from random states: does any create energy? The account is that of the tests' textbook
formulas, not of the runtime.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from palpate.runtime import Stepper, StepStatus
from studies.running import map_seeds
from tests.test_rolling_mechanism import barrow, energies, standing

TITLE = "Energy: steps of a wheelbarrow from random states"
STATES, WITH_FEET = 700, 320


@dataclass(frozen=True)
class Run:
    states: int
    worst: float
    """Energy that a step created, over the energy that was there; below zero where each step lost some."""
    not_finite: int


def run_one(seed: int) -> Run:
    found = [_steps(np.random.default_rng([seed, feet]), feet=bool(feet)) for feet in (0, 1)]
    return Run(sum(r.states for r in found), max(r.worst for r in found), sum(r.not_finite for r in found))


def _steps(rng: np.random.Generator, *, feet: bool) -> Run:
    n = WITH_FEET if feet else STATES
    stepper = Stepper(standing() if feet else barrow(), 1e-3)
    positions = np.column_stack([rng.normal(size=(n, 2)), rng.uniform(-3, 3, n), *rng.uniform(-1, 1, size=(2, n))])
    if feet:
        positions[:, 3:] *= [0.03, 0.1]
    before = np.column_stack([positions, rng.normal(size=(n, 4)) * 10 ** rng.uniform(-4, 1, size=(n, 1))])
    after, out, lost = np.empty((n, 9)), np.empty(13), 0
    for i, state in enumerate(before):
        stepper.reset(state)
        lost += stepper.step((0.0,) * 6, out) is StepStatus.NOT_FINITE
        after[i] = out[:9]
    old, new = (sum(energies(x, feet=feet)) for x in (before, after))
    return Run(n, float(((new - old) / (np.abs(old) + energies(before)[0])).max()), lost)


def run(seeds: Iterable[int], workers: int = 1) -> list[Run]:
    return map_seeds(run_one, seeds, workers)


def table(runs: list[Run]) -> str:
    return "\n".join(
        [
            f"{sum(r.states for r in runs)} random states, speeds from 1e-4 to 10 (m/s, rad/s), a third of them on or",
            "near the feet; one step of 1 ms each, no hand on it. Kinetic energy, height and the feet's springs before",
            "and after.",
            "",
            f"- Most energy that a step created, over what was there: {max(r.worst for r in runs):.1e}; rounding is",
            "  1e-16 of a number, and an account has some hundred of them.",
            f"- Steps that led nowhere: {sum(r.not_finite for r in runs)}.",
        ]
    )
