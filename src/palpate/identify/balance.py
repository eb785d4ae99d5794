"""The balance y = Y p of one stage: model + motion + wrench + weights, ready to be looked at or compressed.

`Rows` keeps the rows of some segments in memory, so that single elements' columns can be built again and again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from palpate.elements import Element
from palpate.errors import DataProblem
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.motion.derivatives import Lowpass
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.functions import ARRAYS, Scalar
from palpate.physics.kinematics import Kinematics
from palpate.physics.motion import Motion

Segment = tuple[float, float]
"""Seconds on the reference clock, half-open."""
PIECES = 100
"""A recording is cut into about so many pieces, for statistics ..."""
SHORTEST_PIECE_S = 0.25
"""... none of which is shorter."""


@dataclass(frozen=True, slots=True, eq=False)
class Balance:
    """The balance y = Y p of one model with a measured motion and wrench: linear equations for the parameters p.

    The rows [Y | y] are made block by block and never all at once; `rows` shows those of a segment. `lowpass`,
    if any, passes over every column and the wrench alike (parallel filtering).
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
        k = self.kinematics.at(slice(start, stop))
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
        known = _finite(self.kinematics, start, stop) & np.isfinite(self.wrench[start:stop]).all(axis=1)
        if self.used is not None:
            known |= ~self.used[start:stop]
        if not known.all():
            lost = self.times_s[start:stop][~known]
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


def _finite(k: Kinematics, start: int, stop: int) -> BoolArray:
    cut = k.at(slice(start, stop))
    finite = np.ones(stop - start, dtype=bool)
    for x in (*cut.specific_acceleration, *cut.omega, *cut.omega_dot):
        finite &= np.isfinite(x)
    for c in cut.coordinates.values():
        finite &= np.isfinite(c.position + c.speed + c.acceleration)
    return finite


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The samples of some segments, from which any element's low-passed, weighted columns can be built."""

    mechanism: Mechanism
    kinematics: Kinematics
    """Of the segments' samples, one segment after the other."""
    y: FloatArray
    """(1, rows): the wrench's free rows, low-passed and weighted as the columns are."""
    samples: NDArray[np.int64]
    """(pieces,): how many samples each piece stands for; about a hundred pieces, for statistics."""
    _starts: NDArray[np.int64]
    _used: BoolArray | None
    _fade: FloatArray | None
    _spans: tuple[tuple[int, int], ...]
    _lowpass: Lowpass | None
    _weights: FloatArray

    def alone(self, element: Element) -> Model:
        """A model of one element, whose shapes have the element's own names."""
        return Model("part", self.mechanism, (element,))

    def raw(self, part: Model, z: Mapping[str, Scalar]) -> FloatArray:
        """The columns as they are at every sample, of an element `alone`: (parameters, free rows, samples)."""
        columns = part.columns(self.kinematics, ARRAYS, z)
        samples = np.empty((len(columns), len(self._weights), self._spans[-1][1]))
        for i, column in enumerate(columns):
            for j, entry in enumerate(column):
                samples[i, j] = entry
        return samples if self._used is None else _weighed(samples, self._used, self._fade)

    @property
    def visited(self) -> Kinematics:
        """Of the samples that count."""
        return self.kinematics if self._used is None else self.kinematics.at(np.flatnonzero(self._used))

    def passed(self, raw: FloatArray) -> FloatArray:
        """Low-passed inside each segment and weighted: (columns, free rows, samples) -> (columns, rows)."""
        if self._lowpass is not None:
            raw = np.concatenate([self._lowpass.apply(raw[..., a:b]) for a, b in self._spans], axis=-1)
        step = 1 if self._lowpass is None else self._lowpass.step
        weighted = raw * (np.sqrt(step) * self._weights[:, None])
        return weighted.swapaxes(1, 2).reshape(len(raw), -1)

    def columns(self, element: Element, z: Mapping[str, Scalar] | None = None) -> FloatArray:
        """(parameters, rows), with the shapes z instead of the element's own."""
        shapes = {s.name: s.value for s in element.shapes} if z is None else z
        return self.passed(self.raw(self.alone(element), shapes))

    def by_piece(self, products: FloatArray) -> FloatArray:
        """Sums of (..., rows) over the rows of each piece: (..., pieces)."""
        return np.add.reduceat(products, self._starts, axis=-1)[..., self.samples > 0]

    def folds(self, number: int) -> list[tuple[slice[int, int], int]]:
        """Consecutive pieces with about the same number of samples each: their rows, and how many samples."""
        which = (np.cumsum(self.samples) - 1) * number // int(self.samples.sum())
        ends = np.append(self._starts, self.y.shape[1])
        folds: list[tuple[slice[int, int], int]] = []
        for fold in range(number):
            at = np.flatnonzero(which == fold)
            if len(at) and self.samples[at].sum() > 0:
                folds.append((slice(int(ends[at[0]]), int(ends[at[-1] + 1])), int(self.samples[at].sum())))
        return folds


