"""Motion from poses and angles: exact where it can be, against closed formulas, SciPy and CasADi elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.signal import savgol_filter

from palpate.errors import DataProblem
from palpate.motion.derivatives import coordinate_motion, pose_motion, published_pose_motion, signal_bandwidth
from palpate.motion.imu import PARALLEL, imu_motion, resample_motion
from palpate.physics.motion import Motion, Poses, exp_rotation, transform, transport_acceleration
from palpate.twin.handle import random_hand
from studies import derivatives as study
from tests.conftest import needs

Array = NDArray[np.float64]
G = 9.80665
DOWN = (0.0, 0.0, -G)
AXIS = np.array([2.0, -1.0, 2.0]) / 3


def about(axis: Array, angle: Array) -> Array:
    return exp_rotation(angle[:, None] * axis)


def hand_poses(seed: int, rate: float = 100.0, duration: float = 16.0) -> tuple[Poses, Motion]:
    hand = random_hand(np.random.default_rng(seed), duration, G)
    t = np.arange(int(duration * rate)) / rate
    return Poses(t, hand.rotation(t), hand.coordinates(t)[0][3:].T), hand.motion(t)


def errors(motion: Motion, true: Motion, where: slice = slice(None)) -> Array:
    """Largest error of omega, omega_dot and a over the largest value."""
    names = ("omega", "omega_dot", "specific_acceleration")
    pairs = [(getattr(motion, n)[where], getattr(true, n)[where]) for n in names]
    return np.array([np.nanmax(np.abs(x - y)) / np.abs(y).max() for x, y in pairs])


@pytest.mark.parametrize("window_s", [0.05, 0.11, 0.31])
def test_polynomials_of_the_order_are_exact(window_s: float) -> None:
    t = np.arange(150) / 100
    angle = np.polynomial.Polynomial([0.3, -2.0, 4.0, 3.0, -4.0])
    path = np.polynomial.Polynomial([1.0, 0.5, -2.0, 1.0, 0.7])
    R = about(AXIS, angle(t))
    found = pose_motion(Poses(t, R, path(t)[:, None] * AXIS), gravity=DOWN, window_s=window_s)
    m, half = found.motion, round(100 * window_s) // 2
    inner = slice(half, 150 - half)
    assert m.poses is not None
    assert m.velocity is not None
    assert np.abs(m.poses.rotation - R)[inner].max() < 1e-12
    assert np.abs(m.omega - angle.deriv()(t)[:, None] * AXIS)[inner].max() < 1e-9
    assert np.abs(m.omega_dot - angle.deriv(2)(t)[:, None] * AXIS)[inner].max() < 1e-6
    world = path.deriv(2)(t)[:, None] * AXIS + [0, 0, G]
    assert np.abs(m.specific_acceleration - (world[:, None] @ R)[:, 0])[inner].max() < 1e-6
    # path and turn are along the same axis, so the body sees the velocity as the world does
    assert np.abs(m.velocity - path.deriv()(t)[:, None] * AXIS)[inner].max() < 1e-9
    assert np.isfinite(m.omega[:, 0]).sum() == 150 - 2 * half


@pytest.mark.parametrize("speed", [0.5, 9.0, 15.0, 40.0])
def test_steady_spin_is_exact_however_fast(speed: float) -> None:
    """15 rad/s turn by 4.6 rad in 0.31 s, more than a rotation vector holds; from a window's middle they do not."""
    window_s = 0.11 if speed > 20 else 0.31
    t = np.arange(400) / 100
    m = pose_motion(Poses(t, about(AXIS, speed * t), np.zeros((400, 3))), gravity=DOWN, window_s=window_s).motion
    inner = slice(15, -15)
    assert np.abs(m.omega[inner] - speed * AXIS).max() < 1e-9
    assert np.abs(m.omega_dot[inner]).max() < 1e-6


def test_a_turn_too_fast_for_the_window_is_not_told() -> None:
    t = np.arange(400) / 100
    angle = np.where(t < 2, 0.0, 25 * (t - 2))
    m = pose_motion(Poses(t, about(AXIS, angle), np.zeros((400, 3))), gravity=DOWN, window_s=0.31).motion
    assert np.abs(m.omega[15:180]).max() < 1e-9
    assert np.isnan(m.omega[220:-15]).all()


