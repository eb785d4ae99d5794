"""Figures and tables for papers: the page's figures as SVG or PDF, its tables as CSV or LaTeX."""

from __future__ import annotations

import csv
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from palpate.errors import MissingExtra
from palpate.files import replacing
from palpate.physics.arrays import FloatArray
from palpate.report.page import Figure, Json, Table
from palpate.report.tables import errors_table, parameters_table, shapes_table

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


def save_figure(path: Path, figure: Figure) -> None:
    """Draw a figure of the page into an SVG or PDF file, atomically; the same data give the same file."""
    drawn, style = draw(figure)
    metadata = {"Date": None} if path.suffix == ".svg" else {"CreationDate": None}
    with replacing(path) as temporary, style:
        drawn.savefig(temporary, format=path.suffix[1:], metadata=metadata)


def draw(figure: Figure) -> tuple[Any, Any]:
    """The figure as Matplotlib's, and the settings (a context) in which to save it."""
    try:
        style: Any = import_module("matplotlib").rc_context
        new: Any = import_module("matplotlib.figure").Figure
    except ImportError:
        raise MissingExtra("matplotlib", "report", "figures for papers") from None
    layout = figure.layout
    width, height = WIDTH_MM / 25.4, float(layout.get("height", 320)) / _PIXELS_PER_INCH
    with style(_STYLE):
        drawn = new(figsize=(width, height))
        if "scene" in layout:
            _draw_space(drawn, figure)
            return drawn, style(_STYLE)
        axes = dict(_axes(drawn, layout, height))
        for name, ax in axes.items():
            traces = [trace for trace in figure.data if trace.get("yaxis", "y") == name]
            groups = [trace for trace in traces if trace["type"] == "bar" and _are_names(trace)]
            for trace in (trace for trace in traces if trace not in groups):
                (_draw_histogram if trace["type"] == "bar" else _draw_curve)(ax, trace)
            _draw_groups(ax, groups)
        _filled(axes, figure)
        for name, ax in axes.items():
            y = layout[_long(name)]
            _limits(ax, y, layout[_long(str(y.get("anchor", "x")))])
        for shape in layout.get("shapes", ()):
            _draw_shape(axes, shape)
        for note in layout.get("annotations", ()):
            _draw_note(drawn, axes, note)
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


def _axes(drawn: Any, layout: Json, height: float) -> Iterator[tuple[str, Any]]:
    """Axes by the name of their vertical one, where the layout has them."""
    left, right, low, high = 0.1, 0.985, 0.48 / height, 1 - 0.32 / height
    keys = [k for k in layout if k.startswith("yaxis")]
    below = {k: _long(str(layout[k].get("anchor", "x"))) for k in keys}
    lowest = min(layout[k].get("domain", [0, 1])[0] for k in keys)
    shared: dict[str, Any] = {}
    for key in keys:
        x, y = layout[below[key]], layout[key]
        (x0, x1), (y0, y1) = x.get("domain", [0, 1]), y.get("domain", [0, 1])
        wide, tall = right - left, high - low
        place = [left + x0 * wide, low + y0 * tall, (x1 - x0) * wide, (y1 - y0) * tall]
        ax = drawn.add_axes(place, sharex=shared.get(below[key]))
        shared.setdefault(below[key], ax)
        ax.set_ylabel(plain(y.get("title", {}).get("text", "")))
        if list(below.values()).count(below[key]) == 1 or y0 <= lowest:
            ax.set_xlabel(plain(x.get("title", {}).get("text", "")))
        else:
            ax.tick_params(labelbottom=False)
        yield "y" + key.removeprefix("yaxis"), ax


def _draw_curve(ax: Any, trace: Json) -> None:
    x, y = numbers(trace["x"]), numbers(trace["y"])
    if len(x) == 0 or trace.get("fill"):
        return
    mode, style, marker = str(trace.get("mode", "lines")), trace.get("line", {}), trace.get("marker", {})
    colour = style.get("color") or marker.get("color", "#222222")
    options: dict[str, Any] = {"label": _name(trace), "alpha": trace.get("opacity", 1.0), "color": colour}
    options["linestyle"] = "none"
    if "lines" in mode and style.get("width", 1.2) > 0:
        dashes = _DASHES.get(style.get("dash", "solid"), "solid")
        options |= {"linewidth": 0.7 * style.get("width", 1.2), "linestyle": dashes}
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


