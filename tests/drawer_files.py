"""A drawer that somebody else simulated: SciPy's ODE, noise by NumPy."""

from __future__ import annotations

from functools import cache
from math import cos, hypot, pi, sin, tanh
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

from tests.oracles.tables import save_table

TRUTH = {"m": 6.4, "b_v": 9.0, "b_c": 3.2}
RATE_HZ, FORCE_HZ = 100.0, 1000.0
LENGTH_S = 60.0
IMU_LATE_S, IMU_UNITS = 0.5123, ["m/s2"] * 3 + ["rad/s"] * 3
NOISE_M, NOISE_N, NOISE_NM = 2e-4, 0.05, 2e-3


def hand(t: float) -> float:
    """Where the hand wants the drawer, m: a slow pass through the travel, then quicker ones; still at first."""
    if t < 25:
        return 0.2 * (1 - cos(2 * pi * (t - 5) / 20)) if t >= 5 else 0.0
    u = min(max((t - 27) / 30, 0.0), 1.0)
    quick = 0.2 + 0.12 * sin(2 * pi * (0.5 + 0.8 * u) * (t - 27)) + 0.05 * sin(2 * pi * 1.9 * (t - 27))
    begin = min(max((t - 26) / 1.5, 0.0), 1.0) * min(max((59 - t) / 1.5, 0.0), 1.0)
    return quick * begin * begin * (3 - 2 * begin)


def across(t: float) -> tuple[float, float]:
    """What the hand presses sideways and upwards, N."""
    return 8 * sin(0.9 * t) + 4 * sin(2.3 * t), 14 * sin(0.6 * t + 1) - 5 * cos(1.7 * t)


@cache
def simulate(mu: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (s), position (m) and the hand's force (N) at `FORCE_HZ`: a stiff hand, m x'' + b_v x' + b_c sgn x'.

    mu: of its rails, which bear the weight and what the hand presses across them.
    """
    t = np.arange(0, LENGTH_S, 1 / FORCE_HZ)
    k, d = 900.0, 90.0

    def force(s: float, x: float, v: float) -> float:
        ahead = (hand(s + 1e-4) - hand(s - 1e-4)) / 2e-4
        return k * (hand(s) - x) + d * (ahead - v)

    def slope(s: float, y: np.ndarray) -> list[float]:
        x, v = y.tolist()
        aside, up = across(s) if mu else (0.0, 0.0)
        rails = mu * hypot(aside, up - TRUTH["m"] * 9.80665)
        friction = TRUTH["b_v"] * v + (TRUTH["b_c"] + rails) * tanh(v / 1e-3)
        return [v, (force(s, x, v) - friction) / TRUTH["m"]]

    y = solve_ivp(slope, (0, LENGTH_S), [0.0, 0.0], t_eval=t, rtol=1e-8, atol=1e-10, max_step=0.01, method="LSODA").y
    return t, y[0], np.array([force(*at) for at in zip(t.tolist(), *y.tolist(), strict=True)])


def write_table(folder: Path, seed: int = 0, *, stiffness: float = np.inf, keys: str = "") -> Path:
    """A plain table of position and force, and its experiment file.

    stiffness, N/m: of what is between the drawer and where its position is measured, on the hand's side.
    """
    rng, (t, x, f) = np.random.default_rng(seed), simulate()
    x = x + f / stiffness
    at = slice(None, None, int(FORCE_HZ / RATE_HZ))
    x, f = x[at] + rng.normal(0, NOISE_M, len(t[at])), f[at] + rng.normal(0, NOISE_N, len(t[at]))
    save_table(folder / "log.csv", ["t", "x", "F"], np.column_stack([t[at], x, f]), "%.9g")
    path = folder / "table.yaml"
    path.write_text(
        keys
        + """object: drawer
stage: body
recordings:
  signals:
    file: log.csv
    time: {column: t, unit: s}
    columns: {x: {column: x, unit: m}, f: {column: F, unit: N}}
    position: x
    force: f
segments: {static: [0.5, 4.5], quasi_static: [5, 25], train: [28, 46], test: [46.5, 57]}
"""
    )
    return path


def write_capture(folder: Path, seed: int = 0, *, straight: bool = False, mu: float = 0.0) -> Path:
    """Five markers on the drawer in an oblique capture frame, a load cell behind its handle, clocks apart.

    straight: the knob is where the force passes through the sensor. mu: of rails under a hand that presses (`across`).
    """
    rng, (t, x, f) = np.random.default_rng(seed), simulate(mu)
    at = slice(None, None, int(FORCE_HZ / RATE_HZ))
    R = Rotation.from_euler("z", 37, degrees=True).as_matrix()
    corners = np.array([[0, 0, 0], [0, 0.08, 0.01], [0.01, 0.02, 0.07], [-0.2, 0.15, 0.02], [-0.15, -0.1, 0.05]])
    path_m = x[at, None] * R[:, 0] + np.array([0.4, -0.3, 0.7])
    points = path_m[:, None] + corners @ R.T + rng.normal(0, NOISE_M, (len(path_m), 5, 3))
    names = [f"{n}_{a}" for n in "ABCDE" for a in "xyz"]
    rows = np.column_stack([t[at], points.reshape(len(points), -1)])
    save_table(folder / "markers.csv", ["t", *names], rows, "%.9g")
    # the sensor: x from B to C, z along (A - B) x x, its y the rest
    ex = (corners[2] - corners[1]) / np.linalg.norm(corners[2] - corners[1])
    ez = np.cross(corners[0] - corners[1], ex)
    ez = ez / np.linalg.norm(ez)
    R_body_sensor = np.stack([ex, -np.cross(ex, ez), ez], axis=1)
    zero = np.array([1.2, -0.7, 0.4, 0.02, -0.03, 0.01])
    wrench = np.zeros((len(t), 6))
    touched = np.clip(t - 4.5, 0, 1)[:, None] if mu else 0.0
    wrench[:, :3] = np.column_stack([f, touched * np.array([across(s) for s in t.tolist()])]) @ R_body_sensor
    knob = 0.06 * R_body_sensor[0] if straight else [0.0, 0.0, 0.06]
    wrench[:, 3:] = np.cross(knob, wrench[:, :3])  # the hand holds it before the sensor
    wrench += zero + rng.normal(0, [NOISE_N] * 3 + [NOISE_NM] * 3, (len(t), 6))
    save_table(folder / "wrench.csv", ["t", *"abcdef"], np.column_stack([t + 1.734, wrench]), "%.9g")
    columns = ", ".join(f"{n}: {{column: [{n}_x, {n}_y, {n}_z], unit: m}}" for n in "ABCDE")
    channels = ", ".join(f"{c}: {{column: {c}, unit: {'N' if i < 3 else 'N m'}}}" for i, c in enumerate("abcdef"))
    path = folder / "capture.yaml"
    path.write_text(
        f"""object: drawer
stage: body
recordings:
  mocap: {{file: markers.csv, time: {{column: t, unit: s}}, columns: {{{columns}}}}}
  wrench: {{file: wrench.csv, time: {{column: t, unit: s}}, columns: {{{channels}}}}}
markers:
  body: [A, B, C, D, E]
  sensor:
    markers: [A, B, C]
    offset: {{rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0, 0, 0]}}
