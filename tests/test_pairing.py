"""Model and wrench: body with the raw wrench, whole with the compensated one, and nothing else."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from palpate.errors import PalpateError
from palpate.experiment.stage.result import DRIVEN_BY
from palpate.model import Model, load_object
from palpate.physics.inertia import body_regressor, move_phi
from palpate.physics.motion import transport_acceleration, wrench_transmission
from palpate.rendering.loop import check_pairing
from palpate.runtime import Stepper, StepStatus
from palpate.runtime.pairing import HandleSensor, SensorStepper, doubt, model_of, wrench_words
from tests.test_export_c import BARROW, DOOR

R_BS = Rotation.from_euler("xyz", [0.3, -0.2, 0.5]).as_matrix()
LEVER = np.array([0.8, 0.1, 0.2])
PHI = [3.0, 0.05, -0.03, 0.3, 0.12, 0.001, -0.002, 0.13, 0.0015, 0.05]
HANDLE = load_object("handle").of_object().with_values(PHI, model_of="handle (post-sensor part)", sensor="Omega")
BIAS = np.array([3.0, -5.0, 20.0, 0.4, -0.2, 0.1])
DT = 1e-3


def door(of: str, inertia: float = DOOR[0]) -> Model:
    return load_object("door").with_values([inertia, *DOOR[1:]], model_of=f"{of} (some part)", sensor="Omega")


def whole_door() -> Model:
    return door("whole", DOOR[0] + float(move_phi(PHI, R_BS, LEVER)[9]))


def person(steps: int) -> np.ndarray:
    """Opens the door, holds it, lets it close; pulls along it and twists at will, which moves nothing."""
    t = np.arange(steps) * DT
    found = np.random.default_rng(3).normal(size=(steps, 6)) * 0.1
    found[:, 5] = 14 + 18 * np.sin(2 * math.pi * 0.3 * t) + 6 * np.sin(2 * math.pi * 1.1 * t)
    return found


def sensor_reading(path: np.ndarray, start: Any, wrenches: np.ndarray) -> np.ndarray:
    """What a sensor at R_BS, LEVER reads while the whole moves so: the person's wrench minus what the handle takes.

    The handle's motion is worked out in the sensor's own frame, step by step (Newton-Euler with the mean
    acceleration of the step, as the balance of a step has it).
    """
    before = np.vstack([start, path[:-1, :2]])
    zero = np.zeros(len(path))
    g = load_object("door").mechanism.gravity  # type: ignore[attr-defined]
    omega = np.stack([zero, zero, before[:, 1]], axis=1)
    omega_dot = np.stack([zero, zero, path[:, 2]], axis=1)
    a = transport_acceleration(np.tile([0.0, 0.0, g], (len(path), 1)), omega, omega_dot, LEVER)
    handle = body_regressor(a @ R_BS, omega @ R_BS, omega_dot @ R_BS) @ np.array(PHI)
    W_SB = np.linalg.inv(wrench_transmission(R_BS, LEVER))
    return wrenches @ W_SB.T - handle + BIAS


def driven(model: Model, raw: np.ndarray, start: Any, **options: Any) -> np.ndarray:
    """The path (steps, 3) of a model behind the sensor."""
    handle = HANDLE if "whole" in model.about["model_of"] else None
    stepper = SensorStepper(model, DT, [HandleSensor(R_BS, LEVER, BIAS, handle)], **options)
    stepper.reset(start)
    found = np.empty((len(raw), 3))
    for row, out in zip(raw, found, strict=True):
        assert stepper.step(row, out) in (StepStatus.OK, StepStatus.STICKING)
    return found


def test_body_with_the_raw_wrench_and_whole_with_the_compensated_one_move_alike() -> None:
    """On a door with a handle of 2.1 kg m2: the body exactly, the whole but for the lag of its filter.

    Stated: 50 Hz are late by 3.2 ms and a step; over six seconds the angle is off by less than 0.2 % of its range, and
    by half of that with twice the cut-off.
    """
    start, wrenches = (0.4, 0.0), person(6000)
    stepper, path = Stepper(whole_door(), DT), np.empty((6000, 3))
    stepper.reset(start)
    stepper.run(wrenches, path)
    span = np.ptp(path[:, 0])
    assert span > 0.8
    raw = sensor_reading(path, start, wrenches)
    body = driven(door("body"), raw, start)
    assert np.abs(body[:, :2] - path[:, :2]).max() < 1e-9
    slow, usual, fast = (
        np.abs(driven(whole_door(), raw, start, cutoff_hz=hz)[:, 0] - path[:, 0]).max() / span for hz in (25, 50, 100)
    )
    assert usual < 0.002
    assert 1.5 < slow / usual < 2.2
    assert 1.5 < usual / fast < 2.2


def test_a_wrong_pairing_would_have_lost_the_handle() -> None:
    """Why it is refused: the body's model under the compensated wrench is another door."""
    start, wrenches = (0.4, 0.0), person(3000)
    path, found = np.empty((3000, 3)), np.empty((3000, 3))
    for model, out in ((whole_door(), path), (door("body"), found)):
        stepper = Stepper(model, DT)
        stepper.reset(start)
        stepper.run(wrenches, out)
    assert np.abs(found[:, 0] - path[:, 0]).max() > 0.02 * np.ptp(path[:, 0])


