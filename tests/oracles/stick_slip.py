"""Drawers and hinges with dry friction, moved to and fro by a soft hand: NumPy and SciPy only, nothing of palpate.

m a = f - b_v v - s b_c while it slips to the side s; where it comes to rest it sticks until the hand exceeds b_c
(Karnopp 1985). Every reversal and every breaking loose is an event of SciPy's integrator, so that the acceleration
jumps where it does: what a recording at any rate shows of it is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from tests.oracles.tables import save_table

Array = np.ndarray
STILL_S, SLOW_S, TRAIN_S, TEST_S = 3.0, 16.0, 26.0, 10.0
LENGTH_S = STILL_S + SLOW_S + TRAIN_S + TEST_S
RATES_HZ = (100.0, 250.0, 500.0, 1000.0)
LOOK_S = 1e-3
"""How often a sticking object is asked whether it has broken loose."""


@dataclass(frozen=True)
class Case:
    """What was drawn, SI; of a hinge m is its inertia."""

    slides: bool
    m: float
    b_v: float
    b_c: float
    stiffness: float
    """Of the hand, N/m or N m/rad, and ..."""
    damping: float
    strokes: tuple[tuple[float, float, float], ...]
    """Of the quick part: amplitude, frequency in Hz, phase."""
    slow: float
    rate_hz: float
    step: float
    """Of the encoder."""
    noise: float
    """Of the force, N or N m."""

    @property
    def truth(self) -> dict[str, float]:
        return {"m" if self.slides else "I": self.m, "b_v": self.b_v, "b_c": self.b_c}


def draw(seed: int, rate_hz: float | None = None) -> Case:
    """The case of a seed: even ones slide; four rates in turn unless one is asked for."""
    rng = np.random.default_rng([seed, 17])
    slides, size = seed % 2 == 0, 0.08 if seed % 2 == 0 else 0.35
    m = rng.uniform(1.5, 12.0) if slides else rng.uniform(0.2, 4.0)
    first = rng.uniform(0.5, 1.9)
    frequencies = first, first * rng.uniform(1.2, 1.6)
    amplitudes = [size * rng.uniform(0.6, 1.2) / (f / 0.7) for f in frequencies]
    phases = rng.uniform(0, 2 * np.pi, 2)
    strokes = tuple(zip(amplitudes, frequencies, phases.tolist(), strict=True))
    peak = m * sum(a * (2 * np.pi * f) ** 2 for a, f, _ in strokes)
    share = rng.uniform(0.05, 0.6)
    b_c = peak * share / (1 + share)
    b_v = rng.uniform(0.05, 0.3) * peak / sum(a * 2 * np.pi * f for a, f, _ in strokes)
    stiffness = m * (2 * np.pi * rng.uniform(2.0, 8.0)) ** 2
    damping = rng.uniform(0.4, 0.9) * 2 * np.sqrt(stiffness * m)
    step = rng.uniform(5e-6, 4e-5) if slides else rng.uniform(5e-5, 4e-4)
    noise = peak * rng.uniform(0.0005, 0.004)
    rate = RATES_HZ[seed // 2 % 4] if rate_hz is None else rate_hz
    return Case(slides, m, b_v, b_c, stiffness, damping, strokes, 1.5 * size, rate, step, noise)


def hand(case: Case) -> Callable[[float], tuple[float, float]]:
    """Where the hand wants the object, and how fast: still, slowly to and fro, then quickly."""

    def wanted(t: float) -> tuple[float, float]:
        u = t - STILL_S
        if u < 0:
            return 0.0, 0.0
        if u < SLOW_S:
            w = 4 * np.pi / SLOW_S
            return case.slow * (1 - np.cos(w * u)) / 2, case.slow * w * np.sin(w * u) / 2
        u -= SLOW_S
        grow, slope = (1.0, 0.0) if u > 1.5 else (u * u * (3 - 2 * u / 1.5) / 2.25, 6 * u * (1 - u / 1.5) / 2.25)
        x = sum(a * np.sin(2 * np.pi * f * u + p) for a, f, p in case.strokes)
        v = sum(a * 2 * np.pi * f * np.cos(2 * np.pi * f * u + p) for a, f, p in case.strokes)
        return grow * x, grow * v + slope * x

    return wanted


def simulate(case: Case, rate_hz: float) -> tuple[Array, Array, Array]:
    """Times (s), position and the hand's force at a rate, without noise."""
    wanted = hand(case)

    def force(t: float, x: float, v: float) -> float:
        at, speed = wanted(t)
        return case.stiffness * (at - x) + case.damping * (speed - v)

    times = np.arange(0.0, LENGTH_S, 1 / rate_hz)
    x, f = np.zeros(len(times)), np.zeros(len(times))
    t, place, side = STILL_S, 0.0, 0.0
    while t < LENGTH_S:
        if side == 0.0:
            end = _held_until(partial(force, x=place, v=0.0), case.b_c, t)
            path: Callable[[Array], Array] = partial(_resting, place)
            after = place
        else:
            path, end, after = _slipped(case, force, t, place, side)
        here = (times >= t) & (times < end)
        if here.any():
            y = path(times[here])
            x[here], f[here] = y[0], [force(*at) for at in zip(times[here], *y, strict=True)]
        push = force(end, after, 0.0)
        # what has broken loose goes on; what comes to rest sticks unless the hand is stronger
        side = float(np.sign(push)) if side == 0.0 or abs(push) > case.b_c else 0.0
        t, place = end, after
    return times, x, f


