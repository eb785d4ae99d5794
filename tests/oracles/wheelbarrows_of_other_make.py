"""Wheelbarrows of other make, moved by two hands with load cells: Newton and Euler in NumPy, nothing of palpate.

A barrow is a few point masses on a wheel that is a sphere about the middle of its axle. The motion is given, so what
the hands must do about the contact and along the heading follows from it; the rest is a habit of theirs. Each effect
changes what they must do, what the instruments show of it, or what the experiment file says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation

from tests.oracles.tables import save_table

Array = np.ndarray
RATE_HZ, STORED, GRAVITY = 500.0, 5, 9.80665
"""Rate of the simulation and of the load cells, every which sample the cameras take, m/s2."""
NOISE = {"marker": 2e-4, "force": 0.1, "moment": 0.004, "acceleration": 0.01, "rate": 0.002}
LEVER_M = 0.004
IMU_LATE_S, IMU_TURN, IMU_AT = 0.0123, Rotation.from_rotvec([0.5, -2.0, 1.0]).as_matrix(), np.array([0.03, -0.02, 0.01])
"""Of an IMU on the right sensor's module: what its clock shows more, and its pose there."""
STANDS_S, LIFTED_S, LENGTH_S = 3.0, 4.2, 44.0
TRAIN, TEST = (4.5, 30.0), (30.5, 43.5)
UP = np.array([0.0, 0.0, 1.0])
AT_REST = np.array([[0.0, -1, 0], [0, 0, 1], [-1, 0, 0]])
"""Axes of the body in level ones (ahead, left, up) at zero angles: x down, y back, z left."""
CHANNELS = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")
PHI = ("m", "mc_x", "mc_y", "mc_z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


@dataclass(frozen=True)
class Masses:
    """Points (n, 3) m with masses (n,) kg."""

    points: Array
    masses: Array

    @property
    def phi(self) -> Array:
        """m, m c, and the entries of the inertia matrix about the origin."""
        p, m = self.points, self.masses
        I = np.einsum("n,nij->ij", m, (p * p).sum(axis=1)[:, None, None] * np.eye(3) - p[:, :, None] * p[:, None, :])
        return np.array([m.sum(), *(m @ p), *I[np.triu_indices(3)]])

    def moved(self, R: Array, r: Array) -> Masses:
        """The same seen from a frame in which theirs is turned by R and at r."""
        return Masses(self.points @ R.T + r, self.masses)

    def wrench(self, a: Array, omega: Array, omega_dot: Array) -> Array:
        """(samples, 6) about the origin that moves them; a: of the origin, less gravity, in the same axes."""
        out = np.zeros((len(a), 6))
        for m, p in zip(self.masses, self.points, strict=True):
            f = m * (a + np.cross(omega_dot, p) + np.cross(omega, np.cross(omega, p)))
            out += np.hstack([f, np.cross(p, f)])
        return out


@dataclass(frozen=True)
class Barrow:
    """The truth, SI, in the frame on the axle."""

    body: Masses
    handles: tuple[Masses, Masses]
    """Right and left, each in its sensor's frame."""
    R_sensor: Array
    r_sensor: Array
    """(2, 3, 3) and (2, 3): right and left."""
    grips: Array
    """(2, 3): where the hands are."""
    radius: float
    b_v: float
    b_c: float
    b_psi: float
    feet: Array
    standing: float
    """Pitch at which the feet stand."""


@dataclass(frozen=True)
class Run:
    """One session at `RATE_HZ`. Vectors are in axes of the body unless said otherwise."""

    barrow: Barrow
    rng: np.random.Generator
    t: Array
    R: Array
    """(samples, 3, 3) of the body in the world."""
    heading: Array
    camber: Array
    place: Array
    """(samples, 3) of the axle's middle in the world."""
    a: Array
    """Of the axle's middle, less gravity."""
    omega: Array
    omega_dot: Array
    ahead: Array
    """(samples,) speed along the heading."""
    spin: Array
    """Of the wheel about its axle, seen from the world."""
    bearing: Array
    """The same seen from the body."""
    total: Array
    """(samples, 6) that both hands together must give, about the contact in level axes; of its forces only the one
    ahead counts."""
    slope: Array
    """(2,): components of up along the floor."""
    reads: Array = field(default_factory=lambda: np.array([np.eye(6)] * 2))
    """(2, 6, 6): what the load cells show of a wrench."""
    noise: Array = field(default_factory=lambda: np.zeros((2, 1, 6)))
    """That they have beside white noise."""
    axle: tuple[str, str] = ("A1", "A2")
    across: tuple[tuple[str, str], ...] = (("C1", "C2"), ("C3", "C4"))
    radius: float = 0.0
    """As the experiment file states them."""
    whole: bool = False
    """The model is to include the handles."""


Effect = Callable[[Run], Run]


@lru_cache(4)
def simulate(seed: int, *effects: Effect) -> tuple[Run, Array, Array]:
    """A random barrow with these effects; markers (frames, markers, 3) and what the load cells show (2, samples, 6).

    Those asked for last are kept: do not change them.
    """
    rng = np.random.default_rng([seed, 79])
    run = wheeled(rng, random_barrow(rng))
    for effect in effects:
        run = effect(run)
    barrow, n = run.barrow, len(run.t)
    passed = hands(run)
    # standing on its feet nobody touches it: a handle hangs on its sensor
    hold = _step(run.t, STANDS_S - 0.7, 0.5)[:, None]
    cells = np.empty((2, n, 6))
    for i, handle in enumerate(barrow.handles):
        S, r = barrow.R_sensor[i], barrow.r_sensor[i]
        a = run.a + np.cross(run.omega_dot, r) + np.cross(run.omega, np.cross(run.omega, r))
        hangs = -handle.wrench(a @ S, run.omega @ S, run.omega_dot @ S)
        w = hold * np.hstack([passed[i][:, :3] @ S, passed[i][:, 3:] @ S]) + (1 - hold) * hangs
        cells[i] = w @ run.reads[i].T
    zero = rng.normal(0, [1.0] * 3 + [0.05] * 3, (2, 1, 6))
    white = np.repeat([NOISE["force"], NOISE["moment"]], 3)
    cells = cells + zero + run.noise + rng.normal(0, 1, cells.shape) * white
    points = np.array(list(marker_places(barrow).values()))
    at = slice(None, None, STORED)
    markers = points @ run.R[at].transpose(0, 2, 1) + run.place[at, None]
    return run, markers + rng.normal(0, NOISE["marker"], markers.shape), cells


def slope_of(seed: int) -> Array:
    """(2,): components of up along the floor."""
    return simulate(seed)[0].slope


def imu_signals(run: Run, seed: int) -> Array:
    """(samples, 6) m/s2 and rad/s that an IMU on the right sensor's module shows, zero errors included."""
    S, rng = run.barrow.R_sensor[0], np.random.default_rng([seed, 81])
    r, axes = run.barrow.r_sensor[0] + S @ IMU_AT, S @ IMU_TURN
    a = run.a + np.cross(run.omega_dot, r) + np.cross(run.omega, np.cross(run.omega, r))
    shown = np.hstack([a @ axes, run.omega @ axes]) + rng.normal(0, [0.02] * 3 + [0.002] * 3)
    return shown + rng.normal(size=shown.shape) * np.repeat([NOISE["acceleration"], NOISE["rate"]], 3)


def write(
    folder: Path, seed: int, *effects: Effect, keys: str = "", imu: bool = False
) -> tuple[Path, dict[str, float]]:
    """Tables of markers, load cells and an IMU where it is asked for, models of the handles, and the experiment file;
    -> the last and the truth.
    """
    run, markers, cells = simulate(seed, *effects)
    barrow, names = run.barrow, list(marker_places(run.barrow))
    columns = [f"{name}_{axis}" for name in names for axis in "xyz"]
    _save(folder / "markers.csv", columns, run.t[::STORED], markers.reshape(len(markers), -1), "%.6f")
    _save(folder / "wrench.csv", [f"{c}{i}" for i in (1, 2) for c in CHANNELS], run.t, np.hstack([*cells]), "%.7g")
    for name, handle in zip(("handle", "handle_2"), barrow.handles, strict=True):
        _save_handle(folder / f"{name}.json", handle.phi)
    seen = ", ".join(f"{m}: {{column: [{m}_x, {m}_y, {m}_z], unit: m}}" for m in names)
    wrench = [
        ", ".join(f"{c}: {{column: {c}{i}, unit: {'N' if c[0] == 'f' else 'N m'}}}" for c in CHANNELS) for i in (1, 2)
    ]
    more = ""
    if imu:
        kinds = {f"{k}.{axis}": u for k, u in (("acceleration", "m/s2"), ("angular_rate", "rad/s")) for axis in "xyz"}
        _save(folder / "imu.csv", list(kinds), run.t + IMU_LATE_S, imu_signals(run, seed), "%.7g")
        shown = ", ".join(f"{n}: {{column: {n}, unit: {u}}}" for n, u in kinds.items())
        more = f"\n  imu: {{file: imu.csv, time: {{column: t, unit: s}}, columns: {{{shown}}}}}"
    offset = "{rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0, 0, 0]}"
    across = ", ".join(f"[{a}, {b}]" for a, b in run.across)
    (folder / "body.yaml").write_text(
        f"""\
object: wheelbarrow
stage: body
model_of: {"whole" if run.whole else "body"}
recordings:
  mocap: {{file: markers.csv, time: {{column: t, unit: s}}, columns: {{{seen}}}}}
  wrench: {{file: wrench.csv, time: {{column: t, unit: s}}, columns: {{{wrench[0]}}}}}
  wrench_2: {{file: wrench.csv, time: {{column: t, unit: s}}, columns: {{{wrench[1]}}}}}{more}
markers:
  axle: {{axle: [{run.axle[0]}, {run.axle[1]}], across: [{across}], radius: {run.radius:.5f} m}}
  sensor: {{markers: [R1, R2, R3], offset: {offset}}}
  sensor_2: {{markers: [L1, L2, L3], offset: {offset}}}
  feet: [F1, F2]
handle: handle.json
handle_2: handle_2.json
clocks: auto
known_mass: {{value: {barrow.body.phi[0]:.6f} kg, of: body}}
segments: {{static: [0.2, {STANDS_S - 1}], train: {list(TRAIN)}, test: {list(TEST)}}}
{keys}"""
    )
    return folder / "body.yaml", truth_of(run)


def truth_of(run: Run) -> dict[str, float]:
    """By palpate's names; inertias about the middle of the axle."""
    b = run.barrow
    phi = b.body.phi
    if run.whole:
        phi = phi + sum(h.moved(S, r).phi for h, S, r in zip(b.handles, b.R_sensor, b.r_sensor, strict=True))
    values = [phi[0], *(phi[1:4] / phi[0]), *phi[4:], b.b_v, b.b_c, b.b_psi]
    names = ["m", "c_x", "c_y", "c_z", *PHI[4:], "b_v", "b_c", "b_psi"]
    return {k: float(v) for k, v in zip(names, values, strict=True)}


def drawing_of_whole(seed: int, spread: float, heavy: bool = False) -> str:
    """The key prior of the whole of this seed's barrow, off by that fraction: J = U (1 + E) U' with E symmetric."""
    b, off = random_barrow(np.random.default_rng([seed, 79])), np.random.default_rng([seed, 80])
    b = with_heavy_handles(b) if heavy else b
    parts = [b.body, *(h.moved(S, r) for h, S, r in zip(b.handles, b.R_sensor, b.r_sensor, strict=True))]
    points, masses = np.vstack([m.points for m in parts]), np.concatenate([m.masses for m in parts])
    c = masses @ points / masses.sum()
    U = np.zeros((4, 4))
    U[:3, :3] = np.linalg.cholesky((points - c).T @ (masses[:, None] * (points - c)))
    U[:3, 3], U[3, 3] = np.sqrt(masses.sum()) * c, np.sqrt(masses.sum())
    while True:
        E = off.normal(0, spread / np.sqrt(2), (4, 4))
        J = U @ (np.eye(4) + (E + E.T) / np.sqrt(2)) @ U.T
        if np.linalg.eigvalsh(J)[0] > 0:
            break
    m, c = J[3, 3], J[:3, 3] / J[3, 3]
    Sigma = J[:3, :3] - m * np.outer(c, c)
    I = (np.trace(Sigma) * np.eye(3) - Sigma).tolist()
    return f"prior: {{of: whole, mass: {m} kg, com: {c.tolist()}, inertia_com: {I}, spread: {spread}}}\n"


def random_barrow(rng: np.random.Generator) -> Barrow:
    """Tray, shafts, legs, a wheel and a load of 25 to 60 kg as points."""
    R = round(rng.uniform(0.16, 0.21), 4)
    standing, back, half = np.radians(rng.uniform(8.5, 12)), rng.uniform(0.42, 0.48), rng.uniform(0.19, 0.23)
    down = (R + back * np.sin(standing)) / np.cos(standing)
    feet = np.array([[down, back, -half], [down, back, half]])
    tray = rng.uniform([-0.35, 0.05, -0.3], [-0.1, 0.8, 0.3], (8, 3))
    load = rng.uniform([-0.12, -0.2, -0.2], [0.12, 0.2, 0.2], (8, 3))
    load = load + rng.uniform([-0.22, 0.34, -0.05], [-0.08, 0.54, 0.05])
    shafts = np.array([[-0.03, y, z * (0.2 + 0.05 * y)] for y in (0.0, 0.4, 0.8, 1.1) for z in (-1, 1)])
    points = np.vstack([tray, load, shafts, feet, np.zeros((1, 3))])
    masses = np.concatenate(
        [rng.uniform(0.5, 1.3, 8), rng.dirichlet([4] * 8) * rng.uniform(12, 40), rng.uniform(0.5, 0.8, 8), [1, 1, 3]]
    )
    # z of the sensors points back along the shafts; their turn about it differs
    S = []
    for _ in range(2):
        turn = Rotation.from_euler("z", rng.uniform(-np.pi, np.pi))
        askew = Rotation.from_rotvec(np.radians(2) * rng.normal(size=3))
        S.append((askew * Rotation.from_matrix([[1, 0, 0], [0, 0, 1], [0, -1, 0]]) * turn).as_matrix())
    r = np.array([[-0.04, 1.08, -0.245], [-0.04, 1.08, 0.245]]) + rng.uniform(-0.01, 0.01, (2, 3))
    grips = r + np.array([s[:, 2] for s in S]) * rng.uniform(0.10, 0.16, (2, 1))
    handles = tuple(
        Masses(rng.uniform([-0.02, -0.02, 0], [0.02, 0.02, 0.16], (5, 3)), rng.uniform(0.1, 0.25, 5)) for _ in range(2)
    )
    friction = np.exp(rng.uniform(np.log([0.2, 0.6, 1.5]), np.log([0.7, 2.2, 5.0])))
    return Barrow(Masses(points, masses), handles, np.array(S), r, grips, R, *friction.tolist(), feet, float(standing))


def marker_places(barrow: Barrow) -> dict[str, Array]:
    """Name -> place, m: ends of the axle, pairs along y, sensor modules, feet, and some more."""
    up = np.array([-np.cos(barrow.standing), np.sin(barrow.standing), 0.0])
    places = {"A1": [0, 0, -0.15], "A2": [0, 0, 0.15], "C1": [-0.04, -0.14, -0.13], "C2": [-0.04, 0.87, -0.13]}
    places |= {"C3": [-0.04, -0.14, 0.13], "C4": [-0.04, 0.87, 0.13]}
    module = np.array([[0.01, -0.06, 0], [0, 0, 0], [0.06, 0, 0]])
    for side, S, r in zip("RL", barrow.R_sensor, barrow.r_sensor, strict=True):
        places |= {f"{side}{k + 1}": p for k, p in enumerate(module @ S.T + r)}
    places |= {f"F{k + 1}": foot + 0.02 * up for k, foot in enumerate(barrow.feet)}
    more = [[-0.45, 0.2, 0.3], [-0.45, 0.2, -0.3], [-0.5, -0.1, 0.0], [-0.25, 0.8, 0.2]]
    places |= {f"T{k + 1}": p for k, p in enumerate(more)}
    return {name: np.asarray(p, dtype=float) for name, p in places.items()}


def wheeled(rng: np.random.Generator, barrow: Barrow) -> Run:
    """A motion and what the hands must do for it where nothing is wrong."""
    t = np.arange(0, LENGTH_S, 1 / RATE_HZ)
    heading, camber, pitch, way = _coordinates(rng, barrow, t)
    leant = Rotation.from_euler("ZX", np.stack([heading, camber], axis=1))
    R = (leant * Rotation.from_matrix(AT_REST) * Rotation.from_euler("Z", pitch[:, None])).as_matrix()
    flat = make_interp_spline(t, R.reshape(-1, 9), k=7)
    R_dot, R_ddot = (flat(t, k).reshape(-1, 3, 3) for k in (1, 2))
    omega = _vector(np.einsum("nji,njk->nik", R, R_dot))
    omega_dot = _vector(np.einsum("nji,njk->nik", R_dot, R_dot) + np.einsum("nji,njk->nik", R, R_ddot))
    # a sphere rolls: ahead as it is pushed, aside as it leans over
    ahead, aside = make_interp_spline(t, way, k=7)(t, 1), -barrow.radius * make_interp_spline(t, camber, k=7)(t, 1)
    cos, sin = np.cos(heading), np.sin(heading)
    velocity = np.stack([ahead * cos - aside * sin, ahead * sin + aside * cos, np.zeros(len(t))], axis=1)
    course = make_interp_spline(t, velocity, k=7)
    place = course.antiderivative()(t) + np.array([*rng.uniform(-0.3, 0.3, 2), barrow.radius])
    slope = np.radians(rng.uniform(-0.12, 0.12, 2))
    felt = np.einsum("nji,nj->ni", R, course(t, 1) + GRAVITY * np.array([*slope, 1.0]))
    turn = make_interp_spline(t, heading, k=7)(t, 1)
    spin = ahead / (barrow.radius * np.cos(camber)) + turn * np.sin(camber)
    bearing = spin - omega[:, 2]
    run = Run(barrow, rng, t, R, heading, camber, place, felt, omega, omega_dot, ahead, spin, bearing,
              np.zeros((len(t), 6)), slope, radius=barrow.radius)  # fmt: skip
    run = _given(run, barrow.body.wrench(felt, omega, omega_dot))
    resistance = barrow.b_v * spin + barrow.b_c * _sign(rng, t, spin)
    run = _braked(run, resistance)
    yaw = np.einsum("nj,nj->n", omega, run.R[:, 2, :])
    total = run.total.copy()
    total[:, 5] += barrow.b_psi * yaw
    return replace(run, total=total)


def hands(run: Run) -> Array:
    """(2, samples, 6) that reach the body through each sensor, about its origin: of all ways to give the total the
    one with the least force and little twisting, and habits that move nothing.
    """
    barrow, n = run.barrow, len(run.t)
    level = _level(run)
    A = np.zeros((n, 4, 12))
    for i, grip in enumerate(barrow.grips):
        arm = level @ grip + barrow.radius * UP
        A[:, 0, 6 * i] = 1
        A[:, 1, 6 * i + 1], A[:, 1, 6 * i + 2] = -arm[:, 2], arm[:, 1]
        A[:, 2, 6 * i], A[:, 2, 6 * i + 2] = arm[:, 2], -arm[:, 0]
        A[:, 3, 6 * i], A[:, 3, 6 * i + 1] = -arm[:, 1], arm[:, 0]
        A[:, 1:, 6 * i + 3 : 6 * i + 6] = np.eye(3)
    habit = np.tile([4.0] * 3 + [0.2] * 3, 2) * np.stack(
        [_wave(run.rng, run.t, 0.1, 3.0, 8) for _ in range(12)], axis=1
    )
    W = np.tile([1.0] * 3 + [3e-4] * 3, 2)
    rest = run.total[:, [0, 3, 4, 5]] - np.einsum("nij,nj->ni", A, habit)
    AW = A * W
    x = habit + np.einsum("nji,nj->ni", AW, np.linalg.solve(AW @ A.transpose(0, 2, 1), rest[:, :, None])[:, :, 0])
    out = np.empty((2, n, 6))
    for i, (grip, r) in enumerate(zip(barrow.grips, barrow.r_sensor, strict=True)):
        f, c = (np.einsum("nji,nj->ni", level, x[:, 6 * i + k : 6 * i + k + 3]) for k in (0, 3))
        out[i] = np.hstack([f, c + np.cross(grip - r, f)])
    return out


def _coordinates(rng: np.random.Generator, barrow: Barrow, t: Array) -> tuple[Array, Array, Array, Array]:
    """Heading, camber, pitch (rad) and way (m): slow and quick sines of which now one and now another is strong."""
    begin = _step(t, STANDS_S, LIFTED_S - STANDS_S)
    slow, quick = np.array([0.18, 0.05, 0.05, 0.25]), np.array([2.2, 1.4, 3.5, 0.5])
    parts = []
    for k in range(4):
        x = slow[k] * sum(rng.uniform(0.5, 1) * _sine(rng, t, 0.15, 0.45) for _ in range(2))
        for _ in range(4):
            f = rng.uniform(0.7, 3.0)
            x = x + quick[k] * np.sqrt(0.5) / (2 * np.pi * f) ** 2 * np.sin(2 * np.pi * f * t + rng.uniform(0, 6))
        parts.append(x * (0.75 + 0.45 * np.sin(2 * np.pi * (t / 13 + k / 4 + rng.uniform(0, 0.1)))))
    heading, camber, pitch, way = parts
    camber = camber * min(1.0, np.radians(7) / np.abs(camber).max())
    heading = heading + rng.uniform(0.8, 1.4) * _sine(rng, t, 0.03, 0.07)
    lifted = np.radians(rng.uniform(5.5, 7.5)) - pitch.min()
    return rng.uniform(-3, 3) + begin * heading, begin * camber, barrow.standing + begin * (pitch + lifted), begin * way


def _given(run: Run, wrench: Array) -> Run:
    """With a wrench that the hands must give besides: (samples, 6) about the axle's middle in the body's axes."""
    level = _level(run)
    f, c = (np.einsum("nij,nj->ni", level, wrench[:, k : k + 3]) for k in (0, 3))
    return replace(run, total=run.total + np.hstack([f, c + np.cross(run.barrow.radius * UP, f)]))


def _braked(run: Run, couple: Array) -> Run:
    """With a couple of the ground that brakes the wheel about its axle: the ground pushes back as much as the wheel
    needs to turn all the same.
    """
    total = run.total.copy()
    total[:, 0] += couple / (run.barrow.radius * np.cos(run.camber))
    total[:, 3:] += couple[:, None] * _level(run)[:, :, 2]
    return replace(run, total=total)


def _level(run: Run) -> Array:
    """Axes of the body in those of the contact: ahead, left, up."""
    cos, sin = np.cos(run.heading), np.sin(run.heading)
    L = np.zeros((len(run.t), 3, 3))
    L[:, 0, 0], L[:, 0, 1], L[:, 1, 0], L[:, 1, 1], L[:, 2, 2] = cos, sin, -sin, cos, 1
    return L @ run.R


def _sign(rng: np.random.Generator, t: Array, speed: Array) -> Array:
    """Of a speed; at rest friction takes what it is given."""
    slack = 0.9 * np.tanh(_wave(rng, t, 0.02, 0.3, 6))
    return np.where(np.abs(speed) > 1e-9, np.sign(speed), slack)


def _vector(S: Array) -> Array:
    S = (S - S.transpose(0, 2, 1)) / 2
    return np.stack([S[:, 2, 1], S[:, 0, 2], S[:, 1, 0]], axis=1)


def _step(t: Array, begin: float, length: float) -> Array:
    u = np.clip((t - begin) / length, 0, 1)
    return u**5 * (126 - 420 * u + 540 * u**2 - 315 * u**3 + 70 * u**4)


def _sine(rng: np.random.Generator, t: Array, low: float, high: float) -> Array:
    return np.sin(2 * np.pi * rng.uniform(low, high) * t + rng.uniform(0, 6))


def _wave(rng: np.random.Generator, t: Array, low: float, high: float, sines: int) -> Array:
    return sum(_sine(rng, t, low, high) for _ in range(sines)) / np.sqrt(sines / 2)


def _save(path: Path, names: list[str], t: Array, x: Array, form: str) -> None:
    save_table(path, ["t", *names], np.column_stack([t, x]), form)


def _save_handle(path: Path, phi: Array) -> None:
    units = ["kg"] + ["kg m"] * 3 + ["kg m2"] * 6
    values = {n: {"value": float(v), "unit": u} for n, v, u in zip(PHI, phi, units, strict=True)}
    model = {"palpate_model": 1, "name": "handle", "mechanism": {"type": "free", "gravity": GRAVITY},
             "elements": [{"type": "rigid-body", "name": "handle"}], "parameters": values}  # fmt: skip
    path.write_text(json.dumps(model))


# --- what may differ --------------------------------------------------------------------------------------------------


def as_whole(run: Run) -> Run:
    """Nothing is wrong: the model includes the handles."""
    return replace(run, whole=True)


def heavy_handles(run: Run) -> Run:
    """Nothing is wrong: handles of 2 to 3 kg each."""
    return replace(run, barrow=with_heavy_handles(run.barrow))


def with_heavy_handles(barrow: Barrow) -> Barrow:
    right, left = (Masses(h.points, 3 * h.masses) for h in barrow.handles)
    return replace(barrow, handles=(right, left))


def coloured(run: Run) -> Run:
    """No fault: noise of the load cells with a memory of a second or so, three times the white one."""
    n, a = len(run.t), np.exp(-1 / (RATE_HZ * run.rng.uniform(0.3, 3.0)))
    size = 3 * np.repeat([NOISE["force"], NOISE["moment"]], 3)
    x = lfilter([np.sqrt(1 - a * a)], [1, -a], run.rng.normal(size=(2, n, 6)), axis=1)
    return replace(run, noise=run.noise + size * x)


def dry_bearing(run: Run) -> Run:
    """Dry friction between wheel and body: about the contact it is internal, along the heading it is not."""
    couple = run.rng.uniform(0.4, 1.0) * run.barrow.b_c * _sign(run.rng, run.t, run.bearing)
    total = run.total.copy()
    total[:, 0] += couple / (run.barrow.radius * np.cos(run.camber))
    return replace(run, total=total)


def heavy_wheel(run: Run) -> Run:
    """The wheel has 0.06 to 0.12 kg m2 about its axle."""
    I = run.rng.uniform(0.06, 0.12)
    change = make_interp_spline(run.t, run.spin[:, None] * run.R[:, :, 2], k=7)(run.t, 1)
    ahead = make_interp_spline(run.t, run.spin, k=7)(run.t, 1)
    total = run.total.copy()
    total[:, 0] += I * ahead / (run.barrow.radius * np.cos(run.camber))
    total[:, 3:] += I * np.einsum("nij,nkj,nk->ni", _level(run), run.R, change)
    return replace(run, total=total)


def cell_turned(run: Run) -> Run:
    """One load cell is turned by 0.5 deg about some axis against the drawing."""
    v = run.rng.normal(size=3)
    R = Rotation.from_rotvec(np.radians(0.5) * v / np.linalg.norm(v)).as_matrix()
    return _reading(run, np.kron(np.eye(2), R), (int(run.rng.integers(2)),))


def cell_scale(run: Run) -> Run:
    """Both load cells read 2 % too much."""
    return _reading(run, 1.02 * np.eye(6), (0, 1))


def axle_exchanged(run: Run) -> Run:
    """The file names the ends of the axle in the wrong order."""
    return replace(run, axle=(run.axle[1], run.axle[0]))


def across_reversed(run: Run) -> Run:
    """The file names the pairs along y in the wrong order."""
    return replace(run, across=tuple((b, a) for a, b in run.across))


def wrong_radius(run: Run) -> Run:
    """The file states a wheel that is 3 % too large or too small."""
    return replace(run, radius=run.radius * (1 + 0.03 * run.rng.choice([-1, 1])))


def slip(run: Run) -> Run:
    """The tyre creeps: it turns 2 to 5 % less than it goes, and goes 1 to 3 deg aside."""
    barrow, cos, sin = run.barrow, np.cos(run.heading), np.sin(run.heading)
    less = run.rng.uniform(0.02, 0.05) * run.ahead / (barrow.radius * np.cos(run.camber))
    run = _braked(run, -barrow.b_v * less)
    aside = np.radians(run.rng.uniform(1, 3)) * _wave(run.rng, run.t, 0.1, 1.0, 6) * run.ahead
    course = make_interp_spline(run.t, np.stack([-aside * sin, aside * cos, np.zeros(len(run.t))], axis=1), k=7)
    more = np.einsum("nji,nj->ni", run.R, course(run.t, 1))
    zero = np.zeros_like(more)
    run = _given(run, barrow.body.wrench(more, zero, zero))
    return replace(run, a=run.a + more, place=run.place + course.antiderivative()(run.t))


def second_person(run: Run) -> Run:
    """Somebody pushes the tray now and then, past the load cells."""
    pushed = np.zeros((len(run.t), 6))
    for begin in run.rng.uniform(TRAIN[0], TEST[1] - 2, 7):
        u = np.clip((run.t - begin) / run.rng.uniform(0.5, 2.0), 0, 1)[:, None]
        f, at = run.rng.normal(0, 20, 3), run.rng.uniform([-0.4, -0.1, -0.3], [-0.1, 0.8, 0.3])
        pushed += 16 * u**2 * (1 - u) ** 2 * np.concatenate([f, np.cross(at, f)])
    return _given(run, -pushed)


def _reading(run: Run, M: Array, cells: tuple[int, ...]) -> Run:
    reads = run.reads.copy()
    for i in cells:
        reads[i] = M @ reads[i]
    return replace(run, reads=reads)


def loaded_tyre(run: Run) -> Run:
    """Rolling resistance that grows with the load on the wheel: its lever arm is `LEVER_M`. What the hands lift follows
    from what they must do, and that from the load: a few rounds settle it.
    """
    plain, up = run, run.barrow.body.wrench(run.a, run.omega, run.omega_dot)[:, :3]
    side = np.sign(run.spin)
    for _ in range(4):
        passed = hands(replace(run, rng=deepcopy(plain.rng)))
        load = np.einsum("ni,ni->n", plain.R[:, 2, :], up - passed[:, :, :3].sum(axis=0))
        run = _braked(plain, LEVER_M * load * side)
    return run
