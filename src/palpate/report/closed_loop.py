"""The pages of simulations: a run of a model, a trial on the robot, an audit; and their tables for the terminal."""

from __future__ import annotations

import math
from cmath import phase
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from palpate.physics.units import shown_in
from palpate.rendering.loop import DELAYS_S, DT_S, PASS_PERCENT, STIFFNESSES, Trial
from palpate.rendering.passivity import DELAY, Coupling, Felt, Passivity
from palpate.rendering.stability import apparent, true_apparent
from palpate.report import plots
from palpate.report.page import Figure, Json, Remarks, Words, section, write_page
from palpate.report.plots import COLOURS, DARK, Panel, curve
from palpate.runtime.replay import WRENCH_NAMES, WRENCH_UNITS, Run
from palpate.runtime.stepper import StepStatus
from palpate.tables import Table, table

_TRUE, _ROBOT = DARK, COLOURS[1]
_DOTTED = {"color": _ROBOT, "width": 1.2, "dash": "dot"}
_CREATED = "Energy is created from nothing"


# --- pages ------------------------------------------------------------------------------------------------------------


def write_run_page(path: Path, name: str, run: Run) -> None:
    """Motion of a model under a given wrench."""
    parts = zip(WRENCH_NAMES, WRENCH_UNITS, run.wrench.T, strict=True)
    rows = {"wrench, N and N m": {f"{n}, {u}": x for n, u, x in parts if x.any()}}
    shown = [(n, *shown_in(u), x) for n, u, x in zip(run.names, run.units, run.motion.T, strict=True)]
    rows |= {f"{n}, {u}": {n: k * x} for n, k, u, x in shown}
    figure = plots.over_time("Wrench and motion", "Force in on top, motion out below.", run.times_s, rows)
    write_page(path, f"{name}: force in, motion out", [section("Simulation", run_table(run), figure)])


def write_trial_page(path: Path, trial: Trial) -> None:
    """A model on the simulated robot beside the true object."""
    trade = (
        "Feeding the acceleration forward buys fidelity with stability: the mass behind the sensor (handle and hand) "
        "must then stay below the inertia that is rendered, whatever the delay. A lighter object needs a robot "
        "without it."
    )
    verdict = trial_verdict(trial).removeprefix("Verdict: ").rstrip(".")
    good = "" if trial.same else "good"  # a model that is compared with itself deserves no praise
    lead = Words(f"{verdict[0].upper()}{verdict[1:]}.", good if trial.passed else "bad")
    itself = Words(
        "Compared is the model with itself, so this says how well the robot renders it, and nothing about whether it "
        "feels like the real object: --truth names another model, `palpate validate` asks unseen recordings."
    )
    asked = "Does the robot render the model?" if trial.same else "Does it feel like the object?"
    motions = (_motion(trial, i, way) for i, way in enumerate(trial.comparison.ways))
    traded = Words(trade, "quiet") if trial.setup.robot.inner.acceleration else None
    sections = [
        section(asked, lead, itself if trial.same else None, comparison_table(trial), *motions),
        section("Apparent inertia", _apparent(trial), apparent_table(trial)),
        section("Stability", _map(trial), coupling_table([Coupling("this one", trial.line, trial.limits)]), traded),
        section("How it was simulated", *(Words(text) for text in _how(trial))),
    ]
    title, beside = f"{trial.model.name} on a simulated robot", "the model itself" if trial.same else "the object"
    write_page(path, title, sections, subtitle=f"Simulated: a hand on the robot's handle, and on {beside}")


def write_audit_page(path: Path, report: Passivity) -> None:
    """Energy, coupling and what could be felt."""
    lead = "No step creates energy: the model is safe to render as far as energy goes."
    lead = Words(lead, "good") if report.audit.passive else Words(f"{_CREATED}: do not render this model.", "bad")
    strict = (
        "Each threshold was measured with nothing else to feel; in an object that has inertia, damping and friction "
        "at once people notice less, so this is strict."
    )
    cited = (Words(text, "quiet") for text in (*sources(report.felt), DELAY))
    sections = [
        section("Passivity", lead, audit_table(report)),
        section("Stability in a hand", coupling_table(report.couplings) if report.couplings else None),
        section("What people notice", *((felt_table(report.felt), Words(strict), *cited) if report.felt else ())),
        section("Remarks", Remarks("What was not looked at", report.remarks) if report.remarks else None),
    ]
    write_page(path, f"{report.model.name}: passivity and stability", sections)


