"""Door recordings that cannot tell what is asked, or contradict the experiment file: never a confident number."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from palpate.cli.app import app
from palpate.experiment import read_experiment, run_experiment
from palpate.experiment.body import PreparedBody, prepare_body
from palpate.experiment.body_checks import fit_findings
from palpate.experiment.body_fit import fit_joint
from palpate.mechanisms import FourBar, Hinge
from palpate.physics.so3 import exp_rotation
from palpate.recording import Channel, Recording, load
from palpate.recording.dspace_mat import write as write_dspace
from palpate.recording.gates import Finding
from tests.door_files import own_copy, short_door, write_short_door
from tests.test_body_bad_input import Change, changed, segment


def judged(path: Path) -> dict[str, Any]:
    return run_experiment(read_experiment(path)).data


def failed(path: Path) -> str:
    data = judged(path)
    assert not data["verdict"]["passed"]
    return " | ".join(data["verdict"]["reasons"])


def told(path: Path) -> str:
    """What is said before anything is fitted."""
    return " | ".join(f.message for f in prepare_body(read_experiment(path)).measured.findings if f.fatal)


@pytest.fixture(scope="module")
def prepared(door_folder: Path) -> PreparedBody:
    return prepare_body(read_experiment(door_folder / "body.yaml"))


def contradicted(prepared: PreparedBody, **changes: Any) -> list[Finding]:
    """What a fit finds against inputs that are otherwise than they should be."""
    inputs = replace(prepared.measured.inputs, **changes)
    return fit_findings(fit_joint(inputs.on_clock(inputs.clock), prepared.measured.segments))


def hinge_of(prepared: PreparedBody) -> Hinge:
    mechanism = prepared.measured.inputs.model.mechanism
    assert isinstance(mechanism, Hinge)
    return mechanism


def test_a_good_door_passes_without_a_word(door_folder: Path) -> None:
    data = judged(door_folder / "body.yaml")
    assert data["verdict"]["passed"], data["verdict"]
    assert data["warnings"] == []
    truth = short_door().model.values
    for name in ("I", "b_bc", "b_s", "b_l"):
        assert data["parameters"][name]["value"] == pytest.approx(truth[name], rel=0.06), name


def test_a_door_moved_one_way_gives_no_number_for_the_other(tmp_path: Path) -> None:
    path = write_short_door(tmp_path, short_door(one_way=True))
    done = CliRunner().invoke(app, ["identify", str(path), "-o", str(tmp_path / "out")])
    assert done.exit_code == 3, done.output
    data = json.loads((tmp_path / "out" / "result.json").read_text())
    reasons = " | ".join(data["verdict"]["reasons"])
    for name, zone in (("b_s", "above"), ("b_l", "below")):
        assert f"{name} is not known: the object was moved in one direction only, opening" in reasons
        assert f"it takes closing {zone} 21 deg" in reasons
        assert data["parameters"][name]["value"] is None
        assert data["parameters"][name]["ci95"] is None
    assert "b_bc is not known" not in reasons
    assert data["parameters"]["b_bc"]["value"] == pytest.approx(short_door().model.values["b_bc"], rel=0.06)
    assert not (tmp_path / "out" / "model.json").exists()


def test_a_door_that_is_never_shut_is_told(tmp_path: Path) -> None:
    reasons = failed(write_short_door(tmp_path, short_door(never_closed=True)))
    assert "the closed position is never visited" in reasons
    assert "b_l is not known: the object is" in reasons
    assert "closing below 21 deg" in reasons


def test_without_static_and_slow_segments_preload_and_spring_are_doubted(door_folder: Path, tmp_path: Path) -> None:
    data = judged(changed(door_folder, tmp_path, segment("static", ""), segment("quasi_static", "")))
    assert any("preload is taken as zero" in w for w in data["warnings"])
    assert any("no quasi-static segment" in w for w in data["warnings"])


WRONG: dict[str, tuple[list[Change], list[str]]] = {
    "touched": (
        [segment("static", "[1.0, 2.75]"), segment("quasi_static", "[4, 10.8]")],
        ["in segments.static the wrench changes", "somebody touches", "preload"],
    ),
    "moving": (
        [segment("static", "[2.6, 3.3]"), segment("quasi_static", "[4, 10.8]")],
        ["in segments.static the object moves by", "shut and untouched"],
    ),
    "no-static": (
        [segment("static", ""), (r"^  static: \{.*$", ""), ("towards: WB_Frame1", "towards: WB_Door5")],
        ["neither segments.static nor recordings.static says where the object is shut"],
    ),
    "points": ([("points: down", "points: up")], ["opening counts negative", "markers.hinge.points"]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_zero_of_angle_or_sensor_is_told(door_folder: Path, tmp_path: Path, wrong: str) -> None:
    changes, said = WRONG[wrong]
    found = told(changed(door_folder, tmp_path, *changes))
    assert all(part in found for part in said), found


@pytest.mark.parametrize("factor", [1e3, 1e-3])
def test_forces_in_wrong_units_are_noticed(door_folder: Path, tmp_path: Path, factor: float) -> None:
    path = changed(door_folder, tmp_path)
    recording = load(own_copy(tmp_path, "wrench.mat"))
    channels = {
        n: Channel(n, (factor if n.startswith("F") else 1.0) * c.samples, c.clock, c.unit, c.frame)
        for n, c in recording.channels.items()
    }
    write_dspace(tmp_path / "wrench.mat", Recording(channels, None, recording.format))
    assert "check the units of recordings.wrench" in told(path)


def test_the_wrong_sign_of_the_wrench_is_named_once(door_folder: Path, tmp_path: Path) -> None:
    reasons = failed(changed(door_folder, tmp_path, ("device: Platform}", "device: Platform, sign: on-handle}")))
    assert reasons.count("negative") == 1
    assert "I, b_v, b_c, b_bc, b_s, b_l come out negative: the wrench has the wrong sign" in reasons


def test_the_wrong_assembly_does_not_explain_the_torque(door_folder: Path, tmp_path: Path) -> None:
    reasons = failed(changed(door_folder, tmp_path, ("assembly: negative", "assembly: positive")))
    assert "does not explain the wrench" in reasons


def test_nothing_is_said_against_what_is_right(prepared: PreparedBody) -> None:
    assert contradicted(prepared) == []


def test_a_clock_that_is_off_is_told_with_its_error(prepared: PreparedBody) -> None:
    clock = prepared.measured.inputs.clock
    assert clock is not None
    (found,) = contradicted(prepared, clock=replace(clock, offset_s=clock.offset_s + 0.02))
    assert found.fatal
    assert "earlier than its clock says" in found.message
    assert float(found.message.split(" ms")[0].split()[-1]) == pytest.approx(20, abs=4)


def test_the_other_elbow_is_proposed(prepared: PreparedBody) -> None:
    hinge = hinge_of(prepared)
    assert isinstance(hinge.linkage, FourBar)
    other = replace(hinge, linkage=replace(hinge.linkage, assembly="positive"))
    found = contradicted(prepared, model=replace(prepared.measured.inputs.model, mechanism=other))
    assert any(f.fatal and "negative instead of positive" in f.message for f in found), found


@pytest.mark.parametrize("turn", [[0.0, 0.0, 1.2], [0.0, 0.5, 0.0]])
def test_a_sensor_that_is_turned_is_noticed(prepared: PreparedBody, turn: list[float]) -> None:
    T = prepared.measured.inputs.T_hinge_sensor.copy()
    T[:3, :3] = T[:3, :3] @ exp_rotation(np.array(turn))
    found = contradicted(prepared, T_hinge_sensor=T)
    assert any("the sensor sits otherwise than stated" in f.message for f in found), found


def test_a_sensor_off_across_the_door_is_noticed(prepared: PreparedBody) -> None:
    T = prepared.measured.inputs.T_hinge_sensor.copy()
    T[1, 3] += 0.05
    (found,) = contradicted(prepared, T_hinge_sensor=T)
    assert "0.05 m f_x" in found.message


def test_links_of_another_closer_are_not_taken_for_a_wrong_sensor(prepared: PreparedBody) -> None:
    other = replace(hinge_of(prepared), linkage=FourBar(range=(0.0, 1.65)))
    assert contradicted(prepared, model=replace(prepared.measured.inputs.model, mechanism=other)) == []
