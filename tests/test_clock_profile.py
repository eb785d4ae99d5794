"""The balance as a witness of a load cell's clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import lsq_linear, minimize_scalar
from scipy.signal import lfilter

from palpate.elements import Element, Parameter, RigidBody, SensorBias
from palpate.errors import DataProblem
from palpate.identify import build_balance, compress
from palpate.identify.clock_profile import (
    bounded,
    fit_valley,
    profile_clock,
    residuals,
)
from palpate.model import Model, load_object
from palpate.motion.clock import ClockMap, clock_map
from palpate.motion.derivatives import design_lowpass
from palpate.motion.offset import minimise
from palpate.physics.functions import Functions, Scalar
from palpate.physics.inertia import body_regressor
from palpate.physics.motion import Kinematics, Motion
from palpate.twin.handle import HandMotion, random_hand, random_handle
from tests.capture_twin import G, hinge_hand
from tests.load_cell_clock import profile_load_cell
from tests.own_parts import SwingDoor, Viscous

Array = NDArray[np.float64]
HANDLE_SIGMA = [0.15] * 3 + [0.004] * 3


@dataclass(frozen=True, slots=True)
class Coulomb(Element):
    """tau = c sign(speed), smoothed: enough for a door that a person keeps moving."""

    name: str = "coulomb"
    acts_on: str = "hinge"
    type: ClassVar[str] = "coulomb"
    dry: ClassVar[bool] = True
    dissipates: ClassVar[bool] = True
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("c", "N m", "positive"),)

    def features(self, k: Kinematics, z: Mapping[str, Scalar], fn: Functions) -> Sequence[Scalar]:
        del z
        return (fn.tanh(k.coordinates[self.acts_on].speed / 0.02),)

    def columns(self, f: Sequence[Scalar]) -> list[list[Scalar]]:
        return [[f[0]]]


DOOR = Model("door", SwingDoor(), (RigidBody(), Viscous(), Coulomb(), SensorBias()))


def slow_noise(rng: np.random.Generator, n: int, tau_s: float) -> Array:
    """A disturbance of standard deviation one that forgets itself after tau_s, at 1 kHz."""
    a = np.exp(-0.001 / tau_s)
    return np.asarray(lfilter([np.sqrt(1 - a * a)], [1, -a], rng.normal(size=n)), dtype=float)


def measured(rng: np.random.Generator, hand: HandMotion, t: Array) -> Motion:
    """Motion as capture at 100 Hz gives it."""
    m = hand.motion(t)
    noise = [s * rng.normal(size=(len(t), 3)) for s in (0.2, 0.05, 0.5)]
    return Motion(t, m.specific_acceleration + noise[0], m.omega + noise[1], m.omega_dot + noise[2])


@dataclass(frozen=True)
class Pair:
    """Motion on the reference clock, wrench on the load cell's, and the true relation."""

    motion: Motion
    times_s: Array
    wrench: Array
    clock: ClockMap


def shaken(seed: int, duration_s: float = 100.0, *, ppm: float = 50.0, offset: float | None = None) -> Pair:
    """A handle, with slow disturbances of the force that no model knows."""
    rng = np.random.default_rng([seed, 3])
    clock = clock_map(float(rng.uniform(-0.6, 0.6)) if offset is None else offset, 0.0, duration_s / 2, ppm, 0.0)
    hand, phi = random_hand(rng, duration_s, G), random_handle(rng)
    t = np.arange(round((duration_s + 1) * 1000)) / 1000 - 0.3 - clock.offset_s
    m = hand.motion(clock.to_reference(t))
    w = body_regressor(m.specific_acceleration, m.omega, m.omega_dot) @ phi
    scale = np.array([1.0] * 3 + [0.03] * 3)
    w = w + scale * (rng.normal(size=6) + 0.15 * rng.normal(size=w.shape))
    w += scale * 0.3 * np.stack([slow_noise(rng, len(t), 0.2) for _ in range(6)], axis=1)
    return Pair(measured(rng, hand, np.arange(round(duration_s * 100)) / 100), t, w, clock)


def swung(seed: int, duration_s: float = 100.0) -> Pair:
    """A door with viscous and dry friction, and a hand that trembles."""
    rng = np.random.default_rng([seed, 4])
    clock = clock_map(float(rng.uniform(-0.6, 0.6)), 0.0, duration_s / 2, 50.0, 0.0)
    hand = hinge_hand(seed, duration_s)
    t = np.arange(round((duration_s + 1) * 1000)) / 1000 - 0.3 - clock.offset_s
    m = hand.motion(clock.to_reference(t))
    w = np.zeros((len(t), 6))
    omega = m.omega[:, 2]
    w[:, 5] = 8 * m.omega_dot[:, 2] + 4 * omega + 1.5 * np.tanh(omega / 0.02)
    w[:, 5] += 0.3 * slow_noise(rng, len(t), 0.3) + 0.05 * rng.normal(size=len(t))
    return Pair(measured(rng, hand, np.arange(round(duration_s * 100)) / 100), t, w, clock)


