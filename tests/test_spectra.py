"""Spectra, running medians, peaks and windows beside SciPy's, which is not imported for them: that takes long."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import median_filter
from scipy.signal import find_peaks, welch
from scipy.signal.windows import blackmanharris

from palpate.motion.imu import _BLACKMAN_HARRIS  # pyright: ignore[reportPrivateUsage]
from palpate.physics.arrays import peaks, power_density, running_median

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("size", [400, 401])
def test_density_and_running_median_are_scipys(size: int) -> None:
    x = 3.0 + RNG.normal(size=(10_007, 6))
    f, density = power_density(x, 1000.0, size)
    theirs_f, theirs = welch(x, 1000.0, nperseg=size, axis=0)
    np.testing.assert_allclose(f, theirs_f, rtol=1e-14)
    np.testing.assert_allclose(density, theirs, rtol=1e-11)
    beside = median_filter(theirs, size=(17, 1), mode="mirror")
    np.testing.assert_array_equal(running_median(theirs, 17, "reflect"), beside)
    np.testing.assert_array_equal(
        running_median(theirs[:, 0], 9, "edge"), median_filter(theirs[:, 0], 9, mode="nearest")
    )


def test_peaks_are_scipys_with_plateaus_and_a_reach() -> None:
    for k in range(100):
        x = np.cumsum(RNG.normal(size=1000)) if k % 2 else np.round(RNG.normal(size=500), 1)
        rise = float(RNG.uniform(0.01, 2.0))
        np.testing.assert_array_equal(peaks(x, rise), find_peaks(x, prominence=rise)[0])
        np.testing.assert_array_equal(peaks(x, rise, 50), find_peaks(x, prominence=rise, wlen=100)[0])
    assert len(peaks(np.arange(10.0), 0.1)) == 0


def test_blackman_harris_is_scipys() -> None:
    turns = 2 * np.pi * np.arange(1000) / 1000
    window = np.cos(np.outer(turns, np.arange(4))) @ _BLACKMAN_HARRIS
    np.testing.assert_allclose(window, blackmanharris(1000, sym=False), atol=1e-14)
