"""The paper's Table beside ours: one set of cells for terminal, page and LaTeX, and the plain numbers as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from palpate.experiment.reproduce import Entry, Reproduction
from palpate.experiment.reproduce_paper import PAPER
from palpate.experiment.reproduce_table import Line, comparison, correction_text, outside

LATEX = {
    "m": "m",
    "I": "I",
    "lambda": r"\lambda",
    **{f"I{a}": f"I_{{{a}}}" for a in ("xx", "yy", "zz", "xy", "xz", "yz")},
    **{n: f"{n[0]}_{{{n[2:]}}}" for n in ("c_x", "c_y", "c_z", "b_bc", "b_s", "b_l", "b_v", "b_c")},
    "b_psi": r"b_\psi",
    **{f"c_{i}": f"c_{i}" for i in range(4)},
}


def headings(found: Reproduction) -> tuple[str, ...]:
    """Of the columns, in order."""
    simulated, both = _kinds(found)
    against = "of truth" if simulated else "of paper"
    return (
        "quantity",
        "unit",
        "paper",
        *(("truth",) if simulated else ()),
        "as published",
        against,
        *(("default", "95 % interval", against, "inside") if both else ()),
    )


def cells(line: Line, found: Reproduction) -> tuple[str, ...]:
    """A line's cells as text."""
    simulated, both = _kinds(found)
    digits = _decimals(line)

    def number(value: float | None) -> str:
        if line.kind == "regression" and value is not None:
            return f"{value:.3g}"
        return "-" if value is None else f"{value:.{digits}f}"

    ci = "-" if line.ci95 is None else f"{number(line.ci95[0])} … {number(line.ci95[1])}"
    inside = "" if line.inside is None else "yes" if line.inside else "no"
    own = (number(line.default), ci, _difference(line.default_percent), "known" if line.fixed else inside)
    return (
        line.name,
        line.unit,
        "-" if line.paper is None else line.paper.text,
        *((number(line.truth),) if simulated else ()),
        number(line.published),
        _difference(line.published_percent),
        *(own if both else ()),
    )


def marked(line: Line) -> bool:
    """Whether a line deserves a look."""
    return line.inside is False


def reproduction_text(found: Reproduction) -> RenderableType:
    """Files that are not there, a table an object, and verdicts."""
    parts: list[RenderableType] = [*_files_text(found)]
    for entry in found.entries.values():
        parts.append(Text(f"\n{PAPER[entry.name].title}", style="bold"))
        if entry.published is not None or entry.default is not None:
            parts.append(_table(entry, found))
        parts += [Text(line, style=style) for line, style in entry_sentences(entry)]
    parts.append(Text(""))
    parts += [Text(line, style=style) for line, style in verdicts(found)]
    return Group(*parts)


def _files_text(found: Reproduction) -> list[Text]:
    told = [Text(f"Missing: {line}", style="yellow") for line in missing_sentences(found)]
    words = {"wrong": "Wrong file", "short": "Too short"}
    return told + [Text(f"{words[f.state]}: {f.file}: {f.told}", style="red") for f in _once(found.wrong)]


def missing_sentences(found: Reproduction) -> list[str]:
    """Files that are not there, each once."""
    return [f"{f.file} ({f.told})" if f.told else f.file for f in _once(found.missing)]


def entry_sentences(entry: Entry) -> list[tuple[str, str]]:
    """What is to be said about one identification, with a style."""
    notes = [*entry.notes, *filter(None, [correction_text(entry)])]
    told = [(f"{note[0].upper()}{note[1:]}", "dim") for note in notes]
    for why in dict.fromkeys(entry.refused.values()):
        modes = " and ".join({"published": "as published", "default": "default"}[m] for m in _modes(entry, why))
        told.append((f"No result ({modes}): {why}", "red"))
    if entry.default is not None:
        told += [(f"Warning: {warning}", "yellow") for warning in entry.default.data["warnings"]]
    return told


