"""Doors of other make with a closer, moved by a hand through a load cell: NumPy only, nothing of palpate.

The paper's door (`door_ode` has its equations) stands between stops, sticks where dry friction holds it, and is moved
by a spring and a damper that follow a wandering target and let go at times. Runge and Kutta's steps of fourth order
are cut where the door comes to rest, so that the torque of the hand and the motion agree. Each effect changes the door,
what the instruments show of it, or both, before it is moved.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import exp
from pathlib import Path

import numpy as np
from numpy.polynomial import Polynomial
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation

from tests.oracles.tables import save_table

Array = np.ndarray
RATE_HZ, STORED, GRAVITY = 500.0, 5, 9.80665
"""Rate of the simulation and of the load cell, every which sample the cameras take, m/s2."""
NOISE = {"marker": 2e-4, "force": 0.1, "moment": 0.004}
STILL_S, SLOW_S, TRAIN_S, TEST_S = 3.0, 20.0, 27.0, 12.0
LENGTH_S = STILL_S + SLOW_S + TRAIN_S + TEST_S
INCH = 0.0254
LENGTHS = (11.25 * INCH, 10.75 * INCH, 10.25 * INCH, 13.75 * INCH)
WIDTH = np.radians(2.0)
STOP = 3e4, 600.0
"""N m/rad and N m s/rad of both stops."""
TABLE = np.radians(np.linspace(-4, 104, 21601))
"""Door angles at which the linkage is worked out."""
CHANNELS = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")
PHI = ("m", "mc_x", "mc_y", "mc_z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
DOWN = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]])
"""Axes of the hinge in the world: z down, x along the shut door, y to where it opens."""


@dataclass(frozen=True)
class Door:
    """The truth, SI, in the frame on the hinge."""

    I: float
    b_v: float
    b_c: float
    b_bc: float
    b_s: float
    b_l: float
    spring: tuple[float, ...]
    """Of the pinion's angle."""
    above_bc: float
    above_l: float
    weighs: float
    """kg m: mass times distance of its centre from the hinge, which only a hinge that leans shows."""

    @property
    def parameters(self) -> dict[str, float]:
        """By palpate's names."""
        names = ("I", "b_v", "b_c", "b_bc", "b_s", "b_l")
        return {n: getattr(self, n) for n in names} | {f"c_{i}": c for i, c in enumerate(self.spring)}


@dataclass(frozen=True)
class Hand:
    """Where it wants the door to be, on a grid of half steps, and how firmly it holds it."""

    goal: Array
    grip: Array
    stiffness: float
    damping: float


@dataclass(frozen=True)
class Run:
    """One session before it happens."""

    door: Door
    rng: np.random.Generator
    t: Array
    hand: Hand
    handle: tuple[Array, Array]
    """Points (n, 3) m and masses (n,) kg in the sensor's frame."""
    R_sensor: Array
    r_sensor: Array
    grip: Array
    """(3,): where the hand is."""
    pinion: Array
    """(2, len(TABLE)): angle of the closer's pinion, and its derivative by the door's."""
    stops: tuple[float, float]
    """Where the door rests."""
    stop: tuple[float, float] = STOP
    up: Array = field(default_factory=lambda: np.array([0.0, 0, -1]))
    """In axes of the hinge."""
    noise: Array = field(default_factory=lambda: np.zeros((1, 6)))
    """That the load cell has beside white noise."""
    guessed: Array | None = None
    """(2,): by how much the file's guesses of the zones are off, deg; None: they are given."""


Effect = Callable[[Run], Run]


@dataclass(frozen=True)
class Motion:
    """At `RATE_HZ`: angle, speed, acceleration, and the hand's torque about the hinge."""

    q: Array
    v: Array
    a: Array
    torque: Array


