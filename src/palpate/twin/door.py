"""A simulated door with a closer: the person who moves it, true models, and the experiment in the authors' formats."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from scipy.ndimage import binary_dilation

from palpate.elements import EndStop
from palpate.errors import PalpateError
from palpate.identify.shapes import with_shapes
from palpate.mechanisms import FourBar
from palpate.model import Model, load_object
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS
from palpate.physics.inertia import move_phi
from palpate.physics.motion import Motion, exp_rotation, minimum_jerk, nearest_rotation, wrench_transmission
from palpate.recording import Recording
from palpate.runtime import Stepper, StepStatus
from palpate.twin import instruments as tools
from palpate.twin.handle import random_handle, write_handle_twin

_RELEASE_S, _GRASP_S = 0.15, 0.3
_LET_GO_S = 6.5
"""How long the door is left alone."""
_SHAKING_HZ = (0.6, 3.0)
_STRONGEST = 55.0
"""N m, the most that an arm does about the hinge; the torque goes to it smoothly."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One thing that a person does: go to an angle, stay, perhaps shake; or let go."""

    seconds: float
    target: float | None
    """rad; None: nobody touches the door."""
    moving_s: float = 0.0
    """How long going there takes; the rest of the phase stays there."""
    shake: float = 0.0
    """Amplitude, rad."""
    recorded: bool = True


@dataclass(frozen=True, slots=True)
class Session:
    """What is done when, s on the markers' clock: a door left alone, a sweep in steps, and dynamic blocks."""

    start_s: float = 0.0
    """Until then nobody touches the door and nothing is recorded of use."""
    still_s: float = 5.5
    sweep_s: float = 54.7
    step: float = math.radians(4.0)
    """Step of the sweep, rad (paper, Data Collection)."""
    blocks: tuple[tuple[str, float], ...] = (("train", 48.1), ("test", 33.0), ("train", 8.7))
    tail_s: float = 4.0

    @property
    def duration_s(self) -> float:
        """Length of the whole recording."""
        return self.start_s + self.still_s + self.sweep_s + sum(s for _, s in self.blocks) + self.tail_s

    @property
    def segments(self) -> dict[str, list[tuple[float, float]]]:
        """Name -> from, to (s), a little inside of what happens."""
        sweep = self.start_s + self.still_s
        spans = {
            "static": [(self.start_s + 0.5, sweep - 1.0)],
            "quasi_static": [(sweep + 0.5, sweep + self.sweep_s - 0.2)],
        }
        t = sweep + self.sweep_s
        for name, seconds in self.blocks:
            spans.setdefault(name, []).append((t + 0.2, t + seconds - 0.2))
            t += seconds
        return {name: [(round(a, 2), round(b, 2)) for a, b in pairs] for name, pairs in spans.items()}


def intention(
    phase: Phase, rng: np.random.Generator, t: FloatArray, start: float, *, held: bool
) -> tuple[FloatArray, FloatArray]:
    """The wanted angle (rad) and the grip, 0 (let go) to 1, at times t of a phase (s) that begins at the angle `start`.

    `held`: the hand was on the door before.
    """
    if phase.target is None:
        grip = 1.0 - minimum_jerk(t / _RELEASE_S) if held else np.zeros_like(t)
        return np.full_like(t, start), grip
    angle = start + (phase.target - start) * minimum_jerk(t / max(phase.moving_s, 0.01))
    if phase.shake > 0:
        edge = minimum_jerk(t / 0.4) * minimum_jerk((phase.seconds - t) / 0.4)
        angle = angle + phase.shake * edge * tools.smooth_noise(rng, t, *_SHAKING_HZ, 4)
    return angle, np.ones_like(t) if held else minimum_jerk(t / _GRASP_S)


