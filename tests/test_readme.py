"""The README: short, with pictures and links that are there, and every command and number as a reader would see it."""

from __future__ import annotations

import contextlib
import re
import shutil
from pathlib import Path

import pytest

from tests.command import palpate

PROJECT = Path(__file__).resolve().parents[1]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where a reader typed all commands, with a recording of their own, and what they printed."""
    folder, printed = tmp_path_factory.mktemp("readme"), ""
    for line in (line for language, block in BLOCKS if language == "sh" for line in block.splitlines()):
        if "log.csv" in line and not (folder / "log.csv").exists():
            shutil.copy(folder / "mydrawer" / "log.csv", folder / "log.csv")
        done = palpate(*line.split("#")[0].split()[1:], cwd=folder)
        assert done.returncode == 0, (line, done.stderr)
        printed += done.stdout
    return folder, printed


def test_it_is_short_and_what_it_shows_and_links_is_there() -> None:
    assert len(README.splitlines()) <= 110
    images, links = re.findall(r"!\[.+?\]\((.*?)\)", README), re.findall(r"(?<!!)\[.+?\]\((.*?)\)", README)
    assert len(images) == 2
    assert len(links) > 15
    for path in (*images, *links):
        assert (PROJECT / path).is_file(), path
    assert sum((PROJECT / path).stat().st_size for path in images) < 400_000


def test_the_table_is_the_printed_one(typed: tuple[Path, str]) -> None:
    """Up to one in the last digit, since another BLAS rounds otherwise."""
    shown, printed = (
        {line.split()[0]: line for line in reversed(text.splitlines()) if re.match(r"(m|b_v|b_c) +\d", line)}
        for text in (README, typed[1])
    )
    assert list(shown) == list(printed)
    for name, line in shown.items():
        pairs = zip(line.split(), printed[name].split(), strict=True)
        for ours, theirs in pairs:
            digits = len(ours.partition(".")[2])
            same = ours == theirs or abs(float(ours) - float(theirs)) < 1.5 * 10**-digits
            assert same, (ours, theirs)


def test_the_commands_write_what_it_says(typed: tuple[Path, str]) -> None:
    for file in ("drawer/report.html", "drawer/model.json", "drawer-c/drawer.h", "log.yaml", "mine/report.html"):
        assert (typed[0] / file).is_file(), file
    assert "# GUESS" in (typed[0] / "log.yaml").read_text(encoding="utf-8")


def test_the_python_block_runs(typed: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    ((_, code),) = [block for block in BLOCKS if block[0] == "python"]
    with contextlib.chdir(typed[0]):
        exec(compile(code, "README.md", "exec"), {})
    assert "Verdict: passed" in capsys.readouterr().out


def test_the_header_of_ones_own_table_is_as_shown(typed: tuple[Path, str]) -> None:
    with (typed[0] / "log.csv").open(encoding="utf-8") as file:
        assert file.readline().strip() in README
