"""Recordings of a body on a joint, of which somebody else simulated poses and hand: markers, a load cell, a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

from tests.oracles.tables import save_table

NOISE_M, NOISE_N, NOISE_NM = 2e-4, 0.05, 2e-3
CORNERS = np.array([[0.10, 0, 0], [0.10, 0.08, 0.01], [0.11, 0.02, 0.07], [-0.12, 0.15, 0.02], [-0.08, -0.14, 0.05]])
"""Of the markers in the body frame, m; the first three are on the sensor."""
ROOM = Rotation.from_euler("z", 37, degrees=True)
"""How the capture frame stands to the world."""


@dataclass(frozen=True)
class Moved:
    """What a simulation says: body frame in a world whose z points up, and the hand's wrench in it about its origin."""

    times_s: np.ndarray
    rotation: Rotation
    position: np.ndarray
    wrench: np.ndarray


def write(
    folder: Path,
    moved: Moved,
    obj: str,
    segments: str,
    *,
    seed: int = 0,
    every: int = 5,
    noise_m: float = NOISE_M,
    markers: str = "",
    keys: str = "",
) -> Path:
    """Markers at every so many samples, seen in a turned capture frame; the load cell's clock is apart."""
    rng, t = np.random.default_rng([seed, 7]), moved.times_s
    room = ROOM
    at = slice(None, None, every)
    points = moved.position[at, None] + np.stack([moved.rotation[at].apply(c) for c in CORNERS], axis=1)
    points = room.apply(points.reshape(-1, 3)).reshape(points.shape) + np.array([0.4, -0.3, 0.7])
    points += rng.normal(0, noise_m, points.shape)
    names = [f"{n}_{a}" for n in "ABCDE" for a in "xyz"]
    save_table(folder / "markers.csv", ["t", *names], np.column_stack([t[at], points.reshape(len(points), -1)]), "%.9g")
    x = CORNERS[2] - CORNERS[1]  # the sensor: x from B to C, z along (A - B) x x
    z = np.cross(CORNERS[0] - CORNERS[1], x)
    x, z = x / np.linalg.norm(x), z / np.linalg.norm(z)
    R = np.stack([x, np.cross(z, x), z], axis=1)
    force, moment = moved.wrench[:, :3], moved.wrench[:, 3:]
    there = np.hstack([force @ R, (moment - np.cross(CORNERS[1], force)) @ R])
    there += [1.2, -0.7, 0.4, 0.02, -0.03, 0.01] + rng.normal(size=there.shape) * np.repeat([NOISE_N, NOISE_NM], 3)
    save_table(folder / "wrench.csv", ["t", *"abcdef"], np.column_stack([t + 1.734, there]), "%.9g")
    columns = ", ".join(f"{n}: {{column: [{n}_x, {n}_y, {n}_z], unit: m}}" for n in "ABCDE")
    channels = ", ".join(f"{c}: {{column: {c}, unit: {'N' if i < 3 else 'N m'}}}" for i, c in enumerate("abcdef"))
    path = folder / "body.yaml"
    path.write_text(
        f"""object: {obj}
stage: body
recordings:
  mocap: {{file: markers.csv, time: {{column: t, unit: s}}, columns: {{{columns}}}}}
  wrench: {{file: wrench.csv, time: {{column: t, unit: s}}, columns: {{{channels}}}}}
markers:
  body: [A, B, C, D, E]
{markers}  sensor:
    markers: [A, B, C]
    offset: {{rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0, 0, 0]}}
segments: {segments}
{keys}"""
    )
    return path


def add_imu(path: Path, moved: Moved, seed: int = 0) -> Path:
    """An IMU on that body, turned somehow, whose clock shows half a second more."""
    rng, t, q = np.random.default_rng([seed, 3]), moved.times_s, moved.rotation
    place, turn = moved.position + q.apply([0.05, -0.1, -0.3]), Rotation.from_rotvec([0.5, -2.0, 1.0])
    felt = q.inv().apply(make_interp_spline(t, place, k=5)(t, 2) + np.array([0.0, 0.0, 9.80665]))
    middle = (q[:-2].inv() * q[2:]).as_rotvec() / (t[2] - t[0])
    rate = np.vstack([middle[:1], middle, middle[-1:]])
    imu = np.hstack([turn.apply(x, inverse=True) for x in (felt, rate)])
    imu += rng.normal(0, [0.02] * 3 + [0.002] * 3) + rng.normal(size=imu.shape) * np.repeat([0.01, 0.002], 3)
    names = [f"{kind}.{axis}" for kind in ("acceleration", "angular_rate") for axis in "xyz"]
    write_table(path.parent / "imu.csv", {"t": t + 0.5123, **dict(zip(names, imu.T, strict=True))})
    units = ["m/s2"] * 3 + ["rad/s"] * 3
    columns = ", ".join(f"{n}: {{column: {n}, unit: {u}}}" for n, u in zip(names, units, strict=True))
    line = f"  imu: {{file: imu.csv, time: {{column: t, unit: s}}, columns: {{{columns}}}}}\n"
    path.write_text(path.read_text().replace("markers:\n", f"{line}markers:\n", 1))
    return path


def write_table(path: Path, columns: dict[str, np.ndarray]) -> None:
    """A plain table."""
    save_table(path, list(columns), np.column_stack(list(columns.values())), "%.9g")
