"""Tilt of the capture frame at rest: by accelerometer and by load cell, with and without a zero error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from palpate.errors import DataProblem
from palpate.motion.clocks.clock import clock_map
from palpate.motion.frames.roles import (
    Rests,
    Tilt,
    find_rests,
    hinge_inclination,
    level,
    level_motion,
    tilt_at_rest,
    tilt_from_forces,
)
from palpate.physics.motion import Motion
from palpate.physics.poses import Poses
from palpate.physics.so3 import exp_rotation
from tests.capture_twin import G

Array = NDArray[np.float64]


def orientations(rng: np.random.Generator, count: int, kind: str = "any") -> Array:
    if kind == "vertical":  # put down again turned about the vertical
        return np.asarray(Rotation.from_rotvec(rng.uniform(0, 6.28, (count, 1)) * [0, 0, 1]).as_matrix(), dtype=float)
    return np.asarray(Rotation.random(count, random_state=int(rng.integers(1 << 31))).as_matrix(), dtype=float)


def at_rest(rng: np.random.Generator, R: Array, bias: Array, noise: float = 0.01) -> tuple[Array, Array]:
    """True tilt (two angles of half a degree) and what the accelerometer reads."""
    tilt = np.radians(0.5) * rng.normal(size=2)
    up = np.asarray(Rotation.from_rotvec([*tilt, 0]).as_matrix(), dtype=float)[:, 2]
    return tilt, np.einsum("nij,i->nj", R, G * up) + bias + noise * rng.normal(size=(len(R), 3))


@pytest.mark.parametrize(("count", "kind"), [(1, "any"), (4, "vertical"), (6, "any")])
def test_half_a_degree_is_found_to_a_tenth_without_a_zero_error(count: int, kind: str) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        R = orientations(rng, count, kind)
        truth, f = at_rest(rng, R, np.zeros(3), noise=0.003)
        found = tilt_at_rest(R, f)
        assert np.degrees(np.abs(np.array([found.x_rad, found.y_rad]) - truth)).max() < 0.1


@pytest.mark.parametrize(("count", "kind"), [(1, "any"), (2, "any"), (5, "vertical"), (8, "any")])
def test_the_interval_holds_the_truth_where_there_is_a_zero_error(count: int, kind: str) -> None:
    inside: list[bool] = []
    for seed in range(60):
        rng = np.random.default_rng([seed, 1])
        R = orientations(rng, count, kind)
        truth, f = at_rest(rng, R, 0.05 * rng.normal(size=3))
        low, high = tilt_at_rest(R, f, bias_std=0.05, noise_std=0.01, turn_std=0.0).interval_rad().T
        inside += list((low < truth) & (truth < high))
    assert 0.9 <= np.mean(inside) <= 0.995


def test_one_orientation_cannot_tell_and_several_can() -> None:
    rng = np.random.default_rng(0)
    R = orientations(rng, 8)
    bias = np.array([0.1, -0.2, 0.05])
    truth, f = at_rest(rng, R, bias)
    one, many = tilt_at_rest(R[:1], f[:1], bias_std=0.2), tilt_at_rest(R, f, bias_std=0.2)
    assert one.std_rad.min() > 0.9 * 0.2 / G
    assert "zero error" in one.weak
    assert "zero error" in str(one)
    assert not many.weak
    assert many.std_rad.max() < np.radians(0.1)
    assert np.abs(np.array([many.x_rad, many.y_rad]) - truth).max() < 4 * many.std_rad.max()
    assert np.abs(many.bias - bias).max() < 4 * many.bias_std.max() < 0.1


def test_a_badly_mounted_imu_is_part_of_the_interval() -> None:
    """Its turn looks like a tilt in one orientation and does not in many."""
    rng = np.random.default_rng(3)
    R = orientations(rng, 10)
    truth, f = at_rest(rng, R, np.zeros(3))
    wrong = R @ exp_rotation(np.radians([0.6, -0.8, 0.3]))
    for n in (1, 10):
        found = tilt_at_rest(wrong[:n], f[:n], turn_std=np.radians(0.8))
        error = np.abs(np.array([found.x_rad, found.y_rad]) - truth)
        assert (error < 2.5 * found.std_rad).all()
    assert np.degrees(error).max() < 0.1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_load_cell_with_a_body_of_unknown_mass_tells_it_too(sign: float) -> None:
    inside = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 2])
        R = orientations(rng, 8)
        truth, f = at_rest(rng, R, np.zeros(3), 0.0)
        force = sign * 1.3 * f + rng.normal(size=3) + 0.02 * rng.normal(size=f.shape)
        found = tilt_from_forces(R, force, noise_std=0.02, turn_std=1e-6)
        low, high = found.interval_rad().T
        inside += int(((low < truth) & (truth < high)).sum())
        assert np.degrees(found.std_rad).max() < 0.3
    assert inside >= 36  # of 40


def test_what_cannot_be_told_is_refused() -> None:
    rng = np.random.default_rng(0)
    R = orientations(rng, 4)
    _, f = at_rest(rng, R, np.zeros(3))
    with pytest.raises(DataProblem, match="one orientation"):
        tilt_from_forces(R[:1], f[:1])
    same = np.repeat(R[:1], 4, axis=0)
    with pytest.raises(DataProblem, match="zero error"):
        tilt_from_forces(same, np.repeat(f[:1], 4, axis=0), turn_std=0.0)
    with pytest.raises(DataProblem, match="axes of the capture frame"):
        tilt_at_rest(R, -f)
    with pytest.raises(DataProblem, match="not a number"):
        tilt_at_rest(R, f * np.nan)
    with pytest.raises(DataProblem, match="shapes"):
        tilt_at_rest(R, f[:2])


def plain_tilt(x: float, y: float) -> Tilt:
    return Tilt(x, y, np.eye(2) * 1e-8, np.zeros(3), np.zeros(3), "")


@settings(max_examples=30)
@given(x=st.floats(-0.2, 0.2), y=st.floats(-0.2, 0.2))
def test_levelled_poses_and_motion_have_up_along_z(x: float, y: float) -> None:
    tilt = plain_tilt(x, y)
    assert np.abs(tilt.R_world_capture @ tilt.up - [0, 0, 1]).max() < 1e-12
    assert np.abs(exp_rotation(np.array([x, y, 0.3])) - Rotation.from_rotvec([x, y, 0.3]).as_matrix()).max() < 1e-14
    R = orientations(np.random.default_rng(0), 5)
    poses = Poses(np.arange(5.0), R, np.ones((5, 3)))
    true = level(poses, tilt)
    naive = Motion(poses.times_s, G * R[:, 2, :], np.zeros((5, 3)), np.zeros((5, 3)))  # R' e_z, at rest
    right = level_motion(naive, R, tilt, G).specific_acceleration
    assert np.abs(right - G * true.rotation[:, 2, :]).max() < 1e-10
    found = tilt_at_rest(R, right)
    assert [found.x_rad, found.y_rad] == pytest.approx([x, y], abs=2e-3 * (abs(x) + abs(y)) + 1e-9)


def test_a_hinge_leans_by_its_angle_to_true_up() -> None:
    tilt = plain_tilt(0.01, -0.02)
    angle, std = hinge_inclination(tilt.up, 0.001, tilt)
    assert angle < 1e-7
    assert std == pytest.approx(np.hypot(0.001, 1e-4), rel=1e-6)
    angle, _ = hinge_inclination([0, 0, -1], 0.001, tilt)
    assert angle == pytest.approx(np.hypot(0.01, 0.02), rel=1e-3)


def test_rests_are_found_and_joined() -> None:
    """Three seconds each in three orientations, with quick turns between."""
    rng = np.random.default_rng(5)
    t = np.arange(0, 12, 0.001)
    angle = np.interp(t, [0, 3, 4, 7, 8, 12], [0, 0, 1.2, 1.2, 2.0, 2.0])
    bend = np.stack([np.zeros_like(t), angle, 0.5 * angle], axis=1)
    R = np.asarray(Rotation.from_rotvec(bend).as_matrix(), dtype=float)
    f = np.einsum("nij,i->nj", R, [0, 0, G]) + 0.01 * rng.normal(size=(len(t), 3))
    w = np.gradient(bend, t, axis=0) + 0.02 + 0.002 * rng.normal(size=(len(t), 3))
    poses = Poses(t[::10] + 5.0, R[::10], np.zeros((1200, 3)))
    clock = clock_map(5.0, 0.0, 0.0)
    found = find_rests(poses, t, f, w, clock)
    assert isinstance(found, Rests)
    assert len(found.start_s) == 3
    assert np.abs(found.start_s - [5, 9, 13]).max() < 0.6
    assert np.abs(found.end_s - [8, 12, 17]).max() < 0.6
    result = tilt_at_rest(found.rotation, found.specific_force)
    assert np.degrees(np.hypot(result.x_rad, result.y_rad)) < 0.1
    with pytest.raises(DataProblem, match="never at rest"):
        find_rests(poses, t[3000:4000], f[3000:4000], w[3000:4000], clock)
