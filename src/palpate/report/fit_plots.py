"""Figures and tables about the fit: residuals, kinds of uncertainty, the prior's weight, the weakest direction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import pi, sqrt
from typing import Any

import numpy as np

from palpate.experiment.view import View
from palpate.physics.arrays import BoolArray, FloatArray, rms
from palpate.report import plots
from palpate.report.model_plots import compared, directions, zone_borders
from palpate.report.page import Figure, Json, Table
from palpate.report.plots import COLOURS, DARK, LEGEND_ABOVE, LEGEND_ON_TOP, Panel, axis_of, curve, on_plot, short

_LONGEST_S, _MOST_LAGS = 1.0, 200
BAND_99 = 2.5758293035489004
"""Standard deviations that hold 99 % of a normal distribution."""
_BINS = 61
_KINDS = (("noise", COLOURS[0]), ("pull", COLOURS[4]), ("systematic", COLOURS[3]))
_LEAST = 1e-3
"""Percent: smaller shares are drawn there."""
_SMALL = 1e-12


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
