"""What the result of a rolling object tells: lambda beside the paper's, zeros, handles, feet, causes of failure."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from palpate.errors import ExperimentProblem
from palpate.experiment import run
from palpate.experiment.file.reading import Experiment, object_model, read_experiment
from palpate.experiment.file.schema import SensorPart
from palpate.experiment.gates import explaining, judge
from palpate.experiment.gates import numbers as gates_of_numbers
from palpate.experiment.gates.numbers import refuse
from palpate.experiment.run import fit_prepared, prepare_experiment, run_experiment
from palpate.experiment.stage.belief import Handles, belief_of
from palpate.experiment.stage.fit import Fit, solve_with
from palpate.experiment.stage.ground import with_feet
from palpate.experiment.stage.inputs import Belief, Sensor, whole_balance
from palpate.experiment.stage.prepare import (
    Prepared,
    _zero,  # pyright: ignore[reportPrivateUsage]
)
from palpate.experiment.stage.result import (
    Case,
    Result,
    _zero_changes,  # pyright: ignore[reportPrivateUsage]
    build_result,
    rms_of_kinds,
    split_zero,
)
from palpate.experiment.stage.variations import with_estimated
from palpate.findings import Finding, Severity
from palpate.identify.solution import Status
from palpate.model import Model
from palpate.physics.functions import FLOATS
from palpate.physics.inertia import PHI_NAMES, phi_from_mass_properties
from palpate.physics.motion import exp_rotation, transform, wrench_transmission
from palpate.report import result_text
from palpate.runtime import Stepper
from tests.rolling_session import changed, write_session

PRIOR = """
prior: {mass: 44 kg, com: [-0.12, 0.46, 0.0], inertia_com: [[3, 0, 0], [0, 1.5, 0], [0, 0, 3]], damping: auto}
reference:
  label: paper
  values: {b_v: 0.388, damping: 100, kappa_eff_paper: 97.5, rms_n_x: 5.31}
handle_2: other.json
uncertain: {tilt: 0.3 deg, sensor_yaw: 0.3 deg, wheel_radius: 2 mm}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("told")
    write_session(made)
    handle = Model.load(made / "handle.json")
    handle.with_values(1.05 * handle.p).save(made / "other.json")
    body = made / "body.yaml"
    body.write_text(body.read_text().replace("test: [18.0, 22.0]", "test: [[18.0, 20.0], [20.0, 22.0]]") + PRIOR)
    return made


@pytest.fixture(scope="module")
def experiment(folder: Path) -> Experiment[Any]:
    return read_experiment(folder / "body.yaml")


@pytest.fixture(scope="module")
def prepared(experiment: Experiment[Any]) -> Prepared:
    return prepare_experiment(experiment)


@pytest.fixture(scope="module")
def fitted(experiment: Experiment[Any], prepared: Prepared) -> Fit:
    return with_estimated(fit_prepared(experiment, prepared))


@pytest.fixture(scope="module")
def fit(fitted: Fit) -> Fit:
    return replace(fitted, solution=refuse(fitted, rate_known=True)[0])


def _believing(fit: Fit, belief: Belief) -> Fit:
    """The same with something else believed before, not solved again."""
    return replace(fit, inputs=replace(fit.inputs, belief=belief))


def _case(experiment: Experiment[Any], prepared: Prepared, fit: Fit, **more: Any) -> Case:
    return Case(experiment, prepared, fit, **({"rms": {}, "refused": {}, "replay": None} | more))


def _built(experiment: Experiment[Any], prepared: Prepared, fit: Fit) -> Result:
    return build_result(Case(experiment, prepared, fit, rms_of_kinds(prepared, fit), {}, None), ())


