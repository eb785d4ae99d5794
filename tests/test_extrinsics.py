"""How an IMU sits on a marker body or a load cell: estimates, their intervals, and what the motion cannot tell."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from palpate.errors import DataProblem
from palpate.motion.clock import ClockMap
from palpate.motion.extrinsics import (
    Placement,
    check_placement,
    fit_rotation,
    hardly_turns,
    imu_on_load_cell,
    imu_on_poses,
    imu_on_sliding_poses,
)
from palpate.motion.imu import PARALLEL, imu_motion, resample_motion
from palpate.physics.motion import Motion, Poses, exp_rotation
from palpate.twin.handle import HandleTwin, handle_recordings, random_hand, random_handle
from tests.capture_twin import capture, hinge_hand

Array = NDArray[np.float64]
TURNED = exp_rotation(np.array([0.4, -0.3, 1.1]))


def turned(found: Array, true: Array) -> Array:
    return np.asarray(Rotation.from_matrix(found @ true.T).as_rotvec(), dtype=float)


def test_rotation_lever_arm_tilt_and_zero_from_one_motion() -> None:
    """10 such twins gave 0.02 deg, 0.05 mm, 0.005 deg and 1.5 mm/s2 at worst, 1 standard deviation on average."""
    z: list[Array] = []
    for seed in range(3):
        twin = capture(seed, 50.0)
        found = imu_on_poses(twin.poses, *twin.imu, twin.clock)
        assert found.tilt is not None
        assert found.weak == ()
        tilt = np.array([found.tilt.x_rad, found.tilt.y_rad]) - twin.tilt
        assert np.degrees(np.abs(tilt)).max() < 0.1
        errors = [
            turned(found.R_ab, twin.R_frame_imu),
            found.r_ab - twin.r_frame_imu,
            tilt,
            found.tilt.bias - twin.bias,
        ]
        stds = [found.turn_std_rad, found.lever_std, found.tilt.std_rad, found.tilt.bias_std]
        assert np.degrees(stds[0]).max() < 0.1
        assert stds[1].max() < 5e-4
        z.append(np.concatenate([e / s for e, s in zip(errors, stds, strict=True)]))
    assert np.abs(z).max() < 4
    assert 0.5 < np.sqrt(np.mean(np.square(z))) < 1.5


def test_about_a_hinge_the_turn_and_the_lever_arms_direction_are_one_unknown() -> None:
    twin = capture(2, 60.0, hand=hinge_hand(2, 60.0), swapped=False, gaps=0)
    alone = imu_on_poses(twin.poses, *twin.imu, twin.clock)
    assert any("turn about z is not known" in text for text in alone.weak)
    assert any("lever arm" in text for text in alone.weak)
    assert alone.tilt is not None  # what the hinge does tell
    error = np.array([alone.tilt.x_rad, alone.tilt.y_rad]) - twin.tilt
    assert (np.abs(error) < 4 * alone.tilt.std_rad).all()
    assert np.degrees(alone.tilt.std_rad).max() < 0.1


def test_about_a_hinge_a_drawing_is_right_anywhere_on_the_circle_and_nowhere_else() -> None:
    twin = capture(2, 60.0, hand=hinge_hand(2, 60.0), swapped=False, gaps=0)
    placed = imu_on_poses(twin.poses, *twin.imu, twin.clock)
    assert placed.circle is not None
    axis, point = placed.circle.axis, placed.circle.point
    assert abs(axis[2]) > 0.999
    for angle in (0.0, 2.0):
        turn = np.asarray(Rotation.from_rotvec(angle * axis).as_matrix(), dtype=float)
        R, r = turn @ twin.R_frame_imu, point + turn @ (twin.r_frame_imu - point)
        assert check_placement(placed, R, r) == ()
        assert check_placement(placed, R, r + 0.2 * axis) == ()  # nothing is felt of where it is along the hinge
        (moved,) = check_placement(placed, R, r + turn @ np.array([0.04, 0.0, 0.0]))
        assert moved.cause == "placement"
        assert "from its place in the drawing" in moved.evidence


@pytest.mark.parametrize("gentle", [False, True])
def test_noise_is_no_motion_apart_and_another_body_is(gentle: bool) -> None:
    """About a hinge an IMU feels less than the markers' noise in p''; that noise is there in quiet times, too."""
    twin = capture(2, 40.0, hand=hinge_hand(2, 40.0) if gentle else None, swapped=False, gaps=0)
    times, a, w = twin.imu
    assert imu_on_poses(twin.poses, times, a, w, twin.clock).explained > 0.99
    other = a.mean(axis=0) + np.roll(a - a.mean(axis=0), len(a) // 3, axis=0)
    assert imu_on_poses(twin.poses, times, other, w, twin.clock).explained < 0.9  # TOGETHER is 0.98
    if not gentle:  # 150 ms of the IMU's rows are missing
        a, w = (np.concatenate([x[: len(x) // 2], np.roll(x[len(x) // 2 :], -150, axis=0)]) for x in (a, w))
        assert imu_on_poses(twin.poses, times, a, w, twin.clock).explained < 0.97


def test_a_gyroscope_of_another_body_is_refused() -> None:
    twin, stranger = capture(5, 40.0), capture(6, 40.0)
    times, a, w = twin.imu
    with pytest.raises(DataProblem, match="explains only"):
        imu_on_poses(twin.poses, times, a, stranger.rate[: len(w)], twin.clock)


def noisy_poses(t: Array, turns: Array, position: Array) -> Poses:
    rng = np.random.default_rng(0)
    R = exp_rotation(turns) @ exp_rotation(5e-3 * rng.normal(size=(len(t), 3)))  # a small body of markers
    return Poses(t, R, position + 1e-4 * rng.normal(size=position.shape))


def test_a_door_that_mostly_rests_turns_and_a_drawer_of_swapped_markers_does_not() -> None:
    t = np.arange(0, 900, 0.02)
    swing = 1.4 * np.exp(-(((t - 30) / 10) ** 4))
    still = np.zeros((len(t), 3))
    assert not hardly_turns(noisy_poses(t, swing[:, None] * [0, 0, 1], still))
    drawer = noisy_poses(t, still, still)
    assert hardly_turns(drawer)
    swapped = np.arange(len(t)) % 100 < 5
    assert hardly_turns(Poses(t, np.where(swapped[:, None, None], drawer.rotation @ TURNED, drawer.rotation), still))


def test_a_cart_that_leans_as_it_gathers_speed_tells_how_its_imu_is_turned() -> None:
    t = np.arange(0, 60, 0.01)
    w, sway = 2 * np.pi * 0.5, 0.2 * np.sin(2 * np.pi * 0.5 * t)
    position = np.column_stack([sway, 0 * t, 0 * t])
    poses = noisy_poses(t, np.column_stack([-0.1 * sway, 0 * t, 0 * t]), position)  # by 0.02 rad
    leaning = exp_rotation(np.column_stack([-0.1 * sway, 0 * t, 0 * t]))
    felt = np.column_stack([-(w**2) * sway, 0 * t, np.full(len(t), 9.80665)])
    f = np.asarray(np.einsum("nkj,nk->nj", leaning, felt) @ TURNED, dtype=float)
    clock = ClockMap(0.0, 1e-6, 0.0, 0.0, 30.0, True)
    found = imu_on_sliding_poses(poses, t, f + 0.02 * np.random.default_rng(1).normal(size=f.shape), 0 * f, clock)
    assert np.degrees(np.abs(turned(found.R_ab, TURNED))).max() < 0.2
    assert found.explained > 0.99


def vectors(seed: int, n: int = 4000) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    motion = random_hand(rng, 40.0, 9.81).motion(np.arange(n) / 100)
    return motion.times_s, motion.omega, 0.05 * rng.normal(size=(n, 3))


def test_rotation_equals_scipys_and_is_as_uncertain_as_it_says() -> None:
    z: list[Array] = []
    for seed in range(15):
        t, b, noise = vectors(seed)
        Q = np.asarray(Rotation.random(random_state=seed).as_matrix(), dtype=float)
        a = b @ Q.T + noise + 0.3
        found = fit_rotation(t, a, b)
        independent = Rotation.align_vectors(a - a.mean(axis=0), b - b.mean(axis=0))[0].as_matrix()
        assert np.abs(found.R_ab - independent).max() < 1e-9
        z.append(turned(found.R_ab, Q) / found.turn_std_rad)
    assert 0.7 < np.sqrt(np.mean(np.square(z))) < 1.4


def test_mirrored_axes_are_no_rotation() -> None:
    t, b, noise = vectors(0)
    with pytest.raises(DataProblem, match="swapped"):
        fit_rotation(t, b[:, [1, 0, 2]] + noise, b)
    with pytest.raises(DataProblem, match="only 3 samples"):
        fit_rotation(t[:3], b[:3], b[:3])


def test_one_axis_leaves_the_turn_about_it_open_and_says_so() -> None:
    t, b, _ = vectors(1)
    b = b * [0.0, 1.0, 0.0]
    found = fit_rotation(t, b, b)  # not even noise
    assert found.turn_std_rad[1] > 10
    assert found.turn_std_rad[[0, 2]].max() < 1e-6
    assert len(found.weak) == 1
    assert "about y is not known" in found.weak[0]
    assert "anything" in found.weak[0]
    turned_away = check_placement(found, exp_rotation(np.radians([4.0, 20.0, 0.0])))
    assert len(turned_away) == 1  # 20 deg about y may be, 4 deg about x may not
    assert "turned by 4.0" in turned_away[0].sentence


def on_load_cell(seed: int) -> tuple[Array, Array, Motion, Array]:
    rng = np.random.default_rng([seed, 9])
    Q = np.asarray(Rotation.random(random_state=seed).as_matrix(), dtype=float)
    r = rng.uniform(-0.1, 0.1, 3)
    hand = random_hand(rng, 40.0, 9.81)
    cell, imu, _ = handle_recordings(HandleTwin(random_handle(rng), hand, 40.0, 0.4, seed, 9.81, Q, r))
    (tp, x), (tr, stored) = ((f[next(iter(f))].clock.times_s, f.stack(list(f))) for f in (imu, cell))
    m = imu_motion(tp, x[:, :3], x[:, 3:], np.eye(4), PARALLEL)
    m = Motion(m.times_s + 0.4, m.specific_acceleration, m.omega, m.omega_dot)
    return Q, r, resample_motion(m, tr, reach_s=0.021), -stored


def test_an_imu_on_a_load_cell_that_carries_a_handle() -> None:
    z: list[Array] = []
    for seed in range(2):
        Q, r, motion, wrench = on_load_cell(seed)
        found = imu_on_load_cell(motion, wrench)
        error = np.concatenate([turned(found.R_ab, Q), found.r_ab - r])
        assert np.degrees(np.abs(error[:3])).max() < 0.1
        assert np.abs(error[3:]).max() < 1e-3
        z.append(error / np.sqrt(np.diag(found.covariance)))
    assert np.abs(z).max() < 4
    with pytest.raises(DataProblem, match="person on object"):
        imu_on_load_cell(motion, -wrench)


def placed(R: Array, r: Array, turn_deg: float = 0.1, lever: float = 5e-4) -> Placement:
    return Placement(R, r, np.diag([np.radians(turn_deg) ** 2] * 3 + [lever**2] * 3), (), 1.0)


def test_differences_from_the_drawing_are_told_in_words() -> None:
    drawing, r = np.asarray(Rotation.random(random_state=1).as_matrix(), dtype=float), np.array([0.1, 0.0, -0.05])
    assert check_placement(placed(drawing, r), drawing, r) == ()
    tipped = check_placement(placed(exp_rotation(np.radians([4.3, 0, 0])) @ drawing, r), drawing, r)
    assert [f.sentence for f in tipped if "turned by 4.3 +- 0.2 deg about x against the drawing" in f.sentence]
    assert not tipped[0].fatal
    moved = check_placement(placed(drawing, r + np.array([0.0, 0.012, 0.0])), drawing, r)
    assert "12 +- 1 mm" in moved[0].sentence
    assert "+0, +12, +0 mm" in moved[0].sentence
    unsure = placed(exp_rotation(np.radians([1.5, 0, 0])) @ drawing, r, turn_deg=1.0)
    assert check_placement(unsure, drawing) == ()


def test_exchanged_axes_are_named() -> None:
    drawing = np.asarray(Rotation.random(random_state=2).as_matrix(), dtype=float)
    swap = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]])
    finding = check_placement(placed(drawing @ swap @ exp_rotation(np.radians([1.0, 2.0, 0])), np.zeros(3)), drawing)[0]
    assert finding.fatal
    assert "its x is +y, y is +x, z is -z of the drawing" in finding.sentence


def test_what_the_motion_does_not_tell_is_not_compared() -> None:
    blind = Placement(np.eye(3), np.zeros(3), np.eye(6) * 1e6, ("nothing moved",), 1.0)
    messages = [f.sentence for f in check_placement(blind, np.eye(3), np.ones(3))]
    assert len(messages) == 2
    assert all("cannot be checked: nothing moved" in m for m in messages)
