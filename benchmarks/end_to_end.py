"""Files to result.json and report, against a plain script that reads the same files: CPU, memory, errors, cold start.

Every run is a process of its own; CPU seconds and peak memory are what the kernel says of it and its children.
"""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from palpate.experiment import read_experiment
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import phi_from_mass_properties
from palpate.physics.motion import Motion
from palpate.twin import instruments as tools
from palpate.twin.door import door_twin, paper_door, write_door_twin
from palpate.twin.handle import HandleTwin, HandMotion, handle_recordings, off_by, random_hand, random_handle
from palpate.twin.person import Session
from palpate.twin.rolling import wheelbarrow_twin, write_rolling_twin
from tests.drawer_files import write_table

SCRIPT = Path(__file__).with_name("plain_script.py")
HEADINGS = (
    "files to result and report",
    "recorded",
    "files",
    "palpate, CPU",
    "script, CPU",
    "ratio",
    "palpate, peak memory",
    "limit: 400 MB + 2 files",
    "script, peak memory",
    "median error: palpate",
    "script",
)
MOST_MB, FILES = 400.0, 2.0
"""Bound of the peak memory: so much, and so many times the size of the files."""
_CHUNK = 100_000


@dataclass(frozen=True, slots=True)
class Run:
    """What one process took."""

    cpu_s: float
    peak_mb: float


