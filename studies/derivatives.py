"""From markers and IMU to motion: the error of each way to differentiate, and the bias that it puts on parameters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palpate.identify import build_balance, compress, solve
from palpate.model import load_object
from palpate.motion.derivatives import Lowpass, design_lowpass, pose_motion, published_pose_motion
from palpate.motion.imu import PARALLEL, imu_motion
from palpate.motion.smoothing import fuse
from palpate.physics.inertia import body_regressor
from palpate.physics.motion import Motion, Poses, nearest_rotation, transform, transport_acceleration
from palpate.twin.handle import HandMotion, random_hand, random_handle
from studies.running import map_seeds

Array = NDArray[np.float64]

TITLE = "Derivatives: markers, IMU, and both"
GRAVITY = 9.80665
DOWN = (0.0, 0.0, -GRAVITY)
DURATION_S = 30.0
SEGMENT = (7.0, 23.0)
IMU_BANDWIDTH_HZ = 20.0
MARKER_NOISE = 0.3e-3
ACCELERATION_NOISE, RATE_NOISE = 0.02, 0.002
ACCELERATION_ZERO, RATE_ZERO = 0.05, 0.005
SIGMA = np.array([14.25, 14.25, 19.0, 0.5, 0.5, 0.5])
T_BODY_IMU = transform(
    nearest_rotation([[0.0877, -0.9962, 0], [-0.9962, -0.0877, 0], [0, 0, -1]]), [-0.0861, 0.0125, -0.0290]
)
QUANTITIES = ("omega", "omega_dot", "specific_acceleration")


@dataclass(frozen=True)
class Outcome:
    """One method on one twin."""

    motion: dict[str, float]
    """RMS error by quantity (rad/s, rad/s2, m/s2), after the low-pass where there is one."""
    mass: float
    """Relative error, signed."""
    com: float
    """Length of its error over the radius of gyration."""
    inertia: float
    """Relative error of the sum of the principal moments, signed."""


@dataclass(frozen=True)
class Run:
    seed: int
    outcomes: dict[str, Outcome]
    truth: dict[str, float]
    """RMS of the true motion; of the acceleration without gravity."""
    bandwidth_hz: float
    best_window_s: float


def marker_poses(hand: HandMotion, t: Array, rng: np.random.Generator, noise: float = MARKER_NOISE) -> Poses:
    """Poses of the body by rigid alignment of eight noisy markers around (0, 0.05, 0.1) m (Kabsch 1976)."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    cloud = corners * [0.10, 0.075, 0.05] + [0.0, 0.05, 0.10] + rng.normal(0, 0.01, (8, 3))
    R, origin = hand.rotation(t), hand.coordinates(t)[0][3:].T
    seen = cloud @ R.swapaxes(1, 2) + origin[:, None] + noise * rng.normal(size=(len(t), 8, 3))
    middle = seen.mean(axis=1)
    U, _, Vt = np.linalg.svd((seen - middle[:, None]).swapaxes(1, 2) @ (cloud - cloud.mean(axis=0)))
    U[:, :, 2] *= np.linalg.det(U @ Vt)[:, None]
    rotation = U @ Vt
    return Poses(t, rotation, middle - rotation @ cloud.mean(axis=0))


def imu_signals(hand: HandMotion, t: Array, rng: np.random.Generator, noise: float = 1.0) -> tuple[Array, Array, Array]:
    """Specific force, angular rate in the IMU's axes, and their constant errors (6,)."""
    m = hand.motion(t)
    R, r = T_BODY_IMU[:3, :3], T_BODY_IMU[:3, 3]
    zero = noise * np.concatenate([rng.normal(0, ACCELERATION_ZERO, 3), rng.normal(0, RATE_ZERO, 3)])
    a = transport_acceleration(m.specific_acceleration, m.omega, m.omega_dot, r) @ R + zero[:3]
    w = m.omega @ R + zero[3:]
    a = a + noise * ACCELERATION_NOISE * rng.normal(size=a.shape)
    return a, w + noise * RATE_NOISE * rng.normal(size=w.shape), zero


