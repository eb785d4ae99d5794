"""The page of an identification: its sections in order, and writing it with its figures and tables.

A section is a function (data, view) -> Section, or None where it has nothing to show. `data` is the content of
result.json; `view` is what a stage hands on beyond it, or None. Drop one, put one in, or write your own.
"""

# ruff: noqa: A002
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from palpate.errors import UnknownName
from palpate.experiment import tables
from palpate.experiment.stage.body import MarkedBody
from palpate.experiment.stage.result import Result
from palpate.experiment.stage.view import View
from palpate.files import write_text
from palpate.findings import Severity
from palpate.physics.arrays import rms
from palpate.physics.units import quantity
from palpate.report import fit_plots, inspection, model_plots
from palpate.report.feel import feel
from palpate.report.page import Block, Picture, Section, Words, figures_in, fold, folded, section, write_page
from palpate.report.paper import FORMATS, SUFFIXES, TABLE_FORMATS, Format, TableFormat, result_tables, save_figure
from palpate.report.plots import short
from palpate.report.sketch import sketch
from palpate.tables import Table

Data = Mapping[str, Any]
MakeSection = Callable[[Data, View | None], Section | None]
Sections = Mapping[str, MakeSection]
_LONG = 12
"""Rows from which a table is folded."""
_OTHERWISE = (
    ("uncertain", "is uncertain", "are uncertain"),
    ("prior-dominated", "leans on the prior", "lean on the prior"),
    ("not-identifiable", "is not known", "are not known"),
)


# --- verdict ----------------------------------------------------------------------------------------------------------


def _verdict(data: Data, _: View | None) -> Iterator[Block | None]:
    against, warnings = findings_table(data, fatal=True), findings_table(data, fatal=False)
    yield Words(verdict_sentence(data), "good" if data["verdict"]["passed"] else "bad")
    if not len(against.rows) == 1 == len(against.headings):  # else the sentence says it already
        yield against
    yield from (at_a_glance(data), warnings)


def _findings(data: Data, *, fatal: bool) -> list[tuple[str, str, str]]:
    """Place, evidence and remedy of what fails the verdict, or of what does not; of a result without findings its
    sentences.
    """
    findings: Iterable[Data] = data.get("findings") or ()
    chosen = [f for f in findings if (f["severity"] == Severity.FATAL) is fatal]
    if chosen:
        return [(f["place"], f["evidence"], f["remedy"]) for f in chosen]
    return [("", str(s), "") for s in (data["verdict"]["reasons"] if fatal else data.get("warnings", ()))]


def findings_table(data: Data, *, fatal: bool) -> Table:
    """What fails the verdict, or what does not but should be known: where, what was noticed, and what helps."""
    rows = list(dict.fromkeys(_findings(data, fatal=fatal)))
    title = "Why it failed" if fatal else "Warnings" if len(rows) > 1 else "Warning"
    headings = ("where", "what was noticed", "what helps")
    used = [i for i in range(3) if i == 1 or any(row[i] for row in rows)]
    cells = tuple(tuple(row[i] for i in used) for row in rows)
    return Table(tuple(headings[i] for i in used), cells, title, tuple(range(len(used))), prose=True)


def verdict_sentence(data: Data) -> str:
    """Passed or failed, how well unseen data are explained, and what stands behind the parameters."""
    what = "the handle" if data.get("stage") == "handle" else f"the {data.get('model_of', 'body')}"
    if not data["verdict"]["passed"]:
        rows = list(dict.fromkeys(_findings(data, fatal=True)))
        place, evidence, _ = rows[0] if rows else ("", "", "")
        why = f": {place + ': ' if place else ''}{evidence}" if evidence else ""
        more = f" {len(rows) - 1} more reason{'s' if len(rows) > 2 else ''} below." if rows[1:] else ""
        return f"Failed: the model of {what} is not to be trusted{why}.{more}"
    percents = {n: e["percent_of_range"] for n, e in data.get("rms", {}).get("test", {}).items()}
    known = {n: float(v) for n, v in percents.items() if v is not None}
    explains = "met every quality gate"
    if known:
        worst = max(known, key=lambda n: known[n])
        explains = f"explains unseen data to {short(known[worst])} % of their range"
        explains += f" in the worst channel ({worst})" if len(percents) > 1 else ""
    return f"Passed: the model of {what} {explains}; {parameters_in_words(data)}."


