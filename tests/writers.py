"""Writers of the formats that palpate itself only reads, for round trips; `write` knows all formats by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from pathlib import Path
from shutil import move
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from scipy.io import savemat

from palpate.recording import Recording
from palpate.recording.instruments import write_microstrain, write_vicon
from palpate.recording.mat import write_dspace
from palpate.recording.recording import Array
from palpate.recording.rosbag import LAYOUTS, MESSAGES
from palpate.recording.table import write as write_csv
from palpate.recording.table import write_parquet

START_NS = 1_704_067_200 * 10**9
"""The stamp of time zero: 2024-01-01 00:00:00 UTC."""
WRITTEN = ("WrenchStamped", "Imu", "PoseStamped", "PointStamped")


def write(name: str, path: Path, recording: Recording) -> None:
    """Write a recording in the format of this name."""
    WRITERS[name](path, recording)


def write_hdf5(path: Path, recording: Recording) -> None:
    """A group per clock with its times in s, and each channel as a dataset with units and frame."""
    import h5py

    with h5py.File(path, "w", track_order=True) as file:
        groups = {id(clock): file.create_group(clock.name, track_order=True) for clock in recording.clocks}
        for clock in recording.clocks:
            groups[id(clock)].create_dataset("time", data=clock.times_s).attrs["units"] = "s"
        for name, channel in recording.channels.items():
            dataset = groups[id(channel.clock)].create_dataset(name, data=channel.samples)
            dataset.attrs["units"], dataset.attrs["frame"] = channel.unit, channel.frame
            dataset.attrs["vector"] = channel.samples.ndim == 2


def write_mat(path: Path, recording: Recording) -> None:
    """The channels of one clock as variables beside `time` in s, with their units in the struct `units`."""
    content: dict[str, Any] = {"time": recording.one_clock().times_s}
    content |= {name: channel.samples for name, channel in recording.channels.items()}
    content["units"] = {name: channel.unit for name, channel in recording.channels.items()}
    savemat(path, content, appendmat=False, oned_as="column", long_field_names=True)


def write_smartwheel(path: Path, recording: Recording) -> None:
    """Angle, force and torque of a wheel at 240 Hz among 24 columns without names, a comma at the end of each row."""
    columns = np.zeros((len(recording.one_clock()), 24))
    columns[:, :2] = 1 + np.arange(len(columns))[:, None]
    columns[:, 3] = np.degrees(recording["angle"].samples) % 360
    columns[:, 18:] = recording.stack([f"{kind}.{axis}" for kind in ("force", "torque") for axis in "xyz"])
    kinds = ["%d", "%d", "%d", "%.2f", "%.3f", *["%d"] * 13, *["%.2f"] * 6]
    np.savetxt(path, columns, ",".join(kinds) + ",")


def write_trc(path: Path, recording: Recording) -> None:
    """Markers (n, 3) in m of one even clock in mm, six decimals; a hidden marker leaves its cells empty."""
    clock, n, count = recording.one_clock(), len(recording.one_clock()), len(recording)
    rate = float(f"{clock.rate_hz:.9g}")
    frames = np.rint(clock.times_s * rate).astype(np.int64) + 1
    fields = ("DataRate", "CameraRate", "NumFrames", "NumMarkers", "Units")
    fields += ("OrigDataRate", "OrigDataStartFrame", "OrigNumFrames")
    values = (f"{rate:.9g}", f"{rate:.9g}", n, count, "mm", f"{rate:.9g}", int(frames[0]), n)
    head = (
        f"PathFileType\t4\t(X/Y/Z)\t{path.name}",
        "\t".join(fields),
        "\t".join(str(value) for value in values),
        "Frame#\tTime" + "".join(f"\t{name}\t\t" for name in recording),
        "\t" + "".join(f"\tX{k}\tY{k}\tZ{k}" for k in range(1, count + 1)),
        "",
    )
    columns = [pl.Series("frame", frames), pl.Series("time", clock.times_s)]
    for name, channel in recording.channels.items():
        columns += [pl.Series(f"{name} {k}", channel.samples[:, k] * 1e3, nan_to_null=True) for k in range(3)]
    table = pl.DataFrame(columns)
    with path.open("wb") as file:
        file.write(("\n".join(head) + "\n").encode())
        table.write_csv(file, include_header=False, separator="\t", float_precision=6)


def write_c3d(path: Path, recording: Recording) -> None:
    """Positions (n, 3) in m as markers in mm, scalars of one other clock as analogs, as float32.

    Both clocks are even and begin together; the analog rate is a whole multiple of the markers'.
    """
    import ezc3d

    markers = [channel for channel in recording.channels.values() if channel.samples.ndim == 2]
    analogs = [channel for channel in recording.channels.values() if channel.samples.ndim == 1]
    clock = markers[0].clock
    rate_hz = float(f"{clock.rate_hz:.9g}")
    file: Any = ezc3d.c3d()
    points = np.stack([channel.samples for channel in markers]).transpose(2, 0, 1) * 1e3
    hidden = np.isnan(points).any(axis=0)
    file["data"]["points"] = np.concatenate([points, np.ones((1, *points.shape[1:]))])
    file["data"]["meta_points"] = {"residuals": np.where(hidden, -1.0, 0.0)[None]}
    file["data"]["analogs"] = np.stack([c.samples for c in analogs])[None] if analogs else np.empty((1, 0, 0))
    del file["data"]["rotations"]
    file["header"]["points"]["first_frame"] = max(0, round(float(clock.times_s[0]) * rate_hz))
    values = {
        ("POINT", "LABELS"): [channel.name for channel in markers],
        ("POINT", "UNITS"): ["mm"],
        ("POINT", "RATE"): np.array([rate_hz]),
        ("ANALOG", "LABELS"): [channel.name for channel in analogs],
        ("ANALOG", "UNITS"): [channel.unit for channel in analogs],
        ("ANALOG", "RATE"): np.array([float(f"{analogs[0].clock.rate_hz:.9g}") if analogs else 0.0]),
    }
    for (group, name), value in values.items():
        file["parameters"][group][name]["value"] = value
    with TemporaryDirectory() as folder:  # ezc3d writes only to names that end in .c3d
        file.write(str(Path(folder) / "file.c3d"))
        move(Path(folder) / "file.c3d", path)


def write_rosbag(path: Path, recording: Recording) -> None:
    """A ROS 1 bag, or MCAP where the path ends in .mcap; each group "topic/..." of channels is one topic.

    Values are stored as they are. Names without a topic get that of their clock. An IMU may lack its orientation.
    """
    groups: dict[str, list[str]] = {}
    for name, channel in recording.channels.items():
        topic = name.rpartition("/")[0] or re.sub(r"\W+", "_", channel.clock.name)
        groups.setdefault(topic, []).append(name)
    topics = {topic: _topic(recording.select(names)) for topic, names in groups.items()}
    with TemporaryDirectory() as folder:
        move(_write_bag(Path(folder) / "bag", topics, mcap=path.suffix.lower() == ".mcap"), path)


def _topic(recording: Recording) -> tuple[str, str, Array, Array]:
    """Message type, frame, times in s (n,) and values (n, k) in the layout's order of one topic's channels."""
    held = {name.rpartition("/")[2]: channel for name, channel in recording.channels.items()}
    kind = next(kind for kind in MESSAGES if kind.endswith(WRITTEN) and _fits(MESSAGES[kind][0], held.keys()))
    clock, columns = recording.one_clock(), list[Array]()
    for entry in LAYOUTS[MESSAGES[kind][0]]:
        for end in entry.channels:
            blank, channel = np.full((len(clock), entry.width), np.nan), held.get(end)
            columns.append(blank if channel is None else channel.samples.reshape(blank.shape))
    return kind, next(iter(held.values())).frame, clock.times_s, np.hstack(columns)


def _fits(layout: str, held: Set[str]) -> bool:
    """Whether these are all channels of a message; an IMU may lack its orientation."""
    ends = {end: entry.name for entry in LAYOUTS[layout] for end in entry.channels}
    return {end for end, name in ends.items() if (layout, name) != ("imu", "orientation")} <= held <= ends.keys()


def _write_bag(path: Path, topics: Mapping[str, tuple[str, str, Array, Array]], *, mcap: bool) -> Path:
    """Write a bag of ROS 1, or of ROS 2 in MCAP; returns the file."""
    from rosbags import rosbag1, rosbag2
    from rosbags.typesys import Stores, get_typestore

    store: Any = get_typestore(Stores.LATEST if mcap else Stores.ROS1_NOETIC)
    bag: Any = (
        rosbag2.Writer(path, version=9, storage_plugin=rosbag2.StoragePlugin.MCAP) if mcap else rosbag1.Writer(path)
    )
    serialize = store.serialize_cdr if mcap else store.serialize_ros1
    with bag as writer:
        for topic, (kind, frame, times_s, values) in topics.items():
            connection = writer.add_connection(f"/{topic}", kind, typestore=store)
            layout, attribute = MESSAGES[kind]
            places = [
                ".".join(filter(None, (attribute, entry.attribute, part)))
                for entry in LAYOUTS[layout]
                for part in entry.parts
            ]
            stamps = np.rint(times_s * 1e9).astype(np.int64) + START_NS
            for count, (stamp_ns, row) in enumerate(zip(stamps.tolist(), values.tolist(), strict=True)):
                content = {name: 0.0 if value != value else value for name, value in zip(places, row, strict=True)}
                content |= {"header.stamp.sec": stamp_ns // 10**9, "header.stamp.nanosec": stamp_ns % 10**9}
                content |= {"header.frame_id": frame, "header.seq": count}
                if layout == "imu" and row[-1] != row[-1]:
                    content["orientation_covariance"] = np.array([-1.0, *[0.0] * 8])
                writer.write(connection, stamp_ns, serialize(_message(store, kind, content), kind))
    return path / f"{path.name}.mcap" if mcap else path


def _message(store: Any, kind: str, content: Mapping[str, Any], prefix: str = "") -> Any:
    """A message of this type; `content` by the attribute's path, covariances that it lacks are zero: not known."""
    held: dict[str, Any] = {}
    for name, (_, inside) in store.fielddefs[kind][1]:
        at = f"{prefix}{name}"
        if at in content:
            held[name] = content[at]
        elif at.endswith("_covariance"):
            held[name] = np.zeros(9)
        else:
            held[name] = _message(store, inside, content, f"{at}.")
    return store.types[kind](**held)


WRITERS: Mapping[str, Any] = {
    "vicon-csv": write_vicon,
    "dspace-mat": write_dspace,
    "microstrain-csv": write_microstrain,
    "csv": write_csv,
    "parquet": write_parquet,
    "c3d": write_c3d,
    "smartwheel": write_smartwheel,
    "trc": write_trc,
    "rosbag": write_rosbag,
    "hdf5": write_hdf5,
    "mat": write_mat,
}
