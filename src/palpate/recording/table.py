"""Named columns and arrays (CSV, Parquet, HDF5, MATLAB), mapped to channels by the user or taken as they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palpate.errors import DataProblem, FileProblem, PalpateError, UnknownName
from palpate.files import read_bytes, replacing
from palpate.recording import text
from palpate.recording.formats import as_utf8, check_kind, is_number, refusing_damage, separator_of
from palpate.recording.headers import si_or_none, split_header, to_si
from palpate.recording.recording import Array, Channel, Clock, Recording

CSV, PARQUET = "csv", "parquet"
_COMMENT = ("#", "%", "//")
_RATE = re.compile(r"(?:actual|sample|sampling|frame|data)?[ _]?(?:rate|freq|frequency)(?:[ _]?hz)?|fs", re.IGNORECASE)
_TIME_UNIT = re.compile(r"(|m|u|n|milli|micro|nano)(?:s|secs?|seconds?)")


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """Which column (or three, for a vector) a channel comes from; unit "" means the header's, else 1."""

    column: str | Sequence[str] = ""
    unit: str = ""
    frame: str = ""

    @property
    def names(self) -> list[str]:
        """The columns by name."""
        return [self.column] if isinstance(self.column, str) else list(self.column)


ColumnLike = str | ColumnSpec | Mapping[str, Any]


class TableOptions(TypedDict, total=False):
    """How tables and arrays are read."""

    columns: Mapping[str, ColumnLike]
    """From channel names to columns; without it every number column becomes a channel."""
    time: ColumnLike
    """The column of times; without it and `rate` the one named time, t, timestamp, ..."""
    rate: float
    """Constant, in Hz, instead of times."""


def read(path: Path, *, header: Sequence[str] | None = None, **options: Unpack[TableOptions]) -> Recording:
    """Read a CSV table; `header` names the columns of a file that has no header line."""
    raw = read_bytes(path)
    # What merely looks like an instrument's export may still be wanted as a plain table.
    check_kind(path, raw, CSV, "microstrain-csv", "smartwheel")
    data = text.with_separators(as_utf8(raw))
    names, offset, first_line, separator = _head(path, data, header)
    unique = text.distinct(names)
    places = {name: tuple(place + 1 for place, other in enumerate(names) if other == name) for name in names if name}
    repeated = {split_header(name)[0]: at for name, at in places.items() if len(at) > 1}
    rows = text.Rows(path, data, offset, text.trimmed_end(data), first_line, separator, unique)
    frame = text.parse_rows(rows, _texts(rows) | _times(unique, options.get("time", "")))
    _check_repeated(path, repeated, options)
    return replace(recording_of(path, CSV, _stored(unique, frame, first_line), options), repeated=repeated)


def read_parquet(path: Path, **options: Unpack[TableOptions]) -> Recording:
    """Read a Parquet table."""
    data = read_bytes(path)
    check_kind(path, data, PARQUET)
    with refusing_damage(path):
        frame = pl.read_parquet(BytesIO(data))
    return recording_of(path, PARQUET, _stored(frame.columns, frame, 1), options)


def write(path: str | Path, recording: Recording) -> None:
    """Write the channels of one clock as CSV, headed "name [unit]"; a vector becomes name.x, .y, .z."""
    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        _frame(recording).fill_nan(None).write_csv(file)


def write_parquet(path: str | Path, recording: Recording) -> None:
    """Write the channels of one clock as Parquet, with the same column names as in CSV."""
    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        _frame(recording).write_parquet(file)


