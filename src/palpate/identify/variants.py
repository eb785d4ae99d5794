"""Variants of a model, ranked by cross-validation: which effects are in the data, and which only follow the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import pi
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from palpate.elements import Coulomb, Element, Hysteresis, PolynomialSpring, Stribeck, ZoneDamper
from palpate.errors import DataProblem, PalpateError
from palpate.identify.balance import Balance, Segment
from palpate.identify.projection import Projection
from palpate.identify.rows import stack_rows
from palpate.identify.shape_search import ROUGH_GRID, polish, search_grid, start_of
from palpate.identify.shapes import with_shapes
from palpate.identify.variant_fits import WORTH, Fitted, fit_variants
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS

ORDERS = (2, 3, 4, 5)
SEARCH_ROWS = 3000
"""About so many rows serve the search; all of them the last step and the errors."""
_FLOWS = ("laminar", "turbulent", "mixed")


@dataclass(frozen=True, slots=True)
class Variant:
    """A model that may be the right one. `complexity`: how much it can follow."""

    name: str
    model: Model
    complexity: int
    """Linear parameters and free shapes."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """What became of a variant. Errors in the unit of the row with the largest weight (N m for a hinge)."""

    variant: Variant
    shapes: dict[str, float]
    """The free shapes that it found, rad and rad/s."""
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


def make_variant(name: str, model: Model) -> Variant:
    """A variant with its complexity counted."""
    free = sum(s.free for e in model.elements for s in e.shapes)
    return Variant(name, model, len(model.parameters) + free)


def door_variants(
    model: Model, *, span: tuple[float, float] | None = None, orders: Sequence[int] = ORDERS
) -> list[Variant]:
    """Every combination of flow, hysteresis, Stribeck friction and spring order that the model's elements allow.

    By the types of the elements: a model without zone dampers has no flow, one without spring no order. Hysteresis is
    a Coulomb level of second order over the spring's coordinate, `span` rad (by default where a door of 0 to 90 deg
    takes it).
    """
    dampers = any(isinstance(e, ZoneDamper) for e in model.elements)
    springs = [e for e in model.elements if isinstance(e, PolynomialSpring)]
    near = sorted({*orders, *(s.order for s in springs)}) if springs else [0]
    flows = _FLOWS if dampers else ("",)
    found: list[Variant] = []
    for flow, hysteresis, stribeck, order in product(flows, (False, True), (False, True), near):
        elements = [_as(e, flow, order) for e in model.elements]
        elements = _dry(elements, Hysteresis, hysteresis, lambda: _hysteresis(model, span))
        elements = _dry(elements, Stribeck, stribeck, lambda: _stribeck(model))
        parts = [flow, "hysteresis" if hysteresis else "", "Stribeck" if stribeck else ""]
        parts += [f"spring of order {order}"] if springs else []
        name = ", ".join(p for p in parts if p) or "plain"
        found.append(make_variant(name, replace(model, elements=tuple(elements), values={})))
    return found


def _as(e: Element, flow: str, order: int) -> Element:
    if isinstance(e, ZoneDamper):
        return replace(e, flow=cast("Any", flow))
    return replace(e, order=order) if isinstance(e, PolynomialSpring) else e


def _dry(elements: list[Element], kind: type[Any], wanted: bool, make: Any) -> list[Element]:
    """With or without the elements of a kind: those of the model, or a new one."""
    if not wanted:
        return [e for e in elements if not isinstance(e, kind)]
    if any(isinstance(e, kind) for e in elements):
        return [replace(e, estimate=True) if isinstance(e, Stribeck) else e for e in elements]
    return [*elements, make()]


def _hysteresis(model: Model, span: tuple[float, float] | None) -> Hysteresis:
    on = next((e.acts_on for e in model.elements if isinstance(e, PolynomialSpring)), "")
    on = on or next(iter(model.mechanism.coordinates))
    if span is None:
        state = [np.linspace(0.0, pi / 2, 91), *([0.0] * (len(model.mechanism.state) - 1))]
        k = model.mechanism.expand(state, [0.0] * len(model.mechanism.accelerations), {}, ARRAYS)
        q = np.asarray(k.coordinates[on].position)
        span = (float(q.min()), float(q.max()))
    low, high = span
    return Hysteresis(_name("hysteresis", model), on, (low, (low + high) / 2, high), "polynomial")


def _stribeck(model: Model) -> Stribeck:
    on = next((e.acts_on for e in model.elements if isinstance(e, Coulomb)), "")
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
    sizes = [v.complexity for v in variants]
    fits = fit_variants(rows, coarse, [v.model for v in variants], sizes, [s for s, _ in cut], _search)
    return _rank(variants, fits, np.array([n for _, n in cut]))


def _search(projection: Projection, start: FloatArray | None) -> FloatArray:
    """The shapes, well enough for a last step to first order: from the start, or also from a rough grid."""
    own = start_of(projection.free) if start is None else start
    begins = [projection.at(own)]
    if start is None and projection.free:
        begins.append(projection.at(search_grid(projection, own, grid=ROUGH_GRID)))
    begins = sorted(begins, key=lambda t: t.cost)
    every, few = range(len(projection.free)), 0.5 * WORTH * begins[0].cost
    return min((polish(projection, t, every, negligible=few, steps=5) for t in begins), key=lambda t: t.cost).u


def _rank(variants: Sequence[Variant], fits: Sequence[Fitted], samples: NDArray[np.int64]) -> Ranking:
    squares = np.array([f.unseen / samples for f in fits])
    mean = squares.mean(axis=1)
    best = int(np.argmin(mean))
    behind = squares - squares[best]
    std = behind.std(axis=1, ddof=1) / np.sqrt(len(samples))
    alone = float(squares[best].std(ddof=1) / np.sqrt(len(samples)))
    as_good = mean - mean[best] <= alone
    ranked = [
        Ranked(
            variant=v,
            shapes=f.values,
            rms=float(np.sqrt(f.cost / samples.sum())),
            error=float(np.sqrt(mean[i])),
            folds=squares[i],
            behind=float(behind[i].mean()),
            behind_std=float(std[i]),
            as_good=bool(as_good[i]),
        )
        for i, (v, f) in enumerate(zip(variants, fits, strict=True))
    ]
    chosen = min((r for r in ranked if r.as_good), key=lambda r: (r.variant.complexity, r.error))
    return Ranking(tuple(sorted(ranked, key=lambda r: r.error)), chosen)
