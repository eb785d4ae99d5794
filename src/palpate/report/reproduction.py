"""The page of a reproduction of the paper, its tables as CSV and LaTeX, and the paper's figures as SVG and PDF."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from palpate.errors import MissingExtra
from palpate.experiment.paper.choices import BODIES, PAPER
from palpate.experiment.paper.published import BODY_HZ, Trace
from palpate.experiment.paper.reproduce import Entry, Reproduction
from palpate.experiment.paper.table import (
    Line,
    choices_text,
    comparison,
    correction_text,
    outside,
    reproduction_data,
)
from palpate.experiment.view import View
from palpate.files import write_text
from palpate.report import plots
from palpate.report.model_plots import force_of
from palpate.report.page import Block, Figure, Json, Remarks, Section, Table, Words, write_page
from palpate.report.paper import FORMATS, escape_latex, save_figure
from palpate.report.plots import COLOURS, DARK, Panel, line

SUBTITLE = "System Identification of Admittance Models for Large Real-World Objects (Baum, Luttmer, Minor)"
_LATEX = {
    **{"m": "m", "I": "I", "lambda": r"\lambda", "b_psi": r"b_\psi"},
    **{f"I{a}": f"I_{{{a}}}" for a in ("xx", "yy", "zz", "xy", "xz", "yz")},
    **{n: f"{n[0]}_{{{n[2:]}}}" for n in ("c_x", "c_y", "c_z", "b_bc", "b_s", "b_l", "b_v", "b_c")},
    **{f"c_{i}": f"c_{i}" for i in range(4)},
}
_TORQUES = {"n_x": "τ_x", "n_y": "τ_y", "n_z": "τ_z"}
_WAYS = {"published": "as published", "default": "default"}


def write_reproduction(folder: Path, runs: Reproduction) -> tuple[list[Path], list[str]]:
    """Write everything; returns the paths, and what could not be written for want of a library."""
    paths = [folder / "reproduction.json", folder / "table.csv", folder / "table.tex"]
    data = json.dumps(reproduction_data(runs), indent=1, allow_nan=False) + "\n"
    for path, text in zip(paths, (data, table_csv(runs), table_latex(runs)), strict=True):
        write_text(path, text)
    lost: list[str] = []
    for name, entry in runs.entries.items():
        if entry.default is not None:
            paths += entry.default.save(folder / name)
    try:
        figures = {name: figure_of(entry) for name, entry in runs.entries.items()}
        for name, figure, kind in [(n, f, k) for n, f in figures.items() if f is not None for k in FORMATS]:
            save_figure(folder / "figures" / f"{name}.{kind}", figure)
            paths.append(folder / "figures" / f"{name}.{kind}")
    except MissingExtra as missing:
        lost.append(f"the figures are not written: {missing}")
    try:
        write_page(folder / "report.html", "The paper reproduced", sections(runs), subtitle=SUBTITLE)
        paths.append(folder / "report.html")
    except MissingExtra as missing:
        lost.append(f"report.html is not written: {missing}")
    return paths, lost


# --- the page ---------------------------------------------------------------------------------------------------------


def sections(runs: Reproduction) -> list[Section]:
    """The page: what came out, one section for each identification, then the files."""
    against = [Remarks("Speaks against it", runs.failures, severe=True)] if runs.failures else []
    return [
        Section("Result", (*(Words(text) for text, _ in verdicts(runs)), *against)),
        *(Section(PAPER[entry.name].title, tuple(_entry(entry, runs))) for entry in runs.entries.values()),
        Section("Files", tuple(_files(runs))),
    ]


def _entry(entry: Entry, runs: Reproduction) -> Iterator[Block]:
    if entry.published is not None or entry.default is not None:
        simulated = entry.truth is not None
        note = "Inside: whether the default's 95 % interval holds the printed number, up to its rounding."
        if simulated:
            note = "Differences are against the truth of this simulated copy; RMS, kappa and marker errors have none."
            note += " Inside: whether the default's 95 % interval holds the truth."
        if "Ixx" in PAPER[entry.name].parameters:
            note += " Inertias are matrix entries about the frame's origin (Ixy = -∫xy dm)."
        yield table_of(entry, runs, note)
    figure = figure_of(entry)
    if figure is not None:
        yield figure
    texts = tuple(text for text, _ in entry_sentences(entry))
    if texts:
        yield Remarks("To know", texts, severe=bool(entry.refused))
    choices = choices_text(entry.name)
    yield Table(("as published", "what the authors chose"), choices, words=(0, 1), title="The two ways")


def _files(runs: Reproduction) -> Iterator[Block]:
    missing = tuple(missing_sentences(runs))
    if missing:
        yield Remarks("Missing", missing)
    rows = tuple((f.file, f.experiment, f.recording, f.state, f.told) for f in runs.files)
    off = tuple(i for i, f in enumerate(runs.files) if not f.usable)
    headings = ("file", "identification", "recording", "state", "remark")
    yield Table(headings, rows, words=(0, 1, 2, 3, 4), marked=off)


def figure_of(entry: Entry) -> Figure | None:
    """The paper's result figure of a body's test segment, with ours in both ways; None where nothing was identified."""
    traces = _traces(entry)
    if not traces:
        return None
    first = next(iter(traces.values()))
    t, series = first.times_s, first.series
    if "angle" in series:
        angle = line(t, np.degrees(series["angle"]), "θ_d", DARK)
        panels = [Panel("door angle θ_d, deg", (angle,)), _torque(traces, "n_z", "hinge torque")]
    else:
        place = tuple(line(t, series[n], n, i) for i, n in enumerate(("contact x", "contact y")))
        angles = {n: np.degrees(series[n] - series[n][0] * (n == "yaw")) for n in ("pitch", "camber", "yaw")}
        turned = tuple(line(t, y, n, i) for i, (n, y) in enumerate(angles.items()))
        panels = [Panel("contact, m", place), Panel("angles, deg", turned)]
        panels += [_torque(traces, row, word) for row, word in _TORQUES.items()]
    return plots.stacked(
        f"{entry.name.capitalize()}, test segment",
        "The estimate f should lie on its reference y; the two ways have references of their own, because they treat "
        "the handle and the sensor's zero differently.",
        panels,
        plots.since(0.0),
        height=120 + 150 * len(panels),
    )


def _traces(entry: Entry) -> dict[str, Trace]:
    """By way: what was measured and estimated in the paper's test segment."""
    traces: dict[str, Trace] = {}
    if entry.published is not None and entry.published.trace is not None:
        traces["published"] = entry.published.trace
    view = None if entry.default is None or entry.name not in BODIES else entry.default.view
    if view is not None and view.segments.get("test"):
        traces["default"] = _default_trace(view)
    return traces


