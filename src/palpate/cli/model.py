"""What is done with a model: palpate simulate (force in, motion out; in closed loop on a simulated robot; or an audit
of energy and stability) and palpate export (a model for another program, and what that program will not know of it).
"""

from __future__ import annotations

from collections.abc import Callable
from math import dist, radians
from pathlib import Path
from typing import Annotated, Any

import typer

import palpate
from palpate.cli.console import (
    Done,
    OwnParts,
    load_model,
    model_file,
    numbers,
    one_of,
    option,
    output_folder,
    save_json,
    save_page,
)
from palpate.errors import FileProblem, PalpateError, UnknownName
from palpate.files import write_text
from palpate.progress import Tell

_Stops = Annotated[
    str | None,
    typer.Option("--stops", help="Shut and fully open positions, such as 0,92: deg, or m if it slides."),
]
_FEEDS = {"acceleration": (True, True), "velocity": (True, False), "none": (False, False)}


def simulate(
    tell: Tell,
    path: Annotated[Path, typer.Argument(metavar="MODEL", help="model.json as palpate writes it.")],
    out: Annotated[Path | None, option("--out", "-o", "CSV of the motion, else a folder [default: MODEL-...].")] = None,
    wrench: Annotated[Path | None, option("--wrench", "CSV: time [s], some of f_x..f_z [N], n_x..n_z [N m].")] = None,
    torque: Annotated[float, option("--torque", "Torque about z of the body frame (a hinge's axis), N m.")] = 0.0,
    force: Annotated[float, option("--force", "Force, N: across a hinge at --grip; forward at a wheel's axle.")] = 0.0,
    sine: Annotated[float, option("--sine", "Hz: torque and force oscillate instead of being constant.")] = 0.0,
    seconds: Annotated[float | None, option("--for", "Seconds to simulate [default: 10, or the file's].")] = None,
    step: Annotated[float, option("--step", "Fixed step, s.")] = 1e-3,
    start: Annotated[str | None, option("--start", "State to begin with, SI, such as 0.5,0 [default: rest].")] = None,
    stops: _Stops = None,
    robot: Annotated[bool, option("--robot", "Render it on a simulated arm, in a person's hand.")] = False,
    truth: Annotated[Path | None, option("--truth", "--robot: model.json of the true object [default: MODEL].")] = None,
    grip: Annotated[float | None, option("--grip", "From axis to sensor, m [default: 0.8, or --result's].")] = None,
    delay: Annotated[float, option("--delay", "--robot, --audit: delay from wrench to loop, ms.")] = 2.0,
    hand_stiffness: Annotated[float, option("--hand-stiffness", "--robot, --audit: the hand's, N/m.")] = 500.0,
    noise: Annotated[float, option("--noise", "--robot: noise of the forces, N; moments: a twentieth, N m.")] = 0.1,
    feed_forward: Annotated[str, option("--feed-forward", "--robot: acceleration, velocity or none.")] = "acceleration",
    wrong: Annotated[float, option("--wrong", "--robot: % added to inertia and damping as a check; 0: none.")] = 20.0,
    audit: Annotated[bool, option("--audit", "Check energy, longest step, coupling with a hand, feel.")] = False,
    result: Annotated[Path | None, option("--result", "result.json: the intervals, and where the sensor was.")] = None,
    parts: OwnParts = None,
) -> Done:
    """Simulate a model: force in, motion out, or with a robot."""
    from palpate.rendering.hand import Hand

    if robot and audit:
        raise PalpateError("give either --robot or --audit, not both")
    tell("model", 0.0)
    path = model_file(path)
    model = with_end_stops(load_model(path, parts), stops)
    identified = None if result is None else palpate.read_result(result)
    placed: dict[str, Any] = (identified or {}).get("mechanism") or {}
    joint = next(iter(model.mechanism.joints), None)
    if grip is None and joint is not None and joint.kind == "turn" and placed.get("sensors_m"):
        r, axis = list[float](placed["sensors_m"][0]), joint.axis  # from where the sensor was to the axis, m
        along = sum(a * b for a, b in zip(r, axis, strict=True))
        grip = dist(r, [along * a for a in axis])
    hand = Hand(stiffness=hand_stiffness)
    if robot:
        from palpate.rendering.loop import Robot, Setup, trial
        from palpate.rendering.robot import Inner, LoopSensor
        from palpate.report.closed_loop import trial_text, write_trial_page

        if feed_forward not in _FEEDS:
            raise UnknownName("--feed-forward", feed_forward, _FEEDS)
        tell("the hand on the robot and on the object", 0.0)
        folder = output_folder(out, f"{path.stem}-robot")
        true, (velocity, acceleration) = None if truth is None else load_model(truth, parts), _FEEDS[feed_forward]
        sensor = LoopSensor(noise_n=noise, noise_nm=noise / 20.0, delay_s=1e-3 * delay)
        arm = Robot(sensor, Inner(velocity=velocity, acceleration=acceleration))
        tried = trial(model, true, Setup(seconds or 10.0, grip, hand, arm, wrong=wrong / 100.0))
        return _judged(folder, "loop", tried, write_trial_page, trial_text(tried), tried.passed)
    if audit:
        from palpate.rendering.passivity import passivity_of
        from palpate.report.closed_loop import audit_text, write_audit_page

        tell("energy and coupling", 0.0)
        folder = output_folder(out, f"{path.stem}-audit")
        report = passivity_of(model, identified, radius=grip, hand=hand, delay_s=1e-3 * delay, dt=step)
        return _judged(folder, "audit", report, write_audit_page, audit_text(report), report.audit.passive)
    from palpate.runtime.replay import steady_wrench

    tell("simulation", 0.0)
    if wrench is None:
        size = {"torque": torque, "force": force, "sine_hz": sine, "lever": 0.8 if grip is None else grip}
        applied = steady_wrench(model, **size, seconds=10.0 if seconds is None else seconds, dt=step)
    elif torque or force or sine:
        raise PalpateError("--wrench takes the place of --torque, --force and --sine: leave them out")
    else:
        applied = read_wrench(wrench, seconds, step)
    return _free(model, applied, step, start, out or Path(f"{path.stem}-motion.csv"))


