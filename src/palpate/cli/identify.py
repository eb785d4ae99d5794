"""palpate identify: an experiment file -> result.json, model.json and a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palpate.cli.console import GATE_FAILED, Json, Quiet, Verbose, known_errors, progress, show, show_json
from palpate.files import check_folder

if TYPE_CHECKING:
    from palpate.experiment import Result


def identify(
    experiment: Annotated[
        str,
        typer.Argument(help="Experiment file (YAML), or the name of one that ships: door, wheelbarrow, their handles."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the results [default: NAME-result].")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the recordings, where it is not the experiment file's own.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Identify a model from recordings."""
    with known_errors():
        folder = out if out is not None else Path(f"{Path(experiment).stem}-result")
        check_folder(folder)
        with progress(quiet=quiet or as_json, verbose=verbose, title=Path(experiment).stem) as tell:
            from palpate.experiment import read_experiment, run_experiment

            result = run_experiment(read_experiment(experiment, data=data), tell)
        paths = save_result(result, folder)
        if as_json:
            show_json(result.data)
        elif not quiet:
            from palpate.report import result_text

            show(result_text(result.data))
            typer.echo(f"\nWritten: {', '.join(str(path) for path in paths)}")
        if not result.passed:
            if quiet:
                typer.echo(f"palpate: verdict failed: {'; '.join(result.data['verdict']['reasons'])}", err=True)
            raise typer.Exit(GATE_FAILED)


def save_result(result: Result, folder: Path) -> list[Path]:
    """Write all files of a result; returns their paths. Without Plotly there is no page, which is said."""
    paths = list(result.save(folder))
    if result.view is not None:
        from palpate.errors import MissingExtra
        from palpate.report.body_page import write_body_report

        try:
            write_body_report(folder / "report.html", result.data, result.view)
            paths.append(folder / "report.html")
        except MissingExtra as missing:
            typer.echo(f"palpate: report.html is not written: {missing}", err=True)
    return paths
