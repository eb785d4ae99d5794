"""Handles of other make, shaken by hand with an IMU on them: Newton and Euler in NumPy, nothing of palpate.

A handle is a few point masses; the wrench that moves it is the sum of theirs. Each effect changes what the instruments
show of the same motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.signal import bilinear, lfilter, lfilter_zi
from scipy.spatial.transform import Rotation

from tests.oracles.tables import save_table

Array = np.ndarray
RATE_HZ, LENGTH_S, GRAVITY = 500.0, 60.0, 9.80665
NOISE = {"force": 0.05, "moment": 0.003, "acceleration": 0.02, "rate": 0.003}
AXES = ("ax", "ay", "az", "gx", "gy", "gz")
CHANNELS = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")


@dataclass(frozen=True)
class Run:
    """What the instruments show before their white noise."""

    rng: np.random.Generator
    t: Array
    wrench: Array
    """(samples, 6) that moves the handle, in the sensor frame about its origin."""
    acceleration: Array
    """(samples, 3) specific force at the IMU."""
    rate: Array


Effect = Callable[[Run], Run]
Handle = Callable[[np.random.Generator], tuple[Array, Array]]


def lumps(rng: np.random.Generator) -> tuple[Array, Array]:
    """Points (n, 3) m and masses (n,) kg of a handle of no particular shape."""
    return rng.uniform([-0.06, -0.06, 0.0], [0.06, 0.06, 0.25], (8, 3)), rng.uniform(0.05, 0.25, 8)


def thin_rod(rng: np.random.Generator) -> tuple[Array, Array]:
    """A rod of 3 mm, 10 to 50 cm long, of 0.1 to 1 kg, anywhere near the sensor: eight points with its moments."""
    mass, half = rng.uniform(0.1, 1.0), rng.uniform(0.05, 0.25)
    along, u, v = Rotation.random(random_state=rng).as_matrix()
    around = [0.0015 / np.sqrt(2) * (np.cos(a) * u + np.sin(a) * v) for a in (0, np.pi / 2, np.pi, 3 * np.pi / 2)]
    ends = [side * half / np.sqrt(3) * along for side in (-1, 1)]
    return rng.uniform(-0.1, 0.1, 3) + np.array([a + b for a in ends for b in around]), np.full(8, mass / 8)


def write(
    folder: Path, seed: int, *effects: Effect, keys: str = "", handle: Handle = lumps
) -> tuple[Path, dict[str, float]]:
    """Two tables and the experiment file; -> the last and the truth."""
    rng = np.random.default_rng([seed, 78])
    points, masses = handle(rng)
    t = np.arange(0, LENGTH_S, 1 / RATE_HZ)
    R, omega, omega_dot, a = motion(rng, t)
    felt = np.einsum("nji,nj->ni", R, a + np.array([0, 0, GRAVITY]))
    at = rng.uniform(-0.05, 0.05, 3)
    each = [_at(felt, omega, omega_dot, p) for p in points]
    force = sum(m * x for m, x in zip(masses, each, strict=True))
    moment = sum(np.cross(p, m * x) for m, p, x in zip(masses, points, each, strict=True))
    run = Run(rng, t, np.hstack([force, moment]), _at(felt, omega, omega_dot, at), omega)
    for effect in effects:
        run = effect(run)
    zero = rng.normal(0, [1.0] * 3 + [0.05] * 3)
    white = [NOISE["force"]] * 3 + [NOISE["moment"]] * 3
    w = run.wrench + zero + rng.normal(0, white, run.wrench.shape)
    imu = np.hstack([run.acceleration + rng.normal(0, NOISE["acceleration"], a.shape),
                     run.rate + rng.normal(0, NOISE["rate"], a.shape)])  # fmt: skip
    _save(folder / "wrench.csv", [*CHANNELS], t, w)
    _save(folder / "imu.csv", [*AXES], t, imu)
    columns = ", ".join(f"{c}: {{column: {c}, unit: {'N' if i < 3 else 'N m'}}}" for i, c in enumerate(CHANNELS))
    axes = ", ".join(
        f"{c}: {{column: {c}, unit: {'m/s2' if c[0] == 'a' else 'rad/s'}}}"
        for c in ("ax", "ay", "az", "gx", "gy", "gz")
    )
    (folder / "handle.yaml").write_text(
        f"""\
