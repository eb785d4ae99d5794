"""Carts of other make, pushed by one hand on a load cell: Newton and Euler in NumPy, nothing of palpate.

A cart is a few point masses that stay on the floor, on a fixed axle or on casters alone. The motion is given, so what
the hand must do along the floor and about the vertical follows from it; the rest is a habit of its. A caster is a bar
without mass whose wheel runs behind its pivot: its angle by SciPy's ODE, its force by the balance of the bar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

from tests.oracles.tables import save_table
from tests.oracles.wheelbarrows_of_other_make import Masses, _sign, _sine, _step, _wave

Array = np.ndarray
RATE_HZ, STORED, GRAVITY = 500.0, 5, 9.80665
"""Rate of the simulation and of the load cell, every which sample the cameras take, m/s2."""
STANDS_S, LENGTH_S = 3.0, 32.0
TRAIN, TEST = (4.5, 22.0), (22.5, 31.5)
MARKER_M, FORCE_N, MOMENT_NM = 2e-4, 0.1, 0.004
CHANNELS = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")


@dataclass(frozen=True)
class Caster:
    """Its pivot (m, in the body), rolling resistance (N) and friction in its pivot (N m s/rad, N m)."""

    place: tuple[float, float]
    b_roll: float
    b_swivel: float = 0.0
    c_swivel: float = 0.0


@dataclass(frozen=True)
class Cart:
    """The truth, SI: x ahead, y left, z up, origin on the axle."""

    body: Masses
    axle: bool = True
    b_v: float = 0.0
    b_side: float = 0.0
    b_turn: float = 0.0
    b_wheels: tuple[float, float] = (0.0, 0.0)
    """Dry, left and right, N, half a track from the origin."""
    track: float = 0.5
    casters: tuple[Caster, ...] = ()
    trail: float = 0.04
    slip: float = 0.0
    """m/s by which the axle goes aside (RMS)."""

    @property
    def truth(self) -> dict[str, float]:
        """By palpate's names, of what such a motion shows."""
        phi = self.body.phi
        found = {"m": phi[0], "c_x": phi[1] / phi[0], "c_y": phi[2] / phi[0], "Izz": phi[9]}
        found |= {"b_v": self.b_v, "b_side": self.b_side, "b_turn": self.b_turn}
        found |= dict(zip(("b_left", "b_right"), self.b_wheels, strict=True))
        for i, c in enumerate(self.casters, start=1):
            found |= {f"b_roll_{i}": c.b_roll, f"b_swivel_{i}": c.b_swivel, f"c_swivel_{i}": c.c_swivel}
        return {name: float(value) for name, value in found.items() if value}


def random_cart(seed: int, *, axle: bool = True) -> Cart:
    """A platform of 15 to 25 kg with a load, on an axle behind its middle or on none."""
    rng = np.random.default_rng([seed, 31])
    frame = np.array([[x, y, 0.2] for x in (0.0, 0.35, 0.7) for y in (-0.25, 0.25)])
    load = rng.uniform([0.15, -0.2, 0.3], [0.6, 0.2, 0.6], (5, 3))
    points = np.vstack([frame, load]) - (0.0 if axle else 1.0) * np.array([0.35, 0.0, 0.0])
    body = Masses(points, np.concatenate([rng.uniform(1.5, 3.0, 6), rng.uniform(1.0, 3.0, 5)]))
    b_v, b_side, b_turn, left, right = np.exp(rng.uniform(np.log([4, 6, 1.5, 3, 3]), np.log([10, 14, 4, 7, 7])))
    if axle:
        return Cart(body, True, b_v, 0.0, b_turn, (left, right))
    return Cart(body, False, b_v, b_side, b_turn)


def with_casters(cart: Cart, seed: int, places: Sequence[tuple[float, float]], *, dry: bool = False) -> Cart:
    """The same on casters too, which take the place of friction along the way."""
    rng = np.random.default_rng([seed, 33])
    casters: list[Caster] = []
    for place in places:
        roll, viscous, coulomb = rng.uniform([2.0, 0.02, 0.1], [6.0, 0.06, 0.3]).tolist()
        casters.append(Caster(place, roll, *((0.0, coulomb) if dry else (viscous, 0.0))))
    return replace(cart, casters=tuple(casters), b_v=0.0, b_side=0.0, trail=round(rng.uniform(0.03, 0.05), 4))


