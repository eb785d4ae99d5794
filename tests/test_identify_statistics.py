"""Prior, replicates, weakest direction: the statistics around a solution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import least_squares
from scipy.signal import lfilter

from palpate.errors import PalpateError
from palpate.identify import (
    Prior,
    bootstrap,
    build_balance,
    compress,
    cross_validate,
    merge,
    robust,
    solve,
    weakest_direction,
)
from palpate.identify.problem import Ending, Problem, build_penalty, possible_fit, uncertainty, unconstrained
from palpate.identify.solution import Solution, Status, damping_curve
from palpate.model import load_object
from palpate.physics.inertia import (
    PHI_NAMES,
    body_regressor,
    divergence_rows,
    drawing_values,
    is_consistent,
    log_det_divergence,
    move_phi,
    phi_from_mass_properties,
    phi_from_pseudo_inertia,
    pseudo_inertia,
    relative_changes,
    relative_spread,
    solid_cylinder,
)
from palpate.physics.maps import build_map
from palpate.physics.motion import Motion
from palpate.twin.handle import off_by, random_handle
from tests.test_identify import EVERYTHING, SIGMA, Case


@given(st.integers(0, 10_000))
def test_the_divergence_is_zero_only_at_the_prior_and_the_same_in_every_frame(seed: int) -> None:
    rng = np.random.default_rng(seed)
    phi, other = random_handle(rng), random_handle(rng)
    J0 = pseudo_inertia(other)
    assert log_det_divergence(other, J0) == pytest.approx(0.0, abs=1e-10)
    assert log_det_divergence(phi, J0) > 1e-6
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    R *= np.sign(np.linalg.det(R))
    r = rng.normal(size=3)
    moved = log_det_divergence(move_phi(phi, R, r), pseudo_inertia(move_phi(other, R, r)))
    assert moved == pytest.approx(log_det_divergence(phi, J0), rel=1e-5)


def test_gradient_and_hessian_of_the_divergence_are_its_differences() -> None:
    rng = np.random.default_rng(3)
    phi, J0 = random_handle(rng), pseudo_inertia(off_by(rng, random_handle(np.random.default_rng(3)), 0.3))
    F, b = divergence_rows(phi, J0)
    S = relative_changes(phi)  # natural steps, so that one step size serves all
    h = 1e-5
    for k in range(10):
        up, down = (log_det_divergence(phi + sign * h * S[:, k], J0) for sign in (1, -1))
        assert (up - down) / (2 * h) == pytest.approx(float(F.T @ b @ S[:, k]), rel=1e-6, abs=1e-8)
        slopes = [divergence_rows(phi + sign * h * S[:, k], J0) for sign in (1, -1)]
        bend = (slopes[0][0].T @ slopes[0][1] - slopes[1][0].T @ slopes[1][1]) / (2 * h)
        assert np.allclose(S.T @ bend, S.T @ F.T @ F @ S[:, k], rtol=1e-5, atol=1e-7)


def test_near_the_prior_twice_the_divergence_is_the_size_of_the_change() -> None:
    phi = random_handle(np.random.default_rng(5))
    e = 1e-4 * np.random.default_rng(0).normal(size=10)
    assert 2 * log_det_divergence(phi + relative_changes(phi) @ e, pseudo_inertia(phi)) == pytest.approx(
        e @ e, rel=1e-2
    )


def test_the_declared_spread_is_the_same_in_every_frame_and_what_drawings_are_off_by() -> None:
    rng = np.random.default_rng(1)
    phi = random_handle(rng)
    draws = np.array([off_by(rng, phi, 0.02) - phi for _ in range(4000)])
    S = relative_spread(phi, 0.02)
    whitened = np.linalg.solve(S, draws.T)
    assert np.allclose(whitened.std(axis=1), 1.0, atol=0.06)


@pytest.mark.parametrize("form", ["theta", "divergence"])
@pytest.mark.parametrize(("besides", "known_mass"), [(0.0, None), (0.4, None), (-0.1, None), (0.4, 1.1)])
def test_the_penalty_rows_are_its_derivatives(form: str, besides: float, known_mass: float | None) -> None:
    case = Case(2)
    handle = dict(zip(PHI_NAMES, besides * case.prior_phi, strict=True))
    prior = Prior(dict(zip(PHI_NAMES, case.prior_phi, strict=True)), 0.3, 1.0, form, handle)  # pyright: ignore
    map_ = load_object("handle").map(known_mass=known_mass)
    penalty = build_penalty(prior, tuple(load_object("handle").parameters), map_)
    theta = map_.inverse(np.concatenate([case.phi, np.zeros(6)]))
    A, b = penalty.rows(theta)
    h = 1e-6
    numeric = [(penalty.value(theta + h * e) - penalty.value(theta - h * e)) / (2 * h) for e in np.eye(len(theta))]
    assert np.allclose(2 * A.T @ b, numeric, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", ["theta", "divergence"])
def test_a_strong_prior_of_the_whole_makes_body_and_handles_the_whole(form: str) -> None:
    case = Case(2)
    whole, handle = case.prior_phi, 0.3 * case.prior_phi
    values, besides = (dict(zip(PHI_NAMES, phi.tolist(), strict=True)) for phi in (whole, handle))
    prior = Prior(values, 0.3, 1e6, form, besides)  # pyright: ignore
    solution = solve(compress(case.balance(), EVERYTHING), prior=prior)
    assert solution.p[:10] + handle == pytest.approx(whole, rel=1e-6)
    assert solution["m"].prior == pytest.approx(whole[0] - handle[0])
    assert solution["m"].prior_std == pytest.approx(0.3 * whole[0])


@pytest.mark.parametrize("form", ["theta", "divergence"])
def test_a_drawing_of_the_whole_that_leaves_no_possible_body_does_no_harm(form: str) -> None:
    """Thirty per cent of the whole may be more than all of a body that is light beside its handles."""
    hits, impossible = list[bool](), 0
    for seed in range(12):
        case = Case(seed, noise=5.0)
        handle = phi_from_mass_properties(3 * case.phi[0], [0, 0, 0.5], 1e-3 * np.eye(3))
        drawn = off_by(np.random.default_rng(seed), case.phi + handle, 0.3)
        impossible += not is_consistent(drawn - handle)
        values, besides = (dict(zip(PHI_NAMES, phi.tolist(), strict=True)) for phi in (drawn, handle))
        prior = Prior(values, 0.3, None, form, besides)  # pyright: ignore
        solution = solve(compress(case.balance(), EVERYTHING), prior=prior)
        assert solution.ending is Ending.CONVERGED
        for e, true in zip(solution.estimates, drawing_values(case.phi), strict=False):
            assert e.ci95 is not None
            hits.append(e.ci95[0] <= true <= e.ci95[1])
    assert impossible > 5
    assert np.mean(hits) > 0.9


@pytest.mark.parametrize("besides", [0.0, 0.5])
def test_a_prior_that_is_off_by_its_spread_does_what_the_pull_says(besides: float) -> None:
    case = Case(2, noise=5.0)
    handle, phi = besides * case.phi, case.prior_phi * (1 + besides)
    compressed = compress(case.balance(), EVERYTHING)

    def fit(phi: np.ndarray) -> Solution:
        values, more = (dict(zip(PHI_NAMES, x.tolist(), strict=True)) for x in (phi, handle))
        return solve(compressed, prior=Prior(values, 0.3, 30.0, "divergence", more))

    here, step = fit(phi), 1e-3
    moved = [fit(phi + step * column) for column in relative_spread(phi, 0.3).T]
    change = np.array([[e.value - o.value for e, o in zip(m.estimates, here.estimates, strict=True)] for m in moved])
    gradient = here.problem.map_.jacobian(here.theta)
    pull = here.uncertainty.of(gradient[:1])[1]
    assert pull == pytest.approx(np.linalg.norm(change[:, :1], axis=0) / step, rel=0.05)


def test_the_pull_is_at_least_what_half_the_lambda_does() -> None:
    """A drawing that is off by several times its declared spread pulls further than that spread says."""
    case = Case(2, noise=5.0)
    compressed, off = compress(case.balance(), EVERYTHING), off_by(np.random.default_rng(1), case.phi, 0.5)
    prior = Prior(dict(zip(PHI_NAMES, off.tolist(), strict=True)), 0.02, 20.0, "divergence")
    here, weaker = solve(compressed, prior=prior), solve(compressed, prior=replace(prior, damping=10.0))
    changes = np.array([abs(w.value - e.value) for e, w in zip(here.estimates, weaker.estimates, strict=True)])
    pulls = np.array([e.pull for e in here.estimates])
    assert np.all(pulls >= changes * (1 - 1e-6))
    assert np.mean(np.isclose(pulls, changes, rtol=1e-6)) > 0.5
    for e in here.estimates:
        assert e.ci95 is not None
        assert e.ci95[1] - e.value >= 1.96 * e.pull * (1 - 1e-9)


def test_the_damping_curve_goes_from_the_data_to_the_prior() -> None:
    case = Case(3)
    solution = solve(compress(case.balance(), EVERYTHING), prior=case.prior(None))
    curve = damping_curve(solution.problem, solution.theta)
    misfits, distances = [c.misfit for c in curve], [c.distance for c in curve]
    assert misfits == sorted(misfits) or np.all(np.diff(misfits) > -1e-9 * misfits[-1])
    assert np.all(np.diff(distances) < 1e-6)
    assert curve[-1].distance < 0.05 * curve[0].distance


def test_the_bootstrap_scatters_as_the_sandwich_says() -> None:
    case = Case(4, rate=500.0)
    compressed = compress(case.balance(), EVERYTHING)
    solution = solve(compressed)
    draws = bootstrap(compressed, solution, replicates=300)
    gradient = solution.problem.map_.jacobian(solution.theta)
    noise = solution.uncertainty.of(gradient)[0]
    assert np.all(draws.std(axis=0) / noise > 0.85)
    assert np.all(draws.std(axis=0) / noise < 1.2)


def test_cross_validation_is_a_little_worse_than_the_fit_and_close_to_the_truth() -> None:
    case = Case(5)
    compressed = compress(case.balance(), EVERYTHING)
    solution = solve(compressed)
    rms, crossed, true = compressed.rms(solution.p), cross_validate(compressed, solution), compressed.rms(case.p)
    assert np.all(crossed >= rms * (1 - 1e-9))
    assert np.all(crossed < 1.02 * true)


def test_a_stretch_in_which_somebody_touched_the_handle_counts_less() -> None:
    case = Case(6)
    case.w[2000:2400, :3] += [5.0, -3.0, 4.0]  # two seconds of a hand
    compressed = compress(case.balance(), EVERYTHING)
    plain, (fair, weights) = solve(compressed), robust(compressed)
    better = solve(fair)
    touched = (np.cumsum(compressed.samples) > 2000) & (np.cumsum(compressed.samples) - compressed.samples < 2400)
    assert weights[touched].max() < 0.1
    assert weights[~touched].min() > 0.9
    assert case.off(better.p, case.p) < 0.2 * case.off(plain.p, case.p)
    assert robust(compress(Case(6).balance(), EVERYTHING))[1].min() > 0.5


def test_the_weakest_direction_is_named_with_what_would_help() -> None:
    """Only turned about the vertical z axis: the centre's height is not in any moment."""
    case = Case(7)
    m = case.motion
    z = np.array([0.0, 0.0, 1.0])
    still = Motion(
        m.times_s,
        9.81 * np.tile(z, (len(m.times_s), 1)) + 0.001 * m.specific_acceleration,
        m.omega * z,
        m.omega_dot * z,
    )
    A = body_regressor(still.specific_acceleration, still.omega, still.omega_dot)
    w = A @ case.phi + 0.02 * np.random.default_rng(0).normal(size=(len(A), 6))
    balance = build_balance(load_object("handle"), still, w, sigma=SIGMA)
    solution = solve(compress(balance, EVERYTHING), prior=replace(case.prior(None), form="divergence"))
    weakness = weakest_direction(solution)
    assert weakness is not None
    assert weakness.relative > 0.1
    assert "to know it better" in weakness.text
    good = weakest_direction(solve(compress(Case(7).balance(), EVERYTHING)))
    assert good is not None
    assert good.relative < 0.05
    assert solution["Izz"].status is Status.IDENTIFIED
    assert solution["Ixx"].status is not Status.IDENTIFIED