def _head(path: Path, data: bytes, header: Sequence[str] | None) -> tuple[list[str], int, int, str]:
    """Headers with their units, offset and line of the first row of numbers, and the separator.

    Lines before the header are passed over if they have fewer fields than the rows, a line below it if it holds units.
    """
    lines, _ = text.first_lines(data, 0, 200)
    filled = [i for i, line in enumerate(lines) if line.strip() and not line.startswith(_COMMENT)]
    if not filled:
        raise FileProblem(path, "there are no rows", remedy="export it again")
    separator = separator_of(lines[filled[-1]])
    cells = {i: text.split(lines[i], separator) for i in filled}
    ((width, _),) = Counter(len(row) for row in cells.values()).most_common(1)
    first = next(i for i in filled if len(cells[i]) >= width)
    if header is not None:
        return _given(path, header, cells[first], first + 1), text.first_lines(data, 0, first)[1], first + 1, separator
    if any(map(is_number, cells[first])):  # the header is above: shorter than the rows, or a comment (numpy.savetxt)
        above = [i for i in range(first) if lines[i].strip()]
        if not above:
            raise FileProblem(
                path,
                "the first line holds numbers, not the names of the columns",
                line=first + 1,
                remedy=f"write a header line, or name all {width} columns: "
                f"header: [{', '.join(_example(width))}] in the experiment file, "
                f"--header {','.join(_example(width))} on the command line",
            )
        names, rows_from = text.split(lines[above[-1]].lstrip(f"#%/ {separator}"), separator), first
    else:
        names, rows_from = cells[first], first + 1
        below = next((i for i in filled if i > first), None)
        units = [] if below is None else [cell.strip("[]() ") for cell in cells[below]]
        known = all(not u or si_or_none(u) is not None for u in units)
        if below is not None and known and any(u and not is_number(u) for u in units):
            pairs = zip_longest(names, units, fillvalue="")
            names, rows_from = [f"{name} [{unit}]" if name and unit else name for name, unit in pairs], below + 1
    halves = cells.get(rows_from, cells[first])[1::2] if separator == "," and width == 2 * len(names) else []
    if halves and all(map(str.isdigit, halves)):
        wrong = f"the header names {len(names)} columns, the rows have {width} fields: commas are in the numbers, too"
        remedy = "export it with points in the numbers, or with semicolons between the columns"
        raise FileProblem(path, wrong, line=rows_from + 1, remedy=remedy)
    if any(names[width:]):
        wrong = f"the header names {len(names)} columns ({', '.join(names)}), the rows have {width}"
        raise FileProblem(path, wrong, line=rows_from, remedy="correct the header")
    named = [*names, *[""] * (width - len(names))][:width]
    return named, text.first_lines(data, 0, rows_from)[1], rows_from + 1, separator


def _example(width: int) -> list[str]:
    """Names for as many columns as there are."""
    return [*("t", "angle", "torque")[:width], *(f"c{i}" for i in range(4, width + 1))]


def _given(path: Path, header: Sequence[str], row: Sequence[str], line: int) -> list[str]:
    """The names that the user gives, one for each column; empty columns at the end need none."""
    if not any(map(is_number, row)):
        wrong = f"the file names its columns itself ({', '.join(row)}), and the option header does so too"
        raise FileProblem(path, wrong, line=line, remedy="leave header out")
    filled = max(place + 1 for place, cell in enumerate(row) if cell)
    if not filled <= len(header) <= len(row):
        wrong = f"the option header names {len(header)} columns, the rows have {filled}"
        raise FileProblem(path, wrong, line=line, remedy='name each; "" leaves a column out')
    return [*header, *[""] * (len(row) - len(header))]


def _texts(rows: text.Rows) -> set[int]:
    """The places of columns whose first entry is no number: notes, dates."""
    lines, _ = text.first_lines(rows.data, rows.start, 200, rows.stop)
    cells = [text.split(line, rows.separator) for line in lines if line.strip()]
    entries = [[row[place] for row in cells if place < len(row) and row[place]] for place in range(len(rows.labels))]
    return {place for place, column in enumerate(entries) if column and not is_number(column[0])}


def _check_repeated(path: Path, repeated: Mapping[str, Sequence[int]], options: TableOptions) -> None:
    """Refuse a column that is asked for by a name that two have; "#1" or "#2" behind it says which."""
    specs = [spec_of(column) for column in (*options.get("columns", {}).values(), options.get("time", ""))]
    for name in (name for spec in specs for name in spec.names):
        for header, places in repeated.items():
            if header in (name, split_header(name)[0]):
                remedy = f"rename one in the file, or write {header}#1 for the first and {header}#2 for the second"
                raise FileProblem(path, stands_repeatedly(header, places), remedy=remedy)


def stands_repeatedly(name: str, places: Sequence[int]) -> str:
    """For people: that several columns have one name, and which."""
    often = "twice" if len(places) == 2 else f"{len(places)} times"
    return f"the column {name!r} stands {often} (columns {', '.join(map(str, places[:-1]))} and {places[-1]})"


def _times(headers: Sequence[str], time: ColumnLike) -> set[int]:
    """The place of the column of times, which is read as text: its numbers may need 64 bits, or be dates."""
    wanted = str(spec_of(time).column).removesuffix("#1")
    bare = [split_header(header)[0] for header in headers]
    named = [
        wanted in pair if wanted else text.time_name(pair[1]) is not None for pair in zip(headers, bare, strict=True)
    ]
    if True not in named and not wanted:
        named = [text.date_name(name) for name in bare]
    return {named.index(True)} if True in named else set()


