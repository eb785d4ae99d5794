"""palpate compare: several results side by side, and what they say together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from palpate.cli.console import Json, Quiet, known_errors, show, show_json
from palpate.errors import PalpateError
from palpate.files import write_text


def compare(
    results: Annotated[list[Path], typer.Argument(help="Folders of results, or result.json files; two at least.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File for the numbers, JSON.")] = None,
    model: Annotated[
        Path | None, typer.Option("--model", help="Write the mean of the results' models to this file.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare several identifications of one object: each number, the mean, and the spread between takes."""
    with known_errors():
        from palpate.experiment.comparison import compare as compared
        from palpate.experiment.comparison import mean_model
        from palpate.experiment.result_file import read_result
        from palpate.model import Model

        found = compared(dict(zip(_labels(results), map(read_result, results), strict=True)))
        written: list[Path] = []
        if model is not None and found["differing"]:
            named = ", ".join(found["differing"])
            raise PalpateError(f"there is no mean of these models: they differ in {named} by more than their noise")
        if model is not None:
            folders = [path if path.is_dir() else path.parent for path in results]
            mean_model([Model.load(folder / "model.json") for folder in folders]).save(model)
            written.append(model)
        if out is not None:
            write_text(out, json.dumps(found, indent=1, allow_nan=False) + "\n")
            written.append(out)
        if as_json:
            show_json(found)
        elif not quiet:
            from palpate.report.tables import comparison_text

            show(comparison_text(found))
            if written:
                typer.echo(f"\nWritten: {', '.join(map(str, written))}")


def _labels(paths: list[Path]) -> list[str]:
    """Short names that tell the results apart."""
    folders = [(path if path.is_dir() else path.parent).resolve() for path in paths]
    for depth in (1, 2, 3):
        found = ["/".join(folder.parts[-depth:]) for folder in folders]
        if len(set(found)) == len(found):
            return found
    return [f"{i + 1}: {folder.name}" for i, folder in enumerate(folders)]
