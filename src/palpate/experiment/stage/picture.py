"""What the report shows of an identification: the stage's values as the plain data of a `View`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from palpate.experiment.file.reading import Experiment
from palpate.experiment.stage.capture import Body, CapturedMotion
from palpate.experiment.stage.fit import Fit
from palpate.experiment.stage.inputs import coordinates_of, projected, zeros_of
from palpate.experiment.stage.prepared import Prepared
from palpate.experiment.stage.result import SENSOR_NAMES, excitation
from palpate.experiment.view import (
    Arrows,
    ChannelSummary,
    ClockEvidence,
    CoordinateSeries,
    InstrumentSummary,
    MarkerSummary,
    ReplayCurve,
    ReplayWindow,
    Scene,
    Series,
    ShapeProfile,
    View,
)
from palpate.motion.clock import Even, noise_floor
from palpate.motion.offset import Offset
from palpate.physics.arrays import BoolArray, FloatArray, rate_hz, runs, segment_mask
from palpate.physics.inertia import PHI_NAMES
from palpate.physics.motion import Poses
from palpate.runtime.replay import Replay

WRENCH = tuple((n, "N") for n in ("f_x", "f_y", "f_z")) + tuple((n, "N m") for n in ("n_x", "n_y", "n_z"))
IMU = tuple((n, "m/s2") for n in ("a_x", "a_y", "a_z")) + tuple((n, "rad/s") for n in ("omega_x", "omega_y", "omega_z"))
NAMES = {"wrench": "load cell", "wrench_2": "second load cell", "imu": "IMU"}
ARROWS, PATH = 48, 600
"""Wrenches and points of a path that are drawn."""


def picture(experiment: Experiment[Any], prepared: Prepared, fit: Fit, replay: Replay | None) -> View:
    """Everything that the figures of an identification show."""
    inputs, seen = fit.inputs, fit.prediction
    recordings, captured = experiment.config.recordings, prepared.capture
    estimate = np.where(seen.used[:, None], seen.rows[:, :, :-1] @ fit.p, np.nan)
    offsets = {"imu" if inputs.imu is not None else "wrench": prepared.offset}
    marker_error = None
    if captured is not None:
        offsets |= {name: d.offset for name, d in captured.devices.items()}
        marker_error = Series("mean error", "m", _marker_error(captured.body))
    instruments = [
        _instrument(NAMES[key], getattr(recordings, key).file, i.even, IMU if key == "imu" else WRENCH)
        for key, i in prepared.instruments.items()
    ]
    if captured is not None:
        instruments.insert(0, _cameras(captured.body, recordings.mocap.file))
    return View(
        model=fit.solution.model,
        times_s=seen.times_s,
        reference=seen.rows[:, :, -1] if inputs.imu is not None else projected(fit.balance),
        estimate=estimate,
        used=seen.used,
        resting=fit.moved.resting[seen.at],
        segments=prepared.segments,
        coordinates=_coordinates(fit),
        series=_series(fit),
        profiles=_profiles(fit),
        replay=_windows(replay, fit),
        instruments=tuple(instruments),
        clocks=tuple(_evidence(name, o) for name, o in offsets.items() if o is not None),
        markers=() if captured is None else _markers(captured.body),
        marker_error=marker_error,
        scene=_scene(fit) if captured is None else _capture_scene(captured, prepared, fit),
        excitation=excitation(fit.balance.kinematics, inputs.inside(fit.plan.segments)),
    )


def _coordinates(fit: Fit) -> tuple[CoordinateSeries, ...]:
    """Of the mechanism's state; where a wheel went on the floor counts from its mean, and its way ahead has no
    position.
    """
    inputs, mechanism = fit.inputs, fit.inputs.mechanism
    if inputs.imu is not None:
        return ()
    c, at = coordinates_of(inputs), fit.prediction.at
    if mechanism.main is not None:
        columns = (x[at, 0] for x in (c.position, c.speed, c.acceleration))
        return (CoordinateSeries(mechanism.main, mechanism.position_units[0], *columns),)
    unknown, series = np.full(len(at), np.nan), list[CoordinateSeries]()
    for i, (name, unit) in enumerate(zip(mechanism.state, mechanism.position_units, strict=False)):
        position, speed, acceleration = (x[at, i] for x in (c.position, c.speed, c.acceleration))
        if unit == "m":
            series.append(CoordinateSeries(name, unit, position - np.nanmean(position), unknown))
        else:
            series.append(CoordinateSeries(name, unit, position, speed, acceleration))
    ahead = mechanism.speeds_of(c.position, c.speed)[at, 0]
    forward = mechanism.accelerations_of(c.position, c.speed, c.acceleration)[at, 0]
    return (*series, CoordinateSeries("forward", "m", unknown, ahead, forward))


def _series(fit: Fit) -> tuple[Series, ...]:
    """A free body's acceleration and angular rate."""
    if fit.inputs.imu is None:
        return ()
    k, at = fit.balance.kinematics, fit.prediction.at
    groups = (("a", "m/s2", k.specific_acceleration), ("ω", "rad/s", k.omega))
    return tuple(
        Series(f"{letter}_{axis}", unit, np.asarray(s)[at])
        for letter, unit, triple in groups
        for axis, s in zip("xyz", triple, strict=True)
    )


def _profiles(fit: Fit) -> tuple[ShapeProfile, ...]:
    profiles = () if fit.shaped is None else fit.shaped.profiles
    return tuple(ShapeProfile(p.name, p.unit, p.values, p.costs, p.value, p.interval) for p in profiles)


