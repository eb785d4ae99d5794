"""What was said of good recordings, and is not any more; beside each, the fault that must still be named."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

from palpate.cli.app import app
from palpate.errors import ExperimentProblem, PalpateError
from palpate.experiment.file.reading import read_experiment
from palpate.experiment.gates.mounting import touched
from palpate.experiment.run import prepare_experiment, run_experiment
from palpate.experiment.stage import ground
from palpate.experiment.stage.capture import capture
from palpate.findings import Finding
from palpate.motion.cloud import Markers, mean_cloud
from palpate.motion.extrinsics import Tilt
from palpate.motion.faults import check_markers
from palpate.physics.motion import Poses
from palpate.recording import Channel, Clock, Recording, load
from palpate.recording.gates import check_channels
from palpate.recording.instruments import write_microstrain
from palpate.twin.instruments import R_SENSOR_IMU, imu_pose_text
from tests.door_files import copy_of, own_copy
from tests.oracles import doors_of_other_make as doors
from tests.oracles import gates_of_other_make as gates

Array = np.ndarray


def strokes(seed: int, rate_hz: float) -> tuple[Array, Array]:
    """An angle (rad) that moves from rest to rest, and where it moves."""
    rng, at = np.random.default_rng(seed), 0.2
    angle, moving = [], []
    for _ in range(10):
        to, u = rng.uniform(0, 1.5), np.linspace(0, 1, round(rng.uniform(0.5, 2) * rate_hz))
        rest = round(rng.uniform(0.3, 1.5) * rate_hz)
        angle += [np.full(rest, at), at + (to - at) * (10 * u**3 - 15 * u**4 + 6 * u**5)]
        moving += [np.zeros(rest), np.ones(len(u))]
        at = to
    return np.concatenate([*angle, np.full(round(rate_hz), at)]), np.concatenate([*moving, np.zeros(round(rate_hz))])


def said_of(x: Array, rate_hz: float = 1000.0) -> list[str]:
    """Causes of findings about the channels of (samples,) or (samples, channels)."""
    clock = Clock("time", np.arange(len(x)) / rate_hz)
    channels = {f"x{i}": Channel(f"x{i}", y, clock, "rad") for i, y in enumerate(np.atleast_2d(x.T))}
    return [f.cause for f in check_channels(Recording(channels, None, "csv"), list(channels))]


@pytest.mark.parametrize("rate_hz", [100.0, 500.0, 1000.0])
@pytest.mark.parametrize("step", [1e-4, 1e-3, 4e-3])
@pytest.mark.parametrize("instrument", ["encoder", "gyroscope"])
def test_what_vibrates_in_motion_and_is_quiet_at_rest_is_not_frozen(
    instrument: str, step: float, rate_hz: float
) -> None:
    for seed in range(2):
        angle, moving = strokes(seed, rate_hz)
        x = angle if instrument == "encoder" else 0.03 + np.gradient(angle) * rate_hz
        for vibration in (1.0, 2.0, 4.0):
            noise = np.random.default_rng(seed).normal(0, vibration * step, len(x))
            assert said_of(np.round((x + moving * noise) / step) * step, rate_hz) == []


def test_an_encoder_that_hangs_in_motion_is_frozen() -> None:
    angle, moving = strokes(1, 1000.0)
    x = np.round((angle + moving * np.random.default_rng(0).normal(0, 4e-3, len(angle))) / 1e-3) * 1e-3
    fastest = int(np.argmax(np.abs(np.gradient(angle))))
    x[fastest : fastest + 100] = x[fastest]
    assert said_of(x, 1000.0) == ["frozen"]
    x[fastest:] = x[fastest]
    assert said_of(x, 1000.0) == ["frozen"]


# --- plain tables -----------------------------------------------------------------------------------------------------

UNKNOWN_RATE = ("torque: torque", "torque: torque\n    rate_known: false")


def findings_of(path: Path, *changes: tuple[str, str]) -> dict[str, Finding]:
    """By cause, of a file after some changes of its text."""
    return {f.cause: f for f in all_findings_of(path, *changes)}


def all_findings_of(path: Path, *changes: tuple[str, str]) -> Sequence[Finding]:
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return run_experiment(read_experiment(path)).findings


def test_without_a_scale_of_time_a_delay_is_stated_in_rows_and_is_still_named(tmp_path: Path) -> None:
    """With one, `test_a_delay_is_told_in_all` says."""
    said = findings_of(gates.write(tmp_path, 1, gates.delayed)[0], UNKNOWN_RATE)["delay"]
    assert "4.8 rows" in said.evidence  # 24 ms late, a row each 5 ms
    assert " ms" not in said.sentence


def test_what_is_fixed_is_compared_with_the_data_only_where_it_has_a_scale_of_time(tmp_path: Path) -> None:
    _, truth = gates.write(tmp_path, 1)
    fixed = f"fixed: {{b_v: {1.3 * truth['b_v']:.4g}, b_c: {1.3 * truth['b_c']:.4g}}}\n"
    for rate, compared in (((), {"b_v", "b_c"}), ((UNKNOWN_RATE,), {"b_c"})):
        said = all_findings_of(gates.write(tmp_path, 1, keys=fixed)[0], *rate)
        assert {f.place for f in said if f.cause == "fixed"} == compared


def test_a_guessed_rate_asks_for_no_other_motion(tmp_path: Path) -> None:
    assert findings_of(gates.write(tmp_path, 1)[0], UNKNOWN_RATE)["unknown"].remedy == ""


@pytest.mark.parametrize("object_", ["wheel", "door in deg"])
def test_a_wheel_may_turn_often_and_a_door_may_not(tmp_path: Path, object_: str) -> None:
    path, t, rng = gates.write(tmp_path, 0)[0], np.arange(0, 60, 0.01), np.random.default_rng(0)
    angle = 90 * np.sin(2 * np.pi * t / 7) ** 2  # of a door, in deg, or of a wheel that turns 28 times
    angle[:50] = 0.0
    angle = 3 * t + 4 * np.sin(2 * np.pi * t / 7) + 0.5 * np.sin(2 * np.pi * t / 1.9) if object_ == "wheel" else angle
    speed = np.gradient(angle, t)
    torque = 0.3 * np.gradient(speed, t) + 0.2 * speed + 0.4 * np.sign(speed) + rng.normal(0, 0.02, len(t))
    table = np.column_stack([t, angle + rng.normal(0, 1e-4, len(t)), torque])
    np.savetxt(tmp_path / "log.csv", table, "%.6g", ",", header="t,angle,torque", comments="")
    text = path.read_text()
    path.write_text(text[: text.index("segments:")] + "segments: {train: [0, 40], test: [40.5, 59]}\n")
    assert "unit deg" in findings_of(path)["travel"].remedy  # of a gate with a spring
    (tmp_path / "gate.yaml").write_text("\n".join(gates.OBJECT.splitlines()[:-1]))
    assert ("travel" in findings_of(path)) == (object_ != "wheel")


def test_an_error_brings_along_what_was_noticed_before_it(tmp_path: Path) -> None:
    path, _ = gates.write(tmp_path, 0)
    table = np.loadtxt(tmp_path / "log.csv", delimiter=",", skiprows=1) * [1, 180 / np.pi, 1]
    np.savetxt(tmp_path / "log.csv", table, "%.8g", ",", header="t,angle,torque", comments="")
    with pytest.raises(ExperimentProblem, match=r"shorter than the low-pass filter.*Before that: .*is its unit deg"):
        findings_of(path, ("  quasi_static:", "  # quasi_static:"), ("train: [28.0, 73.0]", "train: [28.0, 28.02]"))


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations without noise."""
    monkeypatch.setattr(gates, "NOISE_RAD", 0.0)
    monkeypatch.setattr(gates, "NOISE_NM", 0.0)


