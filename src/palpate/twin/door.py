"""A simulated door with a closer: true models, a person who moves it, and the experiment in the authors' formats."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from palpate.elements import Coulomb, EndStop, Hysteresis, PolynomialSpring, Stribeck, ZoneDamper
from palpate.errors import PalpateError, UnknownName
from palpate.experiment import shipped_experiments
from palpate.files import write_text
from palpate.mechanisms import FourBar, Hinge
from palpate.model import Model, load_object
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS, FLOATS
from palpate.physics.inertia import PHI_NAMES
from palpate.physics.motion import Motion
from palpate.physics.regressor import body_regressor
from palpate.physics.so3 import exp_rotation
from palpate.physics.spatial import nearest_rotation, transport_acceleration, wrench_transmission
from palpate.physics.units import STANDARD_GRAVITY
from palpate.recording import Recording
from palpate.recording.dspace_mat import write as write_dspace
from palpate.recording.microstrain_csv import write as write_microstrain
from palpate.recording.vicon_csv import write as write_vicon
from palpate.runtime import Status, Stepper
from palpate.twin.hand import Arm, Phase, Session, plan, smooth_noise, wanted
from palpate.twin.handle import random_handle, write_handle_twin, write_own_experiment, write_paper_twin
from palpate.twin.instruments import (
    CAPTURE_HZ,
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

Variant = Literal["laminar", "turbulent", "mixed", "hysteresis", "stribeck", "none"]
FRAME, WIDEST = "frame", "widest"
"""The end stops: where the door is shut, and where it can go no further."""
TABLE = (6.53, 4.75, 1.79, 7.52, 4.47, 2.57, 18.01, -17.10, 5.34, -0.70)
"""The paper's Table in the order of the object file: I, b_v, b_c, b_bc, b_s, b_l, c_0 to c_3."""
_STOPS = (2e4, 1e4)
"""N m/rad and N m s/rad2: rubber."""


def paper_door(rng: np.random.Generator | None = None) -> Model:
    """The paper's Table with end stops; with a generator, other values on the same links and zones."""
    if rng is None:
        door = load_object("door")
        return _with_stops(door, TABLE, math.radians(92.0))
    return random_door(rng, like_paper=True)


def random_door(
    rng: np.random.Generator, *, variant: Variant = "laminar", spring_order: int = 3, like_paper: bool = False
) -> Model:
    """A plausible door: its loop closes from 0 to 95 deg, its spring closes it everywhere, in 2 to 7 s from 80 deg.

    `like_paper`: with the links and zones of the paper's.
    """
    if variant not in get_args(Variant):
        raise UnknownName("variant", variant, get_args(Variant), where="door twin")
    base = load_object("door")
    for _ in range(2000):
        found = _draw(rng, base, variant, spring_order, like_paper)
        if found is not None and _plausible(found):
            return found
    raise PalpateError("no plausible door was found")


def _draw(rng: np.random.Generator, base: Model, variant: Variant, spring_order: int, like_paper: bool) -> Model | None:
    """A door that may be implausible; None where its links do not close."""
    linkage = FourBar(range=(0.0, math.radians(95.0))) if like_paper else _links(rng)
    if linkage is None:
        return None
    zones = (25.0, 2.0, 69.0, 2.0)
    if not like_paper:
        zones = (rng.uniform(15, 35), rng.uniform(1, 4), rng.uniform(55, 78), rng.uniform(1, 4))
    latch, latch_width, check, check_width = (math.radians(float(x)) for x in zones)
    flow = variant if variant in ("turbulent", "mixed") else "laminar"
    values = [*_log_uniform(rng, (3.0, 1.0), (15.0, 6.0))]
    parts: list[Any] = [*base.elements[:2]]
    parts.append(Coulomb())
    values += [*_log_uniform(rng, (0.6,), (2.5,))]
    if variant == "hysteresis":  # of the closer's seals and teeth: strongest in the middle of its way
        low, high = (float(linkage.transmit(math.radians(a), FLOATS)[0]) for a in (0.0, 92.0))
        parts.append(Hysteresis("hysteresis", "closer", (low, (low + high) / 2, high), "polynomial"))
        values += [float(rng.uniform(0.1, 0.3)), float(rng.uniform(1.5, 3.0)), float(rng.uniform(0.1, 0.4))]
    if variant == "stribeck":
        parts.append(Stribeck("b_st", v_s=float(rng.uniform(0.05, 0.15))))
        values += [float(rng.uniform(1.0, 2.5))]
    parts.append(
        ZoneDamper("b_bc", "closer", when="opening", above=check, width=check_width, flow=flow),
    )
    parts.append(
        ZoneDamper("b_s", "closer", when="closing", above=latch, width=latch_width, otherwise="b_l", flow=flow),
    )
    for b in _log_uniform(rng, (4.0, 2.5, 1.2), (12.0, 7.0, 4.0)):
        values += {"laminar": [b], "turbulent": [0.7 * b], "mixed": [0.5 * b, 0.35 * b]}[flow]
    parts.append(PolynomialSpring("spring", "closer", spring_order))
    values += _spring(rng, linkage, spring_order)
    model = replace(base, mechanism=replace(_hinge(base), linkage=linkage), elements=tuple(parts))
    return _with_stops(model, values, math.radians(float(rng.uniform(86, 94))))


