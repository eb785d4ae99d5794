"""MJCF exports, loaded by MuJoCo and Pinocchio: the same body, the same motion, and what they cannot say is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palpate.elements import Coulomb, EndStop, Foot, FootFriction, Hysteresis, ScalarInertia, Stribeck, WheelSpin
from palpate.errors import FileProblem, PalpateError
from palpate.mechanisms import Hinge
from palpate.mechanisms.rolling import Rolling
from palpate.model import Model, load_object
from palpate.physics.functions import FLOATS
from palpate.physics.inertia import body_columns, body_features, phi_from_mass_properties
from palpate.physics.motion import Kinematics
from palpate.runtime import Stepper
from palpate.twin.door import paper_door, random_door
from palpate.twin.rolling import standing_pitch
from tests.conftest import needs
from tests.exported_models import (
    BARROW,
    SHIPPED,
    cabinet_door,
    export_mjcf,
    hand_truck,
    handle,
    pendulum,
    planar,
    sprung_lid,
    wheelbarrow,
    wide_phi,
)

mujoco = needs("mujoco", "mujoco")
pin = needs("pinocchio", "pinocchio")
SEEDS = st.integers(0, 100_000)
TO_PINOCCHIO = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


def loaded(model: Model, folder: Path) -> tuple[Any, Any, Any]:
    """What MuJoCo makes of a model, and the export."""
    done = export_mjcf(model, folder)
    found = mujoco.MjModel.from_xml_path(str(done.files[0]))
    return found, mujoco.MjData(found), done


def mujoco_phi(m: Any, body: int) -> np.ndarray:
    R = np.empty(9)
    mujoco.mju_quat2Mat(R, m.body_iquat[body])
    axes = R.reshape(3, 3)
    return phi_from_mass_properties(
        float(m.body_mass[body]), m.body_ipos[body], axes @ np.diag(m.body_inertia[body]) @ axes.T
    )


def relative(found: Any, expected: Any) -> float:
    return float(np.abs(np.asarray(found) - expected).max() / np.abs(expected).max())


@settings(max_examples=30)
@given(SEEDS)
def test_any_body_survives_in_mujoco_and_pinocchio(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    phi = wide_phi(seed)
    m, _, done = loaded(handle(phi), tmp_path_factory.mktemp("handle"))
    body = pin.buildModelFromMJCF(str(done.files[0])).inertias[1]
    for found in (mujoco_phi(m, 1), body.toDynamicParameters()[TO_PINOCCHIO]):
        assert found[0] == pytest.approx(phi[0], rel=1e-14)
        assert found[1:4] == pytest.approx(phi[1:4], rel=1e-12)
        assert relative(found[4:], phi[4:]) < 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_a_handle_accelerates_in_mujoco_as_its_model_says(tmp_path: Path, seed: int) -> None:
    model = handle(wide_phi(seed))
    m, d, _ = loaded(model, tmp_path)
    rng = np.random.default_rng(seed)
    quaternion = rng.normal(size=4)
    d.qpos[:] = [*rng.normal(size=3), *(quaternion / np.linalg.norm(quaternion))]
    d.qvel[:] = rng.normal(size=6)
    wrench = rng.normal(size=6) * np.abs(model.p[:10]).max() * 10
    d.ctrl[:] = wrench
    mujoco.mj_forward(m, d)
    k = model.mechanism.expand([*d.qpos.tolist(), *d.qvel.tolist()], d.qacc.tolist(), FLOATS)
    assert relative(model.of_object().wrench(k, FLOATS), wrench) < 1e-9


def hinge_torque(model: Model, q: float, v: float, a: float) -> float:
    k = model.mechanism.expand((float(q), float(v)), (float(a),), FLOATS)
    return float(model.wrench(k, FLOATS)[0])


@pytest.mark.parametrize("make", [pendulum, cabinet_door, sprung_lid])
def test_what_a_joint_can_say_is_said_exactly(tmp_path: Path, make: Any) -> None:
    model = make()
    m, d, done = loaded(model, tmp_path)
    rng = np.random.default_rng(1)
    for q, v, torque in rng.uniform(-1.5, 1.5, (40, 3)):
        d.qpos[0], d.qvel[0], d.ctrl[5] = q, v, 3 * torque
        mujoco.mj_forward(m, d)
        if abs(v) > 0.2:  # it slips
            assert hinge_torque(model, q, v, d.qacc[0]) == pytest.approx(3 * torque, abs=1e-9)
    assert len(done.left_out) == 3  # end stops, the mass that nobody knows, and soft sticking
    assert "no end stop" in done.left_out[0]
    assert "mass is not known" in done.left_out[1]
    assert "creeps" in done.left_out[2]


def swing(model: Model, m: Any, d: Any, seconds: float, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Angles (deg) in MuJoCo and of the stepper: pushed open for 2.5 s, then left alone."""
    count = round(seconds / dt)
    t = np.arange(count) * dt
    torque = np.where(t < 2.5, 30 * np.sin(np.pi * t / 2.5), 0.0)
    stepper, out = Stepper(model, dt), np.empty((count, 3))
    wrenches = np.zeros((count, 6))
    wrenches[:, 5] = torque
    stepper.run(wrenches, out)
    m.opt.timestep = dt
    mujoco.mj_resetData(m, d)
    found = np.empty(count)
    for i, x in enumerate(torque):
        d.ctrl[5] = x
        mujoco.mj_step(m, d)
        found[i] = d.qpos[0]
    return np.degrees(found), np.degrees(out[:, 0])


