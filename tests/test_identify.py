"""Balance, compression and solve against the full stack, solved by SciPy."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from palpate.errors import DataProblem, PalpateError
from palpate.identify import Balance, Prior, build_balance, compress, merge, solve
from palpate.identify.balance import compress_each
from palpate.identify.problem import Ending
from palpate.identify.solution import Status, solve_values
from palpate.mechanisms import Free
from palpate.model import load_object
from palpate.motion.derivatives import design_lowpass
from palpate.physics.inertia import PHI_NAMES, body_regressor, is_consistent, move_phi
from palpate.physics.maps import LogCholesky
from palpate.physics.motion import Motion
from palpate.twin.handle import off_by, random_hand, random_handle
from tests.oracles.scipy_stack import phi_of_theta, solve_stacked

Array = NDArray[np.float64]
SIGMA = np.array([14.25, 14.25, 19.0, 0.5, 0.5, 0.5])
EVERYTHING = [(5.0, 35.0)]


class Case:
    """A handle with known truth: motion, wrench with white noise, prior off by 30 %."""

    def __init__(self, seed: int, *, noise: float = 1.0, rate: float = 200.0, phi: Array | None = None) -> None:
        rng = np.random.default_rng(seed)
        t = 5 + np.arange(int(30 * rate)) / rate
        self.motion = random_hand(rng, 40.0, 9.81).motion(t)
        self.phi = random_handle(rng) if phi is None else phi
        self.prior_phi = off_by(rng, self.phi, 0.3)
        self.bias = rng.normal(size=6) * [0.3, 0.3, 0.3, 0.02, 0.02, 0.02]
        self.A = body_regressor(self.motion.specific_acceleration, self.motion.omega, self.motion.omega_dot)
        self.w = self.A @ self.phi + self.bias
        self.w = self.w + noise * rng.normal(size=self.w.shape) * [0.2, 0.2, 0.2, 0.01, 0.01, 0.01]
        self.p = np.concatenate([self.phi, self.bias])
        size = np.trace(np.diag(self.phi[[4, 7, 9]])) / 2
        self.scale = np.array([self.phi[0]] + [0.1 * self.phi[0]] * 3 + [size] * 6 + [1.0] * 3 + [0.1] * 3)

    def balance(self, **options: Any) -> Balance:
        return build_balance(load_object("handle"), self.motion, self.w, sigma=SIGMA, **options)

    def prior(self, damping: float | None) -> Prior:
        return Prior(dict(zip(PHI_NAMES, self.prior_phi, strict=True)), 0.3, damping)

    def off(self, p: Array, other: Array) -> float:
        """Largest deviation in units of each parameter's natural scale."""
        return float(np.abs((p - other) / self.scale).max())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("damping", [10.0, 0.3, 0.0])
def test_the_compressed_solution_is_scipys_on_the_full_stack(seed: int, damping: float) -> None:
    case = Case(seed)
    ours = solve(compress(case.balance(), EVERYTHING), prior=case.prior(damping))
    theta = LogCholesky().inverse(case.prior_phi)
    theirs = solve_stacked(case.A, case.w, SIGMA.min() / SIGMA, theta, damping)
    assert case.off(ours.p, np.concatenate([phi_of_theta(theirs.x[:10]), theirs.x[10:]])) < 1e-8
    assert ours.ending is Ending.CONVERGED


def test_without_noise_the_truth_comes_back_to_ten_digits() -> None:
    case = Case(4, noise=0.0)
    solution = solve(compress(case.balance(), EVERYTHING))
    assert case.off(solution.p, case.p) < 1e-10
    assert compress(case.balance(), EVERYTHING).rms(solution.p).max() < 1e-10


def test_features_rows_and_any_block_size_give_the_same_factor() -> None:
    case = Case(5)
    balance = case.balance()
    expected = compress(balance, EVERYTHING).factor()
    changing = replace(load_object("handle"), mechanism=ChangingFree())
    by_rows = build_balance(changing, case.motion, case.w, sigma=SIGMA)
    gram = expected.T @ expected
    for other in (
        compress(balance, EVERYTHING, block=177),
        compress(balance, EVERYTHING, pieces=3),
        compress(by_rows, EVERYTHING),
        compress(by_rows, EVERYTHING, block=501, pieces=7),
    ):
        scale = np.sqrt(np.outer(np.diag(gram), np.diag(gram)))
        assert np.abs((other.factor().T @ other.factor() - gram) / scale).max() < 1e-13
    # and the factor is that of the rows themselves
    rows = balance.rows(EVERYTHING[0]) * balance.weights[:, None]
    flat = rows.reshape(-1, rows.shape[2])
    assert np.abs((flat.T @ flat - gram) / scale).max() < 1e-13


