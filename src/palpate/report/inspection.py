"""An inspection, as a page and in the terminal: findings, recordings, markers, clocks, vertical and motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from palpate.errors import DataProblem
from palpate.experiment.inspection import Inspection
from palpate.experiment.stage.capture import Body, CapturedMotion
from palpate.experiment.stage.recordings import Instrument
from palpate.files import finite
from palpate.findings import Finding, sentences
from palpate.motion.cloud import markers_of
from palpate.motion.extrinsics import UNKNOWN_LEVER, UNKNOWN_TURN, Placement, Tilt
from palpate.motion.frames import HingeAxis
from palpate.motion.rolling import RollingMotion
from palpate.physics.arrays import FloatArray
from palpate.recording import FORMATS, Channel, Clock, Recording
from palpate.recording.gates import check_channels
from palpate.report import inspection_plots
from palpate.report.fit_plots import DEVICES
from palpate.report.inspection_plots import is_repaired, marker_name
from palpate.report.page import Block, Figure, Folded, Heading, Remarks, Section, Table, Words, write_page
from palpate.report.plots import layout, line, time_axis
from palpate.report.plots import millimetres as mm

_LONG, _FEW = 16, 8
"""Rows from which a table is folded, and up to which those with a fault stay in sight."""
_MOST_FIGURES = 8
_TRACES = 6
"""Of signals, in a recording and in a figure."""
_MOST = 6
"""Findings of one kind that are printed."""
_CLOUDS = {
    "static": "the static recording",
    "still": "a stretch in which the body is still",
    "mean": "the mean of the recording itself",
}
_REMARKS = {"clipping": "cut off", "constant": "constant", "frozen": "stands still at times", "noise": "noise"}


# --- the page ---------------------------------------------------------------------------------------------------------


def write_inspection(path: Path, inspection: Inspection) -> None:
    """Write the page; it needs no network and no other file."""
    count = len(inspection.recordings)
    subtitle = f"{count} recording{'s' if count != 1 else ''}"
    if inspection.reference and inspection.devices:
        subtitle += f", clocks compared with that of {DEVICES.get(inspection.reference, inspection.reference)}"
    sections = inspection_sections(inspection)
    write_page(path, inspection.title or "Inspection of recordings", sections, subtitle=subtitle)


def inspection_sections(inspection: Inspection) -> list[Section]:
    """What the page shows; a section without data has no blocks and is left out."""
    clocks, motion = clocks_table(inspection), inspection.motion
    sections = [
        Section("Findings", tuple(_findings(inspection))),
        Section("Recordings", tuple(b for r in inspection.recordings for b in _recording(r, inspection))),
        Section("Markers", tuple(_markers(inspection))),
        Section("Clocks", () if clocks is None else (clocks, *inspection_plots.clock_figures(inspection))),
    ]
    if motion is None:
        return sections
    hinge = None if motion.hinge_motion is None else inspection_plots.hinge_angle(motion.hinge_motion)
    wheel = None if motion.rolling is None else inspection_plots.wheel(motion.rolling)
    return [
        *sections,
        Section("Vertical and placement", tuple(_placement(motion))),
        Section("Derivatives", tuple(_derivatives(motion))),
        Section("Hinge", (*_hinge_table(motion), *([hinge] if hinge is not None else []))),
        Section("Wheel", (*_rolling_table(motion.rolling), *([wheel] if wheel is not None else []))),
    ]


def _findings(inspection: Inspection) -> Iterator[Block]:
    if not inspection.findings:
        yield Words("Nothing conspicuous was found.")
    for kind, fatal, texts in grouped(inspection.findings):
        yield Remarks(kind, texts, fatal)


def grouped(findings: Sequence[Finding]) -> list[tuple[str, bool, tuple[str, ...]]]:
    """Findings by cause, the fatal ones first: cause, fatal, sentences."""
    causes = dict.fromkeys((f.fatal, f.cause) for f in sorted(findings, key=lambda f: not f.fatal))
    return [
        (
            cause.replace("-", " ").capitalize(),
            fatal,
            tuple(sentences((f for f in findings if f.cause == cause), fatal=fatal)),
        )
        for fatal, cause in causes
    ]


def _recording(recording: Recording, inspection: Inspection) -> list[Block]:
    table, name = channels_table(recording), recording.source.name if recording.source else "recording"
    blocks: list[Block] = [Heading(f"{name} ({recording.format})" if recording.format else name)]
    blocks += [Words(text, quiet=True) for text in clock_lines(recording)]
    blocks += table.folded(f"All {len(table.rows)} channels", _LONG, _FEW)
    if inspection.body is None:
        blocks += _hidden_markers(recording)
    return [*blocks, *_signals(recording)]


def _hidden_markers(recording: Recording) -> list[Block]:
    """When markers were hidden that could not be taken for a body."""
    names = [n for n, c in recording.channels.items() if c.samples.ndim == 2 and c.unit == "m" and len(c.samples)]
    if not any(recording.channels[name].missing for name in names):
        return []
    try:
        return [inspection_plots.seen_markers(markers_of(recording, names))]
    except DataProblem:  # several clocks
        return []


def _signals(recording: Recording) -> list[Block]:
    """The scalar channels over time, those of one unit and clock together."""
    groups: dict[tuple[int, str], list[Channel]] = {}
    for channel in recording.channels.values():
        if channel.samples.ndim == 1 and _varies(channel):
            groups.setdefault((id(channel.clock), channel.unit), []).append(channel)
    parts = [group[k : k + _TRACES] for group in groups.values() for k in range(0, len(group), _TRACES)]
    figures = tuple(_signal_figure(part) for part in parts[:_MOST_FIGURES])
    left_out = sum(len(part) for part in parts[_MOST_FIGURES:])
    words = f" ({left_out} more channels are not drawn)" if left_out else ""
    return [Folded(f"Signals over time{words}", figures)] if figures else []


def _signal_figure(channels: Sequence[Channel]) -> Figure:
    unit = channels[0].unit
    axis = time_axis(channels[0].clock.times_s, "time on the device's clock, s")
    return Figure(
        ", ".join(c.name for c in channels[:3]) + (", ..." if len(channels) > 3 else ""),
        "Flat tops are clipping, lone spikes are knocks or dropouts.",
        tuple(line(axis.x, c.samples, c.name, i, most=1500, **axis.trace) for i, c in enumerate(channels)),
        layout([unit if unit != "1" else "without unit"], axis.layout),
    )


def _varies(channel: Channel) -> bool:
    seen = channel.samples[np.isfinite(channel.samples)]
    return len(seen) > 1 and bool(seen.min() < seen.max())


def _markers(inspection: Inspection) -> Iterator[Block]:
    body = inspection.body
    if body is None:
        return
    yield from (Words(body_line(body)), markers_table(body), inspection_plots.error_bars(body))
    yield from (inspection_plots.error_over_time(body), inspection_plots.visibility(body), *_gaps_table(body))
    hinge = None if inspection.motion is None else inspection.motion.hinge
    yield inspection_plots.cloud_in_space(body, _frames_in_cloud(body, hinge))
    yield from _frames_table(body, hinge)


def _placement(motion: CapturedMotion) -> Iterator[Block]:
    yield from _placement_tables(motion)
    if motion.placement is not None:
        yield from (Words(f.sentence) for f in motion.findings if f.cause.startswith("placement"))


def _derivatives(motion: CapturedMotion) -> Iterator[Block]:
    derived = motion.derivatives
    if motion.motion is None:
        return
    yield from _derivatives_table(motion)
    if derived is not None and derived.bandwidth is not None:
        yield inspection_plots.spectra(derived.bandwidth)
        yield inspection_plots.window_errors(derived.bandwidth, derived)
    figure = inspection_plots.motion_over_time(motion.motion, motion.frame)
    yield from () if figure is None else (figure,)


# --- the terminal -----------------------------------------------------------------------------------------------------


def inspection_text(inspection: Inspection) -> RenderableType:
    """What the recordings say together, findings last; the recordings' channels are not repeated."""
    body, clocks, motion = inspection.body, clocks_table(inspection), inspection.motion
    parts: list[RenderableType] = []
    if body is not None:
        parts += [Text(f"\n{body_line(body)}"), markers_table(body), *_gaps_table(body)]
    parts += [] if clocks is None else [Text(), clocks]
    if motion is not None:
        parts += [*_placement_tables(motion), *_frames_table(motion.body, motion.hinge), Text()]
        parts += [*_derivatives_table(motion), *_hinge_table(motion), *_rolling_table(motion.rolling)]
    return Group(*parts, *([Text()] if inspection.findings else []), *_finding_lines(inspection))


