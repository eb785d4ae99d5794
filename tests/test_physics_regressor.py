"""The body regressor against Newton's law for points, Pinocchio and MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.physics.inertia import body_columns, body_features, body_regressor, phi_from_mass_properties
from tests.conftest import needs
from tests.oracles.point_masses import cloud_phi, cloud_wrench, random_cloud

SAMPLES = 200
G = np.array([0, 0, -9.80665])
HANDLE = phi_from_mass_properties(
    0.8082,
    [0.0002, 0.0001, 0.0814],
    [[2.1e-3, 1e-5, -2e-5], [1e-5, 2.0e-3, 3e-5], [-2e-5, 3e-5, 2.4e-4]],
)
BARROW = phi_from_mass_properties(
    45.0,
    [-0.1121, 0.4498, 0.0004],
    [[3.6670, 0.0553, 0.0046], [0.0553, 1.0924, 0.0008], [0.0046, 0.0008, 3.1350]],
)


def random_motion(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a - g, omega, omega_dot of a body that a person shakes: about 10 m/s2, 5 rad/s, 30 rad/s2."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(SAMPLES, 3)) * 10, rng.normal(size=(SAMPLES, 3)) * 5, rng.normal(size=(SAMPLES, 3)) * 30


def test_the_regressor_is_pinocchios_in_another_order() -> None:
    needs("pinocchio", "pinocchio")
    from tests.oracles import pinocchio_body

    a, omega, omega_dot = random_motion(1)
    velocity = np.random.default_rng(2).normal(size=a.shape)
    expected = np.array(
        [pinocchio_body.body_regressor(*row) for row in zip(a, omega, omega_dot, velocity, strict=True)]
    )
    worst = np.abs(body_regressor(a, omega, omega_dot) - expected).max() / np.abs(expected).max()
    assert worst < 1e-12


def test_the_wrench_is_the_sum_of_newtons_law_over_points() -> None:
    masses, r = random_cloud(np.random.default_rng(3))
    a, omega, omega_dot = random_motion(4)
    expected = np.array([cloud_wrench(masses, r, *row) for row in zip(a, omega, omega_dot, strict=True)])
    found = body_regressor(a, omega, omega_dot) @ cloud_phi(masses, r)
    assert np.abs(found - expected).max() / np.abs(expected).max() < 1e-13


@pytest.mark.parametrize("phi", [HANDLE, BARROW], ids=["handle", "wheelbarrow"])
def test_the_wrench_of_a_body_moved_in_mujoco_is_predicted_to_a_billionth(phi: np.ndarray) -> None:
    needs("mujoco", "mujoco")
    needs("casadi", "casadi")
    from tests.oracles import mujoco_body, smooth_motion

    move = smooth_motion.smooth_motion(np.linspace(0, 10, SAMPLES), seed=5)
    state = mujoco_body.State(
        move.R_world_body, move.omega, move.omega_dot, move.acceleration, move.position, move.velocity
    )
    read = mujoco_body.read(phi, state)
    a = np.einsum("nji,nj->ni", move.R_world_body, move.acceleration - G)
    found = body_regressor(a, move.omega, move.omega_dot) @ phi
    assert np.abs(a - read.accelerometer).max() < 1e-12
    assert np.abs(move.omega - read.gyro).max() < 1e-12
    assert np.abs(found - read.wrench).max() < 1e-9


def test_mujocos_wrench_depends_neither_on_place_nor_on_travel() -> None:
    needs("mujoco", "mujoco")
    needs("casadi", "casadi")
    from tests.oracles import mujoco_body, smooth_motion

    move = smooth_motion.smooth_motion(np.linspace(0, 1, 5), seed=6)
    motion = (move.R_world_body, move.omega, move.omega_dot, move.acceleration)
    travelling = mujoco_body.read(BARROW, mujoco_body.State(*motion, move.position + 5, move.velocity + 3)).wrench
    assert travelling == pytest.approx(mujoco_body.body_wrench(BARROW, *motion), abs=1e-10)


def test_the_predicted_wrench_does_the_work_that_becomes_mujocos_energy() -> None:
    needs("mujoco", "mujoco")
    needs("casadi", "casadi")
    from tests.oracles import mujoco_body, smooth_motion

    dt = 1e-4
    times = np.arange(0, 2, 0.05)
    around = [smooth_motion.smooth_motion(times + shift, seed=7) for shift in (-dt, 0.0, dt)]
    before, move, after = around
    energy = [
        sum(mujoco_body.read(BARROW, mujoco_body.State(m[0], m[4], m[5], m[3], m[1], m[2]))[3:])
        for m in (before, after)
    ]
    R_body_world = np.swapaxes(move.R_world_body, 1, 2)
    a, v = ((R_body_world @ u[:, :, None])[..., 0] for u in (move.acceleration - G, move.velocity))
    wrench = body_regressor(a, move.omega, move.omega_dot) @ BARROW
    power = (wrench * np.hstack([v, move.omega])).sum(axis=1)
    assert np.abs(power - (energy[1] - energy[0]) / (2 * dt)).max() / np.abs(power).max() < 1e-6


def test_columns_on_numbers_are_the_regressor() -> None:
    from palpate.physics.motion import Kinematics

    a, omega, omega_dot = (x[0] for x in random_motion(8))
    triples = [tuple(float(v) for v in x) for x in (a, omega, omega_dot)]
    found = body_columns(body_features(Kinematics(*triples)))
    assert np.array(found).tolist() == body_regressor(a, omega, omega_dot).tolist()


def test_a_body_at_rest_weighs() -> None:
    weight = body_regressor(np.array([0, 0, 9.81]), np.zeros(3), np.zeros(3)) @ BARROW
    x, y, _ = BARROW[1:4]
    assert weight == pytest.approx([0, 0, 45 * 9.81, y * 9.81, -x * 9.81, 0], rel=1e-14)
