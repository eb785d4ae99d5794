"""What all verbs share: options, progress, and the one place where a known error becomes one line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from palpate.errors import MissingExtra, PalpateError
from palpate.files import check_folder, write_text

KNOWN_ERROR, GATE_FAILED = 1, 3
Tell = Callable[[str], None]
"""Called with the name of each step."""

Data = Annotated[
    Path | None, typer.Option("--data", help="Folder of the recordings, where it is not the experiment file's own.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Name each step and the time it took.")]


@contextmanager
def known_errors() -> Generator[None]:
    """A known error is one line on stderr and exit code 1; an unknown one keeps its traceback."""
    try:
        yield
    except PalpateError as error:
        typer.echo(f"palpate: {error}", err=True)
        raise typer.Exit(KNOWN_ERROR) from None
    except KeyboardInterrupt:
        typer.echo("palpate: interrupted; nothing half-written was left", err=True)
        raise typer.Exit(130) from None


@contextmanager
def progress(*, quiet: bool, verbose: bool, title: str = "") -> Generator[Tell]:
    """A function to call with the name of each step: a spinner on a terminal, a line a step with -v, else silence."""
    if quiet:
        yield lambda _: None
    elif verbose:
        began: list[tuple[str, float]] = []

        def tell(step: str) -> None:
            if began:
                last, start = began[-1]
                typer.echo(f"{title + ': ' if title else ''}{last}: {perf_counter() - start:.2f} s", err=True)
            began.append((step, perf_counter()))

        yield tell
        tell("")
    else:
        from rich.console import Console

        with Console(stderr=True).status(title or "working") as status:
            yield lambda step: status.update(f"{title}: {step} …" if title else f"{step} …")


def finish(
    data: Any,
    text: Callable[[], Any],
    paths: Sequence[Path] = (),
    *,
    as_json: bool,
    quiet: bool,
    failure: str = "",
    save: Path | None = None,
) -> None:
    """Print a result as JSON or text, and what was written; a failed gate (`failure`) ends with its own exit code.

    `save`: a file for the data.
    """
    if save is not None:
        save_json(save, data)
        paths = [*paths, save]
    if as_json:
        show_json(data)
    elif not quiet:
        show(text())
        if paths:
            typer.echo(f"\nWritten: {', '.join(map(str, paths))}")
    if failure:
        if quiet:
            typer.echo(f"palpate: {failure}", err=True)
        raise typer.Exit(GATE_FAILED)


def show(renderable: Any) -> None:
    """Print text or a table; that is wide enough for its columns where the output is no terminal."""
    if isinstance(renderable, str):
        typer.echo(renderable)
        return
    from rich.console import Console

    console = Console() if sys.stdout.isatty() else Console(width=140)
    console.print(renderable, highlight=False)


def show_json(data: Any) -> None:
    """Print JSON."""
    typer.echo(json.dumps(data, indent=1))


def save_json(path: Path, data: Any) -> None:
    """Write JSON into a file."""
    write_text(path, json.dumps(data, indent=1, allow_nan=False) + "\n")


def save_page(path: Path, write: Callable[..., Any], *arguments: Any, **options: Any) -> list[Path]:
    """Write a page where its libraries are there; without them a message says so."""
    try:
        write(path, *arguments, **options)
    except MissingExtra as missing:
        typer.echo(f"palpate: {path.name} is not written: {missing}", err=True)
        return []
    return [path]


def model_file(path: Path) -> Path:
    """The model that a path names: a file, or the one in the folder of a result."""
    return path / "model.json" if path.is_dir() else path


def output_folder(out: Path | None, otherwise: str) -> Path:
    """Where results go: the given folder, else one of this name; a file of that name is refused."""
    folder = out if out is not None else Path(otherwise)
    check_folder(folder)
    return folder


def numbers(option: str, text: str) -> list[float]:
    """Numbers with commas between them."""
    try:
        return [float(x) for x in text.replace(";", ",").split(",")]
    except ValueError:
        raise PalpateError(f"{option} must be numbers with commas between them, not {text!r}") from None