def _links(rng: np.random.Generator) -> FourBar | None:
    """Other links, which close over the door's range and stay clear of dead centres."""
    L1, L2, L3, L4 = (float(f"{x:.4f}") for x in np.array(FourBar().lengths) * rng.uniform(0.85, 1.15, 4))
    try:
        found = FourBar((L1, L2, L3, L4), range=(-0.1, math.radians(105.0)))
    except PalpateError:
        return None
    _, nu, _ = found.transmit(np.radians(np.linspace(-3, 95, 99)), ARRAYS)
    ok = bool(np.min(nu) > 0.7 and np.max(nu) < 6.5)
    return replace(found, range=(0.0, math.radians(95.0))) if ok else None


def _spring(rng: np.random.Generator, linkage: FourBar, order: int) -> list[float]:
    """A preloaded spring that stiffens or softens somewhat, as a polynomial of the pinion's angle."""
    from numpy.polynomial import Polynomial

    ends, nu, _ = linkage.transmit(np.radians([0.0, 90.0]), ARRAYS)
    shut, wide = rng.uniform(5, 12) / nu[0], rng.uniform(13, 28) / nu[1]
    bent = rng.uniform(-0.3, 0.3, max(order - 1, 0)) * (wide - shut)
    c = [shut, wide - shut - bent.sum(), *bent][: order + 1]
    x = Polynomial([-ends[0], 1.0]) / (ends[1] - ends[0])
    found = Polynomial([-float(value) for value in c])(x)
    return [float(value) for value in np.resize(np.append(found.coef, np.zeros(order)), order + 1)]


def _plausible(model: Model) -> bool:
    """Whether the spring closes the door everywhere, against friction, and neither at once nor never."""
    angle = np.radians(np.linspace(0.5, 92, 184))
    zero, slow = np.zeros_like(angle), np.full_like(angle, -0.5)
    expand, smooth = model.mechanism.expand, model.without_dry()
    resting, closing = (expand((angle, speed), (zero,), {}, ARRAYS) for speed in (zero, slow))
    hold = np.asarray(smooth.wrench(resting, ARRAYS)[0]) + zero
    damping = (np.asarray(smooth.wrench(closing, ARRAYS)[0]) - hold) / slow
    dry = sum(abs(ratio[0]) * level for ratio, level in model.dry_forces(resting, ARRAYS)) + zero
    free = angle < min(e.at for e in model.elements if isinstance(e, EndStop) and e.name == WIDEST)
    hold, damping, dry = hold[free], damping[free], dry[free]
    if hold.min() < 4.0 or hold.max() > 32.0 or (hold - dry).min() < 2.5:
        return False
    seconds = float((damping / (hold - dry))[angle[free] < math.radians(80)].sum() * (angle[1] - angle[0]))
    return 2.0 < seconds < 6.0


