"""A constant bias of a force/torque sensor: zeroing, and the preload of its bolts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from palpate.elements.element import SENSOR, Element, Parameter
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics

_SIX = tuple(
    Parameter(f"bias_{axis}", unit, "free")
    for axis, unit in zip(("f_x", "f_y", "f_z", "n_x", "n_y", "n_z"), ["N"] * 3 + ["N m"] * 3, strict=True)
)


@dataclass(frozen=True, slots=True)
class SensorBias(Element):
    """w = ... + b (paper, eq. optimization): N and N m in the sensor frame."""

    name: str = "bias"
    acts_on: str = field(default=SENSOR, init=False)
    type: ClassVar[str] = "sensor-bias"
    instrument: ClassVar[bool] = True

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """One per channel of the sensor."""
        return _SIX

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """One, whatever the motion."""
        del k, z, fn
        return (1.0,)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """The unit matrix times the feature."""
        return [[f[0] if i == j else 0.0 for j in range(6)] for i in range(6)]
