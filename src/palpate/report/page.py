"""One HTML page that works offline: sections of words, tables, findings and figures; plotly.js inside, once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module, resources
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, cast

from palpate.errors import MissingExtra
from palpate.files import write_text

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Words:
    """A paragraph, the sentence that matters most (`good` or `bad`), or a heading inside a section."""

    text: str
    kind: Literal["", "quiet", "good", "bad", "heading"] = ""


@dataclass(frozen=True, slots=True)
class Styled:
    """A line on the terminal. What is only printed knows rich's classes when it is printed: they load slowly."""

    text: str = ""
    style: str = ""

    def __rich__(self) -> Any:
        """A bracket in a name is no markup."""
        from rich.text import Text

        return Text(self.text, style=self.style)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells that are text already, so that paper, page and terminal show the same digits."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    words: tuple[int, ...] = (0,)
    """Columns of words, aligned left; the others hold numbers."""
    marked: tuple[int, ...] = ()
    """Rows that deserve a look."""
    note: str = ""
    prose: bool = False
    """Sentences rather than words: lines break, and columns share the width."""
    wide: tuple[int, ...] = ()
    """Columns for which only a page has room."""
    explained: str = ""
    """What the words mean, where there is room for it."""

    def folded(self, summary: str, longest: int) -> Block:
        """The table, folded where it is long."""
        return self if len(self.rows) <= longest else Folded(summary, (self,))

    def __rich__(self) -> Any:
        """For the terminal: title, cells and note; a bracket in a name is no markup."""
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=None, pad_edge=False, header_style="bold")
        shown = [i for i in range(len(self.headings)) if i not in self.wide]
        for i in shown:
            table.add_column(Text(self.headings[i]), justify="left" if i in self.words else "right")
        for i, row in enumerate(self.rows):
            cells = (Text(row[k], style=_STYLES.get(row[k], "")) for k in shown)
            table.add_row(*cells, style="yellow" if i in self.marked else None)
        title = [Styled(f"\n{self.title}", "bold")] if self.title else []
        return stacked(*title, table, *([Styled(self.note, "dim")] if self.note else []))


def stacked(*parts: Any) -> Any:
    """Lines and tables one below the other, as rich prints them."""
    from rich.console import Group

    return Group(*parts)


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


def table(
    records: Iterable[Any], headings: Sequence[str] = (), title: str = "", *, marked: Iterable[object] = (), **more: Any
) -> Table:
    """A table of rows below `headings`, or of records: heading -> cell, or pairs of them where headings repeat.

    Columns of which half the cells are numbers are aligned as such; `marked`: what is true of rows to look at; `more`:
    note, explained, and headings of `wide` columns.
    """
    given: list[Any] = [list(cast("Json", r).items()) if isinstance(r, Mapping) else r for r in records]
    rows: tuple[tuple[str, ...], ...] = tuple(map(tuple, given))
    if not headings and rows:
        headings, rows = [h for h, _ in rows[0]], tuple(tuple(cell for _, cell in row) for row in rows)
    filled = [[row[i] for row in rows if row[i] not in ("-", "")] for i in range(len(headings))]
    words = tuple(i for i, col in enumerate(filled) if not i or 2 * sum(map(bool, map(_NUMBER, col))) < len(col))
    more["wide"] = tuple(map(headings.index, more.get("wide", ())))
    return Table(tuple(headings), rows, title, words, tuple(i for i, mark in enumerate(marked) if mark), **more)


def section(title: str, *blocks: Block | None) -> Section:
    """A section of those blocks that there are; a table without rows is none."""
    return Section(title, tuple(b for b in blocks if b is not None and not (isinstance(b, Table) and not b.rows)))


def fold(summary: str, *blocks: Block | None) -> Folded | None:
    """Folded blocks, where there are any."""
    inside = section("", *blocks).blocks
    return Folded(summary, inside) if inside else None


_NUMBER = re.compile(r"[<±+-]? ?[\d.]+(e[+-]?\d+)?( %)?( […±] [+-]?[\d.]+| \(.* %\))?").fullmatch
_STYLES = {
    **{"identified": "green", "uncertain": "yellow", "prior-dominated": "yellow", "fixed": "dim"},
    **{"not-identifiable": "red", "passed": "green", "failed": "red"},
}
"""Cells that have a colour."""
_IN_SIGHT = 5
"""Remarks of one kind that show at once."""


def require_plotly() -> None:
    """Refuse, before anything is computed, where a page with figures cannot be made."""
    extra("plotly.offline", "a page with figures")
    extra("jinja2", "a page")


def extra(module: str, what: str) -> Any:
    """A library of the extra `report`, or which one `what` needs."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(module.partition(".")[0], "report", what) from None


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
        statuses=_STYLES,
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
