"""Every shipped object along one coordinate has a twin that is identified: the truth is inside, the verdict passes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from palpate.experiment import read_experiment, run_experiment
from palpate.model import shipped_objects
from palpate.twin.guided import guided_twin, makes, moved, write_guided_twin
from palpate.twin.person import Session
from studies.objects import OUTSIDE, outcome
from tests.command import palpate as command

SHORT = Session(still_s=2.5, sweep_s=12.0, steps=12.0, blocks=(("train", 16.0), ("test", 7.0)), tail_s=0.5)


@pytest.mark.parametrize("name", makes())
def test_a_twin_is_identified(name: str) -> None:
    found = outcome(name, 4, SHORT, replayed=False)
    assert found.passed, found
    assert found.outside, found
    assert max(found.outside.values()) < OUTSIDE, found


def test_objects_of_twins_ship_and_have_a_range_for_every_number() -> None:
    for name in makes():
        assert name in shipped_objects()
        guided_twin(name, 0)


def test_the_stored_effort_moves_somebody_elses_pendulum_the_same_way() -> None:
    """I a + mc_x g sin q + mc_y g cos q + b_v v + b_c sgn v = torque, by SciPy, over a stroke."""
    twin = guided_twin("pendulum", 3, SHORT)
    truth, _ = moved(twin)
    p, t = twin.model.values, truth.times_s
    first = int(np.argmax(t > 17.0))
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
