"""palpate twin: a simulated experiment in the real file formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from palpate.cli.console import Json, Quiet, known_errors, progress, show_json


def twin(
    kind: Annotated[
        str,
        typer.Argument(
            help="handle, door, wheelbarrow, wheelbarrow-planar, hand-truck, capture, wheelbarrow-handle, door-handle; "
            "authors: a copy of the paper's repository."
        ),
    ],
    out: Annotated[Path, typer.Argument(help="Folder to write into.")],
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="Random object and motion; without it, the values of the paper's Table where it has them."
        ),
    ] = None,
    poor: Annotated[
        bool,
        typer.Option(
            "--poor",
            help="handle: moved about one axis only; door: only ever seen opening; wheelbarrow: moved too little.",
        ),
    ] = False,
    clean: Annotated[
        bool, typer.Option("--clean", help="capture: no marker is hidden, swapped or moved on the body.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that holds files already.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Simulate an experiment: recordings, experiment file and truth.json."""
    with known_errors():
        with progress(quiet=quiet or as_json, verbose=False, title="simulating") as tell:
            from palpate.errors import FileProblem, PalpateError, UnknownName
            from palpate.experiment.reproduce import TRUTH_FILE
            from palpate.twin import TWINS

            if kind not in TWINS:
                raise UnknownName("kind of twin", kind, TWINS)
            options: dict[str, int | bool] = {} if seed is None else {"seed": seed}
            for option, wanted, owners in (
                ("poor", poor, ("handle", "door", "wheelbarrow")),
                ("clean", clean, ("capture",)),
            ):
                if wanted and kind not in owners:
                    known = " and ".join(repr(owner) for owner in owners)
                    raise PalpateError(f"--{option}: there is no such thing for {kind!r}, only for {known}")
                options |= {option: True} if wanted else {}
            if out.is_dir() and any(out.iterdir()) and not force:
                raise FileProblem(out, "the folder holds files already", remedy="choose another, or --force")
            tell("recordings")
            experiment = TWINS[kind](out, **options)
            verb = {"capture": "inspect", "authors": "reproduce"}.get(kind, "identify")
            truth = out / (TRUTH_FILE if kind == "authors" else "truth.json")
        if as_json:
            show_json({"experiment": str(experiment), "truth": str(truth)})
        elif not quiet:
            typer.echo(f"Written: {experiment}, its recordings, and {truth.name}. Next:\n  palpate {verb} {experiment}")
