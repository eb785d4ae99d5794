"""Whether a coordinate and the effort along it were exchanged, seen by their motion alone.

A position is a force integrated twice over an inertia, so that it changes more slowly than the force does: in 41
simulated and 6 real recordings, on which the limits below were chosen, 2.3 to 400 times as slowly.
Where springs and weight are all that is felt, both change alike, and nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.motion.derivatives import savitzky_golay
from palpate.physics.arrays import FloatArray, least_squares, rate_hz
from palpate.physics.units import share_text

WINDOW_S, ORDER = 0.15, 3
SLOWER, BETTER = 1.4, 0.9
"""What is called effort changes so many times as slowly as the position, and exchanged they leave less than this share
of what they leave as stated: both, and they look exchanged ...
"""
FAR_SLOWER = 4.0
"""... or so many times as slowly, and exchanged they leave less at all: what is moved very slowly explains little."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Why a position and an effort look exchanged."""

    slower: float
    """How many times as slowly the effort changes as the position."""
    left: float
    """Share of the variance of the effort that a motion along the position leaves unexplained."""
    left_otherwise: float
    """The same with the two exchanged."""

    def words(self, position: str, effort: str) -> str:
        """The evidence, with the two called so."""
        left, other = (f"{100 * x:.0f} %" if x > 0.1 else share_text(x) for x in (self.left, self.left_otherwise))
        return (
            f"{position} and {effort} look swapped: what is called {effort} changes {self.slower:.2g} times as slowly "
            f"as what is called {position}, but what moves changes more slowly than what moves it; as stored, motion "
            f"leaves {left} of the {effort} unexplained, swapped {other}"
        )


def exchange(times_s: FloatArray, position: FloatArray, effort: FloatArray) -> Exchange | None:
    """Evenly sampled signals (n,) in any units -> why they look exchanged; None where they do not."""
    rate = rate_hz(times_s)
    window = max(2 * round(WINDOW_S * rate / 2) + 1, ORDER + 4)
    both, seen = np.array([position, effort]), np.isfinite(position) & np.isfinite(effort)
    if np.count_nonzero(seen) < 4 * window or min(np.ptp(both[:, seen], axis=1)) == 0:
        return None
    filled: list[FloatArray] = [np.interp(times_s, times_s[seen], x[seen]) for x in both]
    q, f = ([savitzky_golay(x, window, ORDER, derivative=d, rate_hz=rate) for d in range(3)] for x in filled)
    slower = _mean_frequency(q) / max(_mean_frequency(f), 1e-300)
    left, otherwise = _unexplained(q, f[0]), _unexplained(f, q[0])
    share = 1.0 if slower > FAR_SLOWER else BETTER
    return Exchange(slower, left, otherwise) if slower > SLOWER and otherwise < share * left else None


def _mean_frequency(x: list[FloatArray]) -> float:
    """Hz: of the crossings of its mean, from a signal and its derivative (Rice 1945, eq. 3.3-11)."""
    return float(np.std(x[1]) / (2 * np.pi * max(np.std(x[0]), 1e-300)))


def _unexplained(x: list[FloatArray], y: FloatArray) -> float:
    """Share of the variance of y that inertia, friction and a spring along x leave."""
    columns = np.column_stack([x[2], x[1], np.sign(x[1]), x[0]])
    scales = np.std(columns, axis=0)
    columns = np.column_stack([columns[:, scales > 0] / scales[scales > 0], np.ones(len(y))])
    return float(np.var(y - columns @ least_squares(columns, y)) / max(np.var(y), 1e-300))
