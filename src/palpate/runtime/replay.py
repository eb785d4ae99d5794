"""Force in, motion out: a model stepped through a wrench that is given, or through a measured one (replay).

A residual of the wrench says how well a model explains each instant; a replay, which compares the motion that comes out
with the measured one, says whether its errors add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from palpate.elements import EndStop
from palpate.errors import DataProblem, PalpateError
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.physics.arrays import BoolArray, FloatArray, rms, runs
from palpate.physics.functions import ARRAYS, FLOATS
from palpate.physics.motion import log_quaternion, quaternion_product
from palpate.physics.units import shown
from palpate.runtime.equations import quaternion_at
from palpate.runtime.native import compiled
from palpate.runtime.side_by_side import pays, run_side_by_side
from palpate.runtime.stepper import Stepper, StepStatus, end_stops, moving_range, rest

_START_MARGIN = {"rad": math.radians(10.0), "m": 0.05}
"""A window may start this far beyond an end stop of the model: an error of the measured zero."""
_LEAST_TRAVEL = {"rad": math.radians(40.0), "m": 0.15}
"""What a window must travel to count, where end stops or a person's hand keep the object on its way."""
_WINDOW_S, _STEP_S = 10.0, 1e-3
_FALLING_S, _FALLING_STEP_S = 0.5, 5e-3
"""Where nobody holds the object, what leans falls over, and errors grow tenfold in so short a time. The step's own
error is a tenth of what 0.3 mm of marker noise does to the speeds at the start."""
_STOP_HZ = 20.0
_STOP_DAMPING = {"rad": 2.0, "m": 4.0}
"""s/rad and s/m, Hunt and Crossley's damping over stiffness: a door at 1 rad/s and a drawer at 0.5 m/s bounce alike."""
_ELSEWHERE = 0.3
"""Share of its travel from which a window counts as gone elsewhere; its quarters are never asked that again."""
_DIFFERENCE = 1e-4
"""rad, rad/s, m, m/s: of the central differences that linearise a model."""
_JITTER_PART = 0.5
"""Samples may be off an even grid by this part of their period."""


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """One position of the state in a window, measured and simulated."""

    name: str
    unit: str
    """"rad" or "m"."""
    measured: FloatArray
    simulated: FloatArray
    """Both (samples,); the first sample is the measured start."""
    rms: float
    """Of simulated - measured, without the first sample."""
    travel: float
    """From the lowest to the highest measured value."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """One piece of the recording, replayed: a track for each position."""

    start_s: float
    times_s: FloatArray
    tracks: tuple[Track, ...]
    unit: str
    """Of what is judged: all angles together, or all lengths where nothing turns."""
    anew: float | None = None
    """Of a window that went elsewhere: the median error of its quarters, each begun anew from what was measured. What
    snaps shut or falls over goes elsewhere once; a wrong model does so wherever it begins."""

    @property
    def judged(self) -> tuple[Track, ...]:
        """The tracks in the judged unit."""
        return tuple(t for t in self.tracks if t.unit == self.unit)

    @property
    def rms(self) -> float:
        """Root of the sum of squares over what is judged."""
        return math.hypot(*(t.rms for t in self.judged))

    @property
    def travel(self) -> float:
        """The largest of what is judged."""
        return max(t.travel for t in self.judged)


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """The windows that count: those that travel at least `least_travel`."""

    windows: tuple[Window, ...]
    unit: str
    """Of `rms` and `least_travel`: "rad", or "m" where nothing turns."""
    window_s: float
    least_travel: float
    played: str = "Python"
    """"C" or "Python": the steps in which they were played; the numbers are the same."""
    not_in_c: str = ""
    """Why C failed that was to be compiled; empty where it did not, or nobody tried."""

    @property
    def rms(self) -> float:
        """Over all samples of the windows, which have the same length; NaN if there are none."""
        return rms(np.array([w.rms for w in self.windows])) if self.windows else math.nan

    @property
    def errors(self) -> dict[str, tuple[float, str]]:
        """The RMS and unit of every position, by its name in the state; empty if no window counts."""
        tracks = zip(*(w.tracks for w in self.windows), strict=True)
        return {t[0].name: (rms(np.array([x.rms for x in t])), t[0].unit) for t in tracks}


def replay(
    model: Model,
    times_s: FloatArray,
    wrench: FloatArray,
    states: FloatArray,
    *,
    window_s: float | None = None,
    dt: float | None = None,
    least_travel: float | None = None,
    most_s: float = math.inf,
) -> Replay:
    """Step the model through a recording, window by window, each from the measured state at its first sample.

    `times_s` (samples,), even; `wrench` (samples, 6) of the person on the object, in the body frame about its origin;
    `states` (samples, len(state)) as the mechanism names them (`apart`), measured. NaN is what is not known: a window
    has none.
    Between samples the wrench is linear. The step is the longest up to `dt` that divides the period of the samples;
    positions and speeds are staggered by half of it (`half_step_back`), so that what shows is the model's error, not
    the step's. A window counts, and is played, if it travels at least `least_travel` (rad, or m where nothing turns);
    where all that count would take longer than `most_s`, so many of them, spread evenly.

    Without these options, an object with a main coordinate is replayed in windows of 10 s that travel 40 deg or 15 cm;
    one that nobody holds falls: windows of 0.5 s, and all of them count.

        played = replay(model, times_s, wrench, np.column_stack([angle, speed]))
        math.degrees(played.rms)
    """
    mechanism, count = model.mechanism.apart(), len(times_s)
    guided, names = mechanism.main is not None, mechanism.state
    shown_names, units = _shown(mechanism)
    unit = "rad" if "rad" in units else "m"
    window_s = (_WINDOW_S if guided else _FALLING_S) if window_s is None else window_s
    dt = (_STEP_S if guided else _FALLING_STEP_S) if dt is None else dt
    least_travel = (_LEAST_TRAVEL[unit] if guided else 0.0) if least_travel is None else least_travel
    if times_s.shape != (count,) or wrench.shape != (count, 6) or states.shape != (count, len(names)):
        raise DataProblem(
            "replay",
            f"times, wrench and states must be (n,), (n, 6) and (n, {len(names)}), "
            f"not {times_s.shape}, {wrench.shape} and {states.shape}",
        )
    if not (dt > 0 and window_s > 0):
        raise PalpateError(f"replay: window and step must be positive times in s, not {window_s!r} and {dt!r}")
    period = _period(times_s)
    if not math.isfinite(period):  # fewer than two samples with increasing times
        return Replay((), unit, window_s, least_travel)
    steps = max(1, math.ceil(period / dt - 1e-6))
    stepper = Stepper(model, period / steps)
    known = np.isfinite(times_s) & np.isfinite(wrench).all(axis=1) & np.isfinite(states).all(axis=1)
    whole = np.hstack([states, _remembered(model, times_s, states)])  # a window may only begin where that is known
    turned = quaternion_at(mechanism)
    judged = [i for i, its in enumerate(units) if its == unit and shown_names[i] not in mechanism.following]
    pieces = _cut(times_s, known, period, max(1, round(window_s / period)))
    pieces = [p for p in pieces if np.ptp(_seen(states[p], turned)[:, judged], axis=0).max() >= least_travel]
    most = max(1, int(min(len(pieces), most_s / window_s)))
    pieces = [pieces[len(pieces) * i // most] for i in range(most)] if most < len(pieces) else pieces
    pieces = [p for p in pieces if np.isfinite(whole[p.start]).all()]
    begun = [_begun(model, stepper, whole[p][0], wrench[p][0], period / steps) for p in pieces]
    ways = [(p, start) for p, start in zip(pieces, begun, strict=True) if start is not None]
    paths, played, failed = _stepped(stepper, [(start, wrench[p]) for p, start in ways], steps)
    windows: list[Window] = []
    for (piece, _), path in zip(ways, paths, strict=True):
        if not np.isfinite(path).all():
            continue
        path[0] = whole[piece][0]
        both = (_seen(x, turned) for x in (states[piece], path))
        columns = zip(shown_names, units, *(x.T for x in both), strict=False)
        tracks = tuple(
            Track(name, its, measured, simulated, rms((simulated - measured)[1:]), float(np.ptp(measured)))
            for name, its, measured, simulated in columns
            if name not in mechanism.following  # nobody measured it
        )
        window = Window(float(times_s[piece][0]), times_s[piece], tracks, unit)
        if guided and least_travel > 0 and window.rms > _ELSEWHERE * window.travel:
            part = times_s[piece], wrench[piece], states[piece]
            quarters = replay(model, *part, window_s=window_s / 4, dt=dt, least_travel=0.0).windows
            window = replace(window, anew=float(np.median([w.rms for w in quarters])) if quarters else None)
        windows.append(window)
    return Replay(tuple(windows), unit, window_s, least_travel, played, failed)


def _remembered(model: Model, times_s: FloatArray, states: FloatArray) -> FloatArray:
    """(samples, numbers): what elements remember on this way; NaN where it does not tell."""
    if not model.memory:
        return np.empty((len(states), 0))
    still = [np.zeros(len(states)) for _ in model.mechanism.accelerations]
    memory = model.remembering(model.mechanism.expand(list(states.T), still, ARRAYS), times_s).memory
    return np.stack([x for numbers in memory.values() for x in numbers], axis=1)


def _shown(mechanism: Mechanism) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names and units of the positions as a replay compares them: a quaternion as turns since the window began."""
    at, names, units = quaternion_at(mechanism), mechanism.state, mechanism.position_units
    if at is None:
        return names[: len(units)], units
    return (*names[:at], "turn_x", "turn_y", "turn_z"), (*units[:at], *["rad"] * 3)


