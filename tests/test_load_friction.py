"""Friction that grows with load: found where it is stated, named where it is not, stepped as SciPy integrates it."""

from __future__ import annotations

from dataclasses import replace
from math import hypot, tanh
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import BPoly

from palpate.elements import Coulomb, LoadedFriction, RigidBody, ScalarInertia, Viscous, check_element
from palpate.errors import PalpateError
from palpate.experiment import read_experiment, run_experiment
from palpate.mechanisms import FourBar, Free, Hinge, Slide
from palpate.model import Model
from palpate.runtime import Stepper, StepStatus
from palpate.runtime.native import compiled
from tests.command import palpate
from tests.conftest import needs_program
from tests.drawer_files import TRUTH, simulate, write_capture, write_table
from tests.oracles import gates_of_other_make as gates
from tests.oracles.tables import save_table

MU, WEIGHT = 0.06, TRUTH["m"] * 9.80665


def inside(result: Any, truth: dict[str, float]) -> None:
    for name, value in truth.items():
        low, high = result.data["parameters"][name]["ci95"]
        assert abs((low + high) / 2 - value) < 0.75 * (high - low), name


def loaded_hinge(run: gates.Run) -> gates.Run:
    """Bearings whose friction is 12 % of the torque that acts: t = smooth + 0.12 |t| sgn(v), solved for t."""
    return replace(run, torque=run.torque / (1 - 0.12 * np.sign(run.torque) * run.held))


def test_a_hinge_under_the_pull_of_the_hand(tmp_path: Path) -> None:
    keys = "elements: [{type: load-friction, name: mu, acts_on: hinge, lever: 0.8 m}]\n"
    path, truth = gates.write(tmp_path, 3, loaded_hinge, keys=keys)
    stated = run_experiment(read_experiment(path))
    assert stated.passed, stated.findings
    inside(stated, truth | {"mu": 0.12 * 0.8})
    assert stated.data["parameters"]["mu"]["unit"] == "m"
    path.write_text(path.read_text().replace(keys, ""))
    silent = run_experiment(read_experiment(path))
    assert not silent.passed
    assert silent.findings[0].cause == "friction-load"
    assert keys[11:-2] in silent.findings[0].remedy
    assert abs(silent.data["parameters"]["b_v"]["value"] / truth["b_v"] - 1) > 0.2  # and nobody believes it
    inside(silent, truth)


def never_braked(run: gates.Run) -> gates.Run:
    """A light gate, moved so gently that the hand pushes all the time, with bearings that do not mind it."""
    t = np.maximum(run.t - gates.STILL_S, 0)
    q, speed, bend = np.zeros(len(t)), np.zeros(len(t)), np.zeros(len(t))
    for size, w in ((0.4, 1.95), (0.25, 3.33)):
        q, speed = q + size * (1 - np.cos(w * t)), speed + size * w * np.sin(w * t)
        bend = bend + size * w * w * np.cos(w * t) * (t > 0)
    return replace(run, q=q, seen=q, torque=0.3 * bend + 2 * speed + 1.5 * np.sign(speed))


def test_a_hand_that_never_brakes_does_not_tell_what_follows_it(tmp_path: Path) -> None:
    keys = "elements: [{type: load-friction, name: mu, acts_on: hinge, lever: 0.8 m}]\n"
    path, _ = gates.write(tmp_path, 3, never_braked, keys=keys)
    (tmp_path / "gate.yaml").write_text(gates.OBJECT.rpartition("  - ")[0])
    result = run_experiment(read_experiment(path))
    assert not result.passed
    assert all(result.data["parameters"][name]["ci95"] is None for name in ("I", "b_v", "b_c", "mu"))
    (finding,) = (f for f in result.findings if f.cause == "unknown")
    assert "I, b_v, b_c, mu are not known: the hand hardly ever brakes" in finding.evidence
    assert "brake it too, or leave mu out" in finding.evidence


