"""Variable projection: a few nonlinear shapes outside, all linear parameters inside (Golub & Pereyra 1973).

Columns that no free shape touches are built once; only the others are built again for each trial.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from palpate.elements import Element
from palpate.identify.balance import Rows
from palpate.model import Model
from palpate.physics.arrays import BoolArray, FloatArray, symmetric_solve
from palpate.physics.functions import Scalar
from palpate.physics.motion import Kinematics

_RIDGE = 1e-12
"""Added to the diagonal of a scaled X'X: columns that are the same up to rounding share their parameter."""
_DIFFERENCE = 1e-6
"""Of a shape on the scale of the search (rad, or the logarithm), for slopes."""


FEWEST = 20
"""Samples in motion without which a zone was not visited."""
GRID = (20, 2, 8)
"""Cells of the coarse grid: of a border, of a shape beside a border, of a shape that is alone."""
ROUGH_GRID = (12, 1, 5)
"""The same where others follow."""
_LONGEST: Mapping[str, float] = {"rad": float(np.radians(4.0)), "m": 0.02}
"""Longest step of a border, by its unit ..."""
_LONGEST_LOG = 0.8
"""... and of the logarithm of any other shape."""


def solve_positive(
    gram: FloatArray, positive: BoolArray, guess: BoolArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """p that minimises |X [-p; 1]|^2 with p >= 0 where `positive`, and the minimum, from X'X (..., k + 1, k + 1).

    Block principal pivoting (Portugal, Judice & Vicente 1994, Math. Comp. 63:625), for a whole stack at once; where
    blocks begin to cycle, one index at a time (Murty). Columns that are zero get p = 0. `guess`: which p are not zero,
    if that is nearly known.
    """
    shape, k = gram.shape[:-2], len(positive)
    if not shape:
        easy = _solve_easy(gram, positive, guess)
        if easy is not None:
            return easy
    G = gram.reshape(-1, k + 1, k + 1)
    diagonal = np.diagonal(G, axis1=1, axis2=2)[:, :k]
    touched = diagonal > 1e-20 * np.maximum(diagonal.max(axis=1, initial=0.0), 1e-300)[:, None]
    scale = np.sqrt(np.where(touched, diagonal, 1.0))
    A = G[:, :k, :k] / scale[:, :, None] / scale[:, None, :]
    b = G[:, :k, k] / scale
    tolerance = 1e-10 * np.sqrt(np.maximum(G[:, k, k], 1e-300))[:, None]
    passive = touched.copy() if guess is None else touched & guess
    unit = np.eye(k)
    p = np.zeros_like(b)
    fewest, patience = np.full(len(G), k + 1), np.full(len(G), 3)
    todo = np.arange(len(G))
    for _ in range(10 * (k + 1)):
        on = passive[todo]
        inner = np.where(on[:, :, None] & on[:, None, :], A[todo], 0.0)
        inner = inner + unit * np.where(on, _RIDGE, 1.0)[:, :, None]
        p[todo] = np.linalg.solve(inner, np.where(on, b[todo], 0.0)[:, :, None])[:, :, 0]
        dual = (A[todo] @ p[todo][:, :, None])[:, :, 0] - b[todo]
        wrong = positive & touched[todo] & np.where(on, p[todo] < -tolerance[todo], dual < -tolerance[todo])
        count = wrong.sum(axis=1)
        better = count < fewest[todo]
        patience[todo] = np.where(better, 3, patience[todo] - 1)
        fewest[todo] = np.minimum(fewest[todo], count)
        last = k - 1 - np.argmax(wrong[:, ::-1], axis=1)
        single = np.arange(k) == last[:, None]
        passive[todo] = on ^ (wrong & (single | (patience[todo] >= 0)[:, None]))
        todo = todo[count > 0]
        if len(todo) == 0:
            break
    p = np.where(positive, np.maximum(p, 0.0), p) / scale
    v = np.concatenate([-p, np.ones((len(G), 1))], axis=1)
    cost = np.maximum(np.einsum("bi,bij,bj->b", v, G, v), 0.0)
    return p.reshape(*shape, k), cost.reshape(shape)


def _solve_easy(gram: FloatArray, positive: BoolArray, guess: BoolArray | None) -> tuple[FloatArray, FloatArray] | None:
    """The same for one X'X where the guess (all, without one) is right: the usual case, and quick."""
    scale = np.sqrt(np.diag(gram)[:-1])
    if not scale.all():
        return None
    A, b = gram[:-1, :-1] / scale[:, None] / scale, gram[:-1, -1] / scale
    A[np.diag_indices_from(A)] += _RIDGE
    if guess is None or guess.all():
        p = symmetric_solve(A, b)
    else:
        p = np.zeros(len(b))
        p[guess] = symmetric_solve(A[np.ix_(guess, guess)], b[guess])
        if (A[~guess] @ p < b[~guess]).any():
            return None
    if (p[positive] < 0).any():
        return None
    v = np.append(-p / scale, 1.0)
    return -v[:-1], np.maximum(v @ gram @ v, 0.0)


@dataclass(frozen=True, slots=True)
class FreeShape:
    """One shape to be found: of which element, between which limits, searched on which scale."""

    name: str
    """In the model."""
    element: int
    shape: str
    """In the element."""
    unit: str
    value: float
    low: float
    high: float
    logarithmic: bool
    most: float
    """The longest step on the scale of the search."""

    def to_search(self, value: float) -> float:
        """Logarithm, or as it is."""
        return float(np.log(value)) if self.logarithmic else value

    def to_value(self, u: float) -> float:
        """Back, never beyond the limits."""
        return float(np.clip(np.exp(u) if self.logarithmic else u, self.low, self.high))


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """The linear fit at one choice of shapes."""

    u: FloatArray
    """The shapes on the scale of the search."""
    p: FloatArray
    """In the order of the projection's columns."""
    cost: float
    gram: FloatArray
    """X'X of fixed columns, moving columns and y."""
    moving: FloatArray
    """(columns, rows), of all elements with free shapes."""
    raw: tuple[FloatArray, ...]
    """Per such element, before the low-pass."""


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """One model on some rows, as a function of its free shapes alone."""

    rows: Rows
    model: Model
    free: tuple[FreeShape, ...]
    fixed: FloatArray
    """(columns, rows): an orthonormal basis of the unconstrained ones first, then those that must be positive."""
    order: NDArray[np.int64]
    """Column -> parameter of the model: fixed ones, then moving ones."""
    positive: BoolArray
    """Of each column."""
    from_basis: FloatArray
    """Unconstrained parameters = this times the basis' coefficients."""
    moved: tuple[int, ...]
    """Elements with free shapes."""
    inner: FloatArray
    """X'X of fixed columns and y."""
    parts: dict[int, Model]
    """The elements with free shapes, each alone."""

    def parameters(self, p: FloatArray) -> FloatArray:
        """The model's parameters in its own order."""
        parameters, k = np.empty(len(self.order)), len(self.from_basis)
        parameters[self.order[:k]] = self.from_basis @ p[:k]
        parameters[self.order[k:]] = p[k:]
        return parameters

    def shapes(self, u: FloatArray, element: int) -> dict[str, Scalar]:
        """The shapes of one element, the free ones from u."""
        e = self.model.elements[element]
        values: dict[str, Scalar] = {s.name: s.value for s in e.shapes}
        free = {f.shape: f.to_value(float(v)) for f, v in zip(self.free, u, strict=True) if f.element == element}
        return {**values, **free}

    def values(self, u: FloatArray) -> dict[str, float]:
        """All free shapes by the model's names."""
        return {f.name: f.to_value(float(v)) for f, v in zip(self.free, u, strict=True)}

    def at(self, u: FloatArray) -> Trial:
        """The linear fit there."""
        raw = tuple(self.rows.raw(part, self.shapes(u, i)) for i, part in self.parts.items())
        moving = np.concatenate([np.empty((0, self.rows.y.shape[1])), *(self.rows.passed(r) for r in raw)])
        gram = self.assembled(moving @ self.fixed.T, moving @ moving.T, moving @ self.rows.y[0])
        p, cost = solve_positive(gram, self.positive)
        return Trial(u, p, float(cost), gram, moving, raw)

    def assembled(self, cross: FloatArray, inner: FloatArray, with_y: FloatArray) -> FloatArray:
        """X'X of [fixed, moving, y] from the moving columns' products; stacks of them, too."""
        f, m = len(self.fixed), inner.shape[-1]
        gram = np.empty((*inner.shape[:-2], f + m + 1, f + m + 1))
        gram[..., :f, :f], gram[..., -1, -1] = self.inner[:f, :f], self.inner[f, f]
        gram[..., :f, -1], gram[..., -1, :f] = self.inner[:f, f], self.inner[:f, f]
        gram[..., f:-1, :f], gram[..., :f, f:-1] = cross, np.swapaxes(cross, -1, -2)
        gram[..., f:-1, f:-1] = inner
        gram[..., f:-1, -1], gram[..., -1, f:-1] = with_y, with_y
        return gram

    def slopes(self, trial: Trial, of: Sequence[int]) -> FloatArray:
        """d (Y p) / du at constant p for some of the shapes, (shapes, rows), by differences."""
        slopes = np.empty((len(of), *trial.raw[0].shape[1:])) if of else np.empty((0, 1, 1))
        begin = len(self.fixed)
        for moved, raw in zip(self.moved, trial.raw, strict=True):
            p, begin = trial.p[begin : begin + len(raw)], begin + len(raw)
            for n, i in enumerate(of):
                if self.free[i].element == moved:
                    u = trial.u.copy()
                    up = self.free[i].to_value(u[i] + _DIFFERENCE)
                    u[i] += _DIFFERENCE if up < self.free[i].high else -_DIFFERENCE
                    there = self.rows.raw(self.parts[moved], self.shapes(u, moved))
                    slopes[n] = np.einsum("i,ijn->jn", p / (u[i] - trial.u[i]), there - raw)
        return self.rows.passed(slopes) if of else np.empty((0, self.rows.y.shape[1]))

    def residual(self, trial: Trial) -> FloatArray:
        """Y - Y p of each row."""
        f = len(self.fixed)
        return self.rows.y[0] - trial.p[:f] @ self.fixed - trial.p[f:] @ trial.moving


def project(
    rows: Rows,
    model: Model,
    free: tuple[FreeShape, ...],
    *,
    moved: Collection[int] = (),
    kept: Callable[[Element], FloatArray] | None = None,
) -> Projection:
    """Set up the projection of a model; `moved` elements count as moving without free shapes.

    `kept` may give columns of the others that exist already.
    """
    moved = tuple(sorted({*moved, *(f.element for f in free)}))
    build = rows.columns if kept is None else kept
    columns: list[FloatArray] = []
    fixed, moving, begin = list[int](), list[int](), 0
    for i, e in enumerate(model.elements):
        places = range(begin, begin + len(e.parameters))
        begin += len(places)
        if i in moved:
            moving += places
        else:
            fixed += places
            columns.append(build(e))
    parameters = list(model.parameters.values())
    X = np.concatenate([np.empty((0, rows.y.shape[1])), *columns])
    positive = np.array([parameters[i].map == "positive" for i in fixed], dtype=bool)
    basis, from_basis = _basis(X[~positive])
    F = np.concatenate([basis, X[positive]])
    at = np.array(fixed, dtype=np.int64)
    with_y = np.concatenate([F, rows.y])
    return Projection(
        rows=rows,
        model=model,
        free=free,
        fixed=F,
        order=np.concatenate([at[~positive], at[positive], np.array(moving, dtype=np.int64)]),
        positive=np.array([False] * len(basis) + [True] * int(positive.sum()) + _positives(model, moving)),
        from_basis=from_basis,
        moved=moved,
        inner=with_y @ with_y.T,
        parts={i: rows.alone(model.elements[i]) for i in moved},
    )


def _positives(model: Model, at: Sequence[int]) -> list[bool]:
    parameters = list(model.parameters.values())
    return [parameters[i].map == "positive" for i in at]


def _basis(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """An orthonormal basis (columns, rows) of the columns X, and how the parameters of X follow from its coefficients.

    Powers of an angle are so nearly dependent that X'X of them would have lost its digits.
    """
    if len(X) == 0:
        return X, np.empty((0, 0))
    scale = np.linalg.norm(X, axis=1)
    scale[scale == 0] = 1.0
    Q, R = np.linalg.qr((X / scale[:, None]).T)
    U, s, Vt = np.linalg.svd(R)
    inverse = Vt.T @ np.diag(np.where(s > 1e-12 * s[0], 1 / np.maximum(s, 1e-300), 0.0)) @ U.T
    return np.ascontiguousarray(Q.T), inverse / scale[:, None]


def free_shapes(
    model: Model,
    k: Kinematics,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    *,
    held: Collection[str] = (),
    memory: dict[tuple[str, ...], tuple[float, float]] | None = None,
) -> tuple[tuple[FreeShape, ...], tuple[tuple[str, str], ...]]:
    """The free shapes with their limits, and those that the motion cannot tell, each with the reason.

    `bounds` (SI, by the model's names) go before an element's own; shapes that are `held` stay as they are. `memory`
    keeps what was visited for the next model.
    """
    memory = {} if memory is None else memory
    given = dict[str, tuple[float, float]]() if bounds is None else bounds
    shapes: list[FreeShape] = []
    untold: list[tuple[str, str]] = []
    names = iter(model.shapes)
    for i, e in enumerate(model.elements):
        named = [(next(names), s) for s in e.shapes]
        free = [(name, s) for name, s in named if s.free and name not in held]
        visited = _visited(e, k, memory) if free else (0.0, 0.0)
        reason = e.unseen(visited) if free else ""
        for name, s in free:
            if reason:
                untold.append((name, reason))
            else:
                low, high = given.get(name) or e.limits(s, visited)
                border = s.name in e.borders
                shapes.append(
                    FreeShape(
                        name=name,
                        element=i,
                        shape=s.name,
                        unit=s.unit,
                        value=float(np.clip(s.value, low, high)),
                        low=float(low),
                        high=float(high),
                        logarithmic=not border and low > 0,
                        most=_LONGEST[s.unit] if border else _LONGEST_LOG,
                    )
                )
    return tuple(shapes), tuple(untold)


def _visited(e: Element, k: Kinematics, memory: dict[tuple[str, ...], tuple[float, float]]) -> tuple[float, float]:
    """The quantiles of what an element visited; NaN where that is too little, infinite where it does not matter."""
    if not e.sees:
        return float("-inf"), float("inf")
    key = (e.type, *e.sees)
    if key not in memory:
        at, tails = e.visited(k)
        low, high = np.quantile(at, tails) if len(at) >= FEWEST else (np.nan, np.nan)
        memory[key] = float(low), float(high)
    return memory[key]


def start_of(free: Sequence[FreeShape], values: Mapping[str, float] | None = None) -> FloatArray:
    """The values given, or the shapes' own, on the scale of the search."""
    given = dict[str, float]() if values is None else values
    return np.array([f.to_search(float(np.clip(given.get(f.name, f.value), f.low, f.high))) for f in free])


def ends_of(free: Sequence[FreeShape]) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest on the scale of the search."""
    return np.array([f.to_search(f.low) for f in free]), np.array([f.to_search(f.high) for f in free])


def search_grid(
    projection: Projection, start: FloatArray, *, grid: tuple[int, int, int] = GRID, sweeps: int = 3
) -> FloatArray:
    """The best cell of a coarse grid, element by element until nothing changes: borders have local minima."""
    u = start.copy()
    cells = {i: _cells(projection.free, i, start, grid) for i in projection.moved}
    blocks = {i: _blocks(projection, i, cells[i], start) for i in projection.moved}
    chosen = dict.fromkeys(projection.moved, -1)
    for _ in range(sweeps if len(projection.moved) > 1 else 1):
        before = dict(chosen)
        for i in projection.moved:
            chosen[i] = int(np.argmin(_costs(projection, u, i, blocks[i])))
            u[_of_element(projection.free, i)] = cells[i][chosen[i]]
        if chosen == before:
            break
    return u


def _of_element(free: Sequence[FreeShape], element: int) -> list[int]:
    return [n for n, f in enumerate(free) if f.element == element]


def _cells(free: Sequence[FreeShape], element: int, start: FloatArray, grid: tuple[int, int, int]) -> FloatArray:
    """(cells, shapes of the element), with the start among them."""
    mine = _of_element(free, element)
    borders = sum(not free[n].logarithmic for n in mine)
    axes = list[FloatArray]()
    for n in mine:
        low, high = ends_of([free[n]])
        count = max(5, int(grid[0] / borders)) if not free[n].logarithmic else grid[1 if len(mine) > 1 else 2]
        axes.append(np.linspace(float(low[0]), float(high[0]), count + 2, dtype=float)[1:-1])
    return np.array([start[mine], *product(*axes)])


def _blocks(projection: Projection, element: int, cells: FloatArray, start: FloatArray) -> FloatArray:
    """The element's columns in each cell, (cells, columns, rows)."""
    mine, u = _of_element(projection.free, element), start.copy()
    blocks: list[FloatArray] = []
    for cell in cells:
        u[mine] = cell
        blocks.append(projection.rows.columns(projection.model.elements[element], projection.shapes(u, element)))
    return np.array(blocks)


def _costs(projection: Projection, u: FloatArray, element: int, blocks: FloatArray) -> FloatArray:
    """The cost in each cell of one element, all others at u."""
    rows, model = projection.rows, projection.model
    others = [
        rows.columns(model.elements[i], projection.shapes(u, i)) if i != element else blocks[0]
        for i in projection.moved
    ]
    begin = sum(len(o) for o, i in zip(others, projection.moved, strict=True) if i < element)
    at = slice(begin, begin + blocks.shape[1])
    still = np.concatenate(others)
    inner = np.tile(still @ still.T, (len(blocks), 1, 1))
    cross = np.tile(still @ projection.fixed.T, (len(blocks), 1, 1))
    with_y = np.tile(still @ rows.y[0], (len(blocks), 1))
    beside = blocks @ still.T
    inner[:, at, :], inner[:, :, at] = beside, beside.swapaxes(1, 2)
    inner[:, at, at] = blocks @ blocks.swapaxes(1, 2)
    cross[:, at], with_y[:, at] = blocks @ projection.fixed.T, blocks @ rows.y[0]
    return solve_positive(projection.assembled(cross, inner, with_y), projection.positive)[1]


def polish(projection: Projection, start: Trial, of: Sequence[int], *, negligible: float, steps: int = 15) -> Trial:
    """Gauss-Newton on the projected cost (Kaufman 1975), damped and within the limits, until nothing is to be gained.

    `of` says which shapes move; `negligible` is a fall of the cost that means nothing.
    """
    if not of:
        return start
    low, high = ends_of([projection.free[i] for i in of])
    most = np.array([projection.free[i].most for i in of])
    trial, mu = start, 1e-3
    for _ in range(steps):
        H, g = normal_equations(projection, trial, of)
        here = trial.u[list(of)]
        better = None
        for _ in range(6):
            move = bounded_step(H, g, mu, np.maximum(low - here, -most), np.minimum(high - here, most))
            if 2 * g @ move - move @ H @ move <= negligible:
                return trial
            u = trial.u.copy()
            u[list(of)] = here + move
            attempt = projection.at(u)
            if attempt.cost < trial.cost:
                better = attempt
                break
            mu = max(8 * mu, 1e-2)
        if better is None:
            return trial
        settled = trial.cost - better.cost <= negligible
        trial, mu = better, mu / 8
        if settled:
            return trial
    return trial


def normal_equations(projection: Projection, trial: Trial, of: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """Half the Hessian and half the downhill slope of the projected cost in some shapes."""
    d = projection.slopes(trial, of)
    held = (trial.p != 0) | ~projection.positive
    f = len(projection.fixed)
    cross = np.concatenate([d @ projection.fixed.T, d @ trial.moving.T], axis=1)[:, held]
    inner = trial.gram[:-1, :-1][np.ix_(held, held)]
    scale = np.sqrt(np.maximum(np.diag(inner), 1e-300))
    scaled = cross / scale
    H = d @ d.T - scaled @ symmetric_solve(inner / scale[:, None] / scale + 1e-12 * np.eye(len(inner)), scaled.T)
    with_y = d @ projection.rows.y[0]
    return H, with_y - d @ projection.fixed.T @ trial.p[:f] - d @ trial.moving.T @ trial.p[f:]


def bounded_step(H: FloatArray, g: FloatArray, mu: float, low: FloatArray, high: FloatArray) -> FloatArray:
    """The damped step, with those that would leave their box held at its side, one after the other."""
    move = np.zeros(len(g))
    diagonal = np.diag(H)
    inside = np.ones(len(g), dtype=bool)
    damped = H + np.diag(mu * diagonal + 1e-12 * max(float(diagonal.max(initial=0.0)), 1e-300))
    for _ in range(len(g)):
        rest = g[inside] - damped[np.ix_(inside, ~inside)] @ move[~inside]
        move[inside] = symmetric_solve(damped[np.ix_(inside, inside)], rest)
        beyond = inside & ((move < low) | (move > high))
        if not beyond.any():
            break
        move = np.clip(move, low, high)
        inside &= ~beyond
        if not inside.any():
            break
    return np.clip(move, low, high)
