"""A hinge: the body turns about one axis, upright or inclined. One row is free, the moment about the axis."""

# pyright: reportIncompatibleMethodOverride=false
# what the interface asks as a property may be a constant
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from palpate.errors import DataProblem
from palpate.mechanisms.mechanism import Joint, Matrix, Mechanism, OneFreedom, Row
from palpate.mechanisms.outline import Outline, Place, Solid, grip
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS, Functions, Scalar
from palpate.physics.motion import Kinematics, Load, Motion, Poses, Triple

HINGE = "hinge"
"""The coordinate: angle about z of the hinge frame, rad, positive when the body opens."""


@dataclass(frozen=True, slots=True)
class Hinge(OneFreedom):
    """The body frame has its origin on the axis and z along it; at angle zero it is the hinge's frame in the world.

    State: angle (rad), speed (rad/s). `inclination` (rad): from the axis z to the vertical, 0 for an upright hinge (pi
    if z points down); `direction` (rad): which way up leans, about z from x of the hinge's frame at angle zero.
    `linkage`: what the hinge drives, such as a closer, or a list of several; each adds a coordinate. `endless`: it
    turns any number of times, as a knob or a crank: an angle of many turns is then no wrong unit.
    """

    endless: bool = False
    type: ClassVar[str] = "hinge"
    frame: ClassVar[str] = (
        "hinge: origin on the axis, z along it; the angle is zero when shut and positive when opening"
    )
    main: ClassVar[str | None] = HINGE
    rows: ClassVar[tuple[Row, ...]] = (Row("n_z", "N m"),)
    state: ClassVar[tuple[str, ...]] = ("angle", "speed")
    joints: ClassVar[tuple[Joint, ...]] = (Joint(HINGE, "turn", (0.0, 0.0, 1.0), 0),)
    hand: ClassVar[tuple[float, float, float]] = (0.8, 0.0, 0.0)

    def with_gravity(self, gravity: Sequence[float] | FloatArray) -> Hinge:
        """The same hinge with gravity (m/s2) as a vector in its frame at angle zero: R_world_hinge' g_world."""
        x, y, z = (-float(g) for g in gravity)
        size, across = math.hypot(x, y, z), math.hypot(x, y)
        direction = math.atan2(y, x) if across > 0 else 0.0
        return replace(self, gravity=size, inclination=math.atan2(across, z), direction=direction)

    def outline(self, hand: Place | None = None) -> Outline:
        """A leaf in its frame; a flap where the axis lies; a wheel with a spoke where it turns without end."""
        if self.endless:
            x, y, z = hand or (0.1, 0.0, 0.03)
            radius = math.hypot(x, y)
            rim = Solid("cylinder", (1.15 * radius, 0.02), (0.0, 0.0, z - 0.03))
            spoke = Solid("box", (radius, 0.15 * radius, 0.03), (radius / 2, 0.0, z - 0.03))
            post = Solid("cylinder", (0.2 * radius, radius), (0.0, 0.0, z - 0.05 - radius / 2), part="frame")
            return Outline((rim, spoke, post, grip((x, y, z), 0.2 * radius)), (x, y, z))
        x, y, z = hand or (self.hand[0], -0.06, self.hand[2])
        width, half = abs(x) + 0.08, 1.0 if self.leaning < math.pi / 4 else 0.3
        side = math.copysign(1.0, x)
        leaf = Solid("box", (width, 0.04, 2 * half), (side * width / 2, 0.0, z))
        ends = (-0.05 * side, side * (width + 0.05))
        posts = [Solid("box", (0.06, 0.09, 2 * half), (end, 0.0, z), part="frame") for end in ends]
        up = -1.0 if self.inclination > math.pi / 2 else 1.0
        lintel = Solid("box", (width + 0.16, 0.09, 0.06), (side * width / 2, 0.0, z + up * (half + 0.04)), part="frame")
        frame = (*posts, lintel) if half == 1.0 else posts[:1]
        return Outline((leaf, *frame, grip((x, y, z))), (x, y, z), z + up * (half + 0.09))

    @property
    def leaning(self) -> float:
        """How far off the axis is from the vertical, rad."""
        return min(self.inclination, math.pi - self.inclination)

    def with_zero_at(self, position: float) -> Hinge:
        """The vertical stays where it is in the world."""
        return replace(self, direction=self.direction + position)

    @property
    def R_world_body(self) -> Matrix:
        """The hinge's frame in a world whose z points up: up leans from its z by the inclination, in its direction."""
        c, s = math.cos(self.inclination), math.sin(self.inclination)
        cd, sd = math.cos(self.direction), math.sin(self.direction)
        return ((c * cd, c * sd, -s), (-sd, cd, 0.0), (s * cd, s * sd, c))

    def motion(self, times_s: FloatArray, states: FloatArray, accelerations: FloatArray) -> Motion:
        """Refuses angles that nobody unwrapped."""
        angle = states[np.isfinite(states[:, 0]), 0]
        if (np.abs(np.diff(angle)) > math.pi + 1e-9).any():
            wrong = "the angle jumps by more than half a turn between known samples"
            raise DataProblem(self.type, wrong, remedy="unwrap it")
        return Mechanism.motion(self, times_s, states, accelerations)

    def coordinates_of(self, poses: Poses) -> FloatArray:
        """The turn about z, without what tilts off it; within half a turn of zero at the first known sample."""
        R, known = poses.rotation, poses.seen
        tilted = np.flatnonzero(known & (R[:, 2, 2] < math.cos(math.radians(10.0))))  # seen from some other frame
        if len(tilted):
            raise DataProblem(
                self.type,
                f"sample {tilted[0]}: z of the body frame is not along the {self.type}",
                remedy=f"poses must be those of the {self.type}'s frame, seen from the same frame at angle zero",
            )
        angle = np.full((len(R), 1), np.nan)
        angle[known, 0] = _counted(np.arctan2(R[known, 1, 0] - R[known, 0, 1], R[known, 0, 0] + R[known, 1, 1]))
        return angle

    def states(self, motion: Motion) -> FloatArray:
        """The angle from the poses, and omega about z."""
        return np.stack([self._position(motion), motion.omega[:, 2]], axis=1)

    def observe(self, motion: Motion) -> Kinematics:
        """Motion of the hinge's frame on the body, its poses seen from the same frame at angle zero (see `motion`)."""
        angle = self._position(motion)
        k = Kinematics.from_arrays(motion.specific_acceleration, motion.omega, motion.omega_dot)
        return replace(k, coordinates=self._moving(angle, k.omega[2], k.omega_dot[2], ARRAYS))

    def expand(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """The body's motion, and what it drives; never raises."""
        k, coordinates = self.body_motion(state, acc, fn), self._moving(state[0], state[1], acc[0], fn)
        return Kinematics(k.specific_acceleration, k.omega, k.omega_dot, coordinates)

    def body_motion(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """The origin rests, so a - g is gravity's opposite, turned into the body."""
        up, across = self.gravity * math.cos(self.inclination), self.gravity * math.sin(self.inclination)
        lean = self.direction - state[0]
        felt = (across * fn.cos(lean), across * fn.sin(lean), up)
        return Kinematics(felt, (0.0, 0.0, state[1]), (0.0, 0.0, acc[0]))

    def place(self, state: Sequence[Scalar], fn: Functions) -> tuple[Matrix, Triple]:
        """Rows of the body's rotation in the hinge's frame at angle zero, and the place of its origin: it rests."""
        c, s = fn.cos(state[0]), fn.sin(state[0])
        return ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)), (0.0, 0.0, 0.0)

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """The moment about the axis."""
        return (wrench[5],)

    def loads(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Mapping[str, Load]:
        """Across the axis: its bearings turn under that force. What lifts along it changes what they carry anyway."""
        return {str(self.main): Load((wrench[0], wrench[1]), ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), wrench[5])}


def _counted(angle: FloatArray) -> FloatArray:
    """Whole turns counted from the first sample, which is within half a turn of zero."""
    start = np.arctan2(np.sin(angle[:1]), np.cos(angle[:1]))
    return np.unwrap(np.concatenate([start, angle[1:]]))
