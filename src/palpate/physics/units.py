"""Units by name: factors to SI and dimensions.

SI and radians inside; a unit is converted once, where a file is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import pi
from types import MappingProxyType

from palpate.errors import PalpateError, unknown_name

STANDARD_GRAVITY = 9.80665
"""m/s2, CODATA; the authors of the paper use 9.81."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit: SI value = value * factor; dimension as exponents of (mass, length, time)."""

    factor: float
    dimension: tuple[float, float, float]


_ATOMS: Mapping[str, Unit] = MappingProxyType(
    {
        "1": Unit(1.0, (0, 0, 0)),
        "%": Unit(0.01, (0, 0, 0)),
        "kg": Unit(1.0, (1, 0, 0)),
        "g": Unit(1e-3, (1, 0, 0)),
        "lb": Unit(0.45359237, (1, 0, 0)),
        "m": Unit(1.0, (0, 1, 0)),
        "cm": Unit(1e-2, (0, 1, 0)),
        "mm": Unit(1e-3, (0, 1, 0)),
        "in": Unit(0.0254, (0, 1, 0)),
        "inch": Unit(0.0254, (0, 1, 0)),
        "s": Unit(1.0, (0, 0, 1)),
        "ms": Unit(1e-3, (0, 0, 1)),
        "us": Unit(1e-6, (0, 0, 1)),
        "ns": Unit(1e-9, (0, 0, 1)),
        "Hz": Unit(1.0, (0, 0, -1)),
        "rad": Unit(1.0, (0, 0, 0)),
        "deg": Unit(pi / 180, (0, 0, 0)),
        "N": Unit(1.0, (1, 1, -2)),
        "kN": Unit(1e3, (1, 1, -2)),
        "lbf": Unit(4.4482216152605, (1, 1, -2)),
        "Nm": Unit(1.0, (1, 2, -2)),
        "Nmm": Unit(1e-3, (1, 2, -2)),
        "gn": Unit(STANDARD_GRAVITY, (0, 1, -2)),
    }
)
_FACTOR = re.compile(r"^([A-Za-z%]+[A-Za-z]|[A-Za-z%]|1)\^?(-?\d)?$")


def parse_unit(text: str) -> Unit:
    """Read "kg m2", "N m s/rad", "m/s2": factors apart by blanks or dots, everything after a slash divides."""
    factor, dimension = 1.0, [0.0, 0.0, 0.0]
    for place, part in enumerate(text.strip().split("/")):
        sign = 1 if place == 0 else -1
        for word in part.replace("*", " ").replace("·", " ").split():
            found = _FACTOR.match(word)
            name, power = (found[1], int(found[2] or 1)) if found else (word, 1)
            if name not in _ATOMS:
                raise PalpateError(f"in the unit {text!r} {unknown_name('unit', name, _ATOMS)}")
            factor *= _ATOMS[name].factor ** (sign * power)
            dimension = [d + sign * power * e for d, e in zip(dimension, _ATOMS[name].dimension, strict=True)]
    return Unit(factor, (dimension[0], dimension[1], dimension[2]))


def parse_quantity(value: float | str, unit: str) -> float:
    """Read `45`, "45 kg" or "25 deg" as an SI number; `unit` says what a bare number means and what fits."""
    wanted = parse_unit(unit)
    if not isinstance(value, str):
        return float(value) * wanted.factor
    found = re.match(r"^\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*(.*?)\s*$", value)
    if not found:
        raise PalpateError(f"{value!r} is not a number with a unit, such as '1.5 {unit}'")
    given = parse_unit(found[2]) if found[2] else wanted
    if given.dimension != wanted.dimension:
        raise PalpateError(f"{value!r} is not a quantity in {unit}")
    try:
        return float(found[1]) * given.factor
    except ValueError:
        raise PalpateError(f"{found[1]!r} is not a number") from None