def _finding_lines(inspection: Inspection) -> Iterator[Text]:
    for kind, fatal, texts in grouped(inspection.findings):
        more = [f"{len(texts) - _MOST} more of this kind"] if len(texts) > _MOST else []
        for text in (*texts[:_MOST], *more):
            yield Text(f"{kind}: {text}", style="red" if fatal else "yellow")


# --- recordings -------------------------------------------------------------------------------------------------------


def describe(recording: Recording, unit_remedy: str = "--time-unit ms") -> dict[str, Any]:
    """A recording's channels and clocks as plain data; `unit_remedy` is how to say that times are milliseconds."""
    return {
        "file": str(recording.source),
        "format": recording.format,
        "clocks": [
            {
                "name": c.name,
                "samples": len(c),
                "rate_hz": finite(c.rate_hz),
                "from_s": float(c.times_s[0]) if len(c) else None,
                "to_s": float(c.times_s[-1]) if len(c) else None,
                "gaps": c.gaps,
                "largest_gap_s": finite(c.largest_gap_s),
                "jitter_s": finite(c.jitter_s),
                "hint": f"times look like milliseconds: {unit_remedy}"
                if _takes_rate(recording.format) and _looks_like_ms(c)
                else None,
            }
            for c in recording.clocks
        ],
        "channels": [_describe_channel(channel) for channel in recording.channels.values()],
    }