def _with_stops(door: Model, values: list[float] | tuple[float, ...], widest: float) -> Model:
    """The same door between frame and widest opening, with its values.

    The frame gives way a little to the spring, so that the shut door rests at angle zero.
    """
    still = door.with_values(list(values)).without_dry()
    pressing = float(still.wrench(still.mechanism.expand((0.0, 0.0), (0.0,), {}, FLOATS), FLOATS)[0])
    frame = EndStop(FRAME, at=max(pressing, 0.0) / _STOPS[0], side="lowest")
    stops = (frame, EndStop(WIDEST, at=widest))
    with_stops = replace(door, elements=(*door.elements, *stops), values={})
    return with_stops.with_values([*values, *_STOPS, *_STOPS])


def _hinge(model: Model) -> Hinge:
    assert isinstance(model.mechanism, Hinge)
    return model.mechanism


def _log_uniform(rng: np.random.Generator, low: tuple[float, ...], high: tuple[float, ...]) -> list[float]:
    return [float(x) for x in np.exp(rng.uniform(np.log(low), np.log(high)))]


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


SUBJECT = "WB Sys Redo"
MARKERS = tuple(f"WB_{part}{i}" for part in ("Door", "Frame") for i in range(1, 11))
"""In file order (FORMATS, Motion capture)."""
HINGE_MARKERS = tuple(MARKERS[i - 1] for i in (13, 14, 16, 17, 19, 20))
BODY_MARKERS = (*MARKERS[:10], *HINGE_MARKERS)
_NOISE_M, _HIDDEN, _HIDDEN_SENSOR = 3e-4, 0.05, 0.6
_STATIC_S = 4.0
PAPER_SESSION = Session(
    0.01 * (1058 + 900 - 1), 5.5, 54.73, blocks=(("train", 48.1), ("test", 32.95), ("train", 8.72)), tail_s=5.0
)
"""The authors' window begins with Vicon frame 1058 + 900, and frame 1 is time zero (FORMATS, Door)."""


def door_twin(
    seed: int,
    *,
    variant: Variant | None = None,
    spring_order: int = 3,
    session: Session | None = None,
    one_way: bool = False,
    never_closed: bool = False,
    instruments: Instruments | None = None,
) -> DoorTwin:
    """A random door with its handle, hand and instruments; the handle is that of `write_handle_twin(seed=seed)`.

    `one_way`: only ever pushed open, slowly, and not recorded while it closes; `never_closed`: a wedge keeps it open.
    """
    rng = np.random.default_rng([seed, 20])
    variant = "laminar" if variant is None else variant
    model = random_door(rng, variant=variant, spring_order=spring_order)
    if never_closed:
        wedge = math.radians(float(rng.uniform(15, 25)))
        parts = tuple(replace(e, at=wedge) if isinstance(e, EndStop) and e.name == FRAME else e for e in model.elements)
        model = replace(model, elements=parts)
    clocks = [DeviceClock(float(rng.uniform(low, 4.0)), float(rng.uniform(-60, 60))) for low in (-2.0, 0.3)]
    phi = random_handle(np.random.default_rng([seed, 0]))
    return dress(
        model, phi, seed, session or Session(), clocks, one_way=one_way, variant=variant, instruments=instruments
    )


def dress(
    model: Model,
    phi: FloatArray,
    seed: int,
    session: Session,
    clocks: list[DeviceClock],
    *,
    one_way: bool = False,
    variant: Variant = "laminar",
    gravity: float = STANDARD_GRAVITY,
    instruments: Instruments | None = None,
) -> DoorTwin:
    """A given door with sensor, markers and a person; clocks: of IMU and load cell."""
    rng = np.random.default_rng([seed, 23])
    R, r = sensor_pose(rng)
    stops = {e.name: e.at for e in model.elements if isinstance(e, EndStop)}
    inertia, stiffness = model.values["I"], float(rng.uniform(140, 300))
    R_capture_world, r_capture_hinge, yaw = capture_frame(rng)
    return DoorTwin(
        model=model,
        phi=phi,
        R_hinge_sensor=R,
        r_hinge_sensor=r,
        r_hinge_grip=r + np.array([rng.uniform(-0.02, 0.05), -rng.uniform(0.05, 0.09), rng.uniform(-0.08, 0.08)]),
        arm=Arm(stiffness, 2 * float(rng.uniform(0.35, 0.7)) * math.sqrt(stiffness * inertia)),
        phases=plan(
            rng, session, stops[FRAME], stops[WIDEST], vigour=min(1.0, math.sqrt(7.0 / inertia)), one_way=one_way
        ),
        session=session,
        places=marker_places(rng, R, r),
        R_capture_world=R_capture_world,
        r_capture_hinge=r_capture_hinge,
        yaw=yaw,
        imu=clocks[0],
        load_cell=clocks[1],
        seed=seed,
        variant=variant,
        gravity=gravity,
        instruments=instruments or Instruments(),
    )


