"""From bare recordings to an experiment file: `palpate new` guesses, a person corrects the guesses in a form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from palpate.errors import FileProblem, PalpateError
from palpate.experiment.file.reading import read_experiment
from palpate.experiment.file.yaml_text import parse
from palpate.experiment.guessing import guess_experiment
from palpate.files import write_text
from palpate.model import shipped_objects
from palpate.recording import load
from palpate.studio.document import Changes, changed
from palpate.studio.folder import YAML, Folder


def guess(folder: Folder, files: Sequence[str], header: str, rate: float | None) -> dict[str, Any]:
    """An experiment file for these recordings, with what was guessed in it and why, and a name for it."""
    if not files:
        raise PalpateError("choose the recordings of one take first")
    paths = [folder.path(name) for name in files]
    file = paths[0].with_suffix(".yaml")
    names = [column.strip() for column in header.split(",")] if header.strip() else None
    made = guess_experiment(paths, file=file, header=names, rate=rate)
    tree, _ = parse(file, made.text)
    first: Any = next(iter(tree["recordings"].values()))  # what moves comes first, and names the experiment
    part: dict[str, Any] = cast("list[Any]", first)[0] if isinstance(first, list) else first
    file = _free_name(folder, file.parent / str(part["file"]))
    guesses = [{"key": g.key, "value": g.value, "why": g.why} for g in made.guesses]
    columns = {name: _columns(path) for name, path in zip(files, paths, strict=True)}
    more = {"file": folder.name(file), "guesses": guesses, "columns": columns, "objects": sorted(shipped_objects())}
    return draft(folder, folder.name(file), made.text, {}) | more


def _free_name(folder: Folder, recording: Path) -> Path:
    """A name beside the recording that no file has."""
    stem = recording.stem
    names = (recording.with_name(f"{stem}{number}.yaml") for number in ("", *(f"-{i}" for i in range(2, 100))))
    path = next(p for p in names if not p.exists())
    folder.name(path)
    return path


def _columns(path: Path) -> list[dict[str, str]]:
    """What a recording holds; nothing where only a header or a rate would tell."""
    try:
        return [{"name": c.name, "unit": c.stated or c.unit} for c in load(path).channels.values()]
    except PalpateError:
        return []


def draft(folder: Folder, file: str, text: str, changes: Changes) -> dict[str, Any]:
    """A text with some keys changed, as a tree for the form, and what is still wrong with it."""
    path = folder.path(file)
    text = changed(path, text, changes) if changes else text
    tree, _ = parse(path, text)
    problem = ""
    try:
        folder.check(read_experiment(path, text=text))
    except PalpateError as error:
        problem = str(error).replace(f"{path.parent}/", "")
    return {"text": text, "tree": tree, "problem": problem}


def create(folder: Folder, file: str, text: str) -> Path:
    """Write a new experiment file; one that exists is left alone."""
    path = folder.path(file)
    if path.suffix.lower() not in YAML:
        raise FileProblem(file, "an experiment file ends in .yaml", remedy="name it so")
    if path.exists():
        raise FileProblem(file, "the file exists already", remedy="choose another name")
    experiment = read_experiment(path, text=text)
    folder.check(experiment)
    if getattr(experiment.config, "parts", None) is not None:
        raise FileProblem(file, "parts cannot be set in the studio", remedy="add the key in an editor")
    write_text(path, text)
    return path
