"""The one array type of the package, and the few routines of linear algebra that NumPy types too loosely."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Literal, overload

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
"""float64, shape (samples, ...) unless the docstring says otherwise."""
BoolArray = NDArray[np.bool_]

ENOUGH = 1 << 18
"""Samples (four minutes at 1 kHz) from which the noise of an instrument is known: of a longer recording as many are
looked at, in stretches spread evenly over it.
"""
_RIDGE = 1e-12
"""Added to the diagonal of a scaled X'X: columns that are the same up to rounding share their parameter."""


def least_squares(A: FloatArray, b: FloatArray, *, rcond: float | None = None) -> FloatArray:
    """The shortest x that minimises |A x - b|, by SVD."""
    return np.asarray(np.linalg.lstsq(A, b, rcond=rcond)[0], dtype=float)


def solve_columns(A: FloatArray, B: FloatArray) -> FloatArray:
    """X that minimises |A X - B|, exact and without an SVD where A is square and regular."""
    if A.shape[0] == A.shape[1]:
        try:
            return np.asarray(np.linalg.solve(A, B), dtype=float)
        except np.linalg.LinAlgError:
            pass
    return least_squares(A, B)


def symmetric_inverse(A: FloatArray) -> FloatArray:
    """Pseudo-inverse of a symmetric matrix whose diagonal may span many orders of magnitude."""
    scale = np.sqrt(np.maximum(np.abs(np.diag(A)), 1e-300))
    inverse = np.linalg.pinv(A / scale[:, None] / scale, rcond=1e-14, hermitian=True)
    return np.asarray(inverse / scale[:, None] / scale, dtype=float)


def triangular(x: FloatArray) -> FloatArray:
    """R of QR for a stack (..., n, k), with zero rows where n < k: R'R = x'x. -> (..., k, k)."""
    missing = x.shape[-1] - x.shape[-2]
    if missing > 0:
        x = np.concatenate([x, np.zeros((*x.shape[:-2], missing, x.shape[-1]))], axis=-2)
    return np.asarray(np.linalg.qr(x, mode="r"), dtype=float)


def stacked_solve(A: FloatArray, damping: float, b: FloatArray) -> FloatArray:
    """x that minimises |A x - b|^2 + damping^2 |x|^2, by QR of the stacked matrix; by SVD where that is singular."""
    m, n = A.shape
    stacked = np.zeros((m + n, n + 1))
    stacked[:m, :n], stacked[:m, n] = A, b
    stacked[m + np.arange(n), np.arange(n)] = damping
    R = np.asarray(np.linalg.qr(stacked, mode="r"), dtype=float)  # its last column is Q'b: Q itself is not needed
    try:
        return np.asarray(np.linalg.solve(R[:n, :n], R[:n, n]), dtype=float)
    except np.linalg.LinAlgError:
        return least_squares(stacked[:, :n], stacked[:, n])


