"""An inspection, as a page and in the terminal: findings, recordings, markers, clocks, vertical and motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from palpate.errors import DataProblem
from palpate.experiment.capture import Body
from palpate.experiment.inspection import Inspection
from palpate.experiment.motion import CapturedMotion, DeviceOnClock
from palpate.files import finite
from palpate.findings import Finding
from palpate.motion.derivatives.differentiate import PoseMotion
from palpate.motion.frames.hinge import Hinge
from palpate.motion.frames.roles import Rolling, Tilt
from palpate.motion.imu.extrinsics import UNKNOWN_LEVER, UNKNOWN_TURN, Placement
from palpate.motion.markers.cloud import markers_of
from palpate.physics.arrays import FloatArray
from palpate.recording import FORMATS, Channel, Clock, Recording
from palpate.recording.gates import check_channels
from palpate.report import inspection_plots
from palpate.report.inspection_plots import DEVICES, is_repaired, marker_name
from palpate.report.page import Block, Figure, Folded, Heading, Json, Remarks, Section, Table, Words, write_page
from palpate.report.plots import layout, line, time_axis

_LONG, _FEW = 16, 8
"""Rows from which a table is folded, and up to which those with a fault stay in sight."""
_MOST_FIGURES = 8
_TRACES = 6
"""Of signals, in a recording and in a figure."""


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
    motion = inspection.motion
    return [
        Section("Findings", tuple(_findings(inspection))),
        Section("Recordings", tuple(b for r in inspection.recordings for b in _recording(r, inspection))),
        Section("Markers", tuple(_markers(inspection))),
        Section("Clocks", tuple(_clocks(inspection))),
        Section("Vertical and placement", tuple(_placement(motion)) if motion is not None else ()),
        Section("Derivatives", tuple(_derivatives(motion)) if motion is not None else ()),
        Section("Hinge", tuple(_hinge(motion)) if motion is not None else ()),
        Section("Wheel", tuple(_wheel(motion)) if motion is not None else ()),
    ]


def _findings(inspection: Inspection) -> list[Block]:
    if not inspection.findings:
        return [Words("Nothing conspicuous was found.")]
    return [Remarks(kind, sentences, fatal) for kind, fatal, sentences in grouped(inspection.findings)]


# --- recordings -------------------------------------------------------------------------------------------------------


def _recording(recording: Recording, inspection: Inspection) -> list[Block]:
    table, name = channels_table(recording), recording.source.name if recording.source else "recording"
    blocks: list[Block] = [Heading(f"{name} ({recording.format})" if recording.format else name)]
    blocks += [Words(text, quiet=True) for text in clock_lines(recording)]
    if len(table.rows) > _LONG:
        faulty = tuple(table.rows[i] for i in table.marked)
        blocks += [Table(table.headings, faulty, words=table.words)] if 0 < len(faulty) <= _FEW else []
        blocks.append(Folded(f"All {len(table.rows)} channels", (table,)))
    else:
        blocks.append(table)
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
    data = tuple(line(axis.x, c.samples, c.name, i, most=1500, **axis.trace) for i, c in enumerate(channels))
    heading = ", ".join(c.name for c in channels[:3]) + (", ..." if len(channels) > 3 else "")
    made: Json = layout([unit if unit != "1" else "without unit"], axis.layout)
    return Figure(heading, "Flat tops are clipping, lone spikes are knocks or dropouts.", data, made)


def _varies(channel: Channel) -> bool:
    seen = channel.samples[np.isfinite(channel.samples)]
    return len(seen) > 1 and bool(seen.min() < seen.max())


# --- markers, clocks, placement ---------------------------------------------------------------------------------------


def _markers(inspection: Inspection) -> list[Block]:
    body, motion = inspection.body, inspection.motion
    if body is None:
        return []
    table, gaps = markers_table(body), gaps_table(body)
    blocks: list[Block] = [Words(body_line(body)), table, inspection_plots.error_bars(body)]
    blocks += [inspection_plots.error_over_time(body), inspection_plots.visibility(body)]
    blocks += [gaps] if gaps.rows else []
    hinge = None if motion is None else motion.hinge
    frames = frames_table(body, hinge)
    blocks.append(inspection_plots.cloud_in_space(body, frames_in_cloud(body, hinge)))
    return blocks if frames is None else [*blocks, frames]


def _clocks(inspection: Inspection) -> list[Block]:
    table = clocks_table(inspection)
    return [] if table is None else [table, *inspection_plots.clock_figures(inspection)]


def _placement(motion: CapturedMotion) -> list[Block]:
    placement = motion.placement
    if placement is None:
        return []
    blocks: list[Block] = []
    if placement.tilt is not None:
        blocks.append(vertical_table(placement.tilt))
    against = [f.sentence for f in motion.findings if f.cause.startswith("placement")]
    return [*blocks, placement_table(placement, motion.frame), *(Words(text) for text in against)]


# --- motion -----------------------------------------------------------------------------------------------------------


def _derivatives(motion: CapturedMotion) -> list[Block]:
    table, derived = derivatives_table(motion), motion.derivatives
    if table is None or motion.motion is None:
        return []
    blocks: list[Block] = [table]
    if derived is not None and derived.bandwidth is not None:
        blocks += [
            inspection_plots.spectra(derived.bandwidth),
            inspection_plots.window_errors(derived.bandwidth, derived),
        ]
    figure = inspection_plots.motion_over_time(motion.motion, motion.frame)
    return blocks if figure is None else [*blocks, figure]


def _hinge(motion: CapturedMotion) -> list[Block]:
    if motion.hinge is None:
        return []
    figure = None if motion.hinge_motion is None else inspection_plots.hinge_angle(motion.hinge_motion)
    return [hinge_table(motion.hinge, motion.inclination_rad), *([figure] if figure is not None else [])]


def _wheel(motion: CapturedMotion) -> list[Block]:
    if motion.rolling is None:
        return []
    figure = inspection_plots.wheel(motion.rolling)
    return [rolling_table(motion.rolling), *([figure] if figure is not None else [])]


CLOUDS = {
    "static": "the static recording",
    "still": "a stretch in which the body is still",
    "mean": "the mean of the recording itself",
}
_REMARKS = {"clipping": "cut off", "constant": "constant", "frozen": "stands still at times", "noise": "noise"}


def grouped(findings: Sequence[Finding]) -> list[tuple[str, bool, tuple[str, ...]]]:
    """Findings by kind, the fatal ones first: kind, fatal, sentences."""
    kinds = dict.fromkeys((f.fatal, f.cause) for f in sorted(findings, key=lambda f: not f.fatal))
    return [
        (gate.replace("-", " ").capitalize(), fatal, tuple(f.sentence for f in findings if (f.fatal, f.cause) == key))
        for key in kinds
        for fatal, gate in [key]
    ]


# --- recordings -------------------------------------------------------------------------------------------------------


def clock_lines(recording: Recording) -> list[str]:
    """One sentence per clock: samples, rate, duration, gaps, jitter; and a hint where its unit looks wrong."""
    lines: list[str] = []
    for c in describe(recording)["clocks"]:
        text = f"{c['samples']} sample{'s' if c['samples'] != 1 else ''} on the clock {c['name']!r}"
        if c["rate_hz"] is not None:
            gaps = f"{c['gaps']} gaps, the longest {c['largest_gap_s']:.3f} s" if c["gaps"] else "no gaps"
            text += f" at {c['rate_hz']:.6g} Hz, from {c['from_s']:.3f} to {c['to_s']:.3f} s "
            text += f"({c['to_s'] - c['from_s']:.3f} s), {gaps}, jitter {1e6 * c['jitter_s']:.0f} µs"
        lines.append(f"{text}; {c['hint']}" if c["hint"] else text)
    return lines


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
    text = f"{len(body.cloud.names)} markers against {CLOUDS.get(body.reference, body.reference)}: mean error "
    text += f"{_mm(body.raw.mean_error_m)} mm, largest {_mm(largest)} mm ({marker_name(marker)} at {when:.2f} s)"
    if is_repaired(body):
        text += f"; {_mm(body.fit.mean_error_m)} mm on average once the faults are repaired"
    lost = "; ".join(f"{frames} frames without a pose: {why}" for why, frames in body.fit.unknown().items())
    return f"{text}. {lost[0].upper()}{lost[1:]}." if lost else f"{text}."


def markers_table(body: Body) -> Table:
    """Error of each marker as stored and after repair, how often it is hidden, and what is wrong with it."""
    faults = {name: [f for f in body.checked.faults if name in f.names] for name in body.cloud.names}
    repaired = is_repaired(body)
    rows: list[tuple[str, ...]] = []
    for raw, good in zip(body.raw.rows(), body.fit.rows(), strict=True):
        kinds = dict.fromkeys(f.kind for f in faults[raw[0]])
        after = (_mm(good[1]), _mm(good[2])) if repaired else ()
        seen = np.isfinite(raw[1])
        when = f"{raw[3]:.2f}" if seen else "-"
        rows.append((marker_name(raw[0]), _mm(raw[1]), _mm(raw[2]), when, *after, _percent(raw[4]), ", ".join(kinds)))
    headings = ("marker", "mean error, mm", "largest, mm", "at, s")
    headings += (("repaired mean, mm", "repaired largest, mm") if repaired else ()) + ("hidden", "fault")
    marked = tuple(i for i, name in enumerate(body.cloud.names) if faults[name])
    return Table(headings, tuple(rows), "", (0, len(headings) - 1), marked)


def gaps_table(body: Body) -> Table:
    """What was hidden and where it was taken from; markers that were always seen are left out."""
    shown = [g for g in body.filled.report if g.gaps]
    rows = tuple(
        (marker_name(g.name), str(g.gaps), f"{g.longest_s:.2f}", str(g.from_body), str(g.by_spline), str(g.left))
        for g in shown
    )
    headings = ("marker", "gaps", "longest, s", "frames from the body", "by spline", "left empty")
    stretches = ", ".join(f"{a:.2f} to {b:.2f} s" for a, b in body.filled.usable[:6])
    more = len(body.filled.usable) - 6
    note = f"Pose known from {stretches or 'nowhere'}{f' and {more} more stretches' if more > 0 else ''}."
    marked = tuple(i for i, g in enumerate(shown) if g.left)
    return Table(headings, rows, "Gaps", marked=marked, note=note)


# --- clocks -----------------------------------------------------------------------------------------------------------


def clocks_table(inspection: Inspection) -> Table | None:
    """Offset, interval and drift of each device against the reference."""
    rows = [
        (DEVICES.get(name, name), *_clock_cells(device))
        for name, device in inspection.devices.items()
        if _is_compared(inspection, name)
    ]
    if not rows:
        return None
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
    return Table(headings, tuple(rows), "", (0, len(headings) - 1), marked, note)


def _is_compared(inspection: Inspection, name: str) -> bool:
    return bool(inspection.reference) and name != inspection.reference


def _clock_cells(device: DeviceOnClock) -> tuple[str, ...]:
    clock, evidence = device.clock, device.offset
    if clock is None:
        return ("-",) * 7 + ("not known, see the findings",)
    low, high = (float(x) for x in clock.interval_at(np.asarray(clock.at_s)))
    drift = (f"{clock.drift_ppm:+.1f}" if clock.drift_observed else "not observable",)
    drift += ("{:+.1f} … {:+.1f}".format(*clock.drift_interval_ppm()),)
    shares = ("-", "-", "stated") if evidence is None else (*_shares(evidence.explained, evidence.runner_up), "found")
    return f"{clock.offset_s:.6f}", f"{500 * (high - low):.3f}", f"{clock.at_s:.1f}", *drift, *shares


def _shares(explained: float, runner_up: float) -> tuple[str, str]:
    return f"{100 * explained:.2f} %", f"{100 * runner_up:.0f} %"


# --- vertical, placement, frames --------------------------------------------------------------------------------------


def vertical_table(tilt: Tilt) -> Table:
    """Tilt of the capture frame."""
    low, high = np.degrees(tilt.interval_rad()).T
    values = np.degrees([tilt.x_rad, tilt.y_rad])
    rows = tuple(
        (f"tilt of the capture frame about {axis}", f"{values[i]:+.3f}", f"{low[i]:+.3f} … {high[i]:+.3f}")
        for i, axis in enumerate("xy")
    )
    return Table(("vertical", "deg", "95 % interval"), rows, "Vertical", note=_sentence(tilt.weak))


def placement_table(placement: Placement, frame: str) -> Table:
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


def frames_table(body: Body, hinge: Hinge | None = None) -> Table | None:
    """Origins and axes of the declared frames in the cloud's."""
    frames = frames_in_cloud(body, hinge)
    if not frames:
        return None
    rows = tuple(
        (name, *(f"{1e3 * v:+.1f}" for v in T[:3, 3]), *(_vector(T[:3, i]) for i in range(3)))
        for name, T in frames.items()
    )
    headings = ("frame", "x, mm", "y, mm", "z, mm", "x axis", "y axis", "z axis")
    return Table(headings, rows, "Frames in the cloud")


