"""True doors with closers: the paper's, and random ones that are plausible."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from palpate.elements import Coulomb, EndStop, Hysteresis, PolynomialSpring, Stribeck, ZoneDamper
from palpate.errors import PalpateError, UnknownName
from palpate.mechanisms import FourBar, Hinge
from palpate.model import Model, load_object
from palpate.physics.functions import ARRAYS, FLOATS

Variant = Literal["laminar", "turbulent", "mixed", "hysteresis", "stribeck", "none"]
FRAME, WIDEST = "frame", "widest"
"""The end stops: where the door is shut, and where it can go no further."""
TABLE = (6.53, 4.75, 1.79, 7.52, 4.47, 2.57, 18.01, -17.10, 5.34, -0.70)
"""The paper's Table in the order of the object file: I, b_v, b_c, b_bc, b_s, b_l, c_0 to c_3."""
_STOPS = (2e4, 1e4)
"""N m/rad and N m s/rad2: rubber."""


def paper_door(rng: np.random.Generator | None = None) -> Model:
    """The paper's Table with end stops; with a generator, other values on the same links and zones."""
    if rng is None:
        door = load_object("door")
        return _with_stops(door, TABLE, math.radians(92.0))
    return random_door(rng, like_paper=True)


def random_door(
    rng: np.random.Generator, *, variant: Variant = "laminar", spring_order: int = 3, like_paper: bool = False
) -> Model:
    """A plausible door: its loop closes from 0 to 95 deg, its spring closes it everywhere, in 2 to 7 s from 80 deg.

    `like_paper`: with the links and zones of the paper's.
    """
    if variant not in get_args(Variant):
        raise UnknownName("variant", variant, get_args(Variant), where="door twin")
    base = load_object("door")
    for _ in range(2000):
        found = _draw(rng, base, variant, spring_order, like_paper)
        if found is not None and _plausible(found):
            return found
    raise PalpateError("no plausible door was found")


def _draw(rng: np.random.Generator, base: Model, variant: Variant, spring_order: int, like_paper: bool) -> Model | None:
    """A door that may be implausible; None where its links do not close."""
    linkage = FourBar(range=(0.0, math.radians(95.0))) if like_paper else _links(rng)
    if linkage is None:
        return None
    zones = (25.0, 2.0, 69.0, 2.0)
    if not like_paper:
        zones = (rng.uniform(15, 35), rng.uniform(1, 4), rng.uniform(55, 78), rng.uniform(1, 4))
    latch, latch_width, check, check_width = (math.radians(float(x)) for x in zones)
    flow = variant if variant in ("turbulent", "mixed") else "laminar"
    values = [*_log_uniform(rng, (3.0, 1.0), (15.0, 6.0))]
    parts: list[Any] = [*base.elements[:2]]
    parts.append(Coulomb())
    values += [*_log_uniform(rng, (0.6,), (2.5,))]
    if variant == "hysteresis":  # of the closer's seals and teeth: strongest in the middle of its way
        low, high = (float(linkage.transmit(math.radians(a), FLOATS)[0]) for a in (0.0, 92.0))
        parts.append(Hysteresis("hysteresis", "closer", (low, (low + high) / 2, high), "polynomial"))
        values += [float(rng.uniform(0.1, 0.3)), float(rng.uniform(1.5, 3.0)), float(rng.uniform(0.1, 0.4))]
    if variant == "stribeck":
        parts.append(Stribeck("b_st", v_s=float(rng.uniform(0.05, 0.15))))
        values += [float(rng.uniform(1.0, 2.5))]
    parts.append(
        ZoneDamper("b_bc", "closer", when="opening", above=check, width=check_width, flow=flow),
    )
    parts.append(
        ZoneDamper("b_s", "closer", when="closing", above=latch, width=latch_width, otherwise="b_l", flow=flow),
    )
    for b in _log_uniform(rng, (4.0, 2.5, 1.2), (12.0, 7.0, 4.0)):
        values += {"laminar": [b], "turbulent": [0.7 * b], "mixed": [0.5 * b, 0.35 * b]}[flow]
    parts.append(PolynomialSpring("spring", "closer", spring_order))
    values += _spring(rng, linkage, spring_order)
    model = replace(base, mechanism=replace(_hinge(base), linkage=linkage), elements=tuple(parts))
    return _with_stops(model, values, math.radians(float(rng.uniform(86, 94))))


