"""Variants of a door: what there is to choose from, and that cross-validation chooses what is in the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import nnls

from palpate.elements import Coulomb, Hysteresis, PolynomialSpring, ScalarInertia, Stribeck, Table, Viscous, ZoneDamper
from palpate.errors import DataProblem, PalpateError
from palpate.identify.balance import Balance, build_balance, stack_rows
from palpate.identify.shapes import with_shapes
from palpate.identify.variants import Ranking, Variant, door_variants, rank_variants
from palpate.mechanisms import FourBar, Hinge
from palpate.model import Model
from palpate.motion.derivatives import design_lowpass
from palpate.physics.functions import ARRAYS
from tests.test_shapes import PAPER, coloured, door, radians, swings

PLAIN = "laminar, spring of order 3"
SECONDS = 60.0
SEGMENTS = [(0.0, 28.0), (30.0, SECONDS)]
BY_NAME = {v.name: v for v in door_variants(door())}
NOISE = 0.5


def measured(name: str, seed: int, effect: float = 2.5) -> Balance:
    """A door that is one of the variants; what it has beyond the plain one has `effect` times the noise's RMS."""
    rng = np.random.default_rng(seed)
    model = with_shapes(BY_NAME[name].model, radians({"b_bc.above": 62.0, "b_s.above": 29.0}))
    model = with_shapes(model, {"v_s": 0.15}) if "v_s" in model.shapes else model
    t = np.arange(0, SECONDS, 0.01)
    motion = model.mechanism.motion(t, *swings(rng, t))
    columns = np.array([c[0] for c in model.columns(model.mechanism.observe(motion), ARRAYS)])
    papers = dict(zip(door().parameters, PAPER, strict=True))
    p = np.array([papers.get(n.removesuffix("_turbulent"), 1.0) for n in model.parameters])
    p[[n.startswith("h_") for n in model.parameters]] = (0.0, 0.0, 3.0) if "h_0" in model.parameters else ()
    new = np.array([n not in papers for n in model.parameters])
    if new.any():
        p[new] *= effect * NOISE / np.sqrt(np.mean((p[new] @ columns[new]) ** 2))
    wrench = np.zeros((len(t), 6))
    wrench[:, 5] = p @ columns + NOISE * coloured(rng, len(t))
    return build_balance(door(), motion, wrench, sigma=[1.0], lowpass=design_lowpass(100.0, 10.0))


def ranked(balance: Balance) -> Ranking:
    return rank_variants(balance, list(BY_NAME.values()), SEGMENTS)


@pytest.fixture(scope="module")
def plain() -> tuple[Balance, Ranking]:
    balance = measured(PLAIN, 1)
    return balance, ranked(balance)


def kinds(model: Model) -> list[str]:
    return [e.type for e in model.elements]


def test_a_door_has_all_combinations() -> None:
    assert len(BY_NAME) == 3 * 2 * 2 * 4
    full = BY_NAME["mixed, hysteresis, Stribeck, spring of order 5"]
    assert full.complexity == max(v.complexity for v in BY_NAME.values()) == 19 + 5
    assert kinds(full.model) == [*kinds(door()), "hysteresis", "stribeck"]
    assert {e.flow for e in full.model.elements if isinstance(e, ZoneDamper)} == {"mixed"}
    hysteresis = next(e for e in full.model.elements if isinstance(e, Hysteresis))
    position = door().mechanism.expand([np.radians([0.0, 90.0]), 0.0], [0.0], ARRAYS).coordinates["closer"].position
    assert (hysteresis.acts_on, len(hysteresis.knots)) == ("closer", 3)
    assert sorted((hysteresis.knots[0], hysteresis.knots[-1])) == pytest.approx(sorted(position))
    assert BY_NAME[PLAIN] == Variant(PLAIN, door())
    assert [v.name for v in door_variants(door())] == list(BY_NAME)


def test_variants_go_by_types_not_by_names() -> None:
    other = Model(
        "gate",
        Hinge(linkage=FourBar()),
        (
            *(ScalarInertia("J"), Coulomb("dry", "closer"), Stribeck("dip", "closer", 0.2)),
            *(ZoneDamper("slow", "closer", when="closing"), PolynomialSpring("coil", order=6)),
        ),
    )
    variants = door_variants(other, span=(1.0, 2.0))
    assert len(variants) == 3 * 2 * 2 * 5
    assert {e.order for v in variants for e in v.model.elements if isinstance(e, PolynomialSpring)} == {2, 3, 4, 5, 6}
    with_dip = [v for v in variants if "Stribeck" in v.name]
    assert all([e.name for e in v.model.elements if isinstance(e, Stribeck)] == ["dip"] for v in with_dip)
    assert all(e.estimate for v in with_dip for e in v.model.elements if isinstance(e, Stribeck))
    assert not any(isinstance(e, Stribeck) for v in variants if v not in with_dip for e in v.model.elements)
    levels = {e.knots for v in variants for e in v.model.elements if isinstance(e, Hysteresis)}
    assert levels == {(1.0, 1.5, 2.0)}


