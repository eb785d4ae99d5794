"""TRC, the marker text of Motion Analysis and OpenSim: three header lines, two lines of names, tab-separated rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palpate.errors import FileProblem
from palpate.files import read_bytes, replacing
from palpate.recording.formats import as_utf8, check_kind, is_number
from palpate.recording.recording import Array, Channel, Clock, Recording
from palpate.recording.text import (
    Rows,
    clock_of,
    distinct,
    first_lines,
    marker_columns,
    parse_rows,
    si_or_none,
    split,
    trimmed_end,
    whole_frames,
)

NAME = "trc"
_TAB = "\t"
_HEADER_LINES = 5
_FIRST = 2
"""Columns before the first marker: Frame# and Time."""
_HIDDEN = 9_999_999.0
"""What Cortex writes, in the file's unit, where a marker was not seen."""
_ROUNDED_S = 0.6e-3
"""Times with three decimals are this close to those that the rate gives."""


def read(path: str | Path) -> Recording:
    """Read markers (n, 3) in m, frame "capture", NaN where the cells are empty, NaN, 9999999 or three zeros.

    Times are those of the column Time; where they are the frame numbers divided by DataRate but for rounding,
    the latter, which are even.
    """
    path = Path(path)
    raw = read_bytes(path)
    check_kind(path, raw, NAME)
    data = as_utf8(raw)
    head, offset = first_lines(data, 0, _HEADER_LINES)
    if len(head) < _HEADER_LINES:
        raise FileProblem(path, "the header is cut off", line=len(head), remedy="export it again")
    about = _about(path, head)
    factor, unit = si_or_none(about["Units"]) or (1.0, "")
    if unit != "m":
        wrong = f"Units is {about['Units']!r}, not a length"
        raise FileProblem(path, wrong, line=3, remedy="write mm or m into this line")
    columns = split(head[3], _TAB)
    if len(columns) < _FIRST or columns[0].rstrip("#").lower() != "frame" or columns[1].lower() != "time":
        raise FileProblem(path, f"the columns should begin with 'Frame#' and 'Time', not {head[3][:40]!r}", line=4)
    first_line, offset = _skip_blank(data, offset)
    rows, _ = first_lines(data, offset, 1)
    width = len(split(rows[0], _TAB)) if rows else 0
    labels = _labels(path, columns, width, about)
    titles = ["Frame#", "Time", *(f"{label} {axis}" for label in labels for axis in "XYZ")]
    titles += [""] * (width - len(titles))
    table = parse_rows(Rows(path, data, offset, trimmed_end(data), first_line, _TAB, titles))
    values: Array = table.to_numpy(writable=True)
    lines = np.arange(len(values)) + first_line
    _check_count(path, about, len(values))
    clock = _clock(path, values[:, 0], values[:, 1], _number(path, about, "DataRate"), lines)
    points = values[:, _FIRST : _FIRST + 3 * len(labels)].reshape(len(values), -1, 3)
    points[((np.abs(points) >= _HIDDEN) | np.isnan(points)).any(axis=2) | (points == 0).all(axis=2)] = np.nan
    points *= factor
    return Recording(
        {name: Channel(name, points[:, place], clock, "m", "capture") for place, name in enumerate(distinct(labels))},
        path,
        NAME,
    )


def write(path: str | Path, recording: Recording) -> None:
    """Write markers (n, 3) in m of one even clock in mm, six decimals; a hidden marker leaves its cells empty."""
    path = Path(path)
    clock = recording.one_clock()
    rate = float(f"{clock.rate_hz:.9g}")
    frames = whole_frames(path, clock, rate, shifted=True)
    markers = marker_columns(path, recording, NAME, r"[\t\r\n\"]")
    n, count = len(clock), len(recording)
    fields = ("DataRate", "CameraRate", "NumFrames", "NumMarkers", "Units")
    fields += ("OrigDataRate", "OrigDataStartFrame", "OrigNumFrames")
    values = (f"{rate:.9g}", f"{rate:.9g}", n, count, "mm", f"{rate:.9g}", int(frames[0]), n)
    head = (
        f"PathFileType\t4\t(X/Y/Z)\t{path.name}",
        _TAB.join(fields),
        _TAB.join(str(value) for value in values),
        "Frame#\tTime" + "".join(f"\t{name}\t\t" for name in recording),
        "\t" + "".join(f"\tX{k}\tY{k}\tZ{k}" for k in range(1, count + 1)),
        "",
    )
    table = pl.DataFrame({"frame": frames, "time": clock.times_s}).with_columns(markers)
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(("\n".join(head) + "\n").encode())
        table.write_csv(file, include_header=False, separator=_TAB, float_precision=6)


def _about(path: Path, head: Sequence[str]) -> dict[str, str]:
    """What the second and third line say: DataRate, NumFrames, Units, ..."""
    names, values = split(head[1], _TAB), split(head[2], _TAB)
    about = dict(zip(names, values, strict=False))
    for wanted in ("DataRate", "Units"):
        if wanted not in about:
            raise FileProblem(path, f"the header does not say {wanted}", line=2, remedy="export it again")
    return about


def _number(path: Path, about: Mapping[str, str], name: str) -> float:
    if not is_number(about[name]) or not float(about[name].replace(",", ".")) > 0:
        raise FileProblem(path, f"{name} is {about[name]!r}, not a positive number", line=3)
    return float(about[name].replace(",", "."))


def _skip_blank(data: bytes, offset: int) -> tuple[int, int]:
    """Line number and offset of the first row; most programs leave a line empty before it."""
    line = _HEADER_LINES + 1
    while offset < len(data):
        (text,), after = first_lines(data, offset, 1)
        if text.strip():
            break
        line, offset = line + 1, after
    return line, offset


def _labels(path: Path, columns: Sequence[str], width: int, about: Mapping[str, str]) -> list[str]:
    """The names over the first of every three columns; as many as NumMarkers says and the rows hold."""
    named = list(columns[_FIRST::3])
    while named and not named[-1]:
        named.pop()
    labels = [label or f"unnamed{place + 1}" for place, label in enumerate(named)]
    stated = about.get("NumMarkers", "")
    if stated.isdigit() and int(stated) != len(labels):
        raise FileProblem(
            path, f"NumMarkers is {stated}, but {len(labels)} markers are named", line=4, remedy="export it again"
        )
    if not labels:
        raise FileProblem(path, "no marker is named", line=4, remedy="export it again")
    if width and width < _FIRST + 3 * len(labels):
        raise FileProblem(
            path, f"{len(labels)} markers need {_FIRST + 3 * len(labels)} columns, the first row has {width}", line=4
        )
    return labels


def _check_count(path: Path, about: Mapping[str, str], count: int) -> None:
    stated = about.get("NumFrames", "")
    if stated.isdigit() and int(stated) > count:
        raise FileProblem(
            path,
            f"NumFrames is {stated}, but there are {count} rows",
            line=3,
            remedy="the file seems to be cut off; copy or export it again, or correct the number",
        )


def _clock(path: Path, frames: Array, times_s: Array, rate_hz: float, lines: NDArray[np.intp]) -> Clock:
    even = (frames - frames[0]) / rate_hz
    away: Array = times_s - even
    spread = float(away.max() - away.min())
    if spread <= 2 * _ROUNDED_S:
        # The first stamp is rounded as well, unless it is zero.
        start = float(times_s[0] if times_s[0] == 0 or spread < 1e-9 else np.mean(away))
        times_s = start + even
    return clock_of(path, "Trajectories", times_s, lines)
