"""A model as C99 in a folder: model.h, model.c, and how long a step takes here."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from palpate.export.c_source import CSource, c_source
from palpate.export.compiling import compile_c, find_compiler
from palpate.export.exported import NO_LIMIT, Export
from palpate.files import check_folder, write_text
from palpate.model import Model
from palpate.physics.arrays import FloatArray


def export_c(
    model: Model, folder: str | Path, *, dt: float = 1e-3, wrench_limit: Sequence[float] | FloatArray | None = None
) -> Export:
    """Write `model.h` and `model.c`: the model with a fixed step `dt` (s), in C99 that needs nothing but math.h.

    `wrench_limit`: the sensor's range (N, N m), six positive numbers; beyond it a step reports SATURATED. The
    parameters are a struct and may change at run time; NAME_init refuses impossible ones.
    """
    folder = Path(folder)
    check_folder(folder)
    found = c_source(model, dt, wrench_limit=wrench_limit)
    notes = _notes(found)
    paths = (folder / "model.h", folder / "model.c")
    for path, text in zip(paths, (found.header, found.source), strict=True):
        write_text(path, text)
    return Export(paths, found.left_out, notes if wrench_limit is not None else (*notes, NO_LIMIT))


def step_times(source: CSource) -> tuple[float, float, float] | None:
    """Average, 99.9 % and worst time of a step on this machine, microseconds; None where nothing compiles it."""
    compiler = find_compiler()
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in (("model.h", source.header), ("model.c", source.source), ("timing.c", source.timing)):
            (folder / file).write_text(text, encoding="utf-8")
        compile_c(compiler, [folder / "model.c", folder / "timing.c"], folder / "timing")
        done = subprocess.run([folder / "timing"], capture_output=True, text=True, check=True)
    average, most, worst = (float(x) for x in done.stdout.split())
    return average, most, worst


def _notes(source: CSource) -> tuple[str, ...]:
    build = "build: cc -std=c99 -O2 -c model.c (link with -lm)"
    try:
        times = step_times(source)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return build, f"the step was not timed: {error}"
    if times is None:
        return build, "the step was not timed: there is no C compiler here (sudo apt-get install gcc)"
    average, most, worst = times
    return build, (
        f"a step takes {average:.2f} us on average, 99.9 % of 200 000 below {most:.2f} us, {worst:.0f} us at worst"
        " (with what the operating system did meanwhile)"
    )
