"""What the data of an identification were like: instruments, clocks, markers, wrenches in space, excitation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from palpate.experiment.view import Arrows, ClockEvidence, Instrument, Scene, View
from palpate.physics.arrays import FloatArray
from palpate.report.page import Figure, Json, Table
from palpate.report.plots import (
    COLOURS,
    DARK,
    GREY,
    LEGEND_ABOVE,
    band,
    curve,
    grid,
    layout,
    line,
    log_scale,
    on_plot,
    packed,
    quantity,
    scene_axes,
    shown_in,
    since,
    unit_text,
    upright,
    x_title,
    zero_of,
)

_DEVICES = {"imu": "IMU", "wrench": "load cell", "wrench_2": "second load cell", "mocap": "motion capture"}
_KINDS = {
    "acceleration": ("specific acceleration", "m/s²"),
    "angular_rate": ("angular rate", "rad/s"),
    "angular_acceleration": ("angular acceleration", "rad/s²"),
}
_AXES = ("#c0392b", "#2e8b57", "#2f5fd0")
_ARROW = 0.45
"""Length of the longest arrow beside the size of the scene."""


# --- recordings and clocks --------------------------------------------------------------------------------------------


def instruments_table(view: View) -> Table | None:
    """One line per instrument: rate, length, gaps, jitter."""
    if not view.instruments:
        return None
    rows = tuple(
        (
            i.name,
            i.file,
            f"{i.rate_hz:.6g}",
            str(i.samples),
            f"{i.to_s - i.from_s:.1f}",
            str(i.gaps) if i.gaps else "none",
            f"{i.longest_gap_s:.3f}" if i.gaps else "-",
            f"{1e6 * i.jitter_s:.0f}" if np.isfinite(i.jitter_s) else "-",
        )
        for i in view.instruments
    )
    headings = ("instrument", "file", "rate, Hz", "samples", "length, s", "gaps", "longest, s", "jitter, µs")
    marked = tuple(k for k, i in enumerate(view.instruments) if i.gaps)
    note = "A gap of motion capture is a time in which too few markers were seen to know the pose." if marked else ""
    return Table(headings, rows, words=(0, 1), marked=marked, note=note)


def channels_table(instrument: Instrument) -> Table:
    """Range and noise of each channel."""
    rows = tuple(
        (c.name, unit_text(c.unit), f"{c.lowest:.4g}", f"{c.highest:.4g}", f"{c.noise:.3g}")
        for c in instrument.channels
    )
    headings = ("channel", "unit", "lowest", "highest", "noise (1 σ)")
    return Table(headings, rows, f"{instrument.name}: channels", (0, 1))


def clocks_table(data: Mapping[str, Any]) -> Table | None:
    """Offset and drift of each device against the reference clock."""
    clocks: Mapping[str, Any] = data.get("clocks") or {}
    rows: list[tuple[str, ...]] = []
    note = "Offset: time of motion capture minus the device's own time of the same instant."
    if "load_cell_minus_imu_s" in clocks:
        rows.append(_clock_cells("IMU", clocks["load_cell_minus_imu_s"], clocks))
        note = "Offset: load-cell time minus IMU time of the same instant."
    else:
        rows += [_clock_cells(_DEVICES.get(n, n), c["reference_minus_device_s"], c) for n, c in clocks.items()]
    headings = ("clock of", "offset, s", "± 95 %, ms", "drift, ppm", "how")
    return Table(headings, tuple(rows), words=(0, 4), note=note) if rows else None


def _clock_cells(name: str, offset_s: float, clock: Mapping[str, Any]) -> tuple[str, ...]:
    std, drift = clock.get("std_s"), clock.get("drift_ppm")
    found = bool(clock.get("estimated"))
    width = f"{1.96e3 * std:.3f}" if std is not None and found else "-"
    return (
        name,
        f"{round(offset_s, 6) + 0.0:.6f}",
        width,
        "-" if drift is None else f"{drift:+.1f}",
        "found" if found else "stated",
    )


def clock_figure(clock: ClockEvidence) -> Figure:
    """The unexplained share of the variance around the offset that was found."""
    lags = np.append(1e3 * clock.lags_s, 0.0)
    order = np.argsort(lags)
    share = 100 * np.append(clock.misfit, 1 - clock.explained)[order]
    device = _DEVICES.get(clock.name, clock.name)
    half = 1.96e3 * clock.std_s
    low, high = float(np.nanmin(share)), float(np.nanmax(share))
    scale = {1: log_scale(low, high)} if high > 20 * low > 0 else {}
    shapes = [upright(0.0, "")[0], *([band(-half, half, COLOURS[1], 0.4)] if np.isfinite(half) else [])]
    valley = curve(lags[order], share, "unexplained", mode="lines+markers", showlegend=False)
    axis = x_title("lag from the offset that was found, ms")
    return Figure(
        f"Clock of the {device}",
        "One clear valley at zero; the 95 % interval is shaded and often narrower than the line.",
        (valley,),
        layout(["unexplained, %"], axis, y=scale, shapes=shapes, height=280, showlegend=False),
        f"At the offset that was found {100 * clock.explained:.2f} % of the signal is explained, at the best lag "
        f"elsewhere {100 * clock.runner_up:.0f} %; ±\u00a0{half:.2g}\u00a0ms.",
    )


def replay_table(data: Mapping[str, Any]) -> Table | None:
    """RMS error of each coordinate over all windows."""
    replay: Mapping[str, Any] = data.get("replay") or {}
    parts: Mapping[str, Any] = replay.get("coordinates") or {}
    rows: list[tuple[str, ...]] = []
    for name, entry in parts.items():
        shown = shown_in(str(entry["unit"]))
        factor, unit = (1e3, "mm") if entry["unit"] == "m" else (shown.factor, shown.unit)
        rows.append((name, f"{factor * entry['value']:.3g}", unit))
    if not rows:
        return None
    note = f"Over {replay.get('windows', '?')} windows of {replay.get('window_s', float('nan')):g} s each."
    return Table(("replay", "RMS error", "unit"), tuple(rows), words=(0, 2), note=note)


# --- markers ----------------------------------------------------------------------------------------------------------


def markers_words(view: View) -> str:
    """How well the markers fit a rigid body, in a sentence."""
    seen = [m for m in view.markers if np.isfinite(m.mean_error_m)]
    if not seen:
        return "No marker was seen."
    worst, hidden = max(seen, key=lambda m: m.largest_error_m), max(view.markers, key=lambda m: m.hidden)
    mean = float(np.mean([m.mean_error_m for m in seen]))
    faulty = [m.name for m in view.markers if m.fault]
    text = f"{len(view.markers)} markers: mean error {_mm(mean)} mm, largest {_mm(worst.largest_error_m)} mm "
    text += (
        f"({worst.name} at {worst.at_s:.1f} s); {hidden.name} was hidden most, {100 * hidden.hidden:.0f} % of the time"
    )
    return f"{text}; faults: {', '.join(faulty)}." if faulty else f"{text}; no faults."


def markers_table(view: View) -> Table | None:
    """Error of each marker against the rigid body, as stored."""
    if not view.markers:
        return None
    rows = tuple(
        (
            m.name,
            _mm(m.mean_error_m),
            _mm(m.largest_error_m),
            f"{m.at_s:.2f}" if np.isfinite(m.mean_error_m) else "-",
            f"{100 * m.hidden:.1f} %" if m.hidden else "-",
            m.fault or "-",
        )
        for m in view.markers
    )
    marked = tuple(i for i, m in enumerate(view.markers) if m.fault)
    headings = ("marker", "mean error, mm", "largest, mm", "at, s", "hidden", "fault")
    return Table(headings, rows, words=(0, 5), marked=marked)


def marker_error(view: View) -> Figure | None:
    """Mean error of the markers over time."""
    error = view.marker_error
    if error is None or not np.isfinite(error.values).any():
        return None
    zero, mm = zero_of(view.times_s), 1e3 * error.values
    worst = int(np.nanargmax(mm))
    return Figure(
        "Marker error over time",
        "A level that jumps and stays is a marker that moved on the body; lone peaks are wrong labels or reflections.",
        (line(view.times_s - zero, mm, "mean over the markers", 0, showlegend=False),),
        layout(["mean error, mm"], since("time, s", zero), height=250, showlegend=False),
        f"{np.nanmean(mm):.2f} mm on average, {mm[worst]:.2f} mm at most, at {view.times_s[worst] - zero:.1f} s.",
    )


# --- space ------------------------------------------------------------------------------------------------------------


def scene(view: View) -> Figure | None:
    """Markers, frames, paths and wrenches in 3-D."""
    found = view.scene
    if found is None:
        return None
    solid = [found.markers, *(T[:3, 3][None] for T in found.frames.values()), *found.paths.values()]
    solid += [p[None] for p in found.points.values()]
    every = np.concatenate(solid)
    every = 1e3 * every[np.isfinite(every).all(axis=1)]
    size = max(float(np.ptp(every, axis=0).max()) if len(every) else 0.0, 100.0)
    data = [*_markers(found), *_frames(found, 0.12 * size), *_paths(found), *_points(found)]
    tips: list[FloatArray] = []
    words: list[str] = []
    for i, arrows in enumerate(found.arrows):
        drawn, ends, largest = _arrows(arrows, _ARROW * size, hidden=arrows.unit != "N", colour=i)
        data.append(drawn)
        if arrows.unit == "N":
            tips.append(ends)
            words.append(f"{arrows.name} up to {largest:.3g} N")
    corners = np.vstack([every, *tips])
    if not len(corners):
        return None
    box = scene_axes(corners)
    # farther than by default: labels and arrows stay in sight
    box["camera"] = {"eye": {k: 1.25 * v for k, v in box["camera"]["eye"].items()}, "center": {"z": -0.1}}
    made: Json = {
        "height": 560,
        "margin": {"l": 0, "r": 0, "t": 36, "b": 0},
        "scene": box,
        "font": {"size": 12, "color": "#333"},
        "paper_bgcolor": "#fff",
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": 12}},
    }
    return Figure(
        f"Frames and wrenches, in the {found.frame} frame",
        "Turn it with the mouse. Axes are red x, green y, blue z. Forces should point where the person pushed, and "
        "frames sit where they do on the object; click a name in the legend to show or hide it.",
        tuple(data),
        made,
        f"{'; '.join(words)[:1].upper()}{'; '.join(words)[1:]}." if words else "",
    )


def _markers(s: Scene) -> list[Json]:
    if not len(s.markers):
        return []
    place = _xyz(1e3 * s.markers)
    style: Json = {"marker": {"size": 3, "color": DARK}, "text": list(s.marker_names), "hoverinfo": "text"}
    return [{"type": "scatter3d", "mode": "markers", "name": "markers", **place, **style}]


def _frames(s: Scene, length: float) -> list[Json]:
    found: list[Json] = []
    for name, T in s.frames.items():
        for i, colour in enumerate(_AXES):
            ends = 1e3 * T[:3, 3] + np.array([[0.0], [length]]) * T[:3, i]
            label = ["", name if i == 2 else ""]
            style: Json = {"line": {"color": colour, "width": 6}, "textfont": {"color": "#333", "size": 12}}
            found.append(
                {"type": "scatter3d", "mode": "lines+text", "text": label, **_xyz(ends), **style, "showlegend": False}
                | {"hoverinfo": "text", "hovertext": f"{name} {'xyz'[i]}"}
            )
    return found


def _paths(s: Scene) -> list[Json]:
    return [
        {"type": "scatter3d", "mode": "lines", "name": name, **_xyz(1e3 * path), "line": {"color": GREY, "width": 3}}
        | {"hoverinfo": "name"}
        for name, path in s.paths.items()
    ]


def _points(s: Scene) -> list[Json]:
    style: Json = {"marker": {"size": 7, "color": COLOURS[4], "symbol": "diamond"}}
    return [
        {"type": "scatter3d", "mode": "markers", "name": name, **_xyz(1e3 * point[None]), **style}
        for name, point in s.points.items()
        if np.isfinite(point).all()
    ]


def _arrows(a: Arrows, longest: float, *, hidden: bool, colour: int) -> tuple[Json, FloatArray, float]:
    """Lines from a point along a vector; their tips (mm) and the largest vector's length in its unit."""
    largest = float(np.linalg.norm(a.vectors, axis=1).max()) if len(a.vectors) else 0.0
    ends = 1e3 * a.at + a.vectors * (longest / largest if largest > 0 else 0.0)
    gaps = np.full_like(ends, np.nan)
    path = np.stack([1e3 * a.at, ends, gaps], axis=1).reshape(-1, 3)
    tint = COLOURS[(1, 3, 0, 2)[colour % 4]]
    text = [t for v in a.vectors for t in ("", f"{float(np.linalg.norm(v)):.3g} {a.unit}", "")]
    style: Json = {"line": {"color": tint, "width": 3}, "marker": {"size": [0, 3, 0] * len(ends), "color": tint}}
    drawn: Json = {"type": "scatter3d", "mode": "lines+markers", "name": f"{a.name}, {a.unit}", **_xyz(path), **style}
    shown: Json = {"visible": "legendonly"} if hidden else {}
    return drawn | {"text": text, "hoverinfo": "text+name"} | shown, ends, largest


