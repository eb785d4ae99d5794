"""What the instruments wrote: channels with their samples, clock, unit and frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from palpate.drawing import Curves, draw_curves
from palpate.errors import DataProblem, UnknownName
from palpate.files import short_names
from palpate.physics.arrays import ENOUGH, median, spread_rows
from palpate.physics.units import parse_unit, shown_in
from palpate.recording.naming import unit_in_name
from palpate.tables import Styled, Table, data_frame, html, plain, table

Array = NDArray[np.float64]
_AT_ONCE = 1 << 16
"""Rows that are looked at together."""
_LISTED = 16
"""Channels that are printed."""


@dataclass(frozen=True, slots=True, eq=False)
class Clock:
    """When one device sampled: `times_s` (n,), its own seconds, finite and strictly increasing."""

    name: str
    times_s: Array
    step_s: float = field(init=False, repr=False)
    """The usual step: the mean of those near the median, which neither gaps nor rounded stamps bend; NaN of one sample.
    """

    def __post_init__(self) -> None:
        """Refuse times that are not (n,), finite and increasing."""
        times = _read_only(self.times_s)
        if times.ndim != 1:
            raise DataProblem(f"clock {self.name!r}", f"times have the shape {times.shape}, not (n,)")
        wrong = disorder(times)
        if wrong is not None:
            raise DataProblem(f"clock {self.name!r}", f"in row {wrong[0] + 1} {wrong[1]}")
        object.__setattr__(self, "times_s", times)
        object.__setattr__(self, "step_s", _usual_step(times))

    def __len__(self) -> int:
        """How many samples the device took."""
        return len(self.times_s)

    @property
    def rate_hz(self) -> float:
        """Samples per second between gaps; NaN for fewer than two samples."""
        return 1.0 / self.step_s

    @property
    def duration_s(self) -> float:
        """From the first to the last sample."""
        return float(self.times_s[-1] - self.times_s[0]) if len(self) else 0.0

    @property
    def largest_gap_s(self) -> float:
        """The longest step; equal to `step_s` for an even clock."""
        return float(np.max(np.diff(self.times_s))) if len(self) > 1 else float("nan")

    @property
    def jitter_s(self) -> float:
        """Standard deviation of the steps, without gaps."""
        steps = np.diff(self.times_s)
        usual = steps[steps <= 1.5 * self.step_s] if len(steps) else steps
        return float(np.std(usual)) if len(usual) else float("nan")

    @property
    def gaps(self) -> int:
        """How many steps are longer than one and a half usual ones."""
        return int(np.count_nonzero(np.diff(self.times_s) > 1.5 * self.step_s)) if len(self) > 1 else 0


@dataclass(frozen=True, slots=True, eq=False)
class Channel:
    """One quantity: `samples` (n,) or (n, 3) in the SI unit `unit`, NaN where the instrument saw nothing."""

    name: str
    samples: Array
    clock: Clock
    unit: str = "1"
    frame: str = ""
    stated: str = ""
    """The unit in the file, from which the samples were converted; "" where it states none."""

    def __post_init__(self) -> None:
        """Refuse samples that do not fit the clock and units that are not SI."""
        samples, what = _read_only(self.samples), f"channel {self.name!r}"
        if samples.shape not in ((len(self.clock),), (len(self.clock), 3)):
            raise DataProblem(what, f"{samples.shape} samples do not fit a clock of {len(self.clock)} times")
        if abs(parse_unit(self.unit).factor - 1.0) > 1e-12:
            raise DataProblem(what, f"{self.unit!r} is not an SI unit", remedy="convert where the file is read")
        object.__setattr__(self, "samples", samples)

    @property
    def missing(self) -> int:
        """How many samples the instrument did not see (any component NaN)."""
        absent = np.isnan(self.samples)
        return int(np.count_nonzero(absent if absent.ndim == 1 else absent.any(axis=1)))


@dataclass(frozen=True, slots=True, repr=False)
class Recording:
    """Channels by name, in file order; `recording["Door1"]` also finds "Subject:Door1" when it is unique."""

    channels: Mapping[str, Channel]
    source: Path | None = None
    format: str = ""
    words: tuple[str, ...] = ()
    """Columns of a table that hold no numbers, and gave no channel."""
    repeated: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Names that several columns of a table have, with the places of these; the second's channel is called NAME#2."""

    def __getitem__(self, name: str) -> Channel:
        """The channel of this name, or the only one whose name ends in ":name" or "/name"."""
        matches = self._matches(name)
        if not matches:
            raise UnknownName("channel", name, self.channels, where=self._where)
        if len(matches) > 1:
            several = " or ".join(repr(full) for full in matches)
            raise DataProblem(self._where, f"{name!r} could be {several}", remedy="write the whole name")
        return self.channels[matches[0]]

    def __contains__(self, name: object) -> bool:
        """Whether `recording[name]` finds exactly one channel."""
        return isinstance(name, str) and len(self._matches(name)) == 1

    def __iter__(self) -> Iterator[str]:
        """The names of the channels, in file order."""
        return iter(self.channels)

    def __len__(self) -> int:
        """How many channels there are."""
        return len(self.channels)

    @property
    def clocks(self) -> tuple[Clock, ...]:
        """The clocks of all channels, each once, in order of first use."""
        return tuple({id(c.clock): c.clock for c in self.channels.values()}.values())

    def stack(self, names: Iterable[str], *, negative: bool = False) -> Array:
        """Scalar channels of one clock side by side: (n, k), Fortran-ordered, in the order of `names`."""
        chosen = self.stackable(names)
        beside = None if negative else _side_by_side([channel.samples for channel in chosen])
        if beside is not None:
            return beside
        stacked = np.empty((len(chosen[0].clock), len(chosen)), order="F")
        for place, channel in enumerate(chosen):
            (np.negative if negative else np.positive)(channel.samples, out=stacked[:, place])
        return stacked

    def stackable(self, names: Iterable[str]) -> list[Channel]:
        """These channels; refused where they are not scalars of one clock."""
        chosen = [self[name] for name in names]
        _one_clock(chosen, self._where)
        for channel in chosen:
            if channel.samples.ndim != 1:
                raise DataProblem(self._where, f"{channel.name!r} has three components and cannot be stacked")
        return chosen

    def held_in(self, stacked: Array, names: Iterable[str]) -> Recording:
        """The same with the samples of these channels where `stack` has put them: they need not be there twice."""
        views = {c.name: replace(c, samples=stacked[:, i]) for i, c in enumerate(self.stackable(names))}
        return replace(self, channels={**self.channels, **views})

    def select(self, names: Iterable[str]) -> Recording:
        """The same recording with these channels only."""
        chosen = {channel.name: channel for channel in (self[name] for name in names)}
        return Recording(chosen, self.source, self.format)

    def one_clock(self) -> Clock:
        """The clock that all channels share; refused when they do not."""
        return _one_clock(list(self.channels.values()), self._where)

    def __str__(self) -> str:
        """What there is, for `print`: clocks and channels."""
        return plain(*self._shown())

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        return html(*self._shown())

    def __repr__(self) -> str:
        """One line: what print shows in full."""
        source, shown = "" if self.source is None else f"{self.source.name!r}, ", ", ".join(list(self.channels)[:6])
        more = ", ..." if len(self) > 6 else ""
        return f"<Recording {source}{len(self)} channels: {shown}{more}>"

    def plot(self, *names: str) -> Any:
        """Channels over time, those of one unit together, as a Matplotlib figure; angles in deg. All unless named."""
        panels: dict[str, dict[str, tuple[Array, Array]]] = {}
        for channel in (self[name] for name in names or self.channels):
            factor, unit = shown_in(channel.unit)
            for name, samples in _components(channel).items():
                panels.setdefault(unit, {})[name] = (channel.clock.times_s, factor * samples)
        title = "recording" if self.source is None else self.source.name
        return draw_curves([Curves(unit if unit != "1" else "no unit", ys) for unit, ys in panels.items()], title)

    def to_dataframe(self, clock: str | None = None, *, pandas: bool = False) -> Any:
        """Time and channels in SI as columns of a Polars data frame (of pandas: where installed), one row a sample.

        Channels of several clocks do not fit into one table: `clock` names the one whose channels are wanted.
        """
        clocks = {c.name: c for c in self.clocks}
        if clock is None and len(clocks) > 1:
            first = next(iter(clocks))
            wrong = f"there are channels of {len(clocks)} clocks: {', '.join(clocks)}"
            raise DataProblem(self._where, wrong, remedy=f"name one of them: to_dataframe({first!r})")
        if clock is not None and clock not in clocks:
            raise UnknownName("clock", clock, clocks, where=self._where)
        chosen = clocks[clock] if clock is not None else self.one_clock()
        mine = [c for c in self.channels.values() if c.clock is chosen or clock is None]
        columns = {"time_s": chosen.times_s} | {n: x for c in mine for n, x in _components(c).items()}
        return data_frame(columns, pandas=pandas)

    def _shown(self) -> list[Styled | Table]:
        count = f"{len(self)} channel{'s' * (len(self) != 1)}"
        kind = f" ({self.format})" if self.format else ""
        title = Styled(f"{self.source.name if self.source is not None else 'recording'}{kind}: {count}", style="bold")
        clocks = table(
            {"clock": c.name, "samples": str(len(c)), "rate, Hz": f"{c.rate_hz:.4g}"}
            | {"from, s": f"{c.times_s[0]:.3f}", "to, s": f"{c.times_s[-1]:.3f}", "gaps": str(c.gaps)}
            for c in self.clocks
            if len(c)
        )
        some = list(self.channels.values())[:_LISTED]
        left = len(self) - len(some)
        note = f"... and {left} more: list(recording) names all of them" if left else ""
        channels = table((_channel_cells(c) for c in some), note=note)
        return [title, *(t for t in (clocks, channels) if t.rows)]

    def _matches(self, name: str) -> list[str]:
        if name in self.channels:
            return [name]
        return [full for full in self.channels if full.endswith((f":{name}", f"/{name}"))]

    @property
    def _where(self) -> str:
        return str(self.source) if self.source is not None else "recording"


