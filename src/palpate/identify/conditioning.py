"""Conditioning: how well the data hold each direction, with and without the prior's help."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.identify.search import Problem
from palpate.physics.arrays import BoolArray, FloatArray, solve_columns
from palpate.physics.maps import Exp

KAPPA_LIMIT = 100.0
"""Below, parameters count as identifiable (paper, eq. kappa; Schroer 1993)."""


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
