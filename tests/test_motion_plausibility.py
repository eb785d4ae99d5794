"""An IMU's own signals tell wrong units, signs and axes, and nothing is said about right ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from palpate.findings import Finding
from palpate.motion.plausibility import check_imu, gyro_scale
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import transport_acceleration
from palpate.recording import load
from palpate.twin.handle import HandMotion, random_hand
from palpate.twin.instruments import Instruments, imu_signals

Imu = tuple[FloatArray, FloatArray, FloatArray]
Fault = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
RATE_HZ, DURATION_S, G = 100.0, 35.0, 9.80665


def signals(hand: HandMotion, rng: np.random.Generator, *, duration_s: float = DURATION_S) -> Imu:
    """What an IMU beside the origin, in any orientation, stores of a hand's motion."""
    tools = Instruments()
    t = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    m = hand.motion(t)
    a = transport_acceleration(m.specific_acceleration, m.omega, m.omega_dot, np.array([-0.0861, 0.0125, -0.0290]))
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    R *= np.sign(np.linalg.det(R))
    a_zero, w_zero = rng.normal(0, tools.acceleration_zero, 3), rng.normal(0, tools.rate_zero, 3)
    a = a @ R + a_zero + rng.normal(0, tools.acceleration_noise, a.shape)
    return t, a, m.omega @ R + w_zero + rng.normal(0, tools.rate_noise, a.shape)


@lru_cache(maxsize=64)
def vigorous(seed: int) -> Imu:
    rng = np.random.default_rng([seed, 11])
    return signals(random_hand(rng, DURATION_S, G), rng)


def scaled(hand: HandMotion, rows: slice, columns: slice, factor: float) -> HandMotion:
    amplitude = hand.amplitude.copy()
    amplitude[rows, columns] *= factor
    return replace(hand, amplitude=amplitude)


@pytest.mark.parametrize("seed", [*range(5), 39])  # the last one shook in step with its calm parts
def test_a_right_imu_is_not_accused(seed: int) -> None:
    t, a, w = vigorous(seed)
    assert check_imu(t, a, w) == ()
    moving = slice(7 * 100, -7 * 100)  # without the still beginning and end
    assert check_imu(t[moving], a[moving], w[moving]) == ()


FAULTS: dict[int, tuple[Fault, str, str]] = dict(
    enumerate(
        [
            (lambda a, w: (a / G, w), "gravity", "it looks like g, not m/s2; state its unit as gn"),
            (lambda a, w: (a * G, w), "gravity", "converted from g to m/s2 twice"),
            (lambda a, w: (a * 1.5, w), "gravity", "its scale is off by a factor of 1."),
            (lambda a, w: (a, np.rad2deg(w)), "gyro-scale", "it looks like deg/s taken for rad/s"),
            (lambda a, w: (a, np.deg2rad(w)), "gyro-scale", "it looks like rad/s taken for deg/s"),
            (lambda a, w: (a, 2 * w), "gyro-scale", "check its unit, range"),
            (lambda a, w: (a, -w), "gyro-sign", "left-handed or has flipped signs"),
            (lambda a, w: (a, w[:, [1, 0, 2]]), "gyro-axes", "gyroscope: its axes look swapped"),
            (lambda a, w: (a, w[:, [1, 2, 0]]), "gyro-axes", "read its x, y, z as z, x, y, or"),
            (lambda a, w: (a, w * [1, 1, -1]), "gyro-axes", "gyroscope: its axes look flipped"),
            (lambda a, w: (a * [-1, 1, 1], w), "gyro-axes", "accelerometer: its axes look flipped"),
        ]
    )
)


@pytest.mark.parametrize("i", FAULTS)
def test_every_fault_is_found_and_named(i: int) -> None:
    fault, gate, words = FAULTS[i]
    t, a, w = vigorous(i % 3)
    (finding,) = check_imu(t, *fault(a, w))
    assert (finding.cause, finding.fatal) == (gate, True)
    assert words in finding.sentence


