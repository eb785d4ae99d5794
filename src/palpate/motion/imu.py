"""Motion of a sensor's frame from the IMU that sits in the same module."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.motion.evenly import Interval, without_lost
from palpate.motion.filters import savitzky_golay
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Motion
from palpate.physics.spatial import transport_acceleration


@dataclass(frozen=True, slots=True)
class Smoothing:
    """Windows (s) and orders of the Savitzky-Golay filters on IMU signals.

    The angular rate is differentiated over `slope_window_s`; then all three signals are smoothed over `window_s`.
    """

    slope_window_s: float
    slope_order: int
    window_s: float
    order: int

    @property
    def reach_s(self) -> float:
        """How far a sample's result looks to either side."""
        return (self.slope_window_s + self.window_s) / 2


PARALLEL = Smoothing(0.021, 3, 0.021, 3)
"""Just enough to differentiate. The balance's own low-pass follows, on every column alike."""


def imu_motion(
    times_s: FloatArray,
    acceleration: FloatArray,
    angular_rate: FloatArray,
    T_sensor_imu: FloatArray,
    smoothing: Smoothing,
) -> Motion:
    """Rotate IMU signals into the sensor frame and move them to its origin, on the IMU's even clock.

    acceleration: specific force at the IMU (samples, 3), m/s2; angular_rate (samples, 3), rad/s, both in the IMU's
    axes; T_sensor_imu: pose of the IMU in the sensor frame (4 x 4, m). An accelerometer reads a - g, which is what
    the balance needs (FORMATS, IMU).
    """
    rate_hz = (len(times_s) - 1) / (times_s[-1] - times_s[0])
    R, r = T_sensor_imu[:3, :3], T_sensor_imu[:3, 3]
    omega = angular_rate @ R.T
    slope_window = _odd(smoothing.slope_window_s * rate_hz)
    omega_dot = savitzky_golay(omega, slope_window, smoothing.slope_order, derivative=1, rate_hz=rate_hz)
    a = transport_acceleration(acceleration @ R.T, omega, omega_dot, -r)
    window = _odd(smoothing.window_s * rate_hz)
    a, omega, omega_dot = (savitzky_golay(x, window, smoothing.order) for x in (a, omega, omega_dot))
    return Motion(times_s, a, omega, omega_dot)


def resample_motion(
    motion: Motion, times_s: FloatArray, *, lost: tuple[Interval, ...] = (), reach_s: float = 0.0
) -> Motion:
    """The motion at other times of the same clock, by cubic splines.

    NaN outside the motion and, widened by the reach of the filters, in the intervals in which it was not seen.
    """
    from scipy.interpolate import CubicSpline

    stacked = np.hstack([motion.specific_acceleration, motion.omega, motion.omega_dot])
    values = np.asarray(CubicSpline(motion.times_s, stacked)(times_s), dtype=float)
    ends = ((-np.inf, motion.times_s[0] + reach_s), (motion.times_s[-1] - reach_s, np.inf))
    values = without_lost(times_s, values, ends)
    values = without_lost(times_s, values, lost, reach_s)
    return Motion(times_s, values[:, 0:3], values[:, 3:6], values[:, 6:9])


def _odd(samples: float) -> int:
    """The nearest odd window of at least five samples."""
    return max(5, 2 * round((samples - 1) / 2) + 1)
