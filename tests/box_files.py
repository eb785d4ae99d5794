"""A box that MuJoCo moves, lifted by several handles: seen as poses, or by markers, with or without an IMU."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.spatial.transform import Rotation

from palpate.physics.inertia import phi_from_mass_properties
from tests import pose_files
from tests.oracles import mujoco_body
from tests.pose_files import NOISE_M, RATE_HZ, SENSORS, Array

LENGTH_S, HZ, GRAVITY = 38.0, 250.0, 9.80665
SEGMENTS = "{static: [0.3, 1.9], train: [[6, 29]], test: [29.5, 35]}"
MARKERS = np.array(
    [[0.1, 0.0, 0.02], [0.0, 0.0, 0.0], [0.0, 0.12, 0.03], [-0.15, 0.05, 0.1], [0.05, -0.12, 0.14], [-0.1, -0.1, -0.05]]
)
HANDLES = ((0.8, np.array([0.01, 0.0, 0.06])), (0.5, np.array([0.0, -0.02, 0.05])))
"""Masses (kg) and their centres in the sensors' frames, m."""
IMU = Rotation.from_rotvec([0.4, -1.1, 0.3]), np.array([0.07, 0.03, -0.02])
IMU_LATE_S = -0.37


def truth(seed: int) -> Array:
    """(10,) in the frame of the poses: a packed box, its centre of mass beside the middle."""
    rng = np.random.default_rng([seed, 5])
    sides, m = rng.uniform([0.3, 0.2, 0.15], [0.5, 0.35, 0.3]), rng.uniform(4.0, 9.0)
    turn = Rotation.random(random_state=seed).as_matrix()
    inertia = turn @ np.diag(m / 12 * (np.sum(sides**2) - sides**2)) @ turn.T
    return np.asarray(phi_from_mass_properties(m, rng.uniform(-0.08, 0.08, 3), inertia), dtype=float)


@cache
def moved(seed: int) -> tuple[Array, Rotation, Array, Array, Array, Array]:
    """Times, R_world_body, position, omega and omega_dot in the body, acceleration in the world."""
    rng, t = np.random.default_rng([seed, 6]), np.arange(0, LENGTH_S, 1 / HZ)
    hz = 2 * np.pi * np.hstack([rng.uniform(0.1, 0.35, (6, 3)), rng.uniform(0.8, 2.2, (6, 3))])
    size = np.hstack([rng.uniform(0.2, 0.45, (6, 3)), rng.uniform(0.05, 0.12, (6, 3))])
    size[3:] *= 0.15
    phase = rng.uniform(0, 2 * np.pi, size.shape)

    def path(s: Array) -> Array:
        u = np.clip((s - 4) / 1.5, 0, 1) * np.clip((LENGTH_S - 1 - s) / 1.5, 0, 1)
        begin = u**3 * (10 - 15 * u + 6 * u * u)
        return begin[:, None] * (size[:, None] * np.sin(hz[:, None] * s[:, None] + phase[:, None])).sum(axis=2).T

    def omega(s: Array) -> Array:
        h = 1e-4
        before, after = (Rotation.from_rotvec(path(s + d)[:, :3]) for d in (-h, h))
        return (before.inv() * after).as_rotvec() / (2 * h)

    h = 1e-3
    places = [path(t + d)[:, 3:] for d in (-h, 0.0, h)]
    acceleration = (places[0] - 2 * places[1] + places[2]) / h**2
    slope = (omega(t + h) - omega(t - h)) / (2 * h)
    heading = Rotation.from_euler("z", 0.3 + seed)
    turn = heading * Rotation.from_rotvec(path(t)[:, :3])
    where = heading.apply(places[1]) + np.array([1.0, 2.0, 0.8])
    return t, turn, where, omega(t), slope, heading.apply(acceleration)


def write_box(
    folder: Path,
    seed: int = 0,
    *,
    cells: int = 2,
    by: str = "poses",
    imu: bool = False,
    tilt_deg: float = 0.3,
    **options: Any,
) -> Path:
    """Files of a box. by: poses or markers. tilt_deg: by how much the cameras' or robot's z is off the vertical."""
    rng, phi = np.random.default_rng(seed), truth(seed)
    t, turn, position, omega, omega_dot, acceleration = moved(seed)
    carried = np.clip((t - 4) / 0.2, 0, 1)[:, None]  # before that the floor carries it
    wrench = carried * mujoco_body.body_wrench(phi, turn.as_matrix(), omega, omega_dot, acceleration, GRAVITY)
    askew = Rotation.from_euler("xy", [tilt_deg, -0.5 * tilt_deg], degrees=True)
    seen, where = askew * turn, askew.apply(position)
    path = pose_files.write(folder, rng, t, where, seen, wrench, "object: box\n", SEGMENTS, cells=cells, **options)
    if by == "markers":
        _by_markers(path, rng, t, where, seen, cells)
    if imu:
        _with_imu(path, rng, t, turn, omega, omega_dot, acceleration)
    return path