def _resting(place: float, t: Array) -> Array:
    return np.vstack([np.full(len(t), place), np.zeros(len(t))])


def _held_until(push: Callable[[float], float], limit: float, t: float) -> float:
    """When the hand exceeds friction."""

    def beyond(s: float) -> float:
        return abs(push(s)) - limit

    while t < LENGTH_S and beyond(t + LOOK_S) < 0:
        t += LOOK_S
    return float(brentq(beyond, t, t + LOOK_S)) if t < LENGTH_S and beyond(t) < 0 else t


def _slipped(
    case: Case, force: Callable[[float, float, float], float], t: float, place: float, side: float
) -> tuple[Callable[[Array], Array], float, float]:
    """Position and speed by time from t on, until it comes to rest: when, and where."""

    def slope(s: float, y: Array) -> list[float]:
        return [y[1], (force(s, y[0], y[1]) - case.b_v * y[1] - side * case.b_c) / case.m]

    def turns(s: float, y: Array) -> float:
        return side * y[1] if s > t + 1e-7 else 1.0

    turns.terminal, turns.direction = True, -1  # type: ignore[attr-defined]
    run = solve_ivp(
        slope, (t, LENGTH_S), [place, side * 1e-12], method="DOP853", events=turns, dense_output=True, rtol=1e-9,
        atol=1e-12, max_step=0.02,
    )  # fmt: skip
    return run.sol, float(run.t[-1]), float(run.y[0, -1])


def write(folder: Path, seed: int, *, rate_hz: float | None = None) -> tuple[Path, dict[str, float]]:
    """Table and experiment file; -> the latter and the truth."""
    case = draw(seed, rate_hz)
    rng, (t, x, f) = np.random.default_rng([seed, 18]), simulate(case, case.rate_hz)
    shown = np.round((x + rng.uniform(0, 1) * case.step) / case.step) * case.step
    save_table(
        folder / "log.csv", ["t", "x", "f"], np.column_stack([t, shown, f + rng.normal(0, case.noise, len(t))]), "%.8g"
    )
    slow, train, test = STILL_S, STILL_S + SLOW_S, STILL_S + SLOW_S + TRAIN_S
    units, keys = (("m", "N"), ("position", "force")) if case.slides else (("rad", "N m"), ("angle", "torque"))
    path = folder / "table.yaml"
    path.write_text(f"""\
object: {"drawer" if case.slides else "interior-door"}
stage: body
recordings:
  signals:
    file: log.csv
    time: {{column: t, unit: s}}
    columns: {{x: {{column: x, unit: {units[0]}}}, f: {{column: f, unit: {units[1]}}}}}
    {keys[0]}: x
    {keys[1]}: f
segments:
  static: [0.2, {STILL_S - 0.2:g}]
  quasi_static: [{slow:g}, {train - 0.5:g}]
  train: [{train + 0.5:g}, {test - 0.5:g}]
  test: [{test:g}, {LENGTH_S - 0.2:g}]
""")
    return path, case.truth
