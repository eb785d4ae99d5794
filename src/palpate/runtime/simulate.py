"""Force in, motion out: a model stepped through a wrench that is given, without a robot."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palpate.errors import FileProblem, PalpateError
from palpate.files import read_bytes
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import FLOATS
from palpate.runtime.stepper import Stepper, StepStatus, end_stops, moving_range, rest, shown

WRENCH_NAMES = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")
WRENCH_UNITS = ("N", "N", "N", "N m", "N m", "N m")
_UNITS = {"N": ("N",), "N m": ("N m", "Nm", "N·m", "N*m"), "s": ("s",)}
_MARGIN = {"rad": math.radians(2.0), "m": 0.01}
_LONGEST = 10_000_000
"""Steps of one simulation."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A simulation: times (steps,) s at the end of each step, wrench (steps, 6), states, accelerations, statuses."""

    times_s: FloatArray
    wrench: FloatArray
    motion: FloatArray
    names: tuple[str, ...]
    units: tuple[str, ...]
    status: NDArray[np.int8]

    def csv(self) -> str:
        """A table with units in its header."""
        import io

        heads = ["time [s]"]
        heads += [f"{n} [{u}]" for n, u in zip(WRENCH_NAMES, WRENCH_UNITS, strict=True)]
        heads += [f"{n} [{u}]" for n, u in zip(self.names, self.units, strict=True)]
        text = io.StringIO()
        table = np.column_stack([self.times_s, self.wrench, self.motion, self.status])
        formats = ["%.9g"] * (table.shape[1] - 1) + ["%d"]
        np.savetxt(text, table, delimiter=",", header=",".join([*heads, "status"]), comments="", fmt=formats)
        return text.getvalue()


def simulate(model: Model, wrench: FloatArray, dt: float, start: FloatArray | None = None) -> Run:
    """Step the model through a wrench (steps, 6): N and N m, in the body frame about its origin."""
    stepper = Stepper(model, dt)
    if start is not None:
        stepper.reset(start)
    motion = np.empty((len(wrench), stepper.size))
    status = stepper.run(np.ascontiguousarray(wrench), motion)
    if (status == StepStatus.NOT_FINITE).any():
        first = int(np.argmax(status == StepStatus.NOT_FINITE))
        raise PalpateError(f"the model leads nowhere at {first * dt:.4g} s: its state is held from there on")
    times_s = np.arange(1, len(wrench) + 1, dtype=float) * dt
    return Run(times_s, wrench, motion, stepper.names, model.mechanism.units, status)


def read_wrench(path: Path, seconds: float | None, dt: float) -> FloatArray:
    """(steps, 6) from a CSV with the columns time and some of f_x ... n_z; between its rows the wrench is linear.

    A unit may stand in brackets: `time [s], n_z [N m]`. What is not there is zero; a step gets its value at mid step.
    """
    import polars as pl

    try:
        table = pl.read_csv(read_bytes(path), infer_schema_length=None)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise FileProblem(path, f"cannot be read as CSV ({str(error).splitlines()[0]})") from error
    columns: dict[str, FloatArray] = {}
    for head in table.columns:
        name, unit = _head(head)
        if name not in ("time", *WRENCH_NAMES):
            continue
        wanted = "s" if name == "time" else WRENCH_UNITS[WRENCH_NAMES.index(name)]
        if unit is not None and unit not in _UNITS[wanted]:
            raise FileProblem(path, f"column {head!r} must be in {wanted}, not in {unit}", line=1)
        try:
            columns[name] = table[head].cast(pl.Float64).to_numpy().astype(float)
        except pl.exceptions.PolarsError:
            raise FileProblem(path, f"column {head!r} holds words where numbers should be") from None
    if "time" not in columns or len(columns) < 2:
        raise FileProblem(
            path, "has no column 'time' with some of f_x, f_y, f_z, n_x, n_y, n_z beside it", line=1,
            remedy="a header such as: time [s],n_z [N m]",
        )  # fmt: skip
    t = columns.pop("time")
    bad = np.flatnonzero(~np.isfinite(np.column_stack([t, *columns.values()])).all(axis=1))
    if len(bad):
        raise FileProblem(path, "a number is missing or not finite", line=int(bad[0]) + 2)
    back = np.flatnonzero(np.diff(t) <= 0)
    if len(back) or len(t) < 2:
        raise FileProblem(path, "times must increase, and there must be two at least", line=int((*back, 0)[0]) + 3)
    end = float(t[-1] - t[0]) if seconds is None else min(seconds, float(t[-1] - t[0]))
    middle = t[0] + (np.arange(_steps(end, dt)) + 0.5) * dt
    wrench = np.zeros((len(middle), 6))
    for i, name in enumerate(WRENCH_NAMES):
        if name in columns:
            wrench[:, i] = np.interp(middle, t, columns[name])
    return wrench