def plan(
    rng: np.random.Generator, session: Session, shut: float, widest: float, vigour: float, one_way: bool
) -> tuple[Phase, ...]:
    """The phases of a session between the stops `shut` and `widest` (rad).

    `vigour`: a factor of the speeds. `one_way`: the door is only ever pushed open, slowly; while it closes nothing is
    recorded.
    """
    phases = [Phase(session.start_s + session.still_s, None), *_sweep(session, shut, widest, one_way)]
    for _, seconds in session.blocks:
        phases += _slow_openings(rng, seconds, widest) if one_way else _strokes(rng, seconds, shut, widest, vigour)
    return (*phases, Phase(session.tail_s, None, recorded=not one_way))


def _sweep(session: Session, shut: float, widest: float, one_way: bool) -> list[Phase]:
    """Open and back in steps with holds between."""
    seconds, count = session.sweep_s, int((widest - math.radians(1.0) - shut) / session.step)
    up = [shut + session.step * (i + 1) for i in range(count)]
    if one_way:
        each = (seconds - _LET_GO_S) / len(up)
        return [*(Phase(each, a, 0.4 * each) for a in up), Phase(_LET_GO_S, None, recorded=False)]
    targets = [*up, *up[-2::-1], shut - math.radians(1.5)]
    each = (seconds - 1.0) / len(targets)
    return [*(Phase(each, a, 0.4 * each) for a in targets), Phase(1.0, None)]


def _slow_openings(rng: np.random.Generator, seconds: float, widest: float) -> list[Phase]:
    each = seconds / max(1, round(seconds / 13.0))
    pushed = max(0.5 * each, each - _LET_GO_S)
    close = Phase(each - pushed, None, recorded=False)
    ends = (widest - math.radians(float(rng.uniform(4, 10))) for _ in range(round(seconds / each)))
    return [phase for end in ends for phase in (Phase(pushed, end, 0.95 * pushed), close)]


_CYCLE = ("let go", "swing", "shake", "slam", "swing", "shake", "shut", "swing", "shake", "swing")


def _strokes(rng: np.random.Generator, seconds: float, shut: float, widest: float, vigour: float) -> list[Phase]:
    """Strokes at different speeds through all zones, shaking, letting go, hitting the stops: in any order."""
    phases, todo, left, at, misses = list[Phase](), list[str](), seconds, shut, 0
    while left > 1.0 and misses < 3 * len(_CYCLE):  # from some places nothing is short enough
        if not todo:
            todo = [str(kind) for kind in rng.permutation(_CYCLE)]
            if left > 12.0:  # a door that closes by itself is in every block that is long enough
                todo.remove("let go")
                todo.insert(len(todo) - 1, "let go")
        new = _stroke(rng, todo.pop(), at, shut, widest, vigour)
        length = sum(p.seconds for p in new)
        misses = misses + 1 if length > left else 0
        if misses:
            continue
        phases += new
        left -= length
        at = shut if new[-1].target is None else new[-1].target
    return [*phases, Phase(left, at)] if left > 1e-9 else phases


def _stroke(rng: np.random.Generator, kind: str, at: float, shut: float, widest: float, vigour: float) -> list[Phase]:
    def go(to: float, fastest: float, stay: float) -> Phase:
        moving = max(0.6, 1.875 * abs(to - at) / fastest)  # the peak speed of a minimum-jerk stroke
        return Phase(moving + stay, to, moving)

    def somewhere(low: float, high: float) -> float:
        return float(rng.uniform(shut + low * (widest - shut), shut + high * (widest - shut)))

    speed, stay = vigour * float(rng.uniform(0.6, 2.0)), float(rng.uniform(0.05, 0.4))
    match kind:
        case "shake":
            to = somewhere(0.08, 0.92)
            seconds = float(rng.uniform(2.5, 4.0))
            return [Phase(seconds, to, 0.6 * seconds, vigour * math.radians(float(rng.uniform(5.0, 12.0))))]
        case "slam":
            return [go(widest + math.radians(4.0), min(speed, 1.3), 0.4)]
        case "shut":
            return [go(shut - math.radians(3.0), min(speed, 1.0), 0.5)]
        case "let go":
            return [go(somewhere(0.65, 0.95), speed, stay), Phase(_LET_GO_S, None)]
        case _:
            far = somewhere(0.6, 0.97) if at < shut + 0.5 * (widest - shut) else somewhere(0.05, 0.5)
            return [go(far, speed, stay)]


