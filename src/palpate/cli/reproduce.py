"""palpate reproduce: the paper's four models from a copy of its authors' data, beside its Table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from palpate.cli.console import GATE_FAILED, Json, Quiet, Verbose, known_errors, progress, show, show_json
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
        from palpate.experiment.reproduce import check_previous
        from palpate.experiment.reproduce import reproduce as run

        check_folder(out)
        check_previous(out)
        with progress(quiet=quiet or as_json, verbose=verbose, title="reproducing") as tell:
            found = run(folder, as_published=as_published, tell=tell)
            tell("writing")
            from palpate.report.reproduction import write_reproduction

            paths, lost = write_reproduction(out, found)
        for sentence in lost:
            typer.echo(f"palpate: {sentence}", err=True)
        if as_json:
            from palpate.experiment.reproduce_table import reproduction_data

            show_json(reproduction_data(found))
        elif not quiet:
            from palpate.report.reproduction import reproduction_text

            show(reproduction_text(found))
            typer.echo(f"\nWritten: {', '.join(str(path) for path in paths)}")
        if found.failures:
            if quiet:
                typer.echo(f"palpate: {'; '.join(found.failures)}", err=True)
            raise typer.Exit(GATE_FAILED)
