"""The track arm of a door closer: one arm, whose roller slides in a straight track along the frame."""

# pyright: reportIncompatibleMethodOverride=false
# what the interface asks as a property may be a field
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

from palpate.errors import UnknownName
from palpate.mechanisms.linkage import StandOff, check_range, numbers, ordered_range
from palpate.physics.functions import Functions, Scalar

Roller = Literal["outward", "inward"]
_DEAD = 1.0 - 5e-7
"""Sine of the arm's angle to the track beyond which it stands across and passes nothing on (1 mrad): a dead centre."""


@dataclass(frozen=True, slots=True)
class TrackArm(StandOff):
    """Lengths in m: L1 along the door, hinge to pinion; L2 the arm, pinion to roller; L3 from the hinge across to the
    track, positive on the side to which the door opens.

    L1 sin(theta) + L2 sin(gamma) = L3: the roller is in the track, which runs along the frame. theta is the door's
    angle plus `offset` (rad, atan2 of the pinion's stand-off over its distance along the door); gamma the arm's angle
    to the track. `roller`: whether it lies beyond the pinion, away from the hinge, or on the hinge's side of it. The
    pinion's angle is phi = pi + theta - gamma, as that of `FourBar`.

    `range`: door angles (rad) that it must be able to reach.
    """

    lengths: tuple[float, float, float] = (0.28, 0.42, 0.02)
    roller: Roller = "outward"
    range: tuple[float, float] = (0.0, math.pi / 2)
    offset: float = 0.0
    coordinate: str = "closer"
    type: ClassVar[str] = "track-arm"
    angles: ClassVar[tuple[str, ...]] = ("offset",)
    options: ClassVar[Mapping[str, str]] = {"lengths": "m", "range": "rad", "offset": "rad"}

    def __post_init__(self) -> None:
        """Refuse an arm that cannot reach its track."""
        wanted = "lengths must be three numbers in m: hinge to pinion and arm (positive), hinge to track"
        object.__setattr__(self, "lengths", numbers(self.lengths, 3, wanted, lambda x: min(x[:2]) > 0))
        object.__setattr__(self, "range", ordered_range(self.range))
        if self.roller not in get_args(Roller):
            raise UnknownName("roller", str(self.roller), get_args(Roller), where="linkage")
        check_range(self, f"an arm of {self.lengths[1]:g} m, {self.lengths[0]:g} m from the hinge,")

    @property
    def lever(self) -> float:
        """Of the pinion alone: the track's distance is a length of its own."""
        return self.lengths[0]

    @property
    def reach(self) -> tuple[float, float]:
        """Door angles, rad, at which the arm is not across the track, on the side of `range`."""
        L1, L2, L3 = self.lengths
        # the pinion may be so far on either side: sin theta between these
        most, least = (L3 + _DEAD * L2) / L1, (L3 - _DEAD * L2) / L1
        if most <= -1 or least >= 1:
            return math.nan, math.nan
        high = math.asin(most) if most < 1 else math.inf
        low = math.asin(least) if least > -1 else -math.inf
        if math.isinf(high):  # past a right angle the door comes back to where its pinion is as far off the track
            return low - self.offset, math.pi - low - self.offset
        if math.isinf(low):
            return -math.pi - high - self.offset, high - self.offset
        if sum(self.range) / 2 + self.offset > math.pi / 2:  # the other half of the turn
            low, high = math.pi - high, math.pi - low
        return low - self.offset, high - self.offset

    @property
    def others(self) -> Mapping[str, TrackArm]:
        """The roller on the other side of the pinion."""
        return {name: replace(self, roller=name) for name in get_args(Roller) if name != self.roller}

    def transmit(self, position: Scalar, fn: Functions) -> tuple[Scalar, Scalar, Scalar]:
        """phi (rad), nu = d phi / d theta, and d nu / d theta (1/rad); beyond the reach the arm keeps its angle.

        From the loop, L1 cos(theta) + L2 cos(gamma) gamma' = 0 and its derivative.
        """
        L1, L2, L3 = self.lengths
        theta = position + self.offset
        cos, sin = fn.cos(theta), fn.sin(theta)
        sine = (L3 - L1 * sin) / L2
        inside = fn.step(_DEAD - sine) * fn.step(_DEAD + sine)
        s = fn.minimum(fn.maximum(sine, -_DEAD), _DEAD)
        side = 1.0 if self.roller == "outward" else -1.0
        c = side * fn.sqrt(1 - s * s)
        gamma = fn.atan2(s, c)
        gamma_1 = -L1 * cos / (L2 * c) * inside
        gamma_2 = (L1 * sin / L2 + s * gamma_1 * gamma_1) / c * inside
        return math.pi + theta - gamma, 1 - gamma_1, -gamma_2

    def bars(self, position: Scalar, fn: Functions) -> Sequence[tuple[Scalar, Scalar]]:
        """Pinion and roller."""
        L1, L2, _ = self.lengths
        theta = position + self.offset
        gamma = math.pi + theta - self.transmit(position, fn)[0]
        x, y = L1 * fn.cos(theta), L1 * fn.sin(theta)
        return (x, y), (x + L2 * fn.cos(gamma), y + L2 * fn.sin(gamma))
