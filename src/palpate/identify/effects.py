"""What a model may lack: each effect is some columns beside the model's own, tested in what the fit leaves.

An effect that is there explains a part of the residual, and the parameters move when it is given its columns: by that
much they are wrong without it. This is the added-variable test (Cook & Weisberg 1982, ch. 2.3; the score test of
Breusch & Pagan 1980) with a covariance that allows for slow noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from palpate.identify.balance import Rows
from palpate.identify.problem import MANY, bartlett, critical_value, long_run
from palpate.identify.solution import Solution
from palpate.physics.arrays import FloatArray, symmetric_inverse
from palpate.physics.inertia import drawing_jacobian

NEW = 1e-3
"""Share of a column's square that the model's own columns do not explain, from which the column says something."""
NOISY = 0.2
"""Share of a direction's square that must be more than noise of the instruments."""
SURELY = 1e-3
"""Times the largest standard deviation: what is known as well is known."""
AT_ONCE = 16
"""Columns that are looked at together."""


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """Something that the model lacks."""

    cause: str
    place: str
    """The coordinate or row on which it acts; empty: all."""
    shape: float
    """A speed, a width: what its columns were made with, in the coordinate's unit; 0 where there is none."""
    columns: FloatArray
    """(columns, free rows, samples of the balance), N or N m per unit of a coefficient; with `only`, of one row; or
    (columns, rows), low-passed already.
    """
    only: int | None = None
    """The free row that it enters alone; `EACH`: a column for each."""
    std: float | FloatArray = 0.0
    """How well each coefficient is known before the data are asked; 0: nothing is known."""
    expected: float | FloatArray = 0.0
    """What each is known to be so well."""
    names: tuple[str, ...] = ()
    """Of the columns, where they have some."""

    def of(self, rows: Rows) -> FloatArray:
        """(columns, rows): low-passed and weighted as the rows are."""
        return self.columns if self.columns.ndim == 2 else rows.taken(self.columns, self.only)


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """What the instruments' noise, added once more, does."""

    effects: Iterable[Effect]
    """The same effects as seen with it."""
    left: FloatArray
    """(rows,): what it changes in the residuals."""


@dataclass(frozen=True, slots=True, eq=False)
class Lack:
    """What an effect would explain, and change."""

    effect: Effect
    share: float
    """Of the squares that the fit leaves."""
    evidence: float
    """Wald's statistic over the number of columns, on a scale where 1 is about the limit of 95 %."""
    coefficients: FloatArray
    """(columns,)."""
    stds: FloatArray
    """(columns,)."""
    shift: dict[str, float]
    """Estimate -> by how much it would change."""
    doubt: Mapping[str, float] = field(default_factory=dict[str, float])
    """Estimate -> by how much it may be off, where the effect is known to be small (`Effect.std`) and the data may tell
    more: the root of the mean square of its change."""
    information: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    """(columns, columns): H, of what the data tell of the coefficients c, H c = `told`; empty where that is nothing."""
    told: FloatArray = field(default_factory=lambda: np.zeros(0))

    @property
    def strongest(self) -> tuple[int, float]:
        """Which coefficient is farthest from what was known of it, in standard deviations, and what it would be alone.

        By Bayes' rule: columns that look alike share one effect, and least squares gives such ones large coefficients.
        """
        std = np.broadcast_to(self.effect.std, self.told.shape)
        K = symmetric_inverse(self.information + np.diag(np.where(std > 0, std, 1.0) ** -2.0))
        at = int(np.argmax(np.abs(K @ self.told) / np.sqrt(np.diag(K))))
        return at, float(self.told[at] / self.information[at, at])

    @property
    def unlikely(self) -> float:
        """How far the likeliest coefficients are from what was known, the farthest of them, in standard deviations of
        that; infinite where nothing was known.
        """
        std = np.broadcast_to(self.effect.std, self.told.shape)
        if not (std > 0).all():
            return np.inf
        expected = np.broadcast_to(self.effect.expected, std.shape)
        K = symmetric_inverse(self.information + np.diag(std**-2.0))
        return float(np.abs((K @ (self.told + expected / std**2) - expected) / std).max())


def attenuation(leftover: Leftover, noisy: FloatArray, left: FloatArray) -> dict[str, float]:
    """Estimate -> by how much noise in the motion moves it, which makes columns longer than they are (X'X)^-1 dX' dr
    (Fuller, Measurement Error Models, 1987, ch. 2.2).

    noisy (columns, rows): the model's columns with the noise added once more; left (rows,): what that changes in the
    residuals.
    """
    X, solution = leftover.X, leftover.solution
    theta, problem = solution.theta, solution.problem
    P, (pull, _) = problem.map_.jacobian(theta), problem.prior_rows(theta)
    move = np.linalg.lstsq(P.T @ X @ X.T @ P + pull.T @ pull, P.T @ (noisy - X) @ left, rcond=None)[0]
    return dict(zip((e.name for e in solution.estimates), (_drawn(solution) @ move).tolist(), strict=True))


