"""The page of a reproduction of the paper, its tables as CSV and LaTeX, and the paper's figures as SVG and PDF."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from rich.console import Group, RenderableType
from rich.text import Text

from palpate.experiment.paper.choices import BODIES, HANDLES, PAPER, Printed
from palpate.experiment.paper.reproduce import REPRODUCTION_FORMAT, Entry, Reproduction
from palpate.experiment.tables import decimals
from palpate.files import write_text
from palpate.report.model_plots import over_time
from palpate.report.page import Block, Figure, Remarks, Words, section, write_page
from palpate.report.paper import FORMATS, csv_text, latex, save_figure
from palpate.tables import Table, table

SUBTITLE = "System Identification of Admittance Models for Large Real-World Objects (Baum, Luttmer, Minor)"
_WAYS = {"published": "as published", "default": "default"}
COLUMNS = (
    *("experiment", "kind", "name", "unit", "paper", "truth", "published", "published_percent", "default"),
    *("low95", "high95", "default_percent", "inside", "status"),
)
"""Of table.csv."""


def write_reproduction(folder: Path, runs: Reproduction) -> list[Path]:
    """Write the data, tables and results of palpate's own way; returns the paths."""
    texts = {
        "reproduction.json": json.dumps(reproduction_data(runs), indent=1, allow_nan=False) + "\n",
        "table.csv": csv_text([_row(entry, each) for entry in runs.entries.values() for each in comparison(entry)]),
        "table.tex": "\n".join(
            f"% {PAPER[e.name].title}\n{latex(table_of(e, runs))}" for e in runs.entries.values() if _identified(e)
        ),
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    saved = (e.default.save(folder / name) for name, e in runs.entries.items() if e.default is not None)
    return [*(folder / name for name in texts), *chain.from_iterable(saved)]


def write_reproduction_figures(folder: Path, runs: Reproduction) -> None:
    """Draw the paper's figures in each way, as SVG and PDF."""
    for name, entry in runs.entries.items():
        for way, figure in figures_of(entry).items():
            stem = f"{name}{'-default' * (way == 'default')}"
            save_figure(figure, *(folder / f"{stem}.{kind}" for kind in FORMATS))


def write_reproduction_page(path: Path, runs: Reproduction) -> None:
    """What came out, one section for each identification, then the files."""
    missing, texts = missing_sentences(runs), (Words(text) for text, _ in verdicts(runs))
    rows = tuple((f.file, f.experiment, f.recording, f.state, f.remark) for f in runs.files)
    headings = ("file", "identification", "recording", "state", "remark")
    off = tuple(i for i, f in enumerate(runs.files) if not f.usable)
    files = Table(headings, rows, words=(0, 1, 2, 3, 4), marked=off)
    against = Remarks("Speaks against it", runs.failures, severe=True) if runs.failures else None
    sections = [
        section("Result", *texts, against),
        *(section(PAPER[entry.name].title, *_entry(entry, runs)) for entry in runs.entries.values()),
        section("Files", Remarks("Missing", tuple(missing)) if missing else None, files),
    ]
    write_page(path, "The paper reproduced", sections, subtitle=SUBTITLE)


def _identified(entry: Entry) -> bool:
    return entry.published is not None or entry.default is not None


def _entry(entry: Entry, runs: Reproduction) -> Iterator[Block | None]:
    note = "Inside: whether the default's 95 % interval holds the printed number, up to its rounding."
    if entry.truth is not None:
        note = "Differences are against the truth of this simulated copy; RMS, kappa and marker errors have none."
        note += " Inside: whether the default's 95 % interval holds the truth."
    if "Ixx" in PAPER[entry.name].parameters:
        note += " Inertias are matrix entries about the frame's origin (Ixy = -∫xy dm)."
    yield from (table_of(entry, runs, note) if _identified(entry) else None, *figures_of(entry).values())
    texts = tuple(text for text, _ in entry_sentences(entry))
    yield Remarks("Notes", texts, severe=bool(entry.refused)) if texts else None
    yield Table(
        ("as published", "what the authors chose"), choices_text(entry.name), words=(0, 1), title="The two ways"
    )


def figures_of(entry: Entry) -> dict[str, Figure]:
    """By way: motion, measured and estimated moments of a body in the paper's test segment, which is the last."""
    views = {"published": entry.published and entry.published.view, "default": entry.default and entry.default.view}
    figures: dict[str, Figure] = {}
    for way, view in views.items() if entry.name in BODIES else ():
        last = None if view is None else replace(view, segments={"test": view.segments.get("test", ())[-1:]})
        for figure in () if last is None else over_time(last, "test")[:1]:
            figures[way] = replace(figure, title=f"{entry.name.capitalize()}, test segment, {_WAYS[way]}")
    return figures


# --- the table --------------------------------------------------------------------------------------------------------

Kind = Literal["parameter", "regression", "quality", "rms"]
WAYS = ("published", "uncorrected", "default")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the comparison; numbers in the unit named."""

    kind: Kind
    name: str
    unit: str
    paper: Printed | None
    published: float | None
    default: float | None
    ci95: tuple[float, float] | None = None
    """Of the default."""
    truth: float | None = None
    """Of a simulated copy: then differences are against it."""
    status: str = ""
    fixed: bool = False
    """Known beforehand, in both ways."""
    simulated: bool = False
    """Of a simulated copy, whose recordings are not the paper's: what has no truth is compared with nothing."""
    uncorrected: float | None = None
    """As published, but without the fixed wrench at the contact."""

    @property
    def against(self) -> float | None:
        """What ours is compared with: the truth where it is known, on a real copy the paper; choices with nothing."""
        if self.truth is not None:
            return self.truth
        if self.paper is None or self.simulated or self.kind == "regression":
            return None
        return self.paper.value

    def percent(self, value: float | None) -> float | None:
        """By how much a value differs from what it is compared with, percent."""
        against = self.against
        return None if value is None or not against else 100 * (value - against) / abs(against)

    @property
    def inside(self) -> bool | None:
        """Whether the default's interval holds what it is compared with; a printed number up to its rounding."""
        if self.ci95 is None or self.against is None:
            return None
        slack = self.paper.rounding if self.truth is None and self.paper is not None else 0.0
        return self.ci95[0] - slack <= self.against <= self.ci95[1] + slack

    def data(self) -> dict[str, Any]:
        """As in reproduction.json."""
        return {
            **{name: getattr(self, name) for name in ("kind", "name", "unit", "truth", "inside", "status")},
            "paper": None if self.paper is None else self.paper.value,
            "default_ci95": None if self.ci95 is None else list(self.ci95),
            **{way: getattr(self, way) for way in WAYS},
            **{f"{way}_percent": self.percent(getattr(self, way)) for way in WAYS},
        }


def comparison(entry: Entry) -> tuple[Line, ...]:
    """All lines of one identification: parameters in the paper's order, then regression, then RMS errors."""
    paper, truth, lines = PAPER[entry.name], entry.truth, list[Line]()
    published: Mapping[str, Any] = {} if entry.published is None else entry.published.data
    default: Mapping[str, Any] = {} if entry.default is None else entry.default.data
    one, other = published.get("parameters", {}), default.get("parameters", {})

    def add(*cells: Any, **more: Any) -> None:
        lines.append(Line(*cells, simulated=truth is not None, **more))

    biases = (name for name in (*one, *other) if name.startswith("bias_"))
    for name in dict.fromkeys([*paper.parameters, *biases]):
        a, b = one.get(name, {}), other.get(name, {})
        ci, status, unit = b.get("ci95"), str(b.get("status", "")), str(a.get("unit") or b.get("unit") or "")
        add(
            *("parameter", name, unit, paper.parameters.get(name), a.get("value"), b.get("value")),
            ci95=None if ci is None else (float(ci[0]), float(ci[1])),
            truth=None if truth is None else truth.get(name),
            status=status,
            fixed=bool(a.get("fixed")) or status == "fixed",
            uncorrected=published.get("without_correction", {}).get(name),
        )
    chosen, spans = default.get("provenance", {}).get("segments", {}), published.get("seconds", {})
    errors, test = default.get("rms", {}).get("test", {}), chosen.get("test", [])
    several = [s for s in default.get("rms_of_segments", []) if s["segment"] == "test"]
    if several and entry.name not in HANDLES:  # the paper tests on the last of the wheelbarrow's
        errors, test = several[-1]["rms"], [(several[-1]["from_s"], several[-1]["to_s"])]
    train_s, test_s = (sum(b - a for a, b in s) if s else None for s in (chosen.get("train"), test))
    add("regression", "train", "s", paper.train_s, spans.get("train"), train_s)
    add("regression", "test", "s", paper.test_s, spans.get("test"), test_s)
    if paper.damping is not None:
        add("regression", "lambda", "-", paper.damping, published.get("damping"), default.get("damping"))
    # of a joint fit it is of the spring's powers as well, which the paper's number does not hold
    kappa = None if default.get("procedure") == "joint" else default.get("kappa_eff_paper")
    add("quality", "kappa, as the paper", "-", paper.kappa, published.get("kappa_eff_paper"), kappa)
    add("regression", "kappa_eff of palpate", "-", None, None, default.get("kappa_eff"))
    if paper.marker_error_mm is not None:
        error = None if entry.marker_error_m is None else 1e3 * entry.marker_error_m
        add("quality", "marker error", "mm", paper.marker_error_mm, error, None)
    for row, (value, percent) in paper.rms.items():
        a, b = published.get("rms", {}).get("test", {}).get(row, {}), errors.get(row, {})
        add("rms", f"RMS {row}", "N" if row.startswith("f") else "N m", value, a.get("value"), b.get("value"))
        add("rms", f"RMS {row}, of range", "%", percent, a.get("percent_of_range"), b.get("percent_of_range"))
    return tuple(lines)


def correction_text(entry: Entry) -> str:
    """What the authors' fixed wrench at the contact does; nothing where they have none."""
    lines = [x for x in comparison(entry) if x.uncorrected is not None and x.uncorrected != x.published and not x.fixed]
    if not lines:
        return ""
    wrench = f"as published: the fixed wrench {list(BODIES[entry.name].at_contact)} at the contact"
    if entry.truth is None:
        moved = ", ".join(f"{x.name} {x.uncorrected:.4g} ({x.published:.4g})" for x in lines)
        return f"{wrench} is of the authors; without it (with it): {moved}"
    known = [x for x in lines if x.against]
    moved = ", ".join(f"{x.name} {x.percent(x.uncorrected):+.1f} % ({x.percent(x.published):+.1f} %)" for x in known)
    return (
        f"{wrench} corrects an error of the authors' laboratory that a simulated copy does not have, so that a part of "
        f"the difference printed here is that wrench's own; without it (with it): {moved}"
    )


def reproduction_data(runs: Reproduction) -> dict[str, Any]:
    """The content of reproduction.json."""
    entries = {
        name: {
            "title": PAPER[name].title,
            "table": [line.data() for line in comparison(e)],
            "published": None if e.published is None else dict(e.published.data),
            "default_verdict": None if e.default is None else e.default.data["verdict"],
            "refused": dict(e.refused),
            "notes": [*e.notes, *filter(None, [correction_text(e)])],
        }
        for name, e in runs.entries.items()
    }
    return {
        "palpate_reproduction": REPRODUCTION_FORMAT,
        "palpate": version("palpate"),
        "modes": list(runs.modes),
        "files": [{"told" if k == "remark" else k: v for k, v in asdict(file).items()} for file in runs.files],
        "simulated": runs.simulated,
        "experiments": entries,
        "failures": list(runs.failures),
    }


def choices_text(name: str) -> tuple[tuple[str, str], ...]:
    """The authors' choices of one identification, in words."""
    if name in HANDLES:
        choices = HANDLES[name]
        first = choices.window.first
        return (
            ("clocks", f"load-cell sample {first['wrench']} and IMU sample {first['imu']} coincide"),
            ("derivative", f"Savitzky-Golay, {choices.slope[0]} ms, order {choices.slope[1]}, of the angular rate"),
            ("smoothing", f"Savitzky-Golay, {choices.smooth[0]} ms, order {choices.smooth[1]}, of the motion only"),
            ("noise of the IMU", "left in"),
        )
    choices = BODIES[name]
    lines = [
        ("clocks", ", ".join(f"{n} {k}" for n, k in choices.window.first.items()) + " coincide, at 100 Hz"),
        ("decimation", "every 10th sample of the load cell, without a filter before it"),
        ("smoothing", f"Savitzky-Golay, {10 * choices.smooth[0]} ms, order {choices.smooth[1]}, of the motion only"),
        ("handle", f"its weight alone is removed: {choices.handle_mass} kg at {choices.handle_com} m"),
        ("preload", f"mean over samples {choices.still[0]} to {choices.still[1]}"),
    ]
    if any(choices.at_contact):
        lines.append(("correction", f"a fixed wrench {list(choices.at_contact)} at the contact is added to the model"))
    if choices.quasi_static is not None:
        lines.append(("procedure", "two steps: the spring from slow samples, then the rest"))
    return tuple(lines)


def table_of(entry: Entry, runs: Reproduction, note: str = "") -> Table:
    """The paper's numbers beside ours; marked where an interval does not hold the number."""
    lines = comparison(entry)
    return table((_cells(each, runs) for each in lines), marked=[each.inside is False for each in lines], note=note)


def _cells(each: Line, runs: Reproduction) -> list[tuple[str, str]]:
    # one decimal more than the paper prints, or so many that an interval shows to two digits
    digits = 3 if each.paper is None else len(each.paper.text.partition(".")[2]) + 1
    digits = digits if each.ci95 is None else max(digits, min(8, decimals(0.0, each.ci95)))

    def number(value: float | None) -> str:
        if value is None:
            return "-"
        return f"{value:.3g}" if each.kind == "regression" else f"{value:.{digits}f}"

    def difference(percent: float | None) -> tuple[str, str]:
        text = "" if percent is None else f"{percent:+.2f} %" if abs(percent) < 100 else f"{percent:+.0f} %"
        return "of truth" if runs.simulated else "of paper", text

    cells = [("quantity", each.name), ("unit", each.unit), ("paper", "-" if each.paper is None else each.paper.text)]
    cells += [("truth", number(each.truth))] if runs.simulated else []
    cells += [("as published", number(each.published)), difference(each.percent(each.published))]
    if "default" in runs.modes:
        ci = "-" if each.ci95 is None else f"{number(each.ci95[0])} … {number(each.ci95[1])}"
        inside = "" if each.inside is None else "yes" if each.inside else "no"
        cells += [("default", number(each.default)), ("95 % interval", ci), difference(each.percent(each.default))]
        cells.append(("inside", "known" if each.fixed else inside))
    return cells


def _row(entry: Entry, each: Line) -> dict[str, Any]:
    """A line of the table, numbers as they are."""
    low, high = each.ci95 or (None, None)
    held = each.data() | {"experiment": entry.name, "low95": low, "high95": high}
    held["paper"] = None if each.paper is None else each.paper.text
    return {name: held[name] for name in COLUMNS}


# --- words ------------------------------------------------------------------------------------------------------------


def reproduction_text(runs: Reproduction) -> RenderableType:
    """Files that are not there, a table an object, and verdicts."""
    parts: list[RenderableType] = [Text(f"Missing: {text}", style="yellow") for text in missing_sentences(runs)]
    words = {"wrong": "Wrong file", "short": "Too short"}
    wrong = {f.file: f for f in runs.wrong}  # two devices may share a file
    parts += [Text(f"{words[f.state]}: {f.file}: {f.remark}", style="red") for f in wrong.values()]
    for entry in runs.entries.values():
        parts.append(Text(f"\n{PAPER[entry.name].title}", style="bold"))
        parts += [table_of(entry, runs)] if _identified(entry) else []
        parts += [Text(text, style=style) for text, style in entry_sentences(entry)]
    return Group(*parts, Text(""), *(Text(text, style=style) for text, style in verdicts(runs)))


def missing_sentences(runs: Reproduction) -> list[str]:
    """Files that are not there, each once."""
    return list(dict.fromkeys(f"{f.file} ({f.remark})" if f.remark else f.file for f in runs.missing))


def entry_sentences(entry: Entry) -> list[tuple[str, str]]:
    """What is to be said about one identification, with a style."""
    notes = [*entry.notes, *filter(None, [correction_text(entry)])]
    texts = [(f"{note[0].upper()}{note[1:]}", "dim") for note in notes]
    for why in dict.fromkeys(entry.refused.values()):
        modes = " and ".join(_WAYS[mode] for mode, reason in entry.refused.items() if reason == why)
        texts.append((f"No result ({modes}): {why}", "red"))
    warnings: list[str] = [] if entry.default is None else entry.default.data["warnings"]
    return [*texts, *((f"Warning: {warning}", "yellow") for warning in warnings)]


def verdicts(runs: Reproduction) -> list[tuple[str, str]]:
    """One sentence for each identification, with a style."""
    texts: list[tuple[str, str]] = []
    for entry in runs.entries.values():
        title = PAPER[entry.name].title
        if entry.default is None:
            what = "as published only" if entry.published is not None else "not identified"
            texts.append((f"{title}: {what}", "yellow"))
            continue
        passed = entry.default.passed
        lines = [each for each in comparison(entry) if each.kind == "parameter" and each.inside is not None]
        off = [each for each in lines if not each.inside]
        whose = "truth" if entry.truth is not None else "paper's value"
        count = f"{len(lines) - len(off)} of {len(lines)} intervals"
        text = f"{title}: {'passed' if passed else 'failed'}; the {whose} is inside {count}"
        text += f" (not {', '.join(each.name for each in off)})" if off else ""
        texts.append((text, "bold green" if passed else "bold red"))
        texts += [(f"- {reason}", "red") for reason in entry.default.data["verdict"]["reasons"]]
    return texts
