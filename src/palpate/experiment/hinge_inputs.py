"""What the balance of an object on a hinge is made of: its angle, the wrench at its sensor, filters; and the balance
made of them. Systematic errors are changes of one of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from palpate.errors import PalpateError
from palpate.identify import Balance, build_balance
from palpate.identify.balance import Segment
from palpate.mechanisms import Hinge
from palpate.model import Model
from palpate.motion.clocks.clock import ClockMap, Even, resample
from palpate.motion.derivatives.differentiate import (
    CoordinateMotion,
    coordinate_motion,
    window_samples,
    windowed_motion,
)
from palpate.motion.derivatives.filters import Lowpass, at_rest, derivative_noise, signal_noise
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.motion import Motion
from palpate.physics.regressor import body_regressor
from palpate.physics.spatial import transport_acceleration, wrench_transmission

Conversion = Literal["anti-aliased", "plain"]
Added = Literal["nothing", "all", "weight"]
AT_STOP_RAD = np.radians(1.0)
"""Nearer to a stop, the frame may take a part of the force."""
ATTENUATION_DB = 45.0
"""Of the low-pass of the balance: what it lets through of the rest is less than a hundredth."""
FADE = 0.25
"""Length of the fading at samples left out, in periods of the low-pass's bandwidth."""
CLEAR_S = 0.25
"""From a blow of the stop, where the motion's own quickness is judged."""


@dataclass(frozen=True, slots=True, eq=False)
class Filtering:
    """How the angle is differentiated, and what columns and wrench then pass."""

    window_s: float
    order: int
    lowpass: Lowpass | None
    bandwidth_hz: float | None
    ends: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """The part behind the sensor, as far as the body stage needs it."""

    phi: FloatArray
    """(10,), in the sensor frame."""
    add: Added
    """What of its wrench is added to the sensor's, so that the body found contains it (FORMATS, erratum 7)."""


