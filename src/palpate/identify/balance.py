"""The balance y = Y p of one stage: model + motion + wrench + weights, ready to be looked at or compressed.

`Rows` keeps the rows of some segments in memory, so that single elements' columns can be built again and again.

Compression: one pass over a recording turns its rows [Y | y] into small factors that hold all a fit needs. A factor F
of rows X satisfies F'F = X'X. Factors of pieces stack: joining recordings, splitting train from test, leaving a piece
out or drawing pieces again are choices of factors, not re-reads of data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palpate.elements import Element
from palpate.errors import DataProblem, PalpateError
from palpate.identify.pieces import PIECES, Blocks, shortest_piece
from palpate.model import Model
from palpate.motion.derivatives import Lowpass
from palpate.physics.arrays import BoolArray, FloatArray, first_even, triangular
from palpate.physics.functions import ARRAYS, Functions, Scalar, remembering
from palpate.physics.motion import Kinematics, Motion

Segment = tuple[float, float]
"""Seconds on the reference clock, half-open."""
BLOCK = 8192
"""Samples per block: as fast as any size, and a megabyte."""
MOST_NOISY = 1
"""Blocks of a piece in which noise of the motion is looked at."""
_ROOM = 1 << 17
"""Numbers of blocks that are kept in case QR needs them: a megabyte."""
GRAM_LIMIT = 1e3
"""Column-scaled condition number up to which X'X loses nothing that matters (error eps * kappa^2); above, QR."""
EACH = -1
"""Columns that are one free row's each."""
_UNUSED = "no sample of them can be used: the object rests, or is at a stop, throughout"


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
    """(samples,) from 0 to 1: weights that fade out towards samples left out; a sharp edge lets fast noise pass."""

    @property
    def by_features(self) -> bool:
        """Whether the rows are constant combinations of features, so that only features need to be compressed."""
        return self.model.mechanism.constant_projection

    def block(
        self,
        start: int,
        stop: int,
        wrenches: Sequence[FloatArray] | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Samples start:stop, low-passed: features and wrench (1, entries, n), or the rows (rows, columns, n).

        wrenches: several (samples, 6) instead of one, the entries of one after those of the other. out: where it may be
        put, (1 or rows, entries or more, n or more).
        """
        k, fn = self.kinematics.at(slice(start, stop)), remembering(ARRAYS)
        parts = [[w[start:stop, i] for i in range(6)] for w in wrenches or (self.wrench,)]
        project = self.model.mechanism.projector(k, fn)
        ys = [list(project(w)) for w in parts]
        more = [[x for y in ys for x in y]] if self.by_features else [[y[i] for y in ys] for i in range(len(ys[0]))]
        entries = [[*line, *wrench] for line, wrench in zip(self.columns(k, fn), more, strict=True)]
        return self.passed(self.weighed(filled(entries, stop - start, out), start, stop))

    def columns(self, k: Kinematics, fn: Functions = ARRAYS) -> list[list[Scalar]]:
        """The entries of a block that follow from a motion: the features, or the columns of each row."""
        if self.by_features:
            return [list(self.model.features(k, fn))]
        columns = self.model.columns(k, fn)
        return [[column[i] for column in columns] for i in range(len(self.model.mechanism.rows))]

    def weighed(self, x: FloatArray, start: int, stop: int) -> FloatArray:
        """(..., samples start:stop) without what is left out (`used`, `fade`)."""
        x = x if self.used is None else np.where(self.used[start:stop], x, 0.0)
        return x if self.fade is None else x * self.fade[start:stop]

    def passed(self, x: FloatArray) -> FloatArray:
        """(..., samples), low-passed."""
        return x if self.lowpass is None else self.lowpass.apply(x)

    def outputs(self, samples: int) -> int:
        """What the low-pass leaves of so many samples."""
        return samples if self.lowpass is None else self.lowpass.outputs(samples)

    @property
    def step(self) -> int:
        """How many samples an output of the low-pass stands for."""
        return 1 if self.lowpass is None else self.lowpass.step

    @property
    def taps(self) -> int:
        """How many samples make an output."""
        return 1 if self.lowpass is None else len(self.lowpass.taps)

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
        known, k = np.isfinite(self.wrench[start:stop]).all(axis=1), self.kinematics.at(slice(start, stop))
        along = (c.position + c.speed + c.acceleration for c in k.coordinates.values())
        for x in (*k.specific_acceleration, *k.omega, *k.omega_dot, *along):
            known &= np.isfinite(x)
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

    def combined(self, *vectors: FloatArray) -> list[FloatArray]:
        """(rows, samples) for each vector v (parameters + 1,): [Y | y] v at every sample, without making the rows."""
        sums = [np.empty((len(self.weights), self.outputs(len(self.times_s)))) for _ in vectors]
        for first, last, start, stop in self.blocks((0, len(self.times_s))):
            k, fn = self.kinematics.at(slice(start, stop)), remembering(ARRAYS)
            y = self.model.mechanism.project(k, [self.wrench[start:stop, i] for i in range(6)], fn)
            for v, out in zip(vectors, sums, strict=True):
                pairs = zip(self.model.combined(k, fn, v[:-1]), y, strict=True)
                row = filled([[a + v[-1] * b for a, b in pairs]], stop - start)
                out[:, first:last] = self.passed(self.weighed(row, start, stop))[0]
        return sums

    def blocks(self, span: tuple[int, int]) -> Iterator[tuple[int, int, int, int]]:
        """A span in parts that fit into memory: first and last output of the low-pass, first and last sample."""
        count, size = self.outputs(span[1] - span[0]), max(1, 4 * BLOCK // self.step)
        for first in range(0, count, size):
            last, start = min(first + size, count), span[0] + first * self.step
            yield first, last, start, start + (last - first - 1) * self.step + self.taps

    def rows(self, segment: Segment) -> FloatArray:
        """The rows [Y | y] of a segment, to look at: (samples, rows, parameters + 1)."""
        block = self.block(*self.indices(segment))
        if not self.by_features:
            return block.transpose(2, 0, 1)
        return self.lifted(block[0])

    def lifted(self, features: FloatArray) -> FloatArray:
        """(samples, rows, parameters + 1) of features and wrench (entries, samples), of which the rows are made."""
        rows, entries, columns = self.lift.shape
        return (features.T @ self.lift.swapaxes(0, 1).reshape(entries, -1)).reshape(-1, rows, columns)


@dataclass(frozen=True, slots=True, eq=False)
class MotionNoise:
    """What noise in the motion does to the columns, seen as the difference of two motions in one balance.

    The two halves of an IMU's samples (scale 1/2: an instrument of its own for each other), or the measured motion
    with and without noise added (scale 1: simulation and extrapolation).
    """

    balance: Balance
    motions: Callable[[int, int], tuple[Kinematics, Kinematics]]
    """Of samples start to stop."""
    scale: float

    def block(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """As `Balance.block`; the wrench's entries vanish, and so does what only one saw: their ends may differ."""
        b = self.balance
        first, second = self.motions(start, stop)
        one, other = filled(b.columns(first), stop - start, out), filled(b.columns(second), stop - start)
        low = np.nan_to_num(b.passed(b.weighed(self.scale * (one - other), start, stop)), nan=0.0, copy=False)
        return np.concatenate([low, np.zeros((len(low), b.lift.shape[1] - low.shape[1], low.shape[2]))], axis=1)


def build_balance(
    model: Model,
    motion: Motion,
    wrench: FloatArray,
    *,
    sigma: Sequence[float] | FloatArray,
    lowpass: Lowpass | None = None,
    used: BoolArray | None = None,
    fade: FloatArray | None = None,
    effort: Mapping[str, float] | None = None,
) -> Balance:
    """Set up the balance of a model with measured motion and wrench.

    wrench (samples, 6): N and N m in the body frame, on the motion's clock, in the sense "person on object". sigma:
    one standard deviation per free row (N, N m), whose ratios weight the rows. used, fade (samples,): see `Balance`.
    effort: values by which the hand's effort is predicted for elements that follow it; None: it is as measured.
    """
    if wrench.shape != (len(motion.times_s), 6):
        raise ValueError(f"the wrench has shape {wrench.shape}, the motion {len(motion.times_s)} samples")
    sigma = np.asarray(sigma, dtype=float)
    if sigma.shape != (len(model.mechanism.rows),) or not (sigma > 0).all():
        raise ValueError(f"sigma must hold {len(model.mechanism.rows)} positive numbers")
    wrench = np.asfortranarray(wrench, dtype=float)
    k = model.remembering(model.loaded(model.mechanism.observe(motion), list(wrench.T), ARRAYS), motion.times_s)
    if effort is not None:
        k = model.with_effort(k, effort)
    if known := [np.isfinite(x) for numbers in k.memory.values() for x in numbers]:
        used = np.all(known if used is None else [used, *known], axis=0)
    return Balance(model, motion.times_s, k, wrench, sigma.min() / sigma, lowpass, _lift(model), used, fade)


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


def filled(entries: Sequence[Sequence[Scalar]], samples: int, out: FloatArray | None = None) -> FloatArray:
    """Columns, each an array or one number for all samples, as one array (..., samples); out: that has room for it."""
    shape = (len(entries), len(entries[0]), samples)
    filled = np.empty(shape) if out is None else out[: shape[0], : shape[1], : shape[2]]
    for i, line in enumerate(entries):
        for j, entry in enumerate(line):
            filled[i, j] = entry
    return filled


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The samples of some segments, from which any element's low-passed, weighted columns can be built."""

    balance: Balance
    """Of the segments' samples alone, one segment after the other ..."""
    spans: tuple[tuple[int, int], ...]
    """... each from its first to its last."""
    y: FloatArray
    """(1, rows): the wrench's free rows, low-passed and weighted as the columns are."""
    samples: NDArray[np.int64]
    """(pieces,): how many samples each piece stands for; about a hundred pieces, for statistics."""
    starts: NDArray[np.int64]
    """(pieces,): the first row of each."""
    at: NDArray[np.int64]
    """Which samples of the balance they are."""

    def alone(self, element: Element) -> Model:
        """A model of one element, whose shapes have the element's own names."""
        return Model("part", self.balance.model.mechanism, (element,))

    def raw(self, part: Model, z: Mapping[str, Scalar]) -> FloatArray:
        """The columns as they are at every sample, of an element `alone`: (parameters, free rows, samples)."""
        samples = self.spans[-1][1]
        columns = filled(part.columns(self.balance.kinematics, ARRAYS, z), samples)
        return self.balance.weighed(columns, 0, samples)

    @property
    def visited(self) -> Kinematics:
        """Of the samples that count."""
        k, used = self.balance.kinematics, self.balance.used
        return k if used is None else k.at(np.flatnonzero(used))

    def passed(self, raw: FloatArray) -> FloatArray:
        """Low-passed inside each segment and weighted: (columns, free rows, samples) -> (columns, rows)."""
        weighted = self._low(raw) * (np.sqrt(self.balance.step) * self.balance.weights[:, None])
        return weighted.swapaxes(1, 2).reshape(len(raw), -1)

    def _low(self, raw: FloatArray) -> FloatArray:
        return np.concatenate([self.balance.passed(raw[..., a:b]) for a, b in self.spans], axis=-1)

    def felt_at(self, place: str) -> Rows:  # noqa: ARG002 - columns are what the hand feels, wherever it acts
        """The same for forces that act at a place."""
        return self

    def taken(self, columns: FloatArray, only: int | None = None) -> FloatArray:
        """(columns, rows) of columns that are given at every sample of the balance: (columns, free rows, all samples).

        only: the free row of which they are, where they are given of one: (columns, 1, all samples); EACH: the first
        column is one of the first free row alone, and so on.
        """
        # an index would put the samples first in memory, and the low-pass would stumble over them
        raw = self.balance.weighed(np.take(columns, self.at, axis=2), 0, len(self.at))
        if only is None:
            return self.passed(raw)
        rows, free, low = np.zeros((len(columns), self.y.shape[1])), len(self.balance.weights), self._low(raw)[:, 0]
        for i, j in enumerate(range(free) if only == EACH else [only] * len(columns)):
            rows[i, j::free] = low[i] * (np.sqrt(self.balance.step) * self.balance.weights[j])
        return rows

    def of_model(
        self, model: Model, k: Kinematics | None = None, weights: FloatArray | BoolArray | None = None
    ) -> FloatArray:
        """(parameters, rows): the columns of the balance's model, block by block: all would not fit into memory.

        model: with shapes of its own; k: another motion and weights, of a part of the data, at every sample of the
        balance. What is not known counts as zero.
        """
        b, lows = self.balance, list[FloatArray]()
        for span in self.spans:
            for _, _, start, stop in b.blocks(span):
                at = slice(int(self.at[start]), int(self.at[stop - 1]) + 1)
                motion = b.kinematics.at(slice(start, stop)) if k is None else k.at(at)
                entries = [model.features(motion, ARRAYS)] if b.by_features else model.columns(motion, ARRAYS)
                x = b.weighed(np.nan_to_num(filled(entries, stop - start), copy=False), start, stop)
                x = b.passed(x if weights is None else x * weights[at])
                lows.append(b.lift[:, : x.shape[1], :-1].transpose(2, 0, 1) @ x[0] if b.by_features else x)
        low = np.concatenate(lows, axis=2) * (np.sqrt(b.step) * b.weights[:, None])
        return low.swapaxes(1, 2).reshape(len(low), -1)

    def columns(self, element: Element, z: Mapping[str, Scalar] | None = None) -> FloatArray:
        """(parameters, rows), with the shapes z instead of the element's own."""
        shapes = {s.name: s.value for s in element.shapes} if z is None else z
        return self.passed(self.raw(self.alone(element), shapes))

    def by_piece(self, products: FloatArray) -> FloatArray:
        """Sums of (..., rows) over the rows of each piece: (..., pieces)."""
        return np.add.reduceat(products, self.starts, axis=-1)[..., self.samples > 0]

    def folds(self, number: int) -> list[tuple[slice[int, int], int]]:
        """Consecutive pieces with about the same number of samples each: their rows, and how many samples."""
        which = (np.cumsum(self.samples) - 1) * number // int(self.samples.sum())
        ends = np.append(self.starts, self.y.shape[1])
        folds: list[tuple[slice[int, int], int]] = []
        for fold in range(number):
            at = np.flatnonzero(which == fold)
            if len(at) and self.samples[at].sum() > 0:
                folds.append((slice(int(ends[at[0]]), int(ends[at[-1] + 1])), int(self.samples[at].sum())))
        return folds


def stack_rows(balance: Balance, segments: Sequence[Segment], *, most: int | None = None) -> Rows:
    """The rows of the segments; with `most`, only so many: every second, third, ... output of the low-pass."""
    for segment in segments:
        balance.check_seen(segment)
    spans = [(a, b) for a, b in _spans(balance, segments) if balance.outputs(b - a) > 0]
    at = np.concatenate([np.arange(a, b) for a, b in spans])
    lowpass = balance.lowpass
    if most is not None and len(at) > 2 * balance.step * most:
        lowpass = Lowpass(np.ones(1), 1) if lowpass is None else lowpass
        lowpass = replace(lowpass, step=balance.step * (len(at) // (balance.step * most)))
    cut = replace(
        balance,
        kinematics=balance.kinematics.at(at),
        wrench=balance.wrench[at],
        lowpass=lowpass,
        used=None if balance.used is None else balance.used[at],
        fade=None if balance.fade is None else balance.fade[at],
    )
    if cut.used is not None and not cut.used.any():
        raise DataProblem("segments", _UNUSED)
    ends = [int(e) for e in np.cumsum([b - a for a, b in spans])]
    inner = tuple((e - (b - a), e) for (a, b), e in zip(spans, ends, strict=True))
    firsts, samples = _cut_up(cut, inner)
    rows = Rows(cut, inner, np.empty((1, 0)), samples, len(balance.weights) * firsts, at)
    y = cut.model.mechanism.project(cut.kinematics, [cut.wrench[:, i] for i in range(6)], ARRAYS)
    return replace(rows, y=rows.passed(cut.weighed(filled([list(y)], len(at)), 0, len(at))))


def _spans(balance: Balance, segments: Sequence[Segment]) -> list[tuple[int, int]]:
    """The samples of each segment; refuses what leaves nothing."""
    spans = [balance.indices(segment) for segment in segments]
    if not spans:
        raise DataProblem("segments", "there is none to fit")
    if not any(balance.outputs(b - a) for a, b in spans):
        raise DataProblem("segments", "each is shorter than the low-pass filter", remedy="use longer ones")
    return spans


def _cut_up(balance: Balance, spans: Sequence[tuple[int, int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Equal pieces of each segment, none so short that its neighbours say the same: first output, samples used."""
    first = first_even(balance.times_s, BLOCK)
    step_s = float(first[-1] - first[0]) / max(1, len(first) - 1)
    whole, used = spans[-1][1], balance.used
    outputs = [balance.outputs(b - a) for a, b in spans]
    shortest = max(1.0, shortest_piece(balance.lowpass, whole, step_s), whole / PIECES) * sum(outputs) / whole
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


@dataclass(frozen=True, slots=True, eq=False)
class Compressed:
    """A balance compressed: small factors of its consecutive pieces that hold all that a fit needs.

    The rows of free row j in piece b are X_bj = Z_b lift_j, with Z_b the features (or, where the projection changes
    from sample to sample, the rows themselves) and roots[b]' roots[b] = Z_b' Z_b.
    """

    model: Model
    """Structure only: its parameters are the columns, in order; y is the last one."""
    roots: FloatArray
    """(pieces, 1 or rows, size, entries)."""
    lift: FloatArray
    """(rows, entries, parameters + 1)."""
    samples: NDArray[np.int64]
    """(pieces,): how many samples each piece stands for."""
    low: FloatArray
    """(pieces, rows): smallest y, and ..."""
    high: FloatArray
    """... largest y."""
    weights: FloatArray
    """(rows,): G_j of the balance."""
    noise: FloatArray | None = None
    """(pieces, 1 or rows, entries, entries): the part of Z'Z that is noise of the motion; `gram` leaves it out."""

    def gram(self, draws: FloatArray | None = None) -> FloatArray:
        """X'X of all weighted rows, (parameters + 1, parameters + 1); `draws` counts how often each piece is taken."""
        roots = self.roots if draws is None else self.roots * np.sqrt(draws)[:, None, None, None]
        stacked = roots.swapaxes(0, 1).reshape(self.roots.shape[1], -1, self.roots.shape[3])
        inner = stacked.swapaxes(1, 2) @ stacked
        if self.noise is not None:
            inner = inner - (self.noise if draws is None else self.noise * draws[:, None, None, None]).sum(axis=0)
        lifted = self.lift * self.weights[:, None, None]
        return np.sum(lifted.swapaxes(1, 2) @ inner @ lifted, axis=0)

    def factor(self, draws: FloatArray | None = None) -> FloatArray:
        """The triangular factor R of all weighted rows, R'R = X'X, by QR where X'X would lose digits.

        Raises `DataProblem` where the motion's noise exceeds what moved.
        """
        gram = self.gram(draws)
        if self.noise is not None or _well_conditioned(gram[None]):
            scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
            try:
                return np.asarray(np.linalg.cholesky(gram / scale[:, None] / scale).T * scale, dtype=float)
            except np.linalg.LinAlgError:
                raise DataProblem("motion", "in some direction its noise is larger than the motion itself") from None
        counts = np.ones(len(self.roots)) if draws is None else draws
        rows = [self._row(j) * (self.weights[j] * np.sqrt(counts)[:, None, None]) for j in range(len(self.weights))]
        return triangular(np.concatenate([row.reshape(-1, row.shape[2]) for row in rows]))

    def scores(self, p: FloatArray) -> FloatArray:
        """Y'(y - Y p) of each piece with weights, (pieces, parameters): what each piece pulls the parameters to."""
        pieces, groups, _, entries = self.roots.shape
        residual = (self.lift @ np.append(-p, 1.0)).reshape(groups, -1, entries).swapaxes(1, 2)
        pulls = self.roots.swapaxes(2, 3) @ (self.roots @ residual)  # (pieces, groups, entries, rows of a group)
        if self.noise is not None:
            pulls = pulls - self.noise @ residual
        weighted = self.lift[:, :, :-1] * (self.weights**2)[:, None, None]
        return pulls.swapaxes(2, 3).reshape(pieces, -1) @ weighted.reshape(-1, len(p))

    def information(self, v: FloatArray) -> FloatArray:
        """v' Y'Y v of each piece with weights, for columns v (parameters, n): (pieces, n)."""
        pieces, groups, size, entries = self.roots.shape
        lifted = (self.lift[:, :, :-1] @ v) * self.weights[:, None, None]  # (rows, entries, n)
        beside = lifted.reshape(groups, -1, entries, v.shape[1]).swapaxes(1, 2).reshape(groups, entries, -1)
        moved = (self.roots @ beside).reshape(pieces, groups * size, -1, v.shape[1])
        return np.einsum("bijk,bijk->bk", moved, moved)

    def select(self, pieces: Sequence[int] | NDArray[np.int64]) -> Compressed:
        """Some of the pieces, in any order and number: cross-validation and bootstrap."""
        at = np.asarray(pieces, dtype=int)
        return replace(self, **{name: value[at] for name, value in self.by_field().items()})

    def by_field(self) -> dict[str, Any]:
        """What each piece has of its own, by field."""
        names = ("roots", "samples", "low", "high", *(() if self.noise is None else ("noise",)))
        return {name: getattr(self, name) for name in names}

    def squares(self, p: FloatArray) -> FloatArray:
        """Sum of squares of y - Y p per piece and row, (pieces, rows), in the row's unit squared."""
        v = np.append(-p, 1.0)
        residuals = [np.sum((self._row(j) @ v) ** 2, axis=1) for j in range(len(self.weights))]
        return np.array(residuals, dtype=float).T

    def rms(self, p: FloatArray) -> FloatArray:
        """Root mean square of y - Y p per row, in the row's unit; pieces without that row do not count."""
        present = np.array([self._row(j).any(axis=(1, 2)) for j in range(len(self.lift))])
        return np.sqrt(self.squares(p).sum(axis=0) / np.maximum(present @ self.samples, 1))

    def range(self) -> FloatArray:
        """Largest minus smallest y per row."""
        return self.high.max(axis=0) - self.low.min(axis=0)

    def _row(self, j: int) -> FloatArray:
        """Factors of free row j, unweighted: (pieces, size, parameters + 1)."""
        return self.roots[:, j if self.roots.shape[1] > 1 else 0] @ self.lift[j]


def compress(
    balance: Balance,
    segments: Sequence[Segment],
    *,
    noise: Blocks | None = None,
    pieces: int = PIECES,
    block: int = BLOCK,
    source: Blocks | None = None,
) -> Compressed:
    """Read the segments once and keep their factors, in about `pieces` pieces for the statistics.

    The low-pass, if there is one, stays inside each segment: half its length is lost at either end, and nothing of a
    test segment leaks into a train segment. A decimated row stands for `step` samples and is weighted so.
    source: where the blocks come from, if they are not to be made.
    """
    (compressed,), parts = _compress(balance, (balance.wrench,), segments, pieces, block, source=source)
    if noise is not None:
        of_noise = balance.step * np.concatenate([_noise(balance, noise, part) for part in parts])
        compressed = replace(compressed, noise=of_noise)
    return _of_used(balance, compressed)


def compress_each(
    balance: Balance, wrenches: Sequence[FloatArray], segments: Sequence[Segment], *, joined: bool = False
) -> list[Compressed]:
    """The balance with each of several wrenches (samples, 6) in place of its own, which leave out the same samples.

    The columns are made once, and one factor of them with all wrenches holds that of each. joined: all pieces are one,
    which is enough where nothing but values will be asked.
    """
    each, _ = _compress(balance, wrenches, segments, PIECES, BLOCK, joined=joined)
    return [_of_used(balance, one) for one in each]


def _of_used(balance: Balance, compressed: Compressed) -> Compressed:
    """Without pieces in which no sample counts."""
    return compressed if balance.used is None else compressed.select(np.flatnonzero(compressed.samples))


def _compress(
    balance: Balance,
    wrenches: Sequence[FloatArray],
    segments: Sequence[Segment],
    pieces: int,
    block: int,
    *,
    joined: bool = False,
    source: Blocks | None = None,
) -> tuple[list[Compressed], list[_Part]]:
    """The compressed balance with each wrench, all pieces of it (joined: those that count as one); and the parts in
    which it was read.
    """
    spans = _spans(balance, segments)
    step_s = (balance.times_s[-1] - balance.times_s[0]) / (len(balance.times_s) - 1)
    # enough pieces for statistics, none so short that its neighbours say the same
    whole = sum(stop - start for start, stop in spans)
    length = max(int(shortest_piece(balance.lowpass, whole, step_s)), -(-whole // pieces), 1)
    parts = [part for span in spans for part in _parts(balance, span, length, block)]
    rows, number = len(balance.weights), len(wrenches)
    y = slice(-rows * number if balance.by_features else -number, None)
    grams, samples, low, high = (list[FloatArray]() for _ in range(4))
    source, kept, room = source or _Several(balance, wrenches), dict[_Part, list[FloatArray]](), _ROOM
    factors, again, by_gram = dict[_Part, FloatArray](), set[_Part](), None
    longest = max((outputs - 1) * balance.step + balance.taps for part in parts for _, outputs in part.blocks)
    # a number of rows that BLAS likes; blocks come and go in the same memory, which stays near the processor
    space = np.zeros((*_size(balance, number, 4), longest))
    for part in parts:
        blocks: list[FloatArray] = []
        summaries: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        for z in _blocks(balance, source, part, space):
            wide = space[:, :, : z.shape[2]] if np.may_share_memory(z, space) else z
            summaries.append(_summary(_pieces(wide, part.pieces), _pieces(z, part.pieces)[:, :, y]))
            room -= z.size
            if room >= 0:
                blocks.append(z.copy())
            else:  # there is no memory to keep it: what products have shown so far says whether factors will be needed
                if by_gram is None:
                    by_gram = _by_gram(balance, [*grams, *(s[0] for s in summaries)], number)
                if by_gram:
                    again.add(part)
                else:  # making it again would take longer than its factor does
                    factors[part] = _by_qr([*blocks, z], part, factors.get(part))
                blocks = []
        kept[part] = blocks
        grams.append(np.add.reduce([s[0] for s in summaries]))
        low.append(np.minimum.reduce([s[1] for s in summaries]))
        high.append(np.maximum.reduce([s[2] for s in summaries]))
        samples.append(np.full(part.pieces, part.outputs // part.pieces))
    entries = _size(balance, number)[1]
    gram, lowest, highest = (np.concatenate(x) for x in ([g[..., :entries, :entries] for g in grams], low, high))
    counts = balance.step * np.concatenate(samples).astype(np.int64)
    if balance.used is not None:
        counts = np.concatenate([_used(balance, balance.used, part) for part in parts])
        if not counts.any():
            raise DataProblem("segments", _UNUSED)
    if not np.isfinite(gram).all():
        for segment in segments:
            balance.check_seen(segment)
    counting = np.flatnonzero(counts)
    if joined:
        gram, counts = gram[counting].sum(axis=0, keepdims=True), counts.sum(keepdims=True)
        lowest = lowest[counting].min(axis=0, keepdims=True)
        highest = highest[counting].max(axis=0, keepdims=True)
    factor: FloatArray | None = None
    each: list[Compressed] = []
    for i in range(number):
        mine, ends = _entries(balance, gram.shape[-1], i, number)
        one = gram if number == 1 else gram[..., mine[:, None], mine]
        if _well_conditioned(one.sum(axis=0)):
            roots = _roots(one)
        else:
            if factor is None:
                made = (_blocks(balance, source, p) if p in again else kept[p] for p in parts)
                factor = np.concatenate([_by_qr(x, p, factors.get(p)) for p, x in zip(parts, made, strict=True)])
                if joined:
                    stacked = factor[counting].swapaxes(0, 1)
                    factor = triangular(stacked.reshape(len(stacked), -1, stacked.shape[-1]))[None]
            roots = factor if number == 1 else triangular(factor[..., mine])
        each.append(
            Compressed(
                model=balance.model,
                roots=np.sqrt(balance.step) * roots,
                lift=balance.lift,
                samples=counts,
                low=lowest[:, ends],
                high=highest[:, ends],
                weights=balance.weights,
            )
        )
    return each, parts


def _by_gram(balance: Balance, grams: Sequence[FloatArray], number: int) -> bool:
    """Whether sums of products (pieces, groups, entries, entries) are enough for the first of the wrenches so far."""
    entries = _size(balance, number)[1]
    total = np.add.reduce([g[..., :entries, :entries].sum(axis=0) for g in grams])
    mine, _ = _entries(balance, entries, 0, number)
    return _well_conditioned(total[..., mine[:, None], mine])


def _size(balance: Balance, number: int, multiple: int = 1) -> tuple[int, int]:
    """Groups and entries of a block with so many wrenches, the entries rounded up to a multiple."""
    rows, entries = len(balance.weights), balance.lift.shape[1]
    groups, more = (1, rows) if balance.by_features else (rows, 1)
    return groups, -(-(entries + more * (number - 1)) // multiple) * multiple


def _entries(balance: Balance, size: int, i: int, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of a block with so many entries for so many wrenches: the columns with wrench i, and its ends among all y."""
    rows = len(balance.weights)
    if balance.by_features:
        ends = i * rows + np.arange(rows)
        own = size - rows * number
        return np.concatenate([np.arange(own), own + ends]), ends
    return np.append(np.arange(size - number), size - number + i), i + number * np.arange(rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Several:
    """A balance with several wrenches."""

    balance: Balance
    wrenches: Sequence[FloatArray]

    def block(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        return self.balance.block(start, stop, self.wrenches, out)


def _used(balance: Balance, used: BoolArray, part: _Part) -> NDArray[np.int64]:
    """How many samples each piece of a part stands for, where some are left out."""
    first = part.blocks[0][0] + balance.taps // 2 - balance.step // 2
    each = part.outputs // part.pieces * balance.step
    return np.array([np.count_nonzero(used[first + i * each : first + (i + 1) * each]) for i in range(part.pieces)])


def _noise(balance: Balance, noise: Blocks, part: _Part) -> FloatArray:
    """Z'Z of the noise alone, per piece; of a long one some blocks, spread evenly, stand for all.

    What that adds to the scatter between pieces is in the intervals.
    """
    every = max(1, len(part.blocks) // MOST_NOISY)
    some = replace(part, blocks=part.blocks[(every - 1) // 2 :: every])  # the last may be a remainder
    whole = [_pieces(z, part.pieces) for z in _blocks(balance, noise, some)]
    share = sum(outputs for _, outputs in some.blocks) / part.outputs
    return np.add.reduce([z @ z.swapaxes(2, 3) for z in whole]) / share


def merge(*parts: Compressed) -> Compressed:
    """One compressed balance out of several of the same model and weights: recordings, sessions, machines."""
    first = parts[0]
    for other in parts[1:]:
        if other.model != first.model or not np.array_equal(other.weights, first.weights):
            raise PalpateError("only compressed balances of the same model and the same weights can be merged")
        if (other.noise is None) != (first.noise is None):
            raise PalpateError(
                "a compressed balance with noise of the motion taken out does not merge with one without"
            )
    pieces = [part.by_field() for part in parts]
    return replace(first, **{name: np.concatenate([p[name] for p in pieces]) for name in pieces[0]})


@dataclass(frozen=True, slots=True)
class _Part:
    """A run of equally long pieces with `outputs` low-passed samples in all, read in blocks (first input, outputs)."""

    pieces: int
    outputs: int
    blocks: tuple[tuple[int, int], ...]


def _parts(balance: Balance, span: tuple[int, int], length: int, block: int) -> Iterator[_Part]:
    """Cut a span into pieces of about `length` inputs: short ones share a block, a long one has several."""
    start, stop = span
    step, outputs = balance.step, balance.outputs(stop - start)
    if outputs == 0:
        return
    count = min(max(1, round(outputs * step / length)), outputs)
    size, fits = outputs // count, max(1, block // step)
    done = 0
    while done < outputs:
        left = outputs - done
        if left < 2 * size or size > fits:  # one piece: a long one, or the last with the remainder
            take = left if left < 2 * size else size
            blocks = tuple((start + (done + a) * step, min(fits, take - a)) for a in range(0, take, fits))
            yield _Part(1, take, blocks)
        else:
            number = min(fits // size, left // size - 1) or 1
            take = number * size
            yield _Part(number, take, ((start + done * step, take),))
        done += take


def _blocks(balance: Balance, source: Blocks, part: _Part, out: FloatArray | None = None) -> Iterator[FloatArray]:
    """The blocks (groups, entries, samples) of one part; out: where each may be put."""
    for first, outputs in part.blocks:
        yield source.block(first, first + (outputs - 1) * balance.step + balance.taps, out)


def _pieces(z: FloatArray, pieces: int) -> FloatArray:
    """(groups, entries, samples) -> (pieces, groups, entries, samples of a piece), without copying."""
    return z.reshape(*z.shape[:2], pieces, -1).transpose(2, 0, 1, 3)


def _summary(z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """X'X, smallest and largest y of each piece."""
    return z @ z.swapaxes(2, 3), y.min(axis=3).reshape(len(z), -1), y.max(axis=3).reshape(len(z), -1)


def _by_qr(blocks: Iterable[FloatArray], part: _Part, factor: FloatArray | None) -> FloatArray:
    """Triangular factors (pieces, groups, entries, entries) of a part by QR, block after block.

    factor: of the blocks before them.
    """
    for z in blocks:
        rows = _pieces(z, part.pieces).swapaxes(2, 3)
        factor = triangular(rows if factor is None else np.concatenate([factor, rows], axis=2))
    assert factor is not None
    return factor


def _well_conditioned(gram: FloatArray) -> bool:
    """Whether the columns behind X'X (groups, k, k), each scaled to length one, are far enough from dependent."""
    scale = np.sqrt(np.maximum(np.diagonal(gram, axis1=1, axis2=2), 1e-300))
    values = np.linalg.eigvalsh(gram / scale[:, :, None] / scale[:, None, :])
    return bool((values[:, 0] > values[:, -1] / GRAM_LIMIT**2).all())


def _roots(gram: FloatArray) -> FloatArray:
    """F with F'F = X'X for a stack of symmetric matrices, also singular ones."""
    diagonal: FloatArray = np.maximum(np.diagonal(gram, axis1=-2, axis2=-1), 1e-300)
    k: NDArray[np.int64] = np.arange(gram.shape[-1], dtype=np.int64)
    try:
        # the addition is below the rounding of X'X and lets pieces through in which nothing moves
        lifted = gram.copy()
        lifted[..., k, k] = diagonal * (1 + 4 * np.finfo(float).eps * len(k))
        return np.asarray(np.linalg.cholesky(lifted), dtype=float).swapaxes(-1, -2)
    except np.linalg.LinAlgError:
        scale = np.sqrt(diagonal)
        values, vectors = np.linalg.eigh(gram / scale[..., :, None] / scale[..., None, :])
        root = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
        return root.swapaxes(-1, -2) * scale[..., None, :]
