"""Figures of an inspection: clocks and the signals they were found from, markers, and the motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palpate.errors import DataProblem
from palpate.experiment.capture import Body
from palpate.experiment.handle import wrench_features
from palpate.experiment.inspection import Inspection
from palpate.experiment.motion import DeviceOnClock
from palpate.motion import PARALLEL, imu_motion
from palpate.motion.clocks.clock import ClockMap, without_lost
from palpate.motion.clocks.offset import Offset, angular_velocity, window_mean
from palpate.motion.derivatives.bandwidth import Bandwidth
from palpate.motion.derivatives.differentiate import PoseMotion, pose_motion
from palpate.motion.frames.hinge import HingeMotion
from palpate.motion.frames.roles import Rolling
from palpate.motion.markers.cloud import Markers, Source, nan_mean, nan_median
from palpate.physics.arrays import FloatArray, least_squares
from palpate.physics.motion import Motion
from palpate.report.page import Block, Figure, Json
from palpate.report.plots import (
    COLOURS,
    DARK,
    GREY,
    PALE,
    TimeAxis,
    band,
    curve,
    key,
    layout,
    line,
    log_scale,
    packed,
    scene_axes,
    since,
    time_axis,
    upright,
    zero_of,
)

DEVICES = {"imu": "IMU", "wrench": "load cell", "mocap": "motion capture"}


def marker_name(name: str) -> str:
    """A marker's name without its subject."""
    return name.rsplit(":", 1)[-1]


def is_repaired(body: Body) -> bool:
    """Whether a fault was put right, rather than only named."""
    return any(f.kind != "unsteady" for f in body.checked.faults)


_HALF_S = 0.04
"""Signals are averaged over twice this before they are laid over each other, both alike."""
_ZOOM_S = 4.0
_GRID_S = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """The same quantity as the reference and as a device saw it."""

    title: str
    unit: str
    reference: str
    device: str
    times_s: FloatArray
    """On the reference clock, ..."""
    seen: FloatArray
    device_s: FloatArray
    """... and on the device's own."""
    also: FloatArray


def clock_figures(inspection: Inspection) -> list[Block]:
    """For each device: the misfit over the lag, and the signals that were compared; then the drift of all."""
    blocks: list[Block] = []
    for name, device in inspection.devices.items():
        if name == inspection.reference or device.clock is None:
            continue
        if device.offset is not None:
            blocks.append(misfit_profile(name, device.offset, device.clock))
        for pair in _pairs(inspection, name, device, device.clock):
            blocks += overlay(pair, device.clock)
    clocks = {n: d.clock for n, d in inspection.devices.items() if d.clock is not None and n != inspection.reference}
    if clocks:
        blocks.append(drift_lines(clocks, inspection))
    return blocks


def misfit_profile(name: str, offset: Offset, clock: ClockMap) -> Figure:
    """The unexplained share of the variance around the offset that was found."""
    # an offset may count the other way than the clock's map
    sign = 1.0 if abs(clock.offset_s - offset.value_s) <= abs(clock.offset_s + offset.value_s) else -1.0
    # the grid of lags seldom meets the best one
    lags = np.append(1e3 * (sign * offset.lags_s - clock.offset_s), 0.0)
    order = np.argsort(lags)
    share = 100 * np.append(offset.misfit, 1 - offset.explained)[order]
    low, high = (1e3 * (float(x) - clock.offset_s) for x in clock.interval_at(np.asarray(clock.at_s)))
    label = f"{clock.offset_s:.6f} s ± {(high - low) / 2:.3f} ms"
    shape, text = upright(0.0, label)
    device = DEVICES.get(name, name)
    valley = curve(lags[order], share, "unexplained", mode="lines+markers", showlegend=False)
    axis: Json = {"title": {"text": f"lag from the offset that was found, ms ({device})"}}
    low_share, high_share = float(share.min()), float(share.max())
    scale = {1: log_scale(low_share, high_share)} if high_share > 20 * low_share > 0 else {}
    return Figure(
        f"Clock of the {device}: how well the signals fit at other lags",
        "There should be one clear valley at zero; the 95 % interval is shaded and often narrower than the line. "
        f"The best lag elsewhere explains {100 * offset.runner_up:.0f} %, this one {100 * offset.explained:.2f} %.",
        (valley,),
        layout(["unexplained, %"], axis, y=scale, shapes=[shape, band(low, high, COLOURS[1], 0.4)], annotations=[text]),
    )


