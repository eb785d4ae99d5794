"""Solving a compressed balance: parameters with their uncertainty, conditioning and misfit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from palpate.errors import DataProblem, PalpateError
from palpate.identify.compression import Compressed
from palpate.identify.conditioning import KAPPA_LIMIT, Conditioning, conditioning
from palpate.identify.contradiction import contradictions
from palpate.identify.damping import solve_automatic, solve_given, starts
from palpate.identify.edge import widened_at_the_edge
from palpate.identify.estimate import VAGUE, natural_size
from palpate.identify.estimate import Estimate as Estimate
from palpate.identify.estimate import Status as Status
from palpate.identify.prior import Prior, build_penalty
from palpate.identify.search import Ending, Found, Problem, search
from palpate.identify.signs import sign_problems, unconstrained
from palpate.identify.uncertainty import Uncertainty, free_covariance, uncertainty
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import DRAWING_NAMES, DRAWING_UNITS, drawing_jacobian, drawing_values
from palpate.physics.log_cholesky import Factor
from palpate.physics.maps import Fixed, LogCholesky, Stacked

_CLOSED = (Status.IDENTIFIED, Status.PRIOR_DOMINATED)
NOTHING = 0.03
"""A step that changes the sum of squares by less than the square of this many standard deviations changes nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The result of a fit. `print(solution)` shows the table."""

    model: Model
    """With values; `model.of_object()` is what a robot loads."""
    estimates: tuple[Estimate, ...]
    theta: FloatArray
    problem: Problem
    uncertainty: Uncertainty
    conditioning: Conditioning
    ending: Ending
    steps: int
    impossible: tuple[str, ...]
    """What the data ask for and no object can have: a wrong sign, unit, axis or frame."""
    warnings: tuple[str, ...]

    @property
    def p(self) -> FloatArray:
        """The physical parameters in column order."""
        return self.model.p

    @property
    def damping(self) -> float:
        """Lambda."""
        return self.problem.damping

    def __getitem__(self, name: str) -> Estimate:
        """An estimate by name."""
        return {e.name: e for e in self.estimates}[name]

    def __str__(self) -> str:
        """The estimates as text, one a line."""
        lines = [f"{'':12}{'value':>12}{'95 % interval':>28}  {'unit':8}{'from data':>10}  status"]
        for e in self.estimates:
            interval = f"[{e.ci95[0]:.5g}, {e.ci95[1]:.5g}]" if e.ci95 else "-"
            lines.append(
                f"{e.name:12}{e.value:12.5g}{interval:>28}  {e.unit:8}{e.information_from_data:10.1%}  {e.status.value}"
            )
        return "\n".join(lines)


def solve(
    compressed: Compressed,
    *,
    prior: Prior | None = None,
    factor: Factor = "UtU",
    known_mass: float | None = None,
    fixed: Mapping[str, float] | None = None,
) -> Solution:
    """Weighted least squares with the prior's damping on theta and none on the bias (paper, eq. optimization).

    `factor` is the log-Cholesky convention in which theta, lambda and the prior's term are meant; known_mass in kg;
    `fixed` parameters keep their value. With `prior.damping` None, lambda is chosen (`identify/damping.py`).
    """
    model = compressed.model
    names = tuple(model.parameters)
    map_ = model.map(factor=factor, known_mass=known_mass, fixed=fixed)
    _check_names(prior, names)
    roughness = model.roughness()
    if len(roughness) and prior is None:
        prior = Prior({}, spread=1.0)
    penalty = build_penalty(prior, names, map_, roughness)
    try:
        R = compressed.factor()
    except DataProblem:
        return _with_warning(
            solve(replace(compressed, noise=None), prior=prior, factor=factor, known_mass=known_mass, fixed=fixed),
            "in some direction the noise of the motion is larger than the motion itself and could not be taken out; "
            "move the object more in every direction",
        )
    p_free = unconstrained(R)
    begin = starts(map_, penalty, p_free)
    damping = 0.0 if prior is None or prior.damping is None else prior.damping
    level = abs(float(R[-1, -1])) / np.sqrt(float(compressed.samples.sum()) * len(compressed.weights))
    problem = Problem(R, map_, penalty, damping, negligible=(NOTHING * level) ** 2)
    if prior is not None and prior.damping is None:
        problem, found = solve_automatic(problem, compressed, prior.spread, begin)
    else:
        found = solve_given(problem, begin)
    condition = conditioning(problem, found.theta)
    p = map_.forward(found.theta)
    unsure = uncertainty(compressed.scores(p), problem, found.theta)
    estimates = _report(model, problem, found.theta, unsure, converged=found.ending in (Ending.CONVERGED, Ending.FLAT))

    @cache
    def covariance() -> FloatArray:
        return free_covariance(compressed.scores(p_free), R)

    if found.ending is Ending.FLAT and not problem.damping:
        estimates = widened_at_the_edge(estimates, map_, p, covariance(), unsure.critical)
    if compressed.noise is not None:
        estimates = _attenuated(estimates, model, problem, replace(compressed, noise=None), found.theta)
    return Solution(
        model=model.with_values(p),
        estimates=estimates,
        theta=found.theta,
        problem=problem,
        uncertainty=unsure,
        conditioning=condition,
        ending=found.ending,
        steps=found.steps,
        impossible=sign_problems(model, p_free, covariance),
        warnings=_warnings(found, condition, unsure, _against_prior(map_, p_free, covariance, estimates)),
    )


def _report(
    model: Model, problem: Problem, theta: FloatArray, unsure: Uncertainty, *, converged: bool
) -> tuple[Estimate, ...]:
    """Estimates in the words of a drawing: mass, centre of mass, inertia; then everything else as it is."""
    map_, penalty = problem.map_, problem.penalty
    p, P = map_.forward(theta), map_.jacobian(theta)
    before, P_before = map_.forward(penalty.theta), map_.jacobian(penalty.theta)
    names, units = list(model.parameters), [q.unit for q in model.parameters.values()]
    has_prior, fixed = np.zeros(len(p), dtype=bool), np.zeros(len(p), dtype=bool)
    size = np.full(len(p), np.inf)
    spread = P_before @ penalty.root
    for part, ps, ts in zip(map_.parts, map_.p_slices(), map_.theta_slices(), strict=True):
        fixed[ps] = isinstance(part, Fixed)
        has_prior[ps] = penalty.damped[ts] if part.size_p == part.size_theta else bool(penalty.damped[ts].any())
        if isinstance(part, LogCholesky):
            P[ps], spread[ps] = drawing_jacobian(p[ps]) @ P[ps], drawing_jacobian(before[ps]) @ spread[ps]
            size[ps] = natural_size(p[ps])
            p[ps], before[ps] = drawing_values(p[ps]), drawing_values(before[ps])
            fixed[ps.start] = part.known_mass is not None
            prefix = names[int(ps.start)].removesuffix("m")  # "" or the element's name and a dot
            names[ps], units[ps] = [prefix + n for n in DRAWING_NAMES], list(DRAWING_UNITS)
    noise, pull, share, is_open = unsure.of(P)
    half = np.hypot(unsure.critical * noise, 1.96 * pull)
    prior_std = np.linalg.norm(spread, axis=1)
    known = unsure.enough and converged
    unknown = is_open | (unsure.critical * noise > VAGUE * size)
    flags = zip(fixed.tolist(), unknown.tolist(), noise.tolist(), pull.tolist(), share.tolist(), strict=True)
    statuses = [_status(*row, known=known) for row in flags]
    return tuple(
        Estimate(
            name=names[i],
            value=float(p[i]),
            unit=units[i],
            noise=float(noise[i]),
            pull=float(pull[i]),
            ci95=(float(p[i] - half[i]), float(p[i] + half[i])) if statuses[i] in _CLOSED else None,
            prior=float(before[i]) if has_prior[i] else None,
            systematic=0.0,
            attenuation=0.0,
            prior_std=float(prior_std[i]) if has_prior[i] else 0.0,
            information_from_data=0.0 if fixed[i] else float(share[i]),
            status=statuses[i],
        )
        for i in range(len(p))
    )


def _attenuated(
    estimates: tuple[Estimate, ...], model: Model, problem: Problem, noisy: Compressed, theta: FloatArray
) -> tuple[Estimate, ...]:
    """The estimates with what the same fit would have given with the motion's noise left in."""
    there = replace(problem, R=noisy.factor())
    found = search(there, theta, polish=False)
    unsure = uncertainty(noisy.scores(there.map_.forward(found.theta)), there, found.theta)
    naive = _report(model, there, found.theta, unsure, converged=True)
    return tuple(replace(e, attenuation=n.value - e.value) for e, n in zip(estimates, naive, strict=True))


