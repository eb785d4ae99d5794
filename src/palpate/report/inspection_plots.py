"""Figures of an inspection: clocks and the signals they were found from, markers, and the motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.experiment.inspection import Inspection
from palpate.experiment.stage.capture import Body, wrench_features
from palpate.experiment.stage.recordings import Instrument
from palpate.experiment.view import ClockEvidence
from palpate.motion.clock import ClockMap, without_lost
from palpate.motion.cloud import Markers, Source, nan_mean, nan_median
from palpate.motion.derivatives import Bandwidth, PoseMotion, pose_motion
from palpate.motion.frames import HingeMotion
from palpate.motion.imu import PARALLEL, imu_motion
from palpate.motion.offset import Offset, angular_velocity, window_mean
from palpate.motion.rolling import RollingMotion
from palpate.physics.arrays import FloatArray, least_squares
from palpate.physics.motion import Motion
from palpate.report import plots
from palpate.report.fit_plots import DEVICES, clock_figure
from palpate.report.page import Block, Figure, Json
from palpate.report.plots import COLOURS, DARK, GREY, PALE, Panel, TimeAxis, curve, layout, line, time_axis

_HALF_S = 0.04
"""Signals are averaged over twice this before they are laid over each other, both alike."""
_ZOOM_S = 4.0
_GRID_S = 0.01
_MOST_MARKERS = 8
"""Whose errors are drawn over time: those with the largest."""
_MOST_FAULTS = 60
_COLUMNS = 1500
"""Of the picture of what was seen."""
_STATES = {
    "seen": "#cfe3d4",
    "moved, carried back": "#e69f00",
    "label exchanged, put right": "#cc79a7",
    "hidden, from the body": "#8fbce6",
    "hidden, by spline": "#0072b2",
    "ghost, replaced": "#d55e00",
    "": "#222222",
}
"""What can be said of a marker in a frame, from the best to the gravest; the last has no name of its own."""
_SHADES = {"swapped": "#cc79a7", "ghost": "#d55e00", "confused": "#222222"}
_MOVED = "#b07500"


def marker_name(name: str) -> str:
    """A marker's name without its subject."""
    return name.rsplit(":", 1)[-1]


def is_repaired(body: Body) -> bool:
    """Whether a fault was put right, rather than only named."""
    return any(f.kind != "unsteady" for f in body.checked.faults)


# --- clocks -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two signals that are the same once the clocks are: the reference's and the device's on its own clock."""

    title: str
    unit: str
    reference: str
    device: str
    times_s: FloatArray
    seen: FloatArray
    device_s: FloatArray
    also: FloatArray


def clock_figures(inspection: Inspection) -> list[Block]:
    """For each device: the misfit over the lag, and the signals that were compared; then the drift of all."""
    clocks = {n: d.clock for n, d in inspection.devices.items() if d.clock is not None and n != inspection.reference}
    blocks: list[Block] = []
    for name, clock in clocks.items():
        device = inspection.devices[name]
        if device.offset is not None:
            blocks.append(clock_figure(_evidence(name, device.offset, clock)))
        for pair in _pairs(inspection, name, device, clock):
            blocks += overlay(pair, clock)
    return [*blocks, drift_lines(clocks, inspection)] if clocks else blocks


def _evidence(name: str, offset: Offset, clock: ClockMap) -> ClockEvidence:
    """How well the signals fit at other lags; an offset may count the other way than the clock's map."""
    sign = 1.0 if abs(clock.offset_s - offset.value_s) <= abs(clock.offset_s + offset.value_s) else -1.0
    low, high = clock.interval_at(np.asarray(clock.at_s))
    lags, std = sign * offset.lags_s - clock.offset_s, float(high - low) / (2 * 1.96)
    return ClockEvidence(name, lags, offset.misfit, std, offset.explained, offset.runner_up)


