"""A user's own parts, from a Python file that the experiment file names: as docs/own-part.md has it, and mistakes."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from palpate.errors import FileProblem, PalpateError, UnknownName
from palpate.experiment import read_experiment, run_experiment
from palpate.files import sha256
from palpate.model import Model
from palpate.parts import SHIPPED, load_parts
from tests.command import palpate
from tests.oracles import gates_of_other_make as gates

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "own-part.md").read_text(encoding="utf-8")
TEXTS = dict(
    reversed(re.findall(r"^```(python|yaml|sh)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
)  # the first of each


def with_brake(run: gates.Run) -> gates.Run:
    return replace(run, torque=run.torque + 3.0 * run.speed / (1 + (run.speed / 1.2) ** 2))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    gates.write(folder, 1, with_brake, keys=TEXTS["yaml"])
    (folder / "mine.py").write_text(TEXTS["python"])
    return folder


def test_the_example_is_short_and_the_whole_command_line_takes_it(folder: Path) -> None:
    assert len(TEXTS["python"].splitlines()) <= 40
    for line in TEXTS["sh"].splitlines():
        done = palpate(*line.split()[1:], cwd=folder)
        assert done.returncode == 0, (line, done.stderr)
    assert "b_e" in next((folder / "out-c").glob("*.c")).read_text()
    assert len((folder / "motion.csv").read_text().splitlines()) > 1000
    model = Model.load(folder / "out" / "model.json", load_parts(folder / "mine.py"))
    assert model.values["b_e"] == pytest.approx(3.0, rel=0.02)
    with pytest.raises(FileProblem, match="there is no element type 'eddy-brake'"):
        Model.load(folder / "out" / "model.json")
    done = palpate("export", "out", "--to", "c", "-o", "other", cwd=folder)
    assert done.returncode == 1
    assert "--parts" in done.stderr
    assert not (folder / "other").exists()


def test_validation_takes_them_from_the_experiment_file_and_the_result_names_the_code(folder: Path) -> None:
    done = palpate("validate", "out", "body.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    result = run_experiment(read_experiment(folder / "body.yaml"))
    assert any("mine.py" in w and "code" in w for w in result.data["warnings"])
    assert result.data["provenance"]["parts"] == {"file": "mine.py", "sha256": sha256(folder / "mine.py")}


def test_one_file_is_one_set_of_classes_until_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(TEXTS["python"])
    first = load_parts(path)
    assert load_parts(path) is first
    path.write_text(TEXTS["python"] + "\n# changed\n")
    assert load_parts(path) is not first
    assert "eddy-brake" in first.elements
    assert "eddy-brake" not in SHIPPED.elements


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("class EddyBrake(Element)", "class EddyBrake(Element"), ": this file of parts raises SyntaxError"),
        (("import Element, Shape", "import Elemnt, Shape"), "line 5: this file of parts raises ImportError"),
        (('"eddy-brake"', '"viscous"'), "there is a part 'viscous' already"),
        (("(Element)", ""), "there is no part in this file"),
        (("return (v / (1 + ratio * ratio),)", "return (v * abs(v),)"), "EddyBrake"),
        (("return (v / (1 + ratio * ratio),)", "return (v * v,)"), "EddyBrake"),
        (('"N m s/rad"  #', '"N m"  #'), "EddyBrake"),
        (('name: str = "b_e"', "name: str"), "Give every option a default"),
        (("# mine.py", "raise SystemExit(0)"), "raises SystemExit"),
        (("# mine.py", "import palpate, sys"), ""),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(change: tuple[str, str], problem: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    assert change[0] in TEXTS["python"]
    path.write_text(TEXTS["python"].replace(*change))
    if not problem:
        assert "eddy-brake" in load_parts(path).elements
        return
    with pytest.raises(FileProblem) as refused:
        load_parts(path)
    assert problem in str(refused.value)
    assert "mine.py" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_runs_is_what_was_read_and_two_of_one_type_are_refused(tmp_path: Path) -> None:
    """Byte code of an older file with the same size and time is not asked."""
    path = tmp_path / "mine.py"
    for value in ("1.0", "2.0"):
        path.write_text(TEXTS["python"].replace("v_c: float = 1.0", f"v_c: float = {value}"))
        os.utime(path, (1e9, 1e9))
        assert load_parts(path).elements["eddy-brake"]().v_c == float(value)
    path.write_text(TEXTS["python"] + TEXTS["python"].replace("class EddyBrake", "class Other"))
    with pytest.raises(FileProblem, match="two parts have the type 'eddy-brake'"):
        load_parts(path)


def test_a_missing_file_and_an_unknown_name_are_refused_with_their_key(tmp_path: Path) -> None:
    path, _ = gates.write(tmp_path, 1, keys="parts: mine.py\n")
    with pytest.raises(PalpateError, match=r"body.yaml, line \d+: parts: .*mine.py"):
        run_experiment(read_experiment(path))
    with pytest.raises(UnknownName, match=r"no file of parts \(.py\) or entry point"):
        load_parts("mine")


def test_an_installed_package_announces_its_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    point = EntryPoint("brakes", "mine", "palpate.parts")
    monkeypatch.setattr("palpate.parts.entry_points", lambda *, group: [point] if group == "palpate.parts" else [])
    parts = load_parts("brakes")
    element = parts.elements["eddy-brake"]()
    assert element.coefficient == "N m s/rad"
    assert np.isfinite(element.v_c)
