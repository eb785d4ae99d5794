"""Faults of markers are found and named, what is sound is left alone, and repaired markers give the true pose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from palpate.errors import DataProblem
from palpate.motion.cloud import Cloud, Markers, align, fit_body, mean_cloud
from palpate.motion.faults import check_markers, cloud_before, compare_clouds, weak_orientation

SEEDS = st.integers(0, 2**32 - 1)


class Scene:
    """A body in motion whose markers can be tampered with, in the body's frame or in the world."""

    def __init__(self, seed=0, k=12, seconds=12.0, noise=3e-4, hidden=0.05, rate=100.0):
        rng = np.random.default_rng(seed)
        self.rng, self.t = rng, np.arange(int(seconds * rate)) / rate
        while True:
            self.places = rng.uniform(-0.5, 0.5, (k, 3)) * [1, 0.7, 0.2]
            if np.linalg.norm(self.places[:, None] - self.places[None], axis=2)[np.triu_indices(k, 1)].min() > 0.03:
                break
        wave = 2 * np.pi * rng.uniform(0.1, 0.6, 6) * self.t[:, None] + rng.uniform(0, 6, 6)
        self.turn = Rotation.from_rotvec(np.sin(wave[:, :3]) * rng.uniform(0.3, 1, 3)).as_matrix()
        self.at = 0.5 * np.sin(wave[:, 3:]) + rng.uniform(-2, 2, 3)
        self.names = tuple(f"Body:m{i + 1}" for i in range(k))
        self.noise, self.hidden = noise, hidden
        self.body = np.tile(self.places, (len(self.t), 1, 1))
        self.swaps = []
        self.ghosts = []

    @property
    def cloud(self) -> Cloud:
        return Cloud(self.names, self.places)

    def move(self, marker, start, by):
        self.body[self.t >= start, marker] += by

    def markers(self) -> Markers:
        p = np.einsum("nij,nkj->nki", self.turn, self.body) + self.at[:, None]
        p += self.noise * self.rng.normal(size=p.shape)
        for i in range(p.shape[1]):
            left = self.hidden * len(self.t)
            while left > 0:
                start, length = self.rng.integers(0, len(self.t)), self.rng.integers(2, 40)
                p[start : start + length, i] = np.nan
                left -= length
        for frames, group in self.swaps:
            p[frames, group] = p[frames, np.roll(group, 1)]
        for frames, marker, point in self.ghosts:
            p[frames, marker] = point
        return Markers(self.names, self.t, p)

    def pose_error(self, markers: Markers) -> float:
        """Largest distance of a place from the truth, m."""
        fit = fit_body(markers, self.cloud).alignment
        where = self.places @ fit.rotation.swapaxes(1, 2) + fit.position[:, None]
        truth = self.places @ self.turn.swapaxes(1, 2) + self.at[:, None]
        return float(np.nanmax(np.linalg.norm(where - truth, axis=2)))


def kinds(checked):
    return [(f.kind, f.names) for f in checked.faults]


@given(SEEDS, st.sampled_from([1e-4, 3e-4, 1e-3]), st.sampled_from([5, 8, 20]), st.booleans())
@settings(max_examples=6)
def test_no_false_alarm_on_clean_data(seed, noise, k, flexible):
    scene = Scene(seed, k=k, seconds=3, noise=noise)
    if flexible:  # half a millimetre, each marker in its own way
        wave = np.sin(scene.t[:, None, None] * scene.rng.uniform(1, 6, (1, k, 1)) + scene.rng.uniform(0, 6, (1, k, 1)))
        scene.body = scene.body + 5e-4 * wave * scene.rng.normal(size=(1, k, 3))
    markers = scene.markers()
    checked = check_markers(markers, scene.cloud)
    assert kinds(checked) == []
    np.testing.assert_array_equal(checked.markers.points, markers.points)
    if not flexible:
        assert checked.scale.noise_m == pytest.approx(noise, rel=0.25)


