"""Any object with several freedoms (a box, a cart, a hanging load), moved by a hand through a load cell: a path along
its freedoms, what that takes by its own balance, and what cameras, a tracker or encoders store of it.
How its exemplars differ stands in `bodies.yaml`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, cast

import numpy as np

from palpate.files import write_text
from palpate.mechanisms import Mechanism
from palpate.model import Model, load_object
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS, FLOATS
from palpate.physics.inertia import PHI_NAMES, phi_from_mass_properties
from palpate.physics.motion import (
    Motion,
    exp_rotation,
    minimum_jerk,
    quaternion_from_rotation,
    wrench_transmission,
)
from palpate.twin import instruments as tools

RATE_HZ, SEEN_EVERY = 250.0, 2
STILL_S, BEGINS_S, LENGTH_S = 3.0, 4.0, 46.0
SEGMENTS = {"static": (0.3, 2.7), "train": (6.0, 34.0), "test": (34.5, 44.5)}
SLOW_HZ, QUICK_HZ = (0.1, 0.35), (0.8, 2.0)
NOISE_M, NOISE_RAD, NOISE_N, NOISE_NM = 2e-4, 3e-4, 0.08, 3e-3
PULLS, TWIST_M = 4.0, 0.08
"""N: what a hand does that moves nothing, about; m: how far apart its fingers are, which twist."""
R_SENSOR, MODULE = exp_rotation(np.array([0.3, -0.2, 0.5])), np.array([[0.0, -0.06, 0.0], [0, 0, 0], [0.07, 0, 0]])
"""How the load cell is turned in the body; three markers on it, m in its frame: x runs from the second to the third."""


@dataclass(frozen=True, slots=True)
class Body:
    """How exemplars of an object differ."""

    seen: str
    """By "poses", "markers" or a "table" of its coordinates."""
    mass: Sequence[float]
    """kg, from, to."""
    sides: Sequence[float]
    """Of a box with the same inertia, m; each is drawn between half of it and all of it."""
    com: Sequence[Sequence[float]]
    """Of x, y and z in the body frame: from, to, m."""
    values: Mapping[str, Sequence[float]] = field(default_factory=dict[str, Sequence[float]])
    """Of the other parameters: from, to."""
    slow: Mapping[str, float] = field(default_factory=lambda: {"rad": 0.5, "m": 0.3})
    """How far it is moved slowly, rad and m, and ..."""
    quick: Mapping[str, float] = field(default_factory=lambda: {"rad": 0.15, "m": 0.08})
    """... quickly."""
    hand: Sequence[float] = (0.0, 0.0, 0.0)
    """Where the load cell is, m in the body frame."""
    known_mass: bool = False
    fixed: Sequence[str] = ()
    """Parameters that are known."""
    markers: str = ""
    """What the experiment says of markers beside the sensor's, and ..."""
    places: Mapping[str, Sequence[float]] = field(default_factory=dict[str, Sequence[float]])
    """... where they are, m in the body frame."""


@cache
def bodies() -> Mapping[str, Body]:
    """Object -> how exemplars of it differ."""
    from ruamel.yaml import YAML

    text = (resources.files("palpate.twin") / "bodies.yaml").read_text(encoding="utf-8")
    data = cast("dict[str, dict[str, Any]]", YAML(typ="safe").load(text))
    return {name: Body(**body) for name, body in data.items()}


def random_model(name: str, seed: int) -> Model:
    """An exemplar: a box with a random inertia, and its other parameters."""
    rng, body, model = np.random.default_rng([seed, 50]), bodies()[name], load_object(name)
    mass, sides = _between(rng, body.mass), np.array(body.sides) * rng.uniform(0.5, 1.0, 3)
    turn = exp_rotation(0.3 * rng.normal(size=3))
    about_com = turn @ np.diag(mass / 12 * (np.sum(sides**2) - sides**2)) @ turn.T
    phi = phi_from_mass_properties(mass, [_between(rng, span) for span in body.com], about_com)
    values = dict(zip(PHI_NAMES, phi.tolist(), strict=True))
    values |= {n: _between(rng, body.values[n]) for n in model.parameters if n not in values}
    return model.with_values([values[n] for n in model.parameters])


