"""What the pages show works as it stands there: commands and blocks of code are run, in order, in one folder a page.

Blocks: `sh` are commands, `python` is code, `yaml` are experiment files or parts of one; `text` is output and what a
shell does before palpate is there.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from functools import partial
from pathlib import Path

import pytest

from palpate.model import load_object
from palpate.recording.formats import FORMATS
from palpate.twin import TWINS
from palpate.twin.handle import write_capture_twin
from tests.command import palpate
from tests.commands_page import commands_page
from tests.elsewhere import ELSEWHERE

PROJECT = Path(__file__).resolve().parents[1]
DOCS = PROJECT / "docs"
PAGES = ("instrument.md", "theory.md", "formats.md", "reproducibility.md", "index.md", "guides.md")
"""`first-model.md` goes on from where the tour ends: `test_tour.py`."""


def blocks(page: str) -> list[tuple[str, str]]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(r"^```(\w+)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_works(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = partial(write_capture_twin, duration_s=15.0)  # no number of the capture is shown
    monkeypatch.setattr("palpate.twin.TWINS", {**TWINS, "capture": short})
    for language, block in blocks(page):
        assert language in ("sh", "python", "text"), f"{page}: a block of {language}"
        if language == "sh":
            for line in block.splitlines():
                command = line.split(" #")[0].strip()
                if not command or command in ELSEWHERE:
                    continue
                words = shlex.split(command)
                assert words[0] == "palpate", f"{page}: {line}"
                done = palpate(*words[1:], cwd=tmp_path)
                assert done.returncode == 0, (page, line, done.stderr, done.stdout[-500:])
        elif language == "python":
            with contextlib.chdir(tmp_path):
                exec(compile(block, page, "exec"), {"__name__": page})


def test_the_page_of_commands_is_up_to_date() -> None:
    assert (DOCS / "commands.md").read_text(encoding="utf-8") == commands_page(), "make docs"


def test_the_object_file_on_its_page_is_one(tmp_path: Path) -> None:
    ((language, block),) = blocks("object-file.md")
    assert language == "yaml"
    (tmp_path / "my-fridge.yaml").write_text(block, encoding="utf-8")
    assert "tau_7" in load_object(tmp_path / "my-fridge.yaml").parameters


def test_every_format_has_a_line() -> None:
    text = (DOCS / "formats.md").read_text(encoding="utf-8")
    assert [name for name in FORMATS if f"`{name}`" not in text] == []


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = re.findall(r"[\w/-]+\.md", (PROJECT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed += [
        f"objects/{name}"
        for name in re.findall(r"\(([\w-]+\.md)\)", (DOCS / "objects" / "index.md").read_text("utf-8"))
    ]
    here = {p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md")}
    assert set(listed) == here
