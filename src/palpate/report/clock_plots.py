"""Figures about clocks: the evidence for each offset, and the signals before and after, to check by eye."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.handle import wrench_features
from palpate.experiment.inspection import Inspection
from palpate.experiment.motion import DeviceOnClock
from palpate.motion import PARALLEL, imu_motion
from palpate.motion.clock_map import ClockMap
from palpate.motion.clocks import Offset
from palpate.motion.derivatives import pose_motion
from palpate.motion.evenly import without_lost
from palpate.motion.marker_clock import angular_velocity, window_mean
from palpate.physics.arrays import FloatArray, least_squares
from palpate.physics.motion import Motion
from palpate.report.inspection_tables import DEVICES
from palpate.report.page import Block, Figure, Json
from palpate.report.plots import (
    COLOURS,
    DARK,
    PALE,
    band,
    curve,
    layout,
    line,
    log_scale,
    packed,
    since,
    upright,
    zero_of,
)

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
