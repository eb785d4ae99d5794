"""Frames from marker roles: sensor, hinge and axle in the cloud, and the wheel's contact on the floor."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from palpate.errors import DataProblem, PalpateError, UnknownName
from palpate.motion.cloud import Cloud
from palpate.motion.frames import (
    AxleRoles,
    HingeRoles,
    SensorRoles,
    axle_frame,
    frame_of,
    frames_of,
    hinge_frame,
    sensor_frame,
)
from palpate.motion.wheels import check_wheel, rolling
from palpate.physics.motion import Poses, transform
from tests.poses import measured_sensor_poses, pose_difference

Array = NDArray[np.float64]

T_MARKER = np.array([[0.0997, -0.9950, 0, -0.0897], [0.9950, 0.0997, 0, -0.0201], [0, 0, 1, -0.0066], [0, 0, 0, 1]])
P1, P2, P3 = np.array([0.0, -0.04, 0.01]), np.array([0.01, 0.0, 0.0]), np.array([0.05, 0.01, 0.005])
seeds = st.integers(0, 2**31 - 1)


def rigid(seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return transform(Rotation.random(random_state=seed).as_matrix(), rng.normal(size=3))


def move(T: Array, points: Array) -> Array:
    return points @ T[:3, :3].T + T[:3, 3]


def assert_is_frame(T: Array) -> None:
    np.testing.assert_allclose(T[:3, :3].T @ T[:3, :3], np.eye(3), atol=1e-12)
    assert np.linalg.det(T[:3, :3]) == pytest.approx(1)
    np.testing.assert_array_equal(T[3], [0, 0, 0, 1])


# Sensor


def test_sensor_frame_is_the_published_one():
    """Written out as in the paper's sources: x, v, z, y = -x x z, origin p2, times the inverse of T_marker."""
    x = (P3 - P2) / np.linalg.norm(P3 - P2)
    z = np.cross(P1 - P2, x)
    z = z / np.linalg.norm(z)
    T_cloud_markers = transform(np.column_stack([x, -np.cross(x, z), z]), P2)
    T = sensor_frame(P1, P2, P3, T_MARKER)
    assert_is_frame(T)
    # the drawing has four digits; the machined offset becomes an exact rotation
    np.testing.assert_allclose(T, T_cloud_markers @ np.linalg.inv(T_MARKER), atol=2e-4)
    assert (T @ T_MARKER)[:3, 3] == pytest.approx(P2, abs=1e-12)


@given(seeds)
def test_sensor_frame_moves_with_its_markers(seed: int):
    T = rigid(seed)
    moved = sensor_frame(*move(T, np.array([P1, P2, P3])), T_MARKER)
    np.testing.assert_allclose(moved, T @ sensor_frame(P1, P2, P3, T_MARKER), atol=1e-12)


@pytest.mark.parametrize("p1", [P2, P3, P2 + 0.5 * (P3 - P2), P2 + 2 * (P3 - P2) + [0, 0, 0.003]])
def test_sensor_markers_on_a_line_are_refused(p1: Array):
    with pytest.raises(DataProblem, match="nearly on one line"):
        sensor_frame(p1, P2, P3, T_MARKER)


def test_left_handed_offset_is_refused():
    with pytest.raises(PalpateError, match="left-handed"):
        sensor_frame(P1, P2, P3, np.diag([1.0, 1.0, -1.0, 1.0]))


def test_measured_sensor_poses_agree_with_the_clouds_and_are_unknown_where_markers_hide():
    rng = np.random.default_rng(1)
    n = 50
    R, r = Rotation.random(n, random_state=1).as_matrix(), rng.normal(size=(n, 3))
    cloud = Poses(np.arange(n) / 100, R, r)
    corners = np.array([P1, P2, P3])
    points = corners @ R.transpose(0, 2, 1) + r[:, None]
    points[3, 1] = np.nan
    points[7, 0] = 2 * points[7, 1] - points[7, 2]  # a ghost in line with the other two
    measured = measured_sensor_poses(cloud.times_s, points, T_MARKER)
    known = cloud.attached(sensor_frame(P1, P2, P3, T_MARKER))
    assert np.flatnonzero(~measured.seen).tolist() == [3, 7]
    angle, distance = pose_difference(measured, known)
    assert np.nanmax(angle) < 1e-7
    assert np.nanmax(distance) < 1e-12
    assert np.flatnonzero(np.isnan(angle)).tolist() == [3, 7]


