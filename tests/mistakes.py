"""Mistakes that a new user makes with a table of a door and its experiment file, each with the message that
names it: `tests/test_mistakes.py` makes them, `make docs` lists them in docs/mistakes.md.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from palpate.twin import TWINS
from tests.command import palpate

PAGE = Path(__file__).resolve().parents[1] / "docs" / "mistakes.md"
ANGLE = """\
object: hinge
stage: body
recordings:
  signals:
    file: log.csv
    time: {column: t, unit: s}
    columns: {q: {column: angle, unit: deg}, f: {column: torque, unit: N m}}
    angle: q
    torque: f
segments:
  static: [0.5, 2]
  quasi_static: [3.5, 26.8]
  train: [27.2, 52.8]
  test: [53.2, 66.8]
"""
PATH = ANGLE.replace(
    "columns: {q: {column: angle, unit: deg}, f: {column: torque, unit: N m}}\n    angle: q\n    torque: f",
    "columns: {x: {column: x, unit: m}, y: {column: y, unit: m}, z: {column: z, unit: m}, fx: {column: fx, unit: N}, "
    "fy: {column: fy, unit: N}, fz: {column: fz, unit: N}}\n    point: [x, y, z]\n    force: [fx, fy, fz]",
)
RADIUS_M = 0.72
Columns = dict[str, np.ndarray]


class Mistake(NamedTuple):
    """What was done, and what it makes of a right file."""

    done: str
    table: Callable[[Columns], str]
    text: Callable[[str], str]
    """Of the experiment file."""
    says: str
    """A pattern in the message."""
    base: str = ANGLE
    remedy: Callable[[str], str] | None = None
    """What the message says to change in the experiment file, where that can be tried."""


@cache
def door(folder: Path) -> Columns:
    """A door on its hinges moved by hand, deg and N m at 250 Hz; the handle's path and force in a horizontal plane."""
    TWINS["interior-door"](folder, seed=3)
    rows = np.loadtxt(folder / "log.csv", delimiter=",", skiprows=1)
    t, angle, torque = rows[:, 0], rows[:, 1], rows[:, 2]
    a = np.radians(angle)
    radial = 2.0 * np.sin(1.3 * t)  # N: nobody pulls just across
    along, across = np.array([np.cos(a), np.sin(a)]), np.array([-np.sin(a), np.cos(a)])
    f = across * torque / RADIUS_M + along * radial
    noise = np.random.default_rng(0).normal(size=(2, len(t)))
    path = {"x": RADIUS_M * along[0], "y": RADIUS_M * along[1], "z": 1.0 + 1e-4 * noise[0], "fx": f[0], "fy": f[1]}
    path["fz"] = 1.0 + 0.05 * noise[1]
    local = {"f_along": radial, "f_across": torque / RADIUS_M}
    return {"t": t, "angle": angle, "torque": torque, **path, **local}


def table(*names: str, separator: str = ",", comma: bool = False, header: bool = True, **changed: str) -> Callable:
    """A CSV of these columns; `changed`: header -> another column's content."""

    def write(columns: Columns) -> str:
        out = io.StringIO()
        writer = csv.writer(out, delimiter=separator, lineterminator="\n")
        if header:
            writer.writerow(names)
        chosen = np.column_stack([columns[changed.get(name, name)] for name in names])
        for row in chosen[::2]:
            cells = (f"{x:.7g}" for x in row)
            writer.writerow([c.replace(".", ",") for c in cells] if comma else list(cells))
        return out.getvalue()

    return write


def _times(factor: float, name: str, write: Callable) -> Callable:
    return lambda columns: write({**columns, name: factor * columns[name]})


def _twice(columns: Columns) -> str:
    return table("t", "angle", "torque")(columns).replace("t,angle,torque", "t,torque,torque", 1)


def same(text: str) -> str:
    return text


def changed(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, 1)

    return change