FRAME, WIDEST = "frame", "widest"
"""The end stops: where the door is shut, and where it can go no further."""
TABLE = (6.53, 4.75, 1.79, 7.52, 4.47, 2.57, 18.01, -17.10, 5.34, -0.70)
"""The paper's Table in the order of the object file: I, b_v, b_c, b_bc, b_s, b_l, c_0 to c_3."""
_STOPS = (2e4, 1e4)
"""N m/rad and N m s/rad2: rubber."""


Change = Callable[[np.random.Generator, Model], Model]


def paper_door(rng: np.random.Generator | None = None) -> Model:
    """The paper's Table with end stops; with a generator, other values on the same links and zones."""
    if rng is not None:
        return random_door(rng, like_paper=True)
    return _with_stops(load_object("door").with_values(TABLE), math.radians(92.0))


def stop_at(model: Model, name: str) -> float:
    """Where the end stop of this name is, rad."""
    return next(e.stops.at for e in model.elements if e.stops is not None and e.name == name)


def random_door(rng: np.random.Generator, *, like_paper: bool = False, change: Change | None = None) -> Model:
    """A plausible door: its loop closes from 0 to 95 deg, its spring closes it everywhere, in 2 to 7 s from 80 deg.

    `like_paper`: with the links and zones of the paper's. `change`: what else it has, before the end stops are added.
    """
    base = load_object("door")
    for _ in range(2000):
        door = _draw(rng, base, like_paper)
        if door is not None:
            widest = math.radians(float(rng.uniform(86, 94)))
            door = _with_stops(door if change is None else change(rng, door), widest)
            if _plausible(door):
                return door
    raise PalpateError("no plausible door in 2000 draws")


def _draw(rng: np.random.Generator, base: Model, like_paper: bool) -> Model | None:
    """A door that may be implausible; None where its links do not close."""
    linkage = FourBar(range=(0.0, math.radians(95.0))) if like_paper else _links(rng)
    if linkage is None:
        return None
    shapes: dict[str, float] = {}
    if not like_paper:
        degrees = {"b_s.above": (15, 35), "b_s.width": (1, 4), "b_bc.above": (55, 78), "b_bc.width": (1, 4)}
        shapes = {name: math.radians(rng.uniform(*span)) for name, span in degrees.items()}
    low, high = (3.0, 1.0, 0.6, 4.0, 2.5, 1.2), (15.0, 6.0, 2.5, 12.0, 7.0, 4.0)
    values = [*np.exp(rng.uniform(np.log(low), np.log(high))).tolist(), *_spring(rng, linkage)]
    linked = replace(base, mechanism=replace(base.mechanism, linkage=linkage))
    return with_shapes(linked, shapes).with_values(values)


def _links(rng: np.random.Generator) -> FourBar | None:
    """Other links, which close over the door's range and stay clear of dead centres."""
    L1, L2, L3, L4 = (float(f"{x:.4f}") for x in np.array(FourBar().lengths) * rng.uniform(0.85, 1.15, 4))
    try:
        links = FourBar((L1, L2, L3, L4), range=(-0.1, math.radians(105.0)))
    except PalpateError:
        return None
    _, nu, _ = links.transmit(np.radians(np.linspace(-3, 95, 99)), ARRAYS)
    ok = bool(np.min(nu) > 0.7 and np.max(nu) < 6.5)
    return replace(links, range=(0.0, math.radians(95.0))) if ok else None


def _spring(rng: np.random.Generator, linkage: FourBar) -> list[float]:
    """A preloaded spring that stiffens or softens somewhat, as a cubic polynomial of the pinion's angle."""
    ends, nu, _ = linkage.transmit(np.radians([0.0, 90.0]), ARRAYS)
    shut, wide = rng.uniform(5, 12) / nu[0], rng.uniform(13, 28) / nu[1]
    bent = rng.uniform(-0.3, 0.3, 2) * (wide - shut)
    x = Polynomial([-ends[0], 1.0]) / (ends[1] - ends[0])
    torque = Polynomial([-float(c) for c in (shut, wide - shut - bent.sum(), *bent)])(x)
    return [float(c) for c in torque.coef]


