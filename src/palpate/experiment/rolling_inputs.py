"""What the balance of a rolling object is made of: poses of its axle, the wrenches at its sensors, filters; and the
balance made of them. Systematic errors are changes of one of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from palpate.elements import SensorBias
from palpate.errors import PalpateError
from palpate.experiment.hinge_inputs import FADE, Added, Conversion, Filtering, faded, wrench_at
from palpate.experiment.rolling_rest import AtRest
from palpate.identify import Balance, Compressed, build_balance, compress
from palpate.identify.balance import Segment
from palpate.identify.compression import merge
from palpate.mechanisms import Rolling
from palpate.model import Model
from palpate.motion.clocks.clock import ClockMap, Even
from palpate.motion.derivatives.differentiate import pose_motion, published_pose_motion, window_samples
from palpate.motion.derivatives.filters import at_rest, derivative_noise, signal_noise
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.functions import ARRAYS
from palpate.physics.motion import Motion
from palpate.physics.poses import Poses
from palpate.physics.regressor import body_regressor
from palpate.physics.so3 import exp_rotation
from palpate.physics.spatial import transform, transport_acceleration, wrench_transmission

Zero = Literal["still", "estimated", "none"]
NOISE_WINDOW_S, SPEED_WINDOW_S = 0.11, 0.15
CLEAR_S = 0.1
"""From a foot on the ground, beyond half a window: it knocks."""


@dataclass(frozen=True, slots=True, eq=False)
class Sensor:
    """A load cell on the object, with the handle behind it."""

    wrench: Even
    """What it passes on to the object, in its own frame, on its own clock, N and N m."""
    T_body_sensor: FloatArray
    """(4, 4)."""
    handle: FloatArray | None
    """(10,) phi in the sensor frame; None: not known."""
    turn_root: FloatArray
    """(3, 3): columns are turns in its own frame (rad) that together make up how uncertain its rotation is."""

    def to_body(self, w: FloatArray) -> FloatArray:
        """(samples, 6) of its frame in that of the object."""
        return np.asarray(w @ wrench_transmission(self.T_body_sensor[:3, :3], self.T_body_sensor[:3, 3]).T, dtype=float)

    def handle_wrench(self, motion: Motion) -> FloatArray:
        """(samples, 6): what it takes to move the handle so, in its frame; motion of the object's frame."""
        if self.handle is None:
            return np.zeros((len(motion.times_s), 6))
        R, r = self.T_body_sensor[:3, :3], self.T_body_sensor[:3, 3]
        at = transport_acceleration(motion.specific_acceleration, motion.omega, motion.omega_dot, r)
        return np.asarray(body_regressor(at @ R, motion.omega @ R, motion.omega_dot @ R) @ self.handle, dtype=float)


