"""palpate new: a commented experiment file that only wants the user's own values."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner, Result

from palpate.cli.app import app
from palpate.errors import PalpateError
from palpate.experiment import read_experiment, run_experiment
from palpate.experiment.file.reading import check_keys, object_model
from palpate.experiment.file.starting import starting_experiment, starting_names
from palpate.model import load_object
from palpate.physics.units import parse_quantity

GATE = """\
name: "gate: left"
mechanism: {type: hinge}
elements:
  - {type: inertia, name: I}
  - {type: zone-damper, name: b_end, when: closing, below: 0.2, width: 0.03}
"""


def palpate(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.mark.parametrize("name", starting_names())
def test_a_new_file_parses_and_lacks_nothing_but_the_recordings(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = palpate("new", name)
    assert done.exit_code == 0, done.output
    path = tmp_path / f"{name}.yaml"
    text = path.read_text()
    assert f"Written: {name}.yaml" in done.stdout
    assert "EDIT" in done.stdout
    assert "@" not in text
    assert max(map(len, text.splitlines())) <= 140
    with pytest.raises(PalpateError, match=r"recordings\..*there is no such file"):
        read_experiment(path)
    for part in YAML(typ="safe").load(text)["recordings"].values():
        (tmp_path / part["file"]).write_text("x")
    (tmp_path / "handle.yaml").touch()
    experiment = read_experiment(path)
    if experiment.config.stage != "motion":
        model = object_model(experiment)
        assert model.parameters.keys() == load_object(name).parameters.keys()
        check_keys(experiment, model)


@pytest.mark.parametrize("name", starting_names())
def test_every_commented_key_may_be_uncommented(name: str, tmp_path: Path) -> None:
    text = starting_experiment(name)
    for part in YAML(typ="safe").load(text)["recordings"].values():
        (tmp_path / part["file"]).write_text("x")
    for file in ("handle.yaml", "handle_2.yaml", "result.json", "Static.csv"):
        (tmp_path / file).write_text("x")
    optional = re.findall(r"(?m)^ *# (?=- \{|[a-z_]+:( |$))", text)
    assert len(optional) >= 3
    path = tmp_path / "all.yaml"
    path.write_text(re.sub(r"(?m)^( *)# (?=- \{|[a-z_]+:( |$))", r"\1", text))
    experiment = read_experiment(path)
    if experiment.config.stage != "motion":
        check_keys(experiment, object_model(experiment))


def test_a_filled_in_handle_file_says_the_same_as_a_twins_own(handle_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(handle_folder, tmp_path, dirs_exist_ok=True)
    theirs = tmp_path / "handle.yaml"
    twin, text = YAML(typ="safe").load(theirs), starting_experiment("handle")
    for key in ("imu_pose", "prior"):
        old = re.search(rf"(?m)^{key}:.*\n(  .*\n)*", text)
        assert old is not None
        text = text.replace(old.group(), f"{key}: {json.dumps(twin[key])}\n")
    (tmp_path / "own.yaml").write_text(text)
    own, other = (
        read_experiment(p).config.model_dump(exclude={"title", "reference", "uncertain"})
        for p in (tmp_path / "own.yaml", theirs)
    )
    assert own == other


def test_a_door_is_identified_from_the_filled_in_file(door_folder: Path) -> None:
    twin = YAML(typ="safe").load(door_folder / "body.yaml")
    text = starting_experiment("door")
    for key in ("recordings", "markers", "imu_pose", "handle", "clocks", "mechanism", "segments"):
        old = re.search(rf"(?m)^{key}:.*\n(  .*\n)*", text)
        assert old is not None, key
        text = text.replace(old.group(), f"{key}: {json.dumps(twin[key])}\n" if key in twin else "")
    (door_folder / "own.yaml").write_text(text)
    result = run_experiment(read_experiment(door_folder / "own.yaml"))
    assert result.passed, result.data["verdict"]
    assert {"I", "b_bc", "b_l", "c_3"} < result.data["parameters"].keys()
    assert result.data["shapes"]["b_bc.above"]["status"] == "identified"


def test_a_file_is_never_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("my work")
    done = palpate("new", "door", "-o", path)
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert "--force" in done.stderr
    assert path.read_text() == "my work"
    assert palpate("new", "door", "-o", path, "--force", "-q").output == ""
    assert "palpate identify mine.yaml" in path.read_text()
    assert "is a folder" in palpate("new", "door", "-o", tmp_path, "--force").stderr
    assert json.loads(palpate("new", "door", "-o", path, "--force", "--json").stdout) == {"experiment": str(path)}


def test_a_dash_prints_the_file_and_writes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert palpate("new", "motion", "-o", "-").stdout == starting_experiment("motion")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_object_is_told_the_nearest() -> None:
    done = palpate("new", "dor")
    assert done.exit_code == 1
    assert "Did you mean 'door'?" in done.stderr
    assert "path of an object file" in done.stderr
    assert "there is no such file" in palpate("new", "gate.yaml").stderr


def test_an_object_of_ones_own_gets_its_elements_listed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "gate.yaml").write_text(GATE)
    out = tmp_path / "a" / "new.yaml"
    done = palpate("new", tmp_path / "gate.yaml", "-o", out)
    assert done.exit_code == 0, done.output
    data = YAML(typ="safe").load(out)
    assert data["object"] == "../gate.yaml"
    assert data["title"] == "The object gate: left"
    listed = [YAML(typ="safe").load(line[4:]) for line in out.read_text().splitlines() if line.startswith("# - {")]
    assert [e["name"] for e in listed] == ["I", "b_end"]
    assert parse_quantity(listed[1]["below"], "deg") == pytest.approx(0.2)
    uncommented = re.sub(r"(?m)^# (?=- \{|elements:)", "", out.read_text())
    for part in data["recordings"].values():
        (tmp_path / "a" / part["file"]).write_text("x")
    (tmp_path / "a" / "handle.yaml").touch()
    out.write_text(uncommented)
    model = object_model(read_experiment(out))
    assert model.shapes == pytest.approx(load_object(tmp_path / "gate.yaml").shapes)


@pytest.mark.parametrize(("more", "stage"), [(", {type: sensor-bias, name: bias}", "handle"), ("", "body")])
def test_what_hangs_on_its_sensor_gets_the_handles_file(more: str, stage: str, tmp_path: Path) -> None:
    elements = "elements: [{type: rigid-body, name: tool}"
    (tmp_path / "tool.yaml").write_text(f"name: tool\nmechanism: {{type: free}}\n{elements}{more}]\n")
    assert YAML(typ="safe").load(starting_experiment(str(tmp_path / "tool.yaml")))["stage"] == stage
