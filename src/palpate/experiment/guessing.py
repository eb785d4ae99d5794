"""An experiment file from the recordings alone: `palpate new FILE...` looks at them and marks what it guesses.

Units that the files state are believed. The rest is decided by names, and by what the motion itself shows: which force
it explains, which way power flows, where it rests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product
from os.path import relpath
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from palpate.errors import DataProblem, FileProblem, PalpateError
from palpate.experiment.columns import (
    AXES,
    SI,
    WANTED,
    Signal,
    as_signal,
    asked_as,
    effort_columns,
    exchanged_signals,
    instrument_of,
    kind_by_name,
    kind_of,
    load_cells,
    marker_columns,
    name_and_unit,
    path_columns,
    pose_columns,
    repetition,
)
from palpate.experiment.file.starting import CAPTURE, starting_experiment
from palpate.experiment.inspection import inspect_recordings
from palpate.motion.clock import evenly_sampled
from palpate.motion.derivatives import at_rest, derivative_noise, savitzky_golay, signal_bandwidth, signal_noise
from palpate.motion.exchanged import exchange
from palpate.motion.extrinsics import Placement, imu_on_load_cell
from palpate.motion.frames import coordinate_of_path
from palpate.motion.imu import imu_motion, resample_motion
from palpate.physics.arrays import BoolArray, FloatArray, least_squares, rate_hz, runs
from palpate.recording import FORMATS, Channel, Recording, load
from palpate.recording.formats import recognise
from palpate.recording.headers import si_or_none

SLOWEST_S = 0.5
"""No table of an object moved by hand has samples so far apart: its times are ms, us or ns."""
WINDOW_S, ORDER = 0.15, 3
REST_S, SHORTEST_S, SLOW_SHARE, TRAIN_SHARE = 0.6, 3.0, 0.35, 0.62
"""A rest and what is moved are longer; slow is so much below the fast; so much of what moves trains."""
EVEN = 0.003
"""Share of a signal's range within which it does not change."""
HAND_HZ = 6.0
"""What hands do is slower."""
TURNED, THIN = 0.05, 0.03
"""rad: what turns less does not turn; share of a motion across its line, axis or centre: what has less keeps to it."""
ALIKE = 0.98
"""Correlation from which two angles are one, seen twice."""
TWO_AXES = "two angles and two torques: it turns about two axes that cross"
MOUNTED_S = 60.0
"""So much of a recording tells how the IMU sits."""
SURE = 0.05
"""Share of the power that must flow one way to tell the sign."""
DROP, BETTER = 0.7, 0.9
"""An effect is in the model if it lowers the unexplained variance to this share; weight, if it does so by more than a
spring."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A line of the file that nobody stated."""

    key: str
    value: str
    why: str


@dataclass(frozen=True, slots=True)
class Guessed:
    """An experiment file that was guessed."""

    text: str
    guesses: tuple[Guess, ...]
    verb: str = "identify"
    """What to do with it next."""


@dataclass(slots=True)
class _Lines:
    """The file as it is written: lines, of which some are guesses."""

    lines: list[str] = field(default_factory=list[str])
    guesses: list[Guess] = field(default_factory=list[Guess])

    def add(self, line: str) -> None:
        self.lines.append(line)

    def guess(self, line: str, why: str, key: str = "") -> None:
        """A line with its reason behind it."""
        self.lines.append(f"{line:<44} # GUESS: {why}")
        name, _, value = line.strip().partition(": ")
        entry = line.strip().removeprefix("- ") if line.startswith("- ") else value or name.rstrip(":")
        self.guesses.append(Guess(key or name, entry, why))


def guess_experiment(
    paths: Sequence[Path], *, file: Path, header: Sequence[str] | None = None, rate: float | None = None
) -> Guessed:
    """The text of an experiment file for these recordings, to be written at `file`.

    header, rate: of a table that states none.
    """
    read = [_read(path, header, rate) for path in paths]
    for path, (recording, _) in zip(paths, read, strict=True):
        for name in (name for name in recording.words if kind_by_name(name) in SI):
            load(path, columns={name: name}, **_options(path, header, rate))  # refuses it, with its line
    recordings = {str(path): recording for path, (recording, _) in zip(paths, read, strict=True)}
    kinds = {path: instrument_of(recording) for path, recording in recordings.items()}
    if "poses" in kinds.values():
        return _of_poses(kinds, recordings, file)
    if list(kinds.values()) == ["signals"]:
        return _of_table(paths[0], read[0][0], read[0][1], file, header, rate)
    return _of_instruments(kinds, recordings, file)


