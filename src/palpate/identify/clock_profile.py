"""The balance as a witness: a clock's offset and drift are right where the residual is smallest.

It needs no signal that both instruments measure, so it applies to every object whose balance can be written down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from palpate.errors import DataProblem
from palpate.identify.balance import Compressed
from palpate.model import Model
from palpate.motion.clock import ClockMap
from palpate.motion.offset import Offset, minimise
from palpate.physics.arrays import FloatArray, least_squares, peaks, solve_positive, symmetric_inverse

_STEP_S = 0.002
_SHORTEST_FOR_DRIFT_S = 20.0
_CLEARLY, _LITTLE, _MUCH = 3.0, 1.05, 2.0
"""The best minimum must beat any other by more than a little (ratio), and by much or clearly more than the scatter."""
_MOST_STEPS = 8
_VALLEYS = 16
_DEEP, _MOST = 0.5, 0.9
_RIDGE = 1e-7
"""Beside columns of length one."""


@dataclass(frozen=True, slots=True, eq=False)
class ValleyFit:
    """Nonlinear parameters of a balance at its smallest residual, all linear parameters following."""

    values: FloatArray
    covariance: FloatArray
    """Sandwich over pieces of time (White 1980) of the profiled sum of squares."""
    residual: float
    """Weighted sum of squares that is left."""
    freedom: int


def fit_valley(
    residuals_at: Callable[[FloatArray], FloatArray],
    start: Sequence[float] | FloatArray,
    steps: Sequence[float] | FloatArray,
    *,
    linear: int = 0,
    what: str = "shape parameters",
) -> ValleyFit:
    """Newton's method on the profiled sum of squares (variable projection: Golub & Pereyra 1973).

    residuals_at: values of the parameters -> sum of squares of each piece of time at the best linear parameters
    (`residuals` of a compressed balance), with the same pieces for all. steps: one per parameter, over which the
    residual is differenced; small against the width of its valley. Along the profile, a piece's slope is its score
    with the linear parameters projected out, and the scatter of the scores is the covariance. linear: how many linear
    parameters follow; they take a part of the scatter away. Raises `DataProblem` where there is no valley.
    """
    x, h = np.asarray(start, dtype=float), np.asarray(steps, dtype=float)
    k, scores, hessian, pieces = len(x), np.zeros((1, len(x))), np.eye(len(x)), np.zeros(1)
    for _ in range(_MOST_STEPS):
        pieces, scores, hessian = _differences(residuals_at, x, h)
        if not np.linalg.eigvalsh(hessian)[0] > 1e-12 * np.abs(np.diag(hessian)).max():
            raise DataProblem(what, "it cannot be known: the residual of the balance has no minimum here")
        change = -least_squares(hessian, scores.sum(axis=0))
        x = x + h * np.clip(change, -5.0, 5.0)
        if np.abs(change).max() < 0.01:
            break
    else:
        raise DataProblem(what, "it cannot be known: the residual of the balance has no minimum nearby")
    scatter = scores - scores.mean(axis=0)
    inverse = symmetric_inverse(hessian) * h[:, None]  # in steps so far
    count, freedom = len(scores), max(1, len(scores) - k)
    inflation = min(count / max(count - k - linear, 1), 2.0)
    covariance = inverse @ (scatter.T @ scatter) @ inverse.T * inflation
    return ValleyFit(x, covariance, float(pieces.sum()), freedom)


def profile_clock(
    residuals_at: Callable[[ClockMap], FloatArray],
    lags_s: FloatArray,
    *,
    at_s: float,
    length_s: float,
    linear: int = 0,
    what: str = "clock offset",
    possible_at: Callable[[ClockMap], FloatArray] | None = None,
) -> Offset:
    """Offset (reference time minus device time at `at_s`, s) and drift at which the balance leaves least.

    residuals_at: as for `fit_valley`, for a clock relation. lags_s: offsets to try first, evenly spaced. length_s: how
    much time the balance spans; the drift is fitted where that is long enough. possible_at: the same residuals at the
    best parameters that an object can have; it decides between valleys, as half a period beside the true offset a
    negative mass fits a shake. Refuses (`DataProblem`) what is flat, at the end of the range, ambiguous or impossible.
    """

    def clock_of(x: FloatArray) -> ClockMap:
        return ClockMap(float(x[0]), 0.0, float(x[1]) if len(x) > 1 else 0.0, 0.0, at_s, False)

    def at(x: FloatArray) -> FloatArray:
        return residuals_at(clock_of(x))

    total = np.array([at(np.array([lag])).sum() for lag in lags_s], dtype=float)
    minima = _minima(at, lags_s, total, what)
    if possible_at is not None:
        minima = _possible(minima, lambda lag: possible_at(clock_of(np.array([lag]))), float(total.max()), what)
    best, others = minima[0], minima[1:]
    for other in others:  # the best must beat them all, by the scatter of the pieces' differences (Vuong 1989)
        more = other.pieces - best.pieces
        scatter = float(np.sqrt(((more - more.mean()) ** 2).sum()))
        ratio = float(other.pieces.sum() / max(float(best.pieces.sum()), 1e-300))
        if ratio < _LITTLE or (ratio < _MUCH and more.sum() < _CLEARLY * scatter):
            raise DataProblem(
                what,
                f"it cannot be known: the balance fits as well at {other.lag_s:.3f} s as at {best.lag_s:.3f} s",
                remedy="move the object less evenly, or state the samples that coincide (clocks:)",
            )
    unknowns = 2 if length_s > _SHORTEST_FOR_DRIFT_S else 1
    steps = np.array([_STEP_S, 4e6 * _STEP_S / max(length_s, 1e-9)])[:unknowns]
    fit = fit_valley(at, np.array([best.lag_s, 0.0])[:unknowns], steps, linear=linear, what=what)
    std = float(np.sqrt(fit.covariance[0, 0]))
    if not std < 0.01:
        raise DataProblem(
            what,
            f"it cannot be known from this balance: standard deviation {1e3 * std:.0f} ms",
            remedy="move the object faster to and fro, or state the samples that coincide (clocks:)",
        )
    value, drift, drift_std, middle = float(fit.values[0]), float("nan"), float("nan"), at_s
    if unknowns == 2:  # to the time at which offset and drift know nothing of each other
        drift, drift_std = float(fit.values[1]), float(np.sqrt(fit.covariance[1, 1]))
        away = -1e6 * float(fit.covariance[0, 1] / fit.covariance[1, 1])
        value, middle = value + 1e-6 * drift * away, at_s + away
        std = float(np.sqrt(max(fit.covariance[0, 0] - fit.covariance[0, 1] ** 2 / fit.covariance[1, 1], 0.0)))
    worst = float(total.max())
    runner_up = 1 - float(others[0].pieces.sum()) / worst if others else 0.0
    explained = 1 - fit.residual / worst
    return Offset(value, std, explained, runner_up, lags_s, total / worst, drift, drift_std, middle, fit.freedom)


def residuals(compressed: Compressed) -> FloatArray:
    """Weighted sum of squares of each piece, at the linear parameters that are best for all (no constraints)."""
    R = compressed.factor()
    p = least_squares(R[:, :-1], R[:, -1])
    return np.asarray(compressed.squares(p) @ compressed.weights**2, dtype=float)


def least_values(model: Model) -> FloatArray:
    """The smallest value that each parameter can have: zero of a mass, a moment of inertia or a friction."""
    never_negative = ("m", "Ixx", "Iyy", "Izz")
    return np.array(
        [
            0.0 if p.map == "positive" or (p.map == "inertia" and p.name in never_negative) else -np.inf
            for p in model.parameters.values()
        ],
        dtype=float,
    )


def bounded(A: FloatArray, b: FloatArray, least: FloatArray) -> FloatArray:
    """x that minimises |A x - b|, and is not negative where `least` is 0 (elsewhere it is without bound)."""
    n = len(least) if len(A) < len(least) else 0  # then of all x that serve alike, a small one
    rows = np.vstack([np.column_stack([A, b]), _RIDGE * np.eye(n, len(least) + 1)])
    return solve_positive(rows.T @ rows, least == 0)[0]


def _differences(
    residuals_at: Callable[[FloatArray], FloatArray], x: FloatArray, h: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Residuals here (pieces,), and of half their sum the slopes (pieces, k) and curvature (k, k), per step."""
    steps = np.eye(len(x)) * h
    here = residuals_at(x)
    up, down = ([residuals_at(x + sign * s) for s in steps] for sign in (1, -1))
    scores = np.array([(a - b) / 4 for a, b in zip(up, down, strict=True)]).T
    hessian = np.diag([float((a + b - 2 * here).sum()) / 2 for a, b in zip(up, down, strict=True)])
    for i in range(len(x)):
        for j in range(i):
            both = residuals_at(x + steps[i] + steps[j]) + residuals_at(x - steps[i] - steps[j])
            mixed = both - (up[i] + down[i] + up[j] + down[j] - 2 * here)
            hessian[i, j] = hessian[j, i] = float(mixed.sum()) / 4
    return here, scores, hessian


