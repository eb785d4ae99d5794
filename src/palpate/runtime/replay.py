"""Replay: the measured force goes into the model, and the motion that comes out is compared with the measured one.

A residual of the wrench says how well a model explains each instant; a replay says whether its errors add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from palpate.elements import EndStop
from palpate.errors import DataProblem, PalpateError
from palpate.mechanisms import Hinge
from palpate.mechanisms.hinge import HINGE
from palpate.model import Model
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.functions import FLOATS
from palpate.runtime.advance import Status
from palpate.runtime.stepper import Stepper

_MARGIN = math.radians(10.0)
"""A simulated door this far (rad) beyond all angles that were ever measured went through its frame."""
_UNEVEN = 0.5
"""Samples may be off an even grid by this part of their period."""


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """One position of the state in a window, measured and simulated; m or rad."""

    name: str
    measured: FloatArray
    simulated: FloatArray
    """Both (samples,); the first sample is the measured start."""
    rms: float
    """Of simulated - measured, without the first sample."""
    travel: float
    """From the lowest to the highest measured value."""
    beyond: float
    """How far the simulation leaves all that was visited in the whole recording; 0 if it does not."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """One piece of the recording, replayed: a track for each position; of a hinge the angle is the first and only."""

    start_s: float
    times_s: FloatArray
    tracks: tuple[Track, ...]

    @property
    def measured(self) -> FloatArray:
        """(samples,) of the first position."""
        return self.tracks[0].measured

    @property
    def simulated(self) -> FloatArray:
        """(samples,) of the first position."""
        return self.tracks[0].simulated

    @property
    def rms(self) -> float:
        """Of the first position."""
        return self.tracks[0].rms

    @property
    def travel(self) -> float:
        """Of the first position."""
        return self.tracks[0].travel

    @property
    def beyond(self) -> float:
        """Of the first position."""
        return self.tracks[0].beyond

    @property
    def left(self) -> bool:
        """Whether a hinge left the visited range by more than 10 deg: a model without end stops, or a bad one."""
        return self.beyond > _MARGIN


@dataclass(frozen=True, slots=True)
class Skipped:
    """A stretch of the recording that was not replayed, seconds, and the reason."""

    start_s: float
    end_s: float
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """All windows, those that count (at least `least_travel`), and what was left out."""

    windows: tuple[Window, ...]
    skipped: tuple[Skipped, ...]
    least_travel: float

    @property
    def scored(self) -> tuple[Window, ...]:
        """The windows that travel far enough to tell something."""
        return tuple(w for w in self.windows if w.travel >= self.least_travel)

    @property
    def score(self) -> float:
        """RMS of the first position over all samples of the windows that count; NaN if there are none."""
        return _pooled(self.scored)

    @property
    def scores(self) -> dict[str, float]:
        """The same of every position, by its name in the state (m, rad); empty if there are no windows that count."""
        names = [t.name for t in self.scored[0].tracks] if self.scored else []
        return {name: _pooled(self.scored, i) for i, name in enumerate(names)}

    @property
    def score_inside(self) -> float:
        """The same without the windows that left the visited range; it flatters a bad model, so say how many."""
        return _pooled(tuple(w for w in self.scored if not w.left))


def replay(
    model: Model,
    times_s: FloatArray,
    wrench: FloatArray,
    state: FloatArray,
    *,
    window_s: float = 10.0,
    dt: float = 1e-3,
    least_travel: float = math.radians(40.0),
) -> Replay:
    """Step the model through a recording, window by window, each from the measured state at its first sample.

    `times_s` (samples,), even; `wrench` (samples, 6) of the person on the object, in the body frame about its origin;
    `state` (samples, states) as the mechanism names it, measured. NaN is what was not seen: a window has none. Between
    samples the wrench is linear. The step is the longest up to `dt` that divides the period of the samples; positions
    and speeds are staggered by half of it (`half_step_back`), so that what is seen is the model's error, not the
    step's. A window counts if its first position travels at least `least_travel` (m, rad).

        found = replay(model, times_s, wrench, np.column_stack([angle, speed]))
        math.degrees(found.score)
    """
    names = model.mechanism.state
    count = len(times_s)
    if times_s.shape != (count,) or wrench.shape != (count, 6) or state.shape != (count, len(names)):
        raise DataProblem(
            "replay",
            f"times, wrench and state must be (n,), (n, 6) and (n, {len(names)}), "
            f"not {times_s.shape}, {wrench.shape} and {state.shape}",
        )
    if not (dt > 0 and window_s > 0):
        raise PalpateError(f"replay: window and step must be positive times in s, not {window_s!r} and {dt!r}")
    period = _period(times_s)
    if not math.isfinite(period):
        return Replay((), (Skipped(math.nan, math.nan, "fewer than two samples with increasing times"),), least_travel)
    steps = max(1, math.ceil(period / dt - 1e-6))
    grid = (steps, period / steps)
    stepper = Stepper(model, grid[1])
    known = np.isfinite(times_s) & np.isfinite(wrench).all(axis=1) & np.isfinite(state).all(axis=1)
    visited = _visited(state)
    length = max(1, round(window_s / period))
    windows: list[Window] = []
    pieces, skipped = _cut(times_s, known, period, length)
    for piece in pieces:
        found = _replayed(model, stepper, times_s[piece], wrench[piece], state[piece], grid, visited)
        if isinstance(found, Window):
            windows.append(found)
        else:
            skipped.append(Skipped(float(times_s[piece][0]), float(times_s[piece][-1]), found))
    skipped.sort(key=lambda s: s.start_s)
    return Replay(tuple(windows), tuple(skipped), least_travel)


def with_stops(model: Model, lowest: float, highest: float) -> Model:
    """The hinge with hard end stops at these angles (rad), where it has none on that side.

    Pressed, the body would swing on them at 20 Hz, and it hardly bounces: a frame and a doorstop whose stiffness nobody
    measured, so that a replay does not go through them.
    """
    if not isinstance(model.mechanism, Hinge):
        raise PalpateError(f"model {model.name!r}: end stops can be added to a hinge only")
    still, moved = (
        model.wrench(model.mechanism.expand((0.5 * (lowest + highest), 0.0), (a,), {}, FLOATS), FLOATS)[0]
        for a in (0.0, 1.0)
    )
    k = (moved - still) * (2 * math.pi * 20.0) ** 2
    low, high = _between(model)
    elements: list[Any] = list(model.elements)
    values = model.p.tolist()
    for stop, there in (
        (EndStop("lowest_stop", at=lowest, side="lowest"), low > -math.inf),
        (EndStop("highest_stop", at=highest, side="highest"), high < math.inf),
    ):
        if not there:
            elements.append(stop)
            values += [k, 2.0 * k]
    return replace(model, elements=tuple(elements), values={}).with_values(values)


def _period(times_s: FloatArray) -> float:
    """The mean time between samples, pauses apart; stamps may be rounded to whole milliseconds."""
    gaps = np.diff(times_s)
    gaps = gaps[gaps > 0]
    if not len(gaps):
        return math.nan
    middle = float(np.median(gaps))
    return float(gaps[np.abs(gaps / middle - 1.0) <= _UNEVEN].mean())


def _cut(times_s: FloatArray, known: BoolArray, period: float, length: int) -> tuple[list[slice], list[Skipped]]:
    """Windows of `length` periods, end to end, in each stretch that is known and even; and the rest."""
    pieces: list[slice] = []
    skipped: list[Skipped] = []
    even = np.abs(np.diff(times_s) / period - 1.0) <= _UNEVEN
    joined = known[1:] == known[:-1]
    joined &= even | ~known[1:]
    borders = [0, *(np.flatnonzero(~joined) + 1).tolist(), len(times_s)]
    for first, last in pairwise(borders):
        span = float(times_s[first]), float(times_s[last - 1])
        if not known[first]:
            skipped.append(Skipped(*span, "wrench or state unknown"))
            continue
        starts = range(first, last - length, length)
        for start in starts:
            piece = slice(start, start + length + 1)
            drift = times_s[piece] - times_s[start] - np.arange(length + 1) * period
            if np.abs(drift).max() <= _UNEVEN * period:
                pieces.append(piece)
            else:
                skipped.append(Skipped(float(times_s[start]), float(times_s[start + length]), "samples are not even"))
        rest = first + length * len(starts)
        if rest < last - 1 or not len(starts):
            skipped.append(Skipped(float(times_s[rest]), span[1], "shorter than a window"))
    return pieces, skipped


def half_step_back(stepper: Stepper, state: FloatArray, wrench: FloatArray, dt: float) -> None:
    """Begin at a state with the speeds of half a step earlier, so that wrenches count where the positions are.

    A semi-implicit step then is one of leapfrog: of second order where the forces are smooth (Hairer, Lubich, Wanner,
    Geometric Numerical Integration, I.1.4). What a step gives as speeds belongs to its middle.
    """
    out = np.empty(stepper.size)
    stepper.reset(state)
    stepper.step(wrench, out)
    accelerations = out[len(state) :]
    start = state.copy()
    start[-len(accelerations) :] -= 0.5 * dt * accelerations
    stepper.reset(start)


def _replayed(
    model: Model,
    stepper: Stepper,
    times_s: FloatArray,
    wrench: FloatArray,
    state: FloatArray,
    grid: tuple[int, float],
    visited: FloatArray,
) -> Window | str:
    """One window, or why it cannot be. `grid`: steps a sample, and their length; `visited`: lowest, highest."""
    steps, dt = grid
    start, between = state[0].copy(), _between(model)
    # a stop that is pressed by an error of the zero angle would throw the door out
    start[0] = min(max(start[0], between[0]), between[1])
    if abs(start[0] - state[0, 0]) > _MARGIN:
        return f"it starts {math.degrees(abs(start[0] - state[0, 0])):.0f} deg beyond an end stop of the model"
    try:
        half_step_back(stepper, start, wrench[0], dt)
    except PalpateError as error:
        return str(error)
    share = (np.arange(steps) / steps)[:, None]
    between_samples = wrench[:-1, None] * (1 - share) + wrench[1:, None] * share
    path = np.empty((steps * (len(times_s) - 1), stepper.size))
    status = stepper.run(between_samples.reshape(-1, 6), path)
    if (status == Status.NOT_FINITE).any():
        return f"a step leads nowhere after {np.argmax(status == Status.NOT_FINITE) / steps:.0f} samples"
    names = model.mechanism.state[: state.shape[1] - len(model.mechanism.accelerations)]
    tracks = tuple(
        _track(name, state[:, i], np.concatenate([state[:1, i], path[steps - 1 :: steps, i]]), visited[:, i])
        for i, name in enumerate(names)
    )
    return Window(float(times_s[0]), times_s, tracks)


def _track(name: str, measured: FloatArray, simulated: FloatArray, visited: FloatArray) -> Track:
    rms = float(np.sqrt(np.mean((simulated - measured)[1:] ** 2)))
    beyond = max(0.0, float(simulated.max() - visited[1]), float(visited[0] - simulated.min()))
    return Track(name, measured, simulated, rms, float(np.ptp(measured)), beyond)


def _between(model: Model) -> tuple[float, float]:
    """The angles (rad) between a hinge's own end stops."""
    stops = [e for e in model.elements if isinstance(e, EndStop) and e.acts_on == HINGE]
    if not isinstance(model.mechanism, Hinge):
        stops = []
    lowest = max((e.at for e in stops if e.side == "lowest"), default=-math.inf)
    return lowest, min((e.at for e in stops if e.side == "highest"), default=math.inf)


def _visited(state: FloatArray) -> FloatArray:
    """(2, states): the lowest and highest value of each that was seen."""
    seen = np.isfinite(state)
    low, high = np.where(seen, state, np.inf), np.where(seen, state, -np.inf)
    return np.array([low.min(axis=0, initial=np.inf), high.max(axis=0, initial=-np.inf)])


def _pooled(windows: tuple[Window, ...], position: int = 0) -> float:
    """Windows have the same length, so their mean squares have the same weight."""
    squares = [w.tracks[position].rms ** 2 for w in windows]
    return math.sqrt(sum(squares) / len(squares)) if squares else math.nan
