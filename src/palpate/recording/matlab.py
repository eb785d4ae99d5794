"""MATLAB files of all versions as one kind of value: variables as SciPy gives them, 7.3 (HDF5) ones included."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palpate.errors import FileProblem, PalpateError
from palpate.recording.extras import library
from palpate.recording.signature import MATLAB_5, head_of, kind, wrong_format

MatArray = NDArray[Any]
KINDS = ("dspace-mat", "mat")


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
    found = np.empty(np.shape(references), dtype=object)
    for place, reference in np.ndenumerate(references):
        found[place] = _value(file, file[reference])
    return found


def _class(item: Any) -> str:
    value = item.attrs.get("MATLAB_class", b"")
    return value.decode() if isinstance(value, bytes) else str(value)
