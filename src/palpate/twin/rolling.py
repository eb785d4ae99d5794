"""A simulated object that rolls: the wrench that hands must pass to it, what the instruments store, and the files.

The model says which moments about the contact and which force ahead its motion needs; the hands' sideways force is a
habit, and their upward force follows from the moments. Two wheels on one axle hold the camber, a guide holds the
heading too: what the hands do against that is a habit, and the ground takes the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from palpate.mechanisms.mechanism import Wheel
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS
from palpate.physics.inertia import move_phi
from palpate.physics.motion import Motion, exp_rotation
from palpate.recording import Recording
from palpate.twin import instruments as tools
from palpate.twin.handle import Series, off_by, product, sines, write_handle_twin
from palpate.twin.instruments import CAPTURE_HZ, BodyTwin, handle_wrench, smooth_noise

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

    def scaled(self, meant: ArrayLike, sway: ArrayLike) -> Manner:
        """With these factors of what is meant and of the sway, of everything or of each of the four."""
        (slow, fast), (idle, shaken) = self.meant, self.sway
        m, w = np.asarray(meant), np.asarray(sway)
        return replace(self, meant=(m * slow, m * fast), sway=(w * idle, w * shaken))


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
        """(samples - 1, 2) m, from each time to the next: v_x along x_C, -R camber_rate along y_C."""
        half, middle = np.diff(t) / 2, (t[1:] + t[:-1]) / 2
        path = self.path((middle[:, None] + half[:, None] * _NODES).ravel())
        cos, sin = np.cos(path.value[1]), np.sin(path.value[1])
        ahead, left = path.rate[0], -self.radius * path.rate[2]
        velocity = np.stack([ahead * cos - left * sin, ahead * sin + left * cos], axis=1)
        return half[:, None] * np.einsum("k,nkj->nj", _WEIGHTS, velocity.reshape(len(half), len(_NODES), 2))


def _step(t: FloatArray, begin: float, length: float) -> Series:
    """0 to 1 with three derivatives zero at both ends, 35 u^4 - 84 u^5 + 70 u^6 - 20 u^7, and two derivatives."""
    u = np.clip((t - begin) / length, 0.0, 1.0)
    value = u**4 * (35 + u * (-84 + u * (70 - 20 * u)))
    slope = 140 * (u * (1 - u)) ** 3
    bend = 420 * (u * (1 - u)) ** 2 * (1 - 2 * u)
    return Series(value, slope / length, bend / length**2)


_AT_REST = 1e-9
"""The wheel rests below this speed, rad/s."""
_AGAINST_M = 0.3
"""Moment of the hands against what cannot turn, N m per N of trembling."""


_SPEEDS = ("forward_speed", "yaw_rate", "camber_rate", "pitch_rate")
_ROWS = {"f_x": 0, "n_x": 3, "n_y": 4, "n_z": 5}
"""Rows of the mechanism in a wrench at the contact."""


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
    file: str
    """Of the markers."""
    spread: float | None = None
    """By which fraction a drawing is off, as it declares; None: there is no drawing."""

    def names(self, numbers: Sequence[int] | None = None) -> list[str]:
        """Names of these markers, or of all."""
        return [f"{self.prefix}{i}" for i in (numbers or range(1, len(self.drawn) + 1))]


def wheel_of(model: Model) -> Wheel:
    """Radius, track and feet of what rolls."""
    wheel = model.mechanism.wheel
    assert wheel is not None
    return wheel


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RollingTwin(BodyTwin):
    """All that determines a simulated experiment with an object that rolls; its mechanism has the feet, left first."""

    sideways: float
    """Share of the turning moment that comes from pushing sideways; such habits of the hands move nothing."""
    squeeze: float
    """N, towards each other."""
    tremble: float
    """N; moments tremble by a twentieth of it in N m."""
    wheeling: Wheeling
    duration_s: float
    build: Build
    floor_m: float = 0.0
    """Height of the floor in the capture frame, at its origin."""
    hidden: tuple[float, float] = (0.03, 0.10)
    """Shares of samples in which a marker is hidden: anywhere else, and on a sensor module."""

    @property
    def wheel(self) -> Wheel:
        """Radius, track and feet."""
        return wheel_of(self.model)

    def course(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """States and accelerations of the mechanism, (samples, ...), seen from the contact: x, y and yaw are zero."""
        path, names = self.wheeling.path(t), self.model.mechanism.state
        rates, more = (dict(zip(_SPEEDS, x, strict=True)) for x in (path.rate, path.acceleration))
        known = {"camber": path.value[2], "pitch": path.value[3], **rates}
        states = np.stack([known.get(n, np.zeros_like(t)) for n in names], axis=1)
        return states, np.stack([more[n] for n in names if n in more], axis=1)

    def moved(self, t: FloatArray) -> Motion:
        """Motion of B; its poses are those in the contact frame."""
        return self.model.mechanism.motion(t, *self.course(t))


def pushes(twin: RollingTwin, t: FloatArray) -> Push:
    """What the hands pass to the body at true times t (s), so that it moves as it does."""
    total, against = np.zeros((len(t), 6)), np.random.default_rng([twin.seed, 3])
    needed = dict(zip((row.name for row in twin.model.mechanism.rows), _needed(twin, t), strict=True))
    for name, i in _ROWS.items():
        held = name not in needed
        total[:, i] = _AGAINST_M * twin.tremble * smooth_noise(against, t, 0.1, 3.0, 8) if held else needed[name]
    R = body_rotation(twin, t)
    at_grips = _shared(twin, R, total, t)
    at_sensors = np.empty_like(at_grips)
    for i, wrench in enumerate(at_grips):
        force, moment = (np.einsum("nji,nj->ni", R, part) for part in (wrench[:, :3], wrench[:, 3:]))
        arm = twin.r_body_grip[i] - twin.r_body_sensor[i]
        at_sensors[i] = np.hstack([force, moment + np.cross(arm, force)])
    return Push(at_sensors, _holding(twin.wheeling, t))


def _needed(twin: RollingTwin, t: FloatArray) -> list[FloatArray]:
    """The mechanism's rows, N m and N; at rest dry friction takes what it is given, somewhere within its level."""
    model, (states, accelerations) = twin.model, twin.course(t)
    k = model.mechanism.expand(list(states.T), list(accelerations.T), ARRAYS)
    slack = 0.9 * np.tanh(smooth_noise(np.random.default_rng([twin.seed, 1]), t, 0.02, 0.3, 6))
    rows = [np.asarray(row, dtype=float) for row in model.without_dry().wrench(k, ARRAYS)]
    dry = (e.acts_on for e in model.elements if e.dry)
    for name, (ratio, level) in zip(dry, model.dry_forces(k, ARRAYS), strict=True):
        speed = np.asarray(k.coordinates[name].speed)
        force = level * np.where(np.abs(speed) > _AT_REST, np.sign(speed), slack)
        rows = [row + x * force for row, x in zip(rows, ratio, strict=True)]
    return rows