def _seen(states: FloatArray, quaternion: int | None) -> FloatArray:
    """(samples, positions) of states, with the rotation vector since the first instead of a quaternion, rad."""
    if quaternion is None:
        return states
    q = states[:, quaternion : quaternion + 4]
    since = quaternion_product(q[:1] * np.array([1.0, -1.0, -1.0, -1.0]), q)
    return np.hstack([states[:, :quaternion], log_quaternion(since)])


def led_astray(model: Model, states: FloatArray, forces: FloatArray, held: BoolArray, period: float) -> FloatArray:
    """(samples, windows, ways): by how much small forces along the main coordinate lead the motion away (rad, m).

    `states` (samples, windows, 2) measured, `forces` (samples, windows, ways) N m or N, `held` (samples, windows): at
    rest, where dry friction lets nothing move that does not fall over. The variational equation of the motion (Hairer,
    Norsett, Wanner, Solving Ordinary Differential Equations I, I.14), M e'' + D e' + K e = force, from e = e' = 0; M, D
    and K along what was seen.
    """
    q, u = states[..., 0], states[..., 1]

    def needed(position: FloatArray, speed: FloatArray, acceleration: float = 0.0) -> FloatArray:
        return model.along(position.ravel(), speed.ravel(), acceleration).reshape(q.shape)

    M = (needed(q, u, 1.0) - needed(q, u))[..., None]
    D, K = (
        ((needed(q + a, u + b) - needed(q - a, u - b)) / (2 * _DIFFERENCE))[..., None]
        for a, b in ((0.0, _DIFFERENCE), (_DIFFERENCE, 0.0))
    )
    away, error, rate = np.zeros_like(forces), np.zeros(forces.shape[1:]), np.zeros(forces.shape[1:])
    for i in range(1, len(forces)):
        rate = (rate + period * (forces[i - 1] - K[i - 1] * error) / M[i - 1]) / (1 + period * D[i - 1] / M[i - 1])
        rate = np.where(held[i - 1, :, None] & (K[i - 1] >= 0), 0.0, rate)
        away[i] = error = error + period * rate
    return away