def _links(rng: np.random.Generator) -> FourBar | None:
    """Other links, which close over the door's range and stay clear of dead centres."""
    L1, L2, L3, L4 = (float(f"{x:.4f}") for x in np.array(FourBar().lengths) * rng.uniform(0.85, 1.15, 4))
    try:
        found = FourBar((L1, L2, L3, L4), range=(-0.1, math.radians(105.0)))
    except PalpateError:
        return None
    _, nu, _ = found.transmit(np.radians(np.linspace(-3, 95, 99)), ARRAYS)
    ok = bool(np.min(nu) > 0.7 and np.max(nu) < 6.5)
    return replace(found, range=(0.0, math.radians(95.0))) if ok else None


def _spring(rng: np.random.Generator, linkage: FourBar, order: int) -> list[float]:
    """A preloaded spring that stiffens or softens somewhat, as a polynomial of the pinion's angle."""
    from numpy.polynomial import Polynomial

    ends, nu, _ = linkage.transmit(np.radians([0.0, 90.0]), ARRAYS)
    shut, wide = rng.uniform(5, 12) / nu[0], rng.uniform(13, 28) / nu[1]
    bent = rng.uniform(-0.3, 0.3, max(order - 1, 0)) * (wide - shut)
    c = [shut, wide - shut - bent.sum(), *bent][: order + 1]
    x = Polynomial([-ends[0], 1.0]) / (ends[1] - ends[0])
    found = Polynomial([-float(value) for value in c])(x)
    return [float(value) for value in np.resize(np.append(found.coef, np.zeros(order)), order + 1)]


def _plausible(model: Model) -> bool:
    """Whether the spring closes the door everywhere, against friction, and neither at once nor never."""
    angle = np.radians(np.linspace(0.5, 92, 184))
    zero, slow = np.zeros_like(angle), np.full_like(angle, -0.5)
    expand, smooth = model.mechanism.expand, model.without_dry()
    resting, closing = (expand((angle, speed), (zero,), {}, ARRAYS) for speed in (zero, slow))
    hold = np.asarray(smooth.wrench(resting, ARRAYS)[0]) + zero
    damping = (np.asarray(smooth.wrench(closing, ARRAYS)[0]) - hold) / slow
    dry = sum(abs(ratio[0]) * level for ratio, level in model.dry_forces(resting, ARRAYS)) + zero
    free = angle < min(e.at for e in model.elements if isinstance(e, EndStop) and e.name == WIDEST)
    hold, damping, dry = hold[free], damping[free], dry[free]
    if hold.min() < 4.0 or hold.max() > 32.0 or (hold - dry).min() < 2.5:
        return False
    seconds = float((damping / (hold - dry))[angle[free] < math.radians(80)].sum() * (angle[1] - angle[0]))
    return 2.0 < seconds < 6.0


def _with_stops(door: Model, values: list[float] | tuple[float, ...], widest: float) -> Model:
    """The same door between frame and widest opening, with its values.

    The frame gives way a little to the spring, so that the shut door rests at angle zero.
    """
    still = door.with_values(list(values)).without_dry()
    pressing = float(still.wrench(still.mechanism.expand((0.0, 0.0), (0.0,), {}, FLOATS), FLOATS)[0])
    frame = EndStop(FRAME, at=max(pressing, 0.0) / _STOPS[0], side="lowest")
    stops = (frame, EndStop(WIDEST, at=widest))
    with_stops = replace(door, elements=(*door.elements, *stops), values={})
    return with_stops.with_values([*values, *_STOPS, *_STOPS])


def _hinge(model: Model) -> Hinge:
    assert isinstance(model.mechanism, Hinge)
    return model.mechanism


def _log_uniform(rng: np.random.Generator, low: tuple[float, ...], high: tuple[float, ...]) -> list[float]:
    return [float(x) for x in np.exp(rng.uniform(np.log(low), np.log(high)))]
