"""Figures and tables about fit and data: residuals, kinds of uncertainty, the prior's weight; instruments, clocks,
wrenches in space and excitation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import pi, sqrt
from typing import Any

import numpy as np

from palpate.experiment.stage.view import CoordinateSeries, Scene, View
from palpate.experiment.tables import device_word, half_width
from palpate.motion.offset import Offset
from palpate.physics.arrays import BoolArray, FloatArray, rms
from palpate.physics.units import quantity, shown_in
from palpate.report import plots
from palpate.report.model_plots import compared, directions
from palpate.report.page import Figure, Json
from palpate.report.plots import COLOURS, DARK, GREY, Panel, curve, short
from palpate.tables import Table, table

_LONGEST_S, _MOST_LAGS = 1.0, 200
BAND_99 = 2.5758293035489004
"""Standard deviations that hold 99 % of a normal distribution."""
_BINS = 61
_KINDS = (("noise", COLOURS[0]), ("pull", COLOURS[4]), ("systematic", COLOURS[3]), ("model", COLOURS[1]))
_LEAST = 1e-3
"""Percent: smaller shares are drawn there."""
_SMALL = 1e-12
_MOST_EFFECTS = 10
_EXCITED = {
    "acceleration": ("specific acceleration", "m/s²"),
    "angular_rate": ("angular rate", "rad/s"),
    "angular_acceleration": ("angular acceleration", "rad/s²"),
}
_RMS = "RMS in the train segments"
_ARROW = 0.45
"""Length of the longest arrow beside the size of the scene."""


# --- residuals --------------------------------------------------------------------------------------------------------


def lagged(x: FloatArray, y: FloatArray, used: BoolArray, times_s: FloatArray, lags: int) -> FloatArray:
    """(lags + 1,): correlation of x with an earlier y where both are used; pairs across a gap in time do not count (Box
    & Jenkins, 2.1.5 and 11.1.2).
    """
    step = float(np.median(np.diff(times_s)))
    breaks = np.concatenate([[0], np.flatnonzero(np.diff(times_s) > 1.5 * step) + 1, [len(times_s)]])
    one, other = (np.where(used, z - z[used].mean(), 0.0) for z in (x, y))
    count, total, there = np.zeros(lags + 1), np.zeros(lags + 1), used.astype(float)
    for a, b in pairwise(breaks.tolist()):
        size = 2 ** int(np.ceil(np.log2(b - a + lags + 1)))
        for late, early, into in ((one, other, total), (there, there, count)):
            product = np.fft.rfft(late[a:b], size) * np.conj(np.fft.rfft(early[a:b], size))
            into += np.fft.irfft(product, size)[: lags + 1]
    scale = float(np.sqrt(np.mean(one[used] ** 2) * np.mean(other[used] ** 2)))
    return total / np.maximum(np.rint(count), 1) / scale if scale > 0 else np.zeros(lags + 1)


def correlation(view: View) -> Figure | None:
    """Correlation of each row's residual with itself and with the wrench before it, and the band in which 99 % of white
    noise stays.
    """
    used = compared(view)
    if used.sum() < 50:
        return None
    step = float(np.median(np.diff(view.times_s)))
    lags = min(_MOST_LAGS, round(_LONGEST_S / step), int(used.sum()) // 4)
    left, limit, rows = view.reference - view.estimate, BAND_99 / sqrt(float(used.sum())), view.model.mechanism.rows
    each = [lagged(left[:, i], left[:, i], used, view.times_s, lags) for i in range(len(rows))]
    input_ = [lagged(left[:, i], view.estimate[:, i], used, view.times_s, lags) for i in range(len(rows))]
    lag_s, panels = step * np.arange(lags + 1, dtype=float), list[Panel]()
    shade = plots.band(-limit, limit, COLOURS[0], 0.3, axis="y")
    for row, r, w in zip(rows, each, input_, strict=True):
        scale = {"range": [min(-0.25, 1.1 * float(min(r.min(), w.min()))), 1.05]}
        data = (curve(lag_s, r, "with itself", DARK), curve(lag_s, w, "with the wrench before", COLOURS[1]))
        panels.append(Panel("correlation", data, (shade,), scale, plots.x_title("lag, s"), row.name))
    outside = [float(np.mean(np.abs(r[1:]) > limit)) for r in each]
    worst = int(np.argmax(outside))
    low = each[worst] < 0.5
    memory = lag_s[int(np.argmax(low))] if low.any() else lag_s[-1]
    return plots.figure(
        "Correlation of the residual",
        "Shaded: the band in which 99 % of the values of white noise lie. A slow decay is drift or an effect that the "
        "model lacks; a wave is a resonance. Correlation with the earlier wrench is an effect that the model lacks: a "
        "lag, a compliance, a memory. Intervals of the parameters allow for both.",
        panels,
        message=f"{100 * outside[worst]:.0f} % of the lags of {rows[worst].name} lie outside the band (1 % for white "
        f"noise); its correlation falls below one half after {memory:.2g} s.",
    )


def distribution(view: View) -> Figure | None:
    """Histogram of each row's residual with the normal curve of the same mean and standard deviation."""
    used = compared(view)
    if used.sum() < 50:
        return None
    rows, panels, tails = view.model.mechanism.rows, list[Panel](), list[float]()
    for i, row in enumerate(rows):
        left = (view.reference - view.estimate)[used, i]
        mean, std = float(left.mean()), float(left.std()) or 1e-12
        edges = mean + std * np.linspace(-4.5, 4.5, _BINS + 1)
        width = float(edges[1] - edges[0])
        counts, middle = np.histogram(left, edges)[0] / (len(left) * width), (edges[:-1] + edges[1:]) / 2
        tails.append(100 * float(np.mean(np.abs(left - mean) > BAND_99 * std)))
        heights, places = plots.packed(counts), plots.packed(middle, "f8")
        x = mean + std * np.linspace(-4.5, 4.5, 121)
        normal = np.exp(-0.5 * ((x - mean) / std) ** 2) / (std * sqrt(2 * pi))
        data = (
            plots.bars(places, heights, "residual", COLOURS[5], width=width),
            curve(x, normal, "normal curve", DARK, width=1.8),
        )
        panels.append(Panel("density", data, x=plots.x_title(f"residual, {row.unit}"), heading=row.name))
    worst = int(np.argmax(tails))
    return plots.figure(
        "Distribution of the residual",
        "Bars should follow the curve. Heavy tails are knocks or an effect that acts at times; two humps are dry "
        "friction with a wrong level; a shift is a wrong zero.",
        panels,
        message=f"{tails[worst]:.1f} % of the residuals of {rows[worst].name} lie beyond ±2.58 standard deviations; "
        "for a normal distribution it would be 1.0 %.",
        bargap=0,
    )