@dataclass(frozen=True, slots=True, eq=False)
class _Minimum:
    lag_s: float
    pieces: FloatArray
    """Residuals of the pieces there."""


def _minima(at: Callable[[FloatArray], FloatArray], lags_s: FloatArray, total: FloatArray, what: str) -> list[_Minimum]:
    """The deepest valleys of the profile, each to its ground (between the lags it may be far deeper), best first."""
    rise = 0.01 * float(np.ptp(total))  # two valleys are two where it rises by this share between them
    inner = peaks(-total, max(rise, 1e-300))
    left, here, right = total[inner - 1], total[inner], total[inner + 1]
    depth = here - (right - left) ** 2 / (8 * np.maximum(left + right - 2 * here, 1e-12 * here + 1e-300))
    order = np.argsort(depth)[:_VALLEYS]
    order = order[(np.arange(len(order)) < 1) | (depth[order] < _DEEP * total.max())]
    minima = [_ground(at, float(lags_s[i - 1]), float(lags_s[i + 1])) for i in inner[order]]
    minima.sort(key=lambda m: float(m.pieces.sum()))
    for end, next_ in ((0, 1), (-1, -2)):  # where it still falls at an end, the valley may lie beyond
        if total[end] < total[next_] and (not minima or total[end] < _MUCH * minima[0].pieces.sum()):
            raise DataProblem(
                what,
                f"the residual falls towards the end of the range, {lags_s[end]:.3f} s",
                remedy="search further, or give a better first guess",
            )
    if not minima:
        raise DataProblem(what, "it cannot be known: the residual of the balance has no minimum")
    return minima


def _ground(at: Callable[[FloatArray], FloatArray], low: float, high: float) -> _Minimum:
    lag, _ = minimise(lambda x: float(at(np.array([x])).sum()), low, high)
    return _Minimum(lag, at(np.array([lag])))


def _possible(minima: list[_Minimum], at: Callable[[float], FloatArray], worst: float, what: str) -> list[_Minimum]:
    """Those valleys of which a possible object explains nearly as much as an impossible one, best first.

    Not all: between two kinds of friction, noise of the motion alone makes a small one negative.
    """
    possible = [m for m in minima if worst - at(m.lag_s).sum() > _MOST * (worst - m.pieces.sum())]
    if not possible or possible[0].pieces.sum() > _MUCH * minima[0].pieces.sum():
        raise DataProblem(
            what,
            f"it cannot be known: at {minima[0].lag_s:.3f} s the balance fits, but with a negative mass, moment of "
            "inertia or friction, and it fits as well nowhere else",
            remedy="check the sign of the wrench and the frames, or state the samples that coincide (clocks:)",
        )
    return possible
