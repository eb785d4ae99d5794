"""Columns of numbers: text into rows, time columns into clocks, headers and units into SI."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from csv import reader
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palpate.errors import FileProblem
from palpate.physics.units import parse_unit
from palpate.recording.formats import is_blank_row
from palpate.recording.recording import Array, Clock, disorder

Lines = NDArray[np.intp] | Sequence[int]
"""Of a file, by row."""
PART_BYTES = 1 << 22
"""Of a text that are read together: so few that the same memory serves all parts."""
_MISSING = ("", "na", "n/a", "nan", "null", "none", "-")
_DECIMAL_COMMA = re.compile(rb"\d,\d")
_CUT_OFF = "the file seems to be cut off; copy or export it again"
_DATE_FORMATS = (
    "%m/%d/%Y %H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y/%m/%d %H:%M:%S%.f",
    "%d/%m/%Y %H:%M:%S%.f",
    "%d.%m.%Y %H:%M:%S%.f",
    "%m/%d/%Y %I:%M:%S%.f %p",
)
_TIME = re.compile(
    r"(?:time|t|timestamps?|time[ _]?stamps?|elapsed|x_value|"
    r"date[ _]?time|datum[ _]?zeit|zeit(?:stempel)?|temps|tiempo)(?:[ _](s|ms|us|ns))?",
    re.IGNORECASE,
)
_ZONE = r"\s*(Z|UTC|[+-]\d\d:?\d\d)$"
_DAYTIME = r"^(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)$"
_DAY_NS = 86_400_000_000_000


def split(line: str, separator: str) -> list[str]:
    """The fields of one line without blanks and quotes around them."""
    quoted = '"' in line
    fields = next(reader([line], delimiter=separator, skipinitialspace=True)) if quoted else line.split(separator)
    return [field.strip() for field in fields]


def with_separators(data: bytes) -> bytes:
    """A table whose columns only blanks set apart, with commas instead; any other as it is."""
    last = data[: trimmed_end(data)].rpartition(b"\n")[2]
    if any(mark in last for mark in (b",", b";", b"\t")) or not is_blank_row(last.decode(errors="replace")):
        return data
    return re.sub(rb"[ ]+", b",", re.sub(rb"(?m)^[ ]+|[ ]+(?=\r?$)", b"", data))


def distinct(names: Sequence[str]) -> list[str]:
    """The same names with "#2" and so on behind those that were there before; empty ones stay empty."""
    unique: list[str] = []
    taken: set[str] = set()
    for name in names:
        number, free = 1, name
        while free and free in taken:
            number, free = number + 1, f"{name}#{number + 1}"
        taken.add(free)
        unique.append(free)
    return unique


def first_lines(data: bytes, start: int, count: int, end: int | None = None) -> tuple[list[str], int]:
    """Up to `count` lines from byte `start` to `end`, and the offset of the line after them."""
    lines: list[str] = []
    end = len(data) if end is None else end
    while len(lines) < count and start < end:
        stop = data.find(b"\n", start, end)
        stop = end if stop < 0 else stop
        lines.append(data[start:stop].decode(errors="replace").rstrip("\r"))
        start = stop + 1
    return lines, min(start, end)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a file from byte `start` to `stop`; `first_line` is the line number of the first of them."""

    path: Path
    data: bytes
    start: int
    stop: int
    first_line: int
    separator: str
    labels: Sequence[str]

    @property
    def quoted(self) -> bool:
        """Whether any field stands in quotes, so that separators may hide in it."""
        return self.data.find(b'"', self.start, self.stop) >= 0

    @property
    def decimal_comma(self) -> bool:
        """Whether numbers are written 1,5: possible only where commas do not separate fields."""
        return self.separator != "," and _DECIMAL_COMMA.search(self.data, self.start, self.stop) is not None


def in_parts(rows: Rows) -> Iterator[Rows]:
    """The rows from where `rows` begins to the end of its file, some at a time; `rows.data` is the file's beginning.

    Numbers take less memory than their text, and all of an hour's text would be more than all that follows. Lines are
    not counted: `first_line` is that of all rows.
    """
    with rows.path.open("rb") as file:
        file.seek(rows.start)
        while some := file.read(PART_BYTES):
            part = some + file.readline()
            if stop := trimmed_end(part):
                yield replace(rows, data=part, start=0, stop=stop)


def trimmed_end(data: bytes) -> int:
    """Where the last line ends that holds anything."""
    stop = len(data)
    while data[stop - 1 : stop] in (b"\n", b"\r", b" "):
        stop -= 1
    return stop


