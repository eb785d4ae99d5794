"""A simulated door experiment in the authors' formats, with the truth beside it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from palpate.elements import EndStop
from palpate.experiment import shipped_experiments
from palpate.files import write_text
from palpate.mechanisms import FourBar, Hinge
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import PHI_NAMES
from palpate.physics.motion import Motion
from palpate.physics.so3 import exp_rotation
from palpate.physics.spatial import nearest_rotation
from palpate.physics.units import STANDARD_GRAVITY
from palpate.recording import Channel, Clock, Recording
from palpate.recording.dspace_mat import write as write_dspace
from palpate.recording.microstrain_csv import write as write_microstrain
from palpate.recording.vicon_csv import write as write_vicon
from palpate.twin.capture import CAPTURE_HZ, T_MARKER, DeviceClock
from palpate.twin.door_hand import Arm, Session, plan
from palpate.twin.door_models import FRAME, WIDEST, Variant, paper_door, random_door
from palpate.twin.door_physics import (
    DoorTruth,
    DoorTwin,
    capture_frame,
    hinge_in_capture,
    marker_places,
    markers_in_capture,
    person_wrench,
    sensor_motion,
    sensor_pose,
    simulate_door,
)
from palpate.twin.handle import random_handle, write_handle_twin, write_own_experiment, write_paper_twin
from palpate.twin.instruments import (
    RATE_HZ,
    Instruments,
    imu_recording,
    imu_signals,
    load_cell_recording,
    load_cell_signals,
)

__all__ = [
    "DoorTruth",
    "DoorTwin",
    "Variant",
    "door_recordings",
    "door_twin",
    "paper_door_twin",
    "random_door",
    "simulate_door",
    "write_door_twin",
    "write_paper_door_twin",
]

SUBJECT = "WB Sys Redo"
MARKERS = tuple(f"WB_{part}{i}" for part in ("Door", "Frame") for i in range(1, 11))
"""In file order (FORMATS, Motion capture)."""
HINGE_MARKERS = tuple(MARKERS[i - 1] for i in (13, 14, 16, 17, 19, 20))
BODY_MARKERS = (*MARKERS[:10], *HINGE_MARKERS)
R_SENSOR_IMU = nearest_rotation([[0.0877, -0.9962, 0], [-0.9962, -0.0877, 0], [0, 0, -1]])
IMU_PLACE = np.array([-0.0861, 0.0125, -0.0290])
_NOISE_M, _HIDDEN, _HIDDEN_SENSOR = 3e-4, 0.05, 0.6
_STATIC_S = 4.0
PAPER_SESSION = Session(
    0.01 * (1058 + 900 - 1), 5.5, 54.73, blocks=(("train", 48.1), ("test", 32.95), ("train", 8.72)), tail_s=5.0
)
"""The authors' window begins with Vicon frame 1058 + 900, and frame 1 is time zero (FORMATS, Door)."""


def door_twin(
    seed: int,
    *,
    variant: Variant | None = None,
    spring_order: int = 3,
    session: Session | None = None,
    one_way: bool = False,
    never_closed: bool = False,
    instruments: Instruments | None = None,
) -> DoorTwin:
    """A random door with its handle, hand and instruments; the handle is that of `write_handle_twin(seed=seed)`.

    `one_way`: only ever pushed open, slowly, and not recorded while it closes; `never_closed`: a wedge keeps it open.
    """
    rng = np.random.default_rng([seed, 20])
    variant = "laminar" if variant is None else variant
    model = random_door(rng, variant=variant, spring_order=spring_order)
    if never_closed:
        wedge = math.radians(float(rng.uniform(15, 25)))
        parts = tuple(replace(e, at=wedge) if isinstance(e, EndStop) and e.name == FRAME else e for e in model.elements)
        model = replace(model, elements=parts)
    clocks = [DeviceClock(float(rng.uniform(low, 4.0)), float(rng.uniform(-60, 60))) for low in (-2.0, 0.3)]
    phi = random_handle(np.random.default_rng([seed, 0]))
    return dress(
        model, phi, seed, session or Session(), clocks, one_way=one_way, variant=variant, instruments=instruments
    )


