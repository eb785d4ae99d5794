"""Several linkages on one mechanism, one behind another: by differences, in files, exports and a gate."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palpate.elements import Coulomb, GasStrut, PolynomialSpring, ScalarInertia, Viscous
from palpate.errors import PalpateError
from palpate.experiment import read_experiment, run_experiment
from palpate.experiment.file.reading import object_model
from palpate.experiment.file.starting import starting_experiment
from palpate.export import export_model
from palpate.mechanisms import FourBar, Hinge, RatioTable, Slide, TwoPoints
from palpate.model import Model
from palpate.physics.functions import ARRAYS
from palpate.runtime import Stepper
from palpate.runtime.native import compiled
from tests.command import palpate
from tests.conftest import needs, needs_program
from tests.oracles import gates_of_other_make as gates

CLOSER = FourBar(range=(0.0, 1.65))
STRUT = TwoPoints(body=(0.5, 0.03), ground=(-0.02, 0.45), range=(-0.1, 1.6))
RATIOS = (0.012, 0.013, 0.011, 0.012, 0.012)
RACK = RatioTable((0.0, 1.0, 2.0, 3.0, 4.5), RATIOS, drives="m", coordinate="rack", after="closer")
DOOR = Hinge(linkage=(CLOSER, STRUT, RACK))
MODEL = Model(
    "both",
    DOOR,
    (
        ScalarInertia(),
        Viscous("b_v"),
        Viscous("b_rack", acts_on="rack"),
        Coulomb("b_strut", acts_on="strut"),
        PolynomialSpring("spring", acts_on="closer", order=1),
        GasStrut("gas", acts_on="strut"),
    ),
).with_values([3.0, 0.5, 9000.0, 8.0, -2.0, -1.5, 60.0, 90.0], model_of="body")


def test_all_coordinates_move_as_differences_say() -> None:
    """Along a path in time, of which only positions are asked."""
    t, h = np.linspace(0.0, 3.0, 61), 1e-4
    angle = lambda t: 0.75 + 0.6 * np.sin(1.7 * t)  # noqa: E731
    at = [DOOR.expand((angle(t + i * h), 0.0), (0.0,), ARRAYS).coordinates for i in (-1, 0, 1)]
    speed, acceleration = 0.6 * 1.7 * np.cos(1.7 * t), -0.6 * 1.7**2 * np.sin(1.7 * t)
    moving = DOOR.expand((angle(t), speed), (acceleration,), ARRAYS).coordinates
    assert list(moving) == ["hinge", "closer", "strut", "rack"]
    knots = np.abs(np.asarray(moving["closer"].position)[:, None] - np.array(RACK.at)).min(axis=1) > 1e-3
    for name, c in moving.items():
        before, here, after = (np.asarray(x[name].position)[knots] for x in at)
        assert np.asarray(c.speed)[knots] == pytest.approx((after - before) / (2 * h), abs=1e-6)
        assert np.asarray(c.acceleration)[knots] == pytest.approx((after - 2 * here + before) / h**2, abs=1e-5)
        ratio = np.broadcast_to(c.ratio[0], t.shape)
        assert (ratio * speed)[knots] == pytest.approx(np.asarray(c.speed)[knots], abs=1e-12)


def test_a_chain_reaches_as_far_as_its_last_part() -> None:
    short = replace(RACK, at=(2.0, 3.0, 4.0), ratio=(0.012,) * 3)
    hinge = Hinge(linkage=(replace(CLOSER, range=(0.1, 0.6)), short))
    low, high = hinge.reach
    ends = [float(CLOSER.transmit(x, ARRAYS)[0]) for x in (low, high)]
    assert min(abs(e - r) for e in ends for r in short.reach) < 1e-6
    assert low < 0.1 < 0.6 < high < CLOSER.reach[1]
    with pytest.raises(PalpateError, match="out of the linkage's reach"):
        hinge.check_reach(np.array([0.3, high + 0.05]))


def test_it_is_saved_and_read(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "model.json")
    assert Model.load(tmp_path / "model.json") == MODEL
    assert [x["coordinate"] for x in json.loads((tmp_path / "model.json").read_text())["mechanism"]["linkage"]] == [
        "closer",
        "strut",
        "rack",
    ]
    assert Hinge(linkage=(CLOSER,)) == Hinge(linkage=CLOSER)
    longer = {name: 1.01 * size for name, (size, _) in DOOR.sizes.items()}
    assert {name: size for name, (size, _) in DOOR.with_sizes(longer).sizes.items()} == pytest.approx(longer)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (
            lambda: Hinge(linkage=(CLOSER, replace(STRUT, coordinate="closer"))),
            "there is a coordinate 'closer' already",
        ),
        (lambda: Hinge(linkage=(replace(STRUT, coordinate="hinge"),)), "there is a coordinate 'hinge' already"),
        (lambda: Hinge(linkage=(RACK, CLOSER)), "there is no coordinate before it 'closer'"),
        (lambda: Hinge(linkage=(STRUT, replace(CLOSER, after="strut"))), "driven by an angle, and 'strut' is a length"),
        (lambda: Slide(linkage=(TwoPoints(by="slide"), CLOSER)), "the position of a slide is a length"),
        (lambda: Hinge(linkage=(CLOSER, replace(STRUT, range=(2.0, 3.0)))), "their ranges do not meet"),
        (
            lambda: Hinge(linkage=(CLOSER, replace(RACK, at=(0.2, 1.0), ratio=(0.01, 0.01)))),
            r"0.0 deg to 94.5 deg, the range of all: .*closer at .* is out of the linkage's reach",
        ),
    ],
)
def test_linkages_that_do_not_go_together_are_refused(make: Any, problem: str) -> None:
    with pytest.raises(PalpateError, match=problem):
        make()


def test_steps_in_c_are_those_in_python() -> None:
    needs_program("cc")
    stepper = Stepper(MODEL, dt=1e-3)
    t = np.arange(3000) * 1e-3
    wrenches = np.zeros((len(t), 6))
    wrenches[:, 5] = 8 * np.sin(2.0 * t) + 4
    start, ours = stepper.state, np.empty((len(t), stepper.size))
    stepper.run(wrenches, ours)
    run = compiled(stepper.terms, 10**9)
    assert run is not None
    assert np.array_equal(run(start, wrenches), ours[:, :2])
    assert np.ptp(ours[:, 0]) > 0.3


def test_mujoco_holds_it_with_the_same_torque(tmp_path: Path) -> None:
    mujoco = needs("mujoco", "mujoco")
    done = export_model(MODEL, "mjcf", tmp_path, even_if_failed=True)
    model = mujoco.MjModel.from_xml_path(str(done.files[0]))
    data = mujoco.MjData(model)
    for angle in (0.3, 0.8, 1.3):
        data.qpos[0], data.qvel[0] = angle, 0.0
        mujoco.mj_forward(model, data)
        assert -data.qfrc_passive[0] == pytest.approx(float(MODEL.along(angle)), abs=0.06)  # as it says, of 52 N m
    assert all(any(name in lost for lost in done.left_out) for name in ("b_rack", "b_strut", "spring, gas"))


@pytest.mark.parametrize("to", ["c", "fmu", "urdf"])
def test_every_export_takes_it(to: str, tmp_path: Path) -> None:
    done = export_model(MODEL, to, tmp_path, even_if_failed=True)
    assert list(tmp_path.iterdir())
    if to == "urdf":
        assert any(lost.startswith("spring, gas: URDF has no springs") for lost in done.left_out)


# --- a gate of other make, with a gas strut and a check strap ------------------------------------------------------


def _distance(q: np.ndarray, body: complex, ground: complex) -> tuple[np.ndarray, np.ndarray]:
    """Of two points, one of which turns, and its slope; complex numbers, nothing of palpate."""
    away = body * np.exp(1j * q) - ground
    return np.abs(away), np.real(np.conj(away) * 1j * body * np.exp(1j * q)) / np.abs(away)


def struts(run: gates.Run) -> gates.Run:
    """A gas strut with friction, and a check strap that drags, instead of the spring."""
    length, by = _distance(run.q, 0.5 + 0.03j, -0.02 + 0.45j)
    _, strap = _distance(run.q, 0.12 - 0.05j, 0.03 + 0.2j)
    spring = run.gate.spring_0 + run.gate.spring_1 * run.q
    force = -(60.0 + 90.0 * (0.5 - length)) * by + 250.0 * strap**2 * run.speed
    return replace(run, torque=run.torque - spring + force)


STRUTS = """\
stops: [0 deg, 90 deg]
mechanism:
  linkage:
    - {type: two-points, coordinate: strut, body: [50 cm, 3 cm], ground: [-2 cm, 45 cm]}
    - {type: two-points, coordinate: strap, body: [12 cm, -5 cm], ground: [3 cm, 20 cm]}
