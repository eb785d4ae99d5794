"""Replay of an identified wheelbarrow, and truth and model in the hands of one person."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from palpate.elements import PolynomialSpring, RigidBody, ScalarInertia, Viscous, WheelSpin
from palpate.errors import DataProblem, PalpateError
from palpate.experiment.run import replay_fit
from palpate.experiment.stage.fit import Fit, Plan, fit_inputs
from palpate.experiment.stage.inputs import Belief, Filtering, Inputs, Sensor
from palpate.experiment.stage.result import (
    replay_entry,
)
from palpate.mechanisms import Free, Hinge, Mechanism, Rolling
from palpate.model import Model, load_object
from palpate.motion.clock import Even
from palpate.motion.derivatives import design_lowpass
from palpate.physics.functions import ARRAYS, FLOATS
from palpate.physics.inertia import phi_from_mass_properties
from palpate.physics.motion import Poses, exp_rotation, transform
from palpate.runtime.replay import Replay, replay
from palpate.twin.rolling import RollingTwin, Segment, body_poses, pushes, wheelbarrow_twin
from studies.hands import Compared, Hands, Intention, compare_held, growth, hold, intended
from studies.wheelbarrows import wheeled
from tests.conftest import needs
from tests.rolling_session import standing_at

TRAIN, TEST = (2.0, 32.0), (35.0, 39.0)
SEEDS = st.integers(0, 100_000)


# --- replay -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def twin() -> RollingTwin:
    spans = (Segment("train", *TRAIN, ("push", "roll", "scrub", "lift", "mixed")), Segment("test", *TEST, ("mixed",)))
    return wheelbarrow_twin(5, segments=spans)


@pytest.fixture(scope="module")
def fit(twin: RollingTwin) -> Fit:
    """Identified from poses and wrenches with the noise that markers and load cells leave."""
    rng = np.random.default_rng(7)
    times = np.arange(4000) / 100.0
    R, r = body_poses(twin, times)
    # 23 markers of 0.3 mm know their middle and the turn about it
    turned, middle = R @ exp_rotation(np.array([1.1e-4, 2.1e-4, 1.2e-4]) * rng.normal(size=r.shape)), [-0.15, 0.6, 0.0]
    poses = Poses(times, turned, r + (R - turned) @ middle + 6e-5 * rng.normal(size=r.shape))
    measured = []
    for own, turn in zip(pushes(twin, times), twin.R_body_sensor, strict=True):
        w = np.hstack([own[:, :3] @ turn, own[:, 3:] @ turn])
        measured.append(w + rng.normal(size=w.shape) * np.repeat([0.05, 0.0015], 3))
    none = Even(times, np.zeros((len(times), 6)), (), 0.0, np.arange(0))
    model = load_object("wheelbarrow").with_wheel(twin.wheel.radius)
    inputs = Inputs(
        model=model,
        times_s=times,
        sensors=tuple(
            Sensor(none, transform(turn, at)) for turn, at in zip(twin.R_body_sensor, twin.r_body_sensor, strict=True)
        ),
        filtering=Filtering(0.07, 4, design_lowpass(100.0, 6.0), 6.0),
        q=model.mechanism.coordinates_of(poses),
        poses=poses,
        measured=np.array(measured),
        blocked=standing_at(twin, times),
        belief=Belief(mass=float(twin.model.p[:10][0])),
    )
    return fit_inputs(inputs, {"train": [TRAIN], "test": [TEST]}, Plan((TRAIN,)))


def true_parameters(twin: RollingTwin) -> np.ndarray:
    return twin.model.p


def _played(fit: Fit, segments: list[tuple[float, float]], p: np.ndarray | None = None) -> Replay:
    played = replay_fit(fit, segments, p)
    assert played is not None
    return played


def _errors(played: Replay) -> dict[str, float]:
    """RMS error of the contact's place (m, a distance) and of each angle (rad)."""
    errors = {name: value for name, (value, _) in played.errors.items()}
    return {"contact": math.hypot(errors.pop("x"), errors.pop("y")), **errors}


@pytest.fixture(scope="module")
def played(fit: Fit) -> Replay:
    return _played(fit, [TEST])