def dress(
    model: Model,
    phi: FloatArray,
    seed: int,
    session: Session,
    clocks: list[DeviceClock],
    *,
    one_way: bool = False,
    variant: Variant = "laminar",
    gravity: float = STANDARD_GRAVITY,
    instruments: Instruments | None = None,
) -> DoorTwin:
    """A given door with sensor, markers and a person; clocks: of IMU and load cell."""
    rng = np.random.default_rng([seed, 23])
    R, r = sensor_pose(rng)
    stops = {e.name: e.at for e in model.elements if isinstance(e, EndStop)}
    inertia, stiffness = model.values["I"], float(rng.uniform(140, 300))
    R_capture_world, r_capture_hinge, yaw = capture_frame(rng)
    return DoorTwin(
        model=model,
        phi=phi,
        R_hinge_sensor=R,
        r_hinge_sensor=r,
        r_hinge_grip=r + np.array([rng.uniform(-0.02, 0.05), -rng.uniform(0.05, 0.09), rng.uniform(-0.08, 0.08)]),
        arm=Arm(stiffness, 2 * float(rng.uniform(0.35, 0.7)) * math.sqrt(stiffness * inertia)),
        phases=plan(
            rng, session, stops[FRAME], stops[WIDEST], vigour=min(1.0, math.sqrt(7.0 / inertia)), one_way=one_way
        ),
        session=session,
        places=marker_places(rng, R, r),
        R_capture_world=R_capture_world,
        r_capture_hinge=r_capture_hinge,
        yaw=yaw,
        imu=clocks[0],
        load_cell=clocks[1],
        seed=seed,
        variant=variant,
        gravity=gravity,
        instruments=instruments or Instruments(),
    )


def paper_door_twin(phi: FloatArray, *, seed: int | None = None) -> DoorTwin:
    """The paper's door in the authors' session; with a seed, other values on the same links and zones."""
    rng = None if seed is None else np.random.default_rng([seed, 24])
    # samples of one instant: Vicon 1058, load cell 2082, IMU 787, each decimated to 100 Hz (FORMATS, Door)
    clocks = [DeviceClock(0.01 * (first - 1058), 0.0) for first in (787, 2082)]
    return dress(paper_door(rng), phi, seed or 0, PAPER_SESSION, clocks, gravity=9.81)


def door_recordings(
    twin: DoorTwin, truth: DoorTruth
) -> tuple[Recording, Recording, Recording, Recording, dict[str, Any]]:
    """Markers of the session and of the static file, load cell, IMU: as stored; and truth.json."""
    rng, tools = np.random.default_rng([twin.seed, 25]), twin.instruments
    seconds = twin.session.duration_s
    cell_s, imu_s = (_samples(seconds, clock) for clock in (twin.load_cell, twin.imu))
    stored, zero = _stored_wrench(rng, twin, truth, cell_s)
    moved = _sensor_motion(twin, truth, twin.imu.true(imu_s))
    a, w, _ = imu_signals(rng, tools, moved, R_SENSOR_IMU, IMU_PLACE)
    session, static = marker_recordings(rng, twin, truth)
    cell, imu = load_cell_recording(cell_s, stored), imu_recording(imu_s, a, w)
    return session, static, cell, imu, _truth(twin, truth, zero)


def write_door_twin(
    folder: Path,
    *,
    seed: int = 0,
    variant: Variant | None = None,
    spring_order: int = 3,
    one_way: bool = False,
    never_closed: bool = False,
    session: Session | None = None,
    instruments: Instruments | None = None,
) -> Path:
    """A random door: recordings, handle/ with the handle's own experiment, body.yaml, truth.json; returns body.yaml."""
    twin = door_twin(
        seed,
        variant=variant,
        spring_order=spring_order,
        one_way=one_way,
        never_closed=never_closed,
        session=session,
        instruments=instruments,
    )
    markers, static, cell, imu, truth = door_recordings(twin, simulate_door(twin))
    write_vicon(folder / "Trajectories.csv", markers)
    write_vicon(folder / "Static.csv", static)
    write_dspace(folder / "wrench.mat", cell)
    write_microstrain(folder / "imu.csv", imu, g=twin.gravity)
    write_text(folder / "truth.json", json.dumps(truth, indent=1) + "\n")
    write_handle_twin(folder / "handle", seed=seed)
    write_text(folder / "body.yaml", _experiment(twin))
    return folder / "body.yaml"


def write_any_door_twin(folder: Path, *, seed: int | None = None, poor: bool = False) -> Path:
    """The paper's door in its authors' layout without a seed, a random one with it; `poor`: only ever seen opening."""
    if seed is None and not poor:
        return write_paper_door_twin(folder)
    return write_door_twin(folder, seed=seed or 0, one_way=poor)


