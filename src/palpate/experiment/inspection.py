"""Looking at recordings before anything is identified: what each holds, and how they fit together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.columns import kind_of
from palpate.experiment.stage import capture
from palpate.experiment.stage.body import Body, MarkedBody
from palpate.experiment.stage.capture import CapturedMotion, attempt
from palpate.experiment.stage.prepare import Prepared
from palpate.experiment.stage.recordings import Instrument
from palpate.files import finite
from palpate.findings import Finding, Severity
from palpate.motion.clock import clock_map, evenly_sampled, resample
from palpate.motion.cloud import markers_of, mean_cloud
from palpate.motion.exchanged import exchange
from palpate.motion.extrinsics import OTHER_AXES
from palpate.motion.plausibility import check_imu
from palpate.physics.arrays import FloatArray
from palpate.physics.motion import continuous_quaternions, quaternion_from_rotation
from palpate.recording import Channel, Clock, Recording
from palpate.recording.gates import check_channels

FEWEST_MARKERS = 4
"""With three, no marker can be told from another by its place: nothing could be checked."""


@dataclass(frozen=True, slots=True, eq=False)
class Inspection:
    """What a set of recordings holds and says about itself."""

    title: str
    recordings: tuple[Recording, ...]
    findings: tuple[Finding, ...]
    body: Body | None
    """The rigid body that the markers form, where there are any."""
    devices: dict[str, Instrument]
    """imu, wrench: with their clocks against the reference."""
    reference: str
    """Whose clock the others are compared with: mocap, imu, or none."""
    motion: CapturedMotion | None = None
    """Where an experiment file says what the markers stand for."""


def inspect_motion(title: str, recordings: Sequence[Recording], motion: CapturedMotion) -> Inspection:
    """The same of an experiment file of the motion stage."""
    return Inspection(title, tuple(recordings), motion.findings, motion.body, motion.devices, "mocap", motion)


def inspect_prepared(title: str, recordings: Sequence[Recording], prepared: Prepared) -> Inspection:
    """The same of a body experiment whose motion markers tell, as its identification sees it."""
    assert prepared.capture is not None
    devices = {k: replace(d, clock=d.clock or prepared.inputs.clock) for k, d in prepared.instruments.items()}
    return Inspection(
        title, tuple(recordings), prepared.findings, prepared.capture.body, devices, prepared.capture.body.key
    )


def inspect_recordings(recordings: Sequence[Recording], title: str = "") -> Inspection:
    """Find markers, IMU and load cell by their units, align what belongs together, compare the clocks.

    What cannot be known becomes a finding.
    """
    findings: list[Finding] = []
    for recording in recordings:  # clipping, dead and frozen channels; markers have checks of their own
        names = [name for name, channel in recording.channels.items() if channel.samples.ndim == 1]
        findings += _doubts(check_channels(recording, names) if names else ())
        findings += _exchanged(recording)
    body, devices = _body(recordings, findings), dict[str, Instrument]()
    imu = _device(recordings, (("m/s2", 3), ("rad/s", 3)), "IMU", findings)
    if imu is not None:
        findings += check_imu(imu.even.times_s, imu.even.x[:, :3], imu.even.x[:, 3:])
        if body is None:  # it is the reference itself
            middle = float(np.mean(imu.even.times_s[[0, -1]]))
            devices["imu"] = replace(imu, clock=clock_map(0.0, 0.0, middle, 0.0, 0.0))
        else:
            poses, even = body.poses, imu.even
            devices["imu"] = imu.timed_by(attempt(findings, "clock", lambda: capture.imu_clock(poses, even)))
    wrench = _device(recordings, (("N", 3), ("N m", 3)), "load cell", findings)
    if wrench is not None:
        devices["wrench"] = cell = wrench
        if body is not None or imu is not None:
            seen = None if body is None else body.poses
            offset = attempt(findings, "clock", lambda: capture.wrench_clock(seen, cell.even, devices.get("imu")))
            devices["wrench"] = wrench.timed_by(offset)
    reference = "mocap" if body is not None else "imu" if imu is not None and wrench is not None else ""
    return Inspection(title, tuple(recordings), tuple(findings), body, devices, reference)


def _exchanged(recording: Recording) -> list[Finding]:
    """A table of one coordinate whose position and effort look exchanged."""
    for kinds in (("angle", "torque"), ("position", "force")):
        found = [[c for c in recording.channels.values() if c.samples.ndim == 1 and kind_of(c) == k] for k in kinds]
        if [len(of) for of in found] != [1, 1] or found[0][0].clock is not found[1][0].clock:
            continue
        (position,), (effort,) = found
        with suppress(DataProblem):
            even = evenly_sampled(
                position.clock.times_s, np.column_stack([position.samples, effort.samples]), what="table"
            )
            swapped = exchange(even.times_s, *even.x.T)
            if swapped is not None:
                remedy = "exchange their names in the file's header, units too; `palpate new` reads them so"
                place = f"{position.name}, {effort.name}"
                return [Finding("exchanged", swapped.words(*kinds), place, remedy)]
    return []


def _doubts(findings: Iterable[Finding]) -> list[Finding]:
    """Nothing is fatal where nothing is identified."""
    return [replace(f, severity=Severity.WARNING) for f in findings]


def _body(recordings: Sequence[Recording], findings: list[Finding]) -> MarkedBody | None:
    """The body of the first recording with markers, all of them taken for one rigid body."""
    for recording in recordings:
        names = [n for n, c in recording.channels.items() if c.samples.ndim == 2 and c.unit == "m"]
        if len(names) < FEWEST_MARKERS:
            continue

        def aligned(recording: Recording = recording, names: list[str] = names) -> MarkedBody:
            markers, _ = capture.on_even_frames(markers_of(recording, names))
            return capture.align_body(recording, markers, mean_cloud(markers))

        body = attempt(findings, "markers", aligned)
        loose = [] if body is None else capture.not_rigid(body)
        if body is not None:
            findings += _doubts(loose or body.checked.findings)
        if body is not None and not loose:
            return body
    return None


def _device(
    recordings: Sequence[Recording], wanted: Sequence[tuple[str, int]], what: str, findings: list[Finding]
) -> Instrument | None:
    """The first channels of these units on one clock, in file order."""
    for recording in recordings:
        for clock in recording.clocks:
            channels = [c for c in recording.channels.values() if c.clock is clock and c.samples.ndim == 1]
            names = [n for unit, count in wanted for n in [c.name for c in channels if c.unit == unit][:count]]
            if len(names) < sum(count for _, count in wanted):
                continue
            samples = (clock.times_s, recording.stack(names))
            even = attempt(findings, "clock", lambda samples=samples: evenly_sampled(*samples, what=what))
            if even is not None:
                return Instrument(recording, names, even, {})
    return None


def inspection_data(inspection: Inspection) -> dict[str, Any]:
    """Markers, clocks, vertical, frames and findings; SI units."""
    return {
        "markers": _markers_data(inspection.body) if isinstance(inspection.body, MarkedBody) else None,
        "reference_clock": inspection.reference or None,
        "clocks": {name: _clock_data(device) for name, device in inspection.devices.items()},
        "motion": None if inspection.motion is None else _motion_data(inspection.motion),
        "findings": [f.as_json() for f in inspection.findings],
    }


def _markers_data(body: MarkedBody) -> dict[str, Any]:
    name, error, at = body.fit.largest()
    return {
        "reference": body.reference,
        **{name: finite(getattr(body.checked.scale, name)) for name in ("noise_m", "bending_m")},
        "mean_error_m": finite(body.fit.mean_error_m),
        "mean_error_as_stored_m": finite(body.raw.mean_error_m),
        "largest_error": {"name": name, "error_m": finite(error), "at_s": finite(at)},
        "by_marker": [
            {"name": n, "mean_error_m": finite(mean), "largest_error_m": finite(most), "at_s": finite(t), "hidden": h}
            for n, mean, most, t, h in body.raw.rows()
        ],
        "frames_without_pose": body.fit.unknown(),
        "faults": [
            {"kind": f.kind, "names": list(f.names), "interval_s": list(f.interval_s), "size_m": finite(f.size_m)}
            for f in body.checked.faults
        ],
        "gaps": body.filled.sentence(),
        "usable_s": [list(pair) for pair in body.filled.usable],
    }


def _clock_data(device: Instrument) -> dict[str, Any] | None:
    """reference time = device time + offset_s + drift (reference time - at_s)."""
    clock = device.clock
    if clock is None:
        return None
    low, high = clock.interval_at(np.array(clock.at_s))
    return {
        "offset_s": clock.offset_s,
        "ci95_s": [float(low), float(high)],
        "at_s": clock.at_s,
        "drift_ppm": clock.drift_ppm if clock.drift_observed else None,
        "drift_ci95_ppm": list(clock.drift_interval_ppm()),
        "drift_observed": clock.drift_observed,
        "estimated": device.offset is not None,
    }


def _motion_data(motion: CapturedMotion) -> dict[str, Any]:
    placement, derivatives = motion.placement, motion.derivatives
    bandwidth = None if derivatives is None else derivatives.bandwidth
    data: dict[str, Any] = {
        "frame": motion.frame,
        "frames": {name: T.tolist() for name, T in motion.body.frames.items()},
        "up_in_capture_frame": motion.up.tolist(),
        "window_s": None if derivatives is None else derivatives.window_s,
        "bandwidth_hz": None if bandwidth is None else bandwidth.bandwidth_hz,
    }
    if placement is not None:
        data["imu"] = {
            "rotation": placement.R_ab.tolist(),
            "rotation_std_rad": placement.turn_std_rad.tolist(),
            "translation_m": placement.r_ab.tolist(),
            "translation_std_m": placement.lever_std.tolist(),
            "not_told": [f"{weak}: {OTHER_AXES}" for weak in placement.weak],
        }
        if placement.tilt is not None:
            tilt = placement.tilt
            data["tilt"] = {"x_rad": tilt.x_rad, "y_rad": tilt.y_rad, "ci95_rad": tilt.interval_rad().tolist()}
    if motion.hinge is not None and motion.hinge_motion is not None:
        lean, std = motion.inclination_rad or (None, float("nan"))
        data["hinge"] = {
            "T_world_hinge": motion.hinge.T_world_hinge.tolist(),
            **{k: finite(getattr(motion.hinge, k)) for k in ("direction_std_rad", "point_std_m", "range_rad")},
            **{"inclination_rad": lean, "inclination_std_rad": finite(std)},
        }
    return data


def motion_recording(motion: CapturedMotion) -> Recording:
    """Pose, velocities and accelerations of the frame, hinge angle and wrench, on the clock of motion capture.

    Position (m) and quaternion w x y z of the frame in the capture frame; specific acceleration a - g (m/s2), omega and
    omega_dot in the frame itself; the wrench in the load cell's axes, low-passed for the frame rate; empty where
    something was not seen.
    """
    poses, columns = motion.poses, dict[str, tuple[FloatArray, str]]()

    def add(name: str, x: FloatArray, unit: str, parts: Sequence[str] = (".x", ".y", ".z")) -> None:
        columns.update({f"{name}{part}": (x[:, i], unit) for i, part in enumerate(parts)})

    add("position", poses.position, "m")
    quaternion, seen = np.full((len(poses), 4), np.nan), poses.seen
    quaternion[seen] = continuous_quaternions(quaternion_from_rotation(poses.rotation[seen]))
    add("quaternion", quaternion, "1", (".w", ".x", ".y", ".z"))
    if motion.motion is not None:
        for name, unit in {"specific_acceleration": "m/s2", "omega": "rad/s", "omega_dot": "rad/s2"}.items():
            add(name, getattr(motion.motion, name), unit)
    if motion.hinge_motion is not None:
        columns["hinge.angle"] = (motion.hinge_motion.angle_rad, "rad")
    if motion.angle is not None:
        columns["hinge.speed"] = (motion.angle.speed, "rad/s")
        columns["hinge.acceleration"] = (motion.angle.acceleration, "rad/s2")
    wrench = motion.devices.get("wrench")
    if wrench is not None and wrench.clock is not None:
        there = resample(wrench.even.times_s, wrench.even.seen_x, poses.times_s, clock=wrench.clock)
        add("f", there[:, :3], "N", ("_x", "_y", "_z"))
        add("n", there[:, 3:], "N m", ("_x", "_y", "_z"))
    clock = Clock("time", poses.times_s)
    return Recording({n: Channel(n, x, clock, unit) for n, (x, unit) in columns.items()}, None, "csv")
