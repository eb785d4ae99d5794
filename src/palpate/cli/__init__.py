"""The command line."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress


def main() -> None:
    """Entry point of `palpate`."""
    # Our matrices are small: threads of a BLAS only get in each other's way. Must be said before NumPy is imported.
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    # Huge pages are cleared whole, also where an array fills a part of one: half a second of an hour's recording.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
    _keep_memory()
    from palpate.cli.app import app

    try:
        app()
    finally:
        # Rings of objects go with the process: looking for them in all that is left takes a tenth of a run. The price:
        # what is left in a ring is not finalised (`__del__`), also of the user's parts, which run in this process; what
        # must be done at the end belongs in `with` or `atexit`, which still work.
        gc.freeze()


def _keep_memory() -> None:
    """Memory of arrays that come and go by the thousand stays with the process instead of being cleared and mapped
    again each time, and rings of objects, of which there are few, are looked for seldom or never.

    Clearing and looking take a tenth of a door's time. The price: freed memory, up to 1 GB, stays with the
    process, and so do rings. glibc's mallopt(3): top pad, trim and mmap thresholds, in bytes.
    """
    gc.set_threshold(1_000_000, 20, 20)
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError):  # another C library
            mallopt = ctypes.CDLL(None).mallopt
            for parameter, size in ((-2, 1 << 26), (-1, 1 << 30), (-3, 1 << 25)):
                mallopt(parameter, size)
