"""Figures and tables about fit and data: residuals, kinds of uncertainty, the prior's weight; instruments, clocks,
markers, wrenches in space and excitation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import pi, sqrt
from typing import Any

import numpy as np

from palpate.experiment.view import Arrows, ClockEvidence, InstrumentSummary, View
from palpate.physics.arrays import BoolArray, FloatArray, rms
from palpate.report import plots
from palpate.report.model_plots import compared, directions, zone_borders
from palpate.report.page import Figure, Json, Table
from palpate.report.plots import (
    COLOURS,
    DARK,
    GREY,
    LEGEND_ABOVE,
    LEGEND_ON_TOP,
    Panel,
    axis_of,
    curve,
    layout,
    millimetres,
    on_plot,
    short,
    shown_in,
)

_LONGEST_S, _MOST_LAGS = 1.0, 200
BAND_99 = 2.5758293035489004
"""Standard deviations that hold 99 % of a normal distribution."""
_BINS = 61
_KINDS = (("noise", COLOURS[0]), ("pull", COLOURS[4]), ("systematic", COLOURS[3]))
_LEAST = 1e-3
"""Percent: smaller shares are drawn there."""
_SMALL = 1e-12
DEVICES = {"imu": "IMU", "wrench": "load cell", "wrench_2": "second load cell", "mocap": "motion capture"}
_EXCITED = {
    "acceleration": ("specific acceleration", "m/s²"),
    "angular_rate": ("angular rate", "rad/s"),
    "angular_acceleration": ("angular acceleration", "rad/s²"),
}
_ARROW = 0.45
"""Length of the longest arrow beside the size of the scene."""


# --- residuals --------------------------------------------------------------------------------------------------------


def autocorrelation(x: FloatArray, seen: BoolArray, times_s: FloatArray, lags: int) -> FloatArray:
    """(lags + 1,) of x where it was seen; pairs across a gap in time do not count (Box & Jenkins, 2.1.5)."""
    step = float(np.median(np.diff(times_s)))
    breaks = np.concatenate([[0], np.flatnonzero(np.diff(times_s) > 1.5 * step) + 1, [len(times_s)]])
    centred, count, total = np.where(seen, x - x[seen].mean(), 0.0), np.zeros(lags + 1), np.zeros(lags + 1)
    for a, b in pairwise(breaks.tolist()):
        size = 2 ** int(np.ceil(np.log2(b - a + lags + 1)))
        for y, into in ((centred[a:b], total), (seen[a:b].astype(float), count)):
            into += np.fft.irfft(np.abs(np.fft.rfft(y, size)) ** 2, size)[: lags + 1]
    mean = total / np.maximum(np.rint(count), 1)
    return mean / mean[0] if mean[0] > 0 else np.zeros(lags + 1)


def correlation(view: View) -> Figure | None:
    """Autocorrelation of each row's residual with the band in which 99 % of white noise stays."""
    seen = compared(view)
    if seen.sum() < 50:
        return None
    step = float(np.median(np.diff(view.times_s)))
    lags = min(_MOST_LAGS, round(_LONGEST_S / step), int(seen.sum()) // 4)
    left, limit, rows = view.reference - view.estimate, BAND_99 / sqrt(float(seen.sum())), view.model.mechanism.rows
    made = plots.grid([r.name for r in rows], ["lag, s"] * len(rows), "autocorrelation", 170)
    data: list[Json] = []
    shapes: list[Json] = []
    memory: list[float] = []
    outside: list[float] = []
    lag_s = step * np.arange(lags + 1, dtype=float)
    for i, row in enumerate(rows):
        r = autocorrelation(left[:, i], seen, view.times_s, lags)
        memory.append(float(lag_s[int(np.argmax(r < 0.5))]) if (r < 0.5).any() else float(lag_s[-1]))
        outside.append(float(np.mean(np.abs(r[1:]) > limit)))
        data.append(curve(lag_s, r, row.name, DARK, **on_plot(i), showlegend=False))
        place: Json = {"xref": f"{axis_of('x', i)} domain", "yref": axis_of("y", i), "y0": -limit, "y1": limit}
        shapes.append(plots.band(0, 1, COLOURS[0], 0.3) | place)
        made[axis_of("yaxis", i)] |= {"range": [min(-0.25, 1.1 * float(r.min())), 1.05]}
    worst = int(np.argmax(outside))
    return Figure(
        "Autocorrelation of the residual",
        "Shaded: the band in which 99 % of the values of white noise lie. A slow decay is drift or an effect that the "
        "model lacks; a wave is a resonance. Intervals of the parameters allow for it.",
        tuple(data),
        made | {"shapes": shapes},
        f"{100 * outside[worst]:.0f} % of the lags of {rows[worst].name} lie outside the band (1 % for white noise); "
        f"its correlation falls below one half after {memory[worst]:.2g} s.",
    )


def distribution(view: View) -> Figure | None:
    """Histogram of each row's residual with the normal curve of the same mean and standard deviation."""
    seen = compared(view)
    if seen.sum() < 50:
        return None
    rows = view.model.mechanism.rows
    made = plots.grid([r.name for r in rows], [f"residual, {r.unit}" for r in rows], "density", 170)
    data: list[Json] = []
    tails: list[float] = []
    for i in range(len(rows)):
        left = (view.reference - view.estimate)[seen, i]
        mean, std = float(left.mean()), float(left.std()) or 1e-12
        edges = mean + std * np.linspace(-4.5, 4.5, _BINS + 1)
        width = float(edges[1] - edges[0])
        counts, middle = np.histogram(left, edges)[0] / (len(left) * width), (edges[:-1] + edges[1:]) / 2
        tails.append(100 * float(np.mean(np.abs(left - mean) > BAND_99 * std)))
        more: Json = {"showlegend": i == 0, **on_plot(i)}
        heights, places = plots.packed(counts), plots.packed(middle, "f8")
        data.append(plots.bars(places, heights, "residual", COLOURS[5], width=width, legendgroup="residual", **more))
        x = mean + std * np.linspace(-4.5, 4.5, 121)
        normal = np.exp(-0.5 * ((x - mean) / std) ** 2) / (std * sqrt(2 * pi))
        data.append(curve(x, normal, "normal curve", DARK, width=1.8, legendgroup="normal", **more))
    worst = int(np.argmax(tails))
    return Figure(
        "Distribution of the residual",
        "Bars should follow the curve. Heavy tails are knocks or an effect that acts at times; two humps are dry "
        "friction with a wrong level; a shift is a wrong zero.",
        tuple(data),
        made | {"legend": LEGEND_ON_TOP, "bargap": 0},
        f"{tails[worst]:.1f} % of the residuals of {rows[worst].name} lie beyond ±2.58 standard deviations; of a "
        "normal distribution it would be 1.0 %.",
    )


def zones(view: View) -> Table | None:
    """Mean and RMS of the residual in each zone of the travel, forth and back."""
    main = view.main
    if main is None:
        return None
    shown = plots.shown_in(main.unit)
    seen = compared(view) & np.isfinite(main.position) & np.isfinite(main.speed)
    low, high = (float(f(main.position[seen])) for f in (np.min, np.max)) if seen.any() else (0.0, 0.0)
    places = sorted({round(b.place, 6) for b in zone_borders(view)})
    edges = [low, *(p for p in places if low < p < high), high]
    if not high > low:
        return None
    step, digits = float(np.median(np.diff(view.times_s))), 1 if main.unit == "rad" else 3
    rows: list[tuple[str, ...]] = []
    for a, b in pairwise(edges):
        inside = seen & (main.position >= a) & (main.position <= b)
        zone = f"{shown.factor * a:.{digits}f} … {shown.factor * b:.{digits}f}"
        for word, which, _ in directions(view, main):
            time = f"{step * (inside & which).sum():.1f}"
            rows += [
                (zone, word, name, time, f"{mean:+.3f}", f"{size:.3f}", unit)
                for name, mean, size, unit in _sizes(view, inside & which)
            ]
    headings = (f"zone, {shown.unit}", "direction", "channel", "time, s", "mean", "RMS", "unit")
    note = "A mean that is not small beside the RMS is an effect that the model lacks in that zone."
    return Table(headings, tuple(rows), "Residual by zone", (0, 1, 2, 6), note=note)


def by_segment(view: View) -> Table | None:
    """Mean and RMS of the residual in each segment."""
    seen = compared(view)
    rows = tuple(
        (name.replace("_", "-"), f"{a:.1f} … {b:.1f}", channel, f"{mean:+.3g}", f"{size:.3g}", unit)
        for name in ("quasi_static", "train", "test")
        for a, b in view.segments.get(name, ())
        for channel, mean, size, unit in _sizes(view, seen & (view.times_s >= a) & (view.times_s < b))
    )
    headings = ("segment", "from … to, s", "channel", "mean", "RMS", "unit")
    return Table(headings, rows, "Residual by segment", (0, 2, 5)) if rows else None


def _sizes(view: View, inside: BoolArray) -> Iterator[tuple[str, float, float, str]]:
    """Name, mean, RMS and unit of each row's residual; nothing where there are hardly any samples."""
    for i, row in enumerate(view.model.mechanism.rows if inside.sum() >= 5 else ()):
        left = (view.reference - view.estimate)[inside, i]
        yield row.name, float(left.mean()), rms(left), row.unit


# --- uncertainty and prior --------------------------------------------------------------------------------------------


def uncertainties(data: Mapping[str, Any]) -> Figure | None:
    """Noise, pull of the prior and systematic error of each parameter, beside its value."""
    entries: dict[str, Any] = {
        n: e
        for n, e in data["parameters"].items()
        if e["status"] != "fixed" and e["value"] and e.get("noise") is not None
    }
    names = list(entries)
    shares = {
        kind: np.array([196.0 * abs(e.get(kind) or 0.0) / abs(e["value"]) for e in entries.values()])
        for kind, _ in _KINDS
    }
    drawn = {kind: np.maximum(share, _LEAST) for kind, share in shares.items() if (share > _LEAST).any()}
    if not drawn:
        return None
    size, name, kind = max((float(s.max()), names[int(s.argmax())], kind) for kind, s in drawn.items())
    every = np.concatenate(list(drawn.values()))
    made = plots.layout([""], plots.x_title("± 95 %, in percent of the value"), height=110 + 30 * len(names))
    made["xaxis"] |= plots.log_scale(float(every.min()), float(every.max()))
    made["yaxis"] |= {"autorange": "reversed", "type": "category"}
    # what nobody declared is not zero
    undeclared = " Systematic is not declared (uncertain: in the experiment file): unknown, not zero."
    return Figure(
        "Three kinds of uncertainty",
        "Noise and pull (a prior that is off by its declared spread) are inside the 95 % interval; systematic is what "
        "the declared errors of geometry, clock, scale and mass would do, and stands beside it."
        + ("" if any(e.get("systematic") for e in data["parameters"].values()) else undeclared),
        tuple(
            plots.bars(plots.packed(drawn[kind]), names, kind, colour, orientation="h")
            for kind, colour in _KINDS
            if kind in drawn
        ),
        made | {"barmode": "group", "bargap": 0.35, "legend": LEGEND_ABOVE},
        f"The largest: {name}, ± {short(size)} % from {kind}.",
    )


def damping_curve(data: Mapping[str, Any]) -> Figure | None:
    """Condition number, misfit and distance from the prior over lambda, and the lambda that was used."""
    entries = [p for p in data.get("damping_curve") or () if p["kappa_eff"] is not None]
    if len(entries) < 3 or not all(np.isfinite(v) for p in entries for v in p.values() if v is not None):
        return None
    lam, kappa, misfit, distance = (
        np.array([p[k] for p in entries], dtype=float) for k in ("damping", "kappa_eff", "misfit", "distance")
    )
    excess = np.maximum(100 * (misfit / max(float(misfit.min()), _SMALL) - 1), 1e-4)
    rows = {"kappa_eff": kappa, "misfit, + %": excess, "distance": distance}
    panels = [
        Panel(name, (curve(lam, y, name, DARK if i else COLOURS[0], showlegend=False),))
        for i, (name, y) in enumerate(rows.items())
    ]
    scales = {
        i: plots.log_scale(max(float(y[y > 0].min()), 1e-4), float(y.max()))
        for i, y in enumerate(rows.values())
        if (y > 0).any()
    }
    used, implied = float(data.get("damping") or 0.0), data.get("damping_implies_std")
    shape, label = plots.upright(used, f"used: {used:.3g}", log=True) if used > 0 else ({}, {})
    words = f", which takes the prior to be off by {implied:.3g} (standard deviation)" if implied is not None else ""
    return plots.stacked(
        "The prior's weight",
        "Condition number, misfit above the least, and distance from the prior: to the left the data decide, to the "
        "right the prior. The lambda that is used should stand where the misfit has not begun to rise and kappa_eff is "
        "below 100 (dashed).",
        panels,
        plots.x_title("lambda") | plots.log_scale(float(lam.min()), float(lam.max())),
        f"Lambda is {used:.3g}{words}." if used else "No prior was used: lambda is 0.",
        height=480,
        y=scales,
        showlegend=False,
        shapes=[*([shape] if used else []), plots.level(100, 0)],
        annotations=[label] if used else [],
    )


def conditioning_table(data: Mapping[str, Any]) -> Table | None:
    """Condition numbers, of the data alone and with the prior."""
    if "kappa" not in data:
        return None

    def number(key: str) -> str:
        return "infinite" if data.get(key) is None else f"{data[key]:.1f}"

    rows = [("kappa", number("kappa"), "of the data alone; below 100 is good")]
    if data.get("damping"):
        rows += [
            ("lambda", f"{data['damping']:.4g}", f"weight of the prior ({data.get('factor', 'UtU')})"),
            ("kappa_eff", number("kappa_eff"), "with the prior"),
            ("kappa_eff, as published", number("kappa_eff_paper"), "as the paper's authors compute it"),
        ]
    return Table(("conditioning", "value", "meaning"), tuple(rows), words=(0, 2))


def weakest_table(data: Mapping[str, Any]) -> Table | None:
    """By how much each parameter changes along the direction that the data hold least."""
    weakest: Mapping[str, Any] = data.get("weakest_direction") or {}
    changes: Mapping[str, float] = weakest.get("changes") or {}
    sizes = {n: abs(data["parameters"][n]["value"] or 0.0) for n in changes if n in data["parameters"]}
    most = sorted(sizes, key=lambda n: -abs(changes[n]) / max(sizes[n], 1e-3))[:6]
    rows = tuple((n, f"{changes[n]:+.2g}", plots.unit_text(data["parameters"][n]["unit"])) for n in most)
    return Table(("weakest direction", "change (1 σ)", "unit"), rows, words=(0, 2)) if rows else None


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
    kinds = [k for k in _EXCITED if k in sizes and max(sizes[k].values(), default=0.0) > 0]
    if not kinds:
        return None
    axes = list(sizes[kinds[0]])
    rows = tuple((_EXCITED[k][0], *(f"{sizes[k][a]:.3g}" for a in axes), _EXCITED[k][1]) for k in kinds)
    table = Table(("RMS in the train segments", *axes, "unit"), rows, words=(0, len(axes) + 1))
    share = {k: {a: 100 * sizes[k][a] / max(sizes[k].values()) for a in axes} for k in kinds}
    names = [_EXCITED[k][0] for k in kinds]
    low = {k: min(axes, key=lambda a, k=k: share[k][a]) for k in kinds}
    words = ", ".join(f"{_EXCITED[k][0]} {low[k]} ({share[k][low[k]]:.0f} % of the strongest axis)" for k in kinds)
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


def ways_table(view: View) -> Table | None:
    """How long and how fast the object was moved either way, in the train segments."""
    main = view.main
    if main is None:
        return None
    shown, step = shown_in(main.unit), float(np.median(np.diff(view.times_s)))
    inside = view.within("train", "quasi_static") & view.used & np.isfinite(main.position) & np.isfinite(main.speed)
    digits = 1 if main.unit == "rad" else 3
    rows: list[tuple[str, ...]] = []
    for word, which, _ in directions(view, main):
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
