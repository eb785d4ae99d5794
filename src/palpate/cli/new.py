"""palpate new: a commented experiment file to edit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from palpate.cli.console import Json, Quiet, known_errors, show_json


def new(
    object_: Annotated[
        str,
        typer.Argument(
            metavar="OBJECT", help="handle, door, wheelbarrow, hand-truck, motion, ... or an object file of your own."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write; - prints it [default: OBJECT.yaml].")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a commented experiment file to edit."""
    with known_errors():
        import os

        from palpate.errors import FileProblem
        from palpate.experiment.file.starting import starting_experiment
        from palpate.files import write_text

        own = Path(object_).suffix.lower() in (".yaml", ".yml")
        if out is not None and str(out) == "-":
            typer.echo(starting_experiment(object_), nl=False)
            return
        path = out if out is not None else Path(f"{Path(object_).stem}-experiment.yaml" if own else f"{object_}.yaml")
        seen_from_there = os.path.relpath(object_, path.parent) if own else None
        text = starting_experiment(object_, file=path.name, object_path=seen_from_there)
        if path.is_dir():
            raise FileProblem(path, "is a folder", remedy="name the file to write")
        if path.exists() and not force:
            raise FileProblem(path, "there is such a file already", remedy="choose another with -o, or --force")
        write_text(path, text)
        if as_json:
            show_json({"experiment": str(path)})
        elif not quiet:
            verb = "inspect" if object_ == "motion" else "identify"
            typer.echo(
                f"Written: {path}. Put your own values in the lines marked EDIT ({text.count('# EDIT')}), then:\n"
                f"  palpate {verb} {path}"
            )
