"""A short door session in the authors' formats, made once per test session: half a minute holds all that is needed.

The load cell starts with the cameras, so that its clock can be stated, and the handle's model is the true one: a body
stage on these files takes a second or two.
"""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

from palpate.elements import EndStop
from palpate.model import Model, load_object
from palpate.recording.instruments import write_microstrain, write_vicon
from palpate.recording.mat import write_dspace
from palpate.twin.door import (
    BODY_MARKERS,
    FRAME,
    HINGE_MARKERS,
    MARKERS,
    DoorTwin,
    door_recordings,
    door_twin,
    simulate_door,
)
from palpate.twin.instruments import T_MARKER, DeviceClock
from palpate.twin.person import Phase, Session
from tests.varied_doors import door_of

SEED = 3
SESSION = Session(still_s=2.5, sweep_s=11.0, steps=18, blocks=(("train", 14.0), ("test", 7.0)), tail_s=0.5)
FILES = ("Trajectories.csv", "Static.csv", "wrench.mat", "imu.csv", "handle.json", "body.yaml")


def _go(degrees: float, seconds: float, shake: float = 0.0) -> Phase:
    return Phase(seconds, math.radians(degrees), 0.85 * seconds, math.radians(shake))


def _phases() -> tuple[Phase, ...]:
    """A slow sweep, and what people do: strokes through all zones, shaking, letting go."""
    sweep = [Phase(1.0, math.radians(a), 0.5) for a in (18, 36, 54, 72, 86, 68, 50, 32, 14, 3)]
    train = [_go(80, 1.2), _go(40, 0.8), _go(88, 1.0), _go(30, 1.6, 10), _go(70, 1.6, 9), _go(8, 1.2), _go(60, 0.9)]
    train += [_go(15, 1.1), _go(84, 1.0), Phase(3.6, None)]
    test = [_go(75, 1.1), _go(20, 1.1), _go(87, 1.0), _go(45, 0.9), Phase(2.9, None)]
    return (Phase(SESSION.still_s, None), *sweep, Phase(1.0, None), *train, *test, Phase(SESSION.tail_s, None))


def short_door(
    seed: int = SEED, *, variant: str = "laminar", one_way: bool = False, never_closed: bool = False
) -> DoorTwin:
    """A door moved for half a minute; its clocks agree. `never_closed`: a wedge keeps it open."""
    twin = door_twin(seed, draw=door_of(variant), session=SESSION if one_way else Session(), one_way=one_way)
    if never_closed:
        wedge = EndStop(FRAME, at=math.radians(20.0), side="lowest")
        parts = tuple(wedge if e.name == FRAME else e for e in twin.model.elements)
        twin = replace(twin, model=replace(twin.model, elements=parts))
    phases = twin.phases if one_way else _phases()
    together = DeviceClock(0.0, 0.0)
    return replace(twin, session=SESSION, phases=phases, imu=together, load_cell=together)


def write_short_door(folder: Path, twin: DoorTwin) -> Path:
    """Recordings, the handle's true model and body.yaml, which is returned."""
    markers, static, cell, imu, _ = door_recordings(twin, simulate_door(twin, dt=1e-3))
    write_vicon(folder / "Trajectories.csv", markers)
    write_vicon(folder / "Static.csv", static)
    write_dspace(folder / "wrench.mat", cell)
    write_microstrain(folder / "imu.csv", imu, g=twin.gravity)
    handle_model(twin).save(folder / "handle.json")
    linkage = twin.model.mechanism.linkage  # type: ignore[attr-defined]
    segments = twin.session.segments
    text = _BODY.format(
        body=", ".join(BODY_MARKERS),
        axis=", ".join(HINGE_MARKERS),
        towards=MARKERS[10],
        turned=T_MARKER[:3, :3].tolist(),
        shifted=T_MARKER[:3, 3].tolist(),
        lengths=list(linkage.lengths),
        zones=np.degrees([twin.model.shapes[f"{name}.above"] for name in ("b_bc", "b_s")]),
        segments="\n".join(f"  {name}: {[list(s) for s in spans]}" for name, spans in segments.items()),
    )
    (folder / "body.yaml").write_text(text)
    return folder / "body.yaml"


def handle_model(twin: DoorTwin, *, sensor: str = "ati-omega85 (Platform)") -> Model:
    """The true handle, as its own stage would have found it."""
    return load_object("handle").of_object().with_values(twin.phi, sensor=sensor, verdict="passed")


def copy_of(source: Path, folder: Path, *changes: tuple[str, str]) -> Path:
    """body.yaml of a copy in which each first text, which must be there, is replaced by the second."""
    for name in FILES:
        if name != "body.yaml":
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(source.parent / name)
    text = source.read_text()
    for old, new in changes:
        assert text.count(old) == 1, (old, text.count(old))
        text = text.replace(old, new)
    (folder / "body.yaml").write_text(text)
    return folder / "body.yaml"


def own_copy(folder: Path, name: str) -> Path:
    """A file of `copy_of` that may be changed."""
    path = folder / name
    original = path.resolve()
    path.unlink()
    shutil.copy(original, path)
    return path


_BODY = """\
# A simulated door.
palpate: 1
title: Short door
object: door
stage: body
model_of: body
recordings:
  mocap: {{file: Trajectories.csv, format: vicon-csv}}
  static: {{file: Static.csv, format: vicon-csv}}
  wrench: {{file: wrench.mat, format: dspace-mat, device: Platform}}
markers:
  body: [{body}]
  hinge: {{axis: [{axis}], towards: {towards}, points: down}}
  sensor:
    markers: [WB_Door1, WB_Door2, WB_Door3]
    offset:
      rotation: {turned}
      translation: {shifted}
handle: handle.json
clocks: {{mocap: 1, wrench: 1}}
mechanism: {{linkage: {{lengths: {lengths}, assembly: negative}}}}
elements:
- {{type: zone-damper, name: b_bc, acts_on: closer, when: opening, above: {zones[0]:.4f} deg, width: 2 deg}}
- {{type: zone-damper, name: b_s, acts_on: closer, when: closing, above: {zones[1]:.4f} deg, width: 2 deg,
   otherwise: b_l}}
segments:
{segments}
"""
