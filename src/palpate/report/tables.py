"""Results as tables and lines, for the terminal and for the page: parameters, errors, comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import pi
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from palpate.report.page import Table
from palpate.report.plots import decimals, shown_unit, unit_text

_VARIANTS = 12
"""Shown unless all are asked for."""
_SEGMENTS = 6
"""Test segments shown."""
_STYLES = {"identified": "green", "prior-dominated": "yellow", "fixed": "dim", "not-identifiable": "red"}


def result_text(data: Mapping[str, Any]) -> RenderableType:
    """Title, parameters, errors, conditioning, warnings and verdict of a result."""
    parts: list[RenderableType] = [Text(f"\n{data['title']}", style="bold"), parameter_table(data)]
    if "Ixx" in data["parameters"]:
        origin = "the sensor frame" if data["stage"] == "handle" else "the body frame, the middle of the axle"
        note = f"Inertias are matrix entries about the origin of {origin} (Ixy = -∫xy dm)."
        parts.append(Text(note, style="dim"))
    if data.get("shapes"):
        parts.append(shape_table(data))
    parts.append(rms_table(data))
    by_segment = segment_table(data)
    parts += [] if by_segment is None else [by_segment]
    parts += [Text(line) for line in (_conditioning(data), *notes(data), *_clocks(data), *_replay(data))]
    if data["weakest_direction"] is not None:
        parts.append(Text(f"Weakest: {data['weakest_direction']['text']}"))
    parts += [Text(f"Warning: {warning}", style="yellow") for warning in data["warnings"]]
    verdict = data["verdict"]
    parts.append(
        Text("Verdict: passed", style="bold green") if verdict["passed"] else Text("Verdict: failed", style="bold red")
    )
    parts += [Text(f"- {reason}", style="red") for reason in verdict["reasons"]]
    return Group(*parts)


def parameter_table(data: Mapping[str, Any]) -> RichTable:
    """Value, 95 % interval, unit, prior, share of information from data, status; beside each reference."""
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for heading in ("value", "95 % interval"):
        table.add_column(heading, justify="right")
    table.add_column("unit")
    systematic = any(entry["systematic"] for entry in data["parameters"].values())
    if systematic:
        table.add_column("systematic", justify="right")
    table.add_column("prior", justify="right")
    references: Mapping[str, Mapping[str, float]] = data["references"]
    for label in references:
        table.add_column(label, justify="right")
    table.add_column("from data", justify="right")
    table.add_column("status")
    for name, entry in data["parameters"].items():
        ci = entry["ci95"]
        digits = decimals(entry["value"] or 0.0, ci)
        table.add_row(
            name,
            "-" if entry["value"] is None else f"{entry['value']:.{digits}f}",
            "-" if ci is None else f"{ci[0]:.{digits}f} … {ci[1]:.{digits}f}",
            entry["unit"],
            *([f"± {1.96 * entry['systematic']:.{digits}f}"] if systematic else []),
            "-" if entry["prior"] is None else f"{entry['prior']:.{digits}f}",
            *(f"{values[name]:.{digits}f}" if name in values else "-" for values in references.values()),
            f"{100 * entry['information_from_data']:.1f} %" if entry["status"] != "fixed" else "-",
            Text(entry["status"], style=_STYLES[entry["status"]]),
        )
    return table


def summary_table(results: Mapping[str, Mapping[str, Any]]) -> RichTable:
    """Several results by where they are, a line each: how many numbers are known, the largest error, the verdict."""
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for heading, side in (
        ("", "left"),
        ("identified", "right"),
        ("truth inside", "right"),
        ("largest test error", "right"),
    ):
        table.add_column(heading, justify="right" if side == "right" else "left")
    table.add_column("verdict")
    table.add_column("where")
    for where, data in results.items():
        free = [e for e in data["parameters"].values() if e["status"] != "fixed"]
        known = sum(e["status"] == "identified" for e in free)
        errors = [e["percent_of_range"] for e in data["rms"]["test"].values() if e["percent_of_range"] is not None]
        passed = data["verdict"]["passed"]
        table.add_row(
            str(data["title"]),
            f"{known} of {len(free)}",
            _truth_inside(data),
            f"{max(errors):.2f} % of range" if errors else "-",
            Text("passed", style="green") if passed else Text("failed", style="red"),
            where,
        )
    return table


def _truth_inside(data: Mapping[str, Any]) -> str:
    """How many intervals hold the truth, where it is known."""
    truth: Mapping[str, float] = data["references"].get("truth", {})
    pairs = [(e["ci95"], truth[n]) for n, e in data["parameters"].items() if n in truth and e["ci95"] is not None]
    return f"{sum(low <= v <= high for (low, high), v in pairs)} of {len(pairs)}" if pairs else "-"


def shape_table(data: Mapping[str, Any]) -> RichTable:
    """Borders and widths of zones, and whether the data tell them; angles in degrees."""
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    table.add_column("shape")
    for heading in ("value", "95 % interval"):
        table.add_column(heading, justify="right")
    table.add_column("unit")
    table.add_column("status")
    for name, entry in data["shapes"].items():
        factor, unit = shown_unit(entry["unit"])
        ci = None if entry["ci95"] is None else tuple(factor * v for v in entry["ci95"])
        digits = decimals(factor * entry["value"], ci)
        table.add_row(
            name,
            f"{factor * entry['value']:.{digits}f}",
            "-" if ci is None else f"{ci[0]:.{digits}f} … {ci[1]:.{digits}f}",
            unit,
            Text(entry["status"], style=_STYLES[entry["status"]]),
        )
    return table


def variants_text(data: Mapping[str, Any], *, everything: bool = False) -> RenderableType:
    """A ranking of variants: error on data not seen, of the fit, and how many numbers each has."""
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    table.add_column("variant")
    for heading in (f"unseen, {data['unit']}", "fitted", "numbers"):
        table.add_column(heading, justify="right")
    table.add_column("")
    rows = data["variants"]
    shown = [r for i, r in enumerate(rows) if everything or i < _VARIANTS or r["name"] == data["chosen"]]
    for r in shown:
        chosen = r["name"] == data["chosen"]
        mark = "chosen: the simplest as good as the best" if chosen else "as good" if r["as_good_as_best"] else ""
        errors = [f"{r[key]:.4g}" for key in ("cross_validated_rms", "rms")]
        table.add_row(r["name"], *errors, str(r["numbers"]), mark, style="bold" if chosen else "")
    left = len(rows) - len(shown)
    more = [Text(f"... and {left} more (--all shows them)", style="dim")] if left else []
    return Group(Text(f"\n{data['title']}", style="bold"), table, *more)


def rms_table(data: Mapping[str, Any]) -> RichTable:
    """RMS error of each channel on train and test segments, with percent of the signal's range; beside each reference
    that tells a test error.
    """
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    band = data["rms_below_hz"]
    table.add_column("RMS error" if band is None else f"RMS error below {band:g} Hz")
    for heading in ("train", "test"):
        table.add_column(heading, justify="right")
        table.add_column("of range", justify="right")
    told = {label: v for label, v in data["references"].items() if any(name.startswith("rms_") for name in v)}
    for heading in ("noise", *told):
        table.add_column(heading, justify="right")
    table.add_column("unit")
    for row, test in data["rms"]["test"].items():
        cells: list[str] = [row]
        for entry in (data["rms"]["train"][row], test):
            percent = entry["percent_of_range"]
            cells += [f"{entry['value']:.3g}", "-" if percent is None else f"{percent:.2f} %"]
        cells.append("-" if test["noise"] is None else f"{test['noise']:.3g}")
        cells += [f"{v[f'rms_{row}']:.3g}" if f"rms_{row}" in v else "-" for v in told.values()]
        table.add_row(*cells, test["unit"])
    return table


def segment_table(data: Mapping[str, Any]) -> RichTable | None:
    """RMS error of each channel on each test segment; None where there are not several."""
    tests = [s for s in data.get("rms_of_segments", ()) if s["segment"] == "test" and s["rms"]]
    if len(tests) < 2:
        return None
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    table.add_column("RMS by test")
    for s in tests[:_SEGMENTS]:
        table.add_column(f"{s['from_s']:.0f} to {s['to_s']:.0f} s", justify="right")
    more = len(tests) - _SEGMENTS
    table.add_column("unit" if more <= 0 else f"unit (and {more} more)")
    for row, entry in tests[0]["rms"].items():
        table.add_row(row, *(f"{s['rms'][row]['value']:.3g}" for s in tests[:_SEGMENTS]), entry["unit"])
    return table


def _kappa(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.1f}" if value < 1e4 else f"{value:.1g}"


def _conditioning(data: Mapping[str, Any]) -> str:
    """Lambda and condition numbers; beside those of a reference that tells them."""
    kappa, effective, paper = (_kappa(data[k]) for k in ("kappa", "kappa_eff", "kappa_eff_paper"))
    if not data["damping"] and "factor" not in data:
        return f"kappa {kappa}"
    damping = f"lambda {data['damping']:.4g} ({data['factor']})"
    text = f"{damping}, kappa {kappa}, kappa_eff {effective} (as the paper computes it: {paper})"
    words = {"damping": "lambda", "kappa": "kappa", "kappa_eff": "kappa_eff", "kappa_eff_paper": "kappa_eff (its way)"}
    for label, values in data["references"].items():
        told = [f"{word} {values[name]:.4g}" for name, word in words.items() if name in values]
        text += f"; {label}: {', '.join(told)}" if told else ""
    return text


def _clocks(data: Mapping[str, Any]) -> list[str]:
    """How the instruments' clocks stand to each other, a line each."""
    clocks = data["clocks"]
    if "load_cell_minus_imu_s" not in clocks:
        return [_against_reference(name, clock) for name, clock in clocks.items()]
    text = f"Load-cell clock minus IMU clock: {clocks['load_cell_minus_imu_s']:.6f} s"
    if not clocks["estimated"]:
        return [f"{text} (stated)"]
    found = f"{text} ± {1.96e6 * clocks['std_s']:.0f} µs, drift {_drift(clocks)}"
    return [f"{found}; one explains {100 * clocks['explained']:.2f} % of the other"]


