"""Results as tables and lines, the same digits on the terminal and on the page: parameters, errors, notes, comparisons.

Everything is made from the content of result.json and its like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from palpate.physics.units import quantity, shown_in, unit_text
from palpate.tables import Styled, Table, stacked, table

Data = Mapping[str, Any]
SETS = ("train", "test", "cross_validated", "quasi_static")
_DOUBTFUL = {
    "uncertain": "the interval is wide beside the value",
    "prior-dominated": "the prior says more about the value than the data",
    "not-identifiable": "the data do not show the value",
}
"""What stands behind a number that needs a second look."""
_VARIANTS = 12
"""Shown unless all are asked for."""
_NAMED = 3
"""Parameters that a line names."""
_NOTHING = 0.1
"""Of the half width of an interval: a smaller change is none."""
_DEVICES = {
    "imu": "IMU",
    "wrench": "load cell",
    "wrench_2": "second load cell",
    "mocap": "motion capture",
    "poses": "poses",
}
_OTHERWISE = {"still": "from the untouched handles", "estimated": "estimated along", "none": "left as recorded"}


def device_word(key: str) -> str:
    """What an instrument is called that stands under this key in results."""
    stem, _, number = key.partition("_")
    return _DEVICES.get(key) or (f"{_DEVICES.get(stem, stem)} {number}" if number else key)


def result_text(data: Data) -> Any:
    """All that a result says, as the terminal shows it."""
    return stacked(*result_lines(data))


def result_lines(data: Data) -> list[Styled | Table]:
    """Title, parameters, errors, conditioning, warnings and verdict of a result."""
    tables = [f(data) for f in (shape_table, rms_table, segments_table, conditioning_table, clocks_table)]
    inertia = [Styled(inertia_note(data), style="dim")] if "Ixx" in data["parameters"] else []
    lines, weakest, played = notes(data), data["weakest_direction"], dict[str, Any](data.get("replay") or {})
    if played.get("rms") is not None:
        moved = "motion" if len(played.get("coordinates") or {}) > 1 else quantity(played.get("unit", "rad"))
        lines.append(f"Replay, measured force in, {moved} out: {replay_words(played)}")
    lines += [] if weakest is None else [f"Weakest: {weakest['text']}"]
    shown: list[Styled | Table] = [
        Styled(f"\n{data['title']}", style="bold"),
        parameter_table(data),
        *inertia,
        *(t for t in tables if t.rows),
    ]
    return [*shown, *map(Styled, lines), *_ending(data)]


def inertia_note(data: Data) -> str:
    """About which point inertias are."""
    origin = data.get("mechanism", {}).get("origin") or "the sensor frame"
    return f"Inertias are matrix entries about the origin of {origin} (Ixy = -∫xy dm)."


def _ending(data: Data) -> list[Styled]:
    """Warnings, verdict and what speaks against it."""
    warnings = [Styled(f"Warning: {w}", style="yellow") for w in data["warnings"]]
    if data["verdict"]["passed"]:
        return [*warnings, Styled("Verdict: passed", style="bold green")]
    reasons = [Styled(f"- {reason}", style="red") for reason in data["verdict"]["reasons"]]
    return [*warnings, Styled("Verdict: failed", style="bold red"), *reasons]


# --- parameters and shapes --------------------------------------------------------------------------------------------


PARTS = ("noise", "pull", "systematic", "model")
"""Of an interval."""


def parameter_table(data: Data) -> Table:
    """Value, 95 % interval, unit, status, prior, share of information from data; beside each reference.

    On a page with every kind of uncertainty, each as ± 95 %, beside the interval.
    """
    entries: Mapping[str, Data] = data["parameters"]
    kinds = {f"{k},\u00a0±": k for k in PARTS if any(e.get(k) for e in entries.values())}
    records: list[dict[str, str]] = []
    for name, e in entries.items():
        digits = decimals(e["value"] or 0.0, e["ci95"])
        cells = {"parameter": name, "what it is": e.get("words", ""), "value": _number(e["value"], digits)}
        cells |= {"95 % interval": _interval(e["ci95"], digits), "unit": unit_text(e["unit"])}
        # the status beside the number: what is wide is scrolled, and this must be in sight
        cells["status"] = e["status"]
        for word, k in kinds.items():
            text = "-" if e.get(k) is None or e["value"] is None else f"{half_width(e, k):.{digits}f}"
            cells[word] = text if text == "-" or float(text) else "0"
        cells["prior"] = _number(e["prior"], digits)
        cells |= {label: _number(values.get(name), digits) for label, values in data["references"].items()}
        cells["from data"] = f"{100 * e['information_from_data']:.1f} %" if e["status"] != "fixed" else "-"
        records.append(cells)
    notes = [
        "The interval is the total of its parts, each ± 95 %: noise, pull (of the prior), systematic (declared under "
        "uncertain: in the experiment file), model (what missing effects would change)."
    ] * bool(kinds)
    statuses = {e["status"] for e in entries.values()}
    notes += [f"Shaded, {status}: {meaning}." for status, meaning in _DOUBTFUL.items() if status in statuses]
    doubtful = [e["status"] in _DOUBTFUL for e in entries.values()]
    if not any(cells["what it is"] for cells in records):  # of an older version
        records = [{k: v for k, v in cells.items() if k != "what it is"} for cells in records]
    wide = [k for k in ("what it is", *kinds) if records and k in records[0]]
    return table(records, marked=doubtful, wide=wide, explained=" ".join(notes))


def half_width(entry: Data, kind: str) -> float:
    """± 95 % of one part of an interval; noise has the factor of its degrees of freedom, so that the parts add up."""
    if kind != "noise" or entry["ci95"] is None:
        return 1.96 * (entry.get(kind) or 0.0)
    others = sum(half_width(entry, k) ** 2 for k in PARTS if k != "noise")
    return max(0.0, (entry["ci95"][1] - entry["value"]) ** 2 - others) ** 0.5 if entry.get("noise") else 0.0


def shape_table(data: Data) -> Table:
    """Borders and widths of zones, and whether the data show them; angles in degrees."""
    shapes: Mapping[str, Data] = data.get("shapes") or {}
    records, lengths = list[dict[str, str]](), any("stated" in e for e in shapes.values())
    for name, e in shapes.items():
        shown = shown_in(e["unit"])
        value, ci = shown.factor * e["value"], e["ci95"] and [shown.factor * v for v in e["ci95"]]
        digits = decimals(value, ci)
        cells = {"shape": name, "value": _number(value, digits), "95 % interval": _interval(ci, digits)}
        stated = {"stated": _number(shown.factor * e["stated"], digits) if "stated" in e else "-"} if lengths else {}
        records.append(cells | stated | {"unit": shown.unit, "status": e["status"]})
    title = "Zones and lengths" if lengths else "Zones"
    return table(records, title=title, marked=[e["status"] in _DOUBTFUL for e in shapes.values()])


def decimals(value: float, ci: Sequence[float] | None) -> int:
    """Decimals that show the interval's half-width to two digits."""
    half = (ci[1] - ci[0]) / 2 if ci is not None else abs(value) / 100
    return min(9, next((d for d in range(10) if half * 10**d >= 9.5), 9)) if half > 0 else 4


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _share(percent: float | None) -> str:
    return "-" if percent is None else f"{percent:.2f} %"


