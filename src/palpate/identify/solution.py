"""Solving a compressed balance: parameters with their uncertainty, conditioning and misfit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from palpate.errors import DataProblem, PalpateError
from palpate.findings import Finding, Severity
from palpate.identify.balance import Compressed
from palpate.identify.problem import (
    KAPPA_LIMIT,
    Conditioning,
    Ending,
    Minimum,
    Penalty,
    Prior,
    Problem,
    Uncertainty,
    build_penalty,
    conditioning,
    damped_condition,
    free_covariance,
    possible_fit,
    search,
    uncertainty,
    unconstrained,
    untold,
)
from palpate.model import Model
from palpate.physics import inertia
from palpate.physics.arrays import FloatArray
from palpate.physics.maps import Factor, Map
from palpate.physics.units import unit_text
from palpate.tables import Table, data_frame, html, plain, table

VAGUE = 0.5
"""An interval that reaches this share of a body's own size to either side says nothing about it."""
NO_STEP = 0.03
"""A step that changes the sum of squares by less than the square of this many standard deviations changes nothing."""
GRID = np.logspace(-4, 4, 21)
"""Lambdas of the curve, which is a picture: between two of them nothing happens that the next does not show."""
CONTRADICTING = 3.0
"""Standard deviations of prior and data by which they must differ before they contradict each other."""
ROUND = 0.02
"""A symmetric drawing pretends to know its zeros exactly: nothing is known better than to this share of its kind."""
IMPOSSIBLE = 4.0
"""Standard deviations by which a number must be impossible before anything is accused."""
FLATTER = 0.1
"""A body may come out flatter than nothing by this share of its length, from small errors of geometry alone."""


class Status(Enum):
    """What stands behind a number."""

    IDENTIFIED = "identified"
    UNCERTAIN = "uncertain"
    """From data, but the interval is wide beside the value."""
    PRIOR_DOMINATED = "prior-dominated"
    FIXED = "fixed"
    NOT_IDENTIFIABLE = "not-identifiable"

    @property
    def closed(self) -> bool:
        """Whether an interval belongs to it."""
        return self in (Status.IDENTIFIED, Status.UNCERTAIN, Status.PRIOR_DOMINATED)


@dataclass(frozen=True, slots=True)
class Estimate:
    """One number of a result: value, unit, interval, and what stands behind it.

    `noise`, `pull`, `systematic` and `model` are standard deviations; the interval is the total of all four.
    """

    name: str
    value: float
    unit: str
    noise: float
    pull: float
    ci95: tuple[float, float] | None
    prior: float | None
    prior_std: float
    """What the prior's declared spread means for this quantity; 0 without a prior."""
    information_from_data: float
    status: Status
    systematic: float = 0.0
    """From declared errors of geometry, scale, clock and mass."""
    model: float = 0.0
    """What effects missing from the model would change."""
    attenuation: float = 0.0
    """What noise in the motion would have done to the value, had it not been taken out."""

    @property
    def moment(self) -> bool:
        """Whether it is a moment of inertia, which cannot be negative; products can."""
        return self.name.endswith(("Ixx", "Iyy", "Izz"))

    def wider(self, std: float, least: float = -np.inf) -> Estimate:
        """The same with an interval that holds a further standard deviation; least: of what cannot be less."""
        if self.ci95 is None:
            return self
        half = float(np.hypot(self.ci95[1] - self.value, 1.96 * std))
        return replace(self, ci95=(max(self.value - half, least), self.value + half))


