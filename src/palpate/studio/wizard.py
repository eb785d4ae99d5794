"""From bare recordings to an experiment file: `palpate new` guesses, a person corrects the guesses in a form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from palpate.errors import DataProblem, FileProblem, PalpateError
from palpate.experiment.file.reading import read_experiment
from palpate.experiment.file.yaml_text import parse
from palpate.experiment.guessing import guess_experiment
from palpate.files import write_text
from palpate.model import load_object, shipped_objects
from palpate.recording import load
from palpate.studio.document import Changes, changed
from palpate.studio.folder import YAML, Folder

MADE = "# Written in palpate studio from the recordings. What was guessed and not changed is marked GUESS.\n"


def guess(folder: Folder, files: Sequence[str], header: str, rate: float | None) -> dict[str, Any]:
    """An experiment file for these recordings, with what was guessed in it and why, and a name for it."""
    if not files:
        raise PalpateError("choose the recordings of one take first")
    paths = [folder.path(name) for name in files]
    file = paths[0].with_suffix(".yaml")
    names = [column.strip() for column in header.split(",")] if header.strip() else None
    made = guess_experiment(paths, file=file, header=names, rate=rate)
    tree, _ = parse(file, made.text)
    held: dict[str, Any] = tree["recordings"]  # what tells the motion names the experiment
    first: Any = next((held[key] for key in ("signals", "poses", "mocap", "wrench") if key in held), None)
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
    before, _ = parse(path, text)
    if before.get("stage") == "motion" and "object" in changes:
        changes = {**_of_body(path, before, str(changes["object"])), **changes}
        text = re.sub(r"\A(#.*\n)+", MADE, text)  # it speaks of a capture
    text = changed(path, text, changes) if changes else text
    tree, _ = parse(path, text)
    problem = ""
    try:
        folder.check(read_experiment(path, text=text))
        if tree.get("stage") == "motion":
            raise PalpateError("say what it is: without an object nothing is identified")
    except PalpateError as error:
        problem = str(error).replace(f"{path.parent}/", "")
    return {"text": text, "tree": tree, "problem": problem}


def _of_body(path: Path, tree: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What turns the file of a capture into that of an object: a sensor's markers, where it turns, two segments."""
    if load_object(name).mechanism.floor:
        remedy = f"start with palpate new {name}, and open its file here"
        raise DataProblem(name, "which markers are its wheels' or feet's is too much for this form", remedy=remedy)
    recording = load(path.parent / str(tree["recordings"]["mocap"]["file"]))
    times = next(iter(recording.channels.values())).clock.times_s
    ends = [round(float(times[0] + share * (times[-1] - times[0])), 2) for share in (0.02, 0.6, 0.61, 0.98)]
    turns = [joint.kind for joint in load_object(name).mechanism.joints] == ["turn"]
    place = {"rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "translation": [0, 0, 0]}
    return {
        "stage": "body",
        "title": None,
        "markers.sensor": {"markers": list(tree["markers"]["body"][:3]), "offset": place},
        **({"markers.hinge": {}} if turns else {}),
        "segments": {"train": ends[:2], "test": ends[2:]},
    }


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
