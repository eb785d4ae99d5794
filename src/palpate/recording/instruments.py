"""Text files of instruments, each in a layout of its own: Vicon Nexus CSV, TRC, MicroStrain CSV, SmartWheel CSV.

Vicon: blocks of name, rate, labels, components, units and one row per frame. TRC (Motion Analysis, OpenSim): three
header lines, two lines of names, tab-separated rows. MicroStrain: a preamble, then time, specific force in g, angular
rate, a half-rate gravity estimate. SmartWheel: numbers without names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palpate.errors import FileProblem
from palpate.files import read_bytes, replacing
from palpate.physics.units import STANDARD_GRAVITY
from palpate.recording import formats, text
from palpate.recording.headers import si_or_none
from palpate.recording.recording import Array, Channel, Recording

VICON, TRC, MICROSTRAIN, SMARTWHEEL = "vicon-csv", "trc", "microstrain-csv", "smartwheel"
_HEADER_LINES = 5
"""Of a block and of a TRC file."""
_FILLED = re.compile(rb"[^,;\t \r\n]")
_BLANK_LINES = re.compile(rb"\n(?:[,;\t \r]*\n)+")
_FIRST = 2
"""Columns before TRC's first marker: Frame# and Time."""
_HIDDEN = 9_999_999.0
"""What Cortex writes, in the file's unit, for a hidden marker."""
_PREAMBLE = 38
"""Header lines of the authors' files."""
ACCELERATION = tuple(f"acceleration.{axis}" for axis in "xyz")
ANGULAR_RATE = tuple(f"angular_rate.{axis}" for axis in "xyz")
GRAVITY = tuple(f"gravity.{axis}" for axis in "xyz")
_SMARTWHEEL_HZ = 240.0
_SMARTWHEEL: Mapping[str, tuple[int, float, str]] = {
    "angle": (3, np.pi / 180, "rad"),
    **{f"force.{axis}": (18 + k, 1.0, "N") for k, axis in enumerate("xyz")},
    **{f"torque.{axis}": (21 + k, 1.0, "N m") for k, axis in enumerate("xyz")},
}
"""Column from 0, factor and unit of each channel, as Kinetics Toolkit reads them."""
_LEAST_COLUMNS = 7
# Zero-based columns where no line names them; gravity stands backwards, with a flag after each value.
_POSITIONS: Mapping[str, int] = dict(
    zip((*ACCELERATION, *ANGULAR_RATE, *GRAVITY), (1, 2, 3, 4, 5, 6, 11, 9, 7), strict=True)
)
_STEMS = {
    "acceleration": r"scaledaccel",
    "angular_rate": r"scaledgyro",
    "gravity": r"(?:est)?gravity(?:vector)?",
}
_COLUMN_NAMES = (
    "Time,scaledAccelX,scaledAccelY,scaledAccelZ,scaledGyroX,scaledGyroY,scaledGyroZ,"
    "estGravityZ,estGravityZ:valid,estGravityY,estGravityY:valid,estGravityX"
)
_SPARE = 1.1
"""Room for rows, over what the file's beginning lets expect."""
# The writer's time of the first sample: 2024-01-01 00:00:00 UTC.
_START_NS = 1_704_067_200_000_000_000


def read_vicon(path: Path) -> Recording:
    """Read every block with frames; a marker is one channel (n, 3) in m, frame "capture", NaN where hidden.

    Time is (frame - 1) / rate, so a gap in the frame numbers is a gap in time.
    """
    raw = read_bytes(path)
    data = formats.as_utf8(raw)
    channels: dict[str, Channel] = {}
    for span in _spans(data):
        for channel in _block_channels(path, data, *span):
            name = channel.name if channel.name not in channels else f"{channel.clock.name}/{channel.name}"
            name = text.distinct([*channels, name])[-1]
            channels[name] = replace(channel, name=name)
    if not channels:
        raise formats.wrong_format(path, raw, VICON)
    return Recording(channels, path, VICON)


