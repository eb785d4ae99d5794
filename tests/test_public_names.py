"""The public names: each is one thing, says what it is, and is shown at work on docs/python.md, whose code runs."""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
from collections import defaultdict
from pathlib import Path

import pytest

import palpate
from tests.door_files import short_door, write_short_door
from tests.sources import tree_of

PROJECT = Path(__file__).resolve().parents[1]
PAGE = (PROJECT / "docs" / "python.md").read_text(encoding="utf-8")
NOUNS = {
    *("Recording", "Motion", "Model", "Element", "Mechanism", "Parameter", "Balance", "Compressed", "Solution"),
    *("Estimate", "Result", "Finding", "Prior", "View", "Fit", "Inputs", "Sensor"),
}


@pytest.mark.parametrize("name", dir(palpate))
def test_a_public_name_says_what_it_is(name: str) -> None:
    thing = getattr(palpate, name)
    text = inspect.getdoc(thing) or ""
    assert len(text.split()) > 2, f"{name} has no docstring"
    assert not text.startswith(f"{name}("), f"{name} has only the docstring that a dataclass makes"
    assert re.search(rf"\bpalpate\.{name}\b", PAGE), f"docs/python.md does not show {name}"


def test_the_nouns_are_there() -> None:
    assert set(dir(palpate)) >= NOUNS
    with pytest.raises(AttributeError, match="no attribute 'Recordings'"):
        _ = palpate.Recordings


def test_the_page_shows_public_names_only() -> None:
    shown = set(re.findall(r"\bpalpate\.([A-Za-z_]+)", PAGE))
    known = {*dir(palpate), "__version__"}
    assert shown <= known, shown - known


def test_no_two_things_have_one_public_name() -> None:
    """Classes and functions of any room but the commands, which are called as what they do."""
    source, places = PROJECT / "src" / "palpate", defaultdict[str, list[str]](list)
    for path in source.rglob("*.py"):
        where = path.relative_to(source).as_posix()
        if where.startswith("cli/"):
            continue
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in dir(palpate):
                places[node.name].append(where)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
    assert set(places) == set(dir(palpate))


def test_the_page_runs(tmp_path: Path) -> None:
    """On the same door as `palpate twin door mydoor --seed 8`, moved for half a minute."""
    (tmp_path / "mydoor").mkdir()
    write_short_door(tmp_path / "mydoor", short_door(8))
    found: dict[str, object] = {"__name__": "python.md"}
    with contextlib.chdir(tmp_path):
        for block in re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE):
            exec(compile(block, "docs/python.md", "exec"), found)
    solution, truth = found["solution"], short_door(8).model.values
    assert isinstance(solution, palpate.Solution)
    for name in ("I", "b_bc", "b_s", "b_l"):
        assert solution[name].value == pytest.approx(truth[name], rel=0.03), name
    assert (tmp_path / "door" / "report.html").exists()
