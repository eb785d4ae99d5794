"""Stribeck friction: what dry friction has more at rest than in motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from palpate.elements.element import Element, Parameter, Shape
from palpate.errors import PalpateError
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics

_SLOWEST, _FASTEST = 1e-4, 100.0


@dataclass(frozen=True, slots=True)
class Stribeck(Element):
    """tau = b exp(-(speed / v_s)^2) sign(speed) (Armstrong-Helouvry et al. 1994, eq. 6), in addition to Coulomb
    friction.

    `v_s` rad/s or m/s: the speed at which 1/e of it is left.
    """

    name: str = "b_st"
    acts_on: str = "hinge"
    v_s: float = 0.05
    estimate: bool = False
    type: ClassVar[str] = "stribeck"
    options: ClassVar[Mapping[str, str]] = {"v_s": "rad/s"}
    optional: ClassVar[str] = "Stribeck"
    needs: ClassVar[str] = "move it slowly both ways"
    dry: ClassVar[bool] = True
    dissipates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse a speed that divides by nothing."""
        if not _SLOWEST <= self.v_s <= _FASTEST:
            raise PalpateError(
                f"element {self.name!r}: v_s must be from {_SLOWEST:g} to {_FASTEST:g} rad/s or m/s, not {self.v_s:g}"
            )

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The coefficient bears the element's name."""
        return (Parameter(self.name, self.unit("N m"), "positive"),)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The Stribeck speed."""
        return (Shape("v_s", self.unit("rad/s"), self.v_s, bounds=(_SLOWEST, _FASTEST), free=self.estimate),)

    @property
    def sees(self) -> tuple[str, ...]:
        """The speed of its coordinate."""
        return (self.acts_on,)

    def visited(self, k: Kinematics) -> tuple[FloatArray, tuple[float, float]]:
        """The speeds at which it may change: neither the slowest nor the fastest."""
        speed = np.asarray(k.coordinates[self.acts_on].speed, dtype=float)
        return np.abs(speed[speed != 0]), (0.02, 0.7)

    def limits(self, shape: Shape, visited: tuple[float, float]) -> tuple[float, float]:
        """The speeds that were seen."""
        return max(shape.bounds[0], visited[0]), min(shape.bounds[1], visited[1])

    def level(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """One at rest, gone at speeds far above v_s."""
        ratio = k.coordinates[self.acts_on].speed / z["v_s"]
        return (fn.exp(-(ratio * ratio)),)
