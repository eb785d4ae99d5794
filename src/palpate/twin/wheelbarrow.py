"""A simulated wheelbarrow experiment in the authors' formats, with the truth beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from palpate.experiment import shipped_experiments
from palpate.files import write_text
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import PHI_NAMES
from palpate.physics.so3 import exp_rotation
from palpate.twin.capture import DeviceClock
from palpate.twin.handle import random_handle, write_handle_twin, write_own_experiment, write_paper_twin
from palpate.twin.instruments import Instruments
from palpate.twin.wheelbarrow_files import experiment_text, wheelbarrow_recordings, write_recordings
from palpate.twin.wheelbarrow_instruments import WheelbarrowTwin
from palpate.twin.wheelbarrow_models import PAPER_RADIUS, WHEELBARROW, Build, paper_barrow, random_barrow
from palpate.twin.wheelbarrow_motion import KINDS, Kind, Segment, random_wheeling
from palpate.twin.wheelbarrow_physics import Barrow, Habits

__all__ = [
    "dress",
    "paper_wheelbarrow_twin",
    "random_segments",
    "wheelbarrow_recordings",
    "wheelbarrow_twin",
    "write_any_wheelbarrow_twin",
    "write_paper_recordings",
    "write_paper_wheelbarrow_twin",
    "write_wheelbarrow_twin",
]
PAPER_FLOOR_M = -0.0095
"""Of the floor in the authors' capture: its zero is the centre of a marker on the floor."""
SPREAD = 0.3
_PUSHED = (("train", 8.0, 42.0), ("test", 48.0, 64.0))
_GENTLE, _STILL = 0.4, 0.05
"""Shares of the accelerations meant, and of what yaw, camber and pitch sway, where it is only pushed."""
_TAIL_S = 4.0
_FIRST = 1008
_WINDOWS = {
    "train": ((1879, 4883),),
    "test": ((6000, 7755), (9265, 11646), (12422, 14345), (15713, 17817), (18586, 20859)),
}
"""The authors' segments: sample k of their window is Vicon frame 1008 + k (FORMATS, Wheelbarrow)."""


def wheelbarrow_twin(
    seed: int,
    *,
    segments: Sequence[Segment] | None = None,
    vigour: float = 1.0,
    tilt_deg: float = 0.1,
    wheel_inertia: float = 0.0,
    instruments: Instruments | None = None,
    poor: bool = False,
) -> WheelbarrowTwin:
    """A random wheelbarrow; its handles are that of `write_handle_twin(seed=seed)`.

    vigour: a factor of the accelerations. tilt_deg: of the capture frame against floor and gravity. wheel_inertia: the
    wheel's own about its axle, kg m2. poor: only pushed straight ahead and back, gently; handles and lean are kept
    still.
    """
    build = WHEELBARROW
    if poor:
        segments = segments or tuple(Segment(name, a, b, ("push",)) for name, a, b in _PUSHED)
        build, vigour = replace(build, manner=build.manner.held(_STILL)), _GENTLE * vigour
    rng = np.random.default_rng([seed, 30])
    barrow = replace(random_barrow(rng), wheel_inertia=wheel_inertia)
    clocks = [DeviceClock(float(rng.uniform(low, 4.0)), float(rng.uniform(-60, 60))) for low in (-2.0, 0.3)]
    phi = random_handle(np.random.default_rng([seed, 0]))
    spans = segments or random_segments(rng)
    twin = dress(barrow, phi, seed, spans, clocks, build=build, vigour=vigour, tilt_deg=tilt_deg)
    return replace(twin, instruments=instruments or Instruments())


def paper_wheelbarrow_twin(phi: FloatArray, *, seed: int | None = None) -> WheelbarrowTwin:
    """The paper's Table in the authors' session; with a seed, another wheelbarrow on the same wheel."""
    rng = np.random.default_rng([seed or 0, 34])
    barrow = paper_barrow() if seed is None else random_barrow(rng, radius=PAPER_RADIUS)
    # samples of one instant: Vicon 1008, load cells 2005, IMU 1439, each decimated to 100 Hz (FORMATS, Wheelbarrow)
    clocks = [DeviceClock(0.01 * (first - _FIRST), 0.0) for first in (1439, 2005)]
    segments = [
        Segment(name, 0.01 * (_FIRST + a - 1), 0.01 * (_FIRST + b - 1), _mix(rng, 5 if name == "train" else 3))
        for name, windows in _WINDOWS.items()
        for a, b in windows
    ]
    twin = dress(barrow, phi, seed or 0, segments, clocks, tilt_deg=0.1)
    return replace(twin, floor_m=PAPER_FLOOR_M, gravity=9.81)