def _motion(trial: Trial, i: int, way: str) -> Figure | None:
    true, robot, count = trial.true, trial.robot, min(len(trial.true.times_s), len(trial.robot.times_s))
    force, rendered, place, went = (x[:count, i] for x in (true.force, robot.force, true.way, robot.way))
    rows = {"force, N": {"true object": force, "robot": rendered}, "difference, N": {"robot - true": rendered - force}}
    rows |= {"way, mm": {"true object": 1e3 * place, "robot": 1e3 * went}}
    say = "The two forces should coincide; the middle row shows their difference: "
    say += f"{trial.comparison.force.percent[i]:.2f} % RMS of their range."
    return plots.over_time(f"Force and motion of the hand, {way}", say, true.times_s[:count], rows)


def _apparent(trial: Trial) -> Figure:
    f = np.geomspace(0.1, 40.0, 120)
    truth, rendered = np.abs(true_apparent(trial.line, f)), np.abs(apparent(trial.line, f))
    entries = trial.apparent() if trial.robot.stable else []
    hz, simulated, robot = (np.array([abs(p[k]) for p in entries]) for k in range(3))
    every = np.concatenate([truth, rendered])
    data = (
        curve(f, truth, "object with handle, linear", _TRUE),
        curve(f, rendered, "robot with handle, linear", line=_DOTTED | {"width": 1.5}),
        plots.points(hz, simulated, "true object, simulated", _TRUE, 9, "circle-open"),
        plots.points(hz, robot, "robot, simulated", _ROBOT, 9, "x"),
    )
    return plots.figure(
        "What the hand feels at each frequency",
        "Force over acceleration at the hand. Dots: the simulation with all friction; curves: the linear loop.",
        [Panel("kg", data, y=plots.log_scale(max(float(every.min()), 0.1), float(every.max())))],
        plots.x_title("Hz") | plots.log_scale(0.1, 40.0),
    )


def _map(trial: Trial) -> Figure:
    stable = trial.map < 1.0 - 1e-9
    x, y = [f"{k:g}" for k in STIFFNESSES], [f"{1e3 * d:g}" for d in DELAYS_S]
    heat: Json = {
        **{"type": "heatmap", "name": "", "x": x, "y": y},
        **{"z": stable.astype(int).tolist(), "zmin": 0, "zmax": 1, "showscale": False, "xgap": 2, "ygap": 2},
        **{"text": np.where(stable, "stable", "unstable").tolist(), "texttemplate": "%{text}"},
        "colorscale": [[0, _ROBOT], [0.5, _ROBOT], [0.5, "#cfe8dc"], [1, "#cfe8dc"]],
        "textfont": {"size": 9, "color": DARK},
        "hovertemplate": "%{y} ms, %{x} N/m: %{text}<extra></extra>",
    }
    return plots.figure(
        "Delay and stiffness of the hand",
        "Where hand and robot together are stable; the hand's mass and damping stay as they are.",
        [Panel("delay, ms", (heat,), y={"type": "category"})],
        plots.x_title("stiffness of the hand, N/m") | {"type": "category"},
        f"{100 * float(stable.mean()):.0f} % of the map is stable.",
        height=430,
    )


def _how(trial: Trial) -> tuple[str, ...]:
    s, inner, sensor, hand = trial.setup, trial.setup.robot.inner, trial.setup.robot.sensor, trial.setup.hand
    fed = " and ".join(n for n, on in (("velocity", inner.velocity), ("acceleration", inner.acceleration)) if on)
    place = ", ".join(f"{x:.3g}" for x in trial.grip.place)
    return (
        f"A hand of {hand.mass:g} kg, {hand.damping:g} N s/m and {hand.stiffness:g} N/m holds the handle and rocks it "
        f"at {trial.intention.pace_hz:.2f} Hz while moving slowly there and back, with smaller movements up to 2.9 Hz. "
        "The pace is the one that its spring and the object's inertia prefer: faster, a soft hand sets the force by "
        "itself; slower, only springs and friction are felt. There an error of inertia or damping shows most.",
        f"The sensor is at ({place}) m of the body frame. It reads the wrench of handle and hand "
        f"{1e3 * sensor.delay_s:g} ms late, with noise of {sensor.noise_n:g} N and {sensor.noise_nm:g} N m per sample, "
        f"at {1.0 / DT_S:g} Hz. That wrench drives the model of the body unchanged; the handle is real "
        "(0.9 kg), so it need not be rendered.",
        f"The arm is a simulated seven-axis arm (MuJoCo) with uncompensated friction; its controller assumes all "
        f"masses to be {100 * inner.wrong:.0f} % larger than they are. Its position bandwidth is "
        f"{inner.bandwidth_hz:g} Hz (-3 dB). Fed forward from the model: {fed or 'nothing'}.",
        "The true object is one simulation of object, handle and hand, without robot and sensor, at half the step."
        if not trial.same
        else "The true object is the model itself, simulated with handle and hand, without robot and sensor, at half "
        "the step: what differs is the robot's error alone. Give --truth to compare with another object.",
        f"Simulated: {s.seconds:g} s.",
    )