stage: handle
recordings:
  wrench: {{file: wrench.csv, time: {{column: t, unit: s}}, columns: {{{columns}}}, sign: on-handle}}
  imu:
    file: imu.csv
    time: {{column: t, unit: s}}
    columns: {{{axes}}}
    acceleration: [ax, ay, az]
    angular_rate: [gx, gy, gz]
imu_pose: {{rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: {at.tolist()}}}
sensor: {{sigma_force: {NOISE["force"]} N, sigma_moment: {NOISE["moment"]} N m}}
segments: {{train: [2, 40], test: [40.5, 58]}}
{keys}"""
    )
    m, c = masses.sum(), masses @ points / masses.sum()
    I = sum(k * (p @ p * np.eye(3) - np.outer(p, p)) for k, p in zip(masses, points, strict=True))  # about the origin
    truth = {"m": m} | dict(zip(("c_x", "c_y", "c_z"), c, strict=True))
    truth |= {f"I{'xyz'[i]}{'xyz'[j]}": I[i, j] for i in range(3) for j in range(i, 3)}
    truth |= {f"bias_{c}": z for c, z in zip(CHANNELS, zero, strict=True)}
    return folder / "handle.yaml", {k: float(v) for k, v in truth.items()}


def motion(rng: np.random.Generator, t: Array) -> tuple[Array, Array, Array, Array]:
    """R_world_body, omega and its derivative in the body, acceleration in the world: sums of sines, up to 3 Hz."""
    begin = np.clip((t - 1) / 1, 0, 1)
    begin = begin**4 * (35 - 84 * begin + 70 * begin**2 - 20 * begin**3)
    waves = [rng.uniform([0.1, 0.3, 0], [0.5, 3.0, 6], (5, 3)) for _ in range(6)]

    def angles(s: Array, i: int) -> Array:
        return sum(A / (0.6 + f) * np.sin(2 * np.pi * f * s + p) for A, f, p in waves[i])

    def gate(s: Array) -> Array:
        return np.interp(s, t, begin)

    def pose(s: Array) -> Array:
        a, b, c = (gate(s) * angles(s, i) for i in range(3))
        ca, sa, cb, sb, cc, sc = np.cos(a), np.sin(a), np.cos(b), np.sin(b), np.cos(c), np.sin(c)
        return np.array([[ca * cb, ca * sb * sc - sa * cc, ca * sb * cc + sa * sc],
                         [sa * cb, sa * sb * sc + ca * cc, sa * sb * cc - ca * sc],
                         [-sb, cb * sc, cb * cc]]).transpose(2, 0, 1)  # fmt: skip

    R = pose(t)
    flat = make_interp_spline(t, R.reshape(-1, 9), k=7)
    R_dot, R_ddot = flat(t, 1).reshape(-1, 3, 3), flat(t, 2).reshape(-1, 3, 3)
    spin = np.einsum("nji,njk->nik", R, R_dot)
    turn = np.einsum("nji,njk->nik", R_dot, R_dot) + np.einsum("nji,njk->nik", R, R_ddot)
    omega, omega_dot = (
        np.stack([x[:, 2, 1], x[:, 0, 2], x[:, 1, 0]], axis=1) for x in (spin, (turn - turn.transpose(0, 2, 1)) / 2)
    )
    path = make_interp_spline(t, np.stack([0.3 * begin * angles(t, i) for i in (3, 4, 5)], axis=1), k=7)
    return R, omega, omega_dot, path(t, 2)


def _at(felt: Array, omega: Array, omega_dot: Array, r: Array) -> Array:
    return felt + np.cross(omega_dot, r) + np.cross(omega, np.cross(omega, r))


def _save(path: Path, names: list[str], t: Array, x: Array) -> None:
    save_table(path, ["t", *names], np.column_stack([t, x]), "%.8g")


# --- what may be wrong ------------------------------------------------------------------------------------------------


def coloured(run: Run) -> Run:
    """No fault: noise of the load cell with a memory of a second or so, twice the white one."""
    a = np.exp(-1 / (RATE_HZ * run.rng.uniform(0.3, 2.0)))
    size = 2 * np.repeat([NOISE["force"], NOISE["moment"]], 3)
    x = lfilter([np.sqrt(1 - a * a)], [1, -a], run.rng.normal(size=run.wrench.shape), axis=0)
    return replace(run, wrench=run.wrench + size * x)


def slow_amplifier(run: Run) -> Run:
    """A low-pass of first order at 10 to 30 Hz in all six channels."""
    return replace(run, wrench=_filtered(run.wrench, [1.0], [1 / (2 * np.pi * run.rng.uniform(10, 30)), 1.0]))


def soft_adapter(run: Run) -> Run:
    """The handle swings on its adapter at 10 to 40 Hz; the IMU sits on the sensor's side."""
    w, damping = 2 * np.pi * run.rng.uniform(10, 40), run.rng.uniform(0.02, 0.1)
    return replace(run, wrench=_filtered(run.wrench, [2 * damping * w, w * w], [1.0, 2 * damping * w, w * w]))


