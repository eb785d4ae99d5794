"""Run the benchmarks and print their tables."""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"  # one thread for everybody, before NumPy is imported

from benchmarks import handle_solve  # noqa: E402


def main() -> None:
    print("| " + " | ".join(handle_solve.HEADINGS) + " |\n" + "|---" * len(handle_solve.HEADINGS) + "|")
    for row in handle_solve.rows():
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
