"""A person at the handle: a hand with mass, damping and stiffness, and what it intends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from palpate.errors import PalpateError
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import FLOATS
from palpate.rendering.grip import (
    Grip,
    apparent_mass,
    directions,
    handle_mass,
    held,
    lever,
    place_of,
    wrench_at,
)
from palpate.runtime.stepper import moving_range

_SWEEP = {"rad": 0.25, "m": 0.2}
"""How far the slow way there and back goes to either side, by the unit of the main coordinate."""
_ROCKED = 0.12
"""Amplitude of the rocking over the range, at most: the hand stays off the stops."""
_LIFTED = 0.2
"""rad, pitch of what rolls in a plane and is held at its handles."""


@dataclass(frozen=True, slots=True)
class Hand:
    """The hand pulls the handle towards where it wants to be: f = k (x_d - x) + b (x_d' - x') - m x'', in the world.

    Hogan 1985, Impedance control. The person carries the weight of the hand.
    """

    mass: float = 2.0
    """kg"""
    damping: float = 20.0
    """N s/m"""
    stiffness: float = 500.0
    """N/m"""

    def __post_init__(self) -> None:
        """Refuse a hand that is none."""
        for name, value in (("mass", self.mass), ("damping", self.damping), ("stiffness", self.stiffness)):
            if not (math.isfinite(value) and value >= 0):
                raise PalpateError(f"hand: its {name} must be a number of at least 0, not {value!r}")


@dataclass(frozen=True, slots=True, eq=False)
class Intention:
    """What a person wants the object to do."""

    times_s: FloatArray
    positions: FloatArray
    """(times, positions) of the mechanism's state."""
    place: FloatArray
    """(times, 3) m: where the hand wants to be in the world."""
    velocity: FloatArray
    """(times, 3) m/s: how fast it wants to go."""
    holds: FloatArray
    """(3,) N in the world: what the person lifts all the time."""
    pace_hz: float
    """Frequency of the rocking."""
    lines_hz: tuple[float, ...]
    """All frequencies that it holds."""

    @property
    def start(self) -> list[float]:
        """The positions where it begins; the object rests there."""
        return self.positions[0].tolist()


def rocking(
    model: Model, grip: Grip, hand: Hand, seconds: float, dt: float, *, middle: float | None = None, size: float = 0.08
) -> Intention:
    """Rock the object to and fro on a slow way there and back, 0 to 3 Hz.

    The pace is that of the hand's spring with the object on it, sqrt(k / m) / 2 pi: the pace at which people rock what
    they weigh in their hand, and at which an error of inertia or damping shows most. Faster than that a soft hand sets
    the force by itself, slower only springs and friction are felt. `size`: m, amplitude of the rocking; `middle`: rad
    or m, the main position about which it goes.
    """
    t = np.arange(round(seconds / dt) + 1, dtype=float) * dt
    mechanism, (low, high) = model.mechanism, moving_range(model)
    start = held_state(model, 0.45, middle)
    mass = object_mass(model, grip, start) + hand.mass
    pace = min(max(math.sqrt(max(hand.stiffness, 1.0) / mass) / (2 * math.pi), 0.3), 2.0)
    lines = (0.2, pace, max(2.1, pace + 0.5), 2.9)
    way = size * (np.sin(2 * np.pi * pace * t) + 0.2 * np.sin(2 * np.pi * lines[2] * t + 2.0))
    way = _begin(t) * (way + 0.12 * size * np.sin(2 * np.pi * lines[3] * t + 1.0))
    slow = _begin(t) * (1.0 - np.cos(2 * np.pi * lines[0] * t))
    if mechanism.main is not None:
        way *= min(1.0, _ROCKED * (high - low) * lever(model, grip) / size)
        sweep = min(_SWEEP[mechanism.coordinates[mechanism.main]], 0.2 * (high - low))
        positions = (start[0] - sweep + sweep * slow + way / lever(model, grip))[:, None]
    else:
        positions = np.stack([way + 0.1 * slow, start[1] + 0.03 * slow], axis=1)
    place, velocity = _way(model, grip, positions, dt)
    return Intention(t, positions, place, velocity, _lifted(model, grip, hand, positions[0]), pace, lines)


def on_object(intention: Intention, model: Model, grip: Grip) -> Intention:
    """The same intention on another model of the object, whose frame may stand in the world in another way."""
    dt = float(intention.times_s[1] - intention.times_s[0])
    place, velocity = _way(model, grip, intention.positions, dt)
    return replace(intention, place=place, velocity=velocity)


def object_mass(model: Model, grip: Grip, state: Sequence[float]) -> float:
    """kg of object and handle that the hand feels along its way."""
    R, _ = place_of(model)(state)
    (_, along), *_ = directions(model, grip, R)
    return apparent_mass(model, grip, state, along) + handle_mass(grip, model)


def held_state(model: Model, part: float, middle: float | None = None) -> list[float]:
    """The object at rest in a hand: at this part of its range, or at `middle`; what rolls is lifted by 0.2 rad."""
    state, (low, high) = [0.0] * len(model.mechanism.state), moving_range(model)
    if model.mechanism.main is None:
        state[1] = _LIFTED
    else:
        state[0] = low + part * (high - low) if middle is None else middle
    return state


def _way(model: Model, grip: Grip, positions: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
    """Where the hand is in the world on its way through positions, m, and its velocity, m/s."""
    still, where = [0.0] * len(model.mechanism.accelerations), place_of(model)
    frames = [where([*row, *still]) for row in positions.tolist()]
    place = np.array([p + R @ grip.hand for R, p in frames])
    return place, np.gradient(place, dt, axis=0)


def _begin(t: FloatArray) -> FloatArray:
    """From 0 to 1 in the first second, smoothly."""
    x = np.clip(t, 0.0, 1.0)
    return np.asarray(x**3 * (10.0 - 15.0 * x + 6.0 * x * x), dtype=float)


def _lifted(model: Model, grip: Grip, hand: Hand, positions: FloatArray) -> FloatArray:
    """N in the world at the hand: the object's own weight where it must be lifted, and the hand's."""
    if model.mechanism.main is not None:
        return np.array([0.0, 0.0, hand.mass * model.mechanism.gravity])
    whole, n = held(model, grip, hand.mass), len(model.mechanism.accelerations)
    state = [*positions.tolist(), *(0.0,) * n]
    k = whole.mechanism.expand(state, [0.0] * n, {}, FLOATS)
    need = np.array(whole.without_dry().wrench(k, FLOATS), dtype=float)
    R, _ = place_of(model)(state)
    columns = [whole.mechanism.project(k, wrench_at(R.T @ e, grip.hand).tolist(), FLOATS) for e in np.eye(3)]
    return np.asarray(np.linalg.lstsq(np.array(columns, dtype=float).T, need, rcond=None)[0], dtype=float)
