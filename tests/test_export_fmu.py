"""The FMU in a program that nobody here wrote: fmpy validates, loads, steps, saves and restores it."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palpate.runtime import Stepper, StepStatus
from palpate.runtime.native import compile_c
from tests.conftest import needs_program
from tests.exported_models import export_fmu
from tests.generated import STRICT
from tests.test_export_c import SHIPPED, a_minute_at_the_door, closing_door, door_in_python, pushes, shipped

INPUTS = [f"wrench.{row}" for row in ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")]


@pytest.fixture(scope="module")
def fmpy() -> Any:
    try:
        return import_module("fmpy")
    except ImportError:
        return pytest.skip("fmpy is not installed: pip install fmpy")


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs_program("cc")
    path = tmp_path_factory.mktemp("fmu") / "door.fmu"
    export_fmu(replace(closing_door(), about={"model_of": "body (pre-sensor part)", "verdict": "passed"}), path)
    return path


class Slave:
    """An FMU that is driven by hand."""

    def __init__(self, fmpy: Any, path: Path, folder: Path, **start: float) -> None:
        from fmpy.fmi2 import FMU2Slave

        self.description = fmpy.read_model_description(str(path))
        self.vr = {v.name: v.valueReference for v in self.description.modelVariables}
        fmpy.extract(str(path), str(folder))
        name = self.description.coSimulation.modelIdentifier
        self.fmu = FMU2Slave(
            guid=self.description.guid, unzipDirectory=str(folder), modelIdentifier=name, instanceName="it"
        )
        self.fmu.instantiate()
        self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.set(**start)
        self.fmu.exitInitializationMode()

    def set(self, **values: float) -> None:
        self.fmu.setReal([self.vr[name.replace("__", ".")] for name in values], list(values.values()))

    def step(self, i: int, wrench: Any, length: float = 1e-3) -> None:
        self.fmu.setReal([self.vr[name] for name in INPUTS], [float(x) for x in wrench])
        self.fmu.doStep(currentCommunicationPoint=i * 1e-3, communicationStepSize=length)

    @property
    def angle(self) -> float:
        return self.fmu.getReal([self.vr["angle"]])[0]

    @property
    def status(self) -> int:
        return self.fmu.getInteger([self.vr["status"]])[0]


@pytest.fixture
def slave(fmpy: Any, door: Path, tmp_path: Path) -> Iterator[Slave]:
    found = Slave(fmpy, door, tmp_path / "door", angle=0.7)
    yield found
    found.fmu.terminate()
    found.fmu.freeInstance()


def test_it_is_valid_and_declares_its_units(fmpy: Any, door: Path) -> None:
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(door)) == []
    read = fmpy.read_model_description(str(door), validate=True)
    assert read.coSimulation.canGetAndSetFMUstate
    assert float(read.defaultExperiment.stepSize) == 1e-3
    units = {v.name: v.unit for v in read.modelVariables}
    assert units["wrench.n_z"] == "N m"
    assert (units["angle"], units["speed"], units["acceleration"]) == ("rad", "rad/s", "rad/s2")
    assert units["parameters.b_v"] == "N m s/rad"
    base = {u.name: u.baseUnit for u in read.unitDefinitions}["N m s/rad"]
    assert (base.kg, base.m, base.s, base.rad) == (1, 2, -1, -1)
    assert "body (pre-sensor part)" in read.description
    assert "verdict: passed" in read.description
    assert "Left out: angles, widths and lengths" in read.description


def test_the_wrapper_compiles_without_a_warning(door: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(door) as archive:
        archive.extractall(tmp_path)
        names = archive.namelist()
    sources = [tmp_path / "sources" / name for name in ("model.c", "fmi2.c")]
    compile_c(needs_program("cc"), sources, tmp_path / "all.so", *STRICT, shared=True)
    assert {"modelDescription.xml", "resources/model.json", "documentation/index.html"} < set(names)


def simulated(fmpy: Any, path: Path, wrenches: np.ndarray, names: list[str], **options: Any) -> np.ndarray:
    """What fmpy's own loop records at each millisecond, without the start."""
    kinds = [("time", float), *((name, float) for name in INPUTS)]
    signals = np.zeros(len(wrenches), dtype=kinds)
    signals["time"] = np.arange(len(wrenches)) * 1e-3
    for name, column in zip(INPUTS, wrenches.T, strict=True):
        signals[name] = column
    found = fmpy.simulate_fmu(
        str(path),
        stop_time=len(wrenches) * 1e-3,
        output_interval=1e-3,
        input=signals,
        output=[*names, "status"],
        **options,
    )
    return np.stack([found[name] for name in (*names, "status")], axis=1)[1:]


