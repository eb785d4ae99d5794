"""Validations and comparisons as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from palpate.report.table import decimals


def validation_text(data: Mapping[str, Any]) -> RenderableType:
    """How a model stands up to data it has not seen."""
    table = _table("", "error", "of range", "refitted", "times", "unit")
    for name, e in data["rms"].items():
        percent = "-" if e["percent_of_range"] is None else f"{e['percent_of_range']:.2f} %"
        times = "-" if e["times_refit"] is None else f"{e['times_refit']:.2f}"
        table.add_row(name, f"{e['value']:.3g}", percent, f"{e['refit']:.3g}", times, e["unit"])
    numbers = _table("", "model", "refitted", "95 % interval", "std apart", "unit")
    for name, e in data["parameters"].items():
        ci = e["refit_ci95"]
        digits = decimals(e["refit"], ci)
        cells = [
            "-" if e["value"] is None else f"{e['value']:.{digits}f}",
            f"{e['refit']:.{digits}f}",
            "-" if ci is None else f"{ci[0]:.{digits}f} … {ci[1]:.{digits}f}",
            "-" if e["apart"] is None else f"{e['apart']:.1f}",
        ]
        numbers.add_row(name, *cells, e["unit"])
    about = data["model"]
    source = "" if about["file"] is None else f" ({about['file']})"
    head = f"\n{about['name']}{source} on {data['title']}"
    lines = [f"{data['samples']} samples; refitted: the same model, fitted to these data."]
    played = data["replay"]
    if played and played["model"] is not None:
        other = "" if played["refit"] is None else f" (refitted: {180 / pi * played['refit']:.2f})"
        lines.append(f"Replay, measured force in, angle out: {180 / pi * played['model']:.2f} deg RMS{other}")
    return Group(Text(head, style="bold"), table, numbers, *map(Text, lines), *_ending(data))


def comparison_text(data: Mapping[str, Any]) -> RenderableType:
    """Several results side by side."""
    labels = list(data["results"])
    table = _table("", *labels, "together", "95 % interval", "between takes", "unit")
    for name, e in data["parameters"].items():
        pooled = e["pooled"]
        intervals = [x["ci95"] for x in e["each"].values() if x is not None and x["ci95"] is not None]
        values = [x["value"] for x in e["each"].values() if x is not None and x["value"] is not None]
        digits = decimals(values[0], min(intervals, key=lambda ci: ci[1] - ci[0], default=None)) if values else 3
        cells = [_plus_minus(e["each"][label], digits) for label in labels]
        if pooled is None:
            cells += ["-", "-", "-"]
        else:
            low, high = pooled["ci95"]
            mark = " (!)" if name in data["differing"] else ""
            cells += [
                f"{pooled['value']:.{digits}f}",
                f"{low:.{digits}f} … {high:.{digits}f}",
                f"{pooled['between_takes']:.{digits}f}{mark}",
            ]
        table.add_row(name, *cells, e["unit"])
    errors = _table("test RMS error", *labels, "unit")
    rows = dict.fromkeys(row for label in labels for row in data["rms"][label].get("test", {}))
    for row in rows:
        found = [data["rms"][label].get("test", {}).get(row) for label in labels]
        unit = next(e["unit"] for e in found if e is not None)
        errors.add_row(row, *("-" if e is None else f"{e['value']:.3g}" for e in found), unit)
    verdicts = ", ".join(f"{label} {'passed' if r['passed'] else 'failed'}" for label, r in data["results"].items())
    told = [Text(f"Warning: {w}", style="yellow") for w in data["warnings"]]
    note = Text(
        "± half of the 95 % interval; together: mean of the takes (random effects); (!): they differ by more than "
        "their noise allows. A prior's pull, common to all takes, is in the interval; systematic errors are not.",
        style="dim",
    )
    return Group(table, note, errors, Text(f"Verdicts: {verdicts}"), *told)


def _plus_minus(entry: Mapping[str, Any] | None, digits: int) -> str:
    if entry is None or entry["value"] is None:
        return "-"
    if entry["ci95"] is None:
        return f"{entry['value']:.{digits}f} ({entry['status']})"
    low, high = entry["ci95"]
    return f"{entry['value']:.{digits}f} ± {(high - low) / 2:.{digits}f}"


def _table(first: str, *headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first)
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "unit" else "right")
    return table


def _ending(data: Mapping[str, Any]) -> list[Text]:
    told = [Text(f"Warning: {w}", style="yellow") for w in data["warnings"]]
    verdict = data["verdict"]
    if verdict["passed"]:
        return [*told, Text("Verdict: passed", style="bold green")]
    return [
        *told,
        Text("Verdict: failed", style="bold red"),
        *(Text(f"- {r}", style="red") for r in verdict["reasons"]),
    ]