@pytest.mark.usefixtures("silent")
def test_a_simulation_without_noise_is_identified(tmp_path: Path) -> None:
    path, truth = gates.write(tmp_path, 0)
    result = run_experiment(read_experiment(path))
    assert result.passed
    assert not {"carry-over", "constant", "noise"} & {f.cause for f in result.findings}
    assert abs(result.data["parameters"]["I"]["value"] / truth["I"] - 1) < 0.01


def test_axes_of_a_simulated_load_cell_may_show_nothing_and_those_of_a_real_one_may_not() -> None:
    t = np.arange(0, 10, 1e-3)
    wrench = np.outer(np.sin(3 * t), [1.0, 2.0, 0.0, 0.0, 0.3, 0.1])
    assert said_of(wrench) == []
    noise = np.random.default_rng(0).normal(0, 0.01, wrench.shape) * [1, 1, 0, 1, 1, 1]
    assert said_of(wrench + noise) == ["constant"]  # its cable
    assert said_of(np.outer(np.sin(3 * t), [1.0, 0.0])) == ["constant"]  # angle and torque of a table
    assert said_of(wrench + np.array([0, 0, 0.7, 0, 0, 0])) == ["constant"]


def test_a_wrong_sign_of_a_table_is_named(tmp_path: Path) -> None:
    path, _ = gates.write(tmp_path, 0)
    said = findings_of(path, ("torque: torque", "torque: torque\n    sign: on-hand"))
    assert said["columns"].remedy == "write sign: on-object"


