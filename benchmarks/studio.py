"""From a dragged border to new numbers in the studio, against fitting from scratch: ten minutes of a door."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.door_variants import TRUTH, ZONES, swings
from benchmarks.timing import interleaved
from palpate.experiment import read_experiment
from palpate.experiment.run import fit_prepared, prepare_experiment
from palpate.experiment.stage.quick import quick
from palpate.identify.balance import Segment
from palpate.identify.shapes import with_shapes
from palpate.model import load_object
from palpate.physics.functions import ARRAYS
from palpate.studio.answers import numbers_of

SECONDS, RATE_HZ, NOISE_RAD, NOISE_NM = 600.0, 250.0, 2e-4, 0.1
HEADINGS = ("a border dragged, ten minutes of a door at 250 Hz", "CPU", "times the answer (limit: 100 ms)")
FILE = """object: door
stage: body
recordings:
  signals:
    file: door.csv
    time: {column: t, unit: s}
    columns: {q: {column: q, unit: rad}, n: {column: n, unit: N m}}
    angle: q
    torque: n
segments: {static: [0.5, 9.5], train: [12, 400], test: [402, 598]}
"""


def write_door(folder: Path) -> Path:
    """A door opened and closed again and again, still and shut for the first ten seconds."""
    rng = np.random.default_rng(0)
    model = with_shapes(load_object("door"), ZONES)
    t = np.arange(0, SECONDS, 1 / RATE_HZ)
    moving = t > 10.0
    path = np.stack(swings(rng, t[moving] - 10.0))
    path[0] -= path[0, 0]
    q = np.zeros((3, len(t)))
    q[:, moving] = path
    motion = model.mechanism.motion(t, q[:2].T, q[2][:, None])
    torque = np.array(model.with_values(TRUTH).wrench(model.mechanism.observe(motion), ARRAYS)[0]) * moving
    columns = {"t": t, "q": q[0] + rng.normal(0, NOISE_RAD, len(t)), "n": torque + rng.normal(0, NOISE_NM, len(t))}
    pl.DataFrame(columns).write_csv(folder / "door.csv")
    (folder / "door.yaml").write_text(FILE, encoding="utf-8")
    return folder / "door.yaml"


def rows() -> Iterator[tuple[str, str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        experiment = read_experiment(write_door(Path(folder)))
        prepared = prepare_experiment(experiment)
        fit = fit_prepared(experiment, prepared)
        kept, at = quick(fit), 12.0

        def dragged() -> dict[str, list[Segment]]:
            nonlocal at
            at = at + 0.37 if at < 60.0 else 12.0
            return {**prepared.segments, "train": [(at, 400.0)]}

        def answer() -> str:
            segments = dragged()
            return json.dumps(numbers_of(kept, kept.solved(segments), segments, {}))

        times = interleaved(
            {
                "the studio's answer, as JSON": answer,
                "the same fit from the prepared recording": lambda: fit_prepared(
                    experiment, replace(prepared, segments=dragged(), begun=None)
                ),
                "reading, preparing and fitting": lambda: fit_prepared(experiment, prepare_experiment(experiment)),
            },
            3,
        )
    mine = next(iter(times.values()))
    for name, took in times.items():
        yield name, f"{1e3 * took:.0f} ms", f"{took / mine:.0f}"
