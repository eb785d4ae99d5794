"""Clocks: the even one behind jittering time stamps, how two run against each other, signals between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from palpate.errors import DataProblem, PalpateError
from palpate.physics.arrays import ENOUGH, BoolArray, FloatArray, median, rate_hz, spread_rows, windowed_sums
from palpate.physics.student import t_quantile

Interval = tuple[float, float]
IntArray = NDArray[np.int64]

_GAP_STDS = 6.0
"""A step of the count against the stamps is believed from this many standard deviations on."""
_NONE_MISSING, _AT_ONCE = 0.2, 1 << 18
"""Periods: no sample is missing from stamps that deviate less from an even clock; rows that are looked at together."""
_SAME = 1e-9
"""Periods by which stamps deviate from an even clock that is written with all digits."""
_ROWS_OF_BLOCK = 512
_ONE_PACKET = 0.2
"""Periods; rows stamped closer to each other arrived in one packet."""
_LARGEST_PERIODS, _LARGEST_S = 5.0, 0.02
"""Lasting deviations of the stamps from an even clock are refused beyond the larger of the two."""
_NOWHERE: IntArray = np.empty(0, dtype=np.int64)
DRIFT_OF_CRYSTALS_PPM = 50.0
"""Standard deviation of the drift between two quartz clocks, for as long as no measurement says more."""
PASS = 0.8
"""Up to this share of the smaller Nyquist frequency a signal passes; from the whole of it on it is stopped."""
RESAMPLED_DB = 80.0
"""What is stopped is down by this; what passes is right to the same fraction, 1e-4."""
_SIDE_BY_SIDE = 64
"""Samples of a stretch in which second differences are taken."""
_FINENESS = 512
"""Points of the kernel's table per input sample; linear interpolation between them is right to 1e-6."""
_BETWEEN, _BEYOND_DB = 5.0, 20.0
"""Samples much faster than wanted are first made fewer, so many times as many as wanted, with errors below the rest's.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Even:
    """Signals on an even clock. `lost`: intervals (s) in which nothing was seen, bridged by straight lines."""

    times_s: FloatArray
    x: FloatArray
    """(samples, channels)."""
    lost: tuple[Interval, ...]
    jitter_s: float
    """Largest deviation of a time stamp from the even clock."""
    rows: IntArray | range
    """For each row of the file, NaN or not, the index of its sample in `times_s`; empty where rows mean nothing."""

    @property
    def seen_x(self) -> FloatArray:
        """x with NaN where nothing was seen, for whoever must not mistake a bridge for a measurement."""
        return without_lost(self.times_s, self.x, self.lost) if self.lost else self.x


def evenly_sampled(times_s: FloatArray, x: FloatArray, *, what: str, longest_gap_s: float = 0.02) -> Even:
    """Put (samples, channels) with rows that may be NaN onto the even clock behind its time stamps (s, increasing).

    Instruments sample evenly; their time stamps jitter, come in packets or are rounded by the computer that wrote
    them. Rows are counted, and the line through the stamps over the count is the clock. Samples are missing where the
    stamps move away from the count *and stay away*: a late stamp alone is jitter. Gaps up to `longest_gap_s` are
    bridged silently, longer ones also reported, as are NaN at either end. Raises `DataProblem` where no even clock
    explains the stamps.
    """
    seen = np.ones(len(x), dtype=bool)
    for column in x.T:
        seen &= np.isfinite(column)
    count = int(np.count_nonzero(seen))
    if count < 10:
        few = f"only {count} of {len(times_s)} samples are numbers, where at least 10 are needed"
        raise DataProblem(what, few, remedy="record longer, or export it again")
    start, period, off = steady(times_s)
    if off < _NONE_MISSING * period and count == len(seen):
        rows = range(len(seen))
        if len(seen) > ENOUGH and off < _SAME * period:  # the stamps of a long recording need not be there twice
            return Even(times_s, x, (), off, rows)
        even = np.arange(len(seen), dtype=float)
        even *= period
        even += start
        return Even(even, x, (), off, rows)
    stamps = _unpacked(times_s)
    rows = _count(stamps, what)
    start, period = _line(rows, stamps)
    even = start + period * np.arange(int(rows[-1]) + 1, dtype=float)
    _refuse_uneven(times_s, stamps - even[rows], period, what)
    at = rows[seen]
    filled = x if len(at) == len(even) else interpolated(np.arange(len(even), dtype=float), at.astype(float), x[seen])
    return Even(even, filled, _lost(at, even, period, longest_gap_s), float(np.abs(times_s - even[rows]).max()), rows)


def every_second(even: Even, first: int) -> Even:
    """Every second sample from `first` (0 or 1) on: two halves whose noise has nothing in common. Without `rows`."""
    return replace(even, times_s=even.times_s[first::2], x=even.x[first::2], rows=_NOWHERE)


def noise_floor(x: FloatArray) -> FloatArray:
    """Standard deviation of the white noise of each channel of (samples, channels), in its unit.

    Second differences of white noise have the variance 6 sigma^2; motion hardly has any. By the median, so that
    knocks do not count; of a long recording evenly spread ones are enough.
    """
    x = spread_rows(x, ENOUGH, _SIDE_BY_SIDE)
    return median(np.abs(np.diff(x, n=2, axis=-2)).reshape(-1, x.shape[-1])) / (0.6745 * np.sqrt(6.0))


def without_lost(times_s: FloatArray, x: FloatArray, lost: tuple[Interval, ...], margin_s: float = 0.0) -> FloatArray:
    """x with NaN strictly inside the lost intervals, widened by a filter's reach; a copy where there are any."""
    y = x.copy(order="K") if lost else x
    for a, b in lost:
        y[(times_s > a - margin_s) & (times_s < b + margin_s)] = np.nan
    return y