def _stored(headers: Sequence[str], frame: pl.DataFrame, first_line: int) -> list[Stored]:
    """The columns of a table; names that differ only in their unit keep it."""
    lines, parts = np.arange(len(frame)) + first_line, [split_header(header) for header in headers]
    bare = Counter(name for name, _ in parts)
    return [
        Stored(name if bare[name] == 1 else header, column, unit, lines=lines)
        for header, (name, unit), column in zip(headers, parts, frame, strict=True)
        if header
    ]


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
    """One column or array of a file: `values` () or (n,) or (n, k), its name "group/name", what the file says of it."""

    name: str
    values: NDArray[Any] | pl.Series
    unit: str = ""
    frame: str = ""
    labels: tuple[str, ...] = ()
    """Names of the k columns."""
    units: tuple[str, ...] = ()
    """Units of the k columns, where they are not all `unit`."""
    rate_hz: float | None = None
    """Its rate or its group's, where the file states one."""
    vector: bool = False
    """Whether three columns are one vector, whatever the unit."""
    lines: NDArray[np.intp] | None = None
    """Of a table, which has no groups: the line of each row (n,)."""
    clock: Clock | None = None
    """Where the format itself says it."""

    @property
    def group(self) -> str:
        """Where it stands: "a/b" for "a/b/c", "" for "c"."""
        return self.name.rpartition("/")[0] if self.lines is None else ""

    @property
    def time_unit(self) -> str | None:
        """The unit that the name of an array of times states, "" for none; None for other arrays."""
        return text.time_name(self.name.removeprefix(f"{self.group}/")) if self.values.shape else None

    def seconds(self, path: Path, unit: str) -> Array:
        """Times (n,) in s: of dates, or of numbers in `unit`, else in what the file states ("seconds since ...")."""
        word = self.unit.strip().lower().replace("µ", "u").partition(" ")[0]
        match = _TIME_UNIT.fullmatch(word)
        if word and match is None and not unit:
            raise FileProblem(
                path,
                f"the unit of the times {self.name!r} is {self.unit!r}",
                remedy=f"state it with the option time: {{column: {self.name}, unit: s}}",
            )
        stated = "" if match is None else f"{'u' if match[1] == 'micro' else match[1][:1]}s"
        column = self.values if isinstance(self.values, pl.Series) else pl.Series(np.ravel(self.values))
        lines = np.arange(1, len(column) + 1) if self.lines is None else self.lines
        return text.seconds(path, column, lines, unit=unit or stated or self.time_unit or "")


@dataclass(frozen=True, slots=True, eq=False)
class _Signal:
    """An array with its clock and its columns by label ("" for the only one); `short`: its name in the times' group."""

    stored: Stored
    clock: Clock
    short: str
    columns: Mapping[str, NDArray[Any] | pl.Series]

    def parts(self) -> list[_Part]:
        """Each column with the unit that the file states."""
        stored, count = self.stored, len(self.columns)
        units = stored.units if len(stored.units) == count else [stored.unit] * count
        return [(self, label, unit) for label, unit in zip(self.columns, units, strict=True)]


_Part = tuple[_Signal, str, str]
"""A column of an array: label, and the unit that the file states."""


def is_rate(name: str) -> bool:
    """Whether a single number of this name is a sampling rate in Hz."""
    return _RATE.fullmatch(name) is not None


def recording_of(path: Path, format_name: str, stored: Sequence[Stored], options: TableOptions) -> Recording:
    """Channels of all arrays that are as long as their time, or of those that `columns` names.

    The time of an array is the option's, else an array named time, t, ... in its group or the nearest one above,
    else the rate that the file states. An array (n, 3) in a unit of length is one vector; any other (n, k) gives
    scalars name.x, name.y, name.z or name.1, ..., name.k, or those that its labels say.
    """
    specs = {name: spec_of(column) for name, column in options.get("columns", {}).items()}
    wanted = [name for spec in specs.values() for name in spec.names] if "columns" in options else None
    signals = _signals(path, stored, options, wanted)
    if wanted is None:
        shorts = Counter(signal.short for signal in signals)
        channels = [channel for signal in signals for channel in _all_of(path, signal, shorts[signal.short] == 1)]
    else:
        channels = [_mapped(path, name, spec, signals) for name, spec in specs.items()]
    for name, count in Counter(channel.name for channel in channels).items():
        if count > 1:
            raise FileProblem(path, f"the name {name!r} stands for two columns", remedy="rename one, or use columns")
    texts = [s.name for s in stored if isinstance(s.values, pl.Series) and not s.values.dtype.is_numeric()]
    return Recording({channel.name: channel for channel in channels}, path, format_name, tuple(texts))


