"""The interface of a linkage: what the main coordinate of a mechanism drives, such as a closer or a strut."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from palpate.errors import DataProblem, PalpateError
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.functions import ARRAYS, FLOATS, Functions, Scalar
from palpate.physics.units import shown

TRIED = 400
"""Positions at which it is asked how far a chain of linkages follows."""


@dataclass(frozen=True, slots=True)
class Linkage(ABC):
    """From a coordinate q to one that it drives: a frozen dataclass that derives from this class.

    Its fields are its options in an object file; a driven coordinate that elements act on bears the name `coordinate`.
    """

    after: str | None = field(default=None, kw_only=True)
    """The coordinate of the linkage that drives this one; None: the mechanism's own coordinate does, which the words
    below call main."""
    estimate: bool | str | tuple[str, ...] = field(default=False, kw_only=True)
    """Which of its `sizes` the data shall tell: true for those that they may, or names."""
    type: ClassVar[str]
    length_names: ClassVar[tuple[str, ...]] = ()
    """Of `lengths`; empty: L1, L2, ..."""
    angles: ClassVar[tuple[str, ...]] = ()
    """Options in rad that may be estimated too."""
    told: ClassVar[tuple[str, ...]] = ()
    """Sizes that `estimate: true` means; empty: all but the first, as of what drives an angle only ratios are seen."""
    options: ClassVar[Mapping[str, str]]
    """Units of the options that have one; "main": that of the coordinate that drives it."""

    @property
    def unit(self) -> str:
        """Of the driven coordinate: "rad" or "m"."""
        return "rad"

    @property
    def driven_by(self) -> tuple[str, ...]:
        """Units of the coordinates that may drive it."""
        return ("rad",)

    @property
    @abstractmethod
    def coordinate(self) -> str:
        """The name of what it drives."""

    @property
    @abstractmethod
    def range(self) -> tuple[float, float]:
        """Main positions for which it is described, and that it must be able to reach."""

    @property
    @abstractmethod
    def lengths(self) -> tuple[float, ...]:
        """What a tape measure says of it, m."""

    @abstractmethod
    def transmit(self, position: Scalar, fn: Functions) -> tuple[Scalar, Scalar, Scalar]:
        """The driven position, its ratio nu = d driven / d q, and d nu / d q; never raises."""

    def bars(self, position: Scalar, fn: Functions) -> Sequence[tuple[Scalar, Scalar]]:
        """Where the ends of its bars are, one after the other: x and y (m) in the mechanism's frame, for pictures."""
        return ()

    @property
    def reach(self) -> tuple[float, float]:
        """Main positions that it can follow."""
        return (-math.inf, math.inf)

    @property
    def others(self) -> Mapping[str, Self]:
        """The same parts assembled in other ways, by name."""
        return {}

    def with_lengths(self, lengths: Iterable[float]) -> Self:
        """The same with other lengths, m; refused where it cannot be assembled."""
        return replace(self, lengths=tuple(lengths)) if self.lengths else self

    @property
    def sizes(self) -> Mapping[str, tuple[float, str]]:
        """What a tape measure tells of it, and the data may: name -> value, and "m" or "rad"."""
        names = self.length_names or [f"L{i + 1}" for i in range(len(self.lengths))]
        sizes = {name: (length, "m") for name, length in zip(names, self.lengths, strict=True)}
        return sizes | {name: (float(getattr(self, name)), "rad") for name in self.angles}

    def with_sizes(self, sizes: Mapping[str, float]) -> Self:
        """The same with some of its sizes other, m and rad; refused where it cannot be assembled."""
        known = {name: sizes.get(name, value) for name, (value, _) in self.sizes.items()}
        turned = replace(self, **{name: known.pop(name) for name in self.angles}) if self.angles else self
        return turned.with_lengths(known.values())

    def off_by(self, name: str, by: float) -> float:
        """By how much a size is off, m or rad, where a tape measure is off by so much, m; 0: nobody measured it."""
        return by if self.sizes[name][1] == "m" else 0.0

    @property
    def estimated(self) -> tuple[str, ...]:
        """The sizes that the data shall tell."""
        if isinstance(self.estimate, bool):
            return (self.told or tuple(self.sizes)[1:]) if self.estimate else ()
        return (self.estimate,) if isinstance(self.estimate, str) else tuple(self.estimate)

    @classmethod
    def options_along(cls, unit: str) -> Mapping[str, str]:
        """Units of the options where the main coordinate is in this unit, "rad" or "m"."""
        return {name: unit if of == "main" else of for name, of in cls.options.items()}

    def check_reach(self, position: FloatArray, unit: str | None = None, of: str = "") -> None:
        """Refuse measured positions, in this unit, that it cannot follow; NaN is not judged. of: whose they are."""
        low, high = self.reach
        out = np.flatnonzero((position < low) | (position > high))
        if len(out):
            unit = unit or self.driven_by[0]
            there = f"{of} at {shown(float(position[out[0]]), unit)}" if of else shown(float(position[out[0]]), unit)
            raise DataProblem(
                "linkage",
                f"sample {out[0]}: {there} is out of the linkage's reach, "
                f"{shown(low, unit, named=False)} to {shown(high, unit)} ({len(out)} samples in all)",
                remedy="check its lengths, and where the position is zero",
            )


