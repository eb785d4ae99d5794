"""Feet of a rolling object in its model: where they are is measured, how they press and rub is assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from palpate.elements import Foot, FootFriction
from palpate.mechanisms import Rolling
from palpate.model import Model

GIVES_M = 1e-3
"""How far a foot gives way under half of the object's weight: steel or rubber on a hard floor, and the floor."""
LOSES = 10.0
"""s/m, damping over stiffness: at 0.1 m/s a foot pushes twice as hard on the way down as on the way up."""
MU = 0.6
"""Friction of a foot on the ground: steel or rubber on concrete, 0.4 to 0.8."""


def with_feet(model: Model, points: Sequence[Sequence[float]]) -> tuple[Model, dict[str, float]]:
    """A model with values that can stand on these points (m, in its frame), and the numbers that were assumed for it.

    Feet that the object or experiment file has already stay as they are.
    """
    mechanism = model.mechanism
    mass = next((v for n, v in model.values.items() if n.rpartition(".")[2] == "m"), None)
    if not isinstance(mechanism, Rolling) or mass is None:
        return model, {}
    if not mechanism.feet:
        mechanism = replace(mechanism, feet=tuple((float(x), float(y), float(z)) for x, y, z in points))
    stiffness = mass * mechanism.gravity / (2 * GIVES_M)
    own = {e.acts_on: e for e in model.elements}
    elements: list[Any] = []
    values: list[float] = []
    for i in range(1, len(mechanism.feet) + 1):
        foot = own.get(f"foot_{i}")
        k = stiffness if not isinstance(foot, Foot) else model.values[f"{foot.name}_k"]
        if foot is None:
            elements.append(Foot(f"foot_{i}", f"foot_{i}"))
            values += [k, LOSES * k]
        for way in ("ahead",) if mechanism.moves == "planar" else ("ahead", "aside"):
            if f"foot_{i}_{way}" not in own:
                elements.append(FootFriction(f"mu_{i}_{way}", f"foot_{i}_{way}", k))
                values.append(MU)
    standing = replace(model, mechanism=mechanism, elements=(*model.elements, *elements), values={})
    names = list(standing.parameters)[len(model.p) :]
    return standing.with_values([*model.p, *values]), dict(zip(names, values, strict=True))