def test_two_handles_of_a_barrow() -> None:
    """Both sensors' wrenches count about the body's origin, and both handles with the whole's acceleration."""
    places = [np.array([-0.1, 1.2, 0.3]), np.array([-0.1, 1.2, -0.3])]
    both = sum(move_phi(PHI, R_BS, r) for r in places)
    barrow = load_object("wheelbarrow")
    parts = {"body": BARROW - np.array(both) / 6, "whole": BARROW + np.array(both) * 5 / 6}
    models = {k: barrow.with_values([*phi, 0.3, 0.5, 0.2], model_of=k) for k, phi in parts.items()}
    state = [0.0, 0.0, 0.1, 0.05, 0.2, 0.5, 0.1, 0.0, 0.0]
    out, raw = np.empty(13), np.array([[20.0, 80.0, 5.0, 1.0, 2.0, 3.0], [-10.0, 90.0, 0.0, 0.0, 1.0, -2.0]])
    sensors = [HandleSensor(R_BS, r) for r in places]
    stepper = SensorStepper(models["body"], DT, sensors)
    stepper.reset(state)
    assert stepper.step(raw, out) is StepStatus.OK
    expected, plain = np.empty(13), Stepper(models["body"], DT)
    plain.reset(state)
    plain.step(sum(wrench_transmission(R_BS, r) @ w for r, w in zip(places, raw, strict=True)), expected)
    assert out == pytest.approx(expected, rel=1e-12, abs=1e-12)
    whole = SensorStepper(models["whole"], DT, [replace(s, handle=HANDLE) for s in sensors])
    whole.reset(state)
    for _ in range(40):  # the filter settles in 3 ms; held in place, the accelerations are those of the first step
        whole.reset([*state, *whole.state[9:]])
        whole.step(raw, out)
    assert out[9:] == pytest.approx(expected[9:], rel=0.02, abs=0.02 * np.abs(expected[9:]).max())


@pytest.mark.parametrize(
    ("of", "handle", "message"),
    [
        ("body", HANDLE, "is a model of the body: it takes the sensor's wrench as is"),
        ("whole", None, "it would be felt twice"),
        ("weight-only", None, "for reproduction of the paper only"),
        ("handle", None, "a handle is what the robot carries"),
        ("", None, "does not say what it describes"),
        ("whole", load_object("door").with_values(DOOR), "is not a model of a handle"),
        ("whole", replace(HANDLE, about={"sensor": "Gamma"}), "its handle with 'Gamma'"),
    ],
)
def test_any_other_pairing_is_refused(of: str, handle: Model | None, message: str) -> None:
    model = door(of)
    with pytest.raises(PalpateError, match=message):
        SensorStepper(model, DT, [HandleSensor(R_BS, LEVER, handle=handle)])


