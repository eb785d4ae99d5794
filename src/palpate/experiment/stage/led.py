"""Rows of two bodies in series, of any inputs: what is left of their positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from palpate.experiment.stage.inner import Inner, Innovations, innovation_rows, settled_in, stacked_innovations
from palpate.experiment.stage.inputs import Inputs, Moved, projected, whole_balance
from palpate.identify.balance import Balance, Rows, Segment
from palpate.physics.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class LedRows:
    """Of the samples of some segments, all with the same parameters."""

    inner: Inner
    inputs: Inputs
    moved: Moved
    segments: Sequence[Segment]

    @cached_property
    def own(self) -> tuple[FloatArray, NDArray[np.int64]]:
        """(samples, parameters + 1), and which samples they are."""
        return self._of(self.inputs)

    def left_more(self, inputs: Inputs) -> FloatArray:
        """(rows,): what is left more with other inputs."""
        (rows, at), (others, there) = self.own, self._of(inputs)
        more = np.zeros(len(at))
        _, here, other = np.intersect1d(at, there, return_indices=True)
        more[here] = others[other, -1] - rows[here, -1]
        return more

    def stacked(self, like: Rows, balance: Balance) -> Innovations:
        """In the place of rows of forces of a balance."""
        return stacked_innovations(*self.own, like, self.inner, self.inputs.q[:, 0], projected(balance)[:, 0])

    def _of(self, inputs: Inputs) -> tuple[FloatArray, NDArray[np.int64]]:
        force = projected(whole_balance(replace(inputs, inner=None), self.moved))[:, 0]
        used = settled_in(inputs.times_s, [self.moved.known & inputs.inside([s]) for s in self.segments])
        return innovation_rows(inputs.model, self.inner, inputs.times_s, inputs.q[:, 0], force, used)
