"""Reading a Vicon file as long as the door's against the csv module."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from csv import reader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import interleaved
from palpate.recording import Channel, Clock, Recording, load
from palpate.recording.instruments import write_vicon as write

FRAMES, MARKERS, HIDDEN = 15_400, 20, 0.05
HEADER_LINES = 5
HEADINGS = ("Vicon CSV", "palpate.load", "csv module: times slower", "times the bare read")


def door(path: Path) -> None:
    """Markers of a moving door at 100 Hz, some of them hidden, as the door's file has them."""
    rng = np.random.default_rng(0)
    clock = Clock("Trajectories", np.arange(FRAMES) / 100)
    swing = np.sin(clock.times_s[:, None] * rng.uniform(0.5, 2, 3))
    channels: dict[str, Channel] = {}
    for k in range(MARKERS):
        xyz = rng.uniform(-1, 2, 3) + swing * rng.uniform(0.1, 1, 3) + rng.normal(size=(FRAMES, 3)) * 3e-4
        xyz[rng.random(FRAMES) < HIDDEN] = np.nan
        channels[f"Door:M{k}"] = Channel(f"Door:M{k}", xyz, clock, "m", "capture")
    write(path, Recording(channels))


def plainly(path: Path) -> NDArray[np.float64]:
    """The rival: rows of the csv module, each cell converted, one array of metres (frames, markers, 3)."""
    with path.open(newline="") as text:
        rows = reader(text)
        for _ in range(HEADER_LINES):
            next(rows)
        numbers = np.array([[float(cell) if cell else np.nan for cell in row] for row in rows])
    return numbers[:, 2:].reshape(len(numbers), -1, 3) * 1e-3


def ours(path: Path) -> NDArray[np.float64]:
    return np.stack([channel.samples for channel in load(path).channels.values()], axis=1)


def rows() -> Iterator[tuple[str, ...]]:
    """One table row: size, our time, ratios to the rival and to reading bytes; the numbers must be the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Trajectories.csv"
        door(path)
        np.testing.assert_allclose(ours(path), plainly(path), rtol=1e-12)
        times = interleaved({"ours": lambda: load(path), "csv": lambda: plainly(path), "bytes": path.read_bytes}, 12)
        yield (
            f"{FRAMES} frames, {MARKERS} markers, {path.stat().st_size / 1e6:.1f} MB",
            f"{1e3 * times['ours']:.0f} ms",
            f"{times['csv'] / times['ours']:.1f}",
            f"{times['ours'] / times['bytes']:.0f}",
        )
