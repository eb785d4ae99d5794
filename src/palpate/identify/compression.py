"""Compression: one pass over a recording turns its weighted rows [Y | y] into small factors that hold all a fit
needs.

A factor F of rows X satisfies F'F = X'X. Factors of pieces stack: joining recordings, splitting train from test,
leaving a piece out or drawing pieces again are choices of factors, not re-reads of data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem, PalpateError
from palpate.identify.balance import Balance, Segment
from palpate.model import Model
from palpate.physics.arrays import FloatArray, triangular

BLOCK = 8192
"""Samples per block: as fast as any size, and a megabyte."""
PIECES = 100
SHORTEST_PIECE_S = 0.25
GRAM_LIMIT = 1e3
"""Column-scaled condition number up to which X'X loses nothing that matters (error eps * kappa^2); above, QR."""


@dataclass(frozen=True, slots=True, eq=False)
class Compressed:
    """Factors of consecutive pieces, per free row and unweighted: pieces[b, j]' pieces[b, j] = X_bj' X_bj with X = [Y
    | y].
    """

    model: Model
    """Structure only: its parameters are the columns, in order; y is the last one."""
    pieces: FloatArray
    """(pieces, rows, size, parameters + 1)."""
    samples: NDArray[np.int64]
    """(pieces,): how many rows each piece stands for."""
    low: FloatArray
    """(pieces, rows): smallest y, and ..."""
    high: FloatArray
    """... largest y."""
    weights: FloatArray
    """(rows,): G_j of the balance."""

    @property
    def factor(self) -> FloatArray:
        """The merged triangular factor per row, (rows, parameters + 1, parameters + 1), unweighted."""
        return triangular(self.pieces.transpose(1, 0, 2, 3).reshape(len(self.weights), -1, self.pieces.shape[3]))

    @property
    def weighted(self) -> FloatArray:
        """The one triangular factor of all weighted rows, (parameters + 1, parameters + 1)."""
        return triangular((self.factor * self.weights[:, None, None]).reshape(1, -1, self.pieces.shape[3]))[0]

    @property
    def piece_grams(self) -> FloatArray:
        """X'X of each piece with weights, summed over the rows: (pieces, parameters + 1, parameters + 1)."""
        weighted = self.pieces * self.weights[:, None, None]
        stacked = weighted.reshape(len(weighted), -1, weighted.shape[3])
        return stacked.transpose(0, 2, 1) @ stacked

    def select(self, pieces: Sequence[int]) -> Compressed:
        """Some of the pieces, in any order and number: cross-validation and bootstrap."""
        at = np.asarray(pieces, dtype=int)
        return Compressed(self.model, self.pieces[at], self.samples[at], self.low[at], self.high[at], self.weights)

    def rms(self, p: FloatArray) -> FloatArray:
        """Root mean square of y - Y p per row, in the row's unit."""
        residual = self.factor @ np.append(-p, 1.0)
        return np.linalg.norm(residual, axis=1) / np.sqrt(self.samples.sum())

    def range(self) -> FloatArray:
        """Largest minus smallest y per row."""
        return self.high.max(axis=0) - self.low.min(axis=0)


def compress(balance: Balance, segments: Sequence[Segment], *, pieces: int = PIECES, block: int = BLOCK) -> Compressed:
    """Read the segments once and keep their factors, in about `pieces` pieces for the statistics.

    The low-pass, if there is one, stays inside each segment: half its length is lost at either end, and nothing of a
    test segment leaks into a train segment. A decimated row stands for `step` samples and is weighted so.
    """
    spans = [balance.indices(segment) for segment in segments]
    if not spans:
        raise DataProblem("segments", "there is none to fit")
    length = _piece_length(balance, spans, pieces)
    parts = [part for span in spans for part in _split(balance, span, length)]
    if not parts:
        raise DataProblem("segments", "each is shorter than the low-pass filter", remedy="use longer ones")
    y = slice(-len(balance.model.mechanism.rows), None) if balance.by_features else slice(-1, None)
    grams: list[FloatArray] = []
    samples: list[int] = []
    low: list[FloatArray] = []
    high: list[FloatArray] = []
    for part in parts:
        blocks = [
            (z @ z.transpose(0, 2, 1), z[:, y].min(axis=2).ravel(), z[:, y].max(axis=2).ravel(), z.shape[2])
            for z in _blocks(balance, part, block)
        ]
        grams.append(sum(b[0] for b in blocks) + np.zeros(1))
        low.append(np.min([b[1] for b in blocks], axis=0))
        high.append(np.max([b[2] for b in blocks], axis=0))
        samples.append(sum(b[3] for b in blocks))
    gram = np.array(grams, dtype=float)
    roots = (
        _roots(gram)
        if _well_conditioned(gram.sum(axis=0))
        else np.array([_by_qr(balance, part, block) for part in parts])
    )
    step = 1 if balance.lowpass is None else balance.lowpass.step
    lift = balance.lift()
    return Compressed(
        model=balance.model,
        pieces=np.sqrt(step) * (roots @ lift),
        samples=step * np.array(samples),
        low=np.array(low),
        high=np.array(high),
        weights=balance.weights,
    )