# --- uncertainty and prior --------------------------------------------------------------------------------------------


def uncertainties(data: Mapping[str, Any]) -> Figure | None:
    """The parts of each parameter's interval, beside its value."""
    parameters: dict[str, Any] = data["parameters"]
    known = [n for n, e in parameters.items() if e["status"] != "fixed" and e["value"] and e.get("noise") is not None]
    drawn, bars = dict[str, FloatArray](), list[Json]()
    for kind, colour in _KINDS:
        share = np.array([100 * half_width(e, kind) / abs(e["value"]) for e in (parameters[n] for n in known)])
        if (share > _LEAST).any():
            drawn[kind] = np.maximum(share, _LEAST)
            style: Json = {"orientation": "h", "showlegend": True}
            bars.append(plots.bars(plots.packed(drawn[kind]), known, kind, colour, **style))
    if not drawn:
        return None
    size, name, kind = max((float(s.max()), known[int(s.argmax())], kind) for kind, s in drawn.items())
    every = np.concatenate(list(drawn.values()))
    # what nobody declared is not zero
    undeclared = " Systematic is not declared (uncertain: in the experiment file): unknown, not zero."
    return plots.figure(
        "What the intervals are made of",
        "Noise; pull, of a prior that is off by its declared spread; systematic, what the declared errors of geometry, "
        "clock, scale and mass would do; model, what effects missing from the model would change."
        + ("" if any(e.get("systematic") for e in parameters.values()) else undeclared),
        [Panel("", tuple(bars), y={"autorange": "reversed", "type": "category"})],
        plots.x_title("± 95 %, in percent of the value") | plots.log_scale(float(every.min()), float(every.max())),
        f"The largest: {name}, ± {short(size)} % from {kind}.",
        height=110 + 30 * len(known),
        barmode="group",
        bargap=0.35,
    )


