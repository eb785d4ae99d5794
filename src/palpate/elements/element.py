"""The interface of an element: one physical effect, its parameters, and its columns of the balance.

The balance is  y = Y p: y is the wrench that a person passes to the object, Y p what the object does with it. An
element that resists motion therefore has positive columns along the velocity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from math import inf
from typing import Any, ClassVar, Literal, Self

import numpy as np

from palpate.errors import PalpateError
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import Functions, Scalar
from palpate.physics.maps import MapKind
from palpate.physics.memory import Step
from palpate.physics.motion import Kinematics, Triple
from palpate.physics.units import along

WRENCH = "wrench"
"""`acts_on`: six rows, force and moment in the body frame."""
SENSOR = "sensor"
"""`acts_on`: six rows in the sensor frame, a property of the instrument and not of the object."""

Side = Literal["highest", "lowest"]
Constant = Literal["", "inertia", "damping", "friction"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A physical parameter that enters the balance linearly. `map` says which values are possible at all.

    "inertia": one of ten that together must be physically consistent; "positive": e^theta; "free": any sign.
    """

    name: str
    unit: str
    map: MapKind


@dataclass(frozen=True, slots=True)
class Shape:
    """A parameter that enters nonlinearly (an angle, a width, a radius): a constant, or free."""

    name: str
    unit: str
    value: float
    bounds: tuple[float, float] = (-np.inf, np.inf)
    free: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """Where and in which direction a parameter acts."""

    acts_on: str
    over: str
    """The coordinate of the zone."""
    when: Literal["both", "opening", "closing"]
    where: str
    """In words: "above 69 deg"; empty: everywhere."""
    weight: Callable[[FloatArray], FloatArray]
    """Positions -> from 0 (outside) to 1 (inside)."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Where an element ends the range of its coordinate, and on which side."""

    at: float
    side: Side


