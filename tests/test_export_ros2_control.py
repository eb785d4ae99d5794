"""Parameters of ros2_control's admittance_controller: names and bounds as documented, values as the model near a point.

The controller's own law is written down here from its documentation: F = M a + D v + K x, D = 2 zeta sqrt(M K).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from palpate.elements import Coulomb, PolynomialSpring, ScalarInertia, Viscous
from palpate.errors import PalpateError
from palpate.export.common import Export
from palpate.export.ros2_control import default_positions
from palpate.mechanisms import Hinge
from palpate.model import Model, load_object
from palpate.physics.functions import ARRAYS
from palpate.runtime import Stepper
from palpate.runtime.stepper import feet_height
from palpate.twin.door import paper_door
from tests.exported_models import BARROW, SHIPPED, export_ros2_control, handle, planar, wheelbarrow
from tests.test_export_c import standing_barrow

DOCUMENTED: dict[str, Any] = {
    "joints": str,
    "command_joints": str,
    "command_interfaces": str,
    "state_interfaces": str,
    "chainable_command_interfaces": str,
    "kinematics": {"plugin_name": str, "plugin_package": str, "base": str, "tip": str, "alpha": float},
    "ft_sensor": {"name": str, "frame": {"id": str}, "filter_coefficient": float},
    "control": {"frame": {"id": str}},
    "fixed_world_frame": {"frame": {"id": str}},
    "gravity_compensation": {"frame": {"id": str}, "CoG": {"pos": float, "force": float}},
    "admittance": {
        "selected_axes": bool,
        "mass": float,
        "damping_ratio": float,
        "stiffness": float,
        "joint_damping": float,
    },
    "enable_parameter_update_without_reactivation": bool,
}
"""admittance_controller_parameters.yaml of ros2_controllers: names and types."""
OPTIONAL = {"command_joints"}


def parameters(done: Export) -> dict[str, Any]:
    """As ROS reads it: YAML 1.1, where 1e-5 is text."""
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 1)  # pyright: ignore[reportAttributeAccessIssue]
    (file,) = done.files
    return reader.load(file.read_text())["admittance_controller"]["ros__parameters"]


def check_names(found: dict[str, Any], known: dict[str, Any]) -> None:
    assert set(found) <= set(known)
    assert set(known) - set(found) <= OPTIONAL
    for name, value in found.items():
        if isinstance(known[name], dict):
            check_names(value, known[name])
        else:
            for entry in value if isinstance(value, list) else [value]:
                assert type(entry) is known[name], name


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_names_types_and_bounds_are_those_of_the_controller(tmp_path: Path, name: str) -> None:
    done = export_ros2_control(SHIPPED[name](), tmp_path)
    found = parameters(done)
    check_names(found, DOCUMENTED)
    law = found["admittance"]
    assert all(len(law[key]) == 6 for key in ("selected_axes", "mass", "damping_ratio", "stiffness"))
    assert all(1e-4 <= x <= 1e6 for x in law["mass"])
    assert all(0 <= x <= 1e8 for x in law["stiffness"])
    assert len(found["gravity_compensation"]["CoG"]["pos"]) == 3
    text = " ".join(
        line.removeprefix("#").strip() for line in done.files[0].read_text().splitlines() if line[:1] == "#"
    )
    for sentence in (*done.left_out, *done.notes):
        assert " ".join(sentence.split()) in " ".join(text.split())
    assert any(note.startswith("Error along ") for note in done.notes)


def law_of(done: Export, axis: int) -> tuple[float, float, float]:
    """M, D, K as the controller makes them of the file."""
    law = parameters(done)["admittance"]
    mass, stiffness = law["mass"][axis], law["stiffness"][axis]
    return mass, 2 * law["damping_ratio"][axis] * np.sqrt(mass * stiffness), stiffness


def linear_door(*, spring: bool = True) -> Model:
    parts = (ScalarInertia("I"), Viscous("b_v"), *([PolynomialSpring("spring", order=1)] if spring else []))
    return Model("linear", Hinge(), parts).with_values([6.5, 4.0, *([0.0, -9.0] if spring else [])])


def test_a_linear_door_is_exact(tmp_path: Path) -> None:
    done = export_ros2_control(linear_door(), tmp_path, handle=(0.6, 0.8, 0.3), state=(0.0,))
    assert law_of(done, 1) == pytest.approx((6.5, 4.0, 9.0), rel=1e-6)
    assert parameters(done)["admittance"]["selected_axes"] == [False, True, False, False, False, False]
    (error,) = (note for note in done.notes if note.startswith("Error along y"))
    assert float(error.split()[3]) < 1e-6
    near = export_ros2_control(linear_door(), tmp_path, handle=(0.5, 0.0, 0.0), state=(0.0,))
    assert law_of(near, 1) == pytest.approx((26.0, 16.0, 36.0), rel=1e-6)


def test_the_controllers_law_moves_as_the_stepper(tmp_path: Path) -> None:
    model, r, dt = linear_door(), 0.8, 1e-3
    M, D, K = law_of(export_ros2_control(model, tmp_path, handle=(r, 0.0, 0.0), state=(0.0,)), 1)
    stepper, out = Stepper(model, dt), np.empty(3)
    x = v = 0.0
    for i in range(2000):
        force = 5 * np.sin(2e-3 * i)
        v += dt * (force - D * v - K * x) / M
        x += dt * v
        stepper.step((0, 0, 0, 0, 0, force * r), out)
        assert x / r == pytest.approx(out[0], abs=1e-3)
    assert abs(out[0]) > 0.1


def test_a_damper_keeps_its_damping_without_a_spring(tmp_path: Path) -> None:
    done = export_ros2_control(linear_door(spring=False), tmp_path, handle=(1.0, 0.0, 0.0))
    mass, damping, stiffness = law_of(done, 1)
    assert (mass, damping) == pytest.approx((6.5, 4.0), rel=1e-9)
    assert 0 < stiffness < 1e-3
    assert any("made up, since a damper needs one" in line for line in done.left_out)


def test_small_numbers_stay_numbers(tmp_path: Path) -> None:
    tool = handle(np.array([1.0, 1e-5, 0.0, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0, 0.1]))
    done = export_ros2_control(paper_door(), tmp_path, tool=tool)
    check_names(parameters(done), DOCUMENTED)  # 1e-05 would be text
    assert parameters(done)["gravity_compensation"]["CoG"]["pos"] == [1e-5, 0.0, 0.0]


def test_the_error_of_a_door_is_that_of_its_full_model(tmp_path: Path) -> None:
    door, r, at = paper_door(), 0.9, 0.7
    done = export_ros2_control(door, tmp_path, handle=(r, 0.0, 1.0), state=(at,))
    M, D, K = law_of(done, 1)
    t = np.arange(4000) / 4000 / 0.5
    w = np.pi
    x, v, a = 0.1 * np.sin(w * t), 0.1 * w * np.cos(w * t), -0.1 * w * w * np.sin(w * t)
    k = door.mechanism.expand((at + x / r, v / r), (a / r,), ARRAYS)
    full = np.asarray(door.wrench(k, ARRAYS)[0]) / r
    error = M * a + D * v + K * x - full
    (stated,) = (note for note in done.notes if note.startswith("Error along y"))
    words = stated.split()
    assert float(words[3]) == pytest.approx(np.sqrt(np.mean(error**2)), rel=0.01)
    assert f"of the largest force {np.abs(full).max():.3g} N" in stated
    told = "\n".join(done.left_out)
    assert f"dry friction of {1.79 / r:.4g} N" in told
    assert "springs and weight push with -" in told


def test_a_free_body_feels_its_mass_and_its_weight_is_told(tmp_path: Path) -> None:
    model = handle()
    done = export_ros2_control(model, tmp_path)
    found = parameters(done)["admittance"]
    phi = model.p[:10]
    assert found["mass"] == pytest.approx([phi[0]] * 3 + [phi[4], phi[7], phi[9]], rel=1e-9)
    assert all(found["selected_axes"])
    assert f"z: springs and weight push with {-phi[0] * 9.80665:.4g} N at rest" in "\n".join(done.left_out)


def test_a_wheelbarrow_ahead_is_its_mass_with_rolling_friction(tmp_path: Path) -> None:
    done = export_ros2_control(planar(), tmp_path, handle=(0.0, 1.2, 0.0))
    mass, damping, _ = law_of(done, 0)
    assert mass == pytest.approx(BARROW.p[:10][0], rel=1e-9)  # while the pitch is held
    assert damping == pytest.approx(BARROW.values["b_v"] / BARROW.mechanism.wheel.radius**2, rel=1e-6)
    assert law_of(done, 2)[0] == pytest.approx(BARROW.p[:10][9] / 1.2**2, rel=1e-9)
    whole = parameters(export_ros2_control(wheelbarrow(), tmp_path, handle=(0.0, 1.2, 0.0)))["admittance"]
    assert whole["selected_axes"] == [True, True, True, True, False, False]  # four freedoms


def test_the_tools_weight_is_compensated(tmp_path: Path) -> None:
    tool = handle()
    done = export_ros2_control(paper_door(), tmp_path, tool=tool)
    found = parameters(done)["gravity_compensation"]["CoG"]
    assert found["force"] == pytest.approx(tool.p[0] * 9.80665, rel=1e-14)
    assert found["pos"] == pytest.approx(tool.p[1:4] / tool.p[0], rel=1e-14)
    assert not any("gravity_compensation" in line for line in done.left_out)
    with pytest.raises(PalpateError, match="is not a handle"):
        export_ros2_control(paper_door(), tmp_path, tool=planar())


def test_a_hand_on_the_axis_turns_the_door(tmp_path: Path) -> None:
    done = export_ros2_control(paper_door(), tmp_path, handle=(0.0, 0.0, 0.4))
    assert parameters(done)["admittance"]["selected_axes"] == [False] * 5 + [True]
    assert law_of(done, 5)[0] == pytest.approx(6.53, rel=1e-9)


def test_what_was_not_given_is_told(tmp_path: Path) -> None:
    told = "\n".join(export_ros2_control(paper_door(), tmp_path).left_out)
    assert "1 m from the axis is assumed" in told
    whole = replace(paper_door(), about={"model_of": "whole"})
    assert "the model holds the handle too" in "\n".join(export_ros2_control(whole, tmp_path).left_out)


def test_odd_names_do_not_break_the_file(tmp_path: Path) -> None:
    odd = replace(handle(), name="a: [b]\n# c \x07 \u2028 d", about={"note": "x\n- y: {"})
    check_names(parameters(export_ros2_control(odd, tmp_path)), DOCUMENTED)


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PalpateError, match="identify it first"):
        export_ros2_control(load_object("door"), tmp_path)
    with pytest.raises(PalpateError, match="handle must be a point of three numbers in m"):
        export_ros2_control(paper_door(), tmp_path, handle=(1.0, 0.0))
    with pytest.raises(PalpateError, match=r"state must be 1 numbers \(angle\)"):
        export_ros2_control(paper_door(), tmp_path, state=(0.1, 0.2))
    heavy = Model("heavy", Hinge(), (ScalarInertia("I"), Coulomb("b_c"))).with_values([6.5, 1.0])
    with pytest.raises(PalpateError, match="the controller takes masses"):
        export_ros2_control(heavy, tmp_path, handle=(1e-3, 0.0, 0.0))
    with pytest.raises(PalpateError, match="out of reach"):
        export_ros2_control(paper_door(), tmp_path, state=(3.0,))
    with pytest.raises(PalpateError, match="must be 2 numbers"):
        export_ros2_control(paper_door(), tmp_path, state=(np.nan,))
    with pytest.raises(PalpateError, match="no inertia"):
        export_ros2_control(Model("light", Hinge(), (Viscous("b_v"),)).with_values([1.0]), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_barrow_on_feet_is_approximated_with_its_feet_off_the_ground(tmp_path: Path) -> None:
    """In the ground, the feet's stiffness would be taken for the barrow's."""
    model = standing_barrow()
    lifted = default_positions(model)
    assert feet_height(model, [*lifted, 0.0, 0.0, 0.0, 0.0]) >= 0.1
    said = YAML(typ="safe").load(export_ros2_control(model, tmp_path).files[0].read_text())
    stiffness = said["admittance_controller"]["ros__parameters"]["admittance"]["stiffness"]
    assert max(stiffness) < 5000.0  # 2 feet of 1e5 N/m
    with pytest.raises(PalpateError, match=r"feet are \d+\.\d mm in the ground"):
        export_ros2_control(model, tmp_path, state=[0.0] * 4 + [-0.3])
