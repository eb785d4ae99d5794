"""Clock relations as values: there and back, intervals, and what an unknown drift means."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from palpate.errors import DataProblem
from palpate.motion.clock import DRIFT_OF_CRYSTALS_PPM, clock_map
from palpate.motion.derivatives import design_lowpass
from palpate.motion.offset import estimate_offset


@given(
    offset=st.floats(-1e4, 1e4),
    ppm=st.floats(-500, 500),
    at=st.floats(-1e4, 1e4),
    start=st.floats(-1e4, 1e4),
)
def test_there_and_back_is_where_one_was(offset: float, ppm: float, at: float, start: float) -> None:
    clock = clock_map(offset, 1e-4, at, ppm, 0.5)
    times = start + np.linspace(0, 100, 11)
    assert np.abs(clock.from_reference(clock.to_reference(times)) - times).max() < 1e-9
    reference = clock.to_reference(times)
    assert np.abs(reference - times - clock.offset_at(reference)).max() < 1e-9
    assert clock.offset_at(np.array([at]))[0] == pytest.approx(offset, abs=1e-9)


def test_a_sharp_drift_stays_and_a_vague_one_gives_way_to_what_crystals_do() -> None:
    sharp, vague, absent = (clock_map(1.0, 1e-5, 50.0, *d) for d in ((80.0, 0.5), (80.0, 500.0), (np.nan, np.nan)))
    assert sharp.drift_ppm == pytest.approx(80.0, abs=0.01)
    assert sharp.drift_std_ppm == pytest.approx(0.5, rel=1e-3)
    assert sharp.drift_observed
    assert abs(vague.drift_ppm) < 1.0
    assert vague.drift_std_ppm == pytest.approx(DRIFT_OF_CRYSTALS_PPM, rel=0.01)
    assert not vague.drift_observed
    assert absent.drift_ppm == 0.0
    assert absent.drift_std_ppm == DRIFT_OF_CRYSTALS_PPM
    assert not absent.drift_observed


def test_the_interval_widens_away_from_where_the_offset_is_known() -> None:
    clock = clock_map(2.0, 1e-5, 50.0, 10.0, 1.0, freedom=8)
    low, high = clock.interval_at(np.array([50.0, 150.0]))
    half = (high - low) / 2
    assert half[0] == pytest.approx(2.306e-5, rel=1e-3)  # Student's t with 8 degrees of freedom, 97.5 %
    assert half[1] == pytest.approx(2.306 * np.hypot(1e-5, 1e-4), rel=1e-3)
    assert clock.drift_interval_ppm() == pytest.approx((10 - 2.306, 10 + 2.306), abs=0.01)


def waves(seed: int, t: np.ndarray, channels: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    f, a, p = rng.uniform(0.3, 4, (channels, 9)), rng.normal(size=(channels, 9)), rng.uniform(0, 7, (channels, 9))
    return (a[:, :, None] * np.sin(2 * np.pi * f[:, :, None] * t + p[:, :, None])).sum(axis=1).T


def test_gaps_of_either_side_are_left_out() -> None:
    rng = np.random.default_rng(0)
    t = np.arange(0, 40, 0.002)
    x, y = waves(1, t, 3), waves(1, t - 1.25, 3) + 0.05 * rng.normal(size=(len(t), 3))
    x[4000:4600] = np.nan
    y[9000:9010, 1] = np.nan
    found = estimate_offset(t, x, t, y)
    assert abs(found.value_s - 1.25) < 4 * found.std_s
    assert found.std_s < 2e-4
    assert found.clock.offset_s == found.value_s
    with pytest.raises(DataProblem, match="gaps"):
        estimate_offset(t, np.where(np.arange(len(t))[:, None] % 50 == 0, np.nan, x), t, y)


def test_channels_that_are_alike_do_not_drown_the_one_that_moves() -> None:
    """A door turns about one axis; two of three channels are noise, ten times smaller than the third."""
    rng = np.random.default_rng(1)
    t = np.arange(0, 40, 0.005)
    x = np.column_stack([waves(2, t, 1), 0.01 * rng.normal(size=(len(t), 2))])
    y = np.column_stack([waves(2, t - 0.5, 1), np.zeros((len(t), 2))]) + 0.1 * rng.normal(size=(len(t), 3))
    plain, alike = estimate_offset(t, x, t, y), estimate_offset(t, x, t, y, alike=True)
    assert alike.explained > 0.98 > 0.9 > plain.explained
    for found in (plain, alike):
        assert abs(found.value_s - 0.5) < 4 * found.std_s


@pytest.mark.parametrize("hz", [1.0, 1.73, 2.31, 4.4])
def test_a_periodic_motion_is_refused_whatever_its_period(hz: float) -> None:
    """Between two lags of a coarse search, a wrong period may fit as well as the right one."""
    t, rng = np.arange(0, 30, 0.005), np.random.default_rng(0)
    x, y = (np.column_stack([np.sin(2 * np.pi * hz * s), np.cos(4 * np.pi * hz * s + 1)]) for s in (t, t - 0.7123))
    with pytest.raises(DataProblem, match="cannot be known"):
        estimate_offset(t, x, t, y + 0.02 * rng.normal(size=y.shape))


def shakes(t: np.ndarray, hz: float) -> np.ndarray:
    """Three shakes of about a second."""
    return np.exp(-0.5 * (t[:, None] - [5.0, 13.0, 22.0]) ** 2).sum(axis=1) * np.sin(2 * np.pi * hz * t)


@pytest.mark.parametrize("seed", range(8))
def test_a_fast_shake_along_one_axis_is_not_taken_for_half_a_period_beside(seed: int) -> None:
    """A load cell against an accelerometer."""
    rng = np.random.default_rng(seed)
    hz, offset, t = rng.uniform(4.5, 8), rng.uniform(-1, 1), np.arange(0, 28, 0.001)
    arm = np.array([[1, 0, 0, 0, 0.05, 0], [0, 1, 0, -0.05, 0, 0], [0, 0, 1.0, 0, 0, 0]])
    x = np.outer(shakes(t, hz), [15, 6, 3]) + 0.02 * rng.normal(size=(len(t), 3))
    y = 0.9 * np.outer(shakes(t - offset, hz), [15, 6, 3]) @ arm
    y += np.array([0.3, 0.3, 0.5, 0.01, 0.01, 0.01]) * rng.normal(size=y.shape)
    found = estimate_offset(t, x, t, y)
    assert abs(found.value_s - offset) < 1e-3
    assert found.runner_up < found.explained


@pytest.mark.parametrize("seed", range(3))
def test_a_shake_of_one_frequency_is_refused_where_predictors_hold_its_derivative(seed: int) -> None:
    """A wave and its derivative make any phase: no peak of the correlation tells the lag, and none must be needed."""
    rng = np.random.default_rng(seed)
    t, offset = np.arange(0, 28, 0.005), rng.uniform(-1, 1)
    wave = shakes(t, 5.0)
    x = np.column_stack([wave, np.gradient(wave, t) / 30]) + 0.02 * rng.normal(size=(len(t), 2))
    y = np.outer(shakes(t - offset, 5.0), [1.0, 0.5]) + 0.1 * rng.normal(size=(len(t), 2))
    with pytest.raises(DataProblem, match="cannot be known"):
        estimate_offset(t, x, t, y)


def test_an_hour_of_many_channels_needs_little_memory() -> None:
    """All 90 spectra at once would take 90 times the signal's length; a tenth of an hour tells as much."""
    rng = np.random.default_rng(0)
    t = np.arange(0, 360, 0.02)
    x = np.cumsum(rng.normal(size=(len(t) + 100, 15)), axis=0)
    x -= lfilter([0.05], [1, -0.95], x, axis=0)
    y = x[100:] @ rng.normal(size=(15, 6))
    tracemalloc.start()
    found = estimate_offset(t, x[: len(t)], t, y + 0.01 * rng.normal(size=y.shape))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.value_s == pytest.approx(-2.0, abs=1e-3)
    assert peak < 20 * x.nbytes  # it was 50 times


def test_of_a_short_recording_the_offset_is_as_far_off_as_stated() -> None:
    """14 s of seven signals that explain six others: the pieces that are compared shape the coefficients themselves."""
    t = np.arange(1400) / 100
    slow = design_lowpass(100.0, 2.0)
    half, off = len(slow.taps) // 2, []
    for seed in range(20):
        rng = np.random.default_rng([seed, 7])
        x, noise = (
            np.apply_along_axis(np.convolve, 0, rng.normal(size=(len(t) + 2 * half, k)), slow.taps, "valid")
            for k in (7, 6)
        )
        y = x @ rng.normal(size=(7, 6)) + 0.3 * noise  # residuals as slow as the motion
        found = estimate_offset(t, x, t, y)
        off.append(found.value_s / found.std_s)
    # Student's distribution of 6 degrees of freedom has a standard deviation of 1.2; a sandwich leaves 1.4
    assert 0.7 < np.sqrt(np.mean(np.square(off))) < 1.3