@pytest.mark.parametrize("seed", range(4))
def test_two_faults_at_once_are_told_apart(seed: int) -> None:
    t, a, w = vigorous(seed)
    gravity, scale, axes = check_imu(t, a / G, np.rad2deg(w[:, [1, 0, 2]]))
    assert (gravity.cause, scale.cause, axes.cause) == ("gravity", "gyro-scale", "gyro-axes")
    assert "taken for rad/s" in scale.sentence
    assert "x and y exchanged; read its x, y, z as y, x, z" in axes.sentence


@pytest.mark.parametrize(
    ("factor", "fatal"), [(0.95, False), (1.05, False), (0.985, None), (1.015, None), (0.88, True), (1.12, True)]
)
def test_gravity_off_by_a_little_is_a_warning(factor: float, fatal: bool | None) -> None:
    t, a, w = vigorous(1)
    assert [f.fatal for f in check_imu(t, a * factor, w)] == ([] if fatal is None else [fatal])


@pytest.mark.parametrize("seed", range(4))
def test_removed_gravity_is_noticed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    (finding,) = check_imu(*signals(random_hand(rng, DURATION_S, 0.0), rng))
    assert finding.cause == "gravity"
    assert "gravity has been removed" in finding.sentence


@pytest.mark.parametrize("seed", [10, 13, 31])  # these fooled earlier versions
@pytest.mark.parametrize("rows", [slice(0, 3), slice(0, 2)], ids=["no turning", "about the vertical only"])
def test_nothing_is_said_about_a_gyroscope_where_gravity_does_not_turn(seed: int, rows: slice) -> None:
    rng = np.random.default_rng(seed)
    hand = scaled(random_hand(rng, DURATION_S, G), rows, slice(None), 0.0)
    hand = scaled(hand, slice(3, 6), slice(0, 3), 25.0)  # pushed to and fro by a metre
    t, a, w = signals(hand, rng)
    for factor in {10: (1.0, 57.3), 13: (-1.0, 1 / 57.3), 31: (57.3, -1.0)}[seed]:
        assert check_imu(t, a, factor * w) == ()


@pytest.mark.parametrize("seed", range(5))
def test_turning_about_one_axis_shows_its_own_sign_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    hand = scaled(random_hand(rng, DURATION_S, G), slice(1, 3), slice(None), 0.0)
    t, m = np.arange(3500) / RATE_HZ, hand.motion(np.arange(3500) / RATE_HZ)
    a, w = m.specific_acceleration, m.omega + rng.normal(0, 0.01, m.omega.shape)
    assert check_imu(t, a, w * [1, -1, -1]) == ()
    (finding,) = check_imu(t, a, w * [-1, 1, 1])
    assert "x flipped" in finding.sentence


def test_a_cart_that_pitches_as_it_brakes_is_not_taken_for_a_turning_one() -> None:
    """Its small pitch, fifty times larger, would explain its acceleration as gravity."""
    t = np.arange(3500) / RATE_HZ
    push = 0.15 * G * np.sin(0.6 * t)
    a = np.stack([push, 0 * t, G + 0 * t], axis=1)
    pitch_rate = np.gradient(push / G, t) / 57.3
    for sign in (1, -1):
        assert check_imu(t, a, np.stack([0 * t, sign * pitch_rate, 0 * t], axis=1)) == ()


@pytest.mark.parametrize("seed", range(5))
def test_twelve_seconds_are_enough_for_a_wrong_sign(seed: int) -> None:
    rng = np.random.default_rng([seed, 12])
    t, a, w = signals(random_hand(rng, 12.0, G, still_s=-2.0), rng, duration_s=12.0)
    assert check_imu(t, a, w) == ()
    assert [f.cause for f in check_imu(t, a, -w)] == ["gyro-sign"]


