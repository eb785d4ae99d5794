"""A simulated object that rolls: how a person moves it, the forces that takes, what instruments store and the files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from palpate.files import write_text
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import (
    DRAWING_NAMES,
    DRAWING_UNITS,
    PHI_NAMES,
    drawing_values,
    mass_properties,
    move_phi,
)
from palpate.physics.motion import Motion
from palpate.physics.regressor import body_regressor
from palpate.physics.so3 import exp_rotation
from palpate.physics.spatial import transport_acceleration
from palpate.physics.units import STANDARD_GRAVITY
from palpate.recording import Recording
from palpate.recording.dspace_mat import write as write_dspace
from palpate.recording.microstrain_csv import write as write_microstrain
from palpate.recording.vicon_csv import write as write_vicon
from palpate.twin.hand import Course, Kind, Manner, Wheeling, smooth_noise
from palpate.twin.handle import off_by
from palpate.twin.instruments import (
    CAPTURE_HZ,
    DEVICES,
    IMU_PLACE,
    R_SENSOR_IMU,
    T_MARKER,
    DeviceClock,
    Instruments,
    device_times,
    imu_recording,
    imu_signals,
    load_cell_recording,
    load_cell_signals,
    marker_file,
)

Moves = Literal["full", "upright", "planar"]
_AT_REST = 1e-9
"""rad/s of the wheel."""
_AGAINST_M = 0.3
"""N m per N of trembling: what hands do against what cannot move."""


@dataclass(frozen=True, slots=True, eq=False)
class Kinematics:
    """Motion of frame B in axes of the contact frame C, each (samples, 3)."""

    R_contact_body: FloatArray
    """(samples, 3, 3)."""
    acceleration: FloatArray
    """m/s2 of the axle's middle, without gravity."""
    omega: FloatArray
    omega_dot: FloatArray
    spin: FloatArray
    """(samples,) rad/s of the wheel about its axle, against the world."""
    spin_dot: FloatArray
    camber: FloatArray


def kinematics(path: Course, radius: float) -> Kinematics:
    """Differentiated by hand in C, which turns with the yaw rate about up.

    R_CB = R_x(camber) R_y(pitch) [-z, -x, y]: at zero angles x_B points down, y_B back, z_B left.
    """
    _, _, camber, pitch = path.value
    v, yaw1, camber1, pitch1 = path.rate
    v1, yaw2, camber2, pitch2 = path.acceleration
    cg, sg, cb, sb, zero = np.cos(camber), np.sin(camber), np.cos(pitch), np.sin(pitch), np.zeros_like(v)
    x_B, y_B = np.array([-sb, sg * cb, -cg * cb]), np.array([-cb, -sg * sb, cg * sb])
    z_B = np.array([zero, cg, sg])
    omega = np.array([camber1, pitch1 * cg, yaw1 + pitch1 * sg])
    # components' own change, then that of the axes: yaw rate about z crossed with the vector
    change = np.array(
        [camber2, pitch2 * cg - pitch1 * camber1 * sg, yaw2 + pitch2 * sg + pitch1 * camber1 * cg],
    )
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
    """planar: held by a guide; else a person keeps it straight as well as persons can."""
    track: float = 0.0
    """m between two wheels; 0: one."""
    b_sides: tuple[float, float] = (0.0, 0.0)
    """N m, dry friction of the left and the right wheel, in place of b_c."""

    @property
    def standing(self) -> float:
        """rad, pitch at which both feet are on the ground: x cos(pitch) - y sin(pitch) = R.

        Feet ahead of the axle (x < 0) are on the ground with the handles up, those behind it with the handles down.
        """
        x, y = self.feet[:, :2].mean(axis=0)
        return float(np.copysign(np.arccos(self.radius / np.hypot(x, y)), x) - np.arctan2(y, x))

    @property
    def wheels(self) -> tuple[tuple[float, float], ...]:
        """Of each wheel: how far left of the middle it is, in radii; and its dry friction, N m."""
        if self.track == 0:
            return ((0.0, self.b_c),)
        d = 0.5 * self.track / self.radius
        return ((d, self.b_sides[0]), (-d, self.b_sides[1]))

    @property
    def held(self) -> tuple[int, ...]:
        """Which components of the wrench at the contact the ground or a guide gives besides f_y and F_N."""
        return {"full": (), "upright": (3,), "planar": (3, 5) if self.guided else ()}[self.moves]

    @property
    def friction(self) -> dict[str, float]:
        """By the names of the object file; viscous in N m s/rad, dry in N m."""
        left, right = self.b_sides
        found = {"b_v": self.b_v} | ({"b_left": left, "b_right": right} if self.track else {"b_c": self.b_c})
        return found if self.moves == "planar" else found | {"b_psi": self.b_psi}


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """What is on the right and on the left, or in the middle alone: the first axis of each array has two entries, or
    one.
    """

    R_body_sensor: FloatArray
    r_body_sensor: FloatArray
    r_body_grip: FloatArray
    """(sensors, 3) m in B: where the hands hold."""


