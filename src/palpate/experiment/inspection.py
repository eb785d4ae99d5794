"""Looking at recordings before anything is identified: what each holds, and how they fit together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.capture import Body, align_body, on_even_frames
from palpate.experiment.motion import CapturedMotion, DeviceOnClock, imu_clock, not_rigid, wrench_clock
from palpate.findings import Finding, Severity
from palpate.motion.clocks.clock import evenly_sampled
from palpate.motion.clocks.offset import clock_map
from palpate.motion.imu.plausibility import check_imu
from palpate.motion.markers.cloud import markers_of, mean_cloud
from palpate.recording import Channel, Recording
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
    devices: dict[str, DeviceOnClock]
    """imu, wrench: with their clocks against the reference."""
    reference: str
    """Whose clock the others are compared with: mocap, imu, or none."""
    motion: CapturedMotion | None = None
    """Where an experiment file says what the markers stand for."""


def inspect_motion(title: str, recordings: Sequence[Recording], motion: CapturedMotion) -> Inspection:
    """The same of an experiment file of the motion stage."""
    return Inspection(title, tuple(recordings), motion.findings, motion.body, motion.devices, "mocap", motion)


def inspect_recordings(recordings: Sequence[Recording], title: str = "") -> Inspection:
    """Find markers, IMU and load cell by their units, align what belongs together, compare the clocks.

    What cannot be known becomes a finding.
    """
    findings: list[Finding] = []
    for recording in recordings:
        findings += _channel_findings(recording)
    body = _body(recordings, findings)
    devices: dict[str, DeviceOnClock] = {}
    imu = _device(recordings, (("m/s2", 3), ("rad/s", 3)), "IMU", findings)
    if imu is not None:
        findings += check_imu(imu.even.times_s, imu.even.x[:, :3], imu.even.x[:, 3:])
        devices["imu"] = _on_clock(imu, body, findings)
    wrench = _device(recordings, (("N", 3), ("N m", 3)), "load cell", findings)
    if wrench is not None:
        devices["wrench"] = wrench
        if body is not None or imu is not None:
            try:
                found = wrench_clock(None if body is None else body.poses, wrench.even, devices.get("imu"))
                devices["wrench"] = DeviceOnClock(wrench.recording, wrench.names, wrench.even, found.clock, found)
            except DataProblem as error:
                findings.append(Finding("clock", str(error)))
    reference = "mocap" if body is not None else "imu" if imu is not None and wrench is not None else ""
    return Inspection(title, tuple(recordings), tuple(findings), body, devices, reference)


def _channel_findings(recording: Recording) -> tuple[Finding, ...]:
    """Clipping, dead and frozen channels; not of markers, which have checks of their own."""
    names = [name for name, channel in recording.channels.items() if channel.samples.ndim == 1]
    found = check_channels(recording, names) if names else ()
    # whether it matters depends on what the channel is for
    return tuple(replace(f, severity=Severity.WARNING) for f in found)


def _body(recordings: Sequence[Recording], findings: list[Finding]) -> Body | None:
    """The body of the first recording with markers, all of them taken for one rigid body."""
    for recording in recordings:
        names = [n for n, c in recording.channels.items() if c.samples.ndim == 2 and c.unit == "m"]
        if len(names) < FEWEST_MARKERS:
            continue
        try:
            markers, _ = on_even_frames(markers_of(recording, names))
            body = align_body(recording, markers, mean_cloud(markers))
        except DataProblem as error:
            findings.append(Finding("markers", str(error)))
            continue
        loose = not_rigid(body)
        if loose:
            findings += [replace(f, severity=Severity.WARNING) for f in loose]
            continue
        findings += [replace(f.finding, severity=Severity.WARNING) for f in body.checked.faults]
        return body
    return None


def _device(
    recordings: Sequence[Recording], wanted: Sequence[tuple[str, int]], what: str, findings: list[Finding]
) -> DeviceOnClock | None:
    """The first channels of these units on one clock, in file order."""
    for recording in recordings:
        for clock in recording.clocks:
            channels = [c for c in recording.channels.values() if c.clock is clock and c.samples.ndim == 1]
            groups = [_of_unit(channels, unit)[:count] for unit, count in wanted]
            if any(len(group) < count for group, (_, count) in zip(groups, wanted, strict=True)):
                continue
            names = [name for group in groups for name in group]
            try:
                even = evenly_sampled(clock.times_s, recording.stack(names), what=what)
            except DataProblem as error:
                findings.append(Finding("clock", str(error)))
                continue
            return DeviceOnClock(recording, names, even, None, None)
    return None


def _of_unit(channels: Sequence[Channel], unit: str) -> list[str]:
    return [c.name for c in channels if c.unit == unit]


def _on_clock(imu: DeviceOnClock, body: Body | None, findings: list[Finding]) -> DeviceOnClock:
    """The IMU beside the cameras; alone, it is the reference itself."""
    if body is None:
        middle = float(np.mean(imu.even.times_s[[0, -1]]))
        own = clock_map(0.0, 0.0, middle, 0.0, 0.0)
        return DeviceOnClock(imu.recording, imu.names, imu.even, own, None)
    try:
        found = imu_clock(body.poses, imu.even)
    except DataProblem as error:
        findings.append(Finding("clock", str(error)))
        return imu
    return DeviceOnClock(imu.recording, imu.names, imu.even, found.clock, found)
