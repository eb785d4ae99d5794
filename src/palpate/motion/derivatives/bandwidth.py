"""Bandwidth: up to which frequency a recording tells accelerations, and over which window to differentiate it.

Everything is seen in the spectrum of the acceleration, taken from second differences. Noise of the positions grows in
it with the fourth power of the frequency, the motion falls: where they meet, the recording ceases to be of use. The
noise is measured, in a still segment or as the flat floor at high frequencies; where there is neither, nothing is
guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.motion.clocks.clock import Interval
from palpate.motion.derivatives.filters import design_lowpass, filter_weights
from palpate.physics.arrays import FloatArray
from palpate.physics.poses import Poses
from palpate.physics.so3 import log_rotation

_PIECE_S = 2.5
"""Length of the pieces whose spectra are averaged: frequencies 0.4 Hz apart are resolved."""
_FLATNESS = 0.001
"""What a light window may take from an acceleration at the bandwidth."""
SHORTEST = 64
"""Samples in a piece, at least."""
_FLOOR = ((0.45, 0.65), (0.65, 0.95))
"""Bands, in Nyquist rates, in which white noise is equally strong."""
_FLAT = 1.6
"""Largest ratio of the noise power in the two bands that still counts as flat."""
_FLAT_STDS = 4.0
"""Standard deviations of that ratio that are allowed in addition."""


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """The acceleration of one quantity, all axes together: what was measured, and which part of it is noise."""

    unit: str
    """Of the quantity itself, "m" or "rad"."""
    measured: FloatArray
    """(frequencies,) unit^2 / s^4 / Hz."""
    noise: FloatArray
    """The same, of the noise alone; knocks and flickering markers count as noise where most of the time there is
    nothing else.
    """
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
    """The error of the second derivative (RMS over the RMS of the acceleration; all quantities together) with each:
    what the window takes from the motion and what it lets pass of the noise.
    """


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


def light_window_s(rate_hz: float, bandwidth_hz: float, order: int = 4) -> float:
    """The longest window that takes at most 0.1 % from the second derivative of anything below the bandwidth, or
    the shortest possible.
    """
    best = _least(order)
    for window in _windows(rate_hz, order):
        n = np.arange(-(window // 2), window // 2 + 1)
        x = 2 * np.pi * bandwidth_hz / rate_hz
        # the loss grows with frequency up to far beyond the bandwidth
        if abs(-(np.cos(x * n) @ filter_weights(window, order, 2)) / x**2 - 1) > _FLATNESS:
            break
        best = window
    return best / rate_hz


def _choose(
    times_s: FloatArray, second: dict[str, tuple[str, FloatArray]], still: Interval | None, order: int
) -> Bandwidth:
    what = "bandwidth"
    steps = np.diff(times_s)
    rate = 1 / float(np.median(steps))
    # a difference over missing samples is none
    broken = (steps > 1.5 / rate)[1:] | (steps > 1.5 / rate)[:-1]
    seen = {name: (unit, np.where(broken[:, None], np.nan, d)) for name, (unit, d) in second.items()}
    size = _piece_size(rate, [d for _, d in seen.values()], what)
    f = frequencies(size, rate)
    spectra: dict[str, Spectrum] = {}
    for name, (unit, d) in seen.items():
        where = f"{what}, {name}"
        if still is None:
            level = np.full(len(f), white_floor(d, rate, where))
        else:
            level = still_level(d, times_s, still, rate, f, where)
        spectra[name] = _acceleration(d, unit, level, size, rate)
    signal, noise = _together(spectra, what)
    bandwidth = _best_lowpass(rate, size, signal, noise)
    windows = _windows(rate, order)
    ideal = -((2 * np.pi * f / rate) ** 2)
    gains = np.array([_response(filter_weights(w, order, 2), size) / ideal for w in windows])
    squares = ((gains - 1) ** 2) @ signal + (gains**2) @ noise
    best = windows[int(squares.argmin())]
    return Bandwidth(
        bandwidth_hz=bandwidth,
        window_s=light_window_s(rate, bandwidth, order),
        best_window_s=best / rate,
        noise_from="flat floor" if still is None else f"still from {still[0]:.3f} to {still[1]:.3f} s",
        frequencies_hz=f,
        spectra=spectra,
        windows_s=np.array(windows) / rate,
        error=np.sqrt(squares / signal.sum()),
    )


def _acceleration(second: FloatArray, unit: str, level: FloatArray, size: int, rate: float) -> Spectrum:
    """The spectrum of the acceleration from second differences, with noise of this spectral level in the quantity."""
    f = frequencies(size, rate)
    difference = second_difference(f, rate)
    # noise of high frequencies, which is strong in second differences, leaks to the low ones
    leaked = level * (seen_of_white(size, f, rate) - difference)
    to_acceleration = (2 * np.pi * f) ** 4 / difference
    mean, median = (np.maximum(x - leaked, 0.0) * to_acceleration for x in spectrum(second, size, rate)[:2])
    white = level * (2 * np.pi * f) ** 4
    noise = np.where(_beyond_motion(median, white), np.maximum(mean, white), white)
    return Spectrum(unit, mean, noise, float(np.sqrt(np.mean(level) * rate / 2 / second.shape[1])))


def _piece_size(rate: float, second: list[FloatArray], what: str) -> int:
    """Samples in a piece: a power of two, shorter where the recording has gaps."""
    seen = np.logical_and.reduce([np.isfinite(d).all(axis=1) for d in second])
    edges = np.flatnonzero(np.diff(np.concatenate([[False], seen, [False]])))
    longest = int(np.diff(edges)[::2].max(initial=0))
    size = 1 << max(6, round(np.log2(_PIECE_S * rate)))
    while size > SHORTEST and longest < 4 * size:
        size //= 2
    if longest < 2 * size:
        raise DataProblem(
            what,
            f"the longest stretch without a gap has {longest + 2 if longest else 0} samples, too few to tell noise "
            f"from motion (at least {2 * size + 2})",
            remedy="state the window",
        )
    return size


def _beyond_motion(median: FloatArray, white: FloatArray) -> NDArray[np.bool_]:
    """Frequencies above the last one at which, most of the time, more than noise was seen."""
    from scipy.ndimage import median_filter

    above = np.flatnonzero(median_filter(median / white, 9, mode="nearest") > 4)  # a hum is four wide
    return np.arange(len(median)) > above.max(initial=-1)


def _together(spectra: dict[str, Spectrum], what: str) -> tuple[FloatArray, FloatArray]:
    """Signal and noise of all quantities that move, each in units of its own acceleration's variance."""
    parts: list[tuple[FloatArray, FloatArray]] = []
    for s in spectra.values():
        moved = float(s.signal.sum())
        if moved > float(s.noise[s.signal > 0].sum()):
            parts.append((s.signal / moved, s.noise / moved))
    if not parts:
        raise DataProblem(what, "nothing moves more than the noise", remedy="state the window, or record a motion")
    return np.add.reduce([x for x, _ in parts]), np.add.reduce([n for _, n in parts])


