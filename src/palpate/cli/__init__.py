"""The command line."""

from __future__ import annotations

import os


def main() -> None:
    """Entry point of `palpate`."""
    # Our matrices are small: threads of a BLAS only get in each other's way. Must be said before NumPy is imported.
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    from palpate.cli.app import app

    app()