def _against_reference(name: str, clock: Mapping[str, Any]) -> str:
    what = {"wrench": "load-cell", "imu": "IMU"}.get(name, name)
    text = f"Markers' clock minus {what} clock: {clock['reference_minus_device_s']:.5f} s"
    if not clock["estimated"]:
        return f"{text} (stated)"
    drift = "not observable" if clock["drift_ppm"] is None else f"{clock['drift_ppm']:.1f} ppm"
    return f"{text} ± {1.96e3 * clock['std_s']:.2f} ms, drift {drift}"


def _replay(data: Mapping[str, Any]) -> list[str]:
    played = data.get("replay")
    if not played or played["rms"] is None:
        return []
    over = f"{played['windows']} windows of {played['window_s']:g} s"
    if "coordinates" not in played:
        return [f"Replay, measured force in, angle out: {180 / pi * played['rms']:.2f} deg RMS over {over}"]
    each = ", ".join(
        f"{name} {1e3 * entry['value']:.1f} mm"
        if entry["unit"] == "m"
        else f"{name} {180 / pi * entry['value']:.2f} deg"
        for name, entry in played["coordinates"].items()
    )
    return [f"Replay, measured force in, motion out: {each} RMS over {over}"]


def _drift(clocks: Mapping[str, Any]) -> str:
    if clocks["drift_ppm"] is None:
        return "not observable"
    return f"{clocks['drift_ppm']:.1f} ± {1.96 * clocks['drift_std_ppm']:.1f} ppm"


