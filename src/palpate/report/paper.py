"""Figures and tables for papers: the page's figures as SVG or PDF, its tables as CSV or LaTeX."""

from __future__ import annotations

import csv
import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from palpate.experiment.tables import PARTS, parameter_table, rms_table, shape_table
from palpate.files import replacing
from palpate.physics.arrays import FloatArray
from palpate.report.page import Figure, Json, extra
from palpate.tables import Table

Format = Literal["svg", "pdf"]
FORMATS: tuple[Format, ...] = ("svg", "pdf")
WIDTH_MM = 180.0
"""Two columns of most journals."""
_PIXELS_PER_INCH = 130.0
"""Of the page, whose figures are about this dense on paper."""
_STYLE: dict[str, Any] = {
    "font.size": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.5,
    "lines.solid_capstyle": "butt",
    "pdf.fonttype": 42,  # text stays text that journals can check
    "svg.fonttype": "none",
    "svg.hashsalt": "palpate",
}
_DASHES = {"dash": (0, (5, 3)), "dot": (0, (1, 2)), "solid": "solid"}
_SYMBOLS = {"circle": "o", "diamond": "D", "x-thin-open": "x", "square": "s"}


def save_figure(figure: Figure, *paths: Path) -> None:
    """Draw a figure of the page into SVG or PDF files, atomically; the same data give the same file."""
    drawn, style = draw(figure)
    with style:
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else {"CreationDate": None}
            with replacing(path) as temporary:
                drawn.savefig(temporary, format=path.suffix[1:], metadata=metadata)


def draw(figure: Figure) -> tuple[Any, Any]:
    """The figure as Matplotlib's, and the settings (a context) in which to save it."""
    style: Any = extra("matplotlib", "figures for papers").rc_context
    layout = figure.layout
    height = float(layout.get("height", 320)) / _PIXELS_PER_INCH
    with style(_STYLE):
        drawn = extra("matplotlib.figure", "figures for papers").Figure(figsize=(WIDTH_MM / 25.4, height))
        if "scene" in layout:
            _draw_space(drawn, figure)
        else:
            axes = _axes(drawn, layout, height)
            for name, ax in axes.items():
                traces = [trace for trace in figure.data if trace.get("yaxis", "y") == name]
                groups = [trace for trace in traces if trace["type"] == "bar"]
                for before, trace in pairwise([{}, *(t for t in traces if t["type"] == "scatter")]):
                    _draw_curve(ax, trace, before)
                for i, trace in enumerate(groups):
                    _draw_bars(ax, trace, i, len(groups))
                y = layout[_long(name)]
                _limits(ax, y, layout[_long(y["anchor"])])
            for shape in layout.get("shapes", ()):
                _draw_shape(axes, shape)
            for note in layout.get("annotations", ()):
                _draw_note(axes, note)
            drawn.align_ylabels()
        _legend(drawn, figure, height)
    return drawn, style(_STYLE)


def numbers(x: Any) -> FloatArray:
    """What Plotly would draw, as an array."""
    if isinstance(x, Mapping):
        part = cast("Mapping[str, Any]", x)
        return np.frombuffer(b64decode(part["bdata"]), dtype=part["dtype"]).astype(float)
    return np.array([np.nan if v is None else v for v in x], dtype=float)


def plain(text: str) -> str:
    """Words without markup."""
    text = re.sub(r"<br\s*/?>", "\n", text)
    text = re.sub(r"10<sup>(-?\d+)</sup>", r"$10^{\1}$", text)
    return re.sub(r"<[^>]+>", "", text)


# --- plots ------------------------------------------------------------------------------------------------------------


