"""A simulated wheelbarrow experiment in the authors' formats, with the truth beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from palpate.experiment import read_experiment, shipped_experiments
from palpate.files import write_text
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import (
    DRAWING_NAMES,
    DRAWING_UNITS,
    PHI_NAMES,
    drawing_values,
    mass_properties,
    move_phi,
)
from palpate.physics.so3 import exp_rotation
from palpate.recording import Recording
from palpate.recording.dspace_mat import write as write_dspace
from palpate.recording.microstrain_csv import write as write_microstrain
from palpate.recording.vicon_csv import write as write_vicon
from palpate.twin.capture import CAPTURE_HZ, T_MARKER, DeviceClock
from palpate.twin.handle import random_handle, write_handle_twin, write_paper_twin
from palpate.twin.instruments import Instruments
from palpate.twin.wheelbarrow_instruments import IMU_PLACE, MARKERS, R_SENSOR_IMU, WheelbarrowTwin, store
from palpate.twin.wheelbarrow_models import (
    ACROSS,
    AXLE,
    FEET,
    PAPER_RADIUS,
    SENSORS,
    drawing_off_by,
    marker_places,
    paper_barrow,
    random_barrow,
    sensor_poses,
)
from palpate.twin.wheelbarrow_motion import KINDS, Kind, Segment, random_wheeling
from palpate.twin.wheelbarrow_physics import Barrow, Habits

PAPER_FLOOR_M = -0.0095
"""Of the floor in the authors' capture: its zero is the centre of a marker on the floor."""
SPREAD = 0.3
_TAIL_S = 4.0
_FIRST = 1008
_WINDOWS = {
    "train": ((1879, 4883),),
    "test": ((6000, 7755), (9265, 11646), (12422, 14345), (15713, 17817), (18586, 20859)),
}
"""The authors' segments: sample k of their window is Vicon frame 1008 + k (FORMATS, Wheelbarrow)."""


def wheelbarrow_twin(
    seed: int,
    *,
    segments: Sequence[Segment] | None = None,
    vigour: float = 1.0,
    tilt_deg: float = 0.1,
    wheel_inertia: float = 0.0,
    instruments: Instruments | None = None,
) -> WheelbarrowTwin:
    """A random wheelbarrow; its handles are that of `write_handle_twin(seed=seed)`.

    vigour: a factor of the accelerations. tilt_deg: of the capture frame against floor and gravity. wheel_inertia: the
    wheel's own about its axle, kg m2.
    """
    rng = np.random.default_rng([seed, 30])
    barrow = replace(random_barrow(rng), wheel_inertia=wheel_inertia)
    clocks = [DeviceClock(float(rng.uniform(low, 4.0)), float(rng.uniform(-60, 60))) for low in (-2.0, 0.3)]
    phi = random_handle(np.random.default_rng([seed, 0]))
    twin = dress(barrow, phi, seed, segments or random_segments(rng), clocks, vigour=vigour, tilt_deg=tilt_deg)
    return replace(twin, instruments=instruments or Instruments())


def paper_wheelbarrow_twin(phi: FloatArray, *, seed: int | None = None) -> WheelbarrowTwin:
    """The paper's Table in the authors' session; with a seed, another wheelbarrow on the same wheel."""
    rng = np.random.default_rng([seed or 0, 34])
    barrow = paper_barrow() if seed is None else random_barrow(rng, radius=PAPER_RADIUS)
    # samples of one instant: Vicon 1008, load cells 2005, IMU 1439, each decimated to 100 Hz (FORMATS, Wheelbarrow)
    clocks = [DeviceClock(0.01 * (first - _FIRST), 0.0) for first in (1439, 2005)]
    segments = [
        Segment(name, 0.01 * (_FIRST + a - 1), 0.01 * (_FIRST + b - 1), _mix(rng, 5 if name == "train" else 3))
        for name, windows in _WINDOWS.items()
        for a, b in windows
    ]
    twin = dress(barrow, phi, seed or 0, segments, clocks, tilt_deg=0.1)
    return replace(twin, floor_m=PAPER_FLOOR_M, gravity=9.81)


