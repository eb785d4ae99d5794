"""Objects that roll and cannot lean or turn: what they do not show, and whether they are held as they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from palpate.findings import Finding
from palpate.identify.balance import Segment
from palpate.mechanisms import Rolling
from palpate.model import Model
from palpate.physics.poses import Poses

LEANS_DEG, TURNS_DEG = 3.0, 10.0
"""What is held may stray so far within a segment: soft tyres, a floor that is not even, a hand."""


def held_findings(poses: Poses, segments: Mapping[str, Sequence[Segment]], model: Model) -> list[Finding]:
    """Numbers that the mechanism hides, and segments in which the object leans or turns though it is said not to.

    poses: T_world_B in a world whose z points up.
    """
    rolling = model.mechanism
    if not isinstance(rolling, Rolling) or rolling.moves == "full":
        return []
    found: list[Finding] = []
    if rolling.hidden:
        told = (
            f"{', '.join(rolling.hidden)}: an object that goes straight and upright neither shows nor needs them; "
            "without a prior they are not told, and what the model holds in their place is any body that moves alike"
        )
        found.append(Finding("hidden", told))
    strays = [text for name in ("train", "test") for s in segments[name] for text in _strays(poses, name, s, rolling)]
    if strays:
        held = "goes straight and upright" if rolling.moves == "planar" else "stays upright"
        more = f" and {len(strays) - 3} more" if len(strays) > 3 else ""
        told = (
            f"the object {model.name!r} {held}, but it {', '.join(strays[:3])}{more}: what that takes is left in the "
            "error; choose an object that may (mechanism: {moves: full} has all freedoms)"
        )
        found.append(Finding("held", told))
    return found


def _strays(poses: Poses, name: str, segment: Segment, rolling: Rolling) -> list[str]:
    inside = poses.seen & (poses.times_s >= segment[0]) & (poses.times_s < segment[1])
    if not inside.any():
        return []
    axle, where = poses.rotation[inside, :, 2], f"in segments.{name} {segment[0]:g} to {segment[1]:g} s"
    lean = float(np.degrees(np.ptp(np.arcsin(np.clip(axle[:, 2], -1.0, 1.0)))))
    turn = float(np.degrees(np.ptp(np.unwrap(np.arctan2(-axle[:, 0], axle[:, 1])))))
    told = [f"leans by {lean:.1f} deg {where}"] if lean > LEANS_DEG else []
    return told + ([f"turns by {turn:.0f} deg {where}"] if rolling.moves == "planar" and turn > TURNS_DEG else [])
