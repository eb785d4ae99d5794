"""Mechanisms: free motion against SciPy's rotations and MuJoCo's free joint."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from palpate.mechanisms import MECHANISMS, Free
from palpate.mechanisms.mechanism import WRENCH_ROWS
from palpate.physics.functions import ARRAYS, FLOATS, casadi_functions
from palpate.physics.motion import Motion
from tests.conftest import needs
from tests.own_parts import SwingDoor


def quaternions_wxyz(R: np.ndarray) -> np.ndarray:
    return Rotation.from_matrix(R).as_quat(scalar_first=True)


@given(st.integers(0, 10_000))
def test_free_turns_acceleration_and_gravity_into_the_body_as_scipy_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    turn = Rotation.random(rng=rng)
    acc = rng.normal(size=6) * 10
    position, velocity, omega = rng.normal(size=(3, 3))
    state = [*position, *turn.as_quat(scalar_first=True), *velocity, *omega]
    k = Free(gravity=9.81).expand([float(v) for v in state], [float(v) for v in acc], FLOATS)
    assert k.specific_acceleration == pytest.approx(turn.inv().apply(acc[:3] + np.array([0, 0, 9.81])), abs=1e-13)
    assert k.omega == pytest.approx(omega, rel=1e-15)
    assert k.omega_dot == pytest.approx(acc[3:], rel=1e-15)


def test_free_expands_to_what_mujocos_accelerometer_and_gyro_read() -> None:
    needs("mujoco", "mujoco")
    needs("casadi", "casadi")
    from tests.oracles import mujoco_body, smooth_motion

    move = smooth_motion.smooth_motion(np.linspace(0, 5, 100), seed=1)
    phi = np.array([2.0, 0.2, 0.1, -0.3, 0.5, 0.01, 0.02, 0.4, 0.03, 0.6])
    state = mujoco_body.State(
        move.R_world_body, move.omega, move.omega_dot, move.acceleration, move.position, move.velocity
    )
    read = mujoco_body.read(phi, state, gravity=9.81)
    states = np.column_stack([move.position, quaternions_wxyz(move.R_world_body), move.velocity, move.omega])
    k = Free(gravity=9.81).expand(list(states.T), list(np.hstack([move.acceleration, move.omega_dot]).T), ARRAYS)
    assert np.abs(np.array(k.specific_acceleration).T - read.accelerometer).max() < 1e-12
    assert np.abs(np.array(k.omega).T - read.gyro).max() < 1e-12


def test_free_observes_what_it_expands() -> None:
    needs("casadi", "casadi")
    from tests.oracles.smooth_motion import smooth_motion

    times = np.linspace(0, 5, 100)
    move = smooth_motion(times, seed=2)
    a = np.einsum("nji,nj->ni", move.R_world_body, move.acceleration - np.array([0, 0, -9.80665]))
    observed = Free().observe(Motion(times, a, move.omega, move.omega_dot))
    states = np.column_stack([move.position, quaternions_wxyz(move.R_world_body), move.velocity, move.omega])
    expanded = Free().expand(list(states.T), list(np.hstack([move.acceleration, move.omega_dot]).T), ARRAYS)
    for name in ("specific_acceleration", "omega", "omega_dot"):
        assert np.abs(np.array(getattr(observed, name)) - np.array(getattr(expanded, name))).max() < 1e-13


@pytest.mark.parametrize("mechanism", [Free(), SwingDoor()], ids=["free", "swing_door"])
def test_a_mechanism_expands_the_same_on_symbols(mechanism: Free | SwingDoor) -> None:
    ca = needs("casadi", "casadi")
    state, acc = ca.SX.sym("state", len(mechanism.state)), ca.SX.sym("acc", len(mechanism.accelerations))

    def together(k: object) -> list[object]:
        motion = [*k.specific_acceleration, *k.omega, *k.omega_dot]
        return motion + [v for c in k.coordinates.values() for v in (c.position, c.speed, c.acceleration, *c.ratio)]

    symbols = together(mechanism.expand(ca.vertsplit(state), ca.vertsplit(acc), casadi_functions()))
    function = ca.Function("expand", [state, acc], [ca.vertcat(*symbols)])
    rng = np.random.default_rng(3)
    x, xdd = rng.normal(size=len(mechanism.state)), rng.normal(size=len(mechanism.accelerations))
    floats = together(mechanism.expand(x.tolist(), xdd.tolist(), FLOATS))
    assert np.array(function(x, xdd)).ravel() == pytest.approx(floats, abs=1e-14)


def test_free_leaves_all_six_rows_and_has_no_coordinates() -> None:
    wrench = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    k = Free().expand([0.0] * 13, [0.0] * 6, FLOATS)
    assert list(Free().project(k, wrench, FLOATS)) == wrench
    assert [row.name for row in WRENCH_ROWS] == ["f_x", "f_y", "f_z", "n_x", "n_y", "n_z"]
    assert [row.unit for row in WRENCH_ROWS] == ["N"] * 3 + ["N m"] * 3
    assert dict(Free().coordinates) == {}


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_a_mechanism_declares_its_type_and_names_of_its_state_once(name: str) -> None:
    mechanism = MECHANISMS[name]()
    assert mechanism.type == name
    assert len(set(mechanism.state)) == len(mechanism.state)
    assert len(mechanism.accelerations) <= len(mechanism.state)


@pytest.mark.parametrize("name", [name for name, kind in MECHANISMS.items() if kind.z_up])
def test_where_z_points_up_weight_works_by_the_height_of_the_place(name: str) -> None:
    """The power of a point mass's weight over the rows is g m times how fast its place rises, by differences."""
    mechanism, rng, h = MECHANISMS[name](), np.random.default_rng(1), 1e-6
    n, m, c = len(mechanism.accelerations), 3.0, np.array([0.2, -0.3, 0.4])

    def height(positions: np.ndarray) -> float:
        R, r = mechanism.place([*positions, *[0.0] * n], FLOATS)
        return float(r[2] + np.array(R)[2] @ c)

    for _ in range(5):
        state = 0.3 * rng.normal(size=len(mechanism.state))
        turning = [i for i, unit in enumerate(mechanism.position_units) if unit == "1"]
        if turning:
            state[turning] = Rotation.random(rng=rng).as_quat(scalar_first=True)
        still = mechanism.expand([*state[:-n], *[0.0] * n], [0.0] * n, FLOATS)
        force = m * np.array(still.specific_acceleration)
        rows = mechanism.project(still, [*force, *np.cross(c, force)], FLOATS)
        power = np.dot(rows, mechanism.row_speeds(state.tolist(), FLOATS))
        rates = np.array(mechanism.rates(state.tolist(), FLOATS))
        rise = (height(state[:-n] + h * rates) - height(state[:-n] - h * rates)) / (2 * h)
        assert power == pytest.approx(mechanism.gravity * m * rise, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_the_motion_of_the_body_alone_is_that_of_the_whole(name: str) -> None:
    mechanism, rng = MECHANISMS[name](), np.random.default_rng(2)
    state, acc = (0.3 * rng.normal(size=len(x)) for x in (mechanism.state, mechanism.accelerations))
    whole, alone = (f(state.tolist(), acc.tolist(), FLOATS) for f in (mechanism.expand, mechanism.body_motion))
    for part in ("specific_acceleration", "omega", "omega_dot"):
        assert getattr(alone, part) == pytest.approx(getattr(whole, part), rel=1e-14)
