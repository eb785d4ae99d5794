"""Rest, noise of derivatives, windows, and samples that a balance leaves out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import savgol_coeffs

from palpate.experiment.stage.inputs import faded
from palpate.identify import build_balance, compress, solve
from palpate.identify.balance import Balance
from palpate.mechanisms import Hinge
from palpate.model import Model, load_object
from palpate.motion.derivatives import at_rest, derivative_noise, design_lowpass, signal_noise

RATE = 100.0


def _times(seconds: float) -> np.ndarray:
    return np.arange(round(seconds * RATE)) / RATE


@pytest.mark.parametrize("noise", [1e-4, 5e-4])
def test_the_noise_of_a_smooth_signal_is_found_and_gaps_do_not_matter(noise: float) -> None:
    t = _times(60)
    x = np.sin(2 * np.pi * 0.5 * t) + noise * np.random.default_rng(0).normal(size=t.shape)
    x[2000:2050] = np.nan
    assert signal_noise(x, 11, 4) == pytest.approx(noise, rel=0.05)


def test_without_a_stretch_long_enough_no_noise_is_claimed() -> None:
    assert np.isnan(signal_noise(np.full(100, np.nan), 11, 4))


@pytest.mark.parametrize("derivative", [1, 2])
def test_noise_of_derivatives_is_that_of_scipys_filter(derivative: int) -> None:
    weights = savgol_coeffs(21, 4, deriv=derivative, delta=1 / RATE)
    expected = 3e-4 * np.linalg.norm(weights)
    assert derivative_noise(3e-4, 21, 4, derivative, RATE) == pytest.approx(expected, rel=1e-9)


def test_rest_is_what_noise_alone_could_be() -> None:
    found = at_rest(np.array([0.0, 0.049, -0.049, 0.051, np.nan]), 0.01)
    assert found.tolist() == [True, True, True, False, False]


def _door() -> tuple[Model, Balance, np.ndarray]:
    """A door whose torque is exact where it counts and nonsense where it is left out."""
    model, t = load_object("door"), _times(60)
    angle = np.radians(45) + np.radians(38) * np.sin(0.9 * t) * np.cos(0.13 * t)
    speed, acceleration = np.gradient(angle, t), np.gradient(np.gradient(angle, t), t)
    assert isinstance(model.mechanism, Hinge)
    motion = model.mechanism.motion(t, np.stack([angle, speed], axis=1), acceleration[:, None])
    p = np.array([6.5, 4.7, 1.8, 7.5, 4.5, 2.6, 18.0, -17.1, 5.3, -0.7])
    wrench = np.zeros((len(t), 6))
    balance = build_balance(model, motion, wrench, sigma=[1.0])
    wrench[:, 5] = balance.rows((0.0, 60.0))[:, 0, :-1] @ p
    used = np.abs(speed) > 0.05
    wrench[~used, 5] = np.where(np.arange(np.count_nonzero(~used)) % 2, 1e3, np.nan)
    low = design_lowpass(RATE, 3.0, attenuation_db=45.0)
    fade = faded(t, used, 0.1)
    return model, build_balance(model, motion, wrench, sigma=[1.0], lowpass=low, used=used, fade=fade), p


def test_what_is_left_out_does_not_count_even_where_it_is_nonsense() -> None:
    _, balance, p = _door()
    found = solve(compress(balance, [(0.0, 60.0)]))
    assert np.allclose(found.p, p, rtol=1e-6, atol=1e-6)
    sharp = solve(compress(replace(balance, fade=None), [(0.0, 60.0)]))
    assert np.allclose(sharp.p, p, rtol=1e-6, atol=1e-6)


def test_rows_are_the_weighted_samples_low_passed() -> None:
    """Against a plain convolution, sample by sample."""
    _, balance, _ = _door()
    assert balance.used is not None
    assert balance.fade is not None
    assert balance.lowpass is not None
    plain = replace(balance, lowpass=None, used=None, fade=None).rows((10.0, 20.0))[:, 0]
    weight = (balance.fade * balance.used)[1000:2000]
    weighed = np.where(weight[:, None] > 0, plain * weight[:, None], 0.0)
    taps, step = balance.lowpass.taps, balance.lowpass.step
    expected = np.array([np.convolve(c, taps[::-1], mode="valid")[::step] for c in weighed.T]).T
    assert np.allclose(balance.rows((10.0, 20.0))[:, 0], expected, atol=1e-9)


def test_pieces_stand_for_the_samples_that_count() -> None:
    _, balance, _ = _door()
    assert balance.used is not None
    found = compress(balance, [(0.0, 60.0)])
    assert found.samples.sum() <= balance.used.sum()
    assert found.samples.sum() > 0.9 * balance.used.sum()
    assert (found.samples > 0).all()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.booleans(), min_size=5, max_size=60))
def test_fading_keeps_to_what_is_used(flags: list[bool]) -> None:
    used = np.array(flags)
    fade = faded(np.arange(len(used)) / RATE, used, 0.05)
    assert ((fade >= 0) & (fade <= 1)).all()
    assert (fade[~used] == 0).all()
    if used.all():
        assert (fade == 1).all()
