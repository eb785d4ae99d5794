"""What people read of a value: tables of cells that are text already, and lines, the same digits on the terminal, on a
page, in a notebook and in print.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from io import StringIO
from typing import Any, cast

from palpate.errors import PalpateError

_NUMBER = re.compile(r"[<±+-]? ?[\d.]+(e[+-]?\d+)?( %)?( […±] [+-]?[\d.]+| \(.* %\))?").fullmatch
STYLES = {
    **{"identified": "green", "uncertain": "yellow", "prior-dominated": "yellow", "fixed": "dim"},
    **{"not-identifiable": "red", "passed": "green", "failed": "red"},
}
"""Cells that have a colour."""
_WIDTH = 140
"""Characters of a line where no terminal says how wide it is."""


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

    def __rich__(self) -> Any:
        """For the terminal: title, cells and note; a bracket in a name is no markup."""
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=None, pad_edge=False, header_style="bold")
        shown = [i for i in range(len(self.headings)) if i not in self.wide]
        for i in shown:
            table.add_column(Text(self.headings[i]), justify="left" if i in self.words else "right")
        for i, row in enumerate(self.rows):
            cells = (Text(row[k], style=STYLES.get(row[k], "")) for k in shown)
            table.add_row(*cells, style="yellow" if i in self.marked else None)
        title = [Styled(f"\n{self.title}", "bold")] if self.title else []
        return stacked(*title, table, *([Styled(self.note, "dim")] if self.note else []))


def stacked(*parts: Any) -> Any:
    """Lines and tables one below the other, as rich prints them."""
    from rich.console import Group

    return Group(*parts)


def table(
    records: Iterable[Any], headings: Sequence[str] = (), title: str = "", *, marked: Iterable[object] = (), **more: Any
) -> Table:
    """A table of rows below `headings`, or of records: heading -> cell, or pairs of them where headings repeat.

    Columns of which half the cells are numbers are aligned as such; `marked`: what is true of rows to look at; `more`:
    note, explained, and headings of `wide` columns.
    """
    given: list[Any] = [list(cast("Mapping[str, Any]", r).items()) if isinstance(r, Mapping) else r for r in records]
    rows: tuple[tuple[str, ...], ...] = tuple(map(tuple, given))
    if not headings and rows:
        headings, rows = [h for h, _ in rows[0]], tuple(tuple(cell for _, cell in row) for row in rows)
    filled = [[row[i] for row in rows if row[i] not in ("-", "")] for i in range(len(headings))]
    words = tuple(i for i, col in enumerate(filled) if not i or 2 * sum(map(bool, map(_NUMBER, col))) < len(col))
    more["wide"] = tuple(map(headings.index, more.get("wide", ())))
    return Table(tuple(headings), rows, title, words, tuple(i for i, mark in enumerate(marked) if mark), **more)


def plain(*parts: Any) -> str:
    """Lines and tables as plain text, for `print`."""
    from rich.console import Console

    file = StringIO()
    Console(file=file, width=_WIDTH, no_color=True, highlight=False).print(stacked(*parts))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def html(*parts: Styled | Table) -> str:
    """The same for a notebook: a fragment without scripts that needs no style of its own."""
    return "".join(_table_html(part) if isinstance(part, Table) else _line_html(part) for part in parts)


def _line_html(line: Styled) -> str:
    text = escape(line.text.strip())
    return f"<p>{f'<strong>{text}</strong>' if 'bold' in line.style else text}</p>" if text else ""


def _table_html(table: Table) -> str:
    shown = [i for i in range(len(table.headings)) if i not in table.wide]

    def cells(kind: str, row: Sequence[str]) -> str:
        sides = {True: "left", False: "right"}
        return "".join(f'<{kind} style="text-align:{sides[i in table.words]}">{escape(row[i])}</{kind}>' for i in shown)

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in table.rows)
    note = f"<p><small>{escape(table.note)}</small></p>" if table.note else ""
    title = f"<p><strong>{escape(table.title)}</strong></p>" if table.title else ""
    return f"{title}<table><thead><tr>{cells('th', table.headings)}</tr></thead><tbody>{body}</tbody></table>{note}"


def data_frame(columns: Mapping[str, Any], *, pandas: bool = False) -> Any:
    """Columns as a Polars data frame, or as one of pandas where that is installed."""
    if not pandas:
        import polars

        return polars.DataFrame(dict(columns), strict=False)
    try:
        return import_module("pandas").DataFrame(dict(columns))
    except ImportError:
        remedy = "leave pandas=True out for a Polars data frame, or pip install pandas"
        raise PalpateError(f"pandas is not installed: {remedy}") from None
