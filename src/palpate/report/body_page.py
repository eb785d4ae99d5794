"""The report of an identified body as one HTML page: verdict, parameters, errors, figures, and where it came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table as RichTable

from palpate.experiment.body_view import BodyView
from palpate.report import body_plots, body_position_plots
from palpate.report.body_curves import first_coordinate, quantity, short, shown_in
from palpate.report.page import Block, Folded, Remarks, Section, Table, Words, write_page
from palpate.report.table import parameter_table, rms_table, shape_table

_FIRM = ("identified", "fixed")
"""What stands behind a number that needs no second look."""
_WINDOWS = 4
"""Replay windows in sight; the others are folded."""


def write_body_report(path: Path, data: Mapping[str, Any], view: BodyView) -> None:
    """Write the page of a result (`data`: the content of result.json); it needs no network and no other file."""
    source = data.get("provenance", {}).get("experiment", {}).get("file")
    about = [f"model of the {data['model_of']}"] if "model_of" in data else []
    subtitle = ", ".join([f"object {view.model.name}", *about, *([f"identified from {source}"] if source else [])])
    write_page(path, str(data["title"]), body_sections(data, view), subtitle=subtitle)


def body_sections(data: Mapping[str, Any], view: BodyView) -> list[Section]:
    """What the page shows; a section without data has no blocks and is left out."""
    shown = (body_position_plots.holding(view), body_position_plots.damping_over_position(view))
    profiles = body_plots.profiles(view)
    return [
        Section("Verdict", tuple(_verdict(data))),
        Section("Parameters", tuple(_parameters(data))),
        Section("Errors", tuple(_errors(data))),
        Section("Over time", tuple(_over_time(view))),
        Section("Spring and damping", tuple(figure for figure in shown if figure is not None)),
        Section("Residuals", body_position_plots.residuals(view)),
        Section("Shapes", () if profiles is None else (profiles,)),
        Section("Replay", tuple(_replay(data, view))),
        Section("Origin", tuple(_origin(data, view))),
    ]


def _verdict(data: Mapping[str, Any]) -> Iterator[Block]:
    verdict = data["verdict"]
    if verdict["passed"]:
        yield Words("Passed: every quality gate was met.")
    else:
        yield Remarks("Failed", tuple(verdict["reasons"]), severe=True)
    warnings = tuple(str(w) for w in data.get("warnings", ()))
    if warnings:
        yield Remarks("Warnings" if len(warnings) > 1 else "Warning", warnings)


def _parameters(data: Mapping[str, Any]) -> Iterator[Block]:
    entries = list(data["parameters"].values())
    doubtful = tuple(i for i, entry in enumerate(entries) if entry["status"] not in _FIRM)
    note = "Shaded: the recording alone does not tell the value." if doubtful else ""
    yield _as_on_terminal(parameter_table(data), "parameter", marked=doubtful, note=note)
    if data.get("shapes"):
        unsure = tuple(i for i, entry in enumerate(data["shapes"].values()) if entry["status"] not in _FIRM)
        yield _as_on_terminal(shape_table(data), marked=unsure)
    kappa = data.get("kappa")
    words = [] if "kappa" not in data else [f"kappa {'infinite' if kappa is None else f'{kappa:.1f}'}"]
    if data.get("damping"):
        effective = data.get("kappa_eff")
        words += [f"lambda {data['damping']:.4g}"]
        words += [] if effective is None else [f"kappa_eff {effective:.1f}"]
    if words:
        yield Words(f"Conditioning: {', '.join(words)}.", quiet=True)
    weakest = data.get("weakest_direction")
    if weakest is not None:
        yield Words(f"Weakest: {weakest['text']}", quiet=True)


def _errors(data: Mapping[str, Any]) -> Iterator[Block]:
    band = data.get("rms_below_hz")
    filtered = "" if band is None else " The figures below show what no low-pass has smoothed, so their RMS is larger."
    note = f"Of range: in percent of the largest minus the smallest measured value of the segment.{filtered}"
    yield _as_on_terminal(rms_table(data), note=note)


def _over_time(view: BodyView) -> Iterator[Block]:
    yield from body_plots.over_time(view, "test")
    for segment in ("train", "quasi_static"):
        figures = body_plots.over_time(view, segment)
        if figures:
            yield Folded(f"The same for the {segment.replace('_', '-')} segments", figures)


def _replay(data: Mapping[str, Any], view: BodyView) -> Iterator[Block]:
    windows = view.replay
    if not windows:
        return
    coordinate = first_coordinate(view)
    unit = "rad" if coordinate is None else coordinate[1]
    shown = shown_in(unit)
    errors = shown.factor * np.array([w.rms_rad for w in windows])
    told: Mapping[str, Any] = data.get("replay") or {}
    pooled = float(np.sqrt(np.mean(errors**2)))
    if told.get("rms") is not None:  # the same number as on the terminal
        pooled = shown.factor * float(told["rms"])
    every, middle, worst = (f"{short(v)} {shown.unit}" for v in (pooled, float(np.median(errors)), float(errors.max())))
    yield Words(
        f"RMS error of the {quantity(unit)}: {every} over all windows, {middle} in the median window, {worst} in the "
        "worst."
    )
    first, rest = body_plots.replay(view, windows[:_WINDOWS]), body_plots.replay(view, windows[_WINDOWS:])
    if first is not None:
        yield first
    if rest is not None:
        yield Folded(f"{len(windows) - _WINDOWS} more windows", (rest,))


def _origin(data: Mapping[str, Any], view: BodyView) -> Iterator[Block]:
    origin: Mapping[str, Any] = data.get("provenance", {})
    files = [origin["experiment"]] if "experiment" in origin else []
    files += origin.get("recordings", ())
    if files:
        rows = tuple((str(f["file"]), str(f["sha256"])) for f in files)
        yield Table(("file", "SHA-256"), rows, words=(0, 1))
    spans = tuple(
        (name.replace("_", "-"), ", ".join(f"{a:g} to {b:g}" for a, b in value))
        for name, value in view.segments.items()
        if value
    )
    if spans:
        yield Table(("segment", "from, to (s)"), spans, words=(0, 1))


def _as_on_terminal(table: RichTable, corner: str = "", *, marked: tuple[int, ...] = (), note: str = "") -> Table:
    """The terminal's table with the same cells, so that page and terminal show the same digits."""
    headings = tuple(str(column.header) or corner for column in table.columns)
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    words = tuple(i for i, column in enumerate(table.columns) if column.justify != "right")
    return Table(headings, tuple(zip(*columns, strict=True)), words=words, marked=marked, note=note)
