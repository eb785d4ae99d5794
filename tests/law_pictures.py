"""Each element's law as a picture, made by running it: `python -m tests.law_pictures` writes docs/laws/*.svg.

What a picture shows over its x-axis follows from what the force depends on; the numbers stand in it as data, so that a
test can tell whether it is still what the element does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as ET

import numpy as np

from palpate.elements import ELEMENTS, SENSOR, WRENCH, Element
from palpate.physics.functions import ARRAYS
from palpate.physics.memory import remembered
from palpate.physics.motion import Coordinate, Kinematics, Load
from palpate.physics.units import along

LAWS = Path(__file__).resolve().parents[1] / "docs" / "laws"
Array = np.ndarray
COUNT, WIDE, HIGH, EDGE = 241, 360, 210, 44
SPAN = {"rad": (-0.3, 1.7), "m": (-0.1, 0.7)}
SPEED = {"rad": 0.5, "m": 0.3}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
OPTIONS: dict[str, dict[str, Any]] = {
    "zone-damper": {"above": 0.7, "width": 0.1, "when": "opening"},
    "latch": {"reach": 0.2, "holds": (0.03, 0.15)},
}
"""Where the defaults show nothing of an element."""
BODY = (2.0, 0.1, 0.2, 0.05, 0.05, 0.01, 0.0, 0.06, 0.0, 0.04)


@dataclass(frozen=True)
class Law:
    """Curves over one x-axis."""

    x: str
    y: str
    curves: dict[str, tuple[Array, Array]]
    """Name -> x and y, in what the labels say."""


def law(name: str) -> Law:
    """What an element of this type does."""
    e: Element = ELEMENTS[name](**OPTIONS.get(name, {}))
    if e.acts_on in (WRENCH, SENSOR):
        return _of_wrench(e)
    unit = e.natural_unit
    per, force = ("deg", 180 / np.pi) if unit == "rad" else ("m", 1.0), along("N m", unit)
    labels = {"position": f"{'angle' if unit == 'rad' else 'position'}, {per[0]}", "speed": f"speed, {per[0]}/s"}
    still, v = np.zeros(COUNT), SPEED[unit]
    if e.memory:
        t = np.linspace(0, 5.5 * np.pi, 4 * COUNT)
        q = 0.25 * np.sin(t) * np.exp(-t / 9)
        return Law(labels["position"], force, {"to and fro": (per[1] * q, _force(e, q, 0 * q))})
    if e.uses_load:
        f = np.linspace(0, 50, COUNT)
        ways = {"forth": v, "back": -v}
        curves = {n: (f, _force(e, still, still + s, load=f)) for n, s in ways.items()}
        return Law("force across, N", force, curves)
    q, speeds, acc = np.linspace(*SPAN[unit], COUNT), np.linspace(-2 * v, 2 * v, COUNT), np.linspace(-2, 2, COUNT)
    middle = still + 0.5 * sum(SPAN[unit])
    if e.inertial:
        return Law(f"acceleration, {unit}/s2", force, {"": (acc, _force(e, middle, still, acc))})
    both, rest = [_force(e, q, still + s) for s in (v, -v)], _force(e, q, still)
    if max(np.ptp(both[0]), np.ptp(both[1]), np.ptp(rest)) < 1e-9:
        return Law(labels["speed"], force, {"": (per[1] * speeds, _force(e, middle, speeds))})
    near = _where_it_changes(q, np.array([*both, rest]))
    if np.abs(both[0] - both[1]).max() < 1e-9:
        return Law(labels["position"], force, {"": (per[1] * near, _force(e, near, still))})
    curves = {n: (per[1] * near, _force(e, near, still + s)) for n, s in (("forth", v), ("back", -v))}
    return Law(labels["position"], force, curves)


def _of_wrench(e: Element) -> Law:
    """Its six rows while a body that lies level turns about x and z, faster and faster."""
    turn = np.linspace(-3, 3, COUNT)
    rolls = dict.fromkeys(e.looks_at, Coordinate(0.0, 5.0, 1.0))
    k = Kinematics((0.0, 0.0, 9.81), (turn, 0.0, turn), (0.0, 0.0, 1.0), rolls)
    rows = e.columns(e.features(k, {s.name: s.value for s in e.shapes}, ARRAYS))
    p = BODY if len(e.parameters) == len(BODY) else np.linspace(-0.5, 0.5, len(e.parameters)).round(2).tolist()
    names = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")
    totals = [0 * turn + cast("Any", sum(c * x for c, x in zip(row, p, strict=True))) for row in rows]
    return Law("turning about x and z, rad/s", "N, N m", {n: (turn, y) for n, y in zip(names, totals, strict=True)})


def values(e: Element) -> list[float]:
    """Each parameter one in its unit; of many, some more and some less."""
    count = len(e.parameters)
    return [1.0] * count if count < 4 else [round(1 + 0.6 * float(np.sin(2 * i + 1)), 2) for i in range(count)]


def _force(e: Element, q: Array, v: Array, a: Array | None = None, load: Array | None = None) -> Array:
    """What a person must do."""
    c, rolls = Coordinate(q, v, 0 * q if a is None else a), Coordinate(q, SPEED["m"] + 0 * q, 0 * q)
    coordinates = {**dict.fromkeys(e.looks_at, rolls), e.acts_on: c}
    loads = {e.acts_on: Load((0 * q if load is None else load,), ((0.0, 0.0, 1.0),), 0 * q)}
    before = np.concatenate([q[:1], q[:-1]])
    memory: dict[str, Any] = {}
    if e.memory:
        steps = [[np.broadcast_to(x, q.shape) for x in step] for step in e.remember(before, q, ARRAYS)]
        memory[e.name] = tuple(remembered(step) for step in steps)
    acceleration = (9.81 * np.cos(q), -9.81 * np.sin(q), 0 * q)  # about a level axis, like a lid
    k = Kinematics(acceleration, (0.0, 0.0, v), (0.0, 0.0, c.acceleration), coordinates, loads, memory)
    (row,) = e.columns(e.features(k, {s.name: s.value for s in e.shapes}, ARRAYS))
    return np.asarray(sum(x * p for x, p in zip(row, values(e), strict=True)), dtype=float) + 0 * q


def _where_it_changes(q: Array, forces: Array) -> Array:
    """The part of a span in which a force is not the same everywhere."""
    steps = np.abs(np.diff(forces, axis=1)).sum(axis=0)
    at = np.flatnonzero(steps > 0.02 * steps.max())
    low, high, room = q[at[0]], q[at[-1] + 1], 0.15 * (q[at[-1] + 1] - q[at[0]]) + 1e-3
    return np.linspace(max(low - room, q[0]), min(high + room, q[-1]), COUNT)


def data(of: Law) -> dict[str, Any]:
    """The numbers of a picture, every fourth, to five digits."""
    thin = {n: [[float(f"{v:.5g}") for v in part[::4]] for part in pair] for n, pair in of.curves.items()}
    return {"x": of.x, "y": of.y, "curves": thin}


def picture(name: str, of: Law) -> str:
    """SVG: axes through zero where that is in sight, the ends labelled, a line for each curve."""
    every = [np.concatenate([pair[i][np.isfinite(pair[1])] for pair in of.curves.values()]) for i in (0, 1)]
    (x0, x1), (y0, y1) = (_ends(part) for part in every)

    def place(x: Array | float, y: Array | float) -> Array:
        return np.stack(
            np.broadcast_arrays(
                EDGE + (WIDE - EDGE - 14) * (np.asarray(x) - x0) / (x1 - x0),
                HIGH - 34 - (HIGH - 60) * (np.asarray(y) - y0) / (y1 - y0),
            ),
            axis=-1,
        )

    root = ET.Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDE} {HIGH}", width=str(WIDE))
    ET.SubElement(root, "title").text = f"{name}: {of.y} over {of.x}"
    ET.SubElement(root, "metadata").text = json.dumps(data(of), separators=(",", ":"))
    ET.SubElement(root, "rect", width=str(WIDE), height=str(HIGH), fill="#fff")
    cross = (min(max(0.0, x0), x1), min(max(0.0, y0), y1))
    for ends in (((x0, cross[1]), (x1, cross[1])), ((cross[0], y0), (cross[0], y1))):
        (a, b), (c, d) = (place(*end).round(1).tolist() for end in ends)
        ET.SubElement(root, "line", x1=str(a), y1=str(b), x2=str(c), y2=str(d), stroke="#999")
    left, bottom = EDGE, HIGH - 34
    texts = [(left, bottom + 15, f"{x0:.3g}", "start"), (WIDE - 14, bottom + 15, f"{x1:.3g}", "end")]
    texts += [((left + WIDE - 14) / 2, bottom + 15, of.x, "middle"), (left - 4, bottom, f"{y0:.2g}", "end")]
    texts += [(left - 4, 30, f"{y1:.2g}", "end"), (6, 14, of.y, "start")]
    widths = [6 * len(label) + 10 for label in of.curves]
    for i, (label, (x, y)) in enumerate(of.curves.items()):
        seen = np.isfinite(y)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in place(x[seen], y[seen]).tolist())
        colour = COLOURS[i % len(COLOURS)]
        ET.SubElement(root, "polyline", points=points, fill="none", stroke=colour, **{"stroke-width": "1.8"})
        legend = ET.SubElement(root, "text", x=str(WIDE - 14 - sum(widths[i + 1 :])), y="14", fill=colour)
        legend.text = label
        legend.attrib |= {"font-size": "11", "font-family": "sans-serif", "text-anchor": "end"}
    for x, y, text, anchor in texts:
        entry = ET.SubElement(root, "text", x=f"{x:g}", y=f"{y:g}", fill="#333")
        entry.attrib |= {"font-size": "11", "font-family": "sans-serif", "text-anchor": anchor}
        entry.text = text
    return ET.tostring(root, encoding="unicode") + "\n"


def _ends(x: Array) -> tuple[float, float]:
    low, high = float(x.min()), float(x.max())
    if high - low < 1e-9:
        low, high = min(0.0, 1.2 * low), max(0.0, 1.2 * high, 1e-9)
    return low, high


if __name__ == "__main__":
    LAWS.mkdir(exist_ok=True)
    for old in LAWS.glob("*.svg"):
        old.unlink()
    for name in ELEMENTS:
        (LAWS / f"{name}.svg").write_text(picture(name, law(name)), encoding="utf-8")
