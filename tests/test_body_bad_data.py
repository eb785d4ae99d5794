"""Door recordings that cannot tell what is asked, or contradict the experiment file: never a confident number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from palpate.cli.app import app
from palpate.experiment import Result, read_experiment, run_experiment
from palpate.experiment.run import prepare_experiment
from palpate.experiment.stage.prepare import Prepared
from palpate.recording import Channel, Recording, load
from palpate.recording.mat import write_dspace
from tests.door_files import own_copy, short_door, write_short_door
from tests.test_body_bad_input import Change, changed, segment


def judged(path: Path) -> dict[str, Any]:
    return run_experiment(read_experiment(path)).data


def failed(path: Path) -> str:
    data = judged(path)
    assert not data["verdict"]["passed"]
    return " | ".join(data["verdict"]["reasons"])


def told(path: Path) -> dict[str, str]:
    """What fails the verdict: the sentence of each cause."""
    findings = run_experiment(read_experiment(path)).findings
    return {f.cause: f.sentence for f in findings if f.fatal}


def test_a_good_door_passes_without_a_word(door_result: Result) -> None:
    data = door_result.data
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
        assert f"it needs closing {zone} 20.6 deg" in reasons
        assert data["parameters"][name]["value"] is None
        assert data["parameters"][name]["ci95"] is None
    assert "b_bc is not known" not in reasons
    assert data["parameters"]["b_bc"]["value"] == pytest.approx(short_door().model.values["b_bc"], rel=0.06)
    assert not (tmp_path / "out" / "model.json").exists()


def test_a_door_that_is_never_shut_is_told(tmp_path: Path) -> None:
    reasons = failed(write_short_door(tmp_path, short_door(never_closed=True)))
    assert "it is never seen shut, the nearest it comes is" in reasons
    assert "b_l is not known: the object is" in reasons
    assert "closing below 20.6 deg" in reasons


def test_without_static_and_slow_segments_preload_and_spring_are_doubted(door_folder: Path, tmp_path: Path) -> None:
    data = judged(changed(door_folder, tmp_path, segment("static", ""), segment("quasi_static", "")))
    assert any("preload is taken as zero" in w for w in data["warnings"])
    assert any("no quasi-static segment" in w for w in data["warnings"])


def test_the_position_is_measured_from_static_although_the_capture_begins_with_the_door_open(
    door_folder: Path, door_prepared: Prepared, tmp_path: Path
) -> None:
    path = changed(door_folder, tmp_path, segment("static", ""), segment("quasi_static", "[9, 13.3]"))
    lines = own_copy(tmp_path, "Trajectories.csv").read_text().splitlines()
    begins = 5 + 800
    hidden = [f"{k + 1},0" + "," * (lines[5].count(",") - 1) for k in range(800)]
    (tmp_path / "Trajectories.csv").write_text("\n".join([*lines[:5], *hidden, *lines[begins:]]) + "\n")
    inputs = prepare_experiment(read_experiment(path)).inputs
    seen = np.isfinite(inputs.q[:, 0])
    assert not seen[:700].any()
    assert inputs.q[seen, 0][0] > np.radians(20)
    off = inputs.q[seen, 0] - door_prepared.inputs.q[seen, 0]
    assert np.abs(off).max() < np.radians(0.2)


WRONG: dict[str, tuple[list[Change], list[str]]] = {
    "touched": (
        [segment("static", "[1.0, 2.75]"), segment("quasi_static", "[4, 13.3]")],
        ["segments.static: the wrench of the load cell changes", "somebody touches", "preload"],
    ),
    "moving": (
        [segment("static", "[2.6, 3.3]"), segment("quasi_static", "[4, 13.3]")],
        ["segments.static: the object moves by", "shut and untouched"],
    ),
    "points": ([("points: down", "points: up")], ["opening counts as negative", "markers.hinge.points"]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_zero_of_angle_or_sensor_is_told(door_folder: Path, tmp_path: Path, wrong: str) -> None:
    changes, said = WRONG[wrong]
    found = " | ".join(told(changed(door_folder, tmp_path, *changes)).values())
    assert all(part in found for part in said), found


def test_forces_in_wrong_units_are_noticed(door_folder: Path, tmp_path: Path) -> None:
    path = changed(door_folder, tmp_path)
    recording = load(own_copy(tmp_path, "wrench.mat"))
    channels = {
        n: Channel(n, (1e-3 if n.startswith("F") else 1.0) * c.samples, c.clock, c.unit, c.frame)
        for n, c in recording.channels.items()
    }
    write_dspace(tmp_path / "wrench.mat", Recording(channels, None, recording.format))
    assert told(path)["units"].startswith("recordings.wrench: forces of ")


def test_the_wrong_sign_of_the_wrench_is_named_once(door_folder: Path, tmp_path: Path) -> None:
    path = changed(door_folder, tmp_path, ("device: Platform}", "device: Platform, sign: on-handle}"))
    (found,) = [f for f in run_experiment(read_experiment(path)).findings if f.cause == "sign"]
    assert found.fatal
    assert "I, b_v, b_c, b_bc, b_s, b_l are impossible" in found.evidence
    assert "the sign of the wrench" in found.remedy
