"""A body on the floor that neither leans nor leaves it: a cart on a fixed axle, or what only has casters or feet.

Body frame B: z up, x ahead; the origin is in the middle of the axle, or anywhere where there is none. Its height does
not count: what tips the body or presses it down, the floor takes.

Why these rows. B moves with (v, s, 0) and turns with w about z. The hands' wrench about its origin, (f, n), has the
power f_x v + f_y s + n_z w; the floor's forces on wheels that neither slip nor resist have none. So f_x, f_y and n_z
belong to v, s and w, the three freedoms (Kane). An axle does not slip sideways, s = 0: its force f_y drops out.

A caster's pivot at (a, b) of B moves with p = (v - b w, s + a w). Its wheel rolls a trail t behind it along
e = (cos c, sin c), c the swivel, and does not slip across, n = (-sin c, cos c): p . n = t (w + c'), so
c' = p . n / t - w (Campion, Bastin & d'Andrea-Novel 1996, IEEE Trans. Robotics and Automation 12, eq. 9). Casters weigh
nothing here (the body has their mass), so that the force of rolling resistance works on p . e, and friction in the
pivot on c'; both are sums of v, s and w, by which they enter the rows.
"""

# pyright: reportIncompatibleMethodOverride=false
# what the interface asks as a property may be a constant
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from palpate.errors import DataProblem, PalpateError, UnknownName
from palpate.mechanisms.mechanism import Joint, Matrix, Mechanism, Row, Support, unwrapped
from palpate.mechanisms.outline import Outline, Place, Solid, wheel
from palpate.physics.arrays import BoolArray, FloatArray, running
from palpate.physics.functions import ARRAYS, Functions, Scalar
from palpate.physics.motion import Coordinate, Kinematics, Load, Motion, Poses, Triple

FORWARD, SIDEWAYS, TURN = "forward", "sideways", "turn"
WHEELS = {"wheel_left": 0.5, "wheel_right": -0.5}
"""Where each wheel is on the axle, shares of the track to the left."""

_ROWS = (Row("f_x", "N"), Row("f_y", "N"), Row("n_z", "N m"))
_UPRIGHT = math.cos(math.radians(10.0))
_CREEP = 0.02
"""rad: how far off its heading a caster's wheel may creep, by its play and the floor, from trail to trail."""
_LOST = 1e9
"""A growth beyond which nothing is known anyway, and numbers would overflow."""
_UNKNOWN = 0.2
"""rad: a swivel that is known no better says nothing about which way a caster rolls."""
_TO_AND_FRO = "turn it to and fro faster"
_ADVICE: Mapping[str, str] = {
    "m": "push and pull it faster",
    "c_x": "turn it faster, and while it goes ahead",
    "c_y": f"{_TO_AND_FRO}, and push and pull it",
    "Izz": f"{_TO_AND_FRO} on the spot",
    TURN: f"{_TO_AND_FRO} on the spot",
    SIDEWAYS: "push it sideways",
}