@pytest.mark.parametrize(
    ("effect", "force", "remedy"),
    [
        (gates.by_path, "[fy, fx, fz]", "write force: [fx, fy, fz]"),
        (gates.by_gripper, "[fx, fy, fz]", "the force seems to be in axes that turn with the object"),
    ],
)
def test_a_wrong_order_of_a_force_and_its_axes_are_named(
    tmp_path: Path, effect: gates.Effect, force: str, remedy: str
) -> None:
    said = findings_of(gates.write(tmp_path, 0, effect)[0], ("[fx, fy, fz]", force))
    assert remedy in said["columns"].remedy
    assert [f.cause for f in said.values() if f.fatal] == ["columns"]


def test_a_force_in_its_order_is_not_accused(tmp_path: Path) -> None:
    assert not any(f.fatal for f in findings_of(gates.write(tmp_path, 0, gates.by_path)[0]).values())


def test_a_sensor_that_sits_elsewhere_is_named_by_how_far(tmp_path: Path) -> None:
    path, _ = doors.write(tmp_path, 0)
    said = findings_of(path, ("translation: [0, 0, 0]", "translation: [0, 0, 0.05]"))
    assert set(said) == {"lever arm"}
    assert "(-0.05" in said["lever arm"].evidence
    assert "m f_radial" in said["lever arm"].evidence


def test_the_vertical_does_not_depend_on_where_the_recording_begins(tmp_path: Path) -> None:
    """A leaning door: all of the recording, and from a moment on in which it stands open."""
    path, _ = doors.write(tmp_path, 0, doors.leaning)
    prepared = prepare_experiment(read_experiment(path))
    whole, open_at = prepared.inputs.mechanism, prepared.inputs.times_s[np.argmax(prepared.inputs.q[:, 0] > 1.0)]
    header, *rows = (tmp_path / "markers.csv").read_text().splitlines()
    kept = [row for row in rows if float(row.partition(",")[0]) > open_at]
    (tmp_path / "markers.csv").write_text("\n".join([header, *kept]))
    path.write_text(re.sub(r"  (static|quasi_static): \[.*\]\n", "", path.read_text()))
    cut = prepare_experiment(read_experiment(path)).inputs.mechanism
    assert cut.inclination == pytest.approx(whole.inclination, abs=2e-4)
    assert np.cos(cut.direction - whole.direction) > np.cos(0.02)


def test_a_delay_is_told_in_all(tmp_path: Path) -> None:
    """As long as it is: 50 ms were 51.6 (+- 1.5) of a drawer, because a long delay is more than a slope."""

    def late(run: gates.Run) -> gates.Run:
        n = round(0.05 * gates.RATE_HZ)
        return replace(run, torque=np.concatenate([np.full(n, run.torque[0]), run.torque[:-n]]))

    path, _ = gates.write(tmp_path, 1, late)
    first = findings_of(path)["delay"]
    assert " ms " in first.evidence
    ms = float(first.remedy.split("delay: ")[1].split(" ms")[0])
    assert ms == pytest.approx(50, abs=0.7)
    said = findings_of(path, ("torque: torque", f"torque: torque\n    delay: {ms / 2} ms"))["delay"].remedy
    assert float(said.split("delay: ")[1].split(" ms")[0]) == pytest.approx(ms, rel=0.01)


