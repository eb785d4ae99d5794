"""Simulated doors that have more than the paper's: another flow in the closer, hysteresis, a Stribeck dip."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from palpate.elements import Hysteresis, Stribeck, ZoneDamper
from palpate.model import Model
from palpate.physics.functions import FLOATS
from palpate.twin.door import random_door

VARIANTS = ("laminar", "turbulent", "mixed", "hysteresis", "stribeck")


def door_of(variant: str) -> Callable[[np.random.Generator], Model]:
    """Draws doors of this variant."""
    change = {"turbulent": _flowing, "mixed": _flowing, "hysteresis": _with_hysteresis, "stribeck": _with_stribeck}
    if variant == "laminar":
        return random_door
    return partial(random_door, change=partial(change[variant], variant))


def _flowing(flow: Any, _: np.random.Generator, door: Model) -> Model:
    """The closer's dampers with this flow, about as strong."""
    shares = {"turbulent": (0.7,), "mixed": (0.5, 0.35)}[flow]
    elements = tuple(replace(e, flow=flow) if isinstance(e, ZoneDamper) else e for e in door.elements)
    values: list[float] = []
    for e, names in door.parts:
        for name in names:
            dampers = shares if isinstance(e, ZoneDamper) else (1.0,)
            values += [share * door.values[name] for share in dampers]
    return replace(door, elements=elements, values={}).with_values(values)


def _with_hysteresis(_: str, rng: np.random.Generator, door: Model) -> Model:
    """Of the closer's seals and teeth: strongest in the middle of its way."""
    linkage = door.mechanism.linkage
    assert linkage is not None
    low, high = (float(linkage.transmit(math.radians(a), FLOATS)[0]) for a in (0.0, 92.0))
    element = Hysteresis("hysteresis", "closer", (low, (low + high) / 2, high), "polynomial")
    return _with(door, element, [rng.uniform(0.1, 0.3), rng.uniform(1.5, 3.0), rng.uniform(0.1, 0.4)])


def _with_stribeck(_: str, rng: np.random.Generator, door: Model) -> Model:
    return _with(door, Stribeck("b_st", v_s=float(rng.uniform(0.05, 0.15))), [rng.uniform(1.0, 2.5)])


def _with(door: Model, element: Any, values: list[float]) -> Model:
    return replace(door, elements=(*door.elements, element), values={}).with_values([*door.p, *values])