def _between(rng: np.random.Generator, span: Sequence[float]) -> float:
    low, high = span
    return float(rng.uniform(low, high))


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """What happened: at times (samples,), s."""

    times_s: FloatArray
    states: FloatArray
    motion: Motion
    rows: FloatArray
    """(samples, rows): what it takes along each row, N and N m; 0 where nobody touches it."""
    wrench: FloatArray
    """(samples, 6) of the hand, about the body's origin and in its axes."""


def moved(model: Model, body: Body, seed: int) -> Moved:
    """A path along the freedoms, and the wrench that it takes."""
    rng, m = np.random.default_rng([seed, 51]), model.mechanism
    t = np.arange(round(LENGTH_S * RATE_HZ)) / RATE_HZ
    finer = np.arange(2 * len(t) - 1) / (2 * RATE_HZ)  # steps of the integration need what is between samples
    finer_speeds, accelerations = _speeds(rng, m, body, finer)
    speeds, accelerations = finer_speeds[::2], accelerations[::2]
    states = np.hstack([_positions(m, finer_speeds), speeds])
    motion = m.motion(t, states, accelerations)
    k = m.observe(motion)
    touched = minimum_jerk((t - STILL_S) / 0.5)
    needed = np.stack([np.broadcast_to(np.asarray(x, dtype=float), t.shape) for x in model.wrench(k, ARRAYS)], axis=1)
    # the hand's wrench where it holds the body, twists in `TWIST_M` of a force: it rather pulls than twists
    held = wrench_transmission(np.eye(3), np.array(body.hand)) * np.repeat([1.0, TWIST_M], 3)
    columns = [m.project(k, [np.full(len(t), u) for u in held[:, j]], ARRAYS) for j in range(6)]
    P = np.stack([np.stack([np.broadcast_to(x, t.shape) for x in c], axis=1) for c in columns], axis=2)
    inverse = np.linalg.pinv(P)
    idle = PULLS * np.stack([tools.smooth_noise(rng, t, 0.1, 2.0, 8) for _ in range(6)], axis=1)
    pulls = np.einsum("nij,nj->ni", inverse, needed)
    pulls += idle - np.einsum("nij,njk,nk->ni", inverse, P, idle)  # what the guides take
    return Moved(t, states, motion, touched[:, None] * needed, touched[:, None] * (pulls @ held.T))


