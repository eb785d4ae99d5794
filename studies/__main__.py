"""Run the studies: python -m studies [name] [number of seeds]."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
from studies import (
    derivatives,
    doors,
    energy,
    handles,
    information,
    misfits,
    motion,
    objects,
    priors,
    series,
    turns,
    variants,
    wheelbarrows,
)

STUDIES: dict[str, ModuleType] = {
    "handles": handles,
    "motion": motion,
    "derivatives": derivatives,
    "doors": doors,
    "variants": variants,
    "wheelbarrows": wheelbarrows,
    "energy": energy,
    "misfits": misfits,
    "information": information,
    "objects": objects,
    "priors": priors,
    "turns": turns,
    "series": series,
}
SEEDS = {
    "handles": 200,
    "motion": 100,
    "derivatives": 40,
    "doors": 30,
    "variants": 30,
    "wheelbarrows": 30,
    "energy": 100,
    "misfits": 20,
    "information": 30,
    "objects": 20,
    "priors": 100,
    "turns": 80,
    "series": 12,
}


def main() -> None:
    names = [word for word in sys.argv[1:] if not word.isdigit()] or list(STUDIES)
    counts = [int(word) for word in sys.argv[1:] if word.isdigit()]
    folder = Path(__file__).resolve().parents[1] / "docs" / "studies"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        study, count = STUDIES[name], counts[0] if counts else SEEDS[name]
        print(f"{study.TITLE}: {count} seeds ...", flush=True)
        text = study.table(study.run(range(count), workers=os.cpu_count() or 1))
        (folder / f"{name}.md").write_text(
            f"# {study.TITLE}\n\nMade by `make study`; do not edit.\n\n{text}\n", encoding="utf-8"
        )
        print(text)


if __name__ == "__main__":
    main()
