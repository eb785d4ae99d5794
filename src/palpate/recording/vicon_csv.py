"""Vicon Nexus CSV: blocks of name, rate, labels, components, units and one row per frame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from palpate.errors import FileProblem
from palpate.files import read_bytes, replacing
from palpate.recording.formats import VICON_BLOCKS, as_utf8, is_number, separator_of, wrong_format
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

NAME = "vicon-csv"
_HEADER_LINES = 5
_FILLED = re.compile(rb"[^,;\t \r\n]")
_BLANK_LINES = re.compile(rb"\n(?:[,;\t \r]*\n)+")


@dataclass(frozen=True, slots=True)
class _Block:
    """One block of the file: its header lines in fields, and where its rows are."""

    name: str
    rate_hz: float
    labels: list[str]
    components: list[str]
    units: list[str]
    start: int
    stop: int
    first_line: int
    separator: str

    def component(self, column: int) -> str:
        """The word over a column: Frame, X, Fx, ..."""
        return _at(self.components, column)


def read(path: str | Path) -> Recording:
    """Read every block with frames; a marker is one channel (n, 3) in m, frame "capture", NaN where hidden.

    Time is (frame - 1) / rate, so a gap in the frame numbers is a gap in time.
    """
    path = Path(path)
    raw = read_bytes(path)
    data = as_utf8(raw)
    blocks = [_parse_header(path, data, *span) for span in _spans(data)]
    channels: dict[str, Channel] = {}
    for block in filter(None, blocks):
        for channel in _block_channels(path, data, block):
            name = channel.name if channel.name not in channels else f"{block.name}/{channel.name}"
            name = distinct([*channels, name])[-1]
            channels[name] = replace(channel, name=name)
    if not channels:
        raise wrong_format(path, raw, NAME)
    return Recording(channels, path, NAME)


def write(path: str | Path, recording: Recording, *, rate_hz: float | None = None) -> None:
    """Write markers (n, 3) in m of one clock as a Trajectories block in mm with six decimals.

    The times must be whole frames of `rate_hz` (by default the clock's own rate); frame 1 is time 0.
    """
    path = Path(path)
    clock = recording.one_clock()
    rate = float(f"{clock.rate_hz if rate_hz is None else rate_hz:.9g}")
    frames = whole_frames(path, clock, rate, remedy=", or give rate_hz")
    columns = {"frame": frames, "sub": np.zeros(len(clock), dtype=np.int64)}
    table = pl.DataFrame(columns).with_columns(marker_columns(path, recording, NAME, r"[,;\r\n\"]"))
    head = (
        "Trajectories",
        f"{rate:.9g}",
        # Nexus itself leaves one separator too many at the end of this line.
        ",," + "".join(f"{name},,," for name in recording),
        "Frame,Sub Frame" + ",X,Y,Z" * len(recording),
        "," + ",mm,mm,mm" * len(recording),
    )
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(("\n".join(head) + "\n").encode())
        table.write_csv(file, include_header=False, float_precision=6)


def _spans(data: bytes) -> list[tuple[int, int, int]]:
    """Start, end (without line end) and first line number of each part between blank lines."""
    first = _FILLED.search(data)
    if first is None:
        return []
    start, stop = data.rfind(b"\n", 0, first.start()) + 1, trimmed_end(data)
    line = 1 + data.count(b"\n", 0, start)
    spans: list[tuple[int, int, int]] = []
    for blank in _BLANK_LINES.finditer(data, start):
        # A units line without units is not the end of the block.
        if blank[0].strip() and blank.start() < first_lines(data, start, _HEADER_LINES)[1] - 1:
            continue
        spans.append((start, blank.start(), line))
        line += data.count(b"\n", start, blank.end())
        start = blank.end()
    return [*spans, (start, stop, line)] if start < stop else spans


def _parse_header(path: Path, data: bytes, start: int, stop: int, line: int) -> _Block | None:
    """The block, or None for one without frames (Nexus writes Events as a list of words)."""
    head, offset = first_lines(data, start, _HEADER_LINES, stop)
    name = head[0].strip(' ,;\t"')
    if name.lower() not in VICON_BLOCKS or name.lower() == "events":
        return None
    if len(head) < _HEADER_LINES:
        raise FileProblem(
            path,
            f"the block {name} ends within its header",
            line=line + len(head) - 1,
            remedy="export it again",
        )
    separator = separator_of(head[3])
    labels, components, units = (split(text, separator) for text in head[2:])
    rate = split(head[1], separator)[0].replace(",", ".")
    if not is_number(rate) or not float(rate) > 0:
        raise FileProblem(path, f"the rate of {name} is {head[1]!r}, not a number of frames per second", line=line + 1)
    if components[0].lower() != "frame":
        raise FileProblem(
            path, f"the columns of {name} should begin with 'Frame', not {components[0]!r}", line=line + 3
        )
    return _Block(name, float(rate), labels, components, units, offset, stop, line + _HEADER_LINES, separator)


def _block_channels(path: Path, data: bytes, block: _Block) -> list[Channel]:
    row, _ = first_lines(data, block.start, 1, block.stop)
    width = len(split(row[0], block.separator)) if row else len(block.components)
    first = 2 if block.component(1).lower().startswith("sub") else 1
    groups = _groups(block, first, width)
    titles = [block.component(c) for c in range(first)]
    titles += [f"{label} {block.component(c)}" for label, columns in groups for c in columns]
    rows = Rows(path, data, block.start, block.stop, block.first_line, block.separator, titles)
    values: Array = parse_rows(rows).to_numpy(writable=True)
    clock = _clock(path, block, values[:, 0], values[:, 1] if first == 2 else None)
    return [channel for group in groups for channel in _group_channels(path, block, *group, values, clock)]


def _groups(block: _Block, first: int, width: int) -> list[tuple[str, list[int]]]:
    """Label and neighbouring columns of a marker's X, Y, Z or a device's outputs; a component that returns starts a new
    group even without a label.
    """
    groups: list[tuple[str, list[int]]] = []
    for column in range(first, width):
        label, component = _at(block.labels, column), block.component(column)
        if label or not groups or component in [block.component(c) for c in groups[-1][1]]:
            groups.append((label or f"unnamed{len(groups) + 1}", []))
        groups[-1][1].append(column)
    return groups


def _group_channels(
    path: Path, block: _Block, label: str, columns: Sequence[int], values: Array, clock: Clock
) -> list[Channel]:
    """One vector for three columns of one unit, else a scalar "label.component" each; scales `values`."""
    trajectory = block.name.lower() == "trajectories"
    units: list[str] = []
    for column in columns:
        # Volts and the like stay as they are, a length must be known.
        factor, unit = si_or_none(_at(block.units, column)) or (1.0, "1")
        if trajectory and unit != "m":
            raise FileProblem(
                path,
                f"the unit of {label!r} is {_at(block.units, column)!r}, not a length",
                line=block.first_line - 1,
                remedy="export with units, or write mm or m into this line",
            )
        if factor != 1.0:
            values[:, column] *= factor
        units.append(unit)
    if len(units) == 3 and len(set(units)) == 1:
        frame = "capture" if trajectory else ""
        return [Channel(label, values[:, columns[0] : columns[0] + 3], clock, units[0], frame)]
    if trajectory:
        wrong = f"the marker {label!r} has {len(units)} columns, not X, Y, Z"
        raise FileProblem(path, wrong, line=block.first_line - 2)
    return [
        Channel(f"{label}.{block.component(column)}", values[:, column], clock, unit)
        for column, unit in zip(columns, units, strict=True)
    ]


def _clock(path: Path, block: _Block, frames: Array, subframes: Array | None) -> Clock:
    """Times from frame numbers; in a block with subframes the stated rate is that of the subframes."""
    lines = np.arange(len(frames)) + block.first_line
    broken = ~(np.isfinite(frames) & (frames == np.rint(frames)))
    if broken.any():
        raise FileProblem(path, "the frame number is missing or not whole", line=int(lines[np.argmax(broken)]))
    counts = frames - 1.0
    if subframes is not None and (subframes > 0).any():
        counts = counts * (np.nanmax(subframes) + 1.0) + subframes
    return clock_of(path, block.name, counts / block.rate_hz, lines)


def _at(fields: Sequence[str], place: int) -> str:
    return fields[place] if place < len(fields) else ""
