"""Shapes of a model - zone borders and widths, a Stribeck speed - by variable projection, each with its profile.

    shaped = fit_shapes(balance, segments)
    solution = solve(compress(replace(balance, model=shaped.model), segments))

Variable projection has a few nonlinear shapes outside, all linear parameters inside (Golub & Pereyra 1973). Columns
that no free shape touches are built once; only the others are built again for each trial. The linear parameters'
covariance is then conditional on the shapes: Cov p += dp_dz Cov z dp_dz' (`Shaped.widening`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import exp, log
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from palpate.elements import Element
from palpate.errors import DataProblem, UnknownName
from palpate.findings import Finding
from palpate.identify.balance import Balance, Rows, Segment, stack_rows
from palpate.identify.problem import Problem, build_penalty, uncertainty
from palpate.model import Model
from palpate.physics.arrays import BoolArray, FloatArray, solve_columns, solve_positive, spread_each, triangular
from palpate.physics.functions import Scalar
from palpate.physics.maps import build_map
from palpate.physics.motion import Kinematics

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
_FIRST, _GROWTH = 0.6, 1.5
"""First step of a walk in standard deviations, and how steps grow while the fit is still as good."""
_FINE = 0.01
"""Share of a walk's rise that may be missing at each step."""
_ACROSS = 10
"""Steps from one limit to the other once the fit is clearly worse."""
COARSE_ROWS = 3000
"""About so many rows serve the coarse grid, and walks where ..."""
_FAR, _STRETCH = 100.0, 200
"""... they show a rise so many times as large as what noise makes: no other rows would make it none. They are of
stretches of so many samples, at least."""
NO_FALL = 1e-2
"""A fall of the cost by less than this share of one row's mean square means nothing."""
_RESTARTS = 2


