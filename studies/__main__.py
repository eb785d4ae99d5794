"""Run the studies: python -m studies [number of seeds]."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
from studies import handles

STUDIES: dict[str, ModuleType] = {"handles": handles}


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    folder = Path(__file__).resolve().parents[1] / "docs" / "studies"
    folder.mkdir(parents=True, exist_ok=True)
    for name, study in STUDIES.items():
        print(f"{study.TITLE}: {count} seeds ...", flush=True)
        text = study.table(study.run(range(count), workers=os.cpu_count() or 1))
        (folder / f"{name}.md").write_text(
            f"# {study.TITLE}\n\nMade by `make study`; do not edit.\n\n{text}\n", encoding="utf-8"
        )
        print(text)


if __name__ == "__main__":
    main()
