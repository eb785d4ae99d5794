"""True objects that roll and their simulated experiments: wheelbarrows, free or going straight, and hand trucks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml import YAML

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
from palpate.twin.instruments import T_MARKER, DeviceClock, Instruments, random_clocks, tilted
from palpate.twin.rolling import (
    KINDS,
    Barrow,
    Block,
    Build,
    Kind,
    Manner,
    Ramp,
    RollingTwin,
    Segment,
    Wheeling,
    write_rolling_twin,
)

_CHANGING_S = 1.0
_SLOW_HZ, _FAST_HZ = (0.15, 0.45), (0.7, 3.0)
_SLOW_SINES, _FAST_SINES = 2, 4
_CAMBER_LIMIT = np.radians(7.2)
_TRIES = 40


def random_wheeling(
    rng: np.random.Generator, segments: Sequence[Segment], barrow: Barrow, manner: Manner, vigour: float
) -> Wheeling:
    """What a person does in these segments; `vigour`: a factor of the accelerations."""
    blocks: list[Block] = []
    lifting_s = manner.lifting_s
    for segment in segments:
        inner = np.linspace(segment.begin_s, segment.end_s, len(segment.kinds) + 1)[1:-1] - _CHANGING_S / 2
        ramps = [(segment.begin_s - lifting_s, lifting_s), *((float(a), _CHANGING_S) for a in inner)]
        ramps.append((segment.end_s, lifting_s))
        spans = pairwise(ramps)
        blocks += [_block(rng, manner, kind, *span, vigour) for kind, span in zip(segment.kinds, spans, strict=True)]
    place = (float(rng.uniform(-0.3, 0.3)), float(rng.uniform(-0.3, 0.3)))
    heading = float(rng.uniform(-np.pi, np.pi))
    return Wheeling(tuple(blocks), tuple(segments), barrow.standing, barrow.radius, place, heading, lifting_s)


def _block(rng: np.random.Generator, manner: Manner, kind: Kind, rise: Ramp, fall: Ramp, vigour: float) -> Block:
    meant = np.array([kind in (name, "mixed") for name in ("push", "scrub", "roll", "lift")])
    much = vigour * (0.6 if kind == "mixed" else 1.0) * rng.uniform(0.85, 1.15, 4)
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


def paper_barrow() -> Barrow:
    """The paper's Table, made realisable where rounding broke it."""
    row = np.array(TABLE)
    phi = np.concatenate([row[:1], row[0] * row[1:4], row[4:]])
    phi = phi if is_consistent(phi) else nearest_consistent(phi)
    return Barrow(phi, PAPER_RADIUS, *TABLE_FRICTION, _feet(PAPER_RADIUS, np.radians(11.0), 0.445, 0.211))


def random_barrow(rng: np.random.Generator, *, radius: float | None = None) -> Barrow:
    """Tray, tubes, legs, wheel and a load that was put in by hand: 25 to 60 kg."""
    R = float(f"{rng.uniform(0.15, 0.22):.4f}") if radius is None else radius
    feet = _feet(R, np.radians(rng.uniform(8.5, 13.0)), rng.uniform(0.42, 0.48), rng.uniform(0.19, 0.23))
    wheel, tray, tubes, legs = rng.uniform([2.0, 6.0, 4.0, 1.5], [4.0, 9.0, 7.0, 3.0])
    load = float(f"{rng.uniform(25, 60):.3f}") - wheel - tray - tubes - legs
    at_tray = [-rng.uniform(0.18, 0.25), rng.uniform(0.36, 0.46), 0.0]
    at_load = [-rng.uniform(0.08, 0.22), rng.uniform(0.34, 0.54), rng.uniform(-0.05, 0.05)]
    crate = turned(rng, solid_box(load, rng.uniform([0.10, 0.20, 0.20], [0.25, 0.45, 0.45])))
    parts = [
        phi_from_mass_properties(wheel, np.zeros(3), solid_cylinder(wheel, 0.09, 0.8 * R, [0, 0, 1])),
        phi_from_mass_properties(tray, at_tray, solid_box(tray, [0.30, 0.85, 0.62])),
        phi_from_mass_properties(load, at_load, crate),
    ]
    for side, foot in zip((-0.25, 0.25), feet, strict=True):
        tube = solid_cylinder(tubes / 2, 1.3, 0.02, [0.03, 1, 0.1 * np.sign(side)])
        leg = solid_cylinder(legs / 2, 0.35, 0.015, [1, 0.2, 0])
        parts.append(phi_from_mass_properties(tubes / 2, [-0.03, 0.55, 0.9 * side], tube))
        parts.append(phi_from_mass_properties(legs / 2, foot - [0.17, 0.03, 0.0], leg))
    b_v, b_c, b_psi = np.exp(rng.uniform(np.log([0.2, 0.6, 1.5]), np.log([0.7, 2.2, 5.0])))
    return Barrow(np.sum(parts, axis=0), R, float(b_v), float(b_c), float(b_psi), feet)


