"""Delimited text as instruments write it, parsed by polars; a bad cell is named by line and column."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from csv import reader
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palpate.errors import FileProblem

_MISSING = ("", "na", "n/a", "nan", "null", "none", "-")
_DECIMAL_COMMA = re.compile(rb"\d,\d")
_CUT_OFF = "the file seems to be cut off; copy or export it again"


def split(line: str, separator: str) -> list[str]:
    """The fields of one line without blanks and quotes around them."""
    quoted = '"' in line
    fields = next(reader([line], delimiter=separator, skipinitialspace=True)) if quoted else line.split(separator)
    return [field.strip() for field in fields]


def distinct(names: Sequence[str]) -> list[str]:
    """The same names with "#2" and so on behind those that were there before; empty ones stay empty."""
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        number, free = 1, name
        while free and free in taken:
            number, free = number + 1, f"{name}#{number + 1}"
        taken.add(free)
        found.append(free)
    return found


def as_utf8(data: bytes) -> bytes:
    """The same text in UTF-8 without a byte-order mark."""
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace").encode()
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
    return data


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
    def content(self) -> NDArray[np.uint8]:
        """The bytes of the rows, not copied."""
        return np.frombuffer(self.data, dtype=np.uint8)[self.start : self.stop]

    @property
    def quoted(self) -> bool:
        """Whether any field stands in quotes, so that separators may hide in it."""
        return self.data.find(b'"', self.start, self.stop) >= 0

    @property
    def decimal_comma(self) -> bool:
        """Whether numbers are written 1,5: possible only where commas do not separate fields."""
        return self.separator != "," and _DECIMAL_COMMA.search(self.data, self.start, self.stop) is not None


def trimmed_end(data: bytes) -> int:
    """Where the last line ends that holds anything."""
    stop = len(data)
    while data[stop - 1 : stop] in (b"\n", b"\r", b" "):
        stop -= 1
    return stop


def parse_rows(rows: Rows, texts: Collection[int] = ()) -> pl.DataFrame:
    """Rows as Float64 columns "0", "1", ... (String for `texts`), one per label; empty fields are null.

    Raises FileProblem with line and column for a cell that is not a number and for a row that is too short
    or too long.
    """
    if rows.start >= rows.stop:
        raise FileProblem(rows.path, "there are no data rows", line=rows.first_line, remedy=_CUT_OFF)
    types = {str(place): pl.String if place in texts else pl.Float64 for place in range(len(rows.labels))}
    try:
        table = _read(rows, types, decimal_comma=rows.decimal_comma)
    except pl.exceptions.PolarsError:
        _check_widths(rows)
        return _read_tolerantly(rows, types)
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
        skip_lines=rows.first_line - 1 if whole else 0,
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
            rows.path, f"the rows from here on are no table ({reason})", line=rows.first_line, remedy=_CUT_OFF
        ) from error
    columns: list[pl.Series] = []
    worst: tuple[int, int, str] | None = None
    for place, (name, wanted) in enumerate(types.items()):
        cells = raw[name].fill_null("").str.strip_chars()
        if wanted == pl.String:
            columns.append(cells)
            continue
        cells = cells.str.replace(",", ".", literal=True) if rows.decimal_comma else cells
        numbers = cells.cast(pl.Float64, strict=False)
        bad = (numbers.is_null() & ~cells.str.to_lowercase().is_in(_MISSING)).arg_true()
        if len(bad) and (worst is None or int(bad[0]) < worst[0]):
            worst = (int(bad[0]), place, str(raw[name][int(bad[0])]))
        columns.append(numbers)
    if worst is not None:
        row, place, cell = worst
        raise FileProblem(
            rows.path,
            f"column {place + 1} ({rows.labels[place]}): {cell!r} is not a number",
            line=rows.first_line + row,
            remedy="correct the cell, or leave it empty where nothing was measured",
        )
    return pl.DataFrame(columns)


def _check_widths(rows: Rows, height: int = 0) -> None:
    """Refuse the first row with another number of fields; `height` is the number of rows where it is known."""
    width, content = len(rows.labels), rows.content
    if rows.quoted or (height and _count(content, rows.separator) == height * (width - 1)):
        return
    ends = np.append(np.flatnonzero(content == ord("\n")), len(content))
    marks = np.flatnonzero(content == ord(rows.separator))
    fields = np.diff(np.searchsorted(marks, ends), prepend=0) + 1
    wrong = (fields != width) & (np.diff(ends, prepend=-1) > 2)
    if not wrong.any():
        return
    row = int(np.argmax(wrong))
    raise FileProblem(
        rows.path,
        f"the row has {fields[row]} fields instead of {width}",
        line=rows.first_line + row,
        remedy=_CUT_OFF if row == len(ends) - 1 else "repair or remove the row",
    )


def _count(content: NDArray[np.uint8], mark: str) -> int:
    """How often a character occurs; in pieces that fit the cache, several times faster than all at once."""
    pieces = range(0, len(content), 1 << 16)
    return sum(int(np.count_nonzero(content[start : start + (1 << 16)] == ord(mark))) for start in pieces)
