"""ROS 1 and ROS 2 bags (.bag; .mcap, .db3 or the folder around them), read by rosbags: one clock per topic.

Channels are named "topic/force.x": a wrench has force.x ... and torque.x ..., an IMU acceleration.x ... and
angular_rate.x ..., a pose `position` (n, 3) and the quaternion orientation.w, .x, .y, .z as stored; a transform of
TF is the pose of its child in its parent, "tf/child/position", frame parent. A channel's frame is the frame_id.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from palpate.errors import FileProblem, UnknownName
from palpate.recording.formats import MCAP, ROS_1, SQLITE, check_kind, head_of, library, refusing_damage
from palpate.recording.recording import Array, Channel, Clock, Recording

NAME = "rosbag"
_SUFFIXES = {ROS_1: ".bag", MCAP: ".mcap", SQLITE: ".db3"}
_SECOND_NS = 1_000_000_000
"""Messages arrive late by less than this; a stamp further back is a clock that was set."""
_DAY_NS = 86_400 * _SECOND_NS
_REPAIR = "copy it again, or repair it with 'rosbag reindex' (ROS 1), 'mcap recover' or 'ros2 bag reindex'"


@dataclass(frozen=True, slots=True)
class _Field:
    """An attribute of a message: its name in channels, unit and parts, each a scalar or together a vector (n, 3)."""

    name: str
    attribute: str
    unit: str
    parts: str = "xyz"
    vector: bool = False

    @property
    def channels(self) -> list[str]:
        """The ends of the channels' names."""
        return [self.name] if self.vector or not self.parts else [f"{self.name}.{part}" for part in self.parts]

    @property
    def width(self) -> int:
        """Numbers per channel."""
        return len(self.parts) if self.vector else 1

    def numbers(self, holder: Any) -> list[float]:
        """What a message holds. NaN where a covariance begins with -1, which says that the quantity is not measured
        (sensor_msgs/Imu), and where a quaternion is four zeros, which ROS leaves where it knows no orientation.
        """
        held = attrgetter(self.attribute)(holder) if self.attribute else holder
        values = [float(getattr(held, part)) for part in self.parts]
        covariance = getattr(holder, f"{self.attribute}_covariance", (0.0,))
        absent = covariance[0] == -1 or (len(values) == 4 and not any(values))
        return [np.nan] * len(values) if absent else values


LAYOUTS: Mapping[str, tuple[_Field, ...]] = MappingProxyType(
    {
        "wrench": (_Field("force", "force", "N"), _Field("torque", "torque", "N m")),
        "imu": (
            _Field("acceleration", "linear_acceleration", "m/s2"),
            _Field("angular_rate", "angular_velocity", "rad/s"),
            _Field("orientation", "orientation", "1", "wxyz"),
        ),
        "pose": (
            _Field("position", "position", "m", vector=True),
            _Field("orientation", "orientation", "1", "wxyz"),
        ),
        "point": (_Field("position", "", "m", vector=True),),
        "transform": (
            _Field("position", "translation", "m", vector=True),
            _Field("orientation", "rotation", "1", "wxyz"),
        ),
        # A joint may turn or slide, which the message does not say.
        "joint": tuple(_Field(name, name, "1", "") for name in ("position", "velocity", "effort")),
    }
)
"""What each kind of message holds, in the order of a sample's values. The words are those of the IMU's own reader."""
MESSAGES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "geometry_msgs/msg/WrenchStamped": ("wrench", "wrench"),
        "geometry_msgs/msg/Wrench": ("wrench", ""),
        "sensor_msgs/msg/Imu": ("imu", ""),
        "geometry_msgs/msg/PoseStamped": ("pose", "pose"),
        "geometry_msgs/msg/PoseWithCovarianceStamped": ("pose", "pose.pose"),
        "geometry_msgs/msg/TransformStamped": ("transform", "transform"),
        "geometry_msgs/msg/PointStamped": ("point", "point"),
        "tf2_msgs/msg/TFMessage": ("transform", "transform"),
        "tf/msg/tfMessage": ("transform", "transform"),
        "sensor_msgs/msg/JointState": ("joint", ""),
    }
)
"""Message types that palpate reads, by their ROS 2 names: layout, and the attribute that holds it."""