_FIRM = ("identified", "fixed")
"""What stands behind a number that needs no second look."""
_SETS = ("train", "test", "cross_validated", "quasi_static")


def parameters_table(data: Mapping[str, Any]) -> Table:
    """The terminal's table, and beside its interval the kinds of uncertainty, each as ± 95 %."""
    found = _units(_as_on_terminal(parameter_table(data), "parameter"))
    entries = list(data["parameters"].values())
    doubtful = tuple(i for i, entry in enumerate(entries) if entry["status"] not in _FIRM)
    at = found.headings.index("unit") + 1
    kinds = [k for k in ("noise", "pull") if any(e.get(k) for e in entries)]
    # the status beside the number: what is wide is scrolled, and this must be in sight
    headings = [*found.headings[:at], "status", *(f"{k},\u00a0±" for k in kinds), *found.headings[at:-1]]
    rows = [
        (*row[:at], row[-1], *(_half_width(entry, k, row[1]) for k in kinds), *row[at:-1])
        for row, entry in zip(found.rows, entries, strict=True)
    ]
    words = tuple(i for i, h in enumerate(headings) if h in ("parameter", "unit", "status"))
    told: list[str] = []
    if kinds:
        told.append(
            "Noise and pull (of the prior), each ± 95 %, are parts of the interval; systematic stands beside it."
        )
    if not any(e.get("systematic") for e in entries):
        told.append("No systematic errors were declared (uncertain: in the experiment file), so none are shown.")
    if doubtful:
        told.append("Shaded: the recording alone does not tell the value.")
    shown = [h.replace("systematic", "systematic,\u00a0±") for h in headings]
    return Table(tuple(shown), tuple(rows), words=words, marked=doubtful, note=" ".join(told))