class LongHand(HandMotion):
    """The same motion, computed piece by piece: an hour of sines at once would not fit into memory."""

    def motion(self, t: FloatArray) -> Motion:
        parts = [super(LongHand, self).motion(x) for x in np.array_split(t, max(1, len(t) // _CHUNK))]
        signals = ("specific_acceleration", "omega", "omega_dot")
        return Motion(t, *(np.concatenate([getattr(p, name) for p in parts]) for name in signals))


def write_handle(folder: Path, seconds: float, seed: int = 7) -> Path:
    """A handle of the usual kind, shaken for so long; nine tenths to fit, the rest to test."""
    rng = np.random.default_rng([seed, 0])
    phi, hand = random_handle(rng), random_hand(rng, seconds, 9.80665)
    parts = (getattr(hand, name) for name in ("amplitude", "frequency", "phase", "begin_s", "end_s", "gravity"))
    twin = HandleTwin(phi, LongHand(*parts), seconds, float(rng.uniform(-2.0, 3.0)), seed)
    fill = {"imu_pose": tools.imu_pose_text(), "prior": tools.prior_text(off_by(rng, phi, 0.2), 0.2)}
    cell, imu, truth = handle_recordings(twin)
    path = tools.write_twin(
        folder, {"wrench.mat": cell, "imu.csv": imu}, truth, "handle.yaml", "handle", fill, g=twin.g
    )
    split = round(6 + 0.68 * (seconds - 13))
    text = path.read_text().replace("[6, 44]", f"[6, {split}]").replace("[45, 63]", f"[{split + 1}, {seconds - 7:g}]")
    path.write_text(text)
    return path


def write_door(folder: Path, seconds: float) -> Path:
    """A door with the paper's links and zones."""
    session = Session()
    rest = seconds - (session.duration_s - sum(s for _, s in session.blocks))
    whole = sum(s for _, s in session.blocks)
    blocks = tuple((name, round(s * rest / whole, 1)) for name, s in session.blocks)
    return write_door_twin(folder, door_twin(3, session=replace(session, blocks=blocks), draw=paper_door))


CASES: Mapping[str, tuple[str, str, Callable[[Path], Path]]] = {
    "handle": ("handle", "70 s", lambda folder: write_handle(folder, 70.0)),
    "door": ("door", "154 s", lambda folder: write_door(folder, Session().duration_s)),
    "wheelbarrow": ("wheelbarrow", "", lambda folder: write_rolling_twin(folder, wheelbarrow_twin(3))),
    "10-minute door": ("door", "600 s", lambda folder: write_door(folder, 600.0)),
    "1-hour handle": ("handle", "3600 s", lambda folder: write_handle(folder, 3600.0)),
}


def settings_of(path: Path) -> dict[str, Any]:
    """What the script needs to know of an experiment file: geometry, files, segments."""
    c = read_experiment(path).config
    prior = c.prior
    said: dict[str, Any] = {
        "wrench": c.recordings.wrench.file,
        "imu": c.recordings.imu.file,
        "g": c.recordings.imu.g or 9.80665,
        "train": [*(c.segments.quasi_static or ()), *c.segments.train],
    }
    if prior is not None:
        said["prior"] = phi_from_mass_properties(prior.mass, prior.com, np.array(prior.inertia_com)).tolist()
    if c.stage == "handle":
        return said | {"imu_rotation": c.imu_pose.rotation, "imu_translation": c.imu_pose.translation}
    m, offset = c.markers, c.markers.sensor.offset
    said |= {
        "markers": c.recordings.mocap.file,
        "static_segment": c.segments.static,
        "gravity": c.gravity,
        "offset": np.column_stack([offset.rotation, offset.translation]).tolist(),
    }
    of_handle = settings_of(path.parent / c.handle)
    folder = Path(c.handle).parent
    said["handle"] = of_handle | {k: str(folder / of_handle[k]) for k in ("wrench", "imu")}
    if m.hinge is not None:
        linkage = c.mechanism["linkage"]
        said |= {"static": c.recordings.static.file, "body": m.body, "axis": m.hinge.axis, "towards": m.hinge.towards}
        return said | {"sensor": m.sensor.markers, "lengths": linkage["lengths"]}
    said |= {"axle": m.axle.axle, "across": m.axle.across, "radius": m.axle.radius, "mass": c.known_mass.value}
    return said | {"sensors": [m.sensor.markers, m.sensor_2.markers]}


def measured(command: list[str]) -> Run:
    """CPU seconds (user and system) and peak memory of a command that must succeed, or fail a gate only."""
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    # Python keeps byte code unless told not to: whoever runs a command twice does not compile it again
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | threads
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 3):
        raise SystemExit(f"{' '.join(command)} failed")
    return Run(used.ru_utime + used.ru_stime, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6)


def error(values: Mapping[str, float], truth: Mapping[str, float]) -> float:
    """Median over the parameters of the object: deviation over the truth; of centres of mass and inertias over the
    body's size. Powers of a spring, which trade off, do not count.
    """
    size = {name: abs(v) for name, v in truth.items()}
    for kind in (("c_x", "c_y", "c_z"), ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")):
        if kind[0] in truth:
            size |= dict.fromkeys(kind, math.hypot(*(truth[n] for n in kind)))
    counted = [n for n in values if n in truth and n[:4] != "bias" and n not in ("c_0", "c_1", "c_2", "c_3")]
    return float(np.median([abs(values[n] - truth[n]) / size[n] for n in counted]))


def compared(folder: Path, kind: str, path: Path) -> tuple[Run, Run, float, float]:
    """Both on one experiment: what they took, and their errors."""
    (folder / "settings.json").write_text(json.dumps(settings_of(path), default=list))
    ours = [sys.executable, "-m", "palpate", "identify", str(path), "-o", str(folder / "out"), "-q"]
    theirs = [sys.executable, str(SCRIPT), kind, str(folder / "settings.json"), str(folder / "script")]
    palpate, script = measured(ours), measured(theirs)
    truth = {n: e["value"] for n, e in json.loads((folder / "truth.json").read_text())["parameters"].items()}
    entries = json.loads((folder / "out" / "result.json").read_text())["parameters"]
    values = {n: e["value"] for n, e in entries.items() if e["value"] is not None}
    with (folder / "script" / "results.csv").open() as file:
        found = {row["name"]: float(row["value"]) for row in csv.DictReader(file)}
    return palpate, script, error(values, truth), error(found, truth)


def write_apart(name: str, folder: Path) -> None:
    """In a process of its own: the kernel counts a parent's memory as a child's peak."""
    subprocess.run([sys.executable, "-m", "benchmarks.end_to_end", "write", name, str(folder)], check=True)


def rows(names: tuple[str, ...] = tuple(CASES), where: Path | None = None) -> Iterator[tuple[str, ...]]:
    """Table rows; where: keep and re-use the recordings there."""
    with tempfile.TemporaryDirectory() as temporary:
        for name in names:
            kind, length, _ = CASES[name]
            folder = (where or Path(temporary)) / name.replace(" ", "-")
            files = [folder / f for f in ("body.yaml", "handle.yaml")]
            if not any(p.exists() for p in files):
                write_apart(name, folder)
            path = next(p for p in files if p.exists())
            data = [p for p in folder.rglob("*") if p.suffix in (".csv", ".mat") and "out" not in p.parts]
            size = sum(p.stat().st_size for p in data if p.parent.name != "script") / 1e6
            if name == names[0]:
                compared(folder, kind, path)  # byte code of both is there from now on
            palpate, script, our_error, their_error = compared(folder, kind, path)
            yield (
                name,
                length or f"{max(b for _, b in read_experiment(path).config.segments.test):.0f} s",
                f"{size:.0f} MB",
                f"{palpate.cpu_s:.1f} s",
                f"{script.cpu_s:.1f} s",
                f"{palpate.cpu_s / script.cpu_s:.2f}",
                f"{palpate.peak_mb:.0f} MB",
                f"{MOST_MB + FILES * size:.0f} MB",
                f"{script.peak_mb:.0f} MB",
                f"{100 * our_error:.2g} %",
                f"{100 * their_error:.2g} %",
            )


def cold_start(rounds: int = 5) -> dict[str, float]:
    """CPU seconds of `palpate identify` of a small table until its first step and until its fit, over those of
    `import numpy, scipy.linalg`; the least of some rounds each.
    """
    until = (
        "import os, sys; from palpate.cli import console, main\n"
        "console.Steps.__call__ = lambda _, step, __: os._exit(0) if step.startswith({!r}) else None\nmain()"
    )
    with tempfile.TemporaryDirectory() as folder:
        table = str(write_table(Path(folder)))
        arguments = ["identify", table, "-o", f"{folder}/out"]
        commands = {
            "imports": ["-c", "import numpy, scipy.linalg"],
            "first step": ["-c", until.format(""), *arguments],
            "fit": ["-c", until.format("compressing"), *arguments],
        }
        turns = [{name: measured([sys.executable, *c]).cpu_s for name, c in commands.items()} for _ in range(rounds)]
    least = {name: min(turn[name] for turn in turns) for name in commands}
    return {name: least[name] / least["imports"] for name in ("first step", "fit")}


if __name__ == "__main__" and sys.argv[1] == "write":
    CASES[sys.argv[2]][2](Path(sys.argv[3]))
elif __name__ == "__main__":
    chosen = tuple(sys.argv[2:]) or tuple(CASES)
    for line in chain([HEADINGS], rows(chosen, Path(sys.argv[1]))):
        print(" | ".join(line), flush=True)