def _looks_like_ms(clock: Clock) -> bool:
    """Nobody records hands below 5 Hz, but whole milliseconds read as seconds look like that."""
    if len(clock) < 3:
        return False
    step = float(np.median(np.diff(clock.times_s)))
    return 1 / step < 5 and abs(step - round(step)) < 1e-6 and 1 <= round(step) <= 20


def _describe_channel(channel: Channel) -> dict[str, Any]:
    seen = channel.samples[np.isfinite(channel.samples).reshape(len(channel.samples), -1).all(axis=1)]
    second = np.diff(seen, n=2, axis=0)
    return {
        "name": channel.name,
        "unit": channel.unit,
        "frame": channel.frame,
        "clock": channel.clock.name,
        "missing": channel.missing,
        "lowest": float(seen.min()) if len(seen) else None,
        "highest": float(seen.max()) if len(seen) else None,
        # white noise has second differences of variance 6 sigma^2; motion hardly has any
        "noise": float(np.median(np.abs(second)) / 0.6745 / 6**0.5) if len(second) else None,
    }


def _takes_rate(format_: str) -> bool:
    """Plain tables, whose times are the user's word."""
    return format_ in FORMATS and "rate" in FORMATS[format_].options


def recordings_text(described: Sequence[dict[str, Any]]) -> RenderableType:
    """A table of channels for each recording, under its clocks."""
    parts: list[RenderableType] = []
    for data in described:
        parts.append(Text(f"\n{data['file']} ({data['format']})", style="bold"))
        for c in data["clocks"]:
            parts.append(Text(f"clock {c['name']}: {_clock_words(c)}"))
            parts += [Text(f"hint: {c['hint']}", style="yellow")] if c["hint"] else []
        rows = tuple(
            (
                *(c["name"], c["unit"], c["frame"] or "-", c["clock"], str(c["missing"])),
                *("-" if c[k] is None else f"{c[k]:.4g}" for k in ("lowest", "highest", "noise")),
            )
            for c in data["channels"]
        )
        headings = ("channel", "unit", "frame", "clock", "missing", "lowest", "highest", "noise")
        parts.append(Table(headings, rows, words=(0, 1, 2, 3)))
    return Group(*parts)


def clock_lines(recording: Recording) -> list[str]:
    """One line per clock for the page, with a hint where its unit looks wrong."""
    return [
        f"Clock {c['name']!r}: {_clock_words(c)}" + (f"; {c['hint']}" if c["hint"] else "")
        for c in describe(recording)["clocks"]
    ]


def _clock_words(c: dict[str, Any]) -> str:
    """Samples, rate, duration, gaps and jitter of a clock."""
    text = f"{c['samples']} sample{'s' if c['samples'] != 1 else ''}"
    if c["rate_hz"] is None:
        return text
    gaps = f"{c['gaps']} gaps, longest {c['largest_gap_s']:.3f} s" if c["gaps"] else "no gaps"
    span = f"{c['from_s']:.3f} to {c['to_s']:.3f} s"
    return f"{text} at {c['rate_hz']:.6g} Hz, {span}, {gaps}, jitter {1e6 * c['jitter_s']:.0f} µs"


