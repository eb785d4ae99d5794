"""The coordinate that nobody measured, of two bodies in series: how the measured force and position tell of both.

The force drives both bodies, the positions hold them (`runtime/observer.py`); what is left of each position beside its
prediction, times a stiffness, is a row in N or N m. It follows the parameters p by J, differenced; so
y - f(p) + J p = J p is a balance that is linear in p, compressed, solved and judged as any other. To look at and to
predict with there is the balance of forces as well, the inner body led along the measured outer one
(`runtime/driven.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from palpate.identify.balance import Balance, Compressed, Rows
from palpate.identify.pieces import PIECES, SHORTEST_PIECE_S
from palpate.mechanisms import Mechanism
from palpate.model import Model
from palpate.physics.arrays import BoolArray, FloatArray, runs, triangular
from palpate.physics.functions import ARRAYS
from palpate.physics.motion import Coordinate, Kinematics
from palpate.runtime.driven import Driven, Path, driven
from palpate.runtime.observer import Gains, observe

DIFFERENCE = 3e-3
"""Share of a parameter over which force and position are differenced."""
SETTLED_S = 1.0
"""After which it no longer counts where both bodies were when a segment began."""
PUSHED = 1e-3
"""Share of the usual force by which it is changed to see what that does."""
COARSE = 4
"""Steps in one, where only a change is asked for, or where to begin."""


@dataclass(frozen=True, slots=True, eq=False)
class Inner:
    """Parameters by which both bodies are led."""

    values: Mapping[str, float]
    mechanism: Mechanism
    """For which they were found."""
    steps: int
    """Of a sample, of the inner body along the outer one."""
    held: Gains
    stiffness: float
    """By which what is left of positions becomes a force, N/m or N m/rad: noise of the force over that of the
    position."""
    slopes: FloatArray
    """(parameters, samples): how predicted positions follow the parameters, times the stiffness; NaN where not
    known."""
    noisy: FloatArray
    """(parameters + 1, parameters + 1): what noise of the instruments adds to the mean product of two slopes, and of a
    slope and what is left."""
    pushed: float
    """Noise of the force, N or N m, with which positions are off as much as they are, and ..."""
    noise: float
    """... that of the instruments."""
    found: bool
    """Whether nothing nearby leaves less."""


def spans_of(times_s: FloatArray, position: FloatArray, force: FloatArray) -> list[tuple[int, int]]:
    """Stretches of samples at which both are known, without gaps in time."""
    period = float(np.median(np.diff(times_s)))
    even = np.append(np.diff(times_s) < 1.5 * period, True)
    known = np.isfinite(position + force)
    joined = known & np.append(known[1:], False) & even
    return [(a, b + 1) for a, b in runs(joined)]


def innovations(
    of: Driven,
    times_s: FloatArray,
    position: FloatArray,
    force: FloatArray,
    p: FloatArray,
    held: Gains,
    *,
    inside: FloatArray | None = None,
    coarse: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """`observe` over all that is known."""
    period, spans = float(np.median(np.diff(times_s))), spans_of(times_s, position, force)
    return observe(of, spans, period, position, force, p, held, inside=inside, coarse=coarse)


def settled_in(times_s: FloatArray, parts: Sequence[BoolArray]) -> BoolArray:
    """(samples,): in one of the parts, and so for a while: it no longer counts how both bodies began."""
    starts = (np.maximum.accumulate(np.where(known, times_s[0], times_s)) for known in parts)
    return np.any([x & (times_s - y >= SETTLED_S) for x, y in zip(parts, starts, strict=True)], axis=0)


def observed(model: Model, inner: Inner, times_s: FloatArray, q: FloatArray, wrench: FloatArray) -> FloatArray:
    """(samples, 1): where the outer of two bodies is, by its position q (samples, 1) and the wrench (samples, 6)."""
    of, force = driven(model), wrench[:, model.mechanism.row_components[0]]
    _, there = innovations(of, times_s, q[:, 0], force, of.parameters(inner.values), inner.held)
    return there.T


def compressed_innovations(
    balance: Balance, inner: Inner, position: FloatArray, force: FloatArray, used: BoolArray
) -> Compressed:
    """Rows of the samples that are used, in about a hundred pieces."""
    model, times_s = balance.model, balance.times_s
    rows, _ = innovation_rows(model, inner, times_s, position, force, used)
    each = max(int(SHORTEST_PIECE_S / float(np.median(np.diff(times_s)))), -(-len(rows) // PIECES), 1)
    parts = np.split(rows, range(each, len(rows), each))
    y, samples = rows[:, -1], np.array([len(x) for x in parts])
    own = np.eye(rows.shape[1])  # y is what is left and what the slopes say of the values
    own[:-1, -1] = [inner.values[n] for n in model.parameters]
    return Compressed(
        model=replace(model, values={}),
        roots=np.array([triangular(x) for x in parts])[:, None],
        lift=np.eye(rows.shape[1])[None],
        samples=samples,
        low=np.full((len(parts), 1), y.min()),
        high=np.full((len(parts), 1), y.max()),
        weights=np.ones(1),
        noise=samples[:, None, None, None] * (own.T @ inner.noisy @ own),
    )


def innovation_rows(
    model: Model, inner: Inner, times_s: FloatArray, position: FloatArray, force: FloatArray, used: BoolArray
) -> tuple[FloatArray, NDArray[np.int64]]:
    """(samples, parameters + 1), and which samples they are."""
    of = driven(model)
    p = np.array([inner.values[n] for n in model.parameters])
    left, _ = innovations(
        of, times_s, position, _without_zero(model, p, force), of.parameters(inner.values), inner.held
    )
    at = np.flatnonzero(used & np.isfinite(left[0]) & np.isfinite(inner.slopes).all(axis=0))
    J = inner.slopes[:, at]
    return np.column_stack([J.T, inner.stiffness * left[0, at] + p @ J]), at


def _without_zero(model: Model, p: FloatArray, force: FloatArray) -> FloatArray:
    """The force without a constant of the instruments that is a parameter."""
    for (e, names), first in zip(model.parts, _firsts(model), strict=True):
        if e.instrument:
            (row,) = model.mechanism.row_components
            force = force - p[first : first + len(names)][row]
    return force


def _firsts(model: Model) -> list[int]:
    counts = [len(names) for _, names in model.parts]
    return [sum(counts[:i]) for i in range(len(counts))]


def innovation_slopes(
    model: Model,
    times_s: FloatArray,
    position: FloatArray,
    force: FloatArray,
    p: FloatArray,
    held: Gains,
    *,
    coarse: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """What is left of the positions (samples,), and how predictions follow the parameters (parameters, samples), in rad
    or m.
    """
    of, names = driven(model), list(model.parameters)
    ours = [names.index(n) for n in of.model.parameters]
    by = DIFFERENCE * np.maximum(np.abs(p), 1e-9 * np.abs(p).max())
    each = np.repeat(p[ours][:, None], 1 + 2 * len(ours), axis=1)
    for j, i in enumerate(ours):
        each[j, 1 + 2 * j] += by[i]
        each[j, 2 + 2 * j] -= by[i]
    pushed = _without_zero(model, p, force)
    left, _ = innovations(of, times_s, position, pushed, each, held, coarse=coarse)
    J = np.zeros((len(names), len(times_s)))
    for j, i in enumerate(ours):
        J[i] = (left[2 + 2 * j] - left[1 + 2 * j]) / (2 * by[i])
    size = PUSHED * float(np.nanstd(force))
    for (e, mine), first in zip(model.parts, _firsts(model), strict=True):
        if e.instrument:
            (row,) = model.mechanism.row_components
            less, _ = innovations(of, times_s, position, pushed - size, each[:, :1], held, coarse=coarse)
            J[first + list(mine).index(mine[row])] = (left[0] - less[0]) / size
    return left[0], J


def noise_products(
    model: Model,
    times_s: FloatArray,
    position: FloatArray,
    force: FloatArray,
    p: FloatArray,
    held: Gains,
    noise: tuple[float, float],
    used: BoolArray,
) -> FloatArray:
    """(parameters + 1, parameters + 1): what noise of position and force adds to the mean products of slopes and of
    what is left, but for the square of that.

    The noise of the force moves the bodies of the prediction, and with them the slopes: a heavier body would be moved
    less, and seems to explain more. The same noise is added once more, with either sign, and what that adds is counted
    off (Cook & Stefanski 1994, JASA 89: simulation and extrapolation).
    """
    rng = np.random.default_rng(0)
    drawn = [std * rng.normal(size=len(times_s)) for std in noise]
    totals: list[FloatArray] = []
    for sign in (0.0, 1.0, -1.0):
        left, J = innovation_slopes(model, times_s, position + sign * drawn[0], force + sign * drawn[1], p, held)
        rows = np.nan_to_num(np.vstack([J, left]))[:, used]
        totals.append(rows @ rows.T / max(int(used.sum()), 1))
    more = 0.5 * (totals[1] + totals[2]) - totals[0]
    more[-1, -1] = 0.0
    return more


@dataclass(frozen=True, slots=True, eq=False)
class Innovations(Rows):
    """Rows of what is left of positions: a force that somebody adds acts through the dynamics of both bodies."""

    inner: Inner | None = None
    position: FloatArray | None = None
    force: FloatArray | None = None
    J: FloatArray | None = None
    """(parameters, rows)."""
    place: str = ""
    """Where forces act that somebody adds; empty: on the outer body."""

    def felt_at(self, place: str) -> Innovations:
        """The same for forces that act there."""
        return replace(self, place=place)

    def taken(self, columns: FloatArray, only: int | None = None) -> FloatArray:  # noqa: ARG002 - there is one row
        """(columns, rows) of forces that resist, (columns, 1, samples) each: what they do to the outer position."""
        inner, model, t = self.inner, self.balance.model, self.balance.times_s
        assert inner is not None
        assert self.position is not None
        assert self.force is not None
        of = driven(model)
        p, rows = of.parameters(inner.values), np.zeros((len(columns), len(self.at)))
        pushed = _without_zero(model, np.array([inner.values[n] for n in model.parameters]), self.force)
        base, _ = innovations(of, t, self.position, pushed, p, inner.held, coarse=COARSE)
        inside = self.place == model.mechanism.unmeasured[0]
        for i in range(len(columns)):
            column: FloatArray = np.nan_to_num(columns[i, 0])
            size = float(np.linalg.norm(column)) / max(len(column), 1) ** 0.5
            if size > 0:
                step = PUSHED * float(np.nanstd(self.force)) / size
                outer, more = (pushed, -step * column) if inside else (pushed - step * column, None)
                moved, _ = innovations(of, t, self.position, outer, p, inner.held, inside=more, coarse=COARSE)
                rows[i] = inner.stiffness / step * (base - moved)[0, self.at]
        return np.asarray(np.nan_to_num(rows), dtype=float)

    def of_model(
        self,
        model: Model,  # noqa: ARG002 - it is the rows' own
        k: Kinematics | None = None,  # noqa: ARG002
        weights: FloatArray | BoolArray | None = None,
    ) -> FloatArray:
        """(parameters, rows)."""
        assert self.J is not None
        return self.J.copy() if weights is None else self.J * weights[self.at]


def stacked_innovations(
    rows: FloatArray, at: NDArray[np.int64], like: Rows, inner: Inner, position: FloatArray, force: FloatArray
) -> Innovations:
    """Rows [J | y] of the samples `at`, in the place of rows of forces."""
    each = -(-len(rows) // PIECES)
    starts = np.arange(0, len(rows), each)
    samples = np.diff(np.append(starts, len(rows)))
    J, y = rows[:, :-1].T, rows[:, -1]
    return Innovations(like.balance, like.spans, y[None], samples, starts, at, inner, position, force, J)


def followed(balance: Balance, inner: Inner | None) -> Balance:
    """A recording's balance with the inner body, where there is one, as the dynamics lead it, where that is told."""
    if inner is None:
        return balance
    model, k = balance.model, balance.kinematics
    outer = k.coordinates[str(model.mechanism.main)]
    q, qd = (np.asarray(x, dtype=float) for x in (outer.position, outer.speed))
    path, told = driven(model).told(balance.times_s, q, qd, inner.values, inner.steps)
    used = told if balance.used is None else balance.used & told
    return replace(balance, kinematics=replace(k, coordinates=_with_inner(model, k, path)), used=used)


def _with_inner(model: Model, k: Kinematics, path: Path) -> Mapping[str, Coordinate]:
    """The coordinates, all forces counted as the hand feels them: what passes from one body to the other is not."""
    outer, (inner, *between) = k.coordinates[str(model.mechanism.main)], model.mechanism.unmeasured
    (u,), (v,), (a,), (side,) = path.position, path.speed, path.acceleration, path.side
    both = model.mechanism.apart().expand((outer.position, u, outer.speed, v), (outer.acceleration, a), ARRAYS)
    passing = {name: replace(both.coordinates[name], ratio=(0.0,)) for name in between}
    return {**k.coordinates, inner: Coordinate(u, v, a, (1.0,), side), **passing}


def with_inner_states(k: Kinematics, mechanism: Mechanism, states: FloatArray) -> FloatArray:
    """Measured states (samples, len(state)) as the runtime has them: with those of the inner body, where there is
    one."""
    if not mechanism.unmeasured:
        return states
    c = k.coordinates[mechanism.unmeasured[0]]
    inner = np.array([np.broadcast_to(np.asarray(x, dtype=float), len(states)) for x in (c.position, c.speed)])
    return np.stack([states[:, 0], inner[0], states[:, 1], inner[1]], axis=1)