@given(SEEDS, st.sampled_from([3, 20, 300]), st.booleans())
@settings(max_examples=4)
def test_every_swap_is_found_named_and_undone(seed, length, near):
    scene = Scene(seed, k=10, seconds=5)
    i = int(scene.rng.integers(10))
    apart = np.linalg.norm(scene.places - scene.places[i], axis=1)
    j = int(np.argsort(apart)[1]) if near else int(scene.rng.choice(np.flatnonzero(apart > 0)))
    start = int(scene.rng.integers(0, 500 - length))
    scene.hidden = 0.0
    scene.swaps = [(slice(start, start + length), [i, j])]
    checked = check_markers(scene.markers(), scene.cloud)
    (fault,) = checked.faults
    assert fault.kind == "swapped"
    assert set(fault.names) == {scene.names[i], scene.names[j]}
    assert fault.interval_s == (scene.t[start], scene.t[start + length - 1])
    assert fault.frames == length
    assert scene.pose_error(checked.markers) < 2e-3
    assert checked.markers.seen.all()


def test_close_markers_swap_while_one_is_hidden():
    scene = Scene(1)
    scene.places[1] = scene.places[0] + [0.025, 0, 0]
    scene.body[:] = scene.places
    scene.hidden = 0
    markers = scene.markers()
    points = markers.points.copy()
    points[350:450, 0] = np.nan
    points[400:700, [0, 1]] = points[400:700, [1, 0]]
    checked = check_markers(Markers(scene.names, scene.t, points), scene.cloud)
    (fault,) = checked.faults
    assert (fault.kind, set(fault.names)) == ("swapped", set(scene.names[:2]))
    assert fault.interval_s == (4.0, 6.99)
    assert np.isnan(checked.markers.points[350:450, 0]).all()
    assert np.isfinite(checked.markers.points[350:450, 1]).all()


def test_three_labels_in_a_circle_and_two_swaps_at_a_time():
    scene = Scene(2)
    scene.swaps = [(slice(100, 300), [1, 4, 7]), (slice(500, 800), [0, 2]), (slice(600, 900), [5, 6])]
    checked = check_markers(scene.markers(), scene.cloud)
    found = {(f.kind, tuple(sorted(scene.names.index(n) for n in f.names))) for f in checked.faults}
    assert found == {("swapped", (1, 4, 7)), ("swapped", (0, 2)), ("swapped", (5, 6))}
    assert scene.pose_error(checked.markers) < 2e-3


def test_swap_of_the_whole_recording_and_of_four_markers():
    scene = Scene(3, k=4, hidden=0)
    scene.swaps = [(slice(None), [1, 3])]
    checked = check_markers(scene.markers(), scene.cloud)
    assert kinds(checked) == [("swapped", (scene.names[1], scene.names[3]))]
    assert scene.pose_error(checked.markers) < 3e-3


@pytest.mark.parametrize("k", [3, 4])
def test_a_swap_that_a_symmetric_set_of_markers_hides_is_seen_by_the_turn(k):
    scene = Scene(16, k=k, hidden=0)
    scene.places[:] = np.array([[0.1, 0.06, 0], [-0.1, 0.06, 0], [0, -0.12, 0], [0, 0.3, 0.1]])[:k]
    scene.body[:] = scene.places
    scene.swaps = [(slice(300, 500), [0, 1])]
    checked = check_markers(scene.markers(), scene.cloud)
    (fault,) = checked.faults
    assert (fault.kind, fault.names, fault.interval_s) == ("swapped", scene.names[:2], (3.0, 4.99))
    assert scene.pose_error(checked.markers) < 3e-3


def placed(seed: int, millimetres: list[list[int]], seconds: float = 12.0, rate: float = 100.0) -> Scene:
    """Markers at these places, all seen."""
    scene = Scene(seed, k=len(millimetres), seconds=seconds, hidden=0.0, rate=rate)
    scene.places = np.array(millimetres) / 1e3
    scene.body[:] = scene.places
    return scene


