"""Hinges from motion and from the path of one point: found axis, stated uncertainty, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from palpate.errors import DataProblem
from palpate.motion.frames import (
    check_hinge,
    hinge_from_frame,
    hinge_from_motion,
    hinge_from_path,
    hinge_motion,
    inclination,
    pose_std,
)
from palpate.physics.motion import Poses, transform
from tests.conftest import needs
from tests.poses import hinge_poses

Array = NDArray[np.float64]
seeds = st.integers(0, 2**31 - 1)


def rigid(seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return transform(Rotation.random(random_state=seed).as_matrix(), rng.normal(size=3))


def swing(degrees: float, n: int = 300, rest: float = 0.2) -> Array:
    """Angles (rad) of a door that rests, then opens and shuts twice."""
    t = np.maximum(np.linspace(-rest, 1 - rest, n), 0) / (1 - rest)
    return np.radians(degrees) * (1 - np.cos(4 * np.pi * t)) / 2


def turning(theta: Array, T_world_hinge: Array, T_body_hinge: Array) -> Poses:
    """Poses of a body on a perfect hinge."""
    moving = hinge_poses(T_world_hinge, np.arange(len(theta)) / 100, theta)
    return moving.attached(np.linalg.inv(T_body_hinge))


def shaken(poses: Poses, rng: np.random.Generator, sd_rad: float, sd_m: float, at: Array) -> Poses:
    """Noise of the rotation and of the point `at` of the body, each frame its own."""
    n = len(poses)
    R = Rotation.from_rotvec(sd_rad * rng.normal(size=(n, 3))).as_matrix() @ poses.rotation
    centre = poses.position + poses.rotation @ at + sd_m * rng.normal(size=(n, 3))
    return Poses(poses.times_s, R, centre - R @ at)


def axis_errors(T_found: Array, T_true: Array) -> tuple[float, float]:
    """Angle between two axes (rad), and the distance of the found origin from the true axis (m)."""
    z, r = T_true[:3, 2], T_found[:3, 3] - T_true[:3, 3]
    return float(np.linalg.norm(np.cross(T_found[:3, 2], z))), float(np.linalg.norm(np.cross(r, z)))


# A perfect hinge


@given(seeds, st.floats(8, 170))
@settings(max_examples=30)
def test_perfect_hinge_is_found_exactly(seed: int, degrees: float):
    T_world, T_body, theta = rigid(seed), rigid(seed + 1), swing(degrees)
    poses = turning(theta, T_world, T_body)
    hinge = hinge_from_motion(poses, near=[0.3, -0.2, 0.5])
    for found, true in ((hinge.T_world_hinge, T_world), (hinge.T_body_hinge, T_body)):
        np.testing.assert_allclose(found[:3, 2], true[:3, 2], atol=1e-9)  # the sign too: opening is positive
        assert axis_errors(found, true)[1] < 1e-9
    motion = hinge_motion(poses, hinge)
    np.testing.assert_allclose(motion.angle_rad, theta, atol=1e-9)
    assert np.abs(motion.tilt_rad).max() < 1e-7
    assert np.abs(motion.slide_m).max() < 1e-9
    assert hinge.range_rad == pytest.approx(np.ptp(theta))
    assert check_hinge(motion) == ()
    again = turning(motion.angle_rad, hinge.T_world_hinge, hinge.T_body_hinge)
    np.testing.assert_allclose(again.position, poses.position, atol=1e-8)


def test_x_points_to_the_stated_point_and_the_origin_is_beside_the_near_one():
    T_world, T_body = rigid(1), rigid(2)
    near, towards = np.array([0.4, 0.1, 0.7]), np.array([-0.3, 0.6, 0.2])
    T = hinge_from_motion(turning(swing(60), T_world, T_body), near=near, towards=towards).T_body_hinge
    beside, ahead = (np.linalg.inv(T) @ [*point, 1] for point in (near, towards))
    assert beside[2] == pytest.approx(0, abs=1e-9)
    assert ahead[0] > 0
    assert ahead[1] == pytest.approx(0, abs=1e-9)


def test_near_point_on_the_axis_still_gives_a_frame():
    T_body = rigid(2)
    hinge = hinge_from_motion(turning(swing(60), rigid(1), T_body), near=T_body[:3, 3])
    np.testing.assert_allclose(hinge.T_body_hinge[:3, :3].T @ hinge.T_body_hinge[:3, :3], np.eye(3), atol=1e-12)


@given(seeds)
@settings(max_examples=30)
def test_axis_moves_with_world_and_body(seed: int):
    rng = np.random.default_rng(seed)
    poses = shaken(turning(swing(50), rigid(3), rigid(4)), rng, 0.003, 0.001, np.ones(3))
    A, B = rigid(seed), rigid(seed + 7)
    hinge = hinge_from_motion(poses, near=[0.1, 0.2, 0.3])
    seen_elsewhere = Poses(poses.times_s, A[:3, :3] @ poses.rotation, poses.position @ A[:3, :3].T + A[:3, 3]).attached(
        np.linalg.inv(B)
    )
    moved = hinge_from_motion(seen_elsewhere, near=B[:3, :3] @ [0.1, 0.2, 0.3] + B[:3, 3])
    np.testing.assert_allclose(moved.T_world_hinge, A @ hinge.T_world_hinge, atol=1e-9)
    np.testing.assert_allclose(moved.T_body_hinge, B @ hinge.T_body_hinge, atol=1e-9)
    for name in ("direction_std_rad", "point_std_m", "tilt_rms_rad", "slide_rms_m"):
        assert getattr(moved, name) == pytest.approx(getattr(hinge, name), rel=1e-6)


def test_the_sign_can_be_stated():
    T_world, theta = rigid(1), swing(60)
    poses = turning(theta, T_world, rigid(2))
    side = T_world[:3, 2] + [0.2, -0.1, 0.3]
    along, against = (hinge_from_motion(poses, points=sign * side) for sign in (1, -1))
    np.testing.assert_allclose(hinge_motion(poses, along).angle_rad, theta, atol=1e-9)
    np.testing.assert_allclose(hinge_motion(poses, against).angle_rad, -theta, atol=1e-9)
    with pytest.raises(DataProblem, match="does not tell its sign"):
        hinge_from_motion(poses, points=T_world[:3, 0])


def test_hidden_frames_stay_unknown_and_turns_add_up():
    theta = np.linspace(0, 25, 500)  # four turns of a wheel
    poses = turning(theta, rigid(1), rigid(2))
    poses.position[100:110] = np.nan
    poses.rotation[200:203] = np.nan
    hinge = hinge_from_motion(poses)
    angle = hinge_motion(poses, hinge).angle_rad
    assert (np.isfinite(angle) == poses.seen).all()
    np.testing.assert_allclose(angle[poses.seen], theta[poses.seen], atol=1e-9)
    poses.rotation[300:350] = np.nan  # 2.5 rad unseen
    (jump,) = check_hinge(hinge_motion(poses, hinge))
    assert jump.cause == "hinge-jump"
    assert "2.99 and 3.50 s" in jump.sentence


# Against other people's code


def test_axis_is_what_scipy_finds():
    rng = np.random.default_rng(5)
    poses = shaken(turning(swing(40), rigid(3), rigid(4)), rng, 0.01, 0.003, np.array([0.5, 0.1, 0.2]))
    R, r, near = poses.rotation, poses.position, np.array([0.5, 0.1, 0.2])
    hinge = hinge_from_motion(poses, near=near)

    def unit(a: Array) -> Array:
        return np.array([np.sin(a[0]) * np.cos(a[1]), np.sin(a[0]) * np.sin(a[1]), np.cos(a[0])])

    def angles(u: Array) -> list[float]:
        return [np.arccos(u[2]), np.arctan2(u[1], u[0])]

    start = [*angles(rigid(4)[:3, 2]), *angles(rigid(3)[:3, 2])]
    fit = least_squares(lambda q: (R @ unit(q[:2]) - unit(q[2:])).ravel(), start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    np.testing.assert_allclose(hinge.T_body_hinge[:3, 2], unit(fit.x[:2]), atol=1e-7)
    np.testing.assert_allclose(hinge.T_world_hinge[:3, 2], unit(fit.x[2:]), atol=1e-7)

    # the point: R c + r stays where it is across the axis; c has no part along it as seen from `near`
    across = hinge.T_world_hinge[:3, :2]
    plane = np.linalg.svd(hinge.T_body_hinge[None, :3, 2])[2][1:].T
    point = least_squares(lambda q: ((R @ (near + plane @ q[:2]) + r) @ across - q[2:]).ravel(), np.zeros(4))
    np.testing.assert_allclose(hinge.T_body_hinge[:3, 3], near + plane @ point.x[:2], atol=1e-7)
    np.testing.assert_allclose(across.T @ hinge.T_world_hinge[:3, 3], point.x[2:], atol=1e-7)


def test_pairs_of_poses_agree_within_the_stated_uncertainty():
    """(I - R) c = d for the motion between two frames, and the rotation vector's direction: the textbook way."""
    rng = np.random.default_rng(6)
    poses = shaken(turning(swing(70), rigid(3), rigid(4)), rng, 3e-4, 3e-4, np.array([0.5, 0.1, 0.2]))
    hinge = hinge_from_motion(poses, near=[0.5, 0.1, 0.2])
    i, j = rng.integers(0, len(poses), (2, 4000))
    between = poses.rotation[j] @ poses.rotation[i].transpose(0, 2, 1)
    vectors = Rotation.from_matrix(between).as_rotvec()
    wide = np.linalg.norm(vectors, axis=1) > 0.3
    direction = np.linalg.svd(vectors[wide], full_matrices=False)[2][0]
    d = poses.position[j] - np.einsum("nij,nj->ni", between, poses.position[i])
    c = np.linalg.lstsq((np.eye(3) - between[wide]).reshape(-1, 3), d[wide].ravel(), rcond=1e-3)[0]
    T = transform(np.column_stack([np.zeros((3, 2)), direction]), c)
    angle, distance = axis_errors(hinge.T_world_hinge, T)
    assert angle < 4 * hinge.direction_std_rad
    assert distance < 4 * hinge.point_std_m


