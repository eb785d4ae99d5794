"""Objects that somebody else simulated, seen by a robot or a tracker: SciPy's rotations, files by Polars."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

from tests import drawer_files

Array = NDArray[np.float64]
RATE_HZ, FORCE_HZ, LATE_S = 125.0, 500.0, 0.84
NOISE_M, NOISE_RAD, NOISE_N, NOISE_NM = 1e-4, 2e-4, 0.05, 2e-3
DOOR = {"I": 4.1, "b_v": 2.2, "b_c": 1.3}
SENSOR = Rotation.from_euler("xyz", [20, -35, 50], degrees=True), np.array([0.02, -0.01, 0.05])
SENSORS = (
    SENSOR,
    (Rotation.from_euler("xyz", [-80, 15, 10], degrees=True), np.array([-0.1, 0.05, 0.12])),
    (Rotation.from_euler("xyz", [0, 0, 170], degrees=True), np.array([0.0, -0.15, 0.02])),
)
"""Of load cells in the tool's frame."""
FREE_DOOR = "object: free-door.yaml\n"
FREE_DOOR_FILE = """name: free-door
mechanism: {type: hinge}
elements:
  - {type: inertia, name: I}
  - {type: viscous, name: b_v}
  - {type: coulomb, name: b_c}
"""


def hand(t: float) -> float:
    """Where the hand wants the door, rad: still, a slow pass, then quick ones."""
    if t < 14:
        return 0.7 * (1 - np.cos(2 * np.pi * (t - 2) / 12)) if t >= 2 else 0.0
    quick = 0.8 + 0.5 * np.sin(2 * np.pi * 0.45 * (t - 14)) + 0.25 * np.sin(2 * np.pi * 1.1 * (t - 14))
    begin = min(max((t - 14) / 1.5, 0.0), 1.0) * min(max((40 - t) / 1.5, 0.0), 1.0)
    return float(quick * begin * begin * (3 - 2 * begin))


@cache
def door() -> tuple[Array, Array, Array]:
    """Times (s), angle (rad), the hand's torque about the hinge (N m), by SciPy's ODE."""
    t = np.arange(0, 42, 1 / FORCE_HZ)
    k, d = 400.0, 60.0

    def torque(s: float, x: float, v: float) -> float:
        return k * (hand(s) - x) + d * ((hand(s + 1e-4) - hand(s - 1e-4)) / 2e-4 - v)

    def slope(s: float, y: Array) -> list[float]:
        x, v = y.tolist()
        return [v, (torque(s, x, v) - DOOR["b_v"] * v - DOOR["b_c"] * np.tanh(v / 1e-3)) / DOOR["I"]]

    y = solve_ivp(slope, (0, 42), [0.0, 0.0], t_eval=t, rtol=1e-7, atol=1e-9, max_step=0.01, method="LSODA").y
    return t, y[0], np.array([torque(*at) for at in zip(t.tolist(), *y.tolist(), strict=True)])


def write_door(folder: Path, seed: int = 0, **options: Any) -> Path:
    """A door without a closer that a robot's tool holds by its handle; the hinge leans nowhere, 0.8 m away."""
    rng, (t, angle, torque) = np.random.default_rng(seed), door()
    hinge = Rotation.from_euler("z", 25 + 7 * seed, degrees=True)
    grasp = Rotation.from_euler("xyz", [100, 10, -60], degrees=True)  # the tool on the door
    arm = np.array([0.8, 0.04, 0.1])
    turn = hinge * Rotation.from_rotvec(np.outer(angle, [0, 0, 1.0]))
    position = turn.apply(arm) + np.array([0.3, -0.9, 0.2])
    # tangential force that gives the torque, and forces and moments that do not move the door
    touched = np.clip(t - 2, 0, 1)
    radial = touched * (6 * np.sin(0.7 * t + seed) + 4 * np.sin(5.3 * t))
    force = np.stack([radial, (torque + arm[1] * radial) / arm[0], 5 * touched * np.cos(0.4 * t)], axis=1)
    moment = np.stack([touched * np.sin(t), touched * np.cos(0.3 * t), 0 * t], axis=1)
    wrench = np.hstack([force @ grasp.as_matrix(), moment @ grasp.as_matrix()])
    segments = "{static: [0.2, 1.8], quasi_static: [2.2, 13.5], train: [14.5, 30], test: [30.5, 39]}"
    (folder / "free-door.yaml").write_text(FREE_DOOR_FILE)
    return write(folder, rng, t, position, turn * grasp, wrench, FREE_DOOR, segments, **options)


