"""The handle that a body was moved by: identified first, loaded, or stated; refused where it is of another sensor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import PalpateError
from palpate.experiment.file.reading import Experiment, read_experiment, shipped_experiments
from palpate.experiment.file.schema import HandleWeightPart, sensor_label
from palpate.experiment.handle import run_handle
from palpate.experiment.result import Result
from palpate.experiment.telling import Tell
from palpate.mechanisms import Free
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.inertia import PHI_NAMES, phi_from_mass_properties


def handle_of(experiment: Experiment[Any], tell: Tell) -> tuple[FloatArray | None, Result | None, list[str]]:
    """phi of the handle in the sensor frame (None: not given), its result where it was identified here, warnings."""
    part = experiment.config.handle
    if part is None:
        return None, None, []
    if isinstance(part, HandleWeightPart):
        # only its weight counts: a point would do, and a small ball is a body
        return phi_from_mass_properties(part.mass, part.com, 1e-6 * part.mass * np.eye(3)), None, []
    result, path = None, experiment.source.parent / part
    if path.suffix in (".yaml", ".yml") or part in shipped_experiments():
        tell("identifying the handle")
        result = run_handle(_experiment(experiment, part, path), tell)
        assert result.model is not None  # a handle's parameters always have values
        model = result.model
    else:
        try:
            model = Model.load(path)
        except PalpateError as error:
            raise experiment.problem("handle", str(error)) from error
    return _phi(experiment, model), result, _doubts(experiment, model)


def _experiment(experiment: Experiment[Any], part: str, path: Path) -> Experiment[Any]:
    try:
        shipped = part in shipped_experiments() and not path.exists()
        found = read_experiment(part, data=experiment.data) if shipped else read_experiment(path)
    except PalpateError as error:
        raise experiment.problem("handle", str(error)) from error
    if found.config.stage != "handle":
        raise experiment.problem(
            "handle", f"{part} is an experiment of the stage {found.config.stage!r}", "give one of stage: handle"
        )
    return found


def _phi(experiment: Experiment[Any], model: Model) -> FloatArray:
    if not isinstance(model.mechanism, Free) or any(name not in model.values for name in PHI_NAMES):
        what = f"{experiment.config.handle} is a model of {model.name!r}, not of a handle"
        raise experiment.problem("handle", what, "give the model.json of a handle stage")
    return np.array([model.values[name] for name in PHI_NAMES])


def _doubts(experiment: Experiment[Any], model: Model) -> list[str]:
    """Refuse another sensor's handle; what else speaks against it."""
    wrench = experiment.config.recordings.wrench
    assert wrench is not None
    ours, theirs = sensor_label(experiment.config.sensor, wrench.device), model.about.get("sensor")
    if theirs is not None and theirs != ours:
        raise experiment.problem(
            "handle",
            f"this handle was measured with the sensor {theirs!r}, the body with {ours!r}",
            "give the handle of the same sensor: its frame and zero are that sensor's",
        )
    verdict = model.about.get("verdict", "passed")
    return [] if verdict == "passed" else [f"the handle's own identification {verdict}"]
