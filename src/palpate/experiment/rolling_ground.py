"""What a rolling object says about the ground: where up is, when feet stand on it, and how large its wheel is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.findings import Finding, Severity
from palpate.identify.balance import Segment
from palpate.motion.derivatives.differentiate import stretches, window_samples
from palpate.motion.derivatives.filters import derivative_noise, signal_noise
from palpate.motion.frames.roles import Tilt
from palpate.physics.arrays import BoolArray, FloatArray, least_squares, symmetric_inverse
from palpate.physics.motion import Motion
from palpate.physics.poses import Poses
from palpate.physics.so3 import exp_rotation

LEVEL_RAD = np.radians(0.1)
"""How far off level a laboratory's floor may be: two millimetres a metre."""
CAPTURE_RAD = np.radians(1.0)
"""How far off z of a capture frame that was set up on the floor may be: all that is known across a straight path."""
BOARD_M = 5e-4
"""Unevenness of a floor, beside the markers' noise."""
SURE, SHRUNK = 4.0, 3.0
DOWN_M = 0.005
"""A foot that is not higher than this above where it stands may touch the ground."""
RESTS_S = 0.3
NEAR_M = 0.04
"""A marker on a foot is not higher than this above the floor while the foot stands on it."""
RADIUS_HINT, RADIUS_OFF = 0.01, 0.05
"""Shares by which the no-slip condition asks for another radius: friction and inertia are off by as much, which is
told; beyond the second something is wrong."""
PIECE_S, NOISE_S = 1.0, 0.11
SLOW_S = 0.4
"""Window of the derivatives by which a radius is judged: noise of a turn's speed would make the wheel look smaller."""


@dataclass(frozen=True, slots=True, eq=False)
class Vertical:
    """Up in the capture frame, with what it was taken from."""

    up: FloatArray
    std_rad: float
    told: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FeetDown:
    """When feet are on the ground, and where on the object they touch it."""

    grounded: BoolArray
    """(samples,)."""
    points: tuple[tuple[float, float, float], ...]
    """m in the object's frame, left first; none where it never stands."""
    findings: tuple[Finding, ...] = ()


def vertical_of(axle: Poses, tilt: Tilt | None) -> Vertical:
    """Up, from the plane in which the axle's middle rolls, the IMU and the capture frame, each as good as it can be.

    A wheel that stays on a level floor keeps its middle at one height: the plane's normal is up as far as the floor is
    level. An accelerometer's zero tells up to a few tenths of a degree.
    """
    seen = axle.seen
    normal, covariance = _plane(axle.position[seen], _seconds(axle))
    slope = np.array([normal[0], normal[1]])
    information, total = symmetric_inverse(covariance), np.zeros(2)
    total += information @ slope
    told = f"floor under the wheel {np.degrees(np.hypot(*slope)):.2f} deg off the capture frame's z"
    findings: list[Finding] = []
    if tilt is not None:
        other, own = np.array([tilt.up[0], tilt.up[1]]), _swapped(tilt.covariance)
        apart, std = other - slope, np.sqrt(np.diag(own + covariance))
        if np.any(np.abs(apart) > SURE * std):
            findings.append(
                Finding(
                    "vertical",
                    f"by the IMU up is {np.degrees(np.hypot(*apart)):.2f} deg off the normal of the floor on which the "
                    "wheel rolls: the floor slopes, or the accelerometer's zero is off (accelerometer_zero)",
                )
            )
        information = information + symmetric_inverse(own)
        total += symmetric_inverse(own) @ other
        told += f", by the IMU {np.degrees(np.hypot(*other)):.2f} deg"
    information = information + np.eye(2) / CAPTURE_RAD**2
    found = symmetric_inverse(information) @ total
    up = np.array([found[0], found[1], 1.0])
    std = float(np.sqrt(np.diag(symmetric_inverse(information)).max()))
    return Vertical(up / np.linalg.norm(up), std, told, tuple(findings))


def _plane(points: FloatArray, seconds: float) -> tuple[FloatArray, FloatArray]:
    """Unit normal of the plane through points (n, 3), and the covariance (2, 2) of its slopes along x and y."""
    middle = points.mean(axis=0)
    away = points - middle
    slopes = least_squares(away[:, :2], away[:, 2])
    left = float(np.std(away[:, 2] - away[:, :2] @ slopes))
    # neighbours in time say the same, and so do neighbours on the floor
    scatter = away[:, :2].T @ away[:, :2] / len(away) * max(seconds / PIECE_S, 1.0)
    covariance = (left**2 + BOARD_M**2) * symmetric_inverse(scatter + 1e-12 * np.eye(2)) + LEVEL_RAD**2 * np.eye(2)
    normal = np.array([-slopes[0], -slopes[1], 1.0])
    return normal / np.linalg.norm(normal), np.asarray(covariance, dtype=float)


def _seconds(poses: Poses) -> float:
    return float(poses.seen.mean() * (poses.times_s[-1] - poses.times_s[0]))


def _swapped(covariance: FloatArray) -> FloatArray:
    """Of rotations about x and y -> of up's components: up = (y, -x, 1)."""
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    return turn @ covariance @ turn.T