def steady_wrench(
    model: Model, *, torque: float, force: float, sine_hz: float, lever: float, seconds: float, dt: float
) -> FloatArray:
    """(steps, 6): a torque (N m) about z of the body frame and a force (N), steady or swinging.

    The force drives the only joint of a mechanism: across a door, `lever` (m) from its axis, or along what slides. What
    rolls is pushed at the axle, ahead as it stands; others along x of the body frame.
    """
    for name, value in (("--torque", torque), ("--force", force), ("--sine", sine_hz)):
        if not math.isfinite(value) or (name == "--sine" and value < 0):
            raise PalpateError(f"{name}: must be a finite number, a frequency at least 0, not {value!r}")
    t = (np.arange(_steps(seconds, dt)) + 0.5) * dt
    swing = np.sin(2 * np.pi * sine_hz * t) if sine_hz else np.ones(len(t))
    push = np.array([0.0, 0.0, 0.0, 0.0, 0.0, torque])
    if model.mechanism.main is not None:
        drive = drive_wrench(model)
        push += drive * (force * lever if drive[3:].any() else force)
    elif model.mechanism.wheel is not None:
        push[:3] = force * np.array(model.mechanism.place(rest(model), FLOATS)[0][0])
    else:
        push[0] = force
    return np.outer(swing, push)


def drive_wrench(model: Model) -> FloatArray:
    """(6,) 1 N m about the axis of the last joint or 1 N along it, in the body frame: what moves the object."""
    joint = model.mechanism.joints[-1]
    return np.array([0.0, 0.0, 0.0, *joint.axis] if joint.kind == "turn" else [*joint.axis, 0.0, 0.0, 0.0])


def missing_stops(model: Model) -> str:
    """Which end stops of the main coordinate the model has not got, in a sentence; empty if none is missing."""
    main = model.mechanism.main
    if main is None:
        return ""
    missing = [side for side, at in zip(("lowest", "highest"), end_stops(model), strict=True) if math.isinf(at)]
    if not missing:
        return ""
    turns = model.mechanism.coordinates[main] == "rad"
    what, example = ("angle", "0,92 (deg)") if turns else ("position", "0,0.4 (m)")
    return (
        f"the model has no end stop at the {' and the '.join(missing)} {what}: nothing holds it there, neither frame "
        f"nor wall. Add end stops with the option stops, such as {example}."
    )


def through_the_frame(model: Model, positions: FloatArray) -> str:
    """Whether a door left the main positions for which its linkage was described, in words; empty if not."""
    mechanism = model.mechanism
    if mechanism.main is None or mechanism.linkage is None:
        return ""
    unit, (low, high) = mechanism.coordinates[mechanism.main], moving_range(model)
    if float(positions.min()) > low - _MARGIN[unit] and float(positions.max()) < high + _MARGIN[unit]:
        return ""
    return (
        f"it left {shown(low, unit).removesuffix(' deg')} to {shown(high, unit)}, where its linkage was described: the "
        "model has no end stop there. Add stops with --stops"
    )


def _steps(seconds: float, dt: float) -> int:
    for name, value in (("--for", seconds), ("--step", dt)):
        if not (math.isfinite(value) and value > 0):
            raise PalpateError(f"{name}: must be a positive time in s, not {value!r}")
    count = round(seconds / dt)
    if not 1 <= count <= _LONGEST:
        raise PalpateError(f"{seconds:g} s in steps of {dt:g} s are {count} steps: 1 to {_LONGEST} are possible")
    return count


def _head(text: str) -> tuple[str, str | None]:
    """Name and unit of a column."""
    parts = re.fullmatch(r"\s*([A-Za-z_]+)\s*(?:[\[(]([^\])]*)[\])])?\s*", text)
    return (parts[1].strip(), parts[2].strip() if parts[2] else None) if parts else (text.strip(), None)