def natural_size(phi: FloatArray) -> FloatArray:
    """Mass, radius of gyration (three times) and half the trace of the inertia (six times) about the centre of mass."""
    mass, _, I = inertia.mass_properties(phi)
    half_trace = float(np.trace(I)) / 2
    return np.repeat([mass, np.sqrt(max(half_trace, 0.0) / mass), half_trace], [1, 3, 6])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Solution:
    """The result of a fit: a model with values, each an `Estimate` with its interval. `print(solution)` shows a table.

    >>> import numpy as np
    >>> from palpate import build_balance, compress, load_object, solve
    >>> model, t = load_object("pendulum"), np.arange(3000) / 100
    >>> states = np.stack([np.sin(2 * t) + 0.3 * np.sin(5 * t), 2 * np.cos(2 * t) + 1.5 * np.cos(5 * t)], axis=1)
    >>> acceleration = -4 * np.sin(2 * t) - 7.5 * np.sin(5 * t)
    >>> motion = model.mechanism.motion(t, states, acceleration[:, None])
    >>> wrench = np.zeros((len(t), 6))
    >>> wrench[:, 5] = 0.2 * acceleration + 0.1 * states[:, 1] + 0.01 * np.random.default_rng(0).normal(size=len(t))
    >>> balance = build_balance(model, motion, wrench, sigma=[0.01])
    >>> solution = solve(compress(balance, [(0.0, 29.9)]))
    >>> solution.estimates[0].name, round(solution.estimates[0].value, 2), solution.estimates[0].unit
    ('I', 0.2, 'kg m2')
    """

    model: Model
    """With values; `model.of_object()` is what a robot loads."""
    estimates: tuple[Estimate, ...]
    theta: FloatArray
    problem: Problem
    uncertainty: Uncertainty
    conditioning: Conditioning
    ending: Ending
    steps: int
    impossible: tuple[Finding, ...]
    """What the data ask for and no object can have: a wrong sign, unit, axis or frame."""
    warnings: tuple[Finding, ...]

    @property
    def p(self) -> FloatArray:
        """The physical parameters in column order."""
        return self.model.p

    @property
    def damping(self) -> float:
        """Lambda."""
        return self.problem.damping

    def wider(self, part: Literal["systematic", "model"], stds: Mapping[str, float]) -> Solution:
        """With a further part (estimate -> standard deviation) of every interval."""
        positive = {name for name, p in self.model.parameters.items() if p.map == "positive"}
        estimates = (
            replace(e, **{part: stds[e.name]}).wider(stds[e.name], 0.0 if e.name in positive or e.moment else -np.inf)
            for e in self.estimates
        )
        return replace(self, estimates=tuple(estimates))

    def __getitem__(self, name: str) -> Estimate:
        """An estimate by name."""
        return {e.name: e for e in self.estimates}[name]

    def __repr__(self) -> str:
        """One line: print shows all."""
        shown = ", ".join(f"{e.name} = {e.value:.4g} {e.unit}" for e in self.estimates[:6])
        return f"<Solution of {self.model.name!r}: {shown}{', ...' if len(self.estimates) > 6 else ''}>"

    def __str__(self) -> str:
        """The estimates as a table, for `print`."""
        return plain(self._table())

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        return html(self._table())

    def to_dataframe(self, *, pandas: bool = False) -> Any:
        """A row for each estimate, as a Polars data frame (of pandas: where installed)."""
        entries = {e.name: asdict(e) | {"status": e.status.value} for e in self.estimates}
        return estimates_frame(entries, self.model.words, pandas=pandas)

    def _table(self) -> Table:
        words = self.model.words
        return table(
            {"parameter": e.name, "value": f"{e.value:.5g}"}
            | {"95 % interval": f"{e.ci95[0]:.5g} … {e.ci95[1]:.5g}" if e.ci95 else "-", "unit": unit_text(e.unit)}
            | {"from data": f"{e.information_from_data:.1%}", "status": e.status.value}
            | {"what it is": words.get(e.name, "")}
            for e in self.estimates
        )


def estimates_frame(entries: Mapping[str, Mapping[str, Any]], words: Mapping[str, str], *, pandas: bool = False) -> Any:
    """Estimates by name, as result.json has them, as a data frame."""
    columns: dict[str, Any] = {"parameter": list(entries), "words": [words.get(name, "") for name in entries]}
    columns |= {key: [e[key] for e in entries.values()] for key in ("value", "unit")}
    for end, key in enumerate(("low", "high")):
        columns[key] = [None if e["ci95"] is None else e["ci95"][end] for e in entries.values()]
    rest = ("noise", "pull", "systematic", "model", "prior", "information_from_data", "status")
    return data_frame(columns | {key: [e.get(key) for e in entries.values()] for key in rest}, pandas=pandas)


