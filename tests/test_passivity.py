"""Passivity: no energy from nothing, how long a step may be, how a model bears a hand, and what people could feel."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from palpate.elements import Coulomb, Element, Foot, Gravity, Parameter, PolynomialSpring, ScalarInertia, Viscous
from palpate.errors import PalpateError
from palpate.mechanisms import Hinge
from palpate.model import Model, load_object
from palpate.physics.functions import Functions, Scalar
from palpate.physics.inertia import phi_from_mass_properties
from palpate.physics.motion import Kinematics
from palpate.rendering.hand import grip_of
from palpate.rendering.passivity import (
    FORCE,
    INERTIA,
    STIFFNESS,
    VISCOSITY,
    accurate_step,
    audit,
    couplings,
    felt,
    longest_step,
    passivity_of,
    random_states,
)
from palpate.runtime.stepper import feet_height
from palpate.twin.door import paper_door
from tests.command import palpate


@dataclass(frozen=True, slots=True)
class Motor(Element):
    """tau = -k sin(8 angle) |speed|: pushes on one way and brakes on the other, as no passive thing does."""

    name: str = "motor"
    acts_on: str = "hinge"
    type: ClassVar[str] = "motor"
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("k", "N m s/rad", "free"),)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        del z
        q = k.coordinates[self.acts_on]
        return (-fn.sin(8.0 * q.position) * fn.abs(q.speed),)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        return [[f[0]]]


@dataclass(frozen=True, slots=True)
class Feeding(Motor):
    """tau = -k speed: it pushes wherever it goes."""

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        del z, fn
        return (-k.coordinates[self.acts_on].speed,)


def spring(stiffness: float) -> Model:
    """A hinge on a linear spring, without any loss."""
    parts = (ScalarInertia("I"), PolynomialSpring("spring", "hinge", 1))
    return Model("spring", Hinge(), parts, {"I": 2.0, "c_0": 0.0, "c_1": -stiffness})


@pytest.mark.parametrize("model", [paper_door(), spring(30.0)], ids=["door", "spring"])
def test_a_model_of_ours_is_passive(model: Model) -> None:
    found = audit(model, count=800)
    assert found.passive
    assert found.held == 0
    assert found.regained_part < 0.01


def test_a_spring_alone_creates_as_little_as_its_formula_says() -> None:
    """Symplectic Euler: a step creates at most k (u dt)^2 / 2, so k dt^2 / I of the kinetic energy after it."""
    k, dt = 200.0, 2e-3
    found = audit(spring(k), dt=dt, count=800)
    assert 0.0 < found.created_part <= k * dt * dt / 2.0
    finer = audit(spring(k), dt=dt / 4, count=800)
    assert finer.created_part < found.created_part / 8


def test_energy_from_nothing_is_found() -> None:
    parts = (ScalarInertia("I"), Motor())
    found = audit(Model("motor", Hinge(), parts, {"I": 2.0, "k": 40.0}), count=800)
    assert not found.passive
    assert found.created_part > 1e-3
    feeding = Model("feeding", Hinge(), (ScalarInertia("I"), Feeding()), {"I": 2.0, "k": 4.0})
    assert math.isnan(longest_step(feeding))


@pytest.mark.parametrize("k", [0.01, 1e-5])
def test_even_a_little_energy_from_nothing_is_found(k: float) -> None:
    """Springs may lend as much as their formula says; what is fed in at any speed is seen beside that."""
    feeding = (ScalarInertia("I"), PolynomialSpring("spring", "hinge", 1), Feeding())
    values = {"I": 2.0, "c_0": 0.0, "c_1": -30.0, "k": k}
    found = audit(Model("feeding", Hinge(), feeding, values), count=400)
    assert not found.passive
    assert found.created_part < 1e-3
    assert found.unexplained_part > 1e-9
    still = audit(Model("still", Hinge(), feeding[:2], {n: values[n] for n in ("I", "c_0", "c_1")}), count=400)
    assert still.passive
    assert still.created_part > 1e-7
    assert still.unexplained_part < 1e-12


def test_feet_are_not_drawn_in_the_ground() -> None:
    """There they would hold energy that nobody put in, and throw the barrow."""
    phi = phi_from_mass_properties(40.0, [-0.1, 0.45, 0.0], np.diag([5.0, 4.0, 6.0]))
    feet = ((0.25, 0.75, 0.25), (0.25, 0.75, -0.25))
    parts = (*load_object("wheelbarrow-planar").elements, Foot("left", "foot_1"), Foot("right", "foot_2"))
    mechanism = replace(load_object("wheelbarrow-planar").mechanism, feet=feet)  # type: ignore[call-arg, type-var]
    model = Model("standing", mechanism, parts).with_values([*phi, 0.5, 1.2, *[1e5, 1e4] * 2])
    states = random_states(model, np.random.default_rng(0), 300)
    heights = np.array([feet_height(model, row) for row in states.tolist()])
    assert heights.min() >= -2e-3
    assert heights.max() > 0.2
    pitched = np.array([feet_height(model, [0.0] * 1 + [p] + [0.0] * 2) for p in (-0.6, 0.6)])
    assert pitched.min() < -0.1  # there is something to avoid
    assert audit(model, count=100).passive


def test_a_planar_wheelbarrow_is_passive() -> None:
    phi = phi_from_mass_properties(40.0, [-0.1, 0.45, 0.0], np.diag([5.0, 4.0, 6.0]))
    found = audit(load_object("wheelbarrow-planar").with_values([*phi, 0.5, 1.2]), count=200)
    assert found.passive


def test_a_stiffer_spring_needs_a_shorter_step_to_be_accurate_not_to_be_stable() -> None:
    assert longest_step(spring(20.0)) == longest_step(spring(20e3)) == 0.1  # stiff springs are stepped implicitly
    soft, stiff = accurate_step(spring(20.0)), accurate_step(spring(20e3))
    assert soft >= 2e-3
    assert math.isnan(stiff) or stiff < soft


def test_what_is_no_hinge_and_does_not_roll_is_refused() -> None:
    handle = load_object("handle")
    with pytest.raises(PalpateError, match="guided or rolls"):
        audit(handle.with_values([1.0, 0, 0, 0, 0.01, 0, 0, 0.01, 0, 0.01, *[0.0] * (len(handle.parameters) - 10)]))


def test_the_limits_of_an_ideal_robot_are_known() -> None:
    model = paper_door()
    ideal, fed, bare = couplings(model)
    grip = grip_of(model)
    behind = 2.0 + float(grip.handle_phi[9]) / float(grip.hand[0] ** 2 + grip.hand[1] ** 2)
    assert ideal.limits["smallest_inertia"] == pytest.approx(behind, rel=0.03)  # x'' = F / M with F = -m x'': m < M
    least = [c.limits["smallest_inertia"] for c in (fed, bare)]
    assert least[0] > least[1]  # feeding acceleration forward costs inertia
    for c in (ideal, fed, bare):
        assert replace(c.line, delay_s=c.limits["longest_delay_s"]).stable
        assert not replace(c.line, delay_s=c.limits["longest_delay_s"] + c.line.dt).stable
    lighter = couplings(model, delay_s=0.01)
    assert lighter[2].limits["stiffest_hand"] < bare.limits["stiffest_hand"]


def result_of(values: Mapping[str, tuple[float, str, tuple[float, float] | None]], **more: Any) -> dict[str, Any]:
    entries = {
        n: {"value": v, "unit": u, "ci95": ci, "noise": None, "status": "identified"}
        for n, (v, u, ci) in values.items()
    }
    rest = {"title": "door", "stage": "body", "rms": {}, "verdict": {}, "provenance": {}}
    return {"palpate_result": 2, **rest, "parameters": entries, **more}


def curve_only() -> dict[str, tuple[float, str, tuple[float, float] | None]]:
    units = {n: p.unit for n, p in paper_door().parameters.items()}
    return {n: (1.0, units[n], (0.9, 1.1)) for n in ("c_0", "c_1", "c_2", "c_3")}


def test_intervals_are_judged_by_what_people_notice() -> None:
    parts = (
        ScalarInertia("I"),
        Viscous("b_v"),
        Coulomb("b_c"),
        PolynomialSpring("spring", "hinge", 1),
        Gravity("weight"),
    )
    model = Model("thing", Hinge(), parts)
    names = list(model.parameters)
    values: dict[str, tuple[float, str, tuple[float, float] | None]] = {
        "I": (2.0, "kg m2", (1.82, 2.18)),
        "b_v": (1.0, "N m s/rad", (0.7, 1.1)),
        "b_c": (1.0, "N m", None),
    }
    values |= {n: (0.5, model.parameters[n].unit, (0.4, 0.6)) for n in names if n not in values}
    rms = {"test": {"n_z": {"value": 0.4, "unit": "N m", "percent_of_range": 9.0}}}
    found = {f.name: f for f in felt(model, result_of(values, rms=rms))}
    assert found["I"].verdict == "not felt"
    assert found["I"].part == pytest.approx(0.09)
    assert found["I"].threshold is INERTIA
    assert found["b_v"].verdict == "could be felt"
    assert found["b_v"].threshold is VISCOSITY
    assert found["b_c"].verdict == "unknown"
    assert found["b_c"].threshold is FORCE
    assert found["c_0"].verdict == "not judged alone"
    assert found["c_1"].threshold is STIFFNESS  # of a straight line; a curve's coefficients are not judged
    assert {f.verdict for f in felt(paper_door(), result_of(curve_only())) if f.name[:2] == "c_"} == {
        "not judged alone"
    }
    assert found["mc_x"].part == pytest.approx(0.1 / math.hypot(0.5, 0.5))
    assert found["n_z on data not seen"].verdict == "could be felt"


def test_the_whole_interval_counts_and_an_average_is_called_one() -> None:
    model = Model("thing", Hinge(), (ScalarInertia("I"),))
    rms = {"test": {"n_z": {"value": 0.4, "unit": "N m", "percent_of_range": 3.0}}}
    result = result_of({"I": (2.0, "kg m2", (1.4, 2.6))}, rms=rms)
    inertia, unseen = felt(model, result)
    assert inertia.part == pytest.approx(0.6 / 2.0)
    assert inertia.verdict == "could be felt"
    assert unseen.verdict == "not felt on average"
    assert "not of the force of the moment" in unseen.note


def test_a_result_of_another_model_is_refused() -> None:
    with pytest.raises(PalpateError, match="is not for model 'door'"):
        felt(paper_door(), result_of({"m": (1.0, "kg", (0.9, 1.1))}))
    with pytest.raises(PalpateError, match="holds no parameters"):
        felt(paper_door(), {})


def test_what_one_hand_cannot_hold_is_told_not_hidden() -> None:
    phi = phi_from_mass_properties(40.0, [-0.1, 0.45, 0.0], np.diag([5.0, 4.0, 6.0]))
    model = load_object("wheelbarrow").with_values([*phi, 0.5, 1.2, 0.5])
    with pytest.raises(PalpateError, match="cannot hold it"):
        couplings(model)


def test_the_command_audits_a_model(tmp_path: Path) -> None:
    model = paper_door()
    model.save(tmp_path / "door.json")
    units = {n: p.unit for n, p in model.parameters.items()}
    values = {n: (v, units[n], (0.99 * v, 1.01 * v)) for n, v in model.values.items()}
    (tmp_path / "result.json").write_text(json.dumps(result_of(values)))
    options = ("--audit", "--result", tmp_path / "result.json", "-o", tmp_path / "o")
    done = palpate("simulate", tmp_path / "door.json", *options)
    assert done.returncode == 0, done.stderr
    assert "Verdict: passive" in done.stdout
    assert "Pang, Tan and Durlach 1991" in done.stdout
    data = json.loads((tmp_path / "o" / "audit.json").read_text())
    assert data["passive"]
    assert len(data["coupling"]) == 3
    assert {f["verdict"] for f in data["felt"]} == {"not felt", "not judged alone"}
    bad = palpate(
        "simulate", tmp_path / "door.json", "--audit", "--result", tmp_path / "door.json", "-o", tmp_path / "o"
    )
    assert bad.returncode == 1
    assert "not a palpate result" in bad.stderr


def test_a_report_without_a_result_says_what_is_missing() -> None:
    found = passivity_of(spring(20.0))
    assert found.audit.passive
    assert "--result" in found.remarks[-1]
