"""Poses: where a frame was in the world, sample by sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palpate.physics.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Poses:
    """T_world_frame at each time; NaN where the frame was not seen."""

    times_s: FloatArray
    """(samples,) s, increasing."""
    rotation: FloatArray
    """R_world_frame, (samples, 3, 3)."""
    position: FloatArray
    """Origin of the frame in the world, (samples, 3), m."""

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together."""
        n = len(self.times_s)
        for name, shape in (("rotation", (n, 3, 3)), ("position", (n, 3))):
            array: FloatArray = getattr(self, name)
            if array.shape != shape:
                raise ValueError(f"{name} has shape {array.shape}, with {n} times it must be {shape}")

    def __len__(self) -> int:
        """How many samples there are."""
        return len(self.times_s)

    @property
    def seen(self) -> NDArray[np.bool_]:
        """(samples,) whether the pose is known there."""
        return np.asarray(np.isfinite(self.position).all(axis=1) & np.isfinite(self.rotation).all(axis=(1, 2)))

    def attached(self, T_frame_other: FloatArray) -> Poses:
        """Poses of another frame that is fixed to this one: T_world_other = T_world_frame T_frame_other."""
        R, r = T_frame_other[:3, :3], T_frame_other[:3, 3]
        return Poses(self.times_s, self.rotation @ R, self.position + self.rotation @ r)
