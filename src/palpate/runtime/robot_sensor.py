"""A force/torque sensor at the wrist: noise, delay, sample and hold, saturation, lost samples; and who guards the loop.

What the loop is given is always six finite numbers that do not jump where the sensor fails.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from palpate.errors import PalpateError
from palpate.physics.arrays import FloatArray

_FADES_S = 0.05
"""s in which a wrench that is lost goes to 37 %: an object that nobody pushes slows down, and stays where it is."""


@dataclass(frozen=True, slots=True)
class Sensor:
    """What stands between the true wrench and the loop."""

    noise_n: float = 0.1
    """N, standard deviation of a sample of each force ..."""
    noise_nm: float = 0.005
    """... and N m of each moment."""
    delay_s: float = 0.002
    """From the wrench to the loop: filter, bus, computation; rounded to whole steps."""
    rate_hz: float = 1000.0
    """Between its samples the last one is held."""
    range_n: float = 475.0
    """N and N m at which it saturates (an ATI Omega85 SI-475-20 has these)."""
    range_nm: float = 20.0
    lost_s: tuple[tuple[float, float], ...] = ()
    """From, to (s): no numbers arrive."""

    def __post_init__(self) -> None:
        """Refuse what no sensor is."""
        for name in ("noise_n", "noise_nm", "delay_s"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise PalpateError(f"sensor: {name} must be a number of at least 0, not {getattr(self, name)!r}")
        for name in ("rate_hz", "range_n", "range_nm"):
            if not getattr(self, name) > 0:
                raise PalpateError(f"sensor: {name} must be positive, not {getattr(self, name)!r}")


class Reading:
    """A sensor at work, one `read` a step of `dt` (s)."""

    def __init__(self, sensor: Sensor, dt: float, rng: np.random.Generator) -> None:
        self._sensor, self._dt, self._rng = sensor, dt, rng
        self._range = np.repeat([sensor.range_n, sensor.range_nm], 3)
        self._noise = np.repeat([sensor.noise_n, sensor.noise_nm], 3)
        self._every = max(1, round(1.0 / (sensor.rate_hz * dt)))
        self._waiting: deque[FloatArray] = deque(maxlen=round(sensor.delay_s / dt) + 1)
        self._fade = math.exp(-dt / _FADES_S)
        self._sample = self._last = np.zeros(6)
        self._step = 0
        self.saturated = self.lost = 0
        """Steps in which it was."""

    def read(self, wrench: FloatArray) -> FloatArray:
        """The true wrench now (6,) -> what the loop works with."""
        t, self._step = self._step * self._dt, self._step + 1
        if (self._step - 1) % self._every == 0:
            sample = wrench + self._noise * self._rng.standard_normal(6)
            clipped = np.clip(sample, -self._range, self._range)
            self.saturated += int(np.any(clipped != sample))
            gone = any(a <= t < b for a, b in self._sensor.lost_s)
            self._sample = np.full(6, np.nan) if gone else clipped
        self._waiting.append(self._sample)
        return self.guarded(self._waiting[0] if len(self._waiting) == self._waiting.maxlen else self._last)

    def guarded(self, wrench: FloatArray) -> FloatArray:
        """Six finite numbers: where some are missing, the last ones, fading."""
        if bool(np.isfinite(wrench).all()):
            self._last = wrench
        else:
            self.lost += 1
            self._last = self._last * self._fade
        return self._last