def channels_table(recording: Recording) -> Table:
    """Unit, what is missing, range, noise floor and faults of each channel."""
    several = len(recording.clocks) > 1
    headings = ("channel", "unit", *(["rate, Hz"] if several else []), "missing", "lowest", "highest", "noise")
    rows: list[tuple[str, ...]] = []
    faults = [_faults(recording, channel) for channel in recording.channels.values()]
    marked = tuple(i for i, fault in enumerate(faults) if fault)
    for data, channel, fault in zip(describe(recording)["channels"], recording.channels.values(), faults, strict=True):
        rate = [f"{channel.clock.rate_hz:.6g}"] if several else []
        name, unit, *numbers = _channel_cells(data, channel)
        rows.append((name, unit, *rate, *numbers, *([fault] if marked else [])))
    headings += ("fault",) if marked else ()
    return Table(headings, tuple(rows), words=(0, 1, len(headings) - 1) if marked else (0, 1), marked=marked)


def _channel_cells(data: dict[str, Any], channel: Channel) -> tuple[str, ...]:
    marker = channel.samples.ndim == 2 and channel.unit == "m"
    name, unit, factor = (marker_name(channel.name), "mm", 1e3) if marker else (channel.name, channel.unit, 1.0)
    lost = data["missing"]
    missing = f"{lost} ({_percent(lost / len(channel.samples))})" if lost else "-"
    digits = (("lowest", 5), ("highest", 5), ("noise", 3))
    numbers = ("-" if data[k] is None else f"{factor * data[k]:.{n}g}" for k, n in digits)
    return name, unit, missing, *numbers


def _faults(recording: Recording, channel: Channel) -> str:
    if channel.samples.ndim != 1 or len(channel.samples) == 0:
        return ""
    gates = dict.fromkeys(f.cause for f in check_channels(recording, [channel.name]))
    return ", ".join(_REMARKS[gate] for gate in gates if gate in _REMARKS)


# --- markers ----------------------------------------------------------------------------------------------------------


def body_line(body: Body) -> str:
    """Where the reference cloud comes from, and how well the markers fit it."""
    marker, largest, when = body.raw.largest()
    text = f"{len(body.cloud.names)} markers against {_CLOUDS.get(body.reference, body.reference)}: mean error "
    text += f"{mm(body.raw.mean_error_m)} mm, largest {mm(largest)} mm ({marker_name(marker)} at {when:.2f} s)"
    if is_repaired(body):
        text += f"; {mm(body.fit.mean_error_m)} mm on average once the faults are repaired"
    lost = "; ".join(f"{frames} frames without a pose: {why}" for why, frames in body.fit.unknown().items())
    return f"{text}. {_sentence(lost)}".strip()


def markers_table(body: Body) -> Table:
    """Error of each marker as stored and after repair, how often it is hidden, and what is wrong with it."""
    faults = {name: [f for f in body.checked.faults if name in f.names] for name in body.cloud.names}
    repaired = is_repaired(body)
    rows: list[tuple[str, ...]] = []
    for raw, good in zip(body.raw.rows(), body.fit.rows(), strict=True):
        kinds = dict.fromkeys(f.kind for f in faults[raw[0]])
        after = (mm(good[1]), mm(good[2])) if repaired else ()
        seen = np.isfinite(raw[1])
        when = f"{raw[3]:.2f}" if seen else "-"
        rows.append((marker_name(raw[0]), mm(raw[1]), mm(raw[2]), when, *after, _percent(raw[4]), ", ".join(kinds)))
    headings = ("marker", "mean error, mm", "largest, mm", "at, s")
    headings += (("repaired mean, mm", "repaired largest, mm") if repaired else ()) + ("hidden", "fault")
    marked = tuple(i for i, name in enumerate(body.cloud.names) if faults[name])
    return Table(headings, tuple(rows), "", (0, len(headings) - 1), marked)


def _gaps_table(body: Body) -> Iterator[Table]:
    """What was hidden and where it was taken from; markers that were always seen are left out."""
    hidden = [g for g in body.filled.report if g.gaps]
    rows = tuple(
        (marker_name(g.name), str(g.gaps), f"{g.longest_s:.2f}", str(g.from_body), str(g.by_spline), str(g.left))
        for g in hidden
    )
    headings = ("marker", "gaps", "longest, s", "frames from the body", "by spline", "left empty")
    stretches = ", ".join(f"{a:.2f} to {b:.2f} s" for a, b in body.filled.usable[:6])
    more = len(body.filled.usable) - 6
    note = f"Pose known from {stretches or 'nowhere'}{f' and {more} more stretches' if more > 0 else ''}."
    marked = tuple(i for i, g in enumerate(hidden) if g.left)
    yield from (Table(headings, rows, "Gaps", marked=marked, note=note),) if rows else ()


