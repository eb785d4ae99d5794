"""Simulated objects that roll: wheelbarrows, free or going straight, and hand trucks; how people move them, the wrench
that hands must pass to them, what the instruments store, and the files.

The model says which moments about the contact and which force ahead its motion needs; the hands' sideways force is a
habit, and their upward force follows from the moments. Two wheels on one axle hold the camber, a guide holds the
heading too: what the hands do against that is a habit, and the ground takes the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from ruamel.yaml import YAML

from palpate.mechanisms.mechanism import Wheel
from palpate.model import Model, load_object
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS
from palpate.physics.inertia import (
    is_consistent,
    move_phi,
    nearest_consistent,
    phi_from_mass_properties,
    solid_box,
    solid_cylinder,
)
from palpate.physics.motion import Motion, exp_rotation, nearest_rotation
from palpate.recording import Recording
from palpate.twin import instruments as tools
from palpate.twin.handle import Series, off_by, product, random_handle, sines, write_handle_twin

_DEVICE_OF = dict(zip(("wrench", "wrench_2"), tools.DEVICES, strict=True))
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


Spans = Sequence[Segment]


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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RollingTwin(tools.BodyTwin):
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
        return _wheel(self.model)

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


def pushes(twin: RollingTwin, t: FloatArray) -> FloatArray:
    """What the hands pass to the body at true times t (s), so that it moves as it does: (sensors, samples, 6) of each
    in axes of B, about its sensor's origin.
    """
    total, against = np.zeros((len(t), 6)), np.random.default_rng([twin.seed, 3])
    needed = dict(zip((row.name for row in twin.model.mechanism.rows), _needed(twin, t), strict=True))
    for name, i in _ROWS.items():
        held = name not in needed
        total[:, i] = _AGAINST_M * twin.tremble * tools.smooth_noise(against, t, 0.1, 3.0, 8) if held else needed[name]
    R = body_rotation(twin, t)
    at_grips = _shared(twin, R, total, t)
    at_sensors = np.empty_like(at_grips)
    for i, wrench in enumerate(at_grips):
        force, moment = (np.einsum("nji,nj->ni", R, part) for part in (wrench[:, :3], wrench[:, 3:]))
        arm = twin.r_body_grip[i] - twin.r_body_sensor[i]
        at_sensors[i] = np.hstack([force, moment + np.cross(arm, force)])
    return at_sensors


def _needed(twin: RollingTwin, t: FloatArray) -> list[FloatArray]:
    """The mechanism's rows, N m and N; at rest dry friction takes what it is given, somewhere within its level."""
    model, (states, accelerations) = twin.model, twin.course(t)
    k = model.mechanism.expand(list(states.T), list(accelerations.T), ARRAYS)
    slack = 0.9 * np.tanh(tools.smooth_noise(np.random.default_rng([twin.seed, 1]), t, 0.02, 0.3, 6))
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
    noise = np.array([tools.smooth_noise(rng, t, 0.1, 3.0, 8) for _ in range(8)])
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


def holding(wheeling: Wheeling, t: FloatArray) -> FloatArray:
    """(samples,) 1 where the hands do everything, while the feet are in the air; less where the feet help: the hands
    come 0.6 s before and go 0.6 s after, or hold on for a short rest; 0 where nobody holds on.
    """
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
    t = np.arange(round(twin.duration_s * tools.CAPTURE_HZ)) / tools.CAPTURE_HZ
    points, build = markers_in_capture(twin, t), twin.build
    points += twin.noise_m * rng.normal(size=points.shape)
    modules = [i - 1 for numbers in build.sensors for i in numbers]
    others = [i for i in range(len(build.drawn)) if i not in modules]
    for markers, share in zip((others, modules), twin.hidden, strict=True):
        tools.hide(rng, points, markers, share)
    return tools.marker_recording(t, points, build.subject, build.names()), cells, imu, _truth(twin, zeros)


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
    held, wrenches = holding(twin.wheeling, true_s)[:, None], list[FloatArray]()
    for i, R in enumerate(twin.R_body_sensor):
        passed = np.hstack([hands[i, :, :3] @ R, hands[i, :, 3:] @ R])
        wrenches.append(held * passed - (1 - held) * tools.handle_wrench(twin.sensor_motion(body, i), twin.phi))
    return wrenches