# --- tables -----------------------------------------------------------------------------------------------------------


def comparison_table(trial: Trial) -> Table:
    """Force and motion of the robot beside the true object."""
    c, wrong, limit = trial.comparison, trial.wrong, f"{PASS_PERCENT:g} %"
    sizes: list[tuple[str, float, float, float, str, str]] = []
    for i, way in enumerate(c.ways):
        sizes.append((f"force, {way}", c.force.rms[i], c.force.range[i], c.force.percent[i], "N", limit))
        sizes.append((f"motion, {way}", 1e3 * c.motion.rms[i], 1e3 * c.motion.range[i], c.motion.percent[i], "mm", ""))
    if wrong is not None:
        too = f"inertia and damping {round(100 * trial.setup.wrong)} % too large"
        forces = zip(wrong.ways, wrong.force.rms, wrong.force.range, wrong.force.percent, strict=True)
        sizes += [(f"force, {way}: {too}", *three, "N", limit) for way, *three in forces]
    rows = (
        (name, f"{rms:.3g}", f"{span:.3g}", f"{percent:.2f}" if np.isfinite(percent) else "?", *words)
        for name, rms, span, percent, *words in sizes
    )
    note = "" if wrong is None else "The last rows are there to fail: they show that the trial would notice."
    return table(rows, ("what is compared", "RMS difference", "range", "% of range", "unit", "at most"), note=note)


def apparent_table(trial: Trial) -> Table:
    """Force over acceleration at each frequency of the intention; nothing of a loop that shakes."""
    entries = [e for e in (trial.apparent() if trial.robot.stable else ()) if abs(e[1]) > 0]
    off = [(100 * (abs(robot) / abs(true) - 1), math.degrees(phase(robot / true))) for _, true, robot in entries]
    rows = ((*(f"{abs(x):.2f}" for x in e), *(f"{x:+.1f}" for x in o)) for e, o in zip(entries, off, strict=True))
    headings = ("Hz", "true object, kg", "robot, kg", "difference, %", "phase, deg")
    note = "Force over acceleration at the hand. A delay turns the phase forward: it takes damping away."
    return table(rows, headings, "Apparent inertia", note=note)


def remedy(trial: Trial) -> str:
    """What would make a loop stable that is not."""
    least, here = trial.limits["smallest_inertia"], trial.line.mass
    if math.isnan(least):
        return "No inertia would be stable with this delay and this hand: make the delay shorter."
    if least <= here:
        return "The linear loop is stable: look at the sensor's range and at the arm's torques."
    light = f"This object has {here:.2g} kg at the hand, the robot needs {least:.2g} kg."
    return f"{light} Hold it nearer to its axis (--grip), or feed less forward (--feed-forward)."


def coupling_table(couplings: Sequence[Coupling]) -> Table:
    """Where the loop stops being stable, for one or several robots."""
    line = couplings[0].line
    hand = line.hand
    note = (
        f"One at a time, from a delay of {1e3 * line.delay_s:.3g} ms, a hand of {hand.mass:g} kg, {hand.damping:g} "
        f"N s/m and {hand.stiffness:g} N/m, an inertia of {line.mass:.3g} kg at the hand and {1 / line.dt:.0f} Hz. "
        "Linear, without dry friction, which only helps."
    )
    scales = (1e3, 1.0, 1.0, 1.0)

    def limit(value: float) -> str:
        if math.isnan(value):
            return "not stable as it stands"
        return "no limit" if math.isinf(value) or value == 0.0 else f"{float(f'{value:.3g}'):g}"

    rows = ((c.robot, *(limit(k * x) for k, x in zip(scales, c.limits.values(), strict=True))) for c in couplings)
    headings = ("robot", "longest delay, ms", "stiffest hand, N/m", "smallest inertia, kg", "slowest loop, Hz")
    return table(rows, headings, "In a person's hand", note=note)