@lru_cache(4)
def simulate(seed: int, *effects: Effect) -> tuple[Run, Motion, Array, Array, Array]:
    """A random door with these effects; markers of the session and at rest (frames, markers, 3), and the wrench.

    Those asked for last are kept: do not change them.
    """
    rng = np.random.default_rng([seed, 80])
    run = random_run(rng)
    for effect in effects:
        run = effect(run)
    motion = swing(run)
    wrench = passed(run, motion)
    zero = rng.normal(0, [1.0] * 3 + [0.05] * 3)
    white = np.repeat([NOISE["force"], NOISE["moment"]], 3)
    wrench = wrench + zero + run.noise + rng.normal(0, 1, wrench.shape) * white
    yaw, at = Rotation.from_euler("z", rng.uniform(-3, 3)).as_matrix(), np.array([1.1, 0.1, 1.1])
    R = yaw @ Rotation.align_vectors([[0, 0, 1.0]], [DOWN @ run.up])[0].as_matrix() @ DOWN
    moves = seen(run, motion.q[::STORED]) @ R.T + at
    rests = seen(run, np.zeros(300)) @ R.T + at
    return run, motion, *(x + rng.normal(0, NOISE["marker"], x.shape) for x in (moves, rests)), wrench


def write(folder: Path, seed: int, *effects: Effect, keys: str = "") -> tuple[Path, dict[str, float]]:
    """Tables of markers and load cell, the handle's model and the experiment file; -> the last and the truth."""
    run, _, moves, rests, wrench = simulate(seed, *effects)
    names = list(marker_places(run))
    columns = [f"{name}_{axis}" for name in names for axis in "xyz"]
    for name, points in (("markers.csv", moves), ("static.csv", rests)):
        _save(folder / name, columns, np.arange(len(points)) * STORED / RATE_HZ, points.reshape(len(points), -1))
    _save(folder / "wrench.csv", [*CHANNELS], run.t, wrench)
    _save_handle(folder / "handle.json", run.handle)
    places = ", ".join(f"{m}: {{column: [{m}_x, {m}_y, {m}_z], unit: m}}" for m in names)
    channels = ", ".join(f"{c}: {{column: {c}, unit: {'N' if c[0] == 'f' else 'N m'}}}" for c in CHANNELS)
    body = ", ".join(m for m in names if m[0] != "N")
    ends = np.cumsum([STILL_S, SLOW_S, TRAIN_S, TEST_S])
    bc, low = np.degrees([run.door.above_bc, run.door.above_l]) + (0.0 if run.guessed is None else run.guessed)
    width = ", width: 2 deg" + ("" if run.guessed is None else ", estimate: true")
    (folder / "body.yaml").write_text(
        f"""\
object: door
stage: body
recordings:
  mocap: {{file: markers.csv, time: {{column: t, unit: s}}, columns: {{{places}}}}}
  static: {{file: static.csv, time: {{column: t, unit: s}}, columns: {{{places}}}}}
  wrench: {{file: wrench.csv, time: {{column: t, unit: s}}, columns: {{{channels}}}}}
markers:
  body: [{body}]
  hinge: {{axis: [{", ".join(m for m in names if m[0] == "H")}], towards: N1, points: down}}
  sensor:
    markers: [S1, S2, S3]
    offset: {{rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0, 0, 0]}}
handle: handle.json
clocks: auto
mechanism: {{linkage: {{lengths: {[round(x, 6) for x in LENGTHS]}, assembly: negative}}}}
elements:
- {{type: zone-damper, name: b_bc, acts_on: closer, when: opening, above: {bc:.4f} deg{width}}}
- {{type: zone-damper, name: b_s, acts_on: closer, when: closing, otherwise: b_l, above: {low:.4f} deg{width}}}
segments:
  static: [0.3, {STILL_S - 0.5}]
  quasi_static: [{ends[0]}, {ends[1]}]
  train: [{ends[1]}, {ends[2]}]
  test: [{ends[2]}, {ends[3] - 0.3}]
{keys}"""
    )
    return folder / "body.yaml", run.door.parameters


