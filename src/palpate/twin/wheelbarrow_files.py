"""A simulated experiment with an object that rolls as files: recordings, truth.json, body.yaml."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

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
from palpate.recording import Recording
from palpate.recording.dspace_mat import write as write_dspace
from palpate.recording.microstrain_csv import write as write_microstrain
from palpate.recording.vicon_csv import write as write_vicon
from palpate.twin.capture import CAPTURE_HZ, T_MARKER
from palpate.twin.wheelbarrow_instruments import DEVICES, IMU_PLACE, R_SENSOR_IMU, WheelbarrowTwin, store
from palpate.twin.wheelbarrow_models import drawing_off_by


def wheelbarrow_recordings(twin: WheelbarrowTwin) -> tuple[Recording, Recording, Recording, dict[str, Any]]:
    """Markers, load cells, IMU: as stored; and truth.json."""
    markers, cells, imu, zeros = store(twin)
    return markers, cells, imu, _truth(twin, zeros)


def write_recordings(folder: Path, twin: WheelbarrowTwin, names: tuple[str, str, str, str]) -> None:
    """names: of the files of markers, load cells, IMU and truth."""
    markers, cells, imu, truth = wheelbarrow_recordings(twin)
    write_vicon(folder / names[0], markers, rate_hz=CAPTURE_HZ)
    write_dspace(folder / names[1], cells)
    write_microstrain(folder / names[2], imu, g=twin.gravity)
    write_text(folder / names[3], json.dumps(truth, indent=1) + "\n")


def experiment_text(twin: WheelbarrowTwin, spread: float | None, markers: str = "WB Trajectories.csv") -> str:
    """body.yaml. spread: by which fraction the drawing is off, as it declares; None: there is no drawing. markers: the
    name of their file."""
    barrow, layout, name = twin.barrow, twin.build.layout, twin.build.object
    segments = twin.wheeling.segments
    spans = {name: [s for s in segments if s.name == name] for name in ("train", "test")}
    two = len(layout.sensors) == 2

    def names(numbers: Sequence[int]) -> str:
        return ", ".join(layout.names(tuple(numbers)))

    sensor = {"turned": T_MARKER[:3, :3].tolist(), "shifted": T_MARKER[:3, 3].tolist()}
    wrench = [
        f"  {key}: {{file: wrench.mat, format: dspace-mat, device: {d}}}" for key, d in zip(_KEYS, DEVICES, strict=True)
    ]
    return _EXPERIMENT.format(
        seed=twin.seed,
        what=name.replace("-", " "),
        object=name,
        handles="both handles" if two else "its handle",
        wrench=f"{wrench[0]}       # right\n{wrench[1]}   # left" if two else wrench[0],
        file=markers,
        markers=names(range(1, layout.count + 1)),
        axle=names(layout.axle),
        across=", ".join(f"[{names(pair)}]" for pair in layout.across),
        radius=barrow.radius,
        right="right: three" if two else "three",
        sensor=_SENSOR.format(markers=names(layout.sensors[0]), **sensor),
        left=("  sensor_2:                      # left\n" + _SENSOR.format(markers=names(layout.sensors[1]), **sensor))
        if two
        else "",
        feet=names(layout.feet),
        which="right sensor's" if two else "sensor's",
        rotation=np.round(R_SENSOR_IMU, 9).tolist(),
        translation=IMU_PLACE.tolist(),
        of="of both handles; " if two else "",
        mechanism=f"mechanism: {{track: {barrow.track:g} m}}\n" if barrow.track else "",
        mass=f"{barrow.phi[0]:.6g}",
        tilt=max(0.1, float(np.degrees(np.arccos(min(1.0, twin.R_capture_world[2, 2]))))),
        static=f"[0.5, {min(s.begin_s for s in segments) - twin.wheeling.lifting_s - 1.2:g}]",
        prior="" if spread is None else _prior(twin, spread),
        **{name: ", ".join(f"[{s.begin_s:g}, {s.end_s:g}]" for s in found) for name, found in spans.items()},
    )


def _prior(twin: WheelbarrowTwin, spread: float) -> str:
    drawn = mass_properties(drawing_off_by(np.random.default_rng([twin.seed, 37]), twin.barrow.phi, spread))
    return _PRIOR.format(
        mass=f"{twin.barrow.phi[0]:.6g}",
        com=[float(f"{v:.6g}") for v in drawn.com],
        inertia=[[float(f"{v:.8g}") for v in row] for row in drawn.inertia_com],
        spread=f"{100 * spread:.3g} %",
    )


def _standing(twin: WheelbarrowTwin) -> list[list[float]]:
    """From, to (s): when the feet are on the ground."""
    edges = [0.0, *(edge for pair in twin.wheeling.lifted for edge in pair), twin.duration_s]
    return [[round(a, 4), round(b, 4)] for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _parameters(phi: FloatArray) -> dict[str, dict[str, Any]]:
    rows = zip(DRAWING_NAMES, drawing_values(phi), DRAWING_UNITS, strict=True)
    return {n: {"value": float(v), "unit": u} for n, v, u in rows}


def _truth(twin: WheelbarrowTwin, zeros: FloatArray) -> dict[str, Any]:
    barrow, sides = twin.barrow, twin.sides
    viscous = ("b_v", "b_psi")
    friction = {n: {"value": v, "unit": "N m s/rad" if n in viscous else "N m"} for n, v in barrow.friction.items()}
    whole = barrow.phi + sum(
        move_phi(twin.handle, R, r) for R, r in zip(sides.R_body_sensor, sides.r_body_sensor, strict=True)
    )
    two = len(zeros) == 2
    names = ("right", "left") if two else ("middle",)
    clocks = [("imu", twin.imu), *((key, twin.load_cell) for key in _KEYS[: len(zeros)])]
    return {
        "palpate_truth": 1,
        "parameters": {**_parameters(barrow.phi), **friction},
        "parameters_whole": {**_parameters(whole), **friction},
        "body_phi": dict(zip(PHI_NAMES, barrow.phi.tolist(), strict=True)),
        "phi": dict(zip(PHI_NAMES, twin.handle.tolist(), strict=True)),
        "wheel": {"radius_m": barrow.radius, "inertia": barrow.wheel_inertia}
        | ({"track_m": barrow.track} if barrow.track else {}),
        "sensors": {
            n: {"R_body_sensor": R.tolist(), "r_body_sensor": r.tolist(), "preload": zero.tolist()}
            for n, R, r, zero in zip(names, sides.R_body_sensor, sides.r_body_sensor, zeros, strict=True)
        },
        "feet": {"in_body_m": barrow.feet.tolist(), "on_ground_s": _standing(twin)},
        "motion": [
            {"segment": s.name, "from_s": s.begin_s, "to_s": s.end_s, "kinds": list(s.kinds)}
            for s in twin.wheeling.segments
        ],
        "clocks": {n: {"offset_s": c.offset_s, "drift_ppm": c.drift_ppm} for n, c in clocks},
        "up_in_capture_frame": twin.R_capture_world[:, 2].tolist(),
        "floor_m": twin.floor_m,
        "gravity": twin.gravity,
        "seed": twin.seed,
        "note": "parameters: of the body alone, inertias about the axle's middle; parameters_whole with "
        f"{'both handles' if two else 'its handle'}; "
        f"phi: of {'one' if two else 'the'} handle; preload: the load cell's zero error, handle{'s' if two else ''} "
        "removed; device time = capture time * (1 + drift) + offset",
    }


_KEYS = ("wrench", "wrench_2")
_EXPERIMENT = """\
# A simulated {what} (seed {seed}). The truth is in truth.json; nothing but the reference column reads it.
palpate: 1
title: Simulated {what} {seed}
object: {object}
stage: body
model_of: body                   # the pre-sensor part; or whole: with {handles}
recordings:
  mocap: {{file: {file}, format: vicon-csv}}
{wrench}
  imu: {{file: imu.csv, format: microstrain-csv}}
markers:
  body: [{markers}]
  axle: {{axle: [{axle}], across: [{across}], radius: {radius:g} m}}
  sensor:                        # {right} markers on the module, and the pose of their frame in the sensor frame
{sensor}{left}  feet: [{feet}]         # right, left
{mechanism}imu_pose:                        # of the IMU in the {which} frame, from the drawing
  rotation: {rotation}
  translation: {translation}
handle: handle/handle.yaml       # {of}identified first, or a model.json
clocks: auto
known_mass: {{value: {mass} kg, of: body}}
segments:                        # seconds on the markers' clock
  static: {static}               # standing on its feet, nobody touches the handles: the sensors' preload
  train: [{train}]
  test: [{test}]
{prior}uncertain: {{tilt: {tilt:.3g} deg}}  # of the capture frame against the vertical
reference: {{label: truth, file: truth.json}}
"""
_SENSOR = """\
    markers: [{markers}]
    offset:
      rotation: {turned}
      translation: {shifted}
"""
_PRIOR = """\
prior:                           # a drawing that is off by that much
  mass: {mass} kg
  com: {com}
  inertia_com: {inertia}
  damping: auto
  spread: {spread}
"""