def test_phi_from_pseudo_inertia_takes_the_symmetric_part() -> None:
    J = np.random.default_rng(0).normal(size=(4, 4))
    assert np.allclose(phi_from_pseudo_inertia(J), phi_from_pseudo_inertia((J + J.T) / 2))


@pytest.mark.parametrize(("radius", "noise"), [(0.010, 5.0), (0.003, 0.3), (0.0015, 3.0)])
def test_a_thin_rod_is_known_without_a_prior_although_its_thickness_is_not(radius: float, noise: float) -> None:
    """At the edge of possible bodies theta runs to infinity; what the data know of mass and length stays known."""
    inside: list[bool] = []
    for seed in range(8):
        axis = [0, 0, 1] if seed % 2 else np.random.default_rng(seed).normal(size=3)
        phi = phi_from_mass_properties(0.8, [0, 0, 0.075], solid_cylinder(0.8, 0.15, radius, axis))
        solution = solve(compress(Case(seed, noise=noise, phi=phi).balance(), EVERYTHING))
        assert solution.ending in (Ending.CONVERGED, Ending.FLAT)
        assert solution.impossible == ()
        for e, t in zip(solution.estimates, drawing_values(phi), strict=False):
            assert e.ci95 is not None
            assert e.status is (Status.UNCERTAIN if e.moment and e.ci95[0] == 0 else Status.IDENTIFIED)
            assert e.noise > 0
            inside.append(e.ci95[0] <= t <= e.ci95[1])
    assert np.mean(inside) > 0.88