def random_run(rng: np.random.Generator) -> Run:
    """The paper's links with other springs, valves and zones; what people do with such a door."""
    pinion = four_bar(TABLE, LENGTHS)
    I, b_v, b_c = rng.uniform([4, 2, 0.8], [10, 6, 2.2])
    b_bc, b_s, b_l = rng.uniform([4, 3, 1.5], [10, 6, 4])
    (shut, wide), nu = (np.interp(np.radians([0, 90]), TABLE, x) for x in pinion)
    ends = rng.uniform(5, 9) / nu[0], rng.uniform(13, 24) / nu[1]
    bent = rng.uniform(-0.25, 0.25, 2) * (ends[1] - ends[0])
    x = Polynomial([-shut, 1.0]) / (wide - shut)
    spring = Polynomial([-ends[0], -(ends[1] - ends[0] - bent.sum()), *(-bent)])(x)
    zones = np.radians(rng.uniform([60, 17], [75, 32]))
    door = Door(I, b_v, b_c, b_bc, b_s, b_l, tuple(spring.coef.tolist()), *zones.tolist(), rng.uniform(9, 16))
    S = Rotation.from_matrix([[1, 0, 0], [0, 0, -1], [0, 1, 0]]) * Rotation.from_euler("z", rng.uniform(-3, 3))
    S = Rotation.from_rotvec(np.radians(2) * rng.normal(size=3)) * S
    r = np.array([0.65, -0.05, 0.2]) + rng.uniform(-0.03, 0.03, 3)
    grip = r + rng.uniform([-0.02, -0.09, -0.08], [0.05, -0.05, 0.08])
    handle = rng.uniform([-0.08, -0.08, 0], [0.08, 0.08, 0.09], (6, 3)), rng.uniform(0.1, 0.4, 6)
    n = round(LENGTH_S * RATE_HZ)
    stiffness = rng.uniform(150, 300)
    wish, firm = wandering(rng, np.arange(2 * n + 4) / (2 * RATE_HZ))
    hand = Hand(wish, firm, stiffness, 2 * rng.uniform(0.4, 0.7) * np.sqrt(stiffness * (I + 1)))
    t = np.arange(n) / RATE_HZ
    return Run(door, rng, t, hand, handle, S.as_matrix(), r, grip, pinion, (0.0, np.radians(rng.uniform(88, 93))))


def four_bar(theta: Array, lengths: tuple[float, ...]) -> Array:
    """Angle of the pinion, continuous, and its derivative: the third link is at the end of the second (Norton 4.6)."""
    L1, L2, L3, L4 = lengths
    away = L4 - L1 * np.exp(1j * theta)  # from the pinion to where the third link is held
    d = np.abs(away)
    corner = np.arccos(np.clip((d * d + L2 * L2 - L3 * L3) / (2 * d * L2), -1, 1))
    gamma = np.unwrap(np.angle(away) + corner)
    psi = np.angle(L1 * np.exp(1j * theta) + L2 * np.exp(1j * gamma) - L4)
    turns = L1 / L2 * np.sin(psi - theta) / np.sin(gamma - psi)
    phi = np.pi + theta - gamma
    return np.array([phi - 2 * np.pi * np.floor(np.interp(0.0, theta, phi) / (2 * np.pi)), 1 - turns])


