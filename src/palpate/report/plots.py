"""What all figures share, as plain data for Plotly: colours, units, traces, axes, layouts, shapes and scenes."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palpate.physics.arrays import FloatArray
from palpate.report.page import Figure, Json

MOST_POINTS = 4000
"""In one trace."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#5b3a9e")
"""Mostly Okabe & Ito's, which the colour-blind tell apart."""
PALE, GREY, DARK = "#56b4e9", "#8a8a8a", "#222222"
AXIS_COLOURS = ("#c0392b", "#2e8b57", "#2f5fd0")
"""Of x, y and z in space."""
_LEGEND: Json = {"orientation": "h", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "font": {"size": 11}}
"""The legend above a figure: all its width is for the curves, on paper too."""
_LEGEND_ON_TOP = _LEGEND | {"yref": "container", "y": 0.995, "yanchor": "top"}
"""The same for small plots, whose titles stand above them."""
_FEW = 200
"""Points up to which each one is drawn as a dot."""
_LARGE_S = 1e6
_PRECISE = 2000.0
"""Seconds (frames) below which single precision resolves a tenth of a millisecond."""
_LISTED = 64
"""Numbers up to which they are written out, for people who read the page's source."""
_LINES: Json = {
    **{"gridcolor": "#e8e8e8", "zeroline": False, "linecolor": "#888", "showline": True},
    **{"ticks": "outside", "tickcolor": "#888", "automargin": True},
}
_PAPER: Json = {"font": {"size": 12, "color": "#333"}, "paper_bgcolor": "#fff"}


# --- numbers and units ------------------------------------------------------------------------------------------------


def short(value: float) -> str:
    """Three digits or so, for labels."""
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


def millimetres(metres: float) -> str:
    """A length in mm; a dash where it is not known."""
    return f"{1e3 * metres:.2f}" if np.isfinite(metres) else "-"


# --- traces -----------------------------------------------------------------------------------------------------------


