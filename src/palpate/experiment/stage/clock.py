"""The load cells' clock: what the object's balance says of it. It needs no signal that both instruments measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.stage.inputs import Inputs, body_wrench, fit_balance, move, projected
from palpate.identify.balance import Segment
from palpate.identify.clock_profile import bounded, least_values, profile_clock
from palpate.identify.shapes import fit_shapes
from palpate.motion.clock import ClockMap, resample
from palpate.motion.derivatives import Lowpass
from palpate.motion.offset import Offset
from palpate.physics.arrays import FloatArray

WHAT = "clock of the load cell"
STEP_S, COARSE_S, NEAR_S = 0.01, 0.04, 0.3
"""Steps of the search and of the first one over all offsets that are possible at all, and how far the second goes."""
CANDIDATES = 8
"""Of the first search that are looked at with parameters that an object can have."""
Residuals = Callable[[ClockMap, bool], FloatArray]


def clock_by_balance(inputs: Inputs, segments: Sequence[Segment]) -> Offset:
    """Reference minus load-cell time at which the balance leaves the smallest residual.

    Twice where shapes are to be estimated: with the shapes as given, then with those that the first clock shows.
    """
    first = _profiled(inputs, segments)
    if not any(s.free for e in inputs.model.elements for s in e.shapes):
        return first
    on_clock = inputs.on_clock(first.clock)
    shaped = fit_shapes(fit_balance(on_clock, move(on_clock)), segments, profiles=False)
    return _profiled(on_clock.with_model(shaped.model), segments)


def _profiled(inputs: Inputs, segments: Sequence[Segment]) -> Offset:
    residuals, span = _residuals(inputs, segments)
    middle, count = (segments[0][0] + segments[-1][1]) / 2, round(NEAR_S / STEP_S)
    start = inputs.clock or ClockMap(_guess(residuals, span), 0.0, 0.0, 0.0, 0.0, False)
    drift = start.drift_ppm

    def tilted(clock: ClockMap) -> ClockMap:
        return replace(clock, drift_ppm=clock.drift_ppm + drift)

    offset = profile_clock(
        lambda clock: residuals(tilted(clock), False),
        float(start.offset_at(np.array(middle))) + STEP_S * np.arange(-count, count + 1, dtype=float),
        at_s=middle,
        length_s=segments[-1][1] - segments[0][0],
        linear=len(inputs.model.parameters),
        what=WHAT,
        possible_at=lambda clock: residuals(tilted(clock), True),
    )
    # the profile's drift counts beside the first guess's, and so does its offset away from the middle
    return replace(
        offset, drift_ppm=offset.drift_ppm + drift, value_s=offset.value_s + 1e-6 * drift * (offset.at_s - middle)
    )


def _guess(residuals: Residuals, span: Segment) -> float:
    """The offset (s) of all possible ones at which a possible object leaves least, to a few hundredths of a second."""
    if not span[0] < span[1]:
        raise DataProblem(WHAT, "the load cell's recording is shorter than the segments")

    def left(lag: float, possible: bool) -> float:
        return float(residuals(ClockMap(lag, 0.0, 0.0, 0.0, 0.0, False), possible).sum())

    lags = np.arange(*span, COARSE_S)
    depth = np.array([left(float(lag), False) for lag in lags])
    inner = np.flatnonzero((depth <= np.roll(depth, 1)) & (depth <= np.roll(depth, -1)))
    deepest = lags[inner[np.argsort(depth[inner])][:CANDIDATES]]
    return float(deepest[int(np.argmin([left(float(lag), True) for lag in deepest]))])


def _residuals(inputs: Inputs, segments: Sequence[Segment]) -> tuple[Residuals, Segment]:
    """Clock, whether parameters must be possible -> sum of squares of pieces of about a second; and the offsets that
    the recordings allow, s.

    Only the wrench moves, so the columns are decomposed once. A constant wrench in the body frame is fitted along: the
    load cells' zeros are not known before the clock is. Handles that are added back belong to the object's columns.
    """
    from scipy.interpolate import CubicSpline

    moved = move(inputs)
    nothing = np.zeros((len(inputs.sensors), len(inputs.times_s), 6))
    handles = replace(inputs, measured=nothing, zero="none", at_contact=None)
    balance = fit_balance(replace(handles, add="nothing").with_zero("estimated"), moved)
    lowpass, rate, used = balance.lowpass or Lowpass(np.ones(1), 1), inputs.rate_hz, balance.used
    assert used is not None
    kept = [s for s in segments if lowpass.outputs(int(np.ptp(balance.indices(s))))]
    spans = [balance.indices(s) for s in kept]
    if sum(int(used[a:b].sum()) for a, b in spans) < 10 * len(balance.model.parameters):
        raise DataProblem(WHAT, "it cannot be known: the object hardly moves", remedy="state the samples that coincide")
    Y = np.concatenate([balance.rows(s)[:, :, :-1] for s in kept]) * balance.weights[:, None]
    flat = Y.reshape(-1, Y.shape[2])
    scale = np.maximum(np.linalg.norm(flat, axis=0), 1e-300)
    U, s, Vt = np.linalg.svd(flat / scale, full_matrices=False)
    rank = int((s > 1e-9 * s[0]).sum())
    basis, small = U[:, :rank], s[:rank, None] * Vt[:rank]
    least = np.append(least_values(inputs.with_zero("none").model), np.full(6, -np.inf))
    pieces = max(10, int(sum(b - a for a, b in spans) / rate))
    piece = np.arange(len(Y)) * pieces // len(Y)

    ends = [(float(x.wrench.times_s[0]), float(x.wrench.times_s[-1])) for x in inputs.sensors]
    grid = np.arange(max(a for a, _ in ends), min(b for _, b in ends), 1 / rate)
    total = np.sum([x.to_body(resample(x.wrench.times_s, x.wrench.seen_x, grid)) for x in inputs.sensors], axis=0)
    known = np.isfinite(total).all(axis=1)
    if not known.any():
        raise DataProblem(WHAT, "the load cells never record at the same time")
    # straight across gaps, where a spline would swing; the fit leaves them out
    bridged = [np.interp(grid, grid[known], np.asarray(total[known, i], dtype=float)) for i in range(6)]
    spline = CubicSpline(grid, np.stack(bridged, axis=1))
    at = np.concatenate([np.arange(a, b) for a, b in spans])
    times = inputs.times_s[at]
    weight = np.where(used, 1.0 if balance.fade is None else balance.fade, 0.0)[at]
    # what each component of a wrench in the body frame does to the rows
    each = [projected(replace(balance, wrench=np.tile(unit, (len(balance.times_s), 1)))).T for unit in np.eye(6)]
    rows = np.take(np.array(each), at, axis=2) * balance.weights[:, None]
    P = np.where(weight > 0, rows, 0.0) * weight  # (6, rows, samples)
    # what the handles add moves with the object, not with the load cell
    added = np.where(weight[:, None] > 0, body_wrench(handles, moved.motion)[at], 0.0)
    edges = np.cumsum([0, *(b - a for a, b in spans)])

    def of(clock: ClockMap, possible: bool) -> FloatArray:
        y = np.einsum("irn,ni->rn", P, spline(clock.from_reference(times)) + added)
        low = np.concatenate([lowpass.apply(y[:, a:b]).T for a, b in pairwise(edges)]).ravel()
        explained = basis.T @ low
        if possible:
            explained = small @ bounded(small, explained, least)
        squares = ((low - basis @ explained) ** 2).reshape(len(Y), -1).sum(axis=1)
        return np.asarray(np.bincount(piece, squares, pieces), dtype=float)

    first, last = float(grid[known][0]), float(grid[known][-1])
    return of, (float(times[-1]) - last, float(times[0]) - first)
