"""The tables of an inspection: made once, shown in the terminal and on the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palpate.experiment.capture import Body
from palpate.experiment.inspection import Inspection
from palpate.experiment.motion import CapturedMotion, DeviceOnClock
from palpate.motion.derivatives import PoseMotion
from palpate.motion.extrinsics import Placement
from palpate.motion.extrinsics_fit import UNKNOWN_LEVER, UNKNOWN_TURN
from palpate.motion.hinge import Hinge
from palpate.motion.rolling import Rolling
from palpate.motion.tilt import Tilt
from palpate.physics.arrays import FloatArray
from palpate.recording import Channel, Recording
from palpate.recording.gates import Finding, check_channels
from palpate.report.page import Table
from palpate.report.recordings import describe

DEVICES = {"imu": "IMU", "wrench": "load cell", "mocap": "motion capture"}
CLOUDS = {
    "static": "the static recording",
    "still": "a stretch in which the body is still",
    "mean": "the mean of the recording itself",
}
_REMARKS = {"clipping": "cut off", "constant": "constant", "frozen": "stands still at times", "noise": "noise"}


def short(name: str) -> str:
    """A marker's name without its subject."""
    return name.rsplit(":", 1)[-1]


def grouped(findings: Sequence[Finding]) -> list[tuple[str, bool, tuple[str, ...]]]:
    """Findings by kind, the fatal ones first: kind, fatal, sentences."""
    kinds = dict.fromkeys((f.fatal, f.gate) for f in sorted(findings, key=lambda f: not f.fatal))
    return [
        (gate.replace("-", " ").capitalize(), fatal, tuple(f.message for f in findings if (f.fatal, f.gate) == key))
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
    name, unit, factor = (short(channel.name), "mm", 1e3) if marker else (channel.name, channel.unit, 1.0)
    lost = data["missing"]
    missing = f"{lost} ({_percent(lost / len(channel.samples))})" if lost else "-"
    digits = (("lowest", 5), ("highest", 5), ("noise", 3))
    numbers = ("-" if data[k] is None else f"{factor * data[k]:.{n}g}" for k, n in digits)
    return name, unit, missing, *numbers


def _faults(recording: Recording, channel: Channel) -> str:
    if channel.samples.ndim != 1 or len(channel.samples) == 0:
        return ""
    gates = dict.fromkeys(f.gate for f in check_channels(recording, [channel.name]))
    return ", ".join(_REMARKS[gate] for gate in gates if gate in _REMARKS)


# --- markers ----------------------------------------------------------------------------------------------------------


def body_line(body: Body) -> str:
    """Where the reference cloud comes from, and how well the markers fit it."""
    marker, largest, when = body.raw.largest()
    text = f"{len(body.cloud.names)} markers against {CLOUDS.get(body.reference, body.reference)}: mean error "
    text += f"{_mm(body.raw.mean_error_m)} mm, largest {_mm(largest)} mm ({short(marker)} at {when:.2f} s)"
    if is_repaired(body):
        text += f"; {_mm(body.fit.mean_error_m)} mm on average once the faults are repaired"
    lost = "; ".join(f"{frames} frames without a pose: {why}" for why, frames in body.fit.unknown().items())
    return f"{text}. {lost[0].upper()}{lost[1:]}." if lost else f"{text}."


def is_repaired(body: Body) -> bool:
    """Whether a fault was put right, rather than only named."""
    return any(f.kind != "unsteady" for f in body.checked.findings)


def markers_table(body: Body) -> Table:
    """Error of each marker as stored and after repair, how often it is hidden, and what is wrong with it."""
    faults = {name: [f for f in body.checked.findings if name in f.names] for name in body.cloud.names}
    repaired = is_repaired(body)
    rows: list[tuple[str, ...]] = []
    for raw, good in zip(body.raw.rows(), body.fit.rows(), strict=True):
        kinds = dict.fromkeys(f.kind for f in faults[raw[0]])
        after = (_mm(good[1]), _mm(good[2])) if repaired else ()
        seen = np.isfinite(raw[1])
        when = f"{raw[3]:.2f}" if seen else "-"
        rows.append((short(raw[0]), _mm(raw[1]), _mm(raw[2]), when, *after, _percent(raw[4]), ", ".join(kinds)))
    headings = ("marker", "mean error, mm", "largest, mm", "at, s")
    headings += (("repaired mean, mm", "repaired largest, mm") if repaired else ()) + ("hidden", "fault")
    marked = tuple(i for i, name in enumerate(body.cloud.names) if faults[name])
    return Table(headings, tuple(rows), "", (0, len(headings) - 1), marked)


def gaps_table(body: Body) -> Table:
    """What was hidden and where it was taken from; markers that were always seen are left out."""
    shown = [g for g in body.filled.report if g.gaps]
    rows = tuple(
        (short(g.name), str(g.gaps), f"{g.longest_s:.2f}", str(g.from_body), str(g.by_spline), str(g.left))
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
