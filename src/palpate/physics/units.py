"""Units by name: factors to SI and dimensions.

SI and radians inside; a unit is converted once, where a file is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import pi
from types import MappingProxyType
from typing import NamedTuple

from palpate.errors import PalpateError, unknown_name

STANDARD_GRAVITY = 9.80665
"""m/s2, CODATA; the authors of the paper use 9.81."""
_POUND = 0.45359237
"""kg, exact: NIST SP 811 (2008), appendix B.8, as are the other factors."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit: SI value = value * factor; dimension as exponents of (mass, length, time).

    `angle` is the power of rad or deg, `share` whether % occurs: both have no dimension, but are no other numbers.
    `current` is the exponent of the ampere: a volt is no watt.
    """

    factor: float
    dimension: tuple[float, float, float]
    angle: int = 0
    share: bool = False
    current: int = 0

    def fits(self, wanted: Unit) -> bool:
        """Whether a quantity in this unit may stand where `wanted` is asked for.

        An angle is no fraction and rad/s is no Hz; but "N m s/rad" is "kg m2/s": below the line an angle only explains,
        except in "m/rad": a thread of 2 mm travels so far in a turn.
        """
        if self.dimension != wanted.dimension or self.current != wanted.current:
            return False
        if self.share:
            return not any(wanted.dimension) and wanted.angle == 0
        explains = any(self.dimension) and self.dimension != (0, 1, 0) and self.angle <= 0 and wanted.angle <= 0
        return explains or self.angle == wanted.angle


_BY_DIMENSION: Mapping[tuple[float, float, float], Mapping[str, float]] = {
    (1, 0, 0): {"kg": 1.0, "g": 1e-3, "lb": _POUND, "lbs": _POUND},
    (0, 1, 0): {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "in": 0.0254, "inch": 0.0254, "ft": 0.3048},
    (0, 0, 1): {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0},
    (0, 0, -1): {"Hz": 1.0},
    (1, 1, -2): {"N": 1.0, "kN": 1e3, "mN": 1e-3, "daN": 10.0}
    | {"kgf": STANDARD_GRAVITY, "kp": STANDARD_GRAVITY, "gf": 1e-3 * STANDARD_GRAVITY}
    | {"lbf": _POUND * STANDARD_GRAVITY, "ozf": _POUND / 16 * STANDARD_GRAVITY},
    (1, 2, -2): {"Nm": 1.0, "Nmm": 1e-3, "Ncm": 1e-2, "mNm": 1e-3, "cNm": 1e-2, "daNm": 10.0, "kNm": 1e3},
    (0, 1, -2): {"gn": STANDARD_GRAVITY},
    (1, 2, -3): {"W": 1.0},
}
UNITS: Mapping[str, Unit] = MappingProxyType(
    {
        "1": Unit(1.0, (0, 0, 0)),
        "%": Unit(0.01, (0, 0, 0), share=True),
        **{name: Unit(factor, d) for d, names in _BY_DIMENSION.items() for name, factor in names.items()},
        **{
            name: Unit(factor, (0, 0, 0), angle=1)
            for name, factor in (("rad", 1.0), ("deg", pi / 180), ("turn", 2 * pi), ("rev", 2 * pi), ("mrad", 1e-3))
        },
        **{name: Unit(factor, (0, 0, -1), angle=1) for name, factor in (("dps", pi / 180), ("rpm", pi / 30))},
        **{name: Unit(factor, (1, 2, -3), current=-1) for name, factor in (("V", 1.0), ("mV", 1e-3), ("uV", 1e-6))},
        "A": Unit(1.0, (0, 0, 0), current=1),
        **{name: Unit(factor, (1, 0, -2), current=-1) for name, factor in (("T", 1.0), ("uT", 1e-6))},
    }
)
"""Every unit that has a name; others are made of these."""
_IN_WORDS = {
    **{"newton": "N", "meter": "m", "metre": "m", "millimeter": "mm", "millimetre": "mm", "centimeter": "cm"},
    **{"centimetre": "cm", "second": "s", "millisecond": "ms", "microsecond": "us", "degree": "deg", "radian": "rad"},
    **{"gram": "g", "kilogram": "kg", "hertz": "Hz", "percent": "%", "feet": "ft", "pound": "lb", "per": "/"},
}
_BESIDE = {"of", "in", "force", "torque", "moment", "length", "angle", "time", "unit", "units"}
"""Words beside a unit in words: "newtons of force"."""
_FACTOR = re.compile(r"^([A-Za-z%]+)(?:\^?(-?[1-9]))?$")


@lru_cache(maxsize=1024)
def parse_unit(text: str) -> Unit:
    """Read "kg m2", "N m s/rad", "m/s2": factors apart by blanks or dots, everything after a slash divides."""
    factor, dimension, angle, share, current = 1.0, [0.0, 0.0, 0.0], 0, False, 0
    for place, part in enumerate(text.strip().split("/")):
        sign = 1 if place == 0 else -1
        for word in part.replace("*", " ").replace("·", " ").split():
            match = _FACTOR.match(word)
            name, power = (match[1], sign * int(match[2] or 1)) if match else (word, sign)
            if name not in UNITS:
                known = _abbreviated(text)
                hint = "Standard gravity is 'gn'" if name.lower() == "g0" else known and f"Write {known!r}"
                wrong = f"there is no unit {name!r}. {hint}" if hint else unknown_name("unit", name, UNITS)
                raise PalpateError(f"in the unit {text!r} {wrong}")
            unit = UNITS[name]
            factor *= unit.factor**power
            dimension = [d + power * e for d, e in zip(dimension, unit.dimension, strict=True)]
            angle, share = angle + power * unit.angle, share or unit.share
            current += power * unit.current
    return Unit(factor, (dimension[0], dimension[1], dimension[2]), angle, share, current)


def _abbreviated(text: str) -> str:
    """A unit in words as it is written here: "newton metres" -> "N m"; empty where a word has no abbreviation."""
    words = [w for w in map(str.lower, re.findall(r"[A-Za-z%]+", text)) if w not in _BESIDE]
    short = [_IN_WORDS.get(w) or _IN_WORDS.get(w.removesuffix("s")) or (w if w in UNITS else "") for w in words]
    return " ".join(short).replace(" / ", "/") if all(short) else ""


def parse_quantity(value: float | str, unit: str) -> float:
    """Read `45`, "45 kg" or "25 deg" as an SI number; `unit` says what a bare number means and what fits."""
    wanted = parse_unit(unit)
    if not isinstance(value, str):
        return float(value) * wanted.factor
    match = re.match(r"^\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*(.*?)\s*$", value)
    if not match:
        raise PalpateError(f"{value!r} is not {_kind(unit, 'a number with a unit')}, such as {example(unit)!r}")
    given = parse_unit(match[2]) if match[2] else wanted
    if not given.fits(wanted):
        raise PalpateError(f"{value!r} is not {_kind(unit, f'a quantity in {_alike(unit)}')}")
    try:
        return float(match[1]) * given.factor
    except ValueError:
        raise PalpateError(f"{match[1]!r} is not a number") from None


def along(unit: str, coordinate_unit: str) -> str:
    """A unit that is written as for an angle, along a coordinate in "rad" or "m": "N m s/rad" -> "N s/m"."""
    if coordinate_unit == "rad":
        return unit
    return unit.replace("kg m2", "kg").replace("N m", "N").replace("rad", coordinate_unit)


def shown(value: float, unit: str, *, digits: int = 1, named: bool = True) -> str:
    """A position for people: angles in deg, lengths in mm, with so many digits behind the point."""
    scale, name = {"rad": (180 / pi, "deg"), "m": (1e3, "mm")}.get(unit, (1.0, unit))
    return f"{scale * value:.{digits}f}" + (f" {name}" if named else "")


def example(unit: str) -> str:
    """A quantity in this unit as one writes it."""
    return "30 %" if unit == "1" else f"1.5 {unit}"


def _kind(unit: str, otherwise: str) -> str:
    return "a fraction" if unit == "1" else otherwise


def _alike(unit: str) -> str:
    """The unit, and where it has a name, the first of its kind: "kg, g or lb"."""
    wanted = UNITS.get(unit)
    first = {UNITS[name]: name for name in reversed(list(UNITS))}.values()  # no second name of one unit
    names = [name for name in UNITS if name in first and wanted and name != unit and UNITS[name].fits(wanted)][:3]
    return f"{', '.join([unit, *names[:-1]])} or {names[-1]}" if names else unit


def told_apart(a: float, b: float, digits: int = 2) -> tuple[str, str]:
    """Two numbers to be compared, with so many digits, or as many more as two that differ need to look different.

    >>> told_apart(0.1132, 0.1101), told_apart(3.0, 1.5)
    (('0.113', '0.110'), ('3', '1.5'))
    """
    words = [f"{x:.{digits}g}" for x in (a, b)]
    while words[0] == words[1] and a != b and digits < 16:
        digits += 1
        words = [f"{x:#.{digits}g}" for x in (a, b)]  # with their zeros, so that both have as many
    return words[0], words[1]


# --- for people -------------------------------------------------------------------------------------------------------


class Shown(NamedTuple):
    """How a quantity in SI is shown to people: angles in deg."""

    factor: float
    unit: str


def share_text(share: float) -> str:
    """A share for people: "0.58 %", "57 %", from once on "11 times"; of something that follows."""
    if share >= 1:
        return f"{share:.0f} times" if share >= 10 else f"{share:.2g} times"
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def shown_in(unit: str) -> Shown:
    """Degrees for radians, also per second; other units as they are, with superscripts."""
    factor = 180 / pi if re.fullmatch(r"rad(/s[2²]?)?", unit) else 1.0
    return Shown(factor, unit_text(unit.replace("rad", "deg") if factor != 1.0 else unit))


def unit_text(unit: str) -> str:
    """A unit as people write it: m/s² for m/s2."""
    return re.sub(r"(?<=[a-z])[23]\b", lambda m: {"2": "²", "3": "³"}[m[0]], unit)


def quantity(unit: str) -> str:
    """What a coordinate in this unit is called."""
    return "angle" if unit == "rad" else "position"
