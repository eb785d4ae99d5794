"""Two bodies in series that somebody else simulated: SciPy's ODE, noise by NumPy, files by the csv module."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import cos, pi, sin, sqrt, tanh
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

RATE_HZ, LENGTH_S, SHORT_S = 250.0, 64.0, 44.0
SLIPS = 1e-6
"""m/s over which friction changes sides."""
REACH_M = 0.35
"""Of a lever: where the hand holds it, from the axis. By the hand's travel it moves as a drawer does."""


@dataclass(frozen=True)
class Pair:
    """The hand holds m_1, k and c lead to m_2, which rubs: a drawer behind an adapter, or a lever before what it turns.
    SI units, of a lever in rad.
    """

    m_1: float = 0.6
    m_2: float = 6.0
    k: float = 9e3
    c: float = 25.0
    b_v: float = 8.0
    b_c: float = 4.0
    noise_m: float = 5e-5
    noise_n: float = 0.03
    stribeck: float = 0.0
    third: tuple[float, float] = (0.0, 0.0)
    """Mass (kg) and stiffness (N/m) of a third body behind the second."""
    play: float = 0.0
    """Between the two, from side to side."""
    hand: tuple[float, ...] = field(default=(0.0,) * 6)
    """How the hand's motion differs, from -1 to 1."""
    turns: bool = False

    @property
    def truth(self) -> Mapping[str, float]:
        """By parameter; the inner body is all that it carries."""
        names = {"m_1": "I_1", "m_2": "I_2"} if self.turns else {}
        values = {names.get(n, n): getattr(self, n) for n in ("m_1", "m_2", "k", "c", "b_c", "b_v")}
        return values | {names.get("m_2", "m_2"): self.m_2 + self.third[0]}

    @property
    def reach(self) -> float:
        """Travel of the hand over the coordinate, m or m/rad."""
        return REACH_M if self.turns else 1.0


def random_lever(seed: int) -> Pair:
    """0.004 to 0.03 kg m2 before 0.1 to 0.6 kg m2, which would swing at 2 to 12 Hz."""
    rng = np.random.default_rng([seed, 19])

    def between(low: float, high: float) -> float:
        return float(low * (high / low) ** rng.uniform())

    I_1, I_2, swings = between(0.004, 0.03), between(0.1, 0.6), 2 * pi * between(2, 12)
    k = I_2 * swings**2
    c, b_v, b_c = 2 * between(0.03, 0.2) * sqrt(k * I_2), between(0.1, 0.6), between(0.2, 1.0)
    hand = tuple(rng.uniform(-1, 1, 6).tolist())
    return Pair(I_1, I_2, k, c, b_v, b_c, noise_m=1.5e-4, noise_n=0.005, hand=hand, turns=True)


def random_pair(seed: int) -> Pair:
    """Stiffness 2 to 40 N/mm."""
    rng = np.random.default_rng([seed, 17])

    def between(low: float, high: float) -> float:
        return float(low * (high / low) ** rng.uniform())

    m_1, m_2, k = between(0.3, 1.5), between(3, 12), between(2e3, 40e3)
    c = 2 * between(0.03, 0.2) * sqrt(k * m_2)
    b_v, b_c = between(3, 15), between(2, 8)
    rng.uniform()  # drawn once for what is no longer there: seeds stay the same pairs
    hand = tuple(rng.uniform(-1, 1, 6).tolist())
    return Pair(m_1, m_2, k, c, b_v, b_c, hand=hand)