def test_the_papers_door_opens_bounces_closes_and_rests_in_mujoco(tmp_path: Path) -> None:
    door = paper_door()
    m, d, done = loaded(door, tmp_path)
    found, expected = swing(door, m, d, 10.0, 1e-3)
    assert expected.max() > 92.0  # it has met its stop
    assert expected[-1] < 1.0
    assert np.abs(found - expected).max() < 0.3
    assert np.sqrt(np.mean((found - expected) ** 2)) < 0.1
    (zones,) = (line for line in done.left_out if line.startswith("b_bc, b_s:"))
    assert "off by at most" in zones
    # a door whose sweep is a tenth stronger is farther away
    other = door.with_values([v * (1.1 if n == "b_s" else 1.0) for n, v in door.values.items()])
    assert np.abs(swing(other, m, d, 6.0, 1e-3)[0] - swing(other, m, d, 6.0, 1e-3)[1]).max() > 1.0


@pytest.mark.parametrize("seed", [1, 2])
def test_random_doors_move_alike(tmp_path: Path, seed: int) -> None:
    door = random_door(np.random.default_rng(seed))
    m, d, _ = loaded(door, tmp_path)
    found, expected = swing(door, m, d, 6.0, 1e-3)
    assert expected.max() > 60.0
    assert np.abs(found - expected).max() < 1.0


@pytest.mark.parametrize(("k", "c"), [(2e4, 1e4), (3e3, 10.0), (1e9, 1e8)])
def test_stops_bounce_or_hold_as_they_do(tmp_path: Path, k: float, c: float) -> None:
    parts = (ScalarInertia("I"), EndStop("soft", at=0.2), EndStop("hard", at=-0.3, side="lowest"))
    model = Model("swing", Hinge(), parts).with_values([2.0, k, c, k, c])
    m, d, done = loaded(model, tmp_path)
    stepper, out = Stepper(model, 2e-5), np.empty(3)
    stepper.reset((0.1, 1.0))
    d.qpos[0], d.qvel[0] = 0.1, 1.0
    for _ in range(400):
        mujoco.mj_step(m, d)
        for _ in range(50):
            stepper.step((0,) * 6, out)
    assert np.isfinite(d.qvel[0])
    if k > 1e6:  # it neither blows up nor gains, and tells that it is softer
        assert any("the hardest that a step" in line for line in done.left_out)
        assert -1.0 < d.qvel[0] <= 0.0
    else:
        assert d.qvel[0] == pytest.approx(out[1], abs=0.02)


