"""A true door with a closer, and what happens when a person moves it: the physics of a simulated door experiment."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

import numpy as np

from palpate.elements import EndStop
from palpate.errors import PalpateError
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS
from palpate.physics.motion import Motion
from palpate.physics.regressor import body_regressor
from palpate.physics.so3 import exp_rotation
from palpate.physics.spatial import nearest_rotation, transport_acceleration, wrench_transmission
from palpate.physics.units import STANDARD_GRAVITY
from palpate.runtime import Status, Stepper
from palpate.twin.capture import T_MARKER, DeviceClock
from palpate.twin.door_hand import Arm, Phase, Session, smooth_noise, wanted
from palpate.twin.door_models import FRAME, WIDEST, Variant
from palpate.twin.instruments import Instruments

DT_S = 5e-4
# Where markers 4 to 20 are about, cm in B: seven on the door, then the frame with six beside the hinge.
_PLACES_CM = (
    [[68, 7, -10], [70, 7, -53], [69, 2, -57], [11, 0, -53], [11, -5, -57], [10, -5, 11], [11, 0, -7]],
    [[96, -2, -65], [84, -2, 52], [0, 0, 80], [0, 0, 69], [-6, -9, 66], [0, 0, 5], [0, 0, -6], [-6, -10, -60]],
    [[0, 0, -69], [0, 0, -80]],
)
_TREMOR = 0.25
"""N m, twice the standard deviation of what the hand adds without meaning to."""


@dataclass(frozen=True, slots=True, eq=False)
class DoorTwin:
    """All that determines a simulated door experiment. Frame B is on the hinge: z down, x along the shut door."""

    model: Model
    """The body alone (pre-sensor) with its values and end stops."""
    phi: FloatArray
    """(10,) of the handle in the sensor frame."""
    R_hinge_sensor: FloatArray
    r_hinge_sensor: FloatArray
    """(3,) m in B."""
    r_hinge_grip: FloatArray
    """(3,) m in B: where the hand is."""
    arm: Arm
    phases: tuple[Phase, ...]
    session: Session
    places: FloatArray
    """(20, 3) m, of the markers in B with the door shut; the first ten move with the door."""
    R_capture_world: FloatArray
    r_capture_hinge: FloatArray
    yaw: float
    """rad, of the shut door in the world."""
    imu: DeviceClock
    load_cell: DeviceClock
    seed: int
    variant: Variant = "laminar"
    gravity: float = STANDARD_GRAVITY
    instruments: Instruments = field(default_factory=Instruments)

    @property
    def handle_inertia(self) -> float:
        """kg m2, of the handle about the hinge."""
        turning = sensor_motion(self, *(np.array([x]) for x in (0.0, 0.0, 1.0)), gravity=0.0)
        A = body_regressor(turning.specific_acceleration, turning.omega, turning.omega_dot)[0]
        return float((wrench_transmission(self.R_hinge_sensor, self.r_hinge_sensor) @ A @ self.phi)[5])

    @property
    def whole(self) -> Model:
        """Body and handle: what the person moves."""
        return replace(self.model, values={**self.model.values, "I": self.model.values["I"] + self.handle_inertia})

    def stop(self, name: str) -> float:
        """Where an end stop is, rad."""
        return next(e.at for e in self.model.elements if isinstance(e, EndStop) and e.name == name)


@dataclass(frozen=True, slots=True, eq=False)
class DoorTruth:
    """What really happened, each (steps,), on the markers' clock."""

    times_s: FloatArray
    angle: FloatArray
    """rad, zero where the door is shut, positive when open."""
    speed: FloatArray
    acceleration: FloatArray
    torque: FloatArray
    """N m about the hinge, of the person on the whole."""
    pushed: FloatArray
    """The same as the stepper got it: they differ by its error of first order."""
    grip: FloatArray
    """0: nobody touches the door."""
    sticking: FloatArray
    """1 where dry friction holds it."""
    stopped: FloatArray
    """1 where an end stop is pressed."""
    recorded: FloatArray
    """0 where the cameras are off."""

    def at(self, name: str, times_s: FloatArray) -> FloatArray:
        """One of the series at other times; as at the beginning before, as at the end after."""
        series: FloatArray = getattr(self, name)
        return np.interp(times_s, self.times_s, series)