def _plausible(model: Model) -> bool:
    """Whether the spring closes the door everywhere, against friction, and neither at once nor never."""
    angle = np.radians(np.linspace(0.5, 92, 184))
    hold, slow = model.along(angle), -0.5
    damping = (model.along(angle, slow) - hold) / slow
    resting = model.mechanism.expand((angle, 0.0 * angle), (0.0 * angle,), ARRAYS)
    dry = sum(abs(ratio[0]) * level for ratio, level in model.dry_forces(resting, ARRAYS)) + 0.0 * angle
    free = angle < stop_at(model, WIDEST)
    hold, damping, dry = hold[free], damping[free], dry[free]
    if hold.min() < 4.0 or hold.max() > 32.0 or (hold - dry).min() < 2.5:
        return False
    seconds = float((damping / (hold - dry))[angle[free] < math.radians(80)].sum() * (angle[1] - angle[0]))
    return 2.0 < seconds < 6.0


def _with_stops(door: Model, widest: float) -> Model:
    """The same door between frame and widest opening.

    The frame gives way a little to the spring, so that the shut door rests at angle zero.
    """
    frame = EndStop(FRAME, at=max(float(door.along(0.0)), 0.0) / _STOPS[0], side="lowest")
    with_stops = replace(door, elements=(*door.elements, frame, EndStop(WIDEST, at=widest)), values={})
    return with_stops.with_values([*door.p, *_STOPS, *_STOPS])


DT_S = 5e-4
# Where markers 4 to 20 are about, cm in B: seven on the door, then the frame with six beside the hinge.
_PLACES_CM = (
    [[68, 7, -10], [70, 7, -53], [69, 2, -57], [11, 0, -53], [11, -5, -57], [10, -5, 11], [11, 0, -7]],
    [[96, -2, -65], [84, -2, 52], [0, 0, 80], [0, 0, 69], [-6, -9, 66], [0, 0, 5], [0, 0, -6], [-6, -10, -60]],
    [[0, 0, -69], [0, 0, -80]],
)
_TREMOR = 0.25
"""N m, twice the standard deviation of what the hand adds without meaning to."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DoorTwin(tools.BodyTwin):
    """All that determines a simulated door experiment. Frame B is on the hinge: z down, x along the shut door.

    The first ten of its markers move with the door, ten stay. The model has end stops.
    """

    stiffness: float
    """N m/rad of the person's arm about the hinge: tau = K (wanted - angle) + D (wanted' - speed) (Hogan 1985)."""
    damping: float
    """N m s/rad."""
    phases: tuple[Phase, ...]
    session: Session
    R_capture_hinge: FloatArray
    """At the shut door; the hinge is upright, z down, and the door opens towards y."""
    r_capture_hinge: FloatArray

    @property
    def handle_inertia(self) -> float:
        """Inertia of the handle about the hinge, kg m2."""
        return float(move_phi(self.phi, self.R_body_sensor[0], self.r_body_sensor[0])[9])

    @property
    def whole(self) -> Model:
        """Body and handle: what the person moves."""
        return replace(self.model, values={**self.model.values, "I": self.model.values["I"] + self.handle_inertia})

    def moved(self, truth: DoorTruth, t: FloatArray) -> Motion:
        """Motion of B at these times; the hinge is upright, z points down."""
        angle, speed, acceleration = (truth.at(name, t) for name in ("angle", "speed", "acceleration"))
        hinge = self.model.mechanism.with_options(inclination=math.pi)
        return hinge.motion(t, np.stack([angle, speed], axis=1), acceleration[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class DoorTruth:
    """What really happened: series of (steps,) on the markers' clock."""

    times_s: FloatArray
    angle: FloatArray
    """rad; zero where the door is shut, positive when open."""
    speed: FloatArray
    acceleration: FloatArray
    torque: FloatArray
    """Of the person on body and handle about the hinge, N m."""
    pushed: FloatArray
    """The torque that the stepper got; it differs from `torque` by the stepper's error of first order."""
    grip: FloatArray
    """0 where nobody touches the door."""
    status: FloatArray
    """`StepStatus` of each step."""
    recorded: FloatArray
    """0 where the cameras are off."""

    def at(self, name: str, times_s: FloatArray) -> FloatArray:
        """One of the series, interpolated; before its beginning and after its end it is constant."""
        series: FloatArray = getattr(self, name)
        return np.interp(times_s, self.times_s, series)