def write_drawer(folder: Path, seed: int = 0, aside: float = 1.0, **options: Any) -> Path:
    """The drawer of `drawer_files`, whose pose a tracker shows; the hand pulls not only along the runner."""
    rng, (t, x, f) = np.random.default_rng(seed), drawer_files.simulate()
    t, x, f = (a[::2] for a in (t, x, f))
    turn = Rotation.from_euler("zyx", [37 + 20 * seed, 25, -70], degrees=True)
    runner = Rotation.from_euler("z", 37, degrees=True).as_matrix()[:, 0]
    across = aside * np.clip(t - 5, 0, 1) * (2 * np.sin(0.9 * t) + np.sin(6.1 * t))
    force = np.outer(f, runner) + np.outer(across, [-runner[1], runner[0], 0.0])
    force = turn.inv().apply(force)
    wrench = np.hstack([force, np.cross([0.03, 0.01, 0.1], force)])
    position = np.outer(x, runner) + np.array([0.4, -0.3, 0.7])
    turns = Rotation.from_matrix(np.broadcast_to(turn.as_matrix(), (len(t), 3, 3)))
    segments = "{static: [0.5, 4.5], quasi_static: [5, 25], train: [28, 46], test: [46.5, 57]}"
    return write(folder, rng, t, position, turns, wrench, "object: drawer\n", segments, **options)


def write(
    folder: Path,
    rng: np.random.Generator,
    t: Array,
    position: Array,
    turn: Rotation,
    wrench: Array,
    head: str,
    segments: str,
    *,
    cells: int = 1,
    stored: str = "xyzw",
    said: str | None = None,
    unit: str = "m",
    unit_said: str = "",
    world_axes: bool = False,
    damage: str = "",
) -> Path:
    """Files as a robot writes them: poses at `RATE_HZ`, load cells at `FORCE_HZ` on a clock `LATE_S` ahead.

    wrench: on the object, about the tool's origin and in its axes. cells: how many load cells share it.
    stored: what the file holds; said: what the experiment file says. unit, unit_said: of the positions.
    world_axes: the wrench is not in the sensor's axes. damage: to the poses, "spike", "step" or "slow".
    """
    at = np.arange(0, t[-1], 1 / RATE_HZ)
    where = make_interp_spline(t, position, k=3)(at) + rng.normal(0, NOISE_M, (len(at), 3))
    near = np.searchsorted(t, at - 1e-9)
    turned = turn[near] * Rotation.from_rotvec(rng.normal(0, NOISE_RAD, (len(at), 3)))
    if damage == "spike":
        where[3000:3004] += [0.05, 0.0, 0.02]
    if damage == "step":
        where[3000:] += [0.05, 0.0, 0.02]
    if damage == "slow":
        held = np.arange(len(at)) // 5 * 5
        where, turned = where[held], turned[held]
    numbers = {
        "xyzw": turned.as_quat,
        "wxyz": lambda: np.roll(turned.as_quat(), 1, axis=1),
        "rotation-vector": turned.as_rotvec,
        "euler-zyx": lambda: turned.as_euler("ZYX"),
        "matrix": lambda: turned.as_matrix().reshape(-1, 9),
        "joints": lambda: joints_of(folder, where, turned),
    }[stored]()
    names = [f"o{i}" for i in range(numbers.shape[1])]
    scale = {"m": 1.0, "mm": 1e3}[unit]
    rows = np.hstack([at[:, None], scale * where, numbers])
    table(folder / "robot.csv", ["t", "x", "y", "z", *names], rows)
    for i, (mounted, w) in enumerate(zip(SENSORS, shared(wrench, t, cells), strict=False)):
        if world_axes:
            w = np.hstack([(turn * mounted[0]).apply(part) for part in np.hsplit(w, 2)])
        zero = np.array([1.2, -0.7, 0.4, 0.02, -0.03, 0.01]) * (1 + i)
        w = w + zero + rng.normal(0, [NOISE_N] * 3 + [NOISE_NM] * 3, w.shape)
        table(folder / f"wrist{i}.csv", ["t", *"abcdef"], np.hstack([t[:, None] + LATE_S, w]))
    places = [f"{n}: {{column: {n}, unit: {unit_said or unit}}}" for n in "xyz"]
    angles = ", unit: rad" if stored in ("rotation-vector", "euler-zyx") else ""
    places += [f"{n}: {{column: {n}{angles}}}" for n in names]
    channels = ", ".join(f"{c}: {{column: {c}, unit: {'N' if i < 3 else 'N m'}}}" for i, c in enumerate("abcdef"))
    wrenches = [f"{{file: wrist{i}.csv, time: {{column: t, unit: s}}, columns: {{{channels}}}}}" for i in range(cells)]
    places_of = [f"{{rotation: {R.as_matrix().tolist()}, translation: {r.tolist()}}}" for R, r in SENSORS[:cells]]
    listed = [f"[{', '.join(x)}]" if cells > 1 else x[0] for x in (wrenches, places_of)]
    said_so = f"position: [x, y, z]\n    orientation: [{', '.join(names)}]\n    stored: {said or stored}"
    if stored == "joints":
        joints = ", ".join(f"{joint}: {name}" for joint, name in zip(JOINTS, names, strict=True))
        said_so = f"joints: {{{joints}}}\n    urdf: arm.urdf\n    frame: tool0"
        units = ["m"] * 3 + ["rad"] * 3
        places = [f"{n}: {{column: {n}, unit: {u}}}" for n, u in zip(names, units, strict=True)]
    path = folder / "poses.yaml"
    path.write_text(
        f"""{head}stage: body
recordings:
  poses:
    file: robot.csv
    time: {{column: t, unit: s}}
    columns: {{{", ".join(places)}}}
    {said_so}
  wrench: {listed[0]}
poses:
  sensor: {listed[1]}
segments: {segments}
"""
    )
    return path


