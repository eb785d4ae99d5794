"""One motion by everything that shows it: coordinates as measured, and any instruments beside them.

Each coordinate is a quintic spline with a knot at every sample of the reference clock: as many unknowns as samples, so
that nothing is assumed of how smooth the motion is and nothing of it is lost (the identified inertia does not shrink);
the low-pass of the balance, the same for every column and the wrench, takes the noise away. Coefficients and the
instruments' constants are weighted least squares over the whole recording by Gauss-Newton (Furgale, Rehder & Siegwart
2013, IROS: continuous-time batch estimation). A sample touches five coefficients, so the normal equations are banded,
bordered by the constants, and cost is linear in the length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.motion.derivatives import savitzky_golay, window_samples
from palpate.physics.arrays import BoolArray, FloatArray, rate_hz, rms, symmetric_inverse
from palpate.physics.lapack import lapack

_SPLINE = np.array([[1, 26, 66, 26, 1], [-5, -50, 0, 50, 5], [20, 40, -120, 40, 20]]) / 120.0
"""Values and derivatives at a knot of the five quintic B-splines around it (de Boor 2001, IX)."""
_LOCAL = 5
_ROUNDS, _SMALL, _SAME = 16, 1.0, 1.1
"""Of Gauss-Newton at most; the last changes accelerations by this share of their noise (the next one would by 0.02, it
converges so fast), and noises by this ratio."""
_AT_ONCE, _IN_CACHE = 2048, 1 << 17
"""Samples that instruments are asked for, and numbers of their rows that are multiplied at once."""
_SETTLED = 0.05
"""Standard deviations by which constants that have settled still move."""
_FAR = 3.0
"""Standard deviations from which a sample of channels alike counts less the farther the worst of them is off, by their
ratio squared as with Cauchy's errors (Holland & Welsch 1977): a knock is no motion, whichever axis would explain it."""
_START_S = 0.21
_SWAYS = 6
"""Ways in which constants may be off: five that matter most, and the others together."""
_FOURTH, _ROUGH = (1.0, -4.0, 6.0, -4.0, 1.0), 1 / 16
"""Fourth differences and how much they count: 16 times a measured coordinate at half the rate, 1e-4 of it at a tenth.
"""

States = Sequence[FloatArray]
"""Positions, speeds and accelerations of the coordinates, (samples, n) each."""


