"""palpate inspect: what is in these files, and how they fit together."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palpate.cli.console import Json, Quiet, known_errors, progress, show, show_json

if TYPE_CHECKING:
    from palpate.cli.console import Tell
    from palpate.experiment.inspection import Inspection
    from palpate.recording import Recording


def inspect(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Recordings in any format that palpate reads, or an experiment file (.yaml) that names them."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--html", "-o", help="Write a page with plots to this file (needs palpate[report]).")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--table",
            help="Write poses, motion, hinge angle and wrench, a row a frame (.csv or .parquet; stage motion).",
        ),
    ] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="The files' format [default: found out from each].")
    ] = None,
    time: Annotated[str | None, typer.Option("--time", help="Plain tables: header of the column of times.")] = None,
    time_unit: Annotated[
        str | None, typer.Option("--time-unit", help="Plain tables: unit of the times, s, ms, us or ns.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", help="Plain tables without times: samples per second.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what recordings hold: channels, markers, gaps, noise, clocks."""
    with known_errors():
        if out is not None:
            from palpate.report.page import require_plotly

            require_plotly()
        if table is not None:
            _check_table(table)
        with progress(quiet=quiet or as_json, verbose=False, title="inspecting") as tell:
            inspection, hints = _inspect(files, format_, time, time_unit, rate, tell)
            if out is not None:
                tell("drawing")
                from palpate.report.inspection import write_inspection

                write_inspection(out, inspection)
            if table is not None:
                tell("writing the table")
                _write_table(table, inspection)
        with _closed_pipe_is_no_error():
            if as_json:
                show_json(_data(inspection, hints))
            elif not quiet:
                _print(inspection, hints)
                for written in (out, table):
                    if written is not None:
                        typer.echo(f"Written: {written}")


def _inspect(
    files: Sequence[Path],
    format_: str | None,
    time: str | None,
    time_unit: str | None,
    rate: float | None,
    tell: Tell,
) -> tuple[Inspection, list[str]]:
    """The inspection, and for each recording where the unit of its times is said."""
    from palpate.errors import PalpateError
    from palpate.experiment.inspection import inspect_recordings

    tell("reading")
    if any(_is_experiment(path) for path in files):
        if len(files) > 1:
            raise PalpateError("an experiment file names its recordings: inspect it alone")
        return _inspect_experiment(files[0], tell)
    recordings = [_read(path, format_, time, time_unit, rate, alone=len(files) == 1) for path in files]
    tell("aligning and comparing clocks")
    title = ", ".join(path.name for path in files)
    return inspect_recordings(recordings, title), ["--time-unit ms"] * len(recordings)


def _is_experiment(path: Path) -> bool:
    return path.suffix.lower() in (".yaml", ".yml") and path.name != "metadata.yaml"


def _inspect_experiment(path: Path, tell: Tell) -> tuple[Inspection, list[str]]:
    """What an experiment file names, read as it says."""
    from palpate.experiment.file.reading import read_experiment, recordings_of
    from palpate.experiment.handle_inputs import load_part
    from palpate.experiment.inspection import inspect_motion, inspect_recordings

    experiment = read_experiment(path)
    parts = recordings_of(experiment)
    recordings = [load_part(experiment, f"recordings.{name}", part) for name, part in parts.items()]
    hints = [f"recordings.{name}.time: {{column: ..., unit: ms}}" for name in parts]
    title = experiment.config.title or path.name
    if experiment.config.stage == "motion":
        from palpate.experiment.motion import build_motion

        return inspect_motion(title, recordings, build_motion(experiment, tell)), hints
    tell("comparing clocks")
    return inspect_recordings(recordings, title), hints


def _read(
    path: Path, format_: str | None, time: str | None, time_unit: str | None, rate: float | None, *, alone: bool
) -> Recording:
    from palpate.errors import FileProblem
    from palpate.recording import FORMATS, load
    from palpate.recording.formats import recognise
    from palpate.recording.table import headers, time_column

    found = format_ or recognise(path)
    options: dict[str, Any] = {} if rate is None else {"rate": rate}
    if found in FORMATS and "rate" not in FORMATS[found].options and not alone:
        options = {}  # one command may show a table, which needs them, and other files, which do not
    elif time is not None or time_unit is not None:
        column = time or (time_column(path) if found in ("csv", "parquet") else None)
        if column is None:
            named = ", ".join(headers(path)) if found in ("csv", "parquet") else "see its documentation"
            raise FileProblem(path, "no column looks like time", remedy=f"say which it is with --time: {named}")
        options["time"] = {"column": column, "unit": _unit_of_time(time_unit)}
    return load(path, format=format_, **options)


def _write_table(path: Path, inspection: Inspection) -> None:
    from palpate.errors import PalpateError
    from palpate.experiment.motion_table import motion_recording
    from palpate.recording import FORMATS

    if inspection.motion is None:
        raise PalpateError("--table: only an experiment file of the motion stage says what moved (stage: motion)")
    FORMATS[path.suffix.lower().removeprefix(".")].write(path, motion_recording(inspection.motion))


def _check_table(path: Path) -> None:
    from palpate.errors import PalpateError

    if path.suffix.lower() not in (".csv", ".parquet"):
        raise PalpateError(f"--table: {path.name} must end in .csv or .parquet")


def _unit_of_time(unit: str | None) -> str:
    from palpate.errors import PalpateError
    from palpate.experiment.file.quantities import unit_of_time

    try:
        return unit_of_time(unit or "")
    except ValueError as error:
        raise PalpateError(f"--time-unit: {error}") from None


def _data(inspection: Inspection, hints: Sequence[str]) -> dict[str, Any]:
    from palpate.experiment.inspection_data import inspection_data
    from palpate.report.inspection import describe

    described = [describe(r, hint) for r, hint in zip(inspection.recordings, hints, strict=True)]
    return {"recordings": described, **inspection_data(inspection)}


def _print(inspection: Inspection, hints: Sequence[str]) -> None:
    from palpate.report.inspection import describe, inspection_text, recordings_text

    described = [describe(r, hint) for r, hint in zip(inspection.recordings, hints, strict=True)]
    show(recordings_text(described))
    show(inspection_text(inspection))


@contextmanager
def _closed_pipe_is_no_error() -> Generator[None]:
    """`palpate inspect ... | head` has seen enough: no message, exit code 0."""
    import os
    import sys

    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich turns the one into the other
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from None
