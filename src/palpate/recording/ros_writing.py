"""Channels as ROS messages: wrenches, IMUs, poses and points, in a ROS 1 bag or in MCAP."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np

from palpate.errors import FileProblem
from palpate.files import replacing
from palpate.recording.recording import Array, Recording
from palpate.recording.ros_messages import LAYOUTS

_START_NS = 1_704_067_200_000_000_000
"""The stamp of time zero: 2024-01-01 00:00:00 UTC."""
_TYPES = {
    "wrench": "geometry_msgs/msg/WrenchStamped",
    "imu": "sensor_msgs/msg/Imu",
    "pose": "geometry_msgs/msg/PoseStamped",
    "point": "geometry_msgs/msg/PointStamped",
}


def write_bag(path: Path, recording: Recording) -> None:
    """Write each group "topic/..." of channels as one topic; a channel that fits no message is refused.

    Values are stored as they are. Names without a topic get that of their clock. An IMU may lack its orientation.
    """
    topics = _topics(path, recording)
    with tempfile.TemporaryDirectory() as folder, replacing(path) as temporary:
        if path.suffix.lower() == ".mcap":
            made = _write_2(Path(folder) / "bag", topics)
        else:
            made = _write_1(Path(folder) / "bag.bag", topics)
        copyfile(made, temporary)


def _topics(path: Path, recording: Recording) -> dict[str, tuple[str, str, Array, Array]]:
    """By topic: layout, frame, times in s (n,), values (n, k) in the layout's order."""
    groups: dict[str, list[str]] = {}
    for name, channel in recording.channels.items():
        topic = name.rpartition("/")[0] or re.sub(r"\W+", "_", channel.clock.name)
        groups.setdefault(topic, []).append(name)
    found: dict[str, tuple[str, str, Array, Array]] = {}
    for topic, names in groups.items():
        part = recording.select(names)
        held = {name.rpartition("/")[2]: part.channels[name] for name in names}
        layout = _layout(path, topic, list(held))
        clock = part.one_clock()
        columns: list[Array] = []
        for entry in LAYOUTS[layout]:
            blank = np.full((len(clock), entry.width), np.nan)
            channel = held.get(entry.name)
            if channel is not None and (channel.unit != entry.unit or channel.samples.size != blank.size):
                raise FileProblem(path, f"channel {channel.name!r} is not in {entry.unit} and has no place in a bag")
            columns.append(blank if channel is None else channel.samples.reshape(blank.shape))
        found[topic] = (layout, part.channels[names[0]].frame, clock.times_s, np.hstack(columns))
    return found


def _layout(path: Path, topic: str, held: Sequence[str]) -> str:
    for layout in _TYPES:
        fields = [entry.name for entry in LAYOUTS[layout]]
        needed = [name for name in fields if layout != "imu" or not name.startswith("orientation")]
        if set(needed) <= set(held) <= set(fields):
            return layout
    raise FileProblem(
        path,
        f"the channels {', '.join(held)} of {topic} are no whole message",
        remedy="a bag takes force and torque, acceleration and angular_rate, position, or position and orientation",
    )


def _write_1(path: Path, topics: Mapping[str, tuple[str, str, Array, Array]]) -> Path:
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    with Writer(path) as writer:
        for topic, (layout, frame, times_s, values) in topics.items():
            connection = writer.add_connection(f"/{topic}", _TYPES[layout], typestore=store)
            for stamp_ns, message in _messages(store.types, layout, frame, times_s, values):
                writer.write(connection, stamp_ns, store.serialize_ros1(message, _TYPES[layout]))
    return path


def _write_2(path: Path, topics: Mapping[str, tuple[str, str, Array, Array]]) -> Path:
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.LATEST)
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for topic, (layout, frame, times_s, values) in topics.items():
            connection = writer.add_connection(f"/{topic}", _TYPES[layout], typestore=store)
            for stamp_ns, message in _messages(store.types, layout, frame, times_s, values):
                writer.write(connection, stamp_ns, store.serialize_cdr(message, _TYPES[layout]))
    return path / f"{path.name}.mcap"


def _messages(
    types: Mapping[str, Any], layout: str, frame: str, times_s: Array, values: Array
) -> Iterator[tuple[int, Any]]:
    build = _BUILD[layout]
    header, time = types["std_msgs/msg/Header"], types["builtin_interfaces/msg/Time"]
    numbered = "seq" in header.__dataclass_fields__
    stamps = np.rint(times_s * 1e9).astype(np.int64) + _START_NS
    for place, (stamp_ns, row) in enumerate(zip(stamps.tolist(), values.tolist(), strict=True)):
        stamp = time(sec=stamp_ns // 1_000_000_000, nanosec=stamp_ns % 1_000_000_000)
        more = {"seq": place} if numbered else {}
        yield stamp_ns, build(types, header(stamp=stamp, frame_id=frame, **more), row)


def _vector(types: Mapping[str, Any], row: Sequence[float], kind: str = "Vector3") -> Any:
    return types[f"geometry_msgs/msg/{kind}"](x=row[0], y=row[1], z=row[2])


def _quaternion(types: Mapping[str, Any], row: Sequence[float]) -> Any:
    w, x, y, z = row if row[0] == row[0] else (0.0, 0.0, 0.0, 0.0)
    return types["geometry_msgs/msg/Quaternion"](x=x, y=y, z=z, w=w)


def _wrench(types: Mapping[str, Any], header: Any, row: Sequence[float]) -> Any:
    wrench = types["geometry_msgs/msg/Wrench"](force=_vector(types, row), torque=_vector(types, row[3:]))
    return types[_TYPES["wrench"]](header=header, wrench=wrench)


def _imu(types: Mapping[str, Any], header: Any, row: Sequence[float]) -> Any:
    unknown, absent = np.zeros(9), np.array([-1.0, *[0.0] * 8])
    return types[_TYPES["imu"]](
        header=header,
        orientation=_quaternion(types, row[6:]),
        orientation_covariance=unknown if row[6] == row[6] else absent,
        angular_velocity=_vector(types, row[3:]),
        angular_velocity_covariance=unknown,
        linear_acceleration=_vector(types, row),
        linear_acceleration_covariance=unknown,
    )


def _pose(types: Mapping[str, Any], header: Any, row: Sequence[float]) -> Any:
    position, orientation = _vector(types, row, "Point"), _quaternion(types, row[3:])
    pose = types["geometry_msgs/msg/Pose"](position=position, orientation=orientation)
    return types[_TYPES["pose"]](header=header, pose=pose)


def _point(types: Mapping[str, Any], header: Any, row: Sequence[float]) -> Any:
    return types[_TYPES["point"]](header=header, point=_vector(types, row, "Point"))


_BUILD: Mapping[str, Callable[[Mapping[str, Any], Any, Sequence[float]], Any]] = {
    "wrench": _wrench,
    "imu": _imu,
    "pose": _pose,
    "point": _point,
}