def run_one(seed: int) -> Run:
    rng = np.random.default_rng([seed, 40])
    hand, phi = random_hand(rng, DURATION_S, GRAVITY), random_handle(rng)
    t, t_imu = np.arange(round(100 * DURATION_S)) / 100, np.arange(round(1000 * DURATION_S)) / 1000
    poses = marker_poses(hand, t, rng)
    a, w, _ = imu_signals(hand, t_imu, rng)
    light = pose_motion(poses, gravity=DOWN)
    assert light.bandwidth is not None
    best = pose_motion(poses, gravity=DOWN, window_s=light.bandwidth.best_window_s)
    fused = fuse(poses, t_imu, a, w, T_BODY_IMU, gravity=DOWN)
    low = design_lowpass(1000.0, IMU_BANDWIDTH_HZ)
    motions: dict[str, tuple[Motion, Lowpass | None]] = {
        "published, 11 samples": (published_pose_motion(poses, gravity=DOWN, window=11).motion, None),
        "published, 31 samples": (published_pose_motion(poses, gravity=DOWN, window=31).motion, None),
        "best window": (best.motion, None),
        "default: light window, low-pass": (light.motion, design_lowpass(100.0, light.bandwidth.bandwidth_hz)),
        "IMU alone, low-pass": (imu_motion(t_imu, a, w, T_BODY_IMU, PARALLEL), low),
        "fusion, low-pass": (fused, design_lowpass(100.0, IMU_BANDWIDTH_HZ)),
    }
    true = hand.motion(t)
    inside = (t > SEGMENT[0]) & (t < SEGMENT[1])
    return Run(
        seed,
        {name: judge(hand, phi, motion, lowpass) for name, (motion, lowpass) in motions.items()},
        {
            "omega": _rms(true.omega[inside]),
            "omega_dot": _rms(true.omega_dot[inside]),
            "specific_acceleration": _rms(hand.coordinates(t)[2][3:].T[inside]),
        },
        light.bandwidth.bandwidth_hz,
        light.bandwidth.best_window_s,
    )


def judge(hand: HandMotion, phi: Array, motion: Motion, lowpass: Lowpass | None) -> Outcome:
    """The true wrench, and the motion as this method sees it: what comes out is the method's error alone."""
    true = hand.motion(motion.times_s)
    inside = (motion.times_s > SEGMENT[0]) & (motion.times_s < SEGMENT[1])
    errors: dict[str, float] = {}
    for name in QUANTITIES:
        off = (getattr(motion, name) - getattr(true, name))[inside]
        errors[name] = _rms(off if lowpass is None else lowpass.apply(np.ascontiguousarray(off.T)))
    wrench = body_regressor(true.specific_acceleration, true.omega, true.omega_dot) @ phi
    balance = build_balance(load_object("handle"), motion, wrench, sigma=SIGMA, lowpass=lowpass)
    p = solve(compress(balance, [SEGMENT])).p
    trace = phi[[4, 7, 9]].sum()
    radius = np.sqrt(trace / 2 / phi[0])
    com = np.linalg.norm(p[1:4] / p[0] - phi[1:4] / phi[0]) / radius
    return Outcome(errors, float(p[0] / phi[0] - 1), float(com), float(p[[4, 7, 9]].sum() / trace - 1))


def _rms(x: Array) -> float:
    return float(np.sqrt(np.mean(x**2)))


def run(seeds: Iterable[int], workers: int = 1) -> list[Run]:
    return map_seeds(run_one, seeds, workers)


def table(runs: list[Run]) -> str:
    truth = {name: np.mean([r.truth[name] for r in runs]) for name in QUANTITIES}
    bandwidth, window = ([getattr(r, name) for r in runs] for name in ("bandwidth_hz", "best_window_s"))
    lines = [
        f"{len(runs)} random handles, {SEGMENT[1] - SEGMENT[0]:.0f} s each: eight markers with 0.3 mm noise at 100 Hz, "
        "an IMU with noise of 0.02 m/s2 and",
        "0.002 rad/s and constant errors of 0.05 m/s2 and 0.005 rad/s at 1 kHz; the wrench is the true one. Errors of",
        "the motion are RMS (after the balance's low-pass, where there is one); the true motion has "
        f"{truth['omega']:.2f} rad/s,",
        f"{truth['omega_dot']:.1f} rad/s2 and {truth['specific_acceleration']:.2f} m/s2 (without gravity). Errors of "
        "the parameters are mean +- standard",
        "deviation over the twins: what is left of the mean is bias.",
        "",
        "| motion from | omega, rad/s | omega_dot, rad/s2 | a, m/s2 | mass, % | centre of mass, % of radius | "
        "moments of inertia, % |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in runs[0].outcomes:
        outcomes = [r.outcomes[name] for r in runs]
        motion = [f"{np.mean([o.motion[q] for o in outcomes]):.2g}" for q in QUANTITIES]
        mass, inertia = ([100 * getattr(o, key) for o in outcomes] for key in ("mass", "inertia"))
        com = 100 * np.median([o.com for o in outcomes])
        cells = [*motion, _spread(mass), f"{com:.3f}", _spread(inertia)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(
        [
            *lines,
            "",
            f"- Bandwidth chosen from the recording: {min(bandwidth):.1f} to {max(bandwidth):.1f} Hz; best window "
            f"{1e3 * min(window):.0f} to {1e3 * max(window):.0f} ms.",
        ]
    )


def _spread(values: list[float]) -> str:
    return f"{np.mean(values):+.3f} +- {np.std(values):.3f}"
