"""What the columns of a recording seem to be: by the units that it states, by their names, by how far they go."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from palpate.errors import DataProblem
from palpate.physics.arrays import FloatArray
from palpate.recording import Channel, Recording
from palpate.recording.headers import si_or_none
from palpate.recording.naming import UNITS, bare_name, kind_by_name, kind_of_unit, unit_in_name
from palpate.recording.table import stands_repeatedly

WANTED = re.compile(r"des|target|ref|cmd|command|set|goal|soll", re.IGNORECASE)
"""In names of what a controller wanted, not of what was measured."""
AXES = ("x", "y", "z")
MOST = {"angle": 7.0, "position": 3.0, "torque": 300.0, "force": 3000.0}
"""rad, m, N m, N: what is larger is in the other unit."""
SMALLER = {"angle": "deg", "position": "mm", "torque": "N mm", "force": "mN"}
SI = {"angle": "rad", "position": "m", "torque": "N m", "force": "N"}
UNIT = 0.05
"""What is a quaternion has its length squared so near to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Signal:
    """A column, what it seems to be, and why."""

    channel: Channel
    kind: str
    unit: str
    """As written in the file; "" for what its header says."""
    why: str

    @property
    def x(self) -> FloatArray:
        """Numbers in SI units."""
        factor, _ = si_or_none(self.unit) or (1.0, "")
        return self.channel.samples * factor


def repetition(recording: Recording, name: str) -> str:
    """That other columns have the same name as this channel's, and whether their numbers differ; "" for none."""
    bare = bare_name(name)
    if bare not in recording.repeated:
        return ""
    places = recording.repeated[bare]
    own = [recording[n].samples for n in recording.channels if bare_name(n) == bare]
    same = all(x.shape == own[0].shape and np.array_equal(x, own[0], equal_nan=True) for x in own)
    others = [asked_as(recording, n) for n in recording.channels if bare_name(n) == bare and n != name]
    which = f"this is {asked_as(recording, name)}; if another is right, write {' or '.join(others)}"
    return f"{stands_repeatedly(bare, places)} with {'the same' if same else 'DIFFERENT'} numbers: {which}"


def asked_as(recording: Recording, name: str) -> str:
    """A channel as a column map names its column: of several with one name, the first is NAME#1."""
    return f"{name}#1" if name in recording.repeated else name


def instrument_of(recording: Recording) -> str:
    """Which key of `recordings` a file is for."""
    markers = [c for c in recording.channels.values() if c.samples.ndim == 2 and c.unit == "m"]
    found = [kind_of(channel) for channel in recording.channels.values()]
    if pose_columns(recording) is not None:
        return "poses"
    if len(markers) >= 3 or len(marker_columns(recording)) >= 3:
        return "mocap"
    moves = [kind for kind in found if kind in ("angle", "position")]
    loads = [kind for kind in found if kind in ("torque", "force")]
    if moves and loads:
        return "signals"
    if len(loads) >= 6:
        return "wrench"
    if found.count("acceleration") >= 3 and found.count("speed") >= 3:
        return "imu"
    if moves:
        return "coordinate"
    for name, places in recording.repeated.items():
        raise DataProblem(
            str(recording.source),
            f"{stands_repeatedly(name, places)}, and a position or a force is missing",
            remedy="rename in the file's header line what the others are, such as angle [deg], torque [Nm]",
        )
    listed = ", ".join(f"{name} [{c.unit}]" for name, c in recording.channels.items())
    raise DataProblem(
        str(recording.source),
        f"it is not plain what this holds ({listed}): a table needs a position and a force, or an angle and a torque",
        remedy="name the columns so, with their units, in the file's header line (--header where it has none): "
        "angle [deg], torque [Nm]",
    )


def kind_of(channel: Channel) -> str:
    """What a channel is by its unit, else by its name; "" for neither."""
    if channel.unit in UNITS:
        return UNITS[channel.unit]
    name, unit = name_and_unit(channel)
    if kind := kind_of_unit(unit):
        return kind
    return kind_by_name(name)


def name_and_unit(channel: Channel) -> tuple[str, str]:
    """Name and unit of "Position_mm" or "Force (kip)", which palpate need not know; only where the file states none."""
    return (channel.name, "") if channel.unit != "1" else unit_in_name(channel.name)


def marker_columns(recording: Recording) -> dict[str, list[str]]:
    """Markers of a table: names with three columns ..x, ..y, ..z, no forces or rates."""
    stems = dict[str, list[str]]()
    for name, channel in recording.channels.items():
        match = re.fullmatch(r"(.+?)[ _.]?([xyzXYZ])", name)
        if match and channel.samples.ndim == 1 and kind_of(channel) in ("position", ""):
            stems.setdefault(match[1], []).append(name)
    return {stem: names for stem, names in stems.items() if [n[-1].lower() for n in names] == list(AXES)}


