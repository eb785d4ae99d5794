"""The pages of `compare` and `validate`, made of results in the folder as the Library asks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from palpate.experiment.comparison import compare
from palpate.experiment.file.reading import read_experiment
from palpate.experiment.stage.result import read_result
from palpate.experiment.validation import validate
from palpate.files import short_names
from palpate.model import Model
from palpate.report.judging import write_comparison_page, write_validation_page
from palpate.studio.folder import Folder


def compared(folder: Folder, results: Sequence[str]) -> dict[str, Any]:
    """Results of the folder side by side, as data."""
    paths = [folder.path(name) for name in results]
    labels = short_names([path.parent for path in paths])
    return compare(dict(zip(labels, map(read_result, paths), strict=True)))


def comparison_page(folder: Folder, results: Sequence[str]) -> str:
    """The page of `palpate compare`."""
    return _made(write_comparison_page, compared(folder, results))


def validation_page(folder: Folder, result: str, file: str) -> str:
    """The page of `palpate validate`: a result's model on the recordings of an experiment."""
    path = folder.beside(result, "model.json")
    experiment = read_experiment(folder.path(file))
    folder.check(experiment)
    return _made(write_validation_page, validate(Model.load(path, experiment.parts), experiment, path=path).data)


def _made(write: Callable[[Path, Any], None], data: Any) -> str:
    with TemporaryDirectory(prefix="palpate-studio-") as scratch:
        path = Path(scratch) / "page.html"
        write(path, data)
        return path.read_text(encoding="utf-8")