JOINTS = {
    "x": ("prismatic", 0),
    "y": ("prismatic", 1),
    "z": ("prismatic", 2),
    "yaw": ("continuous", 2),
    "pitch": ("revolute", 1),
    "roll": ("revolute", 0),
}
TOOL = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]), np.array([0.05, 0.0, 0.1])
"""On the last link; URDF's rpy are turns about fixed axes."""


def joints_of(folder: Path, where: Array, turned: Rotation) -> Array:
    """(samples, 6): positions of the joints of an arm whose tool is there; its URDF goes into the folder."""
    links = "".join(f'<link name="l{i}"/>' for i in range(len(JOINTS)))
    joints = "".join(
        f'<joint name="{name}" type="{kind}"><parent link="{f"l{i - 1}" if i else "base"}"/><child link="l{i}"/>'
        f'<axis xyz="{" ".join(str(int(k == axis)) for k in range(3))}"/>'
        '<limit lower="-9" upper="9" effort="1" velocity="1"/></joint>'
        for i, (name, (kind, axis)) in enumerate(JOINTS.items())
    )
    tool = '<joint name="mount" type="fixed"><parent link="l5"/><child link="tool0"/>'
    tool += '<origin xyz="0.05 0 0.1" rpy="0.1 0.2 0.3"/></joint>'
    robot = f'<robot name="arm"><link name="base"/>{links}<link name="tool0"/>{joints}{tool}</robot>'
    (folder / "arm.urdf").write_text(robot)
    wrist = turned * TOOL[0].inv()
    return np.hstack([where - wrist.apply(TOOL[1]), wrist.as_euler("ZYX")])


def shared(wrench: Array, t: Array, cells: int) -> list[Array]:
    """The wrench on an object as load cells show it, each in its own frame: hands also work against each other."""
    touched, parts = np.clip(t - 2, 0, 1)[:, None], list[Array]()
    rest = wrench
    for i in range(cells - 1):
        part = touched * np.stack([(4 + k) * np.sin((0.5 + 0.37 * k + i) * t) for k in range(6)], axis=1)
        part[:, 3:] *= 0.1
        parts.append(part)
        rest = rest - part
    shown: list[Array] = []
    for (R, r), w in zip(SENSORS, [rest, *parts], strict=False):
        shown.append(np.hstack([R.inv().apply(w[:, :3]), R.inv().apply(w[:, 3:] - np.cross(r, w[:, :3]))]))
    return shown


def table(path: Path, header: list[str], rows: Array) -> None:
    """A CSV file as Polars writes it."""
    pl.DataFrame(rows, schema=header, orient="row").write_csv(path, float_precision=9)
