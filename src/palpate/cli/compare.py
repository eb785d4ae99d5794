"""palpate compare: several results side by side, and what they say together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from palpate.cli.console import Json, Quiet, finish, known_errors, save_json
from palpate.errors import PalpateError


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
        from palpate.experiment.comparison import compare as compare_results
        from palpate.experiment.comparison import mean_model
        from palpate.experiment.stage.result import read_result
        from palpate.model import Model
        from palpate.report.tables import comparison_text

        data = compare_results(dict(zip(_labels(results), map(read_result, results), strict=True)))
        if model is not None:
            if data["differing"]:
                named = ", ".join(data["differing"])
                raise PalpateError(f"there is no mean of these models: they differ in {named} by more than their noise")
            mean_model([Model.load(_folder(path) / "model.json") for path in results]).save(model)
        if out is not None:
            save_json(out, data)
        written = [path for path in (model, out) if path is not None]
        finish(data, lambda: comparison_text(data), written, as_json=as_json, quiet=quiet)


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _labels(paths: list[Path]) -> list[str]:
    """Short names that tell the results apart."""
    folders = [_folder(path).resolve() for path in paths]
    for depth in (1, 2, 3):
        labels = ["/".join(folder.parts[-depth:]) for folder in folders]
        if len(set(labels)) == len(labels):
            return labels
    return [f"{i + 1}: {folder.name}" for i, folder in enumerate(folders)]