def parse_rows(rows: Rows, texts: Collection[int] = (), *, counts: bool = False) -> pl.DataFrame:
    """Rows as Float64 columns "0", "1", ... (String for `texts`), one per label; empty fields are null.

    counts: `texts` are probably integers, and Int64 where all of them are.

    Raises FileProblem with line and column for a cell that is not a number and for a row that is too short
    or too long.
    """
    if rows.start >= rows.stop:
        raise FileProblem(rows.path, "there are no data rows", line=rows.first_line, remedy=_CUT_OFF)
    types = {str(place): pl.String if place in texts else pl.Float64 for place in range(len(rows.labels))}
    try:
        kinds = types | {str(place): pl.Int64 for place in texts if counts}
        table = _read(rows, kinds, decimal_comma=rows.decimal_comma)
    except pl.exceptions.PolarsError:
        if counts:
            return parse_rows(rows, texts)
        _check_widths(rows)
        return _read_tolerantly(rows, types)
    if counts and any(table[str(place)].null_count() for place in texts):
        return parse_rows(rows, texts)
    # polars fills a short row with nulls, so that only a null at the very end can hide one.
    if table.to_series(-1).null_count():
        _check_widths(rows, height=table.height)
    return table


def _read(rows: Rows, types: Mapping[str, type[pl.DataType]], *, decimal_comma: bool) -> pl.DataFrame:
    # Skipping the lines before is cheaper than copying the rows out, but only the end of the file ends a table.
    whole = rows.data[rows.stop :] in (b"", b"\n", b"\r\n")
    return pl.read_csv(
        rows.data if whole else rows.data[rows.start : rows.stop],
        has_header=False,
        schema=types,
        skip_lines=rows.first_line - 1 if whole and rows.start else 0,
        separator=rows.separator,
        decimal_comma=decimal_comma,
        quote_char='"' if rows.quoted else None,
    )


