"""The sections of the report of an identification, in order: drop one, put one in, or write your own.

A section is a function (data, view) -> Section, or None where it has nothing to show. `data` is the content of
result.json; `view` is what a stage hands on beyond it, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from palpate.experiment.body_view import View
from palpate.report import body_plots, body_position_plots, data_plots, prior_plots, residual_plots
from palpate.report.body_curves import first_coordinate, quantity, short, shown_in
from palpate.report.notes import notes
from palpate.report.page import Block, Figure, Folded, Lead, Section, Table, Words
from palpate.report.result_tables import errors_table, parameters_table, segments_table, shapes_table
from palpate.report.verdict import at_a_glance, remedies, verdict_sentence

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
    blocks += _figures(prior_plots.uncertainties(data))
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
    blocks: list[Block] = list(body_plots.over_time(view, "test"))
    for segment in ("train", "quasi_static"):
        figures = body_plots.over_time(view, segment)
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
        tuple(_figures(body_position_plots.holding(view), body_position_plots.damping_over_position(view))),
    )


def shapes(data: Data, view: View | None) -> Section | None:
    """How well the data tell borders and widths of zones."""
    del data
    return None if view is None else Section("Shapes", tuple(_figures(body_plots.profiles(view))))


def replay(data: Data, view: View | None) -> Section | None:
    """Measured force in, motion out."""
    return None if view is None else Section("Replay", tuple(_replay(data, view)))


def residuals(data: Data, view: View | None) -> Section | None:
    """Diagnostics: in time, in distribution, against the motion, by zone."""
    del data
    if view is None:
        return None
    blocks: list[Block] = list(_figures(residual_plots.correlation(view), residual_plots.distribution(view)))
    blocks += body_position_plots.residuals(view)
    good = residual_plots.compared(view)
    if first_coordinate(view) is None:
        found = residual_plots.motion_of(view).items()
        drawn = [body_position_plots.residuals_against(view, n, unit, x, good) for n, (unit, x) in found]
        against = tuple(f for f in drawn if f is not None)
        blocks += against[:1]
        if against[1:]:
            names = ", ".join(f.title.removeprefix("Residual against ") for f in against[1:])
            blocks.append(Folded(f"Residuals against {names}", against[1:]))
    zones, each = residual_plots.zones(view), residual_plots.by_segment(view)
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
    for table in (prior_plots.weakest_table(data), prior_plots.conditioning_table(data)):
        blocks += [table] if table is not None else []
    blocks += [Words(f"{text}.", quiet=True) for text in notes(data)]
    blocks += _figures(prior_plots.damping_curve(data))
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
    single = view is not None and first_coordinate(view) is not None
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
    windows = view.replay
    if not windows:
        table = data_plots.replay_table(data)
        yield from () if table is None else (table,)
        yield from _figures(body_plots.replayed(view))
        return
    coordinate = first_coordinate(view)
    unit = "rad" if coordinate is None else coordinate[1]
    shown = shown_in(unit)
    off = shown.factor * np.array([w.rms_rad for w in windows])
    told: Mapping[str, Any] = data.get("replay") or {}
    pooled = float(np.sqrt(np.mean(off**2)))
    if told.get("rms") is not None:  # the same number as on the terminal
        pooled = shown.factor * float(told["rms"])
    every, middle, worst = (f"{short(v)} {shown.unit}" for v in (pooled, float(np.median(off)), float(off.max())))
    yield Words(
        f"RMS error of the {quantity(unit)}: {every} over all windows, {middle} in the median window, {worst} in the "
        "worst."
    )
    yield from _figures(body_plots.replay(view, windows[:_WINDOWS]))
    rest = body_plots.replay(view, windows[_WINDOWS:])
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