def simulate_door(twin: DoorTwin, *, dt: float = DT_S) -> DoorTruth:
    """The arm moves body and handle through the stepper, with real sticking.

    A step is read as leapfrog (Hairer, Lubich, Wanner, Geometric Numerical Integration, I.1.4): angles at the steps,
    speeds between them, so speed and acceleration are central differences. While the door slides free of its stops the
    torque is what that motion needs (inverse dynamics), so the balance holds to second order in dt.
    """
    rng = np.random.default_rng([twin.seed, 21])
    stepper, out, wrench = Stepper(twin.whole, dt), [0.0] * 3, [0.0] * 6
    K, D, most, tanh = twin.stiffness, twin.damping, _STRONGEST, math.tanh
    shut, widest = (stop_at(twin.model, name) for name in (FRAME, WIDEST))
    stepper.reset((shut, 0.0))
    for _ in range(round(1.5 / dt)):  # the spring presses the door onto its frame, where it rests
        stepper.step(wrench, out)
    stepper.reset((out[0], 0.0))
    places = np.linspace(shut, widest, 100)  # where no stop is pressed
    learned = places, 0.8 * twin.model.along(places)  # people know most of the torque that holds the door there
    q, v = stepper.state.tolist()
    aim, held = q, False
    rows, grips, recorded = list[tuple[float, ...]](), list[FloatArray](), list[FloatArray]()
    ends = [0, *(round(s / dt) for s in accumulate(phase.seconds for phase in twin.phases))]
    for phase, (first, last) in zip(twin.phases, pairwise(ends), strict=True):
        t = np.arange(last - first, dtype=float) * dt
        angles, grip_levels = intention(phase, rng, t, aim if held else q, held=held)
        tremor = _TREMOR * tools.smooth_noise(rng, t, 0.3, 3.0, 8)
        rate = np.diff(angles, append=angles[-1:]) / dt
        ahead = np.interp(angles, *learned) + D * rate + tremor
        for goal, more, grip in zip(angles.tolist(), ahead.tolist(), grip_levels.tolist(), strict=True):
            tau = most * tanh(grip * (K * (goal - q) - D * v + more) / most)
            wrench[5] = tau
            status = stepper.step(wrench, out)
            rows.append((q, v, out[1], tau, status))
            if phase.target is None and grip == v == out[1] == 0.0 and q == out[0]:  # left alone, it goes on resting
                rows += rows[-1:] * (last - len(rows))
                break
            q, v = out[0], out[1]
        grips.append(grip_levels)
        recorded.append(np.full(len(t), float(phase.recorded)))
        held = phase.target is not None
        aim = float(angles[-1]) if len(t) else aim
    angle, before, after, pushed, states = np.array(rows).T
    if (states == StepStatus.NOT_FINITE).any():
        raise PalpateError(f"the simulated door {twin.seed} came to an impossible state")
    speed, acceleration = (before + after) / 2, (after - before) / dt
    slides = (before * after > 0) & ~binary_dilation(states == StepStatus.AT_LIMIT)  # and one step more on either side
    k = twin.model.mechanism.expand((angle, speed), (acceleration,), ARRAYS)
    needed = np.asarray(twin.whole.wrench(k, ARRAYS)[0], dtype=float)
    times_s, torque = np.arange(len(angle), dtype=float) * dt, np.where(slides, needed, pushed)
    grip, seen = np.concatenate(grips), np.concatenate(recorded)
    return DoorTruth(times_s, angle, speed, acceleration, torque, pushed, grip, states, seen)


