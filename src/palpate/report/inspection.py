"""An inspection, as a page and in the terminal: findings, recordings, markers, clocks, vertical and motion.

A part yields words and tables, which page and terminal share, and functions that draw, which only the page calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.experiment.inspection import Inspection
from palpate.experiment.stage.body import MarkedBody
from palpate.experiment.stage.capture import CapturedMotion, wrench_features
from palpate.experiment.stage.recordings import Instrument
from palpate.experiment.stage.view import body_scene
from palpate.experiment.tables import device_word
from palpate.files import finite
from palpate.findings import Finding, sentences
from palpate.motion.clock import ClockMap, interpolated
from palpate.motion.cloud import Markers, Source, markers_of, nan_mean
from palpate.motion.derivatives import Bandwidth, pose_motion
from palpate.motion.extrinsics import OTHER_AXES, UNKNOWN_LEVER, UNKNOWN_TURN
from palpate.motion.frames import HingeAxis
from palpate.motion.imu import PARALLEL, imu_motion
from palpate.motion.offset import angular_velocity, window_mean
from palpate.motion.wheels import RollingMotion
from palpate.physics.arrays import FloatArray, least_squares, median, spread_rows
from palpate.recording import FORMATS, Channel, Recording
from palpate.recording.gates import check_channels
from palpate.recording.naming import unit_in_name
from palpate.recording.recording import shown_unit
from palpate.report import plots
from palpate.report.fit_plots import clock_figure, scene
from palpate.report.page import Block, Figure, Json, Remarks, Section, Words, fold, folded, section
from palpate.report.page import write_page as write
from palpate.report.plots import COLOURS, DARK, GREY, PALE, Mark, Panel, curve, line
from palpate.report.plots import millimetres as mm
from palpate.tables import Styled, Table, stacked, table

_LOOKED_AT = 1 << 16
"""Samples of a channel, spread over all, that tell its noise to half a percent."""
_LONG = 16
"""Rows from which a table is folded."""
_MOST_FIGURES, _TRACES = 8, 6
"""Of signals: figures of a recording, and signals of a figure."""
_PRINTED = 6
"""Findings of one kind that are printed."""
_CLOUDS = {
    **{"static": "the static recording", "still": "a stretch in which the body is still"},
    **{"mean": "the mean of the recording itself"},
}
_REMARKS = {"clipping": "cut off", "constant": "constant", "frozen": "stands still at times", "noise": "noise"}
_HALF_S = 0.04
"""Signals are averaged over twice this before they are laid over each other, both alike."""
_ZOOM_S = 4.0
_MOST_MARKERS = 8
"""Whose errors are drawn over time: those with the largest."""
_MOST_FAULTS = 60
_COLUMNS = 1500
"""Of the picture of when markers were visible."""
_STATES = {
    **{"visible": "#cfe3d4", "moved, carried back": "#e69f00", "label exchanged, corrected": "#cc79a7"},
    **{"hidden, from the body": "#8fbce6", "hidden, by spline": "#0072b2", "ghost, replaced": "#d55e00", "": "#222222"},
}
"""What can be said of a marker in a frame, the gravest last, whose name depends on the picture."""
_SHADES = {"swapped": "#cc79a7", "ghost": "#d55e00", "confused": "#222222"}
_Part = Block | Callable[[], Figure | Iterator[Figure] | None]
_Signals = dict[str, tuple[FloatArray, FloatArray]]
"""What is the same once the clocks are: of the reference, and of the device on its clock; name -> times and values."""


# --- page and terminal ------------------------------------------------------------------------------------------------


def write_inspection(path: Path, inspection: Inspection) -> None:
    """Write the page; it needs no network and no other file."""
    count = len(inspection.recordings)
    subtitle = f"{count} recording{'s' if count != 1 else ''}"
    if inspection.reference and inspection.devices:
        subtitle += f", clocks compared with that of {device_word(inspection.reference)}"
    write(path, inspection.title or "Inspection of recordings", inspection_sections(inspection), subtitle=subtitle)


def inspection_sections(inspection: Inspection) -> list[Section]:
    """What the page shows; a section without data has no blocks and is left out."""

    def drawn(part: Iterator[_Part]) -> Iterator[Block | None]:
        for block in part:
            made = block() if callable(block) else block
            yield from made if isinstance(made, Iterator) else (made,)

    remarks = [Remarks(kind, texts, fatal) for kind, fatal, texts in _grouped(inspection.findings)]
    return [
        section("Findings", *(remarks or [Words("Nothing unusual was noticed.")])),
        section("Recordings", *(b for r in inspection.recordings for b in _recording(r, inspection.body is None))),
        *(section(title, *drawn(part)) for title, part in _parts(inspection).items()),
    ]


def inspection_text(inspection: Inspection, described: Sequence[Mapping[str, Any]] = ()) -> Any:
    """Channels of the recordings that are described, what the recordings say together, findings last."""
    parts: list[Any] = []
    for recording, data in zip(inspection.recordings, described, strict=False):
        parts.append(Styled(f"\n{data['file']} ({data['format']})", style="bold"))
        parts += [sampling_table({c["name"]: c for c in data["clocks"]}), channels_table(recording, data)]
        parts += [Styled(f"hint: {c['hint']}", style="yellow") for c in data["clocks"] if c["hint"]]
    for part in _parts(inspection).values():
        words = [block for block in part if isinstance(block, Words) or (isinstance(block, Table) and block.rows)]
        parts += [Styled()] * bool(words)
        parts += (Styled(b.text) if isinstance(b, Words) else b for b in words)
    parts += [Styled()] * bool(inspection.findings)
    for kind, fatal, texts in _grouped(inspection.findings):
        more = [f"{len(texts) - _PRINTED} more of this kind"] if len(texts) > _PRINTED else []
        parts += [Styled(f"{kind}: {text}", "red" if fatal else "yellow") for text in (*texts[:_PRINTED], *more)]
    return stacked(*parts)


def _parts(inspection: Inspection) -> dict[str, Iterator[_Part]]:
    """By title of the section."""
    body, motion, parts = inspection.body, inspection.motion, dict[str, Iterator[_Part]]()
    if isinstance(body, MarkedBody):
        parts["Markers"] = _markers(body, None if motion is None else motion.hinge)
    parts["Clocks"] = _clocks(inspection)
    if motion is not None:
        parts |= {"Vertical and placement": _placement(motion), "Derivatives": _derivatives(motion)}
        parts |= {"Hinge": _hinge(motion), "Wheel": _wheel(motion.rolling)}
    return parts


def _grouped(findings: Sequence[Finding]) -> Iterator[tuple[str, bool, tuple[str, ...]]]:
    """Findings by cause, the fatal ones first: cause, fatal, sentences."""
    for fatal, cause in dict.fromkeys((f.fatal, f.cause) for f in sorted(findings, key=lambda f: not f.fatal)):
        those = tuple(sentences((f for f in findings if f.cause == cause), fatal=fatal))
        yield cause.replace("-", " ").capitalize(), fatal, those


# --- recordings -------------------------------------------------------------------------------------------------------


def describe(
    recording: Recording, unit_remedy: str = "--time-unit ms", names: Sequence[str] | None = None
) -> dict[str, Any]:
    """A recording's channels, all or some, and clocks as plain data; `unit_remedy` is how to say that times are
    milliseconds.
    """
    # plain tables, whose times are the user's word
    stated = recording.format in FORMATS and "rate" in FORMATS[recording.format].options
    clocks: list[dict[str, Any]] = []
    for c in recording.clocks:
        first, last = (float(c.times_s[0]), float(c.times_s[-1])) if len(c) else (None, None)
        data = {"name": c.name, "samples": len(c), "rate_hz": finite(c.rate_hz), "from_s": first, "to_s": last}
        data |= {"gaps": c.gaps, "largest_gap_s": finite(c.largest_gap_s), "jitter_s": finite(c.jitter_s)}
        # nobody records hands below 5 Hz, but whole milliseconds read as seconds look like that
        step = float(np.median(np.diff(c.times_s))) if stated and len(c) > 2 else 0.0
        in_ms = 1 <= round(step) <= 20 and abs(step - round(step)) < 1e-6
        clocks.append(data | {"hint": f"times look like milliseconds: {unit_remedy}" if in_ms else None})
    channels: list[dict[str, Any]] = []
    for c in (recording[name] for name in (recording.channels if names is None else names)):
        known = c.samples
        if not np.isfinite(known).all():
            known = known[np.isfinite(known).reshape(len(known), -1).all(axis=1)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (None, None)
        # white noise has second differences of variance 6 sigma^2; motion hardly has any
        noise = None
        if len(known) > 2:
            bent = np.diff(spread_rows(known.reshape(len(known), -1), _LOOKED_AT, 1 << 10), n=2, axis=1)
            noise = float(median(np.abs(bent, out=bent).ravel()) / 0.6745 / 6**0.5)
        data = {"name": c.name, "unit": c.unit, "frame": c.frame, "clock": c.clock.name, "missing": c.missing}
        data |= {"unit_in_name": named} if c.unit == "1" and (named := unit_in_name(c.name)[1]) else {}
        channels.append(data | {"lowest": low, "highest": high, "noise": noise})
    return {"file": str(recording.source), "format": recording.format, "clocks": clocks, "channels": channels}


def _recording(recording: Recording, no_body: bool) -> Iterator[Block | None]:
    name, data = recording.source.name if recording.source else "recording", describe(recording)
    yield Words(f"{name} ({recording.format})" if recording.format else name, "heading")
    yield sampling_table({c["name"]: c for c in data["clocks"]})
    yield from (Words(f"{c['name']}: {c['hint']}") for c in data["clocks"] if c["hint"])
    channels = channels_table(recording, data)
    yield folded(channels, f"All {len(channels.rows)} channels", _LONG)
    names = [n for n, c in recording.channels.items() if c.samples.ndim == 2 and c.unit == "m" and len(c.samples)]
    clocks = {id(recording.channels[name].clock) for name in names}
    if no_body and len(clocks) == 1 and any(recording.channels[name].missing for name in names):
        markers = markers_of(recording, names)  # that could not be taken for a body
        states = np.where(markers.seen, 0, len(_STATES) - 1).astype(np.int8)
        yield _timeline(markers, markers.names, states, "Dark is where a marker was hidden.", "hidden")
    yield _signals(recording)


def sampling_table(clocks: Mapping[str, Mapping[str, Any]]) -> Table:
    """Samples, rate, duration, gaps and jitter of clocks as `describe` has them."""
    records: list[dict[str, str]] = []
    for name, c in clocks.items():
        known, gaps = c["rate_hz"] is not None, c["gaps"]
        cells = {"clock": name, "samples": str(c["samples"]), "rate, Hz": f"{c['rate_hz']:.6g}" if known else "-"}
        cells["from … to, s"] = f"{c['from_s']:.3f} … {c['to_s']:.3f}" if known else "-"
        cells |= {"gaps": str(gaps or "none"), "longest, s": f"{c['largest_gap_s']:.3f}" if gaps else "-"}
        records.append(cells | {"jitter, µs": f"{1e6 * c['jitter_s']:.0f}" if known else "-"})
    return table(records, marked=[c["gaps"] for c in clocks.values()])


def channels_table(
    recording: Recording,
    described: Mapping[str, Any],
    title: str = "",
    causes: Mapping[str, Sequence[str]] | None = None,
) -> Table:
    """Unit, what is missing, range, noise floor, frame and faults of the channels described; markers in mm.

    causes: of the faults of each channel, where they were looked for already.
    """
    shown = [(d, recording.channels[d["name"]]) for d in described["channels"]]
    if causes is None:
        single = [c.name for _, c in shown if c.samples.ndim == 1 and len(c.samples)]
        causes = {name: [f.cause for f in check_channels(recording, [name])] for name in single}
    faults = [", ".join(dict.fromkeys(_REMARKS[f] for f in causes.get(c.name, ()) if f in _REMARKS)) for _, c in shown]
    records: list[dict[str, str]] = []
    for (data, channel), fault in zip(shown, faults, strict=True):
        marker, lost = channel.samples.ndim == 2 and channel.unit == "m", data["missing"]
        cells = {"channel": channel.name, "unit": "mm" if marker else shown_unit(channel) or "1"}
        cells["missing"] = f"{lost} ({_percent(lost / len(channel.samples))})" if lost else "-"
        sizes = {key: data[key] and (1e3 if marker else 1.0) * data[key] for key in ("lowest", "highest", "noise")}
        cells |= {k: "-" if v is None else f"{v:.{3 if k == 'noise' else 5}g}" for k, v in sizes.items()}
        cells["frame"] = channel.frame or "-"
        cells |= {"clock": channel.clock.name} if len(recording.clocks) > 1 else {}
        records.append(cells | ({"fault": fault} if any(faults) else {}))
    return table(records, title=title, marked=faults)


def _signals(recording: Recording) -> Block | None:
    """The scalar channels over time, those of one unit and clock together."""
    groups: dict[tuple[int, str], list[Channel]] = {}
    for channel in recording.channels.values():
        known = channel.samples[np.isfinite(channel.samples)] if channel.samples.ndim == 1 else np.zeros(0)
        if len(known) > 1 and known.min() < known.max():
            groups.setdefault((id(channel.clock), channel.unit), []).append(channel)
    parts = [group[k : k + _TRACES] for group in groups.values() for k in range(0, len(group), _TRACES)]
    figures: list[Figure | None] = []
    for part in parts[:_MOST_FIGURES]:
        title = ", ".join(c.name for c in part[:3]) + (", ..." if len(part) > 3 else "")
        say = "Flat tops are clipping, lone spikes are knocks or dropouts."
        rows = {part[0].unit if part[0].unit != "1" else "without unit": {c.name: c.samples for c in part}}
        figures.append(plots.over_time(title, say, part[0].clock.times_s, rows, "time on the device's clock, s"))
    left_out = sum(len(part) for part in parts[_MOST_FIGURES:])
    return fold(f"Signals over time{f' ({left_out} more channels are not drawn)' if left_out else ''}", *figures)


# --- markers ----------------------------------------------------------------------------------------------------------


def _is_repaired(body: MarkedBody) -> bool:
    """Whether a fault was put right, rather than only named."""
    return any(f.kind != "unsteady" for f in body.checked.faults)


def _markers(body: MarkedBody, hinge: HingeAxis | None) -> Iterator[_Part]:
    # of the declared roles, and of a hinge that the motion shows
    frames = body.frames | ({} if hinge is None or "hinge" in body.frames else {"hinge": hinge.T_body_hinge})
    yield from (Words(body_line(body)), markers_table(body), partial(error_over_time, body))
    say = "Long dark stretches, or many markers hidden at the same time, are where the pose rests on little; choose "
    say += "segments beside them."
    yield partial(_timeline, body.markers, body.cloud.names, _marker_states(body), say)
    hidden, more = [g for g in body.filled.report if g.gaps], len(body.filled.usable) - 6
    stretches = ", ".join(f"{a:.2f} to {b:.2f} s" for a, b in body.filled.usable[:6])
    note = f"Pose known from {stretches or 'nowhere'}{f' and {more} more stretches' if more > 0 else ''}."
    gaps = ((g.gaps, f"{g.longest_s:.2f}", g.from_body, g.by_spline, g.left) for g in hidden)
    rows = ((marker_name(g.name), *map(str, cells)) for g, cells in zip(hidden, gaps, strict=True))
    headings = ("marker", "gaps", "longest, s", "frames from the body", "by spline", "left empty")
    yield table(rows, headings, "Gaps", marked=[g.left for g in hidden], note=note)
    seen = np.flatnonzero(body.poses.seen)
    if len(seen):
        yield partial(scene, body_scene(body, int(seen[len(seen) // 2]), frames))
    rows = (
        (name, *(f"{1e3 * v:+.1f}" for v in T[:3, 3]), *(_vector(T[:3, i]) for i in range(3)))
        for name, T in frames.items()
    )
    yield table(rows, ("frame", "x, mm", "y, mm", "z, mm", "x axis", "y axis", "z axis"), "Frames in the cloud")


def body_line(body: MarkedBody) -> str:
    """Where the reference cloud comes from, and how well the markers fit it."""
    marker, largest, when = body.raw.largest()
    text = f"{len(body.cloud.names)} markers against {_CLOUDS.get(body.reference, body.reference)}: mean error "
    text += f"{mm(body.raw.mean_error_m)} mm, largest {mm(largest)} mm ({marker_name(marker)} at {when:.2f} s)"
    if _is_repaired(body):
        text += f"; {mm(body.fit.mean_error_m)} mm on average once the faults are repaired"
    lost = "; ".join(f"{frames} frames without a pose: {why}" for why, frames in body.fit.unknown().items())
    return f"{text}. {_sentence(lost)}".strip()


def markers_table(body: MarkedBody) -> Table:
    """Error of each marker as stored and after repair, how often it is hidden, and what is wrong with it."""
    records: list[dict[str, str]] = []
    for (name, mean, largest, when, hidden), good in zip(body.raw.rows(), body.fit.rows(), strict=True):
        cells = {"marker": marker_name(name), "mean error, mm": mm(mean), "largest, mm": mm(largest)}
        cells["at, s"] = f"{when:.2f}" if np.isfinite(mean) else "-"
        if _is_repaired(body):
            cells |= {"repaired mean, mm": mm(good[1]), "repaired largest, mm": mm(good[2])}
        kinds = dict.fromkeys(f.kind for f in body.checked.faults if name in f.names)
        records.append(cells | {"hidden": _percent(hidden), "fault": ", ".join(kinds)})
    return table(records, marked=[r["fault"] for r in records])


def error_over_time(body: MarkedBody) -> Figure:
    """Distance of the markers from their places over time, with their faults."""
    times, error = body.raw.poses.times_s, 1e3 * body.raw.alignment.error
    zero, marks, moved = plots.zero_of(times), list[Mark](), 0
    draw = partial(line, times - zero, most=2500)
    largest = np.where(np.isnan(error), -1.0, error).max(axis=0)
    chosen: list[int] = np.sort(np.argsort(-largest, kind="stable")[:_MOST_MARKERS]).tolist()
    known, left_out = error[np.isfinite(error)], len(largest) - len(chosen)
    usual = float(np.median(known, overwrite_input=True)) if len(known) else np.nan
    # beside exchanged markers, 300 mm off, nothing else would show
    scale = plots.log_scale(usual / 5, float(largest.max())) if 0 < 20 * usual < float(largest.max()) else {}
    stored = tuple(draw(error[:, i], marker_name(body.cloud.names[i]), k) for k, i in enumerate(chosen))
    panels = [Panel("error as stored, mm", stored, y=scale)]
    say = "Steps, plateaus and spikes are faults: known ones are shaded or, where a marker moved, marked by a line."
    if _is_repaired(body):
        left = 1e3 * body.fit.alignment.error
        most = np.where(np.isnan(left).all(axis=1), np.nan, np.where(np.isnan(left), -1.0, left).max(axis=1))
        both = (("largest, repaired", most, GREY), ("mean, repaired", nan_mean(left, axis=1), DARK))
        panels.append(Panel("error repaired, mm", tuple(draw(y, name, colour) for name, y, colour in both)))
        say += " Once they are repaired, even noise should be left."
    say += f" The {len(chosen)} markers with the largest errors are drawn, {left_out} are not." if left_out else ""
    for f in body.checked.faults[:_MOST_FAULTS]:
        first, last = (t - zero for t in f.interval_s)
        if f.kind == "moved":
            text = f"{marker_name(f.names[0])} moved by {1e3 * f.size_m:.1f} mm"
            marks.append(plots.upright(first, text, "#b07500", level=1 - 0.06 * (moved % 6)))
            moved += 1
        elif f.kind in _SHADES:
            marks.append(plots.band(first, last, _SHADES[f.kind]))
    kinds = {f.kind: _SHADES[f.kind] for f in body.checked.faults if f.kind in _SHADES}
    title = "Distance of the markers from their places"
    return plots.figure(title, say, panels, plots.since(zero), marks=marks, keys=kinds)


def marker_name(name: str) -> str:
    """A marker's name without its subject."""
    return name.rsplit(":", 1)[-1]


