"""The problem of one fit: compressed data, the map to possible parameters and the prior; its search and its noise.

The prior is what was believed before, how strongly it pulls, and how far off its author admits it may be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache, partial
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from palpate.errors import NotConsistent, PalpateError
from palpate.physics import inertia
from palpate.physics.arrays import BoolArray, FloatArray, least_squares, solve_columns, stacked_solve, triangular
from palpate.physics.maps import Body, LogCholesky, Map

DEFAULT_SPREAD = 0.3
Form = Literal["theta", "divergence"]
Share = TypeVar("Share", float, FloatArray)


MOST_STEPS = 200
NEAR, NEAREST = 1e-5, 1e-10
"""A step that gains less of the cost lets Newton's method try, or is in the last, quadratic valley for sure."""


@dataclass(frozen=True, slots=True)
class Prior:
    """Physical values by parameter name, for whole inertias or single parameters; what is not named has no prior.

    `spread`: the fraction by which the values may be off. `damping`: the paper's lambda (eq. optimization), None for
    automatic. `form`: "theta" pulls as the paper does, lambda^2 |theta - theta_prior|^2, which depends on the factor
    convention and the frame; "divergence" by the log-det divergence of the pseudo-inertias, which depends on neither.
    `besides`: the inertia that the values hold besides the model's body (handles; negative: what they lack). Values and
    spread are of the sum, and so is what they pull: a fraction of a whole may be all of a part.
    """

    values: Mapping[str, float]
    spread: float = DEFAULT_SPREAD
    damping: float | None = None
    form: Form = "theta"
    besides: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True, eq=False)
