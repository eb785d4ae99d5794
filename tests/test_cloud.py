"""Reference clouds: from a static recording, a still stretch, the mean of all frames; and what users see of the fit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from palpate.errors import DataProblem, UnknownName
from palpate.motion.cloud import (
    Cloud,
    Markers,
    align,
    completed,
    differing,
    fit_body,
    mean_cloud,
    realigned,
    static_cloud,
    still_cloud,
)

NAMES = tuple(f"Body:m{i}" for i in range(1, 9))


def places(seed: int = 0, k: int = 8) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.4, 0.4, (k, 3))


def recording(cloud, seconds=20.0, rest=(8.0, 10.0), noise=3e-4, seed=1, rate=100.0):
    """A body that swings, and rests for a while; markers hidden now and then."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds * rate)) / rate
    phase = np.where(t < rest[0], t, np.where(t < rest[1], rest[0], t - (rest[1] - rest[0])))
    turn = Rotation.from_rotvec(np.sin(1.3 * phase[:, None] * [1, 0.7, 0.4]) * [0.3, 0.5, 0.8]).as_matrix()
    at = 0.5 * np.sin(phase[:, None] * [0.8, 1.1, 0.6]) + [1, 2, 1]
    points = np.einsum("nij,kj->nki", turn, cloud) + at[:, None] + noise * rng.normal(size=(len(t), len(cloud), 3))
    points[rng.random(points.shape[:2]) < 0.05] = np.nan
    return Markers(NAMES[: len(cloud)], t, points), turn, at


def misfit(cloud: Cloud, true: np.ndarray) -> float:
    """Largest distance of a place from the true one after alignment, m."""
    return float(align(cloud.points[None], true).error.max())


def still(cloud, frames=100, noise=3e-4, seed=2):
    rng = np.random.default_rng(seed)
    return Markers(
        NAMES[: len(cloud)], np.arange(frames) / 100, cloud + noise * rng.normal(size=(frames, len(cloud), 3))
    )


def test_static_is_the_mean_of_what_was_seen_in_the_capture_frame():
    markers = still(places())
    points = markers.points.copy()
    points[:50, 3] = np.nan
    points[:, 5] = np.nan
    cloud = static_cloud(Markers(NAMES, markers.times_s, points))
    assert cloud.names == NAMES[:5] + NAMES[6:]
    np.testing.assert_allclose(cloud.points[3], points[50:, 3].mean(axis=0), atol=1e-15)
    assert np.abs(cloud.points - np.delete(places(), 5, axis=0)).max() < 3e-4


def test_static_that_moves_is_refused_with_how_much():
    markers = still(places(), frames=200)
    drift = np.linspace(0, 0.02, 200)[:, None, None] * [1.0, 0, 0]
    with pytest.raises(DataProblem, match=r"the body moves between 0\.00 and 1\.99 s: 'Body:m\d' by \d+\.\d mm"):
        static_cloud(Markers(NAMES, markers.times_s, markers.points + drift))


def test_one_restless_marker_does_not_spoil_a_static_recording():
    markers = still(places(), frames=200)
    markers.points[40:60, 2] += 0.1
    assert np.abs(static_cloud(markers).points - places()).max() < 3e-4


def test_static_needs_three_markers():
    markers = still(places())
    points = markers.points.copy()
    points[:, 2:] = np.nan
    with pytest.raises(DataProblem, match="only 2 markers were seen"):
        static_cloud(Markers(NAMES, markers.times_s, points))


def test_still_stretch_is_found():
    markers, turn, at = recording(places())
    cloud = still_cloud(markers)
    frame = 900  # at rest
    np.testing.assert_allclose(cloud.points, places() @ turn[frame].T + at[frame], atol=3e-4)
    same = still_cloud(markers, (8.2, 9.8))
    np.testing.assert_allclose(same.points, cloud.points, atol=3e-4)


def test_markers_hidden_in_the_still_stretch_come_from_the_rest():
    markers, _, _ = recording(places())
    points = markers.points.copy()
    points[750:1050, 4] = np.nan
    cloud = still_cloud(Markers(NAMES, markers.times_s, points), (8.2, 9.8))
    assert set(cloud.names) == set(NAMES)
    assert misfit(cloud.select(NAMES), places()) < 5e-4


def test_seconds_that_are_not_still_or_empty_are_refused():
    markers, _, _ = recording(places())
    with pytest.raises(DataProblem, match="the body moves"):
        still_cloud(markers, (2.0, 4.0))
    with pytest.raises(DataProblem, match="no frame between 30 and 31 s"):
        still_cloud(markers, (30.0, 31.0))
    moving, _, _ = recording(places(), rest=(0.0, 0.0))
    with pytest.raises(DataProblem, match="the body moves"):
        still_cloud(moving)


def test_procrustes_mean_beats_any_frame_and_has_the_centroid_as_origin():
    markers, _, _ = recording(places(), rate=50.0, noise=5e-4)
    cloud = mean_cloud(markers)
    assert cloud.names == NAMES
    assert misfit(cloud, places()) < 1e-4
    np.testing.assert_allclose(cloud.points.mean(axis=0), 0, atol=1e-12)