def _with_warning(solution: Solution, warning: str) -> Solution:
    return replace(solution, warnings=(*solution.warnings, warning))


def _status(fixed: bool, is_open: bool, noise: float, pull: float, share: float, *, known: bool) -> Status:
    """Design, Uncertainty: identified means more than 99 % from data and a pull below half a standard deviation.

    Where the search did not converge or pieces are too few to know the noise (`known`), nothing is identified.
    """
    if fixed:
        return Status.FIXED
    if is_open or not known:
        return Status.NOT_IDENTIFIABLE
    return Status.IDENTIFIED if share > 0.99 and pull <= 0.5 * noise else Status.PRIOR_DOMINATED


def _warnings(found: Found, condition: Conditioning, unsure: Uncertainty, against: list[str]) -> tuple[str, ...]:
    told: list[str] = []
    if not unsure.enough:
        told.append("the train segments are too short to know the noise: no intervals; use at least ten seconds")
    if found.ending is not Ending.CONVERGED:
        told.append(found.ending.value)
    if condition.kappa_eff >= KAPPA_LIMIT:
        told.append(
            f"kappa_eff = {condition.kappa_eff:.0f} is not below {KAPPA_LIMIT:.0f}: some direction is hardly excited; "
            "turn and shake the object about every axis"
        )
    if against:
        told.append(f"the data contradict the prior: {'; '.join(against)}; check the drawing, its axes and signs")
    return tuple(told)


def _against_prior(
    map_: Stacked, p_free: FloatArray, covariance: Callable[[], FloatArray], estimates: tuple[Estimate, ...]
) -> list[str]:
    names, units, prior = [e.name for e in estimates], [e.unit for e in estimates], [e.prior for e in estimates]
    if all(v is None for v in prior):
        return []
    return contradictions(map_, p_free, covariance, names, units, prior, np.array([e.prior_std for e in estimates]))


def _check_names(prior: Prior | None, names: tuple[str, ...]) -> None:
    unknown = [] if prior is None else [n for n in prior.values if n not in names]
    if unknown:
        raise PalpateError(f"prior: {', '.join(unknown)}: no such parameter. There is: {', '.join(names)}")
