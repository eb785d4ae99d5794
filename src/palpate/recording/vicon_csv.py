"""Vicon Nexus CSV: blocks of name, rate, labels, components, units and one row per frame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from palpate.errors import DataProblem, FileProblem, PalpateError
from palpate.files import read_bytes, replacing
from palpate.recording.formats import VICON_BLOCKS, as_utf8, is_number, separator_of, wrong_format
from palpate.recording.recording import Array, Channel, Clock, Recording
from palpate.recording.text import Rows, clock_of, first_lines, marker_columns, parse_rows, split, to_si, trimmed_end

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


@dataclass(frozen=True, slots=True)
class _Group:
    """Neighbouring columns that belong to one label: a marker's X, Y, Z or the outputs of a device."""

    label: str
    columns: tuple[int, ...]


def read(path: str | Path) -> Recording:
    """Read every block with frames; a marker is one channel (n, 3) in m, frame "capture", NaN where hidden.

    Time is (frame - 1) / rate, so a gap in the frame numbers is a gap in time.
    """
    path = Path(path)
    raw = read_bytes(path)
    data = as_utf8(raw)
    try:
        # Most files are one block; to find that out by reading it as one is cheaper than to look for others.
        channels = _read_blocks(path, data, _one_span(data))
    except FileProblem:
        channels = {}
    channels = channels or _read_blocks(path, data, _spans(data))
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
    columns = {"frame": _frames(path, clock, rate), "sub": np.zeros(len(clock), dtype=np.int64)}
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


def _read_blocks(path: Path, data: bytes, spans: Sequence[tuple[int, int, int]]) -> dict[str, Channel]:
    channels: dict[str, Channel] = {}
    for start, stop, line in spans:
        block = _parse_header(path, data, start, stop, line)
        if block is None:
            continue
        for channel in _block_channels(path, data, block):
            name = channel.name if channel.name not in channels else f"{block.name}/{channel.name}"
            name = _numbered(name, channels)
            channels[name] = Channel(name, channel.samples, channel.clock, channel.unit, channel.frame)
    return channels


def _one_span(data: bytes) -> list[tuple[int, int, int]]:
    """Start, end (without line end) and first line number of everything between the blank lines around it."""
    first = _FILLED.search(data)
    if first is None:
        return []
    start = data.rfind(b"\n", 0, first.start()) + 1
    return [(start, trimmed_end(data), 1 + data.count(b"\n", 0, start))]


def _spans(data: bytes) -> list[tuple[int, int, int]]:
    """The same for each part between blank lines."""
    spans: list[tuple[int, int, int]] = []
    for start, stop, line in _one_span(data):
        for blank in _BLANK_LINES.finditer(data, start):
            # A units line without units is not the end of the block.
            if blank[0].strip() and blank.start() < first_lines(data, start, _HEADER_LINES)[1] - 1:
                continue
            spans.append((start, blank.start(), line))
            line += data.count(b"\n", start, blank.end())
            start = blank.end()
        if start < stop:
            spans.append((start, stop, line))
    return spans


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
    first = 2 if len(block.components) > 1 and block.components[1].lower().startswith("sub") else 1
    component = [_at(block.components, column) for column in range(width)]
    groups = _groups(block.labels, component, first)
    titles = component[:first] + [f"{g.label} {component[c]}" for g in groups for c in g.columns]
    rows = Rows(path, data, block.start, block.stop, block.first_line, block.separator, titles)
    values: Array = parse_rows(rows).to_numpy(writable=True)
    clock = _clock(path, block, values[:, 0], values[:, 1] if first == 2 else None)
    return [channel for group in groups for channel in _group_channels(path, block, group, values, clock)]


def _groups(labels: Sequence[str], components: Sequence[str], first: int) -> list[_Group]:
    """Columns under their labels; a component that returns starts a new group even without a label."""
    groups: list[_Group] = []
    seen: set[str] = set()
    for column in range(first, len(components)):
        label, component = _at(labels, column), components[column]
        if label or not groups or component in seen:
            groups.append(_Group(label or f"unnamed{len(groups) + 1}", ()))
            seen.clear()
        seen.add(component)
        groups[-1] = _Group(groups[-1].label, (*groups[-1].columns, column))
    return groups


def _group_channels(path: Path, block: _Block, group: _Group, values: Array, clock: Clock) -> list[Channel]:
    """One vector for three columns of one unit, else a scalar "label.component" each; scales `values`."""
    trajectory = block.name.lower() == "trajectories"
    scales = [_unit(path, block, group, column, strict=trajectory) for column in group.columns]
    units = [unit for _, unit in scales]
    for column, (factor, _) in zip(group.columns, scales, strict=True):
        if factor != 1.0:
            values[:, column] *= factor
    first, frame = group.columns[0], "capture" if trajectory else ""
    if len(units) == 3 and len(set(units)) == 1:
        return [Channel(group.label, values[:, first : first + 3], clock, units[0], frame)]
    if trajectory:
        raise FileProblem(
            path,
            f"the marker {group.label!r} has {len(units)} columns, not X, Y, Z",
            line=block.first_line - 2,
        )
    return [
        Channel(f"{group.label}.{_at(block.components, column)}", values[:, column], clock, unit, frame)
        for column, unit in zip(group.columns, units, strict=True)
    ]


def _unit(path: Path, block: _Block, group: _Group, column: int, *, strict: bool) -> tuple[float, str]:
    """Factor and SI name from the units line; volts and the like stay as they are, a length must be known."""
    text = _at(block.units, column)
    try:
        factor, name = to_si(text)
    except PalpateError:
        factor, name = 1.0, "1"
    if strict and name != "m":
        raise FileProblem(
            path,
            f"the unit of {group.label!r} is {text!r}, not a length",
            line=block.first_line - 1,
            remedy="export with units, or write mm or m into this line",
        )
    return factor, name


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


def _frames(path: Path, clock: Clock, rate_hz: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if not rate_hz > 0:
        raise DataProblem(str(path), "the rate of fewer than two samples is not known", remedy="give rate_hz")
    counts = clock.times_s * rate_hz
    frames = np.rint(counts)
    if len(frames) and (np.max(np.abs(counts - frames)) > 1e-3 or frames[0] < 0):
        raise FileProblem(
            path,
            f"the times of {clock.name!r} are not whole frames at {rate_hz:g} Hz",
            remedy="resample first, or give rate_hz",
        )
    return frames.astype(np.int64) + 1


def _numbered(name: str, taken: dict[str, Channel]) -> str:
    number, free = 2, name
    while free in taken:
        number, free = number + 1, f"{name}#{number}"
    return free


def _at(fields: Sequence[str], place: int) -> str:
    return fields[place] if place < len(fields) else ""