def _xyz(points: FloatArray) -> Json:
    return {axis: packed(points[:, k]) for k, axis in enumerate("xyz")}


# --- excitation -------------------------------------------------------------------------------------------------------


def excitation(data: Mapping[str, Any], view: View | None) -> tuple[Table, Figure] | None:
    """RMS of the motion along and about each axis: the numbers, and each beside the strongest axis of its kind."""
    found: Mapping[str, Mapping[str, float]] = data.get("excitation") or ({} if view is None else view.excitation)
    kinds = [k for k in _KINDS if k in found and max(found[k].values(), default=0.0) > 0]
    if not kinds:
        return None
    axes = list(found[kinds[0]])
    rows = tuple((_KINDS[k][0], *(f"{found[k][a]:.3g}" for a in axes), _KINDS[k][1]) for k in kinds)
    table = Table(("RMS in the train segments", *axes, "unit"), rows, words=(0, len(axes) + 1))
    share = {k: {a: 100 * found[k][a] / max(found[k].values()) for a in axes} for k in kinds}
    bars: list[Json] = [
        {"type": "bar", "x": [_KINDS[k][0] for k in kinds], "y": [share[k][a] for k in kinds], "name": a}
        | {"marker": {"color": COLOURS[(0, 2, 4)[i % 3]]}}
        for i, a in enumerate(axes)
    ]
    low = {k: min(axes, key=lambda a, k=k: share[k][a]) for k in kinds}
    words = ", ".join(f"{_KINDS[k][0]} {low[k]} ({share[k][low[k]]:.0f} % of the strongest axis)" for k in kinds)
    made = layout(["% of the strongest axis"], x_title("") | {"type": "category"}, height=300, legend=LEGEND_ABOVE)
    figure = Figure(
        "Motion along and about each axis",
        "An axis with little motion leaves the inertias about it to the prior. Gravity is part of the specific "
        "acceleration: an object that is turned over has all three axes alike.",
        tuple(bars),
        made | {"barmode": "group", "bargap": 0.35},
        f"Weakest: {words}.",
    )
    return table, figure