def marker_places(rng: np.random.Generator, R: FloatArray, r: FloatArray) -> FloatArray:
    """(20, 3) m in B at the shut door: three on the sensor module, seven on the door, ten on the frame."""
    module = np.array([[-0.018, -0.036, 0], [0, 0, 0], [0.04, 0, 0]])  # p1, p2, p3 in their own frame
    module[:, :2] += np.array([[1, 1], [0, 0], [1, 0]]) * rng.uniform(-0.004, 0.004, (3, 2))
    module = module @ nearest_rotation(tools.T_MARKER[:3, :3]).T + tools.T_MARKER[:3, 3]
    others = np.array([p for group in _PLACES_CM for p in group]) / 100.0
    on_axis = np.hypot(others[:, 0], others[:, 1]) == 0
    others += np.where(on_axis[:, None], [0.0, 0.0, 0.01], 0.015) * rng.uniform(-1, 1, others.shape)
    others[on_axis] += 5e-4 * rng.normal(size=(int(on_axis.sum()), 3))  # glued by eye
    return np.vstack([module @ R.T + r, others])


def markers_in_capture(twin: DoorTwin, angle: FloatArray) -> FloatArray:
    """(frames, 20, 3) m: ten markers turn with the door, ten stay."""
    points = np.broadcast_to(twin.places, (len(angle), *twin.places.shape)).copy()
    turned = exp_rotation(angle[:, None] * np.array([0.0, 0.0, 1.0]))
    points[:, :10] = points[:, :10] @ turned.transpose(0, 2, 1)
    return points @ twin.R_capture_hinge.T + twin.r_capture_hinge


def person_wrench(twin: DoorTwin, truth: DoorTruth, times_s: FloatArray) -> FloatArray:
    """Of the hand on the handle at these times, (samples, 6) N and N m in the sensor frame.

    Its moment about the hinge is the torque that moves the door; the hand also pulls along the door, lifts, and twists
    the handle, which does not move the door.
    """
    rng = np.random.default_rng([twin.seed, 22])
    t, grip, torque = truth.times_s, truth.grip, truth.torque
    noise = np.stack([tools.smooth_noise(rng, t, 0.05, 2.5, 10) for _ in range(5)]) * grip
    share = rng.uniform(-0.25, 0.25, 2)
    x, y, _ = twin.r_body_grip[0]
    along, lift = 14.0 * noise[0] + share[0] * torque, 12.0 * noise[1] + share[1] * torque
    twist = noise[2:] * np.array([1.0, 1.0, 0.6])[:, None]
    across = (torque - twist[2] + y * along) / x  # torque = x f_y - y f_x + n_z
    at_grip = np.stack([along, across, lift, *twist], axis=1)
    R = twin.R_body_sensor[0].T
    moved = at_grip @ wrench_transmission(R, R @ (twin.r_body_grip[0] - twin.r_body_sensor[0])).T
    return np.array([np.interp(times_s, t, moved[:, i]) for i in range(6)]).T


SUBJECT = "WB Sys Redo"
MARKERS = tuple(f"WB_{part}{i}" for part in ("Door", "Frame") for i in range(1, 11))
"""In file order (FORMATS, Motion capture)."""
HINGE_MARKERS = tuple(MARKERS[i - 1] for i in (13, 14, 16, 17, 19, 20))
BODY_MARKERS = (*MARKERS[:10], *HINGE_MARKERS)
_HIDDEN, _HIDDEN_SENSOR = 0.05, 0.6
_STATIC_S = 4.0
SESSION = Session()


