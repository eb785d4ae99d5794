"""The paper's objects as its authors recorded them: for the experiments that ship with palpate, and for `reproduce`.

Without a seed the truth is the paper's Table, made realisable where rounding broke it; with one it is random.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from palpate.experiment import read_experiment, shipped_experiments
from palpate.experiment.paper.choices import HANDLES, PAPER
from palpate.experiment.paper.reproduce import TRUTH_FILE, recordings_in
from palpate.files import write_text
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import PHI_NAMES, is_consistent, nearest_consistent
from palpate.twin import door, handle, rolling
from palpate.twin.instruments import RATE_HZ, DeviceClock, write_recordings, write_truth
from palpate.twin.person import Session

_SECONDS, _G = 125.0, 9.81
PAPER_SESSION = Session(
    0.01 * (1058 + 900 - 1), 5.5, 54.73, blocks=(("train", 48.1), ("test", 32.95), ("train", 8.72)), tail_s=5.0
)
"""The authors' window begins with Vicon frame 1058 + 900, and frame 1 is time zero (FORMATS, Door)."""
PAPER_FLOOR_M = -0.0095
"""Height of the floor in the authors' capture: its zero is the centre of a marker on the floor."""
_FIRST = 1008
_WINDOWS = {
    "train": ((1879, 4883),),
    "test": ((6000, 7755), (9265, 11646), (12422, 14345), (15713, 17817), (18586, 20859)),
}
"""The authors' segments: sample k of their window is Vicon frame 1008 + k (FORMATS, Wheelbarrow)."""


def paper_handle_twin(name: str, seed: int | None, *, motion_seed: int) -> handle.HandleTwin:
    """The handle of this name in the authors' session; motion_seed: draws its motion and noise."""
    rng, first = np.random.default_rng([motion_seed, 2]), HANDLES[name].window.first
    row = {n: printed.value for n, printed in PAPER[name].parameters.items()}
    phi = np.array([row["m"], *(row["m"] * row[n] for n in ("c_x", "c_y", "c_z")), *(row[n] for n in PHI_NAMES[4:])])
    phi = phi if is_consistent(phi) else nearest_consistent(phi)  # the Table's numbers are rounded
    phi = phi if seed is None else handle.random_handle(rng)
    hand, load_cell_minus_imu_s = handle.random_hand(rng, _SECONDS, _G), (first["wrench"] - first["imu"]) / RATE_HZ
    return handle.HandleTwin(phi, hand, _SECONDS, load_cell_minus_imu_s, motion_seed, _G)


def paper_door_twin(phi: FloatArray, *, seed: int | None = None) -> door.DoorTwin:
    """The paper's door with a handle of this phi in the authors' session; with a seed, other values on the same links
    and zones.
    """
    rng = None if seed is None else np.random.default_rng([seed, 24])
    # samples of one instant: Vicon 1058, load cell 2082, IMU 787, each decimated to 100 Hz (FORMATS, Door)
    clocks = [DeviceClock(0.01 * (first - 1058), 0.0) for first in (787, 2082)]
    return door.dress_door(_heavy(door.paper_door(rng)), phi, seed or 0, PAPER_SESSION, clocks)


def paper_wheelbarrow_twin(phi: FloatArray, *, seed: int | None = None) -> rolling.RollingTwin:
    """The paper's wheelbarrow with handles of this phi in the authors' session; with a seed, another one on the same
    wheel.
    """
    rng = np.random.default_rng([seed or 0, 34])
    barrow = rolling.paper_barrow() if seed is None else rolling.random_barrow(rng, radius=rolling.PAPER_RADIUS)
    # samples of one instant: Vicon 1008, load cells 2005, IMU 1439, each decimated to 100 Hz (FORMATS, Wheelbarrow)
    clocks = [DeviceClock(0.01 * (first - _FIRST), 0.0) for first in (1439, 2005)]
    spans = [(name, 0.01 * (_FIRST + a - 1), 0.01 * (_FIRST + b - 1)) for name, w in _WINDOWS.items() for a, b in w]
    segments = [rolling.Segment(n, a, b, rolling.mixture(rng, 5 if n == "train" else 3)) for n, a, b in spans]
    return replace(rolling.dress_rolling(_heavy(barrow), phi, seed or 0, segments, clocks), floor_m=PAPER_FLOOR_M)


def write_paper_handle(folder: Path, *, name: str, seed: int | None = None) -> Path:
    """The handle with its truth in truth.json; returns the experiment file."""
    write_truth(folder / "truth.json", _write(folder, name, seed))
    return write_shipped_experiment(folder, name, "truth.json")