def test_what_is_no_sensor_is_refused() -> None:
    good = HandleSensor(R_BS, LEVER)
    for sensors, message in (
        ([], "no sensor to drive it"),
        ([replace(good, r_body_sensor=np.zeros(2))], "r_body_sensor must be 3 finite numbers"),
        ([replace(good, bias=np.full(6, np.nan))], "bias must be 6 finite numbers"),
        ([replace(good, R_body_sensor=-R_BS)], "R_body_sensor"),
        ([replace(good, limit=[1.0] * 5)], "six positive numbers"),
    ):
        with pytest.raises(PalpateError, match=message):
            SensorStepper(door("body"), DT, sensors)
    for hz in (0.0, math.nan, 500.0):
        with pytest.raises(PalpateError, match="cutoff_hz must be positive and below 500 Hz"):
            SensorStepper(door("body"), DT, [good], cutoff_hz=hz)


def test_bad_readings_brake_and_saturated_ones_count_as_the_limit() -> None:
    sensor = HandleSensor(R_BS, LEVER, handle=HANDLE, limit=[300.0] * 3 + [30.0] * 3)
    stepper, out = SensorStepper(whole_door(), DT, [sensor]), np.empty(3)
    stepper.reset((0.4, 0.3))
    stepper.step([0.0] * 6, out)
    before = stepper.state
    for bad in ([math.nan] * 6, [0.0] * 5, None, [0.0] * 5 + [math.inf], "x"):
        speed = stepper.state[1]
        assert stepper.step(bad, out) is StepStatus.NOT_FINITE  # type: ignore[arg-type]
        assert np.isfinite(stepper.state).all()
        assert 0.9 * speed < stepper.state[1] == out[1] < 0.96 * speed
    ends = []
    for force in (300.0, 3e5):
        stepper.reset(before)
        status = stepper.step([0.0, force, 0.0, 0.0, 0.0, 0.0], out)
        ends.append(out.tolist())
    assert status is StepStatus.SATURATED
    assert ends[0] == ends[1]


def test_its_state_is_saved_and_restored_with_its_filter() -> None:
    stepper, out, ends = SensorStepper(whole_door(), DT, [HandleSensor(R_BS, LEVER, handle=HANDLE)]), np.empty(3), []
    stepper.reset((0.4, 0.3))
    for i in range(20):
        stepper.step([5.0 * i, 20.0, 0.0, 0.0, 0.0, 3.0], out)
    saved = stepper.state
    for _ in range(2):
        stepper.reset(saved)
        for _ in range(20):
            stepper.step([5.0, 20.0, 0.0, 0.0, 0.0, 3.0], out)
        ends.append(stepper.state.tobytes())
    assert ends[0] == ends[1]


@pytest.mark.parametrize("of", DRIVEN_BY)
def test_what_identify_writes_is_paired_as_it_says(of: str) -> None:
    """`weight-only` is no body, in whatever words it is told."""
    model = replace(door("body"), about={"model_of": DRIVEN_BY[of]})
    plain, full = HandleSensor(R_BS, LEVER), HandleSensor(R_BS, LEVER, handle=HANDLE)
    assert model_of(model) == of
    assert ("minus its zero" in wrench_words(model)) == (of == "body")
    assert ("of the person" in wrench_words(model)) == (of == "whole")
    assert bool(doubt(model)) == (of == "weight-only")
    for sensor in (plain, full):
        if (of, sensor) in (("body", plain), ("whole", full)):
            SensorStepper(model, DT, [sensor])
        else:
            with pytest.raises(PalpateError):
                SensorStepper(model, DT, [sensor])
    if of == "body":
        check_pairing(model)
    else:
        with pytest.raises(PalpateError, match=f"model_of is '{of}'"):
            check_pairing(model)


def test_a_weight_only_model_of_an_older_file_is_known() -> None:
    old = {"model_of": "body with the handle's weight compensated, as the paper's authors: for reproduction"}
    with pytest.raises(PalpateError, match="model_of is weight-only"):
        SensorStepper(replace(door("body"), about=old), DT, [HandleSensor(R_BS, LEVER)])
