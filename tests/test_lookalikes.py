"""Elements that do the same in the motion at hand: which of them does what is not in the data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial.polynomial import polyval
from scipy.linalg import subspace_angles

from palpate.errors import PalpateError
from palpate.experiment import read_experiment, run_experiment
from palpate.experiment.file.reading import object_model
from palpate.identify import build_balance, compress, solve
from palpate.identify.diagnosis import lookalikes
from palpate.model import Model
from tests.command import palpate
from tests.oracles import gates_of_other_make as gates

TABLE = "- {type: table, name: hold, knots: [0 deg, 15 deg, 30 deg, 45 deg, 60 deg, 85 deg]}\n"
SPRING = "- {type: spring, name: hold, order: 5}\n"
WEIGHT = "- {type: gravity, name: weight}\n"
HANGING = "mechanism: {inclination: 90 deg}\nwithout: [spring]\nelements:\n"


def hanging(run: gates.Run) -> gates.Run:
    """A flap of 1.54 kg m that hangs, with a spring of no simple law."""
    return replace(run, torque=run.torque - run.gate.spring_0 - run.gate.spring_1 * run.q + held(run.q))


def held(q: np.ndarray) -> np.ndarray:
    return 1.54 * 9.80665 * np.sin(q) + 2.0 * (1 - np.cos(1.5 * q))


def test_weight_beside_a_table_or_a_spring_is_refused(tmp_path: Path) -> None:
    """mc_x came out as 1.86 (1.77 to 1.94), identified and passed."""
    path, _ = gates.write(tmp_path, 0, hanging, keys=HANGING + WEIGHT + TABLE)
    done = palpate("identify", path, "--out", tmp_path / "out")
    said = " ".join(done.stdout.split())
    assert done.returncode == 3
    assert "mc_x, mc_y, tau_0, tau_1, tau_2, tau_3, tau_4, tau_5 are not known: in this motion weight and hold" in said
    assert "leave one of them out (elements:, without:)" in said
    assert not (tmp_path / "out" / "model.json").exists()
    text = path.read_text().replace(TABLE, SPRING)
    path.write_text(text)
    refused = run_experiment(read_experiment(path)).data["parameters"]
    assert {n for n, e in refused.items() if e["status"] == "not-identifiable"} >= {"mc_x", "mc_y", "c_1", "c_5"}
    path.write_text(text.replace("without: [spring]", "without: [spring, weight]"))
    with pytest.raises(PalpateError, match=r"'weight'.*Take it out of elements:, which adds it to gate.yaml"):
        object_model(read_experiment(path))
    path.write_text(text.replace(WEIGHT, ""))  # what was advised
    result = run_experiment(read_experiment(path))
    assert result.passed, result.data["verdict"]
    spring = [-result.data["parameters"][f"c_{i}"]["value"] for i in range(6)]
    q = np.linspace(0.1, 1.4, 5)
    assert polyval(q, spring) == pytest.approx(held(q), abs=0.05)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_how_much_is_left_is_scipys_smallest_angle(order: int) -> None:
    model = Model.from_dict(
        {
            "name": "flap",
            "mechanism": {"type": "hinge", "inclination": np.pi / 2},
            "elements": [{"type": "gravity", "name": "weight"}, {"type": "spring", "name": "spring", "order": order}],
        }
    )
    t = np.arange(4000) / 100
    q = 0.7 + 0.7 * np.sin(1.3 * t)
    motion = model.mechanism.motion(t, np.stack([q, 0.91 * np.cos(1.3 * t)], axis=1), -1.183 * np.sin(1.3 * t)[:, None])
    wrench = np.zeros((len(t), 6))
    wrench[:, 5] = 9.0 * np.sin(q) + np.random.default_rng(0).normal(0, 0.1, len(t))
    solution = solve(compress(build_balance(model, motion, wrench, sigma=[0.1]), [(0.0, 39.9)]))
    (pair,) = lookalikes(solution)
    least = subspace_angles(
        np.stack([np.sin(q), np.cos(q)], axis=1), np.stack([q**i for i in range(order + 1)], axis=1)
    )
    assert pair.elements == ("weight", "spring")
    assert pair.left == pytest.approx(np.sin(least[-1]), rel=0.02)
    assert not list(lookalikes(solution, pair.parameters))
