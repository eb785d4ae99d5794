"""The interface of a mechanism: how the body may move, and which rows of the balance are free of constraint forces."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from palpate.errors import DataProblem, PalpateError, UnknownName
from palpate.mechanisms.linkage import TRIED, Linkage, followed
from palpate.mechanisms.outline import Outline, Place, Solid, grip
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.functions import ARRAYS, Functions, Scalar, dot, remembering
from palpate.physics.inertia import DRAWING_NAMES, body_regressor
from palpate.physics.motion import Coordinate, Kinematics, Load, Motion, Poses, Triple
from palpate.physics.units import STANDARD_GRAVITY, shown

Matrix = tuple[Triple, Triple, Triple]
"""A rotation as three rows."""


_TRIED = 7
"""Motions in which parameters are looked for."""


@dataclass(frozen=True, slots=True)
class Row:
    """One free row of the balance: a force or moment component, with its unit."""

    name: str
    unit: str


WRENCH_ROWS = (
    *(Row(f"f_{axis}", "N") for axis in "xyz"),
    *(Row(f"n_{axis}", "N m") for axis in "xyz"),
)


@dataclass(frozen=True, slots=True)
class Joint:
    """One joint of the chain that leads from the ground to the body frame, as simulators have it.

    `axis`: in the body frame where all positions are zero. `position`: its index in the state, None where the state
    has no such position; of "free" the first of seven, of "ball" the first of four.
    """

    name: str
    kind: Literal["turn", "slide", "ball", "free"]
    axis: tuple[float, float, float]
    position: int | None
    pitch: float | None = 0.0
    """Way along the axis of what turns, m/rad; None: not known yet."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """What a rolling body has on the ground: radius and track of its wheels, feet (points of the body), m; moves."""

    radius: float
    track: float
    feet: tuple[tuple[float, float, float], ...]
    moves: str
    coordinates: tuple[str, ...]
    """The coordinates of wheels that each touch the ground."""


@dataclass(frozen=True, slots=True)
class Support:
    """A wheel under a body that stays on the floor: its name, and where it stands or its pivot is (m, in the body).

    `roll`: the coordinate of its rolling, ahead; of a caster how far it runs behind its pivot (m), its swivel's too.
    """

    name: str
    place: tuple[float, float]
    roll: str
    trail: float = 0.0
    swivel: str = ""


@dataclass(frozen=True, slots=True)
class Mechanism(ABC):
    """How a body may move: a frozen dataclass that derives from this class, one file per kind of constraint.

    Its fields are its options in an object file. What is abstract must be declared, the rest has a default, which is
    that of one freedom whose position, speed and row belong together. No other code asks a mechanism for its class.

    The *body frame* moves with the body; its poses are seen from the *mechanism's frame*, which stands still.
    """

    gravity: float = STANDARD_GRAVITY
    type: ClassVar[str]
    options: ClassVar[Mapping[str, str]] = {"gravity": "m/s2"}
    """Units of the options that have one."""
    frame: ClassVar[str] = "body frame of the mechanism"
    """Where the body frame is, in words for people, and ..."""
    origin: ClassVar[str] = "the body frame"
    """... about whose origin its moments and inertias are."""
    main: ClassVar[str | None] = None
    """The coordinate that end stops act on and that pictures have on their x-axis: the only freedom, where it is."""
    z_up: ClassVar[bool] = False
    """Whether z of its frame points up wherever it stands: then weight works by the height that `place` says alone."""
    floor: ClassVar[str] = ""
    """Of what stands on a floor, along which its world lies: the role of the markers that show its frame."""
    pivot: ClassVar[Literal["", "point", "axes"]] = ""
    """What stands still and is found from the motion: a point about which the body turns, or two axes that cross."""
    way: ClassVar[tuple[str, str]] = ("forth", "back")
    """Words for moving along the main coordinate with positive and with negative speed."""
    hand: ClassVar[tuple[float, float, float]] = (0.0, 0.0, 0.0)
    """Where a hand holds the body unless somebody says otherwise, m in the body frame ..."""
    outward: ClassVar[tuple[float, float, float]] = (0.0, -1.0, 0.0)
    """... and the direction from the body to the hand's side of a handle."""

    @property
    @abstractmethod
    def rows(self) -> tuple[Row, ...]:
        """The free rows, in order."""

    @property
    @abstractmethod
    def coordinates(self) -> Mapping[str, str]:
        """The coordinates that elements may act on: name -> "rad" (an angle) or "m" (a length)."""

    @property
    @abstractmethod
    def state(self) -> tuple[str, ...]:
        """Names of the state for `expand`, positions first, then as many speeds as there are accelerations."""

    @property
    @abstractmethod
    def accelerations(self) -> tuple[str, ...]:
        """Names of the accelerations, one per free direction of motion, for `expand`."""

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the state, then of the accelerations; "" where one is not known."""
        if self.main is None or len(self.state) != 2:
            return ("",) * (len(self.state) + len(self.accelerations))
        unit = self.coordinates[self.main]
        return unit, f"{unit}/s", f"{unit}/s2"

    @property
    def position_units(self) -> tuple[str, ...]:
        """Units of the positions of the state: "rad", "m", or "1" for a quaternion."""
        return self.units[: len(self.state) - len(self.accelerations)]

    @property
    def constant_projection(self) -> bool:
        """Whether `project` and the coordinates' ratios are the same at every sample.

        Then the features alone compress a recording.
        """
        return True

    @property
    def linkages(self) -> tuple[Linkage, ...]:
        """What the main coordinate drives, each after the one that drives it."""
        return ()

    @property
    def holds_sideways(self) -> bool:
        """Whether wheels keep the origin of the body frame from moving along its y axis."""
        return False

    @property
    def supports(self) -> tuple[Support, ...]:
        """Wheels on which it stays on the floor."""
        return ()

    @property
    def wheel(self) -> Wheel | None:
        """What rolls on the ground."""
        return None

    @property
    def moving(self) -> tuple[str, ...]:
        """Coordinates whose speed must differ from zero for dry friction to be known."""
        return () if self.main is None else (self.main,)

    @property
    def untold(self) -> tuple[str, ...]:
        """Coordinates with another one's position, or without an acceleration: forces along them look at neither."""
        return ()

    @property
    def following(self) -> tuple[str, ...]:
        """Positions that no pose shows: they follow from the path, and `coordinates_of` fills them in."""
        return ()

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """Coordinates that follow from the motion by the dynamics alone (`apart`): they depend on the parameters."""
        return ()

    @property
    def joints(self) -> tuple[Joint, ...]:
        """The chain of joints from the ground to the body frame."""
        return ()

    def chain(self) -> tuple[Joint, ...]:
        """These joints, for whoever cannot do without: refuses a mechanism that declares none."""
        if not self.joints:
            raise PalpateError(
                f"mechanism {self.type!r}: it does not say which joints it has, which this needs: give it `joints`, "
                'if it has any, such as (Joint("arm", "turn", (0, 0, 1), 0),); simulation, C and FMU do without'
            )
        return self.joints

    @property
    def placed(self) -> bool:
        """Whether neither joints nor a floor nor a pivot show its frame: it is then the world of markers or poses."""
        return not (self.joints or self.floor or self.pivot)

    @property
    def tabled(self) -> bool:
        """Whether a table of its positions, and of what is done along each, tells all: as many of each as rows."""
        return not self.floor and len(self.position_units) == len(self.rows) == len(self.accelerations)

    @property
    def directions(self) -> Mapping[str, tuple[float, float, float]]:
        """Coordinates along which the body frame's origin moves straight, with their directions in the body frame.

        Unless overridden, that of a single joint that slides.
        """
        return {j.name: j.axis for j in self.joints if j.kind == "slide" and len(self.joints) == 1}

    @property
    def weighed(self) -> str | None:
        """The coordinate along which its own weight works, for an element `gravity`; None: none is known."""
        turning = self.main if self.main is not None and self.coordinates[self.main] == "rad" else None
        return next(iter(self.directions), turning)

    @property
    def R_world_body(self) -> Matrix:
        """How the body frame stands where all positions are zero, in a world whose z points up."""
        return ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

    @property
    def limits(self) -> Mapping[str, tuple[float, float]]:
        """Positions beyond which nothing moves, by their names in the state."""
        return {}

    @property
    def reach(self) -> tuple[float, float]:
        """The main positions that all linkages can follow."""
        return (-math.inf, math.inf)

    @property
    def described(self) -> tuple[float, float] | None:
        """The main positions for which its linkages are described; None: it has none."""
        return None

    @property
    def endless(self) -> bool:
        """Whether its main coordinate has no ends, as a knob's, which turns any number of times."""
        return False

    @property
    def hidden(self) -> tuple[str, ...]:
        """What of a rigid body no motion of this mechanism shows or needs, in the words of a drawing."""
        return _without_effect(self) if self.placed else ()

    @property
    def advice(self) -> Mapping[str, str]:
        """Which motion would tell more, by a coordinate or by a parameter as on a drawing (m, c_x, Ixx, ...)."""
        return {}

    @property
    def row_components(self) -> tuple[int, ...]:
        """Which component of a wrench in the body frame each row is, where it is one: of a single freedom."""
        names = [row.name for row in WRENCH_ROWS]
        return tuple(names.index(row.name) for row in self.rows if row.name in names)

    def outline(self, hand: Place | None = None) -> Outline:
        """What pictures show of it, with the hand here (m, in the body frame) or where one would hold it.

        Unless overridden, its body as a box.
        """
        at = hand or self.hand
        return Outline((Solid("inertia"), grip(at)), at)

    @property
    def leaning(self) -> float:
        """How far off the mechanism stands from where the body's weight does not move it, rad."""
        return 0.0

    def at_rest(self) -> Mechanism | None:
        """The same mechanism with its rows combined so that dry friction of `moving` drops out; None: none is left."""
        return None

    def turned(self, k: Kinematics) -> Kinematics:
        """Kinematics of a mechanism that this one was made of (`at_rest`), as this one sees it."""
        return k

    def unguided(self) -> Mechanism:
        """The same with freedoms that its guides hold in the model but not quite in the world: an IMU feels them.

        Its positions contain those of this one, by the same names.
        """
        return self

    def with_zero_at(self, position: float) -> Self:
        """The same mechanism with its main coordinate counted from elsewhere: what was zero is now `position`."""
        return self

    def with_options(self, **options: Any) -> Self:
        """The same mechanism with other options, such as linkage, radius or feet, of those that it has."""
        return replace(self, **{f.name: options[f.name] for f in fields(self) if f.name in options})

    @property
    def sizes(self) -> Mapping[str, tuple[float, str]]:
        """What a tape measure tells of it, and the data may, such as closer.L2: value, and "m" or "rad"."""
        return {f"{x.coordinate}.{name}": size for x in self.linkages for name, size in x.sizes.items()}

    @property
    def estimated(self) -> tuple[str, ...]:
        """Those of its sizes that the data shall tell."""
        return tuple(f"{x.coordinate}.{name}" for x in self.linkages for name in x.estimated)

    def off_by(self, by: float) -> dict[str, float]:
        """By how much each of these sizes is off, m or rad, where a tape measure is off by so much, m."""
        return {f"{x.coordinate}.{name}": x.off_by(name, by) for x in self.linkages for name in x.sizes}

    def with_sizes(self, sizes: Mapping[str, float]) -> Self:
        """The same mechanism with some of these sizes other; refused where a linkage cannot be assembled."""
        named = [{n: sizes[k] for n in x.sizes if (k := f"{x.coordinate}.{n}") in sizes} for x in self.linkages]
        return self.with_linkages([x.with_sizes(own) for x, own in zip(self.linkages, named, strict=True)])

    def with_linkages(self, linkages: Sequence[Linkage]) -> Self:
        """The same mechanism with other linkages."""
        return self.with_options(linkage=tuple(linkages))

    def check_reach(self, position: FloatArray) -> None:
        """Refuse measured main positions that a linkage cannot follow; NaN is not judged."""
        for link in self.linkages:
            link.check_reach(position)

    def forward(self) -> Self:
        """The same mechanism as a runtime must see it: friction that takes energy out."""
        return self

    def apart(self) -> Mechanism:
        """The same with a freedom for each body, where some are `unmeasured`: as a runtime must step them."""
        return self

    def with_gravity(self, gravity: Sequence[float] | FloatArray) -> Self:
        """The same with gravity (m/s2) as a vector in its frame; where z must point up, only its size counts."""
        return replace(self, gravity=float(np.linalg.norm(np.asarray(gravity, dtype=float))))

    def observe(self, motion: Motion) -> Kinematics:
        """Measured motion -> kinematics (identification): the accelerations are those nearest to the motion's."""
        states = self.states(motion)
        still = [np.zeros(len(states))] * len(self.accelerations)

        def told(acc: Sequence[Scalar]) -> FloatArray:
            k = self.body_motion(list(states.T), acc, ARRAYS)
            return _stacked((*k.specific_acceleration, *k.omega_dot), len(states))

        level = motion.on_slope(np.zeros(2), self.gravity)
        measured = np.hstack([level.specific_acceleration, motion.omega_dot])
        acc = _nearest(told, still, measured)
        k = Kinematics.from_arrays(motion.specific_acceleration, motion.omega, motion.omega_dot)
        return replace(k, coordinates=self.expand(list(states.T), list(acc.T), ARRAYS).coordinates)

    @abstractmethod
    def expand(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """State and acceleration -> the same kinematics (runtime, C, FMU); never raises."""

    def body_motion(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """`expand` for whoever needs the motion of the body frame only: it may lack the coordinates."""
        return self.expand(state, acc, fn)

    @abstractmethod
    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """A wrench in the body frame (6) -> the free rows; linear in the wrench."""

    def projector(self, k: Kinematics, fn: Functions) -> Callable[[Sequence[Scalar]], Sequence[Scalar]]:
        """`project` of this motion, for many wrenches."""
        return lambda wrench: self.project(k, wrench, fn)

    def loads(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Mapping[str, Load]:
        """What a wrench in the body frame (6) presses on the guide of each coordinate whose guide is known."""
        return {}

    def place(self, state: Sequence[Scalar], fn: Functions) -> tuple[Matrix, Triple]:
        """Rows of the body frame's rotation, and its origin (m), in the mechanism's frame."""
        raise PalpateError(f"mechanism {self.type!r}: it does not say where the body is")

    def velocity(self, state: Sequence[Scalar], fn: Functions) -> Triple:
        """Velocity of the body frame's origin, m/s, in the body frame."""
        return (0.0, 0.0, 0.0)

    def rates(self, state: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """How fast each position of the state changes; linear in the speeds, zero at rest."""
        return state[-len(self.accelerations) :]

    def row_speeds(self, state: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """The speeds that the free rows work on, one per row; linear in the speeds of the state."""
        return state[-len(self.accelerations) :]

    def coordinates_of(self, poses: Poses) -> FloatArray:
        """Poses of the body frame in the mechanism's frame -> positions of the state (samples, positions).

        Angles are unwrapped; NaN where the pose is not known. Refuses poses that the mechanism does not allow.
        """
        raise PalpateError(
            f"mechanism {self.type!r}: it cannot read its coordinates from poses: give it coordinates_of(self, poses), "
            f"which returns an array (samples, {len(self.position_units)}), such as "
            "np.arctan2(poses.position[:, 2], poses.position[:, 0])[:, None]"
        )

    def coordinates_changed(self, poses: Poses, before: Self) -> FloatArray:
        """By how much these positions are others than with the sizes that it had before, (samples, positions)."""
        return self.coordinates_of(poses) - before.coordinates_of(poses)

    def unsettled(self, poses: Poses) -> BoolArray:
        """(samples,): where the path does not tell the positions that follow from it."""
        return np.zeros(len(poses), dtype=bool)

    def speeds_of(self, q: FloatArray, q_dot: FloatArray) -> FloatArray:
        """Positions and their derivatives (..., positions) -> the speeds of the state (..., freedoms)."""
        return q_dot

    def accelerations_of(self, q: FloatArray, q_dot: FloatArray, q_ddot: FloatArray) -> FloatArray:
        """Positions and their derivatives (..., positions) -> the accelerations (..., freedoms)."""
        return q_ddot

    def motion(self, times_s: FloatArray, states: FloatArray, accelerations: FloatArray) -> Motion:
        """A path through states (samples, len(state)) with accelerations (samples, freedoms), as `observe` wants it.

        NaN where the state is not known.
        """
        state, fn = list(states.T), remembering(ARRAYS)
        k = self.body_motion(state, list(accelerations.T), fn)
        rows, origin = self.place(state, fn)
        R = np.empty((3, 3, len(times_s)))
        for i, j in np.ndindex(3, 3):
            R[i, j] = rows[i][j]
        vectors = np.empty((5, 3, len(times_s)))  # component by component, as `Motion` keeps them
        parts = (k.specific_acceleration, k.omega, k.omega_dot, self.velocity(state, fn), origin)
        for vector, triple in zip(vectors, parts, strict=True):
            vector[0], vector[1], vector[2] = triple
        a, omega, omega_dot, v, r = (vector.T for vector in vectors)
        positions = states[:, : states.shape[1] - len(self.accelerations)]
        return Motion(times_s, a, omega, omega_dot, Poses(times_s, R.transpose(2, 0, 1), r), v, positions)

    def states(self, motion: Motion) -> FloatArray:
        """The measured states (samples, len(state)) of a motion that `observe` takes: the inverse of `motion`.

        The positions of its poses, and the speeds that are nearest to the motion's velocity and omega.
        """
        if motion.poses is None or motion.velocity is None:
            raise DataProblem(self.type, "the motion has no poses or no velocity", remedy="build it from markers")
        q = self.coordinates_of(motion.poses) if motion.positions is None else motion.positions
        still = [np.zeros(len(q))] * len(self.accelerations)

        def told(speeds: Sequence[Scalar]) -> FloatArray:
            state = [*q.T, *speeds]
            return _stacked((*self.velocity(state, ARRAYS), *self.body_motion(state, still, ARRAYS).omega), len(q))

        return np.hstack([q, _nearest(told, still, np.hstack([motion.velocity, motion.omega]))])


@dataclass(frozen=True, slots=True)
class OneFreedom(Mechanism):
    """A mechanism with one position, its speed and one row: a hinge, a slide.

    Its position is `main`, in `unit`. `inclination` and `direction` (rad) say how its axis stands to the vertical;
    `linkage`: what it drives, such as the closer of a door, or a list of several; each adds a coordinate.
    """

    inclination: float = 0.0
    direction: float = 0.0
    linkage: Linkage | tuple[Linkage, ...] | None = None
    options: ClassVar[Mapping[str, str]] = {**Mechanism.options, "inclination": "rad", "direction": "rad"}
    unit: ClassVar[str] = "rad"
    accelerations: ClassVar[tuple[str, ...]] = ("acceleration",)  # pyright: ignore[reportIncompatibleMethodOverride]
    way: ClassVar[tuple[str, str]] = ("opening", "closing")

    def __post_init__(self) -> None:
        """Refuse linkages that nothing can drive, or that bear one name."""
        if isinstance(self.linkage, list | tuple):  # one alone is the same as no list
            given = tuple(self.linkage)
            object.__setattr__(self, "linkage", given[0] if len(given) == 1 else given or None)
        kinds, units = {"rad": "an angle", "m": "a length"}, {str(self.main): self.unit}
        for link in self.linkages:
            where = f"linkage {link.type!r}"
            if link.coordinate in units:
                raise PalpateError(f"{where}: there is a coordinate {link.coordinate!r} already: name it `coordinate`")
            driver = link.after or str(self.main)
            if driver not in units:
                raise UnknownName("coordinate before it", driver, units, where=f"{where}, after")
            if units[driver] not in link.driven_by:
                what = f"the {self.state[0]} of a {self.type}" if link.after is None else f"{driver!r}"
                raise PalpateError(
                    f"{where}: it is driven by {kinds[link.driven_by[0]]}, and {what} is {kinds[units[driver]]}"
                )
            units[link.coordinate] = link.unit
            for name in link.estimated:
                if name not in link.sizes:
                    raise UnknownName("size to estimate", str(name), link.sizes, where=where)
            if link.estimate and not link.sizes:
                raise PalpateError(f"{where}: it has no lengths that could be estimated: leave `estimate` out")
        if len(self.linkages) > 1:
            self._check_together()

    def _check_together(self) -> None:
        """Refuse linkages that cannot follow where they are described together."""
        low, high = self.described or (0.0, 0.0)
        if low > high:
            raise PalpateError("linkage: their ranges do not meet: describe all for positions that the object visits")
        try:
            self.check_reach(np.linspace(low, high, TRIED))
        except DataProblem as problem:
            where = f"{shown(low, self.unit)} to {shown(high, self.unit)}, the range of all"
            raise PalpateError(f"linkage: {where}: {problem}") from problem

    @property
    def linkages(self) -> tuple[Linkage, ...]:
        """One, several or none."""
        given = () if self.linkage is None else self.linkage
        return given if isinstance(given, tuple) else (given,)

    @property
    def reach(self) -> tuple[float, float]:
        """What all follow; of one that another drives, as far as the driven position goes."""
        low, high = -math.inf, math.inf
        for link in self.linkages:
            ends = link.reach
            if link.after is not None:
                ends = followed(lambda q, name=link.after: self._driven(q)[name], (low, high), self.described, ends)
            low, high = max(low, ends[0]), min(high, ends[1])
        return low, high

    @property
    def described(self) -> tuple[float, float] | None:
        """Where the ranges of those that it drives itself meet."""
        ranges = [link.range for link in self.linkages if link.after is None]
        return (max(r[0] for r in ranges), min(r[1] for r in ranges)) if ranges else None

    def check_reach(self, position: FloatArray) -> None:
        """Each by the coordinate that drives it."""
        at = self._driven(position) if len(self.linkages) > 1 else {str(self.main): position}
        for link in self.linkages:
            name = link.after or str(self.main)
            link.check_reach(at[name], self.coordinates[name], name if link.after else "")

    def _driven(self, position: FloatArray) -> dict[str, FloatArray]:
        """Positions of all coordinates."""
        moving = self._moving(position, 0.0, 0.0, ARRAYS)
        return {name: np.asarray(c.position, dtype=float) for name, c in moving.items()}

    @property
    def coordinates(self) -> Mapping[str, str]:
        """The main coordinate and what it drives."""
        return {str(self.main): self.unit, **{link.coordinate: link.unit for link in self.linkages}}

    @property
    def constant_projection(self) -> bool:
        """A linkage's ratio changes with the position."""
        return self.linkage is None

    def _moving(self, position: Scalar, speed: Scalar, acceleration: Scalar, fn: Functions) -> dict[str, Coordinate]:
        """The coordinates of a motion; along a chain of linkages ratios multiply."""
        main = Coordinate(position, speed, acceleration)
        moving = {str(self.main): main}
        for link in self.linkages:
            by = moving[link.after or str(self.main)]
            driven, nu, nu_1 = link.transmit(by.position, fn)
            ratio = nu if by is main else nu * by.ratio[0]
            moving[link.coordinate] = Coordinate(
                driven, nu * by.speed, nu * by.acceleration + nu_1 * by.speed * by.speed, (ratio,)
            )
        return moving

    def _position(self, motion: Motion) -> FloatArray:
        """The measured position; refuses what the linkage cannot follow."""
        if motion.poses is None:
            raise DataProblem(
                self.type,
                f"the motion does not hold the {self.state[0]}",
                remedy=f"build it from the {self.state[0]} with the mechanism's motion()",
            )
        position = (self.coordinates_of(motion.poses) if motion.positions is None else motion.positions)[:, 0]
        self.check_reach(position)
        return position


def _stacked(values: Sequence[Scalar], samples: int) -> FloatArray:
    """(samples, numbers)."""
    return np.stack([np.broadcast_to(np.asarray(x, dtype=float), samples) for x in values], axis=1)


def _without_effect(mechanism: Mechanism) -> tuple[str, ...]:
    """What of a rigid body enters no row, tried in a few motions."""
    n, rng = len(mechanism.accelerations), np.random.default_rng(0)
    states, acc = rng.uniform(-1.0, 1.0, (_TRIED, len(mechanism.state))), rng.uniform(-1.0, 1.0, (_TRIED, n))
    states[:, 0] = np.clip(states[:, 0], *mechanism.reach)
    k = mechanism.expand(list(states.T), list(acc.T), ARRAYS)
    A = body_regressor(*(_stacked(x, _TRIED) for x in (k.specific_acceleration, k.omega, k.omega_dot)))
    effects = [_stacked(mechanism.project(k, list(A[:, :, j].T), ARRAYS), _TRIED) for j in range(A.shape[2])]
    largest = max(float(np.abs(effect).max()) for effect in effects)
    shows = [not np.abs(effect).max() <= 1e-12 * largest for effect in effects]  # NaN shows
    return tuple(name for name, enters in zip(DRAWING_NAMES, shows, strict=True) if not enters)


def _nearest(
    told: Callable[[Sequence[Scalar]], FloatArray], still: Sequence[FloatArray], measured: FloatArray
) -> FloatArray:
    """x (samples, n) of which `told`, linear but for a constant, comes nearest to what was measured (samples, m)."""
    start, one = told(still), np.eye(len(still))
    J = np.stack([told([s + e for s, e in zip(still, unit, strict=True)]) - start for unit in one], axis=2)
    off = measured - start
    known, x = np.isfinite(off).all(axis=1) & np.isfinite(J).all(axis=(1, 2)), np.full((len(off), len(still)), np.nan)
    x[known] = np.einsum("nij,nj->ni", np.linalg.pinv(J[known]), off[known])
    return x


def into_body(R: Matrix, v: Triple) -> Triple:
    """R' v: a vector of another frame in axes of the body frame, whose rotation in it is R."""
    x, y, z = (dot(column, v) for column in zip(*R, strict=True))
    return (x, y, z)


def unwrapped(angle: FloatArray) -> FloatArray:
    """An angle without jumps of whole turns; NaN stays, and what follows it counts on from the last known angle."""
    turned, known = np.array(angle), np.isfinite(angle)
    turned[known] = np.unwrap(turned[known])
    return turned