def _axes(drawn: Any, layout: Json, height: float) -> dict[str, Any]:
    """Axes by the name of their vertical one, where the layout has them; the lowest above a common axis names it."""
    left, right, low, high = 0.1, 0.985, 0.48 / height, 1 - 0.32 / height
    axes, shared = dict[str, Any](), dict[str, Any]()
    for key in (k for k in layout if k.startswith("yaxis")):
        y, name = layout[key], "y" + key.removeprefix("yaxis")
        x = layout[_long(y["anchor"])]
        (x0, x1), (y0, y1) = x.get("domain", [0, 1]), y["domain"]
        wide, tall = right - left, high - low
        place = [left + x0 * wide, low + y0 * tall, (x1 - x0) * wide, (y1 - y0) * tall]
        ax = axes[name] = drawn.add_axes(place, sharex=shared.get(y["anchor"]))
        shared.setdefault(y["anchor"], ax)
        ax.set_ylabel(plain(y["title"]["text"]))
        if x["anchor"] == name:
            ax.set_xlabel(plain(x["title"]["text"]))
        else:
            ax.tick_params(labelbottom=False)
    return axes


def _draw_curve(ax: Any, trace: Json, before: Json) -> None:
    """A curve or points; or a band between a curve and the one before it."""
    x, y = numbers(trace["x"]), numbers(trace["y"])
    if trace.get("fill") == "tonexty":
        ax.fill_between(x, numbers(before["y"]), y, color="#8a8a8a", alpha=0.25, linewidth=0, label=_name(trace))
    if len(x) == 0 or trace.get("fill"):
        return
    mode, style, marker = str(trace["mode"]), trace.get("line", {}), trace.get("marker", {})
    colour = style.get("color") or marker.get("color", "#222222")
    options: dict[str, Any] = {"label": _name(trace), "alpha": trace.get("opacity", 1.0), "color": colour}
    options["linestyle"] = "none"
    if "lines" in mode and style.get("width", 1.2) > 0:
        options |= {"linewidth": 0.7 * style.get("width", 1.2), "linestyle": _DASHES[style.get("dash", "solid")]}
        options |= {"drawstyle": "steps-mid"} if style.get("shape") == "hvh" else {}
    if "markers" in mode:
        symbol = _SYMBOLS.get(str(marker.get("symbol", "circle")), "o")
        options |= {"marker": symbol, "markersize": 0.5 * float(marker.get("size", 5)), "markeredgewidth": 0.5}
        options |= {"rasterized": len(x) > 500}
    ax.plot(x, y, **options)
    bars = trace.get("error_y")
    if bars:
        spread = [numbers(bars["arrayminus"]), numbers(bars["array"])]
        ax.errorbar(x, y, yerr=spread, fmt="none", ecolor=colour, elinewidth=0.6, label="_nolegend_")


def _draw_bars(ax: Any, trace: Json, i: int, count: int) -> None:
    """A histogram, or bars beside names, and beside those of other traces."""
    style, names, thick = {"color": trace["marker"]["color"], "label": _name(trace)}, trace["y"], 0.7 / count
    if "width" in trace:
        ax.bar(numbers(trace["x"]), numbers(trace["y"]), width=float(trace["width"]), **style)
        return
    ax.barh(np.arange(len(names)) + thick * (i - (count - 1) / 2), numbers(trace["x"]), thick, **style)
    ax.set_yticks(np.arange(len(names)), names)


def _name(trace: Json) -> str:
    """What the legend calls it."""
    name = plain(str(trace.get("name", "")))
    return name if trace.get("showlegend", True) and name else "_nolegend_"


def _draw_shape(axes: Mapping[str, Any], shape: Json) -> None:
    """Lines and bands; those that run through all rows are drawn in each."""
    x_ref, y_ref, line = str(shape["xref"]), str(shape["yref"]), shape["line"]
    upright = not x_ref.endswith(" domain")
    ends = (shape["x0"], shape["x1"]) if upright else (shape["y0"], shape["y1"])
    for ax in axes.values() if y_ref == "paper" else [axes[y_ref.removesuffix(" domain")]]:
        if shape["type"] == "rect":
            face = {"color": shape["fillcolor"], "alpha": shape["opacity"], "linewidth": 0, "zorder": 0.5}
            (ax.axvspan if upright else ax.axhspan)(*ends, **face)
        else:
            style = {"color": line["color"], "linewidth": 0.7 * line["width"], "linestyle": _DASHES[line["dash"]]}
            (ax.axvline if upright else ax.axhline)(ends[0], **style)


