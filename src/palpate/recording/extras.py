"""Optional libraries, imported where a file needs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from palpate.errors import MissingExtra

_EXTRAS = {"ezc3d": "c3d", "h5py": "hdf5", "rosbags": "ros"}


def library(module: str, purpose: str) -> Any:
    """A module of an optional library, or the line that installs it; `purpose` is "reading C3D files"."""
    name = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(name, _EXTRAS[name], purpose) from None