@pytest.mark.parametrize(
    ("effects", "change", "cause", "remedy"),
    [
        ((gates.by_path,), ("column: x, unit: m}", "column: x, unit: mm}"), "travel", "is its unit m?"),
        ((), ("column: torque, unit: N m", "column: torque, unit: kN m"), "effort", "is its unit N mm?"),
    ],
)
def test_units_that_no_hand_can_mean_are_named(
    tmp_path: Path, effects: tuple[gates.Effect, ...], change: tuple[str, str], cause: str, remedy: str
) -> None:
    changes = [(change[0].replace("x", k), change[1].replace("x", k)) for k in "xyz"] if effects else [change]
    said = findings_of(gates.write(tmp_path, 0, *effects)[0], *changes)
    assert said[cause].fatal
    assert said[cause].remedy == remedy


def test_times_since_1970_and_times_in_milliseconds(tmp_path: Path) -> None:
    path, _ = gates.write(tmp_path, 0)
    table = np.loadtxt(tmp_path / "log.csv", delimiter=",", skiprows=1)
    expected = run_experiment(read_experiment(path)).data["parameters"]
    text, since = path.read_text(), 1_700_000_000

    def shifted(match: re.Match[str]) -> str:
        return f"{match[1]}[{float(match[2]) + since}, {float(match[3]) + since}]"

    table[:, 0] += since
    np.savetxt(tmp_path / "log.csv", table, "%.16g", ",", header="t,angle,torque", comments="")
    path.write_text(re.sub(r"(static: |train: |test: )\[([\d.]+), ([\d.]+)\]", shifted, text))
    data = run_experiment(read_experiment(path)).data["parameters"]
    for name, entry in expected.items():
        assert data[name]["value"] == pytest.approx(entry["value"], abs=0.01 * abs(np.diff(entry["ci95"])[0]))
    table[:, 0] = 1e3 * (table[:, 0] - since)
    np.savetxt(tmp_path / "log.csv", table, "%.16g", ",", header="t,angle,torque", comments="")
    path.write_text(text)
    with pytest.raises(PalpateError, match="unit is ms, write time: "):
        prepare_experiment(read_experiment(path))


def test_an_object_that_gives_more_than_it_took_is_no_object(tmp_path: Path) -> None:
    path, _ = gates.write(tmp_path, 0, gates.helped)
    said = findings_of(path)
    assert said["energy"].fatal
    assert "the object returns" in said["energy"].evidence


# --- segments ---------------------------------------------------------------------------------------------------------


def test_a_shove_in_the_test_is_no_lack_of_carrying_over(tmp_path: Path) -> None:
    path, _ = gates.write(tmp_path, 2)
    table = np.loadtxt(tmp_path / "log.csv", delimiter=",", skiprows=1)
    test = table[:, 0] > gates.STILL_S + gates.SLOW_S + gates.TRAIN_S
    shoved, other = table.copy(), table.copy()
    shoved[:, 2] += 12 * np.exp(-(((table[:, 0] - 80) / 0.15) ** 2))
    other[test, 2] *= 1.3  # another gate
    for changed, cause in ((shoved, "test"), (other, "carry-over")):
        np.savetxt(tmp_path / "log.csv", changed, "%.8g", ",", header="t,angle,torque", comments="")
        said = findings_of(path)
        assert {"test", "carry-over"} & set(said) == {cause}, said
        assert said[cause].fatal == (cause == "carry-over")


# --- instruments ------------------------------------------------------------------------------------------------------


def test_coloured_noise_is_no_hand_and_a_hand_is_one(tmp_path: Path) -> None:
    experiment = read_experiment(doors.write(tmp_path, 3, doors.coloured)[0])
    inputs = prepare_experiment(experiment).inputs
    t, forces = inputs.times_s, np.array([0.5, 0.7, 0.5, 0, 0, 0])
    hands = {  # N, in the static segment, 0.3 to 2.5 s
        "none": 0 * t,
        "taps": 4 * np.exp(-(((t - 1.4) / 0.2) ** 2)),
        "takes hold": 4 * np.clip((t - 2) / 0.4, 0, 1) ** 2,
        "holds": np.sin(5 * t),
    }
    for hand, force in hands.items():
        touched_there = replace(inputs, measured=inputs.measured + force[:, None] * forces)
        case = SimpleNamespace(fit=SimpleNamespace(inputs=touched_there), config=experiment.config)
        assert [f.cause for f in touched(cast("Any", case))] == ["preload"] * (hand != "none"), hand


