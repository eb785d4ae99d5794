"""What docs/tour.md shows works as it stands there; a longer way than the README."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from ruamel.yaml import YAML

from palpate.experiment import Result, read_experiment
from palpate.experiment.file.schema import MotionPart
from palpate.experiment.run import fit_prepared, prepare_experiment
from palpate.identify import Solution
from palpate.recording import load
from palpate.twin import TWINS
from palpate.twin.handle import write_capture_twin
from tests.command import palpate
from tests.elsewhere import ELSEWHERE

PROJECT = Path(__file__).resolve().parents[1]
TOUR = (PROJECT / "docs" / "tour.md").read_text(encoding="utf-8")
COMMANDS = [" ".join(c.split()) for c in re.findall(r"^    (palpate [^#\n]*)", TOUR, flags=re.MULTILINE)]
OTHERS = [c for c in COMMANDS if re.match(r"palpate (new log|new tailgate|twin tailgate|explain)", c)]
AFTER = [c for c in COMMANDS if re.match(r"palpate (validate|compare|simulate|export)", c) and c not in ELSEWHERE]
"""What follows a door's identification."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TOUR, flags=re.DOTALL)


@pytest.fixture(scope="module")
def known(handle_folder: Path, handle_result: Result) -> Callable[..., Result]:
    """`run_experiment` of the tour's handle, which was run already: by `handle_result`, on the same files."""

    def run(experiment: Any, *_: object) -> Result:
        for name in ("handle.yaml", "imu.csv", "truth.json"):
            assert (experiment.source.parent / name).read_bytes() == (handle_folder / name).read_bytes(), name
        return handle_result

    return run


