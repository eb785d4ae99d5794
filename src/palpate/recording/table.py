"""Plain tables, CSV or Parquet: named columns, mapped to channels by the user or taken as they are."""

from __future__ import annotations

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
from palpate.recording.recording import Array, Channel, Clock, Recording
from palpate.recording.signature import HEAD_BYTES, head_of, is_number, kind, separator_of, wrong_format
from palpate.recording.text import (
    Rows,
    as_utf8,
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


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """Which column (or three, for a vector) a channel comes from; unit "" means the header's, else 1."""

    column: str | Sequence[str]
    unit: str = ""
    frame: str = ""


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
    if kind(raw[:HEAD_BYTES], path) not in (CSV, "microstrain-csv"):
        raise wrong_format(path, raw, CSV)
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
    if kind(data[:HEAD_BYTES], path) != PARQUET:
        raise wrong_format(path, data, PARQUET)
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
    if columns is None:
        specs = _every_number_column(table, place)
    else:
        specs = {name: spec_of(column) for name, column in columns.items()}
    if not specs:
        raise FileProblem(table.path, "there is no column of numbers besides the time", remedy="check the separator")
    channels = {name: _channel(table, name, spec, clock) for name, spec in specs.items()}
    return Recording(channels, table.path, format_name)


def _clock(table: _Table, place: int | None, time: ColumnLike | None, rate: float | None) -> Clock:
    name = table.path.stem
    if rate is not None:
        if time is not None:
            raise FileProblem(table.path, "both a time column and a rate are given", remedy="give one of them")
        if not rate > 0:
            raise FileProblem(table.path, f"the rate {rate} Hz is not positive")
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


def _every_number_column(table: _Table, time_place: int | None) -> dict[str, ColumnSpec]:
    specs: dict[str, ColumnSpec] = {}
    for place, header in enumerate(table.headers):
        if place == time_place or not header or not table.frame[str(place)].dtype.is_numeric():
            continue
        name, unit = split_header(header)
        specs[header if name in specs else name] = ColumnSpec(header, unit)
    return specs


def _channel(table: _Table, name: str, spec: ColumnSpec, clock: Clock) -> Channel:
    wanted = [spec.column] if isinstance(spec.column, str) else list(spec.column)
    places = [table.place(column) for column in wanted]
    scales = [_scale(table, name, spec.unit or split_header(table.headers[place])[1]) for place in places]
    if len({unit for _, unit in scales}) != 1 or len(scales) not in (1, 3):
        raise FileProblem(table.path, f"channel {name!r} needs one column, or three of one unit")
    samples = np.empty((len(clock), len(places)), order="F")
    for axis, (place, (factor, _)) in enumerate(zip(places, scales, strict=True)):
        samples[:, axis] = _numbers(table, place) * factor
    return Channel(name, samples[:, 0] if isinstance(spec.column, str) else samples, clock, scales[0][1], spec.frame)


def _scale(table: _Table, name: str, unit: str) -> tuple[float, str]:
    try:
        return to_si(unit or "1")
    except PalpateError as error:
        raise FileProblem(table.path, f"channel {name!r}: {error}") from error


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
