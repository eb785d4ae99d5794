"""What stands behind the parameters: kinds of uncertainty, the prior's weight, and the weakest direction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from palpate.report.body_curves import LEGEND_ABOVE, short, unit_text, x_title
from palpate.report.page import Figure, Json, Table
from palpate.report.plots import COLOURS, DARK, curve, layout, log_scale, packed, upright

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
