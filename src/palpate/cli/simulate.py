"""palpate simulate: force in, motion out; in closed loop on a simulated robot; or an audit of energy and stability."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from palpate.cli.console import GATE_FAILED, Json, Quiet, Verbose, known_errors, progress, show, show_json
from palpate.files import check_folder, write_text

if TYPE_CHECKING:
    from palpate.model import Model
    from palpate.rendering.loop import Robot, Trial
    from palpate.rendering.passivity import Passivity
    from palpate.runtime.simulate import Run

_FEEDS = {"acceleration": (True, True), "velocity": (True, False), "none": (False, False)}


def simulate(
    path: Annotated[Path, typer.Argument(metavar="MODEL", help="model.json as palpate writes it.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="CSV of the motion; with --robot or --audit a folder [default: MODEL-...]."),
    ] = None,
    wrench: Annotated[
        Path | None, typer.Option("--wrench", help="CSV: time [s] and some of f_x..f_z [N], n_x..n_z [N m].")
    ] = None,
    torque: Annotated[float, typer.Option("--torque", help="N m about z of the body frame: a hinge's axis.")] = 0.0,
    force: Annotated[
        float,
        typer.Option("--force", help="N: on a hinge across the door at --grip; on what rolls ahead, at the axle."),
    ] = 0.0,
    sine: Annotated[float, typer.Option("--sine", help="Hz: torque and force swing with it instead of resting.")] = 0.0,
    seconds: Annotated[
        float | None, typer.Option("--for", help="Seconds to simulate [default: 10, or the file's].")
    ] = None,
    step: Annotated[float, typer.Option("--step", help="s, fixed.")] = 1e-3,
    start: Annotated[
        str | None, typer.Option("--start", help="State to begin with, SI units, such as 0.5,0 [default: rest].")
    ] = None,
    stops: Annotated[
        str | None, typer.Option("--stops", help="Hinge: deg where it is shut and wide open, such as 0,92.")
    ] = None,
    robot: Annotated[bool, typer.Option("--robot", help="Render it on a simulated arm, in a person's hand.")] = False,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="--robot: model.json of the true object [default: MODEL].")
    ] = None,
    grip: Annotated[
        float | None,
        typer.Option("--grip", help="m from the axis to the sensor in the handle [default: 0.8, or --result's]."),
    ] = None,
    delay: Annotated[float, typer.Option("--delay", help="--robot, --audit: ms from the wrench to the loop.")] = 2.0,
    hand_stiffness: Annotated[float, typer.Option("--hand-stiffness", help="--robot, --audit: N/m.")] = 500.0,
    noise: Annotated[
        float, typer.Option("--noise", help="--robot: N, of a sample of the sensor's forces; moments a 20th in N m.")
    ] = 0.1,
    feed_forward: Annotated[
        str, typer.Option("--feed-forward", help="--robot: acceleration, velocity or none, from model to arm.")
    ] = "acceleration",
    wrong: Annotated[
        float, typer.Option("--wrong", help="--robot: % by which inertia and damping are made wrong as a check; 0: no.")
    ] = 20.0,
    audit: Annotated[
        bool, typer.Option("--audit", help="Energy, longest step, coupling with a hand, and what could be felt.")
    ] = False,
    result: Annotated[
        Path | None, typer.Option("--result", help="result.json of the model: its intervals, and where the sensor was.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Simulate a model: force in, motion out, or in closed loop with a robot."""
    with known_errors():
        from palpate.errors import PalpateError
        from palpate.model import Model
        from palpate.rendering.person import Hand

        if robot and audit:
            raise PalpateError("--robot and --audit are two things: ask for one at a time")
        with progress(quiet=quiet or as_json, verbose=verbose, title=path.stem) as tell:
            tell("model")
            path = path / "model.json" if path.is_dir() else path
            model = stopped(Model.load(path), stops)
            held = None if result is None else _result(result)
            grip = _lever(held) if grip is None else grip
            passed = True
            if robot:
                tell("the hand on the robot and on the object")
                true = None if truth is None else Model.load(truth)
                setup = (seconds or 10.0, grip, Hand(stiffness=hand_stiffness), _robot(delay, noise, feed_forward))
                done = _trial(model, true, setup, wrong / 100.0, out or Path(f"{path.stem}-robot"))
                passed = done[0]["passed"]
            elif audit:
                tell("energy and coupling")
                hand, delay_s = Hand(stiffness=hand_stiffness), 1e-3 * delay
                options = {"radius": grip, "hand": hand, "delay_s": delay_s, "dt": step}
                done = _audit(model, held, options, out or Path(f"{path.stem}-audit"))
                passed = done[0]["passive"]
            else:
                tell("simulation")
                given = (wrench, torque, force, sine, 0.8 if grip is None else grip)
                done = _free(model, given, seconds, step, start, out or Path(f"{path.stem}-motion.csv"))
        data, blocks, paths = done
        if as_json:
            show_json(data)
        elif not quiet:
            for block in blocks:
                show(block)
            typer.echo(f"\nWritten: {', '.join(str(p) for p in paths)}")
        if not passed:
            if quiet:
                typer.echo(f"palpate: {blocks[-1]}", err=True)
            raise typer.Exit(GATE_FAILED)


