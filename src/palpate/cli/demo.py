"""palpate demo: every stage on built-in twins, without arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from palpate.cli.console import Json, Quiet, Verbose, known_errors, progress, show, show_json
from palpate.cli.identify import save_result

STAGES = ("wheelbarrow", "door")


def demo(
    out: Annotated[Path, typer.Argument(help="Folder to write into.")] = Path("demo"),
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run everything on simulated experiments with the paper's values: recordings, models, tables."""
    with known_errors():
        found: dict[str, Any] = {}
        for kind in STAGES:
            folder = out / kind
            with progress(quiet=quiet or as_json, verbose=verbose, title=kind) as tell:
                from palpate.experiment import read_experiment, run_experiment
                from palpate.twin import TWINS

                tell("simulating the experiment")
                experiment = read_experiment(TWINS[kind](folder))
                result = run_experiment(experiment, tell)
                save_result(result, folder)
            stages = [result] if result.handle is None else [result.handle, result]
            found |= {stage.data["title"]: dict(stage.data) for stage in stages}
            if not as_json and not quiet:
                from palpate.report import result_text

                for stage in stages:
                    show(result_text(stage.data))
        if as_json:
            show_json(found)
        elif not quiet:
            typer.echo(
                f"\nEach folder in {out} holds recordings, experiment file, truth.json, result.json and model.json; "
                "the door's\nalso report.html, to be opened in a browser.\n"
                f"Next: look at {out / STAGES[0] / STAGES[0]}.yaml, change it, and type\n"
                f"  palpate identify {out / STAGES[0] / STAGES[0]}.yaml -o {out / 'mine'}"
            )