def wandering(rng: np.random.Generator, t: Array) -> tuple[Array, Array]:
    """What a hand wants, rad, and how firmly it holds: slowly there and back, strokes of all sizes, shaking, letting
    go.
    """
    goal, grip = np.zeros(len(t)), np.zeros(len(t))
    place, now = 0.0, STILL_S
    plan: list[tuple[float, float | None, float]] = []  # how long, where to, shaking
    plan += [(SLOW_S / 12, np.radians(a), 0.0) for a in (16, 32, 48, 64, 78, 86, 70, 54, 38, 22, 8, 1)]
    for length in (TRAIN_S, TEST_S):
        left, part = length, []
        for far in (rng.uniform(68, 82), rng.uniform(68, 82))[: 2 if length == TRAIN_S else 1]:  # let go from there
            part.append([(1.4, np.radians(far), 0.0), (4.6, None, 0.0)])
            left -= 6.0
        while left > 1.6:
            shakes = rng.uniform() < 0.3
            seconds = rng.uniform(1.6, 2.4) if shakes else rng.uniform(0.7, 1.4)
            part.append([(seconds, np.radians(rng.uniform(8, 78)), np.radians(rng.uniform(4, 8)) * shakes)])
            left -= seconds
        plan += [step for i in rng.permutation(len(part)) for step in part[i]]
        plan.append((max(left, 0.1), plan[-1][1], 0.0))
    held = False
    for seconds, to, shake in plan:
        u, inside = (t - now) / seconds, (t >= now) & (t < now + seconds)
        if to is None:
            goal = np.where(t >= now, place, goal)
            grip = np.where(t >= now, 1 - _smooth((t - now) / 0.15), grip) if held else grip
            place = np.radians(1.0)
        else:
            waves = rng.uniform([0.7, 0], [3, 6], (4, 2))
            goal = np.where(t >= now, place + (to - place) * _smooth(u / 0.85), goal)
            if shake:
                wave = sum(np.sin(2 * np.pi * f * t + p) for f, p in waves)
                goal = goal + np.where(inside, 0.35 * shake * wave * _smooth(4 * u) * _smooth(4 * (1 - u)), 0.0)
            grip = grip if held else np.where(t >= now, _smooth((t - now) / 0.3), grip)
            place = to
        held, now = to is not None, now + seconds
    return goal, grip


def swing(run: Run) -> Motion:
    """The door from its rest on, step by step."""
    door, hand = run.door, run.hand
    half = 1 / (2 * RATE_HZ)
    goal, rate, grip = (x.tolist() for x in (hand.goal, np.gradient(hand.goal, half), hand.grip))
    given = run.pinion[1] * Polynomial(door.spring)(run.pinion[0]) + _weight(run, TABLE)
    nu_of, given_of = run.pinion[1].tolist(), given.tolist()
    first, fine = float(TABLE[0]), 1 / float(TABLE[1] - TABLE[0])
    K, D, (k, d) = hand.stiffness, hand.damping, run.stop
    b_v, b_c, b_bc, b_s, b_l = door.b_v, door.b_c, door.b_bc, door.b_s, door.b_l
    bc, latch, steep, I = door.above_bc, door.above_l, 2 / WIDTH, door.I + _handle_inertia(run)
    # both stops give way a little, the lower one so much that the shut door rests where it should
    lower = run.stops[0] - float(np.interp(run.stops[0], TABLE, given)) / k
    upper = run.stops[1]

    def push(s: float, q: float, v: float) -> float:
        i = int(s)
        f = s - i
        wish, wish_dot = goal[i] + f * (goal[i + 1] - goal[i]), rate[i] + f * (rate[i + 1] - rate[i])
        return (grip[i] + f * (grip[i + 1] - grip[i])) * (K * (wish - q) + D * (wish_dot - v))

    def drive(s: float, q: float, v: float) -> float:
        """All but dry friction; s: time in half steps."""
        x = (q - first) * fine
        i = int(x)
        f = x - i
        nu = nu_of[i] + f * (nu_of[i + 1] - nu_of[i])
        opening, closing = b_bc / (1 + exp(-steep * (q - bc))), b_l + (b_s - b_l) / (1 + exp(-steep * (q - latch)))
        damping = opening if v > 0 else closing
        tau = push(s, q, v) + given_of[i] + f * (given_of[i + 1] - given_of[i]) - (b_v + nu * nu * damping) * v
        if q < lower:
            tau += max(k * (lower - q) - d * v, 0.0)
        if q > upper:
            tau -= max(k * (q - upper) + d * v, 0.0)
        return tau

    def step(s: float, h: float, q: float, v: float, dry: float) -> tuple[float, float]:
        w = h / (2 * half)  # half of it in half steps
        a1 = (drive(s, q, v) - dry) / I
        v2 = v + h / 2 * a1
        a2 = (drive(s + w, q + h / 2 * v, v2) - dry) / I
        v3 = v + h / 2 * a2
        a3 = (drive(s + w, q + h / 2 * v2, v3) - dry) / I
        v4 = v + h * a3
        a4 = (drive(s + 2 * w, q + h * v3, v4) - dry) / I
        return q + h / 6 * (v + 2 * v2 + 2 * v3 + v4), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)

    q, v, sign = run.stops[0], 0.0, 0.0
    rows = []
    for n in range(len(run.t)):
        s = 2.0 * n
        if sign == 0.0:
            pull = drive(s, q, 0.0)
            sign = 0.0 if abs(pull) <= b_c else (1.0 if pull > 0 else -1.0)
        a = 0.0 if sign == 0.0 else (drive(s, q, v) - sign * b_c) / I
        rows.append((q, v, a, push(s, q, v)))
        left = 2 * half
        while sign != 0.0 and left > 1e-9:
            at = 2.0 * n + 2 - left / half
            q1, v1 = step(at, left, q, v, sign * b_c)
            if sign * v1 >= 0:
                q, v = q1, v1
                break
            part = left * v / (v - v1)  # it comes to rest on the way
            q, _ = step(at, part, q, v, sign * b_c)
            v, left = 0.0, left - max(part, 1e-6)
            pull = drive(2.0 * n + 2 - max(left, 0.0) / half, q, 0.0)
            sign = 0.0 if abs(pull) <= b_c else (1.0 if pull > 0 else -1.0)
    return Motion(*np.array(rows).T)