def paper_door_twin(phi: FloatArray, *, seed: int | None = None) -> DoorTwin:
    """The paper's door in the authors' session; with a seed, other values on the same links and zones."""
    rng = None if seed is None else np.random.default_rng([seed, 24])
    # samples of one instant: Vicon 1058, load cell 2082, IMU 787, each decimated to 100 Hz (FORMATS, Door)
    clocks = [DeviceClock(0.01 * (first - 1058), 0.0) for first in (787, 2082)]
    return dress(paper_door(rng), phi, seed or 0, PAPER_SESSION, clocks, gravity=9.81)


def door_recordings(
    twin: DoorTwin, truth: DoorTruth
) -> tuple[Recording, Recording, Recording, Recording, dict[str, Any]]:
    """Markers of the session and of the static file, load cell, IMU: as stored; and truth.json."""
    rng, tools = np.random.default_rng([twin.seed, 25]), twin.instruments
    seconds = twin.session.duration_s
    cell_s, imu_s = (device_times(seconds, clock) for clock in (twin.load_cell, twin.imu))
    stored, zero = _stored_wrench(rng, twin, truth, cell_s)
    moved = _sensor_motion(twin, truth, twin.imu.true(imu_s))
    a, w, _ = imu_signals(rng, tools, moved, R_SENSOR_IMU, IMU_PLACE)
    session, static = marker_recordings(rng, twin, truth)
    cell, imu = load_cell_recording(cell_s, stored[None]), imu_recording(imu_s, a, w)
    return session, static, cell, imu, _truth(twin, truth, zero)


def write_door_twin(
    folder: Path,
    *,
    seed: int = 0,
    variant: Variant | None = None,
    spring_order: int = 3,
    one_way: bool = False,
    never_closed: bool = False,
    session: Session | None = None,
    instruments: Instruments | None = None,
) -> Path:
    """A random door: recordings, handle/ with the handle's own experiment, body.yaml, truth.json; returns body.yaml."""
    twin = door_twin(
        seed,
        variant=variant,
        spring_order=spring_order,
        one_way=one_way,
        never_closed=never_closed,
        session=session,
        instruments=instruments,
    )
    markers, static, cell, imu, truth = door_recordings(twin, simulate_door(twin))
    write_vicon(folder / "Trajectories.csv", markers)
    write_vicon(folder / "Static.csv", static)
    write_dspace(folder / "wrench.mat", cell)
    write_microstrain(folder / "imu.csv", imu, g=twin.gravity)
    write_text(folder / "truth.json", json.dumps(truth, indent=1) + "\n")
    write_handle_twin(folder / "handle", seed=seed)
    write_text(folder / "body.yaml", _experiment(twin))
    return folder / "body.yaml"


def write_any_door_twin(folder: Path, *, seed: int | None = None, poor: bool = False) -> Path:
    """The paper's door in its authors' layout without a seed, a random one with it; `poor`: only ever seen opening."""
    if seed is None and not poor:
        return write_paper_door_twin(folder)
    return write_door_twin(folder, seed=seed or 0, one_way=poor)


def write_paper_door_twin(folder: Path, *, seed: int | None = None) -> Path:
    """The door in the authors' layout, so that the experiment file that ships with palpate runs on it.

    Without a seed the truth is the paper's Table, the handle's as well. The door's truth is door-truth.json.
    """
    source = shipped_experiments()["door"]
    write_paper_twin(folder, "door-handle", seed=seed)
    handle = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    twin = paper_door_twin(np.array([handle["phi"][name] for name in PHI_NAMES]), seed=seed)
    markers, static, cell, imu, truth = door_recordings(twin, simulate_door(twin))
    data = folder / "door" / "data"
    write_vicon(data / "Trajectories.csv", markers)
    write_vicon(data / "Static.csv", static)
    write_dspace(data / "exp1_021.mat", cell)
    write_microstrain(data / "IMU_Door.csv", imu, g=twin.gravity)
    write_text(folder / "door-truth.json", json.dumps(truth, indent=1) + "\n")
    return write_own_experiment(folder, source, "door-truth.json")


