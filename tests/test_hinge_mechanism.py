"""The hinge: gravity and inertia against MuJoCo, the angle in and out of a Motion, the linkage's coordinate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from palpate.elements import Gravity, RigidBody, ScalarInertia
from palpate.errors import DataProblem, UnknownName
from palpate.mechanisms import FourBar, Hinge
from palpate.model import Model
from palpate.motion.derivatives import coordinate_motion, pose_motion
from palpate.motion.frames import hinge_from_frame, hinge_motion, inclination
from palpate.physics.functions import ARRAYS, FLOATS, casadi_functions
from palpate.physics.inertia import phi_from_mass_properties
from palpate.physics.motion import Kinematics, Motion, Poses, transform
from tests.conftest import needs
from tests.poses import hinge_poses

SEEDS = st.integers(0, 100_000)
PHI = phi_from_mass_properties(
    18.0, [0.41, 0.03, 0.1], np.array([[3.0, 0.05, 0.1], [0.05, 4.1, 0.02], [0.1, 0.02, 1.4]])
)
CLOSER = Hinge(linkage=FourBar())


def swing(samples: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Times, angle, speed, acceleration."""
    t = np.linspace(0, 4, samples)
    return t, 0.8 - 0.7 * np.cos(2 * t), 1.4 * np.sin(2 * t), 2.8 * np.cos(2 * t)


def flat(k: Kinematics) -> list[object]:
    motion = [*k.specific_acceleration, *k.omega, *k.omega_dot]
    return motion + [v for c in k.coordinates.values() for v in (c.position, c.speed, c.acceleration, *c.ratio)]


def text(values: np.ndarray | list[float]) -> str:
    return " ".join(repr(float(v)) for v in values)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_gravity_turns_with_the_body(seed: int) -> None:
    rng = np.random.default_rng(seed)
    g, angle = rng.normal(size=3) * 9.81, float(rng.uniform(-3, 3))
    k = Hinge().with_gravity(g).expand([angle, 0.3], [0.7], FLOATS)
    expected = Rotation.from_euler("z", angle).inv().apply(-g)
    assert k.specific_acceleration == pytest.approx(expected, abs=1e-12)
    assert (k.omega, k.omega_dot) == ((0.0, 0.0, 0.3), (0.0, 0.0, 0.7))


