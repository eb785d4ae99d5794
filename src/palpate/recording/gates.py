"""Gates: faults of an instrument that its samples show by themselves, before any physics is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb, isfinite, log, nan, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.findings import Finding, Severity
from palpate.physics.arrays import ENOUGH, BoolArray, FloatArray, quantile, segment_mask, spread
from palpate.physics.arrays import runs as runs_of
from palpate.recording.recording import Channel, Clock, Recording

Span = tuple[float, float]
IntArray = NDArray[np.int64]

_FROZEN_S = 0.02
_AROUND = 16
"""Stamps on either side of a gap that are compared."""
_NOISE_HIGH, _NOISE_LOW = 5.0, 1 / 20
_BLOCK = 32
_HALTED_S, _HALTED, _JUMP, _SPEED = 0.1, 10, 6.0, 8
"""A signal without noise: time and samples of one value that may be a fault; a jump over the largest step beside it;
steps that tell its speed."""
_PAIR_S, _PAIR_FEWEST, _PAIR_SHARE = 1.0, 5, 0.9
"""Windows in which coordinate and effort are compared; how many must be alike, and in what share of these both
change."""
_AXES = 6
"""Channels of a load cell or an IMU: where none has any noise it is simulated, and may have axes that show nothing."""
_HAND_HZ = 5.0
"""People move things below this frequency; what is faster is noise or vibration."""


def check_channels(
    recording: Recording,
    names: Sequence[str],
    *,
    noise: Mapping[str, float] | None = None,
    segments: Sequence[Span] | None = None,
) -> tuple[Finding, ...]:
    """Look for instrument faults in scalar channels: dropouts per clock, then constant, clipped, frozen, noisy ones.

    noise: expected standard deviation per sample by channel name, in the channel's unit; channels without one are not
    judged. segments: what will be used, s on the channels' clocks, half-open; without them everything.
    """
    return judge_channels(recording, names, noise=noise, segments=segments)[0]


def judge_channels(
    recording: Recording,
    names: Sequence[str],
    *,
    noise: Mapping[str, float] | None = None,
    segments: Sequence[Span] | None = None,
) -> tuple[tuple[Finding, ...], list[Span]]:
    """The same, and when any of the channels was cut off or frozen: from its first to its last such sample, s."""
    channels = [recording[name] for name in names]
    for channel in channels:
        if channel.samples.ndim != 1:
            raise DataProblem(f"channel {channel.name!r}", "it has three components; gates look at single ones")
    findings: list[Finding] = []
    used = dict[int, tuple[list[slice], FloatArray]]()
    for clock in {id(channel.clock): channel.clock for channel in channels}.values():
        pieces = _pieces(clock, segments)
        used[id(clock)] = pieces, clock.times_s[pieces[0]] if len(pieces) == 1 else _joined(clock.times_s, pieces)
        findings += _dropouts(clock, [channel for channel in channels if channel.clock is clock], pieces)
    expected = noise or {}

    def seen() -> Iterator[tuple[str, _Used]]:
        """One at a time: copies of all channels of an hour would fill the memory."""
        every = (
            (name, _Used.of(channel, *used[id(channel.clock)])) for name, channel in zip(names, channels, strict=True)
        )
        return ((name, one) for name, one in every if one.known)

    silent = 0
    for _, one in seen() if len(channels) >= _AXES else ():
        if _white_noise(one.some):
            silent = 0
            break
        silent += 1
    simulated, stuck = silent >= _AXES, list[Span]()
    for name, one in seen():
        constant = _constant(one)
        if constant and simulated and one.low == one.high == 0:
            continue
        more, spans = (constant, []) if constant else _faults(one, expected.get(name, expected.get(one.name)))
        findings += more
        stuck += spans
    return tuple(findings), stuck


def check_pair(times_s: FloatArray, pair: FloatArray, names: Sequence[str], segments: Sequence[Span]) -> list[Finding]:
    """Coordinate and effort (samples, 2) of one freedom: neither lies still for long where the other does as it moves.

    Asked of windows of a second. The other must change by a twentieth of its range, and where it is half as lively
    elsewhere, the one that is still must nearly always change too. At an end of its range that may be a stop, or a
    limit of the instrument.
    """
    inside, per = segment_mask(times_s, segments), max(2, round(_PAIR_S / float(times_s[1] - times_s[0])))
    starts = np.concatenate([np.arange(a, b - per + 1, per) for a, b in runs_of(inside)] or [np.zeros(0, dtype=int)])
    windows = pair[starts[:, None] + np.arange(per)]
    spans, number, findings = np.ptp(windows, axis=1), np.arange(len(starts)), list[Finding]()
    low, high = np.nanmin(pair, axis=0), np.nanmax(pair, axis=0)
    margin = 0.05 * (high - low)
    for i, (mine, theirs) in enumerate((spans.T, spans.T[::-1])):
        value, step = windows[:, 0, i], _resolution(pair[:, i])
        for a, b in runs_of((mine == 0) & (value > low[i] + margin[i]) & (value < high[i] - margin[i])):
            usual = float(np.median(theirs[a:b]))
            changed = mine[(theirs >= 0.5 * usual) & ((number < a) | (number >= b))] > 2 * step
            if b - a < 2 or usual < margin[1 - i] or len(changed) < _PAIR_FEWEST or changed.mean() < _PAIR_SHARE:
                continue
            when = f"from {times_s[starts[a]]:.1f} to {times_s[starts[b - 1] + per - 1]:.1f} s"
            evidence = f"repeats one value {when} while {names[1 - i]} changes as it does where both change"
            remedy = "look for a loose cable or a busy bus, and leave these places out of the segments"
            findings.append(_finding("frozen", names[i], evidence, remedy, fatal=True))
    return findings


@dataclass(frozen=True, slots=True, eq=False)
class _Used:
    """The samples of a channel inside the segments, a NaN after each piece so that nothing reaches across its end."""

    name: str
    unit: str
    rate_hz: float
    times_s: FloatArray
    x: FloatArray
    known: int
    """How many of them are numbers, ..."""
    low: float
    """... the smallest and ..."""
    high: float
    """... the largest."""

    @staticmethod
    def of(channel: Channel, pieces: Sequence[slice], times: FloatArray) -> _Used:
        rate, unit = channel.clock.rate_hz, "" if channel.unit == "1" else channel.unit
        if len(pieces) == 1:
            x = channel.samples[pieces[0]]
            low, high = float(x.min()), float(x.max())
            if isfinite(low) and isfinite(high):  # so all are, and nothing needs to be copied
                return _Used(channel.name, unit, rate, times, x, len(x), low, high)
        x = _joined(channel.samples, pieces)
        finite = np.isfinite(x)
        known = int(np.count_nonzero(finite))
        if known + len(pieces) < len(x):
            x[~finite] = np.nan
        low, high = (float(np.fmin.reduce(x)), float(np.fmax.reduce(x))) if known else (nan, nan)
        return _Used(channel.name, unit, rate, times, x, known, low, high)

    @property
    def some(self) -> FloatArray:
        """Enough of the samples to know noise and resolution, in stretches."""
        return np.concatenate([self.x[a:b] for a, b in spread(len(self.x), ENOUGH, 1 << 12)])

    @property
    def where(self) -> str:
        return f"channel {self.name!r}"

    def amount(self, value: float) -> str:
        return f"{value:.4g} {self.unit}".rstrip()


def _joined(x: FloatArray, pieces: Sequence[slice]) -> FloatArray:
    """Pieces of (samples,), a NaN after each."""
    return np.concatenate([part for piece in pieces for part in (x[piece], [np.nan])]) if pieces else np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """Maximal stretches of two or more identical neighbours: index of the first, how many, and their value."""

    start: IntArray
    length: IntArray
    value: FloatArray
    hold: float
    """How long the instrument usually keeps a value: above 1 where a slow sensor is stored at a high rate."""

    @staticmethod
    def of(used: _Used) -> _Runs:
        x = used.x
        same = np.zeros(len(x) + 1, dtype=bool)
        np.equal(x[1:], x[:-1], out=same[1:-1])  # NaN equals nothing
        ends = np.flatnonzero(same[1:] != same[:-1]).reshape(-1, 2)
        length = ends[:, 1] - ends[:, 0] + 1
        alone = used.known - int(length.sum())
        hold = 1.0 if alone > len(length) else float(np.median(np.concatenate([np.ones(alone), length])))
        return _Runs(ends[:, 0], length, x[ends[:, 0]], hold)

    def which(self, keep: BoolArray) -> _Runs:
        return _Runs(self.start[keep], self.length[keep], self.value[keep], self.hold)


def _faults(used: _Used, expected: float | None) -> tuple[list[Finding], list[Span]]:
    """The gates of a channel that is alive at all; and when it was cut off or frozen, s."""
    some = used.some
    runs, step, blocks = _Runs.of(used), _resolution(some), _block_noise(some, 2)
    sigma = float(np.median(blocks[blocks > 0])) if (blocks > 0).any() else 0.0  # where it is not at a standstill
    findings: list[Finding] = []
    frozen = _frozen(used, runs, step)
    limits = {"maximum": used.high, "minimum": used.low}
    shortest, least = 5 * runs.hold, max(16 * step, 8 * sigma)
    clipped = {w: _clipped(used.x, runs, shortest, x, least, frozen) for w, x in limits.items()}
    either = np.logical_or(*clipped.values())
    fatal = _share(used, runs.which(either)) > 1e-3
    for word, which in clipped.items():
        if which.any():
            plateaus = f"cut off at its {word}, {used.amount(limits[word])}, {_places(used, runs.which(which))}"
            remedy = "use a larger range, or segments without these places"
            findings.append(_finding("clipping", used.where, plateaus, remedy, fatal=fatal))
    frozen &= ~either
    if frozen.any():
        repeats = f"repeats its last value {_places(used, runs.which(frozen))}"
        remedy = "look for a loose cable or a busy bus, and leave these places out of the segments"
        fatal = _share(used, runs.which(frozen)) > 1e-2
        findings.append(_finding("frozen", used.where, repeats, remedy, fatal=fatal))
    stuck = runs.which(either | frozen)
    ends = zip(used.times_s[stuck.start].tolist(), used.times_s[stuck.start + stuck.length - 1].tolist(), strict=True)
    return findings if expected is None else [*findings, *_noise(used, expected)], list(ends)


def _constant(used: _Used) -> list[Finding]:
    low, high = used.low, used.high
    if any(np.any((x > low) & (x < high)) for x in (used.some, used.x)):  # mostly some of them say it
        return []
    values = f"always {used.amount(low)}" if low == high else f"only ever {used.amount(low)} or {used.amount(high)}"
    return [_finding("constant", used.where, values, "check its cable, range and the channel's name", fatal=True)]


def _clipped(x: FloatArray, runs: _Runs, shortest: float, extreme: float, least: float, frozen: BoolArray) -> BoolArray:
    """Which runs, at least so long, are plateaus at a limit of the instrument.

    All long ones at the extreme value, once one of them is cut off abruptly at both ends or is too quiet for the noise
    around it. Zero is no limit: it is what a sensor that nothing touches may read.
    """
    candidates = (runs.value == extreme) & (runs.length >= shortest) & (extreme != 0.0)
    if np.any(candidates & frozen):
        return candidates
    if not candidates.any():
        return candidates
    depth = np.abs(extreme - x)
    longest = np.flatnonzero(candidates)[np.argsort(runs.length[candidates])[::-1]][:200]
    for place in longest:
        first, count = int(runs.start[place]), int(runs.length[place])
        after = depth[first + count : first + 9 * count]
        before = depth[max(0, first - 8 * count) : first][::-1]
        if _is_abrupt(after, count, least) and _is_abrupt(before, count, least):
            return candidates
    return np.zeros_like(candidates)


def _is_abrupt(depth: FloatArray, count: int, least: float) -> bool:
    """Whether a signal leaves a plateau of `count` samples as if cut off; depth (m,) below it, from its end.

    A smooth peak, or a start from rest, grows as time squared: after twice the time it is four times as deep. A signal
    that was cut off arrives with a slope: twice as deep. In between, depth(2t) / depth(t) = 4 (T + t) / (2 T + t) with
    T half the length of a cut-off parabola; the rounded top of a slow peak gives 3.2 or more at a depth of 16 steps, a
    start from rest as much in the first sixth of its travel. Where no such travel follows, nothing can be said.
    """
    deep = np.flatnonzero(depth[1:count] >= least)
    if len(deep) == 0:
        return False
    t = int(deep[0]) + 2  # two samples at least, or the ratio would be that of two roundings
    beyond = depth[t - 1 : 8 * t] / depth[t - 1]
    return len(beyond) > t and bool(beyond[t] < 2.7 and np.fmax.reduce(beyond) >= 6)


def _frozen(used: _Used, runs: _Runs, step: float) -> BoolArray:
    """Which runs are too long for the noise that stands right before and after them.

    Vibration of what moves is noise too. An instrument that is quiet wherever its object rests (an encoder, a
    gyroscope that is rounded) shows so in one rest that begins or ends smoothly; then only runs count during which the
    signal went on.
    """
    long = runs.length > max(_FROZEN_S * used.rate_hz, 2)
    suspects, went_on, ended = long.copy(), long.copy(), np.zeros_like(long)
    for place in np.flatnonzero(long):
        first, count = int(runs.start[place]), int(runs.length[place])
        before = used.x[max(0, first - 2 * _BLOCK) : first]
        after = used.x[first + count : first + count + 2 * _BLOCK]
        value = float(runs.value[place])
        suspects[place] = _is_frozen(before, value, count, after, step, len(used.x))
        if suspects[place]:  # it jumps to where the signal is by then, or it stops in the middle of a motion
            ended[place] = not np.isfinite(after[:1]).any()
            beside = before[-1 - int(_FROZEN_S * used.rate_hz) :] if ended[place] else after
            noise = max(_white_noise(before) or 0.0, _white_noise(after) or 0.0)
            went_on[place] = abs(float(beside[0]) - value) > 6 * (step + noise)
    rests, broken = long & ~suspects, _broken_off(used, runs, long & ~suspects, step)
    if not rests.any() or runs.length[rests].max() < runs.length[suspects].min(initial=0):
        return suspects | broken
    for place in np.flatnonzero(ended):  # at the value at which it rests at other times, it has come to rest
        went_on[place] &= np.abs(runs.value[rests] - runs.value[place]).min() > 2 * step
    return (suspects & went_on) | broken


def _broken_off(used: _Used, runs: _Runs, candidates: BoolArray, step: float) -> BoolArray:
    """Which of these runs cut a signal that shows no noise: rounded, filtered, or from an encoder.

    Beside a rest a signal is slow; beside a cable that gave way it goes on as it did. So it leaves a run by a jump that
    is far larger than any step on either side (and, where it rests there, than it ever makes elsewhere, for a motor's
    command may be made of levels), or it halts from its full speed: at both ends, or inside its range and for good (at
    the end of its range that may be a stop).
    """
    broken, period = np.zeros_like(candidates), 1 / used.rate_hz
    steps = np.abs(_change(used.some, used.unit)) if candidates.any() else np.empty(0)
    steps = steps[steps > 0]  # NaN is not
    if not len(steps):
        return broken
    fast = 3 * float(np.quantile(steps, 0.995))
    low, high = used.low, used.high
    inside = 0.05 * (high - low)
    for place in np.flatnonzero(candidates & (runs.length > max(_HALTED, _HALTED_S * used.rate_hz, 5 * runs.hold))):
        first, count, value = int(runs.start[place]), int(runs.length[place]), float(runs.value[place])
        last = first + count
        before, after = used.x[max(0, first - 2 * _BLOCK) : first + 1][::-1], used.x[last - 1 : last + 2 * _BLOCK]
        sides = [_Side.of(_change(x, used.unit), step) for x in (before, after)]
        if len(after) < 2 or not np.isfinite(after[1]):
            broken[place] = sides[0].halts and low + inside < value < high - inside
        elif used.times_s[last] - used.times_s[last - 1] < 1.5 * period:  # no rows are missing
            usual = _JUMP * max(side.usual for side in sides) + 3 * step
            usual = usual if all(side.alive for side in sides) else max(usual, fast)
            broken[place] = sides[1].first > usual or all(side.halts for side in sides)
    return broken


def _change(x: FloatArray, unit: str) -> FloatArray:
    """From each sample to the next; of an angle without whole turns, which an encoder leaves out."""
    change = np.diff(x)
    return np.asarray(np.remainder(change + pi, 2 * pi) - pi, dtype=float) if unit == "rad" else change


@dataclass(frozen=True, slots=True)
class _Side:
    """A signal beside a run of one value."""

    alive: bool
    """Whether it changes at all."""
    first: float
    """Size of the step between it and the run, and ..."""
    usual: float
    """... the largest of the others."""
    halts: bool
    """Whether the run cuts a motion at speed."""

    @staticmethod
    def of(change: FloatArray, step: float) -> _Side:
        """change: away from the run, the first one from its value."""
        change = change[: int(np.argmin(np.append(np.isfinite(change), False)))]
        if len(change) < _BLOCK // 2:
            return _Side(False, 0.0, 0.0, False)
        size, near = np.abs(change[1:]), change[:_SPEED]
        # at speed, no step is smaller than half of those farther off, nor near what the rounding hides
        even = bool((near > 0).all() or (near < 0).all())
        halts = even and float(np.abs(near).min()) > max(3 * step, 0.5 * float(np.abs(near).max()))
        return _Side(float(np.mean(size > 0)) > 0.25, float(abs(change[0])), float(size.max()), halts)


def _is_frozen(before: FloatArray, value: float, count: int, after: FloatArray, step: float, samples: int) -> bool:
    """Whether noise stops and comes back, or stops for good.

    A rest from which a motion starts may be quiet, and so may one at exactly zero, unless the signal jumps there.
    """
    noise_before, noise_after = _white_noise(before), _white_noise(after)
    if noise_after is None:  # the end of a piece: a motion that comes to rest may look like noise of one step
        noise_after, needed = noise_before, 1.2 * step
    else:
        needed = 0.8 * step  # rounding alone looks like up to 0.6 steps
    if noise_before is None or noise_after is None or min(noise_before, noise_after) <= needed:
        return False
    if value == 0.0 and abs(before[-1]) < 16 * step + 8 * noise_before:
        return False
    same = max(step / (2 * sqrt(pi) * min(noise_before, noise_after)), 1e-3)  # that noise is rounded to the same value
    return count > 1 + log(1e6 * samples) / -log(same)  # less happens by chance once in a million recordings


def _white_noise(x: FloatArray) -> float | None:
    """Standard deviation of the noise in a few samples, 0 where they are smooth, None where there are too few.

    White noise reverses its curvature from one sample to the next in 73 % of all cases, a smooth signal hardly ever.
    """
    bend = np.diff(x, 2)
    bend = bend[np.isfinite(bend)]
    if len(bend) < _BLOCK // 2:
        return None
    return float(np.median(np.abs(bend))) / (0.6745 * sqrt(6)) if np.mean(bend[1:] * bend[:-1] < 0) > 0.4 else 0.0


def _noise(used: _Used, expected: float) -> list[Finding]:
    """Compare the noise with the data sheet's."""
    blocks = _block_noise(used.some, _order(used, expected))
    if len(blocks) == 0:
        return []
    sigma = float(np.median(blocks))
    ratio = sigma / expected
    noise = f"{used.amount(sigma)} of noise per sample where {used.amount(expected)} is expected"
    if ratio > _NOISE_HIGH:
        remedy = "look for vibration, a loose mount, bad shielding"
        return [_finding("noise", used.where, f"{noise}, {ratio:.3g} times as much", remedy)]
    if ratio < _NOISE_LOW:
        filtered = f"{noise}: it was filtered, smoothed or coarsely rounded"
        return [_finding("noise", used.where, filtered, "record it as raw as possible")]
    return []


