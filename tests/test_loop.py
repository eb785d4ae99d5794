"""The closed loop: hand, handle, sensor, model and a simulated arm, beside the same hand on the true object."""

from __future__ import annotations

import json
import math
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from palpate.cli.model import read_wrench
from palpate.elements import ScalarInertia, Viscous
from palpate.errors import MissingExtra, PalpateError
from palpate.experiment import Result
from palpate.experiment.stage.result import DRIVEN_BY
from palpate.mechanisms import Hinge
from palpate.model import Model, load_object
from palpate.physics.inertia import phi_from_mass_properties
from palpate.rendering.hand import Grip, Hand, Intention, Moving, grip_of, held, motion_of, on_object, rocking
from palpate.rendering.loop import (
    Robot,
    Setup,
    Trace,
    Trial,
    apparent_inertia,
    compare_traces,
    loop_line,
    run_robot,
    run_true,
    trial,
    wrong_by,
)
from palpate.rendering.robot import Arm, Inner, LoopSensor, Reading
from palpate.rendering.stability import (
    Line,
    apparent,
    longest_delay,
    smallest_inertia,
    spectral_radius,
    stepped,
    stiffest_hand,
    true_apparent,
)
from palpate.report.closed_loop import trial_verdict
from palpate.runtime.replay import simulate, steady_wrench
from palpate.runtime.stepper import Stepper
from palpate.twin.door import paper_door
from tests.command import palpate
from tests.conftest import needs
from tests.door_files import short_door

needs("mujoco", "mujoco")

DT = 1e-3
PERFECT = LoopSensor(noise_n=0.0, noise_nm=0.0, delay_s=0.0)


def simple(inertia: float, damping: float = 2.0) -> Model:
    """A hinge with nothing to be estimated: every number can be written down."""
    return Model("simple", Hinge(), (ScalarInertia("I"), Viscous("b_v")), {"I": inertia, "b_v": damping})


def arm_at(model: Model, inner: Inner, hand_mass: float = 0.0) -> tuple[Arm, Moving]:
    body, grip = motion_of(model)([0.0, 0.0], [0.0]), grip_of(model)
    arm = Arm(body, grip, hand_mass, inner, DT)
    arm.reset(body.R, body.point(grip.place)[0], np.zeros(3))
    return arm, body


@pytest.fixture(scope="module")
def door() -> Model:
    return paper_door()


@pytest.fixture(scope="module")
def session(door: Model) -> tuple[Grip, Hand, Intention, Trace]:
    """Two seconds of a hand on the true door."""
    grip, hand = grip_of(door), Hand()
    intention = rocking(door, grip, hand, 2.0, DT)
    return grip, hand, intention, run_true(door, grip, hand, intention)


def test_an_identified_door_feels_true_and_one_that_is_wrong_by_a_fifth_does_not(door_result: Result) -> None:
    """What `identify` found from recordings, beside the door that made them."""
    model, truth, hand = door_result.model, short_door().model, Hand()
    assert model is not None
    grip = grip_of(model)
    intention = rocking(truth, grip, hand, 3.0, DT)
    true = run_true(truth, grip, hand, intention)
    intention = on_object(intention, model, grip)
    identified = compare_traces(run_robot(model, grip, hand, intention), true)
    assert identified.stable
    assert identified.passed
    assert identified.force.percent[0] < 2.0
    wrong = compare_traces(run_robot(wrong_by(model, 0.2), grip, hand, intention), true)
    assert wrong.stable
    assert not wrong.passed
    assert wrong.force.percent[0] > 6.0


def test_wrong_means_inertia_and_damping_but_neither_springs_nor_stops(door: Model) -> None:
    wrong = wrong_by(door, 0.2)
    changed = {name for name in door.values if wrong.values[name] != door.values[name]}
    assert changed == {"I", "b_v", "b_c", "b_bc", "b_s", "b_l"}
    assert wrong.values["I"] == pytest.approx(1.2 * door.values["I"])


