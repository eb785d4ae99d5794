"""MicroStrain CSV: a preamble, then time, specific force in g, angular rate, a half-rate gravity estimate."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palpate.errors import FileProblem
from palpate.files import read_bytes, replacing
from palpate.physics.units import STANDARD_GRAVITY
from palpate.recording.formats import HEAD_BYTES, as_utf8, kind, numeric_from, separator_of, wrong_format
from palpate.recording.recording import Array, Channel, Clock, Recording
from palpate.recording.text import Rows, clock_of, first_lines, parse_rows, seconds, split, trimmed_end

NAME = "microstrain-csv"
HEADER_LINES = 38
AXES = ("x", "y", "z")
ACCELERATION = tuple(f"acceleration.{axis}" for axis in AXES)
ANGULAR_RATE = tuple(f"angular_rate.{axis}" for axis in AXES)
GRAVITY = tuple(f"gravity.{axis}" for axis in AXES)
_PREAMBLE_LIMIT = 1000
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
# The writer's time of the first sample, where none is given: 2024-01-01 00:00:00 UTC.
_START_NS = 1_704_067_200_000_000_000


def read(path: str | Path, *, g: float = STANDARD_GRAVITY) -> Recording:
    """Read acceleration (m/s2: specific force times `g`), angular rate (rad/s), gravity estimate (m/s2).

    Seconds count from the first row. Rows without any acceleration belong to the gravity estimate, which
    has a clock of its own.
    """
    path = Path(path)
    raw = read_bytes(path)
    if b"\x00" in raw[:HEAD_BYTES] and kind(raw[:HEAD_BYTES], path) != NAME:
        raise wrong_format(path, raw, NAME)
    data = as_utf8(raw)
    preamble, first = _find_rows(path, data)
    head, _ = first_lines(data, first, 1)
    separator = separator_of(head[0])
    fields = split(head[0], separator)
    names = split(preamble[-1], separator) if preamble else []
    named = _named_columns(path, names, len(preamble))
    places = named or {name: place for name, place in _POSITIONS.items() if place < len(fields)}
    labels = [names[place] if place < len(names) else f"column {place + 1}" for place in range(len(fields))]
    first_line = len(preamble) + 1
    table = parse_rows(Rows(path, data, first, trimmed_end(data), first_line, separator, labels), texts={0})
    lines = np.arange(len(table)) + first_line
    times_s = seconds(path, table["0"], lines)
    values = {name: table[str(place)].to_numpy() for name, place in places.items()}
    return Recording(_channels(path, times_s - times_s[0], values, lines, g), path, NAME)


def write(path: str | Path, recording: Recording, *, g: float = STANDARD_GRAVITY, start_ns: int = _START_NS) -> None:
    """Write the authors' layout: 38 header lines, Unix nanoseconds, g, rad/s, gravity in every second row.

    The recording holds "acceleration.x" ... and "angular_rate.x" ... on one clock; "gravity.x" ... may run on
    the same clock (every second sample is kept) or on one that ticks at some of its times.
    """
    path = Path(path)
    moved = recording.select((*ACCELERATION, *ANGULAR_RATE))
    clock = moved.one_clock()
    gravity = _gravity_rows(path, recording, clock)
    flag = (gravity != 0).any(axis=1).astype(np.int64)
    columns: dict[str, Array | NDArray[np.int64]] = {
        "time": np.rint(clock.times_s * 1e9).astype(np.int64) + start_ns,
        **{name: moved[name].samples / g for name in ACCELERATION},
        **{name: moved[name].samples for name in ANGULAR_RATE},
        "gravity.z": gravity[:, 2],
        "valid.z": flag,
        "gravity.y": gravity[:, 1],
        "valid.y": flag,
        "gravity.x": gravity[:, 0],
    }
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(_preamble(clock).encode())
        pl.DataFrame(columns).fill_nan(None).write_csv(file, include_header=False, float_precision=9)


def _find_rows(path: Path, data: bytes) -> tuple[list[str], int]:
    """The lines before the data and the offset of the first row, found by content."""
    lines, _ = first_lines(data, 0, _PREAMBLE_LIMIT)
    for separator in (",", ";", "\t"):
        start = numeric_from(lines, separator, _LEAST_COLUMNS)
        if start is not None:
            return first_lines(data, 0, start) if start else ([], 0)
    if kind(data[:HEAD_BYTES], path) != NAME:
        raise wrong_format(path, data, NAME)
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
        for axis in AXES
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


def _channels(
    path: Path, times_s: Array, values: Mapping[str, Array], lines: NDArray[np.intp], g: float
) -> dict[str, Channel]:
    moving = _any_value([values[name] for name in ACCELERATION])
    if not moving.any():
        raise FileProblem(path, "every row has zero acceleration", remedy="check that the accelerometer was recorded")
    clock = clock_of(path, "imu", times_s[moving], lines[moving])
    channels = {name: Channel(name, values[name][moving] * g, clock, "m/s2", "imu") for name in ACCELERATION}
    channels |= {name: Channel(name, values[name][moving], clock, "rad/s", "imu") for name in ANGULAR_RATE}
    if all(name in values for name in GRAVITY):
        estimated = _any_value([values[name] for name in GRAVITY])
        if estimated.any():
            slow = clock_of(path, "imu gravity", times_s[estimated], lines[estimated])
            channels |= {name: Channel(name, values[name][estimated], slow, "m/s2", "imu") for name in GRAVITY}
    return channels


def _any_value(columns: Sequence[Array]) -> NDArray[np.bool_]:
    """Rows (n,) in which any column holds something other than zero or nothing."""
    return np.logical_or.reduce([(column != 0) & ~np.isnan(column) for column in columns])


def _gravity_rows(path: Path, recording: Recording, clock: Clock) -> Array:
    """Gravity (n, 3) at the accelerometer's rows, zero where the half-rate estimate has none."""
    rows = np.zeros((len(clock), 3))
    if not all(name in recording for name in GRAVITY):
        return rows
    gravity = recording.select(GRAVITY)
    samples, slow = gravity.stack(GRAVITY), gravity.one_clock()
    if slow.agrees_with(clock):
        rows[::2] = samples[::2]
        return rows
    places = np.minimum(np.searchsorted(clock.times_s, slow.times_s - 1e-7), len(clock) - 1)
    if np.any(np.abs(clock.times_s[places] - slow.times_s) > 1e-6):
        raise FileProblem(path, "the gravity estimate has times at which the accelerometer has no sample")
    rows[places] = samples
    return rows


def _preamble(clock: Clock) -> str:
    """The 38 header lines, the last of them the column names."""
    known = [
        "MICROSTRAIN CSV",
        "Writer: palpate",
        f"Samples: {len(clock)}",
        f"Rate: {clock.rate_hz:.6g} Hz",
        "Time: Unix ns",
    ]
    filler = [";"] * (HEADER_LINES - 2 - len(known))
    return "\n".join([*known, *filler, "DATA_START", _COLUMN_NAMES]) + "\n"