def parameters_in_words(data: Data) -> str:
    """How many parameters come from the data, and which do not."""
    by: dict[str, list[str]] = {}
    for name, entry in data["parameters"].items():
        by.setdefault(entry["status"], []).append(name)
    fixed = f" ({len(by.pop('fixed'))} fixed)" if "fixed" in by else ""
    total, known = sum(len(names) for names in by.values()), len(by.get("identified", ()))
    if total and len(by.get("prior-dominated", ())) == total:
        return f"all {total} parameters lean on the prior{fixed}"
    words = f"{f'all {total}' if total == known else f'{known} of {total}'} parameters are identified"
    for status, one, several in _OTHERWISE:
        names = by.get(status, [])
        listed = ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"
        words += f", {listed} {one if len(names) == 1 else several}" if names else ""
    return words + fixed


def at_a_glance(data: Data) -> Table:
    """The few numbers that people ask for first."""
    rows: list[tuple[str, str]] = [("parameters", parameters_in_words(data))]
    for name, entry in data.get("rms", {}).get("test", {}).items():
        percent = entry["percent_of_range"]
        share = "" if percent is None else f", {percent:.2f} % of range"
        rows.append((f"test error of {name} (RMS)", f"{entry['value']:.3g} {entry['unit']}{share}"))
    if "kappa" in data:
        limit = "" if data["kappa"] is None else " (limit 100)"
        rows.append(("kappa, from data alone", tables.condition(data["kappa"]) + limit))
    replay: Data = data.get("replay") or {}
    if replay.get("rms") is not None:
        rows.append(("replay, force in, motion out", tables.replay_words(replay)))
    lengths = [
        f"{name.replace('_', '-')} {sum(b - a for a, b in spans):.0f} s"
        for name, spans in data.get("provenance", {}).get("segments", {}).items()
        if name != "unit" and spans
    ]
    rows += [("data", ", ".join(lengths))] if lengths else []
    return Table(("at a glance", "result"), tuple(rows), words=(0, 1))


# --- sections ---------------------------------------------------------------------------------------------------------


def _parameters(data: Data, view: View | None) -> Iterator[Block | None]:
    if view is not None:
        yield Picture(sketch(view.model.of_object()), "Where each parameter acts; faint: where it has moved.")
    yield tables.parameter_table(data)
    yield Words(tables.inertia_note(data), "quiet") if "Ixx" in data["parameters"] else None
    yield from (tables.shape_table(data), fit_plots.uncertainties(data))


def _over_time(data: Data, view: View) -> Iterator[Block | None]:
    """Measured, estimated and residual of each channel."""
    test = model_plots.over_time(view, "test")
    others = [
        fold(f"The same for the {segment.replace('_', '-')} segments", *model_plots.over_time(view, segment))
        for segment in ("train", "quasi_static")
    ]
    band = data.get("rms_below_hz") if test or any(others) else None
    yield Words(f"Measured and estimated, both below {band:g} Hz, the band of the fit.", "quiet") if band else None
    yield from (*test, *others)


def _replay(data: Data, view: View) -> Iterator[Block | None]:
    """Measured force in, motion out."""
    windows, entry = list(view.replay), cast("Data", data.get("replay") or {})
    parts: Mapping[str, Any] = entry.get("coordinates") or {}
    if parts:
        sizes = [tables.size(e["value"], e["unit"], ".3g").split(" ") for e in parts.values()]
        rows = tuple((name, *cells) for name, cells in zip(parts, sizes, strict=True))
        note = f"Over {entry.get('windows', '?')} windows of {entry.get('window_s', float('nan')):g} s each."
        yield Table(("replay", "RMS error", "unit"), rows, words=(0, 2), note=note)
    elif windows:
        unit = windows[0].tracks[0].unit
        each = np.array([w.tracks[0].rms for w in windows])
        # the same number as on the terminal, where it is there
        pooled = rms(each) if entry.get("rms") is None else float(entry["rms"])
        whole, middle, worst = (tables.size(v, unit) for v in (pooled, float(np.median(each)), float(each.max())))
        yield Words(
            f"RMS error of the {quantity(unit)}: {whole} over all windows, {middle} in the median window, {worst} in "
            "the worst."
        )
    yield model_plots.replay(windows)