def write_vicon(path: str | Path, recording: Recording, *, rate_hz: float | None = None) -> None:
    """Write markers (n, 3) in m of one clock as a Trajectories block in mm with six decimals.

    The times are whole frames of `rate_hz` (by default the clock's); frame 1 is time 0.
    """
    clock = recording.one_clock()
    rate = float(f"{clock.rate_hz if rate_hz is None else rate_hz:.9g}")
    columns = [pl.Series("frame", np.rint(clock.times_s * rate).astype(np.int64) + 1)]
    columns.append(pl.Series("sub", np.zeros(len(clock), dtype=np.int64)))
    columns += [
        pl.Series(f"{place} {axis}", channel.samples[:, axis] * 1e3, nan_to_null=True)
        for place, channel in enumerate(recording.channels.values())
        for axis in range(3)
    ]
    head = (
        "Trajectories",
        f"{rate:.9g}",
        # Nexus itself leaves one separator too many at the end of this line.
        ",," + "".join(f"{name},,," for name in recording),
        "Frame,Sub Frame" + ",X,Y,Z" * len(recording),
        "," + ",mm,mm,mm" * len(recording),
    )
    _save(path, head, pl.DataFrame(columns), 6)


def _spans(data: bytes) -> list[tuple[int, int, int]]:
    """Start, end (without line end) and first line number of each part between blank lines."""
    (line, start), stop = _filled_from(data, 0), text.trimmed_end(data)
    spans: list[tuple[int, int, int]] = []
    for blank in _BLANK_LINES.finditer(data, start):
        # A units line without units is not the end of the block.
        if blank[0].strip() and blank.start() < text.first_lines(data, start, _HEADER_LINES)[1] - 1:
            continue
        spans.append((start, blank.start(), line))
        line += data.count(b"\n", start, blank.end())
        start = blank.end()
    return [*spans, (start, stop, line)] if start < stop else spans


def _filled_from(data: bytes, offset: int) -> tuple[int, int]:
    """Number and offset of the first line from here on that holds anything."""
    filled = _FILLED.search(data, offset)
    start = data.rfind(b"\n", 0, filled.start()) + 1 if filled else len(data)
    return 1 + data.count(b"\n", 0, start), start