# --- clocks -----------------------------------------------------------------------------------------------------------


def clocks_table(inspection: Inspection) -> Table | None:
    """Offset, interval and drift of each device against the reference."""
    rows = tuple(
        (DEVICES.get(name, name), *_clock_cells(device))
        for name, device in inspection.devices.items()
        if inspection.reference and name != inspection.reference
    )
    headings = (
        "device",
        "offset, s",
        "± 95 %, ms",
        "at, s",
        "drift, ppm",
        "95 % interval",
        "explains",
        "next best",
        "",
    )
    reference = DEVICES.get(inspection.reference, inspection.reference)
    note = f"Offset: {reference} time minus the device's own time of the same instant."
    marked = tuple(i for i, row in enumerate(rows) if row[1] == "-")
    return Table(headings, rows, "", (0, len(headings) - 1), marked, note) if rows else None


def _clock_cells(device: Instrument) -> tuple[str, ...]:
    clock, evidence = device.clock, device.offset
    if clock is None:
        return ("-",) * 7 + ("not known, see the findings",)
    low, high = (float(x) for x in clock.interval_at(np.asarray(clock.at_s)))
    shares = ("-", "-", "stated")
    if evidence is not None:
        shares = (f"{100 * evidence.explained:.2f} %", f"{100 * evidence.runner_up:.0f} %", "found")
    return (
        *(f"{clock.offset_s:.6f}", f"{500 * (high - low):.3f}", f"{clock.at_s:.1f}"),
        f"{clock.drift_ppm:+.1f}" if clock.drift_observed else "not observable",
        "{:+.1f} … {:+.1f}".format(*clock.drift_interval_ppm()),
        *shares,
    )


# --- vertical, placement, frames --------------------------------------------------------------------------------------


def _placement_tables(motion: CapturedMotion) -> Iterator[Table]:
    if motion.placement is not None:
        yield from () if motion.placement.tilt is None else (_vertical_table(motion.placement.tilt),)
        yield _placement_table(motion.placement, motion.frame)


def _vertical_table(tilt: Tilt) -> Table:
    """Tilt of the capture frame."""
    low, high = np.degrees(tilt.interval_rad()).T
    values = np.degrees([tilt.x_rad, tilt.y_rad])
    rows = tuple(
        (f"tilt of the capture frame about {axis}", f"{values[i]:+.3f}", f"{low[i]:+.3f} … {high[i]:+.3f}")
        for i, axis in enumerate("xy")
    )
    return Table(("vertical", "deg", "95 % interval"), rows, "Vertical", note=_sentence(tilt.weak))


def _placement_table(placement: Placement, frame: str) -> Table:
    """Where the IMU sits in a frame, as the motion tells: its origin and where its axes point."""
    rows: list[tuple[str, ...]] = []
    for i, axis in enumerate("xyz"):
        turn, lever = float(placement.turn_std_rad[i]), float(placement.lever_std[i])
        place = (f"{1e3 * placement.r_ab[i]:+.1f}", f"{1.96e3 * lever:.2g}") if lever < UNKNOWN_LEVER else ("-", "-")
        about = f"{1.96 * np.degrees(turn):.2g}" if turn < UNKNOWN_TURN else "-"
        rows.append((axis, *place, *(f"{v:+.4f}" for v in placement.R_ab[i]), about))
    headings = (f"{frame} axis", "origin, mm", "± 95 %", "IMU x", "IMU y", "IMU z", "turn ± 95 %, deg")
    note = f"The motion explains {100 * placement.explained:.2f} % of what the IMU saw. " + " ".join(
        _sentence(weak) for weak in placement.weak
    )
    return Table(headings, tuple(rows), f"IMU in the {frame} frame", note=note.strip())


def _frames_table(body: Body, hinge: HingeAxis | None) -> Iterator[Table]:
    """Origins and axes of the declared frames in the cloud's."""
    rows = tuple(
        (name, *(f"{1e3 * v:+.1f}" for v in T[:3, 3]), *(_vector(T[:3, i]) for i in range(3)))
        for name, T in _frames_in_cloud(body, hinge).items()
    )
    headings = ("frame", "x, mm", "y, mm", "z, mm", "x axis", "y axis", "z axis")
    yield from (Table(headings, rows, "Frames in the cloud"),) if rows else ()


