"""Poses by a robot or a tracker instead of markers: position and orientation at their own clock, no IMU."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.spatial.transform import Rotation

from palpate.errors import DataProblem, PalpateError
from palpate.experiment import Result, read_experiment, run_experiment
from palpate.experiment.run import prepare_experiment
from palpate.motion.tracked import pose_noise, rotations_of, without_jumps
from palpate.physics.motion import Poses
from palpate.recording.recording import Channel, Clock, Recording
from tests import drawer_files, pose_files
from tests.command import palpate as command
from tests.conftest import needs

OBJECTS: dict[str, tuple[Callable[..., Path], dict[str, float]]] = {
    "door": (pose_files.write_door, pose_files.DOOR),
    "drawer": (pose_files.write_drawer, drawer_files.TRUTH),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of a door with three load cells, and of one by a robot's joints: to be copied."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("three", "arm")}
    pose_files.write_door(folders["three"], cells=3)
    pose_files.write_door(folders["arm"], 2, stored="joints")
    return folders


def _copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to, dirs_exist_ok=True)
    return to / "poses.yaml"


def _run(kind: str, folder: Path, seed: int = 0, **options: Any) -> Result:
    return run_experiment(read_experiment(OBJECTS[kind][0](folder, seed, **options)))


def _fatal(result: Result) -> list[str]:
    return [f.sentence for f in result.findings if f.fatal]


@pytest.mark.parametrize("kind", OBJECTS)
def test_the_truth_is_inside_its_intervals(kind: str, tmp_path: Path) -> None:
    done = command("identify", OBJECTS[kind][0](tmp_path, 1), "-o", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["motion"]["from"] == "poses"
    assert result["clocks"]["wrench"]["reference_minus_device_s"] == pytest.approx(-pose_files.LATE_S, abs=2e-3)
    for name, value in OBJECTS[kind][1].items():
        low, high = result["parameters"][name]["ci95"]
        middle, half = (low + high) / 2, (high - low) / 2
        assert abs(middle - value) < 1.5 * half < 0.03 * value, name


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("door", {"said": "wxyz"}, r"leaves its hinge by .* mm \(rms\), but so by 0\.\d+ mm only. Write stored: xyzw"),
        ("drawer", {"said": "wxyz"}, "read in a wrong way .*: write stored: xyzw"),
        ("door", {"world_axes": True}, "in the axes of the world"),
    ],
)
def test_what_is_wrong_is_said(kind: str, options: dict[str, Any], words: str, tmp_path: Path) -> None:
    try:
        said = _fatal(_run(kind, tmp_path, **options))
    except PalpateError as error:
        said = [str(error)]
    assert any(re.search(words, sentence) for sentence in said), said


@pytest.mark.parametrize(
    ("options", "words", "fatal"),
    [
        ({"damage": "spike"}, r"jumps away and comes back \(most by 5\d\.\d mm and .* at 23.98 s\)", False),
        ({"damage": "step"}, r"jumps by 5\d\.\d mm and .* at 23.98 s and stays there", True),
        ({"unit": "mm", "unit_said": "m"}, "the positions span .* m; is their unit mm", True),
        ({"damage": "slow"}, "only every 5th row is new", True),
    ],
)
def test_poses_that_no_body_takes_are_named(options: dict[str, Any], words: str, fatal: bool, tmp_path: Path) -> None:
    path = pose_files.write_drawer(tmp_path, **options)
    try:
        said = [(f.sentence, f.fatal) for f in prepare_experiment(read_experiment(path)).findings]
    except PalpateError as error:  # no clock fits such poses, and the reason stands beside it
        said = [(str(error), True)]
    assert [by for sentence, by in said if re.search(words, sentence)] == [fatal], said


def test_a_force_that_is_only_turned_is_not_believed(tmp_path: Path) -> None:
    path = pose_files.write_drawer(tmp_path, aside=0.0)
    turned = (pose_files.SENSOR[0] * Rotation.from_rotvec([0, 0.9, 0.9])).as_matrix().tolist()
    path.write_text(re.sub(r"rotation: \[.*\]\], t", f"rotation: {turned}, t", path.read_text()))
    result = run_experiment(read_experiment(path))
    assert not result.passed
    assert any("aside of the line along which the object slides" in sentence for sentence in _fatal(result))


@pytest.mark.parametrize("stored", ["wxyz", "xyzw", "rotation-vector", "euler-zyx", "matrix"])
def test_orientations_are_those_of_scipy(stored: str) -> None:
    turns = Rotation.random(50, random_state=3)
    numbers = {
        "xyzw": turns.as_quat(),
        "wxyz": np.roll(turns.as_quat(), 1, axis=1),
        "rotation-vector": turns.as_rotvec(),
        "euler-zyx": turns.as_euler("ZYX"),
        "matrix": turns.as_matrix().reshape(-1, 9),
    }[stored]
    numbers[7] = np.nan
    R = rotations_of(numbers, stored)
    assert np.isnan(R[7]).all()
    np.testing.assert_allclose(np.delete(R, 7, axis=0), np.delete(turns.as_matrix(), 7, axis=0), atol=1e-12)


def test_numbers_that_are_no_quaternions_are_refused() -> None:
    with pytest.raises(DataProblem, match="30 of 30 rows are no quaternions of length one"):
        rotations_of(np.full((30, 4), 0.9), "wxyz")


def test_a_knock_at_a_stop_is_no_jump_and_noise_is_measured() -> None:
    t = np.arange(0, 10, 0.01)
    x = np.where(t < 5, 1.5 * t, 7.5)  # stops within one sample
    turns = Rotation.from_rotvec(np.outer(0.8 * x, [0, 0, 1.0]))
    rng = np.random.default_rng(0)
    position = np.stack([x, 0 * x, 0 * x], axis=1) + rng.normal(0, 3e-4, (len(t), 3))
    turns = turns * Rotation.from_rotvec(rng.normal(0, 1e-3, (len(t), 3)))
    poses, jumps = without_jumps(Poses(t, turns.as_matrix(), position))
    assert jumps == []
    turn, place = pose_noise(poses)
    assert turn == pytest.approx(1e-3 * np.sqrt(2), rel=0.1)
    assert place == pytest.approx(3e-4 * np.sqrt(3), rel=0.1)


def test_the_order_of_a_quaternion_follows_from_its_names_or_must_be_said(tmp_path: Path) -> None:
    path = pose_files.write_drawer(tmp_path)
    unsaid = path.read_text().replace("    stored: xyzw\n", "")
    path.write_text(unsaid)
    with pytest.raises(PalpateError, match="o0, o1, o2, o3 do not tell how a quaternion is stored: write stored: wxyz"):
        read_experiment(path)
    for i, letter in enumerate("xyzw"):
        unsaid = (
            unsaid.replace(f"o{i}: {{", f"q{letter}: {{")
            .replace(f"o{i}]", f"q{letter}]")
            .replace(f" o{i},", f" q{letter},")
            .replace(f"[o{i},", f"[q{letter},")
        )
    path.write_text(unsaid)
    assert read_experiment(path).config.recordings.poses.reading == "xyzw"


def test_three_load_cells_on_one_door_are_a_list(written: dict[str, Path]) -> None:
    result = run_experiment(read_experiment(written["three"] / "poses.yaml"))
    assert result.passed, _fatal(result)
    for name, value in pose_files.DOOR.items():
        low, high = result.data["parameters"][name]["ci95"]
        assert abs((low + high) / 2 - value) < 0.75 * (high - low), name
    assert list(result.data["zero"]["sensors"]) == ["sensor", "sensor_2", "sensor_3"]


WEIGHT = "{mass: 1 kg, com: [0, 0, 0]}"
LISTS = [
    ("file: wrist0.csv, ", "file: wrist0.csv, name: left, ", "recordings.wrench.1.name: two sensors are called 'left'"),
    ("wrist1.csv", "wrist0.csv", "it holds the same numbers as recordings.wrench.0"),
    ("-0.15, 0.02]}]", "-0.15, 0.02]}, {}]", "recordings.wrench.3: this key is missing: poses.sensor.3 is given"),
    ("stage: body", f"stage: body\nhandle: [{WEIGHT}, {WEIGHT}]", "there are 2 handles and 3 load cells"),
    ("wrist2.csv", "wrist9.csv", "recordings.wrench.2.file: .*wrist9.csv"),
    ("stage: body", "stage: body\nhandle: []", r"handle: \[\] is not a text"),
]


@pytest.mark.parametrize(("old", "new", "words"), LISTS)
def test_lists_of_sensors_that_do_not_fit_are_refused(
    old: str, new: str, words: str, written: dict[str, Path], tmp_path: Path
) -> None:
    path = _copied(written["three"], tmp_path)
    text = path.read_text().replace("{file: wrist1.csv, ", "{file: wrist1.csv, name: left, ")
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(PalpateError, match=words):
        run_experiment(read_experiment(path))


def test_two_load_cells_that_were_exchanged_are_named(tmp_path: Path) -> None:
    path = pose_files.write_door(tmp_path, cells=2)
    text = path.read_text()
    path.write_text(text.replace("wrist0", "wrist").replace("wrist1", "wrist0").replace("wrist.csv", "wrist1.csv"))
    try:
        said = _fatal(run_experiment(read_experiment(path)))
    except PalpateError as error:
        said = [str(error)]
    assert any("exchange recordings.wrench.0 and recordings.wrench.1" in sentence for sentence in said), said


def test_joints_of_a_robot_and_its_urdf_tell_the_poses_of_its_tool(written: dict[str, Path]) -> None:
    needs("pinocchio", "pinocchio")
    result = run_experiment(read_experiment(written["arm"] / "poses.yaml"))
    assert result.passed, _fatal(result)
    for name, value in pose_files.DOOR.items():
        low, high = result.data["parameters"][name]["ci95"]
        assert abs((low + high) / 2 - value) < 0.75 * (high - low), name
    assert [entry["file"] for entry in result.data["provenance"]["recordings"]][-1] == "arm.urdf"


ARMS = [
    ("yaw: o3, ", "", "yaw move the frame 'tool0' too"),
    ("yaw: o3", "jaw: o3", "recordings.poses.joints.jaw: there is no joint of this chain 'jaw'. Did you mean 'yaw'"),
    ("frame: tool0", "frame: tool", "recordings.poses.frame: .*'tool'. Did you mean 'tool0'"),
    ("    frame: tool0\n", "", "joints, urdf and frame go together: joints and urdf alone do not tell a pose"),
    ("urdf: arm.urdf", "urdf: robot.csv", "this is no URDF"),
    ("urdf: arm.urdf", "urdf: no.urdf", "recordings.poses.urdf: .*no.urdf"),
    ("{column: o3, unit: rad}", "{column: o3, unit: m}", "the channel 'o3' has the unit 'm', not rad"),
]


@pytest.mark.parametrize(("old", "new", "words"), ARMS)
def test_joints_that_do_not_fit_the_urdf_are_refused(
    old: str, new: str, words: str, written: dict[str, Path], tmp_path: Path
) -> None:
    needs("pinocchio", "pinocchio")
    path = _copied(written["arm"], tmp_path)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(PalpateError, match=words):
        run_experiment(read_experiment(path))


def test_without_pinocchio_the_extra_is_named(written: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    with pytest.raises(PalpateError, match=r"reading a URDF needs .*pinocchio"):
        run_experiment(read_experiment(written["arm"] / "poses.yaml"))


def test_poses_and_a_wrench_of_one_bag(tmp_path: Path) -> None:
    needs("rosbags.highlevel", "ros")
    from tests.writers import write_rosbag

    path = pose_files.write_drawer(tmp_path)
    poses, wrench = (pl.read_csv(tmp_path / name) for name in ("robot.csv", "wrist0.csv"))
    tool, cell = (Clock(name, x["t"].to_numpy()) for name, x in (("tool", poses), ("wrist", wrench)))
    channels = [Channel("tool/position", poses.select("x", "y", "z").to_numpy(), tool, "m")]
    channels += [Channel(f"tool/orientation.{n}", poses[f"o{i}"].to_numpy(), tool) for i, n in enumerate("xyzw")]
    units = ("force", "N"), ("torque", "N m")
    ends = [(f"wrist/{kind}.{axis}", unit) for kind, unit in units for axis in "xyz"]
    channels += [Channel(n, wrench[c].to_numpy(), cell, u) for (n, u), c in zip(ends, "abcdef", strict=True)]
    write_rosbag(tmp_path / "session.mcap", Recording({c.name: c for c in channels}))
    text = path.read_text()
    begin, end = text.index("  poses:\n"), text.index("\nposes:\n")
    position = "position: tool/position, orientation: [tool/orientation.w, tool/orientation.x, tool/orientation.y, "
    both = f"  poses: {{file: session.mcap, {position}tool/orientation.z]}}\n  wrench: {{file: session.mcap}}"
    path.write_text(text[:begin] + both + text[end:])
    prepared = prepare_experiment(read_experiment(path))
    assert not any(f.fatal for f in prepared.findings), prepared.findings
    assert np.nanmax(prepared.inputs.q) == pytest.approx(0.4, abs=0.05)
    assert prepared.instruments["wrench"].clock is not None
