"""palpate identify: an experiment file -> result.json, model.json, report.html and a table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from palpate.cli.console import Data, Json, Quiet, Verbose, finish, known_errors, progress, result_folder


def identify(
    experiment: Annotated[
        str,
        typer.Argument(help="Experiment file (YAML), or the name of one that ships: door, wheelbarrow, their handles."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the results [default: NAME-result].")
    ] = None,
    data: Data = None,
    figures: Annotated[
        str | None, typer.Option("--figures", metavar="svg|pdf", help="Also draw the report's figures for a paper.")
    ] = None,
    tables: Annotated[
        str | None, typer.Option("--tables", metavar="csv|latex", help="Also write the tables of results.")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option("--without-section", metavar="NAME", help="Leave a section out of report.html; may be repeated."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Identify a model from recordings."""
    with known_errors():
        extras = Extras(figures, tables, tuple(without or ()))
        if extras != Extras():
            extras.check()
        folder = result_folder(out, experiment)
        with progress(quiet=quiet or as_json, verbose=verbose, title=Path(experiment).stem) as tell:
            from palpate.experiment import read_experiment, run_experiment
            from palpate.report import result_text

            result = run_experiment(read_experiment(experiment, data=data), tell)
        paths = save_result(result, folder, extras)
        failure = "" if result.passed else f"verdict failed: {'; '.join(result.data['verdict']['reasons'])}"
        text = partial(result_text, result.data)
        finish(result.data, text, paths, as_json=as_json, quiet=quiet, failure=failure)


@dataclass(frozen=True, slots=True)
class Extras:
    """What is written beside the report, and which of its sections are left out."""

    figures: str | None = None
    """svg or pdf."""
    tables: str | None = None
    """csv or latex."""
    without: tuple[str, ...] = ()
    """Sections that are left out."""

    def check(self) -> None:
        """Refuse what does not exist before anything is computed."""
        from palpate.errors import UnknownName
        from palpate.report.identification import check_names
        from palpate.report.paper import FORMATS, TABLE_FORMATS

        check_names(self.without)
        for kind, name, known in (("figures", self.figures, FORMATS), ("tables", self.tables, TABLE_FORMATS)):
            if name is not None and name not in known:
                raise UnknownName(f"format of {kind}", name, known)


def save_result(result: Any, folder: Path, extras: Extras | None = None) -> list[Path]:
    """Write all files of a `palpate.experiment.Result` and of its handle's; returns their paths.

    Without the libraries of the extra `report` there is no page, and a message says so.
    """
    paths: list[Path] = list(result.save(folder))
    for name, handle in zip(("handle", "handle_2"), result.handles, strict=False):
        _save_report(handle, folder / name, extras or Extras())
    return paths + _save_report(result, folder, extras or Extras())


def _save_report(result: Any, folder: Path, extras: Extras) -> list[Path]:
    from palpate.errors import MissingExtra
    from palpate.report.identification import without, write_figures, write_report, write_tables

    paths: list[Path] = []
    if extras.tables is not None:
        write_tables(folder / "tables", result, format=cast("Any", extras.tables))
        paths.append(folder / "tables")
    try:
        if extras.figures is not None:
            write_figures(folder / "figures", result, format=cast("Any", extras.figures))
            paths.append(folder / "figures")
        paths.insert(0, write_report(folder / "report.html", result, sections=without(*extras.without)))
    except MissingExtra as missing:
        typer.echo(f"palpate: report.html is not written: {missing}", err=True)
    return paths
