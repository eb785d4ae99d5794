"""An angle from a gyroscope, whose rate is integrated, or a travel from an accelerometer, twice; zeros from rests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np

from palpate.errors import DataProblem
from palpate.motion.clock import Interval, noise_floor
from palpate.physics.arrays import BoolArray, FloatArray, least_squares, runs, segment_mask

REST_S, WINDOW_S = 0.5, 0.25
"""A rest is at least so long; steadiness is judged in such windows."""
STEADY = 3.0
"""Times the noise by which the means of a rest's windows may differ."""
OPENS = 0.3
"""Share of the travel beyond which the sense of the first motion shows."""
SLOWER = 0.4
"""Waves slower than so much of a swing are none of it."""
ZERO_RAD_S, CREEP_RAD_S = 0.2, 0.01
"""No gyroscope's zero is farther off (some 10 deg/s), nor changes more within a recording: what turns evenly and faster
does not rest."""
LONG_ALONE = 0.5
"""Share of a recording before its first and after its last rest that is worth a word."""


DRAWS, WAYS = 16, 6
"""Times that noise is drawn to tell how far it makes a speed drift, and ways of drifting that hold most of it."""


@dataclass(frozen=True, slots=True)
class Integrated:
    """What is known of an instrument whose signal was integrated: a gyroscope, or with `rests` an accelerometer."""

    zero_std: float
    """How well the zero of the rate is known, rad/s; of an accelerometer that of the speed, m/s."""
    noise: float
    """Standard deviation of the white noise of a sample, rad/s or m/s2."""
    swing_hz: float
    """Of the free swing that it watched; 0: its zero was read at rests."""
    rests: tuple[Interval, ...] = ()
    """Of an accelerometer, s: there its speed is zero."""

    def drawn(self, times_s: FloatArray, rng: np.random.Generator) -> FloatArray:
        """(samples,): what its noise makes of the angle, rad, once more."""
        step = float(times_s[1] - times_s[0])
        if self.rests:
            # how far a walk gets varies tenfold from one to the next: a usual one
            speeds = _drawn_speeds(times_s, self.noise, self.rests, rng)
            sizes = np.sqrt(np.mean(speeds**2, axis=1))
            return _integral(speeds[int(np.argmin(np.abs(sizes - self.zero_std)))], step)
        x = _integral(rng.normal(0.0, self.noise, len(times_s)), step)
        slow = _slow(times_s, self.swing_hz)
        return x - slow @ least_squares(slow, x)

    def drifts(self, times_s: FloatArray, since_s: float) -> list[FloatArray]:
        """(samples,) each: ways in which the position may be off, rad or m, one standard deviation each; none where it
        swings about. since_s: there it is known.
        """
        if self.swing_hz > 0:
            return []
        if not self.rests:
            return [self.zero_std * (times_s - since_s)]
        speeds = _drawn_speeds(times_s, self.noise, self.rests, np.random.default_rng(0))
        _, sizes, ways = np.linalg.svd(speeds / np.sqrt(len(speeds)), full_matrices=False)
        step = float(times_s[1] - times_s[0])
        return [_integral(size * way, step) for size, way in zip(sizes[:WAYS].tolist(), ways, strict=False)]


def angle_of_rate(times_s: FloatArray, rate: FloatArray, *, swings: bool) -> tuple[FloatArray, Integrated, str]:
    """Integrate an angular rate (samples,), rad/s, on an even clock (s): the angle, rad, from the first rest or from
    where it swings about; what is known of the gyroscope; and in words how its zero was found.

    swings: it swings freely about where it hangs. There q = -(I/k) q'' - (b/k) q', so that beside what follows the rate
    and its slope the integral has only what the rate's zero and noise make of it, which is slow. Else the rate's zero
    is read at rests and goes in straight lines between them.
    """
    step, noise = float(times_s[1] - times_s[0]), float(noise_floor(rate[:, None])[0])
    if swings:
        return _swung(times_s, rate, step, noise)
    rests = [(a, b) for a, b in runs(_steady(rate, step, noise)) if (b - a) * step >= REST_S]
    if rests:  # the longest is one; a slow turn may look like one for a moment
        first, last = max(rests, key=lambda rest: rest[1] - rest[0])
        level = float(np.mean(rate[first:last]))
        rests = [(a, b) for a, b in rests if abs(float(np.mean(rate[a:b])) - level) < CREEP_RAD_S]
    else:
        wrong = "the object never rests, so that the zero of the rate is not known"
        raise DataProblem("gyroscope", wrong, remedy="hold it still for a second at first, at the end and now and then")
    levels = np.array([float(np.mean(rate[a:b])) for a, b in rests])
    at = np.array([float(np.mean(times_s[a:b])) for a, b in rests])
    white = noise / np.sqrt(min(b - a for a, b in rests))
    spread = float(np.std(np.diff(levels)) if len(levels) > 2 else np.ptp(levels)) / 2
    # nothing tells how it creeps before the first rest and after the last
    alone = 1 - step * (rests[-1][1] - rests[0][0]) / float(np.ptp(times_s))
    std = hypot(white, spread, alone * CREEP_RAD_S / 2)
    angle = _integral(rate - np.interp(times_s, at, levels), step)
    words = f"its zero ({_shown(float(levels.mean()), std)}) is that of {len(rests)} rest{'s' * (len(rests) > 1)}"
    words += "; a rest at the end would tell how it creeps" if alone > LONG_ALONE else ""
    return angle - angle[slice(*rests[0])].mean(), Integrated(std, noise, 0.0), words


