"""Variants of a model, ranked by cross-validation: which effects are in the data, and which only follow the noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import pi
from typing import TypeAlias

import numpy as np

from palpate.elements import Element, Hysteresis, Stribeck
from palpate.errors import DataProblem, PalpateError
from palpate.identify import shapes
from palpate.identify.balance import Balance, Rows, Segment, stack_rows
from palpate.model import Model
from palpate.physics.arrays import BoolArray, FloatArray, solve_positive
from palpate.physics.functions import ARRAYS

Span: TypeAlias = "slice[int, int]"
Fitted = tuple[dict[str, float], float, FloatArray]
"""Shapes, weighted sum of squares of the fit to all folds, and on each (folds,) when it is left out of the fit."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A model that may be the right one."""

    name: str
    model: Model

    @property
    def complexity(self) -> int:
        """Linear parameters and free shapes: how much it can follow."""
        return len(self.model.parameters) + sum(s.free for e in self.model.elements for s in e.shapes)


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """What became of a variant. Errors in the unit of the row with the largest weight (N m for a hinge)."""

    variant: Variant
    shapes: dict[str, float]
    """The free shapes as estimated, rad and rad/s."""
    rms: float
    """Of the fit to all data."""
    error: float
    """RMS on folds that the fit had not seen."""
    folds: FloatArray
    """Mean square on each fold, unseen."""
    behind: float
    """Mean square behind the best variant's, mean over folds, and ..."""
    behind_std: float
    """... its standard error, fold against fold."""
    as_good: bool
    """Whether it is within one standard error of the best."""

    @property
    def model(self) -> Model:
        """With its shapes, without values."""
        return shapes.with_shapes(replace(self.variant.model, values={}), self.shapes)


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Variants, the smallest error first. `print(ranking)` shows the table."""

    ranked: tuple[Ranked, ...]
    chosen: Ranked
    """The simplest within one standard error of the best (Hastie, Tibshirani & Friedman, 7.10)."""

    @property
    def best(self) -> Ranked:
        """The smallest error on unseen data."""
        return self.ranked[0]

    def __str__(self) -> str:
        """One line per variant."""
        wide = max(len(r.variant.name) for r in self.ranked)
        lines = [f"{'':{wide}}  {'unseen':>9}  {'fitted':>9}  {'numbers':>7}"]
        for r in self.ranked:
            mark = "  <- simplest as good as the best" if r is self.chosen else "  as good" if r.as_good else ""
            lines.append(f"{r.variant.name:{wide}}  {r.error:9.4g}  {r.rms:9.4g}  {r.variant.complexity:7d}{mark}")
        return "\n".join(lines)


def door_variants(model: Model, *, span: tuple[float, float] | None = None) -> list[Variant]:
    """Every combination of flow, hysteresis, Stribeck friction and spring order that the model's elements allow.

    A model without elements that choose a flow has none, one without spring no order. Hysteresis is a Coulomb level of
    second order over the spring's coordinate, `span` rad (by default where a door of 0 to 90 deg takes it).
    """
    springs = [e for e in model.elements if e.polynomial is not None]
    orders = {order for e in springs if e.polynomial for order in (*e.choices.get("order", ()), e.polynomial[1])}
    flows = next((e.choices["flow"] for e in model.elements if "flow" in e.choices), ("",))
    added = {Hysteresis.optional: lambda: _hysteresis(model, span), Stribeck.optional: lambda: _stribeck(model)}
    variants: list[Variant] = []
    for flow, hysteresis, stribeck, order in product(flows, (False, True), (False, True), sorted(orders) or [0]):
        chosen = {"flow": flow, "order": order}
        elements = [replace(e, **{o: chosen[o] for o in e.choices if o in chosen}) for e in model.elements]
        for word, wanted in zip(added, (hysteresis, stribeck), strict=True):
            elements = _with(elements, word, added[word]) if wanted else [e for e in elements if e.optional != word]
        parts = [flow, "hysteresis" if hysteresis else "", "Stribeck" if stribeck else ""]
        parts += [f"spring of order {order}"] if springs else []
        name = ", ".join(p for p in parts if p) or "plain"
        variants.append(Variant(name, replace(model, elements=tuple(elements), values={})))
    return variants


def _with(elements: list[Element], word: str, make: Callable[[], Element]) -> list[Element]:
    """With the elements of this word, their shapes free: those of the model, or a new one."""
    if any(e.optional == word for e in elements):
        return [e.estimating(True) if e.optional == word else e for e in elements]
    return [*elements, make()]


def _hysteresis(model: Model, span: tuple[float, float] | None) -> Hysteresis:
    on = next((e.acts_on for e in model.elements if e.polynomial is not None), "")
    on = on or next(iter(model.mechanism.coordinates))
    if span is None:
        state = [np.linspace(0.0, pi / 2, 91), *([0.0] * (len(model.mechanism.state) - 1))]
        k = model.mechanism.expand(state, [0.0] * len(model.mechanism.accelerations), ARRAYS)
        q = np.asarray(k.coordinates[on].position)
        span = (float(q.min()), float(q.max()))
    low, high = span
    return Hysteresis(_name("hysteresis", model), on, (low, (low + high) / 2, high), "polynomial")


def _stribeck(model: Model) -> Stribeck:
    on = next((e.acts_on for e in model.elements if e.constant == "friction"), "")
    return Stribeck(_name("b_st", model), on or next(iter(model.mechanism.coordinates)), estimate=True)


def _name(wanted: str, model: Model) -> str:
    taken = {e.name for e in model.elements}
    return next(n for n in (wanted, *(f"{wanted}_{i}" for i in range(2, 99))) if n not in taken)


def rank_variants(
    balance: Balance, variants: Sequence[Variant], segments: Sequence[Segment], *, folds: int = 10
) -> Ranking:
    """Fit each variant with its own zones, cross-validate over consecutive stretches, and choose.

    A variant's mean square on unseen data stands against the best one's, fold by fold. The folds' fits re-estimate the
    zones to first order.
    """
    if not variants:
        raise PalpateError("there are no variants to rank")
    rows = stack_rows(balance, segments)
    cut = rows.folds(folds)
    if len(cut) < 3:
        raise DataProblem("segments", "they are too short to be cut into folds", remedy="use longer ones")
    coarse = stack_rows(balance, segments, most=shapes.COARSE_ROWS)
    fits = _fit_variants(rows, coarse, variants, [s for s, _ in cut])
    samples = np.array([n for _, n in cut])
    squares = np.array([unseen / samples for _, _, unseen in fits])
    mean = squares.mean(axis=1)
    best = int(np.argmin(mean))
    behind = squares - squares[best]
    std = behind.std(axis=1, ddof=1) / np.sqrt(len(samples))
    alone = float(squares[best].std(ddof=1) / np.sqrt(len(samples)))
    ranked = [
        Ranked(
            variant=v,
            shapes=shapes,
            rms=float(np.sqrt(cost / samples.sum())),
            error=float(np.sqrt(mean[i])),
            folds=squares[i],
            behind=float(behind[i].mean()),
            behind_std=float(std[i]),
            as_good=bool(mean[i] - mean[best] <= alone),
        )
        for i, (v, (shapes, cost, _)) in enumerate(zip(variants, fits, strict=True))
    ]
    chosen = min((r for r in ranked if r.as_good), key=lambda r: (r.variant.complexity, r.error))
    return Ranking(tuple(sorted(ranked, key=lambda r: r.error)), chosen)


def _search(projection: shapes.Projection, known: Mapping[str, float]) -> FloatArray:
    """The shapes, well enough for a last step to first order: from those known, or also from a rough grid."""
    begin = shapes.start_of(projection.free, known)
    begins = [projection.at(begin)]
    if projection.free and not known:
        rough = shapes.search_grid(projection, begin, grid=shapes.ROUGH_GRID)
        begins += [] if np.array_equal(rough, begin) else [projection.at(rough)]
    every, few = range(len(projection.free)), 1e-3 * min(t.cost for t in begins)  # far below any standard error
    return min((shapes.polish(projection, t, every, negligible=few, steps=5) for t in begins), key=lambda t: t.cost).u


@dataclass(frozen=True, slots=True, eq=False)
class _Pool:
    """Columns of all elements of a family, slopes of those with free shapes, and y: X'X of each fold."""

    grams: FloatArray
    """(folds, all, all) ..."""
    whole: FloatArray
    """... and their sum."""
    at: dict[Element, Span]
    slopes: list[tuple[Span, Span]]
    """Per free shape: the columns that it changes, and their derivatives."""
    u: FloatArray
    """The shapes, on the scale of the search."""