def turned(rng: np.random.Generator, inertia: FloatArray) -> FloatArray:
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


def attached(
    rng: np.random.Generator, build: Build, barrow: Barrow, sensors: tuple[FloatArray, FloatArray, FloatArray]
) -> FloatArray:
    """(markers, 3) m in B, from where they are drawn. The axle's ends and the across markers define B and are where
    they say; three are on each sensor module, one above each foot.
    """
    places = build.drawn.copy()
    if barrow.track:
        places[[i - 1 for i in build.axle], 2] = np.array([-1, 1]) * (0.5 * barrow.track + _HUB_M)
    free = np.ones(len(places), dtype=bool)
    free[[i - 1 for pair in (*build.across, build.axle) for i in pair]] = False
    places[free] += rng.uniform(-0.02, 0.02, (int(free.sum()), 3))
    for (right, left), reach in zip(zip(*build.across, strict=True), rng.uniform(-0.01, 0.01, 2), strict=True):
        places[right - 1, 1] += reach
        places[left - 1, 1] += reach
    frame = nearest_rotation(T_MARKER[:3, :3])
    for numbers, R, r in zip(build.sensors, *sensors[:2], strict=True):
        local = (_MODULE - T_MARKER[:3, 3]) @ frame
        module = np.array([[*local[0, :2], 0], [0, 0, 0], [np.linalg.norm(local[2] - local[1]), 0, 0]])
        module[0, :2] += rng.uniform(-0.003, 0.003, 2)
        places[[i - 1 for i in numbers]] = (module @ frame.T + T_MARKER[:3, 3]) @ R.T + r
    up = np.array([-np.cos(barrow.standing), np.sin(barrow.standing), 0.0])
    for number, foot in zip(build.feet, barrow.feet, strict=True):
        places[number - 1] = foot + _FOOT_MARKER_M * up
    return places


def _feet(radius: float, standing: float, back: float, half: float) -> FloatArray:
    """(2, 3) m in B: on the ground at the pitch `standing` (rad), that far behind the axle and to the sides."""
    down = (radius + back * np.sin(standing)) / np.cos(standing)
    return np.array([[down, back, -half], [down, back, half]])


# --- hand trucks: standing on its plate one is upright, y of its frame, towards the handle, points up and x back ------

TYPICAL_RADIUS, TYPICAL_TRACK = 0.125, 0.45
_HUB_M = 0.03


def typical_truck() -> Barrow:
    """A hand truck of steel tubes with a crate of bottles."""
    phi = _truck_parts([1.6, 4.5, 3.0, 30.0], [-0.16, 0.26, 0.01], [0.32, 0.50, 0.40], TYPICAL_RADIUS, TYPICAL_TRACK)
    feet = _truck_feet(TYPICAL_RADIUS, np.radians(88.0), 0.24, 0.20)
    return Barrow(phi, TYPICAL_RADIUS, 0.20, 0.0, 1.2, feet, moves="upright", track=TYPICAL_TRACK, b_sides=(0.60, 0.75))