@pytest.mark.parametrize("kind", ["handle", "door"])
def test_the_offset_is_found_to_two_milliseconds_and_lies_in_its_interval(kind: str) -> None:
    """30 of each, 100 s long, gave 0.19 and 1.34 ms at worst in mid-recording, inside the interval in 29 and 30."""
    z: list[float] = []
    for seed in range(3):
        pair = shaken(seed, 50.0) if kind == "handle" else swung(seed, 60.0)
        model, sigma = (load_object("handle"), HANDLE_SIGMA) if kind == "handle" else (DOOR, [1.0])
        found = profile_load_cell(model, pair.motion, pair.times_s, pair.wrench, sigma=sigma)
        error = found.value_s - pair.clock.offset_at(np.array([found.at_s]))[0]
        assert abs(error) < 2e-3
        assert found.std_s < 1e-3
        assert found.lags_s[found.misfit.argmin()] == pytest.approx(found.value_s, abs=0.03)
        z += [error / found.std_s, (found.drift_ppm - 50.0) / found.drift_std_ppm]
    assert 0.3 < np.sqrt(np.mean(np.square(z))) < 1.67  # 6 numbers: chi2 gives this in 98 of 100 cases


def test_a_first_guess_finds_offsets_of_minutes() -> None:
    pair = shaken(1, 40.0, offset=-432.1)
    found = profile_load_cell(
        load_object("handle"), pair.motion, pair.times_s, pair.wrench, sigma=HANDLE_SIGMA, around_s=-432.0, reach_s=0.5
    )
    assert abs(found.clock.offset_at(np.array([20.0]))[0] + 432.1) < 1e-3


def test_gaps_of_either_side_are_left_out() -> None:
    pair = shaken(2, 60.0)
    model, omega = load_object("handle"), pair.motion.omega.copy()
    omega[2000:2100] = np.nan
    wrench = pair.wrench.copy()
    wrench[40000:40020] = np.nan
    holed = Motion(pair.motion.times_s, pair.motion.specific_acceleration, omega, pair.motion.omega_dot)
    found = profile_load_cell(model, holed, pair.times_s, wrench, sigma=HANDLE_SIGMA)
    assert abs(found.clock.offset_at(np.array([30.0])) - pair.clock.offset_at(np.array([30.0])))[0] < 1e-3
    with pytest.raises(DataProblem, match="did not both see"):
        profile_load_cell(model, holed, pair.times_s, wrench, sigma=HANDLE_SIGMA, segments=[(15.0, 30.0)])
    with pytest.raises(DataProblem, match="did not both see"):
        profile_load_cell(model, holed, pair.times_s, wrench, sigma=HANDLE_SIGMA, around_s=500.0)


def test_what_cannot_be_known_is_refused() -> None:
    pair = shaken(3, 40.0)
    model = load_object("handle")
    rng = np.random.default_rng(0)
    noise = rng.normal(size=pair.wrench.shape)
    with pytest.raises(DataProblem, match=r"cannot be known|end of the range"):
        profile_load_cell(model, pair.motion, pair.times_s, noise, sigma=HANDLE_SIGMA)
    even = HandMotion(np.full((6, 1), 0.3), np.full((6, 1), 2 * np.pi * 2.3), np.arange(6.0)[:, None], -99.0, 999.0, G)
    t, fast = np.arange(0, 40, 0.01), np.arange(-2, 42, 0.001)
    m = even.motion(fast)
    w = body_regressor(m.specific_acceleration, m.omega, m.omega_dot) @ random_handle(rng)
    with pytest.raises(DataProblem, match="fits as well"):
        profile_load_cell(model, measured(rng, even, t), fast, w + rng.normal(size=w.shape), sigma=HANDLE_SIGMA)
    with pytest.raises(DataProblem, match="end of the range"):
        profile_load_cell(
            model, pair.motion, pair.times_s, pair.wrench, sigma=HANDLE_SIGMA,
            around_s=pair.clock.offset_s + 0.2, reach_s=0.1,
        )  # fmt: skip


def test_a_function_that_compresses_is_enough() -> None:
    """The general way gives what the short one does, from balances that anyone builds."""
    pair = shaken(4, 30.0, ppm=0.0)
    model = load_object("handle")
    inner = [(2.0, 28.0)]
    lowpass = design_lowpass(100.0, 10.0)

    def at(clock: ClockMap) -> Array:
        there = clock.from_reference(pair.motion.times_s)
        w = np.stack([np.interp(there, pair.times_s, c) for c in pair.wrench.T], axis=1)
        return residuals(compress(build_balance(model, pair.motion, w, sigma=HANDLE_SIGMA, lowpass=lowpass), inner))

    guess = round(pair.clock.offset_s, 1)
    found = profile_clock(at, guess + np.linspace(-0.3, 0.3, 25), at_s=15.0, length_s=10.0)
    assert abs(found.value_s - pair.clock.offset_s) < max(4 * found.std_s, 1e-4)
    assert np.isnan(found.drift_ppm)


