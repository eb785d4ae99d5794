"""The log-Cholesky map and the other maps: against the paper's formula, Pinocchio and finite differences."""

from __future__ import annotations

from math import exp
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palpate.errors import NotConsistent, PalpateError
from palpate.physics.inertia import is_consistent, mass_properties, pseudo_inertia
from palpate.physics.maps import (
    Factor,
    LogCholesky,
    Map,
    MapKind,
    build_map,
)
from tests.conftest import needs
from tests.oracles.point_masses import cloud_phi, random_cloud
from tests.oracles.scipy_stack import phi_of_theta

FACTORS: tuple[Factor, ...] = ("UtU", "UUt")
THETA = np.array([0.3, -1.2, -0.8, -1.5, 0.11, -0.07, 0.19, 0.4, -0.3, 0.25])
thetas = st.lists(st.floats(-2, 2), min_size=10, max_size=10).map(np.array)
factors = st.sampled_from(FACTORS)


def finite_differences(map_: Map | LogCholesky, theta: np.ndarray, h: float = 1e-4) -> np.ndarray:
    """d forward / d theta by differences of sixth order."""
    columns = []
    for step in np.eye(len(theta)) * h:
        d1, d2, d3 = ((map_.forward(theta + i * step) - map_.forward(theta - i * step)) / h for i in (1, 2, 3))
        columns.append(0.75 * d1 - 0.15 * d2 + d3 / 60)
    return np.array(columns).reshape(len(theta), len(map_.forward(theta))).T


def test_theta_becomes_phi_as_the_paper_prints_it() -> None:
    assert LogCholesky("UtU").forward(THETA) == pytest.approx(phi_of_theta(np.array(THETA)), rel=1e-14)


@pytest.mark.parametrize("seed", range(20))
def test_uut_and_its_jacobian_are_pinocchios(seed: int) -> None:
    needs("pinocchio", "pinocchio")
    from tests.oracles import pinocchio_body

    theta = np.random.default_rng(seed).normal(size=10)
    phi, jacobian = pinocchio_body.phi_from_log_cholesky(theta), pinocchio_body.log_cholesky_jacobian(theta)
    assert np.abs(LogCholesky("UUt").forward(theta) - phi).max() / np.abs(phi).max() < 1e-12
    assert np.abs(LogCholesky("UUt").jacobian(theta) - jacobian).max() / np.abs(jacobian).max() < 1e-12


def test_in_uut_alpha_is_the_mass_and_t_the_centre_of_mass() -> None:
    mass, com, _ = mass_properties(LogCholesky("UUt").forward(THETA))
    assert mass == pytest.approx(exp(2 * THETA[0]), rel=1e-14)
    assert com == pytest.approx(THETA[7:], rel=1e-14)


@given(thetas, factors)
def test_every_theta_is_a_consistent_body_and_comes_back(theta: np.ndarray, factor: Factor) -> None:
    phi = LogCholesky(factor).forward(theta)
    assert is_consistent(phi)
    # what rounding of phi does to theta grows with the condition of the pseudo-inertia
    allowed = 1e-14 * np.linalg.cond(pseudo_inertia(phi))
    assert np.abs(LogCholesky(factor).inverse(phi) - theta).max() < allowed


@given(st.integers(0, 10_000), factors)
def test_every_cloud_of_points_has_a_theta(seed: int, factor: Factor) -> None:
    phi = cloud_phi(*random_cloud(np.random.default_rng(seed)))
    back = LogCholesky(factor).forward(LogCholesky(factor).inverse(phi))
    assert np.abs(back - phi).max() / np.abs(phi).max() < 1e-13


def test_both_factors_reach_the_same_body_with_different_theta() -> None:
    phi = LogCholesky("UtU").forward(THETA)
    theta = LogCholesky("UUt").inverse(phi)
    assert LogCholesky("UUt").forward(theta) == pytest.approx(phi, rel=1e-12)
    assert np.abs(theta - THETA).max() > 0.1


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("known_mass", [None, 45.0], ids=["mass_free", "mass_known"])
def test_the_log_cholesky_jacobian_is_the_finite_difference(factor: Factor, known_mass: float | None) -> None:
    map_ = LogCholesky(factor, known_mass)
    theta = THETA[10 - map_.size_theta :]
    analytic = map_.jacobian(theta)
    assert analytic.shape == (10, map_.size_theta)
    assert np.abs(analytic - finite_differences(map_, theta)).max() / np.abs(analytic).max() < 1e-11


@given(thetas.map(lambda theta: theta[1:]), st.floats(0.1, 100), factors)
def test_a_known_mass_is_kept_whatever_the_other_nine(theta_m: np.ndarray, mass: float, factor: Factor) -> None:
    map_ = LogCholesky(factor, mass)
    phi = map_.forward(theta_m)
    assert phi[0] == pytest.approx(mass, rel=1e-13)
    assert is_consistent(phi)
    assert np.abs(map_.jacobian(theta_m)[0]).max() < 1e-12 * mass * max(1, np.abs(theta_m).max())