def _default_trace(view: View) -> Trace:
    """Of the last test segment, which is the paper's; the door's spring on the side of the reference."""
    start, stop = view.segments["test"][-1]
    # one sample more at either end belongs to the authors' segments
    at = (view.times_s >= start - 1 / BODY_HZ) & (view.times_s < stop + 1 / BODY_HZ)
    names = tuple(row.name for row in view.model.mechanism.rows)
    keep = [i for i, name in enumerate(names) if name in _TORQUES]
    reference, estimate = view.reference[at][:, keep], view.estimate[at][:, keep]
    contact = {"x": "contact x", "y": "contact y"}
    series = {contact.get(c.name, c.name): c.position[at] for c in view.coordinates}
    if view.main is not None:
        angle = view.main.position[at]
        # nu tau_s of the identified spring, N m (paper, eq. y_door_scalar)
        spring = -force_of(view.model, angle, 0.0, [e.stores for e in view.model.elements])[:, None]
        series, reference, estimate = {"angle": angle}, reference + spring, estimate + spring
    return Trace(view.times_s[at] - start, series, tuple(names[i] for i in keep), reference, estimate)


def _torque(traces: Mapping[str, Trace], row: str, title: str) -> Panel:
    """Measured and estimated in each way: each has a reference of its own, another wrench of the handle and filter."""
    data: list[Json] = []
    for i, (way, trace) in enumerate(traces.items()):
        at, dashes = trace.rows.index(row), {"dash": "dash"} if way == "default" else {}
        data.append(line(trace.times_s, trace.reference[:, at], f"y, {_WAYS[way]}", (DARK, "#888888")[i]))
        stroke = {"color": COLOURS[(1, 0)[i]], "width": 1.2, **dashes}
        data.append(line(trace.times_s, trace.estimate[:, at], f"f, {_WAYS[way]}", line=stroke))
    return Panel(f"{title}, N m", tuple(data))