def thinned(t: FloatArray, y: FloatArray, most: int = MOST_POINTS) -> tuple[FloatArray, FloatArray]:
    """A curve of at most about `most` points that looks the same: least and largest of a few samples each.

    Spikes stay. NaN and rows without times make the line break: one NaN stands for each gap that would show.
    """
    there = np.isfinite(y) & np.isfinite(t)
    t, y = np.asarray(t[there], dtype=float), np.asarray(y[there], dtype=float)
    if len(t) < 2:
        return t, y
    count = -(-len(t) // (most // 2)) if len(t) > most else 1
    first = np.arange(0, len(t), count)
    parts = np.pad(y, (0, -len(y) % count), mode="edge").reshape(-1, count)
    ends = [first + parts.argmin(axis=1), first + parts.argmax(axis=1)]
    kept = np.zeros(len(t), dtype=bool)
    kept[np.minimum(np.concatenate([[0], *ends, [len(t) - 1]]), len(t) - 1)] = True
    keep = np.flatnonzero(kept)
    widest = max(1.6 * float(np.median(np.diff(t))), float(t[-1] - t[0]) / (most // 2) if count > 1 else 0.0)
    gaps = np.concatenate([[0], np.cumsum(np.diff(t) > widest)])
    after = np.flatnonzero(np.diff(gaps[keep]) > 0) + 1
    t, y = t[keep], y[keep]
    return np.insert(t, after, t[after - 1] if len(after) else t[:0]), np.insert(y, after, np.nan)


def packed(x: FloatArray | NDArray[np.int8], dtype: str = "f4") -> Any:
    """Numbers as Plotly reads them: a list of a few, else base64 of this type; NaN is a gap."""
    if x.ndim == 1 and len(x) <= _LISTED:
        return [float(v) if np.isfinite(v) else None for v in x.tolist()]
    data: Json = {"dtype": dtype, "bdata": b64encode(np.ascontiguousarray(x, dtype=dtype).tobytes()).decode("ascii")}
    return data if x.ndim == 1 else data | {"shape": ", ".join(str(n) for n in x.shape)}


def line(
    x: FloatArray, y: FloatArray, name: str, colour: int | str = 0, *, most: int = MOST_POINTS, **more: Any
) -> Json:
    """A thinned curve; dots where there are few points. `more` overrides."""
    few = int(np.isfinite(y).sum()) <= _FEW
    x, y = thinned(x, y, most)
    precise = len(x) and float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) < _PRECISE
    trace: Json = {"type": "scatter", "mode": "lines+markers" if few else "lines", "name": name}
    stroke = _stroke(colour, 1.2)
    trace |= {"x": packed(x, "f4" if precise else "f8"), "y": packed(y), "line": stroke}
    return trace | ({"marker": {"size": 5, "color": stroke["color"]}} if few else {}) | more


def curve(x: FloatArray, y: FloatArray, name: str, colour: int | str = 0, *, width: float = 1.5, **more: Any) -> Json:
    """A short curve over anything but time: every point as it is, NaN a gap. `more` overrides."""
    place: Json = {"x": packed(x, "f8"), "y": packed(y), "line": _stroke(colour, width)}
    return {"type": "scatter", "mode": "lines", "name": name, **place} | more


def points(
    x: FloatArray, y: FloatArray, name: str, colour: str, size: int, symbol: str = "circle", **more: Any
) -> Json:
    """Dots."""
    marker: Json = {"size": size, "color": colour, "symbol": symbol}
    marker["line"] = {"width": 0} if symbol == "circle" else {"width": 1.5, "color": colour}
    return {"type": "scatter", "mode": "markers", "name": name, "x": packed(x), "y": packed(y), "marker": marker} | more


def bars(x: Any, y: Any, name: str, colour: str, **more: Any) -> Json:
    """Bars over names or places."""
    return {"type": "bar", "x": x, "y": y, "name": name, "marker": {"color": colour}} | more


def _stroke(colour: int | str, width: float, dash: str = "solid") -> Json:
    """`colour`: by its number, or as it is."""
    tint = colour if isinstance(colour, str) else COLOURS[colour % len(COLOURS)]
    return {"color": tint, "width": width} | ({} if dash == "solid" else {"dash": dash})


# --- axes -------------------------------------------------------------------------------------------------------------


def zero_of(times_s: FloatArray) -> float:
    """What to subtract from times that count from 1970, so that a person can read them; 0 for others."""
    start = float(times_s[0]) if len(times_s) else 0.0
    return float(np.floor(start)) if abs(start) > _LARGE_S else 0.0


def x_title(text: str) -> Json:
    """The title of a horizontal axis, close to it."""
    return {"title": {"text": text, "standoff": 8}}


def since(zero: float, title: str = "time, s") -> Json:
    """The title of an axis of times from which `zero` (s) was subtracted."""
    return x_title(f"{title} since {zero:.0f} s" if zero else title)


def log_scale(low: float, high: float) -> Json:
    """A logarithmic axis with few, whole labels for values from low to high."""
    first, last = (log10(v) for v in (low, high))
    steps = (1, 2, 5) if last - first < 2 else (1,)
    every = 2 if last - first > 4 else 1
    values = [k * 10.0**d for d in range(floor(first), ceil(last) + 1, every) for k in steps]
    labels = [f"{v:g}" if 1e-3 <= v <= 1e4 else f"10<sup>{log10(v):.0f}</sup>" for v in values]
    margin = 0.05 * (last - first) + 0.02
    return {"type": "log", "range": [first - margin, last + margin], "tickvals": values, "ticktext": labels}


def axis_of(name: str, index: int) -> str:
    """Plotly's name of the axis of a plot, counted from 0."""
    return name if index == 0 else f"{name}{index + 1}"


# --- marks ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mark:
    """A line or a band, and its label; its place counts on one axis ("x" or "y") and spans the other."""

    axis: str
    shape: Json
    label: Json = field(default_factory=dict[str, Any])


def upright(x: float, text: str = "", colour: str = "#444", *, level: float = 1.0, right: bool = True) -> Mark:
    """A vertical line, and its label at this height (1: top), to the right of it or left."""
    place: Json = {"x": x, "y": level, "yanchor": "top", "bgcolor": "rgba(255,255,255,0.75)"}
    place |= {"xanchor": "left", "xshift": 4} if right else {"xanchor": "right", "xshift": -4}
    shape: Json = {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "line": _stroke(colour, 1.2, "dash")}
    return Mark("x", shape, _label(text, colour=colour) | place)


def level(y: float, text: str = "", colour: str = "#888", width: float = 1.0) -> Mark:
    """A dashed line across a panel, and what is written about it in the corner."""
    shape: Json = {"type": "line", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": _stroke(colour, width, "dash")}
    return Mark("y", shape, _label(text) | {"x": 1, "y": 1, "xanchor": "right"})


def band(low: float, high: float, colour: str, opacity: float = 0.18, *, axis: str = "x") -> Mark:
    """A stretch of an axis, shaded."""
    across = "y" if axis == "x" else "x"
    shape: Json = {"type": "rect", f"{axis}0": low, f"{axis}1": high, f"{across}0": 0, f"{across}1": 1}
    face: Json = {"fillcolor": colour, "opacity": opacity, "line": {"width": 0}, "layer": "below"}
    return Mark(axis, shape | face)


def _label(text: str, size: int = 11, colour: str = "#333") -> Json:
    return {"text": text, "showarrow": False, "yanchor": "bottom", "font": {"size": size, "color": colour}}


# --- figures ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot of a figure: title of its vertical axis, traces, marks, and what is special about its axes."""

    title: str
    data: tuple[Json, ...]
    marks: tuple[Mark, ...] = ()
    y: Json = field(default_factory=dict[str, Any])
    x: Json = field(default_factory=dict[str, Any])
    """Its horizontal axis, where the figure has no common one."""
    heading: str = ""


def figure(
    title: str,
    look_for: str,
    panels: Sequence[Panel],
    x: Json | None = None,
    message: str = "",
    *,
    marks: Sequence[Mark] = (),
    keys: Mapping[str, str] | None = None,
    height: int = 0,
    **more: Any,
) -> Figure:
    """Panels above one horizontal axis, the first on top; without `x` two in a row, each with a horizontal axis.

    What is named alike shares one entry of the legend; a trace that is alone in its panel needs none, the axis names
    it. `marks` run through all panels; `keys` are entries of the legend, name -> colour; `more` goes into the layout.
    """
    columns = 1 if x is not None else min(2, len(panels))
    rows = ceil(len(panels) / columns)
    height = height or (70 + 210 * rows if x is None else 110 + (220, 165, 165, 140)[min(rows, 4) - 1] * rows)
    gap_x, gap_y = 0.1, 75 / (180 * rows) if x is None else 0.06
    wide, high = (1 - gap_x * (columns - 1)) / columns, (1 - gap_y * (rows - 1)) / rows
    made: Json = {} if x is None else {"xaxis": {"anchor": axis_of("y", len(panels) - 1), **_LINES, **x}}
    data, labels, placed, listed = list[Json](), list[Json](), [(mark, "x", "paper") for mark in marks], set[str]()
    for i, panel in enumerate(panels):
        left, top = (i % columns) * (wide + gap_x), 1 - (i // columns) * (high + gap_y)
        x_name, y_name = axis_of("x", i if x is None else 0), axis_of("y", i)
        if x is None:
            made[axis_of("xaxis", i)] = _LINES | {"domain": [left, min(left + wide, 1.0)], "anchor": y_name} | panel.x
        words = {"text": panel.title if i % columns == 0 else ""}
        place: Json = {"domain": [max(top - high, 0.0), top], "anchor": x_name, "title": words}
        made[axis_of("yaxis", i)] = _LINES | place | panel.y
        for trace in panel.data:
            name = str(trace["name"])
            entry = trace.get("showlegend", bool(name) and name not in listed and len(panel.data) > 1)
            listed |= {name} if entry else set()
            data.append(trace | {"legendgroup": name, "showlegend": entry, "xaxis": x_name, "yaxis": y_name})
        if panel.heading:
            middle: Json = {"x": 0.5, "y": 1, "xanchor": "center", "xref": f"{x_name} domain"}
            labels.append(_label(panel.heading, 12) | middle | {"yref": f"{y_name} domain"})
        placed += [(mark, x_name, y_name) for mark in panel.marks]
    shapes: list[Json] = []
    for mark, x_name, y_name in placed:
        over = y_name if y_name == "paper" else f"{y_name} domain"
        along: Json = {"xref": x_name, "yref": over}
        shapes.append(mark.shape | (along if mark.axis == "x" else {"xref": f"{x_name} domain", "yref": y_name}))
        if mark.label.get("text"):
            log = mark.axis == "x" and (x or {}).get("type") == "log"  # on which labels count in decades
            at: Json = {"x": log10(mark.label["x"])} if log else {}
            labels.append(mark.label | at | (along if mark.axis == "x" else {"xref": f"{x_name} domain", "yref": over}))
    entries = [points(np.array([np.nan]), np.array([np.nan]), n, c, 11, "square") for n, c in (keys or {}).items()]
    crowded = any(p.heading for p in panels) or any(mark.label.get("text") for mark in panels[0].marks)
    made |= {"height": height, "hovermode": "closest", "plot_bgcolor": "#fff", **_PAPER, "shapes": shapes}
    made |= {"annotations": labels, "legend": _LEGEND_ON_TOP if x is None else _LEGEND}
    made |= {"showlegend": bool(listed or entries), "margin": {"l": 70, "r": 14, "t": 52 if crowded else 36, "b": 50}}
    return Figure(title, look_for, (*data, *entries), made | more, message)


Rows = Mapping[str, Mapping[str, FloatArray] | FloatArray]


def over_time(title: str, look_for: str, times_s: FloatArray, rows: Rows, time: str = "time, s") -> Figure | None:
    """Signals over time: a row for each title of a vertical axis, with its signals by name, or along x, y and z. None
    where the first is not known.
    """
    zero, panels = zero_of(times_s), list[Panel]()
    for word, ys in rows.items():
        named = dict(zip("xyz", np.atleast_2d(ys.T), strict=False)) if isinstance(ys, np.ndarray) else ys
        if not named:
            continue
        tints = range(len(named)) if len(named) > 1 else (DARK,)
        each = zip(named.items(), tints, strict=True)
        data = tuple(line(times_s - zero, y, n, tint, most=2500) for (n, y), tint in each)
        if not panels and not any(np.isfinite(y).any() for y in named.values()):
            return None
        panels.append(Panel(word, data))
    return figure(title, look_for, panels, since(zero, time))


# --- space ------------------------------------------------------------------------------------------------------------


def in_space(positions: FloatArray, mode: str, name: str = "", **more: Any) -> Json:
    """Points or lines in space: (n, 3), mm."""
    place: Json = {axis: packed(positions[:, k]) for k, axis in enumerate("xyz")}
    return {"type": "scatter3d", "mode": mode, "name": name, "showlegend": bool(name), **place} | more


def scene_layout(corners: FloatArray) -> Json:
    """Equal scales, all of these points (n, 3; mm) in sight, the wider horizontal side across."""
    middle, extent = (corners.min(axis=0) + corners.max(axis=0)) / 2, np.ptp(corners, axis=0)
    half = np.maximum(0.6 * extent, 0.1 * max(float(extent.max()), 1.0))
    ratio = 1.5 * half / half.max()
    # far enough that labels and arrows stay in sight
    eye = (0.95, 2.2, 0.95) if half[0] > half[1] else (2.2, 0.95, 0.95)
    scene: Json = {
        f"{name}axis": {
            "title": {"text": f"{name}, mm"},
            "range": [float(middle[i] - half[i]), float(middle[i] + half[i])],
            "backgroundcolor": "#fafafa",
            "nticks": 6 if ratio[i] > 0.4 else 3,
        }
        for i, name in enumerate("xyz")
    }
    scene |= {"camera": {"eye": dict(zip("xyz", eye, strict=True)), "center": {"z": -0.1}}, "aspectmode": "manual"}
    scene["aspectratio"] = {name: float(ratio[i]) for i, name in enumerate("xyz")}
    return {"height": 560, "margin": {"l": 0, "r": 0, "t": 36, "b": 0}, "scene": scene, "legend": _LEGEND, **_PAPER}
