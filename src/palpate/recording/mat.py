"""MATLAB files: variables with times or a rate, also as fields of structs; and dSPACE ControlDesk's captures.

A capture is one struct with time axes X and signals Y, each with its device and path.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from palpate.errors import FileProblem, UnknownName
from palpate.files import replacing
from palpate.recording.formats import MATLAB_5, check_kind, head_of, library, refusing_damage
from palpate.recording.matlab5 import NotPlainError, read_plain
from palpate.recording.recording import Array, Clock, Recording
from palpate.recording.table import Stored, TableOptions, is_rate, recording_of
from palpate.recording.text import clock_of

NAME, DSPACE = "mat", "dspace-mat"
_UNITS = "units"


def read(path: Path, **options: Unpack[TableOptions]) -> Recording:
    """Read the variables that are signals, or those that `columns` maps; the fields of a struct s are "s/field".

    Time is a variable named time, t, ..., or constant steps at a rate in Hz: the option's, or a single number named
    rate, fs, SampleRate, ActualRate, ... Units come from a struct `units` with fields of the same names.
    """
    variables = load_variables(path, NAME)
    if not options and any(map(_is_capture, variables.values())):
        raise FileProblem(path, "this is a ControlDesk capture", remedy="read it with format='dspace-mat'")
    units: dict[str, Any] = next(iter(_structs(variables.pop(_UNITS, None))), dict[str, Any]())
    arrays = {name: value for top, content in variables.items() for name, value in _flat(top, content)}
    rates = {float(value) for name, value in arrays.items() if value.ndim == 0 and is_rate(_last(name))}
    stated = rates.pop() if len(rates) == 1 else None
    stored = [
        Stored(name, value, str(units.get(name, "")), rate_hz=stated)
        for name, value in arrays.items()
        if value.size > 1 and value.ndim <= 2
    ]
    return recording_of(path, NAME, stored, options)


def _flat(name: str, value: Any) -> list[tuple[str, NDArray[Any]]]:
    """Arrays of numbers by name; a single struct is opened, lists of structs and cells hold no signals."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return [part for field, content in fields for part in _flat(f"{name}/{field}", content)]
    if isinstance(value, list):
        return []
    return [(name, array)] if (array := np.asarray(value)).dtype.kind in "iufb" else []


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def load_variables(path: Path, wanted: str) -> dict[str, Any]:
    """Every variable: numbers without axes of length one, texts, structs as dictionaries, several of them as a list.

    `wanted` is the format's name for the error about a file that is none of MATLAB's.
    """
    head = head_of(path)
    check_kind(path, head, wanted, NAME, DSPACE)
    if not head.startswith(MATLAB_5):
        h5py = library("h5py", "reading MATLAB 7.3 files")
        with refusing_damage(path), h5py.File(path, "r") as file:
            return {name: _value(file, file[name]) for name in file if not str(name).startswith("#")}
    with suppress(NotPlainError):
        return read_plain(path)
    from scipy.io import loadmat

    with refusing_damage(path), warnings.catch_warnings():
        # SciPy only warns about a variable that it cannot read, and stores the message in its place.
        warnings.simplefilter("error")
        content = loadmat(path, appendmat=False, simplify_cells=True)
    return {name: value for name, value in content.items() if not name.startswith("__")}


def _value(file: Any, item: Any) -> Any:
    """One variable or field, as SciPy gives those of older files; MATLAB stores columns first, h5py reads rows first.

    A struct is a group of its fields; an array of structs a group of arrays of references, one per field.
    """
    if hasattr(item, "keys"):
        fields: dict[str, Any] = dict(item.items())
        if not fields or any(hasattr(p, "keys") or p.dtype.kind != "O" or _class(p) == "cell" for p in fields.values()):
            return {name: _value(file, part) for name, part in fields.items()}
        rows = zip(*(_each(file, part) for part in fields.values()), strict=True)
        return [dict(zip(fields, row, strict=True)) for row in rows]
    if item.dtype.kind == "O":
        return _each(file, item)
    values = np.squeeze(np.empty((0, 0)) if item.attrs.get("MATLAB_empty") else np.asarray(item[()]).T)
    return "".join(map(chr, cast("list[int]", values.ravel().tolist()))) if _class(item) == "char" else values


def _each(file: Any, references: Any) -> list[Any]:
    return [_value(file, file[reference]) for reference in np.ravel(references[()].T)]


def _class(item: Any) -> str:
    value = item.attrs.get("MATLAB_class", b"")
    return value.decode() if isinstance(value, bytes) else str(value)


@dataclass(frozen=True, slots=True)
class _Signal:
    """One entry of Y: where it came from, its samples (n,), and the zero-based entry of X it belongs to."""

    name: str
    device: str
    samples: Array
    axis: int


