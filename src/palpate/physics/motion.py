"""Motion: how the body frame moved, sample by sample, as the rooms hand it on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.physics.arrays import FloatArray
from palpate.physics.poses import Poses


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """How a rigid body's frame moved, expressed in that frame, sample by sample on the reference clock.

    >>> import numpy as np
    >>> from palpate.mechanisms import Hinge
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> motion = Hinge().motion(t, np.stack([0.5 * t**2, t], axis=1), np.ones((101, 1)))
    >>> motion.rate_hz, motion.omega[-1].tolist()
    (100.0, [0.0, 0.0, 1.0])

    Arrays are (samples, 3) in column-major order: elements read one component at a time.
    """

    times_s: FloatArray
    """(samples,) s, increasing."""
    specific_acceleration: FloatArray
    """a - g of the origin, m/s2: R_world_body' (a_world - g_world), what an accelerometer there reads."""
    omega: FloatArray
    """rad/s."""
    omega_dot: FloatArray
    """rad/s2."""
    poses: Poses | None = None
    """T_world_body on the same clock, where it is known; an IMU alone does not tell it."""
    velocity: FloatArray | None = None
    """Of the origin, m/s, where it is known."""

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together."""
        n = self.times_s.shape[0]
        for name in ("specific_acceleration", "omega", "omega_dot", "velocity"):
            array: FloatArray | None = getattr(self, name)
            if array is None:
                continue
            if array.shape != (n, 3):
                raise ValueError(f"{name} has shape {array.shape}, with {n} times it must be ({n}, 3)")
            object.__setattr__(self, name, np.asfortranarray(array, dtype=float))
        if self.poses is not None and not np.array_equal(self.poses.times_s, self.times_s):
            raise ValueError("poses and motion must have the same times")

    @property
    def rate_hz(self) -> float:
        """Samples per second."""
        return float((len(self.times_s) - 1) / (self.times_s[-1] - self.times_s[0]))