def test_a_door_held_by_friction_stays(tmp_path: Path) -> None:
    door = cabinet_door()
    m, d, _ = loaded(door, tmp_path)
    d.qpos[0], d.ctrl[5] = 1.3, 0.25  # less than b_c = 0.3
    for _ in range(2000):
        mujoco.mj_step(m, d)
    assert abs(d.qpos[0] - 1.3) < 1e-5


def test_errors_of_what_is_said_otherwise_are_those_of_the_model(tmp_path: Path) -> None:
    """The stated error of damping bounds the difference of torques, measured through MuJoCo."""
    door = paper_door()
    m, d, done = loaded(door, tmp_path)
    (zones,) = (line for line in done.left_out if line.startswith("b_bc, b_s:"))
    (spring,) = (line for line in done.left_out if line.startswith("spring:"))
    stated = [float(line.split("off by at most ")[1].split()[0]) for line in (zones, spring)]
    rng = np.random.default_rng(0)
    worst = 0.0
    for q, v in zip(rng.uniform(0.01, 1.6, 300), rng.uniform(-1.0, 1.0, 300), strict=True):
        d.qpos[0], d.qvel[0] = q, v
        mujoco.mj_forward(m, d)
        added = 1.02 * door.values["I"] * abs(d.qacc[0]) - door.values["I"] * abs(d.qacc[0])  # inertia of the dampers
        if abs(v) > 0.05:
            worst = max(worst, abs(hinge_torque(door, q, v, d.qacc[0])) - added)
    assert 0.2 * sum(stated) < worst < 1.05 * sum(stated)


def test_a_wheelbarrow_in_the_air_accelerates_as_its_body(tmp_path: Path) -> None:
    model = wheelbarrow()
    m, d, _ = loaded(model, tmp_path)
    flags = mujoco.mjtDisableBit
    m.opt.disableflags |= flags.mjDSBL_CONTACT | flags.mjDSBL_FRICTIONLOSS | flags.mjDSBL_DAMPER
    assert mujoco_phi(m, 1)[0] + mujoco_phi(m, 2)[0] == pytest.approx(BARROW.p[:10][0], rel=1e-13)
    rng = np.random.default_rng(0)
    for _ in range(5):
        d.qpos[:] = rng.uniform(-0.5, 0.5, 7)
        d.qvel[:] = rng.uniform(-1.0, 1.0, 7)
        mujoco.mj_forward(m, d)
        motion = np.empty(6)
        mujoco.mj_objectVelocity(m, d, mujoco.mjtObj.mjOBJ_SITE, 0, motion, 1)
        d.qvel[6] = -motion[2]  # the wheel does not spin: it is one body with the barrow
        wrench = rng.normal(size=6) * 100
        d.ctrl[:] = wrench
        mujoco.mj_forward(m, d)
        mujoco.mj_rnePostConstraint(m, d)
        omega, acceleration = motion[:3].copy(), np.empty(6)
        mujoco.mj_objectAcceleration(m, d, mujoco.mjtObj.mjOBJ_SITE, 0, acceleration, 1)
        k = Kinematics(tuple(acceleration[3:]), tuple(omega), tuple(acceleration[:3]))
        needed = np.array(body_columns(body_features(k)), dtype=float) @ BARROW.p[:10]
        assert relative(needed, wrench) < 1e-9


@pytest.mark.parametrize("spin", [False, True])
def test_a_planar_wheelbarrow_is_exact(tmp_path: Path, spin: bool) -> None:
    model = planar(spin=spin)
    m, d, done = loaded(model, tmp_path)
    assert [line[:12] for line in done.left_out] == ["dry friction"]
    rng = np.random.default_rng(0)
    for _ in range(20):
        d.qpos[:], d.qvel[:] = rng.uniform(-1, 1, 2), rng.uniform(0.3, 1.0, 2) * rng.choice([-1, 1], 2)
        wrench = rng.normal(size=6) * 50
        d.ctrl[:] = wrench
        mujoco.mj_forward(m, d)
        k = model.mechanism.expand([*d.qpos.tolist(), *d.qvel.tolist()], d.qacc.tolist(), FLOATS)
        applied = model.mechanism.project(k, wrench.tolist(), FLOATS)
        assert relative(model.wrench(k, FLOATS), np.array(applied, dtype=float)) < 1e-9


