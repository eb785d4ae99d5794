"""The tables of simulations, the same on the terminal and on the page."""

from __future__ import annotations

import math
from cmath import phase
from collections.abc import Sequence
from typing import Any

import numpy as np

from palpate.report.page import Table
from palpate.runtime.advance import Status
from palpate.runtime.loop import PASS_PERCENT
from palpate.runtime.loop_free import Run
from palpate.runtime.loop_trial import Trial
from palpate.runtime.passivity import Coupling
from palpate.runtime.passivity_felt import Felt
from palpate.runtime.passivity_report import Passivity


def comparison_table(found: Trial) -> Table:
    """Force and motion of the robot beside the true object."""
    rows: list[tuple[str, ...]] = []
    c = found.comparison
    for i, way in enumerate(c.ways):
        rows.append(_percents(f"force, {way}", c.force_rms[i], c.force_range[i], c.force_percent[i], "N", PASS_PERCENT))
        rows.append(_percents(f"motion, {way}", 1e3 * c.way_rms[i], 1e3 * c.way_range[i], c.way_percent[i], "mm", None))
    wrong, percent = found.wrong, round(100 * found.setup.wrong)
    for i, way in enumerate(() if wrong is None else wrong.ways):
        assert wrong is not None
        rows.append(
            _percents(
                f"force, {way}: inertia and damping {percent} % too large",
                wrong.force_rms[i],
                wrong.force_range[i],
                wrong.force_percent[i],
                "N",
                PASS_PERCENT,
            )
        )
    heads = ("", "RMS difference", "range", "% of range", "unit", "at most")
    note = "" if wrong is None else "The last rows are there to fail: they show that the trial would notice."
    return Table(heads, tuple(rows), words=(0, 4), note=note)


def apparent_table(found: Trial) -> Table:
    """Force over acceleration at each frequency of the intention; nothing of a loop that shakes."""
    rows = tuple(
        (
            f"{hz:.2f}",
            f"{abs(true):.2f}",
            f"{abs(robot):.2f}",
            f"{100 * (abs(robot) / abs(true) - 1):+.1f}",
            f"{math.degrees(phase(robot / true)):+.1f}",
        )
        for hz, true, robot in (found.apparent() if found.robot.stable else ())
        if abs(true) > 0
    )
    heads = ("Hz", "true object, kg", "robot, kg", "difference, %", "phase, deg")
    note = "Force over acceleration at the hand. A delay turns the phase forward: it takes damping away."
    return Table(heads, rows, title="Apparent inertia", words=(), note=note)


def limits_table(found: Trial) -> Table:
    """Where the loop stops being stable."""
    line, limits = found.line, found.limits
    rows = (
        ("delay", _limit(1e3 * limits["longest_delay_s"], "at most {} ms"), f"{1e3 * line.delay_s:.3g} ms"),
        ("stiffness of the hand", _limit(limits["stiffest_hand"], "at most {} N/m"), f"{line.hand.stiffness:.3g} N/m"),
        (
            "inertia of the virtual object at the hand",
            _limit(limits["smallest_inertia"], "at least {} kg"),
            f"{line.mass:.3g} kg",
        ),
        ("rate of the loop", _limit(limits["slowest_hz"], "at least {} Hz"), f"{1.0 / line.dt:.0f} Hz"),
    )
    return Table(("one at a time", "stable", "here"), rows, title="Limits of stability", words=(0, 1, 2))


def remedy(found: Trial) -> str:
    """What would make a loop stable that is not."""
    least, here = found.limits["smallest_inertia"], found.line.mass
    if math.isnan(least):
        return "No inertia would be stable with this delay and this hand: make the delay shorter."
    if least <= here:
        return "The linear loop is stable: look at the sensor's range and at the arm's torques."
    light = f"This object has {here:.2g} kg at the hand, the robot needs {least:.2g} kg."
    return f"{light} Hold it nearer to its axis (--grip), or feed less forward (--feed-forward)."


def coupling_table(couplings: Sequence[Coupling]) -> Table:
    """Limits of several robots side by side."""
    rows = tuple(
        (
            c.robot,
            _limit(1e3 * c.longest_delay_s, "{}"),
            _limit(c.stiffest_hand, "{}"),
            _limit(c.smallest_inertia, "{}"),
            _limit(c.slowest_hz, "{}"),
        )
        for c in couplings
    )
    line = couplings[0].line
    hand = line.hand
    note = (
        f"One at a time, from a delay of {1e3 * line.delay_s:.3g} ms, a hand of {hand.mass:g} kg, {hand.damping:g} "
        f"N s/m and {hand.stiffness:g} N/m, an inertia of {line.mass:.3g} kg at the hand and {1 / line.dt:.0f} Hz. "
        "Linear, without dry friction, which only helps."
    )
    heads = ("robot", "longest delay, ms", "stiffest hand, N/m", "smallest inertia, kg", "slowest loop, Hz")
    return Table(heads, rows, title="In a person's hand", note=note)


