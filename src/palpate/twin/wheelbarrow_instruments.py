"""What cameras, load cells and IMU store of an object that a person wheels about."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Motion
from palpate.physics.regressor import body_regressor
from palpate.physics.so3 import exp_rotation
from palpate.physics.spatial import nearest_rotation, transport_acceleration
from palpate.physics.units import STANDARD_GRAVITY
from palpate.recording import Channel, Clock, Recording
from palpate.twin.capture import CAPTURE_HZ, DeviceClock
from palpate.twin.instruments import RATE_HZ, Instruments, imu_recording, imu_signals, load_cell_signals
from palpate.twin.wheelbarrow_models import WHEELBARROW, Build
from palpate.twin.wheelbarrow_motion import Wheeling, kinematics
from palpate.twin.wheelbarrow_physics import Barrow, Habits, Push, Sides, push

DEVICES = ("Platform", "Platform_2")
"""The load cells' names: right or the only one, left."""
R_SENSOR_IMU = nearest_rotation([[0.0877, -0.9962, 0], [-0.9962, -0.0877, 0], [0, 0, -1]])
IMU_PLACE = np.array([-0.0861, 0.0125, -0.0290])
"""Of the IMU in the first sensor's frame, m (FORMATS, IMU)."""


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
    build: Build = WHEELBARROW
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
    cell_s, imu_s = (_samples(twin.duration_s, clock) for clock in (twin.load_cell, twin.imu))
    stored, zeros = _stored_wrenches(rng, twin, cell_s)
    moved = sensor_motion(twin, twin.imu.true(imu_s), 0)
    a, w, _ = imu_signals(rng, twin.instruments, moved, R_SENSOR_IMU, IMU_PLACE)
    return _markers(rng, twin), _load_cells(cell_s, stored), imu_recording(imu_s, a, w), zeros


def _turned(R: FloatArray, v: FloatArray) -> FloatArray:
    return np.einsum("nij,nj->ni", R, v)


def _samples(duration_s: float, clock: DeviceClock) -> FloatArray:
    """A device's own times, from its zero to shortly before the cameras stop."""
    return np.arange(round((duration_s + clock.offset_s - 0.1) * RATE_HZ)) / RATE_HZ


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


def _load_cells(times_s: FloatArray, stored: FloatArray) -> Recording:
    """As dSPACE stores devices of one clock."""
    channels: dict[str, Channel] = {}
    for number, (device, wrench) in enumerate(zip(DEVICES, stored, strict=False), start=1):
        clock = Clock(device, times_s)
        for i, (kind, axis) in enumerate((k, a) for k in "FT" for a in "xyz"):
            name = f"{kind}{axis}{number}_RawZero"
            channels[name] = Channel(name, wrench[:, i], clock, "N" if kind == "F" else "N m", "sensor")
    return Recording(channels, None, "dspace-mat")


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
    clock = Clock("mocap", t)
    names = [f"{layout.subject}:{name}" for name in layout.names()]
    return Recording({n: Channel(n, points[:, i], clock, "m", "capture") for i, n in enumerate(names)})
