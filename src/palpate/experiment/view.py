"""What the report of an identification shows beyond result.json, as plain data: the stage fills a `View`, and the
report draws it. It is the same for every mechanism: units decide how a quantity is shown, never the object's kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from palpate.identify.shapes import Profile
from palpate.model import Model
from palpate.physics.arrays import BoolArray, FloatArray, segment_mask
from palpate.runtime.replay import Window


@dataclass(frozen=True, slots=True, eq=False)
class CoordinateSeries:
    """One coordinate of the mechanism over time, on the view's clock; each array is (samples,), NaN where unknown."""

    name: str
    """As in `Mechanism.coordinates` where an element may act on it (hinge, slide, pitch), else as in its `state`."""
    unit: str
    """Of the position: "rad" for an angle (shown in degrees) or "m" for a length."""
    position: FloatArray
    """NaN throughout where the mechanism keeps no position, as of the way that a wheel has rolled."""
    speed: FloatArray
    """unit/s; NaN throughout where nothing is to be compared with it, as where a wheel went on the floor."""
    acceleration: FloatArray | None = None
    """unit/s2."""


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One more quantity over time."""

    name: str
    unit: str
    values: FloatArray
    """(samples,); NaN where unknown."""


@dataclass(frozen=True, slots=True)
class ChannelSummary:
    """What one channel of an instrument recorded, in its unit; noise: standard deviation per sample."""

    name: str
    unit: str
    lowest: float
    highest: float
    noise: float


@dataclass(frozen=True, slots=True)
class InstrumentSummary:
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
    channels: tuple[ChannelSummary, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ClockEvidence:
    """The evidence for a clock's offset: how much stays unexplained at lags around the best one."""

    name: str
    """The device: wrench, imu."""
    lags_s: FloatArray
    """From the best offset."""
    misfit: FloatArray
    """Unexplained share of the variance, 0 to 1."""
    std_s: float
    explained: float
    runner_up: float
    """Explained share at the best lag elsewhere."""


@dataclass(frozen=True, slots=True)
class MarkerSummary:
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
    """With values; its mechanism names the rows and their units."""
    times_s: FloatArray
    reference: FloatArray
    """(samples, rows): measured free rows, N or N m, anti-aliased, not smoothed further."""
    estimate: FloatArray
    """(samples, rows): the model's; NaN where it does not speak."""
    used: BoolArray
    """(samples,): where the model speaks, as `Balance.used`; not at rest, at a stop, or where something is unknown."""
    resting: BoolArray
    """(samples,): at rest."""
    segments: Mapping[str, Sequence[tuple[float, float]]]
    """static, quasi_static, train, test: seconds, half-open."""
    coordinates: tuple[CoordinateSeries, ...] = ()
    """Of the mechanism, in the order of its state: positions are drawn over time, and residuals over all of it."""
    series: tuple[Series, ...] = ()
    """Further quantities to draw over time: a handle's acceleration and angular rate."""
    profiles: tuple[Profile, ...] = ()
    replay: tuple[Window, ...] = ()
    """The windows that count, in the order of time."""
    instruments: tuple[InstrumentSummary, ...] = ()
    clocks: tuple[ClockEvidence, ...] = ()
    markers: tuple[MarkerSummary, ...] = ()
    marker_error: Series | None = None
    """Mean distance of the markers from their places over time, m; on `times_s`."""
    scene: Scene | None = None
    excitation: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    """RMS by axis of acceleration (m/s2), angular_rate (rad/s), angular_acceleration (rad/s2), as in result.json."""

    @property
    def main(self) -> CoordinateSeries | None:
        """The coordinate that figures have on their x-axis, where the mechanism has one and it moved."""
        series = next((c for c in self.coordinates if c.name == self.model.mechanism.main), None)
        known = np.zeros(0) if series is None else series.position[np.isfinite(series.position)]
        return series if len(known) and known.min() < known.max() else None

    def within(self, *names: str) -> BoolArray:
        """(samples,): inside one of these segments."""
        return segment_mask(self.times_s, [span for name in names for span in self.segments.get(name, ())])
