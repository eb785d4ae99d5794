"""Simulated instruments: what load cells, an IMU and cameras store of a known motion, their clocks, and the files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from palpate.files import write_text
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import (
    DRAWING_NAMES,
    DRAWING_UNITS,
    PHI_NAMES,
    body_regressor,
    drawing_values,
    mass_properties,
)
from palpate.physics.motion import Motion, exp_rotation, nearest_rotation, transport_acceleration
from palpate.recording import Channel, Clock, Recording
from palpate.recording.instruments import write_microstrain, write_vicon
from palpate.recording.mat import write_dspace
from palpate.runtime.replay import WRENCH_UNITS

RATE_HZ, CAPTURE_HZ = 1000.0, 100.0
DEVICES = ("Platform", "Platform_2")
"""Names of the load cells: the right or only one, the left one."""
T_MARKER = np.array([[0.0997, -0.9950, 0, -0.0897], [0.9950, 0.0997, 0, -0.0201], [0, 0, 1, -0.0066], [0, 0, 0, 1]])
"""Pose of the frame of three markers in the sensor frame, machined (FORMATS, Sensor frame)."""
R_SENSOR_IMU = nearest_rotation([[0.0877, -0.9962, 0], [-0.9962, -0.0877, 0], [0, 0, -1]])
IMU_PLACE = np.array([-0.0861, 0.0125, -0.0290])
"""Place of the IMU in the (first) sensor frame, m (FORMATS, IMU)."""


@dataclass(frozen=True, slots=True)
class Instruments:
    """Of the sensors: noise and zero errors (standard deviations of a sample and of a constant), and resolution."""

    force_noise: float = 0.15
    moment_noise: float = 0.004
    force_wander: float = 0.005
    moment_wander: float = 0.00015
    """Noise that is still there after a second: a load cell's is not white."""
    force_zero: float = 1.0
    moment_zero: float = 0.05
    force_step: float = 1 / 14
    moment_step: float = 1 / 700
    acceleration_noise: float = 0.006
    rate_noise: float = 0.002
    acceleration_zero: float = 0.02
    rate_zero: float = 0.002


@dataclass(frozen=True, slots=True)
class DeviceClock:
    """Device time = true time * (1 + drift) + offset."""

    offset_s: float
    drift_ppm: float = 0.0
    early_s: float = 0.1
    """How long before the cameras it stops."""

    def true(self, device_s: FloatArray) -> FloatArray:
        """True times of a device's samples, s."""
        return (device_s - self.offset_s) / (1 + 1e-6 * self.drift_ppm)

    def samples(self, duration_s: float) -> FloatArray:
        """Device times from its zero on, s."""
        return np.arange(round((duration_s + self.offset_s - self.early_s) * RATE_HZ)) / RATE_HZ


Clocks = Sequence[DeviceClock]
"""Of IMU and load cells."""


def random_clocks(rng: np.random.Generator, *earliest_s: float) -> list[DeviceClock]:
    """One clock for each earliest offset (s); the latest is 4 s."""
    return [DeviceClock(float(rng.uniform(low, 4.0)), float(rng.uniform(-60, 60))) for low in earliest_s]


def tilted(rng: np.random.Generator, degrees: float) -> FloatArray:
    """R_capture_world of a capture system that stands askew by this angle, in a random direction."""
    direction = rng.uniform(0, 2 * np.pi)
    return exp_rotation(np.radians(degrees) * np.array([np.cos(direction), np.sin(direction), 0.0]))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BodyTwin:
    """What determines a simulated experiment with an object behind handles; frame B is its mechanism's."""

    model: Model
    """The body alone (pre-sensor) with its values."""
    phi: FloatArray
    """(10,) of each of the equal handles in its sensor's frame."""
    R_body_sensor: FloatArray
    """(sensors, 3, 3): the right and the left one, or the only one."""
    r_body_sensor: FloatArray
    """(sensors, 3) m in B."""
    r_body_grip: FloatArray
    """(sensors, 3) m in B: where the hands are."""
    places: FloatArray
    """(markers, 3) m in B."""
    R_capture_world: FloatArray
    imu: DeviceClock
    load_cell: DeviceClock
    """Of every load cell."""
    seed: int
    noise_m: float = 3e-4
    """Of the cameras."""
    instruments: Instruments = field(default_factory=Instruments)

    @property
    def gravity(self) -> float:
        """m/s2, which the IMU calls one g."""
        return self.model.mechanism.gravity

    def sensor_motion(self, body: Motion, side: int = 0) -> Motion:
        """Motion of a sensor's frame, expressed in it, from that of B."""
        turning, R = (body.omega, body.omega_dot), self.R_body_sensor[side]
        a = transport_acceleration(body.specific_acceleration, *turning, self.r_body_sensor[side])
        return Motion(body.times_s, a @ R, *(w @ R for w in turning))


# --- signals ----------------------------------------------------------------------------------------------------------