def frames_in_cloud(body: Body, hinge: Hinge | None = None) -> dict[str, FloatArray]:
    """T_cloud_frame of the declared roles, and of a hinge that was found from the motion."""
    found = {} if hinge is None or "hinge" in body.frames else {"hinge": hinge.T_body_hinge}
    return body.frames | found


# --- motion -----------------------------------------------------------------------------------------------------------


def derivatives_table(motion: CapturedMotion) -> Table | None:
    """How poses were differentiated, and how much of the recording that left."""
    derived, rows = motion.derivatives, list[tuple[str, str]]()
    if motion.motion is None:
        return None
    if derived is not None:
        rows += _window_rows(derived)
    known = np.isfinite(motion.motion.omega_dot).all(axis=1)
    rows.append(("accelerations known", _percent(float(known.mean())) + " of the frames"))
    how = "markers and IMU fused" if derived is None else f"{motion.frame} frame"
    return Table(("derivatives", how), tuple(rows))


def _window_rows(derived: PoseMotion) -> list[tuple[str, str]]:
    rows = [("window", f"{1e3 * derived.window_s:.0f} ms, order {derived.order}")]
    chosen = derived.bandwidth
    if chosen is None:
        return rows
    rows.append(("bandwidth for the balance", f"{chosen.bandwidth_hz:.2f} Hz"))
    rows.append(("window without a low-pass", f"{1e3 * chosen.best_window_s:.0f} ms"))
    units = {"m": (1e3, "mm"), "rad": (1e3, "mrad")}
    for name, spectrum in chosen.spectra.items():
        factor, unit = units.get(spectrum.unit, (1.0, spectrum.unit))
        rows.append((f"noise of the {name} ({chosen.noise_from})", f"{factor * spectrum.noise_std:.3g} {unit}"))
    return rows


