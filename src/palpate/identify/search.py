"""The search: a damped Gauss-Newton iteration on a problem that compression made tiny."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from palpate.identify.prior import ThetaPrior
from palpate.physics.arrays import FloatArray
from palpate.physics.maps import Stacked

MOST_STEPS = 200


class Ending(Enum):
    """Why the search stopped; the value tells what to do."""

    CONVERGED = "converged"
    SLOW = (
        f"not converged after {MOST_STEPS} steps: the data leave a direction open or push the inertia to the edge of the "
        "possible; give a prior, or excite the object more"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Where the search ended, at which cost (weighted sum of squares with the prior's term), after how many steps."""

    theta: FloatArray
    cost: float
    steps: int
    ending: Ending


def search(R: FloatArray, map_: Stacked, prior: ThetaPrior, damping: float, start: FloatArray) -> Found:
    """Minimise |R [-p(theta); 1]|^2 + damping^2 |theta - theta_prior|^2 over theta (paper, eq. optimization).

    R is the weighted triangular factor of [Y | y]. Levenberg-Marquardt with the step from QR of the stacked Jacobian, never from
    J'J; mu follows Nielsen (1999). Undamped directions (bias) take full Gauss-Newton steps and are exact after one.
    """
    pull = damping * np.eye(len(start))[prior.damped]

    def residual(theta: FloatArray) -> FloatArray:
        return np.concatenate([R @ np.append(-map_.forward(theta), 1.0), pull @ (theta - prior.theta)])

    theta, mu, nu = start, 1e-8, 2.0
    r = residual(theta)
    cost = float(r @ r)
    for step in range(1, MOST_STEPS + 1):
        J = np.concatenate([-R[:, :-1] @ map_.jacobian(theta), pull])
        scale = np.maximum(np.linalg.norm(J, axis=0), 1e-12 * np.linalg.norm(J))
        while True:
            stacked = np.concatenate([J / scale, np.sqrt(mu) * np.eye(len(theta))])
            scaled = np.linalg.lstsq(stacked, np.concatenate([-r, np.zeros(len(theta))]), rcond=None)[0]
            move = _bounded(scaled / scale)
            trial = residual(theta + move)
            trial_cost = float(trial @ trial)
            expected = cost - float(np.sum((r + J @ move) ** 2))
            # below, rounding decides whether the cost falls: accept the last, harmless step
            tiny = expected <= 1e-15 * cost or float(np.linalg.norm(scaled)) <= 1e-14 * np.sqrt(cost)
            if trial_cost <= cost or tiny:
                break
            mu, nu = max(mu, 1e-12) * nu, 2 * nu
            if mu > 1e12:
                return Found(theta, cost, step, Ending.CONVERGED)
        gain = (cost - trial_cost) / expected if expected > 0 else 1.0
        if trial_cost <= cost:
            theta, r, cost = theta + move, trial, trial_cost
        if tiny:
            return Found(theta, cost, step, Ending.CONVERGED)
        mu, nu = max(1e-15, mu * max(1 / 10, 1 - (2 * gain - 1) ** 3)), 2.0
    return Found(theta, cost, MOST_STEPS, Ending.SLOW)


def _bounded(move: FloatArray) -> FloatArray:
    """No exponent moves by more than 5 at once: e^5 is far enough, and beyond, numbers overflow."""
    largest = float(np.abs(move).max(initial=0.0))
    return move if largest <= 5 or not np.isfinite(largest) else move * (5 / largest)