def _half_width(entry: Mapping[str, Any], kind: str, value: str) -> str:
    """± 95 % with the decimals of the value."""
    std = entry.get(kind)
    if std is None or entry["value"] is None:
        return "-"
    shown = f"{1.96 * std:.{len(value.partition('.')[2])}f}"
    return shown if float(shown) else "0"


def shapes_table(data: Mapping[str, Any]) -> Table | None:
    """Borders and widths of zones."""
    if not data.get("shapes"):
        return None
    found = _as_on_terminal(shape_table(data))
    unsure = tuple(i for i, entry in enumerate(data["shapes"].values()) if entry["status"] not in _FIRM)
    return Table(found.headings, found.rows, "Zones", found.words, unsure)


def errors_table(data: Mapping[str, Any]) -> Table | None:
    """RMS error of each channel on train, test and cross-validated data, with percent of the signal's range."""
    sets = [s for s in _SETS if data.get("rms", {}).get(s)]
    if not sets:
        return None
    band = data.get("rms_below_hz")
    headings = ["RMS error" if band is None else f"RMS error below {band:g} Hz"]
    for name in sets:
        headings += [name.replace("_", "-"), "of range"]
    rows: list[tuple[str, ...]] = []
    for channel, first in data["rms"][sets[0]].items():
        cells: list[str] = [channel]
        for name in sets:
            entry = data["rms"][name].get(channel)
            percent = None if entry is None else _percent(data["rms"], name, channel)
            cells.append("-" if entry is None else f"{entry['value']:.3g}")
            cells.append("-" if percent is None else f"{percent:.2f} %")
        rows.append((*cells, "-" if first.get("noise") is None else f"{first['noise']:.3g}", first["unit"]))
    note = "Of range: in percent of the largest minus the smallest measured value of the segment."
    if "cross_validated" in sets:
        note += " Cross-validated: each piece of the train segments predicted by a fit to the others."
    if band is None:
        note += " The measured signals are not smoothed, so their noise is part of the error."
    return Table((*headings, "noise", "unit"), tuple(rows), words=(0, len(headings) + 1), note=note)


