"""palpate simulate: force in, motion out; in closed loop on a simulated robot; or an audit of energy and stability."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

import palpate
from palpate.cli.console import (
    Json,
    Quiet,
    Verbose,
    finish,
    known_errors,
    model_file,
    numbers,
    progress,
    save_json,
)
from palpate.files import check_folder, write_text

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
    sine: Annotated[
        float, typer.Option("--sine", help="Hz: torque and force oscillate instead of being constant.")
    ] = 0.0,
    seconds: Annotated[
        float | None, typer.Option("--for", help="Seconds to simulate [default: 10, or the file's].")
    ] = None,
    step: Annotated[float, typer.Option("--step", help="s, fixed.")] = 1e-3,
    start: Annotated[
        str | None, typer.Option("--start", help="State to begin with, SI units, such as 0.5,0 [default: rest].")
    ] = None,
    stops: Annotated[
        str | None, typer.Option("--stops", help="Where it is shut and wide open, such as 0,92: deg, m of what slides.")
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
        float,
        typer.Option(
            "--noise", help="--robot: N: noise of the sensor's forces; its moments have a twentieth of it in N m."
        ),
    ] = 0.1,
    feed_forward: Annotated[
        str, typer.Option("--feed-forward", help="--robot: acceleration, velocity or none, from model to arm.")
    ] = "acceleration",
    wrong: Annotated[
        float,
        typer.Option("--wrong", help="--robot: % by which inertia and damping are falsified as a check; 0: no check."),
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
        import numpy as np

        from palpate.errors import PalpateError
        from palpate.experiment.stage.result import read_result
        from palpate.model import Model
        from palpate.rendering.hand import Hand

        if robot and audit:
            raise PalpateError("--robot and --audit are two things: ask for one at a time")
        with progress(quiet=quiet or as_json, verbose=verbose, title=path.stem) as tell:
            tell("model")
            path = model_file(path)
            model = with_end_stops(Model.load(path), stops)
            identified = None if result is None else read_result(result)
            if grip is None and identified is not None:
                placed: dict[str, Any] = identified.get("mechanism") or {}
                sensors: list[list[float]] = placed.get("sensors_m") or []
                joint = next(iter(model.mechanism.joints), None)
                if sensors and joint is not None and joint.kind == "turn":
                    r, axis = np.array(sensors[0]), np.array(joint.axis)
                    grip = float(np.linalg.norm(r - axis * float(r @ axis)))
            hand = Hand(stiffness=hand_stiffness)
            if robot:
                tell("the hand on the robot and on the object")
                true = None if truth is None else Model.load(truth)
                setup = (seconds or 10.0, grip, hand, _robot(delay, noise, feed_forward), wrong / 100.0)
                done = _trial(model, true, setup, out or Path(f"{path.stem}-robot"))
            elif audit:
                tell("energy and coupling")
                options = {"radius": grip, "hand": hand, "delay_s": 1e-3 * delay, "dt": step}
                done = _audit(model, identified, options, out or Path(f"{path.stem}-audit"))
            else:
                tell("simulation")
                given = (wrench, torque, force, sine, 0.8 if grip is None else grip)
                done = _free(model, given, seconds, step, start, out or Path(f"{path.stem}-motion.csv"))
        data, blocks, paths, passed = done
        failure = "" if passed else str(blocks[-1])
        finish(data, lambda: _grouped(blocks), paths, as_json=as_json, quiet=quiet, failure=failure)


_Done = tuple[dict[str, Any], list[Any], list[Path], bool]
"""Data, what to print, what was written, and whether it passed."""


def _grouped(blocks: list[Any]) -> Any:
    from rich.console import Group

    return Group(*blocks)


def _trial(model: palpate.Model, truth: palpate.Model | None, setup: tuple[Any, ...], folder: Path) -> _Done:
    from palpate.rendering.loop import Setup, trial
    from palpate.report.closed_loop import trial_text, write_trial_page

    check_folder(folder)
    done = trial(model, truth, Setup(*setup[:4], wrong=setup[4]))
    data = done.data()
    save_json(folder / "loop.json", data)
    pages = _page(folder / "loop.html", write_trial_page, done)
    return data, trial_text(done), [folder / "loop.json", *pages], done.passed


def _audit(model: palpate.Model, result: Any, options: dict[str, Any], folder: Path) -> _Done:
    from palpate.rendering.passivity import passivity_of
    from palpate.report.closed_loop import audit_text, write_audit_page

    check_folder(folder)
    report = passivity_of(model, result, **options)
    data = report.data()
    save_json(folder / "audit.json", data)
    pages = _page(folder / "audit.html", write_audit_page, report)
    return data, audit_text(report), [folder / "audit.json", *pages], report.audit.passive


def _free(
    model: palpate.Model,
    given: tuple[Path | None, float, float, float, float],
    seconds: float | None,
    step: float,
    start: str | None,
    out: Path,
) -> _Done:
    import numpy as np

    from palpate.errors import PalpateError
    from palpate.report.closed_loop import run_table, write_run_page
    from palpate.runtime.replay import read_wrench, steady_wrench, through_the_frame
    from palpate.runtime.replay import simulate as run_model

    file, torque, force, sine, lever = given
    if file is not None:
        if torque or force or sine:
            raise PalpateError("--wrench says it all: leave out --torque, --force and --sine")
        applied = read_wrench(file, seconds, step)
    else:
        length = 10.0 if seconds is None else seconds
        applied = steady_wrench(model, torque=torque, force=force, sine_hz=sine, lever=lever, seconds=length, dt=step)
    run = run_model(model, applied, step, None if start is None else np.array(numbers("--start", start)))
    write_text(out, run.csv())
    paths = [out, *_page(out.with_suffix(".html"), write_run_page, model.name, run)]
    warnings = [text for text in (through_the_frame(model, run.motion[:, 0]),) if text]
    last = {f"{n} [{u}]": float(v) for n, u, v in zip(run.names, run.units, run.motion[-1], strict=True)}
    data = {"steps": len(run.times_s), "dt_s": step, "last": last, "warnings": warnings, "file": str(out)}
    return data, [run_table(run), *(f"Warning: {text}" for text in warnings)], paths, True


def _page(path: Path, write: Callable[..., None], *arguments: Any) -> list[Path]:
    """Write a page where its libraries are there; without them a message says so."""
    from palpate.errors import MissingExtra

    try:
        write(path, *arguments)
    except MissingExtra as missing:
        typer.echo(f"palpate: {path.name} is not written: {missing}", err=True)
        return []
    return [path]


def with_end_stops(model: palpate.Model, stops: str | None) -> palpate.Model:
    """The model with end stops at these positions of its main coordinate, deg or m."""
    from math import radians

    from palpate.errors import PalpateError
    from palpate.runtime.replay import with_stops

    if stops is None:
        return model
    ends = numbers("--stops", stops)
    turns = model.mechanism.coordinates.get(model.mechanism.main or "", "rad") == "rad"
    if len(ends) != 2 or not ends[0] < ends[1]:
        what = "angle in deg, such as 0,92" if turns else "position in m, such as 0,0.4"
        raise PalpateError(f"--stops: must be the lowest and the highest {what}, not {stops!r}")
    low, high = map(radians, ends) if turns else ends
    return with_stops(model, low, high)


def _robot(delay: float, noise: float, feed_forward: str) -> Any:
    from palpate.errors import UnknownName
    from palpate.rendering.loop import Robot
    from palpate.rendering.robot import Inner, LoopSensor

    if feed_forward not in _FEEDS:
        raise UnknownName("--feed-forward", feed_forward, _FEEDS)
    velocity, acceleration = _FEEDS[feed_forward]
    sensor = LoopSensor(noise_n=noise, noise_nm=noise / 20.0, delay_s=1e-3 * delay)
    return Robot(sensor, Inner(velocity=velocity, acceleration=acceleration))