def level_poses(poses: Poses, vertical: Vertical) -> Poses:
    """The same poses in a world whose z is up."""
    up = vertical.up
    axis = np.array([up[1], -up[0], 0.0])
    sine = float(np.hypot(up[0], up[1]))
    R = np.eye(3) if sine < 1e-12 else exp_rotation(axis / sine * float(np.arctan2(sine, up[2])))
    return Poses(poses.times_s, R @ poses.rotation, poses.position @ R.T)


def feet_down(poses: Poses, places: FloatArray, static: Segment | None, radius_m: float) -> FeetDown:
    """Feet (n, 3, m, markers near them in the object's frame) that are as low as where they stand.

    They stand in the static segment, or where they are lowest and stay for a while, near the floor under the wheel.
    """
    grounded, points = np.zeros(len(poses), dtype=bool), list[tuple[float, float, float]]()
    times, high = poses.times_s, list[float]()
    for place in places[np.argsort(-places[:, 2])]:
        if not np.isfinite(place).all():
            continue
        height = (poses.position + poses.rotation @ place)[:, 2]
        lowest = float(np.nanpercentile(height, 0.5))
        at, stands = np.isfinite(height) & (np.abs(height - lowest) < DOWN_M), False
        if static is not None:
            inside = np.isfinite(height) & (times >= static[0]) & (times < static[1])
            if inside.any() and float(np.median(height[inside])) < lowest + 2 * DOWN_M:
                lowest, at, stands = float(np.median(height[inside])), inside, True
        rests = stretches(times, at, max(3, round(RESTS_S / float(np.median(np.diff(times))))))
        if not rests:
            continue
        still = np.concatenate([np.arange(a, b) for a, b in rests])
        floor = float(poses.position[still, 2].mean()) - radius_m
        if not stands and lowest - floor > NEAR_M:
            high.append(lowest - floor)
            continue
        grounded |= np.isfinite(height) & (height < lowest + DOWN_M)
        up = poses.rotation[still, 2, :].mean(axis=0)
        x, y, z = (place - (lowest - floor) * up).tolist()
        points.append((x, y, z))
    return FeetDown(grounded, tuple(points), _never_down(high))


def _never_down(high: list[float]) -> tuple[Finding, ...]:
    """Words for feet whose markers stay that far above the floor, m."""
    if not high:
        return ()
    told = (
        f"markers.feet: never nearer than {100 * min(high):.0f} cm to the floor on which the wheel rolls: they are "
        "taken to be in the air all the time, and where they touch the ground is not known; record it standing "
        "(segments.static)"
    )
    return (Finding("feet", told),)


def lean_noise(poses: Poses, order: int) -> float:
    """rad/s: what noise of the poses leaves of the rate of leaning with the window `SLOW_S`."""
    rate = (len(poses) - 1) / float(poses.times_s[-1] - poses.times_s[0])
    short, long = (window_samples(w, rate, order) for w in (NOISE_S, SLOW_S))
    lean = np.arcsin(np.clip(poses.rotation[:, 2, 2], -1.0, 1.0))
    return derivative_noise(signal_noise(lean, short, order), long, order, 1, rate)


def wheel_findings(motion: Motion, used: BoolArray, radius_m: float, noise: float = 0.0) -> list[Finding]:
    """The radius that rolling without slip asks for: the middle of the axle moves aside by v_y = -R camber rate.

    motion: differentiated with the window `SLOW_S`; noise: of the camber rate, rad/s (`lean_noise`).
    """
    assert motion.poses is not None
    assert motion.velocity is not None
    R = motion.poses.rotation[used]
    y = R[:, :, 2] * [1.0, 1.0, 0.0]
    y = y / np.linalg.norm(y, axis=1, keepdims=True)
    x = np.cross(y, [0.0, 0.0, 1.0])
    aside = np.einsum("ni,nij,nj->n", y, R, motion.velocity[used])
    leaning = np.einsum("ni,nij,nj->n", x, R, motion.omega[used])
    if len(leaning) < 100 or not np.std(leaning) > 0:
        return []
    found = -float(aside @ leaning / (leaning @ leaning))
    scores = leaning * (aside + found * leaning)
    rate = 1 / float(np.median(np.diff(motion.times_s)))
    piece = np.arange(len(scores)) // max(1, round(PIECE_S * rate))
    std = float(np.sqrt(np.sum(np.bincount(piece, scores) ** 2)) / (leaning @ leaning))
    # noise of a regressor shrinks the slope by its share of the squares, or less where the axle shakes along
    shrunk = SHRUNK * radius_m * noise**2 * len(leaning) / float(leaning @ leaning)
    off, unsure = abs(found - radius_m), SURE * std + shrunk
    if not off > max(RADIUS_HINT * radius_m, unsure):
        return []
    fatal = off > max(RADIUS_OFF * radius_m, unsure)
    told = (
        f"when the object leans, its axle moves aside as on a wheel of {1e3 * found:.1f} mm "
        f"(+- {1e3 * (1.96 * std + shrunk):.1f}), the radius is stated as {1e3 * radius_m:.1f} mm: measure it again "
        "under its load (markers.axle.radius), or the wheel slips or is no sphere"
    )
    if not fatal:
        told += "; a wrong one puts friction and inertia off by as large a share, which their intervals do not hold"
    return [Finding("wheel-radius", told, severity=Severity.FATAL if fatal else Severity.WARNING)]
