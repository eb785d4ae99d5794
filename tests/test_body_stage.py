"""The body stage on a simulated door, from its files to the model that moves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from palpate import Model, Stepper
from palpate.cli.app import app
from palpate.experiment import Result, read_experiment, run_experiment
from palpate.experiment.run import fit_prepared, prepare_experiment
from palpate.experiment.stage import clock as stage_clock
from palpate.experiment.stage.clock import clock_by_balance
from palpate.experiment.stage.fit import Plan, fit_inputs, quasi_static_spring
from palpate.experiment.stage.inputs import Filtering, move, whole_balance
from palpate.experiment.stage.prepare import Prepared
from palpate.experiment.stage.variations import estimated
from palpate.identify.shapes import with_shapes
from palpate.motion.clock import ClockMap
from palpate.motion.derivatives import design_lowpass
from palpate.twin.door import DoorTwin
from tests.door_files import copy_of, short_door
from tests.oracles import doors_of_other_make as doors


@pytest.fixture(scope="module")
def door(door_folder: Path) -> tuple[Path, DoorTwin]:
    """A short door's body.yaml, and its twin."""
    return door_folder / "body.yaml", short_door()


PARAMETERS = ("I", "b_v", "b_c", "b_bc", "b_s", "b_l")


def _true(twin: DoorTwin) -> dict[str, float]:
    return {name: value for name, value in twin.model.values.items() if name in PARAMETERS}


def test_the_truth_is_found(door: tuple[Path, DoorTwin], door_result: Result) -> None:
    for name, value in _true(door[1]).items():
        e = door_result.solution[name]
        assert e.ci95 is not None
        half = (e.ci95[1] - e.ci95[0]) / 2
        assert abs(e.value - value) < 1.6 * half, name  # 3 standard deviations
        assert abs(e.value - value) < 0.06 * value, name


def test_the_result_says_what_it_is(door_result: Result, tmp_path: Path) -> None:
    data = door_result.data
    assert data["verdict"]["passed"], data["verdict"]
    assert data["model_of"] == "body"
    assert data["rms"]["test"]["n_z"]["percent_of_range"] < 3
    assert 1 < data["kappa"] < 30
    assert data["replay"]["rms"] < np.radians(3)
    assert set(data["shapes"]) == {"b_bc.above", "b_bc.width", "b_s.above", "b_s.width"}
    door_result.save(tmp_path)
    assert json.loads((tmp_path / "result.json").read_text()) == json.loads(json.dumps(data))
    model = Model.load(tmp_path / "model.json")
    assert model.about["model_of"].startswith("body")
    assert model.about["sensor"] == "ati-omega85 (Platform)"
    assert "nobody touched" in model.about["zeroing"]


def test_the_model_moves_and_closes(door_result: Result) -> None:
    assert door_result.model is not None
    door = Stepper(door_result.model, dt=1e-3)
    door.reset([np.radians(80), 0.0])
    out = np.empty(door.size)
    for _ in range(8000):
        door.step((0, 0, 0, 0, 0, 0), out)
        if out[0] < np.radians(5):
            break
    assert out[0] < np.radians(40)


def test_the_whole_contains_the_handle(door: tuple[Path, DoorTwin], door_result: Result, tmp_path: Path) -> None:
    path = copy_of(door[0], tmp_path, ("model_of: body", "model_of: whole"))
    whole = run_experiment(read_experiment(path))
    more = whole.solution["I"].value - door_result.solution["I"].value
    assert more == pytest.approx(door[1].handle_inertia, rel=0.1)


def test_the_balance_finds_the_clock(door_prepared: Prepared) -> None:
    """The load cell's clock is moved by 1.234 s; the balance moves it back, without a first guess and with one."""
    inputs = door_prepared.inputs
    (sensor,) = inputs.sensors
    early = replace(sensor, wrench=replace(sensor.wrench, times_s=sensor.wrench.times_s - 1.234))
    for guess in (None, ClockMap(1.2, 0.0, 0.0, 0.0, 0.0, False)):
        moved = replace(inputs, sensors=(early,)).on_clock(guess)
        chosen = [*door_prepared.segments["quasi_static"], *door_prepared.segments["train"]]
        found = clock_by_balance(moved, chosen).clock
        low, high = found.interval_at(np.array(20.0))
        assert low - 1e-4 < 1.234 < high + 1e-4
        assert high - low < 5e-3


