"""A simulated door with a closer: true models, and the experiment in the authors' formats."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from palpate.elements import EndStop
from palpate.errors import PalpateError
from palpate.identify.shapes import with_shapes
from palpate.mechanisms import FourBar
from palpate.model import Model, load_object
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS
from palpate.physics.inertia import move_phi
from palpate.physics.motion import Motion, exp_rotation, nearest_rotation, wrench_transmission
from palpate.recording import Recording
from palpate.twin import instruments as tools
from palpate.twin.handle import random_handle, write_handle_twin
from palpate.twin.person import DT_S, Arm, Phase, Session, Truth, plan, simulate

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


def ends_of(model: Model) -> tuple[float, float]:
    """Where it is shut and where it can go no further, rad."""
    return stop_at(model, FRAME), stop_at(model, WIDEST)


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


# Where markers 4 to 20 are about, cm in B: seven on the door, then the frame with six beside the hinge.
_PLACES_CM = (
    [[68, 7, -10], [70, 7, -53], [69, 2, -57], [11, 0, -53], [11, -5, -57], [10, -5, 11], [11, 0, -7]],
    [[96, -2, -65], [84, -2, 52], [0, 0, 80], [0, 0, 69], [-6, -9, 66], [0, 0, 5], [0, 0, -6], [-6, -10, -60]],
    [[0, 0, -69], [0, 0, -80]],
)
_STRONGEST, _TREMOR = 55.0, 0.25
"""N m, of the arm about the hinge."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DoorTwin(tools.BodyTwin):
    """All that determines a simulated door experiment. Frame B is on the hinge: z down, x along the shut door.

    The first ten of its markers move with the door, ten stay. The model has end stops.
    """

    arm: Arm
    """Of the person, about the hinge."""
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

    def moved(self, truth: Truth, t: FloatArray) -> Motion:
        """Motion of B at these times; the hinge is upright, z points down."""
        angle, speed, acceleration = (truth.at(name, t) for name in ("position", "speed", "acceleration"))
        hinge = self.model.mechanism.with_options(inclination=math.pi)
        return hinge.motion(t, np.stack([angle, speed], axis=1), acceleration[:, None])


def simulate_door(twin: DoorTwin, *, dt: float = DT_S) -> Truth:
    """The person moves body and handle."""
    rng = np.random.default_rng([twin.seed, 21])
    return simulate(twin.whole, twin.phases, twin.arm, ends_of(twin.model), rng, dt=dt)


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


def person_wrench(twin: DoorTwin, truth: Truth, times_s: FloatArray) -> FloatArray:
    """Of the hand on the handle at these times, (samples, 6) N and N m in the sensor frame.

    Its moment about the hinge is the torque that moves the door; the hand also pulls along the door, lifts, and twists
    the handle, which does not move the door.
    """
    rng = np.random.default_rng([twin.seed, 22])
    t, grip, torque = truth.times_s, truth.grip, truth.effort
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
        arm=Arm(stiffness, 2 * float(rng.uniform(0.35, 0.7)) * math.sqrt(stiffness * inertia), _STRONGEST, _TREMOR),
        phases=plan(rng, session, ends_of(model), min(1.0, math.sqrt(7.0 / inertia)), one_way=one_way),
        session=session,
        places=marker_places(rng, R, r),
        R_capture_world=R_capture_world,
        R_capture_hinge=R_capture_world @ turned @ np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]]),
        r_capture_hinge=r_capture_hinge,
        imu=clocks[0],
        load_cell=clocks[1],
        seed=seed,
    )


def door_recordings(twin: DoorTwin, truth: Truth) -> tuple[Recording, Recording, Recording, Recording, dict[str, Any]]:
    """Markers of the session and of the static file, load cell, IMU: as stored; and truth.json."""
    rng, slow = (np.random.default_rng([twin.seed, stream]) for stream in (25, 26))

    def motion(true_s: FloatArray) -> Motion:
        return twin.sensor_motion(twin.moved(truth, true_s))

    def wrench(true_s: FloatArray) -> list[FloatArray]:
        return [person_wrench(twin, truth, true_s) - tools.handle_wrench(motion(true_s), twin.phi)]

    clocks = twin.imu, twin.load_cell
    cell, imu, zeros, _ = tools.record(rng, [slow], twin.instruments, clocks, twin.session.duration_s, motion, wrench)
    t = np.arange(round(twin.session.duration_s * tools.CAPTURE_HZ)) / tools.CAPTURE_HZ
    points = markers_in_capture(twin, truth.at("position", t))
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


def _truth(twin: DoorTwin, truth: Truth, zero: FloatArray) -> dict[str, Any]:
    model, ends = twin.model, (truth.position[0], truth.position.min(), truth.position.max())
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
