"""ROS bags of both generations: written by rosbags' own writers, read back; late, doubled and unstamped messages."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palpate.errors import FileProblem, MissingExtra, UnknownName
from palpate.recording import Channel, Clock, Recording, load, recognise
from palpate.recording.rosbag import read
from tests.conftest import needs
from tests.writers import write_rosbag as write

needs("rosbags.highlevel", "ros")

from rosbags.rosbag1 import Writer as Writer1  # noqa: E402
from rosbags.rosbag2 import StoragePlugin  # noqa: E402
from rosbags.rosbag2 import Writer as Writer2  # noqa: E402
from rosbags.typesys import Stores, get_types_from_msg, get_typestore  # noqa: E402

START = 1_730_214_153_123_456_789
KINDS = ("bag", "sqlite3", "mcap")
GEOMETRY, SENSOR = "geometry_msgs/msg/", "sensor_msgs/msg/"


class Make:
    """Messages of one ROS generation."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.store = get_typestore(Stores.ROS1_NOETIC if kind == "bag" else Stores.ROS2_HUMBLE)
        if kind == "bag":  # not among rosbags' own types of ROS 1
            tf = "geometry_msgs/TransformStamped[] transforms"
            self.store.register(get_types_from_msg(tf, "tf2_msgs/msg/TFMessage"))
        self.types = self.store.types

    def header(self, stamp_ns: int, frame: str = "") -> Any:
        stamp = self.types["builtin_interfaces/msg/Time"](sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
        return self.types["std_msgs/msg/Header"](
            stamp=stamp, frame_id=frame, **({"seq": 0} if self.kind == "bag" else {})
        )

    def v(self, row: Any, kind: str = "Vector3") -> Any:
        return self.types[GEOMETRY + kind](*(float(x) for x in row))

    def q(self, wxyz: Any) -> Any:
        w, x, y, z = (float(value) for value in wxyz)
        return self.types[GEOMETRY + "Quaternion"](x=x, y=y, z=z, w=w)

    def wrench(self, stamp_ns: int, row: Any, frame: str = "ft") -> Any:
        wrench = self.types[GEOMETRY + "Wrench"](self.v(row[:3]), self.v(row[3:]))
        return self.types[GEOMETRY + "WrenchStamped"](self.header(stamp_ns, frame), wrench)

    def imu(self, stamp_ns: int, row: Any, *, orientation: Any = None) -> Any:
        absent = np.array([-1.0] + [0.0] * 8)
        return self.types[SENSOR + "Imu"](
            header=self.header(stamp_ns, "imu_link"),
            orientation=self.q((0, 0, 0, 0) if orientation is None else orientation),
            orientation_covariance=absent if orientation is None else np.zeros(9),
            angular_velocity=self.v(row[3:]),
            angular_velocity_covariance=np.zeros(9),
            linear_acceleration=self.v(row[:3]),
            linear_acceleration_covariance=np.zeros(9),
        )

    def pose(self, stamp_ns: int, xyz: Any, wxyz: Any) -> Any:
        pose = self.types[GEOMETRY + "Pose"](self.v(xyz, "Point"), self.q(wxyz))
        return self.types[GEOMETRY + "PoseStamped"](self.header(stamp_ns, "map"), pose)

    def transform(self, stamp_ns: int, parent: str, child: str, xyz: Any, wxyz: Any) -> Any:
        transform = self.types[GEOMETRY + "Transform"](self.v(xyz), self.q(wxyz))
        return self.types[GEOMETRY + "TransformStamped"](self.header(stamp_ns, parent), child, transform)

    def bag(self, folder: Path, topics: dict[str, tuple[str, list[tuple[int, Any]]]], stem: str = "test") -> Path:
        """Write topics: type and (time of recording, message) of each; the path that a user would give."""
        path = folder / (f"{stem}.bag" if self.kind == "bag" else stem)
        if self.kind == "bag":
            writer: Any = Writer1(path)
        else:
            plugin = StoragePlugin.MCAP if self.kind == "mcap" else StoragePlugin.SQLITE3
            writer = Writer2(path, version=9, storage_plugin=plugin)
        serialize = self.store.serialize_ros1 if self.kind == "bag" else self.store.serialize_cdr
        with writer:
            for topic, (type_, messages) in topics.items():
                connection = writer.add_connection(topic, type_, typestore=self.store)
                for bag_ns, message in messages:
                    writer.write(connection, bag_ns, serialize(message, type_))
        return path


def wrenches(make: Make, times_ns: Any, rows: Any, *, late_ns: int = 0) -> tuple[str, list[tuple[int, Any]]]:
    """WrenchStamped messages that reach the recorder `late_ns` after their stamp."""
    messages = [
        (START + int(t) + late_ns, make.wrench(START + int(t), row)) for t, row in zip(times_ns, rows, strict=True)
    ]
    return GEOMETRY + "WrenchStamped", messages


@pytest.mark.parametrize("kind", KINDS)
def test_wrench_imu_pose_and_transforms_come_back_with_units_frames_and_clocks(tmp_path: Path, kind: str) -> None:
    rng, make = np.random.default_rng(3), Make(kind)
    wrench, imu, xyz = rng.normal(size=(20, 6)), rng.normal(size=(10, 6)), rng.normal(size=(5, 3))
    wxyz = rng.normal(size=(5, 4))
    wxyz /= np.linalg.norm(wxyz, axis=1, keepdims=True)
    fast, slow = 1_000_000 * np.arange(20), 2_000_000 * np.arange(10)
    tf = [
        (START + int(t), make.types["tf2_msgs/msg/TFMessage"]([
            make.transform(START + int(t), "/world", "cart", xyz[k], wxyz[k]),
            make.transform(START + int(t), "cart", "handle", xyz[-k], wxyz[-k]),
        ]))
        for k, t in enumerate(slow[:5])
    ]  # fmt: skip
    joints = make.types[SENSOR + "JointState"](
        make.header(START + 7), ["door", "lock"], np.array([0.1, 0.2]), np.array([]), np.array([3.0, 4.0])
    )
    point = make.types[GEOMETRY + "PointStamped"](make.header(START + 8, "map"), make.v([1, 2, 3], "Point"))
    path = make.bag(
        tmp_path,
        {
            "/arm/ft": wrenches(make, fast, wrench, late_ns=150_000),
            "/imu": (SENSOR + "Imu", [(START + int(t), make.imu(START + int(t), imu[k])) for k, t in enumerate(slow)]),
            "/goal": (GEOMETRY + "PoseStamped", [(START + k, make.pose(START + k, xyz[k], wxyz[k])) for k in range(5)]),
            "/tf": ("tf2_msgs/msg/TFMessage", tf),
            "/joint_states": (SENSOR + "JointState", [(START + 7, joints)]),
            "/tip": (GEOMETRY + "PointStamped", [(START + 8, point)]),
            "/chatter": ("std_msgs/msg/String", [(START, make.types["std_msgs/msg/String"]("hello"))]),
        },
    )  # fmt: skip
    assert recognise(path) == "rosbag"
    rec = load(path)
    assert rec.source == path
    names = [f"arm/ft/{part}.{axis}" for part in ("force", "torque") for axis in "xyz"]
    np.testing.assert_array_equal(rec.stack(names), wrench)
    assert {(rec[n].unit, rec[n].frame) for n in names} == {("N", "ft"), ("N m", "ft")}
    np.testing.assert_allclose(rec["arm/ft/force.x"].clock.times_s, fast * 1e-9, atol=1e-15)
    # the words of palpate's own IMU reader, so that an experiment finds them without being told
    moved = rec.stack([f"{quantity}.{axis}" for quantity in ("acceleration", "angular_rate") for axis in "xyz"])
    np.testing.assert_array_equal(moved, imu)
    assert (rec["acceleration.x"].unit, rec["angular_rate.z"].unit, rec["imu/acceleration.x"].frame) == (
        "m/s2",
        "rad/s",
        "imu_link",
    )
    assert "imu/orientation.w" not in rec
    np.testing.assert_array_equal(rec["goal/position"].samples, xyz)
    np.testing.assert_array_equal(rec.stack([f"goal/orientation.{axis}" for axis in "wxyz"]), wxyz)
    assert (rec["tf/cart/position"].frame, rec["tf/handle/position"].frame) == ("world", "cart")
    np.testing.assert_array_equal(rec["tf/cart/position"].samples, xyz)
    np.testing.assert_array_equal(rec["tf/handle/position"].samples[1:], xyz[:0:-1])
    assert rec["tf/cart/position"].clock is rec["tf/handle/position"].clock
    assert rec["joint_states/lock/effort"].samples.tolist() == [4.0]
    assert "joint_states/lock/velocity" not in rec
    assert rec["tip/position"].samples.tolist() == [[1.0, 2.0, 3.0]]
    assert not any(name.startswith("chatter") for name in rec)
    assert rec["tip/position"].clock.times_s[0] == pytest.approx(8e-9, abs=1e-15)
    only = load(path, topics=["/imu"])
    assert {clock.name for clock in only.clocks} == {"imu"}


@pytest.mark.parametrize(("kind", "suffix"), [("sqlite3", ".db3"), ("mcap", ".mcap")])
def test_the_file_inside_the_folder_reads_like_the_folder(tmp_path: Path, kind: str, suffix: str) -> None:
    make = Make(kind)
    path = make.bag(tmp_path, {"/ft": wrenches(make, [0, 10], np.ones((2, 6)))})
    inner = next(path.glob(f"*{suffix}"))
    renamed = tmp_path / "download"
    renamed.write_bytes(inner.read_bytes())
    for place in (path, path / "metadata.yaml", inner, renamed):
        assert recognise(place) == "rosbag"
        np.testing.assert_array_equal(load(place)["force.x"].samples, [1, 1])


def test_a_bag_of_an_older_ros_2_holds_no_definitions(tmp_path: Path) -> None:
    make = Make("sqlite3")
    path = make.bag(tmp_path, {"/ft": wrenches(make, [0, 10], np.ones((2, 6)))})
    inner = next(path.glob("*.db3"))
    with sqlite3.connect(inner) as base:
        base.execute("DELETE FROM message_definitions")
    base.close()
    np.testing.assert_array_equal(load(inner)["force.x"].samples, [1, 1])


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(6)))
def test_late_messages_are_sorted_by_their_stamps(tmp_path: Path, order: list[int]) -> None:
    make = Make("bag")
    stamps = 1_000_000 * np.array(order)
    messages = [(START + k, make.wrench(START + int(t), [t, 0, 0, 0, 0, 0])) for k, t in enumerate(stamps)]
    path = tmp_path / "late.bag"
    path.unlink(missing_ok=True)
    rec = load(make.bag(tmp_path, {"/ft": (GEOMETRY + "WrenchStamped", messages)}, "late"))
    np.testing.assert_array_equal(rec["force.x"].samples, 1_000_000 * np.arange(6))
    np.testing.assert_allclose(rec["force.x"].clock.times_s, np.arange(6) * 1e-3, atol=1e-15)


