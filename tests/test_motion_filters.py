"""Savitzky-Golay against SciPy, and the low-pass of parallel filtering."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import savgol_filter

from palpate.errors import PalpateError
from palpate.motion.derivatives import design_lowpass, savitzky_golay
from palpate.physics.arrays import windowed_sums


@pytest.mark.parametrize(
    ("window", "order", "derivative"), [(51, 3, 1), (101, 4, 0), (31, 4, 2), (11, 4, 1), (5, 2, 0)]
)
def test_savitzky_golay_is_scipys_including_the_ends(window: int, order: int, derivative: int) -> None:
    x = np.random.default_rng(0).normal(size=(400, 3)).cumsum(axis=0)
    ours = savitzky_golay(x, window, order, derivative=derivative, rate_hz=250.0)
    theirs = savgol_filter(x, window, order, deriv=derivative, delta=1 / 250.0, axis=0, mode="interp")
    # SciPy solves with unscaled powers (50^4 beside 1) and keeps nine digits; the next test is sharper
    assert np.abs(ours - theirs).max() < 2e-9 * np.abs(theirs).max()


@pytest.mark.parametrize("derivative", [0, 1, 2])
def test_savitzky_golay_reproduces_polynomials_of_its_order(derivative: int) -> None:
    t = np.linspace(-1, 1, 401)
    poly = np.polynomial.Polynomial([0.3, -1.0, 2.0, 0.7, -1.3])
    found = savitzky_golay(poly(t), 101, 4, derivative=derivative, rate_hz=200.0)
    assert np.abs(found - poly.deriv(derivative)(t) if derivative else found - poly(t)).max() < 1e-11


def test_savitzky_golay_takes_one_channel_as_well() -> None:
    x = np.sin(np.arange(50) / 5)
    assert np.allclose(savitzky_golay(x, 7, 3), savgol_filter(x, 7, 3))


@pytest.mark.parametrize(
    ("window", "order", "said"), [(10, 3, "odd"), (3, 3, "larger than the order"), (99, 3, "fewer")]
)
def test_a_window_that_cannot_work_is_refused(window: int, order: int, said: str) -> None:
    with pytest.raises(PalpateError, match=said):
        savitzky_golay(np.zeros((50, 1)), window, order)


def test_a_hair_of_a_clock_does_not_change_the_decimation() -> None:
    """Quartz at 999.99 Hz is decimated as at 1000; a rate that is really lower is not."""
    assert [design_lowpass(rate, 20.0).step for rate in (999.99, 1000.0, 1000.01, 990.0)] == [10, 10, 10, 9]


@pytest.mark.parametrize("rate", [100.0, 500.0, 1000.0, 1234.5])
def test_lowpass_passes_the_band_and_stops_what_would_alias(rate: float) -> None:
    lowpass = design_lowpass(rate, 20.0)
    f = np.linspace(0, rate / 2, 2000)
    n = np.arange(len(lowpass.taps)) - len(lowpass.taps) // 2
    gain = np.cos(2 * np.pi * f[:, None] * n / rate) @ lowpass.taps
    # 65 dB are 5.6e-4, and scaling to gain 1 at rest may add as much
    assert np.abs(gain[f <= 20.0] - 1).max() < 1.2e-3
    assert np.abs(gain[f >= 50.0]).max(initial=0.0) < 1.2e-3
    assert rate / lowpass.step >= 100.0 - 1e-9 or lowpass.step == 1


def test_lowpass_keeps_a_slow_signal_where_it_says() -> None:
    lowpass = design_lowpass(1000.0, 20.0)
    t = np.arange(3000) / 1000
    y = lowpass.apply(np.sin(2 * np.pi * 5 * t)[None])
    centre = t[len(lowpass.taps) // 2 :: lowpass.step][: y.shape[1]]
    assert y.shape[1] == lowpass.outputs(3000)
    assert np.abs(y[0] - np.sin(2 * np.pi * 5 * centre)).max() < 2e-3


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, 500.0])
def test_a_bandwidth_that_does_not_fit_the_rate_is_refused(bandwidth: float) -> None:
    with pytest.raises(PalpateError, match="must be positive and below 400 Hz"):
        design_lowpass(1000.0, bandwidth)


@pytest.mark.parametrize(
    ("samples", "width", "step"), [(12, 13, 1), (13, 13, 1), (500, 13, 1), (999, 135, 10), (40, 7, 3)]
)
def test_windowed_sums_are_a_correlation_and_nan_stays_in_its_windows(samples: int, width: int, step: int) -> None:
    random = np.random.default_rng(samples)
    x, weights = random.normal(size=(3, 2, samples)), random.normal(size=width)
    for lost in (False, True):
        x[0, 1, samples // 2] = np.nan if lost else 0.0
        sums = windowed_sums(x, weights, step)
        for i, j in np.ndindex(3, 2):
            expected = np.correlate(x[i, j], weights, "valid")[::step] if samples >= width else np.empty(0)
            assert sums[i, j] == pytest.approx(expected, abs=1e-11, nan_ok=True)
