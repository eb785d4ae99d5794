"""Simulated handles, shaken in the hand: with IMU and load cell alone, or seen by a motion-capture system as well."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from palpate.elements import SensorBias
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import (
    body_regressor,
    phi_from_mass_properties,
    phi_from_pseudo_inertia,
    pseudo_inertia,
    solid_box,
    solid_cylinder,
)
from palpate.physics.motion import Motion, exp_rotation
from palpate.physics.units import STANDARD_GRAVITY
from palpate.recording import Recording
from palpate.twin import instruments as tools
from palpate.twin.instruments import CAPTURE_HZ, T_MARKER, DeviceClock, Instruments, handle_wrench

_RISE_S = 0.6
_STRETCH, _EVEN_S = 256, 1e-12
"""Samples of which one sine is computed; how far even times may be off, s."""


class Series(NamedTuple):
    """Coordinates in time, each (coordinates, samples): values, first and second derivatives."""

    value: FloatArray
    rate: FloatArray
    acceleration: FloatArray


def sines(t: FloatArray, amplitude: FloatArray, frequency: FloatArray, phase: FloatArray) -> Series:
    """Sums of sines, three times (coordinates, samples); amplitude, frequency (rad/s), phase: (coordinates, sines).

    At even times, sines of the first time of each stretch and of the times in it tell all others by the addition
    theorem: sin(x + y) = sin x cos y + cos x sin y.
    """
    step = (t[-1] - t[0]) / max(len(t) - 1, 1) if len(t) else 0.0
    even = len(t) > _STRETCH and np.abs(t - t[0] - step * np.arange(len(t))).max() < _EVEN_S
    within = step * np.arange(_STRETCH if even else 1)
    a, w, p = (x[:, :, None] for x in (amplitude, frequency, phase))
    x, y = w * t[:: len(within)] + p, w * within
    sin, cos = np.sin(x), np.cos(x)
    apart = np.concatenate([np.cos(y), np.sin(y)], axis=1)

    def summed(of_sine: FloatArray, of_cosine: FloatArray) -> FloatArray:
        stretches = np.concatenate([of_sine, of_cosine], axis=1).swapaxes(1, 2) @ apart
        return stretches.reshape(len(amplitude), -1)[:, : len(t)]

    return Series(summed(a * sin, a * cos), summed(a * w * cos, -a * w * sin), -summed(a * w**2 * sin, a * w**2 * cos))


def product(e: Series, s: Series) -> Series:
    """Two factors, such as an envelope and what is under it."""
    return Series(e[0] * s[0], e[1] * s[0] + e[0] * s[1], e[2] * s[0] + 2 * e[1] * s[1] + e[0] * s[2])


@dataclass(frozen=True, slots=True, eq=False)
class HandMotion:
    """Sums of sines for roll, pitch, yaw (rad) and x, y, z (m), between a still beginning and a still end.

    Everything is a closed formula of time, so positions and accelerations agree to the last digit.
    """

    amplitude: FloatArray
    """(6, sines), rad and m."""
    frequency: FloatArray
    """(6, sines), rad/s."""
    phase: FloatArray
    """(6, sines), rad."""
    begin_s: float
    end_s: float
    gravity: float

    def coordinates(self, t: FloatArray) -> Series:
        """Values, first and second derivatives of roll, pitch, yaw, x, y, z: three times (6, samples)."""
        rising, falling = np.tanh((t - self.begin_s) / _RISE_S), np.tanh((self.end_s - t) / _RISE_S)
        slope, fall = (1 - rising**2) / (2 * _RISE_S), -(1 - falling**2) / (2 * _RISE_S)
        up = Series((1 + rising) / 2, slope, -2 * rising * slope / _RISE_S)
        down = Series((1 + falling) / 2, fall, 2 * falling * fall / _RISE_S)
        return product(product(up, down), sines(t, self.amplitude, self.frequency, self.phase))

    def motion(self, t: FloatArray) -> Motion:
        """The motion of the sensor frame at true times t (s), expressed in it; world z points up.

        R = Rz(yaw) Ry(pitch) Rx(roll), turn after turn: omega' = R'omega + axis rate, and its derivative.
        """
        q, v, b = self.coordinates(t)
        felt = b[3:] + np.array([0.0, 0.0, self.gravity])[:, None]
        omega = omega_dot = np.zeros((3, len(t)))
        for i, j, k in ((2, 0, 1), (1, 2, 0), (0, 1, 2)):
            cos, sin = np.cos(q[i]), np.sin(q[i])
            felt, omega, omega_dot = (_turned_back(x, j, k, cos, sin) for x in (felt, omega, omega_dot))
            omega_dot[i] += b[i]
            omega_dot[j] += omega[k] * v[i]  # omega x axis rate
            omega_dot[k] -= omega[j] * v[i]
            omega[i] += v[i]
        felt, omega, omega_dot = (np.ascontiguousarray(x.T) for x in (felt, omega, omega_dot))
        return Motion(t, felt, omega, omega_dot)

    def rotation(self, t: FloatArray) -> FloatArray:
        """R_world_sensor at times t, (samples, 3, 3)."""
        return rotation_of(self.coordinates(t)[0])


def _turned_back(x: FloatArray, j: int, k: int, cos: FloatArray, sin: FloatArray) -> FloatArray:
    """Vectors (3, samples) in axes that were turned from j towards k."""
    turned = x.copy()
    turned[j], turned[k] = cos * x[j] + sin * x[k], cos * x[k] - sin * x[j]
    return turned


def rotation_of(q: FloatArray) -> FloatArray:
    """R_world_sensor of coordinates (6, samples) as `HandMotion` has them: (samples, 3, 3)."""
    return np.asarray(Rotation.from_euler("ZYX", q[2::-1].T).as_matrix(), dtype=float)


def random_hand(
    rng: np.random.Generator, duration_s: float, gravity: float, *, still_s: float = 3.0, poor: bool = False
) -> HandMotion:
    """Slow turning through all orientations (0.1-0.4 Hz, about 1 rad) and fast shaking (1-3 Hz), as in the paper's
    data.

    `poor`: about one axis only, and hardly any shaking.
    """
    slow, fast = 3, 4
    amplitude = np.empty((6, slow + fast))
    frequency = 2 * np.pi * np.hstack([rng.uniform(0.1, 0.4, (6, slow)), rng.uniform(1.0, 3.0, (6, fast))])
    amplitude[:3, :slow] = rng.uniform(0.3, 0.6, (3, slow))
    amplitude[:3, slow:] = rng.uniform(0.06, 0.16, (3, fast))
    amplitude[3:, :slow] = rng.uniform(0.02, 0.08, (3, slow))
    amplitude[3:, slow:] = rng.uniform(0.003, 0.012, (3, fast))
    if poor:  # someone who turns the handle about one axis only, and hardly shakes it
        amplitude[:3] *= np.where(np.arange(3) == rng.integers(3), 1.0, 0.03)[:, None]
        amplitude[3:] *= 0.1
    phase = rng.uniform(0, 2 * np.pi, amplitude.shape)
    return HandMotion(amplitude, frequency, phase, still_s + 2.0, duration_s - still_s - 2.0, gravity)


@dataclass(frozen=True, slots=True, eq=False)
class HandleTwin:
    """All that determines a simulated handle experiment."""

    phi: FloatArray
    hand: HandMotion
    duration_s: float
    load_cell_minus_imu_s: float
    """Load-cell time minus IMU time of the same instant."""
    seed: int
    g: float = STANDARD_GRAVITY
    """What the IMU calls one g."""
    R_sensor_imu: FloatArray = field(default_factory=tools.R_SENSOR_IMU.copy)
    r_sensor_imu: FloatArray = field(default_factory=tools.IMU_PLACE.copy)
    instruments: Instruments = field(default_factory=Instruments)


def handle_recordings(twin: HandleTwin) -> tuple[Recording, Recording, dict[str, Any]]:
    """Load-cell and IMU recordings as the instruments would store them, and the truth."""
    rng, slow = (np.random.default_rng([twin.seed, stream]) for stream in (1, 3))
    clocks = DeviceClock(-twin.load_cell_minus_imu_s, early_s=0.0), DeviceClock(0.0, early_s=0.0)
    cell, imu, (zero,), a_zero = tools.record(
        *(rng, [slow], twin.instruments, clocks, twin.duration_s, twin.hand.motion),
        lambda t: [-handle_wrench(twin.hand.motion(t), twin.phi)],
        (twin.R_sensor_imu, twin.r_sensor_imu),
    )
    # a constant error of the accelerometer looks to the fit like a bias of the load cell
    apparent = body_regressor((twin.R_sensor_imu @ a_zero)[None], np.zeros((1, 3)), np.zeros((1, 3)))[0] @ twin.phi
    bias = zip(SensorBias().parameters, -zero - apparent, strict=True)
    truth = {
        "parameters": tools.drawing_truth(twin.phi) | {p.name: {"value": float(v), "unit": p.unit} for p, v in bias},
        "phi": tools.phi_truth(twin.phi),
        "load_cell_minus_imu_s": twin.load_cell_minus_imu_s,
        "seed": twin.seed,
        "note": "bias: what the load cell's and the accelerometer's zero errors together look like to a fit",
    }
    return cell, imu, truth


def write_handle_twin(folder: Path, *, seed: int = 0, spread: float = 0.2, poor: bool = False) -> Path:
    """A random handle with its own experiment file and a prior that is off by its declared spread; returns the file.

    `poor`: a motion that excites too little.
    """
    rng = np.random.default_rng([seed, 0])
    phi, hand = random_handle(rng), random_hand(rng, 70.0, STANDARD_GRAVITY, poor=poor)
    offset_s = float(rng.uniform(-2.0, 3.0))
    twin = HandleTwin(phi=phi, hand=hand, duration_s=70.0, load_cell_minus_imu_s=offset_s, seed=seed)
    prior = tools.prior_text(off_by(rng, phi, spread), spread)
    load_cell, imu, truth = handle_recordings(twin)
    files, fill = {"wrench.mat": load_cell, "imu.csv": imu}, {"imu_pose": tools.imu_pose_text(), "prior": prior}
    return tools.write_twin(folder, files, truth, "handle.yaml", "handle", fill, g=twin.g)


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


# --- seen by a motion-capture system ----------------------------------------------------------------------------------

SUBJECT = "Handle"
_NOISE_M, _HIDDEN, _MOVED_M = 3e-4, 0.05, 7e-3
"""Of the cameras; the share of marker samples that they miss; how far a marker is moved on the body."""
_USUAL = Instruments()


@dataclass(frozen=True, slots=True, eq=False)
class CaptureTwin:
    """All that determines a simulated capture."""

    hand: HandMotion
    phi: FloatArray
    points: FloatArray
    """(markers, 3) in the sensor frame, m; the first three are on the sensor."""
    R_capture_world: FloatArray
    duration_s: float
    imu: DeviceClock
    load_cell: DeviceClock
    seed: int
    clean: bool
    """No marker is hidden, swapped or moved on the body."""


def capture_twin(seed: int, *, clean: bool = False, duration_s: float = 110.0) -> CaptureTwin:
    """A random handle in a random hand, seen by a capture system that stands askew."""
    rng = np.random.default_rng([seed, 10])
    module = np.array([[0.03, -0.06, 0], [0, 0, 0], [0.09, 0, 0]])  # p1, p2, p3 in their own frame
    module[0, :2] += rng.uniform(-0.01, 0.01, 2)
    module[2, 0] += rng.uniform(-0.01, 0.02)
    module = module @ T_MARKER[:3, :3].T + T_MARKER[:3, 3]
    askew = tools.tilted(rng, 0.5)
    imu, load_cell = tools.random_clocks(rng, -2.0, -2.0)
    hand, phi = random_hand(rng, duration_s, STANDARD_GRAVITY), random_handle(rng)
    points = list(module)
    while len(points) < 8:  # five more markers, at least 3 cm from each other
        new = rng.uniform(-0.15, 0.15, 3) + np.array([0, 0, 0.05])
        points += [new] if min(np.linalg.norm(new - p) for p in points) > 0.03 else []
    R_capture_world = askew @ exp_rotation(np.array([0.0, 0.0, rng.uniform(-np.pi, np.pi)]))
    return CaptureTwin(hand, phi, np.array(points), R_capture_world, duration_s, imu, load_cell, seed, clean)


def captured_markers(twin: CaptureTwin) -> tuple[Recording, list[dict[str, Any]]]:
    """What the capture system stores, and which faults it holds."""
    rng, seconds = np.random.default_rng([twin.seed, 11]), twin.duration_s
    t = np.arange(round(seconds * CAPTURE_HZ)) / CAPTURE_HZ
    markers = [f"M{i + 1}" for i in range(len(twin.points))]
    body = np.broadcast_to(twin.points, (len(t), *twin.points.shape)).copy()
    faults: list[dict[str, Any]] = []
    if not twin.clean:
        which, when = int(rng.integers(3, len(markers))), float(rng.uniform(0.3, 0.7) * seconds)
        way = rng.normal(size=3)
        body[t >= when, which] += _MOVED_M * way / np.linalg.norm(way)
        faults.append({"kind": "moved", "names": [f"{SUBJECT}:{markers[which]}"], "from_s": when, "size_m": _MOVED_M})
    R = twin.R_capture_world @ twin.hand.rotation(t)
    origin = (twin.hand.coordinates(t)[0][3:].T + np.array([0.4, -0.2, 1.1])) @ twin.R_capture_world.T
    points = body @ R.swapaxes(1, 2) + origin[:, None]
    points += _NOISE_M * rng.normal(size=points.shape)
    if not twin.clean:
        a, b = (int(i) for i in rng.choice(np.arange(3, len(markers)), 2, replace=False))
        start, length = float(rng.uniform(0.1, 0.8) * seconds), float(rng.uniform(1.0, 8.0))
        when = (t >= start) & (t < start + length)
        points[when, a], points[when, b] = points[when, b], points[when, a]
        both = sorted(f"{SUBJECT}:{markers[i]}" for i in (a, b))
        faults.append({"kind": "swapped", "names": both, "from_s": start, "to_s": start + length})
        tools.hide(rng, points, range(len(markers)), _HIDDEN)
    return tools.marker_recording(t, points, SUBJECT, markers), faults


def write_capture_twin(
    folder: Path, *, seed: int = 0, clean: bool = False, duration_s: float = 110.0, instruments: Instruments = _USUAL
) -> Path:
    """Recordings in the instruments' formats, an experiment file of the motion stage, and truth.json."""
    twin = capture_twin(seed, clean=clean, duration_s=duration_s)
    rng, slow = (np.random.default_rng([seed, stream]) for stream in (12, 13))
    markers, marker_faults = captured_markers(twin)
    cell, imu, _, _ = tools.record(
        *(rng, [slow], instruments, (twin.imu, twin.load_cell), duration_s, twin.hand.motion),
        lambda t: [-handle_wrench(twin.hand.motion(t), twin.phi)],
    )
    truth = {
        "clocks": tools.clocks_truth(imu=twin.imu, wrench=twin.load_cell),
        "up_in_capture_frame": twin.R_capture_world[:, 2].tolist(),
        "phi": tools.phi_truth(twin.phi),
        "marker_faults": marker_faults,
        "points_in_sensor_frame_m": dict(zip(markers, twin.points.tolist(), strict=True)),
        "seed": seed,
        "note": "device time = capture time * (1 + drift) + offset",
    }
    files = {"markers.csv": markers, "wrench.mat": cell, "imu.csv": imu}
    fill = {"sensor": tools.sensor_text(("M1", "M2", "M3")), "imu_pose": tools.imu_pose_text()}
    return tools.write_twin(folder, files, truth, "motion.yaml", "capture", fill, g=STANDARD_GRAVITY)
