"""Figures for papers: the page's figures, drawn by Matplotlib as SVG or PDF from the same data."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from palpate.errors import MissingExtra
from palpate.files import replacing
from palpate.physics.arrays import FloatArray
from palpate.report.page import Figure, Json

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
            own = [trace for trace in figure.data if trace.get("yaxis", "y") == name]
            for trace in own:
                if trace["type"] == "bar" and not _are_names(trace):
                    _draw_histogram(ax, trace)
                elif trace["type"] != "bar":
                    _draw_curve(ax, trace)
            _draw_groups(ax, [trace for trace in own if trace["type"] == "bar" and _are_names(trace)])
        _filled(axes, figure)
        for name, ax in axes.items():
            _limits(ax, layout[_long(name)], layout[_long(_anchor(layout, name))])
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
    lowest = min(layout[k].get("domain", [0, 1])[0] for k in layout if k.startswith("yaxis"))
    shared: dict[str, Any] = {}
    for key in (k for k in layout if k.startswith("yaxis")):
        y, x_key = layout[key], _long(str(layout[key].get("anchor", "x")))
        x = layout[x_key]
        (x0, x1), (y0, y1) = x.get("domain", [0, 1]), y.get("domain", [0, 1])
        place = [
            left + x0 * (right - left),
            low + y0 * (high - low),
            (x1 - x0) * (right - left),
            (y1 - y0) * (high - low),
        ]
        ax = drawn.add_axes(place, sharex=shared.get(x_key))
        shared.setdefault(x_key, ax)
        ax.set_ylabel(plain(y.get("title", {}).get("text", "")))
        alone = sum(_long(str(layout[k].get("anchor", "x"))) == x_key for k in layout if k.startswith("yaxis")) == 1
        if alone or y0 <= lowest:
            ax.set_xlabel(plain(x.get("title", {}).get("text", "")))
        else:
            ax.tick_params(labelbottom=False)
        yield "y" + key.removeprefix("yaxis"), ax


def _draw_curve(ax: Any, trace: Json) -> None:
    x, y = numbers(trace["x"]), numbers(trace["y"])
    if len(x) == 0 or trace.get("fill"):
        return
    name, mode = plain(str(trace.get("name", ""))), str(trace.get("mode", "lines"))
    label = name if trace.get("showlegend", True) and name else "_nolegend_"
    style, marker = trace.get("line", {}), trace.get("marker", {})
    colour = style.get("color") or marker.get("color", "#222222")
    drawn_lines = "lines" in mode and style.get("width", 1.2) > 0
    options: dict[str, Any] = {"label": label, "alpha": trace.get("opacity", 1.0), "color": colour}
    if drawn_lines:
        options |= {
            "linewidth": 0.7 * style.get("width", 1.2),
            "linestyle": _DASHES.get(style.get("dash", "solid"), "solid"),
        }
        options |= {"drawstyle": "steps-mid"} if style.get("shape") == "hvh" else {}
    else:
        options |= {"linestyle": "none"}
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
        if flat:
            ax.barh(places, numbers(sizes), height=thick, **_bar_style(trace))
            ax.set_yticks(np.arange(len(names)), names)
        else:
            ax.bar(places, numbers(sizes), width=thick, **_bar_style(trace))
            ax.set_xticks(np.arange(len(names)), names)


def _bar_style(trace: Json) -> dict[str, Any]:
    name = plain(str(trace.get("name", "")))
    label = name if trace.get("showlegend", True) and name else "_nolegend_"
    return {"color": trace.get("marker", {}).get("color", "#0072b2"), "label": label}


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
    found: dict[str, Any] = {}
    for ax in drawn.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if len(found) > 1 and figure.layout.get("showlegend", True):
        drawn.legend(
            found.values(), found, loc="upper left", bbox_to_anchor=(0.085, 1 - 0.02 / height), ncols=8, frameon=False,
            fontsize=7, handlelength=1.6, columnspacing=1.2, borderpad=0,
        )  # fmt: skip


# --- space ------------------------------------------------------------------------------------------------------------


def _draw_space(drawn: Any, figure: Figure) -> None:
    import_module("mpl_toolkits.mplot3d")  # registers the projection
    ax = drawn.add_axes([0.02, 0.02, 0.96, 0.9], projection="3d")
    for trace in figure.data:
        if trace.get("visible") == "legendonly":
            continue
        x, y, z = (numbers(trace[k]) for k in "xyz")
        name = plain(str(trace.get("name", "")))
        label = name if trace.get("showlegend", True) and name else "_nolegend_"
        colour = (trace.get("line") or trace.get("marker", {})).get("color", "#222222")
        if "lines" in trace["mode"]:
            ax.plot(x, y, z, color=colour, linewidth=0.8, label=label)
        else:
            ax.plot(x, y, z, color=colour, marker="o", markersize=2.5, linestyle="none", label=label)
        for px, py, pz, text in zip(x, y, z, trace.get("text", []) if "text" in trace["mode"] else [], strict=False):
            if text:
                ax.text(px, py, pz, text, fontsize=7)
    scene = figure.layout["scene"]
    ax.set(**{f"{k}label": scene[f"{k}axis"]["title"]["text"] for k in "xyz"})
    ax.set(**{f"{k}lim": scene[f"{k}axis"]["range"] for k in "xyz"})
    ax.set_box_aspect([scene["aspectratio"][k] for k in "xyz"])
    _legend(drawn, figure, float(figure.layout.get("height", 320)) / _PIXELS_PER_INCH)


def _anchor(layout: Json, name: str) -> str:
    return str(layout[_long(name)].get("anchor", "x"))


def _long(name: str) -> str:
    """yaxis2 for y2."""
    return f"{name[0]}axis{name[1:]}"
