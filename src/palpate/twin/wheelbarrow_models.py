"""True wheelbarrows: the paper's, and random ones that are plausible; where sensors, grips and markers are on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import (
    is_consistent,
    nearest_consistent,
    phi_from_mass_properties,
    phi_from_pseudo_inertia,
    pseudo_inertia,
    solid_box,
    solid_cylinder,
)
from palpate.physics.so3 import exp_rotation
from palpate.physics.spatial import nearest_rotation
from palpate.twin.capture import T_MARKER
from palpate.twin.wheelbarrow_motion import AS_A_WHEELBARROW, KINDS, Kind, Manner
from palpate.twin.wheelbarrow_physics import Barrow, Sides

TABLE = (45.0, -0.115, 0.445, 0.012, 13.56, 2.63, 0.28, 2.80, 0.61, 12.55)
"""The paper's Table: m, c_x, c_y, c_z, Ixx, Ixy, Ixz, Iyy, Iyz, Izz; then b_v, b_c, b_psi."""
TABLE_FRICTION = (0.388, 1.172, 2.943)
PAPER_RADIUS = 0.197
AXLE, FEET = (8, 11), (7, 12)
SENSORS = ((5, 4, 3), (14, 15, 16))
"""Marker numbers: right end of the axle and left; feet, right and left; p1, p2, p3 of the sensors, right and left."""
ACROSS = ((9, 6), (10, 13))
_FOOT_MARKER_M = 0.021
"""Height of a foot's marker while it stands."""
# Where the authors' markers are in B, cm: found from the excerpts of their motion capture.
_PLACES_CM = (
    [[-5, 138, -26], [-6, 117, -27], [0, 0, 0], [0, 0, 0], [0, 0, 0], [-4, 87, -25], [0, 0, 0], [0, 0, -15]],
    [[-4, -14, -13], [-4, -14, 13], [0, 0, 15], [0, 0, 0], [-4, 87, 25], [0, 0, 0], [0, 0, 0], [0, 0, 0]],
    [[-7, 117, 28], [-6, 138, 30], [-25, 84, 18], [-45, 21, 32], [-54, -9, 2], [-45, 21, -31], [-25, 84, -15]],
)
_OWN = np.array([[-0.069, -0.055, -0.007], [-0.090, -0.020, -0.007], [-0.086, 0.020, -0.007]])
"""p1, p2, p3 in the sensor frame, m."""
_SENSOR_AXES = (
    [[-0.46, 0.89, -0.05], [0.05, 0.08, 0.99], [0.88, 0.46, -0.08]],
    [[1.0, 0.04, 0.0], [0.0, 0.12, 0.99], [0.04, -0.99, 0.12]],
)
_SENSOR_PLACES = ((-0.043, 1.076, -0.240), (-0.042, 1.075, 0.249))
_MIDDLE_AXES, _MIDDLE_PLACE = ([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],), ((-0.043, 1.076, 0.0),)
"""One load cell between both shafts and a bar: its z back, its x left."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which marker, counted from 1, sits where; the letters before the numbers, and the subject's name."""

    subject: str
    prefix: str
    count: int
    axle: tuple[int, int]
    """Right end and left."""
    across: tuple[tuple[int, int], ...]
    feet: tuple[int, int]
    """Right and left."""
    sensors: tuple[tuple[int, int, int], ...]
    """p1, p2, p3 of each."""

    def names(self, numbers: tuple[int, ...] | None = None) -> list[str]:
        """Of these markers, or of all."""
        return [f"{self.prefix}{i}" for i in (numbers or range(1, self.count + 1))]


