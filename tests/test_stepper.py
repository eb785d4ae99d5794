"""The stepper against other people's integrators: `solve_ivp` with exact sticking, and MuJoCo."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import palpate
from palpate.elements import (
    Coulomb,
    EndStop,
    Gravity,
    Hysteresis,
    PolynomialSpring,
    RigidBody,
    ScalarInertia,
    SensorBias,
    Stribeck,
    Table,
    Viscous,
    ZoneDamper,
)
from palpate.errors import PalpateError
from palpate.mechanisms import FourBar, Free, Hinge
from palpate.mechanisms.mechanism import Mechanism, Row
from palpate.model import Model, load_object
from palpate.physics.functions import FLOATS, Functions
from palpate.physics.motion import Coordinate, Kinematics
from palpate.runtime import Stepper, StepStatus
from palpate.runtime.equations import Trace
from palpate.runtime.replay import finer
from palpate.runtime.side_by_side import run_side_by_side
from palpate.runtime.stepper import BRAKE_S, dry_impulses
from tests.conftest import needs
from tests.oracles import door_ode

PAPER = [6.53, 4.75, 1.79, 7.52, 4.47, 2.57, 18.01, -17.10, 5.34, -0.70]
SEEDS = st.integers(0, 100_000)


def paper_door() -> Model:
    return load_object("door").with_values(PAPER)


def other_door(seed: int) -> tuple[Model, door_ode.Door]:
    """Another door, for palpate and for the oracle."""
    factors = np.random.default_rng(seed).uniform(0.6, 1.6, size=7)
    p = np.array(PAPER) * factors[[0, 1, 2, 3, 4, 5, 6, 6, 6, 6]]
    I, b_v, b_c, b_bc, b_s, b_l, *c = p.tolist()
    return load_object("door").with_values(p), door_ode.Door(
        I=I, b_v=b_v, b_c=b_c, b_bc=b_bc, b_s=b_s, b_l=b_l, c=tuple(c)
    )


def some_values(name: str) -> Model:
    """A shipped object with values of its size."""
    model = load_object(name).of_object()
    if name == "door":
        return paper_door()
    body = [20.0, -2.0, 6.0, 0.1, 4.0, 0.5, 0.0, 2.5, 0.0, 5.0] if "m" in model.parameters else []
    return model.with_values([*body, *[0.5] * (len(model.parameters) - len(body))])


def torque(tau: float) -> list[float]:
    return [0.0, 0.0, 0.0, 0.0, 0.0, tau]


def run(
    model: Model, dt: float, tau: Callable[[float], float], seconds: float, angle: float, speed: float = 0.0
) -> tuple[np.ndarray, list[StepStatus]]:
    """Angle, speed, acceleration at every step (the first is the start), and the status of each."""
    stepper = Stepper(model, dt)
    stepper.reset((angle, speed))
    steps = round(seconds / dt)
    found, status, out = np.zeros((steps + 1, 3)), [], np.empty(3)
    found[0, :2] = angle, speed
    for i in range(steps):
        status.append(stepper.step(torque(tau((i + 0.5) * dt)), out))
        found[i + 1] = out
    return found, status


def errors_deg(model: Model, reference: np.ndarray, steps: list[float], every: float, **motion: Any) -> list[float]:
    """The largest error of the angle for each step, samples `every` s."""
    seconds = every * (len(reference) - 1)
    paths = [run(model, dt, seconds=seconds, **motion)[0][:: round(every / dt)] for dt in steps]
    return [math.degrees(np.abs(path[:, 0] - reference[:, 0]).max()) for path in paths]


def let_go(t: float) -> float:
    return 0.0 * t


def push(t: float) -> float:
    return 6.0 + 25.0 * math.sin(2 * math.pi * 0.4 * t)


def lean(t: float) -> float:
    """Lets the door go, and comes back now and then."""
    return 12.0 * math.sin(2 * math.pi * 0.7 * t)


def nudge(t: float) -> float:
    """About what holds the door at 35 deg, so that it rests for long between pushes."""
    return 10.2 + 6.0 * math.sin(2 * math.pi * 0.25 * t) ** 9


# The door in motion


@pytest.mark.parametrize(
    ("tau", "angle", "most"),
    [(let_go, math.radians(90), 0.03), (push, 0.3, 0.1), (nudge, 0.6, 0.01)],
)
def test_the_papers_door_moves_as_the_oracles_and_the_error_shrinks_with_the_step(
    tau: Callable[[float], float], angle: float, most: float
) -> None:
    reference = door_ode.simulate(door_ode.Door(), tau, np.arange(376) * 0.016, angle)
    steps = [4e-3, 1e-3, 5e-4]
    coarse, usual, fine = errors_deg(paper_door(), reference, steps, 0.016, tau=tau, angle=angle)
    assert usual < most
    assert 5 < coarse / fine < 12  # an eighth; when exactly it sticks is a matter of steps


@pytest.mark.parametrize("seed", [1, 3])
def test_other_doors_move_as_the_oracles(seed: int) -> None:
    model, door = other_door(seed)
    reference = door_ode.simulate(door, lean, np.arange(151) * 0.016, 1.2)
    coarse, usual, fine = errors_deg(model, reference, [4e-3, 1e-3, 5e-4], 0.016, tau=lean, angle=1.2)
    assert usual < 0.1
    assert 5 < coarse / fine < 12


def test_it_sticks_when_and_where_the_oracle_does() -> None:
    times = np.arange(6001) * 1e-3
    reference = door_ode.simulate(door_ode.Door(), nudge, times, 0.6)
    found, status = run(paper_door(), 1e-3, nudge, 6.0, 0.6)
    rests, should = found[1:, 1] == 0, reference[1:, 1] == 0
    assert 0.1 < should.mean() < 0.9
    assert (rests != should).mean() < 0.002  # a few steps late or early at each change
    assert [s is StepStatus.STICKING for s in status] == rests.tolist()


def test_a_door_let_go_closes_through_sweep_and_latch_and_rests_on_its_stop() -> None:
    door = paper_door()
    frame = math.radians(2.0)  # a door without a frame ends where its spring and friction meet, at 0.9 deg
    stop = EndStop("closed", at=frame, side="lowest")
    model = replace(door, elements=(*door.elements, stop), values={}).with_values([*PAPER, 2e4, 1e4])
    found, status = run(model, 1e-3, let_go, 12.0, math.radians(90))
    angle, speed = found[:, 0], found[:, 1]
    first = int(np.argmax(angle <= frame))
    assert first
    assert (np.diff(angle[: first + 1]) < 0).all()  # all the way, without a stop in between
    seconds = [float((np.abs(angle[:first] - middle) < math.radians(15)).sum()) * 1e-3 for middle in (1.2, 0.7)]
    reference = door_ode.simulate(door_ode.Door(), let_go, np.arange(first) * 1e-3, math.radians(90))[:, 0]
    expected = [float((np.abs(reference - middle) < math.radians(15)).sum()) * 1e-3 for middle in (1.2, 0.7)]
    assert seconds == pytest.approx(expected, abs=0.01)
    assert speed[-1] == 0.0
    assert status[-1] is StepStatus.AT_LIMIT
    assert frame - 0.005 < angle[-1] < frame


# At rest


DOOR = paper_door()
RESTING = Stepper(DOOR, 1e-3)


@given(angle=st.floats(0.02, 1.5), share=st.floats(-0.999, 0.999))
@settings(max_examples=50, deadline=None)
def test_a_resting_door_stays_exactly_where_it_is(angle: float, share: float) -> None:
    model, stepper, out = DOOR, RESTING, np.empty(3)
    (hold,) = model.without_dry().wrench(model.mechanism.expand((angle, 0.0), (0.0,), FLOATS), FLOATS)
    stepper.reset((angle, 0.0))
    for _ in range(50):
        assert stepper.step(torque(hold + share * 1.79), out) is StepStatus.STICKING
    assert out.tolist() == [angle, 0.0, 0.0]
    assert stepper.step(torque(hold + math.copysign(1.01 * 1.79, share)), out) is StepStatus.OK
    assert math.copysign(1.0, out[1]) == math.copysign(1.0, share)


def test_friction_of_the_closer_holds_through_the_linkage() -> None:
    elements = (ScalarInertia(), Coulomb("b_h"), Coulomb("b_p", "closer"), Hysteresis(acts_on="closer"))
    model = Model("m", Hinge(linkage=FourBar()), elements).with_values([2.0, 0.5, 3.0, *[0.7] * 7])
    _, nu = door_ode.linkage(door_ode.Door(), 1.0)
    most = 0.5 + abs(nu) * 3.7
    stepper, out = Stepper(model, 1e-3), np.empty(3)
    stepper.reset((1.0, 0.0))
    for sign in (1.0, -1.0):
        assert stepper.step(torque(sign * most * 0.9999), out) is StepStatus.STICKING
    assert stepper.step(torque(-most * 1.0001), out) is StepStatus.OK


def test_stribeck_friction_breaks_loose_and_slips_as_solve_ivp_says() -> None:
    I, b_c, b_st, v_s, tau = 2.0, 1.0, 1.5, 0.1, 2.52
    elements = (ScalarInertia(), Coulomb(), Stribeck(v_s=v_s))
    model = Model("m", Hinge(), elements).with_values([I, b_c, b_st])
    assert set(run(model, 1e-3, lambda _: 2.499, 0.1, 0.0)[1]) == {StepStatus.STICKING}

    def slip(_: float, x: np.ndarray) -> list[float]:
        return [x[1], (tau - b_c - b_st * math.exp(-((x[1] / v_s) ** 2))) / I]

    end = solve_ivp(slip, (0.0, 2.0), (0.0, 0.05), rtol=1e-10, atol=1e-12).y[0, -1]
    errors = [abs(run(model, dt, lambda _: tau, 2.0, 0.0, 0.05)[0][-1, 0] - end) for dt in (2e-3, 1e-3)]
    assert errors[1] < 2e-3 * end
    assert 1.7 < errors[0] / errors[1] < 2.3
    stopping, status = run(model, 1e-3, let_go, 1.0, 0.0, 0.5)
    assert status[-1] is StepStatus.STICKING
    assert (np.diff(stopping[:, 1]) <= 0).all()
    assert stopping[-1, 1] == 0.0


# Energy


def spring_energy(door: door_ode.Door, angle: float) -> float:
    phi, _ = door_ode.linkage(door, angle)
    return -sum(c * phi ** (i + 1) / (i + 1) for i, c in enumerate(door.c))


def test_no_energy_is_created_on_a_thousand_states() -> None:
    """First-order balance: what comes in beyond the work is at most K (v dt)^2 / 2, K the spring's steepest slope."""
    model, door = paper_door(), door_ode.Door()
    grid = np.linspace(0.0, 1.65, 400)
    slope = np.abs(np.gradient(np.gradient([spring_energy(door, x) for x in grid], grid), grid)[2:-2]).max()
    rng = np.random.default_rng(5)
    steppers, out = {dt: Stepper(model, dt) for dt in (1e-3, 1e-4)}, np.empty(3)
    for _ in range(1000):
        angle, tau = rng.uniform(0.05, 1.55), rng.normal() * 30.0
        speed = rng.normal() * rng.choice([1e-4, 0.01, 1.0, 3.0])
        for dt, stepper in steppers.items():
            stepper.reset((angle, speed))
            stepper.step(torque(tau), out)
            gained = 0.5 * door.I * (out[1] ** 2 - speed**2)
            gained += spring_energy(door, out[0]) - spring_energy(door, angle)
            fastest = max(abs(speed), abs(out[1]))
            assert gained - tau * dt * out[1] <= 0.5 * slope * (dt * fastest) ** 2 + 1e-10