def _interval(ci: Sequence[float] | None, digits: int) -> str:
    return "-" if ci is None else f"{ci[0]:.{digits}f} … {ci[1]:.{digits}f}"


# --- errors -----------------------------------------------------------------------------------------------------------


def rms_table(data: Data) -> Table:
    """RMS error of each channel on all sets of segments that there are, with percent of the signal's range; beside each
    reference that has a test error.
    """
    rms: dict[str, Any] = data.get("rms") or {}
    band, records = data.get("rms_below_hz"), list[list[tuple[str, str]]]()
    sets = [s for s in SETS if rms.get(s)]
    others = {n: v for n, v in data.get("references", {}).items() if any(k.startswith("rms_") for k in v)}
    for channel, first in rms[sets[-1] if len(sets) == 2 else sets[0]].items() if sets else ():
        cells = [("RMS error" if band is None else f"RMS error below {band:g} Hz", channel)]
        for name in sets:
            entry = rms[name].get(channel)
            cells.append((name.replace("_", "-"), "-" if entry is None else f"{entry['value']:.3g}"))
            cells.append(("of range", _share(entry and entry["percent_of_range"])))
        cells.append(("noise", "-" if first.get("noise") is None else f"{first['noise']:.3g}"))
        cells += [(n, f"{v[f'rms_{channel}']:.3g}" if f"rms_{channel}" in v else "-") for n, v in others.items()]
        records.append([*cells, ("unit", first["unit"])])
    note = "Of range: in percent of the largest minus the smallest measured value of the segment."
    if "cross_validated" in sets:
        note += " Cross-validated: each piece of the train segments predicted by a fit to the others."
    if band is None:
        note += " The measured signals are not smoothed, so their noise is part of the error."
    return table(records, explained=note)


