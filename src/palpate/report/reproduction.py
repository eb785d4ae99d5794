"""The page of a reproduction of the paper, its tables as CSV and LaTeX, and the paper's figures as SVG and PDF."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from palpate.elements import PolynomialSpring
from palpate.errors import MissingExtra
from palpate.experiment.reproduce import Entry, Reproduction
from palpate.experiment.reproduce_choices import BODIES
from palpate.experiment.reproduce_paper import PAPER
from palpate.experiment.reproduce_published import BODY_HZ, Trace
from palpate.experiment.reproduce_table import (
    Line,
    choices_text,
    comparison,
    correction_text,
    outside,
    reproduction_data,
)
from palpate.experiment.result import Result
from palpate.files import replacing, write_text
from palpate.physics.arrays import FloatArray
from palpate.physics.functions import ARRAYS
from palpate.report import plots
from palpate.report.page import Block, Figure, Json, Remarks, Section, Table, Words, write_page
from palpate.report.plots import COLOURS, DARK, layout

SUBTITLE = "System Identification of Admittance Models for Large Real-World Objects (Baum, Luttmer, Minor)"


def write_reproduction(folder: Path, found: Reproduction) -> tuple[list[Path], list[str]]:
    """Write everything; returns the paths, and what could not be written for want of a library."""
    paths = [folder / "reproduction.json", folder / "table.csv", folder / "table.tex"]
    data = json.dumps(reproduction_data(found), indent=1, allow_nan=False) + "\n"
    for path, text in zip(paths, (data, table_csv(found), table_latex(found)), strict=True):
        write_text(path, text)
    for name, entry in found.entries.items():
        if entry.default is not None:
            paths += entry.default.save(folder / name)
    lost: list[str] = []
    try:
        paths += write_figures(folder / "figures", found)
    except MissingExtra as missing:
        lost.append(f"the figures are not written: {missing}")
    try:
        write_page(folder / "report.html", "The paper reproduced", sections(found), subtitle=SUBTITLE)
        paths.append(folder / "report.html")
    except MissingExtra as missing:
        lost.append(f"report.html is not written: {missing}")
    return paths, lost


def sections(found: Reproduction) -> list[Section]:
    """The page: what came out, the files, then one section for each identification."""
    told = verdicts(found)
    overview: list[Block] = [Words(text) for text, _ in told]
    if found.failures:
        overview.append(Remarks("Speaks against it", found.failures, severe=True))
    return [
        Section("Result", tuple(overview)),
        *(_entry(entry, found) for entry in found.entries.values()),
        Section("Files", _files(found)),
    ]


def _entry(entry: Entry, found: Reproduction) -> Section:
    blocks: list[Block] = []
    lines = comparison(entry)
    if entry.published is not None or entry.default is not None:
        simulated = entry.truth is not None
        note = (
            "Differences are against the truth of this simulated copy; RMS, kappa and marker errors have none."
            if simulated
            else ""
        )
        note += " Inside: whether the default's 95 % interval holds " + (
            "the truth." if simulated else "the printed number, up to its rounding."
        )
        if "Ixx" in PAPER[entry.name].parameters:
            note += " Inertias are matrix entries about the frame's origin (Ixy = -∫xy dm)."
        blocks.append(
            Table(
                headings(found),
                tuple(cells(line, found) for line in lines),
                words=(0, 1),
                marked=tuple(i for i, line in enumerate(lines) if marked(line)),
                note=note.strip(),
            )
        )
    figure = figure_of(entry)
    if figure is not None:
        blocks.append(figure)
    sentences = tuple(text for text, _ in entry_sentences(entry))
    if sentences:
        blocks.append(Remarks("To know", sentences, severe=bool(entry.refused)))
    blocks.append(
        Table(("as published", "what the authors chose"), choices_text(entry.name), words=(0, 1), title="The two ways")
    )
    return Section(PAPER[entry.name].title, tuple(blocks))


def _files(found: Reproduction) -> tuple[Block, ...]:
    rows = tuple((f.file, f.experiment, f.recording, f.state, f.told) for f in found.files)
    off = tuple(i for i, f in enumerate(found.files) if not f.usable)
    blocks: list[Block] = [
        Table(("file", "identification", "recording", "state", "remark"), rows, words=(0, 1, 2, 3, 4), marked=off)
    ]
    missing = tuple(missing_sentences(found))
    if missing:
        blocks.insert(0, Remarks("Missing", missing))
    return tuple(blocks)


LATEX = {
    "m": "m",
    "I": "I",
    "lambda": r"\lambda",
    **{f"I{a}": f"I_{{{a}}}" for a in ("xx", "yy", "zz", "xy", "xz", "yz")},
    **{n: f"{n[0]}_{{{n[2:]}}}" for n in ("c_x", "c_y", "c_z", "b_bc", "b_s", "b_l", "b_v", "b_c")},
    "b_psi": r"b_\psi",
    **{f"c_{i}": f"c_{i}" for i in range(4)},
}


def headings(found: Reproduction) -> tuple[str, ...]:
    """Of the columns, in order."""
    simulated, both = _kinds(found)
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


def cells(line: Line, found: Reproduction) -> tuple[str, ...]:
    """A line's cells as text."""
    simulated, both = _kinds(found)
    digits = _decimals(line)

    def number(value: float | None) -> str:
        if line.kind == "regression" and value is not None:
            return f"{value:.3g}"
        return "-" if value is None else f"{value:.{digits}f}"

    ci = "-" if line.ci95 is None else f"{number(line.ci95[0])} … {number(line.ci95[1])}"
    inside = "" if line.inside is None else "yes" if line.inside else "no"
    own = (number(line.default), ci, _difference(line.default_percent), "known" if line.fixed else inside)
    return (
        line.name,
        line.unit,
        "-" if line.paper is None else line.paper.text,
        *((number(line.truth),) if simulated else ()),
        number(line.published),
        _difference(line.published_percent),
        *(own if both else ()),
    )