def _read(path: Path, header: Sequence[str] | None, rate: float | None) -> tuple[Recording, str]:
    """A recording, and the column of its times where only its numbers say that it is one."""
    known, options = FORMATS[recognise(path)].options, _options(path, header, rate)
    try:
        return load(path, **options), ""
    except FileProblem as problem:
        if "rate" in options or "rate" not in known or "looks like time" not in str(problem):
            raise
        columns = load(path, **options, rate=1.0)
        for name, channel in columns.channels.items():
            steps = np.diff(channel.samples) if channel.samples.ndim == 1 else np.zeros(1)
            counts = bool((steps == 1).all())  # rows that are numbered tell no time
            if (steps > 0).all() and not counts and np.ptp(steps) < 0.5 * np.median(steps):
                return load(path, **options, time=name), name
        raise FileProblem(
            path, "no column holds times", remedy="say how many samples a second has: --rate 100"
        ) from problem


def _options(path: Path, header: Sequence[str] | None, rate: float | None) -> dict[str, Any]:
    """Those of a table that states neither, where its format knows them."""
    options: dict[str, Any] = {"header": header, "rate": rate}
    return {k: v for k, v in options.items() if v is not None and k in FORMATS[recognise(path)].options}


# --- a table of one coordinate ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A coordinate and the effort along it, evenly sampled, with what a motion explains of it."""

    position: Signal
    effort: Signal
    times_s: FloatArray
    q: FloatArray
    effort_x: FloatArray
    v: FloatArray
    a: FloatArray
    rest: BoolArray

    @property
    def columns(self) -> FloatArray:
        """(samples, 4): what inertia, friction and a constant do."""
        return np.column_stack([self.a, self.v, np.sign(self.v), np.ones(len(self.v))])

    def unexplained(self, *more: FloatArray) -> float:
        """Share of the effort's variance while it moves that these and `more` columns leave."""
        moving = ~self.rest
        A, y = np.column_stack([self.columns, *more])[moving], self.effort_x[moving]
        left = y - A @ least_squares(A, y)
        return float(np.var(left) / max(np.var(y), 1e-300))


def _of_table(
    path: Path, recording: Recording, time: str, file: Path, header: Sequence[str] | None, rate: float | None
) -> Guessed:
    """A hinge or a slide from one table."""
    lines, name = _Lines(), next(iter(recording.channels))
    times = recording[name].clock.times_s
    unit, step = "s", float(np.median(np.diff(times)))
    if rate is None and step >= SLOWEST_S:
        unit = "ms" if step < 1e3 * SLOWEST_S else "us" if step < 1e6 * SLOWEST_S else "ns"
    factor = (si_or_none(unit) or (1.0, ""))[0]
    path_of = path_columns(recording)
    moved = None if path_of is None else _along_path(recording, factor, *path_of)
    axes = (moved[2],) if moved else _two_axes(recording, factor) or (_best_pair(recording, factor),)
    best = _together(axes)
    turns = best.position.kind == "angle"
    object_, elements, why = _object(best, turns) if len(axes) == 1 else ("joystick", None, TWO_AXES)
    why = best.position.why if moved else why
    if object_ == "pendulum" and moved:  # whose angle is counted from anywhere
        object_, why = "hinge", f"{why}; for object: pendulum give the angle from the vertical as a column"
    lines.add(f"# Written by `palpate new {path.name}` from what the recording shows. What it does not state is marked")
    lines.add("# GUESS, with the reason: read these lines before you trust a number.")
    lines.add("palpate: 1")
    lines.add(f"title: {json.dumps(f'{path.stem}: ' + ('what turns' if turns else 'what slides'))}")
    lines.guess(f"object: {object_}", why)
    lines.add("stage: body")
    lines.add("recordings:")
    lines.add("  signals:")
    lines.add(f"    file: {json.dumps(_relative(path, file))}")
    if header is not None:
        lines.add(f"    header: {json.dumps(list(header))}")
    if rate is not None:
        lines.add(f"    rate: {rate:g} Hz")
    elif unit != "s" or time:
        words = [f"column: {json.dumps(time)}"] if time else []
        reasons = ["it grows evenly"] if time else []
        if unit != "s":
            words.append(f"unit: {unit}")
            reasons.append(f"in s its samples would be {step:.3g} s apart, too far for an object moved by hand")
        lines.guess(f"    time: {{{', '.join(words)}}}", "; ".join(reasons), "recordings.signals.time")
    if moved:
        _path(lines, recording, *moved[:2])
    else:
        _columns(lines, recording, axes)
    _sign(lines, axes)
    if len(axes) > 1:
        lines.add("known_mass: {value: 0.5 kg, of: body}        # EDIT: from a scale; no motion about a point shows it")
        why = "springs at ease at zero: a preload looks like a weight beside the joint"
        lines.guess("fixed: {spring_1.c_0: 0, spring_2.c_0: 0}", why)
    if elements:
        lines.add("elements:")
        lines.guess(f"- {elements[0]}", elements[1], "elements")
    try:
        for axis in axes:
            signal_bandwidth(axis.times_s, axis.q[:, None], units={axis.position.kind: SI[axis.position.kind]})
    except DataProblem:
        why = "the noise of the position does not show, by which it would be chosen; hands are slower"
        lines.guess(f"filtering: {{bandwidth: {HAND_HZ:g} Hz}}", why, "filtering.bandwidth")
    _segments(lines, best)
    return Guessed("\n".join(lines.lines) + "\n", tuple(lines.guesses))