def test_the_hand_on_the_true_object_is_the_textbooks_equation() -> None:
    model, hand = simple(6.0), Hand()
    grip = grip_of(model)
    intention = rocking(model, grip, hand, 2.0, DT)
    found = run_true(model, grip, hand, intention)
    r = math.hypot(grip.hand[0], grip.hand[1])
    own = grip.handle[9] + grip.handle[0] * (grip.place @ grip.place) + 2 * grip.handle[1:4] @ grip.place
    total = 6.0 + float(own) + hand.mass * r * r  # kg m2 about the hinge, by Steiner
    wanted = intention.positions[:, 0]
    rate = np.gradient(wanted, DT)

    def pull(t: float, q: float, v: float) -> float:
        goal, speed = np.interp(t, intention.times_s, wanted), np.interp(t, intention.times_s, rate)
        d = goal - q
        return float(r * (hand.stiffness * r * np.sin(d) + hand.damping * r * (speed * np.cos(d) - v)))

    def motion(t: float, y: np.ndarray) -> list[float]:
        return [y[1], (pull(t, y[0], y[1]) - 2.0 * y[1]) / total]

    times = found.times_s[:-1]
    exact = solve_ivp(motion, (0, 2.0), [wanted[0], 0.0], t_eval=times, rtol=1e-8, atol=1e-10, max_step=0.01)
    q, _ = exact.y
    a = np.array([motion(t, y)[1] for t, y in zip(exact.t, exact.y.T, strict=True)])
    force = np.array([pull(t, *y) for t, y in zip(exact.t, exact.y.T, strict=True)]) / r - hand.mass * r * a
    assert np.abs(found.way[:-1, 0] - r * q).max() < 2e-3 * np.ptp(r * q)
    assert np.abs(found.force[:-1, 0] - force).max() < 1e-2 * np.ptp(force)


def test_a_perfect_sensor_leaves_only_the_arms_own_error(
    door: Model, session: tuple[Grip, Hand, Intention, Trace]
) -> None:
    grip, hand, intention, true = session
    found = run_robot(door, grip, hand, intention, Robot(PERFECT, Inner(wrong=0.0)))
    assert compare_traces(found, true).force.percent[0] < 0.5
    bare = run_robot(door, grip, hand, intention, Robot(PERFECT, Inner(velocity=False, acceleration=False)))
    assert compare_traces(bare, true).force.percent[0] > 4 * compare_traces(found, true).force.percent[0]
    pace = intention.pace_hz
    assert abs(apparent_inertia(found, pace, from_s=1.0)) == pytest.approx(
        abs(apparent_inertia(true, pace, from_s=1.0)), rel=0.01
    )


def test_a_wheelbarrow_in_a_plane_is_rendered_too() -> None:
    phi = phi_from_mass_properties(40.0, [-0.1, 0.45, 0.0], np.diag([5.0, 4.0, 6.0]))
    model = load_object("wheelbarrow-planar").with_values([*phi, 0.5, 1.2])
    grip, hand = grip_of(model), Hand()
    intention = rocking(model, grip, hand, 2.0, DT)
    assert intention.holds[2] > 100.0  # somebody lifts it
    true = run_true(model, grip, hand, intention)
    found = compare_traces(run_robot(model, grip, hand, intention), true)
    assert found.ways == ("ahead", "up")
    assert found.passed


def test_an_object_too_light_for_the_robot_is_told_with_what_it_needs() -> None:
    light = simple(0.4)
    found = trial(light, setup=Setup(seconds=3.0, wrong=0.0))
    assert not found.passed
    assert not found.comparison.stable
    assert found.limits["smallest_inertia"] > found.line.mass
    assert math.isnan(found.limits["stiffest_hand"])
    heavy = replace(found.line, mass=1.05 * found.limits["smallest_inertia"])
    assert heavy.stable


def test_the_inner_loop_has_twenty_hertz() -> None:
    model, inner = simple(6.0), Inner(velocity=False, acceleration=False)
    (arm, _), moving, grip = arm_at(model, inner), motion_of(model), grip_of(model)
    hz, size, steps = 20.0, 2e-3, 500
    angle: list[float] = []
    for i in range(steps):
        body = moving([size * math.sin(2 * math.pi * hz * i * DT), 0.0], [0.0])
        arm.step(replace(body, p=body.point(grip.place)[0]), np.zeros(3))
        _, p = arm.handle()
        angle.append(math.atan2(p[1], p[0]))
    late = np.array(angle[-200:])  # whole periods
    gain = 2 * abs(np.mean(late * np.exp(-2j * np.pi * hz * np.arange(200) * DT))) / size
    assert 20 * math.log10(gain) == pytest.approx(-3.0, abs=0.6)


