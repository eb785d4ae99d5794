"""palpate variants: alternative models of a body, fitted and ranked."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from palpate.cli.console import Data, Json, Quiet, Verbose, finish, known_errors, progress, result_folder, save_json


def variants(
    experiment: Annotated[str, typer.Argument(help="Experiment file of a body, or the name of one that ships: door.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for variants.json [default: NAME-result].")
    ] = None,
    data: Data = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every variant, not only the first ones.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Fit alternative models of a body and rank them by how well they predict unseen data."""
    with known_errors():
        path = result_folder(out, experiment) / "variants.json"
        with progress(quiet=quiet or as_json, verbose=verbose, title=Path(experiment).stem) as tell:
            from palpate.experiment import read_experiment
            from palpate.experiment.variants import rank_body, ranking_data
            from palpate.report.tables import variants_text

            read = read_experiment(experiment, data=data)
            ranking = ranking_data(rank_body(read, tell), read.config.title or read.source.stem)
        save_json(path, ranking)
        text = partial(variants_text, ranking, everything=everything)
        finish(ranking, text, [path], as_json=as_json, quiet=quiet)