def _read_tolerantly(rows: Rows, types: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """The slow way, taken when the fast one failed: blanks around numbers pass, a bad cell is named."""
    try:
        raw = _read(rows, dict.fromkeys(types, pl.String), decimal_comma=False)
    except pl.exceptions.PolarsError as error:
        reason = str(error).strip().splitlines()[0]
        raise FileProblem(
            rows.path, f"the rows from here on are not a table ({reason})", line=rows.first_line, remedy=_CUT_OFF
        ) from error
    columns, wrong = list[pl.Series](), list[tuple[int, int, str]]()
    for place, (name, wanted) in enumerate(types.items()):
        cells = raw[name].fill_null("").str.strip_chars()
        if wanted == pl.String:
            columns.append(cells)
            continue
        cells = cells.str.replace(",", ".", literal=True) if rows.decimal_comma else cells
        numbers = cells.cast(pl.Float64, strict=False)
        bad = (numbers.is_null() & ~cells.str.to_lowercase().is_in(_MISSING)).arg_true()[:1]
        wrong += [(row, place, str(raw[name][row])) for row in bad]
        columns.append(numbers)
    if wrong:
        row, place, cell = min(wrong)
        raise FileProblem(
            rows.path,
            f"column {place + 1} ({rows.labels[place]}): {cell!r} is not a number",
            line=rows.first_line + row,
            remedy="correct the cell, or leave it empty where nothing was measured",
        )
    return pl.DataFrame(columns)


def _check_widths(rows: Rows, height: int = 0) -> None:
    """Refuse the first row with another number of fields; `height` is the number of rows where it is known."""
    width, mark = len(rows.labels), rows.separator.encode()
    if rows.quoted or (height and rows.data.count(mark, rows.start, rows.stop) == height * (width - 1)):
        return
    lines = rows.data[rows.start : rows.stop].split(b"\n")
    for row, line in enumerate(lines):
        if line.count(mark) != width - 1 and len(line) > 1:
            raise FileProblem(
                rows.path,
                f"the row has {line.count(mark) + 1} fields instead of {width}",
                line=rows.first_line + row,
                remedy=_CUT_OFF if row == len(lines) - 1 else "repair or remove the row",
            )


def time_name(name: str) -> str | None:
    """The unit that the name of a column of times states ("time_ms": "ms"), "" for none; None for other columns."""
    match = _TIME.fullmatch(name.strip())
    return None if match is None else match[1] or ""


def date_name(name: str) -> bool:
    """Whether a column's name says dates, which tell the time where no other column does."""
    return re.fullmatch(r"date|datum|fecha", name.strip(), re.IGNORECASE) is not None


def clock_of(path: Path, name: str, times_s: Array, lines: Lines | None = None) -> Clock:
    """A clock of these times (n,); refused with line (`lines`, n) or row where time does not increase."""
    wrong = disorder(times_s)
    if wrong is None:
        return Clock(name, times_s)
    row, what = wrong
    raise FileProblem(
        path,
        what if lines is not None else f"row {row + 1} of {name}: {what}",
        line=None if lines is None else int(lines[row]),
        remedy="the rows must be in order of time; remove what was written twice, or export again",
    )


def seconds(path: Path, column: pl.Series, lines: Lines, *, unit: str = "", since: pl.Series | None = None) -> Array:
    """A time column (n,) in seconds; counts beyond 1e15 and dates are counted from its first row, or that of `since`.

    Numbers are in `unit` (seconds if empty, nanoseconds if beyond 1e15); text may be numbers or dates.
    """
    if column.dtype == pl.String:
        column = as_times(path, column, lines)
    start = column if since is None else since
    if column.dtype.is_temporal():
        column, start = (_nanoseconds(x) for x in (column, start))
        unit = "ns"
    for row in column.is_null().arg_true()[:1]:
        raise FileProblem(path, "the time is missing", line=int(lines[int(row)]), remedy="remove or complete the row")
    # larger counts cannot be seconds; they are Unix nanoseconds, which float64 would round to 256 ns
    beyond = bool((column.cast(pl.Float64).abs() > 10**15).any())
    factor = parse_unit(unit or ("ns" if beyond else "s")).factor
    if (beyond or unit == "ns") and len(column):
        return (column - start[0]).cast(pl.Float64).to_numpy() * factor
    return column.cast(pl.Float64).to_numpy() * factor


def _nanoseconds(column: pl.Series) -> pl.Series:
    """Of dates, of durations, or of times of day."""
    kind = pl.Datetime("ns") if isinstance(column.dtype, pl.Datetime | pl.Date) else pl.Duration("ns")
    return column.cast(kind).to_physical()


def as_times(path: Path, column: pl.Series, lines: Lines) -> pl.Series:
    """Texts as integers where all are (they may need 64 bits), else numbers, else dates."""
    counts = column.cast(pl.Int64, strict=False)
    if counts.null_count() == 0:  # as most are
        return counts
    cells, candidates = column.str.strip_chars(), list[pl.Series]()
    commas = cells.str.replace(",", ".", literal=True)
    for text, wanted in ((cells, pl.Int64), (cells, pl.Float64), (commas, pl.Float64)):
        candidates.append(text.cast(wanted, strict=False))
        if candidates[-1].null_count() == 0:
            return candidates[-1]
    candidates.append(_daytimes(commas))
    if candidates[-1].null_count() == 0:
        return candidates[-1]
    plain = commas.str.replace(r"^(\d{4}-\d\d-\d\d)T", "${1} ").str.replace(_ZONE, "")
    zone = _zones(cells)
    for layout in _DATE_FORMATS:
        candidates.append(plain.str.to_datetime(layout, time_unit="ns", strict=False) - zone)
        if candidates[-1].null_count() == 0:
            return candidates[-1]
    best = min(candidates[1:], key=pl.Series.null_count)
    row = int(best.is_null().arg_true()[0])
    wrong = f"{cells[row]!r} is not a time" if cells[row] else "the time is missing"
    raise FileProblem(path, wrong, line=int(lines[row]), remedy="write seconds, nanoseconds, 12:34:56.789 or a date")


def _daytimes(cells: pl.Series) -> pl.Series:
    """Nanoseconds of texts "12:34:56.789" or "34:56.789", on over midnight."""
    hours, minutes, seconds = (cells.str.extract(_DAYTIME, group).cast(pl.Float64) for group in (1, 2, 3))
    of_day = (((hours.fill_null(0.0) * 60 + minutes) * 60 + seconds) * 1e9).round().cast(pl.Int64)
    days = (of_day.diff().fill_null(0) < -_DAY_NS // 2).cum_sum()
    return (of_day + days.cast(pl.Int64) * _DAY_NS).cast(pl.Duration("ns"))


def _zones(cells: pl.Series) -> pl.Series:
    """How far local time is ahead of UTC, by the end of each text ("+01:00", "Z", nothing)."""
    zone = cells.str.extract(r"\d\s*([+-]\d\d:?\d\d)$", 1).fill_null("+0000").str.replace(":", "", literal=True)
    hours, minutes = zone.str.slice(0, 3).cast(pl.Int64), (zone.str.slice(0, 1) + zone.str.slice(3)).cast(pl.Int64)
    return ((hours * 60 + minutes) * 60_000_000_000).cast(pl.Duration("ns"))
