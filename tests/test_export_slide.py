"""A drawer through every export: along a length the same path as a hinge, in m, N and kg."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, sin
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import numpy as np
import pytest
from ruamel.yaml import YAML

from palpate.elements import Coulomb, EndStop, PolynomialSpring, RigidBody, ScalarInertia, Viscous, ZoneDamper
from palpate.errors import PalpateError
from palpate.export import EXPORTERS, export_model
from palpate.mechanisms import Mechanism, Row
from palpate.mechanisms.mechanism import Joint, Matrix
from palpate.model import Model
from palpate.physics.functions import FLOATS, Functions, Scalar
from palpate.physics.motion import Coordinate, Kinematics, Motion, Triple
from palpate.runtime import Stepper
from tests.conftest import needs
from tests.exported_models import BARROW, export_mjcf, export_ros2_control, export_urdf
from tests.generated import generate

mujoco = needs("mujoco", "mujoco")
pin = needs("pinocchio", "pinocchio")


@dataclass(frozen=True, slots=True)
class Rail(Mechanism):
    """A body that slides along x of its frame, which rises by `inclination` (rad)."""

    inclination: float = 0.0
    type: ClassVar[str] = "rail"
    main: ClassVar[str | None] = "rail"

    @property
    def rows(self) -> tuple[Row, ...]:
        return (Row("f_x", "N"),)

    @property
    def coordinates(self) -> Mapping[str, str]:
        return {"rail": "m"}

    @property
    def state(self) -> tuple[str, ...]:
        return ("position", "speed")

    @property
    def accelerations(self) -> tuple[str, ...]:
        return ("acceleration",)

    @property
    def joints(self) -> tuple[Joint, ...]:
        return (Joint("rail", "slide", (1.0, 0.0, 0.0), 0),)

    @property
    def R_world_body(self) -> Matrix:
        c, s = cos(self.inclination), sin(self.inclination)
        return ((c, 0.0, -s), (0.0, 1.0, 0.0), (s, 0.0, c))

    def observe(self, motion: Motion) -> Kinematics:
        raise NotImplementedError

    def expand(self, state: Sequence[Scalar], acc: Sequence[Scalar], fn: Functions) -> Kinematics:
        del fn
        up = self.gravity * cos(self.inclination)
        felt = (acc[0] + self.gravity * sin(self.inclination), 0.0, up)
        zero = (0.0, 0.0, 0.0)
        return Kinematics(felt, zero, zero, {"rail": Coordinate(state[0], state[1], acc[0])})

    def project(self, k: Kinematics, wrench: Sequence[Scalar], fn: Functions) -> Sequence[Scalar]:
        del k, fn
        return (wrench[0],)

    def place(self, state: Sequence[Scalar], fn: Functions) -> tuple[Matrix, Triple]:
        del fn
        return ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), (state[0], 0.0, 0.0)


def drawer(inclination: float = 0.0, *, stops: bool = True) -> Model:
    """8 kg that close themselves, with friction and two stops."""
    parts = (
        ScalarInertia("m", "rail"),
        Viscous("b_v", "rail"),
        Coulomb("b_c", "rail"),
        PolynomialSpring("spring", "rail", order=1),
        *([EndStop("back", "rail", 0.0, "lowest"), EndStop("front", "rail", 0.4, "highest")] if stops else []),
    )
    values = [8.0, 12.0, 3.0, -2.0, -15.0, *([4e4, 8e4, 4e4, 8e4] if stops else [])]
    return Model("drawer", Rail(inclination=inclination), parts).with_values(values, model_of="body")


def pulled(model: Model, seconds: float = 3.0, dt: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """Wrenches of a hand that pulls and lets go, and the stepper's answer."""
    t = np.arange(round(seconds / dt)) * dt
    wrenches = np.zeros((len(t), 6))
    wrenches[:, 0] = np.where(t < 1.5, 25 * np.sin(np.pi * t / 1.5), 0.0)
    stepper = Stepper(model, dt)
    out = np.empty((len(t), stepper.size))
    stepper.run(wrenches, out)
    return wrenches, out


@pytest.mark.parametrize("to", list(EXPORTERS))
def test_every_target_takes_a_slide_and_speaks_of_lengths(to: str, tmp_path: Path) -> None:
    done = export_model(drawer(), to, tmp_path)
    assert done.files
    lines = "\n".join((*done.left_out, *(() if to == "ros2-control" else done.notes)))
    for word in ("rad", "deg", "N m ", "angle ", "hinge"):
        assert word not in lines.replace("gradual", "").replace("(N, N m; wrench_limit", ""), lines