@pytest.fixture(scope="module")
def result(experiment: Experiment[Any], prepared: Prepared, fitted: Fit) -> Result:
    """The whole stage, from what was read and fitted already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "prepare_experiment", lambda *_: prepared)
        patch.setattr(run, "fit_prepared", lambda *_: fitted)
        patch.setattr(run, "with_estimated", lambda found, _: found)
        return run_experiment(experiment)


def _text(data: Any) -> str:
    console = Console(width=400, record=True, file=StringIO())
    console.print(result_text(data))
    return console.export_text()


def test_lambda_kappa_and_errors_stand_beside_the_papers(result: Result) -> None:
    assert result.data["references"]["paper"]["damping"] == 100
    text = _text(result.data)
    assert re.search(r"^lambda +\S+ +100 ", text, re.MULTILINE)
    own = re.escape(f"{result.data['kappa_eff_paper']:.1f}")
    assert re.search(rf"^kappa_eff, as published +{own} +97\.5 ", text, re.MULTILINE)
    (row,) = [line for line in text.splitlines() if line.startswith("n_x ") and "N m" in line and "%" in line]
    assert " 5.31 " in row
    assert "from data" in text
    assert re.findall(r"^test +(\S+ … \S+)", text, re.MULTILINE) == ["18.0 … 20.0", "20.0 … 22.0"]
    json.dumps(result.data, allow_nan=False)


def test_a_reference_for_what_is_not_told_is_refused_at_once(folder: Path) -> None:
    wrong = read_experiment(changed(folder, ("kappa_eff_paper: 97.5", "kappa_paper: 97.5")))
    with pytest.raises(ExperimentProblem, match="kappa_eff_paper"):
        run_experiment(wrong, lambda _: pytest.fail("nothing may be computed"))


def test_half_and_twice_the_lambda_stay_inside_the_intervals(
    experiment: Experiment[Any], prepared: Prepared, fit: Fit, result: Result
) -> None:
    changes, told = result.data["damping_changes"], result.data["parameters"]
    sure = [n for n, e in told.items() if e["status"] == "identified"]
    assert len(sure) >= 9
    for own in changes.values():
        assert all(abs(own[n]) < (told[n]["ci95"][1] - told[n]["ci95"][0]) / 2 for n in sure)
    # they are what a fit with that lambda gives
    there = solve_with(fit.inputs, fit.train, damping=2 * fit.solution.damping)
    assert changes["doubled"]["Iyy"] == pytest.approx(there["Iyy"].value - fit.solution["Iyy"].value, rel=1e-6)
    assert changes["doubled"]["Iyy"] != 0
    assert "Halving or doubling lambda moves identified parameters by up to" in _text(result.data)
    case = _case(experiment, prepared, fit)
    assert list(gates_of_numbers.damping(case)) == []
    far = {"doubled": dict.fromkeys(changes["doubled"], 0.0) | {"Iyy": 10.0}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gates_of_numbers, "damping_changes", lambda _: far)
        (found,) = gates_of_numbers.damping(case)
    assert found.place == "Iyy"


def test_a_stated_lambda_is_named_where_the_data_alone_would_tell(
    experiment: Experiment[Any], prepared: Prepared, fit: Fit
) -> None:
    belief = fit.inputs.belief
    assert belief.prior is not None

    def hint(own: Fit) -> str:
        (finding,) = gates_of_numbers.leaning_on_prior(_case(experiment, prepared, own))
        return finding.sentence

    strong = _believing(fit, replace(belief, prior=replace(belief.prior, damping=100.0, form="theta")))
    strong = replace(strong, solution=solve_with(strong.inputs, strong.train))
    told = hint(strong)
    assert "lambda is stated as 100; with damping: auto the data alone give" in told
    assert "rock it" not in told  # no motion is missing
    assert "outside the interval here" not in told
    # a drawing that is off by more than it admits, so strong that half of it is as strong
    flat = phi_from_mass_properties(44.0, [-0.12, 0.46, 0.0], np.diag([3.0, 0.3, 3.0]))
    prior = replace(belief.prior, damping=1000.0, form="theta", values=dict(zip(PHI_NAMES, flat, strict=True)))
    wrong = _believing(fit, replace(belief, prior=prior))
    told = hint(replace(wrong, solution=solve_with(wrong.inputs, wrong.train)))
    (says,) = re.findall(r"Ixy (\S+) kg m2, .*outside the interval here", told)
    assert float(says) == pytest.approx(fit.solution["Ixy"].value, rel=0.05)
    # the same status without a stated lambda is the motion's
    estimates = tuple(
        replace(e, status=Status.PRIOR_DOMINATED) if e.name in ("Iyy", "c_x", "c_y") else e
        for e in fit.solution.estimates
    )
    told = hint(replace(fit, solution=replace(fit.solution, estimates=estimates)))
    assert told.startswith("c_x, c_y, Iyy: ")
    assert "lean on the prior" in told
    assert told.endswith(
        "for c_x, c_y lift the handles through a larger range; for Iyy rock it faster from side to side (camber)"
    )


def test_the_model_stands_on_its_feet_where_it_is_put_down(result: Result, tmp_path: Path) -> None:
    assert result.model is not None
    result.model.save(tmp_path / "model.json")
    model = Model.load(tmp_path / "model.json")
    stepper = Stepper(model, 2e-3)
    out, state = np.empty(stepper.size), stepper.state
    state[stepper.names.index("pitch")] = 0.3  # lifted by a few degrees, and let go
    stepper.reset(state)
    stepper.run(np.zeros((700, 6)), np.empty((700, stepper.size)))
    before = stepper.state
    stepper.run(np.zeros((300, 6)), np.empty((300, stepper.size)))
    stepper.step((0.0,) * 6, out)
    assert np.abs(out[:9] - before).max() < 1e-6  # at rest
    k = model.mechanism.expand(out[:9].tolist(), [0.0] * 4, FLOATS)
    heights = [float(k.coordinates[f"foot_{i}"].position) for i in (1, 2)]
    assert all(-1.5e-3 < h < 0 for h in heights)
    # both feet carry what the wheel does not: half of it each, by moments about the axle
    weight = model.values["m"] * 9.80665
    pressed = -sum(heights) * model.values["foot_1_k"]
    assert 0.5 * weight < pressed < 1.1 * weight
    text = _text(result.data)
    assert "Feet: 2, from the markers; how they press and rub is assumed" in text
    assert set(result.data["mechanism"]["feet_assumed"]) < set(model.values)
    assert "assumed" in model.about["feet"]


def test_stated_feet_stay_as_they_are(result: Result) -> None:
    assert result.model is not None
    again, assumed = with_feet(result.model, [(0.3, 0.5, 0.2)])
    assert assumed == {}
    assert again == result.model


def test_the_result_carries_both_handles(
    experiment: Experiment[Any], prepared: Prepared, fit: Fit, result: Result
) -> None:
    handles = result.data["handles"]
    assert handles["sensor_2"]["phi"]["m"] == pytest.approx(1.05 * handles["sensor"]["phi"]["m"])
    assert handles["sensor_2"]["from"] == "other.json"
    assert handles["sensor_2"]["parameters"] is None  # a model.json, no stage was run
    assert "(handle.json), " in _text(result.data)
    assert result.model is not None
    assert result.model.about["handle_2"].startswith("other.json")
    # where their own stages were run, what these said is kept (any result stands for one here)
    one, other = result, replace(result, data={**result.data, "verdict": {"passed": False, "reasons": ["short"]}})
    both = _built(experiment, replace(prepared, handles=(one, other)), fit)
    assert both.data["handles"]["sensor"]["parameters"] == result.data["parameters"]
    assert both.data["handles"]["sensor_2"]["verdict"]["reasons"] == ["short"]
    assert both.handles == (one, other)


def test_what_each_uncertainty_does_is_told(result: Result) -> None:
    assert set(result.data["systematic"]) == {"tilt", "sensor_yaw", "wheel_radius"}
    (line,) = [line for line in _text(result.data).splitlines() if line.startswith("Systematic, mostly from ")]
    assert all(f"{source}: " in line for source in result.data["systematic"])


def test_the_replay_is_told(result: Result) -> None:
    played = result.data["replay"]
    assert played["coordinates"]["pitch"]["value"] < np.radians(0.5)
    assert "Replay, measured force in, motion out: x" in _text(result.data)


def test_a_drawing_of_the_other_part_is_of_the_sum_with_the_handles(folder: Path, prepared: Prepared) -> None:
    def besides(of: str, model_of: str = "body", *more: tuple[str, str]) -> np.ndarray:
        pairs = ("prior: {", f"prior: {{{of}"), ("stage: body", f"stage: body\nmodel_of: {model_of}"), *more
        experiment = read_experiment(changed(folder, *pairs))
        model = object_model(experiment)
        prior = belief_of(experiment, model, handles, [s.T_body_sensor for s in prepared.inputs.sensors]).prior
        assert prior is not None
        assert prior.values["m"] == 44  # as drawn
        return np.array([prior.besides.get(n, 0.0) for n in PHI_NAMES])

    sensors = prepared.inputs.sensors
    handles = Handles(tuple(s.handle for s in sensors))
    for same in (besides(""), besides("of: body, "), besides("of: whole, ", "whole")):
        assert not same.any()
    behind = besides("of: whole, ")
    assert behind[0] == pytest.approx(handles.mass)
    places = [
        (s.handle[0], s.T_body_sensor[:3, 3] + s.T_body_sensor[:3, :3] @ s.handle[1:4] / s.handle[0]) for s in sensors
    ]
    assert behind[1:4] == pytest.approx(sum(m * r for m, r in places))
    assert besides("of: body, ", "whole") == pytest.approx(-behind)
    with pytest.raises(ExperimentProblem, match=r"prior\.of.*weight-only is neither"):
        besides("of: body, ", "weight-only")
    weighed = ("handle: handle.json", "handle: {mass: 1 kg, com: [0, 0, 0.1]}")
    with pytest.raises(ExperimentProblem, match=r"prior\.of.*without the handles' inertia"):
        besides("of: whole, ", "body", weighed)
    # thirty per cent of a whole may be all of its body: no reason to refuse a drawing
    small = ("inertia_com: [[3, 0, 0], [0, 1.5, 0], [0, 0, 3]]", "shape: {type: box, sides: [0.1, 0.1, 0.1]}")
    assert besides("of: whole, ", "body", small) == pytest.approx(behind)
    with pytest.raises(ExperimentProblem, match=r"prior\.mass.*the handles weigh.*the whole with them only 0.5 kg"):
        besides("of: whole, ", "body", ("mass: 44 kg", "mass: 0.5 kg"))


# Zeros of the load cells


@pytest.mark.parametrize(
    ("bias", "zero"),
    [("still", "still"), ("estimated", "estimated"), ("none", "none"), ("{at_contact: [1, 2, 3, 4, 5, 6]}", "still")],
)
def test_every_way_to_know_the_zeros_is_a_key(folder: Path, bias: str, zero: str) -> None:
    experiment = read_experiment(changed(folder, ("clocks: auto", f"clocks: auto\nbias: {bias}")))
    found, fixed = _zero(experiment, object_model(experiment), Handles((np.ones(10), np.ones(10))))
    assert found == zero
    assert (fixed is not None) == ("at_contact" in bias)


def test_what_other_zeros_would_change_is_told(fit: Fit, result: Result) -> None:
    found = result.data["zero"]
    assert found["from"] == "still"
    assert set(found["sensors"]) == {"sensor", "sensor_2"}
    assert set(found["change_if"]) == {"estimated", "none"}
    _, there = fit.again(fit.inputs.with_zero("none"))
    assert found["change_if"]["none"]["c_y"] == pytest.approx(there["c_y"].value - fit.solution["c_y"].value, rel=1e-6)
    (line,) = [line for line in _text(result.data).splitlines() if line.startswith("Zeros of the load cells")]
    assert "mean while nobody touched the handles; if estimated along: " in line
    assert "if left as recorded: " in line
    # without a still segment nobody can look there
    other = replace(fit, inputs=replace(fit.inputs.with_zero("estimated"), static=None))
    other = replace(other, solution=fit.again(other.inputs)[1])
    assert set(_zero_changes(other)) == {"none"}


numbers = st.lists(st.floats(-5, 5), min_size=6, max_size=6)


@settings(max_examples=25, deadline=None)
@given(numbers, numbers, st.floats(1, 20), st.floats(0.05, 2))
def test_zeros_are_split_so_that_they_add_up_and_are_least(
    total: list[float], places: list[float], force: float, moment: float
) -> None:
    accuracy = SensorPart(sigma_force=[force] * 3, sigma_moment=[moment] * 3)
    nothing: Any = None  # no recording is needed
    sensors = [
        Sensor(nothing, transform(exp_rotation(np.array(places[3 * i : 3 * i + 3])), places[:3])) for i in (0, 1)
    ]
    found = split_zero(sensors, np.array(total), accuracy)
    W = np.hstack([wrench_transmission(s.T_body_sensor[:3, :3], s.T_body_sensor[:3, 3]) for s in sensors])
    assert W @ found.ravel() == pytest.approx(total, abs=1e-8)
    scale = np.tile([force] * 3 + [moment] * 3, 2)
    least = scale * (np.linalg.pinv(W * scale) @ np.array(total))
    assert found.ravel() == pytest.approx(least, abs=1e-6)


def test_an_estimated_zero_is_told_for_each_sensor(experiment: Experiment[Any], prepared: Prepared, fit: Fit) -> None:
    inputs = fit.inputs.with_zero("estimated")
    train, solution = fit.again(inputs)
    whole = whole_balance(inputs, fit.moved)
    rows = whole.rows((float(inputs.times_s[0]), float(inputs.times_s[-1]) + 0.5 / inputs.rate_hz))
    seen = replace(fit.prediction, rows=rows, used=fit.prediction.used & np.isfinite(rows).all(axis=(1, 2)))
    other = replace(fit, inputs=inputs, train=train, solution=solution, balance=whole, prediction=seen)
    found = _built(experiment, prepared, other).data["zero"]
    total = np.array(list(found["in_body_frame"].values()))
    W = [wrench_transmission(s.T_body_sensor[:3, :3], s.T_body_sensor[:3, 3]) for s in inputs.sensors]
    parts = [np.array(list(v.values())) for v in found["sensors"].values()]
    assert sum(w @ b for w, b in zip(W, parts, strict=True)) == pytest.approx(total, abs=1e-9)
    assert "six numbers" in found["note"]


# Causes of failure


def test_exchanged_load_cells_are_the_only_reason(
    experiment: Experiment[Any], prepared: Prepared, fit: Fit, result: Result
) -> None:
    bad = {"test": {"n_x": dict.fromkeys(("value", "percent_of_range"), 50.0) | {"unit": "N m", "noise": 0.1}}}
    bad["train"] = bad["test"]
    lost = "the motion does not separate it from others"
    refused = {"c_x": Finding("unknown", lost, "c_x", "lift"), "Ixx": Finding("unknown", lost, "Ixx", "turn")}
    swapped = Finding("swapped", "right and left load cell seem to be exchanged", severity=Severity.FATAL)
    exchanged = replace(prepared, findings=(*prepared.findings, swapped))
    told = judge(_case(experiment, exchanged, fit, rms=bad, refused=refused))
    assert [f.sentence for f in told if f.fatal] == ["right and left load cell seem to be exchanged"]
    # else the misfit is told, and no motion is asked for that would not help
    told = judge(_case(experiment, prepared, fit, rms=bad, refused=refused))
    (misfit,) = [f for f in told if f.cause == "misfit"]
    assert misfit.sentence.startswith("the model does not explain the wrench (error and largest range: n_x ")
    assert "%" not in misfit.evidence  # shares of the range are the table's, of each kind of segment
    (unknown,) = {f.sentence for f in told if f.cause == "unknown"}
    assert unknown == f"c_x, Ixx are not known: {lost}"
    one = replace(fit, inputs=replace(fit.inputs, sensors=fit.inputs.sensors[:1]))
    told = list(explaining.misfit(_case(experiment, prepared, one, rms=bad)))
    assert "recordings.wrench_2 is missing" in told[0].sentence
    assert list(explaining.misfit(_case(experiment, prepared, one, rms=result.data["rms"]))) == []


def test_a_wrong_mass_is_told_by_what_the_data_weigh(experiment: Experiment[Any], prepared: Prepared, fit: Fit) -> None:
    mass = fit.inputs.belief.mass
    assert mass is not None
    assert list(gates_of_numbers.known_mass(_case(experiment, prepared, fit))) == []
    for share in (0.9, 1.06):
        wrong = _believing(fit, replace(fit.inputs.belief, mass=share * mass))
        (found,) = gates_of_numbers.known_mass(_case(experiment, prepared, wrong))
        assert found.fatal
        assert f"the known mass makes it {share * mass:.4g} kg" in found.sentence


def test_a_mass_that_nobody_weighed_is_told(experiment: Experiment[Any], prepared: Prepared, fit: Fit) -> None:
    config = experiment.config.model_copy(update={"known_mass": None})
    (found,) = gates_of_numbers.known_mass(_case(replace(experiment, config=config), prepared, fit))
    assert not found.fatal
    assert "known_mass is missing" in found.sentence
