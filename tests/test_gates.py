"""Every gate is provoked once and named correctly; nothing wrong gets through with a passed verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from palpate.errors import PalpateError
from palpate.experiment import Result, read_experiment, run_experiment
from palpate.experiment.file.reading import Experiment
from palpate.experiment.run import fit_prepared, prepare_experiment
from palpate.experiment.stage import variations
from palpate.recording import Channel, Clock, Recording, load
from palpate.recording.instruments import write_microstrain
from palpate.recording.mat import write_dspace
from tests.handle_files import TRAIN

Array = NDArray[np.float64]


@pytest.fixture(scope="module", autouse=True)
def without_a_curve() -> Iterator[None]:
    """The picture of what lambda does is asked for nowhere here: sixty fits, slow ones where the data are wrong."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("palpate.experiment.stage.result.damping_curve", lambda *_: ())
        yield


@pytest.fixture(scope="session")
def twin(short_handle_folder: Path) -> Path:
    return short_handle_folder


def experiment_of(twin: Path, tmp_path: Path, *changes: tuple[str, str]) -> Experiment[Any]:
    """The twin's experiment with some text replaced; recordings in tmp_path take precedence."""
    text = (twin / "handle.yaml").read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    for name in ("wrench.mat", "imu.csv"):
        source = tmp_path / name if (tmp_path / name).exists() else twin / name
        text = text.replace(f"file: {name}", f"file: {source}")
    (tmp_path / "truth.json").write_text((twin / "truth.json").read_text())
    (tmp_path / "changed.yaml").write_text(text)
    return read_experiment(tmp_path / "changed.yaml")


def run(twin: Path, tmp_path: Path, *changes: tuple[str, str]) -> Result:
    return run_experiment(experiment_of(twin, tmp_path, *changes))


def doubted(twin: Path, tmp_path: Path, *changes: tuple[str, str]) -> str:
    """What the recordings alone say against themselves; that it fails the verdict is seen at a dead channel's."""
    findings = prepare_experiment(experiment_of(twin, tmp_path, *changes)).findings
    return " ".join(f.sentence for f in findings if f.fatal)


@pytest.fixture(scope="session")
def good(short_handle_result: Result) -> Result:
    """The twin as it is."""
    return short_handle_result


def change(twin: Path, tmp_path: Path, file: str, channel: str, how: Callable[[Array], Array]) -> None:
    """A copy of a recording in tmp_path with one channel changed."""
    recording = load(twin / file)
    channels = dict(recording.channels)
    old = channels[channel]
    channels[channel] = Channel(old.name, how(old.samples.copy()), old.clock, old.unit, old.frame)
    changed = Recording(channels, None, recording.format)
    write_dspace(tmp_path / file, changed) if file.endswith(".mat") else write_microstrain(tmp_path / file, changed)


def failed(result: Result, *words: str) -> None:
    assert not result.passed
    said = " ".join(result.data["verdict"]["reasons"])
    assert all(word in said for word in words), said
    assert result.model.about["verdict"].startswith("failed")


def test_a_good_recording_passes_without_a_word(twin: Path, good: Result) -> None:
    assert good.passed
    assert good.data["warnings"] == []
    assert good.model.about["verdict"] == "passed"
    truth = json.loads((twin / "truth.json").read_text())["parameters"]
    inside = [e["ci95"][0] <= truth[n]["value"] <= e["ci95"][1] for n, e in good.data["parameters"].items()]
    assert np.mean(inside) > 0.75


def test_a_good_recording_needs_no_prior(twin: Path, tmp_path: Path) -> None:
    text = (twin / "handle.yaml").read_text()
    start, stop = text.index("prior:"), text.index("reference:")
    result = run(twin, tmp_path, (text[start:stop], ""))
    assert result.passed
    numbers = {n: e for n, e in result.data["parameters"].items() if not n.startswith("bias")}  # small ones are unsure
    assert all(e["status"] == "identified" for e in numbers.values())