def dress(
    barrow: Barrow,
    phi: FloatArray,
    seed: int,
    segments: Sequence[Segment],
    clocks: Sequence[DeviceClock],
    *,
    vigour: float = 1.0,
    tilt_deg: float = 0.0,
) -> WheelbarrowTwin:
    """A given wheelbarrow with sensors, markers and a person; clocks: of IMU and load cells."""
    rng = np.random.default_rng([seed, 31])
    sides = sensor_poses(rng)
    direction = rng.uniform(0, 2 * np.pi)
    tilt = np.radians(tilt_deg) * np.array([np.cos(direction), np.sin(direction), 0.0])
    return WheelbarrowTwin(
        barrow=barrow,
        handle=phi,
        sides=sides,
        habits=Habits(float(rng.uniform(0.0, 0.3)), float(rng.uniform(0, 6)), float(rng.uniform(3, 7)), seed),
        wheeling=random_wheeling(rng, segments, standing=barrow.standing, radius=barrow.radius, vigour=vigour),
        places=marker_places(rng, barrow, sides),
        duration_s=max(s.end_s for s in segments) + _TAIL_S,
        R_capture_world=exp_rotation(tilt),
        imu=clocks[0],
        load_cell=clocks[1],
        seed=seed,
    )


def random_segments(rng: np.random.Generator) -> tuple[Segment, ...]:
    """A train segment with all four kinds of motion, and three test segments with other mixtures."""
    spans = (("train", 8.0, 42.0, 5), ("test", 48.0, 64.0, 4), ("test", 69.0, 81.0, 1), ("test", 86.0, 100.0, 3))
    return tuple(Segment(name, a, b, _mix(rng, count)) for name, a, b, count in spans)


def wheelbarrow_recordings(twin: WheelbarrowTwin) -> tuple[Recording, Recording, Recording, dict[str, Any]]:
    """Markers, both load cells, IMU: as stored; and truth.json."""
    markers, cells, imu, zeros = store(twin)
    return markers, cells, imu, _truth(twin, zeros)


def write_wheelbarrow_twin(
    folder: Path,
    *,
    seed: int = 0,
    poor: bool = False,
    spread: float = SPREAD,
    tilt_deg: float = 0.1,
    wheel_inertia: float = 0.0,
    segments: Sequence[Segment] | None = None,
    instruments: Instruments | None = None,
) -> Path:
    """A random wheelbarrow: recordings, handle/ with the handles' own experiment, body.yaml, truth.json; returns
    body.yaml.

    `poor`: only pushed ahead and back, gently. spread: by which fraction the drawing is off, as it declares.
    """
    if poor:
        spans = (("train", 8.0, 42.0), ("test", 48.0, 64.0))
        segments = tuple(Segment(name, a, b, ("push",)) for name, a, b in spans)
    twin = wheelbarrow_twin(
        seed,
        segments=segments,
        vigour=0.4 if poor else 1.0,
        tilt_deg=tilt_deg,
        wheel_inertia=wheel_inertia,
        instruments=instruments,
    )
    _write(folder, twin, ("WB Trajectories.csv", "wrench.mat", "imu.csv", "truth.json"))
    write_handle_twin(folder / "handle", seed=seed)
    write_text(folder / "body.yaml", _experiment(twin, spread))
    return folder / "body.yaml"


def write_any_wheelbarrow_twin(folder: Path, *, seed: int | None = None, poor: bool = False) -> Path:
    """The paper's wheelbarrow in its authors' layout without a seed, a random one with it; `poor`: only ever pushed."""
    if seed is None and not poor:
        return write_paper_wheelbarrow_twin(folder)
    return write_wheelbarrow_twin(folder, seed=seed or 0, poor=poor)


