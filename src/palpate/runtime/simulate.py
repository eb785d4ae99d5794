"""Force in, motion out: a model stepped through a wrench that is given, without a robot."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palpate.elements import EndStop
from palpate.errors import FileProblem, PalpateError
from palpate.files import read_bytes
from palpate.mechanisms import Hinge, Rolling
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import FLOATS
from palpate.runtime.stepper import Status, Stepper, moving_range, rest

WRENCH_NAMES = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")
WRENCH_UNITS = ("N", "N", "N", "N m", "N m", "N m")
_UNITS = {"N": ("N",), "N m": ("N m", "Nm", "N·m", "N*m"), "s": ("s",)}
_MARGIN = math.radians(2.0)
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
    if (status == Status.NOT_FINITE).any():
        first = int(np.argmax(status == Status.NOT_FINITE))
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
    found = np.zeros((len(middle), 6))
    for i, name in enumerate(WRENCH_NAMES):
        if name in columns:
            found[:, i] = np.interp(middle, t, columns[name])
    return found


def steady_wrench(
    model: Model, *, torque: float, force: float, sine_hz: float, lever: float, seconds: float, dt: float
) -> FloatArray:
    """(steps, 6): a torque (N m) about z of the body frame and a force (N), steady or swinging.

    On a hinge the force acts across the door, `lever` (m) from its axis; on what rolls at the axle, ahead as it stands;
    on others along x of the body frame.
    """
    for name, value in (("--torque", torque), ("--force", force), ("--sine", sine_hz)):
        if not math.isfinite(value) or (name == "--sine" and value < 0):
            raise PalpateError(f"{name}: must be a finite number, a frequency at least 0, not {value!r}")
    t = (np.arange(_steps(seconds, dt)) + 0.5) * dt
    swing = np.sin(2 * np.pi * sine_hz * t) if sine_hz else np.ones(len(t))
    found, hinge = np.zeros((len(t), 6)), isinstance(model.mechanism, Hinge)
    found[:, 5] = (torque + (force * lever if hinge else 0.0)) * swing
    along = (1.0, 0.0, 0.0)
    if isinstance(model.mechanism, Rolling):
        along = model.mechanism.place(rest(model), FLOATS)[0][0]
    if not hinge:
        found[:, :3] = np.outer(force * swing, along)
    return found


def missing_stops(model: Model) -> str:
    """Which end stops a hinge has not got, in a sentence; empty if it has both, or is no hinge."""
    if not isinstance(model.mechanism, Hinge):
        return ""
    there = {e.side for e in model.elements if isinstance(e, EndStop) and e.acts_on == "hinge"}
    missing = [side for side in ("lowest", "highest") if side not in there]
    if not missing:
        return ""
    return (
        f"the model has no end stop at the {' and the '.join(missing)} angle: nothing holds it there, neither frame "
        "nor wall. Add end stops with the option stops, such as 0,92 (deg)."
    )


def through_the_frame(model: Model, angle: FloatArray) -> str:
    """Whether a door left the angles for which its linkage was described, in words; empty if not."""
    if not isinstance(model.mechanism, Hinge) or model.mechanism.linkage is None:
        return ""
    low, high = moving_range(model)
    if float(angle.min()) > low - _MARGIN and float(angle.max()) < high + _MARGIN:
        return ""
    return (
        f"it left {math.degrees(low):.0f} to {math.degrees(high):.0f} deg, where its linkage was described: the model "
        "has no end stop there. Add stops with --stops"
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
    found = re.fullmatch(r"\s*([A-Za-z_]+)\s*(?:[\[(]([^\])]*)[\])])?\s*", text)
    return (found[1].strip(), found[2].strip() if found[2] else None) if found else (text.strip(), None)
