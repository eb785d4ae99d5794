"""What a balance is made of: a motion, the wrenches at the sensors, filters and what is believed before.

Everything that is uncertain is a change of one of these values (`stage/variations.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from palpate.elements import SensorBias
from palpate.experiment.stage.inner import Inner, compressed_innovations, followed, observed, settled_in
from palpate.identify import Balance, Compressed, MotionNoise, Prior, build_balance, compress
from palpate.identify.balance import Segment, compress_each, merge
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.motion import derivatives
from palpate.motion.clock import ClockMap, Even, every_second, noise_floor, resample, resampled_sign, without_lost
from palpate.motion.derivatives import CoordinateMotion, Lowpass, coordinate_motion, signal_noise, window_samples
from palpate.motion.imu import PARALLEL, Smoothing, imu_motion, resample_values
from palpate.motion.integration import Integrated
from palpate.motion.smoothing import Smoothed
from palpate.motion.wheels import from_contact
from palpate.physics import inertia
from palpate.physics.arrays import BoolArray, FloatArray, first_even, nearest, rate_hz, segment_mask
from palpate.physics.functions import ARRAYS, remembering
from palpate.physics.maps import Factor
from palpate.physics.motion import Kinematics, Motion, Poses, transport_acceleration, wrench_transmission

Added = Literal["nothing", "all", "weight"]
Zero = Literal["still", "estimated", "none"]

STEP = {"rad": np.radians(1.0), "m": 0.005}
"""A small step of a coordinate by its unit: a degree, or as much of a drawer's travel as that is of a door's. Limits of
positions and travels are given in such steps.
"""
TAPE_MEASURE_M = 0.002
"""How well a length is known that nobody says more about: between pivots that sit under covers."""
AT_STOP = 1.0
"""Steps: nearer to a stop, the frame may take a part of the force."""
FADE = 0.25
"""Length of the fading at samples that are left out, in periods of the low-pass's bandwidth."""
AT_ONCE, BESIDE = 1 << 15, 64
"""Samples of a motion that are computed together, with so many more on either side for the spline."""
AT_FIRST = 4096
"""Samples that tell the rate of a clock."""
RINGS, TURN = 8, 3
"""Samples for which the resampled signals of an IMU and a load cell still feel a knock, and samples that count as
resting where it only turns round."""
FASTER = 1.001
"""Rate of a load cell over the reference's, from which it was low-passed."""
UNWANTED = 1e6
"""A row with so large a standard deviation beside the others does not count."""
FASTEST_HZ = 15.0
"""Hands and what they move are slower; a low-pass needs room up to half the rate."""
FIT_ATTENUATION_DB = 45.0
"""Of the low-pass of a balance by markers: what it lets through of the rest is less than a hundredth."""
SLOPE = 1.5
"""Up to this multiple of the bandwidth the low-pass lets something through that counts."""
AWAY = 0.25
"""Share of what moves that is away from turns, at least: else they are noise, or rows that repeat."""
JUMPS_SEEN = 0.25
"""Window of the derivatives in periods of the bandwidth, from which jumps of the acceleration are left out: up to 0.2
they move inertias of simulated drawers by less than 0.02 %, at 0.3 by up to 0.2 %, at 0.75 by 0.3 to 1 %."""
STILL = 0.4
"""Of the speed below which nobody can say that something moves: two standard deviations."""
NOISE_WINDOW_S, SPEED_WINDOW_S = 0.11, 0.15
"""Windows by which the noise of a position, and rest, are judged: speeds need no such short ones as accelerations."""


@dataclass(frozen=True, slots=True, eq=False)
class Filtering:
    """How coordinates are differentiated, and what columns and wrench then pass."""

    window_s: float
    order: int
    lowpass: Lowpass | None
    bandwidth_hz: float | None
    published: bool = False
    """As the paper's authors: ends kept, no sample left out but those not seen, wrenches decimated without a filter."""


def choose_filtering(
    model: Model,
    times_s: FloatArray,
    q: FloatArray,
    *,
    still: Segment | None = None,
    order: int = 4,
    bandwidth_hz: float | None = None,
    window_s: float | None = None,
    smoothed: Smoothed | None = None,
    integrated: Integrated | None = None,
) -> Filtering:
    """A low-pass and a window of the derivatives that suit measured coordinates (samples, positions), rad and m.

    What is not stated follows from their spectrum and noise; still: a segment (s) in which nothing moves shows the
    noise best. smoothed: by all instruments, whose noise is known. integrated: whose rate
    was integrated.
    """
    rate = rate_hz(times_s)
    if bandwidth_hz is None:
        units = dict(zip(model.mechanism.state, model.mechanism.position_units, strict=False))
        if integrated is not None:
            drawn = integrated.drawn(times_s, np.random.default_rng(0))[:, None]
            both = [np.gradient(np.gradient(x, 1 / rate, axis=0), 1 / rate, axis=0) for x in (q, drawn)]
            chosen = derivatives.acceleration_bandwidth(both[0], both[1], rate)
        elif smoothed is None:
            shown = [i for i, name in enumerate(units) if name not in model.mechanism.following]
            units = {name: unit for name, unit in units.items() if name not in model.mechanism.following}
            chosen = derivatives.signal_bandwidth(
                times_s, q[:, shown], still=still, order=order, units=units
            ).bandwidth_hz
        else:
            both = (smoothed.motion.acceleration, smoothed.noise.acceleration)
            chosen = derivatives.acceleration_bandwidth(*both, rate)
        bandwidth_hz = min(chosen, FASTEST_HZ, 0.2 * rate)
    lowpass = derivatives.design_lowpass(rate, bandwidth_hz, attenuation_db=FIT_ATTENUATION_DB)
    # what the low-pass lets through on its slope must not be lost either: accelerations of hands go on there
    window_s = window_s or derivatives.light_window_s(rate, SLOPE * bandwidth_hz, order)
    return Filtering(window_s, order, lowpass, bandwidth_hz)


