"""The wrench that hands must pass to an object that rolls so: Newton and Euler at the contact point.

Nothing here uses palpate's own mechanisms, elements or regressor. In axes of the contact frame C, about its origin:

    rate of momentum = hands + ground,   ground = [f_x, f_y, F_N; -tau_r z_B - b_psi omega_z z_C]

The ground turns the wheel back with tau_r = b_v spin + b_c sgn(spin) about the axle and scrubs against the body's yaw.
The wheel alone, about its axle: I_w spin_dot = -tau_r - R cos(camber) f_x, which gives f_x. f_y and F_N are what
rolling without slip needs; the hands' three moments and forward force are determined, their sideways force is a habit,
and their upward force follows from the moments. Two wheels on one axle hold the camber, a guide holds the heading too:
what the hands do against that is a habit, and the ground takes the rest. Of two wheels each rolls at its own speed,
(v_x -+ track / 2 omega_z) / R, and the ground's force on it has a lever arm about the vertical.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import mass_properties
from palpate.physics.units import STANDARD_GRAVITY
from palpate.twin.door_hand import smooth_noise
from palpate.twin.wheelbarrow_motion import Kinematics, Wheeling, kinematics

Moves = Literal["full", "upright", "planar"]
_AT_REST = 1e-9
"""rad/s of the wheel."""
_AGAINST_M = 0.3
"""N m per N of trembling: what hands do against what cannot move."""


@dataclass(frozen=True, slots=True, eq=False)
class Barrow:
    """A true object without its handles. Frame B: middle of the axle, z left along it, y back, x down."""

    phi: FloatArray
    """(10,) in B, the wheel included (without its spin inertia where `wheel_inertia` states it)."""
    radius: float
    b_v: float
    """N m s/rad."""
    b_c: float
    """N m."""
    b_psi: float
    """N m s/rad."""
    feet: FloatArray
    """(2, 3) m in B, right and left: where they touch the ground."""
    wheel_inertia: float = 0.0
    """kg m2 about the axle."""
    moves: Moves = "full"
    guided: bool = True
    """planar: held by a guide; else a person keeps it straight as well as persons can."""
    track: float = 0.0
    """m between two wheels; 0: one."""
    b_sides: tuple[float, float] = (0.0, 0.0)
    """N m, dry friction of the left and the right wheel, in place of b_c."""

    @property
    def standing(self) -> float:
        """rad, pitch at which both feet are on the ground: x cos(pitch) - y sin(pitch) = R.

        Feet ahead of the axle (x < 0) are on the ground with the handles up, those behind it with the handles down.
        """
        x, y = self.feet[:, :2].mean(axis=0)
        return float(np.copysign(np.arccos(self.radius / np.hypot(x, y)), x) - np.arctan2(y, x))

    @property
    def wheels(self) -> tuple[tuple[float, float], ...]:
        """Of each wheel: how far left of the middle it is, in radii; and its dry friction, N m."""
        if self.track == 0:
            return ((0.0, self.b_c),)
        d = 0.5 * self.track / self.radius
        return ((d, self.b_sides[0]), (-d, self.b_sides[1]))

    @property
    def held(self) -> tuple[int, ...]:
        """Which components of the wrench at the contact the ground or a guide gives besides f_y and F_N."""
        return {"full": (), "upright": (3,), "planar": (3, 5) if self.guided else ()}[self.moves]

    @property
    def friction(self) -> dict[str, float]:
        """By the names of the object file; viscous in N m s/rad, dry in N m."""
        left, right = self.b_sides
        found = {"b_v": self.b_v} | ({"b_left": left, "b_right": right} if self.track else {"b_c": self.b_c})
        return found if self.moves == "planar" else found | {"b_psi": self.b_psi}


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """What is on the right and on the left, or in the middle alone: the first axis of each array has two entries, or
    one.
    """

    R_body_sensor: FloatArray
    r_body_sensor: FloatArray
    r_body_grip: FloatArray
    """(sensors, 3) m in B: where the hands hold."""


@dataclass(frozen=True, slots=True, eq=False)
class Habits:
    """How the two hands share: none of it moves the object."""

    sideways: float
    """Share of the turning moment that is done by pushing sideways."""
    squeeze: float
    """N, towards each other."""
    tremble: float
    """N, and a twentieth of it in N m."""
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Push:
    """Wrenches at given times, in axes of C about its origin unless said otherwise."""

    needed: FloatArray
    """(samples, 6) of both hands on the body."""
    sides: FloatArray
    """(sensors, samples, 6) of each in axes of B, about its sensor's origin: what reaches the body through it."""
    ground: FloatArray
    """(samples, 6) of the ground on the wheel."""
    resistance: FloatArray
    """(samples,) N m about the axle, of all wheels."""
    holding: FloatArray
    """(samples,) 1 where the hands do everything, less where the feet help, 0 where nobody holds on."""


