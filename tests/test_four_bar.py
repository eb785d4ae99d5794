"""The closer's linkage: the errata's figures, loop closure by SciPy, derivatives by differences, reach and refusals."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import fsolve

from palpate.errors import DataProblem, PalpateError
from palpate.mechanisms import FourBar
from palpate.physics.functions import ARRAYS, FLOATS, casadi_functions
from tests.conftest import needs
from tests.oracles import door_ode

DEGREES = np.array([0.0, 5.0, 10.0, 30.0, 60.0, 90.0])
SEEDS = st.integers(0, 100_000)


def random_linkage(seed: int) -> FourBar:
    """Links that close on a range of their own: crank longer or shorter than the ground, elbow on either side."""
    rng = np.random.default_rng(seed)
    assembly = ("negative", "positive")[seed % 2]
    while True:
        lengths = tuple(rng.uniform(0.1, 0.5, size=4).tolist())
        shortest, longest = abs(lengths[1] - lengths[2]), lengths[1] + lengths[2]
        cos = [(lengths[0] ** 2 + lengths[3] ** 2 - q**2) / (2 * lengths[0] * lengths[3]) for q in (shortest, longest)]
        if cos[0] < -0.9 or cos[1] > 0.9:
            continue
        low = -0.9 * math.acos(max(cos[1], -1)) if cos[0] > 1.01 else math.acos(min(cos[0], 1)) + 0.05
        high = math.acos(max(cos[1], -1)) - 0.05
        if high - low > 0.3:
            return FourBar(lengths, assembly, (low, high))


def angles(bar: FourBar, n: int = 9) -> np.ndarray:
    return np.linspace(*bar.range, n)


def test_the_figures_of_erratum_2() -> None:
    phi, nu, _ = FourBar().transmit(np.radians(DEGREES), ARRAYS)
    assert np.degrees(phi) == pytest.approx([108.16, 133.90, 153.73, 197.61, 239.12, 277.92], abs=0.005)
    assert nu == pytest.approx([5.500, 4.607, 3.370, 1.597, 1.284, 1.351], abs=0.0005)
    tau_s = 18.01 - 17.10 * phi + 5.34 * phi**2 - 0.70 * phi**3
    assert nu * tau_s == pytest.approx([0.3, -7.9, -9.9, -9.8, -14.4, -25.9], abs=0.05)
    fine = np.radians(np.arange(0, 95, 0.5))
    smallest = np.degrees(fine[FourBar().transmit(fine, ARRAYS)[1].argmin()])
    assert smallest == pytest.approx(70, abs=2)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_both_assemblies_are_all_that_closes_the_loop(seed: int) -> None:
    bar = random_linkage(seed)
    L1, L2, L3, L4 = bar.lengths
    theta = float(np.random.default_rng(seed).uniform(*bar.range))

    def loop(x: np.ndarray) -> list[float]:
        gap = L1 * np.exp(1j * theta) + L2 * np.exp(1j * x[0]) - L4 - L3 * np.exp(1j * x[1])
        return [gap.real, gap.imag]

    solved = set()
    for start in product(np.linspace(-3, 3, 7), repeat=2):
        x, info, ok, _ = fsolve(loop, start, xtol=1e-13, full_output=True)
        if ok == 1 and np.abs(info["fvec"]).max() < 1e-12:
            solved.add(complex(np.round(np.exp(1j * x[0]), 6)))
    ours = set()
    for assembly in ("negative", "positive"):
        phi = FourBar(bar.lengths, assembly, bar.range).transmit(theta, FLOATS)[0]
        ours.add(complex(np.round(np.exp(1j * (np.pi + theta - phi)), 6)))
    assert len(ours) == 2
    assert max(min(abs(a - b) for b in ours) for a in solved) < 3e-6
    assert max(min(abs(a - b) for b in solved) for a in ours) < 3e-6


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_the_root_and_the_velocity_ratio_are_nortons(seed: int) -> None:
    bar = random_linkage(seed)
    root = -1 if bar.assembly == "negative" else 1
    phi, nu, _ = bar.transmit(angles(bar), ARRAYS)
    L1, L2, _, L4 = bar.lengths
    gamma = door_ode._gamma(door_ode.Door(bar.lengths, root), angles(bar))
    assert np.abs(np.exp(1j * (np.pi + angles(bar) - phi)) - np.exp(1j * gamma)).max() < 1e-9
    psi = np.angle(L1 * np.exp(1j * angles(bar)) + L2 * np.exp(1j * gamma) - L4)
    assert nu == pytest.approx(1 - L1 / L2 * np.sin(psi - angles(bar)) / np.sin(gamma - psi), rel=1e-8)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_derivatives_are_those_of_differences(seed: int) -> None:
    bar = random_linkage(seed)
    theta, h = angles(bar), 1e-5
    _, nu, nu_1 = bar.transmit(theta, ARRAYS)
    near = [bar.transmit(theta + i * h, ARRAYS) for i in (-2, -1, 1, 2)]

    def slope(i: int) -> np.ndarray:
        a, b, c, d = (x[i] for x in near)
        return (a - 8 * b + 8 * c - d) / (12 * h)

    assert nu == pytest.approx(slope(0), abs=1e-7, rel=1e-7)
    assert nu_1 == pytest.approx(slope(1), abs=1e-6, rel=1e-6)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_the_pinion_turns_without_jumps_and_starts_at_a_principal_value(seed: int) -> None:
    bar = random_linkage(seed)
    theta = np.linspace(*bar.range, 2000)
    phi, nu, _ = bar.transmit(theta, ARRAYS)
    assert np.abs(np.diff(phi)).max() <= 1.5 * np.abs(nu).max() * (theta[1] - theta[0])
    closed = min(max(0.0, bar.range[0]), bar.range[1])
    gamma = np.pi + closed - bar.transmit(closed, FLOATS)[0]
    assert -np.pi - 1e-9 < gamma <= np.pi + 1e-9


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_floats_arrays_and_symbols_agree_and_never_raise(seed: int) -> None:
    ca = needs("casadi", "casadi")
    bar = random_linkage(seed)
    theta = np.array([*angles(bar, 5), -3.2, -1.0, 0.0, 1e-9, 3.1, 12.0])
    arrays = np.array(bar.transmit(theta, ARRAYS))
    symbol = ca.SX.sym("theta")
    function = ca.Function("transmit", [symbol], [ca.vertcat(*bar.transmit(symbol, casadi_functions()))])
    for i, angle in enumerate(theta.tolist()):
        floats = bar.transmit(angle, FLOATS)
        assert np.isfinite(floats).all()
        assert floats == pytest.approx(arrays[:, i], rel=1e-9, abs=1e-9)
        assert np.array(function(angle)).ravel() == pytest.approx(arrays[:, i], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("angle", [-2.6, 2.05, 2.6])
def test_beyond_its_reach_the_elbow_keeps_its_angle_and_the_ratio_fits(angle: float) -> None:
    bar, h = FourBar(), 1e-5
    assert not bar.reach[0] < angle < bar.reach[1]
    (a, nu_a, _), (b, nu_b, _) = (bar.transmit(angle + i * h, FLOATS) for i in (-1, 1))
    phi, nu, nu_1 = bar.transmit(angle, FLOATS)
    assert nu == pytest.approx((b - a) / (2 * h), rel=1e-8)
    assert nu_1 == pytest.approx((nu_b - nu_a) / (2 * h), rel=1e-6)
    assert phi == pytest.approx(bar.transmit(math.copysign(bar.reach[1], angle), FLOATS)[0], abs=0.5)


def test_equal_links_fold_to_a_point_at_zero_and_stay_finite() -> None:
    with pytest.raises(PalpateError, match=r"cannot close the loop at 0.0 deg, only from 0.1 to 179.9 deg"):
        FourBar((0.3, 0.3, 0.3, 0.3))
    bar = FourBar((0.3, 0.3, 0.3, 0.3), range=(0.2, 1.5))
    assert np.isfinite(bar.transmit(0.0, FLOATS)).all()
    assert FourBar((0.3, 0.3, 0.3, 0.3), range=(-1.5, -0.2)).reach[1] < 0


def test_reach_is_where_arm_and_forearm_are_stretched() -> None:
    low, high = FourBar().reach
    stretched = math.acos((11.25**2 + 13.75**2 - 21.0**2) / (2 * 11.25 * 13.75))
    assert -low == high == pytest.approx(stretched, abs=1e-5)


def test_measured_angles_out_of_reach_are_refused_with_sample_angle_and_limit() -> None:
    bar = FourBar()
    bar.check_reach(np.array([0.0, np.nan, 1.9, -0.1]))
    with pytest.raises(DataProblem, match=r"linkage: sample 3: 120.0 deg .*-113.9 to 113.9 deg \(2 samples in all\)"):
        bar.check_reach(np.radians([0.0, np.nan, 90.0, 120.0, -150.0]))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"range": (0.0, 2.2)}, "m cannot close the loop at 126.1 deg, only from -113.9 to 113.9 deg"),
        ({"lengths": (1.0, 1.0, 1.0, 9.0)}, "the links 1, 1, 1, 9 m cannot close the loop at any angle"),
        ({"lengths": (1.0, 9.0, 1.0, 1.0)}, "the links 1, 9, 1, 1 m cannot close the loop at any angle"),
        ({"lengths": (1.0, 1.0, 0.0, 1.0)}, "four positive numbers in m"),
        ({"lengths": (1.0, 1.0, 1.0)}, "four positive numbers in m"),
        ({"lengths": "abcd"}, "four positive numbers in m, not 'abcd'"),
        ({"lengths": 3}, "four positive numbers in m, not 3"),
        ({"lengths": (1.0, 1.0, float("nan"), 1.0)}, "four positive numbers in m"),
        ({"range": (1.0, 0.0)}, "the smaller first"),
        ({"assembly": "minus"}, "there is no assembly 'minus'. There is: negative, positive"),
    ],
)
def test_links_that_cannot_be_are_refused(options: dict[str, object], problem: str) -> None:
    with pytest.raises(PalpateError) as refused:
        FourBar(**options)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)
