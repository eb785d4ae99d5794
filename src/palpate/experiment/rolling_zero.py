"""Zeros of the load cells of a rolling object: what is known of each, and what knowing them otherwise would change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palpate.elements import SensorBias
from palpate.errors import PalpateError
from palpate.experiment.file.schema import SensorPart
from palpate.experiment.rolling_fit import RollingFit, refit
from palpate.experiment.rolling_inputs import Sensor, Zero
from palpate.files import finite
from palpate.physics.arrays import FloatArray
from palpate.physics.spatial import wrench_transmission

AXES = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")
SUM_ONLY = (
    "the motion shows only what the zeros add up to in the object's frame, six numbers; between the sensors they are "
    "split so that each is as small beside its sensor's accuracy as the other"
)


def zero_entry(fit: RollingFit, accuracy: SensorPart) -> dict[str, Any]:
    """Zeros as result.json has them: where from, of each sensor, and how parameters change if known otherwise."""
    inputs = fit.inputs
    found: dict[str, Any] = {"from": inputs.zero, "unit": "N, N m"}
    if inputs.zero == "still":
        found["sensors"] = _named(inputs.zeros())
    if inputs.zero == "estimated":
        total = np.array([fit.solution[p.name].value for p in SensorBias().parameters])
        found["in_body_frame"] = dict(zip(AXES, total.tolist(), strict=True))
        found["sensors"] = _named(split_zero(inputs.sensors, total, accuracy))
        found["note"] = SUM_ONLY
    if inputs.at_contact is not None:
        found["at_contact"] = dict(zip(AXES, inputs.at_contact.tolist(), strict=True))
    found["change_if"] = zero_changes(fit)
    return found


def _named(zeros: FloatArray) -> dict[str, dict[str, float]]:
    names = ["sensor", *(f"sensor_{i + 2}" for i in range(len(zeros) - 1))]
    return {n: dict(zip(AXES, v, strict=True)) for n, v in zip(names, zeros.tolist(), strict=True)}


def split_zero(sensors: Sequence[Sensor], total: FloatArray, accuracy: SensorPart) -> FloatArray:
    """(sensors, 6): zeros in the sensors' frames that add up to `total` (6,) in the object's, the likeliest ones.

    Each is normal with its sensor's accuracy S: b_i = S W_i' (sum_j W_j S W_j')^-1 total (least squares of least
    length; Lawson and Hanson 1974).
    """
    S = np.diag(np.square([*accuracy.sigma_force, *accuracy.sigma_moment]))
    Ws = [wrench_transmission(s.T_body_sensor[:3, :3], s.T_body_sensor[:3, 3]) for s in sensors]
    shared = np.linalg.solve(sum(W @ S @ W.T for W in Ws), total)
    return np.array([S @ W.T @ shared for W in Ws])


def zero_changes(fit: RollingFit) -> dict[str, dict[str, float | None]]:
    """By how much parameters change when the zeros come from elsewhere: way -> parameter -> change.

    From the still segment only where there is one and the handles' weight is known.
    """
    inputs = fit.inputs
    still: list[Zero] = ["still"] if inputs.static is not None and _handles_known(inputs.sensors) else []
    found: dict[str, dict[str, float | None]] = {}
    for way in (*still, "estimated", "none"):
        if way == inputs.zero:
            continue
        try:
            there = {e.name: e.value for e in refit(fit, inputs.with_zero(way)).estimates}
        except PalpateError:
            continue
        found[way] = {e.name: finite(there[e.name] - e.value) for e in fit.solution.estimates if e.name in there}
    return found


def _handles_known(sensors: Sequence[Sensor]) -> bool:
    return all(s.handle is not None for s in sensors)