elements:
  - {type: gas-strut, name: gas, acts_on: strut, extended: 500 mm}
  - {type: viscous, name: b_strap, acts_on: strap}
without: [spring]
"""


def test_strut_and_strap_of_a_gate_are_identified(tmp_path: Path) -> None:
    path, truth = gates.write(tmp_path, 3, struts, keys=STRUTS)
    result = run_experiment(read_experiment(path))
    entries = result.data["parameters"]
    wanted = {k: v for k, v in truth.items() if not k.startswith("c_")}
    wanted |= {"gas_force": 60.0, "gas_rate": 90.0, "b_strap": 250.0}
    assert result.passed, result.data["verdict"]
    for name, value in wanted.items():
        low, high = entries[name]["ci95"]
        assert abs(entries[name]["value"] - value) < 1.5 * (high - low) / 2, name
        assert entries[name]["status"] == "identified"


OBJECT = """\
name: gate
mechanism:
  type: hinge
  linkage:
    - {type: two-points, coordinate: strut, body: [0.5, 0.03], ground: [-0.02, 0.45]}
    - {type: ratio-table, coordinate: valve, after: strut, at: [0.2, 0.8], ratio: [1, 1], drives: m}
elements:
  - {type: inertia, name: I}
  - {type: viscous, name: b_v, acts_on: valve}
