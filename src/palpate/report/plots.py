"""What all figures share, as plain data for Plotly: colours, units, traces, axes, layouts, shapes and scenes."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10, pi
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
AXES = ("#c0392b", "#2e8b57", "#2f5fd0")
"""Of x, y and z in space."""
LEGEND_ABOVE: Json = {"orientation": "h", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "font": {"size": 11}}
"""The legend above a figure: all its width is for the curves, on paper too."""
LEGEND_ON_TOP = LEGEND_ABOVE | {"yref": "container", "y": 0.995, "yanchor": "top"}
"""The same for small plots, whose titles stand above them."""
_FEW = 200
"""Points up to which each one is drawn as a dot."""
_LARGE_S = 1e6
_PRECISE = 2000.0
"""Seconds (frames) below which single precision tells a tenth of a millisecond."""
_LISTED = 64
"""Numbers up to which they are written out, for people who read the page's source."""
_LINES: Json = {
    **{"gridcolor": "#e8e8e8", "zeroline": False, "linecolor": "#888", "showline": True},
    **{"ticks": "outside", "tickcolor": "#888", "automargin": True},
}
_PAPER: Json = {"font": {"size": 12, "color": "#333"}, "paper_bgcolor": "#fff"}


# --- numbers and units ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """How a quantity in SI is shown to people: angles in deg."""

    factor: float
    unit: str


def shown_in(unit: str) -> Shown:
    """Degrees for radians, also per second; other units as they are, with superscripts."""
    factor = 180 / pi if re.fullmatch(r"rad(/s[2²]?)?", unit) else 1.0
    return Shown(factor, unit_text(unit.replace("rad", "deg") if factor != 1.0 else unit))


def unit_text(unit: str) -> str:
    """A unit as people write it: m/s² for m/s2."""
    return re.sub(r"(?<=[a-z])[23]\b", lambda m: {"2": "²", "3": "³"}[m[0]], unit)


def quantity(unit: str) -> str:
    """What a coordinate in this unit is called."""
    return "angle" if unit == "rad" else "position"


def short(value: float) -> str:
    """Three digits or so, for labels."""
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


def millimetres(metres: float) -> str:
    """A length in mm; a dash where it is not known."""
    return f"{1e3 * metres:.2f}" if np.isfinite(metres) else "-"


# --- traces -----------------------------------------------------------------------------------------------------------


