"""Two bodies in series under the measured force, held to the measured positions: what each position tells that was not
known before it.

A position is noisy, a force is too, and what is soft makes a large force of a small error of position. So the force
drives both bodies and the positions hold them, weakly: with the gains of a Kalman filter in steady state (Anderson &
Moore 1979, Optimal Filtering, 4.4) for bodies that slip. What is left of each position beside its prediction is then
white, and knows nothing of the noise that moved the bodies: its squares are those of maximum likelihood (Ljung 1999,
System Identification, 7.4), whether the inner body slips or sticks.

Steps as in `driven.py`, for both bodies at once; between samples the force is a cubic (Catmull & Rom 1974).
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_double, c_long, c_void_p
from dataclasses import dataclass

import numpy as np

from palpate.errors import PalpateError
from palpate.physics.arrays import FloatArray
from palpate.runtime.driven import SWEEPS, Driven, after_step

STEP_S = 5e-4
"""A step, s, at most."""
MOST_STEPS = 200
"""In a sample."""
DOUBLED = 40
"""How often, at most, until a filter no longer changes."""


@dataclass(frozen=True, slots=True, eq=False)
class Gains:
    """How much of what a position shows beyond its prediction goes to outer and inner position and speed."""

    values: FloatArray
    """(4,)."""
    std: float
    """Of what is left then, rad or m."""


def gains(of: Driven, p: FloatArray, position: float, period: float, noise: tuple[float, float]) -> Gains:
    """For bodies that slip about a position; p: (parameters, 1); noise: of a position and of a force."""
    from scipy.linalg import expm

    A, B, M = of.linear(p, position)
    F = np.zeros((5, 5))
    F[:2, 2:4] = np.eye(2)
    F[2:4, :2], F[2:4, 2:4], F[2, 4] = -A / M[:, None], -B / M[:, None], 1 / M[0]
    step = expm(F * period)
    pushed = step[:4, 4:]
    # in units in which all states are alike, or the equation loses its digits
    scale = np.array([noise[0], noise[0], noise[0] / period, noise[0] / period])
    Q = noise[1] ** 2 * pushed @ pushed.T / scale[:, None] / scale + 1e-12 * np.eye(4)
    P = _steady(step[:4, :4] / scale[:, None] * scale, Q)
    if not np.isfinite(P).all():
        raise PalpateError("two bodies in series: no filter holds them to the positions")
    first = np.asarray(P[:, 0] * scale * scale[0], dtype=float)
    total = float(first[0]) + noise[0] ** 2
    return Gains(np.ascontiguousarray(first / total), float(np.sqrt(total)))


def _steady(F: FloatArray, Q: FloatArray) -> FloatArray:
    """Covariance before each sample of the first state, whose noise is one: the discrete Riccati equation by doubling
    (Anderson 1978, Int. J. Control 28).
    """
    back, doubt, seen = F.T, Q, np.diag([1.0, 0.0, 0.0, 0.0])
    with np.errstate(all="ignore"):
        for _ in range(DOUBLED):
            W = np.linalg.inv(np.eye(4) + seen @ doubt)
            back, seen, more = back @ W @ back, seen + back @ W @ seen @ back.T, back.T @ doubt @ W @ back
            doubt = doubt + 0.5 * (more + more.T)
            if not np.abs(more).max() > 1e-13 * np.abs(doubt).max():
                break
    return doubt


def observe(
    of: Driven,
    spans: Sequence[tuple[int, int]],
    period: float,
    position: FloatArray,
    force: FloatArray,
    p: FloatArray,
    held: Gains,
    *,
    inside: FloatArray | None = None,
    coarse: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """(copies, samples) each: what is left of each position beside its prediction, and where the outer body then is.

    Over spans of samples at which position and force (samples,) are known; p: (parameters, copies). NaN elsewhere.
    inside (samples,): a force on the inner body; coarse: how much longer steps are than they would be.
    """
    steps = int(np.clip(np.ceil(period / (coarse * STEP_S) - 1e-9), 1, MOST_STEPS))
    out = np.full((2, p.shape[1], len(position)), np.nan)
    run = of.observing
    for a, b in spans:
        q, f = (np.ascontiguousarray(x[a:b], dtype=float) for x in (position, force))
        more = None if inside is None else np.ascontiguousarray(inside[a:b], dtype=float)
        if run is None:
            out[:, :, a:b] = _side_by_side(of, q, f, more, period, steps, p, held.values)
            continue
        run.restype = None
        run.argtypes = (*(c_void_p,) * 3, c_long, c_double, c_long, *(c_void_p,) * 4)
        for i, values in enumerate(np.ascontiguousarray(p.T)):
            state, path = _start(q, period), np.empty((2, b - a))
            data = [x.ctypes.data for x in (values, held.values, state, path)]
            run(q.ctypes.data, f.ctypes.data, None if more is None else more.ctypes.data, b - a, period, steps, *data)
            out[:, i, a:b] = path
    return out[0], out[1]


def _start(q: FloatArray, period: float) -> FloatArray:
    """Both where the outer one is seen, with its speed over the first samples."""
    n = min(len(q), 9)
    slope = float(np.polyfit(np.arange(n) * period, q[:n], 1)[0]) if n > 2 else 0.0
    return np.array([q[0], q[0], slope, slope])


def _between(f: FloatArray, i: int, x: float) -> float:
    """A cubic through samples i and i + 1, x from 0 to 1."""
    before, here, after, later = f[np.clip([i - 1, i, i + 1, i + 2], 0, len(f) - 1)].tolist()
    rise, slope, end = after - here, 0.5 * (after - before), 0.5 * (later - here)
    return here + x * (slope + x * (3 * rise - 2 * slope - end + x * (slope + end - 2 * rise)))


def _side_by_side(
    of: Driven,
    q: FloatArray,
    f: FloatArray,
    inside: FloatArray | None,
    period: float,
    steps: int,
    p: FloatArray,
    held: FloatArray,
) -> FloatArray:
    """(2, copies, samples): all copies at once in NumPy, where there is no compiler."""
    dt, copies = period / steps, p.shape[1]
    state = np.repeat(_start(q, period)[:, None], copies, axis=1)
    out = np.empty((2, copies, len(q)))
    with np.errstate(all="ignore"):
        for i in range(len(q)):
            off = q[i] - state[0]
            state = state + held[:, None] * off
            out[0, :, i], out[1, :, i] = off, state[0]
            for k in range(steps):
                y = of.all_of(state, p)
                a, b, c, d = (
                    (y[10 + j] if i == j else 0.0) + dt * (0.5 * y[6 + 2 * i + j] + 0.25 * dt * y[2 + 2 * i + j])
                    for i in range(2)
                    for j in range(2)
                )
                det = a * d - b * c
                G = ((d / det, -b / det), (-c / det, a / det))
                more = 0.0 if inside is None else _between(inside, i, k / steps)
                one, other = dt * (_between(f, i, k / steps) - y[0]), dt * (more - y[1])
                by = [row[0] * one + row[1] * other for row in G]
                impulse = [np.zeros(copies), np.zeros(copies)]
                new = [state[2], state[3]]
                for _ in range(SWEEPS):
                    for j in range(2):
                        change = by[j] - G[j][1 - j] * impulse[1 - j]
                        new[j] = after_step(state[2 + j], change, G[j][j] * dt * y[12 + j])
                        impulse[j] = (state[2 + j] + change - new[j]) / G[j][j]
                new[0] = state[2] + by[0] - G[0][0] * impulse[0] - G[0][1] * impulse[1]
                speeds = np.array(new)
                state = np.concatenate([state[:2] + dt * speeds, speeds])
    return out