def marked(line: Line) -> bool:
    """Whether a line deserves a look."""
    return line.inside is False


def reproduction_text(found: Reproduction) -> RenderableType:
    """Files that are not there, a table an object, and verdicts."""
    parts: list[RenderableType] = [*_files_text(found)]
    for entry in found.entries.values():
        parts.append(Text(f"\n{PAPER[entry.name].title}", style="bold"))
        if entry.published is not None or entry.default is not None:
            parts.append(_table(entry, found))
        parts += [Text(line, style=style) for line, style in entry_sentences(entry)]
    parts.append(Text(""))
    parts += [Text(line, style=style) for line, style in verdicts(found)]
    return Group(*parts)


def _files_text(found: Reproduction) -> list[Text]:
    told = [Text(f"Missing: {line}", style="yellow") for line in missing_sentences(found)]
    words = {"wrong": "Wrong file", "short": "Too short"}
    return told + [Text(f"{words[f.state]}: {f.file}: {f.told}", style="red") for f in _once(found.wrong)]


def missing_sentences(found: Reproduction) -> list[str]:
    """Files that are not there, each once."""
    return [f"{f.file} ({f.told})" if f.told else f.file for f in _once(found.missing)]


def entry_sentences(entry: Entry) -> list[tuple[str, str]]:
    """What is to be said about one identification, with a style."""
    notes = [*entry.notes, *filter(None, [correction_text(entry)])]
    told = [(f"{note[0].upper()}{note[1:]}", "dim") for note in notes]
    for why in dict.fromkeys(entry.refused.values()):
        modes = " and ".join({"published": "as published", "default": "default"}[m] for m in _modes(entry, why))
        told.append((f"No result ({modes}): {why}", "red"))
    if entry.default is not None:
        told += [(f"Warning: {warning}", "yellow") for warning in entry.default.data["warnings"]]
    return told


def verdicts(found: Reproduction) -> list[tuple[str, str]]:
    """One sentence for each identification, with a style."""
    told: list[tuple[str, str]] = []
    for entry in found.entries.values():
        title = PAPER[entry.name].title
        if entry.default is None:
            what = "as published only" if entry.published is not None else "not identified"
            told.append((f"{title}: {what}", "yellow"))
            continue
        passed = entry.default.passed
        lines = [line for line in comparison(entry) if line.kind == "parameter" and line.inside is not None]
        off = outside(entry)
        whose = "truth" if entry.truth is not None else "paper's value"
        count = f"{len(lines) - len(off)} of {len(lines)} intervals"
        text = f"{title}: {'passed' if passed else 'failed'}; the {whose} is inside {count}"
        text += f" (not {', '.join(line.name for line in off)})" if off else ""
        told.append((text, "bold green" if passed else "bold red"))
        told += [(f"- {reason}", "red") for reason in entry.default.data["verdict"]["reasons"]]
    return told


def table_csv(found: Reproduction) -> str:
    """All lines of all tables, numbers as they are."""
    out = io.StringIO()
    names = ("kind", "name", "unit", "paper", "truth", "published", "published_percent", "default")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("experiment", *names, "low95", "high95", "default_percent", "inside", "status"))
    for entry in found.entries.values():
        for line in comparison(entry):
            low, high = line.ci95 or (None, None)
            paper = None if line.paper is None else line.paper.text
            row: list[Any] = [entry.name, line.kind, line.name, line.unit, paper, line.truth, line.published]
            row += [line.published_percent, line.default, low, high, line.default_percent, line.inside, line.status]
            writer.writerow(["" if cell is None else cell for cell in row])
    return out.getvalue()