def _columns(lines: _Lines, recording: Recording, axes: Sequence[_Table]) -> None:
    """Which columns they are: a table's with their units, another file's by name alone."""
    maps = recording.format in FORMATS and "columns" in FORMATS[recording.format].options
    kinds = ("angle", "torque") if axes[0].position.kind == "angle" else ("position", "force")
    of = {"": axes[0]} if len(axes) == 1 else {f"_{i + 1}": axis for i, axis in enumerate(axes)}
    moves = {f"{kinds[0]}{n}": axis.position for n, axis in of.items()}
    loads = {f"{kinds[1]}{n}": axis.effort for n, axis in of.items()}
    signals = moves | loads
    if maps:
        lines.add("    columns:")
        for key, signal in signals.items():
            unit = f", unit: {signal.unit}" if signal.unit else ""
            column, twice = asked_as(recording, signal.channel.name), repetition(recording, signal.channel.name)
            why = "; ".join(words for words in (signal.why, twice) if words)
            lines.guess(f"      {key}: {{column: {json.dumps(column)}{unit}}}", why, f"recordings.signals.{key}")
    named = {key: key if maps else json.dumps(signal.channel.name) for key, signal in signals.items()}
    roles = {key: ([key], signal.why) for key, signal in signals.items()}
    if len(axes) > 1:
        why = "which of the two axes stands still, as the first must, no column says"
        roles = {"coordinates": (list(moves), why), "efforts": (list(loads), axes[0].effort.why)}
    for role, (keys, why) in roles.items():
        listed = ", ".join(named[key] for key in keys)
        line = f"    {role}: [{listed}]" if len(axes) > 1 else f"    {role}: {listed}"
        if maps and role != "coordinates":
            lines.add(line)
        else:
            lines.guess(line, why, f"recordings.signals.{role}")


def _two_axes(recording: Recording, factor: float) -> tuple[_Table, _Table] | None:
    """Two angles, neither of which follows the other, each with the torque that it explains better; None: not so."""
    kinds = {n: kind_of(c) for n, c in recording.channels.items() if c.samples.ndim == 1 and not WANTED.search(n)}
    moves, loads = ([n for n, kind in kinds.items() if kind == of] for of in ("angle", "torque"))
    if len(moves) != 2 or len(loads) != 2:
        return None
    signals = {n: as_signal(recording[n], kinds[n], of) for of in (moves, loads) for n in of}
    ways = [
        [_table(signals[a], signals[b], factor) for a, b in zip(moves, of, strict=True)] for of in (loads, loads[::-1])
    ]
    pairs = [(one, two) for one, two in ways if one is not None and two is not None]
    if not pairs or abs(np.corrcoef(pairs[0][0].q, pairs[0][1].q)[0, 1]) > ALIKE:
        return None
    return min(pairs, key=lambda pair: sum(axis.unexplained(axis.q) for axis in pair))


def _together(axes: Sequence[_Table]) -> _Table:
    """How far it is from where it began along all of them, to tell rest from motion."""
    first, far = axes[0], [axis.q - axis.q[0] for axis in axes]
    if len(axes) == 1:
        return first
    q, v, effort = (np.linalg.norm(x, axis=0) for x in (far, [t.v for t in axes], [t.effort_x for t in axes]))
    return replace(first, q=q, v=v, effort_x=effort, rest=np.all([t.rest for t in axes], axis=0))


def _best_pair(recording: Recording, factor: float) -> _Table:
    """The coordinate and the effort of one kind of which motion explains most; factor: s in a unit of time."""
    kinds = {name: kind_of(channel) for name, channel in recording.channels.items() if channel.samples.ndim == 1}
    moves = [n for n, kind in kinds.items() if kind in ("angle", "position")]
    loads = [n for n, kind in kinds.items() if kind in ("torque", "force")]
    moves, loads = (([n for n in names if not WANTED.search(n)] or names) for names in (moves, loads))
    tables = list[_Table]()
    for move, push in product(moves, loads):
        turns = kinds[push] == "torque"
        stated = recording[move].unit != "1" or bool(name_and_unit(recording[move])[1])
        if (kinds[move] == "angle") != turns and (stated or kinds[move] == "angle"):
            continue  # a position without a unit may be an angle, an angle no length
        one = as_signal(recording[move], "angle" if turns else "position", moves)
        two = as_signal(recording[push], kinds[push], loads)
        if one.channel.clock is two.channel.clock and (table := _table(one, two, factor)) is not None:
            tables.append(table)
    if not tables:
        raise DataProblem(
            str(recording.source),
            f"no pair of columns is an angle and a torque or a position and a force that change ({', '.join(kinds)})",
            remedy="an angle needs a torque: multiply the force by its lever; or name the columns with their units",
        )
    best = min(tables, key=_Table.unexplained)
    swapped = exchange(best.times_s, best.q, best.effort_x)
    if swapped is not None and (other := _table(*exchanged_signals(best.position, best.effort), factor)) is not None:
        why = f"{swapped.words(best.position.kind, best.effort.kind)}. So it is read here, units too"
        return replace(other, position=replace(other.position, why=why), effort=replace(other.effort, why="likewise"))
    if len(tables) == 1:
        return best
    why = f"motion explains {100 * (1 - best.unexplained()):.0f} % of it, more than of any other pair"
    return replace(best, effort=replace(best.effort, why=f"{best.effort.why}; {why}"))


