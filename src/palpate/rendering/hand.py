"""A hand on an object: where it holds and how that place moves, what inertia it feels there, and what it intends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from palpate.elements import RigidBody
from palpate.errors import PalpateError
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.physics.arrays import FloatArray, least_squares
from palpate.physics.functions import ARRAYS, FLOATS
from palpate.physics.inertia import inertia_matrix, move_phi, phi_from_mass_properties
from palpate.physics.motion import minimum_jerk
from palpate.runtime.stepper import moving_range

HEIGHT = 1.0
"""m above the ground: where an object is held that does not stand on it."""
_OUT = 0.07
"""m from the sensor to the hand."""


@dataclass(frozen=True, slots=True, eq=False)
class Grip:
    """The sensor sits at `place` (m, in the body frame, with its axes), the hand at `hand`; `handle` is between them.

    `handle`: (10,) phi about the sensor's origin, the real handle behind the sensor that the robot carries.
    """

    place: FloatArray
    hand: FloatArray
    handle: FloatArray

    @property
    def handle_phi(self) -> FloatArray:
        """The handle about the body frame's origin."""
        return move_phi(self.handle, np.eye(3), self.place)


def grip_of(model: Model, radius: float | None = None) -> Grip:
    """The object is held where its mechanism says, or `radius` (m) from its axis in the same direction.

    Any other place of a hinge at the same distance moves alike. The handle is a bar of 0.9 kg.
    """
    mechanism = model.mechanism
    if radius is not None and not (math.isfinite(radius) and 0.1 <= radius <= 1.3):
        raise PalpateError(f"grip: the hand must be 0.1 to 1.3 m from the axis, within the arm's reach, not {radius!r}")
    if not (mechanism.main is not None or (mechanism.wheel is not None and mechanism.wheel.moves == "planar")):
        raise PalpateError(
            f"model {model.name!r}: one hand at one point cannot hold it: the closed loop is for what moves in one "
            "way, such as a hinge, and for what rolls straight ahead (mechanism: rolling, moves: planar)"
        )
    place, out = np.array(mechanism.hand), np.array(mechanism.outward)
    if radius is not None:
        place[np.argmax(np.abs(place))] = radius
    bar = phi_from_mass_properties(0.9, 0.04 * out, np.diag([2e-3, 2e-3, 8e-4]))
    return Grip(place, place + _OUT * out, bar)


