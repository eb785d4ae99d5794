"""dSPACE ControlDesk .mat: one struct with time axes X and signals Y, each with its device and path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import savemat

from palpate.errors import FileProblem, UnknownName
from palpate.files import replacing
from palpate.recording.mat import load_variables
from palpate.recording.recording import Array, Channel, Clock, Recording
from palpate.recording.text import clock_of

NAME = "dspace-mat"
Struct = NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Signal:
    """One entry of Y: where it came from, its samples (n,), and the zero-based entry of X it belongs to."""

    name: str
    device: str
    samples: Array
    axis: int


def read(path: str | Path, *, device: str | None = None) -> Recording:
    """Read the signals of all devices, or of one; F.. in N and T.. in N m get the frame "sensor".

    A signal keeps its stored sign. Signals of one time axis are cut to the shortest of them.
    """
    path = Path(path)
    capture = _load(path)
    axes = [_vector(path, "X", entry) for entry in _entries(capture["X"])]
    signals = _signals(path, _entries(capture["Y"]), axes)
    devices = dict.fromkeys(signal.device for signal in signals)
    if device is not None:
        if device not in devices:
            raise UnknownName("device", device, devices, where=str(path))
        signals = [signal for signal in signals if signal.device == device]
    return Recording(_channels(path, signals, axes), path, NAME)


def write(path: str | Path, recording: Recording) -> None:
    """Write scalar channels as ControlDesk does: one device per clock, times of device k in X(2k - 1)."""
    path = Path(path)
    clocks = recording.clocks
    # The authors' files hold a further axis after each device's own: the second device's times are X(3).
    axes = [clock for clock in clocks for _ in range(2)][: 2 * len(clocks) - 1]
    x = _struct_array(("Name", "Device", "Data"), [("time", clock.name, clock.times_s[None, :]) for clock in axes])
    y = _struct_array(
        ("Name", "Device", "Path", "XIndex", "Data"),
        [
            (*_labels(path, channel), 2.0 * clocks.index(channel.clock) + 1.0, channel.samples[None, :])
            for channel in recording.channels.values()
        ],
    )
    with replacing(path) as temporary:
        savemat(
            temporary,
            {_variable(path): {"X": x, "Y": y}},
            do_compression=True,
            appendmat=False,
            oned_as="row",
        )


def _load(path: Path) -> Struct:
    """The capture struct."""
    variables = load_variables(path, NAME)
    for value in variables.values():
        if value.dtype.names and {"X", "Y"} <= set(value.dtype.names) and value.size == 1:
            return value.reshape(-1)[0]
    raise FileProblem(
        path,
        f"there is no ControlDesk capture (a struct with X and Y), only {', '.join(variables) or 'nothing'}",
        remedy="export the measurement from ControlDesk as .mat, or read plain variables with format='mat'",
    )


def _signals(path: Path, entries: Struct, axes: Sequence[Array]) -> list[_Signal]:
    names = entries.dtype.names or ()
    if missing := {"Data", "Path"} - set(names):
        raise FileProblem(path, f"the signals Y have no {' and no '.join(sorted(missing))}", remedy="export again")
    signals: list[_Signal] = []
    devices: dict[str, int] = {}
    for place, entry in enumerate(entries):
        device = _text(entry["Device"]) if "Device" in names else ""
        samples = _vector(path, f"Y({place + 1})", entry)
        order = devices.setdefault(device, len(devices))
        stated = np.ravel(entry["XIndex"]) if "XIndex" in names else np.empty(0)
        axis = int(stated[0]) - 1 if stated.size else _axis_of_device(order, len(samples), axes)
        if not 0 <= axis < len(axes):
            raise FileProblem(path, f"Y({place + 1}) belongs to X({axis + 1}), but there are {len(axes)} entries of X")
        label = _text(entry["Path"])
        name = label.partition("/")[2] or (_text(entry["Name"]) if "Name" in names else "") or label
        signals.append(_Signal(name, device, samples, axis))
    # ControlDesk also stores parameters, single values that have no time of their own.
    return [signal for signal in signals if len(signal.samples) > 1 or len(axes[signal.axis]) <= 1]


def _axis_of_device(order: int, length: int, axes: Sequence[Array]) -> int:
    """The authors' rule where no XIndex says it: X(1), X(3), ... per device, else the axis of that length."""
    if 2 * order < len(axes):
        return 2 * order
    return min(range(len(axes)), key=lambda axis: abs(len(axes[axis]) - length), default=0)


def _channels(path: Path, signals: Sequence[_Signal], axes: Sequence[Array]) -> dict[str, Channel]:
    if not signals:
        raise FileProblem(path, "the capture holds no signals", remedy="check what was recorded")
    clocks = {axis: _clock(path, axis, axes[axis], signals) for axis in dict.fromkeys(s.axis for s in signals)}
    counts: dict[str, int] = {}
    for signal in signals:
        counts[signal.name] = counts.get(signal.name, 0) + 1
    channels: dict[str, Channel] = {}
    for signal in signals:
        name = signal.name if counts[signal.name] == 1 else f"{signal.device}/{signal.name}"
        if name in channels:
            raise FileProblem(path, f"the signal {name!r} is stored twice", remedy="remove one of them in ControlDesk")
        clock = clocks[signal.axis]
        unit, frame = _quantity(signal.name)
        channels[name] = Channel(name, signal.samples[: len(clock)], clock, unit, frame)
    return channels


def _clock(path: Path, axis: int, times_s: Array, signals: Sequence[_Signal]) -> Clock:
    mine = [signal for signal in signals if signal.axis == axis]
    shared = {signal.axis for signal in signals if signal.device == mine[0].device}
    name = mine[0].device or "capture"
    length = min(len(times_s), *(len(signal.samples) for signal in mine))
    return clock_of(path, name if len(shared) == 1 else f"{name} X({axis + 1})", times_s[:length])


def _quantity(name: str) -> tuple[str, str]:
    """Unit and frame by the name's last part: Fx.. is a force, Tx.. a moment, both in the sensor frame."""
    last = name.rsplit("/", 1)[-1]
    if re.match(r"F[xyz](?![a-z])", last):
        return "N", "sensor"
    if re.match(r"T[xyz](?![a-z])", last):
        return "N m", "sensor"
    return "1", ""


def _entries(value: Struct) -> Struct:
    return np.ravel(value)


def _vector(path: Path, what: str, entry: Struct) -> Array:
    try:
        return np.ravel(np.asarray(entry["Data"], dtype=np.float64))
    except (ValueError, TypeError, IndexError):
        raise FileProblem(path, f"{what} has no numbers in its field Data", remedy="export again") from None


def _text(value: Struct) -> str:
    return str(np.ravel(value)[0]) if np.size(value) else ""


def _labels(path: Path, channel: Channel) -> tuple[str, str, str]:
    if channel.samples.ndim != 1:
        raise FileProblem(path, f"channel {channel.name!r} has three components and has no place in {NAME}")
    device = channel.clock.name
    name = channel.name.removeprefix(f"{device}/")
    return name, device, f"Labels/{name}"


def _struct_array(fields: Sequence[str], rows: Iterable[tuple[object, ...]]) -> Struct:
    entries = list(rows)
    array = np.empty((1, len(entries)), dtype=[(field, object) for field in fields])
    for place, entry in enumerate(entries):
        array[0, place] = entry
    return array


def _variable(path: Path) -> str:
    """A MATLAB variable name made from the file's."""
    word = re.sub(r"\W", "_", path.stem, flags=re.ASCII)[:63]
    return word if word[:1].isalpha() else f"x{word}"[:63]