def read_dspace(path: Path, *, device: str | None = None) -> Recording:
    """Read the signals of all devices, or of one; F.. in N and T.. in N m get the frame "sensor".

    A signal keeps its stored sign. Signals of one time axis are cut to the shortest of them.
    """
    variables = load_variables(path, DSPACE)
    capture = next(filter(_is_capture, variables.values()), None)
    if capture is None:
        raise FileProblem(
            path,
            f"there is no ControlDesk capture (a struct with X and Y), only {', '.join(variables) or 'nothing'}",
            remedy="export the measurement from ControlDesk as .mat, or read plain variables with format='mat'",
        )
    axes = [_vector(path, "X", entry) for entry in _structs(capture["X"])]
    signals = _signals(path, _structs(capture["Y"]), axes)
    if device is not None:
        devices = dict.fromkeys(signal.device for signal in signals)
        if device not in devices:
            raise UnknownName("device", device, devices, where=str(path))
        signals = [signal for signal in signals if signal.device == device]
    if not signals:
        raise FileProblem(path, "the capture holds no signals", remedy="check what was recorded")
    stored, clocks = dict[str, Stored](), dict[str, Clock]()
    for signal in signals:
        same = [s for s in signals if (s.device, s.axis) == (signal.device, signal.axis)]
        alone = len(same) == sum(s.device == signal.device for s in signals)
        group = (signal.device or "capture") + ("" if alone else f" X({signal.axis + 1})")
        if group not in clocks:
            length = min(len(axes[signal.axis]), *(len(s.samples) for s in same))
            clocks[group] = clock_of(path, group, axes[signal.axis][:length])
        name, clock = f"{group}/{signal.name}", clocks[group]
        if name in stored:
            raise FileProblem(path, f"the signal {name!r} is stored twice", remedy="remove one of them in ControlDesk")
        # by the name's last part: Fx.. is a force, Tx.. a moment, both in the sensor frame
        quantity = re.match(r"([FT])[xyz](?![a-z])", _last(signal.name))
        unit, frame = ("", "") if quantity is None else ({"F": "N", "T": "N m"}[quantity[1]], "sensor")
        stored[name] = Stored(name, signal.samples[: len(clock)], unit, frame, clock=clock)
    return recording_of(path, DSPACE, list(stored.values()), {})


def write_dspace(path: str | Path, recording: Recording) -> None:
    """Write scalar channels as ControlDesk does: one device per clock, times of device k in X(2k - 1)."""
    from scipy.io import savemat

    path, clocks = Path(path), recording.clocks
    # The authors' files hold a further axis after each device's own: the second device's times are X(3).
    axes = [clock for clock in clocks for _ in range(2)][: 2 * len(clocks) - 1]
    x = [("time", clock.name, clock.times_s[None, :]) for clock in axes]
    y: list[tuple[Any, ...]] = []
    for channel in recording.channels.values():
        name = channel.name.removeprefix(f"{channel.clock.name}/")
        index = 2.0 * clocks.index(channel.clock) + 1.0
        y.append((name, channel.clock.name, f"Labels/{name}", index, channel.samples[None, :]))
    # A MATLAB variable is named after the file.
    word = re.sub(r"\W", "_", path.stem, flags=re.ASCII)[:63]
    struct = {
        "X": np.array([x], dtype=[(field, object) for field in ("Name", "Device", "Data")]),
        "Y": np.array([y], dtype=[(field, object) for field in ("Name", "Device", "Path", "XIndex", "Data")]),
    }
    content = {word if word[:1].isalpha() else f"x{word}"[:63]: struct}
    with replacing(path) as temporary:
        savemat(temporary, content, do_compression=True, appendmat=False, oned_as="row", long_field_names=True)


def _is_capture(variable: Any) -> bool:
    return isinstance(variable, dict) and {"X", "Y"} <= cast("dict[str, Any]", variable).keys()


def _structs(value: Any) -> list[dict[str, Any]]:
    """One struct or several."""
    several = cast("list[Any]", value if isinstance(value, list) else [value])
    return [entry for entry in several if isinstance(entry, dict)]


def _signals(path: Path, entries: Sequence[dict[str, Any]], axes: Sequence[Array]) -> list[_Signal]:
    signals: list[_Signal] = []
    devices: dict[str, int] = {}
    for place, entry in enumerate(entries):
        if missing := {"Data", "Path"} - entry.keys():
            raise FileProblem(path, f"the signals Y have no {' and no '.join(sorted(missing))}", remedy="export again")
        texts = {key: text for key, text in entry.items() if isinstance(text, str)}  # an empty one is no text to SciPy
        device, label, title = (texts.get(key, "") for key in ("Device", "Path", "Name"))
        samples = _vector(path, f"Y({place + 1})", entry)
        order = devices.setdefault(device, len(devices))
        stated = np.ravel(entry.get("XIndex", ()))
        # the authors' rule where no XIndex says it: X(1), X(3), ... per device, else the axis of that length
        away = [abs(len(times) - len(samples)) for times in axes] or [0]
        axis = int(stated[0]) - 1 if stated.size else 2 * order if 2 * order < len(axes) else away.index(min(away))
        if not 0 <= axis < len(axes):
            raise FileProblem(path, f"Y({place + 1}) belongs to X({axis + 1}), but there are {len(axes)} entries of X")
        signals.append(_Signal(label.partition("/")[2] or title or label, device, samples, axis))
    # ControlDesk also stores parameters, single values that have no time of their own.
    return [signal for signal in signals if len(signal.samples) > 1 or len(axes[signal.axis]) <= 1]


def _vector(path: Path, what: str, entry: Mapping[str, Any]) -> Array:
    try:
        return np.ravel(np.asarray(entry["Data"], dtype=np.float64))
    except (ValueError, TypeError, KeyError):
        raise FileProblem(path, f"{what} has no numbers in its field Data", remedy="export again") from None