@given(seed=SEEDS)
@settings(max_examples=50, deadline=None)
def test_dampers_and_friction_of_any_strength_only_take_energy_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    width, v_s = 10 ** rng.uniform(-4, 0, size=2)
    flow = rng.choice(["laminar", "turbulent", "mixed"])
    elements = (
        *(ScalarInertia(), Viscous(), Coulomb(), Stribeck(v_s=v_s), Hysteresis(acts_on="closer")),
        ZoneDamper("b_bc", "closer", when="opening", above=0.6, width=width, flow=flow),
        ZoneDamper("b_s", when="closing", above=0.4, width=width, flow=flow, otherwise="b_l"),
    )
    model = Model("m", Hinge(linkage=FourBar()), elements)
    I, dt = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-4, -1)
    model = model.with_values([I, *10 ** rng.uniform(-3, 7, size=len(model.parameters) - 1)])
    angle, speed = rng.uniform(0.0, 1.5), rng.normal() * 10 ** rng.uniform(-7, 1)
    tau = rng.normal() * 10 ** rng.uniform(-2, 5) * rng.integers(0, 2)
    stepper, out = Stepper(model, dt), np.empty(3)
    stepper.reset((angle, speed))
    assert stepper.step(torque(tau), out) is not StepStatus.NOT_FINITE
    before = 0.5 * I * speed**2
    assert 0.5 * I * out[1] ** 2 - before - tau * dt * out[1] <= 1e-12 * (before + abs(tau * dt * out[1]))