def solve(
    compressed: Compressed,
    *,
    prior: Prior | None = None,
    factor: Factor = "UtU",
    known_mass: float | None = None,
    fixed: Mapping[str, float] | None = None,
    start: FloatArray | None = None,
) -> Solution:
    """Weighted least squares with the prior's damping on theta and none on the bias (paper, eq. optimization).

    `factor` is the log-Cholesky convention in which theta, lambda and the prior's term are meant; known_mass in kg;
    `fixed` parameters keep their value. With `prior.damping` None, lambda is chosen (`solve_automatic`). `start`:
    theta of a fit to nearly the same data, from which the search restarts if it gets lost.
    """
    model = compressed.model
    prior, map_, penalty = _believed(model, prior, factor, known_mass, fixed)
    try:
        R = compressed.factor()
    except DataProblem:
        noisy = replace(compressed, noise=None)
        solution = solve(noisy, prior=prior, factor=factor, known_mass=known_mass, fixed=fixed)
        warning = Finding(
            "noise-in-motion",
            "in some direction the noise of the motion is larger than the motion itself and could not be taken out",
            remedy="move the object more in every direction",
        )
        return replace(solution, warnings=(*solution.warnings, warning))
    p_free = unconstrained(R)

    @cache
    def covariance() -> FloatArray:
        return free_covariance(compressed.scores(p_free), R)

    impossible = sign_problems(model, p_free, lambda: covariance() + untold(R))
    damping = 0.0 if prior is None or prior.damping is None else prior.damping
    level = _level(compressed, R)
    problem = Problem(R, map_, penalty, damping, negligible=(NO_STEP * level) ** 2)
    begin, beyond = starts(problem, p_free)
    if beyond is not None:  # no search in theta ends at the edge of possible bodies
        minimum = Minimum(begin[0], problem.cost(begin[0]), 0, Ending.EDGE if impossible else Ending.FLAT)
    elif prior is not None and prior.damping is None:
        problem, minimum = solve_automatic(problem, compressed, level, prior.spread, begin)
    else:
        minimum = _least(problem, begin, start)
    condition = conditioning(problem, minimum.theta)
    p = map_.forward(minimum.theta)
    unsure = uncertainty(compressed.scores(p), compressed.information, problem, minimum.theta)
    converged = minimum.ending in (Ending.CONVERGED, Ending.FLAT)
    estimates = _report(model, problem, minimum.theta, unsure, converged=converged)
    if minimum.ending is Ending.FLAT and not problem.damping:
        apart = np.zeros(len(p)) if beyond is None else beyond - p
        estimates = widened_at_the_edge(estimates, map_, p, apart, covariance(), unsure.critical)
    estimates = tuple(map(_told_from_zero, estimates))
    if compressed.noise is not None:
        estimates = _attenuated(estimates, model, problem, replace(compressed, noise=None), minimum.theta)
    return Solution(
        model=model.with_values(p),
        estimates=estimates,
        theta=minimum.theta,
        problem=problem,
        uncertainty=unsure,
        conditioning=condition,
        ending=minimum.ending,
        steps=minimum.steps,
        impossible=impossible,
        warnings=_warnings(minimum, condition, unsure, contradictions(map_, p_free, covariance, estimates)),
    )


class Believed(TypedDict, total=False):
    """What `solve` takes as known before."""

    prior: Prior | None
    factor: Factor
    known_mass: float | None
    fixed: Mapping[str, float] | None


def solve_values(
    compressed: Compressed, *, start: FloatArray | None = None, **believed: Unpack[Believed]
) -> dict[str, float]:
    """Estimate -> value of `solve`, for the many fits to nearly the same data of which nothing else is asked."""
    p, map_ = _solved(compressed, start, believed)
    return dict(zip(_drawn_names(compressed.model, map_)[0], drawn_values(map_, p).tolist(), strict=True))


def solve_p(compressed: Compressed, *, start: FloatArray | None = None, **believed: Unpack[Believed]) -> FloatArray:
    """The parameters of `solve` alone, in column order."""
    return _solved(compressed, start, believed)[0]


