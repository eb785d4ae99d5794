"""A simulated object that rolls: the wrench that hands must pass to it, what the instruments store, and the files.

Newton and Euler at the contact point; nothing here uses palpate's own mechanisms, elements or regressor for the body.
In axes of the contact frame C, about its origin:

    rate of momentum = hands + ground,   ground = [f_x, f_y, F_N; -tau_r z_B - b_psi omega_z z_C]

The ground turns the wheel back with tau_r = b_v spin + b_c sgn(spin) about the axle and scrubs against the body's yaw.
The wheel alone, about its axle: I_w spin_dot = -tau_r - R cos(camber) f_x, which gives f_x. f_y and F_N are what
rolling without slip needs; the hands' three moments and forward force are determined, their sideways force is a habit,
and their upward force follows from the moments. Two wheels on one axle hold the camber, a guide holds the heading too:
what the hands do against that is a habit, and the ground takes the rest. Each of two wheels rolls at its own speed,
(v_x -+ track / 2 omega_z) / R, and the ground's force on it has a lever arm about the vertical.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import mass_properties, move_phi
from palpate.physics.motion import Motion, exp_rotation, transport_acceleration
from palpate.physics.units import STANDARD_GRAVITY
from palpate.recording import Recording
from palpate.twin import instruments as tools
from palpate.twin.handle import Series, off_by, product, sines, write_handle_twin
from palpate.twin.instruments import CAPTURE_HZ, DeviceClock, Instruments, handle_wrench, smooth_noise

Kind = Literal["push", "roll", "scrub", "lift", "mixed"]
KINDS: tuple[Kind, ...] = ("push", "roll", "scrub", "lift")
Ramp = tuple[float, float]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)


@dataclass(frozen=True, slots=True, eq=False)
class Manner:
    """How far and how fast an object is moved: amplitudes of slow sines and rms accelerations of fast ones.

    Four numbers each, for distance (m), yaw, camber and pitch (rad); what is zero is held.
    """

    meant: tuple[FloatArray, FloatArray]
    sway: tuple[FloatArray, FloatArray]
    """What the other coordinates do meanwhile: nobody holds an object quite still."""
    clear: tuple[float, float]
    """Between these angles (rad) the pitch keeps away from that of standing feet."""
    lifted_by: float = 1.0
    """1: the handles go up to take the feet off the ground; -1: down."""
    lifting_s: float = 0.8
    """How long it takes to lift the feet before a segment, and to put them down after it."""

    def straight(self, sway: float = 0.0) -> Manner:
        """The same motion ahead and in pitch alone; the sway of yaw and camber is multiplied by a factor."""
        meant, less = np.array([1.0, 0.0, 0.0, 1.0]), np.array([1.0, sway, sway, 1.0])
        slow, fast = self.meant
        return replace(self, meant=(slow * meant, fast * meant), sway=(self.sway[0] * less, self.sway[1] * less))

    def held(self, sway: float) -> Manner:
        """The same motion by somebody who keeps all else still: every sway is multiplied by a factor."""
        return replace(self, sway=(self.sway[0] * sway, self.sway[1] * sway))


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch with the feet in the air, s on the markers' clock, and what is done in it, one after the other."""

    name: str
    begin_s: float
    end_s: float
    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A sum of sines under an envelope that rises from `rise` and falls from `fall`, begin and length in s."""

    rise: Ramp
    fall: Ramp
    base: FloatArray
    """(4,) m and rad."""
    amplitude: FloatArray
    """(4, sines) m and rad."""
    frequency: FloatArray
    """(4, sines) rad/s."""
    phase: FloatArray

    def series(self, t: FloatArray) -> Series:
        """The four coordinates without the envelope."""
        moved = sines(t, self.amplitude, self.frequency, self.phase)
        return moved._replace(value=moved.value + self.base[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class Wheeling:
    """How an object is wheeled about; between the segments it stands on its feet and nothing moves."""

    blocks: tuple[Block, ...]
    segments: tuple[Segment, ...]
    standing: float
    """Pitch at which both feet stand, rad."""
    radius: float
    place: tuple[float, float]
    """Of the contact point in the world at the beginning, m."""
    heading: float
    """Of x_C in the world at the beginning, rad."""
    lifting_s: float

    def path(self, t: FloatArray) -> Series:
        """Distance ahead (m), yaw, camber, pitch about the axle (rad): closed formulas, exact to the last digit."""
        course = np.zeros((3, 4, len(t)))
        course[0, 1], course[0, 3] = self.heading, self.standing
        for block in self.blocks:
            inside = np.flatnonzero((t >= block.rise[0]) & (t <= sum(block.fall)))
            ramps = (_step(t[inside], *ramp) for ramp in (block.rise, block.fall))
            envelope = Series(*(up - down for up, down in zip(*ramps, strict=True)))
            course[:, :, inside] += product(envelope, block.series(t[inside]))
        return Series(*course)

    @property
    def lifted(self) -> list[tuple[float, float]]:
        """From, to (s): when the feet are off the ground."""
        return [(s.begin_s - self.lifting_s, s.end_s + self.lifting_s) for s in self.segments]

    def contact(self, t: FloatArray) -> FloatArray:
        """(samples, 2) m: where the wheel touches the ground, at increasing times.

        The rolling constraint integrated from sample to sample with five Gauss points: steps of 10 ms are exact to
        rounding.
        """
        start = np.linspace(min(0.0, float(t[0])), max(0.0, float(t[0])), 400)
        lead = self._travelled(start if t[0] >= 0 else start[::-1]).sum(axis=0)
        travelled = np.vstack([np.zeros((1, 2)), self._travelled(t)])
        return np.array(self.place) + lead + np.cumsum(travelled, axis=0)

    def _travelled(self, t: FloatArray) -> FloatArray:
        """(samples - 1, 2) m, from each time to the next."""
        half, middle = np.diff(t) / 2, (t[1:] + t[:-1]) / 2
        at = (middle[:, None] + half[:, None] * _NODES).ravel()
        velocity = self.velocity(self.path(at)).reshape(len(half), len(_NODES), 2)
        return half[:, None] * np.einsum("k,nkj->nj", _WEIGHTS, velocity)

    def velocity(self, path: Series) -> FloatArray:
        """(samples, 2) m/s of the contact in the world: v_x along x_C, -R camber_rate along y_C."""
        cos, sin = np.cos(path.value[1]), np.sin(path.value[1])
        ahead, left = path.rate[0], -self.radius * path.rate[2]
        return np.stack([ahead * cos - left * sin, ahead * sin + left * cos], axis=1)


def _step(t: FloatArray, begin: float, length: float) -> Series:
    """0 to 1 with three derivatives zero at both ends, 35 u^4 - 84 u^5 + 70 u^6 - 20 u^7, and two derivatives."""
    u = np.clip((t - begin) / length, 0.0, 1.0)
    value = u**4 * (35 + u * (-84 + u * (70 - 20 * u)))
    slope = 140 * (u * (1 - u)) ** 3
    bend = 420 * (u * (1 - u)) ** 2 * (1 - 2 * u)
    return Series(value, slope / length, bend / length**2)


Moves = Literal["full", "upright", "planar"]
_AT_REST = 1e-9
"""The wheel rests below this speed, rad/s."""
_AGAINST_M = 0.3
"""Moment of the hands against what cannot turn, N m per N of trembling."""


@dataclass(frozen=True, slots=True, eq=False)
class Kinematics:
    """Motion of frame B in axes of the contact frame C, each (samples, 3)."""

    R_contact_body: FloatArray
    """(samples, 3, 3)."""
    acceleration: FloatArray
    """Of the axle's middle without gravity, m/s2."""
    omega: FloatArray
    omega_dot: FloatArray
    spin: FloatArray
    """(samples,) of the wheel about its axle, relative to the world, rad/s."""
    spin_dot: FloatArray
    camber: FloatArray