def overlay(pair: Pair, clock: ClockMap) -> list[Block]:
    """The two signals as stored and aligned, over the whole recording and over the liveliest seconds."""
    zero, aligned = plots.zero_of(pair.times_s), clock.to_reference(pair.device_s)
    low, high = float(max(pair.times_s[0], aligned[0])), float(min(pair.times_s[-1], aligned[-1]))
    if not high > low:
        return []
    start = _liveliest(pair.times_s, pair.seen, low, high)
    first, last = float(min(pair.times_s[0], aligned[0])), float(max(pair.times_s[-1], aligned[-1]))
    whole = (first, last, pair.title, "Aligned, the curves should lie on each other from the first second to the last.")
    zoom = (
        *(start, min(start + _ZOOM_S, high)),
        *(f"{pair.title}: the liveliest seconds", "Aligned, every peak should coincide."),
    )
    return [_overlaid(pair, aligned, zero, *which) for which in (whole, zoom)]


def _overlaid(pair: Pair, aligned: FloatArray, zero: float, first: float, last: float, title: str, say: str) -> Figure:
    """Both signals from first to last (s); as stored only where the device's own clock has something to show there."""
    stored = ((pair.device_s >= first) & (pair.device_s <= last)).any()
    rows = {"as stored": pair.device_s, "aligned": aligned} if stored else {"aligned": aligned}
    panels: list[Panel] = []
    for word, device_s in rows.items():
        # a thin curve on a broad one: both can be seen where they agree
        both = ((pair.times_s, pair.seen, pair.reference, PALE, 4), (device_s, pair.also, pair.device, DARK, 1))
        data = tuple(
            line(t[part] - zero, y[part], name, most=2000, mode="lines", line={"color": colour, "width": width})
            for t, y, name, colour, width in both
            for part in [(t >= first) & (t <= last)]
        )
        panels.append(Panel(f"{word}, {pair.unit}", data))
    say += " As stored, each is drawn by its own clock." if stored else ""
    return plots.stacked(title, say, panels, plots.since(zero) | {"range": [first - zero, last - zero]})


def drift_lines(clocks: Mapping[str, ClockMap], inspection: Inspection) -> Figure:
    """How the offsets change over the recording, with their intervals."""
    spans = [d.clock.to_reference(d.even.times_s[[0, -1]]) for d in inspection.devices.values() if d.clock is not None]
    t = np.linspace(min(float(s[0]) for s in spans), max(float(s[1]) for s in spans), 41)
    zero = plots.zero_of(t)
    data: list[Json] = []
    for colour, (name, clock) in enumerate(clocks.items()):
        low, high = clock.interval_at(t)
        around = 1e3 * (np.concatenate([low, high[::-1]]) - clock.offset_s)
        words = DEVICES.get(name, name) + ("" if clock.drift_observed else " (drift not observable)")
        fill: Json = {"fill": "toself", "fillcolor": COLOURS[colour], "opacity": 0.2, "line": {"width": 0}}
        both = np.concatenate([t, t[::-1]]) - zero
        data.append(curve(both, around, "", showlegend=False, hoverinfo="skip", **fill))
        data.append(curve(t - zero, 1e3 * (clock.offset_at(t) - clock.offset_s), words, colour))
    return Figure(
        "How the clocks run against each other",
        "A sloping line is a drift; the shade is its 95 % interval. Over a wide shade, use only times near its waist.",
        tuple(data),
        layout(["change of the offset, ms"], plots.since(zero, "time on the reference clock, s")),
    )


def _pairs(inspection: Inspection, name: str, device: Instrument, clock: ClockMap) -> list[Pair]:
    if name == "imu" and inspection.body is not None:
        at, omega, _ = angular_velocity(inspection.body.poses)
        gyroscope = without_lost(device.even.times_s, device.even.x[:, 3:6], device.even.lost)
        # the angular speed is the same in every frame
        markers, also = (
            np.linalg.norm(window_mean(t, x, _HALF_S), axis=1)
            for t, x in ((at, omega), (device.even.times_s, gyroscope))
        )
        signals = (at, markers, device.even.times_s, also)
        return [Pair("Angular speed by markers and gyroscope", "rad/s", "markers", "gyroscope", *signals)]
    return _loads(inspection, device, clock) if name == "wrench" else []


