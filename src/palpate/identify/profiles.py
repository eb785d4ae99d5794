"""Profiles: how much worse the fit gets as one shape leaves its best value and everything else follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.identify.prior import build_penalty
from palpate.identify.projection import FreeShape, Projection, Trial
from palpate.identify.search import Problem
from palpate.identify.shape_search import ends_of, polish
from palpate.identify.uncertainty import Uncertainty, uncertainty
from palpate.physics.arrays import FloatArray, triangular
from palpate.physics.maps import Identity, stack_maps

_FIRST, _GROWTH = 0.6, 1.5
"""First step of a walk in standard deviations, and how steps grow while the fit is still as good."""
_LAGS = 0.05
"""Share of all rows over which noise may be correlated."""
_ACROSS = 10
"""Steps from one limit to the other once the fit is clearly worse."""


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
    told: str
    """What a person should know; empty if the data know the shape."""

    @property
    def in_data(self) -> bool:
        """Whether the data know it."""
        return self.interval is not None


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
    map_ = stack_maps([Identity(len(X))])
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
    found = [best]
    for side in (-1.0, 1.0):
        trial, step = best, first
        end = low if side < 0 else high
        while side * (end - trial.u[i]) > 1e-9 * (high - low):
            u = trial.u.copy()
            left = side * (end - u[i])
            u[i] = end if left < 1.3 * step else u[i] + side * step
            trial = polish(projection, projection.at(u), others, negligible=0.01 * rise, steps=4)
            found.append(trial)
            step = _GROWTH * step if trial.cost - best.cost < rise else max(step, (high - low) / _ACROSS)
    return found, min(found, key=lambda t: t.cost)


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
        told="" if closed else _told(free, reaches, hull, noise.enough),
    )


def flat(free: FreeShape, told: str) -> Profile:
    """The profile of a shape that changes nothing."""
    ends = (free.low, free.high)
    return Profile(
        *(free.name, free.unit, free.value, ends, np.array(ends), np.zeros(2), ends),
        interval=None,
        reaches=("low", "high"),
        told=told,
    )


def unknown(name: str, unit: str, value: float, told: str) -> Profile:
    """The profile of a shape that was not looked for."""
    return Profile(
        *(name, unit, value, (value, value), np.array([value]), np.zeros(1), (float("-inf"), float("inf"))),
        interval=None,
        reaches=("low", "high"),
        told=told,
    )


def _crossing(inside: float, outside: float, a: float, b: float) -> float:
    """Where the excess is one: its root is nearly straight."""
    low, high = np.sqrt(a), np.sqrt(b)
    return float(inside + (outside - inside) * (1.0 - low) / max(high - low, 1e-300))


def _told(free: FreeShape, reaches: tuple[str, ...], hull: tuple[float, float], enough: bool) -> str:
    if not enough:
        return f"{free.name}: the segments are too short to know the noise, so there is no interval"
    shown = [f"{np.degrees(v):.3g} deg" if free.unit == "rad" else f"{v:.3g} {free.unit}" for v in hull]
    if len(reaches) == 2:
        return f"{free.name} is not in the data: all from {shown[0]} to {shown[1]} fits as well"
    bound = f"at most {shown[1]}" if reaches == ("low",) else f"at least {shown[0]}"
    return f"{free.name} is not in the data beyond this: {bound}"
