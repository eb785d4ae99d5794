"""The cubic spline beside SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from palpate.physics.spline import spline


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("count", [4, 5, 300])
def test_it_is_scipys_spline_at_any_times(even: bool, count: int) -> None:
    random = np.random.default_rng(count)
    times = np.arange(count) / 100 if even else np.cumsum(random.uniform(0.005, 0.015, count))
    values = np.cumsum(random.normal(size=(count, 3)), axis=0)
    ours, theirs = spline(times, values), CubicSpline(times, values)
    assert ours.even == even
    inside = np.sort(random.uniform(times[0], times[-1], 2 * count))
    shifted, drifting = times[1:-1] + 0.0037, times[1:-1] * (1 + 1e-5) + 0.0021
    for at in (times, inside, shifted, drifting, times[-1:] + 0.004, times[:1] - 0.004):
        for derivative in (0, 1):
            expected = theirs(at, derivative)
            assert np.abs(ours(at, derivative) - expected).max() <= 1e-9 * np.abs(expected).max()
    assert ours(times[:0]).shape == (0, 3)