@pytest.mark.parametrize("inclination", [0.0, 0.3])
def test_mujoco_slides_as_the_stepper(tmp_path: Path, inclination: float) -> None:
    model = drawer(inclination)
    done = export_mjcf(model, tmp_path)
    assert ElementTree.parse(done.files[0]).find(".//worldbody/body/joint").attrib["type"] == "slide"  # pyright: ignore[reportOptionalMemberAccess]
    m = mujoco.MjModel.from_xml_path(str(done.files[0]))
    d = mujoco.MjData(m)
    wrenches, out = pulled(model)
    path = np.empty(len(wrenches))
    for i, w in enumerate(wrenches):
        d.ctrl[:] = w
        mujoco.mj_step(m, d)
        path[i] = d.qpos[0]
    assert out[:, 0].max() > 0.39  # it has met its stop
    assert np.abs(path - out[:, 0]).max() < 3e-3


def test_mujoco_damps_in_zones_along_a_length(tmp_path: Path) -> None:
    soft = ZoneDamper("soft", "rail", over="rail", below=0.1, when="closing")
    model = Model("drawer", Rail(), (ScalarInertia("m", "rail"), soft)).with_values([8.0, 40.0])
    done = export_mjcf(model, tmp_path)
    (line,) = (x for x in done.left_out if x.startswith("soft:"))
    assert "depends on position, direction or flow" in line
    assert "up to 1 m/s" in line
    m = mujoco.MjModel.from_xml_path(str(done.files[0]))
    d = mujoco.MjData(m)
    worst = 0.0
    for q, v in np.random.default_rng(0).uniform([0.01, -0.9], [0.45, 0.9], (100, 2)).tolist():
        d.qpos[0], d.qvel[0] = q, v
        mujoco.mj_forward(m, d)
        k = model.mechanism.expand((q, v), (float(d.qacc[0]),), FLOATS)
        worst = max(worst, abs(float(model.wrench(k, FLOATS)[0])))
    assert worst < 1.1 * float(line.split("off by at most ")[1].split()[0]) + 0.05 * 40.0


def test_urdf_has_a_prismatic_joint(tmp_path: Path) -> None:
    done = export_urdf(drawer(), tmp_path)
    p = pin.buildModelFromUrdf(str(done.files[0]))
    assert p.joints[1].shortname().startswith("JointModelP")
    assert [p.lowerPositionLimit[0], p.upperPositionLimit[0]] == [0.0, 0.4]
    assert p.inertias[1].mass == 8.0
    assert (p.damping[0], p.friction[0]) == (12.0, 3.0)
    assert "spring: URDF has no springs; up to 8 N at rest are missing" in done.left_out
    bare = ElementTree.parse(export_urdf(drawer(stops=False), tmp_path).files[0]).find("joint/limit")
    assert bare is not None  # URDF wants one of a prismatic joint
    assert bare.attrib["upper"] == "1000.0"
    steep = export_urdf(drawer(0.3), tmp_path)
    assert any("no weight along the rail" in line for line in steep.left_out)


@pytest.mark.parametrize("inclination", [0.0, 0.3])
def test_a_rigid_body_on_a_slide_weighs_what_it_weighs(tmp_path: Path, inclination: float) -> None:
    model = Model("box", Rail(inclination=inclination), (RigidBody("body"),)).with_values(BARROW.p[:10])
    p = pin.buildModelFromUrdf(str(export_urdf(model, tmp_path).files[0]))
    p.gravity.linear = np.array([0.0, 0.0, -model.mechanism.gravity])
    needed = pin.rnea(p, p.createData(), np.array([0.2]), np.array([0.5]), np.array([1.5]))[0]
    expected = model.wrench(model.mechanism.expand((0.2, 0.5), (1.5,), FLOATS), FLOATS)[0]
    assert needed == pytest.approx(float(expected), rel=1e-12)
    with pytest.raises(PalpateError, match="knows its mass"):
        export_urdf(model, tmp_path, mass=3.0)
    with pytest.raises(PalpateError, match="knows its mass, 8 kg"):
        export_mjcf(drawer(), tmp_path, mass=3.0)


def test_the_controller_moves_along_the_slide(tmp_path: Path) -> None:
    done = export_ros2_control(drawer(0.2), tmp_path)
    law: dict[str, Any] = YAML(typ="safe").load(done.files[0].read_text())["admittance_controller"]["ros__parameters"]
    law = law["admittance"]
    assert law["selected_axes"] == [True] + [False] * 5
    assert (law["mass"][0], law["stiffness"][0]) == pytest.approx((8.0, 15.0), rel=1e-9)
    assert 2 * law["damping_ratio"][0] * np.sqrt(8.0 * 15.0) == pytest.approx(12.0, rel=1e-9)
    assert "position 0.2" in done.notes[0]


def test_c_steps_as_python(tmp_path: Path) -> None:
    code = generate(drawer(), tmp_path)
    assert [(x.name, x.unit) for x in code.source.state] == [("position", "m"), ("speed", "m/s")]
    assert [x.unit for x in code.source.accelerations] == ["m/s2"]
    units = {x.name: x.unit for x in code.source.parameters}
    assert (units["m"], units["b_v"], units["b_c"], units["back_k"]) == ("kg", "N s/m", "N", "N/m")
    assert "only f_x moves the object" in code.source.header.replace("\n *", "")
    wrenches, out = pulled(drawer())
    assert np.array_equal(code.run(wrenches)[0], out)
