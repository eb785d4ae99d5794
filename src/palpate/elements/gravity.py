"""Gravity on a body that turns about an inclined hinge (a lid) or slides along an inclined axis (a sash)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from palpate.elements.element import Element, Parameter
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics


@dataclass(frozen=True, slots=True)
class Gravity(Element):
    """tau = mc_x s_y - mc_y s_x with s = -g in the body frame, whose origin is on the axis z: row n_z of a rigid body.

    mc_x, mc_y: mass times place of the centre of mass across the axis. An upright hinge does not show them, a rigid
    body contains them. Along a length: f = m_g s_x, where m_g is the mass that no counterweight balances.
    """

    name: str = "gravity"
    acts_on: str = "hinge"
    type: ClassVar[str] = "gravity"
    stores: ClassVar[bool] = True
    needs: ClassVar[str] = "move it slowly through more of its travel"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Mass times place across the axis, or the mass."""
        if self._along_a_length:
            return (Parameter("m_g", "kg", "free"),)
        return (Parameter("mc_x", "kg m", "free"), Parameter("mc_y", "kg m", "free"))

    @property
    def _along_a_length(self) -> bool:
        return self.unit("rad") != "rad"

    def phi(self, p: FloatArray) -> FloatArray | None:
        """The first moments across the axis."""
        return None if self._along_a_length else np.concatenate([[0.0], p, np.zeros(7)])

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """a - g across the axis, or what gravity has of it along a length."""
        del z, fn
        if self._along_a_length:
            return (k.specific_acceleration[0] - k.coordinates[self.acts_on].acceleration,)
        return k.specific_acceleration[:2]

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """The moment of unit mass at unit distance, or the force on unit mass."""
        return [[f[0]]] if self._along_a_length else [[f[1], -f[0]]]