def person(t: float, camber: float, pitch: float, rates: np.ndarray, turn: float) -> np.ndarray:
    """Wrench in B of someone who pushes, holds pitch and camber like a spring, and turns; rates: camber, pitch."""
    sc, cc, sp, cp = np.sin(camber), np.cos(camber), np.sin(pitch), np.cos(pitch)
    R = np.array([[-sp, -cp, 0.0], [cp * sc, -sp * sc, cc], [-cp * cc, sp * cc, sc]])
    force = np.array([30 * np.sin(np.pi * t / 2), 0.0, 0.0])
    weight = BARROW.p[:10][2] * 9.80665
    moment = np.array(
        [-300 * camber - 40 * rates[0], weight - 600 * (pitch - 0.1) - 80 * rates[1], turn * np.sin(2 * t)]
    )
    return np.concatenate([R.T @ force, R.T @ moment])


@pytest.mark.parametrize(
    ("make", "turn", "close"), [(wheelbarrow, 0.0, 0.01), (wheelbarrow, 6.0, 0.03), (hand_truck, 6.0, 0.01)]
)
def test_on_the_ground_it_rolls_as_the_stepper_says(tmp_path: Path, make: Any, turn: float, close: float) -> None:
    model, dt, count = make(), 1e-3, 1500
    m, d, _ = loaded(model, tmp_path)
    assert isinstance(model.mechanism, Rolling)
    names, n = list(model.mechanism.state), len(model.mechanism.accelerations)
    leans = "camber" in names
    stepper = Stepper(model, dt)
    state = np.zeros(len(names))
    state[names.index("pitch")] = 0.1
    stepper.reset(state)
    d.joint("pitch").qpos[0] = 0.1
    out = np.empty(stepper.size)
    paths = np.empty((count, 2, 4))
    for i in range(count):
        now = dict(zip(names, stepper.state, strict=True))
        rates = np.array([now.get("camber_rate", 0.0), now["pitch_rate"]])
        stepper.step(person(i * dt, now.get("camber", 0.0), now["pitch"], rates, turn), out)
        there = {
            name: (float(d.joint(name).qpos[0]), float(d.joint(name).qvel[0])) for name in ("pitch", "yaw", "x", "y")
        }
        lean = (float(d.joint("camber").qpos[0]), float(d.joint("camber").qvel[0])) if leans else (0.0, 0.0)
        d.ctrl[:] = person(i * dt, lean[0], there["pitch"][0], np.array([lean[1], there["pitch"][1]]), turn)
        mujoco.mj_step(m, d)
        paths[i, 0] = [out[names.index(name)] for name in ("x", "y", "yaw", "pitch")]
        paths[i, 1] = [d.joint(name).qpos[0] for name in ("x", "y", "yaw", "pitch")]
    assert len(out) == len(names) + n
    assert abs(paths[-1, 0, 0]) > 0.1
    assert np.abs(paths[:, 1] - paths[:, 0]).max(axis=0) == pytest.approx(0.0, abs=close * np.abs(paths[:, 0]).max())


def test_a_wheel_held_by_friction_creeps_no_more_than_stated(tmp_path: Path) -> None:
    m, d, done = loaded(hand_truck(), tmp_path)
    (line,) = (x for x in done.left_out if "creeps" in x)
    stated = float(line.split("up to ")[1].split()[0])
    weight = BARROW.p[:10][2] * 9.80665
    for _ in range(1000):
        pitch, rate = float(d.joint("pitch").qpos[0]), float(d.joint("pitch").qvel[0])
        ahead = np.array([-np.sin(pitch), -np.cos(pitch), 0.0])
        moment = weight * np.cos(pitch) - 600 * pitch - 80 * rate
        d.ctrl[:] = [*(6.0 * ahead), 0.0, 0.0, moment]  # 6 N; friction holds 8.8 N
        mujoco.mj_step(m, d)
    assert abs(float(d.joint("x").qvel[0])) / 0.125 < stated < 0.02
    assert abs(float(d.joint("x").qpos[0])) < 1e-3


