"""palpate inspect: what is in these files, and how they fit together."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import palpate
from palpate.cli.console import Done, argument, option
from palpate.errors import PalpateError
from palpate.progress import Tell, portion


def inspect(
    tell: Tell,
    files: Annotated[list[Path], argument("Recordings of any format, or an experiment file (.yaml) that names them.")],
    out: Annotated[Path | None, option("--html", "-o", "Write a page with plots (needs palpate[report]).")] = None,
    table: Annotated[Path | None, option("--table", "Write the motion, one row per frame (.csv, .parquet).")] = None,
    format_: Annotated[str | None, option("--format", "The files' format [default: recognised for each].")] = None,
    time: Annotated[str | None, option("--time", "Plain tables: header of the time column.")] = None,
    time_unit: Annotated[str | None, option("--time-unit", "Plain tables: unit of the times, s, ms, us or ns.")] = None,
    rate: Annotated[float | None, option("--rate", "Plain tables without times: samples per second.")] = None,
    header: Annotated[str | None, option("--header", "Plain tables without a header: t,angle,torque.")] = None,
) -> Done:
    """Show what recordings hold: channels, gaps, noise, clocks."""
    if out is not None:
        from palpate.report.page import require_pages

        require_pages()
    if table is not None and table.suffix.lower() not in (".csv", ".parquet"):
        raise PalpateError(f"--table: {table.name} must end in .csv or .parquet")
    named = [path for path in files if path.suffix.lower() in (".yaml", ".yml") and path.name != "metadata.yaml"]
    if named and len(files) > 1:
        raise PalpateError("an experiment file names its recordings: inspect it alone")
    last = 1.0 if out is None and table is None else 0.8  # share done when pages and tables are drawn
    tell("reading", 0.0)
    from palpate.experiment.file.quantities import unit_of_time
    from palpate.experiment.inspection import inspection_data, motion_recording
    from palpate.recording import FORMATS, load
    from palpate.recording.formats import recognise
    from palpate.recording.table import write, write_parquet
    from palpate.report.inspection import describe, inspection_text, write_inspection

    if named:
        inspection, hints = _inspect_experiment(files[0], portion(tell, 0.0, last))
    else:
        times: dict[str, Any] = {} if rate is None else {"rate": rate}
        if time is not None or time_unit is not None:
            try:
                times["time"] = {"column": time or "", "unit": unit_of_time(time_unit or "")}
            except ValueError as error:
                raise PalpateError(f"--time-unit: {error}") from None
        if header is not None:
            times["header"] = [name.strip() for name in header.split(",")]
        recordings: list[Any] = []
        for path in files:
            entry = FORMATS.get(format_ or recognise(path))
            # one command may show a table, which needs them, and other files, which do not
            given = (
                times if entry is None or len(files) == 1 else {k: v for k, v in times.items() if k in entry.options}
            )
            recordings.append(load(path, format=format_, **given))
        tell("aligning and comparing clocks", 0.3)
        inspection = palpate.inspect_recordings(recordings, ", ".join(path.name for path in files))
        hints = ["--time-unit ms"] * len(recordings)
    if out is not None:
        tell("drawing", last)
        write_inspection(out, inspection)
    if table is not None:
        tell("writing the table", last)
        if inspection.motion is None:
            wrong = "only an experiment file of the motion stage says what moved (stage: motion)"
            raise PalpateError(f"--table: {wrong}")
        (write if table.suffix.lower() == ".csv" else write_parquet)(table, motion_recording(inspection.motion))
    described = [describe(r, hint) for r, hint in zip(inspection.recordings, hints, strict=True)]
    data = {"recordings": described, **inspection_data(inspection)}
    written = [path for path in (out, table) if path is not None]
    return Done(data, partial(inspection_text, inspection, described), written)


def _inspect_experiment(file: Path, tell: Tell) -> tuple[Any, list[str]]:
    """What an experiment file names, read as it says."""
    from palpate.experiment.file.reading import recordings_of
    from palpate.experiment.inspection import inspect_motion, inspect_prepared
    from palpate.experiment.run import prepare_experiment
    from palpate.experiment.stage.recordings import load_part

    experiment = palpate.read_experiment(file)
    parts = recordings_of(experiment)
    recordings = [load_part(experiment, f"recordings.{name}", part) for name, part in parts.items()]
    hints = [f"recordings.{name}.time: {{column: ..., unit: ms}}" for name in parts]
    title = experiment.config.title or file.name
    if experiment.config.stage == "motion":
        return inspect_motion(title, recordings, palpate.build_motion(experiment, portion(tell, 0.1, 1.0))), hints
    if experiment.config.captured:
        return inspect_prepared(title, recordings, prepare_experiment(experiment, portion(tell, 0.1, 1.0))), hints
    tell("comparing clocks", 0.3)
    return palpate.inspect_recordings(recordings, title), hints
