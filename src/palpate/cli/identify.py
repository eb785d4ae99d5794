"""palpate identify: an experiment file -> result.json, model.json, report.html and a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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
        wanted = Wanted(figures, tables, tuple(without or ()))
        _check(wanted)
        folder = out if out is not None else Path(f"{Path(experiment).stem}-result")
        check_folder(folder)
        with progress(quiet=quiet or as_json, verbose=verbose, title=Path(experiment).stem) as tell:
            from palpate.experiment import read_experiment, run_experiment

            result = run_experiment(read_experiment(experiment, data=data), tell)
        paths = save_result(result, folder, wanted)
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


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a report is to have beside, or not."""

    figures: str | None = None
    """svg or pdf."""
    tables: str | None = None
    """csv or latex."""
    without: tuple[str, ...] = ()
    """Sections that are left out."""


def save_result(result: Result, folder: Path, wanted: Wanted | None = None) -> list[Path]:
    """Write all files of a result and of its handle's; returns their paths.

    Without the libraries of the extra `report` there is no page, which is said.
    """
    paths = list(result.save(folder))
    wanted = wanted or Wanted()
    if result.handle is not None:
        _save_report(result.handle, folder / "handle", wanted)
    return paths + _save_report(result, folder, wanted)


def _save_report(result: Result, folder: Path, wanted: Wanted) -> list[Path]:
    from palpate.errors import MissingExtra
    from palpate.report.identification import without, write_figures, write_report, write_tables

    found: list[Path] = []
    if wanted.tables is not None:
        write_tables(folder / "tables", result, format=_table_format(wanted.tables))
        found.append(folder / "tables")
    try:
        if wanted.figures is not None:
            write_figures(folder / "figures", result, format=_figure_format(wanted.figures))
            found.append(folder / "figures")
        found.insert(0, write_report(folder / "report.html", result, sections=without(*wanted.without)))
    except MissingExtra as missing:
        typer.echo(f"palpate: report.html is not written: {missing}", err=True)
    return found


def _check(wanted: Wanted) -> None:
    """Refuse what does not exist before anything is computed."""
    if wanted == Wanted():
        return
    from palpate.report.identification import check_names

    check_names(wanted.without)
    if wanted.figures is not None:
        _figure_format(wanted.figures)
    if wanted.tables is not None:
        _table_format(wanted.tables)


def _figure_format(name: str) -> Literal["svg", "pdf"]:
    from palpate.errors import UnknownName
    from palpate.report.paper import FORMATS

    for known in FORMATS:
        if name == known:
            return known
    raise UnknownName("format of figures", name, FORMATS)


def _table_format(name: str) -> Literal["csv", "latex"]:
    from palpate.errors import UnknownName
    from palpate.report.paper import TABLE_FORMATS

    for known in TABLE_FORMATS:
        if name == known:
            return known
    raise UnknownName("format of tables", name, TABLE_FORMATS)