def directions(view: View) -> Table | None:
    """How long and how fast the object was moved either way, in the train segments."""
    main = view.main
    if main is None:
        return None
    shown, step = shown_in(main.unit), float(np.median(np.diff(view.times_s)))
    inside = view.within("train", "quasi_static") & view.used & np.isfinite(main.position) & np.isfinite(main.speed)
    rows: list[tuple[str, ...]] = []
    for word, which in (("opening", main.speed > 0), ("closing", main.speed < 0)):
        at = inside & which
        if not at.any():
            continue
        x, v = shown.factor * main.position[at], shown.factor * np.abs(main.speed[at])
        a = None if main.acceleration is None else shown.factor * main.acceleration[at]
        numbers = (step * at.sum(), x.min(), x.max(), np.sqrt(np.mean(v**2)), v.max())
        cells = tuple(f"{float(n):.1f}" for n in numbers)
        rows.append((word, *cells, "-" if a is None else f"{float(np.sqrt(np.nanmean(a**2))):.0f}"))
    deg = shown.unit
    headings = ("train", "time, s", f"from, {deg}", f"to, {deg}", f"RMS speed, {deg}/s", f"largest, {deg}/s")
    return Table((*headings, f"RMS acceleration, {deg}/s²"), tuple(rows)) if rows else None