def thinned(t: FloatArray, y: FloatArray, most: int = MOST_POINTS) -> tuple[FloatArray, FloatArray]:
    """A curve of at most about `most` points that looks the same: least and largest of each short time.

    Spikes stay. NaN and rows without times make the line break: one NaN stands for each gap that can be seen.
    """
    there = np.isfinite(y) & np.isfinite(t)
    t, y = np.asarray(t[there], dtype=float), np.asarray(y[there], dtype=float)
    if len(t) < 2:
        return t, y
    step, span, width = float(np.median(np.diff(t))), float(t[-1] - t[0]), 0.0
    keep = np.arange(len(t))
    if len(t) > most:
        width = span / (most // 2)
        part = np.minimum(((t - t[0]) / width).astype(np.int64), most // 2 - 1)
        first = np.flatnonzero(np.concatenate([[True], np.diff(part) > 0]))
        keep = np.unique(np.concatenate([[0], _least(y, first), _least(-y, first), [len(t) - 1]]))
    gaps = np.concatenate([[0], np.cumsum(np.diff(t) > max(1.6 * step, width))])
    after = np.flatnonzero(np.diff(gaps[keep]) > 0) + 1
    t, y = t[keep], y[keep]
    return np.insert(t, after, t[after - 1] if len(after) else t[:0]), np.insert(y, after, np.nan)


def _least(y: FloatArray, first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the least value of each part is; `first`: where the parts begin."""
    lengths = np.diff(first, append=len(y))
    at = np.flatnonzero(y == np.repeat(np.minimum.reduceat(y, first), lengths))
    return at[np.searchsorted(at, first)]


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
    trace |= {"x": packed(x, "f4" if precise else "f8"), "y": packed(y), "line": _stroke(colour, 1.2)}
    if few:
        trace["marker"] = {"size": 5, "color": colour_of(colour)}
    return trace | more


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


def key(name: str, colour: str) -> Json:
    """An entry of the legend for what has no trace of its own."""
    marker: Json = {"symbol": "square", "size": 11, "color": colour}
    return {"type": "scatter", "mode": "markers", "x": [None], "y": [None], "name": name, "marker": marker}


def colour_of(colour: int | str) -> str:
    """A colour by its number, or as it is."""
    return colour if isinstance(colour, str) else COLOURS[colour % len(COLOURS)]


def _stroke(colour: int | str, width: float) -> Json:
    return {"color": colour_of(colour), "width": width}


# --- axes -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TimeAxis:
    """What stands on the horizontal axis: seconds, or frames where a file holds only pieces of a recording."""

    x: FloatArray
    layout: Json
    trace: Json
    """What every trace above it needs."""


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


def time_axis(times_s: FloatArray, title: str = "time, s") -> TimeAxis:
    """Seconds, unless most of the time between the first and the last sample is missing."""
    n = len(times_s)
    steps = np.diff(times_s)
    step = float(np.median(steps)) if len(steps) else 1.0
    if n < 2 or n * step > 0.5 * float(times_s[-1] - times_s[0]):
        zero = zero_of(times_s)
        return TimeAxis(times_s - zero, since(zero, title), {})
    later = steps > 1.5 * step
    # frames that follow each other are one apart, others two: lines break there
    x = 1.0 + np.concatenate([[0.0], np.cumsum(1.0 + later)])
    starts = np.concatenate([[0], np.flatnonzero(later) + 1])
    starts = starts[:: max(1, len(starts) // 12)]
    labels = [f"{i + 1}<br>{times_s[i]:.2f} s" for i in starts.tolist()]
    ticks: Json = {"tickvals": x[starts].tolist(), "ticktext": labels}
    heading = {"text": "frame in the file, and its time: most of the time between them is not in the file"}
    return TimeAxis(x, {"title": heading, **ticks}, {"hoverinfo": "y+name"})


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


def in_row(index: int) -> Json:
    """What puts a trace into a row of `layout`, counted from 0."""
    return {"yaxis": axis_of("y", index)}


def on_plot(index: int) -> Json:
    """What puts a trace into a small plot of `grid`, counted from 0."""
    return {"xaxis": axis_of("x", index), "yaxis": axis_of("y", index)}


# --- layouts ----------------------------------------------------------------------------------------------------------


def layout(
    y_titles: Sequence[str], x: Json, *, height: int = 0, y: Mapping[int, Json] | None = None, **more: Any
) -> Json:
    """Rows of plots, the first on top, above one horizontal axis; the legend stands to the right.

    y: what is special about the vertical axis of a row, counted from 0.
    """
    rows, gap = len(y_titles), 0.06
    each = (1 - gap * (rows - 1)) / rows
    legend: Json = {"x": 1.01, "y": 1, "xanchor": "left", "yanchor": "top", "font": {"size": 11}}
    made: Json = {"height": height or 140 + 190 * rows, "margin": {"l": 70, "r": 20, "t": 32, "b": 56}, **_PAPER}
    made |= {"plot_bgcolor": "#fff", "hovermode": "closest", "showlegend": True, "legend": legend}
    made["xaxis"] = {"anchor": axis_of("y", rows - 1), **_LINES, **x}
    for i, title in enumerate(y_titles):
        top = 1 - i * (each + gap)
        place: Json = {"domain": [max(top - each, 0.0), top], "anchor": "x", "title": {"text": title}, **_LINES}
        made[axis_of("yaxis", i)] = place | (y or {}).get(i, {})
    return made | more


def grid(titles: Sequence[str], x_titles: Sequence[str], y_title: str, each: int, *, columns: int = 2) -> Json:
    """A layout of small plots side by side, each with its title inside the figure."""
    count, columns = len(titles), min(columns, len(titles))
    rows = ceil(count / columns)
    made = layout([""], {}, height=70 + (each + 30) * rows)
    gap_x, gap_y = 0.1, 75 / (each * rows)
    wide, high = (1 - gap_x * (columns - 1)) / columns, (1 - gap_y * (rows - 1)) / rows
    labels: list[Json] = []
    for i, title in enumerate(titles):
        left, top = (i % columns) * (wide + gap_x), 1 - (i // columns) * (high + gap_y)
        x_domain, y_domain = [left, min(left + wide, 1.0)], [max(top - high, 0.0), top]
        made[axis_of("xaxis", i)] = _LINES | {"domain": x_domain, "anchor": axis_of("y", i), **x_title(x_titles[i])}
        y_name = {"text": y_title if i % columns == 0 else ""}
        made[axis_of("yaxis", i)] = _LINES | {"domain": y_domain, "anchor": axis_of("x", i), "title": y_name}
        place: Json = {"x": left + wide / 2, "y": top, "xanchor": "center", "xref": "paper", "yref": "paper"}
        labels.append(_label(title, 12) | place)
    return made | {"annotations": labels, "margin": {"l": 60, "r": 14, "t": 50, "b": 44}}


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot of several above a common axis; level: a value to draw across it, and what is written about it."""

    title: str
    data: tuple[Json, ...]
    level: tuple[float, str] | None = None


def stacked(title: str, look_for: str, panels: Sequence[Panel], x: Json, message: str = "", **more: Any) -> Figure:
    """Panels above one horizontal axis; what is named alike shares a colour and one entry of the legend."""
    data: list[Json] = []
    listed: set[str] = set()
    for i, panel in enumerate(panels):
        for trace in panel.data:
            name = str(trace["name"])
            shown: Json = {} if "showlegend" in trace else {"legendgroup": name, "showlegend": name not in listed}
            listed.add(name)
            data.append(trace | shown | in_row(i))
    levels = [(i, panel.level) for i, panel in enumerate(panels) if panel.level is not None]
    shapes = [*more.pop("shapes", ()), *(level(value, i, DARK, 1.5) | {"xref": "x domain"} for i, (value, _) in levels)]
    corner: Json = {"x": 1, "y": 1, "xref": "paper", "xanchor": "right", "yanchor": "bottom"}
    labels = [_label(text) | corner | {"yref": f"{axis_of('y', i)} domain"} for i, (_, text) in levels]
    labels = [*more.pop("annotations", ()), *labels]
    made = layout([panel.title for panel in panels], x, shapes=shapes, annotations=labels, **more)
    return Figure(title, look_for, tuple(data), made, message)


# --- shapes -----------------------------------------------------------------------------------------------------------


def upright(x: float, text: str, colour: str = "#444", *, level: float = 1.0, log: bool = False) -> tuple[Json, Json]:
    """A vertical line through all rows and its label at this height (1: top), as a shape and an annotation.

    log: on a logarithmic axis, on which labels count in decades.
    """
    shape: Json = {"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1}
    shape["line"] = {"color": colour, "width": 1.2, "dash": "dash"}
    place: Json = {"x": log10(x) if log else x, "y": level, "xref": "x", "yref": "paper", "xshift": 4}
    place |= {"xanchor": "left", "yanchor": "top", "bgcolor": "rgba(255,255,255,0.75)"}
    return shape, _label(text, colour=colour) | place


def level(y: float, index: int, colour: str = "#888", width: float = 1.0) -> Json:
    """A dashed line across a plot."""
    place: Json = {"xref": f"{axis_of('x', index)} domain", "x0": 0, "x1": 1, "yref": axis_of("y", index)}
    return {"type": "line", **place, "y0": y, "y1": y, "line": {"color": colour, "width": width, "dash": "dash"}}


def band(x0: float, x1: float, colour: str, opacity: float = 0.18) -> Json:
    """A stretch of the horizontal axis, shaded through all rows."""
    shape: Json = {"type": "rect", "xref": "x", "yref": "paper", "x0": x0, "x1": x1, "y0": 0, "y1": 1}
    return shape | {"fillcolor": colour, "opacity": opacity, "line": {"width": 0}, "layer": "below"}


def _label(text: str, size: int = 11, colour: str = "#333") -> Json:
    return {"text": text, "showarrow": False, "yanchor": "bottom", "font": {"size": size, "color": colour}}


# --- space ------------------------------------------------------------------------------------------------------------


def in_space(positions: FloatArray, mode: str, name: str = "", **more: Any) -> Json:
    """Points or lines in space: (n, 3), mm."""
    place: Json = {axis: packed(positions[:, k]) for k, axis in enumerate("xyz")}
    return {"type": "scatter3d", "mode": mode, "name": name, "showlegend": bool(name), **place} | more


def frames_in_space(frames: Mapping[str, FloatArray], length: float) -> list[Json]:
    """Frames (4, 4), m, by name, as axes of this length (mm): red x, green y, blue z."""
    data: list[Json] = []
    for name, T in frames.items():
        for i, colour in enumerate(AXES):
            ends = 1e3 * T[:3, 3] + np.array([[0.0], [length]]) * T[:3, i]
            style: Json = {"line": {"color": colour, "width": 6}, "textfont": {"color": "#333", "size": 12}}
            words: Json = {"text": ["", name if i == 2 else ""], "hoverinfo": "text", "hovertext": f"{name} {'xyz'[i]}"}
            data.append(in_space(ends, "lines+text", **style, **words))
    return data


def scene_layout(corners: FloatArray) -> Json:
    """Equal scales, all of these points (n, 3; mm) in sight, seen with the wider horizontal side across."""
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
    legend: Json = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": 12}}
    return {"height": 560, "margin": {"l": 0, "r": 0, "t": 36, "b": 0}, "scene": scene, "legend": legend, **_PAPER}
