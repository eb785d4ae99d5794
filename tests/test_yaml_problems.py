"""Mistakes in YAML, in palpate's words: the line, what is wrong, and what would be right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from palpate.errors import PalpateError
from palpate.experiment.file.yaml_text import parse

MISTAKES = {
    "recordings:\n\tsignals: {file: a.csv}\n": (2, "begins with a tab", "indent with spaces"),
    "segments:\n  train: [1, 2]\n\ttest: [2, 3]\n": (3, "begins with a tab", "indent with spaces"),
    "segments:\n  train: [1, 2]\n   test: [2, 3]\n": (3, "indented by 3 spaces", "by 2 spaces, like line 2"),
    "segments:\n  train: [1, 2]\n test: [2, 3]\n": (3, "indented by 1 space,", "by 2 spaces, like line 2"),
    "a:\n  b: 1\nsegments:\n   train: [1, 2]\n  test: [2, 3]\n": (
        5,
        "by 2 spaces, and line 4 .* by 3 spaces",
        "both alike",
    ),
    "object: door\n    stage: body\n": (2, "though the key above has its value", "with no space"),
    "object: door\nstage body\nfactor: UtU\n": (2, "no colon after 'stage'", "write stage: and then"),
    "object: door\nstage body\n": (2, "no colon after 'stage'", "write stage: and then"),
    "object:door\nstage: body\n": (1, "no space after the colon of 'object'", "write object: door"),
    "train:\n- [1, 2]\n-[3, 4]\n": (3, "no space after the dash", r"write - \[3, 4\]"),
    "a: 1\nb: 2\na: 3\n": (3, r"the key 'a' appears twice \(lines 1, 3\)", "remove one"),
    "segments: {train: [1, 2}\nx: 1\n": (1, r"the bracket \[ is not closed", r"end the list with \]"),
    "segments: {train: [1, 2]\nstage: body\n": (1, r"the bracket { is not closed", "end the list with }"),
    "columns: {q: {column: a unit: deg}}\n": (1, "a comma is missing", "with commas between"),
    "segments:\n  train: [1, 2]\n}\n": (3, "the bracket } closes nothing", "remove it"),
    "object: door\n- x\n": (2, "does not go on with what stands above", "do not mix them"),
    'title: "my door\nobject: door\n': (1, "a quote is opened and not closed", "at both ends"),
    "title: my door: the second\n": (1, "a second colon in this line", "into quotes"),
    "share: %5\n": (1, "cannot begin with %", "into quotes"),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_named_with_its_line_and_what_would_be_right(text: str, tmp_path: Path) -> None:
    line, problem, remedy = MISTAKES[text]
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(PalpateError) as refused:
        parse(tmp_path / "own.yaml")
    message = str(refused.value)
    assert f"own.yaml, line {line}: " in message
    assert re.search(problem, message), message
    assert re.search(remedy, message, re.IGNORECASE), message
    assert "token" not in message
    assert "<" not in message