def with_stops(model: Model, lowest: float, highest: float) -> Model:
    """The object with hard end stops at these main positions (rad or m), where it has none on that side.

    Pressed, the body would swing on them at 20 Hz, and it hardly bounces: a frame and a doorstop whose stiffness nobody
    measured, so that a replay does not go through them.
    """
    mechanism = model.mechanism
    if mechanism.main is None:
        raise PalpateError(f"model {model.name!r}: it has no main coordinate that end stops could act on")
    still, moved = (model.along(0.5 * (lowest + highest), 0.0, a) for a in (0.0, 1.0))
    k = float(moved - still) * (2 * math.pi * _STOP_HZ) ** 2
    values = (k, _STOP_DAMPING[mechanism.coordinates[mechanism.main]] * k)
    low, high = end_stops(model)
    stops = (
        *([EndStop("lowest_stop", mechanism.main, lowest, "lowest")] if math.isinf(low) else []),
        *([EndStop("highest_stop", mechanism.main, highest, "highest")] if math.isinf(high) else []),
    )
    stopped = replace(model, elements=(*model.elements, *stops), values={})
    return stopped.with_values([*model.p, *values * len(stops)])


def _period(times_s: FloatArray) -> float:
    """The mean time between samples, pauses apart; stamps may be rounded to whole milliseconds."""
    gaps = np.diff(times_s)
    gaps = gaps[gaps > 0]
    if not len(gaps):
        return math.nan
    middle = float(np.median(gaps))
    return float(gaps[np.abs(gaps / middle - 1.0) <= _JITTER_PART].mean())