@dataclass(frozen=True, slots=True, eq=False)
class Moving:
    """A frame in motion, all in the world: rotation, place (m), and the first and second derivatives.

    omega, omega_dot: rad/s, rad/s2.
    """

    R: FloatArray
    p: FloatArray
    v: FloatArray
    a: FloatArray
    omega: FloatArray
    omega_dot: FloatArray

    def point(self, r: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Place, velocity and acceleration of a point of the body; r (m) in its frame."""
        r = self.R @ r
        turning = cross(self.omega, r)
        return self.p + r, self.v + turning, self.a + cross(self.omega_dot, r) + cross(self.omega, turning)

    def at(self, r: FloatArray) -> Moving:
        """The frame at a point of the body, in its axes."""
        return Moving(self.R, *self.point(r), self.omega, self.omega_dot)


def _world(mechanism: Mechanism) -> tuple[FloatArray, FloatArray]:
    """Where the mechanism's frame is in a world whose z points up: its rotation, and the place of its origin, m."""
    zero = mechanism.place([0.0] * len(mechanism.state), FLOATS)[0]
    height = HEIGHT if mechanism.wheel is None else 0.0
    return np.array(mechanism.R_world_body) @ np.array(zero, dtype=float).T, np.array([0.0, 0.0, height])


def motion_of(model: Model) -> Callable[[Sequence[float], Sequence[float]], Moving]:
    """Bind how the body moves in the world: state and accelerations -> its frame in motion."""
    mechanism, (turn, origin) = model.mechanism, _world(model.mechanism)
    if mechanism.unmeasured:
        wrong = "a hand and a robot in closed loop with two bodies in series are not simulated"
        raise PalpateError(f"model {model.name!r}: {wrong}; Stepper, C and FMU step both of them")
    up = np.array([0.0, 0.0, mechanism.gravity])

    def moving(state: Sequence[float], acc: Sequence[float]) -> Moving:
        state = state[: len(mechanism.state)]  # without what elements remember
        rows, p = mechanism.place(state, FLOATS)
        k, R = mechanism.expand(state, acc, FLOATS), turn @ np.array(rows, dtype=float)
        v, felt = np.array(mechanism.velocity(state, FLOATS)), np.array(k.specific_acceleration)
        place = origin + turn @ np.array(p, dtype=float)
        return Moving(R, place, R @ v, R @ felt - up, R @ np.array(k.omega), R @ np.array(k.omega_dot))

    return moving


def at_rest(model: Model, state: Sequence[float]) -> Moving:
    """The body's frame in the world in this state, which does not move."""
    return motion_of(model)(state, [0.0] * len(model.mechanism.accelerations))


def wrench_at(force: FloatArray, r: FloatArray) -> FloatArray:
    """A force at the point r, both in one frame, as a wrench (6,) about its origin."""
    return np.concatenate([force, cross(r, force)])


def held(model: Model, grip: Grip, hand_mass: float) -> Model:
    """The object with the handle and the hand's mass on it: what moves when a person holds the true object."""
    phi = grip.handle_phi + phi_from_mass_properties(hand_mass, grip.hand, np.zeros((3, 3)))
    model = model.of_object()
    elements = (*model.elements, RigidBody("held"))
    return replace(model, elements=elements, values={}).with_values([*model.p, *phi])


def apparent_mass(model: Model, grip: Grip, state: Sequence[float], direction: FloatArray) -> float:
    """kg that a hand feels at rest when it pushes along `direction` (world): force over acceleration, no friction.

    The row of the mechanical impedance's inverse (Khatib 1987: J M^-1 J'), by solving the balance for a unit force.
    """
    mechanism, n = model.mechanism, len(model.mechanism.accelerations)
    smooth, moving, zero = model.without_dry(), motion_of(model), [0.0] * n
    state = [*state[:-n], *zero]

    def rows(acc: Sequence[float]) -> FloatArray:
        return np.array(smooth.wrench(mechanism.expand(state, acc, FLOATS), FLOATS), dtype=float)

    inertia = np.array([rows(unit) - rows(zero) for unit in np.eye(n).tolist()]).T
    still = moving(state, zero)
    wrench, k = wrench_at(still.R.T @ direction, grip.hand), mechanism.expand(state, zero, FLOATS)
    push = np.array(mechanism.project(k, wrench.tolist(), FLOATS), dtype=float)
    pushed = moving(state, np.linalg.solve(inertia, push).tolist())
    return 1.0 / float(direction @ (pushed.point(grip.hand)[2] - still.point(grip.hand)[2]))


def handle_mass(grip: Grip, model: Model) -> float:
    """kg of the handle alone, seen from the hand, when both move with the object."""
    phi, axis = grip.handle_phi, _turns_about(model.mechanism)
    if axis is None:
        return float(phi[0])
    return float(axis @ inertia_matrix(phi) @ axis) / lever(model, grip) ** 2


def lever(model: Model, grip: Grip) -> float:
    """m that the hand moves per unit of the main coordinate."""
    axis = _turns_about(model.mechanism)
    return 1.0 if axis is None else math.hypot(*cross(axis, grip.hand))


def directions(model: Model, grip: Grip, R: FloatArray) -> tuple[tuple[str, FloatArray], ...]:
    """The ways in which the hand can move the object, as names and unit vectors in the world; R: R_world_body now."""
    mechanism = model.mechanism
    if mechanism.main is None:
        return (("ahead", np.array([1.0, 0.0, 0.0])), ("up", np.array([0.0, 0.0, 1.0])))
    axis = _turns_about(mechanism)
    along = R @ (np.array(mechanism.joints[-1].axis) if axis is None else cross(axis, grip.hand))
    return (("along its way", along / np.linalg.norm(along)),)


def way_along(model: Model, grip: Grip, places: FloatArray) -> FloatArray:
    """(samples,) m, how far the hand is along its way, of places (samples, 3) in the world: an arc about an axis."""
    zero, axis = at_rest(model, [0.0] * len(model.mechanism.state)), _turns_about(model.mechanism)
    r = (places - zero.p) @ zero.R
    if axis is None:
        return (r - grip.hand) @ np.array(model.mechanism.joints[-1].axis)
    across = cross(axis, grip.hand)
    return np.unwrap(np.arctan2(r @ across, r @ cross(across, axis))) * lever(model, grip)


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """The vector product; np.cross takes ten times as long for two vectors."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def _turns_about(mechanism: Mechanism) -> FloatArray | None:
    """The axis about which the main coordinate turns, in the body frame; None where it slides, or there is none."""
    if mechanism.main is None or mechanism.chain()[-1].kind != "turn":
        return None
    return np.array(mechanism.joints[-1].axis)


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
        for name, value in asdict(self).items():
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

    @property
    def middle(self) -> list[float]:
        """The state in the middle of the positions, at rest."""
        middle = 0.5 * (self.positions.min(axis=0) + self.positions.max(axis=0))
        return [*middle.tolist(), *(0.0,) * len(middle)]


def rocking(model: Model, grip: Grip, hand: Hand, seconds: float, dt: float, *, size: float = 0.08) -> Intention:
    """Rock the object to and fro on a slow way there and back, 0 to 3 Hz.

    The pace is that of the hand's spring with the object on it, sqrt(k / m) / 2 pi: the pace at which people rock what
    they weigh in their hand, and at which an error of inertia or damping shows most. Faster than that a soft hand sets
    the force by itself, slower only springs and friction are felt. `size`: m, amplitude of the rocking.
    """
    t = np.arange(round(seconds / dt) + 1, dtype=float) * dt
    mechanism, (low, high) = model.mechanism, moving_range(model)
    start = held_state(model, 0.45)
    (_, along), *_ = directions(model, grip, at_rest(model, start).R)
    mass = apparent_mass(model, grip, start, along) + handle_mass(grip, model) + hand.mass
    pace = min(max(math.sqrt(max(hand.stiffness, 1.0) / mass) / (2 * math.pi), 0.3), 2.0)
    lines = (0.2, pace, max(2.1, pace + 0.5), 2.9)
    begin = minimum_jerk(t)  # in the first second
    way = size * (np.sin(2 * np.pi * pace * t) + 0.2 * np.sin(2 * np.pi * lines[2] * t + 2.0))
    way = begin * (way + 0.12 * size * np.sin(2 * np.pi * lines[3] * t + 1.0))
    slow = begin * (1.0 - np.cos(2 * np.pi * lines[0] * t))
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


def held_state(model: Model, part: float) -> list[float]:
    """The object at rest in a hand, at this part of its range; what rolls is lifted by 0.2 rad."""
    state, (low, high) = [0.0] * len(model.mechanism.state), moving_range(model)
    if model.mechanism.main is None:
        state[1] = _LIFTED
    else:
        state[0] = low + part * (high - low)
    return state


def _way(model: Model, grip: Grip, positions: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
    """Where the hand is in the world on its way through positions, m, and its velocity, m/s."""
    still = [np.zeros(len(positions))] * len(model.mechanism.accelerations)
    rows, origin = model.mechanism.place([*positions.T, *still], ARRAYS)
    hand = [sum(x * r for x, r in zip(row, grip.hand, strict=True)) + p for row, p in zip(rows, origin, strict=True)]
    turn, middle = _world(model.mechanism)
    place = middle + np.stack(np.broadcast_arrays(*hand), axis=1) @ turn.T
    return place, np.gradient(place, dt, axis=0)


def _lifted(model: Model, grip: Grip, hand: Hand, positions: FloatArray) -> FloatArray:
    """N in the world at the hand: the object's own weight where it must be lifted, and the hand's."""
    if model.mechanism.main is not None:
        return np.array([0.0, 0.0, hand.mass * model.mechanism.gravity])
    whole, n = held(model, grip, hand.mass), len(model.mechanism.accelerations)
    state = [*positions.tolist(), *(0.0,) * n]
    k = whole.mechanism.expand(state, [0.0] * n, FLOATS)
    need = np.array(whole.without_dry().wrench(k, FLOATS), dtype=float)
    R = at_rest(model, state).R
    columns = [whole.mechanism.project(k, wrench_at(R.T @ e, grip.hand).tolist(), FLOATS) for e in np.eye(3)]
    return least_squares(np.array(columns, dtype=float).T, need)
