"""One smoother for cameras and an IMU on the object: the motion that explains both (`trajectory`).

The IMU's gains, zeros, lever arm and clock are free, so that a turned, misplaced or badly scaled IMU moves no number:
cameras alone say how far it went, and the IMU how.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palpate.errors import DataProblem
from palpate.motion.clock import ClockMap, Interval, resample
from palpate.motion.derivatives import (
    CoordinateMotion,
    coordinate_motion,
    design_lowpass,
    gravity_vector,
    savitzky_golay,
    signal_noise,
    stretches,
    window_samples,
)
from palpate.motion.trajectory import Path, States, Trajectory
from palpate.physics import motion as rigid
from palpate.physics.arrays import BoolArray, FloatArray, median, rate_hz, rms, spread

Felt = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Positions and their first and second derivatives (..., samples, n) -> specific force at the body's origin (m/s2),
angular rate (rad/s) and its derivative, in the body: (..., samples, 9).
"""
_LATE = 1e-3
"""s: a clock that is off by more is moved before anything else."""
_LIKE, _LEAST = 0.3, 1e-4
"""Noise of a channel, at least: over that of the instrument's loudest one, and over what it shows."""
_NOISE_WINDOW_S, _SLOW_S = 0.11, 0.1
_ENOUGH, _STRETCH = 1 << 17, 1 << 12
"""Samples of an IMU that tell its noise, to a third of a percent, in stretches of so many spread evenly."""
_PRIOR = np.array([*[0.5, *[0.05] * 3, *[1.0] * 9] * 3, *[0.1, *[0.05] * 3] * 3, 1e-3, 5e-5])
"""How far constants may be from where they start. Accelerometer, each axis: zero (m/s2), gains, lever arms (m);
gyroscope: zero (rad/s), gains; clock: s, s/s. It holds what the data do not show.
"""
_FORCES, _RATES = 13, 4
"""Constants of an axis of either."""
FORCE, RATE = slice(0, 3), slice(3, 6)
_SLOPE, _STOP_DB = 1.5, 90.0
"""Where a motion ends, over its bandwidth, and how much less is left there; below, it changes by as little."""
_STEP = 1e-6
"""rad or m, per s, per s2: over which what is felt is differenced."""


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """Coordinates by all instruments, with their noise."""

    motion: CoordinateMotion
    """(samples, n); NaN where cameras or IMU did not see it."""
    noise: CoordinateMotion
    """What noise of the instruments, drawn once, makes of it: spectra and standard deviations follow from it."""
    swayed: tuple[CoordinateMotion, ...]
    """What their constants make of it, each time off as they may be: zeros, gains and place of the IMU."""
    unexplained: FloatArray
    """(2,): share of what accelerometer and gyroscope show that the motion of the body leaves, their noise apart."""
    disagree: float
    """What is left of the coordinates over their noise: about 1 where cameras and IMU agree."""
    gyro_scale: float
    """Angular rate that the gyroscope shows over that of the body; 1 where nothing turns."""
    trajectory: Trajectory
    """What was solved, and ..."""
    path: Path
    """... what came out."""
    columns: tuple[int, ...]
    """Which of the trajectory's coordinates these are."""

    @property
    def known(self) -> BoolArray:
        """(samples,): seen by both."""
        return np.asarray(np.isfinite(self.motion.position).all(axis=1))

    def of(self, columns: Sequence[int]) -> Smoothed:
        """Some of the coordinates; `trajectory` and `path` keep all."""
        motion, noise, *swayed = (
            CoordinateMotion(m.times_s, *(x[:, list(columns)] for x in (m.position, m.speed, m.acceleration)))
            for m in (self.motion, self.noise, *self.swayed)
        )
        return replace(self, motion=motion, noise=noise, swayed=tuple(swayed), columns=tuple(columns))

    def at(self, index: NDArray[np.int64]) -> Smoothed:
        """Some of the samples; `trajectory` and `path` keep all."""
        motion, noise, *swayed = (
            CoordinateMotion(*(x[index] for x in (m.times_s, m.position, m.speed, m.acceleration)))
            for m in (self.motion, self.noise, *self.swayed)
        )
        return replace(self, motion=motion, noise=noise, swayed=tuple(swayed))

    def noisier(self) -> Smoothed:
        """The same with the noise once more."""
        return replace(self, motion=_sum(self.motion, self.noise))

    def sways(self) -> list[Smoothed]:
        """The same with the IMU's constants off, one way at a time: squares of what follows add up to its variance."""
        return [replace(self, motion=_sum(self.motion, m)) for m in self.swayed]

    def speed_noise(self, still: Interval | None) -> FloatArray:
        """(n,): standard deviation of the speeds, rad/s and m/s; at least what they show where nothing moves."""
        std, t = np.nanstd(self.noise.speed, axis=0), self.motion.times_s
        if still is None:
            return std
        part = self.motion.speed[(t > still[0]) & (t < still[1])]
        part = part[np.isfinite(part).all(axis=1)]
        return np.maximum(std, np.sqrt(np.mean(part**2, axis=0))) if len(part) else std

    def over(self, window_s: float, order: int) -> CoordinateMotion:
        """Polynomials over a window of positions, speeds and accelerations: less noise and less motion."""
        m, window = self.motion, window_samples(window_s, rate_hz(self.motion.times_s), order)
        parts = [np.full_like(m.position, np.nan) for _ in range(3)]
        for a, b in stretches(m.times_s, self.known, window):
            for part, x in zip(parts, (m.position, m.speed, m.acceleration), strict=True):
                part[a:b] = savitzky_golay(x[a:b], window, order)
        return CoordinateMotion(m.times_s, *parts)

    def moved(self, before: FloatArray, after: FloatArray, window_s: float, order: int) -> Smoothed:
        """The same where the measured coordinates were others: a zero elsewhere, another vertical."""
        change = coordinate_motion(self.motion.times_s, after - before, window_s=window_s, order=order, ends=True)
        return replace(self, motion=_sum(self.motion, change))


