"""The search: a damped Gauss-Newton iteration on a problem that compression made tiny."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from palpate.errors import PalpateError
from palpate.identify.prior import Penalty
from palpate.physics.arrays import FloatArray, stacked_solve, symmetric_solve
from palpate.physics.maps import Stacked

MOST_STEPS = 200
POLISH_STEPS = 12
EDGE_EVERY = 10
IDLE_STEPS = 6
"""Steps that change nothing, after which none is expected to."""
NEAR, NEAREST = 1e-5, 1e-10
"""Where a step would change the cost by less than the first fraction, Newton's method is worth a try; by less than the
second, the search is in the last, quadratic valley for sure.
"""


class Ending(Enum):
    """Why the search stopped; the value tells what to do."""

    CONVERGED = "converged"
    EDGE = (
        "the data ask for a body that cannot exist (a mass or an inertia at or below zero): look for a wrong sign, "
        "unit, axis or frame first; else the motion excites too little"
    )
    FLAT = (
        "a body without thickness in some direction fits the data as well as one with: the intervals hold that, but "
        "give a prior, or excite the object more"
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


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """|R [-p(theta); 1]|^2 + damping^2 penalty(theta) (paper, eq. optimization), with R the factor of the weighted [Y
    | y].
    """

    R: FloatArray
    map_: Stacked
    penalty: Penalty
    damping: float
    negligible: float = 0.0
    """A fall of the cost that means nothing beside the noise of the data."""

    def with_damping(self, damping: float) -> Problem:
        """The same with another lambda."""
        return replace(self, damping=damping)

    def cost(self, theta: FloatArray) -> float:
        """The value to be minimised; infinite where numbers overflow."""
        with np.errstate(over="ignore", invalid="ignore"):
            r = self.R[:, :-1] @ self.map_.forward(theta) - self.R[:, -1]
            cost = float(r @ r)
            if self.damping > 0:
                cost += self.damping**2 * self.penalty.value(theta)
        return cost if np.isfinite(cost) else float("inf")

    def rows(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A and b with cost(theta + d) = |A d + b|^2 + constant to first order in A: J'b is half the gradient."""
        A = self.R[:, :-1] @ self.map_.jacobian(theta)
        b = self.R[:, :-1] @ self.map_.forward(theta) - self.R[:, -1]
        if self.damping == 0:
            return A, b
        pull, target = self.penalty.rows(theta)
        return np.concatenate([A, self.damping * pull]), np.concatenate([b, self.damping * target])

    def curvature(self, theta: FloatArray) -> FloatArray:
        """What Gauss-Newton leaves out of half the Hessian: sum_k slope_k d2 p_k / d theta2."""
        b = self.R[:, :-1] @ self.map_.forward(theta) - self.R[:, -1]
        slope = b @ self.R[:, :-1] + self.damping**2 * self.penalty.slope(theta)
        return self.map_.curvature(theta, slope)


def search(problem: Problem, start: FloatArray, *, polish: bool = True) -> Found:
    """Minimise the cost from a start; where the way leads to a body too thin for arithmetic, the start at the edge."""
    try:
        return _search(problem, start, polish=polish)
    except np.linalg.LinAlgError:
        return Found(_last_possible(problem.map_, start), problem.cost(start), 0, Ending.EDGE)


def _search(problem: Problem, start: FloatArray, *, polish: bool) -> Found:
    """Minimise the cost from a start.

    Levenberg-Marquardt with the step from QR of the stacked rows, never from A'A; mu follows Nielsen (1999). Undamped
    linear directions (bias) take full Gauss-Newton steps and are exact after one.
    """
    theta, mu, nu, idle = start, 1e-8, 2.0, 0
    cost = problem.cost(theta)
    rows = problem.rows(theta)
    for step in range(1, MOST_STEPS + 1):
        slopes, b = rows
        squares = np.einsum("ij,ij->j", slopes, slopes)
        least = 1e-24 * squares.sum()
        # a positive parameter on its way to zero has no slope left: it must not shorten the step of all others
        A = np.where(squares > least, slopes, 0.0)
        scale = np.sqrt(np.maximum(squares, least))
        move = _bounded(stacked_solve(A / scale, np.sqrt(mu), -b) / scale)
        expected = float(b @ b - np.sum((b + A @ move) ** 2))
        if expected <= (NEAR if polish else NEAREST) * cost:
            end, settled = _polish(problem, theta, rows, scale) if polish else (theta + move, True)
            least = problem.cost(end)
            if (settled and least <= cost) or expected <= NEAREST * cost:
                if not _possible(problem.map_, end):
                    return Found(_last_possible(problem.map_, end), cost, step, Ending.EDGE)
                return Found(end, least, step, Ending.CONVERGED)
        # the edge of possible bodies is at infinite theta: a search for a thin one would never end
        idle = idle + 1 if expected <= problem.negligible else 0
        if idle > IDLE_STEPS:
            return Found(_last_possible(problem.map_, theta), cost, step, Ending.FLAT)
        trial = problem.cost(theta + move)
        gain = (cost - trial) / expected
        if gain > 0:
            last, theta, cost = theta, theta + move, trial
            if step % EDGE_EVERY == 0 and not _possible(problem.map_, theta):
                return Found(_last_possible(problem.map_, last), cost, step, Ending.EDGE)
            rows = problem.rows(theta)
            mu, nu = max(1e-15, mu * max(1 / 10, 1 - (2 * gain - 1) ** 3)), 2.0
        else:
            mu, nu = mu * nu, 2 * nu
    return Found(_last_possible(problem.map_, theta), cost, MOST_STEPS, Ending.SLOW)


def _possible(map_: Stacked, theta: FloatArray) -> bool:
    """Whether these parameters still differ from impossible ones; the edge itself is at infinite theta."""
    p = map_.forward(theta)
    try:
        map_.inverse(p)
    except PalpateError:
        return False
    return bool(np.isfinite(p).all())


def _last_possible(map_: Stacked, theta: FloatArray) -> FloatArray:
    """theta itself, or possible parameters beside it where rounding makes it impossible."""
    return theta if _possible(map_, theta) else map_.inverse(map_.nearest(map_.forward(theta)))


def _polish(
    problem: Problem, theta: FloatArray, begin: tuple[FloatArray, FloatArray], scale: FloatArray
) -> tuple[FloatArray, bool]:
    """Newton steps as long as they shrink, and whether they shrank to rounding.

    Near the minimum rounding hides whether the cost still falls, so the steps' lengths decide. The Hessian holds the
    map's curvature too: where data contradict the prior, Gauss-Newton's alone would creep. It is kept, since so near
    the minimum it gains some digits a step.
    """
    rows, target = begin
    hessian = (rows / scale).T @ (rows / scale) + problem.curvature(theta) / scale[:, None] / scale
    last, size = np.inf, float(np.linalg.norm(theta * scale))
    for _ in range(POLISH_STEPS):
        move = -symmetric_solve(hessian, rows.T @ target / scale) / scale
        length = float(np.linalg.norm(move * scale))
        if not length < 0.5 * last or float(np.abs(move).max()) > 1e-2:
            break
        theta, last = theta + move, length
        if length <= 1e-11 * size:  # each step gains three digits and more: the next one would be rounding
            break
        rows, target = problem.rows(theta)
    return theta, last <= 1e-9 * size


def _bounded(move: FloatArray) -> FloatArray:
    """No exponent moves by more than 5 at once: e^5 is far enough, and beyond, numbers overflow."""
    largest = float(np.abs(move).max(initial=0.0))
    return move if largest <= 5 or not np.isfinite(largest) else move * (5 / largest)
