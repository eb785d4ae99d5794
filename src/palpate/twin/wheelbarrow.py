"""True objects that roll and their simulated experiments: wheelbarrows, free or going straight, and hand trucks."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from importlib import resources
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from ruamel.yaml import YAML

from palpate.model import Model, load_object
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import (
    is_consistent,
    nearest_consistent,
    phi_from_mass_properties,
    solid_box,
    solid_cylinder,
)
from palpate.physics.motion import exp_rotation, nearest_rotation
from palpate.twin.handle import random_handle
from palpate.twin.instruments import T_MARKER, DeviceClock, random_clocks, tilted
from palpate.twin.rolling import (
    KINDS,
    Block,
    Build,
    Kind,
    Manner,
    Ramp,
    RollingTwin,
    Segment,
    Wheeling,
    wheel_of,
)

_CHANGING_S = 1.0
_SLOW_HZ, _FAST_HZ = (0.15, 0.45), (0.7, 3.0)
_SLOW_SINES, _FAST_SINES = 2, 4
_CAMBER_LIMIT = np.radians(7.2)
_TRIES = 40


def random_wheeling(rng: np.random.Generator, segments: Sequence[Segment], model: Model, manner: Manner) -> Wheeling:
    """What a person does in these segments."""
    blocks: list[Block] = []
    lifting_s = manner.lifting_s
    for segment in segments:
        inner = np.linspace(segment.begin_s, segment.end_s, len(segment.kinds) + 1)[1:-1] - _CHANGING_S / 2
        ramps = [(segment.begin_s - lifting_s, lifting_s), *((float(a), _CHANGING_S) for a in inner)]
        ramps.append((segment.end_s, lifting_s))
        spans = pairwise(ramps)
        blocks += [_block(rng, manner, kind, *span) for kind, span in zip(segment.kinds, spans, strict=True)]
    place = (float(rng.uniform(-0.3, 0.3)), float(rng.uniform(-0.3, 0.3)))
    heading = float(rng.uniform(-np.pi, np.pi))
    radius = wheel_of(model).radius
    return Wheeling(tuple(blocks), tuple(segments), standing_pitch(model), radius, place, heading, lifting_s)


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


def standing_pitch(model: Model) -> float:
    """Pitch at which both feet are on the ground, rad: x cos(pitch) - y sin(pitch) = R.

    Feet ahead of the axle (x < 0) are on the ground with the handles up, those behind it with the handles down.
    """
    wheel = wheel_of(model)
    x, y = np.array(wheel.feet)[:, :2].mean(axis=0)
    return float(np.copysign(np.arccos(wheel.radius / np.hypot(x, y)), x) - np.arctan2(y, x))


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
    places, wheel, standing = build.drawn.copy(), wheel_of(model), standing_pitch(model)
    if wheel.track:
        places[[i - 1 for i in build.axle], 2] = np.array([-1, 1]) * (0.5 * wheel.track + _HUB_M)
    free = np.ones(len(places), dtype=bool)
    free[[i - 1 for pair in (*build.across, build.axle) for i in pair]] = False
    places[free] += rng.uniform(-0.02, 0.02, (int(free.sum()), 3))
    for (right, left), reach in zip(zip(*build.across, strict=True), rng.uniform(-0.01, 0.01, 2), strict=True):
        places[right - 1, 1] += reach
        places[left - 1, 1] += reach
    frame = nearest_rotation(T_MARKER[:3, :3])
    for numbers, turn, place in zip(build.sensors, R, r, strict=True):
        local = (_MODULE - T_MARKER[:3, 3]) @ frame
        module = np.array([[*local[0, :2], 0], [0, 0, 0], [np.linalg.norm(local[2] - local[1]), 0, 0]])
        module[0, :2] += rng.uniform(-0.003, 0.003, 2)
        places[[i - 1 for i in numbers]] = (module @ frame.T + T_MARKER[:3, 3]) @ turn.T + place
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


def typical_truck() -> Model:
    """A hand truck of steel tubes with a crate of bottles."""
    load = (30.0, [-0.16, 0.26, 0.01], solid_box(30.0, [0.32, 0.50, 0.40]))
    return _truck((1.6, 4.5, 3.0), load, 0.125, 0.45, (np.radians(88.0), 0.24, 0.20), (0.20, 0.60, 0.75, 1.2))


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


def wheelbarrow_twin(seed: int, *, segments: Sequence[Segment] | None = None, poor: bool = False) -> RollingTwin:
    """A random wheelbarrow; both its handles are that of `write_handle_twin(seed=seed)`.

    poor: only pushed straight ahead and back, gently; handles and lean are kept still.
    """
    build, rng = WHEELBARROW, np.random.default_rng([seed, 30])
    if poor:
        segments = segments or tuple(Segment(name, a, b, ("push",)) for name, a, b in _PUSHED)
        build = replace(build, manner=build.manner.scaled(_GENTLE, _STILL_SWAY))
    return _dressed(rng, random_barrow(rng), build, seed, segments)


def planar_twin(
    seed: int | None = None,
    *,
    build: Build = WHEELBARROW,
    sway: float = SWAY,
    segments: Sequence[Segment] | None = None,
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
    seed: int | None = None, *, build: Build = BUILDS["hand-truck"], segments: Sequence[Segment] | None = None
) -> RollingTwin:
    """A hand truck that is pushed, tilted and turned; without a seed, a typical one.

    build: one load cell behind a bar that both hands hold, or one for each hand.
    """
    rng = np.random.default_rng([seed or 0, 50])
    truck = typical_truck() if seed is None else random_truck(rng)
    return _dressed(rng, truck, build, seed or 0, segments)


def _dressed(
    rng: np.random.Generator, model: Model, build: Build, seed: int, segments: Sequence[Segment] | None
) -> RollingTwin:
    """With random clocks and the handle of `write_handle_twin(seed=seed)`."""
    clocks = random_clocks(rng, -2.0, 0.3)
    phi = random_handle(np.random.default_rng([seed, 0]))
    return dress_rolling(model, phi, seed, segments or random_segments(rng, build.kinds), clocks, build=build)


def dress_rolling(
    model: Model,
    phi: FloatArray,
    seed: int,
    segments: Sequence[Segment],
    clocks: Sequence[DeviceClock],
    *,
    build: Build = WHEELBARROW,
) -> RollingTwin:
    """A given object with sensors, markers and a person; clocks: of IMU and load cells."""
    rng = np.random.default_rng([seed, 31])
    R, r, grip = mounted(rng, build)
    R_capture_world = tilted(rng, 0.1)
    sideways, squeeze, tremble = (float(rng.uniform(low, high)) for low, high in ((0.0, 0.3), (0, 6), (3, 7)))
    wheeling = random_wheeling(rng, segments, model, build.manner)
    return RollingTwin(
        model=model,
        phi=phi,
        R_body_sensor=R,
        r_body_sensor=r,
        r_body_grip=grip,
        sideways=sideways,
        squeeze=squeeze,
        tremble=tremble,
        wheeling=wheeling,
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
