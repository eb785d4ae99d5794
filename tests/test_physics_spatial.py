"""Moving wrenches and accelerations between frames: against direct moments, power, Pinocchio and exact motions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from palpate.errors import PalpateError
from palpate.physics.motion import nearest_rotation, skew, transform, transport_acceleration, wrench_transmission
from tests.conftest import needs

seeds = st.integers(0, 10_000)


def random_frame(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)


@given(seeds)
def test_skew_is_the_cross_product(seed: int) -> None:
    u, v = np.random.default_rng(seed).normal(size=(2, 5, 3))
    assert (skew(u) @ v[..., None])[..., 0] == pytest.approx(np.cross(u, v), abs=1e-14)


@given(seeds)
def test_a_moved_wrench_is_the_same_force_with_its_moment_about_the_new_origin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    R_ab, r_ab = random_frame(rng)
    force_b, point_b, couple_b = rng.normal(size=(3, 3))
    w_b = np.concatenate([force_b, np.cross(point_b, force_b) + couple_b])
    point_a, force_a = R_ab @ point_b + r_ab, R_ab @ force_b
    expected = np.concatenate([force_a, np.cross(point_a, force_a) + R_ab @ couple_b])
    assert wrench_transmission(R_ab, r_ab) @ w_b == pytest.approx(expected, abs=1e-13)


@given(seeds)
def test_a_moved_wrench_does_the_same_work(seed: int) -> None:
    rng = np.random.default_rng(seed)
    R_ab, r_ab = random_frame(rng)
    w_b, v_b, omega_b = rng.normal(size=6), rng.normal(size=3), rng.normal(size=3)
    omega_a = R_ab @ omega_b
    v_a = R_ab @ v_b - np.cross(omega_a, r_ab)  # the point of the body at a's origin
    w_a = wrench_transmission(R_ab, r_ab) @ w_b
    assert w_a @ np.concatenate([v_a, omega_a]) == pytest.approx(w_b @ np.concatenate([v_b, omega_b]), abs=1e-12)


@given(seeds)
def test_frames_compose(seed: int) -> None:
    rng = np.random.default_rng(seed)
    (R_ab, r_ab), (R_bc, r_bc) = random_frame(rng), random_frame(rng)
    T_ac = transform(R_ab, r_ab) @ transform(R_bc, r_bc)
    W_ac = wrench_transmission(R_ab, r_ab) @ wrench_transmission(R_bc, r_bc)
    assert wrench_transmission(T_ac[:3, :3], T_ac[:3, 3]) == pytest.approx(W_ac, abs=1e-13)
    there_and_back = W_ac @ wrench_transmission(T_ac[:3, :3].T, -T_ac[:3, :3].T @ T_ac[:3, 3])
    assert there_and_back == pytest.approx(np.eye(6), abs=1e-13)


@given(seeds)
def test_points_transform_as_written(seed: int) -> None:
    rng = np.random.default_rng(seed)
    R_ab, r_ab = random_frame(rng)
    p = rng.normal(size=3)
    assert (transform(R_ab, r_ab) @ [*p, 1])[:3] == pytest.approx(R_ab @ p + r_ab, abs=1e-14)


def test_wrench_transmission_is_pinocchios_action_on_forces() -> None:
    needs("pinocchio", "pinocchio")
    from tests.oracles import pinocchio_body

    rng = np.random.default_rng(1)
    for _ in range(20):
        R, r = random_frame(rng)
        assert np.abs(wrench_transmission(R, r) - pinocchio_body.transmission(R, r)).max() < 1e-14


def test_wrench_transmission_works_sample_by_sample() -> None:
    rng = np.random.default_rng(2)
    R, r = Rotation.random(7, rng=rng).as_matrix(), rng.normal(size=(7, 3))
    one_by_one = [wrench_transmission(R[i], r[i]) for i in range(7)]
    assert wrench_transmission(R, r).tolist() == np.array(one_by_one).tolist()
    assert wrench_transmission(R[0], r)[3].tolist() == wrench_transmission(R[0], r[3]).tolist()


def test_transported_acceleration_is_that_of_the_point_itself() -> None:
    needs("casadi", "casadi")
    from tests.oracles.smooth_motion import smooth_motion

    times, r = np.linspace(0, 8, 300), (0.0861, -0.4125, 0.3290)
    origin, point = smooth_motion(times, seed=3), smooth_motion(times, seed=3, point=r)
    R_body_world = np.swapaxes(origin.R_world_body, 1, 2)
    a_origin, a_point = ((R_body_world @ m.acceleration[:, :, None])[..., 0] for m in (origin, point))
    found = transport_acceleration(a_origin, origin.omega, origin.omega_dot, r)
    assert np.abs(a_point - a_origin).max() > 1  # the point does move otherwise
    assert np.abs(found - a_point).max() / np.abs(a_point).max() < 1e-13


def test_transported_specific_force_is_that_of_the_point_itself() -> None:
    rng = np.random.default_rng(4)
    a, g, omega, omega_dot = rng.normal(size=(4, 10, 3))
    r = rng.normal(size=3)
    moved = transport_acceleration(a, omega, omega_dot, r)
    assert transport_acceleration(a - g, omega, omega_dot, r) == pytest.approx(moved - g, abs=1e-14)


def test_a_rotation_from_a_drawing_is_made_exact() -> None:
    printed = np.array([[0.0877, -0.9962, 0], [-0.9962, -0.0877, 0], [0, 0, -1]])
    R = nearest_rotation(printed)
    assert np.abs(R.T @ R - np.eye(3)).max() < 1e-15
    assert np.abs(R - printed).max() < 1e-4
    assert np.abs(R - Rotation.from_matrix(printed).as_matrix()).max() < 1e-12


def test_what_is_no_rotation_is_refused() -> None:
    with pytest.raises(PalpateError, match=r"sensor: the matrix is left-handed \(determinant -1.000, must be \+1\)"):
        nearest_rotation(np.diag([1.0, 1.0, -1.0]), what="sensor")
    with pytest.raises(PalpateError, match=r"not a rotation; the nearest one differs by 0.05"):
        nearest_rotation(np.diag([1.05, 1.0, 1.0]))