@given(seeds, st.floats(0, np.pi))
def test_pose_difference_is_the_angle_of_the_rotation_between(seed: int, angle: float):
    T = rigid(seed)
    axis = np.random.default_rng(seed).normal(size=3)
    turned = T[:3, :3] @ Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
    a, b = (Poses(np.zeros(1), R[None], T[None, :3, 3]) for R in (T[:3, :3], turned))
    found, distance = pose_difference(a, b)
    assert found[0] == pytest.approx(angle, abs=1e-7)
    assert distance[0] == 0


# Hinge


def hinge_points(seed: int = 0) -> Array:
    """Six markers along z, a few millimetres off the line, as on a real door."""
    rng = np.random.default_rng(seed)
    points = rng.normal(0, 0.002, size=(6, 3))
    points[:, 2] = [0.3, 0.4, 1.0, 1.1, 1.8, 1.9]
    return points


def test_hinge_frame_of_markers_on_its_line():
    T = hinge_frame(hinge_points(), [1.0, 0.2, 1.7], [0, 0, -1])
    assert_is_frame(T)
    np.testing.assert_allclose(T[:3, 3], hinge_points().mean(axis=0), atol=1e-15)
    assert T[2, 2] < -0.999  # down
    np.testing.assert_allclose(T[:2, 0], np.array([1.0, 0.2]) / np.hypot(1.0, 0.2), atol=0.01)
    up = hinge_frame(hinge_points(), [1.0, 0.2, 1.7], [0, 0, 1])
    np.testing.assert_allclose(up, T * [1, -1, -1, 1], atol=1e-12)


@given(seeds)
def test_hinge_frame_moves_with_its_markers(seed: int):
    T, towards, along = rigid(seed), np.array([1.0, 0.2, 1.7]), np.array([0.1, 0.3, -1.0])
    moved = hinge_frame(move(T, hinge_points()), move(T, towards), T[:3, :3] @ along)
    np.testing.assert_allclose(moved, T @ hinge_frame(hinge_points(), towards, along), atol=1e-10)


def test_hinge_markers_that_are_no_line_are_refused():
    with pytest.raises(DataProblem, match="not on a line"):
        hinge_frame([[0, 0, 0], [0, 0, 1], [0.5, 0, 0.5]], [1, 0, 0], [0, 0, 1])
    with pytest.raises(DataProblem, match="not on a line"):
        hinge_frame([[0, 0, 0], [0, 0, 0]], [1, 0, 0], [0, 0, 1])
    with pytest.raises(DataProblem, match="at least 2"):
        hinge_frame([[0, 0, 0]], [1, 0, 0], [0, 0, 1])


def test_hinge_without_a_sign_or_a_side_is_refused():
    lid = [[0, 0, 0], [0.5, 0, 0], [1, 0, 0.001]]
    with pytest.raises(DataProblem, match="does not tell its sign"):
        hinge_frame(lid, [0.5, 1, 0], [0, 0, 1])
    with pytest.raises(DataProblem, match=r"x: .* off z"):
        hinge_frame(lid, [3, 0.05, 0], [1, 0, 0])


# Axle and roles

CART = Cloud(
    ("Cart:ID6", "Cart:ID8", "Cart:ID9", "Cart:ID10", "Cart:ID11", "Cart:ID13", "Cart:ID14", "Cart:ID15", "Cart:ID16"),
    np.array(
        [
            [-1.0, -0.3, 0.6],
            [0.0, -0.15, 0.2],
            [0.2, -0.2, 0.4],
            [0.2, 0.2, 0.4],
            [0.0, 0.15, 0.21],
            [-1.0, 0.3, 0.6],
            [-1.2, 0.3, 0.7],
            [-1.2, 0.33, 0.7],
            [-1.25, 0.33, 0.72],
        ]
    ),
)
AXLE = AxleRoles(axle=("ID8", "ID11"), across=(("ID9", "ID6"), ("ID10", "ID13")))
LEFT = SensorRoles(markers=("ID14", "ID15", "ID16"), offset=T_MARKER)