def test_a_spinning_top() -> None:
    """Rz(a t) Rx(b) Rz(c t): steady precession and spin, with omega from the textbook (Goldstein, 4.9)."""
    a, b, c = 6.0, 0.4, 14.0
    t = np.arange(600) / 200
    z, x = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    R = about(z, a * t) @ exp_rotation(b * x) @ about(z, c * t)
    s, k = np.sin(c * t), np.cos(c * t)
    omega = np.column_stack([a * np.sin(b) * s, a * np.sin(b) * k, np.full(len(t), c + a * np.cos(b))])
    omega_dot = np.column_stack([a * c * np.sin(b) * k, -a * c * np.sin(b) * s, np.zeros(len(t))])
    m = pose_motion(Poses(t, R, np.zeros((len(t), 3))), gravity=DOWN, window_s=0.035).motion
    assert np.nanmax(np.abs(m.omega - omega)) < 2e-5 * np.abs(omega).max()
    assert np.nanmax(np.abs(m.omega_dot - omega_dot)) < 2e-4 * np.abs(omega_dot).max()
    assert np.nanmax(np.abs(m.specific_acceleration - G * R[:, 2])) < 1e-6


def test_conical_motion() -> None:
    """An axis that moves on a cone without spin: R = Rz(a t) Rx(b) Rz(-a t)."""
    a, b = 8.0, 0.7
    t = np.arange(400) / 100
    z, x = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    R = about(z, a * t) @ exp_rotation(b * x) @ about(z, -a * t)
    omega = np.column_stack(
        [-a * np.sin(b) * np.sin(a * t), a * np.sin(b) * np.cos(a * t), 0 * t + a * (np.cos(b) - 1)]
    )
    m = pose_motion(Poses(t, R, np.zeros((len(t), 3))), gravity=DOWN, window_s=0.05).motion
    assert np.nanmax(np.abs(m.omega - omega)) < 1e-4 * a


def test_the_error_falls_with_the_fourth_power_of_the_window() -> None:
    poses, true = hand_poses(0)
    wide, narrow = (errors(pose_motion(poses, gravity=DOWN, window_s=w).motion, true) for w in (0.17, 0.09))
    assert (wide < 0.02).all()
    assert (narrow < wide / 9).all()


def test_agrees_with_differentiation_by_casadi() -> None:
    needs("casadi", "casadi")
    from tests.oracles.smooth_motion import smooth_motion

    t = np.arange(1000) / 200
    move = smooth_motion(t, seed=3, point=(0.1, -0.2, 0.3))
    m = pose_motion(Poses(t, move.R_world_body, move.position), gravity=DOWN, window_s=0.035).motion
    specific = ((move.acceleration - np.array(DOWN))[:, None] @ move.R_world_body)[:, 0]
    body_velocity = (move.velocity[:, None] @ move.R_world_body)[:, 0]
    assert errors(m, Motion(t, specific, move.omega, move.omega_dot)).max() < 1e-4
    assert m.velocity is not None
    assert np.nanmax(np.abs(m.velocity - body_velocity)) < 1e-6


def test_each_stretch_stands_alone_and_short_ones_stay_unknown() -> None:
    poses, _ = hand_poses(1)
    R, p = poses.rotation.copy(), poses.position.copy()
    R[400:420] = np.nan  # a gap,
    p[426] = np.nan  # a stretch of six samples, ...
    p[900, 1] = np.nan
    found = pose_motion(Poses(poses.times_s, R, p), gravity=DOWN, window_s=0.11)
    parts = [(0, 400), (427, 900), (901, 1600)]
    whole = np.zeros(1600, dtype=bool)
    for a, b in parts:
        alone = Poses(poses.times_s[a:b], R[a:b], p[a:b])
        m = pose_motion(alone, gravity=DOWN, window_s=0.11).motion
        assert np.nanmax(np.abs(found.motion.omega_dot[a:b] - m.omega_dot)) < 1e-9
        assert np.nanmax(np.abs(found.motion.specific_acceleration[a:b] - m.specific_acceleration)) < 1e-9
        whole[a + 5 : b - 5] = True
    for x in (found.motion.omega, found.motion.omega_dot, found.motion.specific_acceleration, found.motion.velocity):
        assert x is not None
        assert (np.isfinite(x).all(axis=1) == whole).all()


def test_a_jump_of_the_clock_splits_as_well() -> None:
    poses, true = hand_poses(2)
    kept = np.r_[0:500, 560:1600]
    cut = Poses(poses.times_s[kept], poses.rotation[kept], poses.position[kept])
    found = pose_motion(cut, gravity=DOWN, window_s=0.07)
    assert np.isnan(found.motion.omega[497:503]).all()
    at = np.isfinite(found.motion.omega[:, 0])
    assert at.sum() == len(kept) - 12
    assert np.abs(found.motion.omega - true.omega[kept])[at].max() < 2e-3 * np.abs(true.omega).max()


