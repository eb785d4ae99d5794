"""A body on a wheel that rolls without slip: a wheelbarrow, and what is left of it in a plane or on two wheels.

Body frame B: origin in the middle of the axle, z left along it, y towards the handles (level at pitch zero), x = y x z
(down at pitch zero). Contact frame C: on the ground straight below, z up, y along the axle but level, x ahead. The
wheel is a sphere of radius R about the origin of B (paper, Wheelbarrow). With camber c (how far the left end of the
axle rises), pitch p (turn about the axle, handles up) and heading h, omega in axes of C is
(c', p' cos c, h' + p' sin c).

Why these rows. The wheel turns with omega + S z_B, S its speed in the bearing. Its point at C rests: v_y = -R omega_x
and v_x = R omega_y + R S cos c. The hands' wrench moved to C, (f, n), has the power n . omega + f . (v at C of what the
hands hold) = n . omega + f_x u, u = v_x - R omega_y = R S cos c: f_y and f_z have none. So the rows n_x, n_y, n_z, f_x
belong to the speeds omega_x, omega_y, omega_z, u; these are the four freedoms, and the four rows the four equations of
motion (Kane). The ground's force acts on a point at rest and drops out; its couples work on the wheel, friction in the
bearing on S. Body and wheel together, moved as one body, need W_CB A phi. Of the rest, a couple tau along z_B on the
wheel works on Omega = z_B . (omega + S z_B) = v_x / (R cos c) + h' sin c, which is
omega_y cos c + omega_z sin c + u / (R cos c): it enters the moments as tau z_B, as published, and f_x as
tau / (R cos c), which is the ground's f_x by the balance of the wheel about its axle.
"""

# pyright: reportIncompatibleMethodOverride=false
# what the interface asks as a property may be a constant
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from palpate.errors import DataProblem, PalpateError, UnknownName
from palpate.mechanisms.mechanism import Joint, Matrix, Mechanism, Row, Wheel, into_body, unwrapped
from palpate.mechanisms.outline import Outline, Place, Solid, grip, wheel
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS, Functions, Scalar, dot, remembering
from palpate.physics.motion import Coordinate, Kinematics, Load, Motion, Poses, Triple

WheelSpeed = Literal["conjugate", "published"]
Moves = Literal["full", "upright", "planar"]

WHEEL, YAW, BEARING, PATCH = "wheel", "yaw", "bearing", "patch"
CAMBER, PITCH, HEADING = "camber", "pitch", "heading"

_ROWS = (Row("n_x", "N m"), Row("n_y", "N m"), Row("n_z", "N m"), Row("f_x", "N"))
_KEPT: Mapping[str, tuple[int, ...]] = {"full": (0, 1, 2, 3), "upright": (1, 2, 3), "planar": (1, 3)}
_POSITIONS = ("x", "y", "yaw", "camber", "pitch")
_SPEEDS = ("forward_speed", "yaw_rate", "camber_rate", "pitch_rate")
_HELD: Mapping[str, tuple[str, ...]] = {"full": (), "upright": ("camber",), "planar": ("camber", "yaw", "y")}
_HIDDEN = ("c_z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz")
_STEEPEST = math.radians(80.0)
"""An axle that stands steeper has no heading; what leans so far lies on the ground."""