def passed(run: Run, motion: Motion) -> Array:
    """(samples, 6) in the sensor's frame that reaches the door through it: the hand's, less what moves the handle."""
    rng, t, n = run.rng, run.t, len(run.t)
    grip = run.hand.grip[: 2 * n : 2]
    habit = np.stack([_wave(rng, t) for _ in range(5)], axis=1) * grip[:, None] * [9.0, 8.0, 0.6, 0.6, 0.4]
    x, y, _ = run.grip
    across = (motion.torque - habit[:, 4] + y * habit[:, 0]) / x
    f, c = np.stack([habit[:, 0], across, habit[:, 1]], axis=1), habit[:, 2:]
    f, c = f @ run.R_sensor, (c + np.cross(run.grip - run.r_sensor, f)) @ run.R_sensor
    zero = np.zeros(n)
    omega, omega_dot = np.stack([zero, zero, motion.v], axis=1), np.stack([zero, zero, motion.a], axis=1)
    cos, sin = np.cos(motion.q), np.sin(motion.q)
    ux, uy, uz = GRAVITY * run.up
    g = np.stack([cos * ux + sin * uy, -sin * ux + cos * uy, uz + zero], axis=1)
    wrench = np.hstack([f, c])
    for m, p in zip(run.handle[1], run.handle[0], strict=True):
        r = run.r_sensor + run.R_sensor @ p
        force = m * (g + np.cross(omega_dot, r) + np.cross(omega, np.cross(omega, r))) @ run.R_sensor
        wrench -= np.hstack([force, np.cross(p, force)])
    return wrench


def marker_places(run: Run) -> dict[str, Array]:
    """Name -> place at the shut door, m: sensor module, door, hinge, and N on the frame."""
    module = np.array([[0.01, -0.05, 0], [0, 0, 0], [0.05, 0, 0]]) @ run.R_sensor.T + run.r_sensor
    door = [[0.68, 0.07, -0.1], [0.7, 0.07, -0.53], [0.69, 0.02, -0.57], [0.11, 0, -0.53], [0.11, -0.05, 0.5]]
    hinge = [[0, 0, z] for z in (0.8, 0.69, 0.05, -0.06, -0.69, -0.8)]
    groups = {"S": module, "D": door, "H": hinge, "N": [[0.96, -0.02, -0.65], [-0.06, -0.09, 0.66]]}
    return {f"{k}{i + 1}": np.asarray(p, dtype=float) for k, places in groups.items() for i, p in enumerate(places)}


