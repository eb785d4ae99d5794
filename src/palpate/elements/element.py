"""The interface of an element: one physical effect, its parameters, and its columns of the balance.

The balance is  y = Y p: y is the wrench that a person passes to the object, Y p what the object does with it. An
element that resists motion therefore has positive columns along the velocity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar
from palpate.physics.kinematics import Kinematics

WRENCH = "wrench"
"""`acts_on`: six rows, force and moment in the body frame."""
SENSOR = "sensor"
"""`acts_on`: six rows in the sensor frame, a property of the instrument and not of the object."""

MapKind = Literal["inertia", "positive", "free"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A physical parameter that enters linearly. `map` says which values are possible at all.

    "inertia": one of ten that together must be physically consistent; "positive": e^theta; "free": any sign.
    """

    name: str
    unit: str
    map: MapKind


@dataclass(frozen=True, slots=True)
class Shape:
    """A parameter that enters nonlinearly (an angle, a width, a radius): a constant with a standard deviation, or
    free.
    """

    name: str
    unit: str
    value: float
    std: float = 0.0
    bounds: tuple[float, float] = (-np.inf, np.inf)
    free: bool = False


class Element(Protocol):
    """A frozen dataclass, one file per physical effect; its fields are its options in an object file."""

    @property
    def name(self) -> str:
        """How the model calls it; unique in a model."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The linear parameters p, one per column."""
        ...

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The nonlinear parameters z."""
        ...

    @property
    def acts_on(self) -> str:
        """WRENCH, SENSOR, or the name of a coordinate of the mechanism (then one row)."""
        ...

    @property
    def dry(self) -> bool:
        """Whether the force's sign follows the velocity: the runtime then solves sticking."""
        ...

    @property
    def dissipates(self) -> bool:
        """Whether it can only take energy out, whatever the motion and the (possible) parameters."""
        ...

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The nonlinear part: a few numbers per sample, from + - * / and the functions of `fn` only."""
        ...

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """Rows x parameters, linear in the features with constant coefficients."""
        ...


def row_count(element: Element) -> int:
    """Six for a wrench, one for a coordinate."""
    return 6 if element.acts_on in (WRENCH, SENSOR) else 1


def column_coefficients(element: Element, features: int) -> FloatArray:
    """The constant coefficients of `columns`: entry [row, feature, parameter]."""
    T = np.zeros((row_count(element), features, len(element.parameters)))
    for i, unit in enumerate(np.eye(features)):
        T[:, i, :] = np.array(element.columns([float(u) for u in unit]), dtype=float)
    return T