def test_a_minute_of_the_door_is_the_same_as_in_python(fmpy: Any, door: Path) -> None:
    """Closing, latching and resting."""
    wrenches = a_minute_at_the_door()
    found = simulated(fmpy, door, wrenches, ["angle", "speed", "acceleration"])
    _, out, status = door_in_python()
    assert len(found) == 60_000
    assert np.abs(found[:, :2] - out[:, :2]).max() < 1e-9
    assert found[:, 3].astype(int).tolist() == status.tolist()
    assert set(status.tolist()) == {StepStatus.OK, StepStatus.STICKING, StepStatus.AT_LIMIT}


@pytest.mark.parametrize("name", SHIPPED)
def test_every_object_is_valid_and_moves_as_in_python(fmpy: Any, name: str, tmp_path: Path) -> None:
    from fmpy.validation import validate_fmu

    needs_program("cc")
    model = shipped(name)
    (path,) = export_fmu(model, tmp_path / f"{name}.fmu").files
    assert validate_fmu(str(path)) == []
    wrenches = pushes(300, 5)
    stepper, out = (
        Stepper(model, 1e-3),
        np.empty((300, len(model.mechanism.state) + len(model.mechanism.accelerations))),
    )
    stepper.run(wrenches, out)
    found = simulated(fmpy, path, wrenches, list(stepper.names))
    assert np.abs(found[:, :-1] - out).max() < 1e-9


def test_a_state_is_saved_and_restored(slave: Slave) -> None:
    wrenches = pushes(300, 2)
    for i in range(100):
        slave.step(i, wrenches[i])
    saved = slave.fmu.getFMUstate()
    packed = slave.fmu.serializeFMUstate(saved)
    ends: list[float] = []
    for back in (lambda: None, lambda: slave.fmu.setFMUstate(saved)):
        back()
        for i in range(100, 300):
            slave.step(i, wrenches[i])
        ends.append(slave.angle)
    slave.fmu.setFMUstate(slave.fmu.deSerializeFMUstate(packed))
    for i in range(100, 300):
        slave.step(i, wrenches[i])
    assert ends[0] == ends[1] == slave.angle
    slave.fmu.freeFMUstate(saved)


def test_longer_and_uneven_communication_steps_take_the_same_steps_inside(slave: Slave) -> None:
    """Ten at once; then pieces of 0.7 ms, of which some take one step and some none."""
    stepper, out = Stepper(closing_door(), 1e-3), np.empty(3)
    stepper.reset((0.7, 0.0))
    for _ in range(17):
        stepper.step([0, 0, 0, 0, 0, 30.0], out)
    slave.step(0, [0, 0, 0, 0, 0, 30.0], 10e-3)
    time = 10e-3
    for _ in range(10):
        slave.fmu.doStep(currentCommunicationPoint=time, communicationStepSize=0.7e-3)
        time += 0.7e-3
    assert slave.angle == out[0]


def test_a_communication_step_that_would_never_end_is_refused(slave: Slave) -> None:
    from fmpy.fmi1 import FMICallException

    slave.step(0, [0, 0, 0, 0, 0, 30.0])
    before = slave.angle
    for length in (1.1e3, 1e9, 1e300):  # more than a million steps of 1 ms
        with pytest.raises(FMICallException):
            slave.fmu.doStep(currentCommunicationPoint=1e-3, communicationStepSize=length)
        assert slave.angle == before
    slave.step(1, [0, 0, 0, 0, 0, 30.0])
    assert slave.angle != before