def test_a_swap_that_leaves_the_plain_fit_without_a_pose_is_told_once():
    # With M5 and M7 exchanged, the points and their places have a moment of almost rank one: they look collinear.
    places = [[-27, 8, -7], [-90, -20, -7], [-79, 88, -7], [139, -107, -6], [-34, 86, 65], [-113, 80, -33]]
    scene = placed(22, [*places, [77, -88, -8], [1, 33, 27]])
    scene.swaps = [(slice(400, 900), [4, 6])]
    markers = scene.markers()
    assert (~align(markers.points[400:900], scene.places).usable).sum() > 50
    (fault,) = check_markers(markers, scene.cloud).faults
    assert (fault.kind, fault.names) == ("swapped", (scene.names[4], scene.names[6]))
    assert (fault.interval_s, fault.frames) == ((4.0, 8.99), 500)


def test_a_marker_far_from_the_others_that_moves_pulls_the_pose_and_is_named_all_the_same():
    places = [[-28, 5, -7], [-90, -20, -7], [-81, 65, -7], [-37, 98, 19], [-27, -104, 197], [-120, 43, -83]]
    scene = placed(23, [*places, [113, 38, 7], [-146, 92, -26]], seconds=16.0, rate=50.0)
    scene.move(4, 10.0, [0.48e-3, 6.35e-3, 2.91e-3])
    markers = scene.markers()
    markers.points[465:520, [3, 6]] = np.nan  # the others are few when it moves
    (fault,) = check_markers(markers, mean_cloud(markers)).faults
    assert (fault.kind, fault.names) == ("moved", (scene.names[4],))
    assert fault.interval_s[0] == pytest.approx(10.0, abs=0.03)
    assert fault.size_m == pytest.approx(7e-3, abs=2e-4)


def test_the_others_outvote_a_moved_marker_also_where_three_of_them_fit_it():
    places = [[-35, 12, -7], [-90, -20, -7], [-80, 79, -7], [-29, 19, -68], [129, 105, 127], [59, -27, 117]]
    scene = placed(24, [*places, [-37, 14, 98], [-124, 42, 135]], seconds=9.5, rate=50.0)
    scene.move(6, 4.4, [5.91e-3, -3.47e-3, -1.41e-3])  # the mean has it where it sits after the move
    markers = scene.markers()
    markers.points[44:78, [0, 5, 7]] = np.nan
    (fault,) = check_markers(markers, mean_cloud(markers)).faults
    assert (fault.kind, fault.names, fault.interval_s[0]) == ("moved", (scene.names[6],), 4.4)
    assert fault.size_m == pytest.approx(7e-3, abs=2e-4)


@given(SEEDS)
@settings(max_examples=2)
def test_labels_in_a_circle_are_one_finding_though_some_are_hidden_for_a_while(seed):
    scene = Scene(seed, k=9, seconds=5, hidden=0.1)
    group = [int(i) for i in scene.rng.choice(9, 3, replace=False)]
    scene.swaps = [(slice(150, 400), group)]
    markers = scene.markers()
    markers.points[230:270, group[0]] = np.nan
    markers.points[250:310, group[1]] = np.nan  # for a while only one of the three tells
    checked = check_markers(markers, scene.cloud)
    (fault,) = checked.faults
    assert (fault.kind, set(fault.names)) == ("swapped", {scene.names[i] for i in group})
    assert fault.interval_s == pytest.approx((1.5, 3.99), abs=0.5)
    assert scene.pose_error(checked.markers) < 3e-3


def test_labels_that_flicker_are_one_finding():
    scene = Scene(25, k=8, hidden=0.0)
    scene.swaps = [(slice(a, a + 7), [2, 5]) for a in range(300, 500, 20)]
    (fault,) = check_markers(scene.markers(), scene.cloud).faults
    assert (fault.kind, fault.names) == ("swapped", (scene.names[2], scene.names[5]))
    assert (fault.interval_s, fault.frames) == ((3.0, 4.86), 70)
    scene.swaps += [(slice(700, 900), [2, 5]), (slice(910, 1000), [2, 6])]  # another time, and another marker
    findings = check_markers(scene.markers(), scene.cloud).faults
    assert [f.frames for f in findings] == [70, 200, 90]


