"""One HTML page that works offline: sections of words, tables, findings and figures; plotly.js inside, once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from palpate.errors import extra_library
from palpate.files import write_text
from palpate.tables import STYLES, Table

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Words:
    """A paragraph, the sentence that matters most (`good` or `bad`), or a heading inside a section."""

    text: str
    kind: Literal["", "quiet", "good", "bad", "heading"] = ""


@dataclass(frozen=True, slots=True)
class Remarks:
    """Sentences of one kind; only the first ones are in sight where there are many."""

    kind: str
    sentences: tuple[str, ...]
    severe: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A Plotly figure as plain data, and one sentence that says what to look for."""

    title: str
    look_for: str
    data: tuple[Json, ...]
    layout: Json
    message: str = ""
    """What the data say: the figure in one sentence, also for those who cannot see it."""


@dataclass(frozen=True, slots=True)
class Folded:
    """Blocks that show when a person asks for them."""

    summary: str
    blocks: tuple[Block, ...]


Block = Words | Table | Remarks | Figure | Folded


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: tuple[Block, ...]


def section(title: str, *blocks: Block | None) -> Section:
    """A section of those blocks that there are; a table without rows is none."""
    return Section(title, tuple(b for b in blocks if b is not None and not (isinstance(b, Table) and not b.rows)))


def folded(table: Table, summary: str, longest: int) -> Block:
    """The table, folded where it is long."""
    return table if len(table.rows) <= longest else Folded(summary, (table,))


def fold(summary: str, *blocks: Block | None) -> Folded | None:
    """Folded blocks, where there are any."""
    inside = section("", *blocks).blocks
    return Folded(summary, inside) if inside else None


_IN_SIGHT = 5
"""Remarks of one kind that show at once."""


def require_plotly() -> None:
    """Refuse, before anything is computed, where a page with figures cannot be made."""
    extra("plotly.offline", "a page with figures")
    extra("jinja2", "a page")


def extra(module: str, what: str) -> Any:
    """A library of the extra `report`, or which one `what` needs."""
    return extra_library(module, "report", what)


def write_page(path: Path, title: str, sections: Sequence[Section], *, subtitle: str = "") -> None:
    """Write the page atomically; sections without blocks are left out."""
    write_text(path, page_html(title, sections, subtitle=subtitle))


def page_html(title: str, sections: Sequence[Section], *, subtitle: str = "") -> str:
    """The whole page as text."""
    return "".join(_page_parts(title, sections, subtitle))


def _page_parts(title: str, sections: Sequence[Section], subtitle: str) -> Iterator[str]:
    """The page piece by piece: of plotly.js, 5 MB, nobody needs a copy more."""
    template, markup = _template(), extra("markupsafe", "a page").Markup
    shown = [section for section in sections if section.blocks]
    figures = [figure for section in shown for figure in figures_in(section.blocks)]
    places = {id(figure): f"figure-{i + 1}" for i, figure in enumerate(figures)}
    text = template.render(
        title=title,
        subtitle=subtitle,
        sections=shown,
        places=places,
        anchor=partial(re.compile(r"\W").sub, "-"),
        kind_of=lambda block: type(block).__name__,  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        id_of=id,
        in_sight=_IN_SIGHT,
        statuses=STYLES,
        style=markup(_file("page.css")),
        version=version("palpate"),
    )
    yield f"{text.strip()}\n"
    if figures:  # plotly.js once; what is folded is drawn when it opens, in print all is light and as wide as the paper
        yield "<script>window.PlotlyConfig={MathJaxConfig:'local'};</script>\n<script>"
        yield extra("plotly.offline", "a page with figures").get_plotlyjs()
        data = {places[id(f)]: {"data": f.data, "layout": f.layout} for f in figures}
        # a name in a file may hold "</script>"
        yield "</script>\n<script>const figures="
        yield json.dumps(data, allow_nan=False, separators=(",", ":")).replace("</", "<\\/")
        yield f";\n{_file('page.js')}</script>"
    yield "\n</body>\n</html>"


@cache
def _template() -> Any:
    """Compiled once for all pages of a process."""
    jinja = extra("jinja2", "a page")
    loader = jinja.PackageLoader("palpate.report", "templates")
    return jinja.Environment(loader=loader, autoescape=True).get_template("page.html.j2")


def _file(name: str) -> str:
    return resources.files("palpate.report").joinpath("templates", name).read_text(encoding="utf-8")


def figures_in(blocks: Sequence[Block]) -> Iterator[Figure]:
    """All figures, those in folded parts too."""
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, Folded):
            yield from figures_in(block.blocks)
