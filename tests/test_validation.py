"""A model on data it has not seen."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from palpate.errors import PalpateError
from palpate.experiment import Result, read_experiment
from palpate.experiment.validation import Validation, validate
from palpate.model import Model
from tests.command import palpate
from tests.door_files import short_door, write_short_door


@pytest.fixture(scope="module")
def saved(door_result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    door_result.save(folder)
    return folder


@pytest.fixture(scope="module")
def on_itself(saved: Path, door_folder: Path) -> Validation:
    path = saved / "model.json"
    return validate(Model.load(path), read_experiment(door_folder / "body.yaml"), path=path)


def test_the_model_of_the_same_data_is_as_good_as_its_refit_and_that_is_said(on_itself: Validation) -> None:
    assert on_itself.passed, on_itself.data["verdict"]
    entry = on_itself.data["rms"]["n_z"]
    assert 0.97 < entry["times_refit"] < 1.05  # the refit saw the test segment too, and weighs by its low-pass
    assert any("not unseen data" in w for w in on_itself.data["warnings"])
    for e in on_itself.data["parameters"].values():
        assert e["apart"] < 3


def test_the_error_is_that_of_the_stage(on_itself: Validation, door_result: Result) -> None:
    """All segments together, so between the stage's smallest and largest."""
    stage = [door_result.data["rms"][name]["n_z"]["value"] for name in ("train", "test", "quasi_static")]
    assert min(stage) <= on_itself.data["rms"]["n_z"]["value"] <= max(stage)


def test_an_object_that_became_heavier_is_noticed(saved: Path, door_folder: Path) -> None:
    model = Model.load(saved / "model.json")
    heavier = replace(model, values={**model.values, "I": 1.5 * model.values["I"]})
    found = validate(heavier, read_experiment(door_folder / "body.yaml"))
    assert not found.passed
    assert "times what a model fitted to these data leaves" in found.data["verdict"]["reasons"][0]
    apart = {n: e["apart"] for n, e in found.data["parameters"].items()}
    assert max(apart, key=lambda n: apart[n] or 0.0) == "I"
    assert any("I by" in w for w in found.data["warnings"])


@pytest.mark.parametrize(("times", "refuted"), [(1.15, False), (1.2, True)])
def test_a_damper_that_grew_is_noticed_although_the_error_is_small(
    times: float, refuted: bool, saved: Path, door_folder: Path
) -> None:
    """Links that are known to 2 mm leave a damper's value open to 3 %: a sixth more is noticed, a fifth refutes."""
    path = saved / "model.json"
    model = Model.load(path)
    grown = {n: times * v if n == "b_l" else v for n, v in model.values.items()}
    found = validate(replace(model, values=grown), read_experiment(door_folder / "body.yaml"), path=path)
    assert found.data["rms"]["n_z"]["times_refit"] < 2
    assert any("b_l by" in w for w in found.data["warnings"])
    assert found.passed is not refuted
    if refuted:
        assert "these data exclude numbers of the model" in found.data["verdict"]["reasons"][0]


def test_another_door_is_not_this_one(saved: Path, tmp_path: Path) -> None:
    """From the command line, with exit code 3 and the numbers in a file."""
    other = write_short_door(tmp_path, short_door(seed=5))
    done = palpate("validate", saved, other, "-o", tmp_path / "validation.json")
    assert done.returncode == 3, done.stderr
    assert "Verdict: failed" in done.stdout
    data = json.loads((tmp_path / "validation.json").read_text())
    assert data["palpate_validation"] == 1
    assert not any("not unseen" in w for w in data["warnings"])
    assert data["replay"]["model"] > 2 * data["replay"]["refit"]


def test_a_model_of_another_part_is_refused(door_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(door_folder, tmp_path / "door")
    handle = tmp_path / "door" / "handle.json"
    done = palpate("validate", handle, tmp_path / "door" / "body.yaml")
    assert done.returncode == 1
    assert "give the model of the same" in done.stderr.lower()


def test_a_damaged_model_and_an_older_result_are_refused(saved: Path, door_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "old")
    result = tmp_path / "old" / "result.json"
    data = json.loads(result.read_text())
    result.write_text(json.dumps(data | {"palpate_result": 0}))
    done = palpate("validate", tmp_path / "old", door_folder / "body.yaml")
    assert done.returncode == 1
    assert "the result has format 0, this palpate reads format 2" in done.stderr
    (tmp_path / "old" / "model.json").write_text('{"palpate_model": 1, "name": "door"')
    done = palpate("validate", tmp_path / "old", door_folder / "body.yaml")
    assert done.returncode == 1
    assert "the model is damaged" in done.stderr


def test_the_load_cells_zero_is_not_the_models(short_handle_folder: Path) -> None:
    """A handle measured again after zeroing the sensor anew: its zero is fitted, its inertia judged."""
    experiment = read_experiment(short_handle_folder / "handle.yaml")
    truth = json.loads((short_handle_folder / "truth.json").read_text())
    values = {n: e["value"] for n, e in truth["parameters"].items()}
    phi = {n: values[n] for n in ("m", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")}
    phi |= {f"mc_{a}": values["m"] * values[f"c_{a}"] for a in "xyz"}
    model = Model.from_dict(
        {"name": "handle", "mechanism": {"type": "free"}, "elements": [{"type": "rigid-body", "name": "body"}]}
    )
    found = validate(replace(model, values=phi), experiment)
    assert found.passed, found.data["verdict"]
    assert max(e["times_refit"] for e in found.data["rms"].values()) < 1.05
    wrong = validate(replace(model, values={n: 1.2 * v for n, v in phi.items()}), experiment)
    assert not wrong.passed
    with pytest.raises(PalpateError, match="no value for m"):
        validate(model, experiment)
    assert np.isfinite([e["value"] for e in found.data["parameters"].values()]).all()
