"""A body that a hand moves, as motion capture and an IMU see it, with everything that real ones do wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from palpate.motion.clock import ClockMap, clock_map
from palpate.physics.motion import Poses, transport_acceleration
from palpate.twin.handle import HandMotion, random_hand

Array = NDArray[np.float64]
G = 9.80665


@dataclass(frozen=True)
class Capture:
    """What was recorded, and the truth."""

    poses: Poses
    imu_s: Array
    acceleration: Array
    rate: Array
    clock: ClockMap
    """IMU to capture, as it really was."""
    R_frame_imu: Array
    r_frame_imu: Array
    tilt: tuple[float, float]
    bias: Array

    @property
    def imu(self) -> tuple[Array, Array, Array]:
        return self.imu_s, self.acceleration, self.rate


@lru_cache(8)
def capture(
    seed: int,
    duration_s: float = 100.0,
    *,
    hand: HandMotion | None = None,
    offset_s: float | None = None,
    drift_ppm: float = 50.0,
    tilt_deg: float = 0.5,
    bias: float = 0.02,
    noise_m: float = 3e-4,
    hidden: float = 0.05,
    gaps: int = 3,
    swapped: bool = True,
) -> Capture:
    """Five markers at 10 cm, 100 Hz, 0.3 mm noise, some hidden, all hidden for a while, two swapped for two seconds."""
    rng = np.random.default_rng([seed, 77])
    hand = random_hand(rng, duration_s, G) if hand is None else hand
    offset = float(rng.uniform(-6, 6)) if offset_s is None else offset_s
    clock = clock_map(offset, 0.0, duration_s / 2, drift_ppm, 0.0)
    start, end = clock.from_reference(np.array([rng.uniform(-1, 3), duration_s - rng.uniform(0, 3)]))
    imu_s = np.arange(start, end, 0.001)
    m = hand.motion(clock.to_reference(imu_s))
    Q = np.asarray(Rotation.random(random_state=int(rng.integers(1 << 31))).as_matrix(), dtype=float)
    r, zero = rng.uniform(-0.1, 0.1, 3), bias * rng.normal(size=3)
    a = transport_acceleration(m.specific_acceleration, m.omega, m.omega_dot, r) @ Q
    a = a + zero + 0.006 * rng.normal(size=a.shape)
    w = m.omega @ Q + rng.normal(0, 0.005, 3) + 0.002 * rng.normal(size=a.shape)

    t = np.arange(round(duration_s * 100)) / 100
    turn = np.radians(tilt_deg) * rng.normal(size=2)
    R_capture_world = np.asarray(Rotation.from_rotvec([*turn, 0.0]).as_matrix(), dtype=float)
    cloud = rng.normal(size=(5, 3))
    cloud *= 0.1 / np.linalg.norm(cloud, axis=1)[:, None]
    R, p = R_capture_world @ hand.rotation(t), hand.coordinates(t)[0][3:].T @ R_capture_world.T
    points = p[:, None] + np.einsum("nij,mj->nmi", R, cloud) + noise_m * rng.normal(size=(len(t), 5, 3))
    points[rng.random((len(t), 5)) < hidden] = np.nan
    for _ in range(gaps):
        first = rng.integers(0, len(t))
        points[first : first + rng.integers(5, 150)] = np.nan
    if swapped:
        first = rng.integers(0, len(t) - 400)
        points[first : first + 200, [0, 1]] = points[first : first + 200, [1, 0]]
    return Capture(Poses(t, *fit_cloud(cloud, points)), imu_s, a, w, clock, Q, r, (turn[0], turn[1]), zero)


def hinge_hand(seed: int, duration_s: float) -> HandMotion:
    """Only about the vertical, slowly, as a door moves."""
    rng = np.random.default_rng([seed, 78])
    hand = random_hand(rng, duration_s, G)
    amplitude = np.zeros_like(hand.amplitude)
    amplitude[2, :3], amplitude[2, 3:] = rng.uniform(0.2, 0.5, 3), rng.uniform(0.0, 0.02, 4)
    return replace(hand, amplitude=amplitude)


def fit_cloud(cloud: Array, points: Array) -> tuple[Array, Array]:
    """Rotation and position of a cloud (Kabsch), NaN with fewer than three markers: a plain one, for tests only."""
    seen = np.isfinite(points).all(axis=2)
    n = np.maximum(seen.sum(axis=1), 1)[:, None]
    filled = np.where(seen[:, :, None], points, 0.0)
    centre, own = filled.sum(axis=1) / n, seen.astype(float) @ cloud / n
    A = np.einsum("nm,nmi,nmj->nij", seen.astype(float), filled - centre[:, None], cloud - own[:, None])
    bad = seen.sum(axis=1) < 3
    A[bad] = np.eye(3)
    U, _, Vt = np.linalg.svd(A)
    U[:, :, 2] *= np.linalg.det(U @ Vt)[:, None]
    R = U @ Vt
    p = centre - np.einsum("nij,nj->ni", R, own)
    R[bad], p[bad] = np.nan, np.nan
    return R, p
