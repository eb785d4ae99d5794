"""What the data of an identification were like: instruments, clocks, markers, wrenches in space, excitation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from palpate.experiment.view import Arrows, ClockEvidence, InstrumentSummary, View
from palpate.physics.arrays import FloatArray, rms
from palpate.report import plots
from palpate.report.model_plots import directions as ways
from palpate.report.page import Figure, Json, Table
from palpate.report.plots import COLOURS, DARK, GREY, LEGEND_ABOVE, LEGEND_ON_TOP, curve, layout, millimetres, shown_in

DEVICES = {"imu": "IMU", "wrench": "load cell", "wrench_2": "second load cell", "mocap": "motion capture"}
_KINDS = {
    "acceleration": ("specific acceleration", "m/s²"),
    "angular_rate": ("angular rate", "rad/s"),
    "angular_acceleration": ("angular acceleration", "rad/s²"),
}
_ARROW = 0.45
"""Length of the longest arrow beside the size of the scene."""


# --- recordings and clocks --------------------------------------------------------------------------------------------


def instruments_table(view: View) -> Table | None:
    """One line per instrument: rate, length, gaps, jitter."""
    rows = tuple(
        (
            *(i.name, i.file, f"{i.rate_hz:.6g}", str(i.samples), f"{i.to_s - i.from_s:.1f}"),
            *((str(i.gaps), f"{i.longest_gap_s:.3f}") if i.gaps else ("none", "-")),
            f"{1e6 * i.jitter_s:.0f}" if np.isfinite(i.jitter_s) else "-",
        )
        for i in view.instruments
    )
    headings = ("instrument", "file", "rate, Hz", "samples", "length, s", "gaps", "longest, s", "jitter, µs")
    marked = tuple(k for k, i in enumerate(view.instruments) if i.gaps)
    note = "A gap of motion capture is a time in which too few markers were seen to know the pose." if marked else ""
    return Table(headings, rows, words=(0, 1), marked=marked, note=note) if rows else None


def channels_table(instrument: InstrumentSummary) -> Table:
    """Range and noise of each channel."""
    rows = tuple(
        (c.name, plots.unit_text(c.unit), f"{c.lowest:.4g}", f"{c.highest:.4g}", f"{c.noise:.3g}")
        for c in instrument.channels
    )
    headings = ("channel", "unit", "lowest", "highest", "noise (1 σ)")
    return Table(headings, rows, f"{instrument.name}: channels", (0, 1))


def clocks_table(data: Mapping[str, Any]) -> Table | None:
    """Offset and drift of each device against the reference clock."""
    clocks: Mapping[str, Any] = data.get("clocks") or {}
    note = "Offset: time of motion capture minus the device's own time of the same instant."
    rows = [_clock_cells(DEVICES.get(n, n), c) for n, c in clocks.items()]
    if data.get("stage") == "handle":
        note = "Offset: load-cell time minus IMU time of the same instant."
    headings = ("clock of", "offset, s", "± 95 %, ms", "drift, ppm", "how")
    return Table(headings, tuple(rows), words=(0, 4), note=note) if rows else None


def _clock_cells(name: str, clock: Mapping[str, Any]) -> tuple[str, ...]:
    std, drift, estimated = clock.get("std_s"), clock.get("drift_ppm"), bool(clock.get("estimated"))
    return (
        name,
        f"{round(clock['reference_minus_device_s'], 6) + 0.0:.6f}",
        f"{1.96e3 * std:.3f}" if std is not None and estimated else "-",
        "-" if drift is None else f"{drift:+.1f}",
        "found" if estimated else "stated",
    )


def clock_figure(clock: ClockEvidence) -> Figure:
    """The unexplained share of the variance around the offset that was found."""
    # the grid of lags seldom meets the best one
    lags = np.append(1e3 * clock.lags_s, 0.0)
    order = np.argsort(lags)
    share = 100 * np.append(clock.misfit, 1 - clock.explained)[order]
    half, low, high = 1.96e3 * clock.std_s, float(np.nanmin(share)), float(np.nanmax(share))
    scale = {0: plots.log_scale(low, high)} if high > 20 * low > 0 else {}
    shapes = [plots.upright(0.0, "")[0], *([plots.band(-half, half, COLOURS[1], 0.4)] if np.isfinite(half) else [])]
    axis = plots.x_title("lag from the offset that was found, ms")
    return Figure(
        f"Clock of the {DEVICES.get(clock.name, clock.name)}",
        "There should be one clear valley at zero; the 95 % interval is shaded and often narrower than the line.",
        (curve(lags[order], share, "unexplained", mode="lines+markers", showlegend=False),),
        layout(["unexplained, %"], axis, y=scale, shapes=shapes, height=280, showlegend=False),
        f"At the offset that was found {100 * clock.explained:.2f} % of the signal is explained, at the best lag "
        f"elsewhere {100 * clock.runner_up:.0f} %; ±\u00a0{half:.2g}\u00a0ms.",
    )


# --- markers ----------------------------------------------------------------------------------------------------------


def markers_words(view: View) -> str:
    """How well the markers fit a rigid body, in a sentence."""
    seen = [m for m in view.markers if np.isfinite(m.mean_error_m)]
    if not seen:
        return "No marker was seen."
    worst, hidden = max(seen, key=lambda m: m.largest_error_m), max(view.markers, key=lambda m: m.hidden)
    mean, faulty = float(np.mean([m.mean_error_m for m in seen])), [m.name for m in view.markers if m.fault]
    return (
        f"{len(view.markers)} markers: mean error {millimetres(mean)} mm, largest {millimetres(worst.largest_error_m)} "
        f"mm ({worst.name} at {worst.at_s:.1f} s); {hidden.name} was hidden most, {100 * hidden.hidden:.0f} % of the "
        f"time; {'faults: ' + ', '.join(faulty) if faulty else 'no faults'}."
    )


def markers_table(view: View) -> Table | None:
    """Error of each marker against the rigid body, as stored."""
    rows = tuple(
        (
            *(m.name, millimetres(m.mean_error_m), millimetres(m.largest_error_m)),
            f"{m.at_s:.2f}" if np.isfinite(m.mean_error_m) else "-",
            f"{100 * m.hidden:.1f} %" if m.hidden else "-",
            m.fault or "-",
        )
        for m in view.markers
    )
    marked = tuple(i for i, m in enumerate(view.markers) if m.fault)
    headings = ("marker", "mean error, mm", "largest, mm", "at, s", "hidden", "fault")
    return Table(headings, rows, words=(0, 5), marked=marked) if rows else None


def marker_error(view: View) -> Figure | None:
    """Mean error of the markers over time."""
    error = view.marker_error
    if error is None or not np.isfinite(error.values).any():
        return None
    zero, mm = plots.zero_of(view.times_s), 1e3 * error.values
    worst = int(np.nanargmax(mm))
    return Figure(
        "Marker error over time",
        "A level that jumps and stays is a marker that moved on the body; lone peaks are wrong labels or reflections.",
        (plots.line(view.times_s - zero, mm, "mean over the markers", 0, showlegend=False),),
        layout(["mean error, mm"], plots.since(zero), height=250, showlegend=False),
        f"{np.nanmean(mm):.2f} mm on average, {mm[worst]:.2f} mm at most, at {view.times_s[worst] - zero:.1f} s.",
    )


# --- space ------------------------------------------------------------------------------------------------------------


def scene(view: View) -> Figure | None:
    """Markers, frames, paths and wrenches in 3-D."""
    s = view.scene
    if s is None:
        return None
    solid = [s.markers, *(T[:3, 3][None] for T in s.frames.values()), *s.paths.values()]
    every = np.concatenate([*solid, *(p[None] for p in s.points.values())])
    every = 1e3 * every[np.isfinite(every).all(axis=1)]
    size = max(float(np.ptp(every, axis=0).max()) if len(every) else 0.0, 100.0)
    data: list[Json] = []
    if len(s.markers):
        style: Json = {"marker": {"size": 3, "color": DARK}, "text": list(s.marker_names), "hoverinfo": "text"}
        data.append(plots.in_space(1e3 * s.markers, "markers", "markers", **style))
    data += plots.frames_in_space(s.frames, 0.12 * size)
    stroke: Json = {"line": {"color": GREY, "width": 3}, "hoverinfo": "name"}
    data += [plots.in_space(1e3 * path, "lines", name, **stroke) for name, path in s.paths.items()]
    dot: Json = {"marker": {"size": 7, "color": COLOURS[4], "symbol": "diamond"}}
    data += [plots.in_space(1e3 * p[None], "markers", n, **dot) for n, p in s.points.items() if np.isfinite(p).all()]
    tips: list[FloatArray] = []
    words: list[str] = []
    for i, arrows in enumerate(s.arrows):
        drawn, ends, largest = _arrows(arrows, _ARROW * size, COLOURS[(1, 3, 0, 2)[i % 4]])
        data.append(drawn)
        if arrows.unit == "N":
            tips.append(ends)
            words.append(f"{arrows.name} up to {largest:.3g} N")
    corners, message = np.vstack([every, *tips]), "; ".join(words)
    if not len(corners):
        return None
    return Figure(
        f"Frames and wrenches, in the {s.frame} frame",
        "Turn it with the mouse. Axes are red x, green y, blue z. Forces should point where the person pushed, and "
        "frames sit where they do on the object; click a name in the legend to show or hide it.",
        tuple(data),
        plots.scene_layout(corners),
        f"{message[:1].upper()}{message[1:]}." if words else "",
    )


def _arrows(a: Arrows, longest: float, tint: str) -> tuple[Json, FloatArray, float]:
    """Lines from a point along a vector, moments hidden at first; their tips (mm) and the largest vector's length."""
    largest = float(np.linalg.norm(a.vectors, axis=1).max()) if len(a.vectors) else 0.0
    ends = 1e3 * a.at + a.vectors * (longest / largest if largest > 0 else 0.0)
    path = np.stack([1e3 * a.at, ends, np.full_like(ends, np.nan)], axis=1).reshape(-1, 3)
    text = [t for v in a.vectors for t in ("", f"{float(np.linalg.norm(v)):.3g} {a.unit}", "")]
    style: Json = {"line": {"color": tint, "width": 3}, "marker": {"size": [0, 3, 0] * len(ends), "color": tint}}
    style |= {"text": text, "hoverinfo": "text+name"} | ({} if a.unit == "N" else {"visible": "legendonly"})
    return plots.in_space(path, "lines+markers", f"{a.name}, {a.unit}", **style), ends, largest