@dataclass(frozen=True, slots=True, eq=False)
class Sensor:
    """A force/torque sensor on the object, with the handle behind it."""

    wrench: Even
    """What it passes on to the object of the model, in its own frame, on its own clock, N and N m."""
    T_body_sensor: FloatArray
    """(4, 4)."""
    handle: FloatArray | None = None
    """(10,) phi in the sensor frame; None: not known, or a part of the object."""
    turn_root: FloatArray = field(default_factory=lambda: np.zeros((3, 0)))
    """(3, n): columns are turns in its own frame (rad) that together make up how uncertain its rotation is."""

    def to_body(self, w: FloatArray) -> FloatArray:
        """(samples, 6) of its frame in that of the object."""
        if np.array_equal(self.T_body_sensor, np.eye(4)):  # as of a handle: an hour of it need not be copied
            return w
        return np.asarray(w @ wrench_transmission(self.T_body_sensor[:3, :3], self.T_body_sensor[:3, 3]).T, dtype=float)

    def handle_wrench(self, motion: Motion, *, moving: bool = True) -> FloatArray:
        """(samples, 6): what it takes to move the handle so, in its frame; without `moving`, to carry it.

        motion: of the object's frame.
        """
        if self.handle is None:
            return np.zeros((len(motion.times_s), 6))
        R, r = self.T_body_sensor[:3, :3], self.T_body_sensor[:3, 3]
        omega, omega_dot = float(moving) * motion.omega, float(moving) * motion.omega_dot
        a = transport_acceleration(motion.specific_acceleration, omega, omega_dot, r)
        return np.asarray(inertia.body_regressor(a @ R, omega @ R, omega_dot @ R) @ self.handle, dtype=float)


@dataclass(frozen=True, slots=True, eq=False)
class ImuMotion:
    """An IMU from which alone the motion is known."""

    even: Even
    """Specific force (3, m/s2) and angular rate (3, rad/s) in the IMU's axes, on the IMU's clock."""
    T_body_imu: FloatArray
    smoothing: Smoothing = PARALLEL
    zero_std: float = 0.0
    """How far off the accelerometer's zero may be, m/s2 on each axis."""