def test_shapes_equal_least_squares_where_the_answer_is_known() -> None:
    """y = p exp(-x t): against SciPy's curve_fit, value and (for white noise) standard deviation."""
    from scipy.optimize import curve_fit

    rng = np.random.default_rng(0)
    t = np.linspace(0, 3, 3000)
    y = 2.0 * np.exp(-0.7 * t) + 0.1 * rng.normal(size=3000)

    def at(x: Array) -> Array:
        column = np.exp(-x[0] * t)
        rest = y - column * (column @ y) / (column @ column)
        return (rest**2).reshape(100, -1).sum(axis=1)

    found = fit_valley(at, [0.5], [0.01])
    p, cov = curve_fit(lambda t, a, x: a * np.exp(-x * t), t, y, p0=[1, 0.5])
    assert found.values[0] == pytest.approx(p[1], abs=1e-3 * np.sqrt(cov[1, 1]) + 1e-4)
    assert found.covariance[0, 0] == pytest.approx(cov[1, 1], rel=0.4)  # 100 pieces: 14 % of a variance is chance
    with pytest.raises(DataProblem, match="no minimum"):
        fit_valley(lambda _: np.ones(20), [0.5], [0.01])


def shaken_along_one_axis(seed: int, hz: float, sign: float = 1.0) -> tuple[float, Motion, Array, Array]:
    """True offset, motion, times and wrench of a handle in three shakes of two seconds; `sign` of the wrench."""
    rng = np.random.default_rng([seed, int(hz * 10)])
    centre, axis, phi, offset = (
        rng.uniform(4, 24, 3),
        8 * rng.normal(size=3),
        random_handle(rng),
        rng.uniform(-0.6, 0.6),
    )

    def at(t: Array) -> Motion:
        envelope = np.exp(-0.5 * ((t[:, None] - centre) / 2) ** 2).sum(axis=1)
        a = np.outer(envelope * np.sin(2 * np.pi * hz * t + 0.3), axis) + np.array([0, 0, G])
        return Motion(t, a, np.zeros((len(t), 3)), np.zeros((len(t), 3)))

    t, fast = np.arange(0, 28, 0.01), np.arange(-1, 29, 0.001)
    m, true = at(t), at(fast + offset)
    noise = [s * rng.normal(size=(len(t), 3)) for s in (0.2, 0.05, 0.5)]
    w = sign * body_regressor(true.specific_acceleration, true.omega, true.omega_dot) @ phi
    w = w + np.array(HANDLE_SIGMA) * rng.normal(size=w.shape)
    w += np.array([0.3] * 3 + [0.01] * 3) * np.stack([slow_noise(rng, len(fast), 0.2) for _ in range(6)], axis=1)
    return offset, Motion(t, m.specific_acceleration + noise[0], noise[1], noise[2]), fast, w


@pytest.mark.parametrize("hz", [3.0, 4.0, 4.8])
def test_a_negative_mass_half_a_period_beside_is_not_an_object(hz: float) -> None:
    for seed in range(5):
        offset, motion, times, wrench = shaken_along_one_axis(seed, hz)
        found = profile_load_cell(load_object("handle"), motion, times, wrench, sigma=HANDLE_SIGMA)
        assert abs(found.value_s - offset) < 2e-3


def test_a_wrench_of_the_wrong_sign_is_refused() -> None:
    pair = shaken(2, 40.0)
    with pytest.raises(DataProblem, match="negative mass"):
        profile_load_cell(load_object("handle"), pair.motion, pair.times_s, -pair.wrench, sigma=HANDLE_SIGMA)


def test_the_search_for_a_lag_and_the_bounded_fit_agree_with_scipy() -> None:
    random = np.random.default_rng(3)
    for _ in range(30):
        middle, power = random.normal(), random.uniform(0.5, 3)
        low, high = sorted(random.normal(size=2))

        def valley(x: float, middle: float = middle, power: float = power) -> float:
            return float(abs(x - middle) ** power + 0.1 * np.sin(5 * x))

        theirs = minimize_scalar(valley, bounds=(low, high), method="bounded", options={"xatol": 1e-4}).x
        assert minimise(valley, low, high)[0] == pytest.approx(theirs, abs=1e-9)
        A, b, least = random.normal(size=(20, 8)), random.normal(size=20), np.where(np.arange(8) < 5, 0.0, -np.inf)
        expected = lsq_linear(A, b, bounds=(least, np.inf), method="bvls").x
        assert bounded(A, b, least) == pytest.approx(expected, abs=1e-8)
