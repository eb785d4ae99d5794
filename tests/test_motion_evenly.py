"""Even clocks behind stamps that jitter, come in packets, are rounded, and miss samples."""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.motion import clock
from palpate.motion.clock import Even, evenly_sampled, every_second

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

N, PERIOD = 100_000, 1e-3


def increasing(stamps: Array) -> Array:
    """As a file has them: in order, never twice the same."""
    return np.maximum.accumulate(stamps) + 1e-10 * np.arange(len(stamps))


def even_clock(stamps: Array) -> Even:
    return evenly_sampled(increasing(stamps), np.zeros((len(stamps), 1)), what="x")


def with_singles_lost(rng: np.random.Generator) -> Counts:
    return np.delete(np.arange(N), rng.choice(np.arange(100, N - 100), 20, replace=False))


def with_stretches_lost(rng: np.random.Generator) -> Counts:
    keep = np.ones(N, dtype=bool)
    for first in rng.choice(np.arange(1000, N - 1000, 500), 12, replace=False):
        keep[first : first + rng.integers(1, 300)] = False
    return np.flatnonzero(keep)


def error_in_periods(even: Even, taken: Counts, period: float = PERIOD) -> Array:
    """How far the times of the rows are from the truth, apart from a constant that no stamp can tell."""
    error = (even.times_s[even.rows] - period * taken) / period
    return error - np.median(error)


@pytest.mark.parametrize("sd", [0.0, 0.1, 0.2, 0.3, 0.5, 1.0])
def test_jitter_inserts_no_samples(sd: float) -> None:
    rng = np.random.default_rng(1)
    taken = np.arange(N)
    even = even_clock(np.sort(PERIOD * (taken + sd * rng.normal(size=N))))
    assert len(even.times_s) == N
    assert np.array_equal(even.rows, taken)
    assert np.abs(error_in_periods(even, taken)).max() < 0.02
    assert even.lost == ()


@pytest.mark.parametrize("sd", [0.0, 0.03, 0.1])
def test_each_missing_sample_is_found(sd: float) -> None:
    rng = np.random.default_rng(2)
    taken = with_singles_lost(rng)
    even = even_clock(np.sort(PERIOD * (taken + sd * rng.normal(size=len(taken)))))
    assert np.array_equal(even.rows, taken)


@pytest.mark.parametrize("sd", [0.3, 0.5])
def test_missing_samples_in_strong_jitter_cost_no_time(sd: float) -> None:
    rng = np.random.default_rng(3)
    taken = with_singles_lost(rng)
    even = even_clock(np.sort(PERIOD * (taken + sd * rng.normal(size=len(taken)))))
    assert len(even.times_s) == N
    assert np.abs(error_in_periods(even, taken)).max() < 1.5
    assert np.count_nonzero(even.rows != taken) < 60  # a few rows off, at each of 20 gaps


@pytest.mark.parametrize("sd", [0.0, 0.1, 0.3, 1.0])
def test_stretches_are_lost_in_jitter(sd: float) -> None:
    rng = np.random.default_rng(4)
    taken = with_stretches_lost(rng)
    even = even_clock(np.sort(PERIOD * (taken + sd * rng.normal(size=len(taken)))))
    assert len(even.times_s) == N
    assert np.mean(even.rows != taken) < 1e-3
    assert len(even.lost) == np.count_nonzero(np.diff(taken) > 20)


def test_one_sample_in_a_hundred_may_be_missing() -> None:
    rng = np.random.default_rng(5)
    taken = np.flatnonzero(rng.uniform(size=N) > 0.01)
    taken -= taken[0]
    assert np.array_equal(even_clock(PERIOD * taken).rows, taken)
    even = even_clock(np.sort(PERIOD * (taken + 0.1 * rng.normal(size=len(taken)))))
    assert len(even.times_s) == taken[-1] + 1
    assert np.abs(error_in_periods(even, taken)).max() < 1.5