def body_rotation(twin: RollingTwin, t: FloatArray) -> FloatArray:
    """R_contact_body, (samples, 3, 3)."""
    poses = twin.moved(t).poses
    assert poses is not None
    return poses.rotation


def _shared(twin: RollingTwin, R: FloatArray, total: FloatArray, t: FloatArray) -> FloatArray:
    """(sensors, samples, 6) wrenches of the hands at the grips, in axes of C.

    Sideways forces, squeeze and grip moments are habits. Four equations are left, forward force and the three moments.
    Of two grips the forward and upward forces are the four unknowns; of one, which both hands hold, forward and upward
    force and the moments about ahead and up.
    """
    rng = np.random.default_rng([twin.seed, 2])
    points = np.stack([R @ r for r in twin.r_body_grip]) + np.array([0.0, 0.0, twin.wheel.radius])
    n, grips = len(t), len(points)
    hands = np.zeros((grips, n, 6))
    noise = np.array([smooth_noise(rng, t, 0.1, 3.0, 8) for _ in range(8)])
    hands[:, :, 3:] = 0.05 * twin.tremble * noise[: 3 * grips].reshape(grips, 3, n).transpose(0, 2, 1)
    lateral = twin.sideways * total[:, 5] / points[:, :, 0].mean(axis=0) + twin.tremble * noise[6]
    squeeze = twin.squeeze * (1 + 0.4 * noise[7]) * np.array([[1.0], [-1.0]]) if grips == 2 else 0.0
    hands[:, :, 1] = lateral / grips + squeeze
    unknown = ([0, 1, 0, 1], [0, 0, 2, 2]) if grips == 2 else ([0, 0, 0, 0], [0, 2, 3, 5])  # grips, components
    hands[unknown[0], :, unknown[1]] = 0.0
    # force ahead and moments at the contact of each component of each grip: (samples, 4, grips, 6)
    A = np.zeros((n, 4, grips, 6))
    A[:, 0, :, 0], A[:, 1:, :, 3:] = 1.0, np.eye(3)[:, None]
    A[:, 1:, :, :3] = np.cross(points[:, :, None], np.eye(3)).transpose(1, 3, 0, 2)
    rest = total[:, [0, 3, 4, 5]] - np.einsum("nrgc,gnc->nr", A, hands)
    hands[unknown[0], :, unknown[1]] = np.linalg.solve(A[:, :, *unknown], rest[:, :, None])[:, :, 0].T
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


def body_poses(twin: RollingTwin, times_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """R_world_body (samples, 3, 3) and the axle's middle (samples, 3) m; the floor is z = 0 of the world."""
    heading, height = np.zeros((len(times_s), 3)), np.full((len(times_s), 1), twin.wheel.radius)
    heading[:, 2] = twin.wheeling.path(times_s).value[1]
    return exp_rotation(heading) @ body_rotation(twin, times_s), np.hstack([twin.wheeling.contact(times_s), height])


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
        lambda t: twin.sensor_motion(twin.moved(t)),
        lambda t: _wrenches(twin, t),
    )
    return _markers(rng, twin), cells, imu, _truth(twin, zeros)