def _draw_histogram(ax: Any, trace: Json) -> None:
    ax.bar(numbers(trace["x"]), numbers(trace["y"]), width=float(trace["width"]), **_bar_style(trace))


def _draw_groups(ax: Any, traces: Sequence[Json]) -> None:
    """Bars beside each other over names."""
    for i, trace in enumerate(traces):
        flat = trace.get("orientation") == "h"
        names, sizes = (trace["y"], trace["x"]) if flat else (trace["x"], trace["y"])
        thick = 0.7 / len(traces)
        places = np.arange(len(names)) + thick * (i - (len(traces) - 1) / 2)
        (ax.barh if flat else ax.bar)(places, numbers(sizes), thick, **_bar_style(trace))
        (ax.set_yticks if flat else ax.set_xticks)(np.arange(len(names)), names)


def _bar_style(trace: Json) -> dict[str, Any]:
    return {"color": trace.get("marker", {}).get("color", "#0072b2"), "label": _name(trace)}


def _name(trace: Json) -> str:
    """What the legend calls it."""
    name = plain(str(trace.get("name", "")))
    return name if trace.get("showlegend", True) and name else "_nolegend_"


def _are_names(trace: Json) -> bool:
    places = trace["y"] if trace.get("orientation") == "h" else trace["x"]
    return isinstance(places, list) and all(isinstance(p, str) for p in cast("list[Any]", places))


def _filled(axes: Mapping[str, Any], figure: Figure) -> None:
    """Bands between a curve and the one before it."""
    for before, trace in zip(figure.data[:-1], figure.data[1:], strict=True):
        if trace.get("fill") == "tonexty":
            ax = axes[str(trace.get("yaxis", "y"))]
            x, low, high = numbers(trace["x"]), numbers(before["y"]), numbers(trace["y"])
            ax.fill_between(x, low, high, color="#8a8a8a", alpha=0.25, linewidth=0, label=str(trace.get("name", "")))


def _draw_shape(axes: Mapping[str, Any], shape: Json) -> None:
    """Lines and bands; those that run through all rows are drawn in each."""
    whole = shape.get("yref") == "paper"
    x_name = str(shape.get("xref", "x")).removesuffix(" domain")
    y_name = str(shape.get("yref", "y")).removesuffix(" domain")
    those = list(axes.values()) if whole else [axes.get(y_name) or axes.get("y" + x_name.removeprefix("x"))]
    style, x0, x1, y0, y1 = shape.get("line", {}), shape["x0"], shape["x1"], shape["y0"], shape["y1"]
    line = {"color": style.get("color", "#444"), "linewidth": 0.7 * float(style.get("width", 1))}
    line["linestyle"] = _DASHES.get(str(style.get("dash", "solid")), "solid")
    for ax in (a for a in those if a is not None):
        if shape["type"] == "rect":
            face = {"color": shape["fillcolor"], "alpha": shape.get("opacity", 0.2), "linewidth": 0, "zorder": 0.5}
            if str(shape.get("yref", "")).startswith("y") and "domain" not in str(shape["yref"]):
                ax.axhspan(y0, y1, **face)
            else:
                ax.axvspan(x0, x1, **face)
        elif y0 == y1:
            ax.axhline(y0, **line)
        else:
            ax.axvline(x0, **line)


