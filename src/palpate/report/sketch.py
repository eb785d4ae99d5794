"""A sketch of an object: its outline at rest and moved, seen from above at an angle, and where each parameter acts.

Everything is asked of declarations: the mechanism's outline and linkages, what an element acts on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np

from palpate.elements import SENSOR, WRENCH
from palpate.mechanisms.outline import Solid
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import FLOATS

WIDE, HIGH, BESIDE = 300, 280, 190
"""px: of the drawing, and what the names beside it take."""
_MARGIN = 16
_MOVED = {"rad": 1.1, "m": 0.3}
"""How far the faint copy has moved."""
_COLOURS = {"body": "#9db9d3", "frame": "#d9d9d9", "wheel": "#8a8a8a", "grip": "#cc79a7"}
_LINK, _INK = "#b35c00", "#333333"
_UNKNOWN = (0.4, 0.25, 0.3)
"""Sides of a body of which nothing is known, m."""
_SIDES = 20
_LISTED, _WORDS, _LINE = 7, 24, 18.0
"""Names at one place, characters of a line and its height, px."""
_AZIMUTH, _HEIGHT = np.radians(215.0), np.radians(25.0)
_VIEW = np.array(
    [
        [np.cos(_AZIMUTH), -np.sin(_AZIMUTH), 0.0],
        [np.sin(_AZIMUTH) * np.sin(_HEIGHT), np.cos(_AZIMUTH) * np.sin(_HEIGHT), np.cos(_HEIGHT)],
        [-np.sin(_AZIMUTH) * np.cos(_HEIGHT), -np.cos(_AZIMUTH) * np.cos(_HEIGHT), np.sin(_HEIGHT)],
    ]
)
"""Across, up, and towards the eye."""
Face = tuple[FloatArray, str, float]
"""Corners in the world (n, 3), colour, opacity."""


def sketch(model: Model, *, numbers: bool = True) -> str:
    """The object as SVG; numbers: with the names of its parameters where they act."""
    m = model.mechanism
    still = np.array(m.R_world_body, dtype=float)
    states = _states(m)
    faces, bars = list[Face](), list[tuple[FloatArray, float]]()
    for i, state in enumerate(states):
        rows, origin = m.place([*state, *[0.0] * len(m.accelerations)], FLOATS)
        R, r = still @ np.array(rows, dtype=float), still @ np.array(origin, dtype=float)
        faint = 0.95 if i == 0 else 0.22
        for solid in m.outline().solids:
            if solid.part == "frame" and i == 0:
                faces += faces_of(solid, still, np.zeros(3), 0.8)
            elif solid.part != "frame":
                faces += faces_of(solid, R, r, faint)
        bars += [(b, 1.0 if i == 0 else 0.3) for b in _bars(model, still, state)]
    every: list[FloatArray] = [*(face[0] for face in faces), *(b for b, _ in bars)]
    at = fitted(np.concatenate(every))
    faces.sort(key=_depth)
    parts = [_polygon(at(corners), colour, opacity) for corners, colour, opacity in faces]
    parts += [_polyline(at(corners), opacity) for corners, opacity in bars]
    labels = _labels(model, states[0]) if numbers else {}
    parts += _texts([(at(still @ place)[0], text) for place, text in labels.values()])
    what = f"{model.name.replace('-', ' ')}: at rest, and faint where it has moved"
    what += "; each name stands where the parameter acts" if numbers else ""
    body, wide = "\n".join(parts), WIDE + (BESIDE if labels else 0)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {HIGH}" role="img" aria-label="{escape(what)}" '
        f'style="max-width:{wide}px;width:100%;height:auto;background:#fff"><title>{escape(what)}</title>\n{body}\n</svg>'
    )


def _depth(face: Face) -> tuple[bool, float]:
    """What is faint first, then the far before the near."""
    return face[2] > 0.5, float((face[0] @ _VIEW[2]).mean())


def _states(m: Any) -> list[list[float]]:
    """Positions at rest, and moved along its main freedom, or along the first two."""
    count = len(m.state) - len(m.accelerations)
    rest = [1.0 if s == "q_w" else 0.0 for s in m.state[:count]]
    states = [rest]
    for i in range(1 if m.main is not None else min(2, len(m.accelerations))):
        state = [*rest, *[0.0] * len(m.accelerations)]
        state[count + i] = 1.0
        rates = [float(x) for x in m.rates(state, FLOATS)]
        unit = "rad" if m.units[count + i].startswith("rad") else "m"
        moved = [a + _MOVED[unit] * b for a, b in zip(rest, rates, strict=True)]
        if "q_w" in m.state:
            turn = slice(m.state.index("q_w"), m.state.index("q_w") + 4)
            moved[turn] = (np.array(moved[turn]) / np.linalg.norm(moved[turn])).tolist()
        states.append(moved)
    return states


def _bars(model: Model, still: FloatArray, state: Sequence[float]) -> Iterator[FloatArray]:
    """Corners (n, 3) of each linkage in the world."""
    height = model.mechanism.outline().links_at
    for linkage in model.mechanism.linkages:
        ends = [] if linkage.after else [(float(x), float(y), height) for x, y in linkage.bars(state[0], FLOATS)]
        if len(ends) > 1:
            yield np.array(ends) @ still.T


def _labels(model: Model, rest: Sequence[float]) -> dict[str, tuple[FloatArray, str]]:
    """Where groups of parameters act, in the mechanism's frame, and their names."""
    m, groups = model.mechanism, dict[str, list[str]]()
    for e, names in model.parts:
        if e.instrument or not names:
            continue
        where = "body" if e.inertial or e.weighs or e.acts_on in (WRENCH, SENSOR) else e.acts_on
        groups.setdefault(where, []).extend(n.rpartition(".")[2] for n in names)
    bodies = [s.at for s in m.outline().solids if s.part == "body"] or [(0.0, 0.0, 0.0)]
    places: dict[str, FloatArray] = {"body": np.mean(np.array(bodies), axis=0)}
    for linkage in m.linkages:
        ends = [] if linkage.after else [(float(x), float(y)) for x, y in linkage.bars(rest[0], FLOATS)]
        if ends:
            places[linkage.coordinate] = np.array([*ends[0], m.outline().links_at])
    wheels = [np.array(s.at) for s in m.outline().solids if s.part == "wheel"]
    found: dict[str, tuple[FloatArray, str]] = {}
    for i, (where, names) in enumerate(groups.items()):
        other = wheels[i % len(wheels)] if wheels and where != m.main else np.zeros(3)
        more = f", … ({len(names)})" if len(names) > _LISTED else ""
        text = ", ".join(names[:_LISTED]) + more
        linked = where in places and where != "body"
        found[where] = (places.get(where, other), f"{where}: {text}" if linked else text)
    return found


