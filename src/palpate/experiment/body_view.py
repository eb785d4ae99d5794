"""What the figures of an identified body show, as plain data: the stage fills it, the report draws it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from palpate.model import Model
from palpate.physics.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ShapeProfile:
    """How well the data are explained with a shape held at each of these values, all else fitted anew."""

    name: str
    """As in `Model.shapes`."""
    unit: str
    """SI, of `values`, `value` and `interval`."""
    values: FloatArray
    """(n,), increasing."""
    cost: FloatArray
    """(n,): excess of the weighted sum of squares over the least, in units of the 95 % threshold: below 1 is inside."""
    value: float
    interval: tuple[float, float] | None
    """95 %; None where the data do not tell the value."""


@dataclass(frozen=True, slots=True, eq=False)
class ReplayWindow:
    """The model moved by the measured force for some seconds from the measured state; each array is (samples,)."""

    times_s: FloatArray
    measured: FloatArray
    """rad (m for a coordinate in m)"""
    simulated: FloatArray
    rms_rad: float


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One more quantity over time: contact position, pitch, camber, yaw of what rolls."""

    name: str
    unit: str
    values: FloatArray
    """(samples,); NaN where unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class BodyView:
    """What the figures of a body show; arrays (samples,) or (samples, rows) on the reference clock at the motion's
    rate.
    """

    model: Model
    """With values."""
    times_s: FloatArray
    position: FloatArray
    """Of the mechanism's first coordinate (hinge angle), rad; NaN where unknown, and throughout where there is none."""
    speed: FloatArray
    reference: FloatArray
    """(samples, rows): measured free rows, N or N m, anti-aliased, not smoothed further."""
    estimate: FloatArray
    """(samples, rows): the model's."""
    used: BoolArray
    """(samples,): those that the model speaks about, as `Balance.used`; not those at rest or at a stop."""
    resting: BoolArray
    """(samples,): at rest."""
    segments: Mapping[str, Sequence[tuple[float, float]]]
    """static, quasi_static, train, test: seconds, half-open."""
    profiles: tuple[ShapeProfile, ...] = ()
    replay: tuple[ReplayWindow, ...] = ()
    series: tuple[Series, ...] = ()

    def within(self, *names: str) -> BoolArray:
        """(samples,): inside one of these segments."""
        found = np.zeros(len(self.times_s), dtype=bool)
        for start, stop in (span for name in names for span in self.segments.get(name, ())):
            found |= (self.times_s >= start) & (self.times_s < stop)
        return found