def test_gravity_of_an_upright_hinge_and_of_one_whose_z_points_down() -> None:
    assert Hinge().with_gravity([0, 0, -9.81]) == Hinge(gravity=9.81)
    down = Hinge().with_gravity([0, 0, 9.81])
    assert down.inclination == pytest.approx(math.pi, rel=1e-15)
    assert Hinge().expand([0.3, 0.0], [0.0], FLOATS).specific_acceleration == (0.0, 0.0, 9.80665)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_the_moment_about_an_inclined_hinge_is_mujocos(seed: int) -> None:
    mujoco = needs("mujoco", "mujoco")
    rng = np.random.default_rng(seed)
    g = rng.normal(size=3) * 9.81
    mass, com = PHI[0], PHI[1:4] / PHI[0]
    origin = np.array([[PHI[4], PHI[5], PHI[6]], [PHI[5], PHI[7], PHI[8]], [PHI[6], PHI[8], PHI[9]]])
    about_com = origin - mass * (com @ com * np.eye(3) - np.outer(com, com))
    J = [about_com[i] for i in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    world = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option gravity="{text(g)}"/><worldbody><body><joint type="hinge" axis="0 0 1"/>
        <inertial mass="{mass}" pos="{text(com)}" fullinertia="{text(J)}"/></body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(world)
    q, v, a = rng.normal(size=3)
    data.qpos[0], data.qvel[0], data.qacc[0] = q, v, a
    mujoco.mj_inverse(world, data)
    hinge = Hinge().with_gravity(g)
    k = hinge.expand([float(q), float(v)], [float(a)], FLOATS)
    (whole,) = Model("a", hinge, (RigidBody(),)).with_values(PHI).wrench(k, FLOATS)
    assert whole == pytest.approx(data.qfrc_inverse[0], rel=1e-10, abs=1e-9)
    scalar = Model("b", hinge, (ScalarInertia(), Gravity())).with_values([PHI[9], PHI[1], PHI[2]])
    assert scalar.wrench(k, FLOATS) == pytest.approx([whole], rel=1e-12, abs=1e-12)


def test_a_measured_angle_comes_back_from_its_motion() -> None:
    t, angle, speed, acceleration = swing()
    hinge = Hinge(inclination=0.2, direction=1.1, linkage=FourBar())
    observed = hinge.observe(hinge.motion(t, np.stack([angle, speed], axis=1), np.stack([acceleration], axis=1)))
    expanded = hinge.expand([angle, speed], [acceleration], ARRAYS)
    for a, b in zip(flat(observed), flat(expanded), strict=True):
        assert np.abs(a - np.broadcast_to(b, t.shape)).max() < 1e-12


def test_a_body_that_spins_keeps_its_turns() -> None:
    t = np.linspace(0, 10, 500)
    k = Hinge().observe(Hinge().motion(t, np.stack([3 * t - 2, 0 * t + 3], axis=1), np.stack([0 * t], axis=1)))
    assert np.abs(k.coordinates["hinge"].position - (3 * t - 2)).max() < 1e-12


def test_from_poses_in_the_room_to_the_coordinates() -> None:
    """As the motion stage does it: hinge frame in a tilted room, local polynomials, then the mechanism."""
    t = np.arange(0, 6, 0.01)
    angle = 0.8 - 0.7 * np.cos(2 * t)
    T_world_hinge = transform(Rotation.from_euler("xyz", [0.3, -0.2, 1.0]).as_matrix(), np.array([1.0, 2.0, 0.5]))
    poses = hinge_poses(T_world_hinge, t, angle)
    hinge = hinge_from_frame(poses, np.eye(4))
    found = coordinate_motion(t, hinge_motion(poses, hinge).angle_rad, window_s=0.11)
    g_hinge = hinge.T_world_hinge[:3, :3].T @ np.array([0, 0, -9.80665])
    mechanism = Hinge(linkage=FourBar()).with_gravity(g_hinge)
    assert mechanism.inclination == pytest.approx(inclination(T_world_hinge, [0, 0, -1]), abs=1e-12)
    k = mechanism.observe(
        mechanism.motion(t, np.stack([found.position, found.speed], axis=1), np.stack([found.acceleration], axis=1))
    )
    seen = np.isfinite(found.speed)
    assert np.isfinite(k.coordinates["closer"].position[seen]).all()
    assert np.isnan(k.coordinates["closer"].position[~seen]).all()
    assert np.abs(k.coordinates["hinge"].speed - 1.4 * np.sin(2 * t))[seen].max() < 1e-3
    # the same through the poses alone, seen from the hinge's frame at angle zero
    R0, r0 = hinge.T_world_hinge[:3, :3], hinge.T_world_hinge[:3, 3]
    own = Poses(t, R0.T @ poses.rotation, (poses.position - r0) @ R0)
    other = mechanism.observe(pose_motion(own, gravity=g_hinge, window_s=0.11).motion)
    for a, b in zip(flat(k), flat(other), strict=True):
        assert np.nanmax(np.abs(a - b)) < 2e-3


def test_the_closers_coordinate_moves_as_differences_say() -> None:
    t, angle, speed, acceleration = swing(4001)
    c = CLOSER.expand([angle, speed], [acceleration], ARRAYS).coordinates["closer"]
    h = t[1] - t[0]
    assert np.abs(np.gradient(c.position, h)[2:-2] - c.speed[2:-2]).max() < 1e-4
    assert np.abs(np.gradient(c.speed, h)[2:-2] - c.acceleration[2:-2]).max() < 1e-3
    assert np.abs(c.ratio[0] * speed - c.speed).max() == 0


def test_a_hinge_expands_the_same_on_floats_and_symbols() -> None:
    ca = needs("casadi", "casadi")
    hinge = Hinge(inclination=0.4, direction=-0.3, linkage=FourBar())
    state, acc = ca.SX.sym("state", 2), ca.SX.sym("acc", 1)
    symbols = flat(hinge.expand(ca.vertsplit(state), ca.vertsplit(acc), casadi_functions()))
    function = ca.Function("expand", [state, acc], [ca.vertcat(*symbols)])
    for angle in (0.0, 0.5, 1.4, 2.9):  # the last is beyond the linkage's reach: clamped, no exception
        floats = flat(hinge.expand([angle, -0.7], [2.0], FLOATS))
        assert np.array(function([angle, -0.7], [2.0])).ravel() == pytest.approx(floats, rel=1e-12, abs=1e-12)


def test_one_row_is_free_and_a_linkage_adds_a_coordinate() -> None:
    assert Hinge().project(Hinge().expand([0.0, 0.0], [0.0], FLOATS), [1, 2, 3, 4, 5, 6], FLOATS) == (6,)
    assert [(row.name, row.unit) for row in Hinge().rows] == [("n_z", "N m")]
    assert (Hinge().coordinates, Hinge().constant_projection) == ({"hinge": "rad"}, True)
    assert (CLOSER.coordinates, CLOSER.constant_projection) == ({"hinge": "rad", "closer": "rad"}, False)
    with pytest.raises(UnknownName, match=r"element 'I': there is no coordinate 'closer'. .*hinge"):
        Model("a", Hinge(), (ScalarInertia(acts_on="closer"),))


def test_a_motion_that_is_not_about_the_hinge_is_refused() -> None:
    t, angle, speed, acceleration = swing()
    motion = CLOSER.motion(t, np.stack([angle, speed], axis=1), np.stack([acceleration], axis=1))
    bare = Motion(t, motion.specific_acceleration, motion.omega, motion.omega_dot)
    with pytest.raises(DataProblem, match=r"hinge: the motion does not hold the angle. Build it .* motion"):
        CLOSER.observe(bare)
    lying = Poses(t, Rotation.from_euler("x", 80, degrees=True).as_matrix() @ motion.poses.rotation, np.zeros((200, 3)))
    with pytest.raises(DataProblem, match="hinge: sample 0: z of the body frame is not along the hinge"):
        CLOSER.observe(Motion(t, motion.specific_acceleration, motion.omega, motion.omega_dot, lying))
    with pytest.raises(DataProblem, match=r"linkage: sample \d+: 11[45].\d deg .* -113.9 to 113.9 deg"):
        CLOSER.observe(CLOSER.motion(t, np.stack([angle + 0.6, speed], axis=1), np.stack([acceleration], axis=1)))
    wrong = np.where(t < 2, angle, angle + 2 * np.pi)
    with pytest.raises(DataProblem, match="jumps by more than half a turn between known samples"):
        CLOSER.motion(t, np.stack([wrong, speed], axis=1), np.stack([acceleration], axis=1))


def test_unseen_samples_stay_unseen() -> None:
    t, angle, speed, acceleration = swing()
    angle[50:60] = np.nan
    k = CLOSER.observe(CLOSER.motion(t, np.stack([angle, speed], axis=1), np.stack([acceleration], axis=1)))
    for name in ("hinge", "closer"):
        assert np.flatnonzero(np.isnan(k.coordinates[name].position)).tolist() == list(range(50, 60))
    nothing = np.full(200, np.nan)
    assert np.isnan(
        CLOSER.observe(CLOSER.motion(t, np.stack([nothing, nothing], axis=1), np.stack([nothing], axis=1)))
        .coordinates["closer"]
        .speed
    ).all()