# --- solids -----------------------------------------------------------------------------------------------------------


def faces_of(solid: Solid, R: FloatArray, r: FloatArray, opacity: float) -> Iterator[Face]:
    """Faces of a solid that is turned by R and moved by r (m); only those that look towards the eye."""
    for corners, normal in _shape(solid):
        if (_VIEW[2] @ R @ normal) > 0:
            yield corners @ R.T + r, _shade(_COLOURS[solid.part], float(_VIEW[2] @ R @ normal)), opacity


def _shape(solid: Solid) -> Iterator[tuple[FloatArray, FloatArray]]:
    """(corners, outward normal) of each face in its own frame."""
    middle = np.array(solid.at, dtype=float)
    if solid.kind in ("box", "inertia"):
        half = np.array(solid.size if solid.kind == "box" else _UNKNOWN, dtype=float) / 2
        for i in range(3):
            for side in (-1.0, 1.0):
                normal, (a, b) = side * np.eye(3)[i], np.delete(np.eye(3), i, axis=0)
                square = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
                yield middle + np.array([half * (normal + u * a + v * b) for u, v in square]), normal
        return
    axis: FloatArray = np.array(solid.axis, dtype=float) / float(np.linalg.norm(solid.axis))
    across = np.asarray(np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))]), dtype=float)
    first: FloatArray = across / float(np.linalg.norm(across))
    turns: FloatArray = np.linspace(0, 2 * np.pi, _SIDES, endpoint=False)
    around: FloatArray = np.outer(np.cos(turns), first) + np.outer(
        np.sin(turns), np.asarray(np.cross(axis, first), float)
    )
    if solid.kind == "ball":  # as its disc, which is seen from everywhere
        disc: FloatArray = np.outer(np.cos(turns), _VIEW[0]) + np.outer(np.sin(turns), _VIEW[1])
        yield middle + solid.size[0] * disc, _VIEW[2]
        return
    radius, length = solid.size
    for side in (-1.0, 1.0):
        yield middle + radius * around + side * length / 2 * axis, side * axis
    for i in range(_SIDES):
        a, b = radius * around[i], radius * around[(i + 1) % _SIDES]
        up = length / 2 * axis
        yield middle + np.array([a - up, b - up, b + up, a + up]), around[i]


