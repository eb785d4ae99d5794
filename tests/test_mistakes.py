"""The mistakes of new users are named, and what the messages say would be right is right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.mistakes import MISTAKES, PAGE, Columns, Mistake, cell, door, message


@pytest.fixture(scope="module")
def columns(tmp_path_factory: pytest.TempPathFactory) -> Columns:
    return door(tmp_path_factory.mktemp("door"))


@pytest.mark.parametrize("mistake", MISTAKES, ids=[m.done for m in MISTAKES])
def test_a_mistake_is_named_and_its_remedy_works(mistake: Mistake, columns: Columns, tmp_path: Path) -> None:
    code, said = message(mistake, columns, tmp_path)
    assert re.search(mistake.says, said), said
    shown = "*understood*" if code == 0 else cell(said)
    assert shown in PAGE.read_text(encoding="utf-8"), "make docs"
    if mistake.remedy is not None:
        right = mistake._replace(text=lambda text: mistake.remedy(mistake.text(text)))
        assert message(right, columns, tmp_path) == (0, "passed")