def hinge_table(hinge: Hinge, inclination_rad: tuple[float, float] | None = None) -> Table:
    """How well the body turns about one axis, and how far that leans (angle and standard deviation)."""
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
    if inclination_rad is not None:
        lean, std = (float(np.degrees(v)) for v in inclination_rad)
        words = f" ± {1.96 * std:.3f} deg (95 %)" if np.isfinite(std) else " deg, if the capture frame is level"
        rows.append(("leaning from the vertical", f"{lean:.3f}{words}"))
    return Table(("hinge", ""), tuple(rows))


def rolling_table(rolls: Rolling) -> Table:
    """How the object stood on its wheel: median and range of 95 % of the time."""
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
    return Table(("wheel", "median", "2.5 %", "97.5 %"), tuple(rows))


def _mm(metres: float) -> str:
    return f"{1e3 * metres:.2f}" if np.isfinite(metres) else "-"


def _percent(share: float) -> str:
    return "-" if share == 0 else f"{100 * share:.1f} %" if share >= 1e-3 else "< 0.1 %"


def _vector(v: FloatArray) -> str:
    return ", ".join(f"{c:+.3f}" for c in v)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


_MOST = 6
"""Findings of one kind that are printed."""


def inspection_text(inspection: Inspection) -> RenderableType:
    """What the recordings say together; their channels are not repeated."""
    parts: list[RenderableType] = []
    for intro, table in _printed_tables(inspection):
        parts.append(Text(f"\n{intro}" if intro else ""))
        parts.append(_rich(table))
        parts += [Text(table.note, style="dim")] if table.note else []
    return Group(*parts, *_finding_lines(inspection))


