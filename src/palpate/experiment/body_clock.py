"""The load cell's clock of a body stage: what the object's own balance says of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.hinge_inputs import HingeInputs
from palpate.identify.balance import Balance, Segment
from palpate.identify.clock_profile import bounded, least_values, profile_clock
from palpate.motion.clocks.clock import ClockMap, resample
from palpate.motion.clocks.offset import Offset
from palpate.physics.arrays import FloatArray
from palpate.physics.spatial import wrench_transmission

STEP_S, COARSE_S = 0.01, 0.04
"""Steps of the search, and of the first one over all offsets that are possible at all."""
NEAR_S = 0.3
CANDIDATES = 8
"""Of the first search that are looked at with parameters that an object can have."""


def clock_by_balance(
    inputs: HingeInputs, balance: Balance, segments: Sequence[Segment], *, what: str = "clock of the load cell"
) -> Offset:
    """Reference minus load-cell time at which the balance leaves least, around the inputs' clock if there is one."""
    first = inputs.clock or ClockMap(_guess(inputs, balance, segments, what), 0.0, 0.0, 0.0, 0.0, False)
    drift, middle = first.drift_ppm, (segments[0][0] + segments[-1][1]) / 2
    around = float(first.offset_at(np.array(middle)))
    count = round(NEAR_S / STEP_S)
    residuals = _residuals(inputs, balance, segments)

    def tilted(clock: ClockMap) -> ClockMap:
        return replace(clock, drift_ppm=clock.drift_ppm + drift)

    found = profile_clock(
        lambda clock: residuals(tilted(clock), False),
        around + STEP_S * np.arange(-count, count + 1, dtype=float),
        at_s=middle,
        length_s=segments[-1][1] - segments[0][0],
        linear=len(inputs.model.parameters),
        what=what,
        possible_at=lambda clock: residuals(tilted(clock), True),
    )
    # the profile's drift counts beside the first guess's, and so does its offset away from the middle
    return replace(
        found, drift_ppm=found.drift_ppm + drift, value_s=found.value_s + 1e-6 * drift * (found.at_s - middle)
    )