@dataclass(frozen=True, slots=True)
class Belief:
    """What is known before the data are consulted."""

    prior: Prior | None = None
    factor: Factor = "UtU"
    mass: float | None = None
    """kg, of the part that the model describes."""
    fixed: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Everything that a balance is made of, on the reference clock."""

    model: Model
    times_s: FloatArray
    """(samples,), even: those of motion capture where there is any, else of the load cell."""
    sensors: tuple[Sensor, ...]
    filtering: Filtering
    q: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    """(samples, positions of the state) as measured, NaN where not seen; empty where an IMU tells the motion."""
    smoothed: Smoothed | None = None
    """The same by cameras and an IMU on the object together, where there is one."""
    poses: Poses | None = None
    """Of the body in the mechanism's frame, where `q` was taken from poses."""
    imu: ImuMotion | None = None
    """Where an IMU tells the motion."""
    clock: ClockMap | None = None
    """Of the instruments beside the reference: the load cells, or the IMU; None: they share the reference clock."""
    measured: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 6)))
    """(sensors, samples, 6): the wrenches on the reference clock (`on_clock`); NaN where not seen."""
    add: Added = "nothing"
    """What of the handles' wrenches is added to the sensors', so that the model contains it (FORMATS, erratum 7)."""
    zero: Zero = "none"
    """Where the load cells' zero comes from. Estimated are six numbers in all: constant wrenches of several sensors on
    one body are one constant wrench in its frame.
    """
    static: Segment | None = None
    """When the object rests and nobody touches it, s."""
    stops: tuple[float, float] | None = None
    """Where the main coordinate meets its stops; None: nowhere."""
    blocked: BoolArray | None = None
    """(samples,): something beside the hands carries the object (a foot on the ground); None: never."""
    belief: Belief = Belief()
    sigma: FloatArray | None = None
    """(rows,) N and N m, whose ratios weight the rows; None: from what each row leaves."""
    unwanted: tuple[str, ...] = ()
    """Rows that do not count."""
    closed_std: float = 0.0
    """How well it is known where the main coordinate is zero, rad or m."""
    hinge_std_m: float = 0.0
    """How well the place of a hinge is known, in each direction across it."""
    axis_std_rad: float = 0.0
    """How well its direction is known, about each direction across it."""
    pitch_std: float = 0.0
    """How well the pitch of a screw is known, where its motion shows it, m/rad."""
    travel_std: float = 0.0
    """How far markers of which single ones are off may take the main coordinate too far, rad or m; 0 where their noise
    hides it."""
    links_std_m: float = 0.0
    """How well each length of a linkage is known, where the experiment file does not say."""
    up: FloatArray = field(default_factory=lambda: np.zeros(2))
    """(2,): components of up along x and y of the mechanism's frame where that is a floor and slopes."""
    ground_root: FloatArray = field(default_factory=lambda: np.zeros((4, 0)))
    """(4, n): how the vertical and the floor on which it rolls, about x and y each, may be off together; columns of one
    standard deviation, rad."""
    frame_root: FloatArray = field(default_factory=lambda: np.zeros((6, 0)))
    """(6, n): how the body frame may sit elsewhere on the body: turns (rad) and shifts (m) in it, columns of one
    standard deviation."""
    at_contact: FloatArray | None = None
    """(6,): a constant wrench at the contact that belongs to the model, as the paper's authors have it, N and N m."""
    unloaded: bool = False
    """Nobody touches it and no sensor is there: it moves by what is known of it (`belief.fixed`)."""
    integrated: Integrated | None = None
    """Whose rate was integrated to the main coordinate."""
    zero_error: FloatArray | None = None
    """(sensors, 6): by how much the zeros are taken to be off, N and N m."""
    effort: Mapping[str, float] | None = None
    """Of a fit before, by whose values the hand's effort is predicted for elements that follow it."""
    inner: Inner | None = None
    """By which values a body that nobody measured is led; None: it goes along with the measured one."""

    @property
    def mechanism(self) -> Mechanism:
        """Of the model."""
        return self.model.mechanism

    @property
    def rate_hz(self) -> float:
        """Of the reference clock, by its first samples: stretches of a recording have gaps between them."""
        return rate_hz(first_even(self.times_s, AT_FIRST))

    @property
    def main(self) -> int | None:
        """Which position of the state pictures and stops speak about; None: none."""
        return None if self.mechanism.main is None else 0

    @property
    def drift(self) -> float:
        """By how much the speed of an acceleration that was integrated drifts (RMS), m/s; 0 of other motions."""
        return self.integrated.zero_std if self.integrated is not None and self.integrated.rests else 0.0

    @property
    def seen_position(self) -> FloatArray:
        """The main coordinate where it was seen, rad or m."""
        return self.q[np.isfinite(self.q[:, 0]), 0]

    @property
    def step(self) -> float:
        """`STEP` of the main coordinate."""
        return float(STEP[self.mechanism.position_units[0]])

    def on_clock(self, clock: ClockMap | None) -> Inputs:
        """The same with another clock of the instruments beside the reference."""
        if self.imu is not None:
            wrench = self.sensors[0].wrench
            seen = without_lost(wrench.times_s, wrench.x, wrench.lost)
            return replace(self, clock=clock, measured=seen[None])
        evens = [s.wrench for s in self.sensors]
        if self.filtering.published:  # the nearest sample, as the paper's authors take every tenth one
            there = self.times_s if clock is None else clock.from_reference(self.times_s)
            return replace(self, clock=clock, measured=np.array([e.seen_x[nearest(e.times_s, there)] for e in evens]))
        measured = np.array([resample(e.times_s, e.seen_x, self.times_s, clock=clock) for e in evens])
        return replace(self, clock=clock, measured=measured)

    def with_positions(self, q: FloatArray) -> Inputs:
        """The same with other positions: counted from elsewhere, or seen with another vertical."""
        f, s = self.filtering, self.smoothed
        return replace(self, q=q, smoothed=None if s is None else s.moved(self.q, q, f.window_s, f.order))

    def with_zero(self, zero: Zero) -> Inputs:
        """The same with the load cells' zero from elsewhere; estimated, it is an element of the model."""
        elements = tuple(e for e in self.model.elements if not e.instrument)
        if zero == "estimated":
            elements = (*elements, SensorBias())
        return replace(self, zero=zero, model=replace(self.model, elements=elements, values={}))

    def with_model(self, model: Model) -> Inputs:
        """The same measurements for another model of the same mechanism, where that may have other sizes."""
        other, mechanism = replace(self, model=model), model.mechanism
        if not mechanism.following or self.poses is None or mechanism.sizes == self.mechanism.sizes:
            return other
        # only what follows from the path differs: `q` may be another than that of the poses, as with noise added
        return other.with_positions(self.q + mechanism.coordinates_changed(self.poses, self.mechanism))

    def cut(self, spans: Sequence[tuple[int, int]]) -> Inputs:
        """Stretches [start, stop) of a recording, one after the other; by an IMU, each with what filters need of it."""
        mounted, at = self.imu, np.concatenate([np.arange(a, b) for a, b in spans])
        if mounted is None:
            return replace(
                self,
                times_s=self.times_s[at],
                q=self.q[at],
                smoothed=None if self.smoothed is None else self.smoothed.at(at),
                poses=None if self.poses is None else self.poses.at(at),
                measured=self.measured[:, at],
                blocked=None if self.blocked is None else self.blocked[at],
            )
        even, near = mounted.even, np.zeros(len(mounted.even.times_s), dtype=bool)
        beside = int(2 * mounted.smoothing.reach_s * rate_hz(even.times_s)) + 2 * BESIDE
        for a, b in spans:
            ends = self.times_s[[a, b - 1]]
            first, last = np.searchsorted(even.times_s, ends if self.clock is None else self.clock.from_reference(ends))
            near[max(0, first - beside) : last + beside] = True
        sensors = (replace(s, wrench=_some(s.wrench, at)) for s in self.sensors)
        imu = replace(mounted, even=_some(even, np.flatnonzero(near)))
        cut = replace(self, times_s=self.times_s[at], sensors=tuple(sensors), imu=imu)
        return replace(cut, measured=self.measured[:, at])

    def inside(self, segments: Sequence[Segment]) -> BoolArray:
        """(samples,): in one of these segments."""
        return segment_mask(self.times_s, segments)


