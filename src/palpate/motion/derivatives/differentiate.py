"""Derivatives: from where a frame or a coordinate was to how it moved, each seen stretch by itself.

A polynomial is fitted to each window of samples, of the position in the world and of the rotation in the tangent space
of SO(3) near that window, where it is as smooth as the motion is. What the window does to fast motion is a loss; so
the default window is short ("light"), and the low-pass of the balance, which treats every column alike, takes the rest
of the noise away (parallel filtering).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palpate.errors import DataProblem
from palpate.motion.clocks.clock import Interval
from palpate.motion.derivatives.bandwidth import Bandwidth, pose_bandwidth, signal_bandwidth
from palpate.motion.derivatives.filters import savitzky_golay
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.motion import Motion
from palpate.physics.poses import Poses
from palpate.physics.so3 import body_rates, exp_rotation, log_rotation

IntArray = NDArray[np.int64]
Span = tuple[int, int]

_CHUNK = 1 << 16
"""Samples differentiated at a time: what is at hand stays in the processor's cache."""
_FARTHEST = 3.0
"""rad; rotation vectors are unique up to pi."""
_UNEVEN = 0.1
"""Periods; a clock whose steps deviate more is not even."""


@dataclass(frozen=True, slots=True, eq=False)
class PoseMotion:
    """A motion derived from poses, and how."""

    motion: Motion
    """NaN where the poses do not tell it; with fitted poses."""
    edge: BoolArray
    """(samples,) seen, but within half a window of an end of what was seen: NaN, or kept and worth less."""
    window_s: float
    order: int
    bandwidth: Bandwidth | None
    """How the window was chosen, unless it was given; its `bandwidth_hz` suits the balance's low-pass."""


@dataclass(frozen=True, slots=True, eq=False)
class CoordinateMotion:
    """Coordinates with their derivatives: (samples,) of one, (samples, n) of several; NaN where they are not known.

    Each coordinate keeps its own unit: rad and m, per s, per s^2.
    """

    times_s: FloatArray
    position: FloatArray
    speed: FloatArray
    acceleration: FloatArray
    edge: BoolArray
    """Of the same shape, as in `PoseMotion`."""
    window_s: FloatArray
    """Of the same shape: the window with which the sample was differentiated."""
    order: int
    bandwidth: Bandwidth | None
    """As in `PoseMotion`."""


