"""The load cells' clock of a rolling object: what its own balance says of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from palpate.elements import SensorBias
from palpate.errors import DataProblem
from palpate.experiment.rolling_inputs import RollingInputs
from palpate.identify import Balance, build_balance
from palpate.identify.balance import Segment
from palpate.identify.clock_profile import bounded, least_values, profile_clock
from palpate.motion.clocks.clock import ClockMap, resample
from palpate.motion.clocks.offset import Offset
from palpate.motion.derivatives.filters import design_lowpass
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS

BANDWIDTH_HZ = 5.0
"""A hand's motion; a clock is compared below it."""
STEP_S, COARSE_S, NEAR_S = 0.01, 0.04, 0.3
"""Steps of the search and of the first one over all offsets that are possible at all, and how far the second goes."""
CANDIDATES = 8
WHAT = "clock of the load cells"
Residuals = Callable[[ClockMap, bool], FloatArray]


def rolling_clock(inputs: RollingInputs, segments: Sequence[Segment]) -> Offset:
    """Reference minus load-cell time at which the balance leaves least.

    A constant wrench in the object's frame is fitted along: the load cells' zeros are not known before the clock is.
    """
    residuals, span = _residuals(inputs, segments)
    guess = _guess(residuals, span)
    middle, count = (segments[0][0] + segments[-1][1]) / 2, round(NEAR_S / STEP_S)
    return profile_clock(
        lambda clock: residuals(clock, False),
        guess + STEP_S * np.arange(-count, count + 1, dtype=float),
        at_s=middle,
        length_s=segments[-1][1] - segments[0][0],
        linear=len(inputs.model.parameters) + 6,
        what=WHAT,
        possible_at=lambda clock: residuals(clock, True),
    )


def _guess(residuals: Residuals, span: Segment) -> float:
    """The offset (s) of all possible ones at which a possible object leaves least, to a few hundredths of a second."""
    if not span[0] < span[1]:
        raise DataProblem(WHAT, "the load cells' recording is shorter than the segments")

    def left(lag: float, possible: bool) -> float:
        return float(residuals(ClockMap(lag, 0.0, 0.0, 0.0, 0.0, False), possible).sum())

    lags = np.arange(*span, COARSE_S)
    found = np.array([left(float(lag), False) for lag in lags])
    inner = np.flatnonzero((found <= np.roll(found, 1)) & (found <= np.roll(found, -1)))
    deepest = lags[inner[np.argsort(found[inner])][:CANDIDATES]]
    return float(deepest[int(np.argmin([left(float(lag), True) for lag in deepest]))])


def _projected(balance: Balance, i: int) -> FloatArray:
    """(rows, samples): what one component of a wrench in the object's frame does to the rows."""
    w = [np.full(len(balance.times_s), float(i == j)) for j in range(6)]
    return np.array(balance.model.mechanism.project(balance.kinematics, w, ARRAYS), dtype=float)


def _residuals(inputs: RollingInputs, segments: Sequence[Segment]) -> tuple[Residuals, Segment]:
    """Clock, whether parameters must be possible -> sum of squares of pieces of about a second; and the offsets that
    the recordings allow, s.

    Only the wrench moves, so the columns are decomposed once. Handles that are added back are a part of the object
    here: what they do is a combination of the same columns.
    """
    from scipy.interpolate import CubicSpline

    model = inputs.with_zero("estimated").model
    rate, motion = inputs.rate_hz, inputs.motion()
    lowpass = design_lowpass(rate, min(BANDWIDTH_HZ, 0.3 * rate))
    nothing = np.zeros((len(inputs.times_s), 6))
    used = inputs.seen(motion, nothing)
    balance = replace(build_balance(model, motion, nothing, sigma=inputs.sigma, used=used), lowpass=lowpass)
    spans = [span for span in (balance.indices(s) for s in segments) if lowpass.outputs(span[1] - span[0])]
    if not spans or sum(int(used[a:b].sum()) for a, b in spans) < 10 * len(model.parameters):
        raise DataProblem(WHAT, "it cannot be known: the object hardly moves", remedy="state the samples that coincide")
    blocks = [balance.block(a, b)[:, :-1] * balance.weights[:, None, None] for a, b in spans]
    Y = np.concatenate([b.transpose(2, 0, 1) for b in blocks])  # (outputs, rows, parameters)
    flat = Y.reshape(-1, Y.shape[2])
    U, s, Vt = np.linalg.svd(flat / np.maximum(np.linalg.norm(flat, axis=0), 1e-300), full_matrices=False)
    rank = int((s > 1e-9 * s[0]).sum())
    basis, small = U[:, :rank], s[:rank, None] * Vt[:rank]
    own = tuple(e for e in model.elements if not isinstance(e, SensorBias))
    least = np.append(least_values(replace(model, elements=own)), np.full(6, -np.inf))
    pieces = max(10, int(sum(b - a for a, b in spans) / rate))
    piece = np.arange(len(Y)) * pieces // len(Y)

    even = inputs.sensors[0].wrench
    ends = [(float(e.wrench.times_s[0]), float(e.wrench.times_s[-1])) for e in inputs.sensors]
    grid = np.arange(max(a for a, _ in ends), min(b for _, b in ends), 1 / rate)
    total = np.sum(
        [e.to_body(resample(e.wrench.times_s, e.wrench.seen_x, grid)) for e in inputs.sensors], axis=0, dtype=float
    )
    known = np.isfinite(total).all(axis=1)
    if not known.any():
        raise DataProblem(WHAT, f"the load cells never see anything together ({len(even.times_s)} samples)")
    spline = CubicSpline(grid[known], total[known])
    at = np.concatenate([np.arange(a, b) for a, b in spans])
    times, kept = inputs.times_s[at], used[at]
    P = np.array([_projected(balance, i) for i in range(6)])[:, :, at] * balance.weights[:, None]  # (6, rows, samples)
    P[:, :, ~kept] = 0.0
    edges = np.cumsum([0, *(b - a for a, b in spans)])

    def of(clock: ClockMap, possible: bool) -> FloatArray:
        y = np.einsum("irn,ni->rn", P, spline(clock.from_reference(times)))
        low = np.concatenate([lowpass.apply(y[:, a:b]).T for a, b in pairwise(edges)]).ravel()
        explained = basis.T @ low
        if possible:
            explained = small @ bounded(small, explained, least)
        squares = ((low - basis @ explained) ** 2).reshape(len(Y), -1).sum(axis=1)
        return np.asarray(np.bincount(piece, squares, pieces), dtype=float)

    first, last = float(grid[known][0]), float(grid[known][-1])
    return of, (float(times[-1]) - last, float(times[0]) - first)
