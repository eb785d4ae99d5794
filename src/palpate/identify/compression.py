"""Compression: one pass over a recording turns its rows [Y | y] into small factors that hold all a fit needs.

A factor F of rows X satisfies F'F = X'X. Factors of pieces stack: joining recordings, splitting train from test,
leaving a piece out or drawing pieces again are choices of factors, not re-reads of data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem, PalpateError
from palpate.identify.balance import PIECES, SHORTEST_PIECE_S, Balance, MotionNoise, Segment
from palpate.model import Model
from palpate.physics.arrays import BoolArray, FloatArray, triangular

BLOCK = 4096
"""Samples per block: as fast as any size, and half a megabyte."""
GRAM_LIMIT = 1e3
"""Column-scaled condition number up to which X'X loses nothing that matters (error eps * kappa^2); above, QR."""


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

    def select(self, pieces: Sequence[int] | NDArray[np.int64]) -> Compressed:
        """Some of the pieces, in any order and number: cross-validation and bootstrap."""
        at = np.asarray(pieces, dtype=int)
        noise = None if self.noise is None else self.noise[at]
        return replace(
            self, roots=self.roots[at], samples=self.samples[at], low=self.low[at], high=self.high[at], noise=noise
        )

    def squares(self, p: FloatArray) -> FloatArray:
        """Sum of squares of y - Y p per piece and row, (pieces, rows), in the row's unit squared."""
        v = np.append(-p, 1.0)
        residuals = [np.sum((self._row(j) @ v) ** 2, axis=1) for j in range(len(self.weights))]
        return np.array(residuals, dtype=float).T

    def rms(self, p: FloatArray) -> FloatArray:
        """Root mean square of y - Y p per row, in the row's unit."""
        return np.sqrt(self.squares(p).sum(axis=0) / self.samples.sum())

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
    noise: MotionNoise | None = None,
    pieces: int = PIECES,
    block: int = BLOCK,
) -> Compressed:
    """Read the segments once and keep their factors, in about `pieces` pieces for the statistics.

    The low-pass, if there is one, stays inside each segment: half its length is lost at either end, and nothing of a
    test segment leaks into a train segment. A decimated row stands for `step` samples and is weighted so.
    """
    spans = [balance.indices(segment) for segment in segments]
    if not spans:
        raise DataProblem("segments", "there is none to fit")
    parts = [part for span in spans for part in _parts(balance, span, _piece_length(balance, spans, pieces), block)]
    if not parts:
        raise DataProblem("segments", "each is shorter than the low-pass filter", remedy="use longer ones")
    y = slice(-len(balance.weights), None) if balance.by_features else slice(-1, None)
    grams, samples, low, high = (list[FloatArray]() for _ in range(4))
    for part in parts:
        whole = [_summary(_pieces(z, part.pieces), y) for z in _blocks(balance, balance, part)]
        grams.append(np.add.reduce([s[0] for s in whole]))
        low.append(np.minimum.reduce([s[1] for s in whole]))
        high.append(np.maximum.reduce([s[2] for s in whole]))
        samples.append(np.full(part.pieces, part.outputs // part.pieces))
    step = 1 if balance.lowpass is None else balance.lowpass.step
    gram = np.concatenate(grams)
    counts = step * np.concatenate(samples).astype(np.int64)
    if balance.used is not None:
        counts = np.concatenate([_used(balance, balance.used, part) for part in parts])
        if not counts.any():
            raise DataProblem(
                "segments", "no sample of them can be used: the object rests, or is at a stop, throughout"
            )
    if not np.isfinite(gram).all():
        for segment in segments:
            balance.check_seen(segment)
    good = _well_conditioned(gram.sum(axis=0))
    roots = _roots(gram) if good else np.concatenate([_by_qr(balance, part) for part in parts])
    compressed = Compressed(
        model=balance.model,
        roots=np.sqrt(step) * roots,
        lift=balance.lift,
        samples=counts,
        low=np.concatenate(low),
        high=np.concatenate(high),
        weights=balance.weights,
        noise=None if noise is None else step * np.concatenate([_noise(balance, noise, part) for part in parts]),
    )
    return compressed if balance.used is None else compressed.select(np.flatnonzero(counts))


def _used(balance: Balance, used: BoolArray, part: _Part) -> NDArray[np.int64]:
    """How many samples each piece of a part stands for, where some are left out."""
    taps, step = _filter(balance)
    first = part.blocks[0][0] + taps // 2 - step // 2
    each = part.outputs // part.pieces * step
    return np.array([np.count_nonzero(used[first + i * each : first + (i + 1) * each]) for i in range(part.pieces)])


def _noise(balance: Balance, noise: MotionNoise, part: _Part) -> FloatArray:
    """Z'Z of the noise alone, per piece."""
    whole = [_pieces(z, part.pieces) for z in _blocks(balance, noise, part)]
    return np.add.reduce([z @ z.swapaxes(2, 3) for z in whole])


def merge(*parts: Compressed) -> Compressed:
    """One compressed balance out of several of the same model and weights: recordings, sessions, machines of a
    cluster.
    """
    first = parts[0]
    for other in parts[1:]:
        if other.model != first.model or not np.array_equal(other.weights, first.weights):
            raise PalpateError("only compressed balances of the same model and the same weights can be merged")
        if (other.noise is None) != (first.noise is None):
            raise PalpateError(
                "a compressed balance with noise of the motion taken out does not merge with one without"
            )
    return replace(
        first,
        roots=np.concatenate([part.roots for part in parts]),
        samples=np.concatenate([part.samples for part in parts]),
        low=np.concatenate([part.low for part in parts]),
        high=np.concatenate([part.high for part in parts]),
        noise=None if first.noise is None else np.concatenate([p.noise for p in parts if p.noise is not None]),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """A run of `pieces` equally long pieces with `outputs` low-passed samples in all, read in blocks (first input,
    outputs).
    """

    pieces: int
    outputs: int
    blocks: tuple[tuple[int, int], ...]


def _parts(balance: Balance, span: tuple[int, int], length: int, block: int) -> Iterator[_Part]:
    """Cut a span into pieces of about `length` inputs: several short pieces to a block, or several blocks to a long
    piece.
    """
    start, stop = span
    step = _filter(balance)[1]
    outputs = stop - start if balance.lowpass is None else balance.lowpass.outputs(stop - start)
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


def _blocks(balance: Balance, source: Balance | MotionNoise, part: _Part) -> Iterator[FloatArray]:
    """The blocks (groups, entries, samples) of one part."""
    taps, step = _filter(balance)
    for first, outputs in part.blocks:
        yield source.block(first, first + (outputs - 1) * step + taps)


def _filter(balance: Balance) -> tuple[int, int]:
    return (1, 1) if balance.lowpass is None else (len(balance.lowpass.taps), balance.lowpass.step)


def _pieces(z: FloatArray, pieces: int) -> FloatArray:
    """(groups, entries, samples) -> (pieces, groups, entries, samples of a piece), without copying."""
    return z.reshape(*z.shape[:2], pieces, -1).transpose(2, 0, 1, 3)


def _summary(z: FloatArray, y: slice) -> tuple[FloatArray, FloatArray, FloatArray]:
    """X'X, smallest and largest y of each piece."""
    ends = z[:, :, y]
    return z @ z.swapaxes(2, 3), ends.min(axis=3).reshape(len(z), -1), ends.max(axis=3).reshape(len(z), -1)


def _piece_length(balance: Balance, spans: Sequence[tuple[int, int]], pieces: int) -> int:
    """Samples per piece: enough pieces for statistics, none so short that its neighbours say the same."""
    step = (balance.times_s[-1] - balance.times_s[0]) / (len(balance.times_s) - 1)
    return max(int(SHORTEST_PIECE_S / step), -(-sum(stop - start for start, stop in spans) // pieces), 1)


def _by_qr(balance: Balance, part: _Part) -> FloatArray:
    """Triangular factors (pieces, groups, entries, entries) of a part by QR, block after block."""
    factor: FloatArray | None = None
    for z in _blocks(balance, balance, part):
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