def merge_recordings(recordings: Sequence[Recording]) -> Recording:
    """One recording of several files; channels and clocks whose names clash get the file's stem as prefix."""
    if len(recordings) == 1:
        return recordings[0]
    sources = [recording.source or Path(f"recording{place}") for place, recording in enumerate(recordings, 1)]
    prefixes = short_names([source.with_suffix("") for source in sources])
    clash = _repeated([name for recording in recordings for name in recording])
    clock_clash = _repeated([clock.name for recording in recordings for clock in recording.clocks])
    channels: dict[str, Channel] = {}
    for recording, prefix in zip(recordings, prefixes, strict=True):
        clocks = {
            id(clock): Clock(f"{prefix}/{clock.name}", clock.times_s) if clock.name in clock_clash else clock
            for clock in recording.clocks
        }
        for name, channel in recording.channels.items():
            full = f"{prefix}/{name}" if name in clash else name
            if full in channels:
                raise DataProblem(f"channel {full!r}", "two files have it", remedy="rename one of the files")
            channels[full] = replace(channel, name=full, clock=clocks[id(channel.clock)])
    formats = dict.fromkeys(recording.format for recording in recordings)
    return Recording(channels, None, " + ".join(formats))


def _side_by_side(columns: Sequence[Array]) -> Array | None:
    """(n, k): columns at equal distances in memory, as one array without a copy; None where they are not."""
    n, begin = len(columns[0]), [column.__array_interface__["data"][0] for column in columns]
    apart = {b - a for a, b in pairwise(begin)}
    same = all(c.base is columns[0].base and c.base is not None and c.strides == (8,) for c in columns)
    if not same or n < 2 or len(apart) != 1 or (by := apart.pop()) < 8 * n:
        return None
    return as_strided(columns[0], (n, len(columns)), (8, by), writeable=False)


