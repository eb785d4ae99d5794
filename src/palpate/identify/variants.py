"""Variants of a model, ranked by cross-validation: which effects are in the data, and which only follow the noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import pi
from typing import TypeAlias

import numpy as np

from palpate.elements import Element, Hysteresis, Stribeck
from palpate.errors import DataProblem, PalpateError
from palpate.identify.balance import Balance, Rows, Segment, stack_rows
from palpate.identify.shapes import (
    ROUGH_GRID,
    FreeShape,
    Projection,
    Trial,
    ends_of,
    free_shapes,
    polish,
    project,
    search_grid,
    start_of,
    with_shapes,
)
from palpate.model import Model
from palpate.physics.arrays import FloatArray, solve_positive
from palpate.physics.functions import ARRAYS

SEARCH_ROWS = 1500
"""About so many rows serve the search; all of them the last step and the errors."""


Span: TypeAlias = "slice[int, int]"
Fitted = tuple[dict[str, float], float, FloatArray]
"""Shapes, weighted sum of squares of the fit to all folds, and on each (folds,) when it is left out of the fit."""
_NEAR_LOG = 0.5
"""How far (relative) a width may move before its slope no longer tells."""
_NEAR_BORDER = 0.7
"""How far a border may move, in widths."""
ENOUGH = 1e-3
"""Share of the cost at which a search ends: far below any standard error."""


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
        return with_shapes(replace(self.variant.model, values={}), self.shapes)


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
    coarse = stack_rows(balance, segments, most=SEARCH_ROWS)
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


def _fit_variants(rows: Rows, coarse: Rows, variants: Sequence[Variant], folds: Sequence[Span]) -> list[Fitted]:
    """Fit every model with its own shapes, the richest first, and cross-validate.

    Shapes are searched on the `coarse` rows, from where the model before has them; all rows have the last word.
    """
    columns, few = cache(rows.columns), cache(coarse.columns)
    visited: dict[tuple[str, ...], tuple[float, float]] = {}
    known: dict[str, float] = {}
    fits: dict[int, Fitted] = {}
    for i in sorted(range(len(variants)), key=lambda i: -variants[i].complexity):
        model = variants[i].model
        free = free_shapes(model, rows.visited, memory=visited)[0]
        every, u = range(len(free)), _search(project(coarse, model, free, kept=few), known)
        projection = project(rows, model, free, kept=columns)
        trial = projection.at(u)
        X = np.concatenate([projection.fixed, trial.moving, projection.slopes(trial, every), rows.y])
        grams = np.array([X[:, s] @ X[:, s].T for s in folds])
        u, cost, unseen = _last_step(grams, projection, trial)
        fits[i] = (projection.values(u), cost, unseen)
        known |= fits[i][0]
    return [fits[i] for i in range(len(variants))]


def _search(projection: Projection, known: Mapping[str, float]) -> FloatArray:
    """The shapes, well enough for a last step: from those known, or also from a rough grid."""
    begin = start_of(projection.free, known)
    begins = [projection.at(begin)]
    if projection.free and not known:
        begins.append(projection.at(search_grid(projection, begin, grid=ROUGH_GRID)))
    every, few = range(len(projection.free)), ENOUGH * min(t.cost for t in begins)
    return min((polish(projection, t, every, negligible=few, steps=5) for t in begins), key=lambda t: t.cost).u


def _near(free: Sequence[FreeShape], u: FloatArray) -> FloatArray:
    """How far each shape may move for its slope to hold."""
    widths = {f.element: f.to_value(float(x)) for f, x in zip(free, u, strict=True) if f.shape == "width"}
    return np.array([_NEAR_LOG if f.logarithmic else _NEAR_BORDER * widths.get(f.element, 0.05) for f in free])


def _last_step(grams: FloatArray, projection: Projection, trial: Trial) -> tuple[FloatArray, float, FloatArray]:
    """Shapes and squares of the fit to all rows, and squares on each fold of the fit to all others, to first order.

    grams: of columns, slopes of the shapes, and y, of each fold.
    """
    k, near = len(projection.positive), _near(projection.free, trial.u)
    at, (low, high) = np.arange(k, k + len(near)), ends_of(projection.free)
    positive = np.append(projection.positive, np.zeros(len(near), dtype=bool))
    guess = np.append((trial.p != 0) | ~projection.positive, np.ones(len(near), dtype=bool))
    whole = grams.sum(axis=0)
    # what hardly shows, or without some fold, must not send a border anywhere
    held = np.zeros_like(whole)
    held[at, at] = trial.cost / 1e4 / near**2
    p, _ = solve_positive(whole + held, positive, guess)
    u = np.clip(trial.u + np.clip(p[at], -near, near), low, high)
    v = np.append(-p, 1.0)
    left_out, _ = solve_positive(whole + held - grams, positive, guess)
    w = np.concatenate([-left_out, np.ones((len(left_out), 1))], axis=1)
    return u, float(v @ whole @ v), np.maximum(np.einsum("fi,fij,fj->f", w, grams, w), 0.0)