segments: {{static: [0.5, 4.5], quasi_static: [5, 25], train: [28, 46], test: [46.5, 57]}}
"""
    )
    return path


def add_imu(path: Path, seed: int = 0) -> Path:
    """An IMU on that drawer, turned somehow, whose clock shows `IMU_LATE_S` more: it never feels a turn."""
    rng, (t, x, _) = np.random.default_rng([seed, 3]), simulate()
    along, turn = Rotation.from_euler("z", 37, degrees=True), Rotation.from_rotvec([0.5, -2.0, 1.0])
    gravity, bend = np.array([0.0, 0.0, 9.80665]), make_interp_spline(t, x, k=5)(t, 2)
    force = gravity + np.outer(bend, along.as_matrix()[:, 0])
    imu = np.hstack([(along * turn).apply(force, inverse=True), np.zeros((len(t), 3))])
    imu += rng.normal(0, [0.02] * 3 + [0.002] * 3) + rng.normal(size=imu.shape) * np.repeat([0.01, 0.002], 3)
    names = [f"{kind}.{axis}" for kind in ("acceleration", "angular_rate") for axis in "xyz"]
    save_table(path.parent / "imu.csv", ["t", *names], np.column_stack([t + IMU_LATE_S, imu])[::2], "%.9g")
    columns = ", ".join(f"{n}: {{column: {n}, unit: {u}}}" for n, u in zip(names, IMU_UNITS, strict=True))
    line = f"  imu: {{file: imu.csv, time: {{column: t, unit: s}}, columns: {{{columns}}}}}\n"
    path.write_text(path.read_text().replace("markers:\n", f"{line}markers:\n", 1))
    return path