def _windows(replay: Replay | None, fit: Fit) -> tuple[ReplayWindow, ...]:
    units = dict(zip(fit.inputs.mechanism.state, fit.inputs.mechanism.position_units, strict=False))
    return tuple(
        ReplayWindow(
            w.times_s, tuple(ReplayCurve(t.name, units[t.name], t.measured, t.simulated, t.rms) for t in w.tracks)
        )
        for w in (() if replay is None else replay.scored)
    )


def _instrument(name: str, file: str, even: Even, channels: Sequence[tuple[str, str]]) -> InstrumentSummary:
    """An instrument on its even clock; channels: names and units of the columns."""
    t, x, noise = even.times_s, even.seen_x, noise_floor(even.x)
    summaries = [
        ChannelSummary(n, unit, float(np.nanmin(x[:, i])), float(np.nanmax(x[:, i])), float(noise[i]))
        for i, (n, unit) in enumerate(channels)
        if np.isfinite(x[:, i]).any()
    ]
    longest = max((b - a for a, b in even.lost), default=0.0)
    span = (rate_hz(t), len(t), float(t[0]), float(t[-1]))
    return InstrumentSummary(name, file, *span, len(even.lost), longest, even.jitter_s, tuple(summaries))


def _cameras(body: Body, file: str) -> InstrumentSummary:
    """Motion capture; a gap is a time in which the body's pose is not known."""
    t = body.poses.times_s
    gaps = [(b - a) / rate_hz(t) for a, b in runs(~body.poses.seen)]
    span = (rate_hz(t), len(t), float(t[0]), float(t[-1]))
    return InstrumentSummary("motion capture", file, *span, len(gaps), max(gaps, default=0.0), float("nan"))


def _evidence(name: str, o: Offset) -> ClockEvidence:
    return ClockEvidence(name, o.lags_s - o.value_s, o.misfit, o.std_s, o.explained, o.runner_up)


def _markers(body: Body) -> tuple[MarkerSummary, ...]:
    """Each marker as stored, faults included, with their kinds."""
    faults = {n: ", ".join(dict.fromkeys(f.kind for f in body.checked.faults if n in f.names)) for n in body.raw.names}
    return tuple(
        MarkerSummary(name.rsplit(":", 1)[-1], mean, largest, at, hidden, faults[name])
        for name, mean, largest, at, hidden in body.raw.rows()
    )


def _marker_error(body: Body) -> FloatArray:
    """(samples,): mean distance of the markers from their places, m; NaN where none was used."""
    error = np.where(body.raw.alignment.used, body.raw.alignment.error, np.nan)
    count = np.isfinite(error).sum(axis=1)
    return np.nansum(error, axis=1) / np.where(count > 0, count, np.nan)


def _scene(fit: Fit) -> Scene | None:
    """The sensor with its IMU, the centre of mass, and the forces that moved the object, in the sensor's axes."""
    mounted = fit.inputs.imu
    if mounted is None:
        return None
    reference = fit.prediction.rows[:, :, -1]
    known = reference[np.isfinite(reference).all(axis=1)]
    some = known[_spread(len(known))]
    values = fit.solution.model.values
    m, *first = (values[n] for n in PHI_NAMES[:4])
    centre = np.array(first) / m if m > 0 else np.full(3, np.nan)
    at = np.zeros((len(some), 3))
    arrows = (
        Arrows("force at the sensor", "N", at, some[:, :3]),
        Arrows("moment at the sensor", "N m", at, some[:, 3:]),
    )
    frames = {"sensor": np.eye(4), "IMU": mounted.T_body_imu}
    return Scene("sensor", frames, np.zeros((0, 3)), arrows=arrows, points={"centre of mass": centre})


def _capture_scene(captured: CapturedMotion, prepared: Prepared, fit: Fit) -> Scene | None:
    """Markers and frames at one instant, paths of the sensors, and the wrenches along them in the test segments."""
    body, seen = captured.body, captured.body.poses.seen
    if not seen.any():
        return None
    during = seen & segment_mask(body.poses.times_s, prepared.segments["test"])
    inside = during if during.any() else seen
    at = int(np.flatnonzero(inside)[inside.sum() // 2])
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = body.poses.rotation[at], body.poses.position[at]
    arrows, paths = list[Arrows](), dict[str, FloatArray]()
    wrenches: Mapping[str, FloatArray] = dict(
        zip(SENSOR_NAMES, fit.inputs.measured - zeros_of(fit.inputs)[:, None], strict=False)
    )
    for name, w in wrenches.items():
        poses, word = body.poses_of(name), name.replace("_", " ")
        path = np.where(seen[:, None], poses.position, np.nan)
        paths[f"path of the {word}"] = path[:: max(1, -(-len(path) // PATH))]
        arrows += _wrench_arrows(word, poses, w, inside)
    return Scene(
        "capture",
        {name: T @ frame for name, frame in body.frames.items()},
        body.cloud.points @ T[:3, :3].T + T[:3, 3],
        tuple(n.rsplit(":", 1)[-1] for n in body.cloud.names),
        paths,
        tuple(arrows),
    )


def _wrench_arrows(name: str, poses: Poses, wrench: FloatArray, inside: BoolArray) -> list[Arrows]:
    known = np.flatnonzero(inside & np.isfinite(wrench).all(axis=1))
    some = known[_spread(len(known))]
    if not len(some):
        return []
    R = poses.rotation[some]
    return [
        Arrows(f"{kind} at the {name}", unit, poses.position[some], np.einsum("nij,nj->ni", R, wrench[some][:, part]))
        for kind, unit, part in (("force", "N", slice(0, 3)), ("moment", "N m", slice(3, 6)))
    ]


def _spread(count: int) -> Any:
    """Indices of at most `ARROWS` of so many, evenly spread."""
    return np.linspace(0, count - 1, min(ARROWS, count)).astype(int) if count else np.zeros(0, dtype=int)