def _draw_note(axes: Mapping[str, Any], note: Json) -> None:
    """In a panel's corner or above it, or beside a line through all panels."""
    words: dict[str, Any] = {"ha": note["xanchor"], "va": note["yanchor"], "fontsize": 7}
    text, inside = plain(str(note["text"])), str(note["yref"]) != "paper"
    ax = axes[str(note["yref"]).removesuffix(" domain")] if inside else next(iter(axes.values()))
    x = note["x"] if inside or ax.get_xscale() != "log" else 10 ** note["x"]
    where = ax.transAxes if inside else ax.get_xaxis_transform()
    ax.text(x, note["y"] + 0.02 * inside, text if inside else f" {text} ", transform=where, **words)


def _limits(ax: Any, y: Json, x: Json) -> None:
    for part, scale, limits, ticks in (
        (x, ax.set_xscale, ax.set_xlim, ax.set_xticks),
        (y, ax.set_yscale, ax.set_ylim, ax.set_yticks),
    ):
        log = part.get("type") == "log"
        if log:
            scale("log")
        if "tickvals" in part:
            ticks(part["tickvals"], [plain(t) for t in part["ticktext"]] if "ticktext" in part else None)
            ticks([], minor=True)
        if "range" in part:
            limits(*(10.0**v if log else v for v in part["range"]))
    if y.get("autorange") == "reversed":
        ax.invert_yaxis()
    if y.get("rangemode") == "tozero":
        ax.set_ylim(bottom=0)


def _legend(drawn: Any, figure: Figure, height: float) -> None:
    entries: dict[str, Any] = {}
    for ax in drawn.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if len(entries) > 1 and figure.layout.get("showlegend", True):
        drawn.legend(
            entries.values(), entries, loc="upper left", bbox_to_anchor=(0.085, 1 - 0.02 / height), ncols=8,
            frameon=False, fontsize=7, handlelength=1.6, columnspacing=1.2, borderpad=0,
        )  # fmt: skip


# --- space ------------------------------------------------------------------------------------------------------------


def _draw_space(drawn: Any, figure: Figure) -> None:
    extra("mpl_toolkits.mplot3d", "figures for papers")  # registers the projection
    ax = drawn.add_axes([0.02, 0.02, 0.96, 0.9], projection="3d")
    for trace in (trace for trace in figure.data if trace.get("visible") != "legendonly"):
        x, y, z = (numbers(trace[k]) for k in "xyz")
        colour = (trace.get("line") or trace.get("marker", {})).get("color", "#222222")
        style = (
            {"linewidth": 0.8} if "lines" in trace["mode"] else {"marker": "o", "markersize": 2.5, "linestyle": "none"}
        )
        ax.plot(x, y, z, color=colour if isinstance(colour, str) else "#222222", label=_name(trace), **style)
        for px, py, pz, text in zip(x, y, z, trace.get("text", []) if "text" in trace["mode"] else [], strict=False):
            if text:
                ax.text(px, py, pz, text, fontsize=7)
    scene = figure.layout["scene"]
    ax.set(**{f"{k}label": scene[f"{k}axis"]["title"]["text"] for k in "xyz"})
    ax.set(**{f"{k}lim": scene[f"{k}axis"]["range"] for k in "xyz"})
    ax.set_box_aspect([scene["aspectratio"][k] for k in "xyz"])


def _long(name: str) -> str:
    """yaxis2 for y2."""
    return f"{name[0]}axis{name[1:]}"