def read_wrench(path: Path, seconds: float | None, dt: float) -> Any:
    """(steps, 6) from a table with a column of time and some of f_x ... n_z; between its rows the wrench is linear.

    A unit may stand in brackets: `time [s], n_z [N m]`. What is not there is zero; a step gets its value at mid step.
    """
    import numpy as np

    from palpate.runtime.replay import WRENCH_NAMES, WRENCH_UNITS, step_count

    columns = {name: channel for name, channel in palpate.load(path).channels.items() if name in WRENCH_NAMES}
    if not columns:
        where = f"has no column {', '.join(WRENCH_NAMES)} besides the time, or none in N and N m"
        raise FileProblem(path, where, line=1, remedy="a header such as: time [s],n_z [N m]")
    t = next(iter(columns.values())).clock.times_s
    length = float(t[-1] - t[0])
    if not length:
        raise FileProblem(path, "has only one row, and a wrench needs two", line=2)
    middle = t[0] + (np.arange(step_count(length if seconds is None else min(seconds, length), dt)) + 0.5) * dt
    wrench = np.zeros((len(middle), 6))
    for place, (name, unit) in enumerate(zip(WRENCH_NAMES, WRENCH_UNITS, strict=True)):
        if name not in columns:
            continue
        column = columns[name]
        if column.unit not in ("1", unit):
            raise FileProblem(path, f"{name} must be in {unit}, not in {column.unit}", line=1)
        if len(bad := np.flatnonzero(~np.isfinite(column.samples))):
            raise FileProblem(path, f"{name}: a number is missing or not finite", line=int(bad[0]) + 2)
        wrench[:, place] = np.interp(middle, t, column.samples)
    return wrench


def _judged(
    folder: Path, name: str, done: Any, write: Callable[[Path, Any], None], text: list[Any], passed: bool
) -> Done:
    from rich.console import Group

    data = done.data()
    save_json(folder / f"{name}.json", data)
    pages = save_page(folder / f"{name}.html", write, done)
    failure = "" if passed else str(text[-1])
    return Done(data, lambda: Group(*text), [folder / f"{name}.json", *pages], failure)


