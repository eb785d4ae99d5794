"""Simulated instruments: what a load cell and an IMU store of a known motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Motion
from palpate.physics.regressor import body_regressor
from palpate.physics.spatial import transport_acceleration
from palpate.recording import Channel, Clock, Recording

RATE_HZ = 1000.0


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
    """As dSPACE stores it."""
    clock = Clock("Platform", times_s)
    names = [f"{kind}{axis}1_RawZero" for kind in "FT" for axis in "xyz"]
    units = ["N"] * 3 + ["N m"] * 3
    channels = {n: Channel(n, stored[:, i], clock, units[i], "sensor") for i, n in enumerate(names)}
    return Recording(channels, None, "dspace-mat")


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