@dataclass(frozen=True, slots=True)
class FreeShape:
    """One shape to estimate: of which element, between which limits, searched on which scale."""

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
        return log(value) if self.logarithmic else value

    def to_value(self, u: float) -> float:
        """Back, never beyond the limits."""
        return min(max(exp(u) if self.logarithmic else u, self.low), self.high)


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
    still: FloatArray
    """(columns + 1, rows): an orthonormal basis of the unconstrained ones first, then positive ones, then y."""
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

    @property
    def fixed(self) -> FloatArray:
        """(columns, rows) that no free shape touches."""
        return self.still[:-1]

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

    def at(self, u: FloatArray, beside: Trial | None = None) -> Trial:
        """The linear fit there; an element whose shapes are those of the trial `beside` keeps its columns."""
        raws, lows, end = list[FloatArray](), [np.empty((0, self.rows.y.shape[1]))], 0
        for n, (i, part) in enumerate(self.parts.items()):
            mine = [at for at, f in enumerate(self.free) if f.element == i]
            if beside is not None and np.array_equal(u[mine], beside.u[mine]):
                raw = beside.raw[n]
                low = beside.moving[end : end + len(raw)]
            else:
                raw = self.rows.raw(part, self.shapes(u, i))
                low = self.rows.passed(raw)
            raws.append(raw)
            lows.append(low)
            end += len(raw)
        moving = np.concatenate(lows)
        gram, p, cost = self.fit(moving)
        return Trial(u, p, float(cost), gram, moving, tuple(raws))

    def fit(self, moving: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """X'X of [fixed, moving, y] for these moving columns, and the linear fit: its parameters and its cost.

        moving: (..., columns, rows), for a whole stack of trials at once.
        """
        f, m, cross = len(self.fixed), moving.shape[-2], moving @ self.still.T
        gram = np.empty((*moving.shape[:-2], f + m + 1, f + m + 1))
        gram[..., :f, :f], gram[..., -1, -1] = self.inner[:f, :f], self.inner[f, f]
        gram[..., :f, -1] = gram[..., -1, :f] = self.inner[:f, f]
        gram[..., f:-1, :f], gram[..., f:-1, -1] = cross[..., :f], cross[..., f]
        gram[..., :f, f:-1], gram[..., -1, f:-1] = cross[..., :f].swapaxes(-1, -2), cross[..., f]
        gram[..., f:-1, f:-1] = moving @ moving.swapaxes(-1, -2)
        return gram, *solve_positive(gram, self.positive)

    def slopes(self, trial: Trial, of: Sequence[int]) -> FloatArray:
        """d (Y p) / du at constant p for some of the shapes, (shapes, rows)."""
        if not of:
            return np.empty((0, self.rows.y.shape[1]))
        ends = np.cumsum([len(self.fixed), *(len(raw) for raw in trial.raw)])
        slopes: list[FloatArray] = []
        for i in of:
            at = self.moved.index(self.free[i].element)
            change = self.change(self.rows, trial.u, i, trial.raw[at])
            slopes.append(np.tensordot(trial.p[ends[at] : ends[at + 1]], change, axes=1))
        return self.rows.passed(np.array(slopes))

    def change(self, rows: Rows, u: FloatArray, i: int, raw: FloatArray) -> FloatArray:
        """d (raw columns) / du of the element that free shape i belongs to, by differences."""
        free, there = self.free[i], u.copy()
        there[i] += _DIFFERENCE if free.to_value(u[i] + _DIFFERENCE) < free.high else -_DIFFERENCE
        return (rows.raw(self.parts[free.element], self.shapes(there, free.element)) - raw) / (there[i] - u[i])

    def residual(self, trial: Trial) -> FloatArray:
        """Y - Y p of each row."""
        f = len(self.fixed)
        return self.rows.y[0] - trial.p[:f] @ self.fixed - trial.p[f:] @ trial.moving


def project(
    rows: Rows,
    model: Model,
    free: tuple[FreeShape, ...],
    *,
    kept: Callable[[Element], FloatArray] | None = None,
) -> Projection:
    """Set up the projection of a model; `kept` may give columns without free shapes that exist already."""
    moved = tuple(sorted({f.element for f in free}))
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
    is_positive = [p.map == "positive" for p in model.parameters.values()]
    X = np.concatenate([np.empty((0, rows.y.shape[1])), *columns])
    positive = np.array([is_positive[i] for i in fixed], dtype=bool)
    basis, from_basis = _basis(X[~positive])
    still = np.concatenate([basis, X[positive], rows.y])
    at = np.array(fixed, dtype=np.int64)
    return Projection(
        rows=rows,
        model=model,
        free=free,
        still=still,
        order=np.concatenate([at[~positive], at[positive], np.array(moving, dtype=np.int64)]),
        positive=np.array([False] * len(basis) + [True] * int(positive.sum()) + [is_positive[i] for i in moving]),
        from_basis=from_basis,
        moved=moved,
        inner=still @ still.T,
        parts={i: rows.alone(model.elements[i]) for i in moved},
    )


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
    *,
    held: Collection[str] = (),
    memory: dict[tuple[str, ...], tuple[float, float]] | None = None,
) -> tuple[tuple[FreeShape, ...], tuple[tuple[str, str], ...]]:
    """The free shapes with their limits, and those that the motion does not show, each with the reason.

    Shapes that are `held` stay as they are. `memory` keeps what was visited for the next model.
    """
    memory = {} if memory is None else memory
    shapes: list[FreeShape] = []
    unknown: list[tuple[str, str]] = []
    names = iter(model.shapes)
    for i, e in enumerate(model.elements):
        named = [(next(names), s) for s in e.shapes]
        free = [(name, s) for name, s in named if s.free and name not in held]
        visited = _visited(e, k, memory) if free else (0.0, 0.0)
        reason = e.unseen(visited) if free else ""
        for name, s in free:
            if reason:
                unknown.append((name, reason))
            else:
                low, high = e.limits(s, visited)
                border = s.name in e.borders
                shapes.append(
                    FreeShape(
                        name=name,
                        element=i,
                        shape=s.name,
                        unit=s.unit,
                        value=float(min(max(s.value, low), high)),
                        low=float(low),
                        high=float(high),
                        logarithmic=not border and low > 0,
                        most=_LONGEST[s.unit] if border else _LONGEST_LOG,
                    )
                )
    return tuple(shapes), tuple(unknown)


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
    return np.array([f.to_search(min(max(given.get(f.name, f.value), f.low), f.high)) for f in free])


