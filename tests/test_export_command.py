"""palpate export, and the table of formats and objects."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from palpate.errors import PalpateError
from palpate.experiment.stage.result import DRIVEN_BY
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
    assert "Left out, or only approximated:\n- angles, widths and lengths" in done.stdout
    assert "us on average" in done.stdout
    assert "verdict: failed: too short" in (tmp_path / "door-c" / "door.h").read_text()
    assert "DOOR_DT 0.002" in (tmp_path / "door-c" / "door.h").read_text()
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


def test_stops_and_the_sensors_range_can_be_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A door as identify writes it has no end stops; they are told to be missing, and can be added."""
    monkeypatch.setenv("PATH", str(tmp_path))  # no compiler: only the files matter here
    monkeypatch.delenv("CC", raising=False)
    path = tmp_path / "door.json"
    replace(shipped("door"), about={"model_of": DRIVEN_BY["body"], "verdict": "passed"}).save(path)
    bare = json.loads(palpate("export", path, "--to", "c", "--json", "-o", tmp_path / "a").stdout)
    assert any("no end stop at the lowest and the highest angle" in line for line in bare["left_out"])
    assert any("--wrench-limit" in note for note in bare["notes"])
    options = ("--stops", "0,92", "--wrench-limit", "500,20")
    full = json.loads(palpate("export", path, "--to", "c", *options, "--json", "-o", tmp_path / "b").stdout)
    assert not any("end stop" in line for line in full["left_out"])
    assert not any("--wrench-limit" in note for note in full["notes"])
    code = (tmp_path / "b" / "door.c").read_text()
    assert "highest_stop" in code
    assert "range[6] = {500.0, 500.0, 500.0, 20.0, 20.0, 20.0}" in code
    for wrong, message in ((("--stops", "92,0"), "--stops"), (("--wrench-limit", "1,2,3"), "two numbers")):
        refused = palpate("export", path, "--to", "c", *wrong, "-o", tmp_path / "c")
        assert refused.returncode == 1
        assert message in refused.stderr


@pytest.mark.parametrize("to", [to for to in EXPORTERS if to != "ros2-control"])
def test_every_export_of_a_bare_door_says_that_it_has_no_stops(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("palpate.runtime.native.shutil.which", lambda _: None)
    for of, words in DRIVEN_BY.items():
        done = export_model(replace(shipped("door"), about={"model_of": words}), to, tmp_path / of)
        assert any("no end stop" in line for line in done.left_out)
        assert any("weight-only, for reproduction" in line for line in done.left_out) == (of == "weight-only")
        text = done.files[0].read_bytes()
        if to == "fmu":
            with zipfile.ZipFile(done.files[0]) as archive:
                text = archive.read("modelDescription.xml")
        if to != "urdf":  # which takes no wrench
            assert (b"of the person" in b" ".join(text.split())) == (of == "whole")


def test_every_exporter_writes_every_object_or_says_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of formats and objects; compiling is another test's."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("palpate.runtime.native.shutil.which", lambda _: None)
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