def test_a_cabinet_door_without_closer_varies_its_friction_only() -> None:
    cabinet = Model("cabinet", Hinge(), (ScalarInertia(), Viscous(), Coulomb(), Table()))
    names = [v.name for v in door_variants(cabinet)]
    assert names == ["plain", "Stribeck", "hysteresis", "hysteresis, Stribeck"]


def test_the_simplest_wins_where_nothing_else_is_there(plain: tuple[Balance, Ranking]) -> None:
    _, ranking = plain
    assert ranking.chosen.variant.name == PLAIN
    assert ranking.chosen.as_good
    assert {np.degrees(v).round() for v in ranking.chosen.shapes.values()} >= {62.0, 29.0}
    assert ranking.chosen.model.shapes["b_bc.above"] == ranking.chosen.shapes["b_bc.above"]


@pytest.mark.parametrize(
    "name",
    [
        "turbulent, spring of order 3",
        "mixed, spring of order 3",
        "laminar, hysteresis, spring of order 3",
        "laminar, Stribeck, spring of order 3",
    ],
)
def test_the_right_variant_wins_where_it_shows(name: str) -> None:
    assert ranked(measured(name, 2)).chosen.variant.name == name


def test_the_rule_is_the_simplest_within_one_standard_error(plain: tuple[Balance, Ranking]) -> None:
    _, ranking = plain
    errors = [r.error for r in ranking.ranked]
    assert errors == sorted(errors)
    best = ranking.best
    limit = best.folds.mean() + best.folds.std(ddof=1) / np.sqrt(10)
    for r in ranking.ranked:
        assert r.error**2 == pytest.approx(r.folds.mean())
        assert r.as_good == (r.folds.mean() <= limit)
        assert r.behind == pytest.approx(r.folds.mean() - best.folds.mean(), abs=1e-12)
        assert not r.as_good or r.variant.complexity >= ranking.chosen.variant.complexity
    assert str(ranking).count("<- simplest as good as the best") == 1


def test_the_errors_are_those_of_fits_that_leave_out_a_fold(plain: tuple[Balance, Ranking]) -> None:
    """With zones that are told, a plain loop over folds with SciPy's constrained solve gives the same errors."""
    balance, _ = plain
    told = [replace(e, estimate=False) if isinstance(e, ZoneDamper) else e for e in door().elements]
    model = replace(door(), elements=tuple(told))
    variants = [v for v in door_variants(model) if "Stribeck" not in v.name and v.name.endswith(("2", "3"))]
    ranking = rank_variants(replace(balance, model=model), variants, SEGMENTS)
    rows = stack_rows(balance, SEGMENTS)
    for r in ranking.ranked:
        X = np.concatenate([rows.columns(e) for e in r.variant.model.elements]).T
        free = np.array([p.map == "free" for p in r.variant.model.parameters.values()])
        expected = []
        for at, samples in rows.folds(10):
            kept = np.ones(len(X), dtype=bool)
            kept[at] = False
            scale = np.linalg.norm(X, axis=0)
            A = np.concatenate([X, -X[:, free]], axis=1) / np.append(scale, scale[free])
            q = nnls(A[kept], rows.y[0, kept], maxiter=10_000)[0]
            expected.append(np.sum((rows.y[0, at] - A[at] @ q) ** 2) / samples)
        assert r.folds == pytest.approx(expected, rel=1e-4)


def test_the_same_data_give_the_same_ranking(plain: tuple[Balance, Ranking]) -> None:
    balance, ranking = plain
    assert [(r.variant.name, r.error) for r in ranked(balance).ranked] == [
        (r.variant.name, r.error) for r in ranking.ranked
    ]


def test_zones_of_the_chosen_one_are_those_of_its_own_fit(plain: tuple[Balance, Ranking]) -> None:
    from palpate.identify.shapes import fit_shapes

    balance, ranking = plain
    alone = fit_shapes(balance, SEGMENTS, profiles=False)
    found = [ranking.chosen.shapes[n] for n in alone.names]
    std = np.sqrt(np.diag(alone.covariance))
    assert (np.abs(found - alone.values) < 0.3 * std).all()
    assert ranking.chosen.rms == pytest.approx(np.sqrt(alone.cost / 5800), rel=0.01)


def test_what_cannot_be_ranked_is_refused(plain: tuple[Balance, Ranking]) -> None:
    balance, _ = plain
    with pytest.raises(PalpateError, match="there are no variants to rank"):
        rank_variants(balance, [], SEGMENTS)
    with pytest.raises(DataProblem, match="too short to be cut into folds"):
        rank_variants(balance, [Variant(PLAIN, door())], [(0.0, 0.3)])