_Done = tuple[dict[str, Any], list[Any], list[Path]]
"""Data, what to print, and what was written."""


def _trial(
    model: Model, truth: Model | None, setup: tuple[float, float | None, Any, Robot], wrong: float, folder: Path
) -> _Done:
    from palpate.rendering.loop import Setup, trial
    from palpate.report.closed_loop import apparent_table, comparison_table, limits_table, printed, write_trial_page

    check_folder(folder)
    found = trial(model, truth, Setup(*setup, wrong=wrong))
    data = found.data()
    write_text(folder / "loop.json", json.dumps(data, indent=1, allow_nan=False) + "\n")
    pages = _page(folder / "loop.html", write_trial_page, found)
    tables = [printed(t) for t in (comparison_table(found), apparent_table(found), limits_table(found)) if t.rows]
    return data, [*tables, *(f"Note: {text}" for text in found.remarks), verdict(found)], [folder / "loop.json", *pages]


def verdict(found: Trial) -> str:
    """The last line on the terminal."""
    worst = f"{float(found.comparison.force_percent.max()):.1f} %"
    if found.passed and found.same:
        return f"Verdict: passed: the robot renders this model within {worst} of the force's range"
    if found.passed:
        return f"Verdict: passed: it feels like the true object, the force within {worst} of its range"
    if not found.comparison.stable:
        from palpate.report.closed_loop import remedy

        return f"Verdict: failed: {found.robot.ended or 'the arm shook at the limit of its torque'}. {remedy(found)}"
    if found.comparison.passed:
        return "Verdict: failed: an object that is wrong on purpose passes too, so this trial tells nothing"
    return f"Verdict: failed: the force differs by {worst} of its range"


def _audit(model: Model, held: Mapping[str, Any] | None, options: dict[str, Any], folder: Path) -> _Done:
    from palpate.rendering.passivity import passivity_of
    from palpate.report.closed_loop import write_audit_page

    check_folder(folder)
    found = passivity_of(model, held, **options)
    data = found.data()
    write_text(folder / "audit.json", json.dumps(data, indent=1, allow_nan=False) + "\n")
    pages = _page(folder / "audit.html", write_audit_page, found)
    return data, _audit_text(found), [folder / "audit.json", *pages]


def _audit_text(found: Passivity) -> list[Any]:
    from palpate.report.closed_loop import audit_table, coupling_table, felt_table, printed, sources

    tables = [audit_table(found)]
    tables += [coupling_table(found.couplings)] if found.couplings else []
    tables += [felt_table(found.felt)] if found.felt else []
    verdict = "Verdict: passive" if found.audit.passive else "Verdict: failed: energy comes from nothing"
    remarks = [f"Not looked at: {text}" for text in found.remarks]
    return [*(printed(t) for t in tables), *sources(found.felt), *remarks, verdict]