def _signals(
    path: Path, stored: Sequence[Stored], options: TableOptions, wanted: Sequence[str] | None
) -> list[_Signal]:
    """Every array that has a clock; without a column map, of tables, only columns of numbers."""
    time, rate = spec_of(options.get("time", "")), options.get("rate")
    if rate is not None and "time" in options:
        raise FileProblem(path, "both a time column and a rate are given", remedy="give one of them")
    if rate is not None and not rate > 0:
        raise FileProblem(path, f"the rate {rate} Hz is not positive")
    arrays = {one.name: one for one in stored if one.values.shape}
    stated = arrays[_named(path, str(time.column), arrays)] if time.column else None
    timed = [one for one in arrays.values() if one.time_unit is not None]
    timed = timed or [one for one in arrays.values() if one.lines is not None and text.date_name(one.name)]
    made: dict[object, Clock] = {}
    """Clocks, each made once, so that arrays of one time share one."""

    def times_of(one: Stored) -> Stored | None:
        """The option's times, else the nearest above an array."""
        if one.clock is not None:
            return None
        steps = one.group.split("/") if one.group else []
        groups = ["/".join(steps[:depth]) for depth in range(len(steps), -1, -1)]
        return stated or next((s for group in groups for s in timed if s.group == group), None)

    def clock_and_group(one: Stored, times: Stored | None) -> tuple[Clock | None, str]:
        if one.clock is not None:
            return one.clock, one.clock.name
        if times is not None and rate is None:
            if id(times) not in made:
                times_s = times.seconds(path, time.unit)
                made[id(times)] = text.clock_of(path, times.group or path.stem, times_s, times.lines)
            return made[id(times)], times.group
        rate_hz, group = (one.rate_hz, one.group) if rate is None else (rate, "")
        if rate_hz is None or not rate_hz > 0:
            return None, ""
        # as long as the longest of its neighbours: what is much shorter is no signal
        alike = [s for s in arrays.values() if rate is not None or (s.group, s.rate_hz) == (group, rate_hz)]
        name, longest = group or path.stem, max(max(s.values.shape) for s in alike)
        return made.setdefault((name, rate_hz), Clock(name, np.arange(longest) / rate_hz)), group

    signals: list[_Signal] = []
    for one in arrays.values():
        times = times_of(one)
        words = isinstance(one.values, pl.Series) and not one.values.dtype.is_numeric()
        if one is times or (words and wanted is None):
            continue
        clock, group = clock_and_group(one, times)
        columns = None if clock is None else _columns(path, one, clock, wanted)
        if clock is not None and columns is not None:
            signals.append(_Signal(one, clock, one.name.removeprefix(f"{group}/") if group else one.name, columns))
    if not signals and (rate is not None or stated or timed):
        raise FileProblem(path, "there is no column of numbers besides the time", remedy="check the separator")
    if not signals:
        listed = ", ".join(s.name if s.lines is not None else f"{s.name} {s.values.shape}" for s in arrays.values())
        raise FileProblem(
            path,
            f"no column looks like time ({listed or 'there are no numbers'})",
            remedy="name it with the option time, or give a constant rate in Hz with the option rate",
        )
    return signals


def _columns(
    path: Path, one: Stored, clock: Clock, wanted: Sequence[str] | None
) -> Mapping[str, NDArray[Any] | pl.Series] | None:
    """Columns of the clock's length by label; None for what is no signal (a matrix, a table of constants).

    What does not fit is refused where a column map wants it, or, without one, where its length is near.
    """
    values, n, shape = one.values, len(clock), one.values.shape
    if len(shape) == 2 and 1 in shape:
        values = np.ravel(values)
    if len(values) == n and len(values.shape) == 1:
        return {"": values}
    if n in shape and not isinstance(values, pl.Series) and values.ndim == 2:
        rows = values.T if len(values) == n else values
        usual = "xyz" if len(rows) == 3 else map(str, range(1, len(rows) + 1))
        return dict(zip(one.labels if len(one.labels) == len(rows) else usual, rows, strict=True))
    if wanted is None:
        refused = n <= 2 * max(shape) <= 4 * n
    else:
        refused = any(f"/{one.name}".endswith((f"/{name}", f"/{name.rpartition('.')[0]}")) for name in wanted)
    if not refused:
        return None
    raise FileProblem(
        path,
        f"{one.name!r} has the shape {shape}, but its clock {clock.name!r} has {n} times",
        remedy="name its times with the option time, or store both with one length",
    )


