"""Headers of columns: names and units into SI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from palpate.errors import PalpateError
from palpate.physics.units import UNITS, Unit, parse_unit

_SI_OF_KIND = ("m", "s", "kg", "N", "rad", "V", "T")
_SI_ATOMS: Mapping[str, str] = MappingProxyType(
    {name: si for name, unit in UNITS.items() for si in _SI_OF_KIND if replace(unit, factor=1.0) == UNITS[si]}
    | {name: "N m" for name, unit in UNITS.items() if unit.dimension == UNITS["Nm"].dimension}
    | {"%": "1", "dps": "rad/s", "rpm": "rad/s"}
)
# Whole words, as C3D files and people write them.
_WORDS: Mapping[str, str] = MappingProxyType(
    {"meter": "m", "metre": "m", "millimeter": "mm", "millimetre": "mm", "second": "s", "degree": "deg"}
    | {"radian": "rad", "newton": "N", "volt": "V", "tesla": "T", "watt": "W", "micron": "um", "pound force": "lbf"}
    | {"inche": "in", "feet": "ft", "foot": "ft", "minute": "min", "turn": "turn", "revolution": "rev"}
)
_SPELLINGS = (("°", "deg"), ("²", "2"), ("µ", "u"), ("μ", "u"), ("Hz", "1/s"))
_JOINED = re.compile(r"(?<=[A-Za-z])[-.*·⋅](?=[A-Za-z])")
"""N-m, N·m, ft-lb: a product."""
_WEIGHT_TORQUE = re.compile(r"(?:(in|ft) ?(lb|oz)s?f?|(lb|oz)s?f? ?(in|ft))")
"""ft-lb, lbf ft, oz-in: always a force times its lever, never a mass."""
_AS_FORCE = {"kg": "kgf", "g": "gf", "lb": "lbf", "lbs": "lbf", "oz": "ozf"}
_FORCES = re.compile(r"force|kraft|pull|push|thrust|^f[ _.]?[xyz]?\d?$", re.IGNORECASE)
"""In the names of columns of forces: "Force [lbs]" is what a scale shows, a weight."""
_BRACKETS = re.compile(r"^(.*?)\s*[\[(]([^\[\]()]*)[\])]\s*$")
_NUMBERED = re.compile(r"(.+)(#\d+)")
_SLASH = re.compile(r"^([^/]*[^/\s])\s*/\s*(\S.*)$")
"""Force/N, as DIN 1313 writes it."""


def to_si(unit: str) -> tuple[float, str]:
    """Factor and SI name: "mm" -> (0.001, "m"), "deg/s" -> (pi/180, "rad/s"); raises for unknown units."""
    for spelling, plain in _SPELLINGS:
        unit = unit.replace(spelling, plain)
    unit = _JOINED.sub(" ", unit)
    word = unit.strip().lower()
    if match := _WEIGHT_TORQUE.fullmatch(word):
        unit = f"{match[2] or match[3]}f {match[1] or match[4]}"
    unit = _WORDS.get(word, _WORDS.get(word.removesuffix("s"), unit))
    wanted = parse_unit(unit)
    name = re.sub(r"[A-Za-z%]+", lambda match: _SI_ATOMS.get(match[0], match[0]), unit.strip()) or "1"
    plain = parse_unit(name)
    if plain.dimension == wanted.dimension and abs(plain.factor - 1.0) < 1e-12:
        return wanted.factor, name
    return wanted.factor, _from_dimension(wanted)


def si_or_none(unit: str) -> tuple[float, str] | None:
    """The same, or None for a unit that palpate does not know."""
    try:
        return to_si(unit)
    except PalpateError:
        return None


def split_header(header: str) -> tuple[str, str]:
    """Name and unit of a column header: "Fx [N]" -> ("Fx", "N"), "t (s)" -> ("t", "s"), "F/N" -> ("F", "N").

    A unit that palpate does not know stays part of the name.
    "g" at an accelerometer is gravity, not gram; "kg" at a force is a kilogram's weight.
    """
    if numbered := _NUMBERED.fullmatch(header.strip()):  # the second of that name
        name, unit = split_header(numbered[1])
        return (f"{name}{numbered[2]}", unit) if unit else (header.strip(), "")
    match = _BRACKETS.match(header.strip()) or _SLASH.match(header.strip())
    if not match or not match[1]:
        return header.strip(), ""
    name, unit = match[1].strip(), match[2].strip()
    if unit.lower() == "g" and re.search(r"acc|specific.?force|^a[ _.]?[xyz]$", name, re.IGNORECASE):
        unit = "gn"
    elif _FORCES.search(name):
        unit = _AS_FORCE.get(unit.lower(), unit)
    return (header.strip(), "") if si_or_none(unit) is None else (name, unit)


def stated_unit(name: str) -> str:
    """What stands in brackets behind a name: where it stayed there, a unit that palpate does not know."""
    match = _BRACKETS.match(name)
    return match[2].strip() if match and match[1] else ""


def _from_dimension(unit: Unit) -> str:
    exponents = zip(("kg", "m", "s", "A"), (*unit.dimension, unit.current), strict=True)
    powers = [(atom, int(power)) for atom, power in exponents if power]
    above = [f"{atom}{power if power > 1 else ''}" for atom, power in powers if power > 0]
    below = [f"{atom}{-power if power < -1 else ''}" for atom, power in powers if power < 0]
    return " ".join(above or ["1"]) + (f"/{' '.join(below)}" if below else "")
