"""Optional parts of a rolling object, each from its experiment file: bearing, spinning wheel, rolling resistance, and
the published procedure.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palpate.elements import Coulomb, WheelSpin
from palpate.errors import ExperimentProblem, PalpateError
from palpate.experiment.file.reading import object_model, read_experiment
from palpate.experiment.gates.numbers import refuse
from palpate.experiment.run import fit_prepared, prepare_experiment
from palpate.experiment.stage.fit import Fit, solve_with
from palpate.experiment.stage.ground import load_on_wheel, resistance
from palpate.experiment.stage.inputs import Inputs, compressed, whole_balance, zeros_of
from palpate.experiment.stage.placing import with_wheel
from palpate.experiment.stage.prepare import Prepared
from palpate.experiment.stage.variations import with_estimated
from palpate.identify import Solution
from palpate.identify.solution import Status
from palpate.mechanisms import Rolling
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS
from palpate.physics.inertia import is_consistent
from tests.rolling_session import TOGETHER, changed, write_session

INERTIA = 0.08
OPTIONS = """
elements:
  - {type: wheel-spin, name: I_w}
  - {type: viscous, name: b_b, acts_on: bearing}
"""
PUBLISHED = """
filtering: {type: published, window: 0.11 s, order: 4}
rows: moments
mechanism: {wheel_speed: published}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("options")
    write_session(made, wheel_inertia=INERTIA)
    return made


@pytest.fixture(scope="module")
def truth(folder: Path) -> dict[str, float]:
    found = write_session(folder, wheel_inertia=INERTIA)
    return {n: float(v["value"]) for n, v in found["parameters"].items()}


def _with(folder: Path, more: str) -> Any:
    return read_experiment(changed(folder, ("clocks: auto\n", f"{TOGETHER}{more}")))


@pytest.fixture(scope="module")
def prepared(folder: Path) -> Prepared:
    return prepare_experiment(_with(folder, OPTIONS))


@pytest.fixture(scope="module")
def fit(folder: Path, prepared: Prepared) -> Fit:
    found = with_estimated(fit_prepared(_with(folder, OPTIONS), prepared))
    return replace(found, solution=refuse(found, rate_known=True)[0])


def _without(fit: Fit, *names: str) -> Fit:
    """The same fit without some elements."""
    elements = tuple(e for e in fit.inputs.model.elements if e.name not in names)
    return _again(fit, fit.inputs.with_model(replace(fit.inputs.model, elements=elements, values={})))


def _again(fit: Fit, inputs: Inputs) -> Fit:
    """The same fit with other elements."""
    train, solution = fit.again(inputs)
    whole = whole_balance(inputs, fit.moved)
    rows = whole.rows((float(inputs.times_s[0]), float(inputs.times_s[-1]) + 0.5 / inputs.rate_hz))
    seen = replace(fit.prediction, rows=rows, used=fit.prediction.used & np.isfinite(rows).all(axis=(1, 2)))
    return replace(fit, inputs=inputs, train=train, balance=whole, solution=solution, prediction=seen)


def _pushed(fit: Fit, rows: FloatArray) -> FloatArray:
    """(samples, 6): the measured wrench with as much more as makes up these rows (samples, rows)."""
    mechanism, n = fit.inputs.model.mechanism, len(rows)
    P = np.array(
        [
            np.array(mechanism.project(fit.balance.kinematics, [np.full(n, float(i == j)) for j in range(6)], ARRAYS))
            for i in range(6)
        ]
    ).transpose(2, 1, 0)  # (samples, rows, 6)
    P = np.nan_to_num(P)
    more = np.einsum("nij,nj->ni", np.linalg.pinv(P), np.nan_to_num(rows))
    return fit.balance.wrench + more


def _solved(fit: Fit, wrench: FloatArray) -> Solution:
    balance = replace(fit.balance, wrench=np.asfortranarray(wrench))
    train = compressed(fit.inputs, fit.moved, fit.plan.segments, balance)
    return solve_with(fit.inputs, replace(train, weights=fit.train.weights), damping=fit.solution.damping)