def _free(
    model: Model,
    given: tuple[Path | None, float, float, float, float],
    seconds: float | None,
    step: float,
    start: str | None,
    out: Path,
) -> _Done:
    from palpate.errors import PalpateError
    from palpate.report.closed_loop import printed, run_table, write_run_page
    from palpate.runtime.simulate import read_wrench, steady_wrench, through_the_frame
    from palpate.runtime.simulate import simulate as run_model

    file, torque, force, sine, lever = given
    if file is not None:
        if torque or force or sine:
            raise PalpateError("--wrench says it all: leave out --torque, --force and --sine")
        applied = read_wrench(file, seconds, step)
    else:
        length = 10.0 if seconds is None else seconds
        applied = steady_wrench(model, torque=torque, force=force, sine_hz=sine, lever=lever, seconds=length, dt=step)
    run: Run = run_model(model, applied, step, None if start is None else _numbers("--start", start))
    write_text(out, run.csv())
    paths = [out, *_page(out.with_suffix(".html"), write_run_page, model.name, run)]
    left = through_the_frame(model, run.motion[:, 0])
    last = {f"{n} [{u}]": float(v) for n, u, v in zip(run.names, run.units, run.motion[-1], strict=True)}
    warnings = [left] if left else []
    data = {"steps": len(run.times_s), "dt_s": step, "last": last, "warnings": warnings, "file": str(out)}
    return data, [printed(run_table(run)), *(f"Warning: {text}" for text in warnings)], paths


def _page(path: Path, write: Any, *arguments: Any) -> list[Path]:
    """Write a page where its libraries are there; without them that is said."""
    from palpate.errors import MissingExtra

    try:
        write(path, *arguments)
    except MissingExtra as missing:
        typer.echo(f"palpate: {path.name} is not written: {missing}", err=True)
        return []
    return [path]


def stopped(model: Model, stops: str | None) -> Model:
    """The model with end stops at these angles, deg."""
    from math import radians

    from palpate.errors import PalpateError
    from palpate.runtime.replay import with_stops

    if stops is None:
        return model
    found = _numbers("--stops", stops)
    if len(found) != 2 or not found[0] < found[1]:
        raise PalpateError(f"--stops: must be the lowest and the highest angle in deg, such as 0,92, not {stops!r}")
    return with_stops(model, radians(found[0]), radians(found[1]))


def _robot(delay: float, noise: float, feed_forward: str) -> Robot:
    from palpate.errors import UnknownName
    from palpate.rendering.loop import Robot
    from palpate.rendering.robot import Inner, Sensor

    if feed_forward not in _FEEDS:
        raise UnknownName("--feed-forward", feed_forward, _FEEDS)
    velocity, acceleration = _FEEDS[feed_forward]
    sensor = Sensor(noise_n=noise, noise_nm=noise / 20.0, delay_s=1e-3 * delay)
    return Robot(sensor, Inner(velocity=velocity, acceleration=acceleration))


def _result(path: Path) -> Mapping[str, Any]:
    from palpate.errors import FileProblem
    from palpate.files import read_bytes

    try:
        data = json.loads(read_bytes(path))
    except ValueError as error:
        raise FileProblem(path, f"is not JSON ({error})") from error
    if not isinstance(data, dict) or "palpate_result" not in data:
        raise FileProblem(path, "this JSON is not a result", remedy="give a result.json that palpate wrote")
    return cast("dict[str, Any]", data)


def _lever(held: Mapping[str, Any] | None) -> float | None:
    """m from the axis to where the recording's sensor was."""
    hinge: Mapping[str, Any] = {} if held is None else held.get("hinge") or {}
    lever = hinge.get("lever_m")
    return None if lever is None else float(lever)


def _numbers(option: str, text: str) -> Any:
    import numpy as np

    from palpate.errors import PalpateError

    try:
        return np.array([float(x) for x in text.replace(";", ",").split(",")])
    except ValueError:
        raise PalpateError(f"{option}: must be numbers with commas between them, not {text!r}") from None