def segments_table(data: Data) -> Table:
    """RMS error of each segment by itself, where a set has several."""
    parts = [p for p in data.get("rms_of_segments") or () if p["rms"]]
    units: dict[str, str] = {c: e["unit"] for part in parts for c, e in part["rms"].items()}
    several = len({p["segment"] for p in parts}) < len(parts)
    return table(
        {"segment": p["segment"], "from … to, s": f"{p['from_s']:.1f} … {p['to_s']:.1f}"}
        | {f"RMS {c}, {u}": f"{p['rms'][c]['value']:.3g}" if c in p["rms"] else "-" for c, u in units.items()}
        for p in (parts if several else ())
    )


# --- conditioning and clocks ------------------------------------------------------------------------------------------


def conditioning_table(data: Data) -> Table:
    """Condition numbers, of the data alone and with the prior; beside those of a reference that has them."""
    meanings = {
        "kappa": ("kappa", "of the data alone; below 100 is good"),
        "damping": ("lambda", f"weight of the prior ({data.get('factor', 'UtU')})"),
        "kappa_eff": ("kappa_eff", "with the prior"),
        "kappa_eff_paper": ("kappa_eff, as published", "as the paper's authors compute it"),
    }
    # without a prior there is nothing to damp
    used = list(meanings)[: 4 if data.get("damping") or data.get("damping_curve") else 1] if "kappa" in data else ()
    others = {n: v for n, v in data.get("references", {}).items() if set(v) & set(meanings)}
    return table(
        {"conditioning": word, "value": f"{data[k]:.4g}" if k == "damping" else condition(data.get(k))}
        | {label: f"{values[k]:.4g}" if k in values else "-" for label, values in others.items()}
        | {"meaning": meaning}
        for k, (word, meaning) in meanings.items()
        if k in used
    )


def condition(value: float | None) -> str:
    """A condition number."""
    return "infinite" if value is None else f"{value:.1f}" if value < 1e4 else f"{value:.1g}"