"""


def test_an_experiment_names_the_linkage_that_differs_by_its_coordinate(tmp_path: Path) -> None:
    keys = "mechanism: {linkage: [{coordinate: strut, body: [52 cm, 3 cm]}, {coordinate: valve, at: [10 cm, 80 cm]}]}\n"
    path, _ = gates.write(tmp_path, 1, keys=keys)
    (tmp_path / "gate.yaml").write_text(OBJECT)
    strut, valve = object_model(read_experiment(path)).mechanism.linkages
    assert strut == TwoPoints(body=(0.52, 0.03), ground=(-0.02, 0.45))
    assert valve == RatioTable((0.1, 0.8), (1.0, 1.0), drives="m", coordinate="valve", after="strut")
    done = palpate("explain", path)
    assert "strut is driven by hinge, through a two-points." in done.stdout
    assert "valve is driven by strut, through a ratio-table." in done.stdout


def test_positions_need_the_unit_of_what_drives_them(tmp_path: Path) -> None:
    strut = "{type: two-points, coordinate: rod, body: [0.5, 0.03], ground: [-0.02, 0.45]}"
    table = "{type: ratio-table, coordinate: valve, after: rod, at: [0.1, 0.9], ratio: [1, 1]}"
    path, _ = gates.write(tmp_path, 1, keys=f"mechanism: {{linkage: [{strut}, {table}]}}\n")
    assert object_model(read_experiment(path)).mechanism.linkages[1].range == (0.1, 0.9)  # m need no unit
    path, _ = gates.write(tmp_path, 1, keys=f"mechanism: {{linkage: [{strut}, {table.replace('after: rod, ', '')}]}}\n")
    with pytest.raises(PalpateError, match="has no unit"):
        object_model(read_experiment(path))


def test_a_new_experiment_asks_for_all_lengths(tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text(OBJECT)
    assert "after: strut" in starting_experiment(str(tmp_path / "gate.yaml"))
