"""What a column without a unit seems to be, by its name alone."""

from __future__ import annotations

import re

from palpate.recording.headers import si_or_none, stated_unit

NAMES = {
    "speed": r"vel|speed|omega|rate|gyr|dot|geschw|^[qwv]d?$(?<!^q)",
    "acceleration": r"acc|beschl|^[aq]dd$|specific",
    "torque": r"torque|moment|tau|drehm|^[mt][ _.]?[xyz]$|^n[ _.]?[xyz]$",
    "force": r"force|kraft|load|^f[ _.]?[xyz]?\d?$|^f_",
    "angle": r"angle|theta|phi|psi|alpha|winkel|rotation|^q$|degree|hinge",
    "position": r"pos|displacement|travel|stroke|distance|^weg|^[xs]$|slide|extension|encoder",
}
"""What a column without a unit is taken for, in this order; a position may be that of a joint."""
UNITS = {
    **{"rad/s": "speed", "m/s": "speed", "m/s2": "acceleration"},
    **{"N m": "torque", "N": "force", "rad": "angle", "m": "position"},
}


def bare_name(name: str) -> str:
    """Without the number of a name that several columns have: "F" of "F#2"."""
    return re.sub(r"#\d+$", "", name)


def kind_by_name(name: str) -> str:
    """What a column is by its name."""
    return next((kind for kind, words in NAMES.items() if re.search(words, bare_name(name), re.IGNORECASE)), "")


def kind_of_unit(unit: str) -> str:
    """What has this unit; "" for none of them."""
    return UNITS.get((si_or_none(unit) or (1.0, ""))[1], "") if unit else ""


def unit_in_name(name: str) -> tuple[str, str]:
    """Name and unit of "Position_mm" or "Force (kip)", which palpate need not know; ("q", "") of "q"."""
    if unknown := stated_unit(name):
        return name[: name.rindex(unknown)].rstrip(" (["), unknown
    match = re.fullmatch(r"(.{2,}?)[ _.-]([A-Za-zµ°]+)", bare_name(name))
    kind = kind_of_unit(match[2]) if match else ""
    if match is None or not kind:
        return name, ""
    named = kind_by_name(match[1])
    agrees = named in ("", kind) or (named, kind) == ("position", "angle")
    return (match[1], match[2]) if agrees else (name, "")  # "pos_in" is inches, "force_in" what goes in
