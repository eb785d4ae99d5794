"""What the report of an identification shows beyond result.json, as plain data: each stage fills it, the report draws
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

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


class Replayed(Protocol):
    """One coordinate of all windows of a replay, one after the other, NaN between them; each array (samples,)."""

    @property
    def name(self) -> str:
        """Of the coordinate: yaw, pitch, contact x."""
        ...

    @property
    def unit(self) -> str:
        """Of both curves."""
        ...

    @property
    def times_s(self) -> FloatArray:
        """Of each sample."""
        ...

    @property
    def measured(self) -> FloatArray:
        """Where it was."""
        ...

    @property
    def simulated(self) -> FloatArray:
        """Where the model went."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One more quantity over time: contact position, pitch, camber, yaw of what rolls; a handle's acceleration."""

    name: str
    unit: str
    values: FloatArray
    """(samples,); NaN where unknown."""


@dataclass(frozen=True, slots=True)
class ChannelSeen:
    """What one channel of an instrument recorded, in its unit; noise: standard deviation per sample."""

    name: str
    unit: str
    lowest: float
    highest: float
    noise: float


@dataclass(frozen=True, slots=True)
class Instrument:
    """A recording and its quality."""

    name: str
    """Load cell, IMU, motion capture."""
    file: str
    rate_hz: float
    samples: int
    from_s: float
    """On its own clock, as `to_s`."""
    to_s: float
    gaps: int
    longest_gap_s: float
    jitter_s: float
    channels: tuple[ChannelSeen, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ClockSeen:
    """The evidence for a clock's offset: how much stays unexplained at lags around the one that was found."""

    name: str
    """The device: wrench, imu."""
    lags_s: FloatArray
    """From the offset that was found."""
    misfit: FloatArray
    """Unexplained share of the variance, 0 to 1."""
    std_s: float
    explained: float
    runner_up: float
    """Explained share at the best lag elsewhere."""


@dataclass(frozen=True, slots=True)
class MarkerSeen:
    """A marker against its place on the rigid body, m and s; `hidden`: share of the frames, 0 to 1."""

    name: str
    mean_error_m: float
    largest_error_m: float
    at_s: float
    hidden: float
    fault: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Arrows:
    """Vectors in space: forces (N) or moments (N m) at points (m); both (n, 3)."""

    name: str
    unit: str
    at: FloatArray
    vectors: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Frames, markers, paths and wrenches in one frame, m."""

    frame: str
    """In whose axes: capture, sensor."""
    frames: Mapping[str, FloatArray]
    """(4, 4) by name, at one instant."""
    markers: FloatArray
    """(n, 3), at that instant; none: (0, 3)."""
    marker_names: tuple[str, ...] = ()
    paths: Mapping[str, FloatArray] = field(default_factory=dict[str, FloatArray])
    """(n, 3) each: where an origin went; NaN: a gap."""
    arrows: tuple[Arrows, ...] = ()
    points: Mapping[str, FloatArray] = field(default_factory=dict[str, FloatArray])
    """(3,) each: a centre of mass."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What the figures show; arrays (samples,) or (samples, rows) on the reference clock at the motion's rate.

    Everything after `segments` may be missing: what is not there is not drawn.
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
    acceleration: FloatArray | None = None
    """(samples,): of the first coordinate, rad/s2."""
    instruments: tuple[Instrument, ...] = ()
    clocks: tuple[ClockSeen, ...] = ()
    markers: tuple[MarkerSeen, ...] = ()
    marker_error: Series | None = None
    """Mean distance of the markers from their places over time, m; on `times_s`."""
    scene: Scene | None = None
    replayed: tuple[Replayed, ...] = ()
    """The replay of what has several coordinates (`replay` is for one)."""
    excitation: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    """RMS by axis of acceleration (m/s2), angular_rate (rad/s), angular_acceleration (rad/s2), as in result.json."""

    def within(self, *names: str) -> BoolArray:
        """(samples,): inside one of these segments."""
        found = np.zeros(len(self.times_s), dtype=bool)
        for start, stop in (span for name in names for span in self.segments.get(name, ())):
            found |= (self.times_s >= start) & (self.times_s < stop)
        return found


BodyView = View
"""The name that body stages know it by."""
