"""Every shipped object has a twin that is identified: the truth is inside, the verdict passes."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from palpate.errors import FileProblem
from palpate.experiment import read_experiment, run_experiment
from palpate.model import shipped_objects
from palpate.physics.inertia import PHI_NAMES, mass_properties
from palpate.twin import TWINS
from palpate.twin.carried import bodies, random_model
from palpate.twin.carried import moved as carried
from palpate.twin.guided import guided_twin, makes, moved, write_guided_twin
from palpate.twin.person import Session, simulate
from studies.objects import OUTSIDE, outcome
from tests.command import palpate as command

SHORT = Session(still_s=2.5, sweep_s=9.0, steps=12.0, blocks=(("train", 13.0), ("test", 6.0)), tail_s=0.5)


@pytest.fixture(autouse=True)
def short_and_coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of 1 ms: an encoder at 250 Hz does not see the difference. What is carried is so for two thirds as long."""
    monkeypatch.setattr("palpate.twin.guided.simulate", partial(simulate, dt=1e-3))
    monkeypatch.setattr("palpate.twin.carried.LENGTH_S", 32.0)
    segments = {"static": (0.3, 2.7), "train": (6.0, 23.0), "test": (23.5, 30.5)}
    monkeypatch.setattr("palpate.twin.carried.SEGMENTS", segments)


@pytest.mark.parametrize("name", [*makes(), *bodies()])
def test_a_twin_is_identified(name: str) -> None:
    found = outcome(name, 4, SHORT, replayed=False)
    assert found.passed, found
    assert found.outside, found
    assert max(found.outside.values()) < OUTSIDE, found


def test_every_object_that_ships_has_a_twin_with_a_range_for_every_number() -> None:
    for name in makes():
        guided_twin(name, 0)
    for name in bodies():
        random_model(name, 0)
    assert set(TWINS) >= set(shipped_objects()) - {"hinge"}  # an interior door is one


def test_the_wrench_on_a_box_moves_somebody_elses_the_same_way() -> None:
    """Newton and Euler in the world, differenced from the poses: m (a - g) = f, d/dt (R J w) = moment about the com."""
    model = random_model("box", 3)
    run = carried(model, bodies()["box"], 3)
    phi, poses = np.array([model.values[n] for n in PHI_NAMES]), run.motion.poses
    assert poses is not None
    m, com, about = mass_properties(phi).mass, mass_properties(phi).com, mass_properties(phi).inertia_com
    t, R = run.times_s, poses.rotation
    place = poses.position + R @ com
    h = t[1] - t[0]
    bend = (place[2:] - 2 * place[1:-1] + place[:-2]) / h**2
    turn = Rotation.from_matrix(R)
    omega = (turn[:-1].inv() * turn[1:]).as_rotvec() / h  # in the body, between samples
    middle = turn[:-1] * Rotation.from_rotvec(omega * h / 2)
    spin = np.diff(middle.apply(omega @ about.T), axis=0) / h
    force, moment = turn.apply(run.wrench[:, :3]), turn.apply(run.wrench[:, 3:] - np.cross(com, run.wrench[:, :3]))
    used = slice(round(6 / h), round(29 / h))
    left = force[1:-1] - m * (bend + np.array([0, 0, 9.80665]))
    assert np.abs(left[used]).max() < 0.02 * np.ptp(force[used])
    assert np.abs((moment[1:-1] - spin)[used]).max() < 0.02 * np.ptp(moment[used])


def test_the_stored_effort_moves_somebody_elses_pendulum_the_same_way() -> None:
    """I a + mc_x g sin q + mc_y g cos q + b_v v + b_c sgn v = torque, by SciPy, over a stroke."""
    twin = guided_twin("pendulum", 3, SHORT)
    truth, _ = moved(twin)
    p, t = twin.model.values, truth.times_s
    first = int(np.argmax(t > 14.0))
    last = first + round(1.2 / (t[1] - t[0]))

    def slope(s: float, y: np.ndarray) -> list[float]:
        q, v = y.tolist()
        weight = 9.80665 * (p["mc_x"] * np.sin(q) + p["mc_y"] * np.cos(q))
        drag = p["b_v"] * v + p["b_c"] * np.tanh(v / 1e-4)
        return [v, (float(np.interp(s, t, truth.effort)) - weight - drag) / p["I"]]

    start = [float(truth.position[first]), float(truth.speed[first])]
    at = t[first:last:10]
    path = solve_ivp(slope, (at[0], at[-1]), start, t_eval=at, rtol=1e-8, atol=1e-10, method="LSODA").y[0]
    assert np.ptp(path) > 0.3
    assert np.abs(path - truth.position[first:last:10]).max() < 0.01


def test_an_angle_that_tells_the_vertical_is_taken_as_recorded(tmp_path: Path) -> None:
    """Friction holds a pendulum beside where it hangs: counted from there, mc_y was 40 half widths off and passed."""
    path = write_guided_twin(tmp_path, "pendulum", 1, SHORT)
    truth = json.loads((tmp_path / "truth.json").read_text())["parameters"]["mc_y"]["value"]
    low, high = run_experiment(read_experiment(path)).data["parameters"]["mc_y"]["ci95"]
    assert low - (high - low) / 4 < truth < high + (high - low) / 4
    path.write_text(path.read_text().replace("angle: q,", "zero: static, angle: q,"))
    low, high = run_experiment(read_experiment(path)).data["parameters"]["mc_y"]["ci95"]
    assert not low < truth < high


def test_from_the_command_line(tmp_path: Path) -> None:
    done = command("twin", "drawer", tmp_path / "d", "--seed", "4")
    assert done.returncode == 0, done.stderr
    assert "identify" in done.stdout
    done = command("identify", tmp_path / "d" / "drawer.yaml", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "truth" in done.stdout


def test_a_reference_that_holds_nothing_is_refused_before_anything_is_computed(tmp_path: Path) -> None:
    path = write_guided_twin(tmp_path, "drawer", 4, SHORT)
    (tmp_path / "truth.json").write_text('{"m": 6.4}')
    (tmp_path / "log.csv").write_text("nobody looks at it\n")
    with pytest.raises(FileProblem, match=r'holds no values such as \{"parameters"'):
        run_experiment(read_experiment(path))