def seen(run: Run, q: Array) -> Array:
    """(frames, markers, 3) in axes of the hinge; those on the frame stay."""
    places = marker_places(run)
    points = np.broadcast_to(np.array(list(places.values())), (len(q), len(places), 3)).copy()
    turns = [i for i, name in enumerate(places) if name[0] != "N"]
    points[:, turns] = points[:, turns] @ Rotation.from_euler("Z", q[:, None]).as_matrix().transpose(0, 2, 1)
    return points


def _weight(run: Run, q: Array) -> Array:
    """Torque of gravity about a hinge that leans, on door and handle."""
    at = run.r_sensor + run.handle[0] @ run.R_sensor.T
    x, y = run.handle[1] @ at[:, :2] + [run.door.weighs, 0.0]
    ux, uy = -GRAVITY * run.up[:2]
    return (x * np.cos(q) - y * np.sin(q)) * uy - (x * np.sin(q) + y * np.cos(q)) * ux


def _handle_inertia(run: Run) -> float:
    at = run.r_sensor + run.handle[0] @ run.R_sensor.T
    return float(run.handle[1] @ (at[:, 0] ** 2 + at[:, 1] ** 2))


def _smooth(u: Array) -> Array:
    u = np.clip(u, 0, 1)
    return u**3 * (10 - 15 * u + 6 * u * u)


def _wave(rng: np.random.Generator, t: Array) -> Array:
    return sum(np.sin(2 * np.pi * rng.uniform(0.05, 2.5) * t + rng.uniform(0, 6)) for _ in range(8)) / 2


def _save(path: Path, names: list[str], t: Array, x: Array) -> None:
    save_table(path, ["t", *names], np.column_stack([t, x]), "%.7g")


def _save_handle(path: Path, handle: tuple[Array, Array]) -> None:
    p, m = handle
    I = np.einsum("n,nij->ij", m, (p * p).sum(axis=1)[:, None, None] * np.eye(3) - p[:, :, None] * p[:, None, :])
    phi, units = [m.sum(), *(m @ p), *I[np.triu_indices(3)]], ["kg"] + ["kg m"] * 3 + ["kg m2"] * 6
    values = {n: {"value": float(v), "unit": u} for n, v, u in zip(PHI, phi, units, strict=True)}
    model = {"palpate_model": 1, "name": "handle", "mechanism": {"type": "free", "gravity": GRAVITY},
             "elements": [{"type": "rigid-body", "name": "handle"}], "parameters": values}  # fmt: skip
    path.write_text(json.dumps(model))


# --- what may differ --------------------------------------------------------------------------------------------------


def coloured(run: Run) -> Run:
    """No fault: noise of the load cell with a memory of seconds, three times the white one."""
    a = np.exp(-1 / (RATE_HZ * run.rng.uniform(0.3, 3.0)))
    x = lfilter([np.sqrt(1 - a * a)], [1, -a], run.rng.normal(size=(len(run.t), 6)), axis=0)
    return replace(run, noise=run.noise + 3 * np.repeat([NOISE["force"], NOISE["moment"]], 3) * x)


def ajar(run: Run) -> Run:
    """In the session the door rests 0.03 to 0.1 deg ajar; it was pressed shut when its markers were taken at rest."""
    return replace(run, stops=(np.radians(run.rng.uniform(0.03, 0.1)), run.stops[1]))