def clocks_table(data: Data) -> Table:
    """Offset and drift of each device against the reference clock."""
    clocks: Mapping[str, Any] = data.get("clocks") or {}
    records: list[dict[str, str]] = []
    for name, clock in clocks.items():
        std, drift, estimated = clock.get("std_s"), clock.get("drift_ppm"), bool(clock.get("estimated"))
        spread = clock.get("drift_std_ppm")
        cells = {"clock of": device_word(name)}
        cells["offset, s"] = f"{round(clock['reference_minus_device_s'], 6) + 0.0:.6f}"
        cells["± 95 %, ms"] = f"{1.96e3 * std:.3f}" if std is not None and estimated else "-"
        cells["drift, ppm"] = "-" if drift is None else f"{drift:+.1f}"
        cells["drift, ppm"] += "" if drift is None or spread is None else f" ± {1.96 * spread:.1f}"
        cells["explains"] = f"{100 * clock['explained']:.2f} %" if clock.get("explained") else "-"
        records.append(cells | {"how": "estimated" if estimated else "stated"})
    reference, device = ("load-cell", "IMU") if data.get("stage") == "handle" else ("markers'", "the device's")
    return table(records, note=f"Offset: {reference} time minus {device} time of the same instant.")


def motion_table(data: Data) -> Table:
    """How well each quantity of the motion is known."""
    motion: Data = data.get("motion") or {}
    records: list[dict[str, str]] = []
    for name, noise in dict[str, Any](motion.get("noise") or {}).items():
        shown = shown_in(noise["unit"])
        value = "-" if noise["value"] is None else f"{shown.factor * noise['value']:.2g}"
        records.append({"quantity": name.replace("_", " "), "noise": value, "unit": shown.unit})
    note = f"Told by {motion.get('from')}; standard deviations of the noise in the band of the fit."
    return table(records, note=note)


# --- lines ------------------------------------------------------------------------------------------------------------


def size(value: float, unit: str, digits: str = "") -> str:
    """An error of a coordinate: angles in degrees, lengths in mm."""
    if unit == "m":
        return f"{1e3 * value:{digits or '.1f'}} mm"
    shown = shown_in(unit)
    return f"{shown.factor * value:{digits or '.2f'}} {shown.unit}"


def replay_words(replay: Data) -> str:
    """RMS errors of a replay, of each coordinate where there are several, and over which windows."""
    parts: Mapping[str, Any] = replay.get("coordinates") or {}
    each = ", ".join(f"{name} {size(e['value'], e['unit'])}" for name, e in parts.items()) if len(parts) > 1 else ""
    windows = f" over {replay['windows']} windows" if "windows" in replay else ""
    windows += f" of {replay['window_s']:g} s" if windows and "window_s" in replay else ""
    stopped = (
        f"; {replay['stopped']} of them meet a stop, of which only the place is known" if replay.get("stopped") else ""
    )
    return f"{each or size(replay['rms'], str(replay.get('unit', 'rad')))} RMS{windows}{stopped}"