@given(SEEDS, st.sampled_from([5e-3, 7e-3, 20e-3]), st.sampled_from([8, 14]), st.booleans())
@settings(max_examples=4)
def test_every_move_is_found_with_size_direction_and_time(seed, size, k, own_mean):
    scene = Scene(seed, k=k, seconds=6, rate=50.0)
    marker, when = int(scene.rng.integers(k)), float(scene.rng.uniform(1.5, 4.5))
    by = scene.rng.normal(size=3)
    by *= size / np.linalg.norm(by)
    scene.move(marker, when, by)
    markers = scene.markers()
    checked = check_markers(markers, mean_cloud(markers) if own_mean else scene.cloud)
    (fault,) = checked.faults
    assert (fault.kind, fault.names) == ("moved", (scene.names[marker],))
    assert fault.size_m == pytest.approx(size, abs=5e-4)
    assert -0.021 < fault.interval_s[0] - when < 0.9  # it may be hidden for a while
    assert fault.interval_s[1] == scene.t[-1]
    if not own_mean:
        said = [float(v) for v in fault.finding.sentence.split("(")[1].split(" mm")[0].split(",")]
        np.testing.assert_allclose(said, 1e3 * by, atol=0.5)
        assert scene.pose_error(checked.markers) < 2e-3


def test_a_marker_that_moved_before_the_recording_or_twice():
    scene = Scene(4)
    scene.move(2, 0.0, [0, 6e-3, 0])
    scene.move(5, 4.0, [5e-3, 0, 0])
    scene.move(5, 8.0, [0, 0, 6e-3])
    checked = check_markers(scene.markers(), scene.cloud)
    assert sorted(kinds(checked)) == [("moved", (scene.names[2],))] + 2 * [("moved", (scene.names[5],))]
    before = next(f for f in checked.faults if f.names == (scene.names[2],))
    assert "before the recording" in before.finding.sentence
    assert scene.pose_error(checked.markers) < 2e-3


def test_a_marker_that_creeps_to_a_new_place_has_moved():
    scene = Scene(15, seconds=16)
    scene.body[:, 6] += np.clip((scene.t - 8) / 0.8, 0, 1)[:, None] * [0, 0, 8e-3]
    (fault,) = check_markers(scene.markers(), scene.cloud).faults
    assert (fault.kind, fault.names) == ("moved", (scene.names[6],))
    assert fault.interval_s[0] == pytest.approx(8.4, abs=0.5)
    assert fault.size_m == pytest.approx(8e-3, abs=5e-4)


def test_ghosts_are_hidden_wherever_they_come():
    scene = Scene(5)
    scene.hidden = 0
    scene.ghosts = [
        (slice(0, 30), 1, [0.0, 0, 0]),
        (slice(200, 201), 3, [1.0, 0, 2]),
        (slice(500, 800), 4, [0.5, 0.5, 0.5]),
        (slice(1150, 1200), 6, [0.0, 0, 1]),
    ]
    checked = check_markers(scene.markers(), scene.cloud)
    assert kinds(checked) == [("ghost", (scene.names[i],)) for i in (1, 3, 4, 6)]
    assert [f.frames for f in checked.faults] == [30, 1, 300, 50]
    assert (~checked.markers.seen).sum() == 381
    assert scene.pose_error(checked.markers) < 2e-3


def test_a_ghost_that_stands_still_on_a_body_at_rest_did_not_move_the_marker():
    scene = Scene(6)
    scene.turn[:], scene.at[:] = scene.turn[0], scene.at[0]
    scene.body[300:600, 2] += [0.03, 0.02, 0]
    scene.move(2, 9.0, [0, 7e-3, 0])
    assert [k for k, _ in kinds(check_markers(scene.markers(), scene.cloud))] == ["ghost", "moved"]


def test_a_marker_that_fell_off_is_a_ghost_from_then_on():
    scene = Scene(7)
    scene.hidden = 0
    scene.ghosts = [(slice(700, None), 8, [0.3, 0.1, 0.0])]
    (fault,) = check_markers(scene.markers(), scene.cloud).faults
    assert (fault.kind, fault.interval_s) == ("ghost", (7.0, scene.t[-1]))