def _block_channels(path: Path, data: bytes, start: int, stop: int, line: int) -> list[Channel]:
    """The channels of a block; none of one without frames (Nexus writes Events as a list of words).

    A label stands over the first column of a marker's X, Y, Z or of a device's outputs; a component that returns starts
    a new group even without a label.
    """
    head, offset = text.first_lines(data, start, _HEADER_LINES, stop)
    name = head[0].strip(' ,;\t"')
    if name.lower() not in formats.VICON_BLOCKS or name.lower() == "events":
        return []
    if len(head) < _HEADER_LINES:
        wrong = f"the block {name} ends within its header"
        raise FileProblem(path, wrong, line=line + len(head) - 1, remedy="export it again")
    separator = formats.separator_of(head[3])
    rate = _positive(text.split(head[1], separator)[0])
    if rate is None:
        raise FileProblem(path, f"the rate of {name} is {head[1]!r}, not a number of frames per second", line=line + 1)
    fields = [text.split(below, separator) for below in head[2:]]
    if fields[1][0].lower() != "frame":
        raise FileProblem(path, f"the columns of {name} should begin with 'Frame', not {fields[1][0]!r}", line=line + 3)
    row, _ = text.first_lines(data, offset, 1, stop)
    width = len(text.split(row[0], separator)) if row else len(fields[1])
    labels, components, units = ([*texts, *[""] * width][:width] for texts in fields)
    first = 2 if "".join(components[1:2]).lower().startswith("sub") else 1
    groups: list[list[int]] = []
    for column in range(first, width):
        if labels[column] or not groups or components[column] in [components[c] for c in groups[-1]]:
            labels[column] = labels[column] or f"unnamed{len(groups) + 1}"
            groups.append([])
        groups[-1].append(column)
    titles = components[:first] + [f"{labels[group[0]]} {components[c]}" for group in groups for c in group]
    first_line = line + _HEADER_LINES
    table = text.parse_rows(text.Rows(path, data, offset, stop, first_line, separator, titles))
    values: Array = table.to_numpy(writable=True)
    lines = np.arange(len(values)) + first_line
    broken = ~(values[:, 0] == np.rint(values[:, 0]))
    if broken.any():
        raise FileProblem(path, "the frame number is missing or not whole", line=int(lines[np.argmax(broken)]))
    counts = values[:, 0] - 1.0
    if first == 2 and (values[:, 1] > 0).any():  # the stated rate is that of the subframes
        counts = counts * (np.nanmax(values[:, 1]) + 1.0) + values[:, 1]
    clock = text.clock_of(path, name, counts / rate, lines)
    channels: list[Channel] = []
    for group in groups:
        label, si = labels[group[0]], list[str]()
        for column in group:
            # Volts and the like stay as they are, a length must be known.
            factor, unit = si_or_none(units[column]) or (1.0, "1")
            if name.lower() == "trajectories" and unit != "m":
                wrong = f"the unit of {label!r} is {units[column]!r}, not a length"
                remedy = "export with units, or write mm or m into this line"
                raise FileProblem(path, wrong, line=first_line - 1, remedy=remedy)
            values[:, column] *= factor
            si.append(unit)
        if len(si) == 3 and len(set(si)) == 1:
            frame = "capture" if name.lower() == "trajectories" else ""
            channels.append(Channel(label, values[:, group[0] : group[0] + 3], clock, si[0], frame))
        elif name.lower() == "trajectories":
            wrong = f"the marker {label!r} has {len(si)} columns, not X, Y, Z"
            raise FileProblem(path, wrong, line=first_line - 2)
        else:
            parts = zip(group, si, strict=True)
            channels += [Channel(f"{label}.{components[c]}", values[:, c], clock, unit) for c, unit in parts]
    return channels


def _positive(cell: str) -> float | None:
    """A rate, with point or comma; None where it is none."""
    number = float(cell.replace(",", ".")) if formats.is_number(cell) else 0.0
    return number if number > 0 else None


