"""The force/torque sensors of an experiment file, however it lists them: one, two by numbered keys, or a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from palpate.experiment.file.keys import Part
from palpate.experiment.file.markers import SensorMarkersPart
from palpate.experiment.file.poses import SensorPosePart
from palpate.experiment.file.schema import ExperimentPart, HandleWeightPart, WrenchPart


@dataclass(frozen=True, slots=True)
class SensorKeys:
    """What the file says of one sensor, and the keys under which it stands; None: nothing."""

    number: int
    """From 1."""
    wrench: WrenchPart
    wrench_key: str
    mount: SensorMarkersPart | SensorPosePart | None
    mount_key: str
    handle: str | HandleWeightPart | None
    handle_key: str

    @property
    def role(self) -> str:
        """Its frame's name: sensor, sensor_2, and so on."""
        return numbered("sensor", self.number)

    @property
    def label(self) -> str:
        """What results call it: as the file does, else its frame's name."""
        return self.wrench.name or self.role

    @property
    def device(self) -> str:
        """Its instrument's name in results: wrench, wrench_2, and so on."""
        return numbered("wrench", self.number)


def numbered(stem: str, number: int) -> str:
    """The name of one of several things, from 1."""
    return stem if number == 1 else f"{stem}_{number}"


def listed(group: Part, name: str, prefix: str = "") -> list[tuple[str, Any]]:
    """(key, value) of all that stand under a key that may hold a list, and under its second, numbered one."""
    value: Any = getattr(group, name)
    several = (
        [(f"{prefix}{name}.{i}", x) for i, x in enumerate(cast("list[Any]", value))] if isinstance(value, list) else []
    )
    several = several or [(f"{prefix}{name}", value)]
    second: Any = getattr(group, f"{name}_2", None)
    several += [] if second is None else [(f"{prefix}{name}_2", second)]
    return [(key, x) for key, x in several if x is not None]


def wrenches_of(config: Any) -> list[tuple[str, WrenchPart]]:
    """(key, recording) of all load cells."""
    return listed(config.recordings, "wrench", "recordings.")


def mounts_of(config: ExperimentPart) -> list[tuple[str, SensorMarkersPart | SensorPosePart]]:
    """(key, where a sensor sits): by its markers, or in the frame of the poses."""
    group = "poses" if config.motion_from == "poses" else "markers"
    return listed(getattr(config, group), "sensor", f"{group}.")


def sensors_of(config: ExperimentPart) -> tuple[SensorKeys, ...]:
    """All sensors, in the file's order. One handle stands for all where only one is given."""
    mounts, handles = mounts_of(config), listed(config, "handle")
    sensors: list[SensorKeys] = []
    for i, (key, wrench) in enumerate(wrenches_of(config)):
        mount_key, mount = mounts[i] if i < len(mounts) else ("", None)
        handle_key, handle = handles[min(i, len(handles) - 1)] if handles else ("handle", None)
        sensors.append(SensorKeys(i + 1, wrench, key, mount, mount_key, handle, handle_key))
    return tuple(sensors)


def problems_of(config: ExperimentPart) -> Iterator[tuple[str, str, str]]:
    """(key, what is wrong, what would be right) where the lists do not fit together."""
    wrenches, mounts, handles = wrenches_of(config), mounts_of(config), listed(config, "handle")
    for group, name in ((config.recordings, "wrench"), (config.markers, "sensor"), (config, "handle")):
        if isinstance(getattr(group, name), list) and getattr(group, f"{name}_2") is not None:
            yield f"{name}_2", f"{name} is a list already", "put all of them into the list"
    names = Counter(part.name for _, part in wrenches if part.name)
    for key, part in reversed(wrenches):
        if names[part.name] > 1:
            yield f"{key}.name", f"two sensors are called {part.name!r}", "give each its own name"
    if len(wrenches) > 1 and not config.captured:
        wrong = "an IMU alone does not tell where several load cells sit on a body"
        yield wrenches[1][0], wrong, "give recordings.mocap or recordings.poses, or one load cell"
    if wrenches and len(handles) not in (0, 1, len(wrenches)):
        wrong = f"there are {len(handles)} handles and {len(wrenches)} load cells"
        yield handles[-1][0], wrong, "give one handle for each, or one for all"
    if not config.captured or not wrenches or not mounts or len(wrenches) == len(mounts):
        return
    more, fewer = (wrenches, mounts) if len(wrenches) > len(mounts) else (mounts, wrenches)
    there, short = more[len(fewer)][0], fewer[-1][0].rpartition(".")
    missing = f"{short[0]}.{len(fewer)}" if short[2].isdigit() else numbered(fewer[0][0], len(fewer) + 1)
    yield missing, f"this key is missing: {there} is given, and what that hand does cannot be guessed", ""
