"""The four-bar linkage of a door closer: door angle -> pinion angle, with its first and second derivative."""

from __future__ import annotations

# pyright: reportIncompatibleMethodOverride=false
# what the interface asks as a property may be a field
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

from palpate.errors import PalpateError, UnknownName
from palpate.mechanisms.linkage import StandOff, check_range, numbers, ordered_range
from palpate.physics.functions import FLOATS, Functions, Scalar

Assembly = Literal["negative", "positive"]

_DEAD_RAD = 1e-3
"""Arm and forearm this near to one line (or folded) pass nothing on: a dead centre."""


@dataclass(frozen=True, slots=True)
class FourBar(StandOff):
    """Links in m: L1 along the door, hinge to pinion; L2 the arm, pinion to elbow; L3 the forearm, elbow to frame; L4
    along the frame, hinge to the forearm's pivot. L1 e^(i theta) + L2 e^(i gamma) = L4 + L3 e^(i psi) closes the loop.

    Freudenstein's equation (Norton, Design of Machinery, 4.6; FORMATS, erratum 1):
    K1 cos gamma + K4 cos theta + K5 = cos(theta - gamma). Its two roots for gamma are the two `assembly`s of the same
    links, the elbow on either side; a closer has the negative one (erratum 2). The pinion's angle is
    phi = pi + theta - gamma, continuous, with gamma from -pi to pi at the closed door.

    `offset` (rad): pinion and pivot seldom sit in the planes of door and frame; theta is the door's angle plus the
    angle from L4 to L1 when the door is shut. With stand-offs a (pinion, off the door) and b (pivot, off the frame)
    and distances x, y along them, L1 = hypot(x, a), L4 = hypot(y, b), offset = atan2(a, x) - atan2(b, y). A closer
    that sits on the frame is the same linkage seen from there: L1 is always the bar that carries the pinion.

    `range`: door angles (rad) that the loop must be able to reach.
    """

    lengths: tuple[float, float, float, float] = (0.28575, 0.27305, 0.26035, 0.34925)
    assembly: Assembly = "negative"
    range: tuple[float, float] = (0.0, math.pi / 2)
    offset: float = 0.0
    coordinate: str = "closer"
    _start: float = field(default=0.0, init=False, repr=False, compare=False)
    """What makes gamma a principal value at the closed door, rad."""
    type: ClassVar[str] = "four-bar"
    angles: ClassVar[tuple[str, ...]] = ("offset",)
    options: ClassVar[Mapping[str, str]] = {"lengths": "m", "range": "rad", "offset": "rad"}

    def __post_init__(self) -> None:
        """Refuse links that cannot close."""
        lengths = numbers(self.lengths, 4, "lengths must be four positive numbers in m", lambda x: min(x) > 0)
        object.__setattr__(self, "lengths", lengths)
        object.__setattr__(self, "range", ordered_range(self.range))
        if self.assembly not in get_args(Assembly):
            raise UnknownName("assembly", str(self.assembly), get_args(Assembly), where="linkage")
        check_range(self, f"the links {', '.join(f'{x:g}' for x in self.lengths)} m")
        closed = min(max(0.0, self.range[0]), self.range[1])
        turned, _, _ = self.transmit(closed, FLOATS)
        gamma = math.pi + closed + self.offset - turned
        object.__setattr__(self, "_start", 2 * math.pi * math.ceil((gamma - math.pi) / (2 * math.pi)))

    @property
    def lever(self) -> float:
        """Of pinion and pivot, whose stand-offs are off by as much, each for itself."""
        L1, _, _, L4 = self.lengths
        return 1 / math.hypot(1 / L1, 1 / L4)

    @property
    def reach(self) -> tuple[float, float]:
        """The door angles, rad, at which the loop closes, on the side of `range`.

        The diagonal from pinion to frame must be shorter than arm + forearm and longer than their difference.
        """
        L1, _, _, L4 = self.lengths
        shortest, longest = self._diagonals()
        cos_fold, cos_stretch = ((L1 * L1 + L4 * L4 - q) / (2 * L1 * L4) for q in (shortest, longest))
        if cos_stretch > 1 or cos_fold < -1:
            raise PalpateError(
                f"linkage: the links {', '.join(f'{x:g}' for x in self.lengths)} m cannot close the loop at any angle"
            )
        highest = math.acos(max(cos_stretch, -1.0))
        if cos_fold >= 1:
            return -highest - self.offset, highest - self.offset
        lowest = math.acos(cos_fold)
        low, high = (-highest, -lowest) if self.range[1] + self.offset < 0 else (lowest, highest)
        return low - self.offset, high - self.offset

    @property
    def others(self) -> Mapping[str, FourBar]:
        """The elbow on the other side."""
        return {name: replace(self, assembly=name) for name in get_args(Assembly) if name != self.assembly}

    def transmit(self, position: Scalar, fn: Functions) -> tuple[Scalar, Scalar, Scalar]:
        """phi (rad), nu = d phi / d theta, and d nu / d theta (1/rad); beyond the reach the elbow keeps its angle.

        phi = pi + beta -+ alpha: beta turns with the diagonal from the pinion to the forearm's pivot, of squared
        length q; alpha is the angle between it and the arm, by the law of cosines.
        """
        L1, L2, L3, L4 = self.lengths
        shortest, longest = self._diagonals()
        theta = position + self.offset
        cos, sin = fn.cos(theta), fn.sin(theta)
        diagonal = L1 * L1 + L4 * L4 - 2 * L1 * L4 * cos
        r2 = fn.maximum(diagonal, shortest)  # links of equal length fold to a point
        q = fn.minimum(r2, longest)
        inside = fn.step(diagonal - shortest) * fn.step(longest - diagonal)
        # seen from the side on which the diagonal does not pass the cut of atan2
        side, pi = (1.0, math.pi) if L4 >= L1 else (-1.0, 0.0)
        beta = fn.atan2(side * L4 * sin, side * (L4 * cos - L1))
        beta_1 = (L4 * L4 - L1 * L4 * cos) / r2
        beta_2 = L1 * L4 * sin * (1 - 2 * beta_1) / r2

        q_1 = 2 * L1 * L4 * sin * inside
        q_2 = 2 * L1 * L4 * cos * inside
        e = L2 * L2 - L3 * L3
        u = q + e
        S2 = fn.maximum(4 * L2 * L2 * q - u * u, (_DEAD_RAD * L2 * L3) * (_DEAD_RAD * L2 * L3))
        S = fn.sqrt(S2)  # four times the area of the triangle of arm, forearm and diagonal
        alpha = fn.atan2(S, u)
        alpha_q = (e - q) / (2 * q * S)
        alpha_qq = -(e * S2 + (e - q) * q * (2 * L2 * L2 - u)) / (2 * q * q * S2 * S)
        sign = -1.0 if self.assembly == "negative" else 1.0
        return (
            self._start + pi + beta + sign * alpha,
            beta_1 + sign * alpha_q * q_1,
            beta_2 + sign * (alpha_qq * q_1 * q_1 + alpha_q * q_2),
        )

    def bars(self, position: Scalar, fn: Functions) -> Sequence[tuple[Scalar, Scalar]]:
        """Pinion, elbow and the forearm's pivot, which is drawn straight along the frame."""
        L1, L2, _, L4 = self.lengths
        theta = position + self.offset
        gamma = math.pi + theta - self.transmit(position, fn)[0]
        x, y = L1 * fn.cos(theta), L1 * fn.sin(theta)
        return (x, y), (x + L2 * fn.cos(gamma), y + L2 * fn.sin(gamma)), (L4, 0.0)

    def _diagonals(self) -> tuple[float, float]:
        """Smallest and largest squared distance between pinion and the forearm's pivot, m2, clear of dead centres."""
        _, L2, L3, _ = self.lengths
        both = 2 * L2 * L3 * math.cos(_DEAD_RAD)
        return L2 * L2 + L3 * L3 - both, L2 * L2 + L3 * L3 + both