def write_paper_wheelbarrow_twin(folder: Path, *, seed: int | None = None) -> Path:
    """The wheelbarrow in the authors' layout, so that the experiment file that ships with palpate runs on it.

    Without a seed the truth is the paper's Table, the handles' as well. Its truth is wheelbarrow-truth.json.
    """
    source = shipped_experiments()["wheelbarrow"]
    write_paper_twin(folder, "wheelbarrow-handle", seed=seed)
    handle = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    write_paper_recordings(folder, np.array([handle["phi"][name] for name in PHI_NAMES]), seed=seed)
    truth = "\nreference:\n- {label: truth, file: wheelbarrow-truth.json}\n- label: paper\n"
    text = source.read_text(encoding="utf-8").replace("\nreference:\n  label: paper\n", truth)
    write_text(folder / source.name, text)
    read_experiment(folder / source.name)
    return folder / source.name


def write_paper_recordings(folder: Path, phi: FloatArray, *, seed: int | None = None) -> None:
    """wheelbarrow/data/ as the authors have it, with handles of these phi, and wheelbarrow-truth.json."""
    data = "wheelbarrow/data"
    names = (f"{data}/WB Trajectories.csv", f"{data}/exp1_039.mat", f"{data}/WB_Object_IMU.csv")
    _write(folder, paper_wheelbarrow_twin(phi, seed=seed), (*names, "wheelbarrow-truth.json"))


def _write(folder: Path, twin: WheelbarrowTwin, names: tuple[str, str, str, str]) -> None:
    markers, cells, imu, truth = wheelbarrow_recordings(twin)
    write_vicon(folder / names[0], markers, rate_hz=CAPTURE_HZ)
    write_dspace(folder / names[1], cells)
    write_microstrain(folder / names[2], imu, g=twin.gravity)
    write_text(folder / names[3], json.dumps(truth, indent=1) + "\n")


def _mix(rng: np.random.Generator, count: int) -> tuple[Kind, ...]:
    """All four kinds in any order and then everything at once; of fewer, some; one alone is everything at once."""
    order: list[Kind] = [KINDS[i] for i in rng.permutation(4)]
    return (*order,) if count == 4 else (*order[: count - 1], "mixed")