def simulate_door(twin: DoorTwin, *, dt: float = DT_S) -> DoorTruth:
    """Let the arm move the whole by the stepper, with real sticking.

    A step is read as leapfrog (Hairer, Lubich, Wanner, Geometric Numerical Integration, I.1.4): angles at the steps,
    speeds between them, so speed and acceleration are central differences. While the door slides free of its stops the
    torque is the one which that motion needs (inverse dynamics), so the balance holds to second order in dt.
    """
    rng = np.random.default_rng([twin.seed, 21])
    stepper, out, wrench = Stepper(twin.whole, dt), [0.0] * 3, [0.0] * 6
    K, D, most, tanh = twin.arm.stiffness, twin.arm.damping, twin.arm.strongest, math.tanh
    _settle(stepper, dt, twin.stop(FRAME))
    learned = _learned(twin)
    q, v = stepper.state.tolist()
    aim, held = q, False
    rows: list[tuple[float, float, float, float]] = []
    status: list[Status] = []
    grips: list[FloatArray] = []
    recorded: list[FloatArray] = []
    ends = [0, *(round(s / dt) for s in accumulate(phase.seconds for phase in twin.phases))]
    for phase, (first, last) in zip(twin.phases, pairwise(ends), strict=True):
        t = np.arange(last - first, dtype=float) * dt
        want = wanted(phase, rng, t, aim if held else q, held=held)
        tremor = _TREMOR * smooth_noise(rng, t, 0.3, 3.0, 8)
        rate = np.diff(want.angle, append=want.angle[-1:]) / dt
        ahead = np.interp(want.angle, *learned) + D * rate + tremor
        for goal, more, grip in zip(want.angle.tolist(), ahead.tolist(), want.grip.tolist(), strict=True):
            tau = most * tanh(grip * (K * (goal - q) - D * v + more) / most)
            wrench[5] = tau
            status.append(stepper.step(wrench, out))
            rows.append((q, v, out[1], tau))
            if phase.target is None and grip == v == out[1] == 0.0 and q == out[0]:  # left alone, it goes on resting
                left = last - len(rows)
                rows += rows[-1:] * left
                status += status[-1:] * left
                break
            q, v = out[0], out[1]
        grips.append(want.grip)
        recorded.append(np.full(len(t), float(phase.recorded)))
        held = phase.target is not None
        aim = float(want.angle[-1]) if len(t) else aim
    angle, before, after, pushed = np.array(rows).T
    states = np.array(status)
    if (states == Status.NOT_FINITE).any():
        raise PalpateError(f"the simulated door {twin.seed} came to an impossible state")
    speed, acceleration = (before + after) / 2, (after - before) / dt
    stopped = _widened(states == Status.AT_LIMIT)
    slides = (before * after > 0) & ~stopped
    k = twin.model.mechanism.expand((angle, speed), (acceleration,), {}, ARRAYS)
    needed = np.asarray(twin.whole.wrench(k, ARRAYS)[0], dtype=float)
    return DoorTruth(
        times_s=np.arange(len(angle), dtype=float) * dt,
        angle=angle,
        speed=speed,
        acceleration=acceleration,
        torque=np.where(slides, needed, pushed),
        pushed=pushed,
        grip=np.concatenate(grips),
        sticking=(states == Status.STICKING).astype(float),
        stopped=stopped.astype(float),
        recorded=np.concatenate(recorded),
    )


def sensor_motion(
    twin: DoorTwin,
    times_s: FloatArray,
    speed: FloatArray,
    acceleration: FloatArray,
    *,
    gravity: float | None = None,
) -> Motion:
    """Motion of the sensor frame on a door whose hinge is upright, expressed in it; every angle feels the same."""
    zero, R = np.zeros_like(speed), twin.R_hinge_sensor
    up = -(twin.gravity if gravity is None else gravity) * np.ones_like(speed)  # z points down
    omega, omega_dot = np.stack([zero, zero, speed], axis=1), np.stack([zero, zero, acceleration], axis=1)
    a = transport_acceleration(np.stack([zero, zero, up], axis=1), omega, omega_dot, twin.r_hinge_sensor)
    return Motion(times_s, a @ R, omega @ R, omega_dot @ R)


def sensor_pose(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """R, r of the sensor in B: on the side from which the door is pushed open, z away from the door."""
    roll = exp_rotation(np.array([0.0, 0.0, rng.uniform(-np.pi, np.pi)]))
    outwards = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])  # columns: x along the door, y down, z = -y of B
    askew = exp_rotation(np.radians(2.0) * rng.normal(size=3))
    return askew @ outwards @ roll, np.array([0.65, -0.05, 0.2]) + rng.uniform(-0.03, 0.03, 3)