@dataclass(frozen=True, slots=True, eq=False)
class Build:
    """What tells apart the objects that roll: their file's name, markers, sensors and how people move them."""

    object: str
    layout: Layout
    sensors: Callable[[np.random.Generator], Sides]
    places: Callable[[np.random.Generator, Barrow, Sides], FloatArray]
    """(markers, 3) m in B."""
    manner: Manner
    kinds: tuple[Kind, ...]


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
    parts = [
        phi_from_mass_properties(wheel, np.zeros(3), solid_cylinder(wheel, 0.09, 0.8 * R, [0, 0, 1])),
        phi_from_mass_properties(
            tray, [-rng.uniform(0.18, 0.25), rng.uniform(0.36, 0.46), 0.0], solid_box(tray, [0.30, 0.85, 0.62])
        ),
        phi_from_mass_properties(
            load,
            [-rng.uniform(0.08, 0.22), rng.uniform(0.34, 0.54), rng.uniform(-0.05, 0.05)],
            turned(rng, solid_box(load, rng.uniform([0.10, 0.20, 0.20], [0.25, 0.45, 0.45]))),
        ),
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


def drawing_off_by(rng: np.random.Generator, phi: FloatArray, spread: float) -> FloatArray:
    """As a drawing has it that is off by this fraction, in the sense of `relative_spread` with the mass known."""
    U = np.linalg.cholesky(pseudo_inertia(phi)[::-1, ::-1])[::-1, ::-1]
    upper = spread * np.triu(rng.normal(size=(4, 4)))
    upper[3, 3] = 0.0
    values, vectors = np.linalg.eigh((upper + upper.T) * np.where(np.eye(4) > 0, 0.5, np.sqrt(0.5)))
    found = phi_from_pseudo_inertia(U @ (vectors * np.exp(values)) @ vectors.T @ U.T)
    return found * (phi[0] / found[0])


def mounted(rng: np.random.Generator, axes: Sequence[ArrayLike], places: Sequence[Sequence[float]]) -> Sides:
    """Sensors as drawn (R_body_sensor, m in B), a little otherwise; the hands hold 10 to 16 cm behind."""
    drawn = np.array([nearest_rotation(a, tolerance=0.05) for a in axes])
    count = len(drawn)
    R = exp_rotation(np.radians(1.5) * rng.normal(size=(count, 3))) @ drawn
    r = np.array(places) + rng.uniform(-0.01, 0.01, (count, 3))
    grip = R @ np.array([0.0, 0.0, 1.0]) * rng.uniform(0.10, 0.16, (count, 1))
    return Sides(R, r, r + grip)


def sensor_poses(rng: np.random.Generator) -> Sides:
    """As the authors mounted them."""
    return mounted(rng, _SENSOR_AXES, _SENSOR_PLACES)


def middle_sensor(rng: np.random.Generator) -> Sides:
    """One load cell, behind which a bar joins both shafts."""
    return mounted(rng, _MIDDLE_AXES, _MIDDLE_PLACE)


def marker_places(rng: np.random.Generator, barrow: Barrow, sides: Sides) -> FloatArray:
    """(23, 3) m in B, as the authors'."""
    return attached(rng, np.array([p for group in _PLACES_CM for p in group]) / 100.0, LAYOUT, barrow, sides)


def places_with_one(rng: np.random.Generator, barrow: Barrow, sides: Sides) -> FloatArray:
    """As the authors', with three of them on the load cell in the middle."""
    drawn = np.array([p for group in _PLACES_CM for p in group]) / 100.0
    drawn[[i - 1 for i in SENSORS[1]]] = [[-0.05, 0.55, 0.24], [-0.06, 0.70, 0.25], [-0.02, 0.99, 0.26]]
    return attached(rng, drawn, LAYOUT_OF_ONE, barrow, sides)


def attached(rng: np.random.Generator, drawn: FloatArray, layout: Layout, barrow: Barrow, sides: Sides) -> FloatArray:
    """(markers, 3) m in B, from where they are drawn. The axle's ends and the across markers define B and are where
    they say; three are on each sensor module, one above each foot.
    """
    places = drawn.copy()
    free = np.ones(len(places), dtype=bool)
    free[[i - 1 for pair in (*layout.across, layout.axle) for i in pair]] = False
    places[free] += rng.uniform(-0.02, 0.02, (int(free.sum()), 3))
    for (right, left), reach in zip(zip(*layout.across, strict=True), rng.uniform(-0.01, 0.01, 2), strict=True):
        places[right - 1, 1] += reach
        places[left - 1, 1] += reach
    frame = nearest_rotation(T_MARKER[:3, :3])
    for numbers, R, r in zip(layout.sensors, sides.R_body_sensor, sides.r_body_sensor, strict=True):
        local = (_OWN - T_MARKER[:3, 3]) @ frame
        own = np.array([[*local[0, :2], 0], [0, 0, 0], [np.linalg.norm(local[2] - local[1]), 0, 0]])
        own[0, :2] += rng.uniform(-0.003, 0.003, 2)
        places[[i - 1 for i in numbers]] = (own @ frame.T + T_MARKER[:3, 3]) @ R.T + r
    up = np.array([-np.cos(barrow.standing), np.sin(barrow.standing), 0.0])
    for number, foot in zip(layout.feet, barrow.feet, strict=True):
        places[number - 1] = foot + _FOOT_MARKER_M * up
    return places


def _feet(radius: float, standing: float, back: float, half: float) -> FloatArray:
    """(2, 3) m in B: on the ground at the pitch `standing` (rad), that far behind the axle and to the sides."""
    down = (radius + back * np.sin(standing)) / np.cos(standing)
    return np.array([[down, back, -half], [down, back, half]])


LAYOUT = Layout("WBObject", "WB_ID", 23, AXLE, ACROSS, FEET, SENSORS)
LAYOUT_OF_ONE = replace(LAYOUT, sensors=SENSORS[:1])
WHEELBARROW = Build("wheelbarrow", LAYOUT, sensor_poses, marker_places, AS_A_WHEELBARROW, KINDS)
