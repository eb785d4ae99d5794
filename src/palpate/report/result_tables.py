"""Tables of a result for the page: the terminal's digits, with every kind of uncertainty and every kind of error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rich.table import Table as RichTable

from palpate.report.body_curves import unit_text
from palpate.report.page import Table
from palpate.report.table import parameter_table, shape_table

_FIRM = ("identified", "fixed")
"""What stands behind a number that needs no second look."""
_SETS = ("train", "test", "cross_validated", "quasi_static")


def parameters_table(data: Mapping[str, Any]) -> Table:
    """The terminal's table, and beside its interval the kinds of uncertainty, each as ± 95 %."""
    found = _units(_as_on_terminal(parameter_table(data), "parameter"))
    entries = list(data["parameters"].values())
    doubtful = tuple(i for i, entry in enumerate(entries) if entry["status"] not in _FIRM)
    at = found.headings.index("unit") + 1
    kinds = [k for k in ("noise", "pull") if any(e.get(k) for e in entries)]
    # the status beside the number: what is wide is scrolled, and this must be in sight
    headings = [*found.headings[:at], "status", *(f"{k},\u00a0±" for k in kinds), *found.headings[at:-1]]
    rows = [
        (*row[:at], row[-1], *(_half_width(entry, k, row[1]) for k in kinds), *row[at:-1])
        for row, entry in zip(found.rows, entries, strict=True)
    ]
    words = tuple(i for i, h in enumerate(headings) if h in ("parameter", "unit", "status"))
    told: list[str] = []
    if kinds:
        told.append(
            "Noise and pull (of the prior), each ± 95 %, are parts of the interval; systematic stands beside it."
        )
    if not any(e.get("systematic") for e in entries):
        told.append("No systematic errors were declared (uncertain: in the experiment file), so none are shown.")
    if doubtful:
        told.append("Shaded: the recording alone does not tell the value.")
    shown = [h.replace("systematic", "systematic,\u00a0±") for h in headings]
    return Table(tuple(shown), tuple(rows), words=words, marked=doubtful, note=" ".join(told))


def _half_width(entry: Mapping[str, Any], kind: str, value: str) -> str:
    """± 95 % with the decimals of the value."""
    std = entry.get(kind)
    if std is None or entry["value"] is None:
        return "-"
    shown = f"{1.96 * std:.{len(value.partition('.')[2])}f}"
    return shown if float(shown) else "0"


def shapes_table(data: Mapping[str, Any]) -> Table | None:
    """Borders and widths of zones."""
    if not data.get("shapes"):
        return None
    found = _as_on_terminal(shape_table(data))
    unsure = tuple(i for i, entry in enumerate(data["shapes"].values()) if entry["status"] not in _FIRM)
    return Table(found.headings, found.rows, "Zones", found.words, unsure)


def errors_table(data: Mapping[str, Any]) -> Table | None:
    """RMS error of each channel on train, test and cross-validated data, with percent of the signal's range."""
    sets = [s for s in _SETS if data.get("rms", {}).get(s)]
    if not sets:
        return None
    band = data.get("rms_below_hz")
    headings = ["RMS error" if band is None else f"RMS error below {band:g} Hz"]
    for name in sets:
        headings += [name.replace("_", "-"), "of range"]
    rows: list[tuple[str, ...]] = []
    for channel, first in data["rms"][sets[0]].items():
        cells: list[str] = [channel]
        for name in sets:
            entry = data["rms"][name].get(channel)
            percent = None if entry is None else _percent(data["rms"], name, channel)
            cells.append("-" if entry is None else f"{entry['value']:.3g}")
            cells.append("-" if percent is None else f"{percent:.2f} %")
        rows.append((*cells, "-" if first.get("noise") is None else f"{first['noise']:.3g}", first["unit"]))
    note = "Of range: in percent of the largest minus the smallest measured value of the segment."
    if "cross_validated" in sets:
        note += " Cross-validated: each piece of the train segments predicted by a fit to the others."
    if band is None:
        note += " The measured signals are not smoothed, so their noise is part of the error."
    return Table((*headings, "noise", "unit"), tuple(rows), words=(0, len(headings) + 1), note=note)


def _percent(rms: Mapping[str, Any], name: str, channel: str) -> float | None:
    """Of the range; cross-validated pieces are those of the train segments, so of that range."""
    entry, train = rms[name][channel], rms.get("train", {}).get(channel)
    if name == "cross_validated" and train and train["percent_of_range"] is not None and train["value"] > 0:
        return train["percent_of_range"] * entry["value"] / train["value"]
    return entry["percent_of_range"]


def segments_table(data: Mapping[str, Any]) -> Table | None:
    """RMS error of each segment by itself."""
    parts = data.get("rms_of_segments") or ()
    channels = dict.fromkeys(c for part in parts for c in part["rms"])
    if len(parts) < 2 or not channels:
        return None
    units = {c: next(p["rms"][c]["unit"] for p in parts if c in p["rms"]) for c in channels}
    rows = tuple(
        (
            p["segment"],
            f"{p['from_s']:.1f} … {p['to_s']:.1f}",
            *(f"{p['rms'][c]['value']:.3g}" if c in p["rms"] else "-" for c in channels),
        )
        for p in parts
    )
    return Table(("segment", "from … to, s", *(f"{c}, {units[c]}" for c in channels)), rows)


def _as_on_terminal(table: RichTable, corner: str = "") -> Table:
    """The terminal's table with the same cells, so that page and terminal show the same digits."""
    headings = tuple(str(column.header) or corner for column in table.columns)
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    words = tuple(i for i, column in enumerate(table.columns) if column.justify != "right")
    return Table(headings, tuple(zip(*columns, strict=True)), words=words)


def _units(table: Table) -> Table:
    """The column of units as people write them."""
    at = table.headings.index("unit")
    rows = tuple((*row[:at], unit_text(row[at]), *row[at + 1 :]) for row in table.rows)
    return replace(table, rows=rows)
