"""Running an experiment: its stage, by name."""

from __future__ import annotations

from typing import Any

from palpate.experiment.body import run_body
from palpate.experiment.file.reading import Experiment
from palpate.experiment.handle import run_handle
from palpate.experiment.result import Result
from palpate.experiment.telling import Tell


def run_experiment(experiment: Experiment[Any], tell: Tell = lambda _: None) -> Result:
    """Identify what the experiment file's stage asks for; `tell` hears of each step."""
    if experiment.config.stage == "motion":
        remedy = "`palpate inspect` shows the motion; a stage that identifies is `handle`"
        raise experiment.problem("stage", "nothing is identified in the motion stage", remedy)
    return run_body(experiment, tell) if experiment.config.stage == "body" else run_handle(experiment, tell)