@pytest.mark.parametrize("k", [1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("c", [1e-3, 1e3, 1e6])
def test_a_slammed_stop_of_any_stiffness_gives_back_no_more_than_it_took(k: float, c: float) -> None:
    elements = (ScalarInertia(), Coulomb(), EndStop(at=1.5), EndStop("closed", at=0.0, side="lowest"))
    model = Model("m", Hinge(linkage=FourBar()), elements).with_values([6.5, 0.5, k, c, k, c])
    found, status = run(model, 1e-3, let_go, 1.5, 1.4, 5.0)
    pressed = np.maximum(found[:, 0] - 1.5, 0.0) + np.maximum(-found[:, 0], 0.0)
    energy = 0.5 * 6.5 * found[:, 1] ** 2 + 0.5 * k * pressed**2
    assert (np.diff(energy) <= 1e-12 * energy[0]).all()
    assert StepStatus.AT_LIMIT in status
    assert StepStatus.NOT_FINITE not in status
    assert pressed.max() <= 1.01 * 5.0 * math.sqrt(6.5 / k)  # all the energy in the stop


@pytest.mark.parametrize("k", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("gap", [1e-9, 1e-7, 1e-5])
def test_a_push_from_rest_into_a_stop_of_any_stiffness_stores_no_more_than_its_work(k: float, gap: float) -> None:
    """The step begins free of the stop and ends in it, so the touch itself must be found."""
    model = Model("m", Hinge(), (ScalarInertia(), EndStop(at=1.0))).with_values([5.0, k, 1.0])
    stepper, out, tau = Stepper(model, 1e-3), np.empty(3), 50.0
    stepper.reset((1.0 - gap, 0.0))
    stepper.step(torque(tau), out)
    stored = 2.5 * out[1] ** 2 + 0.5 * k * max(out[0] - 1.0, 0.0) ** 2
    assert stored <= tau * (out[0] - 1.0 + gap) * (1 + 1e-6) + 1e-15


@pytest.mark.parametrize(("k", "c"), [(4e4, 4e4), (4e4, 4.0), (1e4, 5e4)])
def test_a_door_bounces_off_its_stop_as_solve_ivp_says(k: float, c: float) -> None:
    """1 ms, 0.8 rad/s: the speed after is within 2 % of the speed before."""
    I, v, start = 5.0, 0.8, -9e-4

    def pressed(_: float, x: np.ndarray) -> list[float]:
        d = max(x[0], 0.0)
        return [x[1], -(k * d + c * d * max(x[1], 0.0)) / I]

    end = solve_ivp(pressed, (0.0, 0.5), (start, v), rtol=1e-10, atol=1e-13, max_step=1e-3).y[1, -1]
    model = Model("m", Hinge(), (ScalarInertia(), EndStop(at=0.0))).with_values([I, k, c])
    found, _ = run(model, 1e-3, let_go, 0.5, start, v)
    assert found[-1, 1] == pytest.approx(end, abs=0.02 * v)


@pytest.mark.parametrize(("k", "kept"), [(40.0, 0.995), (1e4, 0.9), (1e10, 0.0)])
def test_a_spring_keeps_its_energy_where_the_step_resolves_it_and_never_gains(k: float, kept: float) -> None:
    elements = (ScalarInertia(), PolynomialSpring(order=1))
    model = Model("m", Hinge(), elements).with_values([2.0, 0.0, -k])
    found, _ = run(model, 1e-3, let_go, 6.0, 0.5)
    energy = (found[:, 1] ** 2 + 0.5 * k * found[:, 0] ** 2) / (0.125 * k)
    assert energy.max() < (1.1 if k < 1e9 else 1.0 + 1e-12)
    assert energy[-2000:].max() >= kept


@pytest.mark.parametrize("dt", [1e-3, 1e-2, 0.03, 0.1])
@pytest.mark.parametrize(("angle", "speed"), [(3.0, 0.0), (1.5, 0.0), (0.0, 9.8), (0.0, 30.0)])
def test_a_pendulum_swings_for_ever_at_any_step_and_borrows_at_most_a_steps_work(
    dt: float, angle: float, speed: float
) -> None:
    """Half a minute, over the top and back: symplectic Euler's energy is off by dt v tau / 2 on the way, no more.

    Where the step does not resolve the swing, it fades.
    """
    pendulum = Hinge(inclination=math.pi / 2, direction=math.pi)
    model = Model("m", pendulum, (ScalarInertia(), Gravity())).with_values([0.5, 1.2, 0.0])
    path, _ = run(model, dt, let_go, 30.0, angle, speed)
    energy = 0.25 * path[:, 1] ** 2 + 1.2 * 9.80665 * (1 - np.cos(path[:, 0]))
    borrowed = 0.5 * dt * np.abs(path[:, 1]).max() * 1.2 * 9.80665
    assert (energy <= energy[0] + 2 * borrowed + 1e-9).all()  # at the start and along the way


# Limits and bad input


def test_a_stretched_linkage_stops_the_door_and_lets_it_back() -> None:
    links = FourBar()
    model = Model("m", Hinge(linkage=links), (ScalarInertia(), Viscous(), Coulomb())).with_values([2.0, 0.5, 0.5])
    stepper, out = Stepper(model, 1e-3), np.empty(3)
    stepper.reset((links.reach[1] - 0.01, 2.0))
    met = [stepper.step(torque(50.0), out) for _ in range(100)]
    assert met[-1] is StepStatus.AT_LIMIT
    assert out.tolist() == [links.reach[1], 0.0, 0.0]
    assert stepper.step(torque(-50.0), out) is StepStatus.OK
    assert out[1] < 0


@pytest.mark.parametrize(
    "wrench",
    [
        *([math.nan if i == j else 0.0 for i in range(6)] for j in (0, 5)),
        [0.0] * 5 + [math.inf],
        [0.0] * 5 + [-1e308 * 10],
        [0.0] * 5,
        [0.0] * 7,
        [0.0] * 5 + [None],
        None,
        [0.0] * 5 + [1e308],
    ],
)
def test_what_is_no_wrench_is_flagged_and_brakes(wrench: Any) -> None:
    dt = 0.1 if wrench and wrench[-1] == 1e308 else 1e-3
    stepper, out = Stepper(paper_door(), dt), np.full(3, 7.0)
    if wrench and wrench[-1] == 1e308:  # finite, but where it leads is not
        wrench = [1e308, 1e308, 0.0, 0.0, 0.0, 1e308]
    stepper.reset((0.7, 0.0))
    assert stepper.step(wrench, out) is StepStatus.NOT_FINITE
    assert out.tolist() == [0.7, 0.0, 0.0]  # at rest it stays, whatever the springs want
    stepper.reset((0.7, 1.0))
    assert stepper.step(wrench, out) is StepStatus.NOT_FINITE
    angle, speed, acceleration = out
    assert 0.0 <= speed <= math.exp(-dt / BRAKE_S)
    assert angle == pytest.approx(0.7 + dt * speed, abs=1e-12)
    assert acceleration == pytest.approx((speed - 1.0) / dt)
    assert stepper.state.tolist() == out[:2].tolist()
    assert stepper.step(torque(0.0), out) is not StepStatus.NOT_FINITE  # and on it goes


def test_one_lost_sample_is_hardly_felt_and_many_are_a_stop() -> None:
    """Speed falls without a jump, the way is what the speeds say, and the door rests for good."""
    stepper, out = Stepper(paper_door(), 1e-3), np.empty((200, 3))
    stepper.reset((0.7, 2.0))
    status = stepper.run(np.full((200, 6), math.nan), out)
    assert set(status.tolist()) == {StepStatus.NOT_FINITE}
    speeds = np.concatenate([[2.0], out[:, 1]])
    assert (np.diff(speeds) <= 0).all()
    assert np.abs(np.diff(speeds)).max() < 0.06 * 2.0
    assert np.diff(out[:, 0], prepend=0.7) == pytest.approx(1e-3 * out[:, 1], abs=1e-12)
    assert out[-1, 0] - 0.7 < 2.0 * BRAKE_S
    assert out[-1, 1] == 0.0
    assert out[-1].tolist() == out[-50].tolist()


@pytest.mark.parametrize("name", ["cabinet-door", "door", "hand-truck", "handle", "pendulum", "wheelbarrow"])
def test_no_object_goes_faster_or_drifts_away_while_the_wrench_is_lost(name: str) -> None:
    model, rng = some_values(name), np.random.default_rng(3)
    n, stepper = len(model.mechanism.accelerations), Stepper(model, 1e-3)
    for _ in range(3):
        start = stepper.state
        start[-n:] = rng.normal(size=n)
        stepper.reset(start)
        out = np.empty((120, stepper.size))
        stepper.run(np.full((120, 6), math.nan), out)
        size = np.linalg.norm(np.vstack([start[-n:], out[:, -2 * n : -n]]), axis=1)
        assert (np.diff(size) <= 1e-15).all()
        assert size[-1] < 0.01 * size[0]
        assert np.abs(out[-1, : -2 * n] - start[:-n]).max() < 1.2 * BRAKE_S * size[0]
        changes = np.diff(np.vstack([start[-n:], out[:, -2 * n : -n]]), axis=0)
        assert out[:, -n:] == pytest.approx(changes / 1e-3, abs=1e-9)
        stepper.reset(stepper.state.tolist())  # a state that is possible


def test_an_out_that_does_not_fit_is_flagged() -> None:
    stepper = Stepper(paper_door(), 1e-3)
    stepper.reset((0.7, 0.2))
    locked = np.zeros(3)
    locked.flags.writeable = False
    for out in (np.zeros(2), np.zeros(4), locked, None):
        assert stepper.step(torque(0.0), out) is StepStatus.NOT_FINITE  # type: ignore[arg-type]
        assert stepper.state.tolist() == [0.7, 0.2]


def test_what_cannot_be_stepped_is_refused() -> None:
    door = paper_door()
    for dt in (0.0, -1e-3, math.nan, math.inf):
        with pytest.raises(PalpateError, match="a step must be a positive time in s"):
            Stepper(door, dt)
    for dt in (0.11, 1.0, 1e9):
        with pytest.raises(PalpateError, match=r"is too long: at most 0\.1 s"):
            Stepper(door, dt)
    for limit in ([1.0] * 5, [0.0] * 6, [1.0] * 5 + [math.nan], [-1.0] * 6):
        with pytest.raises(PalpateError, match="wrench_limit must be six positive numbers"):
            Stepper(door, 1e-3, wrench_limit=limit)
    for place, bad in ((0, 0.0), (0, -1.0), (1, math.nan), (2, math.inf)):
        with pytest.raises(PalpateError, match="is not possible"):
            Stepper(load_object("door").with_values([bad if i == place else x for i, x in enumerate(PAPER)]), 1e-3)
    with pytest.raises(PalpateError, match="no value for I"):
        Stepper(load_object("door"), 1e-3)
    with pytest.raises(PalpateError, match="has no inertia to move"):
        Stepper(Model("m", Hinge(), (Viscous(),)).with_values([1.0]), 1e-3)
    with pytest.raises(PalpateError, match="has no inertia to move"):
        Stepper(Model("m", Slides(), (ScalarInertia("I", "a"), Coulomb(acts_on="a"))).with_values([1.0, 1.0]), 1e-3)
    for state in ((0.1,), (0.1, math.nan), (0.1, 0.2, 0.3)):
        with pytest.raises(PalpateError, match=r"the state must be 2 numbers \(angle, speed\)"):
            Stepper(door, 1e-3).reset(state)
    with pytest.raises(PalpateError, match=r"at 171\.9 deg the linkage is out of reach"):
        Stepper(door, 1e-3).reset((3.0, 0.0))


@pytest.mark.parametrize("function", [math.sin, np.sin, lambda x: x if x else 0.0])
def test_an_element_of_a_user_that_is_not_written_with_the_table_is_refused(function: Any) -> None:
    class Own(Viscous):
        def features(self, k: Kinematics, z: Any, fn: Functions) -> Any:
            del z, fn
            return (function(k.coordinates["hinge"].speed),)

    model = Model("m", Hinge(), (ScalarInertia(), Own())).with_values([1.0, 1.0])
    with pytest.raises(PalpateError, match=r"model 'm' cannot be stepped .*; does check_element pass"):
        Stepper(model, 1e-3)


def test_a_saturated_sensor_counts_as_its_limit_and_is_told() -> None:
    door, rng = paper_door(), np.random.default_rng(4)
    wrenches = rng.normal(size=(500, 6)) * 30.0
    wrenches[7, 2] = math.nan
    limit = [40.0, 40.0, 40.0, 20.0, 20.0, 10.0]
    found, expected = np.empty((500, 3)), np.empty((500, 3))
    told = Stepper(door, 1e-3, wrench_limit=limit).run(wrenches, found)
    status = Stepper(door, 1e-3).run(np.clip(wrenches, -np.array(limit), limit), expected)
    assert found.tobytes() == expected.tobytes()
    beyond = (np.abs(wrenches) > limit).any(axis=1)
    assert told.tolist() == np.where(beyond & (status != StepStatus.NOT_FINITE), StepStatus.SATURATED, status).tolist()
    assert told[7] == StepStatus.NOT_FINITE


@pytest.mark.parametrize("name", ["cabinet-door", "door", "hand-truck", "handle", "pendulum", "wheelbarrow"])
def test_every_object_goes_on_from_a_saved_state_bit_by_bit(name: str) -> None:
    """Whatever happened in between, and in another stepper too."""
    model = some_values(name)
    rng = np.random.default_rng(1)
    wrenches = np.repeat(rng.normal(size=(6, 6)) * 20.0, 50, axis=0)
    stepper, size = Stepper(model, 1e-3), Stepper(model, 1e-3).size
    first, again, other = (np.empty((150, size)) for _ in range(3))
    stepper.run(wrenches[:150], first)
    saved = stepper.state
    stepper.run(wrenches[150:], first)
    stepper.reset(saved)
    stepper.run(wrenches[150:], again)
    fresh = Stepper(model, 1e-3)
    fresh.reset(saved.tolist())
    fresh.run(wrenches[150:], other)
    assert first.tobytes() == again.tobytes() == other.tobytes()
    assert not np.array_equal(stepper.state, saved)


@pytest.mark.parametrize("name", ["cabinet-door", "door", "hand-truck", "handle", "pendulum", "wheelbarrow"])
def test_every_object_survives_whatever_it_is_given(name: str) -> None:
    """Finite numbers, at any step that is allowed and under any wrench; what is no wrench only brakes."""
    model, rng = some_values(name), np.random.default_rng(2)
    for dt in (1e-5, 1e-3, 0.1):
        stepper = Stepper(model, dt)
        out, before, n = np.empty(stepper.size), stepper.state, len(model.mechanism.accelerations)
        for _ in range(60):
            wrench = rng.normal(size=6) * 10 ** rng.uniform(-3, 7)
            if rng.integers(0, 3) == 0:
                wrench[rng.integers(0, 6)] = rng.choice([math.nan, math.inf, -math.inf, 1e308])
            status = stepper.step(wrench, out)
            assert np.isfinite(out).all()
            if status is StepStatus.NOT_FINITE:
                size = math.hypot(*before[-n:])
                assert math.hypot(*out[-2 * n : -n]) <= math.exp(-dt / BRAKE_S) * size * (1.0 + 1e-12)
            before = stepper.state


# Every element, every kind of motion


def test_the_acceleration_is_the_models() -> None:
    elements = (
        *(RigidBody(), SensorBias(), ScalarInertia("I_p", "closer"), PolynomialSpring(acts_on="closer"), Table()),
        *(EndStop(at=0.8), Viscous("b_p", "closer"), Coulomb(), Stribeck(v_s=0.5), Hysteresis(basis="polynomial")),
        ZoneDamper(above=0.3, below=0.9, flow="mixed", otherwise="b_other"),
        Gravity(),
    )
    hinge = Hinge(inclination=0.3, direction=0.5, linkage=FourBar())
    body = [20.0, 8.0, 1.0, 0.5, 2.0, 0.1, 0.2, 6.0, 0.1, 7.0]
    rng, dt = np.random.default_rng(1), 1e-8
    free = Model("m", hinge, elements)
    for _ in range(15):
        values = [*body, *rng.uniform(0.1, 2.0, size=len(free.parameters) - 10)]
        model = free.with_values(values).of_object()
        angle, speed, tau = rng.uniform(0.1, 1.4), rng.normal(), rng.normal() * 20
        stepper, out = Stepper(free.with_values(values), dt), np.empty(3)
        stepper.reset((angle, speed))
        stepper.step([*rng.normal(size=5), tau], out)
        still, one = (model.wrench(model.mechanism.expand((angle, speed), (a,), FLOATS), FLOATS)[0] for a in (0.0, 1.0))
        assert out[2] == pytest.approx((tau - still) / (one - still), rel=1e-5, abs=1e-5)


def test_an_inclined_pendulum_swings_as_solve_ivp_says() -> None:
    hinge = Hinge(inclination=math.radians(70), direction=0.4)
    model = Model("m", hinge, (ScalarInertia(), Gravity(), Viscous())).with_values([0.5, 1.2, -0.3, 0.05])
    across = hinge.gravity * math.sin(hinge.inclination)

    def swing(_: float, x: np.ndarray) -> list[float]:
        lean = hinge.direction - x[0]
        return [x[1], -(1.2 * across * math.sin(lean) + 0.3 * across * math.cos(lean) + 0.05 * x[1]) / 0.5]

    times = np.arange(201) * 0.01
    reference = solve_ivp(swing, (0.0, 2.0), (2.0, 0.0), t_eval=times, rtol=1e-10, atol=1e-12).y.T
    middle, fine = errors_deg(model, reference, [1e-3, 5e-4], 0.01, tau=let_go, angle=2.0)
    assert fine < 0.5
    assert 1.8 < middle / fine < 2.2


def test_a_free_body_moves_as_mujocos() -> None:
    mujoco = needs("mujoco", "mujoco")
    from tests.oracles.mujoco_body import body_mjcf

    phi = [1.3, 0.05, -0.03, 0.08, 0.02, 0.001, -0.002, 0.025, 0.0015, 0.015]
    moment = [0.05, -0.08, 0.03]
    speeds = [0.3, -0.5, 1.0, 2.0, -1.0, 3.0]
    oracle = mujoco.MjModel.from_xml_string(body_mjcf(np.array(phi)))
    oracle.opt.timestep, oracle.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(oracle)
    data.qvel[:] = speeds
    data.qfrc_applied[:] = [0.0, 0.0, 0.0, *moment]  # the moment is in the body
    mujoco.mj_step(oracle, data, 1000)

    def last(dt: float) -> np.ndarray:
        stepper = Stepper(Model("m", Free(), (RigidBody(),)).with_values(phi), dt)
        stepper.reset([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, *speeds])
        out = np.empty(stepper.size)
        for _ in range(round(1.0 / dt)):
            assert stepper.step([0.0, 0.0, 0.0, *moment], out) is StepStatus.OK
        assert np.linalg.norm(out[3:7]) == pytest.approx(1.0, abs=1e-12)
        return out[:13] - [*data.qpos, *data.qvel]

    coarse, fine = (np.abs(last(dt)) for dt in (2e-3, 1e-3))
    assert fine[:3].max() < 0.005  # m
    assert fine[3:7].max() < 0.01
    assert fine[7:].max() < 0.05  # m/s, rad/s
    assert 1.7 < np.linalg.norm(coarse) / np.linalg.norm(fine) < 2.3


@pytest.mark.parametrize("dt", [1e-3, 1e-2, 5e-2, 0.1])
def test_a_tumbling_body_gains_no_energy_at_any_step(dt: float) -> None:
    """Kinetic energy and height, from the textbook's 6 x 6 inertia about the origin."""
    phi = [1.3, 0.05, -0.03, 0.08, 0.02, 0.001, -0.002, 0.025, 0.0015, 0.015]
    m, c = phi[0], np.array(phi[1:4]) / phi[0]
    inertia = np.array([[0.02, 0.001, -0.002], [0.001, 0.025, 0.0015], [-0.002, 0.0015, 0.015]])

    def energy(state: np.ndarray) -> float:
        w, x, y, z = state[3:7]
        turn = Rotation.from_quat([x, y, z, w]).as_matrix()
        v, omega = turn.T @ state[7:10], state[10:13]
        kinetic = m / 2 * v @ v + m * v @ np.cross(omega, c) + omega @ inertia @ omega / 2
        return float(kinetic + m * 9.80665 * (state[2] + (turn @ c)[2]))

    stepper = Stepper(Model("m", Free(), (RigidBody(),)).with_values(phi), dt)
    stepper.reset([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.3, -0.5, 1.0, 12.0, -25.0, 24.0])
    out, before = np.empty(stepper.size), energy(stepper.state)
    for _ in range(50):
        stepper.step([0.0] * 6, out)
        after = energy(out[:13])
        assert after <= before + 1e-12 * max(1.0, abs(before))
        before = after


@dataclass(frozen=True)
class Slides(Mechanism):
    """Two coordinates, two rows: a mechanism of a user."""

    type = "slides"
    rows = (Row("f_x", "N"), Row("f_y", "N"))
    coordinates = {"a": "rad", "b": "rad"}  # noqa: RUF012
    state = ("x", "y", "v_x", "v_y")
    accelerations = ("a_x", "a_y")

    def observe(self, motion: Any) -> Kinematics:
        raise NotImplementedError

    def expand(self, state: Any, acc: Any, fn: Functions) -> Kinematics:
        del fn
        none = (0.0, 0.0, 0.0)
        one = Coordinate(state[0], state[2], acc[0], (1.0, 0.0))
        two = Coordinate(state[1], state[3], acc[1], (0.0, 1.0))
        return Kinematics(none, none, none, {"a": one, "b": two})

    def project(self, k: Kinematics, wrench: Any, fn: Functions) -> Any:
        del k, fn
        return wrench[:2]


def test_a_mechanism_of_a_user_with_two_freedoms_settles_whatever_its_damping() -> None:
    elements = (ScalarInertia("I", "a"), ScalarInertia("J", "b"), Viscous("b_v", "a"), Viscous("d_v", "b"))
    model = Model("m", Slides(), elements).with_values([1.0, 2.0, 1e6, 4.0])
    stepper, out = Stepper(model, 1e-3), np.empty(6)
    for _ in range(10_000):
        stepper.step([1e6, 8.0, 0.0, 0.0, 0.0, 0.0], out)
    assert out[2:4] == pytest.approx([1.0, 2.0], rel=1e-6)


# Several freedoms


def test_dry_friction_of_two_freedoms_is_that_of_each() -> None:
    """Nothing couples them, so each moves as a hinge of its own: slips, stops, and rests exactly."""
    elements = (ScalarInertia("I", "a"), ScalarInertia("J", "b"), Coulomb("b_a", "a"), Viscous("d", "b"))
    both = Model("m", Slides(), (*elements, Stribeck("s", "b", v_s=0.2), Coulomb("b_b", "b")))
    two = Stepper(both.with_values([1.0, 2.0, 1.5, 0.3, 0.4, 0.5]), 1e-3)
    one = Stepper(Model("m", Hinge(), (ScalarInertia(), Coulomb())).with_values([1.0, 1.5]), 1e-3)
    other = Model("m", Hinge(), (ScalarInertia(), Viscous(), Stribeck(v_s=0.2), Coulomb()))
    other_one = Stepper(other.with_values([2.0, 0.3, 0.4, 0.5]), 1e-3)
    out, a, b, rests = np.empty(6), np.empty(3), np.empty(3), 0
    for i in range(3000):
        x, y = 3.0 * math.sin(i * 2e-3), 1.5 * math.sin(i * 3e-3 + 1.0)
        two.step([x, y, 0.0, 0.0, 0.0, 0.0], out)
        one.step(torque(x), a)
        other_one.step(torque(y), b)
        rests += int(a[1] == 0.0 and out[2] == 0.0)
        assert (out[2] == 0.0, out[3] == 0.0) == (a[1] == 0.0, b[1] == 0.0)
    assert rests > 200
    assert out[:2] == pytest.approx([a[0], b[0]], abs=2e-3)  # the damper's implicit form differs, of first order


@given(seed=SEEDS)
@settings(max_examples=50, deadline=None)
def test_dry_impulses_hold_or_slip(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 5))
    B = rng.normal(size=(m + 1, m))
    G, free, most = B.T @ B + 0.1 * np.eye(m), rng.normal(size=m), rng.uniform(0.0, 1.0, size=m)
    f = np.array(dry_impulses(G.tolist(), free.tolist(), most.tolist(), [0.0] * m))
    speed = free - G @ f
    assert (np.abs(f) <= most).all()
    held = np.abs(f) < most
    assert np.abs(speed[held]).max(initial=0.0) < 1e-6
    assert (speed[~held] * f[~held] >= -1e-6).all()


@dataclass(frozen=True)
class Skate(Mechanism):
    """A blade: it glides along its heading and turns, but does not slip sideways."""

    type = "skate"
    rows = (Row("f_x", "N"), Row("n_z", "N m"))
    coordinates = {"glide": "rad", "turn": "rad"}  # noqa: RUF012
    state = ("x", "y", "yaw", "v", "r")
    accelerations = ("v_dot", "r_dot")

    def observe(self, motion: Any) -> Kinematics:
        raise NotImplementedError

    def expand(self, state: Any, acc: Any, fn: Functions) -> Kinematics:
        del fn
        none = (0.0, 0.0, 0.0)
        glide = Coordinate(state[0], state[3], acc[0], (1.0, 0.0))
        return Kinematics(
            none, none, none, {"glide": glide, "turn": Coordinate(state[2], state[4], acc[1], (0.0, 1.0))}
        )

    def project(self, k: Kinematics, wrench: Any, fn: Functions) -> Any:
        del k, fn
        return (wrench[0], wrench[5])

    def rates(self, state: Any, fn: Functions) -> Any:
        return (state[3] * fn.cos(state[2]), state[3] * fn.sin(state[2]), state[4])


def skate(*more: Any, values: tuple[float, ...] = ()) -> Stepper:
    inertia = (ScalarInertia("m", "glide"), ScalarInertia("J", "turn"))
    return Stepper(Model("m", Skate(), (*inertia, *more)).with_values([2.0, 0.5, *values]), 1e-3)


def test_positions_that_are_no_integrals_of_speeds_follow_the_mechanisms_rates() -> None:
    stepper, path = skate(), np.empty((2000, 7))
    stepper.reset((0.0, 0.0, 0.0, 1.5, 0.75))
    stepper.run(np.zeros((2000, 6)), path)
    assert path[-1, :3] == pytest.approx([2 * math.sin(1.5), 2 * (1 - math.cos(1.5)), 1.5], abs=1e-6)


def test_a_freedom_that_sticks_leaves_the_other_free() -> None:
    stepper, out = skate(Coulomb("b", "glide"), values=(3.0,)), np.empty(7)
    stepper.reset((0.1, 0.2, 0.3, 0.0, 0.0))
    for _ in range(500):
        assert stepper.step([2.9, 100.0, 0.0, 0.0, 0.0, 0.0], out) is StepStatus.STICKING
    assert out.tolist() == [0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 0.0]
    stepper.step([2.9, 0.0, 0.0, 0.0, 0.0, 1.0], out)
    assert out[:2].tolist() == [0.1, 0.2]
    assert out[4] == pytest.approx(1e-3 * 1.0 / 0.5)
    stepper.step([-3.1, 0.0, 0.0, 0.0, 0.0, 0.0], out)
    assert out[3] < 0


@pytest.mark.parametrize("k", [1e3, 1e7, 1e11])
def test_a_stop_of_one_of_two_freedoms_gives_no_energy(k: float) -> None:
    stops = (EndStop("s", "turn", at=0.2), EndStop("t", "turn", at=-0.2, side="lowest"))
    stepper, path = skate(*stops, values=(k, 1.0, k, 1.0)), np.empty((1500, 7))
    stepper.reset((0.0, 0.0, 0.0, 1.0, 2.0))
    status = stepper.run(np.zeros((1500, 6)), path)
    pressed = np.maximum(np.abs(path[:, 2]) - 0.2, 0.0)
    energy = path[:, 3] ** 2 + 0.25 * path[:, 4] ** 2 + 0.5 * k * pressed**2
    assert (np.diff(energy, prepend=2.0) <= 1e-9).all()
    assert (status == StepStatus.AT_LIMIT).any()
    assert path[:, 3] == pytest.approx(1.0)


def test_a_barrow_goes_as_far_as_its_speeds_say() -> None:
    """Also where a step is made smaller, so that it creates no energy: the way belongs to the speeds that are told."""
    model, dt = some_values("wheelbarrow"), 1e-2
    model = model.with_values([*model.p[:10], 1e-6, 1e-6, 1e-6])  # what friction takes would hide it
    stepper, rng = Stepper(model, dt), np.random.default_rng(0)
    mechanism, out = model.mechanism.forward(), np.empty(stepper.size)  # type: ignore[attr-defined]
    for _ in range(60):
        start = np.array([*rng.uniform(-0.3, 0.3, 5), *3.0 * rng.normal(size=4)])
        stepper.reset(start)
        stepper.step(rng.normal(size=6) * 20.0, out)
        q, u = start[:5], out[5:9]
        half = q + 0.5 * dt * np.array(mechanism.rates([*q, *u], FLOATS))
        there = q + dt * np.array(mechanism.rates([*half, *u], FLOATS))
        assert out[:5] == pytest.approx(there, abs=1e-7)


# Many steps at once


def test_a_run_is_its_steps_bit_by_bit() -> None:
    rng = np.random.default_rng(2)
    wrenches = rng.normal(size=(3000, 6)) * 30.0
    wrenches[[5, 70], [5, 0]] = np.nan, np.inf
    wrenches[200] = 1e308
    stop = (EndStop("shut", at=0.0, side="lowest"),)
    door = replace(paper_door(), elements=(*paper_door().elements, *stop), values={}).with_values([*PAPER, 1e4, 1e4])
    one, many, path, out = Stepper(door, 1e-3), Stepper(door, 1e-3), np.empty((3000, 3)), np.empty((3000, 3))
    status = many.run(wrenches, out)
    assert [int(one.step(w, x)) for w, x in zip(wrenches, path, strict=True)] == status.tolist()
    assert path.tobytes() == out.tobytes()
    assert many.state.tobytes() == one.state.tobytes()
    assert np.flatnonzero(status == StepStatus.NOT_FINITE).tolist() == [5, 70, 200]
    assert many.run(np.empty((0, 6)), np.empty((0, 3))).tolist() == []
    with pytest.raises(PalpateError, match=r"must be \(n, 6\) and out \(n, 3\)"):
        many.run(wrenches, np.empty((2999, 3)))


# The same every time


def test_the_end_of_a_hundred_thousand_steps_is_the_same_bit_by_bit() -> None:
    wrenches = np.zeros((100_000, 6))
    wrenches[:, 5] = np.repeat(np.random.default_rng(0).normal(size=1000) * 40.0, 100)
    stepper, path, again = Stepper(paper_door(), 1e-3), np.empty((100_000, 3)), np.empty((20_000, 3))
    stepper.run(wrenches, path)
    other = Stepper(paper_door(), 1e-3)
    other.reset(path[79_999, :2])
    other.run(wrenches[80_000:], again)
    assert path[80_000:].tobytes() == again.tobytes()
    assert np.isfinite(path).all()


def test_it_is_public_and_knows_its_names() -> None:
    stepper = palpate.Stepper(paper_door(), 1e-3)
    assert stepper.names == ("angle", "speed", "acceleration")
    assert stepper.size == 3
    as_array, as_list = np.empty(3), [0.0] * 3
    stepper.step(np.array(torque(30.0)), as_array)
    stepper.reset((0.0, 0.0))
    stepper.step(torque(30.0), as_list)
    assert as_array.tolist() == as_list
    assert stepper.state.tolist() == as_list[:2]


# Flat code


@given(x=st.floats(-2, 2), y=st.floats(0.1, 2))
@settings(max_examples=40, deadline=None)
def test_flat_code_is_the_equation_and_its_derivative(x: float, y: float) -> None:
    def equation(x: Any, y: Any, fn: Functions) -> Any:
        a = fn.sin(x) * fn.cos(y) + fn.tanh(x * y) - fn.exp(-x) / y + 0.0 * x
        b = fn.sqrt(y + 3.0) + fn.abs(x - 0.3) + fn.sign(x) + fn.step(y - 1.0) + fn.atan2(x, y)
        return a * b + fn.minimum(x, 0.5 * y) * fn.maximum(2.0, x + y) + fn.maximum(1.0, 2.0) / 4.0

    trace = Trace()
    terms = [trace.variable("x"), trace.variable("y")]
    result = equation(*terms, trace.fn)
    flat = trace.function("x, y", [result, *(trace.derivative(result, t) for t in terms)])
    value, by_x, by_y = flat(x, y)
    assert value == pytest.approx(equation(x, y, FLOATS), rel=1e-14, abs=1e-14)
    kinks = (x, x - 0.3, y - 1.0, x - 0.5 * y, x + y - 2.0)
    if min(abs(k) for k in kinks) < 1e-4:
        return
    h = 1e-6
    assert by_x == pytest.approx((equation(x + h, y, FLOATS) - equation(x - h, y, FLOATS)) / (2 * h), abs=1e-6)
    assert by_y == pytest.approx((equation(x, y + h, FLOATS) - equation(x, y - h, FLOATS)) / (2 * h), abs=1e-6)


@pytest.mark.parametrize("name", ["wheelbarrow", "wheelbarrow-planar", "hand-truck", "handle"])
def test_copies_side_by_side_go_as_each_would_alone(name: str) -> None:
    """Also where feet touch the ground, dry friction holds, a step is made smaller, and a number is lost."""
    model, dt, steps, rng = some_values(name), 5e-3, 2, np.random.default_rng(4)
    stepper, count = Stepper(model, dt), 12
    n = len(model.mechanism.accelerations)
    starts = stepper.state + np.concatenate(
        [0.2 * rng.normal(size=(count, len(stepper.state) - n)), np.zeros((count, n))], axis=1
    )
    starts[:, -n:] = rng.normal(size=(count, n)) * np.linspace(0, 2, count)[:, None]
    if name == "handle":
        starts[:, 3:7] /= np.linalg.norm(starts[:, 3:7], axis=1, keepdims=True)
    wrench = rng.normal(size=(30, count, 6)) * np.geomspace(1e-3, 300.0, count)[:, None]
    wrench[7, 3] = 1e200
    paths = run_side_by_side(stepper.terms, starts, wrench, steps)
    for i, start in enumerate(starts):
        stepper.reset(start)
        out = np.empty((29 * steps, stepper.size))
        status = stepper.run(finer(wrench[:, i], steps), out)
        alone = np.vstack([start, out[steps - 1 :: steps, : len(start)]])
        lost = np.append(False, (status == StepStatus.NOT_FINITE).reshape(29, steps).any(axis=1)).cumsum() > 0
        assert paths[~lost, i] == pytest.approx(alone[~lost], rel=1e-9, abs=1e-9)
        assert np.isnan(paths[lost, i]).all(), i
        assert lost.any() == (i == 3)
