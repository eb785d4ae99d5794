"""Two points, one on the body and one that stands still: the length of a spring, gas strut or cable between them."""

# pyright: reportIncompatibleMethodOverride=false
# what the interface asks as a property may be a field
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

from palpate.errors import PalpateError, UnknownName
from palpate.mechanisms.linkage import Linkage, numbers, ordered_range
from palpate.physics.functions import FLOATS, Functions, Scalar

Motion = Literal["turn", "slide"]
_SHORTEST_M, _NEAREST_M, _TRIED = 1e-3, 5e-3, 200
"""Nearer than the first the points are one; nearer than the second they must not come in `range`, where so many
positions are tried."""


@dataclass(frozen=True, slots=True)
class TwoPoints(Linkage):
    """`body` and `ground`: where the ends are while the object is shut, m, in x and y of the mechanism's frame.

    On a hinge x and y lie across its axis and the body's point turns about the origin; on a slide x lies along the
    line and the body's point moves with it (`by: slide`). The driven coordinate is the distance of the two points, m.

    `range`: main positions (rad or m) for which it is described.
    """

    body: tuple[float, float] = (0.3, 0.05)
    ground: tuple[float, float] = (-0.05, 0.45)
    by: Motion = "turn"
    range: tuple[float, float] = (0.0, math.pi / 2)
    coordinate: str = "strut"
    type: ClassVar[str] = "two-points"
    length_names: ClassVar[tuple[str, ...]] = ("body_x", "body_y", "ground_x", "ground_y")
    told: ClassVar[tuple[str, ...]] = ("ground_x", "ground_y")
    options: ClassVar[Mapping[str, str]] = {"body": "m", "ground": "m", "range": "main"}

    def __post_init__(self) -> None:
        """Refuse points that meet."""
        for name in ("body", "ground"):
            point = numbers(getattr(self, name), 2, f"{name} must be two numbers in m, x and y", lambda _: True)
            object.__setattr__(self, name, point)
        object.__setattr__(self, "range", ordered_range(self.range, "positions, in rad or m"))
        if self.by not in get_args(Motion):
            raise UnknownName("by", str(self.by), get_args(Motion), where="linkage")
        if self.by == "turn" and min(math.hypot(*self.body), math.hypot(*self.ground)) < _SHORTEST_M:
            raise PalpateError("linkage: a point on the axis of the hinge drives nothing")
        low, high = self.range
        shortest = min(self.transmit(low + (high - low) * i / _TRIED, FLOATS)[0] for i in range(_TRIED + 1))
        if shortest < _NEAREST_M:
            wrong = f"the two points come within {1e3 * shortest:.1f} mm of each other in `range`"
            raise PalpateError(f"linkage: {wrong}, where nothing says which way the force acts")

    @property
    def unit(self) -> str:
        """A distance."""
        return "m"

    @property
    def driven_by(self) -> tuple[str, ...]:
        """An angle where the body's point turns, a length where it slides."""
        return ("rad",) if self.by == "turn" else ("m",)

    @property
    def lengths(self) -> tuple[float, ...]:
        """Both points, m."""
        return (*self.body, *self.ground)

    def with_lengths(self, lengths: Iterable[float]) -> TwoPoints:
        """The same with other points."""
        x, y, u, v = lengths
        return replace(self, body=(x, y), ground=(u, v))

    def transmit(self, position: Scalar, fn: Functions) -> tuple[Scalar, Scalar, Scalar]:
        """Distance l (m), dl/dq and d2l/dq2, from l l' = d . d' and l l'' = d' . d' + d . d'' - l'^2."""
        (x, y), (u, v) = self.body, self.ground
        if self.by == "slide":
            dx, dy, first, second = x + position - u, y - v, (1.0, 0.0), (0.0, 0.0)
        else:
            c, s = fn.cos(position), fn.sin(position)
            bx, by = c * x - s * y, s * x + c * y
            dx, dy, first, second = bx - u, by - v, (-by, bx), (-bx, -by)
        square = dx * dx + dy * dy
        apart = fn.step(square - _SHORTEST_M * _SHORTEST_M)  # what stays as it is has no ratio
        length = fn.sqrt(fn.maximum(square, _SHORTEST_M * _SHORTEST_M))
        nu = apart * (dx * first[0] + dy * first[1]) / length
        along = first[0] * first[0] + first[1] * first[1] + dx * second[0] + dy * second[1]
        return length, nu, apart * (along - nu * nu) / length

    def bars(self, position: Scalar, fn: Functions) -> Sequence[tuple[Scalar, Scalar]]:
        """From the body's point to the one that stands still."""
        x, y = self.body
        if self.by == "slide":
            return (x + position, y), self.ground
        c, s = fn.cos(position), fn.sin(position)
        return (c * x - s * y, s * x + c * y), self.ground