@dataclass(frozen=True)
class Run:
    """One session at `RATE_HZ`; speeds in axes of the body."""

    t: Array
    place: Array
    """(samples, 2) of the origin on the floor."""
    yaw: Array
    speeds: Array
    """(samples, 3): ahead, aside, about the vertical ..."""
    changes: Array
    """... and the acceleration in axes of the body, with the yaw's."""
    swivels: Array
    """(casters, samples)."""
    needs: Array
    """(samples, 3): force ahead and aside, moment about the vertical through the origin, that the hand must give."""
    slope: Array
    """(2,): components of up along the floor."""


def pushed(cart: Cart, seed: int) -> Run:
    """A motion and what it takes."""
    rng = np.random.default_rng([seed, 32])
    t = np.arange(0, LENGTH_S, 1 / RATE_HZ)
    begin, parts = _step(t, STANDS_S, 1.2), []
    for slow, quick, low in ((0.45, 1.2, 0.1), (0.25, 0.8, 0.1), (0.7, 2.5, 0.08)):
        x = slow * sum(rng.uniform(0.6, 1) * _sine(rng, t, low, 0.35) for _ in range(2))
        for _ in range(3):
            f = rng.uniform(0.6, 2.2)
            x = x + quick * np.sqrt(0.5) / (2 * np.pi * f) * np.sin(2 * np.pi * f * t + rng.uniform(0, 6))
        parts.append(begin * x * (0.75 + 0.45 * np.sin(2 * np.pi * (t / 11 + rng.uniform()))))
    ahead, aside, turn = parts
    if cart.axle:
        aside = cart.slip * begin * np.sqrt(2) * _sine(rng, t, 0.3, 0.8)
    yaw = make_interp_spline(t, turn, k=5).antiderivative()(t) + rng.uniform(-3, 3)
    cos, sin = np.cos(yaw), np.sin(yaw)
    course = make_interp_spline(t, np.stack([ahead * cos - aside * sin, ahead * sin + aside * cos], axis=1), k=5)
    bend, slope = course(t, 1), np.radians(rng.uniform(-0.12, 0.12, 2))
    felt = bend + GRAVITY * slope
    a = np.stack([felt[:, 0] * cos + felt[:, 1] * sin, felt[:, 1] * cos - felt[:, 0] * sin], axis=1)
    turn_1 = make_interp_spline(t, turn, k=5)(t, 1)
    zero, n = np.zeros(len(t)), len(t)
    about = [np.stack([zero, zero, x], axis=1) for x in (turn, turn_1)]
    needs = cart.body.wrench(np.column_stack([a, np.full(n, GRAVITY)]), *about)[:, [0, 1, 5]]
    needs += np.stack([cart.b_v * ahead, cart.b_side * aside, cart.b_turn * turn], axis=1)
    for side, b in zip((0.5, -0.5), cart.b_wheels, strict=True):
        y = side * cart.track
        drag = b * _sign(rng, t, ahead - y * turn)
        needs += np.stack([drag, zero, -y * drag], axis=1)
    speeds = np.stack([ahead, aside, turn], axis=1)
    swivels = np.zeros((0, n))
    if cart.casters:
        swivels = _swivels(cart, t, speeds, rng.uniform(-2, 2, len(cart.casters)))
    for caster, swivel in zip(cart.casters, swivels, strict=True):
        needs += caster_force(caster, cart.trail, swivel, speeds, lambda x: _sign(rng, t, x))
    return Run(t, course.antiderivative()(t), yaw, speeds, np.column_stack([a, turn_1]), swivels, needs, slope)


