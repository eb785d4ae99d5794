"""Systematic errors of a body: what is taken as given, moved by its declared uncertainty, and the fit repeated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from palpate.errors import PalpateError
from palpate.experiment.body_fit import BodyFit
from palpate.experiment.file.schema import BodyUncertainPart
from palpate.experiment.hinge_inputs import HingeInputs
from palpate.motion.clocks.clock import ClockMap
from palpate.physics.so3 import exp_rotation
from palpate.physics.spatial import transform


def body_systematic(fit: BodyFit, part: BodyUncertainPart) -> BodyFit:
    """The fit with the systematic standard deviation of every estimate; shapes stay as they were found."""
    names = [e.name for e in fit.solution.estimates]
    squares = np.zeros(len(names))
    for other in _others(fit.inputs, part):
        try:
            there = fit.again(other)[1]
        except PalpateError:  # out of reach with these links
            continue
        squares += np.array([there[name].value - fit.solution[name].value for name in names]) ** 2
    errors = dict(zip(names, np.sqrt(squares), strict=True))
    estimates = tuple(replace(e, systematic=float(errors[e.name])) for e in fit.solution.estimates)
    return replace(fit, solution=replace(fit.solution, estimates=estimates))


def _others(inputs: HingeInputs, part: BodyUncertainPart) -> Iterator[HingeInputs]:
    """Inputs with one thing off by its standard deviation each."""
    if part.load_cell_scale:
        scale = 1 + part.load_cell_scale
        yield replace(
            inputs, wrench=replace(inputs.wrench, x=scale * inputs.wrench.x), measured=scale * inputs.measured
        )
    for axis in np.eye(3):
        R, r = inputs.T_hinge_sensor[:3, :3], inputs.T_hinge_sensor[:3, 3]
        if part.sensor_position:
            yield replace(inputs, T_hinge_sensor=transform(R, r + part.sensor_position * axis))
        if part.sensor_rotation:
            yield replace(inputs, T_hinge_sensor=transform(R @ exp_rotation(part.sensor_rotation * axis), r))
    if part.closed:
        stops = None if inputs.stops is None else (inputs.stops[0] + part.closed, inputs.stops[1] + part.closed)
        turned = replace(inputs.hinge, direction=inputs.hinge.direction + part.closed)
        moved = inputs.with_model(replace(inputs.model, mechanism=turned))
        yield replace(moved, angle=inputs.angle + part.closed, stops=stops)
    if part.clock:
        clock = inputs.clock or ClockMap(0.0, 0.0, 0.0, 0.0, 0.0, False)
        yield inputs.on_clock(replace(clock, offset_s=clock.offset_s + part.clock))
    linkage = inputs.hinge.linkage
    lengths: tuple[float, ...] = getattr(linkage, "lengths", ())
    if part.links and linkage is not None:
        for i in range(len(lengths)):
            for sign in (1, -1):  # one of the two ways closes, where the given links do
                moved = tuple(x + sign * part.links * (i == j) for j, x in enumerate(lengths))
                try:
                    hinge = replace(inputs.hinge, linkage=replace(linkage, lengths=moved))  # type: ignore[type-var]
                except PalpateError:
                    continue
                yield inputs.with_model(replace(inputs.model, mechanism=hinge))
                break