@dataclass(frozen=True, slots=True, eq=False)
class RollingInputs:
    """Everything that the balance of a rolling object is made of."""

    model: Model
    poses: Poses
    """T_world_B as measured, even, on the reference clock, in a world whose z points up; NaN: not seen."""
    sensors: tuple[Sensor, ...]
    add: Added
    """What of the handles' wrenches is added to the sensors' (FORMATS, erratum 7)."""
    clock: ClockMap | None
    """Of all load cells; None: the reference itself."""
    measured: FloatArray
    """(sensors, samples, 6): the wrenches on the reference clock (`on_clock`); NaN: not seen."""
    zero: Zero
    """Where the load cells' zero comes from. Estimated are six numbers in all: constant wrenches of several sensors on
    one body are one constant wrench in its frame.
    """
    static: Segment | None
    """When nobody touches the handles, s."""
    grounded: BoolArray
    """(samples,): a foot is on the ground, or may be."""
    filtering: Filtering
    sigma: FloatArray
    """(rows,) N m and N; their ratios weight the rows."""
    tilt_std_rad: float = 0.0
    """How well the vertical is known, about each level axis."""
    conversion: Conversion = "anti-aliased"
    at_contact: FloatArray | None = None
    """(6,): a constant wrench at the contact that belongs to the model, as the paper's authors have it, N and N m."""
    zero_error: FloatArray | None = None
    """(sensors, 6): by how much the zeros are taken to be off, N and N m."""

    @property
    def rolling(self) -> Rolling:
        """The mechanism."""
        mechanism = self.model.mechanism
        if not isinstance(mechanism, Rolling):
            raise PalpateError(f"the object {self.model.name!r} does not roll")
        return mechanism

    @property
    def times_s(self) -> FloatArray:
        """(samples,) of the reference clock."""
        return self.poses.times_s

    @property
    def rate_hz(self) -> float:
        """Of the reference clock."""
        return float((len(self.times_s) - 1) / (self.times_s[-1] - self.times_s[0]))

    def on_clock(self, clock: ClockMap | None) -> RollingInputs:
        """The same with another clock of the load cells."""
        found = [wrench_at(self.times_s, s.wrench, clock, self.conversion) for s in self.sensors]
        return replace(self, clock=clock, measured=np.array(found))

    def with_zero(self, zero: Zero) -> RollingInputs:
        """The same with the load cells' zero from elsewhere; estimated, it is an element of the model."""
        elements = tuple(e for e in self.model.elements if not isinstance(e, SensorBias))
        if zero == "estimated":
            elements = (*elements, SensorBias())
        return replace(self, zero=zero, model=replace(self.model, elements=elements, values={}))

    def motion(self, window_s: float | None = None) -> Motion:
        """Of the axle's frame, with the fit's window or another."""
        f = self.filtering
        gravity, window = (0.0, 0.0, -self.rolling.gravity), window_s or f.window_s
        if f.lowpass is None:
            samples = window_samples(window, self.rate_hz, f.order)
            return published_pose_motion(self.poses, gravity=gravity, window=samples, order=f.order).motion
        return pose_motion(self.poses, gravity=gravity, window_s=window, order=f.order).motion

    def zeros(self) -> FloatArray:
        """(sensors, 6): what the sensors show untouched, less what the handles weigh; taken off (paper, Door)."""
        if self.zero != "still" or self.static is None:
            return np.zeros((len(self.sensors), 6))
        at = (self.times_s >= self.static[0]) & (self.times_s < self.static[1]) & self.poses.seen
        shown = np.nanmean(self.measured[:, at], axis=1)
        still = self._still(self.poses.rotation[at].mean(axis=0, keepdims=True))
        # what a handle passes on is minus what carries it (FORMATS, Sign)
        carried = [s.handle_wrench(still)[0] for s in self.sensors]
        return np.asarray(shown + np.array(carried), dtype=float)

    def _still(self, rotation: FloatArray) -> Motion:
        """The object held still in these orientations (samples, 3, 3)."""
        zero = np.zeros((len(rotation), 3))
        return Motion(np.arange(len(rotation), dtype=float), self.rolling.gravity * rotation[:, 2, :], zero, zero)

    def body_wrench(self, motion: Motion) -> FloatArray:
        """(samples, 6): what moves the object of the model, in its frame, N and N m."""
        total = np.zeros((len(self.times_s), 6))
        off = self.zeros() if self.zero_error is None else self.zeros() - self.zero_error
        carried = motion
        if self.add == "weight":
            assert motion.poses is not None
            carried = self._still(motion.poses.rotation)
        for sensor, w, zero in zip(self.sensors, self.measured, off, strict=True):
            own = w - zero
            if self.add != "nothing":
                own = own + sensor.handle_wrench(carried)
            total += sensor.to_body(own)
        if self.at_contact is not None:
            total -= self._from_contact(motion, self.at_contact)
        return total

    def _from_contact(self, motion: Motion, w: FloatArray) -> FloatArray:
        """(samples, 6): a wrench (6,) at the contact, in its axes, as one of the object's frame."""
        assert motion.poses is not None
        R = motion.poses.rotation
        y = R[:, :, 2] * [1.0, 1.0, 0.0]
        y = y / np.linalg.norm(y, axis=1, keepdims=True)
        up = np.broadcast_to([0.0, 0.0, 1.0], y.shape)
        axes = np.stack([np.cross(y, up), y, up], axis=2)
        force, moment = axes @ w[:3], axes @ w[3:]
        moment = moment - self.rolling.radius * np.cross(up, force)
        return np.hstack([np.einsum("nij,ni->nj", R, v) for v in (force, moment)])

    def resting(self) -> BoolArray:
        """(samples,): where nobody can tell which way a wheel turns, so that its friction is not known.

        Speeds need no such short windows as accelerations do.
        """
        order, rate = self.filtering.order, self.rate_hz
        short, long = (window_samples(w, rate, order) for w in (NOISE_WINDOW_S, SPEED_WINDOW_S))
        # of the middle of a wheel, which turns with the axle where there are two
        middle = self.poses.position + 0.5 * self.rolling.track * self.poses.rotation[:, :, 2]
        noise = max(signal_noise(middle[:, i], short, order) for i in (0, 1))
        k = self.rolling.observe(self.motion(long / rate))
        limit = derivative_noise(noise, long, order, 1, rate) / self.rolling.radius
        rests = np.zeros(len(self.times_s), dtype=bool)
        for name in self.rolling.wheels:
            speed = np.asarray(k.coordinates[name].speed)
            rests |= at_rest(np.where(np.isfinite(speed), speed, np.inf), limit)
        return rests

    def seen(self, motion: Motion, wrench: FloatArray) -> BoolArray:
        """(samples,): everything was seen, and no foot stands on the ground."""
        known = np.isfinite(motion.omega_dot).all(axis=1) & np.isfinite(wrench).all(axis=1)
        half = self.filtering.window_s / 2 + CLEAR_S
        return known & ~widened(self.times_s, self.grounded, half)

    def whole(self, window_s: float | None = None) -> Balance:
        """The balance without a low-pass, of all samples that are seen: to look at, to predict with."""
        motion = self.motion(window_s)
        wrench = self.body_wrench(motion)
        used = self.seen(motion, wrench)
        return build_balance(self.model, motion, wrench, sigma=self.sigma, used=used)

    def low(self, balance: Balance, used: BoolArray) -> Balance:
        """The same, low-passed, of these samples only."""
        f = self.filtering
        fade = None if f.bandwidth_hz is None else faded(self.times_s, used, FADE / f.bandwidth_hz)
        return replace(balance, lowpass=f.lowpass, used=used, fade=fade)

    def compressed(
        self, segments: Sequence[Segment], balance: Balance | None = None, rests: BoolArray | None = None
    ) -> Compressed:
        """The balance of the fit. Where the wheel may rest, only what its friction does not enter (`AtRest`).

        balance: of `whole`, and rests: of `resting`, where they are at hand.
        """
        whole = self.whole() if balance is None else balance
        assert whole.used is not None
        if self.filtering.lowpass is None:  # as published: no sample is left out but those not seen
            return compress(whole, segments)
        rests = self.resting() if rests is None else rests
        found = compress(self.low(whole, whole.used & ~rests), segments)
        inside = np.zeros(len(rests), dtype=bool)
        for s in segments:
            inside[slice(*whole.indices(s))] = True
        if not (rests & whole.used & inside).any():
            return found
        still = AtRest(rolling=self.rolling)
        model = replace(self.model, mechanism=still)
        at = replace(whole, model=model, kinematics=still.turned(whole.kinematics))
        more = compress(self.low(at, whole.used & rests), segments)
        return merge(found, replace(more, model=found.model))

    def swapped(self) -> RollingInputs:
        """The same with the load cells exchanged, right for left."""
        wrenches = [s.wrench for s in reversed(self.sensors)]
        sensors = tuple(replace(s, wrench=w) for s, w in zip(self.sensors, wrenches, strict=True))
        return replace(self, sensors=sensors, measured=self.measured[::-1])

    def with_wrench(self, balance: Balance, motion: Motion) -> Balance:
        """The same columns with the wrench of these inputs."""
        return replace(balance, wrench=np.asfortranarray(self.body_wrench(motion)))

    def unsure(self) -> Iterator[RollingInputs]:
        """The same with what was estimated beside the parameters off by its standard deviation: clock, zeros,
        the sensors' rotation, the vertical."""
        if self.clock is not None:
            yield self.on_clock(replace(self.clock, offset_s=self.clock.offset_s + self.clock.offset_std_s))
            yield self.on_clock(replace(self.clock, drift_ppm=self.clock.drift_ppm + self.clock.drift_std_ppm))
        if self.zero == "still" and self.static is not None:
            at = (self.times_s >= self.static[0]) & (self.times_s < self.static[1])
            parts = np.array([np.nanmean(part, axis=1) for part in np.array_split(self.measured[:, at], 10, axis=1)])
            std = np.std(parts, axis=0, ddof=1) / np.sqrt(len(parts))
            for i, j in np.ndindex(*std.shape):  # each by itself: they know nothing of each other
                error = np.zeros(std.shape)
                error[i, j] = std[i, j]
                yield replace(self, zero_error=error)
        for i, sensor in enumerate(self.sensors):
            for turn in sensor.turn_root.T:
                T = sensor.T_body_sensor
                turned = replace(sensor, T_body_sensor=transform(T[:3, :3] @ exp_rotation(turn), T[:3, 3]))
                yield replace(self, sensors=(*self.sensors[:i], turned, *self.sensors[i + 1 :]))
        if self.tilt_std_rad > 0:
            yield from (self.tilted(self.tilt_std_rad * axis) for axis in np.eye(3)[:2])

    def tilted(self, turn: FloatArray) -> RollingInputs:
        """The same with another vertical: the world turned by a rotation vector (3,), rad."""
        R = exp_rotation(turn)
        return replace(self, poses=Poses(self.poses.times_s, R @ self.poses.rotation, self.poses.position @ R.T))


def with_radius(model: Model, radius_m: float) -> Model:
    """The same object on another wheel; elements that know its radius follow."""
    elements = tuple(replace(e, radius=radius_m) if hasattr(e, "radius") else e for e in model.elements)  # type: ignore[type-var]
    return replace(model, mechanism=replace(model.mechanism, radius=radius_m), elements=elements)  # type: ignore[call-arg]


def widened(times_s: FloatArray, mask: BoolArray, by_s: float) -> BoolArray:
    """(samples,): within so many seconds of a sample of the mask."""
    ends = np.concatenate([[-np.inf], times_s[mask], [np.inf]])
    after = np.searchsorted(ends, times_s)
    return np.minimum(times_s - ends[after - 1], ends[np.minimum(after, len(ends) - 1)] - times_s) <= by_s


def projected(balance: Balance) -> FloatArray:
    """(samples, rows): the measured free rows, N m and N."""
    w = [balance.wrench[:, i] for i in range(6)]
    return np.array(balance.model.mechanism.project(balance.kinematics, w, ARRAYS), dtype=float).T