def _table(position: Signal, effort: Signal, factor: float) -> _Table | None:
    """Both on an even clock with derivatives; None for what never changes."""
    times = position.channel.clock.times_s * factor
    q = position.x.copy()
    if position.kind == "angle":
        seen = np.isfinite(q)
        q[seen] = np.unwrap(q[seen])
    even = evenly_sampled(times, np.column_stack([q, effort.x]), what=position.channel.name)
    x, rate = even.x, rate_hz(even.times_s)
    window = max(2 * round(WINDOW_S * rate / 2) + 1, ORDER + 2 + (ORDER % 2 == 1))
    window += 1 - window % 2
    if len(x) < 4 * window or min(np.ptp(x, axis=0)) == 0:
        return None
    v, a = (savitzky_golay(x[:, 0], window, ORDER, derivative=d, rate_hz=rate) for d in (1, 2))
    noise = derivative_noise(signal_noise(x[:, 0], window, ORDER), window, ORDER, 1, rate)
    rest = at_rest(v, max(noise, 0.004 * float(np.percentile(np.abs(v), 95))))
    smooth = savitzky_golay(x[:, 1], window, ORDER)
    return None if rest.all() else _Table(position, effort, even.times_s, x[:, 0], smooth, v, a, rest)


def _along_path(
    recording: Recording, factor: float, point: Sequence[str], force: Sequence[str]
) -> tuple[list[Signal], list[Signal], _Table]:
    """The columns of a point's path and of the force on it, and both along the line or circle that it keeps to."""
    point_x, force_x = (_as_triple(recording, *of) for of in (("position", point), ("force", force)))
    p, f = (np.column_stack([signal.x for signal in of]) for of in (point_x, force_x))
    seen = np.isfinite(p).all(axis=1)
    lengths = np.linalg.svd(p[seen] - p[seen].mean(axis=0), compute_uv=False)
    kinds = ("position", "force") if lengths[1] < THIN * lengths[0] else ("angle", "torque")
    along = coordinate_of_path(p, f, SI[kinds[0]])
    clock = point_x[0].channel.clock
    one, two = (
        Signal(Channel(kind, x, clock), kind, "", along.words)
        for kind, x in zip(kinds, (along.coordinate, along.effort), strict=True)
    )
    table = _table(one, two, factor)
    if table is None:
        raise DataProblem(str(recording.source), "the point never moves, or the force never changes")
    return point_x, force_x, table


def _as_triple(recording: Recording, kind: str, names: Sequence[str]) -> list[Signal]:
    """Three columns of one unit: where none is stated, that of the one that goes farthest."""
    signals = [as_signal(recording[name], kind, names) for name in names]
    far = max(signals, key=lambda signal: float(np.nanmax(np.abs(signal.channel.samples))))
    return [replace(signal, unit=far.unit) if signal.unit else signal for signal in signals]


def _path(lines: _Lines, recording: Recording, point: Sequence[Signal], force: Sequence[Signal]) -> None:
    """The lines of a point's path and of the force on it."""
    keys = {**dict(zip(AXES, point, strict=True)), **dict(zip(("fx", "fy", "fz"), force, strict=True))}
    lines.add("    columns:")
    for key, signal in keys.items():
        unit = f", unit: {signal.unit}" if signal.unit else ""
        column = json.dumps(asked_as(recording, signal.channel.name))
        lines.guess(f"      {key}: {{column: {column}{unit}}}", signal.why, f"recordings.signals.{key}")
    lines.add("    point: [x, y, z]")
    lines.guess("    force: [fx, fy, fz]", "along the same fixed axes as the point", "recordings.signals.force")


def _object(table: _Table, turns: bool) -> tuple[str, tuple[str, str] | None, str]:
    """Object file, an element to add with its reason, and why: by what lowers the unexplained power."""
    bare = table.unexplained()
    spring = table.unexplained(table.q)
    weight = table.unexplained(np.sin(table.q), np.cos(table.q)) if turns else np.inf
    share = f"of the effort {100 * bare:.2g} % are left unexplained without it"
    if weight < min(DROP * bare, BETTER * spring):
        return (
            "pendulum",
            None,
            f"its weight acts along the angle (a level axis): {share}, {100 * weight:.2g} % with it",
        )
    name, what = (
        ("hinge", "an angle and a torque: it turns") if turns else ("drawer", "a position and a force: it slides")
    )
    if spring < DROP * bare:
        acts_on = "hinge" if turns else "slide"
        element = f"{{type: spring, name: spring, acts_on: {acts_on}, order: 1}}"
        return name, (element, f"a force that follows the position: {share}, {100 * spring:.2g} % with it"), what
    return name, None, what


