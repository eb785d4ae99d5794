"""Systematic uncertainty: what declared errors of geometry, scale, clock and mass do to the parameters, by solving
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from palpate.experiment.file.schema import UncertainPart
from palpate.experiment.handle_inputs import HandleInputs
from palpate.identify import Solution
from palpate.physics.arrays import FloatArray
from palpate.physics.spatial import skew


def systematic(
    inputs: HandleInputs,
    uncertain: UncertainPart,
    known_mass: float | None,
    solve_again: Callable[[HandleInputs, float | None], Solution],
) -> dict[str, float]:
    """Standard deviation of each estimate from the declared uncertainties, each applied alone and added in squares."""
    base = solve_again(inputs, known_mass)
    total = {e.name: 0.0 for e in base.estimates}
    for changed, mass in _changes(inputs, uncertain, known_mass):
        for e in solve_again(changed, mass).estimates:
            total[e.name] += (e.value - base[e.name].value) ** 2
    return {name: float(np.sqrt(value)) for name, value in total.items()}


def _changes(inputs: HandleInputs, u: UncertainPart, mass: float | None) -> Iterator[tuple[HandleInputs, float | None]]:
    """The inputs with one declared error each, by one standard deviation."""
    T = inputs.T_sensor_imu
    for axis in np.eye(3):
        if u.imu_rotation is not None:
            yield replace(inputs, T_sensor_imu=_turned(T, u.imu_rotation * axis)), mass
        if u.imu_position is not None:
            moved = T.copy()
            moved[:3, 3] += u.imu_position * axis
            yield replace(inputs, T_sensor_imu=moved), mass
    if u.load_cell_scale is not None:
        scaled = replace(inputs.wrench, x=inputs.wrench.x * (1 + u.load_cell_scale))
        yield replace(inputs, wrench=scaled), mass
    for fraction, columns in ((u.accelerometer_scale, slice(0, 3)), (u.gyroscope_scale, slice(3, 6))):
        if fraction is not None:
            x = inputs.imu.x.copy()
            x[:, columns] *= 1 + fraction
            yield replace(inputs, imu=replace(inputs.imu, x=x)), mass
    if u.clock is not None:
        yield replace(inputs, offset_s=inputs.offset_s + u.clock), mass
    if u.mass is not None and mass is not None:
        yield inputs, mass + u.mass


def _turned(T: FloatArray, angle: FloatArray) -> FloatArray:
    """T with its rotation turned by a small rotation vector (rad), to second order."""
    S = skew(angle)
    turned = T.copy()
    turned[:3, :3] = (np.eye(3) + S + S @ S / 2) @ T[:3, :3]
    return turned