@lru_cache(maxsize=64)
def handle_imu(seed: int, *, poor: bool = False, tools: Instruments | None = None, shake: float = 1.0) -> Imu:
    """An IMU on a handle, 70 s at 100 Hz, as twins write it."""
    rng = np.random.default_rng([seed, 13])
    hand = scaled(random_hand(rng, 70.0, G, poor=poor), slice(3, 6), slice(3, None), shake)
    t = np.arange(7000) / 100.0
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    R *= np.sign(np.linalg.det(R))
    a, w, _ = imu_signals(rng, tools or Instruments(), hand.motion(t), R, np.array([-0.0861, 0.0125, -0.0290]))
    return t, a, w


def about_the_gyroscope(t: FloatArray, a: FloatArray, w: FloatArray) -> list[Finding]:
    """A zero error of 2 % of gravity is rightly named as such."""
    return [finding for finding in check_imu(t, a, w) if finding.cause != "gravity"]


BAD_ZEROS = Instruments(acceleration_zero=0.2, rate_zero=0.02)


@pytest.mark.parametrize("seed", range(6))
def test_the_scale_of_a_right_gyroscope_is_not_accused(seed: int) -> None:
    assert about_the_gyroscope(*handle_imu(seed)) == []
    harder = [{"poor": True}, {"tools": BAD_ZEROS}, {"shake": 5.0}][seed % 3]
    assert about_the_gyroscope(*handle_imu(seed, **harder)) == []


@pytest.mark.parametrize(
    ("factor", "fatal"), [(1.05, True), (0.95, True), (1.025, False), (0.975, False), (1.005, None), (0.995, None)]
)
def test_a_wrong_scale_of_the_gyroscope_is_found(factor: float, fatal: bool | None) -> None:
    for tools, shake in ((BAD_ZEROS, 1.0), (None, 1.0 if factor > 1 else 5.0)):
        t, a, w = handle_imu(1, tools=tools, shake=shake)
        assert [f.fatal for f in about_the_gyroscope(t, a, factor * w)] == ([] if fatal is None else [fatal])


def test_the_scale_and_its_uncertainty_are_right() -> None:
    z: list[float] = []
    for seed in range(6):
        _, a, w = handle_imu(seed, tools=BAD_ZEROS)
        found = gyro_scale(a, w * [1.03, 0.98, 1.0], 100.0)
        assert found is not None
        assert (found.stds < 0.015).all()  # five stretches that also tell 25 other errors
        z += ((found.errors - [0.03, -0.02, 0.0]) / found.stds).tolist()
    assert 0.2 < np.sqrt(np.mean(np.square(z))) < 1.3


def hinged(seed: int, tilt_deg: float) -> Imu:
    """An IMU on a lid or door: swung 0.6 rad (RMS) about a hinge at this angle from the vertical, 0.7 m away."""
    rng, t = np.random.default_rng([seed, 14]), np.arange(7300) / 100.0
    wave = 2 * np.pi * rng.uniform(0.1, 0.8, 6)
    size = rng.normal(size=6) / wave
    size *= 0.6 / np.sqrt((size**2).sum() / 2)
    phase = wave * t[:, None] + rng.uniform(0, 6, 6)
    angle, speed = (size * np.sin(phase)).sum(axis=1), (size * wave * np.cos(phase)).sum(axis=1)
    faster = -(size * wave**2 * np.sin(phase)).sum(axis=1)
    r = np.array([0.7, 0.1, 0.0]) + rng.normal(0, 0.1, 3)
    up = G * np.array([np.sin(np.radians(tilt_deg)), 0.0, np.cos(np.radians(tilt_deg))])
    cos, sin = np.cos(angle), np.sin(angle)
    a = np.stack([cos * up[0], -sin * up[0], up[2] + 0 * t], axis=1)
    a += faster[:, None] * [-r[1], r[0], 0] - (speed**2)[:, None] * [r[0], r[1], 0]
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    R *= np.sign(np.linalg.det(R))
    wrong = np.eye(3) + rng.normal(0, 0.005, (3, 3))  # of the accelerometer
    a = a @ R @ wrong.T + rng.normal(0, 0.03, 3) + rng.normal(0, 0.006, a.shape)
    return t, a, speed[:, None] * R[2] + rng.normal(0, 0.005, 3) + rng.normal(0, 0.002, a.shape)