def _loads(inspection: Inspection, wrench: Instrument, clock: ClockMap) -> list[Pair]:
    """The strongest force and moment, and what a rigid body of the best-fitting mass would need for this motion."""
    motion = _reference_motion(inspection)
    if motion is None:
        return []
    grid = np.arange(motion.times_s[0], motion.times_s[-1], _GRID_S)
    features = _at(grid, motion.times_s, window_mean(motion.times_s, wrench_features(motion), _HALF_S))
    load = window_mean(wrench.even.times_s, without_lost(wrench.even.times_s, wrench.even.x, wrench.even.lost), _HALF_S)
    aligned = _at(clock.from_reference(grid), wrench.even.times_s, load)
    use = np.isfinite(features).all(axis=1) & np.isfinite(aligned).all(axis=1)
    if use.sum() < 10 * features.shape[1]:
        return []
    x = np.column_stack([features, np.ones(len(features))])
    explained = x @ least_squares(x[use], aligned[use])
    spread = aligned[use].std(axis=0)
    pairs: list[Pair] = []
    for word, unit, first in (("Force", "N", 0), ("Moment", "N m", 3)):
        k = first + int(spread[first : first + 3].argmax())
        title = f"{word} {wrench.channels[k]} and what the motion explains of it"
        signals = (grid, explained[:, k], wrench.even.times_s, load[:, k])
        pairs.append(Pair(title, unit, "explained by the motion", "load cell", *signals))
    return pairs


def _reference_motion(inspection: Inspection) -> Motion | None:
    """The motion that the load cell's clock was compared with, on the reference clock."""
    imu = inspection.devices.get("imu")
    if imu is not None and imu.clock is not None:
        x = imu.even.x
        felt = imu_motion(imu.even.times_s, x[:, :3], x[:, 3:6], np.eye(4), PARALLEL)
        times = imu.clock.to_reference(felt.times_s)
        return Motion(times, felt.specific_acceleration, felt.omega, felt.omega_dot)
    if inspection.body is None:
        return None
    try:
        return pose_motion(inspection.body.poses, gravity=(0.0, 0.0, -9.80665)).motion
    except DataProblem:  # a stated clock needs no derivatives
        return None


def _liveliest(t: FloatArray, y: FloatArray, low: float, high: float) -> float:
    """Start of the seconds, inside what both saw, in which the signal changes most."""
    inside = np.flatnonzero((t >= low) & (t <= high) & np.isfinite(y))
    if len(inside) < 3:
        return low
    t, travel = t[inside], np.concatenate([[0.0], np.cumsum(np.abs(np.diff(y[inside])))])
    last = np.searchsorted(t, np.minimum(t + _ZOOM_S, t[-1]))
    fits = t + _ZOOM_S <= t[-1]
    gained = np.where(fits, travel[np.minimum(last, len(t) - 1)] - travel, -1.0)
    return float(t[int(gained.argmax())]) if fits.any() else float(t[0])


def _at(at_s: FloatArray, times_s: FloatArray, x: FloatArray) -> FloatArray:
    """(samples, channels) at other times, linearly; NaN outside and beside NaN."""
    return np.array([np.interp(at_s, times_s, column, left=np.nan, right=np.nan) for column in x.T], dtype=float).T


# --- markers ----------------------------------------------------------------------------------------------------------


def error_bars(body: Body) -> Figure:
    """Mean error of each marker, as stored and after repair."""
    names = [marker_name(name) for name in body.cloud.names]
    sets = {"as stored": body.raw} | ({"faults repaired": body.fit} if is_repaired(body) else {})
    data = tuple(
        plots.bars(
            names, plots.packed(1e3 * np.array([row[1] for row in fit.rows()])), word, COLOURS[len(sets) - 1 - i]
        )
        for i, (word, fit) in enumerate(sets.items())
    )
    axis = plots.x_title("marker") | {"type": "category", "tickangle": -40 if len(names) > 12 else 0}
    return Figure(
        "Mean error of each marker",
        "One bar far above the others is a marker that moved, was exchanged or sits on a part that bends; 0.3 to 1 mm "
        "is usual for a stiff body.",
        data,
        layout(["mean error, mm"], axis, barmode="group", showlegend=len(sets) > 1),
    )


