"""Where robot and hand hold an object: how that place moves with its state, and what inertia is felt there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from palpate.elements import RigidBody
from palpate.errors import PalpateError
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import FLOATS
from palpate.physics.inertia import inertia_matrix, move_phi, phi_from_mass_properties

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

    def hand_phi(self, mass: float) -> FloatArray:
        """A hand of this mass (kg), a point, about the body frame's origin."""
        return phi_from_mass_properties(mass, self.hand, np.zeros((3, 3)))


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
            "way, such as a hinge, and for a body that rolls in a plane (moves: planar)"
        )
    place, out = np.array(mechanism.hand), np.array(mechanism.outward)
    if radius is not None:
        place[np.argmax(np.abs(place))] = radius
    bar = phi_from_mass_properties(0.9, 0.04 * out, np.diag([2e-3, 2e-3, 8e-4]))
    return Grip(place, place + _OUT * out, bar)


Frame = tuple[FloatArray, FloatArray]
"""R_world_body and the place of the body's origin in the world, m."""


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


def place_of(model: Model) -> Callable[[Sequence[float]], Frame]:
    """Bind where the body is in a world whose z points up: state -> frame."""
    mechanism = model.mechanism
    zero = mechanism.place([0.0] * len(mechanism.state), FLOATS)[0]
    R_world_mechanism = np.array(mechanism.R_world_body) @ np.array(zero, dtype=float).T
    origin = np.array([0.0, 0.0, HEIGHT if mechanism.wheel is None else 0.0])

    def placed(state: Sequence[float]) -> Frame:
        R, p = mechanism.place(state, FLOATS)
        return R_world_mechanism @ np.array(R, dtype=float), origin + R_world_mechanism @ np.array(p, dtype=float)

    return placed


def motion_of(model: Model) -> Callable[[Sequence[float], Sequence[float]], Moving]:
    """Bind how the body moves in the world: state and accelerations -> its frame in motion."""
    mechanism, place = model.mechanism, place_of(model)
    up = np.array([0.0, 0.0, mechanism.gravity])

    def moving(state: Sequence[float], acc: Sequence[float]) -> Moving:
        R, p = place(state)
        k = mechanism.expand(state, acc, {}, FLOATS)
        v, felt = np.array(mechanism.velocity(state, FLOATS)), np.array(k.specific_acceleration)
        return Moving(R, p, R @ v, R @ felt - up, R @ np.array(k.omega), R @ np.array(k.omega_dot))

    return moving


def wrench_at(force: FloatArray, r: FloatArray) -> FloatArray:
    """A force at the point r, both in one frame, as a wrench (6,) about its origin."""
    return np.concatenate([force, cross(r, force)])


def held(model: Model, grip: Grip, hand_mass: float) -> Model:
    """The object with the handle and the hand's mass on it: what moves when a person holds the true object."""
    phi = grip.handle_phi + grip.hand_phi(hand_mass)
    model = model.of_object()
    elements = (*model.elements, RigidBody("held"))
    return replace(model, elements=elements, values={}).with_values([*model.p, *phi])


def apparent_mass(model: Model, grip: Grip, state: Sequence[float], direction: FloatArray) -> float:
    """kg that a hand feels at rest when it pushes along `direction` (world): force over acceleration, no friction.

    The row of the mechanical impedance's inverse (Khatib 1987: J M^-1 J'), by solving the balance for a unit force.
    """
    mechanism, n = model.mechanism, len(model.mechanism.accelerations)
    smooth, moving = model.without_dry(), motion_of(model)
    state = [*state[:-n], *(0.0,) * n]

    def rows(acc: Sequence[float]) -> FloatArray:
        return np.array(smooth.wrench(mechanism.expand(state, acc, {}, FLOATS), FLOATS), dtype=float)

    still = rows([0.0] * n)
    columns = [rows([float(i == j) for j in range(n)]) - still for i in range(n)]
    R, _ = place_of(model)(state)
    wrench = wrench_at(R.T @ direction, grip.hand)
    k = mechanism.expand(state, [0.0] * n, {}, FLOATS)
    push = np.array(mechanism.project(k, wrench.tolist(), FLOATS), dtype=float)
    acc = np.linalg.solve(np.array(columns).T, push)
    gained = moving(state, acc.tolist()).point(grip.hand)[2] - moving(state, [0.0] * n).point(grip.hand)[2]
    return 1.0 / float(direction @ gained)


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
    R, origin = place_of(model)([0.0] * len(model.mechanism.state))
    r, axis = (places - origin) @ R, _turns_about(model.mechanism)
    if axis is None:
        return (r - grip.hand) @ np.array(model.mechanism.joints[-1].axis)
    across = cross(axis, grip.hand)
    return np.unwrap(np.arctan2(r @ across, r @ cross(across, axis))) * lever(model, grip)


def hand_jacobian(model: Model, grip: Grip, state: Sequence[float]) -> FloatArray:
    """(3, freedoms): velocity of the hand's place in the world for each speed of the state."""
    n, moving = len(model.mechanism.accelerations), motion_of(model)
    units = ([float(i == j) for j in range(n)] for i in range(n))
    return np.array([moving([*state[:-n], *unit], [0.0] * n).point(grip.hand)[1] for unit in units]).T


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """The vector product; np.cross takes ten times as long for two vectors."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def _turns_about(mechanism: Mechanism) -> FloatArray | None:
    """The axis about which the main coordinate turns, in the body frame; None where it slides, or there is none."""
    if mechanism.main is None or mechanism.joints[-1].kind != "turn":
        return None
    return np.array(mechanism.joints[-1].axis)