def _printed_tables(inspection: Inspection) -> Iterator[tuple[str, Table]]:
    """Each table below a line that introduces it, if any."""
    body, motion = inspection.body, inspection.motion
    if body is not None:
        yield body_line(body), markers_table(body)
        gaps = gaps_table(body)
        if gaps.rows:
            yield "", gaps
    clocks = clocks_table(inspection)
    if clocks is not None:
        yield "", clocks
    if motion is not None:
        for table in _motion_tables(motion):
            yield "", table


def _motion_tables(motion: CapturedMotion) -> Iterator[Table]:
    placement = motion.placement
    if placement is not None:
        if placement.tilt is not None:
            yield vertical_table(placement.tilt)
        yield placement_table(placement, motion.frame)
    for table in (frames_table(motion.body, motion.hinge), derivatives_table(motion)):
        if table is not None:
            yield table
    if motion.hinge is not None:
        yield hinge_table(motion.hinge, motion.inclination_rad)
    if motion.rolling is not None:
        yield rolling_table(motion.rolling)


def _rich(table: Table) -> RichTable:
    made = RichTable(box=None, pad_edge=False, header_style="bold")
    for i, heading in enumerate(table.headings):
        made.add_column(heading, justify="left" if i in table.words else "right")
    for i, row in enumerate(table.rows):
        # cells as Text: a name in brackets is no markup
        made.add_row(*(Text(cell) for cell in row), style="yellow" if i in table.marked else None)
    return made


