"""What a mechanism looks like: a few plain solids for pictures; no number of a model follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Place = tuple[float, float, float]
_Z: Place = (0.0, 0.0, 1.0)


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


def wheel(radius: float, at: Place, axis: Place, width: float = 0.04, swivel: str = "", trail: float = 0.0) -> Solid:
    """A wheel about its axle."""
    return Solid("cylinder", (radius, width), at, axis, "wheel", swivel, trail)


def grip(at: Place, radius: float = 0.035) -> Solid:
    """Where the hand is."""
    return Solid("ball", (radius,), at, part="grip")
