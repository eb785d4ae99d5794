"""The bandwidth from the recording: the noise is found, the error is foretold, and what cannot be known is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.signal import lfilter, savgol_filter

from palpate.errors import DataProblem
from palpate.motion.derivatives import light_window_s, pose_bandwidth, pose_motion, savitzky_golay, signal_bandwidth
from palpate.physics.motion import Poses, exp_rotation
from palpate.twin.handle import random_hand
from tests.conftest import needs

Array = NDArray[np.float64]
G = 9.80665
RATE = 100.0


def signal(rng: np.random.Generator, duration: float = 40.0) -> tuple[Array, Array, Array]:
    """Times, an angle with still ends (s 0-4 and the last 4), and its acceleration."""
    hand = random_hand(rng, duration, G, still_s=2.0)
    t = np.arange(int(duration * RATE)) / RATE
    q, _, b = hand.coordinates(t)
    return t, q[0], b[0]


def noisy_poses(seed: int, position: float = 1e-4, rotation: float = 8e-4) -> Poses:
    rng = np.random.default_rng(seed)
    hand = random_hand(rng, 40.0, G)
    t = np.arange(4000) / RATE
    R = hand.rotation(t) @ exp_rotation(rotation * rng.normal(size=(4000, 3)))
    return Poses(t, R, hand.coordinates(t)[0][3:].T + position * rng.normal(size=(4000, 3)))


@pytest.mark.parametrize("still", [None, (0.0, 2.5)])
@pytest.mark.parametrize("scale", [0.2, 1.0, 5.0])
def test_the_noise_of_poses_is_found(scale: float, still: tuple[float, float] | None) -> None:
    b = pose_bandwidth(noisy_poses(0, 1e-4 * scale, 8e-4 * scale), still=still)
    # a still segment of 250 samples knows a variance to about a tenth
    off = 0.05 if still is None else 0.15
    assert b.spectra["position"].noise_std == pytest.approx(1e-4 * scale, rel=off)
    assert b.spectra["rotation"].noise_std == pytest.approx(8e-4 * scale, rel=off)
    assert b.spectra["position"].unit == "m"
    assert ("still from 0.000 to 2.500 s" in b.noise_from) == (still is not None)


@pytest.mark.parametrize("sigma", [1e-4, 1e-3, 5e-3])
def test_the_error_is_foretold(sigma: float) -> None:
    """The curve of errors against the truth, which the choice never sees."""
    rng = np.random.default_rng(1)
    t, x, true = signal(rng)
    noisy = x + sigma * rng.normal(size=len(x))
    b = signal_bandwidth(t, noisy)
    real: list[float] = []
    for window in np.round(b.windows_s * RATE).astype(int):
        found = savitzky_golay(noisy, int(window), 4, derivative=2, rate_hz=RATE)[60:-60]
        real.append(float(np.sqrt(np.mean((found - true[60:-60]) ** 2) / np.mean(true**2))))
    near = b.windows_s < 3 * b.best_window_s
    assert np.abs(np.log(b.error / np.array(real)))[near].max() < 0.2
    chosen = real[int(np.flatnonzero(b.windows_s == b.best_window_s)[0])]
    assert chosen < 1.15 * min(real)


def test_more_noise_means_less_bandwidth() -> None:
    rng = np.random.default_rng(2)
    t, x, _ = signal(rng)
    noise = rng.normal(size=len(x))
    quiet, loud = (signal_bandwidth(t, x + s * noise) for s in (1e-4, 1e-2))
    assert loud.bandwidth_hz < quiet.bandwidth_hz
    assert loud.best_window_s > quiet.best_window_s
    assert loud.window_s >= quiet.window_s
    # the motion ends at 3 Hz, and the gain of the low-pass is one half at 1.75 times its bandwidth
    assert 2.5 < 1.75 * loud.bandwidth_hz < 1.75 * quiet.bandwidth_hz < 9


@given(scale=st.floats(1e-6, 1e6), start=st.floats(-1e3, 1e3))
@settings(max_examples=6, phases=[Phase.explicit, Phase.generate])
def test_units_of_signal_and_start_of_time_do_not_matter(scale: float, start: float) -> None:
    rng = np.random.default_rng(3)
    t, x, _ = signal(rng, 30.0)
    noisy = x + 1e-3 * rng.normal(size=len(x))
    one, other = signal_bandwidth(t, noisy), signal_bandwidth(t + start, scale * noisy)
    assert other.bandwidth_hz == pytest.approx(one.bandwidth_hz)
    assert other.best_window_s == pytest.approx(one.best_window_s)
    assert other.spectra["signal"].noise_std == pytest.approx(scale * one.spectra["signal"].noise_std)


def test_gaps_knocks_and_a_humming_motor_do_not_disturb_the_noise() -> None:
    rng = np.random.default_rng(4)
    t, x, _ = signal(rng)
    noisy = x + 1e-3 * rng.normal(size=len(x)) + 2e-3 * np.sin(2 * np.pi * 31 * t)
    noisy[[700, 1500, 2400]] += 0.2
    noisy[1000:1100] = np.nan
    b = signal_bandwidth(t, noisy)
    assert b.spectra["signal"].noise_std == pytest.approx(1e-3, rel=0.1)
    kept = np.r_[0:1000, 1100 : len(t)]
    assert signal_bandwidth(t[kept], noisy[kept]).bandwidth_hz == pytest.approx(b.bandwidth_hz, rel=0.1)


def test_noise_that_is_not_white_needs_a_still_segment() -> None:
    """A capture program that smooths: its noise has no floor, but a still segment shows it."""
    rng = np.random.default_rng(5)
    t, x, true = signal(rng)
    smooth = lfilter([1.0], [1, -1.2, 0.4], 1e-3 * rng.normal(size=len(x)))
    with pytest.raises(DataProblem, match="noise cannot be known: the spectrum falls towards half the sampling rate"):
        signal_bandwidth(t, x + smooth)
    b = signal_bandwidth(t, x + smooth, still=(0.0, 3.0))
    errors = [
        np.mean((savgol_filter(x + smooth, w, 4, deriv=2, delta=1 / RATE) - true)[60:-60] ** 2) for w in range(7, 61, 2)
    ]
    chosen = np.mean(
        (savgol_filter(x + smooth, round(b.best_window_s * RATE), 4, deriv=2, delta=0.01) - true)[60:-60] ** 2
    )
    assert chosen < 1.5 * min(errors)


def test_what_cannot_be_known_is_refused() -> None:
    rng = np.random.default_rng(6)
    t, x, _ = signal(rng)
    noisy = x + 1e-3 * rng.normal(size=len(x))
    with pytest.raises(DataProblem, match="noise cannot be known"):
        signal_bandwidth(t, x)
    with pytest.raises(DataProblem, match="no noise can be seen"):
        signal_bandwidth(t, np.zeros(len(t)))
    with pytest.raises(DataProblem, match="no motion rises above the noise"):
        signal_bandwidth(t, 1e-3 * rng.normal(size=len(x)))
    with pytest.raises(DataProblem, match="longest stretch without a gap has 100 samples"):
        signal_bandwidth(t[:100], noisy[:100])
    with pytest.raises(DataProblem, match="longest stretch without a gap has 0 samples"):
        signal_bandwidth(t, np.full(len(t), np.nan))
    with pytest.raises(DataProblem, match=r"still segment 1.000 to 1.200 s has 19 samples, or gaps.*at least 0.6 s"):
        signal_bandwidth(t, noisy, still=(1.0, 1.2))
    with pytest.raises(DataProblem, match="no noise can be seen"):
        signal_bandwidth(t, np.zeros(len(t)), still=(0.0, 2.9))


def test_what_is_silent_at_rest_shows_its_noise_in_motion() -> None:
    rng = np.random.default_rng(6)
    t, x, _ = signal(rng)
    noisy = np.where(t < 3, 0.0, x + 1e-3 * rng.normal(size=len(x)))
    silent, seen = (signal_bandwidth(t, noisy, still=still).bandwidth_hz for still in ((0.0, 2.9), None))
    assert abs(silent / seen - 1) < 0.1
    assert signal_bandwidth(t, np.where(t < 3, 0.0, x), still=(0.0, 2.9)).bandwidth_hz > seen


def test_the_default_motion_does_not_guess_either() -> None:
    hand = random_hand(np.random.default_rng(6), 20.0, G)
    t = np.arange(2000) / RATE
    poses = Poses(t, hand.rotation(t), hand.coordinates(t)[0][3:].T)
    with pytest.raises(DataProblem, match="noise cannot be known"):
        pose_motion(poses, gravity=(0, 0, -G))


def test_hidden_poses_are_left_out() -> None:
    poses = noisy_poses(9)
    whole = pose_bandwidth(poses)
    R, p = poses.rotation.copy(), poses.position.copy()
    R[1200:1300] = np.nan
    p[2500] = np.nan
    b = pose_bandwidth(Poses(poses.times_s, R, p))
    assert b.bandwidth_hz == pytest.approx(whole.bandwidth_hz, rel=0.15)
    assert b.spectra["rotation"].noise_std == pytest.approx(8e-4, rel=0.05)


def test_a_frame_that_only_turns_is_judged_by_its_turning() -> None:
    poses = noisy_poses(7)
    still = Poses(poses.times_s, poses.rotation, 1e-4 * np.random.default_rng(0).normal(size=(4000, 3)))
    assert pose_bandwidth(still).bandwidth_hz == pytest.approx(pose_bandwidth(poses).bandwidth_hz, rel=0.2)


@pytest.mark.real
def test_real_markers_of_a_box_and_a_person(real_folder: Path) -> None:
    """Markers that flicker and a box that is set down: bandwidths as biomechanics uses them, sub-millimetre noise."""
    ezc3d = needs("ezc3d", "c3d")
    data = ezc3d.c3d(str(real_folder / "pyomeca_box_lift" / "markers_analogs.c3d"))
    points = data["data"]["points"][:3] / 1000
    t = np.arange(points.shape[2]) / 100.0
    for k in range(0, points.shape[1], 6):
        b = signal_bandwidth(t, points[:, k].T, unit="m")
        assert 5 < b.bandwidth_hz < 15
        assert 5e-6 < b.spectra["signal"].noise_std < 1e-4


@pytest.mark.parametrize(("rate", "bandwidth"), [(100.0, 4.0), (100.0, 8.0), (250.0, 6.0), (1000.0, 20.0)])
def test_the_light_window_keeps_what_the_low_pass_keeps(rate: float, bandwidth: float) -> None:
    window = round(light_window_s(rate, bandwidth) * rate)
    n = np.arange(-(window // 2), window // 2 + 1)
    for w, fits in ((window, True), (window + 4, False)):
        n = np.arange(-(w // 2) - w, w // 2 + 1 + w)
        middle = savitzky_golay(np.cos(2 * np.pi * bandwidth * n / rate), w, 4, derivative=2, rate_hz=rate)[len(n) // 2]
        kept = -middle / (2 * np.pi * bandwidth) ** 2
        assert (abs(kept - 1) < 1e-3) == fits