def travel(view: View) -> Figure | None:
    """How long the object was where, and how fast it moved there: histograms for train and test."""
    main = view.main
    if main is None:
        return None
    shown, step = shown_in(main.unit), float(np.median(np.diff(view.times_s)))
    word = quantity(main.unit)
    made = grid(["", ""], [f"{word}, {shown.unit}", f"speed, {shown.unit}/s"], "time, s", 180)
    data: list[Json] = []
    for i, x in enumerate((shown.factor * main.position, shown.factor * main.speed)):
        known = x[np.isfinite(x) & view.used]
        if not len(known) or not known.min() < known.max():
            return None
        low, high = (float(v) for v in np.quantile(known, (0.002, 0.998)))
        edges = np.linspace(low, high, 41)
        for name, colour, which in (("train", COLOURS[0], ("train", "quasi_static")), ("test", COLOURS[1], ("test",))):
            counts = step * np.histogram(x[view.within(*which) & view.used & np.isfinite(x)], edges)[0]
            more: Json = {"line": {"color": colour, "shape": "hvh", "width": 1.8}, "showlegend": i == 0}
            data.append(
                curve((edges[:-1] + edges[1:]) / 2, counts, name, colour, **on_plot(i), legendgroup=name, **more)
            )
    return Figure(
        "Where the data are",
        "Both directions and all of the travel should be there, and test where train is: what was never visited is "
        "extrapolated.",
        tuple(data),
        made | {"legend": {"orientation": "h", "x": 0, "y": 1, "yref": "container", "yanchor": "top"}},
    )


def _mm(metres: float) -> str:
    return f"{1e3 * metres:.2f}" if np.isfinite(metres) else "-"