def _solved(compressed: Compressed, start: FloatArray | None, believed: Believed) -> tuple[FloatArray, Map]:
    """The parameters of `solve`, and the map to them."""
    prior, map_, penalty = _believed(compressed.model, **believed)
    if prior is not None and prior.damping is None:  # which a fit without its intervals cannot choose
        return solve(compressed, start=start, **believed).p, map_
    R = _factor(compressed)
    damping = 0.0 if prior is None or prior.damping is None else prior.damping
    problem = Problem(R, map_, penalty, damping, negligible=(NO_STEP * _level(compressed, R)) ** 2)
    theta = None
    if start is not None and damping > 0 and len(start) == len(penalty.theta):
        near = search(problem, start)
        theta = near.theta if near.ending is Ending.CONVERGED else None
    if theta is None:
        begin, beyond = starts(problem, unconstrained(R))
        theta = begin[0] if beyond is not None else _least(problem, begin, start).theta
    return map_.forward(theta), map_


def _believed(
    model: Model,
    prior: Prior | None = None,
    factor: Factor = "UtU",
    known_mass: float | None = None,
    fixed: Mapping[str, float] | None = None,
) -> tuple[Prior | None, Map, Penalty]:
    """The prior, with roughness where nothing else is believed; the map to parameters; and the penalty."""
    names = tuple(model.parameters)
    map_ = model.map(factor=factor, known_mass=known_mass, fixed=fixed)
    unknown = [] if prior is None else [n for n in prior.values if n not in names]
    if unknown:
        raise PalpateError(f"prior: {', '.join(unknown)}: no such parameter. There is: {', '.join(names)}")
    roughness = model.roughness()
    if len(roughness) and prior is None:
        prior = Prior({}, spread=1.0)
    return prior, map_, build_penalty(prior, names, map_, roughness)


def _factor(compressed: Compressed) -> FloatArray:
    """Its factor, with the motion's noise left in where it cannot be taken out (as `solve` does, which says so)."""
    try:
        return compressed.factor()
    except DataProblem:
        return replace(compressed, noise=None).factor()


def _level(compressed: Compressed, R: FloatArray) -> float:
    """RMS of a weighted residual that no parameters explain."""
    return abs(float(R[-1, -1])) / np.sqrt(float(compressed.samples.sum()) * len(compressed.weights))


def _least(problem: Problem, begin: list[FloatArray], start: FloatArray | None) -> Minimum:
    """From the best of some starts, and where that is lost, from the one that is nearly known."""
    minimum = search(problem, min(begin, key=problem.cost))
    lost = minimum.ending not in (Ending.CONVERGED, Ending.FLAT)
    if lost and start is not None and start.shape == begin[0].shape:
        minimum = min(minimum, search(problem, start), key=lambda one: problem.cost(one.theta))
    return minimum


def _drawn_names(model: Model, map_: Map) -> tuple[list[str], list[str]]:
    """Names and units of the estimates: of bodies those of a drawing."""
    names, units = list(model.parameters), [q.unit for q in model.parameters.values()]
    for _, ps, _ in map_.bodies:
        prefix = names[ps.start].removesuffix("m")  # "" or the element's name and a dot
        names[ps], units[ps] = [prefix + n for n in inertia.DRAWING_NAMES], list(inertia.DRAWING_UNITS)
    return names, units