@dataclass(frozen=True, slots=True)
class Element:
    """One physical effect: a frozen dataclass that derives from this class.

    Its fields are its options in an object file. It must declare `type`, `coefficient` or `parameters`, and `features`
    (a dry one `level`), and whatever else applies; the rest has defaults. No other code asks an element for its
    class.

    Units follow from the coordinate that the element acts on. An element writes them as for an angle,
    `self.unit("N m s/rad")`; a model tells it the coordinate's unit, and along a length that becomes "N s/m".

    >>> from palpate.elements import Viscous
    >>> Viscous("b_v", "hinge").parameters
    (Parameter(name='b_v', unit='N m s/rad', map='positive'),)
    """

    name: str
    """What the model calls it; unique in a model."""
    acts_on: str
    """WRENCH, SENSOR, or the name of a coordinate of the mechanism (then one row)."""
    units: Mapping[str, str] = field(default_factory=dict[str, str], init=False, repr=False, compare=False)
    """Units of its coordinates where they are not the natural one; set by `on`."""

    type: ClassVar[str]
    effect: ClassVar[str] = ""
    """What its parameters are called in words: "viscous friction"; the type's name unless it says so."""
    options: ClassVar[Mapping[str, str]] = {}
    """Units of the options that have one, as for an angle: `unit` gives them along the coordinate."""
    natural_unit: ClassVar[str] = "rad"
    """Unit of its coordinates where no model says another: "rad" or "m"."""
    dry: ClassVar[bool] = False
    """Whether the force's sign follows the velocity: the runtime then solves sticking."""
    dissipates: ClassVar[bool] = False
    """Whether it can only take energy out, whatever the motion and the (possible) parameters."""
    stores: ClassVar[bool] = False
    """Whether it holds the object at rest: a spring, gravity, a table of moments."""
    weighs: ClassVar[bool] = False
    """Whether it holds the weight of the object."""
    inertial: ClassVar[bool] = False
    """Whether its columns multiply accelerations."""
    instrument: ClassVar[bool] = False
    """Whether it belongs to the sensor and not to the object."""
    ground: ClassVar[bool] = False
    """Whether it is a foot on the ground, or what slips under it."""
    contact: ClassVar[bool] = False
    """Whether it pushes only while it is pressed: its first feature is how far, its first parameter the stiffness."""
    spin: ClassVar[bool] = False
    """Whether its parameter is the inertia of a wheel about its axle."""
    uses_load: ClassVar[bool] = False
    """Whether it follows what the hand presses on the guide of its coordinate (`Kinematics.loads`); it must be dry."""
    coefficient: ClassVar[str] = ""
    """The unit of its one positive parameter, as for an angle, where it has no others."""
    constant: ClassVar[Constant] = ""
    """What its one parameter is, where a format knows only constants along a coordinate."""
    needs: ClassVar[str] = "move it in more ways"
    """Which motion tells more about it."""
    choices: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    """Options that the data may decide, with the values to try: variants of a model."""
    guessed: ClassVar[str] = ""
    """An option of several increasing numbers that nobody measures and no search finds; they count as known to 30 %."""
    optional: ClassVar[str] = ""
    """The word for it in variants, if a model may be better with or without it."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The linear parameters p, one per column: unless overridden, one that bears the element's name."""
        return (Parameter(self.name, self.unit(self.coefficient), "positive"),)

    @property
    def words(self) -> tuple[str, ...]:
        """What each parameter is, in words for people who have not read the equations."""
        effect = self.effect or self.type.replace("-", " ")
        ways = [f"{s.when} {s.where}".removeprefix("both ").strip() for s in self.scopes]
        return tuple(f"{effect}, {way}" if way else effect for way in ways) or (effect,) * len(self.parameters)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """The nonlinear part: a few numbers per sample, from + - * / and the functions of `fn` only.

        Of a dry element: its level with the sign of the speed.
        """
        coordinate = k.coordinates[self.acts_on]
        sign = fn.sign(coordinate.speed) if coordinate.side is None else coordinate.side
        return [level * sign for level in self.level(k, z, fn)]

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        """Rows x parameters, linear in the features with constant coefficients; one row of them unless overridden."""
        return [list(f)]

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The nonlinear parameters z."""
        return ()

    @property
    def borders(self) -> tuple[str, ...]:
        """Which shapes are borders of a zone of the coordinates that it looks at."""
        return ()

    @property
    def sees(self) -> tuple[str, ...]:
        """What of the motion shows its shapes, in words that are the same for elements that `visited` alike."""
        return ()

    def visited(self, k: Kinematics) -> tuple[FloatArray, tuple[float, float]]:
        """Of an element that `sees`: values of the motion that may show a shape, and the quantiles that limit it."""
        raise PalpateError(
            f"element {self.name!r} ({type(self).__name__}): it does not say which motion shows its shapes"
        )

    def limits(self, shape: Shape, visited: tuple[float, float]) -> tuple[float, float]:
        """Between which values a shape is looked for; `visited`: quantiles of what the method of this name gives."""
        if not np.isfinite(shape.bounds).all():
            given = f'Shape("{shape.name}", {shape.unit!r}, ..., bounds=(lowest, highest), free=self.estimate)'
            raise PalpateError(
                f"element {self.name!r}: {shape.name} cannot be estimated: its class {type(self).__name__} does "
                f"not say between which values: return {given} from shapes, or leave estimate out"
            )
        return shape.bounds

    def unseen(self, visited: tuple[float, float]) -> str:
        """Why its shapes cannot be known from this motion; empty where they may. NaN: nothing was visited."""
        return "there is no motion" if np.isnan(visited[0]) else ""

    @property
    def looks_at(self) -> tuple[str, ...]:
        """Coordinates that it depends on beside the one it acts on; the mechanism must have them."""
        return ()

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Where each parameter acts, one per parameter; none: all act everywhere."""
        return ()

    @property
    def uses_effort(self) -> bool:
        """Whether that is the hand's effort along its coordinate itself (`Load.along`). A fit takes it as predicted:
        measured, it would explain itself, whatever the object is.
        """
        return False

    @property
    def memory(self) -> Mapping[str, str]:
        """What it remembers of the way, with units; empty: its force follows from where the object is and how fast."""
        return {}

    def remember(self, before: Scalar, now: Scalar, fn: Functions) -> Sequence[Step]:
        """Of an element with memory, a step of each number on the way from one position of its coordinate to the next.

        What is added to it, and the limits to which it is then cut.
        """
        raise PalpateError(f"element {self.name!r} ({type(self).__name__}): it does not say how it remembers")

    @property
    def others(self) -> tuple[Self, ...]:
        """The same element with each of its `guessed` numbers a tenth larger, or half as much as the next one is."""
        numbers: tuple[float, ...] = getattr(self, self.guessed) if self.guessed else ()
        steps = ((i, min(1.1 * x, (x + after) / 2)) for i, (x, after) in enumerate(pairwise((*numbers, inf))))
        each = ((*numbers[:i], x, *numbers[i + 1 :]) for i, x in steps)
        units = {name: self.unit("rad", name) for name in (self.acts_on, *self.looks_at)}
        return tuple(replace(self, **{self.guessed: other}).on(units) for other in each)

    @property
    def stops(self) -> Stop | None:
        """The end of the range that it makes."""
        return None

    @property
    def breaks(self) -> tuple[float, ...]:
        """Positions of its coordinate at which the law of its force changes: the knots of a table."""
        return ()

    def between(self, k: Kinematics, p: Sequence[float]) -> FloatArray | None:
        """By how much a smoother law through its own values would push more (samples,): what nobody saw between knots.

        None: it has no knots, or is as smooth as may be.
        """
        return None

    @property
    def polynomial(self) -> tuple[float, int] | None:
        """(reference, order) where it drives its coordinate q with sum p_i (q - reference)^i."""
        return None

    @property
    def roughness(self) -> list[list[float]]:
        """A prior of smoothness: rows over its parameters, each expected to be zero with standard deviation one."""
        return []

    def level(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        """Of a dry element: one number >= 0 per parameter, its columns without the sign of the speed."""
        raise PalpateError(f"element {self.name!r} ({type(self).__name__}): it does not state its level")

    def phi(self, p: FloatArray) -> FloatArray | None:
        """What it says about the ten inertial parameters of the body, of its own values; None: nothing."""
        return None

    def unit(self, on_angle: str, coordinate: str = "") -> str:
        """A unit along its coordinate (or another that it looks at), given as it is along an angle.

        "N m s/rad" is "N s/m" along a length.
        """
        return along(on_angle, self.units.get(coordinate or self.acts_on, self.natural_unit))

    def on(self, coordinates: Mapping[str, str], directions: Mapping[str, Triple] | None = None) -> Self:
        """The same element on a mechanism with these coordinates: name -> "rad" or "m".

        directions: `Mechanism.directions`, for elements that follow them; None: nobody says.
        """
        names = (self.acts_on, *self.looks_at)
        units = {name: coordinates[name] for name in names if coordinates.get(name, "rad") != self.natural_unit}
        if units == self.units:
            return self
        other = copy(self)
        object.__setattr__(other, "units", units)
        return other

    def check_wheel(self, radius: float) -> None:
        """Refuse a mechanism on a wheel of this radius (m), if the element is about another one."""

    def on_wheel(self, radius: float) -> Self:
        """The same element on a mechanism whose wheel has this radius, m."""
        return self

    def estimating(self, free: bool) -> Self:
        """The same element with its shapes free or fixed (option `estimate`); itself where it has none to estimate."""
        options = {"estimate": free} if any(f.name == "estimate" for f in fields(self)) else {}
        return replace(self, **options)


def row_count(element: Element) -> int:
    """Six for a wrench, one for a coordinate."""
    return 6 if element.acts_on in (WRENCH, SENSOR) else 1


def column_coefficients(element: Element, features: int) -> FloatArray:
    """The constant coefficients of `columns`: entry [row, feature, parameter]."""
    T = np.zeros((row_count(element), features, len(element.parameters)))
    for i, unit in enumerate(np.eye(features)):
        T[:, i, :] = np.array(element.columns([float(u) for u in unit]), dtype=float)
    return T
