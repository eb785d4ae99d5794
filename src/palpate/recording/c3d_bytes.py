"""Whether the bytes of a C3D file are whole (c3d.org, The C3D File Format User Guide).

ezc3d reads the first part of a file that is cut off as if it were all, and loops or crashes on broken parameters.
So the header and the chain of parameters are walked first; the numbers are left to ezc3d.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path

from palpate.errors import FileProblem
from palpate.recording.signature import C3D_PROCESSORS

BLOCK = 512
_INTEL = 84
_SIZES = {-1: 1, 1: 1, 2: 2, 4: 4}
"""Bytes of a text, a byte, a whole number and a float."""


@dataclass(frozen=True, slots=True)
class _Parameter:
    """One parameter: the type of its numbers, how many there are, and where the first is."""

    type: int
    count: int
    place: int


def check_bytes(path: Path, data: bytes) -> None:
    """Refuse a file whose header, parameters or frames are not all there."""
    start = (data[0] - 1) * BLOCK
    if len(data) < BLOCK or len(data) < start + 4 or data[start + 3] not in C3D_PROCESSORS:
        raise FileProblem(path, "the header has no parameters behind it", remedy="the file is cut off; copy it again")
    order = ">" if data[start + 3] == _INTEL + 2 else "<"
    points, analogs, first, last = struct.unpack_from(f"{order}4H", data, 2)
    data_block, per_frame = struct.unpack_from(f"{order}2H", data, 16)
    size = 4 if data[15 if data[start + 3] == _INTEL else 12 if order == ">" else 13] & 0x80 else 2
    frames = max(0, last - first + 1)
    wanted = (data_block - 1) * BLOCK + frames * (4 * points + analogs) * size
    if len(data) < max(wanted, start + data[start + 2] * BLOCK):
        raise FileProblem(
            path,
            f"the header announces {frames} frames, {wanted} bytes, but the file ends after {len(data)}",
            remedy="the file is cut off; copy or export it again",
        )
    parameters = _walk(path, data, start + 4, order)
    channels = analogs // max(1, per_frame)
    for group, value in {"POINT": points, "ANALOG": channels}.items():
        stated = _whole(data, parameters.get((group, "USED")), order)
        if stated is not None and stated != value:
            raise _damaged(path, f"{group}:USED is {stated}, but the header says {value}")
    for name in ("SCALE", "OFFSET"):
        # Beyond 255 they go on in SCALE2, SCALE3, ...
        parts = [
            one.count for (group, key), one in parameters.items() if group == "ANALOG" and key.rstrip("2345") == name
        ]
        held = sum(parts)
        if held < channels:
            raise _damaged(path, f"ANALOG:{name} has {held} numbers for {channels} channels")


def _walk(path: Path, data: bytes, place: int, order: str) -> dict[tuple[str, str], _Parameter]:
    """The parameters by group and name; every record must lie inside the file and lead on to the next."""
    groups: dict[int, str] = {}
    found: dict[tuple[int, str], _Parameter] = {}
    while True:
        length, number = _unpack(path, data, "bb", place, order)
        name = data[place + 2 : place + 2 + abs(length)]
        if length == 0:
            break
        after = place + 2 + abs(length)
        (offset,) = _unpack(path, data, "H", after, order)
        if number == 0:
            raise _damaged(path, f"the record at byte {place} is neither group nor parameter")
        key = name.decode("latin-1").strip().upper()
        if number < 0:
            groups[-number] = key
            end = after + 3 + _unpack(path, data, "B", after + 2, order)[0]
        else:
            found[number, key] = _parameter(path, data, after + 2, key, order)
            one = found[number, key]
            end = one.place + one.count * _SIZES[one.type]
            end += 1 + _unpack(path, data, "B", end, order)[0]
        if offset == 0:
            break
        if after + offset < end or after + offset >= len(data):
            raise _damaged(path, f"the parameter {key} does not lead on to the next")
        place = after + offset
    nameless = [key for number, key in found if number not in groups]
    if nameless:
        raise _damaged(path, f"the parameter {nameless[0]} belongs to no group")
    return {(groups[number], key): parameter for (number, key), parameter in found.items()}


def _parameter(path: Path, data: bytes, place: int, name: str, order: str) -> _Parameter:
    kind, dimensions = _unpack(path, data, "bB", place, order)
    if kind not in _SIZES or dimensions > 7:
        raise _damaged(path, f"the parameter {name} has the type {kind} and {dimensions} dimensions")
    sizes = _unpack(path, data, f"{dimensions}B", place + 2, order)
    one = _Parameter(kind, prod(sizes), place + 2 + dimensions)
    if one.place + one.count * _SIZES[kind] > len(data):
        raise _damaged(path, f"the parameter {name} goes beyond the end of the file")
    return one


def _whole(data: bytes, parameter: _Parameter | None, order: str) -> int | None:
    if parameter is None or parameter.count != 1 or parameter.type != 2:
        return None
    return int(struct.unpack_from(f"{order}H", data, parameter.place)[0])


def _unpack(path: Path, data: bytes, layout: str, place: int, order: str) -> tuple[int, ...]:
    try:
        return struct.unpack_from(f"{order}{layout}", data, place)
    except struct.error:
        raise _damaged(path, "the parameters go beyond the end of the file") from None


def _damaged(path: Path, reason: str) -> FileProblem:
    return FileProblem(path, f"the file is damaged ({reason})", remedy="copy or export it again")
