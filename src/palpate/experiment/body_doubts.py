"""What speaks against the inputs of a body stage before anything is fitted: markers, stops, preload, units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palpate.errors import DataProblem
from palpate.experiment.file.reading import Experiment
from palpate.experiment.hinge_inputs import HingeInputs
from palpate.findings import Finding, Severity
from palpate.mechanisms import Hinge
from palpate.physics.arrays import FloatArray

MEAN_S = 0.2
TOUCHED = 0.03
"""Share of a component's range by which its short means may change while nobody touches the handle."""
LEVER_M = (0.003, 2.0)
"""From the sensor to the hand on the handle."""
BEYOND_DEG = 3.0
"""A stop gives way a little."""


def check_towards(experiment: Experiment[Any]) -> None:
    """The place of a marker that stays behind is known in a static recording only."""
    markers = experiment.config.markers
    assert markers.hinge is not None
    towards = markers.hinge.towards
    if experiment.config.recordings.static is not None or towards is None or not markers.body:
        return
    if towards.rpartition(":")[2] not in [name.rpartition(":")[2] for name in markers.body]:
        raise experiment.problem(
            "markers.hinge.towards",
            f"{towards} is not under markers.body: where it is beside the object is known from recordings.static only",
            "give recordings.static, or a marker that moves with the object",
        )


def check_stops(experiment: Experiment[Any], angle: FloatArray) -> None:
    """Refuse stated stops that are none, or that the object was seen beyond."""
    stops = experiment.config.stops
    if stops is None:
        return
    low, high = np.degrees(stops)
    if low >= high:
        raise experiment.problem("stops", f"{low:g} deg is not below {high:g} deg", "the smaller angle comes first")
    least, most = np.degrees([np.nanmin(angle), np.nanmax(angle)])
    if least < low - BEYOND_DEG or most > high + BEYOND_DEG:
        told = f"the object is seen from {least:.1f} to {most:.1f} deg, beyond its stops at {low:g} and {high:g} deg"
        raise experiment.problem("stops", told, "leave the key out: the ends of what was visited are then taken")


def check_reach(experiment: Experiment[Any], hinge: Hinge, angle: FloatArray, doubts: Sequence[Finding]) -> None:
    """Refuse angles that the linkage cannot reach; `doubts`: what is already known to be wrong with the angle."""
    if hinge.linkage is None:
        return
    try:
        hinge.linkage.check_reach(angle)
    except DataProblem as error:
        told = next((f.sentence for f in doubts if f.fatal), "")
        raise experiment.problem("mechanism", f"{error}; {told}" if told else str(error)) from error


def touched(inputs: HingeInputs) -> list[Finding]:
    """Whether somebody touches the object in the static segment: the wrench then changes more than its noise does."""
    if inputs.static is None:
        return []
    at = (inputs.times_s >= inputs.static[0]) & (inputs.times_s < inputs.static[1])
    count = max(1, round(MEAN_S * inputs.rate_hz))
    inside = inputs.measured[at]
    inside = inside[np.isfinite(inside).all(axis=1)]
    if len(inside) < 2 * count:
        return []
    sums = np.cumsum(np.concatenate([np.zeros((1, 6)), inside]), axis=0)
    means = (sums[count:] - sums[:-count]) / count
    whole = np.nanpercentile(inputs.measured, [1, 99], axis=0)
    range_ = np.maximum(whole[1] - whole[0], 1e-300)
    changes = np.ptp(means, axis=0)
    quick = np.median(np.abs(np.diff(inside, axis=0)), axis=0) / 0.6745 / np.sqrt(2)
    share = changes / range_
    far = (share > TOUCHED) & (changes > 10 * quick / np.sqrt(count))
    if not far.any():
        return []
    i = int(np.argmax(np.where(far, share, 0.0)))
    told = (
        f"in segments.static the wrench changes by {changes[i]:.2g} {'N' if i < 3 else 'N m'} "
        f"({('f_x', 'f_y', 'f_z', 'n_x', 'n_y', 'n_z')[i]}, {100 * share[i]:.0f} % of all that is recorded): somebody "
        "touches the handle or the object moves there, so the sensor's preload is wrong"
    )
    return [Finding("preload", told, severity=Severity.FATAL)]


def units_doubt(inputs: HingeInputs) -> list[Finding]:
    """Moments at the sensor are forces times the way to the hand: a way that no handle has is a wrong unit."""
    w = np.asarray(inputs.measured - np.nanmedian(inputs.measured, axis=0), dtype=float)
    force, moment = (float(np.sqrt(3 * np.nanmean(part**2))) for part in (w[:, :3], w[:, 3:]))
    lever = moment / max(force, 1e-300)
    if LEVER_M[0] < lever < LEVER_M[1]:
        return []
    told = (
        f"forces of {force:.2g} N and moments of {moment:.2g} N m at the sensor would mean a hand {lever:.2g} m from "
        "it: check the units of recordings.wrench"
    )
    return [Finding("units", told, severity=Severity.FATAL)]
