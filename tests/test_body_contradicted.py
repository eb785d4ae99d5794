"""What a fitted balance says against the experiment file: the sensor's place, its clock, the elbow's side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from palpate.experiment.body import PreparedBody
from palpate.experiment.body_checks import fit_findings
from palpate.experiment.body_fit import fit_joint

from palpate.findings import Finding
from palpate.mechanisms import FourBar, Hinge
from palpate.physics.so3 import exp_rotation


def contradicted(prepared: PreparedBody, **changes: Any) -> list[Finding]:
    """What a fit finds against inputs that are otherwise than they should be."""
    inputs = replace(prepared.measured.inputs, **changes)
    return fit_findings(fit_joint(inputs.on_clock(inputs.clock), prepared.measured.segments))


def hinge_of(prepared: PreparedBody) -> Hinge:
    mechanism = prepared.measured.inputs.model.mechanism
    assert isinstance(mechanism, Hinge)
    return mechanism


def test_nothing_is_said_against_what_is_right(door_prepared: PreparedBody) -> None:
    assert contradicted(door_prepared) == []


def test_a_clock_that_is_off_is_told_with_its_error(door_prepared: PreparedBody) -> None:
    clock = door_prepared.measured.inputs.clock
    assert clock is not None
    (found,) = contradicted(door_prepared, clock=replace(clock, offset_s=clock.offset_s + 0.02))
    assert found.fatal
    assert "earlier on the markers' clock than stated" in found.sentence
    assert float(found.sentence.split(" ms")[0].split()[-1]) == pytest.approx(20, abs=4)


def test_the_other_elbow_is_proposed(door_prepared: PreparedBody) -> None:
    hinge = hinge_of(door_prepared)
    assert isinstance(hinge.linkage, FourBar)
    other = replace(hinge, linkage=replace(hinge.linkage, assembly="positive"))
    found = contradicted(door_prepared, model=replace(door_prepared.measured.inputs.model, mechanism=other))
    assert any(f.fatal and "negative instead of positive" in f.sentence for f in found), found


@pytest.mark.parametrize("turn", [[0.0, 0.0, 1.2], [0.2, 0.0, 0.0]])
def test_a_sensor_that_is_turned_is_noticed(door_prepared: PreparedBody, turn: list[float]) -> None:
    T = door_prepared.measured.inputs.T_hinge_sensor.copy()
    T[:3, :3] = T[:3, :3] @ exp_rotation(np.array(turn))
    found = contradicted(door_prepared, T_hinge_sensor=T)
    assert any("the sensor sits otherwise than stated" in f.sentence for f in found), found


def test_a_sensor_off_across_the_door_is_noticed(door_prepared: PreparedBody) -> None:
    T = door_prepared.measured.inputs.T_hinge_sensor.copy()
    T[1, 3] += 0.05
    (found,) = contradicted(door_prepared, T_hinge_sensor=T)
    metres = float(found.sentence.split("(")[1].split(" m f_x")[0])
    assert abs(metres) == pytest.approx(0.05, abs=0.01)


def test_links_of_another_closer_are_not_taken_for_a_wrong_sensor(door_prepared: PreparedBody) -> None:
    other = replace(hinge_of(door_prepared), linkage=FourBar(range=(0.0, 1.65)))
    assert contradicted(door_prepared, model=replace(door_prepared.measured.inputs.model, mechanism=other)) == []
