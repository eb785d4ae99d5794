"""Shapes of a model - zone borders and widths, a Stribeck speed - found by variable projection, each with its profile.

    shaped = fit_shapes(balance, segments)
    solution = solve(compress(replace(balance, model=shaped.model), segments))

The linear parameters' covariance is then conditional on the shapes: Cov p += dp_dz Cov z dp_dz' (`Shaped.widening`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from palpate.elements import Shape
from palpate.errors import PalpateError, UnknownName
from palpate.identify.balance import Balance, Segment
from palpate.identify.profiles import Profile, Spread, flat, judge, spread, unknown, walk
from palpate.identify.projection import Projection, Trial, project, solve_positive
from palpate.identify.rows import Rows, stack_rows
from palpate.identify.shape_search import ends_of, free_shapes, polish, search_grid, start_of
from palpate.model import Model
from palpate.physics.arrays import FloatArray

COARSE_ROWS = 3000
"""About so many rows serve the coarse grid."""
NOTHING = 1e-2
"""A fall of the cost by less than this share of one row's mean square means nothing."""
_RESTARTS = 2


@dataclass(frozen=True, slots=True, eq=False)
class Shaped:
    """A model with the shapes that the data ask for."""

    model: Model
    """With the shapes found, without values; shapes that are not in the data have the best value all the same, those
    of zones never visited stay as given.
    """
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
    def told(self) -> tuple[str, ...]:
        """What a person should know."""
        return tuple(p.told for p in self.profiles if p.told)

    def __getitem__(self, name: str) -> Profile:
        """A profile by the shape's name."""
        found = {p.name: p for p in self.profiles}
        if name not in found:
            raise UnknownName("free shape", name, found)
        return found[name]


@dataclass(frozen=True, slots=True, eq=False)
class ShapeMap:
    """The cost over two shapes, a picture of how well they are known together."""

    names: tuple[str, str]
    units: tuple[str, str]
    first: FloatArray
    second: FloatArray
    costs: FloatArray
    """(first, second): weighted sum of squares, linear parameters refitted, other shapes as in the model."""


def with_shapes(model: Model, values: Mapping[str, float]) -> Model:
    """The same model with other shapes, by the model's names (`Model.shapes`), SI."""
    for name in values:
        if name not in model.shapes:
            raise UnknownName("shape", name, model.shapes, where=f"model {model.name!r}")
    names = iter(model.shapes)
    elements: list[Any] = []
    for e in model.elements:
        own = {s.name: next(names) for s in e.shapes}
        new = {field: float(values[name]) for field, name in own.items() if name in values}
        elements.append(replace(cast("Any", e), **new) if new else e)
    return replace(model, elements=tuple(elements))


def fit_shapes(
    balance: Balance,
    segments: Sequence[Segment],
    *,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    held: Collection[str] = (),
    profiles: bool = True,
) -> Shaped:
    """Find all free shapes of the balance's model, and how well the segments know them.

    `bounds` (SI, by the model's names) replace the usual limits: angles visited for borders, 0.3 to 10 deg for
    widths. Shapes that are `held` stay as they are. Without `profiles` there are no intervals, and the covariance is
    that of the linearised fit.
    """
    rows = stack_rows(balance, segments)
    model = replace(balance.model, values={})
    _check_bounds(model, bounds)
    free, untold = free_shapes(model, rows.visited, bounds, held=held)
    projection = project(rows, model, free)
    best = _find(projection, stack_rows(balance, segments, most=COARSE_ROWS))
    noise = spread(projection, best) if free else None
    found: list[Profile] = []
    if noise is not None and profiles:
        found, best, noise = _profiles(projection, best, noise)
    reasons = dict(untold)
    own = {p.name: p for p in found}
    names = [name for name, s in _shapes(model) if s.free and name not in held] if profiles else []
    return Shaped(
        model=with_shapes(model, projection.values(best.u)),
        names=tuple(f.name for f in free),
        values=np.array(list(projection.values(best.u).values())),
        covariance=_covariance(projection, best, noise, found),
        p=projection.parameters(best.p),
        dp_dz=_sensitivity(projection, best, found),
        profiles=tuple(own[n] if n in own else _unknown(model, n, reasons[n]) for n in names),
        cost=best.cost,
    )


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


def map_shapes(
    balance: Balance,
    segments: Sequence[Segment],
    names: tuple[str, str],
    grid: tuple[Sequence[float] | FloatArray, Sequence[float] | FloatArray],
) -> ShapeMap:
    """The cost over a grid of two shapes (SI), for a picture; the other shapes are the model's.

    Columns depend on the shapes of their own element only: for two elements, n + m builds serve n x m cells.
    """
    rows = stack_rows(balance, segments)
    shapes = dict(_shapes(balance.model))
    for name in names:
        if name not in shapes:
            raise UnknownName("shape", name, shapes, where=f"model {balance.model.name!r}")
    one, two = (np.asarray(g, dtype=float) for g in grid)
    (a, own_a), (b, own_b) = (_owner(balance.model, name) for name in names)
    projection = project(rows, balance.model, (), moved=(a, b))

    def columns(element: int, **new: float) -> FloatArray:
        e = balance.model.elements[element]
        return rows.columns(e, {**{s.name: s.value for s in e.shapes}, **new})

    if a == b:
        blocks = np.array([columns(a, **{own_a: x, own_b: v}) for x in one for v in two])
        own, cross = blocks @ blocks.swapaxes(1, 2), blocks @ projection.fixed.T
        grams = projection.assembled(cross, own, blocks @ rows.y[0])
    else:
        grams = _of_two(
            projection,
            np.array([columns(a, **{own_a: x}) for x in one]),
            np.array([columns(b, **{own_b: v}) for v in two]),
            first_before=a < b,
        )
    costs = solve_positive(grams, projection.positive)[1].reshape(len(one), len(two))
    return ShapeMap(names, (shapes[names[0]].unit, shapes[names[1]].unit), one, two, costs)