@dataclass(frozen=True, slots=True, eq=False)
class HingeInputs:
    """Everything that the balance of an object on a hinge is made of."""

    model: Model
    times_s: FloatArray
    """(samples,), even, on the reference clock."""
    angle: FloatArray
    """(samples,) as measured, rad, zero when shut, positive when opening; NaN where it was not seen."""
    wrench: Even
    """What the sensor passes on to the object, in its own frame, on its own clock, N and N m."""
    clock: ClockMap | None
    """Of the wrench; None: the reference itself."""
    measured: FloatArray
    """(samples, 6): the wrench on the reference clock (`on_clock`); NaN where it was not seen."""
    T_hinge_sensor: FloatArray
    """(4, 4): the sensor in the hinge's frame that turns with the object."""
    handle: Handle | None
    static: tuple[float, float] | None
    """When the object is shut and nobody touches it, s."""
    stops: tuple[float, float] | None
    """Angles (rad) at which the object meets its stops; None: none is met."""
    filtering: Filtering
    conversion: Conversion = "anti-aliased"
    moment_error: float = 0.0
    """By how much the preload's moment about the hinge is taken to be off, N m."""

    def on_clock(self, clock: ClockMap | None) -> HingeInputs:
        """The same with another clock of the load cell."""
        return replace(self, clock=clock, measured=wrench_at(self.times_s, self.wrench, clock, self.conversion))

    @property
    def hinge(self) -> Hinge:
        """The mechanism."""
        mechanism = self.model.mechanism
        if not isinstance(mechanism, Hinge):
            raise PalpateError(f"the object {self.model.name!r} does not turn about a hinge")
        return mechanism

    @property
    def rate_hz(self) -> float:
        """Of the reference clock."""
        return float((len(self.times_s) - 1) / (self.times_s[-1] - self.times_s[0]))

    def derivatives(self, window_s: float | None = None) -> CoordinateMotion:
        """Angle, speed and acceleration with the fit's window, or another."""
        f = self.filtering
        return coordinate_motion(self.times_s, self.angle, window_s=window_s or f.window_s, order=f.order, ends=f.ends)

    def motion(self, found: CoordinateMotion) -> Motion:
        """As the mechanism observes it."""
        states = np.stack([found.position, found.speed], axis=1)
        return self.hinge.motion(self.times_s, states, found.acceleration[:, None])

    def handle_wrench(self, motion: Motion, *, moving: bool = True) -> FloatArray:
        """(samples, 6): what it takes to move the handle so, in the sensor frame; without `moving`, to carry it."""
        assert self.handle is not None
        R, r = self.T_hinge_sensor[:3, :3], self.T_hinge_sensor[:3, 3]
        still = 1.0 if moving else 0.0
        omega, omega_dot = still * motion.omega, still * motion.omega_dot
        a = transport_acceleration(motion.specific_acceleration, omega, omega_dot, r)
        return np.asarray(body_regressor(a @ R, omega @ R, omega_dot @ R) @ self.handle.phi, dtype=float)

    def preload(self) -> FloatArray:
        """(6,): what the sensor shows when nobody touches the handle and its weight is taken away (paper, Door)."""
        if self.static is None:
            return np.zeros(6)
        at = (self.times_s >= self.static[0]) & (self.times_s < self.static[1])
        shown = self.measured[at]
        if self.handle is not None:
            # what the handle passes on is minus what carries it (FORMATS, Sign)
            shown = shown + self.handle_wrench(self.hinge_at_rest(), moving=False)[:1]
        return np.asarray(np.nanmean(shown, axis=0), dtype=float)

    def hinge_at_rest(self) -> Motion:
        """One sample of the shut object."""
        return self.hinge.motion(np.zeros(1), np.zeros((1, 2)), np.zeros((1, 1)))

    def body_wrench(self, motion: Motion) -> FloatArray:
        """(samples, 6): what moves the object of the model, in the hinge's frame, N and N m."""
        w = self.measured - self.preload()
        if self.handle is not None and self.handle.add != "nothing":
            w = w + self.handle_wrench(motion, moving=self.handle.add == "all")
        W = wrench_transmission(self.T_hinge_sensor[:3, :3], self.T_hinge_sensor[:3, 3])
        found = np.asarray(w @ W.T, dtype=float)
        found[:, 5] += self.moment_error
        return found

    def speed_noise(self, found: CoordinateMotion) -> float:
        """Standard deviation of the speed from the markers' noise, rad/s."""
        window = window_samples(float(found.window_s[0]), self.rate_hz, found.order)
        return derivative_noise(self.angle_noise(), window, found.order, 1, self.rate_hz)

    def angle_noise(self) -> float:
        """Standard deviation of a measured angle, rad."""
        # with fewer samples a polynomial goes through all of them, and nothing is left to judge by
        least = (self.filtering.order + 3) / self.rate_hz
        short = window_samples(max(min(self.filtering.window_s, 0.11), least), self.rate_hz, self.filtering.order)
        return signal_noise(self.angle, short, self.filtering.order)

    def resting(self, found: CoordinateMotion) -> BoolArray:
        """(samples,): where the object cannot be told to move."""
        return at_rest(found.speed, self.speed_noise(found))

    def used(self, found: CoordinateMotion, wrench: FloatArray) -> BoolArray:
        """(samples,): where it moves freely, and everything was seen."""
        seen = np.isfinite(found.acceleration) & np.isfinite(wrench).all(axis=1)
        resting = self.resting(self.derivatives())
        return seen & ~resting & (self._from_stops_s() > found.window_s / 2)

    def _from_stops_s(self) -> FloatArray:
        """(samples,): time to the nearest touch of a stop, s: a blow is in the derivatives for half a window."""
        if self.stops is None:
            return np.full(len(self.times_s), np.inf)
        low, high = self.stops
        pressed = self.times_s[(self.angle < low + AT_STOP_RAD) | (self.angle > high - AT_STOP_RAD)]
        ends = np.concatenate([[-np.inf], pressed, [np.inf]])
        after = np.searchsorted(ends, self.times_s)
        return np.minimum(self.times_s - ends[after - 1], ends[after] - self.times_s)

    def balance(self, *, published: bool = False) -> Balance:
        """The balance of the fit; as published, no sample is left out but those not seen."""
        found = self.derivatives()
        motion = self.motion(found)
        wrench = self.body_wrench(motion)
        used = np.isfinite(found.acceleration) & np.isfinite(wrench).all(axis=1)
        if not published:
            used = self.used(found, wrench)
        f = self.filtering
        fade = None if f.bandwidth_hz is None else faded(self.times_s, used, FADE / f.bandwidth_hz)
        return build_balance(self.model, motion, wrench, sigma=[1.0], lowpass=f.lowpass, used=used, fade=fade)

    def windowed(self, segments: Mapping[str, Sequence[Segment]]) -> CoordinateMotion:
        """The angle and its derivatives as well as they can be known without a low-pass, kind of segment by kind."""
        clear = self._from_stops_s() > CLEAR_S
        stretches: list[BoolArray] = []
        for spans in segments.values():
            inside = np.zeros(len(self.times_s), dtype=bool)
            for a, b in spans:
                inside |= (self.times_s >= a) & (self.times_s < b)
            if (inside & clear).any():
                stretches.append(inside & clear)
        order = self.filtering.order
        return windowed_motion(self.times_s, self.angle, self.angle_noise(), stretches or [clear], order=order)

    def prediction(self, found: CoordinateMotion) -> Balance:
        """The balance to look at: the wrench as it is at this rate, and this motion."""
        motion = self.motion(found)
        wrench = self.body_wrench(motion)
        return build_balance(self.model, motion, wrench, sigma=[1.0], used=self.used(found, wrench))

    def unsure(self) -> Iterator[HingeInputs]:
        """The same with what was estimated beside the parameters off by its standard deviation: clock, preload."""
        if self.clock is not None:
            yield self.on_clock(replace(self.clock, offset_s=self.clock.offset_s + self.clock.offset_std_s))
            yield self.on_clock(replace(self.clock, drift_ppm=self.clock.drift_ppm + self.clock.drift_std_ppm))
        if self.static is not None:
            inside = self.measured[(self.times_s >= self.static[0]) & (self.times_s < self.static[1])]
            about = wrench_transmission(self.T_hinge_sensor[:3, :3], self.T_hinge_sensor[:3, 3])[5]
            moment = inside[np.isfinite(inside).all(axis=1)] @ about
            if len(moment) >= 10:
                parts = np.array([part.mean() for part in np.array_split(moment, 10)])
                yield replace(self, moment_error=float(np.std(parts, ddof=1) / np.sqrt(len(parts))))

    def with_model(self, model: Model) -> HingeInputs:
        """The same measurements for another model of the same mechanism."""
        return replace(self, model=model)