@pytest.fixture(scope="module")
def of_truth(fit: Fit, twin: RollingTwin) -> dict[str, float]:
    """Errors of the true parameters on the same input."""
    return _errors(_played(fit, [TEST], true_parameters(twin)))


def test_the_model_goes_where_the_truth_goes(played: Replay, of_truth: dict[str, float]) -> None:
    errors = _errors(played)
    assert list(errors) == ["contact", "yaw", "camber", "pitch"]
    assert max(error / of_truth[name] for name, error in errors.items()) <= 1.2
    assert errors["contact"] < 2e-3
    assert max(math.degrees(errors[name]) for name in ("yaw", "camber", "pitch")) < 0.4


@pytest.mark.parametrize(
    ("which", "factor", "where"),
    [
        (slice(4, 10), 1.2, ("contact", "yaw", "pitch")),  # inertia
        (slice(0, 10), 1.2, ("contact", "pitch")),  # everything is heavier
        (slice(11, 12), 1.5, ("contact", "pitch")),  # rolling resistance
        (slice(12, 13), 1.5, ("yaw",)),  # scrub
    ],
)
def test_a_wrong_parameter_shows(
    fit: Fit,
    twin: RollingTwin,
    of_truth: dict[str, float],
    which: slice,
    factor: float,
    where: tuple[str, ...],
) -> None:
    p = true_parameters(twin)
    p[which] *= factor
    found = _errors(_played(fit, [TEST], p))
    assert min(found[name] / of_truth[name] for name in where) > 1.5


def test_the_step_is_not_what_is_seen(fit: Fit, twin: RollingTwin, of_truth: dict[str, float]) -> None:
    inputs, at = fit.inputs, slice(*fit.balance.indices(TEST))
    model = inputs.model.with_values(true_parameters(twin))
    state = inputs.mechanism.states(fit.moved.motion)[at]
    fine = replay(model, inputs.times_s[at], fit.balance.wrench[at], state, window_s=0.5, dt=2e-3, least_travel=0.0)
    for name, error in _errors(fine).items():
        assert of_truth[name] == pytest.approx(error, rel=0.05), name


def test_a_zero_that_was_estimated_along_does_not_push(fit: Fit, twin: RollingTwin, of_truth: dict[str, float]) -> None:
    p, zero = true_parameters(twin), np.array([3.0, -2.0, 1.0, 0.5, -0.4, 0.3])
    shifted = replace(fit.balance, wrench=fit.balance.wrench + zero)
    other = replace(fit, inputs=fit.inputs.with_zero("estimated"), balance=shifted)
    assert _errors(_played(other, [TEST], np.append(p, zero))) == pytest.approx(of_truth, rel=1e-9)
    pushed = _errors(_played(other, [TEST], np.append(p, 0 * zero)))
    assert pushed["yaw"] > 2 * of_truth["yaw"]


def test_windows_go_around_feet_on_the_ground_and_from_segment_to_segment(fit: Fit) -> None:
    used = fit.balance.used
    assert used is not None
    times = fit.inputs.times_s
    down = replace(fit.balance, used=used & ~((times > 35.9) & (times < 36.2)))
    found = _played(replace(fit, balance=down), [(35.0, 37.0), (37.5, 38.6)])
    assert [w.start_s for w in found.windows] == pytest.approx([35.0, 36.2, 37.5, 38.0], abs=0.011)
    assert all(len(w.times_s) == 51 for w in found.windows)


def test_what_the_result_and_the_figures_get(fit: Fit, played: Replay) -> None:
    errors, entry = _errors(played), replay_entry(played)
    assert entry is not None
    assert json.loads(json.dumps(entry, allow_nan=False)) == entry
    x, y = (entry["coordinates"][name] for name in ("x", "y"))
    assert x["unit"] == y["unit"] == "m"
    assert math.hypot(x["value"], y["value"]) == pytest.approx(errors["contact"])
    assert entry["rms"] == pytest.approx(math.hypot(errors["yaw"], errors["camber"], errors["pitch"]))
    assert entry["windows"] == len(entry["each"]) == 7
    pooled = math.sqrt(np.mean([w["rms"] ** 2 for w in entry["each"]]))
    assert entry["rms"] == pytest.approx(pooled)
    assert len(played.windows) == 7
    units = [("x", "m"), ("y", "m"), ("yaw", "rad"), ("camber", "rad"), ("pitch", "rad")]
    for window in played.windows:
        assert [(c.name, c.unit) for c in window.tracks] == units
    nothing = _played(fit, [(35.0, 35.2)])
    entry = replay_entry(nothing)
    assert entry is not None
    assert entry["rms"] is None
    assert nothing.windows == ()


