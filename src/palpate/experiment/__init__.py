"""The experiment file, and the stage that it runs."""

from palpate.experiment.file.reading import Experiment as Experiment
from palpate.experiment.file.reading import read_experiment as read_experiment
from palpate.experiment.file.reading import shipped_experiments as shipped_experiments
from palpate.experiment.run import run_experiment as run_experiment
from palpate.experiment.stage.result import Result as Result
