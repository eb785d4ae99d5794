"""Linkages beside the four-bar: loops closed by SciPy, derivatives by differences, numbers of every kind, refusals."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import cumulative_trapezoid
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

from palpate.errors import DataProblem, PalpateError
from palpate.experiment import read_experiment, run_experiment
from palpate.experiment.file.reading import object_model
from palpate.mechanisms import FourBar, Hinge, Linkage, RatioTable, Slide, TrackArm, TwoPoints, check_linkage
from palpate.physics.functions import ARRAYS, FLOATS, casadi_functions
from tests.conftest import needs
from tests.oracles import gates_of_other_make as gates

SEEDS = st.integers(0, 100_000)


def with_offset(rng: np.random.Generator) -> FourBar:
    """The paper's links, with stand-offs."""
    lengths = (0.28575, 0.27305, 0.26035, 0.34925)
    L1, L2, L3, L4 = np.array(lengths) * rng.uniform(0.95, 1.05, 4)
    a, b = rng.uniform([0.02, -0.02], [0.05, 0.03])
    offset = math.atan2(a, L1) - math.atan2(b, L4)
    return FourBar((math.hypot(L1, a), L2, L3, math.hypot(L4, b)), "negative", (0.1, 1.5), offset)


def track_arm(rng: np.random.Generator) -> TrackArm:
    L1, L2, L3 = rng.uniform([0.2, 0.36, -0.04], [0.3, 0.5, 0.05])
    return TrackArm((L1, L2, L3), ("outward", "inward")[int(rng.integers(2))], (0.0, 1.7), rng.uniform(-0.1, 0.2))


def turning(rng: np.random.Generator) -> TwoPoints:
    body, ground = rng.uniform([0.2, -0.1], [0.5, 0.1]), rng.uniform([-0.2, 0.6], [0.1, 0.9])
    return TwoPoints(tuple(body.tolist()), tuple(ground.tolist()))


def sliding(rng: np.random.Generator) -> TwoPoints:
    body, ground = rng.uniform(-0.3, 0.3, 2), rng.uniform([-0.2, 0.4], [0.2, 0.6])
    return TwoPoints(tuple(body.tolist()), tuple(ground.tolist()), "slide", (0.0, 0.5))


def table(rng: np.random.Generator) -> RatioTable:
    at = np.cumsum(rng.uniform(0.1, 0.4, 6))
    return RatioTable(tuple(at.tolist()), tuple(rng.uniform(0.5, 3.0, 6).tolist()), float(rng.normal()))


KINDS = {f.__name__: f for f in (with_offset, track_arm, turning, sliding, table)}