def _percent(rms: Mapping[str, Any], name: str, channel: str) -> float | None:
    """Of the range; cross-validated pieces are those of the train segments, so of that range."""
    entry, train = rms[name][channel], rms.get("train", {}).get(channel)
    if name == "cross_validated" and train and train["percent_of_range"] is not None and train["value"] > 0:
        return train["percent_of_range"] * entry["value"] / train["value"]
    return entry["percent_of_range"]


def segments_table(data: Mapping[str, Any]) -> Table | None:
    """RMS error of each segment by itself."""
    parts = data.get("rms_of_segments") or ()
    channels = dict.fromkeys(c for part in parts for c in part["rms"])
    if len(parts) < 2 or not channels:
        return None
    units = {c: next(p["rms"][c]["unit"] for p in parts if c in p["rms"]) for c in channels}
    rows = tuple(
        (
            p["segment"],
            f"{p['from_s']:.1f} … {p['to_s']:.1f}",
            *(f"{p['rms'][c]['value']:.3g}" if c in p["rms"] else "-" for c in channels),
        )
        for p in parts
    )
    return Table(("segment", "from … to, s", *(f"{c}, {units[c]}" for c in channels)), rows)


def _as_on_terminal(table: RichTable, corner: str = "") -> Table:
    """The terminal's table with the same cells, so that page and terminal show the same digits."""
    headings = tuple(str(column.header) or corner for column in table.columns)
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    words = tuple(i for i, column in enumerate(table.columns) if column.justify != "right")
    return Table(headings, tuple(zip(*columns, strict=True)), words=words)


def _units(table: Table) -> Table:
    """The column of units as people write them."""
    at = table.headings.index("unit")
    rows = tuple((*row[:at], unit_text(row[at]), *row[at + 1 :]) for row in table.rows)
    return replace(table, rows=rows)


_NAMED = 3
"""Parameters that a line names."""
_NOTHING = 0.1
"""Of the half width of an interval: a smaller change is none."""
_ZEROS = {
    "still": "mean while nobody touched the handles",
    "estimated": "estimated with the other parameters",
    "none": "as recorded",
}
_OTHERWISE = {"still": "from the untouched handles", "estimated": "estimated along", "none": "left as recorded"}


def notes(data: Mapping[str, Any]) -> list[str]:
    """A line for each of these that the result tells of."""
    return [*_damping(data), *_systematic(data), *_zero(data), *_handles(data), *_feet(data), *_friction(data)]


def _damping(data: Mapping[str, Any]) -> Iterator[str]:
    """What half and twice the lambda do, to identified parameters where there are any."""
    changes: Mapping[str, Mapping[str, float]] = data.get("damping_changes") or {}
    if not changes:
        return
    moved = {n: max(abs(own[n]) for own in changes.values()) for n in next(iter(changes.values()))}
    shares = _shares(data, moved)
    sure = {n: v for n, v in shares.items() if data["parameters"][n]["status"] == "identified"}
    if not shares:
        return
    own = sure or shares
    worst = max(own, key=lambda n: own[n])
    which = "identified parameters" if sure else "parameters, none of which is identified,"
    yield f"Half or twice the lambda moves {which} by up to {own[worst]:.2g} half widths of their interval ({worst})"


def _systematic(data: Mapping[str, Any]) -> Iterator[str]:
    """What each declared uncertainty does most to, beside the intervals."""
    sources: Mapping[str, Mapping[str, float]] = data.get("systematic") or {}
    told: list[str] = []
    for source, stds in sources.items():
        shares = _shares(data, {n: 1.96 * v for n, v in stds.items()})
        worst = sorted((n for n, share in shares.items() if share > _NOTHING), key=lambda n: -shares[n])[:_NAMED]
        moved = ", ".join(f"{n} ± {1.96 * stds[n]:.2g} {data['parameters'][n]['unit']}" for n in worst)
        told.append(f"{source}: {moved or 'nothing by a tenth of its interval'}")
    if told:
        yield f"Systematic, most of all from {'; '.join(told)}"


