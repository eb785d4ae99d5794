"""MATLAB variables: vectors and matrices with a vector of times or a rate, also as the fields of structs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import FileProblem
from palpate.files import replacing
from palpate.recording.arrays import Stored, is_rate, recording_of
from palpate.recording.matlab import MatArray, load_variables
from palpate.recording.recording import Recording
from palpate.recording.signature import kind
from palpate.recording.table import ColumnLike
from palpate.recording.times import time_name

NAME = "mat"
_UNITS = "units"
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")


def recognises(head: bytes, path: Path) -> bool:
    """Whether the file is MATLAB's and does not begin with a struct, as ControlDesk's captures do."""
    return kind(head, path) == NAME


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
    told = columns is not None or time is not None or rate is not None
    if not told and any({"X", "Y"} <= set(value.dtype.names or ()) for value in variables.values()):
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
