"""The keys of a plain table of coordinates and of what is done along them."""

from __future__ import annotations

from typing import Literal, cast

import pydantic

from palpate.experiment.file import quantities as q
from palpate.experiment.file.keys import FORMAT, Columns, FilePart, Flag, Names, Three, key, optional


class SignalsPart(FilePart):
    """A plain table of an object with one freedom: angle and torque if it turns, position and force if it slides, or
    the path of a point and the force on it. Of a joystick: both of its angles and torques.
    """

    format: Literal["csv", "parquet", "hdf5", "mat", "smartwheel"] | None = FORMAT
    columns: Columns = optional(
        "name -> its column and unit; if absent, the names and units of the file itself",
        "{angle: {column: position, unit: rad}}",
    )
    rate: q.Frequency | None = optional(
        "for tables without times: samples per second. Inertia and damping are as right as this number", "70 Hz", gt=0
    )
    rate_known: Flag = key("false: the rate is a guess, so inertia and damping are not identifiable", default=True)
    angle: str | None = optional("name of the angle of what turns", "angle")
    angular_rate: str | None = optional("instead: of the rate about its axis by a gyroscope, which is integrated", "wz")
    torque: str | None = optional("name of the torque on the object about its axis", "torque")
    position: str | None = optional("name of the position of what slides", "position")
    point: Three | None = optional("names of x, y, z of the point at which the object is pulled", "[x, y, z]")
    force: str | Three | None = optional(
        "name of the force along the slide; with point: the names of its three components, along the same fixed axes",
        "[fx, fy, fz]",
    )
    coordinates: Names | None = optional(
        "names of all coordinates of what moves in several ways, such as both angles of a universal joint",
        "[roll, pitch]",
        only="several axes",
    )
    efforts: Names | None = optional(
        "names of the torques or forces along them, in the same order", "[tau_roll, tau_pitch]", only="several axes"
    )
    zero: Literal["static", "recorded"] | q.Travel | None = optional(
        "where angle or position are counted from: where the object rests in segments.static, or as recorded; or what "
        "they show where it is shut, with its unit; if absent, as recorded where an axis leans and the model holds the "
        "weight, since the vertical is known from there, and on a mechanism of your own without joints",
        "12 deg",
    )
    sign: Literal["on-object", "on-hand"] = key("on whom the stored force or torque acts", default="on-object")
    free: Flag = key(
        "true: it swings untouched and no force is recorded. Only ratios can be known: one number must be under fixed",
        default=False,
    )
    delay: q.Seconds = key("how late the stored force or torque is (a filter, an amplifier), s", "5 ms", default=0.0)

    @pydantic.model_validator(mode="after")
    def _one_pair(self) -> SignalsPart:
        if self.coordinates is not None or self.efforts is not None:
            others = ("angle", "angular_rate", "position", "point", "torque", "force")
            if len(self.coordinates or ()) != len(self.efforts or ()) or self.free:
                raise ValueError("give coordinates and efforts, as many of the one as of the other, and no free")
            if any(getattr(self, n) is not None for n in others):
                raise ValueError(f"coordinates and efforts stand for all of them: leave {', '.join(others)} out")
            if isinstance(self.zero, float):
                raise ValueError("zero of several coordinates is static or recorded")
            return self
        moves = [n for n in ("angle", "angular_rate", "position", "point") if getattr(self, n) is not None]
        push = "torque" if moves[:1] in (["angle"], ["angular_rate"]) else "force"
        given = [n for n in ("torque", "force") if getattr(self, n) is not None]
        if len(moves) != 1 or given != [push] * (not self.free) or (self.free and self.point is not None):
            pairs = "angle, torque; angular_rate, torque; position, force; and point, force"
            raise ValueError(f"give exactly one of the pairs {pairs}; with free: true the first of a pair but point")
        if self.force is not None and (self.point is not None) != isinstance(self.force, list):
            raise ValueError("force has one name beside position, and three names beside point")
        if isinstance(self.zero, float) and moves[0] not in ("angle", "position"):
            raise ValueError("zero is what an angle or a position shows: leave it out")
        return self

    @property
    def path(self) -> tuple[list[str], list[str]] | None:
        """Names of the point's and the force's components, where the path of a point is recorded."""
        return None if self.point is None else (self.point, cast("list[str]", self.force))

    def pair(self, unit: str) -> tuple[tuple[str, str], tuple[str, str | None]] | None:
        """(key, name) of the coordinate and of the effort along it, for a coordinate in "rad" or "m"; None: another."""
        keys = ("angular_rate" if self.angle is None else "angle", "torque") if unit == "rad" else ("position", "force")
        position, effort = (getattr(self, key) for key in keys)
        return None if position is None else ((keys[0], position), (keys[1], effort))