def _zero(data: Mapping[str, Any]) -> Iterator[str]:
    """Where the load cells' zeros come from, and what another source would change."""
    zero: Mapping[str, Any] = data.get("zero") or {}
    if not zero:
        return
    told: list[str] = []
    for way, changes in zero["change_if"].items():
        shares = _shares(data, changes)
        worst = sorted((n for n, share in shares.items() if share > _NOTHING), key=lambda n: -shares[n])[:_NAMED]
        moved = ", ".join(f"{n} {changes[n]:+.2g} {data['parameters'][n]['unit']}" for n in worst)
        told.append(f"if {_OTHERWISE[way]}: {moved or 'no parameter moves by a tenth of its interval'}")
    fixed = " and a stated wrench at the contact" if "at_contact" in zero else ""
    yield f"Zeros of the load cells: {_ZEROS[zero['from']]}{fixed}" + (f"; {'; '.join(told)}" if told else "")


def _shares(data: Mapping[str, Any], changes: Mapping[str, float | None]) -> dict[str, float]:
    """Changes in half widths of the intervals, of parameters that have one."""
    found: dict[str, float] = {}
    for name, change in changes.items():
        ci = data["parameters"].get(name, {}).get("ci95")
        if ci is not None and change is not None and ci[1] > ci[0]:
            found[name] = 2 * abs(change) / (ci[1] - ci[0])
    return found


def _handles(data: Mapping[str, Any]) -> Iterator[str]:
    handles: Mapping[str, Any] = data.get("handles") or {}
    each = [f"{h['phi']['m']:.4g} kg ({h['from']})" for h in handles.values()]
    if each:
        same = len(each) > 1 and len(set(each)) == 1
        yield f"Handle{'s' if len(each) > 1 else ''}: {f'{each[0]}, on both sensors' if same else ', '.join(each)}"


def _feet(data: Mapping[str, Any]) -> Iterator[str]:
    rolling: Mapping[str, Any] = data.get("rolling") or {}
    assumed: Mapping[str, float] = rolling.get("feet_assumed") or {}
    stiff = [v for n, v in assumed.items() if n.endswith("_k")]
    rough = [v for n, v in assumed.items() if n.startswith("mu_")]
    if not assumed:
        return
    what = [f"a stiffness of {stiff[0]:.2g} N/m"] if stiff else []
    what += [f"friction {rough[0]:g}"] if rough else []
    yield f"Feet: {len(rolling['feet_m'])}, from the markers; how they press and rub is assumed: {', '.join(what)}"


def _friction(data: Mapping[str, Any]) -> Iterator[str]:
    """b_c as rolling resistance: at most, and as far as it follows the load."""
    rolling: Mapping[str, Any] = data.get("rolling") or {}
    found: Mapping[str, Any] = rolling.get("resistance") or {}
    if not found or found["mu_r_at_most"] is None:
        return
    text = f"{found['element']} as rolling resistance alone, under the mean load of {found['mean_load_N']:.0f} N, "
    text += f"would be mu_r = {found['mu_r_at_most']:.2g}"
    if found["ci95"] is not None:
        half = (found["ci95"][1] - found["ci95"][0]) / 2
        text += f"; from how friction follows the load, mu_r = {found['mu_r']:.2g} ± {half:.1g}"
    yield text


