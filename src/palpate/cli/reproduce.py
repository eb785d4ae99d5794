"""palpate reproduce: the paper's four models from a copy of its authors' data, beside its Table."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from palpate.cli.console import Json, Quiet, Verbose, finish, known_errors, progress
from palpate.files import check_folder


def reproduce(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A clone of the authors' repository, nate-baum/large-objects-sys-id.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("reproduction"),
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published",
            help="Only with the authors' choices (decimation, windows, weight-only handle, fixed correction); without "
            "it, both ways side by side.",
        ),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Identify the paper's four models from its authors' recordings and compare them with its Table."""
    with known_errors():
        from palpate.experiment.paper.reproduce import check_previous
        from palpate.experiment.paper.reproduce import reproduce as run

        check_folder(out)
        check_previous(out)
        with progress(quiet=quiet or as_json, verbose=verbose, title="reproducing") as tell:
            reproduction = run(folder, as_published=as_published, tell=tell)
            tell("writing")
            from palpate.experiment.paper.table import reproduction_data
            from palpate.report.reproduction import reproduction_text, write_reproduction

            paths, lost = write_reproduction(out, reproduction)
        for sentence in lost:
            typer.echo(f"palpate: {sentence}", err=True)
        data, text = reproduction_data(reproduction), partial(reproduction_text, reproduction)
        failure = "; ".join(reproduction.failures)
        finish(data, text, paths, as_json=as_json, quiet=quiet, failure=failure)
