"""What the data of a hinged body hold least, in words: parameters that change together, and the motion that helps."""

from __future__ import annotations

import numpy as np

from palpate.elements import Coulomb, Gravity, PolynomialSpring, ScalarInertia, Stribeck, Table, Viscous, ZoneDamper
from palpate.elements.element import Element
from palpate.identify.solution import Solution, Status
from palpate.identify.weakness import Weakness

_NAMED, _SHARE = 4, 0.3
"""So many parameters are named at most, and those with at least this share of the largest part."""
_ADVICE: tuple[tuple[tuple[type, ...], str], ...] = (
    ((PolynomialSpring, Table), "hold it still at more angles over the whole travel"),
    ((Gravity,), "move it slowly through more of a full turn"),
    ((ScalarInertia,), "shake it faster"),
    ((Viscous,), "move it at several speeds"),
    ((Coulomb, Stribeck), "move it slowly both ways"),
)


def weakest_of_hinge(solution: Solution) -> Weakness | None:
    """The direction of the free parameters, each measured by the torque it makes in the recording, that the data hold
    least: the last right singular vector of the compressed columns, scaled to length one. None: only one is free.
    """
    p, model = solution.p, solution.model
    fixed = {e.name for e in solution.estimates if e.status is Status.FIXED}
    R = solution.problem.R[:, :-1]
    size = np.linalg.norm(R, axis=0)
    free = np.array([n not in fixed for n in model.parameters]) & (size > 0)
    if free.sum() < 2:
        return None
    _, s, Vt = np.linalg.svd(R[:, free] / size[free])
    std = float(solution.uncertainty.level / max(s[-1], 1e-12 * s[0]))
    parts = np.zeros(len(p))
    parts[free] = Vt[-1]
    parts *= np.sign(parts[np.abs(parts).argmax()])
    changes = np.where(free, parts * std / np.where(free, size, 1.0), 0.0)
    names, units = list(model.parameters), [parameter.unit for e in model.elements for parameter in e.parameters]
    chosen = [int(i) for i in np.argsort(-np.abs(parts)) if abs(parts[i]) > _SHARE * np.abs(parts).max()][:_NAMED]
    told = [f"{names[i]} {changes[i]:+.2g} {units[i]}" for i in chosen]
    relative = float(max(abs(changes[i]) / max(abs(p[i]), 1e-12) for i in chosen))
    owner = next(e for e in model.elements for q in e.parameters if q.name == names[chosen[0]].rpartition(".")[2])
    if len(chosen) > 1:
        some = ", ".join(names[i] for i in chosen[:-1])
        what = f"{some} and {names[chosen[-1]]} trade off ({', '.join(told)})"
    else:
        what = f"{names[chosen[0]]} is held least ({told[0]})"
    text = (
        f"{what}, one standard deviation, up to {100 * relative:.2g} % of a value; to know it better, {_advice(owner)}"
    )
    return Weakness({names[i]: float(changes[i]) for i in np.flatnonzero(free)}, relative, text)


def _advice(element: Element) -> str:
    """The motion that shows what an element does."""
    if isinstance(element, ZoneDamper):
        return f"move it faster through the zone of {element.name}, {element.when}"
    return next((told for kinds, told in _ADVICE if isinstance(element, kinds)), "move it in more ways")