def random_truck(rng: np.random.Generator) -> Barrow:
    """Tubes, plate, two wheels and a load that was put on by hand: 25 to 70 kg."""
    R, track = (float(f"{v:.4f}") for v in (rng.uniform(0.10, 0.15), rng.uniform(0.40, 0.52)))
    wheel, tubes, plate = rng.uniform([1.0, 3.5, 2.0], [2.2, 6.0, 4.0])
    load = float(f"{rng.uniform(25, 70):.3f}") - 2 * wheel - tubes - plate
    size = rng.uniform([0.22, 0.35, 0.28], [0.36, 0.70, 0.45])
    place = [-size[0] / 2 + rng.uniform(-0.03, 0.03), size[1] / 2 + rng.uniform(-0.08, 0.0), rng.uniform(-0.04, 0.04)]
    phi = _truck_parts([wheel, tubes, plate, load], place, size, R, track, rng)
    feet = _truck_feet(R, np.radians(rng.uniform(86.0, 90.0)), rng.uniform(0.20, 0.28), rng.uniform(0.17, 0.22))
    b_v, left, b_psi = np.exp(rng.uniform(np.log([0.08, 0.25, 0.6]), np.log([0.35, 0.9, 2.5])))
    sides = float(left), float(left * rng.uniform(0.7, 1.4))
    return Barrow(phi, R, float(b_v), 0.0, float(b_psi), feet, moves="upright", track=track, b_sides=sides)


def _truck_parts(
    masses: list[float] | FloatArray,
    place: list[float] | FloatArray,
    size: list[float] | FloatArray,
    R: float,
    track: float,
    rng: np.random.Generator | None = None,
) -> FloatArray:
    """(10,) in B. masses (kg): of one wheel, all tubes, plate, load; place and size (m) of the load."""
    wheel, tubes, plate, load = masses
    crate = solid_box(load, np.asarray(size, dtype=float))
    parts = [
        phi_from_mass_properties(plate, [-0.12, -R + 0.01, 0.0], solid_box(plate, [0.24, 0.01, 0.42])),
        phi_from_mass_properties(load, place, crate if rng is None else turned(rng, crate)),
    ]
    for side in (-1, 1):
        tube = solid_cylinder(tubes / 2, 1.15, 0.015, [0.02, 1, 0])
        spun = solid_cylinder(wheel, 0.05, 0.8 * R, [0, 0, 1])
        parts.append(phi_from_mass_properties(tubes / 2, [0.04, 0.52, 0.15 * side], tube))
        parts.append(phi_from_mass_properties(wheel, [0.0, 0.0, 0.5 * track * side], spun))
    return np.sum(parts, axis=0)


def _truck_feet(radius: float, standing: float, ahead: float, half: float) -> FloatArray:
    """(2, 3) m in B: on the ground at the pitch `standing` (rad), that far ahead of the axle and to the sides."""
    cos, sin = np.cos(standing), np.sin(standing)
    x, y = radius * cos - ahead * sin, -ahead * cos - radius * sin
    return np.array([[x, y, -half], [x, y, half]])


# --- experiments ------------------------------------------------------------------------------------------------------

SPREAD = 0.3
_PUSHED = (("train", 8.0, 42.0), ("test", 48.0, 64.0))
_GENTLE, _STILL_SWAY = 0.4, 0.05
"""Where it is only pushed: shares of the usual accelerations, and of the usual sway of yaw, camber and pitch."""
_TAIL_S = 4.0


def wheelbarrow_twin(
    seed: int,
    *,
    segments: Sequence[Segment] | None = None,
    vigour: float = 1.0,
    tilt_deg: float = 0.1,
    wheel_inertia: float = 0.0,
    instruments: Instruments | None = None,
    poor: bool = False,
) -> RollingTwin:
    """A random wheelbarrow; both its handles are that of `write_handle_twin(seed=seed)`.

    vigour: a factor of the accelerations. tilt_deg: of the capture frame against floor and gravity. wheel_inertia: the
    wheel's own about its axle, kg m2. poor: only pushed straight ahead and back, gently; handles and lean are kept
    still.
    """
    build = WHEELBARROW
    if poor:
        segments = segments or tuple(Segment(name, a, b, ("push",)) for name, a, b in _PUSHED)
        build, vigour = replace(build, manner=build.manner.held(_STILL_SWAY)), _GENTLE * vigour
    rng = np.random.default_rng([seed, 30])
    barrow = replace(random_barrow(rng), wheel_inertia=wheel_inertia)
    twin = _dressed(rng, barrow, build, seed, segments, vigour, tilt_deg)
    return replace(twin, instruments=instruments or Instruments())


