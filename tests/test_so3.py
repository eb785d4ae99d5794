"""Rotation vectors and quaternions against SciPy's Rotation and matrix exponential."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from palpate.physics.motion import (
    body_rates,
    continuous_quaternions,
    exp_rotation,
    log_quaternion,
    log_rotation,
    quaternion_from_rotation,
    quaternion_product,
    rotation_from_quaternion,
    skew,
)

Array = NDArray[np.float64]
ANGLES = [0.0, 1e-300, 1e-12, 1e-9, 1e-8, 1e-6, 1e-4, 0.1, 0.99999, 1.0, 1.00001, 2.0, 3.0]
NEAR_PI = [np.pi - 1e-3, np.pi - 1e-6, np.pi - 1e-9, np.pi - 1e-13, np.pi]

unit = st.tuples(*[st.floats(-1, 1)] * 3).map(np.array).filter(lambda v: np.linalg.norm(v) > 0.1)
vectors = st.tuples(unit, st.floats(0, 3.1)).map(lambda p: p[0] / np.linalg.norm(p[0]) * p[1])


def axes(count: int = 40) -> Array:
    v = np.random.default_rng(0).normal(size=(count, 3))
    v = np.vstack([v, np.eye(3), -np.eye(3)])
    return v / np.linalg.norm(v, axis=1, keepdims=True)


@pytest.mark.parametrize("angle", ANGLES + NEAR_PI)
def test_exponential_is_scipys(angle: float) -> None:
    phi = angle * axes()
    assert np.abs(exp_rotation(phi) - Rotation.from_rotvec(phi).as_matrix()).max() < 1e-15 * 4
    assert np.abs(exp_rotation(phi[3]) - expm(skew(phi[3]))).max() < 2e-15


@pytest.mark.parametrize("angle", ANGLES)
def test_logarithm_undoes_the_exponential(angle: float) -> None:
    phi = angle * axes()
    # relative: a small angle keeps its digits too
    assert np.abs(log_rotation(exp_rotation(phi)) - phi).max() <= 4e-15 * angle


@pytest.mark.parametrize("angle", NEAR_PI)
def test_logarithm_near_half_a_turn(angle: float) -> None:
    phi = angle * axes()
    found = log_rotation(Rotation.from_rotvec(phi).as_matrix())
    assert np.linalg.norm(found, axis=1).max() <= np.pi + 1e-15
    # at exactly half a turn both signs of the axis are right
    off = np.minimum(np.linalg.norm(found - phi, axis=1), np.linalg.norm(found + phi, axis=1))
    assert (off if angle > np.pi - 1e-12 else np.linalg.norm(found - phi, axis=1)).max() < 1e-14


def test_stacks_of_any_shape_and_nan() -> None:
    phi = np.random.default_rng(1).uniform(-1.8, 1.8, size=(2, 5, 3))
    assert np.abs(log_rotation(exp_rotation(phi)) - phi).max() < 1e-14
    R = np.concatenate([np.full((1, 3, 3), np.nan), np.eye(3)[None]])
    assert np.isnan(log_rotation(R)[0]).all()
    assert (log_rotation(R)[1] == 0).all()


@given(phi=vectors, phi_dot=vectors, phi_ddot=vectors)
def test_body_rates_are_those_of_the_curve(phi: Array, phi_dot: Array, phi_ddot: Array) -> None:
    def R(t: float) -> Array:
        return exp_rotation(phi + phi_dot * t + phi_ddot * t**2 / 2)

    def mean_rate(t: float, h: float) -> Array:
        return log_rotation(R(t - h).T @ R(t + h)) / (2 * h)

    omega, omega_dot = body_rates(phi, phi_dot, phi_ddot)
    h = 1e-3
    # Richardson: the mean rate differs from omega by h^2 times what follows; in the frame at -h, turned to that at 0
    turned = [exp_rotation(-omega * k * h) @ mean_rate(0, k * h) for k in (1, 2)]
    assert np.abs((4 * turned[0] - turned[1]) / 3 - omega).max() < 1e-6 * (1 + np.linalg.norm(phi_dot) ** 2) ** 2
    slope = (body_rates(*_at(phi, phi_dot, phi_ddot, h))[0] - body_rates(*_at(phi, phi_dot, phi_ddot, -h))[0]) / (2 * h)
    assert np.abs(slope - omega_dot).max() < 1e-4


def _at(phi: Array, phi_dot: Array, phi_ddot: Array, t: float) -> tuple[Array, Array, Array]:
    return phi + phi_dot * t + phi_ddot * t**2 / 2, phi_dot + phi_ddot * t, phi_ddot


def test_quaternions_are_scipys() -> None:
    R = Rotation.random(500, random_state=0)
    theirs = R.as_quat(canonical=True, scalar_first=True)
    assert np.abs(quaternion_from_rotation(R.as_matrix()) - theirs).max() < 1e-14
    assert np.abs(rotation_from_quaternion(3 * theirs) - R.as_matrix()).max() < 1e-14
    assert np.abs(log_quaternion(-theirs) - R.as_rotvec()).max() < 1e-13
    both = rotation_from_quaternion(quaternion_product(theirs[:250], theirs[250:]))
    assert np.abs(both - (R[:250] * R[250:]).as_matrix()).max() < 1e-14


def test_continuous_quaternions_turn_round_and_round() -> None:
    angle = np.linspace(0, 20, 400)
    R = exp_rotation(angle[:, None] * axes()[0])
    q = continuous_quaternions(quaternion_from_rotation(R))
    assert np.abs(np.diff(q, axis=0)).max() < 0.03
    assert np.abs(q[:, 0] - np.cos(angle / 2)).max() < 1e-13