def overlay(pair: Pair, clock: ClockMap) -> list[Block]:
    """The two signals as stored and aligned, over the whole recording and over the liveliest seconds."""
    zero, aligned = zero_of(pair.times_s), clock.to_reference(pair.device_s)
    low, high = float(max(pair.times_s[0], aligned[0])), float(min(pair.times_s[-1], aligned[-1]))
    if not high > low:
        return []
    start = _liveliest(pair.times_s, pair.seen, low, high)
    end = min(start + _ZOOM_S, high)
    first, last = float(min(pair.times_s[0], aligned[0])), float(max(pair.times_s[-1], aligned[-1]))
    whole = (first, last, pair.title, "Aligned, the curves should lie on each other from the first second to the last.")
    zoom = (start, end, f"{pair.title}: the liveliest seconds", "Aligned, every peak should coincide.")
    return [_overlaid(pair, aligned, zero, *which) for which in (whole, zoom)]


def _overlaid(pair: Pair, aligned: FloatArray, zero: float, first: float, last: float, title: str, say: str) -> Figure:
    """Both signals from first to last (s); as stored only where the device's own clock has something to show there."""
    stored = ((pair.device_s >= first) & (pair.device_s <= last)).any()
    rows = {"as stored": pair.device_s, "aligned": aligned} if stored else {"aligned": aligned}
    say += " As stored, each is drawn by its own clock." if stored else ""
    data: list[Json] = []
    for row, device_s in enumerate(rows.values()):
        curves = ((pair.times_s, pair.seen, pair.reference), (device_s, pair.also, pair.device))
        for i, (t, y, name) in enumerate(curves):
            part = (t >= first) & (t <= last)
            # a thin curve on a broad one: both can be seen where they agree
            style: Json = {"color": (PALE, DARK)[i], "width": (4, 1)[i]}
            more: Json = {"legendgroup": name, "showlegend": row == 0, "mode": "lines", "line": style}
            data.append(line(t[part] - zero, y[part], name, most=2000, row=row + 1, **more))
    axis = since("time, s", zero) | {"range": [first - zero, last - zero]}
    return Figure(title, say, tuple(data), layout([f"{word}, {pair.unit}" for word in rows], axis))


def drift_lines(clocks: dict[str, ClockMap], inspection: Inspection) -> Figure:
    """How the offsets change over the recording, with their intervals."""
    spans = [d.clock.to_reference(d.even.times_s[[0, -1]]) for d in inspection.devices.values() if d.clock is not None]
    t = np.linspace(min(float(s[0]) for s in spans), max(float(s[1]) for s in spans), 41)
    zero = zero_of(t)
    data: list[Json] = []
    for colour, (name, clock) in enumerate(clocks.items()):
        low, high = clock.interval_at(t)
        middle = clock.offset_at(t) - clock.offset_s
        around = 1e3 * np.concatenate([low, high[::-1]]) - 1e3 * clock.offset_s
        words = DEVICES.get(name, name) + ("" if clock.drift_observed else " (drift not observable)")
        fill: Json = {"fill": "toself", "fillcolor": COLOURS[colour], "opacity": 0.2, "line": {"width": 0}}
        place: Json = {"x": packed(np.concatenate([t, t[::-1]]) - zero, "f8"), "y": packed(around)}
        data.append({"type": "scatter", "mode": "lines", "showlegend": False, "hoverinfo": "skip", **place, **fill})
        data.append(curve(t - zero, 1e3 * middle, words, colour))
    return Figure(
        "How the clocks run against each other",
        "A sloping line is a drift; the shade is its 95 % interval. Over a wide shade, use only times near its waist.",
        tuple(data),
        layout(["change of the offset, ms"], since("time on the reference clock, s", zero)),
    )