def marker_recordings(rng: np.random.Generator, twin: DoorTwin, truth: DoorTruth) -> tuple[Recording, Recording]:
    """What the cameras store of the session, and of the shut door before it."""
    t = np.arange(round(twin.session.duration_s * CAPTURE_HZ)) / CAPTURE_HZ
    points = markers_in_capture(twin, truth.at("angle", t))
    points += _NOISE_M * rng.normal(size=points.shape)
    points[:, :3][_hidden(rng, (len(t), 3), _HIDDEN_SENSOR)] = np.nan
    points[:, 3:][_hidden(rng, (len(t), len(MARKERS) - 3), _HIDDEN)] = np.nan
    points[truth.at("recorded", t) < 1.0] = np.nan
    still = markers_in_capture(twin, np.zeros(round(_STATIC_S * CAPTURE_HZ)))
    # before the session somebody moved the free-standing frame a little
    knocked = exp_rotation(np.radians(0.3) * rng.normal(size=3) * [1, 1, 0.3])
    centre = still.mean(axis=(0, 1))
    still = (still - centre) @ knocked.T + centre + rng.normal(0, 0.01, 3)
    still = np.asarray(still + _NOISE_M * rng.normal(size=still.shape), dtype=float)
    return marker_file(t, points, SUBJECT, MARKERS), marker_file(t[: len(still)], still, SUBJECT, MARKERS)