@dataclass(frozen=True, slots=True, eq=False)
class Habits:
    """How the two hands share: none of it moves the object."""

    sideways: float
    """Share of the turning moment that is done by pushing sideways."""
    squeeze: float
    """N, towards each other."""
    tremble: float
    """N, and a twentieth of it in N m."""
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Push:
    """Wrenches at given times, in axes of C about its origin unless said otherwise."""

    needed: FloatArray
    """(samples, 6) of both hands on the body."""
    sides: FloatArray
    """(sensors, samples, 6) of each in axes of B, about its sensor's origin: what reaches the body through it."""
    ground: FloatArray
    """(samples, 6) of the ground on the wheel."""
    resistance: FloatArray
    """(samples,) N m about the axle, of all wheels."""
    holding: FloatArray
    """(samples,) 1 where the hands do everything, less where the feet help, 0 where nobody holds on."""


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


def push(
    barrow: Barrow, sides: Sides, habits: Habits, wheeling: Wheeling, t: FloatArray, gravity: float = STANDARD_GRAVITY
) -> Push:
    """What the hands do at true times t (s), so that the object moves so."""
    path = wheeling.path(t)
    k = kinematics(path, barrow.radius)
    wanted = momentum_rate(barrow, k, gravity)
    resistance, turning = _resistance(barrow, k, habits, t)
    ground = np.zeros_like(wanted)
    cos = np.cos(k.camber)
    ground[:, 0] = -(resistance + barrow.wheel_inertia * k.spin_dot) / (barrow.radius * cos)
    ground[:, 3:] = -resistance[:, None] * k.R_contact_body[:, :, 2]
    ground[:, 5] += turning - barrow.b_psi * k.omega[:, 2]
    total = wanted - ground
    held = list(barrow.held)
    against = np.random.default_rng([habits.seed, 3])
    for i in held:
        total[:, i] = _AGAINST_M * habits.tremble * smooth_noise(against, t, 0.1, 3.0, 8)
    at_grips, points = _shared(barrow, sides, habits, k, total, t)
    needed = np.zeros_like(wanted)
    for wrench, point in zip(at_grips, points, strict=True):
        needed += np.hstack([wrench[:, :3], wrench[:, 3:] + np.cross(point, wrench[:, :3])])
    taken = [1, 2, *held]
    ground[:, taken] = (wanted - needed)[:, taken]
    own = np.empty_like(at_grips)
    turned = k.R_contact_body
    for i, wrench in enumerate(at_grips):
        force = np.einsum("nji,nj->ni", turned, wrench[:, :3])
        own[i, :, :3] = force
        own[i, :, 3:] = np.einsum("nji,nj->ni", turned, wrench[:, 3:])
        own[i, :, 3:] += np.cross(sides.r_body_grip[i] - sides.r_body_sensor[i], force)
    return Push(needed, own, ground, resistance, _holding(wheeling, t))