def ends_of(free: Sequence[FreeShape]) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest on the scale of the search."""
    return np.array([f.to_search(f.low) for f in free]), np.array([f.to_search(f.high) for f in free])


def search_grid(projection: Projection, start: FloatArray, *, grid: tuple[int, int, int] = GRID) -> FloatArray:
    """The best cell of a coarse grid, element by element until nothing changes: borders have local minima."""
    u, elements = start.copy(), projection.model.elements
    mine = {i: [n for n, f in enumerate(projection.free) if f.element == i] for i in projection.moved}
    cells = {i: _cells([projection.free[n] for n in mine[i]], start[mine[i]], grid) for i in projection.moved}
    blocks: dict[int, FloatArray] = {}
    for i, of_element in cells.items():
        columns = list[FloatArray]()
        for cell in of_element:
            u[mine[i]] = cell
            columns.append(projection.rows.columns(elements[i], projection.shapes(u, i)))
        blocks[i] = np.array(columns)
    chosen = dict.fromkeys(projection.moved, 0)  # where it starts
    for _ in range(3 if len(chosen) > 1 else 1):
        before = dict(chosen)
        for i in chosen:
            kept = {j: np.broadcast_to(blocks[j][n], (len(cells[i]), *blocks[j].shape[1:])) for j, n in chosen.items()}
            trials = np.concatenate(list((kept | {i: blocks[i]}).values()), axis=1)
            chosen[i] = int(np.argmin(projection.fit(trials)[2]))
        if chosen == before:
            break
    for i, n in chosen.items():
        u[mine[i]] = cells[i][n]
    return u


def _cells(free: Sequence[FreeShape], start: FloatArray, grid: tuple[int, int, int]) -> FloatArray:
    """(cells, shapes) of one element, the start first."""
    borders = sum(not f.logarithmic for f in free)
    axes = list[FloatArray]()
    for f in free:
        count = max(5, int(grid[0] / borders)) if not f.logarithmic else grid[1 if len(free) > 1 else 2]
        axes.append(np.linspace(f.to_search(f.low), f.to_search(f.high), count + 2, dtype=float)[1:-1])
    return np.array([start, *product(*axes)])


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
        better, fall = None, 0.0
        for _ in range(6):
            move = bounded_step(H, g, mu, np.maximum(low - here, -most), np.minimum(high - here, most))
            fall = float(2 * g @ move - move @ H @ move)
            if fall <= negligible:
                return trial
            u = trial.u.copy()
            u[list(of)] = here + move
            attempt = projection.at(u, trial)
            if attempt.cost < trial.cost:
                better = attempt
                break
            mu = max(8 * mu, 1e-2)
        if better is None:
            return trial
        # what the next step would gain is what this one's parabola did not know
        settled = min(trial.cost - better.cost, abs(trial.cost - better.cost - fall)) <= negligible
        trial, mu = better, mu / 8
        if settled:
            return trial
    return trial


def normal_equations(projection: Projection, trial: Trial, of: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """Half the Hessian and half the downhill slope of the projected cost in some shapes."""
    d = projection.slopes(trial, of)
    held = (trial.p != 0) | ~projection.positive
    with_still = d @ projection.still.T  # fixed columns, then y
    columns = np.concatenate([with_still[:, :-1], d @ trial.moving.T], axis=1)
    cross = columns[:, held]
    inner = trial.gram[:-1, :-1][np.ix_(held, held)]
    scale = np.sqrt(np.maximum(np.diag(inner), 1e-300))
    scaled = cross / scale
    H = d @ d.T - scaled @ solve_columns(inner / scale[:, None] / scale + 1e-12 * np.eye(len(inner)), scaled.T)
    return H, with_still[:, -1] - columns @ trial.p


def bounded_step(H: FloatArray, g: FloatArray, mu: float, low: FloatArray, high: FloatArray) -> FloatArray:
    """The damped step, with those that would leave their box held at its side, one after the other."""
    move = np.zeros(len(g))
    diagonal = np.diag(H)
    inside = np.ones(len(g), dtype=bool)
    damped = H + np.diag(mu * diagonal + 1e-12 * max(float(diagonal.max(initial=0.0)), 1e-300))
    for _ in range(len(g)):
        rest = g[inside] - damped[np.ix_(inside, ~inside)] @ move[~inside]
        move[inside] = solve_columns(damped[np.ix_(inside, inside)], rest)
        beyond = inside & ((move < low) | (move > high))
        if not beyond.any():
            break
        move = np.clip(move, low, high)
        inside &= ~beyond
        if not inside.any():
            break
    return np.clip(move, low, high)


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """One shape: its value, what the data say about it, and the curve that shows it.

    A border or width that could as well lie at one of its limits is not in the data: `interval` is None then, and
    `reaches` says at which ends the curve stays below the threshold.
    """

    name: str
    unit: str
    value: float
    limits: tuple[float, float]
    """Between which it was looked for: visited angles, say."""
    values: FloatArray
    """Increasing."""
    costs: FloatArray
    """Excess of the weighted sum of squares over the best, all else refitted, in units of the 95 % threshold."""
    hull: tuple[float, float]
    """Everything below the threshold lies between these."""
    interval: tuple[float, float] | None
    """95 %."""
    reaches: tuple[str, ...]
    """Of "low" and "high"."""
    message: str
    """What a person should know; empty if the data know the shape."""

    def moved(self, by: float) -> Profile:
        """The same about another value."""
        interval = None if self.interval is None else (self.interval[0] + by, self.interval[1] + by)
        hull = self.hull[0] + by, self.hull[1] + by
        return replace(self, value=self.value + by, values=self.values + by, hull=hull, interval=interval)

    def held_at(self, value: float) -> Profile:
        """The same, with the shape left as it was given."""
        stays = f"{self.message}; it stays as given, {_shown(value, self.unit)}" if self.message else ""
        return replace(self, value=value, message=stays)


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Noise of the shapes about the best fit, correlated as residuals are."""

    covariance: FloatArray
    """Sandwich, on the scale of the search."""
    rise: FloatArray
    """How much the cost may rise along a profile in 95 % of cases: critical^2 times sandwich over naive variance."""
    critical: float
    enough: bool
    """Whether pieces were enough to know the noise."""
    dead: tuple[bool, ...]
    """Shapes that do nothing here: their coefficient is zero."""


