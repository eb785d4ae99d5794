"""A drawer, which is a mechanism file and an object file: everything else must follow from what they declare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import palpate
from palpate.errors import PalpateError
from palpate.experiment import read_experiment, run_experiment
from palpate.experiment.run import prepare_experiment
from tests.command import palpate as command
from tests.conftest import needs_program
from tests.drawer_files import IMU_LATE_S, TRUTH, add_imu, write_capture, write_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drawer")


@pytest.fixture(scope="module")
def table(folder: Path) -> Path:
    """Where the result of the table is."""
    return identified(write_table(folder), folder / "table")


@pytest.fixture(scope="module")
def capture(folder: Path) -> Path:
    """Where the result of markers and a load cell is."""
    return identified(write_capture(folder), folder / "capture")


def identified(path: Path, out: Path) -> Path:
    done = command("identify", path, "-o", out)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.mark.parametrize("by", ["table", "capture"])
def test_the_truth_is_inside_its_intervals_in_the_units_of_a_length(by: str, request: pytest.FixtureRequest) -> None:
    result = json.loads((request.getfixturevalue(by) / "result.json").read_text())
    assert result["verdict"]["passed"]
    assert {n: p["unit"] for n, p in result["parameters"].items()} == {"m": "kg", "b_v": "N s/m", "b_c": "N"}
    for name, value in TRUTH.items():
        p = result["parameters"][name]
        low, high = p["ci95"]
        middle, half = (low + high) / 2, (high - low) / 2
        assert abs(middle - value) < 1.5 * half, name
        assert half < 0.02 * value, name
    assert result["rms"]["test"]["f_x"]["unit"] == "N"
    assert result["mechanism"]["positions"]["position"]["unit"] == "m"
    assert result["replay"]["unit"] == "m"


def test_an_imu_on_what_only_slides_is_timed_by_its_accelerometer_and_used(capture: Path, tmp_path: Path) -> None:
    alone: dict[str, Any] = json.loads((capture / "result.json").read_text())
    both = run_experiment(read_experiment(add_imu(write_capture(tmp_path)))).data
    clock = both["clocks"]["imu"]
    assert clock["reference_minus_device_s"] == pytest.approx(-IMU_LATE_S, abs=1e-5)
    assert clock["std_s"] < 1e-5
    assert both["motion"]["from"] == "markers and IMU"
    halves: list[dict[str, float]] = []
    for result in (alone, both):
        assert result["verdict"]["passed"]
        ends = {name: p["ci95"] for name, p in result["parameters"].items()}
        halves.append({name: (high - low) / 2 for name, (low, high) in ends.items()})
        middle = {name: (high + low) / 2 for name, (low, high) in ends.items()}
        assert all(abs(middle[name] - TRUTH[name]) < 1.5 * half for name, half in halves[-1].items())
    assert halves[1]["b_c"] < 0.3 * halves[0]["b_c"]
    assert halves[1]["b_v"] < 0.8 * halves[0]["b_v"]  # markers alone have friction's side as their derivatives show it
    left = [r["rms"]["test"]["f_x"]["value"] for r in (alone, both)]
    assert left[1] < 0.3 * left[0]


def test_a_drawer_that_is_open_at_first_opens_positively(tmp_path: Path) -> None:
    path, cut_s = write_capture(tmp_path), 10.0
    header, *rows = (tmp_path / "markers.csv").read_text().splitlines()
    kept = [row for row in rows if float(row.partition(",")[0]) > cut_s]
    (tmp_path / "markers.csv").write_text("\n".join([header, *kept]))
    text = path.read_text().replace("static: [0.5, 4.5], quasi_static: [5, 25]", "static: [59.1, 59.9]")
    path.write_text(text)
    prepared = prepare_experiment(palpate.read_experiment(path))
    assert not any(f.fatal for f in prepared.findings), prepared.findings
    q = prepared.inputs.q[:, 0]
    assert abs(q[-1]) < 0.002 < 0.15 < q[0]
    assert q.max() > 0.3


def test_a_knob_that_is_pulled_straight_at_the_sensor_is_no_wrong_unit(tmp_path: Path) -> None:
    result = run_experiment(read_experiment(write_capture(tmp_path, straight=True)))
    assert result.passed, result.findings
    assert any(f.cause == "units" and "beside the sensor" in f.evidence for f in result.findings)


def test_a_slide_that_is_never_slow_has_no_first_step(tmp_path: Path) -> None:
    path = write_table(tmp_path)
    spring = "procedure: two-step\nelements:\n  - {type: spring, name: spring, acts_on: slide, order: 1}\n"
    text = path.read_text().replace("quasi_static: [5, 25], train: [28, 46]", "quasi_static: [37, 46], train: [28, 36]")
    path.write_text(text + spring)
    with pytest.raises(PalpateError, match=r"procedure: two-step: only .* slower than 0.01 m/s. Move it more slowly"):
        run_experiment(read_experiment(path))


def test_the_page_shows_it_in_its_own_units(table: Path) -> None:
    page = (table / "report.html").read_text()
    assert "N s/m" in page
    assert "slide" in page


def test_a_pushed_drawer_moves_as_newton_says(table: Path) -> None:
    model = palpate.Model.load(table / "model.json")
    stepper = palpate.Stepper(model, dt=1e-3)
    out = np.empty(stepper.size)
    for _ in range(500):
        stepper.step((20.0, 0, 0, 0, 0, 0), out)
    m, b_v, b_c = (model.values[n] for n in ("m", "b_v", "b_c"))
    t, end = 0.5, (20.0 - b_c) / b_v
    assert out[1] == pytest.approx(end * (1 - np.exp(-b_v / m * t)), rel=2e-3)
    stepper.reset(np.zeros(2))
    for _ in range(100):
        stepper.step((0.9 * b_c, 0, 0, 0, 0, 0), out)
    assert out[0] == 0  # it sticks


@pytest.mark.parametrize("target", ["c", "fmu", "mjcf", "urdf", "ros2-control"])
def test_every_target_takes_it(target: str, table: Path, tmp_path: Path) -> None:
    if target in ("c", "fmu"):
        needs_program("cc")
    done = command("export", table / "model.json", "--to", target, "-o", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_new_writes_an_experiment_file_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = command("new", "drawer")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "drawer.yaml").read_text()
    assert "object: drawer" in text
    assert "mm" in text