_JOINTS: Mapping[str, tuple[Literal["turn", "slide"], tuple[float, float, float]]] = {
    "x": ("slide", (0.0, -1.0, 0.0)),
    "y": ("slide", (0.0, 0.0, 1.0)),
    "z": ("slide", (-1.0, 0.0, 0.0)),
    "yaw": ("turn", (-1.0, 0.0, 0.0)),
    "camber": ("turn", (0.0, -1.0, 0.0)),
    "pitch": ("turn", (0.0, 0.0, 1.0)),
}
_LIFT = "lift the handles through a larger range"
_YAW_AND_PITCH = "turn it to and fro faster while the handles go up and down (yaw and pitch)"
_ADVICE: Mapping[str, str] = {
    "m": "push and pull it faster",
    "c_x": _LIFT,
    "c_y": _LIFT,
    "c_z": "lean it further to either side",
    "Ixx": "turn it faster to and fro on the spot (yaw)",
    "Iyy": "rock it faster from side to side (camber)",
    "Izz": "lift and lower the handles faster (pitch)",
    "Ixy": "rock it from side to side faster while it turns (camber and yaw)",
    "Ixz": _YAW_AND_PITCH,
    "Iyz": "rock it from side to side faster while the handles go up and down (camber and pitch)",
    **dict.fromkeys((YAW, HEADING, PATCH), "turn it to and fro on the spot (yaw)"),
}
_UPRIGHT_ADVICE: Mapping[str, str] = {
    "c_z": "turn it faster to and fro while it goes ahead and back (yaw)",
    **dict.fromkeys(("Ixx", "Ixy", "Iyy"), "turn it to and fro (yaw) with the handles high and with the handles low"),
    "Iyz": _YAW_AND_PITCH,
}


