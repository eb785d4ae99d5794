"""Whether what is left of a model's uncertainty could be felt: its intervals beside published thresholds of people.

A threshold is a Weber fraction: the smallest relative change that people notice when nothing else changes. In an object
that has everything at once they notice less: the threshold of damping grows with the forces of mass and stiffness (Fu,
Landman, van Paassen and Mulder 2018, IEEE Trans. Human-Machine Systems 48(4), 359-368): for a parameter this comparison
is strict. For the force on data not seen it is not: there only the RMS error over the range is known, while a person
compares with the force of the moment, which is smaller. Springs that are a curve are not judged at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from palpate.elements import Element, Parameter
from palpate.errors import PalpateError
from palpate.model import Model


@dataclass(frozen=True, slots=True)
class Threshold:
    """The smallest part of a quantity whose change people notice, and who measured it."""

    quantity: str
    part: float
    source: str


INERTIA = Threshold(
    "inertia",
    0.10,
    "Kuling, Smeets, Lammertse, Onneweer and Mugge 2015, PLoS ONE 10(9) e0138023 (inertial mass, about 10 %)",
)
VISCOSITY = Threshold(
    "viscosity",
    0.19,
    "Jones, Hunter and Lafontaine 1997, Perception 26, 1571-1578 (19 % by forced choice; 34 % by adjustment: Jones and "
    "Hunter 1993, Exp. Brain Res. 94, 343-351)",
)
STIFFNESS = Threshold(
    "stiffness",
    0.22,
    "Tan, Durlach, Beauregard and Srinivasan 1995, Perception & Psychophysics 57, 495-510 (22 % without force and work "
    "cues; 23 %: Jones and Hunter 1990, Exp. Brain Res. 79, 150-156)",
)
FORCE = Threshold(
    "force", 0.07, "Pang, Tan and Durlach 1991, Perception & Psychophysics 49, 531-540 (7 % for 2.5 to 10 N)"
)
DELAY = (
    "Delay itself is felt as inertia: 25 ms made a mass of 6 kg feel about 10 % heavier, 50 ms about 20 % (Kuling et "
    "al. 2015, PLoS ONE 10(9) e0138023)."
)


@dataclass(frozen=True, slots=True)
class Felt:
    """One parameter: how uncertain it is, and how much of it people notice."""

    name: str
    value: float
    unit: str
    part: float | None
    """Half of the 95 % interval over the value (or over what it belongs to); None where no interval is known."""
    threshold: Threshold | None
    """None where it cannot be felt alone."""
    note: str = ""
    average: bool = False
    """Whether it is not a parameter but an average error on data that the fit has not seen."""

    @property
    def verdict(self) -> str:
        """In words."""
        if self.threshold is None:
            return "not judged alone"
        if self.part is None or not math.isfinite(self.part):
            return "unknown"
        if self.part > self.threshold.part:
            return "could be felt"
        return "not felt on average" if self.average else "not felt"


def felt(model: Model, result: Mapping[str, Any]) -> tuple[Felt, ...]:
    """Every parameter of a model beside what people notice; `result`: the content of result.json."""
    entries = result.get("parameters")
    if not isinstance(entries, Mapping):
        raise PalpateError("the result holds no parameters: give a result.json that palpate wrote")
    parts = [(e, names) for e, names in model.parts if not e.instrument]
    known = {n: _kind(e, p) for e, names in parts for n, p in zip(names, e.parameters, strict=True)}
    kinds = {n if n in entries else n.replace("mc_", "c_"): kind for n, kind in known.items()}
    missing = [name for name in kinds if name not in entries]
    if len(missing) == len(kinds):
        raise PalpateError(f"the result is not of model {model.name!r}: it holds nothing of {', '.join(missing)}")
    judged = [_judged(name, cast("Mapping[str, Any]", entries), kinds) for name in kinds if name in entries]
    return (*judged, *_unseen(result))


def _kind(e: Element, p: Parameter) -> tuple[Threshold | None, str]:
    """Threshold of a parameter, and what its interval is compared with ("", "first moments" or "inertias")."""
    inertia = "inertias" if p.unit == "kg m2" and p.map == "inertia" else ""
    straight = p.unit in ("N m/rad", "N/m") and len(e.parameters) <= 2  # its slope is what is felt
    rules = (
        (e.dry, FORCE, ""),
        (p.unit == "kg m", FORCE, "first moments"),
        (p.unit.startswith("kg"), INERTIA, inertia),
        (" s" in p.unit.split("/")[0], VISCOSITY, ""),
        (straight, STIFFNESS, ""),
        (True, None, "part of a curve: not judged"),
    )
    return next((threshold, what) for holds, threshold, what in rules if holds)


def _judged(name: str, entries: Mapping[str, Any], kinds: Mapping[str, tuple[Threshold | None, str]]) -> Felt:
    (threshold, what), entry = kinds[name], entries[name]
    value, unit, ci = float(entry["value"]), str(entry["unit"]), entry.get("ci95")
    if threshold is None:
        return Felt(name, value, unit, None, None, what)
    scale, note = abs(value), ""
    if what:
        same = [abs(float(entries[n]["value"])) for n, (_, w) in kinds.items() if w == what and n in entries]
        scale = math.hypot(*same) if what == "first moments" else max(same)
        note = "part of the centre's distance" if what == "first moments" else "part of the largest inertia"
    if entry.get("status") == "prior-dominated":
        note = f"{note}; believes the prior" if note else "believes the prior"
    if ci is None or not scale > 0:
        return Felt(name, value, unit, None, threshold, note)
    half = max(abs(float(ci[0]) - value), abs(float(ci[1]) - value))
    return Felt(name, value, unit, half / scale, threshold, note)


def _unseen(result: Mapping[str, Any]) -> list[Felt]:
    """The RMS of the wrench on data not seen, in percent of its range."""
    rms: Mapping[str, Any] = result.get("rms") or {}
    test: Mapping[str, Any] = rms.get("test") or rms.get("cross_validated") or {}
    note = "RMS error, part of its range, not of the force of the moment"
    known = [(row, e, e["percent_of_range"]) for row, e in test.items() if e.get("percent_of_range") is not None]
    return [
        Felt(f"{row} on data not seen", float(e["value"]), str(e["unit"]), percent / 100.0, FORCE, note, average=True)
        for row, e, percent in known
    ]
