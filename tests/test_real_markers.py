"""Marker alignment on the paper authors' own excerpts: every number of the tables in that folder's README."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import palpate
from palpate.errors import DataProblem
from palpate.motion.cloud import Cloud, Markers, fill_gaps, fit_body, markers_of, mean_cloud, static_cloud
from palpate.motion.faults import check_markers, compare_clouds

pytestmark = pytest.mark.real
ALIGNED = [*range(1, 11), 13, 14, 16, 17, 19, 20]
GROUPS = (slice(0, 4), slice(4, 8), slice(8, 12), slice(12, 16))


def part(markers: Markers, frames: slice) -> Markers:
    return Markers(markers.names, markers.times_s[frames], markers.points[frames])


def number(markers: Markers, name: str) -> int:
    """A marker's number in file order, from 1."""
    return markers.names.index(name) + 1


def row(markers: Markers, cloud: Cloud, frames: slice) -> tuple[float, float, int]:
    """Mean error and largest error in mm, and the marker of the largest, as the README's tables have them."""
    fit = fit_body(part(markers, frames), cloud)
    name, largest, _ = fit.largest()
    return round(1e3 * fit.mean_error_m, 2), round(1e3 * largest, 2), number(markers, name)


@pytest.fixture(scope="module")
def door(real_folder):
    static = markers_of(palpate.load(real_folder / "door_static_excerpt.csv"))
    moving = markers_of(palpate.load(real_folder / "door_trajectories_excerpt.csv"))
    return static, moving, static_cloud(static).select(static.names[i - 1] for i in ALIGNED)


@pytest.fixture(scope="module")
def wheelbarrow(real_folder):
    return markers_of(palpate.load(real_folder / "wheelbarrow_trajectories_excerpt.csv"))


@pytest.fixture(scope="module")
def checked_door(door):
    _, moving, cloud = door
    return check_markers(moving, cloud)


@pytest.fixture(scope="module")
def checked_wheelbarrow(wheelbarrow):
    return check_markers(wheelbarrow, mean_cloud(wheelbarrow))


def test_door_errors(door):
    static, moving, cloud = door
    assert row(static, cloud, slice(0, 4)) == (0.09, 0.54, 14)
    expected = [(0.38, 0.84, 13), (1.69, 6.66, 19), (2.11, 6.87, 19), (1.69, 7.55, 19)]
    assert [row(moving, cloud, g) for g in GROUPS] == expected
    less = cloud.select(n for n in cloud.names if n != moving.names[18])
    assert [row(moving, less, g)[0] for g in GROUPS] == [0.35, 1.17, 1.61, 1.02]


def test_door_hinge_angles(door):
    _, moving, cloud = door
    turn = Rotation.from_matrix(fit_body(moving, cloud).poses.rotation)
    since_1960 = (turn[4:] * turn[3].inv()).as_rotvec()
    axis = since_1960.sum(axis=0)
    axis /= np.linalg.norm(axis)
    assert axis @ [0, 0, -1] > np.cos(np.radians(1.0))
    quaternion = turn.as_quat()  # the twist about the axis; the rest is a steady tilt
    angle = 2 * np.degrees(np.arctan2(quaternion[:, :3] @ axis, quaternion[:, 3]))
    angle = (angle + 180) % 360 - 180
    ends = [(round(float(angle[g][0]), 2), round(float(angle[g][-1]), 2)) for g in GROUPS]
    np.testing.assert_allclose(ends, [(0.14, 0.15), (56.23, 56.24), (70.47, 70.94), (42.14, 41.31)], atol=0.011)
    assert np.degrees(turn[0].magnitude()) == pytest.approx(0.8, abs=0.1)


def test_door_marker_19_is_named_as_moved(door, checked_door):
    _, moving, cloud = door
    checked = checked_door
    (finding,) = checked.faults
    assert (finding.kind, finding.names) == ("moved", (moving.names[18],))
    assert 6e-3 < finding.size_m < 9e-3
    assert "between 19.59 and 59.99 s" in finding.finding.sentence
    assert fit_body(checked.markers, cloud).largest()[0] != moving.names[18]
    assert fit_body(checked.markers, cloud).mean_error_m < fit_body(moving, cloud).mean_error_m


def test_door_static_fits_its_trajectories_and_not_once_markers_are_stuck_elsewhere(door):
    _, moving, cloud = door
    assert compare_clouds(cloud, moving) == ()
    wrong = Cloud(cloud.names, cloud.points + 12e-3 * np.random.default_rng(1).normal(size=cloud.points.shape))
    (finding,) = compare_clouds(wrong, moving)
    assert len(finding.names) >= 8
    two = cloud.points.copy()
    two[[4, 10]] += [[0, 0, 0.012], [0.02, 0, 0]]
    (finding,) = compare_clouds(Cloud(cloud.names, two), moving)
    assert set(finding.names) == {cloud.names[4], cloud.names[10]}
    assert finding.size_m == pytest.approx(0.02, abs=2e-3)


def test_noise_of_the_real_captures_is_without_their_bending(checked_door, checked_wheelbarrow):
    assert checked_door.scale.noise_m < 1.5e-4 < checked_door.scale.bending_m < 1e-3
    assert checked_door.confused_share == 0.0
    assert checked_wheelbarrow.scale.noise_m < 2e-4
    assert checked_wheelbarrow.scale.bending_m > 5e-4


def test_door_sensor_markers_come_from_the_body_where_hidden(door):
    _, moving, cloud = door
    filled = fill_gaps(moving, cloud)
    assert filled.markers.seen[:, [i - 1 for i in ALIGNED]].all()
    by_name = {r.name: r for r in filled.report}
    assert by_name[moving.names[1]].from_body == 16
    assert len(filled.usable) == 4  # the excerpt jumps between its groups
    # the sensor's three markers keep their triangle, within what the door bends
    sides = np.linalg.norm(filled.markers.points[:, [0, 1, 2]] - filled.markers.points[:, [1, 2, 0]], axis=2)
    expected = np.linalg.norm(cloud.points[[0, 1, 2]] - cloud.points[[1, 2, 0]], axis=1)
    assert np.abs(sides - expected).max() < 5e-3


def test_wheelbarrow_errors_against_the_last_rows(wheelbarrow):
    last = part(wheelbarrow, GROUPS[3])
    with pytest.raises(DataProblem, match=r"the body moves between .* mm, with 2\.0 mm allowed"):
        static_cloud(last)
    cloud = Cloud(wheelbarrow.names, last.points.mean(axis=0))
    expected = [(3.54, 14.81, 18), (3.53, 15.44, 1), (3.30, 11.70, 1), (0.21, 0.82, 1)]
    assert [row(wheelbarrow, cloud, g) for g in GROUPS] == expected


def test_wheelbarrow_errors_against_the_procrustes_mean(wheelbarrow):
    cloud = mean_cloud(wheelbarrow, robust=False)
    expected = [(1.76, 8.57, 18), (2.14, 6.70, 18), (1.27, 5.12, 18), (2.28, 9.02, 1)]
    assert [row(wheelbarrow, cloud, g) for g in GROUPS] == expected


def test_wheelbarrow_bends_and_no_marker_is_called_moved(wheelbarrow, checked_wheelbarrow):
    findings = checked_wheelbarrow.faults
    assert {f.kind for f in findings} == {"unsteady"}
    worst = sorted(findings, key=lambda f: -f.size_m)[:2]
    assert {number(wheelbarrow, f.names[0]) for f in worst} == {1, 18}