def _finding_lines(inspection: Inspection) -> Iterator[Text]:
    if inspection.findings:
        yield Text()
    for kind, fatal, sentences in grouped(inspection.findings):
        style = "red" if fatal else "yellow"
        yield from (Text(f"{kind}: {sentence}", style=style) for sentence in sentences[:_MOST])
        if len(sentences) > _MOST:
            yield Text(f"{kind}: {len(sentences) - _MOST} more of this kind", style=style)


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


def recordings_text(described: Sequence[dict[str, Any]]) -> RenderableType:
    """A table of channels for each recording, under its clocks."""
    return Group(*(line for data in described for line in _recording_lines(data)))


def _recording_lines(data: dict[str, Any]) -> list[Any]:
    lines: list[Any] = [Text(f"\n{data['file']} ({data['format']})", style="bold")]
    for c in data["clocks"]:
        lines.append(Text(_clock_line(c)))
        if c["hint"]:
            lines.append(Text(f"hint: {c['hint']}", style="yellow"))
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for heading in ("channel", "unit", "frame", "clock"):
        table.add_column(heading)
    for heading in ("missing", "lowest", "highest", "noise"):
        table.add_column(heading, justify="right")
    for c in data["channels"]:
        numbers = ("-" if c[k] is None else f"{c[k]:.4g}" for k in ("lowest", "highest", "noise"))
        texts = (c["name"], c["unit"], c["frame"] or "-", c["clock"])  # as they are: a bracket in a name is no markup
        table.add_row(*(Text(t) for t in texts), str(c["missing"]), *numbers)
    return [*lines, table]


def _clock_line(c: dict[str, Any]) -> str:
    if c["rate_hz"] is None:
        return f"clock {c['name']}: {c['samples']} sample{'s' if c['samples'] != 1 else ''}"
    gaps = f"{c['gaps']} gaps, longest {c['largest_gap_s']:.3f} s" if c["gaps"] else "no gaps"
    return (
        f"clock {c['name']}: {c['samples']} samples at {c['rate_hz']:.6g} Hz, "
        f"{c['from_s']:.3f} to {c['to_s']:.3f} s, {gaps}, jitter {1e6 * c['jitter_s']:.0f} µs"
    )


def _takes_rate(format_: str) -> bool:
    """Plain tables, whose times are the user's word."""
    return format_ in FORMATS and "rate" in FORMATS[format_].options
