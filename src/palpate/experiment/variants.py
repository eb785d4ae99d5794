"""Variants of a body: which effects are in its recordings."""

from __future__ import annotations

from typing import Any

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.file.reading import Experiment
from palpate.experiment.run import prepare_experiment
from palpate.experiment.stage.inputs import fit_balance, move
from palpate.experiment.stage.prepare import Prepared
from palpate.identify import Balance
from palpate.identify.variants import Ranking, door_variants, rank_variants
from palpate.progress import Tell, portion, silent


def rank_body(experiment: Experiment[Any], tell: Tell = silent) -> Ranking:
    """Fit alternatives of the experiment's object and rank them by cross-validation."""
    if experiment.config.stage != "body":
        wrong = f"only bodies have variants; this is an experiment of the stage {experiment.config.stage!r}"
        raise experiment.problem("stage", wrong, "give one of stage: body")
    return rank_prepared(experiment, prepare_experiment(experiment, portion(tell, 0.0, 0.8)), tell)


def rank_prepared(experiment: Experiment[Any], prepared: Prepared, tell: Tell = silent) -> Ranking:
    """The same of an experiment whose recordings are on one clock already."""
    if prepared.inputs.main is None:
        raise experiment.problem("object", "only objects with one freedom have variants", "give a door or a drawer")
    if prepared.inputs.mechanism.unmeasured:
        wrong = "two bodies in series have no variants: where the inner one is depends on every one of their numbers"
        raise experiment.problem("object", wrong, "identify each object that you have in mind, and compare the results")
    balance = fit_balance(prepared.inputs, move(prepared.inputs))
    tell("fitting variants", 0.8)
    segments = [*prepared.segments["quasi_static"], *prepared.segments["train"]]
    with experiment.at("segments", kind=DataProblem):
        return rank_variants(balance, door_variants(balance.model, span=_span(balance)), segments)


def ranking_data(ranking: Ranking, title: str) -> dict[str, Any]:
    """A ranking as plain data, for variants.json."""
    return {
        "palpate_variants": 1,
        "title": title,
        "unit": ranking.chosen.variant.model.mechanism.rows[0].unit,
        "chosen": ranking.chosen.variant.name,
        "best": ranking.best.variant.name,
        "rule": "the simplest within one standard error of the best, ten folds of consecutive pieces",
        "variants": [
            {
                "name": r.variant.name,
                "numbers": r.variant.complexity,
                "cross_validated_rms": r.error,
                "rms": r.rms,
                "behind_best": r.behind,
                "behind_best_std": r.behind_std,
                "as_good_as_best": r.as_good,
                "shapes": r.shapes,
            }
            for r in ranking.ranked
        ],
    }


def _span(balance: Balance) -> tuple[float, float] | None:
    """What the coordinate of a polynomial spring visits."""
    spring = next((e for e in balance.model.elements if e.polynomial is not None), None)
    if spring is None or balance.used is None:
        return None
    position = np.asarray(balance.kinematics.coordinates[spring.acts_on].position)[balance.used]
    return float(position.min()), float(position.max())