def _cut(times_s: FloatArray, known: BoolArray, period: float, length: int) -> list[slice]:
    """Windows of `length` periods, end to end, in each stretch that is known and even."""
    joined = known[1:] & known[:-1] & (np.abs(np.diff(times_s) / period - 1.0) <= _JITTER_PART)
    pieces = [slice(at, at + length + 1) for a, b in runs(joined) for at in range(a, b + 1 - length, length)]
    even = np.arange(length + 1) * period
    return [p for p in pieces if np.abs(times_s[p] - times_s[p.start] - even).max() <= _JITTER_PART * period]


def finer(x: FloatArray, steps: int) -> FloatArray:
    """(samples, columns) with so many steps to a sample, linear between samples and without the last."""
    share = (np.arange(steps) / steps)[:, None]
    return (x[:-1, None] * (1 - share) + x[1:, None] * share).reshape(-1, x.shape[1])


def half_step_back(stepper: Stepper, state: FloatArray, wrench: FloatArray, dt: float) -> None:
    """Begin at a state with the speeds of half a step earlier, so that wrenches count where the positions are.

    A semi-implicit step then is one of leapfrog: of second order where the forces are smooth (Hairer, Lubich, Wanner,
    Geometric Numerical Integration, I.1.4). What a step gives as speeds belongs to its middle.
    """
    out = np.empty(stepper.size)
    stepper.reset(state)
    stepper.step(wrench, out)
    accelerations, start = out[len(state) :], state.copy()
    count = len(stepper.terms.model.mechanism.state)
    speeds = slice(count - len(accelerations), count)
    start[speeds] -= 0.5 * dt * accelerations
    stepper.reset(start)


def _begun(model: Model, stepper: Stepper, measured: FloatArray, wrench: FloatArray, dt: float) -> FloatArray | None:
    """The state in which a window begins, half a step back; None where that is beyond an end stop of the model or out
    of its linkage's reach.
    """
    start, (low, high), unit = measured.copy(), end_stops(model), model.mechanism.position_units[0]
    # a stop that is pressed by an error of the zero position would throw the object out
    start[0] = min(max(start[0], low), high)
    if abs(start[0] - measured[0]) > _START_MARGIN.get(unit, math.inf):
        return None
    try:
        half_step_back(stepper, start, wrench, dt)
    except PalpateError:
        return None
    return stepper.state


