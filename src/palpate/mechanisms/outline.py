"""What a mechanism looks like: a few plain solids for pictures; no number of a model follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from palpate.physics.arrays import FloatArray

Place = tuple[float, float, float]
_Z: Place = (0.0, 0.0, 1.0)
_SIDES = 24
"""Of a circle that is drawn with straight lines."""


@dataclass(frozen=True, slots=True)
class Solid:
    """A box, a cylinder or a ball, in m; `inertia`: the homogeneous box that the model's rigid body amounts to.

    `size`: of a box along x, y and z, of a cylinder its radius and its length along `axis`, of a ball its radius.
    """

    kind: Literal["box", "cylinder", "ball", "inertia"]
    size: tuple[float, ...] = ()
    at: Place = (0.0, 0.0, 0.0)
    """Its middle: in the body frame, or, if it stands still, in the mechanism's."""
    axis: Place = _Z
    part: Literal["body", "grip", "wheel", "frame"] = "body"
    """What it is: colours follow from it. A frame stands still."""
    swivel: str = ""
    """The position of the state that turns it about z, with ..."""
    trail: float = 0.0
    """... so far from its middle to where it turns, behind it, m."""


@dataclass(frozen=True, slots=True)
class Outline:
    """Solids, where a hand takes hold (m, in the body frame), and the height of linkages along z, m."""

    solids: tuple[Solid, ...]
    hand: Place
    links_at: float = 0.0
    floor: float | None = None
    """Height of the floor in a world whose z points up; None: below the lowest solid."""


def edges(solid: Solid) -> FloatArray:
    """Lines that show a solid, (lines, 2, 3) in m: of a box its edges, of a cylinder its ends; of others none."""
    if solid.kind == "box":
        corners = np.array(list(product((-0.5, 0.5), repeat=3)))
        pairs = [(a, b) for a in range(8) for b in range(a) if (a ^ b) in (1, 2, 4)]
        return np.asarray(corners[pairs] * solid.size + solid.at, dtype=float)
    if solid.kind != "cylinder":
        return np.zeros((0, 2, 3))
    radius, length = solid.size
    along = np.array(solid.axis) / np.linalg.norm(solid.axis)
    across = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
    across /= np.linalg.norm(across)
    turns = np.linspace(0.0, 2 * np.pi, _SIDES + 1)[:, None]
    rim = radius * (np.cos(turns) * across + np.sin(turns) * np.cross(along, across))
    ends = [rim + solid.at + shift * length * along for shift in (-0.5, 0.5)]
    circles = [np.stack([end[:-1], end[1:]], axis=1) for end in ends]
    return np.asarray(np.concatenate([*circles, np.stack(ends, axis=1)[: -1 : _SIDES // 4]]), dtype=float)


def wheel(radius: float, at: Place, axis: Place, width: float = 0.04, swivel: str = "", trail: float = 0.0) -> Solid:
    """A wheel about its axle."""
    return Solid("cylinder", (radius, width), at, axis, "wheel", swivel, trail)


def grip(at: Place, radius: float = 0.035) -> Solid:
    """Where the hand is."""
    return Solid("ball", (radius,), at, part="grip")
