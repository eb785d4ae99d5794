"""Parts of a view that several stages share: instruments, clocks, markers, wrenches in space, excitation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.experiment.view import (
    Arrows,
    ChannelSummary,
    ClockEvidence,
    Instrument,
    MarkerSummary,
    Scene,
    Series,
    View,
)
from palpate.motion import noise_floor
from palpate.motion.clocks.clock import Even
from palpate.motion.clocks.offset import Offset
from palpate.physics.arrays import BoolArray, FloatArray
from palpate.physics.kinematics import Kinematics
from palpate.physics.poses import Poses

if TYPE_CHECKING:
    from palpate.experiment.capture import Body
    from palpate.experiment.motion import CapturedMotion

WRENCH = tuple((n, "N") for n in ("f_x", "f_y", "f_z")) + tuple((n, "N m") for n in ("n_x", "n_y", "n_z"))
IMU = tuple((n, "m/s2") for n in ("a_x", "a_y", "a_z")) + tuple((n, "rad/s") for n in ("omega_x", "omega_y", "omega_z"))
_ARROWS, _PATH = 48, 600
"""Wrenches and points of a path that are drawn."""
_NAMES = {"wrench": "load cell", "wrench_2": "second load cell", "imu": "IMU"}


def with_capture(
    view: View,
    recordings: Any,
    captured: CapturedMotion,
    offset: Offset | None,
    wrenches: Mapping[str, FloatArray],
    extra: Mapping[str, Even] | None = None,
) -> View:
    """A body's view with what cameras and instruments saw.

    recordings: the part of the experiment file (its files are named by role). offset: how the load cell's clock was
    found. wrenches: (samples, 6) in the axes of the sensor of that name (`sensor`, `sensor_2`), on the view's times,
    zero taken off. extra: instruments that the capture does not know (`wrench_2`).
    """
    devices = {name: device.even for name, device in captured.devices.items()} | dict(extra or {})
    offsets = {name: device.offset for name, device in captured.devices.items()} | {"wrench": offset}
    error = np.where(captured.body.raw.alignment.used, captured.body.raw.alignment.error, np.nan)
    seen = np.isfinite(error)
    mean = np.nansum(error, axis=1) / np.where(seen.any(axis=1), seen.sum(axis=1), np.nan)
    same = len(mean) == len(view.times_s)
    return replace(
        view,
        instruments=(
            cameras(captured.body, recordings.mocap.file),
            *(
                instrument(_NAMES.get(n, n), getattr(recordings, n).file, even, IMU if n == "imu" else WRENCH)
                for n, even in devices.items()
                if getattr(recordings, n, None) is not None
            ),
        ),
        clocks=tuple(clock_seen(name, o) for name, o in offsets.items() if o is not None),
        markers=markers_seen(captured.body),
        marker_error=Series("mean error", "m", mean) if same else None,
        scene=capture_scene(captured.body, wrenches, view.within("test") if same else np.zeros(0, dtype=bool)),
    )


def instrument(name: str, file: str, even: Even, channels: Sequence[tuple[str, str]]) -> Instrument:
    """An instrument on its even clock; channels: names and units of the columns."""
    t, x = even.times_s, even.seen_x
    noise = noise_floor(even.x)
    seen = [
        ChannelSummary(n, unit, float(np.nanmin(x[:, i])), float(np.nanmax(x[:, i])), float(noise[i]))
        for i, (n, unit) in enumerate(channels)
        if np.isfinite(x[:, i]).any()
    ]
    longest = max((b - a for a, b in even.lost), default=0.0)
    rate = float((len(t) - 1) / (t[-1] - t[0]))
    return Instrument(
        name, file, rate, len(t), float(t[0]), float(t[-1]), len(even.lost), longest, even.jitter_s, tuple(seen)
    )


def cameras(body: Body, file: str) -> Instrument:
    """Motion capture; a gap is a time in which the body's pose is not known."""
    t, known = body.poses.times_s, body.poses.seen
    edges = np.flatnonzero(np.diff(np.concatenate([[True], known, [True]]).astype(np.int8)))
    step = float((t[-1] - t[0]) / max(len(t) - 1, 1))
    lengths = (edges[1::2] - edges[::2]) * step
    longest = float(lengths.max()) if len(lengths) else 0.0
    return Instrument(
        "motion capture", file, 1 / step, len(t), float(t[0]), float(t[-1]), len(lengths), longest, float("nan")
    )


