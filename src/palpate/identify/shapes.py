"""Shapes of a model - zone borders and widths, a Stribeck speed - found by variable projection, each with its profile.

    shaped = fit_shapes(balance, segments)
    solution = solve(compress(replace(balance, model=shaped.model), segments))

The linear parameters' covariance is then conditional on the shapes: Cov p += dp_dz Cov z dp_dz' (`Shaped.widening`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from palpate.elements import Shape
from palpate.errors import PalpateError, UnknownName
from palpate.findings import Finding
from palpate.identify.balance import Balance, Rows, Segment, stack_rows
from palpate.identify.problem import Problem, Uncertainty, build_penalty, uncertainty
from palpate.identify.projection import (
    FreeShape,
    Projection,
    Trial,
    ends_of,
    free_shapes,
    polish,
    project,
    search_grid,
    start_of,
)
from palpate.model import Model
from palpate.physics.arrays import FloatArray, triangular
from palpate.physics.maps import build_map

_FIRST, _GROWTH = 0.6, 1.5
"""First step of a walk in standard deviations, and how steps grow while the fit is still as good."""
_LAGS = 0.05
"""Share of all rows over which noise may be correlated."""
_ACROSS = 10
"""Steps from one limit to the other once the fit is clearly worse."""


COARSE_ROWS = 3000
"""About so many rows serve the coarse grid."""
NOTHING = 1e-2
"""A fall of the cost by less than this share of one row's mean square means nothing."""
_RESTARTS = 2


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """One shape: its value, what the data say about it, and the curve that shows it.

    A border or width that could as well lie at one of its limits is not in the data: `interval` is None then, and
    `reaches` says at which ends the curve stays below the threshold.
    """

    name: str
    unit: str
    value: float
    limits: tuple[float, float]
    """Between which it was looked for: visited angles, say."""
    values: FloatArray
    """Increasing."""
    costs: FloatArray
    """Excess of the weighted sum of squares over the best, all else refitted, in units of the 95 % threshold."""
    hull: tuple[float, float]
    """Everything below the threshold lies between these."""
    interval: tuple[float, float] | None
    """95 %."""
    reaches: tuple[str, ...]
    """Of "low" and "high"."""
    message: str
    """What a person should know; empty if the data know the shape."""

    def held_at(self, value: float) -> Profile:
        """The same, with the shape left as it was given."""
        shown = f"{np.degrees(value):.3g} deg" if self.unit == "rad" else f"{value:.3g} {self.unit}"
        return replace(self, value=value, message=f"{self.message}; it stays as given, {shown}" if self.message else "")


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Noise of the shapes about the best fit, correlated as residuals are."""

    covariance: FloatArray
    """Sandwich, on the scale of the search."""
    rise: FloatArray
    """How much the cost may rise along each profile, in 95 % of cases: critical^2 times the ratio of the sandwich
    variance to the variance that independent residuals of unit size would give.
    """
    critical: float
    enough: bool
    """Whether pieces were enough to know the noise."""
    dead: tuple[bool, ...]
    """Shapes that do nothing here: their coefficient is zero."""


def spread(projection: Projection, best: Trial) -> Spread:
    """Of shapes and parameters together: the sandwich over pieces, or noise that is alike everywhere if that is more.

    A border shows only while it is crossed, a dozen times perhaps: too few for the scatter of its scores alone.
    """
    n = len(projection.free)
    d = projection.slopes(best, range(n))
    held = (best.p != 0) | ~projection.positive
    X = np.concatenate([np.concatenate([projection.fixed, best.moving])[held], d])
    r = projection.residual(best)
    unsure = _unsure(X, r, projection.rows.by_piece(X * r).T)
    white = unsure.whiten[len(X) - n :]
    covariance = white @ unsure.noise @ white.T
    naive = np.maximum(np.sum(white**2, axis=1), 1e-300)
    influence = (white @ unsure.whiten.T) @ X
    alike = _stationary(influence, r)
    more = np.sqrt(np.maximum(alike / np.maximum(np.diag(covariance), 1e-300), 1.0))
    covariance = covariance * more[:, None] * more
    size = np.linalg.norm(d, axis=1)
    dead = tuple(bool(s <= 1e-9 * np.sqrt(best.gram[-1, -1])) for s in size)
    rise = unsure.critical**2 * np.diag(covariance) / naive
    return Spread(covariance, rise, unsure.critical, unsure.enough, dead)


def _stationary(influence: FloatArray, r: FloatArray) -> FloatArray:
    """Variances of sums of influence (k, rows) times noise with the autocorrelation of r, Bartlett's weights."""
    n = len(r)
    size = 1 << int(np.ceil(np.log2(2 * n)))
    lags = max(1, int(_LAGS * n))

    def correlation(x: FloatArray) -> FloatArray:
        return np.fft.irfft(np.abs(np.fft.rfft(x, size)) ** 2, size)[..., :lags]

    weights = (1 - np.arange(lags) / lags) * np.where(np.arange(lags) > 0, 2.0, 1.0)
    return correlation(influence) @ (weights * correlation(r) / n)