def test_alpha_of_a_known_mass_is_the_papers() -> None:
    t1, t2, t3 = THETA[7:]
    papers = 0.5 * np.log(45.0 / (1 + t1**2 + t2**2 + t3**2))
    assert LogCholesky("UtU", 45.0).ten(THETA[1:])[0] == pytest.approx(papers, rel=1e-15)
    assert LogCholesky("UUt", 45.0).ten(THETA[1:])[0] == pytest.approx(0.5 * np.log(45.0), rel=1e-15)


def test_a_known_mass_scales_a_prior_and_keeps_centre_and_shape() -> None:
    prior = LogCholesky("UtU").forward(THETA)
    map_ = LogCholesky("UtU", known_mass=45.0)
    assert map_.forward(map_.inverse(prior)) == pytest.approx(prior * 45.0 / prior[0], rel=1e-12)


def test_theta_of_an_impossible_body_is_refused() -> None:
    phi = LogCholesky().forward(THETA)
    phi[4] *= 10
    with pytest.raises(NotConsistent, match="largest must be less than the sum of the others"):
        LogCholesky().inverse(phi)


@pytest.mark.parametrize("kind", ["free", "positive"])
def test_simple_maps_have_the_jacobian_of_their_differences_and_an_inverse(kind: MapKind) -> None:
    map_ = build_map([kind] * 3)
    theta = np.array([-2.0, 0.3, 1.7])
    assert map_.jacobian(theta) == pytest.approx(finite_differences(map_, theta), abs=1e-10)
    assert map_.inverse(map_.forward(theta)) == pytest.approx(theta, rel=1e-14)


def test_a_positive_parameter_refuses_what_is_not() -> None:
    with pytest.raises(PalpateError, match=r"a positive parameter cannot be -0.5"):
        build_map(["positive"] * 2).inverse(np.array([1.0, -0.5]))


def test_a_map_has_its_parameters_side_by_side() -> None:
    kinds: list[MapKind] = ["inertia"] * 10 + ["positive", "free", "positive"] + ["inertia"] * 10 + ["free"] * 6
    map_ = build_map([*kinds, "positive"], fixed={11: 7.0, 12: 8.0}, known_mass=2.0)
    theta = np.random.default_rng(1).normal(size=map_.size_theta) * 0.5
    p = map_.forward(theta)
    assert (map_.size_theta, len(p)) == (9 + 1 + 0 + 9 + 6 + 1, 10 + 1 + 2 + 10 + 6 + 1)
    body = LogCholesky("UtU", known_mass=2.0)
    assert p[:10].tolist() == body.forward(theta[:9]).tolist()
    assert p[10:13].tolist() == [np.exp(theta[9]), 7.0, 8.0]
    assert p[13:23].tolist() == body.forward(theta[10:19]).tolist()
    assert p[23:].tolist() == [*theta[19:25], np.exp(theta[25])]
    assert np.flatnonzero(map_.fixed).tolist() == [0, 11, 12, 13]
    assert np.abs(map_.jacobian(theta) - finite_differences(map_, theta)).max() < 1e-10
    assert map_.inverse(p) == pytest.approx(theta, abs=1e-12)


def test_a_map_finds_possible_parameters_near_impossible_ones() -> None:
    kinds: list[MapKind] = ["inertia"] * 10 + ["positive"] * 3 + ["free"] + ["inertia"] * 10
    stack = build_map(kinds, fixed={12: 7.0})
    impossible = np.concatenate([LogCholesky().forward(THETA), [-0.5, 2.0], [1.0], [-4.0], np.full(10, -1.0)])
    impossible[4] *= 10
    near = stack.nearest(impossible)
    assert stack.forward(stack.inverse(near))[:14] == pytest.approx(near[:14], rel=1e-12)
    assert near[0] == impossible[0]
    assert near[1:4] == pytest.approx(impossible[1:4], rel=1e-13)
    assert near[10] > 0
    assert near[11:14].tolist() == [2.0, 7.0, -4.0]
    assert is_consistent(near[14:])


@pytest.mark.parametrize("factor", ["UtU", "UUt"])
def test_the_curvature_is_the_difference_of_jacobians(factor: Literal["UtU", "UUt"]) -> None:
    rng = np.random.default_rng(8)
    h = 1e-6
    for map_ in (
        LogCholesky(factor),
        LogCholesky(factor, 1.3),
        build_map(["positive"] * 3),
        build_map([*["inertia"] * 10, "positive", "positive", "free"], factor=factor),
    ):
        theta = rng.normal(size=map_.size_theta)
        slope = rng.normal(size=len(map_.forward(theta)))
        up, down = (
            np.array([slope @ map_.jacobian(theta + sign * h * e) for e in np.eye(map_.size_theta)]) for sign in (1, -1)
        )
        numeric = (up - down) / (2 * h)
        assert np.allclose(map_.curvature(theta, slope), numeric, rtol=1e-6, atol=1e-6 * np.abs(numeric).max())
