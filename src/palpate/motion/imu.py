"""How much noise an IMU brings into a balance, and whether its odd and even samples can serve as instruments.

The halves' difference holds the noise at fs/2 - f where the balance holds the noise at f: white noise is the same at
both, noise that the IMU has filtered, or samples that were stored twice, is not. Both are read off spectra of what the
IMU writes while it is still.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from palpate.findings import Finding
from palpate.motion.clock import Even, Interval, without_lost
from palpate.motion.derivatives import Lowpass, savitzky_golay
from palpate.physics.arrays import ENOUGH, BoolArray, FloatArray, rate_hz, rms, spread
from palpate.physics.motion import Motion, transport_acceleration
from palpate.physics.spline import spline

_BLACKMAN_HARRIS = (0.35875, -0.48829, 0.14128, -0.01168)
"""Of cosines of 0 to 3 turns: the window of four terms with the lowest side lobes (Harris 1978, Proc. IEEE 66:51)."""
_STILL_WINDOW_S, _MOVING_WINDOW_S, _HOP = 0.5, 1.0, 4
"""Windows of the spectra, which begin every quarter of one."""
_MOST_WINDOWS, _TOGETHER = 1024, 64
"""Windows of which spectra are taken, and so many beside each other: four minutes of motion are enough."""
_SLOW_S = 1 / 16
_STILL_FORCE, _STILL_RATE = 0.25, 0.05
"""m/s2 and rad/s: means over `_SLOW_S` vary by less than this in a still window."""
_LOWEST_HZ, _LOWEST_MOVING_HZ = 12.0, 25.0
"""A hand that holds still trembles below the first; a hand that moves does nothing above the second."""
_WHITE_RATIO, _WHITE_STDS = log(1.25), 4.5
"""Noise powers closer than this ratio, or than this many standard deviations, are the same."""
_STEADY_SCATTER = 1.6
"""Scatter between moving windows, over that of noise alone, beyond which it is not the IMU's noise they show."""
_HELD_SHARE, _BLOCK = 0.15, 64
"""Rows that equal the one before, in the livelier half of all blocks, from which samples are stored twice."""
_CHANNELS = {"accelerometer": slice(0, 3), "gyroscope": slice(3, 6)}


@dataclass(frozen=True, slots=True)
class Smoothing:
    """Windows (s) and orders of the Savitzky-Golay filters on IMU signals.

    The angular rate is differentiated over `slope_window_s`; then all three signals are smoothed over `window_s`.
    Without arguments it is just enough to differentiate: the balance's own low-pass follows, on every column alike.
    """

    slope_window_s: float = 0.021
    slope_order: int = 3
    window_s: float = 0.021
    order: int = 3

    @property
    def reach_s(self) -> float:
        """How far a sample's result looks to either side."""
        return (self.slope_window_s + self.window_s) / 2


PARALLEL = Smoothing()
"""For parallel filtering."""


def imu_motion(
    times_s: FloatArray,
    acceleration: FloatArray,
    angular_rate: FloatArray,
    T_sensor_imu: FloatArray,
    smoothing: Smoothing = PARALLEL,
) -> Motion:
    """Rotate IMU signals into the sensor frame and move them to its origin, on the IMU's even clock.

    acceleration: specific force at the IMU (samples, 3), m/s2; angular_rate (samples, 3), rad/s, both in the IMU's
    axes; T_sensor_imu: pose of the IMU in the sensor frame (4 x 4, m). An accelerometer reads a - g, which is what
    the balance needs (FORMATS, IMU).
    """
    rate = rate_hz(times_s)
    R, r = T_sensor_imu[:3, :3], T_sensor_imu[:3, 3]
    omega = (R @ angular_rate.T).T  # a component after the other, as filters and splines go through them
    slope_window = _odd(smoothing.slope_window_s * rate)
    omega_dot = savitzky_golay(omega, slope_window, smoothing.slope_order, derivative=1, rate_hz=rate)
    a = transport_acceleration((R @ acceleration.T).T, omega, omega_dot, -r)
    window = _odd(smoothing.window_s * rate)
    a, omega, omega_dot = (savitzky_golay(x, window, smoothing.order) for x in (a, omega, omega_dot))
    return Motion(times_s, a, omega, omega_dot)


def resample_motion(
    motion: Motion, times_s: FloatArray, *, lost: tuple[Interval, ...] = (), reach_s: float = 0.0
) -> Motion:
    """The motion at other times of the same clock, by cubic splines.

    NaN outside the motion and, widened by the reach of the filters, in the intervals in which it was not seen.
    """
    x, t = resample_values(motion, times_s), motion.times_s
    ends = ((-np.inf, t[0] + reach_s), (t[-1] - reach_s, np.inf))
    x = without_lost(times_s, without_lost(times_s, x, ends), lost, reach_s)
    return Motion(times_s, x[:, 0:3], x[:, 3:6], x[:, 6:9])


