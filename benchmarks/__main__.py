"""Run the benchmarks and print their tables; what docs/tour.md shows is this output.

`python -m benchmarks engine` leaves out what runs from files to reports, which takes minutes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"  # one thread for everybody, before NumPy is imported

from benchmarks import door_variants, end_to_end, handle_solve, markers, runtime, studio, vicon  # noqa: E402
from benchmarks.timing import interleaved  # noqa: E402


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print("| " + " | ".join(headings) + " |\n" + "|---" * len(headings) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def main() -> None:
    table(handle_solve.HEADINGS, handle_solve.rows())
    ratio = handle_solve.replicate_ratio()
    print(f"A bootstrap replicate is {ratio:.0f} times cheaper than the refit with differences (27 s).")
    print()
    table(markers.HEADINGS, markers.rows())
    table(vicon.HEADINGS, vicon.rows())
    table(door_variants.HEADINGS, door_variants.rows())
    table(runtime.HEADINGS, runtime.rows())
    table(studio.HEADINGS, studio.rows())
    if "engine" in sys.argv:
        return
    table(end_to_end.HEADINGS, end_to_end.rows())
    cold = end_to_end.cold_start()
    print(
        f"`palpate identify` of a small table begins after {cold['first step']:.1f} times `import numpy, scipy.linalg` "
        f"and has read and prepared it after {cold['fit']:.1f}.\n"
    )
    help_ = [sys.executable, "-c", "import sys; sys.argv = ['palpate', '--help']; from palpate.cli import main; main()"]
    numpy = [sys.executable, "-c", "import numpy"]
    times = interleaved(
        {
            name: lambda c=c: subprocess.run(c, stdout=subprocess.DEVNULL, check=True)
            for name, c in (("help", help_), ("numpy", numpy))
        },
        5,
    )
    print(f"`palpate --help` takes {times['help'] / times['numpy']:.1f} times as long as `import numpy`.")


if __name__ == "__main__":
    main()