def _experiment(twin: RollingTwin) -> dict[str, Any]:
    """What the template of body.yaml leaves open."""
    wheel, build, segments = twin.wheel, twin.build, twin.wheeling.segments
    two, modules = len(build.sensors) == 2, [tools.sensor_text(build.names(numbers)) for numbers in build.sensors]

    def names(numbers: Sequence[int]) -> str:
        return ", ".join(build.names(numbers))

    def spans(name: str) -> str:
        return ", ".join(f"[{s.begin_s:g}, {s.end_s:g}]" for s in segments if s.name == name)

    wrench = [f"  {key}: {{file: wrench.mat, format: dspace-mat, device: {d}}}" for key, d in _DEVICE_OF.items()]
    drawn = off_by(np.random.default_rng([twin.seed, 37]), twin.model.p[:10], build.spread or 0.0, mass_known=True)
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
        "prior": "" if build.spread is None else tools.prior_text(drawn, build.spread),
        "train": spans("train"),
        "test": spans("test"),
    }


def _truth(twin: RollingTwin, zeros: FloatArray) -> dict[str, Any]:
    model, wheel, sensors = twin.model, twin.wheel, list(zip(twin.R_body_sensor, twin.r_body_sensor, strict=True))
    friction = {n: {"value": model.values[n], "unit": p.unit} for n, p in [*model.parameters.items()][10:]}
    body, two = model.p[:10], len(zeros) == 2
    whole = body + sum(move_phi(twin.phi, R, r) for R, r in sensors)
    edges = [0.0, *(round(edge, 4) for pair in twin.wheeling.lifted for edge in pair), round(twin.duration_s, 4)]
    standing = list(zip(edges[::2], edges[1::2], strict=True))
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


# --- how people move them ---------------------------------------------------------------------------------------------

_CHANGING_S = 1.0
_SLOW_HZ, _FAST_HZ = (0.15, 0.45), (0.7, 3.0)
_SLOW_SINES, _FAST_SINES = 2, 4
_CAMBER_LIMIT = np.radians(7.2)
_TRIES = 40


def random_wheeling(rng: np.random.Generator, segments: Spans, model: Model, manner: Manner) -> Wheeling:
    """What a person does in these segments."""
    blocks, lifting_s = list[Block](), manner.lifting_s
    for segment in segments:
        inner = np.linspace(segment.begin_s, segment.end_s, len(segment.kinds) + 1)[1:-1] - _CHANGING_S / 2
        ramps = [(segment.begin_s - lifting_s, lifting_s), *((float(a), _CHANGING_S) for a in inner)]
        spans = zip(segment.kinds, pairwise([*ramps, (segment.end_s, lifting_s)]), strict=True)
        blocks += [_block(rng, manner, kind, *span) for kind, span in spans]
    x, y, heading = (float(rng.uniform(-most, most)) for most in (0.3, 0.3, np.pi))
    rolls = standing_pitch(model), _wheel(model).radius
    return Wheeling(tuple(blocks), tuple(segments), *rolls, (x, y), heading, lifting_s)


def _block(rng: np.random.Generator, manner: Manner, kind: Kind, rise: Ramp, fall: Ramp) -> Block:
    meant = np.array([kind in (name, "mixed") for name in ("push", "scrub", "roll", "lift")])
    much = (0.6 if kind == "mixed" else 1.0) * rng.uniform(0.85, 1.15, 4)
    slow, fast = (np.where(meant, much * a, b) for a, b in zip(manner.meant, manner.sway, strict=True))
    frequency = (
        2 * np.pi * np.hstack([rng.uniform(*_SLOW_HZ, (4, _SLOW_SINES)), rng.uniform(*_FAST_HZ, (4, _FAST_SINES))])
    )
    amplitude = np.empty_like(frequency)
    amplitude[:, :_SLOW_SINES] = slow[:, None] * rng.uniform(0.6, 1.2, (4, _SLOW_SINES))
    amplitude[:, _SLOW_SINES:] = (fast * np.sqrt(2 / _FAST_SINES))[:, None] / frequency[:, _SLOW_SINES:] ** 2
    # people begin and end near the middle of what they do: of many phases those with little at both ramps
    ramps = np.array([begin + length / 2 for begin, length in (rise, fall)])
    phases = rng.uniform(0, 2 * np.pi, (_TRIES, *frequency.shape))
    there = (amplitude[:, :, None] * np.sin(frequency[:, :, None] * ramps + phases[..., None])).sum(axis=2)
    best = np.abs(there).max(axis=2).argmin(axis=0)
    block = Block(rise, fall, np.zeros(4), amplitude, frequency, phases[best, np.arange(4)])
    value = block.series(np.arange(rise[0], sum(fall), 0.005))[0]
    amplitude[2] *= min(1.0, float(_CAMBER_LIMIT / max(np.abs(value[2]).max(), 1e-12)))
    block.base[3] = manner.lifted_by * (rng.uniform(*manner.clear) - (manner.lifted_by * value[3]).min())
    return block