def verdicts(found: Reproduction) -> list[tuple[str, str]]:
    """One sentence for each identification, with a style."""
    told: list[tuple[str, str]] = []
    for entry in found.entries.values():
        title = PAPER[entry.name].title
        if entry.default is None:
            what = "as published only" if entry.published is not None else "not identified"
            told.append((f"{title}: {what}", "yellow"))
            continue
        passed = entry.default.passed
        lines = [line for line in comparison(entry) if line.kind == "parameter" and line.inside is not None]
        off = outside(entry)
        whose = "truth" if entry.truth is not None else "paper's value"
        count = f"{len(lines) - len(off)} of {len(lines)} intervals"
        text = f"{title}: {'passed' if passed else 'failed'}; the {whose} is inside {count}"
        text += f" (not {', '.join(line.name for line in off)})" if off else ""
        told.append((text, "bold green" if passed else "bold red"))
        told += [(f"- {reason}", "red") for reason in entry.default.data["verdict"]["reasons"]]
    return told


def table_csv(found: Reproduction) -> str:
    """All lines of all tables, numbers as they are."""
    out = io.StringIO()
    names = ("kind", "name", "unit", "paper", "truth", "published", "published_percent", "default")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("experiment", *names, "low95", "high95", "default_percent", "inside", "status"))
    for entry in found.entries.values():
        for line in comparison(entry):
            low, high = line.ci95 or (None, None)
            paper = None if line.paper is None else line.paper.text
            row: list[Any] = [entry.name, line.kind, line.name, line.unit, paper, line.truth, line.published]
            row += [line.published_percent, line.default, low, high, line.default_percent, line.inside, line.status]
            writer.writerow(["" if cell is None else cell for cell in row])
    return out.getvalue()


def table_latex(found: Reproduction) -> str:
    """One tabular per identification, for \\input; needs no package."""
    parts: list[str] = ["% made by palpate reproduce"]
    for entry in found.entries.values():
        if entry.published is None and entry.default is None:
            continue
        titles = headings(found)
        parts.append(f"% {PAPER[entry.name].title}")
        parts.append(f"\\begin{{tabular}}{{ll{'r' * (len(titles) - 2)}}}\n\\hline")
        parts.append(" & ".join(_escaped(t) for t in titles) + r" \\ \hline")
        for line in comparison(entry):
            name, unit, *rest = cells(line, found)
            shown = f"${LATEX[name]}$" if name in LATEX else _escaped(name)
            values = [_escaped(v).replace("…", r"\ldots{}").replace("-", "$-$") for v in rest]
            parts.append(" & ".join([shown, _escaped(f"[{unit}]"), *values]) + r" \\")
        parts.append("\\hline\n\\end{tabular}\n")
    return "\n".join(parts) + "\n"


def _table(entry: Entry, found: Reproduction) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, title in enumerate(headings(found)):
        table.add_column(title, justify="left" if i < 2 else "right", no_wrap=True)
    for line in comparison(entry):
        table.add_row(*cells(line, found), style="yellow" if marked(line) else "")
    return table


def _kinds(found: Reproduction) -> tuple[bool, bool]:
    return any(e.truth is not None for e in found.entries.values()), "default" in found.modes


def _modes(entry: Entry, why: str) -> list[str]:
    return [mode for mode, reason in entry.refused.items() if reason == why]


def _once(files: Sequence[Any]) -> list[Any]:
    """Two devices may share a file."""
    return list({f.file: f for f in files}.values())


def _difference(percent: float | None) -> str:
    if percent is None:
        return ""
    return f"{percent:+.2f} %" if abs(percent) < 100 else f"{percent:+.0f} %"


def _decimals(line: Line) -> int:
    """One more than the paper prints, or so many that an interval shows to two digits."""
    printed = 3 if line.paper is None else len(line.paper.text.partition(".")[2]) + 1
    if line.ci95 is None:
        return printed
    half = (line.ci95[1] - line.ci95[0]) / 2
    return max(printed, min(8, next((d for d in range(9) if half * 10**d >= 9.5), 8)))


def _escaped(text: str) -> str:
    for mark in "%_&#":
        text = text.replace(mark, f"\\{mark}")
    return text