def clock_seen(name: str, offset: Offset) -> ClockEvidence:
    """What speaks for an offset."""
    return ClockEvidence(
        name,
        offset.lags_s - offset.value_s,
        offset.misfit,
        offset.std_s,
        offset.explained,
        offset.runner_up,
    )


def markers_seen(body: Body) -> tuple[MarkerSummary, ...]:
    """Each marker as stored, faults included, with their kinds."""
    faults = {n: ", ".join(dict.fromkeys(f.kind for f in body.checked.faults if n in f.names)) for n in body.raw.names}
    return tuple(
        MarkerSummary(name.rsplit(":", 1)[-1], mean, largest, at, hidden, faults[name])
        for name, mean, largest, at, hidden in body.raw.rows()
    )


def capture_scene(body: Body, wrenches: Mapping[str, FloatArray], during: BoolArray) -> Scene | None:
    """Markers and frames at one instant, paths of the sensors, and the wrenches along them, in the capture frame.

    during (samples,): when the wrenches are drawn; nowhere: over the whole recording.
    """
    seen = body.poses.seen
    if not seen.any():
        return None
    inside = seen & during if len(during) == len(seen) and (seen & during).any() else seen
    at = int(np.flatnonzero(inside)[inside.sum() // 2])
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = body.poses.rotation[at], body.poses.position[at]
    arrows: list[Arrows] = []
    paths: dict[str, FloatArray] = {}
    for name, w in wrenches.items():
        poses = body.poses_of(name)
        word = name.replace("_", " ")
        paths[f"path of the {word}"] = _few(np.where(seen[:, None], poses.position, np.nan), _PATH)
        arrows += _wrench_arrows(word, poses, w, inside)
    return Scene(
        "capture",
        {name: T @ own for name, own in body.frames.items()},
        body.cloud.points @ T[:3, :3].T + T[:3, 3],
        tuple(n.rsplit(":", 1)[-1] for n in body.cloud.names),
        paths,
        tuple(arrows),
    )


def _wrench_arrows(name: str, poses: Poses, wrench: FloatArray, inside: BoolArray) -> list[Arrows]:
    known = np.flatnonzero(inside & np.isfinite(wrench).all(axis=1))
    if not len(known):
        return []
    some = known[np.linspace(0, len(known) - 1, min(_ARROWS, len(known))).astype(int)]
    R = poses.rotation[some]
    return [
        Arrows(f"{kind} at the {name}", unit, poses.position[some], np.einsum("nij,nj->ni", R, wrench[some][:, part]))
        for kind, unit, part in (("force", "N", slice(0, 3)), ("moment", "N m", slice(3, 6)))
    ]


def excitation_of(k: Kinematics, inside: BoolArray) -> dict[str, dict[str, float]]:
    """RMS along each axis of specific acceleration (m/s2), angular rate (rad/s) and acceleration (rad/s2)."""
    kinds = {"acceleration": k.specific_acceleration, "angular_rate": k.omega, "angular_acceleration": k.omega_dot}
    found: dict[str, dict[str, float]] = {}
    for kind, signals in kinds.items():
        parts = [np.broadcast_to(np.asarray(s, dtype=float), inside.shape)[inside] for s in signals]
        found[kind] = {
            axis: float(np.sqrt(np.nanmean(x**2))) if np.isfinite(x).any() else 0.0
            for axis, x in zip("xyz", parts, strict=True)
        }
    return found


def _few(x: FloatArray, most: int) -> FloatArray:
    return x[:: max(1, -(-len(x) // most))]