def test_the_place_of_an_imu_is_looked_for_all_over_the_segments(
    twin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = experiment_of(twin, tmp_path)
    fit = fit_prepared(experiment, prepare_experiment(experiment))
    whole = variations.imu_place(fit)
    seen: list[Array] = []
    monkeypatch.setattr(variations, "imu_on_load_cell", lambda _, wrench: seen.append(wrench))
    monkeypatch.setattr(variations, "ENOUGH_S", 6.0)
    monkeypatch.setattr(variations, "STRETCH_S", 1.0)
    variations.imu_place(fit)
    assert whole is not None
    known = seen[0][np.isfinite(seen[0]).all(axis=1)]
    rows = {row.tobytes(): i for i, row in enumerate(fit.inputs.sensors[0].wrench.x)}
    times = np.array([fit.inputs.times_s[rows[row.tobytes()]] for row in known])
    first, last = json.loads(TRAIN)
    assert np.ptp(times) > 0.7 * (last - first)
    assert len(times) == pytest.approx(6 * fit.inputs.rate_hz, rel=0.01)


def test_a_turned_sign_is_named(twin: Path, tmp_path: Path) -> None:
    failed(
        run(twin, tmp_path, ("device: Platform", "device: Platform, sign: on-handle")), "the mass is -", "wrong sign"
    )


def test_acceleration_in_g_taken_for_m_per_s2_is_named(twin: Path, tmp_path: Path) -> None:
    assert "g, not m/s2" in doubted(twin, tmp_path, ("format: microstrain-csv", "format: microstrain-csv, g: 1 m/s2"))


def test_degrees_taken_for_radians_are_named(twin: Path, tmp_path: Path) -> None:
    imu = load(twin / "imu.csv")
    channels = dict(imu.channels)
    for axis in "xyz":
        old = channels[f"angular_rate.{axis}"]
        channels[old.name] = Channel(old.name, np.degrees(old.samples), old.clock, old.unit, old.frame)
    write_microstrain(tmp_path / "imu.csv", Recording(channels, None, imu.format))
    assert "deg/s" in doubted(twin, tmp_path)


def test_a_left_handed_gyroscope_is_named(twin: Path, tmp_path: Path) -> None:
    change(twin, tmp_path, "imu.csv", "angular_rate.z", lambda x: -x)
    assert "gyroscope" in doubted(twin, tmp_path)


def test_swapped_axes_of_the_gyroscope_are_named(twin: Path, tmp_path: Path) -> None:
    imu = load(twin / "imu.csv")
    channels = dict(imu.channels)
    x, y = channels["angular_rate.x"], channels["angular_rate.y"]
    channels["angular_rate.x"] = Channel(x.name, y.samples, x.clock, x.unit, x.frame)
    channels["angular_rate.y"] = Channel(y.name, x.samples, y.clock, y.unit, y.frame)
    write_microstrain(tmp_path / "imu.csv", Recording(channels, None, imu.format))
    said = doubted(twin, tmp_path)
    assert "gyroscope" in said
    assert "x and y" in said


def test_a_clipped_channel_is_named(twin: Path, tmp_path: Path) -> None:
    change(twin, tmp_path, "wrench.mat", "Fx1_RawZero", lambda x: np.clip(x, -4.0, 4.0))
    assert "Fx1_RawZero" in doubted(twin, tmp_path)


def test_a_dead_channel_is_named(twin: Path, tmp_path: Path) -> None:
    change(twin, tmp_path, "wrench.mat", "Tz1_RawZero", lambda x: 0 * x)
    failed(run(twin, tmp_path), "Tz1_RawZero")


def test_a_stuck_accelerometer_fails(twin: Path, tmp_path: Path) -> None:
    change(twin, tmp_path, "imu.csv", "acceleration.z", lambda x: 0 * x + 9.8)
    assert "acceleration.z" in doubted(twin, tmp_path)


def test_a_drifting_zero_is_named(twin: Path, tmp_path: Path) -> None:
    change(twin, tmp_path, "wrench.mat", "Fz1_RawZero", lambda x: x + np.linspace(0, 3.0, len(x)))
    result = run(twin, tmp_path)
    said = " ".join([*result.data["warnings"], *result.data["verdict"]["reasons"]])
    assert "drift" in said
    assert "f_z" in said


def test_a_zero_that_changed_between_two_still_stretches_is_named(twin: Path, tmp_path: Path) -> None:
    """The zero jumps after the last moving segment: no slope inside the train segments shows it."""
    change(twin, tmp_path, "wrench.mat", "Fx1_RawZero", lambda x: x + 1.5 * (np.arange(len(x)) > 28_500))
    result = run(twin, tmp_path)
    (said,) = [w for w in result.data["warnings"] if "still stretches" in w]
    assert "f_x -1.5 N" in said
    assert "f_y" not in said


def test_axes_of_the_load_cell_swapped_against_the_imu_are_named(twin: Path, tmp_path: Path) -> None:
    wrench = load(twin / "wrench.mat")
    channels = dict(wrench.channels)
    for kind in "FT":
        x, y = channels[f"{kind}x1_RawZero"], channels[f"{kind}y1_RawZero"]
        channels[x.name] = Channel(x.name, y.samples, x.clock, x.unit, x.frame)
        channels[y.name] = Channel(y.name, x.samples, y.clock, y.unit, y.frame)
    write_dspace(tmp_path / "wrench.mat", Recording(channels, None, wrench.format))
    failed(run(twin, tmp_path), "f_x follows a_y, f_y follows a_x", "left-handed")


def test_clocks_that_drift_apart_are_brought_together(twin: Path, good: Result, tmp_path: Path) -> None:
    """80 ppm are 3 ms over half a minute: a lag that would cost percents of an inertia."""
    imu = load(twin / "imu.csv")
    clock = Clock("imu", imu.one_clock().times_s * (1 + 80e-6))
    channels = {n: Channel(n, c.samples, clock, c.unit, c.frame) for n, c in imu.channels.items()}
    write_microstrain(tmp_path / "imu.csv", Recording(channels, None, imu.format))
    here = run(twin, tmp_path)
    (drift,) = re.findall(r"drift by ([-\d.]+)", " ".join(here.data["warnings"]))
    assert float(drift) == pytest.approx(-80.0, abs=1.0)
    for name, e in here.data["parameters"].items():
        width = e["ci95"][1] - e["ci95"][0]
        assert abs(e["value"] - good.data["parameters"][name]["value"]) < 0.2 * width


def test_wrong_units_of_moments_fail(twin: Path, tmp_path: Path) -> None:
    cell = load(twin / "wrench.mat")
    channels = dict(cell.channels)
    for axis in "xyz":
        old = channels[f"T{axis}1_RawZero"]
        channels[old.name] = Channel(old.name, old.samples * 8.85, old.clock, old.unit, old.frame)
    write_dspace(tmp_path / "wrench.mat", Recording(channels, None, cell.format))
    failed(run(twin, tmp_path))


def test_a_wrong_known_mass_is_named(twin: Path, tmp_path: Path) -> None:
    failed(
        run(twin, tmp_path, ("reference:", "known_mass: {value: 2.4 kg, of: handle}\nreference:")),
        "known mass",
        "scale",
    )


def test_a_wrong_lever_arm_is_named(twin: Path, tmp_path: Path) -> None:
    arms = "[-0.0861, 0.0125, -0.029]", "[-0.0361, 0.0125, -0.029]"
    failed(run(twin, tmp_path, arms), "mm from its place in the drawing")


def test_an_imu_turned_by_four_degrees_is_named(twin: Path, tmp_path: Path) -> None:
    text = (twin / "handle.yaml").read_text()
    rotation = next(line for line in text.splitlines() if "rotation:" in line)
    R = np.array(json.loads(rotation.split(":", 1)[1]))
    c, s = np.cos(np.radians(4.0)), np.sin(np.radians(4.0))
    turned = (np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ R).tolist()
    failed(run(twin, tmp_path, (rotation, f"  rotation: {turned}")), "turned by 4")


def test_a_force_in_pounds_taken_for_newton_is_named_by_its_mass(twin: Path, tmp_path: Path) -> None:
    wrench = load(twin / "wrench.mat")
    channels = {n: Channel(n, 0.2248 * c.samples, c.clock, c.unit, c.frame) for n, c in wrench.channels.items()}
    write_dspace(tmp_path / "wrench.mat", Recording(channels, None, wrench.format))
    failed(run(twin, tmp_path), "far from the prior's", "unit")


def test_without_segments_the_common_time_is_used(twin: Path, tmp_path: Path) -> None:
    text = (twin / "handle.yaml").read_text()
    start, stop = text.index("segments:"), text.index("prior:")
    result = run(twin, tmp_path, (text[start:stop], ""))
    assert result.passed
    assert all(e["status"] == "identified" for e in result.data["parameters"].values())


def test_moments_in_newton_millimetres_taken_for_newton_metres_are_named(twin: Path, tmp_path: Path) -> None:
    wrench = load(twin / "wrench.mat")
    channels = {
        n: Channel(n, (1e3 if n.startswith("T") else 1.0) * c.samples, c.clock, c.unit, c.frame)
        for n, c in wrench.channels.items()
    }
    write_dspace(tmp_path / "wrench.mat", Recording(channels, None, wrench.format))
    failed(run(twin, tmp_path), "1e+03 times what its forces and the motion imply", "N mm")


def test_an_imu_at_200_hz_is_not_attenuated(twin: Path, tmp_path: Path) -> None:
    """Half of its samples would be filtered over a longer time: the measured noise is taken out instead."""
    imu, rng = load(twin / "imu.csv"), np.random.default_rng(4)
    clock = Clock("imu", imu.one_clock().times_s[::5])
    channels = {}
    for name, c in imu.channels.items():
        noise = 0.03 if name.startswith("acc") else 0.01
        channels[name] = Channel(name, c.samples[::5] + noise * rng.normal(size=len(clock)), clock, c.unit, c.frame)
    write_microstrain(tmp_path / "imu.csv", Recording(channels, None, imu.format))
    truth = json.loads((twin / "truth.json").read_text())["parameters"]
    result = run(twin, tmp_path).data["parameters"]
    inside = [e["ci95"][0] <= truth[n]["value"] <= e["ci95"][1] for n, e in result.items() if n[0] in "mcI"]
    assert sum(inside) >= 8


def test_the_slowest_bandwidth_gives_a_result_or_a_reason(twin: Path, tmp_path: Path) -> None:
    result = run(twin, tmp_path, ("clocks: auto", "filtering: {bandwidth: 0.5 Hz}\nclocks: auto"))
    assert set(result.data["verdict"]) == {"passed", "reasons"}


def test_too_short_a_recording_gives_no_interval(twin: Path, tmp_path: Path) -> None:
    result = run(twin, tmp_path, (f"train: {TRAIN}", "train: [10, 14]"))
    failed(result, "too short")
    assert all(e["ci95"] is None for e in result.data["parameters"].values())


def test_declared_errors_become_systematic(twin: Path, tmp_path: Path) -> None:
    declared = "uncertain: {load_cell_scale: 3 %, imu_position: 1 mm}\nreference:"
    result = run(twin, tmp_path, ("reference:", declared))
    m = result.data["parameters"]["m"]
    assert m["systematic"] == pytest.approx(0.03 * m["value"], rel=0.05)
    assert result.data["parameters"]["Ixx"]["systematic"] > 0
    assert m["ci95"][1] - m["value"] == pytest.approx(1.96 * m["systematic"], rel=0.05)  # it is in the interval


@pytest.mark.parametrize(
    ("name", "said"),
    [("c_z", "a centre of mass says nothing about the scale"), ("mc_z", "Did you mean 'c_z'?")],
)
def test_known_numbers_are_called_as_in_results(twin: Path, tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(PalpateError, match=re.escape(f"known.{name}: ")) as error:
        run(twin, tmp_path, ("reference:", f"known: {{{name}: 0.06}}\nreference:"))
    assert said in str(error.value)


def test_a_touched_stretch_counts_less_when_robust(twin: Path, tmp_path: Path) -> None:
    def touch(x: Array) -> Array:
        x[14000:16000] += 6.0
        return x

    change(twin, tmp_path, "wrench.mat", "Fy1_RawZero", touch)
    plain, fair = run(twin, tmp_path), run(twin, tmp_path, ("reference:", "robust: true\nreference:"))
    truth = json.loads((twin / "truth.json").read_text())["parameters"]["m"]["value"]
    errors = [abs(r.data["parameters"]["m"]["value"] - truth) for r in (plain, fair)]
    assert errors[1] < 0.3 * errors[0]
    assert any("robust: true" in w for w in plain.data["warnings"])
    (said,) = [w for w in fair.data["warnings"] if "count less" in w]
    assert "14." in said


def test_replace_keeps_results_apart(good: Result, tmp_path: Path) -> None:
    """Two runs into one folder: the second takes the place of the first, whole."""
    good.save(tmp_path / "out")
    replace(good, data={**good.data, "title": "second"}).save(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "result.json").read_text())["title"] == "second"
