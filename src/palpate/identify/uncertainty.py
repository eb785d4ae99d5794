"""Uncertainty and conditioning of a solution: noise, the prior's pull, how much of each number comes from the data.

Everything is expressed in whitened coordinates u = T theta, where T'T is what the fit knows: M = [J; lambda A] = Q T.
From M itself, never from M'M: near the edge of possible bodies theta is so badly scaled that M'M would have lost all
digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palpate.identify.problem import Problem
from palpate.physics.arrays import BoolArray, FloatArray, solve_columns
from palpate.physics.maps import Exp

OPEN = 1e-7
"""Directions with less than this share of the largest singular value are open: nothing says anything about them."""
LAGS = 8
"""Neighbouring pieces whose scores may still be correlated, at least; more where they show it."""
FEWEST = 10
"""Pieces beyond the number of parameters without which the scatter says nothing about noise."""
KAPPA_LIMIT = 100.0
"""Below, parameters count as identifiable (paper, eq. kappa; Schroer 1993)."""


@dataclass(frozen=True, slots=True, eq=False)
class Uncertainty:
    """Covariances in whitened coordinates, and what each part of the information weighs."""

    whiten: FloatArray
    """T^-1, (theta, directions that something is known of): a gradient times this is one in u."""
    noise: FloatArray
    """Covariance of u from the residuals, correlated as they are."""
    pull: FloatArray
    """(directions, theta): what a prior that is off by its declared spread does to u; times its transpose, the
    covariance.
    """
    from_data: FloatArray
    """(rows, directions): J T^-1, the part of Q that the data made."""
    open_directions: FloatArray
    """Columns: unit vectors of scaled theta that neither data nor prior determine."""
    scale: FloatArray
    """theta times this is scaled."""
    critical: float
    """Half a 95 % interval in standard deviations of the noise, which is itself only estimated."""
    enough: bool
    """Whether there were pieces enough to know the noise."""
    level: float
    """Standard deviation of one weighted residual, as if residuals were independent: what the noise amounts to in the
    directions that the prior pulls (in all, where it pulls none). A bias takes the slow noise upon itself.
    """

    def of(self, gradients: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.bool_]]:
        """For quantities with these theta gradients (n, theta): std from noise, from pull, share from data, whether
        open.
        """
        g = gradients @ self.whiten
        noise = np.sqrt(np.sum(g @ self.noise * g, axis=1))
        pull = np.linalg.norm(g @ self.pull, axis=1)
        total = np.sum(g**2, axis=1)
        share = np.sum((g @ self.from_data.T) ** 2, axis=1) / np.where(total > 0, total, np.inf)
        scaled = gradients / self.scale
        lengths = np.maximum(np.linalg.norm(scaled, axis=1), 1e-300)
        is_open = np.linalg.norm(scaled @ self.open_directions, axis=1) > 1e-3 * lengths
        return noise, pull, np.minimum(share, 1.0), is_open


def uncertainty(scores: FloatArray, problem: Problem, theta: FloatArray) -> Uncertainty:
    """Sandwich covariance over pieces (Huber; White 1980; pieces as clusters: Liang & Zeger 1986), and the prior's
    pull.

    scores: Y'(y - Y p) of each piece (pieces, parameters). Residuals of neighbouring samples are correlated; sums
    over pieces much longer than the correlation are not, and their scatter is the noise of the estimate.
    """
    P = problem.map_.jacobian(theta)
    J = problem.R[:, :-1] @ P
    A = problem.damping * problem.penalty.rows(theta)[0]
    M = np.concatenate([J, A])
    scale = np.sqrt(np.maximum(np.einsum("ij,ij->j", M, M), 1e-300))
    Q, s, Vt = np.linalg.svd(M / scale, full_matrices=False)
    known = s > OPEN * s[0]
    whiten = Vt[known].T / s[known] / scale[:, None]
    influence = scores @ (P @ whiten)
    influence = influence - influence.mean(axis=0)
    lags = _lags(influence)
    noise = long_run(influence, lags) * (len(scores) / max(1, len(scores) - 1))
    from_data, from_prior = Q[: len(J), known], Q[len(J) :, known]
    others = s[known, None] * Vt[known][:, ~problem.penalty.damped] * scale[~problem.penalty.damped]
    return Uncertainty(
        whiten=whiten,
        noise=noise,
        pull=from_prior.T @ (A @ problem.penalty.root),
        from_data=from_data,
        open_directions=Vt[~known].T,
        scale=scale,
        critical=critical_value((lags + 1) / max(1, len(scores))),
        enough=len(scores) >= P.shape[1] + FEWEST,
        level=_level(noise, others if problem.penalty.damped.any() else others[:, :0]),
    )


def free_covariance(scores: FloatArray, R: FloatArray) -> FloatArray:
    """The sandwich covariance of an unconstrained fit of p to the factor R of [Y | y], (parameters, parameters)."""
    X = R[:, :-1]
    scale = np.sqrt(np.maximum(np.einsum("ij,ij->j", X, X), 1e-300))
    _, s, Vt = np.linalg.svd(X / scale, full_matrices=False)
    known = s > OPEN * s[0]
    whiten = Vt[known].T / s[known] / scale[:, None]
    influence = scores @ whiten
    influence = influence - influence.mean(axis=0)
    return whiten @ long_run(influence, _lags(influence)) @ whiten.T


def critical_value(b: float) -> float:
    """The 97.5 % quantile of an estimate over its standard deviation, where that comes from Bartlett weights over the
    share b of all pieces (Kiefer & Vogelsang 2005, Econometric Theory 21:1130, table 1).
    """
    return 1.96 + 2.9694 * b + 0.4160 * b**2 - 0.5324 * b**3


def long_run(influence: FloatArray, lags: int) -> FloatArray:
    """Covariance of the sum of (pieces, k) with Bartlett weights over neighbours (Newey & West 1987): slow noise
    counts.
    """
    total = influence.T @ influence
    for lag in range(1, lags + 1):
        cross = influence[lag:].T @ influence[:-lag] * (1 - lag / (lags + 1))
        total = total + cross + cross.T
    return total


def _level(noise: FloatArray, others: FloatArray) -> float:
    """Mean noise of the directions that are left when the others (columns, in u) are free."""
    directions = len(noise) - others.shape[1]
    if others.shape[1] == 0 or directions <= 0:
        return float(np.sqrt(np.trace(noise) / max(1, len(noise))))
    basis = np.linalg.qr(others)[0]
    return float(np.sqrt(max(np.trace(noise) - np.trace(basis.T @ noise @ basis), 0.0) / directions))


def _lags(influence: FloatArray) -> int:
    """How far neighbours matter: the best window for noise with the memory of these scores (Andrews 1991, eqs. 6.2 and
    6.4 for Bartlett's weights and a first-order autoregression).

    One memory for all, tr(G0^-1 G1) / k, which is the same in all coordinates.
    """
    n, k = influence.shape
    if n < 2 or k == 0:
        return 0
    now, next_ = influence.T @ influence, influence[1:].T @ influence[:-1]
    memory = float(np.clip(np.trace(solve_columns(now, next_)) / k, -0.5, 0.9))
    alpha = 4 * memory**2 / ((1 - memory) * (1 + memory)) ** 2
    return min(max(LAGS, round(1.1447 * (n * alpha) ** (1 / 3)) - 1), max(1, n // 5))


@dataclass(frozen=True, slots=True)
class Conditioning:
    """Condition numbers at the solution."""

    kappa: float
    """Of the data alone."""
    kappa_eff: float
    """With the prior's damping."""
    kappa_eff_paper: float
    """As the authors compute it (FORMATS, erratum 8): lambda added to every direction of theta, also to undamped
    ones.
    """


def conditioning(problem: Problem, theta: FloatArray) -> Conditioning:
    """Condition numbers of the weighted Jacobian in natural coordinates (relative changes of a body), columns of
    length one.

    Undamped columns (bias, friction) are projected out first. In theta the same numbers would depend on the factor
    convention and the frame, and be hundreds of times larger for a thin body although its mass and inertia are known
    to four digits.
    """
    map_, R, damping = problem.map_, problem.R, problem.damping
    p, P = map_.forward(theta), map_.jacobian(theta)
    natural = map_.natural(p)
    J = _project_out(R[:, :-1] @ natural, _of_interest(problem))
    with_prior = J
    if damping > 0 and problem.penalty.damped.any():
        pull = problem.penalty.rows(theta)[0] @ solve_columns(P, natural)
        with_prior = np.concatenate([J, damping * pull[:, problem.penalty.damped]])
    s = np.linalg.svd(R[:, :-1] @ P, compute_uv=False)
    paper = np.hypot(s[0], damping) / max(np.hypot(s[-1], damping), 1e-300)
    return Conditioning(_scaled_condition(J), _scaled_condition(with_prior), float(paper))


def _of_interest(problem: Problem) -> BoolArray:
    """Damped parameters; where none is, those that cannot be negative, if there are: the powers of a spring depend on
    each other by their nature, not by the motion.
    """
    positive = np.concatenate([np.full(part.size_theta, isinstance(part, Exp)) for part in problem.map_.parts])
    return positive if positive.any() and not problem.penalty.damped.any() else problem.penalty.damped


def _project_out(J: FloatArray, damped: BoolArray) -> FloatArray:
    """The damped columns without what the others can explain; all columns where nothing is damped."""
    if not damped.any() or damped.all():
        return J
    basis = np.linalg.qr(J[:, ~damped])[0]
    use = J[:, damped]
    return use - basis @ (basis.T @ use)


def _scaled_condition(X: FloatArray) -> float:
    norms = np.linalg.norm(X, axis=0)
    if not (norms > 0).all():
        return float("inf")
    s = np.linalg.svd(X / norms, compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 1e-13 * s[0] else float("inf")