PLAIN, POINT = table("t", "angle", "torque"), table("t", "x", "y", "z", "fx", "fy", "fz")
MISTAKES = (
    Mistake(
        "times in ms, taken for s",
        _times(1e3, "t", PLAIN),
        same,
        r"samples are 8 s apart.*write time: \{column: t, unit: ms\}",
        remedy=changed("unit: s", "unit: ms"),
    ),
    Mistake(
        "degrees taken for radians",
        PLAIN,
        changed("unit: deg", "unit: rad"),
        "the angle spans 93 rad; is its unit deg",
        remedy=changed("unit: rad", "unit: deg"),
    ),
    Mistake("semicolons between columns", table("t", "angle", "torque", separator=";"), same, "passed"),
    Mistake("decimal commas", table("t", "angle", "torque", separator=";", comma=True), same, "passed"),
    Mistake(
        "no header",
        table("t", "angle", "torque", header=False),
        same,
        r"line 1: the first line holds numbers.*header: \[t, angle, torque\]",
        remedy=changed("file: log.csv", "file: log.csv\n    header: [t, angle, torque]"),
    ),
    Mistake(
        "a column's name twice",
        _twice,
        same,
        r"the column 'torque' stands twice \(columns 2 and 3\).*write torque#1 for the first",
        remedy=lambda text: text.replace("column: angle", "column: torque#1").replace(
            "column: torque,", "column: torque#2,"
        ),
    ),
    Mistake(
        "axes swapped: f_x is f_y",
        table("t", "x", "y", "z", "fx", "fy", "fz", fx="fy", fy="fx"),
        same,
        r"another reading of the table.*write force: \[fy, fx, fz\]",
        PATH,
        changed("force: [fx, fy, fz]", "force: [fy, fx, fz]"),
    ),
    Mistake(
        "force in axes that turn with the hand",
        table("t", "x", "y", "z", "fx", "fy", "fz", fx="f_along", fy="f_across"),
        same,
        "in axes that turn with the object.*rotate it into those of point",
        PATH,
    ),
    Mistake(
        "angle and torque swapped in the table's header",
        table("t", "angle", "torque", angle="torque", torque="angle"),
        same,
        "angle and torque look swapped.*write columns: {q: {column: torque, unit: deg}, f: {column: angle, unit: N m}}",
        remedy=changed(
            "columns: {q: {column: angle, unit: deg}, f: {column: torque, unit: N m}}",
            "columns: {q: {column: torque, unit: deg}, f: {column: angle, unit: N m}}",
        ),
    ),
    Mistake(
        "angle and torque swapped in the experiment file",
        PLAIN,
        changed("angle: q\n    torque: f", "angle: f\n    torque: q"),
        "line 8: recordings.signals.angle: the channel 'f' has the unit 'N m'.*Name one in deg: q",
        remedy=changed("angle: f\n    torque: q", "angle: q\n    torque: f"),
    ),
    Mistake("a tab", PLAIN, changed("  train:", "\ttrain:"), "line 13: the line begins with a tab. Indent with spaces"),
    Mistake(
        "wrong indentation",
        PLAIN,
        changed("  train:", "   train:"),
        "line 13: the line is indented by 3 spaces.*by 2 spaces, like line 12",
    ),
    Mistake(
        "a word where a number belongs",
        PLAIN,
        changed("train: [27.2, 52.8]", "train: [start, 52.8]"),
        r"line 13: segments.train: 'start' is not a number.*for example train: \[\[",
    ),
    Mistake(
        "a unit in words", PLAIN, changed("unit: N m}", "unit: newton metres}"), "line 7.*no unit 'newton'. Write 'N m'"
    ),
    Mistake(
        "wrong sign",
        _times(-1.0, "torque", PLAIN),
        same,
        "another reading of the table.*write sign: on-hand",
        remedy=changed("torque: f\n", "torque: f\n    sign: on-hand\n"),
    ),
    Mistake("an empty table", lambda _: "", same, "log.csv: the file is empty. Export or copy it again"),
    Mistake("an empty experiment file", PLAIN, lambda _: "", "door.yaml: the file is empty.*palpate new"),
)


def message(mistake: Mistake, columns: Columns, folder: Path) -> tuple[int, str]:
    """Exit code and what a person reads: the error, or warnings and verdict."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log.csv").write_text(mistake.table(columns), encoding="utf-8")
    (folder / "door.yaml").write_text(mistake.text(mistake.base), encoding="utf-8")
    done = palpate("identify", "door.yaml", "--json", cwd=folder)
    if done.returncode == 1:
        return 1, done.stderr.strip().removeprefix("palpate: ")
    verdict = json.loads(done.stdout)["verdict"]
    return done.returncode, "; ".join(verdict["reasons"]) or "passed"


def cell(said: str) -> str:
    """A message in a cell of a table in Markdown."""
    return said.replace("|", "\\|").replace("<", "&lt;").replace("\n", "<br>")


def mistakes_page(folder: Path) -> str:
    """docs/mistakes.md: what each mistake says."""
    lines = [
        "# Common mistakes, and what palpate says",
        "",
        "Made on purpose with the table and the experiment file of a simulated door. `make docs` writes this page; the "
        "tests make every mistake again and",
        "try what the messages say would be right. *Understood* means that there is nothing to correct: the file is "
        "read as it was meant.",
        "",
        "| mistake | what `palpate identify` says |",
        "|---|---|",
    ]
    columns = door(folder / "twin")
    for i, mistake in enumerate(MISTAKES):
        code, said = message(mistake, columns, folder / str(i))
        words = "*understood*" if code == 0 else cell(said)
        lines.append(f"| {mistake.done} | {'verdict failed: ' if code == 3 else ''}{words} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with TemporaryDirectory() as name:
        PAGE.write_text(mistakes_page(Path(name)), encoding="utf-8")