def _residuals(data: Data, view: View) -> Iterator[Block | None]:
    """What would explain them; in time, in distribution, against the motion, by zone."""
    against = model_plots.residuals(view)
    shown, rest = (against, []) if view.main is not None else (against[:1], against[1:])
    yield from (fit_plots.lack_table(data), fit_plots.effects(data))
    yield from (fit_plots.correlation(view), fit_plots.distribution(view), *shown)
    yield fold(f"Residuals against {', '.join(f.title.removeprefix('Residual against ') for f in rest)}", *rest)


def _conditioning(data: Data, _: View | None) -> Iterator[Block | None]:
    """The prior's weight, condition numbers, and the direction that the data hold least."""
    weakest: Data = data.get("weakest_direction") or {}
    yield Words(f"Weakest direction: {weakest['text']}.") if weakest.get("text") else None
    yield tables.conditioning_table(data)
    yield from (Words(f"{note}.", "quiet") for note in tables.notes(data))
    yield fit_plots.damping_curve(data)


def _markers(_: Data, view: View) -> Iterator[Block | None]:
    if isinstance(view.body, MarkedBody):
        yield Words(inspection.body_line(view.body))
        yield folded(inspection.markers_table(view.body), f"All {len(view.body.raw.names)} markers", _LONG)
        yield inspection.error_over_time(view.body)


def _recordings(data: Data, view: View) -> Iterator[Block | None]:
    held = {} if view.body is None else {view.body.key: (view.body.recording, ())}
    held |= {key: (i.recording, i.channels) for key, i in view.instruments.items()}
    parts = [(tables.device_word(key), r, inspection.describe(r, names=names)) for key, (r, names) in held.items()]
    clocks = {f"{word}, {Path(said['file']).name}": said["clocks"][0] for word, _, said in parts}
    yield inspection.sampling_table(clocks)
    causes: dict[str, list[str]] = {}
    for f in data.get("findings") or ():
        causes.setdefault(f["place"], []).append(f["cause"])
    used: list[Table] = []
    for word, recording, said in (part for part in parts if part[2]["channels"]):
        faults = {c["name"]: causes.get(f"channel {c['name']!r}", []) for c in said["channels"]}
        used.append(inspection.channels_table(recording, said, f"{word}: channels", faults))
    yield fold("Range and noise of each channel", *used)


def _clocks(data: Data, view: View | None) -> Iterator[Block | None]:
    yield tables.clocks_table(data)
    offsets = {} if view is None else {name: i.offset for name, i in view.instruments.items() if i.offset is not None}
    yield from (fit_plots.clock_figure(*pair) for pair in offsets.items())


def _origin(data: Data, view: View | None) -> Iterator[Block | None]:
    """Files with their checksums, segments, versions and settings."""
    source: dict[str, Any] = data.get("provenance", {})
    files = [*([source["experiment"]] if "experiment" in source else []), *source.get("recordings", ())]
    segments: Mapping[str, Any] = source.get("segments") or ({} if view is None else view.segments)
    spans = {n: ", ".join(f"{a:g} to {b:g}" for a, b in v) for n, v in segments.items() if n != "unit" and v}
    held = {key: source.get(key) for key in ("palpate", "python", "numpy")}
    for part in ("filtering", "derivatives"):
        held |= {f"{part}: {key}": value for key, value in dict[str, Any](source.get(part) or {}).items()}
    held["low-pass, Hz"] = source.get("low_pass_hz")
    shown = {k: f"{v:.6g}" if isinstance(v, float) else str(v) for k, v in held.items() if v is not None}
    yield Table(("file", "SHA-256"), tuple((str(f["file"]), str(f["sha256"])) for f in files), words=(0, 1))
    yield Table(("segment", "from, to (s)"), tuple((n.replace("_", "-"), v) for n, v in spans.items()), words=(0, 1))
    settings = tuple((k.replace("_", " "), v) for k, v in shown.items())
    yield fold("Versions and settings", Table(("setting", "value"), settings, words=(0, 1)))


def _of_data(title: str, blocks: Callable[[Data, View | None], Iterable[Block | None]]) -> MakeSection:
    return lambda data, view: section(title, *blocks(data, view))


def _of_view(title: str, blocks: Callable[[Data, View], Iterable[Block | None]]) -> MakeSection:
    return lambda data, view: None if view is None else section(title, *blocks(data, view))