def kinematics(path: Series, radius: float) -> Kinematics:
    """Derivatives by hand in axes of C, which turns with the yaw rate about the vertical.

    R_CB = R_x(camber) R_y(pitch) [-z, -x, y]: at zero angles x_B points down, y_B back, z_B left.
    """
    _, _, camber, pitch = path.value
    v, yaw1, camber1, pitch1 = path.rate
    v1, yaw2, camber2, pitch2 = path.acceleration
    cg, sg, cb, sb, zero = np.cos(camber), np.sin(camber), np.cos(pitch), np.sin(pitch), np.zeros_like(v)
    x_B, y_B = np.array([-sb, sg * cb, -cg * cb]), np.array([-cb, -sg * sb, cg * sb])
    z_B = np.array([zero, cg, sg])
    omega = np.array([camber1, pitch1 * cg, yaw1 + pitch1 * sg])
    # change of the components, then that of the axes: yaw rate about z crossed with the vector
    change = np.array([camber2, pitch2 * cg - pitch1 * camber1 * sg, yaw2 + pitch2 * sg + pitch1 * camber1 * cg])
    omega_dot = change + yaw1 * np.array([-omega[1], omega[0], zero])
    left, left1 = -radius * camber1, -radius * camber2
    return Kinematics(
        R_contact_body=np.stack([x_B, y_B, z_B], axis=1).transpose(2, 0, 1),
        acceleration=np.stack([v1 - yaw1 * left, left1 + yaw1 * v, zero], axis=1),
        omega=omega.T,
        omega_dot=omega_dot.T,
        spin=v / (radius * cg) + yaw1 * sg,
        spin_dot=v1 / (radius * cg) + v * camber1 * sg / (radius * cg * cg) + yaw2 * sg + yaw1 * camber1 * cg,
        camber=camber,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Barrow:
    """A true object without its handles. Frame B: middle of the axle, z left along it, y back, x down."""

    phi: FloatArray
    """(10,) in B, the wheel included (without its spin inertia where `wheel_inertia` states it)."""
    radius: float
    b_v: float
    """N m s/rad."""
    b_c: float
    """N m."""
    b_psi: float
    """N m s/rad."""
    feet: FloatArray
    """(2, 3) m in B, right and left: where they touch the ground."""
    wheel_inertia: float = 0.0
    """kg m2 about the axle."""
    moves: Moves = "full"
    guided: bool = True
    """Where it moves in a plane: a guide holds it; otherwise a person keeps it straight as well as possible."""
    track: float = 0.0
    """Distance between two wheels, m; 0 for a single wheel."""
    b_sides: tuple[float, float] = (0.0, 0.0)
    """Dry friction of the left and the right wheel, N m, instead of b_c."""

    @property
    def standing(self) -> float:
        """Pitch at which both feet are on the ground, rad: x cos(pitch) - y sin(pitch) = R.

        Feet ahead of the axle (x < 0) are on the ground with the handles up, those behind it with the handles down.
        """
        x, y = self.feet[:, :2].mean(axis=0)
        return float(np.copysign(np.arccos(self.radius / np.hypot(x, y)), x) - np.arctan2(y, x))

    @property
    def wheels(self) -> tuple[tuple[float, float], ...]:
        """For each wheel, its distance left of the middle in radii and its dry friction, N m."""
        if self.track == 0:
            return ((0.0, self.b_c),)
        d = 0.5 * self.track / self.radius
        return ((d, self.b_sides[0]), (-d, self.b_sides[1]))

    @property
    def held(self) -> tuple[int, ...]:
        """Components of the wrench at the contact that the ground or a guide gives besides f_y and F_N."""
        return {"full": (), "upright": (3,), "planar": (3, 5) if self.guided else ()}[self.moves]

    @property
    def friction(self) -> dict[str, float]:
        """By the names of the object file; viscous in N m s/rad, dry in N m."""
        left, right = self.b_sides
        rolling = {"b_v": self.b_v} | ({"b_left": left, "b_right": right} if self.track else {"b_c": self.b_c})
        return rolling if self.moves == "planar" else rolling | {"b_psi": self.b_psi}


class Push(NamedTuple):
    """What the hands do at given times."""

    sides: FloatArray
    """(sensors, samples, 6) of each in axes of B, about its sensor's origin: what reaches the body through it."""
    holding: FloatArray
    """(samples,) 1 where the hands do everything, less where the feet help, 0 where nobody holds on."""


@dataclass(frozen=True, slots=True, eq=False)
class Build:
    """How objects that roll differ: sensors, markers (counted from 1) and how people move them (builds.yaml)."""

    object: str
    subject: str
    prefix: str
    """Subject and the letters before the numbers in the markers' names."""
    drawn: FloatArray
    """(markers, 3) rough places, m in B; those on sensor modules, feet and the axle of two wheels are worked out."""
    axle: tuple[int, int]
    """Right end and left."""
    across: tuple[tuple[int, int], ...]
    feet: tuple[int, int]
    """Right and left."""
    sensors: tuple[tuple[int, int, int], ...]
    """p1, p2, p3 of each sensor module."""
    axes: tuple[ArrayLike, ...]
    """R_body_sensor of each sensor as drawn."""
    places: tuple[tuple[float, float, float], ...]
    """Place of each sensor as drawn, m in B."""
    manner: Manner
    kinds: tuple[Kind, ...]

    def names(self, numbers: Sequence[int] | None = None) -> list[str]:
        """Names of these markers, or of all."""
        return [f"{self.prefix}{i}" for i in (numbers or range(1, len(self.drawn) + 1))]


@dataclass(frozen=True, slots=True, eq=False)
class RollingTwin:
    """All that determines a simulated experiment with an object that rolls."""

    barrow: Barrow
    """The pre-sensor part."""
    handle: FloatArray
    """(10,) phi of each of the equal handles in its sensor's frame."""
    R_body_sensor: FloatArray
    r_body_sensor: FloatArray
    r_body_grip: FloatArray
    """(sensors, 3) points that the hands hold, m in B; the first axis is right and left, or the middle alone."""
    sideways: float
    """Share of the turning moment that comes from pushing sideways; such habits of the hands move nothing."""
    squeeze: float
    """N, towards each other."""
    tremble: float
    """N; moments tremble by a twentieth of it in N m."""
    wheeling: Wheeling
    places: FloatArray
    """(markers, 3) m, in B."""
    duration_s: float
    R_capture_world: FloatArray
    imu: DeviceClock
    load_cell: DeviceClock
    """Of every load cell."""
    seed: int
    build: Build
    floor_m: float = 0.0
    """Height of the floor in the capture frame, at its origin."""
    gravity: float = STANDARD_GRAVITY
    noise_m: float = 3e-4
    hidden: tuple[float, float] = (0.03, 0.10)
    """Shares of samples in which a marker is hidden: anywhere else, and on a sensor module."""
    instruments: Instruments = field(default_factory=Instruments)


def momentum_rate(barrow: Barrow, k: Kinematics, gravity: float) -> FloatArray:
    """(samples, 6) N and N m at C, weight included: m (a_c + g), and that at the centre of mass plus dH/dt.

    H = I omega about the centre of mass; the wheel's own spin adds I_w (spin_dot z_B + spin omega x z_B).
    """
    mass, com, inertia = mass_properties(barrow.phi)
    R = k.R_contact_body
    arm = R @ com
    centre = k.acceleration + np.cross(k.omega_dot, arm) + np.cross(k.omega, np.cross(k.omega, arm))
    force = mass * (centre + np.array([0.0, 0.0, gravity]))
    I = R @ inertia @ R.transpose(0, 2, 1)
    turning = np.einsum("nij,nj->ni", I, k.omega_dot)
    turning += np.cross(k.omega, np.einsum("nij,nj->ni", I, k.omega))
    axle = R[:, :, 2]
    turning += barrow.wheel_inertia * (k.spin_dot[:, None] * axle + k.spin[:, None] * np.cross(k.omega, axle))
    moment = np.cross(arm + np.array([0.0, 0.0, barrow.radius]), force) + turning
    return np.hstack([force, moment])


def pushes(twin: RollingTwin, t: FloatArray) -> Push:
    """What the hands pass to the body at true times t (s), so that it moves as it does."""
    barrow = twin.barrow
    k = kinematics(twin.wheeling.path(t), barrow.radius)
    wanted = momentum_rate(barrow, k, twin.gravity)
    resistance, turning = _resistance(twin, k, t)
    ground = np.zeros_like(wanted)
    ground[:, 0] = -(resistance + barrow.wheel_inertia * k.spin_dot) / (barrow.radius * np.cos(k.camber))
    ground[:, 3:] = -resistance[:, None] * k.R_contact_body[:, :, 2]
    ground[:, 5] += turning - barrow.b_psi * k.omega[:, 2]
    total = wanted - ground
    against = np.random.default_rng([twin.seed, 3])
    for i in barrow.held:
        total[:, i] = _AGAINST_M * twin.tremble * smooth_noise(against, t, 0.1, 3.0, 8)
    at_grips = _shared(twin, k, total, t)
    at_sensors = np.empty_like(at_grips)
    for i, wrench in enumerate(at_grips):
        force, moment = (np.einsum("nji,nj->ni", k.R_contact_body, part) for part in (wrench[:, :3], wrench[:, 3:]))
        arm = twin.r_body_grip[i] - twin.r_body_sensor[i]
        at_sensors[i] = np.hstack([force, moment + np.cross(arm, force)])
    return Push(at_sensors, _holding(twin.wheeling, t))


def _resistance(twin: RollingTwin, k: Kinematics, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """N m about the axle, and about the vertical from wheels beside the middle; at rest dry friction takes what it is
    given, somewhere within its level.
    """
    slack = 0.9 * np.tanh(smooth_noise(np.random.default_rng([twin.seed, 1]), t, 0.02, 0.3, 6))
    total, turning = twin.barrow.b_v * k.spin, np.zeros_like(t)
    for left, level in twin.barrow.wheels:
        speed = k.spin - left * k.omega[:, 2]
        dry = level * np.where(np.abs(speed) > _AT_REST, np.sign(speed), slack)
        # the wheel needs f_x = -dry / R of the ground, that far left: n_z = -left R f_x
        total, turning = total + dry, turning + left * dry
    return total, turning


def _shared(twin: RollingTwin, k: Kinematics, total: FloatArray, t: FloatArray) -> FloatArray:
    """(sensors, samples, 6) wrenches of the hands at the grips, in axes of C.

    Sideways forces, squeeze and grip moments are twin. Four equations are left, forward force and the three moments.
    Of two grips the forward and upward forces are the four unknowns; of one, which both hands hold, forward and upward
    force and the moments about ahead and up.
    """
    rng = np.random.default_rng([twin.seed, 2])
    points = np.stack([k.R_contact_body @ r for r in twin.r_body_grip]) + np.array([0.0, 0.0, twin.barrow.radius])
    n, grips = len(t), len(points)
    hands = np.zeros((grips, n, 6))
    noise = np.array([smooth_noise(rng, t, 0.1, 3.0, 8) for _ in range(8)])
    hands[:, :, 3:] = 0.05 * twin.tremble * noise[: 3 * grips].reshape(grips, 3, n).transpose(0, 2, 1)
    lateral = twin.sideways * total[:, 5] / points[:, :, 0].mean(axis=0) + twin.tremble * noise[6]
    hands[:, :, 1] = lateral / grips
    if grips == 2:
        squeeze = twin.squeeze * (1 + 0.4 * noise[7])
        hands[0, :, 1] += squeeze
        hands[1, :, 1] -= squeeze
    unknown = ((0, 0), (1, 0), (0, 2), (1, 2)) if grips == 2 else ((0, 0), (0, 2), (0, 3), (0, 5))
    for grip, component in unknown:
        hands[grip, :, component] = 0.0
    given = hands[:, :, 3:] + np.cross(points, hands[:, :, :3])
    rest = total[:, [0, 3, 4, 5]].copy()
    rest[:, 1:] -= given.sum(axis=0)
    A = np.zeros((n, 4, 4))
    for column, (grip, component) in enumerate(unknown):
        unit = np.eye(6)[component]
        A[:, 0, column] = unit[0]
        A[:, 1:, column] = unit[3:] + np.cross(points[grip], unit[:3])
    for (grip, component), force in zip(unknown, np.linalg.solve(A, rest[:, :, None])[:, :, 0].T, strict=True):
        hands[grip, :, component] = force
    return hands


def _holding(wheeling: Wheeling, t: FloatArray) -> FloatArray:
    """1 while the feet are in the air; the hands come 0.6 s before and go 0.6 s after, or hold on for a short rest."""
    away_s, come_s = 0.2, 0.6
    share = np.zeros_like(t)
    for begin, end in wheeling.lifted:
        up, down = (t - begin + away_s + come_s) / come_s, (end + away_s + come_s - t) / come_s
        u = np.clip(np.minimum(up, down), 0.0, 1.0)
        share = np.maximum(share, u * u * (3 - 2 * u))
    return share


def sensor_motion(twin: RollingTwin, times_s: FloatArray, side: int) -> Motion:
    """Motion of the right (or only: 0) or left (1) sensor frame, expressed in it."""
    k = kinematics(twin.wheeling.path(times_s), twin.barrow.radius)
    up = np.array([0.0, 0.0, twin.gravity])
    to_body = k.R_contact_body.transpose(0, 2, 1)
    a, w, b = (np.einsum("nij,nj->ni", to_body, v) for v in (k.acceleration + up, k.omega, k.omega_dot))
    R = twin.R_body_sensor[side]
    a = transport_acceleration(a, w, b, twin.r_body_sensor[side])
    return Motion(times_s, a @ R, w @ R, b @ R)


def body_poses(twin: RollingTwin, times_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """R_world_body (samples, 3, 3) and the axle's middle (samples, 3) m; the floor is z = 0 of the world."""
    path = twin.wheeling.path(times_s)
    k = kinematics(path, twin.barrow.radius)
    heading = np.zeros((len(times_s), 3))
    heading[:, 2] = path.value[1]
    height = np.full((len(times_s), 1), twin.barrow.radius)
    return exp_rotation(heading) @ k.R_contact_body, np.hstack([twin.wheeling.contact(times_s), height])


def markers_in_capture(twin: RollingTwin, times_s: FloatArray) -> FloatArray:
    """(frames, markers, 3) m, as an ideal camera sees them."""
    R, r = body_poses(twin, times_s)
    world = twin.places @ R.transpose(0, 2, 1) + r[:, None]
    return world @ twin.R_capture_world.T + [0.0, 0.0, twin.floor_m]


def rolling_recordings(twin: RollingTwin) -> tuple[Recording, Recording, Recording, dict[str, Any]]:
    """Markers, load cells, IMU: as stored; and truth.json."""
    rng = np.random.default_rng([twin.seed, 35])
    slow = [np.random.default_rng([twin.seed, 36, i]) for i in range(len(twin.R_body_sensor))]
    cells, imu, zeros, _ = tools.record(
        *(rng, slow, twin.instruments, (twin.imu, twin.load_cell), twin.duration_s),
        lambda t: sensor_motion(twin, t, 0),
        lambda t: _wrenches(twin, t),
    )
    return _markers(rng, twin), cells, imu, _truth(twin, zeros)


def write_rolling_twin(
    folder: Path, twin: RollingTwin, *, spread: float | None = None, handle: bool = True, markers_file: str = ""
) -> Path:
    """Recordings, handle/ with the handle's own experiment if that is wanted, body.yaml, truth.json; returns body.yaml.

    spread: by which fraction a drawing is off, as it declares; None: there is no drawing.
    """
    markers, cells, imu, truth = rolling_recordings(twin)
    name = markers_file or f"{twin.build.subject} Trajectories.csv"
    if handle:
        write_handle_twin(folder / "handle", seed=twin.seed)
    files, fill = {name: markers, "wrench.mat": cells, "imu.csv": imu}, _experiment(twin, spread, name)
    return tools.write_twin(folder, files, truth, "body.yaml", "rolling", fill, g=twin.gravity)


def _wrenches(twin: RollingTwin, true_s: FloatArray) -> list[FloatArray]:
    """What reaches the body through each sensor, (samples, 6) in its axes: of the person, less what moves the handle.

    Where nobody holds on that is -A phi alone, and the feet carry the rest.
    """
    hands = pushes(twin, true_s)
    held, wrenches = hands.holding[:, None], list[FloatArray]()
    for i, R in enumerate(twin.R_body_sensor):
        passed = np.hstack([hands.sides[i, :, :3] @ R, hands.sides[i, :, 3:] @ R])
        wrenches.append(held * passed - (1 - held) * handle_wrench(sensor_motion(twin, true_s, i), twin.handle))
    return wrenches


def _markers(rng: np.random.Generator, twin: RollingTwin) -> Recording:
    t = np.arange(round(twin.duration_s * CAPTURE_HZ)) / CAPTURE_HZ
    points = markers_in_capture(twin, t)
    points += twin.noise_m * rng.normal(size=points.shape)
    build = twin.build
    modules = [i - 1 for numbers in build.sensors for i in numbers]
    others = [i for i in range(len(build.drawn)) if i not in modules]
    for markers, share in zip((others, modules), twin.hidden, strict=True):
        tools.hide(rng, points, markers, share)
    return tools.marker_recording(t, points, build.subject, build.names())


def _experiment(twin: RollingTwin, spread: float | None, markers: str) -> dict[str, Any]:
    """What the template of body.yaml leaves open; markers: the name of their file."""
    barrow, build, segments = twin.barrow, twin.build, twin.wheeling.segments
    two, modules = len(build.sensors) == 2, [tools.sensor_text(build.names(numbers)) for numbers in build.sensors]

    def names(numbers: Sequence[int]) -> str:
        return ", ".join(build.names(numbers))

    def spans(name: str) -> str:
        return ", ".join(f"[{s.begin_s:g}, {s.end_s:g}]" for s in segments if s.name == name)

    wrench = [f"  {key}: {{file: wrench.mat, format: dspace-mat, device: {d}}}" for key, d in _DEVICE_OF.items()]
    prior = ""
    if spread is not None:
        rng = np.random.default_rng([twin.seed, 37])
        prior = tools.prior_text(off_by(rng, barrow.phi, spread, mass_known=True), spread)
    return {
        "what": build.object.replace("-", " "),
        "object": build.object,
        "handles": "both handles" if two else "its handle",
        "wrench": f"{wrench[0]}       # right\n{wrench[1]}   # left" if two else wrench[0],
        "file": markers,
        "markers": ", ".join(build.names()),
        "axle": names(build.axle),
        "across": ", ".join(f"[{names(pair)}]" for pair in build.across),
        "radius": barrow.radius,
        "right": "right: three" if two else "three",
        "sensor": modules[0],
        "left": f"  sensor_2:                      # left\n{modules[1]}" if two else "",
        "feet": names(build.feet),
        "imu_pose": tools.imu_pose_text("right sensor's" if two else "sensor's"),
        "of": "of both handles; " if two else "",
        "mechanism": f"mechanism: {{track: {barrow.track:g} m}}\n" if barrow.track else "",
        "mass": f"{barrow.phi[0]:.6g}",
        "tilt": max(0.1, float(np.degrees(np.arccos(min(1.0, twin.R_capture_world[2, 2]))))),
        "static": f"[0.5, {min(s.begin_s for s in segments) - twin.wheeling.lifting_s - 1.2:g}]",
        "prior": prior,
        "train": spans("train"),
        "test": spans("test"),
    }


def _truth(twin: RollingTwin, zeros: FloatArray) -> dict[str, Any]:
    barrow, sensors = twin.barrow, list(zip(twin.R_body_sensor, twin.r_body_sensor, strict=True))
    viscous = ("b_v", "b_psi")
    friction = {n: {"value": v, "unit": "N m s/rad" if n in viscous else "N m"} for n, v in barrow.friction.items()}
    whole = barrow.phi + sum(move_phi(twin.handle, R, r) for R, r in sensors)
    edges = [0.0, *(round(edge, 4) for pair in twin.wheeling.lifted for edge in pair), round(twin.duration_s, 4)]
    standing = list(zip(edges[::2], edges[1::2], strict=True))
    two = len(zeros) == 2
    names = ("right", "left") if two else ("middle",)
    clocks = {"imu": twin.imu} | dict.fromkeys([*_DEVICE_OF][: len(zeros)], twin.load_cell)
    return {
        "parameters": {**tools.drawing_truth(barrow.phi), **friction},
        "parameters_whole": {**tools.drawing_truth(whole), **friction},
        "body_phi": tools.phi_truth(barrow.phi),
        "phi": tools.phi_truth(twin.handle),
        "wheel": {"radius_m": barrow.radius, "inertia": barrow.wheel_inertia}
        | ({"track_m": barrow.track} if barrow.track else {}),
        "sensors": {
            n: {"R_body_sensor": R.tolist(), "r_body_sensor": r.tolist(), "preload": zero.tolist()}
            for n, (R, r), zero in zip(names, sensors, zeros, strict=True)
        },
        "feet": {"in_body_m": barrow.feet.tolist(), "on_ground_s": standing},
        "motion": [
            {"segment": s.name, "from_s": s.begin_s, "to_s": s.end_s, "kinds": list(s.kinds)}
            for s in twin.wheeling.segments
        ],
        "clocks": tools.clocks_truth(**clocks),
        "up_in_capture_frame": twin.R_capture_world[:, 2].tolist(),
        "floor_m": twin.floor_m,
        "gravity": twin.gravity,
        "seed": twin.seed,
        "note": "parameters: of the body alone, inertias about the axle's middle; parameters_whole with "
        f"{'both handles' if two else 'its handle'}; "
        f"phi: of {'one' if two else 'the'} handle; preload: the load cell's zero error, handle{'s' if two else ''} "
        "removed; device time = capture time * (1 + drift) + offset",
    }


_DEVICE_OF = dict(zip(("wrench", "wrench_2"), tools.DEVICES, strict=True))
