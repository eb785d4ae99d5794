"""palpate export: a model for another program, and what that program will not know of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from palpate.cli.console import Json, Quiet, known_errors, model_file, numbers, show_json
from palpate.errors import PalpateError


def export(
    path: Annotated[Path, typer.Argument(metavar="MODEL", help="model.json, or the folder of a result.")],
    to: Annotated[str, typer.Option("--to", help="Format: c, fmu, mjcf, urdf, ros2-control.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to write into [default: MODEL-FORMAT].")
    ] = None,
    dt: Annotated[float | None, typer.Option("--dt", help="C, FMU: the fixed step in s [default: 0.001].")] = None,
    mass: Annotated[
        float | None, typer.Option("--mass", help="MJCF, URDF: kg, where the model knows only its inertia.")
    ] = None,
    wrench_limit: Annotated[
        str | None,
        typer.Option("--wrench-limit", help="C, FMU: the sensor's range, N,N m such as 500,20, or six numbers."),
    ] = None,
    stops: Annotated[
        str | None, typer.Option("--stops", help="Where it is shut and wide open, such as 0,92: deg, m of what slides.")
    ] = None,
    tool: Annotated[
        Path | None, typer.Option("--tool", help="ros2-control: model.json of the handle that the robot carries.")
    ] = None,
    handle: Annotated[
        str | None,
        typer.Option("--handle", help="ros2-control: m, the hand's place in the body frame, such as 0.8,0,0."),
    ] = None,
    state: Annotated[
        str | None, typer.Option("--state", help="ros2-control: positions (rad, m) about which it is approximated.")
    ] = None,
    even_if_failed: Annotated[
        bool, typer.Option("--even-if-failed", help="Export a model whose verdict is failed.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Export a model: C, FMU, MJCF, URDF or ros2_control."""
    with known_errors():
        from palpate.cli.simulate import with_end_stops
        from palpate.export import export_model
        from palpate.model import Model

        path = model_file(path)
        model = with_end_stops(Model.load(path), stops)
        given: dict[str, Any] = {"dt": dt, "mass": mass, "tool": None if tool is None else Model.load(tool)}
        given |= {"handle": None if handle is None else numbers("--handle", handle)}
        given |= {"state": None if state is None else numbers("--state", state)}
        given |= {"wrench_limit": None if wrench_limit is None else _range(wrench_limit)}
        options = {name: value for name, value in given.items() if value is not None}
        folder = out if out is not None else Path(f"{path.stem}-{to}")
        done = export_model(model, to, folder, even_if_failed=even_if_failed, **options)
        data = {"files": list(map(str, done.files)), "left_out": list(done.left_out), "notes": list(done.notes)}
        lines = [f"{model.name} as {to}", *(f"  {line}" for line in done.notes)]
        lines += ["What it does not say:", *(f"- {line}" for line in done.left_out)] if done.left_out else []
        if as_json:
            show_json(data)
        elif not quiet:
            typer.echo("\n".join([*lines, "", f"Written: {', '.join(data['files'])}"]))


def _range(text: str) -> list[float]:
    """Six limits, from six numbers or from one for forces and one for moments."""
    limits = numbers("--wrench-limit", text)
    if len(limits) not in (2, 6):
        raise PalpateError(f"--wrench-limit must be two numbers (N,N m) or six, not {text!r}")
    return limits if len(limits) == 6 else [limits[0]] * 3 + [limits[1]] * 3
