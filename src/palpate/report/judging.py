"""The pages of what judges models: on unseen data (`validate`), take beside take (`compare`), one structure beside
others (`variants`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from palpate.experiment import tables
from palpate.experiment.validation import APART, FAR_APART
from palpate.report import plots
from palpate.report.identification import findings_table
from palpate.report.page import Figure, Json, Words, section, write_page
from palpate.report.plots import COLOURS, GREY, Panel, short

Data = Mapping[str, Any]
_SHOWN = 12
"""Variants in the figure."""


def write_validation_page(path: Path, data: Data) -> None:
    """A model on recordings that it has not seen, beside the same model fitted to them."""
    passed = bool(data["verdict"]["passed"])
    worst = max((e["times_refit"] for e in data["rms"].values() if e["times_refit"] is not None), default=None)
    beside = "" if worst is None else f": its error is {worst:.2f} times that of the same model fitted to these data"
    reason = f": {data['verdict']['reasons'][0]}" if data["verdict"]["reasons"] else ""
    words = f"Passed: the model explains these data{beside}." if passed else f"Failed{reason}."
    errors, numbers = tables.validation_tables(data)
    sections = [
        section(
            "Verdict",
            Words(words, "good" if passed else "bad"),
            *(findings_table(data, fatal=fatal) for fatal in (True, False)),
        ),
        section("Errors", errors, *(Words(line, "quiet") for line in tables.validation_notes(data))),
        section("Numbers", numbers, _apart(data)),
    ]
    about = data["model"]
    source = "" if about["file"] is None else f" ({about['file']})"
    write_page(path, f"{about['name']}{source} on {data['title']}", sections, subtitle=_origin(data))


def write_comparison_page(path: Path, data: Data) -> None:
    """Several identifications of one object."""
    differing, labels = data["differing"], list(data["results"])
    words = f"{', '.join(differing)} differ between the takes by more than their noise allows."
    words = words if differing else "No number differs between the takes by more than its noise allows."
    numbers, errors = tables.comparison_tables(data)
    sections = [
        section(
            "Do they agree?",
            Words(words, "bad" if differing else "good"),
            *(Words(f"Warning: {warning}") for warning in data["warnings"]),
        ),
        section("Numbers", numbers, _takes(data)),
        section("Errors", errors, Words(tables.verdicts_line(data), "quiet")),
    ]
    simulated = any(r.get("simulated") for r in data["results"].values())
    write_page(path, f"Comparison of {', '.join(labels)}", sections, subtitle="simulated data" if simulated else "")


def write_variants_page(path: Path, data: Data) -> None:
    """Structures of a model, ranked by their errors on data that the fit has not seen."""
    ranked, chosen = data["variants"], data["chosen"]
    lead = f"Chosen: {chosen}, the simplest that is as good as the best ({data['best']}) within one standard error."
    lead = f"Chosen: {chosen}, which is also the best." if chosen == data["best"] else lead
    good = sum(r["as_good_as_best"] for r in ranked)
    sections = [
        section("Choice", Words(lead), Words(f"{good} of {len(ranked)} variants are as good as the best.", "quiet")),
        section("Ranking", _ranking(data), tables.variants_table(data, everything=True)),
    ]
    rule = f"Rule: {data['rule']}"
    write_page(path, f"Variants of {data['title']}", sections, subtitle=rule)


def _origin(data: Data) -> str:
    source: dict[str, Any] = dict(data.get("provenance") or {})
    file = source["experiment"]["file"] if "experiment" in source else ""
    parts = [f"judged on {file}" if file else "", "simulated data" if source.get("simulated") else ""]
    return ", ".join(part for part in parts if part)


def _apart(data: Data) -> Figure | None:
    """How far each number is from what these data call for, with its sign."""
    known = {n: e for n, e in data["parameters"].items() if e["apart"] is not None}
    if not known:
        return None
    sizes = np.array([e["apart"] * np.sign(e["value"] - e["refit"]) for e in known.values()])
    worst = list(known)[int(np.argmax(np.abs(sizes)))]
    colour = [COLOURS[1] if abs(x) > APART else COLOURS[0] for x in sizes]
    bars: Json = plots.bars(plots.packed(sizes), list(known), "", GREY, orientation="h")
    bars["marker"] = {"color": colour}
    reach = max(1.1 * float(np.abs(sizes).max()), FAR_APART + 0.5)
    return plots.figure(
        "How far the numbers are from what these data call for",
        "Model minus refit in standard deviations of both; beyond 3 they rarely differ by chance.",
        [Panel("", (bars,), y={"autorange": "reversed", "type": "category"})],
        plots.x_title("model - refit, standard deviations") | {"range": [-reach, reach]},
        f"The largest: {worst}, {short(float(np.abs(sizes).max()))} standard deviations.",
        marks=[plots.upright(x) for x in (-APART, APART)],
        height=110 + 28 * len(known),
    )


def _takes(data: Data) -> Figure | None:
    """Each take's value and interval, in percent of the mean of all."""
    known, means = data["parameters"], dict[str, float]()
    for name, e in known.items():
        values = [x["value"] for x in e["each"].values() if x is not None and x["value"] is not None]
        means[name] = e["pooled"]["value"] if e["pooled"] is not None else float(np.mean(values or [0.0]))
    known = {name: e for name, e in known.items() if means[name]}
    if not known:
        return None
    traces: list[Json] = []
    labels = list(data["results"])
    for i, label in enumerate(labels):
        places = np.array([_beside_mean(e["each"][label], means[n]) for n, e in known.items()], dtype=float)
        at = np.arange(float(len(known))) + 0.12 * (i - (len(labels) - 1) / 2)
        colour = COLOURS[i % len(COLOURS)]
        bars: Json = {"type": "data", "array": plots.packed(places[:, 1]), "color": colour, "thickness": 1.2}
        traces.append(plots.points(at, places[:, 0], label, colour, 7, error_y=bars, showlegend=True))
    ticks: Json = {"tickvals": list(range(len(known))), "ticktext": list(known), "range": [-0.6, len(known) - 0.4]}
    return plots.figure(
        "Each take beside the mean",
        "Bars are 95 % intervals. Takes of one object should overlap; what all takes share moves them together.",
        [Panel("percent of the mean", tuple(traces))],
        plots.x_title("") | ticks,
        height=380,
    )