@pytest.mark.parametrize("size", [2, 3, 7, 16, 29, 32])
@pytest.mark.parametrize("within_s", [1e-9, 1e-6, 1e-4])
def test_packets_are_no_gaps(size: int, within_s: float) -> None:
    rng = np.random.default_rng(6)
    row = np.arange(N)
    last = np.minimum(row // size * size + size - 1, N - 1)
    stamps = PERIOD * last + within_s * (row % size) + 2e-5 * rng.normal(size=N)[row // size]
    even = even_clock(stamps)
    assert np.array_equal(even.rows, row)
    assert np.abs(error_in_periods(even, row)).max() < 0.05


def test_packets_of_any_sizes_with_stretches_lost() -> None:
    rng = np.random.default_rng(7)
    taken = with_stretches_lost(rng)
    ends = np.cumsum(rng.integers(2, 17, len(taken)))
    row = np.arange(len(taken))
    last = np.minimum(ends[np.searchsorted(ends, row, "right")] - 1, len(taken) - 1)
    even = even_clock(PERIOD * taken[last] + 1e-6 * (row - last))
    assert len(even.times_s) == N
    # a packet that was on its way when samples were lost carries the time after the loss
    assert np.mean(np.abs(error_in_periods(even, taken)) > 0.1) < 2e-3


@pytest.mark.parametrize("rate", [468.7, 663.27, 800.0, 950.0, 999.0])
def test_rounded_stamps(rate: float) -> None:
    taken = np.arange(N)
    even = even_clock(np.round(taken / rate, 3))
    assert np.array_equal(even.rows, taken)
    assert np.abs(error_in_periods(even, taken, 1 / rate)).max() < 0.05


def test_rounded_stamps_with_stretches_lost() -> None:
    taken = with_stretches_lost(np.random.default_rng(8))
    even = even_clock(np.round(taken / 800, 3))
    assert np.array_equal(even.rows, taken)


def test_late_stamps_that_catch_up_are_no_gaps() -> None:
    rng = np.random.default_rng(9)
    taken = with_singles_lost(rng)
    stamps = PERIOD * (taken + 0.05 * rng.normal(size=len(taken)))
    stamps += np.where(rng.uniform(size=len(taken)) < 0.01, rng.uniform(0, 5 * PERIOD, len(taken)), 0)
    for row in rng.integers(0, len(taken) - 200, 40):  # the computer was busy for 50 ms
        stamps[row : row + 50] = np.maximum(stamps[row : row + 50], stamps[row] + 0.05)
    even = even_clock(stamps)
    assert len(even.times_s) == N
    assert np.abs(error_in_periods(even, taken)).max() < 1.5
    assert even.jitter_s > 0.04


@pytest.mark.parametrize("sd", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_change_of_rate_is_refused(share: float, sd: float) -> None:
    rng = np.random.default_rng(10)
    taken = np.arange(N, dtype=float)
    first = share * N
    stamps = PERIOD * np.where(taken < first, taken, first + 1.25 * (taken - first))
    with pytest.raises(DataProblem, match=r"^x: .* (1000|999)[.\d]* Hz.* (800|799)[.\d]* Hz.*\. Record at one rate"):
        even_clock(np.sort(stamps + sd * PERIOD * rng.normal(size=N)))


def test_a_wandering_clock_is_refused_beyond_the_bound() -> None:
    taken = np.arange(N)
    even_clock(PERIOD * taken + 0.015 * np.sin(2 * np.pi * taken / N))
    with pytest.raises(DataProblem, match="deviate"):
        even_clock(PERIOD * taken + 0.06 * np.sin(2 * np.pi * taken / N))


def test_a_small_error_of_the_rate_is_the_period() -> None:
    even = even_clock(PERIOD * (1 + 3e-4) * np.arange(N))
    assert len(even.times_s) == N
    assert np.diff(even.times_s).mean() == pytest.approx(PERIOD * (1 + 3e-4), rel=1e-6)


def test_all_stamps_later_is_all_times_later() -> None:
    rng = np.random.default_rng(11)
    taken = with_stretches_lost(rng)
    stamps = np.sort(PERIOD * (taken + 0.2 * rng.normal(size=len(taken))))
    a, b = even_clock(stamps), even_clock(stamps + 1234.5)
    assert np.array_equal(a.rows, b.rows)
    assert np.abs(b.times_s - a.times_s - 1234.5).max() < 1e-8
    assert np.allclose(np.array(b.lost), np.array(a.lost) + 1234.5, atol=1e-8)


def test_the_unit_of_time_does_not_matter() -> None:
    rng = np.random.default_rng(12)
    taken = with_singles_lost(rng)
    stamps = np.sort(taken + 0.1 * rng.normal(size=len(taken)))
    counts = [even_clock(stamps * period).rows for period in (1 / 4096, 1e-3, 1e-2)]
    assert all(np.array_equal(c, taken) for c in counts)


@pytest.mark.parametrize("n", [10, 12, 40, 300])
def test_short_recordings(n: int) -> None:
    rng = np.random.default_rng(n)
    for taken in (np.arange(n), np.delete(np.arange(n + 1), n // 2)):
        stamps = PERIOD * (taken + 0.02 * rng.normal(size=n))
        assert np.array_equal(even_clock(stamps).rows, taken)


def test_rows_of_the_file_keep_their_place() -> None:
    """NaN rows have a stamp and a place; at the ends they are lost, because nothing bridges them."""
    taken = np.delete(np.arange(1000), np.arange(200, 230))
    x = np.sin(0.01 * taken)[:, None]
    x[:5], x[300:303], x[-40:] = np.nan, np.nan, np.nan
    even = evenly_sampled(0.01 * taken, x, what="x")
    assert np.array_equal(even.rows, taken)
    assert len(even.times_s) == 1000
    assert np.isfinite(even.x).all()
    seen = np.isfinite(x[:, 0])
    assert np.array_equal(even.x[even.rows[seen]], x[seen])
    assert np.allclose(even.lost, [(-0.01, 0.05), (1.99, 2.3), (3.29, 3.33), (9.59, 10.0)])
    assert len(every_second(even, 0).rows) == 0


def test_a_million_samples_are_quick() -> None:
    rng = np.random.default_rng(13)
    stamps = increasing(np.sort(PERIOD * (np.arange(1_000_000) + 0.1 * rng.normal(size=1_000_000))))
    x = np.zeros((len(stamps), 6))
    began = time.process_time()
    even = evenly_sampled(stamps, x, what="x")
    assert time.process_time() - began < 2.0  # 0.4 s where nothing else runs
    assert len(even.times_s) == len(stamps)


def test_stamps_near_a_line_miss_nothing_as_the_search_for_gaps_says(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    stamps = 5.0 + PERIOD * (np.arange(N) + rng.uniform(-0.15, 0.15, N))
    quick = even_clock(stamps)
    monkeypatch.setattr(clock, "_NONE_MISSING", 0.0)
    searched = even_clock(stamps)
    np.testing.assert_array_equal(quick.rows, searched.rows)
    assert (quick.lost, quick.jitter_s) == (searched.lost, pytest.approx(searched.jitter_s))
    np.testing.assert_allclose(quick.times_s, searched.times_s, rtol=1e-13)