def _sum(a: CoordinateMotion, b: CoordinateMotion) -> CoordinateMotion:
    pairs = ((a.position, b.position), (a.speed, b.speed), (a.acceleration, b.acceleration))
    return CoordinateMotion(a.times_s, *(x + y for x, y in pairs))


def smooth(
    times_s: FloatArray,
    q: FloatArray,
    imu_s: FloatArray,
    imu: FloatArray,
    T_body_imu: FloatArray,
    felt: Felt,
    clock: ClockMap | None = None,
    *,
    shown: FloatArray | None = None,
    again: int = 3,
) -> Smoothed:
    """Coordinates (samples, n) and an IMU (samples, 6), m/s2 and rad/s in its axes, each on an even clock.

    NaN where not seen. T_body_imu: where it is about (4 x 4, m); clock: of the IMU, None: the same one; shown: the IMU
    at the coordinates' times, where that is known already.
    again: how often it is moved, as for an IMU with a filter of its own, before that is refused.
    """
    y = resample(imu_s, imu, times_s, clock=clock) if shown is None else shown
    rate, both = rate_hz(times_s), np.asarray(np.isfinite(np.hstack([q, y])).all(axis=1))
    if both.sum() < 50 * (1 + q.shape[1]):
        raise DataProblem("smoothing", f"cameras and IMU saw the object together in {both.sum()} samples only")
    window = window_samples(max(_NOISE_WINDOW_S, 7 / rate), rate, 4)
    of_q = np.array([signal_noise(x, window, 4) for x in q.T])
    of_q = np.maximum(np.where(np.isfinite(of_q), of_q, 0.0), 1e-7 * np.nanstd(q, axis=0) + 1e-12)
    share = min(1.0, rate / rate_hz(imu_s))  # of white noise that is left at the lower rate
    # fourth differences of white noise have the variance 70, of motion hardly any
    seen = np.flatnonzero(np.isfinite(imu).all(axis=1))
    bends = np.concatenate([np.diff(imu[seen[a:b]], n=4, axis=0) for a, b in spread(len(seen), _ENOUGH, _STRETCH)])
    of_imu = median(np.abs(bends)) / (0.6745 * np.sqrt(70.0))
    of_imu = np.maximum(of_imu * np.sqrt(share), _LEAST * np.nanstd(y, axis=0) + 1e-9)
    of_imu = np.maximum(of_imu, _LIKE * np.repeat([of_imu[FORCE].max(), of_imu[RATE].max()], 3))
    seen_by = _Imu(times_s, y, felt, of_imu, _constants(T_body_imu))
    trajectory = Trajectory(times_s, q, of_q, (seen_by,))
    solved = trajectory.solve(until=lambda p: abs(p[-2]) > _LATE)
    p, z = solved.constants, trajectory.states(solved.coefficients)
    if abs(p[-2]) > _LATE:
        if again == 0:
            raise DataProblem("smoothing", f"the IMU's clock seems to be off by more than {1e3 * abs(p[-2]):.1f} ms")
        return smooth(times_s, q, imu_s + p[-2], imu, T_body_imu, felt, clock, again=again - 1)
    path, drawn, *swayed = (
        CoordinateMotion(times_s, *(np.where(both[:, None], x, np.nan) for x in states))
        for states in (z, *map(trajectory.states, (solved.drawn, *np.moveaxis(solved.swayed, 2, 0))))
    )
    n, left = q.shape[1], (y - seen_by.shown(z, p))[both]
    slow = window_samples(_SLOW_S, rate, 1)  # of a hand; vibration and knocks are no contradiction
    beyond, moving = (np.square(savitzky_golay(x - x.mean(axis=0), slow, 1)).sum(axis=0) for x in (left, y[both]))
    beyond = np.maximum(beyond - len(left) / slow * of_imu**2, 0.0)
    unexplained = np.array([beyond[part].sum() / max(moving[part].sum(), 1e-300) for part in (FORCE, RATE)])
    turning, shown = felt(*z)[:, 3:6], p[3 * _FORCES : -2].reshape(3, -1)[:, 1:]
    scale = 1.0
    if rms(turning) > 0:
        scale = rms(turning @ shown.T) / rms(turning)
    else:  # of what only slides a gyroscope tells nothing
        unexplained[1] = 0.0
    disagree = float((solved.sigma[:n] / of_q).max())
    columns = tuple(range(q.shape[1]))
    return Smoothed(path, drawn, tuple(swayed), unexplained, disagree, scale, trajectory, solved, columns)