def write_paper_door_twin(folder: Path, *, seed: int | None = None) -> Path:
    """The door in the authors' layout, so that the experiment file that ships with palpate runs on it.

    Without a seed the truth is the paper's Table, the handle's as well. The door's truth is door-truth.json.
    """
    source = shipped_experiments()["door"]
    write_paper_twin(folder, "door-handle", seed=seed)
    handle = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    twin = paper_door_twin(np.array([handle["phi"][name] for name in PHI_NAMES]), seed=seed)
    markers, static, cell, imu, truth = door_recordings(twin, simulate_door(twin))
    data = folder / "door" / "data"
    write_vicon(data / "Trajectories.csv", markers)
    write_vicon(data / "Static.csv", static)
    write_dspace(data / "exp1_021.mat", cell)
    write_microstrain(data / "IMU_Door.csv", imu, g=twin.gravity)
    write_text(folder / "door-truth.json", json.dumps(truth, indent=1) + "\n")
    return write_own_experiment(folder, source, "door-truth.json")


def marker_recordings(rng: np.random.Generator, twin: DoorTwin, truth: DoorTruth) -> tuple[Recording, Recording]:
    """What the cameras store of the session, and of the shut door before it."""
    t = np.arange(round(twin.session.duration_s * CAPTURE_HZ)) / CAPTURE_HZ
    points = markers_in_capture(twin, truth.at("angle", t))
    points += _NOISE_M * rng.normal(size=points.shape)
    points[:, :3][_hidden(rng, (len(t), 3), _HIDDEN_SENSOR)] = np.nan
    points[:, 3:][_hidden(rng, (len(t), len(MARKERS) - 3), _HIDDEN)] = np.nan
    points[truth.at("recorded", t) < 1.0] = np.nan
    still = markers_in_capture(twin, np.zeros(round(_STATIC_S * CAPTURE_HZ)))
    # before the session somebody moved the free-standing frame a little
    knocked = exp_rotation(np.radians(0.3) * rng.normal(size=3) * [1, 1, 0.3])
    centre = still.mean(axis=(0, 1))
    still = (still - centre) @ knocked.T + centre + rng.normal(0, 0.01, 3)
    still = np.asarray(still + _NOISE_M * rng.normal(size=still.shape), dtype=float)
    return _marker_recording(t, points), _marker_recording(t[: len(still)], still)


def _marker_recording(times_s: FloatArray, points: FloatArray) -> Recording:
    clock = Clock("mocap", times_s)
    names = [f"{SUBJECT}:{name}" for name in MARKERS]
    return Recording({n: Channel(n, points[:, i], clock, "m", "capture") for i, n in enumerate(names)})