def door_twin(
    seed: int, *, session: Session = SESSION, one_way: bool = False, draw: Callable[..., Model] = random_door
) -> DoorTwin:
    """A random door with its handle, hand and instruments; the handle is that of `write_handle_twin(seed=seed)`.

    `one_way`: only ever pushed open, slowly, and not recorded while it closes. `draw`: of a generator, makes the door.
    """
    rng = np.random.default_rng([seed, 20])
    model, phi = draw(rng), random_handle(np.random.default_rng([seed, 0]))
    return dress_door(model, phi, seed, session, tools.random_clocks(rng, -2.0, 0.3), one_way=one_way)


def dress_door(
    model: Model, phi: FloatArray, seed: int, session: Session, clocks: tools.Clocks, *, one_way: bool = False
) -> DoorTwin:
    """A given door with sensor, markers and a person."""
    rng = np.random.default_rng([seed, 23])
    # the sensor is on the side from which the door is pushed open, z away from the door
    roll = exp_rotation(np.array([0.0, 0.0, rng.uniform(-np.pi, np.pi)]))
    outwards = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])  # columns: x along the door, y down, z = -y of B
    R = exp_rotation(np.radians(2.0) * rng.normal(size=3)) @ outwards @ roll
    r = np.array([0.65, -0.05, 0.2]) + rng.uniform(-0.03, 0.03, 3)
    shut, widest = (stop_at(model, name) for name in (FRAME, WIDEST))
    inertia, stiffness = model.values["I"], float(rng.uniform(140, 300))
    R_capture_world = tools.tilted(rng, 0.3)
    r_capture_hinge = np.array([1.1, 0.1, 1.1]) + rng.uniform(-0.2, 0.2, 3)
    turned = exp_rotation(np.array([0.0, 0.0, rng.uniform(-np.pi, np.pi)]))
    return DoorTwin(
        model=model,
        phi=phi,
        R_body_sensor=R[None],
        r_body_sensor=r[None],
        r_body_grip=r + np.array([[rng.uniform(-0.02, 0.05), -rng.uniform(0.05, 0.09), rng.uniform(-0.08, 0.08)]]),
        stiffness=stiffness,
        damping=2 * float(rng.uniform(0.35, 0.7)) * math.sqrt(stiffness * inertia),
        phases=plan(rng, session, shut, widest, min(1.0, math.sqrt(7.0 / inertia)), one_way),
        session=session,
        places=marker_places(rng, R, r),
        R_capture_world=R_capture_world,
        R_capture_hinge=R_capture_world @ turned @ np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]]),
        r_capture_hinge=r_capture_hinge,
        imu=clocks[0],
        load_cell=clocks[1],
        seed=seed,
    )


def door_recordings(
    twin: DoorTwin, truth: DoorTruth
) -> tuple[Recording, Recording, Recording, Recording, dict[str, Any]]:
    """Markers of the session and of the static file, load cell, IMU: as stored; and truth.json."""
    rng, slow = (np.random.default_rng([twin.seed, stream]) for stream in (25, 26))

    def motion(true_s: FloatArray) -> Motion:
        return twin.sensor_motion(twin.moved(truth, true_s))

    def wrench(true_s: FloatArray) -> list[FloatArray]:
        return [person_wrench(twin, truth, true_s) - tools.handle_wrench(motion(true_s), twin.phi)]

    clocks = twin.imu, twin.load_cell
    cell, imu, zeros, _ = tools.record(rng, [slow], twin.instruments, clocks, twin.session.duration_s, motion, wrench)
    t = np.arange(round(twin.session.duration_s * tools.CAPTURE_HZ)) / tools.CAPTURE_HZ
    points = markers_in_capture(twin, truth.at("angle", t))
    points += twin.noise_m * rng.normal(size=points.shape)
    for markers, share in ((range(3), _HIDDEN_SENSOR), (range(3, len(MARKERS)), _HIDDEN)):
        tools.hide(rng, points, markers, share, longest_s=1.0 + 4.0 * share**2)
    points[truth.at("recorded", t) < 1.0] = np.nan
    still = markers_in_capture(twin, np.zeros(round(_STATIC_S * tools.CAPTURE_HZ)))
    # before the session somebody moved the free-standing frame a little
    knocked = exp_rotation(np.radians(0.3) * rng.normal(size=3) * [1, 1, 0.3])
    centre = still.mean(axis=(0, 1))
    still = (still - centre) @ knocked.T + centre + rng.normal(0, 0.01, 3)
    still = np.asarray(still + twin.noise_m * rng.normal(size=still.shape), dtype=float)
    session = tools.marker_recording(t, points, SUBJECT, MARKERS)
    shut = tools.marker_recording(t[: len(still)], still, SUBJECT, MARKERS)
    return session, shut, cell, imu, _truth(twin, truth, zeros[0])


