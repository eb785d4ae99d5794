"""MATLAB variables: vectors and matrices with a vector of times or a rate, also as the fields of structs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palpate.errors import FileProblem, PalpateError
from palpate.files import replacing
from palpate.recording.arrays import Stored, is_rate, recording_of
from palpate.recording.recording import Recording
from palpate.recording.signature import MATLAB_5, head_of, kind, library, wrong_format
from palpate.recording.table import ColumnLike
from palpate.recording.text import time_name

NAME = "mat"
_UNITS = "units"
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
MatArray = NDArray[Any]
KINDS = ("dspace-mat", "mat")


def read(
    path: str | Path,
    *,
    columns: Mapping[str, ColumnLike] | None = None,
    time: ColumnLike | None = None,
    rate: float | None = None,
) -> Recording:
    """Read the variables that are signals, or those that `columns` maps; the fields of a struct s are "s/field".

    Time is a variable named time, t, ..., or constant steps at a rate in Hz: the option's, or a single number named
    rate, fs, SampleRate, ActualRate, ... Units come from a struct `units` with fields of the same names.
    """
    path = Path(path)
    variables = load_variables(path, NAME)
    units = _texts(variables.get(_UNITS))
    arrays = {name: value for top, content in variables.items() for name, value in _flat(top, content)}
    rates = [float(value.ravel()[0]) for name, value in arrays.items() if value.size == 1 and is_rate(_last(name))]
    stated = rates[0] if len(set(rates)) == 1 else None
    stored = [
        Stored(name, np.squeeze(value, axis=1) if value.ndim == 2 and len(value.T) == 1 else value,
               units.get(name, ""), rate_hz=stated)
        for name, value in arrays.items()
        if value.size > 1 and value.ndim <= 2
    ]  # fmt: skip
    stated_by_user = columns is not None or time is not None or rate is not None
    if not stated_by_user and any({"X", "Y"} <= set(value.dtype.names or ()) for value in variables.values()):
        raise FileProblem(path, "this is a ControlDesk capture", remedy="read it with format='dspace-mat'")
    return recording_of(path, NAME, stored, columns, time, rate)


def write(path: str | Path, recording: Recording) -> None:
    """Write the channels of one clock as variables beside `time` in s, with their units in the struct `units`."""
    from scipy.io import savemat

    path = Path(path)
    for name in recording:
        if not _WORD.fullmatch(name) or time_name(name) is not None or name == _UNITS:
            raise FileProblem(
                path, f"{name!r} cannot name a variable beside time and units", remedy="rename the channel"
            )
    content: dict[str, Any] = {"time": recording.one_clock().times_s}
    content |= {name: channel.samples for name, channel in recording.channels.items()}
    content[_UNITS] = {name: channel.unit for name, channel in recording.channels.items()}
    with replacing(path) as temporary:
        savemat(temporary, content, do_compression=True, appendmat=False, oned_as="column", long_field_names=True)


def _flat(name: str, value: MatArray) -> list[tuple[str, MatArray]]:
    """Arrays of numbers by name; a single struct is opened, lists of structs and cells hold no signals."""
    if value.dtype.names:
        if value.size != 1 or name == _UNITS:
            return []
        one = value.reshape(-1)[0]
        return [part for field in value.dtype.names for part in _flat(f"{name}/{field}", np.asarray(one[field]))]
    return [(name, value)] if value.dtype.kind in "iufb" else []


def _texts(struct: MatArray | None) -> dict[str, str]:
    """The fields of a struct of texts."""
    if struct is None or not struct.dtype.names or struct.size != 1:
        return {}
    one = struct.reshape(-1)[0]
    return {name: str(np.ravel(one[name])[0]) for name in struct.dtype.names if np.size(one[name])}


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def load_variables(path: Path, wanted: str) -> dict[str, MatArray]:
    """Every variable (rows, columns): numbers, texts, structs with named fields, cells as objects.

    `wanted` is the format's name for the error about a file that is none of MATLAB's.
    """
    head = head_of(path)
    if kind(head, path) not in KINDS:
        raise wrong_format(path, head, wanted)
    try:
        return _load_5(path) if head.startswith(MATLAB_5) else _load_73(path)
    except PalpateError:
        raise
    except Exception as error:
        raise FileProblem(
            path,
            f"the file is damaged or cut off ({type(error).__name__}: {error})",
            remedy="copy or export it again",
        ) from error


def _load_5(path: Path) -> dict[str, MatArray]:
    from scipy.io import loadmat

    with warnings.catch_warnings():
        # SciPy only warns about a variable that it cannot read, and stores the message in its place.
        warnings.simplefilter("error")
        content = loadmat(path, appendmat=False)
    return {name: value for name, value in content.items() if not name.startswith("__")}


def _load_73(path: Path) -> dict[str, MatArray]:
    h5py = library("h5py", "reading MATLAB 7.3 files")
    with h5py.File(path, "r") as file:
        return {name: _value(file, file[name]) for name in file if not str(name).startswith("#")}


def _value(file: Any, item: Any) -> MatArray:
    """One variable or field; MATLAB stores columns first, h5py reads rows first."""
    if hasattr(item, "keys"):
        return _struct(file, item)
    if item.attrs.get("MATLAB_empty"):
        return np.empty((0, 0))
    values = item[()]
    matlab_class = _class(item)
    if item.dtype.kind == "O":
        return _each(file, values).T
    if matlab_class == "char":
        return np.array(["".join(chr(code) for code in row) for row in np.atleast_2d(values.T)])
    return np.asarray(values).T


def _struct(file: Any, group: Any) -> MatArray:
    """A struct is a group of its fields; an array of structs a group of arrays of references, one per field."""
    fields: dict[str, Any] = {name: group[name] for name in group}
    several = [item for item in fields.values() if not hasattr(item, "keys") and _is_references(item)]
    if several and len(several) == len(fields):
        parts = {name: _each(file, item[()]).T for name, item in fields.items()}
        array = np.empty(next(iter(parts.values())).shape, dtype=[(name, object) for name in fields])
        for name, values in parts.items():
            array[name] = values
        return array
    array = np.empty((1, 1), dtype=[(name, object) for name in fields])
    for name, item in fields.items():
        array[name][0, 0] = _value(file, item)
    return array


def _is_references(item: Any) -> bool:
    """Whether a field belongs to an array of structs: it holds references, and is no cell of its own."""
    return item.dtype.kind == "O" and _class(item) != "cell"


def _each(file: Any, references: Any) -> MatArray:
    values = np.empty(np.shape(references), dtype=object)
    for place, reference in np.ndenumerate(references):
        values[place] = _value(file, file[reference])
    return values


def _class(item: Any) -> str:
    value = item.attrs.get("MATLAB_class", b"")
    return value.decode() if isinstance(value, bytes) else str(value)
