"""Named columns and arrays, mapped to channels by the user or taken as they are: plain tables (CSV, Parquet), and the
arrays that HDF5 and MATLAB files hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palpate.errors import DataProblem, FileProblem, PalpateError, UnknownName
from palpate.files import read_bytes, replacing
from palpate.recording.formats import as_utf8, check_kind, head_of, is_number, kind, separator_of
from palpate.recording.recording import Array, Channel, Clock, Recording
from palpate.recording.text import (
    Rows,
    clock_of,
    distinct,
    first_lines,
    parse_rows,
    seconds,
    split,
    split_header,
    time_name,
    to_si,
    trimmed_end,
)

CSV, PARQUET = "csv", "parquet"
_SAMPLE_LINES = 200
_COMMENT = ("#", "%", "//")
_MARKS = "#%/ "
_RATE = re.compile(r"(?:actual|sample|sampling|frame|data)?[ _]?(?:rate|freq|frequency)(?:[ _]?hz)?|fs", re.IGNORECASE)
_TIME_UNIT = re.compile(r"(|m|u|n|milli|micro|nano)(?:s|secs?|seconds?)")


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """Which column (or three, for a vector) a channel comes from; unit "" means the header's, else 1."""

    column: str | Sequence[str]
    unit: str = ""
    frame: str = ""

    @property
    def names(self) -> list[str]:
        """The columns by name."""
        return [self.column] if isinstance(self.column, str) else list(self.column)


ColumnLike = str | ColumnSpec | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Table:
    """A parsed file: headers as written, columns "0", "1", ... and the line number of each row (n,)."""

    path: Path
    headers: Sequence[str]
    frame: pl.DataFrame
    lines: NDArray[np.intp]

    def place(self, column: str) -> int:
        """Where a column stands, by its whole header or by its name without the unit."""
        whole = list(self.headers)
        if whole.count(column) == 1:
            return whole.index(column)
        bare = [split_header(header)[0] for header in whole]
        if bare.count(column) == 1:
            return bare.index(column)
        raise UnknownName("column", column, (h for h in self.headers if h), where=str(self.path))


def read(
    path: str | Path,
    *,
    columns: Mapping[str, ColumnLike] | None = None,
    time: ColumnLike | None = None,
    rate: float | None = None,
    header: Sequence[str] | None = None,
) -> Recording:
    """Read a CSV table; `header` names the columns of a file that has no header line.

    `columns` maps channel names to columns; without it every number column becomes a channel. Time comes
    from the column `time`, from a constant `rate` in Hz, or from a column named time, t, timestamp, ...
    """
    path = Path(path)
    raw = read_bytes(path)
    # What merely looks like an IMU export may still be wanted as a plain table.
    check_kind(path, raw, CSV, "microstrain-csv")
    return _recording(_parse(path, as_utf8(raw), header, time), CSV, columns, time, rate)


def read_parquet(
    path: str | Path,
    *,
    columns: Mapping[str, ColumnLike] | None = None,
    time: ColumnLike | None = None,
    rate: float | None = None,
) -> Recording:
    """Read a Parquet table; the options are those of a CSV table."""
    path = Path(path)
    data = read_bytes(path)
    check_kind(path, data, PARQUET)
    try:
        frame = pl.read_parquet(BytesIO(data))
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise FileProblem(
            path, f"the file is damaged or cut off ({reason})", remedy="copy or write it again"
        ) from error
    headers = frame.columns
    frame = frame.rename({header: str(place) for place, header in enumerate(headers)})
    return _recording(_Table(path, headers, frame, np.arange(1, len(frame) + 1)), PARQUET, columns, time, rate)


def write(path: str | Path, recording: Recording) -> None:
    """Write the channels of one clock as CSV, headed "name [unit]"; a vector becomes name.x, .y, .z."""
    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        _frame(recording).fill_nan(None).write_csv(file)


def write_parquet(path: str | Path, recording: Recording) -> None:
    """Write the channels of one clock as Parquet, with the same column names as in CSV."""
    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        _frame(recording).write_parquet(file)


def headers(path: str | Path) -> list[str]:
    """The headers of a CSV or Parquet table, as written; the table itself is not read."""
    path = Path(path)
    if kind(head_of(path), path) == PARQUET:
        return list(pl.read_parquet_schema(path))
    _, _, sample = _skip_comments(as_utf8(read_bytes(path)))
    return split(sample[0].lstrip(_MARKS), separator_of(sample[0])) if sample else []


