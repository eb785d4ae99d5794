"""Keys of poses as an input: a table of position and orientation, and where sensors sit in the frame that it shows."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import pydantic
from pydantic import AfterValidator, Field

from palpate.experiment.file import quantities as q
from palpate.experiment.file.keys import FORMAT, Columns, FilePart, Part, Three, key, optional

Stored = Literal["wxyz", "xyzw", "rotation-vector", "euler-zyx", "matrix"]
"""How an orientation is written."""
Along = Literal["angle", "travel", "angular_rate", "acceleration"]
"""What tells one coordinate alone."""
ALONG: tuple[Along, ...] = get_args(Along)
NUMBERS: dict[Stored, int] = {"wxyz": 4, "xyzw": 4, "rotation-vector": 3, "euler-zyx": 3, "matrix": 9}


class PosesPart(FilePart):
    """Poses of the body, or of a tool or handle that is fixed to it, by a robot, a tracker or another program; or its
    only coordinate, by an encoder, a gyroscope or an accelerometer.
    """

    format: Literal["csv", "parquet", "hdf5", "mat", "rosbag"] | None = FORMAT
    columns: Columns = optional(
        "tables: channel -> column and unit", "{x: {column: X, unit: mm}, qw: {column: QW}}, and so on"
    )
    position: str | Three = key(
        "channels of the frame's origin along the world's x, y, z; or the one channel that holds all three, such as "
        "tf/tool0/position of a bag",
        "[x, y, z]",
        default="position",
    )
    orientation: Annotated[list[str], AfterValidator(q.distinct), Field(min_length=3, max_length=9)] = key(
        "channels of its rotation, from the frame to the world: four of a quaternion, three of a rotation vector or of "
        "Euler angles, or nine of a matrix, row by row",
        "[qx, qy, qz, qw]",
        default=[f"orientation.{part}" for part in "wxyz"],
    )
    stored: Stored | None = optional(
        "what these numbers are: a quaternion wxyz or xyzw (the scalar first or last), a rotation-vector (Universal "
        "Robots), euler-zyx (turns about z, the new y, the new x: KUKA's A, B, C) or a matrix; if absent: by the names "
        "of a quaternion that end in w, x, y and z",
        "xyzw",
    )

    joints: dict[str, str] | None = optional(
        "instead of position and orientation, the positions of a robot's joints: joint of the URDF -> its channel, for "
        "all that move the frame (needs the extra pinocchio)",
        "{shoulder: q1, elbow: q2, wrist: q3}",
    )
    urdf: str | None = optional("with joints: the robot's URDF, relative to the recordings", "arm.urdf")
    frame: str | None = optional("with joints: the link of the URDF whose poses they are", "tool0")
    angle: str | None = optional(
        "instead of position and orientation, an encoder's angle about a hinge; the frame of the poses is then the "
        "hinge's: z along its axis, so that the angle is right-handed about it, turning with the object",
        "q",
    )
    travel: str | None = optional(
        "the same along a slide; x of the frame points along its line, the way in which the travel grows", "x"
    )
    angular_rate: str | Three | None = optional(
        "the same by a gyroscope on what turns: its rate about the hinge, or all three, among which the axis is found, "
        "so that it mostly opens; it is integrated, with its zero from rests",
        "[gx, gy, gz]",
    )

    acceleration: Three | None = optional(
        "the same by an accelerometer on what slides: specific force along its x, y, z, integrated twice between the "
        "rests that segments.static lists",
        "[ax, ay, az]",
    )

    @property
    def along(self) -> tuple[Along, list[str]] | None:
        """What tells one coordinate alone, and its channels."""
        for name in ALONG:
            value: str | list[str] | None = getattr(self, name)
            if value is not None:
                return name, [value] if isinstance(value, str) else value
        return None

    @pydantic.model_validator(mode="after")
    def _readable(self) -> PosesPart:
        arm = [name for name in ("joints", "urdf", "frame") if getattr(self, name) is not None]
        if 0 < len(arm) < 3:
            raise ValueError(f"joints, urdf and frame go together: {' and '.join(arm)} alone do not tell a pose")
        if arm or self.along is not None:
            given = sorted({"position", "orientation", "stored", *ALONG} & self.model_fields_set)
            given = [*arm[:1], *given]
            if len(given) > 1:
                raise ValueError(f"{' and '.join(given)} tell the same: give one of them")
            return self
        stored, count = self.reading, len(self.orientation)
        if stored is None:
            kind = "a quaternion" if count == 4 else "an orientation"
            raise ValueError(
                f"the names {', '.join(self.orientation)} do not tell how {kind} is stored: write stored: wxyz (the "
                "scalar first) or xyzw (the scalar last), rotation-vector, euler-zyx or matrix"
            )
        if count != NUMBERS[stored]:
            raise ValueError(f"orientation has {count} names; stored: {stored} needs {NUMBERS[stored]}")
        return self

    @property
    def reading(self) -> Stored | None:
        """How the channels are read, in the order of `orientation`; None: nothing tells."""
        if self.stored is not None:
            return self.stored
        ends = "".join(name[-1:].lower() for name in self.orientation)
        return "wxyz" if ends == "wxyz" else "xyzw" if ends == "xyzw" else None


class SensorPosePart(Part):
    """A force/torque sensor in the frame of the poses."""

    rotation: q.Rotation = key(
        "the rotation matrix, three rows of three numbers; its columns are the sensor's axes seen in the frame of the "
        "poses",
        "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]",
        default=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    )
    translation: q.Vector = key(
        "origin of the sensor, seen in the frame of the poses, m", "[0, 0, 0.04]", default=[0.0, 0.0, 0.0]
    )


class PoseFramesPart(Part):
    """What sits where in the frame of the poses, and how their world stands."""

    up: Literal["x", "y", "z"] = key(
        "which axis of their world points up (OptiTrack, Unity: y); the poses are turned so that z does", default="z"
    )
    sensor: SensorPosePart | Annotated[list[SensorPosePart], Field(min_length=1)] | None = optional(
        "where the load cell sits in the frame of the poses; {}: the poses are those of the sensor itself; of several, "
        "a list in the order of recordings.wrench",
        "{translation: [0, 0, 0.04]}",
    )
    points: Literal["up", "down"] | None = optional(
        "which way the z axis of a hinge points; the angle is right-handed about it. If absent: so that the angle is "
        "mostly positive, as for a door that starts shut",
        only="hinge",
    )
