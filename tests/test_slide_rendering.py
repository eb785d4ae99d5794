"""A drawer in motion, through what its mechanism declares: replay, stops, a person, the closed loop, the audit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from palpate.elements import Coulomb, PolynomialSpring, ScalarInertia, Viscous
from palpate.errors import PalpateError
from palpate.model import Model
from palpate.physics.functions import Functions, Scalar
from palpate.physics.motion import Triple
from palpate.rendering.hand import Hand, directions, grip_of, lever, rocking, way_along
from palpate.rendering.loop import Setup, run_true, trial
from palpate.rendering.passivity import accurate_step, audit, couplings
from palpate.runtime import Stepper
from palpate.runtime.replay import missing_stops, replay, simulate, steady_wrench, with_stops
from palpate.runtime.stepper import end_stops, moving_range
from tests.conftest import needs
from tests.test_export_slide import Rail

needs("mujoco", "mujoco")


@dataclass(frozen=True, slots=True)
class Slide(Rail):
    """The rail of the exports, which also tells its velocity."""

    def velocity(self, state: Sequence[Scalar], fn: Functions) -> Triple:
        del fn
        return (state[1], 0.0, 0.0)


def drawer() -> Model:
    parts = (ScalarInertia("m", "rail"), Viscous("b_v", "rail"), Coulomb("b_c", "rail"))
    return Model("drawer", Slide(), parts).with_values([8.0, 12.0, 3.0], model_of="body")


def test_a_force_along_the_rail_moves_it() -> None:
    run = simulate(
        drawer(), steady_wrench(drawer(), torque=0.0, force=15.0, sine_hz=0.0, lever=0.8, seconds=5.0, dt=1e-3), 1e-3
    )
    assert run.units == ("m", "m/s", "m/s2")
    assert run.motion[-1, 1] == pytest.approx((15.0 - 3.0) / 12.0, rel=1e-3)
    with pytest.raises(PalpateError, match="--torque: 'drawer' slides, and no torque moves it: push it with --force"):
        steady_wrench(drawer(), torque=5.0, force=0.0, sine_hz=0.0, lever=0.8, seconds=5.0, dt=1e-3)


def test_stops_in_metres() -> None:
    assert "the lowest and the highest position" in missing_stops(drawer())
    stopped = with_stops(drawer(), 0.0, 0.4)
    assert (end_stops(stopped), moving_range(stopped)) == ((0.0, 0.4), (0.0, 0.4))
    assert missing_stops(stopped) == ""
    stiffness, damping = stopped.p[-2:]
    assert math.sqrt(stiffness / 8.0) == pytest.approx(2 * math.pi * 20.0)  # it swings on them at 20 Hz
    assert damping == pytest.approx(4.0 * stiffness)
    assert [p.unit for p in list(stopped.parameters.values())[-2:]] == ["N/m", "N s/m2"]
    stepper, out = Stepper(stopped, 1e-3), np.empty(3)
    stepper.reset((0.35, 0.6))
    path = np.array([out.copy() for _ in range(500) if stepper.step([0.0] * 6, out) is not None])
    assert 0.4 < path[:, 0].max() < 0.41
    assert -0.35 < path[:, 1].min() < 0.0  # as a door does


def test_a_replay_is_judged_in_metres() -> None:
    model, times = with_stops(drawer(), 0.0, 0.5), np.arange(2101) / 100.0
    wrench = np.zeros((len(times), 6))
    wrench[:, 0] = 14.0 * np.sin(2 * np.pi * 0.25 * times)
    fine = np.repeat(wrench[:-1], 100, axis=0)
    stepper, path = Stepper(model, 1e-4), np.empty((len(fine), 3))
    stepper.reset((0.2, 0.0))
    stepper.run(fine, path)
    states = np.vstack([[0.2, 0.0], path[99::100, :2]])
    played = replay(model, times, wrench, states)
    assert (played.unit, played.window_s, played.least_travel) == ("m", 10.0, 0.15)
    assert [(t.name, t.unit) for t in played.windows[0].tracks] == [("position", "m")]
    assert len(played.windows) == 2
    assert played.rms < 2e-3
    assert played.errors == {"position": (pytest.approx(played.rms), "m")}
    heavy = model.with_values(model.p * np.array([1.5, *[1.0] * (len(model.p) - 1)]))
    assert replay(heavy, times, wrench, states).rms > 5 * played.rms


def test_a_hand_pulls_it_along_its_rail() -> None:
    model = with_stops(drawer(), 0.0, 0.4)
    grip, hand = grip_of(model), Hand()
    assert lever(model, grip) == 1.0
    ((name, along),) = directions(model, grip, np.eye(3))
    assert (name, along.tolist()) == ("along its way", [1.0, 0.0, 0.0])
    intention = rocking(model, grip, hand, 4.0, 1e-3)
    trace = run_true(model, grip, hand, intention)
    assert way_along(model, grip, trace.place) == pytest.approx(trace.place[:, 0] - grip.hand[0], abs=1e-12)
    assert np.abs(trace.place - intention.place[1:])[:, 1:].max() < 1e-9
    mass = model.p[0] + 0.9  # with the handle
    force = mass * trace.acceleration[:, 0] + 12.0 * np.gradient(trace.way[:, 0], 1e-3)
    assert np.abs(trace.force[:, 0] - force)[100:].max() < 3.5  # the rest is dry friction


def test_a_robot_renders_it_and_the_loop_has_limits() -> None:
    model = with_stops(drawer(), 0.0, 0.4)
    done = trial(model, setup=Setup(seconds=3.0))
    assert done.comparison.passed
    assert done.line.mass == pytest.approx(8.0)
    assert done.line.handle == pytest.approx(0.9)
    assert done.line.damping == pytest.approx(12.0)
    assert [c.line.mass for c in couplings(model)] == pytest.approx([8.0] * 3)


def test_no_step_of_it_creates_energy() -> None:
    spring = PolynomialSpring("spring", "rail", order=1)
    model = replace(drawer(), elements=(*drawer().elements, spring), values={}).with_values(
        [8.0, 12.0, 3.0, -2.0, 15.0]
    )
    energy = audit(with_stops(model, 0.0, 0.4), count=100)
    assert energy.passive
    assert accurate_step(model) >= 2e-3