def few_visits(run: Run) -> Run:
    """No fault: beyond backcheck's border the door is opened once to three times in all, not a dozen times."""
    t, border = np.arange(len(run.hand.goal)) / (2 * RATE_HZ), run.door.above_bc - np.radians(4)
    goal = np.where(t < LENGTH_S - TEST_S, np.minimum(run.hand.goal, border), run.hand.goal)
    held = np.cumsum(run.hand.grip > 0.99)
    length = round(2.4 * 2 * RATE_HZ)
    free = np.flatnonzero(held[length:] - held[:-length] == length)
    free = free[(t[free] > STILL_S + SLOW_S) & (t[free] < STILL_S + SLOW_S + TRAIN_S - 2.4)]
    for _ in range(run.rng.integers(1, 4)):
        start = run.rng.choice(free)
        u = np.clip((t - t[start]) / 2.4, 0, 1)
        up = _smooth(3 * u) * _smooth(3 * (1 - u))
        goal = goal + up * (border + np.radians(run.rng.uniform(14, 20)) - goal)
    return replace(run, hand=replace(run.hand, goal=goal))


def zones_guessed(run: Run) -> Run:
    """No fault: the zones' borders are to be estimated, from guesses that are off by up to 3 deg."""
    return replace(run, guessed=run.rng.uniform(-3, 3, 2))


def soft_ends(run: Run) -> Run:
    """It is often opened against a rubber buffer at 66 deg, which gives way by degrees, as the seal of the frame
    does.
    """
    return replace(run, stops=(0.0, np.radians(66)), stop=(300.0, 60.0))


def drift(run: Run) -> Run:
    """The zeros wander by 1 to 3 N and 0.05 to 0.15 N m over tens of seconds."""
    size = run.rng.uniform(1, 3, 6) * np.repeat([1, 0.05], 3) * run.rng.choice([-1, 1], 6)
    u, waves, phase = run.t[:, None] / LENGTH_S, run.rng.uniform(0.5, 1.5, 6), run.rng.uniform(0, 6, 6)
    return replace(run, noise=run.noise + size * (np.sin(2 * np.pi * waves * u + phase) - np.sin(phase)))


def leaning(run: Run) -> Run:
    """The hinge leans by 1 deg."""
    a, way = np.radians(1.0), run.rng.uniform(0, 2 * np.pi)
    return replace(run, up=np.array([np.sin(a) * np.cos(way), np.sin(a) * np.sin(way), -np.cos(a)]))


def track_arm(run: Run) -> Run:
    """The closer's arm runs in a track along the frame; the file says four bars."""
    L1, arm, beside = LENGTHS[0], run.rng.uniform(0.38, 0.46), run.rng.uniform(0.0, 0.04)
    gamma = np.arcsin((beside - L1 * np.sin(TABLE)) / arm)
    return _on(run, np.array([TABLE - gamma, 1 + L1 * np.cos(TABLE) / (arm * np.cos(gamma))]))


def stand_offs(run: Run) -> Run:
    """The links are measured along door and frame, but their ends stand off by up to 5 cm."""
    L1, L2, L3, L4 = LENGTHS
    door, frame = run.rng.uniform([0.02, -0.02], [0.05, 0.03])
    turned = TABLE + np.arctan2(door, L1) - np.arctan2(frame, L4)
    return _on(run, four_bar(turned, (np.hypot(L1, door), L2, L3, np.hypot(L4, frame))))


def _on(run: Run, pinion: Array) -> Run:
    """The same door on another linkage, with a spring that gives the same torque at both ends."""
    ends = np.radians([0, 90])
    (old, old_nu), (new, nu) = (np.array([np.interp(ends, TABLE, x) for x in p]) for p in (run.pinion, pinion))
    torque = old_nu * Polynomial(run.door.spring)(old) / nu
    slope = (torque[1] - torque[0]) / (new[1] - new[0])
    spring = (torque[0] - slope * new[0], slope, 0.0, 0.0)
    return replace(run, pinion=pinion, door=replace(run.door, spring=tuple(float(c) for c in spring)))