@dataclass(frozen=True, slots=True)
class Planar(Mechanism):
    """State: x, y (m), yaw and the swivel of each caster (rad), forward and sideways speed (m/s), yaw rate (rad/s).

    `axle`: whether it has a fixed axle, through the origin along y, that does not slip sideways: then there is no
    sideways speed. `track`: the distance between two wheels on it, m; each is a coordinate too. `casters`: their
    pivots, [x, y] m in B; `trail`: how far their wheels run behind them, m. At swivel zero a caster rolls ahead.
    `estimate`: true where the data shall tell trail and track, or names of what they shall tell, such as [trail,
    caster_1_x].

    `forward`, the wheels and `caster_1_roll` have no position: it is not a function of the state.
    """

    axle: bool = True
    track: float = 0.0
    casters: tuple[tuple[float, float], ...] = ()
    trail: float = 0.04
    estimate: bool | str | tuple[str, ...] = False
    type: ClassVar[str] = "planar"
    z_up: ClassVar[bool] = True
    floor: ClassVar[str] = "base"
    options: ClassVar[Mapping[str, str]] = {**Mechanism.options, "track": "m", "casters": "m", "trail": "m"}
    frame: ClassVar[str] = "B: z up, x ahead; origin in the middle of the fixed axle, or between the two markers"
    hand: ClassVar[tuple[float, float, float]] = (-0.6, 0.0, 0.9)
    outward: ClassVar[tuple[float, float, float]] = (-1.0, 0.0, 0.0)
    hidden: ClassVar[tuple[str, ...]] = ("c_z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz")
    joints: ClassVar[tuple[Joint, ...]] = (
        Joint("x", "slide", (1.0, 0.0, 0.0), 0),
        Joint("y", "slide", (0.0, 1.0, 0.0), 1),
        Joint("yaw", "turn", (0.0, 0.0, 1.0), 2),
    )

    def __post_init__(self) -> None:
        """Refuse wheels and casters that are none."""
        where = f"mechanism {self.type!r}"
        if self.track < 0 or (self.track > 0 and not self.axle):
            raise PalpateError(f"{where}: a track (m, positive) is for two wheels on a fixed axle, axle: true")
        object.__setattr__(self, "casters", _places(self.casters, where))
        if not (self.trail > 0 and math.isfinite(self.trail)):
            raise PalpateError(f"{where}: the casters' trail must be a positive length in m, not {self.trail!r}")
        if not isinstance(self.estimate, bool | str):
            object.__setattr__(self, "estimate", tuple(self.estimate))
        for name in self.estimated:
            if name not in self.sizes:
                raise UnknownName("size to estimate", str(name), self.sizes, where=where)
        if self.estimate and not self.estimated:
            raise PalpateError(f"{where}: it has neither casters nor a track to estimate: leave `estimate` out")

    @property
    def rows(self) -> tuple[Row, ...]:
        """The force ahead, aside where nothing holds it, and the moment about the vertical through the origin."""
        return tuple(_ROWS[i] for i in self._kept)

    @property
    def coordinates(self) -> Mapping[str, str]:
        """What elements may act on."""
        names = {FORWARD: "m", TURN: "rad"} if self.axle else {FORWARD: "m", SIDEWAYS: "m", TURN: "rad"}
        names |= dict.fromkeys(WHEELS, "m") if self.track > 0 else {}
        for i in range(len(self.casters)):
            names |= {f"caster_{i + 1}_roll": "m", f"caster_{i + 1}_swivel": "rad"}
        return names

    @property
    def moving(self) -> tuple[str, ...]:
        """All of them may rub."""
        return tuple(self.coordinates)

    @property
    def following(self) -> tuple[str, ...]:
        """The swivels."""
        return tuple(_swivel_of(f"caster_{i + 1}") for i in range(len(self.casters)))

    @property
    def state(self) -> tuple[str, ...]:
        """Positions, then speeds."""
        speeds = ("forward_speed", "sideways_speed", "yaw_rate")
        return ("x", "y", "yaw", *self.following, *(speeds[i] for i in self._kept))

    @property
    def accelerations(self) -> tuple[str, ...]:
        """Of the speeds, in their order."""
        names = ("forward_acceleration", "sideways_acceleration", "yaw_acceleration")
        return tuple(names[i] for i in self._kept)

    @property
    def units(self) -> tuple[str, ...]:
        """Of the state, then of the accelerations."""
        kinds = ("m", "m", "rad")
        speeds = (f"{kinds[i]}{per}" for per in ("/s", "/s2") for i in self._kept)
        return (*kinds, *("rad" for _ in self.casters), *speeds)

    @property
    def constant_projection(self) -> bool:
        """Casters turn."""
        return not self.casters

    @property
    def sizes(self) -> Mapping[str, tuple[float, str]]:
        """Track, trail and the places of the casters, as far as there are any."""
        track = {"track": (self.track, "m")} if self.track > 0 else {}
        trail = {"trail": (self.trail, "m")} if self.casters else {}
        places = {f"caster_{i + 1}_{'xy'[j]}": (at[j], "m") for i, at in enumerate(self.casters) for j in (0, 1)}
        return {**track, **trail, **places}

    @property
    def estimated(self) -> tuple[str, ...]:
        """Those that the data shall tell; trail and track, as far as there are any, unless others are named."""
        if isinstance(self.estimate, bool):
            return tuple(name for name in ("trail", "track") if name in self.sizes) if self.estimate else ()
        return (self.estimate,) if isinstance(self.estimate, str) else self.estimate

    def off_by(self, by: float) -> dict[str, float]:
        """All were measured alike."""
        return dict.fromkeys(self.sizes, by)

    def with_sizes(self, sizes: Mapping[str, float]) -> Planar:
        """The same with other ones, m."""
        x = {name: value for name, (value, _) in self.sizes.items()} | dict(sizes)
        places = ((x[f"caster_{i + 1}_x"], x[f"caster_{i + 1}_y"]) for i in range(len(self.casters)))
        trail, track = x.get("trail", self.trail), x.get("track", self.track)
        return replace(self, track=track, trail=trail, casters=tuple(places))

    @property
    def supports(self) -> tuple[Support, ...]:
        """The wheels on the axle, or one that stands for them, and the casters."""
        wheels = [Support(name, (0.0, share * self.track), name) for name, share in WHEELS.items()]
        wheels = wheels if self.track > 0 else [Support("wheel", (0.0, 0.0), FORWARD)]
        casters = (
            Support(f"caster_{i + 1}", place, f"caster_{i + 1}_roll", self.trail, f"caster_{i + 1}_swivel")
            for i, place in enumerate(self.casters)
        )
        return (*(wheels if self.axle else ()), *casters)

    def outline(self, hand: Place | None = None) -> Outline:
        """A deck on its wheels, and the bar that is pushed."""
        (back, aside, height), radius, left = hand or self.hand, 0.07, (0.0, 1.0, 0.0)
        places = [s.place for s in self.supports] or [(0.0, 0.0)]
        low, high = min(back, *(x for x, _ in places)), max(-0.4 * back, *(x for x, _ in places))
        width, top = 2 * max(0.22, *(abs(y) for _, y in places)), 2 * radius + 0.08
        deck = Solid("box", (high - low, width, 0.04), ((high + low) / 2, 0.0, top - 0.02))
        tall = max(height - top, 0.05)
        posts = [Solid("box", (0.03, 0.03, tall), (back, y, top + tall / 2)) for y in (0.4 * width, -0.4 * width)]
        bar = Solid("cylinder", (0.018, 0.9 * width), (back, 0.0, top + tall), left, "grip")
        wheels = [
            wheel(radius, (*s.place, radius), left, 0.03, _swivel_of(s.name) if s.swivel else "", s.trail)
            for s in self.supports
        ]
        return Outline((deck, *posts, bar, *wheels), (back, aside, top + tall), floor=0.0)

    @property
    def holds_sideways(self) -> bool:
        """A fixed axle does."""
        return self.axle

    @property
    def advice(self) -> Mapping[str, str]:
        """x ahead, y left, z up."""
        return _ADVICE

    def unguided(self) -> Mechanism:
        """Wheels creep sideways."""
        return replace(self, axle=False, track=0.0, estimate=False) if self.axle else self

    def observe(self, motion: Motion) -> Kinematics:
        """Motion of B with its poses in a world whose z is the floor's normal: its velocity is in axes of B.

        The body feels gravity along a floor that slopes; its speeds do not change by it.
        """
        if motion.poses is None or motion.velocity is None:
            remedy = "build it from markers: an IMU alone does not see the floor"
            raise DataProblem(self.type, "the motion has no poses or no velocity", remedy=remedy)
        q = self.coordinates_of(motion.poses) if motion.positions is None else motion.positions
        k = Kinematics.from_arrays(motion.specific_acceleration, motion.omega, motion.omega_dot)
        (ax, ay, _), w = motion.on_slope(np.zeros(2), self.gravity).specific_acceleration.T, k.omega[2]
        v, s, _ = motion.velocity.T
        free = 0.0 if self.axle else 1.0
        changes = (ax + free * w * s, free * (ay - w * v), k.omega_dot[2])
        return self._complete(k, list(q[:, 2:].T), (v, free * s, w), changes, ARRAYS)

    def expand(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """The body's motion, and how each part moves along."""
        k, positions = self.body_motion(state, acc, fn), state[2 : 3 + len(self.casters)]
        return self._complete(k, positions, self._three(state), self._three(acc), fn)

    def body_motion(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """Derivatives in the turning frame, plus w z x the velocity."""
        (v, s, w), (v1, s1, w1) = self._three(state), self._three(acc)
        return Kinematics((v1 - w * s, s1 + w * v, self.gravity), (0.0, 0.0, w), (0.0, 0.0, w1))

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """Forces along the floor and the moment about the vertical."""
        rows = (wrench[0], wrench[1], wrench[5])
        return tuple(rows[i] for i in self._kept)

    def loads(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Mapping[str, Load]:
        """Upwards, what the hands do not lift; each of two wheels bears half of it, casters nobody knows how much."""
        shares = {FORWARD: 1.0, SIDEWAYS: 1.0, **dict.fromkeys(WHEELS, 0.5)}
        kept = {n: x for n, x in shares.items() if n in self.coordinates}
        return {n: Load((x * wrench[2],), ((0.0, 0.0, x),), wrench[0]) for n, x in kept.items()}

    def place(self, state: Sequence[Scalar], fn: Functions) -> tuple[Matrix, Triple]:
        """Turned about the vertical; on the floor."""
        c, d = fn.cos(state[2]), fn.sin(state[2])
        return ((c, -d, 0.0), (d, c, 0.0), (0.0, 0.0, 1.0)), (state[0], state[1], 0.0)

    def velocity(self, state: Sequence[Scalar], fn: Functions) -> Triple:
        """Along the floor."""
        v, s, _ = self._three(state)
        return (v, s, 0.0)

    def rates(self, state: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """How fast the positions change; casters follow (`Planar`)."""
        v, s, w = self._three(state)
        c, d = fn.cos(state[2]), fn.sin(state[2])
        swivels: list[Scalar] = []
        for (a, b), swivel in zip(self.casters, state[3:], strict=False):
            across = (s + a * w) * fn.cos(swivel) - (v - b * w) * fn.sin(swivel)
            swivels.append(across / self.trail - w)
        return (v * c - s * d, v * d + s * c, w, *swivels)

    def coordinates_of(self, poses: Poses) -> FloatArray:
        """Of B in a world whose z is the floor's normal; a caster's swivel follows from the path of its pivot."""
        R, seen = poses.rotation, poses.seen
        leans = np.flatnonzero(seen & (R[:, 2, 2] < _UPRIGHT))
        if len(leans):
            raise DataProblem(
                self.type,
                f"sample {leans[0]}: the body leans by more than 10 deg",
                remedy="it must stay on the floor; a body that is tilted onto its wheels needs mechanism: rolling",
            )
        yaw = unwrapped(np.arctan2(R[:, 1, 0], R[:, 0, 0]))
        x, y = np.where(seen[:, None], poses.position[:, :2], np.nan).T
        swivels = [self._follow(x, y, yaw, pivot).swivel for pivot in self.casters]
        return np.stack([x, y, np.where(seen, yaw, np.nan), *swivels], axis=1)

    def coordinates_changed(self, poses: Poses, before: Self) -> FloatArray:
        """Swivels of casters that are elsewhere than before, or have another trail; nothing else follows the sizes."""
        x, y, yaw = replace(self, casters=(), estimate=False).coordinates_of(poses).T
        changes = np.where(poses.seen[:, None], np.zeros(3 + len(self.casters)), np.nan)
        for i, (pivot, other) in enumerate(zip(self.casters, before.casters, strict=True)):
            if (pivot, self.trail) != (other, before.trail):
                now, then = self._follow(x, y, yaw, pivot), before._follow(x, y, yaw, other)
                changes[:, 3 + i] = now.swivel - then.swivel
        return changes

    def unsettled(self, poses: Poses) -> BoolArray:
        """Where nobody can tell a caster's swivel: before it has followed, or while it turns round."""
        q = replace(self, casters=(), estimate=False).coordinates_of(poses)
        stds = [self._follow(q[:, 0], q[:, 1], q[:, 2], pivot).std for pivot in self.casters]
        return np.max(stds, axis=0, initial=0.0) > _UNKNOWN if stds else np.zeros(len(poses), dtype=bool)

    def speeds_of(self, q: FloatArray, q_dot: FloatArray) -> FloatArray:
        """The velocity in axes of the body."""
        c, d, x, y = np.cos(q[..., 2]), np.sin(q[..., 2]), q_dot[..., 0], q_dot[..., 1]
        return self._stacked(x * c + y * d, y * c - x * d, q_dot[..., 2])

    def accelerations_of(self, q: FloatArray, q_dot: FloatArray, q_ddot: FloatArray) -> FloatArray:
        """How these change: the axes turn."""
        c, d, w = np.cos(q[..., 2]), np.sin(q[..., 2]), q_dot[..., 2]
        x, y = q_ddot[..., 0] + w * q_dot[..., 1], q_ddot[..., 1] - w * q_dot[..., 0]
        return self._stacked(x * c + y * d, y * c - x * d, q_ddot[..., 2])

    @property
    def _kept(self) -> tuple[int, ...]:
        return (0, 2) if self.axle else (0, 1, 2)

    def _three(self, values: Sequence[Scalar]) -> Triple:
        """Ahead, aside and about z, the last of these values; aside zero where an axle holds it."""
        if self.axle:
            return (values[-2], 0.0, values[-1])
        return (values[-3], values[-2], values[-1])

    def _stacked(self, *parts: FloatArray) -> FloatArray:
        return np.stack(np.broadcast_arrays(*(parts[i] for i in self._kept)), axis=-1)

    def _complete(
        self, k: Kinematics, angles: Sequence[Scalar], speeds: Triple, changes: Triple, fn: Functions
    ) -> Kinematics:
        """Add the coordinates to a motion of B; angles: yaw, then the swivels."""
        (v, s, w), (v1, s1, w1) = speeds, changes
        full: dict[str, Coordinate] = {
            FORWARD: Coordinate(0.0, v, v1, (1.0, 0.0, 0.0)),
            SIDEWAYS: Coordinate(0.0, s, s1, (0.0, 1.0, 0.0)),
            TURN: Coordinate(angles[0], w, w1, (0.0, 0.0, 1.0)),
        }
        for name, share in WHEELS.items():
            left = share * self.track
            full[name] = Coordinate(0.0, v - left * w, v1 - left * w1, (1.0, 0.0, -left))
        t = self.trail
        for i, ((a, b), swivel) in enumerate(zip(self.casters, angles[1:], strict=True)):
            c, d = fn.cos(swivel), fn.sin(swivel)
            p, p1 = (v - b * w, s + a * w), (v1 - b * w1, s1 + a * w1)
            roll, across = p[0] * c + p[1] * d, p[1] * c - p[0] * d
            lever, arm = a * d - b * c, a * c + b * d
            rate = across / t - w
            roll_1, across_1 = p1[0] * c + p1[1] * d + rate * across, p1[1] * c - p1[0] * d - rate * roll
            full[f"caster_{i + 1}_roll"] = Coordinate(0.0, roll, roll_1, (c, d, lever))
            turns = Coordinate(swivel, rate, across_1 / t - w1, (-(d / t), c / t, arm / t - 1.0))
            full[f"caster_{i + 1}_swivel"] = turns
        kept = {n: replace(full[n], ratio=tuple(full[n].ratio[i] for i in self._kept)) for n in self.coordinates}
        return replace(k, coordinates=kept)

    def _follow(self, x: FloatArray, y: FloatArray, yaw: FloatArray, pivot: tuple[float, float]) -> _Followed:
        """How a caster follows the path that its body takes.

        The direction h of a wheel that is drawn along the path of its pivot follows h' = sin(u - h) |p'| / t, u the
        path's own. For a straight piece d the vector (cos h/2, sin h/2) is multiplied by
        cosh(|d| / 2t) + sinh(|d| / 2t) [[cos u, sin u], [sin u, -cos u]], so that any path is a product of matrices
        (Foote, Levi & Tabachnikov 2013, Tractrices, bicycle tire tracks, hatchet planimeters, Am. Math. Monthly 120).
        Time does not enter, and no derivative. Errors shrink while the wheel is drawn and grow while it is pushed.
        """
        known = np.isfinite(x) & np.isfinite(yaw)
        if not known.any():
            nothing = np.full(len(x), np.nan)
            return _Followed(known, nothing, nothing, nothing[1:], nothing[1:], self.trail)
        at = np.arange(len(x))
        x, y, turn = (np.interp(at, at[known], z[known]) for z in (x, y, yaw))
        c, d = np.cos(turn), np.sin(turn)
        dx, dy = (np.diff(z) for z in (x + pivot[0] * c - pivot[1] * d, y + pivot[0] * d + pivot[1] * c))
        way = np.hypot(dx, dy)
        u = np.tanh(0.5 * way / self.trail) / np.maximum(way, 1e-300)
        steps = np.array([[1.0 + u * dx, u * dy], [u * dy, 1.0 - u * dx]])
        products = running(steps, lambda later, first: _unit(np.einsum("ijn,jkn->ikn", later, first)))
        start = np.array([math.cos(turn[0] / 2), math.sin(turn[0] / 2)])
        half = np.concatenate([start[:, None], np.einsum("ijn,j->in", products, start)], axis=1)
        heading = np.unwrap(2 * np.arctan2(half[1], half[0]))
        return _Followed(known, heading, turn, dx, dy, self.trail)


@dataclass(frozen=True, slots=True, eq=False)
class _Followed:
    """The heading of a caster on the path of its pivot, rad, the body's yaw, and the path's pieces, m."""

    known: BoolArray
    heading: FloatArray
    yaw: FloatArray
    dx: FloatArray
    dy: FloatArray
    trail: float

    @property
    def swivel(self) -> FloatArray:
        """(samples,) rad, against the body."""
        return np.where(self.known, self.heading - self.yaw, np.nan)

    @property
    def std(self) -> FloatArray:
        """(samples,) how well that is known, rad."""
        if not self.known.any():
            return np.full(len(self.known), np.inf)
        # dh of a step: that before it times the growth, and what creeps meanwhile
        drawn = (self.dx * np.cos(self.heading[:-1]) + self.dy * np.sin(self.heading[:-1])) / self.trail
        growth = np.exp(-2 * np.clip(drawn, -5.0, 5.0))
        maps = np.array([growth, _CREEP**2 * np.hypot(self.dx, self.dy) / self.trail])
        maps = running(maps, lambda b, a: np.minimum([b[0] * a[0], b[0] * a[1] + b[1]], _LOST))
        return np.sqrt(np.concatenate([[math.pi**2], maps[0] * math.pi**2 + maps[1]]))


def _swivel_of(caster: str) -> str:
    """The position of the state that belongs to a caster of this name."""
    return caster.replace("caster", "swivel")


def _unit(matrices: FloatArray) -> FloatArray:
    """The same (2, 2, n) with a largest entry of one: only directions count, and products would overflow."""
    return matrices / np.abs(matrices).max(axis=(0, 1))


def _places(given: Sequence[Any], where: str) -> tuple[tuple[float, float], ...]:
    """The option as pairs of floats; JSON and YAML give lists."""
    try:
        places = tuple((float(x), float(y)) for x, y in given)
    except (TypeError, ValueError):
        places = ((math.nan, math.nan),)
    if not all(math.isfinite(x) for place in places for x in place):
        raise PalpateError(f"{where}: casters must be places [x, y] in m, not {given!r}")
    return places
