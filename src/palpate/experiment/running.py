"""Running an experiment: its stage, by name."""

from __future__ import annotations

from collections.abc import Callable

from palpate.experiment.handle import Tell, run_handle
from palpate.experiment.reading import Experiment
from palpate.experiment.result import Result

STAGES: dict[str, Callable[[Experiment, Tell], Result]] = {"handle": run_handle}


def run_experiment(experiment: Experiment, tell: Tell = lambda _: None) -> Result:
    """Run the stage that the experiment file names; `tell` hears of each step."""
    return STAGES[experiment.config.stage](experiment, tell)
