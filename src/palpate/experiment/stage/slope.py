"""How a floor slopes, as the load cells feel it: the weight pulls along it, whichever way the object is headed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from palpate.experiment.stage.fit import Fit
from palpate.experiment.stage.ground import ALIKE_S
from palpate.experiment.stage.inputs import Inputs
from palpate.experiment.stage.variations import on_ground
from palpate.physics.arrays import symmetric_inverse

DOUBTED = 0.1
"""Share of how well vertical and floor were known before, beyond which no balance is believed to tell them."""
RIDGE = 1e-12


def with_slope(fit: Fit) -> Inputs | None:
    """The fit's inputs with vertical and floor where its residuals want them, held by how well both were known.

    One step of Gauss-Newton along with the parameters. It is believed as far as residuals scatter from second to second
    (Liang & Zeger 1986), so noise that is not white does not make it surer. Where no IMU told the motion only the
    vertical is asked: noise of accelerations in the columns would bend the floor. None where nothing rolls.
    """
    inputs = fit.inputs
    if not inputs.ground_root.any() or inputs.filtering.published:
        return None
    root, rest = np.split(inputs.ground_root, [2 if inputs.smoothed is None else 4], axis=1)
    at = fit.prediction.at[fit.prediction.inside(fit.plan.segments)]
    wanted = [i for i, row in enumerate(inputs.mechanism.rows) if row.name not in inputs.unwanted]
    v, level = np.append(fit.p, -1.0), np.maximum(fit.level, 1e-9)
    (left,) = replace(fit.balance, used=None).combined(v)
    moved = [replace(fit.with_inputs(on_ground(inputs, turn))[1], used=None).combined(v)[0] for turn in root.T]
    by_turn = np.array([(x - left)[:, at] for x in moved]).transpose(2, 1, 0)
    # windows of the prediction: noise of accelerations in the columns would let the ground explain what they do
    by_theta = fit.rows()[..., :-1] @ fit.solution.problem.map_.jacobian(fit.solution.theta)
    columns = (np.concatenate([by_theta, by_turn], axis=2) / level[:, None])[:, wanted]
    left = (left[:, at].T / level)[:, wanted]
    seen = np.isfinite(columns).all(axis=(1, 2)) & np.isfinite(left).all(axis=1)
    A, left = columns[seen], left[seen]
    H, own = np.einsum("nri,nrj->ij", A, A), slice(-len(root.T), None)
    inverse = symmetric_inverse(H + RIDGE * np.diag(np.diag(H)))
    told = -inverse @ np.einsum("nri,nr->i", A, left)
    scores = np.einsum("nri,nr->ni", A, left + A @ told)
    of_piece = (inputs.times_s[at][seen] // ALIKE_S).astype(int)
    pieces = np.array([scores[of_piece == k].sum(axis=0) for k in np.unique(of_piece)])
    if len(pieces) <= A.shape[2]:  # too short to tell how residuals scatter
        return None
    white, scattered = (x[own, own] for x in (inverse, inverse @ (pieces.T @ pieces) @ inverse))
    more = np.linalg.eigvals(symmetric_inverse(white) @ scattered).real.max() * len(pieces) / (len(pieces) - A.shape[2])
    information = symmetric_inverse(white) / max(1.0, float(more))
    after = symmetric_inverse(information + np.eye(len(root.T)))
    moved_by = root @ (after @ (information @ told[own]))
    sure = np.linalg.cholesky(after + DOUBTED**2 * np.eye(len(root.T)))
    return replace(on_ground(inputs, moved_by), ground_root=np.hstack([root @ sure, rest]))