@given(tilt=st.tuples(*[st.floats(-3, 3)] * 3), turn=st.tuples(*[st.floats(-2, 2)] * 3))
@settings(max_examples=15, phases=[Phase.explicit, Phase.generate])
def test_neither_the_capture_frame_nor_the_body_frame_matter(tilt: tuple[float, ...], turn: tuple[float, ...]) -> None:
    """A tilted capture frame with gravity tilted alike tells the same motion; another body frame, the moved one."""
    poses, _ = hand_poses(3)
    moving = slice(600, 900)
    poses = Poses(poses.times_s[moving], poses.rotation[moving], poses.position[moving])
    m = pose_motion(poses, gravity=DOWN, window_s=0.09).motion
    Q = exp_rotation(np.array(tilt))
    tilted = Poses(poses.times_s, Q @ poses.rotation, poses.position @ Q.T + [1, 2, 3])
    same = pose_motion(tilted, gravity=Q @ DOWN, window_s=0.09).motion
    assert errors(same, _finite(m), slice(4, -4)).max() < 1e-7

    T = transform(exp_rotation(np.array(turn)), [0.1, -0.3, 0.2])
    other = pose_motion(poses.attached(T), gravity=DOWN, window_s=0.09).motion
    moved = transport_acceleration(m.specific_acceleration, m.omega, m.omega_dot, T[:3, 3])
    expected = [x @ T[:3, :3] for x in (moved, m.omega, m.omega_dot)]
    # a polynomial of the turned arm is not the turned arm of a polynomial: equal to the order of the fit
    assert errors(other, _finite(Motion(m.times_s, *expected)), slice(4, -4)).max() < 5e-3


def _finite(m: Motion) -> Motion:
    return Motion(m.times_s, *(np.nan_to_num(x) for x in (m.specific_acceleration, m.omega, m.omega_dot)))


def test_markers_and_imu_tell_the_same_motion() -> None:
    hand = random_hand(np.random.default_rng(5), 16.0, G)
    t, t_imu = np.arange(1600) / 100, np.arange(16000) / 1000
    a, w, _ = study.imu_signals(hand, t_imu, np.random.default_rng(0), noise=0.0)
    by_imu = resample_motion(imu_motion(t_imu, a, w, study.T_BODY_IMU, PARALLEL), t, reach_s=0.021)
    by_markers = pose_motion(
        study.marker_poses(hand, t, np.random.default_rng(1), noise=0.0), gravity=DOWN, window_s=0.07
    ).motion
    assert errors(by_markers, _finite(by_imu), slice(10, -10)).max() < 1e-3


def test_published_door_is_scipys_savitzky_golay() -> None:
    t = np.arange(500) / 100
    angle = np.sin(2 * t) + 0.001 * np.random.default_rng(0).normal(size=500)
    m = coordinate_motion(t, angle, window_s=0.31, order=4, ends=True)
    for d, x in enumerate((m.position, m.speed, m.acceleration)):
        theirs = savgol_filter(angle, 31, 4, deriv=d, delta=0.01)
        assert np.abs(x - theirs).max() < 1e-8 * np.abs(theirs).max()
    inner = np.isfinite(coordinate_motion(t, angle, window_s=0.31).speed)
    assert inner[15:-15].all()
    assert inner.sum() == 470


def test_published_wheelbarrow_is_central_differences_then_savitzky_golay() -> None:
    poses, true = hand_poses(6)
    m = published_pose_motion(poses, gravity=DOWN, window=11, order=4).motion
    dt, inner = 0.01, slice(20, -20)
    slope = (poses.rotation[2:] - poses.rotation[:-2]) / (2 * dt)
    spin = np.einsum("nji,njk->nik", poses.rotation[1:-1], slope)
    z = savgol_filter((spin[:, 1, 0] - spin[:, 0, 1]) / 2, 11, 4)
    assert np.abs(m.omega[1:-1][inner, 2] - z[inner]).max() < 1e-9
    z_dot = savgol_filter(np.gradient(z, dt), 11, 4)
    assert np.abs(m.omega_dot[1:-1][inner, 2] - z_dot[inner]).max() < 1e-7
    assert (errors(m, true, inner) > errors(pose_motion(poses, gravity=DOWN, window_s=0.11).motion, true)).all()


def test_an_angle_with_gaps_and_its_own_window() -> None:
    t = np.arange(4000) / 100
    rng = np.random.default_rng(0)
    angle = 0.7 * np.sin(1.3 * t) + 0.1 * np.sin(9 * t) + 3e-4 * rng.normal(size=4000)
    angle[1000:1050] = np.nan
    m, chosen = coordinate_motion(t, angle), signal_bandwidth(t, angle)
    stated = coordinate_motion(t, angle, window_s=chosen.window_s)
    assert np.array_equal(m.acceleration, stated.acceleration, equal_nan=True)
    assert np.isnan(m.acceleration[1000:1050]).all()
    best = coordinate_motion(t, angle, window_s=chosen.best_window_s)
    true = -0.7 * 1.69 * np.sin(1.3 * t) - 8.1 * np.sin(9 * t)
    assert np.sqrt(np.nanmean((best.acceleration - true) ** 2)) < 0.05 * true.std()


