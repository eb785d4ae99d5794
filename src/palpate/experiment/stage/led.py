"""Rows of two bodies in series, of any inputs: what is left of their positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from palpate.experiment.stage.inner import Inner, innovation_rows, settled_in
from palpate.experiment.stage.inputs import Inputs, Moved, projected, whole_balance
from palpate.identify.balance import Segment
from palpate.physics.arrays import FloatArray


def led_rows(
    inner: Inner, inputs: Inputs, moved: Moved, segments: Sequence[Segment]
) -> tuple[FloatArray, NDArray[np.int64]]:
    """(samples, parameters + 1), and which samples they are; moved: of the fit."""
    force = projected(whole_balance(replace(inputs, inner=None), moved))[:, 0]
    used = settled_in(inputs.times_s, [moved.known & inputs.inside([s]) for s in segments])
    return innovation_rows(inputs.model, inner, inputs.times_s, inputs.q[:, 0], force, used)


def left_more(
    inner: Inner,
    inputs: Inputs,
    moved: Moved,
    segments: Sequence[Segment],
    rows: FloatArray,
    at: NDArray[np.int64],
) -> FloatArray:
    """(rows,): what is left more with other inputs than those of `rows`, which are of the samples `at`."""
    others, there = led_rows(inner, inputs, moved, segments)
    more = np.zeros(len(at))
    _, here, other = np.intersect1d(at, there, return_indices=True)
    more[here] = others[other, -1] - rows[here, -1]
    return more