def _all_of(path: Path, signal: _Signal, brief: bool) -> list[Channel]:
    """The channels of an array, by its short name or its whole one."""
    stored, name, parts = signal.stored, signal.short if brief else signal.stored.name, signal.parts()
    is_vector = stored.vector or to_si(_split(name, stored.unit)[1])[1] == "m"
    if "" in signal.columns or (len(parts) == 3 and not stored.units and is_vector):
        named = [(name, parts)]
    else:
        named = [(f"{name}.{part[1]}", [part]) for part in parts]
    return [_channel(path, _split(full, group[0][2])[0], ColumnSpec(), group) for full, group in named]


def _split(name: str, unit: str) -> tuple[str, str]:
    """Name and unit; a unit that palpate does not know stays part of the name, as in the header of a table."""
    return split_header(f"{name} [{unit}]") if unit else (name, "")


def _named(path: Path, wanted: str, known: Collection[str]) -> str:
    """The one of the known names that is meant: units may stand behind it, and groups be left out if that is clear."""
    wanted = wanted.removesuffix("#1")  # the first of those with one name
    exact = [name for name in (wanted, split_header(wanted)[0]) if name in known]
    matches = exact[:1] or [name for name in known if name.endswith(f"/{wanted}")]
    if not matches:
        raise UnknownName("column", wanted, known, where=str(path))
    if len(matches) > 1:
        raise FileProblem(path, f"{wanted!r} could be {' or '.join(matches)}", remedy="write the whole name")
    return matches[0]


def _mapped(path: Path, name: str, spec: ColumnSpec, signals: Sequence[_Signal]) -> Channel:
    """A channel of whole arrays by their names, or of columns by "name.label"."""
    if not spec.column:
        raise DataProblem("column map", "no column is named", remedy="write {column: NAME, unit: ..., frame: ...}")
    known: dict[str, list[_Part]] = {signal.stored.name: signal.parts() for signal in signals}
    known |= {f"{full}.{part[1]}": [part] for full, parts in known.items() for part in parts if part[1]}
    return _channel(path, name, spec, [part for column in spec.names for part in known[_named(path, column, known)]])


def _channel(path: Path, name: str, spec: ColumnSpec, parts: Sequence[_Part]) -> Channel:
    """A channel of one column or three; unit and frame are those of `spec`, else of the file."""
    first, scales, unit = parts[0][0], list[tuple[float, str]](), ""
    for signal, label, stated in parts:
        if signal.clock is not first.clock:
            raise FileProblem(path, f"the parts of {name!r} have different clocks", remedy="map columns of one clock")
        bare = signal.stored.name.removeprefix(f"{signal.stored.group}/")
        unit = spec.unit or _split(f"{bare}.{label}" if label else bare, stated)[1]
        try:
            scales.append(to_si(unit or "1"))
        except PalpateError as error:
            raise FileProblem(path, f"channel {name!r}: {error}") from error
    if len({unit for _, unit in scales}) != 1 or len(parts) not in (1, 3):
        raise FileProblem(path, f"channel {name!r} needs one column, or three of one unit", remedy="name the columns")
    frame = spec.frame or first.stored.frame
    if len(parts) == 1 and scales[0][0] == 1.0:  # nothing is copied
        samples = np.asarray(_numbers(path, first.stored, first.columns[parts[0][1]]), dtype=float)
        return Channel(name, samples, first.clock, scales[0][1], frame, unit)
    samples = np.empty((len(first.clock), len(parts)), order="F")
    for k, ((signal, label, _), (factor, _)) in enumerate(zip(parts, scales, strict=True)):
        samples[:, k] = _numbers(path, signal.stored, signal.columns[label]) * factor
    return Channel(name, samples[:, 0] if len(parts) == 1 else samples, first.clock, scales[0][1], frame, unit)


def _numbers(path: Path, stored: Stored, column: NDArray[Any] | pl.Series) -> NDArray[Any]:
    """A column as numbers; a text is refused with its line."""
    if not isinstance(column, pl.Series):
        return column
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.cast(pl.Float64).to_numpy()
    numbers = column.cast(pl.String).cast(pl.Float64, strict=False)
    for row in (numbers.is_null() & column.is_not_null()).arg_true()[:1]:
        line = None if stored.lines is None else int(stored.lines[row])
        wrong = f"column {stored.name!r}: {column[row]!r} is not a number"
        raise FileProblem(path, wrong, line=line, remedy="map a column of numbers")
    return numbers.to_numpy()
