"""HDF5: datasets (n,) or (n, k) with attributes; a group is an instrument with its own time.

The layout, which most loggers' files fit:

- a numeric dataset is a signal; the fields of a compound dataset are signals of a group of that name;
- its time is the dataset named time, t, timestamp, ... in its group or the nearest one above (attribute `units`,
  default s; counts beyond 1e15 are ns), else the attribute `rate` (sample_rate, fs, ...) in Hz of itself or of a
  group above;
- the attribute `units` (unit) is the unit, or a list of those of k columns; `frame` is the frame, `labels` (columns,
  names) the names of k columns, `vector` says that three columns are one vector in any case.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

import numpy as np

from palpate.recording.formats import check_kind, head_of, library, refusing_damage
from palpate.recording.recording import Recording
from palpate.recording.table import Stored, TableOptions, is_rate, recording_of

NAME = "hdf5"
_UNIT, _LABELS = ("units", "unit"), ("labels", "columns", "names", "channels")
_NUMBERS = "iufb"


def read(path: Path, **options: Unpack[TableOptions]) -> Recording:
    """Read all signals, or those that `columns` maps to channels: {"Fx": {"column": "ft/wrench.1", "unit": "N"}}."""
    check_kind(path, head_of(path), NAME)
    h5py = library("h5py", "reading HDF5 files")
    stored: list[Stored] = []
    with refusing_damage(path), h5py.File(path, "r") as file:
        _walk(stored, "", file)
    return recording_of(path, NAME, stored, options)


def _walk(stored: list[Stored], prefix: str, group: Any) -> None:
    """Collect what a group and those below hold; links that lead nowhere are left out."""
    for name in group:
        item: Any = group.get(name)
        if hasattr(item, "keys"):
            if prefix.count("/") < 20:  # groups may contain themselves by links; nobody nests so deep on purpose
                _walk(stored, f"{prefix}{name}/", item)
        elif item is not None:
            _collect(stored, f"{prefix}{name}", item)


def _collect(stored: list[Stored], name: str, item: Any) -> None:
    """Add a dataset of numbers, or the fields of a compound one, to what is stored."""
    dtype = getattr(item, "dtype", None)
    if dtype is None or item.ndim > 2:
        return
    attributes = {str(key).lower(): value for key, value in item.attrs.items()}
    units = next((_words(attributes[name]) for name in _UNIT if name in attributes), list[str]())
    whole = np.asarray(item[()]) if dtype.names or dtype.kind in _NUMBERS else np.empty(0)
    # A compound dataset may state the units of all its fields, in their order.
    per_field = units if dtype.names and len(units) == len(dtype.names) else [""] * len(dtype.names or ())
    fields = [(f"{name}/{field}", whole[field], unit) for field, unit in zip(dtype.names or (), per_field, strict=True)]
    if dtype.kind in _NUMBERS:
        fields = [(name, whole, units[0] if units else "")]
    for full, values, unit in fields:
        if values.dtype.kind in _NUMBERS and values.ndim <= 2:
            frame = next(iter(_words(attributes.get("frame", ""))), "")
            labels = next((tuple(_words(attributes[key])) for key in _LABELS if key in attributes), ())
            vector = bool(attributes.get("vector", False))
            each = tuple(units) if values.ndim == 2 and len(units) == len(values.T) > 1 else ()
            stored.append(Stored(full, values, unit, frame, labels, each, _rate(item), vector))


def _rate(item: Any) -> float | None:
    """The rate in Hz of a dataset or of the nearest group above that states one."""
    while True:
        for key, value in item.attrs.items():
            if is_rate(str(key)) and np.size(value) == 1:
                return float(np.ravel(value)[0])
        if item.name == "/":
            return None
        item = item.parent


def _words(value: Any) -> list[str]:
    """Texts of an attribute, which may be one or an array, in bytes or not."""
    items: list[Any] = [value] if isinstance(value, str | bytes) else np.ravel(value).tolist()
    return [item.decode(errors="replace") if isinstance(item, bytes) else str(item) for item in items]
