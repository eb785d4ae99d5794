"""The interface of a mechanism: how the body may move, and which rows of the wrench balance are free of constraint
forces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics
from palpate.physics.motion import Motion


@dataclass(frozen=True, slots=True)
class Row:
    """One free row of the balance: a force or moment component, with its unit."""

    name: str
    unit: str


WRENCH_ROWS = (
    *(Row(f"f_{axis}", "N") for axis in "xyz"),
    *(Row(f"n_{axis}", "N m") for axis in "xyz"),
)


class Mechanism(Protocol):
    """A frozen dataclass, one file per kind of constraint; its fields are its options in an object file."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """The free rows, in order."""
        ...

    @property
    def coordinates(self) -> Mapping[str, str]:
        """The coordinates that elements may act on, with their units."""
        ...

    @property
    def constant_projection(self) -> bool:
        """Whether `project` and the coordinates' ratios are the same at every sample.

        Then the features alone compress a recording.
        """
        ...

    @property
    def state(self) -> tuple[str, ...]:
        """Names of the state, positions first, for `expand`."""
        ...

    @property
    def accelerations(self) -> tuple[str, ...]:
        """Names of the accelerations, one per free direction of motion, for `expand`."""
        ...

    def observe(self, motion: Motion) -> Kinematics:
        """Measured motion -> kinematics (identification)."""
        ...

    def expand(
        self, state: Sequence[Scalar], acc: Sequence[Scalar], z: Mapping[str, Scalar], fn: Functions
    ) -> Kinematics:
        """State and acceleration -> the same kinematics (runtime, C, FMU)."""
        ...

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """A wrench in the body frame (6) -> the free rows; linear in the wrench."""
        ...


class Linkage(Protocol):
    """What a mechanism drives through a ratio that changes with its angle: the closer of a door.

    A frozen dataclass with a `type`, one file per kind; its fields are its options in an object file.
    """

    @property
    def coordinate(self) -> str:
        """The name of the driven coordinate ..."""
        ...

    @property
    def unit(self) -> str:
        """... and its unit."""
        ...

    def check_reach(self, angle: FloatArray) -> None:
        """Refuse measured angles (rad) that it cannot follow, naming sample and limit; NaN is not judged."""
        ...

    def transmit(self, angle: Scalar, fn: Functions) -> tuple[Scalar, Scalar, Scalar]:
        """Driven position, its first and its second derivative by the angle; never raises."""
        ...