def add_handles(path: Path, seed: int = 0) -> Path:
    """Handles on the load cells of a box: while nobody touches them, their weight is what these show."""
    t, turn, *_ = moved(seed)
    for i, (m, c) in enumerate(HANDLES):
        file = path.parent / f"wrist{i}.csv"
        rows = pl.read_csv(file).to_numpy().copy()
        force = (turn * SENSORS[i][0]).inv().apply(np.tile([0.0, 0.0, -m * GRAVITY], (len(t), 1)))
        rows[:, 1:] += np.where(t < 2, 1.0, 0.0)[:, None] * np.hstack([force, np.cross(c, force)])
        pose_files.table(file, ["t", *"abcdef"], rows)
    handles = ", ".join(f"{{mass: {m} kg, com: {c.tolist()}}}" for m, c in HANDLES)
    path.write_text(path.read_text().replace("stage: body", f"stage: body\nhandle: [{handles}]"))
    return path


def _by_markers(path: Path, rng: np.random.Generator, t: Array, position: Array, turn: Rotation, cells: int) -> None:
    """The same recording with markers instead of poses."""
    at = slice(None, None, int(HZ / RATE_HZ))
    points = position[at, None] + np.einsum("nij,kj->nki", turn[at].as_matrix(), MARKERS)
    names, seen = "ABCDEF", np.asarray(points, dtype=float).reshape(len(t[at]), -1)
    rows = np.hstack([t[at, None], seen + rng.normal(0, 2 * NOISE_M, seen.shape)])
    pose_files.table(path.parent / "markers.csv", ["t", *(f"{n}_{a}" for n in names for a in "xyz")], rows)
    # the frame of the first three: x from the second to the third, z along (first - second) x x
    x = MARKERS[2] - MARKERS[1]
    z = np.cross(MARKERS[0] - MARKERS[1], x)
    x, z = x / np.linalg.norm(x), z / np.linalg.norm(z)
    R, r = np.column_stack([x, np.cross(z, x), z]), MARKERS[1]

    def offset(R_body: Array, r_body: Array) -> str:
        turned, moved = R_body.T @ R, R_body.T @ (r - r_body)
        return f"{{markers: [A, B, C], offset: {{rotation: {turned.tolist()}, translation: {moved.tolist()}}}}}"

    sensors = [offset(Q.as_matrix(), q) for Q, q in SENSORS[:cells]]
    columns = ", ".join(f"{n}: {{column: [{n}_x, {n}_y, {n}_z], unit: m}}" for n in names)
    text = path.read_text()
    begin, end = text.index("  poses:\n"), text.index("  wrench:")
    mocap = f"  mocap: {{file: markers.csv, time: {{column: t, unit: s}}, columns: {{{columns}}}}}\n"
    text = text[:begin] + mocap + text[end:]
    begin, end = text.index("\nposes:\n"), text.index("\nsegments:")
    roles = f"\nmarkers:\n  frame: {offset(np.eye(3), np.zeros(3))}\n  sensor: [{', '.join(sensors)}]"
    path.write_text(text[:begin] + roles + text[end:])


def _with_imu(
    path: Path,
    rng: np.random.Generator,
    t: Array,
    turn: Rotation,
    omega: Array,
    omega_dot: Array,
    acceleration: Array,
) -> None:
    """An IMU on the box, with zeros and a clock of its own."""
    R, r = IMU
    felt = turn.inv().apply(acceleration + np.array([0, 0, GRAVITY]))
    felt = felt + np.cross(omega_dot, r) + np.cross(omega, np.cross(omega, r))
    imu = np.hstack([felt @ R.as_matrix(), omega @ R.as_matrix()])
    imu = imu + rng.normal(0, [0.02] * 3 + [0.002] * 3) + rng.normal(size=imu.shape) * np.repeat([0.01, 0.002], 3)
    names = [f"{kind}.{axis}" for kind in ("acceleration", "angular_rate") for axis in "xyz"]
    pose_files.table(path.parent / "imu.csv", ["t", *names], np.hstack([t[:, None] + IMU_LATE_S, imu]))
    units = ["m/s2"] * 3 + ["rad/s"] * 3
    columns = ", ".join(f"{n}: {{column: {n}, unit: {u}}}" for n, u in zip(names, units, strict=True))
    line = f"  imu: {{file: imu.csv, time: {{column: t, unit: s}}, columns: {{{columns}}}}}\n"
    path.write_text(path.read_text().replace("  wrench:", f"{line}  wrench:", 1))