def _drawn(solution: Solution) -> FloatArray:
    """(estimates, theta): how the numbers of a drawing follow theta."""
    map_ = solution.problem.map_
    drawn, p = map_.jacobian(solution.theta).copy(), map_.forward(solution.theta)
    for _, ps, _ in map_.bodies:
        drawn[ps] = drawing_jacobian(p[ps]) @ drawn[ps]
    return drawn


@dataclass(frozen=True, slots=True, eq=False)
class Leftover:
    """What a fit leaves, and the directions in which no effect can be told from what was fitted or is unsure."""

    rows: Rows
    solution: Solution
    X: FloatArray
    """(parameters, rows): the model's columns."""
    left: FloatArray
    """(rows,): residuals ..."""
    r: FloatArray
    """(rows and more,): ... and the prior's, without what the parameters could still explain."""
    Q: FloatArray
    """(rows and more, k): orthonormal, of the parameters and of what is unsure."""
    back: FloatArray
    """(parameters and what is unsure, k): to their coefficients."""
    level: float
    """Mean variance of the noise."""


HIDDEN = 1e-9
"""Norm of a column, and of a direction of columns of length one, that rounding alone explains, over the largest."""


def leftover(rows: Rows, solution: Solution, unsure: FloatArray | None = None) -> Leftover:
    """Of a fit to these rows.

    unsure (k, rows): what things that are known only so well (a clock, a zero, a shape) change in the residuals when
    they are off by a standard deviation; what these explain, no effect needs to.
    """
    problem, theta = solution.problem, solution.theta
    P, X = problem.map_.jacobian(theta), rows.of_model(solution.model)
    left = rows.y[0] - solution.p @ X
    pull, target = problem.prior_rows(theta)
    noises = solution.uncertainty.noise
    level = float(np.trace(noises)) / max(1, len(noises))
    D = np.zeros((0, len(left))) if unsure is None else unsure
    fitted = np.concatenate([(P.T @ X).T, pull, np.zeros((len(D), P.shape[1]))])
    beside = np.concatenate([D.T, np.zeros((len(pull), len(D))), np.sqrt(level) * np.eye(len(D))])
    M = np.concatenate([fitted, beside], axis=1)
    r = np.concatenate([left, -target, np.zeros(len(D))])
    scale = np.sqrt(np.einsum("ij,ij->j", M, M))
    scale[scale <= HIDDEN * scale.max(initial=0.0)] = np.inf  # what the rows do not show, nothing moves
    basis, T = np.linalg.qr(np.divide(M, scale, out=M))
    # of columns that depend on others, as of a body that only moves in a plane, it holds directions of mere rounding
    U, s, Vt = np.linalg.svd(T)
    known = s > HIDDEN * s.max(initial=0.0)
    Q = basis if known.all() else basis @ U[:, known]
    back = np.linalg.solve(T, np.eye(len(T))) if known.all() else Vt[known].T / s[known]
    r = r - Q @ (Q.T @ r)
    return Leftover(rows, solution, X, left, r, Q, back / scale[:, None], level)