def marker_places(rng: np.random.Generator, R: FloatArray, r: FloatArray) -> FloatArray:
    """(20, 3) m in B at the shut door: three on the sensor module, seven on the door, ten on the frame."""
    own = np.array([[-0.018, -0.036, 0], [0, 0, 0], [0.04, 0, 0]])  # p1, p2, p3 in their own frame
    own[:, :2] += np.array([[1, 1], [0, 0], [1, 0]]) * rng.uniform(-0.004, 0.004, (3, 2))
    own = own @ nearest_rotation(T_MARKER[:3, :3]).T + T_MARKER[:3, 3]
    others = np.array([p for group in _PLACES_CM for p in group]) / 100.0
    on_axis = np.hypot(others[:, 0], others[:, 1]) == 0
    others += np.where(on_axis[:, None], [0.0, 0.0, 0.01], 0.015) * rng.uniform(-1, 1, others.shape)
    others[on_axis] += 5e-4 * rng.normal(size=(int(on_axis.sum()), 3))  # glued by eye
    return np.vstack([own @ R.T + r, others])


def capture_frame(rng: np.random.Generator) -> tuple[FloatArray, FloatArray, float]:
    """Tilt of the capture frame against the world, place of the hinge in it (m), and yaw of the shut door (rad)."""
    direction = rng.uniform(0, 2 * np.pi)
    tilt = np.radians(0.3) * np.array([np.cos(direction), np.sin(direction), 0.0])
    place = np.array([1.1, 0.1, 1.1]) + rng.uniform(-0.2, 0.2, 3)
    return exp_rotation(tilt), place, float(rng.uniform(-np.pi, np.pi))


def hinge_in_capture(twin: DoorTwin) -> FloatArray:
    """R_capture_hinge at the shut door; the hinge is upright, z down, and the door opens towards y."""
    down = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]])
    return twin.R_capture_world @ exp_rotation(np.array([0.0, 0.0, twin.yaw])) @ down


def markers_in_capture(twin: DoorTwin, angle: FloatArray) -> FloatArray:
    """(frames, 20, 3) m: ten markers turn with the door, ten stay."""
    points = np.broadcast_to(twin.places, (len(angle), *twin.places.shape)).copy()
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    x, y = points[:, :10, 0].copy(), points[:, :10, 1].copy()
    points[:, :10, 0], points[:, :10, 1] = cos * x - sin * y, sin * x + cos * y
    return points @ hinge_in_capture(twin).T + twin.r_capture_hinge


def person_wrench(twin: DoorTwin, truth: DoorTruth, times_s: FloatArray) -> FloatArray:
    """Of the hand on the handle at these times, (samples, 6) N and N m in the sensor frame.

    Its moment about the hinge is the torque that moves the door; beside it the hand pulls along the door, lifts, and
    twists the handle, of which the door shows nothing.
    """
    rng = np.random.default_rng([twin.seed, 22])
    t, grip, torque = truth.times_s, truth.grip, truth.torque
    noise = np.stack([smooth_noise(rng, t, 0.05, 2.5, 10) for _ in range(5)]) * grip
    share = rng.uniform(-0.25, 0.25, 2)
    x, y, _ = twin.r_hinge_grip
    along, lift = 14.0 * noise[0] + share[0] * torque, 12.0 * noise[1] + share[1] * torque
    twist = noise[2:] * np.array([1.0, 1.0, 0.6])[:, None]
    across = (torque - twist[2] + y * along) / x  # torque = x f_y - y f_x + n_z
    at_grip = np.stack([along, across, lift, *twist], axis=1)
    R = twin.R_hinge_sensor.T
    moved = at_grip @ wrench_transmission(R, R @ (twin.r_hinge_grip - twin.r_hinge_sensor)).T
    found = np.empty((len(times_s), 6))
    for i in range(6):
        found[:, i] = np.interp(times_s, t, moved[:, i])
    return found


def _settle(stepper: Stepper, dt: float, shut: float) -> None:
    """Let the spring press the door onto its frame, and rest."""
    out = [0.0] * 3
    stepper.reset((shut, 0.0))
    for _ in range(round(1.5 / dt)):
        stepper.step((0.0,) * 6, out)
    stepper.reset((out[0], 0.0))


def _learned(twin: DoorTwin) -> tuple[FloatArray, FloatArray]:
    """Angles (rad), and most of what holding the door there takes (N m): people know what they are up against."""
    angle = np.linspace(twin.stop(FRAME), twin.stop(WIDEST), 100)  # where no stop is pressed
    zero = np.zeros_like(angle)
    k = twin.model.mechanism.expand((angle, zero), (zero,), {}, ARRAYS)
    return angle, 0.8 * np.asarray(twin.model.without_dry().wrench(k, ARRAYS)[0])


def _widened(mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """With one step more on either side."""
    found = mask.copy()
    found[1:] |= mask[:-1]
    found[:-1] |= mask[1:]
    return found