# --- the table --------------------------------------------------------------------------------------------------------


def table_of(entry: Entry, runs: Reproduction, note: str = "") -> Table:
    """The paper's numbers beside ours; marked where an interval does not hold the number."""
    lines = comparison(entry)
    off = tuple(i for i, each in enumerate(lines) if each.inside is False)
    return Table(headings(runs), tuple(cells(each, runs) for each in lines), words=(0, 1), marked=off, note=note)


def headings(runs: Reproduction) -> tuple[str, ...]:
    """Of the columns, in order."""
    simulated, both = _kinds(runs)
    against = "of truth" if simulated else "of paper"
    return (
        "quantity",
        "unit",
        "paper",
        *(("truth",) if simulated else ()),
        "as published",
        against,
        *(("default", "95 % interval", against, "inside") if both else ()),
    )


def cells(each: Line, runs: Reproduction) -> tuple[str, ...]:
    """The cells of a line as text."""
    simulated, both = _kinds(runs)
    digits = _decimals(each)

    def number(value: float | None) -> str:
        if each.kind == "regression" and value is not None:
            return f"{value:.3g}"
        return "-" if value is None else f"{value:.{digits}f}"

    ci = "-" if each.ci95 is None else f"{number(each.ci95[0])} … {number(each.ci95[1])}"
    inside = "" if each.inside is None else "yes" if each.inside else "no"
    ours = (number(each.default), ci, _difference(each.percent(each.default)), "known" if each.fixed else inside)
    return (
        each.name,
        each.unit,
        "-" if each.paper is None else each.paper.text,
        *((number(each.truth),) if simulated else ()),
        number(each.published),
        _difference(each.percent(each.published)),
        *(ours if both else ()),
    )


def _kinds(runs: Reproduction) -> tuple[bool, bool]:
    return any(e.truth is not None for e in runs.entries.values()), "default" in runs.modes


def _difference(percent: float | None) -> str:
    if percent is None:
        return ""
    return f"{percent:+.2f} %" if abs(percent) < 100 else f"{percent:+.0f} %"


def _decimals(each: Line) -> int:
    """One more than the paper prints, or so many that an interval shows to two digits."""
    printed = 3 if each.paper is None else len(each.paper.text.partition(".")[2]) + 1
    if each.ci95 is None:
        return printed
    half = (each.ci95[1] - each.ci95[0]) / 2
    return max(printed, min(8, next((d for d in range(9) if half * 10**d >= 9.5), 8)))


def table_csv(runs: Reproduction) -> str:
    """All lines of all tables, numbers as they are."""
    out = io.StringIO()
    names = ("kind", "name", "unit", "paper", "truth", "published", "published_percent", "default")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("experiment", *names, "low95", "high95", "default_percent", "inside", "status"))
    for entry in runs.entries.values():
        for each in comparison(entry):
            paper = None if each.paper is None else each.paper.text
            row: list[Any] = [entry.name, each.kind, each.name, each.unit, paper, each.truth, each.published]
            row += [
                each.percent(each.published),
                each.default,
                *(each.ci95 or (None, None)),
                each.percent(each.default),
            ]
            writer.writerow(["" if cell is None else cell for cell in (*row, each.inside, each.status)])
    return out.getvalue()