def spread(projection: Projection, best: Trial) -> Spread:
    """Of shapes and parameters together: the sandwich over pieces, or noise that is alike everywhere if that is more.

    A border shows only while it is crossed, a dozen times perhaps: too few for the scatter of its scores alone.
    """
    n = len(projection.free)
    d = projection.slopes(best, range(n))
    held = (best.p != 0) | ~projection.positive
    X = np.concatenate([np.concatenate([projection.fixed, best.moving])[held], d])
    r = projection.residual(best)
    map_ = build_map(["free"] * len(X))
    problem = Problem(triangular(np.concatenate([X, r[None]]).T), map_, build_penalty(None, (), map_), 0.0)
    by_piece = projection.rows.by_piece
    unsure = uncertainty(by_piece(X * r).T, lambda v: by_piece((v.T @ X) ** 2).T, problem, np.zeros(len(X)))
    white = unsure.whiten[len(X) - n :]
    covariance = white @ unsure.noise @ white.T
    naive = np.maximum(np.sum(white**2, axis=1), 1e-300)
    alike = _stationary((white @ unsure.whiten.T) @ X, r)
    more = np.sqrt(np.maximum(alike / np.maximum(np.diag(covariance), 1e-300), 1.0))
    covariance = covariance * more[:, None] * more
    dead = tuple(bool(s <= 1e-9 * np.sqrt(best.gram[-1, -1])) for s in np.linalg.norm(d, axis=1))
    rise = unsure.critical**2 * np.diag(covariance) / naive
    return Spread(covariance, rise, unsure.critical, unsure.enough, dead)


def _stationary(influence: FloatArray, r: FloatArray) -> FloatArray:
    """Variances of sums of influence (k, rows) times noise with the autocorrelation of r, Bartlett's weights."""
    n = len(r)
    size = 1 << int(np.ceil(np.log2(2 * n)))
    lags = max(1, int(0.05 * n))  # over so many rows noise may be correlated

    def correlation(x: FloatArray) -> FloatArray:
        return np.fft.irfft(np.abs(np.fft.rfft(x, size)) ** 2, size)[..., :lags]

    weights = (1 - np.arange(lags) / lags) * np.where(np.arange(lags) > 0, 2.0, 1.0)
    return correlation(influence) @ (weights * correlation(r) / n)