@pytest.fixture(scope="module")
def typed(known: Callable[..., Result], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where a reader typed the tour's commands, and what `identify` printed."""
    where = tmp_path_factory.mktemp("tour")
    shown = r"^    (palpate (?:twin handle|twin capture|inspect|identify mytwin)[^#\n]*)"
    commands = re.findall(shown, TOUR, flags=re.MULTILINE)
    assert len(commands) == 6
    printed = {}
    short = partial(write_capture_twin, clean=True, duration_s=15.0)  # no number of the capture is shown
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("palpate.twin.TWINS", {**TWINS, "capture": short})
        patch.setattr("palpate.experiment.run_experiment", known)
        for command in commands:
            done = palpate(*command.split()[1:], cwd=where)
            assert done.returncode == 0, (command, done.stderr)
            printed[command.split()[1]] = done.stdout
    return where, printed["identify"]


@pytest.fixture(scope="module")
def folder(typed: tuple[Path, str]) -> Path:
    return typed[0]


def test_the_commands_write_what_the_tour_says(folder: Path) -> None:
    assert (folder / "out" / "result.json").exists()
    assert (folder / "out" / "model.json").exists()
    assert "Plotly" in (folder / "mycapture.html").read_text(encoding="utf-8")


def test_the_shown_table_is_the_printed_one(typed: tuple[Path, str]) -> None:
    _, printed = typed
    shown = [line.strip() for line in TOUR.splitlines() if re.match(r"^    (m|c_z|Izz|bias_n_z) +-?\d", line)]
    assert len(shown) == 4
    for line in shown:
        assert re.sub(r"\s+", " ", line) in re.sub(r"[ \t]+", " ", printed), line


@pytest.fixture(scope="module")
def door(folder: Path) -> str:
    """The tour's door, simulated and identified; what was printed."""
    printed = ""
    for command in re.findall(r"^    (palpate (?:twin door mydoor|identify mydoor)[^#\n]*)", TOUR, re.MULTILINE):
        done = palpate(*command.split()[1:], cwd=folder)
        assert done.returncode == 0, (command, done.stderr)
        printed += done.stdout
    return printed


def test_the_shown_door_is_the_printed_one(door: str) -> None:
    shown = [line.strip() for line in TOUR.splitlines() if re.match(r"^    (I|b_bc|c_3|b_s\.above) +-?\d", line)]
    assert len(shown) == 4
    for line in shown:
        assert re.sub(r"\s+", " ", line) in re.sub(r"[ \t]+", " ", door), line


@pytest.fixture(scope="module")
def used(door: str, folder: Path) -> Path:
    """The folder after everything else that the tour does with its door; two other days are copies."""
    assert "Verdict: passed" in door
    for day in ("monday", "friday"):
        shutil.copytree(folder / "door", folder / "takes" / day, dirs_exist_ok=True)
    for command in AFTER:
        done = palpate(*command.split()[1:], cwd=folder)
        assert done.returncode == 0, (command, done.stderr)
    return folder


def test_the_door_goes_on_to_robots_and_other_programs(used: Path) -> None:
    for file in ("motion.csv", "door-c/door.c", "door-fmu/door.fmu"):
        assert (used / file).exists(), file


def test_the_first_model_page_goes_the_same_way(
    used: Path, door_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the tour has not done with its door is done with a shorter one."""
    shutil.copytree(door_folder, tmp_path / "mydoor")
    page = (PROJECT / "docs" / "first-model.md").read_text(encoding="utf-8")
    monkeypatch.chdir(used)
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE):
        if language == "python":
            exec(compile(block, "first-model.md", "exec"), {})
        for line in block.splitlines() if language == "sh" else ():
            if line in COMMANDS or line in ELSEWHERE:
                continue
            done = palpate(*line.split()[1:], cwd=tmp_path)
            assert done.returncode == 0, (line, done.stderr)


def test_any_other_object_begins_with_its_recordings_or_with_one_that_ships(tmp_path: Path) -> None:
    rows = "".join(f"{i / 100},{0.2 * math.sin(i / 60) ** 2:.5f},{3 * math.sin(i / 30):.4f}\n" for i in range(3000))
    (tmp_path / "log.csv").write_text("t [s],position [m],force [N]\n" + rows)
    for command in OTHERS:
        done = palpate(*command.split()[1:], cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)


def test_every_command_is_run_somewhere() -> None:
    run = [
        c
        for c in COMMANDS
        if re.match(r"palpate (twin handle|twin capture|inspect|identify my(twin|door)|twin door)", c)
    ]
    assert sorted([*run, *AFTER, *OTHERS, *(c for c in COMMANDS if c in ELSEWHERE)]) == sorted(COMMANDS)


def test_the_door_steps_in_python(door: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "report.html" in door
    monkeypatch.chdir(folder)
    code, _ = blocks("python")
    found: dict[str, object] = {}
    exec(compile(code, "tour.md", "exec"), found)
    assert found["status"] == 0


def test_the_python_block_runs(
    folder: Path,
    known: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("palpate.experiment.run_experiment", known)
    monkeypatch.chdir(folder)
    _, code = blocks("python")
    exec(compile(code, "tour.md", "exec"), {})
    assert "identified" in capsys.readouterr().out


def fitted(path: Path) -> Solution:
    """Without what comes after the fit."""
    experiment = read_experiment(path)
    return fit_prepared(experiment, prepare_experiment(experiment)).solution


def test_the_yaml_blocks_are_a_working_experiment_also_with_plain_tables(folder: Path) -> None:
    yaml = YAML(typ="safe")
    first, plain, motion = (yaml.load(block) for block in blocks("yaml"))
    assert MotionPart.model_validate(motion).stage == "motion"
    twin = folder / "mytwin"
    (twin / "first.yaml").write_text(blocks("yaml")[0])
    here = fitted(twin / "first.yaml")

    wrench, imu = load(twin / "wrench.mat"), load(twin / "imu.csv")
    forces = -wrench.stack([f"{k}{a}1_RawZero" for k in "FT" for a in "xyz"])
    table = {"t": 1e3 * wrench["Fx1_RawZero"].clock.times_s}
    for i, name in enumerate(("Fx", "Fy", "Fz", "Tx", "Ty", "Tz")):
        table[name] = forces[:, i] / (4.4482216152605 if i < 3 else 1.0)
    pl.DataFrame(table).write_csv(twin / "forces.csv")
    inertial = {"stamp": imu["acceleration.x"].clock.times_s}
    inertial |= {f"acc_{a}": imu[f"acceleration.{a}"].samples / 9.80665 for a in "xyz"}
    inertial |= {f"gyro_{a}": np.degrees(imu[f"angular_rate.{a}"].samples) for a in "xyz"}
    pl.DataFrame(inertial).write_parquet(twin / "imu.parquet")
    with (twin / "plain.yaml").open("w") as file:
        YAML().dump({**first, **plain}, file)
    assert np.allclose(here.p, fitted(twin / "plain.yaml").p, rtol=1e-6, atol=1e-8)