def test_a_table_without_the_force_across_is_not_sent_in_circles(tmp_path: Path) -> None:
    path, (t, x, f) = write_table(tmp_path), simulate()
    rows = np.loadtxt(tmp_path / "log.csv", delimiter=",", skiprows=1)
    rows[:, 2] /= 1 - 0.15 * (np.sign(f) * np.tanh(np.gradient(x, t) / 1e-3))[::10]
    np.savetxt(tmp_path / "log.csv", rows, delimiter=",", header="t,x,F", comments="", fmt="%.8g")
    result = run_experiment(read_experiment(path))
    assert not result.passed
    (finding,) = (f for f in result.findings if f.cause == "friction-load")
    assert finding.remedy.startswith("record the force across the motion too")
    path.write_text(f"{path.read_text()}elements: [{{type: load-friction, name: mu, acts_on: slide, lever: 0.8 m}}]\n")
    with pytest.raises(PalpateError, match="lever is for an axis, and 'slide' is a length"):
        run_experiment(read_experiment(path))


def test_a_drawer_whose_rails_bear_its_weight_and_the_hand(tmp_path: Path) -> None:
    path = write_capture(tmp_path, mu=MU)
    silent = run_experiment(read_experiment(path))
    (finding,) = (f for f in silent.findings if f.cause == "friction-load")
    inside(silent, TRUTH | {"b_c": TRUTH["b_c"] + MU * WEIGHT})
    element = finding.remedy.removeprefix("add ").removesuffix(" to elements")
    assert "mass: 6.39 kg" in element
    path.write_text(f"{path.read_text()}elements: [{element}]\n")
    stated = run_experiment(read_experiment(path))
    assert stated.passed, stated.findings
    inside(stated, TRUTH | {"mu": MU})
    assert not any(f.cause == "friction-load" for f in stated.findings)


def drawer() -> Model:
    elements = (ScalarInertia("m", "slide"), Viscous("b_v", "slide"), Coulomb("b_c", "slide"))
    return Model("drawer", Slide(), (*elements, LoadedFriction("mu", "slide", mass=TRUTH["m"]))).with_values(
        [*TRUTH.values(), 0.3], model_of="body"
    )


def pushes(t: np.ndarray) -> np.ndarray:
    zero = 0 * t
    return np.stack([50 * np.sin(3 * t), 20 * np.sin(5 * t), -30 * np.cos(2 * t), zero, zero, zero], axis=1)


def test_a_step_is_what_scipy_integrates_and_what_c_takes() -> None:
    t = np.arange(4000) * 1e-3
    stepper, w = Stepper(drawer(), 1e-3), pushes(t)
    out = np.empty((len(t), stepper.size))
    stepper.run(w, out)

    def slope(s: float, y: np.ndarray) -> list[float]:
        f, aside, up = pushes(np.array([s]))[0, :3].tolist()
        dry = TRUTH["b_c"] + 0.3 * hypot(aside, up - WEIGHT)
        return [y[1], (f - TRUTH["b_v"] * y[1] - dry * tanh(y[1] / 1e-4)) / TRUTH["m"]]

    exact = solve_ivp(slope, (0, 4), [0, 0], method="LSODA", t_eval=t + 1e-3 - 1e-9, rtol=1e-8, atol=1e-10).y
    assert np.abs(out[:, 0] - exact[0]).max() < 2e-3 * np.ptp(exact[0])
    needs_program("cc")
    run = compiled(stepper.terms, 10**9)
    assert run is not None
    again = run(np.zeros(2), w)
    assert again is not None
    assert np.abs(again - out[:, :2]).max() < 1e-12


def test_a_hand_that_presses_holds_and_one_that_lifts_lets_go() -> None:
    stepper, out = Stepper(drawer(), 1e-3), np.empty(3)
    assert stepper.step((20, 0, 0, 0, 0, 0), out) is StepStatus.STICKING  # 3.2 + 0.3 x 63 N hold it
    assert stepper.step((20, 0, 40, 0, 0, 0), out) is StepStatus.OK
    assert out[1] > 0