class Instrument(Protocol):
    """Something beside the cameras that shows a motion, with constants of its own that are estimated along."""

    name: ClassVar[str]
    """What people call it."""

    @property
    def measured(self) -> FloatArray:
        """(samples, k) on the reference clock; NaN where not seen."""
        ...

    @property
    def noise(self) -> FloatArray:
        """(k,): standard deviations, at least."""
        ...

    @property
    def alike(self) -> tuple[int, ...]:
        """How many neighbouring channels are judged together: most of an instrument's have no other witness."""
        ...

    @property
    def start(self) -> FloatArray:
        """(constants,): where they begin, and ..."""
        ...

    @property
    def prior(self) -> FloatArray:
        """... how far from there they may be, as standard deviations. It holds what the data do not show."""
        ...

    def shown(self, z: States, constants: FloatArray) -> FloatArray:
        """(samples, k) of this motion."""
        ...

    def shows(self, z: States, /) -> BoolArray:
        """(k, constants): which of them each channel shows by this motion. Many of an IMU on a hinge nothing shows."""
        ...

    def rows(self, z: States, constants: FloatArray, here: slice, shows: BoolArray) -> tuple[FloatArray, FloatArray]:
        """How `shown` of a block of samples answers to q, q', q'', (samples, k, n, 3), and to constants that some
        channel shows, (samples, k, constants).
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """A motion that was solved for, with all that was estimated along."""

    coefficients: FloatArray
    """(samples + 4, n) of the splines."""
    constants: FloatArray
    """Of all instruments, one after the other."""
    drawn: FloatArray
    """Coefficients of what noise of the instruments, drawn once, makes of the motion."""
    swayed: FloatArray
    """(samples + 4, n, ways): of what constants of the instruments make of it that are off by a standard deviation."""
    sigma: FloatArray
    """(n + channels,): the noise that residuals show."""
    counts: FloatArray
    """(samples, n + channels): 0 where not seen, less than 1 where a sample is far off."""


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """What is to be solved: coordinates (samples, n) with their noise, at least, and what else saw the motion."""

    times_s: FloatArray
    q: FloatArray
    """NaN where not seen."""
    noise: FloatArray
    """(n,)."""
    instruments: tuple[Instrument, ...]

    @property
    def stencil(self) -> FloatArray:
        """(3, 5): `_SPLINE` in units of time."""
        return _SPLINE * rate_hz(self.times_s) ** np.arange(3)[:, None]

    def states(self, c: FloatArray) -> list[FloatArray]:
        """Coefficients (samples + 4, ...) -> positions, speeds, accelerations (samples, ...)."""
        x = np.ascontiguousarray(np.moveaxis(c, 0, -1))  # each in one piece, as mechanisms take them
        local = [x[..., i : x.shape[-1] - _LOCAL + 1 + i] for i in range(_LOCAL)]
        return [np.moveaxis(np.add.reduce([b * y for b, y in zip(w, local, strict=True)]), -1, 0) for w in self.stencil]

    @property
    def measured(self) -> FloatArray:
        """(samples, n + channels)."""
        return np.hstack([self.q, *(i.measured for i in self.instruments)])

    def shown(self, z: States, p: FloatArray) -> FloatArray:
        """(samples, n + channels)."""
        parts = zip(self.instruments, self.split(p), strict=True)
        return np.hstack([z[0], *(i.shown(z, own) for i, own in parts)])

    def split(self, p: NDArray[Any]) -> list[NDArray[Any]]:
        """The constants, or something of each, by instrument."""
        return np.split(p, np.cumsum([len(i.start) for i in self.instruments])[:-1].tolist())

    @property
    def prior(self) -> FloatArray:
        """Of all constants."""
        return np.concatenate([i.prior for i in self.instruments])

    def shows(self, z: States) -> BoolArray:
        """(channels, constants): of all instruments."""
        parts = [i.shows(z) for i in self.instruments]
        whole, (row, column) = np.zeros(np.sum([x.shape for x in parts], axis=0), dtype=bool), (0, 0)
        for x in parts:
            whole[row : row + x.shape[0], column : column + x.shape[1]] = x
            row, column = row + x.shape[0], column + x.shape[1]
        return whole

    def blocks(self, z: States, p: FloatArray, shows: BoolArray) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Instruments' rows, some samples at a time: (samples, channels, n, 3) and (samples, channels, constants
        that show).
        """
        edges = np.linspace(0, len(self.times_s), 1 + -(-len(self.times_s) // _AT_ONCE)).astype(int).tolist()
        each = list(zip(self.instruments, self.split(p), self.split(shows), strict=True))
        for a, b in pairwise(edges):
            parts = [i.rows(z, own, slice(a, b), which) for i, own, which in each]
            if len(parts) == 1:
                yield slice(a, b), *parts[0]
                continue
            J = np.concatenate([x for x, _ in parts], axis=1)
            K = np.zeros((b - a, J.shape[1], shows.sum()))
            ends = np.cumsum([[0, 0], *(x.shape[1:] for _, x in parts)], axis=0)
            for (row, column), (_, x) in zip(ends[:-1], parts, strict=True):
                K[:, row : row + x.shape[1], column : column + x.shape[2]] = x
            yield slice(a, b), J, K

    def _normal(self, c: FloatArray, p: FloatArray, sides: FloatArray, weight: FloatArray, of_q: FloatArray) -> _Normal:
        """The normal equations at coefficients and constants; sides, weight: (samples, n + channels, ...) of rows."""
        n, z = self.q.shape[1], self.states(c)
        normal = _Normal(self.stencil, len(z[0]), n, self.shows(z))
        normal.add_positions(sides[:, :n], weight[:, :n] ** 2)
        for here, J, K in self.blocks(z, p, normal.shows):
            normal.add(here.start, J, sides[here, n:], K, weight[here, n:, None])
        normal.smooth(c, of_q)
        return normal

    def solve(
        self,
        begin: Path | None = None,
        *,
        until: Callable[[FloatArray], bool] = lambda _: False,
        for_constants: bool = False,
        each: Callable[[int], None] = lambda _: None,
    ) -> Path:
        """The motion, from a start or none; until: constants with which it is given up, to be begun anew.

        for_constants: it is enough that these have settled. each: called as each round begins, counted from 0.
        """
        n, measured = self.q.shape[1], self.measured
        unit, seen = np.random.default_rng(0).normal(size=measured.shape), np.isfinite(measured)
        least = np.concatenate([self.noise, *(i.noise for i in self.instruments)])
        start = np.concatenate([i.start for i in self.instruments])
        alike = [*[1] * n, *(k for i in self.instruments for k in i.alike)]
        first = np.cumsum([0, *alike[:-1]]).tolist()
        path = self._begin(start, least, seen) if begin is None else begin
        c, p, sigma, counts = path.coefficients, path.constants, path.sigma, path.counts
        known, left = seen.all(axis=1), measured - self.shown(self.states(c), p)
        for number in range(_ROUNDS):
            each(number)
            drawn = unit * sigma
            sides = np.stack([np.where(seen, left, 0.0), drawn], axis=2)
            normal = self._normal(c, p, sides, counts / sigma, sigma[:n])
            steps, constants, stds, sways = normal.solve((start - p) / self.prior, self.prior)
            c, p, noise = c + steps[..., 0], p + constants[:, 0], steps[..., 1]
            if until(p):
                return Path(c, p, noise, sways(), sigma, counts)
            # noise by what residuals leave over what a draw of known size leaves (Girard 1989; Helmert's components)
            now = self.shown(self.states(c), p)
            drawn -= self.shown(self.states(c + noise), p + constants[:, 1]) - now
            left = measured - now
            kept = np.mean((drawn / sigma) ** 2, axis=0, where=seen)
            usual = np.nanmedian(np.abs(left / sigma), axis=0) / 0.6745
            ratio = np.sqrt(np.add.reduceat(usual**2, first) / np.add.reduceat(kept, first))
            before, sigma = sigma, np.maximum(least, sigma * np.repeat(ratio, alike))
            off = np.maximum.reduceat(np.where(seen, np.abs(left) / sigma, 0.0), first, axis=1)
            counts = np.where(seen, np.repeat(_FAR / np.maximum(off, _FAR), alike, axis=1), 0.0)
            bends, rough = (rms(self.states(x)[2][known]) for x in (steps[..., 0], noise))
            settled = for_constants and bool((np.abs(constants[:, 0]) < _SETTLED * stds).all())
            if (settled or bends < _SMALL * rough) and np.abs(np.log(sigma / before)).max() < np.log(_SAME):
                return Path(c, p, noise, sways(), sigma, counts)
        names = ["the positions", *(i.name for i in self.instruments)]
        ends = np.cumsum([n, *(len(i.noise) for i in self.instruments)])[:-1].tolist()
        times = [f"{x.max():.2g}" for x in np.split(sigma / least, ends)]
        left = " and ".join(f"of {name} is {x} times its noise" for name, x in zip(names, times, strict=True))
        wrong = f"no motion of the object explains all that was recorded of it: what is left {left}"
        raise DataProblem("smoothing", wrong)

    def eliminated(self, path: Path, kept: slice) -> tuple[FloatArray, FloatArray]:
        """What is left of the rows of some constants once motion and all other constants are fitted too.

        Columns and what the solved path leaves, each over its noise, (samples, rows, kept + 1), those that keep the
        motion smooth among them; and what was believed of the other constants, (others, kept + 1). Fitted by least
        squares they give the same as everything together (Frisch & Waugh 1933; Lovell 1963).
        """
        n, p, z = self.q.shape[1], path.constants, self.states(path.coefficients)
        measured, weight, prior = self.measured, path.counts / path.sigma, self.prior
        left = np.where(np.isfinite(measured), measured - self.shown(z, p), 0.0)
        sides = np.repeat(left[:, :, None], 2, axis=2)
        normal = self._normal(path.coefficients, p, sides, weight, path.sigma[:n])
        factor, half = normal.eliminated()
        inner = normal.of_all(normal.corner - half @ half.T)[:, 2:] + np.diag(prior**-2.0)
        others = np.ones(len(p), dtype=bool)
        others[kept] = False
        onto = np.eye(len(p))[:, kept]  # what the kept ones are, less what the others take of them
        onto[others] = -symmetric_inverse(inner[np.ix_(others, others)]) @ inner[others, kept]
        moves = factor.backward(onto[normal.shows].T @ half[2:]).reshape(onto.shape[1], -1, n).transpose(1, 2, 0)
        by_moves = self.states(moves)
        bends = -np.diff(np.dstack([moves, path.coefficients]), n=4, axis=0) * np.sqrt(_ROUGH)
        rows = np.empty((len(z[0]), left.shape[1] + n, onto.shape[1] + 1))
        rows[:, left.shape[1] :] = bends / path.sigma[:n, None]
        rows[:, :n, :-1], rows[:, : left.shape[1], -1] = -by_moves[0], left
        for here, by_state, by_constant in self.blocks(z, p, normal.shows):
            along = [np.einsum("Nri,Nic->Nrc", by_state[..., d], v[here]) for d, v in enumerate(by_moves)]
            rows[here, n : left.shape[1], :-1] = by_constant @ onto[normal.shows] - np.sum(along, axis=0)
        rows[:, : left.shape[1]] *= weight[:, :, None]
        start = np.concatenate([i.start for i in self.instruments])
        return rows, np.column_stack([onto, start - p])[others] / prior[others, None]

    def _begin(self, start: FloatArray, least: FloatArray, seen: BoolArray) -> Path:
        """By the coordinates alone."""
        t, bridged = self.times_s, np.empty_like(self.q)
        for i, x in enumerate(self.q.T):
            bridged[:, i] = np.interp(t, t[seen[:, i]], x[seen[:, i]])
        c = savitzky_golay(bridged, window_samples(_START_S, rate_hz(t), 3), 3)
        c = np.pad(c, ((2, 2), (0, 0)), mode="edge")
        return Path(c, start, np.zeros_like(c), np.zeros((*c.shape, 0)), least, seen.astype(float))


class _Normal:
    """Normal equations of the coefficients, of which only neighbours meet, bordered by constants."""

    def __init__(self, stencil: FloatArray, samples: int, n: int, shows: BoolArray) -> None:
        """Without any rows; shows: see `Instrument`. Right sides are two, and one for each constant that they show."""
        self.stencil, self.n, self.shows = stencil, n, np.asarray(shows.any(axis=0))
        self.of_channel = [np.flatnonzero(x) for x in shows[:, self.shows]]
        """Which of the constants that are shown are shown by each."""
        size, columns = samples + _LOCAL - 1, 2 + int(self.shows.sum())
        self.blocks = np.zeros((_LOCAL, size, n, n))
        """Between the coefficients of a sample and those so many samples before it; and what is added to ..."""
        self.diagonal = np.zeros((_LOCAL, size, n))
        """... where both are of one coordinate."""
        self.right, self.corner = np.zeros((columns, size, n)), np.zeros((columns, columns))

    def add_positions(self, sides: FloatArray, weight: FloatArray) -> None:
        """Add rows of measured coordinates with two right sides (samples, n, 2), by weights (samples, n)."""
        pull, b = (sides * weight[:, :, None]).transpose(2, 0, 1), self.stencil[0]
        for i in range(_LOCAL):
            self.right[:2, i : i + len(weight)] += b[i] * pull
            for j in range(i + 1):
                self.diagonal[i - j, j : j + len(weight)] += b[i] * b[j] * weight

    def add(self, first: int, J: FloatArray, sides: FloatArray, K: FloatArray, weight: FloatArray) -> None:
        """Add rows (samples, rows, n, 3) of samples from `first` on, times (samples, rows, 1).

        Right sides: two (samples, rows, 2), and the constants' (samples, rows, constants).
        """
        rows, n, beside, columns = J.shape[1], self.n, _LOCAL - 1, 2 + K.shape[2]
        for i, shown in enumerate(self.of_channel):
            own, at = np.hstack([sides[:, i], K[:, i, shown]]) * weight[:, i], np.append([0, 1], 2 + shown)
            self.corner[np.ix_(at, at)] += own.T @ own
        size = max(1, _IN_CACHE // (rows * (_LOCAL * n + columns)))
        for a in range(0, len(J), size):
            part = slice(a, a + size)
            # q, q', q'' of a sample are these combinations of its coefficients
            by_each = (J[part].reshape(-1, 3) @ self.stencil).reshape(-1, rows, n * _LOCAL)
            count, w = len(by_each), weight[part]
            pulls = np.ascontiguousarray((by_each * w**2).swapaxes(1, 2))
            pairs = (pulls @ by_each).reshape(count, n, _LOCAL, n, _LOCAL)
            for i in range(_LOCAL):
                for j in range(i + 1):
                    here = slice(first + a + j, first + a + j + count)
                    self.blocks[i - j, here] += pairs[:, :, i, :, j]
            # a coefficient meets the rows of five samples, which are neighbours in memory
            met, others = np.zeros((count + beside, n, _LOCAL, rows)), np.zeros((count + 2 * beside, rows, columns))
            for i, by_one in enumerate(np.moveaxis(pulls.reshape(count, n, _LOCAL, rows), 2, 0)):
                met[i : i + count, :, beside - i] = by_one
            others[beside:-beside, :, :2], others[beside:-beside, :, 2:] = sides[part], K[part]
            shape = (count + beside, _LOCAL * rows, columns)
            around = as_strided(others, shape, others.strides, writeable=False)
            right = met.reshape(count + beside, n, -1) @ around
            self.right[:, first + a : first + a + count + beside] += right.transpose(2, 0, 1)

    def smooth(self, c: FloatArray, of_q: FloatArray) -> None:
        """Take a motion near half the sampling rate, which nothing tells, as small beside the coordinates' noise.

        c: the coefficients so far; of_q: (n,).
        """
        weight = _ROUGH / of_q**2
        bends = np.diff(c, n=4, axis=0) * weight
        for i, a in enumerate(_FOURTH):
            self.right[0, i : i + len(bends)] -= a * bends
            for j, b in enumerate(_FOURTH[: i + 1]):
                self.diagonal[i - j, j : j + len(bends)] += a * b * weight

    def of_all(self, x: FloatArray) -> FloatArray:
        """(constants, 2 + constants) with zeros for those that nothing shows, of the sides that are shown."""
        whole, at = np.zeros((len(self.shows), 2 + len(self.shows))), np.flatnonzero(self.shows)
        whole[np.ix_(at, np.append([0, 1], 2 + at))] = x[2:]
        return whole

    def eliminated(self) -> tuple[_Factor, FloatArray]:
        """The factor L of what the coefficients meet in, and L^-1 times the right sides, (sides, coefficients)."""
        np.einsum("ltii->lti", self.blocks)[:] += self.diagonal
        factor = _Factor(self.blocks)
        return factor, factor.forward(self.right.reshape(len(self.right), -1))

    def solve(
        self, pull: FloatArray, prior: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, Callable[[], FloatArray]]:
        """Steps of the coefficients (samples + 4, n, 2) and of the constants (constants, 2) for the first two sides.

        Then the constants' standard deviations, and what makes coefficients (samples + 4, n, `_SWAYS`) that follow
        constants which are off as they may be: along the directions that move the motion most beside its noise, and
        along all others with random signs; only of the last step anybody asks for them. pull: (constants,) to what
        they are believed to be before, in standard deviations `prior`.
        """
        factor, half = self.eliminated()
        inside = half @ half.T
        inner, inside = self.of_all(self.corner - inside), self.of_all(inside)
        inner[:, 0] += pull / prior
        covariance = symmetric_inverse(inner[:, 2:] + np.diag(prior**-2.0))
        constants, stds = covariance @ inner[:, :2], np.sqrt(np.diag(covariance))

        def following(constants: FloatArray, besides: FloatArray | float = 0.0) -> FloatArray:
            moves = factor.backward(besides - constants[self.shows].T @ half[2:])
            return moves.reshape(len(moves), -1, self.n).transpose(1, 2, 0)

        def sways() -> FloatArray:
            root = np.linalg.cholesky(covariance)
            others, most = np.split(np.linalg.eigh(root.T @ inside[:, 2:] @ root)[1], [1 - _SWAYS], axis=1)
            signs = np.random.default_rng(1).choice([-1.0, 1.0], (others.shape[1], 1))
            return following(np.asarray(root @ np.hstack([most, others @ signs]), dtype=float))

        return following(constants, half[:2]), constants, stds, sways


class _Factor:
    """Cholesky's factor L of a banded matrix, by LAPACK."""

    def __init__(self, blocks: FloatArray) -> None:
        """blocks: (lags, samples, n, n), as `_Normal` has them."""
        lags, samples, n, _ = blocks.shape
        band = np.zeros((samples, n, lags * n))  # of each column from its diagonal on: rows farther down come later
        strides = np.array([n * lags * n, lags * n - 1, n, 1]) * band.itemsize
        below = as_strided(band, (samples, n, lags, n), strides.tolist())
        below[:, :, 0] = np.tril(blocks[0]).swapaxes(1, 2)  # zeros are above, where others come
        below[:, :, 1:] = blocks[1:].transpose(1, 3, 0, 2)
        self.band, wrong = lapack().dpbtrf(band.reshape(-1, lags * n).T, lower=1, overwrite_ab=1)
        if wrong or not np.isfinite(self.band[0]).all():  # LAPACK factors NaN too, and any of it reaches the diagonal
            raise DataProblem("smoothing", "some stretch of the motion was seen by no instrument")

    def forward(self, right: FloatArray) -> FloatArray:
        """L^-1 of right sides (columns, size), in their place."""
        return lapack().dtbtrs(self.band, right.T, uplo="L", overwrite_b=1)[0].T

    def backward(self, right: FloatArray) -> FloatArray:
        """L'^-1 of right sides (columns, size), in their place."""
        return lapack().dtbtrs(self.band, right.T, uplo="L", trans="T", overwrite_b=1)[0].T