class PulledBody:
    """A body that is pulled not in its theta, but by the divergence, or together with what is besides it."""

    body: Body
    sum_map: LogCholesky
    """Of body and `besides` together."""
    phi: FloatArray
    """The prior, of both together."""
    besides: FloatArray
    spread: FloatArray
    """(10, 10): times its transpose, the covariance of phi."""
    form: Form

    def value(self, theta: FloatArray) -> float:
        """Twice the divergence, which near the prior is |E|^2, or |theta - prior|^2; infinite of impossible bodies."""
        phi = self.body[0].forward(theta[self.body[2]]) + self.besides
        if not inertia.is_consistent(phi):
            return float("inf")
        if self.form == "divergence":
            return 2 * inertia.log_det_divergence(phi, inertia.pseudo_inertia(self.phi))
        return float(np.sum(self._rows(phi)[1] ** 2))

    def rows(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """F (rows, 10) and b with F'b half the slope of the value along phi, and F'F about half its curvature."""
        return self._rows(self.body[0].forward(theta[self.body[2]]) + self.besides)

    def leverage(self, theta: FloatArray) -> FloatArray:
        """(theta, 10): how half the slope of the value changes when the prior is off by its spread."""
        map_, _, ts = self.body
        there = self._rows(self.phi)[0]
        here = there if self.form == "divergence" else self.rows(theta)[0]
        out = np.zeros((len(theta), 10))
        out[ts] = (here @ map_.jacobian(theta[ts])).T @ there @ self.spread
        return out

    def _rows(self, phi: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.form == "divergence":
            return inertia.divergence_rows(phi, inertia.pseudo_inertia(self.phi))
        theta = self.sum_map.inverse(phi)
        inverse = solve_columns(self.sum_map.jacobian(theta), np.eye(10))
        return inverse, theta - self.sum_map.inverse(self.phi)


@dataclass(frozen=True, slots=True, eq=False)
class Penalty:
    """The prior in the solver's coordinates, per unit of lambda^2."""

    map_: Map
    theta: FloatArray
    """Where it pulls to (0 where it does not pull); a possible body near by where it pulls to an impossible one."""
    damped: NDArray[np.bool_]
    before: FloatArray
    """(parameters,): the prior's values."""
    spread: FloatArray
    """(parameters, directions): times its transpose, the covariance of the values that the declared spread means."""
    root: FloatArray
    """The same of what is pulled in theta itself: (theta, directions)."""
    bodies: tuple[PulledBody, ...]
    smooth: FloatArray
    """(rows, theta): what is pulled to zero by priors of smoothness."""
    straight: FloatArray
    """(rows, theta): of what is pulled in theta itself, and by smoothness ..."""
    towards: FloatArray
    """... and where that is pulled to, (rows,)."""

    def value(self, theta: FloatArray) -> float:
        """The penalty: |theta - prior|^2, and what bodies add to it that are not pulled in theta."""
        off = self.straight @ theta - self.towards
        return float(off @ off) + sum(pulled.value(theta) for pulled in self.bodies)

    def rows(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A and b with value(theta + d) = |A d + b|^2 + constant to second order: rows for a least-squares step."""
        blocks, b = [self.straight], [self.straight @ theta - self.towards]
        for pulled in self.bodies:
            map_, _, ts = pulled.body
            F, target = pulled.rows(theta)
            block = np.zeros((len(F), len(theta)))
            block[:, ts] = F @ map_.jacobian(theta[ts])
            blocks.append(block)
            b.append(target)
        return (np.concatenate(blocks), np.concatenate(b)) if self.bodies else (blocks[0], b[0])

    def slope(self, theta: FloatArray) -> FloatArray:
        """Half the derivative of the part that is a function of p, with respect to p."""
        slope = np.zeros(len(self.map_.values))
        for pulled in self.bodies:
            F, target = pulled.rows(theta)
            slope[pulled.body[1]] = F.T @ target
        return slope

    def leverage(self, theta: FloatArray) -> FloatArray:
        """(theta, directions): how half the penalty's slope changes when the prior is off by its spread."""
        plain = self.straight.T @ (self.straight @ self.root)
        return np.concatenate([plain, *(pulled.leverage(theta) for pulled in self.bodies)], axis=1)


def build_penalty(
    prior: Prior | None, names: tuple[str, ...], map_: Map, roughness: FloatArray | None = None
) -> Penalty:
    """Express a prior in theta; refuses an inertia that is not physically consistent.

    roughness (rows, parameters): of parameters that are their own theta, expected to be zero with standard deviation
    one (`Model.roughness`).
    """
    n = map_.size_theta
    theta, damped, root = np.zeros(n), np.zeros(n, dtype=bool), np.zeros((n, n))
    if prior is None:
        nothing = np.zeros((0, n))
        before, spread = map_.forward(theta), np.zeros((len(map_.values), n))
        return Penalty(map_, theta, damped, before, spread, root, (), nothing, nothing, np.zeros(0))
    given = np.array([prior.values.get(name, np.nan) for name in names])
    known = np.isfinite(given[map_.simple])
    at, value, positive = map_.at[known], given[map_.simple][known], map_.positive[known]
    if (value[positive] <= 0).any():
        raise PalpateError(f"a positive parameter cannot be {value[positive].min():.6g}")
    theta[at], damped[at] = np.where(positive, np.log(np.where(positive, value, 1.0)), value), True
    root[at, at] = prior.spread * np.where(positive, 1.0, np.abs(value))
    bodies, drawn = list[PulledBody](), list[tuple[slice, FloatArray, FloatArray]]()
    for one in map_.bodies:
        body, ps, ts = one
        stated, besides = given[ps], np.array([prior.besides.get(name, 0.0) for name in names[ps]])
        if not np.isfinite(stated).all():
            continue
        inertia.check_consistent(stated, "prior")
        mass = None if body.known_mass is None else body.known_mass + float(besides[0])
        phi = stated if mass is None else stated * (mass / stated[0])
        rest = phi - besides
        off = inertia.relative_spread(phi, prior.spread, mass_known=mass is not None)
        theta[ts], damped[ts] = body.inverse(rest if inertia.is_consistent(rest) else body.nearest(rest)), True
        drawn.append((ps, rest, off))
        if prior.form == "divergence" or besides.any():
            bodies.append(PulledBody(one, replace(body, known_mass=mass), phi, besides, off, prior.form))
        else:
            root[ts, ts] = triangular(solve_columns(body.jacobian(theta[ts]), off).T).T
    smooth = np.zeros((0, n))
    if roughness is not None and len(roughness):
        smooth = prior.spread * roughness @ map_.jacobian(theta)
        root = np.asarray(np.hstack([root, prior.spread * np.linalg.pinv(smooth)]), dtype=float)
    before, slopes = map_.both(theta)
    spread = np.hstack([slopes @ root, np.zeros((len(before), 10))])
    for ps, rest, off in drawn:
        before[ps], spread[ps, :-10], spread[ps, -10:] = rest, 0.0, off
    plain = damped.copy()
    for pulled in bodies:
        plain[pulled.body[2]] = False
    straight = np.concatenate([np.eye(n)[plain], smooth])
    towards = np.concatenate([theta[plain], np.zeros(len(smooth))])
    return Penalty(map_, theta, damped, before, spread, root, tuple(bodies), smooth, straight, towards)


class Ending(Enum):
    """Why the search stopped; the value tells what to do."""

    CONVERGED = "converged"
    EDGE = (
        "the data imply a body that cannot exist (a mass or an inertia at or below zero): look for a wrong sign, "
        "unit, axis or frame first; else the motion excites too little"
    )
    FLAT = (
        "a body without thickness in some direction fits the data as well as one with: intervals allow for it, but "
        "give a prior, or excite the object more"
    )
    SLOW = (
        f"not converged after {MOST_STEPS} steps: the data leave a direction open; give a prior, "
        "or excite the object more"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Minimum:
    """Where the search ended, at which cost (weighted sum of squares with the prior's term), after how many steps."""

    theta: FloatArray
    cost: float
    steps: int
    ending: Ending


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """|R [-p(theta); 1]|^2 + damping^2 penalty(theta) (paper, eq. optimization), R the factor of weighted [Y | y]."""

    R: FloatArray
    map_: Map
    penalty: Penalty
    damping: float
    negligible: float = 0.0
    """A fall of the cost that means nothing beside the noise of the data."""

    def with_damping(self, damping: float) -> Problem:
        """The same with another lambda."""
        return replace(self, damping=damping)

    def cost(self, theta: FloatArray, b: FloatArray | None = None) -> float:
        """The value to be minimised; infinite where numbers overflow. b: of `rows` there, where that is known."""
        if b is not None and not (self.damping > 0 and self.penalty.bodies):
            cost = float(b @ b)
            return cost if np.isfinite(cost) else float("inf")
        with np.errstate(over="ignore", invalid="ignore"):
            r = self.R[:, :-1] @ self.map_.forward(theta) - self.R[:, -1]
            cost = float(r @ r)
            if self.damping > 0:
                cost += self.damping**2 * self.penalty.value(theta)
        return cost if np.isfinite(cost) else float("inf")

    def rows(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A and b with cost(theta + d) = |A d + b|^2 + constant to first order in A: J'b is half the gradient."""
        p, P = self.map_.both(theta)
        A, b = self.R[:, :-1] @ P, self.R[:, :-1] @ p - self.R[:, -1]
        if self.damping == 0:
            return A, b
        pull, target = self.prior_rows(theta)
        return np.concatenate([A, pull]), np.concatenate([b, target])

    def prior_rows(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Those of `rows` that are the prior's: none without damping."""
        if self.damping == 0:
            return np.zeros((0, len(theta))), np.zeros(0)
        A, b = self.penalty.rows(theta)
        return self.damping * A, self.damping * b

    def curvature(self, theta: FloatArray) -> FloatArray:
        """What Gauss-Newton leaves out of half the Hessian: sum_k slope_k d2 p_k / d theta2."""
        b = self.R[:, :-1] @ self.map_.forward(theta) - self.R[:, -1]
        slope = b @ self.R[:, :-1]
        if self.damping > 0:
            slope = slope + self.damping**2 * self.penalty.slope(theta)
        return self.map_.curvature(theta, slope)


def search(problem: Problem, start: FloatArray, *, polish: bool = True) -> Minimum:
    """Minimise the cost from a start; where the way leads to a body too thin for arithmetic, the start at the edge."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # of a step too far, whose cost is then infinite
            return _search(problem, start, polish=polish)
    except (np.linalg.LinAlgError, NotConsistent):
        return Minimum(_last_possible(problem.map_, start), problem.cost(start), 0, Ending.EDGE)


def _search(problem: Problem, start: FloatArray, *, polish: bool) -> Minimum:
    """Minimise the cost from a start.

    Levenberg-Marquardt with the step from QR of the stacked rows, never from A'A; mu follows Nielsen (1999). Undamped
    linear directions (bias) take full Gauss-Newton steps and are exact after one.
    """
    theta, mu, nu, idle = start, 1e-8, 2.0, 0
    rows = problem.rows(theta)
    cost = problem.cost(theta, rows[1])
    for step in range(1, MOST_STEPS + 1):
        slopes, b = rows
        squares = np.einsum("ij,ij->j", slopes, slopes)
        least = 1e-24 * squares.sum()
        # a positive parameter on its way to zero has no slope left: it must not shorten the step of all others
        A = np.where(squares > least, slopes, 0.0)
        scale = np.sqrt(np.maximum(squares, least))
        move = stacked_solve(A / scale, np.sqrt(mu), -b) / scale
        if 5 < (largest := float(np.abs(move).max(initial=0.0))) < np.inf:
            move = move * (5 / largest)  # of an exponent e^5 is far enough, and beyond, numbers overflow
        expected = float(b @ b - np.sum((b + A @ move) ** 2))
        if expected <= (NEAR if polish else NEAREST) * cost:
            end, settled = _polish(problem, theta, rows, scale) if polish else (theta + move, True)
            least = problem.cost(end)
            if (settled and least <= cost) or expected <= NEAREST * cost:
                if not _possible(problem.map_, end):
                    return Minimum(_last_possible(problem.map_, end), cost, step, Ending.EDGE)
                return Minimum(end, least, step, Ending.CONVERGED)
        # the edge of possible bodies is at infinite theta: a search for a thin one would never end
        idle = idle + 1 if expected <= problem.negligible else 0
        if idle > 6:  # of which none changed anything
            return Minimum(_last_possible(problem.map_, theta), cost, step, Ending.FLAT)
        there = problem.rows(theta + move)
        trial = problem.cost(theta + move, there[1])
        gain = (cost - trial) / expected
        if gain > 0:
            last, theta, cost = theta, theta + move, trial
            if step % 10 == 0 and not _possible(problem.map_, theta):
                return Minimum(_last_possible(problem.map_, last), cost, step, Ending.EDGE)
            rows = there
            mu, nu = max(1e-15, mu * max(1 / 10, 1 - (2 * gain - 1) ** 3)), 2.0
        else:
            mu, nu = mu * nu, 2 * nu
    return Minimum(_last_possible(problem.map_, theta), cost, MOST_STEPS, Ending.SLOW)


def _possible(map_: Map, theta: FloatArray) -> bool:
    """Whether these parameters still differ from impossible ones; the edge itself is at infinite theta."""
    p = map_.forward(theta)
    try:
        map_.inverse(p)
    except PalpateError:
        return False
    return bool(np.isfinite(p).all())


def _last_possible(map_: Map, theta: FloatArray) -> FloatArray:
    """theta itself, or possible parameters beside it where rounding makes it impossible."""
    return theta if _possible(map_, theta) else map_.inverse(map_.nearest(map_.forward(theta)))


def unconstrained(R: FloatArray) -> FloatArray:
    """Plain least squares on the weighted factor of [Y | y]; zero where the motion never touches a column."""
    X, y = R[:, :-1], R[:, -1]
    scale = np.linalg.norm(X, axis=0)
    scale[scale == 0] = 1.0
    return least_squares(X / scale, y, rcond=1e-10) / scale


def possible_fit(R: FloatArray, map_: Map, gap: float) -> tuple[FloatArray, FloatArray]:
    """Possible parameters that minimise |R [-p; 1]|^2, and those that do among possible and impossible bodies.

    Bodies are possible where their pseudo-inertias are positive definite, and in p that is a convex problem: Newton's
    method with a barrier that is taken back tenfold at a time (Boyd & Vandenberghe 2004, section 11.3), here the
    log-det divergence from a possible body near by. It ends inside, where the barrier still costs about `gap`.
    """
    free, p = ~map_.fixed, map_.values.copy()
    for body, ps, _ in map_.bodies:
        p[ps.start] = np.nan if body.known_mass is None else body.known_mass
    X, y = R[:, :-1][:, free], R[:, -1] - R[:, :-1][:, ~free] @ p[~free]
    p[free] = unconstrained(np.column_stack([X, y]))
    plain, near, positive = p.copy(), map_.nearest(p), map_.simple[map_.positive]
    if all(inertia.is_consistent(p[ps]) for _, ps, _ in map_.bodies):
        for _, ps, _ in map_.bodies:
            near[ps] = p[ps]
        return near, plain
    p, barrier = near, max(float(np.sum((X @ (near - plain)[free]) ** 2)), gap)
    for _ in range(MOST_STEPS):
        blocks, b = [np.zeros((len(positive), len(p)))], [p[positive] / near[positive] - 1]
        blocks[0][np.arange(len(positive)), positive] = 1 / p[positive]
        for _, ps, _ in map_.bodies:
            block, target = inertia.divergence_rows(p[ps], inertia.pseudo_inertia(near[ps]))
            blocks.append(np.zeros((16, len(p))))
            blocks[-1][:, ps] = block
            b.append(target)
        F, root = np.concatenate(blocks)[:, free], np.sqrt(barrier)
        A, left = np.concatenate([X, root * F]), np.concatenate([X @ p[free] - y, root * np.concatenate(b)])
        scale = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        move = -least_squares(A / scale, left) / scale
        length = float(np.linalg.norm(F @ move))  # below one the next body is possible too
        after = p.copy()
        after[free] += move * min(1.0, 0.9 / max(length, 1e-300))
        if not all(inertia.is_consistent(after[ps]) for _, ps, _ in map_.bodies):
            break
        p = after
        if length < (0.1 if barrier > gap else 1e-6):
            if barrier <= gap:
                break
            barrier = max(barrier / 10, gap)
    return p, plain


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
    for _ in range(12):
        move = -solve_columns(hessian, rows.T @ target / scale) / scale
        length = float(np.linalg.norm(move * scale))
        if not length < 0.5 * last or float(np.abs(move).max()) > 1e-2:
            break
        theta, last = theta + move, length
        if length <= 1e-11 * size:  # each step gains three digits and more: the next one would be rounding
            break
        rows, target = problem.rows(theta)
    return theta, last <= 1e-9 * size


LAGS = 8
"""Neighbouring pieces whose scores may still be correlated, at least; more where they show it."""
MANY = 15
"""Pieces that tell about a quantity, from which on their scatter alone is its noise."""
FEWEST = 10
"""Pieces beyond the number of parameters without which the scatter says nothing about noise."""
KAPPA_LIMIT = 100.0
"""Below, parameters count as identifiable (paper, eq. kappa; Schroer 1993)."""
NO_LENGTH = 1e-12
"""Length of a column that rounding alone explains, over that of all."""
UNTOLD = 1e12
"""Variance of what the data leave open, in units of columns of length one."""


@dataclass(frozen=True, slots=True, eq=False)
class Uncertainty:
    """Covariances in whitened coordinates, and what each part of the information weighs."""

    whiten: FloatArray
    """T^-1, (theta, directions that something is known of): a gradient times this is one in u."""
    influence: FloatArray
    """(pieces, directions): what each piece pulls u by."""
    known: Callable[[FloatArray], FloatArray]
    """(directions, n) of u -> (pieces, n): what each piece knows along them; together one, but for the prior."""
    noise: FloatArray
    """Covariance of u from the residuals, correlated as they are, ..."""
    lags: int
    """... over so many neighbours."""
    pull: FloatArray
    """(directions, those of the prior): what a prior off by its spread does to u, a root of the covariance."""
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
    """Of a weighted residual as if independent: standard deviation of the noise where the prior pulls, or in all."""

    def of(self, gradients: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.bool_]]:
        """For quantities with these gradients (n, theta): std from noise, from pull, share from data, whether open."""
        g = gradients @ self.whiten
        noise = self._noise_of(g)
        pull = np.linalg.norm(g @ self.pull, axis=1)
        total = np.sum(g**2, axis=1)
        share = np.sum((g @ self.from_data.T) ** 2, axis=1) / np.where(total > 0, total, np.inf)
        scaled = gradients / self.scale
        lengths = np.maximum(np.linalg.norm(scaled, axis=1), 1e-300)
        is_open = np.linalg.norm(scaled @ self.open_directions, axis=1) > 1e-3 * lengths
        return noise, pull, np.minimum(share, 1.0), is_open

    def _noise_of(self, g: FloatArray) -> FloatArray:
        """Standard deviations of quantities with gradients (n, directions) in u, such that `critical` holds for each.

        Noise so slow that Bartlett's weights miss a part of it is taken out by a first-order autoregression first
        (Andrews & Monahan 1992). What only few pieces tell about (a zone visited once) has its own number of degrees
        of freedom (as Bell & McCaffrey 2002), and its scatter is drawn towards that of all directions.
        """
        pulls = self.influence @ g.T
        memory = _memory(pulls)
        fresh = bartlett(pulls[1:] - memory * pulls[:-1], self.lags) / (1 - memory) ** 2
        square = np.maximum(np.einsum("ij,jk,ik->i", g, self.noise, g), fresh)
        shares = self.known(g.T)
        shares = shares / np.maximum(shares.sum(axis=0), 1e-300)
        pieces = 1 / np.maximum(np.sum(shares**2, axis=0), 1 / max(1, len(shares)))
        few = np.maximum(0.0, 1 - pieces / MANY)
        mean = np.sum(g**2, axis=1) * (np.trace(self.noise) / max(1, len(self.noise)))
        square = np.maximum(square, square + few * (mean - square))
        critical = critical_value(np.clip(bartlett(shares, self.lags), (self.lags + 1) / max(1, len(shares)), 1.0))
        return np.sqrt(square) * critical / self.critical


Information = Callable[[FloatArray], FloatArray]
"""Y'Y of each piece along columns v of the parameters: (parameters, n) -> (pieces, n), each v' Y'Y v."""


def _whitened(information: Information, P: FloatArray, directions: FloatArray) -> FloatArray:
    return information(P @ directions)


def uncertainty(scores: FloatArray, information: Information, problem: Problem, theta: FloatArray) -> Uncertainty:
    """Sandwich covariance over pieces (Huber; White 1980; as clusters: Liang & Zeger 1986), and the prior's pull.

    scores: Y'(y - Y p) of each piece (pieces, parameters); information: its Y'Y, asked only where needed. Residuals of
    neighbouring samples are correlated; sums over pieces much longer than the correlation are not, and their scatter is
    the noise of the estimate. Everything is expressed in whitened coordinates u = T theta, where T'T is what the fit
    knows:
    M = [J; lambda A] = Q T. From M itself, never from M'M: near the edge of possible bodies theta is so badly scaled
    that M'M would have lost all digits.
    """
    P = problem.map_.jacobian(theta)
    J = problem.R[:, :-1] @ P
    M = np.concatenate([J, problem.prior_rows(theta)[0]])
    scale, Q, s, Vt, known = _decomposed(M)
    whiten = Vt[known].T / s[known] / scale[:, None]
    influence = scores @ (P @ whiten)
    noise, lags = long_run(influence)
    noise = noise * (len(scores) / max(1, len(scores) - 1))
    others = s[known, None] * Vt[known][:, ~problem.penalty.damped] * scale[~problem.penalty.damped]
    return Uncertainty(
        whiten=whiten,
        influence=influence - influence.mean(axis=0),
        known=partial(_whitened, information, P @ whiten),
        noise=noise,
        lags=lags,
        pull=problem.damping**2 * whiten.T @ problem.penalty.leverage(theta),
        from_data=Q[: len(J), known],
        open_directions=Vt[~known].T,
        scale=scale,
        critical=critical_value((lags + 1) / max(1, len(scores))),
        enough=len(scores) >= P.shape[1] + FEWEST,
        level=_level(noise, others if problem.penalty.damped.any() else others[:, :0]),
    )


def free_covariance(scores: FloatArray, R: FloatArray) -> FloatArray:
    """The sandwich covariance of an unconstrained fit of p to the factor R of [Y | y], (parameters, parameters)."""
    scale, _, s, Vt, known = _decomposed(R[:, :-1])
    whiten = Vt[known].T / s[known] / scale[:, None]
    return whiten @ long_run(scores @ whiten)[0] @ whiten.T


def untold(R: FloatArray) -> FloatArray:
    """A covariance of p, as good as infinite along the directions that the factor R of [Y | y] leaves open."""
    scale, _, _, Vt, known = _decomposed(R[:, :-1])
    directions = Vt[~known] / np.where(scale > 1e-100, scale, 1.0)
    return UNTOLD * directions.T @ directions


def _decomposed(M: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, BoolArray]:
    """Lengths of the columns, U, s and V' of M with columns of length one, and which directions are not open."""
    squares = np.einsum("ij,ij->j", M, M)
    # what no row shows: of length one, its rounding would look like knowledge
    scale = np.sqrt(np.maximum(squares, max(NO_LENGTH**2 * float(squares.sum()), 1e-300)))
    Q, s, Vt = np.linalg.svd(M / scale, full_matrices=False)
    return scale, Q, s, Vt, s > 1e-7 * s[0]  # below, a direction is open: nothing says anything about it


def critical_value(b: Share) -> Share:
    """The 97.5 % quantile of an estimate over its standard deviation, where that comes from Bartlett weights over the
    share b of all pieces (Kiefer & Vogelsang 2005, Econometric Theory 21:1130, table 1).
    """
    return 1.96 + 2.9694 * b + 0.4160 * b**2 - 0.5324 * b**3


def long_run(influence: FloatArray) -> tuple[FloatArray, int]:
    """Covariance of the sum of (pieces, k), Bartlett weights (Newey & West 1987), and how far neighbours matter."""
    influence = influence - influence.mean(axis=0)
    lags = _lags(influence)
    return influence.T @ _neighbours(len(influence), lags) @ influence, lags


def bartlett(x: FloatArray, lags: int) -> FloatArray:
    """(k,): the diagonal of `long_run`'s covariance, of (pieces, k) with a mean of zero."""
    return np.asarray((x * (_neighbours(len(x), lags) @ x)).sum(axis=0), dtype=float)


@lru_cache(maxsize=8)
def _neighbours(pieces: int, lags: int) -> FloatArray:
    """(pieces, pieces): Bartlett's weights of each pair."""
    apart = np.abs(np.subtract.outer(np.arange(pieces), np.arange(pieces)))
    return np.maximum(1 - apart / (lags + 1), 0.0)


def _level(noise: FloatArray, others: FloatArray) -> float:
    """Mean noise of the directions that are left when the others (columns, in u) are free."""
    directions = len(noise) - others.shape[1]
    if others.shape[1] == 0 or directions <= 0:
        return float(np.sqrt(np.trace(noise) / max(1, len(noise))))
    basis = np.linalg.qr(others)[0]
    return float(np.sqrt(max(np.trace(noise) - np.trace(basis.T @ noise @ basis), 0.0) / directions))


def _memory(x: FloatArray) -> FloatArray:
    """(k,): the correlation of neighbours in (pieces, k) with a mean of zero, freed of its bias (Kendall 1954)."""
    n = len(x)
    r = np.sum(x[1:] * x[:-1], axis=0) / np.maximum(np.sum(x**2, axis=0), 1e-300)
    return np.clip((n * r + 1) / max(n - 3, 1), 0.0, 0.95)  # beyond, noise cannot be told from drift


def _lags(influence: FloatArray) -> int:
    """The best window for a first-order autoregression of each score (Andrews 1991, eqs. 6.2 and 6.4 for Bartlett)."""
    n, k = influence.shape
    if n < 2 or k == 0:
        return 0
    memory = _memory(influence)
    fresh = (np.sum(influence**2, axis=0) * (1 - memory**2)) ** 2
    above = np.sum(4 * memory**2 * fresh / ((1 - memory) ** 6 * (1 + memory) ** 2))
    alpha = above / max(float(np.sum(fresh / (1 - memory) ** 4)), 1e-300)
    return min(max(LAGS, round(1.1447 * (n * alpha) ** (1 / 3)) - 1), max(1, n // 5))


@dataclass(frozen=True, slots=True)
class Conditioning:
    """Condition numbers at the solution."""

    kappa: float
    """Of the data alone."""
    kappa_eff: float
    """With the prior's damping."""
    kappa_eff_paper: float
    """As the authors compute it (FORMATS, erratum 8): lambda added to every direction of theta, damped or not."""


def conditioning(problem: Problem, theta: FloatArray) -> Conditioning:
    """Condition numbers of the weighted Jacobian in relative changes of a body, columns of length one.

    Undamped columns (bias, friction) are projected out first. In theta the same numbers would depend on the factor
    convention and the frame, and be hundreds of times larger for a thin body although its mass and inertia are known
    to four digits.
    """
    damping, s = problem.damping, np.linalg.svd(problem.R[:, :-1] @ problem.map_.jacobian(theta), compute_uv=False)
    paper = np.hypot(s[0], damping) / max(np.hypot(s[-1], damping), 1e-300)
    columns, with_prior = _relative_columns(problem, theta)
    return Conditioning(_scaled_condition(columns), _scaled_condition(with_prior), float(paper))


def damped_condition(problem: Problem, theta: FloatArray) -> float:
    """`kappa_eff` alone."""
    return _scaled_condition(_relative_columns(problem, theta)[1])


def _relative_columns(problem: Problem, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The Jacobian of `conditioning`, and the same with the prior's rows."""
    map_, R, damping = problem.map_, problem.R, problem.damping
    p, P = map_.both(theta)
    natural = map_.natural(p)
    columns, use = R[:, :-1] @ natural, problem.penalty.damped
    if not use.any():  # those that cannot be negative: powers of a spring depend on each other, whatever the motion
        use = np.zeros(map_.size_theta, dtype=bool)
        use[map_.at] = map_.positive
    if use.any() and not use.all():
        others, columns = columns[:, ~use], columns[:, use]
        sizes = np.linalg.norm(others, axis=0)  # a column of nothing, which no motion shows, has no direction
        basis = np.linalg.qr(others[:, sizes > 1e-12 * sizes.max()])[0]
        columns = columns - basis @ (basis.T @ columns)
    if not (damping > 0 and problem.penalty.damped.any()):
        return columns, columns
    pull = problem.penalty.rows(theta)[0] @ solve_columns(P, natural)
    return columns, np.concatenate([columns, damping * pull[:, problem.penalty.damped]])


def _scaled_condition(X: FloatArray) -> float:
    norms = np.linalg.norm(X, axis=0)
    if not (norms > 0).all():
        return float("inf")
    s = np.linalg.svd(X / norms, compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 1e-13 * s[0] else float("inf")