def _timeline(
    markers: Markers, names: Sequence[str], states: NDArray[np.int8], look_for: str, gravest: str = "not known"
) -> Figure:
    """When each marker was visible, filled in, exchanged or lost."""
    zero = plots.zero_of(markers.times_s)
    first = np.arange(0, len(states), -(-len(states) // _COLUMNS))
    worst = np.maximum.reduceat(states, first, axis=0).astype(float)  # the gravest of some frames
    n, present = len(_STATES), set(np.unique(states).tolist())
    heat: Json = {"type": "heatmap", "name": "", "z": plots.packed(worst.T, "f4")}
    heat["x"] = plots.packed(markers.times_s[first] - zero, "f8")
    heat |= {"y": [marker_name(name) for name in names], "zmin": -0.5, "zmax": n - 0.5, "ygap": 2, "showscale": False}
    heat |= {"colorscale": [[k / n, c] for i, c in enumerate(_STATES.values()) for k in (i, i + 1)]}
    heat |= {"hoverinfo": "x+y"}
    special: Json = {"autorange": "reversed", "type": "category", "showgrid": False, "dtick": 1}
    return plots.figure(
        "When each marker was visible",
        look_for,
        [Panel("", (heat,), y=special)],
        plots.since(zero),
        keys={name or gravest: c for i, (name, c) in enumerate(_STATES.items()) if i in present},
        height=130 + max(22 * len(names), 90),
    )


def _marker_states(body: MarkedBody) -> NDArray[np.int8]:
    """(frames, markers of the cloud) index into the states of a marker, the gravest that applies."""
    stored, names = body.markers, body.cloud.names
    raw = stored.seen[:, [stored.names.index(name) for name in names]]
    states = np.zeros(raw.shape, dtype=np.int8)
    for kind, state in (("moved", 1), ("swapped", 2)):
        for f in (f for f in body.checked.faults if f.kind == kind):
            when = (stored.times_s >= f.interval_s[0]) & (stored.times_s <= f.interval_s[1])
            states[np.ix_(when, np.array([names.index(name) for name in f.names]))] = state
    source = body.filled.source
    states[source == Source.BODY] = 3
    states[source == Source.SPLINE] = 4
    states[raw & (source != Source.SEEN) & (source != Source.HIDDEN) & (states != 2)] = 5
    states[source == Source.HIDDEN] = 6
    return states


# --- clocks -----------------------------------------------------------------------------------------------------------


def _clocks(inspection: Inspection) -> Iterator[_Part]:
    """Offset and drift of each device against the reference; the misfit over the lag, and the signals compared."""
    devices = {n: d for n, d in inspection.devices.items() if inspection.reference and n != inspection.reference}
    reference = device_word(inspection.reference)
    names = ("offset, s", "± 95 %, ms", "at, s", "drift, ppm", "95 % interval", "explains", "next best", "how")
    records, figures = list[dict[str, str]](), list[_Part]()
    for name, device in devices.items():
        cells, clock, offset = ["-"] * 7 + ["not known, see the findings"], device.clock, device.offset
        if clock is not None:
            half = float(np.diff(clock.interval_at(np.asarray(clock.at_s)), axis=0)[0]) / 2
            cells[:3] = [f"{clock.offset_s:.6f}", f"{1e3 * half:.3f}", f"{clock.at_s:.1f}"]
            cells[3] = f"{clock.drift_ppm:+.1f}" if clock.drift_observed else "not observable"
            cells[4] = "{:+.1f} … {:+.1f}".format(*clock.drift_interval_ppm())
            cells[7] = "stated"
            if offset is not None:
                cells[5:] = [f"{100 * offset.explained:.2f} %", f"{100 * offset.runner_up:.0f} %", "estimated"]
                # an offset may count the other way than the clock's map
                sign = 1.0 if abs(clock.offset_s - offset.value_s) <= abs(clock.offset_s + offset.value_s) else -1.0
                there = replace(offset, value_s=clock.offset_s, lags_s=sign * offset.lags_s, std_s=half / 1.96)
                figures.append(partial(clock_figure, name, there))
            figures.append(partial(_overlays, inspection, name, device, clock))
        records.append({"device": device_word(name), **dict(zip(names, cells, strict=True))})
    note = f"Offset: {reference} time minus the device's time of the same instant."
    yield table(records, marked=[d.clock is None for d in devices.values()], note=note)
    yield from figures


def _overlays(inspection: Inspection, name: str, device: Instrument, clock: ClockMap) -> Iterator[Figure]:
    """The signals as stored and aligned, over the whole recording and over the seconds in which they change most."""
    for title, unit, signals in _compared(inspection, name, device, clock):
        (times, expected), (device_s, _) = signals.values()
        aligned = clock.to_reference(device_s)
        shared = (times >= aligned[0]) & (times <= aligned[-1])
        if not shared.any():
            continue
        t, travel = times[shared], np.cumsum(np.nan_to_num(np.abs(np.diff(expected[shared], prepend=0.0))))
        starts = np.flatnonzero(t + _ZOOM_S <= t[-1])
        gained = travel[np.searchsorted(t, t[starts] + _ZOOM_S)] - travel[starts]
        start = float(t[starts[gained.argmax()] if len(starts) else 0])
        whole = float(min(times[0], aligned[0])), float(max(times[-1], aligned[-1]))
        say = "Aligned, the curves should coincide from the first second to the last."
        yield _overlaid(title, unit, signals, aligned, whole, say)
        zoom, say = (start, min(start + _ZOOM_S, float(t[-1]))), "Aligned, every peak should coincide."
        yield _overlaid(f"{title}: the liveliest seconds", unit, signals, aligned, zoom, say)


def _overlaid(
    title: str, unit: str, signals: _Signals, aligned: FloatArray, span: tuple[float, float], say: str
) -> Figure:
    """Both signals in a span (s); as stored only where the device recorded something then by its clock."""
    (reference, (times, expected)), (name, (device_s, measured)) = signals.items()
    (first, last), zero, panels = span, plots.zero_of(times), list[Panel]()
    stored = ((device_s >= first) & (device_s <= last)).any()
    for word, by_clock in (("as stored", device_s), ("aligned", aligned))[0 if stored else 1 :]:
        # a thin curve on a broad one: both show where they agree
        both = (times, expected, reference, PALE, 4), (by_clock, measured, name, DARK, 1)
        data = tuple(
            line(t[at] - zero, y[at], name, most=2000, mode="lines", line={"color": colour, "width": width})
            for t, y, name, colour, width in both
            for at in [(t >= first) & (t <= last)]
        )
        panels.append(Panel(f"{word}, {unit}", data))
    say += " As stored, each is drawn by the clock of its device." if stored else ""
    return plots.figure(title, say, panels, plots.since(zero) | {"range": [first - zero, last - zero]})


def _compared(
    inspection: Inspection, name: str, device: Instrument, clock: ClockMap
) -> Iterator[tuple[str, str, _Signals]]:
    """Title, unit and signals: of an IMU the angular speed, which is the same in every frame; of a load cell the
    strongest force and moment, and what a rigid body of the best-fitting mass would need for this motion.
    """
    body, even = inspection.body, device.even
    if name == "imu" and body is not None:
        at, omega, _ = angular_velocity(body.poses)
        rates = {"markers": (at, omega), "gyroscope": (even.times_s, even.seen_x[:, 3:6])}
        speeds = {n: (t, np.linalg.norm(window_mean(t, x, _HALF_S), axis=1)) for n, (t, x) in rates.items()}
        yield "Angular speed by markers and gyroscope", "rad/s", speeds
    motion, imu = None, inspection.devices.get("imu")
    if name == "wrench" and imu is not None and imu.clock is not None:
        felt = imu_motion(imu.even.times_s, imu.even.x[:, :3], imu.even.x[:, 3:6], np.eye(4), PARALLEL)
        motion = replace(felt, times_s=imu.clock.to_reference(felt.times_s))
    elif name == "wrench" and body is not None:
        with suppress(DataProblem):  # a stated clock needs no derivatives
            motion = pose_motion(body.poses, gravity=(0, 0, -9.80665)).motion
    if motion is None:
        return
    grid = np.arange(motion.times_s[0], motion.times_s[-1], 0.01)
    features, load = window_mean(motion.times_s, wrench_features(motion), _HALF_S), even.seen_x
    load, there = window_mean(even.times_s, load, _HALF_S), clock.from_reference(grid)
    features, aligned = interpolated(grid, motion.times_s, features), interpolated(there, even.times_s, load)
    use = np.isfinite(features).all(axis=1) & np.isfinite(aligned).all(axis=1)
    use &= (there >= even.times_s[0]) & (there <= even.times_s[-1])
    if use.sum() < 10 * features.shape[1]:
        return
    x = np.column_stack([features, np.ones(len(features))])
    explained, spread = x @ least_squares(x[use], aligned[use]), aligned[use].std(axis=0)
    for word, unit, first in (("Force", "N", 0), ("Moment", "N m", 3)):
        k = first + int(spread[first : first + 3].argmax())
        both = {"explained by the motion": (grid, explained[:, k]), "load cell": (even.times_s, load[:, k])}
        yield f"{word} {device.channels[k]} and what the motion explains of it", unit, both


# --- vertical, placement, motion --------------------------------------------------------------------------------------


def _placement(motion: CapturedMotion) -> Iterator[_Part]:
    """Tilt of the capture frame; where the IMU sits according to the motion: its origin and where its axes point."""
    if motion.placement is None:
        return
    placement, tilt = motion.placement, motion.placement.tilt
    if tilt is not None:
        values, intervals = np.degrees([tilt.x_rad, tilt.y_rad]), np.degrees(tilt.interval_rad())
        rows = (
            (f"tilt of the capture frame about {axis}", f"{v:+.3f}", "{:+.3f} … {:+.3f}".format(*interval))
            for axis, v, interval in zip("xy", values, intervals, strict=True)
        )
        yield table(rows, ("vertical", "deg", "95 % interval"), "Vertical", note=_sentence(tilt.weak))
    records: list[dict[str, str]] = []
    for i, axis in enumerate("xyz"):
        turn, lever = float(placement.turn_std_rad[i]), float(placement.lever_std[i])
        known, about = lever < UNKNOWN_LEVER, f"{1.96 * np.degrees(turn):.2g}" if turn < UNKNOWN_TURN else "-"
        cells = {f"{motion.frame} axis": axis, "origin, mm": f"{1e3 * placement.r_ab[i]:+.1f}" if known else "-"}
        cells["± 95 %"] = f"{1.96e3 * lever:.2g}" if known else "-"
        cells |= {f"IMU {a}": f"{v:+.4f}" for a, v in zip("xyz", placement.R_ab[i], strict=True)}
        records.append(cells | {"turn ± 95 %, deg": about})
    explained = f"The motion explains {100 * placement.explained:.2f} % of what the IMU saw."
    note = " ".join([explained, *(_sentence(f"{weak}: {OTHER_AXES}") for weak in placement.weak)])
    yield table(records, title=f"IMU in the {motion.frame} frame", note=note)


def _derivatives(motion: CapturedMotion) -> Iterator[_Part]:
    """How poses were differentiated, and how much of the recording that left."""
    if motion.motion is None:
        return
    derived, rows = motion.derivatives, dict[str, str]()
    if derived is not None:
        rows["window"] = f"{1e3 * derived.window_s:.0f} ms, order {derived.order}"
    if derived is not None and derived.bandwidth is not None:
        chosen = derived.bandwidth
        rows["bandwidth for the balance"] = f"{chosen.bandwidth_hz:.2f} Hz"
        rows["window without a low-pass"] = f"{1e3 * chosen.best_window_s:.0f} ms"
        for name, s in chosen.spectra.items():
            factor, unit = (1e3, f"m{s.unit}") if s.unit in ("m", "rad") else (1.0, s.unit)
            rows[f"noise of the {name} ({chosen.noise_from})"] = f"{factor * s.noise_std:.3g} {unit}"
    known = np.isfinite(motion.motion.omega_dot).all(axis=1)
    rows["accelerations known"] = _percent(float(known.mean())) + " of the frames"
    how = "markers and IMU fused" if derived is None else f"{motion.frame} frame"
    yield Table(("derivatives", how), tuple(rows.items()))
    if derived is not None and derived.bandwidth is not None:
        yield partial(_spectra, derived.bandwidth)
        yield partial(_window_errors, derived.bandwidth, 1e3 * derived.window_s)
    m = motion.motion
    yield partial(
        plots.over_time,
        f"Motion of the {motion.frame}",
        f"In the axes of the {motion.frame}: no spikes, no steps, and at rest a - g of about 9.8 m/s² upwards.",
        m.times_s,
        {"ω, rad/s": m.omega, "dω/dt, rad/s²": m.omega_dot, "a - g, m/s²": m.specific_acceleration},
    )


def _spectra(chosen: Bandwidth) -> Figure:
    """What was measured and which part of it is noise, with the bandwidth that follows."""
    f, panels = chosen.frequencies_hz, list[Panel]()
    for name, s in chosen.spectra.items():
        signal, every = np.where(s.signal > 1e-2 * s.noise, s.signal, np.nan), np.concatenate([s.measured, s.noise])
        parts = (("measured", s.measured, PALE, 4), ("noise", s.noise, COLOURS[1], 1.5), ("signal", signal, DARK, 1.2))
        data = tuple(curve(f, np.where(y > 0, y, np.nan), word, c, width=width) for word, y, c, width in parts)
        scale = plots.log_scale(float(every[every > 0].min()), float(every.max()))
        panels.append(Panel(f"{name}, ({s.unit}/s²)²/Hz", data, y=scale))
    return plots.figure(
        "Spectrum of the acceleration",
        "The bandwidth should stand near the place where the measured curves meet the noise; beyond that place the "
        f"recording says nothing about accelerations. Noise from: {chosen.noise_from}.",
        panels,
        plots.x_title("frequency, Hz") | plots.log_scale(float(f[f > 0].min()), float(f[-1])),
        marks=[plots.upright(chosen.bandwidth_hz, f"bandwidth {chosen.bandwidth_hz:.2f} Hz")],
    )


def _window_errors(chosen: Bandwidth, used: float) -> Figure:
    """What each window would take from the motion and leave of the noise; used: the one that was chosen, ms."""
    percent, best = 100 * chosen.error, 1e3 * chosen.best_window_s
    scale = plots.log_scale(float(percent.min()), float(percent.max()))
    alone = plots.upright(best, f"best alone: {best:.0f} ms", "#999", level=0.88)
    return plots.figure(
        "Choice of the window",
        "The window that is used stays well to the left of the minimum, because the low-pass of the balance takes the "
        "rest of the noise; without a low-pass the minimum is best.",
        [Panel("error, % of the motion", (curve(1e3 * chosen.windows_s, percent, "error"),), y=scale)],
        plots.x_title("window, ms"),
        marks=[plots.upright(used, f"used: {used:.0f} ms"), alone],
    )


def _hinge(motion: CapturedMotion) -> Iterator[_Part]:
    """How well the body turns about one axis, and how far that leans; the angle, and what of the motion is off it."""
    hinge, turned = motion.hinge, motion.hinge_motion
    if hinge is None:
        return
    known = bool(np.isfinite(hinge.direction_std_rad))
    rows = {
        "range of the angle": f"{np.degrees(hinge.range_rad):.2f} deg",
        "axis in the capture frame": _vector(hinge.T_world_hinge[:3, 2]),
        "its direction, ± 95 %": f"{1.96 * np.degrees(hinge.direction_std_rad):.3f} deg" if known else "",
        "a point of it": ", ".join(f"{1e3 * v:+.1f}" for v in hinge.T_world_hinge[:3, 3]) + " mm",
        "its place, ± 95 %": f"{1.96e3 * hinge.point_std_m:.2f} mm" if known else "",
        "tilting off the axis (rms)": f"{np.degrees(hinge.tilt_rms_rad):.3f} deg",
        "sliding off the axis (rms)": f"{1e3 * hinge.slide_rms_m:.2f} mm",
    }
    if motion.inclination_rad is not None:
        lean, std = (float(np.degrees(v)) for v in motion.inclination_rad)
        words = f" ± {1.96 * std:.3f} deg (95 %)" if np.isfinite(std) else " deg, if the capture frame is level"
        rows["leaning from the vertical"] = f"{lean:.3f}{words}"
    yield Table(("hinge", ""), tuple((name, text) for name, text in rows.items() if text))
    if turned is not None:
        say = "The lower rows should stay near zero at every angle; what follows the angle there is a wrong axis or a "
        say += "hinge that gives way."
        off = {"tilt off the axis, deg": np.degrees(turned.tilt_rad), "slide off the axis, mm": 1e3 * turned.slide_m}
        rows = {"angle, deg": np.degrees(turned.angle_rad), **off}
        yield partial(plots.over_time, "Angle, and motion off the hinge", say, turned.times_s, rows)


def _wheel(rolls: RollingMotion | None) -> Iterator[_Part]:
    """How the object stood on its wheel: median and range of 95 % of the time."""
    if rolls is None:
        return
    height, (pitch, camber, heading) = (
        1e3 * rolls.height_m,
        np.degrees([rolls.pitch_rad, rolls.camber_rad, rolls.yaw_rad]),
    )
    names = ("height of the axle, mm", "pitch, deg", "camber, deg", "heading, deg")
    known = {n: x[np.isfinite(x)] for n, x in zip(names, (height, pitch, camber, heading), strict=True)}
    rows = (
        (n, *((f"{v:.2f}" for v in np.quantile(x, (0.5, 0.025, 0.975))) if len(x) else "---")) for n, x in known.items()
    )
    yield table(rows, ("wheel", "median", "2.5 %", "97.5 %"))
    say = "The height should be the wheel's radius and not change: waves mean a tilted capture frame or markers beside "
    say += "the axle, steps mean that the wheel was lifted."
    drawn = {"axle height, mm": height, "heading, deg": heading}
    drawn |= {"pitch, camber, deg": {"pitch": pitch, "camber": camber}}
    yield partial(plots.over_time, "Wheel on the floor", say, rolls.times_s, drawn)


def _percent(share: float) -> str:
    return "-" if share == 0 else f"{100 * share:.1f} %" if share >= 1e-3 else "< 0.1 %"


def _vector(v: FloatArray) -> str:
    return ", ".join(f"{c:+.3f}" for c in v)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""