@pytest.mark.parametrize("hertz", [0.3, 0.04])
def test_bending_is_called_unsteady_and_left_alone(hertz):
    scene = Scene(8, noise=2e-4)
    scene.body[:, 3] += 8e-3 * np.sin(2 * np.pi * hertz * scene.t)[:, None] * [0, 0, 1]
    markers = scene.markers()
    checked = check_markers(markers, scene.cloud)
    assert kinds(checked) == [("unsteady", (scene.names[3],))]
    np.testing.assert_array_equal(checked.markers.points, markers.points)


def test_noise_on_top_of_a_deviation_within_the_tolerance_is_no_fault():
    """A marker that turns a little beside the body: 2.6 mm off for a while, and 3 mm here and there by noise."""
    scene = Scene(26, k=14, seconds=20, hidden=0)
    away = 2.6e-3 * np.clip(np.sin(2 * np.pi * scene.t / 10), 0, 1) ** 0.25
    scene.body[:, 3] += away[:, None] * [0, 0.8, 0.6]
    markers = scene.markers()
    off = np.linalg.norm(np.einsum("nji,nj->ni", scene.turn, markers.points[:, 3] - scene.at) - scene.places[3], axis=1)
    assert (off > 3e-3).sum() > 25
    checked = check_markers(markers, scene.cloud)
    assert checked.scale.tolerance_m == 3e-3
    assert checked.faults == ()
    np.testing.assert_array_equal(checked.markers.points, markers.points)
    scene.body[:, 3] += 0.4 * away[:, None] * [0, 0.8, 0.6]  # 3.6 mm are more than the tolerance
    assert kinds(check_markers(scene.markers(), scene.cloud)) == [("unsteady", (scene.names[3],))]


def test_many_moments_are_one_finding():
    scene = Scene(9)
    scene.hidden = 0
    scene.ghosts = [(slice(a, a + 2), 3, [1.0, 0, 2]) for a in range(100, 1100, 100)]
    (fault,) = check_markers(scene.markers(), scene.cloud).faults
    assert (fault.kind, fault.frames) == ("ghost", 20)
    assert "10 times between 1.00 and 10.01 s" in fault.finding.sentence


def test_everything_at_once():
    scene = Scene(10, k=20, seconds=10)
    scene.move(3, 6.0, [0, 7e-3, 0])
    scene.swaps = [(slice(150, 350), [8, 9]), (slice(750, 850), [3, 4])]
    scene.ghosts = [(slice(500, 525), 12, [0.1, 0, 0])]
    checked = check_markers(scene.markers(), scene.cloud)
    assert sorted(kind for kind, _ in kinds(checked)) == ["ghost", "moved", "swapped", "swapped"]
    assert scene.pose_error(checked.markers) < 2e-3


def test_few_markers_that_make_no_body_are_hidden():
    scene = Scene(11, k=4, hidden=0)
    scene.ghosts = [(slice(200, 300), i, [0.1 * i, 0.2, 0.3 * i]) for i in (0, 1, 2)]
    checked = check_markers(scene.markers(), scene.cloud)
    assert kinds(checked) == [("confused", scene.names)]
    assert np.isnan(checked.markers.points[200:300]).all()


def test_markers_of_another_body_are_refused():
    markers = Scene(12).markers()
    with pytest.raises(DataProblem, match="the markers do not fit the cloud: they are typically"):
        check_markers(markers, Scene(13).cloud)
    with pytest.raises(DataProblem, match="the cloud has 2 markers"):
        check_markers(markers, Scene(12).cloud.select(["m1", "m2"]))


def test_nothing_seen_is_nothing_found():
    scene = Scene(14)
    nothing = Markers(scene.names, scene.t, np.full((len(scene.t), 12, 3), np.nan))
    assert check_markers(nothing, scene.cloud).faults == ()
    none = Markers(scene.names, scene.t[:0], np.empty((0, 12, 3)))
    assert check_markers(none, scene.cloud).faults == ()


# --- a cloud that is wrong, a set that is two bodies, places before a move --------------------------------------------


def small_scene(seed: int, k: int = 8, size: float = 0.3, seconds: float = 4.0) -> Scene:
    """A body of this size, m, whose markers are all seen."""
    scene = Scene(seed, k=k, seconds=seconds, hidden=0.0)
    scene.places *= size
    scene.body *= size
    return scene