def test_mujoco_hinge_is_found():
    mujoco = needs("mujoco", "mujoco")
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body pos=".3 -.2 1" euler="10 20 30"><joint type="hinge" axis=".1 .2 -1" pos=".4 .1 .2"/>
        <geom type="box" size=".4 .02 .9"/></body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    theta = swing(95, 60)
    R, r = np.empty((60, 3, 3)), np.empty((60, 3))
    for k, angle in enumerate(theta):
        data.qpos[0] = angle
        mujoco.mj_kinematics(model, data)
        R[k], r[k] = data.xmat[1].reshape(3, 3), data.xpos[1]
    poses = Poses(np.arange(60) / 100, R, r)
    hinge = hinge_from_motion(poses)
    np.testing.assert_allclose(hinge.T_world_hinge[:3, 2], data.xaxis[0], atol=1e-9)
    np.testing.assert_allclose(np.cross(hinge.T_world_hinge[:3, 3] - data.xanchor[0], data.xaxis[0]), 0, atol=1e-9)
    np.testing.assert_allclose(hinge_motion(poses, hinge).angle_rad, theta, atol=1e-9)


# Uncertainty


@pytest.mark.parametrize(("degrees", "rest"), [(80, 0.2), (80, 0.9), (10, 0.2)])
def test_stated_uncertainty_covers_the_truth(degrees: float, rest: float):
    T_world, at = rigid(3), np.array([0.5, 0.0, 0.1])
    poses = turning(swing(degrees, 300, rest), T_world, np.eye(4))
    found: list[list[float]] = []
    for seed in range(100):
        hinge = hinge_from_motion(shaken(poses, np.random.default_rng(seed), 3e-4, 2e-4, at), near=at)
        error = axis_errors(hinge.T_world_hinge, T_world)
        found.append([error[0] / hinge.direction_std_rad, error[1] / hinge.point_std_m])
    assert (np.mean(np.array(found) < 2, axis=0) >= 0.9).all()
    assert (np.sqrt(np.mean(np.square(found), axis=0)) > 0.4).all()  # and is not boundless


