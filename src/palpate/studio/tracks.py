"""What the Data view draws: every channel on one time line, and the scene that plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from palpate.experiment.file.reading import Experiment, load_options, recordings_of
from palpate.experiment.file.sensors import numbered
from palpate.experiment.stage.body import MarkedBody
from palpate.experiment.stage.inputs import projected, zeros_of
from palpate.experiment.stage.prepare import Prepared
from palpate.experiment.stage.quick import Quick
from palpate.findings import Finding
from palpate.motion.clock import ClockMap
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import quaternion_from_rotation
from palpate.physics.units import shown_in
from palpate.recording import Channel, Recording, load
from palpate.recording.gates import check_channels
from palpate.studio.lines import Line, Track, numbers

FRAMES = 900
"""Of a scene that plays, whatever its length."""
WORDS = {
    "N": "force",
    "N m": "moment",
    "m/s2": "acceleration",
    "rad/s": "angular rate",
    "rad": "angle",
    "m": "position",
}


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """The recordings of an experiment as their files hold them."""

    by_key: Mapping[str, Recording]
    findings: tuple[Finding, ...]
    """Of their channels."""


def read_recordings(experiment: Experiment[Any]) -> Recorded:
    """Every recording that the file names, and what is wrong with its channels."""
    by_key, findings, files = dict[str, Recording](), list[Finding](), dict[Path, Recording]()
    for key, part in recordings_of(experiment).items():
        path = experiment.path(part.file)
        with experiment.at(f"recordings.{key}"):
            options = {"format": part.format} if part.format else {}
            recording = load(path, **options, **load_options(part))
        by_key[key] = files[path] = recording
        names = [name for name, channel in recording.channels.items() if channel.samples.ndim == 1]
        findings += check_channels(recording, names) if names and key != "static" else ()
    return Recorded(by_key, tuple(findings))


def tracks_of(recorded: Recorded, prepared: Prepared | None, quick: Quick | None) -> list[Track]:
    """The mechanism's coordinates and rows first, where they are known, then the channels as recorded."""
    derived = [] if prepared is None else _derived(prepared, quick)
    clocks = {} if prepared is None else {key: i.clock for key, i in prepared.instruments.items()}
    if prepared is not None and prepared.inputs.clock is not None:
        clocks.setdefault("imu" if prepared.inputs.imu is not None else "wrench", prepared.inputs.clock)
    raw = list[Track]()
    for key, recording in recorded.by_key.items():
        if key != "static":
            raw += _raw(key, recording, clocks.get(key) or clocks.get(key.partition(".")[0]), alone=not derived)
    return [*derived, *raw]


def _derived(prepared: Prepared, quick: Quick | None) -> list[Track]:
    inputs, tracks = prepared.inputs, list[Track]()
    t, mechanism = inputs.times_s, inputs.mechanism
    by_unit = dict[str, list[Line]]()
    if inputs.imu is None:
        for name, unit, x in zip(mechanism.state, mechanism.position_units, inputs.q.T, strict=False):
            shown = shown_in(unit)
            by_unit.setdefault(shown.unit, []).append(Line(name, shown.unit, t, shown.factor * x))
    for unit, lines in by_unit.items():
        what = "motion of the " + (mechanism.main or "object")
        tracks.append(Track(f"motion:{unit}", what, unit, tuple(lines), "from the recordings, on the reference clock"))
    if quick is not None:
        balance = quick.fit.balance
        rows = projected(balance)
        of_unit = dict[str, list[Line]]()
        for row, x in zip(mechanism.rows, rows.T, strict=True):
            of_unit.setdefault(row.unit, []).append(Line(row.name, row.unit, t, x))
        for unit, lines in of_unit.items():
            what = f"{WORDS.get(unit, 'effort')} that moves it"
            tracks.append(
                Track(f"effort:{unit}", what, unit, tuple(lines), "load cells, zero taken off, along the motion")
            )
    return tracks