@pytest.mark.parametrize(("k", "size", "error"), [(8, 0.3, 3e-3), (16, 2.0, 12e-3)])
def test_a_static_cloud_that_is_wrong_everywhere_is_no_noise_and_is_told(k, size, error):
    scene = small_scene(2, k, size)
    markers = scene.markers()
    wrong = Cloud(scene.names, scene.places + error * scene.rng.normal(size=(k, 3)))
    checked = check_markers(markers, wrong)
    assert checked.scale.noise_m == pytest.approx(scene.noise, rel=0.1)
    assert checked.scale.spread_m < 1.3 * scene.noise
    assert checked.scale.tolerance_m < 12e-3
    (fault,) = compare_clouds(wrong, markers)
    assert fault.kind == "static"
    assert len(fault.names) >= 3
    assert any(f.kind == "static" for f in checked.faults)
    assert fault.finding.sentence.startswith("static cloud: it does not fit this recording: m")


@given(SEEDS, st.sampled_from([3e-3, 8e-3, 40e-3]))
@settings(max_examples=5)
def test_the_markers_that_a_static_cloud_has_elsewhere_are_named_with_how_far(seed, by):
    scene = small_scene(seed, 9)
    direction = scene.rng.normal(size=(2, 3))
    places = scene.places.copy()
    places[[3, 5]] += by * direction / np.linalg.norm(direction, axis=1)[:, None]
    (fault,) = compare_clouds(Cloud(scene.names, places), scene.markers())
    assert set(fault.names) == {scene.names[3], scene.names[5]}
    assert fault.size_m == pytest.approx(by, abs=1e-3)
    assert f"{1e3 * fault.size_m:.1f} mm" in fault.finding.sentence


@given(SEEDS, st.sampled_from([1e-4, 1e-3]), st.sampled_from([0.0, 1.5e-3]))
@settings(max_examples=4)
def test_a_static_cloud_that_fits_is_left_alone(seed, noise, bending):
    scene = Scene(seed, k=10, seconds=6, noise=noise)
    wave = np.sin(scene.t[:, None, None] * scene.rng.uniform(1, 4, (1, 10, 1)) + scene.rng.uniform(0, 6, (1, 10, 1)))
    scene.body = scene.body + bending * wave * scene.rng.normal(size=(1, 10, 3))
    scene.move(4, 3.8, [0, 9e-3, 0])  # one that moved was at its place for a while
    static = Cloud(scene.names, scene.places + 2e-4 * scene.rng.normal(size=(10, 3)))
    turned = Rotation.random(rng=seed % 1000).as_matrix()
    assert compare_clouds(Cloud(scene.names, static.points @ turned.T + 3.0), scene.markers()) == ()


def test_bending_is_not_noise_and_is_still_tolerated():
    scene = Scene(17, k=12, seconds=12, noise=1e-4, hidden=0)
    wave = np.sin(scene.t[:, None, None] * scene.rng.uniform(1, 4, (1, 12, 1)) + scene.rng.uniform(0, 6, (1, 12, 1)))
    scene.body = scene.body + 1.5e-3 * wave * scene.rng.normal(size=(1, 12, 3))
    checked = check_markers(scene.markers(), scene.cloud)
    assert checked.scale.noise_m == pytest.approx(1e-4, rel=0.15)
    assert 5e-4 < checked.scale.bending_m < 2e-3
    assert checked.scale.tolerance_m > 5e-3
    assert not [f for f in checked.faults if f.kind in ("ghost", "moved", "static", "swapped")]


def test_two_bodies_in_one_set_are_told_by_the_share_of_confused_frames():
    rng, t = np.random.default_rng(18), np.arange(200) / 40
    places = rng.uniform(0, 1, (20, 3)) * [1, 0.05, 2]
    opening = Rotation.from_rotvec(np.clip(1.2 * np.sin(2 * np.pi * t / 5), 0, 1)[:, None] * [0, 0, 1]).as_matrix()
    points = np.einsum("nij,kj->nki", opening, places)
    points[:, 10:] = places[10:]  # the frame of the door stays
    markers = Markers(tuple(f"m{i}" for i in range(20)), t, points + 3e-4 * rng.normal(size=points.shape))
    checked = check_markers(markers, Cloud(markers.names, places))
    assert checked.confused_share == pytest.approx(0.49, abs=0.04)
    door = Markers(markers.names[:10], t, markers.points[:, :10])
    assert check_markers(door, Cloud(door.names, places[:10])).confused_share == 0.0


