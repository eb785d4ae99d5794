"""A ball joint: the body turns about a point in every way. Three rows are free, the moments about that point."""

# pyright: reportIncompatibleMethodOverride=false
# what the interface asks as a property may be a constant
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from palpate.errors import DataProblem
from palpate.mechanisms.free import conjugate, rotation_rows, turning
from palpate.mechanisms.mechanism import WRENCH_ROWS, Joint, Matrix, Mechanism, Row, into_body
from palpate.mechanisms.outline import Outline, Place, Solid, grip
from palpate.physics import motion as rigid
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar
from palpate.physics.motion import Coordinate, Kinematics, Motion, Poses, Triple

TURNS = ("turn_x", "turn_y", "turn_z")


@dataclass(frozen=True, slots=True)
class Ball(Mechanism):
    """A load that hangs on a hook or a rope, or sits on a ball joint. The body frame has its origin in the centre.

    State as MuJoCo's ball joint: quaternion wxyz in a world whose z points up, omega (body, rad/s). The coordinates
    turn_x, turn_y and turn_z are the turns about the body's axes, by their speed alone. Moments about the centre do not
    show the mass: what is seen is mass times place, and inertia about the centre.
    """

    type: ClassVar[str] = "ball"
    z_up: ClassVar[bool] = True
    frame: ClassVar[str] = (
        "ball joint: origin in the centre; in the static segment z points up and x along x of the capture frame"
    )
    origin: ClassVar[str] = "the body frame, the centre of the joint"
    rows: ClassVar[tuple[Row, ...]] = WRENCH_ROWS[3:]
    row_components: ClassVar[tuple[int, ...]] = (3, 4, 5)
    coordinates: ClassVar[Mapping[str, str]] = dict.fromkeys(TURNS, "rad")
    moving: ClassVar[tuple[str, ...]] = TURNS
    state: ClassVar[tuple[str, ...]] = ("q_w", "q_x", "q_y", "q_z", "w_x", "w_y", "w_z")
    accelerations: ClassVar[tuple[str, ...]] = ("w_dot_x", "w_dot_y", "w_dot_z")
    units: ClassVar[tuple[str, ...]] = ("1",) * 4 + ("rad/s",) * 3 + ("rad/s2",) * 3
    hidden: ClassVar[tuple[str, ...]] = ("m",)
    advice: ClassVar[Mapping[str, str]] = {
        **{f"c_{axis}": "tilt it further to every side" for axis in "xyz"},
        **{f"I{axis}{axis}": f"turn it back and forth faster about {axis}" for axis in "xyz"},
        **{f"I{a}{b}": f"turn it faster about {a} and about {b}" for a, b in ("xy", "xz", "yz")},
    }
    joints: ClassVar[tuple[Joint, ...]] = (Joint("ball", "ball", (1.0, 0.0, 0.0), 0),)
    pivot: ClassVar[Literal["", "point", "axes"]] = "point"
    hand: ClassVar[tuple[float, float, float]] = (0.0, 0.0, -0.3)

    def outline(self, hand: Place | None = None) -> Outline:
        """What hangs, its rope or hook, and the joint."""
        x, y, z = hand or self.hand
        rope = Solid("cylinder", (0.006, math.hypot(x, y, z)), (x / 2, y / 2, z / 2), (x, y, z))
        joint = Solid("ball", (0.02,), part="frame")
        return Outline((Solid("inertia"), rope, joint, grip((x, y, z), 0.03)), (x, y, z))

    def place(self, state: Sequence[Scalar], fn: Functions) -> tuple[Matrix, Triple]:
        """Rows of R_world_body, of the unit quaternion; the origin rests."""
        return rotation_rows(state[:4]), (0.0, 0.0, 0.0)

    def rates(self, state: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """q' = q omega / 2 (Diebel 2006, 6.5)."""
        return turning(state[:4], state[4:7])

    def coordinates_of(self, poses: Poses) -> FloatArray:
        """The quaternion, whose sign does not jump."""
        turns, known = np.full((len(poses), 4), np.nan), poses.seen
        turns[known] = rigid.continuous_quaternions(rigid.quaternion_from_rotation(poses.rotation[known]))
        return turns

    def speeds_of(self, q: FloatArray, q_dot: FloatArray) -> FloatArray:
        """omega = 2 q* q'."""
        return 2 * rigid.quaternion_product(conjugate(q), q_dot)[..., 1:]

    def accelerations_of(self, q: FloatArray, q_dot: FloatArray, q_ddot: FloatArray) -> FloatArray:
        """omega_dot = 2 q* q'', whose other part q'* q' turns nothing."""
        return 2 * rigid.quaternion_product(conjugate(q), q_ddot)[..., 1:]

    def observe(self, motion: Motion) -> Kinematics:
        """The measured motion as it is."""
        k = Kinematics.from_arrays(motion.specific_acceleration, motion.omega, motion.omega_dot)
        return replace(k, coordinates=_along(k.omega, k.omega_dot))

    def states(self, motion: Motion) -> FloatArray:
        """The quaternion by the poses, and omega."""
        if motion.poses is None:
            raise DataProblem(self.type, "the motion has no poses", remedy="build it from markers")
        q = self.coordinates_of(motion.poses) if motion.positions is None else motion.positions
        return np.hstack([q, motion.omega])

    def expand(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """The origin rests, so a - g is gravity's opposite, turned into the body; never raises."""
        felt = into_body(rotation_rows(state[:4]), (0.0, 0.0, self.gravity))
        omega, omega_dot = (state[4], state[5], state[6]), (acc[0], acc[1], acc[2])
        return Kinematics(felt, omega, omega_dot, _along(omega, omega_dot))

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """The moments about the centre."""
        return wrench[3:]


def _along(omega: Triple, omega_dot: Triple) -> dict[str, Coordinate]:
    one = np.eye(3).tolist()
    return {n: Coordinate(0.0, omega[i], omega_dot[i], tuple(one[i])) for i, n in enumerate(TURNS)}