def write_paper_body(folder: Path, *, name: str, seed: int | None = None) -> Path:
    """Door or wheelbarrow, its truth in NAME-truth.json and its handle's in truth.json; returns the experiment file."""
    write_paper_handle(folder, name=f"{name}-handle", seed=seed)
    phi = _phi(json.loads((folder / "truth.json").read_text(encoding="utf-8")))
    write_truth(folder / f"{name}-truth.json", _write(folder, name, seed, phi))
    return write_shipped_experiment(folder, name, f"{name}-truth.json")


def write_any(folder: Path, *, name: str, seed: int | None = None, poor: bool = False) -> Path:
    """A random object with a seed; without one the paper's door or wheelbarrow, or a typical one of another kind.

    `poor`: a door that is recorded only while it opens, a wheelbarrow that is only ever pushed.
    """
    if name in _RELATED:
        return rolling.write_rolling_twin(folder, _RELATED[name](seed))
    if seed is None and not poor:
        return write_paper_body(folder, name=name)
    if name == "door":
        return door.write_door_twin(folder, door.door_twin(seed or 0, one_way=poor))
    return rolling.write_rolling_twin(folder, rolling.wheelbarrow_twin(seed or 0, poor=poor))


_RELATED = {"wheelbarrow-planar": rolling.planar_twin, "hand-truck": rolling.hand_truck_twin}


def write_authors_twin(folder: Path, *, seed: int | None = None) -> Path:
    """door/, handles/ and wheelbarrow/ as in nate-baum/large-objects-sys-id, for `palpate reproduce`; returns `folder`.

    The truth is in palpate-truth.json, which no real copy has.
    """
    truth: dict[str, Any] = {}
    for number, name in enumerate(HANDLES):  # each moved in its own way
        truth[name] = _write(folder, name, seed, motion_seed=2 * (seed or 0) + number)
    for name in ("door", "wheelbarrow"):
        truth[name] = _write(folder, name, seed, _phi(truth[f"{name}-handle"]), dt=1e-3)
    truth = {name: {"palpate_truth": 1, **one} for name, one in truth.items()}
    write_truth(folder / TRUTH_FILE, {"experiments": truth})
    for name in truth:
        read_experiment(name, data=folder)
    return folder


def write_shipped_experiment(folder: Path, name: str, truth: str) -> Path:
    """A shipped experiment beside the recordings of its twin, with the truth as a reference; returns its path.

    It names the handle's experiment that lies beside it instead of the shipped one, so that what is changed there
    counts.
    """
    source = shipped_experiments()[name]
    text = source.read_text(encoding="utf-8").replace(
        "\nreference:\n  label: paper\n", f"\nreference:\n- {{label: truth, file: {truth}}}\n- label: paper\n"
    )
    text = re.sub(r"\nhandle: ([a-z-]+) +# ships with palpate", r"\nhandle: \1.yaml  # beside this file", text)
    write_text(folder / source.name, text)
    read_experiment(folder / source.name)
    return folder / source.name


def _write(
    folder: Path,
    name: str,
    seed: int | None,
    phi: FloatArray | None = None,
    *,
    motion_seed: int | None = None,
    dt: float = door.DT_S,
) -> dict[str, Any]:
    """Record a paper's object under the names that its shipped experiment gives the files; returns the truth.

    phi: of the handle on a body. dt (s): the step of a door's simulation.
    """
    if phi is None:
        twin = paper_handle_twin(name, seed, motion_seed=(seed or 0) if motion_seed is None else motion_seed)
        *recordings, truth = handle.handle_recordings(twin)
        keys = ("wrench", "imu")
    elif name == "door":
        opened = paper_door_twin(phi, seed=seed)
        *recordings, truth = door.door_recordings(opened, door.simulate_door(opened, dt=dt))
        keys = ("mocap", "static", "wrench", "imu")
    else:
        *recordings, truth = rolling.rolling_recordings(paper_wheelbarrow_twin(phi, seed=seed))
        keys = ("mocap", "wrench", "imu")
    files = recordings_in(name)
    write_recordings(folder, {files[key]["file"]: r for key, r in zip(keys, recordings, strict=True)}, g=_G)
    return truth


def _heavy(model: Model) -> Model:
    """With the authors' gravity."""
    return replace(model, mechanism=replace(model.mechanism, gravity=_G))


def _phi(truth: dict[str, Any]) -> FloatArray:
    return np.array([truth["phi"][name] for name in PHI_NAMES])
