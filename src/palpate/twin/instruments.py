"""Simulated instruments: what a load cell and an IMU store of a known motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Motion
from palpate.physics.regressor import body_regressor
from palpate.physics.spatial import nearest_rotation, transport_acceleration
from palpate.recording import Channel, Clock, Recording

RATE_HZ = 1000.0
DEVICES = ("Platform", "Platform_2")
"""The load cells' names: right or the only one, left."""
CAPTURE_HZ = 100.0
T_MARKER = np.array([[0.0997, -0.9950, 0, -0.0897], [0.9950, 0.0997, 0, -0.0201], [0, 0, 1, -0.0066], [0, 0, 0, 1]])
"""Pose of the three markers' frame in the sensor frame, machined (FORMATS, Sensor frame)."""
R_SENSOR_IMU = nearest_rotation([[0.0877, -0.9962, 0], [-0.9962, -0.0877, 0], [0, 0, -1]])
IMU_PLACE = np.array([-0.0861, 0.0125, -0.0290])
"""Of the IMU in the (first) sensor's frame, m (FORMATS, IMU)."""


@dataclass(frozen=True, slots=True)
class DeviceClock:
    """Device time = true time * (1 + drift) + offset."""

    offset_s: float
    drift_ppm: float

    def true(self, device_s: FloatArray) -> FloatArray:
        """True times of a device's samples, s."""
        return (device_s - self.offset_s) / (1 + 1e-6 * self.drift_ppm)


@dataclass(frozen=True, slots=True)
class Instruments:
    """Noise (standard deviation per sample), zero errors (standard deviation of a constant) and resolution of the
    sensors.
    """

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


def device_times(duration_s: float, clock: DeviceClock) -> FloatArray:
    """A device's own times, from its zero to shortly before the cameras stop."""
    return np.arange(round((duration_s + clock.offset_s - 0.1) * RATE_HZ)) / RATE_HZ


def load_cell_signals(
    rng: np.random.Generator, slow: np.random.Generator, tools: Instruments, motion: Motion, phi: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What the load cell stores while the handle moves so, (samples, 6), and its zero error, (6,): N and N m."""
    zero = np.concatenate([rng.normal(0, tools.force_zero, 3), rng.normal(0, tools.moment_zero, 3)])
    noise = np.repeat([tools.force_noise, tools.moment_noise], 3)
    step = np.repeat([tools.force_step, tools.moment_step], 3)
    moving = body_regressor(motion.specific_acceleration, motion.omega, motion.omega_dot) @ phi
    stored = -moving + zero + rng.normal(size=moving.shape) * noise  # what the handle passes on (FORMATS, Sign)
    stored += _wander(slow, len(stored)) * np.repeat([tools.force_wander, tools.moment_wander], 3)
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


def load_cell_recording(times_s: FloatArray, stored: FloatArray) -> Recording:
    """stored: (sensors, samples, 6) as dSPACE stores devices of one clock."""
    channels: dict[str, Channel] = {}
    for number, (device, wrench) in enumerate(zip(DEVICES, stored, strict=False), start=1):
        clock = Clock(device, times_s)
        for i, (kind, axis) in enumerate((k, a) for k in "FT" for a in "xyz"):
            name = f"{kind}{axis}{number}_RawZero"
            channels[name] = Channel(name, wrench[:, i], clock, "N" if kind == "F" else "N m", "sensor")
    return Recording(channels, None, "dspace-mat")


def marker_file(times_s: FloatArray, points: FloatArray, subject: str, names: Sequence[str]) -> Recording:
    """points: (frames, markers, 3) m, as a capture system stores them."""
    clock = Clock("mocap", times_s)
    full = [f"{subject}:{name}" for name in names]
    return Recording({n: Channel(n, points[:, i], clock, "m", "capture") for i, n in enumerate(full)})


def imu_recording(times_s: FloatArray, a: FloatArray, w: FloatArray) -> Recording:
    """As MicroStrain's program stores it."""
    clock = Clock("imu", times_s)
    channels: dict[str, Channel] = {}
    for kind, unit, x in (("acceleration", "m/s2", a), ("angular_rate", "rad/s", w)):
        for i, axis in enumerate("xyz"):
            channels[f"{kind}.{axis}"] = Channel(f"{kind}.{axis}", x[:, i], clock, unit, "imu")
    return Recording(channels, None, "microstrain-csv")


def _wander(rng: np.random.Generator, samples: int, *, memory_s: float = 1.0) -> FloatArray:
    """Six channels of noise with standard deviation one that forgets itself within `memory_s` (Ornstein-Uhlenbeck)."""
    from scipy.signal import lfilter

    keep = float(np.exp(-1 / (memory_s * RATE_HZ)))
    start = keep * rng.normal(size=(1, 6))
    steps = np.sqrt(1 - keep**2) * rng.normal(size=(samples, 6))
    return np.asarray(lfilter([1.0], [1.0, -keep], steps, axis=0, zi=start)[0], dtype=float)
