"""Friction before it slips: springs that give way one after the other, and remember how they were bent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import ClassVar

from palpate.elements.element import Element, Parameter
from palpate.errors import PalpateError
from palpate.physics.functions import Functions, Scalar
from palpate.physics.memory import Step
from palpate.physics.motion import Kinematics


@dataclass(frozen=True, slots=True)
class Presliding(Element):
    """tau = sum k_i z_i: spring i is taken along by the motion until it is bent by threshold i, then it slides.

    z_i' = speed, cut to +-threshold i: Maxwell slip, or Prandtl and Ishlinskii's stop operators (Al-Bender, Lampaert
    and Swevers 2005, IEEE Trans. Autom. Control 50:1883; Visintin, Differential Models of Hysteresis, III.2). After a
    reversal friction builds up over twice the thresholds; once all slide it is sum k_i threshold_i, beside a `coulomb`
    for what needs no way. `thresholds` in rad or m. At rest it is a spring, so it creeps instead of sticking.
    """

    name: str = "k"
    acts_on: str = "hinge"
    thresholds: tuple[float, ...] = (0.01, 0.03, 0.1)
    type: ClassVar[str] = "presliding"
    options: ClassVar[Mapping[str, str]] = {"thresholds": "rad"}
    guessed: ClassVar[str] = "thresholds"
    needs: ClassVar[str] = "turn it round often, after short ways and long ones"

    def __post_init__(self) -> None:
        """Refuse thresholds out of order."""
        try:
            numbers = tuple(float(x) for x in self.thresholds)
        except (TypeError, ValueError):
            numbers = ()
        if not numbers or not numbers[0] > 0 or not all(a < b for a, b in pairwise((*numbers, inf))):
            wanted = "increasing positive numbers in rad or m"
            raise PalpateError(f"element {self.name!r}: thresholds must be {wanted}, not {self.thresholds!r}")
        object.__setattr__(self, "thresholds", numbers)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """A stiffness for each threshold."""
        names = (f"{self.name}_{i}" for i in range(1, len(self.thresholds) + 1))
        return tuple(Parameter(name, self.unit("N m/rad"), "positive") for name in names)

    @property
    def words(self) -> tuple[str, ...]:
        """In words."""
        return tuple(f"stiffness before sliding, spring {i}" for i in range(1, len(self.thresholds) + 1))

    @property
    def memory(self) -> Mapping[str, str]:
        """How far each spring is bent."""
        return {f"{self.name}_{i}_bent": self.unit("rad") for i in range(1, len(self.thresholds) + 1)}

    def remember(self, before: Scalar, now: Scalar, fn: Functions) -> Sequence[Step]:
        """Taken along as far as the coordinate goes."""
        return [(now - before, -limit, limit) for limit in self.thresholds]

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """How far each spring is bent."""
        return k.memory[self.name]
