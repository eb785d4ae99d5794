"""A user's own parts, as a laboratory would write them: a viscous hinge, a zone damper, a swing door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from palpate.elements import Element, Parameter, Shape
from palpate.mechanisms import Mechanism, Row
from palpate.physics.functions import Functions, Scalar
from palpate.physics.motion import Coordinate, Kinematics, Motion


@dataclass(frozen=True, slots=True)
class Viscous(Element):
    """tau = b speed."""

    name: str = "viscous"
    acts_on: str = "hinge"
    type: ClassVar[str] = "viscous"
    dissipates: ClassVar[bool] = True
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("b", "N m s/rad", "positive"),)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        del z, fn
        return (k.coordinates[self.acts_on].speed,)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        return [[f[0]]]


@dataclass(frozen=True, slots=True)
class ZoneDamper(Element):
    """tau = (b_0 + b_1 (1 + tanh((q - above) / width)) / 2) speed: more damping beyond an angle."""

    name: str = "zone"
    acts_on: str = "hinge"
    above: float = 0.5
    width: float = 0.2
    type: ClassVar[str] = "zone"
    dissipates: ClassVar[bool] = True
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("b_0", "N m s/rad", "positive"),
        Parameter("b_1", "N m s/rad", "positive"),
    )

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return (Shape("above", "rad", self.above), Shape("width", "rad", self.width, bounds=(0.0, 3.0)))

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        q = k.coordinates[self.acts_on]
        return (q.speed, 0.5 * (1 + fn.tanh((q.position - z["above"]) / z["width"])) * q.speed)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        return [[f[0], f[1]]]


@dataclass(frozen=True, slots=True)
class SwingDoor(Mechanism):
    """A hinge along z of the body frame through its origin, upright; a pinion that turns `ratio` times as far."""

    ratio: float = 2.5
    type: ClassVar[str] = "swing-door"
    rows: ClassVar[tuple[Row, ...]] = (Row("n_z", "N m"),)
    coordinates: ClassVar[Mapping[str, str]] = {"hinge": "rad", "pinion": "rad"}
    state: ClassVar[tuple[str, ...]] = ("angle", "speed")
    accelerations: ClassVar[tuple[str, ...]] = ("speed_dot",)

    def observe(self, motion: Motion) -> Kinematics:
        steps = np.diff(motion.times_s) * (motion.omega[1:, 2] + motion.omega[:-1, 2]) / 2
        angle = np.concatenate([[0.0], np.cumsum(steps)])
        a, omega, omega_dot = motion.specific_acceleration, motion.omega, motion.omega_dot
        return Kinematics(
            (a[:, 0], a[:, 1], a[:, 2]),
            (omega[:, 0], omega[:, 1], omega[:, 2]),
            (omega_dot[:, 0], omega_dot[:, 1], omega_dot[:, 2]),
            self._coordinates(angle, omega[:, 2], omega_dot[:, 2]),
        )

    def expand(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        del fn
        return Kinematics(
            (0.0, 0.0, self.gravity),
            (0.0, 0.0, state[1]),
            (0.0, 0.0, acc[0]),
            self._coordinates(state[0], state[1], acc[0]),
        )

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        del k, fn
        return (wrench[5],)

    def _coordinates(self, q: Scalar, speed: Scalar, acceleration: Scalar) -> dict[str, Coordinate]:
        n = self.ratio
        return {
            "hinge": Coordinate(q, speed, acceleration),
            "pinion": Coordinate(n * q, n * speed, n * acceleration, (n,)),
        }