def merge(*parts: Compressed) -> Compressed:
    """One compressed balance out of several of the same model and weights: recordings, sessions, machines of a
    cluster.
    """
    first = parts[0]
    for other in parts[1:]:
        if other.model != first.model or not np.array_equal(other.weights, first.weights):
            raise PalpateError("only compressed balances of the same model and the same weights can be merged")
    size = max(part.pieces.shape[2] for part in parts)
    padded = [np.pad(p.pieces, ((0, 0), (0, 0), (0, size - p.pieces.shape[2]), (0, 0))) for p in parts]
    return Compressed(
        first.model,
        np.concatenate(padded),
        np.concatenate([part.samples for part in parts]),
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        first.weights,
    )


def _piece_length(balance: Balance, spans: Sequence[tuple[int, int]], pieces: int) -> int:
    """Samples per piece: enough pieces for statistics, none so short that its neighbours say the same."""
    step = (balance.times_s[-1] - balance.times_s[0]) / (len(balance.times_s) - 1)
    return max(int(SHORTEST_PIECE_S / step), -(-sum(stop - start for start, stop in spans) // pieces), 1)


def _split(balance: Balance, span: tuple[int, int], length: int) -> Iterator[tuple[int, int]]:
    """Input ranges (start, stop) of pieces whose outputs follow each other without gap or overlap."""
    start, stop = span
    taps, step = (1, 1) if balance.lowpass is None else (len(balance.lowpass.taps), balance.lowpass.step)
    outputs = max(0, (stop - start - taps) // step + 1)
    if outputs == 0:
        return
    count = max(1, round(outputs * step / length))
    edges = np.linspace(0, outputs, count + 1).astype(int)
    for a, b in pairwise(edges):
        yield start + int(a) * step, start + (int(b) - 1) * step + taps


def _blocks(balance: Balance, part: tuple[int, int], block: int) -> Iterator[FloatArray]:
    """The blocks (groups, entries, samples) of one piece."""
    start, stop = part
    taps, step = (1, 1) if balance.lowpass is None else (len(balance.lowpass.taps), balance.lowpass.step)
    outputs = (stop - start - taps) // step + 1
    chunk = max(1, block // step)
    for a in range(0, outputs, chunk):
        b = min(a + chunk, outputs)
        yield balance.block(start + a * step, start + (b - 1) * step + taps)


def _by_qr(balance: Balance, part: tuple[int, int], block: int) -> FloatArray:
    """Triangular factors (groups, entries, entries) of one piece by QR, block after block."""
    factor: FloatArray | None = None
    for z in _blocks(balance, part, block):
        rows = z.transpose(0, 2, 1)
        factor = triangular(rows if factor is None else np.concatenate([factor, rows], axis=1))
    assert factor is not None
    return factor


def _well_conditioned(gram: FloatArray) -> bool:
    """Whether the columns behind X'X, each scaled to length one, are far enough from dependent."""
    scale = np.sqrt(np.maximum(np.einsum("gii->gi", gram), 1e-300))
    values = np.linalg.eigvalsh(gram / scale[:, :, None] / scale[:, None, :])
    return bool((values[:, 0] > values[:, -1] / GRAM_LIMIT**2).all())


def _roots(gram: FloatArray) -> FloatArray:
    """F with F'F = X'X for a stack of symmetric matrices, also singular ones."""
    scale = np.sqrt(np.maximum(np.einsum("bgii->bgi", gram), 1e-300))
    values, vectors = np.linalg.eigh(gram / scale[..., :, None] / scale[..., None, :])
    return np.sqrt(np.maximum(values, 0.0))[..., :, None] * vectors.swapaxes(-1, -2) * scale[..., None, :]
