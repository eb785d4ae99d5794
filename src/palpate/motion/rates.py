"""Rate conversion: signals of one clock at the times of another, without what the new rate cannot show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from palpate.errors import DataProblem, PalpateError
from palpate.motion.clock_map import ClockMap
from palpate.physics.arrays import FloatArray

PASS = 0.8
"""Up to this share of the smaller Nyquist frequency a signal passes; from the whole of it on it is stopped."""
ATTENUATION_DB = 80.0
"""What is stopped is down by this; what passes is right to the same fraction, 1e-4."""
_FINENESS = 512
"""Points of the kernel's table per input sample; linear interpolation between them is right to 1e-6."""
_BLOCK = 1 << 20
_UNEVEN = 0.05
"""Periods by which a time may deviate from an even clock; more would be noise in the result."""


@dataclass(frozen=True, slots=True, eq=False)
class _Kernel:
    """Windowed sinc, as a table over the distance in input samples, 0 to `reach`."""

    reach: int
    table: FloatArray


def resample(
    times_s: FloatArray,
    x: FloatArray,
    at_s: FloatArray,
    *,
    clock: ClockMap | None = None,
    rate_hz: float | None = None,
) -> FloatArray:
    """(samples, ...) at the times `at_s` (s) of the reference clock, low-passed for their rate: (len(at_s), ...).

    times_s: even, s, on the device's clock; `clock` maps it to the reference (the same clock if None). `rate_hz` is the
    rate that `at_s` stands for, by default their mean rate. A sinc with a Kaiser window (Oppenheim & Schafer, 7.5) is
    evaluated at the exact times, so any ratio of rates and any offset are right alike. NaN where the kernel leaves the
    recording or meets a NaN: gaps stay gaps, wider by the filter's reach (`reach_s`).
    """
    start, period = _even_clock(times_s)
    kernel = _kernel(1 / period, rate_hz if rate_hz is not None else _mean_rate(at_s))
    there = at_s if clock is None else clock.from_reference(at_s)
    return _evaluate(kernel, np.asarray(x, dtype=float), (there - start) / period)


def reach_s(rate_in_hz: float, rate_out_hz: float) -> float:
    """How far (s) a result of `resample` looks to either side."""
    return _kernel(rate_in_hz, rate_out_hz).reach / rate_in_hz


def decimate(times_s: FloatArray, x: FloatArray, every: int, *, first: int = 0) -> tuple[FloatArray, FloatArray]:
    """Every `every`-th sample from the index `first` on, unfiltered, as the paper's authors do: for reproduction only.

    What is faster than half the new rate folds back into the result.
    """
    if every < 1 or not 0 <= first < len(times_s):
        raise PalpateError(f"cannot take every {every}th of {len(times_s)} samples from {first} on")
    return times_s[first::every], x[first::every]


@lru_cache(maxsize=8)
def _kernel(rate_in_hz: float, rate_out_hz: float) -> _Kernel:
    if not (rate_in_hz > 0 and rate_out_hz > 0):
        raise PalpateError(f"rates must be positive, not {rate_in_hz:g} and {rate_out_hz:g} Hz")
    stop = min(1.0, rate_out_hz / rate_in_hz) / 2  # cycles per input sample
    transition = 2 * np.pi * (1 - PASS) * stop
    reach = int(np.ceil((ATTENUATION_DB - 7.95) / (2.285 * transition) / 2))
    distance = np.arange(reach * _FINENESS + 1) / _FINENESS
    cutoff = (1 + PASS) * stop  # twice the middle of the transition
    window = np.i0(0.1102 * (ATTENUATION_DB - 8.7) * np.sqrt(1 - (distance / reach) ** 2))
    return _Kernel(reach, cutoff * np.sinc(cutoff * distance) * window / window[0])


def _evaluate(kernel: _Kernel, x: FloatArray, at: FloatArray) -> FloatArray:
    """Weighted sums of the 2 reach samples around each place (in samples)."""
    from scipy.sparse import csr_array

    flat = x.reshape(len(x), -1)
    result = np.full((len(at), flat.shape[1]), np.nan)
    first = np.floor(at).astype(np.int64) - kernel.reach + 1
    inside = np.flatnonzero((first >= 0) & (first + 2 * kernel.reach <= len(x)))
    taps = np.arange(2 * kernel.reach)
    for some in np.array_split(inside, max(1, len(inside) * len(taps) // _BLOCK)):
        index = first[some, None] + taps
        place = np.abs(at[some, None] - index) * _FINENESS
        low = np.minimum(place.astype(np.int64), len(kernel.table) - 2)
        weights = kernel.table[low]
        weights += (place - low) * (kernel.table[low + 1] - weights)
        weights /= weights.sum(axis=1, keepdims=True)  # a constant stays itself to the last digit
        rows = np.arange(0, index.size + 1, len(taps))
        result[some] = csr_array((weights.ravel(), index.ravel(), rows), shape=(len(some), len(x))) @ flat
    return result.reshape(len(at), *x.shape[1:])


def _even_clock(times_s: FloatArray) -> tuple[float, float]:
    """First time and period, s."""
    if len(times_s) < 2 or not times_s[-1] > times_s[0]:
        raise DataProblem("rate conversion", f"{len(times_s)} samples have no rate")
    start, period = float(times_s[0]), float((times_s[-1] - times_s[0]) / (len(times_s) - 1))
    off = float(np.abs(times_s - start - period * np.arange(len(times_s))).max()) / period
    if not off < _UNEVEN:
        raise DataProblem(
            "rate conversion",
            f"the times deviate from an even clock by up to {off:.2g} periods",
            remedy="put the samples on an even clock first (evenly_sampled)",
        )
    return start, period


def _mean_rate(at_s: FloatArray) -> float:
    if len(at_s) < 2:
        raise PalpateError("the rate of a single time is unknown: state rate_hz")
    return float((len(at_s) - 1) / (at_s[-1] - at_s[0]))
