"""A simulated handle experiment in the instruments' own formats, with the truth beside it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from palpate.elements import RigidBody, SensorBias
from palpate.experiment import read_experiment, shipped_experiments
from palpate.files import write_text
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import (
    DRAWING_NAMES,
    DRAWING_UNITS,
    drawing_values,
    is_consistent,
    mass_properties,
    nearest_consistent,
    phi_from_mass_properties,
    phi_from_pseudo_inertia,
    pseudo_inertia,
    solid_box,
    solid_cylinder,
)
from palpate.physics.regressor import body_regressor
from palpate.physics.spatial import nearest_rotation
from palpate.recording import Recording
from palpate.recording.dspace_mat import write as write_dspace
from palpate.recording.microstrain_csv import write as write_microstrain
from palpate.twin.hand import HandMotion, random_hand
from palpate.twin.instruments import (
    RATE_HZ,
    Instruments,
    imu_recording,
    imu_signals,
    load_cell_recording,
    load_cell_signals,
)


@dataclass(frozen=True, slots=True, eq=False)
class HandleTwin:
    """All that determines a simulated handle experiment."""

    phi: FloatArray
    hand: HandMotion
    duration_s: float
    load_cell_minus_imu_s: float
    """Load-cell time minus IMU time of the same instant."""
    R_sensor_imu: FloatArray
    r_sensor_imu: FloatArray
    g: float
    """What the IMU calls one g."""
    seed: int
    instruments: Instruments = field(default_factory=Instruments)


def handle_recordings(twin: HandleTwin) -> tuple[Recording, Recording, dict[str, Any]]:
    """Load-cell and IMU recordings as the instruments would store them, and the truth."""
    rng = np.random.default_rng([twin.seed, 1])
    tools = twin.instruments
    load_cell_s = np.arange(round(twin.duration_s * RATE_HZ)) / RATE_HZ
    slow = np.random.default_rng([twin.seed, 3])
    stored, zero = load_cell_signals(rng, slow, tools, twin.hand.motion(load_cell_s), twin.phi)

    # the IMU starts when its own clock shows zero
    imu_s = np.arange(round((twin.duration_s - twin.load_cell_minus_imu_s) * RATE_HZ)) / RATE_HZ
    moved = twin.hand.motion(imu_s + twin.load_cell_minus_imu_s)
    a, w, a_zero = imu_signals(rng, tools, moved, twin.R_sensor_imu, twin.r_sensor_imu)

    # a constant error of the accelerometer looks to the fit like a bias of the load cell
    seen = body_regressor((twin.R_sensor_imu @ a_zero)[None], np.zeros((1, 3)), np.zeros((1, 3)))[0] @ twin.phi
    return load_cell_recording(load_cell_s, stored), imu_recording(imu_s, a, w), _truth(twin, -zero - seen)


def write_handle_twin(folder: Path, *, seed: int = 0, spread: float = 0.2, poor: bool = False) -> Path:
    """A random handle with its own experiment file and a prior that is off by its declared spread; returns the file.

    `poor`: a motion that excites too little.
    """
    rng = np.random.default_rng([seed, 0])
    R = nearest_rotation([[0.0877, -0.9962, 0], [-0.9962, -0.0877, 0], [0, 0, -1]])
    twin = HandleTwin(
        phi=random_handle(rng),
        hand=random_hand(rng, 70.0, 9.80665, poor=poor),
        duration_s=70.0,
        load_cell_minus_imu_s=float(rng.uniform(-2.0, 3.0)),
        R_sensor_imu=R,
        r_sensor_imu=np.array([-0.0861, 0.0125, -0.0290]),
        g=9.80665,
        seed=seed,
    )
    prior = mass_properties(off_by(rng, twin.phi, spread))
    _write(folder, twin, "wrench.mat", "imu.csv")
    text = _EXPERIMENT.format(
        seed=seed,
        spread=100 * spread,
        rotation=np.round(R, 9).tolist(),
        translation=twin.r_sensor_imu.tolist(),
        mass=prior.mass,
        com=[float(f"{v:.6g}") for v in prior.com],
        inertia=[[float(f"{v:.8g}") for v in row] for row in prior.inertia_com],
    )
    write_text(folder / "handle.yaml", text)
    return folder / "handle.yaml"


def write_paper_twin(folder: Path, name: str, *, seed: int | None = None) -> Path:
    """A twin in the layout of the paper's authors, so that the experiment file that ships with palpate runs on it.

    Without a seed the truth is the paper's Table, made realisable where rounding broke it; with one it is random.
    """
    source = shipped_experiments()[name]
    rng = np.random.default_rng([seed or 0, 2])
    layout = _LAYOUTS[name]
    twin = HandleTwin(
        phi=_table_phi(layout.table) if seed is None else random_handle(rng),
        hand=random_hand(rng, 125.0, 9.81),
        duration_s=125.0,
        load_cell_minus_imu_s=(layout.load_cell - layout.imu) / RATE_HZ,
        R_sensor_imu=nearest_rotation([[0.0877, -0.9962, 0], [-0.9962, -0.0877, 0], [0, 0, -1]]),
        r_sensor_imu=np.array([-0.0861, 0.0125, -0.0290]),
        g=9.81,
        seed=seed or 0,
    )
    _write(folder, twin, layout.wrench_file, layout.imu_file)
    return write_own_experiment(folder, source, "truth.json")


def write_own_experiment(folder: Path, source: Path, truth: str) -> Path:
    """A shipped experiment beside the recordings of its twin: with the truth as a reference, and with the handle's
    experiment that lies beside it instead of the shipped one, so that what is changed there counts. Returns its path.
    """
    text = source.read_text(encoding="utf-8").replace(
        "\nreference:\n  label: paper\n", f"\nreference:\n- {{label: truth, file: {truth}}}\n- label: paper\n"
    )
    text = re.sub(r"\nhandle: ([a-z-]+) +# ships with palpate", r"\nhandle: \1.yaml  # beside this file", text)
    write_text(folder / source.name, text)
    read_experiment(folder / source.name)
    return folder / source.name


def random_handle(rng: np.random.Generator) -> FloatArray:
    """A bar with a lump at a random place: between a door's lever and a wheelbarrow's grip."""
    length, radius = rng.uniform(0.1, 0.3), rng.uniform(0.012, 0.03)
    axis = rng.normal(size=3)
    axis[2] = abs(axis[2])
    axis /= np.linalg.norm(axis)
    m1, m2 = rng.uniform(0.4, 1.2), rng.uniform(0.1, 0.5)
    bar = phi_from_mass_properties(m1, axis * length * rng.uniform(0.2, 0.6), solid_cylinder(m1, length, radius, axis))
    lump = phi_from_mass_properties(m2, rng.uniform(-0.05, 0.05, 3), solid_box(m2, rng.uniform(0.03, 0.08, 3)))
    return bar + lump


def off_by(rng: np.random.Generator, phi: FloatArray, spread: float) -> FloatArray:
    """The same body as a drawing that is off by this fraction would have it, in the sense of `relative_spread`: U e^E
    U'.
    """
    U = np.linalg.cholesky(pseudo_inertia(phi)[::-1, ::-1])[::-1, ::-1]
    upper = spread * np.triu(rng.normal(size=(4, 4)))
    values, vectors = np.linalg.eigh((upper + upper.T) * np.where(np.eye(4) > 0, 0.5, np.sqrt(0.5)))
    return phi_from_pseudo_inertia(U @ (vectors * np.exp(values)) @ vectors.T @ U.T)


@dataclass(frozen=True, slots=True)
class _Layout:
    wrench_file: str
    imu_file: str
    load_cell: int
    imu: int
    table: tuple[float, ...]


_LAYOUTS = {
    # start samples: FORMATS, Handles; the Table's m, c_x, c_y, c_z, Ixx, Ixy, Ixz, Iyy, Iyz, Izz
    "wheelbarrow-handle": _Layout(
        "handles/data/exp1_036.mat",
        "handles/data/IMU_Single.csv",
        17757,
        9463,
        (0.856, 0.0001, 0.0001, 0.077, 0.0126, 0.0001, 0.0002, 0.0124, 0.0003, 0.0004),
    ),
    "door-handle": _Layout(
        "handles/data/exp1_038.mat",
        "handles/data/IMU_Door.csv",
        16309,
        9760,
        (1.571, -0.001, -0.001, 0.025, 0.0077, -0.0078, -0.0002, 0.0157, 0.0006, 0.0180),
    ),
}


def _table_phi(table: tuple[float, ...]) -> FloatArray:
    row = np.array(table)
    phi = np.concatenate([row[:1], row[0] * row[1:4], row[4:]])
    return phi if is_consistent(phi) else nearest_consistent(phi)


def _truth(twin: HandleTwin, bias: FloatArray) -> dict[str, Any]:
    values = np.concatenate([drawing_values(twin.phi), bias])
    names = [*DRAWING_NAMES, *(p.name for p in SensorBias.parameters)]
    units = [*DRAWING_UNITS, *(p.unit for p in SensorBias.parameters)]
    return {
        "palpate_truth": 1,
        "parameters": {n: {"value": float(v), "unit": u} for n, v, u in zip(names, values, units, strict=True)},
        "phi": dict(zip((p.name for p in RigidBody.parameters), (float(v) for v in twin.phi), strict=True)),
        "load_cell_minus_imu_s": twin.load_cell_minus_imu_s,
        "seed": twin.seed,
        "note": "bias: what the load cell's and the accelerometer's zero errors together look like to a fit",
    }


def _write(folder: Path, twin: HandleTwin, wrench_file: str, imu_file: str) -> None:
    load_cell, imu, truth = handle_recordings(twin)
    write_dspace(folder / wrench_file, load_cell)
    write_microstrain(folder / imu_file, imu, g=twin.g)
    write_text(folder / "truth.json", json.dumps(truth, indent=1) + "\n")


_EXPERIMENT = """\
# A simulated handle (seed {seed}). The truth is in truth.json; nothing but the reference column reads it.
palpate: 1
title: Simulated handle {seed}
object: handle
stage: handle
recordings:
  wrench: {{file: wrench.mat, format: dspace-mat, device: Platform}}
  imu: {{file: imu.csv, format: microstrain-csv}}
imu_pose:                        # of the IMU in the sensor frame, from the drawing
  rotation: {rotation}
  translation: {translation}
sensor: ati-omega85
clocks: auto
segments:                        # seconds on the load cell's clock
  train: [6, 44]
  test: [45, 63]
prior:                           # a drawing that is off by that much
  mass: {mass:.6g} kg
  com: {com}
  inertia_com: {inertia}
  damping: auto
  spread: {spread:.3g} %
reference: {{label: truth, file: truth.json}}
"""