def handle_wrench(motion: Motion, phi: FloatArray) -> FloatArray:
    """A phi: the wrench that moves a handle with its sensor, (samples, 6) N and N m."""
    return body_regressor(motion.specific_acceleration, motion.omega, motion.omega_dot) @ phi


def load_cell_signals(
    rng: np.random.Generator, slow: np.random.Generator, tools: Instruments, wrench: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What a load cell stores of this wrench, (samples, 6), and its zero error, (6,): N and N m.

    wrench: what reaches the body, person - A phi (FORMATS, Sign). slow: draws the noise that wanders, which forgets
    itself within a second (Ornstein-Uhlenbeck).
    """
    from scipy.signal import lfilter

    zero = np.concatenate([rng.normal(0, tools.force_zero, 3), rng.normal(0, tools.moment_zero, 3)])
    noise = np.repeat([tools.force_noise, tools.moment_noise], 3)
    step = np.repeat([tools.force_step, tools.moment_step], 3)
    stored = wrench + zero + rng.normal(size=wrench.shape) * noise
    keep = float(np.exp(-1 / RATE_HZ))
    start, steps = keep * slow.normal(size=(1, 6)), np.sqrt(1 - keep**2) * slow.normal(size=(len(stored), 6))
    wander = np.asarray(lfilter([1.0], [1.0, -keep], steps, axis=0, zi=start)[0], dtype=float)
    stored += wander * np.repeat([tools.force_wander, tools.moment_wander], 3)
    return np.round(stored / step) * step, zero


def imu_signals(
    rng: np.random.Generator, tools: Instruments, motion: Motion, R_sensor_imu: FloatArray, r_sensor_imu: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Specific force and angular rate in the IMU's axes, (samples, 3) each, and the accelerometer's zero error, (3,).

    motion: of the sensor frame; the IMU sits at r_sensor_imu in it.
    """
    a_zero, w_zero = rng.normal(0, tools.acceleration_zero, 3), rng.normal(0, tools.rate_zero, 3)
    a = transport_acceleration(motion.specific_acceleration, motion.omega, motion.omega_dot, r_sensor_imu)
    a, w = a @ R_sensor_imu, motion.omega @ R_sensor_imu
    a = a + a_zero + tools.acceleration_noise * rng.normal(size=a.shape)
    w = w + w_zero + tools.rate_noise * rng.normal(size=w.shape)
    return a, w, a_zero


def smooth_noise(rng: np.random.Generator, t: FloatArray, low_hz: float, high_hz: float, sines: int) -> FloatArray:
    """A sum of sines with a standard deviation of about one half: band-limited, smooth."""
    frequency, phase = rng.uniform(low_hz, high_hz, sines), rng.uniform(0, 2 * np.pi, sines)
    return np.sin(2 * np.pi * frequency[:, None] * t + phase[:, None]).sum(axis=0) / np.sqrt(2 * sines)


def hide(
    rng: np.random.Generator, points: FloatArray, markers: Sequence[int], share: float, *, longest_s: float = 1.0
) -> None:
    """Sets stretches of 0.05 s to `longest_s` of these markers to NaN, in place, until this share is hidden."""
    hidden = np.zeros((len(points), len(markers)), dtype=bool)
    while hidden.mean() < share:
        first, length = int(rng.integers(len(points))), int(CAPTURE_HZ * rng.uniform(0.05, longest_s))
        hidden[first : first + length, rng.integers(len(markers))] = True
    for marker, unseen in zip(markers, hidden.T, strict=True):
        points[unseen, marker] = np.nan


# --- recordings -------------------------------------------------------------------------------------------------------


def marker_recording(times_s: FloatArray, points: FloatArray, subject: str, names: Sequence[str]) -> Recording:
    """As a capture system stores it; points: (frames, markers, 3) m."""
    clock, places = Clock("mocap", times_s), points.swapaxes(0, 1)
    channels = [Channel(f"{subject}:{n}", p, clock, "m", "capture") for n, p in zip(names, places, strict=True)]
    return _recording(channels, "vicon-csv")


def _recording(channels: Sequence[Channel], form: str) -> Recording:
    return Recording({c.name: c for c in channels}, None, form)


def record(
    rng: np.random.Generator,
    slow: Sequence[np.random.Generator],
    tools: Instruments,
    clocks: tuple[DeviceClock, DeviceClock],
    duration_s: float,
    motion: Callable[[FloatArray], Motion],
    wrenches: Callable[[FloatArray], Sequence[FloatArray]],
    imu_pose: tuple[FloatArray, FloatArray] = (R_SENSOR_IMU, IMU_PLACE),
) -> tuple[Recording, Recording, FloatArray, FloatArray]:
    """A session as dSPACE stores load cells and MicroStrain an IMU; clocks: of the IMU and of the load cells.

    Also their zero errors: (sensors, 6) N and N m, (3,) m/s2.

    motion: of true times (s) -> that of the sensor frame that carries the IMU. wrenches: of true times -> what reaches
    the body through each sensor, (samples, 6). slow: draws the wandering noise of each load cell.
    """
    imu, cell = clocks
    times_s, imu_s = (clock.samples(duration_s) for clock in (cell, imu))
    passed = wrenches(cell.true(times_s))
    each = [load_cell_signals(rng, other, tools, w) for other, w in zip(slow, passed, strict=True)]
    a, w, a_zero = imu_signals(rng, tools, motion(imu.true(imu_s)), *imu_pose)
    clock, kinds = Clock("imu", imu_s), (("acceleration", "m/s2", a), ("angular_rate", "rad/s", w))
    signals = [
        Channel(f"{kind}.{axis}", series, clock, unit, "imu")
        for kind, unit, x in kinds
        for axis, series in zip("xyz", x.T, strict=True)
    ]
    wrenches_stored = [
        Channel(f"{name}{number}_RawZero", series, clock, unit, "sensor")
        for number, (stored, _) in enumerate(each, start=1)
        for clock in (Clock(DEVICES[number - 1], times_s),)
        for name, unit, series in zip(("Fx", "Fy", "Fz", "Tx", "Ty", "Tz"), WRENCH_UNITS, stored.T, strict=True)
    ]
    cells, motion_unit = _recording(wrenches_stored, "dspace-mat"), _recording(signals, "microstrain-csv")
    return cells, motion_unit, np.array([zero for _, zero in each]), a_zero


# --- files ------------------------------------------------------------------------------------------------------------


def write_recordings(folder: Path, recordings: Mapping[str, Recording], *, g: float) -> None:
    """File name -> recording, each in its own format; g: what the IMU calls one g, m/s2."""
    for name, recording in recordings.items():
        if recording.format == "vicon-csv":
            write_vicon(folder / name, recording, rate_hz=CAPTURE_HZ)
        elif recording.format == "dspace-mat":
            write_dspace(folder / name, recording)
        else:
            write_microstrain(folder / name, recording, g=g)


def write_table(path: Path, heads: Sequence[str], rows: FloatArray) -> None:
    """A plain CSV table."""
    lines = (",".join(f"{x:.8g}" for x in row) for row in rows.tolist())
    write_text(path, "\n".join([",".join(heads), *lines]) + "\n")


def write_truth(path: Path, truth: Mapping[str, Any]) -> None:
    """truth.json, which only the reference column of a result reads."""
    write_text(path, json.dumps({"palpate_truth": 1, **truth}, indent=1) + "\n")


def write_twin(
    folder: Path,
    recordings: Mapping[str, Recording],
    truth: Mapping[str, Any],
    name: str,
    template: str,
    fill: Mapping[str, Any],
    *,
    g: float,
) -> Path:
    """Recordings by their file names, truth.json, and the experiment file from its template; returns the latter."""
    write_recordings(folder, recordings, g=g)
    write_truth(folder / "truth.json", truth)
    text = (resources.files("palpate.twin") / "templates" / f"{template}.yaml").read_text(encoding="utf-8")
    write_text(folder / name, text.format(seed=truth["seed"], **fill))
    return folder / name


def drawing_truth(phi: FloatArray) -> dict[str, dict[str, Any]]:
    """Mass, centre of mass and inertias as parameters of truth.json."""
    rows = zip(DRAWING_NAMES, drawing_values(phi), DRAWING_UNITS, strict=True)
    return {n: {"value": float(v), "unit": u} for n, v, u in rows}


def phi_truth(phi: FloatArray) -> dict[str, float]:
    """phi by its names, for truth.json."""
    return dict(zip(PHI_NAMES, phi.tolist(), strict=True))


def clocks_truth(**clocks: DeviceClock) -> dict[str, dict[str, float]]:
    """Clocks by the keys of the experiment file, for truth.json."""
    return {n: {"offset_s": c.offset_s, "drift_ppm": c.drift_ppm} for n, c in clocks.items()}


def sensor_text(names: Sequence[str]) -> str:
    """The entries of an experiment file below markers.sensor."""
    return f"""\
    markers: [{", ".join(names)}]
    offset:
      rotation: {T_MARKER[:3, :3].tolist()}
      translation: {T_MARKER[:3, 3].tolist()}
"""


def imu_pose_text(sensor: str = "sensor") -> str:
    """The key imu_pose of an experiment file; sensor: the one that carries the IMU."""
    return f"""\
imu_pose:                        # of the IMU in the {sensor} frame, from the drawing
  rotation: {np.round(R_SENSOR_IMU, 9).tolist()}
  translation: {IMU_PLACE.tolist()}
"""


def prior_text(drawn: FloatArray, spread: float) -> str:
    """The key prior of an experiment file; drawn: phi of a drawing that is off by this fraction."""
    body = mass_properties(drawn)
    return f"""\
prior:                           # a drawing that is off by that much
  mass: {body.mass:.6g} kg
  com: {[float(f"{v:.6g}") for v in body.com]}
  inertia_com: {[[float(f"{v:.8g}") for v in row] for row in body.inertia_com]}
  damping: auto
  spread: {100 * spread:.3g} %
"""
