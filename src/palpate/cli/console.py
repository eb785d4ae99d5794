"""What all verbs share: options, progress, and the one place where a known error becomes one line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from palpate.errors import PalpateError

KNOWN_ERROR, GATE_FAILED = 1, 3
Tell = Callable[[str], None]
"""Called with the name of each step."""

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
    """A function to be told of each step: a spinner on a terminal, with -v a line a step, otherwise silence."""
    if quiet:
        yield lambda _: None
        return
    if verbose:
        yield from _spoken(title)
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(title or "working") as status:
        yield lambda step: status.update(f"{title}: {step} …" if title else f"{step} …")


def _spoken(title: str) -> Generator[Tell]:
    from time import perf_counter

    began: list[tuple[str, float]] = []

    def tell(step: str) -> None:
        if began:
            typer.echo(
                f"{title + ': ' if title else ''}{began[-1][0]}: {perf_counter() - began[-1][1]:.2f} s", err=True
            )
        began.append((step, perf_counter()))

    yield tell
    tell("")


def show(renderable: Any) -> None:
    """Print a table or text; wide enough for its columns where the output is no terminal."""
    from rich.console import Console

    console = Console() if sys.stdout.isatty() else Console(width=140)
    console.print(renderable, highlight=False)


def show_json(data: Any) -> None:
    """Print JSON."""
    typer.echo(json.dumps(data, indent=1))