@dataclass(frozen=True, slots=True)
class _Series:
    """The samples of one instrument: stamp and time of recording in ns, and the values in the layout's order."""

    topic: str
    part: str
    """Child frame or joint, where a topic holds several."""
    layout: str
    frame: str
    samples: list[tuple[int, int, Sequence[float]]] = field(default_factory=list[tuple[int, int, Sequence[float]]])


def read(path: Path, *, topics: Sequence[str] | None = None, stamps: Literal["header", "bag"] = "header") -> Recording:
    """Read all topics whose messages palpate knows, or those of `topics`.

    Times are the header stamps, or with stamps="bag" the times of recording; a topic whose headers are not stamped gets
    the latter, and its clock is named "... (bag time)". Seconds count from the earliest message; a device whose
    stamps are more than a day off counts from its own first. Messages that arrived late are sorted.
    """
    head = head_of(path)
    check_kind(path, head, NAME)
    if stamps not in ("header", "bag"):
        raise UnknownName("choice of stamps", stamps, ("header", "bag"), where=str(path))
    series = _collect(path, head, topics)
    if not series:
        raise FileProblem(path, "the topics hold no messages", remedy="record again")
    return Recording(_channels(path, series, stamps), path, NAME)


def _collect(path: Path, head: bytes, topics: Sequence[str] | None) -> list[_Series]:
    any_reader = library("rosbags.highlevel", "reading ROS bags").AnyReader
    from rosbags.typesys import Stores, get_typestore

    by_source: dict[tuple[str, str, str], _Series] = {}
    # Bags of older ROS 2 versions hold no definitions; these messages did not change since.
    with (
        refusing_damage(path, "the bag is damaged, not closed or from another program", _REPAIR),
        _with_suffix(path, head) as place,
        any_reader([place], default_typestore=get_typestore(Stores.LATEST)) as bag,
    ):
        chosen = _chosen(path, bag.connections, topics)
        for connection, bag_ns, raw in bag.messages(chosen):
            message, topic = bag.deserialize(raw, connection.msgtype), connection.topic.lstrip("/")
            layout, attribute = MESSAGES[connection.msgtype]
            for part, stamp_ns, frame, values in _samples(message, layout, attribute):
                # A child may hang on several parents in turn; other instruments stay where they are.
                key = (topic, part, frame if layout == "transform" else "")
                series = by_source.setdefault(key, _Series(topic, part, layout, frame))
                if (frame, layout) != (series.frame, series.layout):
                    count = len(series.samples) + 1
                    wrong = f"message {count} of {topic} is in frame {frame!r}, the first in {series.frame!r}"
                    raise FileProblem(path, wrong, remedy="record instruments on topics of their own")
                series.samples.append((stamp_ns, bag_ns, values))
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
    unread = {topic: known[topic] for topic in wanted if known[topic] not in MESSAGES}
    if (topics is not None and unread) or len(unread) == len(wanted):
        listed = ", ".join(f"{topic} ({kind_})" for topic, kind_ in unread.items()) or "nothing"
        readable = ", ".join(name.replace("/msg/", "/") for name in MESSAGES)
        raise FileProblem(path, f"palpate does not read {listed}", remedy=f"it reads {readable}")
    return [c for c in connections if c.topic.lstrip("/") in wanted and c.msgtype in MESSAGES]