def momentum_rate(barrow: Barrow, k: Kinematics, gravity: float) -> FloatArray:
    """(samples, 6) N and N m at C, weight included: m (a_c + g), and that at the centre of mass plus dH/dt.

    H = I omega about the centre of mass; the wheel's own spin adds I_w (spin_dot z_B + spin omega x z_B).
    """
    mass, com, inertia = mass_properties(barrow.phi)
    R = k.R_contact_body
    arm = R @ com
    centre = k.acceleration + np.cross(k.omega_dot, arm) + np.cross(k.omega, np.cross(k.omega, arm))
    force = mass * (centre + np.array([0.0, 0.0, gravity]))
    I = R @ inertia @ R.transpose(0, 2, 1)
    turning = np.einsum("nij,nj->ni", I, k.omega_dot)
    turning += np.cross(k.omega, np.einsum("nij,nj->ni", I, k.omega))
    axle = R[:, :, 2]
    turning += barrow.wheel_inertia * (k.spin_dot[:, None] * axle + k.spin[:, None] * np.cross(k.omega, axle))
    moment = np.cross(arm + np.array([0.0, 0.0, barrow.radius]), force) + turning
    return np.hstack([force, moment])


def push(
    barrow: Barrow, sides: Sides, habits: Habits, wheeling: Wheeling, t: FloatArray, gravity: float = STANDARD_GRAVITY
) -> Push:
    """What the hands do at true times t (s), so that the object moves so."""
    path = wheeling.path(t)
    k = kinematics(path, barrow.radius)
    wanted = momentum_rate(barrow, k, gravity)
    resistance, turning = _resistance(barrow, k, habits, t)
    ground = np.zeros_like(wanted)
    cos = np.cos(k.camber)
    ground[:, 0] = -(resistance + barrow.wheel_inertia * k.spin_dot) / (barrow.radius * cos)
    ground[:, 3:] = -resistance[:, None] * k.R_contact_body[:, :, 2]
    ground[:, 5] += turning - barrow.b_psi * k.omega[:, 2]
    total = wanted - ground
    held = list(barrow.held)
    against = np.random.default_rng([habits.seed, 3])
    for i in held:
        total[:, i] = _AGAINST_M * habits.tremble * smooth_noise(against, t, 0.1, 3.0, 8)
    at_grips, points = _shared(barrow, sides, habits, k, total, t)
    needed = np.zeros_like(wanted)
    for wrench, point in zip(at_grips, points, strict=True):
        needed += np.hstack([wrench[:, :3], wrench[:, 3:] + np.cross(point, wrench[:, :3])])
    taken = [1, 2, *held]
    ground[:, taken] = (wanted - needed)[:, taken]
    own = np.empty_like(at_grips)
    turned = k.R_contact_body
    for i, wrench in enumerate(at_grips):
        force = np.einsum("nji,nj->ni", turned, wrench[:, :3])
        own[i, :, :3] = force
        own[i, :, 3:] = np.einsum("nji,nj->ni", turned, wrench[:, 3:])
        own[i, :, 3:] += np.cross(sides.r_body_grip[i] - sides.r_body_sensor[i], force)
    return Push(needed, own, ground, resistance, _holding(wheeling, t))


