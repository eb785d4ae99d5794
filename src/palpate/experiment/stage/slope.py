"""How a floor slopes, as the load cells feel it: the weight pulls along it, whichever way the object is headed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from palpate.experiment.stage.fit import Fit
from palpate.experiment.stage.inputs import Inputs
from palpate.experiment.stage.variations import on_ground
from palpate.physics.arrays import symmetric_inverse

ALIKE_S = 1.0
"""Residuals so near in time say the same."""
DOUBTED = 0.1
"""Share of how well vertical and floor were known before, beyond which no balance is believed to tell them."""
RIDGE = 1e-12


def with_slope(fit: Fit) -> Inputs | None:
    """The fit's inputs with vertical and floor where its residuals want them, held by how well both were known.

    One step of Gauss-Newton along with the parameters; None where nothing rolls. Residuals of a second count as one
    (Liang & Zeger 1986), so noise that is not white does not make it surer.
    """
    inputs, root = fit.inputs, fit.inputs.ground_root
    if not root.any() or inputs.poses is None or inputs.filtering.published:
        return None
    at = fit.prediction.at[fit.prediction.inside(fit.plan.segments)]
    v, level = np.append(fit.p, -1.0), np.maximum(fit.level, 1e-9)
    (left,) = replace(fit.balance, used=None).combined(v)
    moved = [replace(fit.with_inputs(on_ground(inputs, turn))[1], used=None).combined(v)[0] for turn in root.T]
    by_turn = np.array([(x - left)[:, at] for x in moved]).transpose(2, 1, 0)
    by_theta = fit.rows()[..., :-1] @ fit.solution.problem.map_.jacobian(fit.solution.theta)
    A = np.concatenate([by_theta, by_turn], axis=2) / level[:, None]
    left = (left[:, at].T / level)[..., None]
    seen = np.isfinite(A).all(axis=(1, 2)) & np.isfinite(left).all(axis=(1, 2))
    A, scores = A[seen], (A * left)[seen].sum(axis=1)
    of_piece = (inputs.times_s[at][seen] // ALIKE_S).astype(int)
    pieces = np.array([scores[of_piece == k].sum(axis=0) for k in np.unique(of_piece)])
    H = np.einsum("nri,nrj->ij", A, A)
    inverse = symmetric_inverse(H + RIDGE * np.diag(np.diag(H)))
    covariance = inverse @ (pieces.T @ pieces) @ inverse * len(pieces) / max(len(pieces) - A.shape[2], 1)
    told, own = -(inverse @ pieces.sum(axis=0))[-len(root.T) :], slice(-len(root.T), None)
    information = symmetric_inverse(covariance[own, own])
    after = symmetric_inverse(information + np.eye(len(told)))
    moved_by = root @ (after @ (information @ told))
    sure = np.linalg.cholesky(after + DOUBTED**2 * np.eye(len(told)))
    return replace(on_ground(inputs, moved_by), ground_root=root @ sure)
