"""Writing the report of a result: the page, figures for papers, and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palpate.errors import UnknownName
from palpate.files import write_text
from palpate.report.page import Section, figures_in, write_page
from palpate.report.paper_figures import FORMATS, Format, save_figure
from palpate.report.paper_tables import SUFFIXES, TABLE_FORMATS, TableFormat, result_tables
from palpate.report.sections import SECTIONS, MakeSection

if TYPE_CHECKING:
    from palpate.experiment.body_view import View
    from palpate.experiment.result import Result


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