def _frames_in_cloud(body: Body, hinge: HingeAxis | None) -> dict[str, FloatArray]:
    """T_cloud_frame of the declared roles, and of a hinge that was found from the motion."""
    return body.frames | ({} if hinge is None or "hinge" in body.frames else {"hinge": hinge.T_body_hinge})


# --- motion -----------------------------------------------------------------------------------------------------------


def _derivatives_table(motion: CapturedMotion) -> Iterator[Table]:
    """How poses were differentiated, and how much of the recording that left."""
    derived, rows = motion.derivatives, list[tuple[str, str]]()
    if motion.motion is None:
        return
    if derived is not None:
        rows.append(("window", f"{1e3 * derived.window_s:.0f} ms, order {derived.order}"))
    chosen = None if derived is None else derived.bandwidth
    if chosen is not None:
        rows.append(("bandwidth for the balance", f"{chosen.bandwidth_hz:.2f} Hz"))
        rows.append(("window without a low-pass", f"{1e3 * chosen.best_window_s:.0f} ms"))
        for name, spectrum in chosen.spectra.items():
            thousandths = spectrum.unit in ("m", "rad")
            factor, unit = (1e3, f"m{spectrum.unit}") if thousandths else (1.0, spectrum.unit)
            rows.append((f"noise of the {name} ({chosen.noise_from})", f"{factor * spectrum.noise_std:.3g} {unit}"))
    known = np.isfinite(motion.motion.omega_dot).all(axis=1)
    rows.append(("accelerations known", _percent(float(known.mean())) + " of the frames"))
    how = "markers and IMU fused" if derived is None else f"{motion.frame} frame"
    yield Table(("derivatives", how), tuple(rows))


def _hinge_table(motion: CapturedMotion) -> Iterator[Table]:
    """How well the body turns about one axis, and how far that leans (angle and standard deviation)."""
    hinge = motion.hinge
    if hinge is None:
        return
    z, place = hinge.T_world_hinge[:3, 2], 1e3 * hinge.T_world_hinge[:3, 3]
    rows = [
        ("range of the angle", f"{np.degrees(hinge.range_rad):.2f} deg"),
        ("axis in the capture frame", _vector(z)),
        ("a point of it", ", ".join(f"{v:+.1f}" for v in place) + " mm"),
        ("tilting off the axis (rms)", f"{np.degrees(hinge.tilt_rms_rad):.3f} deg"),
        ("sliding off the axis (rms)", f"{1e3 * hinge.slide_rms_m:.2f} mm"),
    ]
    if np.isfinite(hinge.direction_std_rad):
        rows.insert(2, ("its direction, ± 95 %", f"{1.96 * np.degrees(hinge.direction_std_rad):.3f} deg"))
        rows.insert(4, ("its place, ± 95 %", f"{1.96e3 * hinge.point_std_m:.2f} mm"))
    if motion.inclination_rad is not None:
        lean, std = (float(np.degrees(v)) for v in motion.inclination_rad)
        words = f" ± {1.96 * std:.3f} deg (95 %)" if np.isfinite(std) else " deg, if the capture frame is level"
        rows.append(("leaning from the vertical", f"{lean:.3f}{words}"))
    yield Table(("hinge", ""), tuple(rows))


def _rolling_table(rolls: RollingMotion | None) -> Iterator[Table]:
    """How the object stood on its wheel: median and range of 95 % of the time."""
    if rolls is None:
        return
    signals = {
        "height of the axle, mm": 1e3 * rolls.height_m,
        "pitch, deg": np.degrees(rolls.pitch_rad),
        "camber, deg": np.degrees(rolls.camber_rad),
        "heading, deg": np.degrees(rolls.yaw_rad),
    }
    rows: list[tuple[str, ...]] = []
    for name, x in signals.items():
        seen = x[np.isfinite(x)]
        cells = [f"{v:.2f}" for v in np.quantile(seen, (0.5, 0.025, 0.975))] if len(seen) else ["-"] * 3
        rows.append((name, *cells))
    yield Table(("wheel", "median", "2.5 %", "97.5 %"), tuple(rows))


def _percent(share: float) -> str:
    return "-" if share == 0 else f"{100 * share:.1f} %" if share >= 1e-3 else "< 0.1 %"


def _vector(v: FloatArray) -> str:
    return ", ".join(f"{c:+.3f}" for c in v)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""
