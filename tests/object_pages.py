"""A page for every object that ships, with its pictures, made from its file: `python -m tests.object_pages`.

The sketch shows how it moves: the body's frame and where a hand holds it, at rest and moved, seen at an angle from
above. Of an object along one coordinate the other picture shows what the hand feels, by running an exemplar.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from palpate.experiment.explanation import explain_model
from palpate.model import Model, load_object, shipped_objects
from palpate.physics.functions import ARRAYS, FLOATS
from palpate.twin import TWINS
from palpate.twin.guided import guided_twin, makes
from tests.law_pictures import COUNT, Law, picture

PAGES = Path(__file__).resolve().parents[1] / "docs" / "objects"
Array = np.ndarray
SEED = 1
MOVES = {"rad": (0.35, 0.7), "m": (0.25, 0.5)}
AXES = {"x": "#d55e00", "y": "#009e73", "z": "#0072b2"}
WIDE, HIGH = 360, 260
PACES = {"slow": 0.05, "fast": 1.0}
"""rad/s; along a length a fifth of it in m/s."""


def page(name: str) -> str:
    """Markdown: what it is, how it moves, what acts, and how to begin."""
    model, about = load_object(name), explain_model(load_object(name))
    lines = [
        f"# {name.replace('-', ' ').capitalize()}",
        "",
        "Written from the code by `python -m tests.object_pages`; do not edit.",
        "",
    ]
    lines += [words(name), "", f"![{name}, how it moves]({name}.svg)", ""]
    lines += [
        f"Body frame: {model.mechanism.frame} ([`{model.mechanism.type}`](../object-file.md#{model.mechanism.type}))."
    ]
    if name in makes():
        lines += [
            "",
            f"![{name}, what a hand feels]({name}-felt.svg)",
            "",
            "What a hand feels that moves a simulated one (seed 1) at an even speed, both ways.",
        ]
    lines += [
        "",
        "## What acts",
        "",
        f"    {about['balance']}",
        "",
        "| parameter | unit | of | may be | what tells it |",
        "|---|---|---|---|---|",
    ]
    for p in about["parameters"]:
        element = next(e for e in model.elements if e.name == p["element"])
        law = f"[`{element.type}`](../object-file.md#{element.type})"
        lines.append(f"| `{p['name']}` | {p['unit']} | {law} | {p['may_be']} | {p['needs'] or '-'} |")
    lines += [
        "",
        "## Begin",
        "",
        f"    palpate new {name}                      # an experiment file to edit; or give your recordings",
    ]
    if name in TWINS:
        lines += [
            f"    palpate twin {name} mine --seed 1       # or a simulated one: recordings, experiment file, truth.json"
        ]
    lines += [
        "",
        "Its file, to copy and change:",
        "",
        "```yaml",
        shipped_objects()[name].read_text(encoding="utf-8").rstrip(),
        "```",
    ]
    return "\n".join(lines) + "\n"


def index() -> str:
    """The gallery."""
    lines = [
        "# Objects that ship",
        "",
        "Each is a short file of a mechanism and elements; yours may begin as a copy of the nearest one.",
        "",
    ]
    for name in shipped_objects():
        lines += [f"- [{name.replace('-', ' ')}]({name}.md): {words(name).split('. ')[0].rstrip('.')}."]
    return "\n".join(lines) + "\n"


def words(name: str) -> str:
    """The comment at the head of an object's file."""
    text = shipped_objects()[name].read_text(encoding="utf-8").splitlines()
    head = [line.removeprefix("#").strip() for line in text[: next(i for i, x in enumerate(text) if x[:1] != "#")]]
    return " ".join(head)


def felt(name: str) -> Law:
    """Force over position at even speeds, forth and back."""
    twin = guided_twin(name, SEED)
    model, (low, high), turns = twin.model, twin.make.travel, twin.unit == "rad"
    q = np.linspace(low, high, COUNT)
    curves: dict[str, tuple[Array, Array]] = {}
    for pace, speed in PACES.items():
        for sign in (1, -1):
            v = sign * speed * (1.0 if turns else 0.2)
            y = np.asarray(model.along(q, v), dtype=float) + np.sign(v) * _dry(model, q, v)
            curves[pace if sign > 0 else f"{pace} back"] = (np.degrees(q) if turns else 1e3 * q, y + 0 * q)
    return Law("angle, deg" if turns else "position, mm", "N m" if turns else "N", curves)


def _dry(model: Model, q: Array, v: float) -> Array:
    k = model.mechanism.expand((q, v + 0 * q), (0 * q,), ARRAYS)
    return np.asarray(sum(abs(ratio[0]) * level for ratio, level in model.dry_forces(k, ARRAYS)), dtype=float) + 0 * q