def test_axle_frame_is_the_papers():
    T = frame_of(AXLE, CART)
    at = dict(zip(CART.names, CART.points, strict=True))
    z = at["Cart:ID11"] - at["Cart:ID8"]
    z = z / np.linalg.norm(z)
    y = at["Cart:ID6"] - at["Cart:ID9"] + at["Cart:ID13"] - at["Cart:ID10"]
    y = y - (y @ z) * z
    y = y / np.linalg.norm(y)
    np.testing.assert_allclose(T[:3, :3], np.column_stack([np.cross(y, z), y, z]), atol=1e-12)
    np.testing.assert_allclose(T[:3, 3], [0, 0, 0.205], atol=1e-12)
    assert_is_frame(T)


@given(seeds)
def test_axle_frame_moves_with_its_markers(seed: int):
    T = rigid(seed)
    moved = frame_of(AXLE, Cloud(CART.names, move(T, CART.points)))
    np.testing.assert_allclose(moved, T @ frame_of(AXLE, CART), atol=1e-12)


def test_axle_without_a_direction_is_refused():
    with pytest.raises(DataProblem, match="same place"):
        axle_frame([0, 0, 0], [0, 0, 0], [1, 0, 0])
    with pytest.raises(DataProblem, match=r"axle: y: .* off z"):
        axle_frame([0, 0, 0], [0, 1, 0], [0.05, 1, 0])
    with pytest.raises(DataProblem, match="y"):
        frame_of(AxleRoles(("ID8", "ID11"), ()), CART)


def test_roles_become_frames_by_name():
    hinge = HingeRoles(axis=("ID8", "ID11"), towards="ID6", points=("ID11", "ID8"))
    frames = frames_of({"axle": AXLE, "left": LEFT, "hinge": hinge}, CART)
    assert list(frames) == ["axle", "left", "hinge"]
    np.testing.assert_allclose(frames["left"], sensor_frame(*CART.points[6:9], T_MARKER))
    np.testing.assert_allclose(frames["hinge"][:3, 2], -frames["axle"][:3, 2], atol=1e-12)


def test_up_and_down_follow_the_stated_up():
    post = Cloud(("a", "b", "c"), np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0.0]]))
    for points, sign in (("up", 1), ("down", -1)):
        T = frame_of(HingeRoles(("a", "b"), "c", points), post, up=(0, 1, 0))
        np.testing.assert_allclose(T[:3, 2], [0, sign, 0], atol=1e-12)
    with pytest.raises(DataProblem, match="sign"):
        frame_of(HingeRoles(("a", "b"), "c", "up"), post)


def test_unknown_marker_names_the_nearest():
    with pytest.raises(UnknownName, match=r"wheel: there is no marker 'Cart:ID12'. Did you mean 'Cart:ID1"):
        frames_of({"wheel": AxleRoles(("Cart:ID8", "Cart:ID12"), AXLE.across)}, CART)


def test_ambiguous_markers_are_refused():
    twice = Cloud(("A:ID8", "B:ID8", "A:ID11"), CART.points[:3])
    with pytest.raises(DataProblem, match="could be 'A:ID8' or 'B:ID8'"):
        frame_of(HingeRoles(("ID11", "ID8"), "ID11", "up"), twice)


# Rolling