def _fit_variants(rows: Rows, coarse: Rows, variants: Sequence[Variant], folds: Sequence[Span]) -> list[Fitted]:
    """Fit every model with its own shapes, and cross-validate.

    Models with the same moving elements are a family: shapes are searched for its richest member on the `coarse` rows,
    and all rows then have the last word for each member, to first order about them.
    """

    @cache
    def columns(e: Element) -> FloatArray:
        """Unconstrained ones orthonormal: powers of an angle are nearly dependent."""
        X, free = rows.columns(e), np.array([p.map != "positive" for p in e.parameters])
        if free.sum() > 1:
            X[free] = np.linalg.qr(X[free].T)[0].T
        return X

    def pool(elements: Iterable[Element], projection: shapes.Projection, u: FloatArray) -> _Pool:
        blocks: list[FloatArray] = []

        def add(block: FloatArray) -> Span:
            size = sum(map(len, blocks))
            blocks.append(block)
            return slice(size, size + len(block))

        moved = projection.model.elements
        raws = {i: rows.raw(projection.parts[i], projection.shapes(u, i)) for i in projection.moved}
        at = {moved[i]: add(rows.passed(raw)) for i, raw in raws.items()}
        slopes = [
            (at[moved[f.element]], add(rows.passed(projection.change(rows, u, n, raws[f.element]))))
            for n, f in enumerate(projection.free)
        ]
        at |= {e: add(columns(e)) for e in elements if e not in at}
        X = np.concatenate([*blocks, rows.y])
        grams = np.array([X[:, s] @ X[:, s].T for s in folds])
        return _Pool(grams, grams.sum(axis=0), at, slopes, u)

    few = cache(coarse.columns)
    visited: dict[tuple[str, ...], tuple[float, float]] = {}
    free = [shapes.free_shapes(v.model, rows.visited, memory=visited)[0] for v in variants]
    families: dict[frozenset[Element], list[int]] = {}
    for i in sorted(range(len(variants)), key=lambda i: -variants[i].complexity):
        families.setdefault(frozenset(variants[i].model.elements[f.element] for f in free[i]), []).append(i)
    known: dict[str, float] = {}
    fits: dict[int, Fitted] = {}
    for members in families.values():
        projection = shapes.project(coarse, variants[members[0]].model, free[members[0]], kept=few)
        u = _search(projection, known)
        known |= projection.values(u)
        elements = dict.fromkeys(e for i in members for e in variants[i].model.elements)
        family = pool(elements, projection, u)
        fits |= {i: _linear(family, variants[i].model, free[i]) for i in members}
    return [fits[i] for i in range(len(variants))]


