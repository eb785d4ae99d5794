"""What a model may lack: each effect is some columns beside the model's own, tested in what the fit leaves.

An effect that is there explains a part of the residual, and the parameters move when it is given its columns: by that
much they are wrong without it. This is the added-variable test (Cook & Weisberg 1982, ch. 2.3; the score test of
Breusch & Pagan 1980) with a covariance that allows for slow noise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from palpate.identify.balance import Rows
from palpate.identify.problem import critical_value, long_run, neighbours
from palpate.identify.solution import Solution
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import drawing_jacobian
from palpate.physics.maps import LogCholesky

NEW = 1e-6
"""Share of a column's square that the model's own columns do not explain, from which the column says something."""


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """Something that the model lacks."""

    cause: str
    columns: FloatArray
    """(columns, free rows, samples of the balance), N or N m per unit of a coefficient."""


@dataclass(frozen=True, slots=True, eq=False)
class Lack:
    """What an effect would explain, and change."""

    effect: Effect
    share: float
    """Of the squares that the fit leaves."""
    evidence: float
    """Wald's statistic over the number of columns, on a scale where 1 is the limit of 95 %."""
    coefficients: FloatArray
    """(columns,)."""
    stds: FloatArray
    """(columns,)."""
    shift: dict[str, float]
    """Estimate -> by how much it would change."""


def lacks(rows: Rows, solution: Solution, effects: Iterable[Effect]) -> list[Lack]:
    """All effects with what they explain of the rows of a fit, the one that explains most first."""
    model, problem, theta = solution.model, solution.problem, solution.theta
    P = problem.map_.jacobian(theta)
    X = np.concatenate([rows.columns(e) for e in model.elements])
    left = rows.y[0] - solution.p @ X
    pull, target = problem.penalty.rows(theta)
    M = np.concatenate([(P.T @ X).T, problem.damping * pull])
    r = np.concatenate([left, -problem.damping * target])
    scale = np.sqrt(np.maximum(np.einsum("ij,ij->j", M, M), 1e-300))
    Q, T = np.linalg.qr(M / scale)
    back = np.linalg.pinv(T) / scale[:, None]
    drawn = _drawn(solution)
    found: list[Lack] = []
    for effect in effects:
        E = rows.taken(effect.columns)
        sizes = np.einsum("ij,ij->i", E, E)
        E = np.concatenate([E.T, np.zeros((len(M) - E.shape[1], len(E)))])
        inside = Q.T @ E
        E_free = E - Q @ inside
        known = np.einsum("ij,ij->j", E_free, E_free) > NEW * np.maximum(sizes, 1e-300)
        if not known.any():
            continue
        U, s, Vt = np.linalg.svd(E_free[:, known] / np.sqrt(sizes[known]), full_matrices=False)
        keep = s > np.sqrt(NEW) * s[0]
        U, turn = U[:, keep], (Vt[keep].T / s[keep]) / np.sqrt(sizes[known])[:, None]
        u = U.T @ r  # what is left along directions of length one that are the effect's alone
        again = r - U @ u
        scores = rows.by_piece((U * again[:, None])[: len(left)].T).T
        scores = scores - scores.mean(axis=0)
        lags = neighbours(scores)
        noise = long_run(scores, lags) * len(scores) / max(1, len(scores) - 1)
        limit = critical_value((lags + 1) / max(1, len(scores)))
        strength = float(u @ np.linalg.pinv(noise, hermitian=True) @ u) / len(u) / limit**2
        coefficients, stds = np.zeros(len(known)), np.full(len(known), np.inf)
        coefficients[known] = turn @ u
        stds[known] = np.sqrt(np.einsum("ij,jk,ik->i", turn, noise, turn))
        move = -back @ (inside[:, known] @ coefficients[known])
        shift = dict(zip((e.name for e in solution.estimates), (drawn @ move).tolist(), strict=True))
        share = float(u @ u) / max(float(left @ left), 1e-300)
        found.append(Lack(effect, share, strength, coefficients, stds, shift))
    return sorted(found, key=lambda lack: -lack.share)


def _drawn(solution: Solution) -> FloatArray:
    """(estimates, theta): how the numbers of a drawing follow theta."""
    map_, theta = solution.problem.map_, solution.theta
    p, P = map_.forward(theta), map_.jacobian(theta)
    for part, ps in zip(map_.parts, map_.p_slices(), strict=True):
        if isinstance(part, LogCholesky):
            P[ps] = drawing_jacobian(p[ps]) @ P[ps]
    return P