def _speeds(rng: np.random.Generator, m: Mechanism, body: Body, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(samples, freedoms) each: speeds of sums of sines that begin smoothly, and their derivatives."""
    count, h = len(m.accelerations), 1e-4
    units = ["rad" if u.startswith("rad") else "m" for u in m.units[len(m.state) - count : len(m.state)]]
    waves = [(body.slow[u], rng.uniform(*SLOW_HZ, 3), rng.uniform(0, 6, 3)) for u in units]
    waves = [
        (w, (body.quick[u], rng.uniform(*QUICK_HZ, 3), rng.uniform(0, 6, 3))) for u, w in zip(units, waves, strict=True)
    ]

    def path(s: FloatArray) -> FloatArray:
        begin = minimum_jerk((s - BEGINS_S) / 2.0) * minimum_jerk((LENGTH_S - 0.5 - s) / 2.0)
        sums = [
            sum(
                a / 3 * (np.sin(2 * np.pi * f[:, None] * s + p[:, None]) - np.sin(p)[:, None]).sum(axis=0)
                for a, f, p in each
            )
            for each in waves
        ]
        return np.stack([begin * x for x in sums], axis=1)

    before, here, after = path(t - h), path(t), path(t + h)
    return (after - before) / (2 * h), (after - 2 * here + before) / h**2


def _positions(m: Mechanism, speeds: FloatArray) -> FloatArray:
    """(samples, positions) from where all are zero, by Runge and Kutta's steps of fourth order; speeds: also in the
    middle between samples.
    """
    count = len(m.state) - len(m.accelerations)
    q = np.array([1.0 if name == "q_w" else 0.0 for name in m.state[:count]])
    turn = slice(m.state.index("q_w"), m.state.index("q_w") + 4) if "q_w" in m.state else slice(0, 0)
    rows, h = [q], 1 / RATE_HZ

    def rates(at: FloatArray, speed: list[float]) -> FloatArray:
        return np.array(m.rates([*at.tolist(), *speed], FLOATS), dtype=float)

    u = speeds.tolist()
    for i in range(0, len(u) - 2, 2):
        a = rates(q, u[i])
        b = rates(q + h / 2 * a, u[i + 1])
        c = rates(q + h / 2 * b, u[i + 1])
        q = q + h / 6 * (a + 2 * b + 2 * c + rates(q + h * c, u[i + 2]))
        q[turn] /= np.linalg.norm(q[turn]) if turn.stop else 1.0
        rows.append(q)
    return np.array(rows)


def write_carried_twin(folder: Path, name: str, seed: int = 0) -> Path:
    """Tables of the instruments, truth.json and the experiment file, which it returns."""
    body, model = bodies()[name], random_model(name, seed)
    run, rng = moved(model, body, seed), np.random.default_rng([seed, 52])
    recordings = {"poses": _poses, "markers": _markers, "table": _coordinates}[body.seen](folder, model, body, run, rng)
    values = {**model.values}
    phi = np.array([values[n] for n in PHI_NAMES])
    parameters = tools.drawing_truth(phi)
    parameters |= {n: {"value": v, "unit": model.parameters[n].unit} for n, v in values.items() if n not in PHI_NAMES}
    note = "of the object alone, in its body frame; simulated without the noise of the instruments"
    tools.write_truth(folder / "truth.json", {"parameters": parameters, "seed": seed, "note": note})
    fixed = {n: values[n] for n in body.fixed}
    known = f"fixed: {json.dumps(fixed)}\n" if fixed else ""
    known += f"known_mass: {{value: {values['m']:.6g} kg, of: body}}\n" if body.known_mass else ""
    segments = "\n".join(f"  {kind}: [{a:g}, {b:g}]" for kind, (a, b) in SEGMENTS.items())
    path = folder / f"{name}.yaml"
    write_text(
        path,
        f"# A simulated {name.replace('-', ' ')} (seed {seed}). The truth is in truth.json; nothing but the reference "
        f"column reads it.\npalpate: 1\ntitle: Simulated {name.replace('-', ' ')} {seed}\nobject: {name}\nstage: body\n"
        f"{recordings}{known}segments:                        # seconds; static: nobody touches it\n{segments}\n"
        "reference: {label: truth, file: truth.json}\n",
    )
    return path


def _wrench(folder: Path, body: Body, run: Moved, rng: np.random.Generator) -> str:
    """The load cell's table, and what the experiment says of it."""
    R, r = R_SENSOR, np.array(body.hand)
    stored = run.wrench @ wrench_transmission(R.T, -R.T @ r).T
    stored = stored + rng.normal(0, 1, 6) * np.repeat([1.0, 0.05], 3)
    stored += rng.normal(size=stored.shape) * np.repeat([NOISE_N, NOISE_NM], 3)
    heads = ["t [s]", *(f"f{a} [N]" for a in "xyz"), *(f"n{a} [N m]" for a in "xyz")]
    late = float(rng.uniform(0.2, 2.0))
    tools.write_table(folder / "wrench.csv", heads, np.column_stack([run.times_s + late, stored]))
    columns = ", ".join(f"{n}: {{column: {n}}}" for n in ("fx", "fy", "fz", "nx", "ny", "nz"))
    return f"  wrench: {{file: wrench.csv, time: {{column: t}}, columns: {{{columns}}}}}\n"


def _poses(folder: Path, model: Model, body: Body, run: Moved, rng: np.random.Generator) -> str:
    """A tracker on the body shows its frame."""
    assert run.motion.poses is not None
    R0, at = np.array(model.mechanism.R_world_body), slice(None, None, SEEN_EVERY)
    turn, place = R0 @ run.motion.poses.rotation[at], run.motion.poses.position[at] @ R0.T
    turn = turn @ exp_rotation(NOISE_RAD * rng.normal(size=(len(turn), 3)))
    q = quaternion_from_rotation(turn)
    place = place + np.array([0.4, -0.3, 0.9]) + NOISE_M * rng.normal(size=place.shape)
    names = ["x", "y", "z", "qw", "qx", "qy", "qz"]
    heads = ["t [s]", *(f"{n} [m]" for n in names[:3]), *names[3:]]
    tools.write_table(folder / "poses.csv", heads, np.column_stack([run.times_s[at], place, q]))
    columns = ", ".join(f"{n}: {{column: {n}}}" for n in names)
    mounted = {"rotation": np.round(R_SENSOR, 9).tolist(), "translation": list(body.hand)}
    return (
        "recordings:\n"
        f"  poses: {{file: poses.csv, time: {{column: t}}, columns: {{{columns}}}, position: [x, y, z], "
        "orientation: [qw, qx, qy, qz], stored: wxyz}\n"
        f"{_wrench(folder, body, run, rng)}poses:                           # of the load cell in the body frame\n"
        f"  sensor: {json.dumps(mounted)}\n"
    )


def _markers(folder: Path, model: Model, body: Body, run: Moved, rng: np.random.Generator) -> str:
    """Markers on the body and on the load cell."""
    assert run.motion.poses is not None
    R0, at = np.array(model.mechanism.R_world_body), slice(None, None, SEEN_EVERY)
    turn, place = R0 @ run.motion.poses.rotation[at], run.motion.poses.position[at] @ R0.T
    module = np.array(body.hand) + MODULE @ R_SENSOR.T
    places = {**body.places, **{f"S{i + 1}": p for i, p in enumerate(module)}}
    points: FloatArray = np.array(list(places.values())) @ turn.transpose(0, 2, 1) + place[:, None]
    points += np.array([0.3, -0.2, 0.01]) + NOISE_M * rng.normal(size=points.shape)
    heads = ["t [s]", *(f"{n}_{a} [m]" for n in places for a in "xyz")]
    tools.write_table(
        folder / "markers.csv", heads, np.column_stack([run.times_s[at], points.reshape(len(points), -1)])
    )
    columns = ", ".join(f"{n}: {{column: [{n}_x, {n}_y, {n}_z]}}" for n in places)
    offset = {"rotation": np.eye(3).tolist(), "translation": [0, 0, 0]}
    return (
        f"recordings:\n  mocap: {{file: markers.csv, time: {{column: t}}, columns: {{{columns}}}}}\n"
        f"{_wrench(folder, body, run, rng)}markers:\n  {body.markers}\n"
        f"  sensor: {{markers: [S1, S2, S3], offset: {json.dumps(offset)}}}\n"
    )


def _coordinates(folder: Path, _: Model, __: Body, run: Moved, rng: np.random.Generator) -> str:
    """Encoders and torques of each freedom."""
    count = run.rows.shape[1]
    angles = np.degrees(run.states[:, :count] + NOISE_RAD * rng.normal(size=(len(run.states), count)))
    efforts = run.rows + NOISE_NM * rng.normal(size=run.rows.shape)
    names = [[f"{kind}_{i + 1}" for i in range(count)] for kind in ("angle", "torque")]
    heads = ["t [s]", *(f"{n} [deg]" for n in names[0]), *(f"{n} [N m]" for n in names[1])]
    tools.write_table(folder / "log.csv", heads, np.column_stack([run.times_s, angles, efforts]))
    columns = ", ".join(f"{n}: {{column: {n}}}" for n in names[0] + names[1])
    return (
        f"recordings:\n  signals: {{file: log.csv, time: {{column: t}}, columns: {{{columns}}}, "
        f"coordinates: [{', '.join(names[0])}], efforts: [{', '.join(names[1])}]}}\n"
    )
