"""Simulated handles, shaken in the hand: with IMU and load cell alone, or seen by a motion-capture system as well."""

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
    PHI_NAMES,
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
from palpate.physics.so3 import exp_rotation
from palpate.recording import Recording
from palpate.recording.dspace_mat import write as write_dspace
from palpate.recording.microstrain_csv import write as write_microstrain
from palpate.recording.vicon_csv import write as write_vicon
from palpate.twin.hand import HandMotion, random_hand
from palpate.twin.instruments import (
    CAPTURE_HZ,
    IMU_PLACE,
    R_SENSOR_IMU,
    RATE_HZ,
    T_MARKER,
    DeviceClock,
    Instruments,
    device_times,
    imu_recording,
    imu_signals,
    load_cell_recording,
    load_cell_signals,
    marker_file,
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
    return load_cell_recording(load_cell_s, stored[None]), imu_recording(imu_s, a, w), _truth(twin, -zero - seen)


def write_handle_twin(folder: Path, *, seed: int = 0, spread: float = 0.2, poor: bool = False) -> Path:
    """A random handle with its own experiment file and a prior that is off by its declared spread; returns the file.

    `poor`: a motion that excites too little.
    """
    rng = np.random.default_rng([seed, 0])
    twin = HandleTwin(
        phi=random_handle(rng),
        hand=random_hand(rng, 70.0, 9.80665, poor=poor),
        duration_s=70.0,
        load_cell_minus_imu_s=float(rng.uniform(-2.0, 3.0)),
        R_sensor_imu=R_SENSOR_IMU,
        r_sensor_imu=IMU_PLACE,
        g=9.80665,
        seed=seed,
    )
    prior = mass_properties(off_by(rng, twin.phi, spread))
    _write(folder, twin, "wrench.mat", "imu.csv")
    text = _EXPERIMENT.format(
        seed=seed,
        spread=100 * spread,
        rotation=np.round(R_SENSOR_IMU, 9).tolist(),
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
        R_sensor_imu=R_SENSOR_IMU,
        r_sensor_imu=IMU_PLACE,
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


def off_by(rng: np.random.Generator, phi: FloatArray, spread: float, *, mass_known: bool = False) -> FloatArray:
    """The same body as a drawing that is off by this fraction has it, in the sense of `relative_spread`: U e^E U'."""
    U = np.linalg.cholesky(pseudo_inertia(phi)[::-1, ::-1])[::-1, ::-1]
    upper = spread * np.triu(rng.normal(size=(4, 4)))
    if mass_known:
        upper[3, 3] = 0.0
    values, vectors = np.linalg.eigh((upper + upper.T) * np.where(np.eye(4) > 0, 0.5, np.sqrt(0.5)))
    drawn = phi_from_pseudo_inertia(U @ (vectors * np.exp(values)) @ vectors.T @ U.T)
    return drawn * (phi[0] / drawn[0]) if mass_known else drawn


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
    names = [*DRAWING_NAMES, *(p.name for p in SensorBias().parameters)]
    units = [*DRAWING_UNITS, *(p.unit for p in SensorBias().parameters)]
    return {
        "palpate_truth": 1,
        "parameters": {n: {"value": float(v), "unit": u} for n, v, u in zip(names, values, units, strict=True)},
        "phi": dict(zip((p.name for p in RigidBody().parameters), (float(v) for v in twin.phi), strict=True)),
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


SUBJECT = "Handle"


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong in the capture; none of it in a clean one."""

    noise_m: float = 3e-4
    hidden: float = 0.05
    """Share of marker samples that are not seen."""
    swapped: bool = True
    moved_m: float = 7e-3
    accelerometer_zero: bool = True


CLEAN = Faults(hidden=0.0, swapped=False, moved_m=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class CaptureTwin:
    """All that determines a simulated capture."""

    hand: HandMotion
    phi: FloatArray
    points: FloatArray
    """(markers, 3) in the sensor frame, m; the first three are the sensor's own."""
    R_capture_world: FloatArray
    duration_s: float
    imu: DeviceClock
    load_cell: DeviceClock
    R_sensor_imu: FloatArray
    r_sensor_imu: FloatArray
    seed: int
    faults: Faults


def capture_twin(
    seed: int, *, faults: Faults | None = None, duration_s: float = 110.0, tilt_deg: float = 0.5
) -> CaptureTwin:
    """A random handle in a random hand, seen by a capture system that stands askew."""
    rng = np.random.default_rng([seed, 10])
    own = np.array([[0.03, -0.06, 0], [0, 0, 0], [0.09, 0, 0]])  # p1, p2, p3 in their own frame
    own[0, :2] += rng.uniform(-0.01, 0.01, 2)
    own[2, 0] += rng.uniform(-0.01, 0.02)
    own = own @ T_MARKER[:3, :3].T + T_MARKER[:3, 3]
    direction = rng.uniform(0, 2 * np.pi)
    tilt = np.radians(tilt_deg) * np.array([np.cos(direction), np.sin(direction), 0.0])
    clocks = [DeviceClock(float(rng.uniform(-2.0, 4.0)), float(rng.uniform(-60, 60))) for _ in range(2)]
    return CaptureTwin(
        hand=random_hand(rng, duration_s, 9.80665),
        phi=random_handle(rng),
        points=np.vstack([own, _scattered(rng, own, 5)]),
        R_capture_world=exp_rotation(tilt) @ exp_rotation(np.array([0.0, 0.0, rng.uniform(-np.pi, np.pi)])),
        duration_s=duration_s,
        imu=clocks[0],
        load_cell=clocks[1],
        R_sensor_imu=R_SENSOR_IMU,
        r_sensor_imu=IMU_PLACE,
        seed=seed,
        faults=faults or Faults(),
    )


def marker_recording(twin: CaptureTwin) -> tuple[Recording, list[dict[str, Any]]]:
    """What the capture system stores, and which faults it holds."""
    rng = np.random.default_rng([twin.seed, 11])
    t = np.arange(round(twin.duration_s * CAPTURE_HZ)) / CAPTURE_HZ
    markers = [f"M{i + 1}" for i in range(len(twin.points))]
    names = [f"{SUBJECT}:{name}" for name in markers]
    body = np.broadcast_to(twin.points, (len(t), *twin.points.shape)).copy()
    found: list[dict[str, Any]] = []
    if twin.faults.moved_m > 0:
        which, when = int(rng.integers(3, len(names))), float(rng.uniform(0.3, 0.7) * twin.duration_s)
        way = rng.normal(size=3)
        body[t >= when, which] += twin.faults.moved_m * way / np.linalg.norm(way)
        found.append({"kind": "moved", "names": [names[which]], "from_s": when, "size_m": twin.faults.moved_m})
    R = twin.R_capture_world @ twin.hand.rotation(t)
    origin = (twin.hand.coordinates(t)[0][3:].T + np.array([0.4, -0.2, 1.1])) @ twin.R_capture_world.T
    points = body @ R.swapaxes(1, 2) + origin[:, None]
    points += twin.faults.noise_m * rng.normal(size=points.shape)
    if twin.faults.swapped:
        a, b = (int(i) for i in rng.choice(np.arange(3, len(names)), 2, replace=False))
        start, length = float(rng.uniform(0.1, 0.8) * twin.duration_s), float(rng.uniform(1.0, 8.0))
        when = (t >= start) & (t < start + length)
        points[when, a], points[when, b] = points[when, b], points[when, a]
        found.append(
            {"kind": "swapped", "names": sorted([names[a], names[b]]), "from_s": start, "to_s": start + length}
        )
    points[_hidden(rng, points.shape[:2], twin.faults.hidden)] = np.nan
    return marker_file(t, points, SUBJECT, markers), found


def write_capture_twin(
    folder: Path, *, seed: int = 0, clean: bool = False, faults: Faults | None = None, duration_s: float = 110.0
) -> Path:
    """Recordings in the instruments' formats, an experiment file of the motion stage, and truth.json."""
    twin = capture_twin(seed, faults=faults or (CLEAN if clean else Faults()), duration_s=duration_s)
    rng, tools = np.random.default_rng([seed, 12]), Instruments()
    if not twin.faults.accelerometer_zero:
        tools = Instruments(acceleration_zero=0.0)
    markers, found = marker_recording(twin)
    cell_s, imu_s = (device_times(twin.duration_s, clock) for clock in (twin.load_cell, twin.imu))
    at_cell, at_imu = twin.hand.motion(twin.load_cell.true(cell_s)), twin.hand.motion(twin.imu.true(imu_s))
    stored, _ = load_cell_signals(rng, np.random.default_rng([seed, 13]), tools, at_cell, twin.phi)
    a, w, _ = imu_signals(rng, tools, at_imu, twin.R_sensor_imu, twin.r_sensor_imu)
    write_vicon(folder / "markers.csv", markers)
    write_dspace(folder / "wrench.mat", load_cell_recording(cell_s, stored[None]))
    write_microstrain(folder / "imu.csv", imu_recording(imu_s, a, w), g=9.80665)
    up = twin.R_capture_world[:, 2]
    truth = {
        "palpate_truth": 1,
        "clocks": {
            n: {"offset_s": c.offset_s, "drift_ppm": c.drift_ppm}
            for n, c in (("imu", twin.imu), ("wrench", twin.load_cell))
        },
        "up_in_capture_frame": up.tolist(),
        "phi": dict(zip(PHI_NAMES, twin.phi.tolist(), strict=True)),
        "marker_faults": found,
        "points_in_sensor_frame_m": dict(zip(markers, twin.points.tolist(), strict=True)),
        "seed": seed,
        "note": "device time = capture time * (1 + drift) + offset",
    }
    write_text(folder / "truth.json", json.dumps(truth, indent=1) + "\n")
    text = _CAPTURE_EXPERIMENT.format(
        seed=seed,
        turned=T_MARKER[:3, :3].tolist(),
        shifted=T_MARKER[:3, 3].tolist(),
        rotation=np.round(twin.R_sensor_imu, 9).tolist(),
        translation=twin.r_sensor_imu.tolist(),
    )
    write_text(folder / "motion.yaml", text)
    return folder / "motion.yaml"


def _scattered(rng: np.random.Generator, own: FloatArray, count: int) -> FloatArray:
    """Places for more markers, at least 3 cm from each other."""
    points = list(own)
    while len(points) < len(own) + count:
        new = rng.uniform(-0.15, 0.15, 3) + np.array([0, 0, 0.05])
        if min(np.linalg.norm(new - p) for p in points) > 0.03:
            points.append(new)
    return np.array(points[len(own) :])


def _hidden(rng: np.random.Generator, shape: tuple[int, ...], share: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Stretches of 0.05 to 1 s in which a marker is not seen."""
    hidden = np.zeros(shape, dtype=bool)
    frames, markers = shape
    while hidden.mean() < share:
        first, length = int(rng.integers(frames)), int(CAPTURE_HZ * rng.uniform(0.05, 1.0))
        hidden[first : first + length, rng.integers(markers)] = True
    return hidden


_CAPTURE_EXPERIMENT = """\
# A simulated capture (seed {seed}). The truth is in truth.json; nothing reads it.
palpate: 1
title: Simulated capture {seed}
stage: motion
recordings:
  mocap: {{file: markers.csv, format: vicon-csv}}
  imu: {{file: imu.csv, format: microstrain-csv}}
  wrench: {{file: wrench.mat, format: dspace-mat, device: Platform}}
markers:
  sensor:                        # three markers on the sensor module, and the pose of their frame in the sensor frame
    markers: [M1, M2, M3]
    offset:
      rotation: {turned}
      translation: {shifted}
imu_pose:                        # of the IMU in the sensor frame, from the drawing
  rotation: {rotation}
  translation: {translation}
clocks: auto
"""
