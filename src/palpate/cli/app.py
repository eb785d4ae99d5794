"""The verbs; each parses, calls the public API and prints."""

from __future__ import annotations

from typing import Annotated

import typer

from palpate.cli.console import verb
from palpate.cli.identify import compare, explain, identify, reproduce, validate, variants
from palpate.cli.inspect import inspect
from palpate.cli.model import export, simulate
from palpate.cli.start import demo, new, schema, twin
from palpate.cli.studio import studio

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 fine, 1 known error in one line, 2 usage, 3 finished but a quality gate failed.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("palpate"))
        raise typer.Exit


@app.callback()
def palpate(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Measure how a real object feels and give that feel to a robot."""


VERBS = (
    *(demo, new, twin, studio, inspect, explain),
    *(identify, variants, validate, compare),
    *(simulate, export),
    *(reproduce, schema),
)
"""In the order of the work: begin, look, identify and judge, use; then what few people need."""
for function in VERBS:
    app.command()(verb(function))
