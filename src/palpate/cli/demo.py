"""palpate demo: every stage on built-in twins, without arguments."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group

from palpate.cli.console import Json, Quiet, Verbose, known_errors, progress, show, show_json
from palpate.cli.identify import save_result

STAGES = ("wheelbarrow", "door")


def demo(
    out: Annotated[Path, typer.Argument(help="Folder to write into.")] = Path("demo"),
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run everything on four simulated objects with the paper's values: recordings, models, tables, reports."""
    with known_errors():
        found: dict[str, Mapping[str, Any]] = {}
        for kind in STAGES:
            folder = out / kind
            with progress(quiet=quiet or as_json, verbose=verbose, title=kind) as tell:
                from palpate.experiment import read_experiment, run_experiment
                from palpate.twin import TWINS

                tell("simulating the experiment")
                experiment = read_experiment(TWINS[kind](folder))
                result = run_experiment(experiment, tell)
                tell("writing the report")
                save_result(result, folder)
            stages = {"": result} if result.handle is None else {"handle": result.handle, "": result}
            for name, stage in stages.items():
                found[str(folder / name)] = stage.data
                if not as_json and not quiet:
                    from palpate.report import result_text

                    show(result_text(stage.data))
        if as_json:
            show_json({data["title"]: dict(data) for data in found.values()})
        elif not quiet:
            from palpate.report.tables import summary_table

            show(Group("", summary_table(found)))
            first = out / STAGES[0]
            command = "palpate" if shutil.which("palpate") else sys.argv[0]
            typer.echo(
                f"\nOpen a report in a browser: {out / 'door' / 'report.html'}\n"
                f"Each folder in {out} also holds recordings, experiment file, truth, result and model.\n"
                f"Next: look at {first / STAGES[0]}.yaml, change it, and type\n"
                f"  {command} identify {first / STAGES[0]}.yaml -o {out / 'mine'}\n"
                "or see the door move:\n"
                f"  {command} simulate {out / 'door' / 'model.json'} --torque 20 --for 5"
            )