def notes(data: Data) -> list[str]:
    """What stands behind the numbers of a body, a line each: lambda, systematic errors, zeros, handles, feet, and the
    wheel's friction.
    """
    keys, lines = ("damping_changes", "systematic", "zero", "handles", "mechanism"), list[str]()
    held: list[dict[str, Any]] = [data.get(key) or {} for key in keys]
    changes, sources, zero, handles, rolling = held
    if data.get("method") == "joint":
        lines.append("Method: joint; the clock and the motion behind errors and replay are the balance's, its start")
    twice: Data = changes.get("doubled") or {}
    shares = _shares(data, {n: max(abs(each[n]) for each in changes.values()) for n in twice})
    if shares:
        identified = {n: v for n, v in shares.items() if data["parameters"][n]["status"] == "identified"}
        worst = max(identified or shares, key=lambda n: shares[n])
        which = "identified parameters" if identified else "parameters, none of which is identified,"
        share = f"{shares[worst]:.2g} half widths of their interval ({worst})"
        lines.append(f"Halving or doubling lambda moves {which} by up to {share}")
    if sources:
        moved = {s: _most_moved(data, {n: 1.96 * v for n, v in by.items()}, "± {:.2g}") for s, by in sources.items()}
        each = (f"{source}: {words or 'nothing by a tenth of its interval'}" for source, words in moved.items())
        lines.append(f"Systematic, mostly from {'; '.join(each)}")
    if zero:
        others = (
            f"; if {_OTHERWISE[way]}: {_most_moved(data, by) or 'no parameter moves by a tenth of its interval'}"
            for way, by in zero["change_if"].items()
        )
        stated = " and a stated wrench at the contact" if "at_contact" in zero else ""
        words = {"still": f"mean while nobody touched the {'handles' if handles else 'object'}"}
        words["estimated"] = "estimated with the other parameters"
        # without a still segment nothing was subtracted
        known = zero["from"] != "still" or any(any(sensor.values()) for sensor in zero["sensors"].values())
        what = "Zeros of the load cells" if data["clocks"] or handles else "Zero of the measured force"
        lines.append(f"{what}: {words.get(zero['from'] if known else '', 'as recorded')}{stated}{''.join(others)}")
    if data.get("taken_as_exact"):
        lines.append(f"Taken as exact, since not declared under uncertain: {', '.join(data['taken_as_exact'])}")
    if handles:
        each = [f"{h['phi']['m']:.4g} kg ({h['from']})" for h in handles.values()]
        same = len(each) > 1 and len(set(each)) == 1
        lines.append(f"Handle{'s' * (len(each) > 1)}: {f'{each[0]}, on both sensors' if same else ', '.join(each)}")
    assumed: Mapping[str, float] = rolling.get("feet_assumed") or {}
    if assumed:
        what = [f"a stiffness of {v:.2g} N/m" for n, v in assumed.items() if n.endswith("_k")][:1]
        what += [f"friction {v:g}" for n, v in assumed.items() if n.startswith("mu_")][:1]
        feet = f"Feet: {len(rolling['feet_m'])}, from the markers"
        lines.append(f"{feet}; how they press and rub is assumed: {', '.join(what)}")
    friction: Data = rolling.get("resistance") or {"mu_r_at_most": None}
    if friction["mu_r_at_most"] is not None:
        text = f"{friction['element']} as rolling resistance alone, under the mean load of "
        text += f"{friction['mean_load_N']:.0f} N, would be mu_r = {friction['mu_r_at_most']:.2g}"
        if friction["ci95"] is not None:
            half = (friction["ci95"][1] - friction["ci95"][0]) / 2
            text += f"; from how friction follows the load, mu_r = {friction['mu_r']:.2g} ± {half:.1g}"
        lines.append(text)
    return lines


def _shares(data: Data, changes: Mapping[str, float | None]) -> dict[str, float]:
    """Changes in half widths of the intervals, of parameters that have one."""
    widths = {n: ci[1] - ci[0] for n, e in data["parameters"].items() for ci in [e.get("ci95")] if ci is not None}
    return {n: 2 * abs(c) / widths[n] for n, c in changes.items() if c is not None and widths.get(n, 0.0) > 0}


def _most_moved(data: Data, changes: Mapping[str, float], text: str = "{:+.2g}") -> str:
    """The few parameters that a change moves most, in words; empty where it moves none by a tenth of its interval."""
    shares = _shares(data, changes)
    worst = sorted((n for n, share in shares.items() if share > _NOTHING), key=lambda n: -shares[n])[:_NAMED]
    return ", ".join(f"{n} {text.format(changes[n])} {data['parameters'][n]['unit']}" for n in worst)


# --- several results --------------------------------------------------------------------------------------------------


def summary_table(results: Mapping[str, Data]) -> Table:
    """Several results by where they are, a line each: how many numbers are known, the largest error, the verdict."""
    records: list[dict[str, str]] = []
    for where, data in results.items():
        entries, truth = data["parameters"], data["references"].get("truth", {})
        free = [e["status"] for e in entries.values() if e["status"] != "fixed"]
        inside = [e["ci95"][0] <= truth[n] <= e["ci95"][1] for n, e in entries.items() if n in truth and e["ci95"]]
        errors = [e["percent_of_range"] for e in data["rms"]["test"].values() if e["percent_of_range"] is not None]
        cells = {"": str(data["title"]), "identified": f"{free.count('identified')} of {len(free)}"}
        cells["truth inside"] = f"{sum(inside)} of {len(inside)}" if inside else "-"
        cells["largest test error"] = f"{max(errors):.2f} % of range" if errors else "-"
        records.append(cells | {"verdict": "passed" if data["verdict"]["passed"] else "failed", "where": where})
    return table(records)


