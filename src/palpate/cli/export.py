"""palpate export: a model for another program, and what that program will not know of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from palpate.cli.console import Json, Quiet, known_errors, show_json
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
        str | None, typer.Option("--stops", help="Hinge: deg where it is shut and wide open, such as 0,92.")
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
        from palpate.cli.simulate import stopped
        from palpate.export import export_model
        from palpate.model import Model

        path = path / "model.json" if path.is_dir() else path
        model = stopped(Model.load(path), stops)
        given: dict[str, Any] = {"dt": dt, "mass": mass, "tool": None if tool is None else Model.load(tool)}
        given |= {"handle": _numbers("--handle", handle), "state": _numbers("--state", state)}
        given["wrench_limit"] = _range(wrench_limit)
        options = {name: value for name, value in given.items() if value is not None}
        folder = out if out is not None else Path(f"{path.stem}-{to}")
        done = export_model(model, to, folder, even_if_failed=even_if_failed, **options)
        if as_json:
            files = [str(file) for file in done.files]
            show_json({"files": files, "left_out": list(done.left_out), "notes": list(done.notes)})
        elif not quiet:
            typer.echo(f"{model.name} as {to}")
            for line in done.notes:
                typer.echo(f"  {line}")
            if done.left_out:
                typer.echo("What it does not say:")
            for line in done.left_out:
                typer.echo(f"- {line}")
            typer.echo(f"\nWritten: {', '.join(str(file) for file in done.files)}")


def _range(text: str | None) -> tuple[float, ...] | None:
    """Six limits, from six numbers or from one for forces and one for moments."""
    found = _numbers("--wrench-limit", text)
    if found is None or len(found) == 6:
        return found
    if len(found) != 2:
        raise PalpateError(f"--wrench-limit must be two numbers (N,N m) or six, not {text!r}")
    return (found[0],) * 3 + (found[1],) * 3


def _numbers(option: str, text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise PalpateError(f"{option} must be numbers with commas between them, not {text!r}") from None