def walk(
    projection: Projection, rough: Projection, best: Trial, i: int, noise: Spread, *, floor: float
) -> tuple[list[Trial], Trial]:
    """Trials along one shape from limit to limit, the others polished at each; and the best of all.

    rough: on fewer rows, by which trials are made that are far worse. `floor`: a change of the cost that means nothing.
    """
    low, high = (float(e[0]) for e in ends_of([projection.free[i]]))
    others = [j for j in range(len(projection.free)) if j != i]
    rise = max(float(noise.rise[i]), floor)
    first = _FIRST * float(np.sqrt(max(noise.covariance[i, i], 0.0)))
    first = float(np.clip(first, 1e-4 * (high - low), (high - low) / _ACROSS))
    trials, base, share = [best], rough.at(best.u), rough.rows.y.shape[1] / projection.rows.y.shape[1]

    def made(on: Projection, u: FloatArray, beside: Trial | None, least: float, rise: float) -> Trial:
        there = on.at(u, beside)
        return polish(on, there, others, negligible=_FINE * max(rise, there.cost - least), steps=4)

    for side in (-1.0, 1.0):
        trial, beside, step = best, best, first
        end = low if side < 0 else high
        while side * (end - trial.u[i]) > 1e-9 * (high - low):
            u = trial.u.copy()
            left = side * (end - u[i])
            u[i] = end if left < 1.3 * step else u[i] + side * step
            excess = 0.0
            if share < 1 and trial.cost - best.cost >= rise:
                trial = made(rough, u, None, base.cost, share * rise)
                excess = (trial.cost - base.cost) / share
            if excess > _FAR * rise:
                trial = replace(trial, cost=best.cost + excess)
            else:
                trial = beside = made(projection, u, beside, best.cost, rise)
            trials.append(trial)
            step = _GROWTH * step if trial.cost - best.cost < rise else max(step, (high - low) / _ACROSS)
    return trials, min(trials, key=lambda t: t.cost)


def judge(free: FreeShape, i: int, trials: list[Trial], best: Trial, noise: Spread) -> Profile:
    """Read interval and verdict off the trials of a walk."""
    trials = sorted(trials, key=lambda t: float(t.u[i]))
    u = np.array([t.u[i] for t in trials])
    rise = max(float(noise.rise[i]), 1e-300)
    excess = np.array([max(t.cost - best.cost, 0.0) for t in trials]) / rise
    below = np.flatnonzero(excess <= 1.0)
    first, last = int(below[0]), int(below[-1])
    low = u[0] if first == 0 else _crossing(u[first], u[first - 1], excess[first], excess[first - 1])
    high = u[-1] if last == len(u) - 1 else _crossing(u[last], u[last + 1], excess[last], excess[last + 1])
    reaches = tuple(end for end, at in (("low", first == 0), ("high", last == len(u) - 1)) if at)
    hull = (free.to_value(float(low)), free.to_value(float(high)))
    closed = noise.enough and not reaches
    return Profile(
        name=free.name,
        unit=free.unit,
        value=free.to_value(float(best.u[i])),
        limits=(free.low, free.high),
        values=np.array([free.to_value(float(v)) for v in u]),
        costs=excess,
        hull=hull,
        interval=hull if closed else None,
        reaches=reaches,
        message="" if closed else _message(free, reaches, hull, noise.enough),
    )


def flat(name: str, unit: str, value: float, limits: tuple[float, float] | None, message: str) -> Profile:
    """The profile of a shape that changes nothing between its limits, or (None) was not looked for."""
    ends, hull = ((value,), (-np.inf, np.inf)) if limits is None else (limits, limits)
    return Profile(
        *(name, unit, value, limits or (value, value), np.array(ends), np.zeros(len(ends)), hull),
        interval=None,
        reaches=("low", "high"),
        message=message,
    )


def _crossing(inside: float, outside: float, a: float, b: float) -> float:
    """Where the excess is one: its root is nearly straight."""
    low, high = np.sqrt(a), np.sqrt(b)
    return float(inside + (outside - inside) * (1.0 - low) / max(high - low, 1e-300))


def _message(free: FreeShape, reaches: tuple[str, ...], hull: tuple[float, float], enough: bool) -> str:
    if not enough:
        return "the segments are too short to know the noise, so there is no interval"
    low, high = (_shown(v, free.unit) for v in hull)
    if len(reaches) == 2:
        return f"it is not in the data: anything from {low} to {high} fits as well"
    return f"the data show only a limit: {f'at most {high}' if reaches == ('low',) else f'at least {low}'}"


