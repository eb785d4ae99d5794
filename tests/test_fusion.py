"""Fusion of markers and IMU: exact where both are, honest where they are noisy, clear where they clash."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from palpate.errors import DataProblem
from palpate.motion.derivatives import pose_motion
from palpate.motion.fusion import DEGREE, Fusion, FusionNoise, Grid, fuse
from palpate.physics.motion import Motion, Poses, exp_rotation, log_rotation, transform, transport_acceleration
from palpate.twin.handle import random_hand

Array = NDArray[np.float64]
G = 9.80665
DOWN = np.array([0.0, 0.0, -G])
NOISE = FusionNoise(position=1e-4, rotation=8e-4, acceleration=0.02, rate=0.002)
T_BODY_IMU = transform(exp_rotation([0.5, -2.0, 1.0]), [-0.09, 0.01, 0.15])
INNER = slice(100, -100)


@dataclass(frozen=True)
class Case:
    poses: Poses
    times: Array
    acceleration: Array
    rate: Array
    bias: Array
    true: Motion
    position: Array
    rotation: Array

    def fuse(self, **options: object) -> Fusion:
        given: dict[str, object] = {"gravity": DOWN, "noise": NOISE, **options}
        return fuse(self.poses, self.times, self.acceleration, self.rate, T_BODY_IMU, **given)  # type: ignore[arg-type]


def case(seed: int, *, noise: float = 1.0, duration: float = 6.0, imu_rate: float = 500.0) -> Case:
    """From the middle of a motion, so that it moves all the time."""
    rng = np.random.default_rng(seed)
    hand = random_hand(rng, duration + 14.0, G)
    t, t_imu = 7 + np.arange(int(100 * duration)) / 100, 7 + np.arange(int(imu_rate * duration)) / imu_rate
    turn, shift = (s * noise * rng.normal(size=(len(t), 3)) for s in (NOISE.rotation, NOISE.position))
    poses = Poses(t, hand.rotation(t) @ exp_rotation(turn), hand.coordinates(t)[0][3:].T + shift)
    m, R, r = hand.motion(t_imu), T_BODY_IMU[:3, :3], T_BODY_IMU[:3, 3]
    bias = np.concatenate([rng.normal(0, 0.1, 3), rng.normal(0, 0.01, 3)])
    a = transport_acceleration(m.specific_acceleration, m.omega, m.omega_dot, r) @ R + bias[:3]
    a += noise * NOISE.acceleration * rng.normal(size=a.shape)
    w = m.omega @ R + bias[3:] + noise * NOISE.rate * rng.normal(size=a.shape)
    return Case(poses, t_imu, a, w, bias, m, hand.coordinates(t_imu)[0][3:].T, hand.rotation(t_imu))


def rms(x: Array) -> float:
    return float(np.sqrt(np.mean(x**2)))


def in_std(c: Case, f: Fusion) -> Array:
    off = np.concatenate([f.acceleration_bias, f.rate_bias]) - c.bias
    return off / np.concatenate([f.acceleration_bias_std, f.rate_bias_std])


def test_exact_measurements_give_the_exact_motion_and_biases() -> None:
    c = case(0, noise=0.0)
    f = c.fuse(bandwidth_hz=40.0)
    assert np.abs(f.acceleration_bias - c.bias[:3]).max() < 1e-6
    assert np.abs(f.rate_bias - c.bias[3:]).max() < 1e-6
    for name, limit in (("omega", 1e-5), ("omega_dot", 5e-4), ("specific_acceleration", 1e-4)):
        x, y = getattr(f.motion, name)[INNER], getattr(c.true, name)[INNER]
        assert np.abs(x - y).max() < limit * np.abs(y).max(), name
    assert f.motion.poses is not None
    assert np.abs(f.motion.poses.position - c.position).max() < 1e-6
    assert np.abs(log_rotation(f.motion.poses.rotation.swapaxes(1, 2) @ c.rotation)).max() < 1e-6


def test_pose_velocity_and_accelerations_belong_together() -> None:
    f = case(1, duration=4.0).fuse()
    assert f.motion.poses is not None
    again = pose_motion(f.motion.poses, gravity=DOWN, window_s=0.01, order=4).motion
    assert f.motion.velocity is not None
    assert again.velocity is not None
    pairs = {
        "velocity": (again.velocity, f.motion.velocity, 1e-4),
        "omega": (again.omega, f.motion.omega, 1e-4),
        "omega_dot": (again.omega_dot, f.motion.omega_dot, 0.02),
        "a": (again.specific_acceleration, f.motion.specific_acceleration, 0.01),
    }
    for name, (x, y, limit) in pairs.items():
        assert rms((x - y)[INNER]) < limit * rms(y[INNER]), name


def test_intervals_of_the_biases_hold_them() -> None:
    found = np.array([in_std(c, c.fuse()) for c in (case(seed, duration=3.0) for seed in range(10, 18))])
    # the mean square of 48 errors in standard deviations is one, within three of its own: 1 +- 3 sqrt(2 / 48)
    assert 0.39 < np.mean(found**2) < 1.61
    assert np.abs(found).max() < 3.5


def test_the_interval_is_that_of_a_dense_least_squares() -> None:
    """About the vertical a body at rest is one spline, one bias, rates and angles: small enough for NumPy."""
    rng = np.random.default_rng(20)
    t, t_imu = np.arange(200) / 100, np.arange(1000) / 500
    R = exp_rotation(NOISE.rotation * rng.normal(size=(200, 3)))
    poses = Poses(t, R, NOISE.position * rng.normal(size=(200, 3)))
    a, w = -DOWN + NOISE.acceleration * rng.normal(size=(1000, 3)), NOISE.rate * rng.normal(size=(1000, 3))
    f = fuse(poses, t_imu, a, w, np.eye(4), gravity=DOWN, noise=NOISE)
    knots = 0.02 * np.arange(-DEGREE, 100 + DEGREE + 1)
    basis = BSpline(knots, np.eye(100 + DEGREE), DEGREE)
    rows = np.vstack(
        [
            np.column_stack([basis(t_imu, nu=1), np.ones(1000)]) / NOISE.rate,
            np.column_stack([basis(t), np.zeros(200)]) / NOISE.rotation,
        ]
    )
    std = np.sqrt(np.linalg.inv(rows.T @ rows)[-1, -1])
    assert f.rate_bias_std[2] / max(1.0, *f.misfit.values()) == pytest.approx(std, rel=0.01)
    solution = np.linalg.lstsq(rows, np.concatenate([w[:, 2] / NOISE.rate, log_rotation(R)[:, 2] / NOISE.rotation]))[0]
    assert f.rate_bias[2] == pytest.approx(solution[-1], abs=0.02 * std)


def test_residuals_are_as_large_as_the_noise_and_fusion_beats_the_markers() -> None:
    c = case(2)
    f = c.fuse()
    assert all(0.9 < ratio < 1.05 for ratio in f.misfit.values())
    fused, by_markers = c.fuse(at_s=c.poses.times_s).motion, pose_motion(c.poses, gravity=DOWN, window_s=0.21).motion
    true = [getattr(c.true, n)[::5] for n in ("omega", "omega_dot", "specific_acceleration")]
    for motion, limit in ((fused, 0.02), (by_markers, 0.2)):
        found = [motion.omega, motion.omega_dot, motion.specific_acceleration]
        errors = [rms((x - y)[20:-20]) / rms(y - y.mean(axis=0)) for x, y in zip(found, true, strict=True)]
        assert max(errors) < limit
        assert (min(errors) > 0.005) == (motion is by_markers)


def test_measured_noise_serves_as_well_as_stated() -> None:
    c = case(3)
    f, stated = c.fuse(noise=None), c.fuse()
    for name in ("position", "rotation", "acceleration", "rate"):
        assert getattr(f.noise, name) == pytest.approx(getattr(NOISE, name), rel=0.1)
    assert rms(f.motion.omega - stated.motion.omega) < 0.1 * rms(stated.motion.omega - c.true.omega)


def test_hidden_markers_are_bridged_by_the_imu() -> None:
    c = case(4)
    hidden = (c.poses.times_s > 9) & (c.poses.times_s < 10.5)
    R, p = c.poses.rotation.copy(), c.poses.position.copy()
    R[hidden], p[hidden] = np.nan, np.nan
    f = Case(Poses(c.poses.times_s, R, p), *(getattr(c, n) for n in list(Case.__dataclass_fields__)[1:])).fuse()
    inside = (c.times > 9) & (c.times < 10.5)
    assert f.motion.poses is not None
    assert np.abs(f.motion.poses.position - c.position)[inside].max() < 2e-3
    assert rms((f.motion.specific_acceleration - c.true.specific_acceleration)[inside]) < NOISE.acceleration
    assert np.abs(in_std(c, f)).max() < 4


def test_lost_samples_of_the_imu_are_not_told() -> None:
    c = case(5, duration=4.0)
    c.acceleration[1000:1100] = np.nan
    c.rate[1500] = np.nan
    f = c.fuse()
    assert np.isnan(f.motion.omega[1010:1090]).all()
    assert np.isfinite(f.motion.omega[np.r_[0:1000, 1100:2000]]).all()
    assert rms((f.motion.omega - c.true.omega)[1480:1520]) < NOISE.rate
    outside = c.fuse(at_s=np.array([6.0, 8.0, 12.0])).motion
    assert np.isnan(outside.omega[[0, 2]]).all()
    assert np.isfinite(outside.specific_acceleration[1]).all()


def test_a_tilted_capture_frame_tells_the_same_with_gravity_tilted_alike() -> None:
    c = case(6, duration=4.0)
    Q = exp_rotation([0.3, -0.2, 2.0])
    tilted = Poses(c.poses.times_s, Q @ c.poses.rotation, c.poses.position @ Q.T + [3.0, 0.0, -1.0])
    one = c.fuse()
    other = fuse(tilted, c.times, c.acceleration, c.rate, T_BODY_IMU, gravity=Q @ DOWN, noise=NOISE)
    # to the tolerance of the iteration
    assert rms(one.motion.omega_dot - other.motion.omega_dot) < 1e-4 * rms(one.motion.omega_dot)
    assert np.abs(one.acceleration_bias - other.acceleration_bias).max() < 1e-2 * one.acceleration_bias_std.min()


@pytest.mark.parametrize("wrong", ["tilt", "arm", "clock"])
def test_instruments_that_contradict_each_other_show_it(wrong: str) -> None:
    c = case(7, duration=4.0)
    gravity = exp_rotation([0.05, 0.0, 0.0]) @ DOWN if wrong == "tilt" else DOWN
    T = T_BODY_IMU + (np.array([[0, 0, 0, 0.05], *[[0.0] * 4] * 3]) if wrong == "arm" else 0)
    times = c.times + (0.01 if wrong == "clock" else 0)
    f = fuse(c.poses, times, c.acceleration, c.rate, T, gravity=gravity, noise=NOISE)
    assert max(f.misfit.values()) > 1.5
    right = c.fuse()
    assert (f.acceleration_bias_std > 1.4 * right.acceleration_bias_std).all()


def test_what_cannot_be_fused_is_refused() -> None:
    c = case(8, duration=4.0)
    with pytest.raises(DataProblem, match=r"0 poses lie within the IMU's time. Align the clocks"):
        fuse(c.poses, c.times + 100, c.acceleration, c.rate, T_BODY_IMU, gravity=DOWN, noise=NOISE)
    kept = np.r_[0:500, 600 : len(c.times)]
    with pytest.raises(DataProblem, match="even clock"):
        fuse(c.poses, c.times[kept], c.acceleration[kept], c.rate[kept], T_BODY_IMU, gravity=DOWN, noise=NOISE)
    with pytest.raises(DataProblem, match="cannot follow 200 Hz"):
        c.fuse(bandwidth_hz=200.0)
    with pytest.raises(ValueError, match="gravity must be a vector"):
        c.fuse(gravity=G)
    with pytest.raises(DataProblem, match="IMU shows no noise at all"):
        fuse(c.poses, c.times, 0 * c.acceleration, 0 * c.rate, T_BODY_IMU, gravity=DOWN)


def test_splines_are_scipys() -> None:
    grid = Grid(2.0, 0.1, 30)
    c = np.random.default_rng(0).normal(size=(grid.size, 2))
    t = 2.0 + np.arange(240) / 80 + 0.003
    theirs = BSpline(2.0 + 0.1 * np.arange(-DEGREE, 30 + DEGREE + 1), c, DEGREE)
    interval, basis = grid.basis(t)
    near = c[interval[:, None] + np.arange(DEGREE + 1)]
    for d in range(3):
        assert np.abs(grid.values(c, t, d) - theirs(t, nu=d)).max() < 1e-9 * 10.0**d * 100
        assert np.abs(np.einsum("nk,nkc->nc", basis[d], near) - theirs(t, nu=d)).max() < 1e-9 * 10.0**d * 100