def _unsure(X: FloatArray, r: FloatArray, scores: FloatArray) -> Uncertainty:
    map_ = build_map(["free"] * len(X))
    R = triangular(np.concatenate([X, r[None]]).T)
    problem = Problem(R, map_, build_penalty(None, (), map_), 0.0)
    return uncertainty(scores, problem, np.zeros(len(X)))


def walk(projection: Projection, best: Trial, i: int, noise: Spread, *, floor: float) -> tuple[list[Trial], Trial]:
    """Trials along one shape from limit to limit, the others polished at each; and the best of all.

    `floor`: a change of the cost that means nothing.
    """
    low, high = (float(e[0]) for e in ends_of([projection.free[i]]))
    others = [j for j in range(len(projection.free)) if j != i]
    rise = max(float(noise.rise[i]), floor)
    first = _FIRST * float(np.sqrt(max(noise.covariance[i, i], 0.0)))
    first = float(np.clip(first, 1e-4 * (high - low), (high - low) / _ACROSS))
    trials = [best]
    for side in (-1.0, 1.0):
        trial, step = best, first
        end = low if side < 0 else high
        while side * (end - trial.u[i]) > 1e-9 * (high - low):
            u = trial.u.copy()
            left = side * (end - u[i])
            u[i] = end if left < 1.3 * step else u[i] + side * step
            trial = polish(projection, projection.at(u), others, negligible=0.01 * rise, steps=4)
            trials.append(trial)
            step = _GROWTH * step if trial.cost - best.cost < rise else max(step, (high - low) / _ACROSS)
    return trials, min(trials, key=lambda t: t.cost)


def judge(free: FreeShape, i: int, trials: list[Trial], best: Trial, noise: Spread) -> Profile:
    """Read interval and verdict off the trials of a walk."""
    trials = sorted(trials, key=lambda t: float(t.u[i]))
    u = np.array([t.u[i] for t in trials])
    rise = max(float(noise.rise[i]), 1e-300)
    excess = np.array([max(t.cost - best.cost, 0.0) for t in trials]) / rise
    below = np.flatnonzero(excess <= 1.0)
    first, last = int(below[0]), int(below[-1])
    low = u[0] if first == 0 else _crossing(u[first], u[first - 1], excess[first], excess[first - 1])
    high = u[-1] if last == len(u) - 1 else _crossing(u[last], u[last + 1], excess[last], excess[last + 1])
    reaches = tuple(end for end, at in (("low", first == 0), ("high", last == len(u) - 1)) if at)
    hull = (free.to_value(float(low)), free.to_value(float(high)))
    closed = noise.enough and not reaches
    return Profile(
        name=free.name,
        unit=free.unit,
        value=free.to_value(float(best.u[i])),
        limits=(free.low, free.high),
        values=np.array([free.to_value(float(v)) for v in u]),
        costs=excess,
        hull=hull,
        interval=hull if closed else None,
        reaches=reaches,
        message="" if closed else _message(free, reaches, hull, noise.enough),
    )


def flat(name: str, unit: str, value: float, limits: tuple[float, float] | None, message: str) -> Profile:
    """The profile of a shape that changes nothing between its limits, or (None) was not looked for."""
    ends, hull = ((value,), (-np.inf, np.inf)) if limits is None else (limits, limits)
    return Profile(
        *(name, unit, value, limits or (value, value), np.array(ends), np.zeros(len(ends)), hull),
        interval=None,
        reaches=("low", "high"),
        message=message,
    )


def _crossing(inside: float, outside: float, a: float, b: float) -> float:
    """Where the excess is one: its root is nearly straight."""
    low, high = np.sqrt(a), np.sqrt(b)
    return float(inside + (outside - inside) * (1.0 - low) / max(high - low, 1e-300))