def _of_two(projection: Projection, A: FloatArray, B: FloatArray, *, first_before: bool) -> FloatArray:
    """X'X for each pair of blocks of two elements: (n, m, columns, columns)."""
    n, m, k, l = len(A), len(B), A.shape[1], B.shape[1]
    flat_a, flat_b = A.reshape(n * k, -1), B.reshape(m * l, -1)
    mixed = (flat_a @ flat_b.T).reshape(n, k, m, l).transpose(0, 2, 1, 3)
    at_a, at_b = (slice(0, k), slice(k, k + l)) if first_before else (slice(l, l + k), slice(0, l))
    own = np.empty((n, m, k + l, k + l))
    own[..., at_a, at_a], own[..., at_b, at_b] = (A @ A.swapaxes(1, 2))[:, None], B @ B.swapaxes(1, 2)
    own[..., at_a, at_b], own[..., at_b, at_a] = mixed, mixed.swapaxes(2, 3)
    cross, with_y = np.empty((n, m, k + l, len(projection.fixed))), np.empty((n, m, k + l))
    cross[..., at_a, :], cross[..., at_b, :] = (A @ projection.fixed.T)[:, None], B @ projection.fixed.T
    with_y[..., at_a], with_y[..., at_b] = (A @ projection.rows.y[0])[:, None], B @ projection.rows.y[0]
    return projection.assembled(cross, own, with_y)


def _profiles(projection: Projection, best: Trial, noise: Spread) -> tuple[list[Profile], Trial, Spread]:
    """Walk along every shape; begin again where a walk finds something better than the best."""
    floor = _nothing(projection, best)
    for attempt in range(_RESTARTS + 1):
        found: list[Profile] = []
        for i, f in enumerate(projection.free):
            if noise.dead[i]:
                found.append(flat(f, f"{f.name} is not in the data: its damper comes out as nothing"))
                continue
            trials, lowest = walk(projection, best, i, noise, floor=floor)
            if lowest.cost < best.cost - floor and attempt < _RESTARTS:
                best = polish(projection, lowest, range(len(projection.free)), negligible=floor)
                noise = spread(projection, best)
                break
            found.append(judge(f, i, trials, best, noise))
        if len(found) == len(projection.free):
            return found, best, noise
    raise AssertionError


def _covariance(projection: Projection, best: Trial, noise: Spread | None, found: list[Profile]) -> FloatArray:
    """Correlations of the linearised fit, as wide as the profiles say (as the linearised fit, where there are none)."""
    if noise is None:
        return np.empty((0, 0))
    std_u = np.sqrt(np.maximum(np.diag(noise.covariance), 1e-300))
    correlation = noise.covariance / std_u[:, None] / std_u
    if found:
        std = np.array([(p.hull[1] - p.hull[0]) / 2 / noise.critical for p in found])
        unknown = np.array([len(p.reaches) == 2 for p in found])
        correlation = np.where(unknown[:, None] | unknown, np.eye(len(std)), correlation)
    else:
        low, high = ends_of(projection.free)
        value = np.array(list(projection.values(best.u).values()))
        logarithmic = np.array([f.logarithmic for f in projection.free])
        std = np.minimum(std_u, high - low) * np.where(logarithmic, value, 1.0)
    return correlation * std[:, None] * std


def _sensitivity(projection: Projection, best: Trial, found: list[Profile]) -> FloatArray:
    """dp / dz by differences as long as half of what the data leave open to either side."""
    columns: list[FloatArray] = []
    for i, f in enumerate(projection.free):
        value = f.to_value(float(best.u[i]))
        low, high = found[i].hull if found else (0.999 * value, 1.001 * value)
        ends = [f.to_value(f.to_search(max(x, f.low))) for x in ((value + low) / 2, (value + high) / 2)]
        p: list[FloatArray] = []
        for end in ends:
            u = best.u.copy()
            u[i] = f.to_search(end)
            p.append(projection.parameters(projection.at(u).p))
        columns.append((p[1] - p[0]) / max(ends[1] - ends[0], 1e-300))
    return np.array(columns).T.reshape(len(projection.order), len(projection.free))


def _nothing(projection: Projection, trial: Trial) -> float:
    return NOTHING * trial.cost / projection.rows.y.shape[1]


def _shapes(model: Model) -> list[tuple[str, Shape]]:
    return list(zip(model.shapes, (s for e in model.elements for s in e.shapes), strict=True))


def _owner(model: Model, name: str) -> tuple[int, str]:
    """The element that has this shape, and its own name for it."""
    places = [(i, s.name) for i, e in enumerate(model.elements) for s in e.shapes]
    return dict(zip(model.shapes, places, strict=True))[name]


def _unknown(model: Model, name: str, reason: str) -> Profile:
    s = dict(_shapes(model))[name]
    return unknown(name, s.unit, s.value, f"{name} stays as given: {reason}")


def _check_bounds(model: Model, bounds: Mapping[str, tuple[float, float]] | None) -> None:
    for name, (low, high) in (dict[str, tuple[float, float]]() if bounds is None else bounds).items():
        if name not in model.shapes:
            raise UnknownName("shape", name, model.shapes, where="bounds")
        if not low < high or not np.isfinite((low, high)).all():
            raise PalpateError(f"bounds of {name}: the lowest must be below the highest, not {low:g} to {high:g}")