def fuse(
    poses: rigid.Poses,
    times_s: FloatArray,
    acceleration: FloatArray,
    angular_rate: FloatArray,
    T_body_imu: FloatArray,
    *,
    gravity: ArrayLike,
    bandwidth_hz: float = 20.0,
) -> rigid.Motion:
    """The motion of a free body by its poses, on an even clock, and the IMU on it; NaN where either did not see it.

    acceleration (specific force, m/s2) and angular_rate (rad/s): (samples, 3) in the IMU's axes at even times on the
    poses' clock; gravity (3,) m/s2 in the capture frame; bandwidth_hz: up to which the motion is followed, half as far
    again it ends. Coordinates are position and quaternion.
    """
    g, seen = gravity_vector(gravity), poses.seen
    turns = np.full((len(poses), 4), np.nan)
    turns[seen] = rigid.continuous_quaternions(rigid.quaternion_from_rotation(poses.rotation[seen]))
    q = np.hstack([np.where(seen[:, None], poses.position, np.nan), turns])

    def felt(q: FloatArray, speed: FloatArray, acceleration: FloatArray) -> FloatArray:
        """Omega and omega_dot in the body from 2 Im(q^-1 dq/dt), e.g. Diebel 2006, 6.5."""
        turn = q[..., 3:]
        inverse = turn * [1, -1, -1, -1] / (turn**2).sum(axis=-1, keepdims=True)
        u, bend = (rigid.quaternion_product(inverse, x[..., 3:]) for x in (speed, acceleration))
        omega_dot = bend - rigid.quaternion_product(u, u)
        force = np.einsum("...ji,...j->...i", rigid.rotation_from_quaternion(turn), acceleration[..., :3] - g)
        parts = (force, 2 * u[..., 1:], 2 * omega_dot[..., 1:])
        return np.concatenate(np.broadcast_arrays(*parts), axis=-1)

    s = smooth(poses.times_s, q, times_s, np.hstack([acceleration, angular_rate]), T_body_imu, felt)
    z, m = s.trajectory.states(s.path.coefficients), s.motion
    # not of quaternions: their length is no motion, and noisier than it
    k = np.where(s.known[:, None], _below(felt(*z), rate_hz(poses.times_s), bandwidth_hz), np.nan)
    R = rigid.rotation_from_quaternion(m.position[:, 3:])
    velocity = np.einsum("nji,nj->ni", R, m.speed[:, :3])
    there = rigid.Poses(poses.times_s, R, m.position[:, :3])
    return rigid.Motion(poses.times_s, k[:, :3], k[:, 3:6], k[:, 6:], there, velocity)


def _below(x: FloatArray, rate_hz: float, bandwidth_hz: float) -> FloatArray:
    """Signals (samples, n) without what is faster: derivatives of white noise are mostly that."""
    if bandwidth_hz >= 0.4 * rate_hz:
        return x
    lowpass = design_lowpass(rate_hz, bandwidth_hz, attenuation_db=_STOP_DB, slope=_SLOPE)
    half = len(lowpass.taps) // 2
    wide = np.pad(x, ((half, half), (0, 0)), mode="reflect", reflect_type="odd")
    return replace(lowpass, step=1).apply(wide.T).T


