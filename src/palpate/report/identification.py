"""The page of an identification: its sections in order, and writing it with its figures and tables.

A section is a function (data, view) -> Section, or None where it has nothing to show. `data` is the content of
result.json; `view` is what a stage hands on beyond it, or None. Drop one, put one in, or write your own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.errors import UnknownName
from palpate.experiment.view import View
from palpate.files import write_text
from palpate.report import data_plots, fit_plots, model_plots
from palpate.report.page import Block, Figure, Folded, Lead, Section, Table, Words, figures_in, write_page
from palpate.report.paper import FORMATS, SUFFIXES, TABLE_FORMATS, Format, TableFormat, result_tables, save_figure
from palpate.report.plots import quantity, short, shown_in
from palpate.report.tables import errors_table, notes, parameters_table, segments_table, shapes_table

if TYPE_CHECKING:
    from palpate.experiment.result import Result
    from palpate.experiment.view import View


Data = Mapping[str, Any]
MakeSection = Callable[[Data, View | None], Section | None]
_WINDOWS = 4
"""Replay windows in sight; the others are folded."""
_LONG = 12
"""Rows from which a table is folded."""


def verdict(data: Data, view: View | None) -> Section | None:
    """The verdict in one sentence, what speaks against the result, and what to look at."""
    del view
    blocks: list[Block] = [Lead(verdict_sentence(data), bool(data["verdict"]["passed"]))]
    reasons = tuple(str(r) for r in data["verdict"]["reasons"])
    if len(reasons) > 1:
        blocks.append(remedies(reasons, "Why it failed"))
    blocks.append(at_a_glance(data))
    warnings = tuple(str(w) for w in data.get("warnings", ()))
    if warnings:
        blocks.append(remedies(warnings))
    return Section("Verdict", tuple(blocks))


def parameters(data: Data, view: View | None) -> Section | None:
    """Values with their three kinds of uncertainty and their status."""
    del view
    blocks: list[Block] = [parameters_table(data)]
    if "Ixx" in data["parameters"]:
        origin = "the sensor frame" if data.get("stage") == "handle" else "the body frame, the middle of the axle"
        blocks.append(Words(f"Inertias are matrix entries about the origin of {origin} (Ixy = -∫xy dm).", quiet=True))
    shapes = shapes_table(data)
    blocks += [shapes] if shapes is not None else []
    blocks += _figures(fit_plots.uncertainties(data))
    return Section("Parameters", tuple(blocks))


def errors(data: Data, view: View | None) -> Section | None:
    """Train, test and cross-validated errors."""
    del view
    table = errors_table(data)
    if table is None:
        return None
    each = segments_table(data)
    return Section("Errors", (table, *((Folded("Errors of each segment", (each,)),) if each is not None else ())))


def over_time(data: Data, view: View | None) -> Section | None:
    """Measured, estimated and residual of each channel."""
    if view is None:
        return None
    blocks: list[Block] = list(model_plots.over_time(view, "test"))
    for segment in ("train", "quasi_static"):
        figures = model_plots.over_time(view, segment)
        if figures:
            blocks.append(Folded(f"The same for the {segment.replace('_', '-')} segments", figures))
    band = data.get("rms_below_hz")
    if blocks and band is not None:
        blocks.insert(0, Words(f"Measured and estimated, both below {band:g} Hz, the band of the fit.", quiet=True))
    return Section("Over time", tuple(blocks))


def spring_and_damping(data: Data, view: View | None) -> Section | None:
    """The model over its coordinate, with what was measured."""
    del data
    if view is None:
        return None
    return Section(
        "Spring and damping",
        tuple(_figures(model_plots.holding(view), model_plots.damping_over_position(view))),
    )


def shapes(data: Data, view: View | None) -> Section | None:
    """How well the data tell borders and widths of zones."""
    del data
    return None if view is None else Section("Shapes", tuple(_figures(model_plots.profiles(view))))


def replay(data: Data, view: View | None) -> Section | None:
    """Measured force in, motion out."""
    return None if view is None else Section("Replay", tuple(_replay(data, view)))


def residuals(data: Data, view: View | None) -> Section | None:
    """Diagnostics: in time, in distribution, against the motion, by zone."""
    del data
    if view is None:
        return None
    blocks: list[Block] = list(_figures(fit_plots.correlation(view), fit_plots.distribution(view)))
    against = model_plots.residuals(view)
    shown = len(against) if view.main is not None else 1
    blocks += against[:shown]
    if against[shown:]:
        names = ", ".join(f.title.removeprefix("Residual against ") for f in against[shown:])
        blocks.append(Folded(f"Residuals against {names}", tuple(against[shown:])))
    zones, each = fit_plots.zones(view), fit_plots.by_segment(view)
    blocks += [zones] if zones is not None else []
    blocks += [Folded("Residual by segment", (each,))] if each is not None else []
    return Section("Residuals", tuple(blocks))


def conditioning(data: Data, view: View | None) -> Section | None:
    """The prior's weight, condition numbers, and the direction that the data hold least."""
    del view
    blocks: list[Block] = []
    weakest: Mapping[str, Any] = data.get("weakest_direction") or {}
    if weakest.get("text"):
        blocks.append(Words(f"Weakest direction: {weakest['text']}."))
    for table in (fit_plots.weakest_table(data), fit_plots.conditioning_table(data)):
        blocks += [table] if table is not None else []
    blocks += [Words(f"{text}.", quiet=True) for text in notes(data)]
    blocks += _figures(fit_plots.damping_curve(data))
    return Section("Conditioning and prior", tuple(blocks))


