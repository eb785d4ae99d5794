"""What a fitted balance says against the experiment file: the sensor's place, its clock, the elbow's side."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from palpate.experiment.gates import mounting
from palpate.experiment.gates.case import Case
from palpate.experiment.stage.fit import Plan, fit_inputs
from palpate.experiment.stage.prepared import Prepared
from palpate.findings import Finding
from palpate.mechanisms import FourBar, Hinge
from palpate.physics.so3 import exp_rotation


def contradicted(prepared: Prepared, **changes: Any) -> list[Finding]:
    """What a fit finds against inputs that are otherwise than they should be."""
    inputs, segments = replace(prepared.inputs, **changes), prepared.segments
    plan = Plan((*segments["quasi_static"], *segments["train"]))
    fit = fit_inputs(inputs.on_clock(inputs.clock), segments, plan)
    case = Case(SimpleNamespace(motion_from="markers"), prepared, fit, {}, {}, None)
    return [*mounting.beside(case), *mounting.assembly(case)]


def turned(prepared: Prepared, turn: Any = (0.0, 0.0, 0.0), across_m: float = 0.0) -> list[Finding]:
    """The same with the sensor turned in its frame (rad) or shifted across the door."""
    (sensor,) = prepared.inputs.sensors
    T = sensor.T_body_sensor.copy()
    T[:3, :3] = T[:3, :3] @ exp_rotation(np.array(turn))
    T[1, 3] += across_m
    return contradicted(prepared, sensors=(replace(sensor, T_body_sensor=T),))


def hinge_of(prepared: Prepared) -> Hinge:
    mechanism = prepared.inputs.model.mechanism
    assert isinstance(mechanism, Hinge)
    return mechanism


def test_nothing_is_said_against_what_is_right(door_prepared: Prepared) -> None:
    assert contradicted(door_prepared) == []


def test_a_clock_that_is_off_is_told_with_its_error(door_prepared: Prepared) -> None:
    clock = door_prepared.inputs.clock
    assert clock is not None
    (found,) = contradicted(door_prepared, clock=replace(clock, offset_s=clock.offset_s + 0.02))
    assert found.fatal
    assert "earlier on the markers' clock than stated" in found.sentence
    assert float(found.sentence.split(" ms")[0].split()[-1]) == pytest.approx(20, abs=4)


def test_the_other_elbow_is_proposed(door_prepared: Prepared) -> None:
    hinge = hinge_of(door_prepared)
    assert isinstance(hinge.linkage, FourBar)
    other = replace(hinge, linkage=replace(hinge.linkage, assembly="positive"))
    found = contradicted(door_prepared, model=replace(door_prepared.inputs.model, mechanism=other))
    assert any(f.fatal and f.cause == "assembly" and "assembled with negative" in f.sentence for f in found), found


@pytest.mark.parametrize("turn", [[0.0, 0.0, 1.2], [0.2, 0.0, 0.0]])
def test_a_sensor_that_is_turned_is_noticed(door_prepared: Prepared, turn: list[float]) -> None:
    found = turned(door_prepared, turn)
    assert any("the sensor sits otherwise than stated" in f.sentence for f in found), found


def test_a_sensor_off_across_the_door_is_noticed(door_prepared: Prepared) -> None:
    (found,) = turned(door_prepared, across_m=0.05)
    metres = float(found.sentence.split("(")[1].split(" m f_radial")[0])
    assert abs(metres) == pytest.approx(0.05, abs=0.01)


def test_links_of_another_closer_are_not_taken_for_a_wrong_sensor(door_prepared: Prepared) -> None:
    other = replace(hinge_of(door_prepared), linkage=FourBar(range=(0.0, 1.65)))
    assert contradicted(door_prepared, model=replace(door_prepared.inputs.model, mechanism=other)) == []