def test_feet_carry_a_wheelbarrow(tmp_path: Path) -> None:
    barrow = wheelbarrow()
    feet = tuple(tuple(float(x) for x in foot) for foot in BARROW.mechanism.wheel.feet)
    mechanism = replace(barrow.mechanism, feet=feet)  # pyright: ignore[reportArgumentType]
    parts = (Foot("left", "foot_1"), Foot("right", "foot_2"), FootFriction("mu", "foot_1_ahead"), WheelSpin())
    standing = replace(barrow, mechanism=mechanism, elements=(*barrow.elements, *parts), values={})
    model = standing.with_values([*barrow.p, 1e5, 1e3, 1e5, 1e3, 0.6, 0.05])
    m, d, done = loaded(model, tmp_path)
    d.joint("pitch").qpos[0] = standing_pitch(BARROW) + 0.05
    for _ in range(2000):
        mujoco.mj_step(m, d)
    assert d.joint("pitch").qpos[0] == pytest.approx(standing_pitch(BARROW), abs=0.01)
    assert np.abs(d.qvel).max() < 1e-3
    assert any(line.startswith("left, right:") for line in done.left_out)
    assert any(line.startswith("mu:") for line in done.left_out)


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_every_shipped_object_loads_and_tells_what_it_lost(tmp_path: Path, name: str) -> None:
    _, _, done = loaded(SHIPPED[name](), tmp_path)
    pin.buildModelFromMJCF(str(done.files[0]))
    head = " ".join(done.files[0].read_text().split("-->")[0].split())
    assert "SI units and radians" in head
    for sentence in done.left_out:
        assert f"* {sentence}" in head


def test_what_cannot_be_said_is_named(tmp_path: Path) -> None:
    door = paper_door()
    odd = (Hysteresis("worn", knots=(0.0, 1.0)), Stribeck("sticky"), Coulomb("seal", "closer"))
    model = replace(door, elements=(*door.elements, *odd), values={}).with_values([*door.p, 0.5, 2.0, 1.0, 0.4])
    (line,) = (x for x in export_mjcf(model, tmp_path).left_out if "dry friction that depends" in x)
    assert line.startswith("worn, sticky, seal:")


def test_odd_names_are_escaped(tmp_path: Path) -> None:
    name = 'a <b> & "c" -- d\x07 \u00fc'
    m, _, done = loaded(replace(handle(), name=name, about={"note": "x --> y <z>"}), tmp_path)
    assert m.body(1).name == name.replace("\x07", "_")
    assert pin.buildModelFromMJCF(str(done.files[0])).nv == 6
    assert loaded(replace(handle(), name="world"), tmp_path)[0].body(1).name == "world_"


def test_a_given_mass_is_used_and_an_impossible_one_refused(tmp_path: Path) -> None:
    done = export_mjcf(pendulum(), tmp_path, mass=2.5)
    m = mujoco.MjModel.from_xml_path(str(done.files[0]))
    assert mujoco_phi(m, 1)[[0, 1, 2, 9]] == pytest.approx([2.5, 0.31, 0.012, 0.21], rel=1e-12)
    with pytest.raises(PalpateError, match=r"needs > 0\.458"):
        export_mjcf(pendulum(), tmp_path, mass=0.4)
    with pytest.raises(PalpateError, match="knows its mass"):
        export_mjcf(handle(), tmp_path, mass=2.0)


def test_models_that_cannot_be_exported_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PalpateError, match=r"has no value for I, .*identify it first"):
        export_mjcf(load_object("door"), tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileProblem, match="is a file, not a folder"):
        export_mjcf(handle(), tmp_path / "file")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]