@pytest.mark.parametrize("stds", [2.0, 6.0])
def test_two_verticals_are_compared_in_the_direction_in_which_they_differ(stds: float) -> None:
    rng, n = np.random.default_rng(0), 6000
    floor = np.column_stack([*rng.uniform(-3, 3, (2, n)), np.full(n, 0.2)]) + rng.normal(0, 1e-4, (n, 3))
    axle = Poses(np.arange(n) / 100, np.broadcast_to(np.eye(3), (n, 3, 3)), floor)
    weak, strong = np.array([1.0, 1.0]) / 2**0.5, np.array([1.0, -1.0]) / 2**0.5
    covariance = np.outer(weak, weak) * np.radians(2.0) ** 2 + np.outer(strong, strong) * np.radians(0.1) ** 2
    for direction, size in ((weak, np.radians(2.0)), (strong, np.radians(0.15))):  # the floor is level to 0.1 deg
        x, y = stds * size * direction
        tilt = Tilt(float(x), float(y), covariance, np.zeros(3), np.zeros(3), "", 100.0)
        assert [f.cause for f in ground._directions(axle, tilt).findings] == ["vertical"] * (stds > 4)


# --- markers ----------------------------------------------------------------------------------------------------------


def test_ghosts_of_one_marker_are_one_line() -> None:
    rng, t = np.random.default_rng(0), np.arange(0, 60, 0.01)
    places = {name: rng.uniform(-0.3, 0.3, 3) for name in "ABCDEF"}
    turn = Rotation.from_rotvec(np.outer(0.6 * np.sin(t), [0, 0, 1])).as_matrix()
    points = np.stack([turn @ p for p in places.values()], axis=1) + rng.normal(0, 2e-4, (len(t), 6, 3))
    points[((t % 2.4) > 1) & ((t % 2.4) < 1.3), 2] += [0.1, 0.05, -0.1]
    points[(t > 20) & (t < 20.4), 4] += [0.0, 0.2, 0.0]
    markers = Markers(tuple(places), t, points)
    checked = check_markers(markers, mean_cloud(markers))
    assert len([f for f in checked.faults if f.kind == "ghost"]) > 20
    assert len(checked.findings) == 2
    assert ["24 more times" in f.evidence for f in checked.findings if "C" in f.place] == [True]


