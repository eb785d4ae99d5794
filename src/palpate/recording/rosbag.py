"""ROS 1 and ROS 2 bags (.bag; .mcap, .db3 or the folder around them), read by rosbags: one clock per topic.

Channels are named "topic/force.x": a wrench has force.x ... and torque.x ..., an IMU acceleration.x ... and
angular_rate.x ..., a pose `position` (n, 3) and the quaternion orientation.w, .x, .y, .z as stored; a transform of
TF is the pose of its child in its parent, "tf/child/position", frame parent. A channel's frame is the frame_id.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copyfile
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from palpate.errors import FileProblem, PalpateError, UnknownName
from palpate.files import replacing
from palpate.recording.recording import Array, Channel, Clock, Recording
from palpate.recording.signature import MCAP, ROS_1, SQLITE, head_of, kind, library, wrong_format

NAME = "rosbag"
_SUFFIXES = {ROS_1: ".bag", MCAP: ".mcap", SQLITE: ".db3"}
_JUMP_NS = 1_000_000_000
"""Messages arrive late by less than this; a stamp further back is a clock that was set."""
_DAY_NS = 86_400 * 1_000_000_000
NAN = float("nan")
_START_NS = 1_704_067_200_000_000_000
"""The stamp of time zero: 2024-01-01 00:00:00 UTC."""
_TYPES = {
    "wrench": "geometry_msgs/msg/WrenchStamped",
    "imu": "sensor_msgs/msg/Imu",
    "pose": "geometry_msgs/msg/PoseStamped",
    "point": "geometry_msgs/msg/PointStamped",
}


@dataclass(frozen=True, slots=True)
class _Series:
    """What one topic (and child frame, or joint) said, message by message."""

    topic: str
    part: str
    layout: str
    frame: str
    stamps_ns: list[int] = field(default_factory=list[int])
    bag_ns: list[int] = field(default_factory=list[int])
    values: list[tuple[float, ...]] = field(default_factory=list[tuple[float, ...]])


def read(
    path: str | Path, *, topics: Sequence[str] | None = None, stamps: Literal["header", "bag"] = "header"
) -> Recording:
    """Read all topics whose messages palpate knows, or those of `topics`.

    Times are the header stamps, or with stamps="bag" the times of recording; a topic whose headers are not stamped gets
    the latter, and its clock is named "... (bag time)". Seconds count from the earliest message; a device whose
    stamps are more than a day off counts from its own first. Messages that arrived late are sorted.
    """
    path = Path(path)
    head = head_of(path)
    if kind(head, path) != NAME:
        raise wrong_format(path, head, NAME)
    if stamps not in ("header", "bag"):
        raise UnknownName("choice of stamps", stamps, ("header", "bag"), where=str(path))
    series = _collect(path, head, topics)
    if not series:
        raise FileProblem(path, "the topics hold no messages", remedy="record again")
    return Recording(_channels(path, series, stamps), path, NAME)


def write(path: str | Path, recording: Recording) -> None:
    """Write a ROS 1 bag, or MCAP where the path ends in .mcap; each group "topic/..." of channels is one topic.

    A channel that fits no message is refused. Values are stored as they are. Names without a topic get that of their
    clock. An IMU may lack its orientation.
    """
    path = Path(path)
    library("rosbags.highlevel", "writing ROS bags")
    topics = _topics(path, recording)
    with tempfile.TemporaryDirectory() as folder, replacing(path) as temporary:
        copyfile(_write(Path(folder) / "bag", topics, mcap=path.suffix.lower() == ".mcap"), temporary)


def _collect(path: Path, head: bytes, topics: Sequence[str] | None) -> list[_Series]:
    any_reader = library("rosbags.highlevel", "reading ROS bags").AnyReader
    from rosbags.typesys import Stores, get_typestore

    by_source: dict[tuple[str, str, str], _Series] = {}
    read = 0
    try:
        # Bags of older ROS 2 versions hold no definitions; these messages did not change since.
        with (
            _with_suffix(path, head) as place,
            any_reader([place], default_typestore=get_typestore(Stores.LATEST)) as bag,
        ):
            chosen = _chosen(path, bag.connections, topics)
            for connection, bag_ns, raw in bag.messages(chosen):
                message = bag.deserialize(raw, connection.msgtype)
                for sample in EXTRACT[connection.msgtype](message):
                    _add(path, by_source, connection.topic.lstrip("/"), sample, bag_ns)
                read += 1
    except PalpateError:
        raise
    except Exception as error:
        where = f" after {read} messages" if read else ""
        raise FileProblem(
            path,
            f"the bag is damaged, not closed or of another program{where} ({type(error).__name__}: {error})",
            remedy="copy it again, or repair it with 'rosbag reindex' (ROS 1), 'mcap recover' or 'ros2 bag reindex'",
        ) from error
    return list(by_source.values())


@contextmanager
def _with_suffix(path: Path, head: bytes) -> Generator[Path]:
    """The bag under a name by which rosbags knows its kind: it looks at suffixes, palpate at content."""
    wanted = next((suffix for magic, suffix in _SUFFIXES.items() if head.startswith(magic)), None)
    if wanted is None:
        yield path if path.is_dir() else path.parent
    elif path.suffix == wanted:
        yield path
    else:
        with tempfile.TemporaryDirectory() as folder:
            link = Path(folder) / f"bag{wanted}"
            link.symlink_to(path.absolute())
            yield link


def _chosen(path: Path, connections: Sequence[Any], topics: Sequence[str] | None) -> list[Any]:
    """The connections to read; a topic that was asked for must be there and of a known type."""
    known = {connection.topic.lstrip("/"): connection.msgtype for connection in connections}
    for topic in topics or ():
        if topic.lstrip("/") not in known:
            raise UnknownName("topic", topic, known, where=str(path))
    wanted = known if topics is None else [topic.lstrip("/") for topic in topics]
    unread = {topic: known[topic] for topic in wanted if known[topic] not in EXTRACT}
    if (topics is not None and unread) or len(unread) == len(wanted):
        listed = ", ".join(f"{topic} ({kind_})" for topic, kind_ in unread.items()) or "nothing"
        readable = ", ".join(name.replace("/msg/", "/") for name in EXTRACT)
        raise FileProblem(path, f"palpate does not read {listed}", remedy=f"it reads {readable}")
    return [c for c in connections if c.topic.lstrip("/") in wanted and c.msgtype in EXTRACT]


def _add(path: Path, by_source: dict[tuple[str, str, str], _Series], topic: str, sample: Sample, bag_ns: int) -> None:
    # A child may hang on several parents in turn; other instruments stay where they are.
    key = (topic, sample.part, sample.frame if sample.layout == "pose" and sample.part else "")
    series = by_source.get(key)
    if series is None:
        series = by_source[key] = _Series(topic, sample.part, sample.layout, sample.frame)
    if sample.frame != series.frame or sample.layout != series.layout:
        raise FileProblem(
            path,
            f"message {len(series.values) + 1} of {topic} is in frame {sample.frame!r}, the first in {series.frame!r}",
            remedy="record instruments on topics of their own",
        )
    series.stamps_ns.append(sample.stamp_ns)
    series.bag_ns.append(bag_ns)
    series.values.append(sample.values)


def _channels(path: Path, series: Sequence[_Series], stamps: str) -> dict[str, Channel]:
    names = _names(series)
    times: list[tuple[NDArray[np.int64], bool]] = [_times(path, one, stamps) for one in series]
    earliest = min(min(one.bag_ns) for one in series)
    near = [int(t.min()) for t, _ in times if abs(int(t.min()) - earliest) < _DAY_NS]
    channels: dict[str, Channel] = {}
    clocks: list[tuple[str, Clock]] = []
    for one, name, (times_ns, by_bag) in zip(series, names, times, strict=True):
        values = np.array(one.values, dtype=np.float64)
        times_ns, values = _in_order(path, name, times_ns, values)
        origin = min(near) if near and abs(int(times_ns[0]) - earliest) < _DAY_NS else int(times_ns[0])
        clock = _shared(
            clocks,
            one.topic,
            f"{name} (bag time)" if by_bag else name,
            np.asarray((times_ns - origin) / 1e9, dtype=np.float64),
        )
        channels |= _fields(one, name, values, clock)
    if not channels:
        raise FileProblem(path, "the messages hold no numbers", remedy="check what was recorded")
    return channels


def _times(path: Path, one: _Series, stamps: str) -> tuple[NDArray[np.int64], bool]:
    """The times in ns, and whether they are those of recording although the stamps were asked for."""
    stamped = np.array(one.stamps_ns, dtype=np.int64)
    bag = np.array(one.bag_ns, dtype=np.int64)
    if stamps == "bag":
        return bag, False
    missing = stamped == 0
    if missing.all():
        return bag, True
    # Simulated time begins at zero; anything else near zero is no stamp.
    if missing.any() and int(stamped[~missing].min()) > _DAY_NS:
        row = int(np.argmax(missing))
        raise FileProblem(
            path, f"message {row + 1} of {one.topic} has no stamp, others have", remedy="read it with stamps='bag'"
        )
    return stamped, False


def _in_order(path: Path, name: str, times_ns: NDArray[np.int64], values: Array) -> tuple[NDArray[np.int64], Array]:
    """Sorted by time; what was sent twice with the same numbers counts once, what contradicts itself is refused."""
    late = np.flatnonzero(np.diff(times_ns) < -_JUMP_NS)
    if len(late):
        row = int(late[0]) + 1
        back_s = float(times_ns[row - 1] - times_ns[row]) / 1e9
        raise FileProblem(
            path,
            f"message {row + 1} of {name} is stamped {back_s:.3f} s before the one before",
            remedy="a clock was set while recording; cut the bag there, or read it with stamps='bag'",
        )
    order = np.argsort(times_ns, kind="stable")
    times_ns, values = times_ns[order], values[order]
    again = np.zeros(len(times_ns), dtype=bool)
    again[1:] = np.diff(times_ns) == 0
    same = np.zeros_like(again)
    same[1:] = ((values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))).all(axis=1)
    if (again & ~same).any():
        row = int(order[np.argmax(again & ~same)])
        raise FileProblem(
            path,
            f"message {row + 1} of {name} has the stamp of another with other numbers",
            remedy="two publishers share the topic, or the stamps are rounded; choose other stamps: 'header' or 'bag'",
        )
    return times_ns[~again], values[~again]


def _shared(clocks: list[tuple[str, Clock]], topic: str, name: str, times_s: Array) -> Clock:
    """The clock of these times: joints and transforms of one message share one."""
    for owner, clock in clocks:
        if owner == topic and np.array_equal(clock.times_s, times_s):
            return clock
    clocks.append((topic, Clock(name, times_s)))
    return clocks[-1][1]


def _fields(one: _Series, name: str, values: Array, clock: Clock) -> dict[str, Channel]:
    channels: dict[str, Channel] = {}
    column = 0
    for entry in LAYOUTS[one.layout]:
        samples = values[:, column : column + entry.width]
        column += entry.width
        if not np.isnan(samples).all():
            full = f"{name}/{entry.name}"
            flat = samples[:, 0] if entry.width == 1 else samples
            channels[full] = Channel(full, flat, clock, entry.unit, one.frame.lstrip("/"))
    return channels


def _names(series: Sequence[_Series]) -> list[str]:
    """The topic, with the child frame or joint; with the parent where a child has several."""
    plain = ["/".join(filter(None, (one.topic, one.part))) for one in series]
    parents: Mapping[int, str] = {place: one.frame.lstrip("/") for place, one in enumerate(series)}
    return [
        name if plain.count(name) == 1 else "/".join((one.topic, parents[place], one.part))
        for place, (one, name) in enumerate(zip(series, plain, strict=True))
    ]


@dataclass(frozen=True, slots=True)
class Field:
    """One channel of a message: the end of its name, how many numbers (1 or 3), its unit."""

    name: str
    width: int
    unit: str


@dataclass(frozen=True, slots=True)
class Sample:
    """The numbers of one message: whose they are below the topic (child frame, joint), stamp in ns, frame."""

    part: str
    layout: str
    stamp_ns: int
    frame: str
    values: tuple[float, ...]


def _scalars(name: str, unit: str, parts: str = "xyz") -> tuple[Field, ...]:
    return tuple(Field(f"{name}.{part}", 1, unit) for part in parts)


_ORIENTATION = _scalars("orientation", "1", "wxyz")
LAYOUTS: Mapping[str, tuple[Field, ...]] = MappingProxyType(
    {
        "wrench": (*_scalars("force", "N"), *_scalars("torque", "N m")),
        "imu": (*_scalars("acceleration", "m/s2"), *_scalars("angular_rate", "rad/s"), *_ORIENTATION),
        "pose": (Field("position", 3, "m"), *_ORIENTATION),
        "point": (Field("position", 3, "m"),),
        # A joint may turn or slide, which the message does not say.
        "joint": (Field("position", 1, "1"), Field("velocity", 1, "1"), Field("effort", 1, "1")),
    }
)
"""Channels per kind of message, in the order of a sample's values. The words are those of the IMU's own reader."""


def _stamp(header: Any) -> int:
    return int(header.stamp.sec) * 1_000_000_000 + int(header.stamp.nanosec)


def _xyz(v: Any) -> tuple[float, float, float]:
    return v.x, v.y, v.z


def _wxyz(q: Any) -> tuple[float, float, float, float]:
    """The quaternion as stored, or nothing where it is none: ROS leaves four zeros where it knows no orientation."""
    return (q.w, q.x, q.y, q.z) if q.w or q.x or q.y or q.z else (NAN, NAN, NAN, NAN)


def _stamped(m: Any, layout: str, *values: float, part: str = "") -> Iterator[Sample]:
    yield Sample(part, layout, _stamp(m.header), m.header.frame_id, values)


def _imu(m: Any) -> Iterator[Sample]:
    """A covariance that begins with -1 says that the quantity is not measured (sensor_msgs/Imu)."""
    nothing = (NAN, NAN, NAN)
    acceleration = _xyz(m.linear_acceleration) if m.linear_acceleration_covariance[0] != -1 else nothing
    rate = _xyz(m.angular_velocity) if m.angular_velocity_covariance[0] != -1 else nothing
    orientation = _wxyz(m.orientation) if m.orientation_covariance[0] != -1 else (NAN, *nothing)
    return _stamped(m, "imu", *acceleration, *rate, *orientation)


def _pose(m: Any, p: Any) -> Iterator[Sample]:
    return _stamped(m, "pose", *_xyz(p.position), *_wxyz(p.orientation))


def _transform(m: Any) -> Iterator[Sample]:
    t = m.transform
    return _stamped(m, "pose", *_xyz(t.translation), *_wxyz(t.rotation), part=m.child_frame_id.lstrip("/"))


def _tf(m: Any) -> Iterator[Sample]:
    for transform in m.transforms:
        yield from _transform(transform)


def _joint_state(m: Any) -> Iterator[Sample]:
    for place, name in enumerate(m.name):
        values = (float(x[place]) if place < len(x) else NAN for x in (m.position, m.velocity, m.effort))
        yield from _stamped(m, "joint", *values, part=name)


EXTRACT: Mapping[str, Callable[[Any], Iterator[Sample]]] = MappingProxyType(
    {
        "geometry_msgs/msg/WrenchStamped": lambda m: _stamped(
            m, "wrench", *_xyz(m.wrench.force), *_xyz(m.wrench.torque)
        ),
        "geometry_msgs/msg/Wrench": lambda m: iter([Sample("", "wrench", 0, "", (*_xyz(m.force), *_xyz(m.torque)))]),
        "sensor_msgs/msg/Imu": _imu,
        "geometry_msgs/msg/PoseStamped": lambda m: _pose(m, m.pose),
        "geometry_msgs/msg/PoseWithCovarianceStamped": lambda m: _pose(m, m.pose.pose),
        "geometry_msgs/msg/TransformStamped": _transform,
        "geometry_msgs/msg/PointStamped": lambda m: _stamped(m, "point", *_xyz(m.point)),
        "tf2_msgs/msg/TFMessage": _tf,
        "tf/msg/tfMessage": _tf,
        "sensor_msgs/msg/JointState": _joint_state,
    }
)
"""Message types that palpate reads, by their ROS 2 names."""


def _topics(path: Path, recording: Recording) -> dict[str, tuple[str, str, Array, Array]]:
    """By topic: layout, frame, times in s (n,), values (n, k) in the layout's order."""
    groups: dict[str, list[str]] = {}
    for name, channel in recording.channels.items():
        topic = name.rpartition("/")[0] or re.sub(r"\W+", "_", channel.clock.name)
        groups.setdefault(topic, []).append(name)
    topics: dict[str, tuple[str, str, Array, Array]] = {}
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
        topics[topic] = (layout, part.channels[names[0]].frame, clock.times_s, np.hstack(columns))
    return topics


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