SECTIONS: Sections = {
    "verdict": _of_data("Verdict", _verdict),
    "parameters": _of_data("Parameters", _parameters),
    "feel": _of_view("Push it", lambda data, view: (feel(data, view),)),
    "errors": _of_data(
        "Errors",
        lambda data, _: (tables.rms_table(data), fold("Errors of each segment", tables.segments_table(data))),
    ),
    "over_time": _of_view("Over time", _over_time),
    "spring_and_damping": _of_view(
        "Spring and damping", lambda _, view: (model_plots.holding(view), model_plots.damping_over_position(view))
    ),
    "shapes": _of_view("Shapes", lambda _, view: (model_plots.profiles(view),)),
    "replay": _of_view("Replay", _replay),
    "residuals": _of_view("Residuals", _residuals),
    "conditioning": _of_data("Conditioning and prior", _conditioning),
    "recordings": _of_view("Recordings", _recordings),
    "clocks": _of_data("Clocks", _clocks),
    "motion": _of_data("Motion", lambda data, _: (tables.motion_table(data),)),
    "markers": _of_view("Markers", _markers),
    "frames": _of_view("Frames and wrenches", lambda _, v: (fit_plots.scene(v.scene) if v.scene else None,)),
    "excitation": _of_data(
        "Excitation",
        lambda data, view: fit_plots.travel(view, view.main) if view and view.main else (fit_plots.excitation(data),),
    ),
    "origin": _of_data("Origin", _origin),
}
"""Name -> what makes the section, in the order of the page."""


# --- writing ----------------------------------------------------------------------------------------------------------


def write_report(path: str | Path, result: Result | Data, *, sections: Sections | None = None) -> Path:
    """Write the page of a result: one HTML file that needs no network and no other file.

    `sections`: name -> function (data, view) -> Section or None, in the order of the page; `SECTIONS` by default. The
    content of a result.json instead of a result gives the page without the figures that need the recordings.

        mine = {**SECTIONS, "grip": my_section}
        write_report("report.html", result, sections=mine)
        write_report("short.html", result, sections=without("clocks", "markers"))
    """
    data, view = _parts(result)
    file = data.get("provenance", {}).get("experiment", {}).get("file")
    subtitle = [] if view is None else [f"object {view.model.name}"]
    subtitle += [f"model of the {data['model_of']}"] if "model_of" in data else []
    subtitle += [f"identified from {file}"] if file else []
    subtitle += ["simulated data"] if data.get("provenance", {}).get("simulated") else []
    write_page(Path(path), str(data["title"]), report_sections(result, sections), subtitle=", ".join(subtitle))
    return Path(path)


def write_figures(
    folder: str | Path, result: Result | Data, *, format: Format = "svg", sections: Sections | None = None
) -> list[Path]:
    """Draw every figure of the report as a file for a paper (SVG or PDF, 180 mm wide); returns their paths."""
    if format not in FORMATS:
        raise UnknownName("format of figures", format, FORMATS)
    figures = [f for section in report_sections(result, sections) for f in figures_in(section.blocks)]
    slugs = [re.sub(r"[^a-z0-9]+", "-", f.title.lower()).strip("-")[:60].strip("-") for f in figures]
    paths = [Path(folder) / f"{i:02d}-{slug}.{format}" for i, slug in enumerate(slugs, start=1)]
    for path, figure in zip(paths, figures, strict=True):
        save_figure(figure, path)
    return paths


def write_tables(folder: str | Path, result: Result | Data, *, format: TableFormat = "csv") -> list[Path]:
    """Write parameters, errors and zones as CSV (all digits, SI) or LaTeX (rounded); returns their paths."""
    if format not in TABLE_FORMATS:
        raise UnknownName("format of tables", format, TABLE_FORMATS)
    texts = result_tables(_parts(result)[0], format)
    paths = [Path(folder) / f"{name}{SUFFIXES[format]}" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        write_text(path, text)
    return paths


def report_sections(result: Result | Data, sections: Sections | None = None) -> list[Section]:
    """What the page shows; a section without anything to show is left out."""
    data, view = _parts(result)
    made = (make(data, view) for make in (SECTIONS if sections is None else sections).values())
    return [section for section in made if section is not None and section.blocks]


def without(*names: str) -> dict[str, MakeSection]:
    """The usual sections but these; names that no section has are refused."""
    for name in names:
        if name not in SECTIONS:
            raise UnknownName("section of the report", name, SECTIONS)
    return {name: make for name, make in SECTIONS.items() if name not in names}


def _parts(result: Result | Data) -> tuple[Data, View | None]:
    return (result, None) if isinstance(result, Mapping) else (result.data, result.view)
