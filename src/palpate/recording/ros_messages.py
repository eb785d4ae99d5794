"""What palpate takes from ROS messages: which types, which channels with which units, and the numbers of a message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

NAN = float("nan")


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


def _wrench_stamped(m: Any) -> Iterator[Sample]:
    w = m.wrench
    yield Sample("", "wrench", _stamp(m.header), m.header.frame_id, (*_xyz(w.force), *_xyz(w.torque)))


def _wrench(m: Any) -> Iterator[Sample]:
    yield Sample("", "wrench", 0, "", (*_xyz(m.force), *_xyz(m.torque)))


def _imu(m: Any) -> Iterator[Sample]:
    """A covariance that begins with -1 says that the quantity is not measured (sensor_msgs/Imu)."""
    nothing = (NAN, NAN, NAN)
    values = (
        *(_xyz(m.linear_acceleration) if m.linear_acceleration_covariance[0] != -1 else nothing),
        *(_xyz(m.angular_velocity) if m.angular_velocity_covariance[0] != -1 else nothing),
        *(_wxyz(m.orientation) if m.orientation_covariance[0] != -1 else (NAN, *nothing)),
    )
    yield Sample("", "imu", _stamp(m.header), m.header.frame_id, values)


def _pose_stamped(m: Any) -> Iterator[Sample]:
    p = m.pose
    yield Sample("", "pose", _stamp(m.header), m.header.frame_id, (*_xyz(p.position), *_wxyz(p.orientation)))


def _pose_with_covariance(m: Any) -> Iterator[Sample]:
    p = m.pose.pose
    yield Sample("", "pose", _stamp(m.header), m.header.frame_id, (*_xyz(p.position), *_wxyz(p.orientation)))


def _transform(m: Any) -> Iterator[Sample]:
    t, child = m.transform, m.child_frame_id.lstrip("/")
    yield Sample(child, "pose", _stamp(m.header), m.header.frame_id, (*_xyz(t.translation), *_wxyz(t.rotation)))


def _tf(m: Any) -> Iterator[Sample]:
    for transform in m.transforms:
        yield from _transform(transform)


def _point_stamped(m: Any) -> Iterator[Sample]:
    yield Sample("", "point", _stamp(m.header), m.header.frame_id, _xyz(m.point))


def _joint_state(m: Any) -> Iterator[Sample]:
    for place, name in enumerate(m.name):
        values = tuple(
            float(numbers[place]) if place < len(numbers) else NAN for numbers in (m.position, m.velocity, m.effort)
        )
        yield Sample(name, "joint", _stamp(m.header), m.header.frame_id, values)


EXTRACT: Mapping[str, Callable[[Any], Iterator[Sample]]] = MappingProxyType(
    {
        "geometry_msgs/msg/WrenchStamped": _wrench_stamped,
        "geometry_msgs/msg/Wrench": _wrench,
        "sensor_msgs/msg/Imu": _imu,
        "geometry_msgs/msg/PoseStamped": _pose_stamped,
        "geometry_msgs/msg/PoseWithCovarianceStamped": _pose_with_covariance,
        "geometry_msgs/msg/TransformStamped": _transform,
        "geometry_msgs/msg/PointStamped": _point_stamped,
        "tf2_msgs/msg/TFMessage": _tf,
        "tf/msg/tfMessage": _tf,
        "sensor_msgs/msg/JointState": _joint_state,
    }
)
"""Message types that palpate reads, by their ROS 2 names."""