def _samples(message: Any, layout: str, attribute: str) -> Iterator[tuple[str, int, str, Sequence[float]]]:
    """Whose numbers a message holds below its topic (child frame, joint), their stamp in ns, frame, and themselves."""
    if hasattr(message, "transforms"):
        for transform in message.transforms:
            yield from _samples(transform, layout, attribute)
        return
    stamp_ns, frame = 0, ""
    if hasattr(message, "header"):
        stamp, frame = message.header.stamp, message.header.frame_id
        stamp_ns = int(stamp.sec) * _SECOND_NS + int(stamp.nanosec)
    if layout == "joint":
        series = [getattr(message, entry.attribute) for entry in LAYOUTS[layout]]
        for place, name in enumerate(message.name):
            yield name, stamp_ns, frame, [float(x[place]) if place < len(x) else np.nan for x in series]
    else:
        holder = attrgetter(attribute)(message) if attribute else message
        child = getattr(message, "child_frame_id", "").lstrip("/")
        yield child, stamp_ns, frame, [x for entry in LAYOUTS[layout] for x in entry.numbers(holder)]


def _channels(path: Path, series: Sequence[_Series], stamps: str) -> dict[str, Channel]:
    plain = ["/".join(filter(None, (one.topic, one.part))) for one in series]
    times = [_times(path, one, stamps) for one in series]
    earliest = min(bag_ns for one in series for _, bag_ns, _ in one.samples)
    firsts = [int(t.min()) for t, _ in times]
    common = min((t for t in firsts if abs(t - earliest) < _DAY_NS), default=0)
    channels: dict[str, Channel] = {}
    clocks: dict[tuple[str, bytes], Clock] = {}
    for one, name, (times_ns, by_bag), first in zip(series, plain, times, firsts, strict=True):
        # A child that hangs on several parents needs their names to be told apart.
        name = name if plain.count(name) == 1 else "/".join((one.topic, one.frame.lstrip("/"), one.part))
        times_ns, values = _in_order(path, name, times_ns, np.array([x for *_, x in one.samples], dtype=np.float64))
        origin = common if abs(first - earliest) < _DAY_NS else first
        # Joints and transforms of one message share a clock.
        clock = Clock(f"{name} (bag time)" if by_bag else name, np.asarray((times_ns - origin) / 1e9))
        clock = clocks.setdefault((one.topic, clock.times_s.tobytes()), clock)
        column = 0
        for entry in LAYOUTS[one.layout]:
            for end in entry.channels:
                samples = values[:, column] if entry.width == 1 else values[:, column : column + entry.width]
                column += entry.width
                if not np.isnan(samples).all():
                    full = f"{name}/{end}"
                    channels[full] = Channel(full, samples, clock, entry.unit, one.frame.lstrip("/"))
    if not channels:
        raise FileProblem(path, "the messages hold no numbers", remedy="check what was recorded")
    return channels


def _times(path: Path, one: _Series, stamps: str) -> tuple[NDArray[np.int64], bool]:
    """The times in ns, and whether they are those of recording although the stamps were asked for."""
    stamped, bag = (np.array([sample[k] for sample in one.samples], dtype=np.int64) for k in (0, 1))
    missing = stamped == 0
    if stamps == "bag" or missing.all():
        return bag, stamps != "bag"
    # Simulated time begins at zero; anything else near zero is no stamp.
    if missing.any() and int(stamped[~missing].min()) > _DAY_NS:
        wrong = f"message {int(np.argmax(missing)) + 1} of {one.topic} has no stamp, others do"
        raise FileProblem(path, wrong, remedy="read it with stamps='bag'")
    return stamped, False


def _in_order(path: Path, name: str, times_ns: NDArray[np.int64], values: Array) -> tuple[NDArray[np.int64], Array]:
    """Sorted by time; what was sent twice with the same numbers counts once, what contradicts itself is refused."""
    late = np.flatnonzero(np.diff(times_ns) < -_SECOND_NS)
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
    again = np.diff(times_ns, prepend=times_ns[0] - 1) == 0
    differs = ((values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))).any(axis=1)
    contradicts = again & np.concatenate([[False], differs])
    if contradicts.any():
        row = int(order[np.argmax(contradicts)])
        raise FileProblem(
            path,
            f"message {row + 1} of {name} has the stamp of another with different numbers",
            remedy="two publishers share the topic, or the stamps are rounded; choose other stamps: 'header' or 'bag'",
        )
    return times_ns[~again], values[~again]