def error_over_time(body: Body) -> Figure:
    """Distance of the markers from their places over time, with the faults that were found."""
    axis, error = time_axis(body.raw.poses.times_s), 1e3 * body.raw.alignment.error
    largest = np.where(np.isnan(error), -1.0, error).max(axis=0)
    chosen = np.sort(np.argsort(-largest, kind="stable")[:_MOST_MARKERS])
    stored = [
        line(axis.x, error[:, i], marker_name(body.cloud.names[i]), colour, most=2000, **axis.trace)
        for colour, i in enumerate(int(k) for k in chosen)
    ]
    kinds = dict.fromkeys(f.kind for f in body.checked.faults)
    stored += [plots.key(kind, _SHADES[kind]) for kind in kinds if kind in _SHADES]
    panels, usual = [Panel("error as stored, mm", tuple(stored))], float(nan_median(error.ravel(), axis=0))
    if is_repaired(body):
        left = 1e3 * body.fit.alignment.error
        most = np.where(np.isnan(left).all(axis=1), np.nan, np.where(np.isnan(left), -1.0, left).max(axis=1))
        both = (("largest, repaired", most, GREY), ("mean, repaired", nan_mean(left, axis=1), DARK))
        after = tuple(line(axis.x, y, name, colour, most=2000, **axis.trace) for name, y, colour in both)
        panels.append(Panel("error repaired, mm", after))
    shapes, labels = _faults(body, axis)
    # beside exchanged markers, 300 mm off, nothing else would show
    spread = usual > 0 and float(largest.max()) > 20 * usual
    scale = {0: plots.log_scale(usual / 5, float(largest.max()))} if spread else {}
    left_out = len(largest) - len(chosen)
    rest = f" The {len(chosen)} markers with the largest errors are drawn, {left_out} are not." if left_out else ""
    return plots.stacked(
        "Distance of the markers from their places",
        "Steps, plateaus and spikes are faults: those that were found are shaded or, where a marker moved, marked by "
        f"a line.{' Once they are repaired, even noise should be left.' if is_repaired(body) else ''}{rest}",
        panels,
        axis.layout,
        y=scale,
        shapes=shapes,
        annotations=labels,
    )


def _faults(body: Body, axis: TimeAxis) -> tuple[list[Json], list[Json]]:
    times = body.raw.poses.times_s
    shapes: list[Json] = []
    labels: list[Json] = []
    for f in body.checked.faults[:_MOST_FAULTS]:
        first, last = (int(i) for i in np.clip(np.searchsorted(times, f.interval_s), 0, len(times) - 1))
        if f.kind == "moved":
            text = f"{marker_name(f.names[0])} moved by {1e3 * f.size_m:.1f} mm"
            shape, label = plots.upright(float(axis.x[first]), text, _MOVED, level=1 - 0.06 * (len(labels) % 6))
            shapes.append(shape)
            labels.append(label)
        elif f.kind in _SHADES:
            shapes.append(plots.band(float(axis.x[first]), float(axis.x[last]), _SHADES[f.kind]))
    return shapes, labels


def visibility(body: Body) -> Figure:
    """Which marker was seen, filled, exchanged or lost when."""
    return _timeline(
        body.markers.times_s,
        body.cloud.names,
        _marker_states(body),
        "Long dark stretches, or many markers hidden at the same time, are where the pose rests on little; choose "
        "segments beside them.",
    )


def seen_markers(markers: Markers) -> Figure:
    """The same of markers that are not known to be one body."""
    states = np.where(markers.seen, 0, len(_STATES) - 1).astype(np.int8)
    return _timeline(markers.times_s, markers.names, states, "Dark is where a marker was hidden.", "hidden")


def _timeline(
    times_s: FloatArray, markers: tuple[str, ...], states: NDArray[np.int8], look_for: str, gravest: str = "not known"
) -> Figure:
    axis = time_axis(times_s)
    x, worst = _columns(axis.x, states)
    n = len(_STATES)
    scale = [[k / n, c] for i, c in enumerate(_STATES.values()) for k in (i, i + 1)]
    heat: Json = {"type": "heatmap", "x": plots.packed(x, "f8"), "z": plots.packed(worst.T, "f4"), "ygap": 2}
    heat |= {"y": [marker_name(name) for name in markers], "zmin": -0.5, "zmax": n - 0.5, "colorscale": scale}
    heat |= {"showscale": False, "hoverinfo": "y" if axis.trace else "x+y"}
    present = {int(v) for v in np.unique(states).tolist()}
    keys = [plots.key(name or gravest, _STATES[name]) for i, name in enumerate(_STATES) if i in present]
    special: Json = {"autorange": "reversed", "type": "category", "showgrid": False, "dtick": 1}
    made = layout([""], axis.layout, height=130 + max(22 * len(markers), 90), y={0: special})
    return Figure("What was seen of each marker", look_for, (heat, *keys), made)


