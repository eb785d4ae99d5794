"""The report of a reproduction: one page, the tables as CSV and LaTeX, the paper's figures as SVG and PDF."""

from __future__ import annotations

import json
from pathlib import Path

from palpate.errors import MissingExtra
from palpate.experiment.reproduce import Entry, Reproduction
from palpate.experiment.reproduce_paper import PAPER
from palpate.experiment.reproduce_table import choices_text, comparison, reproduction_data
from palpate.files import write_text
from palpate.report.page import Block, Remarks, Section, Table, Words, write_page
from palpate.report.reproduction_figures import figure_of, write_figures
from palpate.report.reproduction_table import (
    cells,
    entry_sentences,
    headings,
    marked,
    missing_sentences,
    table_csv,
    table_latex,
    verdicts,
)

SUBTITLE = "System Identification of Admittance Models for Large Real-World Objects (Baum, Luttmer, Minor)"


def write_reproduction(folder: Path, found: Reproduction) -> tuple[list[Path], list[str]]:
    """Write everything; returns the paths, and what could not be written for want of a library."""
    paths = [folder / "reproduction.json", folder / "table.csv", folder / "table.tex"]
    data = json.dumps(reproduction_data(found), indent=1, allow_nan=False) + "\n"
    for path, text in zip(paths, (data, table_csv(found), table_latex(found)), strict=True):
        write_text(path, text)
    for name, entry in found.entries.items():
        if entry.default is not None:
            paths += entry.default.save(folder / name)
    lost: list[str] = []
    try:
        paths += write_figures(folder / "figures", found)
    except MissingExtra as missing:
        lost.append(f"the figures are not written: {missing}")
    try:
        write_page(folder / "report.html", "The paper reproduced", sections(found), subtitle=SUBTITLE)
        paths.append(folder / "report.html")
    except MissingExtra as missing:
        lost.append(f"report.html is not written: {missing}")
    return paths, lost


def sections(found: Reproduction) -> list[Section]:
    """The page: what came out, the files, then one section for each identification."""
    told = verdicts(found)
    overview: list[Block] = [Words(text) for text, _ in told]
    if found.failures:
        overview.append(Remarks("Speaks against it", found.failures, severe=True))
    return [
        Section("Result", tuple(overview)),
        *(_entry(entry, found) for entry in found.entries.values()),
        Section("Files", _files(found)),
    ]


def _entry(entry: Entry, found: Reproduction) -> Section:
    blocks: list[Block] = []
    lines = comparison(entry)
    if entry.published is not None or entry.default is not None:
        simulated = entry.truth is not None
        note = (
            "Differences are against the truth of this simulated copy; RMS, kappa and marker errors have none."
            if simulated
            else ""
        )
        note += " Inside: whether the default's 95 % interval holds " + (
            "the truth." if simulated else "the printed number, up to its rounding."
        )
        if "Ixx" in PAPER[entry.name].parameters:
            note += " Inertias are matrix entries about the frame's origin (Ixy = -∫xy dm)."
        blocks.append(
            Table(
                headings(found),
                tuple(cells(line, found) for line in lines),
                words=(0, 1),
                marked=tuple(i for i, line in enumerate(lines) if marked(line)),
                note=note.strip(),
            )
        )
    figure = figure_of(entry)
    if figure is not None:
        blocks.append(figure)
    sentences = tuple(text for text, _ in entry_sentences(entry))
    if sentences:
        blocks.append(Remarks("To know", sentences, severe=bool(entry.refused)))
    blocks.append(
        Table(("as published", "what the authors chose"), choices_text(entry.name), words=(0, 1), title="The two ways")
    )
    return Section(PAPER[entry.name].title, tuple(blocks))


def _files(found: Reproduction) -> tuple[Block, ...]:
    rows = tuple((f.file, f.experiment, f.recording, f.state, f.told) for f in found.files)
    off = tuple(i for i, f in enumerate(found.files) if not f.usable)
    blocks: list[Block] = [
        Table(("file", "identification", "recording", "state", "remark"), rows, words=(0, 1, 2, 3, 4), marked=off)
    ]
    missing = tuple(missing_sentences(found))
    if missing:
        blocks.insert(0, Remarks("Missing", missing))
    return tuple(blocks)
