"""Variants of a body: which effects are in its recordings."""

from __future__ import annotations

from typing import Any

import numpy as np

from palpate.elements import PolynomialSpring
from palpate.errors import DataProblem
from palpate.experiment.body import prepare_body
from palpate.experiment.file.reading import Experiment
from palpate.experiment.file.schema import BodyPart
from palpate.experiment.telling import Tell
from palpate.identify import Balance
from palpate.identify.variants import Ranking, door_variants, rank_variants


def rank_body(experiment: Experiment[Any], tell: Tell = lambda _: None) -> Ranking:
    """Fit alternatives of the experiment's object and rank them by cross-validation."""
    if not isinstance(experiment.config, BodyPart):
        told = f"variants are of bodies, this is an experiment of the stage {experiment.config.stage!r}"
        raise experiment.problem("stage", told, "give one of stage: body")
    measured = prepare_body(experiment, tell).measured
    balance = measured.inputs.balance()
    tell("fitting variants")
    segments = [*measured.segments["quasi_static"], *measured.segments["train"]]
    try:
        return rank_variants(balance, door_variants(balance.model, span=_span(balance)), segments)
    except DataProblem as error:
        raise experiment.problem("segments", str(error)) from error


def ranking_data(ranking: Ranking, title: str) -> dict[str, Any]:
    """A ranking as plain data, for variants.json."""
    return {
        "palpate_variants": 1,
        "title": title,
        "unit": "N m",
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
    """What the spring's coordinate visits, rad."""
    spring = next((e for e in balance.model.elements if isinstance(e, PolynomialSpring)), None)
    if spring is None or balance.used is None:
        return None
    position = np.asarray(balance.kinematics.coordinates[spring.acts_on].position)[balance.used]
    return float(position.min()), float(position.max())
