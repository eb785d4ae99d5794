"""What a fitted balance says against the experiment file: the sensor's place, its clock, the elbow's side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from palpate import read_experiment, run_experiment
from palpate.experiment import Result, run
from palpate.experiment.gates import judge
from palpate.experiment.gates.mounting import beside
from palpate.experiment.stage.result import Case
from palpate.experiment.stage.variations import declared as declared_errors
from palpate.experiment.stage.variations import with_estimated
from palpate.mechanisms import FourBar
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import exp_rotation
from palpate.twin.instruments import T_MARKER
from tests.door_files import copy_of

SITS_OTHERWISE = "the sensor is not mounted as stated"


def doubts(result: Result) -> list[str]:
    """All that a result says against its experiment, what fails it first."""
    return [*result.data["verdict"]["reasons"], *result.data["warnings"]]


def stated(door: Path, folder: Path, *changes: tuple[str, str]) -> list[str]:
    """What is said where the experiment file states something else."""
    return doubts(run_experiment(read_experiment(copy_of(door / "body.yaml", folder, *changes))))


def posed(T: FloatArray) -> tuple[tuple[str, str], tuple[str, str]]:
    """Changes that state this pose of the markers in the sensor frame."""
    rotation, place = (f"rotation: {x.tolist()}" for x in (T_MARKER[:3, :3], T[:3, :3])), T[:3, 3].tolist()
    before, after = rotation
    return (before, after), (f"translation: {T_MARKER[:3, 3].tolist()}", f"translation: {place}")


def test_nothing_is_said_against_what_is_right(door_result: Result) -> None:
    assert doubts(door_result) == []


def test_a_clock_that_is_off_is_told_with_its_error(door_folder: Path, tmp_path: Path) -> None:
    reason = stated(door_folder, tmp_path, ("wrench: 1}", "wrench: 21}"))[0]
    assert "later on the markers' clock than stated" in reason
    assert float(reason.split(" ms")[0].split()[-1]) == pytest.approx(20, abs=4)


def test_an_error_that_cannot_be_tried_is_named(
    door_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such links do not close, and the right ones do not reach so far; advice fits how the clock was said."""
    cases: list[Case] = []
    monkeypatch.setattr(run, "judge", lambda case: cases.append(case) or judge(case))
    declared = ("model_of: body", "model_of: body\nuncertain: {load_cell_scale: 1 %, links: 150 mm, closed: 60 deg}")
    path = copy_of(door_folder / "body.yaml", tmp_path, declared, ("wrench: 1}", "wrench: 21}"))
    result = run_experiment(read_experiment(path))
    untried = {f.place: f.evidence for f in result.findings if f.cause == "untried"}
    assert "cannot close the loop" in untried["uncertain.links"]
    assert "out of the linkage's reach" in untried["uncertain.closed"]
    assert not {"links", "closed"} & set(result.data["taken_as_exact"])
    assert result.data["systematic"]["load_cell_scale"]["I"] > 0
    case = cases[0]
    too_far = list(declared_errors(case.fit.inputs, {"closed": 1.0}))
    assert "reach" in with_estimated(case.fit, too_far).untried["closed"]
    auto = case.config.model_copy(update={"clocks": "auto"})
    for there, remedy in ((case, "write auto"), (replace(case, experiment=replace(case.experiment, config=auto)), "")):
        (clock,) = [f for f in beside(there) if f.cause == "clock"]
        assert ("auto" in clock.remedy, "stated" in clock.evidence) == (bool(remedy), bool(remedy))


def test_the_other_elbow_is_proposed(door_folder: Path, tmp_path: Path) -> None:
    reason = stated(door_folder, tmp_path, ("assembly: negative", "assembly: positive"))[0]
    assert "the links of closer are assembled the other way, negative" in reason


@pytest.mark.parametrize("turn", [[0.0, 0.0, 1.2], [0.2, 0.0, 0.0]])
def test_a_sensor_that_is_turned_is_noticed(door_folder: Path, tmp_path: Path, turn: list[float]) -> None:
    T = T_MARKER.copy()
    T[:3] = exp_rotation(-np.array(turn)) @ T_MARKER[:3]
    assert any(SITS_OTHERWISE in said for said in stated(door_folder, tmp_path, *posed(T)))


def test_a_sensor_off_across_the_door_is_noticed(door_folder: Path, tmp_path: Path) -> None:
    T = T_MARKER.copy()
    T[2, 3] += 0.05  # z of the sensor points away from the door
    (said,) = stated(door_folder, tmp_path, *posed(T))
    assert SITS_OTHERWISE in said
    assert abs(float(said.split("(")[1].split(" m f_")[0])) == pytest.approx(0.05, abs=0.01)


def test_links_of_another_closer_are_not_taken_for_a_wrong_sensor(door_folder: Path, tmp_path: Path) -> None:
    text = (door_folder / "body.yaml").read_text()
    links = text.split("lengths: ")[1].split("]")[0]
    said = stated(door_folder, tmp_path, (links, str(list(FourBar().lengths)).rstrip("]")))
    assert not any(SITS_OTHERWISE in s or "elbow" in s or "clock" in s for s in said)