def _hidden(rng: np.random.Generator, shape: tuple[int, int], share: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Stretches in which a marker is not seen, 0.05 to 1 s, longer where much is hidden."""
    hidden = np.zeros(shape, dtype=bool)
    longest = 1.0 + 4.0 * share**2
    while hidden.mean() < share:
        first, length = int(rng.integers(shape[0])), int(CAPTURE_HZ * rng.uniform(0.05, longest))
        hidden[first : first + length, rng.integers(shape[1])] = True
    return hidden


def _samples(duration_s: float, clock: DeviceClock) -> FloatArray:
    """A device's own times, from its zero to shortly before the cameras stop."""
    return np.arange(round((duration_s + clock.offset_s - 0.1) * RATE_HZ)) / RATE_HZ


def _sensor_motion(twin: DoorTwin, truth: DoorTruth, times_s: FloatArray) -> Motion:
    return sensor_motion(twin, times_s, truth.at("speed", times_s), truth.at("acceleration", times_s))


def _stored_wrench(
    rng: np.random.Generator, twin: DoorTwin, truth: DoorTruth, cell_s: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(samples, 6) and the zero error: person - handle's A phi + zero + noise (FORMATS, Sign), in steps."""
    true_s, tools = twin.load_cell.true(cell_s), twin.instruments
    step = np.repeat([tools.force_step, tools.moment_step], 3)
    fine = replace(tools, force_step=1e-12, moment_step=1e-12)  # the steps come after the person
    handle, zero = load_cell_signals(
        rng, np.random.default_rng([twin.seed, 26]), fine, _sensor_motion(twin, truth, true_s), twin.phi
    )
    return np.round((handle + person_wrench(twin, truth, true_s)) / step) * step, zero


def _truth(twin: DoorTwin, truth: DoorTruth, zero: FloatArray) -> dict[str, Any]:
    model = twin.model
    stops = [e for e in model.elements if isinstance(e, EndStop)]
    own = replace(model, elements=tuple(e for e in model.elements if e not in stops), values={})
    parameters = {n: {"value": model.values[n], "unit": p.unit} for n, p in own.parameters.items()}
    linkage = _linkage(model)
    return {
        "palpate_truth": 1,
        "parameters": parameters,
        "shapes": {n: {"value": v, "unit": "rad/s" if n.endswith("v_s") else "rad"} for n, v in own.shapes.items()},
        "variant": twin.variant,
        "linkage": {"lengths": list(linkage.lengths), "assembly": linkage.assembly},
        "I_whole": twin.whole.values["I"],
        "phi": dict(zip(PHI_NAMES, twin.phi.tolist(), strict=True)),
        "handle": {"inertia_about_hinge": twin.handle_inertia},
        "sensor": {"R_hinge_sensor": twin.R_hinge_sensor.tolist(), "r_hinge_sensor": twin.r_hinge_sensor.tolist()},
        "clocks": {
            n: {"offset_s": c.offset_s, "drift_ppm": c.drift_ppm}
            for n, c in (("imu", twin.imu), ("wrench", twin.load_cell))
        },
        "preload": zero.tolist(),
        "angle": {
            "first_rad": float(truth.angle[0]),
            "smallest_rad": float(truth.angle.min()),
            "largest_rad": float(truth.angle.max()),
        },
        "stops": {e.name: {"at_rad": e.at, "k": model.values[f"{e.name}_k"]} for e in stops},
        "R_capture_hinge": hinge_in_capture(twin).tolist(),
        "r_capture_hinge": twin.r_capture_hinge.tolist(),
        "up_in_capture_frame": twin.R_capture_world[:, 2].tolist(),
        "seed": twin.seed,
        "note": "parameters: of the body alone; I_whole with the handle. device time = capture time * (1 + drift) + "
        "offset. preload: the load cell's zero as stored, N and N m. angle: zero where the frame stops the door. "
        "hinge frame: z down, x along the shut door",
    }


def _linkage(model: Model) -> FourBar:
    assert isinstance(model.mechanism, Hinge)
    assert isinstance(model.mechanism.linkage, FourBar)
    return model.mechanism.linkage


def _experiment(twin: DoorTwin) -> str:
    linkage, segments = _linkage(twin.model), twin.session.segments

    def spans(name: str) -> str:
        return ", ".join(f"[{a:g}, {b:g}]" for a, b in segments.get(name, []))

    return _EXPERIMENT.format(
        seed=twin.seed,
        body=", ".join(BODY_MARKERS),
        axis=", ".join(HINGE_MARKERS),
        sensor=", ".join(MARKERS[:3]),
        towards=MARKERS[10],
        turned=T_MARKER[:3, :3].tolist(),
        shifted=T_MARKER[:3, 3].tolist(),
        rotation=np.round(R_SENSOR_IMU, 9).tolist(),
        translation=IMU_PLACE.tolist(),
        lengths=list(linkage.lengths),
        assembly=linkage.assembly,
        static=spans("static"),
        quasi_static=spans("quasi_static"),
        train=spans("train"),
        test=spans("test"),
    )


_EXPERIMENT = """\
# A simulated door (seed {seed}). The truth is in truth.json; nothing but the reference column reads it.
palpate: 1
title: Simulated door {seed}
object: door
stage: body
model_of: body                   # the pre-sensor part; or whole: with the handle
recordings:
  mocap: {{file: Trajectories.csv, format: vicon-csv}}
  static: {{file: Static.csv, format: vicon-csv}}        # the door is shut in it
  wrench: {{file: wrench.mat, format: dspace-mat, device: Platform}}
  imu: {{file: imu.csv, format: microstrain-csv}}
markers:
  body: [{body}]
  hinge: {{axis: [{axis}], towards: {towards}, points: down}}
  sensor:                        # three markers on the sensor module, and the pose of their frame in the sensor frame
    markers: [{sensor}]
    offset:
      rotation: {turned}
      translation: {shifted}
imu_pose:                        # of the IMU in the sensor frame, from the drawing
  rotation: {rotation}
  translation: {translation}
handle: handle/handle.yaml       # identified first, or a model.json
clocks: auto
mechanism: {{linkage: {{lengths: {lengths}, assembly: {assembly}}}}}
elements:                        # added, or replacing the object's element of that name
- {{type: zone-damper, name: b_bc, acts_on: closer, when: opening, above: 69 deg, width: 2 deg, estimate: true}}
- {{type: zone-damper, name: b_s, acts_on: closer, when: closing, above: 25 deg, width: 2 deg,
   otherwise: b_l, estimate: true}}
# - {{type: stribeck, name: b_st, v_s: 0.1}}             # friction that fades with speed
# - {{type: hysteresis, name: hysteresis, acts_on: closer, knots: [107 deg, 190 deg, 280 deg], basis: polynomial}}
# - {{type: spring, name: spring, acts_on: closer, order: 4}}
segments:                        # seconds on the markers' clock
  static: {static}     # shut, nobody touches the handle: the sensor's preload
  quasi_static: {quasi_static}
  train: [{train}]
  test: [{test}]
reference: {{label: truth, file: truth.json}}
"""