def test_the_best_possible_body_is_where_a_solver_of_other_make_finds_it() -> None:
    """SciPy's, over a factor of the pseudo-inertia, from several starts: the convex problem has one minimum."""
    phi = phi_from_mass_properties(0.8, [0, 0, 0.075], solid_cylinder(0.8, 0.15, 0.0015, [0, 0, 1]))
    compressed = compress(Case(3, noise=3.0, phi=phi).balance(), EVERYTHING)
    R, map_ = compressed.factor(), compressed.model.map()
    level = float(np.sum((R @ np.append(-unconstrained(R), 1)) ** 2))
    p, plain = possible_fit(R, map_, 1e-9 * level)
    assert not is_consistent(plain[:10])
    assert is_consistent(p[:10])

    def left(x: np.ndarray) -> np.ndarray:
        L = x[:16].reshape(4, 4)
        return R @ np.append(-np.concatenate([phi_from_pseudo_inertia(L @ L.T), x[16:]]), 1)

    begin = np.append(np.linalg.cholesky(pseudo_inertia(map_.nearest(plain)[:10])).ravel(), plain[10:])
    best = least_squares(left, begin, x_scale="jac", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=2000)
    assert np.sum((R @ np.append(-p, 1)) ** 2) < 2 * best.cost + 1e-6 * level