def variants_text(data: Data, *, everything: bool = False) -> Any:
    """A ranking of variants on the terminal."""
    return stacked(Styled(f"\n{data['title']}", style="bold"), variants_table(data, everything=everything))


def variants_table(data: Data, *, everything: bool = False) -> Table:
    """A ranking of variants: error on unseen data, of the fit, and how many numbers each has."""
    ranked, chosen, records = data["variants"], data["chosen"], list[dict[str, str]]()
    for r in (r for i, r in enumerate(ranked) if everything or i < _VARIANTS or r["name"] == chosen):
        mark = "as good" if r["as_good_as_best"] else ""
        mark = "chosen: the simplest as good as the best" if r["name"] == chosen else mark
        cells = {"variant": r["name"], f"unseen, {data['unit']}": f"{r['cross_validated_rms']:.4g}"}
        records.append(cells | {"fitted": f"{r['rms']:.4g}", "numbers": str(r["numbers"]), "remark": mark})
    left = len(ranked) - len(records)
    note = f"... and {left} more (--all shows them)" if left else ""
    return table(records, note=note)


def explanation_text(data: Data) -> Any:
    """The balance of an experiment: what acts, and what each number needs to be seen."""
    rows = ", ".join(f"{r['name']} ({r['unit']})" for r in data["rows"])
    lines = [f"Mechanism: {data['mechanism']}. Frame: {data['frame']}."]
    coordinates = ", ".join(f"{name} ({unit})" for name, unit in data["coordinates"].items())
    lines += [f"Coordinates: {coordinates}."] if coordinates else []
    lines += [f"{x['coordinate']} is driven by {x['after']}, through a {x['type']}." for x in data["linkages"]]
    lines += [f"Balance of {rows}, free of constraint forces:", f"  {data['balance']}"]
    if "P·" in data["balance"]:
        lines.append("  P: the free rows of a wrench in the body frame")
    lines += [f"  {e['name']} ({e['type']} on {e['acts_on']}): {e['law']}" for e in data["elements"]]
    numbers = (
        {
            "parameter": p["name"],
            "unit": unit_text(p["unit"]),
            "may be": p["may_be"],
            "acts": p["where"] or "everywhere",
        }
        | {"to be seen": "fixed" if p["fixed"] is not None else p["needs"] or "-"}
        for p in data["parameters"]
    )
    shapes = (
        {"shape": s["name"], "value": s["value"], "": "estimated" if s["estimated"] else "as given"}
        for s in data["shapes"]
    )
    shown = [t for t in (table(numbers), table(shapes)) if t.rows]
    return stacked(Styled(f"\n{data['object']}", style="bold"), *map(Styled, lines), *shown)


def validation_text(data: Data) -> Any:
    """How a model stands up to unseen data, on the terminal."""
    about = data["model"]
    source = "" if about["file"] is None else f" ({about['file']})"
    title = Styled(f"\n{about['name']}{source} on {data['title']}", style="bold")
    return stacked(title, *validation_tables(data), *map(Styled, validation_notes(data)), *_ending(data))