@dataclass(frozen=True, slots=True)
class Rolling(Mechanism):
    """State: x, y (of the contact, m), yaw (heading), camber, pitch (about the axle; rad), forward speed (m/s), yaw,
    camber and pitch rate (rad/s).

    `radius` of the wheel, m. `wheel_speed`: "conjugate", the speed that a couple along the axle works on, or
    "published", v_x / R, which is not and lets wheel friction create energy: for reproduction only.
    `moves`: "full"; "upright", two wheels that hold the camber at zero; "planar", forward and pitch only. `track`: the
    distance between two wheels, m; each is a coordinate too. `feet`: points of the body (m, in B) that may stand on
    the ground, left first.

    `wheel`, `bearing`, `yaw` and `patch` have no position: it is not a function of the state. `yaw` is omega about
    the vertical (paper, eq. psi_dot), `patch` that of the wheel, which turns on the ground. `foot_1` is the height of
    the first foot; `foot_1_ahead` and `foot_1_aside` are its slip along the ground, with its height as their position.
    """

    radius: float = 0.197
    wheel_speed: WheelSpeed = "conjugate"
    moves: Moves = "full"
    track: float = 0.0
    feet: tuple[tuple[float, float, float], ...] = ()
    type: ClassVar[str] = "rolling"
    z_up: ClassVar[bool] = True
    floor: ClassVar[str] = "axle"
    options: ClassVar[Mapping[str, str]] = {**Mechanism.options, "radius": "m", "track": "m", "feet": "m"}
    frame: ClassVar[str] = (
        "B: origin in the middle of the axle, z left along it, y towards the handles (level at pitch zero), x = y x z"
    )
    origin: ClassVar[str] = "the body frame, the middle of the axle"
    hand: ClassVar[tuple[float, float, float]] = (-0.15, 1.25, 0.0)
    outward: ClassVar[tuple[float, float, float]] = (0.0, 1.0, 0.0)
    constant_projection: ClassVar[bool] = False
    R_world_body: ClassVar[Matrix] = ((0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (-1.0, 0.0, 0.0))

    def __post_init__(self) -> None:
        """Refuse what cannot roll."""
        where = f"mechanism {self.type!r}"
        for kind, known in (("wheel_speed", get_args(WheelSpeed)), ("moves", get_args(Moves))):
            if getattr(self, kind) not in known:
                raise UnknownName(kind, str(getattr(self, kind)), known, where=where)
        if not self.radius > 0:
            raise PalpateError(f"{where}: the wheel's radius must be positive, in m, not {self.radius!r}")
        if self.track < 0 or (self.track > 0 and self.moves != "upright"):
            raise PalpateError(f"{where}: a track (m, positive) is for two wheels, moves: upright")
        object.__setattr__(self, "feet", _points(self.feet, where))

    @property
    def rows(self) -> tuple[Row, ...]:
        """Moments about the contact and the force ahead, of those that may move."""
        return tuple(_ROWS[i] for i in self._kept)

    @property
    def coordinates(self) -> Mapping[str, str]:
        """What elements may act on."""
        names = [WHEEL, BEARING, PITCH, CAMBER]  # a camber that is held can be looked at
        names += [YAW, HEADING] if self.moves != "planar" else []
        names += [PATCH] if self.moves == "full" else []
        names += [name for name in self.moving if name != WHEEL]
        return {**dict.fromkeys(names, "rad"), **dict.fromkeys(self.untold, "m")}

    @property
    def untold(self) -> tuple[str, ...]:
        """The feet: what slips has its height as its position."""
        return tuple(f"foot_{i + 1}{way}" for i in range(len(self.feet)) for way in ("", "_ahead", "_aside"))

    @property
    def state(self) -> tuple[str, ...]:
        """Positions, then speeds."""
        held = _HELD[self.moves]
        positions = tuple(name for name in _POSITIONS if name not in held)
        return (*positions, *(name for name in _SPEEDS if name.removesuffix("_rate") not in held))

    @property
    def accelerations(self) -> tuple[str, ...]:
        """Of the speeds, in their order."""
        speeds = self.state[-len(self._kept) :]
        return tuple(f"{s.removesuffix('_rate').removesuffix('_speed')}_acceleration" for s in speeds)

    @property
    def limits(self) -> Mapping[str, tuple[float, float]]:
        """Positions beyond which nothing moves."""
        return {"camber": (-_STEEPEST, _STEEPEST)} if self.moves == "full" else {}

    @property
    def hidden(self) -> tuple[str, ...]:
        """What of a rigid body no motion of this mechanism shows or needs, in the words of a drawing."""
        return _HIDDEN if self.moves == "planar" else ()

    @property
    def advice(self) -> Mapping[str, str]:
        """x of the frame points down, y to the handles, z left along the axle."""
        return {**_ADVICE, **(_UPRIGHT_ADVICE if self.moves == "upright" else {})}

    def unguided(self) -> Mechanism:
        """People sway, and floors are not even: heading and camber change."""
        return self if self.moves == "full" else replace(self, moves="full", track=0.0)

    def at_rest(self) -> Mechanism | None:
        """With rows that friction of the wheels does not enter."""
        return AtRest(**{f.name: getattr(self, f.name) for f in fields(self)})

    @property
    def wheel(self) -> Wheel:
        """Its wheel or wheels, and its feet."""
        return Wheel(self.radius, self.track, self.feet, self.moves, self.moving)

    def outline(self, hand: Place | None = None) -> Outline:
        """Wheel or wheels, two shafts to the handles, feet, and a tray, or the plate of a hand truck."""
        (down, back, aside), left = hand or self.hand, (0.0, 0.0, 1.0)
        half = self.track / 2 or 0.28
        wheels = [wheel(self.radius, (0.0, 0.0, z), left, 0.06) for z in ((half, -half) if self.track > 0 else (0.0,))]
        ends = [(down, back, aside + z) for z in (0.9 * half, -0.9 * half)]
        long = math.hypot(down, back)
        shafts = [Solid("cylinder", (0.018, long), (down / 2, back / 2, z), (down, back, 0.0)) for _, _, z in ends]
        plate = Solid("box", (0.02, 0.9 * back, 1.8 * half), (down / 2 - 0.02, back / 2, aside))
        tray = Solid("box", (0.24, 0.55 * back, 0.6), (down / 2 - 0.15, 0.4 * back, aside))
        legs = [Solid("cylinder", (0.015, abs(x)), (x / 2, y, z), (1.0, 0.0, 0.0)) for x, y, z in self.feet]
        body = plate if self.track > 0 else tray
        return Outline(
            (*wheels, *shafts, body, *legs, *(grip(end, 0.03) for end in ends)), (down, back, aside), floor=0.0
        )

    @property
    def moving(self) -> tuple[str, ...]:
        """The wheels that each touch the ground."""
        return ("wheel_left", "wheel_right") if self.track > 0 else (WHEEL,)

    @property
    def units(self) -> tuple[str, ...]:
        """x, y and what goes forward are lengths, the others angles."""
        n = len(self._kept)
        per = ["" for _ in self.state[:-n]] + ["/s"] * n + ["/s2"] * n
        names = (*self.state, *self.accelerations)
        return tuple(
            f"{'m' if name in ('x', 'y') or name.startswith('forward') else 'rad'}{time}"
            for name, time in zip(names, per, strict=True)
        )

    @property
    def joints(self) -> tuple[Joint, ...]:
        """Ahead is -y of B, left is z, up is -x; what stays on the ground by contact may rise here (z)."""
        names = {"full": ("x", "y", "z", "yaw", "camber", "pitch"), "upright": ("x", "y", "z", "yaw", "pitch")}
        places = {name: i for i, name in enumerate(self.state)}
        return tuple(Joint(n, *_JOINTS[n], places.get(n)) for n in names.get(self.moves, ("x", "pitch")))

    def forward(self) -> Rolling:
        """The same mechanism as a runtime must see it: friction that takes energy out."""
        return replace(self, wheel_speed="conjugate")

    def observe(self, motion: Motion) -> Kinematics:
        """Motion of B with its poses in a world whose z points up; the height above the ground is the radius.

        What the mechanism holds is taken to be held: what is measured of it is noise, and no evidence.
        """
        if motion.poses is None or motion.velocity is None:
            raise DataProblem(
                "rolling",
                "the motion has no poses or no velocity of the axle",
                remedy="build it from markers: an IMU alone does not see the ground",
            )
        camber, pitch, heading = self._angles(motion.poses, motion.positions)
        k, fn = (
            Kinematics.from_arrays(motion.specific_acceleration, motion.omega, motion.omega_dot),
            remembering(ARRAYS),
        )
        if self.moves != "full":
            k = self._held(k, pitch)
        turn, sin, cos = _turn(camber, pitch, fn), fn.sin(camber), fn.cos(camber)
        w, b = _out_of(turn, k.omega), _out_of(turn, k.omega_dot)
        level = motion.on_slope(np.zeros(2), self.gravity).specific_acceleration  # its speed does not change by gravity
        v, a = (_out_of(turn, _triple(list(x.T))) for x in (motion.velocity, level))
        p1 = w[1] / cos
        h1 = w[2] - p1 * sin
        p2 = (b[1] + p1 * w[0] * sin - h1 * w[0]) / cos
        h2 = b[2] - p2 * sin - p1 * w[0] * cos
        angles = ((camber, w[0], b[0] + h1 * w[1]), (pitch, p1, p2), (heading, h1, h2))
        # a is seen from the world, C turns: v_x changes by its part ahead and what turns into it
        return self._complete(k, angles, (v[0], v[1], a[0] + h1 * v[1]), (w[1], w[2], b[2]), fn)

    def expand(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """The body's motion, and how each part moves along."""
        s, (v1, h2, c2, p2) = self._filled(state), self._changes(acc)
        v, h1, c1, p1 = (s[name] for name in _SPEEDS)
        sin, cos = fn.sin(s["camber"]), fn.cos(s["camber"])
        angles = ((s["camber"], c1, c2), (s["pitch"], p1, p2), (s["yaw"], h1, h2))
        turning = (p1 * cos, h1 + p1 * sin, h2 + p2 * sin + p1 * c1 * cos)
        return self._complete(self.body_motion(state, acc, fn), angles, (v, -self.radius * c1, v1), turning, fn)

    def body_motion(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        """Derivatives in the turning frame C, plus heading rate z x what is differentiated; then turned into B.

        Pitch turns about z_B itself, which moves with the rest: omega = e + p' z_B, and omega' = e' + p'' z_B + p' e x
        z_B, e being camber rate and heading rate.
        """
        s, R, (v1, h2, c2, p2) = self._filled(state), self.radius, self._changes(acc)
        v, h1, c1, p1 = (s[name] for name in _SPEEDS)
        to_body = _turn(s["camber"], s["pitch"], fn)
        e, e1 = into_body(to_body, (c1, 0.0, h1)), into_body(to_body, (c2, h1 * c1, h2))
        omega_dot = (e1[0] + p1 * e[1], e1[1] - p1 * e[0], e1[2] + p2)
        felt = into_body(to_body, (v1 + R * h1 * c1, h1 * v - R * c2, self.gravity))
        return Kinematics(felt, (e[0], e[1], e[2] + p1), omega_dot)

    def _changes(self, acc: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar, Scalar]:
        """How forward speed, yaw, camber and pitch rate change, with zeros for what is held."""
        a = dict(zip(self.accelerations, acc, strict=True))
        h2, c2, p2 = (a.get(f"{name}_acceleration", 0.0) for name in ("yaw", "camber", "pitch"))
        return a["forward_acceleration"], h2, c2, p2

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """W_CB w without f_y and f_z: moments about the contact, R below the axle, and the force ahead."""
        return Rolling.projector(self, k, fn)(wrench)

    def projector(self, k: Kinematics, fn: Functions) -> Callable[[Sequence[Scalar]], Sequence[Scalar]]:
        """The same for many wrenches: sines and cosines once."""
        turn, kept = _turn(k.coordinates[CAMBER].position, k.coordinates[PITCH].position, fn), self._kept

        def project(wrench: Sequence[Scalar]) -> Sequence[Scalar]:
            f, n = _out_of(turn, _triple(wrench[:3])), _out_of(turn, _triple(wrench[3:]))
            rows = (n[0] - self.radius * f[1], n[1] + self.radius * f[0], n[2], f[0])
            return tuple(rows[i] for i in kept)

        return project

    def loads(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Mapping[str, Load]:
        """Upwards: the ground bears what the hands do not lift; each of two wheels half of it."""
        up = _turn(k.coordinates[CAMBER].position, k.coordinates[PITCH].position, fn)[2]
        shares = {WHEEL: 1.0, BEARING: 1.0, PATCH: 1.0, "wheel_left": 0.5, "wheel_right": 0.5}
        parts = {n: _triple([x * part for part in up]) for n, x in shares.items() if n in self.coordinates}
        return {n: Load((dot(part, wrench[:3]),), (part,), wrench[5]) for n, part in parts.items()}

    def place(self, state: Sequence[Scalar], fn: Functions) -> tuple[Matrix, Triple]:
        """Rows of R_world_B and the place of B (m): R above the contact."""
        s = self._filled(state)
        ahead, left, up = _turn(s["camber"], s["pitch"], fn)
        c, d = fn.cos(s["yaw"]), fn.sin(s["yaw"])
        x, y = (tuple(a * p + b * q for p, q in zip(ahead, left, strict=True)) for a, b in ((c, -d), (d, c)))
        return (_triple(x), _triple(y), up), (s["x"], s["y"], self.radius)

    def rates(self, state: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """How fast the positions change: the contact moves with the axle's middle."""
        s = self._filled(state)
        v, h1, c1, p1 = (s[name] for name in _SPEEDS)
        sin, cos = fn.sin(s["yaw"]), fn.cos(s["yaw"])
        side = -self.radius * c1
        rates = {"x": v * cos - side * sin, "y": v * sin + side * cos, "yaw": h1, "camber": c1, "pitch": p1}
        return tuple(rates[name] for name in self.state[: -len(self._kept)])

    def row_speeds(self, state: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """The speeds that the free rows work on: omega in axes of C and v_x - R omega_y."""
        s = self._filled(state)
        v, h1, c1, p1 = (s[name] for name in _SPEEDS)
        ahead = p1 * fn.cos(s["camber"])
        speeds = (c1, ahead, h1 + p1 * fn.sin(s["camber"]), v - self.radius * ahead)
        return tuple(speeds[i] for i in self._kept)

    def velocity(self, state: Sequence[Scalar], fn: Functions) -> Triple:
        """Ahead with the forward speed, aside as the sphere rolls over its camber."""
        s = self._filled(state)
        ahead = (s["forward_speed"], -self.radius * s["camber_rate"], 0.0)
        return into_body(_turn(s["camber"], s["pitch"], fn), ahead)

    def coordinates_of(self, poses: Poses) -> FloatArray:
        """Of B in a world whose z points up: the contact is straight below it."""
        camber, pitch, heading = self._angles(poses)
        x, y = np.where(poses.seen[:, None], poses.position[:, :2], np.nan).T
        positions = {"x": x, "y": y, "yaw": heading, "camber": camber, "pitch": pitch}
        return np.stack([positions[name] for name in self.state[: -len(self._kept)]], axis=1)

    def speeds_of(self, q: FloatArray, q_dot: FloatArray) -> FloatArray:
        """The forward speed is that of the contact along the heading."""
        if "y" not in self.state:
            return q_dot
        ahead = q_dot[..., 0] * np.cos(q[..., 2]) + q_dot[..., 1] * np.sin(q[..., 2])
        return _before(ahead, q_dot[..., 2:])

    def accelerations_of(self, q: FloatArray, q_dot: FloatArray, q_ddot: FloatArray) -> FloatArray:
        """How the forward speed changes: along the heading, which turns."""
        if "y" not in self.state:
            return q_ddot
        cos, sin, turn = np.cos(q[..., 2]), np.sin(q[..., 2]), q_dot[..., 2]
        ahead = (q_ddot[..., 0] + turn * q_dot[..., 1]) * cos + (q_ddot[..., 1] - turn * q_dot[..., 0]) * sin
        return _before(ahead, q_ddot[..., 2:])

    def states(self, motion: Motion) -> FloatArray:
        """The measured states (samples, len(state)) of a motion that `observe` takes: where a replay begins."""
        c = self.observe(motion).coordinates
        poses, velocity = motion.poses, motion.velocity
        assert poses is not None  # observe has refused it otherwise
        assert velocity is not None
        ahead = -np.sin(c[PITCH].position) * velocity[:, 0] - np.cos(c[PITCH].position) * velocity[:, 1]
        states = {"x": poses.position[:, 0], "y": poses.position[:, 1], "forward_speed": ahead}
        for name, coordinate in (("yaw", HEADING), ("camber", CAMBER), ("pitch", PITCH)):
            if coordinate in c:
                states |= {name: c[coordinate].position, f"{name}_rate": c[coordinate].speed}
        return np.stack([states[name] for name in self.state], axis=1)

    def _angles(self, poses: Poses, positions: FloatArray | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Camber, pitch and heading; a camber that is held is zero.

        positions: from which the poses were made, by this mechanism or by one that moves in more ways.
        """
        R = poses.rotation
        sine = R[:, 2, 2]
        steep = np.flatnonzero(np.abs(sine) > math.sin(_STEEPEST))
        if len(steep):
            angle = math.degrees(math.asin(min(abs(float(sine[steep[0]])), 1.0)))
            raise DataProblem(
                "rolling",
                f"sample {steep[0]}: the axle is tilted by {angle:.0f} deg",
                remedy="z of the body frame must be along the axle, and z of the world up",
            )
        if positions is not None and positions.shape[1] == len(self.position_units):
            known = dict(zip(self.state, positions.T, strict=False))
            held = 0.0 * known["pitch"]
            return known.get("camber", held), known["pitch"], known.get("yaw", held)
        camber = np.arctan2(sine, np.hypot(R[:, 0, 2], R[:, 1, 2]))
        if self.moves != "full":
            camber = np.where(np.isfinite(camber), 0.0, np.nan)
        pitch = unwrapped(np.arctan2(R[:, 2, 1], -R[:, 2, 0]))
        heading = unwrapped(np.arctan2(-R[:, 0, 2], R[:, 1, 2]))
        return camber, pitch, heading

    def _held(self, k: Kinematics, pitch: FloatArray) -> Kinematics:
        """Measured, but without camber, in a plane without yaw: omega in C is (0, p', h'), omega_dot_x -h' p'."""
        turn = _turn(0.0, pitch, ARRAYS)
        _, p1, h1 = _out_of(turn, k.omega)
        _, p2, h2 = _out_of(turn, k.omega_dot)
        if self.moves == "planar":
            h1, h2 = 0.0 * h1, 0.0 * h2
        return replace(k, omega=into_body(turn, (0.0, p1, h1)), omega_dot=into_body(turn, (-h1 * p1, p2, h2)))

    @property
    def _kept(self) -> tuple[int, ...]:
        return _KEPT[self.moves]

    def _filled(self, state: Sequence[Scalar]) -> dict[str, Scalar]:
        """The state by name, with zeros for what is held."""
        return dict.fromkeys((*_POSITIONS, *_SPEEDS), 0.0) | dict(zip(self.state, state, strict=True))

    def _complete(
        self, k: Kinematics, angles: tuple[Triple, Triple, Triple], ahead: Triple, turning: Triple, fn: Functions
    ) -> Kinematics:
        """Add the coordinates to a motion of B.

        Camber, pitch and heading, each with its rate and how that changes; of C v_x, v_y and how v_x changes, and
        omega_y, omega_z and how that changes.
        """
        (camber, c1, c2), (pitch, p1, p2), (heading, h1, h2) = angles
        turn, v, v1, w, b2 = _turn(camber, pitch, fn), ahead[:2], ahead[2], (c1, *turning[:2]), turning[2]
        R, sin, cos = self.radius, fn.sin(camber), fn.cos(camber)
        tan = sin / cos
        spin = v[0] / (R * cos)
        spin_1 = (v1 / R + spin * w[0] * sin) / cos
        wheel, wheel_1 = spin + h1 * sin, spin_1 + h2 * sin + h1 * w[0] * cos
        along = wheel - (w[1] * cos + w[2] * sin)
        along_1 = wheel_1 - k.omega_dot[2]
        patch_1 = h2 + spin_1 * sin + spin * w[0] * cos
        published = self.wheel_speed == "published"
        full: dict[str, Coordinate] = {
            WHEEL: Coordinate(
                0.0, v[0] / R if published else wheel, v1 / R if published else wheel_1, (0.0, cos, sin, 1 / (R * cos))
            ),
            BEARING: Coordinate(0.0, along, along_1, (0.0, 0.0, 0.0, 1 / (R * cos))),
            PITCH: Coordinate(pitch, p1, p2, (0.0, 1 / cos, 0.0, 0.0)),
            CAMBER: Coordinate(camber, c1, c2, (1.0, 0.0, 0.0, 0.0)),
            YAW: Coordinate(0.0, w[2], b2, (0.0, 0.0, 1.0, 0.0)),
            HEADING: Coordinate(heading, h1, h2, (0.0, -tan, 1.0, 0.0)),
            PATCH: Coordinate(0.0, h1 + spin * sin, patch_1, (0.0, 0.0, 1.0, tan / R)),
        }
        for side, name in ((1.0, "wheel_left"), (-1.0, "wheel_right")):
            d = 0.5 * side * self.track / R
            full[name] = Coordinate(0.0, wheel - d * w[2], wheel_1 - d * b2, (0.0, cos, sin - d, 1 / (R * cos)))
        for i, foot in enumerate(self.feet):
            name, r = f"foot_{i + 1}", _out_of(turn, foot)  # its height, and how it slips along the ground
            h = R + r[2]
            full |= {
                name: Coordinate(h, w[0] * r[1] - w[1] * r[0], 0.0, (r[1], -r[0], 0.0, 0.0)),
                f"{name}_ahead": Coordinate(h, v[0] + w[1] * r[2] - w[2] * r[1], 0.0, (0.0, h, -r[1], 1.0)),
                f"{name}_aside": Coordinate(h, v[1] + w[2] * r[0] - w[0] * r[2], 0.0, (-h, 0.0, r[0], 0.0)),
            }
        kept = {n: replace(full[n], ratio=tuple(full[n].ratio[i] for i in self._kept)) for n in self.coordinates}
        return replace(k, coordinates=kept)


@dataclass(frozen=True, slots=True)
class AtRest(Rolling):
    """`Rolling` with its rows combined so that a couple along the axle on the wheel drops out.

    The couple tau enters n_y with cos c, n_z with sin c and f_x with 1 / (R cos c), c the camber. So n_y less
    R cos^2 c f_x (about the moment about the axle) and n_z - tan c n_y are free of it, n_x is anyway, and of f_x
    nothing is left. At rest tau is whatever friction allows: these rows hold all the same. Of two wheels each has its
    couple and a lever arm about the vertical: nothing is left of n_z either. Its kinematics are `turned`.
    """

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        """The rows of the moving object, combined."""
        return self.projector(k, fn)(wrench)

    def projector(self, k: Kinematics, fn: Functions) -> Callable[[Sequence[Scalar]], Sequence[Scalar]]:
        """The same for many wrenches."""
        project, combined = Rolling.projector(self, k, fn), self._combiner(k)
        return lambda wrench: combined(project(wrench))

    def turned(self, k: Kinematics) -> Kinematics:
        """Kinematics of the moving object with ratios of the combined rows."""
        combined = self._combiner(k)
        turned = {name: replace(c, ratio=tuple(combined(c.ratio))) for name, c in k.coordinates.items()}
        return replace(k, coordinates=turned)

    def _combiner(self, k: Kinematics) -> Callable[[Sequence[Scalar]], Sequence[Scalar]]:
        """No row may be missing here but n_x and n_z: what holds the camber holds it at zero."""
        names, camber = [row.name for row in self.rows], k.coordinates[CAMBER].position
        cos, sin = ARRAYS.cos(camber), ARRAYS.sin(camber)
        lever, tan = self.radius * cos * cos, sin / cos

        def combined(rows: Sequence[Scalar]) -> Sequence[Scalar]:
            full: dict[str, Scalar] = dict.fromkeys((row.name for row in _ROWS), 0.0)
            full |= zip(names, rows, strict=True)
            free = {
                "n_x": full["n_x"],
                "n_y": full["n_y"] - lever * full["f_x"],
                "n_z": 0.0 * full["n_z"] if self.track > 0 else full["n_z"] - tan * full["n_y"],
                "f_x": 0.0 * full["f_x"],
            }
            return [free[name] for name in names]

        return combined


def _before(first: FloatArray, others: FloatArray) -> FloatArray:
    """One more component (...,) before others (..., n), each in one piece."""
    joined = np.empty((1 + others.shape[-1], *first.shape))
    for i, part in enumerate((first, *_components(others))):
        joined[i] = part
    return np.moveaxis(joined, 0, -1)


def _components(x: FloatArray) -> list[FloatArray]:
    return [x[..., i] for i in range(x.shape[-1])]


def _turn(camber: Scalar, pitch: Scalar, fn: Functions) -> Matrix:
    """R_CB as rows: x_B = (-sin p, cos p sin c, -cos p cos c), y_B = (-cos p, -sin p sin c, sin p cos c)."""
    sc, cc, sp, cp = fn.sin(camber), fn.cos(camber), fn.sin(pitch), fn.cos(pitch)
    return ((-sp, -cp, 0.0), (cp * sc, -sp * sc, cc), (-cp * cc, sp * cc, sc))


def _out_of(turn: Matrix, v: Triple) -> Triple:
    """A vector of B in axes of C."""
    return (dot(turn[0], v), dot(turn[1], v), dot(turn[2], v))


def _triple(v: Sequence[Scalar]) -> Triple:
    return (v[0], v[1], v[2])


def _points(given: Sequence[Any], where: str) -> tuple[tuple[float, float, float], ...]:
    """The option as tuples of three floats; JSON and YAML give lists."""
    try:
        points = tuple((float(x), float(y), float(z)) for x, y, z in given)
    except (TypeError, ValueError):
        points = ((math.nan, math.nan, math.nan),)
    if not all(math.isfinite(x) for point in points for x in point):
        raise PalpateError(f"{where}: feet must be points of three numbers in m, not {given!r}")
    return points