@dataclass(frozen=True, slots=True, eq=False)
class _Imu:
    """An IMU on the body. Constants: of each axis of the accelerometer, of the gyroscope, and of the clock."""

    times_s: FloatArray
    measured: FloatArray
    """(samples, 6), m/s2 and rad/s in its axes."""
    felt: Felt
    noise: FloatArray
    start: FloatArray
    prior: FloatArray = field(default_factory=lambda: _PRIOR)
    alike: tuple[int, ...] = (3, 3)
    name: ClassVar[str] = "the IMU"

    def shown(self, z: States, constants: FloatArray) -> FloatArray:
        """(samples, 6)."""
        y, late = _shown(self.felt(*z), constants), (constants[-2] + constants[-1] * self.away)[:, None]
        slope, bend = (savitzky_golay(y, 5, 4, derivative=d, rate_hz=rate_hz(self.times_s)) for d in (1, 2))
        return y + late * slope + late**2 / 2 * bend

    @property
    def away(self) -> FloatArray:
        """Times from the middle, s."""
        return self.times_s - self.times_s.mean()

    def shows(self, z: States) -> BoolArray:
        """(6, constants): of a gain or lever arm, whether it is of this axis and what it multiplies is ever there."""
        shown, ends = np.zeros((6, len(self.start)), dtype=bool), np.cumsum([0, *[_FORCES] * 3, *[_RATES] * 3])
        forces, rates = (np.any(x, axis=1) for x in _features(self.felt(*z)))
        for own, start, there in zip(shown, ends[:-1], (*[forces] * 3, *[rates] * 3), strict=True):
            own[start : start + len(there)] = there
        shown[:, -2:] = True
        return shown

    def rows(self, z: States, constants: FloatArray, here: slice, shows: BoolArray) -> tuple[FloatArray, FloatArray]:
        """(samples, 6, n, 3) and (samples, 6, constants that it shows)."""
        part = [x[here] for x in z]
        k = self.felt(*part)
        y, n = _shown(k, constants), z[0].shape[1]
        J, steps = np.empty((3, n, 6, len(k))), _STEP * np.eye(n)[:, :, None]
        for d in range(3):  # what does not change is not computed again
            moved = np.moveaxis(part[d].T[:, None] + steps, 0, -1)
            other = self.felt(*(moved if d == j else x for j, x in enumerate(part)))
            J[d] = (_shown(other, constants) - y).swapaxes(1, 2) / _STEP
        K, (forces, rates) = np.zeros((len(k), 6, shows.sum())), _features(k)
        forces, rates = forces[shows[:_FORCES]], rates[shows[3 * _FORCES :][:_RATES]]
        for i in range(3):
            K[:, i, i * len(forces) : (i + 1) * len(forces)] = forces.T
            K[:, 3 + i, (start := 3 * len(forces) + i * len(rates)) : start + len(rates)] = rates.T
        K[:, :, -2] = savitzky_golay(y, 5, 4, derivative=1, rate_hz=rate_hz(self.times_s))
        K[:, :, -1] = K[:, :, -2] * self.away[here, None]
        return J.transpose(3, 2, 1, 0), K


def _features(k: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What each axis of an accelerometer (13, ...) and a gyroscope (4, ...) anywhere on the body is linear in.

    Specific force a at the origin, angular rate w and its derivative: R' (a + w' x r + w x (w x r)) + zero.
    """
    a, w, b = np.split(np.moveaxis(k, -1, 0), 3)
    forces = np.empty((_FORCES, *k.shape[:-1]))
    forces[0], forces[1:4], forces[4:7] = 1.0, a, b
    for i, (one, other) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)), start=7):
        np.multiply(w[one], w[other], out=forces[i])
    return forces, np.concatenate([forces[:1], w])


def _shown(k: FloatArray, p: FloatArray) -> FloatArray:
    """(..., 6) of an IMU with these constants, on a clock that is right."""
    parts = zip(np.split(p, [3 * _FORCES, 3 * (_FORCES + _RATES)]), _features(k), strict=False)
    shown = np.concatenate([by.reshape(3, -1) @ of.reshape(len(of), -1) for by, of in parts])
    return np.moveaxis(shown.reshape(6, *k.shape[:-1]), 0, -1)


def _constants(T_body_imu: FloatArray) -> FloatArray:
    """Of a true IMU at this place."""
    R, (x, y, z) = T_body_imu[:3, :3].T, T_body_imu[:3, 3]
    # w x (w x r) in the six products of w, e.g. Siciliano & Khatib, 2.2
    turning = np.array([[0, -x, -x, y, z, 0], [-y, 0, -y, x, 0, z], [-z, -z, 0, 0, x, y]])
    forces = np.hstack([np.zeros((3, 1)), R, -R @ rigid.skew([x, y, z]), R @ turning])
    return np.concatenate([forces.ravel(), np.hstack([np.zeros((3, 1)), R]).ravel(), [0.0, 0.0]])
