"""The page of a simulation: a run of a model, a trial on the robot, or an audit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from palpate.report.loop_tables import (
    apparent_table,
    audit_table,
    comparison_table,
    coupling_table,
    felt_table,
    limits_table,
    remedy,
    run_table,
    sources,
)
from palpate.report.page import Block, Figure, Json, Lead, Remarks, Section, Words, write_page
from palpate.report.plots import curve, layout, line, log_scale
from palpate.runtime.loop import PASS_PERCENT
from palpate.runtime.loop_free import Run
from palpate.runtime.loop_study import apparent, true_apparent
from palpate.runtime.loop_trial import DELAYS_S, STIFFNESSES, Trial
from palpate.runtime.passivity_felt import DELAY
from palpate.runtime.passivity_report import Passivity


def write_run_page(path: Path, name: str, run: Run) -> None:
    """Motion of a model under a given wrench."""
    used = [i for i in range(6) if np.any(run.wrench[:, i])]
    wrench = [line(run.times_s, run.wrench[:, i], f"{n}, {u}", i) for i, (n, u) in enumerate(_wrench()) if i in used]
    rows = [f"{n}, {u}" for n, u in zip(run.names, run.units, strict=True)]
    traces = [line(run.times_s, run.motion[:, i], n, i, row=i + 2, showlegend=False) for i, n in enumerate(run.names)]
    figure = Figure(
        "Wrench and motion",
        "Force in on top, motion out below.",
        (*wrench, *traces),
        layout(["wrench, N and N m", *rows], {"title": {"text": "time, s"}}),
    )
    write_page(path, f"{name}: force in, motion out", [Section("Simulation", (run_table(run), figure))])


def write_trial_page(path: Path, found: Trial) -> None:
    """A model on the simulated robot beside the true object."""
    sections = [
        Section("Does it feel like the object?", (_verdict(found), comparison_table(found), *_motion(found))),
        Section("Apparent inertia", (_apparent(found), *((apparent_table(found),) if found.robot.stable else ()))),
        Section("Stability", (_map(found), limits_table(found), *_trade(found))),
        Section("How it was simulated", tuple(Words(text) for text in _how(found))),
    ]
    title = f"{found.model.name} on a simulated robot"
    write_page(path, title, sections, subtitle="A hand on the robot's handle, and the same hand on the object itself")


def write_audit_page(
    path: Path,
    report: Passivity,
) -> None:
    """Energy, coupling and what could be felt."""
    found, felt = report.audit, report.felt
    good = found.passive
    lead = (
        "No step creates energy: the model is safe to render as far as energy goes."
        if good
        else "Energy comes from nothing: do not render this model."
    )
    people: tuple[Block, ...] = ()
    if felt:
        strict = (
            "Each threshold was measured with nothing else to feel; in an object that has inertia, damping and "
            "friction at once people notice less, so this is strict."
        )
        cited = tuple(Words(text, quiet=True) for text in (*sources(felt), DELAY))
        people = (felt_table(felt), Words(strict), *cited)
    sections = [
        Section("Passivity", (Lead(lead, good), audit_table(report))),
        Section("Stability in a hand", (coupling_table(report.couplings),) if report.couplings else ()),
        Section("What people notice", people),
        Section("Remarks", (Remarks("What was not looked at", report.remarks),) if report.remarks else ()),
    ]
    write_page(path, f"{report.model.name}: passivity and stability", sections)


def _verdict(found: Trial) -> Lead:
    c = found.comparison
    worst = float(np.max(c.force_percent))
    of = "the model itself as the true object, so all of it is the robot's error" if found.same else "the true object"
    most = f"at most {PASS_PERCENT:g} %"
    if not c.stable:
        why = found.robot.ended or "the arm shook at the limit of its torque"
        return Lead(f"Not stable: {why}. {remedy(found)}", False)
    if not c.passed:
        return Lead(
            f"No: the force differs by {worst:.1f} % of its range (at most {PASS_PERCENT:g} %) from {of}.", False
        )
    if found.wrong is not None and found.wrong.passed:
        return Lead(
            "It passes, but so does an object that is wrong on purpose: this hand cannot tell them apart.", False
        )
    return Lead(f"Yes: the force differs by {worst:.1f} % of its range ({most}) from {of}.", True)


def _motion(found: Trial) -> tuple[Figure, ...]:
    figures: list[Figure] = []
    true, robot = found.true, found.robot
    count = min(len(true.times_s), len(robot.times_s))
    for i, way in enumerate(true.ways):
        t = true.times_s[:count]
        force, place = (x[:count, i] for x in (true.force, true.way))
        data = (
            line(t, force, "true object", "#222222"),
            line(t, robot.force[:count, i], "robot", 1, line={"color": "#d55e00", "width": 1.2, "dash": "dot"}),
            line(t, robot.force[:count, i] - force, "robot - true", 0, row=2, showlegend=False),
            line(t, 1e3 * place, "true object", "#222222", row=3, showlegend=False),
            line(
                t,
                1e3 * robot.way[:count, i],
                "robot",
                1,
                row=3,
                showlegend=False,
                line={"color": "#d55e00", "width": 1.2, "dash": "dot"},
            ),
        )
        percent = found.comparison.force_percent[i]
        figures.append(
            Figure(
                f"Force and motion of the hand, {way}",
                "Both forces should lie on each other; the middle row shows what is left.",
                data,
                layout(["force, N", "difference, N", "way, mm"], {"title": {"text": "time, s"}}),
                message=f"The forces differ by {percent:.2f} % RMS of their range.",
            )
        )
    return tuple(figures)


def _apparent(found: Trial) -> Figure:
    f = np.geomspace(0.1, 40.0, 120)
    truth, rendered = np.abs(true_apparent(found.line, f)), np.abs(apparent(found.line, f))
    points = found.apparent() if found.robot.stable else []
    hz = np.array([p[0] for p in points])
    data: list[Json] = [
        curve(f, truth, "object with handle, linear", "#222222"),
        curve(f, rendered, "robot with handle, linear", 1, line={"color": "#d55e00", "width": 1.5, "dash": "dot"}),
        _dots(hz, np.array([abs(p[1]) for p in points]), "true object, simulated", "#222222", "circle-open"),
        _dots(hz, np.array([abs(p[2]) for p in points]), "robot, simulated", "#d55e00", "x"),
    ]
    shown = np.concatenate([truth, rendered])
    scale = log_scale(max(float(shown.min()), 0.1), float(shown.max()))
    return Figure(
        "What the hand feels at each frequency",
        "Force over acceleration at the hand. Dots: the simulation with all friction; curves: the linear loop.",
        tuple(data),
        layout(["kg"], {"title": {"text": "Hz"}, **log_scale(0.1, 40.0)}, y={1: scale}),
    )


def _dots(x: np.ndarray, y: np.ndarray, name: str, colour: str, symbol: str) -> Json:  # type: ignore[type-arg]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": x.tolist(),
        "y": y.tolist(),
        "marker": {"size": 9, "color": colour, "symbol": symbol},
    }


def _map(found: Trial) -> Figure:
    stable = found.map < 1.0 - 1e-9
    z = [[1 if ok else 0 for ok in row] for row in stable.tolist()]
    delays, stiffnesses = (1e3 * DELAYS_S).tolist(), STIFFNESSES.tolist()
    data: tuple[Json, ...] = (
        {
            "type": "heatmap",
            "x": [f"{k:g}" for k in stiffnesses],
            "y": [f"{d:g}" for d in delays],
            "z": z,
            "zmin": 0,
            "zmax": 1,
            "colorscale": [[0, "#d55e00"], [0.5, "#d55e00"], [0.5, "#cfe8dc"], [1, "#cfe8dc"]],
            "showscale": False,
            "xgap": 2,
            "ygap": 2,
            "text": [["stable" if ok else "unstable" for ok in row] for row in stable.tolist()],
            "texttemplate": "%{text}",
            "textfont": {"size": 9, "color": "#222222"},
            "hovertemplate": "%{y} ms, %{x} N/m: %{text}<extra></extra>",
        },
    )
    share = 100 * float(stable.mean())
    return Figure(
        "Delay and stiffness of the hand",
        "Where hand and robot together are stable; the hand's mass and damping stay as they are.",
        data,
        layout(
            ["delay, ms"],
            {"title": {"text": "stiffness of the hand, N/m"}, "type": "category"},
            height=430,
            y={1: {"type": "category"}},
            showlegend=False,
        ),
        message=f"{share:.0f} % of the map is stable.",
    )


def _trade(found: Trial) -> tuple[Words, ...]:
    if not found.setup.robot.inner.acceleration:
        return ()
    text = (
        "Feeding the acceleration forward buys fidelity with stability: the mass behind the sensor (handle and hand) "
        "must then stay below the inertia that is rendered, whatever the delay. A lighter object needs a robot "
        "without it."
    )
    return (Words(text, quiet=True),)


def _how(found: Trial) -> tuple[str, ...]:
    s, inner, sensor, hand = found.setup, found.setup.robot.inner, found.setup.robot.sensor, found.setup.hand
    fed = " and ".join(n for n in ("velocity", "acceleration") if getattr(inner, n)) or "nothing"
    place = ", ".join(f"{x:.3g}" for x in found.grip.place)
    return (
        f"A hand of {hand.mass:g} kg, {hand.damping:g} N s/m and {hand.stiffness:g} N/m holds the handle and rocks it "
        f"at {found.intention.pace_hz:.2f} Hz on a slow way there and back, with smaller movements up to 2.9 Hz. The "
        "pace is the one that its spring and the object's inertia prefer: faster, a soft hand sets the force by "
        "itself; slower, only springs and friction are felt. There an error of inertia or damping shows most.",
        f"The sensor is at ({place}) m of the body frame. It reads the wrench of handle and hand "
        f"{1e3 * sensor.delay_s:g} ms late, with noise of {sensor.noise_n:g} N and {sensor.noise_nm:g} N m a sample, "
        f"at {sensor.rate_hz:g} Hz. That wrench, as it is, drives the model of the body; the handle is real "
        "(0.9 kg), so nobody has to render it.",
        f"The arm is a simulated seven-axis arm (MuJoCo) with friction that nobody compensates; its controller takes "
        f"all masses for {100 * inner.wrong:.0f} % heavier than they are. Position over its reference has "
        f"{inner.bandwidth_hz:g} Hz (-3 dB). Fed forward from the model: {fed}.",
        "The true object is one simulation of object, handle and hand, without robot and sensor, at half the step."
        if not found.same
        else "The true object is the model itself, simulated with handle and hand, without robot and sensor, at half "
        "the step: what differs is the robot's error alone. Give --truth to compare with another object.",
        f"Simulated: {s.seconds:g} s.",
    )


def _wrench() -> tuple[tuple[str, str], ...]:
    from palpate.runtime.loop_free import WRENCH_NAMES, WRENCH_UNITS

    return tuple(zip(WRENCH_NAMES, WRENCH_UNITS, strict=True))