def sketch(name: str) -> str:
    """SVG: frames and hand at rest, and moved along each freedom."""
    model = load_object(name)
    m = model.mechanism
    count = len(m.state) - len(m.accelerations)
    rest = [1.0 if s == "q_w" else 0.0 for s in m.state[:count]]
    R_world = np.array(m.R_world_body, dtype=float)
    places: list[tuple[Array, Array, float]] = []
    for state, weight in _moved(m, rest):
        rows, origin = m.place([*state, *[0.0] * len(m.accelerations)], FLOATS)
        places.append((R_world @ np.array(rows, dtype=float), R_world @ np.array(origin, dtype=float), weight))
    hand = np.array(m.hand) if np.linalg.norm(m.hand) > 0 else 0.3 * np.array(m.outward)
    view = _isometric()
    drawn = [(view @ (r + R @ x)) for R, r, _ in places for x in (np.zeros(3), hand, *(0.25 * np.eye(3)))]
    points = np.array(drawn)
    low, high = points.min(axis=0), points.max(axis=0)
    scale = min((WIDE - 60) / max(high[0] - low[0], 1e-6), (HIGH - 60) / max(high[1] - low[1], 1e-6))

    def at(p: Array) -> list[float]:
        x, y = view @ p
        return [round(30 + scale * (x - low[0]), 1), round(HIGH - 30 - scale * (y - low[1]), 1)]

    root = ET.Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDE} {HIGH}", width=str(WIDE))
    ET.SubElement(root, "title").text = f"{name}: its frame and where a hand holds it, at rest and moved"
    ET.SubElement(root, "rect", width=str(WIDE), height=str(HIGH), fill="#fff")
    for R, r, weight in places:
        _line(root, at(r), at(r + R @ hand), "#666", weight, width="4")
        x, y = at(r + R @ hand)
        ET.SubElement(root, "circle", cx=str(x), cy=str(y), r="5", fill="#cc79a7", opacity=str(weight))
        for axis, (letter, colour) in zip(np.eye(3), AXES.items(), strict=True):
            end = at(r + R @ (0.22 * axis))
            _line(root, at(r), end, colour, weight, width="2")
            if weight == 1.0:
                _text(root, end, letter, colour)
    _text(root, [10, 16], "frame of the body (x, y, z) and the hand, at rest and moved", "#333")
    return ET.tostring(root, encoding="unicode") + "\n"


def _moved(m: Any, rest: list[float]) -> list[tuple[list[float], float]]:
    """States with their weights: at rest, and a little and more along each freedom."""
    count, states = len(rest), [(rest, 1.0)]
    for i in range(len(m.accelerations)):
        for step, weight in ((0, 0.45), (1, 0.25)):
            state = [*rest, *[0.0] * len(m.accelerations)]
            state[count + i] = 1.0
            rates = [float(x) for x in m.rates(state, FLOATS)]
            unit = "rad" if m.units[count + i].startswith("rad") else "m"
            moved = [a + MOVES[unit][step] * b for a, b in zip(rest, rates, strict=True)]
            if "q_w" in m.state:
                turn = slice(m.state.index("q_w"), m.state.index("q_w") + 4)
                moved[turn] = (np.array(moved[turn]) / np.linalg.norm(moved[turn])).tolist()
            states.append((moved, weight))
    return states


def _isometric() -> Array:
    a, b = np.radians(35.0), np.radians(25.0)
    return np.array([[np.cos(a), -np.sin(a), 0.0], [np.sin(a) * np.sin(b), np.cos(a) * np.sin(b), np.cos(b)]])


def _line(root: ET.Element, a: list[float], b: list[float], colour: str, weight: float, *, width: str) -> None:
    line = ET.SubElement(root, "line", x1=str(a[0]), y1=str(a[1]), x2=str(b[0]), y2=str(b[1]), stroke=colour)
    line.attrib |= {"stroke-width": width, "opacity": str(weight), "stroke-linecap": "round"}


def _text(root: ET.Element, at: list[float], text: str, colour: str) -> None:
    entry = ET.SubElement(root, "text", x=str(at[0]), y=str(at[1]), fill=colour)
    entry.attrib |= {"font-size": "11", "font-family": "sans-serif"}
    entry.text = text


def files() -> dict[str, str]:
    """Name -> text of every file below docs/objects."""
    made = {"index.md": index()}
    for name in shipped_objects():
        made |= {f"{name}.md": page(name), f"{name}.svg": sketch(name)}
        made |= {f"{name}-felt.svg": picture(name, felt(name))} if name in makes() else {}
    return made


if __name__ == "__main__":
    PAGES.mkdir(exist_ok=True)
    for old in PAGES.glob("*"):
        old.unlink()
    for name, text in files().items():
        (PAGES / name).write_text(text, encoding="utf-8")
