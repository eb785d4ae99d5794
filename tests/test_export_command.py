"""palpate export, and the table of formats and objects."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from palpate.errors import PalpateError
from palpate.export import EXPORTERS, export_model
from tests.command import palpate
from tests.conftest import needs_program
from tests.test_export_c import SHIPPED, closing_door, shipped


def test_the_command_exports_tells_what_is_left_out_and_minds_the_verdict(tmp_path: Path) -> None:
    needs_program("cc")
    path = tmp_path / "door.json"
    replace(closing_door(), about={"model_of": "body", "verdict": "failed: too short"}).save(path)
    refused = palpate("export", path, "--to", "c", cwd=tmp_path)
    assert refused.returncode == 1
    assert "its verdict is 'failed: too short'" in refused.stderr
    assert not (tmp_path / "door-c").exists()
    done = palpate("export", path, "--to", "c", "--dt", "0.002", "--even-if-failed", cwd=tmp_path)
    assert done.returncode == 0
    assert "What it does not say:\n- angles, widths and lengths" in done.stdout
    assert "us on average" in done.stdout
    assert "verdict: failed: too short" in (tmp_path / "door-c" / "model.h").read_text()
    assert "DOOR_DT 0.002" in (tmp_path / "door-c" / "model.h").read_text()
    told = palpate("export", path, "--to", "fmu", "-o", "out", "--even-if-failed", "--json", cwd=tmp_path)
    assert [Path(x).name for x in json.loads(told.stdout)["files"]] == ["door.fmu"]
    assert (tmp_path / "out" / "door.fmu").is_file()
    for arguments, message in (
        (("--to", "simulink"), "there is no format 'simulink'"),
        (("--to", "mjcf", "--dt", "0.001"), "mjcf has no option 'dt'"),
        (("--to", "c", "--dt", "3"), "a step of 3 s is too long"),
        (("--to", "c", "-o", str(path)), "is a file, not a folder"),
    ):
        wrong = palpate("export", path, *arguments, "--even-if-failed", cwd=tmp_path)
        assert wrong.returncode == 1
        assert message in wrong.stderr


def test_every_exporter_writes_every_object_or_says_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of formats and objects; compiling is another test's."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("palpate.export.compiling.shutil.which", lambda _: None)
    refused: list[tuple[str, str]] = []
    for to in EXPORTERS:
        for name in SHIPPED:
            try:
                done = export_model(shipped(name), to, tmp_path / to / name)
            except PalpateError:
                refused.append((to, name))
                continue
            assert done.files
            assert all(path.stat().st_size > 200 for path in done.files)
            assert done.left_out or (to, name) == ("mjcf", "handle")  # MuJoCo has all that a free body is
    assert all(to not in ("c", "fmu", "mjcf") for to, _ in refused)