def read_trc(path: Path) -> Recording:
    """Read markers (n, 3) in m, frame "capture", NaN where the cells are empty, NaN, 9999999 or three zeros.

    Times are those of the column Time; where they are the frame numbers divided by DataRate but for rounding,
    the latter, which are even.
    """
    raw = read_bytes(path)
    formats.check_kind(path, raw, TRC)
    data = formats.as_utf8(raw)
    head, offset = text.first_lines(data, 0, _HEADER_LINES)
    if len(head) < _HEADER_LINES:
        raise FileProblem(path, "the header is cut off", line=len(head), remedy="export it again")
    # The second and third line say DataRate, NumFrames, Units, ...
    about = dict(zip(text.split(head[1], "\t"), text.split(head[2], "\t"), strict=False))
    for wanted in ("DataRate", "Units"):
        if wanted not in about:
            raise FileProblem(path, f"the header does not say {wanted}", line=2, remedy="export it again")
    factor, unit = si_or_none(about["Units"]) or (1.0, "")
    if unit != "m":
        wrong = f"Units is {about['Units']!r}, not a length"
        raise FileProblem(path, wrong, line=3, remedy="write mm or m into this line")
    rate = _positive(about["DataRate"])
    if rate is None:
        raise FileProblem(path, f"DataRate is {about['DataRate']!r}, not a positive number", line=3)
    columns = text.split(head[3], "\t")
    if len(columns) < _FIRST or columns[0].rstrip("#").lower() != "frame" or columns[1].lower() != "time":
        raise FileProblem(path, f"the columns should begin with 'Frame#' and 'Time', not {head[3][:40]!r}", line=4)
    first_line, offset = _filled_from(data, offset)  # most programs leave a line empty before the rows
    rows, _ = text.first_lines(data, offset, 1)
    width = len(text.split(rows[0], "\t")) if rows else 0
    labels = _labels(path, columns, width, about)
    titles = ["Frame#", "Time", *(f"{label} {axis}" for label in labels for axis in "XYZ")]
    titles += [""] * (width - len(titles))
    table = text.parse_rows(text.Rows(path, data, offset, text.trimmed_end(data), first_line, "\t", titles))
    values: Array = table.to_numpy(writable=True)
    lines = np.arange(len(values)) + first_line
    if about.get("NumFrames", "").isdigit() and int(about["NumFrames"]) > len(values):
        wrong = f"NumFrames is {about['NumFrames']}, but there are {len(values)} rows"
        remedy = "the file seems to be cut off; copy or export it again, or correct the number"
        raise FileProblem(path, wrong, line=3, remedy=remedy)
    times_s, even = values[:, 1], (values[:, 0] - values[0, 0]) / rate
    away: Array = times_s - even
    spread = float(away.max() - away.min())
    if spread <= 2 * 0.6e-3:  # as times with three decimals are; the first is rounded as well, unless it is zero
        times_s = float(times_s[0] if times_s[0] == 0 or spread < 1e-9 else np.mean(away)) + even
    clock = text.clock_of(path, "Trajectories", times_s, lines)
    points = values[:, _FIRST : _FIRST + 3 * len(labels)].reshape(len(values), -1, 3)
    points[((np.abs(points) >= _HIDDEN) | np.isnan(points)).any(axis=2) | (points == 0).all(axis=2)] = np.nan
    points *= factor
    named = enumerate(text.distinct(labels))
    return Recording({n: Channel(n, points[:, i], clock, "m", "capture") for i, n in named}, path, TRC)


def _save(path: str | Path, head: Sequence[str], table: pl.DataFrame, float_precision: int) -> None:
    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        file.write(("\n".join(head) + "\n").encode())
        table.write_csv(file, include_header=False, float_precision=float_precision)


