"""Gaps: filled from the body, by spline, or left; nothing jumps, and the report adds up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palpate.motion.cloud import Cloud, Markers, Source, fill_gaps
from tests.test_cloud import NAMES, places, recording


def scene(noise=0.0, seed=1):
    """A recording without gaps, and its cloud."""
    cloud = places(seed)
    markers, turn, at = recording(cloud, seconds=6.0, rest=(0, 0), noise=noise, seed=seed)
    whole = np.einsum("nij,kj->nki", turn, cloud) + at[:, None]
    return (
        Markers(NAMES, markers.times_s, whole + noise * np.random.default_rng(seed).normal(size=whole.shape)),
        cloud,
        turn,
    )


def hide(markers: Markers, *holes) -> Markers:
    points = markers.points.copy()
    for frames, which in holes:
        points[frames, which] = np.nan
    return Markers(markers.names, markers.times_s, points)


def test_the_body_fills_gaps_of_any_length():
    markers, cloud, _ = scene()
    filled = fill_gaps(hide(markers, (slice(50, 500), 2), (slice(0, 80), 5), (slice(590, 600), 0)), Cloud(NAMES, cloud))
    np.testing.assert_allclose(filled.markers.points, markers.points, atol=1e-9)
    assert (filled.source[50:500, 2] == Source.BODY).all()
    assert filled.usable == ((0.0, pytest.approx(6.0)),)
    report = {r.name: r for r in filled.report}
    assert report[NAMES[2]].from_body == 450
    assert report[NAMES[2]].longest_s == pytest.approx(4.51)
    assert report[NAMES[1]].gaps == 0
    assert "450" not in filled.sentence()
    assert "540 filled from the body's other markers, 0 by spline, 0 left" in filled.sentence()


def test_nothing_jumps_where_a_marker_is_off_its_place():
    markers, cloud, turn = scene(noise=1e-4)
    bent = markers.points.copy()
    slow = np.linspace(0, 8e-3, len(turn))[:, None] * [0.0, 1.0, 0.0]
    bent[:, 3] += np.einsum("nij,nj->ni", turn, slow)
    whole = Markers(NAMES, markers.times_s, bent)
    filled = fill_gaps(hide(whole, (slice(200, 400), 3)), Cloud(NAMES, cloud))
    away = np.linalg.norm(filled.markers.points[200:400, 3] - bent[200:400, 3], axis=1)
    # the pose bends a little with the marker while it is seen, by an eighth or so
    assert away.max() < 2e-3
    assert max(away[0], away[-1]) < 2e-3
    assert np.linalg.norm(slow[399]) > 5e-3


def test_short_losses_of_all_markers_are_splined_and_long_ones_left():
    markers, cloud, _ = scene()
    filled = fill_gaps(
        hide(markers, (slice(100, 109), slice(None)), (slice(300, 330), slice(None))), Cloud(NAMES, cloud)
    )
    assert (filled.source[100:109] == Source.SPLINE).all()
    np.testing.assert_allclose(filled.markers.points[100:109], markers.points[100:109], atol=2e-5)
    assert np.isnan(filled.markers.points[300:330]).all()
    assert filled.usable == ((0.0, pytest.approx(3.0)), (pytest.approx(3.3), pytest.approx(6.0)))
    assert (filled.source == Source.HIDDEN).sum() / 100 == pytest.approx(8 * 0.3)
    longer = fill_gaps(hide(markers, (slice(300, 330), slice(None))), Cloud(NAMES, cloud), longest_spline_s=0.5)
    assert (longer.source[300:330] == Source.SPLINE).all()


def test_two_visible_markers_are_no_pose():
    markers, cloud, _ = scene()
    filled = fill_gaps(hide(markers, (slice(300, 330), slice(2, None))), Cloud(NAMES, cloud))
    assert (filled.source[300:330, 2:] == Source.HIDDEN).all()
    assert (filled.source[:, :2] == Source.SEEN).all()
    assert len(filled.usable) == 2


def test_a_pose_restored_by_spline_gives_the_markers_with_longer_gaps():
    markers, cloud, _ = scene()
    # two markers stay, one is away for 50 ms, the others far longer
    holes = (slice(200, 400), slice(3, None)), (slice(300, 305), 2)
    filled = fill_gaps(hide(markers, *holes), Cloud(NAMES, cloud))
    assert (filled.source[300:305, 2] == Source.SPLINE).all()
    assert (filled.source[200:400, 3:] == Source.BODY).all()
    np.testing.assert_allclose(filled.markers.points, markers.points, atol=1e-4)
    assert len(filled.usable) == 1


def test_markers_without_a_place_and_without_a_cloud():
    markers, cloud, _ = scene()
    holed = hide(markers, (slice(100, 105), 7), (slice(200, 250), 7), (slice(0, 3), 7))
    filled = fill_gaps(holed, Cloud(NAMES[:7], cloud[:7]))
    assert (filled.source[100:105, 7] == Source.SPLINE).all()
    assert (filled.source[200:250, 7] == Source.HIDDEN).all()
    assert (filled.source[:3, 7] == Source.HIDDEN).all()  # nothing before it: no spline
    assert len(filled.usable) == 1  # the body's pose is known throughout
    alone = fill_gaps(holed)
    assert len(alone.usable) == 2
    assert alone.usable[0][0] == pytest.approx(0.03)


def test_frames_that_are_absent_split_and_are_no_place_for_splines():
    markers, cloud, _ = scene()
    keep = np.r_[0:200, 300:500]
    cut = Markers(NAMES, markers.times_s[keep], markers.points[keep])
    filled = fill_gaps(hide(cut, (slice(199, 201), slice(None))), Cloud(NAMES, cloud))
    assert (filled.source[199:201] == Source.HIDDEN).all()
    assert filled.usable == ((0.0, pytest.approx(1.99)), (pytest.approx(3.01), pytest.approx(5.0)))
    assert len(fill_gaps(cut, Cloud(NAMES, cloud)).usable) == 2


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_what_was_seen_is_kept_and_the_report_adds_up(seed):
    markers, cloud, _ = scene(noise=3e-4)
    rng = np.random.default_rng(seed)
    points = markers.points.copy()
    for _ in range(20):
        start, length = rng.integers(0, 600), rng.integers(1, 60)
        points[start : start + length, rng.random(8) < 0.4] = np.nan
    holed = Markers(NAMES, markers.times_s, points)
    filled = fill_gaps(holed, Cloud(NAMES, cloud))
    np.testing.assert_array_equal(filled.markers.points[holed.seen], points[holed.seen])
    np.testing.assert_array_equal(filled.markers.seen, filled.source != Source.HIDDEN)
    for i, r in enumerate(filled.report):
        assert r.from_body + r.by_spline + r.left == int((~holed.seen[:, i]).sum())
    inside = np.zeros(len(points), dtype=bool)
    for start, end in filled.usable:
        inside |= (markers.times_s >= start - 1e-9) & (markers.times_s < end - 1e-9)
    assert filled.markers.seen[inside].all()
    body = filled.source == Source.BODY
    if body.any():
        assert np.median(np.linalg.norm(filled.markers.points - markers.points, axis=2)[body]) < 1.5e-3


def test_no_gaps_is_said():
    markers, cloud, _ = scene()
    assert fill_gaps(markers, Cloud(NAMES, cloud)).sentence() == "no marker was hidden"


def test_gaps_are_left_where_the_measured_noise_leaves_no_pose():
    markers, cloud, turn = scene()
    cloud = cloud.copy()
    cloud[:4] = np.outer([0.0, 0.1, 0.25, 0.4], [1.0, 0, 0])
    cloud[1, 1] = 20e-3  # the first four lie close to a line
    points = np.einsum("nij,kj->nki", turn, cloud)
    points[200:400, 4:] = np.nan
    holey = Markers(NAMES, markers.times_s, points)
    assert len(fill_gaps(holey, Cloud(NAMES, cloud)).usable) == 1
    assert len(fill_gaps(holey, Cloud(NAMES, cloud), noise_m=3e-4).usable) == 1
    left = fill_gaps(holey, Cloud(NAMES, cloud), noise_m=2e-3)
    assert (left.source[200:400, 4:] == Source.HIDDEN).all()
    assert len(left.usable) == 2