def _shade(colour: str, facing: float) -> str:
    """Lighter where a face looks at the eye."""
    light = 0.75 + 0.25 * facing
    return "#" + "".join(f"{min(255, round(light * int(colour[i : i + 2], 16))):02x}" for i in (1, 3, 5))


# --- SVG --------------------------------------------------------------------------------------------------------------


def fitted(corners: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """World (n, 3) or (3,) -> px (n, 2), all of these corners in the picture."""
    flat = corners @ _VIEW[:2].T
    low, high = flat.min(axis=0), flat.max(axis=0)
    scale = min((WIDE - 2 * _MARGIN) / max(high[0] - low[0], 1e-6), (HIGH - 2 * _MARGIN) / max(high[1] - low[1], 1e-6))
    middle = (low + high) / 2

    def at(points: FloatArray) -> FloatArray:
        x = (np.atleast_2d(points) @ _VIEW[:2].T - middle) * scale
        return np.column_stack([WIDE / 2 + x[:, 0], HIGH / 2 - x[:, 1]])

    return at


def _points(corners: FloatArray) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def _polygon(corners: FloatArray, colour: str, opacity: float) -> str:
    edge = 'stroke="#5a6570" stroke-width="0.6" stroke-linejoin="round"'
    return f'<polygon points="{_points(corners)}" fill="{colour}" {edge} opacity="{opacity:g}"/>'


def _polyline(corners: FloatArray, opacity: float) -> str:
    style = f'fill="none" stroke="{_LINK}" stroke-width="3" stroke-linejoin="round" opacity="{opacity:g}"'
    return f'<polyline points="{_points(corners)}" {style}/>'


def _texts(labels: Sequence[tuple[FloatArray, str]]) -> Iterator[str]:
    """Names beside the drawing, each with a line to the dot where it acts."""
    wrapped = sorted(((float(x), float(y), wrap(text, _WORDS)) for (x, y), text in labels), key=lambda label: label[1])
    left, line = _LINE * sum(len(lines) for *_, lines in wrapped), _LINE - 6.0
    for x, y, lines in wrapped:
        line = max(line, min(y, HIGH - left))
        left -= _LINE * len(lines)
        font = 'font-size="14" font-family="system-ui, sans-serif"'
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_INK}"/>'
        yield f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{WIDE + 4}" y2="{line:.1f}" stroke="{_INK}" stroke-width="0.8"/>'
        for words in lines:
            yield f'<text x="{WIDE + 8}" y="{line + 4:.1f}" fill="{_INK}" {font}>{escape(words)}</text>'
            line += _LINE
