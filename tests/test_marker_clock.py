"""Motion capture against a gyroscope: offset, drift, interval, and what spoils them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from palpate.errors import DataProblem
from palpate.motion.offset import angular_velocity, marker_clock, window_mean
from palpate.physics.motion import Poses
from palpate.twin.handle import random_hand
from tests.capture_twin import capture, hinge_hand


def test_offset_and_drift_are_found_through_gaps_and_swapped_markers() -> None:
    """40 such twins gave at most 31 us and 1.0 ppm, inside the interval in 38 to 40."""
    inside = 0
    for seed, ppm in enumerate([50.0, -50.0, 0.0, 50.0, 20.0]):
        twin = capture(seed, drift_ppm=ppm)
        clock = marker_clock(twin.poses, twin.imu_s, twin.rate).clock
        at = np.array([0.0, 50.0, 100.0])
        assert np.abs(clock.offset_at(at) - twin.clock.offset_at(at)).max() < 1e-4
        assert abs(clock.drift_ppm - ppm) < 5.0
        assert clock.drift_observed
        low, high = clock.interval_at(at)
        assert (high - low).max() < 3e-4
        inside += int(((low < twin.clock.offset_at(at)) & (twin.clock.offset_at(at) < high)).sum())
    assert inside >= 13  # of 15


def test_swapped_markers_and_jumps_do_not_widen_the_interval_much() -> None:
    clean, dirty = (capture(3, 60.0, swapped=s, gaps=0) for s in (False, True))
    a, b = (marker_clock(t.poses, t.imu_s, t.rate) for t in (clean, dirty))
    assert b.std_s < 2 * a.std_s
    assert abs(a.value_s - b.value_s) < 4 * a.std_s + 4 * b.std_s


def test_a_door_that_turns_about_one_axis_is_enough() -> None:
    twin = capture(1, hand=hinge_hand(1, 100.0))
    found = marker_clock(twin.poses, twin.imu_s, twin.rate)
    at = np.array([50.0])
    low, high = found.clock.interval_at(at)
    assert low < twin.clock.offset_at(at) < high
    assert high - low < 2e-3
    assert found.explained > 0.9


def test_the_gyroscopes_scale_does_not_matter() -> None:
    """An IMU whose unit was misread is found elsewhere; its clock is still right."""
    twin = capture(4, 40.0, swapped=False)
    right, wrong = (marker_clock(twin.poses, twin.imu_s, twin.rate * s) for s in (1.0, np.pi / 180))
    assert wrong.value_s == pytest.approx(right.value_s, abs=4 * right.std_s)


def test_drift_that_a_short_recording_cannot_tell_is_not_observed_but_in_the_interval() -> None:
    twin = capture(2, 30.0, gaps=0)
    clock = marker_clock(twin.poses, twin.imu_s, twin.rate).clock
    low, high = clock.drift_interval_ppm()
    assert not clock.drift_observed
    assert low < 50.0 < high


@pytest.mark.parametrize("what", ["rest", "stranger", "too short"])
def test_what_cannot_be_known_is_refused(what: str) -> None:
    twin = capture(0, 40.0)
    if what == "rest":
        still = np.arange(0, 4.0, 0.001)
        rng = np.random.default_rng(0)
        rotation = Rotation.from_rotvec(1e-3 * rng.normal(size=(400, 3))).as_matrix()
        poses = Poses(np.arange(400) / 100, np.asarray(rotation, dtype=float), np.zeros((400, 3)))
        with pytest.raises(DataProblem, match="cannot be known"):
            marker_clock(poses, still, 0.002 * rng.normal(size=(len(still), 3)))
    elif what == "stranger":
        other = capture(9, 40.0)
        with pytest.raises(DataProblem, match="cannot be known"):
            marker_clock(twin.poses, other.imu_s, other.rate)
    else:
        with pytest.raises(DataProblem, match="too short"):
            marker_clock(twin.poses, twin.imu_s[:1500], twin.rate[:1500])


def test_wrong_shapes_and_blind_captures_are_refused() -> None:
    twin = capture(0, 10.0)
    with pytest.raises(DataProblem, match="shape"):
        marker_clock(twin.poses, twin.imu_s, twin.rate[:-1])
    unseen = Poses(twin.poses.times_s, twin.poses.rotation * np.nan, twin.poses.position)
    with pytest.raises(DataProblem, match="seen"):
        marker_clock(unseen, twin.imu_s, twin.rate)


def test_angular_velocity_of_poses_has_no_delay() -> None:
    """Against the closed formula: a shift by one millisecond would show four times as large."""
    hand = random_hand(np.random.default_rng(3), 20.0, 9.81)
    t = np.arange(2000) / 100
    at, omega, half = angular_velocity(Poses(t, hand.rotation(t), np.zeros((2000, 3))))
    assert half == pytest.approx(0.01)
    fine = np.arange(20000) / 1000
    mean = window_mean(fine, hand.motion(fine).omega, half)[::10]
    inner = slice(5, -5)
    scale = np.abs(hand.motion(at).omega_dot).max()
    assert np.abs(omega - mean)[inner].max() < 1e-3 * scale * 0.25


def test_a_window_that_meets_a_gap_is_a_gap() -> None:
    t = np.arange(1000) / 1000
    x = np.column_stack([t, t**2, np.ones(1000)])
    x[500] = np.nan
    mean = window_mean(t, x, 0.01)
    lost = np.isnan(mean[:, 0])
    assert lost[490:511].all()
    assert lost[:10].all()
    assert not lost[12:488].any()
    assert np.abs(mean[~lost] - np.column_stack([t, t**2 + 1e-4 / 3, np.ones(1000)])[~lost]).max() < 1e-6


def bursts(seed: int, hz: float, axes: list[list[float]], noise_rad: float = 0.0015) -> tuple[float, float]:
    """Error and standard deviation (s) from three shakes of about a second, each about its axis (rad)."""
    rng = np.random.default_rng([seed, int(hz * 10)])
    turn = Rotation.random(random_state=seed)

    def rotation(t: np.ndarray) -> Rotation:
        envelopes = np.exp(-0.5 * (t[:, None] - [5.0, 13.0, 22.0]) ** 2)
        return Rotation.from_rotvec(np.sin(2 * np.pi * hz * t + 0.3)[:, None] * (envelopes @ np.array(axes)))

    t, imu_s, offset, d = np.arange(0, 28, 0.01), np.arange(0, 27, 0.001), rng.uniform(-1, 1), 1e-4
    seen = rotation(t) * Rotation.from_rotvec(noise_rad * rng.normal(size=(len(t), 3)))
    true = imu_s + offset
    rate = (rotation(true - d).inv() * rotation(true + d)).as_rotvec() / (2 * d)
    rate = turn.apply(rate) + 0.002 * rng.normal(size=rate.shape)
    found = marker_clock(Poses(t, np.asarray(seen.as_matrix(), dtype=float), np.zeros((len(t), 3))), imu_s, rate)
    return found.value_s - offset, found.std_s


@pytest.mark.parametrize("hz", [4.5, 5.0, 6.0, 7.0])
def test_a_fast_shake_about_one_axis_is_not_taken_for_half_a_period_beside(hz: float) -> None:
    for seed in range(2):
        error, std = bursts(seed, hz, [[0.1, 0.08, 0.12]] * 3)
        assert abs(error) < 1e-3
        assert std < 1e-3


def test_a_mirror_image_is_no_explanation_of_a_shake_about_three_axes() -> None:
    """Half a period beside, the opposite sign fits nearly as well; noise is so large that only handedness tells."""
    for seed in range(3):
        error, std = bursts(seed, 7.0, np.diag([0.15, 0.15, 0.15]).tolist(), 0.004)
        assert abs(error) < 1e-3
        assert std < 1e-3


def test_a_shake_whose_half_periods_fit_alike_is_refused() -> None:
    with pytest.raises(DataProblem, match="cannot be known"):
        bursts(0, 7.0, [[0.03, 0.02, 0.03]] * 3, 0.006)
