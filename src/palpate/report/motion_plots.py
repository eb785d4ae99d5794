"""Figures about motion: how it was differentiated, angular velocity and acceleration, hinge and wheel."""

from __future__ import annotations

import numpy as np

from palpate.motion.bandwidth import Bandwidth
from palpate.motion.derivatives import PoseMotion
from palpate.motion.hinge import HingeMotion
from palpate.motion.rolling import Rolling
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import Motion
from palpate.report.page import Figure, Json
from palpate.report.plots import COLOURS, DARK, PALE, curve, layout, line, log_scale, time_axis, upright

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