def resample_values(motion: Motion, times_s: FloatArray) -> FloatArray:
    """(samples, 9): specific force, angular rate and its derivative at other times of the same clock."""
    parts = (motion.specific_acceleration.T, motion.omega.T, motion.omega_dot.T)
    return spline(motion.times_s, np.concatenate(parts).T)(times_s)


def _odd(samples: float) -> int:
    """The nearest odd window of at least five samples."""
    return max(5, 2 * round((samples - 1) / 2) + 1)


@dataclass(frozen=True, slots=True, eq=False)
class ImuNoise:
    """The noise of the specific force (3, m/s2) and the angular rate (3, rad/s) as far as a balance lets it pass."""

    level: FloatArray | None
    """(6,): standard deviation per sample of the white noise that leaves as much in the balance; None: not known."""
    instead_of_halves: FloatArray | None
    """(6,): `level` where split halves would take out the wrong amount, so that it should be taken out; else None."""
    findings: tuple[Finding, ...]


def judge_imu_noise(imu: Even, smoothing: Smoothing, lowpass: Lowpass | None, lowpass_times_s: FloatArray) -> ImuNoise:
    """Measure the noise of specific force and angular rate, imu.x (samples, 6), inside the band of a balance.

    smoothing, lowpass (of signals at the even `lowpass_times_s`): what the balance does to them. Still windows are
    preferred; while the IMU moves, only what is steady above a hand's frequencies is taken for noise.
    """
    rate = rate_hz(imu.times_s)
    held = _held_findings(imu.x)
    if rate < 4 * _LOWEST_HZ or len(imu.x) < 2 * _MOVING_WINDOW_S * rate:
        return ImuNoise(None, None, held)
    x = without_lost(imu.times_s, imu.x, imu.lost)
    still = _still_spectra(x, rate)
    enough = still is not None and still.duration_s >= 2.0  # else the motion tells the noise better, if it can
    spectra = still if enough else _moving_spectra(x, rate) or still
    if spectra is None:
        evidence = "its noise cannot be judged: it is never still, and what it shows above 25 Hz is not steady"
        return ImuNoise(None, None, (*held, Finding("imu-noise", evidence, "IMU", _REMEDY)))

    def gains(frequency_hz: FloatArray) -> FloatArray:
        """(frequencies, 6): power gains of what enters the balance, the specific force and the slope of the rate.

        The rate itself enters too, but noise matters where it is strongest against the motion: in the slope.
        """
        half = round(2 * smoothing.reach_s * rate) + 5
        impulse = np.zeros((2 * half + 1, 3))
        impulse[half] = 1.0
        m = imu_motion(np.arange(2 * half + 1) / rate, impulse, impulse, np.eye(4), smoothing)
        both = [_gain(x[:, 0], rate, frequency_hz) for x in (m.specific_acceleration, m.omega_dot)]
        low = 1.0 if lowpass is None else _gain(lowpass.taps, rate_hz(lowpass_times_s), frequency_hz)
        return np.repeat(np.stack([low * gain for gain in both], axis=1), 3, axis=1)

    inside = gains(spectra.frequency_hz)
    needed, taken = spectra.level(inside), spectra.level(inside[::-1])
    least = 1e-12 * needed.max() + 1e-300
    ratio = np.log((needed + least) / (taken + least))
    std = np.hypot(spectra.log_std(inside), spectra.log_std(inside[::-1]))
    wrong = np.abs(ratio) > np.maximum(_WHITE_RATIO, _WHITE_STDS * std)
    for at in _CHANNELS.values():  # or an instrument's three channels together
        together = float(np.abs(ratio[at].mean()))
        wrong[at] |= together > max(_WHITE_RATIO, _WHITE_STDS * float(np.sqrt((std[at] ** 2).sum())) / 3)
    if wrong.any():
        x = np.nan_to_num(x[max(0, len(x) - ENOUGH) // 2 :][:ENOUGH])  # the middle of a long recording is enough
        spectrum = np.fft.rfft(x - x.mean(axis=0), axis=0) / np.sqrt(len(x))
        frequency_hz = np.arange(len(spectrum), dtype=float) * (rate / len(x))
        wrong &= _matters(spectrum, gains(frequency_hz), np.abs(needed - taken))
    level, halves = np.sqrt(needed), np.sqrt(taken)
    instead = level if held or wrong.any() else None
    return ImuNoise(level, instead, held or _coloured_findings(level, halves, wrong, spectra))


_REMEDY = "leave the IMU still for some seconds at the beginning or end of the recording"


def _coloured_findings(
    level: FloatArray, halves: FloatArray, wrong: BoolArray, spectra: _Spectra
) -> tuple[Finding, ...]:
    """What to say about channels whose noise is not white."""
    noise: list[str] = []
    for name, unit in (("accelerometer", "m/s2"), ("gyroscope", "rad/s")):
        at = _CHANNELS[name]
        if wrong[at].any():
            white = f"{name} like {rms(level[at]):.3g} {unit} of white noise per sample"
            noise.append(f"{white}, samples side by side {rms(halves[at]):.3g}")
    if not noise:
        return ()
    where = f"in {spectra.duration_s:.1f} s " + ("of stillness" if spectra.still else "of motion, above 25 Hz")
    advice = "turn the IMU's own filter off" + ("" if spectra.still else f", or {_REMEDY}")
    evidence = (
        f"its noise is not white ({'; '.join(noise)}; measured {where}): split halves do not remove it, the measured "
        "level was used instead"
    )
    return (Finding("imu-noise", evidence, "IMU", advice),)


def _matters(spectrum: NDArray[np.complex128], gains: FloatArray, power: FloatArray) -> BoolArray:
    """Per instrument: is white noise of this power (6,) worth a word beside what passes where it moves least?"""
    passed = spectrum * np.sqrt(gains)
    scale = np.sqrt(np.maximum(power * gains.sum(axis=0), 1e-300))
    worth = np.zeros(6, dtype=bool)
    for at in _CHANNELS.values():
        moved = np.real(passed[:, at].conj().T @ passed[:, at]) / scale[at, None] / scale[at]
        worth[at] = np.linalg.eigvalsh(moved)[0] < 1 / 1e-4
    return worth


def _gain(taps: FloatArray, rate_hz: float, frequency_hz: FloatArray) -> FloatArray:
    """|H(f)|^2 of an FIR filter; nothing passes above the Nyquist rate."""
    size = max(4096, 2 * len(taps))
    at = np.fft.rfftfreq(size, 1 / rate_hz)
    return np.interp(frequency_hz, at, np.abs(np.fft.rfft(taps, size)) ** 2, right=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Spectra:
    """Power per frequency of windows, scaled so that white noise of variance v gives v everywhere."""

    power: FloatArray
    """(windows, frequencies 0 ... fs/2, 6)."""
    frequency_hz: FloatArray
    lowest_hz: float
    """Below, it is taken as flat: there it is motion rather than noise."""
    alike: float
    """Over how many frequencies and windows a deviation is shared."""
    duration_s: float
    still: bool

    def level(self, gains: FloatArray) -> FloatArray:
        """(6,): variance of the white noise of which as much passes gains (frequencies, 6)."""
        weights = self._folded(gains)
        return (self.power.mean(axis=0) * weights).sum(axis=0) / weights.sum(axis=0)

    def log_std(self, gains: FloatArray) -> FloatArray:
        """(6,): standard deviation of the logarithm of such a level."""
        weights = self._folded(gains)
        return np.sqrt(self.alike * (weights**2).sum(axis=0) / len(self.power)) / weights.sum(axis=0)

    def _folded(self, gains: FloatArray) -> FloatArray:
        """Gains below the lowest frequency count for the frequencies right above it."""
        below = self.frequency_hz < self.lowest_hz
        base = ~below & (self.frequency_hz < self.lowest_hz + 12.0)  # so wide a band tells the noise below
        weights = np.where(below[:, None], 0.0, gains)
        weights[base] += gains[below].sum(axis=0) / np.count_nonzero(base)
        return weights


def _still_spectra(x: FloatArray, rate_hz: float) -> _Spectra | None:
    windows = _windows(x, 2 * round(_STILL_WINDOW_S * rate_hz / 2))
    slow = max(1, round(_SLOW_S * rate_hz))
    count, still = windows.shape[1] // slow, list[BoolArray]()
    for some in (windows[i : i + _TOGETHER] for i in range(0, len(windows), _TOGETHER)):
        means = some[:, : count * slow].reshape(len(some), count, slow, 6).mean(axis=2)
        swing = np.ptp(means, axis=1)
        still.append((swing < np.repeat([_STILL_FORCE, _STILL_RATE], 3)).all(axis=1))  # NaN is not
    at = np.flatnonzero(np.concatenate(still))
    if not len(at):
        return None
    chosen = windows[_some_of(at)]
    return _without_knocks(_spectra(chosen, np.hanning(windows.shape[1] + 1)[:-1], rate_hz, _LOWEST_HZ, True))


def _some_of(windows: NDArray[np.int64]) -> NDArray[np.int64]:
    """All windows, or enough of them to know a spectrum: neighbours, here and there."""
    return np.concatenate([windows[a:b] for a, b in spread(len(windows), _MOST_WINDOWS, _TOGETHER)])


def _moving_spectra(x: FloatArray, rate_hz: float) -> _Spectra | None:
    """None where the power above a hand's frequencies is not steady: then it is the motion's, not the IMU's."""
    if rate_hz < 8 * _LOWEST_MOVING_HZ:
        return None
    windows = _windows(x, 2 * round(_MOVING_WINDOW_S * rate_hz / 2))
    windows = windows[_some_of(np.arange(len(windows)))]
    windows = windows[np.isfinite(windows).all(axis=(1, 2))]
    if len(windows) < 4 * _HOP:
        return None
    turns = np.linspace(0.0, 2 * np.pi, windows.shape[1], endpoint=False)
    taper = np.asarray(np.cos(turns[:, None] * np.arange(4)) @ _BLACKMAN_HARRIS, dtype=float)
    seen = _spectra(windows, taper, rate_hz, _LOWEST_MOVING_HZ, False)
    band = (seen.frequency_hz >= _LOWEST_MOVING_HZ) & (seen.frequency_hz < 2 * _LOWEST_MOVING_HZ)
    loud = np.log(np.maximum(seen.power[:, band].mean(axis=1), 1e-300))
    scatter = 1.4826 * np.median(np.abs(loud - np.median(loud, axis=0)), axis=0)
    expected = np.sqrt(_shared(taper) / np.count_nonzero(band))
    return _without_knocks(seen) if bool((scatter < _STEADY_SCATTER * expected).all()) else None


def _windows(x: FloatArray, size: int) -> FloatArray:
    """(windows, size, 6), overlapping."""
    return sliding_window_view(x, size, axis=0)[:: size // _HOP].transpose(0, 2, 1)


def _spectra(windows: FloatArray, taper: FloatArray, rate_hz: float, lowest_hz: float, still: bool) -> _Spectra:
    """Of first differences, in which the slow motion is weak, over what white noise gives."""
    n = len(taper) - 1
    w = taper[:n]
    power = np.abs(np.fft.rfft(np.diff(windows, axis=1) * w[:, None], n + 1, axis=1)) ** 2
    cycles = np.arange(power.shape[1], dtype=float) / (n + 1)
    white = 2 * (w @ w) - 2 * (w[1:] @ w[:-1]) * np.cos(2 * np.pi * cycles)
    # of so many overlapping windows one counts (Welch 1967)
    shifts = [round(k * len(taper) / _HOP) for k in range(1, _HOP)]
    overlap = 1 + 2 * sum(float(taper[s:] @ taper[: len(taper) - s] / (taper @ taper)) ** 2 for s in shifts)
    alike = _shared(taper) * overlap
    duration_s = (len(windows) + _HOP - 1) / _HOP * len(taper) / rate_hz
    return _Spectra(power / white[:, None], cycles * rate_hz, lowest_hz, alike, duration_s, still)


def _shared(taper: FloatArray) -> float:
    """Over how many neighbouring frequencies a window smears (Percival & Walden, 6.3)."""
    return float(len(taper) * np.sum(taper**4) / np.sum(taper**2) ** 2)


def _without_knocks(seen: _Spectra) -> _Spectra:
    band = seen.frequency_hz >= seen.lowest_hz
    loud = seen.power[:, band].mean(axis=1)
    return replace(seen, power=seen.power[(loud <= 3.0 * np.median(loud, axis=0)).all(axis=1)])


def _held_findings(x: FloatArray) -> tuple[Finding, ...]:
    """Instruments whose samples are stored several times: all three values repeat while they move."""
    x = np.concatenate([x[a:b] for a, b in spread(len(x), ENOUGH, 1 << 12)])
    new, count = list[str](), (len(x) - 1) // _BLOCK
    for name, at in _CHANNELS.items():
        blocks = x[: count * _BLOCK, at].reshape(count, _BLOCK, 3)
        same = (np.diff(x[:, at], axis=0) == 0).all(axis=1)[: count * _BLOCK].reshape(count, _BLOCK)
        lively = np.ptp(blocks, axis=1).sum(axis=1)
        share = float(same[lively >= np.median(lively)].mean()) if lively.max(initial=0.0) > 0 else 0.0
        new += [f"{100 * (1 - share):.0f} % of the {name}'s"] if share > _HELD_SHARE else []
    if not new:
        return ()
    evidence = (
        f"its file repeats samples: only {' and '.join(new)} are new; it is slower than it was stored, and split "
        "halves do not show its noise"
    )
    return (Finding("held-samples", evidence, "IMU", "store it at its own rate"),)