def test_a_repeated_message_counts_once_and_a_contradiction_is_refused(tmp_path: Path) -> None:
    make = Make("bag")
    again = wrenches(make, [0, 5, 5, 9], np.ones((4, 6)))
    assert len(load(make.bag(tmp_path, {"/ft": again}, "again"))["force.x"].samples) == 3
    other = wrenches(make, [0, 5, 5, 9], np.arange(24).reshape(4, 6))
    with pytest.raises(FileProblem, match=r"other\.bag: message 3 of ft has the stamp of another.*'bag'"):
        load(make.bag(tmp_path, {"/ft": other}, "other"))


def test_unstamped_messages_get_the_time_of_recording_and_the_clock_says_so(tmp_path: Path) -> None:
    make = Make("mcap")
    unstamped = [(START + k * 10**6, make.wrench(0, [k] * 6)) for k in range(4)]
    plain = [
        (START + k * 10**6, make.types[GEOMETRY + "Wrench"](make.v([k, 0, 0]), make.v([0, 0, 0]))) for k in range(3)
    ]
    stamped = wrenches(make, [0, 10**6], np.ones((2, 6)), late_ns=400_000)
    topics = {
        "/a": (GEOMETRY + "WrenchStamped", unstamped),
        "/b": (GEOMETRY + "Wrench", plain),
        "/c": stamped,
    }
    rec = load(make.bag(tmp_path, topics))
    assert [clock.name for clock in rec.clocks] == ["a (bag time)", "b (bag time)", "c"]
    np.testing.assert_allclose(rec["a/force.x"].clock.times_s, np.arange(4) * 1e-3, atol=1e-15)
    by_bag = load(tmp_path / "test", stamps="bag")
    np.testing.assert_allclose(by_bag["c/force.x"].clock.times_s, [4e-4, 14e-4], atol=1e-15)
    mixed = {"/a": (GEOMETRY + "WrenchStamped", [*unstamped, *stamped[1]])}
    with pytest.raises(FileProblem, match=r"message 1 of a has no stamp, others do.*stamps='bag'"):
        load(make.bag(tmp_path, mixed, "mixed"))