TABLE = (45.0, -0.115, 0.445, 0.012, 13.56, 2.63, 0.28, 2.80, 0.61, 12.55)
"""The paper's Table: m, c_x, c_y, c_z, Ixx, Ixy, Ixz, Iyy, Iyz, Izz; then b_v, b_c, b_psi."""
TABLE_FRICTION = (0.388, 1.172, 2.943)
PAPER_RADIUS = 0.197
_FOOT_MARKER_M = 0.021
"""Height of a foot's marker while it stands."""


def _built(drawn_cm: list[Any], manner: dict[str, Any], **given: Any) -> Build:
    """An entry of builds.yaml."""
    slow_fast = {key: tuple(map(np.array, manner.pop(key))) for key in ("meant", "sway")}
    low, high = (float(x) for x in np.radians(manner.pop("clear_deg")))
    return Build(drawn=0.01 * np.array(drawn_cm), manner=Manner(**slow_fast, clear=(low, high), **manner), **given)


_SHIPPED = YAML(typ="safe").load((resources.files("palpate.twin") / "builds.yaml").read_text(encoding="utf-8"))
BUILDS = {name: _built(**deepcopy(entry)) for name, entry in _SHIPPED.items()}
WHEELBARROW = BUILDS["wheelbarrow"]
_MODULE = np.array([[-0.069, -0.055, -0.007], [-0.090, -0.020, -0.007], [-0.086, 0.020, -0.007]])
"""p1, p2, p3 in the sensor frame, m."""


def rolling_model(
    name: str, phi: FloatArray, friction: Sequence[float], radius: float, feet: FloatArray, **options: float
) -> Model:
    """The object of this name with its numbers; feet: (2, 3) m in B, right and left, where they touch the ground."""
    base = load_object(name)
    mechanism = base.mechanism.with_options(radius=radius, feet=feet[::-1].tolist(), **options)
    return replace(base, mechanism=mechanism).with_values([*phi, *friction])


def _wheel(model: Model) -> Wheel:
    assert model.mechanism.wheel is not None
    return model.mechanism.wheel


def standing_pitch(model: Model) -> float:
    """Pitch at which both feet are on the ground, rad: x cos(pitch) - y sin(pitch) = R.

    Feet ahead of the axle (x < 0) are on the ground with the handles up, those behind it with the handles down.
    """
    x, y = np.array(_wheel(model).feet)[:, :2].mean(axis=0)
    return float(np.copysign(np.arccos(_wheel(model).radius / np.hypot(x, y)), x) - np.arctan2(y, x))


def paper_barrow() -> Model:
    """The paper's Table, made realisable where rounding broke it."""
    row = np.array(TABLE)
    phi = np.concatenate([row[:1], row[0] * row[1:4], row[4:]])
    phi = phi if is_consistent(phi) else nearest_consistent(phi)
    feet = _feet(PAPER_RADIUS, np.radians(11.0), 0.445, 0.211)
    return rolling_model("wheelbarrow", phi, TABLE_FRICTION, PAPER_RADIUS, feet)


