"""The pictures of the README, made by the project itself: `python -m tests.readme_pictures`.

door.svg: the paper's door pushed open and left to its closer, stepped as a robot would; report.png: the report of a
simulated door, which needs Chromium.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from palpate.mechanisms.outline import Solid
from palpate.physics.functions import FLOATS
from palpate.report import sketch
from palpate.runtime import Stepper
from palpate.twin.door import paper_door
from tests.browser import chromium
from tests.command import palpate

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
SECONDS, FRAMES, PUSH_NM, PUSHED_S = 8.0, 96, 32.0, 1.3
WIDE, HIGH = 640, 300


def closing() -> tuple[np.ndarray, np.ndarray]:
    """Times (s) and angles (rad) of the frames: a push, then nothing but the closer."""
    stepper = Stepper(paper_door(), dt=1e-3)
    out, angles = np.empty(stepper.size), list[float]()
    for step in range(int(SECONDS * 1e3)):
        stepper.step((0, 0, 0, 0, 0, PUSH_NM if step < 1e3 * PUSHED_S else 0.0), out)
        angles.append(float(out[0]))
    at = np.linspace(0, len(angles) - 1, FRAMES).astype(int)
    return (at + 1) * 1e-3, np.array(angles)[at]


def animation() -> str:
    """SVG with the leaf, its closer's arms and the angle over time, all moving."""
    model = paper_door()
    m, (times, angles) = model.mechanism, closing()
    still = np.array(m.R_world_body, dtype=float)
    leaf = next(s for s in m.outline().solids if s.part == "body")
    frame = [s for s in m.outline().solids if s.part == "frame"]
    half = np.array(leaf.size) / 2
    corners = np.array(leaf.at) + half * np.array([(-1, 0, -1), (1, 0, -1), (1, 0, 1), (-1, 0, 1)])
    leaves, arms = list[np.ndarray](), list[np.ndarray]()
    for angle in angles.tolist():
        rows, origin = m.place([angle, 0.0], FLOATS)
        R, r = still @ np.array(rows, dtype=float), still @ np.array(origin, dtype=float)
        leaves.append(corners @ R.T + r)
        ends = [(float(x), float(y), m.outline().links_at) for x, y in m.linkages[0].bars(angle, FLOATS)]
        arms.append(np.array(ends) @ still.T)
    at = sketch.fitted(np.concatenate([*leaves, *arms, *(c for s in frame for c, *_ in solid_faces(s, still))]))
    move = f'dur="{SECONDS:g}s" repeatCount="indefinite"'

    def moving(tag: str, shapes: list[np.ndarray], style: str) -> str:
        values = ";".join(" ".join(f"{x:.0f},{y:.0f}" for x, y in at(s)) for s in shapes)
        first = values.split(";")[0]
        return f'<{tag} points="{first}" {style}><animate attributeName="points" values="{values}" {move}/></{tag}>'

    x0, x1, y0, y1 = 350, 620, 230, 50
    xs = x0 + (x1 - x0) * times / SECONDS
    ys = y0 - (y0 - y1) * np.degrees(angles) / 100
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    dots = {"cx": xs, "cy": ys}
    dot = "".join(
        f'<animate attributeName="{k}" values="{";".join(f"{v:.1f}" for v in values)}" {move}/>'
        for k, values in dots.items()
    )
    style = 'font-family="system-ui, sans-serif" font-size="13" fill="#333"'
    fixed = [
        f'<polygon points="{" ".join(f"{x:.0f},{y:.0f}" for x, y in at(c))}" fill="{colour}" stroke="#5a6570"/>'
        for s in frame
        for c, colour, _ in solid_faces(s, still)
    ]
    parts = [
        *fixed,
        moving("polygon", leaves, 'fill="#9db9d3" fill-opacity="0.9" stroke="#44607a"'),
        moving("polyline", arms, 'fill="none" stroke="#b35c00" stroke-width="4" stroke-linejoin="round"'),
        f'<polyline points="{x0},{y1 - 10} {x0},{y0} {x1},{y0}" fill="none" stroke="#888"/>',
        f'<polyline points="{path}" fill="none" stroke="#0072b2" stroke-width="2"/>',
        f'<circle r="5" fill="#d55e00">{dot}</circle>',
        f'<text x="{x0}" y="{y1 - 18}" {style}>angle, deg: pushed open, then left alone</text>',
        f'<text x="{x0 - 8}" y="{y1 + 4}" text-anchor="end" {style}>100</text>',
        f'<text x="{x0 - 8}" y="{y0 + 4}" text-anchor="end" {style}>0</text>',
        f'<text x="{x1}" y="{y0 + 20}" text-anchor="end" {style}>{SECONDS:g} s</text>',
    ]
    title = "A door's model moves: pushed open, then shut by its closer"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}">'
    body = "\n".join(parts)
    return f'{head}<title>{title}</title><rect width="{WIDE}" height="{HIGH}" fill="#fff"/>\n{body}\n</svg>\n'


def solid_faces(solid: Solid, R: np.ndarray) -> list[sketch.Face]:
    return list(sketch.faces_of(solid, R, np.zeros(3), 1.0))


def report(path: Path) -> None:
    """The top of a door's report in the browser."""
    with TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        palpate("twin", "door", "mydoor", "--seed", "3", cwd=folder)
        palpate("identify", "mydoor/body.yaml", "-o", "door", "-q", cwd=folder)
        page = browser.new_page(viewport={"width": 1200, "height": 1500})
        page.goto(f"file://{folder / 'door' / 'report.html'}")
        page.wait_for_timeout(2000)
        page.screenshot(path=path)


if __name__ == "__main__":
    (PICTURES / "door.svg").write_text(animation(), encoding="utf-8")
    report(PICTURES / "report.png")