def audit_table(report: Passivity) -> Table:
    """The account of energy."""
    audit, longest, accurate = report.audit, report.longest_step_s, report.accurate_step_s

    def part(share: float, least: float = 0.0) -> str:
        return f"{100 * share:.2g} %" if share > least else "none"

    created = "none: every step took energy" if audit.created_j <= 0 else f"{audit.created_j:.2g} J"
    steps = f"{audit.steps} random states and wrenches, steps of {audit.dt:g} s"
    away = "not even 1 ms" if math.isnan(longest) else f"{1e3 * longest:.3g} ms"
    near = "not even 0.5 ms" if math.isnan(accurate) else f"{1e3 * accurate:.3g} ms"
    spring = "beyond what a spring's step of first order does; fine below rounding"
    rows = (
        ("largest energy created in a step", created, steps),
        ("as part of the energy that moved in it", part(audit.created_part), "fine below 0.1 %"),
        ("... that no spring gives back", part(audit.unexplained_part, 1e-9), spring),
        ("gained by objects left alone", part(audit.regained_part), "of the largest kinetic energy; fine below 2 %"),
        ("steps without a finite result", f"{audit.held}", "the state is held there"),
        ("longest step that creates no energy", away, "of 100 ms at most: stability, not accuracy"),
        ("longest step accurate to 1 % of the travel", near, "pushed to and fro at 1 Hz, beside steps of 0.25 ms"),
    )
    return Table(("question", "result", "remark"), rows, title="Energy", words=(0, 1, 2))


def felt_table(felt: Sequence[Felt]) -> Table:
    """Intervals beside thresholds of people."""
    records: list[dict[str, str]] = []
    for f in felt:
        cells = {"": f.name, "value": f"{f.value:.4g}", "unit": f.unit}
        cells["95 % interval"] = "" if f.part is None else f"{'' if f.average else '±'}{100 * f.part:.2g} %"
        cells["noticed from"] = "" if f.threshold is None else f"{100 * f.threshold.part:.0f} %"
        cells["as"] = "" if f.threshold is None else f.threshold.quantity
        records.append(cells | {"verdict": f.verdict, "note": f.note})
    note = (
        "Intervals include declared systematic errors. Springs are not judged, neither their coefficients nor their "
        "curves. The RMS on unseen data is a fraction of the range and an average: where the force is small, the "
        "same error is felt sooner."
    )
    marked = [f.verdict == "could be felt" for f in felt]
    return table(records, title="Could the uncertainty be felt?", marked=marked, note=note)


def trial_text(trial: Trial) -> list[Any]:
    """What the terminal shows of a trial: tables, notes and the verdict."""
    coupled = coupling_table([Coupling("this one", trial.line, trial.limits)])
    shown = (t for t in (comparison_table(trial), apparent_table(trial), coupled) if t.rows)
    return [*shown, *(f"Note: {text}" for text in trial.remarks), trial_verdict(trial)]


def trial_verdict(trial: Trial) -> str:
    """The verdict in one sentence."""
    worst = f"{float(trial.comparison.force.percent.max()):.1f} %"
    if trial.passed and trial.same:
        text = f"passed: the robot renders this model within {worst} of the force's range, which says nothing of the "
        text += "object"
    elif trial.passed:
        text = f"passed: it feels like the true object, the force within {worst} of its range"
    elif not trial.comparison.stable:
        text = f"failed: {trial.robot.ended or 'the arm shook at the limit of its torque'}. {remedy(trial)}"
    elif trial.comparison.passed:
        text = "failed: a deliberately wrong object passes too, so this trial proves nothing"
    else:
        text = f"failed: the force differs by {worst} of its range (at most {PASS_PERCENT:g} %)"
    return f"Verdict: {text}"


def audit_text(report: Passivity) -> list[Any]:
    """What the terminal shows of an audit: tables, where thresholds come from, remarks and the verdict."""
    tables = [audit_table(report)]
    tables += [coupling_table(report.couplings)] if report.couplings else []
    tables += [felt_table(report.felt)] if report.felt else []
    verdict = "passive" if report.audit.passive else f"failed: {_CREATED[0].lower()}{_CREATED[1:]}"
    return [*tables, *sources(report.felt), *(f"Not looked at: {r}" for r in report.remarks), f"Verdict: {verdict}"]


def sources(felt: Sequence[Felt]) -> tuple[str, ...]:
    """Where the thresholds come from, each once."""
    thresholds = {f.threshold.quantity: f.threshold for f in felt if f.threshold is not None}
    return tuple(f"{t.quantity}, {100 * t.part:.0f} %: {t.source}" for t in thresholds.values())


def run_table(run: Run) -> Table:
    """Start, end, least and largest of what moved; angles in degrees too."""
    rows = (
        (name, shown_in(unit).unit, *(f"{shown_in(unit).factor * v:.5g}" for v in (x[0], x[-1], x.min(), x.max())))
        for name, unit, x in zip(run.names, run.units, run.motion.T, strict=True)
    )
    counts = [int((run.status == s).sum()) for s in (StepStatus.STICKING, StepStatus.AT_LIMIT)]
    sticking, stopped = (f"{100 * c / len(run.status):.1f} %" for c in counts)
    note = f"{len(run.times_s)} steps of {run.times_s[0]:g} s; sticking {sticking}, at a stop, limit or foot {stopped}."
    return table(rows, ("signal", "unit", "first", "last", "least", "largest"), note=note)
