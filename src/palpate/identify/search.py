"""The search: a damped Gauss-Newton iteration on a problem that compression made tiny."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from palpate.errors import PalpateError
from palpate.identify.prior import ThetaPrior
from palpate.physics.arrays import FloatArray, least_squares
from palpate.physics.maps import Stacked

MOST_STEPS = 200
POLISH_STEPS = 8
NEAR = 1e-10
"""Where a step would change the cost by less than this fraction, the search is in the last, quadratic valley."""


class Ending(Enum):
    """Why the search stopped; the value tells what to do."""

    CONVERGED = "converged"
    EDGE = (
        "the data ask for a body that cannot exist (a mass or an inertia at or below zero): look for a wrong sign, "
        "unit, axis or frame first; else the motion excites too little"
    )
    SLOW = (
        f"not converged after {MOST_STEPS} steps: the data leave a direction open; give a prior, "
        "or excite the object more"
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

    R is the weighted triangular factor of [Y | y]. Levenberg-Marquardt with the step from QR of the stacked Jacobian,
    never from J'J; mu follows Nielsen (1999). Undamped directions (bias) take full Gauss-Newton steps and are exact
    after one.
    """
    pull = damping * np.eye(len(start))[prior.damped]

    def residual(theta: FloatArray) -> FloatArray:
        return np.concatenate([R @ np.append(-map_.forward(theta), 1.0), pull @ (theta - prior.theta)])

    def jacobian(theta: FloatArray) -> FloatArray:
        return np.concatenate([-R[:, :-1] @ map_.jacobian(theta), pull])

    theta, mu, nu = start, 1e-8, 2.0
    r = residual(theta)
    for step in range(1, MOST_STEPS + 1):
        cost, J = float(r @ r), jacobian(theta)
        scale = np.maximum(np.linalg.norm(J, axis=0), 1e-12 * np.linalg.norm(J))
        stacked = np.concatenate([J / scale, np.sqrt(mu) * np.eye(len(theta))])
        move = _bounded(least_squares(stacked, np.concatenate([-r, np.zeros(len(theta))])) / scale)
        expected = cost - float(np.sum((r + J @ move) ** 2))
        if expected <= NEAR * cost:
            polished = _polish(lambda x: jacobian(x).T @ residual(x), theta, scale)
            theta = polished if _possible(map_, polished) else theta
            return Found(theta, float(np.sum(residual(theta) ** 2)), step, Ending.CONVERGED)
        trial = residual(theta + move)
        gain = (cost - float(trial @ trial)) / expected
        if gain > 0:
            if not _possible(map_, theta + move):
                return Found(theta, cost, step, Ending.EDGE)
            theta, r = theta + move, trial
            mu, nu = max(1e-15, mu * max(1 / 10, 1 - (2 * gain - 1) ** 3)), 2.0
        else:
            mu, nu = mu * nu, 2 * nu
    return Found(theta, float(r @ r), MOST_STEPS, Ending.SLOW)


def _possible(map_: Stacked, theta: FloatArray) -> bool:
    """Whether these parameters are still told apart from impossible ones: the map takes infinite theta to reach the
    edge.
    """
    p = map_.forward(theta)
    try:
        map_.inverse(p)
    except PalpateError:
        return False
    return bool(np.isfinite(p).all())


def _polish(gradient: Callable[[FloatArray], FloatArray], theta: FloatArray, scale: FloatArray) -> FloatArray:
    """Newton steps with the full Hessian (differences of the gradient) as long as they shrink.

    Near the minimum rounding hides whether the cost still falls, and where data contradict the prior Gauss-Newton,
    which neglects the curvature of the map, creeps; the gradient's zero is found to the last digits.
    """
    h = 1e-5
    sides = [(gradient(theta + h * e) - gradient(theta - h * e)) / (2 * h) for e in np.eye(len(theta))]
    hessian = np.array(sides) / scale[:, None] / scale
    hessian = (hessian + hessian.T) / 2
    last = np.inf
    for _ in range(POLISH_STEPS):
        move = -least_squares(hessian, gradient(theta) / scale, rcond=1e-14) / scale
        length = float(np.linalg.norm(move * scale))
        if not length < 0.5 * last or float(np.abs(move).max()) > 1e-2:
            break
        theta, last = theta + move, length
    return theta


def _bounded(move: FloatArray) -> FloatArray:
    """No exponent moves by more than 5 at once: e^5 is far enough, and beyond, numbers overflow."""
    largest = float(np.abs(move).max(initial=0.0))
    return move if largest <= 5 or not np.isfinite(largest) else move * (5 / largest)