def _rows_of(fit: Fit, coordinate: str, force: FloatArray) -> FloatArray:
    """(samples, rows): what a force along a coordinate does, by virtual work."""
    ratio = fit.balance.kinematics.coordinates[coordinate].ratio
    return np.stack([np.broadcast_to(np.asarray(r, dtype=float), force.shape) * force for r in ratio], axis=1)


def test_the_wheels_own_inertia_is_found_and_missed_where_it_is_left_out(fit: Fit, truth: dict[str, float]) -> None:
    found = fit.solution["I_w"]
    assert found.status is Status.IDENTIFIED
    assert found.ci95 is not None
    assert found.ci95[0] <= INERTIA <= found.ci95[1]
    assert abs(found.value - INERTIA) < 0.02
    # without it the body's own inertia takes its place (FORMATS, erratum 10), and the push ahead is not explained
    without = _without(fit, "I_w", "b_b")
    before, after = (abs(s["Izz"].value - truth["Izz"]) for s in (fit.solution, without.solution))
    assert after > 5 * before
    ahead = [float(f.train.rms(f.solution.p)[3]) for f in (fit, without)]
    assert ahead[1] > 3 * ahead[0]


def test_friction_in_the_bearing_is_told_from_that_on_the_ground(fit: Fit) -> None:
    nothing = fit.solution["b_b"]  # there is none in the twin
    assert nothing.ci95 is not None
    assert nothing.ci95[1] < 0.07  # floor and vertical may be off apart from each other
    speed = np.nan_to_num(np.asarray(fit.balance.kinematics.coordinates["bearing"].speed))
    added = _solved(fit, _pushed(fit, _rows_of(fit, "bearing", 0.3 * speed)))
    assert added["b_b"].value - fit.solution["b_b"].value == pytest.approx(0.3, abs=0.01)
    assert added["b_v"].value == pytest.approx(fit.solution["b_v"].value, rel=0.02)


def test_a_stated_rolling_resistance_is_a_part_of_b_c(folder: Path, prepared: Prepared, fit: Fit) -> None:
    experiment = _with(folder, OPTIONS + "  - {type: coulomb, name: b_r, acts_on: wheel}\nfixed: {b_r: 0.6}\n")
    assert experiment.config.fixed == {"b_r": 0.6}
    elements = (*fit.inputs.model.elements, Coulomb("b_r", "wheel"))
    inputs = replace(fit.inputs, model=replace(fit.inputs.model, elements=elements, values={}))
    _, split = fit.again(replace(inputs, belief=replace(inputs.belief, fixed={"b_r": 0.6})))
    assert split["b_r"].status is Status.FIXED
    assert split["b_r"].value + split["b_c"].value == pytest.approx(fit.solution["b_c"].value, rel=1e-6)
    # both free: nobody can tell, and what to do is said
    solution, refused = refuse(_again(fit, inputs), rate_known=True)
    assert solution["b_c"].status is Status.NOT_IDENTIFIABLE
    assert refused["b_c"].evidence.startswith("in this motion b_c and b_r do the same: leave one of them out")
    assert refused["b_c"].remedy == ""
    assert prepared.inputs.mechanism == inputs.mechanism


def _counted(fit: Fit) -> np.ndarray[Any, Any]:
    """Samples of the fit."""
    return fit.prediction.inside(fit.plan.segments)


def _radius(fit: Fit) -> float:
    assert fit.inputs.mechanism.wheel is not None
    return fit.inputs.mechanism.wheel.radius


def test_the_load_on_the_wheel_is_the_weight_less_what_the_hands_carry(fit: Fit, truth: dict[str, float]) -> None:
    load, inside = load_on_wheel(fit), _counted(fit)
    inputs = fit.inputs
    forces = zip(inputs.sensors, inputs.measured[:, inside, :3] - zeros_of(inputs)[:, None, :3], strict=True)
    assert inputs.poses is not None
    up = inputs.poses.rotation[inside, 2, :]  # of the world, in the object's axes
    carried = sum(float(np.mean(np.sum((f @ s.T_body_sensor[:3, :3].T) * up, axis=1))) for s, f in forces)
    assert carried > 50
    # over some seconds it neither rises nor falls
    assert np.mean(load[inside]) == pytest.approx(truth["m"] * inputs.mechanism.gravity - carried, rel=0.01)
    found = resistance(fit)
    assert found is not None
    b_c, radius = fit.solution["b_c"].value, _radius(fit)
    assert found["mu_r_at_most"] == pytest.approx(b_c / (radius * np.mean(load[inside])))
    assert found["ci95"][0] < 0 < found["ci95"][1]  # of the twin's friction nothing follows the load


