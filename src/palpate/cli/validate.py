"""palpate validate: a model on unseen data."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from palpate.cli.console import Data, Json, Quiet, Verbose, finish, known_errors, model_file, progress, save_json


def validate(
    model: Annotated[Path, typer.Argument(help="model.json, or the folder of a result.")],
    experiment: Annotated[
        str, typer.Argument(help="Experiment file of the unseen recordings, or the name of one that ships.")
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File for the numbers, JSON.")] = None,
    data: Data = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Judge a model by unseen data: its errors, beside those of a model fitted to these data."""
    with known_errors():
        path = model_file(model)
        with progress(quiet=quiet or as_json, verbose=verbose, title=Path(experiment).stem) as tell:
            from palpate.experiment import read_experiment
            from palpate.experiment.validation import validate as judge
            from palpate.model import Model
            from palpate.report.tables import validation_text

            judged = judge(Model.load(path), read_experiment(experiment, data=data), tell, path=path)
        if out is not None:
            save_json(out, judged.data)
        failure = "" if judged.passed else f"verdict failed: {'; '.join(judged.data['verdict']['reasons'])}"
        written = [out] if out is not None else []
        text = partial(validation_text, judged.data)
        finish(judged.data, text, written, as_json=as_json, quiet=quiet, failure=failure)