def test_the_sensor_at_rest_reads_handle_and_hand() -> None:
    model = simple(6.0)
    grip, body = grip_of(model), motion_of(model)([0.0, 0.0], [0.0])
    arm = Arm(body, grip, 2.0, Inner(wrong=0.0), DT)
    lift = np.array([3.0, -4.0, 2.0 * 9.81])  # MuJoCo's gravity
    arm.reset(body.R, body.point(grip.place)[0], lift)
    target = replace(body, p=body.point(grip.place)[0])
    for _ in range(400):
        arm.step(target, lift)
    read = arm.sensed()
    weight = grip.handle[0] * 9.81
    np.testing.assert_allclose(read[:3], [3.0, -4.0, -weight], atol=0.02)
    com = grip.handle[1:4] / grip.handle[0]
    moment = np.cross(com, [0, 0, -weight]) + np.cross(grip.hand - grip.place, [3.0, -4.0, 0.0])
    np.testing.assert_allclose(read[3:], moment, atol=0.02)


@pytest.mark.parametrize("inner", [Inner(), Inner(acceleration=False)], ids=["acceleration", "velocity"])
def test_the_simulated_arm_shakes_where_the_linear_loop_says_so(inner: Inner) -> None:
    model, hand = simple(6.0), Hand()
    grip = grip_of(model)
    intention = rocking(model, grip, hand, 1.2, DT, size=0.03)
    robot = Robot(LoopSensor(noise_n=0.02, noise_nm=1e-3), inner)
    line = loop_line(model, grip, hand, intention, robot)
    least = smallest_inertia(line) / line.mass
    assert 0.05 < least < 0.9
    assert run_robot(simple(1.2 * least * 6.0), grip, hand, intention, robot).stable
    assert not run_robot(simple(0.8 * least * 6.0), grip, hand, intention, robot).stable


@pytest.mark.parametrize("delay_s", [0.006, 0.024], ids=["dies out", "grows"])
def test_a_stiff_hand_swings_at_the_rate_of_the_linear_loop(delay_s: float) -> None:
    """After a short pull the force swings; how fast that dies out or grows is the logarithm of the spectral radius."""
    model, hand = simple(6.0), Hand(stiffness=3000.0)
    grip, robot = grip_of(model), Robot(LoopSensor(0.0, 0.0, delay_s))
    intention = rocking(model, grip, hand, 1.6, DT)
    pull = np.zeros_like(intention.positions)
    pull[20:60] = 0.01
    intention = on_object(replace(intention, positions=pull), model, grip)
    line = loop_line(model, grip, hand, intention, robot)
    rate = math.log(spectral_radius(line)) / DT
    assert (rate > 0) == (delay_s > 0.01)
    force = run_robot(model, grip, hand, intention, robot).force[:, 0]
    period = round(2 * math.pi * math.sqrt((line.mass + line.handle + hand.mass) / hand.stiffness) / DT)
    sizes = [force[i : i + period].std() for i in (300, len(force) - period)]
    found = math.log(sizes[1] / sizes[0]) / ((len(force) - period - 300) * DT)
    assert found == pytest.approx(rate, abs=0.3)


@settings(max_examples=25)
@given(
    mass=st.floats(2.0, 40.0),
    damping=st.floats(0.0, 20.0),
    stiffness=st.floats(200.0, 5000.0),
    hand_damping=st.floats(5.0, 60.0),
)
def test_the_longest_delay_is_that_of_the_textbook(
    mass: float, damping: float, stiffness: float, hand_damping: float
) -> None:
    """M s^2 + B s + (b s + k) exp(-s d) = 0 has roots on the imaginary axis first at this d."""
    M, B, k, b = mass, damping, stiffness, hand_damping
    w = math.sqrt(max(np.roots([M * M, B * B - b * b, -k * k]).real))
    exact = (math.atan2(b * w, k) + math.atan2(B, M * w)) / w
    dt = exact / 40.0
    line = Line(M, B, hand=Hand(0.0, b, k), ideal=True, dt=dt)
    found = longest_delay(line, 2.0 * exact)
    assert found == pytest.approx(exact, abs=2.5 * dt)  # holding a sample is half a step late, and so is Euler


