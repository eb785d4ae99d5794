"""Where robot and hand hold an object: how that place moves with its state, and what inertia is felt there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from palpate.elements import RigidBody
from palpate.errors import PalpateError
from palpate.mechanisms import Hinge, Rolling
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import FLOATS
from palpate.physics.inertia import move_phi, phi_from_mass_properties
from palpate.physics.spatial import skew

HEIGHT = 1.0
"""m above the ground: where a hinge is held."""
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
    """A hinge is held `radius` (m, 0.8 unless told) from its axis, a wheelbarrow at its handles.

    Held is the x axis of a hinge's body frame: any other place at the same distance moves alike. The handle is a bar
    of 0.9 kg.
    """
    mechanism = model.mechanism
    if radius is not None and not (math.isfinite(radius) and 0.1 <= radius <= 1.3):
        raise PalpateError(f"grip: the hand must be 0.1 to 1.3 m from the axis, within the arm's reach, not {radius!r}")
    if isinstance(mechanism, Hinge):
        place, out = np.array([0.8 if radius is None else radius, 0.0, 0.0]), np.array([0.0, -1.0, 0.0])
    elif isinstance(mechanism, Rolling) and mechanism.moves == "planar":
        place, out = np.array([-0.15, 1.25 if radius is None else radius, 0.0]), np.array([0.0, 1.0, 0.0])
    else:
        raise PalpateError(
            f"model {model.name!r}: one hand at one point cannot hold it: the closed loop is for hinges and for a body "
            "that rolls in a plane (moves: planar)"
        )
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
    if isinstance(mechanism, Hinge):
        R_hinge, origin = _upright(mechanism), np.array([0.0, 0.0, HEIGHT])

        def turned(state: Sequence[float]) -> Frame:
            c, s = math.cos(state[0]), math.sin(state[0])
            return R_hinge @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), origin

        return turned
    if isinstance(mechanism, Rolling) and mechanism.moves == "planar":
        radius = mechanism.radius

        def rolled(state: Sequence[float]) -> Frame:
            c, s = math.cos(state[1]), math.sin(state[1])
            return np.array([[-s, -c, 0.0], [0.0, 0.0, 1.0], [-c, s, 0.0]]), np.array([state[0], 0.0, radius])

        return rolled
    raise PalpateError(f"model {model.name!r}: its place in the world is known for hinges and planar rolling only")


def motion_of(model: Model) -> Callable[[Sequence[float], Sequence[float]], Moving]:
    """Bind how the body moves in the world: state and accelerations -> its frame in motion."""
    mechanism, place, zero = model.mechanism, place_of(model), np.zeros(3)
    if isinstance(mechanism, Hinge):
        mechanism = replace(mechanism, linkage=None)  # what it drives does not matter here
    up = np.array([0.0, 0.0, mechanism.gravity]) if isinstance(mechanism, Hinge | Rolling) else zero
    ahead = mechanism.state.index("forward_speed") if isinstance(mechanism, Rolling) else None

    def moving(state: Sequence[float], acc: Sequence[float]) -> Moving:
        R, p = place(state)
        k = mechanism.expand(state, acc, {}, FLOATS)
        v = zero if ahead is None else np.array([state[ahead], 0.0, 0.0])
        a = zero if ahead is None else R @ np.array(k.specific_acceleration) - up
        return Moving(R, p, v, a, R @ np.array(k.omega), R @ np.array(k.omega_dot))

    return moving


def wrench_at(force: FloatArray, r: FloatArray) -> FloatArray:
    """A force at the point r, both in one frame, as a wrench (6,) about its origin."""
    return np.concatenate([force, cross(r, force)])


def held(model: Model, grip: Grip, hand_mass: float) -> Model:
    """The object with the handle and the hand's mass on it: what moves when a person holds the true object."""
    phi = grip.handle_phi + grip.hand_phi(hand_mass)
    model = model.of_object()
    values = [*model.p.tolist(), *phi.tolist()]
    elements = (*model.elements, RigidBody("held"))
    return replace(model, elements=elements, values={}).with_values(values)


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


def directions(model: Model, grip: Grip, R: FloatArray) -> tuple[tuple[str, FloatArray], ...]:
    """The ways in which the hand can move the object, as names and unit vectors in the world; R: R_world_body now."""
    if isinstance(model.mechanism, Hinge):
        along = R @ cross(np.array([0.0, 0.0, 1.0]), grip.hand)
        return (("along its way", along / np.linalg.norm(along)),)
    return (("ahead", np.array([1.0, 0.0, 0.0])), ("up", np.array([0.0, 0.0, 1.0])))


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """The vector product; np.cross takes ten times as long for two vectors."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def hand_jacobian(model: Model, grip: Grip, state: Sequence[float]) -> FloatArray:
    """(3, freedoms): velocity of the hand's place in the world for each speed of the state."""
    n, moving = len(model.mechanism.accelerations), motion_of(model)
    positions = list(state[:-n])
    columns = [
        moving([*positions, *(float(i == j) for j in range(n))], [0.0] * n).point(grip.hand)[1] for i in range(n)
    ]
    return np.array(columns).T


def _upright(mechanism: Hinge) -> FloatArray:
    """R_world_hinge at angle zero: the third row is up, seen from the hinge's frame."""
    lean, way = mechanism.inclination, mechanism.direction
    up = np.array([math.sin(lean) * math.cos(way), math.sin(lean) * math.sin(way), math.cos(lean)])
    if lean == 0.0:
        return np.eye(3)
    other = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = other - (other @ up) * up
    x /= np.linalg.norm(x)
    return np.array([x, skew(up) @ x, up])
