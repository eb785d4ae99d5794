"""Passivity and stability of a model in one report: energy, longest step, coupling with a hand, what could be felt."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from palpate.errors import PalpateError
from palpate.model import Model
from palpate.runtime.passivity import Audit, Coupling, accurate_step, audit, couplings, longest_step
from palpate.runtime.passivity_felt import Felt, felt
from palpate.runtime.person import Hand


@dataclass(frozen=True, slots=True, eq=False)
class Passivity:
    """What was found, and what could not be looked at."""

    model: Model
    audit: Audit
    longest_step_s: float
    accurate_step_s: float
    """With which the motion stays within 1 % of the way."""
    couplings: tuple[Coupling, ...]
    felt: tuple[Felt, ...]
    remarks: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """The numbers as plain data."""
        return {
            "palpate_audit": 1,
            "model": self.model.name,
            "passive": self.audit.passive,
            "energy": asdict(self.audit),
            "longest_step_s": _finite(self.longest_step_s),
            "accurate_step_s": _finite(self.accurate_step_s),
            "coupling": [
                {
                    "robot": c.robot,
                    "longest_delay_s": _finite(c.longest_delay_s),
                    "stiffest_hand_N_per_m": _finite(c.stiffest_hand),
                    "smallest_inertia_kg": _finite(c.smallest_inertia),
                    "slowest_hz": _finite(c.slowest_hz),
                }
                for c in self.couplings
            ],
            "felt": [
                {
                    "name": f.name,
                    "part": f.part,
                    "noticed_from": None if f.threshold is None else f.threshold.part,
                    "verdict": f.verdict,
                    "source": None if f.threshold is None else f.threshold.source,
                }
                for f in self.felt
            ],
            "remarks": list(self.remarks),
        }


def passivity_of(
    model: Model,
    result: Mapping[str, Any] | None = None,
    *,
    radius: float | None = None,
    hand: Hand | None = None,
    delay_s: float = 0.002,
    dt: float = 1e-3,
) -> Passivity:
    """Everything about a model that a robot's builder asks; `result`: the content of result.json, for its intervals."""
    remarks: list[str] = []
    found, longest = audit(model, dt=dt), longest_step(model)
    coupled: tuple[Coupling, ...] = ()
    try:
        coupled = couplings(model, radius=radius, hand=hand, delay_s=delay_s, dt=dt)
    except PalpateError as error:
        remarks.append(str(error))
    people: tuple[Felt, ...] = ()
    if result is None:
        remarks.append("whether the uncertainty could be felt: give --result result.json")
    else:
        people = felt(model, result)
    return Passivity(model, found, longest, accurate_step(model), coupled, people, tuple(remarks))


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None
