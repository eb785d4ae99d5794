"""The prior of smoothness of a free table: it holds knots that no data hold, and leaves the others alone."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.elements import Coulomb, ScalarInertia, Table
from palpate.identify import Solution, build_balance, compress, solve
from palpate.mechanisms import Hinge
from palpate.model import Model

KNOTS = tuple(float(x) for x in np.radians(np.arange(0, 91, 6)))


def _solution(smooth: float, seed: int = 0) -> Solution:
    rng = np.random.default_rng(seed)
    t = np.arange(6000) / 100
    angle = np.radians(40) + np.radians(25) * np.sin(0.7 * t) + np.radians(9) * np.sin(2.9 * t)
    speed = np.gradient(angle, t)
    acceleration = np.gradient(speed, t)
    model = Model("x", Hinge(), (ScalarInertia("I"), Coulomb("b_c"), Table(knots=KNOTS, smooth=smooth)))
    motion = model.mechanism.motion(t, np.stack([angle, speed], axis=1), acceleration[:, None])
    wrench = np.zeros((len(t), 6))
    wrench[:, 5] = 2 * acceleration + 1.5 * np.sign(speed) + 3 * np.sin(angle) + 0.3 * rng.normal(size=len(t))
    return solve(compress(build_balance(model, motion, wrench, sigma=[1.0]), [(0.0, 60.0)]))


def test_knots_that_were_never_visited_are_told_as_the_priors() -> None:
    plain, smooth = _solution(0.0), _solution(0.2)
    last = f"tau_{len(KNOTS) - 1}"
    assert plain[last].status.value == "not-identifiable"
    found = smooth[last]
    assert found.status.value == "prior-dominated"
    assert found.ci95 is not None
    assert found.ci95[0] < 3.0 < found.ci95[1]
    assert found.ci95[1] - found.ci95[0] > 3 * 0.2


def test_a_loose_prior_changes_nothing_that_the_data_know() -> None:
    plain, smooth = _solution(0.0), _solution(20.0)
    for i in range(4, 10):
        a, b = plain[f"tau_{i}"], smooth[f"tau_{i}"]
        assert b.value == pytest.approx(a.value, abs=0.05 * a.noise)
        assert b.noise == pytest.approx(a.noise, rel=0.02)


def test_a_tight_prior_makes_a_straight_line() -> None:
    found = _solution(1e-5)
    tau = np.array([found[f"tau_{i}"].value for i in range(len(KNOTS))])
    assert np.abs(np.diff(tau, n=2)).max() < 1e-3


def test_intervals_hold_the_truth_with_a_prior_that_is_right() -> None:
    inside = []
    for seed in range(12):
        found = _solution(0.05, seed)
        for i, knot in enumerate(KNOTS):
            ci = found[f"tau_{i}"].ci95
            assert ci is not None
            # piecewise linear between knots 6 deg apart: 3 sin is off its chord by less than 0.005 N m
            inside.append(ci[0] - 0.005 <= 3 * np.sin(knot) <= ci[1] + 0.005)
    assert np.mean(inside) > 0.9
