"""Two bodies in series: a hand moves the outer one, something soft passes that on to the inner one.

Only the outer body is measured: a sensor's adapter before a drawer, a lever before what it turns. Of the inner one
nobody sees the position u; it follows from that of the outer one, q, by the dynamics of both:

    m_1 q'' + ... + f(q - u) = what the hand does,    m_2 u'' + ... = f(q - u)

Elements act on either by name, and on what is between them, `coupling`: how far that is stretched, q - u. For whoever
knows no dynamics both move as one, and nothing is stretched; a runtime steps them apart (`apart`).
"""

# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false
# what the interface asks as a property may be a constant
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

from palpate.errors import PalpateError
from palpate.mechanisms.hinge import Hinge
from palpate.mechanisms.mechanism import Joint, Matrix, Mechanism, OneFreedom, Row
from palpate.mechanisms.slide import Slide
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar
from palpate.physics.motion import Coordinate, Kinematics, Triple

INNER, COUPLING = "inner", "coupling"
"""The coordinates: of the body that nobody measures, and how far what is between the two is stretched."""


class _InSeries:
    """What both kinds of mechanism share; the fields are those of the classes below."""

    __slots__ = ()

    def _check(self) -> None:
        OneFreedom.__post_init__(_series(self))
        if _series(self).linkage is not None:
            where = f"mechanism {_series(self).type!r}"
            raise PalpateError(f"{where}: it drives no linkage: nobody knows yet which of its bodies would")

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The inner body, and with it what is between."""
        return (INNER, COUPLING)

    @property
    def coordinates(self) -> Mapping[str, str]:
        """Outer, inner, and what is between them."""
        me = _series(self)
        return {str(me.main): me.unit, INNER: me.unit, COUPLING: me.unit}

    @property
    def constant_projection(self) -> bool:
        """Where the inner body is follows from the parameters, and columns with it."""
        return False

    def _moving(self, position: Scalar, speed: Scalar, acceleration: Scalar, fn: Functions) -> dict[str, Coordinate]:
        """Both as one."""
        me = _series(self)
        both = Coordinate(position, speed, acceleration)
        return {str(me.main): both, INNER: both, COUPLING: Coordinate(0.0 * position, 0.0 * speed, 0.0, (0.0,))}

    def apart(self) -> Mechanism:
        """Two freedoms."""
        return Apart(_series(self).gravity, _series(self))


@dataclass(frozen=True, slots=True)
class SeriesSlide(_InSeries, Slide):
    """Two bodies that slide along one line, the outer one measured: a drawer behind a soft adapter.

    State: position (m), speed (m/s) of the outer body. Play between the two is not described.
    """

    type: ClassVar[str] = "series-slide"

    def __post_init__(self) -> None:
        """Refuse linkages."""
        self._check()


@dataclass(frozen=True, slots=True)
class SeriesHinge(_InSeries, Hinge):
    """Two bodies that turn about one axis, the outer one measured: a lever that bends before what it turns.

    State: angle (rad), speed (rad/s) of the outer body. Play between the two is not described.
    """

    type: ClassVar[str] = "series-hinge"

    def __post_init__(self) -> None:
        """Refuse linkages."""
        self._check()


def _series(mechanism: Any) -> SeriesSlide | SeriesHinge:
    return cast("SeriesSlide | SeriesHinge", mechanism)


@dataclass(frozen=True, slots=True)
class Apart(Mechanism):
    """Both bodies of a series, each with a freedom of its own, as a runtime steps them.

    State: outer and inner position, outer and inner speed.
    """

    of: SeriesSlide | SeriesHinge = SeriesSlide()
    type: ClassVar[str] = "series"
    accelerations: ClassVar[tuple[str, ...]] = ("acceleration", "inner_acceleration")
    constant_projection: ClassVar[bool] = False

    @property
    def frame(self) -> str:
        """Of the outer body."""
        return self.of.frame

    @property
    def main(self) -> str | None:
        """Of the outer body, on which the hand acts."""
        return self.of.main

    @property
    def way(self) -> tuple[str, str]:
        """As one."""
        return self.of.way

    @property
    def hand(self) -> tuple[float, float, float]:
        """On the outer body."""
        return self.of.hand

    @property
    def outward(self) -> tuple[float, float, float]:
        """Of the outer body."""
        return self.of.outward

    @property
    def state(self) -> tuple[str, ...]:
        """Positions, speeds."""
        position, speed = self.of.state
        return (position, f"inner_{position}", speed, f"inner_{speed}")

    @property
    def following(self) -> tuple[str, ...]:
        """Nobody measures the inner body."""
        return (self.state[1],)

    @property
    def units(self) -> tuple[str, ...]:
        """Those of one, twice."""
        return tuple(unit for unit in self.of.units for _ in range(2))

    @property
    def rows(self) -> tuple[Row, ...]:
        """What the hand does, and what nobody does."""
        (row,) = self.of.rows
        return (row, Row(INNER, row.unit))

    @property
    def row_components(self) -> tuple[int, ...]:
        """Of the outer body."""
        return self.of.row_components

    @property
    def coordinates(self) -> Mapping[str, str]:
        """Outer, inner, and what is between them."""
        return self.of.coordinates

    @property
    def directions(self) -> Mapping[str, tuple[float, float, float]]:
        """Of the outer body."""
        return self.of.directions

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The inner body, and with it what is between."""
        return (INNER, COUPLING)

    @property
    def joints(self) -> tuple[Joint, ...]:
        """Of the outer body."""
        return self.of.joints

    @property
    def R_world_body(self) -> Matrix:
        """Of the outer body."""
        return self.of.R_world_body

    @property
    def endless(self) -> bool:
        """As one."""
        return self.of.endless

    def with_gravity(self, gravity: Sequence[float] | FloatArray) -> Self:
        """The same series."""
        other = self.of.with_gravity(gravity)
        return replace(self, gravity=other.gravity, of=other)

    def with_zero_at(self, position: float) -> Self:
        """The same series."""
        return replace(self, of=self.of.with_zero_at(position))

    def expand(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """The outer body's motion, and all three coordinates; never raises."""
        q, u, v, w = state
        coordinates = {
            str(self.main): Coordinate(q, v, acc[0], (1.0, 0.0)),
            INNER: Coordinate(u, w, acc[1], (0.0, 1.0)),
            COUPLING: Coordinate(q - u, v - w, acc[0] - acc[1], (1.0, -1.0)),
        }
        return replace(self.body_motion(state, acc, fn), coordinates=coordinates)

    def body_motion(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """Of the outer body."""
        return self.of.body_motion((state[0], state[2]), (acc[0],), fn)

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """The hand acts on the outer body."""
        return (*self.of.project(k, wrench, fn), 0.0)

    def place(self, state: Sequence[Scalar], fn: Functions) -> tuple[Matrix, Triple]:
        """Of the outer body."""
        return self.of.place((state[0], state[2]), fn)

    def velocity(self, state: Sequence[Scalar], fn: Functions) -> Triple:
        """Of the outer body."""
        return self.of.velocity((state[0], state[2]), fn)