def faded(times_s: FloatArray, used: BoolArray, over_s: float) -> FloatArray:
    """(samples,): 1 in the midst of what is used, down to 0 at its ends over so many seconds (Hann's window)."""
    ends = np.concatenate([[-np.inf], times_s[~used], [np.inf]])
    after = np.searchsorted(ends, times_s)
    away = np.minimum(times_s - ends[after - 1], ends[after] - times_s)
    return np.where(used, np.sin(0.5 * np.pi * np.minimum(away / over_s, 1.0)) ** 2, 0.0)


def wrench_at(times_s: FloatArray, even: Even, clock: ClockMap | None, conversion: Conversion) -> FloatArray:
    """(len(times_s), 6): a sensor's wrench at these times of the reference clock, NaN where it was not seen.

    plain: the nearest sample, as the paper's authors take every tenth one.
    """
    if conversion == "anti-aliased":
        return resample(even.times_s, even.seen_x, times_s, clock=clock)
    there, n = times_s if clock is None else clock.from_reference(times_s), len(even.times_s)
    rate = (n - 1) / float(even.times_s[-1] - even.times_s[0])
    index = np.asarray(np.round((there - even.times_s[0]) * rate), dtype=np.int64)
    inside = np.asarray((index >= 0) & (index < n))
    found = np.full((len(there), 6), np.nan)
    found[inside] = even.seen_x[index[inside]]
    return found