def test_default_and_fusion_beat_the_published_windows() -> None:
    for r in study.run(range(1)):
        published = [r.outcomes["published, 11 samples"], r.outcomes["published, 31 samples"]]
        default, fusion = r.outcomes["default: light window, low-pass"], r.outcomes["fusion, low-pass"]
        for other in published:
            assert all(default.motion[q] < 0.7 * other.motion[q] for q in study.QUANTITIES)
            assert abs(default.inertia) < 0.3 * abs(other.inertia)
            assert default.com < 0.5 * other.com
        assert max(abs(default.mass), abs(default.inertia)) < 2e-3
        assert max(abs(fusion.mass), abs(fusion.inertia), fusion.com) < 2e-4
        assert all(fusion.motion[q] < 0.3 * default.motion[q] for q in study.QUANTITIES)
    assert "| fusion, low-pass |" in study.table([r])


def _uneven(t: Array) -> Array:
    return t + 0.004 * (np.arange(len(t)) == 3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_uneven, "not sampled evenly: a step of (14|6) ms at 0.0[23]. s, the usual one is 10 ms"),
        (lambda t: t[:2], "2 samples are too few"),
        (lambda t: t[::-1], "do not increase"),
    ],
)
def test_a_clock_that_is_not_even_is_refused(change: Callable[[Array], Array], said: str) -> None:
    t = change(np.arange(100) / 100)
    poses = Poses(t, np.tile(np.eye(3), (len(t), 1, 1)), np.zeros((len(t), 3)))
    with pytest.raises(DataProblem, match=said):
        pose_motion(poses, gravity=DOWN, window_s=0.1)


def test_several_coordinates_are_differentiated_as_each_alone() -> None:
    t = np.arange(3000) / 100
    rng = np.random.default_rng(5)
    x = np.stack([np.sin(2 * t), 0.2 * np.cos(5 * t)], axis=1) + rng.normal(size=(len(t), 2)) * [1e-4, 3e-4]
    x[1000:1040, 1] = np.nan
    both = coordinate_motion(t, x, window_s=0.11)
    for j in range(2):
        alone = coordinate_motion(t, x[:, j], window_s=0.11)
        for name in ("position", "speed", "acceleration"):
            assert np.array_equal(getattr(alone, name), getattr(both, name)[:, j], equal_nan=True)
    assert np.isfinite(both.speed[1020, 0])
    assert np.isnan(both.speed[1020, 1])


def test_one_window_suits_coordinates_of_several_units() -> None:
    t = np.arange(6000) / 100
    rng = np.random.default_rng(6)
    x = np.stack([np.sin(3 * t) * np.cos(0.7 * t), 0.1 * np.cos(2.3 * t) * np.sin(0.9 * t)], axis=1)
    x += rng.normal(size=x.shape) * [1e-3, 1e-4]
    chosen = signal_bandwidth(t, x, units={"hinge": "rad", "slide": "m"})
    assert [(name, s.unit) for name, s in chosen.spectra.items()] == [("hinge", "rad"), ("slide", "m")]
    one = signal_bandwidth(t, x[:, 0])
    assert chosen.spectra["hinge"].noise_std == one.spectra["signal"].noise_std


def test_what_does_not_fit_is_refused() -> None:
    poses, m = hand_poses(7, duration=12.0)
    with pytest.raises(ValueError, match="gravity must be a vector"):
        pose_motion(poses, gravity=9.81, window_s=0.1)
    with pytest.raises(DataProblem, match="must be positive"):
        pose_motion(poses, gravity=DOWN, window_s=-1.0)
    later = Poses(poses.times_s + 1, poses.rotation, poses.position)
    with pytest.raises(ValueError, match="same times"):
        Motion(m.times_s, m.specific_acceleration, m.omega, m.omega_dot, later)
    with pytest.raises(ValueError, match="velocity has shape"):
        Motion(m.times_s, m.specific_acceleration, m.omega, m.omega_dot, poses, m.omega[1:])


def test_an_order_that_is_odd_gets_a_window_that_holds_it() -> None:
    poses, true = hand_poses(8)
    found = pose_motion(poses, gravity=DOWN, window_s=0.02, order=3)
    assert found.window_s == pytest.approx(0.05)
    assert errors(found.motion, true)[0] < 1e-2