def _message(free: FreeShape, reaches: tuple[str, ...], hull: tuple[float, float], enough: bool) -> str:
    if not enough:
        return "the segments are too short to know the noise, so there is no interval"
    shown = [f"{np.degrees(v):.3g} deg" if free.unit == "rad" else f"{v:.3g} {free.unit}" for v in hull]
    if len(reaches) == 2:
        return f"it is not in the data: all from {shown[0]} to {shown[1]} fits as well"
    bound = f"at most {shown[1]}" if reaches == ("low",) else f"at least {shown[0]}"
    return f"it is not in the data beyond this: {bound}"


@dataclass(frozen=True, slots=True, eq=False)
class Shaped:
    """A model with the shapes that the data ask for."""

    model: Model
    """With the shapes found, without values; shapes that are not in the data have the best value all the same, those
    of zones never visited stay as given.
    """
    names: tuple[str, ...]
    """Of the shapes that were estimated, as the model names them."""
    values: FloatArray
    """(shapes,), SI."""
    covariance: FloatArray
    """(shapes, shapes): as wide as the profiles, correlated as the scores over pieces are."""
    p: FloatArray
    """The linear parameters at the solution in the model's order: least squares with positive ones >= 0."""
    dp_dz: FloatArray
    """(parameters, shapes): how the linear parameters follow each shape, the others held."""
    profiles: tuple[Profile, ...]
    """One per free shape of the model, in its order."""
    cost: float
    """The weighted sum of squares at the solution."""

    @property
    def widening(self) -> FloatArray:
        """(parameters, parameters): what not knowing the shapes adds to the parameters' covariance."""
        return self.dp_dz @ self.covariance @ self.dp_dz.T

    @property
    def findings(self) -> tuple[Finding, ...]:
        """About shapes that the data do not tell."""
        return tuple(Finding("shape", p.message, p.name) for p in self.profiles if p.message)

    def __getitem__(self, name: str) -> Profile:
        """A profile by the shape's name."""
        profiles = {p.name: p for p in self.profiles}
        if name not in profiles:
            raise UnknownName("free shape", name, profiles)
        return profiles[name]


def with_shapes(model: Model, values: Mapping[str, float]) -> Model:
    """The same model with other shapes, by the model's names (`Model.shapes`), SI."""
    for name in values:
        if name not in model.shapes:
            raise UnknownName("shape", name, model.shapes, where=f"model {model.name!r}")
    names = iter(model.shapes)
    elements: list[Any] = []
    for e in model.elements:
        names_of = {s.name: next(names) for s in e.shapes}
        new = {field: float(values[name]) for field, name in names_of.items() if name in values}
        elements.append(replace(cast("Any", e), **new) if new else e)
    return replace(model, elements=tuple(elements))


def fit_shapes(
    balance: Balance,
    segments: Sequence[Segment],
    *,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    held: Collection[str] = (),
    profiles: bool = True,
) -> Shaped:
    """Find all free shapes of the balance's model, and how well the segments know them.

    `bounds` (SI, by the model's names) replace the usual limits: angles visited for borders, 0.3 to 10 deg for
    widths. Shapes that are `held` stay as they are. Without `profiles` there are no intervals, and the covariance is
    that of the linearised fit.
    """
    rows = stack_rows(balance, segments)
    model = replace(balance.model, values={})
    _check_bounds(model, bounds)
    free, untold = free_shapes(model, rows.visited, bounds, held=held)
    projection = project(rows, model, free)
    best = _find(projection, stack_rows(balance, segments, most=COARSE_ROWS))
    noise = spread(projection, best) if free else None
    walked: list[Profile] = []
    if noise is not None and profiles:
        walked, best, noise = _profiles(projection, best, noise)
    reasons = dict(untold)
    by_name = {p.name: p for p in walked}
    names = [name for name, s in _shapes(model) if s.free and name not in held] if profiles else []
    return Shaped(
        model=with_shapes(model, projection.values(best.u)),
        names=tuple(f.name for f in free),
        values=np.array(list(projection.values(best.u).values())),
        covariance=_covariance(projection, best, noise, walked),
        p=projection.parameters(best.p),
        dp_dz=_sensitivity(projection, best, walked),
        profiles=tuple(by_name[n] if n in by_name else _unknown(model, n, reasons[n]) for n in names),
        cost=best.cost,
    )


