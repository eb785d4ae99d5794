"""Cross-validation, bootstrap and robustness: the same factors in other combinations, no re-read of data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from palpate.errors import DataProblem
from palpate.identify.compression import Compressed
from palpate.identify.problem import search
from palpate.identify.solution import Solution, unconstrained
from palpate.identify.uncertainty import LAGS
from palpate.physics.arrays import FloatArray

OUTLYING = 4.0
"""A piece whose mean square residual exceeds the median by this factor counts less, in proportion."""


def cross_validate(compressed: Compressed, solution: Solution, *, folds: int = 5) -> FloatArray:
    """RMS per row on pieces that the fit had not seen: each of `folds` consecutive stretches is left out once."""
    which = np.arange(len(compressed.samples)) * folds // len(compressed.samples)
    squares = np.zeros(len(compressed.weights))
    for fold in range(folds):
        kept = compressed.select(np.flatnonzero(which != fold))
        p = _refit(kept, solution, None)
        squares += compressed.select(np.flatnonzero(which == fold)).squares(p).sum(axis=0)
    return np.sqrt(squares / compressed.samples.sum())


def bootstrap(compressed: Compressed, solution: Solution, *, replicates: int = 200, seed: int = 0) -> FloatArray:
    """Parameters of fits to pieces drawn again with replacement, (replicates, parameters).

    Runs of neighbouring pieces are drawn together, around the end as well (circular block bootstrap: Politis & Romano
    1992), as long as the sandwich looks for correlation between them: both then tell the same noise.
    """
    rng = np.random.default_rng(seed)
    pieces = len(compressed.samples)
    length = min(LAGS + 1, max(1, pieces // 5))
    starts = rng.integers(pieces, size=(replicates, -(-pieces // length)))
    drawn = (starts[:, :, None] + np.arange(length)).reshape(replicates, -1)[:, :pieces] % pieces
    draws = np.array([np.bincount(row, minlength=pieces) for row in drawn], dtype=float)
    return np.array([_refit(compressed, solution, draw) for draw in draws])


@dataclass(frozen=True, slots=True, eq=False)
class Robust:
    """A compressed balance in which pieces that do not fit count less."""

    compressed: Compressed
    weights: FloatArray
    """(pieces,), 1 for ordinary ones."""


def robust(compressed: Compressed) -> Robust:
    """Weigh pieces by how badly an unconstrained fit explains them, again and again until the weights settle.

    A piece counts in inverse proportion to its mean square beyond the limit, as in a fit to Student's t noise of which
    each piece has its own size (iteratively reweighted: Lange et al. 1989, JASA 84:881).
    """
    weights = np.ones(len(compressed.samples))
    for _ in range(10):
        p = unconstrained(_factor(_weigh(compressed, weights), None))
        misfit = (compressed.squares(p) * compressed.weights**2).sum(axis=1) / compressed.samples
        new = np.minimum(1.0, OUTLYING * np.median(misfit) / np.maximum(misfit, 1e-300))
        if np.allclose(new, weights, atol=1e-3):
            break
        weights = new
    return Robust(_weigh(compressed, weights), weights)


def _weigh(compressed: Compressed, weights: FloatArray) -> Compressed:
    column = weights[:, None, None, None]
    noise = None if compressed.noise is None else compressed.noise * column
    return replace(compressed, roots=compressed.roots * np.sqrt(column), noise=noise)


def _factor(compressed: Compressed, draws: FloatArray | None) -> FloatArray:
    """The factor of some pieces; with the motion's noise left in where these move too little to take it out."""
    try:
        return compressed.factor(draws)
    except DataProblem:
        return replace(compressed, noise=None).factor(draws)


def _refit(compressed: Compressed, solution: Solution, draws: FloatArray | None) -> FloatArray:
    """The parameters of the same problem on other pieces, from the solution on."""
    problem = replace(solution.problem, R=_factor(compressed, draws))
    return problem.map_.forward(search(problem, solution.theta, polish=False).theta)