def _report(
    model: Model, problem: Problem, theta: FloatArray, unsure: Uncertainty, *, converged: bool
) -> tuple[Estimate, ...]:
    """Estimates in the words of a drawing: mass, centre of mass, inertia; then everything else as it is.

    The pull is what a prior does that is off by its declared spread, or what half the lambda changes if that is more.
    Identified means more than 99 % from data and a pull below half a standard deviation (Design, Uncertainty). Where
    the search did not converge or pieces are too few to know the noise, nothing is identified.
    """
    map_, penalty = problem.map_, problem.penalty
    p, P = map_.forward(theta), map_.jacobian(theta)
    halved = np.zeros(len(p))
    if problem.damping > 0 and penalty.damped.any():
        weaker = search(problem.with_damping(problem.damping / 2), theta)
        halved = np.abs(drawn_values(map_, map_.forward(weaker.theta)) - drawn_values(map_, p))
    before, spread = penalty.before.copy(), penalty.spread.copy()
    names, units = _drawn_names(model, map_)
    has_prior, size = np.zeros(len(p), dtype=bool), np.full(len(p), np.inf)
    has_prior[map_.simple] = penalty.damped[map_.at]
    for _, ps, ts in map_.bodies:
        has_prior[ps] = penalty.damped[ts].any()
        P[ps], spread[ps] = inertia.drawing_jacobian(p[ps]) @ P[ps], inertia.drawing_jacobian(before[ps]) @ spread[ps]
        size[ps] = natural_size(p[ps])
        p[ps], before[ps] = inertia.drawing_values(p[ps]), inertia.drawing_values(before[ps])
    noise, pull, share, is_open = unsure.of(P)
    pull = np.maximum(pull, halved)
    half = np.hypot(unsure.critical * noise, 1.96 * pull)
    prior_std = np.linalg.norm(spread, axis=1)
    unknown = is_open | (unsure.critical * noise > VAGUE * size) | (not (unsure.enough and converged))
    by_data = (share > 0.99) & (pull <= 0.5 * noise)
    fixed = map_.fixed
    estimates: list[Estimate] = []
    for i, name in enumerate(names):
        if fixed[i]:
            status = Status.FIXED
        elif unknown[i]:
            status = Status.NOT_IDENTIFIABLE
        else:
            status = Status.IDENTIFIED if by_data[i] else Status.PRIOR_DOMINATED
        estimates.append(
            Estimate(
                name=name,
                value=float(p[i]),
                unit=units[i],
                noise=float(noise[i]),
                pull=float(pull[i]),
                ci95=(float(p[i] - half[i]), float(p[i] + half[i])) if status.closed else None,
                prior=float(before[i]) if has_prior[i] else None,
                prior_std=float(prior_std[i]) if has_prior[i] else 0.0,
                information_from_data=0.0 if fixed[i] else float(share[i]),
                status=status,
            )
        )
    return tuple(estimates)


def drawn_values(map_: Map, p: FloatArray) -> FloatArray:
    """The parameters with centres of mass in place of first moments."""
    drawn = p.copy()
    for _, ps, _ in map_.bodies:
        drawn[ps] = inertia.drawing_values(p[ps])
    return drawn


def _attenuated(
    estimates: tuple[Estimate, ...], model: Model, problem: Problem, noisy: Compressed, theta: FloatArray
) -> tuple[Estimate, ...]:
    """The estimates with what the same fit would have given with the motion's noise left in."""
    there = replace(problem, R=noisy.factor())
    minimum = search(there, theta, polish=False)
    p = there.map_.forward(minimum.theta)
    unsure = uncertainty(noisy.scores(p), noisy.information, there, minimum.theta)
    naive = _report(model, there, minimum.theta, unsure, converged=True)
    return tuple(replace(e, attenuation=n.value - e.value) for e, n in zip(estimates, naive, strict=True))


def _warnings(
    minimum: Minimum, condition: Conditioning, unsure: Uncertainty, against: list[str]
) -> tuple[Finding, ...]:
    warnings: list[Finding] = []
    if not unsure.enough:
        evidence = "the train segments are too short to know the noise: no intervals"
        warnings.append(Finding("short", evidence, remedy="use at least ten seconds"))
    if minimum.ending is not Ending.CONVERGED:
        warnings.append(Finding("search", minimum.ending.value))
    if condition.kappa_eff >= KAPPA_LIMIT:
        evidence = (
            f"kappa_eff = {condition.kappa_eff:.0f} is not below {KAPPA_LIMIT:.0f}: some direction is hardly excited"
        )
        warnings.append(Finding("conditioning", evidence, remedy="move the object in every way that it can"))
    if against:
        evidence = f"the data contradict the prior: {'; '.join(against)}"
        warnings.append(Finding("prior", evidence, "prior", "check the drawing, its axes and signs"))
    return tuple(warnings)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One lambda: what it does to conditioning, to the fit and to the distance from the prior."""

    damping: float
    kappa_eff: float
    misfit: float
    """Weighted sum of squares of the data alone."""
    distance: float
    """Square root of the prior's penalty."""


