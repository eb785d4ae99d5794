"""Markers: the points that motion capture saw, side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.physics.arrays import FloatArray
from palpate.recording import Recording


@dataclass(frozen=True, slots=True, eq=False)
class Markers:
    """Points in the world; NaN where a marker was hidden."""

    names: tuple[str, ...]
    times_s: FloatArray
    """(frames,) s, increasing."""
    points: FloatArray
    """(frames, markers, 3), m."""

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together."""
        shape = (len(self.times_s), len(self.names), 3)
        if self.points.shape != shape:
            raise ValueError(f"points have shape {self.points.shape}, not {shape} (frames, markers, 3)")

    @property
    def seen(self) -> NDArray[np.bool_]:
        """(frames, markers) whether the marker was seen."""
        return np.asarray(np.isfinite(self.points).all(axis=2))


def markers_of(recording: Recording, names: Iterable[str] | None = None) -> Markers:
    """The named markers of a recording, or every channel with three components in metres, on their common clock."""
    if names is None:
        names = [name for name, c in recording.channels.items() if c.samples.ndim == 2 and c.unit == "m"]
    chosen = recording.select(names)
    for channel in chosen.channels.values():
        if channel.samples.ndim != 2 or channel.unit != "m":
            raise DataProblem(f"channel {channel.name!r}", "it is not a marker", remedy="a marker has x, y, z in m")
    clock = chosen.one_clock()
    points = np.stack([c.samples for c in chosen.channels.values()], axis=1)
    return Markers(tuple(chosen), clock.times_s, points)
