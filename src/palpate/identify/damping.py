"""Choosing lambda: as strong as the prior's declared spread says, beside the noise that the data show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.identify.compression import Compressed
from palpate.identify.conditioning import conditioning
from palpate.identify.prior import Penalty
from palpate.identify.search import Found, Problem, search
from palpate.identify.uncertainty import uncertainty
from palpate.physics.arrays import FloatArray
from palpate.physics.maps import Stacked

GRID = np.logspace(-4, 4, 41)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One lambda: what it does to conditioning, to the fit and to the distance from the prior."""

    damping: float
    kappa_eff: float
    misfit: float
    """Weighted sum of squares of the data alone."""
    distance: float
    """Square root of the prior's penalty."""


def starts(map_: Stacked, penalty: Penalty, unconstrained: FloatArray) -> list[FloatArray]:
    """Where to begin: the possible parameters nearest to the unconstrained fit, and the prior where there is one."""
    data = map_.inverse(map_.nearest(unconstrained))
    return [np.where(penalty.damped, penalty.theta, data), data] if penalty.damped.any() else [data]


def solve_given(problem: Problem, begin: list[FloatArray]) -> Found:
    """Search from the start with the lowest cost."""
    return search(problem, min(begin, key=problem.cost))


def solve_automatic(
    problem: Problem, compressed: Compressed, spread: float, begin: list[FloatArray]
) -> tuple[Problem, Found]:
    """Lambda so that the prior counts as what it is: one observation, off by its declared spread.

    lambda = level / spread, with `level` the noise of a weighted residual as the sandwich sees it (after a first fit
    with the plain residual in its place). A prior so weighted changes nothing that the data know, and holds what they
    do not.
    """
    level = abs(float(problem.R[-1, -1])) / np.sqrt(float(compressed.samples.sum()) * len(compressed.weights))
    theta = min(begin, key=problem.cost)
    for _ in range(2):
        trial = problem.with_damping(level / spread)
        theta = search(trial, min([theta, *begin], key=trial.cost), polish=False).theta
        level = uncertainty(compressed.scores(trial.map_.forward(theta)), trial, theta).level
    chosen = problem.with_damping(level / spread)
    return chosen, search(chosen, theta)


def damping_curve(problem: Problem, start: FloatArray) -> tuple[CurvePoint, ...]:
    """The whole curve over the grid of lambda, from weak to strong."""
    points: list[CurvePoint] = []
    theta = start
    for value in GRID:
        at = problem.with_damping(float(value))
        theta = search(at, theta, polish=False).theta
        misfit = problem.with_damping(0.0).cost(theta)
        distance = float(np.sqrt(problem.penalty.value(theta)))
        points.append(CurvePoint(float(value), conditioning(at, theta).kappa_eff, misfit, distance))
    return tuple(points)