def _resistance(barrow: Barrow, k: Kinematics, habits: Habits, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """N m about the axle, and about the vertical from wheels beside the middle; at rest dry friction takes what it is
    given, somewhere within its level.
    """
    slack = 0.9 * np.tanh(smooth_noise(np.random.default_rng([habits.seed, 1]), t, 0.02, 0.3, 6))
    total, turning = barrow.b_v * k.spin, np.zeros_like(t)
    for left, level in barrow.wheels:
        speed = k.spin - left * k.omega[:, 2]
        dry = level * np.where(np.abs(speed) > _AT_REST, np.sign(speed), slack)
        # the wheel needs f_x = -dry / R of the ground, that far left: n_z = -left R f_x
        total, turning = total + dry, turning + left * dry
    return total, turning


def _shared(
    barrow: Barrow, sides: Sides, habits: Habits, k: Kinematics, total: FloatArray, t: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(sensors, samples, 6) wrenches of the hands at the grips, and the grips' places from C, (sensors, samples, 3):
    axes of C.

    Sideways forces, squeeze and grip moments are habits. Four equations are left, forward force and the three moments.
    Of two grips the forward and upward forces are the four unknowns; of one, which both hands hold, forward and upward
    force and the moments about ahead and up.
    """
    rng = np.random.default_rng([habits.seed, 2])
    points = np.stack([k.R_contact_body @ r for r in sides.r_body_grip]) + np.array([0.0, 0.0, barrow.radius])
    n, grips = len(t), len(points)
    found = np.zeros((grips, n, 6))
    noise = np.array([smooth_noise(rng, t, 0.1, 3.0, 8) for _ in range(8)])
    found[:, :, 3:] = 0.05 * habits.tremble * noise[: 3 * grips].reshape(grips, 3, n).transpose(0, 2, 1)
    lateral = habits.sideways * total[:, 5] / points[:, :, 0].mean(axis=0) + habits.tremble * noise[6]
    found[:, :, 1] = lateral / grips
    if grips == 2:
        squeeze = habits.squeeze * (1 + 0.4 * noise[7])
        found[0, :, 1] += squeeze
        found[1, :, 1] -= squeeze
    unknown = ((0, 0), (1, 0), (0, 2), (1, 2)) if grips == 2 else ((0, 0), (0, 2), (0, 3), (0, 5))
    for grip, component in unknown:
        found[grip, :, component] = 0.0
    given = found[:, :, 3:] + np.cross(points, found[:, :, :3])
    rest = total[:, [0, 3, 4, 5]].copy()
    rest[:, 1:] -= given.sum(axis=0)
    A = np.zeros((n, 4, 4))
    for column, (grip, component) in enumerate(unknown):
        unit = np.eye(6)[component]
        A[:, 0, column] = unit[0]
        A[:, 1:, column] = unit[3:] + np.cross(points[grip], unit[:3])
    for (grip, component), force in zip(unknown, np.linalg.solve(A, rest[:, :, None])[:, :, 0].T, strict=True):
        found[grip, :, component] = force
    return found, points


def _holding(wheeling: Wheeling, t: FloatArray) -> FloatArray:
    """1 while the feet are in the air; the hands come 0.6 s before and go 0.6 s after, or hold on for a short rest."""
    away_s, come_s = 0.2, 0.6
    found = np.zeros_like(t)
    for begin, end in wheeling.lifted:
        up, down = (t - begin + away_s + come_s) / come_s, (end + away_s + come_s - t) / come_s
        u = np.clip(np.minimum(up, down), 0.0, 1.0)
        found = np.maximum(found, u * u * (3 - 2 * u))
    return found


@dataclass(frozen=True, slots=True)
class Layout:
    """Which marker, counted from 1, sits where; the letters before the numbers, and the subject's name."""

    subject: str
    prefix: str
    count: int
    axle: tuple[int, int]
    """Right end and left."""
    across: tuple[tuple[int, int], ...]
    feet: tuple[int, int]
    """Right and left."""
    sensors: tuple[tuple[int, int, int], ...]
    """p1, p2, p3 of each."""

    def names(self, numbers: tuple[int, ...] | None = None) -> list[str]:
        """Of these markers, or of all."""
        return [f"{self.prefix}{i}" for i in (numbers or range(1, self.count + 1))]


@dataclass(frozen=True, slots=True, eq=False)
class Build:
    """What tells apart the objects that roll: their file's name, markers, sensors and how people move them."""

    object: str
    layout: Layout
    sensors: Callable[[np.random.Generator], Sides]
    places: Callable[[np.random.Generator, Barrow, Sides], FloatArray]
    """(markers, 3) m in B."""
    manner: Manner
    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True, eq=False)
class WheelbarrowTwin:
    """All that determines a simulated experiment with an object that rolls."""

    barrow: Barrow
    """The pre-sensor part."""
    handle: FloatArray
    """(10,) phi of each of the equal handles in its sensor's frame."""
    sides: Sides
    habits: Habits
    wheeling: Wheeling
    places: FloatArray
    """(markers, 3) m, in B."""
    duration_s: float
    R_capture_world: FloatArray
    imu: DeviceClock
    load_cell: DeviceClock
    """Of all load cells."""
    seed: int
    build: Build
    floor_m: float = 0.0
    """Height of the floor in the capture frame, at its origin."""
    gravity: float = STANDARD_GRAVITY
    noise_m: float = 3e-4
    hidden: tuple[float, float] = (0.03, 0.10)
    """Share of samples in which a marker, and one on a sensor module, is not seen."""
    instruments: Instruments = field(default_factory=Instruments)


def pushes(twin: WheelbarrowTwin, times_s: FloatArray) -> Push:
    """What the hands pass to the body at true times (s)."""
    return push(twin.barrow, twin.sides, twin.habits, twin.wheeling, times_s, twin.gravity)


def sensor_motion(twin: WheelbarrowTwin, times_s: FloatArray, side: int) -> Motion:
    """Of the right (0, or the only) or left (1) sensor frame, expressed in it."""
    k = kinematics(twin.wheeling.path(times_s), twin.barrow.radius)
    up = np.array([0.0, 0.0, twin.gravity])
    to_body = k.R_contact_body.transpose(0, 2, 1)
    a, w, b = (_turned(to_body, v) for v in (k.acceleration + up, k.omega, k.omega_dot))
    R = twin.sides.R_body_sensor[side]
    a = transport_acceleration(a, w, b, twin.sides.r_body_sensor[side])
    return Motion(times_s, a @ R, w @ R, b @ R)


def body_poses(twin: WheelbarrowTwin, times_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """R_world_body (samples, 3, 3) and the axle's middle (samples, 3) m; the floor is z = 0 of the world."""
    path = twin.wheeling.path(times_s)
    k = kinematics(path, twin.barrow.radius)
    heading = np.zeros((len(times_s), 3))
    heading[:, 2] = path.value[1]
    height = np.full((len(times_s), 1), twin.barrow.radius)
    return exp_rotation(heading) @ k.R_contact_body, np.hstack([twin.wheeling.contact(times_s), height])


def markers_in_capture(twin: WheelbarrowTwin, times_s: FloatArray) -> FloatArray:
    """(frames, markers, 3) m, as an ideal camera sees them."""
    R, r = body_poses(twin, times_s)
    world = twin.places @ R.transpose(0, 2, 1) + r[:, None]
    return world @ twin.R_capture_world.T + [0.0, 0.0, twin.floor_m]


def store(twin: WheelbarrowTwin) -> tuple[Recording, Recording, Recording, FloatArray]:
    """Markers, load cells, IMU: as stored; and the load cells' zero errors, (sensors, 6) N and N m."""
    rng = np.random.default_rng([twin.seed, 35])
    cell_s, imu_s = (device_times(twin.duration_s, clock) for clock in (twin.load_cell, twin.imu))
    stored, zeros = _stored_wrenches(rng, twin, cell_s)
    moved = sensor_motion(twin, twin.imu.true(imu_s), 0)
    a, w, _ = imu_signals(rng, twin.instruments, moved, R_SENSOR_IMU, IMU_PLACE)
    return _markers(rng, twin), load_cell_recording(cell_s, stored), imu_recording(imu_s, a, w), zeros


def _turned(R: FloatArray, v: FloatArray) -> FloatArray:
    return np.einsum("nij,nj->ni", R, v)


def _stored_wrenches(
    rng: np.random.Generator, twin: WheelbarrowTwin, cell_s: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(sensors, samples, 6) and the zero errors (sensors, 6): what reaches the body + zero + noise, in steps.

    What reaches it (FORMATS, Sign) is person - handle's A phi. Where nobody holds on that is -A phi, and the feet
    carry the rest.
    """
    true_s, tools = twin.load_cell.true(cell_s), twin.instruments
    step = np.repeat([tools.force_step, tools.moment_step], 3)
    fine = replace(tools, force_step=1e-12, moment_step=1e-12)  # the steps come after the person
    done = pushes(twin, true_s)
    count = len(twin.sides.R_body_sensor)
    stored, zeros = np.empty((count, len(cell_s), 6)), np.empty((count, 6))
    for i, R in enumerate(twin.sides.R_body_sensor):
        moved = sensor_motion(twin, true_s, i)
        slow = np.random.default_rng([twin.seed, 36, i])
        noise, zeros[i] = load_cell_signals(rng, slow, fine, moved, np.zeros(10))
        hanging = body_regressor(moved.specific_acceleration, moved.omega, moved.omega_dot) @ twin.handle
        passed = np.hstack([done.sides[i, :, :3] @ R, done.sides[i, :, 3:] @ R])
        held = done.holding[:, None]
        stored[i] = np.round((held * passed - (1 - held) * hanging + noise) / step) * step
    return stored, zeros


def _markers(rng: np.random.Generator, twin: WheelbarrowTwin) -> Recording:
    t = np.arange(round(twin.duration_s * CAPTURE_HZ)) / CAPTURE_HZ
    points = markers_in_capture(twin, t)
    points += twin.noise_m * rng.normal(size=points.shape)
    layout = twin.build.layout
    modules = [i - 1 for numbers in layout.sensors for i in numbers]
    others = [i for i in range(layout.count) if i not in modules]
    for columns, share in zip((others, modules), twin.hidden, strict=True):
        while np.isnan(points[:, columns, 0]).mean() < share:  # stretches of 0.05 to 1 s
            first, length = int(rng.integers(len(t))), int(CAPTURE_HZ * rng.uniform(0.05, 1.0))
            points[first : first + length, rng.choice(columns)] = np.nan
    return marker_file(t, points, layout.subject, layout.names())


def wheelbarrow_recordings(twin: WheelbarrowTwin) -> tuple[Recording, Recording, Recording, dict[str, Any]]:
    """Markers, load cells, IMU: as stored; and truth.json."""
    markers, cells, imu, zeros = store(twin)
    return markers, cells, imu, _truth(twin, zeros)


def write_recordings(folder: Path, twin: WheelbarrowTwin, names: tuple[str, str, str, str]) -> None:
    """names: of the files of markers, load cells, IMU and truth."""
    markers, cells, imu, truth = wheelbarrow_recordings(twin)
    write_vicon(folder / names[0], markers, rate_hz=CAPTURE_HZ)
    write_dspace(folder / names[1], cells)
    write_microstrain(folder / names[2], imu, g=twin.gravity)
    write_text(folder / names[3], json.dumps(truth, indent=1) + "\n")


def experiment_text(twin: WheelbarrowTwin, spread: float | None, markers: str = "WB Trajectories.csv") -> str:
    """body.yaml. spread: by which fraction the drawing is off, as it declares; None: there is no drawing. markers: the
    name of their file."""
    barrow, layout, name = twin.barrow, twin.build.layout, twin.build.object
    segments = twin.wheeling.segments
    spans = {name: [s for s in segments if s.name == name] for name in ("train", "test")}
    two = len(layout.sensors) == 2

    def names(numbers: Sequence[int]) -> str:
        return ", ".join(layout.names(tuple(numbers)))

    sensor = {"turned": T_MARKER[:3, :3].tolist(), "shifted": T_MARKER[:3, 3].tolist()}
    wrench = [
        f"  {key}: {{file: wrench.mat, format: dspace-mat, device: {d}}}" for key, d in zip(_KEYS, DEVICES, strict=True)
    ]
    return _EXPERIMENT.format(
        seed=twin.seed,
        what=name.replace("-", " "),
        object=name,
        handles="both handles" if two else "its handle",
        wrench=f"{wrench[0]}       # right\n{wrench[1]}   # left" if two else wrench[0],
        file=markers,
        markers=names(range(1, layout.count + 1)),
        axle=names(layout.axle),
        across=", ".join(f"[{names(pair)}]" for pair in layout.across),
        radius=barrow.radius,
        right="right: three" if two else "three",
        sensor=_SENSOR.format(markers=names(layout.sensors[0]), **sensor),
        left=("  sensor_2:                      # left\n" + _SENSOR.format(markers=names(layout.sensors[1]), **sensor))
        if two
        else "",
        feet=names(layout.feet),
        which="right sensor's" if two else "sensor's",
        rotation=np.round(R_SENSOR_IMU, 9).tolist(),
        translation=IMU_PLACE.tolist(),
        of="of both handles; " if two else "",
        mechanism=f"mechanism: {{track: {barrow.track:g} m}}\n" if barrow.track else "",
        mass=f"{barrow.phi[0]:.6g}",
        tilt=max(0.1, float(np.degrees(np.arccos(min(1.0, twin.R_capture_world[2, 2]))))),
        static=f"[0.5, {min(s.begin_s for s in segments) - twin.wheeling.lifting_s - 1.2:g}]",
        prior="" if spread is None else _prior(twin, spread),
        **{name: ", ".join(f"[{s.begin_s:g}, {s.end_s:g}]" for s in found) for name, found in spans.items()},
    )


def _prior(twin: WheelbarrowTwin, spread: float) -> str:
    drawn = mass_properties(off_by(np.random.default_rng([twin.seed, 37]), twin.barrow.phi, spread, mass_known=True))
    return _PRIOR.format(
        mass=f"{twin.barrow.phi[0]:.6g}",
        com=[float(f"{v:.6g}") for v in drawn.com],
        inertia=[[float(f"{v:.8g}") for v in row] for row in drawn.inertia_com],
        spread=f"{100 * spread:.3g} %",
    )


def _standing(twin: WheelbarrowTwin) -> list[list[float]]:
    """From, to (s): when the feet are on the ground."""
    edges = [0.0, *(edge for pair in twin.wheeling.lifted for edge in pair), twin.duration_s]
    return [[round(a, 4), round(b, 4)] for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _parameters(phi: FloatArray) -> dict[str, dict[str, Any]]:
    rows = zip(DRAWING_NAMES, drawing_values(phi), DRAWING_UNITS, strict=True)
    return {n: {"value": float(v), "unit": u} for n, v, u in rows}


def _truth(twin: WheelbarrowTwin, zeros: FloatArray) -> dict[str, Any]:
    barrow, sides = twin.barrow, twin.sides
    viscous = ("b_v", "b_psi")
    friction = {n: {"value": v, "unit": "N m s/rad" if n in viscous else "N m"} for n, v in barrow.friction.items()}
    whole = barrow.phi + sum(
        move_phi(twin.handle, R, r) for R, r in zip(sides.R_body_sensor, sides.r_body_sensor, strict=True)
    )
    two = len(zeros) == 2
    names = ("right", "left") if two else ("middle",)
    clocks = [("imu", twin.imu), *((key, twin.load_cell) for key in _KEYS[: len(zeros)])]
    return {
        "palpate_truth": 1,
        "parameters": {**_parameters(barrow.phi), **friction},
        "parameters_whole": {**_parameters(whole), **friction},
        "body_phi": dict(zip(PHI_NAMES, barrow.phi.tolist(), strict=True)),
        "phi": dict(zip(PHI_NAMES, twin.handle.tolist(), strict=True)),
        "wheel": {"radius_m": barrow.radius, "inertia": barrow.wheel_inertia}
        | ({"track_m": barrow.track} if barrow.track else {}),
        "sensors": {
            n: {"R_body_sensor": R.tolist(), "r_body_sensor": r.tolist(), "preload": zero.tolist()}
            for n, R, r, zero in zip(names, sides.R_body_sensor, sides.r_body_sensor, zeros, strict=True)
        },
        "feet": {"in_body_m": barrow.feet.tolist(), "on_ground_s": _standing(twin)},
        "motion": [
            {"segment": s.name, "from_s": s.begin_s, "to_s": s.end_s, "kinds": list(s.kinds)}
            for s in twin.wheeling.segments
        ],
        "clocks": {n: {"offset_s": c.offset_s, "drift_ppm": c.drift_ppm} for n, c in clocks},
        "up_in_capture_frame": twin.R_capture_world[:, 2].tolist(),
        "floor_m": twin.floor_m,
        "gravity": twin.gravity,
        "seed": twin.seed,
        "note": "parameters: of the body alone, inertias about the axle's middle; parameters_whole with "
        f"{'both handles' if two else 'its handle'}; "
        f"phi: of {'one' if two else 'the'} handle; preload: the load cell's zero error, handle{'s' if two else ''} "
        "removed; device time = capture time * (1 + drift) + offset",
    }


_KEYS = ("wrench", "wrench_2")
_EXPERIMENT = """\
# A simulated {what} (seed {seed}). The truth is in truth.json; nothing but the reference column reads it.
palpate: 1
title: Simulated {what} {seed}
object: {object}
stage: body
model_of: body                   # the pre-sensor part; or whole: with {handles}
recordings:
  mocap: {{file: {file}, format: vicon-csv}}
{wrench}
  imu: {{file: imu.csv, format: microstrain-csv}}
markers:
  body: [{markers}]
  axle: {{axle: [{axle}], across: [{across}], radius: {radius:g} m}}
  sensor:                        # {right} markers on the module, and the pose of their frame in the sensor frame
{sensor}{left}  feet: [{feet}]         # right, left
{mechanism}imu_pose:                        # of the IMU in the {which} frame, from the drawing
  rotation: {rotation}
  translation: {translation}
handle: handle/handle.yaml       # {of}identified first, or a model.json
clocks: auto
known_mass: {{value: {mass} kg, of: body}}
segments:                        # seconds on the markers' clock
  static: {static}               # standing on its feet, nobody touches the handles: the sensors' preload
  train: [{train}]
  test: [{test}]
{prior}uncertain: {{tilt: {tilt:.3g} deg}}  # of the capture frame against the vertical
reference: {{label: truth, file: truth.json}}
"""
_SENSOR = """\
    markers: [{markers}]
    offset:
      rotation: {turned}
      translation: {shifted}
"""
_PRIOR = """\
prior:                           # a drawing that is off by that much
  mass: {mass} kg
  com: {com}
  inertia_com: {inertia}
  damping: auto
  spread: {spread}
"""
