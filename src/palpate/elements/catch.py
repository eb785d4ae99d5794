"""Forces that hold an object at a place and let it go: magnets and gaskets, latches, detents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, pi, radians
from typing import ClassVar

import numpy as np

from palpate.elements.element import Element, Shape
from palpate.errors import PalpateError
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar
from palpate.physics.memory import Step
from palpate.physics.motion import Kinematics

_SHORTEST, _LONGEST = 1e-4, 1.0
"""Reach of a magnet or half width of a detent, rad or m."""
_NEAR = 8.0
"""Times that reach: what is farther away shows nothing of it."""


@dataclass(frozen=True, slots=True)
class _AtPlace(Element):
    """What acts near the position `at`, within a few times `reach` (rad or m)."""

    acts_on: str = "hinge"
    at: float = 0.0
    reach: float = radians(1.0)
    estimate: bool = False
    options: ClassVar[Mapping[str, str]] = {"at": "rad", "reach": "rad"}
    coefficient: ClassVar[str] = "N m"
    stores: ClassVar[bool] = True
    needs: ClassVar[str] = "move it slowly through its place, and hold it still near it"

    def __post_init__(self) -> None:
        """Refuse a reach that divides by nothing."""
        if not _SHORTEST <= self.reach <= _LONGEST:
            limits = f"from {_SHORTEST:g} to {_LONGEST:g} rad or m"
            raise PalpateError(f"element {self.name!r}: reach must be {limits}, not {self.reach:g}")

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """How far it reaches."""
        return (Shape("reach", self.unit("rad"), self.reach, bounds=(_SHORTEST, _LONGEST), free=self.estimate),)

    @property
    def sees(self) -> tuple[str, ...]:
        """Where its coordinate was near its place."""
        return (self.acts_on, f"{self.at:.9g}")

    def visited(self, k: Kinematics) -> tuple[FloatArray, tuple[float, float]]:
        """Distances from its place."""
        away = np.abs(np.asarray(k.coordinates[self.acts_on].position, dtype=float) - self.at)
        return away[away > 0], (0.0, 1.0)

    def limits(self, shape: Shape, visited: tuple[float, float]) -> tuple[float, float]:
        """From a tenth of what is given to ten times that, as far as there were positions."""
        low, high = max(shape.bounds[0], 0.1 * shape.value), min(shape.bounds[1], 10 * shape.value)
        return max(low, visited[0] / _NEAR), max(low * 1.01, min(high, visited[1]))

    def _pull(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Scalar:
        """Of two poles across a gap: one where it is shut or pressed farther."""
        gap = 1.0 + fn.maximum(k.coordinates[self.acts_on].position - self.at, 0.0) / z["reach"]
        return 1.0 / (gap * gap)


@dataclass(frozen=True, slots=True)
class Magnet(_AtPlace):
    """tau = p / (1 + x / reach)^2, x = how far the object is open beyond `at`: it pulls it shut, most when it is shut.

    The force of two poles across a gap falls with its square (Furlani, Permanent Magnet, 3.6); a magnetic gasket does
    the same over a few millimetres. What it takes to pull it off, it gives back when it snaps on.
    """

    name: str = "magnet"
    type: ClassVar[str] = "magnet"
    effect: ClassVar[str] = "pull of the magnet, shut"

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """One where it is shut or pressed farther."""
        return (self._pull(k, z, fn),)


@dataclass(frozen=True, slots=True)
class Latch(_AtPlace):
    """tau = p / (1 + x / reach)^2 while it holds, x = how far the object is open beyond `at`; else nothing.

    `holds` (rad or m): it takes hold where x falls below the first and lets go where x exceeds the second, as a latch,
    a gasket that sticks or a magnet on a spring do: not all that it takes to pull it off is given back (a relay;
    Visintin, Differential Models of Hysteresis, VI.1). With a large `reach` the pull is the same all along.
    """

    name: str = "latch"
    holds: tuple[float, float] = (radians(0.5), radians(2.0))
    type: ClassVar[str] = "latch"
    effect: ClassVar[str] = "hold of the latch"
    options: ClassVar[Mapping[str, str]] = {"at": "rad", "reach": "rad", "holds": "rad"}
    guessed: ClassVar[str] = "holds"
    needs: ClassVar[str] = "pull it off and shut it again, several times"

    def __post_init__(self) -> None:
        """Refuse what would let go before it takes hold."""
        _AtPlace.__post_init__(self)
        try:
            takes, leaves = (float(x) for x in self.holds)
        except (TypeError, ValueError):
            takes, leaves = 0.0, 0.0
        if not 0 < takes < leaves < inf:
            wanted = "two increasing positive numbers in rad or m"
            raise PalpateError(f"element {self.name!r}: holds must be {wanted}, not {self.holds!r}")
        object.__setattr__(self, "holds", (takes, leaves))

    @property
    def memory(self) -> Mapping[str, str]:
        """Whether it holds, 1 or 0."""
        return {f"{self.name}_holds": "1"}

    def remember(self, before: Scalar, now: Scalar, fn: Functions) -> Sequence[Step]:
        """One where it takes hold, zero where it lets go, in between as it was."""
        takes, leaves = self.holds
        return [(0.0, fn.step(takes - (now - self.at)), 1.0 - fn.step(now - self.at - leaves))]

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """As of a magnet, while it holds."""
        (held,) = k.memory[self.name]
        return (held * self._pull(k, z, fn),)


@dataclass(frozen=True, slots=True)
class Detent(_AtPlace):
    """tau = p x exp((1 - x^2) / 2), x = (q - at) / reach: a ball in a notch, which resists most at x = +-1 with p.

    `period` (rad or m; 0: none): a row of notches, tau = p sin(2 pi (q - at) / period), as a knob that clicks.
    """

    name: str = "detent"
    period: float = 0.0
    type: ClassVar[str] = "detent"
    effect: ClassVar[str] = "hold of the notch"
    options: ClassVar[Mapping[str, str]] = {"at": "rad", "reach": "rad", "period": "rad"}

    def __post_init__(self) -> None:
        """Refuse notches that are none."""
        _AtPlace.__post_init__(self)
        if not 0 <= self.period < float("inf"):
            raise PalpateError(f"element {self.name!r}: period must not be negative, it is {self.period:g}")

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """A row of notches has none."""
        return () if self.period else super(Detent, self).shapes

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """Zero in the notch and far away from it."""
        away = k.coordinates[self.acts_on].position - self.at
        if self.period:
            return (fn.sin(away * (2 * pi / self.period)),)
        x = away / z["reach"]
        return (x * fn.exp(0.5 - 0.5 * x * x),)