def _pairs(inspection: Inspection, name: str, device: DeviceOnClock, clock: ClockMap) -> list[Pair]:
    if name == "imu" and inspection.body is not None:
        return [_speeds(inspection, device)]
    if name == "wrench":
        return _loads(inspection, device, clock)
    return []


def _speeds(inspection: Inspection, imu: DeviceOnClock) -> Pair:
    """The angular speed, which is the same in every frame."""
    assert inspection.body is not None
    at, omega, _ = angular_velocity(inspection.body.poses)
    gyroscope = without_lost(imu.even.times_s, imu.even.x[:, 3:6], imu.even.lost)
    return Pair(
        "Angular speed by markers and gyroscope",
        "rad/s",
        "markers",
        "gyroscope",
        at,
        np.linalg.norm(window_mean(at, omega, _HALF_S), axis=1),
        imu.even.times_s,
        np.linalg.norm(window_mean(imu.even.times_s, gyroscope, _HALF_S), axis=1),
    )


def _loads(inspection: Inspection, wrench: DeviceOnClock, clock: ClockMap) -> list[Pair]:
    """The strongest force and moment, and what a rigid body of the best-fitting mass would need for this motion."""
    motion = _reference_motion(inspection)
    if motion is None:
        return []
    grid = np.arange(motion.times_s[0], motion.times_s[-1], _GRID_S)
    features = _at(grid, motion.times_s, window_mean(motion.times_s, wrench_features(motion), _HALF_S))
    load = window_mean(wrench.even.times_s, without_lost(wrench.even.times_s, wrench.even.x, wrench.even.lost), _HALF_S)
    there = clock.from_reference(grid)
    aligned = _at(there, wrench.even.times_s, load)
    use = np.isfinite(features).all(axis=1) & np.isfinite(aligned).all(axis=1)
    if use.sum() < 10 * features.shape[1]:
        return []
    x = np.column_stack([features, np.ones(len(features))])
    explained = x @ least_squares(x[use], aligned[use])
    spread = aligned[use].std(axis=0)
    pairs: list[Pair] = []
    for word, unit, first in (("Force", "N", 0), ("Moment", "N m", 3)):
        k = first + int(spread[first : first + 3].argmax())
        title = f"{word} {wrench.names[k]} and what the motion explains of it"
        signals = (grid, explained[:, k], wrench.even.times_s, load[:, k])
        pairs.append(Pair(title, unit, "explained by the motion", "load cell", *signals))
    return pairs


def _reference_motion(inspection: Inspection) -> Motion | None:
    """The motion that the load cell's clock was compared with, on the reference clock."""
    imu = inspection.devices.get("imu")
    if imu is not None and imu.clock is not None:
        x = imu.even.x
        found = imu_motion(imu.even.times_s, x[:, :3], x[:, 3:6], np.eye(4), PARALLEL)
        times = imu.clock.to_reference(found.times_s)
        return Motion(times, found.specific_acceleration, found.omega, found.omega_dot)
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