def test_a_device_with_a_clock_of_its_own_counts_from_its_first_stamp(tmp_path: Path) -> None:
    make = Make("bag")
    own = [(START + k, make.wrench(12_000_000_000 + k * 10**6, [k] * 6)) for k in range(3)]
    topics = {"/ft": (GEOMETRY + "WrenchStamped", own), "/other": wrenches(make, [50, 60], np.ones((2, 6)))}
    rec = load(make.bag(tmp_path, topics))
    np.testing.assert_allclose(rec["ft/force.x"].clock.times_s, [0, 1e-3, 2e-3], atol=1e-15)


def test_a_child_with_two_parents_is_two_poses(tmp_path: Path) -> None:
    make = Make("bag")
    tf = [
        (START + k, make.types["tf2_msgs/msg/TFMessage"]([
            make.transform(START + k, parent, "cup", [k, 0, 0], [1, 0, 0, 0])
        ]))
        for k, parent in enumerate(["table", "hand"])
    ]  # fmt: skip
    rec = load(make.bag(tmp_path, {"/tf": ("tf2_msgs/msg/TFMessage", tf)}))
    assert [rec[f"tf/{parent}/cup/position"].samples[0, 0] for parent in ("table", "hand")] == [0.0, 1.0]


def test_an_orientation_of_four_zeros_is_none(tmp_path: Path) -> None:
    make = Make("bag")
    poses = [(START + k, make.pose(START + k, [k, 0, 0], [k, 0, 0, 0])) for k in range(2)]
    rec = load(make.bag(tmp_path, {"/p": (GEOMETRY + "PoseStamped", poses)}))
    np.testing.assert_array_equal(rec["p/orientation.w"].samples, [np.nan, 1.0])