def test_intervals_do_not_depend_on_the_factor_convention() -> None:
    compressed = compress(Case(7, rate=500.0).balance(), EVERYTHING)
    here, there = (solve(compressed, factor=factor) for factor in ("UtU", "UUt"))
    for e, o in zip(here.estimates, there.estimates, strict=True):
        assert e.ci95 == pytest.approx(o.ci95, rel=1e-6, abs=1e-9)


def test_what_is_hardly_excited_is_not_called_identified() -> None:
    """Two seconds at rest and a little turning about one axis, without a prior."""
    case = Case(9)
    slow = replace(case.motion, omega=0.002 * case.motion.omega, omega_dot=0.002 * case.motion.omega_dot)
    w = body_regressor(slow.specific_acceleration, slow.omega, slow.omega_dot) @ case.phi + (case.w - case.A @ case.phi)
    solution = solve(compress(build_balance(load_object("handle"), slow, w, sigma=SIGMA), EVERYTHING))
    assert solution["m"].status is Status.IDENTIFIED
    assert solution["Ixx"].status is Status.NOT_IDENTIFIABLE
    assert solution["Ixx"].ci95 is None


def test_noise_taken_out_and_left_in_do_not_merge_in_either_order() -> None:
    plain = compress(Case(3).balance(), EVERYTHING)
    without = replace(plain, noise=np.zeros((len(plain.samples), 1, plain.roots.shape[3], plain.roots.shape[3])))
    for parts in ((plain, without), (without, plain)):
        with pytest.raises(PalpateError, match="does not merge"):
            merge(*parts)


