"""A screw: the body turns about an axis and travels along it. One row is free: the moment and pitch times the force."""

# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false
# what the interface asks as a property may be a constant
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from palpate.errors import PalpateError
from palpate.mechanisms.hinge import Hinge
from palpate.mechanisms.mechanism import Joint, Matrix, Row
from palpate.physics.functions import Functions, Scalar
from palpate.physics.motion import Coordinate, Kinematics, Load, Triple

SCREW, TRAVEL = "screw", "travel"
"""The coordinates: angle about z, rad, and the way along it, m."""
_COARSEST = 1.0
"""m/rad: more is no screw but a wrong unit."""


@dataclass(frozen=True, slots=True)
class Screw(Hinge):
    """A hinge whose body also moves along z: a valve, a jack, the lid of a jar; without pitch a knob.

    State: angle (rad), speed (rad/s). `pitch` (m/rad, in a file also as 2 mm/turn): the way along z per angle,
    positive for a right-handed thread (Featherstone 2008, Rigid Body Dynamics Algorithms, 4.4); if absent, markers or
    poses show it, with a table or an angle alone it must be stated. Power of a wrench (f, n) is n_z q' + f_z pitch q',
    so that the row is n_z + pitch f_z. Weight works along the travel: an element on it has the ratio pitch.
    """

    endless: bool = True
    pitch: float | None = None
    type: ClassVar[str] = "screw"
    frame: ClassVar[str] = "screw: origin on the axis, z along it; where it is when the angle is zero"
    options: ClassVar[Mapping[str, str]] = {**Hinge.options, "pitch": "m/rad"}
    main: ClassVar[str | None] = SCREW
    rows: ClassVar[tuple[Row, ...]] = (Row("tau", "N m"),)
    row_components: ClassVar[tuple[int, ...]] = (5,)
    hand: ClassVar[tuple[float, float, float]] = (0.1, 0.0, 0.0)

    def __post_init__(self) -> None:
        """Refuse a pitch that no thread has."""
        Hinge.__post_init__(self)
        if self.pitch is not None and not -_COARSEST <= self.pitch <= _COARSEST:
            wrong = f"the pitch {self.pitch:g} m/rad is none of a thread"
            raise PalpateError(f"mechanism {self.type!r}: {wrong}; write it with its unit, such as 2 mm/turn")

    @property
    def coordinates(self) -> Mapping[str, str]:
        """The angle, the travel, and what the angle drives."""
        (main, unit), *driven = Hinge.coordinates.__get__(self).items()
        return {main: unit, TRAVEL: "m", **dict(driven)}

    @property
    def joints(self) -> tuple[Joint, ...]:
        """One, which turns and travels."""
        return (Joint(SCREW, "turn", (0.0, 0.0, 1.0), 0, pitch=self.pitch),)

    @property
    def directions(self) -> Mapping[str, tuple[float, float, float]]:
        """The travel goes along the axis."""
        return {TRAVEL: (0.0, 0.0, 1.0)}

    @property
    def leaning(self) -> float:
        """Weight moves what travels, and what hangs beside an axis that is not upright."""
        return Hinge.leaning.__get__(self) if not self._pitch else math.pi / 2

    def _moving(self, position: Scalar, speed: Scalar, acceleration: Scalar, fn: Functions) -> dict[str, Coordinate]:
        h, turning = self._pitch, Hinge._moving(self, position, speed, acceleration, fn)
        return {**turning, TRAVEL: Coordinate(h * position, h * speed, h * acceleration, (h,))}

    def body_motion(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """A hinge's, whose origin moves along z."""
        k = Hinge.body_motion(self, state, acc, fn)
        x, y, z = k.specific_acceleration
        return replace(k, specific_acceleration=(x, y, z + self._pitch * acc[0]))

    def place(self, state: Sequence[Scalar], fn: Functions) -> tuple[Matrix, Triple]:
        """Turned about z, and moved along it."""
        return Hinge.place(self, state, fn)[0], (0.0, 0.0, self._pitch * state[0])

    def velocity(self, state: Sequence[Scalar], fn: Functions) -> Triple:
        """Along z."""
        return (0.0, 0.0, self._pitch * state[1])

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """The moment about the axis, and what the force along it does by the thread."""
        return (wrench[5] + self._pitch * wrench[2],)

    def loads(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Mapping[str, Load]:
        """Along the axis, which the thread bears: its friction is that force times a radius (Shigley, power screws)."""
        return {SCREW: Load((wrench[2],), ((0.0, 0.0, 1.0),), wrench[5])}

    @property
    def _pitch(self) -> float:
        return 0.0 if self.pitch is None else self.pitch
