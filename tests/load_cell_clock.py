"""Offset of a load cell against the motion of a whole recording, by the balance alone: profile_clock put to use."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from palpate.errors import DataProblem
from palpate.identify.balance import Balance, Segment, build_balance
from palpate.identify.clock_profile import bounded, least_values, profile_clock
from palpate.model import Model
from palpate.motion.clock import ClockMap
from palpate.motion.derivatives import Lowpass, design_lowpass
from palpate.motion.offset import Offset
from palpate.physics.arrays import FloatArray, nearest, rate_hz, runs
from palpate.physics.functions import ARRAYS
from palpate.physics.motion import Motion

BANDWIDTH_HZ = 5.0
_PERIOD = 0.05
"""Step of the first search, in periods of the bandwidth: ten in each valley, as half a period may be one."""
_PIECE_S = 1.0
_FEWEST_PIECES = 10
_DEPENDENT = 1e-9


def profile_load_cell(
    model: Model,
    motion: Motion,
    times_s: FloatArray,
    wrench: FloatArray,
    *,
    sigma: Sequence[float] | FloatArray,
    around_s: float = 0.0,
    reach_s: float = 1.0,
    segments: Sequence[Segment] | None = None,
    bandwidth_hz: float = BANDWIDTH_HZ,
    what: str = "clock offset of the load cell",
) -> Offset:
    """Offset of a load cell against the motion (the reference), by the residual of the object's own balance.

    motion: on the reference clock, NaN where it was not seen. times_s (n,), even, s, and wrench (n, 6), in the body
    frame and the sense "person on object": on the load cell's clock, NaN where lost. Searched is around_s +- reach_s
    (reference minus load-cell time). segments: s on the reference clock; by default all that both saw. Both sides
    pass the same low-pass.
    """
    from scipy.interpolate import CubicSpline

    grid, slow = _lowpassed(motion.times_s, _stack(motion), bandwidth_hz)
    device, w = _lowpassed(times_s, wrench, bandwidth_hz)
    blind = ~np.isfinite(w).all(axis=1)
    spline = CubicSpline(device[~blind], w[~blind])
    slow_motion = Motion(grid, slow[:, :3], slow[:, 3:6], slow[:, 6:])
    at = grid - around_s
    ends = np.concatenate([device[:1], device[blind], device[-1:]])
    clear = np.abs(at - ends[nearest(ends, at)]) > reach_s + 0.05
    inside = (at > device[0]) & (at < device[-1])
    seen = np.asarray(np.isfinite(slow).all(axis=1) & clear & inside)
    spans = _runs(grid, seen) if segments is None else list(segments)
    if not spans or not all(seen[(grid >= a) & (grid < b)].all() for a, b in spans):
        raise DataProblem(
            what,
            f"motion and load cell did not both see the segments within +- {reach_s:g} s",
            remedy="leave gaps out of the segments, search less far, or give a better first guess (around_s)",
        )
    length, middle = spans[-1][1] - spans[0][0], (spans[-1][1] + spans[0][0]) / 2
    base = build_balance(model, slow_motion, np.zeros((len(grid), 6)), sigma=sigma)
    residuals_of = _fixed_columns(base, spans)

    def at_clock(clock: ClockMap, possible: bool = False) -> FloatArray:
        return residuals_of(np.asarray(spline(clock.from_reference(grid)), dtype=float), possible)

    step = _PERIOD / bandwidth_hz
    count = max(3, round(reach_s / step))
    return profile_clock(
        at_clock,
        around_s + step * np.arange(-count, count + 1, dtype=float),
        at_s=middle,
        length_s=length,
        linear=len(model.parameters),
        what=what,
        possible_at=lambda clock: at_clock(clock, True),
    )


def _fixed_columns(balance: Balance, segments: Sequence[Segment]) -> Callable[[FloatArray, bool], FloatArray]:
    """Wrench (samples, 6), whether parameters must be possible -> residuals of each piece.

    Only the wrench changes, so columns are decomposed once.
    """
    Y = np.concatenate([balance.rows(s)[:, :, :-1] for s in segments]) * balance.weights[:, None]
    flat = Y.reshape(-1, Y.shape[2])
    U, s, Vt = np.linalg.svd(flat / np.maximum(np.linalg.norm(flat, axis=0), 1e-300), full_matrices=False)
    rank = int((s > _DEPENDENT * s[0]).sum())
    basis, small, least = U[:, :rank], s[:rank, None] * Vt[:rank], least_values(balance.model)
    rows = np.concatenate([np.arange(*balance.indices(s)) for s in segments])
    count = _pieces(segments)
    piece = np.arange(len(rows)) * count // len(rows)
    project, k = balance.model.mechanism.project, balance.kinematics

    def of(wrench: FloatArray, possible: bool) -> FloatArray:
        projected = project(k, [wrench[:, i] for i in range(6)], ARRAYS)
        y = np.array(projected, dtype=float).T[rows] * balance.weights
        explained = basis.T @ y.ravel()
        if possible:
            explained = small @ bounded(small, explained, least)
        squares = ((y.ravel() - basis @ explained).reshape(y.shape) ** 2).sum(axis=1)
        return np.asarray(np.bincount(piece, squares, count), dtype=float)

    return of


def _pieces(segments: Sequence[Segment]) -> int:
    return max(_FEWEST_PIECES, int(sum(b - a for a, b in segments) / _PIECE_S))


def _stack(motion: Motion) -> FloatArray:
    return np.hstack([motion.specific_acceleration, motion.omega, motion.omega_dot])


def _lowpassed(times_s: FloatArray, x: FloatArray, bandwidth_hz: float) -> tuple[FloatArray, FloatArray]:
    """(samples, channels) below the bandwidth, decimated; NaN spread by the filter."""
    rate = rate_hz(times_s)
    lowpass: Lowpass = design_lowpass(rate, min(bandwidth_hz, 0.3 * rate))
    half = len(lowpass.taps) // 2
    return times_s[half : len(times_s) - half : lowpass.step], lowpass.apply(np.ascontiguousarray(x.T)).T


def _runs(times_s: FloatArray, seen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[Segment]:
    """Runs of seen samples of at least a piece's length, as segments."""
    step = (times_s[-1] - times_s[0]) / (len(times_s) - 1)
    found = [(float(times_s[a]), float(times_s[b - 1] + step / 2)) for a, b in runs(seen)]
    return [(a, b) for a, b in found if b - a >= _PIECE_S]
