"""The kinematics record: what elements may look at, at one instant, whoever computed it.

Identification fills it from measured motion, the runtime from a state; the entries are `Scalar`s, so that one element
serves both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import cast

import numpy as np
from numpy.typing import NDArray

from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Scalar

Triple = tuple[Scalar, Scalar, Scalar]


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One scalar coordinate of a mechanism (a hinge angle, a pinion angle, a wheel's roll).

    `ratio` holds, for each free row of the mechanism, the virtual-work factor by which a force along this coordinate
    enters that row (d coordinate / d row coordinate: 1 for the hinge itself, nu for the pinion of a closer).
    """

    position: Scalar
    speed: Scalar
    acceleration: Scalar
    ratio: tuple[Scalar, ...] = (1.0,)


@dataclass(frozen=True, slots=True)
class Kinematics:
    """Motion of the body frame, expressed in it, and the mechanism's coordinates by name.

    `specific_acceleration` is a - g, what an accelerometer at the origin reads, in m/s2; `omega` rad/s, `omega_dot`
    rad/s2.
    """

    specific_acceleration: Triple
    omega: Triple
    omega_dot: Triple
    coordinates: Mapping[str, Coordinate] = field(default_factory=lambda: MappingProxyType({}))

    def at(self, index: slice[int, int] | NDArray[np.int64]) -> Kinematics:
        """The same at some of the samples; what is one number for all of them stays."""

        def take(x: Scalar) -> Scalar:
            return cast("FloatArray", x)[index] if isinstance(x, np.ndarray) else x

        def triple(t: Triple) -> Triple:
            return (take(t[0]), take(t[1]), take(t[2]))

        coordinates = {
            name: Coordinate(take(c.position), take(c.speed), take(c.acceleration), tuple(take(r) for r in c.ratio))
            for name, c in self.coordinates.items()
        }
        return Kinematics(triple(self.specific_acceleration), triple(self.omega), triple(self.omega_dot), coordinates)

    @classmethod
    def from_arrays(cls, specific_acceleration: FloatArray, omega: FloatArray, omega_dot: FloatArray) -> Kinematics:
        """Of arrays (..., 3); the entries are views."""
        a, w, b = ((x[..., 0], x[..., 1], x[..., 2]) for x in (specific_acceleration, omega, omega_dot))
        return cls(a, w, b)