def _marker_states(body: Body) -> NDArray[np.int8]:
    """(frames, markers of the cloud) index into the states that `visibility` shows, the gravest that applies."""
    stored = body.markers
    raw, times = stored.seen[:, [stored.names.index(name) for name in body.cloud.names]], stored.times_s
    states = np.zeros(raw.shape, dtype=np.int8)
    for kind, state in (("moved", 1), ("swapped", 2)):
        for f in (f for f in body.checked.faults if f.kind == kind):
            when = (times >= f.interval_s[0]) & (times <= f.interval_s[1])
            for name in f.names:
                states[when, body.cloud.names.index(name)] = state
    source, kept = body.filled.source, body.checked.markers.seen
    states[source == Source.BODY] = 3
    states[source == Source.SPLINE] = 4
    states[raw & ~kept & (source != Source.HIDDEN) & (states != 2)] = 5
    states[source == Source.HIDDEN] = 6
    return states


def _columns(x: FloatArray, states: NDArray[np.int8]) -> tuple[FloatArray, FloatArray]:
    """Even columns over x, each with the gravest state of its frames; NaN where there is no frame."""
    if len(x) < 2:
        return x, states.astype(float)
    step = float(np.median(np.diff(x)))
    count = min(_COLUMNS, round(float(x[-1] - x[0]) / step) + 1)
    edges = np.linspace(float(x[0]) - step / 2, float(x[-1]) + step / 2, count + 1)
    at = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, count - 1)
    worst = np.full((count, states.shape[1]), -1, dtype=np.int8)
    np.maximum.at(worst, at, states)
    return (edges[1:] + edges[:-1]) / 2, np.where(worst < 0, np.nan, worst)


def cloud_in_space(body: Body, frames: Mapping[str, FloatArray]) -> Figure:
    """The reference cloud with names, and frames (T_cloud_frame) as three short axes."""
    p = 1e3 * body.cloud.points
    length = 0.25 * float(np.linalg.norm(p - p.mean(axis=0), axis=1).max())
    faulty = {name for f in body.checked.faults for name in f.names if f.kind != "confused"}
    style: Json = {"marker": {"size": 5, "color": [COLOURS[1 if n in faulty else 0] for n in body.cloud.names]}}
    style |= {"text": [marker_name(name) for name in body.cloud.names], "textfont": {"size": 11}}
    dots = plots.in_space(p, "markers+text", **style, textposition="top center")
    corners = np.vstack([p, *(1e3 * (T[:3, 3] + length / 1e3 * T[:3, :3].T) for T in frames.values())])
    turned = "; frames are drawn as red x, green y and blue z" if frames else ""
    return Figure(
        "The markers on the body",
        f"Turn it with the mouse: names should sit as they do on the object{turned}. Orange markers have a fault.",
        (dots, *plots.frames_in_space(frames, length)),
        plots.scene_layout(corners),
    )


# --- motion -----------------------------------------------------------------------------------------------------------


def spectra(chosen: Bandwidth) -> Figure:
    """What was measured and which part of it is noise, with the bandwidth that follows."""
    f = chosen.frequencies_hz
    panels: list[Panel] = []
    scales: dict[int, Json] = {}
    for row, (name, s) in enumerate(chosen.spectra.items()):
        signal = np.where(s.signal > 1e-2 * s.noise, s.signal, np.nan)
        parts = (
            ("measured", s.measured, PALE, 4.0),
            ("noise", s.noise, COLOURS[1], 1.5),
            ("signal", signal, DARK, 1.2),
        )
        data = tuple(curve(f, np.where(y > 0, y, np.nan), word, c, width=width) for word, y, c, width in parts)
        panels.append(Panel(f"{name}, ({s.unit}/s²)²/Hz", data))
        seen = np.concatenate([s.measured, s.noise])
        scales[row] = plots.log_scale(float(seen[seen > 0].min()), float(seen.max()))
    shape, label = plots.upright(chosen.bandwidth_hz, f"bandwidth {chosen.bandwidth_hz:.2f} Hz", log=True)
    ticks = [v for v in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if f[0] <= v <= f[-1]]
    axis = plots.x_title("frequency, Hz") | {"type": "log", "tickvals": ticks}
    return plots.stacked(
        "Spectrum of the acceleration",
        "The bandwidth should stand near the place where the measured curves meet the noise; beyond that place the "
        f"recording tells nothing about accelerations. Noise from: {chosen.noise_from}.",
        panels,
        axis,
        y=scales,
        shapes=[shape],
        annotations=[label],
    )