# --- in somebody's hands ----------------------------------------------------------------------------------------------


def truth_and_path(seed: int, seconds: float) -> tuple[Model, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A true wheelbarrow, its grips, and what a person does with it: times, states, accelerations."""
    twin = wheelbarrow_twin(seed)
    model = load_object("wheelbarrow").with_wheel(twin.wheel.radius).with_values(true_parameters(twin))
    times = 9.0 + np.arange(round(100 * seconds) + 1) / 100.0
    return model, twin.r_body_grip, times, *wheeled(twin, times)


def figures(c: Compared) -> tuple[float, float, float]:
    """cm, deg and % of the hand force's range, each the largest."""
    return 100 * c.apart_m.max(), math.degrees(c.apart_rad.max()), 100 * c.force_share.max()


def test_who_knows_an_object_moves_it_as_meant() -> None:
    """Without dry friction, all that the motion needs is in the intention."""
    model, grips, times, states, accelerations = truth_and_path(1, 2.0)
    meant = intended(model, grips, times, states, accelerations)
    held = hold(model.without_dry(), Hands(grips), meant, states[0])
    assert np.abs(held.positions - states[:, :5]).max() < 5e-4
    assert np.abs(held.forces - meant.forces).max() < 0.3
    R = np.array([model.mechanism.place(x, FLOATS)[0] for x in states])
    axle = np.column_stack([states[:, :2], np.full(len(times), model.mechanism.radius)])
    assert meant.points == pytest.approx(grips @ R.transpose(0, 2, 1) + axle[:, None], abs=1e-12)


def test_the_same_person_tells_a_wrong_object_from_the_right_one() -> None:
    model, grips, times, states, accelerations = truth_and_path(1, 2.5)
    meant = intended(model, grips, times, states, accelerations)
    hands, p = Hands(grips), model.p
    same = compare_held(model, model, hands, meant, states[0], dt=5e-3)
    assert figures(same) == (0.0, 0.0, 0.0)

    def beside(other: np.ndarray) -> tuple[float, float, float]:
        return figures(replace(same, model=hold(model.with_values(other), hands, meant, states[0], dt=5e-3)))

    as_identified = p * np.array([1.0, *[1.0005] * 3, *[1.002] * 6, 1.01, 1.01, 1.03])
    cm, deg, percent = beside(as_identified)
    assert (cm < 5, deg < 2, percent < 5) == (True, True, True)
    for which in (slice(0, 10), slice(4, 10)):  # everything is heavier, or the inertia alone
        wrong = p.copy()
        wrong[which] *= 1.2
        assert beside(wrong)[2] > 8


def test_a_wheelbarrow_in_hands_against_lagrange() -> None:
    """Point masses on a wheel, springs and dampers at two grips, integrated by SciPy: the same motion and forces."""
    needs("casadi", "casadi")
    from tests.oracles.wheelbarrow_lagrange import Barrow, Lagrange

    rng = np.random.default_rng(3)
    masses, places = rng.uniform(2, 8, size=6), rng.normal(size=(6, 3)) * [0.1, 0.25, 0.2] + [-0.1, 0.4, 0.0]
    radius, spin, b_wheel, b_yaw = 0.2, 0.05, 0.5, 3.0
    oracle = Lagrange(Barrow(masses, places, 3.0, 0.04, spin, radius, 9.80665, b_wheel, 0.0, b_yaw))
    phi = np.array([3.0, 0, 0, 0, 0.04, 0, 0, 0.04, 0, 0])
    for m, r in zip(masses, places, strict=True):
        phi += phi_from_mass_properties(m, r, np.zeros((3, 3)))
    elements = (RigidBody(), WheelSpin(radius=radius), Viscous("b_v", "wheel"), Viscous("b_psi", "yaw"))
    model = Model("m", Rolling(radius=radius), elements).with_values([*phi, spin, b_wheel, b_yaw])
    grips = np.array([[-0.05, 1.2, -0.25], [-0.04, 1.19, 0.26]])
    hands = Hands(grips, balance=150.0, balance_damping=15.0)
    start = np.array([0.1, -0.2, 0.4, 0.03, 0.3, 0.2, 0.1, -0.1, 0.2])
    rest = np.tile([*start[:5], *[0.0] * 4], (81, 1))
    times = np.arange(81) / 100.0
    still = intended(model, grips, times, rest, np.zeros((81, 4)))
    sway = 0.1 * np.sin(2 * np.pi * np.outer(times, [0.5, 0.8, 1.1, 0.7, 0.6, 0.9]) + 0.3).reshape(-1, 2, 3)
    swing = 0.1 * 2 * np.pi * np.array([0.5, 0.8, 1.1, 0.7, 0.6, 0.9])
    meant = Intention(times, still.points + sway, still.forces)

    def forces(t: float, q: np.ndarray, v: np.ndarray, twist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        c, s = (np.array([f(a) for a in q[3:6]]) for f in (np.cos, np.sin))
        yaw = np.array([[c[0], -s[0], 0], [s[0], c[0], 0], [0, 0, 1]])
        lean = np.array([[1, 0, 0], [0, c[1], -s[1]], [0, s[1], c[1]]])
        turn = np.array([[c[2], -s[2], 0], [s[2], c[2], 0], [0, 0, 1]])
        R = yaw @ lean @ np.array([[0, -1, 0], [0, 0, 1], [-1, 0, 0]]) @ turn
        speed, omega = np.split(twist @ v, 2)
        phase = 2 * np.pi * t * np.array([0.5, 0.8, 1.1, 0.7, 0.6, 0.9]) + 0.3
        off = still.points[0] + 0.1 * np.sin(phase).reshape(2, 3) - (q[:3] + grips @ R.T)
        rate = (swing * np.cos(phase)).reshape(2, 3) - (speed + np.cross(omega, grips)) @ R.T
        F = still.forces[0] + 300 * off + 20 * rate + 150 * (off - off.mean(0)) + 15 * (rate - rate.mean(0))
        own = F @ R
        return F, np.concatenate([own.sum(0), np.cross(grips, own).sum(0)])

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        q, v = y[:7], y[7:]
        e = oracle.evaluate(q, v)
        _, w = forces(t, q, v, e["twist"])
        K = np.block([[e["M"], e["J"].T], [e["J"], np.zeros((3, 3))]])
        right = np.concatenate([e["twist"].T @ w - e["h"].ravel(), -e["J_dot_v"].ravel()])
        return np.concatenate([v, np.linalg.solve(K, right)[:7]])

    x, y, yaw, camber, pitch, ahead, h1, c1, p1 = start
    q = np.array([x, y, radius, yaw, camber, pitch, 0.0])
    aside = -radius * c1
    v = np.array(
        [
            ahead * math.cos(yaw) - aside * math.sin(yaw),
            ahead * math.sin(yaw) + aside * math.cos(yaw),
            0.0,
            h1,
            c1,
            p1,
            0.0,
        ]
    )
    J = oracle.evaluate(q, v)["J"]
    v[6] = -np.linalg.lstsq(J[:, 6:], J[:, :6] @ v[:6], rcond=None)[0][0]
    assert np.abs(J @ v).max() < 1e-12  # it rolls
    found = solve_ivp(rates, (0.0, 0.8), np.concatenate([q, v]), t_eval=times, rtol=1e-8, atol=1e-10)
    true = found.y[[0, 1, 3, 4, 5]].T
    expected = np.array(
        [
            forces(t, y[:7], y[7:], oracle.evaluate(y[:7], y[7:])["twist"])[0]
            for t, y in zip(times, found.y.T, strict=True)
        ]
    )
    assert np.ptp(true, axis=0).min() > 0.05  # it does move
    coarse, fine = (hold(model, hands, meant, start, dt=dt) for dt in (4e-3, 1e-3))
    errors = [np.abs(h.positions - true).max() for h in (coarse, fine)]
    assert errors[0] < 1e-3
    assert errors[1] < 0.4 * errors[0]
    assert np.abs(fine.forces - expected).max() < 0.002 * np.ptp(expected)


def test_what_leans_too_far_topples_unless_somebody_balances() -> None:
    model, grips, times, states, _ = truth_and_path(4, 3.0)
    springs, person = Hands(grips), Hands(grips, balance=300.0, balance_damping=20.0)
    assert growth(model, springs, states[0]) > 1.0
    assert growth(model, person, states[0]) < 1e-3
    still = np.tile([*states[0, :3], 0.0, states[0, 4], *[0.0] * 4], (len(times), 1))
    meant = intended(model, grips, times, still, np.zeros((len(times), 4)))
    start = still[0].copy()
    start[3] = math.radians(1.0)
    fallen, held = (hold(model, hands, meant, start, dt=5e-3) for hands in (springs, person))
    assert abs(fallen.positions[-1, 3]) > math.radians(20)
    assert np.abs(held.positions[-50:, 3]).max() < math.radians(0.8)  # friction of the wheel keeps the rest


def test_a_lean_grows_as_the_linearised_loop_says() -> None:
    model, grips, _, states, _ = truth_and_path(4, 0.1)
    model = model.without_dry()
    times = np.arange(151) / 100.0
    still = np.tile([*states[0, :3], 0.0, states[0, 4], *[0.0] * 4], (len(times), 1))
    meant = intended(model, grips, times, still, np.zeros((len(times), 4)))
    start = still[0].copy()
    start[3] = math.radians(0.01)
    lean = hold(model, Hands(grips), meant, start).positions[:, 3]
    assert math.log(lean[150] / lean[100]) / 0.5 == pytest.approx(growth(model, Hands(grips), still[0]), rel=0.02)


def test_a_door_in_one_hand_against_its_ode() -> None:
    model = Model("m", Hinge(), (ScalarInertia(), Viscous())).with_values([6.0, 3.0])
    grip, times = np.array([[0.8, 0.05, 1.0]]), np.arange(201) / 100.0
    aim = 0.6 + 0.4 * np.sin(2 * times)
    radius, lead = math.hypot(0.8, 0.05), math.atan2(0.05, 0.8)
    points = np.stack([radius * np.cos(aim + lead), radius * np.sin(aim + lead), np.ones(201)], axis=1)[:, None]
    meant = Intention(times, points, np.zeros((201, 1, 3)))

    def rates(t: float, y: np.ndarray) -> list[float]:
        angle, speed = y[0] + lead, y[1]
        goal = 0.6 + 0.4 * math.sin(2 * t) + lead
        rate = 0.8 * math.cos(2 * t)
        off = radius * (np.array([math.cos(goal), math.sin(goal)]) - [math.cos(angle), math.sin(angle)])
        slip = radius * (
            rate * np.array([-math.sin(goal), math.cos(goal)]) - speed * np.array([-math.sin(angle), math.cos(angle)])
        )
        F = 300 * off + 20 * slip
        return [speed, (radius * (math.cos(angle) * F[1] - math.sin(angle) * F[0]) - 3.0 * speed) / 6.0]

    found = solve_ivp(rates, (0.0, 2.0), [0.2, 0.0], t_eval=times, rtol=1e-9, atol=1e-11)
    held = hold(model, Hands(grip), meant, np.array([0.2, 0.0]), dt=1e-3)
    assert np.abs(held.positions[:, 0] - found.y[0]).max() < 1e-3


def test_light_things_in_firm_hands_take_short_steps() -> None:
    """A damper of 20 N s/m on 50 g: explicit steps of 10 ms would blow up."""
    phi = phi_from_mass_properties(0.05, np.zeros(3), 1e-4 * np.eye(3))
    model = Model("m", Free(gravity=0.0), (RigidBody(),)).with_values(phi)
    times = np.arange(51) / 100.0
    meant = Intention(times, np.zeros((51, 1, 3)), np.zeros((51, 1, 3)))
    start = np.array([0.1, 0, 0, 1, 0, 0, 0, *[0.0] * 6])
    held = hold(model, Hands(np.zeros((1, 3))), meant, start, dt=1e-2)
    poles = np.roots([0.05, 20.0, 300.0])
    fading = 0.1 * (poles[1] * np.exp(poles[0] * times) - poles[0] * np.exp(poles[1] * times)) / (poles[1] - poles[0])
    assert np.abs(held.positions[:, 0] - fading).max() < 3e-3
    feather = model.with_values(1e-7 * np.array(phi))
    with pytest.raises(PalpateError, match="too light for hands so firm"):
        hold(feather, Hands(np.zeros((1, 3))), meant, start)


@given(SEEDS, st.sampled_from(["full", "upright", "planar", "hinge", "free"]))
@settings(max_examples=40, deadline=None)
def test_places_are_those_of_the_mechanism(seed: int, kind: Any) -> None:
    """Poses as the mechanisms' own motions have them, and gravity turned into the body."""
    rng = np.random.default_rng(seed)
    mechanism: Mechanism = (
        Hinge(inclination=0.0) if kind == "hinge" else Free() if kind == "free" else Rolling(moves=kind)
    )
    n = len(mechanism.accelerations)
    state = rng.uniform(-1, 1, size=len(mechanism.state))
    if kind == "free":
        state[3:7] /= np.linalg.norm(state[3:7])
    state[-n:] = 0.0
    R, r = (np.array(x) for x in mechanism.place(state.tolist(), FLOATS))
    k = mechanism.expand(state.tolist(), [0.0] * n, FLOATS)
    assert R[2] * 9.80665 == pytest.approx(k.specific_acceleration, abs=1e-12)
    assert np.abs(R @ R.T - np.eye(3)).max() < 1e-12
    if isinstance(mechanism, Rolling):
        poses = mechanism.motion(np.zeros(1), state[None], np.zeros((1, n))).poses
        assert poses is not None
        assert pytest.approx(poses.rotation[0], abs=1e-12) == R
        assert pytest.approx(poses.position[0], abs=1e-12) == r
    rows, _ = mechanism.place(list(np.tile(state, (3, 1)).T), ARRAYS)
    assert np.array([[np.broadcast_to(x, 3)[1] for x in row] for row in rows]) == pytest.approx(R, abs=1e-15)


def test_what_is_no_hand_and_no_intention() -> None:
    model = Model("m", Hinge(), (ScalarInertia(),)).with_values([6.0])
    for grips in (np.zeros(3), np.zeros((0, 3)), np.full((1, 3), np.nan)):
        with pytest.raises(PalpateError, match="grips must be"):
            Hands(grips)
    with pytest.raises(PalpateError, match="damping of a hand must not be negative"):
        Hands(np.ones((1, 3)), damping=-1.0)
    hands, start = Hands(np.ones((1, 3))), np.zeros(2)
    good = Intention(np.arange(5) / 100.0, np.ones((5, 1, 3)), np.zeros((5, 1, 3)))
    for times in (np.arange(3.0), np.array([0.0, 0.1, 0.2, 0.3, 0.5])):
        with pytest.raises(DataProblem, match="evenly apart"):
            hold(model, hands, replace(good, times_s=times), start)
    with pytest.raises(DataProblem, match=r"not \(5, 1, 3\)"):
        hold(model, hands, replace(good, forces=np.zeros((5, 2, 3))), start)
    with pytest.raises(DataProblem, match="not known"):
        hold(model, hands, replace(good, points=np.full((5, 1, 3), np.nan)), start)
    wild = Model("m", Hinge(), (ScalarInertia(), PolynomialSpring(order=9))).with_values([1.0, *[1e9] * 10])
    with pytest.raises(PalpateError, match="in the hands, a step leads nowhere"):
        hold(wild, hands, replace(good, times_s=np.arange(5.0)), np.ones(2))