def _sign(lines: _Lines, axes: Sequence[_Table]) -> None:
    """On whom the stored effort acts: who moves an object does work on it."""
    power = np.concatenate([table.effort_x * table.v for table in axes])
    net = float(power.sum() / np.abs(power).sum())
    sign = "on-object" if net >= 0 else "on-hand"
    into, out = (f"{50 * (1 + s * net):.0f} %" for s in (1, -1))
    flows = f"as stored, {into} of the work goes into the object, {out} comes back"
    told = ": as friction has it" if net >= 0 else ": more than went in, so the effort is the object's on the hand"
    told = ", too little apart to be sure" if abs(net) < SURE else told
    lines.guess(f"    sign: {sign}", flows + told, "recordings.signals.sign")


def _segments(lines: _Lines, table: _Table, *, untouched: bool = True) -> None:
    """Where it rests untouched (if asked), is moved slowly, and is moved: the last third of that tests."""
    t, step = table.times_s, float(table.times_s[1] - table.times_s[0])
    least = max(1, int(REST_S / step))
    rests = [(a, b) for a, b in runs(table.rest) if b - a >= least]
    moving = np.ones(len(t), dtype=bool)
    for a, b in rests:
        moving[a:b] = False
    spans = [(a, b) for a, b in runs(moving) if (b - a) * step > REST_S]
    fast = float(np.percentile(np.abs(table.v[moving]), 95)) if moving.any() else 0.0
    whole = float(np.ptp(table.q))

    def slow(a: int, b: int) -> bool:
        quick = float(np.percentile(np.abs(table.v[a:b]), 95))
        far = float(np.ptp(table.q[a:b])) > 0.5 * whole
        return quick < SLOW_SHARE * fast and far and (b - a) * step > SHORTEST_S

    slowly = [span for span in spans if slow(*span)]
    lively = [span for span in spans if span not in slowly]
    if sum(b - a for a, b in lively) * step < SHORTEST_S:
        slowly, lively = [], spans
    total = sum(b - a for a, b in lively)
    if total * step < SHORTEST_S:
        moved = f"it moves for {total * step:.1f} s in all"
        raise DataProblem(str(table.position.channel.name), moved, remedy="record at least some seconds of motion")
    train, test, left = list[tuple[int, int]](), list[tuple[int, int]](), int(TRAIN_SHARE * total)
    for a, b in lively:
        cut = min(b, a + max(left, 0))
        left -= b - a
        train += [(a, cut)] if (cut - a) * step > REST_S else []
        test += [(cut, b)] if (b - cut) * step > REST_S else []
    lines.add("segments:")

    def span(a: float, b: float) -> str:
        return f"[{max(round(a, 2), 0.0):.2f}, {b:.2f}]" if t[0] > -step else f"[{a:.2f}, {b:.2f}]"

    still = _untouched(table, rests) if untouched else None
    if still is not None:
        a, b = still
        inner = span(t[a] + 0.1, t[b - 1] - 0.3)
        lines.guess(
            f"  static: {inner}",
            "it rests and the effort is even: taken as untouched, its position there as zero",
            "segments.static",
        )
    for key, parts, why in (
        ("quasi_static", slowly, "slow, through most of its travel"),
        ("train", train, "it moves"),
        ("test", test, "the last part of the motion; never used in the fit"),
    ):
        shown = ", ".join(span(t[a], t[b - 1]) for a, b in parts)
        if parts:
            lines.guess(f"  {key}: {shown if len(parts) == 1 else f'[{shown}]'}", why, f"segments.{key}")