def time_column(path: str | Path) -> str | None:
    """The header that `read` and `read_parquet` take for that of the times; None where there is none."""
    names = headers(path)
    place = _time_place(names, None)
    return None if place is None else names[place]


def _parse(path: Path, data: bytes, header: Sequence[str] | None, time: ColumnLike | None) -> _Table:
    skipped, offset, sample = _skip_comments(data)
    if not sample:
        raise FileProblem(path, "there are no rows", remedy="export it again")
    separator = separator_of(sample[0])
    if header is None:
        names, sample, first_line = split(sample[0].lstrip(_MARKS), separator), sample[1:], skipped + 2
        _, offset = first_lines(data, offset, 1)
        if all(is_number(name) for name in names if name):
            raise FileProblem(
                path,
                "the first line holds numbers, not the names of the columns",
                line=skipped + 1,
                remedy="write a header line, or name the columns with the option header",
            )
    else:
        names, first_line = [*header], skipped + 1
    cells = [split(line, separator) for line in sample if line.strip()]
    width = len(cells[0]) if cells else len(names)
    names = distinct([*names, *[""] * (width - len(names))][:width])
    texts = {place for place in range(width) if _is_text(cells, place)}
    clock = _time_place(names, time)
    rows = Rows(path, data, offset, trimmed_end(data), first_line, separator, names)
    frame = parse_rows(rows, texts if clock is None else texts | {clock})
    return _Table(path, names, frame, np.arange(len(frame)) + first_line)


def _skip_comments(data: bytes) -> tuple[int, int, list[str]]:
    """Comment and blank lines before the header, the header's offset, and the lines from there on.

    A comment right before the numbers is the header itself, as numpy.savetxt writes it.
    """
    lines, _ = first_lines(data, 0, _SAMPLE_LINES)
    skip = 0
    while skip < len(lines) and (not lines[skip].strip() or lines[skip].startswith(_COMMENT)):
        skip += 1
    if (
        0 < skip < len(lines)
        and lines[skip - 1].startswith(_COMMENT)
        and is_number(split(lines[skip], separator_of(lines[skip]))[0])
    ):
        skip -= 1
    _, offset = first_lines(data, 0, skip) if skip else ([], 0)
    return skip, offset, lines[skip:]