def test_a_hand_in_closed_loop_moves_it_as_in_python(slave: Slave) -> None:
    """Each moves under the wrench that its own motion asks for: a hand that wants to swing the door, and lets go."""
    stepper, out = Stepper(closing_door(), 1e-3), np.array([0.7, 0.0, 0.0])
    stepper.reset((0.7, 0.0))
    places, theirs = [slave.vr[name] for name in ("angle", "speed")], [0.7, 0.0]
    for i in range(1500):
        want = 0.7 + 0.5 * math.sin(4e-3 * i)
        hold = 0.0 if 900 < i < 1000 else 1.0
        ours = [0.0] * 5 + [hold * (300.0 * (want - out[0]) - 30.0 * out[1])]
        slave.step(i, [0.0] * 5 + [hold * (300.0 * (want - theirs[0]) - 30.0 * theirs[1])])
        theirs = slave.fmu.getReal(places)
        status = stepper.step(ours, out)
        assert slave.status == status
        assert theirs == pytest.approx(out[:2], abs=1e-12)
    assert abs(theirs[0] - 0.7) > 0.05


def test_bad_input_is_told_and_brakes(slave: Slave, fmpy: Any, door: Path, tmp_path: Path) -> None:
    slave.step(0, [0, 0, 0, 0, 0, 30.0])
    stepper, out = Stepper(closing_door(), 1e-3), np.empty(3)
    stepper.reset((0.7, 0.0))
    stepper.step([0, 0, 0, 0, 0, 30.0], out)
    for i, bad in enumerate((math.nan, math.inf), start=1):
        slave.step(i, [0, 0, 0, 0, 0, bad])
        stepper.step([0, 0, 0, 0, 0, bad], out)
        assert (slave.status, slave.angle) == (StepStatus.NOT_FINITE, out[0])
    before = slave.angle
    slave.set(parameters__I=-1.0)
    slave.step(3, [0, 0, 0, 0, 0, 30.0])
    assert (slave.status, slave.angle) == (StepStatus.NOT_READY, before)
    slave.set(parameters__I=6.0)
    slave.step(4, [0, 0, 0, 0, 0, 30.0])
    assert slave.status == StepStatus.OK
    assert slave.angle != before
    from fmpy.fmi1 import FMICallException

    with pytest.raises(FMICallException):
        slave.fmu.doStep(currentCommunicationPoint=5e-3, communicationStepSize=math.nan)
    for i, wrong in enumerate(({"angle": 3.0}, {"speed": math.nan}, {"parameters__b_c": -1.0})):
        with pytest.raises(FMICallException):
            Slave(fmpy, door, tmp_path / str(i), **wrong)


def test_a_parameter_that_is_tuned_counts_from_the_next_step(slave: Slave) -> None:
    values = dict(zip(closing_door().parameters, closing_door().p.tolist(), strict=True))
    stepper, out = Stepper(closing_door().with_values([*({**values, "I": 3.0}).values()]), 1e-3), np.empty(3)
    stepper.reset((0.7, 0.0))
    stepper.step([0, 0, 0, 0, 0, 30.0], out)
    slave.set(parameters__I=3.0)
    slave.step(0, [0, 0, 0, 0, 0, 30.0])
    assert slave.angle == out[0]


def test_without_a_compiler_the_fmu_has_its_sources_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("palpate.runtime.native.shutil.which", lambda _: None)
    done = export_fmu(closing_door(), tmp_path / "door.fmu")
    assert "no C compiler here" in done.notes[0]
    with zipfile.ZipFile(done.files[0]) as archive:
        assert not any(name.startswith("binaries") for name in archive.namelist())
        assert "sources/fmi2.c" in archive.namelist()
