"""Linear filters with zero delay: Savitzky-Golay, and the low-pass with decimation of parallel filtering."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import factorial

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from palpate.errors import PalpateError
from palpate.physics.arrays import BoolArray, FloatArray

AT_REST = 5.0
"""Standard deviations of the speed's noise below which nobody can say that something moves."""


def savitzky_golay(x: FloatArray, window: int, order: int, *, derivative: int = 0, rate_hz: float = 1.0) -> FloatArray:
    """Fit a polynomial to each window and take its value, or its derivative, in the middle (Savitzky & Golay 1964).

    x is (samples, ...) at a constant rate; the result has the same shape, in units of x times Hz^derivative. Half a
    window at each end comes from the outermost full window's polynomial, and is worth less.
    """
    if window % 2 == 0 or window <= order or window < 3:
        raise PalpateError(f"Savitzky-Golay: window {window} must be odd and larger than the order {order}")
    if len(x) < window:
        raise PalpateError(f"Savitzky-Golay: {len(x)} samples are fewer than the window of {window}")
    weights = _savgol_weights(window, order, derivative) * rate_hz**derivative
    half = window // 2
    flat = np.asarray(x, dtype=float).reshape(len(x), -1)
    y = np.empty(flat.shape, order="F")
    for j in range(flat.shape[1]):
        column = np.ascontiguousarray(flat[:, j])
        y[half:-half, j] = np.convolve(column, weights[half][::-1], mode="valid")
        y[:half, j] = weights[:half] @ column[:window]
        y[-half:, j] = weights[half + 1 :] @ column[-window:]
    return y.reshape(np.shape(x), order="A") if np.ndim(x) != 2 else y


@lru_cache(maxsize=32)
def _savgol_weights(window: int, order: int, derivative: int) -> FloatArray:
    """Row i weights the window's samples so that they give the fit's derivative at sample i of the window."""
    half = window // 2
    u = np.arange(-half, half + 1) / half  # scaled, or high orders lose their digits
    fit = np.linalg.pinv(np.vander(u, order + 1, increasing=True))
    powers = np.arange(order + 1)
    slopes = np.zeros((window, order + 1))
    for n in powers[derivative:]:
        slopes[:, n] = factorial(n) / factorial(n - derivative) * u ** (n - derivative)
    return slopes @ fit / half**derivative


@dataclass(frozen=True, slots=True, eq=False)
class Lowpass:
    """A symmetric FIR low-pass that keeps every `step`-th sample: the filter through which all columns and the wrench
    pass alike.

    What it does to a signal it does to every term of the balance, so it cancels out of the parameters.
    """

    taps: FloatArray
    """(odd number,), symmetric, sum 1."""
    step: int

    def apply(self, x: FloatArray) -> FloatArray:
        """(..., samples) -> (..., kept samples); output i is centred on input i * step + len(taps) // 2."""
        return sliding_window_view(x, len(self.taps), axis=-1)[..., :: self.step, :] @ self.taps

    def outputs(self, samples: int) -> int:
        """How many outputs `apply` gives for this many inputs."""
        return max(0, (samples - len(self.taps)) // self.step + 1)


def design_lowpass(rate_hz: float, bandwidth_hz: float, *, attenuation_db: float = 65.0) -> Lowpass:
    """Pass up to the bandwidth, stop from 2.5 times it, decimate to 5 times it (Kaiser window: Oppenheim & Schafer,
    7.5).
    """
    stop = min(2.5 * bandwidth_hz, 0.5 * rate_hz)
    if bandwidth_hz <= 0 or bandwidth_hz >= 0.8 * stop:
        raise PalpateError(
            f"a bandwidth of {bandwidth_hz:g} Hz does not fit signals sampled at {rate_hz:g} Hz: "
            f"it must be positive and below {0.4 * rate_hz:g} Hz"
        )
    transition = 2 * np.pi * (stop - bandwidth_hz) / rate_hz
    half = int(np.ceil((attenuation_db - 7.95) / (2.285 * transition) / 2))
    n = np.arange(-half, half + 1)
    cutoff = (stop + bandwidth_hz) / rate_hz  # the middle, as a fraction of the Nyquist rate
    taps = np.sinc(cutoff * n) * np.kaiser(2 * half + 1, 0.1102 * (attenuation_db - 8.7))
    return Lowpass(taps / taps.sum(), max(1, int(rate_hz / (2 * stop))))


def signal_noise(x: FloatArray, window: int, order: int) -> float:
    """Standard deviation of white noise in a smooth signal (samples,), in its own unit; NaN is left out.

    The residual of a local polynomial has the variance 1 - h of the noise, h the filter's weight on its own middle
    (Cleveland 1979); its median says the same of motion that the polynomial cannot follow here and there.
    """
    seen = np.isfinite(x)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], seen, [False]]).astype(int))).reshape(-1, 2)
    parts = [
        (x[a:b] - savitzky_golay(x[a:b], window, order))[window // 2 : -(window // 2)]
        for a, b in edges
        if b - a >= 2 * window
    ]
    if not parts:
        return float("nan")
    middle = float(filter_weights(window, order, 0)[window // 2])
    return float(np.median(np.abs(np.concatenate(parts))) / 0.6745 / np.sqrt(1 - middle))


def derivative_noise(noise: float, window: int, order: int, derivative: int, rate_hz: float) -> float:
    """Standard deviation of a local polynomial's derivative of white noise, in its unit per s^derivative."""
    return noise * rate_hz**derivative * float(np.linalg.norm(filter_weights(window, order, derivative)))


def at_rest(speed: FloatArray, noise: float) -> BoolArray:
    """(samples,): where the speed cannot be distinguished from zero; an unknown speed counts as moving."""
    return np.asarray(np.abs(speed) < AT_REST * noise)


def filter_weights(window: int, order: int, derivative: int) -> FloatArray:
    """(window,): what a local polynomial weighs the samples of its window with, for a derivative in its middle."""
    return savitzky_golay(np.eye(window), window, order, derivative=derivative)[window // 2]
