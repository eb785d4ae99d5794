"""Motion: how the body frame moved, sample by sample, as the rooms hand it on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.physics.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """Motion of a rigid body's frame, expressed in that frame, on the reference clock.

    Arrays are (samples, 3) in column-major order: elements read one component at a time.
    """

    times_s: FloatArray
    """(samples,) s, increasing."""
    specific_acceleration: FloatArray
    """a - g of the origin, m/s2."""
    omega: FloatArray
    """rad/s."""
    omega_dot: FloatArray
    """rad/s2."""

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together."""
        n = self.times_s.shape[0]
        for name in ("specific_acceleration", "omega", "omega_dot"):
            array: FloatArray = getattr(self, name)
            if array.shape != (n, 3):
                raise ValueError(f"{name} has shape {array.shape}, with {n} times it must be ({n}, 3)")
            object.__setattr__(self, name, np.asfortranarray(array, dtype=float))

    @property
    def rate_hz(self) -> float:
        """Samples per second."""
        return float((len(self.times_s) - 1) / (self.times_s[-1] - self.times_s[0]))
