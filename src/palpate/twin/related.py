"""Simulated experiments with what is related to the wheelbarrow: one that goes straight, and a hand truck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from palpate.files import write_text
from palpate.physics.arrays import FloatArray
from palpate.twin.capture import DeviceClock
from palpate.twin.hand_truck_models import ONE_HANDLE, TWO_HANDLES, random_truck, typical_truck
from palpate.twin.handle import random_handle, write_handle_twin
from palpate.twin.wheelbarrow import dress, random_segments
from palpate.twin.wheelbarrow_files import experiment_text, write_recordings
from palpate.twin.wheelbarrow_instruments import WheelbarrowTwin
from palpate.twin.wheelbarrow_models import (
    LAYOUT_OF_ONE,
    WHEELBARROW,
    Build,
    middle_sensor,
    paper_barrow,
    places_with_one,
    random_barrow,
)
from palpate.twin.wheelbarrow_motion import Segment
from palpate.twin.wheelbarrow_physics import Barrow

SWAY = 0.5
"""Of a person who pays attention; yaw then strays by a degree, camber by a few tenths."""


def planar_twin(
    seed: int | None = None,
    *,
    sensors: int = 2,
    sway: float = SWAY,
    segments: Sequence[Segment] | None = None,
    vigour: float = 1.0,
) -> WheelbarrowTwin:
    """A wheelbarrow that is pushed straight ahead, pulled back and lifted; without a seed, the paper's.

    sway: how much is left of the sway of a person who does not care; 0, a guide keeps it straight and upright.
    vigour: a factor of the accelerations.
    """
    build = replace(WHEELBARROW, object="wheelbarrow-planar", kinds=("push", "lift"))
    if sensors == 1:
        build = replace(build, layout=LAYOUT_OF_ONE, sensors=middle_sensor, places=places_with_one)
    build = replace(build, manner=build.manner.straight(sway))
    rng = np.random.default_rng([seed or 0, 40])
    barrow = paper_barrow() if seed is None else random_barrow(rng)
    barrow = replace(barrow, b_psi=0.0, moves="planar", guided=sway == 0)
    return _dressed(rng, barrow, build, seed or 0, segments, vigour)


def hand_truck_twin(
    seed: int | None = None, *, sensors: int = 1, segments: Sequence[Segment] | None = None, vigour: float = 1.0
) -> WheelbarrowTwin:
    """A hand truck that is pushed, tilted and turned; without a seed, a typical one.

    sensors: one load cell behind a bar that both hands hold, or one for each hand. vigour: a factor of the
    accelerations.
    """
    rng = np.random.default_rng([seed or 0, 50])
    truck = typical_truck() if seed is None else random_truck(rng)
    return _dressed(rng, truck, ONE_HANDLE if sensors == 1 else TWO_HANDLES, seed or 0, segments, vigour)


def write_related_twin(
    folder: Path, twin: WheelbarrowTwin, *, spread: float | None = None, handle: bool = True
) -> Path:
    """Recordings, handle/ with the handle's own experiment unless that is not wanted, body.yaml, truth.json; returns
    body.yaml.

    spread: by which fraction a drawing is off, as it declares; None: there is no drawing.
    """
    markers = f"{twin.build.layout.subject} Trajectories.csv"
    write_recordings(folder, twin, (markers, "wrench.mat", "imu.csv", "truth.json"))
    if handle:
        write_handle_twin(folder / "handle", seed=twin.seed)
    write_text(folder / "body.yaml", experiment_text(twin, spread, markers))
    return folder / "body.yaml"


def write_planar_twin(folder: Path, *, seed: int | None = None) -> Path:
    """A wheelbarrow in a plane; what that does not show has no drawing either."""
    return write_related_twin(folder, planar_twin(seed))


def write_hand_truck_twin(folder: Path, *, seed: int | None = None) -> Path:
    """A hand truck with one load cell, and no drawing."""
    return write_related_twin(folder, hand_truck_twin(seed))


def _dressed(
    rng: np.random.Generator,
    barrow: Barrow,
    build: Build,
    seed: int,
    segments: Sequence[Segment] | None,
    vigour: float,
) -> WheelbarrowTwin:
    """With the handle of `write_handle_twin(seed=seed)`."""
    clocks = [DeviceClock(float(rng.uniform(low, 4.0)), float(rng.uniform(-60, 60))) for low in (-2.0, 0.3)]
    phi: FloatArray = random_handle(np.random.default_rng([seed, 0]))
    spans = segments or random_segments(rng, build.kinds)
    return dress(barrow, phi, seed, spans, clocks, build=build, vigour=vigour, tilt_deg=0.1)