def axle_poses(yaw: Array, camber: Array, pitch: Array, position: Array) -> Poses:
    """Axle poses with these angles by construction: z leans left and up, y is level ahead of it, then pitches."""
    zero = np.zeros_like(yaw)
    ahead = np.stack([np.cos(yaw), np.sin(yaw), zero], axis=1)
    left = np.stack([-np.sin(yaw), np.cos(yaw), zero], axis=1)
    up = np.array([0.0, 0.0, 1.0])
    z = np.cos(camber)[:, None] * left + np.sin(camber)[:, None] * up
    steep = np.cos(camber)[:, None] * up - np.sin(camber)[:, None] * left  # across z and ahead
    rise = np.sin(pitch) / np.cos(camber)
    y = rise[:, None] * steep - np.sqrt(1 - rise**2)[:, None] * ahead
    return Poses(np.arange(len(yaw)) / 100, np.stack([np.cross(y, z), y, z], axis=2), position)


def ride(seed: int = 0, n: int = 200) -> tuple[Poses, dict[str, Array]]:
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, n)
    truth = {
        "yaw_rad": rng.uniform(-3, 3) + 9 * t,
        "camber_rad": 0.15 * np.sin(6 * t + rng.uniform(0, 6)),
        "pitch_rad": 0.3 + 0.3 * np.sin(4 * t),
        "height_m": np.full(n, 0.2),
    }
    position = np.column_stack([2 * t, np.sin(3 * t), truth["height_m"] - 0.0095])
    return axle_poses(truth["yaw_rad"], truth["camber_rad"], truth["pitch_rad"], position), truth


@given(seeds)
def test_rolling_gives_back_the_angles(seed: int):
    axle, truth = ride(seed)
    found = rolling(axle, floor_m=-0.0095)
    for name in ("camber_rad", "pitch_rad", "height_m"):
        np.testing.assert_allclose(getattr(found, name), truth[name], atol=1e-12)
    turns = (found.yaw_rad - truth["yaw_rad"]) / (2 * np.pi)
    np.testing.assert_allclose(turns, np.round(turns[0]), atol=1e-12)


@given(seeds)
def test_rolling_on_a_tilted_floor_is_the_same_seen_from_there(seed: int):
    axle, _ = ride(seed)
    R = rigid(seed)[:3, :3]
    level = rolling(axle, floor_m=-0.0095)
    tilted = rolling(
        Poses(axle.times_s, R @ axle.rotation, axle.position @ R.T), floor_m=-0.0095, up=3 * R @ [0.0, 0.0, 1.0]
    )
    for name in ("camber_rad", "pitch_rad", "height_m"):
        np.testing.assert_allclose(getattr(tilted, name), getattr(level, name), atol=1e-10)
    np.testing.assert_allclose(np.diff(tilted.yaw_rad), np.diff(level.yaw_rad), atol=1e-9)


def test_rolling_is_unknown_where_the_body_is():
    axle, truth = ride()
    axle.rotation[20:30], axle.position[20:30] = np.nan, np.nan
    found = rolling(axle, floor_m=-0.0095)
    assert (np.isfinite(found.height_m) == axle.seen).all()
    assert np.isnan(found.yaw_rad[20:30]).all()
    turns = (found.yaw_rad - truth["yaw_rad"])[axle.seen] / (2 * np.pi)
    np.testing.assert_allclose(turns, np.round(turns[0]), atol=1e-12)  # unwrapped across the gap
    assert check_wheel(found, 0.2) == ()


def test_wheel_is_checked_against_the_height_of_the_axle():
    axle, _ = ride()
    found = rolling(axle, floor_m=-0.0095)
    assert check_wheel(found, 0.197) == ()
    (wrong,) = check_wheel(found, 0.25)
    assert wrong.cause == "wheel-radius"
    assert "200.0 mm above the floor" in wrong.sentence
    assert "-50.0 mm apart" in wrong.sentence
    lifted = Poses(axle.times_s, axle.rotation, axle.position + [0, 0, 0.1] * (axle.times_s > 1.5)[:, None])
    assert [f.cause for f in check_wheel(rolling(lifted, floor_m=-0.0095), 0.2)] == ["wheel-height"]


def test_axle_that_stands_on_end_is_refused():
    axle, _ = ride()
    on_end = Rotation.from_euler("x", 90, degrees=True).as_matrix() @ axle.rotation
    with pytest.raises(DataProblem, match=r"tilted by .* deg at .* s and has no heading"):
        rolling(Poses(axle.times_s, on_end, axle.position))