def write_door_twin(folder: Path, twin: DoorTwin) -> Path:
    """Recordings, handle/ with the handle's own experiment, body.yaml, truth.json; returns body.yaml."""
    markers, static, cell, imu, truth = door_recordings(twin, simulate_door(twin))
    write_handle_twin(folder / "handle", seed=twin.seed)
    files = {"Trajectories.csv": markers, "Static.csv": static, "wrench.mat": cell, "imu.csv": imu}
    return tools.write_twin(folder, files, truth, "body.yaml", "door", _experiment(twin), g=twin.gravity)


def _truth(twin: DoorTwin, truth: DoorTruth, zero: FloatArray) -> dict[str, Any]:
    model, ends = twin.model, (truth.angle[0], truth.angle.min(), truth.angle.max())
    free = replace(model, elements=tuple(e for e in model.elements if e.stops is None), values={})
    linkage = model.to_dict()["mechanism"]["linkage"]
    return {
        "parameters": {n: {"value": model.values[n], "unit": p.unit} for n, p in free.parameters.items()},
        "shapes": {n: {"value": v, "unit": "rad/s" if n.endswith("v_s") else "rad"} for n, v in free.shapes.items()},
        "linkage": {key: linkage[key] for key in ("lengths", "assembly")},
        "I_whole": twin.whole.values["I"],
        "phi": tools.phi_truth(twin.phi),
        "handle": {"inertia_about_hinge": twin.handle_inertia},
        "sensor": {"R_hinge_sensor": twin.R_body_sensor[0].tolist(), "r_hinge_sensor": twin.r_body_sensor[0].tolist()},
        "clocks": tools.clocks_truth(imu=twin.imu, wrench=twin.load_cell),
        "preload": zero.tolist(),
        "angle": dict(zip(("first_rad", "smallest_rad", "largest_rad"), map(float, ends), strict=True)),
        "stops": {name: {"at_rad": stop_at(model, name), "k": model.values[f"{name}_k"]} for name in (FRAME, WIDEST)},
        "R_capture_hinge": twin.R_capture_hinge.tolist(),
        "r_capture_hinge": twin.r_capture_hinge.tolist(),
        "up_in_capture_frame": twin.R_capture_world[:, 2].tolist(),
        "seed": twin.seed,
        "note": "parameters: of the body alone; I_whole with the handle. device time = capture time * (1 + drift) + "
        "offset. preload: the load cell's zero as stored, N and N m. angle: zero where the frame stops the door. "
        "hinge frame: z down, x along the shut door",
    }


def _experiment(twin: DoorTwin) -> dict[str, Any]:
    """What the template of body.yaml leaves open."""
    linkage = twin.model.to_dict()["mechanism"]["linkage"]
    segments = {name: ", ".join(f"[{a:g}, {b:g}]" for a, b in spans) for name, spans in twin.session.segments.items()}
    return {
        "body": ", ".join(BODY_MARKERS),
        "axis": ", ".join(HINGE_MARKERS),
        "sensor": tools.sensor_text(MARKERS[:3]),
        "towards": MARKERS[10],
        "imu_pose": tools.imu_pose_text(),
        "lengths": linkage["lengths"],
        "assembly": linkage["assembly"],
        **dict.fromkeys(("static", "quasi_static", "train", "test"), ""),
        **segments,
    }
