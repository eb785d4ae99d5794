"""Least squares on motion: one low-pass for all signals, covariances over pieces of time, words for what is open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from palpate.motion.filters import Lowpass, design_lowpass
from palpate.physics.arrays import FloatArray, symmetric_inverse, symmetric_solve
from palpate.physics.spatial import skew

PIECE_S = 2.0
FEWEST_PIECES = 8
UNKNOWN_TURN, UNKNOWN_LEVER = float(np.radians(2.0)), 0.02
"""Standard deviations (rad, m) from which a component is called unknown."""
FREE = 1e6
"""Variance (rad2, m2) of what nothing determines."""
_OPEN = 1e-9
"""Share of the largest information below which a direction is open."""


def one_lowpass(
    times_s: FloatArray, *signals: FloatArray, bandwidth_hz: float = 10.0, second: bool = False
) -> tuple[FloatArray, list[FloatArray]]:
    """Signals (n, channels) through one low-pass, or their second derivatives through the same, decimated.

    (x_-1 - 2 x_0 + x_1) / dt2 is the second derivative of (x_-1 + 10 x_0 + x_1) / 12 to fourth order in omega dt
    (Numerov), 4e-5 at 5 of 100 Hz: so the two outputs of one signal belong together.
    """
    rate = float((len(times_s) - 1) / (times_s[-1] - times_s[0]))
    lowpass = design_lowpass(rate, min(bandwidth_hz, 0.3 * rate))
    three = np.array([1.0, -2.0, 1.0]) * rate**2 if second else np.array([1.0, 10.0, 1.0]) / 12
    lowpass = Lowpass(np.convolve(lowpass.taps, three), lowpass.step)
    half = len(lowpass.taps) // 2
    grid = times_s[half : len(times_s) - half : lowpass.step]
    return grid, [lowpass.apply(np.ascontiguousarray(x.T)).T for x in signals]


def solve_pieces(
    t: FloatArray, A: FloatArray, y: FloatArray, prior: FloatArray, mean: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least squares of y (n, rows) on A (n, rows, k) with a prior (information and mean): x, covariance, residual.

    The covariance holds the data's scatter between pieces of time and the prior's share.
    """
    inner, outer = np.einsum("nij,nik->jk", A, A), np.einsum("nij,ni->j", A, y)
    x = symmetric_solve(inner + 1e-12 * np.diag(np.diag(inner)), outer)
    index, count = pieces_of(t)
    scores = _scores(A, y - A @ x, index, count)
    # neighbouring residuals say the same: the data weigh what their scatter between pieces allows
    noise = float(np.trace(symmetric_inverse(inner) @ (scores.T @ scores))) / A.shape[2]
    noise = max(noise, float(((y - A @ x) ** 2).mean()), 1e-300)
    information = inner / noise + prior
    x = symmetric_solve(information, outer / noise + prior @ mean)
    scores = _scores(A, y - A @ x, index, count) / noise
    scores = scores - scores.mean(axis=0)
    inverse = symmetric_inverse(information)
    meat = scores.T @ scores * (count / max(1, count - 4)) + prior
    return x, inverse @ meat @ inverse, y - A @ x


def sandwich(t: FloatArray, A: FloatArray, residual: FloatArray) -> FloatArray:
    """H^-1 (sum s s') H^-1 over pieces of time; directions without information get a huge variance."""
    k = A.shape[2]
    H = np.einsum("nij,nik->jk", A, A)
    index, count = pieces_of(t)
    s = _scores(A, residual, index, count)
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    values, vectors = np.linalg.eigh(H / scale[:, None] / scale)
    known = values > _OPEN * values[-1]
    inverse = (vectors[:, known] / values[known]) @ vectors[:, known].T / scale[:, None] / scale
    open_ = vectors[:, ~known] / scale[:, None]
    open_ = open_ / np.maximum(np.linalg.norm(open_, axis=0), 1e-300)
    freedom = max(1, count - min(k, count // 2))
    return np.asarray(inverse @ (s.T @ s) @ inverse * (count / freedom) + FREE * open_ @ open_.T, dtype=float)


def pieces_of(t: FloatArray) -> tuple[NDArray[np.int64], int]:
    """Which piece of about 2 s each sample belongs to, and how many there are."""
    count = max(FEWEST_PIECES, int((t[-1] - t[0]) / PIECE_S))
    return np.minimum((t - t[0]) * (count / (t[-1] - t[0])), count - 1).astype(np.int64), count


def _scores(A: FloatArray, residual: FloatArray, index: NDArray[np.int64], count: int) -> FloatArray:
    """A' residual of each piece, (pieces, k)."""
    x = np.einsum("nij,ni->nj", A, residual)
    return np.array([np.bincount(index, x[:, j], count) for j in range(x.shape[1])], dtype=float).T


def lever_matrix(omega: FloatArray, omega_dot: FloatArray) -> FloatArray:
    """(n, 3, 3): omega_dot x r + omega x (omega x r) as a matrix on r."""
    S = skew(omega)
    return skew(omega_dot) + S @ S


def identities(n: int, size: int = 3) -> FloatArray:
    """(n, size, size), a view."""
    return np.broadcast_to(np.eye(size), (n, size, size))


def weak_turn(covariance: FloatArray) -> tuple[str, ...]:
    """Axes about which a rotation with this covariance (3, 3), rad2, is not known, in words."""
    return tuple(
        f"the turn about {axis} is not known (+- {_degrees(std)}): turn the object about other axes, too"
        for std, axis in _weak_directions(covariance, UNKNOWN_TURN)
    )


def weak_lever(covariance: FloatArray) -> tuple[str, ...]:
    """Axes along which a lever arm with this covariance (3, 3), m2, is not known, in words."""
    return tuple(
        f"the lever arm along {axis} is not known (+- {_millimetres(std)}): turn the object about other axes, too"
        for std, axis in _weak_directions(covariance, UNKNOWN_LEVER)
    )


def _weak_directions(covariance: FloatArray, limit: float) -> list[tuple[float, str]]:
    values, vectors = np.linalg.eigh(covariance)
    stds = np.sqrt(np.maximum(values, 0.0))
    return [(float(stds[i]), name_axis(vectors[:, i])) for i in range(len(stds)) if stds[i] > limit]


def name_axis(v: FloatArray) -> str:
    """x, y or z where a direction is nearly one of them, else its components."""
    i = int(np.abs(v).argmax())
    return "xyz"[i] if abs(v[i]) > 0.98 else "(" + ", ".join(f"{c:.2f}" for c in v * np.sign(v[i])) + ")"


def _degrees(std: float) -> str:
    return f"{np.degrees(std):.1f} deg" if std < 1.5 else "anything"


def _millimetres(std: float) -> str:
    return f"{1e3 * std:.0f} mm" if std < 1.0 else "anything"
