"""Replay: the oracle's door is recorded, and models are stepped through the recording."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from palpate.elements import Coulomb, EndStop, PolynomialSpring, RigidBody, ScalarInertia, Viscous
from palpate.errors import DataProblem, PalpateError
from palpate.mechanisms import Free, Hinge
from palpate.model import Model, load_object
from palpate.runtime import Stepper
from palpate.runtime.replay import Replay, led_astray, replay, with_stops
from tests.oracles import door_ode

PAPER = [6.53, 4.75, 1.79, 7.52, 4.47, 2.57, 18.01, -17.10, 5.34, -0.70]
RATE = 100.0


def paper_door(**factors: float) -> Model:
    model = load_object("door")
    return model.with_values([x * factors.get(name, 1.0) for name, x in zip(model.parameters, PAPER, strict=True)])


def push(t: float) -> float:
    return 14.0 + 14.0 * math.sin(2 * math.pi * 0.25 * t) + 6.0 * math.sin(2 * math.pi * 0.9 * t + 1.0)


@pytest.fixture(scope="module")
def recording() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """30.5 s at 100 Hz, pushed and pulled; times, wrench, state."""
    times = np.arange(3051) / RATE
    return times, torques(times, push), door_ode.simulate(door_ode.Door(), push, times, 0.5)


def torques(times: np.ndarray, tau: Callable[[float], float]) -> np.ndarray:
    wrench = np.random.default_rng(0).normal(size=(len(times), 6)) * 20.0  # what the hinge carries does not matter
    wrench[:, 5] = [tau(t) for t in times]
    return wrench


def degrees(found: Replay) -> float:
    return math.degrees(found.rms)


# The score


def test_the_truth_replays_its_recording(recording: Any) -> None:
    """Three windows of 10 s; the error is that of the step, and of a wrench that is linear between samples."""
    found = replay(paper_door(), *recording)
    assert [w.start_s for w in found.windows] == pytest.approx([0.0, 10.0, 20.0])
    assert all(math.degrees(w.travel) > 40 for w in found.windows)
    assert degrees(found) < 0.03
    assert degrees(replay(paper_door(), *recording, dt=2.5e-4)) < 0.4 * degrees(found)


@pytest.mark.parametrize(("name", "factor", "least"), [("I", 1.5, 3.0), ("b_v", 1.3, 1.0), ("b_c", 2.0, 1.0)])
def test_a_wrong_model_shows(recording: Any, name: str, factor: float, least: float) -> None:
    assert degrees(replay(paper_door(**{name: factor}), *recording)) > least


def test_small_forces_lead_a_pendulum_astray_as_scipy_says() -> None:
    """Upside down they grow, hanging they swing: the difference of two solutions of the full equation."""
    elements = (ScalarInertia("I"), Viscous("b"), PolynomialSpring("c", order=1))
    door = Model("pendulum", Hinge(), elements)
    times = np.arange(0, 3.0, 0.002)

    def solved(force: float, c: float) -> np.ndarray:
        def rates(t: float, x: np.ndarray) -> list[float]:
            return [x[1], (force * math.sin(3 * t) - 0.3 * x[1] + c * x[0] + 0.5 * math.cos(t)) / 0.7]

        return solve_ivp(rates, (0, 3.0), [0.1, 0.0], t_eval=times, rtol=1e-10, atol=1e-12).y.T

    free = np.zeros((len(times), 1), dtype=bool)
    forces = 1e-3 * np.sin(3 * times)[:, None, None]
    for c in (2.0, -9.0):
        model, still = door.with_values([0.7, 0.3, 0.0, c]), solved(0.0, c)
        away, expected = led_astray(model, still[:, None], forces, free, 0.002), (solved(1e-3, c) - still)[:, 0]
        np.testing.assert_allclose(away[:, 0, 0], expected, atol=0.01 * np.abs(expected).max())
        held = led_astray(model, still[:, None], forces, ~free, 0.002)
        assert held.any() == (c > 0)  # friction holds what does not fall over


def test_windows_hold_what_was_measured_and_what_a_stepper_makes_of_it(recording: Any) -> None:
    times, wrench, state = recording
    found = replay(paper_door(), times, wrench, state, window_s=4.0, dt=2e-3)
    window = found.windows[2]
    assert window.times_s.tolist() == times[800:1201].tolist()
    assert window.tracks[0].measured.tolist() == state[800:1201, 0].tolist()
    stepper, out, simulated = Stepper(paper_door(), 2e-3), np.empty(3), [state[800, 0]]
    stepper.reset(state[800])
    stepper.step(wrench[800], out)
    stepper.reset(state[800] - [0.0, 1e-3 * out[2]])  # the speed of half a step earlier
    for i in range(800, 1200):
        for share in (0.0, 0.2, 0.4, 0.6, 0.8):
            stepper.step((1 - share) * wrench[i] + share * wrench[i + 1], out)
        simulated.append(out[0])
    assert window.tracks[0].simulated == pytest.approx(simulated, abs=1e-12)
    error = window.tracks[0].simulated[1:] - window.tracks[0].measured[1:]
    assert window.rms == pytest.approx(math.sqrt(np.mean(error**2)))
    assert window.travel == np.ptp(state[800:1201, 0])
    assert found.rms == pytest.approx(math.sqrt(np.mean([w.rms**2 for w in found.windows])))


def test_where_nothing_rubs_the_step_hardly_counts() -> None:
    """A pendulum against its own ODE: of second order in the step, where semi-implicit Euler is of first."""
    model = Model("m", Hinge(inclination=math.pi / 2), (RigidBody(),))
    model = model.with_values([2.0, 1.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.6, 0.0, 0.6])
    times = np.arange(101) / RATE
    wrench = torques(times, lambda _: 0.3)

    def rates(_: float, y: np.ndarray) -> list[float]:
        return [y[1], (0.3 + 9.80665 * math.sin(y[0])) / 0.6]

    found = solve_ivp(rates, (0.0, 1.0), [2.0, 0.5], t_eval=times, rtol=1e-10, atol=1e-12)
    coarse, fine = (
        replay(model, times, wrench, found.y.T, window_s=1.0, dt=dt, least_travel=0.0).rms for dt in (1e-2, 2.5e-3)
    )
    assert coarse < math.radians(0.1)
    assert 12 < coarse / fine < 20


def test_it_is_the_same_every_time(recording: Any) -> None:
    one, two = (replay(paper_door(), *recording, window_s=5.0) for _ in range(2))
    assert [w.tracks[0].simulated.tobytes() for w in one.windows] == [
        w.tracks[0].simulated.tobytes() for w in two.windows
    ]


def test_noise_of_the_start_does_little(recording: Any) -> None:
    times, wrench, state = recording
    noisy = state + np.random.default_rng(1).normal(size=state.shape) * [math.radians(0.05), 0.01]
    assert degrees(replay(paper_door(), times, wrench, noisy)) < 0.5


def test_a_window_that_hardly_moves_does_not_count() -> None:
    times = np.arange(1001) / RATE
    state = np.tile([0.6, 0.0], (1001, 1))
    found = replay(paper_door(), times, torques(times, lambda _: 10.2), state)
    assert found.windows == ()
    assert math.isnan(found.rms)
    (window,) = replay(paper_door(), times, torques(times, lambda _: 10.2), state, least_travel=0.0).windows
    assert window.rms == 0.0  # it sticks


# What was not seen


def test_of_more_windows_than_wanted_some_are_played_spread_over_the_recording(recording: Any) -> None:
    found = replay(paper_door(), *recording, window_s=3.0, least_travel=0.0, most_s=13.0)
    assert [w.start_s for w in found.windows] == [0.0, 6.0, 15.0, 21.0]


def test_windows_go_around_what_was_not_seen(recording: Any) -> None:
    times, wrench, state = (x.copy() for x in recording)
    wrench[1200, 2] = np.nan
    state[1300:1310, 1] = np.nan
    times[2500:] += 7.0  # a pause
    found = replay(paper_door(), times, wrench, state, window_s=5.0, least_travel=0.0)
    assert [w.start_s for w in found.windows] == pytest.approx([0.0, 5.0, 13.1, 18.1, 32.0])
    assert degrees(found) < 0.03


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_odd_data_never_raise_and_windows_hold_what_is_known(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 400))
    gaps = rng.choice([0.01, 0.0101, 0.5, -0.01, 0.0, np.nan], size=count, p=[0.96, 0.02, 0.005, 0.005, 0.005, 0.005])
    times = np.cumsum(np.nan_to_num(gaps)) + 0.0 * gaps
    wrench, state = rng.normal(size=(count, 6)) * 10, rng.uniform(0.1, 1.0, size=(count, 2))
    for array in (wrench, state):
        array[rng.uniform(size=count) < rng.choice([0.0, 0.01, 1.0], p=[0.5, 0.4, 0.1])] = rng.choice([np.nan, np.inf])
    found = replay(SIMPLE, times, wrench, state, window_s=0.3, least_travel=0.0)
    for w in found.windows:
        assert np.isfinite([w.tracks[0].measured, w.tracks[0].simulated, w.times_s]).all()
        assert len(w.times_s) == 31
        assert np.abs(np.diff(w.times_s) - 0.01).max() < 0.006


SIMPLE = Model("m", Hinge(), (ScalarInertia(), Viscous(), Coulomb())).with_values([3.0, 2.0, 0.5])


@pytest.mark.parametrize("count", [0, 1])
def test_too_little_to_step(count: int) -> None:
    found = replay(SIMPLE, np.zeros(count), np.zeros((count, 6)), np.zeros((count, 2)))
    assert found.windows == ()
    assert math.isnan(found.rms)


def test_stamps_rounded_to_milliseconds_are_even(recording: Any) -> None:
    """120 Hz in whole milliseconds: 8, 8, 9, 8, 8, 9 ..."""
    exact = np.arange(1201) / 120.0
    state = np.column_stack([np.interp(exact, recording[0], x) for x in recording[2].T])
    wrench = torques(exact, push)
    found = replay(paper_door(), np.round(exact, 3), wrench, state, window_s=9.9)
    assert len(found.windows) == 1
    assert degrees(found) < 0.1


def test_what_does_not_fit_is_refused(recording: Any) -> None:
    times, wrench, state = recording
    with pytest.raises(DataProblem, match=r"must be \(n,\), \(n, 6\) and \(n, 2\), not .*\(3051, 3\)"):
        replay(paper_door(), times, wrench[:, :3], state)
    with pytest.raises(PalpateError, match="window and step must be positive"):
        replay(paper_door(), times, wrench, state, window_s=0.0)
    with pytest.raises(PalpateError, match="no value for I"):
        replay(load_object("door"), times, wrench, state)


# Frames and stops


@cache
def slammed() -> tuple[Model, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """A door without closer that a hand throws into its frame and its doorstop, leaning on both."""
    elements = (ScalarInertia(), Viscous(), Coulomb(), EndStop(at=1.5), EndStop("shut", at=0.0, side="lowest"))
    model = Model("m", Hinge(), elements).with_values([5.0, 2.0, 1.0, 4e4, 4e4, 4e4, 4e4])
    times = np.arange(1001) / RATE
    wrench = torques(times, lambda t: 12.0 * math.sin(2 * math.pi * 0.2 * t))
    stepper, path = Stepper(model, 1e-4), np.empty((100_000, 3))
    fine = (np.arange(100_000) + 0.5) * 1e-4
    stepper.reset((0.2, 0.0))
    stepper.run(np.column_stack([np.interp(fine, times, x) for x in wrench.T]), path)
    state = np.concatenate([[[0.2, 0.0]], path[99::100, :2]])
    return model, (times, wrench, state)


def without_stops(model: Model) -> Model:
    elements = tuple(e for e in model.elements if not isinstance(e, EndStop))
    return replace(model, elements=elements, values={}).with_values(model.p[:3])


def test_a_model_without_stops_goes_through_the_frame_and_that_counts() -> None:
    model, data = slammed()
    usual, fine = (degrees(replay(model, *data, dt=dt)) for dt in (1e-3, 2.5e-4))
    assert fine < 0.1
    assert fine < usual / 3  # what is left is the step's: each bounce passes on what the one before has lost
    free = without_stops(model)
    found = replay(free, *data)
    (window,) = found.windows
    (track,) = window.tracks
    assert max(track.simulated.max() - track.measured.max(), track.measured.min() - track.simulated.min()) > 0.2
    assert degrees(found) > 10
    angle = data[2][:, 0]
    stopped = replay(with_stops(free, angle.min(), angle.max()), *data)
    assert stopped.rms < 0.1 * found.rms  # how it bounces nobody measured


def test_stops_are_added_only_where_there_are_none() -> None:
    model, _ = slammed()
    assert with_stops(model, 0.1, 1.0).elements == model.elements
    one = replace(model, elements=model.elements[:4], values={}).with_values(model.p[:5])
    added = with_stops(one, 0.1, 1.0).elements
    assert [(e.at, e.side) for e in added if isinstance(e, EndStop)] == [(1.5, "highest"), (0.1, "lowest")]
    with pytest.raises(PalpateError, match="no main coordinate"):
        with_stops(Model("m", Free(), (RigidBody(),)), 0.0, 1.0)


def test_an_error_of_the_zero_angle_does_not_throw_the_door_out_of_its_frame() -> None:
    """Shut, but measured at -1 deg: the stop would push with 700 N m."""
    model = Model("m", Hinge(), (ScalarInertia(), Coulomb(), EndStop("shut", at=0.0, side="lowest")))
    model = model.with_values([5.0, 1.0, 4e4, 0.1])
    times = np.arange(201) / RATE
    state = np.tile([math.radians(-1.0), 0.0], (201, 1))
    (window,) = replay(model, times, torques(times, lambda _: -20.0), state, window_s=2.0, least_travel=0.0).windows
    assert math.degrees(window.rms) < 1.1
    state[:, 0] = -1.0
    assert replay(model, times, torques(times, lambda _: -20.0), state, window_s=2.0, least_travel=0.0).windows == ()


def test_a_start_out_of_the_linkages_reach_is_skipped(recording: Any) -> None:
    times, wrench, state = recording
    found = replay(paper_door(), times, wrench, state + np.array([3.0, 0.0]))
    assert found.windows == ()


def test_a_model_that_blows_up_is_not_replayed() -> None:
    model = Model("m", Hinge(), (ScalarInertia(), PolynomialSpring(order=9))).with_values([1.0, *[1e9] * 10])
    times = np.arange(201) / RATE
    found = replay(model, times, torques(times, lambda _: 0.0), np.tile([1.0, 1.0], (201, 1)), window_s=2.0)
    assert found.windows == ()


def test_any_mechanism_replays() -> None:
    """A free body that is pushed: its place is compared, and how it turned, not the four numbers of a quaternion."""
    model = Model("m", Free(gravity=0.0), (RigidBody(),)).with_values([2.0, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.1])
    times = np.arange(51) / RATE
    state = np.zeros((51, 13))
    state[:, 3] = 1.0
    state[:, 0], state[:, 7] = 0.5 * 3.0 * times**2, 3.0 * times
    wrench = np.tile([6.0, 0, 0, 0, 0, 0], (51, 1))
    found = replay(model, times, wrench, state, window_s=0.5, least_travel=0.0)
    (window,) = found.windows
    assert max(t.rms for t in window.tracks) < 1e-9
    assert [t.name for t in window.tracks] == ["x", "y", "z", "turn_x", "turn_y", "turn_z"]
    assert found.errors == {t.name: (t.rms, t.unit) for t in window.tracks}
    assert (found.unit, [t.unit for t in window.tracks]) == ("rad", ["m", "m", "m", "rad", "rad", "rad"])
    state[:, 1] = 0.1 * times  # a speed that was not measured
    moved = replay(model, times, wrench, state, window_s=0.5, least_travel=0.0)
    assert moved.errors["y"][0] == pytest.approx(0.1 * math.sqrt(np.mean(times[1:] ** 2)))
    assert moved.errors["x"] == found.errors["x"]