def travel_of_acceleration(
    times_s: FloatArray, force: FloatArray, rests: Sequence[Interval]
) -> tuple[FloatArray, Integrated]:
    """Integrate the specific force (samples, 3), m/s2, on what slides and does not turn, twice: the travel, m, from the
    first rest along the direction in which it varies most, so that it opens first. rests: s, in which nothing moves.

    Gravity and the accelerometer's zero are what it shows at rest, in straight lines between; what is left of them
    makes the speed at the next rest other than zero, and is taken out of it in a straight line (zero-velocity update).
    """
    about = main_direction(force)
    step = float(times_s[1] - times_s[0])
    travel = _integral(_speed(times_s, force @ about, rests), step)
    travel = travel - float(np.mean(travel[segment_mask(times_s, [min(rests)])]))
    away = np.abs(travel) > OPENS * float(np.max(np.abs(travel)))
    travel = travel * float(np.sign(travel[int(np.argmax(away))]))
    noise = float(noise_floor((force @ about)[:, None])[0])
    drifts = _drawn_speeds(times_s, noise, rests, np.random.default_rng(0))
    return travel, Integrated(float(np.sqrt(np.mean(drifts**2))), noise, 0.0, tuple(rests))


def main_direction(x: FloatArray) -> FloatArray:
    """(columns,): the unit vector along which (samples, columns) varies most."""
    _, vectors = np.linalg.eigh(np.cov(x.T).reshape(x.shape[1], x.shape[1]))
    return np.asarray(vectors[:, -1] * np.sign(vectors[np.argmax(np.abs(vectors[:, -1])), -1]), dtype=float)


def _speed(times_s: FloatArray, x: FloatArray, rests: Sequence[Interval]) -> FloatArray:
    """(samples,): the integral, 0 at rests."""
    step, at = float(times_s[1] - times_s[0]), sorted(rests)
    inside = [segment_mask(times_s, [rest]) for rest in at]
    middles = [float(np.mean(rest)) for rest in at]
    speed = _integral(x - np.interp(times_s, middles, [float(np.mean(x[i])) for i in inside]), step)
    ends = [t for rest in at for t in rest]
    speed = speed - np.interp(times_s, ends, np.repeat([float(np.mean(speed[i])) for i in inside], 2))
    speed[np.any(inside, axis=0)] = 0.0
    return speed


def _drawn_speeds(times_s: FloatArray, noise: float, rests: Sequence[Interval], rng: np.random.Generator) -> FloatArray:
    """(draws, samples): what white noise of an acceleration makes of the speed."""
    return np.array([_speed(times_s, rng.normal(0.0, noise, len(times_s)), rests) for _ in range(DRAWS)])


def _swung(t: FloatArray, rate: FloatArray, step: float, noise: float) -> tuple[FloatArray, Integrated, str]:
    """The angle of a swing: the integral without a line and without waves that are slower."""
    turned, size = _integral(rate, step), 4 * len(t)
    seen = np.abs(np.fft.rfft((rate - rate.mean()) * np.hanning(len(t)), size))
    swing_hz = float(np.argmax(seen)) / (size * step)
    slow = _slow(t, swing_hz)
    A = np.column_stack([slow, rate, np.gradient(rate, step)])
    angle = turned - slow @ least_squares(A, turned)[:-2]
    line = A[:, [0, 1, -2, -1]]
    zero, *halves = (
        float(least_squares(line[part], turned[part])[1])
        for part in (slice(None), slice(len(t) // 2), slice(len(t) // 2, None))
    )
    std = abs(halves[1] - halves[0]) / 2
    words = f"its zero ({_shown(zero, std)}) is that of a swing at {swing_hz:.3g} Hz"
    return angle, Integrated(std, noise, swing_hz), words


def _slow(times_s: FloatArray, swing_hz: float) -> FloatArray:
    """(samples, n): a line, and beside a swing the waves that are slower."""
    t = times_s - times_s[0]
    waves = np.arange(1, int(2 * float(t[-1]) * SLOWER * swing_hz) + 1)
    return np.column_stack([np.ones(len(t)), t, np.cos(np.pi * np.outer(t / t[-1], waves))])


def _integral(x: FloatArray, step: float) -> FloatArray:
    """(samples,): from the first sample on, by the cubic through four neighbours, the trapezoid at either end."""
    parts = 0.5 * (x[1:] + x[:-1])
    parts[1:-1] = (-x[:-3] + 13 * x[1:-2] + 13 * x[2:-1] - x[3:]) / 24
    return step * np.concatenate([[0.0], np.cumsum(parts)])


def _steady(rate: FloatArray, step: float, noise: float) -> BoolArray:
    """(samples,): in windows of which neighbours agree within the noise, near zero."""
    per = max(2, round(WINDOW_S / step))
    count, least = len(rate) // per, max(1e-3 * float(np.median(np.abs(rate))), 1e-9)
    windows = rate[: count * per].reshape(count, per)
    means = windows.mean(axis=1)
    alike = np.abs(np.diff(means, append=means[-1])) < STEADY * max(noise / np.sqrt(per), least)
    quiet = windows.std(axis=1) < 2 * max(noise, least)
    steady = alike & quiet & (np.abs(means) < ZERO_RAD_S)
    return np.concatenate([np.repeat(steady, per), np.zeros(len(rate) - count * per, dtype=bool)])


def _shown(value: float, std: float) -> str:
    return f"{np.degrees(value):.2g} +- {np.degrees(std):.1g} deg/s"
