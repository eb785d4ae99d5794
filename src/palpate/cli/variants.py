"""palpate variants: alternatives of a body's model, fitted and ranked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from palpate.cli.console import Json, Quiet, Verbose, known_errors, progress, show, show_json
from palpate.files import check_folder, write_text


def variants(
    experiment: Annotated[str, typer.Argument(help="Experiment file of a body, or the name of one that ships: door.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for variants.json [default: NAME-result].")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the recordings, where it is not the experiment file's own.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every variant, not only the first ones.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Fit alternatives of a body's model and rank them by what they predict of data not seen."""
    with known_errors():
        folder = out if out is not None else Path(f"{Path(experiment).stem}-result")
        check_folder(folder)
        with progress(quiet=quiet or as_json, verbose=verbose, title=Path(experiment).stem) as tell:
            from palpate.experiment import read_experiment
            from palpate.experiment.body_variants import rank_body, ranking_data

            read = read_experiment(experiment, data=data)
            found = ranking_data(rank_body(read, tell), read.config.title or read.source.stem)
        path = folder / "variants.json"
        write_text(path, json.dumps(found, indent=1, allow_nan=False) + "\n")
        if as_json:
            show_json(found)
        elif not quiet:
            from palpate.report.tables import variants_text

            show(variants_text(found, everything=everything))
            typer.echo(f"\nWritten: {path}")
