"""The mechanism of docs/own-part.md, which declares no joints: identified, simulated and exported as there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from palpate.errors import PalpateError
from palpate.experiment import read_experiment, run_experiment
from palpate.experiment.run import prepare_experiment
from palpate.model import Model
from palpate.parts import load_parts
from tests.command import palpate
from tests.generated import generate
from tests.oracles import gates_of_other_make as gates
from tests.oracles.tables import save_table

PAGE = (
    (Path(__file__).resolve().parents[1] / "docs" / "own-part.md")
    .read_text(encoding="utf-8")
    .split("## A mechanism of your own")[1]
)
TEXTS = {
    kind: re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE) for kind in ("python", "yaml", "sh")
}
OBJECT, TABLE, POSES = TEXTS["yaml"]
BY_POSES = re.sub(r"recordings:\n.*\n", POSES, TABLE)
LENGTH, MASS, DAMPING, G = 0.35, 8.0, 0.7, 9.80665
TRUTH = {"m": MASS, "b_v": DAMPING}


def write(folder: Path, off: float = 0.0) -> None:
    """A load on parallel arms is a point on a circle: m L^2 a + b v + m g L cos q, moved as a hand moves a gate."""
    rng = np.random.default_rng(5)
    t, q, v, a = (x[::5] for x in gates.hand(rng))
    tau = MASS * LENGTH**2 * a + DAMPING * v + MASS * G * LENGTH * np.cos(q)
    n, c, s = len(t), np.cos(q), np.sin(q)
    table = np.stack([t, q + rng.normal(0, 1e-4, n), tau + rng.normal(0, 0.03, n)], axis=1)
    save_table(folder / "log.csv", ["t [s]", "q [rad]", "tau [N m]"], table, "%.9g")
    # a force that drives it, one that only strains the arms, and components that do nothing
    drives, strains, zero = tau / LENGTH, 4.0 * np.sin(0.8 * t), np.zeros(n)
    places = np.stack([LENGTH * c + off, zero, LENGTH * s], axis=1) + rng.normal(0, 5e-5, (n, 3))
    turns = Rotation.from_rotvec(rng.normal(0, 1e-4, (n, 3))).as_quat()
    force = np.stack([c * strains - s * drives, np.sin(t), s * strains + c * drives], axis=1)
    moment = np.stack([0.3 * np.sin(t), 0.2 * np.cos(t), zero], axis=1)
    force, moment = force + rng.normal(0, 0.05, (n, 3)), moment + rng.normal(0, 2e-3, (n, 3))
    names = [*(f"{x} [m]" for x in "xyz"), *(f"q{x}" for x in "xyzw")]
    names = ["t [s]", *names, *(f"f{x} [N]" for x in "xyz"), *(f"n{x} [N m]" for x in "xyz")]
    save_table(folder / "robot.csv", names, np.hstack([t[:, None], places, turns, force, moment]), "%.9g")
    for name, text in {"lift.py": TEXTS["python"][0], "lift.yaml": OBJECT}.items():
        (folder / name).write_text(text)
    (folder / "lift-test.yaml").write_text(TABLE)
    (folder / "robot.yaml").write_text(BY_POSES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lift")
    write(folder)
    for line in TEXTS["sh"][0].splitlines():
        done = palpate(*line.split()[1:], cwd=folder)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
    return folder


def inside(parameters: dict[str, dict[str, list[float]]]) -> None:
    for name, value in TRUTH.items():
        low, high = parameters[name]["ci95"]
        assert low <= value <= high, (name, low, value, high)
        assert high - low < 0.05 * value, name
    assert parameters["c_x"]["ci95"] is None


def falling(force: float, seconds: float) -> np.ndarray:
    """Angle and speed of the true load that a constant upward force holds too weakly, from rest at zero."""
    I = MASS * LENGTH**2

    def f(_: float, y: np.ndarray) -> list[float]:
        return [y[1], (LENGTH * np.cos(y[0]) * (force - MASS * G) - DAMPING * y[1]) / I]

    return solve_ivp(f, (0, seconds), [0.0, 0.0], rtol=1e-9, atol=1e-9).y[:, -1]


def test_a_table_of_its_coordinate_tells_its_numbers_and_the_model_moves_as_it_does(folder: Path) -> None:
    result = json.loads((folder / "out" / "result.json").read_text())
    assert result["verdict"]["passed"], result["verdict"]
    inside(result["parameters"])
    last = (folder / "motion.csv").read_text().splitlines()[-1].split(",")
    assert [float(x) for x in last[7:9]] == pytest.approx(falling(5.0, 1.0), abs=0.03)


def test_c_moves_as_it_does(folder: Path, tmp_path: Path) -> None:
    model = Model.load(folder / "out" / "model.json", load_parts(folder / "lift.py"))
    made = generate(model, tmp_path)
    assert made.source.source.replace("model.h", "lift.h") == (folder / "out-c" / "lift.c").read_text()
    moved, _ = made.run(np.tile([0.0, 0.0, 5.0, 0.0, 0.0, 0.0], (1000, 1)))
    assert moved[-1, :2] == pytest.approx(falling(5.0, 1.0), abs=0.03)


def test_poses_and_a_load_cell_tell_them_too(folder: Path) -> None:
    result = run_experiment(read_experiment(folder / "robot.yaml"))
    assert result.passed, result.findings
    inside(result.data["parameters"])


def test_a_mechanism_that_stands_elsewhere_than_it_says_does_not_pass(tmp_path: Path) -> None:
    write(tmp_path, off=0.03)
    findings = prepare_experiment(read_experiment(tmp_path / "robot.yaml")).findings
    assert any(f.cause == "frame" and f.fatal and "check its sizes" in f.sentence for f in findings)


def test_what_needs_joints_asks_for_them(folder: Path) -> None:
    for line in (
        "export out --to urdf --parts lift.py -o urdf",
        "simulate out/model.json --parts lift.py --robot -o loop",
    ):
        done = palpate(*line.split(), cwd=folder)
        assert done.returncode == 1
        assert "give it `joints`" in done.stderr


def test_poses_need_its_way_back_to_coordinates(folder: Path) -> None:
    text = re.sub(r"    def coordinates_of.*\n.*\n\n", "", TEXTS["python"][0])
    (folder / "blind.py").write_text(text)
    (folder / "blind.yaml").write_text(BY_POSES.replace("lift.py", "blind.py"))
    with pytest.raises(PalpateError, match=r"give it coordinates_of\(self, poses\)"):
        run_experiment(read_experiment(folder / "blind.yaml"))


def test_a_file_to_start_from_names_the_parts(folder: Path) -> None:
    (folder / "sub").mkdir()
    done = palpate("new", "lift.yaml", "--parts", "lift.py", "-o", "sub/start.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    text = (folder / "sub" / "start.yaml").read_text()
    assert 'object: "../lift.yaml"\nparts: "../lift.py"' in text
    assert "length: 0.35 m" in text
    assert "  frame: " in text
