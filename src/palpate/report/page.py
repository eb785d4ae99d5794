"""One HTML page that works offline: sections of words, tables, findings, figures and objects to push.

Libraries are inside, once, and only those that the page needs (`palpate.web`).
"""

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
from palpate.web import MODULES, asset, embedded, script_text

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
class Pushed:
    """An object that can be pushed, in three dimensions (`palpate.web`): its ES module, and what goes with it."""

    title: str
    look_for: str
    module: str
    options: Json
    """Intervals of its parameters and a replay, as panel.js wants them."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing that is SVG already, made by us, and what it shows."""

    svg: str
    words: str = ""


@dataclass(frozen=True, slots=True)
class Folded:
    """Blocks that show when a person asks for them."""

    summary: str
    blocks: tuple[Block, ...]


Block = Words | Table | Remarks | Figure | Picture | Pushed | Folded


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


def require_pages() -> None:
    """Refuse, before anything is computed, where a page cannot be made."""
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
    """The page piece by piece: of a library of a megabyte nobody needs a copy more."""
    template, markup = _template(), extra("markupsafe", "a page").Markup
    shown = [section for section in sections if section.blocks]
    inside = [block for section in shown for block in blocks_in(section.blocks)]
    figures, pushed = [b for b in inside if isinstance(b, Figure)], [b for b in inside if isinstance(b, Pushed)]
    places = {id(block): f"figure-{i + 1}" for i, block in enumerate(figures)}
    places |= {id(block): f"pushed-{i + 1}" for i, block in enumerate(pushed)}
    in_space = any("scene" in f.layout for f in figures)
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
        style=markup(_file("page.css") + (asset("style.css") if in_space or pushed else "")),
        version=version("palpate"),
    )
    yield f"{text.strip()}\n"
    if any("scene" not in f.layout for f in figures):  # what is folded is drawn when it opens
        yield "<script>window.PlotlyConfig={MathJaxConfig:'local'};</script>\n<script>"
        yield script_text(asset("vendor/plotly.min.js"))
        yield "</script>\n"
    data = {places[id(f)]: {"data": f.data, "layout": f.layout} for f in figures}
    if figures or pushed:
        yield f"<script>const figures={_script_json(data)};\n{_file('page.js')}</script>\n"
    if in_space or pushed:
        modules = {
            "three": asset("vendor/three.min.js"),
            **{f"palpate/{name}": asset(f"{name}.js") for name in MODULES},
        }
        main = ['import { drawSpace } from "palpate/space";', "beginSpace(drawSpace);"]
        for block in pushed:
            name, options = places[id(block)], _script_json(block.options)
            modules[f"palpate/{name}"] = block.module
            load = f'() => Promise.all([import("palpate/panel"), import("palpate/{name}")])'
            main.append(f'mountPushed("{name}", {load}, {options});')
        yield embedded(modules, "\n".join(main))
    yield "\n</body>\n</html>"


def _script_json(data: Any) -> str:
    """JSON that may stand in a script: a name in a file may hold "</script>"."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("</", "<\\/")


@cache
def _template() -> Any:
    """Compiled once for all pages of a process."""
    jinja = extra("jinja2", "a page")
    loader = jinja.PackageLoader("palpate.report", "templates")
    return jinja.Environment(loader=loader, autoescape=True).get_template("page.html.j2")


def _file(name: str) -> str:
    return resources.files("palpate.report").joinpath("templates", name).read_text(encoding="utf-8")


def blocks_in(blocks: Sequence[Block]) -> Iterator[Block]:
    """All blocks, those in folded parts too."""
    for block in blocks:
        yield block
        if isinstance(block, Folded):
            yield from blocks_in(block.blocks)


def figures_in(blocks: Sequence[Block]) -> Iterator[Figure]:
    """All figures, those in folded parts too."""
    return (block for block in blocks_in(blocks) if isinstance(block, Figure))