def random_barrow(rng: np.random.Generator, *, radius: float | None = None) -> Model:
    """Tray, tubes, legs, wheel and a load that was put in by hand: 25 to 60 kg."""
    R = float(f"{rng.uniform(0.15, 0.22):.4f}") if radius is None else radius
    feet = _feet(R, np.radians(rng.uniform(8.5, 13.0)), rng.uniform(0.42, 0.48), rng.uniform(0.19, 0.23))
    wheel, tray, tubes, legs = rng.uniform([2.0, 6.0, 4.0, 1.5], [4.0, 9.0, 7.0, 3.0])
    load = float(f"{rng.uniform(25, 60):.3f}") - wheel - tray - tubes - legs
    at_tray = [-rng.uniform(0.18, 0.25), rng.uniform(0.36, 0.46), 0.0]
    at_load = [-rng.uniform(0.08, 0.22), rng.uniform(0.34, 0.54), rng.uniform(-0.05, 0.05)]
    crate = _askew(rng, solid_box(load, rng.uniform([0.10, 0.20, 0.20], [0.25, 0.45, 0.45])))
    parts = [
        (wheel, np.zeros(3), solid_cylinder(wheel, 0.09, 0.8 * R, [0, 0, 1])),
        (tray, at_tray, solid_box(tray, [0.30, 0.85, 0.62])),
        (load, at_load, crate),
    ]
    for side, foot in zip((-0.25, 0.25), feet, strict=True):
        tube = solid_cylinder(tubes / 2, 1.3, 0.02, [0.03, 1, 0.1 * np.sign(side)])
        parts.append((tubes / 2, [-0.03, 0.55, 0.9 * side], tube))
        parts.append((legs / 2, foot - [0.17, 0.03, 0.0], solid_cylinder(legs / 2, 0.35, 0.015, [1, 0.2, 0])))
    friction = np.exp(rng.uniform(np.log([0.2, 0.6, 1.5]), np.log([0.7, 2.2, 5.0])))
    return rolling_model("wheelbarrow", _together(parts), friction.tolist(), R, feet)


def _together(parts: Sequence[tuple[float, ArrayLike, FloatArray]]) -> FloatArray:
    """(10,) of parts: mass, place of its centre (m in B), inertia about that."""
    return np.sum([phi_from_mass_properties(*part) for part in parts], axis=0)


def _askew(rng: np.random.Generator, inertia: FloatArray) -> FloatArray:
    """The same part, put in a little askew."""
    R = exp_rotation(rng.normal(0, [0.15, 0.15, 0.15]))
    return R @ inertia @ R.T


def mounted(rng: np.random.Generator, build: Build) -> tuple[FloatArray, FloatArray, FloatArray]:
    """R, r of the sensors, nearly as drawn, and the grips: the hands hold 10 to 16 cm behind them."""
    drawn = np.array([nearest_rotation(axes, tolerance=0.05) for axes in build.axes])
    count = len(drawn)
    R = exp_rotation(np.radians(1.5) * rng.normal(size=(count, 3))) @ drawn
    r = np.array(build.places) + rng.uniform(-0.01, 0.01, (count, 3))
    grip = R @ np.array([0.0, 0.0, 1.0]) * rng.uniform(0.10, 0.16, (count, 1))
    return R, r, r + grip


def attached(rng: np.random.Generator, build: Build, model: Model, R: FloatArray, r: FloatArray) -> FloatArray:
    """(markers, 3) m in B, from where they are drawn. The axle's ends and the across markers define B and are where
    they say; three are on each sensor module, one above each foot.
    """
    places, wheel, standing = build.drawn.copy(), _wheel(model), standing_pitch(model)
    if wheel.track:
        places[[i - 1 for i in build.axle], 2] = np.array([-1, 1]) * (0.5 * wheel.track + _HUB_M)
    free = np.ones(len(places), dtype=bool)
    free[[i - 1 for pair in (*build.across, build.axle) for i in pair]] = False
    places[free] += rng.uniform(-0.02, 0.02, (int(free.sum()), 3))
    for (right, left), reach in zip(zip(*build.across, strict=True), rng.uniform(-0.01, 0.01, 2), strict=True):
        places[right - 1, 1] += reach
        places[left - 1, 1] += reach
    frame = nearest_rotation(tools.T_MARKER[:3, :3])
    for numbers, turn, place in zip(build.sensors, R, r, strict=True):
        local = (_MODULE - tools.T_MARKER[:3, 3]) @ frame
        module = np.array([[*local[0, :2], 0], [0, 0, 0], [np.linalg.norm(local[2] - local[1]), 0, 0]])
        module[0, :2] += rng.uniform(-0.003, 0.003, 2)
        places[[i - 1 for i in numbers]] = (module @ frame.T + tools.T_MARKER[:3, 3]) @ turn.T + place
    up = np.array([-np.cos(standing), np.sin(standing), 0.0])
    for number, foot in zip(build.feet, wheel.feet[::-1], strict=True):
        places[number - 1] = foot + _FOOT_MARKER_M * up
    return places