def write_rolling_twin(folder: Path, twin: RollingTwin, *, handle: bool = True) -> Path:
    """Recordings, the handle's own experiment in handle/ if it is wanted, body.yaml, truth.json; returns body.yaml."""
    markers, cells, imu, truth = rolling_recordings(twin)
    if handle:
        write_handle_twin(folder / "handle", seed=twin.seed)
    files, fill = {twin.build.file: markers, "wrench.mat": cells, "imu.csv": imu}, _experiment(twin)
    return tools.write_twin(folder, files, truth, "body.yaml", "rolling", fill, g=twin.gravity)


def _wrenches(twin: RollingTwin, true_s: FloatArray) -> list[FloatArray]:
    """What reaches the body through each sensor, (samples, 6) in its axes: of the person, less what moves the handle.

    Where nobody holds on that is -A phi alone, and the feet carry the rest.
    """
    hands, body = pushes(twin, true_s), twin.moved(true_s)
    held, wrenches = hands.holding[:, None], list[FloatArray]()
    for i, R in enumerate(twin.R_body_sensor):
        passed = np.hstack([hands.sides[i, :, :3] @ R, hands.sides[i, :, 3:] @ R])
        wrenches.append(held * passed - (1 - held) * handle_wrench(twin.sensor_motion(body, i), twin.phi))
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


def _experiment(twin: RollingTwin) -> dict[str, Any]:
    """What the template of body.yaml leaves open."""
    wheel, build, segments = twin.wheel, twin.build, twin.wheeling.segments
    two, modules = len(build.sensors) == 2, [tools.sensor_text(build.names(numbers)) for numbers in build.sensors]

    def names(numbers: Sequence[int]) -> str:
        return ", ".join(build.names(numbers))

    def spans(name: str) -> str:
        return ", ".join(f"[{s.begin_s:g}, {s.end_s:g}]" for s in segments if s.name == name)

    wrench = [f"  {key}: {{file: wrench.mat, format: dspace-mat, device: {d}}}" for key, d in _DEVICE_OF.items()]
    prior = ""
    if (spread := build.spread) is not None:
        rng = np.random.default_rng([twin.seed, 37])
        prior = tools.prior_text(off_by(rng, twin.model.p[:10], spread, mass_known=True), spread)
    return {
        "what": build.object.replace("-", " "),
        "object": build.object,
        "handles": "both handles" if two else "its handle",
        "wrench": f"{wrench[0]}       # right\n{wrench[1]}   # left" if two else wrench[0],
        "file": build.file,
        "markers": ", ".join(build.names()),
        "axle": names(build.axle),
        "across": ", ".join(f"[{names(pair)}]" for pair in build.across),
        "radius": wheel.radius,
        "right": "right: three" if two else "three",
        "sensor": modules[0],
        "left": f"  sensor_2:                      # left\n{modules[1]}" if two else "",
        "feet": names(build.feet),
        "imu_pose": tools.imu_pose_text("right sensor's" if two else "sensor's"),
        "of": "of both handles; " if two else "",
        "mechanism": f"mechanism: {{track: {wheel.track:g} m}}\n" if wheel.track else "",
        "mass": f"{twin.model.p[0]:.6g}",
        "tilt": max(0.1, float(np.degrees(np.arccos(min(1.0, twin.R_capture_world[2, 2]))))),
        "static": f"[0.5, {min(s.begin_s for s in segments) - twin.wheeling.lifting_s - 1.2:g}]",
        "prior": prior,
        "train": spans("train"),
        "test": spans("test"),
    }


def _truth(twin: RollingTwin, zeros: FloatArray) -> dict[str, Any]:
    model, wheel, sensors = twin.model, twin.wheel, list(zip(twin.R_body_sensor, twin.r_body_sensor, strict=True))
    friction = {n: {"value": model.values[n], "unit": p.unit} for n, p in [*model.parameters.items()][10:]}
    body = model.p[:10]
    whole = body + sum(move_phi(twin.phi, R, r) for R, r in sensors)
    edges = [0.0, *(round(edge, 4) for pair in twin.wheeling.lifted for edge in pair), round(twin.duration_s, 4)]
    standing = list(zip(edges[::2], edges[1::2], strict=True))
    two = len(zeros) == 2
    names = ("right", "left") if two else ("middle",)
    clocks = {"imu": twin.imu} | dict.fromkeys([*_DEVICE_OF][: len(zeros)], twin.load_cell)
    return {
        "parameters": {**tools.drawing_truth(body), **friction},
        "parameters_whole": {**tools.drawing_truth(whole), **friction},
        "body_phi": tools.phi_truth(body),
        "phi": tools.phi_truth(twin.phi),
        "wheel": {"radius_m": wheel.radius, "inertia": model.values.get("I_w", 0.0)}
        | ({"track_m": wheel.track} if wheel.track else {}),
        "sensors": {
            n: {"R_body_sensor": R.tolist(), "r_body_sensor": r.tolist(), "preload": zero.tolist()}
            for n, (R, r), zero in zip(names, sensors, zeros, strict=True)
        },
        "feet": {"in_body_m": [list(foot) for foot in wheel.feet[::-1]], "on_ground_s": standing},
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
