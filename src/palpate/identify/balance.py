"""The balance y = Y p of one stage: model + motion + wrench + weights, ready to be looked at or compressed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from palpate.errors import DataProblem
from palpate.model import Model
from palpate.motion.derivatives.filters import Lowpass
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.functions import ARRAYS, Scalar
from palpate.physics.kinematics import Coordinate, Kinematics, Triple
from palpate.physics.motion import Motion

Segment = tuple[float, float]
"""Seconds on the reference clock, half-open."""


@dataclass(frozen=True, slots=True, eq=False)
class Balance:
    """The rows [Y | y], made block by block and never all at once.

    `lowpass`, if any, passes over every column and the wrench alike (parallel filtering).
    """

    model: Model
    times_s: FloatArray
    kinematics: Kinematics
    wrench: FloatArray
    """(samples, 6) in the body frame: what the person passes to the object, N and N m."""
    weights: FloatArray
    """One per free row: G_j = sigma_min / sigma_j (paper, below eq. optimization)."""
    lowpass: Lowpass | None
    lift: FloatArray
    """Coefficients [row, entry of a block, column of (Y | y)] that turn compressed blocks into rows."""
    used: BoolArray | None = None
    """(samples,): which samples the model speaks about; None: all. The others (at rest, at a stop) are left out before
    the low-pass: each sample's balance holds for itself, so any weighted sum of those that are left does too.
    """
    fade: FloatArray | None = None
    """(samples,) from 0 to 1: weights that fade out towards samples left out. A sharp edge would let the motion's fast
    noise through the low-pass.
    """

    @property
    def by_features(self) -> bool:
        """Whether the rows are constant combinations of features, so that only features need to be compressed."""
        return self.model.mechanism.constant_projection

    def block(self, start: int, stop: int) -> FloatArray:
        """Samples start:stop, low-passed: features and wrench (1, entries, n), or the rows themselves (rows, columns,
        n).
        """
        k = _cut(self.kinematics, start, stop)
        w = [self.wrench[start:stop, i] for i in range(6)]
        y = list(self.model.mechanism.project(k, w, ARRAYS))
        if self.by_features:
            entries: list[list[Scalar]] = [[*self.model.features(k, ARRAYS), *y]]
        else:
            columns = self.model.columns(k, ARRAYS)
            entries = [[*(column[i] for column in columns), y[i]] for i in range(len(y))]
        block = np.empty((len(entries), len(entries[0]), stop - start))
        for i, line in enumerate(entries):
            for j, entry in enumerate(line):
                block[i, j] = entry
        if self.used is not None:
            block[:, :, ~self.used[start:stop]] = 0.0
        if self.fade is not None:
            block *= self.fade[start:stop]
        return block if self.lowpass is None else self.lowpass.apply(block)

    def indices(self, segment: Segment) -> tuple[int, int]:
        """The samples of a segment; refuses one that leaves the recording."""
        start, stop = (int(i) for i in np.searchsorted(self.times_s, segment))
        first, last = self.times_s[0], self.times_s[-1]
        step = (last - first) / max(len(self.times_s) - 1, 1)
        if segment[0] < first - step or segment[1] > last + 2 * step or stop <= start:
            raise DataProblem(_name(segment), f"it must lie inside the recording, {first:.3f} to {last:.3f} s")
        return start, stop

    def check_seen(self, segment: Segment) -> None:
        """Refuse a segment with samples that not every instrument saw."""
        start, stop = self.indices(segment)
        seen = _finite(self.kinematics, start, stop) & np.isfinite(self.wrench[start:stop]).all(axis=1)
        if self.used is not None:
            seen |= ~self.used[start:stop]
        if not seen.all():
            lost = self.times_s[start:stop][~seen]
            raise DataProblem(
                _name(segment),
                f"{len(lost)} samples were not seen by every instrument (gap or not a number), "
                f"the first at {lost[0]:.3f} s, the last at {lost[-1]:.3f} s",
                remedy="leave that time out of the segment",
            )

    def rows(self, segment: Segment) -> FloatArray:
        """The rows [Y | y] of a segment, to look at: (samples, rows, parameters + 1)."""
        block = self.block(*self.indices(segment))
        if not self.by_features:
            return block.transpose(2, 0, 1)
        return np.asarray(np.einsum("iN,rip->Nrp", block[0], self.lift), dtype=float)


@dataclass(frozen=True, slots=True, eq=False)
class MotionNoise:
    """What noise in the motion does to the columns, seen as the difference of two balances of the same wrench.

    The two halves of an IMU's samples (scale 1/2: an instrument of its own for each other), or the measured motion
    with and without noise added (scale 1: simulation and extrapolation).
    """

    one: Balance
    other: Balance
    scale: float

    def block(self, start: int, stop: int) -> FloatArray:
        """As `Balance.block`; the wrench's entries vanish, and so does what only one of the two saw: their ends differ
        by a sample.
        """
        difference = self.one.block(start, stop) - self.other.block(start, stop)
        return np.nan_to_num(self.scale * difference, nan=0.0)


def build_balance(
    model: Model,
    motion: Motion,
    wrench: FloatArray,
    *,
    sigma: Sequence[float] | FloatArray,
    lowpass: Lowpass | None = None,
    used: BoolArray | None = None,
    fade: FloatArray | None = None,
) -> Balance:
    """Set up the balance of a model with measured motion and wrench.

    wrench (samples, 6): N and N m in the body frame, on the motion's clock, in the sense "person on object". sigma:
    one standard deviation per free row (N, N m), whose ratios weight the rows. used, fade (samples,): see `Balance`.
    """
    if wrench.shape != (len(motion.times_s), 6):
        raise ValueError(f"the wrench has shape {wrench.shape}, the motion {len(motion.times_s)} samples")
    sigma = np.asarray(sigma, dtype=float)
    if sigma.shape != (len(model.mechanism.rows),) or not (sigma > 0).all():
        raise ValueError(f"sigma must hold {len(model.mechanism.rows)} positive numbers")
    return Balance(
        model=model,
        times_s=motion.times_s,
        kinematics=model.mechanism.observe(motion),
        wrench=np.asfortranarray(wrench, dtype=float),
        weights=sigma.min() / sigma,
        lowpass=lowpass,
        lift=_lift(model),
        used=used,
        fade=fade,
    )


def _lift(model: Model) -> FloatArray:
    """How features make up the rows; where the projection changes from sample to sample, rows are rows."""
    rows, p = len(model.mechanism.rows), len(model.parameters)
    if not model.mechanism.constant_projection:
        return np.tile(np.eye(p + 1), (rows, 1, 1))
    T = model.coefficients()
    lift = np.zeros((rows, T.shape[1] + rows, p + 1))
    lift[:, : T.shape[1], :p] = T
    lift[np.arange(rows), T.shape[1] + np.arange(rows), p] = 1.0
    return lift


def _name(segment: Segment) -> str:
    return f"segment {segment[0]:.3f} to {segment[1]:.3f} s"


def _cut(k: Kinematics, start: int, stop: int) -> Kinematics:
    def cut(x: Scalar) -> Scalar:
        return cast("FloatArray", x)[start:stop] if isinstance(x, np.ndarray) else x

    def triple(t: Triple) -> Triple:
        return (cut(t[0]), cut(t[1]), cut(t[2]))

    coordinates = {
        name: Coordinate(cut(c.position), cut(c.speed), cut(c.acceleration), tuple(cut(r) for r in c.ratio))
        for name, c in k.coordinates.items()
    }
    return Kinematics(triple(k.specific_acceleration), triple(k.omega), triple(k.omega_dot), coordinates)


def _finite(k: Kinematics, start: int, stop: int) -> BoolArray:
    cut = _cut(k, start, stop)
    seen = np.ones(stop - start, dtype=bool)
    for x in (*cut.specific_acceleration, *cut.omega, *cut.omega_dot):
        seen &= np.isfinite(x)
    for c in cut.coordinates.values():
        seen &= np.isfinite(c.position + c.speed + c.acceleration)
    return seen