def recordings(data: Data, view: View | None) -> Section | None:
    """What the instruments wrote, and its quality."""
    del data
    table = None if view is None else data_plots.instruments_table(view)
    if view is None or table is None:
        return None
    channels = tuple(data_plots.channels_table(i) for i in view.instruments if i.channels)
    return Section("Recordings", (table, *((Folded("Range and noise of each channel", channels),) if channels else ())))


def clocks(data: Data, view: View | None) -> Section | None:
    """How the instruments' clocks stand to each other, and the evidence."""
    table = data_plots.clocks_table(data)
    blocks: list[Block] = [table] if table is not None else []
    blocks += [] if view is None else [data_plots.clock_figure(clock) for clock in view.clocks]
    return Section("Clocks", tuple(blocks))


def markers(data: Data, view: View | None) -> Section | None:
    """How well the markers fit a rigid body."""
    del data
    table = None if view is None else data_plots.markers_table(view)
    if view is None or table is None:
        return None
    faulty = tuple(table.rows[i] for i in table.marked)
    few: tuple[Block, ...] = (Table(table.headings, faulty, words=table.words),) if faulty else ()
    shown: tuple[Block, ...] = (
        (table,) if len(table.rows) <= _LONG else (*few, Folded(f"All {len(table.rows)} markers", (table,)))
    )
    words = Words(data_plots.markers_words(view))
    return Section("Markers", (words, *shown, *_figures(data_plots.marker_error(view))))


def frames(data: Data, view: View | None) -> Section | None:
    """Frames, markers and wrenches in space."""
    del data
    return None if view is None else Section("Frames and wrenches", tuple(_figures(data_plots.scene(view))))


def excitation(data: Data, view: View | None) -> Section | None:
    """How much there was of each motion."""
    single = view is not None and view.main is not None
    blocks: list[Block] = []
    if view is not None and single:
        table = data_plots.directions(view)
        blocks += [*([table] if table is not None else []), *_figures(data_plots.travel(view))]
    else:
        blocks += data_plots.excitation(data, view) or ()
    return Section("Excitation", tuple(blocks))


def origin(data: Data, view: View | None) -> Section | None:
    """Files with their checksums, segments, versions and settings."""
    return Section("Origin", tuple(_origin(data, view)))


SECTIONS: Mapping[str, MakeSection] = MappingProxyType(
    {
        "verdict": verdict,
        "parameters": parameters,
        "errors": errors,
        "over_time": over_time,
        "spring_and_damping": spring_and_damping,
        "shapes": shapes,
        "replay": replay,
        "residuals": residuals,
        "conditioning": conditioning,
        "recordings": recordings,
        "clocks": clocks,
        "markers": markers,
        "frames": frames,
        "excitation": excitation,
        "origin": origin,
    }
)
"""Name -> what makes the section, in the order of the page."""


def _figures(*figures: Figure | None) -> list[Figure]:
    return [figure for figure in figures if figure is not None]