def _beside_mean(one: dict[str, Any] | None, mean: float) -> tuple[float, float]:
    """A value and half its interval in percent of the mean; NaN where nothing is known."""
    if one is None or one["value"] is None or one["ci95"] is None:
        return np.nan, 0.0
    return 100 * (one["value"] / mean - 1), 50 * float(np.ptp(one["ci95"])) / abs(mean)


def _ranking(data: Data) -> Figure:
    ranked = [r for i, r in enumerate(data["variants"]) if i < _SHOWN or r["name"] == data["chosen"]]
    marks = {data["chosen"]: "chosen: "}
    names = [f"{marks.get(r['name'], '')}{r['name']} ({r['numbers']})" for r in ranked]
    style: Json = {"orientation": "h", "showlegend": True}
    bars = (
        plots.bars([r["cross_validated_rms"] for r in ranked], names, "unseen", COLOURS[0], **style),
        plots.bars([r["rms"] for r in ranked], names, "fitted", GREY, **style),
    )
    return plots.figure(
        "Errors of the best variants",
        "Unseen: each tenth of the data predicted by a fit to the others. In brackets: how many numbers a variant has.",
        [Panel("", bars, y={"autorange": "reversed", "type": "category", "automargin": True})],
        plots.x_title(f"RMS error, {data['unit']}") | {"rangemode": "tozero"},
        height=120 + 34 * len(ranked),
        barmode="group",
        bargap=0.3,
    )
