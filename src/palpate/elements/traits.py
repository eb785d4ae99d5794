"""What an element may declare beyond the interface, and the model and the runtime then use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics


@runtime_checkable
class Level(Protocol):
    """A dry element: features = level x sign(speed) for identification, a set of forces at rest for the runtime."""

    def level(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """One number >= 0 per parameter: the columns without the sign of the speed."""
        ...


@runtime_checkable
class LooksAt(Protocol):
    """An element that depends on coordinates other than the one it acts on."""

    @property
    def looks_at(self) -> tuple[str, ...]:
        """Their names; the mechanism must have them."""
        ...


@runtime_checkable
class Rough(Protocol):
    """An element with a prior of smoothness on its parameters."""

    @property
    def roughness(self) -> list[list[float]]:
        """Rows over its parameters, each expected to be zero with standard deviation one."""
        ...
