"""Solving a compressed balance: parameters with their uncertainty, conditioning and misfit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from palpate.errors import PalpateError
from palpate.identify.compression import Compressed
from palpate.identify.conditioning import Conditioning, conditioning
from palpate.identify.prior import Prior, ThetaPrior, build_prior
from palpate.identify.search import Ending, Found, search
from palpate.identify.signs import sign_problems, unconstrained
from palpate.identify.uncertainty import Uncertainty, uncertainty
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import DRAWING_NAMES, DRAWING_UNITS, drawing_jacobian, drawing_values
from palpate.physics.log_cholesky import Factor
from palpate.physics.maps import Fixed, LogCholesky, Stacked

KAPPA_LIMIT = 100.0
DAMPING_GRID = np.concatenate([[0.0], np.logspace(-1, 4, 41)])


class Status(Enum):
    """What stands behind a number."""

    IDENTIFIED = "identified"
    PRIOR_DOMINATED = "prior-dominated"
    FIXED = "fixed"
    NOT_IDENTIFIABLE = "not-identifiable"


@dataclass(frozen=True, slots=True)
class Estimate:
    """One reported quantity. `noise` and `pull` are standard deviations; the interval holds both."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The result of a fit. `print(solution)` shows the table."""

    model: Model
    """With values; `model.of_object()` is what a robot loads."""
    estimates: tuple[Estimate, ...]
    theta: FloatArray
    damping: float
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
    `fixed` parameters keep their value. With `prior.damping` None, lambda is the smallest on a grid with kappa_eff
    below 100.
    """
    model = compressed.model
    names = tuple(model.parameters)
    map_ = model.map(factor=factor, known_mass=known_mass, fixed=fixed)
    _check_names(prior, fixed, names)
    pull = build_prior(prior, names, map_)
    R = compressed.weighted
    found, damping, condition = _solve_damped(
        R, map_, pull, None if prior is None else prior.damping, has_prior=prior is not None
    )
    p, P = map_.forward(found.theta), map_.jacobian(found.theta)
    unsure = uncertainty(compressed.piece_grams, p, P, pull, damping)
    estimates = _report(model, map_, p, P, pull, unsure)
    return Solution(
        model=model.with_values(p),
        estimates=estimates,
        theta=found.theta,
        damping=damping,
        conditioning=condition,
        ending=found.ending,
        steps=found.steps,
        impossible=sign_problems(compressed),
        warnings=_warnings(found, condition, estimates),
    )


def _solve_damped(
    R: FloatArray, map_: Stacked, prior: ThetaPrior, damping: float | None, *, has_prior: bool
) -> tuple[Found, float, Conditioning]:
    grid = [damping] if damping is not None else [float(v) for v in DAMPING_GRID] if has_prior else [0.0]
    starts = _starts(R, map_, prior)
    found, condition, value = None, None, 0.0
    for value in grid:
        found = min((search(R, map_, prior, value, start) for start in starts), key=lambda f: f.cost)
        J = R[:, :-1] @ map_.jacobian(found.theta)
        condition = conditioning(J, prior.damped.astype(float), value)
        if condition.kappa_eff < KAPPA_LIMIT and found.ending is Ending.CONVERGED:
            break
        starts = [found.theta]
    assert found is not None
    assert condition is not None
    return found, value, condition


def _starts(R: FloatArray, map_: Stacked, prior: ThetaPrior) -> list[FloatArray]:
    """Where to begin: the possible parameters nearest to the unconstrained fit, and the prior where there is one."""
    data = map_.inverse(map_.nearest(unconstrained(R)))
    if not prior.damped.any():
        return [data]
    return [np.where(prior.damped, prior.theta, data), data]


def _report(
    model: Model, map_: Stacked, p: FloatArray, P: FloatArray, prior: ThetaPrior, unsure: Uncertainty
) -> tuple[Estimate, ...]:
    """Estimates in the words of a drawing: mass, centre of mass, inertia; then everything else as it is."""
    from scipy.special import stdtrit  # Student's quantile, without the second that scipy.stats takes to import

    quantile = float(stdtrit(unsure.freedom, 0.975))
    names, units = list(model.parameters), [q.unit for q in model.parameters.values()]
    p_prior, P_prior = map_.forward(prior.theta), map_.jacobian(prior.theta)
    reports: list[Estimate] = []
    for part, ps, ts in zip(map_.parts, map_.p_slices(), map_.theta_slices(), strict=True):
        value, before, gradient, spread = p[ps], p_prior[ps], P[ps], P_prior[ps] @ prior.root
        own, unit = names[ps], units[ps]
        if isinstance(part, LogCholesky):
            gradient, spread = drawing_jacobian(value) @ gradient, drawing_jacobian(before) @ spread
            value, before = drawing_values(value), drawing_values(before)
            prefix = own[0].removesuffix("m")  # "" or the element's name and a dot
            own, unit = [prefix + n for n in DRAWING_NAMES], list(DRAWING_UNITS)
        has_prior = bool(prior.damped[ts].any())
        known = isinstance(part, Fixed)
        for i, name in enumerate(own):
            g = gradient[i]
            fixed = known or (isinstance(part, LogCholesky) and part.known_mass is not None and i == 0)
            noise, pull, share = (0.0, 0.0, 0.0) if fixed else unsure.of(g)
            status = _status(unsure, g, noise, pull, share, fixed=fixed)
            half = quantile * noise if pull == 0 else float(np.hypot(quantile * noise, 1.96 * pull))
            closed = status in (Status.IDENTIFIED, Status.PRIOR_DOMINATED)
            reports.append(
                Estimate(
                    name=name,
                    value=float(value[i]),
                    unit=unit[i],
                    noise=noise,
                    pull=pull,
                    ci95=(float(value[i]) - half, float(value[i]) + half) if closed else None,
                    prior=float(before[i]) if has_prior else None,
                    prior_std=float(np.linalg.norm(spread[i])) if has_prior else 0.0,
                    information_from_data=share,
                    status=status,
                )
            )
    return tuple(reports)


def _status(unsure: Uncertainty, g: FloatArray, noise: float, pull: float, share: float, *, fixed: bool) -> Status:
    """Design, Uncertainty: identified means more than 99 % from data and a pull below half a standard deviation."""
    if fixed:
        return Status.FIXED
    values, vectors = np.linalg.eigh(_unit_diagonal(unsure.information))
    scale = np.sqrt(np.maximum(np.diag(unsure.information), 1e-300))
    open_ = vectors[:, values < 1e-12 * values[-1]]
    if open_.shape[1] and np.linalg.norm(open_.T @ (g / scale)) > 1e-3 * np.linalg.norm(g / scale):
        return Status.NOT_IDENTIFIABLE
    return Status.IDENTIFIED if share > 0.99 and pull < 0.5 * max(noise, 1e-300) else Status.PRIOR_DOMINATED


def _unit_diagonal(A: FloatArray) -> FloatArray:
    scale = np.sqrt(np.maximum(np.diag(A), 1e-300))
    return A / scale[:, None] / scale[None, :]


def _warnings(found: Found, condition: Conditioning, estimates: tuple[Estimate, ...]) -> tuple[str, ...]:
    told: list[str] = []
    if found.ending is not Ending.CONVERGED:
        told.append(found.ending.value)
    if condition.kappa_eff >= KAPPA_LIMIT:
        told.append(
            f"kappa_eff = {condition.kappa_eff:.0f} is not below {KAPPA_LIMIT:.0f}: some direction is hardly excited; "
            "turn and shake the object about every axis, or damp more"
        )
    for e in estimates:
        if e.prior is None or e.ci95 is None:
            continue
        away, allowed = abs(e.value - e.prior), float(np.hypot(e.prior_std, (e.ci95[1] - e.ci95[0]) / 4))
        if away > 3 * allowed:
            sign = " and its sign" if e.value * e.prior < 0 else ""
            told.append(
                f"the data contradict the prior{sign}: {e.name} = {e.value:.4g} {e.unit}, "
                f"prior {e.prior:.4g} +- {e.prior_std:.2g}; check the drawing, its axes and signs"
            )
    return tuple(told)


def _check_names(prior: Prior | None, fixed: Mapping[str, float] | None, names: tuple[str, ...]) -> None:
    for kind, given in (("prior", {} if prior is None else prior.values), ("fixed value", fixed or {})):
        unknown = [n for n in given if n not in names]
        if unknown:
            raise PalpateError(f"{kind}: {', '.join(unknown)}: no such parameter. There is: {', '.join(names)}")