def positions(linkage: Linkage, n: int = 23) -> np.ndarray:
    return np.linspace(*linkage.range, n + 2)[1:-1]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_derivatives_are_those_of_differences(kind: str, seed: int) -> None:
    linkage = KINDS[kind](np.random.default_rng(seed))
    q, h = positions(linkage), 1e-5
    if isinstance(linkage, RatioTable):  # its slope jumps at the knots
        q = q[np.abs(q[:, None] - np.array(linkage.at)).min(axis=1) > 1e-4]
    _, nu, nu_1 = linkage.transmit(q, ARRAYS)
    a, b, c, d = (linkage.transmit(q + i * h, ARRAYS) for i in (-2, -1, 1, 2))
    slopes = [(a[i] - 8 * b[i] + 8 * c[i] - d[i]) / (12 * h) for i in (0, 1)]
    assert nu == pytest.approx(slopes[0], abs=1e-7, rel=1e-7)
    assert nu_1 == pytest.approx(slopes[1], abs=1e-6, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_floats_arrays_and_symbols_agree_and_never_raise(kind: str, seed: int) -> None:
    ca = needs("casadi", "casadi")
    linkage = KINDS[kind](np.random.default_rng(seed))
    q = np.array([*positions(linkage, 5), -3.2, -1.0, 0.0, 1e-9, 3.1, 12.0])
    arrays = np.array(linkage.transmit(q, ARRAYS))
    symbol = ca.SX.sym("q")
    function = ca.Function("transmit", [symbol], [ca.vertcat(*linkage.transmit(symbol, casadi_functions()))])
    for i, position in enumerate(q.tolist()):
        floats = linkage.transmit(position, FLOATS)
        assert np.isfinite(floats).all()
        assert floats == pytest.approx(arrays[:, i], rel=1e-9, abs=1e-9)
        assert np.array(function(position)).ravel() == pytest.approx(arrays[:, i], rel=1e-9, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_stand_offs_close_the_loop_of_points(seed: int) -> None:
    """Pinion and pivot as points that stand off door and frame; arm and forearm meet at the elbow."""
    rng = np.random.default_rng(seed)
    (L1, L2, L3, L4), (a, b) = np.array([0.286, 0.273, 0.26, 0.349]), rng.uniform([0.02, -0.02], [0.05, 0.03])
    offset = math.atan2(a, L1) - math.atan2(b, L4)
    bar = FourBar((math.hypot(L1, a), L2, L3, math.hypot(L4, b)), "negative", (0.2, 1.5), offset)
    theta = float(rng.uniform(0.2, 1.5))
    pinion, pivot = (L1 + 1j * a) * np.exp(1j * theta), L4 + 1j * b
    phi = bar.transmit(theta, FLOATS)[0]
    # phi counts from the bar hinge-pinion to the arm; where it points in the world follows from the pinion's place
    arm = np.angle(pinion) + math.pi - phi
    elbow = pinion + L2 * np.exp(1j * arm)
    assert abs(elbow - pivot) == pytest.approx(L3, rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_the_roller_is_in_its_track(seed: int) -> None:
    linkage = track_arm(np.random.default_rng(seed))
    L1, L2, L3 = linkage.lengths
    theta = float(np.random.default_rng(seed).uniform(*linkage.range)) + linkage.offset
    start = 0.0 if linkage.roller == "outward" else math.pi
    gamma = float(fsolve(lambda g: L1 * math.sin(theta) + L2 * np.sin(g) - L3, start, xtol=1e-11)[0])
    phi = linkage.transmit(theta - linkage.offset, FLOATS)[0]
    assert np.exp(1j * (math.pi + theta - phi)) == pytest.approx(np.exp(1j * gamma), abs=1e-7)


def test_the_distance_of_two_points_is_scipys() -> None:
    linkage = turning(np.random.default_rng(3))
    q = positions(linkage)
    ends = Rotation.from_euler("z", q[:, None]).apply([*linkage.body, 0.0])
    far = np.linalg.norm(ends - [*linkage.ground, 0.0], axis=1)
    assert linkage.transmit(q, ARRAYS)[0] == pytest.approx(far, rel=1e-12)


def test_a_table_drives_the_integral_of_its_ratio() -> None:
    linkage = table(np.random.default_rng(4))
    q = np.linspace(linkage.at[0], linkage.at[-1], 20001)
    ratio = np.interp(q, linkage.at, linkage.ratio)
    driven, nu, _ = linkage.transmit(q, ARRAYS)
    assert nu == pytest.approx(ratio, rel=1e-12)
    assert driven - driven[0] == pytest.approx(cumulative_trapezoid(ratio, q, initial=0.0), abs=1e-7)
    assert driven[0] == linkage.start


def test_an_arm_across_its_track_is_at_the_end_of_its_reach() -> None:
    linkage = TrackArm((0.3, 0.25, 0.0), range=(0.0, 0.9))
    low, high = linkage.reach
    assert -low == high == pytest.approx(math.asin(0.25 / 0.3), abs=2e-3)
    with pytest.raises(PalpateError, match=r"cannot close the loop at 90.0 deg, only from -5\d.\d to 5\d.\d deg"):
        TrackArm((0.3, 0.25, 0.0))


def test_an_arm_reaches_its_track_on_the_other_half_of_the_turn_too() -> None:
    linkage = TrackArm((0.5, 0.3, 0.0), range=(math.radians(150), math.radians(200)))
    low, high = linkage.reach
    assert low < linkage.range[0] < linkage.range[1] < high


def test_beyond_its_table_a_ratio_is_not_known() -> None:
    with pytest.raises(DataProblem, match=r"sample 1: 171.9 deg is out of the linkage's reach"):
        RatioTable((0.0, 0.8, 1.6), (1.0, 1.5, 2.0)).check_reach(np.array([1.0, 3.0]))


@pytest.mark.parametrize("kind", KINDS)
def test_ours_keep_their_promises(kind: str) -> None:
    check_linkage(KINDS[kind](np.random.default_rng(5)))


def test_a_ratio_that_is_no_slope_is_found() -> None:
    class Wrong(TwoPoints):
        def transmit(self, position: Any, fn: Any) -> tuple[Any, Any, Any]:
            return 1.0 + position * position, 17.0 + 0 * fn.sin(position), -3.0 + 0 * position

    with pytest.raises(PalpateError, match="the ratio that transmit"):
        check_linkage(Wrong())


@pytest.mark.parametrize(
    ("linkage", "problem"),
    [
        ("{type: ratio-table, at: [0, 90], ratio: [1, 2]}", "90 has no unit"),
        ("{type: two-points, range: [0, 90]}", "90 has no unit"),
        ("{type: ratio-table, at: [0 deg, 90 deg], ratio: [1, 2]}", ""),
        ("{type: two-points, range: [0 deg, 90 deg]}", ""),
    ],
)
def test_positions_of_a_hinge_need_their_unit(linkage: str, problem: str, tmp_path: Path) -> None:
    path, _ = gates.write(tmp_path, 1, keys=f"mechanism: {{linkage: {linkage}}}\n")
    if problem:
        with pytest.raises(PalpateError, match=problem):
            object_model(read_experiment(path))
        return
    made = object_model(read_experiment(path)).mechanism.linkage
    assert made is not None
    assert made.range == pytest.approx((0.0, math.pi / 2))


@pytest.mark.parametrize("method", ["balance", "joint"])
def test_a_table_of_ratios_is_taken_as_exact_by_both_methods(method: str, tmp_path: Path) -> None:
    keys = "mechanism: {linkage: {type: ratio-table, at: [-20 deg, 100 deg], ratio: [1, 1]}}\nmethod: " + method + "\n"
    path, truth = gates.write(tmp_path, 1, keys=keys)
    result = run_experiment(read_experiment(path))
    assert result.passed
    for name, value in truth.items():
        low, high = result.data["parameters"][name]["ci95"]
        assert abs(result.data["parameters"][name]["value"] - value) < 1.5 * (high - low) / 2
    path.write_text(path.read_text() + "uncertain: {links: 1 mm}\n")
    with pytest.raises(PalpateError, match="links"):
        run_experiment(read_experiment(path))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: TwoPoints(body=(0.3, 0.0), ground=(0.0, 0.3)), "come within .* mm of each other"),
        (lambda: TrackArm((0.3, 0.4)), "lengths must be three numbers"),
        (lambda: TrackArm(roller="out"), "there is no roller 'out'"),
        (lambda: TrackArm((0.1, 0.2, 5.0)), "cannot close the loop"),
        (lambda: TwoPoints(body=(0.0, 0.0)), "a point on the axis of the hinge drives nothing"),
        (lambda: TwoPoints(body=(0.1,)), "body must be two numbers in m"),
        (lambda: TwoPoints(by="roll"), "there is no by 'roll'"),
        (lambda: RatioTable((0.0, 0.0), (1.0, 1.0)), "increasing positions"),
        (lambda: RatioTable((0.0, 1.0), (1.0,)), "ratio must be 2 numbers"),
        (lambda: RatioTable((0.0, 1.0), (0.0, 0.0)), "drives nothing"),
        (lambda: Slide(linkage=FourBar()), "it is driven by an angle, and the position of a slide is a length"),
        (lambda: Hinge(linkage=TwoPoints(by="slide")), "it is driven by a length, and the angle of a hinge"),
    ],
)
def test_linkages_that_cannot_be_are_refused(make: object, problem: str) -> None:
    with pytest.raises(PalpateError) as refused:
        make()  # type: ignore[operator]
    assert re.search(problem, str(refused.value))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", [with_offset, track_arm])
def test_a_stated_offset_is_as_doubtful_as_the_stand_offs_it_follows_from(kind: Callable[..., Any]) -> None:
    """`uncertain: {links: ...}` left it alone."""
    linkage, h = kind(np.random.default_rng(1)), 1e-6
    L1, *_, last = linkage.lengths
    turns = [(math.atan2(h, L1) - math.atan2(0, L1)) / h]
    if isinstance(linkage, FourBar):  # the pivot on the frame stands off for itself
        turns.append(math.atan2(h, last) / h)
    assert linkage.off_by("offset", h) / h == pytest.approx(math.hypot(*turns), rel=1e-4)
    assert Hinge(linkage=linkage).off_by(h)[f"{linkage.coordinate}.offset"] == linkage.off_by("offset", h)
    assert replace(linkage, offset=0.0).off_by("offset", h) == 0  # none is stated