def _feet(radius: float, standing: float, back: float, half: float) -> FloatArray:
    """(2, 3) m in B: on the ground at the pitch `standing` (rad), that far behind the axle and to the sides."""
    down = (radius + back * np.sin(standing)) / np.cos(standing)
    return np.array([[down, back, -half], [down, back, half]])


# --- hand trucks: standing on its plate one is upright, y of its frame, towards the handle, points up and x back ------

_HUB_M = 0.03


def random_truck(rng: np.random.Generator) -> Model:
    """Tubes, plate, two wheels and a load that was put on by hand: 25 to 70 kg."""
    R, track = (float(f"{v:.4f}") for v in (rng.uniform(0.10, 0.15), rng.uniform(0.40, 0.52)))
    wheel, tubes, plate = rng.uniform([1.0, 3.5, 2.0], [2.2, 6.0, 4.0])
    mass = float(f"{rng.uniform(25, 70):.3f}") - 2 * wheel - tubes - plate
    size = rng.uniform([0.22, 0.35, 0.28], [0.36, 0.70, 0.45])
    place = [-size[0] / 2 + rng.uniform(-0.03, 0.03), size[1] / 2 + rng.uniform(-0.08, 0.0), rng.uniform(-0.04, 0.04)]
    load = mass, place, _askew(rng, solid_box(mass, size))
    stands = np.radians(rng.uniform(86.0, 90.0)), rng.uniform(0.20, 0.28), rng.uniform(0.17, 0.22)
    b_v, left, b_psi = np.exp(rng.uniform(np.log([0.08, 0.25, 0.6]), np.log([0.35, 0.9, 2.5])))
    friction = b_v, left, left * rng.uniform(0.7, 1.4), b_psi
    return _truck((wheel, tubes, plate), load, R, track, stands, friction)


def _truck(
    masses: tuple[float, float, float],
    load: tuple[float, ArrayLike, FloatArray],
    R: float,
    track: float,
    stands: tuple[float, float, float],
    friction: Sequence[float],
) -> Model:
    """masses (kg): of one wheel, all tubes, plate. stands: at this pitch (rad), feet so far ahead and aside (m)."""
    (wheel, tubes, plate), (pitch, ahead, half) = masses, stands
    parts = [(plate, [-0.12, -R + 0.01, 0.0], solid_box(plate, [0.24, 0.01, 0.42])), load]
    for side in (-1, 1):
        parts.append((tubes / 2, [0.04, 0.52, 0.15 * side], solid_cylinder(tubes / 2, 1.15, 0.015, [0.02, 1, 0])))
        parts.append((wheel, [0.0, 0.0, 0.5 * track * side], solid_cylinder(wheel, 0.05, 0.8 * R, [0, 0, 1])))
    feet = _feet(R, pitch, -ahead * np.cos(pitch) - R * np.sin(pitch), half)
    return rolling_model("hand-truck", _together(parts), friction, R, feet, track=track)


# --- experiments ------------------------------------------------------------------------------------------------------

_PUSHED = (("train", 8.0, 42.0), ("test", 48.0, 64.0))
_GENTLE, _STILL_SWAY = 0.4, 0.05
"""Where it is only pushed: shares of the usual accelerations, and of the usual sway of yaw, camber and pitch."""
_TAIL_S = 4.0
SWAY = 0.5
"""Sway of a person who pays attention: yaw strays by a degree, camber by a few tenths."""


def wheelbarrow_twin(seed: int, *, segments: Spans | None = None, poor: bool = False) -> RollingTwin:
    """A random wheelbarrow; both its handles are that of `write_handle_twin(seed=seed)`.

    poor: only pushed straight ahead and back, gently; handles and lean are kept still.
    """
    build, rng = WHEELBARROW, np.random.default_rng([seed, 30])
    if poor:
        segments = segments or tuple(Segment(name, a, b, ("push",)) for name, a, b in _PUSHED)
        build = replace(build, manner=build.manner.scaled(_GENTLE, _STILL_SWAY))
    return _dressed(rng, random_barrow(rng), build, seed, segments)