def pose_columns(recording: Recording) -> tuple[list[str], list[str]] | None:
    """The three columns of a position and the four x, y, z, w of a quaternion; None where they are not both there."""
    stems = dict[str, dict[str, str]]()
    for name, channel in recording.channels.items():
        match = re.fullmatch(r"(.*?)[ _.]?([wxyz])|(q(?:uat)?)[ _.]?([0-3])", name.lower())
        if match and channel.samples.ndim == 1:
            axis = match[2] or "wxyz"[int(match[4])]  # q0 is the scalar, as Hamilton has it
            stems.setdefault(match[1] or match[3] or "", {})[axis] = name
    turns = [[of[axis] for axis in "xyzw"] for of in stems.values() if set("wxyz") <= set(of)]
    turns = [q for q in turns if abs(np.nanmedian(np.sum([recording[n].samples ** 2 for n in q], axis=0)) - 1) < UNIT]
    moves = [
        [of[axis] for axis in AXES]
        for stem, of in stems.items()
        if set(of) == set(AXES) and (stem in ("", "p", "t", "trans") or kind_of(recording[of["x"]]) == "position")
        if all(kind_of(recording[name]) in ("position", "") for name in of.values())
    ]
    return (moves[0], turns[0]) if moves and turns else None


def path_columns(recording: Recording) -> tuple[list[str], list[str]] | None:
    """The columns x, y, z of a point and of the force on it; None where they are not both there, or an angle is."""
    stems = dict[str, dict[str, str]]()
    for name, channel in recording.channels.items():
        match = re.fullmatch(r"(.*?)[ _.]?([xyz])", name_and_unit(channel)[0].lower())
        if match and channel.samples.ndim == 1:
            stems.setdefault(match[1], {})[match[2]] = name
    whole = [[of[axis] for axis in AXES] for of in stems.values() if set(of) == set(AXES)]
    kinds = {name: kind_of(recording[name]) for names in whole for name in names}
    points = [n for n in whole if "position" in map(kinds.get, n) and {kinds[x] for x in n} <= {"position", ""}]
    forces = [names for names in whole if {kinds[n] for n in names} == {"force"}]
    turns = any(kind_of(c) == "angle" for c in recording.channels.values())
    return (points[0], forces[0]) if points and forces and not turns else None


def exchanged_signals(position: Signal, effort: Signal) -> tuple[Signal, Signal]:
    """The numbers of each under the other's name, where headers were exchanged, units too: position, effort."""

    def as_called(numbers: Signal, header: Signal) -> Signal:
        stored, factor = numbers.channel, (si_or_none(numbers.channel.stated or "1") or (1.0, ""))[0]
        channel = replace(stored, samples=stored.samples / factor, unit="1", stated="")
        unit = header.channel.stated if header.channel.unit != "1" else name_and_unit(header.channel)[1]
        return Signal(channel, header.kind, unit or _usual_unit(channel.samples, header.kind)[0], "")

    return as_called(effort, position), as_called(position, effort)


def as_signal(channel: Channel, kind: str, others: Sequence[str]) -> Signal:
    """A column as what it is taken for, and its unit where the file states none."""
    among = f"of {', '.join(others)}" if len(others) > 1 else "by its name and unit"
    if channel.unit != "1":
        return Signal(channel, kind, "", f"{among}; unit {channel.stated or channel.unit} as the file states")
    _, unit = name_and_unit(channel)
    if unit and si_or_none(unit) is None:
        why = f"{among}; EDIT: its header says {unit!r}, no unit that palpate knows: write the unit here"
        return Signal(channel, kind, json.dumps(unit), why)
    if unit:
        return Signal(channel, kind, unit, f"{among}; the unit stands at the end of its name")
    unit, far = _usual_unit(channel.samples, kind)
    return Signal(channel, kind, unit, f"{among}; no unit is stated, and it {far}")


def _usual_unit(samples: FloatArray, kind: str) -> tuple[str, str]:
    """The unit in which numbers that go so far usually are, and how far that is, in words."""
    x, moves = samples[np.isfinite(samples)], kind in ("angle", "position")
    span = float(np.ptp(x) if moves else np.max(np.abs(x))) if len(x) else 0.0
    return (SMALLER if span > MOST[kind] else SI)[kind], f"{'spans' if moves else 'reaches'} {span:.3g}"


def load_cells(recording: Recording) -> list[list[str]]:
    """Columns of each load cell in a recording: three forces and three moments, in their order."""
    forces, torques = (
        [n for n in effort_columns(recording) if kind_of(recording[n]) == of] for of in ("force", "torque")
    )
    count = len(forces) // 3 if len(forces) == len(torques) and len(forces) % 3 == 0 else 1
    return [forces[3 * i : 3 * i + 3] + torques[3 * i : 3 * i + 3] for i in range(max(count, 1))]


def effort_columns(recording: Recording) -> list[str]:
    """Names of its forces and torques."""
    return [name for name, c in recording.channels.items() if kind_of(c) in ("force", "torque")]
