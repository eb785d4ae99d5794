"""What a fit hides of a marker's displacement is what shows without it, and the marker that is wrong is what goes."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from palpate.motion.cloud import align, body_points
from palpate.motion.robust import deletion, without_outliers

LIMITS = {"away_m": 3e-3, "noise_m": 2.1e-3, "pose_noise_m": 3e-4}


def body(seed: int, k: int, frames: int = 40):
    """Points, places and which marker is far from the others, with the noise of 0.3 mm."""
    rng = np.random.default_rng(seed)
    cloud = rng.uniform(-0.1, 0.1, (k, 3))
    cloud[-1] += [0.0, 0.0, 0.3]  # it turns the body almost alone
    turn = Rotation.random(frames, random_state=seed % 2**31).as_matrix()
    points = cloud @ turn.swapaxes(1, 2) + rng.uniform(-1, 1, (frames, 1, 3)) + 3e-4 * rng.normal(size=(frames, k, 3))
    return rng, cloud, turn, points


@given(st.integers(0, 2**32 - 1), st.integers(5, 9))
@settings(max_examples=15)
def test_deletion_is_what_shows_without_the_marker(seed, k):
    rng, cloud, _, points = body(seed, k)
    points[rng.random(points.shape[:2]) < 0.1] = np.nan
    fit = align(points, cloud)
    away, gain = deletion(body_points(points, fit) - cloud, cloud, fit)
    squares = np.where(fit.used, fit.error, 0.0) ** 2
    for i in range(k):
        weights = np.ones(k)
        weights[i] = 0.0
        without = align(points, cloud, weights)
        # where the others hold the body well, so that what was left out of the first order is small
        good = fit.used[:, i] & without.usable & (without.turn_std < 5e-3)
        off = np.einsum("nij,ni->nj", without.rotation, points[:, i] - without.position) - cloud[i]
        np.testing.assert_allclose(away[good, i], off[good], atol=1e-4, rtol=0.02)
        left = np.where(without.used, without.error, 0.0) ** 2
        np.testing.assert_allclose(gain[good, i], (squares.sum(axis=1) - left.sum(axis=1))[good], atol=1e-8, rtol=0.05)


@given(st.integers(0, 2**32 - 1), st.integers(6, 9), st.booleans())
@settings(max_examples=15)
def test_the_marker_that_moved_goes_although_the_fit_hides_it(seed, k, far):
    rng, cloud, turn, points = body(seed, k)
    i = k - 1 if far else int(rng.integers(k - 1))
    points[:, i] += turn @ (12e-3 * np.array([1.0, 0.0, 0.0]))
    fit = without_outliers(points, cloud, **LIMITS)
    right = ~fit.used[:, i] & (fit.used.sum(axis=1) == k - 1)
    assert right.mean() > 0.9


def test_nothing_goes_of_sound_markers_nor_of_three():
    _, cloud, _, points = body(1, 7)
    fit = without_outliers(points, cloud, **LIMITS)
    assert fit.used.all()
    points[:, 0] += 0.05
    points[:, 3:] = np.nan
    fit = without_outliers(points, cloud, **LIMITS)
    assert (fit.used == [True] * 3 + [False] * 4).all()