def planar_twin(
    seed: int | None = None, *, build: Build = WHEELBARROW, sway: float = SWAY, segments: Spans | None = None
) -> RollingTwin:
    """A wheelbarrow that is pushed straight ahead, pulled back and lifted; without a seed, the paper's.

    sway: how much is left of the sway of a person who does not care; 0, a guide keeps it straight and upright.
    """
    manner = build.manner.scaled([1.0, 0.0, 0.0, 1.0], [1.0, sway, sway, 1.0])
    plain = {"file": f"{build.subject} Trajectories.csv", "spread": None}
    build = replace(build, object="wheelbarrow-planar", kinds=("push", "lift"), manner=manner, **plain)
    rng = np.random.default_rng([seed or 0, 40])
    free = paper_barrow() if seed is None else random_barrow(rng)
    mechanism = free.mechanism.with_options(moves="planar" if sway == 0 else "full")
    model = replace(load_object(build.object), mechanism=mechanism).with_values(free.p[:-1])  # nothing resists turning
    return _dressed(rng, model, build, seed or 0, segments)


def hand_truck_twin(
    seed: int | None = None, *, build: Build = BUILDS["hand-truck"], segments: Spans | None = None
) -> RollingTwin:
    """A hand truck that is pushed, tools.tilted and turned; without a seed, a typical one.

    build: one load cell behind a bar that both hands hold, or one for each hand.
    """
    rng = np.random.default_rng([seed or 0, 50])
    # a hand truck of steel tubes with a crate of bottles
    crate, friction = (30.0, [-0.16, 0.26, 0.01], solid_box(30.0, [0.32, 0.50, 0.40])), (0.20, 0.60, 0.75, 1.2)
    typical = _truck((1.6, 4.5, 3.0), crate, 0.125, 0.45, (np.radians(88.0), 0.24, 0.20), friction)
    return _dressed(rng, typical if seed is None else random_truck(rng), build, seed or 0, segments)


def _dressed(rng: np.random.Generator, model: Model, build: Build, seed: int, segments: Spans | None) -> RollingTwin:
    """With random clocks and the handle of `write_handle_twin(seed=seed)`."""
    clocks = tools.random_clocks(rng, -2.0, 0.3)
    phi = random_handle(np.random.default_rng([seed, 0]))
    return dress_rolling(model, phi, seed, segments or random_segments(rng, build.kinds), clocks, build=build)


def dress_rolling(
    model: Model, phi: FloatArray, seed: int, segments: Spans, clocks: tools.Clocks, *, build: Build = WHEELBARROW
) -> RollingTwin:
    """A given object with sensors, markers and a person."""
    rng = np.random.default_rng([seed, 31])
    R, r, grip = mounted(rng, build)
    R_capture_world = tools.tilted(rng, 0.1)
    sideways, squeeze, tremble = (float(rng.uniform(low, high)) for low, high in ((0.0, 0.3), (0, 6), (3, 7)))
    return RollingTwin(
        model=model,
        phi=phi,
        R_body_sensor=R,
        r_body_sensor=r,
        r_body_grip=grip,
        sideways=sideways,
        squeeze=squeeze,
        tremble=tremble,
        wheeling=random_wheeling(rng, segments, model, build.manner),
        places=attached(rng, build, model, R, r),
        duration_s=max(s.end_s for s in segments) + _TAIL_S,
        R_capture_world=R_capture_world,
        imu=clocks[0],
        load_cell=clocks[1],
        seed=seed,
        build=build,
    )


def random_segments(rng: np.random.Generator, kinds: tuple[Kind, ...] = KINDS) -> tuple[Segment, ...]:
    """A train segment with all kinds of motion, and three test segments with other mixtures."""
    spans = (("train", 8.0, 42.0, 5), ("test", 48.0, 64.0, 4), ("test", 69.0, 81.0, 1), ("test", 86.0, 100.0, 3))
    return tuple(Segment(name, a, b, mixture(rng, count, kinds)) for name, a, b, count in spans)


def mixture(rng: np.random.Generator, count: int, kinds: tuple[Kind, ...] = KINDS) -> tuple[Kind, ...]:
    """What is done in a segment: with a count of four every kind in any order; with more, everything at once after
    that; with fewer, some kinds and then everything at once.
    """
    order: list[Kind] = [kinds[i] for i in rng.permutation(len(kinds))]
    return (*order,) if count == 4 else (*order[: count - 1], "mixed")
