"""Spectra of second differences, and the noise in them: measured, or refused where it cannot be known."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from palpate.errors import DataProblem
from palpate.motion.evenly import Interval
from palpate.physics.arrays import FloatArray

SHORTEST = 64
"""Samples in a piece, at least."""
_FLOOR = ((0.45, 0.65), (0.65, 0.95))
"""Bands, in Nyquist rates, in which white noise is equally strong."""
_FLAT = 1.6
"""By how much (power) they may differ, ..."""
_SURE = 4.0
"""... beyond this many standard deviations."""


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
    if max(low / high, high / low) > _FLAT + _SURE * scatter:
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
    own = frequencies(size, rate)
    level = spectrum(part, size, rate)[0] / seen_of_white(size, own, rate)
    # octaves: noise is smooth, its measured spectrum is not. Below the lowest, it is taken to go on as it is
    edges = rate / 2 * 2.0 ** -np.arange(int(np.log2(size)) - 2, -1, -1)
    middle = np.sqrt(edges[:-1] * edges[1:])
    mean = np.array([level[(own >= a) & (own <= b)].mean() for a, b in pairwise(edges)])
    if not (mean > 0).all():
        raise DataProblem(what, "the still segment shows no noise at all", remedy="state the window")
    return np.exp(np.interp(np.log(f), np.log(middle), np.log(mean)))
