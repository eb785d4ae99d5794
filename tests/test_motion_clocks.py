"""Clock offsets, even sampling and the IMU's way to the sensor frame."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.motion.clock import evenly_sampled
from palpate.motion.imu import PARALLEL, imu_motion, resample_motion
from palpate.motion.offset import estimate_offset
from palpate.physics.inertia import body_features
from palpate.physics.motion import Kinematics, Motion, nearest_rotation, transform, transport_acceleration
from palpate.physics.spline import spline
from palpate.twin.handle import HandleTwin, handle_recordings, random_hand, random_handle

Array = NDArray[np.float64]


def smooth(rng: np.random.Generator, t: Array, channels: int) -> Array:
    f, a, p = rng.uniform(0.3, 4, (channels, 12)), rng.normal(size=(channels, 12)), rng.uniform(0, 7, (channels, 12))
    return (a[:, :, None] * np.sin(2 * np.pi * f[:, :, None] * t + p[:, :, None])).sum(axis=1).T


@pytest.mark.parametrize(
    ("offset", "rate_p", "rate_r"), [(3.2175, 1000.0, 1000.0), (-7.50033, 1000.0, 1000.0), (0.4321, 100.0, 1000.0)]
)
def test_the_offset_is_found_far_below_a_sample(offset: float, rate_p: float, rate_r: float) -> None:
    errors, stds = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        tp, tr = np.arange(0, 40, 1 / rate_p), np.arange(0, 50, 1 / rate_r)
        mix = rng.normal(size=(3, 4))
        predictors = smooth(np.random.default_rng(100 + seed), tp, 3)
        responses = smooth(np.random.default_rng(100 + seed), tr - offset, 3) @ mix + 0.05 * rng.normal(
            size=(len(tr), 4)
        )
        found = estimate_offset(tp, predictors, tr, responses)
        errors.append(found.value_s - offset)
        stds.append(found.std_s)
        assert found.explained > 0.99
    assert np.abs(errors).max() < 100e-6
    assert np.abs(np.array(errors) / stds).max() < 4


def features(motion: Motion) -> Array:
    """What a rigid body's wrench is made of, and the angular rate, which a gyroscope's zero adds to it."""
    k = Kinematics.from_arrays(motion.specific_acceleration, motion.omega, motion.omega_dot)
    return np.hstack([np.array(body_features(k)).T, motion.omega])


@cache
def shaken_handle(seed: int, duration_s: float = 40.0) -> tuple[float, Array, Array, Array, Array]:
    """True offset, times and features of the IMU, times and wrench of the load cell."""
    rng = np.random.default_rng([seed, 5])
    R, r = nearest_rotation([[0.0877, -0.9962, 0], [-0.9962, -0.0877, 0], [0, 0, -1]]), np.array([-0.09, 0.01, -0.03])
    hand = random_hand(rng, duration_s, 9.81)
    offset = float(rng.uniform(-2, 3))
    cell, imu, _ = handle_recordings(HandleTwin(random_handle(rng), hand, duration_s, offset, seed, 9.81, R, r))
    (tp, x), (tr, wrench) = ((f[next(iter(f))].clock.times_s, f.stack(list(f))) for f in (imu, cell))
    return offset, tp, features(imu_motion(tp, x[:, :3], x[:, 3:], transform(R, r), PARALLEL)), tr, wrench


def test_offset_and_drift_are_as_uncertain_as_they_say() -> None:
    """On shaken handles with noise, zero errors and rounding; 40 of them, 70 s long, gave 1.13 and 0.86."""
    z: list[tuple[float, float]] = []
    for seed in range(8):
        offset, *signals = shaken_handle(seed)
        found = estimate_offset(*signals)
        z.append(((found.value_s - offset) / found.std_s, found.drift_ppm / found.drift_std_ppm))
    spread = np.sqrt(np.mean(np.square(z), axis=0))
    assert (spread > 0.6).all()  # 8 numbers: chi2 gives 0.5 to 1.5 in 95 of 100 cases
    assert (spread < 1.5).all()


@pytest.mark.parametrize("ppm", [-10.0, 10.0, 100.0])
def test_drift_is_found_and_the_offset_stays_right_where_it_is_said_to_be(ppm: float) -> None:
    offset, tp, x, tr, y = shaken_handle(3, 60.0)
    found = estimate_offset(tp, x, tr * (1 + 1e-6 * ppm), y)
    assert abs(found.drift_ppm - ppm) < 4 * found.drift_std_ppm
    assert found.drift_std_ppm < 1.0
    assert abs(found.value_s - offset - 1e-6 * ppm * found.at_s) < 4 * found.std_s
    assert found.std_s < 20e-6


@pytest.mark.parametrize("begin_s", [60.0, 1500.0])
def test_a_long_recording_may_rest_most_of_the_time(begin_s: float) -> None:
    rng, offset = np.random.default_rng(4), 12.345
    tp, tr = np.arange(0, 1800, 0.02), np.arange(0, 1830, 0.02)
    moving = [np.exp(-(((t - begin_s - 60) / 40) ** 4))[:, None] for t in (tp, tr - offset)]
    x, y = (w * smooth(np.random.default_rng(5), t, 3) for w, t in zip(moving, (tp, tr - offset), strict=True))
    x, y = (z + 0.02 * rng.normal(size=z.shape) for z in (x, y @ rng.normal(size=(3, 4))[:, :3]))
    found = estimate_offset(tp, x, tr, y)
    assert found.value_s == pytest.approx(offset, abs=1e-3)


@pytest.mark.parametrize("odd", ["lively later", "one knock", "lively and knocked", "lively, lost"])
def test_predictors_may_go_on_long_after_the_responses_and_be_livelier_then(odd: str) -> None:
    rng, offset = np.random.default_rng(4), 0.337
    tp, tr = np.arange(0, 2400, 0.02), np.arange(0, 1000, 0.02)
    size = [np.where((t > 1300) & ("lively" in odd), 2.0, 1.0)[:, None] for t in (tp, tr - offset)]
    x, y = (w * noisy_motion(t) for w, t in zip(size, (tp, tr - offset), strict=True))
    if "knock" in odd:
        x[-1500] += 500
    if "lost" in odd:  # a gap as long as a window, beside which none of it is known
        x[(tp > 1000) & (tp < 2000)] = np.nan
    found = estimate_offset(tp, x, tr, y + 0.02 * rng.normal(size=y.shape))
    assert found.value_s == pytest.approx(offset, abs=1e-4)


def noisy_motion(t: Array) -> Array:
    """Of many frequencies, so that no other lag serves."""
    grid = np.arange(-5, 2500, 0.1)
    return spline(grid, np.random.default_rng(6).normal(size=(len(grid), 3)))(t)


def test_drift_of_a_short_recording_is_unknown() -> None:
    rng = np.random.default_rng(4)
    t = np.arange(0, 8, 0.001)
    x = smooth(rng, t, 3)
    found = estimate_offset(t, x, t + 1.0, x + 0.05 * rng.normal(size=x.shape))
    assert abs(found.value_s - 1.0) < 4 * found.std_s
    assert np.isnan(found.drift_ppm)
    assert np.isnan(found.drift_std_ppm)


def test_the_origin_of_time_does_not_matter() -> None:
    _, tp, x, tr, y = shaken_handle(5)
    a, b = estimate_offset(tp, x, tr, y), estimate_offset(tp + 1e4, x, tr + 3e4, y)
    assert b.value_s - a.value_s == pytest.approx(2e4, abs=1e-6)
    assert b.at_s - a.at_s == pytest.approx(3e4, abs=0.01)
    assert b.std_s == pytest.approx(a.std_s, rel=1e-2)
    assert b.drift_ppm == pytest.approx(a.drift_ppm, abs=0.1 * a.drift_std_ppm)


def test_the_offset_of_unrelated_signals_is_refused() -> None:
    rng = np.random.default_rng(1)
    t = np.arange(0, 30, 0.01)
    with pytest.raises(DataProblem, match="cannot be known"):
        estimate_offset(t, smooth(rng, t, 3), t, smooth(rng, t, 3))


def test_the_offset_of_a_periodic_motion_is_refused_as_ambiguous() -> None:
    t = np.arange(0, 30, 0.01)
    wave = np.sin(2 * np.pi * 1.0 * t)[:, None]
    with pytest.raises(DataProblem, match="cannot be known"):
        estimate_offset(t, wave, t, wave + 0.1 * np.random.default_rng(0).normal(size=wave.shape))


def test_the_offset_at_rest_is_refused() -> None:
    rng = np.random.default_rng(2)
    t = np.arange(0, 30, 0.001)
    with pytest.raises(DataProblem, match="shaken"):
        estimate_offset(t, rng.normal(size=(len(t), 3)), t, rng.normal(size=(len(t), 6)))


def test_too_short_recordings_are_refused() -> None:
    t = np.arange(0, 1.5, 0.001)
    with pytest.raises(DataProblem, match="too short"):
        estimate_offset(t, np.sin(t)[:, None], t, np.sin(t)[:, None])


def test_jitter_of_time_stamps_is_removed_and_missing_samples_are_counted() -> None:
    rng = np.random.default_rng(0)
    true = np.arange(5000) / 1000
    keep = np.ones(5000, dtype=bool)
    keep[1000:1010] = False  # 10 ms: bridged silently
    keep[3000:3100] = False  # 100 ms: reported
    stamps = true + rng.uniform(-2e-4, 2e-4, 5000)
    even = evenly_sampled(stamps[keep], np.sin(true[keep])[:, None], what="x")
    assert len(even.times_s) == 5000
    assert np.abs(even.times_s - true).max() < 2e-5
    assert np.allclose(even.lost, [(2.999, 3.1)], atol=1e-3)
    assert np.abs(even.x[:, 0] - np.sin(true)).max() < 2e-3


def test_rows_that_are_not_numbers_count_as_missing() -> None:
    t = np.arange(1000) / 100
    x = np.cos(t)[:, None].copy()
    x[500:550] = np.nan
    even = evenly_sampled(t, x, what="x")
    assert np.isfinite(even.x).all()
    assert np.allclose(even.lost, [(4.99, 5.5)])
    with pytest.raises(DataProblem, match="only 0 of 1000"):
        evenly_sampled(t, x * np.nan, what="x")


def test_imu_signals_arrive_in_the_sensor_frame_at_its_origin() -> None:
    """Against the closed formulas of the hand's motion; the light filter costs less than a percent of the band used."""
    hand = random_hand(np.random.default_rng(3), 20.0, 9.81)
    t = np.arange(20000) / 1000
    true = hand.motion(t)
    R = nearest_rotation([[0.0877, -0.9962, 0], [-0.9962, -0.0877, 0], [0, 0, -1]])
    r = np.array([-0.0861, 0.0125, -0.0290])
    a_imu = transport_acceleration(true.specific_acceleration, true.omega, true.omega_dot, r) @ R
    found = imu_motion(t, a_imu, true.omega @ R, transform(R, r), PARALLEL)
    inner = slice(100, -100)
    for name in ("specific_acceleration", "omega", "omega_dot"):
        expected, got = getattr(true, name), getattr(found, name)
        assert np.abs(got - expected)[inner].max() < 3e-4 * np.abs(expected).max(), name


def test_resampling_shows_what_was_not_seen() -> None:
    hand = random_hand(np.random.default_rng(3), 10.0, 9.81)
    motion = hand.motion(np.arange(10000) / 1000)
    at = np.arange(-0.5, 10.5, 0.0013)
    found = resample_motion(motion, at, lost=((4.0, 4.5),), reach_s=0.02)
    blind = np.isnan(found.omega[:, 0])
    assert blind[(at < 0.019) | (at > 9.981) | ((at > 3.981) & (at < 4.519))].all()
    seen = hand.motion(at[~blind])
    assert np.abs(found.omega[~blind] - seen.omega).max() < 1e-7
    assert not blind[(at > 0.05) & (at < 3.9)].any()
