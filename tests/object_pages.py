"""A page for every object that ships, with its pictures, made from its file: `python -m tests.object_pages`.

The sketch shows how it moves and where its parameters act (`palpate.report.sketch`). Of an object along one
coordinate the other picture shows what the hand feels, by running an exemplar.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from palpate.experiment.explanation import explain_model
from palpate.model import Model, load_object, shipped_objects
from palpate.physics.functions import ARRAYS
from palpate.report.sketch import sketch
from palpate.twin import TWINS
from palpate.twin.guided import guided_twin, makes
from tests.law_pictures import COUNT, Law, picture

PAGES = Path(__file__).resolve().parents[1] / "docs" / "objects"
Array = np.ndarray
SEED = 1
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
        "| parameter | what it is | unit | of | may be | what tells it |",
        "|---|---|---|---|---|---|",
    ]
    for p in about["parameters"]:
        element = next(e for e in model.elements if e.name == p["element"])
        law = f"[`{element.type}`](../object-file.md#{element.type})"
        lines.append(
            f"| `{p['name']}` | {model.words[p['name']]} | {p['unit']} | {law} | {p['may_be']} | {p['needs'] or '-'} |"
        )
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
    lines += ["| | |", "|---|---|"]
    for name in shipped_objects():
        said = f"[**{name.replace('-', ' ')}**]({name}.md): {words(name).split('. ')[0].rstrip('.')}."
        lines += [f"| [![{name}]({name}.svg)]({name}.md) | {said} |"]
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


def files() -> dict[str, str]:
    """Name -> text of every file below docs/objects."""
    made = {"index.md": index()}
    for name in shipped_objects():
        made |= {f"{name}.md": page(name), f"{name}.svg": sketch(load_object(name)) + "\n"}
        made |= {f"{name}-felt.svg": picture(name, felt(name))} if name in makes() else {}
    return made


if __name__ == "__main__":
    PAGES.mkdir(exist_ok=True)
    for old in PAGES.glob("*"):
        old.unlink()
    for name, text in files().items():
        (PAGES / name).write_text(text, encoding="utf-8")