def validation_text(data: Mapping[str, Any]) -> RenderableType:
    """How a model stands up to data it has not seen."""
    table = _table("", "error", "of range", "refitted", "times", "unit")
    for name, e in data["rms"].items():
        percent = "-" if e["percent_of_range"] is None else f"{e['percent_of_range']:.2f} %"
        times = "-" if e["times_refit"] is None else f"{e['times_refit']:.2f}"
        table.add_row(name, f"{e['value']:.3g}", percent, f"{e['refit']:.3g}", times, e["unit"])
    numbers = _table("", "model", "refitted", "95 % interval", "std apart", "unit")
    for name, e in data["parameters"].items():
        ci = e["refit_ci95"]
        digits = decimals(e["refit"], ci)
        cells = [
            "-" if e["value"] is None else f"{e['value']:.{digits}f}",
            f"{e['refit']:.{digits}f}",
            "-" if ci is None else f"{ci[0]:.{digits}f} … {ci[1]:.{digits}f}",
            "-" if e["apart"] is None else f"{e['apart']:.1f}",
        ]
        numbers.add_row(name, *cells, e["unit"])
    about = data["model"]
    source = "" if about["file"] is None else f" ({about['file']})"
    head = f"\n{about['name']}{source} on {data['title']}"
    lines = [f"{data['samples']} samples; refitted: the same model, fitted to these data."]
    played = data["replay"]
    if played and played["model"] is not None:
        other = "" if played["refit"] is None else f" (refitted: {180 / pi * played['refit']:.2f})"
        lines.append(f"Replay, measured force in, angle out: {180 / pi * played['model']:.2f} deg RMS{other}")
    return Group(Text(head, style="bold"), table, numbers, *map(Text, lines), *_ending(data))


def comparison_text(data: Mapping[str, Any]) -> RenderableType:
    """Several results side by side."""
    labels = list(data["results"])
    table = _table("", *labels, "together", "95 % interval", "between takes", "unit")
    for name, e in data["parameters"].items():
        pooled = e["pooled"]
        intervals = [x["ci95"] for x in e["each"].values() if x is not None and x["ci95"] is not None]
        values = [x["value"] for x in e["each"].values() if x is not None and x["value"] is not None]
        digits = decimals(values[0], min(intervals, key=lambda ci: ci[1] - ci[0], default=None)) if values else 3
        cells = [_plus_minus(e["each"][label], digits) for label in labels]
        if pooled is None:
            cells += ["-", "-", "-"]
        else:
            low, high = pooled["ci95"]
            mark = " (!)" if name in data["differing"] else ""
            cells += [
                f"{pooled['value']:.{digits}f}",
                f"{low:.{digits}f} … {high:.{digits}f}",
                f"{pooled['between_takes']:.{digits}f}{mark}",
            ]
        table.add_row(name, *cells, e["unit"])
    errors = _table("test RMS error", *labels, "unit")
    rows = dict.fromkeys(row for label in labels for row in data["rms"][label].get("test", {}))
    for row in rows:
        found = [data["rms"][label].get("test", {}).get(row) for label in labels]
        unit = next(e["unit"] for e in found if e is not None)
        errors.add_row(row, *("-" if e is None else f"{e['value']:.3g}" for e in found), unit)
    verdicts = ", ".join(f"{label} {'passed' if r['passed'] else 'failed'}" for label, r in data["results"].items())
    told = [Text(f"Warning: {w}", style="yellow") for w in data["warnings"]]
    note = Text(
        "± half of the 95 % interval; together: mean of the takes (random effects); (!): they differ by more than "
        "their noise allows. A prior's pull, common to all takes, is in the interval; systematic errors are not.",
        style="dim",
    )
    return Group(table, note, errors, Text(f"Verdicts: {verdicts}"), *told)


def _plus_minus(entry: Mapping[str, Any] | None, digits: int) -> str:
    if entry is None or entry["value"] is None:
        return "-"
    if entry["ci95"] is None:
        return f"{entry['value']:.{digits}f} ({entry['status']})"
    low, high = entry["ci95"]
    return f"{entry['value']:.{digits}f} ± {(high - low) / 2:.{digits}f}"


def _table(first: str, *headings: str) -> RichTable:
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    table.add_column(first)
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "unit" else "right")
    return table


def _ending(data: Mapping[str, Any]) -> list[Text]:
    told = [Text(f"Warning: {w}", style="yellow") for w in data["warnings"]]
    verdict = data["verdict"]
    if verdict["passed"]:
        return [*told, Text("Verdict: passed", style="bold green")]
    return [
        *told,
        Text("Verdict: failed", style="bold red"),
        *(Text(f"- {r}", style="red") for r in verdict["reasons"]),
    ]
