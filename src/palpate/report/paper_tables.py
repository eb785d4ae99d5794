"""Tables for papers and spreadsheets: parameters, errors and zones as CSV (all digits) or LaTeX (rounded)."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any, Literal

from palpate.report.page import Table
from palpate.report.result_tables import errors_table, parameters_table, shapes_table

TableFormat = Literal["csv", "latex"]
TABLE_FORMATS: tuple[TableFormat, ...] = ("csv", "latex")
SUFFIXES: Mapping[TableFormat, str] = {"csv": ".csv", "latex": ".tex"}
_SPECIAL = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "…": r"\ldots{}"},
    **{"±": r"$\pm$", "σ": r"$\sigma$", "µ": r"$\mu$", "²": "$^2$", "³": "$^3$", "\u00a0": "~", "−": "$-$"},
}


def result_tables(data: Mapping[str, Any], format: TableFormat) -> dict[str, str]:  # noqa: A002
    """Name -> text of each table of a result."""
    if format == "csv":
        return {name: _csv(rows) for name, rows in _records(data).items() if rows}
    found = {"parameters": parameters_table(data), "errors": errors_table(data), "zones": shapes_table(data)}
    return {name: latex(table) for name, table in found.items() if table is not None}


def latex(table: Table) -> str:
    """A tabular with the lines of booktabs, to be \\input into a table environment."""
    columns = "".join("l" if i in table.words else "r" for i in range(len(table.headings)))
    lines = [" & ".join(escape_latex(h) for h in table.headings) + r" \\", r"\midrule"]
    lines += [
        " & ".join(symbol(cell) if i == 0 else _cell(cell) for i, cell in enumerate(row)) + r" \\" for row in table.rows
    ]
    note = [f"% {table.note}"] if table.note else []
    body = "\n".join([rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}"])
    return "\n".join(["% \\usepackage{booktabs}", *note, body, ""])


def symbol(name: str) -> str:
    """A parameter's name as a symbol: b_v -> $b_\\mathrm{v}$, Ixx -> $I_{xx}$; others in words."""
    inertia = re.fullmatch(r"I([xyz]{2})", name)
    if inertia:
        return f"$I_{{{inertia[1]}}}$"
    if re.fullmatch(r"[A-Za-z]", name):
        return f"${name}$"
    found = re.fullmatch(r"([A-Za-z])_([A-Za-z0-9]+)", name)
    if found:
        lower = found[2] if found[2].isdigit() or found[2] in "xyz" else rf"\mathrm{{{found[2]}}}"
        return f"${found[1]}_{{{lower}}}$" if found[2] != "psi" else rf"${found[1]}_\psi$"
    return escape_latex(name)


def escape_latex(text: str) -> str:
    """Text with what LaTeX would take for commands made harmless."""
    return "".join(_SPECIAL.get(c, c) for c in text)


def _cell(cell: str) -> str:
    if re.fullmatch(r"-?\d+(\.\d+)?", cell):
        return f"${cell}$" if cell.startswith("-") else cell
    # a minus sign, not a hyphen
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", escape_latex(cell)) if cell != "-" else "--"


def _records(data: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Rows with all digits; None is an empty cell."""
    references: Mapping[str, Mapping[str, float]] = data.get("references", {})
    parameters = [
        {"parameter": name, "value": e["value"], "unit": e["unit"], **_interval(e["ci95"])}
        | {f"{kind}_std": e.get(kind) for kind in ("noise", "pull", "systematic")}
        | {k: e.get(k) for k in ("prior", "information_from_data", "status")}
        | {label: values.get(name) for label, values in references.items()}
        for name, e in data["parameters"].items()
    ]
    shapes: Mapping[str, Any] = data.get("shapes") or {}
    errors = [
        {"set": name, "channel": channel, **{k: e.get(k) for k in ("value", "unit", "percent_of_range", "noise")}}
        for name, channels in data.get("rms", {}).items()
        for channel, e in channels.items()
    ]
    zones = [
        {"shape": name, "value": e["value"], "unit": e["unit"], **_interval(e["ci95"]), "status": e["status"]}
        for name, e in shapes.items()
    ]
    return {"parameters": parameters, "errors": errors, "zones": zones}


def _interval(ci: Sequence[float] | None) -> dict[str, float | None]:
    low, high = (None, None) if ci is None else ci
    return {"ci95_low": low, "ci95_high": high}


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: "" if v is None else v for k, v in row.items()} for row in rows)
    return text.getvalue()