def _find(projection: Projection, coarse: Rows) -> Trial:
    """The best shapes: from the coarse grid and from where they are said to be, whichever ends lower."""
    begin = start_of(projection.free)
    first = projection.at(begin)
    if not projection.free:
        return first
    grid = search_grid(project(coarse, projection.model, projection.free), begin)
    both = range(len(projection.free))
    ends = [polish(projection, t, both, negligible=_nothing(projection, t)) for t in (projection.at(grid), first)]
    return min(ends, key=lambda t: t.cost)


def _profiles(projection: Projection, best: Trial, noise: Spread) -> tuple[list[Profile], Trial, Spread]:
    """Walk along every shape; begin again where a walk finds something better than the best."""
    floor = _nothing(projection, best)
    for attempt in range(_RESTARTS + 1):
        profiles: list[Profile] = []
        for i, f in enumerate(projection.free):
            if noise.dead[i]:
                nothing = f"{f.name} is not in the data: its damper comes out as nothing"
                profiles.append(flat(f.name, f.unit, f.value, (f.low, f.high), nothing))
                continue
            trials, lowest = walk(projection, best, i, noise, floor=floor)
            if lowest.cost < best.cost - floor and attempt < _RESTARTS:
                best = polish(projection, lowest, range(len(projection.free)), negligible=floor)
                noise = spread(projection, best)
                break
            profiles.append(judge(f, i, trials, best, noise))
        if len(profiles) == len(projection.free):
            return profiles, best, noise
    raise AssertionError


def _covariance(projection: Projection, best: Trial, noise: Spread | None, profiles: list[Profile]) -> FloatArray:
    """Correlations of the linearised fit, as wide as the profiles say (as the linearised fit, where there are none)."""
    if noise is None:
        return np.empty((0, 0))
    std_u = np.sqrt(np.maximum(np.diag(noise.covariance), 1e-300))
    correlation = noise.covariance / std_u[:, None] / std_u
    if profiles:
        std = np.array([(p.hull[1] - p.hull[0]) / 2 / noise.critical for p in profiles])
        unknown = np.array([len(p.reaches) == 2 for p in profiles])
        correlation = np.where(unknown[:, None] | unknown, np.eye(len(std)), correlation)
    else:
        low, high = ends_of(projection.free)
        value = np.array(list(projection.values(best.u).values()))
        logarithmic = np.array([f.logarithmic for f in projection.free])
        std = np.minimum(std_u, high - low) * np.where(logarithmic, value, 1.0)
    return correlation * std[:, None] * std


def _sensitivity(projection: Projection, best: Trial, profiles: list[Profile]) -> FloatArray:
    """dp / dz by differences as long as half of what the data leave open to either side."""
    columns: list[FloatArray] = []
    for i, f in enumerate(projection.free):
        value = f.to_value(float(best.u[i]))
        low, high = profiles[i].hull if profiles else (0.999 * value, 1.001 * value)
        ends = [f.to_value(f.to_search(max(x, f.low))) for x in ((value + low) / 2, (value + high) / 2)]
        p: list[FloatArray] = []
        for end in ends:
            u = best.u.copy()
            u[i] = f.to_search(end)
            p.append(projection.parameters(projection.at(u).p))
        columns.append((p[1] - p[0]) / max(ends[1] - ends[0], 1e-300))
    return np.array(columns).T.reshape(len(projection.order), len(projection.free))


def _nothing(projection: Projection, trial: Trial) -> float:
    return NOTHING * trial.cost / projection.rows.y.shape[1]


def _shapes(model: Model) -> list[tuple[str, Shape]]:
    return list(zip(model.shapes, (s for e in model.elements for s in e.shapes), strict=True))


def _unknown(model: Model, name: str, reason: str) -> Profile:
    s = dict(_shapes(model))[name]
    return flat(name, s.unit, s.value, None, f"{name} stays as given: {reason}")


def _check_bounds(model: Model, bounds: Mapping[str, tuple[float, float]] | None) -> None:
    for name, (low, high) in (dict[str, tuple[float, float]]() if bounds is None else bounds).items():
        if name not in model.shapes:
            raise UnknownName("shape", name, model.shapes, where="bounds")
        if not low < high or not np.isfinite((low, high)).all():
            raise PalpateError(f"bounds of {name}: the lowest must be below the highest, not {low:g} to {high:g}")