def _resistance(barrow: Barrow, k: Kinematics, habits: Habits, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """N m about the axle, and about the vertical from wheels beside the middle; at rest dry friction takes what it is
    given, somewhere within its level.
    """
    slack = 0.9 * np.tanh(smooth_noise(np.random.default_rng([habits.seed, 1]), t, 0.02, 0.3, 6))
    total, turning = barrow.b_v * k.spin, np.zeros_like(t)
    for left, level in barrow.wheels:
        speed = k.spin - left * k.omega[:, 2]
        dry = level * np.where(np.abs(speed) > _AT_REST, np.sign(speed), slack)
        # the wheel needs f_x = -dry / R of the ground, that far left: n_z = -left R f_x
        total, turning = total + dry, turning + left * dry
    return total, turning


def _shared(
    barrow: Barrow, sides: Sides, habits: Habits, k: Kinematics, total: FloatArray, t: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(sensors, samples, 6) wrenches of the hands at the grips, and the grips' places from C, (sensors, samples, 3):
    axes of C.

    Sideways forces, squeeze and grip moments are habits. Four equations are left, forward force and the three moments.
    Of two grips the forward and upward forces are the four unknowns; of one, which both hands hold, forward and upward
    force and the moments about ahead and up.
    """
    rng = np.random.default_rng([habits.seed, 2])
    points = np.stack([k.R_contact_body @ r for r in sides.r_body_grip]) + np.array([0.0, 0.0, barrow.radius])
    n, grips = len(t), len(points)
    found = np.zeros((grips, n, 6))
    noise = np.array([smooth_noise(rng, t, 0.1, 3.0, 8) for _ in range(8)])
    found[:, :, 3:] = 0.05 * habits.tremble * noise[: 3 * grips].reshape(grips, 3, n).transpose(0, 2, 1)
    lateral = habits.sideways * total[:, 5] / points[:, :, 0].mean(axis=0) + habits.tremble * noise[6]
    found[:, :, 1] = lateral / grips
    if grips == 2:
        squeeze = habits.squeeze * (1 + 0.4 * noise[7])
        found[0, :, 1] += squeeze
        found[1, :, 1] -= squeeze
    unknown = ((0, 0), (1, 0), (0, 2), (1, 2)) if grips == 2 else ((0, 0), (0, 2), (0, 3), (0, 5))
    for grip, component in unknown:
        found[grip, :, component] = 0.0
    given = found[:, :, 3:] + np.cross(points, found[:, :, :3])
    rest = total[:, [0, 3, 4, 5]].copy()
    rest[:, 1:] -= given.sum(axis=0)
    A = np.zeros((n, 4, 4))
    for column, (grip, component) in enumerate(unknown):
        unit = np.eye(6)[component]
        A[:, 0, column] = unit[0]
        A[:, 1:, column] = unit[3:] + np.cross(points[grip], unit[:3])
    for (grip, component), force in zip(unknown, np.linalg.solve(A, rest[:, :, None])[:, :, 0].T, strict=True):
        found[grip, :, component] = force
    return found, points


def _holding(wheeling: Wheeling, t: FloatArray) -> FloatArray:
    """1 while the feet are in the air; the hands come 0.6 s before and go 0.6 s after, or hold on for a short rest."""
    away_s, come_s = 0.2, 0.6
    found = np.zeros_like(t)
    for begin, end in wheeling.lifted:
        up, down = (t - begin + away_s + come_s) / come_s, (end + away_s + come_s - t) / come_s
        u = np.clip(np.minimum(up, down), 0.0, 1.0)
        found = np.maximum(found, u * u * (3 - 2 * u))
    return found