# --- excitation -------------------------------------------------------------------------------------------------------


def excitation(data: Mapping[str, Any], view: View | None) -> tuple[Table, Figure] | None:
    """RMS of the motion along and about each axis: the numbers, and each beside the strongest axis of its kind."""
    sizes: Mapping[str, Mapping[str, float]] = data.get("excitation") or ({} if view is None else view.excitation)
    kinds = [k for k in _KINDS if k in sizes and max(sizes[k].values(), default=0.0) > 0]
    if not kinds:
        return None
    axes = list(sizes[kinds[0]])
    rows = tuple((_KINDS[k][0], *(f"{sizes[k][a]:.3g}" for a in axes), _KINDS[k][1]) for k in kinds)
    table = Table(("RMS in the train segments", *axes, "unit"), rows, words=(0, len(axes) + 1))
    share = {k: {a: 100 * sizes[k][a] / max(sizes[k].values()) for a in axes} for k in kinds}
    names = [_KINDS[k][0] for k in kinds]
    low = {k: min(axes, key=lambda a, k=k: share[k][a]) for k in kinds}
    words = ", ".join(f"{_KINDS[k][0]} {low[k]} ({share[k][low[k]]:.0f} % of the strongest axis)" for k in kinds)
    made = layout(["% of the strongest axis"], plots.x_title("") | {"type": "category"}, height=300)
    figure = Figure(
        "Motion along and about each axis",
        "An axis with little motion leaves the inertias about it to the prior. Gravity is part of the specific "
        "acceleration: an object that is turned over has all three axes alike.",
        tuple(
            plots.bars(names, [share[k][a] for k in kinds], a, COLOURS[(0, 2, 4)[i % 3]]) for i, a in enumerate(axes)
        ),
        made | {"barmode": "group", "bargap": 0.35, "legend": LEGEND_ABOVE},
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
    digits = 1 if main.unit == "rad" else 3
    rows: list[tuple[str, ...]] = []
    for word, which, _ in ways(view, main):
        at = inside & which
        if at.any():
            x, v = shown.factor * main.position[at], shown.factor * np.abs(main.speed[at])
            numbers = (f"{n:.{digits}f}" for n in (x.min(), x.max(), rms(v), v.max()))
            known = None if main.acceleration is None else main.acceleration[at & np.isfinite(main.acceleration)]
            a = "-" if known is None or not len(known) else f"{shown.factor * rms(known):.3g}"
            rows.append((word, f"{step * at.sum():.1f}", *numbers, a))
    u = shown.unit
    headings = ("train", "time, s", f"from, {u}", f"to, {u}", f"RMS speed, {u}/s", f"largest, {u}/s")
    return Table((*headings, f"RMS acceleration, {u}/s²"), tuple(rows)) if rows else None


def travel(view: View) -> Figure | None:
    """How long the object was where, and how fast it moved there: histograms for train and test."""
    main = view.main
    if main is None:
        return None
    shown, step = shown_in(main.unit), float(np.median(np.diff(view.times_s)))
    x_titles = [f"{plots.quantity(main.unit)}, {shown.unit}", f"speed, {shown.unit}/s"]
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
            more |= {"legendgroup": name, **plots.on_plot(i)}
            data.append(curve((edges[:-1] + edges[1:]) / 2, counts, name, colour, **more))
    return Figure(
        "Where the data are",
        "Both directions and all of the travel should be there, and test where train is: what was never visited is "
        "extrapolated.",
        tuple(data),
        plots.grid(["", ""], x_titles, "time, s", 180) | {"legend": LEGEND_ON_TOP},
    )