def error_bars(body: Body) -> Figure:
    """Mean error of each marker, as stored and after repair."""
    names = [marker_name(name) for name in body.cloud.names]
    sets = {"as stored": body.raw} | ({"faults repaired": body.fit} if is_repaired(body) else {})
    data = tuple(
        {
            "type": "bar",
            "x": names,
            "y": packed(1e3 * np.array([row[1] for row in fit.rows()])),
            "name": name,
            "marker": {"color": COLOURS[1 - i if len(sets) == 2 else 0]},
        }
        for i, (name, fit) in enumerate(sets.items())
    )
    axis: Json = {"title": {"text": "marker"}, "type": "category", "tickangle": -40 if len(names) > 12 else 0}
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
    data = [
        line(axis.x, error[:, i], marker_name(body.cloud.names[i]), colour, most=2000, **axis.trace)
        for colour, i in enumerate(int(k) for k in chosen)
    ]
    titles, usual = ["error as stored, mm"], float(nan_median(error.ravel(), axis=0))
    if is_repaired(body):
        titles.append("error repaired, mm")
        left = 1e3 * body.fit.alignment.error
        most = np.where(np.isnan(left).all(axis=1), np.nan, np.where(np.isnan(left), -1.0, left).max(axis=1))
        data.append(line(axis.x, most, "largest, repaired", GREY, most=2000, row=2, **axis.trace))
        data.append(line(axis.x, nan_mean(left, axis=1), "mean, repaired", DARK, most=2000, row=2, **axis.trace))
    kinds = dict.fromkeys(f.kind for f in body.checked.faults)
    data += [key(kind, _SHADES[kind]) for kind in kinds if kind in _SHADES]
    shapes, labels = _faults(body, axis)
    # beside exchanged markers, 300 mm off, nothing else would show
    spread = usual > 0 and float(largest.max()) > 20 * usual
    scale = {1: log_scale(usual / 5, float(largest.max()))} if spread else {}
    made = layout(titles, axis.layout, y=scale, shapes=shapes, annotations=labels)
    left_out = len(largest) - len(chosen)
    rest = f" The {len(chosen)} markers with the largest errors are drawn, {left_out} are not." if left_out else ""
    return Figure(
        "Distance of the markers from their places",
        "Steps, plateaus and spikes are faults: those that were found are shaded or, where a marker moved, marked by "
        f"a line.{' Once they are repaired, even noise should be left.' if is_repaired(body) else ''}{rest}",
        tuple(data),
        made,
    )


def _faults(body: Body, axis: TimeAxis) -> tuple[list[Json], list[Json]]:
    times = body.raw.poses.times_s
    shapes: list[Json] = []
    labels: list[Json] = []
    for f in body.checked.faults[:_MOST_FAULTS]:
        first, last = (int(i) for i in np.clip(np.searchsorted(times, f.interval_s), 0, len(times) - 1))
        if f.kind == "moved":
            text = f"{marker_name(f.names[0])} moved by {1e3 * f.size_m:.1f} mm"
            shape, label = upright(float(axis.x[first]), text, _MOVED, level=1 - 0.06 * (len(labels) % 6))
            shapes.append(shape)
            labels.append(label)
        elif f.kind in _SHADES:
            shapes.append(band(float(axis.x[first]), float(axis.x[last]), _SHADES[f.kind]))
    return shapes, labels


