"""palpate inspect: what is in these files."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palpate.cli.console import Json, Quiet, known_errors, progress, show, show_json

if TYPE_CHECKING:
    from palpate.recording import Channel, Clock, Recording

_TABLES = ("csv", "parquet")
_TIME = re.compile(r"(time|t|time[ _]?stamps?|elapsed)([ _](s|ms|us|ns))?", re.IGNORECASE)


def inspect(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Recordings in any format that palpate reads, or an experiment file (.yaml) that names them."
        ),
    ],
    format_: Annotated[
        str | None,
        typer.Option("--format", help="vicon-csv, dspace-mat, microstrain-csv, csv or parquet [default: found out]."),
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
    """Show the channels of recordings: units, rates, gaps, range and noise."""
    with known_errors():
        described: list[dict[str, Any]] = []
        for path in files:
            with progress(quiet=quiet or as_json, verbose=False, title=path.name) as tell:
                tell("reading")
                read = list(_read(path, format_, time, time_unit, rate, alone=len(files) == 1))
                described += [describe(recording, hint) for recording, hint in read]
            if not as_json and not quiet:
                with _closed_pipe_is_no_error():
                    show(_table(described[-len(read) :]))
        if as_json:
            with _closed_pipe_is_no_error():
                show_json(described)


def _read(
    path: Path, format_: str | None, time: str | None, time_unit: str | None, rate: float | None, *, alone: bool
) -> Iterator[tuple[Recording, str]]:
    """The recordings that a file is or, as an experiment file, names; each with where the unit of times is said."""
    from palpate.recording import FORMATS, load
    from palpate.recording.formats import recognise

    if path.suffix.lower() in (".yaml", ".yml"):
        yield from _named_in(path)
        return
    found = format_ or recognise(path)
    options: dict[str, Any] = {} if rate is None else {"rate": rate}
    if found not in _TABLES and found in FORMATS and not alone:
        options = {}  # one command may show a table, which needs them, and other files, which do not
    elif time is not None or time_unit is not None:
        column = time or (_time_column(path, found) if found in _TABLES else "")
        options["time"] = {"column": column, "unit": _unit_of_time(time_unit)}
    yield load(path, format=format_, **options), "--time-unit ms"


def _named_in(path: Path) -> Iterator[tuple[Recording, str]]:
    """What an experiment file names, read as `palpate identify` reads it."""
    from palpate.errors import PalpateError
    from palpate.experiment.reading import load_options, read_experiment, recordings_of
    from palpate.recording import load

    experiment = read_experiment(path)
    for name, part in recordings_of(experiment).items():
        try:
            recording = load(experiment.path(part.file), format=part.format, **load_options(part))
        except PalpateError as error:
            raise experiment.problem(f"recordings.{name}", str(error)) from error
        yield recording, f"recordings.{name}.time: {{column: ..., unit: ms}}"


def _unit_of_time(unit: str | None) -> str:
    from palpate.errors import PalpateError
    from palpate.experiment.quantities import unit_of_time

    try:
        return unit_of_time(unit or "")
    except ValueError as error:
        raise PalpateError(f"--time-unit: {error}") from None


def _time_column(path: Path, format_: str) -> str:
    """The header that the reader would take for the time's, so that only its unit need be said."""
    from palpate.errors import FileProblem
    from palpate.recording.si import split_header

    headers = list(_headers(path, format_))
    for header in headers:
        if _TIME.fullmatch(split_header(header)[0]):
            return header
    raise FileProblem(path, "no column looks like time", remedy=f"say which it is with --time: {', '.join(headers)}")


def _headers(path: Path, format_: str) -> Sequence[str]:
    from palpate.files import read_bytes
    from palpate.recording.signature import is_number, separator_of
    from palpate.recording.text import as_utf8, first_lines, split

    if format_ == "parquet":
        import polars as pl

        return list(pl.read_parquet_schema(path))
    lines, _ = first_lines(as_utf8(read_bytes(path)), 0, 200)
    cells = [split(line.lstrip("#%/ "), separator_of(line)) for line in lines if line.strip()]
    # the last line before the numbers, as it may stand behind comments
    first = next((i for i, row in enumerate(cells) if is_number(row[0])), len(cells))
    return cells[max(first - 1, 0)] if cells else []


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


def describe(recording: Recording, unit_remedy: str = "--time-unit ms") -> dict[str, Any]:
    """A recording's channels and clocks as plain data; `unit_remedy` is how to say that times are milliseconds."""
    return {
        "file": str(recording.source),
        "format": recording.format,
        "clocks": [
            {
                "name": c.name,
                "samples": len(c),
                "rate_hz": c.rate_hz,
                "from_s": float(c.times_s[0]),
                "to_s": float(c.times_s[-1]),
                "gaps": c.gaps,
                "largest_gap_s": c.largest_gap_s,
                "jitter_s": c.jitter_s,
                "hint": f"times look like milliseconds: {unit_remedy}"
                if recording.format in _TABLES and _looks_like_ms(c)
                else None,
            }
            for c in recording.clocks
        ],
        "channels": [_describe_channel(channel) for channel in recording.channels.values()],
    }


def _looks_like_ms(clock: Clock) -> bool:
    """Nobody records hands below 5 Hz, but whole milliseconds read as seconds look like that."""
    import numpy as np

    if len(clock) < 3:
        return False
    step = float(np.median(np.diff(clock.times_s)))
    return 1 / step < 5 and abs(step - round(step)) < 1e-6 and 1 <= round(step) <= 20


def _describe_channel(channel: Channel) -> dict[str, Any]:
    import numpy as np

    seen = channel.samples[np.isfinite(channel.samples).reshape(len(channel.samples), -1).all(axis=1)]
    second = np.diff(seen, n=2, axis=0)
    return {
        "name": channel.name,
        "unit": channel.unit,
        "frame": channel.frame,
        "clock": channel.clock.name,
        "missing": channel.missing,
        "lowest": float(seen.min()) if len(seen) else None,
        "highest": float(seen.max()) if len(seen) else None,
        # white noise has second differences of variance 6 sigma^2; motion hardly has any
        "noise": float(np.median(np.abs(second)) / 0.6745 / 6**0.5) if len(second) else None,
    }


def _table(described: Sequence[dict[str, Any]]) -> Any:
    from rich.console import Group

    return Group(*(line for data in described for line in _lines(data)))


def _lines(data: dict[str, Any]) -> list[Any]:
    from rich.table import Table
    from rich.text import Text

    lines: list[Any] = [Text(f"\n{data['file']} ({data['format']})", style="bold")]
    for c in data["clocks"]:
        gaps = f"{c['gaps']} gaps, longest {c['largest_gap_s']:.3f} s" if c["gaps"] else "no gaps"
        lines.append(
            Text(
                f"clock {c['name']}: {c['samples']} samples at {c['rate_hz']:.6g} Hz, "
                f"{c['from_s']:.3f} to {c['to_s']:.3f} s, {gaps}, jitter {1e6 * c['jitter_s']:.0f} µs"
            )
        )
        if c["hint"]:
            lines.append(Text(f"hint: {c['hint']}", style="yellow"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("channel", "unit", "frame", "clock"):
        table.add_column(heading)
    for heading in ("missing", "lowest", "highest", "noise"):
        table.add_column(heading, justify="right")
    for c in data["channels"]:
        numbers = ("-" if c[k] is None else f"{c[k]:.4g}" for k in ("lowest", "highest", "noise"))
        table.add_row(c["name"], c["unit"], c["frame"] or "-", c["clock"], str(c["missing"]), *numbers)
    return [*lines, table]
