"""LAPACK's routines for banded matrices, of SciPy, without the rest of `scipy.linalg`.

That package imports NumPy's tools for tests and for Fortran too, which takes longer than a short recording to fit.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import scipy


@lru_cache(maxsize=1)
def lapack() -> Any:
    """SciPy's module of LAPACK's routines by their names: `dpbtrf`, `dtbtrs`, `dpttrf`, `dpttrs`, ..."""
    spec = PathFinder.find_spec("_flapack", [str(Path(folder) / "linalg") for folder in scipy.__path__])
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        with suppress(ImportError):
            spec.loader.exec_module(module)
            return module
    return import_module("scipy.linalg.lapack")  # of a SciPy that keeps it elsewhere, or not by itself
