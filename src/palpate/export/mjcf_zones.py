"""Damping that depends on angle and direction, for MuJoCo: limits that resist but do not push.

A limit of small impedance d is a spring and damper in force that never pulls: f = max(0, I (k r + b v) d / (1 - d))
(MuJoCo documentation, Solver parameters). With k = 0 it is a damper that acts beyond a place and against one direction
only; d that grows over a width lets it begin gradually. So resistance to opening may grow with the angle and resistance
to closing fall, as those of a door closer do; and a stop may have damping that grows with how far it is pressed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np

from palpate.export.mjcf_curves import Curves
from palpate.export.mjcf_laws import FAR, section
from palpate.export.mjcf_text import child, numbers
from palpate.physics.arrays import FloatArray

SOFTEST = 1e-4
"""The least impedance that MuJoCo knows."""
_KNOTS = 24
_WHOLE = 1e-3
"""Impedance where a damper has begun; it adds as much to the inertia."""
_DEEP, _PRESSED = 0.1, 0.05
"""A stop's damping grows up to this way (rad), and has this impedance there."""


@dataclass(frozen=True, slots=True, eq=False)
class Zones:
    """Damping (a, b) of the joint; dampers (place in rad, N m s/rad) against opening beyond and closing below."""

    joint: FloatArray
    opening: tuple[tuple[float, float], ...]
    closing: tuple[tuple[float, float], ...]
    width: float
    rms: float
    worst: float

    @property
    def added_inertia(self) -> float:
        """The largest part by which the limits together make the inertia seem larger."""
        return max(len(self.opening), len(self.closing)) * _WHOLE


def fit_zones(curves: Curves) -> Zones:
    """The nearest sum of dampers that each take energy out, by least squares over angles and speeds."""
    from scipy.optimize import nnls

    q, v, force = curves.moving()
    places = np.linspace(curves.low, curves.high, _KNOTS + 1)
    width = float(places[1] - places[0])
    up, down = places[:-1], places[1:]
    up, down = np.append(up[0] - width, up), np.append(down, down[-1] + width)  # those that are whole all along
    whole = [v, v * np.abs(v)]
    against_opening = [np.maximum(v, 0.0) * _weight((q - at) / width) for at in up]
    against_closing = [np.minimum(v, 0.0) * _weight((at - q) / width) for at in down]
    columns = np.stack([*whole, *against_opening, *against_closing], axis=1)
    found = nnls(columns, force)[0]
    found[found < 1e-6 * found.max()] = 0.0
    error = columns @ found - force
    opening, closing = np.split(found[2:], 2)
    return Zones(
        found[:2],
        tuple((float(at), float(b)) for at, b in zip(up, opening, strict=True) if b),
        tuple((float(at), float(b)) for at, b in zip(down, closing, strict=True) if b),
        width,
        math.sqrt(float(np.mean(error**2))),
        float(np.abs(error).max()),
    )


def add_zones(root: ElementTree.Element, zones: Zones, joint: str, inertia: float) -> None:
    """Write the dampers into the tree as limited tendons along the joint, whose inertia is given in kg m2."""
    for name, dampers in (("opening", zones.opening), ("closing", zones.closing)):
        for i, (at, b) in enumerate(dampers):
            ends = (-FAR, at) if name == "opening" else (at, FAR)
            _add_limit(root, f"{joint}_{name}_{i}", joint, ends, b / inertia, (_WHOLE, zones.width))


def add_stop_damper(
    root: ElementTree.Element, name: str, joint: str, ends: tuple[float, float], c: float, inertia: float
) -> None:
    """Damping c d d' of a stop (N m s/rad2) at the end of a range, where d is how far it is pressed."""
    _add_limit(root, name, joint, ends, c * _DEEP / inertia, (_PRESSED, _DEEP))


def _add_limit(
    root: ElementTree.Element,
    name: str,
    joint: str,
    ends: tuple[float, float],
    damping: float,
    grows: tuple[float, float],
) -> None:
    """A limit that damps motion out of a range; `grows`: to which impedance over which width."""
    solver = {"solreflimit": numbers([0.0, -damping]), "solimplimit": numbers([SOFTEST, *grows, 0.5, 1.0])}
    attributes = {"name": name, "limited": "true", "range": numbers(ends), **solver}
    child(child(section(root, "tendon"), "fixed", attributes), "joint", {"joint": joint, "coef": "1"})


def _weight(beyond: FloatArray) -> FloatArray:
    """The damper's share, over widths beyond its place."""
    d = SOFTEST + (_WHOLE - SOFTEST) * np.clip(beyond, 0.0, 1.0)
    return np.where(beyond > 0, d / (1 - d) / _WHOLE, 0.0)
