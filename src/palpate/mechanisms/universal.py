"""A universal joint: the body turns about two axes that cross at right angles. Two rows are free, a moment about each.

R = Rx(a) Ry(b): the first axis, x, stands still, the second, y, moves with the body (Craig, Introduction to Robotics,
2.8, about moving axes). In the body's axes omega = a' u + b' y with u = Ry(b)' x = (cos b, 0, sin b), and
omega' = a'' u + a' b' (-sin b, 0, cos b) + b'' y. A moment n has the power n . omega: the rows are n . u and n_y.
"""

# pyright: reportIncompatibleMethodOverride=false
# what the interface asks as a property may be a constant
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from palpate.errors import DataProblem
from palpate.mechanisms.mechanism import Joint, Matrix, Mechanism, Row, into_body, unwrapped
from palpate.mechanisms.outline import Outline, Place, Solid, grip
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS, Functions, Scalar
from palpate.physics.motion import Coordinate, Kinematics, Motion, Poses, Triple

FIRST, SECOND = "first", "second"
_FURTHEST = math.radians(85.0)
"""Where the axes fold onto each other, the first angle is none."""
_TELLS = "tilt it further about both axes, and let it swing"
_SHAKES = "shake it faster, about both axes and with the second one tilted"


@dataclass(frozen=True, slots=True)
class Universal(Mechanism):
    """A joystick, or a load on a cardan joint. The body frame has its origin in the centre and y along the second axis.

    State: first and second angle (rad), their speeds (rad/s); where both are zero, the body frame is the joint's in the
    world, with x along the first axis. `inclination` (rad): from z to the vertical, 0 for a joystick that stands
    upright; `direction` (rad): which way up leans, about z from x. Moments about the centre do not show the mass: what
    is seen is mass times place, and inertia about the centre.
    """

    inclination: float = 0.0
    direction: float = 0.0
    type: ClassVar[str] = "universal"
    options: ClassVar[Mapping[str, str]] = {**Mechanism.options, "inclination": "rad", "direction": "rad"}
    frame: ClassVar[str] = (
        "universal joint: origin in the centre, x along the axis that stands still, y along the one that moves with "
        "the body; both angles are zero in the static segment"
    )
    origin: ClassVar[str] = "the body frame, the centre of the joint"
    rows: ClassVar[tuple[Row, ...]] = (Row(FIRST, "N m"), Row(SECOND, "N m"))
    coordinates: ClassVar[Mapping[str, str]] = {FIRST: "rad", SECOND: "rad"}
    moving: ClassVar[tuple[str, ...]] = (FIRST, SECOND)
    state: ClassVar[tuple[str, ...]] = ("first", "second", "first_rate", "second_rate")
    accelerations: ClassVar[tuple[str, ...]] = ("first_acceleration", "second_acceleration")
    units: ClassVar[tuple[str, ...]] = ("rad",) * 2 + ("rad/s",) * 2 + ("rad/s2",) * 2
    constant_projection: ClassVar[bool] = False
    limits: ClassVar[Mapping[str, tuple[float, float]]] = {"second": (-_FURTHEST, _FURTHEST)}
    hidden: ClassVar[tuple[str, ...]] = ("m",)
    advice: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys((f"c_{axis}" for axis in "xyz"), _TELLS),
        **dict.fromkeys((f"I{axes}" for axes in ("xx", "xy", "xz", "yy", "yz", "zz")), _SHAKES),
    }
    joints: ClassVar[tuple[Joint, ...]] = (
        Joint(FIRST, "turn", (1.0, 0.0, 0.0), 0),
        Joint(SECOND, "turn", (0.0, 1.0, 0.0), 1),
    )
    pivot: ClassVar[Literal["", "point", "axes"]] = "axes"
    hand: ClassVar[tuple[float, float, float]] = (0.0, 0.0, 0.1)

    def outline(self, hand: Place | None = None) -> Outline:
        """A stick on its base."""
        x, y, z = hand or self.hand
        size = math.hypot(x, y, z)
        stick = Solid("cylinder", (0.08 * size, size), (x / 2, y / 2, z / 2), (x, y, z))
        base = Solid("box", (1.2 * size, 1.2 * size, 0.2 * size), (0.0, 0.0, -0.12 * size), part="frame")
        return Outline((stick, base, grip((x, y, z), 0.18 * size)), (x, y, z))

    @property
    def R_world_body(self) -> Matrix:
        """The joint's frame in a world whose z points up: up leans from its z by the inclination, in its direction."""
        c, s = math.cos(self.inclination), math.sin(self.inclination)
        cd, sd = math.cos(self.direction), math.sin(self.direction)
        return ((c * cd, c * sd, -s), (-sd, cd, 0.0), (s * cd, s * sd, c))

    def with_gravity(self, gravity: Sequence[float] | FloatArray) -> Universal:
        """The same joint with gravity (m/s2) as a vector in its frame."""
        x, y, z = (-float(g) for g in gravity)
        across = math.hypot(x, y)
        direction = math.atan2(y, x) if across > 0 else 0.0
        return replace(self, gravity=math.hypot(across, z), inclination=math.atan2(across, z), direction=direction)

    def place(self, state: Sequence[Scalar], fn: Functions) -> tuple[Matrix, Triple]:
        """Rx(a) Ry(b); the origin rests."""
        ca, sa, cb, sb = fn.cos(state[0]), fn.sin(state[0]), fn.cos(state[1]), fn.sin(state[1])
        return ((cb, 0.0, sb), (sa * sb, ca, -sa * cb), (-ca * sb, sa, ca * cb)), (0.0, 0.0, 0.0)

    def coordinates_of(self, poses: Poses) -> FloatArray:
        """Both angles, without what turns about neither axis."""
        R, known = poses.rotation, poses.seen
        far = np.flatnonzero(known & (np.hypot(R[:, 0, 0], R[:, 0, 1]) < math.cos(_FURTHEST)))
        if len(far):
            wrong = f"sample {far[0]}: the axes fold onto each other"
            raise DataProblem(self.type, wrong, remedy="keep the second angle below 85 deg, or take a ball joint")
        first = unwrapped(np.where(known, np.arctan2(R[:, 2, 1], R[:, 1, 1]), np.nan))
        second = np.where(known, np.arctan2(R[:, 0, 2], R[:, 0, 0]), np.nan)
        return np.stack([first, second], axis=1)

    def observe(self, motion: Motion) -> Kinematics:
        """As the angles and omega have it; what turns about neither axis is noise, and no evidence."""
        first, second, a1, b1 = self.states(motion).T
        c, s, (x, y, z) = np.cos(second), np.sin(second), motion.omega_dot.T
        a2, b2 = c * x + s * z, y
        k = self.body_motion((first, second, a1, b1), (a2, b2), ARRAYS)
        return replace(k, coordinates=_along((first, a1, a2), (second, b1, b2)))

    def states(self, motion: Motion) -> FloatArray:
        """Angles by the poses, speeds by omega."""
        if motion.poses is None:
            raise DataProblem(self.type, "the motion has no poses", remedy="build it from markers")
        q = self.coordinates_of(motion.poses) if motion.positions is None else motion.positions
        c, s, (x, y, z) = np.cos(q[:, 1]), np.sin(q[:, 1]), motion.omega.T
        return np.column_stack([q, c * x + s * z, y])

    def expand(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """The body's motion, and both angles; never raises."""
        (a, b, a1, b1), (a2, b2) = state, acc
        return replace(self.body_motion(state, acc, fn), coordinates=_along((a, a1, a2), (b, b1, b2)))

    def body_motion(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """The origin rests, so a - g is gravity's opposite, turned into the body."""
        (_, b, a1, b1), (a2, b2) = state, acc
        c, s, (x, y, z) = fn.cos(b), fn.sin(b), self.R_world_body[2]
        up = (self.gravity * x, self.gravity * y, self.gravity * z)
        turning = (a2 * c - a1 * b1 * s, b2, a2 * s + a1 * b1 * c)
        return Kinematics(into_body(self.place(state, fn)[0], up), (a1 * c, b1, a1 * s), turning)

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """The moments about both axes."""
        b = k.coordinates[SECOND].position
        return (fn.cos(b) * wrench[3] + fn.sin(b) * wrench[5], wrench[4])


def _along(first: Triple, second: Triple) -> dict[str, Coordinate]:
    return {FIRST: Coordinate(*first, (1.0, 0.0)), SECOND: Coordinate(*second, (0.0, 1.0))}