def dress(
    barrow: Barrow,
    phi: FloatArray,
    seed: int,
    segments: Sequence[Segment],
    clocks: Sequence[DeviceClock],
    *,
    build: Build = WHEELBARROW,
    vigour: float = 1.0,
    tilt_deg: float = 0.0,
) -> WheelbarrowTwin:
    """A given object with sensors, markers and a person; clocks: of IMU and load cells."""
    rng = np.random.default_rng([seed, 31])
    sides = build.sensors(rng)
    direction = rng.uniform(0, 2 * np.pi)
    tilt = np.radians(tilt_deg) * np.array([np.cos(direction), np.sin(direction), 0.0])
    habits = Habits(float(rng.uniform(0.0, 0.3)), float(rng.uniform(0, 6)), float(rng.uniform(3, 7)), seed)
    wheeling = random_wheeling(
        rng, segments, standing=barrow.standing, radius=barrow.radius, manner=build.manner, vigour=vigour
    )
    return WheelbarrowTwin(
        barrow=barrow,
        handle=phi,
        sides=sides,
        habits=habits,
        wheeling=wheeling,
        places=build.places(rng, barrow, sides),
        duration_s=max(s.end_s for s in segments) + _TAIL_S,
        R_capture_world=exp_rotation(tilt),
        imu=clocks[0],
        load_cell=clocks[1],
        seed=seed,
        build=build,
    )


def random_segments(rng: np.random.Generator, kinds: tuple[Kind, ...] = KINDS) -> tuple[Segment, ...]:
    """A train segment with all kinds of motion, and three test segments with other mixtures."""
    spans = (("train", 8.0, 42.0, 5), ("test", 48.0, 64.0, 4), ("test", 69.0, 81.0, 1), ("test", 86.0, 100.0, 3))
    return tuple(Segment(name, a, b, _mix(rng, count, kinds)) for name, a, b, count in spans)


def write_wheelbarrow_twin(
    folder: Path,
    *,
    seed: int = 0,
    poor: bool = False,
    spread: float = SPREAD,
    tilt_deg: float = 0.1,
    wheel_inertia: float = 0.0,
    segments: Sequence[Segment] | None = None,
    instruments: Instruments | None = None,
) -> Path:
    """A random wheelbarrow: recordings, handle/ with the handles' own experiment, body.yaml, truth.json; returns
    body.yaml.

    `poor`: see `wheelbarrow_twin`. spread: by which fraction the drawing is off, as it declares.
    """
    twin = wheelbarrow_twin(
        seed,
        segments=segments,
        tilt_deg=tilt_deg,
        wheel_inertia=wheel_inertia,
        instruments=instruments,
        poor=poor,
    )
    write_recordings(folder, twin, ("WB Trajectories.csv", "wrench.mat", "imu.csv", "truth.json"))
    write_handle_twin(folder / "handle", seed=seed)
    write_text(folder / "body.yaml", experiment_text(twin, spread))
    return folder / "body.yaml"


def write_any_wheelbarrow_twin(folder: Path, *, seed: int | None = None, poor: bool = False) -> Path:
    """The paper's wheelbarrow in its authors' layout without a seed, a random one with it; `poor`: only ever pushed."""
    if seed is None and not poor:
        return write_paper_wheelbarrow_twin(folder)
    return write_wheelbarrow_twin(folder, seed=seed or 0, poor=poor)


def write_paper_wheelbarrow_twin(folder: Path, *, seed: int | None = None) -> Path:
    """The wheelbarrow in the authors' layout, so that the experiment file that ships with palpate runs on it.

    Without a seed the truth is the paper's Table, the handles' as well. Its truth is wheelbarrow-truth.json.
    """
    source = shipped_experiments()["wheelbarrow"]
    write_paper_twin(folder, "wheelbarrow-handle", seed=seed)
    handle = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    write_paper_recordings(folder, np.array([handle["phi"][name] for name in PHI_NAMES]), seed=seed)
    return write_own_experiment(folder, source, "wheelbarrow-truth.json")


def write_paper_recordings(folder: Path, phi: FloatArray, *, seed: int | None = None) -> None:
    """wheelbarrow/data/ as the authors have it, with handles of these phi, and wheelbarrow-truth.json."""
    data = "wheelbarrow/data"
    names = (f"{data}/WB Trajectories.csv", f"{data}/exp1_039.mat", f"{data}/WB_Object_IMU.csv")
    write_recordings(folder, paper_wheelbarrow_twin(phi, seed=seed), (*names, "wheelbarrow-truth.json"))


def _mix(rng: np.random.Generator, count: int, kinds: tuple[Kind, ...] = KINDS) -> tuple[Kind, ...]:
    """Of four: all kinds in any order; of more: and then everything at once; of fewer, some; one alone is everything
    at once.
    """
    order: list[Kind] = [kinds[i] for i in rng.permutation(len(kinds))]
    return (*order,) if count == 4 else (*order[: count - 1], "mixed")
