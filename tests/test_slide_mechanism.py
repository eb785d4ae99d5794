"""The slide: against MuJoCo's slide joint, its own inverse, and a drawer that comes back from its balance."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palpate.elements import (
    Coulomb,
    EndStop,
    Gravity,
    Hysteresis,
    PolynomialSpring,
    RigidBody,
    ScalarInertia,
    Stribeck,
    Table,
    Viscous,
    ZoneDamper,
    check_element,
)
from palpate.errors import DataProblem
from palpate.identify import build_balance, compress, solve
from palpate.mechanisms import Slide, TwoPoints
from palpate.model import Model, load_object
from palpate.physics.functions import ARRAYS, FLOATS, casadi_functions
from palpate.physics.motion import Motion, Poses
from palpate.runtime import Stepper
from tests.conftest import needs

SEEDS = st.integers(0, 10_000)
PHI = np.array([2.0, 0.2, 0.1, -0.3, 0.5, 0.01, 0.02, 0.4, 0.03, 0.6])


def text(x: object) -> str:
    return " ".join(repr(float(v)) for v in np.ravel(x))


def pulled(seconds: float = 20.0, hz: float = 100.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A hand that opens and shuts a drawer at several speeds: times, states, accelerations."""
    t = np.arange(round(seconds * hz)) / hz
    position, speed, acceleration = (np.zeros_like(t) for _ in range(3))
    for size, w, phase in ((0.12, 0.9, 0.3), (0.05, 2.7, 1.1), (0.015, 6.1, 2.0)):
        position += size * np.sin(w * t + phase)
        speed += size * w * np.cos(w * t + phase)
        acceleration -= size * w * w * np.sin(w * t + phase)
    return t, np.stack([0.2 + position, speed], axis=1), acceleration[:, None]


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_the_force_along_an_inclined_slide_is_mujocos(seed: int) -> None:
    mujoco = needs("mujoco", "mujoco")
    rng = np.random.default_rng(seed)
    g = rng.normal(size=3) * 9.81
    world = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option gravity="{text(g)}"/><worldbody><body><joint type="slide" axis="1 0 0"/>
        <inertial mass="{PHI[0]}" pos="0.1 0.05 -0.15" diaginertia="0.5 0.5 0.5"/></body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(world)
    q, v, a = rng.normal(size=3)
    data.qpos[0], data.qvel[0], data.qacc[0] = q, v, a
    mujoco.mj_inverse(world, data)
    slide = Slide().with_gravity(g)
    k = slide.expand([float(q), float(v)], [float(a)], FLOATS)
    (whole,) = Model("a", slide, (RigidBody(),)).with_values(PHI).wrench(k, FLOATS)
    assert whole == pytest.approx(data.qfrc_inverse[0], rel=1e-10, abs=1e-9)
    apart = Model("b", slide, (ScalarInertia("m", "slide"), Gravity("weight", "slide"))).with_values([PHI[0]] * 2)
    assert apart.wrench(k, FLOATS) == pytest.approx([whole], rel=1e-12, abs=1e-12)
    R = np.array(slide.R_world_body)
    assert pytest.approx(np.eye(3), abs=1e-12) == R @ R.T
    assert np.linalg.det(R) == pytest.approx(1.0)
    assert R @ g == pytest.approx([0.0, 0.0, -np.linalg.norm(g)], abs=1e-9)


def test_a_measured_position_comes_back_from_its_motion() -> None:
    t, states, acceleration = pulled()
    slide = Slide(inclination=0.3, direction=-0.4)
    motion = slide.motion(t, states, acceleration)
    assert slide.states(motion) == pytest.approx(states, abs=1e-12)
    observed = slide.observe(motion)
    expanded = slide.expand(list(states.T), list(acceleration.T), ARRAYS)
    for name in ("position", "speed", "acceleration"):
        measured, true = (getattr(k.coordinates["slide"], name) for k in (observed, expanded))
        assert measured == pytest.approx(true, abs=1e-12)
    assert slide.coordinates_of(motion.poses) == pytest.approx(states[:, :1], abs=1e-15)
    assert slide.speeds_of(states[:, :1], states[:, 1:]) is not None
    assert list(slide.rates((0.1, 0.7), FLOATS)) == [0.7]


def test_turning_and_moving_across_are_no_evidence() -> None:
    """Markers tremble in every direction; the mechanism holds all but one."""
    rng = np.random.default_rng(0)
    t, states, acceleration = pulled()
    slide = Slide()
    motion = slide.motion(t, states, acceleration)
    noisy = replace(
        motion,
        omega=rng.normal(size=(len(t), 3)),
        omega_dot=rng.normal(size=(len(t), 3)),
        poses=Poses(t, motion.poses.rotation, motion.poses.position + [0.0, 0.01, 0.02] * rng.normal(size=(len(t), 3))),
    )
    model = Model("d", slide, (RigidBody(),)).with_values(PHI)
    clean, other = (model.wrench(slide.observe(m), ARRAYS)[0] for m in (motion, noisy))
    assert other == pytest.approx(clean, abs=1e-12)


