"""Bodies on the floor in MuJoCo, on wheels and forks that touch the ground: they go where the model says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from palpate.elements import Coulomb, RigidBody, Viscous
from palpate.mechanisms import Planar
from palpate.model import Model, load_object
from palpate.runtime import Stepper
from tests.conftest import needs
from tests.exported_models import export_mjcf, export_urdf
from tests.oracles import carts_of_other_make as carts

STEPS = 1500
VALUES = {"b_v": 6.0, "b_left": 4.0, "b_right": 5.0, "b_turn": 2.0}


def shipped(name: str) -> Model:
    model = load_object(name)
    assert isinstance(model.mechanism, Planar)
    phi = carts.random_cart(3, axle=model.mechanism.axle).body.phi
    names = list(model.parameters)[len(phi) :]
    rest = [VALUES.get(n, 3.0 if n.startswith("b_roll") else 0.04) for n in names]
    return model.with_values([*phi, *rest], model_of="body")


@pytest.mark.parametrize("name", ["cart", "walker", "office-chair"])
def test_mujocos_contacts_and_forks_move_it_as_the_model_does(name: str, tmp_path: Path) -> None:
    needs("mujoco", "mujoco")
    import mujoco

    model = shipped(name)
    export = export_mjcf(model, tmp_path)
    assert any("wheels are made up" in line for line in export.left_out)
    theirs = mujoco.MjModel.from_xml_path(str(export.files[0]))
    data, stepper = mujoco.MjData(theirs), Stepper(model, 1e-3)
    joints = {mujoco.mj_id2name(theirs, mujoco.mjtObj.mjOBJ_JOINT, i): i for i in range(theirs.njnt)}
    places = {n: joints.get(n, joints.get(f"caster_{n[7:]}_swivel")) for n in model.mechanism.state}
    start = stepper.state
    for i, state in enumerate(model.mechanism.state):  # casters that do not point ahead yet
        if state.startswith("swivel"):
            start[i] = data.qpos[places[state]] = 0.4 * (-1) ** i
    stepper.reset(start)
    t, wrench = np.arange(STEPS) * 1e-3, np.zeros((STEPS, 6))
    wrench[:, 0], wrench[:, 5] = 40.0, 6 * np.sin(2 * np.pi * 0.7 * t)
    wrench[:, 1] = 15 * np.cos(2 * np.pi * 0.5 * t)  # which an axle takes
    out = np.empty((STEPS, stepper.size))
    assert not stepper.run(wrench, out).any()
    path = np.empty((STEPS, theirs.nq))
    for w, row in zip(wrench, path, strict=True):
        data.ctrl[:6] = w
        mujoco.mj_step(theirs, data)
        row[:] = data.qpos
    for i, state in enumerate(model.mechanism.state[: -len(model.mechanism.accelerations)]):
        off, way = np.abs(path[:, places[state]] - out[:, i]).max(), np.ptp(out[:, i])
        assert off < 0.01 * max(way, 0.3), state  # ten wheels and forks add a fifth of a percent to the mass


def test_what_no_wheel_can_say_is_listed(tmp_path: Path) -> None:
    slides = Model("crate", Planar(axle=False), (RigidBody(), Viscous("b_v", "forward"), Coulomb("b_t", "turn")))
    export = export_mjcf(slides.with_values([*carts.random_cart(3).body.phi, 5.0, 1.0], model_of="body"), tmp_path)
    assert any(line.startswith("b_v (viscous on forward)") for line in export.left_out)
    assert 'frictionloss="1.0"' in export.files[0].read_text()


def test_a_urdf_has_wheels_and_forks_with_their_friction(tmp_path: Path) -> None:
    needs("mujoco", "mujoco")
    import mujoco

    export = export_urdf(shipped("walker"), tmp_path)
    assert any(line.startswith("b_turn (viscous on turn)") for line in export.left_out)
    theirs = mujoco.MjModel.from_xml_path(str(export.files[0]))
    at = {mujoco.mj_id2name(theirs, mujoco.mjtObj.mjOBJ_JOINT, i): theirs.jnt_dofadr[i] for i in range(theirs.njnt)}
    assert theirs.dof_frictionloss[at["wheel_left"]] == pytest.approx(4.0 * 0.05)
    assert theirs.dof_frictionloss[at["caster_1"]] == pytest.approx(3.0 * 0.05)
    assert theirs.dof_damping[at["caster_2_swivel"]] == pytest.approx(0.04)
    export = export_urdf(shipped("cart"), tmp_path)
    theirs = mujoco.MjModel.from_xml_path(str(export.files[0]))
    assert theirs.dof_damping[-2:] == pytest.approx([3.0 * 0.05**2] * 2)  # both together make b_v ahead
