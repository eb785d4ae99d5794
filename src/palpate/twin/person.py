"""A person who moves an object along one coordinate: what they do when, their arm, and what happens then."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np
from scipy.ndimage import binary_dilation

from palpate.errors import PalpateError
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS
from palpate.physics.motion import minimum_jerk
from palpate.runtime import Stepper, StepStatus
from palpate.twin import instruments as tools

_RELEASE_S, _GRASP_S = 0.15, 0.3
_LET_GO_S = 6.5
"""How long the object is left alone."""
_SHAKING_HZ = (0.6, 3.0)
DEGREE = math.radians(1.0)
"""A small step of an angle; along a length a person moves by `STEP_M` where it would be a degree."""
STEP_M = 0.005
DT_S = 5e-4


@dataclass(frozen=True, slots=True)
class Phase:
    """One thing that a person does: go somewhere, stay, perhaps shake; or let go."""

    seconds: float
    target: float | None
    """rad or m; None: nobody touches it."""
    moving_s: float = 0.0
    """How long going there takes; the rest of the phase stays there."""
    shake: float = 0.0
    """Amplitude, rad or m."""
    recorded: bool = True


@dataclass(frozen=True, slots=True)
class Session:
    """What is done when, s: an object left alone, a sweep in steps, and dynamic blocks."""

    start_s: float = 0.0
    """Until then nobody touches it and nothing is recorded of use."""
    still_s: float = 5.5
    sweep_s: float = 54.7
    steps: float = 4.0
    """Step of the sweep, in degrees (paper, Data Collection) or `STEP_M`."""
    blocks: tuple[tuple[str, float], ...] = (("train", 48.1), ("test", 33.0), ("train", 8.7))
    tail_s: float = 4.0

    @property
    def duration_s(self) -> float:
        """Length of the whole recording."""
        return self.start_s + self.still_s + self.sweep_s + sum(s for _, s in self.blocks) + self.tail_s

    @property
    def segments(self) -> dict[str, list[tuple[float, float]]]:
        """Name -> from, to (s), a little inside of what happens."""
        sweep = self.start_s + self.still_s
        spans = {
            "static": [(self.start_s + 0.5, sweep - 1.0)],
            "quasi_static": [(sweep + 0.5, sweep + self.sweep_s - 0.2)],
        }
        t = sweep + self.sweep_s
        for name, seconds in self.blocks:
            spans.setdefault(name, []).append((t + 0.2, t + seconds - 0.2))
            t += seconds
        return {name: [(round(a, 2), round(b, 2)) for a, b in pairs] for name, pairs in spans.items()}


def intention(
    phase: Phase, rng: np.random.Generator, t: FloatArray, start: float, *, held: bool
) -> tuple[FloatArray, FloatArray]:
    """The wanted position and the grip, 0 (let go) to 1, at times t of a phase (s) that begins at `start`.

    `held`: the hand was on it before.
    """
    if phase.target is None:
        grip = 1.0 - minimum_jerk(t / _RELEASE_S) if held else np.zeros_like(t)
        return np.full_like(t, start), grip
    angle = start + (phase.target - start) * minimum_jerk(t / max(phase.moving_s, 0.01))
    if phase.shake > 0:
        edge = minimum_jerk(t / 0.4) * minimum_jerk((phase.seconds - t) / 0.4)
        angle = angle + phase.shake * edge * tools.smooth_noise(rng, t, *_SHAKING_HZ, 4)
    return angle, np.ones_like(t) if held else minimum_jerk(t / _GRASP_S)


def plan(
    rng: np.random.Generator,
    session: Session,
    travel: tuple[float, float],
    vigour: float,
    *,
    degree: float = DEGREE,
    one_way: bool = False,
) -> tuple[Phase, ...]:
    """The phases of a session between the ends of a travel, rad or m; degree: a small step of it.

    `vigour`: a factor of the speeds. `one_way`: it is only ever pushed open, slowly; while it closes nothing is
    recorded.
    """
    phases = [Phase(session.start_s + session.still_s, None), *_sweep(session, travel, degree, one_way)]
    for _, seconds in session.blocks:
        phases += (
            _slow_openings(rng, seconds, travel[1], degree)
            if one_way
            else _strokes(rng, seconds, travel, vigour, degree)
        )
    return (*phases, Phase(session.tail_s, None, recorded=not one_way))


def _sweep(session: Session, travel: tuple[float, float], degree: float, one_way: bool) -> list[Phase]:
    """Open and back in steps with holds between."""
    (shut, widest), step = travel, session.steps * degree
    seconds, count = session.sweep_s, int((widest - degree - shut) / step)
    up = [shut + step * (i + 1) for i in range(count)]
    if one_way:
        each = (seconds - _LET_GO_S) / len(up)
        return [*(Phase(each, a, 0.4 * each) for a in up), Phase(_LET_GO_S, None, recorded=False)]
    targets = [*up, *up[-2::-1], shut - 1.5 * degree]
    each = (seconds - 1.0) / len(targets)
    return [*(Phase(each, a, 0.4 * each) for a in targets), Phase(1.0, None)]


def _slow_openings(rng: np.random.Generator, seconds: float, widest: float, degree: float) -> list[Phase]:
    each = seconds / max(1, round(seconds / 13.0))
    pushed = max(0.5 * each, each - _LET_GO_S)
    close = Phase(each - pushed, None, recorded=False)
    ends = (widest - degree * float(rng.uniform(4, 10)) for _ in range(round(seconds / each)))
    return [phase for end in ends for phase in (Phase(pushed, end, 0.95 * pushed), close)]


_CYCLE = ("let go", "swing", "shake", "slam", "swing", "shake", "shut", "swing", "shake", "swing")


def _strokes(
    rng: np.random.Generator, seconds: float, travel: tuple[float, float], vigour: float, degree: float
) -> list[Phase]:
    """Strokes at different speeds through all zones, shaking, letting go, hitting the stops: in any order."""
    phases, todo, left, at, misses = list[Phase](), list[str](), seconds, travel[0], 0
    while left > 1.0 and misses < 3 * len(_CYCLE):  # from some places nothing is short enough
        if not todo:
            todo = [str(kind) for kind in rng.permutation(_CYCLE)]
            if left > 12.0:  # what it does by itself is in every block that is long enough
                todo.remove("let go")
                todo.insert(len(todo) - 1, "let go")
        new = _stroke(rng, todo.pop(), at, travel, vigour, degree)
        length = sum(p.seconds for p in new)
        misses = misses + 1 if length > left else 0
        if misses:
            continue
        phases += new
        left -= length
        at = travel[0] if new[-1].target is None else new[-1].target
    return [*phases, Phase(left, at)] if left > 1e-9 else phases


def _stroke(
    rng: np.random.Generator, kind: str, at: float, travel: tuple[float, float], vigour: float, degree: float
) -> list[Phase]:
    (shut, widest), per_rad = travel, degree / DEGREE

    def go(to: float, fastest: float, stay: float) -> Phase:
        moving = max(0.6, 1.875 * abs(to - at) / (fastest * per_rad))  # the peak speed of a minimum-jerk stroke
        return Phase(moving + stay, to, moving)

    def somewhere(low: float, high: float) -> float:
        return float(rng.uniform(shut + low * (widest - shut), shut + high * (widest - shut)))

    speed, stay = vigour * float(rng.uniform(0.6, 2.0)), float(rng.uniform(0.05, 0.4))
    match kind:
        case "shake":
            to = somewhere(0.08, 0.92)
            seconds = float(rng.uniform(2.5, 4.0))
            return [Phase(seconds, to, 0.6 * seconds, vigour * degree * float(rng.uniform(5.0, 12.0)))]
        case "slam":
            return [go(widest + 4.0 * degree, min(speed, 1.3), 0.4)]
        case "shut":
            return [go(shut - 3.0 * degree, min(speed, 1.0), 0.5)]
        case "let go":
            return [go(somewhere(0.65, 0.95), speed, stay), Phase(_LET_GO_S, None)]
        case _:
            far = somewhere(0.6, 0.97) if at < shut + 0.5 * (widest - shut) else somewhere(0.05, 0.5)
            return [go(far, speed, stay)]


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """What really happened: series of (steps,), rad or m, N m or N."""

    times_s: FloatArray
    position: FloatArray
    """Zero where it is shut, positive when open."""
    speed: FloatArray
    acceleration: FloatArray
    effort: FloatArray
    """Of the person on all that moves, along the coordinate."""
    pushed: FloatArray
    """The effort that the stepper got; it differs from `effort` by the stepper's error of first order."""
    grip: FloatArray
    """0 where nobody touches it."""
    status: FloatArray
    """`StepStatus` of each step."""
    recorded: FloatArray
    """0 where the cameras are off."""

    def at(self, name: str, times_s: FloatArray) -> FloatArray:
        """One of the series, interpolated; before its beginning and after its end it is constant."""
        series: FloatArray = getattr(self, name)
        return np.interp(times_s, self.times_s, series)