class ChangingFree(Free):
    """Free motion that does not say that its projection is constant: rows are compressed instead of features."""

    constant_projection = False  # pyright: ignore


def test_an_ill_conditioned_balance_is_factored_by_qr() -> None:
    """Without noise [Y | y] is singular; X'X would keep half the digits of the residual, QR keeps all."""
    case = Case(6, noise=0.0)
    assert compress(case.balance(), EVERYTHING).rms(case.p).max() < 1e-12


@pytest.mark.parametrize("limit", [1e3, 1e-3])  # by X'X, and by QR
@pytest.mark.parametrize("by_features", [True, False])
def test_several_wrenches_compressed_together_are_each_for_itself(
    by_features: bool, limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palpate.identify.balance.GRAM_LIMIT", limit)
    case = Case(2)
    model = load_object("handle")
    model = model if by_features else replace(model, mechanism=ChangingFree())
    options = {"lowpass": design_lowpass(200.0, 10.0), "used": np.arange(6000) % 1000 > 100}
    balance = build_balance(model, case.motion, case.w, sigma=SIGMA, **options)
    wrenches = [case.w, 1.1 * case.w, case.w + np.array([1.0, 0.0, 0.0, 0.0, 0.2, 0.0])]
    joined = compress_each(balance, wrenches, EVERYTHING, joined=True)
    for wrench, one, whole in zip(wrenches, compress_each(balance, wrenches, EVERYTHING), joined, strict=True):
        alone = compress(replace(balance, wrench=wrench), EVERYTHING)
        assert one.gram() == pytest.approx(alone.gram(), rel=1e-12, abs=1e-12 * np.abs(alone.gram()).max())
        assert one.low == pytest.approx(alone.low)
        assert one.high == pytest.approx(alone.high)
        assert one.samples.tolist() == alone.samples.tolist()
        assert solve(one).p == pytest.approx(solve(alone).p, rel=1e-9, abs=1e-9)
        assert whole.gram() == pytest.approx(alone.gram(), rel=1e-12, abs=1e-12 * np.abs(alone.gram()).max())
        assert (len(whole.samples), whole.samples.sum()) == (1, alone.samples.sum())
        values = {e.name: e.value for e in solve(alone).estimates}
        assert solve_values(whole) == pytest.approx(values, rel=1e-9, abs=1e-9)


def test_merged_halves_are_the_whole() -> None:
    case = Case(7)
    balance = case.balance()
    whole = solve(compress(balance, EVERYTHING), prior=case.prior(1.0))
    halves = merge(compress(balance, [(5.0, 17.0)]), compress(balance, [(17.0, 35.0)]))
    assert halves.samples.sum() == compress(balance, EVERYTHING).samples.sum()
    assert case.off(solve(halves, prior=case.prior(1.0)).p, whole.p) < 1e-10
    shuffled = halves.select(np.random.default_rng(0).permutation(len(halves.samples)).tolist())
    assert case.off(solve(shuffled, prior=case.prior(1.0)).p, whole.p) < 1e-10


def test_balances_of_different_weights_do_not_merge() -> None:
    case = Case(7)
    other = build_balance(load_object("handle"), case.motion, case.w, sigma=SIGMA[::-1])
    with pytest.raises(PalpateError, match="same weights"):
        merge(compress(case.balance(), EVERYTHING), compress(other, EVERYTHING))


def test_rms_is_the_plain_one() -> None:
    case = Case(8)
    compressed = compress(case.balance(), EVERYTHING)
    expected = np.sqrt(((case.w - case.A @ case.phi - case.bias) ** 2).mean(axis=0))
    assert np.allclose(compressed.rms(case.p), expected, rtol=1e-10)
    assert np.allclose(compressed.range(), np.ptp(case.w, axis=0))


def test_the_filter_cancels_out_of_the_balance() -> None:
    """Parallel filtering: without noise the parameters stay exact, whatever the low-pass does to the signals."""
    case = Case(9, noise=0.0, rate=500.0)
    lowpass = design_lowpass(500.0, 3.0)  # cuts into the motion itself
    compressed = compress(case.balance(lowpass=lowpass), EVERYTHING)
    assert case.off(solve(compressed).p, case.p) < 1e-9
    samples = 500 * 30 - len(lowpass.taps) + 1
    assert compressed.samples.sum() == pytest.approx(samples, abs=lowpass.step)


def test_low_passed_pieces_cover_each_output_once() -> None:
    case = Case(9, rate=500.0)
    balance = case.balance(lowpass=design_lowpass(500.0, 10.0))
    one, many = (compress(balance, EVERYTHING, pieces=n) for n in (1, 40))
    assert one.samples.sum() == many.samples.sum()
    scale = np.sqrt(np.diag(one.gram()))
    assert np.abs((one.gram() - many.gram()) / scale[:, None] / scale).max() < 1e-12


FLAT = np.repeat([10.0, 0.5], 3)
"""Weights that a rotation leaves alone."""


def turned_frame(case: Case) -> tuple[Array, Motion, Array]:
    """A rotation, and the case's motion and wrench seen from a frame turned by it."""
    R = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    R *= np.sign(np.linalg.det(R))
    m = case.motion
    turned = Motion(m.times_s, m.specific_acceleration @ R.T, m.omega @ R.T, m.omega_dot @ R.T)
    return R, turned, np.hstack([case.w[:, :3] @ R.T, case.w[:, 3:] @ R.T])


def test_the_solution_does_not_depend_on_the_frame_when_nothing_pulls() -> None:
    """The same handle seen from a sensor frame turned by R: parameters turn along."""
    case = Case(10)
    R, turned, w = turned_frame(case)
    here = solve(compress(build_balance(load_object("handle"), case.motion, case.w, sigma=FLAT), EVERYTHING))
    there = solve(compress(build_balance(load_object("handle"), turned, w, sigma=FLAT), EVERYTHING))
    assert np.allclose(move_phi(here.p[:10], R, np.zeros(3)), there.p[:10], rtol=0, atol=1e-9)


@pytest.mark.parametrize("factor", ["UtU", "UUt"])
def test_without_damping_both_factor_conventions_agree(factor: Any) -> None:
    case = Case(11)
    compressed = compress(case.balance(), EVERYTHING)
    assert case.off(solve(compressed, factor=factor).p, solve(compressed).p) < 1e-9


def test_a_known_mass_is_kept_exactly() -> None:
    case = Case(12)
    solution = solve(compress(case.balance(), EVERYTHING), known_mass=0.77, prior=case.prior(1.0))
    assert solution["m"].value == pytest.approx(0.77, rel=1e-14)
    assert solution["m"].status is Status.FIXED
    assert solution["m"].ci95 is None


def test_a_fixed_parameter_keeps_its_value() -> None:
    case = Case(12)
    solution = solve(compress(case.balance(), EVERYTHING), fixed={"bias_f_x": 0.25})
    assert solution.model.values["bias_f_x"] == 0.25
    assert solution["bias_f_x"].status is Status.FIXED


def test_a_heavy_prior_wins_and_says_so() -> None:
    case = Case(13)
    solution = solve(compress(case.balance(), EVERYTHING), prior=case.prior(1e6))
    assert solution["m"].value == pytest.approx(case.prior_phi[0], rel=1e-4)
    assert solution["m"].status is Status.PRIOR_DOMINATED
    assert solution["m"].information_from_data < 0.01


def test_a_light_prior_leaves_the_data_alone() -> None:
    case = Case(13)
    solution = solve(compress(case.balance(), EVERYTHING), prior=case.prior(1e-3))
    assert all(e.status is Status.IDENTIFIED for e in solution.estimates)
    assert all(e.information_from_data > 0.99 for e in solution.estimates)


def test_a_prior_that_the_data_contradict_is_named_with_its_sign() -> None:
    """Erratum 6: the door handle's prior points the wrong way."""
    case = Case(14)
    flipped = move_phi(case.phi, np.diag([1.0, -1.0, -1.0]), np.zeros(3))
    prior = Prior(dict(zip(PHI_NAMES, flipped, strict=True)), 0.1, 0.1)
    solution = solve(compress(case.balance(), EVERYTHING), prior=prior)
    assert any("contradict the prior" in w.evidence and "other sign" in w.evidence for w in solution.warnings)
    honest = solve(compress(case.balance(), EVERYTHING), prior=case.prior(0.1))
    assert not any("contradict" in w.evidence for w in honest.warnings)


def test_a_rotation_about_one_axis_leaves_directions_open_and_says_so() -> None:
    case = Case(15)
    m = case.motion
    about_z = np.array([0.0, 0.0, 1.0])
    still = Motion(m.times_s, 9.81 * np.tile(about_z, (len(m.times_s), 1)), m.omega * about_z, m.omega_dot * about_z)
    A = body_regressor(still.specific_acceleration, still.omega, still.omega_dot)
    w = A @ case.phi + 0.1 * np.random.default_rng(0).normal(size=(len(A), 6))
    solution = solve(compress(build_balance(load_object("handle"), still, w, sigma=SIGMA), EVERYTHING))
    assert solution["Ixx"].status is Status.NOT_IDENTIFIABLE
    assert solution["Ixx"].ci95 is None
    assert solution.conditioning.kappa_eff > 100
    assert any("hardly excited" in w.evidence for w in solution.warnings)


@pytest.mark.parametrize("form", ["theta", "divergence"])
def test_automatic_damping_changes_nothing_that_the_data_know(form: Any) -> None:
    case = Case(16)
    compressed = compress(case.balance(), EVERYTHING)
    free = solve(compressed)
    solution = solve(compressed, prior=replace(case.prior(None), form=form))
    assert 0 < solution.damping < 1
    assert solution.conditioning.kappa_eff < 100
    for e in solution.estimates:
        assert abs(e.value - free[e.name].value) < 0.5 * e.noise, e.name


def test_the_divergence_prior_does_not_depend_on_frame_or_factor() -> None:
    """The same body, motion and prior seen from a turned frame, with a strong damping."""
    case = Case(10)
    R, turned, w = turned_frame(case)
    phis = []
    for motion, wrench, frame, factor in (
        (case.motion, case.w, np.eye(3), "UtU"),
        (case.motion, case.w, np.eye(3), "UUt"),
        (turned, w, R, "UtU"),
    ):
        balance = build_balance(load_object("handle"), motion, wrench, sigma=FLAT)
        prior = Prior(
            dict(zip(PHI_NAMES, move_phi(case.prior_phi, frame, np.zeros(3)), strict=True)), 0.3, 5.0, "divergence"
        )
        solution = solve(compress(balance, EVERYTHING), prior=prior, factor=factor)
        phis.append(move_phi(solution.p[:10], frame.T, np.zeros(3)))
        assert solution["m"].status is Status.PRIOR_DOMINATED
    assert np.allclose(phis[0], phis[1], rtol=0, atol=1e-9)
    assert np.allclose(phis[0], phis[2], rtol=0, atol=1e-9)


def test_the_paper_prior_does_depend_on_the_factor() -> None:
    compressed, prior = compress(Case(10).balance(), EVERYTHING), Case(10).prior(30.0)
    a, b = (solve(compressed, prior=prior, factor=factor).p for factor in ("UtU", "UUt"))
    assert Case(10).off(a, b) > 1e-3


def test_every_solution_is_physically_consistent_even_from_wrong_signs() -> None:
    case = Case(17)
    wrong = build_balance(load_object("handle"), case.motion, -case.w, sigma=SIGMA)
    for damping in (0.0, 10.0):
        assert is_consistent(solve(compress(wrong, EVERYTHING), prior=case.prior(damping)).p[:10])


def test_kappa_as_the_paper_computes_it() -> None:
    case = Case(18)
    solution = solve(compress(case.balance(), EVERYTHING), prior=case.prior(10.0))
    rows = case.balance().rows(EVERYTHING[0])[:, :, :16] * case.balance().weights[:, None]
    J = rows.reshape(-1, 16) @ load_object("handle").map().jacobian(solution.theta)
    s = np.linalg.svd(J, compute_uv=False)
    assert solution.conditioning.kappa_eff_paper == pytest.approx(np.hypot(s[0], 10) / np.hypot(s[-1], 10), rel=1e-8)


@pytest.mark.parametrize(
    ("segment", "said"), [((4.0, 9.0), "inside the recording"), ((30.0, 36.0), "inside"), ((9.0, 9.0), "inside")]
)
def test_a_segment_outside_the_recording_is_refused(segment: tuple[float, float], said: str) -> None:
    with pytest.raises(DataProblem, match=said):
        compress(Case(1).balance(), [segment])


def test_what_no_instrument_saw_is_refused_with_its_time() -> None:
    case = Case(1)
    case.w[1000] = np.nan
    with pytest.raises(DataProblem, match=r"1 samples were not seen .* first at 10\.000 s"):
        compress(case.balance(), EVERYTHING)
    assert compress(case.balance(), [(11.0, 20.0)]).samples.sum() == 1800


def test_a_segment_shorter_than_the_filter_is_refused() -> None:
    with pytest.raises(DataProblem, match="shorter than the low-pass"):
        compress(Case(1).balance(lowpass=design_lowpass(200.0, 10.0)), [(6.0, 6.05)])


def test_unknown_names_in_prior_and_fixed_are_refused() -> None:
    compressed = compress(Case(1).balance(), EVERYTHING)
    with pytest.raises(PalpateError, match="prior: mass: no such parameter"):
        solve(compressed, prior=Prior({"mass": 1.0}))
    with pytest.raises(PalpateError, match="no parameter to fix 'b'"):
        solve(compressed, fixed={"b": 1.0})


def test_compression_needs_little_memory_whatever_the_length() -> None:
    peaks = []
    for rate in (500.0, 4000.0):
        balance = Case(1, rate=rate).balance()
        compress(balance, EVERYTHING)
        tracemalloc.start()
        compress(balance, EVERYTHING)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert max(peaks) < 4e6
    assert peaks[1] < 1.5 * peaks[0]


def test_the_printed_solution_has_every_parameter() -> None:
    text = str(solve(compress(Case(1).balance(), EVERYTHING)))
    assert all(name in text for name in ("m ", "c_x", "Izz", "bias_n_z", "identified"))
