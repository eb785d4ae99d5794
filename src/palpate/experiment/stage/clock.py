"""The load cells' clock: what the object's balance says of it. It needs no signal that both instruments measure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.experiment.stage.inputs import Inputs, Moved, body_wrench, fit_balance, move, projected
from palpate.identify.balance import Segment
from palpate.identify.clock_profile import bounded, least_values, profile_clock
from palpate.identify.shapes import fit_shapes
from palpate.motion.clock import ClockMap, interpolated, resample
from palpate.motion.derivatives import Lowpass
from palpate.motion.offset import Offset
from palpate.physics.arrays import FloatArray, spread_each
from palpate.physics.spline import Spline, spline

WHAT = "clock of the load cell"
STEP_S, COARSE_S = 0.01, 0.04
"""Steps of the search and of the first one over all offsets that are possible at all."""
NEAR_S = 0.3
"""How far the second goes."""
ENOUGH_S, STRETCH_S = 120.0, 15.0
"""Stretches of long segments that find the valley, whose ground all of them then tell."""
LAGS = 8
"""That are looked at together: as many as stay near the processor."""
CANDIDATES = 8
"""Of the first search that are looked at with parameters that an object can have."""


def clock_by_balance(inputs: Inputs, segments: Sequence[Segment]) -> Offset:
    """Reference minus load-cell time at which the balance leaves the smallest residual.

    Of long segments first by stretches of them, then by all. Where shapes are to be estimated, first with the shapes as
    given, then with those that the first clock shows.
    """
    wrench, moved, some = _slower(inputs), move(inputs), stretches(segments, inputs.rate_hz)
    first = _first(inputs, moved, segments, some, wrench)
    near = replace(inputs, clock=first.clock)
    if any(s.free for e in inputs.model.elements for s in e.shapes):
        on_clock = _on_clock(inputs, first.clock, wrench)
        near = near.with_model(fit_shapes(fit_balance(on_clock, moved), some, profiles=False).model)
    elif some == segments:
        return first
    return _profiled(near, moved, segments, wrench)  # as far as before: the valley that is shown is the one stated


def stretches(segments: Sequence[Segment], rate_hz: float) -> Sequence[Segment]:
    """Of segments that last much longer than is enough, stretches spread evenly over each; else the segments."""
    if sum(b - a for a, b in segments) <= 2 * ENOUGH_S:  # to look at some first saves nothing
        return segments
    spans = [(math.ceil(a * rate_hz), int(b * rate_hz)) for a, b in segments]
    some = spread_each(spans, int(ENOUGH_S * rate_hz), int(STRETCH_S * rate_hz))
    return [(a / rate_hz, b / rate_hz) for a, b in some]


def _first(
    inputs: Inputs, moved: Moved, segments: Sequence[Segment], some: Sequence[Segment], wrench: _Wrench
) -> Offset:
    """By some stretches of the segments; by all where these do not tell it."""
    if some != segments:
        try:
            return _profiled(inputs, moved, some, wrench, ends=(segments[0][0], segments[-1][1]))
        except DataProblem:
            pass
    return _profiled(inputs, moved, segments, wrench)


def _profiled(
    inputs: Inputs,
    moved: Moved,
    segments: Sequence[Segment],
    wrench: _Wrench,
    ends: Segment | None = None,
) -> Offset:
    """ends: of all that the load cells must have seen, where that is more than the segments."""
    search = _search(inputs, moved, segments, wrench)
    residuals = search.residuals
    middle, count = (segments[0][0] + segments[-1][1]) / 2, round(NEAR_S / STEP_S)
    start = inputs.clock or search.guess(ends)
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


@dataclass(frozen=True, slots=True, eq=False)
class _Wrench:
    """The wrench of all load cells at the reference's rate, on their own clock: quick to put onto another."""

    times_s: FloatArray
    each: tuple[FloatArray, ...]
    """(samples, 6) of each load cell, in its frame; NaN where nothing was seen."""
    total: Spline
    """Of all together, in the body frame, at any time of their clock ..."""
    known_s: Segment
    """... and when it is known."""


def _slower(inputs: Inputs) -> _Wrench:
    ends = [(float(x.wrench.times_s[0]), float(x.wrench.times_s[-1])) for x in inputs.sensors]
    grid = np.arange(max(a for a, _ in ends), min(b for _, b in ends), 1 / inputs.rate_hz)
    each = tuple(resample(x.wrench.times_s, x.wrench.seen_x, grid) for x in inputs.sensors)
    total = np.sum([x.to_body(w) for x, w in zip(inputs.sensors, each, strict=True)], axis=0)
    known = np.isfinite(total).all(axis=1)
    if not known.any():
        raise DataProblem(WHAT, "the load cells never record at the same time")
    # straight across gaps, where a spline would swing; the fit leaves them out
    bridged = interpolated(grid, grid[known], np.asarray(total[known], dtype=float))
    return _Wrench(grid, each, spline(grid, bridged), (float(grid[known][0]), float(grid[known][-1])))