def _is_text(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Whether the first filled cell of a column is a word: then the column is none of numbers."""
    cell = next((row[place] for row in rows if place < len(row) and row[place]), "0")
    return not is_number(cell)


def _time_place(headers: Sequence[str], time: ColumnLike | None) -> int | None:
    """Where the time column stands, by the option or by a usual name; None where there is none."""
    bare = [split_header(header)[0] for header in headers]
    if time is not None:
        wanted = spec_of(time).column
        return next((p for p, names in enumerate(zip(headers, bare, strict=True)) if wanted in names), None)
    return next((place for place, name in enumerate(bare) if time_name(name) is not None), None)


def _recording(
    table: _Table,
    format_name: str,
    columns: Mapping[str, ColumnLike] | None,
    time: ColumnLike | None,
    rate: float | None,
) -> Recording:
    place = _time_place(table.headers, time)
    clock = _clock(table, place, time, rate)
    specs = {name: spec_of(column) for name, column in (columns or {}).items()}
    if columns is None:
        for k, header in enumerate(table.headers):
            if k != place and header and table.frame[str(k)].dtype.is_numeric():
                name, unit = split_header(header)
                specs[header if name in specs else name] = ColumnSpec(header, unit)
    if not specs:
        raise FileProblem(table.path, "there is no column of numbers besides the time", remedy="check the separator")
    channels: dict[str, Channel] = {}
    for name, spec in specs.items():
        places = [table.place(column) for column in spec.names]
        parts = [(_numbers(table, k), split_header(table.headers[k])[1]) for k in places]
        channels[name] = _channel(table.path, name, spec, clock, parts)
    return Recording(channels, table.path, format_name)


def _channel(
    path: Path, name: str, spec: ColumnSpec, clock: Clock, parts: Sequence[tuple[NDArray[Any], str]], frame: str = ""
) -> Channel:
    """A channel of one column or three, each with the unit that the file states; those of `spec` come first."""
    try:
        scales = [to_si(spec.unit or unit or "1") for _, unit in parts]
    except PalpateError as error:
        raise FileProblem(path, f"channel {name!r}: {error}") from error
    if len({unit for _, unit in scales}) != 1 or len(parts) not in (1, 3):
        raise FileProblem(path, f"channel {name!r} needs one column, or three of one unit", remedy="name the columns")
    samples = np.empty((len(clock), len(parts)), order="F")
    for k, ((values, _), (factor, _)) in enumerate(zip(parts, scales, strict=True)):
        samples[:, k] = values * factor
    return Channel(name, samples[:, 0] if len(parts) == 1 else samples, clock, scales[0][1], spec.frame or frame)


def _check_rate(path: Path, time: ColumnLike | None, rate: float) -> None:
    if time is not None:
        raise FileProblem(path, "both a time column and a rate are given", remedy="give one of them")
    if not rate > 0:
        raise FileProblem(path, f"the rate {rate} Hz is not positive")


def _clock(table: _Table, place: int | None, time: ColumnLike | None, rate: float | None) -> Clock:
    name = table.path.stem
    if rate is not None:
        _check_rate(table.path, time, rate)
        return Clock(name, np.arange(len(table.frame)) / rate)
    if place is None:
        if time is not None:
            table.place(str(spec_of(time).column))
        raise FileProblem(
            table.path,
            f"no column looks like time ({', '.join(h for h in table.headers if h)})",
            remedy="name it with the option time, or give a constant rate in Hz with the option rate",
        )
    bare, unit = split_header(table.headers[place])
    unit = (spec_of(time).unit if time is not None else "") or unit or time_name(bare) or ""
    times_s = seconds(table.path, table.frame[str(place)], table.lines, unit=unit)
    return clock_of(table.path, name, times_s, table.lines)


def _numbers(table: _Table, place: int) -> Array:
    column = table.frame[str(place)]
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.cast(pl.Float64).to_numpy()
    numbers = column.cast(pl.String).cast(pl.Float64, strict=False)
    bad = (numbers.is_null() & column.is_not_null()).arg_true()
    if len(bad):
        row = int(bad[0])
        raise FileProblem(
            table.path,
            f"column {place + 1} ({table.headers[place]}): {column[row]!r} is not a number",
            line=int(table.lines[row]),
            remedy="map a column of numbers",
        )
    return numbers.to_numpy()


def spec_of(column: ColumnLike) -> ColumnSpec:
    """A column map's entry as a whole: a name alone, or {column: ..., unit: ..., frame: ...}."""
    if isinstance(column, ColumnSpec):
        return column
    if isinstance(column, str):
        return ColumnSpec(column)
    known = ("column", "unit", "frame")
    for key in column:
        if key not in known:
            raise UnknownName("key", key, known, where="column map")
    if "column" not in column:
        raise DataProblem("column map", "no column is named", remedy="write {column: NAME, unit: ..., frame: ...}")
    return ColumnSpec(**column)


def _frame(recording: Recording) -> pl.DataFrame:
    clock = recording.one_clock()
    columns: dict[str, Array] = {"time [s]": clock.times_s}
    for name, channel in recording.channels.items():
        if channel.samples.ndim == 1:
            columns[f"{name} [{channel.unit}]"] = channel.samples
        else:
            columns |= {f"{name}.{axis} [{channel.unit}]": channel.samples[:, k] for k, axis in enumerate("xyz")}
    if len(columns) != 1 + sum(1 if c.samples.ndim == 1 else 3 for c in recording.channels.values()):
        raise DataProblem("recording", "two channels would share one column", remedy="rename one of them")
    return pl.DataFrame(columns)


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """One array of a file: `values` () or (n,) or (n, k), its name "group/name", what the file says of it."""

    name: str
    values: NDArray[Any]
    unit: str = ""
    frame: str = ""
    labels: tuple[str, ...] = ()
    """Names of the k columns."""
    units: tuple[str, ...] = ()
    """Units of the k columns, where they are not all `unit`."""
    rate_hz: float | None = None
    """Its own rate or its group's, where the file says one."""
    vector: bool = False
    """Whether three columns are one vector, whatever the unit."""

    @property
    def group(self) -> str:
        """Where it stands: "a/b" for "a/b/c", "" for "c"."""
        return self.name.rpartition("/")[0]

    @property
    def is_time(self) -> bool:
        """Whether it is an array of times, by its name."""
        return self.values.ndim > 0 and time_name(self.name.rpartition("/")[2]) is not None


@dataclass(frozen=True, slots=True, eq=False)
class _Signal:
    """An array with samples along the first axis, and its clock; `short`: its name seen from the times' group."""

    stored: Stored
    values: NDArray[Any]
    clock: Clock
    short: str

    @property
    def columns(self) -> list[tuple[str, NDArray[Any], str]]:
        """Label, samples and unit of each column."""
        stored, columns = self.stored, np.atleast_2d(self.values.T)
        count = len(columns)
        labels = (
            stored.labels if len(stored.labels) == count else "xyz" if count == 3 else map(str, range(1, count + 1))
        )
        units = stored.units if len(stored.units) == count else [stored.unit] * count
        return list(zip(labels, columns, units, strict=True))


def is_rate(name: str) -> bool:
    """Whether a single number of this name is a sampling rate in Hz."""
    return _RATE.fullmatch(name) is not None


def recording_of(
    path: Path,
    format_name: str,
    stored: Sequence[Stored],
    columns: Mapping[str, ColumnLike] | None,
    time: ColumnLike | None,
    rate: float | None,
) -> Recording:
    """Channels of all arrays that are as long as their time, or of those that `columns` names.

    The time of an array is the option's, else an array named time, t, ... in its group or the nearest one above,
    else the rate that the file states. An array (n, 3) in a unit of length is one vector; any other (n, k) gives
    scalars name.x, name.y, name.z or name.1, ..., name.k, or those that its labels say.
    """
    specs = None if columns is None else {name: spec_of(column) for name, column in columns.items()}
    wanted = None if specs is None else [name for spec in specs.values() for name in spec.names]
    signals = _signals(path, stored, time, rate, wanted)
    if not signals:
        listed = ", ".join(f"{s.name} {s.values.shape}" for s in stored[:12])
        raise FileProblem(
            path,
            f"no array has a time or a rate ({listed or 'there are no numbers'})",
            remedy="name the array of times with the option time, or give a constant rate in Hz with the option rate",
        )
    if specs is None:
        shorts = [signal.short for signal in signals]
        channels = [
            channel
            for signal in signals
            for channel in _all_of(signal, signal.short if shorts.count(signal.short) == 1 else signal.stored.name)
        ]
    else:
        channels = [_mapped(path, name, spec, signals) for name, spec in specs.items()]
    names = [channel.name for channel in channels]
    for name in names:
        if names.count(name) > 1:
            raise FileProblem(path, f"the name {name!r} stands for two arrays", remedy="rename one, or use columns")
    return Recording(dict(zip(names, channels, strict=True)), path, format_name)


def _signals(
    path: Path, stored: Sequence[Stored], time: ColumnLike | None, rate: float | None, wanted: Sequence[str] | None
) -> list[_Signal]:
    made: dict[object, Clock] = {}
    """Clocks, each made once, so that arrays of one time share one."""

    def of_time(times: Stored, unit: str = "") -> Clock:
        if id(times) not in made:
            values = np.ravel(times.values)
            unit = unit or _time_unit(path, times) or time_name(times.name.rpartition("/")[2]) or ""
            times_s = seconds(path, pl.Series(values), np.arange(1, len(values) + 1), unit=unit)
            made[id(times)] = clock_of(path, times.group or path.stem, times_s)
        return made[id(times)]

    def of_rate(name: str, arrays: Sequence[Stored], rate_hz: float) -> Clock:
        """As long as the longest of the arrays: what is much shorter is no signal."""
        longest = max(max(s.values.shape, default=0) for s in arrays)
        return made.setdefault((name, rate_hz), Clock(name, np.arange(longest) / rate_hz))

    def nearest(one: Stored) -> tuple[Clock | None, str]:
        """The clock of the nearest time above an array, else of its rate, and the group that it stands in."""
        steps = one.group.split("/") if one.group else []
        for group in ("/".join(steps[:depth]) for depth in range(len(steps), -1, -1)):
            times = next((s for s in stored if s.group == group and s.is_time), None)
            if times is not None:
                return of_time(times), group
        if one.rate_hz is None or not one.rate_hz > 0:
            return None, ""
        neighbours = [s for s in stored if s.group == one.group and s.rate_hz == one.rate_hz]
        return of_rate(one.group or path.stem, neighbours, one.rate_hz), one.group

    if rate is not None:
        _check_rate(path, time, rate)
    stated, spec = None, None if time is None else spec_of(time)
    if spec is not None:
        known = {one.name: one for one in stored if one.values.ndim}
        stated = known.get(str(spec.column))
        if stated is None:
            raise UnknownName("array", str(spec.column), known, where=str(path))
    signals: list[_Signal] = []
    for one in stored:
        if one.values.ndim == 0 or one is stated or (spec is None and one.is_time):
            continue
        if stated is not None and spec is not None:
            clock, group = of_time(stated, spec.unit), stated.group
        else:
            clock, group = (of_rate(path.stem, stored, rate), "") if rate is not None else nearest(one)
        values = None if clock is None else _fitted(path, one, clock, wanted)
        if clock is not None and values is not None:
            signals.append(_Signal(one, values, clock, one.name.removeprefix(f"{group}/") if group else one.name))
    return signals


def _time_unit(path: Path, time: Stored) -> str:
    """The unit of an array of times; also "seconds" and, as climatologists write, "seconds since ..."."""
    word = time.unit.strip().lower().partition(" ")[0]
    match = _TIME_UNIT.fullmatch(word)
    if word and match is None:
        raise FileProblem(
            path,
            f"the unit of the times {time.name!r} is {time.unit!r}",
            remedy=f"state it with the option time: {{column: {time.name}, unit: s}}",
        )
    return "" if match is None else f"{'u' if match[1] == 'micro' else match[1][:1]}s"


def _fitted(path: Path, one: Stored, clock: Clock, wanted: Sequence[str] | None) -> NDArray[Any] | None:
    """The array with samples along the first axis; None for one that is no signal (a matrix, a table of constants).

    One that does not fit is refused where a column map wants it, or, without one, where its length is near.
    """
    values, n = one.values, len(clock)
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.ndim == 2 and len(values) != n and len(values.T) == n:
        values = values.T
    if len(values) == n:
        return values
    if wanted is None:
        refused = n <= 2 * max(one.values.shape) <= 4 * n
    else:
        refused = any(f"/{one.name}".endswith((f"/{name}", f"/{name.rpartition('.')[0]}")) for name in wanted)
    if not refused:
        return None
    raise FileProblem(
        path,
        f"{one.name!r} has the shape {one.values.shape}, but its clock {clock.name!r} has {n} times",
        remedy="name its own times with the option time, or store both with one length",
    )


def _all_of(signal: _Signal, name: str) -> list[Channel]:
    stored, values = signal.stored, signal.values
    parts = [(f"{name}.{label}", column, unit) for label, column, unit in signal.columns]
    length = to_si(_split(name, stored.unit)[1])[1] == "m"
    if values.ndim == 1 or (len(parts) == 3 and not stored.units and (stored.vector or length)):
        parts = [(name, values, stored.unit)]
    channels: list[Channel] = []
    for full, samples, stated in parts:
        bare, unit = _split(full, stated)
        factor, si = to_si(unit)
        channels.append(Channel(bare, np.asarray(samples, dtype=np.float64) * factor, signal.clock, si, stored.frame))
    return channels


def _split(name: str, unit: str) -> tuple[str, str]:
    """Name and unit; a unit that palpate does not know stays part of the name, as in the header of a table."""
    return split_header(f"{name} [{unit}]") if unit else (name, "")


def _mapped(path: Path, name: str, spec: ColumnSpec, signals: Sequence[_Signal]) -> Channel:
    """A channel of whole arrays by their names, or of columns by "name.label"; groups may be left out where that is
    clear.
    """
    known: dict[str, tuple[_Signal, list[tuple[NDArray[Any], str]]]] = {}
    for signal in signals:
        full = signal.stored.name
        columns = {label: (column, _split(full, unit)[1]) for label, column, unit in signal.columns}
        known[full] = (signal, list(columns.values()))
        if signal.values.ndim == 2:
            known |= {f"{full}.{label}": (signal, [column]) for label, column in columns.items()}
    chosen: list[tuple[_Signal, list[tuple[NDArray[Any], str]]]] = []
    for column in spec.names:
        matches = [column] if column in known else [other for other in known if other.endswith(f"/{column}")]
        if not matches:
            raise UnknownName("array", column, known, where=str(path))
        if len(matches) > 1:
            raise FileProblem(path, f"{column!r} could be {' or '.join(matches)}", remedy="write the whole name")
        chosen.append(known[matches[0]])
    first = chosen[0][0]
    if any(signal.clock is not first.clock for signal, _ in chosen):
        raise FileProblem(path, f"the parts of {name!r} have different clocks", remedy="map arrays of one clock")
    return _channel(path, name, spec, first.clock, [part for _, parts in chosen for part in parts], first.stored.frame)
