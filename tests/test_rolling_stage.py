"""The body stage of rolling objects, on a short simulated wheelbarrow session in the authors' formats."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palpate.errors import ExperimentProblem
from palpate.experiment import run
from palpate.experiment.file.reading import read_experiment
from palpate.experiment.gates import mounting
from palpate.experiment.gates.numbers import refuse
from palpate.experiment.run import fit_prepared, prepare_experiment, run_experiment
from palpate.experiment.stage import ground, variations
from palpate.experiment.stage.belief import Handles, belief_of
from palpate.experiment.stage.clock import clock_by_balance
from palpate.experiment.stage.fit import (
    Fit,
    Rolled,
    _best,  # pyright: ignore[reportPrivateUsage],
    solve_with,
)
from palpate.experiment.stage.ground import (
    _directions,  # pyright: ignore[reportPrivateUsage]
    _feet_down,  # pyright: ignore[reportPrivateUsage]
    feet_findings,
    rolled_by_axle,
    wheel_findings,
)
from palpate.experiment.stage.inputs import (
    Inputs,
    compressed,
    move,
    projected,
    whole_balance,
    zeros_of,
)
from palpate.experiment.stage.mistakes import swapped
from palpate.experiment.stage.prepare import Prepared
from palpate.experiment.stage.result import Case
from palpate.experiment.stage.variations import contradicted, estimated, with_estimated, with_systematic
from palpate.findings import Finding
from palpate.identify import Balance, Solution
from palpate.identify.solution import Status
from palpate.mechanisms import Rolling
from palpate.model import Model
from palpate.motion.clock import ClockMap
from palpate.motion.derivatives import coordinate_motion
from palpate.physics.arrays import BoolArray
from palpate.physics.functions import ARRAYS
from palpate.physics.motion import Poses, exp_rotation
from palpate.report.model_plots import over_time
from palpate.twin.rolling import KINDS, Kind, Segment, body_poses, wheelbarrow_twin
from tests.rolling_session import TEST, TRAIN, changed, write_session


@cache
def _written(folder: Path) -> dict[str, Any]:
    return write_session(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("wheelbarrow")
    _written(made)
    return made


@pytest.fixture(scope="module")
def prepared(folder: Path) -> Prepared:
    return prepare_experiment(read_experiment(folder / "body.yaml"))


@pytest.fixture(scope="module")
def fit(folder: Path, prepared: Prepared) -> Fit:
    return with_estimated(fit_prepared(read_experiment(folder / "body.yaml"), prepared))


def test_a_wrong_sign_of_both_load_cells_is_said_of_both(folder: Path) -> None:
    turned = ((f"device: {name}}}", f"device: {name}, sign: on-handle}}") for name in ("Platform", "Platform_2"))
    with pytest.raises(ExperimentProblem, match="wrong sign") as error:
        prepare_experiment(read_experiment(changed(folder, *turned, name="sign.yaml")))
    assert all(f"recordings.{key}.sign: on-other-side" in str(error.value) for key in ("wrench", "wrench_2"))


def _judged(fit: Fit) -> tuple[Solution, dict[str, Any]]:
    return refuse(fit, rate_known=True)


def _refit(fit: Fit, inputs: Inputs, mass: float | None = None) -> Solution:
    """The same with other inputs, or another mass."""
    belief = inputs.belief if mass is None else replace(inputs.belief, mass=mass)
    return fit.again(replace(inputs, belief=belief))[1]


def _case(fit: Fit, prepared: Prepared) -> Case:
    return Case(SimpleNamespace(config=SimpleNamespace(motion_from="markers")), prepared, fit, {}, {}, None)


def _true(folder: Path, key: str = "parameters") -> dict[str, float]:
    return {n: float(v["value"]) for n, v in _written(folder)[key].items()}


def test_the_truth_is_inside_and_predicts_no_better(folder: Path, prepared: Prepared, fit: Fit) -> None:
    truth, test = _true(folder), prepared.segments["test"]
    told = {e.name: e for e in _judged(fit)[0].estimates}
    assert told["m"].status is Status.FIXED
    outside = [n for n, e in told.items() if e.ci95 is not None and not e.ci95[0] <= truth[n] <= e.ci95[1]]
    assert len(outside) <= 1  # one of twelve 95 % intervals may
    for name in ("c_x", "c_y", "c_z"):
        assert abs(told[name].value - truth[name]) < 0.002
    for name in ("Ixx", "Iyy", "Izz", "b_v", "b_c"):
        assert told[name].value == pytest.approx(truth[name], rel=0.05)
    phi = list(_written(folder)["body_phi"].values())
    p = np.array([*phi, *(truth[n] for n in ("b_v", "b_c", "b_psi"))])
    ours, oracle = (np.sqrt(np.mean(fit.residuals(test, q) ** 2, axis=0)) for q in (fit.p, p))
    assert np.all(ours < 1.1 * oracle)
    assert np.all(ours[:3] < 1.5)


def test_zeros_of_both_load_cells_come_from_the_untouched_handles(folder: Path, prepared: Prepared) -> None:
    found = zeros_of(prepared.inputs)
    for zero, side in zip(found, ("right", "left"), strict=True):
        true = np.array(_written(folder)["sensors"][side]["preload"])
        assert np.abs(zero[:3] - true[:3]).max() < 0.05
        assert np.abs(zero[3:] - true[3:]).max() < 0.005


def test_feet_touch_the_ground_where_the_truth_says(folder: Path, prepared: Prepared) -> None:
    truth, inputs, floor = _written(folder)["feet"], prepared.inputs, prepared.ground
    assert floor is not None
    left_first = sorted(truth["in_body_m"], key=lambda point: -point[2])
    assert np.abs(np.array(floor.points) - left_first).max() < 1e-3
    down = np.zeros(len(inputs.times_s), dtype=bool)
    for a, b in truth["on_ground_s"]:
        down |= (inputs.times_s >= a) & (inputs.times_s <= b)
    assert not (down & ~floor.grounded).any()
    assert (floor.grounded & ~down).sum() < 1.0 * inputs.rate_hz


def test_feet_that_never_come_down_are_in_the_air(prepared: Prepared) -> None:
    """Without a static segment, and never put down: the lowest place of a foot is not the ground."""
    inputs, radius = prepared.inputs, _radius(prepared.inputs)
    assert prepared.capture is not None
    assert prepared.ground is not None
    assert inputs.poses is not None
    marked = prepared.capture.body
    T = np.linalg.inv(marked.frames["axle"])
    places = marked.feet @ T[:3, :3].T + T[:3, 3]
    wheeled = slice(*np.searchsorted(inputs.times_s, TRAIN))
    poses = Poses(inputs.times_s[wheeled], inputs.poses.rotation[wheeled], inputs.poses.position[wheeled])
    grounded, points, (told,) = _feet_down(poses, places, None, radius)
    assert not grounded.any()
    assert points == ()
    assert not told.fatal
    assert "segments.static" in told.sentence
    # with the put-down between the segments the feet are found as well as in the static one
    _, points, findings = _feet_down(inputs.poses, places, None, radius)
    assert findings == []
    assert np.abs(np.array(points) - prepared.ground.points).max() < 1e-3


def test_feet_inside_a_segment_are_told_and_left_out(prepared: Prepared) -> None:
    longer = {"train": [(2.0, TRAIN[1])], "test": [TEST]}
    assert prepared.ground is not None
    (found,) = feet_findings(prepared.ground, longer)
    assert found.place == "segments.train"
    balance = whole_balance(prepared.inputs, move(prepared.inputs))
    assert balance.used is not None
    assert not (balance.used & prepared.ground.grounded).any()


def test_the_clock_is_found_by_the_balance(prepared: Prepared) -> None:
    inputs, segments = prepared.inputs, prepared.segments
    offset = prepared.instruments["wrench"].offset
    assert offset is not None
    assert abs(offset.value_s) < 2e-4
    late = tuple(
        replace(s, wrench=replace(s.wrench, times_s=s.wrench.times_s + 0.731)) for s in inputs.sensors
    )  # the load cells' clock is ahead
    blind = replace(inputs, sensors=late).on_clock(None)
    found = clock_by_balance(blind, [*segments["train"], *segments["test"]])
    assert found.value_s == pytest.approx(-0.731, abs=max(4 * found.std_s, 2e-4))
    assert found.std_s < 5e-4


def test_exchanged_load_cells_are_named(folder: Path, fit: Fit, prepared: Prepared) -> None:
    case = replace(
        _case(fit, prepared),
        experiment=read_experiment(folder / "body.yaml"),
        rms={"train": {"n_x": {"percent_of_range": 5.0}}},
    )
    assert list(mounting.mistaken(case)) == []
    (found,) = mounting.mistaken(replace(case, fit=_with(fit, swapped(fit.inputs))))
    assert found.fatal
    assert "exchanged" in found.sentence


def _wheel(poses: Poses, used: BoolArray, stated: float) -> list[Finding]:
    return wheel_findings(rolled_by_axle(poses, used, stated, 4), stated)


def test_a_wrong_wheel_is_seen_in_how_it_leans(prepared: Prepared) -> None:
    inputs, radius = prepared.inputs, _radius(prepared.inputs)
    used = whole_balance(inputs, move(inputs)).used
    assert used is not None
    assert inputs.poses is not None
    assert _wheel(inputs.poses, used, radius) == []
    for wrong in (0.92, 0.98, 1.02, 1.08):
        (found,) = _wheel(inputs.poses, used, wrong * radius)
        assert found.fatal == (abs(wrong - 1) > 0.05)
        assert "measure it again" in found.sentence
        says = found.sentence.partition("wheel of ")[2].partition(" mm (+- ")
        assert float(says[0]) == pytest.approx(1e3 * radius, rel=0.005)
        assert 0 < float(says[2].partition(")")[0]) < 2  # mm


def test_a_tyre_that_creeps_may_turn_as_another_wheel(fit: Fit) -> None:
    radius = _radius(fit.inputs)
    for slip, off, expected in ((0.03, 0.0, 0.03), (0.03, 0.05, 0.05), (0.005, 0.0, None), (0.0, 0.01, None)):
        by = contradicted(replace(fit, rolled=Rolled((1 + off) * radius, 0.02 * radius, slip)), {})
        assert by.get("wheel_radius") == (None if expected is None else pytest.approx(expected * radius))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("kinds", [KINDS, ("push",)])
def test_a_right_wheel_is_not_doubted(seed: int, kinds: tuple[Kind, ...]) -> None:
    """Whether it leans a lot or hardly, with the noise that 23 markers of 0.3 mm leave, and with three times that."""
    twin = wheelbarrow_twin(seed, segments=(Segment("train", 2.0, 32.0, kinds),))
    rng, times = np.random.default_rng(seed), np.arange(2.0, 32.0, 0.01)
    R, r = body_poses(twin, times)
    for much in (1.0, 3.0):
        turned = R @ exp_rotation(much * np.array([1.1e-4, 2.1e-4, 1.2e-4]) * rng.normal(size=r.shape))
        r_seen = r + (R - turned) @ [-0.15, 0.6, 0.0] + much * 6e-5 * rng.normal(size=r.shape)
        poses = Poses(times, turned, r_seen)
        used = np.ones(len(times), dtype=bool)
        assert _wheel(poses, used, twin.wheel.radius) == []
        (found,) = _wheel(poses, used, 1.04 * twin.wheel.radius)
        assert not found.fatal
        # a tyre that creeps: 1.5 deg aside, to either side in turns, and an axle that is not square by 0.4 deg
        ahead = np.gradient(r, times, axis=0) * [1, 1, 0]
        turning = np.sqrt(2) * np.radians(1.5) * np.sin(1.1 * times)[:, None]
        aside = np.cross([0, 0, 1], ahead) * (turning * [1, 1, 0] + np.radians(0.4))
        creeping = replace(poses, position=r_seen + np.cumsum(aside, axis=0) * 0.01)
        slip = rolled_by_axle(creeping, used, twin.wheel.radius, 4)
        assert slip is not None
        away = float(np.sqrt(np.sum((turning * ahead) ** 2) / np.sum(ahead**2)))
        assert slip.slip_rad == pytest.approx(away, rel=0.15)
        assert "slip" in [f.cause for f in wheel_findings(slip, twin.wheel.radius)]
        assert "intervals allow for" in found.sentence


def test_noise_of_the_markers_makes_no_wheel_smaller(prepared: Prepared) -> None:
    inputs, rng = prepared.inputs, np.random.default_rng(0)
    poses = inputs.poses
    assert poses is not None
    turns = exp_rotation(2e-3 * rng.normal(size=(len(poses), 3)))
    noisy = Poses(poses.times_s, poses.rotation @ turns, poses.position)
    used = whole_balance(inputs, move(inputs)).used
    assert used is not None
    assert not _wheel(noisy, used, _radius(inputs))
    # with the short window that differentiates for the balance, and noise that is not known, the wheel would be accused
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ground, "SLOW_S", inputs.filtering.window_s)
        patch.setattr(ground, "derivative_noise", lambda *_: 0.0)
        assert _wheel(noisy, used, _radius(inputs))


def test_whole_contains_both_handles(folder: Path, fit: Fit) -> None:
    path = changed(folder, ("stage: body", "stage: body\nmodel_of: whole"))
    experiment = read_experiment(path)
    inputs = replace(fit.inputs, add="all")
    handle = Model.load(folder / "handle.json").values["m"]
    phi = np.array([handle, *[0.0] * 9])
    mass = belief_of(experiment, inputs.model, Handles((phi, phi))).mass
    truth = _true(folder, "parameters_whole")
    assert mass == pytest.approx(truth["m"], rel=1e-9)
    found = _refit(fit, inputs, mass)
    for name in ("c_x", "c_y", "Ixx", "Iyy", "Izz"):
        assert found[name].value == pytest.approx(truth[name], rel=0.03, abs=0.002)


def test_an_estimated_zero_tells_the_same_object(folder: Path, fit: Fit) -> None:
    truth = _true(folder)
    found = _refit(fit, fit.inputs.with_zero("estimated"))
    for name in ("Ixx", "Izz", "b_v", "b_c"):
        assert found[name].value == pytest.approx(truth[name], rel=0.05)
    # without any zero the centre of mass is off by what the load cells show untouched
    wrong = _refit(fit, fit.inputs.with_zero("none"))
    assert abs(wrong["c_y"].value - truth["c_y"]) > abs(fit.solution["c_y"].value - truth["c_y"])


def test_a_touched_handle_is_no_zero(fit: Fit, prepared: Prepared) -> None:
    assert list(mounting.touched(_case(fit, prepared))) == []
    touched = replace(fit, inputs=replace(fit.inputs, static=(0.2, 3.4)))
    (*_, found) = mounting.touched(_case(touched, prepared))
    assert found.fatal


def test_a_stage_ends_in_a_model_with_feet(folder: Path, prepared: Prepared, fit: Fit) -> None:
    experiment = read_experiment(folder / "body.yaml")
    with pytest.MonkeyPatch.context() as patch:  # the whole stage, from what was read and fitted already
        patch.setattr(run, "prepare_experiment", lambda *_: prepared)
        patch.setattr(run, "fit_prepared", lambda *_: fit)
        patch.setattr(run, "with_estimated", lambda found, _: found)
        result = run_experiment(experiment)
    assert result.passed, result.data["verdict"]
    assert result.model is not None
    assert isinstance(result.model.mechanism, Rolling)
    assert len(result.model.mechanism.feet) == 2
    json.dumps(result.data, allow_nan=False)
    assert set(result.data["rms"]["test"]) == {"n_x", "n_y", "n_z", "f_x"}
    assert result.data["parameters"]["m"]["status"] == "fixed"
    assert result.view is not None
    assert {c.name for c in result.view.coordinates} == {"x", "y", "forward", "pitch", "camber", "yaw"}
    assert Model.from_dict(result.model.to_dict()).values == result.model.values
    shown = [trace["name"] for figure in over_time(result.view, "test") for trace in figure.data]
    assert {"x", "pitch", "camber", "yaw", "measured", "estimated", "residual"} <= set(shown)


def test_a_stated_wrench_at_the_contact_goes_into_its_rows(fit: Fit) -> None:
    w = np.array([-13.7, 2.0, 3.0, 4.0, 5.0, 9.5])
    plain = fit.balance
    stated = whole_balance(replace(fit.inputs, at_contact=w), fit.moved)
    change = (projected(plain) - projected(stated))[plain.used]
    assert np.allclose(change, [w[3], w[4], w[5], w[0]], atol=1e-6)


def test_a_larger_wheel_is_another_object(fit: Fit) -> None:
    unsure = with_systematic(fit, {"wheel_radius": 0.002, "mass": 0.1})
    moved = {e.name: e.systematic for e in unsure.solution.estimates}
    assert moved["m"] == pytest.approx(0.1, rel=1e-6)
    assert moved["b_v"] > 0.005 * fit.solution["b_v"].value  # a hundredth of the radius
    assert set(unsure.sources) == {"wheel_radius", "mass"}
    for name, total in moved.items():
        assert total == pytest.approx(np.hypot(*(own[name] for own in unsure.sources.values())))


def test_weight_only_lies_between_body_and_whole(folder: Path, fit: Fit) -> None:
    body, whole = _true(folder), _true(folder, "parameters_whole")
    found = _refit(fit, replace(fit.inputs, add="weight"), whole["m"])
    assert body["c_y"] < found["c_y"].value < 1.02 * whole["c_y"]  # weighs as the whole
    assert abs(found["Izz"].value - body["Izz"]) < abs(found["Izz"].value - whole["Izz"])  # turns as the body


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("  wrench_2: {file: wrench.mat, device: Platform_2}\n", "", "recordings.wrench_2"),
        (", device: Platform_2", ", device: Platform", "recordings.wrench_2"),
        (", of: body", "", "known_mass.of"),
        ("stage: body\n", "stage: body\nprocedure: joint\n", "procedure"),
        ("stage: body\n", "stage: body\nbias: still\n", ""),
        ("known_mass", "rows: moments\n#", "known_mass"),
        ("handle: handle.json\n", "bias: still\n", "handle"),
        ("object: wheelbarrow", "object: cabinet-door", "markers.axle"),
    ],
)
def test_what_is_missing_or_not_for_it_is_named(folder: Path, old: str, new: str, key: str) -> None:
    path = changed(folder, (old, new), name="wrong.yaml")
    if not key:
        read_experiment(path)
        return
    with pytest.raises(ExperimentProblem, match=key.replace(".", r"\.")):
        run_experiment(read_experiment(path))


angle = st.floats(-0.3, 0.3)


@settings(max_examples=30, deadline=None)
@given(angle, angle, angle, st.floats(0.1, 0.4), st.lists(st.floats(-5, 5), min_size=8, max_size=8))
def test_rows_at_rest_hold_whatever_friction_does(
    yaw: float, camber: float, pitch: float, radius: float, rates: list[float]
) -> None:
    rolling = Rolling(radius=radius)
    still = rolling.at_rest()
    k = rolling.expand([0.0, 0.0, yaw, camber, pitch, *rates[:4]], rates[4:], ARRAYS)
    turned = still.turned(k)
    assert np.allclose([float(np.asarray(r)) for r in turned.coordinates["wheel"].ratio], 0.0, atol=1e-12)
    # the other rows are combinations of the moving object's: nothing else is lost but one
    rows = np.array([still.project(k, list(np.eye(6)[i]), ARRAYS) for i in range(6)], dtype=float)
    assert np.linalg.matrix_rank(rows, tol=1e-9) == 3


@settings(max_examples=10, deadline=None)
@given(st.floats(-0.02, 0.02), st.floats(-0.02, 0.02), st.integers(0, 1000))
def test_up_is_the_normal_of_the_floor(x: float, y: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 2000
    flat = np.column_stack([rng.uniform(-1, 1, (n, 2)), 0.2 + 2e-4 * rng.normal(size=n)])
    R = exp_rotation(np.array([x, y, 0.0]))
    poses = Poses(np.arange(n) / 100, np.broadcast_to(R, (n, 3, 3)), flat @ R.T)
    known = _directions(poses, None)
    up, std = known.up, float(np.sqrt(np.diag(known.covariance)[:2].max()))
    assert np.abs(up - R[:, 2]).max() < 5e-4
    assert std >= np.radians(0.1)


def test_windows_are_nearly_the_best() -> None:
    rng = np.random.default_rng(0)
    t = np.arange(3000) / 100
    wave = 0.05 * np.sin(2 * np.pi * 1.3 * t) + 0.02 * np.sin(2 * np.pi * 2.1 * t + 1)
    true = -0.05 * (2.6 * np.pi) ** 2 * np.sin(2 * np.pi * 1.3 * t)
    true += -0.02 * (4.2 * np.pi) ** 2 * np.sin(2 * np.pi * 2.1 * t + 1)
    noisy = wave + 2e-4 * rng.normal(size=len(t))

    inside = (t > 1) & (t < 29)
    second = {n: coordinate_motion(t, noisy, window_s=n / 100).acceleration[inside] for n in range(9, 61, 2)}
    errors = {n: np.sqrt(np.mean((x - true[inside]) ** 2)) for n, x in second.items()}
    measured = true[inside] + 0.5 * rng.normal(size=inside.sum())
    assert errors[_best({n: measured - x for n, x in second.items()})] < 1.05 * min(errors.values())
    hidden = np.where(np.arange(inside.sum()) % 50 < 30, np.nan, measured)
    gaps = {n: (hidden if n > 15 else measured) - x for n, x in second.items()}
    assert _best(gaps) <= 15  # longer ones lose more than half of the samples


def test_a_late_clock_widens_intervals(fit: Fit) -> None:
    typed = fit.inputs.on_clock(ClockMap(0.0, 2e-3, 0.0, 0.0, 0.0, False))  # a frame and a sample that a person typed
    before, after = fit.solution, _unsure_of_clock(fit, typed)
    moved = _refit(fit, next(estimated(typed)).inputs)["b_psi"].value - before["b_psi"].value
    assert abs(moved) > 0.2 * before["b_psi"].value
    halves = [(s["b_psi"].ci95 or (0.0, 0.0))[1] - s["b_psi"].value for s in (before, after)]
    more = before.uncertainty.critical * abs(moved)
    assert halves[1] == pytest.approx(np.hypot(halves[0], more), rel=0.05)
    assert halves[1] > 1.2 * halves[0]


def test_an_interval_as_wide_as_the_body_is_none(fit: Fit) -> None:
    assert fit.solution["Iyy"].status is Status.IDENTIFIED
    lost = fit.inputs.on_clock(ClockMap(0.0, 0.1, 0.0, 0.0, 0.0, False))
    found = _unsure_of_clock(fit, lost)["Iyy"]
    assert found.status is Status.NOT_IDENTIFIABLE
    assert found.ci95 is None


def _unsure_of_clock(fit: Fit, inputs: Inputs) -> Solution:
    """The fit's solution once more widened, by the offset of the clock alone."""
    offset = next(estimated(inputs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(variations, "estimated", lambda _: iter([offset]))
        return with_estimated(replace(fit, inputs=inputs)).solution


def test_what_the_model_does_not_explain_makes_no_friction_small(fit: Fit) -> None:
    other = _with(fit, swapped(fit.inputs))
    # the case that is meant: at its bound, as near as a search over its logarithm goes
    assert other.solution["b_psi"].value < 1e-2 * other.solution["b_psi"].noise
    solution, refused = _judged(other)
    assert solution["b_psi"].status is Status.NOT_IDENTIFIABLE
    assert "cannot be distinguished from zero" in refused["b_psi"].sentence


def test_a_friction_that_is_small_beside_all_else_is_known_as_such(fit: Fit) -> None:
    """As above, but explained: without scrub on the ground, and with a motion that would show it."""
    scrub = np.asarray(fit.balance.kinematics.coordinates["yaw"].speed) * fit.solution["b_psi"].value
    lessened = np.array(fit.balance.wrench)
    R = fit.moved.motion.poses
    assert R is not None
    lessened[:, 3:] -= scrub[:, None] * R.rotation[:, 2, :]  # a moment about the vertical
    other = _with(fit, fit.inputs, replace(fit.balance, wrench=np.asfortranarray(lessened)))
    found = _judged(other)[0]["b_psi"]
    assert found.status is Status.IDENTIFIED
    assert found.ci95 is not None
    assert found.ci95[0] == 0
    # the same of hardly any turning is not known
    slow = replace(other.balance.kinematics.coordinates["yaw"], speed=1e-3 * scrub)
    k = replace(other.balance.kinematics, coordinates={**other.balance.kinematics.coordinates, "yaw": slow})
    still = replace(other, balance=replace(other.balance, kinematics=k))
    assert _judged(still)[0]["b_psi"].status is Status.NOT_IDENTIFIABLE


def _with(fit: Fit, inputs: Inputs, balance: Balance | None = None) -> Fit:
    """The same fit of other inputs."""
    whole = whole_balance(inputs, fit.moved) if balance is None else balance
    train = replace(compressed(inputs, fit.moved, fit.plan.segments, whole), weights=fit.train.weights)
    everything = (float(inputs.times_s[0]), float(inputs.times_s[-1]) + 0.5 / inputs.rate_hz)
    rows = fit.prediction.rows.copy()  # with the windows that were chosen
    rows[:, :, -1] = whole.rows(everything)[:, :, -1]
    prediction = replace(fit.prediction, rows=rows, used=fit.prediction.used & np.isfinite(rows).all(axis=(1, 2)))
    solution = solve_with(inputs, train, damping=fit.solution.damping)
    return replace(fit, inputs=inputs, train=train, balance=whole, prediction=prediction, solution=solution)


def _radius(inputs: Inputs) -> float:
    assert inputs.mechanism.wheel is not None
    return inputs.mechanism.wheel.radius
