"""What gives a person something to start with: palpate new (a commented experiment file), palpate twin (a simulated
experiment in the real file formats) and palpate demo (every stage on two of them).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import palpate
from palpate.cli.console import Done, OwnParts, argument, objects, one_of, option
from palpate.cli.identify import save_result
from palpate.errors import FileProblem, PalpateError, UnknownName
from palpate.files import nearest_file, write_text
from palpate.progress import Tell, portion

STAGES = ("wheelbarrow", "door")
"""The twins of the demo."""
_OWNERS = {"poor": ("handle", "door", "wheelbarrow"), "clean": ("capture",)}
"""The kinds of twin that an option is for."""


def new(
    _: Tell,
    things: Annotated[
        list[str],
        argument(
            "handle, door, ... or your object file; or your recordings, at which it looks.",
            metavar="OBJECT",
            **one_of(objects),
        ),
    ],
    out: Annotated[Path | None, option("--out", "-o", "File to write; - prints it [default: OBJECT.yaml].")] = None,
    force: Annotated[bool, option("--force", "Overwrite the file if it exists.")] = False,
    header: Annotated[str | None, option("--header", "A table without a header: t,angle,torque.")] = None,
    rate: Annotated[float | None, option("--rate", "A table without times: samples per second.")] = None,
    parts: OwnParts = None,
) -> Done | None:
    """Write an experiment file to edit, or guess one from recordings."""
    from palpate.experiment.file.starting import starting_experiment, starting_names

    name, recordings = things[0], [Path(thing) for thing in things]
    is_object = Path(name).suffix.lower() in (".yaml", ".yml")
    if len(things) > 1 or (name not in starting_names() and not is_object and recordings[0].exists()):
        return _guessed(recordings, out, force, header, rate)
    if name not in starting_names() and not is_object and (Path(name).suffix or recordings[0].parent != Path()):
        raise FileProblem(name, "there is no such file", remedy=nearest_file(Path(name)))
    if header is not None or rate is not None:
        raise PalpateError("--header and --rate are for recordings, such as palpate new log.csv --rate 100")
    if out is not None and str(out) == "-":
        typer.echo(starting_experiment(name, parts=parts), nl=False)
        return None
    path = out if out is not None else Path(f"{Path(name).stem}-experiment.yaml" if is_object else f"{name}.yaml")
    relative = os.path.relpath(name, path.parent) if is_object else None
    text = starting_experiment(name, file=path.name, object_path=relative, parts=parts)
    _write_new(path, text, force)
    verb, lines = "inspect" if name == "motion" else "identify", f"the lines marked EDIT ({text.count('# EDIT')})"
    said = f"Written: {path}. Put your own values in {lines}, then:\n  palpate {verb} {path}"
    return Done({"experiment": str(path)}, lambda: said)


def _guessed(
    recordings: list[Path], out: Path | None, force: bool, header: str | None, rate: float | None
) -> Done | None:
    """The experiment file of recordings, and on the terminal what in it nobody stated."""
    from palpate.experiment.guessing import guess_experiment

    path = out if out is not None else Path(f"{recordings[0].stem}.yaml")
    names = None if header is None else [column.strip() for column in header.split(",")]
    made = guess_experiment(recordings, file=path, header=names, rate=rate)
    if str(path) == "-":
        typer.echo(made.text, nl=False)
        return None
    _write_new(path, made.text, force)
    guesses = [{"key": g.key, "value": g.value, "why": g.why} for g in made.guesses]
    listed = "\n".join(f"  {g.key}: {g.value}\n      {g.why}" for g in made.guesses)
    edits = f" and your own values in the lines marked EDIT ({count})" if (count := made.text.count("# EDIT")) else ""
    said = f"Written: {path}. Guessed, and marked GUESS in it:\n{listed}\nCorrect what is wrong{edits}, then:"
    said += f"\n  palpate {made.verb} {path}"
    return Done({"experiment": str(path), "guesses": guesses}, lambda: said)


def _write_new(path: Path, text: str, force: bool) -> None:
    if path.is_dir():
        raise FileProblem(path, "is a folder", remedy="name the file to write")
    if path.exists() and not force:
        raise FileProblem(path, "the file exists already", remedy="choose another with -o, or --force")
    write_text(path, text)


def schema(
    _: Tell,
    kind: Annotated[str, argument("experiment, motion (its stage has other keys) or object.")] = "experiment",
    out: Annotated[Path | None, option("--out", "-o", "File to write [default: printed].")] = None,
    parts: OwnParts = None,
) -> Done:
    """Print the JSON Schema of experiment files or object files. Editors complete and check YAML by it."""
    from palpate.experiment.file.json_schema import file_schema

    made = file_schema(kind) if parts is None else file_schema(kind, palpate.load_parts(parts))
    return Done(made, lambda: "" if out is not None else json.dumps(made, indent=1), save=out)


def twin(
    tell: Tell,
    kind: Annotated[
        str,
        argument(
            "handle, door, drawer, box, cart, wheelbarrow, ... (every object that ships), capture, authors.",
            **one_of(lambda: [*objects(), "capture", "authors"]),
        ),
    ],
    out: Annotated[Path, argument("Folder to write into.")],
    seed: Annotated[int | None, option("--seed", "Random object and motion [default: the paper's].", min=0)] = None,
    poor: Annotated[bool, option("--poor", "handle, door, wheelbarrow: moved too little or one way only.")] = False,
    clean: Annotated[bool, option("--clean", "capture: no marker is hidden, swapped or moved on the body.")] = False,
    force: Annotated[bool, option("--force", "Write into a folder that is not empty.")] = False,
) -> Done:
    """Simulate an experiment, with its truth. Writes recordings, experiment file and truth.json."""
    tell("simulating", 0.0)
    from palpate.experiment.paper.reproduce import TRUTH_FILE
    from palpate.twin import TWINS

    if kind not in TWINS:
        raise UnknownName("kind of twin", kind, TWINS)
    options: dict[str, int | bool] = {} if seed is None else {"seed": seed}
    for wish in [name for name, wanted in (("poor", poor), ("clean", clean)) if wanted]:
        if kind not in _OWNERS[wish]:
            known = " and ".join(map(repr, _OWNERS[wish]))
            raise PalpateError(f"--{wish}: not for {kind!r}, only for {known}")
        options[wish] = True
    if out.is_dir() and any(out.iterdir()) and not force:
        raise FileProblem(out, "the folder is not empty", remedy="choose another, or --force")
    experiment = TWINS[kind](out, **options)
    verb = {"capture": "inspect", "authors": "reproduce"}.get(kind, "identify")
    truth = out / (TRUTH_FILE if kind == "authors" else "truth.json")
    text = f"Written: {experiment}, its recordings, and {truth.name}. Next:\n  palpate {verb} {experiment}"
    return Done({"experiment": str(experiment), "truth": str(truth)}, lambda: text)


def demo(
    tell: Tell,
    out: Annotated[Path, argument("Folder to write into.")] = Path("demo"),
) -> Done:
    """Run everything on simulated objects. Recordings, models, tables and reports, with the paper's values."""
    from rich.console import Group

    from palpate.experiment.tables import result_text, summary_table
    from palpate.twin import TWINS

    results: dict[str, dict[str, Any]] = {}
    for i, kind in enumerate(STAGES):
        folder = out / kind
        here = portion(tell, i / len(STAGES), (i + 1) / len(STAGES), f"{kind}, ")
        here("simulating", 0.0)
        experiment = palpate.read_experiment(TWINS[kind](folder))
        result = palpate.run_experiment(experiment, portion(here, 0.2, 0.9))
        here("writing the report", 0.9)
        save_result(result, folder)
        stages = {**dict(zip(("handle",), result.handles, strict=False)), "": result}
        results |= {str(folder / name): dict(stage.data) for name, stage in stages.items()}
    first, command = out / STAGES[0], "palpate" if shutil.which("palpate") else sys.argv[0]
    next_steps = (
        f"\nOpen a report in a browser: {out / 'door' / 'report.html'}\n"
        f"Each folder in {out} also holds recordings, experiment file, truth, result and model.\n"
        f"Next: look at {first / STAGES[0]}.yaml, change it, and type\n"
        f"  {command} identify {first / STAGES[0]}.yaml -o {out / 'mine'}\n"
        "or see the door move:\n"
        f"  {command} simulate {out / 'door' / 'model.json'} --torque 20 --for 5"
    )
    return Done(
        {data["title"]: data for data in results.values()},
        lambda: Group(*map(result_text, results.values()), "", summary_table(results), next_steps),
    )