def _order(used: _Used, expected: float) -> int:
    """The lowest even order of differences in which a hand's motion is weaker than the expected noise.

    White noise of variance s2 has the variance binomial(2k, k) s2 in k-th differences, 6 s2 in second ones; a
    sine of frequency f is multiplied by (2 sin(pi f / rate))^k.
    """
    swing, gain = float(np.nanstd(used.some)), 2 * np.sin(min(pi / 2, pi * _HAND_HZ / used.rate_hz))
    return next((k for k in (2, 4) if swing * gain**k < expected * sqrt(comb(2 * k, k))), 6)


def _block_noise(x: FloatArray, order: int) -> FloatArray:
    """Standard deviation of high-frequency noise in each block of `_BLOCK` differences without NaN.

    Their median is as robust as that of the differences themselves, and unlike it not a multiple of the resolution.
    """
    bend = np.diff(x, order)
    blocks = bend[: len(bend) // _BLOCK * _BLOCK].reshape(-1, _BLOCK)
    squares = np.mean(blocks**2, axis=1) / comb(2 * order, order)
    return np.sqrt(squares[np.isfinite(squares)])


def _resolution(x: FloatArray) -> float:
    """The step in which values change: exact for rounded signals, far below the noise for others."""
    steps = np.abs(np.diff(x))
    steps = steps[steps > 0]  # NaN is not
    return quantile(steps, 0.01) if len(steps) else 0.0


def _dropouts(clock: Clock, channels: Sequence[Channel], pieces: Sequence[slice]) -> list[Finding]:
    """Gaps of the clock and samples that are not numbers, of all its channels together."""
    where, remedy = f"clock {clock.name!r}", "record again, or choose segments without these places"
    if not pieces:
        return [_finding("dropouts", where, "no samples in the segments", "check their times", fatal=True)]
    period, blind, lost = clock.step_s, 0, 0
    places: list[tuple[float, float]] = []  # how long, where
    for piece in pieces:
        times = clock.times_s[piece]
        unseen = ~np.logical_and.reduce([np.isfinite(channel.samples[piece]) for channel in channels])
        blind += int(np.count_nonzero(unseen))
        places += [((last - first) * period, float(times[first])) for first, last in runs_of(unseen)]
        gaps = _gaps(times, period)
        lost += int(np.sum(np.rint((times[gaps + 1] - times[gaps]) / period) - 1))
        places += [(float(times[gap + 1] - times[gap]), float(times[gap])) for gap in gaps]
    if not places:
        return []
    present = sum(piece.stop - piece.start for piece in pieces)
    share = (blind + lost) / (present + lost)
    longest, at = max(places)
    missing = (
        f"misses {_percent(share)} of its samples ({lost} in gaps, {blind} not numbers) in {len(places)} "
        f"{'place' if len(places) == 1 else 'places'}, the longest {longest:.3g} s at {at:.3f} s"
    )
    return [_finding("dropouts", where, missing, remedy, fatal=share > 5e-2)]


def _gaps(times_s: FloatArray, period: float) -> IntArray:
    """After which samples some are missing: after a long step all stamps are late, after mere jitter only one is."""
    at = np.flatnonzero(np.diff(times_s) > 1.5 * period)
    if not len(at):
        return at
    first, last = np.maximum(at - _AROUND + 1, 0), np.minimum(at + _AROUND + 1, len(times_s))
    total = np.concatenate([[0.0], np.cumsum(times_s - times_s[:1])])
    before = (total[at + 1] - total[first]) / (at + 1 - first)
    after = (total[last] - total[at + 1]) / (last - at - 1)
    return at[(after - before) / period - (last - first) / 2 > 0.5]


def _pieces(clock: Clock, segments: Sequence[Span] | None) -> list[slice]:
    """Consecutive samples inside the segments; overlapping segments count once."""
    if segments is None:
        return [slice(0, len(clock))] if len(clock) else []
    pieces: list[slice] = []
    for start, stop in sorted(np.searchsorted(clock.times_s, span).tolist() for span in segments):
        if pieces and start <= pieces[-1].stop:
            pieces[-1] = slice(pieces[-1].start, max(stop, pieces[-1].stop))
        elif stop > start:
            pieces.append(slice(start, stop))
    return pieces


def _share(used: _Used, runs: _Runs) -> float:
    return float(runs.length.sum() / used.known)


def _places(used: _Used, runs: _Runs) -> str:
    """Where the longest run is, how many others there are, and their share of the samples."""
    longest = int(np.argmax(runs.length))
    first, count = int(runs.start[longest]), int(runs.length[longest])
    others = len(runs.start) - 1
    more = f" and at {others} more {'place' if others == 1 else 'places'}" if others else ""
    share = _percent(_share(used, runs))
    return f"from {used.times_s[first]:.3f} to {used.times_s[first + count - 1]:.3f} s{more}, {share} of the samples"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _finding(cause: str, place: str, evidence: str, remedy: str, *, fatal: bool = False) -> Finding:
    return Finding(cause, evidence, place, remedy, Severity.FATAL if fatal else Severity.WARNING)
