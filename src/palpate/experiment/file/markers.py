"""Keys of markers: which of them sit on the body, and what some of them stand for."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import pydantic
from pydantic import Field

from palpate.experiment.file import quantities as q
from palpate.experiment.file.keys import Names, Pair, Part, Three, key, optional


class PosePart(Part):
    """A frame (the IMU's, or that of three markers) seen from the sensor frame."""

    rotation: q.Rotation = key(
        "the rotation matrix, three rows of three numbers; its columns are the frame's axes seen in the sensor frame",
        "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]",
    )
    translation: q.Vector = key("origin of the frame, seen in the sensor frame, m", "[-0.0861, 0.0125, -0.0290]")


class SensorMarkersPart(Part):
    """Three markers on the sensor module: the second is the corner, x runs to the third, the first is towards -y."""

    markers: Three = key("p1, p2, p3", "[Door1, Door2, Door3]")
    offset: PosePart = key(
        "pose of the markers' frame in the sensor frame, as machined",
        "{rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], translation: [0, 0, 0]}",
    )


class HingeMarkersPart(Part):
    """Markers on a hinge's line, or none: then the axis is found from the motion."""

    axis: Names = key("markers on the line; none: from the motion itself", "[F3, F4]", default=[])
    towards: str | None = optional("marker to which the hinge's x axis points", "F1")
    points: Literal["up", "down"] | None = optional(
        "which way z points; the angle is right-handed about it. If absent: so that the angle is mostly "
        "positive, as for a door that starts shut",
    )

    @pydantic.model_validator(mode="after")
    def _whole(self) -> HingeMarkersPart:
        if self.axis and len(self.axis) < 2:
            raise ValueError("a line needs at least two markers under axis")
        if self.axis and (self.towards is None or self.points is None):
            raise ValueError("with markers under axis, towards and points must be given")
        return self


class AxleMarkersPart(Part):
    """The axle of a rolling object: z along it, to the left; y across."""

    axle: Pair = key("from, to: markers at the ends of the axle", "[ID8, ID11]")
    across: list[Pair] = key("pairs from, to whose sum points along y", "[[ID9, ID6], [ID10, ID13]]", min_length=1)
    radius: q.Length | None = optional("radius of the wheel, m", "0.197 m", gt=0)
    floor: q.Length = key(
        "height of the floor in the capture frame, m: a body's is found from its markers",
        "-9.5 mm",
        default=0.0,
        only="stage: motion",
    )


class BaseMarkersPart(Part):
    """What stays on the floor: two markers on its fixed axle, or along it; z is up."""

    one_of: ClassVar[tuple[str, ...]] = ("axle", "ahead")
    axle: Pair | None = optional("right, left: markers at the ends of a fixed axle, or above them", "[ID1, ID2]")
    ahead: Pair | None = optional(
        "from, to: markers on its middle line, the second straight ahead of the first; a fixed axle is then found from "
        "the motion, as the line that never slips sideways",
        "[ID3, ID4]",
    )


class MarkersPart(Part):
    """Which markers sit on the body, and what some of them stand for."""

    up: Literal["x", "y", "z"] = key(
        "which axis of the capture frame points up (OptiTrack, OpenSim: y); the points are turned so that z does",
        default="z",
    )
    body: Names = key("markers on the rigid body; none named: all", "[Door1, Door2]", default=[])
    reference: Literal["static", "still", "mean"] | None = optional(
        "the reference cloud: the static recording, a still stretch, or the Procrustes mean of the recording; if "
        "absent: static where there is such a recording, else the mean",
    )
    still: Annotated[list[q.Seconds], Field(min_length=2, max_length=2)] | None = optional(
        "from, to: a stretch in which the body rests, s", "[0, 2]", only="reference: still"
    )
    longest_gap: q.Seconds = key("gaps up to this are bridged by a spline where no pose is known, s", default=0.1, ge=0)
    sensor: SensorMarkersPart | Annotated[list[SensorMarkersPart], Field(min_length=1)] | None = optional(
        "markers on the sensor module; of several, a list in the order of recordings.wrench",
        "{markers: [Door1, Door2, Door3], offset: {rotation: ..., translation: ...}}",
    )
    sensor_2: SensorMarkersPart | None = optional(
        "markers on the second sensor module",
        "{markers: [Left1, Left2, Left3], offset: {rotation: ..., translation: ...}}",
    )
    frame: SensorMarkersPart | None = optional(
        "three markers on a free body whose frame is the model's, as they are on a sensor; if absent, that of the "
        "first sensor",
        "{markers: [A, B, C], offset: {rotation: ..., translation: ...}}",
        only="free",
    )
    hinge: HingeMarkersPart | None = optional(
        "a hinge about which the body turns", "{axis: [Hinge1, Hinge2], towards: Frame1, points: down}", only="hinge"
    )
    axle: AxleMarkersPart | None = optional(
        "an axle on which the body rolls", "{axle: [ID8, ID11], across: [[ID9, ID6]], radius: 0.197 m}", only="wheel"
    )
    base: BaseMarkersPart | None = optional(
        "the frame of a body that stays on the floor, such as a cart", "{axle: [ID1, ID2]}", only="base"
    )
    feet: Names = key(
        "markers near the feet: times at which they are down are left out", "[ID7, ID12]", default=[], only="wheel"
    )