def _untouched(table: _Table, rests: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """The rest before all motion, for as long as nobody seems to push: neither position nor effort changes."""
    if not rests or rests[0][0] > 0.05 * len(table.times_s):
        return None
    a, b = rests[0]
    first = max(1, int(REST_S / 2 / float(table.times_s[1] - table.times_s[0])))
    for x in (table.q, table.effort_x):
        limit = max(EVEN * float(np.ptp(x)), 5 * float(np.std(x[a : a + first])))
        changed = np.abs(x[a:b] - np.median(x[a : a + first])) > limit
        b = a + int(np.argmax(changed)) if changed.any() else b
    long = b - a > 3 * first
    small = long and abs(float(np.median(table.effort_x[a:b]))) < 0.1 * float(np.ptp(table.effort_x))
    return (a, b) if small else None


# --- files of several instruments -------------------------------------------------------------------------------------


def _of_instruments(kinds: Mapping[str, str], recordings: Mapping[str, Recording], file: Path) -> Guessed:
    """Markers, IMU and load cell: the commented file of their stage, with the recordings filled in."""
    found, cells = dict[str, str](), [path for path, kind in kinds.items() if kind == "wrench"]
    for path, kind in kinds.items():
        if kind in found and (kind != "wrench" or "imu" in kinds.values()):
            raise PalpateError(f"{path} and {found[kind]} both look like recordings.{kind}: name one of them")
        found[kind] = path
    if "signals" in found:
        others = " and ".join(path for kind, path in found.items() if kind != "signals")
        raise PalpateError(
            f"{found['signals']} is a table of an object with one freedom, and stands alone: without {others}"
        )
    if set(found) == {"coordinate", "wrench"}:
        return _of_encoder(found, cells, recordings, file)
    if set(found) not in (
        {"mocap"},
        {"mocap", "imu"},
        {"mocap", "wrench"},
        {"mocap", "imu", "wrench"},
        {"imu", "wrench"},
    ):
        have = ", ".join(f"{path}: {kind}" for kind, path in found.items())
        raise PalpateError(
            f"these recordings alone tell nothing ({have}): give markers, an encoder or an IMU, and a load cell"
        )
    stage = CAPTURE if "mocap" in found else "handle"
    mounted = None if stage == CAPTURE else _mounted([recordings[path] for path in found.values()])
    sign = "" if mounted is None else f", sign: {mounted[0]}"
    lines = _Lines()
    for kind, path in found.items():
        if kind == "wrench" and mounted is None:
            _wrenches(lines, [(Path(cell), recordings[cell]) for cell in cells], file)
            continue
        entry = _entry(kind, recordings[path], _relative(Path(path), file))
        why = {"mocap": "markers", "imu": "accelerations and rates", "wrench": "six forces and moments"}[kind]
        if kind == "wrench":
            entry, why = f"{entry[:-1]}{sign}}}", f"{why}; their sign by the IMU, which feels the same weight"
        lines.guess(f"  {kind}: {entry}", why, f"recordings.{kind}")
    text = starting_experiment(stage, file=file.name)
    text = _without(text, "recordings", "recordings:\n" + "\n".join(lines.lines) + "\n")
    if stage == CAPTURE:
        text = _without(_markers(text, recordings[found["mocap"]], lines), "imu_pose")
    else:
        text = _without(_without(text, "segments"), "prior")
    if mounted is not None:
        before = len(lines.lines)
        why = (
            f"by the motion: what the load cell and the IMU feel agrees to {100 * mounted[2]:.1f} %; no drawing says so"
        )
        lines.guess("imu_pose:", why, "imu_pose")
        lines.lines += mounted[1]
        text = _without(text, "imu_pose", "\n".join(lines.lines[before:]) + "\n")
    return Guessed(text, tuple(lines.guesses), "inspect" if stage == CAPTURE else "identify")


def _of_poses(kinds: Mapping[str, str], recordings: Mapping[str, Recording], file: Path) -> Guessed:
    """Poses by a tracker or a robot, and load cells, in one file or several."""
    (path, *others), lines = [p for p, kind in kinds.items() if kind == "poses"], _Lines()
    recording, found = recordings[path], pose_columns(recordings[path])
    cells = [p for p, kind in kinds.items() if kind == "wrench"] or [path]
    odd = [p for p in (*others, *kinds) if p != path and p not in cells]
    if odd or found is None or len(effort_columns(recordings[cells[0]])) < 6:
        lacks = f"{path} holds poses, but no load cell's six forces and moments"
        wrong = f"{' and '.join(odd)} beside the poses in {path}" if odd else lacks
        raise PalpateError(f"{wrong}: give one file of poses and the load cells' (docs/instrument.md: poses)")
    spans = [float(np.nanmax(recording[n].samples) - np.nanmin(recording[n].samples)) for n in found[0]]
    widest = as_signal(recording[found[0][int(np.argmax(spans))]], "position", found[0])
    p = np.column_stack([replace(widest, channel=recording[n]).x for n in found[0]])
    seen = np.isfinite(np.column_stack([p, *(recording[n].samples for n in found[1])])).all(axis=1)
    R = Rotation.from_quat(np.column_stack([recording[n].samples[seen] for n in found[1]]))
    object_, why, along = _freedom(p[seen], R)
    unit = f", unit: {widest.unit}" if widest.unit else ""
    columns = [f"{axis}: {{column: {json.dumps(n)}{unit}}}" for axis, n in zip(AXES, found[0], strict=True)]
    columns += [f"q{axis}: {{column: {json.dumps(n)}}}" for axis, n in zip("xyzw", found[1], strict=True)]
    lines.add("# Written by `palpate new` from what the recordings show. What they do not state is marked GUESS,")
    lines.add("# with the reason; what no recording shows is marked EDIT.")
    lines.add("palpate: 1")
    lines.guess(f"object: {object_}", why)
    lines.add("stage: body")
    lines.add("recordings:")
    lines.add("  poses:")
    lines.add(f"    file: {json.dumps(_relative(Path(path), file))}")
    lines.guess(
        f"    columns: {{{', '.join(columns)}}}", f"a position and a quaternion, {widest.why}", "recordings.poses"
    )
    lines.add("    position: [x, y, z]")
    lines.add("    orientation: [qx, qy, qz, qw]")
    count = _wrenches(lines, [(Path(cell), recordings[cell]) for cell in cells], file)
    place = "{rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0, 0, 0]}"
    lines.add("poses:   # EDIT: where the load cell sits in the frame of the poses, m, and how it is turned there")
    lines.add(f"  sensor: {_one_or_list([place] * count)}")
    moved = np.full(len(p), np.nan)
    moved[seen] = along
    channel = Channel("motion", moved, recording[found[0][0]].clock, "1")
    one, two = (Signal(replace(channel, samples=x), "position", "", "") for x in (moved, moved - along[0]))
    table = _table(one, two, 1.0)
    if table is None:
        raise DataProblem(path, "the poses never change", remedy="record a motion")
    _segments(lines, table, untouched=False)
    return Guessed("\n".join(lines.lines) + "\n", tuple(lines.guesses))


def _wrenches(lines: _Lines, cells: Sequence[tuple[Path, Recording]], file: Path) -> int:
    """The load cells of these recordings, and how many they are."""
    entries = [
        _entry("wrench", recording, _relative(path, file), six)
        for path, recording in cells
        for six in load_cells(recording)
    ]
    why = "forces and moments in the sensor's axes"
    if len(entries) > len(cells):
        why += "; columns in their order, three forces and three moments for each of the load cells"
    why += "; if they are what moves the handle: sign: on-handle"
    lines.guess(f"  wrench: {_one_or_list(entries)}", why, "recordings.wrench")
    return len(entries)


def _one_or_list(entries: Sequence[str]) -> str:
    return entries[0] if len(entries) == 1 else f"[{', '.join(entries)}]"


def _freedom(p: FloatArray, R: Rotation) -> tuple[str, str, FloatArray]:
    """The object whose poses (n, 3) and (n) these are, why, and how far it went (n,)."""
    turn, away = (R * R[0].inv()).as_rotvec(), p - p.mean(axis=0)
    turned = float(np.percentile(np.linalg.norm(turn, axis=1), 99))
    _, lengths, lines = np.linalg.svd(away, full_matrices=False)
    _, turns, axes = np.linalg.svd(turn, full_matrices=False)
    if turned < TURNED and lengths[1] < THIN * lengths[0]:
        return "drawer", f"it keeps to a line and turns by {np.degrees(turned):.1f} deg only", away @ lines[0]
    if turned > TURNED:
        # p = c + R r: a point that stays where it is (Gamage and Lasenby 2002)
        A = np.concatenate([np.broadcast_to(np.eye(3), (len(p), 3, 3)), R.as_matrix()], axis=2).reshape(-1, 6)
        left = (p.reshape(-1) - A @ np.linalg.lstsq(A, p.reshape(-1), rcond=1e-6)[0]).reshape(-1, 3)
        if turns[1] < THIN * turns[0] and np.linalg.norm(left) < THIN * max(np.linalg.norm(away), 1e-12):
            return "hinge", f"it turns about one axis that stays, by {np.degrees(turned):.0f} deg", turn @ axes[0]
    far = np.column_stack([away, 0.3 * turn])
    path = far @ np.linalg.svd(far, full_matrices=False)[2][0]
    return "box", "it keeps to no line and no axis: a free body; of one on wheels: cart, walker", path


def _of_encoder(
    found: Mapping[str, str], cells: Sequence[str], recordings: Mapping[str, Recording], file: Path
) -> Guessed:
    """An encoder and load cells in files of their own."""
    path, recording, lines = Path(found["coordinate"]), recordings[found["coordinate"]], _Lines()
    kinds = {name: kind_of(channel) for name, channel in recording.channels.items() if channel.samples.ndim == 1}
    names = [n for n, kind in kinds.items() if kind in ("angle", "position")]
    name = next((n for n in names if not WANTED.search(n)), names[0])
    turns = kinds[name] == "angle"
    position = as_signal(recording[name], kinds[name], names)
    since = replace(position.channel, samples=position.channel.samples - position.channel.samples[0])
    table = _table(position, replace(position, channel=since), 1.0)
    if table is None:
        raise DataProblem(str(path), f"{name!r} never changes", remedy="record a motion")
    shown = " and ".join(Path(p).name for p in (path, *cells))
    lines.add(f"# Written by `palpate new` from what {shown} show. What they do not")
    lines.add("# state is marked GUESS, with the reason; what no recording shows is marked EDIT.")
    lines.add("palpate: 1")
    words = ("hinge", "an angle: it turns") if turns else ("drawer", "a length: it slides")
    lines.guess(f"object: {words[0]}", words[1])
    lines.add("stage: body")
    lines.add("recordings:")
    unit = f", unit: {position.unit}" if position.unit else ""
    column, key = f"{{q: {{column: {json.dumps(name)}{unit}}}}}", "angle" if turns else "travel"
    entry = f"{{file: {json.dumps(_relative(path, file))}, columns: {column}, {key}: q}}"
    lines.guess(f"  poses: {entry}", position.why, "recordings.poses")
    count = _wrenches(lines, [(Path(cell), recordings[cell]) for cell in cells], file)
    place = "{rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0.8, 0, 0]}"
    lines.add("poses:   # EDIT: the load cell in the frame of the hinge (z along its axis) or slide (x along it), m")
    lines.add(f"  sensor: {_one_or_list([place] * count)}")
    _segments(lines, table)
    return Guessed("\n".join(lines.lines) + "\n", tuple(lines.guesses))


def _without(text: str, key: str, instead: str = "") -> str:
    """A file without one of its keys, or with this in its place."""
    return re.sub(rf"(?m)^{key}:.*\n(  .*\n)*", lambda _: instead, text)


def _mounted(recordings: Sequence[Recording]) -> tuple[str, list[str], float] | None:
    """Sign of a load cell that carries a handle, lines of the IMU's pose in its frame, and how much that explains.

    None where units or motion do not tell.
    """
    devices = inspect_recordings(recordings).devices
    imu, cell = devices.get("imu"), devices.get("wrench")
    if imu is None or cell is None or cell.clock is None:
        return None
    times: FloatArray = cell.clock.to_reference(cell.even.times_s)
    some = slice(0, int(np.count_nonzero(times < times[0] + MOUNTED_S)))
    felt = imu_motion(imu.even.times_s, imu.even.x[:, :3], imu.even.x[:, 3:], np.eye(4))
    motion, found = resample_motion(felt, times[some]), dict[str, Placement]()
    for sign, factor in (("on-other-side", -1.0), ("on-handle", 1.0)):
        with suppress(DataProblem):
            found[sign] = imu_on_load_cell(motion, factor * cell.even.x[some])
    if not found:
        return None
    sign, placed = max(found.items(), key=lambda item: item[1].explained)
    rows = ", ".join(f"[{', '.join(f'{x:.5f}' for x in row)}]" for row in placed.R_ab)
    place = ", ".join(f"{x:.4f}" for x in placed.r_ab)
    return sign, [f"  rotation: [{rows}]", f"  translation: [{place}]"], placed.explained


def _markers(text: str, recording: Recording, lines: _Lines) -> str:
    """All markers of the recording as those of the body, the first three as the sensor's."""
    names = [n for n, c in recording.channels.items() if c.samples.ndim == 2] or list(marker_columns(recording))
    names = [n for n in names if not n.rpartition(":")[2].startswith(("V_", "*"))]
    listed, why = json.dumps(names), "all markers of the recording, as if on one rigid body"
    lines.guess(f"  body: {listed}", why, "markers.body")
    text = re.sub(r"(?m)^  body: .*$", lambda _: lines.lines[-1], text)
    return re.sub(r"(?m)^  sensor:\n(    .*\n| {6}.*\n)*", "", text)


def _entry(kind: str, recording: Recording, file: str, only: Sequence[str] | None = None) -> str:
    """A recording as the experiment file names it; of a table, with its columns in order, of those named in only."""
    channels, maps = recording.channels, "columns" in FORMATS[recording.format].options
    channels = channels if only is None else {n: channels[n] for n in only}
    words = [f"file: {json.dumps(file)}", f"format: {recording.format}"]
    if not maps:
        return f"{{{', '.join(words)}}}"
    if kind == "mocap":
        triples = marker_columns(recording) or {n: [n] for n in channels}
        columns = {name: f"{{column: {json.dumps(parts)}}}" for name, parts in triples.items() if len(parts) == 3}
    else:
        wanted = {"wrench": (("force", "N"), ("torque", "N m")), "imu": (("acceleration", "m/s2"), ("speed", "rad/s"))}
        columns = dict[str, str]()
        for of, unit in wanted[kind]:
            names = [n for n, c in channels.items() if kind_of(c) == of][:3]
            label = {"speed": "angular_rate"}.get(of, of)
            for axis, name in zip(AXES, names, strict=False):
                own = name_and_unit(channels[name])[1]
                own = own if not own or si_or_none(own) else json.dumps(own)  # which identify refuses by its name
                stated = "" if channels[name].unit != "1" else f", unit: {own or unit}"
                columns[f"{label}.{axis}"] = f"{{column: {json.dumps(name)}{stated}}}"
    inner = ", ".join(f"{name}: {column}" for name, column in columns.items())
    return f"{{{', '.join(words)}, columns: {{{inner}}}}}" if columns else f"{{{', '.join(words)}}}"


def _relative(path: Path, file: Path) -> str:
    """The recording as seen from the experiment file."""
    return Path(relpath(path, file.parent)).as_posix()