def _draw_note(drawn: Any, axes: Mapping[str, Any], note: Json) -> None:
    if not note.get("text"):
        return
    words: dict[str, Any] = {"ha": note.get("xanchor", "left"), "fontsize": 7}
    words["va"] = {"middle": "center"}.get(str(note.get("yanchor")), note.get("yanchor", "bottom"))
    x_ref, y_ref = str(note.get("xref", "paper")), str(note.get("yref", "paper"))
    first = next(iter(axes.values()))
    text = plain(str(note["text"]))
    if y_ref.endswith(" domain"):
        ax = axes[y_ref.removesuffix(" domain")]
        ax.text(note["x"], note["y"] + 0.02, text, transform=ax.transAxes, **words)
    elif x_ref == "x":
        first.text(note["x"] if first.get_xscale() != "log" else 10 ** note["x"], note["y"], f" {text} ",
                   transform=first.get_xaxis_transform(), **words)  # fmt: skip
    else:
        corners = [ax.get_position() for ax in axes.values()]
        left, right = min(c.x0 for c in corners), max(c.x1 for c in corners)
        low, high = min(c.y0 for c in corners), max(c.y1 for c in corners)
        drawn.text(left + note["x"] * (right - left), low + note["y"] * (high - low) + 0.004, text, **words)


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
    import_module("mpl_toolkits.mplot3d")  # registers the projection
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
    _legend(drawn, figure, float(figure.layout.get("height", 320)) / _PIXELS_PER_INCH)


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
        return {name: _csv(rows) for name, rows in _records(data).items() if rows}
    tables = {"parameters": parameters_table(data), "errors": errors_table(data), "zones": shapes_table(data)}
    return {name: latex(table) for name, table in tables.items() if table is not None}


def latex(table: Table) -> str:
    """A tabular with the lines of booktabs, to be \\input into a table environment."""
    columns = "".join("l" if i in table.words else "r" for i in range(len(table.headings)))
    lines = [" & ".join(escape_latex(h) for h in table.headings) + r" \\", r"\midrule"]
    lines += [
        " & ".join(symbol(cell) if i == 0 else _cell(cell) for i, cell in enumerate(row)) + r" \\" for row in table.rows
    ]
    note = [f"% {table.note}"] if table.note else []
    body = "\n".join([rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}"])
    return "\n".join(["% \\usepackage{booktabs}", *note, body, ""])


def symbol(name: str) -> str:
    """A parameter's name as a symbol: b_v -> $b_\\mathrm{v}$, Ixx -> $I_{xx}$; others in words."""
    inertia = re.fullmatch(r"I([xyz]{2})", name)
    if inertia:
        return f"$I_{{{inertia[1]}}}$"
    if re.fullmatch(r"[A-Za-z]", name):
        return f"${name}$"
    indexed = re.fullmatch(r"([A-Za-z])_([A-Za-z0-9]+)", name)
    if indexed:
        lower = indexed[2] if indexed[2].isdigit() or indexed[2] in "xyz" else rf"\mathrm{{{indexed[2]}}}"
        return f"${indexed[1]}_{{{lower}}}$" if indexed[2] != "psi" else rf"${indexed[1]}_\psi$"
    return escape_latex(name)


def escape_latex(text: str) -> str:
    """Text with what LaTeX would take for commands made harmless."""
    return "".join(_SPECIAL.get(c, c) for c in text)


def _cell(cell: str) -> str:
    if re.fullmatch(r"-?\d+(\.\d+)?", cell):
        return f"${cell}$" if cell.startswith("-") else cell
    # a minus sign, not a hyphen
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", escape_latex(cell)) if cell != "-" else "--"


def _records(data: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Rows with all digits; None is an empty cell."""
    references: Mapping[str, Mapping[str, float]] = data.get("references", {})
    parameters = [
        {"parameter": name, "value": e["value"], "unit": e["unit"], **_interval(e["ci95"])}
        | {f"{kind}_std": e.get(kind) for kind in ("noise", "pull", "systematic")}
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
    zones = [
        {"shape": name, "value": e["value"], "unit": e["unit"], **_interval(e["ci95"]), "status": e["status"]}
        for name, e in shapes.items()
    ]
    return {"parameters": parameters, "errors": errors, "zones": zones}


def _interval(ci: Sequence[float] | None) -> dict[str, float | None]:
    low, high = (None, None) if ci is None else ci
    return {"ci95_low": low, "ci95_high": high}


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: "" if v is None else v for k, v in row.items()} for row in rows)
    return text.getvalue()