def test_procrustes_mean_with_markers_never_seen_together():
    markers, _, _ = recording(places(), seconds=8.0, rest=(3.0, 4.0), noise=1e-4)
    points = markers.points.copy()
    points[:400, 0] = np.nan
    points[400:, 1] = np.nan
    assert misfit(mean_cloud(Markers(NAMES, markers.times_s, points)), places()) < 1e-4


@pytest.mark.parametrize("fault", ["swap", "ghost", "moved"])
def test_robust_mean_survives_a_faulty_marker(fault):
    markers, turn, _ = recording(places(), seconds=6.0, rest=(2.4, 3.0))
    points = markers.points.copy()
    if fault == "swap":
        points[90:270, [1, 6]] = points[90:270, [6, 1]]
    elif fault == "ghost":
        points[90:270, 2] = [0.3, 0.1, 1.0]
    else:
        points[420:, 5] += np.einsum("nij,j->ni", turn[420:], [0.0, 7e-3, 0.0])
    bad = Markers(NAMES, markers.times_s, points)
    robust = misfit(mean_cloud(bad), places())
    assert robust < 1e-3
    assert robust < 0.5 * misfit(mean_cloud(bad, robust=False), places())


def test_mean_needs_three_markers():
    markers, _, _ = recording(places())
    points = markers.points.copy()
    points[:, 2:] = np.nan
    with pytest.raises(DataProblem, match="no frame shows three markers"):
        mean_cloud(Markers(NAMES, markers.times_s, points))


def test_completed_leaves_a_whole_cloud_alone():
    markers, _, _ = recording(places())
    cloud = Cloud(NAMES, places())
    assert completed(cloud, markers) is cloud
    more = completed(cloud.select(n for n in NAMES if n != "Body:m3"), markers)
    assert more.names[-1] == "Body:m3"
    np.testing.assert_allclose(more.points[-1], places()[2], atol=2e-4)


def test_names_may_leave_out_the_subject():
    cloud = Cloud(NAMES, places())
    assert cloud.select(["m2", "Body:m1"]).names == ("Body:m2", "Body:m1")
    with pytest.raises(UnknownName, match=r"no marker 'm22'"):
        cloud.select(["m22"])
    with pytest.raises(ValueError, match="not a number"):
        Cloud(NAMES[:1], np.full((1, 3), np.nan))


def test_fit_gives_poses_and_the_table_of_errors():
    markers, _, at = recording(places())
    points = markers.points.copy()
    points[700, 3] += [0.05, 0, 0]
    points[100:110, 2:] = np.nan
    markers = Markers(NAMES, markers.times_s, points)
    fit = fit_body(markers, Cloud(NAMES, places()))
    seen = fit.poses.seen
    assert not seen[100:110].any()
    assert seen.sum() == len(seen) - 10
    np.testing.assert_allclose(fit.poses.position[seen], at[seen], atol=0.02)
    assert np.abs(fit.poses.position[seen] - at[seen]).mean() < 3e-4
    assert fit.mean_error_m == pytest.approx(3e-4 * 1.6 * np.sqrt(1 - 2 / 7.6), rel=0.1)
    name, largest, when = fit.largest()
    assert (name, when) == ("Body:m4", 7.0)
    assert 0.02 < largest < 0.05
    rows = {row[0]: row for row in fit.rows()}
    assert rows["Body:m4"][2] == largest
    assert rows["Body:m1"][1] < 6e-4
    assert rows["Body:m1"][4] == pytest.approx(0.05, abs=0.02)
    assert fit.unknown() == {"fewer than three markers seen": 10}


def test_fit_without_any_pose_says_so():
    markers, _, _ = recording(places())
    nothing = Markers(NAMES, markers.times_s, np.full_like(markers.points, np.nan))
    fit = fit_body(nothing, Cloud(NAMES, places()))
    assert np.isnan(fit.mean_error_m)
    assert fit.largest()[0] == ""
    assert len(fit.rows()) == 8


def test_aligning_leaves_points_as_they_are_however_they_lie_in_memory() -> None:
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(5, 3))
    stored = np.ascontiguousarray((cloud + 1e-3 * rng.normal(size=(20, 5, 3))).transpose(2, 0, 1))  # by component
    points, before = stored.transpose(1, 2, 0), stored.copy()
    assert align(points, cloud).usable.all()
    np.testing.assert_array_equal(stored, before)


@pytest.mark.parametrize("noise", [1e-4, 3e-4, 0.03])
def test_frames_that_change_are_aligned_again_and_others_judged_by_the_noise(noise: float) -> None:
    markers, _, _ = recording(places(), seconds=5.0)
    points = markers.points.copy()
    points[100:120, 2] += 0.01
    points[200:230, 3:] = np.nan
    points[300:310, 4:] = np.nan
    changed = differing(markers.points, points)
    assert changed[100:120].any()
    assert not changed[320:].any()
    new = realigned(align(markers.points, places()), points, places(), changed, noise_m=noise, before_m=None)
    anew = align(points, places(), noise_m=noise)
    for name in ("rotation", "position", "error", "used", "turn_std", "reason"):
        np.testing.assert_allclose(getattr(new, name), getattr(anew, name), rtol=1e-12, atol=1e-14)
