"""Clocks: by how much the time of one device is ahead of another's, found from what both of them saw."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.motion.clock import ClockMap, clock_map, interpolated, noise_floor, steady
from palpate.motion.derivatives import design_lowpass
from palpate.physics.arrays import BoolArray, FloatArray, least_squares, peaks, quick_size, rate_hz
from palpate.physics.motion import Poses, log_rotation
from palpate.physics.spline import Spline, spline

Limited = tuple[FloatArray, FloatArray]
"""Times (n,), s, and rows (n, channels) below a bandwidth; NaN where not known."""
_SAME_TIME = 1e-6
"""Of a step: times that differ by less are one."""
_COARSE_HZ, _CORRELATED = 100.0, 1 << 16
"""Of the correlation, and so many of its samples at most."""
_ENOUGH, _USUAL = 0.5, 0.99
"""Share of the responses that these explain, else others are tried; and of values that count in full for liveliness."""
_MOST_CANDIDATES, _FEWEST_CANDIDATES, _WORTH_A_LOOK = 24, 6, 0.5
"""Lags looked at closely: at most; beyond the fewest only where they correlate this much as well as the best."""
_PROMINENT, _AROUND_S = 0.01, 4.0
"""A lag is another one where the correlation falls by this share of the largest on the way to any better lag nearby."""
_SAME_S, _NEAR_S = 0.005, 0.001
"""Lags that are one, and how nearly each candidate is known when they are compared."""
_FEWEST_ROWS, _ROWS = 100, 3_000
"""Fewest samples of each side, and most on which candidates are compared; the winner is judged on all."""
_SHOWN_S = 0.03
_QUARTERS, _MOVES, _VALLEYS = 6, 5, 4
"""Quarters of a period that are searched around the best lag, and again around a better one."""
_SHORTEST_FOR_DRIFT_S = 10.0
_INDEPENDENT_S, _FEWEST_PIECES = 2.0, 8
"""What noise does in one such piece says nothing about the next."""
_OUTLYING_STDS = 6.0
"""Standard deviations from which a pose is taken for a mistake of the tracking."""


@dataclass(frozen=True, slots=True, eq=False)
class Offset:
    """response time = predictor time + value_s at `at_s`, with its standard deviation and the evidence."""

    value_s: float
    std_s: float
    explained: float
    """Share of the responses' variance that the predictors explain at this offset (geometric mean of channels)."""
    runner_up: float
    """The same share at the best lag elsewhere (a quarter of a period away or more): near it, the offset is a guess."""
    lags_s: FloatArray
    """Lags around the best one, s."""
    misfit: FloatArray
    """The unexplained share of the variance at these lags: the profile to look at."""
    drift_ppm: float = float("nan")
    """By how much the offset grows, us per s of response time; NaN where it cannot be known."""
    drift_std_ppm: float = float("nan")
    """Its standard deviation."""
    at_s: float = float("nan")
    """Response time at which the offset is `value_s`; elsewhere the drift adds to it."""
    freedom: int = 1000
    """Degrees of freedom of both standard deviations: pieces of time that were compared, less what was fitted."""

    @property
    def clock(self) -> ClockMap:
        """The relation itself, with the response's clock as the reference."""
        return clock_map(self.value_s, self.std_s, self.at_s, self.drift_ppm, self.drift_std_ppm, freedom=self.freedom)


def estimate_offset(
    times_p: FloatArray,
    predictors: FloatArray,
    times_r: FloatArray,
    responses: FloatArray,
    *,
    what: str = "clock offset",
    bandwidth_hz: float = 20.0,
    alike: bool = False,
    turned: bool = False,
) -> Offset:
    """Find the lag at which linear combinations of the predictors explain the responses best.

    predictors (n, p) on one clock, responses (m, q) on another, times in s. No physics is assumed beyond linearity,
    so it serves a load cell against an IMU as well as a gyroscope against markers. The whole range of lags is
    searched, then the profile of the least-squares misfit is refined below a sample. A line of the offset over time,
    fitted around it, gives the drift; the jackknife over pieces of time gives both standard deviations.
    Predictors must contain what errors of their own instruments add to the responses: a gyroscope's zero, for
    instance, adds multiples of the angular rate, which look like a lag of some 10 us. Rows with NaN are left out, with
    the filter's reach around them. Signals are compared below `bandwidth_hz`; `alike` says that all responses have
    one unit and one noise, so that the largest count most; `turned` that both are one vector in two frames, which no
    mirror image explains (half a period beside the true lag of a shake, it fits best). Raises `DataProblem` when the
    lag cannot be known from these signals.
    """
    sides = band_limited(times_p, predictors, bandwidth_hz), band_limited(times_r, responses, bandwidth_hz)
    return offset_between(*sides, what=what, alike=alike, turned=turned)