@pytest.mark.parametrize("suffix", ["bag", "mcap"])
def test_round_trip(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(8)
    ft, cam = Clock("ft", np.arange(50) / 1000), Clock("cam", 0.0005 + np.arange(7) / 100)
    units = {"ft/force": "N", "ft/torque": "N m", "imu/acceleration": "m/s2", "imu/angular_rate": "rad/s"}
    channels = [
        Channel(f"{name}.{axis}", rng.normal(size=50), ft, unit, name.partition("/")[0])
        for name, unit in units.items()
        for axis in "xyz"
    ]
    channels += [Channel("cam/position", rng.normal(size=(7, 3)), cam, "m", "capture")]
    channels += [Channel(f"cam/orientation.{axis}", rng.normal(size=7), cam, "1", "capture") for axis in "wxyz"]
    channels += [Channel("tip/position", rng.normal(size=(7, 3)), cam, "m", "capture")]
    path = tmp_path / f"a.{suffix}"
    write(path, Recording({channel.name: channel for channel in channels}))
    rec = read(path)
    assert list(rec) == [channel.name for channel in channels]
    for channel in channels:
        back = rec[channel.name]
        np.testing.assert_array_equal(back.samples, channel.samples)
        np.testing.assert_allclose(back.clock.times_s, channel.clock.times_s, atol=1e-9)
        assert (back.unit, back.frame) == (channel.unit, channel.frame)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bag_that_is_cut_off_is_refused_with_the_cure(tmp_path: Path, kind: str) -> None:
    make = Make(kind)
    path = make.bag(tmp_path, {"/ft": wrenches(make, range(500), np.ones((500, 6)))})
    inner = path if kind == "bag" else next(p for p in path.iterdir() if p.suffix != ".yaml")
    whole = inner.read_bytes()
    for share in (0.2, 0.6, 0.95):
        inner.write_bytes(whole[: int(share * len(whole))])
        for place in (path, inner):
            with pytest.raises(FileProblem) as error:
                load(place)
            assert str(place) in str(error.value)
            assert "Copy it again, or repair it with" in str(error.value)
            assert "\n" not in str(error.value)
    inner.write_bytes(b"")
    with pytest.raises(FileProblem):
        load(path)


def test_folders_and_files_that_are_no_bag(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileProblem, match="cannot be read"):
        load(tmp_path / "folder")
    with sqlite3.connect(tmp_path / "other.db3") as base:
        base.execute("CREATE TABLE a (b)")
    base.close()
    with pytest.raises(FileProblem, match=r"other\.db3: the bag is damaged, not closed or from another program"):
        load(tmp_path / "other.db3")
    (tmp_path / "a.csv").write_text("t,a\n0,1\n")
    with pytest.raises(FileProblem, match=r"not a rosbag file; it looks like csv\. Read it with format='csv'"):
        load(tmp_path / "a.csv", format="rosbag")


def test_wrong_names_and_unknown_messages(tmp_path: Path) -> None:
    make = Make("bag")
    text = ("std_msgs/msg/String", [(START, make.types["std_msgs/msg/String"]("hello"))])
    both = make.bag(tmp_path, {"/chatter": text, "/ft": wrenches(make, [0], np.ones((1, 6)))}, "both")
    with pytest.raises(UnknownName, match=r"no topic '/f'\. Did you mean 'ft'"):
        load(both, topics=["/f"])
    with pytest.raises(
        FileProblem, match=r"does not read chatter \(std_msgs/msg/String\)\. It reads geometry_msgs/Wrench"
    ):
        load(both, topics=["chatter"])
    with pytest.raises(FileProblem, match="does not read chatter"):
        load(make.bag(tmp_path, {"/chatter": text}, "words"))
    with pytest.raises(UnknownName, match=r"no choice of stamps 'header_stamp'\. Did you mean 'header'"):
        load(both, stamps="header_stamp")


def test_a_clock_that_was_set_back_and_a_frame_that_changes_are_refused(tmp_path: Path) -> None:
    make = Make("bag")
    messages = [(START + k, make.wrench(START + t, [k] * 6)) for k, t in enumerate([0, 5_000_000_000, 10])]
    with pytest.raises(FileProblem, match=r"message 3 of ft is stamped 5\.000 s before the one before.*clock was set"):
        load(make.bag(tmp_path, {"/ft": (GEOMETRY + "WrenchStamped", messages)}, "set"))
    messages = [(START + k, make.wrench(START + k, [k] * 6, frame)) for k, frame in enumerate(["a", "b"])]
    with pytest.raises(FileProblem, match=r"message 2 of ft is in frame 'b', the first in 'a'"):
        load(make.bag(tmp_path, {"/ft": (GEOMETRY + "WrenchStamped", messages)}, "frames"))


def test_without_the_library_the_install_line_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Make("bag")
    path = make.bag(tmp_path, {"/ft": wrenches(make, [0], np.ones((1, 6)))})
    monkeypatch.setitem(sys.modules, "rosbags.highlevel", None)
    with pytest.raises(MissingExtra, match=r"reading ROS bags needs rosbags.*pip install 'palpate\[ros\]'"):
        load(path)