@dataclass(frozen=True, slots=True)
class _Scale:
    """How well the means of `width` rows to either side of a row tell whether samples are missing there."""

    width: int
    period: float
    """s, as the means tell it."""
    noise_s: float
    """Standard deviation of the difference of the two means."""


def steady(t: FloatArray) -> tuple[float, float, float]:
    """Start and period (s) of the line through the stamps over all rows, and by how much one deviates from it at most.

    Stamps from which a sample is missing deviate by half a period somewhere. Some rows at a time: arrays as long as the
    recording take longer to get than to compute.
    """
    n, middle = len(t), (len(t) - 1) / 2
    total = along = squares = off = 0.0
    for i in range(0, n, _AT_ONCE):
        x, count = t[i : i + _AT_ONCE] - t[0], np.arange(i, min(i + _AT_ONCE, n)) - middle
        total, along, squares = total + float(x.sum()), along + float(count @ x), squares + float(count @ count)
    period = along / squares
    start = float(t[0] + total / n - period * middle)
    for i in range(0, n, _AT_ONCE):
        x = t[i : i + _AT_ONCE]
        off = max(off, float(np.abs(x - (start + period * np.arange(i, i + len(x)))).max()))
    return start, period, off


def _unpacked(t: FloatArray) -> FloatArray:
    """Stamps of rows that arrived in packets, each at the distance of its samples from the last, which came in time."""
    steps = np.diff(t)
    if np.mean(steps < _ONE_PACKET * (t[-1] - t[0]) / len(steps)) < 0.05:
        return t
    last = np.append(steps > _ONE_PACKET * _period(_scales(t, 0.0), 0.0).period, True)
    ends = np.flatnonzero(last)
    period = float(np.median(np.diff(t[ends]) / np.diff(ends)))
    packet_end = ends[np.cumsum(last) - last]  # the packet's last row, for each row
    apart = t[packet_end] - period * (packet_end - np.arange(len(t)))
    before, after = (float(np.mean(np.abs(np.diff(x) - period))) for x in (t, apart))
    return apart if after < 0.5 * before else t


def _count(t: FloatArray, what: str) -> IntArray:
    """The count of the instrument's samples at each row: the rows, plus the samples missing before each."""
    quantum, per_step = _quantum(t)
    rounding_s = quantum / np.sqrt(12)
    chosen = _with_gaps(t, 0.0 if per_step == 1 else rounding_s)
    if quantum > 0 and np.count_nonzero(np.diff(chosen) > 1) >= 5:  # fewer may be chance
        # A clock slower than the rounding, and a clock as fast as the rounding that loses samples regularly, write
        # the same stamps. The former is simpler, if rounding explains what is left.
        rows = np.arange(len(t), dtype=np.int64)
        start, period = _line(rows, t)
        off = float(np.quantile(np.abs(t - start - period * rows), 0.999))  # a few rows beside gaps aside
        chosen = rows if off < 0.75 * quantum else chosen
    _refuse_two_rates(t, chosen, what)
    return chosen