def test_a_fold_in_which_nothing_moves_does_not_end_the_cross_validation() -> None:
    compressed = compress(Case(3).balance(), EVERYTHING)
    size = compressed.roots.shape[3]
    noise = np.zeros((len(compressed.samples), 1, size, size))
    noise[: len(noise) // 4] = 1e6 * np.eye(size)
    solution = solve(compressed)
    assert np.isfinite(cross_validate(replace(compressed, noise=noise), solution)).all()


@pytest.mark.parametrize("memory", [0, 100])
@pytest.mark.parametrize("visits", [1, 3])
def test_intervals_hold_for_zones_visited_once_and_for_slow_noise(visits: int, memory: int) -> None:
    """Of plain least squares: columns that are slow, quick, and there in few pieces only; 20 samples a piece."""
    rng, held = np.random.default_rng([visits, memory]), []
    for _ in range(150):
        n, pieces = 2000, 100
        slow = lfilter([1], [1, -np.exp(-1 / 100)], rng.normal(size=(n, 2)), axis=0)
        zone = np.zeros((n, 1))
        for first in np.linspace(5, 80, visits).astype(int):
            zone[20 * first : 20 * (first + 4)] = 1 + 0.3 * rng.normal(size=(80, 1))
        X = np.hstack([np.ones((n, 1)), slow, rng.normal(size=(n, 2)), zone])
        a = np.exp(-1 / memory) if memory else 0.0
        e = rng.normal(size=n) + lfilter([np.sqrt(1 - a * a)], [1, -a], rng.normal(size=n + 2000))[2000:]
        p, *_ = np.linalg.lstsq(X, e, rcond=None)
        map_ = build_map(["free"] * X.shape[1])
        problem = Problem(np.linalg.qr(np.column_stack([X, e]))[1], map_, build_penalty(None, (), map_), 0.0)
        parts = X.reshape(pieces, -1, X.shape[1])
        scores = np.einsum("bnk,bn->bk", parts, (e - X @ p).reshape(pieces, -1))
        unsure = uncertainty(scores, lambda v, parts=parts: ((parts @ v) ** 2).sum(axis=1), problem, p)
        noise, *_ = unsure.of(np.eye(X.shape[1]))
        held.append(np.abs(p) < unsure.critical * noise)
    share = np.mean(held, axis=0)
    assert (share[1:] > 0.88).all(), share  # the constant takes the slow noise upon itself
    assert share[0] > 0.75
