"""What depends on the way and not only on the place: numbers that are moved along and cut to limits, over a recording.

A step of such a memory is m' = min(max(m + added, low), high). Two steps are one of the same kind, so that all of a
recording's are composed in a few passes over it (a parallel prefix; Blelloch 1990, Prefix sums and their applications).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palpate.physics.arrays import FloatArray, running, runs
from palpate.physics.functions import Functions, Scalar

Step = tuple[Scalar, Scalar, Scalar]
"""What is added, the lowest and the highest value."""
_SURE = 1e-9
"""Of the distance between the limits: where less is left open, the number is known."""


def stepped(number: Scalar, step: Step, fn: Functions) -> Scalar:
    """A remembered number after a step."""
    added, low, high = step
    return fn.minimum(fn.maximum(number + added, low), high)


def remembered(steps: Sequence[FloatArray]) -> FloatArray:
    """(samples,): the number after each step; NaN while the way since the beginning, or since a gap, does not tell it.

    steps: what is added on the way to each sample, the lowest and the highest value there, (samples,) each; NaN: a gap.
    The first step after it begins anywhere between its limits.
    """
    found = np.full(len(steps[0]), np.nan)
    for start, stop in runs(np.isfinite(np.sum(steps, axis=0))):
        added, low, high = running(np.stack([x[start:stop] for x in steps]), _one)
        least, most = steps[1][start], steps[2][start]
        lowest, highest = (np.minimum(np.maximum(x + added, low), high) for x in (least, most))
        found[start:stop] = np.where(highest - lowest <= _SURE * (most - least), (lowest + highest) / 2, np.nan)
    return found


def _one(later: FloatArray, first: FloatArray) -> FloatArray:
    """(3, n): two steps, one after the other, as one."""
    added, low, high = later
    lower, upper = (np.minimum(np.maximum(x + added, low), high) for x in first[1:])
    return np.stack([first[0] + added, lower, upper])