def _standing(twin: WheelbarrowTwin) -> list[list[float]]:
    """From, to (s): when the feet are on the ground."""
    edges = [0.0, *(edge for pair in twin.wheeling.lifted for edge in pair), twin.duration_s]
    return [[round(a, 4), round(b, 4)] for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _parameters(phi: FloatArray) -> dict[str, dict[str, Any]]:
    rows = zip(DRAWING_NAMES, drawing_values(phi), DRAWING_UNITS, strict=True)
    return {n: {"value": float(v), "unit": u} for n, v, u in rows}


def _truth(twin: WheelbarrowTwin, zeros: FloatArray) -> dict[str, Any]:
    barrow, sides = twin.barrow, twin.sides
    names, units = ("b_v", "b_c", "b_psi"), ("N m s/rad", "N m", "N m s/rad")
    friction = {n: {"value": getattr(barrow, n), "unit": u} for n, u in zip(names, units, strict=True)}
    whole = barrow.phi + sum(
        move_phi(twin.handle, R, r) for R, r in zip(sides.R_body_sensor, sides.r_body_sensor, strict=True)
    )
    both = ("right", "left")
    return {
        "palpate_truth": 1,
        "parameters": {**_parameters(barrow.phi), **friction},
        "parameters_whole": {**_parameters(whole), **friction},
        "body_phi": dict(zip(PHI_NAMES, barrow.phi.tolist(), strict=True)),
        "phi": dict(zip(PHI_NAMES, twin.handle.tolist(), strict=True)),
        "wheel": {"radius_m": barrow.radius, "inertia": barrow.wheel_inertia},
        "sensors": {
            n: {"R_body_sensor": R.tolist(), "r_body_sensor": r.tolist(), "preload": zero.tolist()}
            for n, R, r, zero in zip(both, sides.R_body_sensor, sides.r_body_sensor, zeros, strict=True)
        },
        "feet": {"in_body_m": barrow.feet.tolist(), "on_ground_s": _standing(twin)},
        "motion": [
            {"segment": s.name, "from_s": s.begin_s, "to_s": s.end_s, "kinds": list(s.kinds)}
            for s in twin.wheeling.segments
        ],
        "clocks": {
            n: {"offset_s": c.offset_s, "drift_ppm": c.drift_ppm}
            for n, c in (("imu", twin.imu), ("wrench", twin.load_cell), ("wrench_2", twin.load_cell))
        },
        "up_in_capture_frame": twin.R_capture_world[:, 2].tolist(),
        "floor_m": twin.floor_m,
        "gravity": twin.gravity,
        "seed": twin.seed,
        "note": "parameters: of the body alone, inertias about the axle's middle; parameters_whole with both handles; "
        "phi: of one handle; preload: the load cell's zero error, handles removed; "
        "device time = capture time * (1 + drift) + offset",
    }


def _experiment(twin: WheelbarrowTwin, spread: float) -> str:
    prior = mass_properties(drawing_off_by(np.random.default_rng([twin.seed, 37]), twin.barrow.phi, spread))
    spans = {name: [s for s in twin.wheeling.segments if s.name == name] for name in ("train", "test")}

    def names(numbers: Sequence[int]) -> str:
        return ", ".join(MARKERS[i - 1] for i in numbers)

    return _EXPERIMENT.format(
        seed=twin.seed,
        markers=", ".join(MARKERS),
        axle=names(AXLE),
        across=", ".join(f"[{names(pair)}]" for pair in ACROSS),
        radius=twin.barrow.radius,
        right=names(SENSORS[0]),
        left=names(SENSORS[1]),
        feet=names(FEET),
        turned=T_MARKER[:3, :3].tolist(),
        shifted=T_MARKER[:3, 3].tolist(),
        rotation=np.round(R_SENSOR_IMU, 9).tolist(),
        translation=IMU_PLACE.tolist(),
        mass=f"{twin.barrow.phi[0]:.6g}",
        tilt=max(0.1, float(np.degrees(np.arccos(min(1.0, twin.R_capture_world[2, 2]))))),
        static=f"[0.5, {min(s.begin_s for s in twin.wheeling.segments) - 2.0:g}]",
        com=[float(f"{v:.6g}") for v in prior.com],
        inertia=[[float(f"{v:.8g}") for v in row] for row in prior.inertia_com],
        spread=f"{100 * spread:.3g} %",
        **{name: ", ".join(f"[{s.begin_s:g}, {s.end_s:g}]" for s in found) for name, found in spans.items()},
    )


_EXPERIMENT = """\
# A simulated wheelbarrow (seed {seed}). The truth is in truth.json; nothing but the reference column reads it.
palpate: 1
title: Simulated wheelbarrow {seed}
object: wheelbarrow
stage: body
model_of: body                   # the pre-sensor part; or whole: with both handles
recordings:
  mocap: {{file: WB Trajectories.csv, format: vicon-csv}}
  wrench: {{file: wrench.mat, format: dspace-mat, device: Platform}}       # right
  wrench_2: {{file: wrench.mat, format: dspace-mat, device: Platform_2}}   # left
  imu: {{file: imu.csv, format: microstrain-csv}}
markers:
  body: [{markers}]
  axle: {{axle: [{axle}], across: [{across}], radius: {radius:g} m}}
  sensor:                        # right: three markers on the module, and the pose of their frame in the sensor frame
    markers: [{right}]
    offset:
      rotation: {turned}
      translation: {shifted}
  sensor_2:                      # left
    markers: [{left}]
    offset:
      rotation: {turned}
      translation: {shifted}
  feet: [{feet}]         # right, left
imu_pose:                        # of the IMU in the right sensor's frame, from the drawing
  rotation: {rotation}
  translation: {translation}
handle: handle/handle.yaml       # of both handles; identified first, or a model.json
clocks: auto
known_mass: {{value: {mass} kg, of: body}}
segments:                        # seconds on the markers' clock
  static: {static}               # standing on its feet, nobody touches the handles: the sensors' preload
  train: [{train}]
  test: [{test}]
prior:                           # a drawing that is off by that much
  mass: {mass} kg
  com: {com}
  inertia_com: {inertia}
  damping: auto
  spread: {spread}
uncertain: {{tilt: {tilt:.3g} deg}}  # of the capture frame against the vertical
reference: {{label: truth, file: truth.json}}
"""