def table_latex(runs: Reproduction) -> str:
    """One tabular per identification, for \\input; needs no package."""
    parts: list[str] = ["% made by palpate reproduce"]
    for entry in runs.entries.values():
        if entry.published is None and entry.default is None:
            continue
        titles = headings(runs)
        parts.append(f"% {PAPER[entry.name].title}")
        parts.append(f"\\begin{{tabular}}{{ll{'r' * (len(titles) - 2)}}}\n\\hline")
        parts.append(" & ".join(escape_latex(t) for t in titles) + r" \\ \hline")
        for each in comparison(entry):
            name, unit, *rest = cells(each, runs)
            symbol = f"${_LATEX[name]}$" if name in _LATEX else escape_latex(name)
            values = [escape_latex(v).replace("-", "$-$") for v in rest]
            parts.append(" & ".join([symbol, escape_latex(f"[{unit}]"), *values]) + r" \\")
        parts.append("\\hline\n\\end{tabular}\n")
    return "\n".join(parts) + "\n"


# --- words ------------------------------------------------------------------------------------------------------------


def reproduction_text(runs: Reproduction) -> RenderableType:
    """Files that are not there, a table an object, and verdicts."""
    parts: list[RenderableType] = [Text(f"Missing: {text}", style="yellow") for text in missing_sentences(runs)]
    words = {"wrong": "Wrong file", "short": "Too short"}
    wrong = {f.file: f for f in runs.wrong}  # two devices may share a file
    parts += [Text(f"{words[f.state]}: {f.file}: {f.told}", style="red") for f in wrong.values()]
    for entry in runs.entries.values():
        parts.append(Text(f"\n{PAPER[entry.name].title}", style="bold"))
        if entry.published is not None or entry.default is not None:
            parts.append(table_of(entry, runs))
        parts += [Text(text, style=style) for text, style in entry_sentences(entry)]
    return Group(*parts, Text(""), *(Text(text, style=style) for text, style in verdicts(runs)))


def missing_sentences(runs: Reproduction) -> list[str]:
    """Files that are not there, each once."""
    return list(dict.fromkeys(f"{f.file} ({f.told})" if f.told else f.file for f in runs.missing))


def entry_sentences(entry: Entry) -> list[tuple[str, str]]:
    """What is to be said about one identification, with a style."""
    notes = [*entry.notes, *filter(None, [correction_text(entry)])]
    texts = [(f"{note[0].upper()}{note[1:]}", "dim") for note in notes]
    for why in dict.fromkeys(entry.refused.values()):
        modes = " and ".join(_WAYS[mode] for mode, reason in entry.refused.items() if reason == why)
        texts.append((f"No result ({modes}): {why}", "red"))
    warnings: list[str] = [] if entry.default is None else entry.default.data["warnings"]
    return [*texts, *((f"Warning: {warning}", "yellow") for warning in warnings)]


def verdicts(runs: Reproduction) -> list[tuple[str, str]]:
    """One sentence for each identification, with a style."""
    texts: list[tuple[str, str]] = []
    for entry in runs.entries.values():
        title = PAPER[entry.name].title
        if entry.default is None:
            what = "as published only" if entry.published is not None else "not identified"
            texts.append((f"{title}: {what}", "yellow"))
            continue
        passed = entry.default.passed
        lines = [each for each in comparison(entry) if each.kind == "parameter" and each.inside is not None]
        off = outside(entry)
        whose = "truth" if entry.truth is not None else "paper's value"
        count = f"{len(lines) - len(off)} of {len(lines)} intervals"
        text = f"{title}: {'passed' if passed else 'failed'}; the {whose} is inside {count}"
        text += f" (not {', '.join(each.name for each in off)})" if off else ""
        texts.append((text, "bold green" if passed else "bold red"))
        texts += [(f"- {reason}", "red") for reason in entry.default.data["verdict"]["reasons"]]
    return texts