def _stepped(
    stepper: Stepper, begun: Sequence[tuple[FloatArray, FloatArray]], steps: int
) -> tuple[list[FloatArray], str, str]:
    """States (samples, state) through each window from its start and wrench, `steps` a sample; NaN in the end where
    they lead nowhere. Then `Replay.played` and `Replay.not_in_c`.
    """
    if pays(stepper.terms, len(begun)):
        starts, wrenches = np.array([s for s, _ in begun]), np.array([w for _, w in begun]).swapaxes(0, 1)
        return list(run_side_by_side(stepper.terms, starts, wrenches, steps).swapaxes(0, 1)), "Python", ""

    def in_python(start: FloatArray, wrenches: FloatArray) -> FloatArray | None:
        path = np.empty((len(wrenches), stepper.size))
        stepper.reset(start)
        lost = (stepper.run(wrenches, path) == StepStatus.NOT_FINITE).any()
        return None if lost else path[:, : len(start)]

    in_c, failed = None, ""
    try:
        in_c = compiled(stepper.terms, sum(steps * (len(wrench) - 1) for _, wrench in begun))
    except PalpateError as e:
        failed = str(e)
    run = in_c or in_python
    paths: list[FloatArray] = []
    for start, wrench in begun:
        path = run(start, finer(wrench, steps))
        lost = np.full((len(wrench), len(start)), np.nan)
        paths.append(lost if path is None else np.vstack([start, path[steps - 1 :: steps]]))
    return paths, "Python" if in_c is None else "C", failed


WRENCH_NAMES = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")
WRENCH_UNITS = ("N", "N", "N", "N m", "N m", "N m")
_OUTSIDE_RANGE = {"rad": math.radians(2.0), "m": 0.01}
_STEP_LIMIT = 10_000_000
"""Steps of one simulation."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A simulation: times (steps,) s at the end of each step, wrench (steps, 6), states, accelerations, statuses."""

    times_s: FloatArray
    wrench: FloatArray
    motion: FloatArray
    names: tuple[str, ...]
    units: tuple[str, ...]
    status: NDArray[np.int8]

    def csv(self) -> str:
        """A table with units in its header."""
        import io

        names, units = ("time", *WRENCH_NAMES, *self.names), ("s", *WRENCH_UNITS, *self.units)
        heads = [f"{n} [{u}]" for n, u in zip(names, units, strict=True)]
        text = io.StringIO()
        table = np.column_stack([self.times_s, self.wrench, self.motion, self.status])
        formats = ["%.9g"] * (table.shape[1] - 1) + ["%d"]
        np.savetxt(text, table, delimiter=",", header=",".join([*heads, "status"]), comments="", fmt=formats)
        return text.getvalue()


def simulate(model: Model, wrench: FloatArray, dt: float, start: FloatArray | None = None) -> Run:
    """Step the model through a wrench (steps, 6): N and N m, in the body frame about its origin."""
    stepper = Stepper(model, dt)
    if start is not None:
        stepper.reset(start)
    motion = np.empty((len(wrench), stepper.size))
    status = stepper.run(np.ascontiguousarray(wrench), motion)
    if (status == StepStatus.NOT_FINITE).any():
        first = int(np.argmax(status == StepStatus.NOT_FINITE))
        raise PalpateError(f"the simulation breaks down at {first * dt:.4g} s: its numbers are no longer finite")
    times_s = np.arange(1, len(wrench) + 1, dtype=float) * dt
    mechanism = stepper.terms.model.mechanism
    units, n = mechanism.units, len(mechanism.accelerations)
    return Run(
        times_s, wrench, motion, stepper.names, (*units[:-n], *model.of_object().memory.values(), *units[-n:]), status
    )