def test_without_a_hand_that_pulls_the_mass_behind_the_sensor_is_the_smallest_inertia() -> None:
    """x'' = -m x''(t - d) / M is stable for any delay where m < M, and for none where m > M."""
    line = Line(10.0, handle=1.0, hand=Hand(2.0, 0.5, 1.0), ideal=True, delay_s=0.004)
    assert smallest_inertia(line) == pytest.approx(3.0, rel=0.03)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_the_transition_is_the_loop_step_by_step(count: int) -> None:
    """The same loop as a program: the plant by its exponential, the model by the Stepper, forces in a queue."""
    line = Line(8.0, 5.0, 12.0, 0.9, Hand(2.0, 20.0, 700.0), 6.0, Inner(), delay_s=count * DT)
    h, w = line.hand, line.inner.omega
    total, behind = line.arm + h.mass, h.mass + line.handle
    believed = (line.arm - line.handle) * 1.1 + line.handle
    plant = np.array([[0, 1, 0], [-h.stiffness / total, -h.damping / total, believed / total], [0, 0, 0]])
    rng = np.random.default_rng(count)
    start = rng.standard_normal(5 + count)
    x, v, u, xr, vr = start[:5]
    waiting = deque(start[5:].tolist())  # youngest first
    state = start.copy()
    A = stepped(line)[:, :-1]
    stepper, out = Stepper(simple(8.0, 5.0), DT), [0.0] * 3
    for _ in range(50):
        a = (believed * u - h.stiffness * x - h.damping * v) / total
        waiting.appendleft(-h.stiffness * x - h.damping * v - behind * a)
        force = waiting.pop()
        stepper.reset((xr, vr))
        stepper.step((0, 0, 0, 0, 0, force - line.stiffness * xr), out)
        xr, vr, ar = out
        u = ar + 2 * w * (vr - v) + w * w * (xr - x)
        x, v, _ = expm(plant * DT) @ [x, v, u]
        state = A @ state
        np.testing.assert_allclose(state[:5], [x, v, u, xr, vr], rtol=1e-9, atol=1e-9)


def test_the_robot_feels_like_the_object_at_low_frequencies_and_delay_takes_damping() -> None:
    line = Line(10.0, 5.0, 20.0, 0.9, arm=7.0)
    slow, fast = np.array([0.3, 1.0, 2.0]), np.array([4.0])
    np.testing.assert_allclose(np.abs(apparent(line, slow)), np.abs(true_apparent(line, slow)), rtol=0.02)
    assert spectral_radius(line) < 1.0
    late = replace(line, delay_s=0.02)
    error, more = (abs(apparent(x, fast) - true_apparent(x, fast))[0] for x in (line, late))
    assert more > 2 * error
    assert apparent(late, fast)[0].imag > true_apparent(late, fast)[0].imag  # less damping: it gives energy


def test_a_stiffer_hand_and_a_longer_delay_never_help() -> None:
    line = Line(10.0, 5.0, 0.0, 0.9, arm=7.0, inner=Inner(velocity=False, acceleration=False))
    stiff = [stiffest_hand(replace(line, delay_s=d)) for d in (0.0, 0.004, 0.012)]
    assert stiff[0] > stiff[1] > stiff[2] > 500.0
    for d, k in zip((0.0, 0.004, 0.012), stiff, strict=True):
        at = replace(line, delay_s=d)
        assert replace(at, hand=replace(at.hand, stiffness=0.97 * k)).stable
        assert not replace(at, hand=replace(at.hand, stiffness=1.05 * k)).stable


@given(st.lists(st.lists(st.floats(allow_nan=False), min_size=6, max_size=6), min_size=1, max_size=30))
def test_what_the_loop_reads_is_finite_and_within_the_range(rows: list[list[float]]) -> None:
    sensor = LoopSensor(delay_s=0.003, range_n=100.0, range_nm=5.0)
    reading = Reading(sensor, DT, np.random.default_rng(0))
    with np.errstate(invalid="ignore", over="ignore"):
        read = np.array([reading.read(np.array(row)) for row in rows])
    assert np.isfinite(read).all()
    assert np.abs(read[:, :3]).max() <= 100.0
    assert np.abs(read[:, 3:]).max() <= 5.0