def _best_lowpass(rate: float, size: int, signal: FloatArray, noise: FloatArray) -> float:
    """The bandwidth (Hz) of the low-pass of parallel filtering after which the acceleration has the least error."""
    errors: list[tuple[float, float]] = []
    first, last, count = rate / size, 0.38 * rate, 60
    for k in range(count):
        bandwidth = first * (last / first) ** (k / (count - 1))
        gain = _response(design_lowpass(rate, bandwidth).taps, size)
        errors.append((float(((1 - gain) ** 2 @ signal) + gain**2 @ noise), bandwidth))
    return min(errors)[1]


def _windows(rate_hz: float, order: int) -> list[int]:
    """Odd numbers of samples from the fewest possible to a second, in steps of at most a tenth."""
    longest = max(_least(order) + 2, int(rate_hz))
    steps = np.unique(np.round(np.geomspace(_least(order), longest, 60)).astype(int) | 1)
    return [int(w) for w in steps]


def _least(order: int) -> int:
    return order + 1 + order % 2


def _response(weights: FloatArray, size: int) -> FloatArray:
    """What symmetric weights make of cosines at the frequencies of a spectrum of this size."""
    half = len(weights) // 2
    folded = np.bincount(np.arange(-half, half + 1) % size, weights, size)
    return np.asarray(np.fft.rfft(folded).real[1:-1], dtype=float)