def test_stretches_of_long_segments_lead_to_the_same_clock(
    door_prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The valley is found by a part of the segments, its ground is that of all of them."""
    chosen = sorted([*door_prepared.segments["quasi_static"], *door_prepared.segments["train"]])
    assert stage_clock.stretches(chosen, door_prepared.inputs.rate_hz) == chosen
    blind = replace(door_prepared.inputs, clock=None)
    whole = clock_by_balance(blind, chosen)
    monkeypatch.setattr(stage_clock, "ENOUGH_S", 11.0)
    monkeypatch.setattr(stage_clock, "STRETCH_S", 4.0)
    some = stage_clock.stretches(chosen, door_prepared.inputs.rate_hz)
    assert sum(b - a for a, b in some) < 0.6 * sum(b - a for a, b in chosen)
    assert all(any(a - 1e-9 <= c and d <= b + 1e-9 for a, b in chosen) for c, d in some)
    found, middle = clock_by_balance(blind, chosen), np.array(20.0)
    assert found.clock.offset_at(middle) == pytest.approx(whole.clock.offset_at(middle), abs=whole.std_s)
    assert found.std_s == pytest.approx(whole.std_s, rel=0.2)
    # what is shown is of all segments too: as much is explained, of as much
    assert found.explained == pytest.approx(whole.explained, abs=1e-6)
    assert np.abs(found.misfit - np.interp(found.lags_s, whole.lags_s, whole.misfit)).max() < 0.05


def test_a_clock_that_is_hardly_off_changes_wrenches_by_their_slope(door_prepared: Prepared) -> None:
    """Below 10 Hz by as much as resampling shows over a millisecond to either side."""
    inputs, lowpass, clock = door_prepared.inputs, design_lowpass(100.0, 10.0), door_prepared.inputs.clock
    assert clock is not None
    clock, far = replace(clock, offset_std_s=2e-5, drift_std_ppm=1.0), 50
    by_clock = {"clock": (clock.offset_std_s, 0.0), "drift": (0.0, clock.drift_std_ppm)}
    inputs = inputs.on_clock(clock)
    moved = {v.name: v.inputs.measured - inputs.measured for v in estimated(inputs) if v.name in by_clock}
    assert moved.keys() == by_clock.keys()
    for name, (late, ppm) in by_clock.items():
        ends = [
            replace(clock, offset_s=clock.offset_s + n * late, drift_ppm=clock.drift_ppm + n * ppm) for n in (-far, far)
        ]
        before, after = (inputs.on_clock(end).measured for end in ends)
        expected = (after - before) / (2 * far)
        a, b = (lowpass.apply(np.nan_to_num(x[0]).T)[:, 20:-20] for x in (expected, moved[name]))
        assert (np.sqrt(np.mean((a - b) ** 2, axis=1)) < 0.01 * np.sqrt(np.mean(a**2, axis=1))).all()


def test_the_quasi_static_spring_is_a_polynomial_through_slow_samples(door_prepared: Prepared) -> None:
    inputs, slowly = door_prepared.inputs, tuple(door_prepared.segments["quasi_static"])
    moved = move(inputs)
    balance = whole_balance(inputs, moved)
    found = quasi_static_spring(inputs, balance, Plan(tuple(door_prepared.segments["train"]), slowly))
    assert found is not None
    closer, hinge = balance.kinematics.coordinates["closer"], balance.kinematics.coordinates["hinge"]
    inside = np.zeros(len(balance.times_s), dtype=bool)
    for s in slowly:
        inside[slice(*balance.indices(s))] = True
    slow = inside & (np.abs(np.nan_to_num(hinge.speed, nan=1.0)) < 0.02) & np.isfinite(balance.wrench[:, 5])
    expected = np.polynomial.polynomial.polyfit(
        np.asarray(closer.position)[slow], (-balance.wrench[:, 5] / np.asarray(closer.ratio[0]))[slow], 3
    )
    assert np.allclose([found.values[f"c_{i}"] for i in range(4)], expected, rtol=1e-6)


def test_heavy_windows_bias_what_parallel_filtering_does_not(
    door: tuple[Path, DoorTwin], door_prepared: Prepared
) -> None:
    """The published way loses damping in the zones; the same data, the zones known in both."""
    twin, inputs, segments = door[1], door_prepared.inputs, door_prepared.segments
    shapes = {name: value for name, value in twin.model.shapes.items() if name in inputs.model.shapes}
    inputs = inputs.with_model(with_shapes(inputs.model, shapes))
    published = replace(inputs, filtering=Filtering(0.31, 4, None, None, published=True))
    slowly, train = tuple(segments["quasi_static"]), tuple(segments["train"])
    ours = fit_inputs(inputs, segments, Plan((*slowly, *train))).solution
    theirs = fit_inputs(published.on_clock(published.clock), segments, Plan(train, slowly)).solution
    names = ("b_v", "b_bc", "b_s")
    error = {n: (abs(s[n].value / twin.model.values[n] - 1) for s in (ours, theirs)) for n in names}
    pairs = {n: tuple(pair) for n, pair in error.items()}
    assert all(mine < 0.06 for mine, _ in pairs.values()), pairs
    assert max(other for _, other in pairs.values()) > 2 * max(mine for mine, _ in pairs.values()), pairs


def test_declared_errors_are_told_apart(door: tuple[Path, DoorTwin], tmp_path: Path) -> None:
    path = copy_of(
        door[0], tmp_path, ("model_of: body", "model_of: body\nuncertain: {load_cell_scale: 1 %, links: 1 mm}")
    )
    found = run_experiment(read_experiment(path)).solution["I"]
    assert found.systematic == pytest.approx(0.01 * found.value, rel=0.2)


def test_variants_from_the_command_line(door: tuple[Path, DoorTwin], tmp_path: Path) -> None:
    run = CliRunner().invoke(app, ["variants", str(door[0]), "-o", str(tmp_path), "-q"])
    assert run.exit_code == 0, run.output
    found = json.loads((tmp_path / "variants.json").read_text())
    assert "laminar" in found["chosen"]
    assert len(found["variants"]) > 40


def test_zones_that_contact_drew_along_do_not_hide_it(tmp_path: Path) -> None:
    """In the fit over all of the travel a buffer near its end looks like a zone that begins there."""
    effects = doors.zones_guessed, doors.soft_ends
    experiment = read_experiment(doors.write(tmp_path, 6, *effects)[0])
    fit, truth = fit_prepared(experiment, prepare_experiment(experiment)), doors.simulate(6, *effects)[0].door
    assert fit.shaped is not None
    for name, value in (("b_bc.above", truth.above_bc), ("b_s.above", truth.above_l)):
        assert fit.shaped[name].interval is not None
        assert fit.shaped[name].value == pytest.approx(value, abs=np.radians(0.1))
    for name in ("I", "b_bc", "b_s"):
        assert fit.solution[name].value == pytest.approx(truth.parameters[name], rel=0.05), name


def test_stops_are_not_drawn_in_by_what_contact_spoiled(tmp_path: Path) -> None:
    """A buffer at 72 deg: all above 68 was left out, and with it the zone of b_bc."""

    def buffer(run: doors.Run) -> doors.Run:
        return replace(run, stops=(0.0, np.radians(72)), stop=(1000.0, 100.0))

    experiment = read_experiment(doors.write(tmp_path, 3, buffer)[0])
    fit, truth = fit_prepared(experiment, prepare_experiment(experiment)), doors.simulate(3, buffer)[0].door
    assert fit.inputs.stops is not None
    assert np.degrees(fit.inputs.stops[1]) == pytest.approx(72, abs=1)
    for name in ("I", "b_bc", "b_s"):
        assert fit.solution[name].value == pytest.approx(truth.parameters[name], rel=0.1), name


def test_c_that_a_compiler_refuses_is_a_warning(
    door: tuple[Path, DoorTwin], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_text("#!/bin/sh\necho error: no such thing >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setattr("palpate.runtime.native._PAYS", 0)
    data = run_experiment(read_experiment(door[0])).data
    assert data["verdict"]["passed"]
    assert data["replay"]["played"] == "Python"
    assert data["replay"]["not_in_c"].endswith("refuses the generated C: error: no such thing")
    assert any("played in Python" in x for x in data["warnings"])