def table_latex(found: Reproduction) -> str:
    """One tabular per identification, for \\input; needs no package."""
    parts: list[str] = ["% made by palpate reproduce"]
    for entry in found.entries.values():
        if entry.published is None and entry.default is None:
            continue
        titles = headings(found)
        parts.append(f"% {PAPER[entry.name].title}")
        parts.append(f"\\begin{{tabular}}{{ll{'r' * (len(titles) - 2)}}}\n\\hline")
        parts.append(" & ".join(_escaped(t) for t in titles) + r" \\ \hline")
        for line in comparison(entry):
            name, unit, *rest = cells(line, found)
            shown = f"${LATEX[name]}$" if name in LATEX else _escaped(name)
            values = [_escaped(v).replace("…", r"\ldots{}").replace("-", "$-$") for v in rest]
            parts.append(" & ".join([shown, _escaped(f"[{unit}]"), *values]) + r" \\")
        parts.append("\\hline\n\\end{tabular}\n")
    return "\n".join(parts) + "\n"


def _table(entry: Entry, found: Reproduction) -> RichTable:
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for i, title in enumerate(headings(found)):
        table.add_column(title, justify="left" if i < 2 else "right", no_wrap=True)
    for line in comparison(entry):
        table.add_row(*cells(line, found), style="yellow" if marked(line) else "")
    return table


def _kinds(found: Reproduction) -> tuple[bool, bool]:
    return any(e.truth is not None for e in found.entries.values()), "default" in found.modes


def _modes(entry: Entry, why: str) -> list[str]:
    return [mode for mode, reason in entry.refused.items() if reason == why]


def _once(files: Sequence[Any]) -> list[Any]:
    """Two devices may share a file."""
    return list({f.file: f for f in files}.values())


def _difference(percent: float | None) -> str:
    if percent is None:
        return ""
    return f"{percent:+.2f} %" if abs(percent) < 100 else f"{percent:+.0f} %"


def _decimals(line: Line) -> int:
    """One more than the paper prints, or so many that an interval shows to two digits."""
    printed = 3 if line.paper is None else len(line.paper.text.partition(".")[2]) + 1
    if line.ci95 is None:
        return printed
    half = (line.ci95[1] - line.ci95[0]) / 2
    return max(printed, min(8, next((d for d in range(9) if half * 10**d >= 9.5), 8)))


def _escaped(text: str) -> str:
    for mark in "%_&#":
        text = text.replace(mark, f"\\{mark}")
    return text


TORQUES = {"n_x": "τ_x", "n_y": "τ_y", "n_z": "τ_z"}
WAYS = {"published": "as published", "default": "default"}
_INCH = 3.5
"""Width of a column of the journal."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One plot of a figure: curves over time with a unit."""

    title: str
    unit: str
    curves: tuple[tuple[str, FloatArray, FloatArray, str], ...]
    """Name, times (s), values, colour."""


def panels(entry: Entry) -> tuple[Panel, ...]:
    """The plots of one figure, from top to bottom; none where nothing was identified."""
    traces = traces_of(entry)
    if not traces:
        return ()
    first = next(iter(traces.values()))
    if "angle" in first.series:
        t, angle = first.times_s, np.degrees(first.series["angle"])
        own = [Panel("door angle θ_d", "deg", (("θ_d", t, angle, DARK),)), _torque(traces, "n_z", "hinge torque")]
        return tuple(own)
    place = tuple((n, first.times_s, first.series[n], COLOURS[i]) for i, n in enumerate(("contact x", "contact y")))
    turned = tuple(
        (n, first.times_s, np.degrees(first.series[n] - first.series[n][0] * (n == "yaw")), COLOURS[i])
        for i, n in enumerate(("pitch", "camber", "yaw"))
    )
    rows = [_torque(traces, row, TORQUES[row]) for row in TORQUES]
    return (Panel("contact", "m", place), Panel("angles", "deg", turned), *rows)


def traces_of(entry: Entry) -> dict[str, Trace]:
    """By way: what was measured and estimated in the paper's test segment."""
    found: dict[str, Trace] = {}
    if entry.published is not None and entry.published.trace is not None:
        found["published"] = entry.published.trace
    if entry.default is not None and entry.default.view is not None and entry.name in BODIES:
        trace = _default_trace(entry.default)
        if trace is not None:
            found["default"] = trace
    return found