def _replay(data: Data, view: View) -> Iterator[Block]:
    windows = list(view.replay)
    if not windows or windows[0].curves[1:]:
        table = data_plots.replay_table(data)
        yield from () if table is None else (table,)
        yield from _figures(model_plots.replay(windows))
        return
    unit = windows[0].curves[0].unit
    shown = shown_in(unit)
    off = shown.factor * np.array([w.curves[0].rms for w in windows])
    told: Mapping[str, Any] = data.get("replay") or {}
    pooled = float(np.sqrt(np.mean(off**2)))
    if told.get("rms") is not None:  # the same number as on the terminal
        pooled = shown.factor * float(told["rms"])
    every, middle, worst = (f"{short(v)} {shown.unit}" for v in (pooled, float(np.median(off)), float(off.max())))
    yield Words(
        f"RMS error of the {quantity(unit)}: {every} over all windows, {middle} in the median window, {worst} in the "
        "worst."
    )
    yield from _figures(model_plots.replay(windows[:_WINDOWS]))
    rest = model_plots.replay(windows[_WINDOWS:])
    if rest is not None:
        yield Folded(f"{len(windows) - _WINDOWS} more windows", (rest,))


def _origin(data: Data, view: View | None) -> Iterator[Block]:
    found: Mapping[str, Any] = data.get("provenance", {})
    files = [found["experiment"]] if "experiment" in found else []
    files += found.get("recordings", ())
    if files:
        rows = tuple((str(f["file"]), str(f["sha256"])) for f in files)
        yield Table(("file", "SHA-256"), rows, words=(0, 1))
    segments: Mapping[str, Any] = found.get("segments") or ({} if view is None else view.segments)
    spans = tuple(
        (name.replace("_", "-"), ", ".join(f"{a:g} to {b:g}" for a, b in value))
        for name, value in segments.items()
        if name != "unit" and value
    )
    if spans:
        yield Table(("segment", "from, to (s)"), spans, words=(0, 1))
    settings = [(k, str(found[k])) for k in ("palpate", "python", "numpy") if k in found]
    for key in ("filtering", "derivatives"):
        part: Mapping[str, Any] = found.get(key) or {}
        settings += [(f"{key}: {k.replace('_', ' ')}", _value(v)) for k, v in part.items() if v is not None]
    if found.get("low_pass_hz") is not None:
        settings.append(("low-pass, Hz", f"{found['low_pass_hz']:.4g}"))
    if settings:
        yield Folded("Versions and settings", (Table(("setting", "value"), tuple(settings), words=(0, 1)),))


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


_IMPERATIVES = (
    "add",
    "ask",
    "calibrate",
    "check",
    "correct",
    "declare",
    "export",
    "fix",
    "for",
    "give",
    "leave",
    "let",
    "look",
    "measure",
    "move",
    "name",
    "open",
    "put",
    "record",
    "repeat",
    "say",
    "shake",
    "state",
    "swap",
    "take",
    "to know",
    "try",
    "turn",
    "use",
    "weigh",
    "zero",
    "`",
)
_TURNS = re.compile(rf"(?:; |: |\. |\? )(?=(?:{'|'.join(_IMPERATIVES)})\b|`)", re.IGNORECASE)
_HINTS = (
    ("extrapolated", "move the object there too, in the train segments"),
    ("quasi-static", "record a slow sweep and name it in segments.quasi_static"),
    ("not identifiable", "excite it: move the object so that this effect acts, or leave the element out"),
    ("not in the data", "cross that border at speed in both directions, or keep it as given"),
    ("prior", "move the object more, or declare the prior's spread as it is"),
    ("kappa", "vary the motion: each direction, fast and slow"),
    ("drift", "nothing to do: it is taken into account"),
    ("gap", "keep the markers in sight, or leave that time out of the segments"),
    ("stop", "state stops:, or keep away from them"),
    ("noise", "filter less, or use a quieter instrument"),
    ("replay", "look at the windows in the section Replay"),
    ("moved", "nothing to do where it was repaired; glue it better next time"),
    ("swapped", "nothing to do: it was repaired; label it again in the capture software to be sure"),
)
"""What helps, by a word of the message, where the message itself does not say it."""