def _shown(value: float, unit: str) -> str:
    return f"{np.degrees(value):.3g} deg" if unit == "rad" else f"{value:.3g} {unit}"


@dataclass(frozen=True, slots=True, eq=False)
class Shaped:
    """A model with the shapes that the data ask for."""

    model: Model
    """With the best shapes, also where they are not in the data; of zones never visited as given. Without values."""
    names: tuple[str, ...]
    """Of the shapes that were estimated, as the model names them."""
    values: FloatArray
    """(shapes,), SI."""
    covariance: FloatArray
    """(shapes, shapes): as wide as the profiles, correlated as the scores over pieces are."""
    p: FloatArray
    """The linear parameters at the solution in the model's order: least squares with positive ones >= 0."""
    dp_dz: FloatArray
    """(parameters, shapes): how the linear parameters follow each shape, the others held."""
    profiles: tuple[Profile, ...]
    """One per free shape of the model, in its order."""
    cost: float
    """The weighted sum of squares at the solution."""

    @property
    def widening(self) -> FloatArray:
        """(parameters, parameters): what not knowing the shapes adds to the parameters' covariance."""
        return self.dp_dz @ self.covariance @ self.dp_dz.T

    @property
    def findings(self) -> tuple[Finding, ...]:
        """About shapes that are not in the data."""
        return tuple(Finding("shape", p.message, p.name) for p in self.profiles if p.message)

    def __getitem__(self, name: str) -> Profile:
        """A profile by the shape's name."""
        profiles = {p.name: p for p in self.profiles}
        if name not in profiles:
            raise UnknownName("free shape", name, profiles)
        return profiles[name]


def with_shapes(model: Model, values: Mapping[str, float]) -> Model:
    """The same model with other shapes, by the model's names (`Model.shapes`), SI."""
    for name in values:
        if name not in model.shapes:
            raise UnknownName("shape", name, model.shapes, where=f"model {model.name!r}")
    names = iter(model.shapes)
    elements: list[Any] = []
    for e in model.elements:
        names_of = {s.name: next(names) for s in e.shapes}
        new = {field: float(values[name]) for field, name in names_of.items() if name in values}
        elements.append(replace(cast("Any", e), **new) if new else e)
    return replace(model, elements=tuple(elements))


def fit_shapes(
    balance: Balance,
    segments: Sequence[Segment],
    *,
    held: Collection[str] = (),
    profiles: bool = True,
    near: Mapping[str, float] | None = None,
) -> Shaped:
    """Find all free shapes of the balance's model, and how well the segments know them.

    Shapes that are `held` stay as they are. Without `profiles` there are no intervals, and the covariance is that of
    the linearised fit. near: shapes by the model's names that are the best of nearly the same data.
    """
    rows = stack_rows(balance, segments)
    model = replace(balance.model, values={})
    free, unknown = free_shapes(model, rows.visited, held=held)
    projection = project(rows, model, free)
    if near is None:
        best = _find(projection, stack_rows(balance, segments, most=COARSE_ROWS))
    else:
        begin = projection.at(start_of(free, near))
        best = polish(projection, begin, range(len(free)), negligible=_nothing(projection, begin))
    noise = spread(projection, best) if free else None
    walked: list[Profile] = []
    if noise is not None and profiles:
        walked, best, noise = _profiles(projection, _rough(projection, balance, segments), best, noise)
    by_name = {p.name: p for p in walked}
    shapes = dict(zip(model.shapes, (s for e in model.elements for s in e.shapes), strict=True))
    for name, reason in unknown if profiles else ():
        s = shapes[name]
        by_name[name] = flat(name, s.unit, s.value, None, f"{name} stays as given: {reason}")
    return Shaped(
        model=with_shapes(model, projection.values(best.u)),
        names=tuple(f.name for f in free),
        values=np.array(list(projection.values(best.u).values())),
        covariance=_covariance(projection, best, noise, walked),
        p=projection.parameters(best.p),
        dp_dz=_sensitivity(projection, best, walked),
        profiles=tuple(by_name[name] for name in shapes if name in by_name),
        cost=best.cost,
    )


