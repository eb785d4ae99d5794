"""A balance whose low-passed rows are kept in memory: other segments of it are compressed in milliseconds.

After the low-pass a recording holds a few rows for each period of the bandwidth, whatever its rate: ten minutes are
some megabytes. The samples are read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from palpate.identify.balance import Balance, Compressed, MotionNoise, Segment, compress
from palpate.physics.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The blocks of a whole recording, low-passed, with an output every `step` samples from the first on."""

    rows: FloatArray
    """(groups, entries, outputs)."""
    step: int
    taps: int

    def block(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:  # noqa: ARG002
        """As `Balance.block`, of samples from a multiple of the step on."""
        count = max(0, (stop - start - self.taps) // self.step + 1)
        return self.rows[:, :, start // self.step : start // self.step + count]


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A balance, and what the low-pass leaves of all its samples."""

    balance: Balance
    rows: _Rows
    noise: _Rows | None = None
    """Of the motion."""

    def compressed(self, segments: Sequence[Segment]) -> Compressed:
        """As `compress`, of segments that begin where a kept row does (`snapped`): then it is the same to rounding."""
        return compress(self.balance, [self.snapped(s) for s in segments], noise=self.noise, source=self.rows)

    def snapped(self, segment: Segment) -> Segment:
        """A segment from the first kept row inside it on: by less than a `step` of samples later."""
        times, step = self.balance.times_s, self.rows.step
        first = -(-int(np.searchsorted(times, segment[0])) // step) * step
        return (float(times[min(first, len(times) - 1)]), segment[1])


def keep(balance: Balance, noise: MotionNoise | None = None) -> Kept:
    """Pass over all samples once; noise: of the motion, which is kept too."""
    return Kept(balance, _kept(balance, balance), None if noise is None else _kept(balance, noise))


def _kept(balance: Balance, source: Balance | MotionNoise) -> _Rows:
    rows: FloatArray | None = None
    for first, last, start, stop in balance.blocks((0, len(balance.times_s))):
        block = source.block(start, stop)
        if rows is None:
            rows = np.empty((*block.shape[:2], balance.outputs(len(balance.times_s))))
        rows[:, :, first:last] = block
    return _Rows(np.zeros((1, 1, 0)) if rows is None else rows, balance.step, balance.taps)
