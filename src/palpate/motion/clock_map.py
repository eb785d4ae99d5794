"""A clock relation as a value: times of one device on the clock of another, with their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.physics.arrays import FloatArray

DRIFT_OF_CRYSTALS_PPM = 50.0
"""Standard deviation of the drift between two quartz clocks, for as long as no measurement says more."""
_OBSERVED_PPM = 2.5
"""Standard deviation up to which a drift counts as observed: 5 ppm in 95 of 100 cases."""


@dataclass(frozen=True, slots=True)
class ClockMap:
    """reference time = device time + offset_s + drift (reference time - at_s): a line with its uncertainty.

    At `at_s` the errors of offset and drift are independent.
    """

    offset_s: float
    """Reference time minus device time of the same instant, at `at_s`."""
    offset_std_s: float
    drift_ppm: float
    """us per s of reference time; close to zero where it was not observed."""
    drift_std_ppm: float
    at_s: float
    """Reference time."""
    drift_observed: bool
    """Whether the recording tells the drift to 5 ppm; if not, what crystals do is part of the interval."""
    freedom: int = 1000

    def to_reference(self, times_s: FloatArray) -> FloatArray:
        """Device times (s) on the reference clock."""
        drift = 1e-6 * self.drift_ppm
        return self.at_s + (times_s - (self.at_s - self.offset_s)) / (1 - drift)

    def from_reference(self, times_s: FloatArray) -> FloatArray:
        """Reference times (s) on the device's clock."""
        return times_s - self.offset_at(times_s)

    def offset_at(self, times_s: FloatArray) -> FloatArray:
        """Reference minus device time, s, at these reference times."""
        return self.offset_s + 1e-6 * self.drift_ppm * (np.asarray(times_s, dtype=float) - self.at_s)

    def std_at(self, times_s: FloatArray) -> FloatArray:
        """Standard deviation of the offset, s, at these reference times."""
        away = np.asarray(times_s, dtype=float) - self.at_s
        return np.asarray(np.hypot(self.offset_std_s, 1e-6 * self.drift_std_ppm * away), dtype=float)

    def interval_at(self, times_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The offset's 95 % interval, s, at these reference times (Student's t)."""
        middle, half = self.offset_at(times_s), _quantile(self.freedom) * self.std_at(times_s)
        return middle - half, middle + half

    def drift_interval_ppm(self) -> tuple[float, float]:
        """The drift's 95 % interval."""
        half = _quantile(self.freedom) * self.drift_std_ppm
        return self.drift_ppm - half, self.drift_ppm + half

    def __str__(self) -> str:
        """One line for a person."""
        half = 1e3 * _quantile(self.freedom) * self.offset_std_s
        low, high = self.drift_interval_ppm()
        drift = f"drift {self.drift_ppm:+.1f} ppm ({low:+.1f} to {high:+.1f})"
        drift = drift if self.drift_observed else f"drift not observable (taken as {low:+.0f} to {high:+.0f} ppm)"
        return f"{1e3 * self.offset_s:.3f} ms +- {half:.3f} ms at {self.at_s:.1f} s, {drift}"


def clock_map(
    offset_s: float,
    std_s: float,
    at_s: float,
    drift_ppm: float = float("nan"),
    drift_std_ppm: float = float("nan"),
    *,
    freedom: int = 1000,
) -> ClockMap:
    """A clock relation of a measured offset and, where there is one, a measured drift.

    The drift is combined with what crystals do, 0 +- `DRIFT_OF_CRYSTALS_PPM`: a sharp measurement stays as it is, a
    vague or absent one gives way.
    """
    std = drift_std_ppm if np.isfinite(drift_ppm) and np.isfinite(drift_std_ppm) else float("inf")
    trust = 1 / (1 + (std / DRIFT_OF_CRYSTALS_PPM) ** 2)
    drift = trust * drift_ppm if trust > 0 else 0.0
    left = DRIFT_OF_CRYSTALS_PPM * float(np.sqrt(1 - trust)) if std > 0 else 0.0
    return ClockMap(offset_s, std_s, drift, left, at_s, std <= _OBSERVED_PPM, freedom)


def _quantile(freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(max(freedom, 1), 0.975))