def test_friction_that_follows_the_load_is_seen_as_such(fit: Fit) -> None:
    load, inside = load_on_wheel(fit), _counted(fit)
    mean, before = float(np.mean(load[inside])), resistance(fit)
    sign = np.sign(np.nan_to_num(np.asarray(fit.balance.kinematics.coordinates["wheel"].speed)))
    couple = 0.02 * _radius(fit) * (np.nan_to_num(load, nan=mean) - mean) * sign
    pushed = replace(fit.balance, wrench=np.asfortranarray(_pushed(fit, _rows_of(fit, "wheel", couple))))
    after = resistance(replace(fit, balance=pushed))
    assert before is not None
    assert after is not None
    assert after["mu_r"] - before["mu_r"] == pytest.approx(0.02, abs=0.002)
    assert not after["ci95"][0] < 0 < after["ci95"][1]


def test_motions_that_show_optional_parts_are_named(fit: Fit) -> None:
    model = fit.inputs.model
    assert "starts and stops" in model.advice("I_w")
    assert "several speeds" in model.advice("b_b")
    assert "(yaw)" in model.advice("b_psi")
    assert fit.inputs.with_zero("estimated").model.advice("bias_f_x") == ""
    assert any(isinstance(e, WheelSpin) and e.radius == _radius(fit) for e in model.elements)


def test_a_spinning_wheel_of_another_size_is_refused(folder: Path) -> None:
    with pytest.raises(PalpateError, match=r"0\.25 m is not the mechanism's, 0\.2 m"):
        WheelSpin(radius=0.25).check_wheel(0.2)
    WheelSpin(radius=0.2).check_wheel(0.2)
    stated = OPTIONS.replace("name: I_w", "name: I_w, radius: 0.25 m")
    with pytest.raises(ExperimentProblem, match=r"elements.*same wheel"):
        prepare_experiment(_with(folder, stated))
    # nowhere stated but under mechanism: there is one wheel all the same
    experiment = _with(folder, OPTIONS + "mechanism: {radius: 0.19 m}\n")
    axle = experiment.config.markers.axle.model_copy(update={"radius": None})
    markers = experiment.config.markers.model_copy(update={"axle": axle})
    experiment = replace(experiment, config=experiment.config.model_copy(update={"markers": markers}))
    model = with_wheel(experiment, object_model(experiment))
    assert [e.radius for e in model.elements if isinstance(e, WheelSpin)] == [0.19]


def test_the_published_procedure_runs_and_leaves_more(folder: Path, fit: Fit) -> None:
    experiment = _with(folder, PUBLISHED)
    prepared = prepare_experiment(experiment)
    theirs = fit_prepared(experiment, prepared)
    mechanism = theirs.inputs.model.mechanism
    assert isinstance(mechanism, Rolling)
    assert mechanism.wheel_speed == "published"
    assert theirs.inputs.filtering.lowpass is None
    assert theirs.inputs.filtering.window_s == pytest.approx(0.11)
    # f_x has no say: a push ahead changes nothing
    ahead = np.zeros((len(theirs.inputs.times_s), 4))
    ahead[:, 3] = 50.0
    moved = _solved(theirs, _pushed(theirs, ahead))
    assert moved.p == pytest.approx(theirs.solution.p, rel=1e-4, abs=1e-4)
    assert is_consistent(theirs.solution.p[:10])
    test = prepared.segments["test"]
    ours, published = (np.sqrt(np.mean(f.residuals(test) ** 2, axis=0)) for f in (fit, theirs))
    assert np.all(published[:3] > 1.5 * ours[:3])