def _some(even: Even, at: NDArray[np.int64]) -> Even:
    """Some of its samples."""
    return replace(even, times_s=even.times_s[at], x=even.x[at], rows=np.empty(0, dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """The motion of some inputs, differentiated once and used by all that follows."""

    motion: Motion
    known: BoolArray
    """(samples,): the motion is known, and nothing beside the hands carries the object."""
    resting: BoolArray
    """(samples,): a coordinate with dry friction may not be moving."""
    still: BoolArray
    """(samples,): those of them whose speed is most likely that of noise alone."""
    sharp: bool = False
    """Whether accelerations hold all that the load cells hold: a friction that changes its side rings in both."""


def move(inputs: Inputs, window_s: float | None = None, like: Moved | None = None) -> Moved:
    """The motion with the window of the fit or another; like: that rests when this one does."""
    motion = motion_of(inputs, window_s)
    seen = (*motion.omega_dot.T, *motion.specific_acceleration.T)
    known = np.logical_and.reduce([np.isfinite(x) for x in seen])
    touched = np.zeros(len(inputs.times_s), dtype=bool) if inputs.blocked is None else inputs.blocked.copy()
    if inputs.stops is not None and inputs.main is not None:
        position, (low, high) = inputs.q[:, inputs.main], inputs.stops
        touched |= (position < low + AT_STOP * inputs.step) | (position > high - AT_STOP * inputs.step)
    # derivatives feel the touch of a stop or the ground for half a window; a knock rings in what is resampled
    rings_s = 0.0 if inputs.smoothed is None else RINGS / inputs.rate_hz
    if touched.any():
        known &= time_from(inputs.times_s, touched) > max((window_s or inputs.filtering.window_s) / 2, rings_s)
    sharp = inputs.smoothed is not None and window_s is None
    resting, still = rest_of(inputs) if like is None else (like.resting, like.still)
    return Moved(motion, known, resting, still, sharp)


def motion_of(inputs: Inputs, window_s: float | None = None) -> Motion:
    """Of the body frame: by an IMU, else by the coordinates with this window or the fit's."""
    if inputs.imu is not None:
        return _by_imu(inputs, inputs.imu)
    f, mechanism = inputs.filtering, inputs.mechanism
    if f.published and mechanism.wheel is not None and inputs.poses is not None:
        samples = window_samples(window_s or f.window_s, inputs.rate_hz, f.order)
        gravity = (0.0, 0.0, -mechanism.gravity)
        return derivatives.published_pose_motion(inputs.poses, gravity=gravity, window=samples, order=f.order).motion
    c = coordinates_of(inputs, window_s)
    speeds = mechanism.speeds_of(c.position, c.speed)
    accelerations = mechanism.accelerations_of(c.position, c.speed, c.acceleration)
    return on_slope(mechanism.motion(inputs.times_s, np.hstack([c.position, speeds]), accelerations), inputs)


def on_slope(motion: Motion, inputs: Inputs) -> Motion:
    """A motion on a level floor as it is felt on this one."""
    return motion.on_slope(inputs.up, inputs.mechanism.gravity)


def coordinates_of(inputs: Inputs, window_s: float | None = None) -> CoordinateMotion:
    """Positions of the state, (samples, positions) each, with their derivatives."""
    f = inputs.filtering
    if inputs.smoothed is not None:
        return inputs.smoothed.motion if window_s is None else inputs.smoothed.over(window_s, f.order)
    q, plain = inputs.q, replace(inputs, inner=None)
    if inputs.inner is not None and window_s is None:
        q = observed(inputs.model, inputs.inner, inputs.times_s, q, body_wrench(plain, motion_of(plain)))
    return coordinate_motion(inputs.times_s, q, window_s=window_s or f.window_s, order=f.order, ends=f.published)


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """A body's motion at any times of the load cell's clock, by samples of an IMU."""

    mounted: ImuMotion
    even: Even
    """Those samples, on the IMU's clock, and ..."""
    clock: ClockMap
    """... how that runs against the load cell's: times of an hour need not be there twice."""
    unseen: tuple[tuple[float, float], ...]
    """Before, after and between what the filters need."""

    def at(self, t: FloatArray) -> FloatArray:
        """(len(t), 9): specific force, angular rate and its derivative at even times; NaN where not seen."""
        smoothing = self.mounted.smoothing
        times = self.even.times_s
        first, last = (int(k) for k in np.searchsorted(times, self.clock.from_reference(t[[0, -1]])))
        beside = int(smoothing.reach_s * rate_hz(times)) + BESIDE
        near = slice(max(0, first - beside), last + beside)
        x = self.even.x[near]
        m = imu_motion(times[near], x[:, :3], x[:, 3:], self.mounted.T_body_imu, smoothing)
        values = resample_values(replace(m, times_s=self.clock.to_reference(times[near])), t)
        for a, b in self.unseen:
            values[(t > a) & (t < b)] = np.nan
        return values


def _seen(inputs: Inputs, mounted: ImuMotion, even: Even) -> _Seen:
    clock, reach = inputs.clock or ClockMap(0.0, 0.0, 0.0, 0.0, 0.0, False), mounted.smoothing.reach_s
    lost = [clock.to_reference(np.array(gap)).tolist() for gap in mounted.even.lost]
    begin, end = clock.to_reference(even.times_s[[0, -1]]).tolist()
    unseen = [(-np.inf, begin + reach), (end - reach, np.inf), *((a - reach, b + reach) for a, b in lost)]
    return _Seen(mounted, even, clock, tuple(unseen))


def _by_imu(inputs: Inputs, mounted: ImuMotion) -> Motion:
    """The body's motion on the load cell's clock."""
    seen, t, values = (
        _seen(inputs, mounted, mounted.even),
        inputs.times_s,
        np.empty((len(inputs.times_s), 9), order="F"),
    )
    gaps = np.flatnonzero(np.diff(t) > 1.5 * (t[1] - t[0])) + 1  # between stretches
    edges = np.unique(np.concatenate([np.arange(0, len(t), AT_ONCE), gaps, [len(t)]])).tolist()
    for start, stop in pairwise(edges):  # what filters and splines need on the way is many times the motion
        values[start:stop] = seen.at(t[start:stop])
    return Motion(t, values[:, 0:3], values[:, 3:6], values[:, 6:9])


@dataclass(frozen=True, slots=True, eq=False)
class _Two:
    """Two motions by an IMU that differ by its noise, block by block: both at once would fill the memory."""

    mechanism: Mechanism
    times_s: FloatArray
    one: _Seen
    other: _Seen | Kinematics

    def __call__(self, start: int, stop: int) -> tuple[Kinematics, Kinematics]:
        t = self.times_s[start:stop]
        if isinstance(self.other, Kinematics):
            return self._observed(self.one.at(t), t), self.other.at(slice(start, stop))
        return self._observed(self.one.at(t), t), self._observed(self.other.at(t), t)

    def _observed(self, x: FloatArray, t: FloatArray) -> Kinematics:
        return self.mechanism.observe(Motion(t, x[:, 0:3], x[:, 3:6], x[:, 6:9]))


def imu_noise(inputs: Inputs, method: str, balance: Balance, level: FloatArray | None = None) -> MotionNoise | None:
    """The noise of a motion by an IMU as two motions that differ by it.

    level (6,): the noise's white equivalent per sample, where split halves would not show it.
    """
    mounted = inputs.imu
    if mounted is None or method == "ignored":
        return None
    even = mounted.even
    if method == "instrumental" and level is None:
        one, other = (_seen(inputs, mounted, every_second(even, first)) for first in (0, 1))
        return MotionNoise(balance, _Two(inputs.mechanism, inputs.times_s, one, other), 0.5)
    level = noise_floor(even.x) if level is None else level
    added = np.random.default_rng(0).normal(size=even.x.shape) * level
    noisy = _seen(inputs, mounted, replace(even, x=even.x + added))
    return MotionNoise(balance, _Two(inputs.mechanism, inputs.times_s, noisy, balance.kinematics), 1.0)


def position_noise(inputs: Inputs, *, moving: bool = False) -> FloatArray:
    """(positions,): standard deviation of the measured coordinates, rad and m; moving: where they move."""
    order, rate = inputs.filtering.order, inputs.rate_hz
    # with fewer samples a polynomial goes through all of them, and nothing is left to judge by
    window = window_samples(max(min(inputs.filtering.window_s, NOISE_WINDOW_S), (order + 3) / rate), rate, order)
    return np.array([signal_noise(x, window, order, moving=moving) for x in inputs.q.T])


def noisier(inputs: Inputs, rng: np.random.Generator) -> Inputs:
    """The same with the noise of its coordinates once more."""
    if inputs.smoothed is not None:
        return replace(inputs, smoothed=inputs.smoothed.noisier())
    if inputs.integrated is not None:
        return replace(inputs, q=inputs.q + inputs.integrated.drawn(inputs.times_s, rng)[:, None])
    return replace(inputs, q=inputs.q + rng.normal(size=inputs.q.shape) * position_noise(inputs, moving=True))


def motion_noise(inputs: Inputs) -> dict[str, float]:
    """State or acceleration -> standard deviation of its noise in the band of the fit, SI."""
    mechanism, lowpass = inputs.mechanism, inputs.filtering.lowpass

    def path(inputs: Inputs) -> FloatArray:
        c = coordinates_of(inputs)
        accelerations = mechanism.accelerations_of(c.position, c.speed, c.acceleration)
        return np.hstack([c.position, mechanism.speeds_of(c.position, c.speed), accelerations])

    off = path(noisier(inputs, np.random.default_rng(0))) - path(inputs)
    known = np.asarray(np.isfinite(off).all(axis=1))
    low = np.where(known[:, None], off, 0.0).T
    low = low if lowpass is None else lowpass.apply(low)
    std = np.sqrt(np.mean(low**2, axis=1) / max(known.mean(), 1e-9))
    return dict(zip((*mechanism.state, *mechanism.accelerations), std.tolist(), strict=True))


def rest_of(inputs: Inputs) -> tuple[BoolArray, BoolArray]:
    """(samples,): where nobody can tell which way a coordinate with dry friction moves, and where it is still."""
    mechanism = inputs.mechanism
    names = _dry(inputs) or (() if mechanism.pivot or mechanism.unmeasured else mechanism.moving)
    if inputs.imu is not None or not names:
        never = np.zeros(len(inputs.times_s), dtype=bool)
        return never, never
    order, rate = inputs.filtering.order, inputs.rate_hz
    # a guided object's one coordinate is known better than each of many, and short rests at turning points count; its
    # speed has nothing on the slope of the low-pass
    least_s, band = SPEED_WINDOW_S if inputs.main is None else 0.0, inputs.filtering.bandwidth_hz
    if inputs.main is not None and band is not None:
        least_s = derivatives.light_window_s(rate, band, order)
    if inputs.smoothed is None:
        window = window_samples(max(inputs.filtering.window_s, least_s), rate, order)
        c = coordinates_of(inputs, window / rate)
        white = [derivatives.derivative_noise(n, window, order, 1, rate) for n in position_noise(inputs)]
        noise = np.diag(np.hypot(white, inputs.drift))
    else:
        c, noise = inputs.smoothed.motion, np.diag(inputs.smoothed.speed_noise(inputs.static))
    speeds_of = _coordinate_speeds(mechanism, names, c.position)
    speeds = speeds_of(c.speed)
    # speeds of coordinates are linear in those of the positions
    parts = [speeds_of(np.broadcast_to(std, c.speed.shape)) for std in noise]
    limits = np.sqrt(np.nanmean(np.sum(np.square(parts), axis=0), axis=1)).tolist()
    pairs = list(zip(np.where(np.isfinite(speeds), speeds, np.inf), limits, strict=True))
    resting, still = (np.any([derivatives.at_rest(v, by * limit) for v, limit in pairs], axis=0) for by in (1.0, STILL))
    if inputs.smoothed is not None:  # a sample on which it turns round holds friction of both ways
        turns = np.any(speeds[:, :-1] * speeds[:, 1:] <= 0, axis=0)
        resting[:-1] |= turns
        resting[1:] |= turns
    return resting, still


def _dry(inputs: Inputs) -> list[str]:
    """The moving coordinates with dry friction."""
    dry = {e.acts_on for e in inputs.model.elements if e.dry}
    return [name for name in inputs.mechanism.moving if name in dry]


def _coordinate_speeds(mechanism: Mechanism, names: Sequence[str], q: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """(coordinates, samples) of derivatives of these positions."""
    positions, still, fn = list(q.T), [0.0] * len(mechanism.accelerations), remembering(ARRAYS)

    def speeds(q_dot: FloatArray) -> FloatArray:
        k = mechanism.expand([*positions, *mechanism.speeds_of(q, q_dot).T], still, fn)
        return np.array([np.broadcast_to(np.asarray(k.coordinates[name].speed), len(q)) for name in names])

    return speeds


def time_from(times_s: FloatArray, mask: BoolArray) -> FloatArray:
    """(samples,): time to the nearest sample of a mask, s; infinite where it has none."""
    ends = np.concatenate([[-np.inf], times_s[mask], [np.inf]])
    after = 1 + np.cumsum(mask) - mask  # of them, the first that is not before
    return np.minimum(times_s - ends[after - 1], ends[np.minimum(after, len(ends) - 1)] - times_s)


def zeros_of(inputs: Inputs) -> FloatArray:
    """(sensors, 6): what sensors show untouched, less the handles' weight (paper, Door); else zero."""
    if inputs.zero != "still" or inputs.static is None:
        return np.zeros((len(inputs.sensors), 6))
    at = slice(*np.searchsorted(inputs.times_s, inputs.static))  # a view, where a mask would copy
    shown = np.nanmean(inputs.measured[:, at], axis=1)
    still = still_motion(inputs, np.nanmean(inputs.q[at], axis=0)[None])
    # what a handle passes on is minus what carries it (FORMATS, Sign)
    carried = [s.handle_wrench(still)[0] for s in inputs.sensors]
    return np.asarray(shown + np.array(carried), dtype=float)


def still_motion(inputs: Inputs, q: FloatArray) -> Motion:
    """The object held still at these positions (samples, positions)."""
    mechanism = inputs.mechanism
    speeds, accelerations = (np.zeros((len(q), len(mechanism.accelerations))) for _ in range(2))
    return on_slope(mechanism.motion(np.arange(len(q), dtype=float), np.hstack([q, speeds]), accelerations), inputs)


def body_wrench(inputs: Inputs, motion: Motion) -> FloatArray:
    """(samples, 6): what moves the object of the model, in the body frame, N and N m."""
    parts, zeros = list[FloatArray](), zeros_of(inputs) - (0.0 if inputs.zero_error is None else inputs.zero_error)
    for sensor, w, zero in zip(inputs.sensors, inputs.measured, zeros, strict=True):
        shown = w - zero if zero.any() else w
        if inputs.add != "nothing":
            shown = shown + sensor.handle_wrench(motion, moving=inputs.add == "all")
        parts.append(sensor.to_body(shown))
    total = np.asfortranarray(np.add.reduce(parts) if len(parts) > 1 else parts[0])
    if inputs.at_contact is not None:
        assert motion.poses is not None
        assert inputs.mechanism.wheel is not None
        total = total - from_contact(motion.poses, inputs.mechanism.wheel.radius, inputs.at_contact)
    return total


def wrench_along(mechanism: Mechanism, q: FloatArray, efforts: FloatArray) -> FloatArray:
    """(samples, 6): the smallest wrench in the body frame that does these efforts (samples, rows), N m and N."""
    at, still = np.nan_to_num(q), [np.zeros(len(q))] * len(mechanism.accelerations)
    k = mechanism.expand([*at.T, *still], still, ARRAYS)
    columns = [mechanism.project(k, unit, ARRAYS) for unit in np.eye(6).tolist()]
    P = np.array([[np.broadcast_to(x, len(q)) for x in rows] for rows in columns], dtype=float)  # (6, rows, samples)
    return np.einsum("nij,nj->ni", np.linalg.pinv(np.moveaxis(P, 2, 0).swapaxes(1, 2)), efforts)


def driving(mechanism: Mechanism, q: FloatArray) -> FloatArray:
    """(samples, 6): the wrench in the body frame that does the effort 1 along the only freedom, N m or N."""
    if not mechanism.row_components:
        return wrench_along(mechanism, q, np.ones((len(q), 1)))
    return np.broadcast_to(np.eye(6)[mechanism.row_components[0]], (len(q), 6))


def whole_balance(inputs: Inputs, moved: Moved, other: Balance | None = None) -> Balance:
    """The balance without a low-pass, of all samples that are seen: to look at, to predict with.

    other: of the same inputs with another motion, which the wrench may not know of.
    """
    if other is not None and inputs.add == "nothing" and inputs.at_contact is None:
        wrench, used = other.wrench, None
    else:
        wrench, used = body_wrench(inputs, moved.motion), None
    if inputs.imu is None:  # else segments with gaps are refused: nothing is left out
        used = moved.known & np.isfinite(wrench).all(axis=1)
    plain = np.where([row.name in inputs.unwanted for row in inputs.mechanism.rows], UNWANTED, 1.0)
    sigma = plain if inputs.sigma is None else inputs.sigma
    balance = build_balance(inputs.model, moved.motion, wrench, sigma=sigma, used=used, effort=inputs.effort)
    balance = followed(balance, inputs.inner)
    return low_passed_friction(inputs, balance, rests_of(moved.resting)) if moved.sharp else balance


def rests_of(resting: BoolArray) -> BoolArray:
    """(samples,): where it rests for longer than it takes to turn round."""
    starts, stops = np.flatnonzero(np.diff(resting, prepend=False, append=False)).reshape(-1, 2).T
    long = stops - starts > TURN
    change = np.zeros(len(resting) + 1, dtype=np.int8)
    change[starts[long]], change[stops[long]] = 1, -1
    return np.cumsum(change[:-1], dtype=np.int8) > 0


def low_passed_friction(inputs: Inputs, balance: Balance, rests: BoolArray | None = None) -> Balance:
    """With dry friction that changes its side as the load cells show it: they were low-passed for the reference.

    rests (samples,): where friction goes from one side to the other by and by, as much as holds the object.
    """
    if inputs.filtering.published or rate_hz(inputs.sensors[0].wrench.times_s) < FASTER * inputs.rate_hz:
        return balance
    coordinates = dict(balance.kinematics.coordinates)
    for name in {e.acts_on for e in inputs.model.elements if e.dry}.difference(inputs.mechanism.unmeasured):
        c = coordinates[name]
        coordinates[name] = replace(c, side=resampled_sign(np.asarray(c.speed, dtype=float), rests))
    return replace(balance, kinematics=replace(balance.kinematics, coordinates=coordinates))


def low_balance(inputs: Inputs, balance: Balance, used: BoolArray | None) -> Balance:
    """A whole balance, low-passed, of these samples only (None: all)."""
    band = inputs.filtering.bandwidth_hz
    fade = None if used is None or band is None else faded(inputs.times_s, used, FADE / band)
    return replace(balance, lowpass=inputs.filtering.lowpass, used=used, fade=fade)


def fit_balance(inputs: Inputs, moved: Moved, balance: Balance | None = None) -> Balance:
    """The balance of the fit: low-passed, without samples at rest, whose friction is not known, or beside a change of
    its side, whose acceleration is not.
    """
    whole = whole_balance(inputs, moved) if balance is None else balance
    if whole.used is None or inputs.filtering.published:
        return low_balance(inputs, whole, whole.used)
    return low_balance(inputs, bent_friction(inputs, whole), whole.used & ~bent(inputs, moved, whole))


def bent_friction(inputs: Inputs, balance: Balance) -> Balance:
    """With dry friction that changes its side as derivatives of positions show the acceleration's jump."""
    if inputs.imu is not None or inputs.smoothed is not None:
        return balance
    f, coordinates = inputs.filtering, dict(balance.kinematics.coordinates)
    window = window_samples(f.window_s, inputs.rate_hz, f.order)
    for name in _dry(inputs):
        c = coordinates[name]
        speed = np.broadcast_to(np.asarray(c.speed, dtype=float), len(inputs.times_s))
        coordinates[name] = replace(c, side=derivatives.bent_sign(speed, window, f.order))
    return replace(balance, kinematics=replace(balance.kinematics, coordinates=coordinates))


def bent(inputs: Inputs, moved: Moved, balance: Balance, window_s: float | None = None) -> BoolArray:
    """(samples,): it rests, or dry friction changes its side within a window (the fit's) of derivatives of positions.

    There the acceleration jumps by 2 b_c / m, and a polynomial over both sides shows neither: with these samples
    inertias of quick drawers were 0.1 to 0.8 % too large. Rests begin and end with a jump too. A low-pass much longer
    than the window does not see it: what it errs before a jump it errs the other way after it.
    """
    names, changes, f, rate = _dry(inputs), moved.still.copy(), inputs.filtering, inputs.rate_hz
    hidden = f.bandwidth_hz is None or f.bandwidth_hz * f.window_s < JUMPS_SEEN
    if hidden or inputs.imu is not None or inputs.smoothed is not None or not names:
        return moved.resting
    for name in names:
        speed = np.asarray(balance.kinematics.coordinates[name].speed, dtype=float)
        turns = speed[:-1] * speed[1:] <= 0
        changes[:-1] |= turns
        changes[1:] |= turns
    half_s = window_samples(window_s or f.window_s, rate, f.order) / (2 * rate)
    beside = moved.resting | (time_from(inputs.times_s, changes) < half_s)
    return moved.resting if np.sum(~beside) < AWAY * np.sum(~moved.resting) else beside


def compressed(
    inputs: Inputs, moved: Moved, segments: Sequence[Segment], whole: Balance, noise: MotionNoise | None = None
) -> Compressed:
    """The segments of a `whole_balance`. Where something rests, only the rows that its friction does not enter."""
    if inputs.inner is not None:
        used = settled_in(inputs.times_s, [moved.known & inputs.inside([s]) for s in segments])
        return compressed_innovations(whole, inputs.inner, inputs.q[:, 0], projected(whole)[:, 0], used)
    moving = compress(fit_balance(inputs, moved, whole), segments, noise=noise)
    still = balance_at_rest(inputs, moved, segments, whole)
    return moving if still is None else joined_with(moving, compress(still, segments))


def compressed_each(
    inputs: Inputs, moved: Moved, segments: Sequence[Segment], whole: Balance, wrenches: Sequence[FloatArray]
) -> list[Compressed]:
    """`compressed` with each of several wrenches (samples, 6) in the body frame, known at the same samples.

    Their pieces are joined, which is enough for values.
    """
    if inputs.inner is not None:
        return [compressed(inputs, moved, segments, replace(whole, wrench=wrench)) for wrench in wrenches]
    moving = compress_each(fit_balance(inputs, moved, whole), wrenches, segments, joined=True)
    still = balance_at_rest(inputs, moved, segments, whole)
    if still is None:
        return moving
    return [
        joined_with(a, b) for a, b in zip(moving, compress_each(still, wrenches, segments, joined=True), strict=True)
    ]


def balance_at_rest(inputs: Inputs, moved: Moved, segments: Sequence[Segment], whole: Balance) -> Balance | None:
    """The rows of samples at rest that friction does not enter; None where there are none."""
    still = inputs.mechanism.at_rest()
    if still is None or whole.used is None or inputs.filtering.published:
        return None
    rests = moved.resting & whole.used
    if not (rests & inputs.inside(segments)).any():
        return None
    at = replace(whole, model=replace(inputs.model, mechanism=still), kinematics=still.turned(whole.kinematics))
    return low_balance(inputs, at, rests)


def joined_with(moving: Compressed, still: Compressed) -> Compressed:
    """The rows of what moves and of what rests in one."""
    return merge(moving, replace(still, model=moving.model))


def faded(times_s: FloatArray, used: BoolArray, over_s: float) -> FloatArray:
    """(samples,): 1 in the midst of what is used, down to 0 at its ends over so many seconds (Hann's window)."""
    away, fade = time_from(times_s, ~used), used.astype(float)
    near = np.flatnonzero(used & (away < over_s))
    fade[near] = np.sin(0.5 * np.pi * (away[near] / over_s)) ** 2
    return fade


def projected(balance: Balance) -> FloatArray:
    """(samples, rows): the measured free rows, N m and N."""
    w = [balance.wrench[:, i] for i in range(6)]
    return np.array(balance.model.mechanism.project(balance.kinematics, w, ARRAYS), dtype=float).T
