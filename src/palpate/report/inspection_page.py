"""An inspection as one HTML page: findings first, then the recordings, markers, clocks, vertical and motion."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.inspection import Inspection
from palpate.experiment.motion import CapturedMotion
from palpate.motion.markers import markers_of
from palpate.recording import Channel, Recording
from palpate.report import clock_plots, marker_plots, motion_plots
from palpate.report import inspection_tables as tables
from palpate.report.page import Block, Figure, Folded, Heading, Json, Remarks, Section, Table, Words, write_page
from palpate.report.plots import layout, line, time_axis

_LONG, _FEW = 16, 8
"""Rows from which a table is folded, and up to which those with a fault stay in sight."""
_MOST_FIGURES = 8
_TRACES = 6
"""Of signals, in a recording and in a figure."""


def write_inspection(path: Path, inspection: Inspection) -> None:
    """Write the page; it needs no network and no other file."""
    count = len(inspection.recordings)
    subtitle = f"{count} recording{'s' if count != 1 else ''}"
    if inspection.reference and inspection.devices:
        subtitle += f", clocks compared with that of {tables.DEVICES.get(inspection.reference, inspection.reference)}"
    sections = inspection_sections(inspection)
    write_page(path, inspection.title or "Inspection of recordings", sections, subtitle=subtitle)


def inspection_sections(inspection: Inspection) -> list[Section]:
    """What the page shows; a section without data has no blocks and is left out."""
    motion = inspection.motion
    return [
        Section("Findings", tuple(_findings(inspection))),
        Section("Recordings", tuple(b for r in inspection.recordings for b in _recording(r, inspection))),
        Section("Markers", tuple(_markers(inspection))),
        Section("Clocks", tuple(_clocks(inspection))),
        Section("Vertical and placement", tuple(_placement(motion)) if motion is not None else ()),
        Section("Derivatives", tuple(_derivatives(motion)) if motion is not None else ()),
        Section("Hinge", tuple(_hinge(motion)) if motion is not None else ()),
        Section("Wheel", tuple(_wheel(motion)) if motion is not None else ()),
    ]


def _findings(inspection: Inspection) -> list[Block]:
    if not inspection.findings:
        return [Words("Nothing conspicuous was found.")]
    return [Remarks(kind, sentences, fatal) for kind, fatal, sentences in tables.grouped(inspection.findings)]


# --- recordings -------------------------------------------------------------------------------------------------------


def _recording(recording: Recording, inspection: Inspection) -> list[Block]:
    table, name = tables.channels_table(recording), recording.source.name if recording.source else "recording"
    blocks: list[Block] = [Heading(f"{name} ({recording.format})" if recording.format else name)]
    blocks += [Words(text, quiet=True) for text in tables.clock_lines(recording)]
    if len(table.rows) > _LONG:
        faulty = tuple(table.rows[i] for i in table.marked)
        blocks += [Table(table.headings, faulty, words=table.words)] if 0 < len(faulty) <= _FEW else []
        blocks.append(Folded(f"All {len(table.rows)} channels", (table,)))
    else:
        blocks.append(table)
    if inspection.body is None:
        blocks += _hidden_markers(recording)
    return [*blocks, *_signals(recording)]


def _hidden_markers(recording: Recording) -> list[Block]:
    """When markers were hidden that could not be taken for a body."""
    names = [n for n, c in recording.channels.items() if c.samples.ndim == 2 and c.unit == "m" and len(c.samples)]
    if not any(recording.channels[name].missing for name in names):
        return []
    try:
        return [marker_plots.seen_markers(markers_of(recording, names))]
    except DataProblem:  # several clocks
        return []


def _signals(recording: Recording) -> list[Block]:
    """The scalar channels over time, those of one unit and clock together."""
    groups: dict[tuple[int, str], list[Channel]] = {}
    for channel in recording.channels.values():
        if channel.samples.ndim == 1 and _varies(channel):
            groups.setdefault((id(channel.clock), channel.unit), []).append(channel)
    parts = [group[k : k + _TRACES] for group in groups.values() for k in range(0, len(group), _TRACES)]
    figures = tuple(_signal_figure(part) for part in parts[:_MOST_FIGURES])
    left_out = sum(len(part) for part in parts[_MOST_FIGURES:])
    words = f" ({left_out} more channels are not drawn)" if left_out else ""
    return [Folded(f"Signals over time{words}", figures)] if figures else []


def _signal_figure(channels: Sequence[Channel]) -> Figure:
    unit = channels[0].unit
    axis = time_axis(channels[0].clock.times_s, "time on the device's clock, s")
    data = tuple(line(axis.x, c.samples, c.name, i, most=1500, **axis.trace) for i, c in enumerate(channels))
    heading = ", ".join(c.name for c in channels[:3]) + (", ..." if len(channels) > 3 else "")
    made: Json = layout([unit if unit != "1" else "without unit"], axis.layout)
    return Figure(heading, "Flat tops are clipping, lone spikes are knocks or dropouts.", data, made)


def _varies(channel: Channel) -> bool:
    seen = channel.samples[np.isfinite(channel.samples)]
    return len(seen) > 1 and bool(seen.min() < seen.max())


# --- markers, clocks, placement ---------------------------------------------------------------------------------------


def _markers(inspection: Inspection) -> list[Block]:
    body, motion = inspection.body, inspection.motion
    if body is None:
        return []
    table, gaps = tables.markers_table(body), tables.gaps_table(body)
    blocks: list[Block] = [Words(tables.body_line(body)), table, marker_plots.error_bars(body)]
    blocks += [marker_plots.error_over_time(body), marker_plots.visibility(body)]
    blocks += [gaps] if gaps.rows else []
    hinge = None if motion is None else motion.hinge
    frames = tables.frames_table(body, hinge)
    blocks.append(marker_plots.cloud_in_space(body, tables.frames_in_cloud(body, hinge)))
    return blocks if frames is None else [*blocks, frames]


def _clocks(inspection: Inspection) -> list[Block]:
    table = tables.clocks_table(inspection)
    return [] if table is None else [table, *clock_plots.clock_figures(inspection)]


def _placement(motion: CapturedMotion) -> list[Block]:
    placement = motion.placement
    if placement is None:
        return []
    blocks: list[Block] = []
    if placement.tilt is not None:
        blocks.append(tables.vertical_table(placement.tilt))
    against = [f.message for f in motion.findings if f.gate == "placement"]
    return [*blocks, tables.placement_table(placement, motion.frame), *(Words(text) for text in against)]


# --- motion -----------------------------------------------------------------------------------------------------------


def _derivatives(motion: CapturedMotion) -> list[Block]:
    table, derived = tables.derivatives_table(motion), motion.derivatives
    if table is None or motion.motion is None:
        return []
    blocks: list[Block] = [table]
    if derived is not None and derived.bandwidth is not None:
        blocks += [
            motion_plots.spectra(derived.bandwidth),
            motion_plots.window_errors(derived.bandwidth, derived),
        ]
    figure = motion_plots.motion_over_time(motion.motion, motion.frame)
    return blocks if figure is None else [*blocks, figure]


def _hinge(motion: CapturedMotion) -> list[Block]:
    if motion.hinge is None:
        return []
    figure = None if motion.hinge_motion is None else motion_plots.hinge_angle(motion.hinge_motion)
    return [tables.hinge_table(motion.hinge, motion.inclination_rad), *([figure] if figure is not None else [])]


def _wheel(motion: CapturedMotion) -> list[Block]:
    if motion.rolling is None:
        return []
    figure = motion_plots.wheel(motion.rolling)
    return [tables.rolling_table(motion.rolling), *([figure] if figure is not None else [])]
