"""Time columns as seconds, and clocks whose errors name the line of the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palpate.errors import FileProblem
from palpate.physics.units import parse_unit
from palpate.recording.recording import Array, Clock, describe_disorder, first_disorder

_DATE_FORMATS = (
    "%m/%d/%Y %H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y/%m/%d %H:%M:%S%.f",
    "%m/%d/%Y %I:%M:%S%.f %p",
)
_TIME = re.compile(r"(?:time|t|timestamps?|time[ _]?stamps?|elapsed)(?:[ _](s|ms|us|ns))?", re.IGNORECASE)
# Larger counts cannot be seconds; they are Unix nanoseconds, which float64 would round to 256 ns.
_COUNT = 10**15


def time_name(name: str) -> str | None:
    """The unit that the name of a column of times states ("time_ms": "ms"), "" for none; None for other columns."""
    found = _TIME.fullmatch(name.strip())
    return None if found is None else found[1] or ""


def clock_of(path: Path, name: str, times_s: Array, lines: NDArray[np.intp] | None = None) -> Clock:
    """A clock of these times (n,); refused with line (`lines`, n) or row where time does not increase."""
    row = first_disorder(times_s)
    if row is None:
        return Clock(name, times_s)
    where = "" if lines is not None else f"row {row + 1} of {name}: "
    raise FileProblem(
        path,
        f"{where}{describe_disorder(times_s, row)}",
        line=None if lines is None else int(lines[row]),
        remedy="the rows must be in order of time; remove what was written twice, or export again",
    )


def seconds(path: Path, column: pl.Series, lines: NDArray[np.intp], *, unit: str = "") -> Array:
    """A time column (n,) in seconds; counts beyond 1e15 and dates are counted from the first row.

    Numbers are in `unit` (seconds if empty, nanoseconds if beyond 1e15); text may be numbers or dates.
    """
    if column.dtype == pl.String:
        column = _from_text(path, column.str.strip_chars(), lines)
    if column.dtype.is_temporal():
        column, unit = column.cast(pl.Datetime("ns")).to_physical(), "ns"
    _refuse_nulls(path, column, lines)
    beyond = bool((column.cast(pl.Float64).abs() > _COUNT).any())
    factor = parse_unit(unit or ("ns" if beyond else "s")).factor
    if (beyond or unit == "ns") and len(column):
        return (column - column[0]).cast(pl.Float64).to_numpy() * factor
    return column.cast(pl.Float64).to_numpy() * factor


def _from_text(path: Path, cells: pl.Series, lines: NDArray[np.intp]) -> pl.Series:
    """Integers where all are (they may need 64 bits), else numbers, else dates."""
    candidates: list[pl.Series] = []
    for wanted in (pl.Int64, pl.Float64):
        candidates.append(cells.cast(wanted, strict=False))
        if candidates[-1].null_count() == 0:
            return candidates[-1]
    plain = cells.str.replace(r"^(\d{4}-\d\d-\d\d)T", "${1} ").str.replace(r"\s*(Z|UTC|\+00:?00)$", "")
    for layout in _DATE_FORMATS:
        candidates.append(plain.str.to_datetime(layout, time_unit="ns", strict=False))
        if candidates[-1].null_count() == 0:
            return candidates[-1]
    best = min(candidates[1:], key=pl.Series.null_count)
    row = int(best.is_null().arg_true()[0])
    raise FileProblem(path, _bad_time(cells[row]), line=int(lines[row]), remedy="write seconds, nanoseconds or a date")


def _bad_time(cell: str | None) -> str:
    return f"{cell!r} is not a time" if cell else "the time is missing"


def _refuse_nulls(path: Path, column: pl.Series, lines: NDArray[np.intp]) -> None:
    absent: Sequence[int] = column.is_null().arg_true().to_list()
    if absent:
        raise FileProblem(path, "the time is missing", line=int(lines[absent[0]]), remedy="remove or complete the row")