def audit_table(report: Passivity) -> Table:
    """The account of energy."""
    found, longest = report.audit, report.longest_step_s
    created = "none: every step took energy" if found.created_j <= 0 else f"{found.created_j:.2g} J"
    part = "none" if found.created_part <= 0 else f"{100 * found.created_part:.2g} %"
    rows = (
        (
            "largest energy created in a step",
            created,
            f"{found.steps} random states and wrenches, steps of {found.dt:g} s",
        ),
        ("as part of the energy that moved in it", part, "fine below 0.1 %"),
        (
            "... of which no spring gives it back",
            "none" if found.unexplained_part < 1e-9 else f"{100 * found.unexplained_part:.2g} %",
            "beyond what a spring's step of first order does; fine below rounding",
        ),
        (
            "won by objects left alone",
            f"{100 * found.regained_part:.2g} %" if found.regained_part > 0 else "none",
            "of the largest kinetic energy; fine below 2 %",
        ),
        ("steps that led nowhere", f"{found.held}", "the state is held there"),
        (
            "longest step without energy from nothing",
            "not even 1 ms" if math.isnan(longest) else f"{1e3 * longest:.3g} ms",
            "of 100 ms at most: stability, not accuracy",
        ),
        (
            "longest step that is accurate to 1 % of the way",
            "not even 0.5 ms" if math.isnan(report.accurate_step_s) else f"{1e3 * report.accurate_step_s:.3g} ms",
            "pushed to and fro at 1 Hz, beside steps of 0.25 ms",
        ),
    )
    return Table(("", "found", ""), rows, title="Energy", words=(0, 1, 2))


def felt_table(found: Sequence[Felt]) -> Table:
    """Intervals beside thresholds of people."""
    rows = tuple(
        (
            f.name,
            f"{f.value:.4g}",
            f.unit,
            "" if f.part is None else f"{'' if f.seen else '±'}{100 * f.part:.2g} %",
            "" if f.threshold is None else f"{100 * f.threshold.part:.0f} %",
            "" if f.threshold is None else f.threshold.quantity,
            f.verdict,
            f.note,
        )
        for f in found
    )
    heads = ("", "value", "unit", "95 % interval", "noticed from", "as", "", "")
    marked = tuple(i for i, f in enumerate(found) if f.verdict == "could be felt")
    note = (
        "Intervals include declared systematic errors. A spring curve is not judged: neither its coefficients nor the "
        "curve. The RMS on data not seen is a part of the range, an average: where the force is small, the same error "
        "is felt sooner."
    )
    title = "Could the uncertainty be felt?"
    return Table(heads, rows, title=title, words=(0, 2, 5, 6, 7), marked=marked, note=note)


def sources(found: Sequence[Felt]) -> tuple[str, ...]:
    """Where the thresholds come from, each once."""
    told = {f.threshold.quantity: f.threshold for f in found if f.threshold is not None}
    return tuple(f"{t.quantity}, {100 * t.part:.0f} %: {t.source}" for t in told.values())


def run_table(run: Run) -> Table:
    """Start, end, least and largest of what moved; angles in degrees too."""
    rows = [
        (name, unit, *(f"{v:.5g}" for v in (x[0], x[-1], x.min(), x.max())))
        for name, unit, x in zip(run.names, run.units, run.motion.T, strict=True)
    ]
    counts = [int((run.status == s).sum()) for s in (Status.STICKING, Status.AT_LIMIT)]
    share = [f"{100 * c / len(run.status):.1f} %" for c in counts]
    note = (
        f"{len(run.times_s)} steps of {run.times_s[0]:g} s; sticking {share[0]}, at a stop, limit or foot {share[1]}."
    )
    heads = ("", "unit", "first", "last", "least", "largest")
    return Table(heads, tuple(rows), words=(0, 1), note=note)


def printed(table: Table) -> Any:
    """A table of the page for the terminal."""
    from rich.console import Group
    from rich.table import Table as Printed
    from rich.text import Text

    made = Printed(box=None, pad_edge=False, header_style="bold")
    for i, head in enumerate(table.headings):
        made.add_column(head, justify="left" if i in table.words else "right")
    for row in table.rows:
        made.add_row(*row)
    title = Text(f"\n{table.title}", style="bold") if table.title else Text("")
    return Group(title, made, *([Text(table.note, style="dim")] if table.note else []))


def _percents(name: str, rms: float, span: float, percent: float, unit: str, most: float | None) -> tuple[str, ...]:
    limit = "" if most is None else f"{most:g} %"
    value = f"{percent:.2f}" if np.isfinite(percent) else "?"
    return name, f"{rms:.3g}", f"{span:.3g}", value, unit, limit


def _limit(value: float, text: str) -> str:
    if math.isnan(value):
        return "not stable as it stands"
    if math.isinf(value) or value == 0.0:
        return "no limit found"
    return text.format(f"{float(f'{value:.3g}'):g}")