@pytest.fixture(scope="module")
def door_of_other_make(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Simulated once; copy what you change."""
    return doors.write(tmp_path_factory.mktemp("door"), 1)[0].parent


def test_an_inspection_takes_the_body_and_the_clock_that_identification_takes(
    door_of_other_make: Path, tmp_path: Path
) -> None:
    path = shutil.copytree(door_of_other_make, tmp_path, dirs_exist_ok=True) / "body.yaml"
    done = CliRunner().invoke(app, ["inspect", str(path), "--json"])
    data = json.loads(done.stdout)
    assert data["findings"] == []  # markers N1 and N2 stay behind
    assert abs(data["clocks"]["wrench"]["offset_s"]) < 1e-3
    table = (tmp_path / "markers.csv").read_text().splitlines()
    at = table[0].split(",").index("H1_x")
    rows = [line.split(",") for line in table[1:]]
    for row in rows[3000:]:  # a marker of the body comes off
        row[at] = f"{float(row[at]) + 0.08:.6f}"
    (tmp_path / "markers.csv").write_text("\n".join([table[0], *map(",".join, rows)]))
    data = json.loads(CliRunner().invoke(app, ["inspect", str(path), "--json"]).stdout)
    assert any("H1" in f["place"] for f in data["findings"])


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        (
            "wrench: {",
            "wrench: {sign: on-handle, ",
            "recordings.wrench: the wrench has the wrong sign .*: on-other-side",
        ),
        (
            "f_y: {column: f_y, unit: N}, f_z: {column: f_z, unit: N}, n_x: {column: n_x, unit: N m}, "
            "n_y: {column: n_y, unit: N m}, n_z: {column: n_z",
            "f_y: {column: f_z, unit: N}, f_z: {column: f_y, unit: N}, n_x: {column: n_x, unit: N m}, "
            "n_y: {column: n_z, unit: N m}, n_z: {column: n_y",
            "recordings.wrench: its axes are in another order .*x, y, z are what is called x, z, y",
        ),
        (
            "[S1, S2, S3]",
            "[S2, S1, S3]",
            r"markers.sensor.markers: the markers are in the wrong order .*\[S1, S2, S3\]",
        ),
    ],
)
def test_a_mistake_in_the_file_is_no_clock_to_be_searched(
    door_of_other_make: Path, tmp_path: Path, right: str, wrong: str, said: str
) -> None:
    path = shutil.copytree(door_of_other_make, tmp_path, dirs_exist_ok=True) / "body.yaml"
    path.write_text(path.read_text().replace(right, wrong))
    with pytest.raises(ExperimentProblem, match=said):
        prepare_experiment(read_experiment(path))


def test_markers_of_a_sensor_in_the_wrong_order_are_named_where_a_clock_is_found(
    door_of_other_make: Path, tmp_path: Path
) -> None:
    path = shutil.copytree(door_of_other_make, tmp_path, dirs_exist_ok=True) / "body.yaml"
    said = findings_of(path, ("[S1, S2, S3]", "[S3, S1, S2]"))
    assert "write [S1, S2, S3]" in said["order"].evidence
    assert [f.cause for f in said.values() if f.fatal] == ["order"]


def test_slow_noise_turns_no_imu_on_a_door_and_a_wrong_drawing_does(door_folder: Path, tmp_path: Path) -> None:
    path = copy_of(
        door_folder / "body.yaml",
        tmp_path,
        ("device: Platform}", "device: Platform}\n  imu: {file: imu.csv, format: microstrain-csv}"),
        ("clocks: {mocap: 1, wrench: 1}", "clocks: {mocap: 1, wrench: 1, imu: 1}\n" + imu_pose_text().rstrip()),
    )
    recording, rng = load(own_copy(tmp_path, "imu.csv")), np.random.default_rng(0)
    a = np.exp(-1 / (5 * recording["angular_rate.x"].clock.rate_hz))
    channels = {}
    for name, c in recording.channels.items():
        size = {"m/s2": 0.1, "rad/s": 0.01}[c.unit]
        slow = lfilter([size * np.sqrt(1 - a * a)], [1, -a], rng.normal(size=len(c.samples) + 20_000))[20_000:]
        channels[name] = Channel(name, c.samples + slow, c.clock, c.unit, c.frame)
    write_microstrain(tmp_path / "imu.csv", Recording(channels, None, recording.format))
    assert "placement" not in [f.cause for f in capture(read_experiment(path)).findings]
    turn = Rotation.from_euler("z", 20, degrees=True).as_matrix()  # across the hinge
    rotation = f"rotation: {np.round(R_SENSOR_IMU, 9).tolist()}"
    path.write_text(path.read_text().replace(rotation, f"rotation: {(turn @ R_SENSOR_IMU).tolist()}"))
    assert "placement" in [f.cause for f in capture(read_experiment(path)).findings]


def test_a_door_that_moves_slowly_has_a_clock_and_one_that_rests_has_none(
    door_of_other_make: Path, tmp_path: Path
) -> None:
    path = shutil.copytree(door_of_other_make, tmp_path, dirs_exist_ok=True) / "body.yaml"
    path.write_text(path.read_text() + "filtering: {bandwidth: 1.25 Hz}\n")
    offset = prepare_experiment(read_experiment(path)).instruments["wrench"].offset
    assert offset is not None
    assert abs(offset.value_s) < 1e-3
    text = path.read_text()
    rests = "segments: {static: [0.3, 2.5], train: [0.3, 1.5], test: [1.6, 2.5]}\nfiltering: {bandwidth: 6 Hz}\n"
    path.write_text(text[: text.index("segments:")] + rests)
    with pytest.raises(ExperimentProblem, match="hardly moves"):
        prepare_experiment(read_experiment(path))


@pytest.mark.parametrize("falls", [False, True])
def test_a_stribeck_element_is_proposed_where_friction_falls_with_speed_and_nowhere_else(
    tmp_path: Path, falls: bool
) -> None:
    path, _ = gates.write(tmp_path, 1, gates.stribeck if falls else gates.coloured)
    assert any("stribeck" in f.remedy for f in findings_of(path).values()) == falls