class StandOff(Linkage, ABC):
    """A linkage with an option `offset` (rad) that follows from how far pivots stand off door and frame.

    Where one is stated it was measured with the lengths and is as doubtful: with the lever r, a stand-off that is
    off by s turns it by s / r, the derivative of atan2(s, x). Where none is stated there is none.
    """

    __slots__ = ()
    offset: float

    @property
    @abstractmethod
    def lever(self) -> float:
        """m: one over by how much a metre of stand-off turns the offset."""

    def off_by(self, name: str, by: float) -> float:
        """Of an offset that is not said to be none, by the lever."""
        stated = self.offset or name in self.estimated
        return by if name != "offset" else by / self.lever if stated else 0.0


def followed(
    driven: Callable[[FloatArray], FloatArray],
    within: tuple[float, float],
    described: tuple[float, float] | None,
    ends: tuple[float, float],
) -> tuple[float, float]:
    """The main positions, without a gap, at which what another linkage drives stays between these ends.

    within: what that linkage can follow; described: positions among which they begin. An end is found to 1e-9 of the
    stretch that is looked at, a few times the described one.
    """
    first, last = described or (0.0, 1.0)
    stretch = max(last - first, 1.0)
    low, high = max(within[0], first - 6 * stretch), min(within[1], last + 6 * stretch)

    def inside(at: FloatArray) -> BoolArray:
        x = driven(at)
        return (x >= ends[0]) & (x <= ends[1])

    middle, found = 0.5 * (first + last), [0.0, 0.0]
    for i, far in enumerate((low, high)):
        at = np.linspace(middle, far, TRIED)
        out = np.flatnonzero(~inside(at))
        if not len(out):
            found[i] = within[i]
            continue
        a, b = float(at[max(out[0] - 1, 0)]), float(at[out[0]])
        for _ in range(30):
            c = 0.5 * (a + b)
            a, b = (c, b) if inside(np.array([c]))[0] else (a, c)
        found[i] = a
    return found[0], found[1]


def check_linkage(linkage: Linkage) -> None:
    """Raise `PalpateError` with the reason if a linkage does not keep its promises: every driven force goes by them.

    Its ratios must be the slopes of what it drives, on arrays and on floats alike.
    """
    low, high = linkage.range
    low, high = max(low, -1e3), min(high, 1e3)
    q, h = low + (high - low) * np.linspace(0.03, 0.97, 32), 1e-6 * (high - low)
    here, before, after = (np.array(linkage.transmit(x, ARRAYS)) + 0 * q for x in (q, q - h, q + h))
    for i, name in enumerate(("the ratio", "the ratio's slope")):
        slope = (after[i] - before[i]) / (2 * h)
        if np.median(np.abs(slope - here[i + 1])) > 1e-4 * max(float(np.abs(slope).max()), 1e-9):
            wrong = f"{name} that transmit() returns is not the derivative of what stands before it"
            raise PalpateError(f"linkage {linkage.type!r} ({type(linkage).__name__}): {wrong}")
    if not np.allclose(linkage.transmit(float(q[3]), FLOATS), here[:, 3], rtol=1e-9, atol=1e-12):
        raise PalpateError(f"linkage {linkage.type!r} ({type(linkage).__name__}): arrays and floats differ")


def check_range(linkage: Linkage, parts: str) -> None:
    """Refuse a range that the linkage cannot reach; parts: what it is made of, in words."""
    low, high = linkage.reach
    for angle in linkage.range:
        if not low <= angle <= high:
            raise PalpateError(
                f"linkage: {parts} cannot close the loop at {math.degrees(angle):.1f} deg, only from {degrees(low)} to "
                f"{degrees(high)} deg"
            )


def numbers(
    given: Iterable[Any], count: int | None, wanted: str, possible: Callable[[tuple[float, ...]], bool]
) -> tuple[float, ...]:
    """An option as floats; JSON and YAML give lists. count: None for any."""
    try:
        listed = tuple(float(x) for x in given)
    except (TypeError, ValueError):
        listed = ()
    counted = len(listed) > 0 if count is None else len(listed) == count
    if not counted or not all(math.isfinite(x) for x in listed) or not possible(listed):
        raise PalpateError(f"linkage: {wanted}, not {list(given) if listed else given!r}")
    return listed


def ordered_range(given: Iterable[Any], kind: str = "angles in rad") -> tuple[float, float]:
    """The option `range`."""
    low, high = numbers(given, 2, f"range must be two {kind}, the smaller first", lambda x: x[0] <= x[1])
    return low, high


def degrees(angle: float) -> str:
    """An angle in words."""
    return f"{math.degrees(angle):.1f}"