def _free(model: palpate.Model, applied: Any, step: float, start: str | None, out: Path) -> Done:
    import numpy as np
    from rich.console import Group

    from palpate.report.closed_loop import run_table, write_run_page
    from palpate.runtime.replay import simulate as run_model
    from palpate.runtime.replay import through_the_frame

    run = run_model(model, applied, step, None if start is None else np.array(numbers("--start", start)))
    write_text(out, run.csv())
    paths = [out, *save_page(out.with_suffix(".html"), write_run_page, model.name, run)]
    warnings = [text for text in (through_the_frame(model, run.motion[:, 0]),) if text]
    last = {f"{n} [{u}]": float(v) for n, u, v in zip(run.names, run.units, run.motion[-1], strict=True)}
    data = {"steps": len(run.times_s), "dt_s": step, "last": last, "warnings": warnings, "file": str(out)}
    return Done(data, lambda: Group(run_table(run), *(f"Warning: {text}" for text in warnings)), paths)


def with_end_stops(model: palpate.Model, stops: str | None) -> palpate.Model:
    """The model with end stops at these positions of its main coordinate, deg or m."""
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


def _formats() -> list[str]:
    from palpate.export.common import EXPORTERS

    return list(EXPORTERS)


def export(
    tell: Tell,
    path: Annotated[Path, typer.Argument(metavar="MODEL", help="model.json, or the folder of a result.")],
    to: Annotated[str, option("--to", "Format: c, fmu, js, mjcf, urdf, ros2-control.", **one_of(_formats))],
    out: Annotated[Path | None, option("--out", "-o", "Folder to write into [default: OBJECT-FORMAT].")] = None,
    dt: Annotated[float | None, option("--dt", "C, FMU, JS: the fixed step in s [default: 0.001].")] = None,
    mass: Annotated[float | None, option("--mass", "MJCF, URDF: mass, kg, if the model has only an inertia.")] = None,
    wrench_limit: Annotated[
        str | None, option("--wrench-limit", "C, FMU, JS: sensor's range, 500,20 (N, N m).")
    ] = None,
    stops: _Stops = None,
    tool: Annotated[Path | None, option("--tool", "ros2-control: model.json of the handle on the robot.")] = None,
    handle: Annotated[str | None, option("--handle", "ros2-control, JS: hand in the body frame, m: 0.8,0,0.")] = None,
    state: Annotated[str | None, option("--state", "ros2-control: positions (rad, m) to linearise about.")] = None,
    even_if_failed: Annotated[bool, option("--even-if-failed", "Export it even if its verdict is failed.")] = False,
    parts: OwnParts = None,
) -> Done:
    """Export a model: C, FMU, JavaScript, MJCF, URDF or ros2_control."""
    tell("exporting", 0.0)
    path = model_file(path)
    model = with_end_stops(load_model(path, parts), stops)
    given: dict[str, Any] = {"dt": dt, "mass": mass, "tool": None if tool is None else load_model(tool, parts)}
    texts = {"handle": handle, "state": state}
    given |= {name: numbers(f"--{name}", text) for name, text in texts.items() if text is not None}
    given |= {"wrench_limit": None if wrench_limit is None else _range(wrench_limit)}
    options = {name: value for name, value in given.items() if value is not None}
    from palpate.export.common import file_stem

    folder = out if out is not None else Path(f"{file_stem(model)}-{to}")
    allowed = {"even_if_failed": even_if_failed, "overwrite": out is not None}
    done = palpate.export_model(model, to, folder, **allowed, **options)
    data = {"files": list(map(str, done.files)), "left_out": list(done.left_out), "notes": list(done.notes)}
    lines = [f"{model.name} as {to}", *(f"  {line}" for line in done.notes)]
    lines += ["Left out, or only approximated:", *(f"- {line}" for line in done.left_out)] if done.left_out else []
    return Done(data, lambda: "\n".join(lines), done.files)


def _range(text: str) -> list[float]:
    """Six limits, from six numbers or from one for forces and one for moments."""
    limits = numbers("--wrench-limit", text)
    if len(limits) not in (2, 6):
        raise PalpateError(f"--wrench-limit must be two numbers (N,N m) or six, not {text!r}")
    return limits if len(limits) == 6 else [limits[0]] * 3 + [limits[1]] * 3