def stack_rows(balance: Balance, segments: Sequence[Segment], *, most: int | None = None) -> Rows:
    """The rows of the segments; with `most`, only so many: every second, third, ... output of the low-pass."""
    if not segments:
        raise DataProblem("segments", "there is none to fit")
    for segment in segments:
        balance.check_seen(segment)
    lowpass = balance.lowpass
    spans = [balance.indices(segment) for segment in segments]
    if lowpass is not None:
        spans = [(a, b) for a, b in spans if lowpass.outputs(b - a) > 0]
        if not spans:
            raise DataProblem("segments", "each is shorter than the low-pass filter", remedy="use longer ones")
    step = 1 if lowpass is None else lowpass.step
    if most is not None and sum(b - a for a, b in spans) > 2 * step * most:
        lowpass = Lowpass(np.ones(1), 1) if lowpass is None else lowpass
        lowpass = replace(lowpass, step=step * (sum(b - a for a, b in spans) // (step * most)))
    at = np.concatenate([np.arange(a, b) for a, b in spans])
    ends = np.cumsum([b - a for a, b in spans])
    k = balance.kinematics.at(at)
    inner = tuple((int(e) - (b - a), int(e)) for (a, b), e in zip(spans, ends, strict=True))
    outputs = [b - a if lowpass is None else lowpass.outputs(b - a) for a, b in inner]
    used = None if balance.used is None else balance.used[at]
    fade = None if balance.fade is None else balance.fade[at]
    if used is not None and not used.any():
        raise DataProblem("segments", "no sample of them can be used: the object rests, or is at a stop, throughout")
    firsts, samples = _cut_up(balance, outputs, inner, used)
    rows = Rows(
        mechanism=balance.model.mechanism,
        kinematics=k,
        y=np.empty((1, 0)),
        samples=samples,
        _starts=len(balance.weights) * firsts,
        _used=used,
        _fade=fade,
        _spans=inner,
        _lowpass=lowpass,
        _weights=balance.weights,
    )
    wrench = [balance.wrench[at, i] for i in range(6)]
    y = np.array([np.broadcast_to(r, at.shape) for r in balance.model.mechanism.project(k, wrench, ARRAYS)])
    return replace(rows, y=rows.passed((y if used is None else _weighed(y, used, fade))[None]))


def _weighed(x: FloatArray, used: BoolArray, fade: FloatArray | None) -> FloatArray:
    """(..., samples) without what is left out (`Balance.used`, `Balance.fade`)."""
    weighed = np.where(used, x, 0.0)
    return weighed if fade is None else weighed * fade


def _cut_up(
    balance: Balance, outputs: Sequence[int], spans: Sequence[tuple[int, int]], used: BoolArray | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Equal pieces of each segment, none so short that its neighbours say the same: first output, samples used."""
    step_s = float(balance.times_s[-1] - balance.times_s[0]) / max(1, len(balance.times_s) - 1)
    whole = spans[-1][1]
    shortest = max(1.0, SHORTEST_PIECE_S / step_s, whole / PIECES) * sum(outputs) / whole
    firsts: list[int] = []
    samples: list[int] = []
    done = 0
    for count, (a, b) in zip(outputs, spans, strict=True):
        pieces = min(count, max(1, round(count / shortest)))
        firsts += [done + count * i // pieces for i in range(pieces)]
        edges = [a + (b - a) * i // pieces for i in range(pieces + 1)]
        samples += [n - m if used is None else int(np.count_nonzero(used[m:n])) for m, n in pairwise(edges)]
        done += count
    return np.array(firsts, dtype=np.int64), np.array(samples, dtype=np.int64)