def _swivels(cart: Cart, t: Array, speeds: Array, start: Array) -> Array:
    """(casters, samples): the bars' angles against the body; their wheels do not move along their axles."""
    a, b = np.array([c.place for c in cart.casters]).T
    rows, last = speeds.tolist(), len(speeds) - 2

    def slope(s: float, angle: Array) -> Array:
        at = min(int(s * RATE_HZ), last)
        part = s * RATE_HZ - at
        v, u, w = (x + part * (y - x) for x, y in zip(rows[at], rows[at + 1], strict=True))
        # velocity of the wheel along its axle = pivot's - trail (w + angle') = 0
        return ((u + a * w) * np.cos(angle) - (v - b * w) * np.sin(angle)) / cart.trail - w

    return solve_ivp(slope, (0, t[-1]), start, t_eval=t, rtol=1e-6, atol=1e-7, max_step=0.1, method="LSODA").y


def caster_force(caster: Caster, trail: float, swivel: Array, speeds: Array, sign: Callable[[Array], Array]) -> Array:
    """(samples, 3) that the body must give to a bar without mass: force, and moment about the origin.

    The floor holds its wheel back along the bar by the rolling resistance, and across it by as much as keeps the
    bar's moment about its pivot zero against the pivot's friction.
    """
    v, u, w = speeds.T
    a, b = caster.place
    along, across = (np.stack(x, axis=1) for x in ((np.cos(swivel), np.sin(swivel)), (-np.sin(swivel), np.cos(swivel))))
    pivot = np.stack([v - b * w, u + a * w], axis=1)
    rolling, turning = np.sum(pivot * along, axis=1), np.sum(pivot * across, axis=1) / trail - w
    friction = caster.b_swivel * turning + caster.c_swivel * sign(turning)
    # the wheel is at -trail along: (-trail along) x F = friction about z, so F across = -friction / trail
    floor = -caster.b_roll * sign(rolling)[:, None] * along - (friction / trail)[:, None] * across
    moment = a * floor[:, 1] - b * floor[:, 0] + friction  # of the bar on the body: at the pivot, and in it
    return -np.column_stack([floor, moment])


PLACES = {
    "A1": (0.0, -0.26, 0.1), "A2": (0.0, 0.26, 0.1), "B1": (0.0, 0.0, 0.25), "B2": (0.7, 0.0, 0.25),
    "C1": (0.7, -0.25, 0.3), "C2": (0.7, 0.25, 0.3), "C3": (0.1, 0.2, 0.6), "C4": (0.05, -0.24, 0.5),
}  # fmt: skip
"""Markers: at the ends of the axle, along the middle, and some more."""


