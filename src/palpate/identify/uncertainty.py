"""Uncertainty of a solution: noise, the prior's pull, and how much of each number comes from the data at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palpate.identify.search import Problem
from palpate.physics.arrays import FloatArray, least_squares, symmetric_inverse

OPEN = 1e-12
"""Directions with less than this share of the largest (scaled) information are open: nothing says anything about
them.
"""


LAGS = 8
"""Neighbouring pieces whose scores may still be correlated, at least; more where they show it."""
FEWEST = 10
"""Pieces beyond the number of parameters without which the scatter says nothing about noise."""


@dataclass(frozen=True, slots=True, eq=False)
class Uncertainty:
    """Covariances of theta, and what each part of the information weighs."""

    noise: FloatArray
    """Covariance from the residuals, correlated as they are."""
    pull: FloatArray
    """Covariance from a prior that is off by its declared spread."""
    inverse: FloatArray
    """Inverse of J'J + lambda^2 A'A, what the fit knows, and ..."""
    from_data: FloatArray
    """... J'J, what of it the data said."""
    open_directions: FloatArray
    """Columns: unit vectors of scaled theta that neither data nor prior determine."""
    scale: FloatArray
    """theta times this is scaled."""
    freedom: int
    """Degrees of freedom of the noise estimate."""
    enough: bool
    """Whether there were pieces enough to know the noise."""
    level: float
    """Standard deviation of one weighted residual, as if residuals were independent: what the noise amounts to in the
    directions that the prior pulls (in all, where it pulls none). A bias takes the slow noise upon itself.
    """

    def of(
        self, gradients: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        """For quantities with these theta gradients (n, theta): std from noise, from pull, share from data, whether
        open.
        """
        noise, pull = _std(gradients, self.noise), _std(gradients, self.pull)
        spread = gradients @ self.inverse
        total = np.sum(spread * gradients, axis=1)
        share = np.sum(spread @ self.from_data * spread, axis=1) / np.where(total > 0, total, np.inf)
        scaled = gradients / self.scale
        lengths = np.maximum(np.linalg.norm(scaled, axis=1), 1e-300)
        is_open = np.linalg.norm(scaled @ self.open_directions, axis=1) > 1e-3 * lengths
        return noise, pull, np.clip(share, 0.0, 1.0), is_open


def uncertainty(scores: FloatArray, problem: Problem, theta: FloatArray) -> Uncertainty:
    """Sandwich covariance over pieces (Huber; White 1980; pieces as clusters: Liang & Zeger 1986), and the prior's
    pull.

    scores: Y'(y - Y p) of each piece (pieces, parameters). Residuals of neighbouring samples are correlated; sums
    over pieces much longer than the correlation are not, and their scatter is the noise of the estimate.
    """
    P = problem.map_.jacobian(theta)
    J = problem.R[:, :-1] @ P
    from_data = J.T @ J
    A = problem.damping * problem.penalty.rows(theta)[0]
    prior = A.T @ A
    information = from_data + prior
    inverse = symmetric_inverse(information)
    scatter = scores @ P
    scatter = scatter - scatter.mean(axis=0)
    pieces, n = len(scores), P.shape[1]
    lags = _lags(scatter)
    meat = _long_run(scatter, lags) * (pieces / max(1, pieces - 1))
    pulled = inverse @ prior @ problem.penalty.root
    noise = inverse @ meat @ inverse
    pulled_to = problem.penalty.damped | ~problem.penalty.damped.any()
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    values, vectors = np.linalg.eigh(information / scale[:, None] / scale)
    return Uncertainty(
        noise=noise,
        pull=pulled @ pulled.T,
        inverse=inverse,
        from_data=from_data,
        open_directions=vectors[:, values < OPEN * values[-1]],
        scale=scale,
        freedom=max(1, round(1.5 * pieces / (lags + 1))),  # of Bartlett's weights (Priestley 1981, 6.2.4)
        enough=pieces >= n + FEWEST,
        level=_level(information, noise, pulled_to),
    )


def _level(information: FloatArray, noise: FloatArray, among: NDArray[np.bool_]) -> float:
    """Mean noise of these directions beside what independent residuals of size one would leave, the others free."""
    others = ~among
    known = information[among][:, among]
    if others.any():
        cross = information[among][:, others]
        known = known - cross @ least_squares(information[others][:, others], cross.T)
    return float(np.sqrt(max(float(np.sum(known * noise[among][:, among])), 0.0) / int(among.sum())))


def _long_run(scatter: FloatArray, lags: int) -> FloatArray:
    """Covariance of the scores' sum with Bartlett weights over neighbouring pieces (Newey & West 1987): slow noise
    counts.
    """
    total = scatter.T @ scatter
    for lag in range(1, lags + 1):
        cross = scatter[lag:].T @ scatter[:-lag] * (1 - lag / (lags + 1))
        total = total + cross + cross.T
    return total


def _lags(scatter: FloatArray) -> int:
    """How far neighbours matter: the best window for noise with the memory of these scores (Andrews 1991, eqs. 6.2 and
    6.4 for Bartlett's weights, each score a first-order autoregression).
    """
    n = len(scatter)
    power = np.maximum((scatter**2).sum(axis=0), 1e-300)
    memory = np.clip((scatter[1:] * scatter[:-1]).sum(axis=0) / power, -0.5, 0.9)
    # every score counts alike, whatever its unit
    top, bottom = 4 * memory**2 / (1 - memory) ** 6 / (1 + memory) ** 2, (1 - memory) ** -4.0
    best = 1.1447 * (n * float(top.sum() / bottom.sum())) ** (1 / 3)
    return min(max(LAGS, round(best)), n // 5, n - 1) if n > 1 else 0


def _std(gradients: FloatArray, covariance: FloatArray) -> FloatArray:
    return np.sqrt(np.maximum(np.sum(gradients @ covariance * gradients, axis=1), 0.0))