def test_the_delay_is_what_it_says() -> None:
    reading = Reading(LoopSensor(0.0, 0.0, delay_s=0.003), DT, np.random.default_rng(0))
    read = [float(reading.read(np.full(6, float(i)))[0]) for i in range(12)]
    assert read == [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_saturated_samples_do_not_make_the_loop_jump(door: Model, session: tuple[Grip, Hand, Intention, Trace]) -> None:
    grip, hand, intention, good = session
    bad = LoopSensor(range_n=40.0)
    found = run_robot(door, grip, hand, intention, Robot(bad))
    assert found.counts["saturated"] > 10
    assert not found.ended
    assert np.isfinite(found.force).all()
    assert np.abs(found.acceleration).max() < 1.5 * np.abs(good.acceleration).max()
    assert np.abs(np.diff(found.way, axis=0)).max() < 2e-3  # mm by mm


def test_a_runaway_is_stopped_and_told(door: Model, session: tuple[Grip, Hand, Intention, Trace]) -> None:
    grip, _, intention, _ = session
    found = run_robot(door, grip, Hand(stiffness=5000.0), intention, Robot(LoopSensor(delay_s=0.15)))
    assert not found.stable


def test_the_same_intention_on_a_model_whose_axis_points_down(
    door: Model, session: tuple[Grip, Hand, Intention, Trace]
) -> None:
    grip, hand, intention, true = session
    down = replace(door, mechanism=replace(door.mechanism, inclination=math.pi))
    found = run_true(down, grip, hand, on_object(intention, down, grip))
    np.testing.assert_allclose(found.force, true.force, atol=1e-6)
    np.testing.assert_allclose(found.way, true.way, atol=1e-9)


def test_held_adds_handle_and_hand(door: Model) -> None:
    grip = grip_of(door)
    whole = held(door, grip, 2.0)
    own = 2.0 * (grip.hand[0] ** 2 + grip.hand[1] ** 2) + float(grip.handle_phi[9])
    assert whole.values["Izz"] == pytest.approx(own)


def test_without_mujoco_the_line_that_installs_it_is_told(door: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    grip, hand = grip_of(door), Hand()
    with pytest.raises(MissingExtra, match=r"palpate\[mujoco\]"):
        run_robot(door, grip, hand, rocking(door, grip, hand, 2.0, DT))


def test_what_cannot_be_rendered_is_refused(door: Model) -> None:
    grip, hand = grip_of(door), Hand()
    intention = rocking(door, grip, hand, 2.0, DT)
    with pytest.raises(PalpateError, match="model_of: body"):
        run_robot(replace(door, about={"model_of": "whole (body and handle)"}), grip, hand, intention)
    with pytest.raises(PalpateError, match="moves: planar"):
        grip_of(load_object("wheelbarrow"))
    with pytest.raises(PalpateError, match="3 to 600 s"):
        trial(door, setup=Setup(seconds=1.0))
    for bad in (0.0, math.nan, 5.0):
        with pytest.raises(PalpateError, match="grip"):
            grip_of(door, bad)


def test_the_command_runs_the_trial_and_draws_it(door: Model, tmp_path: Path) -> None:
    door.save(tmp_path / "door.json")
    wrong_by(door, 0.3).save(tmp_path / "other.json")
    brief = ("--robot", "--for", "3", "--wrong", "0", "-o", tmp_path / "o")
    done = palpate("simulate", tmp_path / "door.json", *brief, "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["passed"]
    assert data["ways"][0]["force_percent"] < 5.0
    assert json.loads((tmp_path / "o" / "loop.json").read_text()) == data
    assert "Verdict" not in done.stdout
    needs("jinja2", "report")
    assert "Apparent inertia" in (tmp_path / "o" / "loop.html").read_text()
    assert "compared with itself" in data["remarks"][0]
    assert "does not say what it describes" in data["remarks"][1]
    failed = palpate("simulate", tmp_path / "door.json", *brief, "--truth", tmp_path / "other.json")
    assert failed.returncode == 3
    assert "failed: the force differs by" in failed.stdout
    assert "compared with itself" not in failed.stdout


def test_a_model_beside_itself_judges_the_robot_only(door: Model, session: tuple[Grip, Hand, Intention, Trace]) -> None:
    """And the verdict on the terminal says so."""
    grip, hand, intention, true = session
    robot = run_robot(door, grip, hand, intention)
    line = loop_line(door, grip, hand, intention, Robot())
    found = Trial(
        door, True, Setup(), grip, intention, true, robot, compare_traces(robot, true), None, line, np.ones((1, 1)), {}
    )
    assert "the robot renders this model within" in trial_verdict(found)
    assert "feels like the true object" in trial_verdict(replace(found, same=False))
    assert "compared with itself" in found.remarks[0]
    told = replace(found, same=False, model=replace(door, about={"model_of": DRIVEN_BY["body"]}))
    assert told.remarks == ()


def test_a_force_pushes_what_rolls_ahead() -> None:
    phi = phi_from_mass_properties(45.0, [-0.11, 0.45, 0.0], np.diag([3.7, 1.1, 3.1]))
    model = load_object("wheelbarrow-planar").with_values([*phi, 0.5, 1.2])
    applied = steady_wrench(model, torque=0.0, force=60.0, sine_hz=0.0, lever=0.8, seconds=0.2, dt=1e-3)
    run = simulate(model, applied, 1e-3, None)
    assert run.motion[-1, run.names.index("forward_speed")] > 0.05


def test_force_in_motion_out(door: Model, tmp_path: Path) -> None:
    door.save(tmp_path / "door.json")
    (tmp_path / "push.csv").write_text("time [s],n_z [N m]\n0,0\n1,30\n2,30\n")
    done = palpate("simulate", tmp_path / "door.json", "--wrench", tmp_path / "push.csv", "-o", tmp_path / "m.csv")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "m.csv").read_text().splitlines()
    assert lines[0].startswith("time [s],f_x [N],")
    assert "angle [rad],speed [rad/s],acceleration [rad/s2],status" in lines[0]
    assert len(lines) == 2001
    wrench = read_wrench(tmp_path / "push.csv", None, DT)
    assert wrench[500, 5] == pytest.approx(30 * 0.5005)
    stepper = Stepper(door, DT)
    out = np.empty((len(wrench), 3))
    stepper.run(wrench, out)
    np.testing.assert_array_equal(simulate(door, wrench, DT).motion, out)
    assert float(lines[-1].split(",")[7]) == pytest.approx(out[-1, 0], rel=1e-6)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("n_z\n1\n", "no column looks like time"),
        ("time [s],torque [N m]\n0,1\n1,1\n", "has no column f_x"),
        ("time,n_z [N]\n0,1\n1,1\n", "n_z must be in N m, not in N"),
        ("time,n_z [furlong]\n0,1\n1,1\n", "none in N and N m"),
        ("time,n_z\n0,1\n0,1\n", "line 3: time stands still"),
        ("time,n_z\n0,1\n1,\n", "line 3: n_z: a number is missing"),
        ("time,n_z\n0,1\n1,much\n", "'much' is not a number"),
        ("time,n_z\n0,1\n", "only one row"),
    ],
)
def test_a_wrench_file_that_cannot_be_used_is_refused(door: Model, tmp_path: Path, text: str, complaint: str) -> None:
    door.save(tmp_path / "door.json")
    (tmp_path / "w.csv").write_text(text)
    done = palpate("simulate", tmp_path / "door.json", "--wrench", tmp_path / "w.csv", "-o", tmp_path / "m.csv")
    assert done.returncode == 1
    assert complaint in done.stderr
    assert not (tmp_path / "m.csv").exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--robot", "--audit"), "not both"),
        (("--step", "0"), "--step"),
        (("--for", "-1"), "--for"),
        (("--torque", "nan"), "--torque"),
        (("--start", "a,b"), "--start"),
        (("--stops", "90,0"), "--stops"),
        (("--robot", "--feed-forward", "jerk"), "--feed-forward"),
        (("--robot", "--noise", "-1"), "noise"),
        (("--robot", "--hand-stiffness", "nan"), "stiffness"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    door: Model, tmp_path: Path, options: tuple[str, ...], complaint: str
) -> None:
    door.save(tmp_path / "door.json")
    done = palpate("simulate", tmp_path / "door.json", *options, "-o", tmp_path / "x", cwd=tmp_path)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_door_that_leaves_its_linkage_is_told_and_stops_help(door: Model, tmp_path: Path) -> None:
    bare = load_object("door").with_values(list(door.p)[:10])
    bare.save(tmp_path / "bare.json")
    left = palpate("simulate", tmp_path / "bare.json", "--torque", "60", "--for", "4", "-o", tmp_path / "a.csv")
    assert "--stops" in left.stdout
    held_back = palpate(
        "simulate", tmp_path / "bare.json", "--torque", "60", "--for", "4", "--stops", "0,90", "-o", tmp_path / "b.csv"
    )
    assert "Warning" not in held_back.stdout
