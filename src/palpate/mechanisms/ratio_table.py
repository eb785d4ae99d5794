"""A linkage known only by its ratio at some positions: measured, or from a drawing program."""

# pyright: reportIncompatibleMethodOverride=false
# what the interface asks as a property may be a field
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal, get_args

from palpate.errors import PalpateError, UnknownName
from palpate.mechanisms.linkage import Linkage, numbers
from palpate.physics.functions import Functions, Scalar

Unit = Literal["rad", "m"]


@dataclass(frozen=True, slots=True)
class RatioTable(Linkage):
    """`at`: increasing main positions (rad or m); `ratio`: d driven / d main there; straight lines between, constant
    beyond. The driven coordinate begins at `start` where the first position is, in `drives` (rad or m).
    """

    at: tuple[float, ...] = (0.0, 1.0)
    ratio: tuple[float, ...] = (1.0, 1.0)
    start: float = 0.0
    drives: Unit = "rad"
    coordinate: str = "driven"
    type: ClassVar[str] = "ratio-table"
    options: ClassVar[Mapping[str, str]] = {"at": "main"}

    @property
    def reach(self) -> tuple[float, float]:
        """Half an interval beyond its ends, where its ratio stays: farther out nobody measured it."""
        return self.at[0] - 0.5 * (self.at[1] - self.at[0]), self.at[-1] + 0.5 * (self.at[-1] - self.at[-2])

    def __post_init__(self) -> None:
        """Refuse positions that do not increase."""
        wanted = "at must be two or more increasing positions"
        at = numbers(self.at, None, wanted, lambda x: len(x) > 1 and all(a < b for a, b in pairwise(x)))
        ratio = numbers(self.ratio, len(at), f"ratio must be {len(at)} numbers, one for each position", lambda _: True)
        if not any(ratio):
            raise PalpateError("linkage: a ratio of zero throughout drives nothing")
        if self.drives not in get_args(Unit):
            raise UnknownName("unit of `drives`", str(self.drives), get_args(Unit), where="linkage")
        object.__setattr__(self, "at", at)
        object.__setattr__(self, "ratio", ratio)

    @property
    def unit(self) -> str:
        """Of the driven coordinate."""
        return self.drives

    @property
    def driven_by(self) -> tuple[str, ...]:
        """An angle or a length."""
        return ("rad", "m")

    @property
    def range(self) -> tuple[float, float]:
        """From the first position to the last."""
        return self.at[0], self.at[-1]

    @property
    def lengths(self) -> tuple[float, ...]:
        """Nothing of it is measured with a tape."""
        return ()

    def transmit(self, position: Scalar, fn: Functions) -> tuple[Scalar, Scalar, Scalar]:
        """The driven position (the integral of the ratio), the ratio, and its slope."""
        at, ratio = self.at, self.ratio
        driven, nu, nu_1 = self.start + ratio[0] * (position - at[0]), ratio[0] + 0.0 * position, 0.0 * position
        for (a, b), (first, last) in zip(pairwise(at), pairwise(ratio), strict=True):
            slope = (last - first) / (b - a)
            inside = fn.minimum(fn.maximum(position - a, 0.0), b - a)
            beyond = fn.maximum(position - b, 0.0)
            driven = driven + slope * inside * (0.5 * inside + beyond)
            nu = nu + slope * inside
            nu_1 = nu_1 + slope * fn.step(position - a) * fn.step(b - position)
        return driven, nu, nu_1