def offset_between(
    predictors: Limited,
    responses: Limited,
    *,
    what: str = "clock offset",
    alike: bool = False,
    turned: bool = False,
    lags: Sequence[float] | None = None,
) -> Offset:
    """The same of signals below a common bandwidth; lags: where to look, if `likely_lags` are known already.

    Of a long recording stretches of the predictors are enough, with rows of NaN between them.
    """
    (tp, P), (tr, Q) = predictors, responses
    lasts = tp[-1] - tp[0], tr[-1] - tr[0]
    if min(lasts) < 2.0:
        raise DataProblem(what, f"the recordings last {lasts[0]:.1f} s and {lasts[1]:.1f} s, too short to compare")
    known, seen = (np.asarray(np.isfinite(x).all(axis=1)) for x in (P, Q))
    if min(known.sum(), seen.sum()) < _FEWEST_ROWS:
        raise DataProblem(what, "too little is left between the gaps", remedy="fill short gaps first")
    tr, y = (tr, Q) if seen.all() else (tr[seen], Q[seen])
    # without their means, what is left of them at any lag is small beside how much they vary
    x, y = P - P[known].mean(axis=0), y - y.mean(axis=0)
    predict = spline(tp, x if known.all() else interpolated(tp, tp[known], x[known]))
    pair = _Pair(predict, None if known.all() else np.asarray(~known, dtype=float), tr, y, alike, turned)

    # every n-th response: enough to compare lags, and quick for an hour
    step = max(1, -(-round(len(pair.times_s) * _known_share(tp, known)) // _ROWS))
    thin = replace(pair, times_s=pair.times_s[::step], responses=pair.responses[::step])
    looked = likely_lags(predictors, responses, alike=alike) if lags is None else lags
    scored = sorted(_ground(thin, lag) for lag in looked)
    (least, coarse), near = _settle(thin, *scored[0])
    runner_up = 1 - min([near] + [misfit for misfit, lag in scored if abs(lag - coarse) > _SAME_S])

    pair, thin = pair.near(coarse, _SHOWN_S), thin.near(coarse, _SHOWN_S)
    shown = coarse + np.linspace(-_SHOWN_S, _SHOWN_S, 13)
    profile = np.array([_misfit(thin, lag) for lag in shown])  # to look at
    value, best = minimise(lambda lag: _misfit(pair, lag), coarse - _SAME_S, coarse + _SAME_S)
    at_s, value, std, drift_ppm, drift_std_ppm, freedom = _fit_line(pair, value)
    if best > 0.5 or 1 - runner_up < 1.3 * max(least, best) or not std < 0.01:
        raise DataProblem(
            what,
            f"it cannot be known from these signals: at the best lag, {value:.3f} s, one explains "
            f"{100 * (1 - best):.0f} % of the other, at the next best {100 * runner_up:.0f} %; "
            f"standard deviation of the lag {1e3 * std:.1f} ms",
            remedy="check that the files belong together and that the object was shaken, "
            "or state the samples that coincide (clocks:)",
        )
    return Offset(value, std, 1 - best, runner_up, shown, profile, drift_ppm, drift_std_ppm, at_s, freedom)


def _known_share(times_s: FloatArray, known: BoolArray) -> float:
    """Of the time from the first to the last row, the share in which rows are known."""
    step = float(np.median(np.diff(times_s)))
    return min(1.0, float(known.sum()) * step / float(times_s[-1] - times_s[0]))


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Band-limited signals ready to be compared at any lag."""

    predict: Spline
    """The predictors at any times (s), or their derivative of this order."""
    blind: FloatArray | None
    """1 at those times of the predictors at which they are not known, if there are such."""
    times_s: FloatArray
    responses: FloatArray
    alike: bool
    turned: bool

    def usable(self, at_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Response times, predictor times and responses, of those predictor times at which the predictors are known."""
        use = self._known(at_s)
        return self.times_s[use], at_s[use], self.responses[use]

    def _known(self, at_s: FloatArray) -> slice | BoolArray:
        """Of increasing times, those at which the predictors are known."""
        times = self.predict.times
        if self.blind is not None:
            return np.interp(at_s, times, self.blind, left=1.0, right=1.0) == 0
        first, last = float(times[0]), float(times[-1])
        return slice(int(np.searchsorted(at_s, first)), int(np.searchsorted(at_s, last, side="right")))

    def near(self, offset_s: float, reach_s: float) -> _Pair:
        """Without responses that are compared at no offset as near as this."""
        times, at = self.predict.times, self.times_s - offset_s
        first, last = np.searchsorted(times, at - reach_s), np.searchsorted(times, at + reach_s, side="right")
        if self.blind is None:
            use = (last > 0) & (first < len(times))
        else:
            known = np.append(0, np.cumsum(self.blind == 0))
            use = known[np.minimum(last + 1, len(times))] > known[np.maximum(first - 1, 0)]
        return self if use.all() else replace(self, times_s=self.times_s[use], responses=self.responses[use])


def band_limited(times_s: FloatArray, x: FloatArray, bandwidth_hz: float) -> Limited:
    """Low-pass and decimate (samples, channels) on an even version of its own clock; NaN spread by the filter."""
    rate = rate_hz(times_s)
    if steady(times_s)[2] * rate < _SAME_TIME:
        even, rows = times_s, x
    else:
        even = times_s[0] + np.arange(len(times_s)) / rate
        rows = interpolated(even, times_s, x)
    lowpass = design_lowpass(rate, bandwidth_hz) if rate > 2.6 * bandwidth_hz else None
    if lowpass is None or len(even) < 2 * len(lowpass.taps):
        return even, rows
    half = len(lowpass.taps) // 2
    return even[half : len(even) - half : lowpass.step], lowpass.apply(rows.T).T


def likely_lags(predictors: Limited, responses: Limited, *, alike: bool = False) -> list[float]:
    """Offsets (s) where the canonical correlation of the coarse signals peaks, the strongest first.

    Of a fast shake each half period is a peak of its own, and the true one need not be the highest on the grid. Of long
    recordings some minutes of the predictors are compared, and others as long as these explain little: before the lag
    is known, nothing says whether the responses were recorded at that time.
    """
    (tp, P), (tr, Q) = predictors, responses
    grids = [np.arange(t[0], t[-1], 1 / _COARSE_HZ) for t in (tp, tr)]
    n, m = map(len, grids)
    least = min(n, m) // 2  # half of the shorter recording must overlap
    lags, found = np.arange(-(n - least), m - least + 1), list[float]()
    q, size = _coarse(grids[1], tr, Q, alike), quick_size(min(n, _CORRELATED) + m)
    others = [np.fft.rfft(channel.astype(np.float32), size) for channel in q.T]
    for before in _windows(tp, P, n) if n > _CORRELATED else [0]:
        p = _coarse(grids[0][before:][:_CORRELATED], tp, P, False)
        # sum over all pairs of channels of the squared correlation, over the lags of a circle, one pair at a time;
        # seven digits tell where it peaks
        score = np.zeros(size)
        for channel in np.linalg.qr(p)[0].T:
            one = np.conj(np.fft.rfft(channel.astype(np.float32), size))
            for other in others:
                score += np.fft.irfft(one * other, size) ** 2
        shifts = lags + before
        score = np.where(np.abs(shifts - (m - len(p)) / 2) < (m + len(p)) / 2, score[shifts % size], 0.0)
        score = np.concatenate([[0.0], score, [0.0]])  # negative lags sit at the circle's end; the ends may be peaks
        at = peaks(score, _PROMINENT * float(score.max()), int(_AROUND_S * _COARSE_HZ / 2), _MOST_CANDIDATES)
        at = at if len(at) else np.array([1 + int(score[1:-1].argmax())])
        at = at[np.argsort(score[at])[::-1]]
        worth = score[at] > _WORTH_A_LOOK * score[at[0]]
        kept = at[(np.arange(len(at)) < _FEWEST_CANDIDATES) | worth]
        found = [float(tr[0] - tp[0] + lag / _COARSE_HZ) for lag in lags[kept - 1]] + found
        first = int(shifts[at[0] - 1])
        met = q[max(first, 0) : max(first + len(p), 0)]
        known = np.asarray((p != 0).any(axis=1))[max(-first, 0) :]  # between stretches of predictors none are compared
        met = met[known[: len(met)]]
        if len(met) and score[at[0]] > _ENOUGH * ((met - met.mean(axis=0)) ** 2).sum():
            break
    return found


def _windows(times_s: FloatArray, x: FloatArray, n: int) -> list[int]:
    """Samples of the coarse grid, of n, at which to begin: where x varies most, then all over it, the liveliest first.

    Values count by the clipped distance from their median: else one knock would be all that happens.
    """
    known = np.asarray(np.isfinite(x).all(axis=1))
    some = x[known][:: max(1, int(known.sum()) // _ROWS)]
    middle = np.median(some, axis=0)
    away = np.abs(x - middle)
    away /= np.maximum(np.quantile(np.abs(some - middle), _USUAL, axis=0), 1e-300)
    away = np.where(known[:, None], np.minimum(away, 1.0), 0.0)
    total, rows = (np.append(0.0, np.cumsum(x)) for x in (np.einsum("ij,ij->i", away, away), known))

    def within(begins: FloatArray, sums: FloatArray = total) -> FloatArray:
        ends = np.searchsorted(times_s, begins + _CORRELATED / _COARSE_HZ)
        return sums[ends] - sums[np.searchsorted(times_s, begins)]

    begins = times_s[times_s <= times_s[-1] - _CORRELATED / _COARSE_HZ]
    liveliest = begins[within(begins).argmax()]
    spread = times_s[0] + np.linspace(0, n - _CORRELATED, -(-n // _CORRELATED)) / _COARSE_HZ
    spread = spread[within(spread, rows) >= _FEWEST_ROWS]  # not in a gap
    order = [liveliest, *spread[np.argsort(-within(spread))]]
    return [int((begin - times_s[0]) * _COARSE_HZ) for begin in order]


def _coarse(grid: FloatArray, times_s: FloatArray, x: FloatArray, alike: bool) -> FloatArray:
    """On the coarse grid, without mean, each channel (or, where they are alike, all together) of norm one."""
    y = interpolated(grid, times_s, x)
    known = np.asarray(np.isfinite(y).all(axis=1))
    if known.all():
        y -= y.mean(axis=0)
    else:
        y = np.where(known[:, None], y - np.nanmean(y, axis=0), 0.0)
    return y / np.maximum(np.linalg.norm(y) if alike else np.linalg.norm(y, axis=0), 1e-300)


def _compared(pair: _Pair, offset_s: float) -> tuple[FloatArray, FloatArray]:
    """Predictors and responses without their means, where both are known at this offset."""
    _, at, y = pair.usable(pair.times_s - offset_s)
    x = pair.predict(at, 0)
    return x - x.mean(axis=0), y - y.mean(axis=0)


def _misfit(pair: _Pair, offset_s: float) -> float:
    """Unexplained share of the responses' variance: of all where they are alike, else the channels' geometric mean."""
    _, at, y = pair.usable(pair.times_s - offset_s)
    x = pair.predict(at, 0)
    # normal equations, for speed: scaled columns, and a misfit to nine digits is enough to find its minimum
    sum_x, sum_y, count = x.sum(axis=0), y.sum(axis=0), max(len(y), 1)
    normal, cross = x.T @ x - np.outer(sum_x, sum_x / count), x.T @ y - np.outer(sum_x, sum_y / count)
    total = np.maximum(np.einsum("ij,ij->j", y, y) - sum_y * sum_y / count, 0.0)
    mirrored = _mirrored(cross, float(np.trace(normal)) * float(total.sum())) if pair.turned else 0.0
    scale = np.sqrt(np.maximum(np.diag(normal), 1e-300))
    normal, cross = normal / scale / scale[:, None], cross / scale[:, None]
    by = least_squares(normal, cross, rcond=1e-12)
    left = np.maximum(total - np.einsum("ij,ij->j", by, 2 * cross - normal @ by), 0.0)
    share = left.sum() / max(total.sum(), 1e-300) if pair.alike else left / np.maximum(total, 1e-300)
    return float(np.clip(np.exp(np.log(np.clip(share, 1e-12, 1.0)).mean()) + mirrored, 1e-12, 1.0))


def _quarter_period(pair: _Pair, offset_s: float) -> float:
    """Of what the predictors explain, by its rms frequency, s: a lag by this much must cost.

    It does not where predictors hold a wave and its derivative: then any lag fits a shake of one frequency.
    """
    x, y = _compared(pair, offset_s)
    scale = np.maximum(np.linalg.norm(x, axis=0), 1e-300)
    coefficients = least_squares(x / scale, y, rcond=1e-6) / scale[:, None]
    slope = pair.predict(pair.usable(pair.times_s - offset_s)[1], 1) @ coefficients
    total = (y**2).sum(axis=0)
    weight = np.ones_like(total) if pair.alike else 1 / np.maximum(total, 1e-300)
    ratio = float((((x @ coefficients) ** 2) @ weight).sum() / max(float(((slope**2) @ weight).sum()), 1e-300))
    return float(np.clip(np.pi / 2 * np.sqrt(ratio), 0.02, 0.25))


def _mirrored(cross: FloatArray, squares: float) -> float:
    """Share of the variance that is explained by a mirror image only; cross: x'y, squares: |x|^2 |y|^2.

    The best scale and rotation explain (d1 + d2 +- d3)^2 of |x|^2 |y|^2, d being the singular values of x'y, minus for
    a mirror image (Umeyama 1991, IEEE PAMI 13:376). Motion about one or two axes has no handedness: d3 is noise.
    """
    U, d, Vt = np.linalg.svd(cross)
    if np.linalg.det(U @ Vt) > 0:
        return 0.0
    third = max(float(d[2] - 0.01 * d[0]), 0.0)  # what hardly correlates tells nothing of handedness
    return 4 * third * float(d[0] + d[1]) / max(squares, 1e-300)


def _ground(pair: _Pair, lag: float, reach_s: float = 1 / _COARSE_HZ) -> tuple[float, float]:
    """The smallest misfit near a coarse lag, and where; between coarse lags it may be far smaller than at them."""
    pair = pair.near(lag, reach_s)
    misfit = _misfit(pair, lag)
    if misfit > 0.9:
        return misfit, lag
    lowest, misfit = minimise(lambda x: _misfit(pair, x), lag - reach_s, lag + reach_s, _NEAR_S)
    return misfit, lowest


def _settle(pair: _Pair, misfit: float, lag: float) -> tuple[tuple[float, float], float]:
    """The best misfit and lag some periods around, and the smallest misfit a quarter of a period or more beside it.

    Where nearly all is explained at any of these lags, the correlation has no peaks, but the misfit still has valleys.
    """
    elsewhere = 1.0
    for _ in range(_MOVES):
        quarter = _quarter_period(pair, lag)
        steps = np.arange(-2 * _QUARTERS, 2 * _QUARTERS + 1)
        lags = lag + quarter / 2 * steps
        around = pair.near(lag, quarter * _QUARTERS)
        scan = np.array([_misfit(around, x) for x in lags], dtype=float)
        valleys = 1 + np.flatnonzero((scan[1:-1] <= scan[:-2]) & (scan[1:-1] <= scan[2:]))
        valleys = valleys[np.abs(steps[valleys]) >= 2]
        bottoms = [_ground(pair, float(lags[i]), quarter / 2) for i in valleys[np.argsort(scan[valleys])][:_VALLEYS]]
        better = min(bottoms, default=(1.0, lag))
        elsewhere = min(better[0], float(scan[np.abs(steps) >= 2].min()))
        if better[0] >= misfit:
            break
        misfit, lag = better
    return (misfit, lag), elsewhere


def _fit_line(pair: _Pair, offset_s: float) -> tuple[float, float, float, float, float, int]:
    """Fit offset + drift by Gauss-Newton; standard deviations by leaving out one piece of time after the other.

    -> response time at which the offset is known best; the offset there (s) and its standard deviation, infinite where
    there is no such line; drift (ppm) and its standard deviation; degrees of freedom. A count of independent residuals,
    as for a mean, would give three times too much: slow residuals are few but say little about a lag.
    """
    value, drift, at = offset_s, 0.0, float(pair.times_s.mean())
    length, gradient, curvature = _gradient(pair, value, drift, at)
    unknowns = 2 if length > _SHORTEST_FOR_DRIFT_S else 1
    for _ in range(5):
        if not np.linalg.cond(curvature) < 1e12 or abs(value - offset_s) > 0.02:  # astray
            return at, offset_s, float("inf"), float("nan"), float("nan"), 1
        step = least_squares(curvature[:unknowns, :unknowns], gradient[:unknowns])
        value, drift = value + float(step[0]), drift + float(step[1:].sum())
        # to the time at which offset and drift know nothing of each other
        here = at + float(curvature[0, 1] / curvature[0, 0])
        value, at = value + drift * (here - at), here
        _, gradient, curvature = _gradient(pair, value, drift, at)
        if np.abs(step * [1, length][:unknowns]).max() < 1e-6:
            break
    std, pieces = _left_out(pair, value, drift, at, unknowns)
    ppm = (1e6 * drift, 1e6 * float(std[1])) if unknowns == 2 else (float("nan"), float("nan"))
    return at, value, float(std[0]), *ppm, pieces - unknowns


def _left_out(pair: _Pair, value_s: float, drift: float, at_s: float, unknowns: int) -> tuple[FloatArray, int]:
    """Standard deviations of offset (s) and drift by the jackknife over pieces of time (Efron 1982, ch. 3), and how
    many there are: each is left out in turn, and all coefficients fitted anew.

    Few pieces shape the coefficients that explain them: by a sandwich of their residuals (White 1980), offsets of 20 s
    of a handle were 1.5 times as far off as stated.
    """
    time, at, y = pair.usable(pair.times_s - value_s - drift * (pair.times_s - at_s))
    x, slope = pair.predict(at, 0), -pair.predict(at, 1)
    mean, scale = x.mean(axis=0), np.maximum(np.linalg.norm(x - x.mean(axis=0), axis=0), 1e-300)
    X = np.column_stack([(x - mean) / scale, np.full(len(x), len(x) ** -0.5)])
    coefficients = least_squares(X.T @ X, X.T @ y, rcond=1e-12)
    left, shift = y - X @ coefficients, slope / scale @ coefficients[:-1]
    weight = 1 / np.maximum((left**2).mean(axis=0), 1e-300)
    v = np.stack([left, shift, (time - at_s)[:, None] * shift][: 1 + unknowns], axis=2)
    piece, _ = pieces_of(time)
    starts = np.flatnonzero(np.diff(piece, prepend=-1)).tolist()  # some may lie in gaps
    parts = [(X[a:b], v[a:b]) for a, b in zip(starts, [*starts[1:], len(X)], strict=True)]
    # products of columns, of these with residuals and moves, and of the latter: each piece's, and all but its own
    own = [(w * np.sqrt(weight)[:, None]).reshape(-1, 1 + unknowns) for _, w in parts]
    products = (
        np.array([u.T @ u for u, _ in parts]),
        np.array([u.T @ w.reshape(len(w), -1) for u, w in parts]).reshape(len(parts), -1, *v.shape[1:]).swapaxes(1, 2),
        np.array([w.T @ w for w in own]),
    )
    normal, across, inner = (each.sum(axis=0) - each for each in products)
    moves: list[FloatArray] = []
    for N, C, M in zip(normal, across, inner, strict=True):
        explaining = least_squares(N, np.hstack(list(C)), rcond=1e-12)  # one decomposition serves all responses
        A = M - np.einsum("qpk,qpl,q->kl", C, np.stack(np.hsplit(explaining, len(C))), weight)
        moves.append(least_squares(A[1:, 1:], A[1:, 0]))
    count = len(parts)
    return np.sqrt((count - 1) * np.var(moves, axis=0)), count


def pieces_of(t: FloatArray) -> tuple[NDArray[np.int64], int]:
    """Which piece of about 2 s each sample belongs to, and how many there are."""
    count = max(_FEWEST_PIECES, int((t[-1] - t[0]) / _INDEPENDENT_S))
    return np.minimum((t - t[0]) * (count / (t[-1] - t[0])), count - 1).astype(np.int64), count


def sums_of_pieces(x: FloatArray, index: NDArray[np.int64], count: int) -> FloatArray:
    """(pieces, k): the rows of x (samples, k) summed over each piece."""
    return np.array([np.bincount(index, column, count) for column in x.T], dtype=float).T


def _gradient(pair: _Pair, value_s: float, drift: float, at_s: float) -> tuple[float, FloatArray, FloatArray]:
    """How long it lasts (s), the steepest descent in offset and drift (2,), and the curvature (2, 2).

    The predictors' coefficients follow the offset: whatever they can explain of a shift tells nothing of it.
    """
    time, at, y = pair.usable(pair.times_s - value_s - drift * (pair.times_s - at_s))
    x, slope = pair.predict(at, 0), -pair.predict(at, 1)
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    scale = np.maximum(np.linalg.norm(x, axis=0), 1e-300)
    x /= scale
    normal = x.T @ x
    coefficients = least_squares(normal, x.T @ y, rcond=1e-12)
    residual = y - x @ coefficients
    shift = slope @ (coefficients / scale[:, None])
    moves = np.hstack([shift, (time - at_s)[:, None] * shift])
    moves -= moves.mean(axis=0)
    weight = 1 / np.maximum((residual**2).mean(axis=0), 1e-300)
    # products of what the predictors leave of the moves; the residual holds nothing of what they explain
    across, q = x.T @ moves, len(weight)
    inner = moves.T @ moves - across.T @ least_squares(normal, across, rcond=1e-12)
    gradient = np.einsum("naq,nq,q->a", moves.reshape(-1, 2, q), residual, weight, optimize=True)
    curvature = np.einsum("aqbq,q->ab", inner.reshape(2, q, 2, q), weight)
    return float(time[-1] - time[0]), gradient, curvature


def minimise(f: Callable[[float], float], low: float, high: float, to: float = 1e-4) -> tuple[float, float]:
    """Where between two bounds a function of a lag (s) is least, to 0.1 ms, and its value; it has one minimum there.

    Parabolas through the best three places, and the golden section where they lead nowhere (Brent, Algorithms for
    Minimization without Derivatives, chapter 5: `localmin`).
    """
    section = (3.0 - math.sqrt(5.0)) / 2
    best = second = third = low + section * (high - low)
    f_best = f_second = f_third = f(best)
    step = before = 0.0
    while True:
        middle, tolerance = (low + high) / 2, 1.5e-8 * abs(best) + to / 3
        if abs(best - middle) <= 2 * tolerance - (high - low) / 2:
            return best, f_best
        r, q = (best - second) * (f_best - f_third), (best - third) * (f_best - f_second)
        p, q = (best - third) * q - (best - second) * r, 2 * (q - r)
        p, q = (-p if q > 0 else p), abs(q)
        inside = q * (low - best) < p < q * (high - best) and abs(p) < abs(q * before / 2)
        if abs(before) > tolerance and inside:
            before, step = step, p / q
            if min(best + step - low, high - best - step) < 2 * tolerance:
                step = math.copysign(tolerance, middle - best)
        else:
            before = (low if best >= middle else high) - best
            step = section * before
        x = best + math.copysign(max(abs(step), tolerance), step)
        f_x = f(x)
        if f_x <= f_best:
            low, high = (best, high) if x >= best else (low, best)
            third, f_third, second, f_second, best, f_best = second, f_second, best, f_best, x, f_x
        else:
            low, high = (x, high) if x < best else (low, x)
            if f_x <= f_second or second == best:
                third, f_third, second, f_second = second, f_second, x, f_x
            elif f_x <= f_third or third in (best, second):
                third, f_third = x, f_x


def marker_clock(poses: Poses, times_s: FloatArray, angular_rate: FloatArray, *, what: str = "") -> Offset:
    """Offset and drift between motion capture (the reference) and a gyroscope on the same body.

    poses: of any frame fixed to the body, NaN where it was not seen. times_s (n,), even, s, and angular_rate (n, 3),
    rad/s: the gyroscope on its own clock, NaN where lost. Turn between the two frames, scales and zero of the gyroscope
    are free. Offset = capture time minus gyroscope time. Raises `DataProblem` when it cannot be known.
    """
    what = what or "clock offset between motion capture and gyroscope"
    if angular_rate.shape != (len(times_s), 3):
        raise DataProblem(what, f"the angular rate has shape {angular_rate.shape}, not ({len(times_s)}, 3)")
    at, omega, half_s = angular_velocity(poses, what=what)
    gyroscope = window_mean(times_s, angular_rate, half_s)
    omega = _without_jumps(omega, angular_rate)
    offset = _compare(at, omega, times_s, gyroscope, what)
    # without what is far from what the gyroscope says at this offset
    there = offset.clock.from_reference(at)
    x = np.column_stack([interpolated(there, times_s, gyroscope), np.ones(len(at))])
    x[(there < times_s[0]) | (there > times_s[-1])] = np.nan
    use = np.isfinite(omega).all(axis=1) & np.isfinite(x).all(axis=1)
    cleaned = without_outlying(omega, omega - x @ least_squares(x[use], omega[use]))
    same = np.isfinite(cleaned).sum() == np.isfinite(omega).sum()
    return offset if same else _compare(at, cleaned, times_s, gyroscope, what)


def angular_velocity(poses: Poses, *, what: str = "poses") -> tuple[FloatArray, FloatArray, float]:
    """Times (n,), mean angular velocity (n, 3), rad/s, over a centred window, in the body's frame; half the window, s.

    log(R_{k-1}' R_{k+1}) / (t_{k+1} - t_{k-1}): the rotation vector has the same components in both frames (e.g.
    Lynch & Park, Modern Robotics, 3.2.3), and a symmetric window has no delay. NaN where a neighbour was not seen.
    """
    if len(poses) < 3:
        raise DataProblem(what, f"{len(poses)} poses are too few")
    at, R, seen = poses.times_s, poses.rotation, poses.seen
    steps = at[2:] - at[:-2]
    half_s = float(np.median(steps)) / 2
    both = seen[2:] & seen[:-2] & (steps < 2.5 * half_s)  # rows that the file leaves out are gaps, too
    if not both.any():
        raise DataProblem(what, "no pose was seen together with the one after next")
    omega = np.full((len(poses), 3), np.nan)
    omega[1:-1][both] = log_rotation(R[:-2][both].swapaxes(1, 2) @ R[2:][both]) / steps[both, None]
    return at, omega, half_s


def window_mean(times_s: FloatArray, x: FloatArray, half_s: float) -> FloatArray:
    """Mean of (samples, channels) over +- half_s around each even time (trapezoids); NaN where it meets NaN or ends."""
    bad = ~np.asarray(np.isfinite(x).all(axis=1))
    filled = np.where(bad[:, None], 0.0, x) if bad.any() else x
    total = np.zeros_like(x)
    np.cumsum(filled[1:] + filled[:-1], axis=0, out=total[1:])
    total *= 0.5 / rate_hz(times_s)
    reach = half_s * rate_hz(times_s)
    reach = round(reach) if abs(reach - round(reach)) < 1e-6 else reach
    k, part, c = int(reach), reach - int(reach), math.ceil(reach)
    inner, mean = len(x) - 2 * c, np.full_like(x, np.nan)
    if inner <= 0:
        return mean
    late, early = total[c + k : c + k + inner], total[c - k : c - k + inner]
    if part:
        late = late + part * (total[c + k + 1 : c + k + 1 + inner] - late)
        early = early - part * (early - total[c - k - 1 : c - k - 1 + inner])
    mean[c : c + inner] = (late - early) / (2 * half_s)
    if bad.any():
        lost, at = np.concatenate([[0], np.cumsum(bad)]), np.arange(len(x))
        met = lost[np.minimum(at + c + 2, len(x))] > lost[np.maximum(at - c - 1, 0)]
        mean[met] = np.nan
    return mean


def _compare(at: FloatArray, omega: FloatArray, times_s: FloatArray, gyroscope: FloatArray, what: str) -> Offset:
    """The quiet gyroscope predicts, the noisy markers respond: so noise takes nothing from the coefficients."""
    grid, bridged = bridge_short(at, omega)
    known = np.flatnonzero(np.isfinite(gyroscope).all(axis=1))
    if len(known) < 2:
        raise DataProblem(what, "the gyroscope recorded too little")
    inner = slice(known[0], known[-1] + 1)
    return estimate_offset(
        times_s[inner],
        gyroscope[inner],
        grid,
        bridged,
        what=what,
        bandwidth_hz=10.0,  # a hand is slower, and the noise of differentiated poses grows with the frequency
        alike=True,
        turned=True,
    )


def bridge_short(at: FloatArray, omega: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(frames, 3) on an even grid, first to last seen frame: straight lines over short gaps, NaN in long ones."""
    seen = np.isfinite(omega).all(axis=1)
    t, w = at[seen], omega[seen]
    if len(t) < 2:
        raise DataProblem("poses", "no angular velocity is known")
    count = round((t[-1] - t[0]) / float(np.median(np.diff(at)))) + 1
    grid = np.linspace(float(t[0]), float(t[-1]), max(count, 2))
    filled = interpolated(grid, t, w)
    for i in np.flatnonzero(np.diff(t) > 0.1):  # shorter ones are bridged
        filled[(grid > t[i]) & (grid < t[i + 1])] = np.nan
    return grid, filled


def _without_jumps(omega: FloatArray, angular_rate: FloatArray) -> FloatArray:
    """Markers that are swapped for a while make poses jump, faster than anything that the gyroscope saw."""
    seen = np.isfinite(omega).all(axis=1)
    if seen.sum() < 3:
        return omega
    fastest = float(np.nanmax(np.linalg.norm(angular_rate, axis=1)))
    limit = 1.5 * fastest + _OUTLYING_STDS * float(np.linalg.norm(noise_floor(omega[seen])))
    jumps = np.linalg.norm(np.where(np.isfinite(omega), omega, 0.0), axis=1) > limit
    if jumps.sum() > 0.2 * seen.sum():  # then it is the gyroscope's scale that is wrong, and scale is free
        return omega
    return np.where(jumps[:, None], np.nan, omega)


def without_outlying(x: FloatArray, off: FloatArray) -> FloatArray:
    """x with NaN in rows that are off by far more than is usual: poses of swapped markers, knocks."""
    away = np.abs(off - np.nanmedian(off, axis=0))
    far = away > _OUTLYING_STDS * 1.4826 * np.maximum(np.nanmedian(away, axis=0), 1e-12)
    return np.where(far.any(axis=1, keepdims=True), np.nan, x)