def one_gain(run: Run) -> Run:
    """One channel reads 1.2 times too much."""
    gain = np.ones(6)
    gain[run.rng.integers(6)] = 1.2
    return replace(run, wrench=run.wrench * gain)


def not_linear(run: Run) -> Run:
    """All channels read 2 to 4 % more at the largest load than at small ones."""
    more = run.rng.uniform(0.02, 0.04) / np.abs(run.wrench).max(axis=0)
    return replace(run, wrench=run.wrench * (1 + more * np.abs(run.wrench)))


def accelerometer_scale(run: Run) -> Run:
    """The accelerometer reads 3 to 6 % too much."""
    return replace(run, acceleration=run.acceleration * run.rng.uniform(1.03, 1.06))


def accelerometer_zero(run: Run) -> Run:
    """The accelerometer's zero is off by 5 mg on each axis, as data sheets allow."""
    return replace(run, acceleration=run.acceleration + run.rng.normal(0, 0.05, 3))


def dead(run: Run) -> Run:
    """One channel is dead from somewhere on."""
    i, since = run.rng.integers(6), run.rng.uniform(0, 30)
    w = run.wrench.copy()
    w[run.t > since, i] = w[np.searchsorted(run.t, since), i]
    return replace(run, wrench=w)


def hum(run: Run) -> Run:
    """50 Hz on the gyroscope."""
    phases = run.rng.uniform(0, 6, 3)
    return replace(run, rate=run.rate + 0.05 * np.sin(2 * np.pi * 50.3 * run.t[:, None] + phases))


def turned(run: Run) -> Run:
    """The sensor is turned by 2 deg about some axis against the drawing."""
    v = run.rng.normal(size=3)

    R = Rotation.from_rotvec(np.radians(2) * v / np.linalg.norm(v)).as_matrix()
    return replace(run, wrench=np.hstack([run.wrench[:, :3] @ R.T, run.wrench[:, 3:] @ R.T]))


def drift(run: Run) -> Run:
    """The zeros wander by 1 to 3 N and 0.05 to 0.15 N m."""
    size = run.rng.uniform(1, 3, 6) * [1, 1, 1, 0.05, 0.05, 0.05] * run.rng.choice([-1, 1], 6)
    u = run.t[:, None] / LENGTH_S
    return replace(run, wrench=run.wrench + size * np.sin(np.pi * run.rng.uniform(0.5, 2, 6) * u))


def touched(run: Run) -> Run:
    """Somebody touches the handle a few times."""
    w = run.wrench.copy()
    for a in run.rng.uniform(4, 55, 8):
        u = np.clip((run.t - a) / run.rng.uniform(0.3, 1.0), 0, 1)[:, None]
        w += 16 * u**2 * (1 - u) ** 2 * run.rng.normal(0, [4, 4, 4, 0.3, 0.3, 0.3])
    return replace(run, wrench=w)


def _filtered(x: Array, num: list[float], den: list[float]) -> Array:
    b, a = bilinear(num, den, RATE_HZ)
    return np.stack([lfilter(b, a, c, zi=lfilter_zi(b, a) * c[0])[0] for c in x.T], axis=1)
