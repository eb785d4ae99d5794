"""The load cell's clock of a body stage: what the object's own balance says of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from palpate.experiment.hinge_inputs import HingeInputs
from palpate.identify.balance import Balance, Segment
from palpate.identify.clock_profile import bounded, least_values, profile_clock
from palpate.motion.clock_map import ClockMap
from palpate.motion.clocks import Offset
from palpate.motion.rates import resample
from palpate.physics.arrays import FloatArray
from palpate.physics.spatial import wrench_transmission

STEP_S = 0.01
NEAR_S, FAR_S = 0.3, 5.0
"""How far to search where another witness gave a first guess, and where none did."""


def clock_by_balance(
    inputs: HingeInputs, balance: Balance, segments: Sequence[Segment], *, what: str = "clock of the load cell"
) -> Offset:
    """Reference minus load-cell time at which the balance leaves least, around the inputs' clock if there is one."""
    first = inputs.clock
    around, reach = (0.0, FAR_S) if first is None else (first.offset_s, NEAR_S)
    drift = 0.0 if first is None else first.drift_ppm
    middle = (segments[0][0] + segments[-1][1]) / 2
    if first is not None:
        around = float(first.offset_at(np.array(middle)))
    count = round(reach / STEP_S)
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
    W = wrench_transmission(inputs.T_hinge_sensor[:3, :3], inputs.T_hinge_sensor[:3, 3])
    grid = np.arange(float(even.times_s[0]), float(even.times_s[-1]), 1 / inputs.rate_hz)
    moment = resample(even.times_s, even.seen_x @ W[5], grid)
    known = np.isfinite(moment)
    spline = CubicSpline(grid[known], moment[known])
    # preload and handle belong to the motion's clock and stay as they are
    now = resample(even.times_s, even.seen_x @ W[5], inputs.times_s, clock=inputs.clock)
    rest = balance.wrench[:, 5] - now
    rest = np.where(np.isfinite(rest), rest, np.nanmedian(rest))
    used = balance.used if balance.used is not None else np.ones(len(rest), dtype=bool)

    def of(clock: ClockMap, possible: bool) -> FloatArray:
        y = np.where(used, spline(clock.from_reference(inputs.times_s)) + rest, 0.0)
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