def lacks(leftover: Leftover, effects: Iterable[Effect], noise: Noise) -> list[Lack]:
    """All effects with what they explain of what a fit leaves, the one that explains most first.

    noise: what the instruments' noise does. What it does to columns and residuals together looks like an effect (lag
    and compliance above all) and is taken out of their products.
    """
    rows, solution, left, r = leftover.rows, leftover.solution, leftover.left, leftover.r
    drawn = _drawn(solution)
    tested: list[Lack] = []
    names = [n.name for n in solution.estimates]
    for effect, E, noisy, beside, size, inside in _beside(leftover, effects, noise):
        gram = E @ E.T
        values, V = np.linalg.eigh(gram - noisy)
        known = values > np.maximum(NEW, NOISY * np.einsum("ij,ik,kj->j", V, gram, V))
        slopes = -drawn @ (leftover.back @ inside)[: drawn.shape[1]]
        if not known.any():
            if np.any(effect.std):  # nothing but that is known of it
                nothing, none = np.zeros(len(size)), np.zeros((len(size), len(size)))
                doubt = dict(zip(names, _doubt(slopes, effect, size, none, nothing).tolist(), strict=True))
                unmoved = dict.fromkeys(names, 0.0)
                tested.append(Lack(effect, 0.0, 0.0, nothing, nothing, unmoved, doubt, none, nothing))
            continue
        turn = V[:, known] / np.sqrt(values[known])  # to directions of length one
        U = turn.T @ E
        u = U @ r - turn.T @ beside
        scores = rows.by_piece((U * (r - u @ U))[:, : len(left)]).T
        spread, lags = long_run(scores)
        shares = rows.by_piece(U[:, : len(left)] ** 2)
        shares = (shares / shares.sum(axis=1, keepdims=True)).T
        few = np.maximum(0.0, 1 - 1 / (MANY * np.sum(shares**2, axis=0)))
        share = float(u @ u) / max(float(left @ left), 1e-300)
        noises = np.diag(few * leftover.level * max(1 - share, 0.0))
        spread = spread * (len(scores) / max(1, len(scores) - 1)) + noises
        limit = critical_value(min(max(float(np.median(bartlett(shares, lags))), (lags + 1) / len(shares)), 1.0))
        sure = np.asarray(np.linalg.pinv(spread, hermitian=True), dtype=float)
        strength = float(u @ sure @ u) / len(u) / limit**2
        scaled = turn / size[:, None]
        shift = dict(zip(names, (slopes @ (turn @ u)).tolist(), strict=True))
        stds = np.sqrt(np.einsum("ij,jk,ik->i", scaled, spread, scaled))
        inward = V[:, known] * np.sqrt(values[known])
        H, told = inward @ sure @ inward.T, inward @ (sure @ u)
        doubt = dict[str, float]()
        if np.any(effect.std):
            doubt = dict(zip(names, _doubt(slopes, effect, size, H, told).tolist(), strict=True))
        of_data = size[:, None] * H * size, size * told
        tested.append(Lack(effect, share, strength, scaled @ u, stds, shift, doubt, *of_data))
    return sorted(tested, key=lambda lack: -lack.share)


def _doubt(
    slopes: FloatArray, effect: Effect, size: FloatArray, information: FloatArray, told: FloatArray
) -> FloatArray:
    """(estimates,): root of the mean square by which coefficients c move them that are known to a standard deviation,
    and of which the data tell more: H c = told, with the information H. Bayes' rule for normal distributions.

    slopes (estimates, columns): how estimates follow coefficients times their sizes (columns,), as H and told have
    them.
    """
    std = np.broadcast_to(effect.std, size.shape)
    std, expected = np.maximum(std, SURELY * std.max()) * size, effect.expected * size
    after = symmetric_inverse(information + np.diag(std**-2.0))
    mean = after @ (told + expected / std**2)
    squares = np.einsum("ij,jk,ik->i", slopes, after + np.outer(mean, mean), slopes)
    return np.sqrt(np.maximum(squares, 0.0))


_Beside = tuple[Effect, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]


def _beside(leftover: Leftover, effects: Iterable[Effect], noise: Noise) -> Iterator[_Beside]:
    """Each effect without its columns, and of these, scaled to length one: what is the effect's alone, the noise's
    products in that with itself and with what it changes in the residuals, the lengths, and what the directions of the
    fit explain. Many columns at once, since those are long.
    """
    rows, Q, count = leftover.rows, leftover.Q, len(leftover.left)
    in_residuals = Q[:count].T @ noise.left

    def taken(batch: list[tuple[Effect, FloatArray, FloatArray]]) -> Iterator[_Beside]:
        columns, again = np.concatenate([x for _, x, _ in batch]), np.concatenate([x for _, _, x in batch])
        size = np.sqrt(np.maximum(np.einsum("ij,ij->i", columns, columns), 1e-300))
        again -= columns
        columns /= size[:, None]
        again /= size[:, None]
        inside, noisy = columns @ Q[:count], again @ Q[:count]
        E = -inside @ Q.T
        E[:, :count] += columns
        end = 0
        for effect, own, _ in batch:
            at = slice(end, end + len(own))
            products = again[at] @ again[at].T - noisy[at] @ noisy[at].T
            yield effect, E[at], products, again[at] @ noise.left - noisy[at] @ in_residuals, size[at], inside[at].T
            end = at.stop

    batch: list[tuple[Effect, FloatArray, FloatArray]] = []
    for effect, other in zip(effects, noise.effects, strict=True):
        # its own columns are many megabytes, and nobody asks for them again
        batch.append((replace(effect, columns=np.zeros((0, 0))), effect.of(rows), other.of(rows)))
        if sum(len(columns) for _, columns, _ in batch) >= AT_ONCE:
            yield from taken(batch)
            batch = []
    if batch:
        yield from taken(batch)