def pose_motion(
    poses: Poses,
    *,
    gravity: ArrayLike,
    window_s: float | None = None,
    order: int = 4,
    ends: bool = False,
    still: Interval | None = None,
) -> PoseMotion:
    """The motion of a frame from its poses on an even clock, by local polynomials on SO(3) and in space.

    gravity: (3,) m/s2 in the capture frame, (0, 0, -9.80665) where its z points up. window_s: length of the window;
    if not given, it is chosen from the recording, with the noise of `still` (s) if stated. Poses that are NaN, and
    jumps of the clock, split the recording; a stretch shorter than the window stays NaN, as does a turn of more than
    3 rad within half a window. `ends` keeps the half window at either end of a stretch, fitted from one side.
    """
    rate = even_rate(poses.times_s, "poses")
    chosen = pose_bandwidth(poses, still=still, order=order) if window_s is None else None
    window = window_samples(_window_s(chosen, window_s), rate, order)
    n = len(poses)
    R = np.full((n, 3, 3), np.nan)
    omega, omega_dot, position, velocity, acceleration = (np.full((n, 3), np.nan) for _ in range(5))
    spans = stretches(poses.times_s, poses.seen, window)
    for a, b in spans:
        R[a:b], omega[a:b], omega_dot[a:b] = _differentiate_rotation(poses.rotation[a:b], window, order, rate)
        position[a:b], velocity[a:b], acceleration[a:b] = (
            savitzky_golay(poses.position[a:b], window, order, derivative=d, rate_hz=rate) for d in range(3)
        )
    edge = _edges(n, spans, window // 2)
    if not ends:
        for x in (R, omega, omega_dot, position, velocity, acceleration):
            x[edge] = np.nan
    fitted = Poses(poses.times_s, R, position)
    motion = _motion(fitted, velocity, acceleration, omega, omega_dot, gravity)
    return PoseMotion(motion, edge, window / rate, order, chosen)


def published_pose_motion(poses: Poses, *, gravity: ArrayLike, window: int = 11, order: int = 4) -> PoseMotion:
    """As the paper's authors: central differences of R and of the position, each result then filtered by
    Savitzky-Golay over `window` samples (FORMATS, Wheelbarrow); ends kept, poses as measured.

    For reproduction. It damps fast motion in the columns but not in the wrench, and so biases the parameters.
    """
    rate = even_rate(poses.times_s, "poses")
    n = len(poses)
    omega, omega_dot, velocity, acceleration = (np.full((n, 3), np.nan) for _ in range(4))
    spans = stretches(poses.times_s, poses.seen, window)
    for a, b in spans:
        R, dt = poses.rotation[a:b], 1 / rate
        spin = R.swapaxes(1, 2) @ np.gradient(R, dt, axis=0)
        vee = np.stack([spin[:, 2, 1] - spin[:, 1, 2], spin[:, 0, 2] - spin[:, 2, 0], spin[:, 1, 0] - spin[:, 0, 1]])
        omega[a:b] = savitzky_golay(0.5 * vee.T, window, order)
        omega_dot[a:b] = savitzky_golay(np.gradient(omega[a:b], dt, axis=0), window, order)
        velocity[a:b] = savitzky_golay(np.gradient(poses.position[a:b], dt, axis=0), window, order)
        acceleration[a:b] = savitzky_golay(np.gradient(velocity[a:b], dt, axis=0), window, order)
    # two central differences and two windows, one after the other
    edge = _edges(n, spans, 2 * (window // 2) + 2)
    motion = _motion(poses, velocity, acceleration, omega, omega_dot, gravity)
    return PoseMotion(motion, edge, window / rate, order, None)


def coordinate_motion(
    times_s: FloatArray,
    position: FloatArray,
    *,
    window_s: float | None = None,
    order: int = 4,
    ends: bool = False,
    still: Interval | None = None,
    units: Mapping[str, str] | None = None,
) -> CoordinateMotion:
    """Speed and acceleration of coordinates (samples,) or (samples, n) by local polynomials of one window.

    NaN, clock and ends as in `pose_motion`, for each coordinate by itself: a gap of one is none of the others. `units`
    (name -> unit of each, in their order) is needed to choose a window for several coordinates. With window_s = 0.31
    and `ends` it is what the paper did with the door (31 samples at 100 Hz, order 4).
    """
    if position.ndim not in (1, 2) or position.shape[:1] != times_s.shape:
        raise ValueError(f"the positions have shape {position.shape}, their times {times_s.shape}")
    rate = even_rate(times_s, "positions")
    bandwidth = (
        None if window_s is not None else signal_bandwidth(times_s, position, still=still, order=order, units=units)
    )
    window = window_samples(_window_s(bandwidth, window_s), rate, order)
    columns = position.reshape(len(position), -1)
    fitted, edge = np.full((3, *columns.shape), np.nan), np.zeros(columns.shape, dtype=bool)
    for j, x in enumerate(columns.T):
        spans = stretches(times_s, np.isfinite(x), window)
        for a, b in spans:
            fitted[:, a:b, j] = [savitzky_golay(x[a:b], window, order, derivative=d, rate_hz=rate) for d in range(3)]
        edge[:, j] = _edges(len(x), spans, window // 2)
    if not ends:
        fitted[:, edge] = np.nan
    value, speed, acceleration = fitted.reshape(3, *position.shape)
    windows = np.full(position.shape, window / rate)
    return CoordinateMotion(
        times_s, value, speed, acceleration, edge.reshape(position.shape), windows, order, bandwidth
    )


def even_rate(times_s: FloatArray, what: str) -> float:
    """Samples per second of an even clock, on which whole samples may be missing."""
    if len(times_s) < 3:
        raise DataProblem(what, f"{len(times_s)} samples are too few to differentiate")
    steps = np.diff(times_s)
    period = float(np.median(steps))
    if not period > 0:
        raise DataProblem(what, "their times do not increase")
    # over all regular steps, because the times of one are rounded
    regular = np.abs(steps - period) < 0.5 * period
    period = float(steps[regular].mean())
    off = np.abs(steps / period - np.round(steps / period))
    if off.max() > _UNEVEN or steps.min() < 0.5 * period:
        worst = int(np.maximum(off, steps < 0.5 * period).argmax())
        raise DataProblem(
            what,
            f"they are not sampled evenly: a step of {1e3 * steps[worst]:.3g} ms at {times_s[worst]:.3f} s, "
            f"usual are {1e3 * period:.3g} ms",
            remedy="put them onto an even clock first (evenly_sampled)",
        )
    return 1 / period


def window_samples(window_s: float, rate_hz: float, order: int) -> int:
    """The nearest odd number of samples that a polynomial of this order can be fitted to."""
    if not window_s > 0:
        raise DataProblem("derivatives", f"a window of {window_s} s is not possible", remedy="it must be positive")
    least = order + 1 + order % 2
    return max(least, 2 * round((window_s * rate_hz - 1) / 2) + 1)


def stretches(times_s: FloatArray, seen: BoolArray, shortest: int) -> list[Span]:
    """Runs [start, stop) of at least `shortest` consecutive samples, all of them seen and none missing between."""
    period = float(np.median(np.diff(times_s)))
    joined = seen[1:] & seen[:-1] & (np.diff(times_s) < 1.5 * period)
    change = np.diff(np.concatenate([[0], joined.astype(np.int8), [0]]))
    starts, stops = np.flatnonzero(change == 1), np.flatnonzero(change == -1) + 1
    return [(a, b) for a, b in zip(starts.tolist(), stops.tolist(), strict=True) if b - a >= shortest]


def _window_s(chosen: Bandwidth | None, given: float | None) -> float:
    return chosen.window_s if chosen is not None else float(given or 0.0)


def _edges(samples: int, spans: list[Span], reach: int) -> BoolArray:
    edge = np.zeros(samples, dtype=bool)
    for a, b in spans:
        edge[a : a + reach] = True
        edge[max(b - reach, a) : b] = True
    return edge


def _motion(
    poses: Poses,
    velocity: FloatArray,
    acceleration: FloatArray,
    omega: FloatArray,
    omega_dot: FloatArray,
    gravity: ArrayLike,
) -> Motion:
    """Velocity (m/s) and acceleration (m/s2) in the world -> the body frame; gravity (3,) in the world."""
    g = np.asarray(gravity, dtype=float)
    if g.shape != (3,):
        raise ValueError(f"gravity must be a vector (3,) in the capture frame, not of shape {g.shape}")
    to_body = poses.rotation.swapaxes(1, 2)
    specific, v = (to_body @ (acceleration - g)[:, :, None])[..., 0], (to_body @ velocity[:, :, None])[..., 0]
    return Motion(poses.times_s, specific, omega, omega_dot, poses, v)


def _differentiate_rotation(
    R: FloatArray, window: int, order: int, rate_hz: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Fitted rotations (n, 3, 3), omega and omega_dot (n, 3) of one stretch of at least `window` samples.

    Neighbouring windows share a tangent space: phi = log(R_ref' R) with R_ref in their middle. That costs two
    logarithms a sample instead of one per sample and window, and loses nothing, because `body_rates` is exact. Where
    the body turns so far that phi would wrap round, each window has its own; where even that is too far, NaN.
    """
    n, half = len(R), window // 2
    fitted, omega, omega_dot = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((n, 3))

    def fit(starts: IntArray, length: int, outputs: slice) -> None:
        identity = np.eye(length)
        weights = [savitzky_golay(identity, window, order, derivative=d, rate_hz=rate_hz)[outputs] for d in range(3)]
        chunk = max(1, _CHUNK // length)
        for first in range(0, len(starts), chunk):
            rows = starts[first : first + chunk, None] + np.arange(length)
            reference = R[rows[:, length // 2], None]
            phi = log_rotation(reference.swapaxes(2, 3) @ R[rows])
            phi0, phi1, phi2 = (w @ phi for w in weights)
            at = rows[:, outputs]
            fitted[at] = reference @ exp_rotation(phi0)
            omega[at], omega_dot[at] = body_rates(phi0, phi1, phi2)

    path = np.zeros(n)
    chord = np.sqrt(((R[1:] - R[:-1]) ** 2).sum(axis=(1, 2)) / 8)  # sine of half the angle from one to the next
    path[1:] = 2 * np.arcsin(np.minimum(chord, 1.0)).cumsum()
    shared = min(window, n - window + 1)
    length = shared + 2 * half
    starts = np.minimum(np.arange(0, n - 2 * half, shared), n - length)
    middle = path[starts + length // 2]
    far = np.maximum(middle - path[starts], path[starts + length - 1] - middle) > _FARTHEST
    fit(starts[~far], length, slice(half, length - half))
    fit((starts[far, None] + np.arange(shared)).ravel(), window, slice(half, half + 1))
    fit(np.array([0]), window, slice(0, half))
    fit(np.array([n - window]), window, slice(half + 1, window))
    centre = np.clip(np.arange(n), half, n - 1 - half)
    lost = np.maximum(path[centre] - path[centre - half], path[centre + half] - path[centre]) > _FARTHEST
    for x in (fitted, omega, omega_dot):
        x[lost] = np.nan
    return fitted, omega, omega_dot
