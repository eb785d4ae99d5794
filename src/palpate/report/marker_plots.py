"""Figures about markers: errors, what was hidden or wrong when, and the cloud with its frames."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from palpate.experiment.capture import Body
from palpate.motion.cloud import nan_mean, nan_median
from palpate.motion.gaps import Source
from palpate.motion.markers import Markers
from palpate.physics.arrays import FloatArray
from palpate.report.inspection_tables import is_repaired, short
from palpate.report.page import Figure, Json
from palpate.report.plots import (
    COLOURS,
    DARK,
    GREY,
    TimeAxis,
    band,
    key,
    layout,
    line,
    log_scale,
    packed,
    time_axis,
    upright,
)

_MOST_MARKERS = 8
"""Whose errors are drawn over time: those with the largest."""
_MOST_FAULTS = 60
_COLUMNS = 1500
"""Of the picture of what was seen."""
_STATES = {
    "seen": "#cfe3d4",
    "moved, carried back": "#e69f00",
    "label exchanged, put right": "#cc79a7",
    "hidden, from the body": "#8fbce6",
    "hidden, by spline": "#0072b2",
    "ghost, replaced": "#d55e00",
    "": "#222222",
}
"""What can be said of a marker in a frame, from the best to the gravest; the last has no name of its own."""
_SHADES = {"swapped": "#cc79a7", "ghost": "#d55e00", "confused": "#222222"}
_MOVED = "#b07500"


def error_bars(body: Body) -> Figure:
    """Mean error of each marker, as stored and after repair."""
    names = [short(name) for name in body.cloud.names]
    sets = {"as stored": body.raw} | ({"faults repaired": body.fit} if is_repaired(body) else {})
    data = tuple(
        {
            "type": "bar",
            "x": names,
            "y": packed(1e3 * np.array([row[1] for row in fit.rows()])),
            "name": name,
            "marker": {"color": COLOURS[1 - i if len(sets) == 2 else 0]},
        }
        for i, (name, fit) in enumerate(sets.items())
    )
    axis: Json = {"title": {"text": "marker"}, "type": "category", "tickangle": -40 if len(names) > 12 else 0}
    return Figure(
        "Mean error of each marker",
        "One bar far above the others is a marker that moved, was exchanged or sits on a part that bends; 0.3 to 1 mm "
        "is usual for a stiff body.",
        data,
        layout(["mean error, mm"], axis, barmode="group", showlegend=len(sets) > 1),
    )


def error_over_time(body: Body) -> Figure:
    """Distance of the markers from their places over time, with the faults that were found."""
    axis, error = time_axis(body.raw.poses.times_s), 1e3 * body.raw.alignment.error
    largest = np.where(np.isnan(error), -1.0, error).max(axis=0)
    chosen = np.sort(np.argsort(-largest, kind="stable")[:_MOST_MARKERS])
    data = [
        line(axis.x, error[:, i], short(body.cloud.names[i]), colour, most=2000, **axis.trace)
        for colour, i in enumerate(int(k) for k in chosen)
    ]
    titles, usual = ["error as stored, mm"], float(nan_median(error.ravel(), axis=0))
    if is_repaired(body):
        titles.append("error repaired, mm")
        left = 1e3 * body.fit.alignment.error
        most = np.where(np.isnan(left).all(axis=1), np.nan, np.where(np.isnan(left), -1.0, left).max(axis=1))
        data.append(line(axis.x, most, "largest, repaired", GREY, most=2000, row=2, **axis.trace))
        data.append(line(axis.x, nan_mean(left, axis=1), "mean, repaired", DARK, most=2000, row=2, **axis.trace))
    kinds = dict.fromkeys(f.kind for f in body.checked.findings)
    data += [key(kind, _SHADES[kind]) for kind in kinds if kind in _SHADES]
    shapes, labels = _faults(body, axis)
    # beside exchanged markers, 300 mm off, nothing else would show
    spread = usual > 0 and float(largest.max()) > 20 * usual
    scale = {1: log_scale(usual / 5, float(largest.max()))} if spread else {}
    made = layout(titles, axis.layout, y=scale, shapes=shapes, annotations=labels)
    left_out = len(largest) - len(chosen)
    rest = f" The {len(chosen)} markers with the largest errors are drawn, {left_out} are not." if left_out else ""
    return Figure(
        "Distance of the markers from their places",
        "Steps, plateaus and spikes are faults: those that were found are shaded or, where a marker moved, marked by "
        f"a line.{' Once they are repaired, even noise should be left.' if is_repaired(body) else ''}{rest}",
        tuple(data),
        made,
    )


def _faults(body: Body, axis: TimeAxis) -> tuple[list[Json], list[Json]]:
    times = body.raw.poses.times_s
    shapes: list[Json] = []
    labels: list[Json] = []
    for f in body.checked.findings[:_MOST_FAULTS]:
        first, last = (int(i) for i in np.clip(np.searchsorted(times, f.interval_s), 0, len(times) - 1))
        if f.kind == "moved":
            text = f"{short(f.names[0])} moved by {1e3 * f.size_m:.1f} mm"
            shape, label = upright(float(axis.x[first]), text, _MOVED, level=1 - 0.06 * (len(labels) % 6))
            shapes.append(shape)
            labels.append(label)
        elif f.kind in _SHADES:
            shapes.append(band(float(axis.x[first]), float(axis.x[last]), _SHADES[f.kind]))
    return shapes, labels


def visibility(body: Body) -> Figure:
    """Which marker was seen, filled, exchanged or lost when."""
    return _timeline(
        body.markers.times_s,
        body.cloud.names,
        marker_states(body),
        "Long dark stretches, or many markers hidden at the same time, are where the pose rests on little; choose "
        "segments beside them.",
    )


def seen_markers(markers: Markers) -> Figure:
    """The same of markers that are not known to be one body."""
    states = np.where(markers.seen, 0, len(_STATES) - 1).astype(np.int8)
    return _timeline(markers.times_s, markers.names, states, "Dark is where a marker was hidden.", "hidden")


def _timeline(
    times_s: FloatArray, markers: tuple[str, ...], states: NDArray[np.int8], look_for: str, gravest: str = "not known"
) -> Figure:
    axis = time_axis(times_s)
    x, worst = _columns(axis.x, states)
    colours, n = list(_STATES.values()), len(_STATES)
    heat: Json = {
        "type": "heatmap",
        "x": packed(x, "f8"),
        "y": [short(name) for name in markers],
        "z": packed(worst.T, "f4"),
        "zmin": -0.5,
        "zmax": n - 0.5,
        "colorscale": [[k / n, c] for i, c in enumerate(colours) for k in (i, i + 1)],
        "showscale": False,
        "ygap": 2,
        "hoverinfo": "y" if axis.trace else "x+y",
    }
    present = {int(v) for v in np.unique(states).tolist()}
    data = [heat, *(key(name or gravest, _STATES[name]) for i, name in enumerate(_STATES) if i in present)]
    special: Json = {"autorange": "reversed", "type": "category", "showgrid": False, "dtick": 1}
    made = layout([""], axis.layout, height=130 + max(22 * len(markers), 90), y={1: special})
    return Figure("What was seen of each marker", look_for, tuple(data), made)


def marker_states(body: Body) -> NDArray[np.int8]:
    """(frames, markers of the cloud) index into the states that `visibility` shows, the gravest that applies."""
    stored = body.markers
    places = [stored.names.index(name) for name in body.cloud.names]
    raw, times = stored.seen[:, places], stored.times_s
    states = np.zeros(raw.shape, dtype=np.int8)
    for kind, state in (("moved", 1), ("swapped", 2)):
        for f in body.checked.findings:
            if f.kind == kind:
                when = (times >= f.interval_s[0]) & (times <= f.interval_s[1])
                for name in f.names:
                    states[when, body.cloud.names.index(name)] = state
    source, kept = body.filled.source, body.checked.markers.seen
    states[source == Source.BODY] = 3
    states[source == Source.SPLINE] = 4
    exchanged = states == 2
    states[raw & ~kept & (source != Source.HIDDEN) & ~exchanged] = 5
    states[source == Source.HIDDEN] = 6
    return states


def _columns(x: FloatArray, states: NDArray[np.int8]) -> tuple[FloatArray, FloatArray]:
    """Even columns over x, each with the gravest state of its frames; NaN where there is no frame."""
    if len(x) < 2:
        return x, states.astype(float)
    step = float(np.median(np.diff(x)))
    count = min(_COLUMNS, round(float(x[-1] - x[0]) / step) + 1)
    edges = np.linspace(float(x[0]) - step / 2, float(x[-1]) + step / 2, count + 1)
    at = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, count - 1)
    worst = np.full((count, states.shape[1]), -1, dtype=np.int8)
    np.maximum.at(worst, at, states)
    return (edges[1:] + edges[:-1]) / 2, np.where(worst < 0, np.nan, worst)


def cloud_in_space(body: Body, frames: dict[str, FloatArray]) -> Figure:
    """The reference cloud with names, and frames (T_cloud_frame) as three short axes."""
    p = 1e3 * body.cloud.points
    length = 0.25 * float(np.linalg.norm(p - p.mean(axis=0), axis=1).max())
    faulty = {name for f in body.checked.findings for name in f.names if f.kind != "confused"}
    data: list[Json] = [
        {
            "type": "scatter3d",
            "mode": "markers+text",
            "name": "markers",
            "x": packed(p[:, 0]),
            "y": packed(p[:, 1]),
            "z": packed(p[:, 2]),
            "text": [short(name) for name in body.cloud.names],
            "textposition": "top center",
            "textfont": {"size": 11},
            "marker": {"size": 5, "color": [COLOURS[1 if n in faulty else 0] for n in body.cloud.names]},
            "showlegend": False,
        }
    ]
    for name, T in frames.items():
        for i, colour in enumerate(("#c0392b", "#2e8b57", "#2f5fd0")):
            ends = 1e3 * np.stack([T[:3, 3], T[:3, 3]]) + np.array([[0.0], [length]]) * T[:3, i]
            place: Json = {axis: packed(ends[:, k]) for k, axis in enumerate("xyz")}
            label = ["", f"{name} {'xyz'[i]}"]
            style: Json = {"line": {"color": colour, "width": 5}, "textfont": {"color": colour, "size": 11}}
            data.append(
                {"type": "scatter3d", "mode": "lines+text", "text": label, **place, **style, "showlegend": False}
            )
    corners = np.vstack([p, *(1e3 * (T[:3, 3] + length / 1e3 * T[:3, :3].T) for T in frames.values())])
    made: Json = {
        "height": 560,
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "scene": scene_axes(corners),
        "font": {"size": 12, "color": "#333"},
    }
    turned = "; frames are drawn as red x, green y and blue z" if frames else ""
    return Figure(
        "The markers on the body",
        f"Turn it with the mouse: names should sit as they do on the object{turned}. Orange markers have a fault.",
        tuple(data),
        made,
    )


def scene_axes(points: FloatArray) -> Json:
    """Equal scales, everything in sight, seen with the wider horizontal side across."""
    middle, extent = (points.min(axis=0) + points.max(axis=0)) / 2, np.ptp(points, axis=0)
    half = np.maximum(0.6 * extent, 0.1 * max(float(extent.max()), 1.0))
    ratio = 1.5 * half / half.max()
    eye = (0.75, 1.75, 0.75) if half[0] > half[1] else (1.75, 0.75, 0.75)
    scene: Json = {
        f"{name}axis": {
            "title": {"text": f"{name}, mm"},
            "range": [float(middle[i] - half[i]), float(middle[i] + half[i])],
            "backgroundcolor": "#fafafa",
            "nticks": 6 if ratio[i] > 0.4 else 3,
        }
        for i, name in enumerate("xyz")
    }
    view: Json = {"eye": dict(zip("xyz", eye, strict=True))}
    scale = {name: float(ratio[i]) for i, name in enumerate("xyz")}
    return scene | {"aspectmode": "manual", "aspectratio": scale, "camera": view}