def _labels(path: Path, columns: Sequence[str], width: int, about: Mapping[str, str]) -> list[str]:
    """The names over the first of every three columns; as many as NumMarkers says and the rows hold."""
    named = list(columns[_FIRST::3])
    while named and not named[-1]:
        named.pop()
    labels = [label or f"unnamed{place + 1}" for place, label in enumerate(named)]
    stated = about.get("NumMarkers", "")
    if stated.isdigit() and int(stated) < len(labels):  # virtual markers come last, and some programs do not count them
        labels = labels[: max(int(stated), (width - _FIRST) // 3)]
    if stated.isdigit() and int(stated) > len(labels):
        raise FileProblem(
            path, f"NumMarkers is {stated}, but {len(labels)} markers are named", line=4, remedy="export it again"
        )
    if not labels:
        raise FileProblem(path, "no marker is named", line=4, remedy="export it again")
    needed = _FIRST + 3 * len(labels)
    if width and width < needed:
        raise FileProblem(path, f"{len(labels)} markers need {needed} columns, the first row has {width}", line=4)
    return labels


def read_microstrain(path: Path, *, g: float = STANDARD_GRAVITY) -> Recording:
    """Read acceleration (m/s2: specific force times `g`), angular rate (rad/s), gravity estimate (m/s2).

    Seconds count from the first row. Rows without any acceleration belong to the gravity estimate, which
    has a clock of its own.
    """
    raw = read_bytes(path, text.PART_BYTES)
    if b"\x00" in raw[: formats.HEAD_BYTES]:
        formats.check_kind(path, raw, MICROSTRAIN)
    long = len(raw) == text.PART_BYTES and raw.isascii()
    data = raw if long else formats.as_utf8(read_bytes(path))
    preamble, first = _find_rows(path, data)
    head, _ = text.first_lines(data, first, 1)
    separator = formats.separator_of(head[0])
    fields = text.split(head[0], separator)
    names = text.split(preamble[-1], separator) if preamble else []
    named = _named_columns(path, names, len(preamble))
    places = named or {name: place for name, place in _POSITIONS.items() if place < len(fields)}
    labels = [names[place] if place < len(names) else f"column {place + 1}" for place in range(len(fields))]
    first_line = len(preamble) + 1
    rows = text.Rows(path, data, first, text.trimmed_end(data), first_line, separator, labels)
    kinds = [_Kind("imu", (*ACCELERATION, *ANGULAR_RATE), ACCELERATION), _Kind("imu gravity", GRAVITY, GRAVITY)]
    kinds = [kind for kind in kinds if set(kind.names) <= places.keys()]
    first_stamps, start, size = None, 0.0, path.stat().st_size
    for part in text.in_parts(rows) if long else (rows,):
        table = text.parse_rows(replace(part, first_line=first_line), texts={0}, counts=fields[0].isdecimal())
        lines = range(first_line, first_line + len(table))
        stamps = text.as_times(path, table["0"], lines)
        first_stamps = stamps[:1] if first_stamps is None else first_stamps
        times_s = text.seconds(path, stamps, lines, since=first_stamps)
        start = float(times_s[0]) if lines.start == rows.first_line else start
        numbers = {name: table[str(place)].to_numpy() for name, place in places.items()}
        numbers |= {name: g * numbers[name] for name in ACCELERATION}
        for kind in kinds:
            kind.add(times_s - start, numbers, int(_SPARE * len(table) * size / len(part.data)))
        first_line = lines.stop
    if not kinds[0].count:
        raise FileProblem(path, "every row has zero acceleration", remedy="check that the accelerometer was recorded")
    channels = dict[str, Channel]()
    for kind in (kind for kind in kinds if kind.count):
        times_s, *samples = kind.columns[:, : kind.count]
        clock = text.clock_of(path, kind.clock, times_s, kind.lines(rows.first_line))
        for column, name in zip(samples, kind.names, strict=True):
            channels[name] = Channel(name, column, clock, "rad/s" if name in ANGULAR_RATE else "m/s2", "imu")
    return Recording(channels, path, MICROSTRAIN)


def write_microstrain(path: str | Path, recording: Recording, *, g: float = STANDARD_GRAVITY) -> None:
    """Write "acceleration.x" ... and "angular_rate.x" ... of one clock in the authors' layout.

    38 header lines, Unix nanoseconds, g, rad/s, and no gravity estimate.
    """
    moved = recording.select((*ACCELERATION, *ANGULAR_RATE))
    clock = moved.one_clock()
    columns: dict[str, Array | NDArray[np.int64]] = {
        "time": np.rint(clock.times_s * 1e9).astype(np.int64) + _START_NS,
        **{name: moved[name].samples / g for name in ACCELERATION},
        **{name: moved[name].samples for name in ANGULAR_RATE},
    }
    zero, invalid = np.zeros(len(clock)), np.zeros(len(clock), dtype=np.int64)
    columns |= {"gravity.z": zero, "valid.z": invalid, "gravity.y": zero, "valid.y": invalid, "gravity.x": zero}
    known = ["MICROSTRAIN CSV", "Writer: palpate", f"Samples: {len(clock)}", f"Rate: {clock.rate_hz:.6g} Hz"]
    known.append("Time: Unix ns")
    head = [*known, *[";"] * (_PREAMBLE - 2 - len(known)), "DATA_START", _COLUMN_NAMES]
    _save(path, head, pl.DataFrame(columns).fill_nan(None), 9)


def _find_rows(path: Path, data: bytes) -> tuple[list[str], int]:
    """The lines before the data and the offset of the first row, by content."""
    lines, _ = text.first_lines(data, 0, 1000)
    for separator in (",", ";", "\t"):
        start = formats.numeric_from(lines, separator, _LEAST_COLUMNS)
        if start is not None:
            return text.first_lines(data, 0, start) if start else ([], 0)
    formats.check_kind(path, data, MICROSTRAIN)
    raise FileProblem(
        path,
        f"no row has a time and {_LEAST_COLUMNS - 1} number columns (specific force and angular rate)",
        line=len(lines),
        remedy="export scaledAccel and scaledGyro together, all three axes",
    )


def _named_columns(path: Path, names: Sequence[str], line: int) -> dict[str, int]:
    """Columns by their names, prefixes ignored; empty where the line before the data names none of them."""
    bare = [name.rsplit(":", 1)[-1].lower() for name in names]
    places = {
        f"{quantity}.{axis}": place
        for quantity, stem in _STEMS.items()
        for axis in "xyz"
        for place, name in enumerate(bare)
        if re.fullmatch(rf"(?:.*[^a-z])?{stem}[ _.]?{axis}(?:\s*[\[(].*)?", name)
    }
    missing = [name for name in (*ACCELERATION, *ANGULAR_RATE) if name not in places]
    if len(missing) == _LEAST_COLUMNS - 1:
        return {}
    if missing:
        raise FileProblem(
            path,
            f"there is no column for {', '.join(missing)}",
            line=line,
            remedy="export all axes of scaledAccel and scaledGyro",
        )
    return places


@dataclass(slots=True, eq=False)
class _Kind:
    """Rows of one kind, as they come from the parts of a file."""

    clock: str
    names: tuple[str, ...]
    marks: tuple[str, ...]
    """A row is of this kind where any of these is something other than zero or nothing."""
    count: int = 0
    """How many rows there are."""
    columns: Array = field(default_factory=lambda: np.empty((0, 0)))
    """Times and samples, each with room for more: side by side, as they will be asked for."""
    seen: list[NDArray[np.bool_]] = field(default_factory=list[NDArray[np.bool_]])
    """Which rows of each part are of this kind."""

    def add(self, times_s: Array, numbers: Mapping[str, Array], room: int) -> None:
        """Those of a part; room: how many the file may hold. Memory that is not written to costs nothing."""
        seen = np.logical_or.reduce([(numbers[n] != 0) & ~np.isnan(numbers[n]) for n in self.marks])
        begin, self.count = self.count, self.count + int(np.count_nonzero(seen))
        self.seen.append(seen)
        if self.count > self.columns.shape[1]:
            before, room = self.columns[:, :begin], max(room, self.count + begin // 2)
            self.columns = np.empty((1 + len(self.names), room))
            self.columns[: len(before), :begin] = before
        for column, x in zip(self.columns, (times_s, *(numbers[n] for n in self.names)), strict=False):
            column[begin : self.count] = x if self.count - begin == len(x) else x[seen]

    def lines(self, first: int) -> text.Lines:
        """Of the file, counted from that of its first row."""
        seen = np.concatenate(self.seen)
        return range(first, first + self.count) if len(seen) == self.count else np.flatnonzero(seen) + first


def read_smartwheel(path: Path) -> Recording:
    """Read the wheel's angle (rad, without jumps by whole turns), force (N) and moment (N m) on its push rim.

    240 Hz by the second column, which counts the samples.
    """
    raw = read_bytes(path)
    formats.check_kind(path, raw, SMARTWHEEL)
    labels = [f"column {place + 1}" for place in range(25)]
    values: Array = text.parse_rows(text.Rows(path, raw, 0, text.trimmed_end(raw), 1, ",", labels)).to_numpy()
    times_s = (values[:, 1] - values[0, 1]) / _SMARTWHEEL_HZ
    clock = text.clock_of(path, "smartwheel", times_s, np.arange(len(values)) + 1)
    columns = {name: (values[:, column] * factor, unit) for name, (column, factor, unit) in _SMARTWHEEL.items()}
    columns["angle"] = (np.unwrap(columns["angle"][0]), "rad")
    return Recording({n: Channel(n, x, clock, unit) for n, (x, unit) in columns.items()}, path, SMARTWHEEL)
