"""A simulated motion-capture experiment: markers, IMU and load cell with clocks, a tilt and faults of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from palpate.files import write_text
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import PHI_NAMES
from palpate.physics.so3 import exp_rotation
from palpate.physics.spatial import nearest_rotation
from palpate.recording import Channel, Clock, Recording
from palpate.recording.dspace_mat import write as write_dspace
from palpate.recording.microstrain_csv import write as write_microstrain
from palpate.recording.vicon_csv import write as write_vicon
from palpate.twin.hand import HandMotion, random_hand
from palpate.twin.handle import random_handle
from palpate.twin.instruments import (
    RATE_HZ,
    Instruments,
    imu_recording,
    imu_signals,
    load_cell_recording,
    load_cell_signals,
)

CAPTURE_HZ = 100.0
SUBJECT = "Handle"
T_MARKER = np.array([[0.0997, -0.9950, 0, -0.0897], [0.9950, 0.0997, 0, -0.0201], [0, 0, 1, -0.0066], [0, 0, 0, 1]])
"""Pose of the three markers' frame in the sensor frame, machined (FORMATS, Sensor frame)."""


@dataclass(frozen=True, slots=True)
class DeviceClock:
    """Device time = true time * (1 + drift) + offset."""

    offset_s: float
    drift_ppm: float

    def true(self, device_s: FloatArray) -> FloatArray:
        """True times of a device's samples, s."""
        return (device_s - self.offset_s) / (1 + 1e-6 * self.drift_ppm)


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
        R_sensor_imu=nearest_rotation([[0.0877, -0.9962, 0], [-0.9962, -0.0877, 0], [0, 0, -1]]),
        r_sensor_imu=np.array([-0.0861, 0.0125, -0.0290]),
        seed=seed,
        faults=faults or Faults(),
    )


def marker_recording(twin: CaptureTwin) -> tuple[Recording, list[dict[str, Any]]]:
    """What the capture system stores, and which faults it holds."""
    rng = np.random.default_rng([twin.seed, 11])
    t = np.arange(round(twin.duration_s * CAPTURE_HZ)) / CAPTURE_HZ
    names = [f"{SUBJECT}:M{i + 1}" for i in range(len(twin.points))]
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
    clock = Clock("mocap", t)
    return Recording({n: Channel(n, points[:, i], clock, "m", "capture") for i, n in enumerate(names)}), found


def write_capture_twin(
    folder: Path, *, seed: int = 0, clean: bool = False, faults: Faults | None = None, duration_s: float = 110.0
) -> Path:
    """Recordings in the instruments' formats, an experiment file of the motion stage, and truth.json."""
    twin = capture_twin(seed, faults=faults or (CLEAN if clean else Faults()), duration_s=duration_s)
    rng, tools = np.random.default_rng([seed, 12]), Instruments()
    if not twin.faults.accelerometer_zero:
        tools = Instruments(acceleration_zero=0.0)
    markers, found = marker_recording(twin)
    cell_s, imu_s = (_samples(twin.duration_s, clock) for clock in (twin.load_cell, twin.imu))
    at_cell, at_imu = twin.hand.motion(twin.load_cell.true(cell_s)), twin.hand.motion(twin.imu.true(imu_s))
    stored, _ = load_cell_signals(rng, np.random.default_rng([seed, 13]), tools, at_cell, twin.phi)
    a, w, _ = imu_signals(rng, tools, at_imu, twin.R_sensor_imu, twin.r_sensor_imu)
    write_vicon(folder / "markers.csv", markers)
    write_dspace(folder / "wrench.mat", load_cell_recording(cell_s, stored))
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
    text = _EXPERIMENT.format(
        seed=seed,
        turned=T_MARKER[:3, :3].tolist(),
        shifted=T_MARKER[:3, 3].tolist(),
        rotation=np.round(twin.R_sensor_imu, 9).tolist(),
        translation=twin.r_sensor_imu.tolist(),
    )
    write_text(folder / "motion.yaml", text)
    return folder / "motion.yaml"


def _samples(duration_s: float, clock: DeviceClock) -> FloatArray:
    """A device's own times, from its zero to shortly before the capture ends."""
    return np.arange(round((duration_s + clock.offset_s - 0.1) * RATE_HZ)) / RATE_HZ


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


_EXPERIMENT = """\
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
