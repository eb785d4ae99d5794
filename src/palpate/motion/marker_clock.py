"""Motion capture against a gyroscope: the angular velocity that both saw tells how their clocks run."""

from __future__ import annotations

import numpy as np

from palpate.errors import DataProblem
from palpate.motion.clocks import Offset, estimate_offset
from palpate.motion.evenly import noise_floor
from palpate.physics.arrays import FloatArray, least_squares
from palpate.physics.poses import Poses

_BANDWIDTH_HZ = 10.0
"""A hand moves slower; the noise of marker poses grows with the frequency once they are differentiated."""
_BRIDGED_S = 0.1
"""Gaps up to this length are bridged by straight lines, which lead or lag nowhere on average."""
_FASTER = 1.5
"""A marker body does not turn this much faster than the fastest that the gyroscope saw."""
_MOST_JUMPS = 0.2
_OUTLYING = 6.0
"""Standard deviations from which a pose is taken for a mistake of the tracking."""


def marker_clock(poses: Poses, times_s: FloatArray, angular_rate: FloatArray, *, what: str = "") -> Offset:
    """Offset and drift between motion capture (the reference) and a gyroscope on the same body.

    poses: of any frame fixed to the body, NaN where it was not seen. times_s (n,), even, s, and angular_rate (n, 3),
    rad/s: the gyroscope on its own clock, NaN where lost. Turn between the two frames, scales and zero of the gyroscope
    are free. Offset = capture time minus gyroscope time. Raises `DataProblem` when it cannot be known.
    """
    what = what or "clock offset between motion capture and gyroscope"
    if angular_rate.shape != (len(times_s), 3):
        raise DataProblem(what, f"the angular rate has shape {angular_rate.shape}, wanted is ({len(times_s)}, 3)")
    at, omega, half_s = angular_velocity(poses, what=what)
    gyroscope = window_mean(times_s, angular_rate, half_s)
    omega = _without_jumps(omega, angular_rate)
    found = _compare(at, omega, times_s, gyroscope, what)
    cleaned = _without_outliers(found, at, omega, times_s, gyroscope)
    if np.isfinite(cleaned).sum() == np.isfinite(omega).sum():
        return found
    return _compare(at, cleaned, times_s, gyroscope, what)


def angular_velocity(poses: Poses, *, what: str = "poses") -> tuple[FloatArray, FloatArray, float]:
    """Times (n,), mean angular velocity (n, 3), rad/s, over a centred window, in the body's frame; half the window, s.

    log(R_{k-1}' R_{k+1}) / (t_{k+1} - t_{k-1}): the rotation vector has the same components in both frames (e.g.
    Lynch & Park, Modern Robotics, 3.2.3), and a symmetric window has no delay. NaN where a neighbour was not seen.
    """
    from scipy.spatial.transform import Rotation

    if len(poses) < 3:
        raise DataProblem(what, f"{len(poses)} poses are too few")
    at, R, seen = poses.times_s, poses.rotation, poses.seen
    steps = at[2:] - at[:-2]
    half_s = float(np.median(steps)) / 2
    both = seen[2:] & seen[:-2] & (steps < 2.5 * half_s)  # rows that the file leaves out are gaps, too
    if not both.any():
        raise DataProblem(what, "no pose was seen together with the one after next")
    omega = np.full((len(poses), 3), np.nan)
    turn = Rotation.from_matrix(R[:-2][both].swapaxes(1, 2) @ R[2:][both]).as_rotvec()
    omega[1:-1][both] = turn / steps[both, None]
    return at, omega, half_s


