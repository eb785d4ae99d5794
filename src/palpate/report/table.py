"""The one result table that all objects use, and the text around it; made from the content of result.json."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from palpate.report.notes import notes

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


def parameter_table(data: Mapping[str, Any]) -> Table:
    """Value, 95 % interval, unit, prior, share of information from data, status; beside each reference."""
    table = Table(box=None, pad_edge=False, header_style="bold")
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


def summary_table(results: Mapping[str, Mapping[str, Any]]) -> Table:
    """Several results by where they are, a line each: how many numbers are known, the largest error, the verdict."""
    table = Table(box=None, pad_edge=False, header_style="bold")
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


def shape_table(data: Mapping[str, Any]) -> Table:
    """Borders and widths of zones, and whether the data tell them; angles in degrees."""
    table = Table(box=None, pad_edge=False, header_style="bold")
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
    table = Table(box=None, pad_edge=False, header_style="bold")
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


def shown_unit(unit: str) -> tuple[float, str]:
    """People read angles in degrees: the factor, and the unit to show."""
    return (180 / pi, unit.replace("rad", "deg")) if unit in ("rad", "rad/s") else (1.0, unit)


def rms_table(data: Mapping[str, Any]) -> Table:
    """RMS error of each channel on train and test segments, with percent of the signal's range; beside each reference
    that tells a test error.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
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


def segment_table(data: Mapping[str, Any]) -> Table | None:
    """RMS error of each channel on each test segment; None where there are not several."""
    tests = [s for s in data.get("rms_of_segments", ()) if s["segment"] == "test" and s["rms"]]
    if len(tests) < 2:
        return None
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("RMS by test")
    for s in tests[:_SEGMENTS]:
        table.add_column(f"{s['from_s']:.0f} to {s['to_s']:.0f} s", justify="right")
    more = len(tests) - _SEGMENTS
    table.add_column("unit" if more <= 0 else f"unit (and {more} more)")
    for row, entry in tests[0]["rms"].items():
        table.add_row(row, *(f"{s['rms'][row]['value']:.3g}" for s in tests[:_SEGMENTS]), entry["unit"])
    return table


def decimals(value: float, ci: tuple[float, float] | None) -> int:
    """Decimals that show the interval's half-width to two digits."""
    half = (ci[1] - ci[0]) / 2 if ci is not None else abs(value) / 100
    return min(9, next((d for d in range(10) if half * 10**d >= 9.5), 9)) if half > 0 else 4


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