def steady_wrench(
    model: Model, *, torque: float, force: float, sine_hz: float, lever: float, seconds: float, dt: float
) -> FloatArray:
    """(steps, 6): a torque (N m) about z of the body frame and a force (N), steady or swinging.

    The force drives the only joint of a mechanism: across a door, `lever` (m) from its axis, or along what slides. What
    rolls is pushed at the axle, ahead as it stands; others along x of the body frame.
    """
    for name, value in (("--torque", torque), ("--force", force), ("--sine", sine_hz)):
        if not math.isfinite(value) or (name == "--sine" and value < 0):
            raise PalpateError(f"{name}: must be a finite number, a frequency at least 0, not {value!r}")
    t = (np.arange(step_count(seconds, dt)) + 0.5) * dt
    swing = np.sin(2 * np.pi * sine_hz * t) if sine_hz else np.ones(len(t))
    push = np.array([0.0, 0.0, 0.0, 0.0, 0.0, torque])
    if model.mechanism.main is not None:
        drive = drive_wrench(model)
        if torque and not drive[3:].any():
            raise PalpateError(f"--torque: {model.name!r} slides, and no torque moves it: push it with --force, in N")
        push += drive * (force * lever if drive[3:].any() else force)
    elif model.mechanism.wheel is not None:
        push[:3] = force * np.array(model.mechanism.place(rest(model), FLOATS)[0][0])
    else:
        push[0] = force
    return np.outer(swing, push)


def drive_wrench(model: Model) -> FloatArray:
    """(6,) 1 N m about the axis of the last joint or 1 N along it, in the body frame: what moves the object.

    Without joints: the force, or else the moment, that moves it best where it begins.
    """
    if model.mechanism.placed:
        state = rest(model)[: len(model.mechanism.state)]
        k = model.mechanism.expand(state, [0.0] * len(model.mechanism.accelerations), FLOATS)
        P = np.array([model.mechanism.project(k, unit, FLOATS)[0] for unit in np.eye(6).tolist()], dtype=float)
        P[3:] = 0.0 if P[:3].any() else P[3:]
        return P / np.linalg.norm(P)
    joint = model.mechanism.joints[-1]
    return np.array([0.0, 0.0, 0.0, *joint.axis] if joint.kind == "turn" else [*joint.axis, 0.0, 0.0, 0.0])


def missing_stops(model: Model) -> str:
    """Which end stops of the main coordinate the model has not got, in a sentence; empty if none is missing."""
    main = model.mechanism.main
    if main is None or model.mechanism.endless:
        return ""
    missing = [side for side, at in zip(("lowest", "highest"), end_stops(model), strict=True) if math.isinf(at)]
    if not missing:
        return ""
    turns = model.mechanism.coordinates[main] == "rad"
    what, example = ("angle", "0,92 (deg)") if turns else ("position", "0,0.4 (m)")
    return (
        f"the model has no end stop at the {' and the '.join(missing)} {what}: nothing holds it there, neither frame "
        f"nor wall. Add end stops with the option stops, such as {example}."
    )


def through_the_frame(model: Model, positions: FloatArray) -> str:
    """Whether a door left the main positions for which its linkage was described, in words; empty if not."""
    mechanism = model.mechanism
    if mechanism.main is None or mechanism.described is None:
        return ""
    unit, (low, high) = mechanism.coordinates[mechanism.main], moving_range(model)
    if float(positions.min()) > low - _OUTSIDE_RANGE[unit] and float(positions.max()) < high + _OUTSIDE_RANGE[unit]:
        return ""
    span = f"{shown(low, unit, digits=0, named=False)} to {shown(high, unit, digits=0)}"
    return f"it left {span}, the range of its linkage: the model has no end stop there. Add stops with --stops"


def step_count(seconds: float, dt: float) -> int:
    """How many steps of dt (s) these seconds take; refuses what the options --for and --step must not be."""
    for name, value in (("--for", seconds), ("--step", dt)):
        if not (math.isfinite(value) and value > 0):
            raise PalpateError(f"{name}: must be a positive time in s, not {value!r}")
    count = round(seconds / dt)
    if not 1 <= count <= _STEP_LIMIT:
        raise PalpateError(f"{seconds:g} s in steps of {dt:g} s are {count} steps: 1 to {_STEP_LIMIT} are possible")
    return count