def window_mean(times_s: FloatArray, x: FloatArray, half_s: float) -> FloatArray:
    """Mean of (samples, channels) over +- half_s around each time, by the trapezoidal rule: what a difference quotient
    sees of it. NaN where the window leaves the recording or meets NaN.
    """
    bad = ~np.asarray(np.isfinite(x).all(axis=1))
    filled = np.where(bad[:, None], 0.0, x)
    steps = np.diff(times_s)[:, None] * (filled[1:] + filled[:-1]) / 2
    total = np.vstack([np.zeros(x.shape[1]), np.cumsum(steps, axis=0)])
    early, late = times_s - half_s, times_s + half_s
    mean = (_linear(late, times_s, total) - _linear(early, times_s, total)) / (2 * half_s)
    period = (times_s[-1] - times_s[0]) / (len(times_s) - 1)
    lost = np.concatenate([[0.0], np.cumsum(bad)])
    met = lost[np.searchsorted(times_s, late + period)] > lost[np.searchsorted(times_s, early - period)]
    mean[(early < times_s[0]) | (late > times_s[-1]) | met] = np.nan
    return mean


def _compare(at: FloatArray, omega: FloatArray, times_s: FloatArray, gyroscope: FloatArray, what: str) -> Offset:
    """The quiet gyroscope predicts, the noisy markers respond: so noise takes nothing from the coefficients."""
    grid, bridged = bridge_short(at, omega)
    known = np.flatnonzero(np.isfinite(gyroscope).all(axis=1))
    if len(known) < 2:
        raise DataProblem(what, "the gyroscope saw too little")
    inner = slice(known[0], known[-1] + 1)
    return estimate_offset(
        times_s[inner], gyroscope[inner], grid, bridged, what=what, bandwidth_hz=_BANDWIDTH_HZ, alike=True, turned=True
    )


def bridge_short(at: FloatArray, omega: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(frames, 3) on an even grid from the first to the last seen frame: straight lines over short gaps, NaN in long
    ones.
    """
    seen = np.isfinite(omega).all(axis=1)
    t, w = at[seen], omega[seen]
    if len(t) < 2:
        raise DataProblem("poses", "no angular velocity is known")
    count = round((t[-1] - t[0]) / float(np.median(np.diff(at)))) + 1
    grid = np.linspace(float(t[0]), float(t[-1]), max(count, 2))
    filled = _linear(grid, t, w)
    for i in np.flatnonzero(np.diff(t) > _BRIDGED_S):
        filled[(grid > t[i]) & (grid < t[i + 1])] = np.nan
    return grid, filled


def _without_jumps(omega: FloatArray, angular_rate: FloatArray) -> FloatArray:
    """Markers that are swapped for a while make poses jump, faster than anything that the gyroscope saw."""
    seen = np.isfinite(omega).all(axis=1)
    if seen.sum() < 3:
        return omega
    fastest = float(np.nanmax(np.linalg.norm(angular_rate, axis=1)))
    limit = _FASTER * fastest + _OUTLYING * float(np.linalg.norm(noise_floor(omega[seen])))
    jumps = np.linalg.norm(np.where(np.isfinite(omega), omega, 0.0), axis=1) > limit
    if jumps.sum() > _MOST_JUMPS * seen.sum():  # then it is the gyroscope's scale that is wrong, and scale is free
        return omega
    return np.where(jumps[:, None], np.nan, omega)


def _without_outliers(
    found: Offset, at: FloatArray, omega: FloatArray, times_s: FloatArray, gyroscope: FloatArray
) -> FloatArray:
    """NaN where the markers' angular velocity is far from what the gyroscope says at this offset."""
    there = found.clock.from_reference(at)
    predicted = _linear(there, times_s, gyroscope)
    use = np.isfinite(omega).all(axis=1) & np.isfinite(predicted).all(axis=1)
    use &= (there >= times_s[0]) & (there <= times_s[-1])
    x = np.column_stack([predicted[use], np.ones(use.sum())])
    rest = omega[use] - x @ least_squares(x, omega[use])
    scale = np.median(np.abs(rest), axis=0) / 0.6745
    kept = omega.copy()
    kept[np.flatnonzero(use)[(np.abs(rest) > _OUTLYING * np.maximum(scale, 1e-12)).any(axis=1)]] = np.nan
    return kept


def _linear(at_s: FloatArray, times_s: FloatArray, x: FloatArray) -> FloatArray:
    """(samples, channels) at other times, linearly."""
    return np.array([np.interp(at_s, times_s, x[:, j]) for j in range(x.shape[1])], dtype=float).T