def window_errors(chosen: Bandwidth, derived: PoseMotion) -> Figure:
    """What each window would take from the motion and leave of the noise."""
    percent = 100 * chosen.error
    best, used = 1e3 * chosen.best_window_s, 1e3 * derived.window_s
    lines = (
        plots.upright(used, f"used: {used:.0f} ms"),
        plots.upright(best, f"best alone: {best:.0f} ms", "#999", level=0.88),
    )
    shapes, labels = zip(*lines, strict=True)
    scale = {0: plots.log_scale(float(percent.min()), float(percent.max()))}
    more: Json = {"y": scale, "showlegend": False, "shapes": list(shapes), "annotations": list(labels)}
    return Figure(
        "Choice of the window",
        "The window that is used stays well to the left of the minimum, because the low-pass of the balance takes the "
        "rest of the noise; without a low-pass the minimum is best.",
        (curve(1e3 * chosen.windows_s, percent, "error of the acceleration"),),
        layout(["error, % of the motion"], plots.x_title("window, ms"), **more),
    )


def motion_over_time(motion: Motion, frame: str) -> Figure | None:
    """Angular velocity, angular acceleration and specific acceleration in the frame's axes."""
    return _rows_over_time(
        f"Motion of the {frame}",
        f"In the axes of the {frame}: no spikes, no steps, and at rest a - g of about 9.8 m/s² upwards.",
        motion.times_s,
        {"ω, rad/s": motion.omega, "dω/dt, rad/s²": motion.omega_dot, "a - g, m/s²": motion.specific_acceleration},
    )


def hinge_angle(motion: HingeMotion) -> Figure | None:
    """The angle, and what of the motion is off the hinge."""
    rows = {
        "angle, deg": np.degrees(motion.angle_rad)[:, None],
        "tilt off the axis, deg": np.degrees(motion.tilt_rad),
        "slide off the axis, mm": 1e3 * motion.slide_m,
    }
    return _rows_over_time(
        "Angle, and motion off the hinge",
        "The lower rows should stay near zero at every angle; what follows the angle there is a wrong axis or a hinge "
        "that gives way.",
        motion.times_s,
        rows,
    )


def wheel(rolls: RollingMotion) -> Figure | None:
    """Height of the axle and how the object stands on its wheel."""
    rows = {
        "axle height, mm": 1e3 * rolls.height_m[:, None],
        "pitch, camber, deg": np.degrees(np.column_stack([rolls.pitch_rad, rolls.camber_rad])),
        "heading, deg": np.degrees(rolls.yaw_rad)[:, None],
    }
    return _rows_over_time(
        "Wheel on the floor",
        "The height should be the wheel's radius and not change: waves mean a tilted capture frame or markers beside "
        "the axle, steps mean that the wheel was lifted.",
        rolls.contact.times_s,
        rows,
        ("pitch", "camber"),
    )


def _rows_over_time(
    title: str,
    look_for: str,
    times_s: FloatArray,
    rows: Mapping[str, FloatArray],
    names: tuple[str, ...] = tuple("xyz"),
) -> Figure | None:
    """Rows of (samples, k) signals over time; a lone one is named by its axis. None where the first is not known."""
    if not np.isfinite(next(iter(rows.values()))).any():
        return None
    axis = time_axis(times_s)
    panels: list[Panel] = []
    for word, y in rows.items():
        lone: Json = {"showlegend": False} if y.shape[1] == 1 else {}
        signals = [(word, DARK)] if lone else [(name, COLOURS[i]) for i, name in enumerate(names[: y.shape[1]])]
        data = tuple(
            line(axis.x, y[:, i], name, colour, most=2500, **lone, **axis.trace)
            for i, (name, colour) in enumerate(signals)
        )
        panels.append(Panel(word, data))
    return plots.stacked(title, look_for, panels, axis.layout)
