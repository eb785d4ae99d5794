"""Rate conversion onto another clock: what passes, what is stopped, and what happens to gaps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from palpate.errors import DataProblem, PalpateError
from palpate.motion.clock import clock_map, resample, resampled_sign

Array = NDArray[np.float64]
TIMES = np.arange(4000) / 1000.0


def amplitude(at: Array, y: Array, f: float) -> complex:
    """Complex amplitude of a tone by least squares, over the numbers."""
    seen = np.isfinite(y)
    c, s = np.cos(2 * np.pi * f * at[seen]), np.sin(2 * np.pi * f * at[seen])
    a = np.linalg.lstsq(np.column_stack([c, s]), y[seen], rcond=None)[0]
    return complex(a[0], -a[1])


@settings(max_examples=25)
@given(f=st.floats(0.3, 39.9), phase=st.floats(0, 6.28), start=st.floats(0.3, 0.31), rate=st.floats(100.0, 170.0))
def test_tones_in_the_band_keep_amplitude_and_phase(f: float, phase: float, start: float, rate: float) -> None:
    at = np.arange(start, 3.6, 1 / rate)
    found = resample(TIMES, np.cos(2 * np.pi * f * TIMES + phase), at)
    error = found - np.cos(2 * np.pi * f * at + phase)
    assert np.nanmax(np.abs(error)) < 3e-4
    assert np.isfinite(found).sum() > 0.8 * len(at)


@settings(max_examples=25)
@given(f=st.floats(50.0, 499.0), phase=st.floats(0, 6.28))
def test_tones_above_the_new_nyquist_frequency_are_down_by_60_db(f: float, phase: float) -> None:
    at = np.arange(0.0, 4.0, 0.01)
    assert np.nanmax(np.abs(resample(TIMES, np.cos(2 * np.pi * f * TIMES + phase), at))) < 1e-3


def test_more_samples_than_before_are_the_same_signal() -> None:
    t = np.arange(0, 10, 0.01)
    at = np.arange(1, 9, 0.0007)
    x = np.column_stack([np.sin(2 * np.pi * 3.3 * t), np.cos(2 * np.pi * 35 * t)])
    expected = np.column_stack([np.sin(2 * np.pi * 3.3 * at), np.cos(2 * np.pi * 35 * at)])
    assert np.abs(resample(t, x, at) - expected).max() < 3e-4


def test_the_clock_relation_is_followed_through_drift() -> None:
    clock = clock_map(12.5, 1e-6, 30.0, 400.0, 0.1)
    device = np.arange(0, 60, 0.001)
    at = np.arange(20.0, 70.0, 0.01)
    x = np.sin(2 * np.pi * 7 * clock.to_reference(device))
    assert np.nanmax(np.abs(resample(device, x, at, clock=clock) - np.sin(2 * np.pi * 7 * at))) < 3e-4
    plain = resample(device, x, at - clock.offset_s)
    assert np.nanmax(np.abs(plain - np.sin(2 * np.pi * 7 * at))) > 0.1  # the drift left out, for comparison


def test_gaps_stay_gaps_wider_by_the_filters_reach() -> None:
    x = np.column_stack([np.sin(TIMES), np.cos(TIMES)])
    x[2000:2040, 1] = np.nan
    at = np.arange(0, 4, 0.01)
    found = resample(TIMES, x, at)
    reach = 0.251  # of a Kaiser window of 80 dB whose transition is a fifth of 50 Hz, at 1 kHz
    for column, lost in ((0, []), (1, [(2.0, 2.039)])):
        edges = [(-np.inf, 0.0), (3.999, np.inf), *lost]
        nearest = np.min([np.maximum(a - at, at - b) for a, b in edges], axis=0)  # distance to what is not known
        clear = np.abs(nearest - reach) > 0.0015  # on the edge itself, a sample more or less
        assert np.array_equal(np.isfinite(found[clear, column]), nearest[clear] > reach)


def test_constants_and_shapes_are_kept() -> None:
    x = np.broadcast_to(np.arange(6.0).reshape(3, 2), (4000, 3, 2))
    found = resample(TIMES, x, np.array([1.0, 1.01037]))
    assert found.shape == (2, 3, 2)
    assert np.abs(found - np.arange(6.0).reshape(3, 2)).max() < 1e-13


def test_what_has_no_even_clock_is_refused() -> None:
    with pytest.raises(DataProblem, match="even clock"):
        resample(np.delete(TIMES, 1000), np.zeros(3999), TIMES[::10])
    with pytest.raises(DataProblem, match="no rate"):
        resample(TIMES[:1], np.zeros(1), TIMES)
    with pytest.raises(PalpateError, match="single time"):
        resample(TIMES, TIMES, np.array([1.0]))


def test_a_sign_rings_as_a_recording_of_it_does() -> None:
    """Dry friction in a fast load cell, resampled for cameras at 100 Hz, whatever the place between samples."""
    fine_s, t = np.arange(0, 6, 1e-3 / 32), np.arange(0, 6, 0.01)
    speed = np.interp(fine_s, [0.0, 0.8004, 2.1, 2.9, 3.3, 6.0], [1.0, -0.6, 1.3, -0.2, 0.9, -1.0])
    shown = resample(fine_s, np.sign(speed), t)
    at = np.searchsorted(fine_s, t - 1e-9)
    inside = np.isfinite(shown)
    assert np.abs(np.sign(speed[at]) - shown)[inside].max() > 0.2  # it does ring
    assert np.abs(resampled_sign(speed[at]) - shown)[inside].max() < 0.005


def test_where_nothing_changes_a_sign_is_a_sign() -> None:
    x = np.array([1.0, 2.0, np.nan, 0.5, 0.0, 0.3])
    assert resampled_sign(x).tolist() == [1.0, 1.0, 0.0, 1.0, 0.0, 1.0]