def solve_positive(
    gram: FloatArray, positive: BoolArray, guess: BoolArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """p that minimises |X [-p; 1]|^2 with p >= 0 where `positive`, and the minimum, from X'X (..., k + 1, k + 1).

    Block principal pivoting (Portugal, Judice & Vicente 1994, Math. Comp. 63:625), for a whole stack at once; where
    blocks begin to cycle, one index at a time (Murty). Columns that are zero get p = 0. `guess`: which p are not zero,
    if that is nearly known.
    """
    shape, k = gram.shape[:-2], len(positive)
    G = gram.reshape(-1, k + 1, k + 1)
    each = np.arange(k)
    squares = G[:, each, each]
    touched = squares > 1e-20 * np.maximum(squares.max(axis=1, initial=0.0), 1e-300)[:, None]
    scale = np.sqrt(np.where(touched, squares, 1.0))
    A = G[:, :k, :k] / (scale[:, :, None] * scale[:, None, :])
    b = G[:, :k, k] / scale
    tolerance = 1e-10 * np.sqrt(np.maximum(G[:, k, k], 1e-300))[:, None]
    passive = touched if guess is None else touched & guess
    may_change = positive & touched
    p = np.zeros_like(b)
    fewest, patience = np.full(len(G), k + 1), np.full(len(G), 3)
    todo: slice | NDArray[np.int64] = slice(None)  # all of them, and no copies
    for _ in range(10 * (k + 1)):
        on, A_i, b_i = passive[todo], A[todo], b[todo]
        inner = A_i * (on[:, :, None] & on[:, None, :])
        inner[:, each, each] += np.where(on, _RIDGE, 1.0)
        p_i = np.asarray(np.linalg.solve(inner, (b_i * on)[:, :, None]), dtype=float)
        dual = (A_i @ p_i)[:, :, 0] - b_i
        p[todo] = p_i[:, :, 0]
        wrong = may_change[todo] & (np.where(on, p_i[:, :, 0], dual) < -tolerance[todo])
        if not wrong.any():
            break
        count = wrong.sum(axis=1)
        patience[todo] = np.where(count < fewest[todo], 3, patience[todo] - 1)
        fewest[todo] = np.minimum(fewest[todo], count)
        last = k - 1 - np.argmax(wrong[:, ::-1], axis=1)
        single = each == last[:, None]
        passive = passive.copy()
        passive[todo] = on ^ (wrong & (single | (patience[todo] >= 0)[:, None]))
        todo = np.arange(len(G))[todo][count > 0]
    p = np.where(positive, np.maximum(p, 0.0), p) / scale
    v = np.concatenate([-p, np.ones((len(G), 1))], axis=1)
    cost = np.maximum(((G @ v[:, :, None])[:, :, 0] * v).sum(axis=1), 0.0)
    return p.reshape(*shape, k), cost.reshape(shape)


def running(steps: FloatArray, joined: Callable[[FloatArray, FloatArray], FloatArray]) -> FloatArray:
    """The first, the first two, ... of steps (..., n) as one, by doubling (Hillis & Steele 1986).

    joined: later ones and those before them, (..., k) each, as one.
    """
    products, reach = steps.copy(), 1
    while reach < steps.shape[-1]:
        products[..., reach:] = joined(products[..., reach:], products[..., :-reach])
        reach *= 2
    return products


def runs(mask: BoolArray) -> list[tuple[int, int]]:
    """[start, stop) of each stretch of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def segment_mask(times_s: FloatArray, segments: Iterable[tuple[float, float]]) -> BoolArray:
    """(samples,) of increasing times: inside one of the segments, s, half-open."""
    inside = np.zeros(len(times_s), dtype=bool)
    for start, stop in segments:
        inside[slice(*np.searchsorted(times_s, (start, stop)))] = True
    return inside


def spread(n: int, most: int, length: int) -> list[tuple[int, int]]:
    """[start, stop) of stretches of so many samples, `most` in all, spread evenly over n; all n where that is less."""
    if n <= max(most, length):
        return [(0, n)]
    count = max(1, most // length)
    starts = ((np.arange(count) + 0.5) * n / count - length / 2).astype(int).tolist()  # in the middle of equal parts
    return [(i, i + length) for i in starts]


def spread_each(spans: Sequence[tuple[int, int]], most: int, length: int) -> list[tuple[int, int]]:
    """The same of several spans [start, stop): each has its share of `most`, and one stretch at least."""
    total = sum(b - a for a, b in spans)
    parts = ((start, spread(stop - start, most * (stop - start) // total, length)) for start, stop in spans)
    return [(start + a, start + b) for start, part in parts for a, b in part]


def spread_rows(x: FloatArray, most: int, length: int) -> FloatArray:
    """(stretches, samples, channels) of (samples, channels), spread evenly; all as one where there are no more."""
    return np.array([x[a:b] for a, b in spread(len(x), most, length)])


def first_even(times_s: FloatArray, most: int) -> FloatArray:
    """So many of the first times, or those before the first gap: stretches of a recording have gaps between them."""
    first = times_s[:most]
    if len(first) < 2 or first[-1] - first[0] < (len(first) - 0.5) * (first[1] - first[0]):
        return first
    return first[: 1 + int(np.argmax(np.diff(first) > 1.5 * (first[1] - first[0])))]


def rate_hz(times_s: FloatArray) -> float:
    """Samples per second of an even clock."""
    return float((len(times_s) - 1) / (times_s[-1] - times_s[0]))


@overload
def rms(x: FloatArray) -> float: ...
@overload
def rms(x: FloatArray, axis: int) -> FloatArray: ...
def rms(x: FloatArray, axis: int | None = None) -> float | FloatArray:
    """Root mean square of all entries, or along an axis."""
    size = np.sqrt(np.mean(x**2, axis=axis))
    return float(size) if axis is None else np.asarray(size, dtype=float)


def power_density(x: FloatArray, rate_hz: float, size: int) -> tuple[FloatArray, FloatArray]:
    """Frequencies (Hz) and one-sided density (frequencies, channels) of (samples, channels), per Hz (Welch 1967).

    Pieces of so many samples overlap by half; each is taken without its mean, under a Hann window, NaN as zero. Of a
    long recording pieces that are spread evenly are enough.
    """
    window, density = np.hanning(size + 1)[:-1], list[FloatArray]()
    for channel in x.T:
        if len(channel) > ENOUGH:
            pieces = np.array([channel[a:b] for a, b in spread(len(channel), ENOUGH, size)])
        else:
            pieces = sliding_window_view(channel, size)[:: size - size // 2]
        pieces = np.nan_to_num(pieces)
        spectra = np.fft.rfft((pieces - pieces.mean(axis=1, keepdims=True)) * window)
        density.append((spectra.real**2 + spectra.imag**2).mean(axis=0))
    both = np.array(density).T * 2 / (rate_hz * (window**2).sum())
    both[[0, -1] if size % 2 == 0 else [0]] /= 2  # these have no counterpart at negative frequencies
    return np.asarray(np.fft.rfftfreq(size, 1 / rate_hz), dtype=float), both


def quick_size(least: int) -> int:
    """The smallest product of 2, 3 and 5 that is not less: a Fourier transform of so many numbers is quick.

    Powers of two are not the quickest: in the cache, numbers at such distances push each other out.
    """
    some = (
        3**i * 5**j for i in range(least.bit_length()) for j in range(least.bit_length()) if 3**i * 5**j < 2 * least
    )
    return min(n << max(0, (-(-least // n) - 1).bit_length()) for n in some)


_TOGETHER, _AT_ONCE = 16, 1 << 17
"""Neighbouring windows that are summed as one product; sums made at once, as many as stay near the processor."""
_FEW, _SHORT, _CHANNELS = 1 << 14, 11, 16
"""Products so few, or windows so short, of so few channels that NumPy's own loop is quicker than BLAS."""


def windowed_sums(x: FloatArray, weights: FloatArray, step: int = 1) -> FloatArray:
    """(..., outputs): sums of each window of x (..., samples) times weights, windows every `step` samples.

    Sixteen neighbouring windows are one stretch of samples, and their sums its product with a banded matrix: more
    products than needed, but BLAS makes them. A stretch is cut where the next one begins, so that nothing is copied.
    """
    width, count = len(weights), max(0, (x.shape[-1] - len(weights)) // step + 1)
    sums = np.empty((*x.shape[:-1], count))
    if not sums.size:
        return sums
    few = x.size * width < _FEW or (width <= _SHORT and step == 1)
    if few and sums.size <= _CHANNELS * count:
        for own, channel in zip(sums.reshape(-1, count), x.reshape(-1, x.shape[-1]), strict=True):
            own[:] = np.correlate(channel, weights)[::step]
        return sums
    x, band, reach = np.ascontiguousarray(x), _band(weights.tobytes(), step), _TOGETHER * step
    whole, left = divmod(count, _TOGETHER)
    stretches = sums[..., : count - left].reshape(*x.shape[:-1], whole, _TOGETHER)
    at_once = max(1, _AT_ONCE * count // (_TOGETHER * sums.size))
    for a in range(0, whole, at_once):
        here = stretches[..., a : a + at_once, :]
        np.matmul(_windows(x, a * reach, here.shape[-2], reach, reach), band[:reach], out=here)
        for i in range(reach, len(band), reach):
            rows = band[i : i + reach]
            here += _windows(x, a * reach + i, here.shape[-2], len(rows), reach) @ rows
    if left:
        rest = x[..., whole * reach :][..., : (left - 1) * step + width]
        sums[..., count - left :] = rest @ band[: rest.shape[-1], :left]
    if not math.isfinite(np.add.reduce(sums, axis=None)):  # beside a window with NaN, zero times NaN
        unsure = np.flatnonzero(~np.isfinite(sums).all(axis=tuple(range(sums.ndim - 1))))
        sums[..., unsure] = np.einsum("...k,k->...", _windows(x, 0, count, width, step)[..., unsure, :], weights)
    return sums


@lru_cache(maxsize=64)
def _band(weights: bytes, step: int) -> FloatArray:
    """(samples, windows) of one stretch: each window's weights, `step` samples farther down."""
    one = np.frombuffer(weights)
    band = np.zeros((len(one) + (_TOGETHER - 1) * step, _TOGETHER))
    for i, column in enumerate(band.T):
        column[i * step : i * step + len(one)] = one
    return band


def _windows(x: FloatArray, first: int, count: int, width: int, step: int) -> FloatArray:
    """(..., count, width): so many windows of x (..., samples), contiguous, from a sample on, without copying."""
    strides = (*x.strides[:-1], step * x.itemsize, x.itemsize)
    return np.ndarray((*x.shape[:-1], count, width), x.dtype, x, first * x.itemsize, strides)


_MANY, _SAMPLED, _AROUND = 1 << 14, 2048, 96
"""Values from which the following pays; a sample of them, and so many of these to either side of the rank (four
standard deviations of it)."""


def two_in_order(x: FloatArray, rank: int) -> tuple[float, float]:
    """The values of x (n,), without NaN, at a rank in increasing order, from 0, and at the next.

    Two values of a sample enclose them, and only what lies between is put in order (Floyd & Rivest 1975).
    """
    n = len(x)
    if n > _MANY:
        some = np.sort(x[:: n // _SAMPLED])
        at = rank * len(some) // n
        reached = x >= some[at - _AROUND] if at >= _AROUND else np.ones(n, dtype=bool)
        k = rank - n + int(np.count_nonzero(reached))
        if at + _AROUND < len(some):
            reached &= x <= some[at + _AROUND]
        between = x[reached]
        if 0 <= k < len(between) - 1:  # as hardly ever it is not
            x, rank = between, k
    low, high = np.partition(x, [rank, rank + 1])[[rank, rank + 1]].tolist()
    return low, high


def median(x: FloatArray) -> FloatArray:
    """Along the first axis of (n, ...); NaN where one of the values is."""
    n, columns = len(x), np.ascontiguousarray(x.reshape(len(x), -1).T)
    if n < _MANY or not math.isfinite(np.add.reduce(columns, axis=None)):
        return np.asarray(np.median(columns, axis=1).reshape(x.shape[1:]), dtype=float)
    pairs = np.array([two_in_order(column, (n - 1) // 2) for column in columns])
    return np.asarray((pairs[:, 0] if n % 2 else pairs.sum(axis=1) / 2).reshape(x.shape[1:]), dtype=float)


def quantile(x: FloatArray, share: float) -> float:
    """The value of x (n,), without NaN, below which there is a share, between two of them linearly."""
    place = share * (len(x) - 1)
    rank = min(int(place), len(x) - 2)
    low, high = two_in_order(x, rank) if len(x) > 1 else (float(x[0]), float(x[0]))
    return low + (high - low) * (place - rank)


def running_median(x: FloatArray, size: int, ends: Literal["edge", "reflect"]) -> FloatArray:
    """Of an odd number of neighbours along the first axis; ends: what stands for those beyond."""
    padded = np.pad(x, [(size // 2, size // 2), *[(0, 0)] * (x.ndim - 1)], mode=ends)
    return np.asarray(np.median(sliding_window_view(padded, size, axis=0), axis=-1), dtype=float)


def peaks(x: FloatArray, rise: float, reach: int | None = None, most: int | None = None) -> NDArray[np.int64]:
    """Indices of maxima, each of which falls by `rise` on both sides before anything higher, as far as `reach`.

    most: only so many, the highest.
    """
    slopes = np.sign(np.diff(x))
    steep = np.flatnonzero(slopes)
    tops = np.flatnonzero((slopes[steep[:-1]] > 0) & (slopes[steep[1:]] < 0))
    tops = (steep[tops] + 1 + steep[tops + 1]) // 2  # of a plateau its middle
    tops = tops[x[tops] >= x.min(initial=np.inf) + rise]  # quickly: the others fall by less
    far, kept = len(x) if reach is None else reach, list[int]()
    for i in tops[np.argsort(x[tops])[::-1]].tolist():
        if len(kept) == most:
            break
        falls = list[float]()
        for side in (x[max(i - far, 0) : i + 1][::-1], x[i : i + far + 1]):
            higher = np.flatnonzero(side > x[i])
            falls.append(float(x[i] - side[: higher[0] if len(higher) else None].min()))
        kept += [i] if min(falls) >= rise else []
    return np.array(sorted(kept), dtype=np.int64)


def nearest(times_s: FloatArray, at_s: FloatArray) -> NDArray[np.int64]:
    """For each of `at_s` the index of the nearest of the increasing `times_s`; the earlier one of two."""
    after = np.clip(np.searchsorted(times_s, at_s), 1, max(len(times_s) - 1, 1))
    index = np.where(at_s - times_s[after - 1] <= times_s[np.minimum(after, len(times_s) - 1)] - at_s, after - 1, after)
    return np.asarray(np.minimum(index, len(times_s) - 1), dtype=np.int64)
