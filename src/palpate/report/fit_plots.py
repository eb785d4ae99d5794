"""Figures and tables about the fit: residuals, kinds of uncertainty, the prior's weight, the weakest direction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import pi, sqrt
from typing import Any

import numpy as np

from palpate.experiment.view import View
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.report.model_plots import compared, zone_borders
from palpate.report.page import Figure, Json, Table
from palpate.report.plots import (
    COLOURS,
    DARK,
    LEGEND_ABOVE,
    axis_of,
    band,
    curve,
    grid,
    layout,
    log_scale,
    on_plot,
    packed,
    short,
    shown_in,
    unit_text,
    upright,
    x_title,
)

_LONGEST_S, _MOST_LAGS = 1.0, 200
BAND_99 = 2.5758293035489004
"""Standard deviations that hold 99 % of a normal distribution."""
_BINS = 61


def autocorrelation(x: FloatArray, seen: BoolArray, times_s: FloatArray, lags: int) -> FloatArray:
    """(lags + 1,) of x where it was seen; pairs across a gap in time do not count (Box & Jenkins, 2.1.5)."""
    step = float(np.median(np.diff(times_s)))
    breaks = np.concatenate([[0], np.flatnonzero(np.diff(times_s) > 1.5 * step) + 1, [len(times_s)]])
    centred, count, total = np.where(seen, x - x[seen].mean(), 0.0), np.zeros(lags + 1), np.zeros(lags + 1)
    for a, b in zip(breaks[:-1].tolist(), breaks[1:].tolist(), strict=True):
        size = 2 ** int(np.ceil(np.log2(b - a + lags + 1)))
        for y, into in ((centred[a:b], total), (seen[a:b].astype(float), count)):
            spectrum = np.fft.rfft(y, size)
            into += np.fft.irfft(np.abs(spectrum) ** 2, size)[: lags + 1]
    mean = total / np.maximum(np.rint(count), 1)
    return mean / mean[0] if mean[0] > 0 else np.zeros(lags + 1)


def correlation(view: View) -> Figure | None:
    """Autocorrelation of each row's residual with the band in which 99 % of white noise stays."""
    seen = compared(view)
    if seen.sum() < 50:
        return None
    step = float(np.median(np.diff(view.times_s)))
    lags = min(_MOST_LAGS, round(_LONGEST_S / step), int(seen.sum()) // 4)
    left = view.reference - view.estimate
    limit = BAND_99 / sqrt(float(seen.sum()))
    rows = view.model.mechanism.rows
    made = grid([r.name for r in rows], ["lag, s"] * len(rows), "autocorrelation", 170)
    data: list[Json] = []
    shapes: list[Json] = []
    memory: list[float] = []
    outside: list[float] = []
    lag_s = step * np.arange(lags + 1, dtype=float)
    for i in range(len(rows)):
        r = autocorrelation(left[:, i], seen, view.times_s, lags)
        memory.append(float(lag_s[int(np.argmax(r < 0.5))]) if (r < 0.5).any() else float(lag_s[-1]))
        outside.append(float(np.mean(np.abs(r[1:]) > limit)))
        data.append(curve(lag_s, r, rows[i].name, DARK, **on_plot(i), showlegend=False))
        shapes.append(_wide_band(limit, i))
        made[axis_of("yaxis", i)] |= {"range": [min(-0.25, 1.1 * float(r.min())), 1.05]}
    worst = int(np.argmax(outside))
    message = (
        f"{100 * outside[worst]:.0f} % of the lags of {rows[worst].name} lie outside the band (1 % for white noise); "
        f"its correlation falls below one half after {memory[worst]:.2g} s."
    )
    return Figure(
        "Autocorrelation of the residual",
        "Shaded: the band in which 99 % of the values of white noise lie. A slow decay is drift or an effect that the "
        "model lacks; a wave is a resonance. Intervals of the parameters allow for it.",
        tuple(data),
        made | {"shapes": shapes},
        message,
    )


def distribution(view: View) -> Figure | None:
    """Histogram of each row's residual with the normal curve of the same mean and standard deviation."""
    seen = compared(view)
    if seen.sum() < 50:
        return None
    rows = view.model.mechanism.rows
    made = grid([r.name for r in rows], [f"residual, {r.unit}" for r in rows], "density", 170)
    data: list[Json] = []
    tails: list[float] = []
    for i, row in enumerate(rows):
        left = (view.reference - view.estimate)[seen, i]
        mean, std = float(left.mean()), float(left.std()) or 1e-12
        edges = mean + std * np.linspace(-4.5, 4.5, _BINS + 1)
        counts = np.histogram(left, edges)[0] / (len(left) * (edges[1] - edges[0]))
        middle = (edges[:-1] + edges[1:]) / 2
        tails.append(100 * float(np.mean(np.abs(left - mean) > BAND_99 * std)))
        data.append(_bars(middle, counts, "residual", i, float(edges[1] - edges[0])))
        x = mean + std * np.linspace(-4.5, 4.5, 121)
        normal = np.exp(-0.5 * ((x - mean) / std) ** 2) / (std * sqrt(2 * pi))
        style: Json = {"line": {"color": DARK, "width": 1.8}, "legendgroup": "normal", "showlegend": i == 0}
        data.append(curve(x, normal, "normal curve", DARK, **on_plot(i), **style))
        made[axis_of("xaxis", i)] |= {"title": {"text": f"residual, {row.unit}", "standoff": 8}}
    worst = int(np.argmax(tails))
    what = f"{tails[worst]:.1f} % of the residuals of {rows[worst].name} lie beyond ±2.58 standard deviations"
    return Figure(
        "Distribution of the residual",
        "Bars should follow the curve. Heavy tails are knocks or an effect that acts at times; two humps are dry "
        "friction with a wrong level; a shift is a wrong zero.",
        tuple(data),
        made | {"legend": {"orientation": "h", "x": 0, "y": 1, "yref": "container", "yanchor": "top"}, "bargap": 0},
        f"{what}; of a normal distribution it would be 1.0 %.",
    )


def zones(view: View) -> Table | None:
    """Mean and RMS of the residual in each zone of the travel, opening and closing."""
    main = view.main
    if main is None:
        return None
    shown = shown_in(main.unit)
    seen = compared(view) & np.isfinite(main.position) & np.isfinite(main.speed)
    places = sorted({round(b.place, 6) for b in zone_borders(view)})
    low, high = (float(f(main.position[seen])) for f in (np.min, np.max)) if seen.any() else (0.0, 0.0)
    edges = [low, *(p for p in places if low < p < high), high]
    if not high > low or len(edges) < 2:
        return None
    step = float(np.median(np.diff(view.times_s)))
    rows: list[tuple[str, ...]] = []
    for a, b in pairwise(edges):
        inside = seen & (main.position >= a) & (main.position <= b)
        for word, which in (("opening", main.speed > 0), ("closing", main.speed < 0)):
            rows += list(
                _zone_rows(view, inside & which, word, f"{shown.factor * a:.1f} … {shown.factor * b:.1f}", step)
            )
    headings = (f"zone, {shown.unit}", "direction", "channel", "time, s", "mean", "RMS", "unit")
    note = "A mean that is not small beside the RMS is an effect that the model lacks in that zone."
    return Table(headings, tuple(rows), "Residual by zone", (0, 1, 2, 6), note=note)


def _zone_rows(view: View, inside: BoolArray, word: str, zone: str, step: float) -> Iterator[tuple[str, ...]]:
    if inside.sum() < 5:
        return
    for i, row in enumerate(view.model.mechanism.rows):
        left = (view.reference - view.estimate)[inside, i]
        mean, rms = float(left.mean()), float(np.sqrt(np.mean(left**2)))
        yield (zone, word, row.name, f"{step * inside.sum():.1f}", f"{mean:+.3f}", f"{rms:.3f}", row.unit)


def by_segment(view: View) -> Table | None:
    """Mean and RMS of the residual in each segment."""
    rows: list[tuple[str, ...]] = []
    seen = compared(view)
    for name in ("quasi_static", "train", "test"):
        for a, b in view.segments.get(name, ()):
            inside = seen & (view.times_s >= a) & (view.times_s < b)
            if inside.sum() < 5:
                continue
            rows += [
                (name.replace("_", "-"), f"{a:.1f} … {b:.1f}", row.name, *_mean_and_rms(view, inside, i), row.unit)
                for i, row in enumerate(view.model.mechanism.rows)
            ]
    headings = ("segment", "from … to, s", "channel", "mean", "RMS", "unit")
    return Table(headings, tuple(rows), "Residual by segment", (0, 2, 5)) if rows else None


def _mean_and_rms(view: View, inside: BoolArray, row: int) -> tuple[str, str]:
    left = (view.reference - view.estimate)[inside, row]
    return f"{float(left.mean()):+.3g}", f"{float(np.sqrt(np.mean(left**2))):.3g}"


def _bars(x: FloatArray, y: FloatArray, name: str, index: int, width: float) -> Json:
    more: Json = {"legendgroup": name, "showlegend": index == 0, "width": width, **on_plot(index)}
    return {"type": "bar", "x": packed(x, "f8"), "y": packed(y), "name": name, "marker": {"color": COLOURS[5]}, **more}


def _wide_band(limit: float, index: int) -> Json:
    shape = band(0, 1, COLOURS[0], 0.3)
    return shape | {
        "xref": f"{axis_of('x', index)} domain",
        "yref": axis_of("y", index),
        "y0": -limit,
        "y1": limit,
    }


KINDS = (("noise", COLOURS[0]), ("pull", COLOURS[4]), ("systematic", COLOURS[3]))
_LEAST = 1e-3
"""Percent: smaller shares are drawn there."""
_SMALL = 1e-12


def uncertainties(data: Mapping[str, Any]) -> Figure | None:
    """Noise, pull of the prior and systematic error of each parameter, beside its value."""
    entries = {
        n: e
        for n, e in data["parameters"].items()
        if e["status"] != "fixed" and e["value"] and e.get("noise") is not None
    }
    if not entries:
        return None
    names = list(entries)
    bars: list[Json] = []
    largest: tuple[float, str, str] = (0.0, "", "")
    for kind, colour in KINDS:
        share = np.array([196.0 * abs(e.get(kind) or 0.0) / abs(e["value"]) for e in entries.values()])
        if not (share > _LEAST).any():
            continue
        worst = int(share.argmax())
        largest = max(largest, (float(share[worst]), names[worst], kind))
        more: Json = {"y": names, "orientation": "h", "name": kind, "marker": {"color": colour}}
        bars.append({"type": "bar", "x": packed(np.maximum(share, _LEAST)), **more})
    if not bars:
        return None
    made = layout([""], x_title("± 95 %, in percent of the value"), height=110 + 30 * len(names), legend=LEGEND_ABOVE)
    every = np.concatenate([np.atleast_1d(_numbers(bar["x"])) for bar in bars])
    made["xaxis"] |= log_scale(float(every.min()), float(every.max()))
    made["yaxis"] |= {"autorange": "reversed", "type": "category"}
    return Figure(
        "Three kinds of uncertainty",
        "Noise and pull (a prior that is off by its declared spread) are inside the 95 % interval; systematic is what "
        f"the declared errors of geometry, clock, scale and mass would do, and stands beside it.{_not_declared(data)}",
        tuple(bars),
        made | {"barmode": "group", "bargap": 0.35},
        f"The largest: {largest[1]}, ± {short(largest[0])} % from {largest[2]}.",
    )


def _not_declared(data: Mapping[str, Any]) -> str:
    """What to say where no systematic error was declared: it is not zero."""
    if any(e.get("systematic") for e in data["parameters"].values()):
        return ""
    return " Systematic is not declared (uncertain: in the experiment file): unknown, not zero."


def damping_curve(data: Mapping[str, Any]) -> Figure | None:
    """Condition number, misfit and distance from the prior over lambda, and the lambda that was used."""
    points = [p for p in data.get("damping_curve") or () if p["kappa_eff"] is not None]
    if len(points) < 3 or not all(np.isfinite(v) for p in points for v in p.values() if v is not None):
        return None
    lam, kappa, misfit, distance = (
        np.array([p[k] for p in points], dtype=float) for k in ("damping", "kappa_eff", "misfit", "distance")
    )
    excess = 100 * (misfit / max(float(misfit.min()), _SMALL) - 1)
    rows = (
        ("kappa_eff", kappa),
        ("misfit, + %", np.maximum(excess, 1e-4)),
        ("distance", distance),
    )
    traces = [
        curve(lam, y, name, DARK if i else COLOURS[0], row=i + 1, showlegend=False) for i, (name, y) in enumerate(rows)
    ]
    scales = {
        i + 1: log_scale(max(float(y[y > 0].min()), 1e-4), float(y.max()))
        for i, (_, y) in enumerate(rows)
        if (y > 0).any()
    }
    axis = x_title("lambda") | log_scale(float(lam.min()), float(lam.max()))
    used = float(data.get("damping") or 0.0)
    shapes: list[Json] = []
    labels: list[Json] = []
    if used > 0:
        shape, label = upright(used, f"used: {used:.3g}")
        shapes, labels = [shape], [label | {"x": float(np.log10(used))}]
    shapes.append({"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": 100, "y1": 100})
    shapes[-1]["line"] = {"color": "#888", "width": 1, "dash": "dash"}
    made = layout([name for name, _ in rows], axis, height=480, y=scales, showlegend=False)
    implied = data.get("damping_implies_std")
    words = (
        ""
        if not used or implied is None
        else f", which takes the prior to be off by {implied:.3g} (standard deviation)"
    )
    return Figure(
        "The prior's weight",
        "Condition number, misfit above the least, and distance from the prior: to the left the data decide, to the "
        "right the prior. The lambda that is used should stand where the misfit "
        "has not begun to rise and kappa_eff is below 100 (dashed).",
        tuple(traces),
        made | {"shapes": shapes, "annotations": labels},
        f"Lambda is {used:.3g}{words}." if used else "No prior was used: lambda is 0.",
    )


def conditioning_table(data: Mapping[str, Any]) -> Table | None:
    """Condition numbers, of the data alone and with the prior."""
    if "kappa" not in data:
        return None
    rows = [("kappa", _number(data["kappa"]), "of the data alone; below 100 is good")]
    if data.get("damping"):
        rows += [
            ("lambda", f"{data['damping']:.4g}", f"weight of the prior ({data.get('factor', 'UtU')})"),
            ("kappa_eff", _number(data.get("kappa_eff")), "with the prior"),
            ("kappa_eff, as published", _number(data.get("kappa_eff_paper")), "as the paper's authors compute it"),
        ]
    return Table(("conditioning", "value", "meaning"), tuple(rows), words=(0, 2))


def weakest_table(data: Mapping[str, Any]) -> Table | None:
    """By how much each parameter changes along the direction that the data hold least."""
    weakest: Mapping[str, Any] = data.get("weakest_direction") or {}
    changes: Mapping[str, float] = weakest.get("changes") or {}
    told = {n: v for n, v in changes.items() if n in data["parameters"]}
    if not told:
        return None
    most = sorted(told, key=lambda n: -abs(told[n]) / max(abs(data["parameters"][n]["value"] or 0.0), 1e-3))[:6]
    rows = tuple((n, f"{told[n]:+.2g}", unit_text(data["parameters"][n]["unit"])) for n in most)
    return Table(("weakest direction", "change (1 σ)", "unit"), rows, words=(0, 2))


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.1f}"


def _numbers(x: Any) -> Any:
    """Back from `packed`: bars are few, so a list."""
    return np.array(x if isinstance(x, list) else [1.0], dtype=float)