def lack_table(data: Mapping[str, Any]) -> Table:
    """What is left in the band of the fit, beside what the instruments' noise leaves."""
    lack: Mapping[str, Any] = data.get("lack_of_fit") or {"rows": {}}
    rows: Mapping[str, Mapping[str, Any]] = lack["rows"]
    records = (
        {"row": n, "left": short(e["left"]), "noise of the instruments": short(e["noise"]), "unit": e["unit"]}
        | {"times": short(e["left"] / e["noise"]) if e["noise"] else "-"}
        for n, e in rows.items()
    )
    note = "RMS in the band of the fit; the noise is what noise of the measured level leaves after the same filters."
    return table(records, note=note)


def effects(data: Mapping[str, Any]) -> Figure | None:
    """Which effects would explain what is left, each alone."""
    lack: Mapping[str, Any] = data.get("lack_of_fit") or {"effects": []}
    tested: list[dict[str, Any]] = lack["effects"]
    best: dict[str, dict[str, Any]] = {}
    for e in tested:  # one of several widths or speeds: the best comes first
        best.setdefault(f"{e['cause']} ({e['place']})" if e["place"] else e["cause"], e)
    shown = list(best.items())[:_MOST_EFFECTS]
    if not shown:
        return None
    share = np.array([100 * e["share"] for _, e in shown])
    bars = plots.bars(plots.packed(share), [name for name, _ in shown], "share", COLOURS[0], orientation="h")
    name, first = shown[0]
    return plots.figure(
        "What the model may lack",
        "Each bar is the share of what is left that one effect would explain, were it added to the model. A long bar "
        "names what is missing; where noise is all that is left, every bar is short.",
        [Panel("", (bars,), y={"autorange": "reversed", "type": "category"})],
        plots.x_title("share of what is left, percent"),
        f"The most: {name}, {short(100 * first['share'])} %.",
        height=110 + 26 * len(shown),
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
    panels: list[Panel] = []
    for i, (name, y) in enumerate(rows.items()):
        scale = plots.log_scale(max(float(y[y > 0].min()), 1e-4), float(y.max())) if (y > 0).any() else {}
        marks = () if i else (plots.level(100),)
        panels.append(Panel(name, (curve(lam, y, name, DARK if i else COLOURS[0]),), marks, scale))
    used, implied = float(data.get("damping") or 0.0), data.get("damping_implies_std")
    words = f", which takes the prior to be off by {implied:.3g} (standard deviation)" if implied is not None else ""
    return plots.figure(
        "The prior's weight",
        "Condition number, misfit above its minimum, and distance from the prior: to the left the data decide, to the "
        "right the prior. The lambda used should lie where the misfit has not begun to rise and kappa_eff is "
        "below 100 (dashed).",
        panels,
        plots.x_title("lambda") | plots.log_scale(float(lam.min()), float(lam.max())),
        f"Lambda is {used:.3g}{words}." if used else "No prior was used: lambda is 0.",
        marks=[plots.upright(used, f"used: {used:.3g}")] if used > 0 else (),
    )


def clock_figure(name: str, clock: Offset) -> Figure:
    """The unexplained share of the variance around the estimated offset."""
    # the grid of lags seldom meets the best one
    lags = np.append(1e3 * (clock.lags_s - clock.value_s), 0.0)
    order = np.argsort(lags)
    share = 100 * np.append(clock.misfit, 1 - clock.explained)[order]
    half, low, high = 1.96e3 * clock.std_s, float(np.nanmin(share)), float(np.nanmax(share))
    scale = plots.log_scale(low, high) if high > 20 * low > 0 else {}
    valley = [plots.band(-half, half, COLOURS[1], 0.4)] if np.isfinite(half) else []
    data = (curve(lags[order], share, "unexplained", mode="lines+markers"),)
    return plots.figure(
        f"Clock of the {device_word(name)}",
        "There should be one clear valley at zero; the 95 % interval is shaded and often narrower than the line.",
        [Panel("unexplained, %", data, y=scale)],
        plots.x_title("lag from the estimated offset, ms"),
        f"At the estimated offset {100 * clock.explained:.2f} % of the signal is explained, at the best lag elsewhere "
        f"{100 * clock.runner_up:.0f} %; ±\u00a0{half:.2g}\u00a0ms.",
        marks=[plots.upright(0.0), *valley],
        height=280,
    )


# --- space ------------------------------------------------------------------------------------------------------------


def scene(s: Scene) -> Figure | None:
    """Markers, frames, paths and wrenches in 3-D; markers have their names where there are no wrenches."""
    solid = [s.markers, *(T[:3, 3][None] for T in s.frames.values()), *s.paths.values()]
    every = np.concatenate([*solid, *(p[None] for p in s.points.values())])
    corners = [1e3 * every[np.isfinite(every).all(axis=1)]]
    size = max(float(np.ptp(corners[0], axis=0).max(initial=0.0)) if len(corners[0]) else 0.0, 100.0)
    data, words = list[Json](), list[str]()
    moves: Json = {"moves": s.motion is not None}
    if len(s.markers):
        style: Json = {"marker": {"size": 3, "color": DARK}, "text": list(s.marker_names), "hoverinfo": "text"}
        style["meta"] = moves
        data.append(plots.in_space(1e3 * s.markers, "markers" if s.arrows else "markers+text", "markers", **style))
    if len(s.outline):
        ends = np.insert(1e3 * s.outline, 2, np.nan, axis=1).reshape(-1, 3)
        style = {"line": {"color": plots.PALE, "width": 1}, "hoverinfo": "name", "meta": moves}
        data.append(plots.in_space(ends, "lines", "outline, of typical size", **style))
        corners.append(1e3 * s.outline.reshape(-1, 3))
    for name, T in s.frames.items():
        for i, colour in enumerate(plots.AXIS_COLOURS):
            ends = 1e3 * T[:3, 3] + np.array([[0.0], [0.12 * size]]) * T[:3, i]
            style = {"line": {"color": colour, "width": 6}, "textfont": {"color": "#333", "size": 12}}
            style |= {"text": ["", name if i == 2 else ""], "hoverinfo": "text", "hovertext": f"{name} {'xyz'[i]}"}
            style["meta"] = moves
            data.append(plots.in_space(ends, "lines+text", **style))
    stroke: Json = {"line": {"color": GREY, "width": 3}, "hoverinfo": "name"}
    data += [plots.in_space(1e3 * path, "lines", name, **stroke) for name, path in s.paths.items()]
    dot: Json = {"marker": {"size": 7, "color": COLOURS[4], "symbol": "diamond"}}
    data += [plots.in_space(1e3 * p[None], "markers", n, **dot) for n, p in s.points.items() if np.isfinite(p).all()]
    for i, a in enumerate(s.arrows):  # lines from a point along a vector, moments hidden at first
        sizes, tint = np.linalg.norm(a.vectors, axis=1), COLOURS[(1, 3, 0, 2)[i % 4]]
        largest = float(sizes.max(initial=0.0))
        ends = 1e3 * a.at + a.vectors * (_ARROW * size / largest if largest > 0 else 0.0)
        path = np.stack([1e3 * a.at, ends, np.full_like(ends, np.nan)], axis=1).reshape(-1, 3)
        style = {"line": {"color": tint, "width": 3}, "marker": {"size": [0, 3, 0] * len(ends), "color": tint}}
        style |= {"text": [t for v in sizes for t in ("", f"{v:.3g} {a.unit}", "")], "hoverinfo": "text+name"}
        style |= {} if a.unit == "N" else {"visible": "legendonly"}
        data.append(plots.in_space(path, "lines+markers", f"{a.name}, {a.unit}", **style))
        if a.unit == "N":
            corners.append(ends)
            words.append(f"{a.name} up to {largest:.3g} N")
    message = "; ".join(words)
    look_for = "Turn it with the mouse or the arrow keys: markers and frames should sit as on the object. "
    look_for += "Axes: red x, green y, blue z."
    if s.arrows:
        look_for += " Forces should point where the person pushed; click a name in the legend to show or hide it."
    if s.motion is not None and len(corners[0]):  # all of its way in sight
        corners.append(corners[0].mean(axis=0) @ s.motion.rotation.transpose(0, 2, 1) + 1e3 * s.motion.position)
    layout = plots.scene_layout(np.vstack(corners))
    if s.motion is not None:
        poses = np.hstack([s.motion.rotation.reshape(-1, 9), 1e3 * s.motion.position])
        times = plots.packed(s.motion.times_s, "f8")
        layout["meta"] = {"times": times, "poses": plots.packed(poses.ravel()), "at": s.at_s}
        look_for += " Play shows how it moved."
    return Figure(
        f"Frames and wrenches, in the {s.frame} frame" if s.arrows else "The markers on the body",
        look_for,
        tuple(data),
        layout,
        f"{message[:1].upper()}{message[1:]}." if words else "",
    )


# --- excitation -------------------------------------------------------------------------------------------------------


def excitation(data: Mapping[str, Any]) -> Table:
    """RMS of the motion along and about each axis, and the weakest axis of each kind."""
    sizes: Mapping[str, Mapping[str, float]] = data.get("excitation") or {}
    kinds = {k: words for k, words in _EXCITED.items() if k in sizes and max(sizes[k].values(), default=0.0) > 0}
    weakest, records = list[str](), list[dict[str, str]]()
    for kind, (word, unit) in kinds.items():
        each = sizes[kind]
        low = min(each, key=lambda axis: each[axis])
        weakest.append(f"{word} {low} ({100 * each[low] / max(each.values()):.0f} % of the strongest axis)")
        records.append({_RMS: word, **{axis: f"{v:.3g}" for axis, v in each.items()}, "unit": unit})
    note = (
        f"Weakest: {', '.join(weakest)}. An axis with little motion leaves the inertias about it to the prior. Gravity "
    )
    note += "is part of the specific acceleration: an object that is turned over has all three axes alike."
    return table(records, note=note)


def travel(view: View, main: CoordinateSeries) -> Iterator[Table | Figure]:
    """How long and how fast the object was moved either way in the train segments; histograms of where it was and how
    fast it moved there, for train and test.
    """
    shown, step, rows = shown_in(main.unit), float(np.median(np.diff(view.times_s))), list[tuple[str, ...]]()
    digits, u, positions, speeds = 1 if main.unit == "rad" else 3, shown.unit, main.position, main.speed
    used = view.used & np.isfinite(positions) & np.isfinite(speeds)
    train, test = (used & view.within(*names) for names in (("train", "quasi_static"), ("test",)))
    for word, which, _ in directions(view, main):
        at = train & which
        if at.any():
            x, v = shown.factor * positions[at], shown.factor * np.abs(speeds[at])
            numbers = (f"{n:.{digits}f}" for n in (x.min(), x.max(), rms(v), v.max()))
            known = None if main.acceleration is None else main.acceleration[at & np.isfinite(main.acceleration)]
            a = "-" if known is None or not len(known) else f"{shown.factor * rms(known):.3g}"
            rows.append((word, f"{step * at.sum():.1f}", *numbers, a))
    headings = ("train", "time, s", f"from, {u}", f"to, {u}", f"RMS speed, {u}/s", f"largest, {u}/s")
    yield table(rows, (*headings, f"RMS acceleration, {u}/s²"))
    panels: list[Panel] = []
    for si, title in ((positions, f"{quantity(main.unit)}, {u}"), (speeds, f"speed, {u}/s")):
        x, data = shown.factor * si, list[Json]()
        if not used.any() or not x[used].min() < x[used].max():
            return
        low, high = (float(v) for v in np.quantile(x[used], (0.002, 0.998)))
        edges = np.linspace(low, high, 41)
        for name, colour, inside in (("train", COLOURS[0], train), ("test", COLOURS[1], test)):
            stroke: Json = {"line": {"color": colour, "shape": "hvh", "width": 1.8}}
            counts = step * np.histogram(x[inside], edges)[0]
            data.append(curve((edges[:-1] + edges[1:]) / 2, counts, name, colour, **stroke))
        panels.append(Panel("time, s", tuple(data), x=plots.x_title(title)))
    say = "Both directions and the whole travel should be covered, by train and test data alike: the rest is "
    yield plots.figure("Where the data are", f"{say}extrapolated.", panels)