def verdict_sentence(data: Mapping[str, Any]) -> str:
    """Passed or failed, how well unseen data are explained, and what stands behind the parameters."""
    verdict, what = data["verdict"], _subject(data)
    if not verdict["passed"]:
        reasons = [str(r) for r in verdict["reasons"]]
        if not reasons:
            return f"Failed: the model of {what} is not to be trusted."
        why, helps = split_remedy(reasons[0])
        more = f" {len(reasons) - 1} more reason{'s' if len(reasons) > 2 else ''} below." if reasons[1:] else ""
        return f"Failed: the model of {what} is not to be trusted, because {why}; {helps}.{more}"
    worst = worst_error(data)
    explains = "" if worst is None else f"explains unseen data to {short(worst[1])} % of their range"
    if worst is not None and len(data["rms"]["test"]) > 1:
        explains += f" in the worst channel ({worst[0]})"
    said = f"the model of {what} {explains or 'met every quality gate'}"
    return f"Passed: {said}; {parameters_in_words(data)}."


def parameters_in_words(data: Mapping[str, Any]) -> str:
    """How many parameters come from the data, and which do not."""
    by: dict[str, list[str]] = {}
    for name, entry in data["parameters"].items():
        by.setdefault(entry["status"], []).append(name)
    asked = {s: names for s, names in by.items() if s != "fixed"}
    total, known = sum(len(n) for n in asked.values()), len(asked.get("identified", ()))
    if total == known:
        words = f"all {total} parameters are identified"
    elif len(asked.get("prior-dominated", ())) == total:
        return f"all {total} parameters lean on the prior" + (f" ({len(by['fixed'])} fixed)" if "fixed" in by else "")
    else:
        words = f"{known} of {total} parameters are identified"
    if "prior-dominated" in asked:
        words += f", {_listed(asked['prior-dominated'])} lean{'s' * (len(asked['prior-dominated']) == 1)} on the prior"
    if "not-identifiable" in asked:
        words += (
            f", {_listed(asked['not-identifiable'])} {'is' if len(asked['not-identifiable']) == 1 else 'are'} not known"
        )
    return words + (f" ({len(by['fixed'])} fixed)" if "fixed" in by else "")


def worst_error(data: Mapping[str, Any]) -> tuple[str, float] | None:
    """Channel and test error in percent of its range, where that is largest."""
    found = {n: e["percent_of_range"] for n, e in data.get("rms", {}).get("test", {}).items()}
    known = {n: float(v) for n, v in found.items() if v is not None}
    return max(known.items(), key=lambda item: item[1]) if known else None


def at_a_glance(data: Mapping[str, Any]) -> Table:
    """The few numbers that people ask for first."""
    rows: list[tuple[str, str]] = [("parameters", parameters_in_words(data))]
    for name, entry in data.get("rms", {}).get("test", {}).items():
        percent = entry["percent_of_range"]
        share = "" if percent is None else f", {percent:.2f} % of range"
        rows.append((f"test error of {name} (RMS)", f"{entry['value']:.3g} {entry['unit']}{share}"))
    if "kappa" in data:
        kappa = data["kappa"]
        rows.append(("kappa, from data alone", "infinite" if kappa is None else f"{kappa:.1f} (limit 100)"))
    replay: Mapping[str, Any] = data.get("replay") or {}
    if replay.get("rms") is not None:
        rows.append(("replay, force in, motion out", _replayed(replay)))
    segments = data.get("provenance", {}).get("segments", {})
    lengths = [
        f"{name.replace('_', '-')} {sum(b - a for a, b in spans):.0f} s"
        for name, spans in segments.items()
        if name != "unit" and spans
    ]
    if lengths:
        rows.append(("data", ", ".join(lengths)))
    return Table(("at a glance", "result"), tuple(rows), words=(0, 1))


def remedies(warnings: tuple[str, ...], title: str = "") -> Table:
    """Each warning beside what helps."""
    rows = tuple(split_remedy(text) for text in warnings)
    title = title or _plural(len(rows), "Warning")
    return Table(("what was noticed", "what helps"), rows, title=title, words=(0, 1), prose=True)


def split_remedy(text: str) -> tuple[str, str]:
    """A message as what is wrong, and what to do about it: its own advice, else that for its kind."""
    found = _TURNS.search(text)
    if found is not None:
        return _sentence(text[: found.start() + (1 if text[found.start()] in ".?" else 0)]), _sentence(
            text[found.end() :]
        )
    advice = next(
        (hint for word, hint in _HINTS if word in text.lower()), "look at the figures before you use the model"
    )
    return _sentence(text), _sentence(advice)