def test_unseen_samples_stay_unseen_and_other_frames_are_refused() -> None:
    t, states, acceleration = pulled(2.0)
    states[50:60] = np.nan
    slide = Slide()
    motion = slide.motion(t, states, acceleration)
    assert np.flatnonzero(np.isnan(slide.coordinates_of(motion.poses)[:, 0])).tolist() == list(range(50, 60))
    turned = Poses(
        t, np.tile([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], (len(t), 1, 1)), np.zeros((len(t), 3))
    )
    with pytest.raises(DataProblem, match="slide: sample 0: the body frame is turned against the slide's"):
        slide.coordinates_of(turned)
    bare = Motion(t, motion.specific_acceleration, motion.omega, motion.omega_dot)
    with pytest.raises(DataProblem, match="slide: the motion does not hold the position"):
        slide.observe(bare)


def test_a_slide_expands_the_same_on_symbols_and_may_drive_a_linkage() -> None:
    ca = needs("casadi", "casadi")
    slide = Slide(inclination=0.2, linkage=TwoPoints((0.1, 0.0), (0.2, 0.4), "slide", (0.0, 0.5)))
    assert dict(slide.coordinates) == {"slide": "m", "strut": "m"}
    assert not slide.constant_projection
    state, acc = ca.SX.sym("state", 2), ca.SX.sym("acc", 1)

    def flat(k: object) -> list[object]:
        return [*k.specific_acceleration, *(x for c in k.coordinates.values() for x in (c.position, c.speed, *c.ratio))]

    symbols = flat(slide.expand(ca.vertsplit(state), ca.vertsplit(acc), casadi_functions()))
    function = ca.Function("expand", [state, acc], [ca.vertcat(*symbols)])
    floats = flat(slide.expand([0.3, -0.7], [2.0], FLOATS))
    assert np.array(function([0.3, -0.7], [2.0])).ravel() == pytest.approx(floats, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    "element",
    [
        *(
            ScalarInertia(),
            Viscous(),
            Coulomb(),
            Stribeck(),
            Hysteresis(),
            Table(),
            EndStop(at=0.4),
            PolynomialSpring(),
        ),
        *(ZoneDamper(above=0.2), Gravity()),
    ],
    ids=lambda e: e.type,
)
def test_every_element_along_a_coordinate_has_units_of_a_length_there(element: object) -> None:
    assert "units" in check_element(element, coordinate_unit="m")
    on_slide = replace(element, acts_on="slide", **({"over": "slide"} if element.type == "zone-damper" else {}))
    (known,) = Model("d", Slide(), (on_slide,)).elements
    units = {p.unit for p in known.parameters} | {s.unit for s in known.shapes}
    assert not any("rad" in unit or "N m" in unit or "m2/" in unit for unit in units), units


def test_the_drawer_has_a_mass_and_says_so_in_its_file(tmp_path: Path) -> None:
    model = load_object("drawer").with_values([6.0, 12.0, 3.0])
    assert {n: p.unit for n, p in model.parameters.items()} == {"m": "kg", "b_v": "N s/m", "b_c": "N"}
    model.save(tmp_path / "model.json")
    again = Model.load(tmp_path / "model.json")
    assert again == model
    assert again.parameters["b_v"].unit == "N s/m"


def test_a_drawer_comes_back_from_its_balance() -> None:
    truth = load_object("drawer").with_values([6.0, 12.0, 3.0])
    t, states, acceleration = pulled(40.0)
    motion = truth.mechanism.motion(t, states, acceleration)
    wrench = np.random.default_rng(1).normal(size=(len(t), 6))  # the other five rows carry constraint forces
    wrench[:, 0] = truth.wrench(truth.mechanism.observe(motion), ARRAYS)[0]
    wrench[:, 0] += 0.2 * np.random.default_rng(2).normal(size=len(t))
    balance = build_balance(load_object("drawer"), motion, wrench, sigma=[0.2])
    solution = solve(compress(balance, [(0.0, 39.9)]))
    for estimate, true in zip(solution.estimates, truth.p, strict=True):
        assert estimate.ci95 is not None
        assert estimate.value == pytest.approx(true, rel=0.02)
    assert [e.unit for e in solution.estimates] == ["kg", "N s/m", "N"]


def test_a_drawer_steps_as_its_equation_says() -> None:
    """m v' = F - b_v v - b_c while it moves; it sticks below b_c, and falls along an inclined rail by its weight."""
    model = load_object("drawer").with_values([6.0, 12.0, 3.0])
    stepper, out = Stepper(model, 1e-3), np.empty(3)
    stepper.step([2.9, 50.0, 0.0, 0.0, 0.0, 9.0], out)
    assert out.tolist() == [0.0, 0.0, 0.0]
    for _ in range(2000):
        stepper.step([15.0, 0.0, 0.0, 0.0, 0.0, 0.0], out)
    assert out[1] == pytest.approx((1 - math.exp(-12.0 / 6.0 * 2.0)), rel=2e-3)
    parts = (ScalarInertia("m", "slide"), Gravity("weight", "slide"))
    falling = Model("sash", Slide(inclination=math.pi / 2), parts).with_values([4.0, 4.0])
    stepper = Stepper(falling, 1e-3)
    for _ in range(100):
        stepper.step([0.0] * 6, out)
    assert out[1] == pytest.approx(-9.80665 * 0.1, rel=1e-6)