def wanted(pair: Pair, t: float) -> float:
    """Where the hand wants to be, m: still, a slow pass, then quicker and quicker strokes; turned round sharply."""
    a, b, c, d, e, _ = pair.hand
    if t < 24:
        return 0.2 * (1 - cos(2 * pi * (t - 4) / 20)) if t >= 4 else 0.0
    u = t - 26
    slow, quick, fast = 0.5 + 0.1 * a, 1.3 + 0.25 * b, 2.9 + 0.5 * c
    x = (
        0.2
        + 0.1 * sin(2 * pi * slow * u)
        + (0.04 + 0.01 * d) * sin(2 * pi * quick * u + e)
        + 0.008 * sin(2 * pi * fast * u)
    )
    begin = min(max(u / 1.5, 0.0), 1.0) * min(max((LENGTH_S - 1 - t) / 1.5, 0.0), 1.0)
    return x * begin * begin * (3 - 2 * begin)


def simulate(pair: Pair, length_s: float = LENGTH_S) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Times (s), outer and inner position (m), and the hand's force (N) at `RATE_HZ`."""
    t, reach = np.arange(0, length_s, 1 / RATE_HZ), pair.reach
    K, D = 1500.0 * reach**2, 110.0 * reach**2
    m_3, k_3 = pair.third

    def pushed(s: float, x: float, v: float) -> float:
        ahead = (wanted(pair, s + 1e-4) - wanted(pair, s - 1e-4)) / 2e-4
        return K * (wanted(pair, s) / reach - x) + D * (ahead / reach - v)

    def slope(s: float, y: np.ndarray) -> list[float]:
        x, v, u, w, *more = y.tolist()
        beyond = x - u - min(max(x - u, -pair.play / 2), pair.play / 2)
        passed = pair.k * beyond + (pair.c * (v - w) if beyond or not pair.play else 0.0)
        level = pair.b_c + pair.stribeck * np.exp(-((w * reach / 0.03) ** 2))
        moves = passed - pair.b_v * w - level * tanh(w * reach / SLIPS)
        rates = [v, (pushed(s, x, v) - passed) / pair.m_1, w, 0.0]
        if m_3:
            at, fast = more
            behind = k_3 * (u - at) + 0.05 * sqrt(k_3 * m_3) * (w - fast)
            rates += [fast, behind / m_3]
            moves -= behind
        rates[3] = moves / pair.m_2
        return rates

    start = [0.0] * (6 if m_3 else 4)
    y = solve_ivp(slope, (0, length_s), start, t_eval=t, rtol=1e-9, atol=1e-11, max_step=2e-3, method="LSODA").y
    return t, y[0], y[2], np.array([pushed(*at) for at in zip(t.tolist(), y[0].tolist(), y[1].tolist(), strict=True)])


def write(folder: Path, pair: Pair, seed: int = 0, *, short: bool = False) -> Path:
    """A plain table of position and force on the hand's side, and its experiment file; short: what a test needs."""
    rng, (t, x, _, f) = np.random.default_rng([seed, 18]), simulate(pair, SHORT_S if short else LENGTH_S)
    rows = np.column_stack([t, x + rng.normal(0, pair.noise_m, len(t)), f + rng.normal(0, pair.noise_n, len(t))])
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["t", "x", "F"])
        writer.writerows([f"{a:.4f}", f"{b:.7f}", f"{c:.5f}"] for a, b, c in rows.tolist())
    return write_experiment(folder, pair, short=short)


def write_experiment(folder: Path, pair: Pair, *, short: bool = False) -> Path:
    """The experiment file of such a table."""
    name, units, means = ("lever", ("rad", "N m"), ("angle", "torque"))
    if not pair.turns:
        name, units, means = ("drawer-soft", ("m", "N"), ("position", "force"))
    late = "36.5, 43" if short else "48.5, 62"
    path = folder / "series.yaml"
    path.write_text(
        f"""object: {name}
stage: body
recordings:
  signals:
    file: log.csv
    time: {{column: t, unit: s}}
    columns: {{x: {{column: x, unit: {units[0]}}}, f: {{column: F, unit: {units[1]}}}}}
    {means[0]}: x
    {means[1]}: f
segments: {{static: [0.5, 3.5], quasi_static: [4, 24], train: [27, {36 if short else 48}], test: [{late}]}}
"""
    )
    return path
