"""An inspection in the terminal: markers, gaps, clocks, vertical, frames and motion; findings at the end."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from palpate.experiment.inspection import Inspection
from palpate.experiment.motion import CapturedMotion
from palpate.report import inspection_tables as tables
from palpate.report.page import Table

_MOST = 6
"""Findings of one kind that are printed."""


def inspection_text(inspection: Inspection) -> RenderableType:
    """What the recordings say together; their channels are not repeated."""
    parts: list[RenderableType] = []
    for line, table in _tables(inspection):
        parts.append(Text(f"\n{line}" if line else ""))
        parts.append(_rich(table))
        parts += [Text(table.note, style="dim")] if table.note else []
    return Group(*parts, *_findings(inspection))


def _tables(inspection: Inspection) -> Iterator[tuple[str, Table]]:
    """Each table below a line that introduces it, if any."""
    body, motion = inspection.body, inspection.motion
    if body is not None:
        yield tables.body_line(body), tables.markers_table(body)
        gaps = tables.gaps_table(body)
        if gaps.rows:
            yield "", gaps
    clocks = tables.clocks_table(inspection)
    if clocks is not None:
        yield "", clocks
    if motion is not None:
        for table in _motion(motion):
            yield "", table


def _motion(motion: CapturedMotion) -> Iterator[Table]:
    placement = motion.placement
    if placement is not None:
        if placement.tilt is not None:
            yield tables.vertical_table(placement.tilt)
        yield tables.placement_table(placement, motion.frame)
    for table in (tables.frames_table(motion.body, motion.hinge), tables.derivatives_table(motion)):
        if table is not None:
            yield table
    if motion.hinge is not None:
        yield tables.hinge_table(motion.hinge, motion.inclination_rad)
    if motion.rolling is not None:
        yield tables.rolling_table(motion.rolling)


def _rich(table: Table) -> RichTable:
    made = RichTable(box=None, pad_edge=False, header_style="bold")
    for i, heading in enumerate(table.headings):
        made.add_column(heading, justify="left" if i in table.words else "right")
    for i, row in enumerate(table.rows):
        # cells as Text: a name in brackets is no markup
        made.add_row(*(Text(cell) for cell in row), style="yellow" if i in table.marked else None)
    return made


def _findings(inspection: Inspection) -> Iterator[Text]:
    if inspection.findings:
        yield Text()
    for kind, fatal, sentences in tables.grouped(inspection.findings):
        style = "red" if fatal else "yellow"
        yield from (Text(f"{kind}: {sentence}", style=style) for sentence in sentences[:_MOST])
        if len(sentences) > _MOST:
            yield Text(f"{kind}: {len(sentences) - _MOST} more of this kind", style=style)
