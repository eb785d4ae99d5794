"""Rigid alignment against the SVD, SciPy and its own invariants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from palpate.motion.cloud import Reason, align, nearest_rotations

SEEDS = st.integers(0, 2**32 - 1)


def scene(seed: int, frames: int = 30, k: int = 8, noise: float = 3e-4, hidden: float = 0.2, flat: bool = False):
    """Points, cloud and true poses of a tumbling body."""
    rng = np.random.default_rng(seed)
    cloud = rng.uniform(-0.5, 0.5, (k, 3))
    if flat:
        cloud[:, 2] = 0.1
    turn = Rotation.random(frames, rng=rng).as_matrix()
    at = rng.uniform(-3, 3, (frames, 3))
    points = np.einsum("nij,kj->nki", turn, cloud) + at[:, None] + noise * rng.normal(size=(frames, k, 3))
    points[rng.random((frames, k)) < hidden] = np.nan
    return points, cloud, turn, at


def svd_loop(points, cloud, weights):
    """One frame after the other, as in every textbook."""
    n = len(points)
    R, r, error = np.full((n, 3, 3), np.nan), np.full((n, 3), np.nan), np.full(points.shape[:2], np.nan)
    for i in range(n):
        seen = np.isfinite(points[i]).all(axis=1) & (weights[i] > 0)
        if seen.sum() < 3:
            continue
        p, c, w = points[i, seen], cloud[seen], weights[i, seen, None]
        mean_p, mean_c = (w * p).sum(axis=0) / w.sum(), (w * c).sum(axis=0) / w.sum()
        U, _, V = np.linalg.svd((w * (p - mean_p)).T @ (c - mean_c))
        R[i] = U @ np.diag([1, 1, np.linalg.det(U @ V)]) @ V
        r[i] = mean_p - R[i] @ mean_c
        error[i] = np.linalg.norm(points[i] - cloud @ R[i].T - r[i], axis=1)
    return R, r, error


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("noise", [0.0, 3e-4, 0.1])
def test_equals_the_svd_loop(flat, noise):
    points, cloud, _, _ = scene(1, frames=2500, noise=noise, flat=flat)
    weights = np.random.default_rng(2).uniform(0.1, 3, points.shape[:2])
    weights[::7, 2] = 0
    fit = align(points, cloud, weights)
    R, r, error = svd_loop(points, cloud, weights)
    ok = fit.usable
    assert ok.mean() > 0.9
    np.testing.assert_allclose(fit.rotation[ok], R[ok], atol=1e-10)
    np.testing.assert_allclose(fit.position[ok], r[ok], atol=1e-10)
    np.testing.assert_allclose(fit.error[ok], error[ok], atol=1e-10)
    np.testing.assert_array_equal(fit.used, np.isfinite(points[:, :, 0]) & (weights > 0))


def test_equals_scipy():
    points, cloud, _, _ = scene(3)
    weights = np.linspace(0.5, 2, len(cloud))
    fit = align(points, cloud, weights)
    for i in np.flatnonzero(fit.usable):
        seen = fit.used[i]
        w = weights[seen]
        p, c = (x - np.average(x, axis=0, weights=w) for x in (points[i, seen], cloud[seen]))
        turn, rssd = Rotation.align_vectors(p, c, weights=w)
        np.testing.assert_allclose(fit.rotation[i], turn.as_matrix(), atol=1e-10)
        assert w @ fit.error[i, seen] ** 2 == pytest.approx(rssd**2, rel=1e-8)


@given(SEEDS)
@settings(max_examples=30)
def test_poses_move_with_the_points(seed):
    points, cloud, _, _ = scene(seed, hidden=0.3)
    rng = np.random.default_rng(seed)
    turn, by = Rotation.random(rng=rng).as_matrix(), rng.uniform(-5, 5, 3)
    before, after = align(points, cloud), align(points @ turn.T + by, cloud)
    np.testing.assert_array_equal(before.reason, after.reason)
    np.testing.assert_allclose(after.rotation, turn @ before.rotation, atol=1e-10)
    np.testing.assert_allclose(after.position, before.position @ turn.T + by, atol=1e-10)
    np.testing.assert_allclose(after.error, before.error, atol=1e-10)


@given(SEEDS, st.floats(1e-6, 1e6))
@settings(max_examples=30)
def test_order_of_markers_and_scale_of_weights_do_not_matter(seed, factor):
    points, cloud, _, _ = scene(seed)
    rng = np.random.default_rng(seed)
    weights, order = rng.uniform(0.1, 1, len(cloud)), rng.permutation(len(cloud))
    a = align(points, cloud, weights)
    b = align(points[:, order], cloud[order], factor * weights[order])
    np.testing.assert_array_equal(a.reason, b.reason)
    np.testing.assert_allclose(b.rotation, a.rotation, atol=1e-10)
    np.testing.assert_allclose(b.error, a.error[:, order], atol=1e-10)


@given(SEEDS, st.sampled_from(["noise", "mirror", "flat", "few"]))
@settings(max_examples=60)
def test_no_reflection_ever_and_nothing_is_better(seed, kind):
    points, cloud, _, _ = scene(
        seed, k=3 if kind == "few" else 6, noise=0.3 if kind == "noise" else 3e-3, flat=kind == "flat"
    )
    if kind == "mirror":
        points[:, :, 0] *= -1
    fit = align(points, cloud)
    R = fit.rotation[fit.usable]
    np.testing.assert_allclose(np.linalg.det(R), 1, atol=1e-12)
    np.testing.assert_allclose(R @ R.swapaxes(1, 2), np.broadcast_to(np.eye(3), R.shape), atol=1e-12)
    expected, _, _ = svd_loop(points, cloud, np.ones(points.shape[:2]))
    p, c = points[fit.usable], cloud
    gain = [
        np.nansum((p - np.nanmean(p, axis=1, keepdims=True)) * (c @ S.swapaxes(1, 2)), axis=(1, 2))
        for S in (R, expected[fit.usable])
    ]
    np.testing.assert_allclose(gain[0], gain[1], atol=1e-9)


@given(SEEDS)
@settings(max_examples=60)
def test_nearest_rotation_of_any_matrix_maximises_the_trace(seed):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(40, 3, 3)) * 10.0 ** rng.uniform(-6, 6)
    H[:10, :, 2] = H[:10, :, 1] * (1 + 1e-9)  # nearly rank two
    H[10:20, :, 1:] *= 1e-7  # nearly rank one
    R, smallest, largest = nearest_rotations(H.transpose(1, 2, 0))
    R = R.transpose(2, 0, 1)
    s = np.linalg.svd(H, compute_uv=False)
    s[:, 2] *= np.sign(np.linalg.det(H))
    np.testing.assert_allclose((R * H).sum(axis=(1, 2)), s.sum(axis=1), rtol=1e-9)
    np.testing.assert_allclose(np.linalg.det(R), 1, atol=1e-9)
    np.testing.assert_allclose(smallest, s[:, 1] + s[:, 2], atol=1e-7 * s[:, 0].max())
    np.testing.assert_allclose(largest, s[:, 0], rtol=1e-6)


@pytest.mark.parametrize("apart", [1.0, 0.05])
def test_noise_turns_the_body_as_the_lever_says(apart):
    rng = np.random.default_rng(5)
    cloud = np.array([[-0.5, 0, 0], [0.5, 0, 0], [0, apart / 2, 0], [0, -apart / 2, 0.0]])
    points = np.repeat(cloud[None], 4000, axis=0) + 1e-4 * rng.normal(size=(4000, 4, 3))
    fit = align(points, cloud, noise_m=1e-4)
    turn = Rotation.from_matrix(fit.rotation).as_rotvec()
    assert turn.std(axis=0).max() == pytest.approx(fit.turn_std.mean(), rel=0.05)
    halved = align(points, cloud, np.full(4, 0.5), noise_m=1e-4)  # equal weights weigh nothing
    np.testing.assert_allclose(halved.turn_std, fit.turn_std, rtol=1e-9)


def test_too_few_and_collinear_markers_have_no_pose():
    points, cloud, _, _ = scene(7, frames=6, k=6, hidden=0)
    cloud[3:] = cloud[0] + np.outer([1.0, 2.0, -1.5], cloud[1] - cloud[0])  # on a line with 0 and 1
    points = points[:1] * 0 + cloud
    points = np.repeat(points, 6, axis=0)
    points[1, 2:] = np.nan  # two
    points[2, 2] = np.nan  # five on a line
    points[3] = np.nan
    points[4, :, 0] = np.nan  # half a point is none
    points[5] = 0.0  # an instrument's idea of "not seen"
    fit = align(points, cloud)
    assert fit.reason.tolist() == [
        Reason.OK,
        Reason.TOO_FEW,
        Reason.COLLINEAR,
        Reason.TOO_FEW,
        Reason.TOO_FEW,
        Reason.COLLINEAR,
    ]
    for array in (fit.rotation, fit.position, fit.error):
        assert np.isnan(array[1:]).all()
        assert np.isfinite(array[0]).all()


@pytest.mark.parametrize(("offset", "usable"), [(0.0, False), (2e-3, False), (30e-3, True)])
def test_nearly_collinear_is_judged_by_noise(offset, usable):
    rng = np.random.default_rng(8)
    cloud = np.array([[0, 0, 0], [0.1, offset, 0], [0.25, 0, 0], [0.4, 0, 0.0]])
    points = np.repeat(cloud[None], 50, axis=0) + 3e-4 * rng.normal(size=(50, 4, 3))
    assert align(points, cloud).usable.all() == usable
    assert align(points, cloud).usable.any() == usable
    assert not align(points, cloud, noise_m=5e-3).usable.any()


def test_near_symmetric_clouds_are_exact():
    cloud = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1.0]]) * 0.1
    for c in (cloud, cloud[:4], cloud[:3], cloud * [1, 1, 1 + 1e-12]):
        turn = Rotation.random(500, rng=1).as_matrix()
        fit = align(np.einsum("nij,kj->nki", turn, c) + 0.5, c)
        np.testing.assert_allclose(fit.rotation, turn, atol=1e-12)


def test_markers_without_a_place_or_weight_take_no_part():
    points, cloud, turn, _ = scene(9, noise=0, hidden=0)
    cloud[0] = np.nan
    points[:, 1] += 0.5
    weights = np.ones(len(cloud))
    weights[1] = 0
    fit = align(points, cloud, weights)
    np.testing.assert_allclose(fit.rotation, turn, atol=1e-12)
    assert np.isnan(fit.error[:, 0]).all()
    np.testing.assert_allclose(fit.error[:, 1], 0.5 * np.sqrt(3))
    assert not fit.used[:, :2].any()


def test_far_from_the_origin_no_digits_are_lost():
    points, cloud, turn, _ = scene(10, noise=0)
    fit = align(points + 1000, cloud + 1000)
    np.testing.assert_allclose(fit.rotation[fit.usable], turn[fit.usable], atol=1e-10)


def test_no_frames_have_no_poses():
    points, cloud, _, _ = scene(11)
    assert align(points[:0], cloud).rotation.shape == (0, 3, 3)
