"""palpate validate: a model on data it has not seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from palpate.cli.console import GATE_FAILED, Json, Quiet, Verbose, known_errors, progress, show, show_json
from palpate.files import write_text


def validate(
    model: Annotated[Path, typer.Argument(help="model.json, or the folder of a result.")],
    experiment: Annotated[
        str, typer.Argument(help="Experiment file of the unseen recordings, or the name of one that ships.")
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File for the numbers, JSON.")] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the recordings, where it is not the experiment file's own.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Judge a model by data it has not seen: its errors, beside those of a model fitted to these data."""
    with known_errors():
        path = model / "model.json" if model.is_dir() else model
        with progress(quiet=quiet or as_json, verbose=verbose, title=Path(experiment).stem) as tell:
            from palpate.experiment import read_experiment
            from palpate.experiment.validation import validate as judge
            from palpate.model import Model

            found = judge(Model.load(path), read_experiment(experiment, data=data), tell, path=path)
        if out is not None:
            write_text(out, json.dumps(found.data, indent=1, allow_nan=False) + "\n")
        if as_json:
            show_json(found.data)
        elif not quiet:
            from palpate.report.tables import validation_text

            show(validation_text(found.data))
            if out is not None:
                typer.echo(f"\nWritten: {out}")
        if not found.passed:
            if quiet:
                typer.echo(f"palpate: verdict failed: {'; '.join(found.data['verdict']['reasons'])}", err=True)
            raise typer.Exit(GATE_FAILED)