def starts(problem: Problem, p_free: FloatArray) -> tuple[list[FloatArray], FloatArray | None]:
    """Where to begin, and what the data alone ask for where that is no possible body.

    With a prior, there or at possible parameters near the unconstrained fit; without, at the best possible ones.
    """
    map_, penalty = problem.map_, problem.penalty
    if penalty.damped.any():
        data = map_.inverse(map_.nearest(p_free))
        return [np.where(penalty.damped, penalty.theta, data), data], None
    p, plain = possible_fit(problem.R, map_, problem.negligible)
    beyond = float(np.sum((problem.R[:, :-1] @ (p - plain)) ** 2)) > 10 * problem.negligible
    thin = any((p[ps] != plain[ps]).any() for _, ps, _ in map_.bodies)
    return [map_.inverse(p)], plain if beyond and thin else None


def solve_automatic(
    problem: Problem, compressed: Compressed, level: float, spread: float, begin: list[FloatArray]
) -> tuple[Problem, Minimum]:
    """Lambda so that the prior counts as what it is: one observation, off by its declared spread.

    lambda = level / spread, with the noise of a weighted residual as the sandwich sees it (after a first fit with the
    plain residual in its place, which is the `level` given). A prior so weighted changes nothing that the data know,
    and holds what they do not.
    """
    theta = min(begin, key=problem.cost)
    for _ in range(2):
        trial = problem.with_damping(level / spread)
        theta = search(trial, min([theta, *begin], key=trial.cost), polish=False).theta
        p = trial.map_.forward(theta)
        level = uncertainty(compressed.scores(p), compressed.information, trial, theta).level
    chosen = problem.with_damping(level / spread)
    return chosen, search(chosen, theta)


def damping_curve(problem: Problem, start: FloatArray) -> tuple[CurvePoint, ...]:
    """The whole curve over the grid of lambda, from weak to strong."""
    points: list[CurvePoint] = []
    theta = start
    for value in GRID:
        at = problem.with_damping(float(value))
        theta = search(at, theta, polish=False).theta
        misfit = problem.with_damping(0.0).cost(theta)
        distance = float(np.sqrt(problem.penalty.value(theta)))
        points.append(CurvePoint(float(value), damped_condition(at, theta), misfit, distance))
    return tuple(points)


def widened_at_the_edge(
    estimates: tuple[Estimate, ...],
    map_: Map,
    p: FloatArray,
    apart: FloatArray,
    covariance: FloatArray,
    critical: float,
) -> tuple[Estimate, ...]:
    """Estimates with at least the noise of the unconstrained fit (its covariance, given what is known), or what lies
    between it and p (`apart`) where errors of geometry lead it further than noise would.
    """
    J, size, known = np.eye(len(p)), np.full(len(p), np.inf), np.flatnonzero(map_.fixed)
    for _, ps, _ in map_.bodies:
        J[ps, ps], size[ps] = inertia.drawing_jacobian(p[ps]), natural_size(p[ps])
    if len(known):  # a Gaussian's conditional covariance
        across = covariance[:, known]
        covariance = covariance - across @ np.linalg.pinv(across[known]) @ across.T
    wider: list[Estimate] = []
    for i, (e, j) in enumerate(zip(estimates, J, strict=True)):
        noise = max(float(np.sqrt(max(j @ covariance @ j, 0.0))), abs(float(j @ apart)))
        if e.status.closed and noise > e.noise:
            half = float(np.hypot(critical * noise, 1.96 * e.pull))
            e = replace(e, noise=noise, ci95=(e.value - half, e.value + half))
            if critical * noise > VAGUE * size[i]:
                e = replace(e, ci95=None, status=Status.NOT_IDENTIFIABLE)
        wider.append(e)
    return tuple(wider)


def _told_from_zero(e: Estimate) -> Estimate:
    """A moment of inertia whose interval reaches zero is uncertain, however small it is beside the body."""
    if e.status is not Status.IDENTIFIED or not e.moment or e.ci95 is None or e.ci95[0] > 0:
        return e
    return replace(e, status=Status.UNCERTAIN, ci95=(0.0, e.ci95[1]))