def _hidden(rng: np.random.Generator, shape: tuple[int, int], share: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Stretches in which a marker is not seen, 0.05 to 1 s, longer where much is hidden."""
    hidden = np.zeros(shape, dtype=bool)
    longest = 1.0 + 4.0 * share**2
    while hidden.mean() < share:
        first, length = int(rng.integers(shape[0])), int(CAPTURE_HZ * rng.uniform(0.05, longest))
        hidden[first : first + length, rng.integers(shape[1])] = True
    return hidden


def _sensor_motion(twin: DoorTwin, truth: DoorTruth, times_s: FloatArray) -> Motion:
    return sensor_motion(twin, times_s, truth.at("speed", times_s), truth.at("acceleration", times_s))


def _stored_wrench(
    rng: np.random.Generator, twin: DoorTwin, truth: DoorTruth, cell_s: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(samples, 6) and the zero error: person - handle's A phi + zero + noise (FORMATS, Sign), in steps."""
    true_s, tools = twin.load_cell.true(cell_s), twin.instruments
    step = np.repeat([tools.force_step, tools.moment_step], 3)
    fine = replace(tools, force_step=1e-12, moment_step=1e-12)  # the steps come after the person
    handle, zero = load_cell_signals(
        rng, np.random.default_rng([twin.seed, 26]), fine, _sensor_motion(twin, truth, true_s), twin.phi
    )
    return np.round((handle + person_wrench(twin, truth, true_s)) / step) * step, zero


def _truth(twin: DoorTwin, truth: DoorTruth, zero: FloatArray) -> dict[str, Any]:
    model = twin.model
    stops = [e for e in model.elements if isinstance(e, EndStop)]
    own = replace(model, elements=tuple(e for e in model.elements if e not in stops), values={})
    parameters = {n: {"value": model.values[n], "unit": p.unit} for n, p in own.parameters.items()}
    linkage = _linkage(model)
    return {
        "palpate_truth": 1,
        "parameters": parameters,
        "shapes": {n: {"value": v, "unit": "rad/s" if n.endswith("v_s") else "rad"} for n, v in own.shapes.items()},
        "variant": twin.variant,
        "linkage": {"lengths": list(linkage.lengths), "assembly": linkage.assembly},
        "I_whole": twin.whole.values["I"],
        "phi": dict(zip(PHI_NAMES, twin.phi.tolist(), strict=True)),
        "handle": {"inertia_about_hinge": twin.handle_inertia},
        "sensor": {"R_hinge_sensor": twin.R_hinge_sensor.tolist(), "r_hinge_sensor": twin.r_hinge_sensor.tolist()},
        "clocks": {
            n: {"offset_s": c.offset_s, "drift_ppm": c.drift_ppm}
            for n, c in (("imu", twin.imu), ("wrench", twin.load_cell))
        },
        "preload": zero.tolist(),
        "angle": {
            "first_rad": float(truth.angle[0]),
            "smallest_rad": float(truth.angle.min()),
            "largest_rad": float(truth.angle.max()),
        },
        "stops": {e.name: {"at_rad": e.at, "k": model.values[f"{e.name}_k"]} for e in stops},
        "R_capture_hinge": hinge_in_capture(twin).tolist(),
        "r_capture_hinge": twin.r_capture_hinge.tolist(),
        "up_in_capture_frame": twin.R_capture_world[:, 2].tolist(),
        "seed": twin.seed,
        "note": "parameters: of the body alone; I_whole with the handle. device time = capture time * (1 + drift) + "
        "offset. preload: the load cell's zero as stored, N and N m. angle: zero where the frame stops the door. "
        "hinge frame: z down, x along the shut door",
    }


def _linkage(model: Model) -> FourBar:
    assert isinstance(model.mechanism, Hinge)
    assert isinstance(model.mechanism.linkage, FourBar)
    return model.mechanism.linkage


def _experiment(twin: DoorTwin) -> str:
    linkage, segments = _linkage(twin.model), twin.session.segments

    def spans(name: str) -> str:
        return ", ".join(f"[{a:g}, {b:g}]" for a, b in segments.get(name, []))

    return _EXPERIMENT.format(
        seed=twin.seed,
        body=", ".join(BODY_MARKERS),
        axis=", ".join(HINGE_MARKERS),
        sensor=", ".join(MARKERS[:3]),
        towards=MARKERS[10],
        turned=T_MARKER[:3, :3].tolist(),
        shifted=T_MARKER[:3, 3].tolist(),
        rotation=np.round(R_SENSOR_IMU, 9).tolist(),
        translation=IMU_PLACE.tolist(),
        lengths=list(linkage.lengths),
        assembly=linkage.assembly,
        static=spans("static"),
        quasi_static=spans("quasi_static"),
        train=spans("train"),
        test=spans("test"),
    )


_EXPERIMENT = """\
# A simulated door (seed {seed}). The truth is in truth.json; nothing but the reference column reads it.
palpate: 1
title: Simulated door {seed}
object: door
stage: body
model_of: body                   # the pre-sensor part; or whole: with the handle
recordings:
  mocap: {{file: Trajectories.csv, format: vicon-csv}}
  static: {{file: Static.csv, format: vicon-csv}}        # the door is shut in it
  wrench: {{file: wrench.mat, format: dspace-mat, device: Platform}}
  imu: {{file: imu.csv, format: microstrain-csv}}
markers:
  body: [{body}]
  hinge: {{axis: [{axis}], towards: {towards}, points: down}}
  sensor:                        # three markers on the sensor module, and the pose of their frame in the sensor frame
    markers: [{sensor}]
    offset:
      rotation: {turned}
      translation: {shifted}
imu_pose:                        # of the IMU in the sensor frame, from the drawing
  rotation: {rotation}
  translation: {translation}
handle: handle/handle.yaml       # identified first, or a model.json
clocks: auto
mechanism: {{linkage: {{lengths: {lengths}, assembly: {assembly}}}}}
elements:                        # added, or replacing the object's element of that name
- {{type: zone-damper, name: b_bc, acts_on: closer, when: opening, above: 69 deg, width: 2 deg, estimate: true}}
- {{type: zone-damper, name: b_s, acts_on: closer, when: closing, above: 25 deg, width: 2 deg,
   otherwise: b_l, estimate: true}}
# - {{type: stribeck, name: b_st, v_s: 0.1}}             # friction that fades with speed
# - {{type: hysteresis, name: hysteresis, acts_on: closer, knots: [107 deg, 190 deg, 280 deg], basis: polynomial}}
# - {{type: spring, name: spring, acts_on: closer, order: 4}}
segments:                        # seconds on the markers' clock
  static: {static}     # shut, nobody touches the handle: the sensor's preload
  quasi_static: {quasi_static}
  train: [{train}]
  test: [{test}]
reference: {{label: truth, file: truth.json}}
"""
