"""A short simulated wheelbarrow session in the authors' formats, for tests of its body stage."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from palpate.elements import WheelSpin
from palpate.model import load_object
from palpate.recording import Recording
from palpate.recording.instruments import write_vicon
from palpate.recording.mat import write_dspace
from palpate.twin.instruments import CAPTURE_HZ, T_MARKER, DeviceClock
from palpate.twin.rolling import (
    WHEELBARROW,
    Kind,
    RollingTwin,
    Segment,
    pushes,
    rolling_recordings,
    wheelbarrow_twin,
)
from tests.oracles.rolling_newton import kinematics, momentum_rate

SEED = 5
TRAIN, TEST = (4.0, 15.0), (18.0, 22.0)
TOGETHER = "clocks: {mocap: 1, wrench: 1}"
"""Instead of clocks: auto, where the search for them is not what is tested."""


def _names(numbers: tuple[int, ...]) -> str:
    return f"[{', '.join(f'WB_ID{i}' for i in numbers)}]"


def body_yaml(mass: float, radius: float) -> str:
    """The experiment file."""
    offset = f"{{rotation: {T_MARKER[:3, :3].tolist()}, translation: {T_MARKER[:3, 3].tolist()}}}"
    across = ", ".join(_names(pair) for pair in WHEELBARROW.across)
    return f"""\
palpate: 1
object: wheelbarrow
stage: body
recordings:
  mocap: {{file: Trajectories.csv}}
  wrench: {{file: wrench.mat, device: Platform}}
  wrench_2: {{file: wrench.mat, device: Platform_2}}
markers:
  axle: {{axle: {_names(WHEELBARROW.axle)}, across: [{across}], radius: {radius} m}}
  sensor: {{markers: {_names(WHEELBARROW.sensors[0])}, offset: {offset}}}
  sensor_2: {{markers: {_names(WHEELBARROW.sensors[1])}, offset: {offset}}}
  feet: {_names(WHEELBARROW.feet)}
handle: handle.json
clocks: auto
known_mass: {{value: {mass} kg, of: body}}
segments: {{static: [0.2, 2.0], train: [{TRAIN[0]}, {TRAIN[1]}], test: [{TEST[0]}, {TEST[1]}]}}
"""


@cache
def _recorded(wheel_inertia: float, poor: bool) -> tuple[RollingTwin, Recording, Recording, dict[str, Any]]:
    """Fifteen seconds of all kinds of motion on one clock, with a put-down in between; simulated once."""
    kinds: tuple[Kind, ...] = ("push",) if poor else ("push", "roll", "scrub", "lift", "mixed")
    spans = (Segment("train", *TRAIN, kinds), Segment("test", *TEST, kinds[-1:]))
    twin = spinning(wheelbarrow_twin(SEED, segments=spans, poor=poor), wheel_inertia)
    together = DeviceClock(0.0, 0.0)
    twin = replace(twin, imu=together, load_cell=together, R_capture_world=np.eye(3))
    markers, cells, _, truth = rolling_recordings(twin)
    return twin, markers, cells, truth


def spinning(twin: RollingTwin, wheel_inertia: float) -> RollingTwin:
    """The same object with a wheel that has spin inertia, kg m2."""
    if not wheel_inertia:
        return twin
    elements = (*twin.model.elements, WheelSpin(radius=twin.wheel.radius))
    values = {**twin.model.values, "I_w": wheel_inertia}
    return replace(twin, model=replace(twin.model, elements=elements, values=values))


def at_contact(twin: RollingTwin, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(samples, 6) of both hands and of the ground, in axes of the contact frame about its origin."""
    k = kinematics(twin.wheeling.path(t), twin.wheel.radius)
    hands = np.zeros((len(t), 6))
    for wrench, place in zip(pushes(twin, t), twin.r_body_sensor, strict=True):
        force, moment = (np.einsum("nij,nj->ni", k.R_contact_body, w) for w in (wrench[:, :3], wrench[:, 3:]))
        arm = k.R_contact_body @ place + [0.0, 0.0, twin.wheel.radius]
        hands += np.hstack([force, moment + np.cross(arm, force)])
    spin = twin.model.values.get("I_w", 0.0)
    return hands, momentum_rate(twin.model.p[:10], twin.wheel.radius, k, twin.gravity, spin) - hands


def standing_at(twin: RollingTwin, t: np.ndarray) -> np.ndarray:
    """Whether the feet stand on the ground at these times (s)."""
    return np.all([(t <= a) | (t >= b) for a, b in twin.wheeling.lifted], axis=0)


def write_session(folder: Path, *, wheel_inertia: float = 0.0, poor: bool = False) -> dict[str, Any]:
    """Recordings, the handle's true model and body.yaml; returns the truth."""
    twin, markers, cells, truth = _recorded(wheel_inertia, poor)
    write_vicon(folder / "Trajectories.csv", markers, rate_hz=CAPTURE_HZ)
    write_dspace(folder / "wrench.mat", cells)
    load_object("handle").of_object().with_values(twin.phi).save(folder / "handle.json")
    (folder / "body.yaml").write_text(body_yaml(float(twin.model.p[0]), twin.wheel.radius))
    return truth


def changed(folder: Path, *pairs: tuple[str, str], name: str = "changed.yaml") -> Path:
    """body.yaml with texts, which must be there, replaced: old, new."""
    text = (folder / "body.yaml").read_text()
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    path = folder / name
    path.write_text(text)
    return path
