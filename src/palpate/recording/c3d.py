"""C3D (c3d.org), read by ezc3d: markers at one rate, analog channels at a multiple of it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import FileProblem
from palpate.files import read_bytes
from palpate.recording.formats import C3D_PROCESSORS, check_kind, library, refusing_damage
from palpate.recording.headers import si_or_none
from palpate.recording.recording import Clock, Recording
from palpate.recording.table import Stored, recording_of
from palpate.recording.text import distinct

NAME = "c3d"
# Nexus stores the outputs of its models among the points; these parameters list them, and say their units.
_MODEL_OUTPUTS = {"ANGLES": "ANGLE", "FORCES": "FORCE", "MOMENTS": "MOMENT", "POWERS": "POWER", "SCALARS": "SCALAR"}

Parameters = Mapping[str, Mapping[str, Any]]
BLOCK_BYTES = 512
_INTEL = 84


def read(path: Path, *, point_unit: str = "") -> Recording:
    """Read markers (n, 3) in m, frame "capture", NaN where hidden (residual < 0 or three zeros), and analog channels.

    Time is (frame - 1) / rate on both clocks. Volts stay volts. `point_unit` is the markers' unit where the file does
    not say it. A unit that palpate does not know stays part of the analog channel's name.
    """
    data = read_bytes(path)
    check_kind(path, data, NAME)
    check_bytes(path, data)
    ezc3d = library("ezc3d", "reading C3D files")
    with refusing_damage(path):
        file = ezc3d.c3d(str(path))
    parameters: Parameters = file["parameters"]
    rate_hz, analog_rate_hz = (float(file["header"][part]["frame_rate"]) for part in ("points", "analogs"))
    points, residuals = np.array(file["data"]["points"][:3]), file["data"]["meta_points"]["residuals"][0]
    # Some programs write three zeros, which no camera ever measured, instead of a negative residual.
    points[:, (residuals < 0) | (points == 0).all(axis=0)] = np.nan
    # the header's one word for the first frame overflows: where it is, ACTUAL_START_FIELD has two of 16 bit, from 1
    words = [int(word) & 0xFFFF for word in np.ravel(_values(parameters, "TRIAL", "ACTUAL_START_FIELD"))]
    start = sum(word << (16 * place) for place, word in enumerate(words[:2]))
    first = start - 1 if start > 0 else int(file["header"]["points"]["first_frame"])
    outputs, stored = dict[str, str](), list[Stored]()
    for plural, one in _MODEL_OUTPUTS.items():  # labels of points that are no positions, with their units as written
        unit = next(iter(_all(parameters, "POINT", f"{one}_UNITS")), "")
        outputs |= dict.fromkeys(_all(parameters, "POINT", plural), unit)
    for group, name, samples, rate in (
        ("POINT", "Trajectories", points.transpose(2, 1, 0), rate_hz),
        ("ANALOG", "Analog", file["data"]["analogs"][0].T, analog_rate_hz),
    ):
        if not samples.size:
            continue
        if not (rate > 0 and rate_hz > 0):
            raise FileProblem(path, f"the rate of {name} is {rate:g} Hz", remedy="export it again with POINT:RATE")
        clock = Clock(name, first / rate_hz + np.arange(len(samples)) / rate)
        labels, units = _all(parameters, group, "LABELS"), _all(parameters, group, "UNITS")
        for place in range(samples.shape[1]):
            label = "".join(labels[place : place + 1]) or f"unnamed{place + 1}"
            if group == "POINT" and label not in outputs:
                unit, frame = _length(parameters, path, point_unit), "capture"
            else:  # a model's output, or an analog channel
                unit, frame = outputs[label] if group == "POINT" else "".join(units[place : place + 1]), ""
            stored.append(Stored(label, samples[:, place], unit, frame, vector=True, clock=clock))
    if not stored:
        raise FileProblem(path, "there are neither markers nor analog channels", remedy="export it again")
    names = distinct([one.name for one in stored])
    stored = [replace(one, name=name) for name, one in zip(names, stored, strict=True)]
    return recording_of(path, NAME, stored, {})


def _length(parameters: Parameters, path: Path, point_unit: str) -> str:
    """The unit of the markers."""
    stated = next(iter(_all(parameters, "POINT", "UNITS")), "") or point_unit
    for unit in (stated, stated.lower()):
        if (si_or_none(unit) or (1.0, ""))[1] == "m":
            return unit
    remedy = "export it in mm" if stated else "state it with the option point_unit, for example point_unit='mm'"
    raise FileProblem(path, f"POINT:UNITS is {stated!r}, not a length", remedy=remedy)


def _all(parameters: Parameters, group: str, name: str) -> list[str]:
    """The texts of a parameter; beyond 255 they go on in NAME2, NAME3, ..."""
    texts, number = list(_values(parameters, group, name)), 2
    while more := list(_values(parameters, group, f"{name}{number}")):
        texts, number = texts + more, number + 1
    return [str(text).strip() for text in texts]


def _values(parameters: Parameters, group: str, name: str) -> Sequence[Any]:
    return parameters[group][name]["value"] if group in parameters and name in parameters[group] else ()


def check_bytes(path: Path, data: bytes) -> None:
    """Refuse a file whose header, parameters or frames are not all there: ezc3d would crash, or read a part."""
    start = (data[0] - 1) * BLOCK_BYTES
    if len(data) < BLOCK_BYTES or len(data) < start + 4 or data[start + 3] not in C3D_PROCESSORS:
        raise FileProblem(path, "the header has no parameters behind it", remedy="the file is cut off; copy it again")
    order = ">" if data[start + 3] == _INTEL + 2 else "<"
    points, analogs, first, last = struct.unpack_from(f"{order}4H", data, 2)
    data_block, per_frame = struct.unpack_from(f"{order}2H", data, 16)
    size = 4 if data[15 if data[start + 3] == _INTEL else 12 if order == ">" else 13] & 0x80 else 2
    frames = max(0, last - first + 1)
    wanted = (data_block - 1) * BLOCK_BYTES + frames * (4 * points + analogs) * size
    if len(data) < max(wanted, start + data[start + 2] * BLOCK_BYTES):
        raise FileProblem(
            path,
            f"the header announces {frames} frames, {wanted} bytes, but the file ends after {len(data)}",
            remedy="the file is cut off; copy or export it again",
        )
    try:
        parameters = _walk(data, start + 4, order)
    except (struct.error, KeyError, OverflowError):
        raise _damaged(path, "its parameters are not chained correctly") from None
    channels = analogs // max(1, per_frame)
    for group, value in {"POINT": points, "ANALOG": channels}.items():
        kind, count, place = parameters.get((group, "USED"), (0, 0, 0))
        stated = struct.unpack_from(f"{order}H", data, place)[0] if (kind, count) == (2, 1) else value
        if stated != value:
            raise _damaged(path, f"{group}:USED is {stated}, but the header says {value}")
    for name in ("SCALE", "OFFSET"):
        # Beyond 255 they go on in SCALE2, SCALE3, ...
        held = sum(
            n for (group, key), (_, n, _) in parameters.items() if (group, key.rstrip("2345")) == ("ANALOG", name)
        )
        if held < channels:
            raise _damaged(path, f"ANALOG:{name} has {held} numbers for {channels} channels")


def _walk(data: bytes, place: int, order: str) -> dict[tuple[str, str], tuple[int, int, int]]:
    """By group and name: the type of a parameter's numbers, how many there are, and where the first is.

    Every record must lie inside the file and lead on to the next: struct.error or KeyError where one does not.
    """
    groups: dict[int, str] = {}
    parameters: dict[tuple[int, str], tuple[int, int, int]] = {}
    offset = 1
    while offset:
        length, number = struct.unpack_from("bb", data, place)
        after = place + 2 + abs(length)
        if length == 0:
            break
        (offset,) = struct.unpack_from(f"{order}H", data, after)
        key = data[place + 2 : after].decode("latin-1").strip().upper()
        end = after + 2
        if number < 0:
            groups[-number] = key
        else:
            kind, dimensions = struct.unpack_from("bB", data, end)
            count, begin = prod(struct.unpack_from(f"{dimensions}B", data, end + 2)), end + 2 + dimensions
            parameters[number, key] = (kind, count, begin)
            end = begin + count * {-1: 1, 1: 1, 2: 2, 4: 4}[kind]  # bytes of a text, a byte, a whole number and a float
        end += 1 + struct.unpack_from("B", data, end)[0]
        place = after + offset
        if number == 0 or (offset and place < end):
            raise struct.error
    return {(groups[number], key): parameter for (number, key), parameter in parameters.items()}


def _damaged(path: Path, reason: str) -> FileProblem:
    return FileProblem(path, f"the file is damaged ({reason})", remedy="copy or export it again")