def _linear(pool: _Pool, model: Model, free: Sequence[shapes.FreeShape]) -> Fitted:
    """Fit a model by X'X alone, its shapes to first order about those of the pool."""
    mine = np.concatenate([np.arange(pool.at[e].start, pool.at[e].stop, dtype=np.int64) for e in model.elements])
    positive, u = np.array([p.map == "positive" for e in model.elements for p in e.parameters]), pool.u
    whole, y, size = pool.whole, len(pool.whole) - 1, len(mine)
    place = np.full(len(whole), -1)
    place[mine] = np.arange(size)
    with_y = np.append(mine, y)
    p, cost = solve_positive(whole[with_y[:, None], with_y], positive)
    low, high = shapes.ends_of(free)
    # how far each shape may move for its slope to hold: a width by half of itself, a border by 0.7 widths
    widths = {f.element: f.to_value(float(x)) for f, x in zip(free, u, strict=True) if f.shape == "width"}
    near = np.array([0.5 if f.logarithmic else 0.7 * widths.get(f.element, 0.05) for f in free])
    move = np.zeros(len(u))
    T = np.zeros((len(whole), size + len(u) + 1))
    T[mine, np.arange(size)], T[y, -1] = 1.0, 1.0
    d, others = slice(size, size + len(u)), np.append(np.arange(size), size + len(u))
    for _ in range(2 if len(u) else 0):
        for n, (columns, slopes) in enumerate(pool.slopes):
            T[slopes, size + n] = p[place[columns]]
        gram, held = T.T @ whole @ T, (p != 0) | ~positive
        H, g = _reduced(gram, held, d)
        move = shapes.bounded_step(H, g, 1e-6, np.maximum(low - u, -near), np.minimum(high - u, near))
        away = np.eye(len(gram))[:, others]  # the last column less what the shapes' moves explain
        away[d, -1] = -move
        p, cost = solve_positive(away.T @ gram @ away, positive, held)
        if np.all(np.abs(move) < 0.2 * near):
            break
    # from here on about the estimated shapes; those at a limit, or without effect, stay
    T[:, -1] -= T[:, d] @ move
    T[:, d] *= (u + move > low) & (u + move < high)
    gram = T.T @ pool.grams @ T
    values = {f.name: f.to_value(float(x)) for f, x in zip(free, u + move, strict=True)}
    both = np.append(positive, np.zeros(len(u), dtype=bool))
    guess = np.append((p != 0) | ~positive, np.ones(len(u), dtype=bool))
    return values, float(cost), _left_out(gram, both, guess, d, near, float(cost))


def _reduced(gram: FloatArray, held: BoolArray, d: Span) -> tuple[FloatArray, FloatArray]:
    """Half Hessian and downhill slope of the shapes d, the parameters eliminated."""
    k = d.start
    at = np.flatnonzero(held)
    inner = gram[at[:, None], at]
    scale = np.sqrt(np.maximum(np.diag(inner), 1e-300))
    beside = gram[at, k:] / scale[:, None]
    solved = np.linalg.solve(inner / (scale[:, None] * scale) + 1e-12 * np.eye(len(inner)), beside)
    left = gram[k:, k:] - beside.T @ solved
    return left[:-1, :-1], left[:-1, -1]


def _left_out(
    grams: FloatArray, positive: BoolArray, guess: BoolArray, d: Span, near: FloatArray, cost: float
) -> FloatArray:
    """Squares on each fold of the fit to all others."""
    train = grams.sum(axis=0) - grams
    if len(near):
        # a fold without which a zone is hardly visited must not send its border anywhere
        at = np.arange(d.start, d.stop, dtype=np.int64)
        train[:, at, at] += cost / 1e4 / near**2
    p, _ = solve_positive(train, positive, guess)
    v = np.concatenate([-p, np.ones((len(p), 1))], axis=1)
    return np.maximum(np.einsum("fi,fij,fj->f", v, grams, v), 0.0)