def _rough(projection: Projection, balance: Balance, segments: Sequence[Segment]) -> Projection:
    """The same on stretches of long segments, spread evenly: quicker than fewer rows of all, which need all samples."""
    whole, t = [balance.indices(s) for s in segments], balance.times_s
    taps = 1 if balance.lowpass is None else len(balance.lowpass.taps)
    spans = spread_each(whole, COARSE_ROWS * balance.step, max(_STRETCH, 8 * taps))
    parts = [(float(t[a]), float(t[b - 1])) for a, b in spans]
    try:
        return project(stack_rows(balance, parts), projection.model, projection.free)
    except DataProblem:  # none of them counts
        return projection


def _find(projection: Projection, coarse: Rows) -> Trial:
    """The best shapes: from the coarse grid and from where they are said to be, whichever ends lower."""
    begin = start_of(projection.free)
    first = projection.at(begin)
    if not projection.free:
        return first
    grid = search_grid(project(coarse, projection.model, projection.free), begin)
    both = range(len(projection.free))
    ends = [polish(projection, t, both, negligible=_nothing(projection, t)) for t in (projection.at(grid), first)]
    return min(ends, key=lambda t: t.cost)


def _profiles(
    projection: Projection, rough: Projection, best: Trial, noise: Spread
) -> tuple[list[Profile], Trial, Spread]:
    """Walk along every shape; begin again where a walk finds something better than the best."""
    floor = _nothing(projection, best)
    for attempt in range(_RESTARTS + 1):
        profiles: list[Profile] = []
        for i, f in enumerate(projection.free):
            if noise.dead[i]:
                nothing = f"{f.name} is not in the data: its damper comes out as zero"
                profiles.append(flat(f.name, f.unit, f.value, (f.low, f.high), nothing))
                continue
            trials, lowest = walk(projection, rough, best, i, noise, floor=floor)
            if lowest.cost < best.cost - floor and attempt < _RESTARTS:
                best = polish(projection, lowest, range(len(projection.free)), negligible=floor)
                noise = spread(projection, best)
                break
            profiles.append(judge(f, i, trials, best, noise))
        if len(profiles) == len(projection.free):
            return profiles, best, noise
    raise AssertionError


def _covariance(projection: Projection, best: Trial, noise: Spread | None, profiles: list[Profile]) -> FloatArray:
    """Correlations of the linearised fit, as wide as the profiles say (as the linearised fit, where there are none)."""
    if noise is None:
        return np.empty((0, 0))
    std_u = np.sqrt(np.maximum(np.diag(noise.covariance), 1e-300))
    correlation = noise.covariance / std_u[:, None] / std_u
    if profiles:
        std = np.array([(p.hull[1] - p.hull[0]) / 2 / noise.critical for p in profiles])
        unknown = np.array([len(p.reaches) == 2 for p in profiles])
        correlation = np.where(unknown[:, None] | unknown, np.eye(len(std)), correlation)
    else:
        low, high = ends_of(projection.free)
        value = np.array(list(projection.values(best.u).values()))
        logarithmic = np.array([f.logarithmic for f in projection.free])
        std = np.minimum(std_u, high - low) * np.where(logarithmic, value, 1.0)
    return correlation * std[:, None] * std


def _sensitivity(projection: Projection, best: Trial, profiles: list[Profile]) -> FloatArray:
    """dp / dz by differences as long as half of what the data leave open to either side."""
    columns: list[FloatArray] = []
    for i, f in enumerate(projection.free):
        value = f.to_value(float(best.u[i]))
        low, high = profiles[i].hull if profiles else (0.999 * value, 1.001 * value)
        ends = [f.to_value(f.to_search(max(x, f.low))) for x in ((value + low) / 2, (value + high) / 2)]
        p: list[FloatArray] = []
        for end in ends:
            u = best.u.copy()
            u[i] = f.to_search(end)
            p.append(projection.parameters(projection.at(u, best).p))
        columns.append((p[1] - p[0]) / max(ends[1] - ends[0], 1e-300))
    return np.array(columns).T.reshape(len(projection.order), len(projection.free))


def _nothing(projection: Projection, trial: Trial) -> float:
    return NO_FALL * trial.cost / projection.rows.y.shape[1]
