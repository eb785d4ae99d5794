"""CONTRIBUTING is true: the files of the eleven changes and of a sample's way are there and hold what it says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.sources import nodes_of

PROJECT = Path(__file__).resolve().parents[1]
SOURCE = PROJECT / "src" / "palpate"
TEXT = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CHANGES = re.findall(r"^\| (an? [\w ]+|the damping rule) \| (.*) \| (.*) \|$", TEXT, flags=re.MULTILINE)
FILE = r"[\w/]+\.(?:py|yaml)"


def names_in(path: Path) -> set[str]:
    """Functions, classes, assigned names and loop variables of a module."""
    found: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def test_there_are_eleven_changes() -> None:
    assert len(CHANGES) == 11


@pytest.mark.parametrize(("change", "write", "where"), CHANGES, ids=[c for c, _, _ in CHANGES])
def test_a_change_is_where_the_list_says(change: str, write: str, where: str) -> None:
    files = re.findall(rf"`({FILE})`", write)
    assert files, change
    for cell in (write, where):
        for file, names in re.findall(rf"`({FILE})`[^`;|]*:((?: `\w+`,?)+)", cell):
            missing = set(re.findall(r"`(\w+)`", names)) - names_in(SOURCE / file)
            assert not missing, (change, file, missing)
    room = Path(files[0]).parent
    for file in [*files, *re.findall(rf"`({FILE})`", where)]:
        assert (SOURCE / file).exists() or (SOURCE / room / file).exists(), (change, file)


def test_the_way_of_a_sample_exists() -> None:
    way = TEXT.split("## One sample's way")[1].split("## The eleven changes")[0]
    room = SOURCE
    for file in re.findall(r"`([\w/]+(?:\.py|/))`", way):
        at = SOURCE / file if (SOURCE / file).exists() else room / file
        assert at.exists(), file
        room = at if at.is_dir() else at.parent
