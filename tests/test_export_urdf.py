"""URDF exports, loaded by Pinocchio and MuJoCo: the same body, the same equations; what URDF cannot say is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palpate.elements import RigidBody, ScalarInertia
from palpate.errors import PalpateError
from palpate.mechanisms import Hinge
from palpate.model import Model, load_object
from palpate.physics.functions import FLOATS
from palpate.physics.inertia import move_phi
from palpate.twin.door import paper_door
from tests.conftest import needs
from tests.exported_models import (
    BARROW,
    SHIPPED,
    export_urdf,
    hand_truck,
    handle,
    pendulum,
    planar,
    wheelbarrow,
    wide_phi,
)

mujoco = needs("mujoco", "mujoco")
pin = needs("pinocchio", "pinocchio")
SEEDS = st.integers(0, 100_000)
TO_PINOCCHIO = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


def loaded(model: Model, folder: Path) -> tuple[Any, Any, Any]:
    """What Pinocchio and MuJoCo make of a model, and the export."""
    done = export_urdf(model, folder)
    return pin.buildModelFromUrdf(str(done.files[0])), mujoco.MjModel.from_xml_path(str(done.files[0])), done


def phi_of(inertia: Any) -> np.ndarray:
    return inertia.toDynamicParameters()[TO_PINOCCHIO]


def with_gravity(p: Any, model: Model) -> Any:
    p.gravity.linear = np.array([0.0, 0.0, -getattr(model.mechanism, "gravity", 0.0)])
    return p


@settings(max_examples=30)
@given(SEEDS)
def test_any_body_survives_in_pinocchio_and_mujoco(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    phi = wide_phi(seed)
    p, m, _ = loaded(handle(phi), tmp_path_factory.mktemp("handle"))
    found = phi_of(p.inertias[1])
    assert found[:4] == pytest.approx(phi[:4], rel=1e-12)
    assert np.abs(found - phi)[4:].max() < 1e-9 * np.abs(phi[4:]).max()
    assert m.body_mass[1] == pytest.approx(phi[0], rel=1e-14)
    assert m.body_mass[1] * m.body_ipos[1] == pytest.approx(phi[1:4], rel=1e-12)
    moments = np.linalg.eigvalsh(p.inertias[1].inertia)
    assert np.sort(m.body_inertia[1]) == pytest.approx(moments, abs=1e-9 * moments.max())


@pytest.mark.parametrize("seed", range(3))
def test_a_handle_needs_the_same_wrench_in_pinocchio(tmp_path: Path, seed: int) -> None:
    model = handle(wide_phi(seed))
    p = with_gravity(loaded(model, tmp_path)[0], model)
    rng = np.random.default_rng(seed)
    q = pin.randomConfiguration(p, -np.ones(7), np.ones(7))
    twist, rate = rng.normal(size=6), rng.normal(size=6)
    needed = pin.rnea(p, p.createData(), q, twist, rate)
    R = pin.XYZQUATToSE3(q).rotation
    acceleration = R @ (rate[:3] + np.cross(twist[3:], twist[:3]))  # Pinocchio's is spatial, in the body
    x, y, z, w = q[3:].tolist()
    state = [*q[:3].tolist(), w, x, y, z, *(R @ twist[:3]).tolist(), *twist[3:].tolist()]
    k = model.mechanism.expand(state, [*acceleration.tolist(), *rate[3:].tolist()], FLOATS)
    found = np.array(model.of_object().wrench(k, FLOATS), dtype=float)
    assert found == pytest.approx(needed, abs=1e-9 * np.abs(needed).max())


def test_a_pendulum_swings_alike(tmp_path: Path) -> None:
    model = pendulum()
    p, m, done = loaded(model, tmp_path)
    with_gravity(p, model)
    smooth, data = model.without_dry(), p.createData()
    for q, v, a in np.random.default_rng(0).uniform(-2, 2, (20, 3)).tolist():
        torque = pin.rnea(p, data, np.array([np.cos(q), np.sin(q)]), np.array([v]), np.array([a]))[0]
        expected = smooth.wrench(model.mechanism.expand((q, v), (a,), FLOATS), FLOATS)[0]
        assert torque + p.damping[0] * v == pytest.approx(expected, abs=1e-12)
    assert m.dof_damping[0] == pytest.approx(0.02, rel=1e-12)
    assert m.dof_frictionloss[0] == pytest.approx(0.03, rel=1e-12)
    assert m.opt.gravity[2] == -9.80665
    d = mujoco.MjData(m)
    d.qpos[0], d.qvel[0] = 0.7, -1.0
    mujoco.mj_forward(m, d)
    k = model.mechanism.expand((0.7, -1.0), (float(d.qacc[0]),), FLOATS)
    assert model.wrench(k, FLOATS)[0] == pytest.approx(0.0, abs=1e-9)
    assert [line[:8] for line in done.left_out] == ["the mode", "the body", "gravity,"]  # its end stops first


def test_a_door_has_its_limits_and_says_that_springs_are_missing(tmp_path: Path) -> None:
    door = paper_door()
    p, m, done = loaded(door, tmp_path)
    stops = [e.at for e in door.elements[-2:]]  # pyright: ignore[reportAttributeAccessIssue]
    assert [p.lowerPositionLimit[0], p.upperPositionLimit[0]] == pytest.approx(stops, abs=1e-12)
    assert m.jnt_range[0] == pytest.approx(stops, abs=1e-12)
    assert pin.crba(p, p.createData(), np.zeros(1))[0, 0] == pytest.approx(6.53, rel=1e-12)
    text = "\n".join(done.left_out)
    for word in (
        "spring: URDF has no springs; up to 27.2",
        "b_bc, b_s: resistance",
        "stiffness and damping of the end",
    ):
        assert word in text


@pytest.mark.parametrize("inclination", [0.0, 0.3, np.pi / 2, 2.0, np.pi])
@pytest.mark.parametrize("direction", [0.0, 1.0, np.pi])
def test_an_inclined_hinge_stands_in_the_world_as_it_does(tmp_path: Path, inclination: float, direction: float) -> None:
    body = Model("flap", Hinge(9.81, inclination, direction), (RigidBody("body"),)).with_values(wide_phi(5))
    p = with_gravity(loaded(body, tmp_path)[0], body)
    for q in (-2.0, 0.0, 0.7):
        torque = pin.computeGeneralizedGravity(p, p.createData(), np.array([np.cos(q), np.sin(q)]))[0]
        expected = body.wrench(body.mechanism.expand((q, 0.0), (0.0,), FLOATS), FLOATS)[0]
        assert torque == pytest.approx(expected, abs=1e-9 * np.abs(wide_phi(5)[1:4]).max() * 9.81)


def test_a_planar_wheelbarrow_needs_the_same_forces(tmp_path: Path) -> None:
    model = planar(spin=True)
    p, m, _ = loaded(model, tmp_path)
    with_gravity(p, model)
    R = BARROW.mechanism.wheel.radius
    assert m.dof_damping[0] == pytest.approx(BARROW.values["b_v"] / R**2, rel=1e-12)
    assert m.dof_frictionloss[0] == pytest.approx(BARROW.values["b_c"] / R, rel=1e-12)
    free = replace(model, elements=tuple(e for e in model.elements if e.acts_on == "wrench"), values={})
    free = free.with_values([*BARROW.p[:10], 0.07])
    for x, q, v, w, a, b in np.random.default_rng(0).uniform(-1, 1, (10, 6)).tolist():
        needed = pin.rnea(p, p.createData(), np.array([x, np.cos(q), np.sin(q)]), np.array([v, w]), np.array([a, b]))
        n_y, f_x = free.wrench(free.mechanism.expand((x, q, v, w), (a, b), FLOATS), FLOATS)
        # rows work on the pitch rate and on v - R pitch rate
        assert needed == pytest.approx([f_x, n_y - R * f_x], abs=1e-9 * np.abs(needed).max())


def test_a_planar_wheelbarrow_stands_in_the_world_as_its_state_says(tmp_path: Path) -> None:
    p, _, _ = loaded(planar(), tmp_path)
    data = p.createData()
    pin.framesForwardKinematics(p, data, np.array([0.7, np.cos(0.2), np.sin(0.2)]))
    body = data.oMi[2]
    assert body.translation == pytest.approx([0.7, 0.0, BARROW.mechanism.wheel.radius], abs=1e-12)
    handles = body.rotation @ np.array([0.0, 1.0, 0.0])  # behind the wheel, and lifted
    assert handles == pytest.approx([-np.cos(0.2), 0.0, np.sin(0.2)], abs=1e-12)
    assert body.rotation[:, 2] == pytest.approx([0.0, 1.0, 0.0], abs=1e-12)  # z of B is left


@pytest.mark.parametrize(("make", "wheels"), [(wheelbarrow, 1), (hand_truck, 2)])
def test_body_and_wheels_together_are_the_model(tmp_path: Path, make: Any, wheels: int) -> None:
    p, m, _ = loaded(make(), tmp_path)
    assert p.nv == m.nv == 6 + wheels
    total = phi_of(p.inertias[1])
    for i in range(2, 2 + wheels):
        place = p.jointPlacements[i]
        own = phi_of(p.inertias[i])
        own[9] = 0.0  # the model's Izz is without the wheel's spin
        total = total + move_phi(own, place.rotation, place.translation)
    assert total == pytest.approx(BARROW.p[:10], rel=1e-12, abs=1e-12)


def test_inertia_of_the_joint_goes_into_the_body(tmp_path: Path) -> None:
    parts = (RigidBody("leaf"), ScalarInertia("gear"))
    model = Model("door", Hinge(), parts).with_values([*BARROW.p[:10], 0.2])
    p, _, _ = loaded(model, tmp_path)
    assert pin.crba(p, p.createData(), np.array([1.0, 0.0]))[0, 0] == pytest.approx(BARROW.p[:10][9] + 0.2, rel=1e-12)


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_every_shipped_object_loads_and_tells_what_it_lost(tmp_path: Path, name: str) -> None:
    _, _, done = loaded(SHIPPED[name](), tmp_path)
    head = " ".join(done.files[0].read_text().split("-->")[0].split())
    assert "SI units and radians" in head
    for sentence in done.left_out:
        assert f"* {sentence}" in head
    told = "\n".join(done.left_out)
    for e in SHIPPED[name]().elements:  # an element is in the file, or told
        kept = e.acts_on == "wrench" or getattr(e, "type", "") in (
            "inertia",
            "gravity",
            "viscous",
            "coulomb",
            "end-stop",
        )
        assert kept or e.name in told


def test_odd_names_are_escaped(tmp_path: Path) -> None:
    p, _, _ = loaded(replace(handle(), name='a <b> & "c" -- d\x07'), tmp_path)
    assert p.existBodyName('a <b> & "c" -- d_')
    assert loaded(replace(handle(), name="world"), tmp_path)[0].existBodyName("world_")


def test_models_that_cannot_be_exported_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PalpateError, match="identify it first"):
        export_urdf(load_object("wheelbarrow"), tmp_path)
    with pytest.raises(PalpateError, match="knows its mass"):
        export_urdf(wheelbarrow(), tmp_path, mass=30.0)
    assert not list(tmp_path.iterdir())