def _replayed(replay: Mapping[str, Any]) -> str:
    unit = str(replay.get("unit", "rad"))
    value, shown = (57.29577951308232 * replay["rms"], "deg") if unit == "rad" else (replay["rms"], unit)
    windows = f" over {replay['windows']} windows" if "windows" in replay else ""
    length = f" of {replay['window_s']:g} s" if "window_s" in replay else ""
    return f"{short(value)} {shown} RMS{windows}{length}"


def _subject(data: Mapping[str, Any]) -> str:
    return "the handle" if data.get("stage") == "handle" else f"the {data.get('model_of', 'body')}"


def _listed(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _sentence(text: str) -> str:
    """As the terminal has it, so that people find it there."""
    return text.strip().rstrip(".;:,")


def write_report(
    path: str | Path, result: Result | Mapping[str, Any], *, sections: Mapping[str, MakeSection] | None = None
) -> Path:
    """Write the page of a result: one HTML file that needs no network and no other file.

    `sections`: name -> function (data, view) -> Section or None, in the order of the page; `SECTIONS` by default. The
    content of a result.json instead of a result gives the page without the figures that need the recordings.

        mine = {**SECTIONS, "grip": my_section}
        write_report("report.html", result, sections=mine)
        write_report("short.html", result, sections=without("clocks", "markers"))
    """
    data, view = _parts(result)
    write_page(Path(path), str(data["title"]), report_sections(result, sections), subtitle=_subtitle(data, view))
    return Path(path)


def write_figures(
    folder: str | Path,
    result: Result | Mapping[str, Any],
    *,
    format: Format = "svg",  # noqa: A002
    sections: Mapping[str, MakeSection] | None = None,
) -> list[Path]:
    """Draw every figure of the report as a file for a paper (SVG or PDF, 180 mm wide); returns their paths."""
    if format not in FORMATS:
        raise UnknownName("format of figures", format, FORMATS)
    found = [f for section in report_sections(result, sections) for f in figures_in(section.blocks)]
    paths = [Path(folder) / f"{i + 1:02d}-{_slug(f.title)}.{format}" for i, f in enumerate(found)]
    for path, figure in zip(paths, found, strict=True):
        save_figure(path, figure)
    return paths


def write_tables(
    folder: str | Path,
    result: Result | Mapping[str, Any],
    *,
    format: TableFormat = "csv",  # noqa: A002
) -> list[Path]:
    """Write parameters, errors and zones as CSV (all digits, SI) or LaTeX (rounded); returns their paths."""
    if format not in TABLE_FORMATS:
        raise UnknownName("format of tables", format, TABLE_FORMATS)
    texts = result_tables(_parts(result)[0], format)
    paths = [Path(folder) / f"{name}{SUFFIXES[format]}" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        write_text(path, text)
    return paths


def report_sections(
    result: Result | Mapping[str, Any], sections: Mapping[str, MakeSection] | None = None
) -> list[Section]:
    """What the page shows; a section without anything to show is left out."""
    data, view = _parts(result)
    made = (make(data, view) for make in (SECTIONS if sections is None else sections).values())
    return [section for section in made if section is not None and section.blocks]


def without(*names: str) -> dict[str, MakeSection]:
    """The usual sections but these."""
    check_names(names)
    return {name: make for name, make in SECTIONS.items() if name not in names}


def check_names(names: Iterable[str]) -> None:
    """Refuse names that no section has."""
    for name in names:
        if name not in SECTIONS:
            raise UnknownName("section of the report", name, SECTIONS)


def _parts(result: Result | Mapping[str, Any]) -> tuple[Mapping[str, Any], View | None]:
    return (result, None) if isinstance(result, Mapping) else (result.data, result.view)


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].strip("-")


def _subtitle(data: Mapping[str, Any], view: View | None) -> str:
    source = data.get("provenance", {}).get("experiment", {}).get("file")
    parts = [] if view is None else [f"object {view.model.name}"]
    parts += [f"model of the {data['model_of']}"] if "model_of" in data else []
    parts += [f"identified from {source}"] if source else []
    return ", ".join(parts)
