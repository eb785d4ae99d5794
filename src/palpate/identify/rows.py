"""The rows of some segments kept in memory, so that single elements' columns can be built again and again.

Low-passed and decimated inside each segment, as `compress` does it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray

from palpate.elements import Element
from palpate.errors import DataProblem
from palpate.identify.balance import Balance, Segment
from palpate.identify.compression import PIECES, SHORTEST_PIECE_S
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.motion.derivatives.filters import Lowpass
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.functions import ARRAYS, Scalar
from palpate.physics.kinematics import Coordinate, Kinematics, Triple


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
        found = np.empty((len(columns), len(self._weights), self._spans[-1][1]))
        for i, column in enumerate(columns):
            for j, entry in enumerate(column):
                found[i, j] = entry
        return found if self._used is None else _weighed(found, self._used, self._fade)

    @property
    def visited(self) -> Kinematics:
        """Of the samples that count."""
        return self.kinematics if self._used is None else _take(self.kinematics, np.flatnonzero(self._used))

    def passed(self, raw: FloatArray) -> FloatArray:
        """Low-passed inside each segment and weighted: (columns, free rows, samples) -> (columns, rows)."""
        if self._lowpass is not None:
            raw = np.concatenate([self._lowpass.apply(raw[..., a:b]) for a, b in self._spans], axis=-1)
        step = 1 if self._lowpass is None else self._lowpass.step
        weighted = raw * (np.sqrt(step) * self._weights[:, None])
        return weighted.swapaxes(1, 2).reshape(len(raw), -1)

    def columns(self, element: Element, z: Mapping[str, Scalar] | None = None) -> FloatArray:
        """(parameters, rows), with the shapes z instead of the element's own."""
        own = {s.name: s.value for s in element.shapes} if z is None else z
        return self.passed(self.raw(self.alone(element), own))

    def by_piece(self, products: FloatArray) -> FloatArray:
        """Sums of (..., rows) over the rows of each piece: (..., pieces)."""
        return np.add.reduceat(products, self._starts, axis=-1)[..., self.samples > 0]

    def folds(self, number: int) -> list[tuple[slice[int, int], int]]:
        """Consecutive pieces with about the same number of samples each: their rows, and how many samples."""
        which = (np.cumsum(self.samples) - 1) * number // int(self.samples.sum())
        ends = np.append(self._starts, self.y.shape[1])
        found: list[tuple[slice[int, int], int]] = []
        for fold in range(number):
            at = np.flatnonzero(which == fold)
            if len(at) and self.samples[at].sum() > 0:
                found.append((slice(int(ends[at[0]]), int(ends[at[-1] + 1])), int(self.samples[at].sum())))
        return found


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
    k = _take(balance.kinematics, at)
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
    found = np.where(used, x, 0.0)
    return found if fade is None else found * fade


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


def _take(k: Kinematics, at: NDArray[np.int64]) -> Kinematics:
    def take(x: Scalar) -> Scalar:
        return cast("FloatArray", x)[at] if isinstance(x, np.ndarray) else x

    def triple(t: Triple) -> Triple:
        return (take(t[0]), take(t[1]), take(t[2]))

    coordinates = {
        name: Coordinate(take(c.position), take(c.speed), take(c.acceleration), tuple(take(r) for r in c.ratio))
        for name, c in k.coordinates.items()
    }
    return Kinematics(triple(k.specific_acceleration), triple(k.omega), triple(k.omega_dot), coordinates)