def _raw(key: str, recording: Recording, clock: ClockMap | None, *, alone: bool) -> list[Track]:
    groups = dict[tuple[int, str, bool], list[Channel]]()
    for channel in recording.channels.values():
        groups.setdefault((id(channel.clock), channel.unit, channel.samples.ndim == 2), []).append(channel)
    tracks = list[Track]()
    for i, ((_, unit, markers), channels) in enumerate(groups.items()):
        times = channels[0].clock.times_s
        on_reference = times if clock is None else clock.to_reference(times)
        shown = shown_in(unit)
        lines = [Line(name, shown.unit, on_reference, shown.factor * x) for c in channels for name, x in _components(c)]
        rate = channels[0].clock.rate_hz
        about = f"{Path(str(recording.source)).name}, {rate:.4g} Hz" + _clock_words(clock)
        what = "markers" if markers else WORDS.get(unit, "channels")
        tracks.append(
            Track(f"{key}:{i}", f"{key}: {what}", shown.unit, tuple(lines), about, shown=alone and not markers)
        )
    return tracks


def _components(channel: Channel) -> list[tuple[str, FloatArray]]:
    if channel.samples.ndim == 1:
        return [(channel.name, channel.samples)]
    return [(f"{channel.name} {axis}", x) for axis, x in zip("xyz", channel.samples.T, strict=True)]


def _clock_words(clock: ClockMap | None) -> str:
    if clock is None:
        return ""
    drift = f", drifts by {clock.drift_ppm:.1f} ppm" if clock.drift_observed else ""
    return f", its clock {clock.offset_s:+.4f} s{drift}"


def scene_of(prepared: Prepared, begin_s: float, end_s: float) -> dict[str, Any] | None:
    """Markers, frames and wrenches of some stretch in the world's axes, frame by frame; None where no pose is known."""
    captured, inputs = prepared.capture, prepared.inputs
    times = inputs.times_s
    first, last = (int(i) for i in np.searchsorted(times, (begin_s, end_s)))
    at = np.arange(first, last, max(1, -(-(last - first) // FRAMES)))
    if len(at) < 2:
        return None
    main = inputs.mechanism.main
    scene: dict[str, Any] = {
        "t": numbers(times[at], 9),
        "coordinates": [numbers(x) for x in inputs.q[at].T] if inputs.imu is None else [],
        "main": main,
    }
    if captured is None:
        return scene
    body = captured.body
    poses, seen = body.poses, body.poses.seen[at]
    if isinstance(body, MarkedBody):
        scene["markers"] = {
            "names": [n.rsplit(":", 1)[-1] for n in body.cloud.names],
            "points": np.round(body.cloud.points, 5).tolist(),
        }
    q = np.where(seen[:, None], np.nan_to_num(poses.position[at]), 0.0)
    R = np.where(seen[:, None, None], poses.rotation[at], np.eye(3))
    scene |= {
        "seen": seen.tolist(),
        "position": np.round(q, 5).tolist(),
        "quaternion": np.round(quaternion_from_rotation(R), 5).tolist(),
        "frames": {name: np.round(T, 5).tolist() for name, T in body.frames.items()},
        "wrenches": _wrenches(prepared, at),
    }
    return scene


def _wrenches(prepared: Prepared, at: Any) -> list[dict[str, Any]]:
    inputs = prepared.inputs
    shown = inputs.measured[:, at] - zeros_of(inputs)[:, None]
    return [
        {
            "frame": numbered("sensor", i + 1),
            "force": np.round(np.nan_to_num(w[:, :3]), 3).tolist(),
            "moment": np.round(np.nan_to_num(w[:, 3:]), 4).tolist(),
        }
        for i, w in enumerate(shown)
    ]


def span_of(tracks: Sequence[Track]) -> tuple[float, float]:
    """From the first sample of any line to the last."""
    ends = [(float(x.times_s[0]), float(x.times_s[-1])) for track in tracks for x in track.lines if len(x.times_s)]
    return (min(a for a, _ in ends), max(b for _, b in ends)) if ends else (0.0, 1.0)