def dress_rolling(
    barrow: Barrow,
    phi: FloatArray,
    seed: int,
    segments: Sequence[Segment],
    clocks: Sequence[DeviceClock],
    *,
    build: Build = WHEELBARROW,
    vigour: float = 1.0,
    tilt_deg: float = 0.1,
) -> RollingTwin:
    """A given object with sensors, markers and a person; clocks: of IMU and load cells."""
    rng = np.random.default_rng([seed, 31])
    sensors = mounted(rng, build)
    R_capture_world = tilted(rng, tilt_deg)
    sideways, squeeze, tremble = (float(rng.uniform(low, high)) for low, high in ((0.0, 0.3), (0, 6), (3, 7)))
    wheeling = random_wheeling(rng, segments, barrow, build.manner, vigour)
    return RollingTwin(
        *(barrow, phi, *sensors, sideways, squeeze, tremble, wheeling),
        places=attached(rng, build, barrow, sensors),
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


def write_wheelbarrow_twin(folder: Path, twin: RollingTwin) -> Path:
    """The files of a wheelbarrow with a drawing that is off by a known fraction; returns body.yaml."""
    return write_rolling_twin(folder, twin, spread=SPREAD, markers_file="WB Trajectories.csv")


def write_made(folder: Path, *, make: Callable[[int | None], RollingTwin], seed: int | None = None) -> Path:
    """The files of what `make` makes of a seed, without a drawing; returns body.yaml."""
    return write_rolling_twin(folder, make(seed))


def mixture(rng: np.random.Generator, count: int, kinds: tuple[Kind, ...] = KINDS) -> tuple[Kind, ...]:
    """What is done in a segment: with a count of four every kind in any order; with more, everything at once after
    that; with fewer, some kinds and then everything at once.
    """
    order: list[Kind] = [kinds[i] for i in rng.permutation(len(kinds))]
    return (*order,) if count == 4 else (*order[: count - 1], "mixed")


SWAY = 0.5
"""Sway of a person who pays attention: yaw strays by a degree, camber by a few tenths."""


def planar_twin(
    seed: int | None = None,
    *,
    build: Build = WHEELBARROW,
    sway: float = SWAY,
    segments: Sequence[Segment] | None = None,
    vigour: float = 1.0,
) -> RollingTwin:
    """A wheelbarrow that is pushed straight ahead, pulled back and lifted; without a seed, the paper's.

    sway: how much is left of the sway of a person who does not care; 0, a guide keeps it straight and upright.
    vigour: a factor of the accelerations.
    """
    manner = build.manner.straight(sway)
    build = replace(build, object="wheelbarrow-planar", kinds=("push", "lift"), manner=manner)
    rng = np.random.default_rng([seed or 0, 40])
    barrow = paper_barrow() if seed is None else random_barrow(rng)
    barrow = replace(barrow, b_psi=0.0, moves="planar", guided=sway == 0)
    return _dressed(rng, barrow, build, seed or 0, segments, vigour)


def hand_truck_twin(
    seed: int | None = None,
    *,
    build: Build = BUILDS["hand-truck"],
    segments: Sequence[Segment] | None = None,
    vigour: float = 1.0,
) -> RollingTwin:
    """A hand truck that is pushed, tilted and turned; without a seed, a typical one.

    build: one load cell behind a bar that both hands hold, or one for each hand. vigour: a factor of the accelerations.
    """
    rng = np.random.default_rng([seed or 0, 50])
    truck = typical_truck() if seed is None else random_truck(rng)
    return _dressed(rng, truck, build, seed or 0, segments, vigour)


def _dressed(
    rng: np.random.Generator,
    barrow: Barrow,
    build: Build,
    seed: int,
    segments: Sequence[Segment] | None,
    vigour: float,
    tilt_deg: float = 0.1,
) -> RollingTwin:
    """With random clocks and the handle of `write_handle_twin(seed=seed)`."""
    clocks = random_clocks(rng, -2.0, 0.3)
    phi = random_handle(np.random.default_rng([seed, 0]))
    spans = segments or random_segments(rng, build.kinds)
    return dress_rolling(barrow, phi, seed, spans, clocks, build=build, vigour=vigour, tilt_deg=tilt_deg)