def frequencies(size: int, rate: float) -> FloatArray:
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


def second_difference(f: FloatArray, rate: float) -> FloatArray:
    """What taking second differences does to a spectrum."""
    return (2 - 2 * np.cos(2 * np.pi * f / rate)) ** 2


def seen_of_white(size: int, f: FloatArray, rate: float) -> FloatArray:
    """`second_difference` as `spectrum` sees it of white noise: through its window, from covariances 6, -4, 1."""
    window = _hann(size)
    overlap = [float(window[k:] @ window[: size - k]) for k in range(3)]
    x = 2 * np.pi * f / rate
    return (6 * overlap[0] - 8 * overlap[1] * np.cos(x) + 2 * overlap[2] * np.cos(2 * x)) / overlap[0]


def white_floor(second: FloatArray, rate: float, what: str) -> float:
    """The level of white noise, if the spectrum ends in a flat floor; refuses otherwise.

    By short pieces, of which knocks and swapped markers spoil few.
    """
    f = frequencies(SHORTEST, rate)
    _, median, pieces = spectrum(second, SHORTEST, rate)
    density, relative = median / seen_of_white(SHORTEST, f, rate), f / (rate / 2)
    bands = [density[(relative > a) & (relative < b)] for a, b in _FLOOR]
    low, high = (float(np.median(band)) for band in bands)  # a hum is a line and no floor
    if not high > 0:
        raise DataProblem(what, "there is no noise to see", remedy="state the window, or a still segment")
    # pieces overlap by half: about one free number for two pieces and two frequencies
    scatter = float(np.sqrt(sum(1 / (len(band) / 2 * max(pieces / 2, 1)) for band in bands)))
    if max(low / high, high / low) > _FLAT + _FLAT_STDS * scatter:
        way = "falls towards" if low > high else "rises towards"
        raise DataProblem(
            what,
            f"the noise cannot be known: the spectrum {way} half the sampling rate (by a factor of "
            f"{max(low / high, high / low):.3g}) instead of ending in a flat floor",
            remedy="the capture program may have smoothed it, or it moves too fast for its rate: "
            "name a still segment, or state the window",
        )
    return float(np.median(np.concatenate(bands)))


def still_level(
    second: FloatArray, times_s: FloatArray, still: Interval, rate: float, f: FloatArray, what: str
) -> FloatArray:
    """The noise's spectral density at frequencies f as a still segment shows it, white or not."""
    inside = (times_s[1:-1] > still[0]) & (times_s[1:-1] < still[1])
    size = min(SHORTEST, 1 << int(np.log2(max(inside.sum() // 2, 1))))
    part = second[inside]
    if size < 32 or not np.isfinite(part).all():
        raise DataProblem(
            what,
            f"the still segment {still[0]:.3f} to {still[1]:.3f} s has {inside.sum()} samples, or gaps",
            remedy=f"name one of at least {64 / rate:.1f} s without gaps",
        )
    here = frequencies(size, rate)
    level = spectrum(part, size, rate)[0] / seen_of_white(size, here, rate)
    # octaves: noise is smooth, its measured spectrum is not. Below the lowest, it is taken to go on as it is
    edges = rate / 2 * 2.0 ** -np.arange(int(np.log2(size)) - 2, -1, -1)
    middle = np.sqrt(edges[:-1] * edges[1:])
    mean = np.array([level[(here >= a) & (here <= b)].mean() for a, b in pairwise(edges)])
    if not (mean > 0).all():
        raise DataProblem(what, "the still segment shows no noise at all", remedy="state the window")
    return np.exp(np.interp(np.log(f), np.log(middle), np.log(mean)))