@pytest.mark.parametrize("tilt_deg", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("factor", [1.0, 1.05, 1.2])
def test_a_door_says_nothing_about_the_scale(tilt_deg: float, factor: float) -> None:
    t, a, w = hinged(round(20 * factor) % 2, tilt_deg)
    assert gyro_scale(a, factor * w, 100.0) is None
    assert check_imu(t, a, factor * w) == ()


def test_a_lid_tells_the_scale_about_its_hinge_as_well_as_it_claims() -> None:
    told: list[float] = []
    for seed, tilt_deg, factor in ((0, 90, 1.0), (1, 90, 1.05), (3, 90, 1.2), (0, 45, 1.05)):
        t, a, w = hinged(seed, tilt_deg)
        found = gyro_scale(a, factor * w, 100.0)
        assert found is not None
        assert abs(found.error - factor + 1) < 3 * found.std
        told += [factor] * len(check_imu(t, a, factor * w))
    assert 1.2 in told
    assert 1.0 not in told


def test_one_axis_off_is_named() -> None:
    t, a, w = handle_imu(3)
    (finding,) = check_imu(t, a, w * [1.0, 1.08, 1.0])
    assert finding.fatal
    assert "scale about y is off by +8." in finding.sentence or "scale about y is off by +7." in finding.sentence


@pytest.mark.parametrize("seed", range(4))
def test_scales_and_axes_of_the_accelerometer_are_not_blamed_on_the_gyroscope(seed: int) -> None:
    t, a, w = handle_imu(seed)
    M = np.eye(3) + np.random.default_rng(seed).normal(0, 0.005, (3, 3))
    assert check_imu(t, a @ M.T, w) == ()


@pytest.mark.parametrize("seed", range(4))
def test_a_barrow_that_is_pushed_and_tilted_is_not_accused(seed: int) -> None:
    """Metres of travel beside the tilting: too much path to tell a scale, whatever the gyroscope says."""
    rng = np.random.default_rng(seed)
    hand = scaled(random_hand(rng, 70.0, G), slice(0, 3), slice(0, 3), 0.4)
    hand = scaled(hand, slice(3, 6), slice(0, 3), 15.0)
    t = np.arange(7000) / 100.0
    m = hand.motion(t)
    assert about_the_gyroscope(t, m.specific_acceleration, 1.03 * m.omega) == []


def test_gaps_are_left_out_and_short_recordings_say_nothing() -> None:
    t, a, w = vigorous(2)
    holes = a.copy()
    holes[1500:1550] = np.nan
    assert check_imu(t, holes, w) == ()
    (finding,) = check_imu(t, holes, -w)
    assert finding.cause == "gyro-sign"
    for n in (0, 1, 2, 150):
        assert check_imu(t[:n], a[:n], -w[:n]) == ()
    assert check_imu(t, np.full_like(a, np.nan), w) == ()


@pytest.mark.real
def test_a_real_log_fits_once_its_units_are_read(real_folder: Path) -> None:
    """x-io's log: turned about x, then y, then spun like a centrifuge, 0.8 g outwards for 5 s."""
    recording = load(real_folder / "xio_imu" / "sensor_data.csv")
    stored = recording.stack([f"{kind} {axis}" for kind in ("Accelerometer", "Gyroscope") for axis in "XYZ"])
    stamps = recording.one_clock().times_s
    t = np.arange(stamps[0], stamps[-1], 0.01)
    a, w = np.split(np.array([np.interp(t, stamps, column) for column in stored.T]).T, 2, axis=1)
    assert check_imu(t, a, w) == ()
    for fault, gate in [
        ((a / G, w), "gravity"),
        ((a, np.rad2deg(w)), "gyro-scale"),
        ((a, np.deg2rad(w)), "gyro-scale"),
        ((a, -w), "gyro-sign"),
        ((a, w[:, [1, 0, 2]]), "gyro-axes"),
    ]:
        assert [f.cause for f in check_imu(t, *fault)] == [gate]
