"""The values of an experiment file: numbers, quantities with units, vectors, segments, each refused in plain words."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator

from palpate.errors import PalpateError
from palpate.physics.units import parse_quantity, parse_unit
from palpate.recording.headers import to_si

Reader = Callable[[Any], float]
_LONGEST = 60


def shown(value: Any) -> str:
    """A value as it is written in the file, in a message; long ones are cut."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."


def number(value: Any) -> float:
    """A number without a unit."""
    try:
        plain = float("" if isinstance(value, bool | list | dict) or value is None else value)
    except ValueError:
        raise ValueError(f"{shown(value)} is not a number") from None
    if not isfinite(plain):
        raise ValueError(f"{shown(value)} is not a finite number")
    return plain


def whole(value: Any) -> int:
    """A count: a whole number from 1 on."""
    count = number(value)
    if count != int(count) or isinstance(value, str):
        raise ValueError(f"{shown(value)} is not a whole number")
    if count < 1:
        raise ValueError(f"{shown(value)} is not possible: counting starts at 1")
    return int(count)


def quantity(unit: str, *, positive: bool = False, bare: bool = True) -> Reader:
    """A number, or a text with a unit, as SI; `bare`: whether a number without unit may stand there."""

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError(f"{shown(value)} is not a number")
        try:
            si = parse_quantity(value, unit)
        except PalpateError as error:
            raise ValueError(str(error)) from None
        if not isfinite(si):
            raise ValueError(f"{shown(value)} is not a finite number")
        if positive and not si > 0:
            raise ValueError(f"{shown(value)} is not possible: it must be positive")
        if not bare and not _has_unit(value):
            raise ValueError(f"{shown(value)} has no unit: write {value} {unit} if that is meant")
        return si

    return read


class Position(float):
    """A position along a freedom of which only the object says whether it turns or slides: SI, and "rad" or "m"."""

    unit: str


def travel(value: Any) -> Position:
    """An angle or a length, with its unit."""
    if not _has_unit(value):
        raise ValueError(f"{shown(value)} has no unit: write {value} deg or {value} mm, whichever is meant")
    for unit, si in (("deg", "rad"), ("m", "m")):
        try:
            position = Position(quantity(unit)(value))
        except ValueError:
            continue
        position.unit = si
        return position
    raise ValueError(f"{shown(value)} is neither an angle, such as 92 deg, nor a length, such as 40 cm")


def _has_unit(value: Any) -> bool:
    return str(value).rstrip(" ")[-1:].isalpha()


def _each_axis(value: Any) -> Any:
    """One number may stand for x, y and z."""
    return cast("Any", value) if isinstance(value, list) else [value] * 3


def _matrix(value: Any) -> Any:
    """Three rows of three; what is in them is checked afterwards."""
    rows = cast("list[Any]", value) if isinstance(value, list) else []
    if len(rows) != 3 or not all(isinstance(row, list) and len(cast("list[Any]", row)) == 3 for row in rows):
        angles = len(rows) == 3 and not any(isinstance(row, list) for row in rows)
        hint = " (angles are not taken: there are too many conventions)" if angles else ""
        raise ValueError(f"{shown(value)} is not three rows of three numbers{hint}")
    return rows


def _symmetric(matrix: list[list[float]]) -> list[list[float]]:
    largest = max(abs(x) for row in matrix for x in row)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        if abs(matrix[i][j] - matrix[j][i]) > 1e-6 * largest:
            axes = "xyz"[i] + "xyz"[j]
            raise ValueError(f"it is not symmetric: I{axes} = {matrix[i][j]:g}, I{axes[::-1]} = {matrix[j][i]:g}")
    return matrix


def _direction(axis: list[float]) -> list[float]:
    if not any(axis):
        raise ValueError("[0, 0, 0] is not a direction")
    return axis


def pairs(value: Any, read: Callable[[Any], Any]) -> list[tuple[Any, Any]]:
    """One segment [a, b], or a list of such."""
    if not isinstance(value, list):
        raise ValueError(f"{shown(value)} is not a segment [from, to] or a list of such")
    given = cast("list[Any]", value)
    if not given:
        raise ValueError("there is no segment in it")
    segments: list[tuple[Any, Any]] = []
    for row in given if any(isinstance(row, list) for row in given) else [given]:
        ends = cast("list[Any]", row) if isinstance(row, list) else [row]
        if len(ends) != 2:
            count = "one number" if len(ends) == 1 else f"{len(ends)} numbers"
            raise ValueError(f"{shown(row)} is not a segment: {count} instead of [from, to]")
        segments.append((read(ends[0]), read(ends[1])))
    return segments


def damping(value: Any) -> float | str:
    """The word auto, or a number that is not negative."""
    if value == "auto":
        return "auto"
    try:
        strength = number(value)
    except ValueError:
        raise ValueError(f"{shown(value)} is neither a number nor 'auto'") from None
    if strength < 0:
        raise ValueError(f"{shown(value)} is not possible: it must not be negative")
    return strength


def unit_of_channel(value: str) -> str:
    """A unit that palpate can turn into SI; "" is the header's."""
    try:
        to_si(value)
    except PalpateError as error:
        raise ValueError(str(error)) from None
    return value


def unit_of_time(value: str) -> str:
    """A unit of time; "" is the header's."""
    try:
        if not value or parse_unit(value).dimension == (0, 0, 1):
            return value
    except PalpateError:
        pass
    raise ValueError(f"{value!r} is not a unit of time: s, ms, us or ns")


def distinct(names: list[str]) -> list[str]:
    """Names of which none occurs twice."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r} appears twice")
    return names


Number = Annotated[float, BeforeValidator(number)]
Whole = Annotated[int, BeforeValidator(whole)]
Mass = Annotated[float, BeforeValidator(quantity("kg"))]
Length = Annotated[float, BeforeValidator(quantity("m"))]
Frequency = Annotated[float, BeforeValidator(quantity("Hz"))]
Seconds = Annotated[float, BeforeValidator(quantity("s"))]
Fraction = Annotated[float, BeforeValidator(quantity("1"))]
Angle = Annotated[float, BeforeValidator(quantity("deg", bare=False))]
Travel = Annotated[float, PlainValidator(travel)]
Acceleration = Annotated[float, BeforeValidator(quantity("m/s2"))]
_THREE, _ROWS, _AXES = Field(min_length=3, max_length=3), BeforeValidator(_matrix), BeforeValidator(_each_axis)
Vector = Annotated[list[Length], _THREE]
Sides = Annotated[list[Annotated[float, BeforeValidator(quantity("m", positive=True))]], _THREE]
Direction = Annotated[list[Number], AfterValidator(_direction), _THREE]
Rotation = Annotated[list[list[Number]], _ROWS]
Inertia = Annotated[list[list[Annotated[float, BeforeValidator(quantity("kg m2"))]]], AfterValidator(_symmetric), _ROWS]
Forces = Annotated[list[Annotated[float, BeforeValidator(quantity("N", positive=True))]], _THREE, _AXES]
Torques = Annotated[list[Annotated[float, BeforeValidator(quantity("N m", positive=True))]], _THREE, _AXES]
Accelerations = Annotated[list[Annotated[float, BeforeValidator(quantity("m/s2", positive=True))]], _THREE, _AXES]
Rates = Annotated[list[Annotated[float, BeforeValidator(quantity("rad/s", positive=True))]], _THREE, _AXES]
ChannelUnit = Annotated[str, AfterValidator(unit_of_channel)]
TimeUnit = Annotated[str, AfterValidator(unit_of_time)]
