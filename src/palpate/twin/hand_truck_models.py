"""True hand trucks: a typical one, and random ones that are plausible; where sensors, grips and markers are on them.

Standing on its plate a hand truck is upright: y of its frame, towards the handle, points up and x back.
"""

from __future__ import annotations

import numpy as np

from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import phi_from_mass_properties, solid_box, solid_cylinder
from palpate.twin.wheelbarrow_models import Build, Layout, attached, mounted, turned
from palpate.twin.wheelbarrow_motion import AS_A_HAND_TRUCK
from palpate.twin.wheelbarrow_physics import Barrow, Sides

TYPICAL_RADIUS, TYPICAL_TRACK = 0.125, 0.45
_ONE = Layout("HandTruck", "HT_ID", 18, (1, 2), ((3, 4), (5, 6)), (7, 8), ((9, 10, 11),))
_TWO = Layout("HandTruck", "HT_ID", 18, (1, 2), ((3, 4), (5, 6)), (7, 8), ((9, 10, 11), (12, 13, 14)))
# Where markers are in B, cm: ends of the axle, two up each tube, plate, sensors, tubes, load.
_PLACES_CM = (
    [[0, 0, 0], [0, 0, 0], [4, 18, -15], [4, 78, -15], [4, 18, 15], [4, 78, 15], [0, 0, 0], [0, 0, 0]],
    [[0, 0, 0], [0, 0, 0], [0, 0, 0], [7, 45, -17], [7, 92, 17], [7, 60, 2]],
    [[-38, 12, -20], [-36, 55, -19], [-35, 58, 20], [-15, 70, 4]],
)
_HUB_M = 0.03
_TILTED_BACK = np.radians(40.0)
"""How far the shafts of the handles turn back from the tubes, so that one can pull."""


def typical_truck() -> Barrow:
    """A hand truck of steel tubes with a crate of bottles."""
    phi = _parts([1.6, 4.5, 3.0, 30.0], [-0.16, 0.26, 0.01], [0.32, 0.50, 0.40], TYPICAL_RADIUS, TYPICAL_TRACK)
    feet = _feet(TYPICAL_RADIUS, np.radians(88.0), 0.24, 0.20)
    return _truck(phi, TYPICAL_RADIUS, TYPICAL_TRACK, feet, 0.20, (0.60, 0.75), 1.2)


def random_truck(rng: np.random.Generator) -> Barrow:
    """Tubes, plate, two wheels and a load that was put on by hand: 25 to 70 kg."""
    R, track = (float(f"{v:.4f}") for v in (rng.uniform(0.10, 0.15), rng.uniform(0.40, 0.52)))
    wheel, tubes, plate = rng.uniform([1.0, 3.5, 2.0], [2.2, 6.0, 4.0])
    load = float(f"{rng.uniform(25, 70):.3f}") - 2 * wheel - tubes - plate
    size = rng.uniform([0.22, 0.35, 0.28], [0.36, 0.70, 0.45])
    place = [-size[0] / 2 + rng.uniform(-0.03, 0.03), size[1] / 2 + rng.uniform(-0.08, 0.0), rng.uniform(-0.04, 0.04)]
    phi = _parts([wheel, tubes, plate, load], place, size, R, track, rng)
    feet = _feet(R, np.radians(rng.uniform(86.0, 90.0)), rng.uniform(0.20, 0.28), rng.uniform(0.17, 0.22))
    b_v, left, b_psi = np.exp(rng.uniform(np.log([0.08, 0.25, 0.6]), np.log([0.35, 0.9, 2.5])))
    right = left * rng.uniform(0.7, 1.4)
    return _truck(phi, R, track, feet, float(b_v), (float(left), float(right)), float(b_psi))


def _truck(
    phi: FloatArray, R: float, track: float, feet: FloatArray, b_v: float, b_sides: tuple[float, float], b_psi: float
) -> Barrow:
    return Barrow(phi, R, b_v, 0.0, b_psi, feet, moves="upright", track=track, b_sides=b_sides)


def _parts(
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


def _feet(radius: float, standing: float, ahead: float, half: float) -> FloatArray:
    """(2, 3) m in B: on the ground at the pitch `standing` (rad), that far ahead of the axle and to the sides."""
    cos, sin = np.cos(standing), np.sin(standing)
    x, y = radius * cos - ahead * sin, -ahead * cos - radius * sin
    return np.array([[x, y, -half], [x, y, half]])


def _sensors(rng: np.random.Generator, across: tuple[float, ...]) -> Sides:
    """Their z runs along the handle's shaft, up and back; their x left."""
    cos, sin = np.cos(_TILTED_BACK), np.sin(_TILTED_BACK)
    axes = [[0.0, cos, sin], [0.0, -sin, cos], [1.0, 0.0, 0.0]]
    return mounted(rng, [axes] * len(across), [(0.08, 1.08, z) for z in across])


def _in_the_middle(rng: np.random.Generator) -> Sides:
    return _sensors(rng, (0.0,))


def _on_both_sides(rng: np.random.Generator) -> Sides:
    return _sensors(rng, (-0.16, 0.16))


def _places_of(layout: Layout, rng: np.random.Generator, barrow: Barrow, sides: Sides) -> FloatArray:
    places = np.array([p for group in _PLACES_CM for p in group]) / 100.0
    for number, side in zip(layout.axle, (-1, 1), strict=True):
        places[number - 1] = [0.0, 0.0, side * (0.5 * barrow.track + _HUB_M)]
    return attached(rng, places, layout, barrow, sides)


def _places(rng: np.random.Generator, barrow: Barrow, sides: Sides) -> FloatArray:
    return _places_of(_ONE if len(sides.R_body_sensor) == 1 else _TWO, rng, barrow, sides)


ONE_HANDLE = Build("hand-truck", _ONE, _in_the_middle, _places, AS_A_HAND_TRUCK, ("push", "scrub", "lift"))
"""One load cell between the tubes and a bar that both hands hold."""
TWO_HANDLES = Build("hand-truck", _TWO, _on_both_sides, _places, AS_A_HAND_TRUCK, ("push", "scrub", "lift"))