@pytest.mark.parametrize(("when", "place"), [(1.25, "after"), (3.75, "before")])
def test_the_place_before_a_move_is_known_whichever_the_cloud_has(when, place):
    scene = Scene(19, k=9, seconds=5, rate=50.0)
    by = np.array([0.0, 8e-3, -4e-3])
    scene.move(4, when, by)
    markers = scene.markers()
    cloud = mean_cloud(markers)
    (fault,) = check_markers(markers, cloud).faults
    assert fault.kind == "moved"
    before = cloud_before(cloud, (fault,))
    assert align(before.points[None], scene.places).error.max() < 5e-4
    wrong = align(cloud.points[None], scene.places).error.max() > 5e-3
    assert wrong == (place == "after")


def test_places_before_moves_against_a_static_cloud():
    scene = Scene(4)
    scene.move(2, 0.0, [0, 6e-3, 0])
    scene.move(5, 4.0, [5e-3, 0, 0])
    scene.move(5, 8.0, [0, 0, 6e-3])
    findings = check_markers(scene.markers(), scene.cloud).faults
    np.testing.assert_allclose([f.before_m for f in findings], [[0, 0, 0], [0, 0, 0], [5e-3, 0, 0]], atol=4e-4)
    np.testing.assert_array_equal(cloud_before(scene.cloud, findings).points, scene.places)


def test_one_frame_barely_away_is_hidden_and_not_told():
    scene = Scene(20, noise=1e-4, hidden=0)
    scene.body[400, 3] += [0, 4.5e-3, 0]
    checked = check_markers(scene.markers(), scene.cloud)
    assert checked.faults == ()
    assert np.argwhere(~checked.markers.seen).tolist() == [[400, 3]]
    scene.body[400, 3] += [0, 4.5e-3, 0]
    assert kinds(check_markers(scene.markers(), scene.cloud)) == [("ghost", (scene.names[3],))]
    scene.body[100:1100:100, 3] += [0, 4.5e-3, 0]  # many of them are a fault
    assert "10 times" in check_markers(scene.markers(), scene.cloud).faults[0].finding.sentence


def test_an_uncertain_orientation_is_told_with_its_seconds():
    scene = small_scene(21, 5, 0.2, 12.0)
    markers = scene.markers()
    flat = np.array([[0, 0, 0], [0.1, 0, 0], [0.2, 0, 0], [0.1, 6e-3, 0], [0.1, 0.1, 0.05]])
    points = np.einsum("nij,kj->nki", scene.turn, flat) + scene.at[:, None] + 1e-4 * scene.rng.normal(size=(1200, 5, 3))
    points[300:500, 4] = np.nan  # then the others lie close to a line
    cloud, markers = Cloud(scene.names, flat), Markers(scene.names, scene.t, points)
    fit = fit_body(markers, cloud, noise_m=1e-4)
    true = Rotation.from_matrix(scene.turn)[300:500]
    angle = (true.inv() * Rotation.from_matrix(fit.poses.rotation[300:500])).magnitude()
    assert fit.alignment.turn_std[300:500].mean() == pytest.approx(np.sqrt(np.mean(angle**2)), rel=0.2)
    fault = weak_orientation(fit)
    assert fault is not None
    assert (fault.kind, fault.interval_s, fault.frames) == ("weak", (3.0, 4.99), 200)
    assert "for 2.00 s between 3.00 and 4.99 s" in fault.finding.sentence
    assert weak_orientation(fit_body(markers, cloud, noise_m=1e-5)) is None
    noisy = fit_body(markers, cloud, noise_m=1e-3)  # then there is no pose at all
    assert np.isnan(noisy.poses.position[300:500]).all()
    assert np.isnan(noisy.alignment.turn_std[300:500]).all()
    assert noisy.alignment.usable[:300].all()
