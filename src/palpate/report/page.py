"""One HTML page that works offline: sections of words, tables, findings and figures; plotly.js inside, once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from palpate.errors import MissingExtra
from palpate.files import write_text

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading inside a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Words:
    """A paragraph."""

    text: str
    quiet: bool = False


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


@dataclass(frozen=True, slots=True)
class Folded:
    """Blocks that show when a person asks for them."""

    summary: str
    blocks: tuple[Block, ...]


Block = Heading | Words | Table | Remarks | Figure | Folded


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: tuple[Block, ...]


_IN_SIGHT = 5
"""Remarks of one kind that show at once."""


def require_plotly() -> None:
    """Refuse, before anything is computed, where figures cannot be drawn."""
    _plotly_js()


def write_page(path: Path, title: str, sections: Sequence[Section], *, subtitle: str = "") -> None:
    """Write the page atomically; sections without blocks are left out."""
    write_text(path, page_html(title, sections, subtitle=subtitle))


def page_html(title: str, sections: Sequence[Section], *, subtitle: str = "") -> str:
    """The whole page as text."""
    shown = [section for section in sections if section.blocks]
    figures = [figure for section in shown for figure in _figures(section.blocks)]
    places = {id(figure): f"figure-{i + 1}" for i, figure in enumerate(figures)}
    links = "".join(f'<a href="#{_anchor(s.title)}">{escape(s.title)}</a>' for s in shown)
    body = "\n".join(_section(section, places) for section in shown)
    script = _script(figures, places) if figures else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{_tag("p", escape(subtitle), "quiet") if subtitle else ""}
<nav>{links}</nav>
{body}
<footer>palpate {escape(version("palpate"))}</footer>
</main>
{script}
</body>
</html>
"""


def _section(section: Section, places: dict[int, str]) -> str:
    inner = "\n".join(_block(block, places) for block in section.blocks)
    return f'<section id="{_anchor(section.title)}">\n<h2>{escape(section.title)}</h2>\n{inner}\n</section>'


def _block(block: Block, places: dict[int, str]) -> str:
    match block:
        case Heading():
            return _tag("h3", escape(block.text))
        case Words():
            return _tag("p", escape(block.text), "quiet" if block.quiet else "")
        case Table():
            return _table(block)
        case Remarks():
            return _remarks(block)
        case Figure():
            return _figure(block, places[id(block)])
        case Folded():
            inner = "\n".join(_block(inside, places) for inside in block.blocks)
            return f"<details><summary>{escape(block.summary)}</summary>\n{inner}\n</details>"


def _table(table: Table) -> str:
    def row(cells: Sequence[str], tag: str, marked: bool = False) -> str:
        inner = (_tag(tag, escape(cell), "words" if i in table.words else "") for i, cell in enumerate(cells))
        return _tag("tr", "".join(inner), "marked" if marked else "")

    rows = "\n".join(row(cells, "td", i in table.marked) for i, cells in enumerate(table.rows))
    title = _tag("h3", escape(table.title)) if table.title else ""
    note = _tag("p", escape(table.note), "quiet") if table.note else ""
    head = row(table.headings, "th")
    return f'{title}<div class="wide"><table><thead>{head}</thead>\n<tbody>{rows}</tbody></table></div>{note}'


def _remarks(block: Remarks) -> str:
    def items(sentences: Sequence[str]) -> str:
        return "<ul>" + "".join(f"<li>{escape(s)}</li>" for s in sentences) + "</ul>"

    first, rest = block.sentences[:_IN_SIGHT], block.sentences[_IN_SIGHT:]
    count = f" ({len(block.sentences)})" if len(block.sentences) > 1 else ""
    more = f"<details><summary>{len(rest)} more of this kind</summary>{items(rest)}</details>" if rest else ""
    kind = "remarks severe" if block.severe else "remarks"
    return f'<div class="{kind}"><strong>{escape(block.kind)}{count}</strong>{items(first)}{more}</div>'


def _figure(figure: Figure, place: str) -> str:
    height = int(figure.layout.get("height", 320))
    return (
        f"<figure><h3>{escape(figure.title)}</h3><p>{escape(figure.look_for)}</p>"
        f'<div id="{place}" class="plot" style="height:{height}px"></div></figure>'
    )


def _figures(blocks: Sequence[Block]) -> Iterator[Figure]:
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, Folded):
            yield from _figures(block.blocks)


def _script(figures: Sequence[Figure], places: dict[int, str]) -> str:
    """plotly.js once, then the figures; those in folded parts are drawn when they open, in print all have the paper's
    width.
    """
    data = {places[id(f)]: {"data": f.data, "layout": f.layout} for f in figures}
    # a name in a file may hold "</script>"
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("</", "<\\/")
    return (
        f"<script>window.PlotlyConfig={{MathJaxConfig:'local'}};</script>\n<script>{_plotly_js()}</script>\n"
        f"<script>const figures={text};\n{_DRAW}</script>"
    )


def _plotly_js() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise MissingExtra("plotly", "report", "a page with figures") from None
    return str(get_plotlyjs())


def _tag(name: str, inner: str, kind: str = "") -> str:
    return f'<{name} class="{kind}">{inner}</{name}>' if kind else f"<{name}>{inner}</{name}>"


def _anchor(title: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in title.lower())


_DRAW = """
const config = {displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d"]};
function draw(id) {
  const place = document.getElementById(id);
  if (place.dataset.drawn || place.offsetParent === null) return;
  place.dataset.drawn = "yes";
  Plotly.newPlot(place, figures[id].data, figures[id].layout, config);
}
const drawAll = () => Object.keys(figures).forEach(draw);
drawAll();
document.querySelectorAll("details").forEach(d => d.addEventListener("toggle", drawAll));
const drawn = () => document.querySelectorAll('[data-drawn="yes"]');
window.addEventListener("beforeprint", () => drawn().forEach(p => Plotly.relayout(p, {width: 690})));
window.addEventListener("afterprint", () => drawn().forEach(p => Plotly.relayout(p, {width: null, autosize: true})));
"""

_STYLE = """
body { margin: 0; background: #fff; color: #222; font: 15px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 24px 20px 60px; }
h1 { font-size: 26px; margin: 0 0 4px; }
h2 { font-size: 20px; margin: 36px 0 8px; padding-bottom: 4px; border-bottom: 1px solid #ccc; }
h3 { font-size: 15px; margin: 22px 0 2px; }
p { margin: 4px 0 8px; max-width: 90ch; overflow-wrap: anywhere; }
.quiet, footer, figure p { color: #666; font-size: 13px; }
nav { margin: 10px 0; } nav a { margin-right: 16px; color: #0b5394; text-decoration: none; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; margin: 6px 0; }
th, td { text-align: right; padding: 3px 14px 3px 0; vertical-align: top; }
th { border-bottom: 1px solid #999; font-weight: 600; vertical-align: bottom; }
td { border-bottom: 1px solid #eee; }
.words { text-align: left; }
.marked td { background: #fff6dd; }
figure { margin: 0; break-inside: avoid; }
.plot { width: 100%; }
.remarks { border-left: 4px solid #e0a100; background: #fffaf0; padding: 6px 12px; margin: 8px 0; }
.severe { border-color: #c0392b; background: #fdf3f2; }
.remarks ul { margin: 2px 0; padding-left: 18px; } .remarks li { overflow-wrap: anywhere; }
summary { cursor: pointer; color: #0b5394; }
details { margin: 6px 0; }
footer { margin-top: 40px; }
@media print { nav, .modebar, details:not([open]) { display: none; } main { padding: 0; max-width: none; } }
@page { margin: 14mm; }
"""