def _write(path: Path, topics: Mapping[str, tuple[str, str, Array, Array]], *, mcap: bool) -> Path:
    """Write a bag of ROS 1, or of ROS 2 in MCAP; returns the file."""
    from rosbags import rosbag1, rosbag2
    from rosbags.typesys import Stores, get_typestore

    store: Any = get_typestore(Stores.LATEST if mcap else Stores.ROS1_NOETIC)
    bag: Any = (
        rosbag2.Writer(path, version=9, storage_plugin=rosbag2.StoragePlugin.MCAP) if mcap else rosbag1.Writer(path)
    )
    with bag as writer:
        for topic, (layout, frame, times_s, values) in topics.items():
            connection = writer.add_connection(f"/{topic}", _TYPES[layout], typestore=store)
            for stamp_ns, message in _messages(store.types, layout, frame, times_s, values):
                raw = (store.serialize_cdr if mcap else store.serialize_ros1)(message, _TYPES[layout])
                writer.write(connection, stamp_ns, raw)
    return path / f"{path.name}.mcap" if mcap else path


def _messages(
    types: Mapping[str, Any], layout: str, frame: str, times_s: Array, values: Array
) -> Iterator[tuple[int, Any]]:
    header, time = types["std_msgs/msg/Header"], types["builtin_interfaces/msg/Time"]
    numbered = "seq" in header.__dataclass_fields__
    stamps = np.rint(times_s * 1e9).astype(np.int64) + _START_NS
    for place, (stamp_ns, row) in enumerate(zip(stamps.tolist(), values.tolist(), strict=True)):
        stamp = time(sec=stamp_ns // 1_000_000_000, nanosec=stamp_ns % 1_000_000_000)
        more = {"seq": place} if numbered else {}
        yield stamp_ns, _message(types, layout, header(stamp=stamp, frame_id=frame, **more), row)


def _message(types: Mapping[str, Any], layout: str, header: Any, row: Sequence[float]) -> Any:
    """A message of this layout from the numbers of one sample."""

    def vector(first: int, kind: str = "Vector3") -> Any:
        return types[f"geometry_msgs/msg/{kind}"](x=row[first], y=row[first + 1], z=row[first + 2])

    def quaternion(first: int) -> Any:
        w, x, y, z = row[first : first + 4] if row[first] == row[first] else (0.0, 0.0, 0.0, 0.0)
        return types["geometry_msgs/msg/Quaternion"](x=x, y=y, z=z, w=w)

    if layout == "wrench":
        content = {"wrench": types["geometry_msgs/msg/Wrench"](force=vector(0), torque=vector(3))}
    elif layout == "pose":
        content = {"pose": types["geometry_msgs/msg/Pose"](position=vector(0, "Point"), orientation=quaternion(3))}
    elif layout == "point":
        content = {"point": vector(0, "Point")}
    else:
        unknown, absent = np.zeros(9), np.array([-1.0, *[0.0] * 8])
        content = {
            "orientation": quaternion(6),
            "orientation_covariance": unknown if row[6] == row[6] else absent,
            "angular_velocity": vector(3),
            "angular_velocity_covariance": unknown,
            "linear_acceleration": vector(0),
            "linear_acceleration_covariance": unknown,
        }
    return types[_TYPES[layout]](header=header, **content)