def test_uncertainty_grows_with_noise_and_shrinks_with_range():
    def std(degrees: float, noise: float) -> float:
        poses = turning(swing(degrees), rigid(3), np.eye(4))
        shaky = shaken(poses, np.random.default_rng(0), noise, noise, np.zeros(3))
        return hinge_from_motion(shaky).direction_std_rad

    # so little noise that no frame changes its group of angles
    assert std(60, 4e-6) == pytest.approx(4 * std(60, 1e-6), rel=1e-3)
    assert std(15, 5e-4) > 2.5 * std(60, 5e-4)


def test_slow_errors_of_the_poses_can_be_stated():
    """A pose that tilts slowly with the angle is a hinge somewhere else; nothing in the motion shows it."""
    at, T_world = np.array([0.5, 0.0, 0.1]), rigid(3)
    theta = swing(20)
    clean = turning(theta, T_world, np.eye(4))
    covered = {False: 0, True: 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        slow = 1e-3 * np.sin(3 * theta[:, None] + rng.uniform(0, 2 * np.pi, 3))
        R = Rotation.from_rotvec(slow).as_matrix() @ clean.rotation
        poses = shaken(Poses(clean.times_s, R, clean.position), rng, 1e-4, 1e-4, at)
        for stated in covered:
            hinge = hinge_from_motion(poses, near=at, slow=(1e-3, 1e-3) if stated else (0, 0))
            covered[stated] += axis_errors(hinge.T_world_hinge, T_world)[0] < 2 * hinge.direction_std_rad
    assert covered[True] >= 38
    assert covered[False] < 20


def test_pose_std_is_the_scatter_of_aligned_clouds():
    rng = np.random.default_rng(4)
    cloud = rng.normal(size=(9, 3)) * [0.4, 0.02, 0.8]
    hinge = np.array([-0.5, 0.1, 0.3])
    noisy = cloud + 1e-3 * rng.normal(size=(3000, 9, 3))
    centre = noisy.mean(axis=1)
    U, _, Vt = np.linalg.svd(np.einsum("nki,kj->nij", noisy - centre[:, None], cloud - cloud.mean(axis=0)))
    R = U @ Vt
    assert (np.linalg.det(R) > 0).all()
    rad, m = pose_std(cloud, 1e-3, at=hinge)
    worst = max(float(np.sqrt(((R @ u - u) ** 2).sum(axis=1).mean())) for u in np.linalg.svd(cloud)[2])
    assert rad == pytest.approx(worst, rel=0.05)
    there = centre + R @ (hinge - cloud.mean(axis=0)) - hinge
    assert m == pytest.approx(float(np.sqrt((there**2).sum(axis=1).mean())), rel=0.05)


# What is no hinge


def test_too_little_rotation_is_refused():
    poses = shaken(turning(swing(3), rigid(1), rigid(2)), np.random.default_rng(0), 1e-4, 1e-4, np.zeros(3))
    with pytest.raises(DataProblem, match=r"turned by 3\..* deg only, at least 5 deg"):
        hinge_from_motion(poses)


def test_two_positions_are_refused():
    theta = np.repeat([0.0, 1.0], 100)
    poses = shaken(turning(theta, rigid(1), rigid(2)), np.random.default_rng(0), 1e-5, 1e-5, np.zeros(3))
    with pytest.raises(DataProblem, match="2 distinct angles only"):
        hinge_from_motion(poses)


def test_free_motion_has_no_axis():
    t = np.linspace(0, 10, 500)
    R = Rotation.from_euler("xyz", np.column_stack([np.sin(t), np.cos(1.3 * t), np.sin(0.7 * t)])).as_matrix()
    with pytest.raises(DataProblem, match="it has no single axis"):
        hinge_from_motion(Poses(t, R, np.zeros((500, 3))))


def test_unseen_bodies_are_refused():
    never = Poses(np.arange(5.0), np.full((5, 3, 3), np.nan), np.full((5, 3), np.nan))
    with pytest.raises(DataProblem, match="seen in 0 frames"):
        hinge_from_motion(never)
    with pytest.raises(DataProblem, match="never seen"):
        hinge_from_frame(never, np.eye(4))


def test_screw_and_tilt_show_in_the_residual():
    theta = swing(90)
    T_world, T_body = rigid(1), rigid(2)
    poses = turning(theta, T_world, T_body)
    screw = Poses(poses.times_s, poses.rotation, poses.position + 0.02 * theta[:, None] * T_world[:3, 2])
    hinge = hinge_from_motion(screw)
    motion = hinge_motion(screw, hinge)
    np.testing.assert_allclose(motion.slide_m[:, 2], 0.02 * (theta - theta.mean()), atol=1e-9)
    assert [f.cause for f in check_hinge(motion)] == ["hinge-slide"]

    tilted = Poses(
        poses.times_s, Rotation.from_rotvec(0.02 * T_world[:3, 0]).as_matrix() @ poses.rotation, poses.position
    )
    known = hinge_from_frame(poses, T_body)
    off = hinge_motion(tilted, known)
    np.testing.assert_allclose(
        off.tilt_rad @ known.T_world_hinge[:3, :2].T, 0.02 * T_world[None, :3, 0].repeat(300, 0), atol=1e-9
    )
    assert "hinge-tilt" in [f.cause for f in check_hinge(off)]
    # the hinge angle ignores the tilt, the total rotation does not
    np.testing.assert_allclose(off.angle_rad, theta, atol=2e-4)


def test_known_frame_gives_the_same_hinge():
    T_world, T_body, theta = rigid(1), rigid(2), swing(70)
    poses = turning(theta, T_world, T_body)
    hinge = hinge_from_frame(poses, T_body)
    np.testing.assert_allclose(hinge.T_world_hinge, T_world, atol=1e-9)
    np.testing.assert_allclose(hinge_motion(poses, hinge).angle_rad, theta, atol=1e-9)
    assert np.isnan(hinge.direction_std_rad)


@given(st.floats(0, np.pi / 2), seeds)
def test_inclination_is_the_angle_to_the_vertical(angle: float, seed: int):
    R = rigid(seed)[:3, :3]
    T = transform(R @ Rotation.from_euler("y", angle).as_matrix(), [1, 2, 3])
    for gravity in (-9.81 * R[:, 2], R[:, 2]):
        assert inclination(T, gravity) == pytest.approx(angle, abs=1e-9)


# The path of one point


def path_of(theta: Array, T: Array, radius: float) -> Array:
    local = np.column_stack([radius * np.cos(theta), radius * np.sin(theta), np.zeros_like(theta)])
    return local @ T[:3, :3].T + T[:3, 3]


@given(seeds, st.floats(25, 350), st.floats(0.05, 2))
@settings(max_examples=30)
def test_perfect_circle_is_found_exactly(seed: int, degrees: float, radius: float):
    T, theta = rigid(seed), swing(degrees)
    found = hinge_from_path(path_of(theta, T, radius))
    assert found.radius_m == pytest.approx(radius, rel=1e-6)
    np.testing.assert_allclose(found.T_world_hinge, T, atol=1e-6)
    np.testing.assert_allclose(found.angle_rad, theta, atol=1e-6)
    assert found.rms_m < 1e-8


def test_circle_is_what_scipy_finds():
    rng = np.random.default_rng(2)
    for degrees in (40, 90, 200):
        T = rigid(degrees)
        P = path_of(swing(degrees), T, 0.4) + 0.004 * rng.normal(size=(300, 3))
        found = hinge_from_path(P)

        def distances(q: Array, P: Array = P) -> Array:
            n = q[:3] / np.linalg.norm(q[:3])
            h = (P - q[3:6]) @ n
            return np.concatenate([h, np.linalg.norm(P - q[3:6] - h[:, None] * n, axis=1) - q[6]])

        fit = least_squares(distances, [*T[:3, 2], *T[:3, 3], 0.4], xtol=1e-15, ftol=1e-15, gtol=1e-15)
        assert found.radius_m == pytest.approx(fit.x[6], abs=1e-7)
        np.testing.assert_allclose(found.T_world_hinge[:3, 3], fit.x[3:6], atol=1e-6)
        np.testing.assert_allclose(found.T_world_hinge[:3, 2], fit.x[:3] / np.linalg.norm(fit.x[:3]), atol=1e-6)
        assert found.rms_m == pytest.approx(np.sqrt(2 * fit.cost / 300), rel=1e-9)


@given(seeds)
@settings(max_examples=30)
def test_circle_moves_with_the_world(seed: int):
    P = path_of(swing(60), rigid(1), 0.4) + 0.002 * np.random.default_rng(seed).normal(size=(300, 3))
    A = rigid(seed)
    here, there = hinge_from_path(P), hinge_from_path(P @ A[:3, :3].T + A[:3, 3])
    np.testing.assert_allclose(there.T_world_hinge, A @ here.T_world_hinge, atol=1e-6)
    np.testing.assert_allclose(there.angle_rad, here.angle_rad, atol=1e-6)
    assert there.radius_std_m == pytest.approx(here.radius_std_m, rel=1e-3)


@pytest.mark.parametrize(("degrees", "noise"), [(90, 1e-3), (40, 1e-3), (300, 1e-3)])
def test_stated_uncertainty_covers_the_circle(degrees: float, noise: float):
    T = rigid(1)
    clean = path_of(swing(degrees), T, 0.4)
    found: list[list[float]] = []
    for seed in range(100):
        fit = hinge_from_path(clean + noise * np.random.default_rng(seed).normal(size=(300, 3)))
        angle, distance = axis_errors(fit.T_world_hinge, T)
        found.append([abs(fit.radius_m - 0.4) / fit.radius_std_m, angle / fit.direction_std_rad])
        assert distance < 5 * fit.radius_std_m
    assert (np.mean(np.array(found) < 2, axis=0) >= 0.88).all()
    assert (np.sqrt(np.mean(np.square(found), axis=0)) > 0.4).all()


def test_short_arcs_lines_blobs_and_other_curves_are_refused():
    rng = np.random.default_rng(0)
    T, t = rigid(1), np.linspace(0, 1, 300)
    with pytest.raises(DataProblem, match="too short to tell its centre"):
        hinge_from_path(path_of(swing(12), T, 0.4) + 1e-4 * rng.normal(size=(300, 3)))
    noisy_line = np.outer(t, [0.3, 0.2, 0.1]) + 1e-3 * rng.normal(size=(300, 3))
    for wrong in (
        np.outer(t, [1.0, 2.0, 3.0]),
        noisy_line,
        1e-3 * rng.normal(size=(300, 3)),
        np.zeros((300, 3)),
        np.column_stack([t, np.abs(t - 0.5), 0 * t]),
        path_of(swing(25), T, 0.4) + 0.02 * rng.normal(size=(300, 3)),
    ):
        with pytest.raises(DataProblem, match="Move the point further round its axis"):
            hinge_from_path(wrong)
    with pytest.raises(DataProblem, match="seen in 7 samples"):
        hinge_from_path(path_of(swing(90), T, 0.4)[:7])


def test_hidden_points_stay_unknown_and_the_sign_can_be_stated():
    T, theta = rigid(1), swing(90)
    P = path_of(theta, T, 0.4)
    P[0:5] = np.nan
    P[100:120, 1] = np.nan
    found = hinge_from_path(P)
    assert (np.isnan(found.angle_rad) == np.isnan(P).any(axis=1)).all()
    np.testing.assert_allclose(found.angle_rad[130:], theta[130:], atol=1e-6)
    against = hinge_from_path(P, points=-T[:3, 2])
    np.testing.assert_allclose(against.angle_rad[130:], -theta[130:], atol=1e-6)
    turns = np.linspace(0, 30, 300)
    np.testing.assert_allclose(hinge_from_path(path_of(turns, T, 0.4)).angle_rad, turns, atol=1e-6)
    moving = hinge_poses(found.T_world_hinge, np.arange(300) / 100, found.angle_rad)
    assert (moving.seen == np.isfinite(found.angle_rad)).all()
    there = moving.position + found.radius_m * moving.rotation[:, :, 0]
    np.testing.assert_allclose(there[moving.seen], P[moving.seen], atol=1e-6)