def _default_trace(result: Result) -> Trace | None:
    """Of the last test segment, which is the paper's; the door's spring on the side of the reference."""
    view = result.view
    spans = () if view is None else view.segments.get("test", ())
    if view is None or not spans:
        return None
    start, stop = spans[-1]
    # one sample more at either end belongs to the authors' segments
    at = (view.times_s >= start - 1 / BODY_HZ) & (view.times_s < stop + 1 / BODY_HZ)
    names = tuple(row.name for row in view.model.mechanism.rows)
    keep = [i for i, name in enumerate(names) if name in TORQUES]
    reference, estimate = view.reference[at][:, keep], view.estimate[at][:, keep]
    contact = {"x": "contact x", "y": "contact y"}
    series: dict[str, FloatArray] = {contact.get(c.name, c.name): c.position[at] for c in view.coordinates}
    if view.main is not None:
        angle = view.main.position[at]
        series = {"angle": angle}
        spring = _spring(result, angle)[:, None]
        reference, estimate = reference + spring, estimate + spring
    return Trace(view.times_s[at] - start, series, tuple(names[i] for i in keep), reference, estimate)


def _spring(result: Result, angle: FloatArray) -> FloatArray:
    """(samples,): nu tau_s of the identified spring, N m (paper, eq. y_door_scalar)."""
    model: Any = result.view.model  # type: ignore[union-attr]
    mechanism = model.mechanism
    springs = [e for e in model.elements if isinstance(e, PolynomialSpring)]
    if not springs or mechanism.linkage is None:
        return np.zeros(len(angle))
    position, ratio, _ = mechanism.linkage.transmit(angle, ARRAYS)
    values = [model.values[p.name] for p in springs[0].parameters]
    return np.asarray(ratio * np.polynomial.polynomial.polyval(position - springs[0].reference, values), dtype=float)


def _torque(traces: Mapping[str, Trace], row: str, title: str) -> Panel:
    """Measured once, estimated in each way, and what is left."""
    curves: list[tuple[str, FloatArray, FloatArray, str]] = []
    for i, (way, trace) in enumerate(traces.items()):
        at = trace.rows.index(row)
        # each way has a reference of its own: another wrench of the handle, another filter
        curves.append((f"y, {WAYS[way]}", trace.times_s, trace.reference[:, at], (DARK, "#888888")[i]))
        curves.append((f"f, {WAYS[way]}", trace.times_s, trace.estimate[:, at], COLOURS[(1, 0)[i]]))
    return Panel(title, "N m", tuple(curves))


def figure_of(entry: Entry) -> Figure | None:
    """The interactive figure of the page."""
    rows = panels(entry)
    if not rows:
        return None
    data: list[Json] = []
    shown: set[str] = set()
    for number, panel in enumerate(rows, start=1):
        for name, times, values, colour in panel.curves:
            data.append(
                plots.line(times, values, name, colour, row=number, showlegend=name not in shown, legendgroup=name)
            )
            shown.add(name)
    titles = [f"{panel.title}, {panel.unit}" for panel in rows]
    return Figure(
        f"{'Door' if entry.name == 'door' else 'Wheelbarrow'}, test segment",
        "The estimate f should lie on its reference y; the two ways have references of their own, because they treat "
        "the handle and the sensor's zero differently.",
        tuple(data),
        layout(titles, {"title": {"text": "time, s"}}, height=120 + 150 * len(rows)),
    )


def write_figures(folder: Path, found: Reproduction) -> list[Path]:
    """door and wheelbarrow as SVG and PDF; returns the paths. Raises `MissingExtra` without Matplotlib."""
    paths: list[Path] = []
    for name in ("door", "wheelbarrow"):
        rows = panels(found.entries[name])
        if rows:
            paths += _draw(folder / name, rows)
    return paths


def _draw(stem: Path, rows: Sequence[Panel]) -> list[Path]:
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise MissingExtra("matplotlib", "report", "a figure for papers") from None
    canvas = Canvas(figsize=(_INCH, 1.3 * len(rows)), layout="constrained")
    canvas.set_layout_engine("constrained", h_pad=0.08, rect=(0, 0, 1, 0.99))
    axes: Any = canvas.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
    for letter, ax, panel in zip("abcdefgh", axes, rows, strict=False):
        for name, times, values, colour in panel.curves:
            dashes = "--" if name == f"f, {WAYS['default']}" else "-"
            ax.plot(times, values, dashes, color=colour, linewidth=0.6, label=name)
        ax.set_ylabel(f"({letter}) {panel.title}\n{panel.unit}", fontsize=6)
        ax.tick_params(labelsize=6)
        shown = ax.legend(
            fontsize=4.5,
            loc="lower left",
            bbox_to_anchor=(0, 1),
            frameon=False,
            ncols=4,
            borderaxespad=0,
            handlelength=1.2,
        )
        shown.set_in_layout(False)  # it must not narrow the plot
    axes[-1].set_xlabel("time, s", fontsize=6)
    paths: list[Path] = []
    for kind in ("svg", "pdf"):
        path = stem.with_suffix(f".{kind}")
        with replacing(path) as temporary:
            # no date inside: the same data give the same file
            canvas.savefig(temporary, format=kind, metadata={"Date" if kind == "svg" else "CreationDate": None})
        paths.append(path)
    return paths