def _on_clock(inputs: Inputs, clock: ClockMap, wrench: _Wrench) -> Inputs:
    """`Inputs.on_clock`, to look for shapes with."""
    if inputs.filtering.published:
        return inputs.on_clock(clock)
    measured = [resample(wrench.times_s, x, inputs.times_s, clock=clock) for x in wrench.each]
    return replace(inputs, clock=clock, measured=np.array(measured))


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """All that a balance needs to say of a clock. Only the wrench moves, so the columns are decomposed once."""

    wrench: Spline
    """Those components of the load cells' that the rows hold, on their clock ..."""
    known_s: Segment
    """... and when they know it."""
    times_s: FloatArray
    """(samples,) of the segments, one after the other, on the reference clock ..."""
    edges: tuple[int, ...]
    """... where each begins and the last ends."""
    rate_hz: float
    P: FloatArray
    """(rows, components, samples): what each of them does to the rows."""
    added: FloatArray
    """(components, samples): what the handles add, which moves with the object, not with the load cell."""
    lowpass: Lowpass
    basis: FloatArray
    """(rank, low-passed rows): orthonormal, of the columns ..."""
    small: FloatArray
    """(rank, parameters): ... and what the parameters make of it."""
    least: FloatArray
    """(parameters,): smallest values that an object can have."""
    starts: NDArray[np.int64]
    """(pieces,): the first low-passed row of each piece of about a second."""

    def low(self, wrench: FloatArray) -> FloatArray:
        """(..., low-passed rows) of a wrench (..., components, samples)."""
        y = np.einsum("rin,...in->...rn", self.P, wrench + self.added)
        low = np.concatenate([self.lowpass.apply(y[..., a:b]) for a, b in pairwise(self.edges)], axis=-1)
        return low.swapaxes(-1, -2).reshape(*low.shape[:-2], -1)

    def residuals(self, clock: ClockMap, possible: bool) -> FloatArray:
        """Sum of squares of pieces of about a second; possible: with parameters that an object can have."""
        at = clock.from_reference(self.times_s)
        low = self.low(np.concatenate([self.wrench(at[a:b]) for a, b in pairwise(self.edges)]).T)
        explained = self.basis @ low
        if possible:
            explained = self.small @ bounded(self.small, explained, self.least)
        left = low - explained @ self.basis
        return np.asarray(np.add.reduceat(left * left, self.starts), dtype=float)

    def guess(self, ends: Segment | None = None) -> ClockMap:
        """The offset of all possible ones at which a possible object leaves least, to a few hundredths of a second.

        ends: as for `_profiled`.
        """
        times, known, every = self.times_s, self.known_s, max(1, round(COARSE_S * self.rate_hz))
        begin, end = (float(times[0]), float(times[-1])) if ends is None else ends
        first, last = end - known[1], begin - known[0]
        if not first < last:
            raise DataProblem(WHAT, "the load cell's recording is shorter than the segments")
        lags = np.arange(first, last, every / self.rate_hz)
        # lags are whole samples apart: the wrench is evaluated once, and each lag takes its samples of it
        index = np.rint((times - times[0]) * self.rate_hz).astype(np.int64)
        shift = every * np.arange(len(lags))[::-1]
        count = int(shift[0] + index[-1]) + 1
        seen = self.wrench(float(times[0] - lags[-1]) + np.arange(count, dtype=float) / self.rate_hz).T
        depth, spans = np.empty(len(lags)), [(int(index[a]), int(index[b - 1]) + 1) for a, b in pairwise(self.edges)]
        each = sliding_window_view(seen, spans[-1][1], axis=1).swapaxes(0, 1)
        for i in range(0, len(lags), LAGS):
            some = each[shift[i] :: -every][:LAGS]
            low = self.low(np.concatenate([some[..., a:b] for a, b in spans], axis=-1))
            depth[i : i + LAGS] = np.sum(low**2, axis=1) - np.sum((low @ self.basis.T) ** 2, axis=1)
        inner = np.flatnonzero((depth <= np.roll(depth, 1)) & (depth <= np.roll(depth, -1)))
        deepest = [ClockMap(float(x), 0.0, 0.0, 0.0, 0.0, False) for x in lags[inner[np.argsort(depth[inner])]]]
        return min(deepest[:CANDIDATES], key=lambda clock: float(self.residuals(clock, True).sum()))


def _search(inputs: Inputs, moved: Moved, segments: Sequence[Segment], wrench: _Wrench) -> _Search:
    """A constant wrench in the body frame is fitted along: the load cells' zeros are not known before the clock is.

    Handles that are added back belong to the object's columns.
    """
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
    pieces = min(len(Y), max(10, int(sum(b - a for a, b in spans) / rate)))

    at = np.concatenate([np.arange(a, b) for a, b in spans])
    weight = np.where(used, 1.0 if balance.fade is None else balance.fade, 0.0)[at]
    each = [projected(replace(balance, wrench=np.tile(unit, (len(balance.times_s), 1)))).T for unit in np.eye(6)]
    rows = np.take(np.array(each), at, axis=2) * balance.weights[:, None]
    P = (np.where(weight > 0, rows, 0.0) * weight).swapaxes(0, 1)
    acting, total = np.flatnonzero(P.any(axis=(0, 2))), wrench.total  # one of six in a hinge's moment
    return _Search(
        replace(total, values=total.values[acting], curvature=total.curvature[acting]),
        wrench.known_s,
        inputs.times_s[at],
        tuple(int(x) for x in np.cumsum([0, *(b - a for a, b in spans)])),
        rate,
        np.ascontiguousarray(P[:, acting]),
        np.where(weight > 0, body_wrench(handles, moved.motion)[at].T[acting], 0.0),
        lowpass,
        np.ascontiguousarray(U[:, :rank].T),
        s[:rank, None] * Vt[:rank],
        np.append(least_values(inputs.with_zero("none").model), np.full(6, -np.inf)),
        len(balance.weights) * -(-np.arange(pieces) * len(Y) // pieces),
    )