def validation_tables(data: Data) -> tuple[Table, Table]:
    """Errors of the model beside those of a refit, and its numbers beside the refit's."""
    errors = (
        {"row": name, "error": f"{e['value']:.3g}", "of range": _share(e["percent_of_range"])}
        | {"refitted": f"{e['refit']:.3g}", "times": _number(e["times_refit"], 2), "unit": e["unit"]}
        for name, e in data["rms"].items()
    )
    numbers: list[dict[str, str]] = []
    for name, e in data["parameters"].items():
        digits, interval = decimals(e["refit"], e["refit_ci95"]), e["refit_ci95"]
        cells = {"parameter": name} | ({"what it is": e["words"]} if "words" in e else {})
        cells |= {"model": _number(e["value"], digits), "refitted": _number(e["refit"], digits)}
        cells |= {"95 % interval": _interval(interval, digits), "std apart": _number(e["apart"], 1)}
        numbers.append(cells | {"unit": unit_text(e["unit"])})
    return table(errors), table(numbers, wide=[k for k in ("what it is",) if numbers and k in numbers[0]])


def validation_notes(data: Data) -> list[str]:
    """How many samples, and the replay."""
    played = data["replay"]
    lines = [f"{data['samples']} samples; refitted: the same model, fitted to these data."]
    if played and played["model"] is not None:
        unit = str(played.get("unit", "rad"))
        other = "" if played["refit"] is None else f" (refitted: {size(played['refit'], unit)})"
        lines.append(f"Replay, measured force in, motion out: {size(played['model'], unit)} RMS{other}")
    return lines


def comparison_text(data: Data) -> Any:
    """Several results side by side, on the terminal."""
    warnings = (Styled(f"Warning: {w}", style="yellow") for w in data["warnings"])
    return stacked(*comparison_tables(data), Styled(verdicts_line(data)), *warnings)


def verdicts_line(data: Data) -> str:
    """Which of the results passed."""
    said = (f"{label} {'passed' if r['passed'] else 'failed'}" for label, r in data["results"].items())
    return f"Verdicts: {', '.join(said)}"


def comparison_tables(data: Data) -> tuple[Table, Table]:
    """Each number of each result with their mean, and the test errors."""
    labels, records = list(data["results"]), list[dict[str, str]]()

    def cell(entry: Data | None, digits: int) -> str:
        if entry is None or entry["value"] is None:
            return "-"
        half = f"({entry['status']})" if entry["ci95"] is None else f"± {float(np.ptp(entry['ci95'])) / 2:.{digits}f}"
        return f"{_number(entry['value'], digits)} {half}"

    for name, e in data["parameters"].items():
        known = [x for x in e["each"].values() if x is not None and x["value"] is not None]
        intervals = [x["ci95"] for x in known if x["ci95"] is not None]
        narrowest = min(intervals, key=lambda ci: ci[1] - ci[0], default=None)
        digits = decimals(known[0]["value"], narrowest) if known else 3
        pooled: Data = e["pooled"] or dict.fromkeys(("value", "ci95", "between_takes"))
        cells = {"parameter": name} | ({"what it is": e["words"]} if "words" in e else {})
        cells |= {label: cell(e["each"][label], digits) for label in labels}
        apart = data["apart"].get(name)
        mean = _number(pooled["value"], digits) if apart is None else f"{100 * apart:.0f} % apart"
        cells |= {"together": mean, "95 % interval": _interval(pooled["ci95"], digits)}
        mark = " (!)" if name in data["differing"] else ""
        records.append(
            cells | {"between takes": _number(pooled["between_takes"], digits) + mark, "unit": unit_text(e["unit"])}
        )
    tests = {label: data["rms"][label].get("test", {}) for label in labels}
    units = {row: e["unit"] for test in tests.values() for row, e in test.items()}
    errors = (
        {"test RMS error": row, **{n: f"{t[row]['value']:.3g}" if row in t else "-" for n, t in tests.items()}}
        | {"unit": unit}
        for row, unit in units.items()
    )
    note = (
        "± half of the 95 % interval; together: mean of the takes (random effects), or how far they are apart where "
        "that is clear; (!): they differ by more than their noise allows. What all takes share is in the interval too: "
        "a prior's pull, systematic errors, and what the model lacks."
    )
    wide = [k for k in ("what it is",) if records and k in records[0]]
    return table(records, note=note, wide=wide), table(errors)
