"""A slide: the body moves along one axis and does not turn. One row is free, the force along the axis."""

# pyright: reportIncompatibleMethodOverride=false
# what the interface asks as a property may be a constant
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from palpate.errors import DataProblem
from palpate.mechanisms.mechanism import Joint, Matrix, OneFreedom, Row
from palpate.mechanisms.outline import Outline, Place, Solid, grip
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS, Functions, Scalar
from palpate.physics.motion import Kinematics, Load, Motion, Poses, Triple

SLIDE = "slide"
"""The coordinate: position along x of the slide's frame, m, positive when the body opens."""


@dataclass(frozen=True, slots=True)
class Slide(OneFreedom):
    """The body frame has x along the axis; at position zero it is the slide's frame in the world.

    State: position (m), speed (m/s). `inclination` (rad): how far x rises above the horizontal, 0 for a drawer, pi/2
    for a sash that opens upwards; `direction` (rad): which way up leans across the axis, about x from z of the frame.
    `linkage`: what the slide drives, or a list of several; each adds a coordinate.
    """

    type: ClassVar[str] = "slide"
    frame: ClassVar[str] = "slide: x along the axis; the position is zero when shut and positive when opening"
    main: ClassVar[str | None] = SLIDE
    rows: ClassVar[tuple[Row, ...]] = (Row("f_x", "N"),)
    state: ClassVar[tuple[str, ...]] = ("position", "speed")
    joints: ClassVar[tuple[Joint, ...]] = (Joint(SLIDE, "slide", (1.0, 0.0, 0.0), 0),)
    unit: ClassVar[str] = "m"
    outward: ClassVar[tuple[float, float, float]] = (1.0, 0.0, 0.0)

    def outline(self, hand: Place | None = None) -> Outline:
        """A drawer, its front where the hand is, in a case that stands still."""
        x, y, z = hand or (0.04, 0.0, 0.0)
        front = x - 0.04
        body = (
            Solid("box", (0.45, 0.44, 0.14), (front - 0.235, y, z - 0.01)),
            Solid("box", (0.02, 0.5, 0.2), (front, y, z)),
        )
        plates = [Solid("box", (0.48, 0.52, 0.02), (front - 0.25, y, z + up), part="frame") for up in (-0.12, 0.12)]
        sides = [Solid("box", (0.48, 0.02, 0.22), (front - 0.25, y + left, z), part="frame") for left in (-0.25, 0.25)]
        return Outline((*body, *plates, *sides, grip((x, y, z), 0.025)), (x, y, z), z + 0.15)

    @property
    def leaning(self) -> float:
        """How far the axis rises or falls from the horizontal, rad."""
        return abs(self.inclination)

    @property
    def R_world_body(self) -> Matrix:
        """The slide's frame in a world whose z points up and whose x is straight below or above the axis."""
        c, s = math.cos(self.inclination), math.sin(self.inclination)
        cd, sd = math.cos(self.direction), math.sin(self.direction)
        return ((c, -s * sd, -s * cd), (0.0, cd, -sd), (s, c * sd, c * cd))

    def with_gravity(self, gravity: Sequence[float] | FloatArray) -> Slide:
        """The same slide with gravity (m/s2) as a vector in its frame: R_world_slide' g_world."""
        x, y, z = (-float(g) for g in gravity)
        across = math.hypot(y, z)
        direction = math.atan2(y, z) if across > 0 else 0.0
        return replace(self, gravity=math.hypot(x, across), inclination=math.atan2(x, across), direction=direction)

    def coordinates_of(self, poses: Poses) -> FloatArray:
        """The position along x; what moves across it is not looked at."""
        R, seen = poses.rotation, poses.seen
        cosine = np.diagonal(R, axis1=1, axis2=2).min(axis=1, initial=1.0)
        turned = np.flatnonzero(seen & (cosine < math.cos(math.radians(10.0))))  # seen from some other frame
        if len(turned):
            raise DataProblem(
                "slide",
                f"sample {turned[0]}: the body frame is turned against the slide's",
                remedy="poses must be those of the slide's frame, seen from the same frame at position zero",
            )
        return np.where(seen, poses.position[:, 0], np.nan)[:, None]

    def states(self, motion: Motion) -> FloatArray:
        """The position from the poses, and the velocity along x."""
        return np.stack([self._position(motion), self._speed(motion)], axis=1)

    def observe(self, motion: Motion) -> Kinematics:
        """Motion of the slide's frame on the body, its poses seen from the same frame at position zero (`motion`).

        The body is taken not to turn: what is measured of that is noise, and no evidence.
        """
        a = motion.specific_acceleration
        along = a[:, 0] - self.gravity * math.sin(self.inclination)
        coordinates = self._moving(self._position(motion), self._speed(motion), along, ARRAYS)
        none = (0.0, 0.0, 0.0)
        return Kinematics((a[:, 0], a[:, 1], a[:, 2]), none, none, coordinates)

    def expand(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """The acceleration along x, and gravity's opposite; never raises."""
        up, none = self.R_world_body[2], (0.0, 0.0, 0.0)
        felt = (acc[0] + self.gravity * up[0], self.gravity * up[1], self.gravity * up[2])
        return Kinematics(felt, none, none, self._moving(state[0], state[1], acc[0], fn))

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """The force along the axis."""
        return (wrench[0],)

    def loads(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Mapping[str, Load]:
        """Across the axis, which rails or rollers bear."""
        return {SLIDE: Load((wrench[1], wrench[2]), ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), wrench[0])}

    def place(self, state: Sequence[Scalar], fn: Functions) -> tuple[Matrix, Triple]:
        """Not turned, and so far along x."""
        return ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), (state[0], 0.0, 0.0)

    def velocity(self, state: Sequence[Scalar], fn: Functions) -> Triple:
        """Along x."""
        return (state[1], 0.0, 0.0)

    def _speed(self, motion: Motion) -> FloatArray:
        if motion.velocity is None:
            raise DataProblem("slide", "the motion has no velocity", remedy="build it from poses or positions")
        return motion.velocity[:, 0]