def _quantum(t: FloatArray) -> tuple[float, int]:
    """To what (s) the stamps are rounded, and how many of it are the usual step; 0, 0 where that cannot be seen."""
    steps = np.diff(t)
    steps = steps[_some(len(steps))]
    usual = float(np.median(steps))
    for per_step in range(1, 9):
        multiple = steps * (per_step / usual)
        if np.mean((np.abs(multiple - np.round(multiple)) < 0.1) & (multiple > 0.5)) > 0.99:
            return usual / per_step, per_step
    return 0.0, 0


def _scales(t: FloatArray, rounding_s: float) -> list[_Scale]:
    """Windows of 1, 2, 4, ... rows."""
    mean_period = float(t[-1] - t[0]) / (len(t) - 1)
    # numbers near zero keep their digits in sums over all rows
    total = _sums(t - t[0] - mean_period * np.arange(len(t)))
    scales: list[_Scale] = []
    width = 1
    while width <= min(512, max(1, len(t) // 8)):  # over more, the rate of a clock may change by itself
        jump = _jumps(total, width)
        middle = float(np.median(jump))
        off = np.abs(jump - middle)
        half, most = np.quantile(off, [0.5, 0.8])
        # most of the windows contain no gap, or at least half do not and means scatter less than half as many did
        white = 0.7 * scales[-1].noise_s if scales else np.inf
        scatter = min(most / 1.2816, max(half / 0.6745, white))
        noise_s = max(float(scatter), rounding_s * np.sqrt(2 / width))
        period = mean_period + middle / width
        # most samples "missing", and at many places: these are packets
        packets = mean_period > 1.5 * period and np.mean(off > 0.5 * abs(period)) > 0.01
        scales.append(_Scale(width, period, np.inf if packets else noise_s))
        width *= 2
    return scales


def _period(scales: list[_Scale], rounding_s: float) -> _Scale:
    """The windows that tell the period best: longer ones know it better, but gaps lengthen it.

    Rounding repeats itself and may pull all windows to the same side, so that it has no mean.
    """
    return min(scales, key=lambda s: s.period + max(s.noise_s, np.sqrt(2) * rounding_s) / s.width)


def _fine(scales: list[_Scale], period: float) -> _Scale:
    """The shortest windows that show a single missing sample; else those that come nearest to it."""
    sure = [s for s in scales if _GAP_STDS * s.noise_s < 0.5 * period]
    return sure[0] if sure else min(scales, key=lambda s: s.noise_s)


def _with_gaps(t: FloatArray, rounding_s: float) -> IntArray:
    """Count rows, and skip where the stamps leave the count for good."""
    count = np.arange(len(t), dtype=np.int64)
    scales = _scales(t, rounding_s)
    best = _period(scales, rounding_s)
    if not np.isfinite(best.noise_s):
        return count
    period = best.period
    fine = _fine(scales, period)
    for _ in range(10):  # gaps closer than the windows appear one after the other
        level = (t - t[0]) / period - count
        # stamps may be late this long (s), while a computer was busy, without a sample being missing
        at, missing = _steps(level, fine.width, max(0.5, _GAP_STDS * fine.noise_s / period), 0.2 / period)
        if len(at) == 0:
            break
        skip = np.zeros(len(t), dtype=np.int64)
        np.add.at(skip, at, missing)
        count += np.cumsum(skip)
        # gaps bend the median a little, the less of them the better
        level = (t - t[0]) / period - count
        period *= 1 + float(np.median(_jumps(_sums(level), best.width))) / best.width
    return count


def _steps(level: FloatArray, width: int, least: float, stall: float) -> tuple[IntArray, IntArray]:
    """Rows before which the level rises for good, and by how many whole periods.

    level: stamp minus count, in periods, as are `least`, what jitter may reach, and `stall`. Compared are the means
    over `width` rows on either side of a row. The level after a row is the lowest of all window means within a stall's
    length, because stamps that are late and catch up again are no gap.
    """
    total, row, n = _sums(level), np.arange(1, len(level)), len(level) - 1
    low, high = np.maximum(row - width, 0), np.minimum(row + width, len(level))
    before, after = (total[row] - total[low]) / (row - low), (total[high] - total[row]) / (high - row)
    candidates = after - before > least
    if not candidates.any():
        return _NOWHERE, _NOWHERE
    from scipy.ndimage import maximum_filter1d, minimum_filter1d

    horizon = min(max(2 * width, round(stall)), n)
    at = np.flatnonzero(maximum_filter1d(candidates.astype(np.int8), 2 * (horizon + width) + 1, mode="constant"))
    lasting = minimum_filter1d(after[at], horizon, origin=-(horizon // 2), mode="nearest")
    rise = lasting - before[at]
    # near the ends the windows are shorter and tell less
    bound = least * np.maximum(1.0, width / (np.minimum(at, n - 1 - at) + 1.0))
    peak = (rise > bound) & (rise >= maximum_filter1d(rise, 2 * width + 1, mode="nearest"))
    first = np.diff(at[peak], prepend=-n) > width  # a plateau is one gap
    near, missing = at[peak][first] + 1, np.maximum(1, np.round(rise[peak][first])).astype(np.int64)
    edges = [_edge(level, k, width, m) for k, m in zip(near.tolist(), missing.tolist(), strict=True)]
    return np.array(edges, dtype=np.int64), missing


def _edge(level: FloatArray, near: int, reach: int, missing: int) -> int:
    """The most likely row of a step of known height: the stamps before lie below its middle, those after above."""
    first, last = max(near - reach, 0), min(near + reach, len(level))
    middle = np.median(level[first:near]) + 0.5 * missing
    sums = np.cumsum(level[first : last - 1] - middle)
    return first + 1 + int(sums.argmin())


def _refuse_two_rates(t: FloatArray, count: IntArray, what: str) -> None:
    """Where gaps are dense, the rows between them must still tick at the common rate."""
    block, gaps = np.unique(np.flatnonzero(np.diff(count) > 1) // _ROWS_OF_BLOCK, return_counts=True)
    if (gaps < 10).all():
        return
    scales = _scales(t, 0.0)
    common = _period(scales, 0.0).period
    fine = _fine(scales, common)
    for b in block[gaps >= 10]:
        part = t[_ROWS_OF_BLOCK * b : _ROWS_OF_BLOCK * (b + 1)]
        width = min(fine.width, len(part) // 4)
        period = float(np.median(_jumps(_sums(part), width))) / width
        if abs(period / common - 1) > max(0.05, _GAP_STDS * fine.noise_s / (common * width)):
            raise DataProblem(
                what,
                f"it is not sampled evenly: {1 / common:.6g} Hz, but {1 / period:.6g} Hz at {part[0]:.3f} s",
                remedy=_REMEDY,
            )


_REMEDY = "record at one rate and without losing many samples, or cut the file where the rate changes"


def _refuse_uneven(t: FloatArray, off: FloatArray, period: float, what: str) -> None:
    """Stamps may not leave the even clock for long."""
    blocks = max(1, len(off) // 128)  # what deviates for half of these lasts; packets and stalls are shorter
    size = len(off) // blocks
    lasting = np.median(off[: blocks * size].reshape(blocks, size), axis=1)
    worst = int(np.abs(lasting).argmax())
    bound = max(_LARGEST_PERIODS * period, _LARGEST_S)
    if abs(lasting[worst]) > bound:
        tenth = max(10, len(t) // 10)
        begin, end = (1 / _period(_scales(part, 0.0), 0.0).period for part in (t[:tenth], t[-tenth:]))
        raise DataProblem(
            what,
            f"its time stamps fit no even clock: they deviate from {1 / period:.6g} Hz by {lasting[worst]:.3g} s at "
            f"{t[worst * size]:.3f} s, more than {bound:.3g} s; they begin with {begin:.6g} Hz and end with "
            f"{end:.6g} Hz",
            remedy=_REMEDY,
        )


def _lost(at: IntArray, even: FloatArray, period: float, longest_gap_s: float) -> tuple[Interval, ...]:
    """Between samples that were seen further apart than allowed; at the ends always, nothing bridges them."""
    gaps = np.flatnonzero(np.diff(at) * period > longest_gap_s)
    inner = [(float(even[at[i]]), float(even[at[i + 1]])) for i in gaps]
    begin = [(float(even[0] - period), float(even[at[0]]))] if at[0] > 0 else []
    end = [(float(even[at[-1]]), float(even[-1] + period))] if at[-1] < len(even) - 1 else []
    return (*begin, *inner, *end)


def _line(count: IntArray, t: FloatArray) -> tuple[float, float]:
    """Start and period (s) of the clock: least squares."""
    middle = count - count.mean()
    period = float(middle @ (t - t[0]) / (middle @ middle))
    return float(t[0] + (t - t[0]).mean() - period * count.mean()), period


def _sums(level: FloatArray) -> FloatArray:
    """Of the first 0, 1, ... rows; relative to the first, which changes no difference of means but keeps digits."""
    return np.concatenate([[0.0], np.cumsum(level - level[0])])


def _jumps(total: FloatArray, width: int) -> FloatArray:
    """Mean over `width` rows minus the mean over the `width` rows before, at enough rows to know its distribution."""
    row = _some(len(total) - 2 * width)
    return (total[row + 2 * width] - 2 * total[row + width] + total[row]) / width


def _some(n: int, enough: int = 30_000) -> IntArray:
    """All of n rows, or enough to know a distribution, without a period that packets could share (Weyl's sequence)."""
    return np.arange(n) if n <= enough else (np.modf(np.arange(enough) * 0.6180339887498949)[0] * n).astype(np.int64)


def interpolated(at_s: FloatArray, times_s: FloatArray, x: FloatArray) -> FloatArray:
    """(samples, channels) at other times, by straight lines."""
    return np.array([np.interp(at_s, times_s, column) for column in x.T], dtype=float).T


def even_rate(times_s: FloatArray, what: str, most: float = 0.05) -> float:
    """Samples per second of an even clock from which none is missing; refused where it is off by `most` periods."""
    if len(times_s) < 2 or not times_s[-1] > times_s[0]:
        raise DataProblem(what, f"{len(times_s)} samples have no rate")
    rate = rate_hz(times_s)
    off = np.abs((times_s - times_s[0]) * rate - np.arange(len(times_s)))
    if not off.max() < most:
        raise DataProblem(
            what,
            f"the times deviate from an even clock by up to {off.max():.2g} periods, at {times_s[off.argmax()]:.3f} s",
            remedy="put the samples on an even clock first (evenly_sampled)",
        )
    return rate


@dataclass(frozen=True, slots=True)
class ClockMap:
    """reference time = device time + offset_s + drift (reference time - at_s): a line with its uncertainty.

    At `at_s` the errors of offset and drift are independent.
    """

    offset_s: float
    """Reference time minus device time of the same instant, at `at_s`."""
    offset_std_s: float
    drift_ppm: float
    """us per s of reference time; close to zero where it was not observed."""
    drift_std_ppm: float
    at_s: float
    """Reference time."""
    drift_observed: bool
    """Whether the recording shows the drift to 5 ppm; if not, the drift of crystals is part of the interval."""
    freedom: int = 1000

    def to_reference(self, times_s: FloatArray) -> FloatArray:
        """Device times (s) on the reference clock."""
        drift = 1e-6 * self.drift_ppm
        return self.at_s + (times_s - (self.at_s - self.offset_s)) / (1 - drift)

    def from_reference(self, times_s: FloatArray) -> FloatArray:
        """Reference times (s) on the device's clock."""
        return times_s - self.offset_at(times_s)

    def offset_at(self, times_s: FloatArray) -> FloatArray:
        """Reference minus device time, s, at these reference times."""
        return self.offset_s + 1e-6 * self.drift_ppm * (np.asarray(times_s, dtype=float) - self.at_s)

    def interval_at(self, times_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The offset's 95 % interval, s, at these reference times (Student's t)."""
        middle, away = self.offset_at(times_s), np.asarray(times_s, dtype=float) - self.at_s
        half = self._quantile * np.hypot(self.offset_std_s, 1e-6 * self.drift_std_ppm * away)
        return middle - half, middle + half

    def drift_interval_ppm(self) -> tuple[float, float]:
        """The drift's 95 % interval."""
        half = self._quantile * self.drift_std_ppm
        return self.drift_ppm - half, self.drift_ppm + half

    @property
    def _quantile(self) -> float:
        return t_quantile(max(self.freedom, 1))


def clock_map(
    offset_s: float,
    std_s: float,
    at_s: float,
    drift_ppm: float = float("nan"),
    drift_std_ppm: float = float("nan"),
    *,
    freedom: int = 1000,
) -> ClockMap:
    """A clock relation of a measured offset and, where there is one, a measured drift.

    The drift is combined with what crystals do, 0 +- `DRIFT_OF_CRYSTALS_PPM`: a sharp measurement stays as it is, a
    vague or absent one gives way.
    """
    std = drift_std_ppm if np.isfinite(drift_ppm) and np.isfinite(drift_std_ppm) else float("inf")
    trust = 1 / (1 + (std / DRIFT_OF_CRYSTALS_PPM) ** 2)
    drift = trust * drift_ppm if trust > 0 else 0.0
    left = DRIFT_OF_CRYSTALS_PPM * float(np.sqrt(1 - trust)) if std > 0 else 0.0
    return ClockMap(offset_s, std_s, drift, left, at_s, std <= 2.5, freedom)  # 5 ppm in 95 of 100 cases


def resample(times_s: FloatArray, x: FloatArray, at_s: FloatArray, *, clock: ClockMap | None = None) -> FloatArray:
    """(samples, ...) at the times `at_s` (s) of the reference clock, low-passed for their rate: (len(at_s), ...).

    times_s: even, s, on the device's clock; `clock` maps it to the reference (the same clock if None). A sinc with a
    Kaiser window (Oppenheim & Schafer, 7.5) is evaluated at the exact times, so any ratio of rates and any offset are
    right alike. NaN where the kernel leaves the recording or meets a NaN: gaps stay gaps, wider by the filter's reach.
    """
    rate = even_rate(times_s, "rate conversion")
    if len(at_s) < 2:
        raise PalpateError("the rate of a single time is unknown")
    ratio = float(f"{rate_hz(at_s) / rate:.9g}")  # clocks that differ by rounding share their kernel
    there = at_s if clock is None else clock.from_reference(at_s)
    channels = np.ascontiguousarray(np.asarray(x, dtype=float).reshape(len(x), -1).T)
    place, step = (there - times_s[0]) * rate, round(1 / (_BETWEEN * ratio)) if ratio > 0 else 1
    result, at = np.full((len(at_s), len(channels)), np.nan), np.arange(len(at_s))
    if step > 1:  # a wide filter first, of whose samples the sharp one needs fewer (Crochiere & Rabiner 1975)
        taps = _first(ratio, step)
        fewer = windowed_sums(channels, taps, step)
        result = _evaluate(_kernel(ratio, step), fewer, (place - len(taps) // 2) / step)
        at = np.flatnonzero(np.isnan(result).any(axis=1))  # beside gaps both filters together reach too far
    result[at] = _evaluate(_kernel(ratio, 1), channels, place[at])
    return result.reshape(len(at_s), *x.shape[1:])


@lru_cache(maxsize=8)
def _first(ratio: float, step: int) -> FloatArray:
    """Taps before every `step`-th sample is kept: nothing may fall into the band that is left by the ratio of rates."""
    band = ratio / 2, 1 / step - ratio / 2, RESAMPLED_DB + _BEYOND_DB
    half = _windowed_sinc(np.arange(_reach(*band) + 1.0), *band)
    taps = np.concatenate([half[:0:-1], half])
    return taps / taps.sum()


@lru_cache(maxsize=8)
def _kernel(ratio: float, step: int) -> FloatArray:
    """Windowed sinc (fractions of a sample, 2 reach): weights of the samples around a place, by its fraction.

    ratio: of rates, out over in; step: every so manieth sample is there.
    """
    if not ratio > 0:
        raise PalpateError(f"rates must be positive, not in the ratio {ratio:g}")
    stop = min(1.0, ratio) / 2
    band = PASS * stop, stop, RESAMPLED_DB
    reach = -(-_reach(*band) // step)
    kernel = _windowed_sinc(np.arange(reach * _FINENESS + 1.0) * (step / _FINENESS), *band)
    return kernel[np.abs(np.arange(_FINENESS + 1)[:, None] + _FINENESS * np.arange(reach - 1, -reach - 1, -1))]


def _reach(passed: float, stopped: float, attenuation_db: float) -> int:
    """Of the following: so many samples to either side."""
    return int(np.ceil((attenuation_db - 7.95) / (2.285 * 2 * np.pi * (stopped - passed)) / 2))


def _windowed_sinc(distance: FloatArray, passed: float, stopped: float, attenuation_db: float) -> FloatArray:
    """At distances from its middle, in samples: up to the first frequency (cycles per sample) it passes, from the
    second on it stops.
    """
    reach, cutoff = _reach(passed, stopped, attenuation_db), passed + stopped  # twice the middle of the transition
    window = np.i0(0.1102 * (attenuation_db - 8.7) * np.sqrt(np.maximum(1 - (distance / reach) ** 2, 0.0)))
    shape = cutoff * np.sinc(cutoff * distance) * window / window[0]
    return np.asarray(np.where(distance <= reach, shape, 0.0), dtype=float)


def resampled_sign(x: FloatArray, slow: BoolArray | None = None) -> FloatArray:
    """The sign of x (samples,) as `resample` shows it: it changes between two samples, and rings before and after.

    Between samples x is straight. NaN counts as no change. slow (samples,): where it takes its time and does not ring.
    """
    sign = np.nan_to_num(np.sign(x))
    on_it = 1 + np.flatnonzero((sign[1:-1] == 0) & (sign[:-2] * sign[2:] < 0))  # it changes at a sample
    sign[on_it] = sign[on_it - 1]
    changes = sign[:-1] * sign[1:] < 0
    before = np.flatnonzero(changes if slow is None else changes & ~slow[:-1] & ~slow[1:])
    place = before + x[before] / (x[before] - x[before + 1])
    distance, answer = _step()
    reach = int(np.ceil(distance[-1]))
    at = before[:, None] + np.arange(1 - reach, reach + 1)
    away = at - place[:, None]
    change = (sign[before + 1] - sign[before])[:, None] * (np.interp(away, distance, answer) - (away > 0))
    inside = (at >= 0) & (at < len(x))
    return np.asarray(sign + np.bincount(at[inside], change[inside], len(x)), dtype=float)


@lru_cache(maxsize=1)
def _step() -> tuple[FloatArray, FloatArray]:
    """Distances from a step from 0 to 1, in samples of the lower rate, and what the low-pass of `resample` makes of it.

    It is the same for all instruments that are faster.
    """
    band = PASS / 2 / _FINENESS, 0.5 / _FINENESS, RESAMPLED_DB
    half = _windowed_sinc(np.arange(_reach(*band) + 1.0), *band)
    weights = np.concatenate([half[-2::-1], half[1:]])
    answer = (np.cumsum(weights) - weights / 2) / weights.sum()
    return (np.arange(len(weights)) - len(weights) // 2 + 1) / _FINENESS, answer


def _evaluate(kernel: FloatArray, x: FloatArray, at: FloatArray) -> FloatArray:
    """(places, channels): weighted sums of the 2 reach samples of x (channels, samples) around each place (in samples).

    NaN where these are not all there.
    """
    taps, count = kernel.shape[1], x.shape[1]
    result, left = np.full((len(at), len(x)), np.nan), np.floor(at).astype(np.int64)
    first, place = left - taps // 2 + 1, (at - left) * _FINENESS
    low = np.minimum(place.astype(np.int64), _FINENESS - 1)
    share = (place - low)[:, None]
    inside = np.flatnonzero((first >= 0) & (first + taps <= count))
    if not len(inside):
        return result
    rise, totals = np.diff(kernel, axis=0), kernel.sum(axis=1, keepdims=True)
    windows = sliding_window_view(x, taps, axis=1).swapaxes(0, 1)
    for some in np.array_split(inside, len(inside) * taps * len(x) // (1 << 20) + 1):
        row = low[some]
        weights = rise[row]
        weights *= share[some]
        weights += kernel[row]
        steps = np.diff(first[some])
        even = len(steps) and steps[0] > 0 and (steps == steps[0]).all()  # nothing needs to be copied
        these = windows[first[some[0]] : first[some[-1]] + 1 : steps[0]] if even else windows[first[some]]
        result[some] = (these @ weights[:, :, None])[:, :, 0]
    # a constant stays itself
    result /= totals[low] + share * (totals[low + 1] - totals[low])
    return result