TableFormat = Literal["csv", "latex"]
TABLE_FORMATS: tuple[TableFormat, ...] = ("csv", "latex")
SUFFIXES: Mapping[TableFormat, str] = {"csv": ".csv", "latex": ".tex"}
_SPECIAL = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "…": r"\ldots{}"},
    **{"±": r"$\pm$", "σ": r"$\sigma$", "µ": r"$\mu$", "²": "$^2$", "³": "$^3$", "\u00a0": "~", "−": "$-$"},
}


def result_tables(data: Mapping[str, Any], format: TableFormat) -> dict[str, str]:  # noqa: A002
    """Name -> text of each table of a result."""
    if format == "csv":
        return {name: csv_text(rows) for name, rows in _records(data).items() if rows}
    tables = {"parameters": parameter_table(data), "errors": rms_table(data), "zones": shape_table(data)}
    return {name: latex(table) for name, table in tables.items() if table.rows}


def latex(table: Table) -> str:
    """A tabular with the lines of booktabs, to be \\input into a table environment."""
    columns = "".join("l" if i in table.words else "r" for i in range(len(table.headings)))
    lines = [" & ".join(escape_latex(h) for h in table.headings) + r" \\", r"\midrule"]
    for name, *cells in table.rows:
        # a minus sign, not a hyphen
        signed = (re.sub(r"(?<![\w.])-(?=\d)", "$-$", escape_latex(c)) if c != "-" else "--" for c in cells)
        lines.append(" & ".join([symbol(name), *signed]) + r" \\")
    note = [f"% {text}" for text in (table.note, table.explained) if text]
    body = "\n".join([rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}"])
    return "\n".join(["% \\usepackage{booktabs}", *note, body, ""])


def symbol(name: str) -> str:
    """A parameter's name as a symbol: b_v -> $b_\\mathrm{v}$, Ixx -> $I_{xx}$; others in words."""
    inertia = re.fullmatch(r"I([xyz]{2})", name)
    if inertia:
        return f"$I_{{{inertia[1]}}}$"
    if re.fullmatch(r"[A-Za-z]|lambda", name):
        return f"${name}$" if len(name) == 1 else r"$\lambda$"
    indexed = re.fullmatch(r"([A-Za-z])_([A-Za-z0-9]+)", name)
    if indexed:
        lower = indexed[2] if indexed[2].isdigit() or indexed[2] in "xyz" else rf"\mathrm{{{indexed[2]}}}"
        return f"${indexed[1]}_{{{lower}}}$" if indexed[2] != "psi" else rf"${indexed[1]}_\psi$"
    return escape_latex(name)


def escape_latex(text: str) -> str:
    """Text with what LaTeX would take for commands made harmless."""
    return "".join(_SPECIAL.get(c, c) for c in text)


def _records(data: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Rows with all digits; None is an empty cell."""

    def start(name: str, kind: str, entry: Mapping[str, Any]) -> dict[str, Any]:
        low, high = entry["ci95"] or (None, None)
        return {kind: name, "value": entry["value"], "unit": entry["unit"], "ci95_low": low, "ci95_high": high}

    references: Mapping[str, Mapping[str, float]] = data.get("references", {})
    parameters = [
        start(name, "parameter", e)
        | {f"{part}_std": e.get(part) for part in PARTS}
        | {k: e.get(k) for k in ("prior", "information_from_data", "status")}
        | {label: values.get(name) for label, values in references.items()}
        for name, e in data["parameters"].items()
    ]
    shapes: Mapping[str, Any] = data.get("shapes") or {}
    errors = [
        {"set": name, "channel": channel, **{k: e.get(k) for k in ("value", "unit", "percent_of_range", "noise")}}
        for name, channels in data.get("rms", {}).items()
        for channel, e in channels.items()
    ]
    zones = [start(name, "shape", e) | {"status": e["status"]} for name, e in shapes.items()]
    return {"parameters": parameters, "errors": errors, "zones": zones}


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Records as CSV; None is an empty cell."""
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