def _guess(inputs: HingeInputs, balance: Balance, segments: Sequence[Segment], what: str) -> float:
    """The offset (s) of all possible ones at which the balance leaves least, to a few hundredths of a second.

    Of a row whose samples all count, the low-passed torque is the torque low-passed: it is read from one curve.
    """
    from scipy.interpolate import CubicSpline

    even, lowpass = inputs.wrench, balance.lowpass
    taps, step = (1, 1) if lowpass is None else (len(lowpass.taps), lowpass.step)
    used = balance.used if balance.used is not None else np.ones(len(balance.times_s), dtype=bool)
    full = used if balance.fade is None else used & (balance.fade > 1 - 1e-9)
    whole = np.convolve(full, np.ones(taps), mode="valid") > taps - 0.5
    rows, times = list[FloatArray](), list[FloatArray]()
    for a, b in (balance.indices(s) for s in segments):
        starts = np.arange(a, b - taps + 1, step)
        kept = whole[starts]
        rows.append(balance.block(a, b)[0, :-1].T[: len(starts)][kept])
        times.append(balance.times_s[starts[kept] + taps // 2])
    Y, t = np.concatenate(rows), np.concatenate(times)
    if len(Y) < 5 * Y.shape[1]:
        raise DataProblem(what, "it cannot be known: the object hardly moves", remedy="state the samples that coincide")
    grid = np.arange(float(even.times_s[0]), float(even.times_s[-1]), 1 / inputs.rate_hz)
    moment = resample(even.times_s, even.seen_x @ _about_hinge(inputs), grid)
    grid, moment = grid[np.isfinite(moment)], moment[np.isfinite(moment)]
    if lowpass is not None:
        grid, moment = grid[taps // 2 : len(grid) - taps // 2], np.convolve(moment, lowpass.taps, mode="valid")
    low, high = float(t[-1] - grid[-1]), float(t[0] - grid[0])
    if not low < high:
        raise DataProblem(what, "the load cell's recording is shorter than the segments")
    spline = CubicSpline(grid, moment)
    # the preload is not known before the clock is: a constant takes its place
    columns = np.column_stack([Y, np.ones(len(Y))])
    basis = np.linalg.qr(columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300))[0]
    lags = np.arange(low, high, COARSE_S)
    left = np.empty(len(lags))
    for i, lag in enumerate(lags):
        y = spline(t - lag)
        left[i] = 1 - float(np.sum((basis.T @ y) ** 2) / max(float(y @ y), 1e-300))
    inner = np.flatnonzero((left <= np.roll(left, 1)) & (left <= np.roll(left, -1)))
    deepest = inner[np.argsort(left[inner])][:CANDIDATES]
    least = np.append(least_values(inputs.model), -np.inf)

    def possible(lag: float) -> float:
        y = np.asarray(spline(t - lag), dtype=float)
        return float(np.sum((y - columns @ bounded(columns, y, least)) ** 2) / max(float(y @ y), 1e-300))

    return float(min(lags[deepest], key=possible))


def _about_hinge(inputs: HingeInputs) -> FloatArray:
    """(6,): what of a wrench at the sensor turns the object."""
    return wrench_transmission(inputs.T_hinge_sensor[:3, :3], inputs.T_hinge_sensor[:3, 3])[5]


def _residuals(
    inputs: HingeInputs, balance: Balance, segments: Sequence[Segment]
) -> Callable[[ClockMap, bool], FloatArray]:
    """Clock, whether parameters must be possible -> sum of squares of pieces of about a second.

    Only the wrench moves, so the columns are decomposed once.
    """
    from scipy.interpolate import CubicSpline

    spans = [balance.indices(s) for s in segments]
    Y = np.concatenate([balance.block(a, b)[0, :-1] for a, b in spans if _outputs(balance, b - a)], axis=1).T
    scale = np.maximum(np.linalg.norm(Y, axis=0), 1e-300)
    U, s, Vt = np.linalg.svd(Y / scale, full_matrices=False)
    rank = int((s > 1e-9 * s[0]).sum())
    basis, small = U[:, :rank], s[:rank, None] * Vt[:rank]
    least = least_values(inputs.model)
    pieces = max(10, int(sum(b - a for a, b in spans) / inputs.rate_hz))
    piece = np.arange(len(Y)) * pieces // len(Y)

    even = inputs.wrench
    about = _about_hinge(inputs)
    grid = np.arange(float(even.times_s[0]), float(even.times_s[-1]), 1 / inputs.rate_hz)
    moment = resample(even.times_s, even.seen_x @ about, grid)
    known = np.isfinite(moment)
    spline = CubicSpline(grid[known], moment[known])
    # preload and handle belong to the motion's clock and stay as they are
    now = resample(even.times_s, even.seen_x @ about, inputs.times_s, clock=inputs.clock)
    rest = balance.wrench[:, 5] - now
    rest = np.where(np.isfinite(rest), rest, np.nanmedian(rest))
    used = balance.used if balance.used is not None else np.ones(len(rest), dtype=bool)
    weight = np.where(used, 1.0 if balance.fade is None else balance.fade, 0.0)

    def of(clock: ClockMap, possible: bool) -> FloatArray:
        y = weight * (spline(clock.from_reference(inputs.times_s)) + rest)
        low = np.concatenate([_low(balance, y[a:b]) for a, b in spans if _outputs(balance, b - a)])
        explained = basis.T @ low
        if possible:
            explained = small @ bounded(small, explained, least)
        return np.asarray(np.bincount(piece, (low - basis @ explained) ** 2, pieces), dtype=float)

    return of


def _outputs(balance: Balance, samples: int) -> int:
    return samples if balance.lowpass is None else balance.lowpass.outputs(samples)


def _low(balance: Balance, y: FloatArray) -> FloatArray:
    return y if balance.lowpass is None else balance.lowpass.apply(y)