def _usual_step(times_s: Array) -> float:
    """`Clock.step_s`, some rows at a time: arrays as long as the recording take longer to get than to compute."""
    some = spread_rows(times_s[:, None], ENOUGH, 64)
    usual = float(median(np.diff(some, axis=-2).ravel())) if len(times_s) > 1 else float("nan")
    total = count = 0.0
    for i in range(0, len(times_s) - 1, _AT_ONCE):
        steps = np.diff(times_s[i : i + _AT_ONCE + 1])
        alike = steps[np.abs(steps - usual) <= 0.5 * usual]
        total, count = total + float(alike.sum()), count + len(alike)
    return total / count if count else usual


def disorder(times_s: Array) -> tuple[int, str] | None:
    """The first row whose time is not finite or not later than the one before, and what is wrong; None: all is well."""
    for i in range(0, len(times_s), _AT_ONCE):
        part = times_s[i : i + _AT_ONCE]
        wrong = ~np.isfinite(part)
        wrong[1:] |= ~(np.diff(part) > 0)
        wrong[0] |= i > 0 and not part[0] > times_s[i - 1]
        if wrong.any():
            row = i + int(np.argmax(wrong))
            break
    else:
        return None
    if not np.isfinite(times_s[row]):
        return row, "the time is missing"
    before, now = times_s[row - 1], times_s[row]
    verb = "stands still" if before == now else "goes backwards"
    return row, f"time {verb}: {now:.9g} s after {before:.9g} s"


def _components(channel: Channel) -> dict[str, Array]:
    """Scalar signals by name: of a vector its three."""
    if channel.samples.ndim == 1:
        return {channel.name: channel.samples}
    return {f"{channel.name}.{axis}": channel.samples[:, i] for i, axis in enumerate("xyz")}


def _channel_cells(channel: Channel) -> dict[str, str]:
    factor, unit = shown_in(channel.unit)
    seen = channel.samples[np.isfinite(channel.samples)]
    reach = f"{factor * seen.min():.4g} … {factor * seen.max():.4g}" if len(seen) else "-"
    many = " (x, y, z)" if channel.samples.ndim == 2 else ""
    cells = {"channel": channel.name + many, "from … to": reach, "unit": shown_unit(channel) if unit == "1" else unit}
    return cells | {"missing": str(channel.missing), "clock": channel.clock.name}


def shown_unit(channel: Channel) -> str:
    """The unit of a channel for people; where the file states none, the one at the end of its name."""
    named = unit_in_name(channel.name)[1] if channel.unit == "1" else ""
    return f"{named} (by its name)" if named else "" if channel.unit == "1" else channel.unit


def _one_clock(channels: Sequence[Channel], where: str) -> Clock:
    if not channels:
        raise DataProblem(where, "there are no channels", remedy="name at least one")
    first = channels[0]
    for other in channels[1:]:
        if first.clock is not other.clock and not np.array_equal(first.clock.times_s, other.clock.times_s):
            wrong = f"{first.name!r} runs on {first.clock.name!r}, {other.name!r} on {other.clock.name!r}"
            raise DataProblem(where, wrong, remedy="take channels of one clock, or resample them first")
    return first.clock


def _read_only(values: Array) -> Array:
    view = np.asarray(values, dtype=np.float64).view()
    view.flags.writeable = False
    return view


def _repeated(names: Sequence[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}