def test_where_a_format_cannot_say_it_the_export_does(tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    drawer().save(model)
    for target in ("mjcf", "urdf", "ros2-control"):
        done = palpate("export", model, "--to", target, "-o", tmp_path / target, "--even-if-failed")
        assert done.returncode == 0, done.stderr
        said = " ".join((done.stdout + done.stderr).split())
        assert "mu (load-friction): it follows what the hand presses on the slide; here it is as if nobody did" in said


@pytest.mark.parametrize("unit", ["rad", "m"])
def test_its_units_follow_the_coordinate(unit: str) -> None:
    for element in (LoadedFriction(), LoadedFriction(mass=2.0)):
        assert "dissipation" in check_element(element, coordinate_unit=unit)
    assert check_element(LoadedFriction(lever=0.7))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(PalpateError, match="mass must not be negative, it is -1"):
        LoadedFriction(mass=-1.0)
    with pytest.raises(PalpateError, match=r"the mechanism 'hinge' does not say what presses on 'closer'.* of hinge"):
        Model("door", Hinge(linkage=FourBar()), (LoadedFriction(acts_on="closer"),))

    class Sticky(LoadedFriction):
        dry = False

    with pytest.raises(PalpateError, match="it uses the load, so it must be dry"):
        check_element(Sticky())
    assert not Model("tool", Free(), (RigidBody("phi"),)).uses_load


@pytest.mark.parametrize("mu", [0.0, 0.057])
def test_friction_that_grows_with_the_pull_of_a_gentle_hand_is_in_the_intervals(tmp_path: Path, mu: float) -> None:
    """A hand that hardly ever brakes feels 1 / (1 - mu) times everything: a mass 18 half widths off passed."""
    rng, knots, targets = np.random.default_rng(0), [0.0, 1.5], [0.0, 0.0]
    while knots[-1] < 62:
        at = rng.uniform(0, 0.42)
        moving = max(1.2, abs(at - targets[-1]) / 0.12) * rng.uniform(0.8, 1.3)
        knots, targets = [*knots, knots[-1] + moving, knots[-1] + moving + 0.3], [*targets, at, at]
    path, t = BPoly.from_derivatives(knots, [[x, 0.0, 0.0, 0.0] for x in targets]), np.arange(0, 60, 1 / 200)
    q, speed, acceleration = (path.derivative(i)(t) if i else path(t) for i in range(3))
    side = np.sign(np.where(np.abs(speed) > 1e-9, speed, 0.0))
    needed = 6.2 * acceleration + 9.0 * speed + 3.1 * side
    force = np.where(side == 0, 0.0, needed / (1 - mu * np.sign(needed * side)))
    seen = q + rng.normal(0, 5e-5, len(t)), force + rng.normal(0, 0.2, len(t))
    save_table(tmp_path / "log.csv", ["t", "q", "f"], np.column_stack([t, *seen]), "%.8g")
    columns = "{q: {column: q, unit: m}, f: {column: f, unit: N}}, position: q, force: f"
    (tmp_path / "body.yaml").write_text(
        "object: drawer\nstage: body\nstops: [-10 mm, 450 mm]\nsegments: {train: [[1.6, 39]], test: [[39.5, 59.5]]}\n"
        f"recordings: {{signals: {{file: log.csv, time: {{column: t, unit: s}}, columns: {columns}}}}}\n"
    )
    data = run_experiment(read_experiment(tmp_path / "body.yaml")).data
    low, high = data["parameters"]["m"]["ci95"]
    assert low < 6.2 < high
    assert (high - low < 0.1) == (mu == 0)
    assert any("dry friction may grow" in x for x in data["warnings"]) == (mu > 0)