@dataclass(frozen=True, slots=True)
class Arm:
    """A person's arm along the coordinate: K (wanted - position) + D (wanted' - speed) (Hogan 1985)."""

    stiffness: float
    """N m/rad or N/m."""
    damping: float
    """N m s/rad or N s/m."""
    strongest: float
    """N m or N, the most that it does; the effort goes to it smoothly."""
    tremor: float
    """N m or N, twice the standard deviation of what it adds without meaning to."""


def simulate(
    whole: Model,
    phases: Sequence[Phase],
    arm: Arm,
    travel: tuple[float, float],
    rng: np.random.Generator,
    *,
    dt: float = DT_S,
    start: float | None = None,
    settled_s: float = 1.5,
) -> Truth:
    """The arm moves an object along its coordinate through the stepper, with real sticking; of two bodies the outer.

    whole: all that moves, its stops at the ends of the travel; start: where it is let go, else at the lower end;
    settled_s: how long before anything is recorded.

    A step is read as leapfrog (Hairer, Lubich, Wanner, Geometric Numerical Integration, I.1.4): positions at the steps,
    speeds between them, so speed and acceleration are central differences. While the object slides free of its stops
    the effort is what that motion needs (inverse dynamics), so the balance holds to second order in dt.
    """
    mechanism, stepper, wrench = whole.mechanism.apart(), Stepper(whole, dt), [0.0] * 6
    size, freedoms = len(mechanism.state), len(mechanism.accelerations)
    fast, out = size - freedoms, [0.0] * (size + freedoms)  # where speeds begin
    K, D, most, tanh = arm.stiffness, arm.damping, arm.strongest, math.tanh
    whole.mechanism.chain()
    (row,) = whole.mechanism.row_components
    stepper.reset([travel[0] if start is None else start] * fast + [0.0] * freedoms)
    for _ in range(round(settled_s / dt)):  # what presses it onto its frame, where it rests
        now = out[:size]
        stepper.step(wrench, out)
        if not any(now[fast:]) and out[:size] == now:  # left alone, it goes on resting
            break
    stepper.reset(out[:fast] + [0.0] * freedoms)
    places = np.linspace(*travel, 100)  # where no stop is pressed
    learned = places, 0.8 * whole.along(places)  # people know most of the effort that holds it there
    now = stepper.state.tolist()
    q, v = now[0], now[fast]
    aim, held = q, False
    rows, grips, recorded = list[tuple[float, ...]](), list[FloatArray](), list[FloatArray]()
    ends = [0, *(round(s / dt) for s in accumulate(phase.seconds for phase in phases))]
    for phase, (first, last) in zip(phases, pairwise(ends), strict=True):
        t = np.arange(last - first, dtype=float) * dt
        wanted, grip_levels = intention(phase, rng, t, aim if held else q, held=held)
        tremor = arm.tremor * tools.smooth_noise(rng, t, 0.3, 3.0, 8)
        rate = np.diff(wanted, append=wanted[-1:]) / dt
        ahead = np.interp(wanted, *learned) + D * rate + tremor
        for goal, more, grip in zip(wanted.tolist(), ahead.tolist(), grip_levels.tolist(), strict=True):
            effort = most * tanh(grip * (K * (goal - q) - D * v + more) / most)
            wrench[row] = effort
            status = stepper.step(wrench, out)
            rows.append((*now, *out[fast:size], effort, status))
            rests = phase.target is None and grip == 0.0 and not any(now[fast:])
            if rests and out[:size] == now:  # left alone, it goes on resting
                rows += rows[-1:] * (last - len(rows))
                break
            now = out[:size]
            q, v = now[0], now[fast]
        grips.append(grip_levels)
        recorded.append(np.full(len(t), float(phase.recorded)))
        held = phase.target is not None
        aim = float(wanted[-1]) if len(t) else aim
    columns = np.array(rows).T
    positions, before, after = np.split(columns[:-2], [fast, size])
    pushed, states = columns[-2:]
    if (states == StepStatus.NOT_FINITE).any():
        raise PalpateError(f"the simulated {whole.name} came to an impossible state")
    speed, acceleration = (before + after) / 2, (after - before) / dt
    slides = (before[0] * after[0] > 0) & ~binary_dilation(
        states == StepStatus.AT_LIMIT
    )  # and one step more on either side
    k = mechanism.expand((*positions, *speed), list(acceleration), ARRAYS)
    needed = np.asarray(replace(whole, mechanism=mechanism).wrench(k, ARRAYS)[0], dtype=float)
    times_s, effort = np.arange(len(rows), dtype=float) * dt, np.where(slides, needed, pushed)
    grip, seen = np.concatenate(grips), np.concatenate(recorded)
    return Truth(times_s, positions[0], speed[0], acceleration[0], effort, pushed, grip, states, seen)