def write(
    folder: Path,
    cart: Cart,
    seed: int,
    yaml: str,
    *,
    moved: dict[str, float] | None = None,
    base: str = "",
    imu: bool = False,
) -> Path:
    """Tables of markers and load cell, of an IMU beside it where it is asked for, and the experiment file: `yaml` and
    what all have; moved: markers, m ahead.
    """
    run, rng = pushed(cart, seed), np.random.default_rng([seed, 34])
    n = len(run.t)
    S = (
        Rotation.from_euler("zyx", [0.3, 0.1, -0.2]) * Rotation.from_rotvec(np.radians(2) * rng.normal(size=3))
    ).as_matrix()
    r, grip = np.array([-0.15, 0.0, 0.95]), np.array([-0.25, 0.02, 0.98])
    if not cart.axle:
        r, grip = r - [0.35, 0, 0], grip - [0.35, 0, 0]
    waves = np.stack([_wave(rng, run.t, 0.1, 3.0, 8) for _ in range(6)], axis=1) * [0, 4, 8, 0.5, 0.5, 0]
    hold = _step(run.t, STANDS_S - 0.7, 0.5)[:, None]
    force = np.column_stack([run.needs[:, 0], waves[:, 1] if cart.axle else run.needs[:, 1], waves[:, 2] - 10])
    twist = run.needs[:, 2] - np.cross(grip, force)[:, 2]
    moment = np.column_stack([waves[:, 3:5], twist]) + np.cross(grip - r, force)
    shown = hold * np.hstack([force @ S, moment @ S])
    shown += rng.normal(0, [1.0] * 3 + [0.05] * 3) + rng.normal(size=(n, 6)) * np.repeat([FORCE_N, MOMENT_NM], 3)
    module = r + np.array([[0.01, -0.06, 0], [0, 0, 0], [0.06, 0, 0]]) @ S.T
    places = dict(PLACES) | {f"S{k + 1}": p for k, p in enumerate(module)}
    if not cart.axle:
        places = {k: np.asarray(p) - ([0.35, 0, 0] if k[0] != "S" else [0, 0, 0]) for k, p in places.items()}
    for name, ahead in (moved or {}).items():
        places[name] = np.array(places[name]) + ahead * np.eye(3)[0]
    at = slice(None, None, STORED)
    R = Rotation.from_euler("z", run.yaw[at, None]).as_matrix()
    points = np.array(list(places.values())) @ R.transpose(0, 2, 1)
    points[:, :, :2] += run.place[at, None]
    askew = Rotation.from_rotvec(np.radians(0.3) * np.append(rng.normal(size=2), 0)).as_matrix()
    points = points @ askew.T + [0.3, -0.2, 0.01]
    points += rng.normal(0, MARKER_M, points.shape)
    columns = [f"{name}_{axis}" for name in places for axis in "xyz"]
    table = np.column_stack([run.t[at], points.reshape(len(points), -1)])
    save_table(folder / "markers.csv", ["t", *columns], table, "%.7g")
    save_table(folder / "wrench.csv", ["t", *CHANNELS], np.column_stack([run.t + 1.3, shown]), "%.7g")
    seen = ", ".join(f"{m}: {{column: [{m}_x, {m}_y, {m}_z], unit: m}}" for m in places)
    channels = ", ".join(f"{c}: {{column: {c}, unit: {'N' if c[0] == 'f' else 'N m'}}}" for c in CHANNELS)
    more = f"\n  imu: {_imu(folder, run, r, rng)}" if imu else ""
    base = base or ("{axle: [A1, A2]}" if cart.axle else "{ahead: [B1, B2]}")
    path = folder / "cart.yaml"
    path.write_text(
        f"""\
stage: body
recordings:
  mocap: {{file: markers.csv, time: {{column: t, unit: s}}, columns: {{{seen}}}}}
  wrench: {{file: wrench.csv, time: {{column: t, unit: s}}, columns: {{{channels}}}}}{more}
markers:
  sensor: {{markers: [S1, S2, S3], offset: {{rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0, 0, 0]}}}}
  base: {base}
segments: {{static: [0.2, 2], train: {list(TRAIN)}, test: {list(TEST)}}}
{yaml}"""
    )
    return path


def _imu(folder: Path, run: Run, r: Array, rng: np.random.Generator) -> str:
    """What an IMU at r shows, somehow turned and 12.3 ms late: its table, and the recording's part of the file."""
    turn, zero = Rotation.from_rotvec([0.5, -2.0, 1.0]).as_matrix(), np.zeros(len(run.t))
    omega, omega_dot = (np.stack([zero, zero, x], axis=1) for x in (run.speeds[:, 2], run.changes[:, 2]))
    a = np.column_stack([run.changes[:, :2], zero + GRAVITY])
    a = a + np.cross(omega_dot, r) + np.cross(omega, np.cross(omega, r))
    shown = np.hstack([a @ turn, omega @ turn]) + rng.normal(0, [0.02] * 3 + [0.002] * 3)
    shown += rng.normal(size=shown.shape) * np.repeat([0.01, 0.002], 3)
    kinds = {f"{k}.{axis}": u for k, u in (("acceleration", "m/s2"), ("angular_rate", "rad/s")) for axis in "xyz"}
    save_table(folder / "imu.csv", ["t", *kinds], np.column_stack([run.t + 0.0123, shown]), "%.7g")
    columns = ", ".join(f"{name}: {{column: {name}, unit: {unit}}}" for name, unit in kinds.items())
    return f"{{file: imu.csv, time: {{column: t, unit: s}}, columns: {{{columns}}}}}"