def visibility(body: Body) -> Figure:
    """Which marker was seen, filled, exchanged or lost when."""
    return _timeline(
        body.markers.times_s,
        body.cloud.names,
        marker_states(body),
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
    colours, n = list(_STATES.values()), len(_STATES)
    heat: Json = {
        "type": "heatmap",
        "x": packed(x, "f8"),
        "y": [marker_name(name) for name in markers],
        "z": packed(worst.T, "f4"),
        "zmin": -0.5,
        "zmax": n - 0.5,
        "colorscale": [[k / n, c] for i, c in enumerate(colours) for k in (i, i + 1)],
        "showscale": False,
        "ygap": 2,
        "hoverinfo": "y" if axis.trace else "x+y",
    }
    present = {int(v) for v in np.unique(states).tolist()}
    data = [heat, *(key(name or gravest, _STATES[name]) for i, name in enumerate(_STATES) if i in present)]
    special: Json = {"autorange": "reversed", "type": "category", "showgrid": False, "dtick": 1}
    made = layout([""], axis.layout, height=130 + max(22 * len(markers), 90), y={1: special})
    return Figure("What was seen of each marker", look_for, tuple(data), made)


def marker_states(body: Body) -> NDArray[np.int8]:
    """(frames, markers of the cloud) index into the states that `visibility` shows, the gravest that applies."""
    stored = body.markers
    places = [stored.names.index(name) for name in body.cloud.names]
    raw, times = stored.seen[:, places], stored.times_s
    states = np.zeros(raw.shape, dtype=np.int8)
    for kind, state in (("moved", 1), ("swapped", 2)):
        for f in body.checked.faults:
            if f.kind == kind:
                when = (times >= f.interval_s[0]) & (times <= f.interval_s[1])
                for name in f.names:
                    states[when, body.cloud.names.index(name)] = state
    source, kept = body.filled.source, body.checked.markers.seen
    states[source == Source.BODY] = 3
    states[source == Source.SPLINE] = 4
    exchanged = states == 2
    states[raw & ~kept & (source != Source.HIDDEN) & ~exchanged] = 5
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


def cloud_in_space(body: Body, frames: dict[str, FloatArray]) -> Figure:
    """The reference cloud with names, and frames (T_cloud_frame) as three marker_name axes."""
    p = 1e3 * body.cloud.points
    length = 0.25 * float(np.linalg.norm(p - p.mean(axis=0), axis=1).max())
    faulty = {name for f in body.checked.faults for name in f.names if f.kind != "confused"}
    data: list[Json] = [
        {
            "type": "scatter3d",
            "mode": "markers+text",
            "name": "markers",
            "x": packed(p[:, 0]),
            "y": packed(p[:, 1]),
            "z": packed(p[:, 2]),
            "text": [marker_name(name) for name in body.cloud.names],
            "textposition": "top center",
            "textfont": {"size": 11},
            "marker": {"size": 5, "color": [COLOURS[1 if n in faulty else 0] for n in body.cloud.names]},
            "showlegend": False,
        }
    ]
    for name, T in frames.items():
        for i, colour in enumerate(("#c0392b", "#2e8b57", "#2f5fd0")):
            ends = 1e3 * np.stack([T[:3, 3], T[:3, 3]]) + np.array([[0.0], [length]]) * T[:3, i]
            place: Json = {axis: packed(ends[:, k]) for k, axis in enumerate("xyz")}
            label = ["", f"{name} {'xyz'[i]}"]
            style: Json = {"line": {"color": colour, "width": 5}, "textfont": {"color": colour, "size": 11}}
            data.append(
                {"type": "scatter3d", "mode": "lines+text", "text": label, **place, **style, "showlegend": False}
            )
    corners = np.vstack([p, *(1e3 * (T[:3, 3] + length / 1e3 * T[:3, :3].T) for T in frames.values())])
    made: Json = {
        "height": 560,
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "scene": scene_axes(corners),
        "font": {"size": 12, "color": "#333"},
    }
    turned = "; frames are drawn as red x, green y and blue z" if frames else ""
    return Figure(
        "The markers on the body",
        f"Turn it with the mouse: names should sit as they do on the object{turned}. Orange markers have a fault.",
        tuple(data),
        made,
    )


_SECONDS = "time, s"


def spectra(chosen: Bandwidth) -> Figure:
    """What was measured and which part of it is noise, with the bandwidth that follows."""
    f = chosen.frequencies_hz
    data: list[Json] = []
    titles: list[str] = []
    scales: dict[int, Json] = {}
    styles: dict[str, Json] = {
        "measured": {"color": PALE, "width": 4},
        "noise": {"color": COLOURS[1], "width": 1.5},
        "signal": {"color": DARK, "width": 1.2},
    }
    for row, (name, s) in enumerate(chosen.spectra.items(), start=1):
        titles.append(f"{name}, ({s.unit}/s²)²/Hz")
        signal = np.where(s.signal > 1e-2 * s.noise, s.signal, np.nan)
        for word, y in (("measured", s.measured), ("noise", s.noise), ("signal", signal)):
            more: Json = {"legendgroup": word, "showlegend": row == 1, "line": styles[word]}
            data.append(curve(f, np.where(y > 0, y, np.nan), word, row=row, **more))
        seen = np.concatenate([s.measured, s.noise])
        scales[row] = log_scale(float(seen[seen > 0].min()), float(seen.max()))
    shape, label = upright(chosen.bandwidth_hz, f"bandwidth {chosen.bandwidth_hz:.2f} Hz")
    label["x"] = float(np.log10(chosen.bandwidth_hz))  # labels on logarithmic axes count in decades
    ticks = [v for v in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if f[0] <= v <= f[-1]]
    axis: Json = {"title": {"text": "frequency, Hz"}, "type": "log", "tickvals": ticks}
    made = layout(titles, axis, y=scales, shapes=[shape], annotations=[label])
    return Figure(
        "Spectrum of the acceleration",
        "The bandwidth should stand near the place where the measured curves meet the noise; beyond that place the "
        f"recording tells nothing about accelerations. Noise from: {chosen.noise_from}.",
        tuple(data),
        made,
    )


def window_errors(chosen: Bandwidth, derived: PoseMotion) -> Figure:
    """What each window would take from the motion and leave of the noise."""
    percent = 100 * chosen.error
    used = upright(1e3 * derived.window_s, f"used: {1e3 * derived.window_s:.0f} ms")
    best = upright(1e3 * chosen.best_window_s, f"best alone: {1e3 * chosen.best_window_s:.0f} ms", "#999", level=0.88)
    axis: Json = {"title": {"text": "window, ms"}}
    scale = {1: log_scale(float(percent.min()), float(percent.max()))}
    shapes, labels = zip(used, best, strict=True)
    return Figure(
        "Choice of the window",
        "The window that is used stays well to the left of the minimum, because the low-pass of the balance takes the "
        "rest of the noise; without a low-pass the minimum is best.",
        (curve(1e3 * chosen.windows_s, percent, "error of the acceleration"),),
        layout(
            ["error, % of the motion"], axis, y=scale, showlegend=False, shapes=list(shapes), annotations=list(labels)
        ),
    )


def motion_over_time(motion: Motion, frame: str) -> Figure | None:
    """Angular velocity, angular acceleration and specific acceleration in the frame's axes."""
    rows = {
        "ω, rad/s": motion.omega,
        "dω/dt, rad/s²": motion.omega_dot,
        "a - g, m/s²": motion.specific_acceleration,
    }
    if not np.isfinite(motion.omega).any():
        return None
    return Figure(
        f"Motion of the {frame}",
        f"In the axes of the {frame}: no spikes, no steps, and at rest a - g of about 9.8 m/s² upwards.",
        *_stacked(motion.times_s, rows, "xyz"),
    )


def hinge_angle(motion: HingeMotion) -> Figure | None:
    """The angle, and what of the motion is off the hinge."""
    if not np.isfinite(motion.angle_rad).any():
        return None
    rows = {
        "angle, deg": np.degrees(motion.angle_rad)[:, None],
        "tilt off the axis, deg": np.degrees(motion.tilt_rad),
        "slide off the axis, mm": 1e3 * motion.slide_m,
    }
    return Figure(
        "Angle, and motion off the hinge",
        "The lower rows should stay near zero at every angle; what follows the angle there is a wrong axis or a hinge "
        "that gives way.",
        *_stacked(motion.times_s, rows, "xyz"),
    )


def wheel(rolls: Rolling) -> Figure | None:
    """Height of the axle and how the object stands on its wheel."""
    if not np.isfinite(rolls.height_m).any():
        return None
    angles = np.degrees(np.column_stack([rolls.pitch_rad, rolls.camber_rad]))
    rows = {
        "axle height, mm": 1e3 * rolls.height_m[:, None],
        "pitch, camber, deg": angles,
        "heading, deg": np.degrees(rolls.yaw_rad)[:, None],
    }
    data, made = _stacked(rolls.contact.times_s, rows, ["pitch", "camber"])
    return Figure(
        "Wheel on the floor",
        "The height should be the wheel's radius and not change: waves mean a tilted capture frame or markers beside "
        "the axle, steps mean that the wheel was lifted.",
        data,
        made,
    )


def _stacked(times_s: FloatArray, rows: dict[str, FloatArray], names: str | list[str]) -> tuple[tuple[Json, ...], Json]:
    """Rows of (samples, k) signals over time, each with its colour in every row; a lone one is named by its axis."""
    axis = time_axis(times_s, _SECONDS)
    data: list[Json] = []
    listed: set[str] = set()
    for row, (title, y) in enumerate(rows.items(), start=1):
        for i in range(y.shape[1]):
            name, colour = (title, DARK) if y.shape[1] == 1 else (names[i], i)
            more: Json = {"legendgroup": name, "showlegend": y.shape[1] > 1 and name not in listed, **axis.trace}
            listed.add(name)
            data.append(line(axis.x, y[:, i], name, colour, most=2500, row=row, **more))
    return tuple(data), layout(list(rows), axis.layout)
