"""Derivatives: filters with zero delay, the choice of a bandwidth, and how what was seen has moved.

Bandwidth: up to which frequency a recording tells accelerations. Noise of the positions grows in the spectrum of the
acceleration with the fourth power of the frequency, the motion falls: where they meet, the recording ceases to be of
use. The noise is measured, in a still segment or as the flat floor at high frequencies; where there is neither, nothing
is guessed.

Motion: a polynomial is fitted to each window of samples, of the position in the world and of the rotation in the
tangent space of SO(3) near that window, where it is as smooth as the motion is. What the window does to fast motion is
a loss; so the default window is short ("light"), and the low-pass of the balance, which treats every column alike,
takes the rest of the noise away (parallel filtering).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.polynomial.polynomial import polyder, polyval, polyvander
from numpy.typing import ArrayLike

from palpate.errors import DataProblem, PalpateError
from palpate.motion.clock import Interval
from palpate.physics.arrays import BoolArray, FloatArray, running_median, runs, windowed_sums
from palpate.physics.motion import Motion, Poses, body_rates, exp_rotation, log_rotation


def savitzky_golay(x: FloatArray, window: int, order: int, *, derivative: int = 0, rate_hz: float = 1.0) -> FloatArray:
    """Fit a polynomial to each window and take its value, or its derivative, in the middle (Savitzky & Golay 1964).

    x is (samples, ...) at a constant rate; the result has the same shape, in units of x times Hz^derivative. Half a
    window at each end comes from the outermost full window's polynomial, and is worth less.
    """
    if window % 2 == 0 or window <= order or window < 3:
        raise PalpateError(f"Savitzky-Golay: window {window} must be odd and larger than the order {order}")
    if len(x) < window:
        raise PalpateError(f"Savitzky-Golay: {len(x)} samples are fewer than the window of {window}")
    slopes, fit = _local_polynomial(window, order, derivative)
    slopes = slopes * rate_hz**derivative
    half, flat = window // 2, np.asarray(x, dtype=float).reshape(len(x), -1).T
    y = np.empty(flat.shape)  # a channel after the other, as the sums come
    y[:, :half] = flat[:, :window] @ fit.T @ slopes[:half].T
    y[:, half : flat.shape[1] - half] = windowed_sums(flat, slopes[half] @ fit)
    y[:, flat.shape[1] - half :] = flat[:, -window:] @ fit.T @ slopes[half + 1 :].T
    return y.T.reshape(np.shape(x))


@lru_cache(maxsize=128)
def _local_polynomial(window: int, order: int, derivative: int) -> tuple[FloatArray, FloatArray]:
    """(window, order + 1): the polynomial's derivative at each sample, from its coefficients; (order + 1, window):
    these from the samples."""
    u = np.linspace(-1.0, 1.0, window)  # scaled, or high orders lose their digits
    slopes = polyval(u, polyder(np.eye(order + 1), derivative)).T / (window // 2) ** derivative
    return slopes, np.asarray(np.linalg.pinv(polyvander(u, order)), dtype=float)


@dataclass(frozen=True, slots=True, eq=False)
class Lowpass:
    """A symmetric FIR low-pass that keeps every `step`-th sample, for all columns and the wrench alike.

    What it does to a signal it does to every term of the balance, so it cancels out of the parameters.
    """

    taps: FloatArray
    """(odd number,), symmetric, sum 1."""
    step: int

    def apply(self, x: FloatArray) -> FloatArray:
        """(..., samples) -> (..., kept samples); output i is centred on input i * step + len(taps) // 2."""
        return windowed_sums(x, self.taps, self.step)

    def outputs(self, samples: int) -> int:
        """How many outputs `apply` gives for this many inputs."""
        return max(0, (samples - len(self.taps)) // self.step + 1)


_HAIR = 1e-3
"""Share by which a clock may be off the rate that was meant: quartz and the computer's stamps do better."""


def design_lowpass(rate_hz: float, bandwidth_hz: float, *, attenuation_db: float = 65.0, slope: float = 2.5) -> Lowpass:
    """Pass up to the bandwidth, stop from `slope` times it, decimate to twice that (Oppenheim & Schafer, 7.5)."""
    stop = min(slope * bandwidth_hz, 0.5 * rate_hz)
    if bandwidth_hz <= 0 or bandwidth_hz >= 0.8 * stop:
        raise PalpateError(
            f"a bandwidth of {bandwidth_hz:g} Hz does not fit signals sampled at {rate_hz:g} Hz: "
            f"it must be positive and below {0.4 * rate_hz:g} Hz"
        )
    transition = 2 * np.pi * (stop - bandwidth_hz) / rate_hz
    half = int(np.ceil((attenuation_db - 7.95) / (2.285 * transition) / 2))
    n = np.arange(-half, half + 1)
    cutoff = (stop + bandwidth_hz) / rate_hz  # the middle, as a fraction of the Nyquist rate
    taps = np.sinc(cutoff * n) * _kaiser(half, 0.1102 * (attenuation_db - 8.7))
    # at 999.99 Hz as at 1000: else a hair of a clock costs a tenth more rows
    return Lowpass(taps / taps.sum(), max(1, int(rate_hz / (2 * stop) * (1 + _HAIR))))


@lru_cache(maxsize=64)
def _kaiser(half: int, beta: float) -> FloatArray:
    """(2 half + 1,): Kaiser's window (Oppenheim & Schafer, 7.5). It is symmetric: NumPy's own takes twice as long.

    A search over bandwidths asks for the same ones again and again.
    """
    falls = np.asarray(np.i0(beta * np.sqrt(1 - (np.arange(half + 1) / half) ** 2)) / np.i0(beta), dtype=float)
    return np.concatenate([falls[:0:-1], falls])


def signal_noise(x: FloatArray, window: int, order: int, *, moving: bool = False) -> float:
    """Standard deviation of white noise in a smooth signal (samples,), in its own unit; NaN is left out.

    The residual of a local polynomial has the variance 1 - h of the noise, h the filter's weight on its own middle
    (Cleveland 1979); its median says the same of motion that the polynomial cannot follow here and there.
    moving: by the faster half of the samples: where it hardly moves, an encoder's rounding shows no noise.
    """
    half, stretches = window // 2, [x[a:b] for a, b in runs(np.isfinite(x)) if b - a >= 2 * window]
    if not stretches:
        return float("nan")
    left = np.abs(np.concatenate([(part - savitzky_golay(part, window, order))[half:-half] for part in stretches]))
    if moving:
        slopes = (savitzky_golay(part, window, order, derivative=1)[half:-half] for part in stretches)
        speed = np.abs(np.concatenate(list(slopes)))
        left = left[speed >= np.median(speed)]
    middle = float(filter_weights(window, order, 0)[window // 2])
    return float(np.median(left) / 0.6745 / np.sqrt(1 - middle))


def derivative_noise(noise: float, window: int, order: int, derivative: int, rate_hz: float) -> float:
    """Standard deviation of a local polynomial's derivative of white noise, in its unit per s^derivative."""
    return noise * rate_hz**derivative * float(np.linalg.norm(filter_weights(window, order, derivative)))


def at_rest(speed: FloatArray, noise: float) -> BoolArray:
    """(samples,): where the speed cannot be distinguished from zero; an unknown speed counts as moving."""
    return np.asarray(np.abs(speed) < 5.0 * noise)  # below, nobody can say that something moves


def filter_weights(window: int, order: int, derivative: int) -> FloatArray:
    """(window,): what a local polynomial weighs the samples of its window with, for a derivative in its middle."""
    slopes, fit = _local_polynomial(window, order, derivative)
    return slopes[window // 2] @ fit


def bent_sign(speed: FloatArray, window: int, order: int) -> FloatArray:
    """The sign of a speed (samples,) as a local polynomial's second derivative shows a jump of the acceleration there.

    Weights w_j of positions make sum_j w_j max(i + j - p, 0)^2 / 2 of an acceleration that steps from 0 to 1 at the
    place p (Peano's kernel). Between samples the speed is straight; NaN counts as no change.
    """
    sign: FloatArray = np.nan_to_num(np.sign(speed))
    moving = np.flatnonzero(sign)
    turns = np.flatnonzero(sign[moving[:-1]] * sign[moving[1:]] < 0)
    before, after = moving[turns], moving[turns + 1]
    place = before + (after - before) * speed[before] / (speed[before] - speed[after])
    half = window // 2
    j = np.arange(-half, half + 1)
    at = np.floor(place).astype(np.int64)[:, None] + np.arange(-half, half + 2)
    away = at - place[:, None]
    answer: FloatArray = np.maximum(away[:, :, None] + j, 0.0) ** 2 @ filter_weights(window, order, 2) / 2
    change = (sign[after] - sign[before])[:, None] * (answer - (away > 0))
    inside = (at >= 0) & (at < len(sign))
    return np.asarray(sign + np.bincount(at[inside], change[inside], len(sign)), dtype=float)


_SHORTEST_PIECE = 64
"""Samples in a piece, at least."""
_FLATTEST_RATIO = 1.6
"""Largest ratio of the noise power in the two bands that still counts as flat."""
_FLAT_RATIO_STDS = 4.0
"""Standard deviations of that ratio that are allowed in addition."""


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """The acceleration of one quantity, all axes together: what was measured, and which part of it is noise."""

    unit: str
    """Of the quantity itself, "m" or "rad"."""
    measured: FloatArray
    """(frequencies,) unit^2 / s^4 / Hz."""
    noise: FloatArray
    """The same, of the noise alone; knocks and flickering markers are noise where there is mostly nothing else."""
    noise_std: float
    """Standard deviation of the noise of one axis and sample, in the unit, without knocks."""

    @property
    def signal(self) -> FloatArray:
        """What is left without noise; never negative."""
        return np.maximum(self.measured - self.noise, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Bandwidth:
    """The choice, and the evidence to look at."""

    bandwidth_hz: float
    """For the balance's low-pass: what it then takes from the motion and leaves of the noise is least."""
    window_s: float
    """The light window: it keeps 99.9 % of an acceleration at the bandwidth. The low-pass must follow."""
    best_window_s: float
    """The window with the least error of the second derivative, for use without a low-pass."""
    noise_from: str
    """Where the noise was measured."""
    frequencies_hz: FloatArray
    spectra: dict[str, Spectrum]
    windows_s: FloatArray
    """The windows that were compared."""
    error: FloatArray
    """With each: motion taken and noise let pass in the second derivative, RMS over the RMS of the acceleration."""


def pose_bandwidth(poses: Poses, *, still: Interval | None = None, order: int = 4) -> Bandwidth:
    """Choose bandwidth and windows for poses on an even clock; `still` (s) is a time in which nothing moved.

    Raises `DataProblem` where the noise cannot be known: state the window then.
    """
    increments = log_rotation(poses.rotation[:-1].swapaxes(1, 2) @ poses.rotation[1:])
    second = {"position": ("m", np.diff(poses.position, n=2, axis=0)), "rotation": ("rad", np.diff(increments, axis=0))}
    return _choose(poses.times_s, second, still, order)


def signal_bandwidth(
    times_s: FloatArray,
    x: FloatArray,
    *,
    still: Interval | None = None,
    order: int = 4,
    unit: str = "rad",
    units: Mapping[str, str] | None = None,
) -> Bandwidth:
    """As `pose_bandwidth`, for a signal (samples,) or (samples, channels) that is to be differentiated twice.

    All channels are axes of one quantity in `unit`, unless `units` names each with a unit of its own.
    """
    second = np.diff(x.reshape(len(x), -1), n=2, axis=0)
    quantities = {"signal": (unit, second)}
    if units is not None:
        quantities = {name: (unit, second[:, j, None]) for j, (name, unit) in enumerate(units.items())}
    return _choose(times_s, quantities, still, order)


def acceleration_bandwidth(acceleration: FloatArray, noise: FloatArray, rate: float) -> float:
    """The same for accelerations (samples, n) of which a draw of the noise is known, Hz; NaN where not seen."""
    size, signals, noises = _piece_size(rate, [acceleration]), list[FloatArray](), list[FloatArray]()
    for a, b in zip(acceleration.T, noise.T, strict=True):
        measured, known = (spectrum(x[:, None], size, rate)[0] for x in (a, b))
        signal = np.maximum(measured - known, 0.0)
        moved = float(signal.sum())
        if moved > float(known[signal > 0].sum()):
            signals.append(signal / moved)
            noises.append(known / moved)
    if not signals:
        raise DataProblem("bandwidth", "no motion rises above the noise", remedy="record a motion")
    return _best_bandwidth(np.sum(signals, axis=0), np.sum(noises, axis=0), size, rate)


def _best_bandwidth(signal: FloatArray, noise: FloatArray, size: int, rate: float) -> float:
    """With the least error of the acceleration after the low-pass of parallel filtering."""
    errors: list[tuple[float, float]] = []
    for candidate in np.geomspace(rate / size, 0.38 * rate, 60).tolist():
        gain = _response(design_lowpass(rate, candidate).taps, size)
        errors.append((float(((1 - gain) ** 2 @ signal) + gain**2 @ noise), candidate))
    return min(errors)[1]


def light_window_s(rate_hz: float, bandwidth_hz: float, order: int = 4) -> float:
    """The longest window that takes at most 0.1 % from second derivatives below the bandwidth, or the shortest."""
    best = _least(order)
    for window in _windows(rate_hz, order):
        n = np.arange(-(window // 2), window // 2 + 1)
        x = 2 * np.pi * bandwidth_hz / rate_hz
        # the loss grows with frequency up to far beyond the bandwidth
        if abs(-(np.cos(x * n) @ filter_weights(window, order, 2)) / x**2 - 1) > 0.001:
            break
        best = window
    return best / rate_hz


def _choose(
    times_s: FloatArray, second: dict[str, tuple[str, FloatArray]], still: Interval | None, order: int
) -> Bandwidth:
    steps = np.diff(times_s)
    rate = 1 / float(np.median(steps))
    # a difference over missing samples is none
    broken = (steps > 1.5 / rate)[1:] | (steps > 1.5 / rate)[:-1]
    known = {name: (unit, np.where(broken[:, None], np.nan, d)) for name, (unit, d) in second.items()}
    size = _piece_size(rate, [d for _, d in known.values()])
    f, spectra = _frequencies(size, rate), dict[str, Spectrum]()
    signal, noise = np.zeros(len(f)), np.zeros(len(f))
    for name, (unit, d) in known.items():
        what = f"bandwidth, {name}"
        floor = _white_floor(d, rate, what) if still is None else _still_level(d, times_s, still, rate, f, what)
        s = spectra[name] = _acceleration(d, unit, np.broadcast_to(floor, f.shape), size, rate)
        moved = float(s.signal.sum())
        if moved > float(s.noise[s.signal > 0].sum()):  # each that moves, in units of its acceleration's variance
            signal, noise = signal + s.signal / moved, noise + s.noise / moved
    if not signal.any():
        remedy = "state the window, or record a motion"
        raise DataProblem("bandwidth", "no motion rises above the noise", remedy=remedy)
    bandwidth = _best_bandwidth(signal, noise, size, rate)
    windows = _windows(rate, order)
    gains = np.array([_response(filter_weights(w, order, 2), size) for w in windows]) / -((2 * np.pi * f / rate) ** 2)
    squares = ((gains - 1) ** 2) @ signal + (gains**2) @ noise
    return Bandwidth(
        bandwidth_hz=bandwidth,
        window_s=light_window_s(rate, bandwidth, order),
        best_window_s=windows[int(squares.argmin())] / rate,
        noise_from="flat floor" if still is None else f"still from {still[0]:.3f} to {still[1]:.3f} s",
        frequencies_hz=f,
        spectra=spectra,
        windows_s=np.array(windows) / rate,
        error=np.sqrt(squares / signal.sum()),
    )


def _acceleration(second: FloatArray, unit: str, level: FloatArray, size: int, rate: float) -> Spectrum:
    """The spectrum of the acceleration from second differences, with noise of this spectral level in the quantity."""
    f = _frequencies(size, rate)
    difference = (2 - 2 * np.cos(2 * np.pi * f / rate)) ** 2  # what taking second differences does to a spectrum
    # noise of high frequencies, which is strong in second differences, leaks to the low ones
    leaked = level * (_seen_of_white(size, f, rate) - difference)
    to_acceleration = (2 * np.pi * f) ** 4 / difference
    mean, median = (np.maximum(x - leaked, 0.0) * to_acceleration for x in spectrum(second, size, rate)[:2])
    white = level * (2 * np.pi * f) ** 4
    # above the last frequency at which, most of the time, more than noise was seen; a hum is four wide
    above = np.flatnonzero(running_median(median / white, 9, "edge") > 4)
    noise = np.where(np.arange(len(f)) > above.max(initial=-1), np.maximum(mean, white), white)
    return Spectrum(unit, mean, noise, float(np.sqrt(np.mean(level) * rate / 2 / second.shape[1])))


def _piece_size(rate: float, second: list[FloatArray]) -> int:
    """Samples in a piece: a power of two, shorter where the recording has gaps."""
    seen = np.logical_and.reduce([np.isfinite(d).all(axis=1) for d in second])
    longest = max((b - a for a, b in runs(seen)), default=0)
    size = 1 << max(6, round(np.log2(2.5 * rate)))  # s: 0.4 Hz apart are resolved
    while size > _SHORTEST_PIECE and longest < 4 * size:
        size //= 2
    if longest < 2 * size:
        raise DataProblem(
            "bandwidth",
            f"the longest stretch without a gap has {longest + 2 if longest else 0} samples, too few to tell noise "
            f"from motion (at least {2 * size + 2})",
            remedy="state the window",
        )
    return size


def _windows(rate_hz: float, order: int) -> list[int]:
    """Odd numbers of samples from the fewest possible to a second, in steps of at most a tenth."""
    longest = max(_least(order) + 2, int(rate_hz))
    return np.unique(np.round(np.geomspace(_least(order), longest, 60)).astype(int) | 1).tolist()


def _least(order: int) -> int:
    """Samples of the shortest window of a polynomial."""
    return order + 1 + order % 2


def _response(weights: FloatArray, size: int) -> FloatArray:
    """What symmetric weights make of cosines at the frequencies of a spectrum of this size."""
    half = len(weights) // 2
    folded = np.bincount(np.arange(-half, half + 1) % size, weights, size)
    return np.asarray(np.fft.rfft(folded).real[1:-1], dtype=float)


def _frequencies(size: int, rate: float) -> FloatArray:
    """Of the spectrum, Hz, without rest and half the sampling rate."""
    return np.asarray(np.fft.rfftfreq(size, 1 / rate)[1:-1], dtype=float)


def _hann(size: int) -> FloatArray:
    return np.hanning(size + 2)[1:-1]


def spectrum(x: FloatArray, size: int, rate: float) -> tuple[FloatArray, FloatArray, int]:
    """Mean and median one-sided spectral density of (samples, channels), summed over channels, and how many pieces.

    Welch 1967 with a Hann window; pieces with NaN are left out. The median is scaled to be the mean of noise (Allen
    et al. 2012, Phys. Rev. D 85:122006): knocks and swapped markers do not move it.
    """
    window = _hann(size)
    pieces = sliding_window_view(x, size, axis=0)[:: size // 2]
    pieces = pieces[np.isfinite(pieces).all(axis=(1, 2))]
    density = 2 / (rate * (window**2).sum()) * np.abs(np.fft.rfft(pieces * window, axis=2)) ** 2
    density, count = density[:, :, 1:-1], len(pieces)
    odd = count - (1 - count % 2)
    bias = float((1 / np.arange(1, odd + 1) * (-1.0) ** np.arange(odd)).sum())
    median = np.median(density, axis=0).sum(axis=0) / bias
    return density.mean(axis=0).sum(axis=0), median, count


def _seen_of_white(size: int, f: FloatArray, rate: float) -> FloatArray:
    """Second differences as `spectrum` sees them of white noise: through its window, from covariances 6, -4, 1."""
    window = _hann(size)
    overlap = [float(window[k:] @ window[: size - k]) for k in range(3)]
    x = 2 * np.pi * f / rate
    return (6 * overlap[0] - 8 * overlap[1] * np.cos(x) + 2 * overlap[2] * np.cos(2 * x)) / overlap[0]


def _white_floor(second: FloatArray, rate: float, what: str) -> float:
    """The level of white noise, if the spectrum ends in a flat floor; refuses otherwise.

    By short pieces, of which knocks and swapped markers spoil few.
    """
    f = _frequencies(_SHORTEST_PIECE, rate)
    _, median, pieces = spectrum(second, _SHORTEST_PIECE, rate)
    density, relative = median / _seen_of_white(_SHORTEST_PIECE, f, rate), f / (rate / 2)
    bands = [density[(relative > a) & (relative < b)] for a, b in ((0.45, 0.65), (0.65, 0.95))]
    low, high = (float(np.median(band)) for band in bands)  # a hum is a line and no floor
    if not high > 0:
        raise DataProblem(what, "no noise can be seen", remedy="state the window, or a still segment")
    # pieces overlap by half: about one free number for two pieces and two frequencies
    scatter = float(np.sqrt(sum(1 / (len(band) / 2 * max(pieces / 2, 1)) for band in bands)))
    if max(low / high, high / low) > _FLATTEST_RATIO + _FLAT_RATIO_STDS * scatter:
        way = "falls towards" if low > high else "rises towards"
        raise DataProblem(
            what,
            f"the noise cannot be known: the spectrum {way} half the sampling rate (by a factor of "
            f"{max(low / high, high / low):.3g}) instead of ending in a flat floor",
            remedy="the capture program may have smoothed it, or it moves too fast for its rate: "
            "name a still segment, or state the window",
        )
    return float(np.median(np.concatenate(bands)))


def _still_level(
    second: FloatArray, times_s: FloatArray, still: Interval, rate: float, f: FloatArray, what: str
) -> FloatArray:
    """The noise's spectral density at frequencies f as a still segment shows it, white or not."""
    inside = (times_s[1:-1] > still[0]) & (times_s[1:-1] < still[1])
    size = min(_SHORTEST_PIECE, 1 << int(np.log2(max(inside.sum() // 2, 1))))
    part = second[inside]
    if size < 32 or not np.isfinite(part).all():
        raise DataProblem(
            what,
            f"the still segment {still[0]:.3f} to {still[1]:.3f} s has {inside.sum()} samples, or gaps",
            remedy=f"name one of at least {64 / rate:.1f} s without gaps",
        )
    here = _frequencies(size, rate)
    level = spectrum(part, size, rate)[0] / _seen_of_white(size, here, rate)
    # octaves: noise is smooth, its measured spectrum is not. Below the lowest, it is taken to go on as it is
    edges = rate / 2 * 2.0 ** -np.arange(int(np.log2(size)) - 2, -1, -1)
    middle = np.sqrt(edges[:-1] * edges[1:])
    mean = np.array([level[(here >= a) & (here <= b)].mean() for a, b in pairwise(edges)])
    # an encoder at rest, or a simulation: motion shows its noise, or at least its rounding
    steps = np.abs(second[np.isfinite(second) & (second != 0.0)])
    rounding = second.shape[1] * float(np.quantile(steps, 0.01)) ** 2 / (6 * rate) if len(steps) else 0.0
    if not (mean > 0).all():
        try:
            mean = np.maximum(mean, _white_floor(second, rate, what))
        except DataProblem:
            if not len(steps):
                raise
    mean = np.maximum(mean, rounding)
    return np.exp(np.interp(np.log(f), np.log(middle), np.log(mean)))


Span = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class PoseMotion:
    """A motion derived from poses, and how."""

    motion: Motion
    """NaN where the poses do not tell it; with fitted poses."""
    window_s: float
    order: int
    bandwidth: Bandwidth | None
    """How the window was chosen, unless it was given; its `bandwidth_hz` suits the balance's low-pass."""


@dataclass(frozen=True, slots=True, eq=False)
class CoordinateMotion:
    """Coordinates with their derivatives: (samples,) of one, (samples, n) of several; NaN where they are not known.

    Each coordinate keeps its own unit: rad and m, per s, per s^2.
    """

    times_s: FloatArray
    position: FloatArray
    speed: FloatArray
    acceleration: FloatArray


def pose_motion(
    poses: Poses,
    *,
    gravity: ArrayLike,
    window_s: float | None = None,
    order: int = 4,
    still: Interval | None = None,
) -> PoseMotion:
    """The motion of a frame from its poses on an even clock, by local polynomials on SO(3) and in space.

    gravity: (3,) m/s2 in the capture frame, (0, 0, -9.80665) where its z points up. window_s: length of the window;
    if not given, it is chosen from the recording, with the noise of `still` (s) if stated. Poses that are NaN, and
    jumps of the clock, split the recording; a stretch shorter than the window stays NaN, as do half a window at either
    end of one and a turn of more than 3 rad within half a window.
    """
    rate = _rate_beside_gaps(poses.times_s, "poses")
    chosen = pose_bandwidth(poses, still=still, order=order) if window_s is None else None
    window = window_samples(chosen.window_s if chosen else float(window_s or 0.0), rate, order)
    half = window // 2
    R = np.full((len(poses), 3, 3), np.nan)
    omega, omega_dot, position, velocity, acceleration = np.full((5, len(poses), 3), np.nan)
    for a, b in stretches(poses.times_s, poses.seen, window):
        inner = slice(a + half, b - half)
        R[inner], omega[inner], omega_dot[inner] = _differentiate_rotation(poses.rotation[a:b], window, order, rate)
        for d, x in enumerate((position, velocity, acceleration)):
            fitted = savitzky_golay(poses.position[a:b], window, order, derivative=d, rate_hz=rate)
            x[inner] = fitted[half:-half]
    motion = _motion(Poses(poses.times_s, R, position), velocity, acceleration, omega, omega_dot, gravity)
    return PoseMotion(motion, window / rate, order, chosen)


def published_pose_motion(poses: Poses, *, gravity: ArrayLike, window: int = 11, order: int = 4) -> PoseMotion:
    """As the paper's authors: central differences of R and of the position, each result then filtered by
    Savitzky-Golay over `window` samples (FORMATS, Wheelbarrow); ends kept, poses as measured.

    For reproduction. It damps fast motion in the columns but not in the wrench, and so biases the parameters.
    """
    rate = _rate_beside_gaps(poses.times_s, "poses")
    omega, omega_dot, velocity, acceleration = np.full((4, len(poses), 3), np.nan)
    for a, b in stretches(poses.times_s, poses.seen, window):
        R, dt = poses.rotation[a:b], 1 / rate
        spin = R.swapaxes(1, 2) @ np.gradient(R, dt, axis=0)
        vee = np.stack([spin[:, 2, 1] - spin[:, 1, 2], spin[:, 0, 2] - spin[:, 2, 0], spin[:, 1, 0] - spin[:, 0, 1]])
        omega[a:b] = savitzky_golay(0.5 * vee.T, window, order)
        for slope, x in ((omega_dot, omega), (velocity, poses.position), (acceleration, velocity)):
            slope[a:b] = savitzky_golay(np.gradient(x[a:b], dt, axis=0), window, order)
    motion = _motion(poses, velocity, acceleration, omega, omega_dot, gravity)
    return PoseMotion(motion, window / rate, order, None)


def coordinate_motion(
    times_s: FloatArray,
    position: FloatArray,
    *,
    window_s: float | None = None,
    order: int = 4,
    ends: bool = False,
) -> CoordinateMotion:
    """Speed and acceleration of coordinates (samples,) or (samples, n) by local polynomials of one window.

    NaN, clock and window as in `pose_motion`, for each coordinate by itself: a gap of one is none of the others. `ends`
    keeps the half window at either end of a stretch, fitted from one side and worth less. With window_s = 0.31 and
    `ends` it is what the paper did with the door (31 samples at 100 Hz, order 4).
    """
    rate = _rate_beside_gaps(times_s, "positions")
    window_s = signal_bandwidth(times_s, position, order=order).window_s if window_s is None else window_s
    window = window_samples(window_s, rate, order)
    columns = position.reshape(len(position), -1)
    fitted = np.full((3, *columns.shape), np.nan)
    for j, x in enumerate(columns.T):
        for a, b in stretches(times_s, np.isfinite(x), window):
            fitted[:, a:b, j] = [savitzky_golay(x[a:b], window, order, derivative=d, rate_hz=rate) for d in range(3)]
            if not ends:
                fitted[:, a : a + window // 2, j] = fitted[:, b - window // 2 : b, j] = np.nan
    return CoordinateMotion(times_s, *fitted.reshape(3, *position.shape))


def _rate_beside_gaps(times_s: FloatArray, what: str) -> float:
    """Samples per second of an even clock, on which whole samples may be missing."""
    if len(times_s) < 3:
        raise DataProblem(what, f"{len(times_s)} samples are too few to differentiate")
    steps = np.diff(times_s)
    period = float(np.median(steps))
    if not period > 0:
        raise DataProblem(what, "their times do not increase")
    # over all regular steps, because the times of one are rounded
    regular = np.abs(steps - period) < 0.5 * period
    period = float(steps[regular].mean())
    off = np.abs(steps / period - np.round(steps / period))
    if off.max() > 0.1 or steps.min() < 0.5 * period:
        worst = int(np.maximum(off, steps < 0.5 * period).argmax())
        raise DataProblem(
            what,
            f"they are not sampled evenly: a step of {1e3 * steps[worst]:.3g} ms at {times_s[worst]:.3f} s, "
            f"the usual one is {1e3 * period:.3g} ms",
            remedy="put them onto an even clock first (evenly_sampled)",
        )
    return 1 / period


def window_samples(window_s: float, rate_hz: float, order: int) -> int:
    """The nearest odd number of samples that a polynomial of this order can be fitted to."""
    if not window_s > 0:
        raise DataProblem("derivatives", f"a window of {window_s} s is not possible", remedy="it must be positive")
    return max(_least(order), 2 * round((window_s * rate_hz - 1) / 2) + 1)


def stretches(times_s: FloatArray, seen: BoolArray, shortest: int) -> list[Span]:
    """Runs [start, stop) of at least `shortest` consecutive samples, all of them seen and none missing between."""
    period = float(np.median(np.diff(times_s)))
    joined = seen[1:] & seen[:-1] & (np.diff(times_s) < 1.5 * period)
    return [(a, b + 1) for a, b in runs(joined) if b + 1 - a >= shortest]


def gravity_vector(gravity: ArrayLike) -> FloatArray:
    """(3,) m/s2 in the capture frame; anything else is refused."""
    g = np.asarray(gravity, dtype=float)
    if g.shape != (3,):
        raise ValueError(f"gravity must be a vector (3,) in the capture frame, not of shape {g.shape}")
    return g


def _motion(
    poses: Poses,
    velocity: FloatArray,
    acceleration: FloatArray,
    omega: FloatArray,
    omega_dot: FloatArray,
    gravity: ArrayLike,
) -> Motion:
    """Velocity (m/s) and acceleration (m/s2) in the world -> the body frame; gravity (3,) in the world."""
    g = gravity_vector(gravity)
    to_body = poses.rotation.swapaxes(1, 2)
    specific, v = (to_body @ (acceleration - g)[:, :, None])[..., 0], (to_body @ velocity[:, :, None])[..., 0]
    return Motion(poses.times_s, specific, omega, omega_dot, poses, v)


def _differentiate_rotation(
    R: FloatArray, window: int, order: int, rate_hz: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Fitted rotations (n, 3, 3), omega and omega_dot (n, 3) in the middle of each window of one stretch.

    Each window has its tangent space: phi = log(R_ref' R) with R_ref in its middle; `body_rates` is exact in it. Where
    the body turns so far that phi would wrap round, NaN.
    """
    half, n = window // 2, len(R) - window + 1
    fitted, omega, omega_dot = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((n, 3))
    weights = [filter_weights(window, order, d) * rate_hz**d for d in range(3)]
    for at in np.array_split(np.arange(n), 1 + n * window // (1 << 16)):  # they stay in the cache
        reference = R[at + half, None]
        phi = log_rotation(reference.swapaxes(2, 3) @ R[at[:, None] + np.arange(window)])
        phi0, phi1, phi2 = (np.einsum("w,nwi->ni", w, phi) for w in weights)
        fitted[at] = reference[:, 0] @ exp_rotation(phi0)
        omega[at], omega_dot[at] = body_rates(phi0, phi1, phi2)
    chord = np.sqrt(((R[1:] - R[:-1]) ** 2).sum(axis=(1, 2)) / 8)  # sine of half the angle from one to the next
    path = np.concatenate([[0.0], 2 * np.arcsin(np.minimum(chord, 1.0)).cumsum()])
    middle = path[half : half + n]
    lost = np.maximum(middle - path[:n], path[2 * half :] - middle) > 3.0  # rad; unique up to pi
    for x in (fitted, omega, omega_dot):
        x[lost] = np.nan
    return fitted, omega, omega_dot