def contradictions(
    map_: Map, p_free: FloatArray, covariance: Callable[[], FloatArray], estimates: tuple[Estimate, ...]
) -> list[str]:
    """In words, for each quantity that the unconstrained fit puts far from its prior.

    Judged on the fit without the prior, since a strong one pulls its own contradiction away. covariance: of p_free,
    asked for only where something is far. Quantities of a body are those of a drawing: mass, centre of mass, inertia;
    none is judged where its mass is known or not positive.
    """
    free, gradient = p_free.copy(), np.eye(len(p_free))
    for body, ps, _ in map_.bodies:
        possible = body.known_mass is None and p_free[ps.start] > 0
        free[ps] = inertia.drawing_values(p_free[ps]) if possible else np.nan
        gradient[ps, ps] = inertia.drawing_jacobian(p_free[ps]) if possible else 0.0
    sizes: dict[str, float] = {}
    for e in estimates:
        sizes[e.unit] = max(sizes.get(e.unit, 0.0), abs(e.prior or 0.0))
    messages: list[str] = []
    for e, value, slope in zip(estimates, free, gradient, strict=True):
        if e.prior is None or not np.isfinite(value):
            continue
        allowed, off = np.hypot(e.prior_std, ROUND * sizes[e.unit]), abs(value - e.prior)
        if off <= CONTRADICTING * allowed:
            continue
        std = np.sqrt(max(slope @ covariance() @ slope, 0.0))
        if off > CONTRADICTING * np.hypot(allowed, std):
            sign = ", other sign" if value * e.prior < 0 else ""
            messages.append(f"{e.name} = {value:.4g} {e.unit} (prior {e.prior:.4g} +- {e.prior_std:.2g}{sign})")
    return messages


def sign_problems(model: Model, p: FloatArray, covariance: Callable[[], FloatArray]) -> tuple[Finding, ...]:
    """What the unconstrained fit p has that no object can have, with the likely cause.

    covariance: of p, asked for only where something is negative; what noise alone can do is not accused.
    """
    problems: list[Finding] = []
    for i, (name, parameter) in enumerate(model.parameters.items()):
        if parameter.map == "inertia" and parameter.name == "m":
            part = slice(i, i + 10)
            problems += _inertia_problems(p[part], lambda part=part: covariance()[part, part])
        elif parameter.map == "positive" and p[i] < 0 and p[i] < -IMPOSSIBLE * np.sqrt(covariance()[i, i]):
            evidence = f"without constraints it is {p[i]:.3g} {parameter.unit}, which is negative"
            problems.append(Finding("sign", evidence, name, "look for a wrong sign", Severity.FATAL))
    return tuple(problems)


def _inertia_problems(phi: FloatArray, covariance: Callable[[], FloatArray]) -> list[Finding]:
    if phi[0] <= 0:
        if phi[0] > -IMPOSSIBLE * np.sqrt(covariance()[0, 0]):
            return []
        evidence = f"without constraints the mass is {phi[0]:.3g} kg"
        remedy = "the wrench has the wrong sign (recordings.wrench.sign), or a sensor or IMU is turned"
        return [Finding("sign", evidence, "m", remedy, Severity.FATAL)]
    values, axes = inertia.spread_of_mass(phi)
    if values[0] > -FLATTER * values[-1]:
        return []
    # of a spread along v about the centre of mass: w' dJ w with w = [v; -v'c]
    w = np.append(axes[:, 0], -axes[:, 0] @ inertia.mass_properties(phi).com)
    slope = np.einsum("i,kij,j->k", w, inertia.PSEUDO_OF_PHI, w)
    if values[0] > -IMPOSSIBLE * np.sqrt(slope @ covariance() @ slope):
        return []
    a, b, c = inertia.principal_moments(phi)[0]
    what = (
        f"a principal moment of inertia is {a:.3g} kg m2 beside {c:.3g}"
        if a < 0
        else f"the principal moments of inertia are {a:.3g}, {b:.3g} and {c:.3g} kg m2, one larger than the others' sum"
    )
    remedy = "look for a wrong sign, a swapped axis, a left-handed frame or a wrong lever arm"
    return [Finding("sign", f"without constraints {what}", "inertia", remedy, Severity.FATAL)]
