"""Headers of columns: names and units into SI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from palpate.errors import PalpateError
from palpate.physics.units import Unit, parse_unit

_SI_ATOMS: Mapping[str, str] = MappingProxyType(
    {"mm": "m", "cm": "m", "in": "m", "inch": "m", "ms": "s", "us": "s", "ns": "s", "deg": "rad", "kN": "N"}
    | {"lbf": "N", "g": "kg", "lb": "kg", "%": "1", "Nm": "N m", "Nmm": "N m", "mV": "V", "uV": "V", "uT": "T"}
)
# Whole words, as C3D files and people write them.
_WORDS: Mapping[str, str] = MappingProxyType(
    {"meter": "m", "metre": "m", "millimeter": "mm", "millimetre": "mm", "second": "s", "degree": "deg"}
    | {"radian": "rad", "newton": "N", "volt": "V", "tesla": "T", "watt": "W"}
)
_SPELLINGS = (("°", "deg"), ("²", "2"), ("µ", "u"), ("μ", "u"), ("N.", "N "), ("N-", "N "), ("Hz", "1/s"))
_BRACKETS = re.compile(r"^(.*?)\s*[\[(]([^\[\]()]*)[\])]\s*$")


def to_si(unit: str) -> tuple[float, str]:
    """Factor and SI name: "mm" -> (0.001, "m"), "deg/s" -> (pi/180, "rad/s"); raises for unknown units."""
    for spelling, plain in _SPELLINGS:
        unit = unit.replace(spelling, plain)
    word = unit.strip().lower()
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
    """Name and unit of a column header: "Fx [N]" -> ("Fx", "N"), "t (s)" -> ("t", "s"), "Fx" -> ("Fx", "").

    A unit that palpate does not know stays part of the name. "g" at an accelerometer is gravity, not gram.
    """
    match = _BRACKETS.match(header.strip())
    if not match or not match[1]:
        return header.strip(), ""
    name, unit = match[1].strip(), match[2].strip()
    if unit.lower() == "g" and re.search(r"acc|specific.?force|^a[ _.]?[xyz]$", name, re.IGNORECASE):
        unit = "gn"
    return (header.strip(), "") if si_or_none(unit) is None else (name, unit)


def _from_dimension(unit: Unit) -> str:
    exponents = zip(("kg", "m", "s", "A"), (*unit.dimension, unit.current), strict=True)
    powers = [(atom, int(power)) for atom, power in exponents if power]
    above = [f"{atom}{power if power > 1 else ''}" for atom, power in powers if power > 0]
    below = [f"{atom}{-power if power < -1 else ''}" for atom, power in powers if power < 0]
    return " ".join(above or ["1"]) + (f"/{' '.join(below)}" if below else "")
